// SPDX-License-Identifier: Apache-2.0
// Checks jobs against the fabric and lays the executor out that plays them.
//
// First a walk over all tasks and rings finds what is wrong with them, names it for the user, and
// counts what the run needs at most; then every array is reserved once, so that nothing fails or
// grows while the run goes on. O(tasks + members and links of rings).

#include "executor.h"

#include <string.h>

// What the jobs need at most, counted before anything is reserved.
struct needs {
    uint64_t tasks;
    uint64_t devices;
    uint64_t groups;
    uint64_t runs;
    uint64_t run_paths;
    uint64_t transfer_paths;
    uint32_t hop_max;
    const struct weft_routes *routes; // of what is counted
    const struct weft_sim_options *options;
};

// Of routes longer than this, those that are taken are measured, to reserve no more than they need:
// neighbors on a ring of 65,536 are one link apart.
#define LONG_ROUTE 64u

static bool count_paths(uint32_t *count, const struct weft_routes *routes, uint32_t from,
                        uint32_t to, struct needs *needs, struct weft_error *error)
{
    *count = from == to ? 0 : weft_routes_path_count(routes, from, to);
    if (from != to && *count == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "no route from server %u to server %u; join them by links", from, to);
    }
    for (uint32_t i = 0; i < *count && needs->hop_max < routes->hop_max; i++) {
        uint32_t hops = weft_routes_hop_count(routes, from, to, i);
        needs->hop_max = hops > needs->hop_max ? hops : needs->hop_max;
    }
    *count = from == to ? 0
                        : sim_circuits_part_max(routes->fabric, needs->options,
                                                weft_routes_part_count(routes, from, to));
    return true;
}

static bool check_hop_links(const struct weft_ring *ring, uint32_t index,
                            const struct weft_fabric *fabric, uint32_t from, uint32_t to,
                            struct weft_error *error)
{
    uint32_t at = from;
    for (uint32_t i = ring->hop_first[index]; i < ring->hop_first[index + 1]; i++) {
        uint32_t id = ring->hop_links[i];
        if (id >= fabric->link_count || fabric->links[id].from != at) {
            return weft_fail(error, WEFT_INPUT,
                             "the links of the hop from server %u to server %u do not join up",
                             from, to);
        }
        at = fabric->links[id].to;
    }
    if (at != to) {
        return weft_fail(error, WEFT_INPUT,
                         "the links of the hop from server %u lead to node %u instead of server %u",
                         from, at, to);
    }
    return true;
}

// A folded ring's hops are lists of links, one path each. Packets take real paths alone.
static bool check_folded(uint64_t *path_count, const struct weft_ring *ring,
                         const struct weft_fabric *fabric, const struct weft_sim_options *options,
                         struct needs *needs, struct weft_error *error)
{
    if (options->engine == WEFT_ENGINE_PACKET || options->circuits != NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "a folded ring is for the flow engine and links that stay; unfold it");
    }
    WEFT_ASSERT(ring->hop_first != NULL);
    for (uint32_t i = 0; i < ring->member_count; i++) {
        uint32_t first = ring->hop_first[i];
        uint32_t hops = ring->hop_first[i + 1] - first;
        for (uint32_t h = first; h < first + hops; h++) {
            if (ring->hop_links[h] >= fabric->link_count) {
                return weft_fail(error, WEFT_INPUT, "a folded ring names link %u; there are %u",
                                 ring->hop_links[h], fabric->link_count);
            }
        }
        needs->hop_max = hops > needs->hop_max ? hops : needs->hop_max;
    }
    *path_count = ring->member_count;
    return true;
}

// The paths of all hops of a ring; its members are the job's servers.
static bool check_ring(uint64_t *path_count, const struct weft_ring *ring,
                       const struct weft_sim_job *job, const struct weft_routes *routes,
                       struct needs *needs, struct weft_error *error)
{
    const struct weft_fabric *fabric = routes->fabric;
    if (!(ring->share_ratio > 0 && ring->share_ratio <= 1)) {
        return weft_fail(error, WEFT_INPUT, "a ring carries a share of %g; write one in (0, 1]",
                         ring->share_ratio);
    }
    uint64_t total = 0;
    for (uint32_t i = 0; i < ring->member_count; i++) {
        uint32_t next = (i + 1) % ring->member_count;
        if (ring->members[i] >= job->graph->server_count ||
            ring->members[next] >= job->graph->server_count) {
            return weft_fail(error, WEFT_INPUT, "a ring names server %u; the job has %u",
                             ring->members[ring->members[i] >= job->graph->server_count ? i : next],
                             job->graph->server_count);
        }
        uint32_t from = executor_server(job, ring->members[i]);
        uint32_t to = executor_server(job, ring->members[next]);
        uint32_t count = 1;
        if (ring->hop_first != NULL) {
            if (!check_hop_links(ring, i, fabric, from, to, error)) {
                return false;
            }
            uint32_t hops = ring->hop_first[i + 1] - ring->hop_first[i];
            needs->hop_max = hops > needs->hop_max ? hops : needs->hop_max;
        } else if (!count_paths(&count, routes, from, to, needs, error)) {
            return false;
        }
        total += count;
    }
    *path_count = total;
    return true;
}

