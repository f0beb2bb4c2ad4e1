// SPDX-License-Identifier: Apache-2.0
// An iteration on a fabric that is rewired after the demand it sees.

#include "reconfig.h"

#include "weft/base/heap.h"

#include <math.h>
#include <string.h>

#define SERVERS_MAX 64u
#define EPOCHS_MAX 1000000u
// The topology lives this many times as long as the switch takes.
#define LIFE_RATIO 4
// A flow with less than this share of its bytes left is done, and so is one whose rest takes less
// than this share of the time so far: what rounding leaves, of its bytes or of the clock.
#define DONE_RATIO 1e-9
#define DONE_CLOCK_RATIO 1e-14

struct flow {
    uint32_t task;
    uint32_t from;
    uint32_t to;
    double left_bytes;
    double size_bytes;
    double rate_Bps;
};

// Something that ends at a known time: a compute task, the inside part of an AllReduce (first), or
// the flight of a flow's last byte.
enum timer_kind { TIMER_COMPUTE, TIMER_INSIDE, TIMER_ARRIVAL };
struct timer {
    double time_s;
    enum timer_kind kind;
    uint32_t task;
};

struct timer_heap {
    struct timer *entries;
    uint32_t count;
};

static inline bool is_sooner(const struct timer *a, const struct timer *b)
{
    return a->time_s < b->time_s || (a->time_s <= b->time_s && a->task < b->task);
}

WEFT_HEAP(timers, struct timer_heap, struct timer, 2, is_sooner, weft_heap_no_places)

struct machine {
    const struct weft_taskgraph *graph;
    const struct weft_cluster *cluster;
    double wire_ratio; // bytes on the wire a byte, headers included
    double now_s;
    uint32_t done_count;
    uint32_t *before_left; // per task: predecessors not over
    uint32_t *parts_left;  // per task: flows not over
    // Per device: tasks that wait, first come first served (linked by `after`), and whether it
    // works.
    uint32_t *first_waiting;
    uint32_t *last_waiting;
    uint32_t *after;
    bool *is_busy;
    struct timer_heap timers;
    struct flow *flows;
    uint32_t flow_count;
    bool is_dark; // the switch is turning
    struct reconfig_fabric fabric;
    double *link_bytes; // n*n
    double asked_bytes;
    double moved_bytes; // on links
    uint32_t hops_max;
    struct weft_arena scratch;
};

// ---- timers ----

static void set_timer(struct machine *machine, double time_s, enum timer_kind kind, uint32_t task)
{
    timers_push(&machine->timers, (struct timer){time_s, kind, task});
}

// ---- tasks ----

static void start_device(struct machine *machine, uint32_t device)
{
    uint32_t task = machine->first_waiting[device];
    if (machine->is_busy[device] || task == WEFT_NONE) {
        return;
    }
    machine->first_waiting[device] = machine->after[task];
    machine->is_busy[device] = true;
    set_timer(machine, machine->now_s + weft_seconds(machine->graph->runtime_ps[task]),
              TIMER_COMPUTE, task);
}

static void wait_for_device(struct machine *machine, uint32_t task)
{
    uint32_t device = machine->graph->device[task];
    machine->after[task] = WEFT_NONE;
    if (machine->first_waiting[device] == WEFT_NONE) {
        machine->first_waiting[device] = task;
    } else {
        machine->after[machine->last_waiting[device]] = task;
    }
    machine->last_waiting[device] = task;
    start_device(machine, device);
}

static void open_flow(struct machine *machine, uint32_t task, uint32_t from, uint32_t to,
                      double size_bytes)
{
    machine->asked_bytes += size_bytes;
    size_bytes *= machine->wire_ratio;
    machine->flows[machine->flow_count++] =
        (struct flow){task, from, to, size_bytes, size_bytes, 0};
    machine->parts_left[task]++;
}

