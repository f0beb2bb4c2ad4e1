// SPDX-License-Identifier: Apache-2.0
// Collectives on rings: rounds of equal messages with a barrier after each (Patarasuk and Yuan,
// "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009).
//
// A group has one ring in the order of its members, or several with a share of the bytes each. A
// ring of k members takes k - 1 rounds a pass over it, two passes for an AllReduce; in a round
// every member sends 1/k of the ring's bytes to its next: k flows, or more where a hop has several
// paths. A folded ring (weft_ring_fold) has the rounds and messages of the whole one on some of its
// hops. Options of the simulation put small collectives, or all, into one round of as many bytes.

#include "executor.h"

#include <math.h>

// Holds the paths of the hop from the ring's member `index` to its next, and returns their number.
static uint32_t open_hop(struct executor *executor, uint32_t job_id, const struct weft_ring *ring,
                         uint32_t index, uint64_t hash, struct weft_simnet_path *paths)
{
    struct weft_simnet *net = &executor->net;
    const struct weft_sim_job *job = &executor->jobs[job_id];
    if (ring->hop_first != NULL && net->circuits == NULL) {
        uint32_t first = ring->hop_first[index];
        uint32_t count = ring->hop_first[index + 1] - first;
        if (count == 0) {
            return 0;
        }
        *paths = (struct weft_simnet_path){
            weft_simnet_open(net, &ring->hop_links[first], count, job_id), 1};
        return 1;
    }
    uint32_t from = executor_server(job, ring->members[index]);
    uint32_t to = executor_server(job, ring->members[(index + 1) % ring->member_count]);
    uint32_t count = weft_simnet_path_count(net, from, to);
    for (uint32_t i = 0; i < count; i++) {
        paths[i] = weft_simnet_open_path(net, from, to, i, weft_hash(hash ^ index), job_id);
    }
    return count;
}

// Counts what is not played of a ring, which carries as much on each of its links.
static void count_hidden(struct executor *executor, const struct weft_ring_fold *fold,
                         double wire_bytes, uint32_t rounds)
{
    double *link_bytes = executor->net.active.link_bytes;
    for (uint32_t i = 0; i < fold->hidden_count; i++) {
        link_bytes[fold->hidden_links[i]] += wire_bytes * rounds;
    }
    executor->hidden_count += (uint64_t)fold->hidden_hop_count * rounds;
}

// Rounds of a collective on a ring, and the bytes that each member sends in one.
static uint32_t ring_rounds(double *message_bytes, const struct executor *executor, uint32_t task,
                            const struct weft_ring *ring)
{
    uint32_t local;
    const struct weft_taskgraph *graph = executor_graph(executor, task, &local);
    const struct weft_sim_options *options = executor->net.options;
    double size_bytes = (double)graph->size_bytes[local];
    uint32_t members = ring->fold != NULL ? ring->fold->member_count : ring->member_count;
    *message_bytes = size_bytes / members * ring->share_ratio;
    uint32_t rounds = weft_task_facts[graph->kind[local]].ring_passes * (members - 1);
    bool is_small =
        options->small_in_one_round && size_bytes < options->packet_bytes * (double)members;
    if (is_small || options->one_round) {
        *message_bytes *= rounds;
        return 1;
    }
    return rounds;
}

// The rounds at the end in which sums or shards are handed on: an all-gather, and the later half of
// an AllReduce. One round alone has both halves.
static uint32_t gather_rounds(const struct executor *executor, uint32_t task, uint32_t rounds)
{
    uint32_t local;
    const struct weft_taskgraph *graph = executor_graph(executor, task, &local);
    if (graph->kind[local] == WEFT_TASK_REDUCE_SCATTER) {
        return 0;
    }
    return graph->kind[local] == WEFT_TASK_ALLREDUCE && rounds > 1 ? rounds / 2 : rounds;
}

// The paths of a ring at most: over circuits its hops may go in more parts another time.
static uint32_t paths_max(const struct executor *executor, uint32_t job_id,
                          const struct weft_ring *ring, uint32_t count)
{
    const struct weft_sim_job *job = &executor->jobs[job_id];
    if (executor->net.circuits == NULL) {
        return count;
    }
    uint32_t most = 0;
    for (uint32_t i = 0; i < ring->member_count; i++) {
        uint32_t from = executor_server(job, ring->members[i]);
        uint32_t to = executor_server(job, ring->members[(i + 1) % ring->member_count]);
        most +=
            from == to ? 0 : sim_circuits_part_max(executor->net.fabric, executor->net.options, 1);
    }
    return most;
}

