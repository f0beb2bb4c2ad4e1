// SPDX-License-Identifier: Apache-2.0
// Building a task graph from a draft: every check first, then the arrays.
//
// Groups with the same members in the same order are joined by a hash table, edges become rows
// of successors by counting, and Kahn's algorithm finds a cycle and names a task on it. Sums of
// bytes and times are bounded here, once, so that no later stage has to fear an overflow.
// O(tasks + edges + members + servers).

#include "order.h"

#include <inttypes.h>
#include <string.h>

// Sums of bytes and of picoseconds stay below this, so that no later stage can overflow 64 bits.
#define SUM_LIMIT ((uint64_t)1 << 63)
// How far a group may lie from its place in a table that is a quarter full: groups chosen to
// collide are refused instead of taking quadratic time.
#define DISTANCE_MAX 256u

void weft_task_connect(struct weft_task *tasks, uint32_t task_count, const uint32_t *before,
                       const uint32_t *after, size_t edge_count, struct weft_arena *arena)
{
    size_t *first = WEFT_NEW(arena, size_t, (size_t)task_count + 1);
    uint32_t *next = WEFT_NEW_RAW(arena, uint32_t, edge_count);
    for (size_t e = 0; e < edge_count; e++) {
        tasks[before[e]].next_count++;
    }
    for (uint32_t t = 0; t < task_count; t++) {
        tasks[t].next = next + first[t];
        first[t + 1] = first[t] + tasks[t].next_count;
    }
    for (size_t e = 0; e < edge_count; e++) {
        next[first[before[e]]++] = after[e];
    }
}

struct weft_task weft_taskgraph_task(const struct weft_taskgraph *graph, uint32_t task)
{
    struct weft_task own = {
        .kind = (enum weft_task_kind)graph->kind[task],
        .device = graph->device[task],
        .runtime_ps = graph->runtime_ps[task],
        .size_bytes = graph->size_bytes[task],
        .from = graph->from[task],
        .to = graph->to[task],
        .next = graph->next + graph->next_first[task],
        .next_count = graph->next_first[task + 1] - graph->next_first[task],
        .need = graph->need != NULL ? graph->need[task] : 0,
    };
    if (weft_task_is_collective(graph, task)) {
        own.members = graph->group_members + graph->group_first[graph->group[task]];
        own.member_count = weft_task_member_count(graph, task);
    }
    return own;
}

// What the tasks may refer to.
struct extent {
    uint32_t server_count;
    uint32_t device_count;
    uint32_t task_count;
};

struct totals {
    uint64_t bytes; // on the wire
    uint64_t runtime_ps;
    uint64_t edges;
    uint64_t members;
    uint32_t collectives;
};

// Adds count * each to *sum; false when that reaches the limit.
static bool add_bounded(uint64_t *sum, uint64_t each, uint64_t count)
{
    uint64_t product;
    uint64_t result;
    if (__builtin_mul_overflow(each, count, &product) ||
        __builtin_add_overflow(*sum, product, &result) || result >= SUM_LIMIT) {
        return false;
    }
    *sum = result;
    return true;
}

// `seen` marks the servers that group number `stamp` has named.
static bool check_group(const struct weft_task *task, uint32_t server_count, uint32_t *seen,
                        uint32_t stamp, struct weft_error *error)
{
    const char *name = weft_task_facts[task->kind].name;
    if (task->member_count == 0) {
        return weft_fail(error, WEFT_INPUT, "the %s has no members; name at least one", name);
    }
    for (uint32_t i = 0; i < task->member_count; i++) {
        uint32_t member = task->members[i];
        if (member >= server_count) {
            return weft_fail(error, WEFT_INPUT, "the %s names server %u, but servers are 0 to %u",
                             name, member, server_count - 1);
        }
        if (seen[member] == stamp) {
            return weft_fail(error, WEFT_INPUT, "the %s names server %u twice; name it once", name,
                             member);
        }
        seen[member] = stamp;
    }
    return true;
}

static bool check_place(const struct weft_task *task, const struct extent *extent,
                        struct weft_error *error)
{
    if ((unsigned)task->kind >= WEFT_TASK_KIND_COUNT) {
        return weft_fail(error, WEFT_INPUT, "there is no task kind %u", (unsigned)task->kind);
    }
    const struct weft_task_facts *facts = &weft_task_facts[task->kind];
    if (facts->on_device && task->device >= extent->device_count) {
        return weft_fail(error, WEFT_INPUT, "device %u is not one of the %u devices", task->device,
                         extent->device_count);
    }
    if (!facts->on_device && !facts->is_collective && task->runtime_ps != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "a barrier or transfer has no runtime of its own, but %" PRIu64 " ps are "
                         "given; make it a local task",
                         task->runtime_ps);
    }
    if (task->kind == WEFT_TASK_TRANSFER &&
        (task->from >= extent->server_count || task->to >= extent->server_count)) {
        return weft_fail(error, WEFT_INPUT,
                         "the transfer goes from server %u to %u, but servers are 0 to %u",
                         task->from, task->to, extent->server_count - 1);
    }
    return true;
}

