// SPDX-License-Identifier: Apache-2.0
// TopoOpt task graphs in: devices and tasks.
//
// The file's ids may be any 64-bit numbers; they become indices in the file's order (idmap.c).
// Communication on a device of the network becomes a transfer between the two servers that this
// device joins, on any other device a local copy; AllReduces stay collectives. O(tasks +
// edges).

#include "fbuf.h"
#include "format/syntax/idmap.h"

#include <inttypes.h>
#include <math.h>

// A device of the file: local ones become devices of the task graph, network ones a pair of nodes.
struct device {
    bool network;
    uint32_t index; // among the local devices
    uint64_t property;
};

struct device_list {
    struct device *devices;
    struct weft_idmap by_id;
    uint32_t local_count;
    uint32_t *servers; // of the local devices
};

// One task as the file has it.
struct record {
    uint64_t id;
    uint64_t device_id;
    uint64_t size_bytes;
    double runtime_ms;
    int32_t type;
    struct weft_flatbuf_vector next;
};

static bool add_id(struct weft_idmap *map, uint64_t id, uint32_t index, const char *thing,
                   struct weft_error *error)
{
    uint32_t present = WEFT_NONE;
    switch (weft_idmap_add(map, id, index, &present)) {
    case WEFT_IDMAP_PRESENT:
        return weft_fail(error, WEFT_INPUT,
                         "%s %u: has the id %" PRIu64 " of %s %u; give each its own", thing, index,
                         id, thing, present);
    case WEFT_IDMAP_CROWDED:
        return weft_fail(error, WEFT_INPUT,
                         "%s %u: its id %" PRIu64 " collides with too many others; number them "
                         "from 1",
                         thing, index, id);
    case WEFT_IDMAP_ADDED:
        break;
    }
    return true;
}

// ---- devices ----

// Reads a device. Network devices stand only for transfers between servers; the others are numbered
// anew, without them, as devices of the task graph.
static bool read_device(struct device_list *list, const struct weft_fbuf_reader *reader,
                        const struct weft_flatbuf_table *table, uint32_t index)
{
    const struct weft_flatbuf *flatbuf = &reader->flatbuf;
    int32_t type = weft_flatbuf_i16(flatbuf, table, DEVICE_TYPE);
    if (type < 0 || type >= FBUF_DEVICE_TYPES) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "device %u: type %d is none of the types 0 to %d", index, type,
                         FBUF_DEVICE_TYPES - 1);
    }
    struct device *device = &list->devices[index];
    device->network = type == FBUF_DEVICE_NETWORK || type == FBUF_DEVICE_NOMINAL;
    device->property = weft_flatbuf_u64(flatbuf, table, DEVICE_PROPERTY);
    device->index = WEFT_NONE;
    if (!device->network) {
        uint64_t node = weft_flatbuf_u64(flatbuf, table, DEVICE_NODE);
        if (node >= reader->server_count) {
            return weft_fail(reader->error, WEFT_INPUT,
                             "device %u: is in server %" PRIu64 ", but servers are 0 to %u", index,
                             node, reader->server_count - 1);
        }
        device->index = list->local_count;
        list->servers[list->local_count++] = (uint32_t)node;
    }
    return add_id(&list->by_id, weft_flatbuf_u64(flatbuf, table, DEVICE_ID), index, "device",
                  reader->error);
}

static bool read_devices(struct device_list *list, struct weft_fbuf_reader *reader)
{
    struct weft_flatbuf_vector vector;
    if (!weft_flatbuf_vector(&vector, &reader->flatbuf, &reader->root, ROOT_DEVICES, 4,
                             reader->error)) {
        return weft_wrap(reader->error, "devices");
    }
    *list = (struct device_list){
        .devices = WEFT_NEW_RAW(reader->scratch, struct device, vector.count),
        .servers = WEFT_NEW_RAW(reader->scratch, uint32_t, vector.count),
    };
    weft_idmap_init(&list->by_id, vector.count, reader->scratch);
    for (uint32_t i = 0; i < vector.count; i++) {
        struct weft_flatbuf_table table;
        if (!weft_flatbuf_element(&table, &reader->flatbuf, &vector, i, &weft_fbuf_device_layout,
                                  reader->error)) {
            return weft_wrap(reader->error, "device %u", i);
        }
        if (!read_device(list, reader, &table, i)) {
            return false;
        }
    }
    return true;
}

// ---- tasks ----