// In later iterations a task's runs and their paths take the places that they had in the first.
static void start_ring(struct executor *executor, uint32_t id, uint32_t task,
                       const struct weft_ring *ring, double now_ps)
{
    double message_bytes;
    uint32_t rounds = ring_rounds(&message_bytes, executor, task, ring);
    bool again = id < executor->rings.run_count;
    struct executor_run *run = &executor->rings.runs[id];
    *run = (struct executor_run){
        .task = task,
        .first_path = again ? run->first_path : executor->rings.path_count,
        .rounds_left = rounds,
        .gather_rounds = gather_rounds(executor, task, rounds),
        .wire_bytes = weft_simnet_wire_bytes(&executor->net, message_bytes),
        .delays = ring->fold != NULL ? ring->fold->delays : NULL,
    };
    if (ring->fold != NULL) {
        count_hidden(executor, ring->fold, run->wire_bytes, rounds);
    }
    uint64_t hash = weft_hash(executor->net.options->seed ^ weft_hash(id));
    uint32_t job = executor->tasks.job[task];
    for (uint32_t i = 0; i < ring->member_count; i++) {
        run->path_count += open_hop(executor, job, ring, i, hash,
                                    &executor->rings.paths[run->first_path + run->path_count]);
    }
    if (!again) {
        executor->rings.run_count++;
        executor->rings.path_count += paths_max(executor, job, ring, run->path_count);
    }
    if (run->path_count == 0) { // all members on one server
        executor_part_ended(executor, task, now_ps);
        return;
    }
    executor_round_start(executor, id, now_ps);
}

void executor_collective_start(struct executor *executor, uint32_t task, double now_ps)
{
    uint32_t local;
    const struct weft_taskgraph *graph = executor_graph(executor, task, &local);
    uint32_t job = executor->tasks.job[task];
    uint32_t group_id = graph->group[local];
    const struct executor_group *group = &executor->groups[executor->first_group[job] + group_id];
    const uint32_t *members = &graph->group_members[graph->group_first[group_id]];
    uint32_t member_count = graph->group_first[group_id + 1] - graph->group_first[group_id];
    executor->tasks.part_end_ps[task] = now_ps;
    if (member_count < 2 || graph->size_bytes[local] == 0) {
        executor->tasks.parts_left[task] = 1;
        executor_part_ended(executor, task, now_ps);
        return;
    }
    uint32_t run = executor->tasks.first_run[task];
    if (run == WEFT_NONE) {
        run = executor->rings.run_count;
        executor->tasks.first_run[task] = run;
    }
    if (group->ring_count == 0) {
        struct weft_ring ring = {group_id, member_count, members, 1, NULL, NULL, NULL};
        executor->tasks.parts_left[task] = 1;
        start_ring(executor, run, task, &ring, now_ps);
        return;
    }
    executor->tasks.parts_left[task] = group->ring_count;
    for (uint32_t i = 0; i < group->ring_count; i++) {
        start_ring(executor, run + i, task, &group->rings[i], now_ps);
    }
}

void executor_round_start(struct executor *executor, uint32_t run_id, double now_ps)
{
    struct executor_run *run = &executor->rings.runs[run_id];
    const struct weft_simnet_path *paths = &executor->rings.paths[run->first_path];
    run->flows_left = run->path_count;
    run->round_end_ps = now_ps;
    uint32_t job = executor->tasks.job[run->task];
    executor_set_traits(executor, run->task, run->rounds_left <= run->gather_rounds);
    for (uint32_t i = 0; i < run->path_count; i++) {
        weft_simnet_start(&executor->net, paths[i].class_id, run->wire_bytes * paths[i].share_ratio,
                          EXECUTOR_RUN_OWNER | run_id, job);
    }
}

// What a message of a round takes behind its last byte: on a folded ring as long as on the slowest
// of the paths that its own stands for.
static double tail_ps(const struct executor *executor, const struct executor_run *run,
                      uint32_t class_id)
{
    const struct weft_simnet *net = &executor->net;
    if (run->delays == NULL) {
        return weft_simnet_tail_ps(net, class_id, run->wire_bytes);
    }
    const struct weft_simnet_path *paths = &executor->rings.paths[run->first_path];
    double latest_ps = 0;
    for (uint32_t i = 0; i < run->path_count; i++) {
        if (paths[i].class_id == class_id) {
            latest_ps =
                fmax(latest_ps, weft_simnet_delay_ps(net, &run->delays[i], run->wire_bytes));
        }
    }
    return latest_ps;
}

