// SPDX-License-Identifier: Apache-2.0
// weft lab run --change: another plan under a job that runs. The workers stop between two
// iterations, connections run dry, circuits and routes change, and the workers go on by the other
// plan's rings; runtime/job/change.c does it, and this file checks, loads and prints it.

#include "request/json/json.h"
#include "run.h"

#include <string.h>

bool lab_run_check_change(struct lab_run *run)
{
    struct weft_error *error = &run->cli->error;
    if (run->change.path == NULL) {
        return run->change.iteration == 0 ||
               weft_fail(error, WEFT_INPUT, "--at: for --change alone");
    }
    if (run->faults.count > 0) {
        return weft_fail(error, WEFT_INPUT, "--change and --fail: one of them a run");
    }
    if (run->fabric_count != 1 || run->fabrics[0] != LAB_RUN_PLAN) {
        return weft_fail(error, WEFT_INPUT,
                         "--change: the plan's fabric alone; leave out --fabrics");
    }
    if (run->change.iteration == 0) {
        run->change.iteration = run->iterations / 2 + 1;
    }
    return (run->change.iteration >= 2 && run->change.iteration <= run->iterations) ||
           weft_fail(error, WEFT_INPUT, "--at: iteration %u is not one of 2 to %u (--iterations)",
                     run->change.iteration, run->iterations);
}

// Whether workers can go on by the other plan.
static bool check_same(const struct lab_run *run, struct weft_error *error)
{
    const struct weft_plan *a = &run->plan;
    const struct weft_plan *b = &run->change.plan;
    if (a->topology.server_count != b->topology.server_count ||
        a->topology.degree != b->topology.degree) {
        return weft_fail(error, WEFT_INPUT, "%u servers of %u ports; the first plan has %u of %u",
                         b->topology.server_count, b->topology.degree, a->topology.server_count,
                         a->topology.degree);
    }
    if (a->cluster.rate_Bps < b->cluster.rate_Bps || a->cluster.rate_Bps > b->cluster.rate_Bps) {
        return weft_fail(error, WEFT_INPUT, "its ports have another rate than the first plan's");
    }
    return run->job_path != NULL ||
           (strcmp(a->job->model, b->job->model) == 0 && a->job->batch == b->job->batch) ||
           weft_fail(error, WEFT_INPUT,
                     "a plan of %s with a batch of %llu; the first is of %s with %llu",
                     b->job->model, (unsigned long long)b->job->batch, a->job->model,
                     (unsigned long long)a->job->batch);
}

