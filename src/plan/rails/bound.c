// SPDX-License-Identifier: Apache-2.0
// A lower bound on the iteration, whatever decisions, order and times of changes, and the sum
// formula of Opus' paper on the critical path.
//
// The bound is the critical path of the task graph, each operation by its quickest way, with the
// dark time on every unavoidable boundary: two operations u -> v, v waiting for u through the
// graph, one after the other at a port and with other peers there in all of their ways. No light
// passes there between them, so v begins no sooner than u's end + d; where the path between them is
// longer than d the edge says nothing. Where some ways of both get along, what these take longer is
// counted instead if that is less, half of it, since an operation may save two boundaries by one
// way. docs/photonic-rails.md has the proof. Iterations do not overlap, so that the path of one is
// a bound on their rhythm. O(circuits + boundaries * tasks within their windows).

#include "rails.h"

#include <string.h>

// Tasks looked at between two operations; beyond it the boundary says nothing.
#define WINDOW_TASKS 4096u

// ---- which boundaries there are ----

struct edges {
    const struct rail_program *program;
    const struct rail_times *still;
    uint32_t *first, *previous; // CSR: what each task waits for
    uint32_t *stamp;            // per task: the search that has seen it last
    uint32_t stamp_count;
    uint32_t *queue;
    uint32_t *before; // operations at the ports of one that need not be its own kind
};

static void list_previous(struct edges *edges, struct weft_arena *arena)
{
    const struct weft_taskgraph *graph = edges->program->graph;
    uint32_t n = graph->task_count;
    edges->first = WEFT_NEW(arena, uint32_t, n + 1);
    for (uint32_t t = 0; t < n; t++) {
        edges->first[t + 1] = edges->first[t] + graph->prev_count[t];
    }
    edges->previous = WEFT_NEW(arena, uint32_t, edges->first[n] + 1);
    uint32_t *at = WEFT_NEW(arena, uint32_t, n);
    for (uint32_t t = 0; t < n; t++) {
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            uint32_t next = graph->next[e];
            edges->previous[edges->first[next] + at[next]++] = t;
        }
    }
}

// Whether `to` waits for `from` through tasks that all begin at the end of `from` or later.
static bool waits_for(struct edges *edges, uint32_t to, uint32_t from)
{
    uint64_t since_ps = edges->still->end_ps[from];
    uint32_t count = 1;
    edges->queue[0] = to;
    edges->stamp[to] = ++edges->stamp_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t task = edges->queue[i];
        for (uint32_t e = edges->first[task]; e < edges->first[task + 1]; e++) {
            uint32_t previous = edges->previous[e];
            if (previous == from) {
                return true;
            }
            if (edges->stamp[previous] != edges->stamp_count && count < WINDOW_TASKS &&
                edges->still->start_ps[previous] >= since_ps) {
                edges->stamp[previous] = edges->stamp_count;
                edges->queue[count++] = previous;
            }
        }
    }
    return false;
}

// ---- ways that get along ----

// Whether two lists have a port with one peer in the first and another in the second.
static bool clash(const struct rail_program *program, uint32_t a, uint32_t b, uint32_t *peers)
{
    bool found = false;
    for (uint32_t i = program->list_first[a]; i < program->list_first[a + 1]; i++) {
        const struct rail_arc *arc = &program->arcs[i];
        if (arc->beside == 0) {
            peers[rail_sender(program, arc)] = arc->to;
            peers[rail_receiver(program, arc)] = arc->from;
        }
    }
    for (uint32_t i = program->list_first[b]; i < program->list_first[b + 1] && !found; i++) {
        const struct rail_arc *arc = &program->arcs[i];
        uint32_t to = peers[rail_sender(program, arc)];
        uint32_t from = peers[rail_receiver(program, arc)];
        found = arc->beside == 0 &&
                ((to != WEFT_NONE && to != arc->to) || (from != WEFT_NONE && from != arc->from));
    }
    for (uint32_t i = program->list_first[a]; i < program->list_first[a + 1]; i++) {
        peers[rail_sender(program, &program->arcs[i])] = WEFT_NONE;
        peers[rail_receiver(program, &program->arcs[i])] = WEFT_NONE;
    }
    return found;
}

