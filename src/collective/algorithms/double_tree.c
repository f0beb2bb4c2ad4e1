// SPDX-License-Identifier: Apache-2.0
// Two binary trees, half of the chunks down each (Sanders, Speck and Traeff, "Two-tree algorithms
// for full bandwidth broadcast, reduction and scan", Parallel Computing 2009), as NCCL's trees do.
//
// The n-1 ranks beside the root have positions 1 to m = n-1 in order. The first tree is the
// in-order binary tree: a position with h trailing zero bits has height h, so the odd ones are
// leaves. The second is its mirror image (m even) or the same moved by one (m odd), so that nobody
// has children in both. Hence a rank receives over two edges and sends over at most two, and the
// edges can be colored by two colors such that those two always differ: color x of both trees is
// served in rounds 2i + x. An edge into depth d passes chunk c in round 2(d - 1 + c) + its color.
//
// A broadcast or reduce takes R = 2(L + k) - 2 rounds of S/(2k) bytes, which comes near S beta for
// large k, where one binary tree comes near 2 S beta; an all-reduce takes 2R. Writing it costs O(n
// log n).

#include "writer.h"

struct two_trees {
    uint32_t node_count;  // m, of each tree
    uint32_t *parent;     // [2m] of edge tree * m + position - 1: 0 = the root, else a position
    uint32_t *sibling;    // [2m] the other edge from the same sender, or NONE
    uint32_t *depth;      // [2m]
    unsigned char *color; // [2m]
};

// The parent of a position in the in-order tree over 1..m; 0 is the root above it.
static uint32_t parent_of(uint32_t position, uint32_t m)
{
    uint32_t bit = position & (0u - position);
    uint32_t left = position ^ bit;
    uint32_t up = left | bit << 1;
    return up <= m ? up : left;
}

// The place in the first tree that a position takes in the second, and back.
static uint32_t role_of(uint32_t position, uint32_t m)
{
    return m % 2 == 0 ? m + 1 - position : position % m + 1;
}

static uint32_t holder_of(uint32_t role, uint32_t m)
{
    return m % 2 == 0 ? m + 1 - role : (role + m - 2) % m + 1;
}

static void find_parents(struct two_trees *trees)
{
    uint32_t m = trees->node_count;
    for (uint32_t p = 1; p <= m; p++) {
        trees->parent[p - 1] = parent_of(p, m);
        uint32_t up = parent_of(role_of(p, m), m);
        trees->parent[m + p - 1] = up == 0 ? 0 : holder_of(up, m);
    }
}

// Finds how many edges lie between the root and each position, by walking up: the trees are
// balanced, so a walk has at most ceil(log2 n) + 1 edges and all of them cost O(n log n).
static void find_depths(struct two_trees *trees)
{
    uint32_t m = trees->node_count;
    for (uint32_t edge = 0; edge < 2 * m; edge++) {
        uint32_t tree = edge / m;
        uint32_t depth = 1;
        for (uint32_t up = trees->parent[edge]; up > 0; up = trees->parent[tree * m + up - 1]) {
            depth++;
        }
        trees->depth[edge] = depth;
    }
}

// Edges from the same position have the same sender in whichever tree; those from the root are one
// of each tree.
static void find_siblings(struct two_trees *trees, struct weft_arena scratch)
{
    uint32_t m = trees->node_count;
    uint32_t *waiting = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)m + 1);
    for (uint32_t p = 0; p <= m; p++) {
        waiting[p] = WEFT_NONE;
    }
    for (uint32_t edge = 0; edge < 2 * m; edge++) {
        uint32_t sender = trees->parent[edge];
        trees->sibling[edge] = waiting[sender];
        if (waiting[sender] != WEFT_NONE) {
            WEFT_ASSERT(trees->sibling[waiting[sender]] == WEFT_NONE);
            trees->sibling[waiting[sender]] = edge;
        }
        waiting[sender] = edge;
    }
}

#define NO_COLOR 2

// Edges that share a receiver or a sender form paths and even cycles: from `edge` on, alternately
// to the other edge of its receiver and to the other edge of that one's sender.
static void color_along(struct two_trees *trees, uint32_t edge, unsigned char color)
{
    uint32_t m = trees->node_count;
    while (edge != WEFT_NONE && trees->color[edge] == NO_COLOR) {
        uint32_t other = edge < m ? edge + m : edge - m;
        trees->color[edge] = color;
        trees->color[other] = 1 - color;
        edge = trees->sibling[other];
    }
}

static void find_colors(struct two_trees *trees)
{
    uint32_t edge_count = 2 * trees->node_count;
    for (uint32_t edge = 0; edge < edge_count; edge++) {
        trees->color[edge] = NO_COLOR;
    }
    for (uint32_t edge = 0; edge < edge_count; edge++) {
        if (trees->color[edge] == NO_COLOR) {
            color_along(trees, edge, 0);
            color_along(trees, trees->sibling[edge], 1);
        }
    }
}

