// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_FBUF_CRAFT_H
#define WEFT_TESTS_FBUF_CRAFT_H

// Crafts task graph files by hand, byte by byte, as little like Weft's writer as the format allows:
// fields that are 0 are left out, each table has its own vtable right behind it, nothing is padded.

#include <stdint.h>
#include <string.h>

struct craft {
    uint8_t data[1 << 16];
    size_t length;
};

// A field of a table being crafted: a scalar of 2, 4 or 8 bytes, or a place for an offset.
struct craft_field {
    uint32_t bytes; // 0 = absent
    uint64_t value;
};

struct craft_task {
    int16_t type;
    uint64_t id;
    uint64_t device;
    float runtime_ms;
    uint64_t size_bytes;
    uint64_t next[8];
    uint32_t next_count;
};
struct craft_device {
    int16_t type;
    uint64_t id;
    uint64_t node;
    uint64_t property;
};
struct craft_connection {
    uint32_t from, to, cables;
};
struct craft_path {
    uint32_t hops[8];
    uint32_t hop_count;
    float chance;
};
struct craft_route {
    uint32_t from, to;
    struct craft_path paths[2];
    uint32_t path_count;
};
struct craft_rings {
    uint64_t size;
    int32_t jumps[2][4]; // 0 ends a descriptor
    uint32_t descriptor_count;
};
struct craft_file {
    uint32_t servers, switches;
    float rate; // bytes/ms
    float inter_gpu_rate;
    struct craft_device devices[8];
    uint32_t device_count;
    struct craft_task tasks[8];
    uint32_t task_count;
    struct craft_connection connections[8];
    uint32_t connection_count;
    struct craft_route routes[16];
    uint32_t route_count;
    struct craft_rings rings[4];
    uint32_t ring_count;
};

static inline void craft_put(struct craft *craft, size_t at, uint64_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        craft->data[at + i] = (uint8_t)(value >> 8 * i);
    }
}

static inline size_t craft_add(struct craft *craft, uint64_t value, uint32_t bytes)
{
    size_t at = craft->length;
    craft_put(craft, at, value, bytes);
    craft->length += bytes;
    return at;
}

static inline uint64_t craft_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Adds a table that the 4 bytes at `referrer` refer to; field_at[i] gets where field i lies.
static inline void craft_table(struct craft *craft, size_t referrer,
                               const struct craft_field *fields, uint32_t count, size_t *field_at)
{
    size_t table = craft->length;
    craft_put(craft, referrer, table - referrer, 4);
    craft_add(craft, 0, 4);
    for (uint32_t i = 0; i < count; i++) {
        field_at[i] = craft->length;
        craft_add(craft, fields[i].value, fields[i].bytes);
    }
    size_t vtable = craft->length;
    craft_put(craft, table, table - vtable, 4); // negative: the vtable stands behind
    craft_add(craft, 4 + 2 * count, 2);
    craft_add(craft, vtable - table, 2);
    for (uint32_t i = 0; i < count; i++) {
        craft_add(craft, fields[i].bytes == 0 ? 0 : field_at[i] - table, 2);
    }
}

// Adds a vector of `count` elements, all 0, and returns where the first stands.
static inline size_t craft_vector(struct craft *craft, size_t referrer, uint32_t count,
                                  uint32_t bytes)
{
    craft_put(craft, referrer, craft->length - referrer, 4);
    craft_add(craft, count, 4);
    size_t at = craft->length;
    memset(craft->data + at, 0, (size_t)count * bytes);
    craft->length += (size_t)count * bytes;
    return at;
}

static inline struct craft_field craft_scalar(uint64_t value, uint32_t bytes)
{
    return (struct craft_field){value == 0 ? 0 : bytes, value};
}

static inline struct craft_field craft_offset(uint32_t count)
{
    return (struct craft_field){count == 0 ? 0 : 4, 0};
}

