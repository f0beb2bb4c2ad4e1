// SPDX-License-Identifier: Apache-2.0
// A job over faults: run until a fault, replan, set circuits and routes, and go on with new
// workers.
//
// Each fault ends a session of workers; the next one runs on what the fault left. All steps are
// timed on one clock, from the fault itself, so that their sum is how long the job stood still.

#include "recover.h"

static double between(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? 1e-9 * (double)(to_ns - from_ns) : 0;
}

// Interfaces that the fault leaves dark are no news to the workers after it.
static void note_dark(uint64_t *dark, const struct weft_lab *lab,
                      const struct weft_lab_fault *fault)
{
    for (uint32_t s = 0; s < lab->server_count; s++) {
        bool cut = fault->kind == WEFT_LAB_FAULT_OCS || s == fault->server;
        if (cut) {
            dark[s] |= fault->kind == WEFT_LAB_FAULT_SERVER
                           ? UINT64_MAX
                           : 1ull << weft_lab_port_index(fault->port);
        }
    }
}

// How the run goes on over what is left.
static struct lab_experiment_options options_after(const struct lab_experiment_options *options,
                                                   const struct lab_recovery *recovery)
{
    const struct lab_replanned *replanned = &recovery->replanned;
    struct lab_experiment_options after = *options;
    after.network = replanned->network;
    after.wiring = &replanned->wiring;
    after.place = replanned->place;
    if (replanned->graph != options->graph) {
        after.graph = replanned->graph;
        after.job_graph = replanned->graph;
    }
    after.predict_last = true;
    after.tunnel_first = recovery->before.tunnel_end;
    return after;
}

// The steps from the fault to the first iteration after it, and their sum.
static void tell_steps(struct lab_recovery *recovery)
{
    const struct lab_timestamps *timestamps = &recovery->before.timestamps;
    const struct lab_timestamps *after = &recovery->after.timestamps;
    recovery->detection_s = between(timestamps->fault_ns, timestamps->noticed_ns);
    recovery->stop_s = between(timestamps->noticed_ns, timestamps->stopped_ns);
    recovery->first_s = between(after->begun_ns, after->first_ns);
    recovery->recovery_s = recovery->detection_s + recovery->stop_s + recovery->replan_s +
                           recovery->circuits_s + recovery->routes_s + recovery->dark_s +
                           recovery->reconnect_s + recovery->first_s;
}

// What is done about a fault until new workers can be started; *applied_ns is when.
static bool act(struct lab_recovery *recovery, uint64_t *applied_ns,
                const struct lab_experiment_options *options, struct weft_arena *arena,
                struct weft_arena scratch, struct weft_error *error)
{
    struct weft_lab_move move;
    uint64_t begun_ns = lab_now_ns();
    if (!lab_replan(&recovery->replanned, options, options->failure.fault, arena, scratch, error)) {
        return false;
    }
    uint64_t planned_ns = lab_now_ns();
    if (!weft_lab_apply(&move, options->lab, &recovery->replanned.servers, true, scratch, error)) {
        return false;
    }
    *applied_ns = lab_now_ns();
    recovery->replan_s = between(begun_ns, planned_ns);
    recovery->circuits_s = between(planned_ns, *applied_ns) - move.routes_s;
    recovery->routes_s = move.routes_s;
    if (recovery->replanned.circuits_new > 0 && weft_lab_has_programs(options->lab)) {
        // Whoever connects into the dark tries again after a second.
        uint64_t begun_dark_ns = *applied_ns - (uint64_t)(1e9 * move.routes_s);
        uint64_t lit_ns = begun_dark_ns + options->lab->dark_ns;
        lab_sleep_until(lit_ns);
        recovery->dark_s = between(*applied_ns, lit_ns);
        *applied_ns = lab_now_ns();
    }
    return true;
}

// Iterations after fault `index` (WEFT_NONE: before the first) and until the next, or the last.
static void plan_run(struct lab_experiment_options *options, const struct lab_fault_plan *plan,
                     uint32_t index)
{
    const struct lab_planned_fault *faults = plan->faults;
    uint32_t fault_count = plan->fault_count;
    uint32_t iterations = plan->iterations;
    bool first = index == WEFT_NONE;
    uint32_t following = first ? 0 : index + 1;
    // The iteration that begins a run after a fault is the one that the fault broke off.
    uint32_t done = first ? 0 : faults[index].iteration;
    if (following < fault_count) {
        uint32_t at = faults[following].iteration;
        options->failure.fault = &faults[following].fault;
        options->failure.is_first = !first && at == done;
        options->iterations = at > done + 1 ? at - done - 1 : 0;
    } else {
        options->failure.fault = NULL;
        options->failure.is_first = false;
        options->iterations = iterations > done ? iterations - done : 1;
    }
}

// A server whose tasks nobody can do is told before its fault is made.
static bool check_run(const struct lab_experiment_options *options, struct weft_arena scratch,
                      struct weft_error *error)
{
    struct lab_replanned replanned;
    struct weft_arena arena = weft_arena_split(&scratch);
    return options->failure.fault == NULL ||
           options->failure.fault->kind != WEFT_LAB_FAULT_SERVER ||
           lab_replan(&replanned, options, options->failure.fault, &arena, scratch, error);
}

bool lab_recover_run(struct lab_recovery *recoveries, const struct lab_experiment_options *options,
                     const struct lab_fault_plan *plan, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error)
{
    const struct lab_planned_fault *faults = plan->faults;
    uint32_t fault_count = plan->fault_count;
    WEFT_ASSERT(fault_count >= 1 && fault_count <= LAB_FAULTS_MAX);
    uint64_t *dark = WEFT_NEW(arena, uint64_t, options->lab->server_count);
    struct lab_experiment_options next = *options;
    next.failure.dark_interfaces = dark;
    plan_run(&next, plan, WEFT_NONE);
    if (!check_run(&next, scratch, error) ||
        !lab_experiment_run(&recoveries[0].before, &next, arena, scratch, error)) {
        return false;
    }
    for (uint32_t i = 0; i < fault_count; i++) {
        struct lab_recovery *recovery = &recoveries[i];
        uint64_t applied_ns = 0;
        if (!act(recovery, &applied_ns, &next, arena, scratch, error)) {
            return weft_wrap(error, "after fault %u", i + 1);
        }
        note_dark(dark, options->lab, &faults[i].fault);
        next = options_after(&next, recovery);
        plan_run(&next, plan, i);
        if (!check_run(&next, scratch, error) ||
            !lab_experiment_run(&recovery->after, &next, arena, scratch, error)) {
            return weft_wrap(error, "after fault %u", i + 1);
        }
        recovery->reconnect_s = between(applied_ns, recovery->after.timestamps.opened_ns);
        tell_steps(recovery);
        if (i + 1 < fault_count) {
            recoveries[i + 1].before = recovery->after;
        }
    }
    return true;
}
