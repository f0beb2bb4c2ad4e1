// SPDX-License-Identifier: Apache-2.0
// Writing TopoOpt task graphs. Objects stand in the order of the schema, each after what refers to
// it; every table of a kind shares one vtable with all its fields, and no field is left out, so
// that the bytes depend on the value alone.

#include "fbuf.h"
#include "format/syntax/idmap.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

// A table's shape: where each field lies in it. Offsets are multiples of the field's size, counted
// from the table's start, which stands at a multiple of 8.
struct shape {
    uint32_t field_count;
    uint32_t table_bytes;
    uint8_t field_at[WEFT_FLATBUF_FIELDS_MAX];
};

static const struct shape task_shape = {TASK_FIELDS, 40, {36, 8, 16, 4, 24, 32}};
static const struct shape device_shape = {DEVICE_FIELDS, 40, {4, 8, 16, 24, 32}};
static const struct shape connection_shape = {CONNECTION_FIELDS, 16, {4, 8, 12}};
static const struct shape path_shape = {PATH_FIELDS, 16, {4, 8}};
static const struct shape route_shape = {ROUTE_FIELDS, 16, {4, 8, 12}};
static const struct shape descriptor_shape = {DESCRIPTOR_FIELDS, 8, {4}};
static const struct shape rings_shape = {RINGS_FIELDS, 24, {8, 16}};
static const struct shape root_shape = {
    ROOT_RINGS + 1, 56, {4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48}};
// The same with Weft's own fields, for a value that needs them.
static const struct shape extended_shape = {
    ROOT_FIELDS, 64, {4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60}};

struct writer {
    unsigned char *data;
    size_t length;
    size_t capacity;
    size_t vtable_at[9]; // of the shapes above, in that order
    const struct weft_fbuf *fbuf;
};

enum {
    SHAPE_TASK,
    SHAPE_DEVICE,
    SHAPE_CONNECTION,
    SHAPE_PATH,
    SHAPE_ROUTE,
    SHAPE_DESCRIPTOR,
    SHAPE_RINGS,
    SHAPE_ROOT,
    SHAPE_EXTENDED,
    SHAPE_COUNT
};
static const struct shape *const shapes[SHAPE_COUNT] = {
    &task_shape,       &device_shape, &connection_shape, &path_shape,     &route_shape,
    &descriptor_shape, &rings_shape,  &root_shape,       &extended_shape,
};

// ---- bytes ----

static size_t add_bytes(struct writer *writer, size_t count)
{
    WEFT_ASSERT(count <= writer->capacity - writer->length);
    size_t at = writer->length;
    memset(writer->data + at, 0, count);
    writer->length += count;
    return at;
}

// Pads until the next byte written stands at a multiple of 8, plus `rest`.
static void align(struct writer *writer, size_t rest)
{
    add_bytes(writer, (8 + rest - writer->length % 8) % 8);
}

static void put_u16(struct writer *writer, size_t at, uint32_t value)
{
    uint16_t little = htole16((uint16_t)value);
    memcpy(writer->data + at, &little, sizeof little);
}

static void put_u32(struct writer *writer, size_t at, uint32_t value)
{
    uint32_t little = htole32(value);
    memcpy(writer->data + at, &little, sizeof little);
}

static void put_u64(struct writer *writer, size_t at, uint64_t value)
{
    uint64_t little = htole64(value);
    memcpy(writer->data + at, &little, sizeof little);
}

static void put_float(struct writer *writer, size_t at, double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    put_u32(writer, at, bits);
}

// Makes the 4 bytes at `at` refer to what is written next.
static void refer(struct writer *writer, size_t at)
{
    put_u32(writer, at, (uint32_t)(writer->length - at));
}

// ---- objects ----

