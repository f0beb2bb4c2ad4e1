// SPDX-License-Identifier: Apache-2.0
// weft lab run --fail: faults that the options request, and what came of them. A fault ends the
// workers of an iteration; the job is planned anew without what was lost, and the iteration is
// repeated. runtime/job/recover.c does it; this file parses, checks and prints it.

#include "request/json/json.h"
#include "run.h"

#include <string.h>

// The text is cut apart in place: argp hands over the program's own arguments, which nobody reads
// again.
error_t lab_run_take_fault(struct lab_run *run, char *text)
{
    struct cli *cli = run->cli;
    if (run->faults.count == LAB_FAULTS_MAX) {
        return cli_usage(cli, "--fail: at most %u faults", LAB_FAULTS_MAX);
    }
    struct lab_requested_fault *requested = &run->faults.requested[run->faults.count++];
    char *at = strchr(text, '@');
    if (at != NULL) {
        *at = '\0';
        error_t wrong = cli_count(cli, &requested->iteration, "fail", at + 1, 2, WEFT_NONE - 1);
        if (wrong != 0) {
            return wrong;
        }
    }
    char *colon = strchr(text, ':');
    if (colon != NULL) {
        *colon = '\0';
        requested->which = colon + 1;
    }
    requested->kind = text;
    bool known =
        strcmp(text, "link") == 0 || strcmp(text, "server") == 0 || strcmp(text, "ocs") == 0;
    return known ? 0
                 : cli_usage(cli,
                             "--fail: '%.40s' does not fail; write link[:S:P]@I, server[:S]@I or "
                             "ocs[:P]@I",
                             text);
}

// A fault without an iteration comes in the middle. The first iteration cannot fail: there has to
// be one that shows what is normal.
bool lab_run_check_faults(struct lab_run *run)
{
    struct weft_error *error = &run->cli->error;
    if (run->faults.count == 0) {
        const struct weft_stated rows[] = {
            {run->faults.detect_stall, "detect"},
            {run->change.dark_given && run->change.path == NULL, "dark"},
            {NULL},
        };
        return weft_refuse_stated(rows, error, "is for runs with {fail} or {change}") &&
               (run->faults.spares == 0 ||
                weft_fail(error, WEFT_INPUT, "--spares: for runs with --fail server alone"));
    }
    if (run->fabric_count != 1 || run->fabrics[0] != LAB_RUN_PLAN) {
        return weft_fail(error, WEFT_INPUT, "--fail: the plan's fabric alone; leave out --fabrics");
    }
    uint32_t last = 2;
    for (uint32_t i = 0; i < run->faults.count; i++) {
        uint32_t *iteration = &run->faults.requested[i].iteration;
        if (*iteration == 0) {
            *iteration = run->iterations / 2 + 1;
        }
        if (*iteration < 2 || *iteration > run->iterations) {
            return weft_fail(error, WEFT_INPUT,
                             "--fail: iteration %u is not one of 2 to %u (--iterations)",
                             *iteration, run->iterations);
        }
        if (*iteration < last) {
            return weft_fail(error, WEFT_INPUT,
                             "--fail: iteration %u comes after %u; write faults in their order",
                             *iteration, last);
        }
        last = *iteration;
    }
    return true;
}

// Chooses which cable, server or switch fails where the option does not say, and looks each up in
// the lab. A plane may leave a port of server 0 dark, so that the first lit port is searched.
bool lab_run_choose_faults(struct lab_run *run, const struct weft_lab *lab,
                           const struct weft_lab_wiring *wiring)
{
    struct cli *cli = run->cli;
    for (uint32_t i = 0; i < run->faults.count; i++) {
        struct lab_requested_fault *requested = &run->faults.requested[i];
        if (requested->which == NULL && strcmp(requested->kind, "link") == 0) {
            uint32_t port = 0; // the first of server 0 that is lit
            while (port + 1 < wiring->port_count &&
                   wiring->planes[(size_t)port * wiring->server_count] == 0) {
                port++;
            }
            requested->which = weft_arena_format(&cli->arena, "0:%u", port);
        } else if (requested->which == NULL) {
            requested->which = "0";
        }
        run->faults.planned[i].iteration = requested->iteration;
        if (!weft_lab_fault_parse(&run->faults.planned[i].fault, requested->kind, requested->which,
                                  lab, &cli->error)) {
            return weft_wrap(&cli->error, "--fail");
        }
    }
    return true;
}

