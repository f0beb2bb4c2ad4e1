// SPDX-License-Identifier: Apache-2.0
// A task graph as a Chakra execution trace: one file a rank, and the process groups as JSON.
//
// ASTRA-sim reads what is written here, so nodes have the attributes that its feeders ask for
// by name; what the schema has no word for stands in attributes of Weft's own. placement.c has
// decided which rank holds what. Memory beyond the result is one node at a time. O(tasks +
// edges * log members + members of all collectives).

#include "chakra.h"
#include "format/syntax/json.h"
#include "weft/format.h"

#include <chakra.pb-c.h>
#include <stdlib.h>
#include <string.h>

// ASTRA-sim keeps tags below this for what a trace sends itself.
#define TAGS_MAX 500000000u
#define CHUNK_BYTES ((size_t)1 << 16)
#define ATTRIBUTES_MAX 10

// ---- bytes that grow at the end of an arena ----

struct bytes {
    struct weft_arena *arena;
    uint8_t *data;
    size_t length;
    size_t room;
};

static void bytes_begin(struct bytes *bytes, struct weft_arena *arena)
{
    *bytes = (struct bytes){.arena = arena, .room = CHUNK_BYTES};
    bytes->data = weft_arena_alloc_raw(arena, CHUNK_BYTES, 1);
}

static uint8_t *bytes_add(struct bytes *bytes, size_t length)
{
    while (bytes->room - bytes->length < length) {
        size_t room = bytes->room + CHUNK_BYTES;
        bytes->data = weft_arena_grow(bytes->arena, bytes->data, bytes->room, room);
        bytes->room = room;
    }
    uint8_t *place = bytes->data + bytes->length;
    bytes->length += length;
    return place;
}

// The rest of the last chunk goes back.
static void bytes_end(const struct bytes *bytes)
{
    bytes->arena->next = (char *)bytes->data + bytes->length;
}

// A message with its length before it.
static void add_message(struct bytes *bytes, const ProtobufCMessage *message)
{
    size_t length = protobuf_c_message_get_packed_size(message);
    size_t rest = length;
    for (; rest > 0x7f; rest >>= 7) {
        *bytes_add(bytes, 1) = (uint8_t)(rest & 0x7f) | 0x80;
    }
    *bytes_add(bytes, 1) = (uint8_t)rest;
    protobuf_c_message_pack(message, bytes_add(bytes, length));
}

// ---- one node ----

// A node that is being put together. Attributes have the types that ASTRA-sim's first feeder asks
// for by name; its later ones take any.
struct draft {
    struct weft_arena *scratch;
    Chakra__Node node;
    Chakra__Attribute attributes[ATTRIBUTES_MAX];
    Chakra__Attribute *list[ATTRIBUTES_MAX];
};

static Chakra__Attribute *draft_add(struct draft *draft, const char *name,
                                    Chakra__Attribute__ValueCase value_case)
{
    WEFT_ASSERT(draft->node.n_attr < ATTRIBUTES_MAX);
    Chakra__Attribute *attribute = &draft->attributes[draft->node.n_attr];
    chakra__attribute__init(attribute);
    attribute->name = weft_arena_text(draft->scratch, name, strlen(name));
    attribute->value_case = value_case;
    draft->list[draft->node.n_attr++] = attribute;
    return attribute;
}

static void add_int32(struct draft *draft, const char *name, uint32_t value)
{
    draft_add(draft, name, CHAKRA__ATTRIBUTE__VALUE_INT32_VAL)->int32_val = (int32_t)value;
}

static void add_int64(struct draft *draft, const char *name, uint64_t value)
{
    draft_add(draft, name, CHAKRA__ATTRIBUTE__VALUE_INT64_VAL)->int64_val = (int64_t)value;
}

static void add_uint64(struct draft *draft, const char *name, uint64_t value)
{
    draft_add(draft, name, CHAKRA__ATTRIBUTE__VALUE_UINT64_VAL)->uint64_val = value;
}

static void add_text(struct draft *draft, const char *name, const char *value)
{
    draft_add(draft, name, CHAKRA__ATTRIBUTE__VALUE_STRING_VAL)->string_val =
        weft_arena_text(draft->scratch, value, strlen(value));
}

static void add_kind(struct draft *draft, enum weft_chakra_kind kind)
{
    add_text(draft, CHAKRA_ATTR_KIND, chakra_kinds[kind]);
}