static void add_vtables(struct writer *writer, bool extended)
{
    uint32_t count = extended ? SHAPE_COUNT : SHAPE_EXTENDED;
    for (uint32_t s = 0; s < count; s++) {
        size_t at = add_bytes(writer, 4 + 2 * (size_t)shapes[s]->field_count);
        put_u16(writer, at, 4 + 2 * shapes[s]->field_count);
        put_u16(writer, at + 2, shapes[s]->table_bytes);
        for (uint32_t f = 0; f < shapes[s]->field_count; f++) {
            put_u16(writer, at + 4 + 2 * (size_t)f, shapes[s]->field_at[f]);
        }
        writer->vtable_at[s] = at;
    }
}

// Adds a table that the 4 bytes at `referrer` refer to; its fields are still 0.
static size_t add_table(struct writer *writer, uint32_t shape, size_t referrer)
{
    align(writer, 0);
    refer(writer, referrer);
    size_t at = add_bytes(writer, shapes[shape]->table_bytes);
    put_u32(writer, at, (uint32_t)(at - writer->vtable_at[shape]));
    return at;
}

// Adds a vector that a field refers to and returns where its first element stands.
static size_t add_vector(struct writer *writer, size_t table, uint32_t shape, uint32_t field,
                         uint32_t count, uint32_t element_bytes)
{
    align(writer, 4); // elements at a multiple of 8
    refer(writer, table + shapes[shape]->field_at[field]);
    size_t at = add_bytes(writer, 4 + (size_t)count * element_bytes);
    put_u32(writer, at, count);
    return at + 4;
}

#define FIELD(table, shape, field) ((table) + shapes[shape]->field_at[field])

// ---- devices and tasks ----

// Ids are numbers from 1: local devices first, then one network device for each pair in use.
struct pair_list {
    uint32_t count;
    uint64_t *properties;
    struct weft_idmap by_property;
};

static uint64_t property_of(const struct weft_fbuf *fbuf, uint32_t task)
{
    return (uint64_t)fbuf->graph.from[task] * fbuf->node_count + fbuf->graph.to[task];
}

static struct pair_list list_pairs(const struct weft_fbuf *fbuf, uint32_t transfer_count,
                                   struct weft_arena *arena)
{
    struct pair_list list = {.properties = WEFT_NEW_RAW(arena, uint64_t, transfer_count)};
    weft_idmap_init(&list.by_property, transfer_count, arena);
    for (uint32_t t = 0; t < fbuf->graph.task_count; t++) {
        if (fbuf->graph.kind[t] != WEFT_TASK_TRANSFER) {
            continue;
        }
        uint32_t present = WEFT_NONE;
        enum weft_idmap_outcome outcome =
            weft_idmap_add(&list.by_property, property_of(fbuf, t), list.count, &present);
        WEFT_ASSERT(outcome != WEFT_IDMAP_CROWDED); // a few small numbers cannot crowd
        if (outcome == WEFT_IDMAP_ADDED) {
            list.properties[list.count++] = property_of(fbuf, t);
        }
    }
    return list;
}

static void write_device(struct writer *writer, size_t referrer, uint32_t type, uint64_t id,
                         uint64_t node, uint64_t property)
{
    size_t table = add_table(writer, SHAPE_DEVICE, referrer);
    put_u16(writer, FIELD(table, SHAPE_DEVICE, DEVICE_TYPE), type);
    put_u64(writer, FIELD(table, SHAPE_DEVICE, DEVICE_ID), id);
    put_u64(writer, FIELD(table, SHAPE_DEVICE, DEVICE_NODE), node);
    put_u64(writer, FIELD(table, SHAPE_DEVICE, DEVICE_PROPERTY), property);
}

static void write_devices(struct writer *writer, size_t root, const struct pair_list *pairs)
{
    const struct weft_taskgraph *graph = &writer->fbuf->graph;
    uint32_t local_count = graph->device_count;
    size_t vector =
        add_vector(writer, root, SHAPE_ROOT, ROOT_DEVICES, local_count + pairs->count, 4);
    for (uint32_t d = 0; d < local_count; d++) {
        write_device(writer, vector + 4 * (size_t)d, FBUF_DEVICE_GPU, (uint64_t)d + 1,
                     graph->device_server[d], d);
    }
    for (uint32_t p = 0; p < pairs->count; p++) {
        uint64_t index = (uint64_t)local_count + p;
        write_device(writer, vector + 4 * index, FBUF_DEVICE_NOMINAL, index + 1, UINT64_MAX,
                     pairs->properties[p]);
    }
}

