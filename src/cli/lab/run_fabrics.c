// SPDX-License-Identifier: Apache-2.0
// weft lab run: a lab for each fabric that is requested, and an experiment in it. The fabrics are
// comparable because all labs run at the same fraction of their planned rates: a plan's fabric has
// its ports, a ring has the same ports, and the switch has the rate per server that a Fat-tree
// would have for the plan's money.

#include "lab.h"
#include "run.h"

#include "weft/format.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *lab_run_fabric_name(enum lab_run_fabric fabric)
{
    static const char *const names[] = {"plan", "switch", "ring"};
    return names[fabric];
}

// What is raised: the network as planned, and its wiring.
struct lab_fabric {
    enum lab_run_fabric kind;
    struct weft_network *network;
    const struct weft_taskgraph *graph;
    struct weft_lab_wiring wiring;
    double port_rate_Bps; // planned, of what is a port in the lab
    bool one_lane;
};

// One non-blocking switch whose ports are of the rate that a Fat-tree has for the plan's money.
static bool describe_switch(struct lab_fabric *fabric, struct lab_run *run)
{
    struct cli *cli = run->cli;
    const struct weft_cluster *cluster = &run->plan.cluster;
    struct weft_network *equal = WEFT_NEW(&cli->arena, struct weft_network, 1);
    if (!weft_fabric_build_cost_equivalent(equal, cluster, run->plan.cost.total_usd, &cli->arena,
                                           &cli->error)) {
        return weft_wrap(&cli->error, "a switch of equal cost");
    }
    fabric->port_rate_Bps = equal->fabric.links[equal->fabric.first[0]].rate_Bps;
    const struct weft_fabric_options options = {.port_rate_Bps = fabric->port_rate_Bps};
    return weft_fabric_build_ideal(fabric->network, cluster, &options, &cli->arena, &cli->error) &&
           weft_lab_wire_switch(&fabric->wiring, cluster->server_count, &cli->error);
}

static bool describe_ring(struct lab_fabric *fabric, struct lab_run *run)
{
    struct cli *cli = run->cli;
    const struct weft_cluster *cluster = &run->plan.cluster;
    fabric->one_lane = true;
    if (!weft_fabric_build_ring(fabric->network, cluster, NULL, &cli->arena, &cli->error) ||
        !weft_lab_wire_ring(&fabric->wiring, cluster->server_count, &cli->arena, cli->scratch,
                            &cli->error)) {
        return false;
    }
    fabric->port_rate_Bps = fabric->network->fabric.links[0].rate_Bps;
    return true;
}

static bool describe_fabric(struct lab_fabric *fabric, enum lab_run_fabric kind,
                            struct lab_run *run)
{
    struct cli *cli = run->cli;
    *fabric = (struct lab_fabric){.kind = kind, .graph = &run->graph};
    if (kind == LAB_RUN_PLAN) {
        fabric->network = &run->plan.network;
        fabric->graph = &run->played;
        fabric->port_rate_Bps = run->plan.cluster.rate_Bps;
        return weft_lab_wire_plan(&fabric->wiring, &run->plan, &cli->arena, cli->scratch,
                                  &cli->error);
    }
    fabric->network = WEFT_NEW(&cli->arena, struct weft_network, 1);
    return kind == LAB_RUN_SWITCH ? describe_switch(fabric, run) : describe_ring(fabric, run);
}

// ---- labs ----

// Raises a lab of our own, with spare servers where faults may need them.
static bool raise_own(struct weft_lab *lab, const char *name, const struct lab_fabric *fabric,
                      struct lab_run *run, weft_stop stop)
{
    struct cli *cli = run->cli;
    // All fabrics at the same fraction of what is planned.
    double ratio = run->port.rate_Bps / run->plan.cluster.rate_Bps;
    const struct weft_lab_options options = {
        .name = name,
        .fabric = lab_run_fabric_name(fabric->kind),
        .plan_path = fabric->kind == LAB_RUN_PLAN ? run->plan_path : NULL,
        .rate_Bps = fabric->port_rate_Bps * ratio,
        .mtu_bytes = run->port.mtu_bytes,
        .buffer_bytes = run->port.buffer_bytes,
        .mark_packets = run->port.mark_packets,
        .dark_ns = run->change.dark_ps / 1000,
        .stop = stop,
    };
    struct weft_lab_wiring wiring;
    lab_spread_wiring(&wiring, &fabric->wiring, NULL,
                      fabric->wiring.server_count + run->faults.spares, &cli->arena);
    return weft_lab_up(lab, &wiring, &options, cli->scratch, &cli->error);
}

