// SPDX-License-Identifier: Apache-2.0
// TopoOpt task graphs in: connections, routes and ring descriptors.
//
// A file in which no connection has its reverse means every one for both directions, as the
// authors' simulator has it. Weights of a pair's paths are its chances. O(connections + nodes
// of paths + jumps).

#include "fbuf.h"
#include "format/syntax/idmap.h"

#include <inttypes.h>
#include <math.h>

// ---- connections ----

// Reads a connection between two different nodes: its cables become the width of one link.
static bool read_connection(struct weft_link *link, const struct weft_fbuf_reader *reader,
                            const struct weft_flatbuf_vector *vector, uint32_t index)
{
    const struct weft_flatbuf *flatbuf = &reader->flatbuf;
    struct weft_flatbuf_table table;
    if (!weft_flatbuf_element(&table, flatbuf, vector, index, &weft_fbuf_connection_layout,
                              reader->error)) {
        return false;
    }
    uint32_t from = weft_flatbuf_u32(flatbuf, &table, CONNECTION_FROM);
    uint32_t to = weft_flatbuf_u32(flatbuf, &table, CONNECTION_TO);
    uint32_t width = weft_flatbuf_u32(flatbuf, &table, CONNECTION_COUNT);
    if (from >= reader->node_count || to >= reader->node_count || from == to) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "joins node %u to %u; join two different nodes of 0 to %u", from, to,
                         reader->node_count - 1);
    }
    if (width == 0 || width > WEFT_FBUF_CABLES_MAX) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "has %u cables; give nconn 1 to %u, or leave the connection out", width,
                         WEFT_FBUF_CABLES_MAX);
    }
    *link = (struct weft_link){.from = from,
                               .to = to,
                               .rate_Bps = width * reader->rate_Bps,
                               .latency_ps = WEFT_FBUF_LATENCY_PS,
                               .width = width};
    return true;
}

static uint64_t pair_key(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}

// Reads the connections; *mutual tells whether any has its reverse beside it.
static bool read_listed(struct weft_link *links, bool *mutual, struct weft_fbuf_reader *reader,
                        const struct weft_flatbuf_vector *vector)
{
    struct weft_arena scratch = *reader->scratch;
    struct weft_idmap pairs;
    weft_idmap_init(&pairs, vector->count, &scratch);
    *mutual = false;
    for (uint32_t i = 0; i < vector->count; i++) {
        if (!read_connection(&links[i], reader, vector, i)) {
            return weft_wrap(reader->error, "connection %u", i);
        }
        uint32_t present = WEFT_NONE;
        switch (weft_idmap_add(&pairs, pair_key(links[i].from, links[i].to), i, &present)) {
        case WEFT_IDMAP_PRESENT:
            return weft_fail(reader->error, WEFT_INPUT,
                             "connection %u: joins node %u to %u like connection %u; add its "
                             "cables to that one's nconn",
                             i, links[i].from, links[i].to, present);
        case WEFT_IDMAP_CROWDED:
            return weft_fail(reader->error, WEFT_INPUT,
                             "connection %u: too many connections collide; list them by node", i);
        case WEFT_IDMAP_ADDED:
            break;
        }
        *mutual =
            *mutual || weft_idmap_find(&pairs, pair_key(links[i].to, links[i].from)) != WEFT_NONE;
    }
    return true;
}

// Reads the connections. Where none has its reverse, each stands for both directions and is
// doubled.
static bool read_connections(struct weft_fbuf *fbuf, struct weft_fbuf_reader *reader)
{
    struct weft_flatbuf_vector vector;
    if (!weft_flatbuf_vector(&vector, &reader->flatbuf, &reader->root, ROOT_CONNECTIONS, 4,
                             reader->error)) {
        return weft_wrap(reader->error, "connections");
    }
    struct weft_link *listed = WEFT_NEW_RAW(reader->scratch, struct weft_link, vector.count);
    bool mutual;
    if (!read_listed(listed, &mutual, reader, &vector)) {
        return false;
    }
    size_t copies = mutual ? 1 : 2;
    struct weft_link *links = WEFT_NEW_RAW(reader->arena, struct weft_link, vector.count * copies);
    for (uint32_t i = 0; i < vector.count; i++) {
        links[copies * i] = listed[i];
        if (!mutual) {
            struct weft_link *reverse = &links[copies * i + 1];
            *reverse = listed[i];
            reverse->from = listed[i].to;
            reverse->to = listed[i].from;
        }
    }
    fbuf->links = links;
    fbuf->link_count = (uint32_t)(vector.count * copies);
    return true;
}