// Checks the rings of a group, or the ring that its members' own order makes where there is none,
// and counts their paths: a collective holds all of them at once. Every ring has all members of the
// group; one member alone needs no path.
static bool check_group(struct executor_group *out, uint32_t group, const struct weft_sim_job *job,
                        struct needs *needs, struct weft_error *error)
{
    const struct weft_routes *routes = needs->routes;
    const struct weft_taskgraph *graph = job->graph;
    uint32_t first = graph->group_first[group];
    uint32_t member_count = graph->group_first[group + 1] - first;
    struct weft_ring own = {group, member_count, &graph->group_members[first], 1, NULL, NULL, NULL};
    const struct weft_ring *rings = &own;
    uint32_t ring_count = 1;
    if (out->ring_count > 0) {
        rings = out->rings;
        ring_count = out->ring_count;
    }
    uint64_t total = 0;
    for (uint32_t i = 0; i < ring_count; i++) {
        const struct weft_ring *ring = &rings[i];
        uint32_t size = ring->fold != NULL ? ring->fold->member_count : ring->member_count;
        if (size != member_count) {
            return weft_fail(error, WEFT_INPUT, "group %u: a ring of %u members for a group of %u",
                             group, size, member_count);
        }
        uint64_t count = 0;
        if (member_count > 1) {
            if (!(ring->fold != NULL
                      ? check_folded(&count, ring, routes->fabric, needs->options, needs, error)
                      : check_ring(&count, ring, job, routes, needs, error))) {
                return weft_wrap(error, "group %u", group);
            }
            total += count;
        }
    }
    if (total > UINT32_MAX / 4) {
        return weft_fail(error, WEFT_INPUT, "group %u: its rings have too many paths", group);
    }
    out->path_count = (uint32_t)total;
    return true;
}

// Finds each group's rings, which stand together, and checks them.
static bool check_groups(struct executor_group *groups, const struct weft_sim_job *job,
                         struct needs *needs, struct weft_error *error)
{
    uint32_t group_count = job->graph->group_count;
    memset(groups, 0, group_count * sizeof(*groups));
    for (uint32_t i = 0; i < job->rings.ring_count; i++) {
        const struct weft_ring *ring = &job->rings.rings[i];
        if (ring->group >= group_count) {
            return weft_fail(error, WEFT_INPUT, "ring %u: group %u does not exist; the job has %u",
                             i, ring->group, group_count);
        }
        struct executor_group *group = &groups[ring->group];
        if (group->ring_count > 0 && group->rings + group->ring_count != ring) {
            return weft_fail(error, WEFT_INPUT, "ring %u: not beside the other rings of group %u",
                             i, ring->group);
        }
        group->rings = group->ring_count == 0 ? ring : group->rings;
        group->ring_count++;
    }
    for (uint32_t group = 0; group < group_count; group++) {
        if (!check_group(&groups[group], group, job, needs, error)) {
            return false;
        }
    }
    return true;
}

static bool check_tasks(const struct weft_sim_job *job, const struct executor_group *groups,
                        const struct weft_routes *routes, struct needs *needs,
                        struct weft_error *error)
{
    const struct weft_taskgraph *graph = job->graph;
    for (uint32_t task = 0; task < graph->task_count; task++) {
        if (graph->kind[task] == WEFT_TASK_TRANSFER) {
            uint32_t from = executor_server(job, graph->from[task]);
            uint32_t to = executor_server(job, graph->to[task]);
            uint32_t count;
            if (!count_paths(&count, routes, from, to, needs, error)) {
                return weft_wrap(error, "task %u", task);
            }
            needs->transfer_paths += count;
        } else if (weft_task_is_collective(graph, task)) {
            const struct executor_group *group = &groups[graph->group[task]];
            needs->runs += group->ring_count > 0 ? group->ring_count : 1;
            needs->run_paths += group->path_count;
        }
    }
    return true;
}

