// SPDX-License-Identifier: Apache-2.0
// The ports of a rail and the devices beside them, while tasks begin one after the other.
//
// A circuit is there where both of its ports are joined to each other. The ports of those that are
// not there change together, when the last of them is free: a barrier of all members. Ports that
// keep their peer are not disturbed. O(circuits) an operation.

#include "rails.h"

#include <string.h>

void rail_clock_init(struct rail_clock *clock, const struct rail_program *program,
                     const uint8_t *decisions, const struct rail_rules *rules,
                     struct weft_arena *arena)
{
    size_t ports = rail_port_count(program);
    *clock = (struct rail_clock){.program = program, .decisions = decisions, .rules = rules};
    clock->port_free_ps = WEFT_NEW(arena, int64_t, ports);
    clock->port_peer = WEFT_NEW_RAW(arena, uint32_t, ports);
    clock->port_op = WEFT_NEW_RAW(arena, uint32_t, ports);
    clock->device_free_ps = WEFT_NEW(arena, int64_t, program->graph->device_count);
    memset(clock->port_peer, 0xff, ports * sizeof *clock->port_peer);
    memset(clock->port_op, 0xff, ports * sizeof *clock->port_op);
}

uint64_t rail_inside_ps(const struct rail_program *program, uint32_t task)
{
    const struct weft_taskgraph *graph = program->graph;
    bool timed = weft_task_facts[graph->kind[task]].on_device ||
                 weft_task_facts[graph->kind[task]].is_collective;
    return timed ? graph->runtime_ps[task] : 0;
}

static bool joined(const struct rail_clock *clock, size_t port, uint32_t peer)
{
    return clock->port_peer[port] == peer || clock->port_peer[port] == WEFT_NONE;
}

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// When the switch is asked for circuits that are not there, and when light is back.
static void ask(const struct rail_clock *clock, int64_t able_ps, struct rail_change *change)
{
    const struct rail_rules *rules = clock->rules;
    const struct weft_circuit_delays *delays = &rules->delays;
    bool waits = rules->demand || (rules->within && change->release_ps <= 0);
    change->asked_ps = waits ? able_ps : change->release_ps;
    change->dark_ps = change->asked_ps + (int64_t)delays->command_ps;
    change->lit_ps = change->dark_ps + (int64_t)(delays->dark_ps + delays->retrain_ps);
}

int64_t rail_clock_start(const struct rail_clock *clock, uint32_t task, int64_t ready_ps,
                         struct rail_change *change)
{
    const struct rail_program *program = clock->program;
    uint32_t op = program->op_of[task];
    struct rail_change needed = {.before = WEFT_NONE, .release_ps = INT64_MIN};
    int64_t able_ps = ready_ps; // it waits for nothing but light
    if (op == WEFT_NONE) {
        uint32_t device = program->graph->device[task];
        return device == WEFT_NONE ? ready_ps : latest(ready_ps, clock->device_free_ps[device]);
    }
    const struct rail_way *way = rail_way_of(&program->ops[op], clock->decisions[op]);
    for (uint32_t a = program->list_first[way->list]; a < program->list_first[way->list + 1]; a++) {
        const struct rail_arc *arc = &program->arcs[a];
        size_t sender = rail_sender(program, arc);
        size_t receiver = rail_receiver(program, arc);
        bool later = clock->port_free_ps[receiver] > clock->port_free_ps[sender];
        size_t last = later ? receiver : sender;
        if (!clock->rules->shared && arc->beside == 0) {
            able_ps = latest(able_ps, clock->port_free_ps[last]);
        }
        if (!clock->rules->electrical &&
            (!joined(clock, sender, arc->to) || !joined(clock, receiver, arc->from))) {
            needed.changed = true;
            if (clock->port_free_ps[last] > needed.release_ps) {
                needed.release_ps = clock->port_free_ps[last];
                needed.before = clock->port_op[last];
            }
        }
    }
    if (needed.changed) {
        able_ps = clock->rules->shared ? able_ps : latest(able_ps, needed.release_ps);
        ask(clock, able_ps, &needed);
        able_ps = latest(able_ps, needed.lit_ps) + (int64_t)clock->rules->delays.first_ps;
    }
    if (change != NULL) {
        *change = needed;
    }
    return able_ps;
}

int64_t rail_clock_begin(struct rail_clock *clock, uint32_t task, int64_t start_ps)
{
    const struct rail_program *program = clock->program;
    uint32_t op = program->op_of[task];
    if (op == WEFT_NONE) {
        uint32_t device = program->graph->device[task];
        int64_t end_ps = start_ps + (int64_t)rail_inside_ps(program, task);
        if (device != WEFT_NONE) {
            clock->device_free_ps[device] = end_ps;
        }
        return end_ps;
    }
    const struct rail_way *way = rail_way_of(&program->ops[op], clock->decisions[op]);
    int64_t end_ps = start_ps + (int64_t)way->duration_ps;
    for (uint32_t a = program->list_first[way->list]; a < program->list_first[way->list + 1]; a++) {
        const struct rail_arc *arc = &program->arcs[a];
        size_t ports[2] = {rail_sender(program, arc), rail_receiver(program, arc)};
        bool there =
            clock->port_peer[ports[0]] == arc->to && clock->port_peer[ports[1]] == arc->from;
        for (uint32_t i = 0; i < 2 && !(arc->beside == 1 && there); i++) {
            clock->port_free_ps[ports[i]] = arc->beside == 1 ? start_ps : end_ps;
            clock->port_op[ports[i]] = op;
            clock->port_peer[ports[i]] = i == 0 ? arc->to : arc->from;
        }
    }
    return end_ps;
}
