// SPDX-License-Identifier: Apache-2.0
// A task graph whose collectives run as chosen: each collective task keeps its place and its time
// inside the servers, and the transfers of its schedule follow it. One schedule is built and
// lowered for each choice and kind of task, in units of slots; tasks of other sizes scale its
// bytes. O(tasks + transfers of all expanded tasks).

#include "weft/collective.h"

#include <string.h>

#define TASKS_MAX (1u << 22) // a limit of memory (about 64 bytes a task), not tuned
// Schedules that a plan names must come out the same for everybody who reads the plan.
#define SYNTHESIS_SEED 1u

static bool collective_kind(enum weft_collective_kind *kind, enum weft_task_kind task)
{
    static const struct {
        enum weft_task_kind task;
        enum weft_collective_kind kind;
    } pairs[] = {{WEFT_TASK_ALLREDUCE, WEFT_COLLECTIVE_ALLREDUCE},
                 {WEFT_TASK_REDUCE_SCATTER, WEFT_COLLECTIVE_REDUCE_SCATTER},
                 {WEFT_TASK_ALL_GATHER, WEFT_COLLECTIVE_ALLGATHER}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (pairs[i].task == task) {
            *kind = pairs[i].kind;
            return true;
        }
    }
    return false;
}

// ---- the schedule of a choice ----

static const struct weft_ring *first_ring(const struct weft_ring_set *rings, uint32_t group)
{
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        if (rings->rings[r].group == group) {
            return &rings->rings[r];
        }
    }
    return NULL;
}

// The rings of a group, whose members stand in them by their place in the group. Rings are of a
// plan's file, which may be another job's.
static bool place_rings(struct weft_algorithm_options *options, const struct weft_ring_set *rings,
                        const struct weft_taskgraph *graph, uint32_t group,
                        const struct weft_environment *environment)
{
    const uint32_t *members = graph->group_members + graph->group_first[group];
    struct weft_arena scratch = environment->scratch;
    uint32_t *place = WEFT_NEW_RAW(&scratch, uint32_t, graph->server_count);
    struct weft_ring *placed =
        WEFT_NEW(environment->arena, struct weft_ring, (size_t)rings->ring_count + 1);
    memset(place, 0xff, graph->server_count * sizeof *place); // WEFT_NONE
    for (uint32_t m = 0; m < options->rank_count; m++) {
        place[members[m]] = m;
    }
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        const struct weft_ring *ring = &rings->rings[r];
        if (ring->group != group) {
            continue;
        }
        uint32_t *ranks = WEFT_NEW_RAW(environment->arena, uint32_t, ring->member_count);
        for (uint32_t m = 0; m < ring->member_count; m++) {
            uint32_t server = ring->members[m];
            ranks[m] = server < graph->server_count ? place[server] : WEFT_NONE;
            if (ranks[m] == WEFT_NONE) {
                return weft_fail(environment->error, WEFT_INPUT,
                                 "group %u: ring %u goes through server %u, none of its ranks",
                                 group, r, server);
            }
        }
        placed[options->ring_count++] =
            (struct weft_ring){.member_count = ring->member_count, .members = ranks};
    }
    options->rings = placed;
    return true;
}

// Bytes that each link carries of the transfers, for a byte of the group's AllReduces.
static double *load_beside(const struct weft_taskgraph *graph, uint32_t group,
                           const struct weft_network *network, struct weft_arena *arena)
{
    const struct weft_routes *routes = &network->routes;
    double *load_ratio = WEFT_NEW(arena, double, (size_t)network->fabric.link_count + 1);
    uint32_t *links = WEFT_NEW_RAW(arena, uint32_t, (size_t)routes->hop_max + 1);
    double bytes = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bool own = graph->kind[t] == WEFT_TASK_ALLREDUCE && graph->group[t] == group;
        bytes += own ? (double)graph->size_bytes[t] : 0;
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bool crosses = graph->kind[t] == WEFT_TASK_TRANSFER && graph->from[t] != graph->to[t];
        uint32_t from = crosses ? graph->from[t] : 0;
        uint32_t to = crosses ? graph->to[t] : 0;
        uint32_t count = crosses ? weft_routes_path_count(routes, from, to) : 0;
        for (uint32_t p = 0; p < count; p++) {
            double weight;
            uint32_t hops = weft_routes_path(routes, from, to, p, links, &weight);
            for (uint32_t i = 0; i < hops; i++) {
                load_ratio[links[i]] += (double)graph->size_bytes[t] * weight / bytes;
            }
        }
    }
    return load_ratio;
}

