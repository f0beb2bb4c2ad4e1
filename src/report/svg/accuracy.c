// SPDX-License-Identifier: Apache-2.0
// What losses cost a net: accuracy over the share of a gradient that is lost, a line for each kind.
//
// Both axes are linear; accuracies are means over seeds, whiskers the standard errors of their
// differences to the dashed line, where nothing is lost. Whiskers of several kinds at one share are
// moved apart by some pixels, so that each can be seen. O(points).

#include "svg.h"
#include "weft/report.h"

#include <math.h>

#define WIDTH 760.0
#define HEIGHT 420.0
#define LEFT 64.0
#define RIGHT 730.0
#define TOP 74.0
#define BOTTOM 360.0
#define LEGEND_STEP 108.0
#define APART 5.0 // between whiskers of two lines at one share

struct scale {
    double share_high;
    double low, high; // of accuracy
};

static double x_of(const struct scale *scale, double share)
{
    return LEFT + (RIGHT - LEFT) * share / scale->share_high;
}

static double y_of(const struct scale *scale, double accuracy)
{
    return BOTTOM - (BOTTOM - TOP) * (accuracy - scale->low) / (scale->high - scale->low);
}

// One seed has no standard error.
static double error_of(const struct weft_loss_point *point)
{
    return isfinite(point->error) ? point->error : 0;
}

static void widen(struct scale *scale, const struct weft_loss_point *point)
{
    scale->share_high = fmax(scale->share_high, point->share);
    scale->low = fmin(scale->low, point->accuracy - error_of(point));
    scale->high = fmax(scale->high, point->accuracy + error_of(point));
}

// All points with a little room, on whole grid lines.
static struct scale scale_of(const struct weft_loss_chart *chart)
{
    struct scale scale = {0, 1, 0};
    widen(&scale, &chart->whole);
    for (uint32_t l = 0; l < chart->line_count; l++) {
        for (uint32_t p = 0; p < chart->lines[l].count; p++) {
            widen(&scale, &chart->lines[l].points[p]);
        }
    }
    double step = svg_step(fmax(100 * (scale.high - scale.low), 0.5), 6) / 100;
    scale.low = step * floor(scale.low / step - 0.1);
    scale.high = step * ceil(scale.high / step + 0.1);
    scale.share_high = scale.share_high > 0 ? 1.05 * scale.share_high : 1;
    return scale;
}

static void add_whisker(struct weft_text *text, const struct scale *scale,
                        const struct weft_loss_point *point, double x, uint32_t color)
{
    double y = y_of(scale, point->accuracy),
           half = y - y_of(scale, point->accuracy + error_of(point));
    svg_item_begin(text, "", "%.2f %% of segments lost: %.2f %%, standard error %.2f",
                   100 * point->share, 100 * point->accuracy, 100 * error_of(point));
    weft_text_add(text,
                  "<path class=\"s%u\" stroke-width=\"1.5\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f "
                  "%.1fh6\"/><circle class=\"f%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>",
                  color, x, y - half, y + half, x - 3, y - half, x - 3, y + half, color, x, y);
    svg_item_end(text);
}

// Every line begins where nothing is lost.
static void add_line(struct weft_text *text, const struct scale *scale,
                     const struct weft_loss_chart *chart, uint32_t l)
{
    const struct weft_loss_line *line = &chart->lines[l];
    uint32_t color = l % SVG_COLOR_COUNT;
    double apart = APART * (l - (chart->line_count - 1) / 2.0);
    weft_text_add(text, "<path class=\"s%u\" stroke-width=\"2\" d=\"M%.1f %.1f", color,
                  x_of(scale, 0), y_of(scale, chart->whole.accuracy));
    for (uint32_t p = 0; p < line->count; p++) {
        weft_text_add(text, "L%.1f %.1f", x_of(scale, line->points[p].share) + apart,
                      y_of(scale, line->points[p].accuracy));
    }
    weft_text_add(text, "\"/>\n");
    for (uint32_t p = 0; p < line->count; p++) {
        add_whisker(text, scale, &line->points[p], x_of(scale, line->points[p].share) + apart,
                    color);
    }
}

const char *weft_report_svg_accuracy(const struct weft_loss_chart *chart, struct weft_arena *arena)
{
    const struct scale scale = scale_of(chart);
    const struct svg_field field = svg_field(LEFT, RIGHT, TOP, BOTTOM);
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, HEIGHT, "Accuracy over the share of gradients that is lost", true);
    svg_label(&text, svg_at(LEFT, 22, SVG_START), "t b", "%s", chart->title);
    svg_label(&text, svg_at(LEFT, BOTTOM + 36, SVG_START), "m", "dashed: without loss, %.2f %%",
              100 * chart->whole.accuracy);
    for (uint32_t l = 0; l < chart->line_count; l++) {
        char color[8];
        snprintf(color, sizeof color, "f%u b", l % SVG_COLOR_COUNT);
        svg_label(&text, svg_at(LEFT + LEGEND_STEP * (l % 6), 42 + 16 * (l / 6), SVG_START), color,
                  "%s", chart->lines[l].name);
    }
    svg_axis_x(&text, field, 0, 100 * scale.share_high, "");
    svg_axis_y(&text, field, 100 * scale.low, 100 * scale.high, "%");
    svg_label(&text, svg_at(RIGHT, BOTTOM + 36, SVG_END), "m",
              "%% of segments that do not arrive; whiskers: standard error of the difference");
    double y = y_of(&scale, chart->whole.accuracy);
    weft_text_add(&text, "<path class=\"x\" stroke-dasharray=\"4 4\" d=\"M%.1f %.1fH%.1f\"/>\n",
                  LEFT, y, RIGHT);
    for (uint32_t l = 0; l < chart->line_count; l++) {
        add_line(&text, &scale, chart, l);
    }
    svg_end(&text);
    return text.data;
}
