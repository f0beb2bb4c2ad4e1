// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces in: the files' bytes as nodes.
//
// Read are the traces of MLCommons Chakra, schema 0.0.4 (et_def.proto), as PyTorch's converter,
// STAGE, ASTRA-sim's generators and Weft write them: one file a rank, of messages with their
// lengths before them, the head first, then nodes in any order. A first walk over the files counts,
// so that each array is taken once; a second one keeps the nodes.
//
// protobuf-c needs up to some 70 bytes for each of a hostile message, hence the limit on a message.

#include "read.h"
#include "format/syntax/idmap.h"

#include <chakra.pb-c.h>
#include <inttypes.h>
#include <string.h>

#define MESSAGE_BYTES_MAX ((size_t)16 << 20)
#define TRACE_BYTES_MAX ((size_t)4 << 30)
#define NODES_MAX ((uint64_t)1 << 26)
#define RANKS_MAX (1u << 20)

// ---- messages ----

struct cursor {
    const uint8_t *data;
    size_t length;
    size_t at;
};

// The next message's length, at most what is left.
static bool take_message(const uint8_t **message, size_t *length, struct cursor *cursor,
                         struct weft_error *error)
{
    uint64_t value = 0;
    size_t start = cursor->at;
    for (unsigned shift = 0;; shift += 7) {
        if (cursor->at == cursor->length || shift > 28) {
            return weft_fail(error, WEFT_INPUT,
                             "byte %zu: no message begins here; the file is cut or no trace",
                             start);
        }
        uint8_t byte = cursor->data[cursor->at++];
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            break;
        }
    }
    if (value > cursor->length - cursor->at) {
        return weft_fail(error, WEFT_INPUT,
                         "byte %zu: a message of %" PRIu64 " bytes, but %zu are left; the file is "
                         "cut or no trace",
                         start, value, cursor->length - cursor->at);
    }
    if (value > MESSAGE_BYTES_MAX) {
        return weft_fail(error, WEFT_INPUT, "byte %zu: a message of %" PRIu64 " bytes; at most %zu",
                         start, value, MESSAGE_BYTES_MAX);
    }
    *message = cursor->data + cursor->at;
    *length = value;
    cursor->at += value;
    return true;
}

// An allocator for protobuf-c that takes from an arena and never gives back.
static void *arena_alloc(void *arena, size_t size)
{
    return weft_arena_alloc_raw(arena, size, 1);
}

static void arena_free(void *arena, void *memory)
{
    (void)arena;
    (void)memory;
}

// ---- files ----

static bool unpack(void **message, const ProtobufCMessageDescriptor *type, const uint8_t *data,
                   size_t length, struct weft_arena *room)
{
    ProtobufCAllocator allocator = {arena_alloc, arena_free, room};
    *message = protobuf_c_message_unpack(type, &allocator, length, data);
    return *message != NULL;
}

// The devices that the head of one of Weft's own files states. NULL list: none.
static const Chakra__Wholes *stated_devices(const Chakra__Metadata *head)
{
    for (size_t i = 0; i < head->n_attr; i++) {
        const Chakra__Attribute *attribute = head->attr[i];
        if (attribute->value_case == CHAKRA__ATTRIBUTE__VALUE_UINT64_LIST &&
            strcmp(attribute->name, CHAKRA_ATTR_DEVICES) == 0) {
            return attribute->uint64_list;
        }
    }
    return NULL;
}

// What a first walk over the files tells.
struct extent {
    uint64_t bytes;
    uint64_t nodes;
    uint64_t devices;
    bool devices_stated; // by every file
};