// A ring in the group's own order: all hops at once, each with all its bytes.
static void open_ring(struct machine *machine, uint32_t task)
{
    const struct weft_taskgraph *graph = machine->graph;
    uint32_t first = graph->group_first[graph->group[task]];
    uint32_t k = weft_task_member_count(graph, task);
    double bytes = weft_task_ring_bytes(graph, task);
    for (uint32_t i = 0; i < k && k > 1 && bytes > 0; i++) {
        open_flow(machine, task, graph->group_members[first + i],
                  graph->group_members[first + (i + 1) % k], bytes);
    }
}

static void start_task(struct machine *machine, uint32_t task);

static void end_task(struct machine *machine, uint32_t task)
{
    const struct weft_taskgraph *graph = machine->graph;
    machine->done_count++;
    for (uint32_t e = graph->next_first[task]; e < graph->next_first[task + 1]; e++) {
        if (--machine->before_left[graph->next[e]] == 0) {
            start_task(machine, graph->next[e]);
        }
    }
}

static void start_task(struct machine *machine, uint32_t task)
{
    const struct weft_taskgraph *graph = machine->graph;
    if (weft_task_is_collective(graph, task)) {
        set_timer(machine, machine->now_s + weft_seconds(graph->runtime_ps[task]), TIMER_INSIDE,
                  task);
    } else if (graph->kind[task] == WEFT_TASK_TRANSFER && graph->size_bytes[task] > 0 &&
               graph->from[task] != graph->to[task]) {
        open_flow(machine, task, graph->from[task], graph->to[task],
                  (double)graph->size_bytes[task]);
    } else if (graph->kind[task] != WEFT_TASK_TRANSFER && graph->device[task] != WEFT_NONE) {
        wait_for_device(machine, task);
    } else {
        set_timer(machine, machine->now_s, TIMER_ARRIVAL, task); // no recursion down long chains
        machine->parts_left[task]++;
    }
}

static void fire(struct machine *machine, struct timer timer)
{
    if (timer.kind == TIMER_COMPUTE) {
        uint32_t device = machine->graph->device[timer.task];
        machine->is_busy[device] = false;
        end_task(machine, timer.task);
        start_device(machine, device);
        return;
    }
    if (timer.kind == TIMER_INSIDE) {
        open_ring(machine, timer.task);
        if (machine->parts_left[timer.task] == 0) {
            end_task(machine, timer.task);
        }
        return;
    }
    if (--machine->parts_left[timer.task] == 0) {
        end_task(machine, timer.task);
    }
}

// ---- flows ----

static uint32_t count_hops(const struct reconfig_fabric *fabric, uint32_t from, uint32_t to)
{
    uint32_t hops = 0;
    for (uint32_t at = from; at != to; hops++) {
        at = fabric->next_hop[(size_t)at * fabric->server_count + to];
    }
    return hops;
}

static void share_rates(struct machine *machine, struct weft_arena scratch)
{
    uint32_t n = machine->fabric.server_count;
    uint32_t *slot = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)n * n);
    memset(slot, 0xff, (size_t)n * n * sizeof *slot);
    uint32_t room = machine->flow_count + 1;
    uint32_t *from = WEFT_NEW_RAW(&scratch, uint32_t, room);
    uint32_t *to = WEFT_NEW_RAW(&scratch, uint32_t, room);
    uint32_t *weight = WEFT_NEW(&scratch, uint32_t, room);
    double *rate_Bps = WEFT_NEW(&scratch, double, room);
    uint32_t count = 0;
    for (uint32_t f = 0; f < machine->flow_count; f++) {
        const struct flow *flow = &machine->flows[f];
        size_t pair = (size_t)flow->from * n + flow->to;
        if (slot[pair] == WEFT_NONE) {
            from[count] = flow->from;
            to[count] = flow->to;
            slot[pair] = count++;
        }
        weight[slot[pair]]++;
    }
    if (!machine->is_dark) {
        reconfig_rates(rate_Bps, &machine->fabric, from, to, weight, count, scratch);
    }
    for (uint32_t f = 0; f < machine->flow_count; f++) {
        struct flow *flow = &machine->flows[f];
        flow->rate_Bps = rate_Bps[slot[(size_t)flow->from * n + flow->to]];
    }
}

