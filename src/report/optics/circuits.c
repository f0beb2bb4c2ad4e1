// SPDX-License-Identifier: Apache-2.0
// Circuits over the matrix of an all-to-all: the shade of a cell is what its sender has for its
// receiver, on a linear scale; a frame marks pairs with circuits, and the number in it says how
// many. O(n^2).

#include "report/svg/svg.h"
#include "weft/report.h"

#include <math.h>

#define SIDE 480.0
#define LEFT 64.0
#define TOP 72.0
#define WIDTH 760.0
#define HEIGHT 600.0
#define LABELS_MAX 24u // servers that are numbered one by one

static double largest(const struct weft_circuit_chart *chart)
{
    double most = 0;
    for (uint32_t i = 0; i < chart->node_count; i++) {
        for (uint32_t j = 0; j < chart->node_count; j++) {
            most = i == j ? most : fmax(most, chart->bytes[(size_t)i * chart->node_count + j]);
        }
    }
    return most;
}

static void add_cell(struct weft_text *text, const struct weft_circuit_chart *chart, uint32_t i,
                     uint32_t j, double most)
{
    double size = SIDE / chart->node_count;
    double x = LEFT + j * size;
    double y = TOP + i * size;
    size_t at = (size_t)i * chart->node_count + j;
    if (i == j) {
        svg_rect(text, x, y, size, size, "fo");
        return;
    }
    uint32_t count = chart->circuits[at];
    double share = most > 0 ? chart->bytes[at] / most : 0;
    svg_item_begin(text, "", "from %u to %u: %.4g, %u circuit%s", i, j, chart->bytes[at], count,
                   count == 1 ? "" : "s");
    weft_text_add(text,
                  "<rect class=\"h\" fill-opacity=\"%.3f\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                  "height=\"%.2f\"/>\n",
                  0.05 + 0.75 * share, x, y, size, size);
    if (count > 0) {
        double inset = fmin(3, size / 8);
        weft_text_add(text,
                      "<rect class=\"s1\" fill=\"none\" stroke-width=\"%.1f\" x=\"%.2f\" "
                      "y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
                      fmin(3, size / 8), x + inset, y + inset, size - 2 * inset, size - 2 * inset);
        if (chart->node_count <= LABELS_MAX) {
            svg_label(text, svg_at(x + size / 2, y + size / 2 + 4, SVG_MIDDLE), "t b", "%u", count);
        }
    }
    svg_item_end(text);
}

static void add_legend(struct weft_text *text, const struct weft_circuit_chart *chart, double most)
{
    double x = LEFT + SIDE + 28;
    svg_label(text, svg_at(x, TOP + 12, SVG_START), "t b", "demand");
    for (uint32_t level = 0; level <= 4; level++) {
        double y = TOP + 24 + level * 24;
        weft_text_add(text,
                      "<rect class=\"h\" fill-opacity=\"%.3f\" x=\"%.2f\" y=\"%.2f\" width=\"18\" "
                      "height=\"18\"/>\n",
                      0.05 + 0.75 * level / 4, x, y);
        svg_label(text, svg_at(x + 26, y + 13, SVG_START), "t", "%.4g", most * level / 4);
    }
    double y = TOP + 168;
    weft_text_add(text,
                  "<rect class=\"s1\" fill=\"none\" stroke-width=\"3\" x=\"%.2f\" y=\"%.2f\" "
                  "width=\"16\" height=\"16\"/>\n",
                  x + 1, y);
    svg_label(text, svg_at(x + 26, y + 13, SVG_START), "t", "circuits");
    svg_rect(text, x, y + 26, 18, 18, "fo");
    svg_label(text, svg_at(x + 26, y + 39, SVG_START), "t", "stays local");
    svg_label(text, svg_at(x, y + 78, SVG_START), "t", "time %.6g", chart->time);
    svg_label(text, svg_at(x, y + 98, SVG_START), "m", "ideal switch %.6g", chart->ideal);
}

const char *weft_report_svg_circuits(const struct weft_circuit_chart *chart,
                                     struct weft_arena *arena)
{
    struct weft_text text;
    uint32_t n = chart->node_count;
    double most = largest(chart);
    weft_text_init(&text, arena);
    svg_begin(&text, WIDTH, HEIGHT, "Circuits over the matrix of an all-to-all", true);
    svg_label(&text, svg_at(LEFT, 28, SVG_START), "t b",
              "Circuits over the matrix of an all-to-all");
    svg_label(&text, svg_at(LEFT + SIDE / 2, TOP - 26, SVG_MIDDLE), "m", "to");
    svg_label(&text, svg_at(14, TOP + SIDE / 2, SVG_START), "m", "from");
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            add_cell(&text, chart, i, j, most);
        }
        if (n <= LABELS_MAX) {
            double middle = (i + 0.5) * SIDE / n;
            svg_label(&text, svg_at(LEFT - 8, TOP + middle + 4, SVG_END), "m", "%u", i);
            svg_label(&text, svg_at(LEFT + middle, TOP - 8, SVG_MIDDLE), "m", "%u", i);
        }
    }
    add_legend(&text, chart, most);
    svg_end(&text);
    return text.data;
}
