// SPDX-License-Identifier: Apache-2.0
// One of a server's rails by itself: the tasks of the first place, with its share of collectives.
//
// Rails of a plan are alike, so that one stands for all where it does not wait for another: tasks
// of other places are left out, and what they share with this one (collectives, barriers) has its
// own part alone. O(tasks + edges).

#include "rails.h"

// Whether a task is one of the first place.
static bool is_here(const struct rail_places *places, const struct weft_taskgraph *graph,
                    uint32_t task)
{
    uint32_t device = graph->device[task];
    return device != WEFT_NONE ? places->of_device[device] == 0
                               : (rail_places_of(places, task) & 1) != 0;
}

// A device that waits for one of another place, as stages inside a server do, has no rail alone.
static bool check_edges(const struct rail_places *places, const struct weft_taskgraph *graph,
                        struct weft_error *error)
{
    for (uint32_t t = 0; t < graph->task_count; t++) {
        for (uint32_t e = graph->next_first[t];
             graph->device[t] != WEFT_NONE && e < graph->next_first[t + 1]; e++) {
            uint32_t next = graph->device[graph->next[e]];
            if (next != WEFT_NONE &&
                places->of_device[next] != places->of_device[graph->device[t]]) {
                return weft_fail(error, WEFT_UNSUPPORTED,
                                 "stages inside server %u wait for each other, so that no rail is "
                                 "one by itself; plan it with the stages outermost (order=tcdp)",
                                 graph->device_server[next]);
            }
        }
    }
    return true;
}

// The task with its successors and its device as they are numbered here.
static struct weft_task renumber(const struct weft_taskgraph *graph, uint32_t task,
                                 const uint32_t *tasks, const uint32_t *devices,
                                 struct weft_arena *arena)
{
    struct weft_task made = weft_taskgraph_task(graph, task);
    uint32_t *next = WEFT_NEW(arena, uint32_t, (size_t)made.next_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < made.next_count; i++) {
        if (tasks[made.next[i]] != WEFT_NONE) {
            next[count++] = tasks[made.next[i]];
        }
    }
    made.next = next;
    made.next_count = count;
    made.device = graph->device[task] == WEFT_NONE ? WEFT_NONE : devices[graph->device[task]];
    return made;
}

bool weft_rail_alone(struct weft_taskgraph *alone, const struct weft_taskgraph *graph,
                     uint32_t places, struct weft_arena *arena, struct weft_arena scratch,
                     struct weft_error *error)
{
    struct rail_places found;
    struct weft_arena own = weft_arena_split(&scratch);
    rail_places_find(&found, graph, places, &own, scratch);
    if (!check_edges(&found, graph, error)) {
        return false;
    }
    uint32_t *devices = WEFT_NEW(&own, uint32_t, (size_t)graph->device_count + 1);
    uint32_t *servers = WEFT_NEW(&own, uint32_t, (size_t)graph->device_count + 1);
    uint32_t *tasks = WEFT_NEW(&own, uint32_t, (size_t)graph->task_count + 1);
    struct weft_task *list = WEFT_NEW(&own, struct weft_task, (size_t)graph->task_count + 1);
    uint32_t device_count = 0;
    uint32_t count = 0;
    for (uint32_t d = 0; d < graph->device_count; d++) {
        devices[d] = found.of_device[d] == 0 ? device_count : WEFT_NONE;
        servers[device_count] = graph->device_server[d];
        device_count += found.of_device[d] == 0;
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        tasks[t] = is_here(&found, graph, t) ? count++ : WEFT_NONE;
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (tasks[t] == WEFT_NONE) {
            continue;
        }
        struct weft_task *task = &list[tasks[t]];
        *task = renumber(graph, t, tasks, devices, &own);
        if (weft_task_is_collective(graph, t)) {
            uint64_t share = (uint64_t)__builtin_popcountll(rail_places_of(&found, t));
            task->size_bytes = (task->size_bytes + share / 2) / share;
        }
    }
    const struct weft_taskgraph_draft draft = {graph->server_count, device_count, servers, count,
                                               list};
    return weft_taskgraph_build(alone, &draft, arena, scratch, error);
}
