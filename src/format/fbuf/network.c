// SPDX-License-Identifier: Apache-2.0
// The network inside a TopoOpt task graph: fabric, routes, and rings from jump descriptors.
//
// A descriptor names no servers: from each member of a group its jumps, summed modulo the
// number of servers, are walked over the links until they close into one ring over the group.
// O(links + paths * hops + members of rings * jumps).

#include "fbuf.h"

#include <inttypes.h>
#include <math.h>

// Links of all rings together. A thousand servers in a hundred groups with eight rings each take a
// few million; a small hostile file could ask for far more.
#define RING_LINKS_MAX ((uint64_t)1 << 26)

// Where the rings of one network are traced.
struct tracer {
    const struct weft_fbuf *fbuf;
    const struct weft_fabric *fabric;
    uint32_t *member_of;  // per server: the last group that has it, plus one
    uint32_t *visited_by; // per server: the last ring that came by, plus one
    uint32_t ring_count;
    uint32_t entry; // of the file's rings that is being traced
    struct weft_arena *arena;
    struct weft_error *error;
};

static struct weft_parts count_parts(const struct weft_fabric *fabric, double rate_Bps,
                                     struct weft_arena scratch)
{
    if (fabric->node_count == fabric->server_count) {
        return weft_fabric_direct_parts(fabric, rate_Bps, WEFT_CABLING_PATCH_PANEL, scratch);
    }
    struct weft_parts parts = {.rate_Bps = rate_Bps};
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const struct weft_link *link = &fabric->links[i];
        *(link->from < fabric->server_count ? &parts.nics : &parts.switch_ports) += link->width;
    }
    parts.transceivers = parts.nics + parts.switch_ports;
    return parts;
}

// Builds the fabric of the file's links at the given rate of a port (0 = the one that the file
// states); fails where the file holds no links or no rate.
static bool build_fabric(struct weft_fabric *fabric, const struct weft_fbuf *fbuf, double rate_Bps,
                         struct weft_arena *arena, struct weft_arena scratch,
                         struct weft_error *error)
{
    double own_Bps = rate_Bps > 0 ? rate_Bps : fbuf->rate_Bps;
    if (fbuf->link_count == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "the file holds no topology; choose a reference fabric instead");
    }
    if (!(own_Bps > 0)) {
        return weft_fail(error, WEFT_INPUT, "the file states no network rate; give one");
    }
    struct weft_link *links = WEFT_NEW_RAW(&scratch, struct weft_link, fbuf->link_count);
    for (uint32_t i = 0; i < fbuf->link_count; i++) {
        links[i] = fbuf->links[i];
        links[i].rate_Bps = links[i].width * own_Bps;
    }
    if (!weft_fabric_build(fabric,
                           &(struct weft_fabric_links){"file", fbuf->graph.server_count,
                                                       fbuf->node_count, links, fbuf->link_count},
                           arena, error)) {
        return false;
    }
    fabric->parts = count_parts(fabric, own_Bps, scratch);
    return true;
}

// ---- rings ----

static uint32_t group_size(const struct weft_taskgraph *graph, uint32_t group)
{
    return graph->group_first[group + 1] - graph->group_first[group];
}

static bool fail_ring(struct tracer *tracer, uint32_t group, uint32_t descriptor, const char *what,
                      uint32_t from, uint32_t to)
{
    uint32_t size = group_size(&tracer->fbuf->graph, group);
    uint32_t entry = tracer->entry;
    return weft_fail(tracer->error, WEFT_INPUT,
                     "rings %u: descriptor %u: for the group of %u that begins with server %u: "
                     "from server %u it %s server %u",
                     entry, descriptor - tracer->fbuf->ring_first[entry], size,
                     tracer->fbuf->graph.group_members[tracer->fbuf->graph.group_first[group]],
                     from, what, to);
}

