// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces: from bytes to nodes.
//
// A file is messages with their lengths before them: the head, then nodes in any order. protobuf-c
// unpacks one message at a time into scratch that the next one takes over; what is kept of it is
// copied. It needs up to some 70 bytes for each of a hostile message, hence the limit on a message.

#include "read.h"
#include "format/syntax/idmap.h"

#include <chakra.pb-c.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MESSAGE_BYTES_MAX ((size_t)16 << 20)
#define TRACE_BYTES_MAX ((size_t)4 << 30)
#define NODES_MAX ((uint64_t)1 << 26)
#define RANKS_MAX (1u << 20)
#define RUNTIME_MICROS_MAX ((uint64_t)9000000000000) // 104 days

bool chakra_blame(struct weft_error *error, const struct chakra_node *node)
{
    return weft_wrap(error, "rank %u: node %" PRIu64 " '%.60s'", node->rank, node->id, node->name);
}

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

// ---- attributes ----

static bool to_whole(uint64_t *value, int64_t number)
{
    *value = (uint64_t)number;
    return number >= 0;
}

static bool real_to_whole(uint64_t *value, double number)
{
    if (!(number >= 0 && number < 0x1p63 && number == floor(number))) {
        return false;
    }
    *value = (uint64_t)number;
    return true;
}

// A whole number of whatever type: producers do not agree on them. False: it is none.
static bool attribute_whole(uint64_t *value, const Chakra__Attribute *attribute)
{
    switch (attribute->value_case) {
    case CHAKRA__ATTRIBUTE__VALUE_DOUBLE_VAL:
        return real_to_whole(value, attribute->double_val);
    case CHAKRA__ATTRIBUTE__VALUE_FLOAT_VAL:
        return real_to_whole(value, (double)attribute->float_val);
    case CHAKRA__ATTRIBUTE__VALUE_INT32_VAL:
        return to_whole(value, attribute->int32_val);
    case CHAKRA__ATTRIBUTE__VALUE_INT64_VAL:
        return to_whole(value, attribute->int64_val);
    case CHAKRA__ATTRIBUTE__VALUE_SINT32_VAL:
        return to_whole(value, attribute->sint32_val);
    case CHAKRA__ATTRIBUTE__VALUE_SINT64_VAL:
        return to_whole(value, attribute->sint64_val);
    case CHAKRA__ATTRIBUTE__VALUE_SFIXED32_VAL:
        return to_whole(value, attribute->sfixed32_val);
    case CHAKRA__ATTRIBUTE__VALUE_SFIXED64_VAL:
        return to_whole(value, attribute->sfixed64_val);
    case CHAKRA__ATTRIBUTE__VALUE_UINT32_VAL:
        *value = attribute->uint32_val;
        return true;
    case CHAKRA__ATTRIBUTE__VALUE_UINT64_VAL:
        *value = attribute->uint64_val;
        return true;
    case CHAKRA__ATTRIBUTE__VALUE_FIXED32_VAL:
        *value = attribute->fixed32_val;
        return true;
    case CHAKRA__ATTRIBUTE__VALUE_FIXED64_VAL:
        *value = attribute->fixed64_val;
        return true;
    case CHAKRA__ATTRIBUTE__VALUE_BOOL_VAL:
        *value = attribute->bool_val != 0;
        return true;
    case CHAKRA__ATTRIBUTE__VALUE__NOT_SET:
    case CHAKRA__ATTRIBUTE__VALUE_UINT64_LIST:
    case CHAKRA__ATTRIBUTE__VALUE_BOOL_LIST:
    case CHAKRA__ATTRIBUTE__VALUE_STRING_VAL:
    default:
        return false;
    }
}

enum field {
    FIELD_CPU,
    FIELD_OPS,
    FIELD_TENSOR,
    FIELD_TYPE,
    FIELD_SIZE,
    FIELD_FROM,
    FIELD_TO,
    FIELD_TAG,
    FIELD_RUNTIME,
    FIELD_DEVICE,
    FIELD_BYTES,
    FIELD_COUNT,
};
static const struct {
    const char *name;
    uint64_t max;
} fields[FIELD_COUNT] = {
    [FIELD_CPU] = {"is_cpu_op", 1},
    [FIELD_OPS] = {"num_ops", UINT64_MAX},
    [FIELD_TENSOR] = {"tensor_size", UINT64_MAX},
    [FIELD_TYPE] = {"comm_type", UINT32_MAX - 1},
    [FIELD_SIZE] = {"comm_size", INT64_MAX},
    [FIELD_FROM] = {"comm_src", UINT32_MAX - 1},
    [FIELD_TO] = {"comm_dst", UINT32_MAX - 1},
    [FIELD_TAG] = {"comm_tag", UINT32_MAX - 1},
    [FIELD_RUNTIME] = {CHAKRA_ATTR_RUNTIME_PS, INT64_MAX},
    [FIELD_DEVICE] = {CHAKRA_ATTR_DEVICE, UINT32_MAX - 1},
    [FIELD_BYTES] = {CHAKRA_ATTR_BYTES, INT64_MAX},
};

