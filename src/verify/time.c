// SPDX-License-Identifier: Apache-2.0
// The iteration time that a plan states against the one that is played (play.c).
//
// Roundings differ between two programs, and an iteration with many transfers can let them grow:
// where the two times differ by more than rounding, replays in which every compute task takes up to
// a picosecond more say how well the iteration is known at all. Where an iteration has more than
// WEFT_VERIFY_FLOWS_MAX flows only a window of the first so many is played: what is left of the
// tasks then bounds the iteration from below. O of the replays.

#include "checks.h"
#include "ideal.h"
#include "loads.h"
#include "play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Replays with jitter, how much more than they differ by is accepted, and the most of that.
#define REPLAYS 4
#define SPREAD_FACTOR 2
#define SPREAD_MAX_RATIO 1e-5
// A stated iteration is rounded to whole picoseconds.
#define ROUND_PS 1.5
#define SAME_RATIO 1e-9

// The paths of the routes, then those of the rings that name their links.
static struct rates_path *list_paths(struct player *player, uint32_t *count,
                                     struct weft_arena *arena)
{
    const struct weft_plan *plan = player->plan;
    const struct weft_routes *routes = &plan->network.routes;
    size_t n = plan->cluster.server_count;
    uint32_t route_count = routes->pair_first[n * n];
    uint32_t path_count = route_count;
    uint32_t *ring_path = WEFT_NEW(arena, uint32_t, (size_t)plan->network.rings.ring_count + 1);
    for (uint32_t r = 0; r < plan->network.rings.ring_count; r++) {
        const struct weft_ring *ring = &plan->network.rings.rings[r];
        ring_path[r] = path_count;
        path_count += ring->hop_first != NULL ? ring->member_count : 0;
    }
    struct rates_path *paths = WEFT_NEW(arena, struct rates_path, (size_t)path_count + 1);
    for (uint32_t p = 0; p < route_count; p++) {
        paths[p].links = routes->path_links + routes->path_first[p];
        paths[p].link_count = routes->path_first[p + 1] - routes->path_first[p];
    }
    for (uint32_t r = 0; r < plan->network.rings.ring_count; r++) {
        const struct weft_ring *ring = &plan->network.rings.rings[r];
        for (uint32_t i = 0; ring->hop_first != NULL && i < ring->member_count; i++) {
            paths[ring_path[r] + i].links = ring->hop_links + ring->hop_first[i];
            paths[ring_path[r] + i].link_count = ring->hop_first[i + 1] - ring->hop_first[i];
        }
    }
    player->ring_path = ring_path;
    *count = path_count;
    return paths;
}

static int compare_ids(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

// Tasks rank by their number, but those of a tie that the file names share their numbers out in the
// order in which they stand there.
static uint32_t *list_ranks(const struct weft_plan *plan, const struct weft_taskgraph *graph,
                            struct weft_arena *arena)
{
    uint32_t *rank = WEFT_NEW_RAW(arena, uint32_t, (size_t)graph->task_count + 1);
    uint32_t *sorted = WEFT_NEW_RAW(arena, uint32_t, (size_t)graph->task_count + 1);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        rank[t] = t;
    }
    for (uint32_t i = 0; i < plan->ties.count; i++) {
        const uint32_t *tasks = plan->ties.tasks + plan->ties.first[i];
        uint32_t count = plan->ties.first[i + 1] - plan->ties.first[i];
        for (uint32_t j = 0; j < count; j++) {
            sorted[j] = tasks[j];
        }
        qsort(sorted, count, sizeof *sorted, compare_ids);
        for (uint32_t j = 0; j < count; j++) {
            rank[tasks[j]] = sorted[j];
        }
    }
    return rank;
}

