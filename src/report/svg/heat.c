// SPDX-License-Identifier: Apache-2.0
// Who sends how much to whom: two maps side by side, transfers and what AllReduces put on their
// rings.
//
// The shade of a cell grows with the logarithm of its bytes, on one scale for both maps; with
// more servers than cells a cell sums a block of them. O(n^2 + members).

#include "pictures.h"
#include "svg.h"

#include <math.h>

#define SIDE 400.0
#define LEFT 56.0
#define TOP 56.0
#define GAP 500.0
#define WIDTH 1000.0
#define HEIGHT 548.0
#define CELLS_MAX 128u
#define LEVELS 12u

// A matrix of blocks of servers, and the scale that both maps share.
struct heat {
    uint32_t server_count;
    uint32_t block; // servers to a cell
    uint32_t side;  // cells
    double low;     // smallest and largest cell that is not 0
    double high;
};

static double *sum_transfers(const struct heat *heat, const struct weft_traffic *traffic,
                             struct weft_arena *arena)
{
    double *cells = WEFT_NEW(arena, double, (size_t)heat->side * heat->side);
    uint32_t n = heat->server_count;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            cells[(size_t)(s / heat->block) * heat->side + t / heat->block] +=
                traffic->transfer_bytes[(size_t)s * n + t];
        }
    }
    return cells;
}

// A ring of k members that carries a share of S bytes sends 2 (k-1)/k of it over every hop.
static void add_ring(double *cells, const struct heat *heat, const uint32_t *members, uint32_t k,
                     double size_bytes)
{
    for (uint32_t i = 0; i < k; i++) {
        uint32_t from = members[i] / heat->block;
        uint32_t to = members[(i + 1) % k] / heat->block;
        cells[(size_t)from * heat->side + to] += 2.0 * (k - 1) / k * size_bytes;
    }
}

// Groups without rings of their own go round in the order of their members.
static double *sum_rings(const struct heat *heat, const struct weft_traffic *traffic,
                         const struct weft_ring_set *rings, struct weft_arena *arena)
{
    double *cells = WEFT_NEW(arena, double, (size_t)heat->side * heat->side);
    uint32_t r = 0;
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        const struct weft_traffic_group *group = &traffic->groups[g];
        while (r < rings->ring_count && rings->rings[r].group < g) {
            r++;
        }
        bool ringed = r < rings->ring_count && rings->rings[r].group == g;
        if (!ringed) {
            add_ring(cells, heat, group->members, group->member_count, group->size_bytes);
        }
        for (; r < rings->ring_count && rings->rings[r].group == g; r++) {
            const struct weft_ring *ring = &rings->rings[r];
            add_ring(cells, heat, ring->members, ring->member_count,
                     group->size_bytes * ring->share_ratio);
        }
    }
    return cells;
}

static void widen_scale(struct heat *heat, const double *cells)
{
    for (size_t i = 0; i < (size_t)heat->side * heat->side; i++) {
        if (cells[i] > 0) {
            heat->low = heat->low == 0 || cells[i] < heat->low ? cells[i] : heat->low;
            heat->high = cells[i] > heat->high ? cells[i] : heat->high;
        }
    }
}

// 1 .. LEVELS on a logarithmic scale, 0 for nothing.
static uint32_t level_of(const struct heat *heat, double bytes)
{
    if (!(bytes > 0)) {
        return 0;
    }
    if (heat->high <= heat->low) {
        return LEVELS;
    }
    double position = log(bytes / heat->low) / log(heat->high / heat->low);
    double level = 1 + floor(position * LEVELS);
    return level < 1 ? 1 : level > LEVELS ? LEVELS : (uint32_t)level;
}

static double opacity_of(uint32_t level)
{
    return 0.3 + 0.7 * (level - 1) / (LEVELS - 1);
}

// Cells of one row and level that follow each other are one stroke.
static void add_row(struct weft_text *text, const struct heat *heat, const double *line,
                    uint32_t level, double left, double top)
{
    double size = SIDE / heat->side;
    for (uint32_t column = 0; column < heat->side; column++) {
        uint32_t end = column;
        while (end < heat->side && level_of(heat, line[end]) == level) {
            end++;
        }
        if (end > column) {
            double width = (end - column) * size;
            weft_text_add(text, "M%.2f %.2fh%.2fv%.2fh-%.2fz", left + column * size, top, width,
                          size, width);
            column = end;
        }
    }
}

// One path a level; levels that no cell has leave nothing.
static void add_cells(struct weft_text *text, const struct heat *heat, const double *cells,
                      double left)
{
    for (uint32_t level = 1; level <= LEVELS; level++) {
        bool any = false;
        for (size_t i = 0; i < (size_t)heat->side * heat->side; i++) {
            any = any || level_of(heat, cells[i]) == level;
        }
        if (!any) {
            continue;
        }
        weft_text_add(text, "<path class=\"h\" fill-opacity=\"%.3f\" d=\"", opacity_of(level));
        for (uint32_t row = 0; row < heat->side; row++) {
            add_row(text, heat, cells + (size_t)row * heat->side, level, left,
                    TOP + row * SIDE / heat->side);
        }
        weft_text_add(text, "\"/>\n");
    }
}