static void keep_field(struct chakra_node *node, enum field field, uint64_t value)
{
    switch (field) {
    case FIELD_CPU:
        node->cpu = value != 0;
        break;
    case FIELD_OPS:
        node->op_count = (double)value;
        break;
    case FIELD_TENSOR:
        node->tensor_bytes = (double)value;
        break;
    case FIELD_TYPE:
        node->collective = (uint32_t)value;
        break;
    case FIELD_SIZE:
        node->size_bytes = value;
        break;
    case FIELD_FROM:
        node->from = (uint32_t)value;
        break;
    case FIELD_TO:
        node->to = (uint32_t)value;
        break;
    case FIELD_TAG:
        node->tag = (uint32_t)value;
        break;
    case FIELD_RUNTIME:
        node->runtime_ps = value;
        node->has_runtime = true;
        break;
    case FIELD_DEVICE:
        node->device = (uint32_t)value;
        break;
    case FIELD_BYTES:
        node->exact_bytes = value;
        break;
    case FIELD_COUNT:
        break;
    }
}

static bool keep_kind(struct chakra_node *node, const char *word, struct weft_error *error)
{
    for (enum chakra_kind kind = 0; kind < CHAKRA_KIND_COUNT; kind++) {
        if (strcmp(word, chakra_kinds[kind]) == 0) {
            node->kind = kind;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT, CHAKRA_ATTR_KIND ": '%.40s' is none that Weft writes",
                     word);
}

// All dimensions of the topology, as ASTRA-sim means it, or it is not said which ranks they are.
static bool check_dimensions(const Chakra__Attribute *attribute, struct weft_error *error)
{
    if (attribute->value_case != CHAKRA__ATTRIBUTE__VALUE_BOOL_LIST) {
        return true;
    }
    for (size_t i = 0; i < attribute->bool_list->n_values; i++) {
        if (!attribute->bool_list->values[i]) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "involved_dim leaves out dimension %zu of a topology that the trace "
                             "does not state; name the ranks by pg_name",
                             i);
        }
    }
    return true;
}

// Where what is kept goes. A text takes more bytes in its file than here.
struct keeper {
    struct chakra_set *set;
    char *texts;
    struct weft_arena room; // for unpacking, behind all else
    struct weft_error *error;
};

static const char *keep_text(struct keeper *keeper, const char *text)
{
    size_t size = strlen(text) + 1;
    if (size == 1) {
        return "";
    }
    char *copy = memcpy(keeper->texts, text, size);
    keeper->texts += size;
    return copy;
}

static bool keep_attribute(struct keeper *keeper, struct chakra_node *node,
                           const Chakra__Attribute *attribute)
{
    struct weft_error *error = keeper->error;
    bool is_text = attribute->value_case == CHAKRA__ATTRIBUTE__VALUE_STRING_VAL;
    for (enum field field = 0; field < FIELD_COUNT; field++) {
        if (strcmp(attribute->name, fields[field].name) != 0) {
            continue;
        }
        uint64_t value = 0;
        if (!attribute_whole(&value, attribute) || value > fields[field].max) {
            return weft_fail(error, WEFT_INPUT, "%s is no whole number from 0 to %" PRIu64,
                             fields[field].name, fields[field].max);
        }
        keep_field(node, field, value);
        return true;
    }
    if (is_text && strcmp(attribute->name, "pg_name") == 0) {
        node->pg_name = keep_text(keeper, attribute->string_val);
    } else if (is_text && strcmp(attribute->name, CHAKRA_ATTR_KIND) == 0) {
        return keep_kind(node, attribute->string_val, error);
    } else if (strcmp(attribute->name, "involved_dim") == 0 && node->type == CHAKRA_COLLECTIVE) {
        return check_dimensions(attribute, error);
    }
    return true;
}

// ---- nodes ----

static void keep_deps(struct chakra_set *set, struct chakra_node *node, const uint64_t *ids,
                      size_t count)
{
    if (count > 0) {
        memcpy(set->dep_ids + set->dep_count, ids, sizeof *ids * count);
    }
    set->dep_count += count;
    node->dep_count += (uint32_t)count;
}

