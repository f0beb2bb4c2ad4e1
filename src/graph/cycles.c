// SPDX-License-Identifier: Apache-2.0
// Hamiltonian cycles that share no edge, by rotations and extensions (Posa, "Hamiltonian circuits
// in random graphs", Discrete Mathematics 1976).
//
// A path grows from a random node to neighbors that it does not have; where it cannot, it is turned
// round behind a random neighbor of its end, which gives it another end. In a random regular graph
// of degree 3 and more it closes after some n log n steps almost surely. The last cycle of an even
// degree is the exception: what is left has degree 2 and is one cycle or several, so the one before
// is looked for again, a chance of about 1 / sqrt(n) each time (Kim and Wormald, "Random matchings
// which induce Hamilton cycles", JCTB 2001, on how such decompositions are distributed). All steps
// come out of one budget. O(WORK_MAX) at most.

#include "weft/graph.h"

#include <math.h>
#include <string.h>

// Nodes moved or looked at, all tries together: half a second of one core.
#define WORK_MAX (1ull << 29)
// Steps of one try, in n ln n. With 20 all of 900 random graphs have all their cycles, with 2 some
// of degree 3 have none (build/tests/property/property_cycles 2 300).
#define STEPS_PER_NODE 20.0
// So many tries in vain for the first cycle, and the graph counts as having none.
#define FIRST_TRIES 8u

struct search {
    const struct weft_graph *graph;
    uint32_t *used;  // per arc: the cycle that has it, plus 1; 0 = none
    uint32_t *path;  // nodes
    uint32_t *place; // per node: where on the path, WEFT_NONE = not on it
    uint32_t length;
    uint64_t work;
    struct weft_rng *rng;
};

static void append(struct search *search, uint32_t node)
{
    search->place[node] = search->length;
    search->path[search->length++] = node;
}

// Turns round what stands behind `place`, so that its node becomes the end.
static void rotate(struct search *search, uint32_t place)
{
    search->work += search->length - place;
    for (uint32_t i = place + 1, j = search->length - 1; i < j; i++, j--) {
        uint32_t node = search->path[i];
        search->path[i] = search->path[j];
        search->path[j] = node;
        search->place[search->path[i]] = i;
        search->place[node] = j;
    }
}

// One step from the path's end: a new node, or another end. True when the path has closed.
static bool step(struct search *search)
{
    const struct weft_graph *graph = search->graph;
    uint32_t end = search->path[search->length - 1];
    uint32_t arcs = graph->first[end + 1] - graph->first[end];
    uint32_t begin = weft_rng_below(search->rng, arcs);
    uint32_t chosen = WEFT_NONE;
    search->work += arcs;
    for (uint32_t i = 0; i < arcs; i++) {
        uint32_t arc = graph->first[end] + (begin + i) % arcs;
        uint32_t node = graph->heads[arc];
        if (search->used[arc] != 0 || node == end) {
            continue;
        }
        if (search->place[node] == WEFT_NONE) {
            append(search, node);
            return false;
        }
        if (search->length == graph->node_count && search->place[node] == 0 && search->length > 2) {
            return true;
        }
        bool turns = search->place[node] + 2 < search->length;
        chosen = turns && chosen == WEFT_NONE ? search->place[node] : chosen;
    }
    if (chosen != WEFT_NONE) {
        rotate(search, chosen);
    }
    return false;
}

// A Hamiltonian cycle of the arcs that are free, in search->path.
static bool find_cycle(struct search *search)
{
    uint32_t n = search->graph->node_count;
    double steps = STEPS_PER_NODE * n * (1 + log(n));
    memset(search->place, 0xff, n * sizeof *search->place); // WEFT_NONE
    search->length = 0;
    append(search, weft_rng_below(search->rng, n));
    for (double i = 0; i < steps && search->work < WORK_MAX; i++) {
        if (step(search)) {
            return true;
        }
    }
    return false;
}

// Marks, or with 0 frees, one arc between two nodes each way.
static void mark(struct search *search, uint32_t from, uint32_t to, uint32_t old, uint32_t now)
{
    const uint32_t *first = search->graph->first;
    for (uint32_t arc = first[from]; arc < first[from + 1]; arc++) {
        if (search->graph->heads[arc] == to && search->used[arc] == old) {
            search->used[arc] = now;
            return;
        }
    }
    WEFT_ASSERT(false);
}

static void mark_cycle(struct search *search, const uint32_t *cycle, uint32_t old, uint32_t now)
{
    uint32_t n = search->graph->node_count;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = cycle[i + 1 == n ? 0 : i + 1];
        mark(search, cycle[i], next, old, now);
        mark(search, next, cycle[i], old, now);
    }
}

uint32_t weft_graph_disjoint_cycles(uint32_t *cycles, const struct weft_graph *graph, uint32_t most,
                                    struct weft_rng *rng, struct weft_arena scratch)
{
    uint32_t n = graph->node_count;
    struct search search = {.graph = graph,
                            .used = WEFT_NEW(&scratch, uint32_t, (size_t)graph->arc_count + 1),
                            .path = WEFT_NEW_RAW(&scratch, uint32_t, n),
                            .place = WEFT_NEW_RAW(&scratch, uint32_t, n),
                            .rng = rng};
    uint32_t *found = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)n * most + 1);
    uint32_t count = 0;
    uint32_t best = 0;
    uint32_t in_vain = 0;
    for (uint32_t v = 0; v < n; v++) { // a node without arcs is on no cycle
        most = n < 3 || graph->first[v + 1] == graph->first[v] ? 0 : most;
    }
    while (best < most && in_vain < FIRST_TRIES && search.work < WORK_MAX) {
        if (find_cycle(&search)) {
            uint32_t *cycle = found + (size_t)n * count;
            memcpy(cycle, search.path, n * sizeof *cycle);
            mark_cycle(&search, cycle, 0, ++count);
        } else if (count > 0) { // what the last one left has none that was found
            mark_cycle(&search, found + (size_t)n * (count - 1), count, 0);
            count--;
        } else {
            in_vain++;
        }
        if (count > best) {
            best = count;
            memcpy(cycles, found, (size_t)n * count * sizeof *cycles);
        }
    }
    return best;
}
