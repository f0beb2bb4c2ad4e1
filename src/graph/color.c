// SPDX-License-Identifier: Apache-2.0
// Edge coloring of bipartite multigraphs: a digraph of degree d as d partial permutations, which is
// how links become planes of optical switches. Arcs are colored one by one; where no color is free
// at both ends, an alternating chain is flipped, which is the constructive proof of Koenig's
// theorem (Math. Ann. 77, 1916). O(m (n + colors)).

#include "weft/graph.h"

// The arcs colored so far. A node has two sides: it sends (0) and it receives (1).
struct palette {
    const struct weft_graph *graph;
    const uint32_t *tails;
    uint32_t color_count;
    uint32_t *color;
    uint32_t *used[2]; // node * color_count + color -> arc, WEFT_NONE where the color is free
    uint32_t *chain;   // arcs of the chain that is being flipped
};

static uint32_t *slot(struct palette *palette, uint32_t side, uint32_t node, uint32_t color)
{
    return &palette->used[side][(size_t)node * palette->color_count + color];
}

static uint32_t free_color(struct palette *palette, uint32_t side, uint32_t node)
{
    uint32_t color = 0;
    while (color < palette->color_count && *slot(palette, side, node, color) != WEFT_NONE) {
        color++;
    }
    WEFT_ASSERT(color < palette->color_count); // else the node has more arcs than colors
    return color;
}

static uint32_t end_of(const struct palette *palette, uint32_t side, uint32_t arc)
{
    return side == 0 ? palette->tails[arc] : palette->graph->heads[arc];
}

// Swaps colors `from` and `to` along the alternating chain that leaves (side, node) by `from`.
// `to` is free there, so the chain is a path and never comes back.
static void flip_chain(struct palette *palette, uint32_t side, uint32_t node, uint32_t from,
                       uint32_t to)
{
    uint32_t *chain = palette->chain;
    uint32_t length = 0;
    uint32_t wanted = from;
    uint32_t arc = *slot(palette, side, node, wanted);
    while (arc != WEFT_NONE) {
        WEFT_ASSERT(length < palette->graph->arc_count);
        chain[length++] = arc;
        side = 1 - side;
        wanted = from + to - wanted;
        arc = *slot(palette, side, end_of(palette, side, arc), wanted);
    }
    for (uint32_t i = 0; i < length; i++) {
        uint32_t color = palette->color[chain[i]];
        *slot(palette, 0, end_of(palette, 0, chain[i]), color) = WEFT_NONE;
        *slot(palette, 1, end_of(palette, 1, chain[i]), color) = WEFT_NONE;
    }
    for (uint32_t i = 0; i < length; i++) {
        uint32_t color = from + to - palette->color[chain[i]];
        palette->color[chain[i]] = color;
        *slot(palette, 0, end_of(palette, 0, chain[i]), color) = chain[i];
        *slot(palette, 1, end_of(palette, 1, chain[i]), color) = chain[i];
    }
}

void weft_graph_color(uint32_t *color, const struct weft_graph *graph, uint32_t color_count,
                      struct weft_arena scratch)
{
    uint32_t *tails = WEFT_NEW_RAW(&scratch, uint32_t, graph->arc_count);
    size_t slots = (size_t)graph->node_count * color_count;
    struct palette palette = {
        .graph = graph, .tails = tails, .color_count = color_count, .color = color};
    palette.chain = WEFT_NEW_RAW(&scratch, uint32_t, graph->arc_count);
    for (uint32_t side = 0; side < 2; side++) {
        palette.used[side] = WEFT_NEW_RAW(&scratch, uint32_t, slots);
        for (size_t i = 0; i < slots; i++) {
            palette.used[side][i] = WEFT_NONE;
        }
    }
    for (uint32_t v = 0; v < graph->node_count; v++) {
        for (uint32_t a = graph->first[v]; a < graph->first[v + 1]; a++) {
            tails[a] = v;
            uint32_t head = graph->heads[a];
            uint32_t sending = free_color(&palette, 0, v);
            uint32_t receiving = free_color(&palette, 1, head);
            if (*slot(&palette, 1, head, sending) != WEFT_NONE) {
                // Free `sending` at the head; the chain cannot end at v, which lacks `sending`.
                flip_chain(&palette, 1, head, sending, receiving);
            }
            color[a] = sending;
            *slot(&palette, 0, v, sending) = a;
            *slot(&palette, 1, head, sending) = a;
        }
    }
}
