// SPDX-License-Identifier: Apache-2.0
// Patterns of traffic: a collective over all ranks as a job, the others as lists of flows.
//
// A pattern is spelled in one word (weft_flows_parse) and built for as many servers as the fabric
// has. Completion times are sorted for their percentiles: O(flows log flows) beside the run itself.

#include "request/simulate/levels.h"
#include "request/simulate/simulation.h"

// A collective is a job, so that it has iterations, jitter and records as jobs have.
static bool play_collective(struct simulation *simulation, const struct weft_flows_spec *spec)
{
    struct weft_request_environment *environment = simulation->environment;
    const struct weft_environment *base = &environment->base;
    struct weft_simulate_result *result = simulation->result;
    const struct weft_network *network = simulation->network;
    struct weft_taskgraph *graph = WEFT_NEW(base->arena, struct weft_taskgraph, 1);
    struct weft_sim_job *job = WEFT_NEW(base->arena, struct weft_sim_job, 1);
    const struct patterns_ranks ranks = levels_ranks(simulation);
    if (!simulation_time_jobs(simulation, 1) ||
        !levels_build(graph, spec, &ranks, base->arena, base->scratch, base->error) ||
        !simulation_choose_trees(graph, simulation, ranks.server_rate_Bps / ranks.accelerators) ||
        !simulation_afford(simulation, simulation_graph_bytes(graph))) {
        return false;
    }
    job->graph = graph;
    weft_request_step_begin(environment, "simulating", NULL);
    bool played = weft_sim_run_jobs(&result->sim, network, job, 1, &simulation->options, base);
    weft_request_step_end(environment);
    if (!played) {
        return false;
    }
    const struct simulation_played what = {.jobs = job, .job_count = 1};
    simulation_keep_records(simulation, &what);
    struct weft_simulated_job *simulated = WEFT_NEW(base->arena, struct weft_simulated_job, 1);
    *simulated = (struct weft_simulated_job){.name = simulation->loads[0],
                                             .rank_count = ranks.servers * ranks.accelerators,
                                             .server_count = ranks.servers,
                                             .iteration_ps = result->sim.iteration_ps[0],
                                             .p99_ps = simulation_p99_ps(simulation, 0)};
    result->jobs = simulated;
    result->job_count = 1;
    return true;
}

// When the part of the flows that stays inside servers ends, played alone.
static bool play_inside(uint64_t *end_ps, struct simulation *simulation,
                        const struct weft_flows_spec *spec, const struct patterns_ranks *ranks)
{
    const struct weft_environment *base = &simulation->environment->base;
    // What it finds is not kept; records are of the whole run.
    struct weft_environment own = *base;
    struct weft_arena found = weft_arena_split(&own.scratch);
    own.arena = &found;
    struct weft_flow_list flows;
    struct weft_sim_options options = simulation->options;
    options.records = (struct weft_record_options){0};
    options.progress = NULL;
    struct weft_sim_result result;
    bool played = patterns_build_inside(&flows, spec, ranks, own.arena, base->error) &&
                  weft_sim_run_flows(&result, NULL, simulation->network, &flows, &options, &own);
    *end_ps = played ? result.end_ps : 0;
    return played;
}

// Builds the list and plays it. The load of a Poisson pattern is of all ports of a server together,
// therefore the rate of a host is that of its ports.
static bool play_flows(struct simulation *simulation, const struct weft_flows_spec *spec)
{
    struct weft_request_environment *environment = simulation->environment;
    const struct weft_environment *base = &environment->base;
    struct weft_simulate_result *result = simulation->result;
    const struct weft_network *network = simulation->network;
    struct weft_flow_list flows;
    const struct patterns_ranks ranks = levels_ranks(simulation);
    uint64_t inside_ps = 0;
    if ((patterns_have_inside(spec, &ranks) &&
         !play_inside(&inside_ps, simulation, spec, &ranks)) ||
        !patterns_build(&flows, spec, &ranks, inside_ps, base->arena, base->error)) {
        return weft_wrap(base->error, "%s", simulation->loads[0]);
    }
    if (!simulation_time_flows(simulation, flows.count)) {
        return false;
    }
    double bytes = 0;
    for (uint32_t i = 0; i < flows.count; i++) {
        bytes += (double)flows.size_bytes[i];
    }
    if (!simulation_afford(simulation, bytes)) {
        return false;
    }
    uint64_t *ends_ps = WEFT_NEW(base->arena, uint64_t, flows.count);
    weft_request_step_begin(environment, "simulating", NULL);
    bool played =
        weft_sim_run_flows(&result->sim, ends_ps, network, &flows, &simulation->options, base);
    weft_request_step_end(environment);
    if (!played) {
        return false;
    }
    const struct simulation_played what = {.flows = &flows, .ends_ps = ends_ps};
    simulation_keep_records(simulation, &what);
    // The ends become durations in place: there may be a hundred million of them.
    for (uint32_t i = 0; i < flows.count; i++) {
        ends_ps[i] -= flows.start_ps[i];
    }
    result->times = simulation_sort_times(ends_ps, flows.count);
    return true;
}

// Says what a rank is where the cluster's file has accelerators and the request does not say.
static void note_ranks(const struct simulation *simulation)
{
    const struct weft_cluster *cluster = &simulation->cluster;
    uint32_t held = cluster->accelerators_per_server;
    bool asked = simulation->request->scale_up.accelerators > 0 || simulation->request->one_port;
    if (simulation->request->hardware.cluster_path != NULL && held > 1 && !asked) {
        weft_request_note(simulation->environment,
                          "a rank is a server with all its ports; {accelerators=%u} has one for "
                          "each accelerator",
                          held);
    }
}

// A pattern names no servers, so the request has to. Flows have no preset but the plain one, and
// are a fluid unless the request says otherwise.
bool simulation_play_flows(struct simulation *simulation, const struct weft_flows_spec *spec)
{
    const struct weft_simulate_request *request = simulation->request;
    const struct weft_environment *base = &simulation->environment->base;
    bool is_job = weft_flows_reduce(spec->kind);
    if (request->hardware.server_count == 0 && request->hardware.cluster_path == NULL &&
        request->topology_path == NULL) {
        return weft_fail(base->error, WEFT_USAGE, "how many servers? write {servers=128}");
    }
    if (request->one_port && !is_job) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{one-port} is for a collective (allreduce:1GB), not for '%.60s'",
                         simulation->loads[0]);
    }
    if (request->algorithm != WEFT_SIMULATE_BEST &&
        (request->one_port || spec->kind != WEFT_FLOWS_ALLREDUCE)) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{algorithm} is for an AllReduce on all ports (allreduce:1GB, without "
                         "{one-port}), not for '%.60s'",
                         simulation->loads[0]);
    }
    simulation->options.seed = base->seed;
    if (!weft_request_packets(&simulation->options, &simulation->packet, &request->packets, 0,
                              base) ||
        !simulation_build_network(simulation, request->hardware.server_count) ||
        !simulation_ask_records(simulation, is_job)) {
        return false;
    }
    note_ranks(simulation);
    bool played = is_job ? play_collective(simulation, spec) : play_flows(simulation, spec);
    if (!played) {
        return false;
    }
    simulation->result->kind = WEFT_SIMULATE_FLOWS;
    simulation_summarize(simulation);
    return true;
}
