// SPDX-License-Identifier: Apache-2.0
// weft lab run: a lab for each fabric that is asked for, and a trial in it.

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
struct stand {
    enum lab_run_fabric fabric;
    struct weft_network *network;
    const struct weft_taskgraph *graph;
    struct weft_lab_wiring wiring;
    double port_rate_Bps; // planned, of what is a port in the lab
    bool one_lane;
};

// One non-blocking switch whose ports are of the rate that a Fat-tree has for the plan's money.
static bool stand_switch(struct stand *stand, struct lab_run *run)
{
    struct cli *cli = run->cli;
    const struct weft_cluster *cluster = &run->plan.cluster;
    struct weft_network *equal = WEFT_NEW(&cli->arena, struct weft_network, 1);
    if (!weft_fabric_build_cost_equivalent(equal, cluster, run->plan.cost.total_usd, &cli->arena,
                                           &cli->error)) {
        return weft_wrap(&cli->error, "a switch of equal cost");
    }
    stand->port_rate_Bps = equal->fabric.links[equal->fabric.first[0]].rate_Bps;
    const struct weft_fabric_options options = {.port_rate_Bps = stand->port_rate_Bps};
    return weft_fabric_build_ideal(stand->network, cluster, &options, &cli->arena, &cli->error) &&
           weft_lab_wire_switch(&stand->wiring, cluster->server_count, &cli->error);
}

static bool stand_ring(struct stand *stand, struct lab_run *run)
{
    struct cli *cli = run->cli;
    const struct weft_cluster *cluster = &run->plan.cluster;
    stand->one_lane = true;
    if (!weft_fabric_build_ring(stand->network, cluster, NULL, &cli->arena, &cli->error) ||
        !weft_lab_wire_ring(&stand->wiring, cluster->server_count, &cli->arena, cli->scratch,
                            &cli->error)) {
        return false;
    }
    stand->port_rate_Bps = stand->network->fabric.links[0].rate_Bps;
    return true;
}

static bool make_stand(struct stand *stand, enum lab_run_fabric fabric, struct lab_run *run)
{
    struct cli *cli = run->cli;
    *stand = (struct stand){.fabric = fabric, .graph = &run->graph};
    if (fabric == LAB_RUN_PLAN) {
        stand->network = &run->plan.network;
        stand->graph = &run->played;
        stand->port_rate_Bps = run->plan.cluster.rate_Bps;
        return weft_lab_wire_plan(&stand->wiring, &run->plan, &cli->arena, cli->scratch,
                                  &cli->error);
    }
    stand->network = WEFT_NEW(&cli->arena, struct weft_network, 1);
    return fabric == LAB_RUN_SWITCH ? stand_switch(stand, run) : stand_ring(stand, run);
}

// ---- labs ----

static bool raise_own(struct weft_lab *lab, const char *name, const struct stand *stand,
                      struct lab_run *run, weft_stop stop)
{
    struct cli *cli = run->cli;
    // All fabrics at the same fraction of what is planned.
    double ratio = run->rate_Bps / run->plan.cluster.rate_Bps;
    const struct weft_lab_options options = {
        .name = name,
        .fabric = lab_run_fabric_name(stand->fabric),
        .plan_path = stand->fabric == LAB_RUN_PLAN ? run->plan_path : NULL,
        .rate_Bps = stand->port_rate_Bps * ratio,
        .mtu_bytes = run->mtu_bytes,
        .buffer_bytes = run->buffer_bytes,
        .mark_packets = run->mark_packets,
        .dark_ns = run->dark_ps / 1000,
        .stop = stop,
    };
    struct weft_lab_wiring wiring;
    lab_spread_wiring(&wiring, &stand->wiring, NULL, stand->wiring.server_count + run->spares,
                      &cli->arena);
    return weft_lab_up(lab, &wiring, &options, cli->scratch, &cli->error);
}

// A lab that stands under --name may be used, if it stands for this plan.
static bool use_standing(struct weft_lab *lab, bool *found, const struct stand *stand,
                         struct lab_run *run)
{
    struct cli *cli = run->cli;
    struct weft_error missing;
    // What stands is not damaged.
    *found = stand->fabric == LAB_RUN_PLAN && run->fault_count == 0 && run->change_path == NULL &&
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
    if (run->mark_packets > 0 && run->mark_packets != lab->mark_packets) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--ecn %u: lab '%s' stands with --ecn %u; leave it out", run->mark_packets,
                         run->name, lab->mark_packets);
    }
    run->mark_packets = lab->mark_packets;
    return true;
}

