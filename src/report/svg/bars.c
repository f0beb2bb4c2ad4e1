// SPDX-License-Identifier: Apache-2.0
// Two pictures of bars: iteration times of one job on several fabrics, and the lower bounds of
// a certificate against the iteration.
//
// A bar is a length from 0 on one scale, so that ratios can be read off. O(rows).

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
    const char *color = ours ? "f0" : "fo";
    double time_width = time_max > 0 ? BAR_MAX * row->iteration_s / time_max : 0;
    svg_rect(text, TIME_X, y + 2, time_width, ROW - 12, color);
    svg_label(text, svg_at(TIME_X + time_width + 6, y + 15, SVG_START), ours ? "t b" : "t", "%s",
              weft_show_time(label, weft_picoseconds(row->iteration_s)));
    double cost_width = cost_max > 0 ? (BAR_MAX - 10) * row->cost_usd / cost_max : 0;
    svg_rect(text, COST_X, y + 2, cost_width, ROW - 12, color);
    svg_label(text, svg_at(COST_X + cost_width + 6, y + 15, SVG_START), ours ? "t b" : "t", "%s",
              weft_show_usd(label, row->cost_usd));
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
#define BOUND_RIGHT 900.0

static void add_bound(struct weft_text *text, const struct weft_bound *bound, bool binding,
                      double y, double high)
{
    char label[WEFT_UNIT_TEXT];
    double width = high > 0 ? (BOUND_RIGHT - BOUND_X) * bound->seconds / high : 0;
    svg_label(text, svg_at(BOUND_X - 12, y + 15, SVG_END), binding ? "t b" : "t", "%s%s",
              bound->name, binding ? " (binding)" : "");
    weft_text_add(text,
                  "<rect x=\"%g\" y=\"%.1f\" width=\"%.1f\" height=\"%g\" class=\"%s\" "
                  "fill-opacity=\"%s\"/>\n",
                  BOUND_X, y + 2, width, ROW - 12, binding ? "f0" : "f4",
                  bound->scope == WEFT_BOUND_THIS_FABRIC ? ".35" : "1");
    // In a column of their own, clear of the line that marks the iteration.
    svg_label(text, svg_at(WIDTH - 2, y + 15, SVG_END), binding ? "t b" : "t", "%s",
              weft_show_time(label, weft_picoseconds(bound->seconds)));
}

// Draws a bar for each lower bound, and the iteration as a line across all of them: the gap is what
// lies between.
void picture_certificate(struct weft_text *text, const struct weft_certificate *certificate,
                         double iteration_s)
{
    double high = iteration_s;
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        high = fmax(high, certificate->bounds[i].seconds);
    }
    double bottom = TOP + certificate->bound_count * ROW;
    svg_begin(text, WIDTH, bottom + 44, "Lower bounds on the iteration time", false);
    struct svg_unit unit = svg_time_unit(high);
    svg_axis_x(text, svg_field(BOUND_X, BOUND_RIGHT, TOP - 6, bottom), high / unit.scale,
               unit.name);
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        add_bound(text, &certificate->bounds[i], i == certificate->binding, TOP + i * ROW, high);
    }
    char label[WEFT_UNIT_TEXT];
    double x = high > 0 ? BOUND_X + (BOUND_RIGHT - BOUND_X) * iteration_s / high : BOUND_X;
    weft_text_add(text, "<path class=\"e\" stroke-width=\"2\" d=\"M%.1f %gV%g\"/>\n", x, TOP - 10,
                  bottom);
    svg_label(text, svg_at(x, TOP - 18, SVG_MIDDLE), "ef b", "this plan %s",
              weft_show_time(label, weft_picoseconds(iteration_s)));
    svg_end(text);
}
