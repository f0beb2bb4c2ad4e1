// SPDX-License-Identifier: Apache-2.0
// Series of what links carried, read back from the CSV that weft simulate --series writes.
//
// Rows may stand in any order and links may lack samples: rows are sorted by link and time, the
// step is the smallest distance of two, and what lacks carried nothing. O(bytes log rows).

#include "format/syntax/json.h"
#include "weft/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 32u
#define SAMPLES_MAX 4000000u // of all links
#define NAME_MAX_BYTES 64u

struct columns {
    uint32_t time;
    uint32_t bytes;
    uint32_t link;        // WEFT_NONE = one link
    uint32_t utilization; // WEFT_NONE = not stated
};

struct row {
    double time_s;
    double bytes;
    double utilization_ratio;
    char link[NAME_MAX_BYTES]; // "" = the only one
};

// The fields of a line, without the spaces around them.
static uint32_t split(const char **fields, size_t *lengths, const char *line, size_t length)
{
    uint32_t count = 0;
    const char *end = line + length;
    while (count < COLUMNS_MAX) {
        const char *comma = memchr(line, ',', (size_t)(end - line));
        const char *stop = comma == NULL ? end : comma;
        const char *from = line;
        const char *to = stop;
        while (from < to && (*from == ' ' || *from == '\t')) {
            from++;
        }
        while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r')) {
            to--;
        }
        fields[count] = from;
        lengths[count++] = (size_t)(to - from);
        if (comma == NULL) {
            break;
        }
        line = comma + 1;
    }
    return count;
}

// Finds the columns by their names, in any order; only time and bytes must be there.
static bool read_header(struct columns *columns, const char *line, size_t length,
                        struct weft_error *error)
{
    const char *fields[COLUMNS_MAX];
    size_t lengths[COLUMNS_MAX];
    *columns = (struct columns){WEFT_NONE, WEFT_NONE, WEFT_NONE, WEFT_NONE};
    const struct {
        const char *name;
        uint32_t *column;
    } known[] = {{"time_s", &columns->time},
                 {"bytes", &columns->bytes},
                 {"link", &columns->link},
                 {"utilization_ratio", &columns->utilization}};
    uint32_t count = split(fields, lengths, line, length);
    for (uint32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
            if (strlen(known[k].name) == lengths[i] &&
                memcmp(known[k].name, fields[i], lengths[i]) == 0) {
                *known[k].column = i;
            }
        }
    }
    if (columns->time == WEFT_NONE || columns->bytes == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT,
                         "line 1: no columns time_s and bytes; begin with the line time_s,bytes");
    }
    return true;
}

// A field of a row: its text, the column's name and the largest number that it may be.
struct field {
    const char *text;
    size_t length;
    const char *name;
    double high;
};

static bool read_field(double *value, const struct field *field, uint32_t line,
                       struct weft_error *error)
{
    char text[64];
    if (field->length >= sizeof text) {
        return weft_fail(error, WEFT_INPUT, "line %u: %s: too long for a number", line,
                         field->name);
    }
    memcpy(text, field->text, field->length);
    text[field->length] = '\0';
    return weft_parse_number(value, text, 0, field->high, error) ||
           weft_wrap(error, "line %u: %s", line, field->name);
}

// A link's name: text that fits, so that names which begin alike stay apart.
static bool read_name(char name[NAME_MAX_BYTES], const char *field, size_t length, uint32_t line,
                      struct weft_error *error)
{
    if (length >= NAME_MAX_BYTES) {
        return weft_fail(error, WEFT_INPUT, "line %u: link: longer than %u bytes; write a number",
                         line, NAME_MAX_BYTES - 1);
    }
    bool plain = true;
    bool control = false;
    for (size_t i = 0; i < length; i++) {
        plain = plain && (unsigned char)field[i] < 0x7f;
        control = control || (unsigned char)field[i] < ' ';
    }
    json_t *text = plain ? NULL : json_stringn(field, length);
    bool fine = !control && (plain || text != NULL);
    json_decref(text);
    if (!fine) {
        return weft_fail(error, WEFT_INPUT, "line %u: link: not text in UTF-8; write a number",
                         line);
    }
    memcpy(name, field, length);
    name[length] = '\0';
    return true;
}

// Reads the fields of a row. Utilization and link may lack: the value is 0 then, the name
// empty.
static bool read_row(struct row *row, const struct columns *columns, const char *line,
                     size_t length, uint32_t number, struct weft_error *error)
{
    const char *fields[COLUMNS_MAX];
    size_t lengths[COLUMNS_MAX];
    uint32_t count = split(fields, lengths, line, length);
    uint32_t last = columns->time > columns->bytes ? columns->time : columns->bytes;
    last = columns->link != WEFT_NONE && columns->link > last ? columns->link : last;
    if (count <= last) {
        return weft_fail(error, WEFT_INPUT, "line %u: %u fields; the header has more", number,
                         count);
    }
    const struct field time = {fields[columns->time], lengths[columns->time], "time_s", 1e6};
    const struct field bytes = {fields[columns->bytes], lengths[columns->bytes], "bytes", 1e18};
    if (!read_field(&row->time_s, &time, number, error) ||
        !read_field(&row->bytes, &bytes, number, error)) {
        return false;
    }
    row->utilization_ratio = 0;
    if (columns->utilization < count) {
        const struct field utilization = {fields[columns->utilization],
                                          lengths[columns->utilization], "utilization_ratio", 1e6};
        if (!read_field(&row->utilization_ratio, &utilization, number, error)) {
            return false;
        }
    }
    row->link[0] = '\0';
    return columns->link == WEFT_NONE ||
           read_name(row->link, fields[columns->link], lengths[columns->link], number, error);
}