// A lab that stands under --name may be used, if it stands for this plan.
static bool use_standing(struct weft_lab *lab, bool *found, const struct lab_fabric *fabric,
                         struct lab_run *run)
{
    struct cli *cli = run->cli;
    struct weft_error missing;
    // What stands is not damaged.
    *found = fabric->kind == LAB_RUN_PLAN && run->faults.count == 0 && run->change.path == NULL &&
             weft_lab_load(lab, run->name, cli->scratch, &missing) && lab->is_up;
    if (!*found) {
        return true;
    }
    char *full = realpath(run->plan_path, NULL);
    bool same = full != NULL && strcmp(full, lab->plan_path) == 0;
    free(full);
    if (!same && !run->name_given) {
        *found = false; // somebody else's; ours gets another name
        return true;
    }
    if (!same) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "lab '%s' stands for '%.200s'; weft lab down --name %s takes it away",
                         run->name, lab->plan_path, run->name);
    }
    if (run->port.mark_packets > 0 && run->port.mark_packets != lab->mark_packets) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--ecn %u: lab '%s' stands with --ecn %u; leave it out",
                         run->port.mark_packets, run->name, lab->mark_packets);
    }
    run->port.mark_packets = lab->mark_packets;
    return true;
}

// Runs the experiment in a lab that is up: plainly, or with a change of plan, or with faults and
// the recovery from each. The experiment of a run with a change or with faults is the part before
// it.
static bool try_fabric(struct lab_experiment *experiment, const struct lab_fabric *fabric,
                       const struct weft_lab *lab, struct lab_run *run, weft_stop stop)
{
    struct cli *cli = run->cli;
    struct lab_experiment_options options = {
        .network = fabric->network,
        .graph = fabric->graph,
        .job_graph = fabric->kind == LAB_RUN_PLAN ? &run->graph : fabric->graph,
        .wiring = &fabric->wiring,
        .lab = lab,
        .scale.rate_Bps = fabric->port_rate_Bps,
        .one_lane = fabric->one_lane,
        .scale.iteration_s = run->plan.iteration_s,
        .scale.target_s = run->target_s,
        .small_in_one_round = run->plan.sim.small_in_one_round,
        .iterations = run->iterations,
        .congestion = run->congestion,
        .check = true,
        .stall_ms = (uint32_t)(run->limits.stall_s * 1e3),
        .timeout_ms = (uint32_t)(run->limits.timeout_s * 1e3),
        .seed = cli->seed,
        .stop = stop,
    };
    if (run->change.path != NULL) {
        bool changed = lab_run_play_change(run, &options);
        *experiment = run->change.result->before;
        return changed;
    }
    if (run->faults.count == 0) {
        return lab_experiment_run(experiment, &options, &cli->arena, cli->scratch, &cli->error);
    }
    if (!lab_run_choose_faults(run, lab, &fabric->wiring)) {
        return false;
    }
    run->faults.recoveries = WEFT_NEW(&cli->arena, struct lab_recovery, run->faults.count);
    options.failure.watch_carrier = !run->faults.detect_stall;
    const struct lab_fault_plan plan = {run->faults.planned, run->faults.count, run->iterations};
    bool fine = lab_recover_run(run->faults.recoveries, &options, &plan, &cli->arena, cli->scratch,
                                &cli->error);
    *experiment = run->faults.recoveries[0].before;
    return fine;
}

// Raises a lab (or uses the one that stands), runs in it and takes it away again, also where the
// experiment failed; the first error is the one that is kept.
static bool run_fabric(struct lab_run *run, uint32_t index, weft_stop stop)
{
    struct cli *cli = run->cli;
    struct lab_fabric fabric;
    struct weft_lab *lab = WEFT_NEW(&cli->arena, struct weft_lab, 1);
    struct weft_lab_claim claim;
    struct weft_lab_removed removed;
    bool standing = false;
    if (!describe_fabric(&fabric, run->fabrics[index], run) ||
        !use_standing(lab, &standing, &fabric, run)) {
        return false;
    }
    // A lab of our own has our own name, so that it is in nobody's way.
    char own[WEFT_LAB_NAME_MAX];
    snprintf(own, sizeof own, "run%d", (int)getpid());
    const char *name = standing || run->name_given ? run->name : own;
    if (!weft_lab_claim(&claim, name, &cli->error)) {
        return false;
    }
    // Until the claim was had somebody else may have taken the lab away.
    bool fine = standing ? weft_lab_load(lab, name, cli->scratch, &cli->error)
                         : raise_own(lab, name, &fabric, run, stop);
    if (fine) {
        fine = try_fabric(&run->experiments[index], &fabric, lab, run, stop);
        struct weft_error down;
        if (!standing && !weft_lab_down(&removed, name, cli->scratch, &down) && fine) {
            cli->error = down;
            fine = false;
        }
    }
    weft_lab_unclaim(&claim, name);
    return fine || weft_wrap(&cli->error, "%s", lab_run_fabric_name(fabric.kind));
}

