// SPDX-License-Identifier: Apache-2.0
// A node of a Chakra execution trace from its protobuf message (et_def.proto, schema 0.0.4).
//
// Of a node its id, name, type, duration and dependencies are read, and the attributes in `fields`:
// those that ASTRA-sim's feeders ask for by name, and Weft's own. protobuf-c unpacks a message into
// memory that the next one takes over; what is kept of it is copied.

#include "read.h"

#include <chakra.pb-c.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define RUNTIME_MICROS_MAX ((uint64_t)9000000000000) // 104 days: picoseconds fit 64 bits

const char *const chakra_kinds[WEFT_CHAKRA_KIND_COUNT] = {
    [WEFT_CHAKRA_KIND_FORWARD] = "forward",
    [WEFT_CHAKRA_KIND_BACKWARD] = "backward",
    [WEFT_CHAKRA_KIND_UPDATE] = "update",
    [WEFT_CHAKRA_KIND_LOCAL] = "local",
    [WEFT_CHAKRA_KIND_BARRIER] = "barrier",
    [WEFT_CHAKRA_KIND_ALLREDUCE] = "allreduce",
    [WEFT_CHAKRA_KIND_REDUCE_SCATTER] = "reduce_scatter",
    [WEFT_CHAKRA_KIND_ALL_GATHER] = "all_gather",
    [WEFT_CHAKRA_KIND_INSIDE] = "inside",
    [WEFT_CHAKRA_KIND_SIGNAL] = "signal",
};

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

bool chakra_attribute_whole(uint64_t *value, const Chakra__Attribute *attribute)
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
    case _CHAKRA__ATTRIBUTE__VALUE__CASE_IS_INT_SIZE:
    default:
        return false;
    }
}

// The attributes that are whole numbers, what each is in the node, and where.
enum field_kind { FIELD_TRUTH, FIELD_REAL, FIELD_INDEX, FIELD_WHOLE };
#define FIELD(member) offsetof(struct weft_chakra_node, member)
#define INDEX_MAX (UINT32_MAX - 1)
static const struct field {
    const char *name;
    uint64_t max;
    enum field_kind kind;
    size_t at;
} fields[] = {
    {"is_cpu_op", 1, FIELD_TRUTH, FIELD(compute.on_cpu)},
    {"num_ops", UINT64_MAX, FIELD_REAL, FIELD(compute.op_count)},
    {"tensor_size", UINT64_MAX, FIELD_REAL, FIELD(compute.tensor_bytes)},
    {"comm_type", INDEX_MAX, FIELD_INDEX, FIELD(comm.collective)},
    {"comm_size", INT64_MAX, FIELD_WHOLE, FIELD(comm.size_bytes)},
    {"comm_src", INDEX_MAX, FIELD_INDEX, FIELD(comm.from)},
    {"comm_dst", INDEX_MAX, FIELD_INDEX, FIELD(comm.to)},
    {"comm_tag", INDEX_MAX, FIELD_INDEX, FIELD(comm.tag)},
    {CHAKRA_ATTR_RUNTIME_PS, INT64_MAX, FIELD_WHOLE, FIELD(compute.runtime_ps)},
    {CHAKRA_ATTR_DEVICE, INDEX_MAX, FIELD_INDEX, FIELD(compute.device)},
    {CHAKRA_ATTR_ORDER, INDEX_MAX, FIELD_INDEX, FIELD(comm.order_count)},
    {CHAKRA_ATTR_BYTES, INT64_MAX, FIELD_WHOLE, FIELD(comm.exact_bytes)},
};

// Stores a field; `value` is within its bound.
static void keep_field(struct weft_chakra_node *node, const struct field *field, uint64_t value)
{
    void *place = (char *)node + field->at;
    switch (field->kind) {
    case FIELD_TRUTH:
        *(bool *)place = value != 0;
        break;
    case FIELD_REAL:
        *(double *)place = (double)value;
        break;
    case FIELD_INDEX:
        *(uint32_t *)place = (uint32_t)value;
        break;
    case FIELD_WHOLE:
        *(uint64_t *)place = value;
        break;
    }
    // A runtime of 0 is one, too.
    node->compute.has_runtime |= field->at == FIELD(compute.runtime_ps);
}

