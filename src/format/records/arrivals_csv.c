// SPDX-License-Identifier: Apache-2.0
// Traces of requests for inference: a time and a model a line.

#include "format/syntax/lines.h"
#include "weft/format/arrivals.h"
#include "weft/format/file.h"

#include <string.h>

static bool read_time(uint64_t *ns, const struct line_word *word, struct weft_error *error)
{
    uint64_t value = 0;
    for (size_t i = 0; i < word->length; i++) {
        if (word->text[i] < '0' || word->text[i] > '9') {
            return weft_fail(error, WEFT_INPUT, "'%.*s' is no time in whole nanoseconds",
                             WORD_SHOWN(word));
        }
        value = 10 * value + (uint64_t)(word->text[i] - '0');
        if (value > WEFT_ARRIVALS_NS) {
            return weft_fail(error, WEFT_INPUT, "later than %llu ns; cut the trace into parts",
                             (unsigned long long)WEFT_ARRIVALS_NS);
        }
    }
    *ns = value;
    return word->length > 0 || weft_fail(error, WEFT_INPUT, "no time; write arrival_ns,model");
}

static bool read_net(uint32_t *net, const struct line_word *word,
                     const struct weft_serving_net *nets, struct weft_error *error)
{
    const char *names[WEFT_SERVING_NETS];
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        names[n] = nets[n].name;
        if (strlen(names[n]) == word->length && memcmp(names[n], word->text, word->length) == 0) {
            *net = n;
            return true;
        }
    }
    char shown[41] = {0};
    memcpy(shown, word->text, word->length < sizeof shown ? word->length : sizeof shown - 1);
    return weft_fail_word(error, "model of the study", shown, names, WEFT_SERVING_NETS);
}

static bool read_arrival(struct weft_serving_arrival *arrival, const struct line_word *line,
                         const struct weft_serving_net *nets, struct weft_error *error)
{
    struct line_word name = *line; // all behind the first comma
    struct line_word time;
    if (!word_field(&time, &name) || name.text == NULL) {
        return weft_fail(error, WEFT_INPUT, "'%.*s' has no comma; write arrival_ns,model",
                         WORD_SHOWN(line));
    }
    word_trim(&name);
    return read_time(&arrival->arrival_ns, &time, error) &&
           read_net(&arrival->net, &name, nets, error);
}

bool weft_arrivals_read(struct weft_serving_trace *trace, const char *data, size_t length,
                        const struct weft_serving_net *nets, struct weft_arena *arena,
                        struct weft_error *error)
{
    static const char header[] = "arrival_ns,model";
    struct lines lines = {.at = data, .end = data + length};
    if (!lines_find(&lines) || lines.line.length != sizeof header - 1 ||
        memcmp(lines.line.text, header, sizeof header - 1) != 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: a trace begins with the line %s",
                         lines.number > 0 ? lines.number : 1, header);
    }
    struct lines counted = lines;
    uint32_t count = 0;
    while (lines_find(&counted)) {
        if (++count > WEFT_ARRIVALS_MAX) {
            return weft_fail(error, WEFT_INPUT, "line %u: more than %u requests; cut the trace",
                             counted.number, WEFT_ARRIVALS_MAX);
        }
    }
    if (count == 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: no request follows the header", lines.number);
    }
    struct weft_serving_arrival *arrivals = WEFT_NEW(arena, struct weft_serving_arrival, count);
    for (uint32_t r = 0; lines_find(&lines); r++) {
        if (!read_arrival(&arrivals[r], &lines.line, nets, error)) {
            return weft_wrap(error, "line %u", lines.number);
        }
        if (r > 0 && arrivals[r].arrival_ns < arrivals[r - 1].arrival_ns) {
            return weft_fail(error, WEFT_INPUT,
                             "line %u: time goes back; sort the lines by arrival_ns", lines.number);
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
