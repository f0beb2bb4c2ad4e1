// SPDX-License-Identifier: Apache-2.0
// Lowering: a schedule as the tasks of a task graph.
//
// Every slot of every rank has a version: the tasks that must have ended before it may be read. A
// transfer waits for the versions that it reads. It never waits to be received: what comes in early
// is kept aside, as libraries do, and becomes the next version once the readers of the former one
// are done. So two ranks may swap a slot in one round.
//
// With one port a rank's sends stand in a row, and so do its receives: otherwise ranks that are
// early would share the port of one that is late, and both would be late from then on. In order,
// what a rank sends to another stands in a row, as on one connection.

#include "weft/collective.h"

#include <string.h>

#define TASK_LIMIT ((uint64_t)1 << 31)

// Lists of tasks, as indices into one pool; 0 ends a list.
struct links {
    uint32_t *task;
    uint32_t *next;
    uint32_t count;
};

struct lowering {
    const struct weft_schedule *schedule;
    const struct weft_lower_options *options;
    struct weft_task *tasks;
    uint32_t task_count;
    // Edges, in order of creation.
    uint32_t *before;
    uint32_t *after;
    size_t edge_count;
    size_t edge_room;
    // Per rank and slot: what must have ended before a read, and who has read since.
    struct links links;
    uint32_t *version;
    uint32_t *readers;
    uint32_t *seen;         // per task: the last task that got an edge from it, + 1
    uint32_t *last_between; // per pair of ranks, + 1; in order only
    // Per rank, + 1; one port only.
    uint32_t *last_send;
    uint32_t *last_receive;
};

static size_t slot_of(const struct lowering *lowering, uint32_t rank, uint32_t slot)
{
    return (size_t)rank * lowering->schedule->slot_count + slot;
}

static void push(struct links *links, uint32_t *head, uint32_t task)
{
    uint32_t entry = ++links->count;
    links->task[entry] = task;
    links->next[entry] = *head;
    *head = entry;
}

static void add_edge(struct lowering *lowering, uint32_t before, uint32_t after)
{
    if (lowering->seen[before] == after + 1) {
        return;
    }
    lowering->seen[before] = after + 1;
    WEFT_ASSERT(lowering->edge_count < lowering->edge_room);
    lowering->before[lowering->edge_count] = before;
    lowering->after[lowering->edge_count++] = after;
}

static uint32_t add_task(struct lowering *lowering, struct weft_task task)
{
    lowering->tasks[lowering->task_count] = task;
    return lowering->task_count++;
}

// What a reader of the slot waits for. A version of several tasks is joined into one barrier when
// it is first read, so that many readers of a sum of many cost edges once.
static void read_slot(struct lowering *lowering, size_t slot, uint32_t reader)
{
    uint32_t head = lowering->version[slot];
    struct links *links = &lowering->links;
    if (head != 0 && links->next[head] != 0) {
        uint32_t join = add_task(lowering, (struct weft_task){.kind = WEFT_TASK_BARRIER});
        for (uint32_t entry = head; entry != 0; entry = links->next[entry]) {
            add_edge(lowering, links->task[entry], join);
        }
        lowering->version[slot] = 0;
        push(links, &lowering->version[slot], join);
        head = lowering->version[slot];
    }
    if (head != 0) {
        add_edge(lowering, links->task[head], reader);
    }
}

static void write_slot(struct lowering *lowering, size_t slot, enum weft_step_op op,
                       uint32_t writer)
{
    struct links *links = &lowering->links;
    bool replaced = op == WEFT_STEP_COPY && lowering->readers[slot] != 0;
    if (replaced) {
        lowering->version[slot] = 0; // whoever read it waited for it
    }
    push(links, &lowering->version[slot], writer);
    for (uint32_t entry = lowering->readers[slot]; entry != 0; entry = links->next[entry]) {
        if (links->task[entry] != writer) {
            push(links, &lowering->version[slot], links->task[entry]);
        }
    }
    lowering->readers[slot] = 0;
}

// The rank's former task of this kind comes first.
static void follow(struct lowering *lowering, uint32_t *last, uint32_t task)
{
    if (*last != 0) {
        add_edge(lowering, *last - 1, task);
    }
    *last = task + 1;
}

static uint32_t transfer_task(struct lowering *lowering, const struct weft_transfer *transfer)
{
    if (transfer->from == transfer->to) {
        return add_task(lowering, (struct weft_task){.kind = WEFT_TASK_BARRIER});
    }
    const uint32_t *servers = lowering->options->servers;
    uint64_t chunks = lowering->schedule->chunk_count;
    __extension__ unsigned __int128 bytes =
        (unsigned __int128)lowering->options->size_bytes * transfer->slot_count + chunks - 1;
    return add_task(lowering,
                    (struct weft_task){
                        .kind = WEFT_TASK_TRANSFER,
                        .size_bytes = (uint64_t)(bytes / chunks),
                        .from = servers == NULL ? transfer->from : servers[transfer->from],
                        .to = servers == NULL ? transfer->to : servers[transfer->to],
                    });
}

