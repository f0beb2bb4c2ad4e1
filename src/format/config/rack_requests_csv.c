// SPDX-License-Identifier: Apache-2.0
// Requests for slices of a rack: a torus a line, or the release of one (weft/format/rack.h).

#include "format/syntax/lines.h"
#include "weft/format/file.h"
#include "weft/format/rack.h"

#include <string.h>

#define FIELDS_MAX 6u
#define SIDE_MAX WEFT_RACK_CHIPS_MAX
#define SECONDS_MAX 1e12
#define NAME_MAX_BYTES 64u

static const char short_header[] = "name,x,y,z";
static const char long_header[] = "name,x,y,z,arrival_s,lifetime_s";
static const char release[] = "release";

static bool is_text(const struct line_word *line, const char *text)
{
    return line->length == strlen(text) && memcmp(line->text, text, line->length) == 0;
}

// The fields of a line as texts; more than FIELDS_MAX count as FIELDS_MAX + 1.
static uint32_t split(const char **fields, const struct line_word *line, struct weft_arena *arena)
{
    struct line_word rest = *line;
    struct line_word field;
    uint32_t count = 0;
    for (; count <= FIELDS_MAX && word_field(&field, &rest); count++) {
        if (count < FIELDS_MAX) {
            fields[count] = weft_arena_text(arena, field.text, field.length);
        }
    }
    return count;
}

static bool check_name(const char *name, struct weft_error *error)
{
    size_t length = strlen(name);
    if (length == 0 || length > NAME_MAX_BYTES) {
        return weft_fail(error, WEFT_INPUT, "a name has 1 to %u bytes", NAME_MAX_BYTES);
    }
    return true;
}

static bool read_request(struct weft_rack_request *request, const char *const *fields,
                         uint32_t count, uint32_t wanted, struct weft_error *error)
{
    static const char *const names[] = {"name", "x", "y", "z", "arrival_s", "lifetime_s"};
    if (count != wanted) {
        return weft_fail(error, WEFT_INPUT, "%s%u fields; write %s, or release NAME",
                         count > FIELDS_MAX ? "more than " : "",
                         count > FIELDS_MAX ? FIELDS_MAX : count,
                         wanted == FIELDS_MAX ? long_header : short_header);
    }
    *request = (struct weft_rack_request){.name = fields[0]};
    for (uint32_t d = 0; d < 3; d++) {
        uint64_t side = 0;
        if (!weft_parse_count(&side, fields[d + 1], 1, SIDE_MAX, error)) {
            return weft_wrap(error, "%s", names[d + 1]);
        }
        request->sides[d] = (uint32_t)side;
    }
    for (uint32_t i = 4; i < wanted; i++) {
        double *value = i == 4 ? &request->arrival_s : &request->lifetime_s;
        if (!weft_parse_number(value, fields[i], 0, SECONDS_MAX, error)) {
            return weft_wrap(error, "%s", names[i]);
        }
    }
    return check_name(request->name, error);
}

// The last request of a name that a release means; WEFT_NONE = there is none that is not released.
static uint32_t find(const struct weft_rack_requests *read, const bool *released, const char *name)
{
    for (uint32_t r = read->count; r-- > 0;) {
        if (strcmp(read->requests[r].name, name) == 0) {
            return released[r] ? WEFT_NONE : r;
        }
    }
    return WEFT_NONE;
}

// What is being read, with room for as many as the file has lines.
struct reading {
    struct weft_rack_requests read;
    struct weft_rack_request *requests;
    struct weft_rack_event *events;
    bool *released;
    uint32_t wanted; // fields
    struct weft_arena *arena;
};

static bool is_release(const struct line_word *line)
{
    size_t length = sizeof release - 1;
    return line->length > length && memcmp(line->text, release, length) == 0 &&
           (line->text[length] == ' ' || line->text[length] == '\t');
}

static bool read_line(struct reading *reading, const struct line_word *line,
                      struct weft_error *error)
{
    struct weft_rack_requests *read = &reading->read;
    struct weft_rack_event *event = &reading->events[read->event_count];
    if (is_release(line)) {
        struct line_word name = {line->text + sizeof release, line->length - sizeof release};
        word_trim(&name);
        const char *text = weft_arena_text(reading->arena, name.text, name.length);
        uint32_t request = find(read, reading->released, text);
        if (request == WEFT_NONE) {
            return weft_fail(error, WEFT_INPUT,
                             "'%.40s' is not there to be released; name a request of a line above",
                             text);
        }
        reading->released[request] = true;
        *event = (struct weft_rack_event){request, true};
        read->event_count++;
        return true;
    }
    const char *fields[FIELDS_MAX];
    struct weft_rack_request request;
    uint32_t count = split(fields, line, reading->arena);
    if (!read_request(&request, fields, count, reading->wanted, error)) {
        return false;
    }
    if (read->count > 0 && request.arrival_s < reading->requests[read->count - 1].arrival_s) {
        return weft_fail(error, WEFT_INPUT, "time goes back; sort the lines by arrival_s");
    }
    if (find(read, reading->released, request.name) != WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.40s' stands above; take another name, or write "
                         "release %.40s before",
                         request.name, request.name);
    }
    reading->requests[read->count] = request;
    *event = (struct weft_rack_event){read->count, false};
    read->count++;
    read->event_count++;
    return true;
}

bool weft_rack_requests_read(struct weft_rack_requests *requests, const char *data, size_t length,
                             struct weft_arena *arena, struct weft_error *error)
{
    struct lines lines = {.at = data, .end = data + length};
    struct reading reading = {.arena = arena};
    if (!lines_find(&lines) ||
        (!is_text(&lines.line, short_header) && !is_text(&lines.line, long_header))) {
        return weft_fail(error, WEFT_INPUT, "line %u: requests begin with the line %s or %s",
                         lines.number > 0 ? lines.number : 1, short_header, long_header);
    }
    reading.wanted = is_text(&lines.line, long_header) ? FIELDS_MAX : 4;
    struct lines counted = lines;
    uint32_t count = 0;
    while (lines_find(&counted)) {
        if (++count > WEFT_RACK_REQUESTS_MAX) {
            return weft_fail(error, WEFT_INPUT, "line %u: more than %u lines; cut the file",
                             counted.number, WEFT_RACK_REQUESTS_MAX);
        }
    }
    reading.requests = WEFT_NEW(arena, struct weft_rack_request, (size_t)count + 1);
    reading.events = WEFT_NEW(arena, struct weft_rack_event, (size_t)count + 1);
    reading.released = WEFT_NEW(arena, bool, (size_t)count + 1);
    reading.read.requests = reading.requests;
    reading.read.events = reading.events;
    while (lines_find(&lines)) {
        if (!read_line(&reading, &lines.line, error)) {
            return weft_wrap(error, "line %u", lines.number);
        }
    }
    if (reading.read.count == 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: no request follows the header", lines.number);
    }
    *requests = reading.read;
    return true;
}

bool weft_rack_requests_load(struct weft_rack_requests *requests, const char *path,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    return weft_file_load(&data, &length, path, 0, &scratch, error) &&
           (weft_rack_requests_read(requests, data, length, arena, error) ||
            weft_wrap(error, "%s", path));
}