// Whether the packet engine can play the job.
static bool check_packets(const struct weft_sim_job *job, const struct weft_fabric *fabric,
                          const struct weft_sim_options *options, struct weft_error *error)
{
    if (!packet_check_fabric(fabric, options, error)) {
        return false;
    }
    const struct weft_taskgraph *graph = job->graph;
    double factor = options->packet_bytes / (double)(options->packet_bytes - options->header_bytes);
    for (uint32_t task = 0; task < graph->task_count; task++) {
        double wire_bytes = 2 * factor * (double)graph->size_bytes[task];
        if (!packet_check_message(wire_bytes, options, error)) {
            return weft_wrap(error, "task %u", task);
        }
    }
    return true;
}

static bool check_servers(const struct weft_sim_job *job, const struct weft_fabric *fabric,
                          struct weft_error *error)
{
    for (uint32_t server = 0; server < job->graph->server_count; server++) {
        if (executor_server(job, server) >= fabric->server_count) {
            return weft_fail(error, WEFT_INPUT,
                             "it needs server %u; the fabric has %u: use a larger fabric",
                             executor_server(job, server), fabric->server_count);
        }
    }
    return true;
}

// Messages at once: one a path, and one to spare. In partitions two more of a path may be over
// while their senders do not know yet.
static uint64_t count_flows(const struct needs *needs, const struct weft_sim_options *options)
{
    uint64_t paths = needs->run_paths + needs->transfer_paths + 1;
    return options->partitions.count > 1 ? 3 * paths : paths;
}

// Reserves what `needs` counted. Every path may carry a message at the same time, hence as many
// classes as paths, and one to spare. A task, a ring run or a job has one event in the heap at
// most.
static void lay_out(struct executor *executor, const struct weft_routes *routes,
                    const struct weft_sim_options *options, const struct needs *needs,
                    struct weft_arena *arena)
{
    uint32_t tasks = (uint32_t)needs->tasks;
    uint32_t devices = (uint32_t)needs->devices;
    uint32_t paths = (uint32_t)(needs->run_paths + needs->transfer_paths) + 1;
    const struct weft_active_room room = {paths, (uint32_t)count_flows(needs, options),
                                          needs->hop_max};
    executor->run_room = (uint32_t)needs->runs;
    weft_simnet_init(&executor->net, routes->fabric, routes, options, &room, arena);
    executor->tasks.job = WEFT_NEW_RAW(arena, uint32_t, tasks);
    executor->tasks.waits_for = WEFT_NEW_RAW(arena, uint32_t, tasks);
    executor->tasks.first_run = WEFT_NEW_RAW(arena, uint32_t, tasks);
    memset(executor->tasks.first_run, 0xff, tasks * sizeof(uint32_t)); // WEFT_NONE
    executor->tasks.parts_left = WEFT_NEW(arena, uint32_t, tasks);
    executor->tasks.part_end_ps = WEFT_NEW(arena, double, tasks);
    executor->tasks.next_in_queue = WEFT_NEW_RAW(arena, uint32_t, tasks);
    if (options->timeline) {
        executor->tasks.start_ps = WEFT_NEW(arena, double, tasks);
        executor->tasks.end_ps = WEFT_NEW(arena, double, tasks);
    }
    executor->devices.queues = WEFT_NEW_RAW(arena, struct executor_queue, devices);
    executor->devices.is_busy = WEFT_NEW(arena, bool, devices);
    memset(executor->devices.queues, 0xff, devices * sizeof(struct executor_queue)); // WEFT_NONE
    executor->rings.runs = WEFT_NEW_RAW(arena, struct executor_run, needs->runs);
    executor->rings.paths = WEFT_NEW_RAW(arena, struct weft_simnet_path, needs->run_paths);
    executor->events.entries = WEFT_NEW_RAW(arena, struct executor_event,
                                            (size_t)tasks + needs->runs + executor->job_count);
    executor->ready.head = WEFT_NONE;
    for (uint32_t job = 0; job < executor->job_count; job++) {
        uint32_t first = executor->first_task[job];
        for (uint32_t task = first; task < executor->first_task[job + 1]; task++) {
            executor->tasks.job[task] = job;
        }
    }
}

