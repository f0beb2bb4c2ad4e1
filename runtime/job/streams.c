// SPDX-License-Identifier: Apache-2.0
// Over which connections a program's bytes go: the streams of rings and of transfers.
//
// A stream is made when the first ring or transfer needs its path, and shared by all that take the
// same path between the same servers. Transfers are divided over the paths of their pair as the
// routes say, and over parallel cables evenly, so that real bytes go where the plan's go.

#include "program_private.h"

// ---- streams ----

static bool same_addresses(const struct lab_stream *a, const struct lab_stream *b)
{
    return a->to_ip == b->to_ip && a->from_ip == b->from_ip;
}

// The links that bytes take, and which of parallel cables.
struct path {
    const uint32_t *links;
    uint32_t link_count;
    uint32_t lane; // of parallel cables
};

static bool find_stream(uint32_t *stream, struct lab_compiler *compiler, uint32_t from, uint32_t to,
                        const struct path *path, struct weft_error *error)
{
    struct lab_stream made = {.from = from, .to = to};
    compiler->options->address(compiler->options->context, &made, path->links, path->link_count,
                               path->lane);
    uint32_t *first = &compiler->pair_stream[(size_t)from * compiler->server_count + to];
    for (uint32_t i = *first; i != WEFT_NONE; i = compiler->stream_next[i]) {
        if (same_addresses(&compiler->streams[i], &made)) {
            *stream = i;
            return true;
        }
    }
    if (compiler->stream_count == LAB_STREAMS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED, "the task graph needs more than %u connections",
                         LAB_STREAMS_MAX);
    }
    uint32_t index = compiler->stream_count++;
    compiler->streams[index] = made;
    compiler->stream_next[index] = *first;
    *first = index;
    *stream = index;
    return true;
}

static bool check_route(const struct weft_routes *routes, uint32_t from, uint32_t to,
                        struct weft_error *error)
{
    return weft_routes_path_count(routes, from, to) > 0 ||
           weft_fail(error, WEFT_INPUT, "servers %u and %u: no route joins them", from, to);
}

bool lab_compiler_route(uint32_t *stream, struct lab_compiler *compiler,
                        const struct lab_path_choice *choice, struct weft_error *error)
{
    const struct weft_routes *routes = &compiler->options->network->routes;
    uint32_t from = choice->from;
    uint32_t to = choice->to;
    if (!check_route(routes, from, to, error)) {
        return false;
    }
    uint32_t count = weft_routes_path(routes, from, to, choice->path, compiler->links, NULL);
    const struct path path = {compiler->links, count, choice->lane};
    return find_stream(stream, compiler, from, to, &path, error);
}

// ---- bytes ----

// Parallel cables of a path of one hop; 1 for all others.
static uint32_t lanes_of(const struct lab_compiler *compiler, const uint32_t *links, uint32_t count)
{
    uint32_t width = count == 1 ? compiler->options->network->fabric.links[links[0]].width : 1;
    return width > 1 && !compiler->options->one_lane ? width : 1;
}

struct chunk_list {
    struct lab_chunk *chunks;
    uint32_t count;
};

// One path's bytes of a transfer.
static bool add_chunks(struct chunk_list *list, struct lab_compiler *compiler, uint32_t task,
                       uint32_t path, uint64_t bytes, struct weft_error *error)
{
    const struct weft_taskgraph *graph = compiler->graph;
    uint32_t from = graph->from[task];
    uint32_t to = graph->to[task];
    uint32_t hops = weft_routes_path(&compiler->options->network->routes, from, to, path,
                                     compiler->links, NULL);
    uint32_t lanes = lanes_of(compiler, compiler->links, hops);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint64_t share = bytes * (lane + 1) / lanes - bytes * lane / lanes;
        uint32_t stream = 0;
        const struct lab_path_choice choice = {from, to, path, lane};
        if (!lab_compiler_route(&stream, compiler, &choice, error)) {
            return false;
        }
        if (share > 0) {
            list->chunks[list->count++] = (struct lab_chunk){stream, share};
        }
    }
    return true;
}

// A transfer's bytes over the paths of its pair: all over one where the routes pick one for each
// transfer, by a hash of its number; else by the paths' weights, the last one taking what is left.
static bool divide_transfer(struct chunk_list *list, struct lab_compiler *compiler, uint32_t task,
                            struct weft_error *error)
{
    const struct weft_taskgraph *graph = compiler->graph;
    const struct weft_routes *routes = &compiler->options->network->routes;
    uint32_t from = graph->from[task];
    uint32_t to = graph->to[task];
    if (!check_route(routes, from, to, error)) {
        return false;
    }
    uint32_t paths = weft_routes_path_count(routes, from, to);
    uint64_t left = graph->size_bytes[task];
    if (routes->spread == WEFT_SPREAD_PICK && paths > 1) {
        uint64_t hash = weft_hash(compiler->options->seed ^ weft_hash(task));
        uint32_t path = weft_routes_pick(routes, from, to, hash);
        return add_chunks(list, compiler, task, path, left, error);
    }
    for (uint32_t p = 0; p < paths && left > 0; p++) {
        double weight = 1;
        weft_routes_path(routes, from, to, p, compiler->links, &weight);
        uint64_t bytes = (uint64_t)(weight * (double)graph->size_bytes[task] + 0.5);
        bytes = p + 1 == paths || bytes > left ? left : bytes;
        left -= bytes;
        if (bytes > 0 && !add_chunks(list, compiler, task, p, bytes, error)) {
            return false;
        }
    }
    return true;
}