// Reads the head and counts the rest.
static bool survey_file(struct extent *extent, const void *data, size_t length,
                        struct weft_arena room, struct weft_error *error)
{
    struct cursor cursor = {data, length, 0};
    const uint8_t *message = NULL;
    size_t size = 0;
    void *head = NULL;
    if (!take_message(&message, &size, &cursor, error)) {
        return false;
    }
    if (!unpack(&head, &chakra__metadata__descriptor, message, size, &room)) {
        return weft_fail(error, WEFT_INPUT, "does not begin with the head of a trace");
    }
    const Chakra__Wholes *devices = stated_devices(head);
    extent->devices_stated &= devices != NULL;
    extent->devices += devices != NULL ? devices->n_values : 0;
    extent->bytes += length;
    while (cursor.at < cursor.length) {
        if (!take_message(&message, &size, &cursor, error)) {
            return false;
        }
        extent->nodes++;
    }
    return true;
}

static bool survey(struct extent *extent, const struct weft_chakra_files *files,
                   struct weft_arena room, struct weft_error *error)
{
    *extent = (struct extent){.devices_stated = true};
    for (uint32_t rank = 0; rank < files->rank_count; rank++) {
        if (!survey_file(extent, files->data[rank], files->lengths[rank], room, error)) {
            return weft_wrap(error, "rank %u", rank);
        }
        if (extent->bytes > TRACE_BYTES_MAX || extent->nodes > NODES_MAX) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "up to rank %u there are more than %" PRIu64 " nodes or %zu bytes",
                             rank, NODES_MAX, TRACE_BYTES_MAX);
        }
    }
    return true;
}

static bool keep_devices(struct chakra_reading *reading, const Chakra__Wholes *devices,
                         uint32_t rank, struct weft_error *error)
{
    for (size_t i = 0; i < devices->n_values; i++) {
        uint64_t device = devices->values[i];
        if (device >= reading->device_count || reading->device_rank[device] != WEFT_NONE) {
            weft_fail(error, WEFT_INPUT,
                      CHAKRA_ATTR_DEVICES ": device %" PRIu64 " is stated twice or beyond the %u",
                      device, reading->device_count);
            return weft_wrap(error, "rank %u", rank);
        }
        reading->device_rank[device] = rank;
    }
    return true;
}

// The server that the head of one of Weft's own files states.
static bool keep_server(struct chakra_reading *reading, const Chakra__Metadata *head, uint32_t rank,
                        struct weft_error *error)
{
    reading->rank_server[rank] = rank;
    for (size_t i = 0; i < head->n_attr; i++) {
        uint64_t server = 0;
        if (strcmp(head->attr[i]->name, CHAKRA_ATTR_SERVER) != 0) {
            continue;
        }
        // A server's own rank comes before its further ones.
        if (!chakra_attribute_whole(&server, head->attr[i]) || server > rank ||
            (server < rank && reading->rank_server[server] != server)) {
            weft_fail(error, WEFT_INPUT, CHAKRA_ATTR_SERVER ": no server of a rank before this");
            return weft_wrap(error, "rank %u", rank);
        }
        reading->rank_server[rank] = (uint32_t)server;
    }
    if (reading->rank_server[rank] == rank && reading->server_count != rank) {
        weft_fail(error, WEFT_INPUT,
                  CHAKRA_ATTR_SERVER ": a server stands behind further ranks of others");
        return weft_wrap(error, "rank %u", rank);
    }
    reading->server_count += reading->rank_server[rank] == rank;
    return true;
}

// Keeps the nodes of a file that was surveyed: its messages have the lengths that they state.
static bool keep_file(struct chakra_reading *reading, struct cursor cursor, uint32_t rank,
                      struct weft_arena scratch, struct weft_error *error)
{
    const uint8_t *message = NULL;
    size_t size = 0;
    void *unpacked = NULL;
    struct weft_arena room = scratch;
    bool good = take_message(&message, &size, &cursor, error) &&
                unpack(&unpacked, &chakra__metadata__descriptor, message, size, &room);
    WEFT_ASSERT(good);
    if (!keep_server(reading, unpacked, rank, error)) {
        return false;
    }
    if (reading->device_rank != NULL &&
        !keep_devices(reading, stated_devices(unpacked), rank, error)) {
        return false;
    }
    for (uint32_t i = 0; cursor.at < cursor.length; i++) {
        weft_poll();
        room = scratch;
        good = take_message(&message, &size, &cursor, error);
        WEFT_ASSERT(good);
        if (!unpack(&unpacked, &chakra__node__descriptor, message, size, &room)) {
            return weft_fail(error, WEFT_INPUT,
                             "rank %u: node %u in the file: its bytes are no node; the file is "
                             "damaged",
                             rank, i);
        }
        if (!chakra_keep_node(reading, unpacked, rank, error)) {
            return false;
        }
    }
    return true;
}

