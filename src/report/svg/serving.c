// SPDX-License-Identifier: Apache-2.0
// Requests served: mean latency over load, a line for each processor.
//
// Time is logarithmic, load linear. A line is solid where its processor does what it is asked for
// and dotted from the load on at which it does not: there a mean grows with the number of requests
// counted. O(lines * points).

#include "svg.h"
#include "weft/report.h"

#include <math.h>

#define WIDTH 760.0
#define HEIGHT 420.0
#define LEFT 76.0
#define RIGHT 730.0
#define TOP 70.0
#define BOTTOM 360.0
#define LEGEND_STEP 130.0

struct scale {
    double load_high_Bps;
    double low_s, high_s;
};

static double x_of(const struct scale *scale, double load_Bps)
{
    return LEFT + (RIGHT - LEFT) * load_Bps / scale->load_high_Bps;
}

static double y_of(const struct scale *scale, double seconds)
{
    double part = log(seconds / scale->low_s) / log(scale->high_s / scale->low_s);
    return BOTTOM - (BOTTOM - TOP) * part;
}

// Whole powers of ten around all means, so that every grid line is one.
static struct scale scale_of(const struct weft_serving_chart *chart)
{
    struct scale scale = {0, (double)INFINITY, 0};
    for (uint32_t p = 0; p < chart->point_count; p++) {
        scale.load_high_Bps = fmax(scale.load_high_Bps, chart->load_Bps[p]);
        for (uint32_t l = 0; l < chart->line_count; l++) {
            double mean_s = chart->mean_s[p * chart->line_count + l];
            scale.low_s = fmin(scale.low_s, mean_s);
            scale.high_s = fmax(scale.high_s, mean_s);
        }
    }
    scale.low_s = pow(10, floor(log10(scale.low_s)));
    scale.high_s = pow(10, ceil(log10(scale.high_s) + 1e-9));
    return scale;
}

static void add_grid(struct weft_text *text, const struct scale *scale)
{
    for (double at_s = scale->low_s; at_s < scale->high_s * 1.5; at_s *= 10) {
        char time[WEFT_UNIT_TEXT];
        double y = y_of(scale, at_s);
        svg_line(text, LEFT, y, RIGHT, y, "g");
        svg_label(text, svg_at(LEFT - 6, y + 4, SVG_END), "m", "%s",
                  weft_show_time(time, weft_picoseconds(at_s)));
    }
}

// The objective's latency, where it is in the picture.
static void add_objective(struct weft_text *text, const struct scale *scale, double objective_s)
{
    if (objective_s <= scale->low_s || objective_s >= scale->high_s) {
        return;
    }
    char time[WEFT_UNIT_TEXT];
    double y = y_of(scale, objective_s);
    svg_line(text, LEFT, y, RIGHT, y, "e");
    svg_label(text, svg_at(RIGHT - 4, y - 5, SVG_END), "ef", "objective %s",
              weft_show_time(time, weft_picoseconds(objective_s)));
}

// The line's part whose points are stationary, or the rest, which begins at the last of them.
static void add_part(struct weft_text *text, const struct scale *scale,
                     const struct weft_serving_chart *chart, uint32_t line, bool stationary)
{
    uint32_t drawn = 0;
    for (uint32_t p = 0; p < chart->point_count; p++) {
        bool own = (chart->rho[p * chart->line_count + line] < 1) == stationary;
        bool next = !stationary && p + 1 < chart->point_count &&
                    chart->rho[(p + 1) * chart->line_count + line] >= 1;
        if (!own && !next) {
            continue;
        }
        if (drawn == 0) {
            weft_text_add(text, "<path class=\"s%u\" stroke-width=\"2.5\"%s d=\"",
                          line % SVG_COLOR_COUNT, stationary ? "" : " stroke-dasharray=\"2 5\"");
        }
        weft_text_add(text, "%c%.1f %.1f", drawn == 0 ? 'M' : 'L', x_of(scale, chart->load_Bps[p]),
                      y_of(scale, chart->mean_s[p * chart->line_count + line]));
        drawn++;
    }
    if (drawn > 0) {
        weft_text_add(text, "\"/>\n");
    }
}

const char *weft_report_svg_serving(const struct weft_serving_chart *chart,
                                    struct weft_arena *arena)
{
    WEFT_ASSERT(chart->point_count > 0 && chart->line_count > 0);
    struct scale scale = scale_of(chart);
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, HEIGHT, "Mean latency over load", true);
    svg_label(&text, svg_at(LEFT, 24, SVG_START), "t b", "%s", chart->title);
    for (uint32_t l = 0; l < chart->line_count; l++) {
        char color[8];
        snprintf(color, sizeof color, "f%u b", l % SVG_COLOR_COUNT);
        svg_label(&text, svg_at(LEFT + LEGEND_STEP * l, 46, SVG_START), color, "%s",
                  chart->names[l]);
    }
    svg_label(&text, svg_at(RIGHT, 24, SVG_END), "m", "dotted: asked for more than it can do");
    add_grid(&text, &scale);
    svg_axis_x(&text, svg_field(LEFT, RIGHT, TOP, BOTTOM), 0, scale.load_high_Bps * 8e-6, "");
    svg_label(&text, svg_at(RIGHT, BOTTOM + 36, SVG_END), "m",
              "requests' inputs arrive at, Mbit/s");
    add_objective(&text, &scale, chart->objective_s);
    for (uint32_t l = 0; l < chart->line_count; l++) {
        add_part(&text, &scale, chart, l, true);
        add_part(&text, &scale, chart, l, false);
    }
    svg_end(&text);
    return text.data;
}
