// SPDX-License-Identifier: Apache-2.0
// One iteration, played by the rules of docs/flow-engine.md.
//
// Tasks wait for all they depend on; a device runs one at a time, in the order in which they became
// ready; transfers and collectives put flows on the network, a collective's ring round by round;
// simultaneous events come in the order in which they were caused. Between events flows go at
// max-min fair rates (rates.c). Tasks of a device that were ready at one instant run in the order
// that the file says. O(events * (flows under way + links)).

#include "play.h"
#include "ideal.h"
#include "loads.h"

#include <float.h>
#include <math.h>

// Ends this close count as one instant: above the rounding of the bytes served, far below a
// picosecond's part of any time that matters.
#define SLACK_RATIO 1e-14
#define SLACK_PS 1e-4
// Tasks of one device that are ready this close to each other are ready at one instant, in which
// the engine's rounding decides who runs first; the file says who did (docs/plan-format.md).
#define TIE_PS 1.0
#define TIE_RATIO 1e-11
// What a task of a replay with jitter takes more at most.
#define JITTER_PS 1.0
// Owners of flows are tasks, or runs of rings with this bit.
#define RUN 0x80000000u

// ---- events and queues ----

static bool comes_first(const struct event *a, const struct event *b)
{
    return a->time_ps < b->time_ps || (a->time_ps == b->time_ps && a->order < b->order);
}

static void push(struct player *player, double time_ps, enum event_kind kind, uint32_t id)
{
    struct event event = {time_ps, player->order++, kind, id};
    uint32_t at = player->event_count++;
    for (; at > 0 && comes_first(&event, &player->events[(at - 1) / 2]); at = (at - 1) / 2) {
        player->events[at] = player->events[(at - 1) / 2];
    }
    player->events[at] = event;
}

static struct event pop(struct player *player)
{
    struct event first = player->events[0];
    struct event last = player->events[--player->event_count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < player->event_count; at = child) {
        if (child + 1 < player->event_count &&
            comes_first(&player->events[child + 1], &player->events[child])) {
            child++;
        }
        if (!comes_first(&player->events[child], &last)) {
            break;
        }
        player->events[at] = player->events[child];
    }
    player->events[at] = last;
    return first;
}

void player_append(struct player *player, uint32_t *head, uint32_t *tail, uint32_t task)
{
    player->tasks.next[task] = WEFT_NONE;
    if (*head == WEFT_NONE) {
        *head = task;
    } else {
        player->tasks.next[*tail] = task;
    }
    *tail = task;
}

static uint32_t take(const struct player *player, uint32_t *head)
{
    uint32_t task = *head;
    *head = player->tasks.next[task];
    return task;
}

// ---- messages ----

// Bytes on the wire: a header for every packet begun.
static double wire_bytes(const struct weft_sim_options *sim, double bytes)
{
    double payload = (double)sim->packet_bytes - sim->header_bytes;
    return sim->packet_bytes == 0 ? bytes : bytes + ceil(bytes / payload) * sim->header_bytes;
}

// What passes after the last byte of a message has left its slowest link.
static double latency_ps(const struct player *player, uint32_t path_id, double bytes)
{
    const struct weft_sim_options *sim = &player->plan->sim;
    const struct rates_path *path = &player->rates.paths[path_id];
    double store = path->store_ps_per_byte;
    double back = sim->acknowledged ? path->propagation_ps + sim->header_bytes * store : 0;
    return path->propagation_ps + fmin(sim->packet_bytes, bytes) * store + back;
}

// The path of a pair that a flow takes where each takes one, by its hash.
static uint32_t pick(const struct weft_routes *routes, size_t pair, uint64_t hash)
{
    uint32_t p = routes->pair_first[pair];
    double left = (double)(weft_hash(hash) >> 32) * 0x1p-32;
    for (; p + 1 < routes->pair_first[pair + 1] && left >= routes->path_weight[p]; p++) {
        left -= routes->path_weight[p];
    }
    return p;
}