static bool keep_node(struct keeper *keeper, const Chakra__Node *from, uint32_t rank)
{
    struct chakra_set *set = keeper->set;
    struct weft_error *error = keeper->error;
    struct chakra_node *node = &set->nodes[set->node_count++];
    *node = (struct chakra_node){
        .id = from->id,
        .name = keep_text(keeper, from->name),
        .rank = rank,
        .type = from->type,
        .kind = CHAKRA_KIND_COUNT,
        .size_bytes = WEFT_NEVER,
        .exact_bytes = WEFT_NEVER,
        .from = WEFT_NONE,
        .to = WEFT_NONE,
        .device = WEFT_NONE,
        .dep_first = set->dep_count,
    };
    keep_deps(set, node, from->data_deps, from->n_data_deps);
    keep_deps(set, node, from->ctrl_deps, from->n_ctrl_deps);
    if (from->duration_micros > RUNTIME_MICROS_MAX) {
        weft_fail(error, WEFT_INPUT, "it lasts %" PRIu64 " us; at most 104 days",
                  from->duration_micros);
        return chakra_blame(error, node);
    }
    node->runtime_ps = from->duration_micros * 1000000;
    node->has_runtime = from->duration_micros > 0;
    if (from->type == CHAKRA_METADATA && from->inputs != NULL) {
        node->inputs = keep_text(keeper, from->inputs->values);
    }
    for (size_t i = 0; i < from->n_attr; i++) {
        if (!keep_attribute(keeper, node, from->attr[i])) {
            return chakra_blame(error, node);
        }
    }
    return true;
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
        return weft_fail(error, WEFT_INPUT, "%s",
                         length > 1 && cursor.data[0] == 0x1f && cursor.data[1] == 0x8b
                             ? "is compressed by gzip; unpack it with gunzip"
                             : "does not begin with the head of a trace");
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

static bool survey(struct extent *extent, const struct weft_chakra_input *input,
                   struct weft_arena room, struct weft_error *error)
{
    *extent = (struct extent){.devices_stated = true};
    for (uint32_t rank = 0; rank < input->rank_count; rank++) {
        if (!survey_file(extent, input->data[rank], input->lengths[rank], room, error)) {
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

static bool keep_devices(struct chakra_set *set, const Chakra__Wholes *devices, uint32_t rank,
                         struct weft_error *error)
{
    for (size_t i = 0; i < devices->n_values; i++) {
        uint64_t device = devices->values[i];
        if (device >= set->device_count || set->device_rank[device] != WEFT_NONE) {
            weft_fail(error, WEFT_INPUT,
                      CHAKRA_ATTR_DEVICES ": device %" PRIu64 " is stated twice or beyond the %u",
                      device, set->device_count);
            return weft_wrap(error, "rank %u", rank);
        }
        set->device_rank[device] = rank;
    }
    return true;
}

// The server that the head of one of Weft's own files states.
static bool keep_server(struct chakra_set *set, const Chakra__Metadata *head, uint32_t rank,
                        struct weft_error *error)
{
    set->rank_server[rank] = rank;
    for (size_t i = 0; i < head->n_attr; i++) {
        uint64_t server = 0;
        if (strcmp(head->attr[i]->name, CHAKRA_ATTR_SERVER) != 0) {
            continue;
        }
        // A server's own rank comes before its further ones.
        if (!attribute_whole(&server, head->attr[i]) || server > rank ||
            (server < rank && set->rank_server[server] != server)) {
            weft_fail(error, WEFT_INPUT, CHAKRA_ATTR_SERVER ": no server of a rank before this");
            return weft_wrap(error, "rank %u", rank);
        }
        set->rank_server[rank] = (uint32_t)server;
    }
    if (set->rank_server[rank] == rank && set->server_count != rank) {
        weft_fail(error, WEFT_INPUT,
                  CHAKRA_ATTR_SERVER ": a server stands behind further ranks of others");
        return weft_wrap(error, "rank %u", rank);
    }
    set->server_count += set->rank_server[rank] == rank;
    return true;
}

static bool keep_file(struct keeper *keeper, const void *data, size_t length, uint32_t rank)
{
    struct cursor cursor = {data, length, 0};
    const uint8_t *message = NULL;
    size_t size = 0;
    void *unpacked = NULL;
    struct weft_arena room = keeper->room;
    bool good = take_message(&message, &size, &cursor, keeper->error) &&
                unpack(&unpacked, &chakra__metadata__descriptor, message, size, &room);
    WEFT_ASSERT(good); // as surveyed
    if (!keep_server(keeper->set, unpacked, rank, keeper->error)) {
        return false;
    }
    if (keeper->set->device_rank != NULL &&
        !keep_devices(keeper->set, stated_devices(unpacked), rank, keeper->error)) {
        return false;
    }
    for (uint32_t i = 0; cursor.at < cursor.length; i++) {
        room = keeper->room;
        good = take_message(&message, &size, &cursor, keeper->error);
        WEFT_ASSERT(good);
        if (!unpack(&unpacked, &chakra__node__descriptor, message, size, &room)) {
            return weft_fail(keeper->error, WEFT_INPUT,
                             "rank %u: node %u in the file: its bytes are no node; the file is "
                             "damaged",
                             rank, i);
        }
        if (!keep_node(keeper, unpacked, rank)) {
            return false;
        }
    }
    return true;
}

// ---- dependencies ----

static bool index_rank(struct weft_idmap *by_id, const struct chakra_set *set, uint32_t rank,
                       struct weft_error *error)
{
    for (uint32_t n = set->rank_first[rank]; n < set->rank_first[rank + 1]; n++) {
        uint32_t present = WEFT_NONE;
        switch (weft_idmap_add(by_id, set->nodes[n].id, n, &present)) {
        case WEFT_IDMAP_PRESENT:
            weft_fail(error, WEFT_INPUT, "has the id of '%.60s'; give each its own",
                      set->nodes[present].name);
            return chakra_blame(error, &set->nodes[n]);
        case WEFT_IDMAP_CROWDED:
            weft_fail(error, WEFT_INPUT, "its id collides with too many others");
            return chakra_blame(error, &set->nodes[n]);
        case WEFT_IDMAP_ADDED:
            break;
        }
    }
    return true;
}

static bool resolve_rank(struct chakra_set *set, uint32_t rank, struct weft_arena scratch,
                         struct weft_error *error)
{
    struct weft_idmap by_id;
    weft_idmap_init(&by_id, set->rank_first[rank + 1] - set->rank_first[rank], &scratch);
    if (!index_rank(&by_id, set, rank, error)) {
        return false;
    }
    for (uint32_t n = set->rank_first[rank]; n < set->rank_first[rank + 1]; n++) {
        const struct chakra_node *node = &set->nodes[n];
        for (uint64_t d = node->dep_first; d < node->dep_first + node->dep_count; d++) {
            set->deps[d] = weft_idmap_find(&by_id, set->dep_ids[d]);
            if (set->deps[d] == n) {
                weft_fail(error, WEFT_INPUT, "waits for itself");
                return chakra_blame(error, node);
            }
            if (set->deps[d] == WEFT_NONE) {
                weft_fail(error, WEFT_INPUT,
                          "waits for node %" PRIu64 ", which the trace of its rank lacks",
                          set->dep_ids[d]);
                return chakra_blame(error, node);
            }
        }
    }
    return true;
}

bool chakra_parse(struct chakra_set *set, const struct weft_chakra_input *input,
                  struct weft_arena *arena, struct weft_error *error)
{
    struct extent extent;
    if (input->rank_count == 0 || input->rank_count > RANKS_MAX) {
        return weft_fail(error, WEFT_INPUT, "a trace has 1 to %u ranks, not %u", RANKS_MAX,
                         input->rank_count);
    }
    if (!survey(&extent, input, *arena, error)) {
        return false;
    }
    *set = (struct chakra_set){.rank_count = input->rank_count};
    set->nodes = WEFT_NEW_RAW(arena, struct chakra_node, extent.nodes);
    set->rank_first = WEFT_NEW(arena, uint32_t, (size_t)input->rank_count + 1);
    set->rank_server = WEFT_NEW_RAW(arena, uint32_t, input->rank_count);
    set->dep_ids = WEFT_NEW_RAW(arena, uint64_t, extent.bytes); // a byte or more each
    set->deps = WEFT_NEW_RAW(arena, uint32_t, extent.bytes);
    if (extent.devices_stated) {
        set->device_count = (uint32_t)extent.devices;
        set->device_rank = WEFT_NEW_RAW(arena, uint32_t, extent.devices);
        memset(set->device_rank, 0xff, sizeof(uint32_t) * extent.devices);
    }
    struct keeper keeper = {.set = set, .error = error};
    keeper.texts = WEFT_NEW_RAW(arena, char, extent.bytes);
    keeper.room = *arena;
    for (uint32_t rank = 0; rank < input->rank_count; rank++) {
        if (!keep_file(&keeper, input->data[rank], input->lengths[rank], rank)) {
            return false;
        }
        set->rank_first[rank + 1] = set->node_count;
        if (!resolve_rank(set, rank, *arena, error)) {
            return false;
        }
    }
    return true;
}
