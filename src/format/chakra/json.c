// SPDX-License-Identifier: Apache-2.0
// Chakra's JSON forms, as the messages that they stand for, so that one reader has all of it.
//
// chakra_jsonizer writes a trace's messages one behind the other, the head first, as protobuf's
// JSON has them: {"id": "5", "dataDeps": ["3"], "attr": [{"name": "comm_size", "int64Val": "8"}]};
// names with underscores are protobuf's own variant. Chakra's feeder reads one object instead,
// {"workload_graph": [{"Id": 5, "Name": "a", "NodeType": 4, "runtime": 7, "data_deps": [3],
// "comm_size": 8}]}: a node's further members are its attributes. The descriptors that protobuf-c
// generates say which member goes where; members that they do not name are skipped, as in bytes.
// O(bytes).

#include "format/syntax/json.h"
#include "read.h"

#include <chakra.pb-c.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 64
#define GRAPH CHAKRA_FEEDER_NODES

// NodeType's names, where a number could stand.
static const char *const type_names[] = {
    "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
    "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE",
};

// ---- values ----

// "data_deps" as "dataDeps".
static void camel(char name[NAME_MAX_BYTES], const char *snake)
{
    size_t length = 0;
    for (; *snake != '\0' && length + 1 < NAME_MAX_BYTES; snake++) {
        bool joint = *snake == '_' && snake[1] != '\0';
        snake += joint;
        name[length++] = (char)(joint ? toupper((unsigned char)*snake) : *snake);
    }
    name[length] = '\0';
}

static const json_t *member(const json_t *object, const char *name)
{
    char other[NAME_MAX_BYTES];
    const json_t *found = json_object_get(object, name);
    camel(other, name);
    return found != NULL ? found : json_object_get(object, other);
}

// A whole number, its digits as a text, or the name of a node's type; negative ones in two's
// complement, as the signed fields have them.
static bool read_whole(uint64_t *value, const json_t *json)
{
    if (json_is_integer(json)) {
        *value = (uint64_t)json_integer_value(json);
        return true;
    }
    const char *text = json_string_value(json);
    for (size_t i = 0; text != NULL && i < sizeof type_names / sizeof type_names[0]; i++) {
        if (strcmp(text, type_names[i]) == 0) {
            *value = i;
            return true;
        }
    }
    bool digits = text != NULL && (isdigit((unsigned char)text[text[0] == '-']) != 0);
    char *end = NULL;
    errno = 0;
    *value = digits ? strtoull(text, &end, 10) : 0;
    return digits && *end == '\0' && errno == 0;
}

static bool store_message(void *place, const ProtobufCMessageDescriptor *type, const json_t *json,
                          struct weft_arena *arena, struct weft_error *error);

// Puts a value where the message has the field, or the next of a list of it.
static bool store(void *place, const ProtobufCFieldDescriptor *field, const json_t *json,
                  struct weft_arena *arena, struct weft_error *error)
{
    uint64_t whole = 0;
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
        *(void **)place = weft_arena_alloc(
            arena, 1, ((const ProtobufCMessageDescriptor *)field->descriptor)->sizeof_message);
        return store_message(*(void **)place, field->descriptor, json, arena, error);
    case PROTOBUF_C_TYPE_STRING:
        if (json_is_string(json)) {
            *(char **)place =
                weft_arena_text(arena, json_string_value(json), json_string_length(json));
            return true;
        }
        break;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)place = json_is_true(json);
        if (json_is_boolean(json)) {
            return true;
        }
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        *(double *)place = json_number_value(json);
        if (json_is_number(json)) {
            return true;
        }
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        *(float *)place = (float)json_number_value(json);
        if (json_is_number(json)) {
            return true;
        }
        break;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        if (read_whole(&whole, json) && (whole <= UINT32_MAX || -whole <= UINT32_MAX / 2 + 1)) {
            *(uint32_t *)place = (uint32_t)whole;
            return true;
        }
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        if (read_whole(&whole, json)) {
            *(uint64_t *)place = whole;
            return true;
        }
        break;
    case PROTOBUF_C_TYPE_ENUM:
    case PROTOBUF_C_TYPE_BYTES:
    default:
        break;
    }
    return weft_fail(error, WEFT_INPUT, "%s: not of the type that the schema has", field->name);
}