// Follows one member's jumps; the links go to hop_links and the server reached to *landing.
static bool trace_hop(uint32_t *landing, uint32_t *hop_links, struct tracer *tracer, uint32_t group,
                      uint32_t descriptor, uint32_t from)
{
    const struct weft_fbuf *fbuf = tracer->fbuf;
    int64_t n = fbuf->graph.server_count;
    uint32_t node = from;
    for (uint32_t j = fbuf->jump_first[descriptor]; j < fbuf->jump_first[descriptor + 1]; j++) {
        uint32_t next = (uint32_t)((((int64_t)node + fbuf->jumps[j]) % n + n) % n);
        uint32_t link = weft_fabric_find_link(tracer->fabric, node, next);
        if (link == WEFT_NONE) {
            return fail_ring(tracer, group, descriptor, "takes a link that is not there, to", node,
                             next);
        }
        *hop_links++ = link;
        node = next;
    }
    *landing = node;
    return true;
}

// Traces one descriptor from the group's first member until it is back there.
static bool trace_ring(struct weft_ring *ring, struct tracer *tracer, uint32_t group,
                       uint32_t descriptor)
{
    const struct weft_taskgraph *graph = &tracer->fbuf->graph;
    uint32_t size = group_size(graph, group);
    uint32_t jumps =
        tracer->fbuf->jump_first[descriptor + 1] - tracer->fbuf->jump_first[descriptor];
    uint32_t *members = WEFT_NEW_RAW(tracer->arena, uint32_t, size);
    uint32_t *hop_first = WEFT_NEW_RAW(tracer->arena, uint32_t, (size_t)size + 1);
    uint32_t *hop_links = WEFT_NEW_RAW(tracer->arena, uint32_t, (size_t)size * jumps);
    uint32_t stamp = ++tracer->ring_count;
    members[0] = graph->group_members[graph->group_first[group]];
    for (uint32_t i = 0; i < size; i++) {
        uint32_t landing = WEFT_NONE;
        hop_first[i] = i * jumps;
        if (!trace_hop(&landing, hop_links + hop_first[i], tracer, group, descriptor, members[i])) {
            return false;
        }
        tracer->visited_by[members[i]] = stamp;
        if (tracer->member_of[landing] != group + 1) {
            return fail_ring(tracer, group, descriptor, "lands on no member but", members[i],
                             landing);
        }
        bool closes = landing == members[0];
        if (closes != (i == size - 1) || (!closes && tracer->visited_by[landing] == stamp)) {
            return fail_ring(tracer, group, descriptor, "returns too early to", members[i],
                             landing);
        }
        if (i < size - 1) {
            members[i + 1] = landing;
        }
    }
    hop_first[size] = size * jumps;
    *ring = (struct weft_ring){
        .group = group,
        .member_count = size,
        .members = members,
        .hop_first = hop_first,
        .hop_links = hop_links,
    };
    return true;
}

// The rings of one group at rings[*count]; they share its bytes equally.
static bool trace_group(struct weft_ring *rings, uint32_t *count, struct tracer *tracer,
                        uint32_t group, uint32_t entry)
{
    const struct weft_taskgraph *graph = &tracer->fbuf->graph;
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        tracer->member_of[graph->group_members[i]] = group + 1;
    }
    uint32_t first = tracer->fbuf->ring_first[entry];
    uint32_t end = tracer->fbuf->ring_first[entry + 1];
    tracer->entry = entry;
    for (uint32_t descriptor = first; descriptor < end; descriptor++) {
        struct weft_ring *ring = &rings[*count + descriptor - first];
        if (!trace_ring(ring, tracer, group, descriptor)) {
            return false;
        }
        ring->share_ratio = 1.0 / (end - first);
    }
    *count += end - first;
    return true;
}

static double *sum_group_bytes(const struct weft_taskgraph *graph, struct weft_arena *arena)
{
    double *bytes = WEFT_NEW(arena, double, graph->group_count);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (weft_task_is_collective(graph, t)) {
            bytes[graph->group[t]] += (double)graph->size_bytes[t];
        }
    }
    return bytes;
}