// Durations are whole microseconds; the exact time stands beside.
static void add_runtime(struct draft *draft, uint64_t runtime_ps)
{
    draft->node.duration_micros = (runtime_ps + 500000) / 1000000;
    add_uint64(draft, CHAKRA_ATTR_RUNTIME_PS, runtime_ps);
}

// is_cpu_op: nothing that takes no device may hold a rank's accelerator.
static void draft_begin(struct draft *draft, uint64_t id, enum weft_chakra_node_type type, bool cpu,
                        const char *name)
{
    chakra__node__init(&draft->node);
    draft->node.id = id;
    draft->node.type = type;
    draft->node.name = weft_arena_text(draft->scratch, name, strlen(name));
    draft->node.attr = draft->list;
    draft_add(draft, "is_cpu_op", CHAKRA__ATTRIBUTE__VALUE_BOOL_VAL)->bool_val = cpu;
}

// ---- dependencies ----

// What a task waits for on a rank: tasks that end there, and signals that arrive there.
static void add_deps(struct draft *draft, const struct chakra_placement *placement, uint32_t task,
                     uint32_t rank)
{
    uint32_t first = placement->prev_first[task];
    uint32_t count = placement->prev_first[task + 1] - first;
    uint64_t *deps = WEFT_NEW_RAW(draft->scratch, uint64_t, count);
    size_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t edge = placement->prev_edge[first + i];
        uint32_t signal = placement->edge_signal[edge];
        enum chakra_part part;
        if (signal != WEFT_NONE) {
            if (placement->signals[signal].to == rank) {
                deps[found++] = chakra_signal_node(placement, signal, true);
            }
        } else if (chakra_ends_on(placement, placement->edge_from[edge], rank, &part)) {
            deps[found++] = chakra_task_node(placement->edge_from[edge], part);
        }
    }
    draft->node.data_deps = deps;
    draft->node.n_data_deps = found;
}