static bool check_next(const struct weft_task *task, uint32_t task_count, struct weft_error *error)
{
    for (uint32_t i = 0; i < task->next_count; i++) {
        if (task->next[i] >= task_count) {
            return weft_fail(error, WEFT_INPUT, "its successor %u is not one of the %u tasks",
                             task->next[i], task_count);
        }
    }
    return true;
}

// Adds a task to the sums. The bytes of a collective count as often as they go over a link of a
// ring of its members, the most that any later stage adds up.
static bool add_totals(struct totals *totals, const struct weft_task *task,
                       struct weft_error *error)
{
    const struct weft_task_facts *facts = &weft_task_facts[task->kind];
    uint64_t copies = 0;
    if (task->kind == WEFT_TASK_TRANSFER) {
        copies = 1;
    } else if (facts->is_collective) {
        uint64_t others = task->member_count - 1;
        copies = others == 0 ? 1 : facts->ring_passes * others;
        totals->members += task->member_count;
        totals->collectives++;
    }
    totals->edges += task->next_count;
    if (!add_bounded(&totals->bytes, task->size_bytes, copies)) {
        return weft_fail(error, WEFT_INPUT,
                         "up to here the tasks send more than 8 EiB; check size_bytes %" PRIu64,
                         task->size_bytes);
    }
    if (!add_bounded(&totals->runtime_ps, task->runtime_ps, 1)) {
        return weft_fail(error, WEFT_INPUT,
                         "up to here the tasks run for more than 106 days; check runtime %" PRIu64
                         " ps",
                         task->runtime_ps);
    }
    if (totals->edges > UINT32_MAX || totals->members > UINT32_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "up to here there are more than 2^32 - 1 dependencies or group members");
    }
    return true;
}

static bool check_tasks(struct totals *totals, const struct extent *extent,
                        const struct weft_task *tasks, struct weft_arena scratch,
                        struct weft_error *error)
{
    uint32_t *seen = WEFT_NEW(&scratch, uint32_t, extent->server_count);
    for (uint32_t t = 0; t < extent->task_count; t++) {
        const struct weft_task *task = &tasks[t];
        bool good = check_place(task, extent, error) && check_next(task, extent->task_count, error);
        if (good && weft_task_facts[task->kind].is_collective) {
            good = check_group(task, extent->server_count, seen, t + 1, error);
        }
        if (!good || !add_totals(totals, task, error)) {
            return weft_wrap(error, "task %u", t);
        }
    }
    return true;
}

static bool check_devices(uint32_t server_count, uint32_t device_count,
                          const uint32_t *device_server, struct weft_error *error)
{
    if (server_count == 0 || server_count == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT, "a task graph needs at least one server");
    }
    for (uint32_t d = 0; d < device_count; d++) {
        if (device_server[d] >= server_count) {
            return weft_fail(error, WEFT_INPUT,
                             "device %u: is in server %u, but servers are 0 to %u", d,
                             device_server[d], server_count - 1);
        }
    }
    return true;
}

// ---- distinct groups ----

// Groups by their member sequence: an open-addressing table of group indices.
struct group_table {
    uint32_t mask;
    uint32_t *slots; // WEFT_NONE = free
    uint32_t count;
    uint32_t *first;
    uint32_t *members;
};

static struct group_table group_table_init(const struct totals *totals, struct weft_arena *arena,
                                           struct weft_arena *scratch)
{
    uint32_t size = DISTANCE_MAX;
    while (size < (uint32_t)1 << 31 && size / 4 < totals->collectives) {
        size *= 2;
    }
    struct group_table table = {
        .mask = size - 1,
        .slots = WEFT_NEW_RAW(scratch, uint32_t, size),
        .first = WEFT_NEW(arena, uint32_t, (size_t)totals->collectives + 1),
        .members = WEFT_NEW_RAW(arena, uint32_t, totals->members),
    };
    memset(table.slots, 0xff, sizeof *table.slots * size);
    return table;
}