static size_t item_size(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_BOOL ? sizeof(protobuf_c_boolean) : sizeof(uint64_t);
}

// A list: its count, and where its values lie. Those of the schema are of 64 bits, of truth values
// and of messages.
static bool store_list(void *message, const ProtobufCFieldDescriptor *field, const json_t *json,
                       struct weft_arena *arena, struct weft_error *error)
{
    size_t count = json_array_size(json);
    if (!json_is_array(json)) {
        return weft_fail(error, WEFT_INPUT, "%s: not a list", field->name);
    }
    char *items = weft_arena_alloc(arena, count, item_size(field));
    *(size_t *)(void *)((char *)message + field->quantifier_offset) = count;
    *(void **)(void *)((char *)message + field->offset) = items;
    for (size_t i = 0; i < count; i++) {
        if (!store(items + i * item_size(field), field, json_array_get(json, i), arena, error)) {
            return weft_wrap(error, "[%zu]", i);
        }
    }
    return true;
}

static bool store_message(void *place, const ProtobufCMessageDescriptor *type, const json_t *json,
                          struct weft_arena *arena, struct weft_error *error)
{
    protobuf_c_message_init(type, place);
    if (!json_is_object(json)) {
        return weft_fail(error, WEFT_INPUT, "%s: not an object", type->short_name);
    }
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        const json_t *value = member(json, field->name);
        if (value == NULL || json_is_null(value)) {
            continue;
        }
        bool good = field->label == PROTOBUF_C_LABEL_REPEATED
                        ? store_list(place, field, value, arena, error)
                        : store((char *)place + field->offset, field, value, arena, error);
        if (!good) {
            return false;
        }
        if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
            *(uint32_t *)(void *)((char *)place + field->quantifier_offset) = field->id;
        }
    }
    return true;
}

// ---- messages ----

// Bytes that grow at the end of `arena`; what a message needs lies in `scratch`.
struct writing {
    struct weft_arena *arena;
    struct weft_arena scratch;
    struct weft_error *error;
    uint8_t *bytes;
    size_t length;
    uint32_t message_count;
};

static bool add_message(struct writing *writing, const ProtobufCMessageDescriptor *type,
                        const json_t *json)
{
    struct weft_arena room = writing->scratch;
    ProtobufCMessage *message = weft_arena_alloc(&room, 1, type->sizeof_message);
    weft_poll();
    if (!store_message(message, type, json, &room, writing->error)) {
        return weft_wrap(writing->error, "message %u", writing->message_count);
    }
    uint8_t head[10];
    size_t head_length = 0;
    size_t size = protobuf_c_message_get_packed_size(message);
    for (uint64_t left = size; head_length == 0 || left > 0; left >>= 7) {
        head[head_length++] = (uint8_t)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    }
    writing->bytes = weft_arena_grow(writing->arena, writing->bytes, writing->length + 1,
                                     writing->length + head_length + size + 1);
    memcpy(writing->bytes + writing->length, head, head_length);
    protobuf_c_message_pack(message, writing->bytes + writing->length + head_length);
    writing->length += head_length + size;
    writing->message_count++;
    return true;
}

// A member of the feeder's node that the schema has as an attribute.
static void add_attribute(json_t *attributes, const char *name, json_t *value)
{
    json_t *attribute = json_pack("{s:s}", "name", name);
    const char *kind = json_is_boolean(value)   ? "bool_val"
                       : json_is_string(value)  ? "string_val"
                       : json_is_integer(value) ? "int64_val"
                       : json_is_real(value)    ? "double_val"
                                                : "bool_list";
    if (json_is_array(value)) {
        json_object_set_new(attribute, kind, json_pack("{s:O}", "values", value));
    } else {
        json_object_set(attribute, kind, value);
    }
    json_array_append_new(attributes, attribute);
}

