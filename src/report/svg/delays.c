// SPDX-License-Identifier: Apache-2.0
// An AllReduce with a late rank: time over delay, StragglAR (Devraj et al., 2025) against a
// ring.
//
// Both axes are linear; marks show the delay from which StragglAR wins and the one that hides
// its reduce-scatter. O(samples).

#include "svg.h"
#include "weft/report.h"

#include <math.h>

#define WIDTH 760.0
#define HEIGHT 400.0
#define LEFT 76.0
#define RIGHT 730.0
#define TOP 60.0
#define BOTTOM 340.0

struct scale {
    double delay_high_s;
    double time_high_s;
};

static double x_of(const struct scale *scale, double delay_s)
{
    return LEFT + (RIGHT - LEFT) * delay_s / scale->delay_high_s;
}

static double y_of(const struct scale *scale, double seconds)
{
    return BOTTOM - (BOTTOM - TOP) * seconds / scale->time_high_s;
}

static void add_line(struct weft_text *text, const struct scale *scale,
                     const struct weft_delay_curve *curve, const double *seconds,
                     const char *classes)
{
    weft_text_add(text, "<path class=\"%s\" stroke-width=\"2.5\" d=\"", classes);
    for (uint32_t i = 0; i < curve->count; i++) {
        weft_text_add(text, "%c%.1f %.1f", i == 0 ? 'M' : 'L', x_of(scale, curve->delay_s[i]),
                      y_of(scale, seconds[i]));
    }
    weft_text_add(text, "\"/>\n");
}

// A delay of note: an upright line and its name at the top.
static void add_mark(struct weft_text *text, const struct scale *scale, double delay_s, double y,
                     const char *name)
{
    if (delay_s <= 0 || delay_s > scale->delay_high_s) {
        return;
    }
    double x = x_of(scale, delay_s);
    svg_line(text, x, BOTTOM, x, y + 4, "e");
    bool right = x > (LEFT + RIGHT) / 2;
    svg_label(text, svg_at(x + (right ? -5 : 5), y + 12, right ? SVG_END : SVG_START), "ef", "%s",
              name);
}

// Draws both algorithms' times over the delay, and marks the delays from which StragglAR is quicker
// and from which its reduce-scatter is hidden.
const char *weft_report_svg_delays(const struct weft_delay_curve *curve, struct weft_arena *arena)
{
    WEFT_ASSERT(curve->count >= 2);
    struct scale scale = {curve->delay_s[curve->count - 1], 0};
    for (uint32_t i = 0; i < curve->count; i++) {
        scale.time_high_s = fmax(scale.time_high_s, fmax(curve->ring_s[i], curve->stragglar_s[i]));
    }
    WEFT_ASSERT(scale.delay_high_s > 0 && isfinite(scale.time_high_s));
    scale.time_high_s *= 1.05;
    struct svg_unit unit = svg_time_unit(scale.time_high_s);
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, HEIGHT, "AllReduce with a late rank: time by delay", true);
    svg_label(&text, svg_at(LEFT, 22, SVG_START), "t b", "AllReduce of %u ranks, one late",
              curve->rank_count);
    svg_label(&text, svg_at(RIGHT - 90, 22, SVG_END), "f0 b", "StragglAR");
    svg_label(&text, svg_at(RIGHT, 22, SVG_END), "f5 b", "ring");
    svg_axis_x(&text, svg_field(LEFT, RIGHT, TOP, BOTTOM), 0, scale.delay_high_s / unit.scale, "");
    svg_axis_y(&text, svg_field(LEFT, RIGHT, TOP, BOTTOM), 0, scale.time_high_s / unit.scale,
               unit.name);
    svg_label(&text, svg_at(RIGHT, BOTTOM + 34, SVG_END), "m", "delay of the late rank, %s",
              unit.name);
    add_mark(&text, &scale, curve->break_even_s, TOP, "break-even");
    add_mark(&text, &scale, curve->hidden_s, TOP + 16, "reduce-scatter hidden");
    add_line(&text, &scale, curve, curve->ring_s, "s5");
    add_line(&text, &scale, curve, curve->stragglar_s, "s0");
    svg_end(&text);
    return text.data;
}