static void part_ends(struct player *player, uint32_t task, double time_ps)
{
    player->tasks.end_ps[task] = fmax(player->tasks.end_ps[task], time_ps);
    if (--player->tasks.parts[task] == 0) {
        push(player, player->tasks.end_ps[task], TASK_ENDS, task);
    }
}

// Puts `bytes` from one server to another on the network; returns how many flows they make.
static uint32_t send(struct player *player, const struct message *message, double bytes,
                     uint64_t hash, uint32_t owner)
{
    const struct weft_routes *routes = &player->plan->network.routes;
    size_t pair = (size_t)message->from * player->plan->cluster.server_count + message->to;
    uint32_t first = routes->pair_first[pair];
    uint32_t end = routes->pair_first[pair + 1];
    bool one = routes->spread == WEFT_SPREAD_PICK;
    if (one) {
        first = pick(routes, pair, hash);
        end = first + 1;
    }
    for (uint32_t p = first; p < end; p++) {
        double share = one ? 1 : routes->path_weight[p];
        rates_start(&player->rates, p, fmax(bytes * share, DBL_MIN), owner);
    }
    return end - first;
}

static void start_transfer(struct player *player, uint32_t task)
{
    const struct weft_taskgraph *graph = player->graph;
    const struct message message = {.from = graph->from[task], .to = graph->to[task]};
    uint64_t hash = weft_hash(player->plan->sim.seed ^ weft_hash(~(uint64_t)task));
    double bytes = wire_bytes(&player->plan->sim, (double)graph->size_bytes[task]);
    player->tasks.end_ps[task] = player->now_ps;
    player->tasks.parts[task] = 1;
    if (message.from == message.to) {
        part_ends(player, task, player->now_ps);
        return;
    }
    WEFT_ASSERT(bytes > 0); // the task graph's builder makes others barriers
    player->tasks.parts[task] = send(player, &message, bytes, hash, task);
}

// ---- collectives ----

static void start_round(struct player *player, uint32_t id)
{
    struct run *run = &player->runs[id];
    uint32_t k = ideal_member_count(player->graph, run->task);
    uint32_t group = player->graph->group[run->task];
    run->flows_left = 0;
    run->round_end_ps = player->now_ps;
    for (uint32_t hop = 0; hop < k; hop++) {
        struct message message;
        message_get(&message, player->plan, player->graph, player->first_ring, run->task,
                    run->ring * k + hop);
        if (message.links == NULL) {
            run->flows_left +=
                send(player, &message, run->bytes, weft_hash(run->hash ^ hop), RUN | id);
            continue;
        }
        uint32_t path = player->ring_path[player->first_ring[group] + run->ring] + hop;
        rates_start(&player->rates, path, fmax(run->bytes, DBL_MIN), RUN | id);
        run->flows_left++;
    }
}

// A collective begins on the network: a run for each ring of its group, which are parts of the
// task; without rings one in the order of the members. Small ones take one round, where the plan
// says so.
static void start_rings(struct player *player, uint32_t task)
{
    const struct weft_taskgraph *graph = player->graph;
    const struct weft_sim_options *sim = &player->plan->sim;
    uint32_t k = ideal_member_count(graph, task);
    uint32_t group = graph->group[task];
    uint32_t rings = player->first_ring[group + 1] - player->first_ring[group];
    double size_bytes = (double)graph->size_bytes[task];
    player->tasks.end_ps[task] = player->now_ps;
    player->tasks.parts[task] = rings == 0 ? 1 : rings;
    if (k < 2 || graph->size_bytes[task] == 0) {
        player->tasks.parts[task] = 1;
        part_ends(player, task, player->now_ps);
        return;
    }
    uint32_t rounds = ideal_passes(graph, task) * (k - 1);
    bool at_once = sim->small_in_one_round && size_bytes < (double)sim->packet_bytes * k;
    for (uint32_t r = 0; r < rings || r == 0; r++) {
        const struct weft_ring *all = player->plan->network.rings.rings;
        double share = rings == 0 ? 1 : all[player->first_ring[group] + r].share_ratio;
        double bytes = size_bytes / k * share * (at_once ? rounds : 1);
        uint32_t id = player->run_count++;
        player->runs[id] = (struct run){.task = task,
                                        .ring = r,
                                        .rounds_left = at_once ? 1 : rounds,
                                        .bytes = wire_bytes(sim, bytes),
                                        .hash = weft_hash(sim->seed ^ weft_hash(id))};
        start_round(player, id);
    }
}