// ---- routes ----

// Paths in the file's order; nodes of path p are nodes[first[p] .. first[p+1]-1].
struct path_list {
    uint32_t count;
    uint32_t *first;
    uint32_t *nodes;
    double *weights;
};

// Reads one path of a route: its nodes, both ends included, and its chance as weight. Whether
// its links are there is checked when the network is built.
static bool read_path(struct path_list *paths, struct weft_fbuf_reader *reader,
                      const struct weft_flatbuf_vector *vector, uint32_t index, uint32_t from,
                      uint32_t to)
{
    struct weft_flatbuf_table table;
    struct weft_flatbuf_vector hops;
    if (!weft_flatbuf_element(&table, &reader->flatbuf, vector, index, &weft_fbuf_path_layout,
                              reader->error) ||
        !weft_flatbuf_vector(&hops, &reader->flatbuf, &table, PATH_HOPS, 4, reader->error)) {
        return weft_wrap(reader->error, "path %u", index);
    }
    double chance = (double)weft_flatbuf_float(&reader->flatbuf, &table, PATH_CHANCE);
    if (!isfinite(chance) || chance < 0) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "path %u: %g is no chance; write a positive number", index, chance);
    }
    uint32_t first = paths->first[paths->count];
    for (uint32_t i = 0; i < hops.count; i++) {
        uint32_t node = weft_flatbuf_u32_at(&reader->flatbuf, hops.at + 4 * (size_t)i);
        if (node >= reader->node_count) {
            return weft_fail(reader->error, WEFT_INPUT,
                             "path %u: passes node %u, but nodes are 0 to %u", index, node,
                             reader->node_count - 1);
        }
        paths->nodes[first + i] = node;
    }
    if (hops.count < 2 || paths->nodes[first] != from ||
        paths->nodes[first + hops.count - 1] != to) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "path %u: does not lead from node %u to %u; list every node, both ends "
                         "included",
                         index, from, to);
    }
    paths->weights[paths->count] = chance;
    paths->first[++paths->count] = first + hops.count;
    return true;
}

// Chances that are all 0 were not stated: the paths are equal.
static bool complete_chances(double *weights, uint32_t count, struct weft_error *error)
{
    uint32_t zero_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        zero_count += weights[i] == 0 ? 1 : 0;
    }
    if (zero_count != 0 && zero_count != count) {
        return weft_fail(error, WEFT_INPUT,
                         "%u of its %u paths have chance 0; leave them out or give every path one",
                         zero_count, count);
    }
    for (uint32_t i = 0; i < count && zero_count == count; i++) {
        weights[i] = 1;
    }
    return true;
}

// Reads the paths of a pair of nodes. Pairs of which one is a switch, and servers with themselves,
// are passed over, since no transfer takes them.
static bool read_route(struct path_list *paths, struct weft_fbuf_reader *reader,
                       const struct weft_flatbuf_vector *vector, uint32_t index)
{
    struct weft_flatbuf_table table;
    if (!weft_flatbuf_element(&table, &reader->flatbuf, vector, index, &weft_fbuf_route_layout,
                              reader->error)) {
        return false;
    }
    uint32_t from = weft_flatbuf_u32(&reader->flatbuf, &table, ROUTE_FROM);
    uint32_t to = weft_flatbuf_u32(&reader->flatbuf, &table, ROUTE_TO);
    if (from >= reader->node_count || to >= reader->node_count) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "leads from node %u to %u, but nodes are 0 to %u", from, to,
                         reader->node_count - 1);
    }
    if (from == to || from >= reader->server_count || to >= reader->server_count) {
        return true; // nothing that servers send takes it
    }
    struct weft_flatbuf_vector list;
    if (!weft_flatbuf_vector(&list, &reader->flatbuf, &table, ROUTE_PATHS, 4, reader->error)) {
        return weft_wrap(reader->error, "paths");
    }
    uint32_t first = paths->count;
    for (uint32_t i = 0; i < list.count; i++) {
        if (!read_path(paths, reader, &list, i, from, to)) {
            return false;
        }
    }
    return complete_chances(paths->weights + first, paths->count - first, reader->error);
}