// The feeder's node in the schema's words.
static bool add_flat(struct writing *writing, json_t *flat)
{
    static const char *const words[][2] = {
        {"Id", "id"},
        {"Name", "name"},
        {"NodeType", "type"},
        {"runtime", "duration_micros"},
        {"data_deps", "data_deps"},
        {"ctrl_deps", "ctrl_deps"},
        {"inputs", "inputs"},
    };
    json_t *node = json_object();
    json_t *attributes = json_array();
    const char *name;
    json_t *value;
    json_object_foreach(flat, name, value)
    {
        const char *word = NULL;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            word = strcmp(name, words[i][0]) == 0 ? words[i][1] : word;
        }
        if (word != NULL) {
            json_object_set(node, word, value);
        } else if (!json_is_object(value) && !json_is_null(value)) {
            add_attribute(attributes, name, value);
        }
    }
    json_object_set_new(node, "attr", attributes);
    bool good = json_is_object(flat) && json_object_get(node, "id") != NULL
                    ? add_message(writing, &chakra__node__descriptor, node)
                    : weft_fail(writing->error, WEFT_INPUT, "node %u: no object with an Id",
                                writing->message_count - 1);
    json_decref(node);
    return good;
}

// A head, and a list of the feeder's nodes.
static bool add_graph(struct writing *writing, const json_t *head, const json_t *graph)
{
    bool good = json_is_array(graph)
                    ? add_message(writing, &chakra__metadata__descriptor, head)
                    : weft_fail(writing->error, WEFT_INPUT, GRAPH ": not a list of nodes");
    for (size_t i = 0; good && i < json_array_size(graph); i++) {
        good = add_flat(writing, json_array_get(graph, i));
    }
    return good;
}

static bool add_first(struct writing *writing, struct chakra_pair *pair, const json_t *document)
{
    json_t *joined = NULL;
    bool good = false;
    if (json_object_get(document, GRAPH) != NULL) {
        json_t *head = json_pack("{s:s}", "version", GRAPH);
        good = add_graph(writing, head, json_object_get(document, GRAPH));
        json_decref(head);
        return good;
    }
    if (json_object_get(document, "traceEvents") != NULL) {
        pair->scratch = writing->scratch;
        good = chakra_join(&joined, pair, document, writing->error) &&
               add_graph(writing, json_object_get(joined, "head"), json_object_get(joined, GRAPH));
        json_decref(joined);
        return good;
    }
    if (json_object_get(document, "nodes") != NULL) {
        return weft_fail(writing->error, WEFT_INPUT,
                         "is PyTorch's trace of the host, which states no times; put Kineto's "
                         "beside it, in a folder of both");
    }
    return add_message(writing, &chakra__metadata__descriptor, document);
}

static size_t line_at(const char *text, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++) {
        line += text[i] == '\n';
    }
    return line;
}

bool chakra_from_json(const void **data, size_t *length, struct chakra_pair *pair,
                      struct weft_arena *arena, struct weft_error *error)
{
    const char *text = *data;
    size_t size = *length;
    struct writing writing = {.arena = arena, .scratch = weft_arena_split(arena), .error = error};
    writing.bytes = weft_arena_alloc_raw(arena, 1, 1);
    size_t at = 0;
    // Numbers of PyTorch's traces may be larger than 2^63, and keys may stand twice.
    bool kineto = weft_file_kind_of(text, size) == WEFT_FILE_KINETO;
    size_t flags = JSON_DISABLE_EOF_CHECK;
    flags |= kineto ? JSON_DECODE_INT_AS_REAL : JSON_REJECT_DUPLICATES;
    for (;;) {
        while (at < size && isspace((unsigned char)text[at]) != 0) {
            at++;
        }
        if (at == size) {
            break;
        }
        json_error_t cause;
        json_t *document = json_loadb(text + at, size - at, flags, &cause);
        if (document == NULL) {
            return weft_fail(error, WEFT_INPUT, "line %zu: not JSON: %s",
                             line_at(text, at) + (size_t)cause.line - 1, cause.text);
        }
        bool good = writing.message_count == 0
                        ? add_first(&writing, pair, document)
                        : add_message(&writing, &chakra__node__descriptor, document);
        json_decref(document);
        if (!good) {
            return kineto ? false : weft_wrap(error, "line %zu", line_at(text, at));
        }
        at += (size_t)cause.position;
    }
    *data = writing.bytes;
    *length = writing.length;
    return true;
}