// The group with these members, added if it is new; WEFT_NONE where too many fall on one place.
static uint32_t group_table_find(struct group_table *table, const uint32_t *members, uint32_t count)
{
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++) {
        hash = weft_hash(hash ^ members[i]);
    }
    uint32_t slot = (uint32_t)hash & table->mask;
    for (uint32_t distance = 0; table->slots[slot] != WEFT_NONE; distance++) {
        if (distance == DISTANCE_MAX) {
            return WEFT_NONE;
        }
        uint32_t group = table->slots[slot];
        uint32_t first = table->first[group];
        if (table->first[group + 1] - first == count &&
            memcmp(table->members + first, members, sizeof *members * count) == 0) {
            return group;
        }
        slot = (slot + 1) & table->mask;
    }
    uint32_t group = table->count++;
    table->slots[slot] = group;
    memcpy(table->members + table->first[group], members, sizeof *members * count);
    table->first[group + 1] = table->first[group] + count;
    return group;
}

// ---- arrays ----

struct arrays {
    uint8_t *kind;
    uint32_t *device;
    uint64_t *runtime_ps;
    uint64_t *size_bytes;
    uint32_t *from;
    uint32_t *to;
    uint32_t *group;
    uint32_t *prev_count;
    uint32_t *next_first;
    uint32_t *next;
};

static struct arrays arrays_init(uint32_t task_count, uint32_t edge_count, struct weft_arena *arena)
{
    return (struct arrays){
        .kind = WEFT_NEW_RAW(arena, uint8_t, task_count),
        .device = WEFT_NEW_RAW(arena, uint32_t, task_count),
        .runtime_ps = WEFT_NEW_RAW(arena, uint64_t, task_count),
        .size_bytes = WEFT_NEW_RAW(arena, uint64_t, task_count),
        .from = WEFT_NEW_RAW(arena, uint32_t, task_count),
        .to = WEFT_NEW_RAW(arena, uint32_t, task_count),
        .group = WEFT_NEW_RAW(arena, uint32_t, task_count),
        .prev_count = WEFT_NEW(arena, uint32_t, task_count),
        .next_first = WEFT_NEW_RAW(arena, uint32_t, (size_t)task_count + 1),
        .next = WEFT_NEW_RAW(arena, uint32_t, edge_count),
    };
}

// Stores a task, with nothing in the members that its kind does not have, so that equal graphs are
// equal bytes. Groups of the same members become one.
static bool store_task(struct arrays *arrays, uint32_t index, const struct weft_task *task,
                       struct group_table *groups, struct weft_error *error)
{
    enum weft_task_kind kind = task->kind;
    if (kind == WEFT_TASK_TRANSFER && (task->from == task->to || task->size_bytes == 0)) {
        kind = WEFT_TASK_BARRIER; // nothing crosses the network
    }
    bool transfer = kind == WEFT_TASK_TRANSFER;
    bool on_device = weft_task_facts[kind].on_device;
    bool collective = weft_task_facts[kind].is_collective;
    arrays->kind[index] = (uint8_t)kind;
    arrays->device[index] = on_device ? task->device : WEFT_NONE;
    arrays->runtime_ps[index] = on_device || collective ? task->runtime_ps : 0;
    arrays->size_bytes[index] = transfer || collective ? task->size_bytes : 0;
    arrays->from[index] = transfer ? task->from : WEFT_NONE;
    arrays->to[index] = transfer ? task->to : WEFT_NONE;
    arrays->group[index] =
        collective ? group_table_find(groups, task->members, task->member_count) : WEFT_NONE;
    if (collective && arrays->group[index] == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT,
                         "task %u: its group collides with too many others; name members in "
                         "ascending order",
                         index);
    }
    return true;
}

static void store_edges(struct arrays *arrays, const struct weft_task *tasks, uint32_t task_count)
{
    uint32_t edge = 0;
    for (uint32_t t = 0; t < task_count; t++) {
        arrays->next_first[t] = edge;
        for (uint32_t i = 0; i < tasks[t].next_count; i++) {
            arrays->next[edge++] = tasks[t].next[i];
            arrays->prev_count[tasks[t].next[i]]++;
        }
    }
    arrays->next_first[task_count] = edge;
}