static int by_link_and_time(const void *a, const void *b)
{
    const struct row *x = a;
    const struct row *y = b;
    int names = strcmp(x->link, y->link);
    return names != 0 ? names : (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

// The shortest time between two samples of a link; 0 = there are no two.
static double find_step(const struct row *rows, uint32_t count, double *first_s, double *last_s)
{
    double step_s = 0;
    *first_s = rows[0].time_s;
    *last_s = rows[0].time_s;
    for (uint32_t i = 0; i < count; i++) {
        *first_s = fmin(*first_s, rows[i].time_s);
        *last_s = fmax(*last_s, rows[i].time_s);
        if (i > 0 && strcmp(rows[i - 1].link, rows[i].link) == 0) {
            double apart_s = rows[i].time_s - rows[i - 1].time_s;
            step_s = apart_s > 0 && (step_s == 0 || apart_s < step_s) ? apart_s : step_s;
        }
    }
    return step_s;
}

// Puts the sorted rows into series of equal steps, one for each link; rows that fall on one
// step are added up. Where utilization is stated, the capacity of a link follows from bytes and
// step.
static bool fill_series(struct weft_series_set *set, const struct row *rows, uint32_t count,
                        struct weft_arena *arena, struct weft_error *error)
{
    double first_s = 0;
    double last_s = 0;
    double step_s = find_step(rows, count, &first_s, &last_s);
    double samples = step_s > 0 ? nearbyint((last_s - first_s) / step_s) + 1 : 0;
    uint32_t links = 1;
    for (uint32_t i = 1; i < count; i++) {
        links += strcmp(rows[i - 1].link, rows[i].link) != 0 ? 1 : 0;
    }
    if (samples < 4 || samples * links > SAMPLES_MAX || step_s < 1e-11) {
        return weft_fail(error, WEFT_INPUT,
                         "%g samples of %u links, %g s apart; there must be 4 samples, and %u at "
                         "most",
                         samples, links, step_s, SAMPLES_MAX);
    }
    struct weft_series *series = WEFT_NEW(arena, struct weft_series, links);
    const char **names = WEFT_NEW(arena, const char *, links);
    double *capacity_Bps = WEFT_NEW(arena, double, links);
    double *bytes = NULL;
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(rows[i - 1].link, rows[i].link) != 0) {
            bytes = WEFT_NEW(arena, double, (size_t)samples);
            series[at].step_ps = (uint64_t)llround(step_s * 1e12);
            series[at].count = (uint32_t)samples;
            series[at].bytes = bytes;
            names[at++] = weft_arena_text(arena, rows[i].link, strlen(rows[i].link));
        }
        double place = nearbyint((rows[i].time_s - first_s) / step_s);
        bytes[(uint32_t)fmin(place, samples - 1)] += rows[i].bytes;
        if (rows[i].utilization_ratio > 0) {
            capacity_Bps[at - 1] =
                fmax(capacity_Bps[at - 1], rows[i].bytes / step_s / rows[i].utilization_ratio);
        }
    }
    *set = (struct weft_series_set){links, series, names, capacity_Bps};
    return true;
}

bool weft_series_read(struct weft_series_set *set, const char *data, size_t length,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    const char *end = data + length;
    size_t lines = 1;
    for (const char *at = data; at < end; at++) {
        lines += *at == '\n' ? 1 : 0;
    }
    if (lines > SAMPLES_MAX) {
        return weft_fail(error, WEFT_INPUT, "%zu lines; %u at most", lines, SAMPLES_MAX);
    }
    struct row *rows = WEFT_NEW(&scratch, struct row, lines);
    struct columns columns = {0};
    uint32_t number = 0;
    uint32_t count = 0;
    for (const char *at = data; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        size_t here = (size_t)(stop - at);
        number++;
        bool empty = here == 0 || (here == 1 && at[0] == '\r');
        if (number == 1 ? !read_header(&columns, at, here, error)
                        : !empty && !read_row(&rows[count++], &columns, at, here, number, error)) {
            return false;
        }
        at = stop + 1;
    }
    if (count == 0) {
        return weft_fail(error, WEFT_INPUT, "no samples; write lines of time_s,bytes");
    }
    qsort(rows, count, sizeof rows[0], by_link_and_time);
    return fill_series(set, rows, count, arena, error);
}

bool weft_series_load(struct weft_series_set *set, const char *path, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, WEFT_FILE_TRACE_BYTES, arena, error)) {
        return false;
    }
    return weft_series_read(set, data, length, arena, scratch, error) ||
           weft_wrap(error, "%s", path);
}