static void write_next(struct writer *writer, size_t table, uint32_t task)
{
    const struct weft_taskgraph *graph = &writer->fbuf->graph;
    bool collective = weft_task_is_collective(graph, task); // a group's servers, not successors
    uint32_t group = graph->group[task];
    uint32_t first = collective ? graph->group_first[group] : graph->next_first[task];
    uint32_t end = collective ? graph->group_first[group + 1] : graph->next_first[task + 1];
    size_t vector = add_vector(writer, table, SHAPE_TASK, TASK_NEXT, end - first, 8);
    for (uint32_t i = first; i < end; i++) {
        uint64_t value =
            collective ? graph->group_members[i] : (uint64_t)graph->next[i] + 1; // task ids from 1
        put_u64(writer, vector + 8 * (size_t)(i - first), value);
    }
}

// Writes a task. TopoOpt has one kind for all collectives on a ring: reduce-scatter and all-gather
// become AllReduce there, and a word of our own (write_extra) says which they were.
static void write_task(struct writer *writer, size_t referrer, uint32_t task,
                       const struct pair_list *pairs)
{
    static const uint8_t types[WEFT_TASK_KIND_COUNT] = {
        [WEFT_TASK_FORWARD] = FBUF_TASK_FORWARD,
        [WEFT_TASK_BACKWARD] = FBUF_TASK_BACKWARD,
        [WEFT_TASK_UPDATE] = FBUF_TASK_UPDATE,
        [WEFT_TASK_BARRIER] = FBUF_TASK_BARRIER,
        [WEFT_TASK_LOCAL] = FBUF_TASK_COMM,
        [WEFT_TASK_TRANSFER] = FBUF_TASK_NOMINAL_COMM,
        [WEFT_TASK_ALLREDUCE] = FBUF_TASK_ALLREDUCE,
        [WEFT_TASK_REDUCE_SCATTER] = FBUF_TASK_ALLREDUCE,
        [WEFT_TASK_ALL_GATHER] = FBUF_TASK_ALLREDUCE,
    };
    const struct weft_taskgraph *graph = &writer->fbuf->graph;
    uint64_t device_id = 0; // none
    if (graph->kind[task] == WEFT_TASK_TRANSFER) {
        uint32_t pair = weft_idmap_find(&pairs->by_property, property_of(writer->fbuf, task));
        device_id = (uint64_t)graph->device_count + pair + 1;
    } else if (graph->device[task] != WEFT_NONE) {
        device_id = (uint64_t)graph->device[task] + 1;
    }
    size_t table = add_table(writer, SHAPE_TASK, referrer);
    put_u16(writer, FIELD(table, SHAPE_TASK, TASK_TYPE), types[graph->kind[task]]);
    put_u64(writer, FIELD(table, SHAPE_TASK, TASK_ID), (uint64_t)task + 1);
    put_u64(writer, FIELD(table, SHAPE_TASK, TASK_DEVICE), device_id);
    put_float(writer, FIELD(table, SHAPE_TASK, TASK_RUNTIME_MS),
              (double)graph->runtime_ps[task] / 1e9);
    put_u64(writer, FIELD(table, SHAPE_TASK, TASK_SIZE), weft_fbuf_file_bytes(graph, task));
    write_next(writer, table, task);
}

static void write_tasks(struct writer *writer, size_t root, const struct pair_list *pairs)
{
    uint32_t count = writer->fbuf->graph.task_count;
    size_t vector = add_vector(writer, root, SHAPE_ROOT, ROOT_TASKS, count, 4);
    for (uint32_t t = 0; t < count; t++) {
        write_task(writer, vector + 4 * (size_t)t, t, pairs);
    }
}

// ---- topology ----

