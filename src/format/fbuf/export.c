// SPDX-License-Identifier: Apache-2.0
// A plan inside a TopoOpt task graph: links, paths, and circulant rings as jumps
// (docs/exports.md).
//
// The format has one list of jumps for each ring size, which only circulant rings with equal
// shares fit; rings that do not fit are left out of the jumps and stand, all of them, in words
// of Weft's own (extra.c). A strict file has no such words, and jumps only where the authors'
// simulator plays them between the right servers. O(paths * hops + members of rings).

#include "fbuf.h"

#include <stdlib.h>
#include <string.h>

// ---- paths ----

static void count_paths(const struct weft_routes *routes, uint32_t n, uint32_t *path_count,
                        size_t *node_count, uint32_t *links)
{
    *path_count = 0;
    *node_count = 0;
    for (size_t pair = 0; pair < (size_t)n * n; pair++) {
        uint32_t from = (uint32_t)(pair / n);
        uint32_t to = (uint32_t)(pair % n);
        uint32_t count = weft_routes_path_count(routes, from, to);
        for (uint32_t i = 0; i < count; i++) {
            *node_count += weft_routes_path(routes, from, to, i, links, NULL) + 1;
        }
        *path_count += count;
    }
}

// Lists every path of every pair as nodes, both ends included, as weft_routes_build_table takes
// them.
static bool export_paths(struct weft_fbuf *fbuf, const struct weft_routes *routes, uint32_t n,
                         struct weft_arena *arena, struct weft_arena scratch,
                         struct weft_error *error)
{
    uint32_t *links = WEFT_NEW(&scratch, uint32_t, (size_t)routes->hop_max + 1);
    size_t node_count = 0;
    count_paths(routes, n, &fbuf->path_count, &node_count, links);
    if (node_count > UINT32_MAX) {
        return weft_fail(error, WEFT_INPUT, "%zu hops of routes are more than the format holds",
                         node_count);
    }
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)fbuf->path_count + 1);
    uint32_t *nodes = WEFT_NEW(arena, uint32_t, node_count);
    double *weights = WEFT_NEW(arena, double, fbuf->path_count);
    uint32_t path = 0;
    for (size_t pair = 0; pair < (size_t)n * n; pair++) {
        uint32_t from = (uint32_t)(pair / n);
        uint32_t to = (uint32_t)(pair % n);
        uint32_t count = weft_routes_path_count(routes, from, to);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t hops = weft_routes_path(routes, from, to, i, links, &weights[path]);
            uint32_t *walk = nodes + first[path];
            walk[0] = from;
            for (uint32_t h = 0; h < hops; h++) {
                walk[h + 1] = routes->fabric->links[links[h]].to;
            }
            first[path + 1] = first[path] + hops + 1;
            path++;
        }
    }
    fbuf->path_node_first = first;
    fbuf->path_nodes = nodes;
    fbuf->path_weights = weights;
    return true;
}

// ---- rings ----

// The jumps of one ring, the same from every member.
struct jumps {
    uint32_t count;
    const int32_t *values;
};

static int32_t jump_between(uint32_t from, uint32_t to, uint32_t n)
{
    return (int32_t)((to + n - from) % n);
}

// The walk of hop i as jumps; one jump where the ring leaves the walk to the routes and a link
// joins the two.
static bool list_jumps(struct jumps *jumps, const struct weft_ring *ring, uint32_t i,
                       const struct weft_fabric *fabric, struct weft_arena *arena)
{
    uint32_t n = fabric->server_count;
    uint32_t from = ring->members[i];
    if (ring->hop_first == NULL) {
        uint32_t to = ring->members[(i + 1) % ring->member_count];
        int32_t *value = WEFT_NEW(arena, int32_t, 1);
        value[0] = jump_between(from, to, n);
        *jumps = (struct jumps){1, value};
        return weft_fabric_find_link(fabric, from, to) != WEFT_NONE;
    }
    uint32_t count = ring->hop_first[i + 1] - ring->hop_first[i];
    int32_t *values = WEFT_NEW(arena, int32_t, count);
    for (uint32_t h = 0; h < count; h++) {
        const struct weft_link *link = &fabric->links[ring->hop_links[ring->hop_first[i] + h]];
        values[h] = jump_between(link->from, link->to, n);
    }
    *jumps = (struct jumps){count, values};
    return true;
}

static int compare_jumps(const void *left, const void *right)
{
    const struct jumps *a = left;
    const struct jumps *b = right;
    for (uint32_t i = 0; i < a->count && i < b->count; i++) {
        if (a->values[i] != b->values[i]) {
            return a->values[i] < b->values[i] ? -1 : 1;
        }
    }
    return (a->count > b->count) - (a->count < b->count);
}