// All of a round read before any writes.
static void lower_round(struct lowering *lowering, const struct weft_round_walk *walk,
                        struct weft_arena scratch)
{
    uint32_t *tasks = WEFT_NEW_RAW(&scratch, uint32_t, walk->transfer_count);
    for (uint32_t i = 0; i < walk->transfer_count; i++) {
        const struct weft_transfer *transfer = &walk->transfers[i];
        tasks[i] = transfer_task(lowering, transfer);
        if (lowering->schedule->port_count == 1 && transfer->from != transfer->to) {
            follow(lowering, &lowering->last_send[transfer->from], tasks[i]);
            follow(lowering, &lowering->last_receive[transfer->to], tasks[i]);
        }
        if (lowering->schedule->in_order && transfer->from != transfer->to) {
            size_t pair = (size_t)transfer->from * lowering->schedule->rank_count + transfer->to;
            follow(lowering, &lowering->last_between[pair], tasks[i]);
        }
        for (uint32_t k = 0; k < transfer->slot_count; k++) {
            size_t slot = slot_of(lowering, transfer->from, transfer->from_slot + k);
            read_slot(lowering, slot, tasks[i]);
            push(&lowering->links, &lowering->readers[slot], tasks[i]);
        }
    }
    for (uint32_t i = 0; i < walk->transfer_count; i++) {
        const struct weft_transfer *transfer = &walk->transfers[i];
        for (uint32_t k = 0; k < transfer->slot_count; k++) {
            size_t slot = slot_of(lowering, transfer->to, transfer->to_slot + k);
            write_slot(lowering, slot, transfer->op, tasks[i]);
        }
    }
}

// In lock step: a barrier ends each round, which is all that anybody waits for.
static void lower_paced(struct lowering *lowering, const struct weft_round_walk *walk)
{
    uint32_t before = lowering->task_count - 1;
    for (uint32_t i = 0; i < walk->transfer_count; i++) {
        transfer_task(lowering, &walk->transfers[i]);
    }
    uint32_t end = add_task(lowering, (struct weft_task){.kind = WEFT_TASK_BARRIER});
    for (uint32_t task = before + 1; task < end; task++) {
        add_edge(lowering, before, task);
        add_edge(lowering, task, end);
    }
}

// How many slots all transfers together touch at one end.
static uint64_t slots_moved(const struct weft_schedule *schedule)
{
    uint64_t moved = 0;
    for (uint32_t s = 0; s < schedule->step_count; s++) {
        const struct weft_step *step = &schedule->steps[s];
        moved += (uint64_t)step->round_count * step->item_count * step->slot_count;
    }
    return moved;
}

// Walks the schedule once and keeps for each slot which tasks its readers must wait for. The room
// for tasks, lists and edges is bounded beforehand by the slots that are moved, since each read and
// each write adds a bounded number of entries.
bool weft_schedule_lower_tasks(struct weft_task_list *list, const struct weft_schedule *schedule,
                               const struct weft_lower_options *options, struct weft_arena *arena,
                               struct weft_arena scratch, struct weft_error *error)
{
    uint64_t moved = slots_moved(schedule);
    uint64_t transfers = weft_schedule_transfer_count(schedule);
    // A read joins at most once, and leaves an entry; so does a write; a write takes over entries.
    if (3 * moved + 3 * transfers + 2 * (uint64_t)schedule->round_count >= TASK_LIMIT) {
        return weft_fail(error, WEFT_INPUT,
                         "schedule '%s' moves %llu slots, too many to play one by one; take fewer "
                         "ranks or chunks",
                         schedule->name, (unsigned long long)moved);
    }
    size_t slots = (size_t)schedule->rank_count * schedule->slot_count;
    size_t task_room = (size_t)(transfers + moved) + schedule->round_count + 1;
    size_t entry_room = (size_t)(4 * moved) + 1;
    size_t edge_room = entry_room + 2 * task_room + (size_t)moved;
    size_t pairs = (size_t)schedule->rank_count * schedule->rank_count;
    WEFT_ASSERT(!schedule->in_order || schedule->port_count != 1); // edges have room for one order
    struct lowering lowering = {
        .schedule = schedule,
        .options = options,
        .tasks = WEFT_NEW_RAW(arena, struct weft_task, task_room),
        .before = WEFT_NEW_RAW(&scratch, uint32_t, edge_room),
        .after = WEFT_NEW_RAW(&scratch, uint32_t, edge_room),
        .edge_room = edge_room,
        .links = {WEFT_NEW_RAW(&scratch, uint32_t, entry_room),
                  WEFT_NEW_RAW(&scratch, uint32_t, entry_room), 0},
        .version = WEFT_NEW(&scratch, uint32_t, slots),
        .readers = WEFT_NEW(&scratch, uint32_t, slots),
        .seen = WEFT_NEW(&scratch, uint32_t, task_room),
        .last_between = schedule->in_order ? WEFT_NEW(&scratch, uint32_t, pairs) : NULL,
        .last_send = WEFT_NEW(&scratch, uint32_t, schedule->rank_count),
        .last_receive = WEFT_NEW(&scratch, uint32_t, schedule->rank_count),
    };
    if (options->lock_step) {
        add_task(&lowering, (struct weft_task){.kind = WEFT_TASK_BARRIER});
    }
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        if (options->lock_step) {
            lower_paced(&lowering, &walk);
        } else {
            lower_round(&lowering, &walk, scratch);
        }
    }
    weft_task_connect(lowering.tasks, lowering.task_count, lowering.before, lowering.after,
                      lowering.edge_count, arena);
    *list = (struct weft_task_list){lowering.task_count, lowering.tasks};
    return true;
}

bool weft_schedule_lower(struct weft_taskgraph *graph, const struct weft_schedule *schedule,
                         const struct weft_lower_options *options, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error)
{
    // The list is made beside the scratch memory of its making, and gone at the end.
    struct weft_arena upper = weft_arena_split(&scratch);
    struct weft_task_list list;
    return weft_schedule_lower_tasks(&list, schedule, options, &upper, scratch, error) &&
           weft_taskgraph_build(
               graph,
               &(struct weft_taskgraph_draft){.server_count = options->server_count,
                                              .task_count = list.count,
                                              .tasks = list.tasks},
               arena, scratch, error);
}