// The schedule of an algorithm that is made for a fabric, of all its servers.
static bool build_for_fabric(struct weft_schedule *schedule,
                             const struct weft_collective_choice *choice,
                             const struct weft_collective_call *call,
                             const struct weft_taskgraph *graph, const struct weft_network *network,
                             const struct weft_environment *environment)
{
    const struct weft_fabric *fabric = &network->fabric;
    uint32_t members = graph->group_first[choice->group + 1] - graph->group_first[choice->group];
    if (members != fabric->server_count) {
        return weft_fail(environment->error, WEFT_INPUT,
                         "%s is of all %u servers, the group has %u",
                         weft_algorithm_name(choice->algorithm), fabric->server_count, members);
    }
    if (choice->algorithm == WEFT_ALGORITHM_PACKED_TREES) {
        struct weft_environment inner = *environment;
        const struct weft_packing_options packing = {
            choice->chunk_factor, load_beside(graph, choice->group, network, &inner.scratch)};
        return weft_pack_trees(schedule, fabric, &packing, &inner);
    }
    struct weft_synthesis_options options = {.size_bytes = call->size_bytes,
                                             .chunk_factor = choice->chunk_factor,
                                             .seed = SYNTHESIS_SEED};
    struct weft_synthesis made;
    if (!collective_kind(&options.kind, call->kind) ||
        !weft_synthesize(&made, fabric, &options, environment->arena, environment->scratch,
                         environment->error)) {
        return false;
    }
    *schedule = made.schedule;
    return true;
}

// Checks the choice against the graph and the network before anything is built: the group exists,
// the algorithm does the kind, the ring whose order is asked for has all members; a synthesized
// schedule is of all servers.
bool weft_collective_choice_build(struct weft_placed_schedule *placed,
                                  const struct weft_collective_choice *choice,
                                  const struct weft_collective_call *call,
                                  const struct weft_taskgraph *graph,
                                  const struct weft_network *network,
                                  const struct weft_environment *environment)
{
    struct weft_error *error = environment->error;
    enum weft_collective_kind kind = WEFT_COLLECTIVE_KIND_COUNT;
    if (choice->group >= graph->group_count) {
        return weft_fail(error, WEFT_INPUT, "group %u: the task graph has %u groups", choice->group,
                         graph->group_count);
    }
    const uint32_t *first = graph->group_first + choice->group;
    uint32_t members = first[1] - first[0];
    const struct weft_ring *ring = first_ring(&network->rings, choice->group);
    if (!collective_kind(&kind, call->kind) || choice->algorithm >= WEFT_ALGORITHM_COUNT ||
        !weft_algorithm_supports(choice->algorithm, kind)) {
        return weft_fail(error, WEFT_INPUT, "group %u: the algorithm cannot do %s", choice->group,
                         weft_task_facts[call->kind].name);
    }
    if (choice->ring_order && (ring == NULL || ring->member_count != members)) {
        return weft_fail(error, WEFT_INPUT, "group %u: there is no ring whose order its ranks have",
                         choice->group);
    }
    bool all_rings = choice->ring_order && choice->algorithm == WEFT_ALGORITHM_MULTI_RING;
    struct weft_placed_schedule built = {.servers = choice->ring_order && !all_rings
                                                        ? ring->members
                                                        : graph->group_members + first[0]};
    struct weft_algorithm_options options = {
        .kind = kind, .rank_count = members, .chunk_factor = choice->chunk_factor};
    if (all_rings && !place_rings(&options, &network->rings, graph, choice->group, environment)) {
        return false;
    }
    bool for_fabric = weft_algorithm_needs_fabric(choice->algorithm);
    built.servers = for_fabric ? NULL : built.servers;
    if (for_fabric ? !build_for_fabric(&built.schedule, choice, call, graph, network, environment)
                   : !weft_algorithm_build(&built.schedule, choice->algorithm, &options,
                                           environment->arena, environment->scratch, error)) {
        return weft_wrap(error, "group %u", choice->group);
    }
    *placed = built;
    return true;
}

