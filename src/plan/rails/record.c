// SPDX-License-Identifier: Apache-2.0
// What a replay came to: boundaries, dark time of ports, and the circuits over time.
//
// Changes that are asked for at one time between the same phases are one command to the switch. A
// rail's circuits are followed in the order of the commands; those for the next iteration's first
// operations stand at the end of this one. O(circuits log changes).

#include "rails.h"

#include <stdlib.h>
#include <string.h>

// Peers of all changes that are kept at most.
#define SCHEDULE_MAX (1u << 25)

struct event {
    int64_t at_ps;     // of the command, in the iteration
    uint64_t ready_ps; // the operation that asks
    uint32_t before;   // label of the phase that ends
    uint32_t phases;   // both labels
    uint32_t op;
    size_t turned_first; // of its circuits, in `turned`
};

struct recorder {
    const struct rail_program *program;
    const struct rail_times *times;
    const uint8_t *decisions;
    struct rail_clock clock;
    struct event *events;
    uint32_t event_count;
    bool *moved;  // per port
    bool *turned; // per circuit of an event: in the plan's order it is not there
    size_t turned_count;
    double dark_ps;
    uint32_t *seen; // per server: the boundary that has counted it last
};

// What an operation does, where it has that way.
static enum weft_rail_decision decision_of(const struct recorder *recorder, uint32_t op)
{
    uint8_t decision = recorder->decisions[op];
    bool has = recorder->program->ops[op].ways[decision].list != WEFT_NONE;
    return has ? (enum weft_rail_decision)decision : WEFT_RAIL_SWITCH;
}

static bool same_command(const struct event *a, const struct event *b)
{
    return a->at_ps == b->at_ps && a->ready_ps == b->ready_ps && a->phases == b->phases;
}

// By time, then by what makes them one command.
static int by_time(const void *a, const void *b)
{
    const struct event *x = a;
    const struct event *y = b;
    const uint64_t keys[2][4] = {{(uint64_t)x->at_ps, x->ready_ps, x->phases, x->op},
                                 {(uint64_t)y->at_ps, y->ready_ps, y->phases, y->op}};
    for (uint32_t k = 0; k < 4; k++) {
        if (keys[0][k] != keys[1][k]) {
            return keys[0][k] < keys[1][k] ? -1 : 1;
        }
    }
    return 0;
}

// Walks the operations once more for the ports that each change turns.
static void find_events(struct recorder *recorder)
{
    const struct rail_program *program = recorder->program;
    int64_t length_ps = (int64_t)recorder->times->iteration_ps;
    for (uint32_t i = 0; i < program->graph->task_count; i++) {
        uint32_t op = program->op_of[program->order[i]];
        if (op == WEFT_NONE) {
            continue;
        }
        const struct rail_change *change = &recorder->times->changes[op];
        const struct rail_way *way = rail_way_of(&program->ops[op], recorder->decisions[op]);
        for (uint32_t a = program->list_first[way->list];
             change->changed && a < program->list_first[way->list + 1]; a++) {
            const struct rail_arc *arc = &program->arcs[a];
            size_t ends[2] = {rail_sender(program, arc), rail_receiver(program, arc)};
            bool there = recorder->clock.port_peer[ends[0]] == arc->to &&
                         recorder->clock.port_peer[ends[1]] == arc->from;
            recorder->turned[recorder->turned_count++] = !there;
            for (uint32_t e = 0; e < 2 && !there; e++) {
                recorder->moved[ends[e]] = true;
                recorder->dark_ps += (double)(change->lit_ps - change->dark_ps);
            }
        }
        if (change->changed) {
            int64_t at_ps = change->asked_ps < 0 ? change->asked_ps + length_ps : change->asked_ps;
            uint32_t before = program->ops[change->before].label;
            recorder->events[recorder->event_count++] = (struct event){
                .at_ps = at_ps > 0 ? at_ps : 0,
                .ready_ps = recorder->times->ready_ps[program->order[i]],
                .before = before,
                .phases = before * RAIL_LABEL_COUNT + program->ops[op].label,
                .op = op,
                .turned_first = recorder->turned_count - (program->list_first[way->list + 1] -
                                                          program->list_first[way->list]),
            };
        }
        (void)rail_clock_begin(&recorder->clock, program->order[i], 0);
    }
}

// The servers whose ports a command turns: those of the circuits that its operations use.
static void count_servers(struct weft_rail_boundary *boundary, struct recorder *recorder,
                          uint32_t op, uint32_t index)
{
    const struct rail_program *program = recorder->program;
    const struct rail_way *way = rail_way_of(&program->ops[op], recorder->decisions[op]);
    for (uint32_t a = program->list_first[way->list]; a < program->list_first[way->list + 1]; a++) {
        uint32_t ends[2] = {program->arcs[a].from, program->arcs[a].to};
        for (uint32_t e = 0; e < 2; e++) {
            uint32_t server = ends[e] / program->options->places;
            boundary->first = server < boundary->first ? server : boundary->first;
            boundary->servers += recorder->seen[server] != index;
            recorder->seen[server] = index;
        }
    }
}