static double next_flow_s(const struct machine *machine)
{
    double soonest_s = HUGE_VAL;
    for (uint32_t f = 0; f < machine->flow_count; f++) {
        if (machine->flows[f].rate_Bps > 0) {
            soonest_s = fmin(soonest_s, machine->flows[f].left_bytes / machine->flows[f].rate_Bps);
        }
    }
    return machine->now_s + soonest_s;
}

// Moves the clock on; flows that end send their last byte on its way.
static void advance(struct machine *machine, double until_s)
{
    const struct reconfig_fabric *fabric = &machine->fabric;
    uint32_t n = fabric->server_count;
    double passed_s = until_s - machine->now_s;
    machine->now_s = until_s;
    uint32_t kept = 0;
    for (uint32_t f = 0; f < machine->flow_count; f++) {
        struct flow flow = machine->flows[f];
        double moved = fmin(flow.left_bytes, flow.rate_Bps * passed_s);
        flow.left_bytes -= moved;
        for (uint32_t at = flow.from; at != flow.to && moved > 0;) {
            uint32_t hop = fabric->next_hop[(size_t)at * n + flow.to];
            machine->link_bytes[(size_t)at * n + hop] += moved;
            machine->moved_bytes += moved;
            at = hop;
        }
        double rest_bytes =
            fmax(DONE_RATIO * flow.size_bytes, flow.rate_Bps * DONE_CLOCK_RATIO * until_s);
        if (flow.rate_Bps > 0 && flow.left_bytes <= rest_bytes) {
            uint32_t hops = count_hops(fabric, flow.from, flow.to);
            machine->hops_max = hops > machine->hops_max ? hops : machine->hops_max;
            set_timer(machine, until_s + hops * weft_seconds(machine->cluster->latency_ps),
                      TIMER_ARRIVAL, flow.task);
        } else {
            machine->flows[kept++] = flow;
        }
    }
    machine->flow_count = kept;
}

// ---- the whole ----

static struct machine open_machine(const struct weft_taskgraph *graph,
                                   const struct weft_cluster *cluster,
                                   const struct weft_sim_options *sim, struct weft_arena *arena)
{
    uint32_t n = cluster->server_count;
    size_t tasks = (size_t)graph->task_count + 1;
    size_t flows = tasks;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        flows += weft_task_is_collective(graph, t) ? weft_task_member_count(graph, t) : 0;
    }
    struct machine machine = {.graph = graph, .cluster = cluster, .wire_ratio = 1};
    if (sim->packet_bytes > sim->header_bytes) {
        machine.wire_ratio =
            (double)sim->packet_bytes / (sim->packet_bytes - (double)sim->header_bytes);
    }
    machine.before_left = WEFT_NEW(arena, uint32_t, tasks);
    memcpy(machine.before_left, graph->prev_count, (tasks - 1) * sizeof(uint32_t));
    machine.parts_left = WEFT_NEW(arena, uint32_t, tasks);
    machine.after = WEFT_NEW(arena, uint32_t, tasks);
    machine.first_waiting = WEFT_NEW(arena, uint32_t, (size_t)graph->device_count + 1);
    machine.last_waiting = WEFT_NEW(arena, uint32_t, (size_t)graph->device_count + 1);
    memset(machine.first_waiting, 0xff, graph->device_count * sizeof(uint32_t));
    machine.is_busy = WEFT_NEW(arena, bool, (size_t)graph->device_count + 1);
    machine.timers.entries = WEFT_NEW_RAW(arena, struct timer, tasks + flows);
    machine.flows = WEFT_NEW_RAW(arena, struct flow, flows);
    machine.link_bytes = WEFT_NEW(arena, double, (size_t)n *n);
    machine.fabric = (struct reconfig_fabric){n, cluster->rate_Bps, NULL,
                                              WEFT_NEW(arena, uint32_t, (size_t)n * n)};
    return machine;
}