static bool is_circulant(struct jumps *jumps, const struct weft_ring *ring,
                         const struct weft_fabric *fabric, struct weft_arena *arena)
{
    if (!list_jumps(jumps, ring, 0, fabric, arena)) {
        return false;
    }
    for (uint32_t i = 1; i < ring->member_count; i++) {
        struct weft_arena scratch = *arena;
        struct jumps other;
        if (!list_jumps(&other, ring, i, fabric, &scratch) || compare_jumps(jumps, &other) != 0) {
            return false;
        }
    }
    return true;
}

// The descriptors of one ring size, sorted, as its first group has them.
struct ring_size {
    uint32_t size;
    uint32_t count;
    struct jumps *jumps;
    bool usable;
};

// Rings rings[0..count) of one group, as sorted jumps. False when the format cannot say them.
static bool describe_group(struct jumps *jumps, const struct weft_ring *rings, uint32_t count,
                           const struct weft_fabric *fabric, struct weft_arena *arena)
{
    for (uint32_t i = 0; i < count; i++) {
        double unequal = rings[i].share_ratio * count - 1;
        if (unequal > 1e-6 || unequal < -1e-6 ||
            !is_circulant(&jumps[i], &rings[i], fabric, arena)) {
            return false;
        }
    }
    qsort(jumps, count, sizeof jumps[0], compare_jumps);
    return true;
}

static void take_group(struct ring_size *sizes, const struct weft_ring *rings, uint32_t count,
                       const struct weft_fabric *fabric, struct weft_arena *arena)
{
    struct ring_size *entry = &sizes[rings[0].member_count];
    struct jumps *jumps = WEFT_NEW(arena, struct jumps, count);
    bool good = describe_group(jumps, rings, count, fabric, arena);
    if (entry->size == 0) {
        *entry = (struct ring_size){rings[0].member_count, count, jumps, good};
        return;
    }
    good = good && entry->usable && entry->count == count;
    for (uint32_t i = 0; good && i < count; i++) {
        good = compare_jumps(&jumps[i], &entry->jumps[i]) == 0;
    }
    entry->usable = good;
}

// Flattens the jumps of all ring sizes that are usable into the arrays of struct weft_fbuf,
// sizes ascending, and counts the others.
static void publish_rings(struct weft_fbuf *fbuf, uint32_t *sizes_left_out,
                          const struct ring_size *sizes, uint32_t n, struct weft_arena *arena)
{
    uint32_t size_count = 0;
    uint32_t descriptor_count = 0;
    uint32_t jump_count = 0;
    *sizes_left_out = 0;
    for (uint32_t k = 0; k <= n; k++) {
        *sizes_left_out += sizes[k].size != 0 && !sizes[k].usable;
        for (uint32_t i = 0; sizes[k].usable && i < sizes[k].count; i++) {
            jump_count += sizes[k].jumps[i].count;
        }
        descriptor_count += sizes[k].usable ? sizes[k].count : 0;
        size_count += sizes[k].usable;
    }
    uint64_t *ring_sizes = WEFT_NEW(arena, uint64_t, size_count);
    uint32_t *ring_first = WEFT_NEW(arena, uint32_t, (size_t)size_count + 1);
    uint32_t *jump_first = WEFT_NEW(arena, uint32_t, (size_t)descriptor_count + 1);
    int32_t *jumps = WEFT_NEW(arena, int32_t, jump_count);
    uint32_t at = 0;
    uint32_t descriptor = 0;
    for (uint32_t k = 0; k <= n; k++) {
        for (uint32_t i = 0; sizes[k].usable && i < sizes[k].count; i++) {
            const struct jumps *one = &sizes[k].jumps[i];
            memcpy(jumps + jump_first[descriptor], one->values, one->count * sizeof jumps[0]);
            jump_first[descriptor + 1] = jump_first[descriptor] + one->count;
            descriptor++;
        }
        if (sizes[k].usable) {
            ring_sizes[at] = k;
            ring_first[++at] = descriptor;
        }
    }
    fbuf->ring_size_count = size_count;
    fbuf->ring_sizes = ring_sizes;
    fbuf->ring_first = ring_first;
    fbuf->descriptor_count = descriptor_count;
    fbuf->jump_first = jump_first;
    fbuf->jumps = jumps;
}

// Whether a group is all servers in their order. The authors' simulator adds jumps to a member's
// place in its group where the server's number is meant (FFNewRingAllreduce::start_flow), which is
// right for such groups alone.
static bool is_everybody(const struct weft_taskgraph *graph, uint32_t group)
{
    uint32_t first = graph->group_first[group];
    bool same = graph->group_first[group + 1] - first == graph->server_count;
    for (uint32_t i = 0; same && i < graph->server_count; i++) {
        same = graph->group_members[first + i] == i;
    }
    return same;
}