// ---- dependencies ----

static bool index_rank(struct weft_idmap *by_id, const struct chakra_reading *reading,
                       uint32_t rank, struct weft_error *error)
{
    for (uint32_t n = reading->rank_first[rank]; n < reading->rank_first[rank + 1]; n++) {
        uint32_t present = WEFT_NONE;
        switch (weft_idmap_add(by_id, reading->nodes[n].id, n, &present)) {
        case WEFT_IDMAP_PRESENT:
            weft_fail(error, WEFT_INPUT, "has the id of '%.60s'; give each its own",
                      reading->nodes[present].name);
            return weft_chakra_wrap(error, &reading->nodes[n]);
        case WEFT_IDMAP_CROWDED:
            weft_fail(error, WEFT_INPUT, "its id collides with too many others");
            return weft_chakra_wrap(error, &reading->nodes[n]);
        case WEFT_IDMAP_ADDED:
            break;
        }
    }
    return true;
}

// The node that another one waits for. A lenient reading takes a node that is not there for one
// that ended before the trace began, as PyTorch's converter leaves out nodes that others name.
static bool resolve_dep(struct chakra_reading *reading, const struct weft_idmap *by_id, uint32_t n,
                        uint64_t id, struct weft_error *error)
{
    uint32_t before = weft_idmap_find(by_id, id);
    if (before == n) {
        weft_fail(error, WEFT_INPUT, "waits for itself");
        return weft_chakra_wrap(error, &reading->nodes[n]);
    }
    if (before == WEFT_NONE && !reading->lenient) {
        weft_fail(error, WEFT_INPUT,
                  "waits for node %" PRIu64 ", which the trace of its rank lacks", id);
        weft_chakra_wrap(error, &reading->nodes[n]);
        return weft_remedy(error, "lenient", "%s", "");
    }
    reading->dangling_count += before == WEFT_NONE;
    if (before != WEFT_NONE) {
        reading->deps[reading->kept_count++] = before;
    }
    return true;
}

// Turns the ids that the nodes of a rank wait for into indices of nodes.
static bool resolve_rank(struct chakra_reading *reading, uint32_t rank, struct weft_arena scratch,
                         struct weft_error *error)
{
    struct weft_idmap by_id;
    weft_idmap_init(&by_id, reading->rank_first[rank + 1] - reading->rank_first[rank], &scratch);
    if (!index_rank(&by_id, reading, rank, error)) {
        return false;
    }
    for (uint32_t n = reading->rank_first[rank]; n < reading->rank_first[rank + 1]; n++) {
        struct weft_chakra_node *node = &reading->nodes[n];
        const uint64_t *ids = reading->dep_ids + node->dep_first;
        uint32_t id_count = node->dep_count;
        node->dep_first = reading->kept_count;
        for (uint32_t d = 0; d < id_count; d++) {
            if (!resolve_dep(reading, &by_id, n, ids[d], error)) {
                return false;
            }
        }
        node->dep_count = (uint32_t)(reading->kept_count - node->dep_first);
    }
    return true;
}

// ---- the whole ----

