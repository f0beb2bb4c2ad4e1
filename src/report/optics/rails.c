// SPDX-License-Identifier: Apache-2.0
// The states of a photonic rail over an iteration: a row a server, what its ports carry and when
// they are dark. O(spans).

#include "report/svg/svg.h"
#include "weft/report.h"

#include <string.h>

#define WIDTH 860.0
#define LEFT 76.0
#define RIGHT 830.0
#define TOP 48.0
#define ROW 18.0

static const struct {
    const char *phase, *fill, *name;
} kinds[] = {
    {"dp", "f0", "data parallelism"},
    {"pp", "f5", "pipeline"},
    {"ep", "f2", "experts"},
    {"cp", "f3", "context"},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static uint32_t kind_of(const char *phase)
{
    uint32_t k = 0;
    while (k + 1 < KINDS && strcmp(kinds[k].phase, phase) != 0) {
        k++;
    }
    return k;
}

static void add_span(struct weft_text *text, const struct weft_rail_span *span, double end_s)
{
    double from = LEFT + (RIGHT - LEFT) * weft_seconds(span->from_ps) / end_s;
    double to = LEFT + (RIGHT - LEFT) * weft_seconds(span->to_ps) / end_s;
    double width = to - from < 0.5 ? 0.5 : to - from; // that it can be seen
    bool dark = span->phase == NULL;
    char begin[WEFT_UNIT_TEXT];
    char end[WEFT_UNIT_TEXT];
    svg_item_begin(text, "", "server %u: %s, %s to %s", span->server,
                   dark ? "dark" : kinds[kind_of(span->phase)].name,
                   weft_show_time(begin, span->from_ps), weft_show_time(end, span->to_ps));
    svg_rect(text, from, TOP + ROW * span->server + (dark ? 11 : 2), width, dark ? 4 : 9,
             dark ? "fo" : kinds[kind_of(span->phase)].fill);
    svg_item_end(text);
}

const char *weft_report_svg_rails(const struct weft_rail_result *rail, const char *name,
                                  struct weft_arena *arena)
{
    uint32_t rows = 1;
    bool used[KINDS] = {false};
    for (uint32_t s = 0; s < rail->span_count; s++) {
        const struct weft_rail_span *span = &rail->spans[s];
        rows = span->server + 1 > rows ? span->server + 1 : rows;
        if (span->phase != NULL) {
            used[kind_of(span->phase)] = true;
        }
    }
    double end_s = weft_seconds(rail->iteration_ps);
    double bottom = TOP + ROW * rows;
    struct svg_unit unit = svg_time_unit(end_s);
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, bottom + 44, "Ports of a photonic rail over an iteration", true);
    svg_label(&text, svg_at(LEFT, 22, SVG_START), "t b", "%s", name);
    double x = RIGHT;
    svg_label(&text, svg_at(x, 22, SVG_END), "m b", "dark (below)");
    for (uint32_t k = KINDS; k-- > 0;) {
        if (used[k]) {
            x -= 110;
            svg_label(&text, svg_at(x, 22, SVG_END), kinds[k].fill, "%s", kinds[k].name);
        }
    }
    svg_axis_x(&text, svg_field(LEFT, RIGHT, TOP, bottom), 0, end_s / unit.scale, "");
    svg_label(&text, svg_at(RIGHT, bottom + 34, SVG_END), "m", "time, %s", unit.name);
    for (uint32_t r = 0; r < rows; r++) {
        svg_label(&text, svg_at(LEFT - 8, TOP + ROW * r + 11, SVG_END), "m", "server %u", r);
    }
    for (uint32_t s = 0; s < rail->span_count; s++) {
        add_span(&text, &rail->spans[s], end_s);
    }
    svg_end(&text);
    return text.data;
}
