// SPDX-License-Identifier: Apache-2.0
// Measured ratios to an ideal, several in a group: how much is lost, as bars.
//
// A ratio of 1 is the ideal; the last series of a group stands out. O(bars).

#include "svg.h"
#include "weft/report.h"

#include <math.h>

#define WIDTH 860.0
#define LEFT 250.0
#define RIGHT 790.0
#define TOP 66.0
#define BAR 13.0
#define SPACE 12.0
#define COLOR_COUNT 4u

// The colors by series: the last stands out.
static const char *color_of(uint32_t series, uint32_t count)
{
    static const char *const fills[COLOR_COUNT] = {"f5", "f1", "fo", "f0"};
    return fills[series + COLOR_COUNT - count];
}

static double percent(double ratio)
{
    return 100 * fmax(0, ratio - 1);
}

static void add_bar(struct weft_text *text, const struct weft_ratio *ratio, double y, double scale,
                    const char *color, bool bold)
{
    double end = LEFT + scale * percent(ratio->mean);
    svg_rect(text, LEFT, y + 1, fmax(end - LEFT, 1), BAR - 2, color);
    double right = LEFT + scale * percent(ratio->high);
    if (right > LEFT + scale * percent(ratio->low) + 1) {
        svg_line(text, LEFT + scale * percent(ratio->low), y + BAR / 2, right, y + BAR / 2, "e");
    }
    svg_label(text, svg_at(fmax(end, right) + 5, y + BAR - 2.5, SVG_START), bold ? "t b" : "m",
              "%.1f %%", percent(ratio->mean));
}

const char *weft_report_svg_ratios(const struct weft_ratio_chart *chart, struct weft_arena *arena)
{
    uint32_t groups = chart->group_count;
    uint32_t series = chart->series_count;
    WEFT_ASSERT(groups > 0 && series > 0 && series <= COLOR_COUNT);
    double high = 1;
    for (uint32_t i = 0; i < groups * series; i++) {
        high = fmax(high, isfinite(chart->ratios[i].high) ? percent(chart->ratios[i].high) : 0);
    }
    double scale = (RIGHT - LEFT) / high;
    double bottom = TOP + groups * (series * BAR + SPACE);
    struct weft_text text;
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, bottom + 40, chart->title, true);
    svg_label(&text, svg_at(16, 24, SVG_START), "t b", "%s", chart->title);
    for (uint32_t k = 0; k < series; k++) {
        double x = LEFT + k * (RIGHT - LEFT) / series;
        svg_rect(&text, x, 40, 11, 11, color_of(k, series));
        svg_label(&text, svg_at(x + 16, 50, SVG_START), "t", "%s", chart->series[k]);
    }
    svg_axis_x(&text, svg_field(LEFT, RIGHT, TOP - 4, bottom), 0, high, "");
    svg_label(&text, svg_at(RIGHT, bottom + 33, SVG_END), "m", "%s", chart->axis);
    for (uint32_t g = 0; g < groups; g++) {
        double y = TOP + g * (series * BAR + SPACE) + SPACE / 2;
        svg_label(&text, svg_at(LEFT - 10, y + series * BAR / 2 + 4, SVG_END), "t", "%s",
                  chart->groups[g]);
        for (uint32_t k = 0; k < series; k++) {
            const struct weft_ratio *ratio = &chart->ratios[g * series + k];
            if (isfinite(ratio->mean)) {
                add_bar(&text, ratio, y + k * BAR, scale, color_of(k, series), k + 1 == series);
            }
        }
    }
    svg_end(&text);
    return text.data;
}