void executor_round_flow_ended(struct executor *executor, uint32_t run_id, uint32_t class_id,
                               double end_ps)
{
    struct executor_run *run = &executor->rings.runs[run_id];
    double time_ps = end_ps + tail_ps(executor, run, class_id);
    run->round_end_ps = fmax(run->round_end_ps, time_ps);
    if (--run->flows_left > 0) {
        return;
    }
    if (--run->rounds_left > 0) {
        executor_push(executor, run->round_end_ps, EXECUTOR_ROUND_START, run_id);
        return;
    }
    for (uint32_t i = 0; i < run->path_count; i++) {
        weft_simnet_close_path(&executor->net, executor->rings.paths[run->first_path + i]);
    }
    executor_part_ended(executor, run->task, run->round_end_ps);
}

// ---- how much there is to play ----

// Paths of all hops of a ring.
static uint32_t count_paths(const struct executor *executor, const struct weft_sim_job *job,
                            const struct weft_ring *ring)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ring->member_count; i++) {
        uint32_t from = executor_server(job, ring->members[i]);
        uint32_t to = executor_server(job, ring->members[(i + 1) % ring->member_count]);
        bool placed = ring->hop_first != NULL && executor->net.circuits == NULL;
        count += placed ? ring->hop_first[i + 1] > ring->hop_first[i]
                        : weft_simnet_path_count(&executor->net, from, to);
    }
    return count;
}

// The rings of a group: its own, or one in the order of its members, which is put into *plain.
static const struct weft_ring *group_rings(uint32_t *count, struct weft_ring *plain,
                                           const struct executor *executor, uint32_t job,
                                           uint32_t id)
{
    const struct weft_taskgraph *graph = executor->jobs[job].graph;
    const struct executor_group *group = &executor->groups[executor->first_group[job] + id];
    uint32_t first = graph->group_first[id];
    uint32_t members = graph->group_first[id + 1] - first;
    *plain = (struct weft_ring){id, members, &graph->group_members[first], 1, NULL, NULL, NULL};
    *count = group->ring_count > 0 ? group->ring_count : 1;
    return group->ring_count > 0 ? group->rings : plain;
}

static double collective_work(const struct executor *executor, uint32_t job, uint32_t task)
{
    uint32_t local;
    const struct weft_taskgraph *graph = executor_graph(executor, task, &local);
    struct weft_ring plain;
    uint32_t count;
    const struct weft_ring *rings = group_rings(&count, &plain, executor, job, graph->group[local]);
    double work = 0;
    for (uint32_t i = 0; i < count && graph->size_bytes[local] > 0; i++) {
        uint32_t paths =
            rings[i].member_count > 1 ? count_paths(executor, &executor->jobs[job], &rings[i]) : 0;
        double message_bytes;
        uint32_t rounds = ring_rounds(&message_bytes, executor, task, &rings[i]);
        double wire_bytes = weft_simnet_wire_bytes(&executor->net, message_bytes);
        double shared = fmax(1, (double)paths / rings[i].member_count); // paths of a hop
        work += sim_watch_work(&executor->watch, (double)rounds * paths, wire_bytes / shared);
    }
    return work;
}

static double transfer_work(const struct executor *executor, const struct weft_sim_job *job,
                            uint32_t task)
{
    const struct weft_taskgraph *graph = job->graph;
    uint32_t from = executor_server(job, graph->from[task]);
    uint32_t to = executor_server(job, graph->to[task]);
    double wire_bytes = weft_simnet_wire_bytes(&executor->net, (double)graph->size_bytes[task]);
    uint32_t paths = from == to ? 0 : weft_simnet_path_count(&executor->net, from, to);
    return paths > 0 && wire_bytes > 0 ? sim_watch_work(&executor->watch, paths, wire_bytes / paths)
                                       : 0;
}

double executor_expected_work(const struct executor *executor)
{
    double work = 0;
    for (uint32_t job = 0; job < executor->job_count; job++) {
        const struct weft_sim_job *one = &executor->jobs[job];
        double iteration = 0;
        for (uint32_t task = 0; task < one->graph->task_count; task++) {
            if (weft_task_is_collective(one->graph, task)) {
                iteration += collective_work(executor, job, executor->first_task[job] + task);
            } else if (one->graph->kind[task] == WEFT_TASK_TRANSFER) {
                iteration += transfer_work(executor, one, task);
            }
        }
        work += iteration * executor_own_iterations(executor, job);
    }
    return work;
}
