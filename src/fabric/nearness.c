// SPDX-License-Identifier: Apache-2.0
// Which servers are near each other, in the two forms that schedulers know: sets within sets
// (Slurm's topology/tree) for fabrics with switches, and blocks (topology/block) for direct ones.
//
// Sets: a switch's height is its hops from the nearest server; links are taken in by ascending
// height, and what they join (union-find) is one set of that level. O(levels * links). Blocks:
// grown greedily, server by server, by the least sum of hops to the block, then improved by swaps
// of two servers, as Kernighan and Lin do for graph partition (Bell System Technical Journal 1970,
// section 2). O(n^2) for the growth and for each pass of swaps, after hops between all pairs.

#include "nearness.h"
#include "weft/base/sets.h"
#include "weft/graph.h"

#include <string.h>

// Beyond it the tables of distances (2 bytes a pair) and of sums to blocks outgrow memory.
#define BLOCK_SERVERS_MAX 8192u
// A pass that still finds swaps saves little after a few. Not measured: more passes trade time,
// O(n^2) each, for hops.
#define PASSES_MAX 16u

// ---- sets within sets ----

// Hops up to each switch from the nearest server. Returns the largest.
static uint32_t find_heights(uint32_t *height, const struct weft_fabric *fabric,
                             struct weft_arena scratch)
{
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, fabric->node_count);
    uint32_t tail = 0;
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        height[v] = v < fabric->server_count ? 0 : WEFT_NONE;
        if (v < fabric->server_count) {
            queue[tail++] = v;
        }
    }
    uint32_t top = 0;
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t v = queue[head];
        top = height[v];
        for (uint32_t e = fabric->first[v]; e < fabric->first[v + 1]; e++) {
            uint32_t to = fabric->links[e].to;
            if (height[to] == WEFT_NONE) {
                height[to] = top + 1;
                queue[tail++] = to;
            }
        }
    }
    return top;
}

// Joins what the links of this height join: those up to a switch of that height, and those between
// two switches one below. A set's root is its least member, so a server.
static void join_height(struct weft_sets *sets, const uint32_t *height,
                        const struct weft_fabric *fabric, uint32_t level)
{
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        uint32_t low = height[fabric->links[e].from];
        uint32_t high = height[fabric->links[e].to];
        if (low == WEFT_NONE || high == WEFT_NONE || low > high ||
            (low == high ? low + 1 : high) != level) {
            continue; // a link down has its twin up
        }
        weft_sets_join(sets, fabric->links[e].from, fabric->links[e].to);
    }
}

void nest_build(struct weft_nest *nest, const struct weft_fabric *fabric, struct weft_arena *arena,
                struct weft_arena scratch)
{
    uint32_t n = fabric->server_count;
    uint32_t *height = WEFT_NEW(&scratch, uint32_t, fabric->node_count);
    struct weft_sets joined = weft_sets_build(fabric->node_count, &scratch);
    uint32_t *index = WEFT_NEW(&scratch, uint32_t, n); // of a root's set
    uint32_t *inner = WEFT_NEW(&scratch, uint32_t, n); // per server: its set one level down
    uint32_t top = find_heights(height, fabric, scratch) + 1;
    uint32_t *set_count = WEFT_NEW(arena, uint32_t, top);
    const uint32_t **set_of = WEFT_NEW(arena, const uint32_t *, top);
    for (uint32_t s = 0; s < n; s++) {
        inner[s] = s;
    }
    uint32_t levels = 0;
    uint32_t below = n; // sets one level down; servers at first
    for (uint32_t level = 1; level <= top; level++) {
        join_height(&joined, height, fabric, level);
        uint32_t count = 0;
        for (uint32_t s = 0; s < n; s++) {
            index[s] = weft_sets_find(&joined, s) == s ? count++ : WEFT_NONE;
        }
        if (levels > 0 && count == below) {
            continue; // joins nothing new
        }
        uint32_t *sets = WEFT_NEW(arena, uint32_t, below);
        for (uint32_t s = 0; s < n; s++) {
            uint32_t set = index[weft_sets_find(&joined, s)];
            sets[inner[s]] = set;
            inner[s] = set;
        }
        set_count[levels] = count;
        set_of[levels++] = sets;
        below = count;
    }
    WEFT_ASSERT(levels > 0 && below == 1);
    *nest = (struct weft_nest){n, levels, set_count, set_of};
}

