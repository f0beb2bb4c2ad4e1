// SPDX-License-Identifier: Apache-2.0
// A task graph on rails: compiled, put in order, replayed in the mode that is wanted, and held
// against its bound, against electrical rails and against itself without dark time.

#include "rails.h"

#include <string.h>

const char *weft_rail_mode_name(enum weft_rail_mode mode)
{
    static const char *const names[] = {"demand", "provision", "best"};
    WEFT_ASSERT(mode < WEFT_RAIL_MODE_COUNT);
    return names[mode];
}

const char *weft_rail_decision_name(enum weft_rail_decision decision)
{
    static const char *const names[] = {"switch", "split", "forward"};
    WEFT_ASSERT(decision <= WEFT_RAIL_FORWARD);
    return names[decision];
}

struct run {
    struct rail_program program;
    struct rail_times still;
    struct rail_times times;
    uint8_t *decisions;
    uint8_t *plain;        // all SWITCH
    uint32_t *first_order; // without dark time
};

static uint64_t iteration(const struct rail_program *program, const uint8_t *decisions,
                          const struct rail_rules *rules, struct weft_arena scratch)
{
    struct rail_times times = {0};
    rail_replay(&times, program, decisions, rules, scratch);
    return times.iteration_ps;
}

// ---- overlaps ----

// Operations that wait for a port that another phase has while they are ready already.
static void find_overlaps(struct weft_rail_overlap *overlap, const struct run *run,
                          struct weft_arena scratch)
{
    const struct rail_program *program = &run->program;
    const struct rail_rules rules = {.demand = false};
    struct rail_clock clock;
    rail_clock_init(&clock, program, run->plain, &rules, &scratch);
    for (uint32_t i = 0; i < program->graph->task_count; i++) {
        uint32_t task = program->order[i];
        uint32_t op = program->op_of[task];
        if (op == WEFT_NONE) {
            continue;
        }
        const struct rail_way *way = &program->ops[op].ways[WEFT_RAIL_SWITCH];
        bool waits = false;
        for (uint32_t a = program->list_first[way->list];
             a < program->list_first[way->list + 1] && !waits; a++) {
            size_t port = rail_sender(program, &program->arcs[a]);
            uint32_t other = clock.port_op[port];
            waits = other != WEFT_NONE && program->arcs[a].beside == 0 &&
                    program->ops[other].label != program->ops[op].label &&
                    run->still.end_ps[program->ops[other].task] > run->still.ready_ps[task];
            if (waits && overlap->count == 0) {
                overlap->waits = rail_label_names[program->ops[op].label];
                overlap->holds = rail_label_names[program->ops[other].label];
                overlap->server = program->arcs[a].from / program->options->places;
                overlap->at_ps = run->still.ready_ps[task];
            }
        }
        overlap->count += waits;
        (void)rail_clock_begin(&clock, task, (int64_t)run->still.start_ps[task]);
    }
    const struct rail_rules shared = {.electrical = true, .shared = true};
    uint64_t least_ps = iteration(program, run->plain, &shared, scratch);
    overlap->cost_ps = run->still.iteration_ps > least_ps ? run->still.iteration_ps - least_ps : 0;
}

// ---- the mode ----

// BEST: decisions in the order without dark time, and in one that a scheduler finds with it.
static void choose_best(struct run *run, const struct rail_rules *rules, struct weft_arena *arena,
                        struct weft_arena scratch)
{
    struct rail_program *program = &run->program;
    uint32_t n = program->graph->task_count;
    uint64_t best_ps = rail_best(run->decisions, program, &run->still, rules, scratch);
    uint32_t *other = WEFT_NEW(arena, uint32_t, n);
    uint8_t *decisions = WEFT_NEW(arena, uint8_t, program->op_count + 1);
    rail_order(other, program, run->decisions, rules, scratch);
    if (memcmp(other, run->first_order, n * sizeof *other) == 0) {
        return;
    }
    const struct rail_rules none = {.demand = false};
    struct rail_times still;
    program->order = other;
    rail_times_init(&still, program, &scratch);
    rail_replay(&still, program, run->plain, &none, scratch);
    if (rail_best(decisions, program, &still, rules, scratch) < best_ps) {
        run->decisions = decisions;
    } else {
        program->order = run->first_order;
    }
}