// ---- printing ----

static const struct lab_phase *whole(const struct lab_experiment *experiment)
{
    return &experiment->phases[experiment->phase_count - 1];
}

static const char *detector_name(const struct lab_recovery *recovery)
{
    static const char *const names[] = {"carrier", "stall", "worker"};
    return names[recovery->before.timestamps.noticed];
}

// One recovery: what failed, how it was noticed, how long each step to the repeated iteration took,
// and the iteration before and after beside its predictions.
json_t *lab_run_recovery_json(const struct lab_run *run, uint32_t index)
{
    const struct lab_recovery *recovery = &run->faults.recoveries[index];
    const struct lab_replanned *replanned = &recovery->replanned;
    const struct lab_phase *before = whole(&recovery->before);
    const struct lab_phase *after = whole(&recovery->after);
    json_t *object = json_object();
    weft_set_text(object, "fault", run->faults.requested[index].kind);
    weft_set_text(object, "where", run->faults.requested[index].which);
    weft_set_count(object, "iteration", run->faults.requested[index].iteration);
    weft_set_count(object, "cables", recovery->before.timestamps.cable_count);
    weft_set_count(object, "circuits_lost", replanned->circuits_lost);
    weft_set_count(object, "circuits_new", replanned->circuits_new);
    weft_set_count(object, "servers", replanned->wiring.server_count);
    weft_set(object, "spare",
             replanned->spare_server == WEFT_NONE ? json_null()
                                                  : json_integer(replanned->spare_server));
    weft_set_count(object, "rings_broken", replanned->rings_broken);
    weft_set_text(object, "rings", lab_ring_choice_name(replanned->choice));
    for (int i = 0; i < LAB_RING_CHOICES; i++) {
        const char *key = weft_arena_format(&run->cli->arena, "choice_%s_s",
                                            lab_ring_choice_name((enum lab_ring_choice)i));
        weft_set_real(object, key, replanned->choice_s[i]);
    }
    weft_set_count(object, "detours", replanned->detours);
    weft_set_text(object, "detected_by", detector_name(recovery));
    weft_set_count(object, "detected_at", recovery->before.timestamps.rank);
    weft_set_real(object, "detection_s", recovery->detection_s);
    weft_set_real(object, "stop_s", recovery->stop_s);
    weft_set_real(object, "replan_s", recovery->replan_s);
    weft_set_real(object, "circuits_s", recovery->circuits_s);
    weft_set_real(object, "routes_s", recovery->routes_s);
    weft_set_real(object, "dark_s", recovery->dark_s);
    weft_set_real(object, "reconnect_s", recovery->reconnect_s);
    weft_set_real(object, "first_iteration_s", recovery->first_s);
    weft_set_real(object, "recovery_s", recovery->recovery_s);
    weft_set_real(object, "before_s", before->measured_mean_s);
    weft_set_real(object, "after_s", after->measured_mean_s);
    weft_set_real(object, "predicted_flow_before_s", before->predicted_flow_s);
    weft_set_real(object, "predicted_flow_after_s", after->predicted_flow_s);
    weft_set_real(object, "predicted_packet_before_s", before->predicted_packet_s);
    weft_set_real(object, "predicted_packet_after_s", after->predicted_packet_s);
    weft_set_count(object, "predicted_drops_after", recovery->after.predicted.drops);
    weft_set_count(object, "drops_after", recovery->after.drops);
    weft_set_count(object, "retransmits_after", recovery->after.tcp.retransmits);
    weft_set_count(object, "checked_elements", recovery->after.checked_count);
    weft_set(object, "phases", lab_run_phases_json(&recovery->after));
    return object;
}

// What became of the rings.
static const char *rings_text(struct cli *cli, const struct lab_replanned *replanned)
{
    if (replanned->rings_broken == 0) {
        return "no ring broken";
    }
    const char *what = replanned->choice == LAB_RINGS_NEW     ? "others take their place"
                       : replanned->choice == LAB_RINGS_FEWER ? "the others carry their share"
                                                              : "they go round";
    return weft_arena_format(&cli->arena, "%u rings broken, %s", replanned->rings_broken, what);
}

