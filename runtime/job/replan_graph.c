// SPDX-License-Identifier: Apache-2.0
// A job without one of its servers, where others hold and do the same as it (data parallelism).
//
// That is so if all the lost server does is compute and take part in all-reduces with others. A
// transfer, or a shard of a reduce-scatter or all-gather, is something of its own, for which a
// spare server is needed. O(tasks + edges).

#include "replan.h"

#include <string.h>

struct removal {
    const struct weft_taskgraph *graph;
    uint32_t server;
    uint32_t *device_of; // its number afterwards; WEFT_NONE = gone
    uint32_t *task_of;
};

static uint32_t moved(const struct removal *removal, uint32_t server)
{
    return server > removal->server ? server - 1 : server;
}

static bool has_member(const struct weft_taskgraph *graph, uint32_t group, uint32_t server)
{
    bool found = false;
    for (uint32_t i = graph->group_first[group]; i < graph->group_first[group + 1]; i++) {
        found = found || graph->group_members[i] == server;
    }
    return found;
}

// Whether a task has an operation at the server.
static bool touches(const struct weft_taskgraph *graph, uint32_t task, uint32_t server)
{
    enum weft_task_kind kind = (enum weft_task_kind)graph->kind[task];
    if (weft_task_facts[kind].on_device) {
        return graph->device_server[graph->device[task]] == server;
    }
    if (kind == WEFT_TASK_TRANSFER) {
        return graph->from[task] == server || graph->to[task] == server;
    }
    return kind != WEFT_TASK_BARRIER && has_member(graph, graph->group[task], server);
}

bool lab_graph_uses(const struct weft_taskgraph *graph, uint32_t server)
{
    bool used = false;
    for (uint32_t t = 0; t < graph->task_count && !used; t++) {
        used = touches(graph, t, server);
    }
    return used;
}

#define SPARE "have a spare server, which takes its place"

// Whether all that the server does and holds, others do and hold as well: what it has is summed in
// AllReduces with others, and nothing else comes from it or goes to it.
static bool check_others(const struct removal *removal, struct weft_error *error)
{
    const struct weft_taskgraph *graph = removal->graph;
    uint32_t server = removal->server;
    bool computes = false;
    bool shares = false;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        enum weft_task_kind kind = (enum weft_task_kind)graph->kind[t];
        if (!touches(graph, t, server)) {
            continue;
        }
        if (kind == WEFT_TASK_TRANSFER) {
            uint32_t from = graph->from[t];
            uint32_t to = graph->to[t];
            weft_fail(
                error, WEFT_INFEASIBLE,
                "nobody else can do what server %u did: task %u sends from server %u to %u; " SPARE,
                server, t, from, to);
            return weft_remedy(error, "spares", "1");
        }
        bool collective = weft_task_facts[kind].is_collective;
        if (collective && kind != WEFT_TASK_ALLREDUCE) {
            weft_fail(error, WEFT_INFEASIBLE,
                      "nobody else holds what server %u did: a shard of task %u, a %s; " SPARE,
                      server, t, weft_task_facts[kind].name);
            return weft_remedy(error, "spares", "1");
        }
        shares = shares || (collective && weft_task_member_count(graph, t) > 1);
        computes = computes || weft_task_facts[kind].on_device;
    }
    if (!shares && computes) {
        weft_fail(error, WEFT_INFEASIBLE,
                  "nobody else does what server %u did: it shares no AllReduce; " SPARE, server);
        return weft_remedy(error, "spares", "1");
    }
    return true;
}

// A task's members without the server, renumbered.
static const uint32_t *remaining_members(uint32_t *count, const struct removal *removal,
                                         uint32_t task, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = removal->graph;
    uint32_t first = graph->group_first[graph->group[task]];
    uint32_t size = weft_task_member_count(graph, task);
    uint32_t *members = WEFT_NEW(arena, uint32_t, (size_t)size + 1);
    *count = 0;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t member = graph->group_members[first + i];
        if (member != removal->server) {
            members[(*count)++] = moved(removal, member);
        }
    }
    return members;
}