static bool keep_kind(struct weft_chakra_node *node, const char *word, struct weft_error *error)
{
    for (enum weft_chakra_kind kind = 0; kind < WEFT_CHAKRA_KIND_COUNT; kind++) {
        if (strcmp(word, chakra_kinds[kind]) == 0) {
            node->kind = kind;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT, CHAKRA_ATTR_KIND ": '%.40s' is none that Weft writes",
                     word);
}

// ASTRA-sim names the members of a collective by dimensions of its topology, too. The trace does
// not state that topology, so only a collective over all of its dimensions, which are all ranks,
// can be read.
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

static const char *keep_text(struct chakra_reading *reading, const char *text)
{
    size_t size = strlen(text) + 1;
    if (size == 1) {
        return "";
    }
    char *copy = memcpy(reading->texts, text, size);
    reading->texts += size;
    return copy;
}

// Keeps what the attribute states, if it is one that Weft knows; the others are skipped.
static bool keep_attribute(struct chakra_reading *reading, struct weft_chakra_node *node,
                           const Chakra__Attribute *attribute, struct weft_error *error)
{
    bool is_text = attribute->value_case == CHAKRA__ATTRIBUTE__VALUE_STRING_VAL;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const struct field *field = &fields[i];
        uint64_t value = 0;
        if (strcmp(attribute->name, field->name) != 0) {
            continue;
        }
        if (!chakra_attribute_whole(&value, attribute) || value > field->max) {
            return weft_fail(error, WEFT_INPUT, "%s is no whole number from 0 to %" PRIu64,
                             field->name, field->max);
        }
        keep_field(node, field, value);
        return true;
    }
    if (is_text && strcmp(attribute->name, "pg_name") == 0) {
        node->comm.group_name = keep_text(reading, attribute->string_val);
    } else if (is_text && strcmp(attribute->name, CHAKRA_ATTR_KIND) == 0) {
        return keep_kind(node, attribute->string_val, error);
    } else if (strcmp(attribute->name, "involved_dim") == 0 &&
               node->type == WEFT_CHAKRA_COLLECTIVE) {
        return check_dimensions(attribute, error);
    }
    return true;
}

// ---- nodes ----

static void keep_deps(struct chakra_reading *reading, struct weft_chakra_node *node,
                      const uint64_t *ids, size_t count)
{
    if (count > 0) {
        memcpy(reading->dep_ids + reading->dep_count, ids, sizeof *ids * count);
    }
    reading->dep_count += count;
    node->dep_count += (uint32_t)count;
}

bool chakra_keep_node(struct chakra_reading *reading, const Chakra__Node *message, uint32_t rank,
                      struct weft_error *error)
{
    uint32_t index = reading->node_count++;
    struct weft_chakra_node *node = &reading->nodes[index];
    *node = (struct weft_chakra_node){
        .id = message->id,
        .name = keep_text(reading, message->name),
        .rank = rank,
        .type = message->type,
        .kind = WEFT_CHAKRA_KIND_COUNT,
        .compute = {.device = WEFT_NONE},
        .comm = {.size_bytes = WEFT_NEVER,
                 .exact_bytes = WEFT_NEVER,
                 .from = WEFT_NONE,
                 .to = WEFT_NONE},
        .dep_first = reading->dep_count,
    };
    if (message->duration_micros > RUNTIME_MICROS_MAX) {
        weft_fail(error, WEFT_INPUT, "it lasts %" PRIu64 " us; at most 104 days",
                  message->duration_micros);
        return weft_chakra_wrap(error, node);
    }
    node->compute.runtime_ps = message->duration_micros * 1000000;
    node->compute.has_runtime = message->duration_micros > 0;
    if (message->type == WEFT_CHAKRA_METADATA && message->inputs != NULL) {
        const char *text = keep_text(reading, message->inputs->values);
        reading->notes[reading->note_count++] = (struct chakra_note){index, text};
    }
    for (size_t i = 0; i < message->n_attr; i++) {
        if (!keep_attribute(reading, node, message->attr[i], error)) {
            return weft_chakra_wrap(error, node);
        }
    }
    size_t count = message->n_data_deps;
    count -= node->comm.order_count < count ? node->comm.order_count : count;
    keep_deps(reading, node, message->data_deps, count);
    keep_deps(reading, node, message->ctrl_deps, message->n_ctrl_deps);
    return true;
}