// New links after the demand not yet served.
static void rewire(struct machine *machine, uint8_t *width, struct weft_rng *rng,
                   struct weft_arena scratch)
{
    uint32_t n = machine->fabric.server_count;
    double *demand = WEFT_NEW(&scratch, double, (size_t)n *n);
    for (uint32_t f = 0; f < machine->flow_count; f++) {
        const struct flow *flow = &machine->flows[f];
        demand[(size_t)flow->from * n + flow->to] += flow->left_bytes;
    }
    reconfig_links(width, demand, n, machine->cluster->degree, rng, scratch);
    machine->fabric.width = width;
    reconfig_route(&machine->fabric, weft_rng_next(rng), scratch);
}

static void summarize(struct weft_reconfig *result, const struct machine *machine,
                      uint32_t epoch_count)
{
    uint32_t n = machine->fabric.server_count;
    double largest = 0;
    for (size_t l = 0; l < (size_t)n * n; l++) {
        largest = fmax(largest, machine->link_bytes[l]);
    }
    double asked = machine->asked_bytes * machine->wire_ratio;
    *result = (struct weft_reconfig){
        .iteration_s = machine->now_s,
        .epoch_count = epoch_count,
        .bandwidth_tax_ratio = asked > 0 ? machine->moved_bytes / asked : 0,
        .max_hops = machine->hops_max,
        .max_link_load_bytes = largest,
        .mean_link_load_bytes = machine->moved_bytes / ((double)n * machine->cluster->degree)};
}

bool weft_plan_reconfigure(struct weft_reconfig *result, const struct weft_taskgraph *graph,
                           const struct weft_cluster *cluster, uint64_t switch_ps,
                           const struct weft_sim_options *sim, struct weft_arena scratch,
                           struct weft_error *error)
{
    if (cluster->server_count > SERVERS_MAX || graph->server_count > cluster->server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "OCS-reconfig plays up to %u servers and those of its cluster; the graph "
                         "has %u, the cluster %u",
                         SERVERS_MAX, graph->server_count, cluster->server_count);
    }
    if (switch_ps == 0) {
        return weft_fail(error, WEFT_INPUT, "a switch that takes no time; give 1us or so");
    }
    struct machine machine = open_machine(graph, cluster, sim, &scratch);
    uint8_t *width =
        WEFT_NEW(&scratch, uint8_t, (size_t)cluster->server_count * cluster->server_count);
    struct weft_rng rng;
    weft_rng_init(&rng, sim->seed);
    rewire(&machine, width, &rng, scratch);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (graph->prev_count[t] == 0) {
            start_task(&machine, t);
        }
    }
    double switch_s = weft_seconds(switch_ps);
    double turn_s = LIFE_RATIO * switch_s;
    uint32_t epoch_count = 1;
    while (machine.done_count < graph->task_count) {
        share_rates(&machine, scratch);
        double flow_s = next_flow_s(&machine);
        double timer_s = machine.timers.count > 0 ? machine.timers.entries[0].time_s : HUGE_VAL;
        advance(&machine, fmax(machine.now_s, fmin(fmin(flow_s, timer_s), turn_s)));
        while (machine.timers.count > 0 && machine.timers.entries[0].time_s <= machine.now_s) {
            fire(&machine, timers_pop(&machine.timers));
        }
        if (machine.now_s < turn_s) {
            continue;
        }
        machine.is_dark = !machine.is_dark;
        if (machine.is_dark) {
            rewire(&machine, width, &rng, scratch);
            epoch_count++;
        }
        turn_s += machine.is_dark ? switch_s : LIFE_RATIO * switch_s;
        if (epoch_count > EPOCHS_MAX) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "no end after %u rewirings; give the switch a longer time",
                             EPOCHS_MAX);
        }
    }
    summarize(result, &machine, epoch_count);
    return true;
}