static void add_one_dep(struct draft *draft, uint64_t id)
{
    draft->node.data_deps = WEFT_NEW_RAW(draft->scratch, uint64_t, 1);
    draft->node.data_deps[0] = id;
    draft->node.n_data_deps = 1;
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Adds what keeps the ranks in one order, as the last dependencies, and says how many they are, so
// that they are told from those of the task graph.
static void add_order(struct draft *draft, const struct chakra_placement *placement, uint32_t task,
                      uint32_t rank)
{
    struct chakra_wait wait = chakra_order_waits(placement, task, rank);
    size_t own = draft->node.n_data_deps;
    uint64_t *deps = WEFT_NEW_RAW(draft->scratch, uint64_t, own + wait.count);
    size_t count = own;
    if (own > 0) {
        memcpy(deps, draft->node.data_deps, sizeof *deps * own);
        qsort(deps, own, sizeof *deps, compare_ids);
    }
    for (uint32_t i = 0; i < wait.count; i++) {
        if (bsearch(&wait.nodes[i], deps, own, sizeof *deps, compare_ids) == NULL) {
            deps[count++] = wait.nodes[i];
        }
    }
    draft->node.data_deps = deps;
    draft->node.n_data_deps = count;
    if (count > own) {
        add_uint64(draft, CHAKRA_ATTR_ORDER, count - own);
    }
}

// ---- nodes by kind ----

static const enum weft_chakra_kind kinds[WEFT_TASK_KIND_COUNT] = {
    [WEFT_TASK_FORWARD] = WEFT_CHAKRA_KIND_FORWARD,
    [WEFT_TASK_BACKWARD] = WEFT_CHAKRA_KIND_BACKWARD,
    [WEFT_TASK_UPDATE] = WEFT_CHAKRA_KIND_UPDATE,
    [WEFT_TASK_LOCAL] = WEFT_CHAKRA_KIND_LOCAL,
    [WEFT_TASK_BARRIER] = WEFT_CHAKRA_KIND_BARRIER,
    [WEFT_TASK_TRANSFER] = WEFT_CHAKRA_KIND_COUNT,
    [WEFT_TASK_ALLREDUCE] = WEFT_CHAKRA_KIND_ALLREDUCE,
    [WEFT_TASK_REDUCE_SCATTER] = WEFT_CHAKRA_KIND_REDUCE_SCATTER,
    [WEFT_TASK_ALL_GATHER] = WEFT_CHAKRA_KIND_ALL_GATHER,
};

static void draft_compute(struct draft *draft, const struct chakra_placement *placement,
                          uint32_t task)
{
    const struct weft_taskgraph *graph = placement->graph;
    enum weft_chakra_kind kind = kinds[graph->kind[task]];
    bool on_device = graph->device[task] != WEFT_NONE;
    const char *name = weft_arena_format(draft->scratch, "t%u.%s", task, chakra_kinds[kind]);
    draft_begin(draft, chakra_task_node(task, CHAKRA_PART_MAIN), WEFT_CHAKRA_COMP, !on_device,
                name);
    add_kind(draft, kind);
    add_runtime(draft, graph->runtime_ps[task]);
    if (on_device) {
        add_uint64(draft, CHAKRA_ATTR_DEVICE, graph->device[task]);
    } else if (weft_task_is_collective(graph, task)) {
        add_int64(draft, "comm_size", graph->size_bytes[task]);
    }
    add_deps(draft, placement, task, placement->home[task]);
}

// A message's ends on both ranks.
static void add_message_ends(struct draft *draft, uint32_t from, uint32_t to, uint64_t size_bytes,
                             uint32_t tag)
{
    add_int64(draft, "comm_size", size_bytes);
    add_int32(draft, "comm_src", from);
    add_int32(draft, "comm_dst", to);
    add_int32(draft, "comm_tag", tag);
}

static void draft_transfer(struct draft *draft, const struct chakra_placement *placement,
                           uint32_t task, enum chakra_part part)
{
    const struct weft_taskgraph *graph = placement->graph;
    bool receive = part == CHAKRA_PART_RECV;
    const char *name = weft_arena_format(draft->scratch, "t%u.transfer", task);
    draft_begin(draft, chakra_task_node(task, part), receive ? WEFT_CHAKRA_RECV : WEFT_CHAKRA_SEND,
                false, name);
    add_message_ends(draft, graph->from[task], graph->to[task], graph->size_bytes[task], task);
    if (!receive) {
        add_deps(draft, placement, task, graph->from[task]);
    }
}

// A member's node of a collective. What the schema's comm_size cannot say exactly stands beside
// it in an attribute of Weft's own.
static void draft_collective(struct draft *draft, const struct chakra_placement *placement,
                             uint32_t task, uint32_t rank)
{
    static const enum weft_chakra_collective types[WEFT_TASK_KIND_COUNT] = {
        [WEFT_TASK_ALLREDUCE] = WEFT_CHAKRA_ALL_REDUCE,
        [WEFT_TASK_REDUCE_SCATTER] = WEFT_CHAKRA_REDUCE_SCATTER,
        [WEFT_TASK_ALL_GATHER] = WEFT_CHAKRA_ALL_GATHER,
    };
    const struct weft_taskgraph *graph = placement->graph;
    uint64_t size_bytes = graph->size_bytes[task];
    // An all-gather's comm_size is one shard, as ASTRA-sim and STAGE have it.
    bool gather = graph->kind[task] == WEFT_TASK_ALL_GATHER;
    uint64_t parts = gather ? weft_task_member_count(graph, task) : 1;
    uint64_t part_bytes = size_bytes / parts + (size_bytes % parts > 0);
    const char *word = chakra_kinds[kinds[graph->kind[task]]];
    const char *name = weft_arena_format(draft->scratch, "t%u.%s", task, word);
    draft_begin(draft, chakra_task_node(task, CHAKRA_PART_MAIN), WEFT_CHAKRA_COLLECTIVE, false,
                name);
    add_int64(draft, "comm_type", types[graph->kind[task]]);
    // ASTRA-sim waits for ever for a collective without bytes.
    add_int64(draft, "comm_size", part_bytes > 0 ? part_bytes : 1);
    if (size_bytes == 0 || part_bytes * parts != size_bytes) {
        add_uint64(draft, CHAKRA_ATTR_BYTES, size_bytes);
    }
    add_text(draft, "pg_name", weft_arena_format(draft->scratch, "%u", graph->group[task] + 1));
    if (graph->runtime_ps[task] > 0) {
        add_one_dep(draft, chakra_task_node(task, CHAKRA_PART_INSIDE));
    } else {
        add_deps(draft, placement, task, rank);
    }
    add_order(draft, placement, task, rank);
}

static void draft_inside(struct draft *draft, const struct chakra_placement *placement,
                         uint32_t task, uint32_t rank)
{
    const char *name = weft_arena_format(draft->scratch, "t%u.inside", task);
    draft_begin(draft, chakra_task_node(task, CHAKRA_PART_INSIDE), WEFT_CHAKRA_COMP, true, name);
    add_kind(draft, WEFT_CHAKRA_KIND_INSIDE);
    add_runtime(draft, placement->graph->runtime_ps[task]);
    add_deps(draft, placement, task, rank);
}

static void draft_signal(struct draft *draft, const struct chakra_placement *placement,
                         uint32_t index, bool receive)
{
    const struct chakra_signal *signal = &placement->signals[index];
    const char *name = weft_arena_format(draft->scratch, "t%u.signal", signal->task);
    draft_begin(draft, chakra_signal_node(placement, index, receive),
                receive ? WEFT_CHAKRA_RECV : WEFT_CHAKRA_SEND, false, name);
    add_kind(draft, WEFT_CHAKRA_KIND_SIGNAL);
    add_message_ends(draft, signal->from, signal->to, 1, placement->graph->task_count + index);
    if (!receive) {
        enum chakra_part part;
        bool ends = chakra_ends_on(placement, signal->task, signal->from, &part);
        WEFT_ASSERT(ends);
        add_one_dep(draft, chakra_task_node(signal->task, part));
    }
}

// ---- a rank's file ----

// A node of a rank: a task, or for the parts of a signal a signal.
struct entry {
    uint32_t index;
    enum chakra_part part;
};

// The entries of all ranks: CSR by rank, in ascending order of ids.
struct entries {
    size_t *first;
    size_t *filled;
    struct entry *list; // NULL while they are counted
};

static void entries_add(struct entries *entries, uint32_t rank, uint32_t index,
                        enum chakra_part part)
{
    size_t place = entries->first[rank] + entries->filled[rank]++;
    if (entries->list != NULL) {
        entries->list[place] = (struct entry){index, part};
    }
}

static void enter_task(struct entries *entries, const struct chakra_placement *placement,
                       uint32_t task)
{
    const struct weft_taskgraph *graph = placement->graph;
    if (!chakra_is_collective(graph, task)) {
        entries_add(entries, placement->home[task], task, CHAKRA_PART_MAIN);
        if (graph->kind[task] == WEFT_TASK_TRANSFER) {
            entries_add(entries, graph->to[task], task, CHAKRA_PART_RECV);
        }
        return;
    }
    uint32_t group = graph->group[task];
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        if (graph->runtime_ps[task] > 0) {
            entries_add(entries, graph->group_members[i], task, CHAKRA_PART_INSIDE);
        }
        entries_add(entries, graph->group_members[i], task, CHAKRA_PART_MAIN);
    }
}