// What was lost and what was done, in a sentence.
static const char *describe_recovery(struct cli *cli, const struct lab_recovery *recovery)
{
    const struct lab_replanned *replanned = &recovery->replanned;
    const char *server = "";
    if (replanned->spare_server != WEFT_NONE) {
        server = weft_arena_format(&cli->arena, " Server %u takes the place of server %u.",
                                   replanned->spare_server, replanned->lost_server);
    } else if (replanned->lost_server != WEFT_NONE) {
        server = weft_arena_format(&cli->arena, " %u servers go on without server %u.",
                                   replanned->wiring.server_count, replanned->lost_server);
    }
    return weft_arena_format(&cli->arena,
                             "%u cables were cut: %u circuits lost, %u new; %s. Noticed by server "
                             "%u's %s.%s",
                             recovery->before.timestamps.cable_count, replanned->circuits_lost,
                             replanned->circuits_new, rings_text(cli, replanned),
                             recovery->before.timestamps.rank, detector_name(recovery), server);
}

// The same for the report's page.
void lab_run_recovery_event(struct weft_report_event *event, const struct lab_run *run,
                            uint32_t index)
{
    const struct lab_recovery *recovery = &run->faults.recoveries[index];
    const struct lab_requested_fault *requested = &run->faults.requested[index];
    struct cli *cli = run->cli;
    const struct weft_report_step steps[] = {
        {"noticed", recovery->detection_s},   {"workers ended", recovery->stop_s},
        {"re-planned", recovery->replan_s},   {"circuits set", recovery->circuits_s},
        {"routes set", recovery->routes_s},   {"circuits lit", recovery->dark_s},
        {"connected", recovery->reconnect_s}, {"iteration repeated", recovery->first_s},
    };
    enum { STEPS = sizeof steps / sizeof steps[0] };
    struct weft_report_step *kept = WEFT_NEW(&cli->arena, struct weft_report_step, STEPS);
    memcpy(kept, steps, sizeof steps);
    *event = (struct weft_report_event){
        .title = weft_arena_format(&cli->arena, "%s %s at iteration %u", requested->kind,
                                   requested->which, requested->iteration),
        .words = describe_recovery(cli, recovery),
        .step_count = STEPS,
        .steps = kept,
        .before = lab_run_whole(&recovery->before, "iteration before"),
        .after = lab_run_whole(&recovery->after, "iteration after"),
    };
}

// The same as text.
void lab_run_recovery_text(const struct lab_run *run, uint32_t index)
{
    const struct lab_recovery *recovery = &run->faults.recoveries[index];
    const struct lab_replanned *replanned = &recovery->replanned;
    const struct lab_phase *before = whole(&recovery->before);
    const struct lab_phase *after = whole(&recovery->after);
    const struct lab_timestamps *timestamps = &recovery->before.timestamps;
    struct cli *cli = run->cli;
    cli_say(cli, "%s %s at iteration %u: %u circuits lost, %u new, %s; noticed by server %u's %s\n",
            run->faults.requested[index].kind, run->faults.requested[index].which,
            run->faults.requested[index].iteration, replanned->circuits_lost,
            replanned->circuits_new, rings_text(cli, replanned), timestamps->rank,
            detector_name(recovery));
    if (replanned->spare_server != WEFT_NONE) {
        cli_say(cli, "server %u takes the place of server %u\n", replanned->spare_server,
                replanned->lost_server);
    } else if (replanned->lost_server != WEFT_NONE) {
        cli_say(cli, "%u servers go on without server %u\n", replanned->wiring.server_count,
                replanned->lost_server);
    }
    cli_say(cli,
            "recovery %.1f ms: noticed %.1f, workers ended %.1f, re-planned %.1f, circuits %.1f, "
            "routes %.1f, dark %.1f, connected %.1f, iteration %.1f\n",
            1e3 * recovery->recovery_s, 1e3 * recovery->detection_s, 1e3 * recovery->stop_s,
            1e3 * recovery->replan_s, 1e3 * recovery->circuits_s, 1e3 * recovery->routes_s,
            1e3 * recovery->dark_s, 1e3 * recovery->reconnect_s, 1e3 * recovery->first_s);
    cli_say(cli,
            "iteration before %.1f ms (flow %.1f, packet %.1f), after %.1f ms (flow %.1f, packet "
            "%.1f), %llu sums right\n",
            1e3 * before->measured_mean_s, 1e3 * before->predicted_flow_s,
            1e3 * before->predicted_packet_s, 1e3 * after->measured_mean_s,
            1e3 * after->predicted_flow_s, 1e3 * after->predicted_packet_s,
            (unsigned long long)recovery->after.checked_count);
}