// Whether each tie is of tasks of one device, every task in one tie at most.
static bool check_ties(struct findings *findings, const struct weft_plan *plan,
                       const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    bool *seen = WEFT_NEW(&scratch, bool, (size_t)graph->task_count + 1);
    for (uint32_t i = 0; i < plan->ties.count; i++) {
        for (uint32_t j = plan->ties.first[i]; j < plan->ties.first[i + 1]; j++) {
            uint32_t task = plan->ties.tasks[j];
            uint32_t first = plan->ties.tasks[plan->ties.first[i]];
            if (task >= graph->task_count || seen[task] || graph->device[task] == WEFT_NONE ||
                graph->device[task] != graph->device[first]) {
                findings_add(findings, "ties[%u]: task %u cannot meet the others on one device", i,
                             task);
                return false;
            }
            seen[task] = true;
        }
    }
    return true;
}

// A player at the start of an iteration: its paths, its ranks, what each task waits for. The arena
// also takes what grows while it plays.
static void open_player(struct player *player, const struct weft_plan *plan,
                        const struct weft_taskgraph *graph, struct weft_arena *arena)
{
    size_t tasks = (size_t)graph->task_count + 1;
    size_t devices = (size_t)graph->device_count + 1;
    uint32_t path_count = 0;
    *player = (struct player){.plan = plan,
                              .graph = graph,
                              .first_ring = message_rings(plan, graph, arena),
                              .tasks.waits = WEFT_NEW(arena, uint32_t, tasks),
                              .tasks.parts = WEFT_NEW(arena, uint32_t, tasks),
                              .tasks.end_ps = WEFT_NEW(arena, double, tasks),
                              .tasks.next = WEFT_NEW(arena, uint32_t, tasks),
                              .tasks.over = WEFT_NEW(arena, bool, tasks),
                              .devices.head = WEFT_NEW_RAW(arena, uint32_t, devices),
                              .tasks.ready_ps = WEFT_NEW(arena, double, tasks),
                              .tasks.rank = list_ranks(plan, graph, arena),
                              .devices.busy = WEFT_NEW(arena, bool, devices),
                              .devices.free_ps = WEFT_NEW(arena, double, devices),
                              .devices.pending = WEFT_NEW(arena, bool, devices),
                              .ready_head = WEFT_NONE,
                              .left = graph->task_count};
    memset(player->devices.head, 0xff, devices * sizeof *player->devices.head); // WEFT_NONE
    uint64_t run_count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t group = ideal_is_collective(graph, t) ? graph->group[t] : 0;
        uint32_t rings =
            player->first_ring[graph->group_count > 0 ? group + 1 : 0] - player->first_ring[group];
        run_count += ideal_is_collective(graph, t) ? 1 + rings : 0;
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            player->tasks.waits[graph->next[e]]++;
        }
    }
    player->runs = WEFT_NEW(arena, struct run, run_count + 1);
    player->events = WEFT_NEW_RAW(arena, struct event, tasks + run_count + devices);
    struct rates_path *paths = list_paths(player, &path_count, arena);
    rates_init(&player->rates, &plan->network.fabric, paths, path_count, arena);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        uint32_t need = graph->need != NULL ? graph->need[t] : player->tasks.waits[t];
        player->tasks.waits[t] = need < player->tasks.waits[t] ? need : player->tasks.waits[t];
        if (player->tasks.waits[t] == 0) {
            player_append(player, &player->ready_head, &player->ready_tail, t);
        }
    }
}

// Flows of a whole iteration.
static uint64_t count_flows(const struct player *player)
{
    const struct weft_routes *routes = &player->plan->network.routes;
    const struct weft_taskgraph *graph = player->graph;
    size_t n = player->plan->cluster.server_count;
    uint64_t count = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        struct message message;
        bool collective = ideal_is_collective(graph, t);
        if (collective && graph->size_bytes[t] == 0) {
            continue;
        }
        uint64_t rounds =
            collective ? ideal_passes(graph, t) * (ideal_member_count(graph, t) - 1ull) : 1;
        for (uint32_t i = 0; message_get(&message, player->plan, graph, player->first_ring, t, i);
             i++) {
            size_t pair = message.from * n + message.to;
            bool one = message.links != NULL || routes->spread == WEFT_SPREAD_PICK;
            count += rounds * (one ? 1 : routes->pair_first[pair + 1] - routes->pair_first[pair]);
        }
    }
    return count;
}