bool lab_run_load_other(struct lab_run *run)
{
    struct cli *cli = run->cli;
    const char *path = run->change.path;
    if (!weft_plan_load(&run->change.plan, path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (run->job_path == NULL && run->change.plan.job == NULL) {
        return weft_fail(&cli->error, WEFT_INPUT, "%s: the plan has no job inside", path);
    }
    if (!check_same(run, &cli->error)) {
        return weft_wrap(&cli->error, "%s", path);
    }
    const struct weft_taskgraph *graph =
        run->job_path != NULL ? &run->graph : &run->change.plan.job->graph;
    return weft_plan_played(&run->change.graph, &run->change.plan, graph, &cli->arena, cli->scratch,
                            &cli->error) ||
           weft_wrap(&cli->error, "%s", path);
}

bool lab_run_play_change(struct lab_run *run, const struct lab_experiment_options *options)
{
    struct cli *cli = run->cli;
    struct lab_experiment_options *both = WEFT_NEW(&cli->arena, struct lab_experiment_options, 2);
    struct weft_lab_wiring *wiring = WEFT_NEW(&cli->arena, struct weft_lab_wiring, 1);
    run->change.result = WEFT_NEW(&cli->arena, struct lab_change, 1);
    if (!weft_lab_wire_plan(wiring, &run->change.plan, &cli->arena, cli->scratch, &cli->error)) {
        return weft_wrap(&cli->error, "%s", run->change.path);
    }
    both[0] = *options;
    both[0].iterations = run->change.iteration - 1;
    both[1] = *options;
    both[1].network = &run->change.plan.network;
    both[1].graph = &run->change.graph;
    both[1].wiring = wiring;
    both[1].small_in_one_round = run->change.plan.sim.small_in_one_round;
    both[1].iterations =
        run->iterations > run->change.iteration ? run->iterations - run->change.iteration : 1;
    return lab_change_run(run->change.result, both, &cli->arena, cli->scratch, &cli->error);
}

// ---- printing ----

// The pause in its steps, the packets that were lost on circuits that moved and on others, and the
// iteration before and after beside its predictions.
json_t *lab_run_change_json(const struct lab_run *run)
{
    const struct lab_change *change = run->change.result;
    const struct lab_phase *before = &change->before.phases[change->before.phase_count - 1];
    const struct lab_phase *after = &change->after.phases[change->after.phase_count - 1];
    json_t *object = json_object();
    weft_set_text(object, "plan", run->change.path);
    weft_set_count(object, "iteration", run->change.iteration);
    weft_set_count(object, "circuits_changed", change->circuits_changed);
    weft_set_count(object, "circuits_untouched", change->circuits_untouched);
    weft_set_real(object, "drain_s", change->drain_s);
    weft_set_real(object, "circuits_s", change->circuits_s);
    weft_set_real(object, "routes_s", change->routes_s);
    weft_set_real(object, "dark_s", change->dark_s);
    weft_set_real(object, "verify_s", change->verify_s);
    weft_set_real(object, "connect_s", change->connect_s);
    weft_set_real(object, "pause_s", change->pause_s);
    weft_set_real(object, "first_iteration_s", change->first_s);
    weft_set_count(object, "pairs_verified", change->pair_count);
    weft_set_count(object, "lost_moved", change->lost_moved);
    weft_set_count(object, "lost_untouched", change->lost_untouched);
    weft_set_count(object, "passed_untouched", change->passed_untouched);
    weft_set_count(object, "checked_before", change->before.checked_count);
    weft_set_count(object, "checked_after", change->after.checked_count);
    weft_set_real(object, "before_s", before->measured_mean_s);
    weft_set_real(object, "after_s", after->measured_mean_s);
    weft_set_real(object, "predicted_flow_before_s", before->predicted_flow_s);
    weft_set_real(object, "predicted_flow_after_s", after->predicted_flow_s);
    weft_set_real(object, "predicted_packet_before_s", before->predicted_packet_s);
    weft_set_real(object, "predicted_packet_after_s", after->predicted_packet_s);
    weft_set(object, "phases", lab_run_phases_json(&change->after));
    return object;
}

// The same for the report's page, where a change is drawn as a row of steps.
void lab_run_change_event(struct weft_report_event *event, const struct lab_run *run)
{
    const struct lab_change *change = run->change.result;
    struct cli *cli = run->cli;
    const struct weft_report_step steps[] = {
        {"drained", change->drain_s},         {"circuits set", change->circuits_s},
        {"routes set", change->routes_s},     {"dark", change->dark_s},
        {"verified", change->verify_s},       {"connected", change->connect_s},
        {"first iteration", change->first_s},
    };
    enum { STEPS = sizeof steps / sizeof steps[0] };
    struct weft_report_step *kept = WEFT_NEW(&cli->arena, struct weft_report_step, STEPS);
    memcpy(kept, steps, sizeof steps);
    *event = (struct weft_report_event){
        .title = weft_arena_format(&cli->arena, "Another plan from iteration %u on",
                                   run->change.iteration),
        .words = weft_arena_format(
            &cli->arena,
            "%s: %u circuits changed, %u stayed; %u pairs probed. Lost: %llu packets on circuits "
            "that changed, %llu on the others.",
            run->change.path, change->circuits_changed, change->circuits_untouched,
            change->pair_count, (unsigned long long)change->lost_moved,
            (unsigned long long)change->lost_untouched),
        .step_count = STEPS,
        .steps = kept,
        .before = lab_run_whole(&change->before, "iteration before"),
        .after = lab_run_whole(&change->after, "iteration after"),
    };
}

// The same as text; nothing where no change was requested.
void lab_run_change_text(const struct lab_run *run)
{
    const struct lab_change *change = run->change.result;
    if (change == NULL) {
        return;
    }
    const struct lab_phase *before = &change->before.phases[change->before.phase_count - 1];
    const struct lab_phase *after = &change->after.phases[change->after.phase_count - 1];
    struct cli *cli = run->cli;
    cli_say(cli, "%s from iteration %u on: %u circuits changed, %u untouched, %u pairs verified\n",
            run->change.path, run->change.iteration, change->circuits_changed,
            change->circuits_untouched, change->pair_count);
    cli_say(cli,
            "pause %.1f ms: drained %.1f, circuits %.1f, routes %.1f, dark %.1f, verified %.1f, "
            "connected %.1f; first iteration %.1f\n",
            1e3 * change->pause_s, 1e3 * change->drain_s, 1e3 * change->circuits_s,
            1e3 * change->routes_s, 1e3 * change->dark_s, 1e3 * change->verify_s,
            1e3 * change->connect_s, 1e3 * change->first_s);
    cli_say(cli,
            "lost: %llu packets on circuits that changed, %llu on the others, which passed %llu\n",
            (unsigned long long)change->lost_moved, (unsigned long long)change->lost_untouched,
            (unsigned long long)change->passed_untouched);
    cli_say(cli,
            "iteration before %.1f ms (flow %.1f, packet %.1f), after %.1f ms (flow %.1f, packet "
            "%.1f), %llu sums right before, %llu after\n",
            1e3 * before->measured_mean_s, 1e3 * before->predicted_flow_s,
            1e3 * before->predicted_packet_s, 1e3 * after->measured_mean_s,
            1e3 * after->predicted_flow_s, 1e3 * after->predicted_packet_s,
            (unsigned long long)change->before.checked_count,
            (unsigned long long)change->after.checked_count);
}
