// SPDX-License-Identifier: Apache-2.0
// What planes are worth: mean hops, diameter, and whether they are circulant.
//
// Distances are those of the lit ports as a digraph. Planes that are all circulant (i -> i + jump)
// look the same from every server, so that one breadth-first search gives all distances, O(n d);
// other planes take a search from every server (weft_graph_all_hops, O(n^2 d / 64)).

#include "internal.h"

#include <string.h>

void weft_topology_graph(struct weft_graph *graph, const uint32_t *planes, uint32_t server_count,
                         uint32_t degree, struct weft_arena *arena)
{
    uint32_t *first = WEFT_NEW_RAW(arena, uint32_t, (size_t)server_count + 1);
    uint32_t *heads = WEFT_NEW_RAW(arena, uint32_t, (size_t)server_count * degree);
    uint32_t filled = 0;
    for (uint32_t v = 0; v < server_count; v++) {
        first[v] = filled;
        for (uint32_t p = 0; p < degree; p++) {
            uint32_t head = planes[(size_t)p * server_count + v];
            if (head != v) {
                heads[filled++] = head;
            }
        }
    }
    first[server_count] = filled;
    *graph = (struct weft_graph){server_count, filled, first, heads};
}

// Whether plane p is i -> i + jump for all i; the jump is that of server 0.
static bool is_circulant(const uint32_t *plane, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (plane[i] != (i + plane[0]) % n) {
            return false;
        }
    }
    return true;
}

// Lists the distinct jumps of circulant planes, ascending (duplex: a jump and its opposite as one).
static void list_generators(struct weft_topology *topology, struct weft_arena *arena)
{
    uint32_t n = topology->server_count;
    uint32_t *generators = WEFT_NEW(arena, uint32_t, topology->degree);
    uint32_t count = 0;
    for (uint32_t p = 0; p < topology->degree; p++) {
        uint32_t jump = topology->planes[(size_t)p * n];
        jump = !topology->simplex && jump > n - jump ? n - jump : jump;
        uint32_t at = 0;
        while (at < count && generators[at] < jump) {
            at++;
        }
        if (jump != 0 && (at == count || generators[at] != jump)) {
            memmove(generators + at + 1, generators + at, (count - at) * sizeof *generators);
            generators[at] = jump;
            count++;
        }
    }
    topology->generator_count = count;
    topology->generators = generators;
}

bool weft_topology_measure(struct weft_topology *topology, struct weft_arena *arena,
                           struct weft_arena scratch)
{
    uint32_t n = topology->server_count;
    struct weft_graph graph;
    weft_topology_graph(&graph, topology->planes, n, topology->degree, &scratch);
    bool circulant = true;
    for (uint32_t p = 0; p < topology->degree && circulant; p++) {
        circulant = is_circulant(topology->planes + (size_t)p * n, n);
    }
    topology->generator_count = 0;
    topology->generators = NULL;
    if (!circulant) {
        struct weft_graph_hops hops = weft_graph_all_hops(NULL, &graph, scratch);
        topology->mean_hops = hops.pair_count > 0 ? (double)hops.sum / (double)hops.pair_count : 0;
        topology->diameter = hops.diameter;
        return hops.connected;
    }
    list_generators(topology, arena);
    uint32_t *distance = WEFT_NEW_RAW(&scratch, uint32_t, n);
    weft_graph_bfs(distance, &graph, 0, scratch);
    uint64_t sum = 0;
    uint32_t reached = 0;
    topology->diameter = 0;
    for (uint32_t v = 1; v < n; v++) {
        if (distance[v] != WEFT_NONE) {
            sum += distance[v];
            reached++;
            topology->diameter =
                distance[v] > topology->diameter ? distance[v] : topology->diameter;
        }
    }
    topology->mean_hops = reached > 0 ? (double)sum / reached : 0;
    return reached == n - 1;
}
