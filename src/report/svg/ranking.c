// SPDX-License-Identifier: Apache-2.0
// Algorithms of a collective: time over size, both logarithmic, a line for each algorithm.
//
// The lowest line at a size is the choice there. O(algorithms * sizes).

#include "svg.h"
#include "weft/report.h"

#include <math.h>

#define WIDTH 860.0
#define LEFT 76.0
#define RIGHT 830.0
#define TOP 108.0
#define BOTTOM 500.0
#define HEIGHT 548.0
#define LEGEND_TOP 46.0
#define LEGEND_COLUMNS 5u
#define LEGEND_ROW 18.0
#define TICKS_MAX 9.0 // on the axis of sizes

struct scale {
    const struct weft_collective_ranking *rankings;
    uint32_t count;
    double size_low, size_high; // powers of two
    double time_low_s, time_high_s;
};

static double x_of(const struct scale *scale, double size_bytes)
{
    double range = log2(scale->size_high / scale->size_low);
    return LEFT + (RIGHT - LEFT) * log2(size_bytes / scale->size_low) / range;
}

static double y_of(const struct scale *scale, double seconds)
{
    double range = log10(scale->time_high_s / scale->time_low_s);
    return BOTTOM - (BOTTOM - TOP) * log10(seconds / scale->time_low_s) / range;
}

static bool is_drawn(const struct scale *scale, enum weft_algorithm algorithm)
{
    for (uint32_t i = 0; i < scale->count; i++) {
        if (scale->rankings[i].times[algorithm].seconds > 0) {
            return true;
        }
    }
    return false;
}

// Two dozen lines by color and dashes.
static const char *const dashes[] = {"", "7 3", "2 3"};
#define DASHES_COUNT (sizeof dashes / sizeof dashes[0])

static void begin_line(struct weft_text *text, uint32_t line)
{
    weft_text_add(text, "<path class=\"s%u\" stroke-width=\"1.8\" stroke-dasharray=\"%s\" d=\"",
                  line % SVG_COLOR_COUNT, dashes[line / SVG_COLOR_COUNT % DASHES_COUNT]);
}

// Draws the line of an algorithm, broken where it does not apply, with a dot at each size at
// which it is the best, and its row of the legend.
static void add_algorithm(struct weft_text *text, const struct scale *scale,
                          enum weft_algorithm algorithm, uint32_t line)
{
    begin_line(text, line);
    bool pen_down = false;
    for (uint32_t i = 0; i < scale->count; i++) {
        const struct weft_collective_ranking *ranking = &scale->rankings[i];
        double seconds = ranking->times[algorithm].seconds;
        if (seconds > 0) {
            weft_text_add(text, "%c%.1f %.1f", pen_down ? 'L' : 'M',
                          x_of(scale, (double)ranking->size_bytes), y_of(scale, seconds));
        }
        pen_down = seconds > 0;
    }
    weft_text_add(text, "\"/>\n");
    for (uint32_t i = 0; i < scale->count; i++) {
        const struct weft_collective_ranking *ranking = &scale->rankings[i];
        if (ranking->best == algorithm) {
            weft_text_add(text, "<circle class=\"f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n",
                          line % SVG_COLOR_COUNT, x_of(scale, (double)ranking->size_bytes),
                          y_of(scale, ranking->times[algorithm].seconds));
        }
    }
    double x = LEFT + (RIGHT - LEFT) * (line % LEGEND_COLUMNS) / LEGEND_COLUMNS;
    double y = LEGEND_TOP + LEGEND_ROW * (line / LEGEND_COLUMNS);
    begin_line(text, line);
    weft_text_add(text, "M%.1f %.1fh22\"/>\n", x, y - 4);
    svg_label(text, svg_at(x + 27, y, SVG_START), "t", "%s", weft_algorithm_name(algorithm));
}

static void add_bound(struct weft_text *text, const struct scale *scale)
{
    weft_text_add(text, "<path class=\"so\" stroke-width=\"1.2\" d=\"");
    for (uint32_t i = 0; i < scale->count; i++) {
        const struct weft_collective_ranking *ranking = &scale->rankings[i];
        weft_text_add(text, "%c%.1f %.1f", i == 0 ? 'M' : 'L',
                      x_of(scale, (double)ranking->size_bytes), y_of(scale, ranking->bound_s));
    }
    weft_text_add(text, "\"/>\n");
}

static struct scale find_scale(const struct weft_collective_ranking *rankings, uint32_t count)
{
    struct scale scale = {.rankings = rankings, .count = count};
    double low_s = HUGE_VAL;
    double high_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        low_s = fmin(low_s, rankings[i].bound_s);
        for (enum weft_algorithm a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
            high_s = fmax(high_s, rankings[i].times[a].seconds);
        }
    }
    high_s = fmax(high_s, low_s);
    scale.time_low_s = pow(10, floor(log10(low_s)));
    scale.time_high_s = pow(10, ceil(log10(high_s) + 1e-9));
    scale.size_low = (double)rankings[0].size_bytes;
    scale.size_high = (double)rankings[count - 1].size_bytes;
    return scale;
}

// Draws both logarithmic axes with their grid.
static void add_axes(struct weft_text *text, const struct scale *scale)
{
    for (double s = scale->time_low_s; s <= scale->time_high_s * 1.01; s *= 10) {
        struct svg_unit unit = svg_time_unit(s * 1.001);
        svg_line(text, LEFT, y_of(scale, s), RIGHT, y_of(scale, s), "g");
        svg_label(text, svg_at(LEFT - 8, y_of(scale, s) + 4, SVG_END), "m", "%.0f %s",
                  s / unit.scale, unit.name);
    }
    double doublings = log2(scale->size_high / scale->size_low);
    double step = exp2(fmax(1, ceil(doublings / TICKS_MAX)));
    for (double size = scale->size_low; size <= scale->size_high * 1.01; size *= step) {
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
        double shown = size;
        uint32_t unit = 0;
        while (shown >= 1024 && unit < 4) {
            shown /= 1024;
            unit++;
        }
        svg_line(text, x_of(scale, size), BOTTOM, x_of(scale, size), TOP, "g");
        svg_label(text, svg_at(x_of(scale, size), BOTTOM + 18, SVG_MIDDLE), "m", "%.4g %s", shown,
                  units[unit]);
    }
    svg_line(text, LEFT, BOTTOM, RIGHT, BOTTOM, "x");
    svg_label(text, svg_at(RIGHT, BOTTOM + 36, SVG_END), "m",
              "size; a dot: the quickest; gray: no schedule is below");
}

const char *weft_report_svg_ranking(const struct weft_collective_ranking *rankings, uint32_t count,
                                    const char *title, struct weft_arena *arena)
{
    WEFT_ASSERT(count >= 2 && rankings[count - 1].size_bytes > rankings[0].size_bytes);
    struct scale scale = find_scale(rankings, count);
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, HEIGHT, title, true);
    svg_label(&text, svg_at(LEFT, 22, SVG_START), "t b", "%s", title);
    add_axes(&text, &scale);
    add_bound(&text, &scale);
    uint32_t line = 0;
    for (enum weft_algorithm a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        if (is_drawn(&scale, a)) {
            add_algorithm(&text, &scale, a, line++);
        }
    }
    svg_end(&text);
    return text.data;
}