static struct chakra_reading begin(const struct extent *extent, uint32_t rank_count,
                                   struct weft_arena *arena)
{
    struct chakra_reading reading = {
        .rank_count = rank_count,
        .nodes = WEFT_NEW_RAW(arena, struct weft_chakra_node, extent->nodes),
        .rank_first = WEFT_NEW(arena, uint32_t, (size_t)rank_count + 1),
        .rank_server = WEFT_NEW_RAW(arena, uint32_t, rank_count),
        .dep_ids = WEFT_NEW_RAW(arena, uint64_t, extent->bytes), // a byte or more each
        .deps = WEFT_NEW_RAW(arena, uint32_t, extent->bytes),
        .notes = WEFT_NEW_RAW(arena, struct chakra_note, extent->nodes),
        .texts = WEFT_NEW_RAW(arena, char, extent->bytes),
    };
    if (extent->devices_stated) {
        reading.device_count = (uint32_t)extent->devices;
        reading.device_rank = WEFT_NEW_RAW(arena, uint32_t, extent->devices);
        memset(reading.device_rank, 0xff, sizeof(uint32_t) * extent->devices);
    }
    return reading;
}

// The same files as bytes.
static bool translate(struct weft_chakra_files *bytes, const struct weft_chakra_files *files,
                      struct weft_chakra_joined *joined, struct weft_arena *arena,
                      struct weft_error *error)
{
    struct chakra_pair pair = {
        .rank_count = files->rank_count, .lenient = files->lenient, .joined = joined};
    const void **data = WEFT_NEW_RAW(arena, const void *, files->rank_count);
    size_t *lengths = WEFT_NEW_RAW(arena, size_t, files->rank_count);
    for (uint32_t rank = 0; rank < files->rank_count; rank++) {
        data[rank] = files->data[rank];
        lengths[rank] = files->lengths[rank];
        pair.rank = rank;
        pair.host = files->hosts != NULL ? files->hosts[rank] : NULL;
        pair.host_length = pair.host != NULL ? files->host_lengths[rank] : 0;
        if (!chakra_from_json(&data[rank], &lengths[rank], &pair, arena, error)) {
            return weft_wrap(error, "rank %u", rank);
        }
    }
    *bytes = *files;
    bytes->data = data;
    bytes->lengths = lengths;
    return true;
}

bool weft_chakra_read(struct weft_chakra_trace *trace, const struct weft_chakra_files *files,
                      struct weft_arena *arena, struct weft_error *error)
{
    struct extent extent;
    struct weft_chakra_files bytes;
    struct weft_chakra_joined joined = {0};
    if (files->rank_count == 0 || files->rank_count > RANKS_MAX) {
        return weft_fail(error, WEFT_INPUT, "a trace has 1 to %u ranks, not %u", RANKS_MAX,
                         files->rank_count);
    }
    if (files->json) {
        if (!translate(&bytes, files, &joined, arena, error)) {
            return false;
        }
        files = &bytes;
    }
    if (!survey(&extent, files, *arena, error)) {
        return false;
    }
    struct chakra_reading reading = begin(&extent, files->rank_count, arena);
    reading.lenient = files->lenient;
    for (uint32_t rank = 0; rank < files->rank_count; rank++) {
        struct cursor cursor = {files->data[rank], files->lengths[rank], 0};
        if (!keep_file(&reading, cursor, rank, *arena, error)) {
            return false;
        }
        reading.rank_first[rank + 1] = reading.node_count;
        if (!resolve_rank(&reading, rank, *arena, error)) {
            return false;
        }
    }
    struct weft_chakra_trace read = {
        .rank_count = reading.rank_count,
        .node_count = reading.node_count,
        .nodes = reading.nodes,
        .dep_count = reading.kept_count,
        .deps = reading.deps,
        .dangling_count = reading.dangling_count,
        .joined = joined,
        .device_count = reading.device_count,
        .device_rank = reading.device_rank,
        .server_count = reading.server_count,
        .rank_server = reading.rank_server,
    };
    if (!chakra_read_groups(&read, &reading, files, arena, error)) {
        return false;
    }
    *trace = read;
    return true;
}