static void measure(struct weft_rail_result *result, struct run *run,
                    const struct weft_environment *environment)
{
    const struct rail_program *program = &run->program;
    const struct weft_circuit_delays *delays = &program->options->delays;
    struct weft_arena scratch = environment->scratch;
    const struct rail_rules electrical = {.electrical = true};
    uint8_t *all = WEFT_NEW(&scratch, uint8_t, program->op_count + 1);
    memset(all, RAIL_ELECTRICAL, program->op_count);
    result->electrical_ps = iteration(program, all, &electrical, scratch);
    result->iteration_ps = run->times.iteration_ps;
    const struct rail_rules none = {.demand = false};
    result->still_ps = iteration(program, run->decisions, &none, scratch);
    for (uint32_t o = 0; o < program->op_count; o++) {
        const struct rail_op *op = &program->ops[o];
        bool has = op->ways[run->decisions[o]].list != WEFT_NONE;
        result->split += has && run->decisions[o] == WEFT_RAIL_SPLIT;
        result->forwarded += has && run->decisions[o] == WEFT_RAIL_FORWARD;
    }
    struct weft_environment inner = *environment;
    inner.scratch = scratch;
    rail_record(result, program, &run->times, run->decisions, &inner);
    rail_spans(result, program, &run->times, run->decisions, environment->arena);
    uint64_t dark_ps = delays->command_ps + delays->dark_ps + delays->retrain_ps + delays->first_ps;
    result->formula_ps =
        rail_formula(&result->phase_starts, program, &run->still, run->plain, dark_ps, scratch);
}

bool rail_sketch(uint64_t *iteration_ps, const struct weft_taskgraph *graph,
                 const struct weft_rail_options *options,
                 const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena own = weft_arena_split(&scratch);
    struct rail_program program;
    if (!rail_compile(&program, graph, options, &own, scratch, environment->error)) {
        return false;
    }
    const struct rail_rules none = {.demand = false};
    const struct rail_rules rules = {.delays = options->delays, .within = options->within};
    uint8_t *decisions = WEFT_NEW(&own, uint8_t, program.op_count + 1);
    rail_order(program.order, &program, decisions, &none, scratch);
    uint64_t least_ps = iteration(&program, decisions, &rules, scratch);
    if (options->ports > 1) {
        memset(decisions, WEFT_RAIL_SPLIT, program.op_count);
        uint64_t split_ps = iteration(&program, decisions, &rules, scratch);
        least_ps = split_ps < least_ps ? split_ps : least_ps;
    }
    *iteration_ps = least_ps;
    return true;
}

bool weft_rail_run(struct weft_rail_result *result, const struct weft_taskgraph *graph,
                   const struct weft_rail_options *options,
                   const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena own = weft_arena_split(&scratch);
    struct run run;
    if (!rail_compile(&run.program, graph, options, &own, scratch, environment->error)) {
        return false;
    }
    struct rail_program *program = &run.program;
    const struct rail_rules none = {.demand = false};
    const struct rail_rules rules = {
        .delays = options->delays,
        .demand = options->mode == WEFT_RAIL_DEMAND,
        .within = options->within,
    };
    run.plain = WEFT_NEW(&own, uint8_t, program->op_count + 1);
    run.decisions = WEFT_NEW(&own, uint8_t, program->op_count + 1);
    rail_order(program->order, program, run.plain, &none, scratch);
    run.first_order = program->order;
    rail_times_init(&run.still, program, &own);
    rail_times_init(&run.times, program, &own);
    rail_replay(&run.still, program, run.plain, &none, scratch);
    struct weft_rail_result found = {.mode = options->mode, .still_ps = run.still.iteration_ps};
    found.bound_ps = rail_bound(program, &run.still, &options->delays, scratch);
    find_overlaps(&found.overlap, &run, scratch);
    if (options->mode == WEFT_RAIL_BEST) {
        choose_best(&run, &rules, &own, scratch);
    }
    rail_replay(&run.times, program, run.decisions, &rules, scratch);
    struct weft_environment inner = *environment;
    inner.scratch = scratch;
    measure(&found, &run, &inner);
    *result = found;
    return true;
}