// Chooses each group's entry of the file's rings and counts what tracing will take.
static bool choose_entries(uint32_t *entries, uint64_t *ring_count, const struct weft_fbuf *fbuf,
                           struct weft_arena scratch, struct weft_error *error)
{
    uint32_t *entry_of = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)fbuf->graph.server_count + 1);
    memset(entry_of, 0xff, sizeof *entry_of * ((size_t)fbuf->graph.server_count + 1)); // WEFT_NONE
    for (uint32_t r = 0; r < fbuf->ring_size_count; r++) {
        if (fbuf->ring_sizes[r] <= fbuf->graph.server_count) {
            entry_of[fbuf->ring_sizes[r]] = r;
        }
    }
    uint64_t link_count = 0;
    *ring_count = 0;
    for (uint32_t g = 0; g < fbuf->graph.group_count; g++) {
        uint32_t size = group_size(&fbuf->graph, g);
        entries[g] = size >= 2 ? entry_of[size] : WEFT_NONE;
        if (entries[g] == WEFT_NONE) {
            continue;
        }
        uint32_t first = fbuf->ring_first[entries[g]];
        uint32_t end = fbuf->ring_first[entries[g] + 1];
        uint64_t jumps = fbuf->jump_first[end] - fbuf->jump_first[first];
        link_count += size * (jumps + (end - first));
        *ring_count += end - first;
        if (link_count > RING_LINKS_MAX) {
            return weft_fail(error, WEFT_INPUT,
                             "rings %u: the rings of all groups take more than %" PRIu64
                             " links; list fewer descriptors or shorter ones",
                             entries[g], RING_LINKS_MAX);
        }
    }
    return true;
}

// Traces the rings of every group that has descriptors for its size. A group that moves no
// bytes may have descriptors that do not fit it; it gets no ring then.
static bool build_rings(struct weft_ring_set *set, const struct weft_fbuf *fbuf,
                        const struct weft_fabric *fabric, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_taskgraph *graph = &fbuf->graph;
    uint32_t *entries = WEFT_NEW_RAW(&scratch, uint32_t, graph->group_count);
    uint64_t most = 0;
    if (!choose_entries(entries, &most, fbuf, scratch, error)) {
        return false;
    }
    double *group_bytes = sum_group_bytes(graph, &scratch);
    struct weft_ring *rings = WEFT_NEW(arena, struct weft_ring, most);
    uint32_t count = 0;
    struct tracer tracer = {
        .fbuf = fbuf,
        .fabric = fabric,
        .member_of = WEFT_NEW(&scratch, uint32_t, graph->server_count),
        .visited_by = WEFT_NEW(&scratch, uint32_t, graph->server_count),
        .arena = arena,
        .error = error,
    };
    for (uint32_t g = 0; g < graph->group_count; g++) {
        if (entries[g] != WEFT_NONE && !trace_group(rings, &count, &tracer, g, entries[g]) &&
            group_bytes[g] > 0) {
            return false;
        }
    }
    *set = (struct weft_ring_set){count, rings};
    return true;
}

bool weft_fbuf_network(struct weft_network *network, const struct weft_fbuf *fbuf, double rate_Bps,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error)
{
    struct weft_fabric fabric = {0};
    struct weft_ring_set rings = {0};
    if (!build_fabric(&fabric, fbuf, rate_Bps, arena, scratch, error)) {
        return false;
    }
    if (fbuf->path_count == 0 && fabric.server_count > 1) {
        return weft_fail(error, WEFT_INPUT,
                         "the file holds connections but no routes; list a route for each pair");
    }
    bool own_rings = fbuf->ring_word_count > 0;
    if (own_rings ? !weft_fbuf_unpack_rings(&rings, fbuf, &fabric, arena, scratch, error)
                  : !build_rings(&rings, fbuf, &fabric, arena, scratch, error)) {
        return false;
    }
    *network = (struct weft_network){.fabric = fabric, .rings = rings};
    if (!weft_routes_build_table(&network->routes, &network->fabric,
                                 &(struct weft_route_table){fbuf->path_count, fbuf->path_node_first,
                                                            fbuf->path_nodes, fbuf->path_weights,
                                                            true},
                                 arena, scratch, error)) {
        return false;
    }
    if (own_rings && fbuf->ring_words[0] != 0) {
        network->routes.spread = WEFT_SPREAD_SPLIT;
    }
    return true;
}
