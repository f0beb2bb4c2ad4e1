// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_CHAKRA_CRAFT_H
#define WEFT_TESTS_CHAKRA_CRAFT_H

// Chakra traces written by hand, field by field, independently of protobuf-c.

#include "weft/format.h"

#include <string.h>

enum { CRAFT_RANKS = 4, CRAFT_BYTES = 4096 };

// One rank's file, and the node that is being written.
struct craft_rank {
    uint8_t data[CRAFT_BYTES];
    size_t length;
    uint8_t node[1024];
    size_t node_length;
    bool open; // a node is being written
};

struct craft_trace {
    struct craft_rank ranks[CRAFT_RANKS];
    uint32_t rank_count;
    const char *groups;
    const char *json[CRAFT_RANKS]; // [0] not NULL: the files are these texts instead
    const char *host[CRAFT_RANKS]; // and these PyTorch's traces of the host beside them
    bool lenient;
    double flops_per_s;
    double memory_Bps;
};

static inline size_t craft_varint(uint8_t *place, uint64_t value)
{
    size_t length = 0;
    for (; value > 0x7f; value >>= 7) {
        place[length++] = (uint8_t)(value & 0x7f) | 0x80;
    }
    place[length++] = (uint8_t)value;
    return length;
}

static inline size_t craft_bytes(uint8_t *place, uint32_t field, const void *bytes, size_t length)
{
    size_t at = craft_varint(place, field << 3 | 2);
    at += craft_varint(place + at, length);
    memcpy(place + at, bytes, length);
    return at + length;
}

static inline size_t craft_number(uint8_t *place, uint32_t field, uint64_t value)
{
    size_t at = craft_varint(place, field << 3);
    return at + craft_varint(place + at, value);
}

// Adds the node that is open to the file.
static inline void craft_close(struct craft_rank *rank)
{
    if (rank->open) {
        rank->length += craft_varint(rank->data + rank->length, rank->node_length);
        memcpy(rank->data + rank->length, rank->node, rank->node_length);
        rank->length += rank->node_length;
        rank->open = false;
    }
}

static inline void craft_begin(struct craft_trace *trace, uint32_t rank_count)
{
    *trace = (struct craft_trace){.rank_count = rank_count};
    for (uint32_t r = 0; r < rank_count; r++) {
        uint8_t head[16];
        size_t length = craft_bytes(head, 1, "0.0.4", 5);
        trace->ranks[r].data[trace->ranks[r].length++] = (uint8_t)length;
        memcpy(trace->ranks[r].data + trace->ranks[r].length, head, length);
        trace->ranks[r].length += length;
    }
}

// Begins a node; what follows goes into it until the next one.
static inline void craft_node(struct craft_trace *trace, uint32_t rank, uint64_t id,
                              const char *name, uint32_t type)
{
    struct craft_rank *file = &trace->ranks[rank];
    craft_close(file);
    file->open = true;
    file->node_length = craft_number(file->node, 1, id);
    file->node_length += craft_bytes(file->node + file->node_length, 2, name, strlen(name));
    file->node_length += craft_number(file->node + file->node_length, 3, type);
}

static inline void craft_field(struct craft_trace *trace, uint32_t rank, uint32_t field,
                               uint64_t value)
{
    struct craft_rank *file = &trace->ranks[rank];
    file->node_length += craft_number(file->node + file->node_length, field, value);
}

static inline void craft_data_dep(struct craft_trace *trace, uint32_t rank, uint64_t id)
{
    craft_field(trace, rank, 5, id);
}

static inline void craft_duration(struct craft_trace *trace, uint32_t rank, uint64_t micros)
{
    craft_field(trace, rank, 7, micros);
}

// An attribute whose value is a varint of that field: 7 int32, 9 int64, 11 uint32, 13 uint64, ...
static inline void craft_typed(struct craft_trace *trace, uint32_t rank, const char *name,
                               uint32_t field, uint64_t value)
{
    struct craft_rank *file = &trace->ranks[rank];
    uint8_t attribute[128];
    size_t length = craft_bytes(attribute, 1, name, strlen(name));
    length += craft_number(attribute + length, field, value);
    file->node_length += craft_bytes(file->node + file->node_length, 10, attribute, length);
}