static void write_connections(struct writer *writer, size_t root)
{
    const struct weft_fbuf *fbuf = writer->fbuf;
    size_t vector = add_vector(writer, root, SHAPE_ROOT, ROOT_CONNECTIONS, fbuf->link_count, 4);
    for (uint32_t i = 0; i < fbuf->link_count; i++) {
        size_t table = add_table(writer, SHAPE_CONNECTION, vector + 4 * (size_t)i);
        put_u32(writer, FIELD(table, SHAPE_CONNECTION, CONNECTION_FROM), fbuf->links[i].from);
        put_u32(writer, FIELD(table, SHAPE_CONNECTION, CONNECTION_TO), fbuf->links[i].to);
        put_u32(writer, FIELD(table, SHAPE_CONNECTION, CONNECTION_COUNT), fbuf->links[i].width);
    }
}

static double weight_of(const struct weft_fbuf *fbuf, uint32_t path)
{
    return fbuf->path_weights == NULL ? 1 : fbuf->path_weights[path]; // NULL = equal
}

static void write_path(struct writer *writer, size_t referrer, uint32_t path)
{
    const struct weft_fbuf *fbuf = writer->fbuf;
    uint32_t first = fbuf->path_node_first[path];
    uint32_t count = fbuf->path_node_first[path + 1] - first;
    size_t table = add_table(writer, SHAPE_PATH, referrer);
    put_float(writer, FIELD(table, SHAPE_PATH, PATH_CHANCE), weight_of(fbuf, path));
    size_t vector = add_vector(writer, table, SHAPE_PATH, PATH_HOPS, count, 4);
    for (uint32_t i = 0; i < count; i++) {
        put_u32(writer, vector + 4 * (size_t)i, fbuf->path_nodes[first + i]);
    }
}

// Whether a path begins at `from` and ends at `to`.
static bool leads(const struct weft_fbuf *fbuf, uint32_t path, uint32_t from, uint32_t to)
{
    return fbuf->path_nodes[fbuf->path_node_first[path]] == from &&
           fbuf->path_nodes[fbuf->path_node_first[path + 1] - 1] == to;
}

// One route for every pair of servers, those without paths and the diagonal too: the authors' tools
// look pairs up without asking whether they are there. Paths stand in the order of their pairs.
static void write_routes(struct writer *writer, size_t root)
{
    const struct weft_fbuf *fbuf = writer->fbuf;
    uint32_t n = fbuf->path_count == 0 ? 0 : fbuf->graph.server_count;
    size_t vector = add_vector(writer, root, SHAPE_ROOT, ROOT_ROUTES, n * n, 4);
    uint32_t path = 0;
    for (uint32_t pair = 0; pair < n * n; pair++) {
        uint32_t from = pair / n;
        uint32_t to = pair % n;
        uint32_t first = path;
        while (path < fbuf->path_count && leads(fbuf, path, from, to)) {
            path++;
        }
        size_t table = add_table(writer, SHAPE_ROUTE, vector + 4 * (size_t)pair);
        put_u32(writer, FIELD(table, SHAPE_ROUTE, ROUTE_FROM), from);
        put_u32(writer, FIELD(table, SHAPE_ROUTE, ROUTE_TO), to);
        size_t paths = add_vector(writer, table, SHAPE_ROUTE, ROUTE_PATHS, path - first, 4);
        for (uint32_t p = first; p < path; p++) {
            write_path(writer, paths + 4 * (size_t)(p - first), p);
        }
    }
    WEFT_ASSERT(path == fbuf->path_count);
}

