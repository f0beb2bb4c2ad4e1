// SPDX-License-Identifier: Apache-2.0
// The loop between strategy and topology: the best iteration time by round, a line for each
// start.
//
// The vertical axis begins near the smallest value, as starts differ by little in the end.
// O(rounds).

#include "pictures.h"
#include "svg.h"

#include <math.h>

#define WIDTH 1000.0
#define LEFT 76.0
#define RIGHT 950.0
#define TOP 44.0
#define BOTTOM 264.0

struct range {
    double low;
    double high;
    uint32_t round_count; // of the longest start
};

static struct range find_range(const struct weft_report_round *rounds, uint32_t count)
{
    struct range range = {(double)INFINITY, 0, 1};
    uint32_t length = 0;
    for (uint32_t i = 0; i < count; i++) {
        range.low = fmin(range.low, rounds[i].iteration_s);
        range.high = fmax(range.high, rounds[i].iteration_s);
        length = i > 0 && rounds[i].start == rounds[i - 1].start ? length + 1 : 1;
        range.round_count = length > range.round_count ? length : range.round_count;
    }
    // A little room, and none below zero; equal values get a band of their own.
    double margin = range.high > range.low ? 0.08 * (range.high - range.low) : 0.05 * range.high;
    range.low = fmax(0, range.low - margin);
    range.high += margin;
    return range;
}

static double x_of(const struct range *range, uint32_t round)
{
    return range->round_count > 1
               ? LEFT + 20 + (RIGHT - LEFT - 40) * round / (range->round_count - 1)
               : (LEFT + RIGHT) / 2;
}

static double y_of(const struct range *range, double value)
{
    double height = range->high > range->low ? range->high - range->low : 1;
    return BOTTOM - (BOTTOM - TOP) * (value - range->low) / height;
}

static void add_start(struct weft_text *text, const struct weft_report_round *rounds,
                      uint32_t count, const struct range *range, uint32_t color)
{
    weft_text_add(text, "<path class=\"q%u\" stroke-width=\"2\" d=\"", color);
    for (uint32_t r = 0; r < count; r++) {
        weft_text_add(text, "%c%.1f %.1f", r == 0 ? 'M' : 'L', x_of(range, r),
                      y_of(range, rounds[r].iteration_s));
    }
    weft_text_add(text, "\"/>\n");
    for (uint32_t r = 0; r < count; r++) {
        char time[WEFT_UNIT_TEXT];
        svg_item_begin(text, "", "start %u, round %u: %s", rounds[r].start + 1, r + 1,
                       weft_show_time(time, weft_picoseconds(rounds[r].iteration_s)));
        weft_text_add(text, "<circle class=\"o%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", color,
                      x_of(range, r), y_of(range, rounds[r].iteration_s));
        svg_item_end(text);
    }
}

static void add_best(struct weft_text *text, const struct weft_report_round *rounds, uint32_t count,
                     const struct range *range, const struct svg_unit *unit)
{
    uint32_t best = 0;
    uint32_t round = 0;
    uint32_t best_round = 0;
    for (uint32_t i = 0; i < count; i++) {
        round = i > 0 && rounds[i].start == rounds[i - 1].start ? round + 1 : 0;
        if (rounds[i].iteration_s < rounds[best].iteration_s) {
            best = i;
            best_round = round;
        }
    }
    weft_text_add(text,
                  "<circle class=\"e\" stroke-width=\"2\" fill=\"none\" cx=\"%.1f\" cy=\"%.1f\" "
                  "r=\"7\"/>\n",
                  x_of(range, best_round), y_of(range, rounds[best].iteration_s));
    // Above the plot, clear of all lines.
    svg_label(text, svg_at(RIGHT, TOP - 16, SVG_END), "ef b", "best %.4g %s, round %u",
              rounds[best].iteration_s / unit->scale, unit->name, best_round + 1);
}

void picture_rounds(struct weft_text *text, const struct weft_report_round *rounds, uint32_t count)
{
    struct range range = find_range(rounds, count);
    struct svg_unit unit = svg_time_unit(range.high);
    svg_begin(text, WIDTH, BOTTOM + 44, "Iteration time by round of the loop", false);
    svg_axis_y(text, svg_field(LEFT, RIGHT, TOP, BOTTOM), range.low / unit.scale,
               range.high / unit.scale, unit.name);
    uint32_t every = (range.round_count + 19) / 20;
    for (uint32_t r = 0; r < range.round_count; r += every) {
        svg_label(text, svg_at(x_of(&range, r), BOTTOM + 15, SVG_MIDDLE), "m", "%u", r + 1);
    }
    svg_line(text, LEFT, BOTTOM, RIGHT, BOTTOM, "x");
    svg_label(text, svg_at(RIGHT, BOTTOM + 32, SVG_END), "m", "round");
    uint32_t start_count = 0;
    for (uint32_t from = 0; from < count;) {
        uint32_t to = from + 1;
        while (to < count && rounds[to].start == rounds[from].start) {
            to++;
        }
        add_start(text, rounds + from, to - from, &range, start_count % SVG_COLOR_COUNT);
        start_count++;
        from = to;
    }
    add_best(text, rounds, count, &range, &unit);
    svg_end(text);
}