// ---- all ----

static bool load(struct lab_run *run)
{
    struct cli *cli = run->cli;
    if (!weft_plan_load(&run->plan, run->plan_path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (run->job_path != NULL) {
        struct weft_loaded_job job;
        if (!weft_request_load(&job, run->job_path, &cli->given.trace,
                               cli_environment(cli, NULL))) {
            return false;
        }
        cli_print_notes(cli);
        run->graph = job.fbuf.graph;
    } else if (run->plan.job != NULL) {
        run->graph = run->plan.job->graph;
    } else {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: the plan has no job inside; write --job FILE.fbuf", run->plan_path);
    }
    return weft_plan_played(&run->played, &run->plan, &run->graph, &cli->arena, cli->scratch,
                            &cli->error) &&
           (run->change.path == NULL || lab_run_load_other(run));
}

// Writes the report: the experiments of all fabrics, and an event for each fault or for the change.
// The page is made in scratch memory and saved whole.
static bool write_page(struct lab_run *run)
{
    struct cli *cli = run->cli;
    struct weft_report_experiment experiments[LAB_RUN_FABRICS_MAX];
    for (uint32_t f = 0; f < run->fabric_count; f++) {
        const struct lab_experiment *experiment = &run->experiments[f];
        struct weft_report_phase *phases =
            WEFT_NEW(&cli->arena, struct weft_report_phase, experiment->phase_count);
        for (uint32_t i = 0; i < experiment->phase_count; i++) {
            const struct lab_phase *phase = &experiment->phases[i];
            phases[i] = (struct weft_report_phase){phase->name, phase->predicted_flow_s,
                                                   phase->predicted_packet_s,
                                                   phase->measured_mean_s, phase->measured_p99_s};
        }
        experiments[f] = (struct weft_report_experiment){
            .fabric = lab_run_fabric_name(run->fabrics[f]),
            .phase_count = experiment->phase_count,
            .phases = phases,
            .retransmits = experiment->tcp.retransmits,
            .ecn_marks = experiment->marks,
            .drops = experiment->drops,
            .rate_Bps = experiment->lab_rate_Bps,
        };
    }
    struct weft_report_event events[LAB_FAULTS_MAX];
    uint32_t event_count = run->faults.recoveries != NULL ? run->faults.count : 0;
    for (uint32_t i = 0; i < event_count; i++) {
        lab_run_recovery_event(&events[i], run, i);
    }
    if (run->change.result != NULL) {
        lab_run_change_event(&events[event_count++], run);
    }
    const char *slash = strrchr(run->plan_path, '/');
    const struct weft_report_lab lab = {
        .title = slash != NULL ? slash + 1 : run->plan_path,
        .cluster = run->plan.cluster.name,
        .origin = run->origin,
        .congestion = run->congestion,
        .iterations = run->iterations,
        .rate_ratio = run->experiments[0].rate_ratio,
        .time_ratio = run->experiments[0].time_ratio,
        .experiment_count = run->fabric_count,
        .experiments = experiments,
        .event_count = event_count,
        .events = events,
    };
    const char *page = weft_report_lab_html(&lab, &cli->arena, cli->scratch);
    return weft_file_save(run->report_path, page, strlen(page), &cli->error);
}

bool lab_run_all(struct lab_run *run)
{
    struct cli *cli = run->cli;
    if ((run->report_path != NULL &&
         (!cli_can_write(cli, run->report_path) || !cli_origin(&run->origin, cli))) ||
        !load(run)) {
        return false;
    }
    weft_stop stop = cli_clock_start(cli, "running in the lab", NULL);
    cli_clock_heed();
    bool fine = true;
    for (uint32_t i = 0; i < run->fabric_count && fine; i++) {
        fine = run_fabric(run, i, stop);
    }
    cli_clock_stop(cli);
    return fine && (run->report_path == NULL || write_page(run));
}