static bool try_fabric(struct lab_experiment *trial, const struct stand *stand,
                       const struct weft_lab *lab, struct lab_run *run, weft_stop stop)
{
    struct cli *cli = run->cli;
    struct lab_experiment_options options = {
        .network = stand->network,
        .graph = stand->graph,
        .job_graph = stand->fabric == LAB_RUN_PLAN ? &run->graph : stand->graph,
        .wiring = &stand->wiring,
        .lab = lab,
        .scale.rate_Bps = stand->port_rate_Bps,
        .one_lane = stand->one_lane,
        .scale.iteration_s = run->plan.iteration_s,
        .scale.target_s = run->target_s,
        .small_in_one_round = run->plan.sim.small_in_one_round,
        .iterations = run->iterations,
        .congestion = run->congestion,
        .check = true,
        .stall_ms = (uint32_t)(run->stall_s * 1e3),
        .timeout_ms = (uint32_t)(run->timeout_s * 1e3),
        .seed = cli->seed,
        .stop = stop,
    };
    if (run->change_path != NULL) {
        bool changed = lab_run_play_change(run, &options);
        *trial = run->change->before;
        return changed;
    }
    if (run->fault_count == 0) {
        return lab_experiment_run(trial, &options, &cli->arena, cli->scratch, &cli->error);
    }
    if (!lab_run_choose_faults(run, lab, &stand->wiring)) {
        return false;
    }
    run->recoveries = WEFT_NEW(&cli->arena, struct lab_recovery, run->fault_count);
    options.failure.watch_carrier = !run->detect_stall;
    const struct lab_fault_plan plan = {run->faults, run->fault_count, run->iterations};
    bool fine =
        lab_recover_run(run->recoveries, &options, &plan, &cli->arena, cli->scratch, &cli->error);
    *trial = run->recoveries[0].before;
    return fine;
}

static bool run_fabric(struct lab_run *run, uint32_t index, weft_stop stop)
{
    struct cli *cli = run->cli;
    struct stand stand;
    struct weft_lab *lab = WEFT_NEW(&cli->arena, struct weft_lab, 1);
    struct weft_lab_claim claim;
    struct weft_lab_removed removed;
    bool standing = false;
    if (!make_stand(&stand, run->fabrics[index], run) ||
        !use_standing(lab, &standing, &stand, run)) {
        return false;
    }
    // A lab of our own has our own name, so that it is in nobody's way.
    char own[WEFT_LAB_NAME_MAX];
    snprintf(own, sizeof own, "run%d", (int)getpid());
    const char *name = standing || run->name_given ? run->name : own;
    if (!weft_lab_claim(&claim, name, &cli->error)) {
        return false;
    }
    bool fine = standing || raise_own(lab, name, &stand, run, stop);
    if (fine) {
        fine = try_fabric(&run->trials[index], &stand, lab, run, stop);
        struct weft_error down;
        if (!standing && !weft_lab_down(&removed, name, cli->scratch, &down) && fine) {
            cli->error = down;
            fine = false;
        }
    }
    weft_lab_unclaim(&claim, name);
    return fine || weft_wrap(&cli->error, "%s", lab_run_fabric_name(stand.fabric));
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
        if (!weft_request_load(&job, run->job_path, &cli->trace, cli_environment(cli, NULL))) {
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
           (run->change_path == NULL || lab_run_load_other(run));
}

static bool write_page(struct lab_run *run)
{
    struct cli *cli = run->cli;
    struct weft_report_experiment trials[LAB_RUN_FABRICS_MAX];
    for (uint32_t f = 0; f < run->fabric_count; f++) {
        const struct lab_experiment *trial = &run->trials[f];
        struct weft_report_phase *phases =
            WEFT_NEW(&cli->arena, struct weft_report_phase, trial->phase_count);
        for (uint32_t i = 0; i < trial->phase_count; i++) {
            const struct lab_phase *phase = &trial->phases[i];
            phases[i] = (struct weft_report_phase){phase->name, phase->predicted_flow_s,
                                                   phase->predicted_packet_s,
                                                   phase->measured_mean_s, phase->measured_p99_s};
        }
        trials[f] = (struct weft_report_experiment){
            .fabric = lab_run_fabric_name(run->fabrics[f]),
            .phase_count = trial->phase_count,
            .phases = phases,
            .retransmits = trial->tcp.retransmits,
            .ecn_marks = trial->marks,
            .drops = trial->drops,
            .rate_Bps = trial->lab_rate_Bps,
        };
    }
    struct weft_report_event events[LAB_FAULTS_MAX];
    uint32_t event_count = run->recoveries != NULL ? run->fault_count : 0;
    for (uint32_t i = 0; i < event_count; i++) {
        lab_run_recovery_event(&events[i], run, i);
    }
    if (run->change != NULL) {
        lab_run_change_event(&events[event_count++], run);
    }
    const char *slash = strrchr(run->plan_path, '/');
    const struct weft_report_lab lab = {
        .title = slash != NULL ? slash + 1 : run->plan_path,
        .congestion = run->congestion,
        .iterations = run->iterations,
        .rate_ratio = run->trials[0].rate_ratio,
        .time_ratio = run->trials[0].time_ratio,
        .experiment_count = run->fabric_count,
        .experiments = trials,
        .event_count = event_count,
        .events = events,
    };
    const char *page = weft_report_lab_html(&lab, &cli->scratch);
    return weft_file_save(run->report_path, page, strlen(page), &cli->error);
}

bool lab_run_all(struct lab_run *run)
{
    struct cli *cli = run->cli;
    if ((run->report_path != NULL && !cli_can_write(cli, run->report_path)) || !load(run)) {
        return false;
    }
    weft_stop stop = cli_clock_start(cli, "running in the lab", 0);
    cli_clock_heed();
    bool fine = true;
    for (uint32_t i = 0; i < run->fabric_count && fine; i++) {
        fine = run_fabric(run, i, stop);
    }
    cli_clock_stop(cli);
    return fine && (run->report_path == NULL || write_page(run));
}