static inline void craft_tasks(struct craft *craft, size_t referrer, const struct craft_file *file)
{
    size_t vector = craft_vector(craft, referrer, file->task_count, 4);
    for (uint32_t t = 0; t < file->task_count; t++) {
        const struct craft_task *task = &file->tasks[t];
        const struct craft_field fields[] = {
            craft_scalar((uint16_t)task->type, 2), craft_scalar(task->id, 8),
            craft_scalar(task->device, 8),         craft_scalar(craft_bits(task->runtime_ms), 4),
            craft_scalar(task->size_bytes, 8),     craft_offset(task->next_count),
        };
        size_t at[6];
        craft_table(craft, vector + 4 * t, fields, 6, at);
        if (task->next_count > 0) {
            size_t next = craft_vector(craft, at[5], task->next_count, 8);
            for (uint32_t i = 0; i < task->next_count; i++) {
                craft_put(craft, next + 8 * i, task->next[i], 8);
            }
        }
    }
}

static inline void craft_devices(struct craft *craft, size_t referrer,
                                 const struct craft_file *file)
{
    size_t vector = craft_vector(craft, referrer, file->device_count, 4);
    for (uint32_t d = 0; d < file->device_count; d++) {
        const struct craft_device *device = &file->devices[d];
        const struct craft_field fields[] = {
            craft_scalar((uint16_t)device->type, 2),
            craft_scalar(device->id, 8),
            craft_scalar(device->node, 8),
            craft_scalar(device->property, 8),
        };
        size_t at[4];
        craft_table(craft, vector + 4 * d, fields, 4, at);
    }
}

static inline void craft_connections(struct craft *craft, size_t referrer,
                                     const struct craft_file *file)
{
    size_t vector = craft_vector(craft, referrer, file->connection_count, 4);
    for (uint32_t i = 0; i < file->connection_count; i++) {
        const struct craft_field fields[] = {
            craft_scalar(file->connections[i].from, 4),
            craft_scalar(file->connections[i].to, 4),
            craft_scalar(file->connections[i].cables, 4),
        };
        size_t at[3];
        craft_table(craft, vector + 4 * i, fields, 3, at);
    }
}

static inline void craft_routes(struct craft *craft, size_t referrer, const struct craft_file *file)
{
    size_t vector = craft_vector(craft, referrer, file->route_count, 4);
    for (uint32_t r = 0; r < file->route_count; r++) {
        const struct craft_route *route = &file->routes[r];
        const struct craft_field fields[] = {craft_scalar(route->from, 4),
                                             craft_scalar(route->to, 4),
                                             craft_offset(route->path_count)};
        size_t at[3];
        craft_table(craft, vector + 4 * r, fields, 3, at);
        if (route->path_count == 0) {
            continue;
        }
        size_t paths = craft_vector(craft, at[2], route->path_count, 4);
        for (uint32_t p = 0; p < route->path_count; p++) {
            const struct craft_path *path = &route->paths[p];
            const struct craft_field parts[] = {craft_offset(path->hop_count),
                                                craft_scalar(craft_bits(path->chance), 4)};
            size_t part_at[2];
            craft_table(craft, paths + 4 * p, parts, 2, part_at);
            if (path->hop_count > 0) {
                size_t hops = craft_vector(craft, part_at[0], path->hop_count, 4);
                for (uint32_t i = 0; i < path->hop_count; i++) {
                    craft_put(craft, hops + 4 * i, path->hops[i], 4);
                }
            }
        }
    }
}

