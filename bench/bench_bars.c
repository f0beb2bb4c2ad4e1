// SPDX-License-Identifier: Apache-2.0
// The chart of tools/lab-mltcp: bench_bars < ROWS > CHART.svg. Rows are words between tabs: first
// "", then the names of the columns; then a name and MEAN:LEAST:MOST or - for each column.

#include "weft/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 64, COLUMNS_MAX = 4, LINE_BYTES = 4096 };

struct rows {
    const char *groups[ROWS_MAX];
    const char *series[COLUMNS_MAX];
    struct weft_ratio ratios[ROWS_MAX * COLUMNS_MAX];
    uint32_t group_count;
    uint32_t series_count;
};

static bool parse_ratio(struct weft_ratio *ratio, const char *word)
{
    *ratio = (struct weft_ratio){NAN, NAN, NAN};
    if (strcmp(word, "-") == 0) {
        return true;
    }
    char *end = NULL;
    ratio->mean = strtod(word, &end);
    if (*end != ':') {
        return false;
    }
    ratio->low = strtod(end + 1, &end);
    if (*end != ':') {
        return false;
    }
    ratio->high = strtod(end + 1, &end);
    return *end == '\0';
}

static bool parse_line(struct rows *rows, char *line, bool first, struct weft_arena *arena)
{
    line[strcspn(line, "\n")] = '\0';
    uint32_t column = 0;
    for (char *word = strsep(&line, "\t"); word != NULL; word = strsep(&line, "\t"), column++) {
        const char *copy = weft_arena_text(arena, word, strlen(word));
        if (column > COLUMNS_MAX || (!first && column > rows->series_count)) {
            return false;
        }
        if (column == 0) {
            rows->groups[rows->group_count] = copy;
        } else if (first) {
            rows->series[column - 1] = copy;
        } else if (!parse_ratio(&rows->ratios[rows->group_count * rows->series_count + column - 1],
                                word)) {
            return false;
        }
    }
    if (first) {
        rows->series_count = column - 1;
    } else {
        rows->group_count++;
    }
    return column == rows->series_count + 1;
}

int main(void)
{
    struct weft_arena arena;
    struct weft_error error;
    if (!weft_arena_init(&arena, 0, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    struct rows *rows = WEFT_NEW(&arena, struct rows, 1);
    char line[LINE_BYTES];
    bool first = true;
    while (rows->group_count < ROWS_MAX && fgets(line, sizeof line, stdin) != NULL) {
        if (!parse_line(rows, line, first, &arena)) {
            fprintf(stderr, "bench_bars: row %u is not as the first says\n", rows->group_count + 1);
            return 1;
        }
        first = false;
    }
    if (rows->group_count == 0) {
        fprintf(stderr, "bench_bars: no rows\n");
        return 1;
    }
    const struct weft_ratio_chart chart = {
        .title = "Iterations of jobs that share a link, on a real kernel",
        .axis = "% longer than if they took turns",
        .group_count = rows->group_count,
        .series_count = rows->series_count,
        .groups = rows->groups,
        .series = rows->series,
        .ratios = rows->ratios,
    };
    fputs(weft_report_svg_ratios(&chart, &arena), stdout);
    return 0;
}
