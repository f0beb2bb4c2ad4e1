// SPDX-License-Identifier: Apache-2.0
// Duplex circuits divided among switches. With one port of a node on each switch, a switch carries
// a matching, and the circuits are the edges of a multigraph to color. With two ports a node,
// circuits go round in closed trails, each from port A to port B of the next node: half the degree
// suffices (Petersen's 2-factors).
//
// The coloring takes edge by edge. Let xy be without a color. A color that both ends lack is taken.
// Else x lacks a and y lacks b, and the chain of a and b from x ends at y, or it is turned round
// and both lack b. Else let a's edge at y lead to z. With floor(3/2 degree) colors x, y and z
// together lack more colors than there are, so that two of them lack one in common: z and y, then
// yz takes it and leaves a to xy; or z and x, then z's chain of it and b, which misses x and y, is
// turned round, and z and y lack b (Shannon 1949). A color more is used only where all of this
// fails, so that never more than floor(3/2 degree) are.

#include "weft/circuit.h"

#include <string.h>

struct edge {
    uint32_t ends[2];
    uint32_t color;
};

struct coloring {
    uint32_t node_count;
    uint32_t color_count;
    uint32_t color_max;
    struct edge *edges;
    uint32_t edge_count;
    uint32_t *at; // [node * color_max + color]: the edge there; WEFT_NONE: the node lacks it
};

static uint32_t *slot(const struct coloring *self, uint32_t node, uint32_t color)
{
    return &self->at[(size_t)node * self->color_max + color];
}

static bool lacks(const struct coloring *self, uint32_t node, uint32_t color)
{
    return *slot(self, node, color) == WEFT_NONE;
}

static uint32_t other_end(const struct edge *edge, uint32_t node)
{
    return edge->ends[edge->ends[0] == node];
}

static void paint(struct coloring *self, uint32_t e, uint32_t color)
{
    struct edge *edge = &self->edges[e];
    for (uint32_t end = 0; end < 2; end++) {
        if (edge->color != WEFT_NONE && *slot(self, edge->ends[end], edge->color) == e) {
            *slot(self, edge->ends[end], edge->color) = WEFT_NONE;
        }
        *slot(self, edge->ends[end], color) = e;
    }
    edge->color = color;
}

// The far end of the chain of two colors from a node that lacks `other`.
static uint32_t chain_end(const struct coloring *self, uint32_t node, uint32_t color,
                          uint32_t other)
{
    while (!lacks(self, node, color)) {
        node = other_end(&self->edges[*slot(self, node, color)], node);
        uint32_t swap = color;
        color = other;
        other = swap;
    }
    return node;
}

// Turns the chain round: afterwards the node lacks `color` and has `other`, if it had any.
static void turn_chain(struct coloring *self, uint32_t node, uint32_t color, uint32_t other)
{
    uint32_t e = *slot(self, node, color);
    while (e != WEFT_NONE) {
        node = other_end(&self->edges[e], node);
        uint32_t next = *slot(self, node, other);
        paint(self, e, other);
        uint32_t swap = color;
        color = other;
        other = swap;
        e = next;
    }
}

// A color that both nodes lack; WEFT_NONE: there is none.
static uint32_t common(const struct coloring *self, uint32_t x, uint32_t y)
{
    for (uint32_t c = 0; c < self->color_count; c++) {
        if (lacks(self, x, c) && lacks(self, y, c)) {
            return c;
        }
    }
    return WEFT_NONE;
}

static bool color_by_chain(struct coloring *self, uint32_t e, uint32_t x, uint32_t y)
{
    for (uint32_t a = 0; a < self->color_count; a++) {
        for (uint32_t b = 0; b < self->color_count && lacks(self, x, a); b++) {
            if (lacks(self, y, b) && chain_end(self, x, b, a) != y) {
                turn_chain(self, x, b, a);
                paint(self, e, b);
                return true;
            }
        }
    }
    return false;
}

// Takes color a, which x lacks, from the edge yz.
static bool color_by_neighbor(struct coloring *self, uint32_t e, uint32_t x, uint32_t y)
{
    for (uint32_t a = 0; a < self->color_count; a++) {
        if (!lacks(self, x, a) || lacks(self, y, a)) {
            continue;
        }
        uint32_t beside = *slot(self, y, a);
        uint32_t z = other_end(&self->edges[beside], y);
        uint32_t shared = common(self, y, z);
        if (shared == WEFT_NONE) {
            uint32_t c = common(self, x, z);
            if (c == WEFT_NONE) {
                continue;
            }
            shared = 0;
            while (!lacks(self, y, shared)) {
                shared++;
            }
            turn_chain(self, z, shared, c);
        }
        paint(self, beside, shared);
        paint(self, e, a);
        return true;
    }
    return false;
}

static void color_edge(struct coloring *self, uint32_t e)
{
    uint32_t x = self->edges[e].ends[0];
    uint32_t y = self->edges[e].ends[1];
    for (;; self->color_count++) {
        WEFT_ASSERT(self->color_count <= self->color_max);
        uint32_t color = common(self, x, y);
        if (color != WEFT_NONE) {
            paint(self, e, color);
            return;
        }
        if (color_by_chain(self, e, x, y) || color_by_neighbor(self, e, x, y) ||
            color_by_neighbor(self, e, y, x)) {
            return;
        }
    }
}

// ---- the multigraph ----