static void write_rings(struct writer *writer, size_t root)
{
    const struct weft_fbuf *fbuf = writer->fbuf;
    size_t vector = add_vector(writer, root, SHAPE_ROOT, ROOT_RINGS, fbuf->ring_size_count, 4);
    for (uint32_t r = 0; r < fbuf->ring_size_count; r++) {
        uint32_t first = fbuf->ring_first[r];
        uint32_t count = fbuf->ring_first[r + 1] - first;
        size_t table = add_table(writer, SHAPE_RINGS, vector + 4 * (size_t)r);
        put_u64(writer, FIELD(table, SHAPE_RINGS, RINGS_SIZE), fbuf->ring_sizes[r]);
        size_t list = add_vector(writer, table, SHAPE_RINGS, RINGS_DESCRIPTORS, count, 4);
        for (uint32_t d = first; d < first + count; d++) {
            size_t descriptor = add_table(writer, SHAPE_DESCRIPTOR, list + 4 * (size_t)(d - first));
            uint32_t jumps = fbuf->jump_first[d + 1] - fbuf->jump_first[d];
            size_t elements =
                add_vector(writer, descriptor, SHAPE_DESCRIPTOR, DESCRIPTOR_JUMPS, jumps, 4);
            for (uint32_t j = 0; j < jumps; j++) {
                put_u32(writer, elements + 4 * (size_t)j,
                        (uint32_t)fbuf->jumps[fbuf->jump_first[d] + j]);
            }
        }
    }
}

// ---- checks and the whole ----

// Checks that the format has words for the links: one rate for all cables, no pair of nodes
// twice, and at least one link with its reverse, as a file without any means that all have.
static bool check_links(const struct weft_fbuf *fbuf, struct weft_arena scratch,
                        struct weft_error *error)
{
    struct weft_idmap pairs;
    weft_idmap_init(&pairs, fbuf->link_count, &scratch);
    bool mutual = fbuf->link_count == 0;
    for (uint32_t i = 0; i < fbuf->link_count; i++) {
        const struct weft_link *link = &fbuf->links[i];
        if (link->from >= fbuf->node_count || link->to >= fbuf->node_count ||
            link->from == link->to || link->width == 0 || link->width > WEFT_FBUF_CABLES_MAX) {
            return weft_fail(error, WEFT_INPUT,
                             "link %u: %u cables from node %u to %u; the format takes 1 to %u "
                             "between two of %u nodes",
                             i, link->width, link->from, link->to, WEFT_FBUF_CABLES_MAX,
                             fbuf->node_count);
        }
        double expected_Bps = link->width * fbuf->rate_Bps;
        if (fabs(link->rate_Bps - expected_Bps) > 1e-9 * expected_Bps) {
            return weft_fail(error, WEFT_INPUT,
                             "link %u: its rate of %g B/s is not %u cables of the file's %g B/s; "
                             "the format has one rate for all cables",
                             i, link->rate_Bps, link->width, fbuf->rate_Bps);
        }
        uint32_t present = WEFT_NONE;
        uint64_t reverse = (uint64_t)link->to << 32 | link->from;
        if (weft_idmap_add(&pairs, (uint64_t)link->from << 32 | link->to, i, &present) !=
            WEFT_IDMAP_ADDED) {
            return weft_fail(error, WEFT_INPUT,
                             "link %u: joins node %u to %u like link %u; join "
                             "them to one of more width",
                             i, link->from, link->to, present);
        }
        mutual = mutual || weft_idmap_find(&pairs, reverse) != WEFT_NONE;
    }
    if (!mutual) {
        return weft_fail(error, WEFT_INPUT,
                         "no link has its reverse, which in this format means that every one has; "
                         "there are no words for one-way rings; plan duplex ones");
    }
    return true;
}

static bool check_path(uint64_t *pair, const struct weft_fbuf *fbuf, uint32_t path,
                       struct weft_error *error)
{
    uint32_t n = fbuf->graph.server_count;
    uint32_t first = fbuf->path_node_first[path];
    uint32_t count = fbuf->path_node_first[path + 1] - first;
    const uint32_t *nodes = fbuf->path_nodes + first;
    if (count < 2 || nodes[0] >= n || nodes[count - 1] >= n || nodes[0] == nodes[count - 1]) {
        return weft_fail(error, WEFT_INPUT, "does not lead from one server to another");
    }
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i] >= fbuf->node_count) {
            return weft_fail(error, WEFT_INPUT, "passes node %u, but nodes are 0 to %u", nodes[i],
                             fbuf->node_count - 1);
        }
    }
    double weight = weight_of(fbuf, path);
    if (!((float)weight > 0 && (float)weight <= FLT_MAX)) {
        return weft_fail(error, WEFT_INPUT, "a weight of %g is no chance that a float can hold",
                         weight);
    }
    *pair = (uint64_t)nodes[0] * n + nodes[count - 1];
    return true;
}

