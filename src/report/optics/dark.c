// SPDX-License-Identifier: Apache-2.0
// Fabrics over the dark time of their switches: iterations, both axes logarithmic, a line for each
// fabric; those whose circuits do not move are level.
//
// A dot marks the fastest at each dark time. Names stand beside the ends of their lines, so that
// of lines that lie on each other all can be read. O(lines * (lines + points)).

#include "report/svg/pictures.h"
#include "report/svg/svg.h"
#include "weft/report.h"

#include <math.h>

#define WIDTH 860.0
#define HEIGHT 520.0
#define LEFT 80.0
#define RIGHT 690.0
#define TOP 46.0
#define BOTTOM 460.0
#define LABEL_ROW 15.0

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

// One fabric, broken where it has no plan.
static void add_fabric(struct weft_text *text, const struct weft_dark_chart *chart,
                       const struct scale *scale, uint32_t line)
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
}

// The last of a fabric's times; 0: it has none.
static double last_time(const struct weft_dark_chart *chart, uint32_t line)
{
    double seconds = 0;
    for (uint32_t p = 0; p < chart->point_count; p++) {
        double next = chart->iteration_s[p * chart->line_count + line];
        seconds = next > 0 ? next : seconds;
    }
    return seconds;
}

// How many names stand above that of `line`: of longer times, of the same those of earlier lines.
static uint32_t names_above(const struct weft_dark_chart *chart, uint32_t line)
{
    double own = last_time(chart, line);
    uint32_t above = 0;
    for (uint32_t l = 0; l < chart->line_count; l++) {
        double other = last_time(chart, l);
        above += other > own || (other == own && l < line);
    }
    return above;
}

// Names from the top down, each beside its line's end or below the name above; from the bottom up
// they make room for those that would stand below the axis.
static void add_names(struct weft_text *text, const struct weft_dark_chart *chart,
                      const struct scale *scale)
{
    uint32_t named = 0;
    for (uint32_t l = 0; l < chart->line_count; l++) {
        named += last_time(chart, l) > 0;
    }
    double y = TOP - LABEL_ROW;
    for (uint32_t place = 0; place < named; place++) {
        uint32_t line = 0;
        while (last_time(chart, line) == 0 || names_above(chart, line) != place) {
            line++;
        }
        double end = y_of(scale, last_time(chart, line));
        double lowest = BOTTOM - LABEL_ROW * (named - 1 - place);
        y = fmax(y + LABEL_ROW, fmin(end - LABEL_ROW / 2, lowest));
        begin_line(text, line);
        weft_text_add(text, "M%.1f %.1fh22\"/>\n", RIGHT + 30, y);
        weft_text_add(text, "<path class=\"g\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", RIGHT + 4, end,
                      RIGHT + 27, y);
        svg_label(text, svg_at(RIGHT + 58, y + 4, SVG_START), "t", "%s", chart->names[line]);
    }
}

static void add_fastest(struct weft_text *text, const struct weft_dark_chart *chart,
                        const struct scale *scale, uint32_t point)
{
    uint32_t best = chart->fastest[point];
    if (best != WEFT_NONE) {
        double seconds = chart->iteration_s[(size_t)point * chart->line_count + best];
        weft_text_add(text, "<circle class=\"f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>\n",
                      best % SVG_COLOR_COUNT, x_of(scale, chart->dark_s[point]),
                      y_of(scale, seconds));
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

void picture_dark(struct weft_text *text, const struct weft_dark_chart *chart, bool alone)
{
    WEFT_ASSERT(chart->point_count >= 2 &&
                chart->dark_s[chart->point_count - 1] > chart->dark_s[0]);
    struct scale scale = find_scale(chart);
    svg_begin(text, WIDTH, HEIGHT, chart->title, alone);
    svg_label(text, svg_at(LEFT, 22, SVG_START), "t b", "%s", chart->title);
    add_axes(text, chart, &scale);
    for (uint32_t l = 0; l < chart->line_count; l++) {
        add_fabric(text, chart, &scale, l);
    }
    add_names(text, chart, &scale);
    for (uint32_t p = 0; p < chart->point_count; p++) {
        add_fastest(text, chart, &scale, p);
    }
    svg_end(text);
}

const char *weft_report_svg_dark(const struct weft_dark_chart *chart, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    picture_dark(&text, chart, true);
    return text.data;
}