static void flow_ends(struct player *player, const struct rates_flow *flow)
{
    if ((flow->owner & RUN) == 0) {
        double size_bytes = (double)player->graph->size_bytes[flow->owner];
        double bytes = wire_bytes(&player->plan->sim, size_bytes);
        part_ends(player, flow->owner, player->now_ps + latency_ps(player, flow->path, bytes));
        return;
    }
    uint32_t id = flow->owner & ~RUN;
    struct run *run = &player->runs[id];
    double end_ps = player->now_ps + latency_ps(player, flow->path, run->bytes);
    run->round_end_ps = fmax(run->round_end_ps, end_ps);
    if (--run->flows_left > 0) {
        return;
    }
    if (--run->rounds_left > 0) {
        push(player, run->round_end_ps, ROUND_STARTS, id);
    } else {
        part_ends(player, run->task, run->round_end_ps);
    }
}

// ---- tasks ----

static bool is_tie(const struct player *player, uint32_t a, uint32_t b)
{
    double apart_ps = fabs(player->tasks.ready_ps[a] - player->tasks.ready_ps[b]);
    return apart_ps <= TIE_PS + TIE_RATIO * player->tasks.ready_ps[a];
}

// Whether a task that waits for a device runs before another: it was ready earlier, or at the same
// instant and has the lesser rank.
static bool runs_before(const struct player *player, uint32_t a, uint32_t b)
{
    double apart_ps = player->tasks.ready_ps[a] - player->tasks.ready_ps[b];
    return is_tie(player, a, b) ? player->tasks.rank[a] < player->tasks.rank[b] : apart_ps < 0;
}

// Takes the task that runs next out of a device's queue. Ties are not transitive, so the earliest
// is found first, and then the first of those that were ready with it.
static uint32_t take_next(struct player *player, uint32_t device)
{
    uint32_t earliest = player->devices.head[device];
    for (uint32_t t = earliest; t != WEFT_NONE; t = player->tasks.next[t]) {
        earliest = player->tasks.ready_ps[t] < player->tasks.ready_ps[earliest] ? t : earliest;
    }
    uint32_t chosen = earliest;
    for (uint32_t t = player->devices.head[device]; t != WEFT_NONE; t = player->tasks.next[t]) {
        chosen = is_tie(player, t, earliest) && runs_before(player, t, chosen) ? t : chosen;
    }
    uint32_t *link = &player->devices.head[device];
    while (*link != chosen) {
        link = &player->tasks.next[*link];
    }
    *link = player->tasks.next[chosen];
    return chosen;
}

static void start_next(struct player *player, uint32_t device)
{
    uint32_t task = take_next(player, device);
    double start_ps = fmax(player->devices.free_ps[device], player->tasks.ready_ps[task]);
    double end_ps = start_ps + (double)player->graph->runtime_ps[task];
    if (player->jitter > 0) {
        end_ps += JITTER_PS * (double)(weft_hash(task ^ weft_hash(player->jitter)) >> 32) * 0x1p-32;
    }
    player->devices.busy[device] = true;
    push(player, fmax(end_ps, player->now_ps), TASK_ENDS, task);
}

