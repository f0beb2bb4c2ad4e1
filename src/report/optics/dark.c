// SPDX-License-Identifier: Apache-2.0
// Fabrics over the dark time of their switches: iterations, both axes logarithmic, a line for each
// fabric; those whose circuits do not move are level.
//
// A dot marks the fastest at each dark time. O(lines * points).

#include "report/svg/svg.h"
#include "weft/report.h"

#include <math.h>

#define WIDTH 860.0
#define HEIGHT 520.0
#define LEFT 80.0
#define RIGHT 830.0
#define TOP 96.0
#define BOTTOM 460.0
#define LEGEND_TOP 46.0
#define LEGEND_ROW 18.0
#define LEGEND_COLUMNS 4u

struct scale {
    double dark_low_s, dark_high_s;
    double low_s, high_s;
};

static double x_of(const struct scale *scale, double dark_s)
{
    double range = log10(scale->dark_high_s / scale->dark_low_s);
    return LEFT + (RIGHT - LEFT) * log10(dark_s / scale->dark_low_s) / range;
}

static double y_of(const struct scale *scale, double seconds)
{
    double range = log10(scale->high_s / scale->low_s);
    return BOTTOM - (BOTTOM - TOP) * log10(seconds / scale->low_s) / range;
}

static struct scale find_scale(const struct weft_dark_chart *chart)
{
    struct scale scale = {chart->dark_s[0], chart->dark_s[chart->point_count - 1], HUGE_VAL, 0};
    for (uint32_t i = 0; i < chart->point_count * chart->line_count; i++) {
        double seconds = chart->iteration_s[i];
        scale.low_s = seconds > 0 ? fmin(scale.low_s, seconds) : scale.low_s;
        scale.high_s = fmax(scale.high_s, seconds);
    }
    if (isinf(scale.low_s)) { // nothing to draw
        scale.low_s = 1;
        scale.high_s = 1;
    }
    scale.low_s /= 1.05;
    scale.high_s *= 1.05;
    return scale;
}

static const char *const dashes[] = {"", "7 3", "2 3"};
#define DASHES_COUNT (sizeof dashes / sizeof dashes[0])

static void begin_line(struct weft_text *text, uint32_t line)
{
    weft_text_add(text, "<path class=\"s%u\" stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"",
                  line % SVG_COLOR_COUNT, dashes[line / SVG_COLOR_COUNT % DASHES_COUNT]);
}

static bool has_plan(const struct weft_dark_chart *chart, uint32_t line)
{
    for (uint32_t p = 0; p < chart->point_count; p++) {
        if (chart->iteration_s[p * chart->line_count + line] > 0) {
            return true;
        }
    }
    return false;
}

// One fabric, broken where it has no plan, and its place in the legend.
static void add_fabric(struct weft_text *text, const struct weft_dark_chart *chart,
                       const struct scale *scale, uint32_t line, uint32_t place)
{
    bool pen_down = false;
    begin_line(text, line);
    for (uint32_t p = 0; p < chart->point_count; p++) {
        double seconds = chart->iteration_s[p * chart->line_count + line];
        if (seconds > 0) {
            weft_text_add(text, "%c%.1f %.1f", pen_down ? 'L' : 'M', x_of(scale, chart->dark_s[p]),
                          y_of(scale, seconds));
        }
        pen_down = seconds > 0;
    }
    weft_text_add(text, "\"/>\n");
    double x = LEFT + (RIGHT - LEFT) * (place % LEGEND_COLUMNS) / LEGEND_COLUMNS;
    uint32_t row = place / LEGEND_COLUMNS;
    double y = LEGEND_TOP + LEGEND_ROW * row;
    begin_line(text, line);
    weft_text_add(text, "M%.1f %.1fh22\"/>\n", x, y - 4);
    svg_label(text, svg_at(x + 27, y, SVG_START), "t", "%s", chart->names[line]);
}

static void add_fastest(struct weft_text *text, const struct weft_dark_chart *chart,
                        const struct scale *scale, uint32_t point)
{
    uint32_t best = WEFT_NONE;
    const double *times = chart->iteration_s + (size_t)point * chart->line_count;
    for (uint32_t l = 0; l < chart->line_count; l++) {
        best = times[l] > 0 && (best == WEFT_NONE || times[l] < times[best]) ? l : best;
    }
    if (best != WEFT_NONE) {
        weft_text_add(text, "<circle class=\"f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>\n",
                      best % SVG_COLOR_COUNT, x_of(scale, chart->dark_s[point]),
                      y_of(scale, times[best]));
    }
}

#define LEVELS 6u

// Times at equal distances on the logarithmic scale, dark times where they were asked for.
static void add_axes(struct weft_text *text, const struct weft_dark_chart *chart,
                     const struct scale *scale)
{
    struct svg_unit unit = svg_time_unit(scale->high_s);
    for (uint32_t i = 0; i <= LEVELS; i++) {
        double seconds = scale->low_s * pow(scale->high_s / scale->low_s, (double)i / LEVELS);
        svg_line(text, LEFT, y_of(scale, seconds), RIGHT, y_of(scale, seconds), "g");
        svg_label(text, svg_at(LEFT - 8, y_of(scale, seconds) + 4, SVG_END), "m", "%.3g %s",
                  seconds / unit.scale, unit.name);
    }
    for (uint32_t p = 0; p < chart->point_count; p++) {
        char time[WEFT_UNIT_TEXT];
        double x = x_of(scale, chart->dark_s[p]);
        svg_line(text, x, BOTTOM, x, TOP, "g");
        svg_label(text, svg_at(x, BOTTOM + 18, SVG_MIDDLE), "m", "%s",
                  weft_show_time(time, weft_picoseconds(chart->dark_s[p])));
    }
    svg_line(text, LEFT, BOTTOM, RIGHT, BOTTOM, "x");
    svg_label(text, svg_at(RIGHT, BOTTOM + 38, SVG_END), "m",
              "how long switches turn; up: iteration; a dot: the fastest");
}

const char *weft_report_svg_dark(const struct weft_dark_chart *chart, struct weft_arena *arena)
{
    WEFT_ASSERT(chart->point_count >= 2 &&
                chart->dark_s[chart->point_count - 1] > chart->dark_s[0]);
    struct scale scale = find_scale(chart);
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, HEIGHT, chart->title, true);
    svg_label(&text, svg_at(LEFT, 22, SVG_START), "t b", "%s", chart->title);
    add_axes(&text, chart, &scale);
    uint32_t place = 0;
    for (uint32_t l = 0; l < chart->line_count; l++) {
        if (has_plan(chart, l)) {
            add_fabric(&text, chart, &scale, l, place++);
        }
    }
    for (uint32_t p = 0; p < chart->point_count; p++) {
        add_fastest(&text, chart, &scale, p);
    }
    svg_end(&text);
    return text.data;
}