static bool read_record(struct record *record, struct weft_fbuf_reader *reader,
                        const struct weft_flatbuf_vector *vector, uint32_t index)
{
    struct weft_flatbuf *flatbuf = &reader->flatbuf;
    struct weft_flatbuf_table table;
    if (!weft_flatbuf_element(&table, flatbuf, vector, index, &weft_fbuf_task_layout,
                              reader->error) ||
        !weft_flatbuf_vector(&record->next, flatbuf, &table, TASK_NEXT, 8, reader->error)) {
        return weft_wrap(reader->error, "task %u", index);
    }
    record->id = weft_flatbuf_u64(flatbuf, &table, TASK_ID);
    record->device_id = weft_flatbuf_u64(flatbuf, &table, TASK_DEVICE);
    record->size_bytes = weft_flatbuf_u64(flatbuf, &table, TASK_SIZE);
    record->runtime_ms = (double)weft_flatbuf_float(flatbuf, &table, TASK_RUNTIME_MS);
    record->type = weft_flatbuf_i16(flatbuf, &table, TASK_TYPE);
    return true;
}

static bool convert_runtime(uint64_t *runtime_ps, double runtime_ms, struct weft_error *error)
{
    if (!(runtime_ms >= 0 && runtime_ms < 9.2e9)) { // NaN too
        return weft_fail(error, WEFT_INPUT,
                         "its runtime of %g ms is no time; write 0 or more, below 106 days",
                         runtime_ms);
    }
    *runtime_ps = (uint64_t)llround(runtime_ms * 1e9);
    return true;
}

// The ids of a group's servers.
static bool convert_members(struct weft_task *task, uint32_t *members, const struct record *record,
                            const struct weft_fbuf_reader *reader)
{
    for (uint32_t i = 0; i < record->next.count; i++) {
        uint64_t node = weft_flatbuf_u64_at(&reader->flatbuf, record->next.at + 8 * (size_t)i);
        if (node >= reader->server_count) {
            return weft_fail(reader->error, WEFT_INPUT,
                             "the AllReduce names server %" PRIu64 ", but servers are 0 to %u",
                             node, reader->server_count - 1);
        }
        members[i] = (uint32_t)node;
    }
    task->members = members;
    task->member_count = record->next.count;
    return true;
}

static bool convert_next(struct weft_task *task, uint32_t *next, const struct record *record,
                         const struct weft_idmap *task_by_id, const struct weft_fbuf_reader *reader)
{
    for (uint32_t i = 0; i < record->next.count; i++) {
        uint64_t id = weft_flatbuf_u64_at(&reader->flatbuf, record->next.at + 8 * (size_t)i);
        next[i] = weft_idmap_find(task_by_id, id);
        if (next[i] == WEFT_NONE) {
            return weft_fail(reader->error, WEFT_INPUT,
                             "its successor %" PRIu64 " is not the id of any task", id);
        }
    }
    task->next = next;
    task->next_count = record->next.count;
    return true;
}

// The pair of servers that a network device stands for.
static bool convert_transfer(struct weft_task *task, const struct device *device,
                             const struct record *record, const struct weft_fbuf_reader *reader)
{
    uint64_t from = device->property / reader->node_count;
    uint64_t to = device->property % reader->node_count;
    if (from >= reader->server_count || to >= reader->server_count) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "its network device goes from node %" PRIu64 " to %" PRIu64
                         ", but servers are 0 to %u",
                         from, to, reader->server_count - 1);
    }
    task->kind = WEFT_TASK_TRANSFER;
    task->runtime_ps = 0; // the file's is an estimate of the time that the network takes
    task->from = (uint32_t)from;
    task->to = (uint32_t)to;
    task->size_bytes = record->size_bytes;
    return true;
}

// Makes a task of a record on a device: compute on a local one, a transfer for communication on
// a device of the network.
static bool convert_on_device(struct weft_task *task, const struct record *record,
                              const struct device_list *devices,
                              const struct weft_fbuf_reader *reader)
{
    static const enum weft_task_kind kinds[FBUF_TASK_TYPES] = {
        [FBUF_TASK_FORWARD] = WEFT_TASK_FORWARD,    [FBUF_TASK_BACKWARD] = WEFT_TASK_BACKWARD,
        [FBUF_TASK_COMM] = WEFT_TASK_LOCAL,         [FBUF_TASK_UPDATE] = WEFT_TASK_UPDATE,
        [FBUF_TASK_NOMINAL_COMM] = WEFT_TASK_LOCAL,
    };
    uint32_t index = weft_idmap_find(&devices->by_id, record->device_id);
    if (index == WEFT_NONE) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "its device %" PRIu64 " is not the id of any device", record->device_id);
    }
    const struct device *device = &devices->devices[index];
    bool comm = record->type == FBUF_TASK_COMM || record->type == FBUF_TASK_NOMINAL_COMM;
    if (device->network && comm) {
        return convert_transfer(task, device, record, reader);
    }
    if (device->network) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "it computes on network device %" PRIu64 "; put it on a GPU",
                         record->device_id);
    }
    task->kind = kinds[record->type];
    task->device = device->index;
    return true;
}