// Puts `order` stably in the order of the paths' first node (end = false) or last node (true).
static void sort_by_end(uint32_t *order, const uint32_t *source, const struct path_list *paths,
                        uint32_t server_count, bool end, struct weft_arena scratch)
{
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, (size_t)server_count + 1);
    for (uint32_t p = 0; p < paths->count; p++) {
        first[paths->nodes[end ? paths->first[p + 1] - 1 : paths->first[p]] + 1]++;
    }
    for (uint32_t s = 0; s < server_count; s++) {
        first[s + 1] += first[s];
    }
    for (uint32_t i = 0; i < paths->count; i++) {
        uint32_t p = source[i];
        order[first[paths->nodes[end ? paths->first[p + 1] - 1 : paths->first[p]]]++] = p;
    }
}

// The paths by pair, those of one pair as the file has them.
static void publish_paths(struct weft_fbuf *fbuf, const struct path_list *paths,
                          const struct weft_fbuf_reader *reader)
{
    struct weft_arena scratch = *reader->scratch;
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, paths->count);
    uint32_t *swap = WEFT_NEW_RAW(&scratch, uint32_t, paths->count);
    for (uint32_t p = 0; p < paths->count; p++) {
        order[p] = p;
    }
    sort_by_end(swap, order, paths, reader->server_count, true, scratch);
    sort_by_end(order, swap, paths, reader->server_count, false, scratch);

    uint32_t *first = WEFT_NEW(reader->arena, uint32_t, (size_t)paths->count + 1);
    uint32_t *nodes = WEFT_NEW_RAW(reader->arena, uint32_t, paths->first[paths->count]);
    double *weights = WEFT_NEW_RAW(reader->arena, double, paths->count);
    for (uint32_t i = 0; i < paths->count; i++) {
        uint32_t p = order[i];
        uint32_t length = paths->first[p + 1] - paths->first[p];
        memcpy(nodes + first[i], paths->nodes + paths->first[p], sizeof *nodes * length);
        first[i + 1] = first[i] + length;
        weights[i] = paths->weights[p];
    }
    fbuf->path_count = paths->count;
    fbuf->path_node_first = first;
    fbuf->path_nodes = nodes;
    fbuf->path_weights = weights;
}

static bool read_routes(struct weft_fbuf *fbuf, struct weft_fbuf_reader *reader)
{
    struct weft_flatbuf_vector vector;
    if (!weft_flatbuf_vector(&vector, &reader->flatbuf, &reader->root, ROOT_ROUTES, 4,
                             reader->error)) {
        return weft_wrap(reader->error, "routes");
    }
    // Every path and every node takes 4 bytes of the file at least; pages are used when touched.
    struct weft_arena kept = *reader->scratch;
    size_t most = reader->flatbuf.budget_bytes / 4;
    struct path_list paths = {
        .first = WEFT_NEW_RAW(reader->scratch, uint32_t, most + 1),
        .nodes = WEFT_NEW_RAW(reader->scratch, uint32_t, most),
        .weights = WEFT_NEW_RAW(reader->scratch, double, most),
    };
    paths.first[0] = 0;
    for (uint32_t i = 0; i < vector.count; i++) {
        if (!read_route(&paths, reader, &vector, i)) {
            return weft_wrap(reader->error, "route %u", i);
        }
    }
    publish_paths(fbuf, &paths, reader);
    *reader->scratch = kept;
    return true;
}

// ---- rings ----

struct ring_list {
    uint64_t *sizes;
    uint32_t *first;
    uint32_t *jump_first;
    int32_t *jumps;
    uint32_t descriptor_count;
};

