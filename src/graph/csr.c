// SPDX-License-Identifier: Apache-2.0
// Graphs in compressed rows: arcs sorted by tail, so that a node's neighbors lie in a row (CSR, O(n
// + m) to build by a counting sort); breadth-first search over them, O(n + m) a source, and the
// hops of all pairs by it.

#include "weft/graph.h"

#include <string.h>

void weft_graph_build(struct weft_graph *graph, uint32_t node_count, const uint32_t *tails,
                      const uint32_t *heads, uint32_t arc_count, struct weft_arena *arena)
{
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)node_count + 1);
    uint32_t *sorted = WEFT_NEW_RAW(arena, uint32_t, arc_count);
    for (uint32_t a = 0; a < arc_count; a++) {
        WEFT_ASSERT(tails[a] < node_count && heads[a] < node_count);
        first[tails[a] + 1]++;
    }
    for (uint32_t v = 0; v < node_count; v++) {
        first[v + 1] += first[v];
    }
    for (uint32_t a = 0; a < arc_count; a++) {
        sorted[first[tails[a]]++] = heads[a];
    }
    memmove(first + 1, first, node_count * sizeof *first);
    first[0] = 0;
    *graph = (struct weft_graph){node_count, arc_count, first, sorted};
}

void weft_graph_reverse(struct weft_graph *reverse, const uint32_t **origin,
                        const struct weft_graph *graph, struct weft_arena *arena)
{
    uint32_t n = graph->node_count;
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)n + 1);
    uint32_t *heads = WEFT_NEW_RAW(arena, uint32_t, graph->arc_count);
    uint32_t *from = WEFT_NEW_RAW(arena, uint32_t, graph->arc_count);
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        first[graph->heads[a] + 1]++;
    }
    for (uint32_t v = 0; v < n; v++) {
        first[v + 1] += first[v];
    }
    for (uint32_t v = 0; v < n; v++) {
        for (uint32_t a = graph->first[v]; a < graph->first[v + 1]; a++) {
            uint32_t slot = first[graph->heads[a]]++;
            heads[slot] = v;
            from[slot] = a;
        }
    }
    memmove(first + 1, first, n * sizeof *first);
    first[0] = 0;
    if (origin != NULL) {
        *origin = from;
    }
    *reverse = (struct weft_graph){n, graph->arc_count, first, heads};
}

void weft_graph_bfs(uint32_t *distance, const struct weft_graph *graph, uint32_t source,
                    struct weft_arena scratch)
{
    WEFT_ASSERT(source < graph->node_count);
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, graph->node_count);
    for (uint32_t v = 0; v < graph->node_count; v++) {
        distance[v] = WEFT_NONE;
    }
    distance[source] = 0;
    queue[0] = source;
    uint32_t filled = 1;
    for (uint32_t i = 0; i < filled; i++) {
        uint32_t v = queue[i];
        for (uint32_t a = graph->first[v]; a < graph->first[v + 1]; a++) {
            uint32_t head = graph->heads[a];
            if (distance[head] == WEFT_NONE) {
                distance[head] = distance[v] + 1;
                queue[filled++] = head;
            }
        }
    }
}

// ---- all pairs ----

#define LANES 8u // words of 64 sources that travel together

struct wave {
    uint64_t *seen;     // node_count * LANES: which sources have reached the node
    uint64_t *frontier; // reached it in the last level
    uint64_t *next;
};