static void enter_all(struct entries *entries, const struct chakra_placement *placement)
{
    for (uint32_t t = 0; t < placement->graph->task_count; t++) {
        enter_task(entries, placement, t);
    }
    for (uint32_t s = 0; s < placement->signal_count; s++) {
        entries_add(entries, placement->signals[s].from, s, CHAKRA_PART_SIGNAL_SEND);
        entries_add(entries, placement->signals[s].to, s, CHAKRA_PART_SIGNAL_RECV);
    }
}

static void entries_build(struct entries *entries, const struct chakra_placement *placement,
                          struct weft_arena *scratch)
{
    uint32_t ranks = placement->rank_count;
    *entries = (struct entries){.first = WEFT_NEW(scratch, size_t, (size_t)ranks + 1),
                                .filled = WEFT_NEW(scratch, size_t, ranks)};
    enter_all(entries, placement);
    for (uint32_t r = 0; r < ranks; r++) {
        entries->first[r + 1] = entries->first[r] + entries->filled[r];
        entries->filled[r] = 0;
    }
    entries->list = WEFT_NEW_RAW(scratch, struct entry, entries->first[ranks]);
    enter_all(entries, placement);
}

static void draft_node(struct draft *draft, const struct chakra_placement *placement,
                       const struct entry *entry, uint32_t rank)
{
    if (entry->part == CHAKRA_PART_SIGNAL_SEND || entry->part == CHAKRA_PART_SIGNAL_RECV) {
        draft_signal(draft, placement, entry->index, entry->part == CHAKRA_PART_SIGNAL_RECV);
    } else if (entry->part == CHAKRA_PART_INSIDE) {
        draft_inside(draft, placement, entry->index, rank);
    } else if (chakra_is_collective(placement->graph, entry->index)) {
        draft_collective(draft, placement, entry->index, rank);
    } else if (placement->graph->kind[entry->index] == WEFT_TASK_TRANSFER) {
        draft_transfer(draft, placement, entry->index, entry->part);
    } else {
        draft_compute(draft, placement, entry->index);
    }
}