static bool convert_task(struct weft_task *task, const struct record *record,
                         const struct device_list *devices, const struct weft_fbuf_reader *reader)
{
    if (record->type < 0 || record->type >= FBUF_TASK_TYPES) {
        return weft_fail(reader->error, WEFT_INPUT, "type %d is none of the types 0 to %d",
                         record->type, FBUF_TASK_TYPES - 1);
    }
    if (!convert_runtime(&task->runtime_ps, record->runtime_ms, reader->error)) {
        return false;
    }
    if (record->type == FBUF_TASK_ALLREDUCE) {
        task->kind = WEFT_TASK_ALLREDUCE;
        task->size_bytes = record->size_bytes;
        return true;
    }
    if (record->type == FBUF_TASK_BARRIER) {
        task->kind = WEFT_TASK_BARRIER;
        return true;
    }
    return convert_on_device(task, record, devices, reader);
}

// Reads every task and maps its id to its place in the file.
static bool read_records(struct record **records, uint32_t *record_count, uint64_t *next_count,
                         struct weft_idmap *by_id, struct weft_fbuf_reader *reader)
{
    struct weft_flatbuf_vector vector;
    if (!weft_flatbuf_vector(&vector, &reader->flatbuf, &reader->root, ROOT_TASKS, 4,
                             reader->error)) {
        return weft_wrap(reader->error, "tasks");
    }
    *records = WEFT_NEW_RAW(reader->scratch, struct record, vector.count);
    *record_count = vector.count;
    *next_count = 0;
    weft_idmap_init(by_id, vector.count, reader->scratch);
    for (uint32_t t = 0; t < vector.count; t++) {
        weft_poll();
        if (!read_record(&(*records)[t], reader, &vector, t) ||
            !add_id(by_id, (*records)[t].id, t, "task", reader->error)) {
            return false;
        }
        *next_count += (*records)[t].next.count;
    }
    return true;
}

bool weft_fbuf_read_tasks(struct weft_fbuf *fbuf, struct weft_fbuf_reader *reader)
{
    struct device_list devices = {0};
    struct record *records = NULL;
    uint32_t task_count = 0;
    uint64_t next_count = 0;
    struct weft_idmap by_id = {0};
    if (!read_devices(&devices, reader) ||
        !read_records(&records, &task_count, &next_count, &by_id, reader)) {
        return false;
    }
    struct weft_task *tasks = WEFT_NEW(reader->scratch, struct weft_task, task_count);
    uint32_t *next = WEFT_NEW_RAW(reader->scratch, uint32_t, next_count);
    for (uint32_t t = 0; t < task_count; t++) {
        weft_poll();
        const struct record *record = &records[t];
        struct weft_task *task = &tasks[t];
        if (!convert_task(task, record, &devices, reader) ||
            !(weft_task_facts[task->kind].is_collective
                  ? convert_members(task, next, record, reader)
                  : convert_next(task, next, record, &by_id, reader))) {
            return weft_wrap(reader->error, "task %u (id %" PRIu64 ")", t, record->id);
        }
        next += record->next.count;
    }
    uint64_t *ids = WEFT_NEW_RAW(reader->scratch, uint64_t, (size_t)task_count + 1);
    uint32_t *listed = WEFT_NEW_RAW(reader->arena, uint32_t, (size_t)task_count + 1);
    for (uint32_t t = 0; t < task_count; t++) {
        ids[t] = records[t].id;
    }
    weft_fbuf_listed(listed, ids, task_count, *reader->scratch);
    fbuf->listed = listed;
    if (!weft_fbuf_read_kinds(tasks, task_count, reader) ||
        !weft_fbuf_read_reduce_next(tasks, task_count, reader)) {
        return false;
    }
    return weft_taskgraph_build(&fbuf->graph,
                                &(struct weft_taskgraph_draft){.server_count = reader->server_count,
                                                               .device_count = devices.local_count,
                                                               .device_server = devices.servers,
                                                               .task_count = task_count,
                                                               .tasks = tasks},
                                reader->arena, *reader->scratch, reader->error);
}