static uint32_t degree_of(const uint32_t *circuits, uint32_t n, uint32_t node)
{
    uint32_t degree = 0;
    for (uint32_t j = 0; j < n; j++) {
        WEFT_ASSERT(circuits[(size_t)node * n + j] == circuits[(size_t)j * n + node]);
        degree += circuits[(size_t)node * n + j];
    }
    WEFT_ASSERT(circuits[(size_t)node * n + node] == 0);
    return degree;
}

// Edges between three nodes have no color in common, and those of an odd number of nodes come
// to at most half of them, rounded down, with one color.
static uint32_t fewest_switches(const uint32_t *circuits, uint32_t n, uint32_t degree,
                                uint32_t edge_count)
{
    uint32_t bound = degree;
    if (n % 2 == 1 && n > 1) {
        uint32_t all = (edge_count + n / 2 - 1) / (n / 2);
        bound = all > bound ? all : bound;
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i + 1; j < n; j++) {
            uint32_t side = circuits[(size_t)i * n + j];
            for (uint32_t k = j + 1; side > 0 && k < n; k++) {
                uint32_t sum = side + circuits[(size_t)i * n + k] + circuits[(size_t)j * n + k];
                bound = sum > bound ? sum : bound;
            }
        }
    }
    return bound;
}

static uint32_t list_edges(struct edge *edges, const uint32_t *circuits, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = i + 1; j < n; j++) {
            for (uint32_t c = 0; c < circuits[(size_t)i * n + j]; c++) {
                edges[count++] = (struct edge){{i, j}, WEFT_NONE};
            }
        }
    }
    return count;
}

static uint32_t measure(uint32_t *edge_count, const uint32_t *circuits, uint32_t n)
{
    uint32_t degree = 0;
    uint32_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t own = degree_of(circuits, n, i);
        degree = own > degree ? own : degree;
        sum += own;
    }
    *edge_count = sum / 2;
    return degree;
}

uint32_t weft_circuit_color_duplex(uint32_t *permutations, uint32_t *bound,
                                   const uint32_t *circuits, uint32_t node_count,
                                   struct weft_arena scratch)
{
    uint32_t n = node_count;
    uint32_t edge_count;
    uint32_t degree = measure(&edge_count, circuits, n);
    struct coloring self = {.node_count = n,
                            .color_max = degree + degree / 2,
                            .edges = WEFT_NEW_RAW(&scratch, struct edge, edge_count)};
    self.edge_count = list_edges(self.edges, circuits, n);
    *bound = fewest_switches(circuits, n, degree, edge_count);
    self.color_count = *bound;
    size_t slots = (size_t)n * self.color_max;
    self.at = WEFT_NEW_RAW(&scratch, uint32_t, slots);
    memset(self.at, 0xff, slots * sizeof(uint32_t)); // WEFT_NONE
    for (uint32_t e = 0; e < edge_count; e++) {
        color_edge(&self, e);
    }
    for (size_t i = 0; i < (size_t)n * self.color_count; i++) {
        permutations[i] = (uint32_t)(i % n);
    }
    for (uint32_t e = 0; e < edge_count; e++) {
        const struct edge *edge = &self.edges[e];
        uint32_t *peers = &permutations[(size_t)edge->color * n];
        peers[edge->ends[0]] = edge->ends[1];
        peers[edge->ends[1]] = edge->ends[0];
    }
    return self.color_count;
}

// ---- two ports of a node ----

// Goes along circuits that were not gone until none leads on: back at the start, since every node
// has an even number of them, those to the node beyond all (number n) that make it even included.
static void walk(uint32_t *directed, uint32_t *left, uint32_t *at, uint32_t n, uint32_t start)
{
    uint32_t all = n + 1;
    for (uint32_t node = start;;) {
        while (at[node] < all && left[(size_t)node * all + at[node]] == 0) {
            at[node]++;
        }
        uint32_t next = at[node];
        if (next == all) {
            return;
        }
        left[(size_t)node * all + next]--;
        left[(size_t)next * all + node]--;
        if (node < n && next < n) {
            directed[(size_t)node * n + next]++;
        }
        node = next;
    }
}

uint32_t weft_circuit_pair_ports(uint32_t *permutations, uint32_t *circuits, uint32_t node_count,
                                 struct weft_arena scratch)
{
    uint32_t n = node_count;
    uint32_t all = n + 1;
    uint32_t edge_count;
    uint32_t switches = (measure(&edge_count, circuits, n) + 1) / 2;
    uint32_t *left = WEFT_NEW(&scratch, uint32_t, (size_t)all * all);
    uint32_t *directed = WEFT_NEW(&scratch, uint32_t, (size_t)n * n);
    uint32_t *at = WEFT_NEW(&scratch, uint32_t, all);
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&left[(size_t)i * all], &circuits[(size_t)i * n], n * sizeof(uint32_t));
        left[(size_t)i * all + n] = degree_of(circuits, n, i) % 2;
        left[(size_t)n * all + i] = left[(size_t)i * all + n];
    }
    for (uint32_t start = 0; start < all; start++) {
        walk(directed, left, at, n, start);
    }
    weft_circuit_decompose(permutations, directed, n, switches, scratch);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            circuits[(size_t)i * n + j] = directed[(size_t)i * n + j] + directed[(size_t)j * n + i];
        }
    }
    return switches;
}