// A device is free or has one more task. It takes the earliest at once where nothing can tie with
// that any more, else when nothing can; the task has begun when it was ready all the same.
static void look_at(struct player *player, uint32_t device)
{
    double ready_ps = HUGE_VAL;
    for (uint32_t t = player->devices.head[device]; t != WEFT_NONE; t = player->tasks.next[t]) {
        ready_ps = fmin(ready_ps, player->tasks.ready_ps[t]);
    }
    if (player->devices.busy[device] || !isfinite(ready_ps)) {
        return;
    }
    double sure_ps = ready_ps + TIE_PS + TIE_RATIO * ready_ps;
    if (sure_ps <= player->now_ps) {
        start_next(player, device);
    } else if (!player->devices.pending[device]) {
        player->devices.pending[device] = true;
        push(player, sure_ps, DEVICE_CHOOSES, device);
    }
}

static void start_ready(struct player *player)
{
    const struct weft_taskgraph *graph = player->graph;
    while (player->ready_head != WEFT_NONE) {
        uint32_t task = take(player, &player->ready_head);
        if (graph->device[task] != WEFT_NONE) {
            uint32_t device = graph->device[task];
            player->tasks.ready_ps[task] = player->now_ps;
            player->tasks.next[task] = player->devices.head[device];
            player->devices.head[device] = task;
            look_at(player, device);
        } else if (graph->kind[task] == WEFT_TASK_TRANSFER) {
            start_transfer(player, task);
        } else if (!ideal_is_collective(graph, task)) {
            push(player, player->now_ps, TASK_ENDS, task);
        } else if (graph->runtime_ps[task] == 0) {
            start_rings(player, task);
        } else {
            push(player, player->now_ps + (double)graph->runtime_ps[task], RINGS_START, task);
        }
    }
}

static void end_task(struct player *player, uint32_t task)
{
    const struct weft_taskgraph *graph = player->graph;
    uint32_t device = graph->device[task];
    player->tasks.over[task] = true;
    player->left--;
    player->last_ps = fmax(player->last_ps, player->now_ps);
    if (device != WEFT_NONE) {
        player->devices.busy[device] = false;
        player->devices.free_ps[device] = player->now_ps;
        look_at(player, device);
    }
    for (uint32_t e = graph->next_first[task]; e < graph->next_first[task + 1]; e++) {
        uint32_t next = graph->next[e];
        if (player->tasks.waits[next] > 0 && --player->tasks.waits[next] == 0) {
            player_append(player, &player->ready_head, &player->ready_tail, next);
        }
    }
}

// ---- time ----

static void handle_until(struct player *player, double until_ps)
{
    while (player->event_count > 0 && player->events[0].time_ps <= until_ps) {
        struct event event = pop(player);
        player->now_ps = event.time_ps;
        if (event.kind == TASK_ENDS) {
            end_task(player, event.id);
        } else if (event.kind == RINGS_START) {
            start_rings(player, event.id);
        } else if (event.kind == ROUND_STARTS) {
            start_round(player, event.id);
        } else {
            player->devices.pending[event.id] = false;
            look_at(player, event.id);
        }
        start_ready(player);
    }
}

void player_play(struct player *player, uint64_t flows_max)
{
    start_ready(player);
    for (;;) {
        rates_fill(&player->rates);
        double flow_ps = player->now_ps + rates_next_ps(&player->rates);
        double event_ps = player->event_count > 0 ? player->events[0].time_ps : HUGE_VAL;
        double next_ps = fmin(flow_ps, event_ps);
        if (!isfinite(next_ps) || player->rates.started_count > flows_max) {
            return;
        }
        rates_pass(&player->rates, next_ps - player->now_ps);
        double slack_ps = next_ps * SLACK_RATIO + SLACK_PS;
        player->now_ps = next_ps;
        struct rates_flow ended;
        for (uint32_t at = 0; rates_take(&player->rates, &at, slack_ps, &ended);) {
            flow_ends(player, &ended);
        }
        handle_until(player, next_ps + slack_ps);
        player->now_ps = next_ps;
    }
}