// Chunks of all transfers, in order of tasks; the receiving operation counts as many as the sending
// one sends.
bool lab_compiler_transfers(struct lab_program *program, struct lab_compiler *compiler,
                            struct weft_error *error)
{
    const struct weft_taskgraph *graph = compiler->graph;
    const struct weft_routes *routes = &compiler->options->network->routes;
    size_t room = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] == WEFT_TASK_TRANSFER) {
            room += (size_t)weft_routes_path_count(routes, graph->from[t], graph->to[t]) *
                        compiler->width_max +
                    1;
        }
    }
    struct chunk_list list = {WEFT_NEW(compiler->arena, struct lab_chunk, room + 1), 0};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] != WEFT_TASK_TRANSFER) {
            continue;
        }
        struct lab_operation *send = &compiler->operations[compiler->task_operation[t]];
        send->chunk_first = list.count;
        if (!divide_transfer(&list, compiler, t, error)) {
            return false;
        }
        send->chunk_count = list.count - send->chunk_first;
        send[1].chunk_count = send->chunk_count;
    }
    program->chunks = list.chunks;
    return true;
}

// ---- rings ----

// Links from member i of a ring to its next; false: no route.
static bool hop_path(struct path *path, struct lab_compiler *compiler, const struct weft_ring *ring,
                     uint32_t i, struct weft_error *error)
{
    const struct weft_routes *routes = &compiler->options->network->routes;
    uint32_t from = ring->members[i];
    uint32_t to = ring->members[(i + 1) % ring->member_count];
    if (ring->hop_first != NULL) {
        uint32_t first = ring->hop_first[i];
        *path = (struct path){ring->hop_links + first, ring->hop_first[i + 1] - first, 0};
        return true;
    }
    if (!check_route(routes, from, to, error)) {
        return false;
    }
    uint32_t count = weft_routes_path(routes, from, to, 0, compiler->links, NULL);
    *path = (struct path){compiler->links, count, 0};
    return true;
}

// The ring's lane-th part; *lane_max becomes the most parallel cables of a hop.
static bool build_ring(struct lab_ring *ring, struct lab_compiler *compiler,
                       const struct weft_ring *given, uint32_t lane, uint32_t *lane_max,
                       struct weft_error *error)
{
    uint32_t *streams = WEFT_NEW(compiler->arena, uint32_t, (size_t)given->member_count + 1);
    for (uint32_t i = 0; i < given->member_count && given->member_count > 1; i++) {
        struct path path = {NULL, 0, 0};
        if (!hop_path(&path, compiler, given, i, error)) {
            return false;
        }
        uint32_t lanes = lanes_of(compiler, path.links, path.link_count);
        *lane_max = lanes > *lane_max ? lanes : *lane_max;
        path.lane = lane % lanes;
        if (!find_stream(&streams[i], compiler, given->members[i],
                         given->members[(i + 1) % given->member_count], &path, error)) {
            return false;
        }
    }
    *ring = (struct lab_ring){given->member_count, given->share_ratio, given->members, streams};
    return true;
}

// A ring with hops of parallel cables becomes as many rings as the widest hop has cables, each with
// an equal part of its share.
static bool add_rings(struct lab_ring *rings, uint32_t *count, struct lab_compiler *compiler,
                      const struct weft_ring *given, struct weft_error *error)
{
    uint32_t first = *count;
    uint32_t lanes = 1;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (!build_ring(&rings[(*count)++], compiler, given, lane, &lanes, error)) {
            return false;
        }
    }
    for (uint32_t i = first; i < *count; i++) {
        rings[i].share_ratio /= lanes;
    }
    return true;
}

// Rings of all groups, as the plan has them; a group without one gets the ring in order of its
// members. The plan's rings come sorted by group.
bool lab_compiler_rings(struct lab_program *program, struct lab_compiler *compiler,
                        struct weft_error *error)
{
    const struct weft_taskgraph *graph = compiler->graph;
    const struct weft_ring_set *set = compiler->options->rings;
    size_t room = ((size_t)graph->group_count + set->ring_count) * compiler->width_max;
    uint32_t *first = WEFT_NEW(compiler->arena, uint32_t, (size_t)graph->group_count + 1);
    struct lab_ring *rings = WEFT_NEW(compiler->arena, struct lab_ring, room + 1);
    uint32_t count = 0;
    uint32_t next = 0;
    for (uint32_t g = 0; g < graph->group_count; g++) {
        first[g] = count;
        while (next < set->ring_count && set->rings[next].group < g) {
            next++;
        }
        for (; next < set->ring_count && set->rings[next].group == g; next++) {
            if (!add_rings(rings, &count, compiler, &set->rings[next], error)) {
                return false;
            }
        }
        const struct weft_ring own = {
            .member_count = graph->group_first[g + 1] - graph->group_first[g],
            .members = graph->group_members + graph->group_first[g],
            .share_ratio = 1,
        };
        if (first[g] == count && !add_rings(rings, &count, compiler, &own, error)) {
            return false;
        }
    }
    first[graph->group_count] = count;
    program->ring_first = first;
    program->rings = rings;
    return true;
}