// ---- the graph ----

// The schedule of a choice as tasks whose bytes are slots, for tasks of a kind.
struct form {
    bool made;
    uint32_t chunk_count;
    struct weft_task_list list;
    bool *is_root; // waits for none
};

struct expansion {
    const struct weft_taskgraph *graph;
    const struct weft_collective_choice *choices;
    uint32_t choice_count;
    const struct weft_network *network;
    struct form *forms; // [choice * WEFT_TASK_KIND_COUNT + kind]
    struct weft_task *tasks;
    uint32_t task_count;
    struct weft_arena *arena; // until the graph is built
};

// The first choice that a task falls under, or WEFT_NONE.
static uint32_t choice_of(const struct expansion *expansion, uint32_t task)
{
    const struct weft_taskgraph *graph = expansion->graph;
    if (!weft_task_is_collective(graph, task) || graph->size_bytes[task] == 0 ||
        weft_task_member_count(graph, task) < 2) {
        return WEFT_NONE;
    }
    for (uint32_t c = 0; c < expansion->choice_count; c++) {
        const struct weft_collective_choice *choice = &expansion->choices[c];
        if (choice->group == graph->group[task] &&
            graph->size_bytes[task] >= choice->size_min_bytes &&
            graph->size_bytes[task] <= choice->size_max_bytes) {
            return c;
        }
    }
    return WEFT_NONE;
}

static uint64_t largest_size(const struct expansion *expansion, uint32_t choice,
                             enum weft_task_kind kind)
{
    const struct weft_taskgraph *graph = expansion->graph;
    uint64_t largest = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->kind[t] == kind && graph->size_bytes[t] > largest &&
            choice_of(expansion, t) == choice) {
            largest = graph->size_bytes[t];
        }
    }
    return largest;
}

// Builds the schedule for the largest task of a kind that falls under a choice and lowers it with S
// = C bytes, so that a transfer's bytes are its slots, and marks which transfers wait for nothing.
static bool make_form(struct form *form, const struct expansion *expansion, uint32_t choice,
                      enum weft_task_kind kind, struct weft_arena scratch, struct weft_error *error)
{
    struct weft_placed_schedule placed = {0};
    struct weft_arena *arena = expansion->arena;
    const struct weft_collective_call call = {kind, largest_size(expansion, choice, kind)};
    const struct weft_environment inner = {.arena = arena, .scratch = scratch, .error = error};
    if (!weft_collective_choice_build(&placed, &expansion->choices[choice], &call, expansion->graph,
                                      expansion->network, &inner)) {
        return false;
    }
    const struct weft_lower_options options = {.size_bytes = placed.schedule.chunk_count,
                                               .server_count = expansion->graph->server_count,
                                               .servers = placed.servers};
    if (weft_schedule_transfer_count(&placed.schedule) > TASKS_MAX) {
        return weft_fail(error, WEFT_INPUT, "group %u: '%s' has too many transfers to play",
                         expansion->choices[choice].group, placed.schedule.name);
    }
    if (!weft_schedule_lower_tasks(&form->list, &placed.schedule, &options, arena, scratch,
                                   error)) {
        return false;
    }
    form->is_root = WEFT_NEW(arena, bool, (size_t)form->list.count + 1);
    memset(form->is_root, true, form->list.count);
    for (uint32_t t = 0; t < form->list.count; t++) {
        for (uint32_t i = 0; i < form->list.tasks[t].next_count; i++) {
            form->is_root[form->list.tasks[t].next[i]] = false;
        }
    }
    form->chunk_count = placed.schedule.chunk_count;
    form->made = true;
    return true;
}

static uint64_t share_of(uint64_t size_bytes, uint64_t slots, uint64_t chunks)
{
    __extension__ unsigned __int128 bytes = (unsigned __int128)size_bytes * slots + chunks - 1;
    return (uint64_t)(bytes / chunks);
}

