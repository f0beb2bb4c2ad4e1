// SPDX-License-Identifier: Apache-2.0
// How many links carry how much in one iteration: a histogram of link loads with their mean and
// largest.
//
// A fabric is used evenly when the bars stand close together. O(links).

#include "pictures.h"
#include "svg.h"

#include <math.h>

#define WIDTH 1000.0
#define HEIGHT 346.0
#define LEFT 60.0
#define RIGHT 970.0
#define TOP 60.0
#define BOTTOM 296.0
#define BINS 30u

static void add_bars(struct weft_text *text, const uint32_t *counts, uint32_t largest, double high)
{
    double width = (RIGHT - LEFT) / BINS;
    for (uint32_t b = 0; b < BINS; b++) {
        if (counts[b] > 0) {
            double height = (BOTTOM - TOP) * counts[b] / largest;
            char from[WEFT_UNIT_TEXT];
            char to[WEFT_UNIT_TEXT];
            svg_item_begin(text, "", "%u link%s of %s to %s", counts[b], counts[b] > 1 ? "s" : "",
                           weft_show_bytes(from, high * b / BINS),
                           weft_show_bytes(to, high * (b + 1) / BINS));
            svg_rect(text, LEFT + b * width + 1, BOTTOM - height, width - 2, height, "h");
            svg_item_end(text);
        }
    }
}

static void add_axis_y(struct weft_text *text, uint32_t largest)
{
    double step = svg_step(largest, 5);
    uint32_t every = step < 1 ? 1 : (uint32_t)step;
    for (uint32_t value = 0; value <= largest; value += every) {
        double y = BOTTOM - (BOTTOM - TOP) * value / largest;
        svg_line(text, LEFT, y, RIGHT, y, "g");
        svg_label(text, svg_at(LEFT - 8, y + 4, SVG_END), "m", "%u", value);
    }
    svg_label(text, svg_at(LEFT - 8, TOP - 14, SVG_END), "m", "links");
}

static void add_mark(struct weft_text *text, double x, double y, const char *name, double bytes,
                     enum svg_anchor anchor)
{
    char label[WEFT_UNIT_TEXT];
    weft_text_add(text,
                  "<path class=\"e\" stroke-width=\"1.5\" stroke-dasharray=\"4 3\" d=\"M%.1f "
                  "%gV%g\"/>\n",
                  x, y + 6, BOTTOM);
    svg_label(text, svg_at(x, y, anchor), "ef b", "%s %s", name, weft_show_bytes(label, bytes));
}

// Draws the histogram in BINS bins up to the largest load, with marks at the mean and the
// largest.
void picture_loads(struct weft_text *text, const struct weft_fabric *fabric,
                   const double *link_bytes, struct weft_arena scratch)
{
    uint32_t *counts = WEFT_NEW(&scratch, uint32_t, BINS);
    double high = 0;
    double sum = 0;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        high = link_bytes[l] > high ? link_bytes[l] : high;
        sum += link_bytes[l];
    }
    svg_begin(text, WIDTH, HEIGHT, "Bytes over each link", false);
    if (!(high > 0)) {
        svg_label(text, svg_at(LEFT, TOP, SVG_START), "m", "No link carries anything.");
        svg_end(text);
        return;
    }
    uint32_t largest = 1;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        uint32_t bin = (uint32_t)(link_bytes[l] / high * BINS);
        bin = bin < BINS ? bin : BINS - 1;
        counts[bin]++;
        largest = counts[bin] > largest ? counts[bin] : largest;
    }
    struct svg_unit unit = svg_byte_unit(high);
    char title[64];
    snprintf(title, sizeof title, "%s over a link in one iteration", unit.name);
    add_axis_y(text, largest);
    svg_axis_x(text, svg_field(LEFT, RIGHT, BOTTOM, BOTTOM), 0, high / unit.scale, title);
    add_bars(text, counts, largest, high);
    double mean = sum / fabric->link_count;
    double mean_x = LEFT + (RIGHT - LEFT) * mean / high;
    add_mark(text, mean_x, TOP - 12, "mean", mean, mean / high > 0.5 ? SVG_END : SVG_START);
    add_mark(text, RIGHT, TOP - 32, "largest", high, SVG_END);
    svg_end(text);
}