static uint64_t quickest(const struct rail_op *op)
{
    uint64_t least_ps = WEFT_NEVER;
    for (uint32_t w = 0; w <= WEFT_RAIL_FORWARD; w++) {
        if (op->ways[w].list != WEFT_NONE && op->ways[w].duration_ps < least_ps) {
            least_ps = op->ways[w].duration_ps;
        }
    }
    return least_ps;
}

// What the boundary costs at least: dark time, or half of what ways that get along take longer.
static uint64_t least_cost(const struct rail_program *program, const struct rail_op *u,
                           const struct rail_op *v, uint64_t dark_ps, uint32_t *peers)
{
    uint64_t least_ps = dark_ps;
    for (uint32_t i = 0; i <= WEFT_RAIL_FORWARD; i++) {
        for (uint32_t k = 0; k <= WEFT_RAIL_FORWARD; k++) {
            if (u->ways[i].list == WEFT_NONE || v->ways[k].list == WEFT_NONE) {
                continue;
            }
            uint64_t longer_ps =
                u->ways[i].duration_ps - quickest(u) + (v->ways[k].duration_ps - quickest(v));
            if (longer_ps / 2 < least_ps &&
                !clash(program, u->ways[i].list, v->ways[k].list, peers)) {
                least_ps = longer_ps / 2;
            }
        }
    }
    return least_ps;
}

// ---- the bound ----

// The operations that had the ports of this one before it with another peer, each once.
static uint32_t list_before(struct edges *edges, const struct rail_clock *clock, uint32_t op)
{
    const struct rail_program *program = edges->program;
    const struct rail_way *way = &program->ops[op].ways[WEFT_RAIL_SWITCH];
    uint32_t count = 0;
    for (uint32_t a = program->list_first[way->list]; a < program->list_first[way->list + 1]; a++) {
        const struct rail_arc *arc = &program->arcs[a];
        size_t ports[2] = {rail_sender(program, arc), rail_receiver(program, arc)};
        for (uint32_t i = 0; i < 2 && arc->beside == 0; i++) {
            uint32_t peer = i == 0 ? arc->to : arc->from;
            uint32_t other = clock->port_op[ports[i]];
            uint32_t k = 0;
            while (k < count && edges->before[k] != other) {
                k++;
            }
            if (other != WEFT_NONE && clock->port_peer[ports[i]] != peer && k == count &&
                count < 8) {
                edges->before[count++] = other;
            }
        }
    }
    return count;
}

uint64_t rail_bound(const struct rail_program *program, const struct rail_times *still,
                    const struct weft_circuit_delays *delays, struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = program->graph;
    uint32_t n = graph->task_count;
    const struct rail_rules rules = {.demand = false};
    uint8_t *decisions = WEFT_NEW(&scratch, uint8_t, program->op_count + 1);
    struct rail_clock clock;
    rail_clock_init(&clock, program, decisions, &rules, &scratch);
    struct edges edges = {.program = program, .still = still};
    list_previous(&edges, &scratch);
    edges.stamp = WEFT_NEW(&scratch, uint32_t, n);
    edges.queue = WEFT_NEW(&scratch, uint32_t, WINDOW_TASKS);
    edges.before = WEFT_NEW(&scratch, uint32_t, 8);
    uint32_t *peers = WEFT_NEW(&scratch, uint32_t, rail_port_count(program));
    memset(peers, 0xff, rail_port_count(program) * sizeof *peers);
    uint64_t *ready_ps = WEFT_NEW(&scratch, uint64_t, n);
    uint64_t *end_ps = WEFT_NEW(&scratch, uint64_t, n);
    uint64_t dark_ps = delays->dark_ps + delays->retrain_ps + delays->first_ps;
    uint64_t last_ps = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t task = program->order[i];
        uint32_t op = program->op_of[task];
        uint64_t start_ps = ready_ps[task];
        end_ps[task] = start_ps + rail_inside_ps(program, task);
        if (op != WEFT_NONE) {
            start_ps += rail_inside_ps(program, task);
            uint32_t count = list_before(&edges, &clock, op);
            for (uint32_t b = 0; b < count; b++) {
                uint32_t other = edges.before[b];
                uint32_t u = program->ops[other].task;
                bool matters = end_ps[u] + dark_ps > start_ps && waits_for(&edges, task, u);
                uint64_t least_ps = matters
                                        ? end_ps[u] + least_cost(program, &program->ops[other],
                                                                 &program->ops[op], dark_ps, peers)
                                        : 0;
                start_ps = least_ps > start_ps ? least_ps : start_ps;
            }
            end_ps[task] = start_ps + quickest(&program->ops[op]);
            (void)rail_clock_begin(&clock, task, (int64_t)start_ps);
        }
        for (uint32_t e = graph->next_first[task]; e < graph->next_first[task + 1]; e++) {
            uint32_t next = graph->next[e];
            ready_ps[next] = ready_ps[next] > end_ps[task] ? ready_ps[next] : end_ps[task];
        }
        last_ps = last_ps > end_ps[task] ? last_ps : end_ps[task];
    }
    return last_ps;
}