// The task, then the roots of its transfers, ..., their leaves, a barrier, the task's successors.
static void expand_task(struct expansion *expansion, uint32_t task, const struct form *form)
{
    struct weft_arena *arena = expansion->arena;
    struct weft_task *whole = &expansion->tasks[task];
    uint32_t base = expansion->task_count;
    uint32_t count = form->list.count;
    uint32_t end = base + count;
    uint32_t *roots = WEFT_NEW_RAW(arena, uint32_t, (size_t)count + 1);
    uint32_t root_count = 0;
    for (uint32_t t = 0; t < count; t++) {
        struct weft_task *copy = &expansion->tasks[base + t];
        *copy = form->list.tasks[t];
        copy->size_bytes = share_of(whole->size_bytes, copy->size_bytes, form->chunk_count);
        uint32_t next_count = copy->next_count > 0 ? copy->next_count : 1;
        uint32_t *next = WEFT_NEW_RAW(arena, uint32_t, next_count);
        next[0] = end;
        for (uint32_t i = 0; i < copy->next_count; i++) {
            next[i] = base + copy->next[i];
        }
        copy->next = next;
        copy->next_count = next_count;
        if (form->is_root[t]) {
            roots[root_count++] = base + t;
        }
    }
    expansion->tasks[end] = (struct weft_task){
        .kind = WEFT_TASK_BARRIER, .next = whole->next, .next_count = whole->next_count};
    whole->next = roots;
    whole->next_count = root_count;
    whole->size_bytes = 0;
    expansion->task_count = end + 1;
}

// Which choice each task falls under, its form made; the tasks there will be.
static bool make_forms(uint32_t *choice_of_task, uint64_t *total, struct expansion *expansion,
                       struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_taskgraph *graph = expansion->graph;
    *total = graph->task_count;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t choice = choice_of(expansion, t);
        choice_of_task[t] = choice;
        if (choice == WEFT_NONE) {
            continue;
        }
        enum weft_task_kind kind = (enum weft_task_kind)graph->kind[t];
        struct form *form = &expansion->forms[(size_t)choice * WEFT_TASK_KIND_COUNT + kind];
        if (!form->made && !make_form(form, expansion, choice, kind, scratch, error)) {
            return false;
        }
        *total += (uint64_t)form->list.count + 1;
    }
    return *total <= TASKS_MAX ||
           weft_fail(error, WEFT_INPUT,
                     "the chosen collectives come to %llu tasks, more than %u; choose rings for "
                     "some",
                     (unsigned long long)*total, TASKS_MAX);
}

// First makes every form that some task needs and counts the tasks to be, so that memory is taken
// once; then copies the graph and hangs the transfers in. The forms live in scratch until the graph
// is built.
bool weft_taskgraph_expand(struct weft_taskgraph *expanded, const struct weft_taskgraph *graph,
                           const struct weft_collective_choice *choices, uint32_t choice_count,
                           const struct weft_network *network,
                           const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct expansion expansion = {
        .graph = graph,
        .choices = choices,
        .choice_count = choice_count,
        .network = network,
        .forms = WEFT_NEW(&kept, struct form, ((size_t)choice_count + 1) * WEFT_TASK_KIND_COUNT),
        .task_count = graph->task_count,
        .arena = &kept,
    };
    uint32_t *choice_of_task = WEFT_NEW(&kept, uint32_t, (size_t)graph->task_count + 1);
    uint64_t total = 0;
    if (!make_forms(choice_of_task, &total, &expansion, scratch, error)) {
        return false;
    }
    expansion.tasks = WEFT_NEW_RAW(&kept, struct weft_task, (size_t)total + 1);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        expansion.tasks[t] = weft_taskgraph_task(graph, t);
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (choice_of_task[t] != WEFT_NONE) {
            expand_task(&expansion, t,
                        &expansion.forms[(size_t)choice_of_task[t] * WEFT_TASK_KIND_COUNT +
                                         graph->kind[t]]);
        }
    }
    WEFT_ASSERT(expansion.task_count == total);
    return weft_taskgraph_build(
        expanded,
        &(struct weft_taskgraph_draft){.server_count = graph->server_count,
                                       .device_count = graph->device_count,
                                       .device_server = graph->device_server,
                                       .task_count = expansion.task_count,
                                       .tasks = expansion.tasks},
        environment->arena, scratch, error);
}