static bool read_descriptor(struct ring_list *list, struct weft_fbuf_reader *reader,
                            const struct weft_flatbuf_vector *vector, uint32_t index)
{
    struct weft_flatbuf_table table;
    struct weft_flatbuf_vector jumps;
    if (!weft_flatbuf_element(&table, &reader->flatbuf, vector, index, &weft_fbuf_descriptor_layout,
                              reader->error) ||
        !weft_flatbuf_vector(&jumps, &reader->flatbuf, &table, DESCRIPTOR_JUMPS, 4,
                             reader->error)) {
        return weft_wrap(reader->error, "descriptor %u", index);
    }
    uint32_t first = list->jump_first[list->descriptor_count];
    for (uint32_t i = 0; i < jumps.count; i++) {
        list->jumps[first + i] =
            (int32_t)weft_flatbuf_u32_at(&reader->flatbuf, jumps.at + 4 * (size_t)i);
    }
    list->jump_first[++list->descriptor_count] = first + jumps.count;
    return true;
}

static bool read_ring_size(struct ring_list *list, struct weft_fbuf_reader *reader,
                           const struct weft_flatbuf_vector *vector, uint32_t index)
{
    struct weft_flatbuf_table table;
    struct weft_flatbuf_vector descriptors;
    if (!weft_flatbuf_element(&table, &reader->flatbuf, vector, index, &weft_fbuf_rings_layout,
                              reader->error) ||
        !weft_flatbuf_vector(&descriptors, &reader->flatbuf, &table, RINGS_DESCRIPTORS, 4,
                             reader->error)) {
        return false;
    }
    list->sizes[index] = weft_flatbuf_u64(&reader->flatbuf, &table, RINGS_SIZE);
    for (uint32_t i = 0; i < descriptors.count; i++) {
        if (!read_descriptor(list, reader, &descriptors, i)) {
            return false;
        }
    }
    list->first[index + 1] = list->descriptor_count;
    return true;
}

// Reads the descriptors of all ring sizes. How many jumps there are is known only at the end,
// so they are gathered in scratch memory that the file's length bounds.
static bool read_rings(struct weft_fbuf *fbuf, struct weft_fbuf_reader *reader)
{
    struct weft_flatbuf_vector vector;
    if (!weft_flatbuf_vector(&vector, &reader->flatbuf, &reader->root, ROOT_RINGS, 4,
                             reader->error)) {
        return weft_wrap(reader->error, "rings");
    }
    struct weft_arena scratch = *reader->scratch;
    size_t most = reader->flatbuf.budget_bytes / 4;
    struct ring_list list = {
        .sizes = WEFT_NEW_RAW(reader->arena, uint64_t, vector.count),
        .first = WEFT_NEW(reader->arena, uint32_t, (size_t)vector.count + 1),
        .jump_first = WEFT_NEW_RAW(&scratch, uint32_t, most + 1),
        .jumps = WEFT_NEW_RAW(&scratch, int32_t, most),
    };
    list.jump_first[0] = 0;
    struct weft_idmap sizes;
    weft_idmap_init(&sizes, vector.count, &scratch);
    for (uint32_t i = 0; i < vector.count; i++) {
        if (!read_ring_size(&list, reader, &vector, i)) {
            return weft_wrap(reader->error, "rings %u", i);
        }
        uint32_t present = WEFT_NONE;
        if (weft_idmap_add(&sizes, list.sizes[i], i, &present) != WEFT_IDMAP_ADDED) {
            return weft_fail(reader->error, WEFT_INPUT,
                             "rings %u: ring size %" PRIu64 " stands there twice; list all its "
                             "descriptors once",
                             i, list.sizes[i]);
        }
    }
    uint32_t jump_count = list.jump_first[list.descriptor_count];
    uint32_t *jump_first = WEFT_NEW_RAW(reader->arena, uint32_t, (size_t)list.descriptor_count + 1);
    int32_t *jumps = WEFT_NEW_RAW(reader->arena, int32_t, jump_count);
    memcpy(jump_first, list.jump_first, sizeof *jump_first * ((size_t)list.descriptor_count + 1));
    memcpy(jumps, list.jumps, sizeof *jumps * jump_count);
    fbuf->ring_size_count = vector.count;
    fbuf->ring_sizes = list.sizes;
    fbuf->ring_first = list.first;
    fbuf->descriptor_count = list.descriptor_count;
    fbuf->jump_first = jump_first;
    fbuf->jumps = jumps;
    return true;
}

bool weft_fbuf_read_topology(struct weft_fbuf *fbuf, struct weft_fbuf_reader *reader)
{
    return read_connections(fbuf, reader) && read_routes(fbuf, reader) && read_rings(fbuf, reader);
}
