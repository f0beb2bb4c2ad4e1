// SPDX-License-Identifier: Apache-2.0
// Two pictures of bars: iteration times of one job on several fabrics, and the lower bounds of
// a certificate against the iteration.
//
// A fabric's bar is a length from 0 on one scale, so that ratios can be read off. Bounds are near
// each other where a plan is good: their axis begins where they differ. O(rows).

#include "pictures.h"
#include "svg.h"

#include <math.h>
#include <string.h>

#define WIDTH 1000.0
#define ROW 30.0
#define TOP 42.0

// ---- fabrics ----

#define TIME_X 190.0
#define COST_X 620.0
#define BAR_MAX 290.0

static bool is_ours(const char *name)
{
    return strncmp(name, "weft", 4) == 0 || strncmp(name, "plan", 4) == 0;
}

static void add_row(struct weft_text *text, const struct weft_comparison *row, double y,
                    double time_max, double cost_max)
{
    char label[WEFT_UNIT_TEXT];
    bool ours = is_ours(row->name);
    svg_label(text, svg_at(TIME_X - 12, y + 15, SVG_END), ours ? "t b" : "t", "%s", row->name);
    if (row->why_not != NULL) {
        svg_label(text, svg_at(TIME_X + 6, y + 15, SVG_START), "m",
                  "not for this cluster: see the table");
        return;
    }
    const char *color = ours ? "h" : "fo";
    char cost[WEFT_UNIT_TEXT];
    char power[WEFT_UNIT_TEXT];
    weft_show_time(label, weft_picoseconds(row->iteration_s));
    weft_show_usd(cost, row->cost_usd);
    svg_item_begin(text, "", "%s: %s, %.3f of the ideal; %s, %s; bandwidth tax %.3f", row->name,
                   label, row->ratio_to_ideal, cost, weft_show_watts(power, row->power_watts),
                   row->bandwidth_tax_ratio);
    double time_width = time_max > 0 ? BAR_MAX * row->iteration_s / time_max : 0;
    svg_rect(text, TIME_X, y + 2, time_width, ROW - 12, color);
    svg_label(text, svg_at(TIME_X + time_width + 6, y + 15, SVG_START), ours ? "t b" : "t", "%s",
              label);
    double cost_width = cost_max > 0 ? (BAR_MAX - 10) * row->cost_usd / cost_max : 0;
    svg_rect(text, COST_X, y + 2, cost_width, ROW - 12, color);
    svg_label(text, svg_at(COST_X + cost_width + 6, y + 15, SVG_START), ours ? "t b" : "t", "%s",
              cost);
    svg_item_end(text);
}

void picture_comparison(struct weft_text *text, const struct weft_comparison *rows,
                        uint32_t row_count)
{
    double time_max = 0;
    double cost_max = 0;
    for (uint32_t i = 0; i < row_count; i++) {
        if (rows[i].why_not == NULL) {
            time_max = rows[i].iteration_s > time_max ? rows[i].iteration_s : time_max;
            cost_max = rows[i].cost_usd > cost_max ? rows[i].cost_usd : cost_max;
        }
    }
    svg_begin(text, WIDTH, TOP + row_count * ROW + 6, "Fabrics: iteration time and cost", false);
    svg_label(text, svg_at(TIME_X, 22, SVG_START), "t l b", "Iteration time");
    svg_label(text, svg_at(COST_X, 22, SVG_START), "t l b", "Cost of the network");
    double bottom = TOP + row_count * ROW;
    svg_line(text, TIME_X, TOP - 6, TIME_X, bottom, "x");
    svg_line(text, COST_X, TOP - 6, COST_X, bottom, "x");
    for (uint32_t i = 0; i < row_count; i++) {
        add_row(text, &rows[i], TOP + i * ROW, time_max, cost_max);
    }
    svg_end(text);
}

// ---- certificate ----

#define BOUND_X 300.0
#define BOUND_RIGHT 880.0

// The times that the bars stand for, from left to right.
struct span {
    double low;
    double high;
};