static bool check_paths(const struct weft_fbuf *fbuf, struct weft_error *error)
{
    uint64_t last = 0;
    for (uint32_t p = 0; p < fbuf->path_count; p++) {
        uint64_t pair = 0;
        if (!check_path(&pair, fbuf, p, error)) {
            return weft_wrap(error, "path %u", p);
        }
        if (pair < last) {
            return weft_fail(error, WEFT_INPUT,
                             "path %u: stands after a later pair's; sort paths by first node, then "
                             "last",
                             p);
        }
        last = pair;
    }
    return true;
}

// What a file will hold.
struct counts {
    uint32_t transfers;
    uint32_t reduce_next; // pairs of Weft's successors
    uint32_t kinds;       // pairs of Weft's kinds
};

static bool check_tasks(struct counts *counts, const struct weft_fbuf *fbuf,
                        struct weft_error *error)
{
    const struct weft_taskgraph *graph = &fbuf->graph;
    if (graph->server_count > WEFT_FBUF_SERVERS_MAX || fbuf->node_count > WEFT_FBUF_NODES_MAX ||
        fbuf->node_count < graph->server_count) {
        return weft_fail(
            error, WEFT_INPUT, "%u servers of %u nodes; a file has at most %u servers and %u nodes",
            graph->server_count, fbuf->node_count, WEFT_FBUF_SERVERS_MAX, WEFT_FBUF_NODES_MAX);
    }
    *counts = (struct counts){0};
    for (uint32_t t = 0; t < graph->task_count; t++) {
        counts->transfers += graph->kind[t] == WEFT_TASK_TRANSFER ? 1 : 0;
        counts->kinds += weft_fbuf_kind_word(graph, t) != WEFT_NONE ? 1 : 0;
        // In this format a collective's list of successors is its group.
        if (weft_task_is_collective(graph, t)) {
            counts->reduce_next += graph->next_first[t + 1] - graph->next_first[t];
        }
    }
    return true;
}

// An upper bound on the file's size: each table with its padding and its place in a vector, each
// vector with its padding, each element.
static uint64_t bound_size(const struct weft_fbuf *fbuf, const struct counts *counts)
{
    const struct weft_taskgraph *graph = &fbuf->graph;
    uint64_t n = fbuf->graph.server_count;
    uint64_t elements = graph->next_first[graph->task_count];
    for (uint32_t t = 0; t < graph->task_count; t++) {
        elements += weft_task_is_collective(graph, t) ? weft_task_member_count(graph, t) : 0;
    }
    uint64_t size = 640; // the root, the vtables and the root's vectors
    size +=
        fbuf->ring_word_count * UINT64_C(4) + ((uint64_t)counts->reduce_next + counts->kinds) * 8;
    size += graph->task_count * UINT64_C(64) + 8 * elements;
    size += ((uint64_t)graph->device_count + counts->transfers) * 48;
    size += fbuf->link_count * UINT64_C(24);
    if (fbuf->path_count > 0) {
        size += n * n * 40 + fbuf->path_count * UINT64_C(40);
        size += fbuf->path_node_first[fbuf->path_count] * UINT64_C(4);
    }
    if (fbuf->ring_size_count > 0) {
        uint32_t descriptors = fbuf->ring_first[fbuf->ring_size_count];
        size += fbuf->ring_size_count * UINT64_C(48) + descriptors * UINT64_C(40);
        size += fbuf->jump_first[descriptors] * UINT64_C(4);
    }
    return size;
}

