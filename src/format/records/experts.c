// SPDX-License-Identifier: Apache-2.0
// Traces of experts' loads, in and out. The header's lines are taken first; the rows are then a
// table of numbers of the file with the header blanked, so that messages name the file's own lines.

#include "weft/format/experts.h"
#include "format/syntax/lines.h"
#include "weft/format/file.h"
#include "weft/format/numbers.h"

#include <string.h>

#define FIGURES 4u
static const char *const names[FIGURES] = {"experts", "layers", "ranks", "steps"};

struct header {
    uint64_t figures[FIGURES]; // 0 = not stated
    const char *end;           // of it
};

// Which figure a line states; FIGURES: it is a row.
static uint32_t figure_of(const struct lines *lines)
{
    uint32_t f = 0;
    while (f < FIGURES && !word_is(&lines->words[0], names[f])) {
        f++;
    }
    return f;
}

static bool read_figure(struct header *header, const struct lines *lines, uint32_t f,
                        struct weft_error *error)
{
    if (lines->word_count != 2) {
        return weft_fail(error, WEFT_INPUT, "line %u: write '%s N'", lines->number, names[f]);
    }
    if (header->figures[f] > 0) {
        return weft_fail(error, WEFT_INPUT, "line %u: %s is stated twice; leave one out",
                         lines->number, names[f]);
    }
    return word_count(&header->figures[f], &lines->words[1], names[f], 1, WEFT_EXPERTS_MAX,
                      error) ||
           weft_wrap(error, "line %u", lines->number);
}

// All four figures, in any order, ahead of the first row.
static bool read_header(struct header *header, const char *data, size_t length,
                        struct weft_error *error)
{
    struct lines lines = {.at = data, .end = data + length};
    uint32_t stated = 0;
    while (stated < FIGURES) {
        bool more = false;
        if (!lines_next(&lines, &more, error)) {
            return false;
        }
        uint32_t f = more ? figure_of(&lines) : FIGURES;
        if (f == FIGURES) {
            break;
        }
        if (!read_figure(header, &lines, f, error)) {
            return false;
        }
        stated++;
    }
    for (uint32_t f = 0; f < FIGURES; f++) {
        if (header->figures[f] == 0) {
            return weft_fail(error, WEFT_INPUT,
                             "line %u: the header lacks '%s N'; a trace begins with experts, "
                             "layers, ranks and steps",
                             lines.number, names[f]);
        }
    }
    header->end = lines.at;
    return true;
}

bool weft_experts_read(struct weft_expert_trace *trace, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error)
{
    struct header header = {.end = data};
    if (!read_header(&header, data, length, error)) {
        return false;
    }
    char *text = weft_arena_text(&scratch, data, length);
    for (size_t i = 0; i < (size_t)(header.end - data); i++) {
        text[i] = text[i] == '\n' ? '\n' : ' ';
    }
    const uint64_t *figures = header.figures;
    struct weft_numbers numbers;
    if (!weft_numbers_read(&numbers, text, length, (uint32_t)figures[0], arena, error)) {
        return false;
    }
    uint64_t rows = figures[1] * figures[2] * figures[3];
    if (numbers.rows != rows) {
        return weft_fail(error, WEFT_INPUT,
                         "%u rows, where the header's %llu steps of %llu layers of %llu ranks are "
                         "%llu; correct the header or the rows",
                         numbers.rows, (unsigned long long)figures[3],
                         (unsigned long long)figures[1], (unsigned long long)figures[2],
                         (unsigned long long)rows);
    }
    for (uint64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (uint64_t e = 0; e < figures[0]; e++) {
            sum += numbers.values[r * figures[0] + e];
        }
        if (sum <= 0) {
            return weft_fail(error, WEFT_INPUT,
                             "row %llu is nothing but zeros; a rank sends every token somewhere",
                             (unsigned long long)r + 1);
        }
    }
    *trace = (struct weft_expert_trace){(uint32_t)figures[0], (uint32_t)figures[1],
                                        (uint32_t)figures[2], (uint32_t)figures[3], numbers.values};
    return true;
}

bool weft_experts_load(struct weft_expert_trace *trace, const char *path, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    struct weft_arena kept = weft_arena_split(&scratch);
    return weft_file_load(&data, &length, path, 0, &kept, error) &&
           (weft_experts_read(trace, data, length, arena, scratch, error) ||
            weft_wrap(error, "%s", path));
}

const char *weft_experts_write(const struct weft_expert_trace *trace, struct weft_arena *arena)
{
    const uint32_t figures[FIGURES] = {trace->experts, trace->layers, trace->ranks, trace->steps};
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "# Loads of experts: one row for each step, layer and rank.\n");
    for (uint32_t f = 0; f < FIGURES; f++) {
        weft_text_add(&text, "%s %u\n", names[f], figures[f]);
    }
    size_t rows = (size_t)trace->steps * trace->layers * trace->ranks;
    for (size_t r = 0; r < rows; r++) {
        for (uint32_t e = 0; e < trace->experts; e++) {
            weft_text_add(&text, "%s%.17g", e > 0 ? " " : "", trace->loads[r * trace->experts + e]);
        }
        weft_text_add(&text, "\n");
    }
    return text.data;
}