// How many predecessors each task waits for; NULL where all wait for all.
static bool store_needs(const uint32_t **need, const struct weft_task *tasks, uint32_t task_count,
                        const uint32_t *prev_count, struct weft_arena *arena,
                        struct weft_error *error)
{
    uint32_t *needs = NULL;
    for (uint32_t t = 0; t < task_count; t++) {
        if (tasks[t].need == 0) {
            continue;
        }
        if (tasks[t].need > prev_count[t]) {
            return weft_fail(error, WEFT_INPUT, "task %u: waits for %u tasks, but has %u before it",
                             t, tasks[t].need, prev_count[t]);
        }
        if (needs == NULL) {
            needs = WEFT_NEW_RAW(arena, uint32_t, task_count);
            memcpy(needs, prev_count, sizeof *needs * task_count);
        }
        needs[t] = tasks[t].need;
    }
    *need = needs;
    return true;
}

// ---- cycles ----

// Every task that Kahn left has a predecessor that he left too. Following one such predecessor
// each must come round: that is a cycle. Names its smallest task.
static bool fail_with_cycle(const struct weft_taskgraph *graph, const uint32_t *waiting,
                            struct weft_arena scratch, struct weft_error *error)
{
    uint32_t *before = WEFT_NEW_RAW(&scratch, uint32_t, graph->task_count);
    uint32_t task = WEFT_NONE;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (waiting[t] == 0) {
            continue;
        }
        task = t;
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            before[graph->next[e]] = t;
        }
    }
    WEFT_ASSERT(task != WEFT_NONE);
    for (uint32_t step = 0; step < graph->task_count; step++) {
        task = before[task];
    }
    uint32_t smallest = task;
    uint32_t length = 1;
    for (uint32_t t = before[task]; t != task; t = before[t]) {
        smallest = t < smallest ? t : smallest;
        length++;
    }
    if (length == 1) {
        return weft_fail(error, WEFT_INPUT,
                         "task %u: waits for itself; remove it from its own successors", smallest);
    }
    return weft_fail(error, WEFT_INPUT,
                     "task %u: is on a cycle of %u tasks (it waits for task %u, which waits for "
                     "it in turn); remove one of the dependencies",
                     smallest, length, before[smallest]);
}

static bool check_acyclic(const struct weft_taskgraph *graph, struct weft_arena scratch,
                          struct weft_error *error)
{
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, graph->task_count);
    uint32_t *waiting = WEFT_NEW_RAW(&scratch, uint32_t, graph->task_count);
    if (weft_taskgraph_kahn(graph, order, waiting) < graph->task_count) {
        return fail_with_cycle(graph, waiting, scratch, error);
    }
    return true;
}

bool weft_taskgraph_build(struct weft_taskgraph *graph, const struct weft_taskgraph_draft *draft,
                          struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error)
{
    const struct weft_task *tasks = draft->tasks;
    uint32_t task_count = draft->task_count;
    uint32_t device_count = draft->device_count;
    if (task_count == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT, "a task graph has at most 2^32 - 2 tasks");
    }
    struct totals totals = {0};
    struct extent extent = {draft->server_count, device_count, task_count};
    if (!check_devices(draft->server_count, device_count, draft->device_server, error) ||
        !check_tasks(&totals, &extent, tasks, scratch, error)) {
        return false;
    }
    uint32_t *servers = WEFT_NEW_RAW(arena, uint32_t, device_count);
    if (device_count > 0) {
        memcpy(servers, draft->device_server, sizeof *servers * device_count);
    }
    struct arrays arrays = arrays_init(task_count, (uint32_t)totals.edges, arena);
    struct group_table groups = group_table_init(&totals, arena, &scratch);
    for (uint32_t t = 0; t < task_count; t++) {
        weft_poll();
        if (!store_task(&arrays, t, &tasks[t], &groups, error)) {
            return false;
        }
    }
    store_edges(&arrays, tasks, task_count);
    WEFT_ASSERT(arrays.next_first[task_count] == totals.edges);
    const uint32_t *need = NULL;
    if (!store_needs(&need, tasks, task_count, arrays.prev_count, arena, error)) {
        return false;
    }
    struct weft_taskgraph built = {
        .server_count = draft->server_count,
        .device_count = device_count,
        .device_server = servers,
        .task_count = task_count,
        .kind = arrays.kind,
        .device = arrays.device,
        .runtime_ps = arrays.runtime_ps,
        .size_bytes = arrays.size_bytes,
        .from = arrays.from,
        .to = arrays.to,
        .group = arrays.group,
        .prev_count = arrays.prev_count,
        .need = need,
        .next_first = arrays.next_first,
        .next = arrays.next,
        .group_count = groups.count,
        .group_first = groups.first,
        .group_members = groups.members,
    };
    if (!check_acyclic(&built, scratch, error)) {
        return false;
    }
    *graph = built;
    return true;
}