static uint64_t since_begin(int64_t time_ps)
{
    return time_ps > 0 ? (uint64_t)time_ps : 0;
}

static void list_boundaries(struct weft_rail_result *result, struct recorder *recorder,
                            struct weft_arena *arena)
{
    const struct rail_program *program = recorder->program;
    struct weft_rail_boundary *boundaries =
        WEFT_NEW(arena, struct weft_rail_boundary, recorder->event_count + 1);
    uint32_t count = 0;
    for (uint32_t e = 0; e < recorder->event_count; e++) {
        const struct event *event = &recorder->events[e];
        const struct rail_change *change = &recorder->times->changes[event->op];
        uint32_t task = program->ops[event->op].task;
        int64_t ready_ps = (int64_t)recorder->times->ready_ps[task];
        int64_t free_ps = ready_ps > change->release_ps ? ready_ps : change->release_ps;
        uint64_t cost_ps = since_begin((int64_t)recorder->times->start_ps[task] - free_ps);
        if (e == 0 || !same_command(&recorder->events[e - 1], event)) {
            boundaries[count++] = (struct weft_rail_boundary){
                .before = rail_label_names[event->before],
                .after = rail_label_names[program->ops[event->op].label],
                .first = WEFT_NONE,
                .asked_ps = (uint64_t)event->at_ps,
                .early = change->asked_ps < 0,
                .dark_from_ps = (uint64_t)(event->at_ps + (change->dark_ps - change->asked_ps)),
                .dark_to_ps = (uint64_t)(event->at_ps + (change->lit_ps - change->asked_ps)),
                .window_ps = since_begin(ready_ps - change->release_ps),
                .decision = decision_of(recorder, event->op),
            };
        }
        struct weft_rail_boundary *boundary = &boundaries[count - 1];
        boundary->cost_ps = cost_ps > boundary->cost_ps ? cost_ps : boundary->cost_ps;
        count_servers(boundary, recorder, event->op, count);
    }
    result->boundaries = boundaries;
    result->boundary_count = count;
}

// ---- circuits over time ----

// Peers of the first place's nodes; those that send to nobody have themselves.
static void read_plane(uint32_t *peers, const struct recorder *recorder, uint32_t plane)
{
    const struct rail_program *program = recorder->program;
    uint32_t places = program->options->places;
    const uint32_t *sends = recorder->clock.port_peer + (size_t)(2 * plane) * program->node_count;
    const uint32_t *receives = sends + program->node_count;
    for (uint32_t s = 0; s < program->graph->server_count; s++) {
        uint32_t to = sends[(size_t)s * places];
        peers[s] = to != WEFT_NONE && receives[to] == s * places ? to / places : s;
    }
}

// What is there in the plan's order may by now have been turned to what comes behind it.
static void turn(struct recorder *recorder, const struct event *event)
{
    const struct rail_program *program = recorder->program;
    const struct rail_way *way =
        rail_way_of(&program->ops[event->op], recorder->decisions[event->op]);
    uint32_t first = program->list_first[way->list];
    for (uint32_t a = first; a < program->list_first[way->list + 1]; a++) {
        const struct rail_arc *arc = &program->arcs[a];
        if (recorder->turned[event->turned_first + (a - first)]) {
            recorder->clock.port_peer[rail_sender(program, arc)] = arc->to;
            recorder->clock.port_peer[rail_receiver(program, arc)] = arc->from;
        }
    }
}