// Checks all jobs, rings and tasks, and counts what they need.
static bool check_jobs(struct executor *built, const struct weft_network *network,
                       const struct weft_sim_options *options, struct needs *needs,
                       struct weft_error *error)
{
    const struct weft_routes *routes = &network->routes;
    for (uint32_t job = 0; job < built->job_count; job++) {
        const struct weft_sim_job *own = &built->jobs[job];
        struct executor_group *groups = &built->groups[built->first_group[job]];
        if (!check_servers(own, &network->fabric, error) ||
            !check_groups(groups, own, needs, error) ||
            !check_tasks(own, groups, routes, needs, error) ||
            (options->engine == WEFT_ENGINE_PACKET &&
             !check_packets(own, &network->fabric, options, error))) {
            return weft_wrap(error, "job %u", job);
        }
    }
    return true;
}

// A job that is alone, and was checked, plays the hops alone that stand for all (fold.c).
static bool fold_job(struct executor *built, const struct weft_network *network,
                     const struct weft_sim_options *options, struct weft_arena *arena,
                     struct weft_arena scratch)
{
    struct weft_sim_job *own = WEFT_NEW(arena, struct weft_sim_job, 1);
    *own = built->jobs[0];
    if (built->job_count != 1 ||
        !executor_fold(&own->rings, network, &built->jobs[0], options, arena, scratch)) {
        return false;
    }
    built->jobs = own;
    built->is_folded = true;
    return true;
}

bool executor_build(struct executor *executor, const struct weft_network *network,
                    const struct weft_sim_job *jobs, uint32_t job_count,
                    const struct weft_sim_options *options,
                    const struct weft_environment *environment)
{
    const struct weft_fabric *fabric = &network->fabric;
    const struct weft_routes *routes = &network->routes;
    struct weft_arena *arena = environment->arena;
    struct weft_error *error = environment->error;
    struct executor built = {.jobs = jobs, .job_count = job_count};
    bool is_long = routes->hop_max > LONG_ROUTE && options->circuits == NULL &&
                   options->engine == WEFT_ENGINE_FLOW; // packets go back, too
    struct needs needs = {.hop_max = is_long || routes->hop_max == 0 ? 1 : routes->hop_max,
                          .routes = routes,
                          .options = options};
    WEFT_ASSERT(routes->fabric == fabric);
    if (!weft_simnet_check_options(options, error) || !sim_circuits_check(fabric, options, error)) {
        return false;
    }
    built.first_task = WEFT_NEW_RAW(arena, uint32_t, (size_t)job_count + 1);
    built.first_device = WEFT_NEW_RAW(arena, uint32_t, (size_t)job_count + 1);
    built.first_group = WEFT_NEW_RAW(arena, uint32_t, (size_t)job_count + 1);
    for (uint32_t job = 0; job <= job_count; job++) {
        if (needs.tasks >= EXECUTOR_RUN_OWNER || needs.devices > UINT32_MAX / 2 ||
            needs.groups > UINT32_MAX / 2) {
            return weft_fail(error, WEFT_INPUT, "the jobs have too many tasks; simulate fewer");
        }
        built.first_task[job] = (uint32_t)needs.tasks;
        built.first_device[job] = (uint32_t)needs.devices;
        built.first_group[job] = (uint32_t)needs.groups;
        if (job < job_count) {
            needs.tasks += jobs[job].graph->task_count;
            needs.devices += jobs[job].graph->device_count;
            needs.groups += jobs[job].graph->group_count;
        }
    }
    built.groups = WEFT_NEW_RAW(arena, struct executor_group, needs.groups);
    const struct needs none = needs;
    if (!check_jobs(&built, network, options, &needs, error)) {
        return false;
    }
    if (fold_job(&built, network, options, arena, environment->scratch)) {
        needs.runs = none.runs; // those of what is played
        needs.run_paths = none.run_paths;
        needs.transfer_paths = none.transfer_paths;
        if (!check_jobs(&built, network, options, &needs, error)) {
            return false;
        }
    }
    if (needs.runs >= EXECUTOR_RUN_OWNER ||
        count_flows(&needs, options) * needs.hop_max > UINT32_MAX / 2) {
        return weft_fail(error, WEFT_INPUT, "the jobs have too many flows; simulate fewer");
    }
    if (options->engine == WEFT_ENGINE_PACKET &&
        !packet_ports_check_flows(options, count_flows(&needs, options), needs.hop_max, error)) {
        return false;
    }
    lay_out(&built, routes, options, &needs, arena);
    if (options->engine == WEFT_ENGINE_PACKET && options->packet->mlt.queue_count > 0) {
        executor_lay_out_layers(&built, (uint32_t)needs.tasks, arena, environment->scratch);
    }
    if (!executor_lay_out_iterations(&built, options, arena, error)) {
        return false;
    }
    *executor = built;
    return true;
}