// The window: what is not over when it ends has all its tail before it, so that the iteration takes
// at least so long.
static void check_window(struct findings *findings, const struct player *player,
                         const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    const struct weft_cluster *cluster = &player->plan->cluster;
    struct ideal ideal = {.graph = graph,
                          .port_Bps = cluster->degree * cluster->rate_Bps,
                          .latency_s = weft_seconds(cluster->latency_ps),
                          .network = true};
    struct ideal_times times = ideal_times(&ideal, &scratch);
    double least_s = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (!player->tasks.over[t]) {
            least_s = fmax(least_s, player->now_ps / (double)WEFT_PS_PER_S + times.tail_s[t]);
        }
    }
    if (player->plan->iteration_s < least_s * (1 - SAME_RATIO)) {
        findings_add(findings,
                     "iteration_s is stated as %.12g, but after %u flows %.12g s are the least",
                     player->plan->iteration_s, WEFT_VERIFY_FLOWS_MAX, least_s);
    }
    findings_leave(findings, "iteration_s",
                   "an iteration has more flows than the checker plays; it is above all bounds and "
                   "above what a window of the first flows leaves",
                   false);
}

// Whether the stated time is the one that was played, but for rounding; where that grows, but for
// twice what replays with jitter differ by.
static bool agrees(const struct weft_plan *plan, const struct player *first,
                   struct weft_arena scratch)
{
    double stated_ps = plan->iteration_s * (double)WEFT_PS_PER_S;
    double low_ps = first->last_ps;
    double high_ps = first->last_ps;
    double room_ps = ROUND_PS + SAME_RATIO * first->last_ps;
    if (fabs(stated_ps - first->last_ps) > SPREAD_MAX_RATIO * first->last_ps + ROUND_PS) {
        return false;
    }
    for (uint64_t i = 1; fabs(stated_ps - first->last_ps) > room_ps && i <= REPLAYS; i++) {
        struct weft_arena arena = scratch;
        struct player player;
        open_player(&player, plan, first->graph, &arena);
        player.jitter = i;
        player_play(&player, UINT64_MAX);
        low_ps = fmin(low_ps, player.last_ps);
        high_ps = fmax(high_ps, player.last_ps);
        room_ps = fmax(room_ps, SPREAD_FACTOR * (high_ps - low_ps));
    }
    return fabs(stated_ps - first->last_ps) <= room_ps;
}

uint64_t check_time(struct findings *findings, const struct weft_plan *plan,
                    const struct weft_taskgraph *graph, const struct weft_taskgraph *played,
                    struct weft_arena scratch)
{
    struct player player;
    if (!check_ties(findings, plan, played, scratch)) {
        return 0;
    }
    open_player(&player, plan, played, &scratch);
    uint64_t flow_count = count_flows(&player);
    if (plan->sim.engine != WEFT_ENGINE_FLOW) {
        findings_leave(findings, "iteration_s, simulation.flow_s",
                       "packets decided, which the checker does not play; the iteration is above "
                       "all bounds",
                       false);
        return flow_count;
    }
    player_play(&player, flow_count > WEFT_VERIFY_FLOWS_MAX ? WEFT_VERIFY_FLOWS_MAX : UINT64_MAX);
    if (flow_count > WEFT_VERIFY_FLOWS_MAX) {
        check_window(findings, &player, graph, scratch);
        return flow_count;
    }
    if (player.left > 0) {
        findings_add(findings, "iteration_s: %u tasks never end", player.left);
        return flow_count;
    }
    if (!agrees(plan, &player, scratch)) {
        findings_add(findings, "iteration_s is stated as %.12g, but is %.12g", plan->iteration_s,
                     player.last_ps / (double)WEFT_PS_PER_S);
    }
    return flow_count;
}