static inline void craft_attr(struct craft_trace *trace, uint32_t rank, const char *name,
                              uint64_t value)
{
    craft_typed(trace, rank, name, 9, value);
}

// An attribute whose value is bytes of that field: 28 a list of bools, 29 a text.
static inline void craft_blob(struct craft_trace *trace, uint32_t rank, const char *name,
                              uint32_t field, const void *bytes, size_t size)
{
    struct craft_rank *file = &trace->ranks[rank];
    uint8_t attribute[512];
    size_t length = craft_bytes(attribute, 1, name, strlen(name));
    length += craft_bytes(attribute + length, field, bytes, size);
    file->node_length += craft_bytes(file->node + file->node_length, 10, attribute, length);
}

static inline void craft_text(struct craft_trace *trace, uint32_t rank, const char *name,
                              const char *value)
{
    craft_blob(trace, rank, name, 29, value, strlen(value));
}

static inline void craft_send(struct craft_trace *trace, uint32_t rank, uint64_t id, uint32_t to,
                              uint64_t size_bytes, uint32_t tag)
{
    craft_node(trace, rank, id, "send", 5);
    craft_attr(trace, rank, "comm_dst", to);
    craft_attr(trace, rank, "comm_size", size_bytes);
    craft_attr(trace, rank, "comm_tag", tag);
}

static inline void craft_recv(struct craft_trace *trace, uint32_t rank, uint64_t id, uint32_t from,
                              uint64_t size_bytes, uint32_t tag)
{
    craft_node(trace, rank, id, "recv", 6);
    craft_attr(trace, rank, "comm_src", from);
    craft_attr(trace, rank, "comm_size", size_bytes);
    craft_attr(trace, rank, "comm_tag", tag);
}

static inline void craft_collective(struct craft_trace *trace, uint32_t rank, uint64_t id,
                                    const char *name, uint32_t type, uint64_t size_bytes)
{
    craft_node(trace, rank, id, name, 7);
    craft_attr(trace, rank, "comm_type", type);
    craft_attr(trace, rank, "comm_size", size_bytes);
}

static inline bool craft_read(struct weft_chakra_job *chakra, struct craft_trace *trace,
                              struct weft_arena *arena, struct weft_arena scratch,
                              struct weft_error *error)
{
    const void *data[CRAFT_RANKS];
    size_t lengths[CRAFT_RANKS];
    const void *hosts[CRAFT_RANKS];
    size_t host_lengths[CRAFT_RANKS];
    for (uint32_t r = 0; r < trace->rank_count; r++) {
        craft_close(&trace->ranks[r]);
        const char *json = trace->json[0] != NULL ? trace->json[r] : NULL;
        data[r] = json != NULL ? (const void *)json : trace->ranks[r].data;
        lengths[r] = json != NULL ? strlen(json) : trace->ranks[r].length;
        hosts[r] = trace->host[r];
        host_lengths[r] = hosts[r] != NULL ? strlen(trace->host[r]) : 0;
    }
    const struct weft_chakra_files files = {
        .rank_count = trace->rank_count,
        .data = data,
        .lengths = lengths,
        .json = trace->json[0] != NULL,
        .hosts = hosts,
        .host_lengths = host_lengths,
        .lenient = trace->lenient,
        .groups = trace->groups,
        .groups_length = trace->groups != NULL ? strlen(trace->groups) : 0,
    };
    const struct weft_chakra_roofline roofline = {
        .flops_per_s = trace->flops_per_s,
        .memory_Bps = trace->memory_Bps,
    };
    struct weft_chakra_trace read;
    return weft_chakra_read(&read, &files, &scratch, error) &&
           weft_chakra_lower(chakra, &read, &roofline, arena, scratch, error);
}

#endif