static void add_frame(struct weft_text *text, const struct heat *heat, double left,
                      const char *title, double total_bytes)
{
    char bytes[WEFT_UNIT_TEXT];
    svg_label(text, svg_at(left, 18, SVG_START), "t l b", "%s: %s", title,
              weft_show_bytes(bytes, total_bytes));
    double step = svg_step(heat->server_count - 1, 8);
    uint32_t every = step < 1 ? 1 : (uint32_t)step;
    for (uint32_t server = 0; server < heat->server_count; server += every) {
        uint32_t cell = server / heat->block;
        double at = (cell + 0.5) * SIDE / heat->side;
        svg_label(text, svg_at(left + at, TOP - 6, SVG_MIDDLE), "m n", "%u", server);
        svg_label(text, svg_at(left - 6, TOP + at + 3, SVG_END), "m n", "%u", server);
    }
    weft_text_add(text,
                  "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" class=\"x\" "
                  "stroke-width=\".7\"/>\n",
                  left, TOP, SIDE, SIDE);
    svg_label(text, svg_at(left + SIDE, 36, SVG_END), "m n", "to server");
    weft_text_add(text,
                  "<text class=\"m n\" transform=\"translate(%g %g)rotate(-90)\" "
                  "text-anchor=\"end\">from server</text>\n",
                  left - 40, TOP);
}

// Draws the legend: the shades from the smallest to the largest bytes of a cell.
static void add_scale(struct weft_text *text, const struct heat *heat)
{
    if (!(heat->high > 0)) {
        svg_label(text, svg_at(LEFT, TOP + SIDE + 40, SVG_START), "m", "There is no traffic.");
        return;
    }
    char label[WEFT_UNIT_TEXT];
    double y = TOP + SIDE + 34;
    double width = 26;
    svg_label(text, svg_at(LEFT, y - 8, SVG_START), "m", "bytes an iteration%s, logarithmic",
              heat->block > 1 ? " between blocks of servers" : " between two servers");
    bool one = heat->high <= heat->low * (1 + 1e-9); // all that is not blank carries the same
    for (uint32_t level = one ? LEVELS : 1; level <= LEVELS; level++) {
        weft_text_add(text,
                      "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"14\" class=\"h\" "
                      "fill-opacity=\"%.3f\"/>\n",
                      LEFT + (level - 1) * width, y, width, opacity_of(level));
    }
    for (uint32_t edge = one ? LEVELS : 0; edge <= LEVELS; edge += 4) {
        double bytes = heat->low * pow(heat->high / heat->low, (double)edge / LEVELS);
        svg_label(text,
                  svg_at(LEFT + edge * width, y + 30,
                         edge == 0        ? SVG_START
                         : edge == LEVELS ? SVG_END
                                          : SVG_MIDDLE),
                  "m n", "%s", weft_show_bytes(label, bytes));
    }
    svg_label(text, svg_at(LEFT + LEVELS * width + 24, y + 11, SVG_START), "m", "blank: nothing");
}

void picture_heat(struct weft_text *text, const struct weft_traffic *traffic,
                  const struct weft_ring_set *rings, bool alone, struct weft_arena scratch)
{
    uint32_t n = traffic->server_count;
    uint32_t block = (n + CELLS_MAX - 1) / CELLS_MAX;
    struct heat heat = {.server_count = n, .block = block, .side = (n + block - 1) / block};
    double *transfers = sum_transfers(&heat, traffic, &scratch);
    double *allreduce = sum_rings(&heat, traffic, rings, &scratch);
    widen_scale(&heat, transfers);
    widen_scale(&heat, allreduce);
    svg_begin(text, WIDTH, HEIGHT, "Traffic between servers", alone);
    add_frame(text, &heat, LEFT, "Transfers", traffic->transfer_total_bytes);
    add_cells(text, &heat, transfers, LEFT);
    add_frame(text, &heat, LEFT + GAP, "Collectives over their rings",
              traffic->allreduce_wire_bytes);
    add_cells(text, &heat, allreduce, LEFT + GAP);
    add_scale(text, &heat);
    svg_end(text);
}

const char *weft_report_svg_heat(const struct weft_traffic *traffic,
                                 const struct weft_ring_set *rings, struct weft_arena *arena,
                                 struct weft_arena scratch)
{
    static const struct weft_ring_set none = {0, NULL};
    struct weft_text text;
    weft_text_init(&text, arena);
    picture_heat(&text, traffic, rings != NULL ? rings : &none, true, scratch);
    return text.data;
}