static void list_circuits(struct weft_rail_result *result, struct recorder *recorder,
                          struct weft_arena *arena, struct weft_arena scratch)
{
    const struct rail_program *program = recorder->program;
    uint32_t servers = program->graph->server_count;
    uint32_t planes = program->plane_count;
    for (uint32_t e = 0; e < recorder->event_count; e++) {
        turn(recorder, &recorder->events[e]); // as the iteration ends, so it begins
    }
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)planes * servers);
    uint32_t *now = WEFT_NEW(&scratch, uint32_t, (size_t)planes * servers);
    for (uint32_t p = 0; p < planes; p++) {
        read_plane(first + (size_t)p * servers, recorder, p);
    }
    memcpy(now, first, (size_t)planes * servers * sizeof *now);
    uint64_t room = (uint64_t)recorder->event_count * planes;
    struct weft_circuit_change *changes = WEFT_NEW(arena, struct weft_circuit_change, room + 1);
    uint32_t count = 0;
    for (uint32_t e = 0; e < recorder->event_count; e++) {
        turn(recorder, &recorder->events[e]);
        bool more = e + 1 < recorder->event_count &&
                    recorder->events[e + 1].at_ps == recorder->events[e].at_ps;
        for (uint32_t p = 0; p < planes && !more; p++) {
            if ((uint64_t)(count + 1) * servers > SCHEDULE_MAX) {
                break;
            }
            uint32_t *peers = WEFT_NEW(arena, uint32_t, servers);
            read_plane(peers, recorder, p);
            uint32_t *before = now + (size_t)p * servers;
            if (memcmp(peers, before, servers * sizeof *peers) != 0) {
                memcpy(before, peers, servers * sizeof *peers);
                changes[count++] =
                    (struct weft_circuit_change){(uint64_t)recorder->events[e].at_ps, p, peers};
            }
        }
    }
    result->schedule = (struct weft_circuit_schedule){
        .node_count = servers,
        .plane_count = planes,
        .first = first,
        .change_count = count,
        .changes = changes,
        .delays = program->options->delays,
        .end_ps = recorder->times->iteration_ps,
    };
}

// ---- operations ----

// All operations with their circuits, for those who carry them out.
static void list_steps(struct weft_rail_result *result, const struct recorder *recorder,
                       struct weft_arena *arena)
{
    const struct rail_program *program = recorder->program;
    struct weft_rail_step *steps = WEFT_NEW(arena, struct weft_rail_step, program->op_count + 1);
    size_t room = 0;
    for (uint32_t o = 0; o < program->op_count; o++) {
        uint32_t list = rail_way_of(&program->ops[o], recorder->decisions[o])->list;
        room += program->list_first[list + 1] - program->list_first[list];
    }
    struct weft_rail_circuit *circuits = WEFT_NEW(arena, struct weft_rail_circuit, room + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->graph->task_count; i++) {
        uint32_t task = program->order[i];
        uint32_t op = program->op_of[task];
        if (op == WEFT_NONE) {
            continue;
        }
        const struct rail_way *way = rail_way_of(&program->ops[op], recorder->decisions[op]);
        struct weft_rail_step *step = &steps[result->step_count++];
        *step = (struct weft_rail_step){
            .task = task,
            .phase = rail_label_names[program->ops[op].label],
            .decision = decision_of(recorder, op),
            .circuit_first = count,
            .start_ps = recorder->times->start_ps[task],
            .end_ps = recorder->times->end_ps[task],
        };
        for (uint32_t a = program->list_first[way->list]; a < program->list_first[way->list + 1];
             a++) {
            const struct rail_arc *arc = &program->arcs[a];
            circuits[count++] =
                (struct weft_rail_circuit){arc->from, arc->to, arc->plane, arc->beside == 1};
        }
        step->circuit_count = count - step->circuit_first;
    }
    result->steps = steps;
    result->circuits = circuits;
}

void rail_record(struct weft_rail_result *result, const struct rail_program *program,
                 const struct rail_times *times, const uint8_t *decisions,
                 const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    const struct rail_rules rules = {.demand = false};
    size_t ports = rail_port_count(program);
    struct recorder recorder = {.program = program, .times = times, .decisions = decisions};
    rail_clock_init(&recorder.clock, program, decisions, &rules, &scratch);
    recorder.events = WEFT_NEW(&scratch, struct event, program->op_count + 1);
    recorder.moved = WEFT_NEW(&scratch, bool, ports);
    size_t circuits = 0;
    for (uint32_t o = 0; o < program->op_count; o++) {
        uint32_t list = rail_way_of(&program->ops[o], decisions[o])->list;
        circuits += program->list_first[list + 1] - program->list_first[list];
    }
    recorder.turned = WEFT_NEW(&scratch, bool, circuits + 1);
    recorder.seen = WEFT_NEW(&scratch, uint32_t, program->graph->server_count);
    for (uint32_t i = 0; i < program->graph->task_count; i++) {
        if (program->op_of[program->order[i]] != WEFT_NONE) { // the iteration before
            (void)rail_clock_begin(&recorder.clock, program->order[i], 0);
        }
    }
    find_events(&recorder);
    qsort(recorder.events, recorder.event_count, sizeof *recorder.events, by_time);
    list_boundaries(result, &recorder, environment->arena);
    uint64_t moved = 0;
    for (size_t p = 0; p < ports; p++) {
        moved += recorder.moved[p];
    }
    result->dark_share = moved == 0 || times->iteration_ps == 0
                             ? 0
                             : recorder.dark_ps / ((double)moved * (double)times->iteration_ps);
    list_circuits(result, &recorder, environment->arena, scratch);
    list_steps(result, &recorder, environment->arena);
}