// ---- the sum formula ----

// What the best path that ends at a time has lost to windows that are too short.
struct loss {
    uint64_t at_ps;
    uint64_t lost_ps;
    uint32_t starts;
};

static void join(struct loss *loss, const struct loss *other)
{
    if (other->at_ps > loss->at_ps ||
        (other->at_ps == loss->at_ps &&
         (other->lost_ps > loss->lost_ps ||
          (other->lost_ps == loss->lost_ps && other->starts > loss->starts)))) {
        *loss = *other;
    }
}

// Walks the ports of an operation: joins what they were busy with into `loss`, or sets it.
static void walk_ports(struct loss *ports, struct loss *loss, bool set,
                       const struct rail_program *program, const struct rail_way *way)
{
    for (uint32_t a = program->list_first[way->list]; a < program->list_first[way->list + 1]; a++) {
        size_t ends[2] = {rail_sender(program, &program->arcs[a]),
                          rail_receiver(program, &program->arcs[a])};
        for (uint32_t i = 0; i < 2 && program->arcs[a].beside == 0; i++) {
            if (set) {
                ports[ends[i]] = *loss;
            } else {
                join(loss, &ports[ends[i]]);
            }
        }
    }
}

uint64_t rail_formula(uint32_t *phase_starts, const struct rail_program *program,
                      const struct rail_times *still, const uint8_t *decisions, uint64_t dark_ps,
                      struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = program->graph;
    struct loss *ready = WEFT_NEW(&scratch, struct loss, graph->task_count);
    struct loss *ports = WEFT_NEW(&scratch, struct loss, rail_port_count(program));
    struct loss *devices = WEFT_NEW(&scratch, struct loss, graph->device_count);
    struct loss last = {0};
    for (uint32_t i = 0; i < graph->task_count; i++) {
        uint32_t task = program->order[i];
        uint32_t op = program->op_of[task];
        struct loss own = ready[task];
        const struct rail_way *way = NULL;
        if (op != WEFT_NONE) {
            own.at_ps += rail_inside_ps(program, task);
            way = rail_way_of(&program->ops[op], decisions[op]);
            walk_ports(ports, &own, false, program, way);
            const struct rail_change *change = &still->changes[op];
            if (change->changed) {
                uint64_t window_ps =
                    (uint64_t)((int64_t)still->ready_ps[task] - change->release_ps);
                bool over = (int64_t)still->ready_ps[task] < change->release_ps;
                window_ps = over ? 0 : window_ps;
                own.lost_ps += dark_ps > window_ps ? dark_ps - window_ps : 0;
                own.starts++;
            }
        } else if (graph->device[task] != WEFT_NONE) {
            join(&own, &devices[graph->device[task]]);
        }
        own.at_ps = still->end_ps[task];
        if (way != NULL) {
            walk_ports(ports, &own, true, program, way);
        } else if (graph->device[task] != WEFT_NONE) {
            devices[graph->device[task]] = own;
        }
        for (uint32_t e = graph->next_first[task]; e < graph->next_first[task + 1]; e++) {
            join(&ready[graph->next[e]], &own);
        }
        join(&last, &own);
    }
    *phase_starts = last.starts;
    return still->iteration_ps + last.lost_ps;
}
