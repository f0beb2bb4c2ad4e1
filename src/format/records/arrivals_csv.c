// SPDX-License-Identifier: Apache-2.0
// Traces of requests for inference: a time and a model a line.

#include "weft/format/arrivals.h"
#include "weft/format/file.h"

#include <string.h>

struct line {
    const char *text;
    size_t length; // without the end of line and blanks around it
    uint32_t number;
};

// Cuts blanks off both ends.
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

static bool read_time(uint64_t *ns, const char *text, size_t length, struct weft_error *error)
{
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return weft_fail(error, WEFT_INPUT, "'%.*s' is no time in whole nanoseconds",
                             (int)(length < 40 ? length : 40), text);
        }
        value = 10 * value + (uint64_t)(text[i] - '0');
        if (value > WEFT_ARRIVALS_NS) {
            return weft_fail(error, WEFT_INPUT, "later than %llu ns; cut the trace into parts",
                             (unsigned long long)WEFT_ARRIVALS_NS);
        }
    }
    *ns = value;
    return length > 0 || weft_fail(error, WEFT_INPUT, "no time; write arrival_ns,model");
}

static bool read_net(uint32_t *net, const char *text, size_t length,
                     const struct weft_serving_net *nets, struct weft_error *error)
{
    const char *names[WEFT_SERVING_NETS];
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        names[n] = nets[n].name;
        if (strlen(names[n]) == length && memcmp(names[n], text, length) == 0) {
            *net = n;
            return true;
        }
    }
    char word[41] = {0};
    memcpy(word, text, length < sizeof word ? length : sizeof word - 1);
    return weft_fail_word(error, "model of the study", word, names, WEFT_SERVING_NETS);
}

static bool read_arrival(struct weft_serving_arrival *arrival, const struct line *line,
                         const struct weft_serving_net *nets, struct weft_error *error)
{
    const char *comma = memchr(line->text, ',', line->length);
    if (comma == NULL) {
        return weft_fail(error, WEFT_INPUT, "'%.*s' has no comma; write arrival_ns,model",
                         (int)(line->length < 40 ? line->length : 40), line->text);
    }
    const char *time = line->text;
    size_t time_length = (size_t)(comma - time);
    const char *name = comma + 1;
    size_t name_length = line->length - time_length - 1;
    trim(&time, &time_length);
    trim(&name, &name_length);
    return read_time(&arrival->arrival_ns, time, time_length, error) &&
           read_net(&arrival->net, name, name_length, nets, error);
}

bool weft_arrivals_read(struct weft_serving_trace *trace, const char *data, size_t length,
                        const struct weft_serving_net *nets, struct weft_arena *arena,
                        struct weft_error *error)
{
    static const char header[] = "arrival_ns,model";
    const char *at = data;
    const char *end = data + length;
    struct line line = {0};
    if (!next_line(&line, &at, end) || line.length != sizeof header - 1 ||
        memcmp(line.text, header, sizeof header - 1) != 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: a trace begins with the line %s",
                         line.number > 0 ? line.number : 1, header);
    }
    const char *counting = at;
    struct line counted = line;
    uint32_t count = 0;
    while (next_line(&counted, &counting, end)) {
        if (++count > WEFT_ARRIVALS_MAX) {
            return weft_fail(error, WEFT_INPUT, "line %u: more than %u requests; cut the trace",
                             counted.number, WEFT_ARRIVALS_MAX);
        }
    }
    if (count == 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: no request follows the header", line.number);
    }
    struct weft_serving_arrival *arrivals = WEFT_NEW(arena, struct weft_serving_arrival, count);
    for (uint32_t r = 0; next_line(&line, &at, end); r++) {
        if (!read_arrival(&arrivals[r], &line, nets, error)) {
            return weft_wrap(error, "line %u", line.number);
        }
        if (r > 0 && arrivals[r].arrival_ns < arrivals[r - 1].arrival_ns) {
            return weft_fail(error, WEFT_INPUT,
                             "line %u: time goes back; sort the lines by arrival_ns", line.number);
        }
    }
    *trace = (struct weft_serving_trace){.count = count, .arrivals = arrivals};
    return true;
}

bool weft_arrivals_load(struct weft_serving_trace *trace, const char *path,
                        const struct weft_serving_net *nets, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, 0, &scratch, error)) {
        return false;
    }
    if (!weft_arrivals_read(trace, data, length, nets, arena, error)) {
        return weft_wrap(error, "%s", path);
    }
    trace->name = path;
    return true;
}