// Weft's own fields.
static void write_extra(struct writer *writer, size_t root, const struct counts *counts)
{
    const struct weft_fbuf *fbuf = writer->fbuf;
    const struct weft_taskgraph *graph = &fbuf->graph;
    size_t at = add_vector(writer, root, SHAPE_EXTENDED, ROOT_WEFT_RINGS, fbuf->ring_word_count, 4);
    for (uint32_t i = 0; i < fbuf->ring_word_count; i++) {
        put_u32(writer, at + 4 * (size_t)i, fbuf->ring_words[i]);
    }
    at = add_vector(writer, root, SHAPE_EXTENDED, ROOT_WEFT_NEXT, 2 * counts->reduce_next, 4);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t first = graph->next_first[t];
        uint32_t end = weft_task_is_collective(graph, t) ? graph->next_first[t + 1] : first;
        for (uint32_t e = first; e < end; e++, at += 8) {
            put_u32(writer, at, t);
            put_u32(writer, at + 4, graph->next[e]);
        }
    }
    at = add_vector(writer, root, SHAPE_EXTENDED, ROOT_WEFT_KINDS, 2 * counts->kinds, 4);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t word = weft_fbuf_kind_word(graph, t);
        if (word != WEFT_NONE) {
            put_u32(writer, at, t);
            put_u32(writer, at + 4, word);
            at += 8;
        }
    }
}

// Writes tables and vectors in the order in which they are referred to. What TopoOpt does not know
// goes into an extended root, and only where there is any, so that other files stay as the
// artifact writes them.
static void write_file(struct writer *writer, const struct pair_list *pairs,
                       const struct counts *counts)
{
    const struct weft_fbuf *fbuf = writer->fbuf;
    bool extended = fbuf->ring_word_count > 0 || counts->reduce_next > 0 || counts->kinds > 0;
    size_t start = add_bytes(writer, 4);
    add_vtables(writer, extended);
    size_t root = add_table(writer, extended ? SHAPE_EXTENDED : SHAPE_ROOT, start);
    put_u32(writer, FIELD(root, SHAPE_ROOT, ROOT_GPUS_PER_NODE), fbuf->gpus_per_server);
    put_u32(writer, FIELD(root, SHAPE_ROOT, ROOT_NODES), fbuf->graph.server_count);
    put_u32(writer, FIELD(root, SHAPE_ROOT, ROOT_SWITCHES),
            fbuf->node_count - fbuf->graph.server_count);
    put_float(writer, FIELD(root, SHAPE_ROOT, ROOT_INTER_GPU_RATE), fbuf->inter_gpu_Bps / 1000);
    put_float(writer, FIELD(root, SHAPE_ROOT, ROOT_DRAM_RATE), fbuf->dram_Bps / 1000);
    put_float(writer, FIELD(root, SHAPE_ROOT, ROOT_NETWORK_RATE), fbuf->rate_Bps / 1000);
    write_connections(writer, root);
    add_vector(writer, root, SHAPE_ROOT, ROOT_OPERATORS, 0, 4);
    write_tasks(writer, root, pairs);
    write_devices(writer, root, pairs);
    write_routes(writer, root);
    write_rings(writer, root);
    if (extended) {
        write_extra(writer, root, counts);
    }
    align(writer, 0);
}

bool weft_fbuf_write(const char **data, size_t *length, const struct weft_fbuf *fbuf,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct counts counts = {0};
    if (!check_tasks(&counts, fbuf, error) || !check_links(fbuf, scratch, error) ||
        !check_paths(fbuf, error)) {
        return false;
    }
    uint64_t size = bound_size(fbuf, &counts);
    if (size > WEFT_FLATBUF_BYTES_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "the file could take %" PRIu64 " bytes, but FlatBuffers end at 2 GiB",
                         size);
    }
    struct pair_list pairs = list_pairs(fbuf, counts.transfers, &scratch);
    struct writer writer = {
        .data = WEFT_NEW_RAW(&scratch, unsigned char, size),
        .capacity = (size_t)size,
        .fbuf = fbuf,
    };
    write_file(&writer, &pairs, &counts);
    char *copy = WEFT_NEW_RAW(arena, char, writer.length);
    memcpy(copy, writer.data, writer.length);
    *data = copy;
    *length = writer.length;
    return true;
}