static void export_rings(struct weft_fbuf *fbuf, uint32_t *sizes_left_out,
                         const struct weft_network *network, bool strict, struct weft_arena *arena,
                         struct weft_arena scratch)
{
    uint32_t n = network->fabric.server_count;
    struct ring_size *sizes = WEFT_NEW(&scratch, struct ring_size, (size_t)n + 1);
    const struct weft_ring_set *set = &network->rings;
    for (uint32_t r = 0; r < set->ring_count;) {
        uint32_t end = r;
        while (end < set->ring_count && set->rings[end].group == set->rings[r].group) {
            end++;
        }
        take_group(sizes, set->rings + r, end - r, &network->fabric, &scratch);
        sizes[set->rings[r].member_count].usable &=
            !strict || is_everybody(&fbuf->graph, set->rings[r].group);
        r = end;
    }
    publish_rings(fbuf, sizes_left_out, sizes, n, arena);
}

// Whether flows divide over several paths of a pair: in the format each picks one.
static bool divides(const struct weft_fbuf *fbuf, const struct weft_routes *routes)
{
    const uint32_t *first = fbuf->path_node_first;
    for (uint32_t p = 1; p < fbuf->path_count && routes->spread == WEFT_SPREAD_SPLIT; p++) {
        if (fbuf->path_nodes[first[p - 1]] == fbuf->path_nodes[first[p]] &&
            fbuf->path_nodes[first[p] - 1] == fbuf->path_nodes[first[p + 1] - 1]) {
            return true;
        }
    }
    return false;
}

static bool export_plan(struct weft_fbuf *fbuf, uint32_t *sizes_left_out,
                        const struct weft_plan *plan, const struct weft_taskgraph *graph,
                        bool strict, const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    const struct weft_network *network = &plan->network;
    const struct weft_fabric *fabric = &network->fabric;
    if (graph->server_count != fabric->server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "the task graph has %u servers, the plan %u; plan for as many as it has",
                         graph->server_count, fabric->server_count);
    }
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const struct weft_link *link = &fabric->links[i];
        double off = link->rate_Bps / (link->width * plan->cluster.rate_Bps) - 1;
        if (off > 1e-9 || off < -1e-9) {
            return weft_fail(error, WEFT_INPUT,
                             "link %u (%u to %u) has another rate than the cluster; the format has "
                             "one rate",
                             i, link->from, link->to);
        }
    }
    struct weft_fbuf built = {
        .graph = *graph,
        .node_count = fabric->node_count,
        .link_count = fabric->link_count,
        .links = fabric->links,
        .rate_Bps = plan->cluster.rate_Bps,
    };
    if (!export_paths(&built, &network->routes, fabric->server_count, arena, scratch, error)) {
        return false;
    }
    export_rings(&built, sizes_left_out, network, strict, arena, scratch);
    if (!strict && (*sizes_left_out > 0 || divides(&built, &network->routes))) {
        weft_fbuf_pack_rings(&built, network, arena);
    }
    *fbuf = built;
    return true;
}

bool weft_export_fbuf(struct weft_fbuf *fbuf, uint32_t *sizes_left_out,
                      const struct weft_plan *plan, const struct weft_taskgraph *graph,
                      const struct weft_environment *environment)
{
    return export_plan(fbuf, sizes_left_out, plan, graph, false, environment);
}

bool weft_export_fbuf_strict(struct weft_fbuf *fbuf, uint32_t *sizes_left_out,
                             const struct weft_plan *plan, const struct weft_taskgraph *graph,
                             const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    uint8_t *kind = WEFT_NEW_RAW(arena, uint8_t, graph->task_count);
    uint64_t *size_bytes = WEFT_NEW_RAW(arena, uint64_t, graph->task_count);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bool collective = weft_task_is_collective(graph, t);
        bool half = collective && graph->kind[t] != WEFT_TASK_ALLREDUCE;
        if (collective && graph->next_first[t] < graph->next_first[t + 1]) {
            return weft_fail(environment->error, WEFT_UNSUPPORTED,
                             "task %u waits for task %u, an %s: the authors' format has nothing "
                             "behind collectives, and their simulator would start it at once",
                             graph->next[graph->next_first[t]], t,
                             weft_task_facts[graph->kind[t]].name);
        }
        // Their simulator throws at a COMM on a GPU; an update holds it as long.
        kind[t] = half                                ? WEFT_TASK_ALLREDUCE
                  : graph->kind[t] == WEFT_TASK_LOCAL ? WEFT_TASK_UPDATE
                                                      : graph->kind[t];
        size_bytes[t] = graph->size_bytes[t] - (half ? graph->size_bytes[t] / 2 : 0);
    }
    struct weft_taskgraph plain = *graph;
    plain.kind = kind;
    plain.size_bytes = size_bytes;
    return export_plan(fbuf, sizes_left_out, plan, &plain, true, environment);
}