// One level of LANES * 64 searches. Returns how many (source, node) pairs were reached.
static uint64_t spread(struct wave *wave, const struct weft_graph *graph)
{
    size_t words = (size_t)graph->node_count * LANES;
    memset(wave->next, 0, words * sizeof(uint64_t));
    for (uint32_t v = 0; v < graph->node_count; v++) {
        const uint64_t *here = wave->frontier + (size_t)v * LANES;
        uint64_t any = 0;
        for (uint32_t l = 0; l < LANES; l++) {
            any |= here[l];
        }
        if (any == 0) {
            continue;
        }
        for (uint32_t a = graph->first[v]; a < graph->first[v + 1]; a++) {
            uint64_t *there = wave->next + (size_t)graph->heads[a] * LANES;
            for (uint32_t l = 0; l < LANES; l++) {
                there[l] |= here[l];
            }
        }
    }
    uint64_t reached = 0;
    for (size_t w = 0; w < words; w++) {
        uint64_t fresh = wave->next[w] & ~wave->seen[w];
        wave->seen[w] |= fresh;
        wave->next[w] = fresh;
        reached += (uint64_t)__builtin_popcountll(fresh);
    }
    uint64_t *swap = wave->frontier;
    wave->frontier = wave->next;
    wave->next = swap;
    return reached;
}

// Writes `level` for every (source, node) of the frontier.
static void write_level(uint16_t *distance, const struct wave *wave, uint32_t node_count,
                        uint32_t base, uint16_t level)
{
    for (uint32_t v = 0; v < node_count; v++) {
        for (uint32_t l = 0; l < LANES; l++) {
            uint64_t bits = wave->frontier[(size_t)v * LANES + l];
            while (bits != 0) {
                uint32_t source = base + l * 64 + (uint32_t)__builtin_ctzll(bits);
                distance[(size_t)source * node_count + v] = level;
                bits &= bits - 1;
            }
        }
    }
}

struct weft_graph_hops weft_graph_all_hops(uint16_t *distance, const struct weft_graph *graph,
                                           struct weft_arena scratch)
{
    uint32_t n = graph->node_count;
    WEFT_ASSERT(n < WEFT_GRAPH_UNREACHED);
    size_t words = (size_t)n * LANES;
    struct wave wave = {
        .seen = WEFT_NEW_RAW(&scratch, uint64_t, words),
        .frontier = WEFT_NEW_RAW(&scratch, uint64_t, words),
        .next = WEFT_NEW_RAW(&scratch, uint64_t, words),
    };
    if (distance != NULL) {
        memset(distance, 0xff, (size_t)n * n * sizeof *distance);
    }
    struct weft_graph_hops hops = {0};
    for (uint32_t base = 0; base < n; base += LANES * 64) {
        weft_poll();
        memset(wave.frontier, 0, words * sizeof(uint64_t));
        for (uint32_t s = base; s < n && s < base + LANES * 64; s++) {
            wave.frontier[(size_t)s * LANES + (s - base) / 64] = (uint64_t)1 << (s - base) % 64;
        }
        memcpy(wave.seen, wave.frontier, words * sizeof(uint64_t));
        uint64_t reached = 1;
        for (uint32_t level = 0; reached > 0; level++) {
            if (distance != NULL) {
                write_level(distance, &wave, n, base, (uint16_t)level);
            }
            reached = spread(&wave, graph);
            hops.pair_count += reached;
            hops.sum += reached * (level + 1);
            hops.diameter = reached > 0 && level + 1 > hops.diameter ? level + 1 : hops.diameter;
        }
    }
    hops.connected = hops.pair_count == (uint64_t)n * (n - (n > 0));
    return hops;
}

// ---- permutations ----

bool weft_graph_is_permutation(const uint32_t *next, uint32_t node_count, struct weft_arena scratch)
{
    bool *hit = WEFT_NEW(&scratch, bool, node_count);
    for (uint32_t v = 0; v < node_count; v++) {
        if (next[v] >= node_count || hit[next[v]]) {
            return false;
        }
        hit[next[v]] = true;
    }
    return true;
}

bool weft_graph_is_cycle(const uint32_t *next, uint32_t node_count)
{
    uint32_t v = 0;
    for (uint32_t steps = 1; steps <= node_count; steps++) {
        if (next[v] >= node_count) {
            return false;
        }
        v = next[v];
        if (v == 0) {
            return steps == node_count;
        }
    }
    return false;
}