// Builds both trees of n ranks: parents, depths, the pairs of edges that share a sender, and
// colors.
static void build_trees(struct two_trees *trees, uint32_t n, struct weft_arena *scratch)
{
    size_t edge_count = 2 * (size_t)(n - 1);
    *trees = (struct two_trees){
        .node_count = n - 1,
        .parent = WEFT_NEW(scratch, uint32_t, edge_count),
        .sibling = WEFT_NEW(scratch, uint32_t, edge_count),
        .depth = WEFT_NEW(scratch, uint32_t, edge_count),
        .color = WEFT_NEW(scratch, unsigned char, edge_count),
    };
    find_parents(trees);
    find_depths(trees);
    find_siblings(trees, *scratch);
    find_colors(trees);
}

// ---- families of edges ----

// Edges of one tree, depth and color whose parents and positions are each evenly spaced.
struct run {
    uint32_t tree;
    uint32_t depth;
    uint32_t color;
    uint32_t parent;
    uint32_t child;
    uint32_t parent_apart; // modulo n
    uint32_t child_apart;
    uint32_t count;
};

static bool extends(struct run *run, const struct run *edge, uint32_t n)
{
    if (run->tree != edge->tree || run->depth != edge->depth || run->color != edge->color) {
        return false;
    }
    if (run->count == 1) {
        run->parent_apart = (edge->parent + n - run->parent) % n;
        run->child_apart = (edge->child + n - run->child) % n;
    }
    uint64_t parent = run->parent + (uint64_t)run->count * run->parent_apart;
    uint64_t child = run->child + (uint64_t)run->count * run->child_apart;
    if (parent % n != edge->parent || child % n != edge->child) {
        return false;
    }
    run->count++;
    return true;
}

// Groups the edges into runs, those of a tree, depth and color one behind the other: a run's
// parents and children are each evenly spaced, so that it is one step of the schedule for each
// chunk. In-order trees have few runs, mirrored ones as few. O(n log n).
static uint32_t find_runs(struct run *runs, const struct two_trees *trees, uint32_t n)
{
    uint32_t m = trees->node_count;
    uint32_t deepest = weft_log2_ceil(n);
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < 4 * deepest; kind++) {
        uint32_t tree = kind % 2;
        for (uint32_t p = 1; p <= m; p++) {
            uint32_t edge = tree * m + p - 1;
            struct run single = {.tree = tree,
                                 .depth = trees->depth[edge],
                                 .color = trees->color[edge],
                                 .parent = trees->parent[edge],
                                 .child = p,
                                 .count = 1};
            if (single.depth != kind / 4 + 1 || single.color != kind / 2 % 2) {
                continue;
            }
            if (count == 0 || !extends(&runs[count - 1], &single, n)) {
                runs[count++] = single;
            }
        }
    }
    return count;
}

uint32_t weft_double_tree_rounds(uint32_t n, uint32_t factor)
{
    return 2 * (weft_log2_ceil(n) + factor) - 2;
}

static void add_run(struct weft_step_writer *writer, const struct run *run, bool backward,
                    uint32_t offset)
{
    uint32_t n = writer->options.rank_count;
    uint32_t root = writer->options.root;
    uint32_t factor = writer->options.chunk_factor;
    struct weft_index parents = weft_index_walk((root + run->parent) % n, run->parent_apart, 0, n);
    struct weft_index children = weft_index_walk((root + run->child) % n, run->child_apart, 0, n);
    writer->channel = run->tree;
    for (uint32_t c = 0; c < factor; c++) {
        uint32_t round = 2 * (run->depth - 1 + c) + run->color;
        if (backward) {
            round = weft_double_tree_rounds(n, factor) - 1 - round;
        }
        struct weft_step *step = weft_writer_add(
            writer, backward ? WEFT_STEP_REDUCE : WEFT_STEP_COPY, offset + round, 1, run->count, 1);
        step->from = backward ? children : parents;
        step->to = backward ? parents : children;
        weft_step_slots(step, weft_index_fixed(run->tree * factor + c));
    }
}

// Writes the reduce up both trees, the broadcast down both, or one behind the other. The number of
// steps is known only once the runs are, so it is checked twice: with the coarse bound of an edge a
// run before memory is taken for them, and then exactly.
bool weft_write_double_tree(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    uint32_t factor = writer->options.chunk_factor;
    enum weft_collective_kind kind = writer->options.kind;
    if (!weft_writer_chunks(writer, 2 * (uint64_t)factor, error) ||
        !weft_writer_expect(writer, 2 * (uint64_t)n * factor, error)) {
        return false;
    }
    struct weft_arena scratch = *writer->scratch;
    struct two_trees trees;
    build_trees(&trees, n, &scratch);
    struct run *runs = WEFT_NEW_RAW(&scratch, struct run, 2 * (size_t)trees.node_count);
    uint32_t run_count = find_runs(runs, &trees, n);
    *writer->scratch = scratch;
    if (!weft_writer_expect(writer, 2 * (uint64_t)run_count * factor, error)) {
        return false;
    }
    writer->port_count = 1;
    uint32_t offset = 0;
    if (kind != WEFT_COLLECTIVE_BROADCAST) {
        for (uint32_t r = 0; r < run_count; r++) {
            add_run(writer, &runs[r], true, 0);
        }
        offset = weft_double_tree_rounds(n, factor);
    }
    for (uint32_t r = 0; r < run_count && kind != WEFT_COLLECTIVE_REDUCE; r++) {
        add_run(writer, &runs[r], false, offset);
    }
    return true;
}