static inline void craft_ring_sizes(struct craft *craft, size_t referrer,
                                    const struct craft_file *file)
{
    size_t vector = craft_vector(craft, referrer, file->ring_count, 4);
    for (uint32_t r = 0; r < file->ring_count; r++) {
        const struct craft_rings *rings = &file->rings[r];
        const struct craft_field fields[] = {craft_scalar(rings->size, 8),
                                             craft_offset(rings->descriptor_count)};
        size_t at[2];
        craft_table(craft, vector + 4 * r, fields, 2, at);
        if (rings->descriptor_count == 0) {
            continue;
        }
        size_t list = craft_vector(craft, at[1], rings->descriptor_count, 4);
        for (uint32_t d = 0; d < rings->descriptor_count; d++) {
            uint32_t count = 0;
            while (count < 4 && rings->jumps[d][count] != 0) {
                count++;
            }
            const struct craft_field parts[] = {{4, 0}};
            size_t part_at[1];
            craft_table(craft, list + 4 * d, parts, 1, part_at);
            size_t jumps = craft_vector(craft, part_at[0], count, 4);
            for (uint32_t j = 0; j < count; j++) {
                craft_put(craft, jumps + 4 * j, (uint32_t)rings->jumps[d][j], 4);
            }
        }
    }
}

static inline void craft_bytes(struct craft *craft, const struct craft_file *file)
{
    craft->length = 0;
    craft_add(craft, 0, 4);
    const struct craft_field fields[] = {
        {4, 1}, // GPUs a node
        craft_scalar(file->servers, 4),
        craft_scalar(file->switches, 4),
        craft_scalar(craft_bits(file->inter_gpu_rate), 4),
        {0, 0},
        craft_scalar(craft_bits(file->rate), 4),
        craft_offset(file->connection_count),
        {0, 0},
        craft_offset(file->task_count),
        craft_offset(file->device_count),
        craft_offset(file->route_count),
        craft_offset(file->ring_count),
    };
    size_t at[12];
    craft_table(craft, 0, fields, 12, at);
    if (file->connection_count > 0) {
        craft_connections(craft, at[6], file);
    }
    if (file->task_count > 0) {
        craft_tasks(craft, at[8], file);
    }
    if (file->device_count > 0) {
        craft_devices(craft, at[9], file);
    }
    if (file->route_count > 0) {
        craft_routes(craft, at[10], file);
    }
    if (file->ring_count > 0) {
        craft_ring_sizes(craft, at[11], file);
    }
}

// A small good file: four servers in a duplex ring, with every kind of task, routes and rings.
static inline struct craft_file craft_small(void)
{
    struct craft_file file = {
        .servers = 4,
        .rate = 1.25e7f,
        .device_count = 6,
        .devices = {{14, 900, UINT64_MAX, 0 * 4 + 2},
                    {0, 100, 0, 0},
                    {0, 101, 1, 1},
                    {0, 102, 2, 2},
                    {0, 103, 3, 3},
                    {13, 901, UINT64_MAX, 3 * 4 + 3}},
        .task_count = 8,
        .tasks = {{0, 0x7f0000000010, 100, 1.5f, 0, {0x7f0000000020, 30}, 2},
                  {5, 0x7f0000000020, 900, 2.5f, 4096, {30}, 1},
                  {1, 30, 102, 0.25f, 0, {40, 50, 60, 60}, 4},
                  {6, 40, 0, 0.125f, 1000, {0, 1, 2, 3}, 4},
                  {6, 50, 0, 0, 77, {2}, 1},
                  {2, 60, 103, 0.5f, 8, {70}, 1},
                  {2, 70, 901, 0, 9, {80}, 1},
                  {4, 80, 0, 0, 0, {0}, 0}},
        .connection_count = 4,
        .connections = {{0, 1, 2}, {1, 2, 2}, {2, 3, 2}, {3, 0, 2}},
        .ring_count = 2,
        .rings = {{4, {{1}, {-1}}, 2}, {2, {{1, 1}, {3, 3}}, 2}},
    };
    for (uint32_t from = 0; from < 4; from++) {
        for (uint32_t to = 0; to < 4; to++) {
            struct craft_route *route = &file.routes[file.route_count++];
            *route = (struct craft_route){.from = from, .to = to, .path_count = 1};
            route->paths[0].chance = 1;
            for (uint32_t node = from; from != to && node != to; node = (node + 1) % 4) {
                route->paths[0].hops[route->paths[0].hop_count++] = node;
            }
            if (from != to) {
                route->paths[0].hops[route->paths[0].hop_count++] = to;
            }
        }
    }
    return file;
}

#endif