bool weft_fabric_nest(struct weft_nest *nest, const struct weft_fabric *fabric,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    if (fabric->node_count == fabric->server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: no switches, so no sets below them; ask for blocks", fabric->name);
    }
    if (!weft_fabric_check_connected(fabric, scratch, error)) {
        return false;
    }
    nest_build(nest, fabric, arena, scratch);
    return true;
}

// ---- blocks ----

struct blocks {
    uint32_t n;
    uint32_t count;
    const uint16_t *distance; // n * n
    uint32_t *block;          // per server
    uint32_t *sum;            // [v * count + b]: hops from v to the servers of b and back
};

// Hops there and back.
static uint32_t between(const struct blocks *blocks, uint32_t u, uint32_t v)
{
    return (uint32_t)blocks->distance[(size_t)u * blocks->n + v] +
           blocks->distance[(size_t)v * blocks->n + u];
}

// One block after another takes the server nearest to what it has; the next begins with the one
// nearest to the last.
static void grow_blocks(struct blocks *blocks, struct weft_arena scratch)
{
    uint32_t n = blocks->n;
    uint32_t *hops = WEFT_NEW(&scratch, uint32_t, n); // to the block that grows
    for (uint32_t v = 0; v < n; v++) {
        blocks->block[v] = WEFT_NONE;
    }
    uint32_t placed = 0;
    for (uint32_t b = 0; b < blocks->count; b++) {
        uint32_t end = (uint32_t)((uint64_t)n * (b + 1) / blocks->count);
        for (uint32_t first = placed; placed < end; placed++) {
            uint32_t best = WEFT_NONE;
            for (uint32_t v = 0; v < n; v++) {
                if (blocks->block[v] == WEFT_NONE && (best == WEFT_NONE || hops[v] < hops[best])) {
                    best = v;
                }
            }
            blocks->block[best] = b;
            for (uint32_t v = 0; v < n; v++) {
                hops[v] = (placed == first ? 0 : hops[v]) + between(blocks, best, v);
            }
        }
    }
}

static void swap_servers(struct blocks *blocks, uint32_t u, uint32_t v)
{
    uint32_t a = blocks->block[u];
    uint32_t b = blocks->block[v];
    for (uint32_t w = 0; w < blocks->n; w++) {
        uint32_t *sum = blocks->sum + (size_t)w * blocks->count;
        sum[a] += between(blocks, w, v) - between(blocks, w, u);
        sum[b] += between(blocks, w, u) - between(blocks, w, v);
    }
    blocks->block[u] = b;
    blocks->block[v] = a;
}

// Whether either, in the other's place, is nearer to its block, both together.
static bool swap_helps(const struct blocks *blocks, uint32_t u, uint32_t v)
{
    uint32_t a = blocks->block[u];
    uint32_t b = blocks->block[v];
    const uint32_t *of_u = blocks->sum + (size_t)u * blocks->count;
    const uint32_t *of_v = blocks->sum + (size_t)v * blocks->count;
    return a != b && of_u[b] + of_v[a] < of_u[a] + of_v[b] + 2 * between(blocks, u, v);
}

// Swaps servers of two blocks while that brings them nearer to their own.
static void mend_blocks(struct blocks *blocks)
{
    uint32_t n = blocks->n;
    uint32_t count = blocks->count;
    for (uint32_t u = 0; u < n; u++) {
        for (uint32_t v = 0; v < n; v++) {
            blocks->sum[(size_t)u * count + blocks->block[v]] += between(blocks, u, v);
        }
    }
    bool swapped = true;
    for (uint32_t pass = 0; pass < PASSES_MAX && swapped; pass++) {
        swapped = false;
        for (uint32_t u = 0; u < n; u++) {
            for (uint32_t v = u + 1; v < n; v++) {
                if (swap_helps(blocks, u, v)) {
                    swap_servers(blocks, u, v);
                    swapped = true;
                }
            }
        }
    }
}