// The head of a rank's file: the schema, and the devices of the rank.
static void add_head(struct bytes *bytes, const struct chakra_placement *placement, uint32_t rank,
                     struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = placement->graph;
    struct draft draft = {.scratch = &scratch};
    add_text(&draft, "schema", "1.0.2-chakra.0.0.4");
    Chakra__Wholes devices;
    chakra__wholes__init(&devices);
    devices.values = WEFT_NEW_RAW(&scratch, uint64_t, graph->device_count);
    for (uint32_t d = 0; d < graph->device_count; d++) {
        if (placement->device_rank[d] == rank) {
            devices.values[devices.n_values++] = d;
        }
    }
    draft_add(&draft, CHAKRA_ATTR_DEVICES, CHAKRA__ATTRIBUTE__VALUE_UINT64_LIST)->uint64_list =
        &devices;
    add_uint64(&draft, CHAKRA_ATTR_SERVER, placement->rank_server[rank]);
    Chakra__Metadata head;
    chakra__metadata__init(&head);
    head.version = weft_arena_text(&scratch, "0.0.4", 5);
    head.n_attr = draft.node.n_attr;
    head.attr = draft.list;
    add_message(bytes, &head.base);
}

static void write_rank(struct bytes *bytes, const struct chakra_placement *placement,
                       const struct entries *entries, uint32_t rank, struct weft_arena scratch)
{
    add_head(bytes, placement, rank, scratch);
    for (size_t i = entries->first[rank]; i < entries->first[rank + 1]; i++) {
        struct weft_arena room = scratch;
        struct draft draft = {.scratch = &room};
        draft_node(&draft, placement, &entries->list[i], rank);
        add_message(bytes, &draft.node.base);
    }
}

// {"1": [0, 1], ...}: the groups of two members and more.
static const char *write_groups(const struct weft_taskgraph *graph, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "{");
    const char *comma = "";
    for (uint32_t g = 0; g < graph->group_count; g++) {
        uint32_t first = graph->group_first[g];
        uint32_t count = graph->group_first[g + 1] - first;
        if (count > 1) {
            weft_text_add(&text, "%s\n  \"%u\": ", comma, g + 1);
            weft_json_add_indices(&text, graph->group_members + first, count);
            comma = ",";
        }
    }
    weft_text_add(&text, "\n}\n");
    return text.data;
}

bool weft_chakra_write(struct weft_chakra_files *trace, const struct weft_taskgraph *graph,
                       struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error)
{
    struct chakra_placement placement;
    chakra_placement_build(&placement, graph, &scratch);
    chakra_order_build(&placement, &scratch);
    uint64_t tags = (uint64_t)graph->task_count + placement.signal_count;
    if (tags > TAGS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "a Chakra trace holds up to %u messages; the task graph may need %llu",
                         TAGS_MAX, (unsigned long long)tags);
    }
    struct entries entries;
    entries_build(&entries, &placement, &scratch);
    const void **data = WEFT_NEW(arena, const void *, placement.rank_count);
    size_t *lengths = WEFT_NEW(arena, size_t, placement.rank_count);
    const char *groups = write_groups(graph, arena);
    for (uint32_t rank = 0; rank < placement.rank_count; rank++) {
        struct bytes bytes;
        bytes_begin(&bytes, arena);
        write_rank(&bytes, &placement, &entries, rank, scratch);
        bytes_end(&bytes);
        data[rank] = bytes.data;
        lengths[rank] = bytes.length;
    }
    *trace = (struct weft_chakra_files){
        .rank_count = placement.rank_count,
        .data = data,
        .lengths = lengths,
        .groups = groups,
        .groups_length = strlen(groups),
        .signal_count = placement.signal_count,
    };
    return true;
}
