// SPDX-License-Identifier: Apache-2.0
// Requests for slices of a rack: a torus a line, or the release of one (weft/format/rack.h).

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

struct line {
    const char *text;
    size_t length; // without the end of line and blanks around it
    uint32_t number;
};

static void trim(const char **text, size_t *length)
{
    while (*length > 0 && (**text == ' ' || **text == '\t')) {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && strchr(" \t\r", (*text)[*length - 1]) != NULL) {
        (*length)--;
    }
}

// The next line with something on it that is no comment; false at the end.
static bool next_line(struct line *line, const char **at, const char *end)
{
    while (*at < end) {
        const char *stop = memchr(*at, '\n', (size_t)(end - *at));
        stop = stop == NULL ? end : stop;
        line->text = *at;
        line->length = (size_t)(stop - *at);
        line->number++;
        *at = stop < end ? stop + 1 : end;
        trim(&line->text, &line->length);
        if (line->length > 0 && line->text[0] != '#') {
            return true;
        }
    }
    return false;
}

static bool is_text(const struct line *line, const char *text)
{
    return line->length == strlen(text) && memcmp(line->text, text, line->length) == 0;
}

// The fields of a line as texts; more than FIELDS_MAX count as FIELDS_MAX + 1.
static uint32_t split(const char **fields, const struct line *line, struct weft_arena *arena)
{
    const char *at = line->text;
    const char *end = line->text + line->length;
    uint32_t count = 0;
    while (count <= FIELDS_MAX) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *field = at;
        size_t length = (size_t)((comma == NULL ? end : comma) - at);
        trim(&field, &length);
        if (count < FIELDS_MAX) {
            fields[count] = weft_arena_text(arena, field, length);
        }
        count++;
        if (comma == NULL) {
            break;
        }
        at = comma + 1;
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

static bool is_release(const struct line *line)
{
    size_t length = sizeof release - 1;
    return line->length > length && memcmp(line->text, release, length) == 0 &&
           (line->text[length] == ' ' || line->text[length] == '\t');
}

static bool read_line(struct reading *reading, const struct line *line, struct weft_error *error)
{
    struct weft_rack_requests *read = &reading->read;
    struct weft_rack_event *event = &reading->events[read->event_count];
    if (is_release(line)) {
        const char *name = line->text + sizeof release;
        size_t length = line->length - sizeof release;
        trim(&name, &length);
        const char *text = weft_arena_text(reading->arena, name, length);
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
    const char *at = data;
    const char *end = data + length;
    struct line line = {0};
    struct reading reading = {.arena = arena};
    if (!next_line(&line, &at, end) ||
        (!is_text(&line, short_header) && !is_text(&line, long_header))) {
        return weft_fail(error, WEFT_INPUT, "line %u: requests begin with the line %s or %s",
                         line.number > 0 ? line.number : 1, short_header, long_header);
    }
    reading.wanted = is_text(&line, long_header) ? FIELDS_MAX : 4;
    const char *counting = at;
    struct line counted = line;
    uint32_t count = 0;
    while (next_line(&counted, &counting, end)) {
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
    while (next_line(&line, &at, end)) {
        if (!read_line(&reading, &line, error)) {
            return weft_wrap(error, "line %u", line.number);
        }
    }
    if (reading.read.count == 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: no request follows the header", line.number);
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