// The blocks in order: from that of server 0 always to the nearest not yet there, so that
// neighbors in the list, which schedulers join to larger blocks, are near each other, too.
static void order_blocks(uint32_t *place, const struct blocks *blocks, struct weft_arena scratch)
{
    uint32_t count = blocks->count;
    uint64_t *hops = WEFT_NEW_RAW(&scratch, uint64_t, count);
    for (uint32_t b = 0; b < count; b++) {
        place[b] = WEFT_NONE;
    }
    uint32_t last = blocks->block[0];
    place[last] = 0;
    for (uint32_t next = 1; next < count; next++) {
        memset(hops, 0, count * sizeof hops[0]);
        for (uint32_t v = 0; v < blocks->n; v++) {
            hops[blocks->block[v]] += blocks->sum[(size_t)v * count + last];
        }
        uint32_t best = WEFT_NONE;
        for (uint32_t b = 0; b < count; b++) {
            if (place[b] == WEFT_NONE && (best == WEFT_NONE || hops[b] < hops[best])) {
                best = b;
            }
        }
        place[best] = next;
        last = best;
    }
}

// Writes the blocks in the order of `place` as one list of servers by CSR, with the mean hops
// inside blocks and over all pairs. sum[] has hops there and back, hence the factors of one half.
// first[] is shifted by two while it is filled, so that it ends as the offsets without a second
// array.
static void publish(struct weft_blocks *result, const struct blocks *blocks, const uint32_t *place,
                    struct weft_arena *arena)
{
    uint32_t n = blocks->n;
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)blocks->count + 2);
    uint32_t *servers = WEFT_NEW(arena, uint32_t, n);
    uint64_t inside = 0;
    uint64_t pairs_inside = 0;
    uint64_t all = 0;
    for (uint32_t v = 0; v < n; v++) {
        first[place[blocks->block[v]] + 2]++;
        inside += blocks->sum[(size_t)v * blocks->count + blocks->block[v]];
        for (uint32_t b = 0; b < blocks->count; b++) {
            all += blocks->sum[(size_t)v * blocks->count + b];
        }
    }
    uint32_t smallest = n;
    for (uint32_t b = 0; b < blocks->count; b++) {
        uint64_t size = first[b + 2];
        pairs_inside += size * (size - 1);
        smallest = size < smallest ? (uint32_t)size : smallest;
        first[b + 2] += first[b + 1];
    }
    for (uint32_t v = 0; v < n; v++) {
        servers[first[place[blocks->block[v]] + 1]++] = v;
    }
    WEFT_ASSERT(first[blocks->count] == n);
    *result = (struct weft_blocks){
        .count = blocks->count,
        .size = smallest,
        .first = first,
        .servers = servers,
        .mean_hops_inside = pairs_inside == 0 ? 0 : 0.5 * (double)inside / (double)pairs_inside,
        .mean_hops = n < 2 ? 0 : 0.5 * (double)all / ((double)n * (n - 1)),
    };
}

bool weft_fabric_blocks(struct weft_blocks *result, const struct weft_fabric *fabric, uint32_t size,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    uint32_t n = fabric->server_count;
    if (fabric->node_count != n) {
        return weft_fail(error, WEFT_INPUT, "%s: has switches; ask for the sets below them",
                         fabric->name);
    }
    if (size == 0 || size > n) {
        return weft_fail(error, WEFT_INPUT, "blocks of %u servers: the fabric has %u; write fewer",
                         size, n);
    }
    if (n > BLOCK_SERVERS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%s: %u servers; blocks are found of at most %u",
                         fabric->name, n, BLOCK_SERVERS_MAX);
    }
    if (!weft_fabric_check_connected(fabric, scratch, error)) {
        return false;
    }
    uint32_t *heads = WEFT_NEW_RAW(&scratch, uint32_t, fabric->link_count);
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        heads[e] = fabric->links[e].to;
    }
    const struct weft_graph graph = {n, fabric->link_count, fabric->first, heads};
    uint16_t *distance = WEFT_NEW(&scratch, uint16_t, (size_t)n * n);
    weft_graph_all_hops(distance, &graph, scratch);
    struct blocks blocks = {.n = n, .count = n / size, .distance = distance};
    blocks.block = WEFT_NEW_RAW(&scratch, uint32_t, n);
    blocks.sum = WEFT_NEW(&scratch, uint32_t, (size_t)n * blocks.count);
    uint32_t *place = WEFT_NEW_RAW(&scratch, uint32_t, blocks.count);
    grow_blocks(&blocks, scratch);
    mend_blocks(&blocks);
    order_blocks(place, &blocks, scratch);
    publish(result, &blocks, place, arena);
    return true;
}