// Where bounds are within a sixth of the iteration, bars from zero look alike: the axis begins so
// that what lies between the strongest bound and the iteration takes a quarter of it, at a whole
// tick. Weaker bounds may then have no bar, only their value.
static struct span find_span(const struct weft_certificate *certificate, double iteration_s)
{
    struct span span = {0, iteration_s};
    double best = 0;
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        double seconds = certificate->bounds[i].seconds;
        span.high = fmax(span.high, seconds);
        best = seconds <= iteration_s ? fmax(best, seconds) : best;
    }
    double second = 0; // the strongest that differs from the best by more than rounding
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        double seconds = certificate->bounds[i].seconds;
        second = seconds < best * (1 - 1e-4) ? fmax(second, seconds) : second;
    }
    double gap = span.high - (span.high - best > 1e-4 * span.high ? best : second);
    if (gap > 0 && gap < span.high / 6) {
        double low = fmax(0, span.high - 4 * gap);
        double step = svg_step(span.high - low, 8);
        span.low = step * floor(low / step);
    }
    return span;
}

static double bound_x(struct span span, double seconds)
{
    double share = span.high > span.low ? (seconds - span.low) / (span.high - span.low) : 0;
    return BOUND_X + (BOUND_RIGHT - BOUND_X) * fmax(share, 0);
}

static void add_bound(struct weft_text *text, const struct weft_bound *bound, bool binding,
                      double y, struct span span)
{
    char label[WEFT_UNIT_TEXT];
    char words[WEFT_BOUND_TEXT];
    weft_show_time(label, weft_picoseconds(bound->seconds));
    svg_item_begin(text, "", "%s: %s, gap %.3g %%; for %s", bound->name, label,
                   100 * bound->gap_ratio, weft_bound_holds_for(words, bound));
    svg_label(text, svg_at(BOUND_X - 12, y + 15, SVG_END), binding ? "t b" : "t", "%s%s",
              bound->name, binding ? " (binding)" : "");
    bool here = bound->scope == WEFT_BOUND_THIS_FABRIC;
    weft_text_add(text, "<rect x=\"%g\" y=\"%.1f\" width=\"%.1f\" height=\"%g\" class=\"%s\"%s/>\n",
                  BOUND_X, y + 2, bound_x(span, bound->seconds) - BOUND_X, ROW - 12,
                  here      ? "fo so"
                  : binding ? "h"
                            : "fo",
                  here ? " fill-opacity=\".25\"" : "");
    // Beside the bar's end, where the line that marks the iteration leaves room, else beyond it.
    double x = fmax(bound_x(span, bound->seconds), BOUND_X);
    bool clear = x + 76 < bound_x(span, span.high);
    svg_label(text, svg_at(clear ? x + 6 : BOUND_RIGHT + 8, y + 15, SVG_START),
              binding ? "t b" : "t", "%s%s", label,
              bound->seconds < span.low ? " (left of this)" : "");
    svg_item_end(text);
}

// Draws a bar for each lower bound, and the iteration as a line across all of them: the gap is what
// lies between.
void picture_certificate(struct weft_text *text, const struct weft_certificate *certificate,
                         double iteration_s)
{
    struct span span = find_span(certificate, iteration_s);
    double bottom = TOP + certificate->bound_count * ROW;
    svg_begin(text, WIDTH, bottom + 44, "Lower bounds on the iteration time", false);
    struct svg_unit unit = svg_time_unit(span.high);
    char title[64];
    snprintf(title, sizeof title, "%s%s", unit.name, span.low > 0 ? ", not from 0" : "");
    svg_axis_x(text, svg_field(BOUND_X, BOUND_RIGHT, TOP - 6, bottom), span.low / unit.scale,
               span.high / unit.scale, title);
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        add_bound(text, &certificate->bounds[i], i == certificate->binding, TOP + i * ROW, span);
    }
    char label[WEFT_UNIT_TEXT];
    double x = bound_x(span, iteration_s);
    weft_text_add(text, "<path class=\"e\" stroke-width=\"2\" d=\"M%.1f %gV%g\"/>\n", x, TOP - 10,
                  bottom);
    svg_label(text, svg_at(x, TOP - 18, SVG_MIDDLE), "ef b", "this plan %s",
              weft_show_time(label, weft_picoseconds(iteration_s)));
    svg_end(text);
}
