// SPDX-License-Identifier: Apache-2.0
// weft lab run --fail: the fault that is asked for, and what came of it.

#include "lab_run.h"

#include <string.h>

error_t lab_run_take_fault(struct lab_run *run, char *text)
{
    struct cli *cli = run->cli;
    char *at = strchr(text, '@');
    if (at != NULL) {
        *at = '\0';
        error_t wrong = cli_count(cli, &run->fault_iteration, "fail", at + 1, 2, WEFT_NONE - 1);
        if (wrong != 0) {
            return wrong;
        }
    }
    char *colon = strchr(text, ':');
    if (colon != NULL) {
        *colon = '\0';
        run->fault_which = colon + 1;
    }
    run->fault_kind = text;
    bool known =
        strcmp(text, "link") == 0 || strcmp(text, "server") == 0 || strcmp(text, "ocs") == 0;
    return known ? 0
                 : cli_usage(cli, "--fail: '%.40s' does not fail; write link[:S:P]@I or ocs[:P]@I",
                             text);
}

bool lab_run_check_fault(struct lab_run *run)
{
    struct weft_error *error = &run->cli->error;
    if (run->fault_kind == NULL) {
        return true;
    }
    if (strcmp(run->fault_kind, "server") == 0) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "--fail server: not supported, as nobody else can do a server's tasks; "
                         "write link[:S:P]@I or ocs[:P]@I");
    }
    if (run->fabric_count != 1 || run->fabrics[0] != LAB_RUN_PLAN) {
        return weft_fail(error, WEFT_INPUT, "--fail: the plan's fabric alone; leave out --fabrics");
    }
    if (run->fault_iteration == 0) {
        run->fault_iteration = run->iterations / 2 + 1;
    }
    return (run->fault_iteration >= 2 && run->fault_iteration <= run->iterations) ||
           weft_fail(error, WEFT_INPUT, "--fail: iteration %u is not one of 2 to %u (--iterations)",
                     run->fault_iteration, run->iterations);
}

bool lab_run_choose_fault(struct lab_run *run, const struct weft_lab *lab,
                          const struct weft_lab_wiring *wiring)
{
    struct cli *cli = run->cli;
    const char *which = run->fault_which;
    if (which == NULL && strcmp(run->fault_kind, "link") == 0) {
        uint32_t port = 0; // the first of server 0 that is lit
        while (port + 1 < wiring->port_count &&
               wiring->planes[(size_t)port * wiring->server_count] == 0) {
            port++;
        }
        which = weft_arena_format(&cli->arena, "0:%u", port);
    } else if (which == NULL) {
        which = "0";
    }
    run->fault_which = which;
    return weft_lab_fault_parse(&run->fault, run->fault_kind, which, lab, &cli->error) ||
           weft_wrap(&cli->error, "--fail");
}

// ---- telling ----

static const struct lab_phase *whole(const struct lab_trial *trial)
{
    return &trial->phases[trial->phase_count - 1];
}

static const char *how(const struct lab_recovery *recovery)
{
    return recovery->before.moments.by_carrier ? "carrier" : "stall";
}

json_t *lab_run_recovery_json(const struct lab_run *run)
{
    const struct lab_recovery *recovery = run->recovery;
    const struct lab_phase *before = whole(&recovery->before);
    const struct lab_phase *after = whole(&recovery->after);
    json_t *object = json_object();
    cli_set_text(object, "fault", run->fault_kind);
    cli_set_text(object, "where", run->fault_which);
    cli_set_count(object, "iteration", run->fault_iteration);
    cli_set_count(object, "cables", recovery->before.moments.cable_count);
    cli_set_count(object, "circuits_lost", recovery->rest.circuits_lost);
    cli_set_count(object, "detours", recovery->rest.detours);
    cli_set_text(object, "detected_by", how(recovery));
    cli_set_count(object, "detected_at", recovery->before.moments.rank);
    cli_set_real(object, "detection_s", recovery->detection_s);
    cli_set_real(object, "stop_s", recovery->stop_s);
    cli_set_real(object, "replan_s", recovery->replan_s);
    cli_set_real(object, "circuits_s", recovery->circuits_s);
    cli_set_real(object, "routes_s", recovery->routes_s);
    cli_set_real(object, "reconnect_s", recovery->reconnect_s);
    cli_set_real(object, "first_iteration_s", recovery->first_s);
    cli_set_real(object, "recovery_s", recovery->recovery_s);
    cli_set_real(object, "before_s", before->measured_mean_s);
    cli_set_real(object, "after_s", after->measured_mean_s);
    cli_set_real(object, "predicted_flow_before_s", before->predicted_flow_s);
    cli_set_real(object, "predicted_flow_after_s", after->predicted_flow_s);
    cli_set_real(object, "predicted_packet_before_s", before->predicted_packet_s);
    cli_set_real(object, "predicted_packet_after_s", after->predicted_packet_s);
    cli_set_count(object, "checked_elements", recovery->after.checked_count);
    cli_set(object, "phases", lab_run_phases_json(&recovery->after));
    return object;
}

void lab_run_recovery_text(const struct lab_run *run)
{
    const struct lab_recovery *recovery = run->recovery;
    if (recovery == NULL) {
        return;
    }
    const struct lab_phase *before = whole(&recovery->before);
    const struct lab_phase *after = whole(&recovery->after);
    struct cli *cli = run->cli;
    cli_say(cli,
            "%s %s at iteration %u: %u circuits lost, %u hops of rings go round; noticed by "
            "server %u by its %s\n",
            run->fault_kind, run->fault_which, run->fault_iteration, recovery->rest.circuits_lost,
            recovery->rest.detours, recovery->before.moments.rank, how(recovery));
    cli_say(cli,
            "recovery %.1f ms: noticed %.1f, workers ended %.1f, re-planned %.1f, circuits %.1f, "
            "routes %.1f, connected %.1f, iteration %.1f\n",
            1e3 * recovery->recovery_s, 1e3 * recovery->detection_s, 1e3 * recovery->stop_s,
            1e3 * recovery->replan_s, 1e3 * recovery->circuits_s, 1e3 * recovery->routes_s,
            1e3 * recovery->reconnect_s, 1e3 * recovery->first_s);
    cli_say(cli,
            "iteration before %.1f ms (flow %.1f, packet %.1f), after %.1f ms (flow %.1f, packet "
            "%.1f), %llu sums right\n",
            1e3 * before->measured_mean_s, 1e3 * before->predicted_flow_s,
            1e3 * before->predicted_packet_s, 1e3 * after->measured_mean_s,
            1e3 * after->predicted_flow_s, 1e3 * after->predicted_packet_s,
            (unsigned long long)recovery->after.checked_count);
}
