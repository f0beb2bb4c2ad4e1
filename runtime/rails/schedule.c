// SPDX-License-Identifier: Apache-2.0
// Compiles a replay's operations to turns and phases (schedule.h).
//
// An iteration is walked twice, since it begins with the circuits that it ends with: the first walk
// leaves the ports as they are then, the second finds which circuits each operation lacks. As in
// the replay, a circuit is there where both of its ports are joined to each other.

#include "schedule.h"

#include <string.h>

struct walk {
    struct lab_rail_schedule *schedule;
    const struct weft_rail_result *rails;
    const struct lab_program *program;
    struct weft_arena *arena;
    uint32_t *sends, *receives; // by rank: the peer of its port
};

static bool is_there(const struct walk *walk, const struct weft_rail_circuit *circuit)
{
    return walk->sends[circuit->from] == circuit->to &&
           walk->receives[circuit->to] == circuit->from;
}

static void join(struct walk *walk, const struct weft_rail_step *step)
{
    for (uint32_t c = 0; c < step->circuit_count; c++) {
        const struct weft_rail_circuit *circuit = &walk->rails->circuits[step->circuit_first + c];
        walk->sends[circuit->from] = circuit->to;
        walk->receives[circuit->to] = circuit->from;
    }
}

// The operation of a task at a rank; WEFT_NONE = it has none.
static uint32_t operation_at(const struct lab_program *program, uint32_t task, uint32_t rank)
{
    for (uint32_t o = program->task_operation[task]; o < program->task_operation[task + 1]; o++) {
        if (program->operations[o].server == rank) {
            return o;
        }
    }
    return WEFT_NONE;
}

// The stream that takes an operation's bytes from a rank to its peer.
static uint32_t stream_of(const struct lab_program *program, uint32_t from, uint32_t to)
{
    for (uint32_t s = 0; s < program->stream_count; s++) {
        if (program->streams[s].from == from && program->streams[s].to == to) {
            return s; // those of signals come last
        }
    }
    return WEFT_NONE;
}

// A rank's part in a step; false: it has none.
static bool fill_turn(struct lab_turn *turn, const struct walk *walk,
                      const struct weft_rail_step *step, uint32_t rank, uint32_t phase)
{
    *turn = (struct lab_turn){.operation = operation_at(walk->program, step->task, rank),
                              .phase = WEFT_NONE,
                              .send_to = WEFT_NONE,
                              .stream = WEFT_NONE};
    bool any = false;
    for (uint32_t c = 0; c < step->circuit_count; c++) {
        const struct weft_rail_circuit *circuit = &walk->rails->circuits[step->circuit_first + c];
        bool turns = !is_there(walk, circuit);
        if (circuit->from == rank) {
            turn->send_to = circuit->to;
            turn->send_beside = circuit->beside;
            turn->send_turns = turns;
            turn->stream = stream_of(walk->program, rank, circuit->to);
        }
        if (circuit->to == rank) {
            turn->receives = true;
            turn->receive_beside = circuit->beside;
            turn->receive_turns = turns;
        }
        any = any || circuit->from == rank || circuit->to == rank;
    }
    if (turn->operation != WEFT_NONE) {
        turn->passive = walk->program->operations[turn->operation].kind == LAB_OPERATION_RECEIVE;
    }
    turn->last = turn->operation;
    turn->phase = turn->send_turns || turn->receive_turns ? phase : WEFT_NONE;
    return any;
}

// The circuits that a step lacks become a phase. Returns its number; WEFT_NONE = it lacks none.
static uint32_t add_phase(struct walk *walk, const struct weft_rail_step *step)
{
    struct lab_circuit *circuits = WEFT_NEW(walk->arena, struct lab_circuit, step->circuit_count);
    uint32_t count = 0;
    for (uint32_t c = 0; c < step->circuit_count; c++) {
        const struct weft_rail_circuit *circuit = &walk->rails->circuits[step->circuit_first + c];
        if (!is_there(walk, circuit)) {
            circuits[count++] = (struct lab_circuit){circuit->from, circuit->to};
        }
    }
    if (count == 0) {
        return WEFT_NONE;
    }
    uint32_t phase = walk->schedule->phase_count++;
    walk->schedule->phases[phase] = (struct lab_phase_plan){step->phase, count, circuits};
    return phase;
}

static bool add_step(struct walk *walk, const struct weft_rail_step *step, struct weft_error *error)
{
    uint32_t phase = add_phase(walk, step);
    for (uint32_t r = 0; r < walk->schedule->rank_count; r++) {
        struct lab_turns *turns = &walk->schedule->ranks[r];
        struct lab_turn *turn = &turns->turns[turns->count];
        if (!fill_turn(turn, walk, step, r, phase)) {
            continue;
        }
        if (turn->operation == WEFT_NONE) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "task %u uses ports of server %u, which has no part in it; the lab "
                             "plays collectives and transfers",
                             step->task, r);
        }
        turns->count++;
    }
    join(walk, step);
    return true;
}

static void count_moving(struct lab_rail_schedule *schedule)
{
    for (uint32_t r = 0; r < schedule->rank_count; r++) {
        bool moves = false;
        for (uint32_t t = 0; t < schedule->ranks[r].count; t++) {
            moves = moves || schedule->ranks[r].turns[t].send_turns;
        }
        schedule->moving_ports += moves;
    }
}

bool lab_rail_schedule_build(struct lab_rail_schedule *schedule,
                             const struct weft_rail_result *rails,
                             const struct lab_program *program, struct weft_arena *arena,
                             struct weft_error *error)
{
    uint32_t n = program->graph->server_count;
    struct lab_rail_schedule built = {
        .rank_count = n,
        .plane_count = 1,
        .ranks = WEFT_NEW(arena, struct lab_turns, n),
        .phases = WEFT_NEW(arena, struct lab_phase_plan, (size_t)rails->step_count + 1),
        .outputs = WEFT_NEW(arena, uint32_t, n),
    };
    struct walk walk = {
        .schedule = &built,
        .rails = rails,
        .program = program,
        .arena = arena,
        .sends = WEFT_NEW(arena, uint32_t, n),
        .receives = WEFT_NEW(arena, uint32_t, n),
    };
    memset(walk.sends, 0xff, n * sizeof *walk.sends);
    memset(walk.receives, 0xff, n * sizeof *walk.receives);
    for (uint32_t s = 0; s < rails->step_count; s++) {
        join(&walk, &rails->steps[s]);
    }
    for (uint32_t r = 0; r < n; r++) {
        built.ranks[r].turns = WEFT_NEW(arena, struct lab_turn, (size_t)rails->step_count + 1);
        uint32_t to = walk.sends[r];
        built.outputs[r] = to != WEFT_NONE && walk.receives[to] == r ? to : WEFT_NONE;
    }
    for (uint32_t s = 0; s < rails->step_count; s++) {
        if (!add_step(&walk, &rails->steps[s], error)) {
            return false;
        }
    }
    count_moving(&built);
    *schedule = built;
    return true;
}