// A task of the smaller job: servers, devices and successors renumbered, groups without the server.
static void copy_task(struct weft_task *task, const struct removal *removal, uint32_t t,
                      struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = removal->graph;
    *task = (struct weft_task){
        .kind = (enum weft_task_kind)graph->kind[t],
        .device = WEFT_NONE,
        .runtime_ps = graph->runtime_ps[t],
        .size_bytes = graph->size_bytes[t],
    };
    if (weft_task_facts[task->kind].on_device) {
        task->device = removal->device_of[graph->device[t]];
    } else if (task->kind == WEFT_TASK_TRANSFER) {
        task->from = moved(removal, graph->from[t]);
        task->to = moved(removal, graph->to[t]);
    } else if (weft_task_facts[task->kind].is_collective) {
        task->members = remaining_members(&task->member_count, removal, t, arena);
    }
    uint32_t *next = WEFT_NEW(arena, uint32_t, graph->next_first[t + 1] - graph->next_first[t] + 1);
    for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
        uint32_t to = removal->task_of[graph->next[e]];
        if (to != WEFT_NONE) {
            next[task->next_count++] = to;
        }
    }
    task->next = next;
}

// Numbers what stays; a collective stays where others are left in it.
static uint32_t number_tasks(const struct removal *removal)
{
    const struct weft_taskgraph *graph = removal->graph;
    uint32_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bool stays = !touches(graph, t, removal->server) ||
                     (weft_task_is_collective(graph, t) && weft_task_member_count(graph, t) > 1);
        removal->task_of[t] = stays ? count++ : WEFT_NONE;
    }
    return count;
}

bool lab_graph_without(struct lab_smaller_graph *smaller, const struct weft_taskgraph *graph,
                       uint32_t server, struct weft_arena *arena, struct weft_arena scratch,
                       struct weft_error *error)
{
    uint32_t *group_of = WEFT_NEW(arena, uint32_t, (size_t)graph->group_count + 1);
    struct removal removal = {
        .graph = graph,
        .server = server,
        .device_of = WEFT_NEW(&scratch, uint32_t, (size_t)graph->device_count + 1),
        .task_of = WEFT_NEW(&scratch, uint32_t, (size_t)graph->task_count + 1),
    };
    uint32_t *servers = WEFT_NEW(&scratch, uint32_t, (size_t)graph->device_count + 1);
    uint32_t device_count = 0;
    if (server >= graph->server_count) {
        for (uint32_t g = 0; g < graph->group_count; g++) {
            group_of[g] = g;
        }
        *smaller = (struct lab_smaller_graph){*graph, group_of};
        return true;
    }
    if (!check_others(&removal, error)) {
        return false;
    }
    for (uint32_t d = 0; d < graph->device_count; d++) {
        bool stays = graph->device_server[d] != server;
        removal.device_of[d] = stays ? device_count : WEFT_NONE;
        if (stays) {
            servers[device_count++] = moved(&removal, graph->device_server[d]);
        }
    }
    uint32_t task_count = number_tasks(&removal);
    struct weft_task *tasks = WEFT_NEW(&scratch, struct weft_task, (size_t)task_count + 1);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (removal.task_of[t] != WEFT_NONE) {
            copy_task(&tasks[removal.task_of[t]], &removal, t, &scratch);
        }
    }
    const struct weft_taskgraph_draft draft = {
        .server_count = graph->server_count - 1,
        .device_count = device_count,
        .device_server = servers,
        .task_count = task_count,
        .tasks = tasks,
    };
    if (!weft_taskgraph_build(&smaller->graph, &draft, arena, scratch, error)) {
        return weft_wrap(error, "the job without server %u", server);
    }
    memset(group_of, 0xff, graph->group_count * sizeof *group_of);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (weft_task_is_collective(graph, t) && removal.task_of[t] != WEFT_NONE) {
            group_of[graph->group[t]] = smaller->graph.group[removal.task_of[t]];
        }
    }
    smaller->group_of = group_of;
    return true;
}
