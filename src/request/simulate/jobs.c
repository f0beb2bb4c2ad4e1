// SPDX-License-Identifier: Apache-2.0
// Task graphs side by side on one fabric: a reference fabric, the one of the job's own file, or the
// one of a plan with its routes, rings, packets and collectives. Jobs take servers in the order in
// which they are named, each as many as its graph has; where the request has accelerators, the
// graph's servers are ranks on these, and a job begins at a server.

#include "request/simulate/levels.h"
#include "weft/format.h"
#include "weft/routing.h"

#include <string.h>

// Of a job: the hops between all of them are 128 MiB then.
#define TOUR_SERVERS_MAX 8192u

struct jobs {
    struct weft_fbuf *files;
    struct weft_sim_job *jobs;
    uint32_t *first;                   // cluster server of each job's server 0, or of its rank 0
    uint64_t *dangling;                // of job j's trace: dependencies that were taken for done
    struct weft_chakra_joined *joined; // of job j's traces of Kineto
    uint32_t server_count;             // of the cluster, as many as jobs take
};

// Of a server; 1 where the graph's servers are servers.
static uint32_t accelerators_of(const struct simulation *simulation)
{
    uint32_t asked = simulation->request->scale_up.accelerators;
    return asked > 1 ? asked : 1;
}

// Reads the files; job j's servers follow those of job j-1 (first-fit on an empty cluster).
static bool load_jobs(struct jobs *jobs, struct simulation *simulation)
{
    struct weft_arena *arena = simulation->environment->base.arena;
    uint32_t count = simulation->load_count;
    uint32_t accelerators = accelerators_of(simulation);
    jobs->files = WEFT_NEW(arena, struct weft_fbuf, count);
    jobs->jobs = WEFT_NEW(arena, struct weft_sim_job, count);
    jobs->first = WEFT_NEW(arena, uint32_t, count);
    jobs->dangling = WEFT_NEW(arena, uint64_t, count);
    jobs->joined = WEFT_NEW(arena, struct weft_chakra_joined, count);
    jobs->server_count = 0;
    for (uint32_t j = 0; j < count; j++) {
        struct weft_loaded_job loaded;
        if (!weft_request_load(&loaded, simulation->loads[j], &simulation->request->trace,
                               simulation->environment)) {
            return false;
        }
        if (loaded.priority_count > 0) {
            simulation->matrix.priority = loaded.priority;
            simulation->matrix.priority_count = loaded.priority_count;
        }
        if (loaded.failure_count > 0) {
            simulation->matrix.failures = loaded.failures;
            simulation->matrix.failure_count = loaded.failure_count;
        }
        jobs->files[j] = loaded.fbuf;
        jobs->dangling[j] = loaded.dangling_count;
        jobs->joined[j] = loaded.joined;
        const struct weft_taskgraph *graph = &jobs->files[j].graph;
        uint32_t *servers = WEFT_NEW(arena, uint32_t, graph->server_count);
        for (uint32_t i = 0; i < graph->server_count; i++) {
            servers[i] = jobs->server_count * accelerators + i;
        }
        jobs->first[j] = jobs->server_count;
        jobs->jobs[j] = (struct weft_sim_job){
            .graph = graph, .servers = servers, .listed = jobs->files[j].listed};
        jobs->server_count += (graph->server_count + accelerators - 1) / accelerators;
    }
    return true;
}

// The job's own topology, routes and rings, with the rate of the request, else of the file.
static bool use_file_network(struct jobs *jobs, struct simulation *simulation)
{
    const struct weft_environment *base = &simulation->environment->base;
    const struct weft_request_hardware *hardware = &simulation->request->hardware;
    const struct weft_fbuf *file = &jobs->files[0];
    if (simulation->load_count > 1) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{fabric=file} takes one job; choose a fabric for several");
    }
    const struct weft_fabric_options *shape = &simulation->request->shape;
    if (hardware->cluster_path != NULL || hardware->server_count != 0 || hardware->degree != 0 ||
        hardware->latency_given || hardware->host_given || hardware->balance_given ||
        shape->radix != 0 || shape->oversubscription > 0 || accelerators_of(simulation) > 1) {
        return weft_fail(
            base->error, WEFT_USAGE,
            "{fabric=file} brings the links with their latencies, but for {rate}; "
            "leave out {cluster}, {servers}, {degree}, {latency}, {host-rate}, {balance}, "
            "{radix}, {oversubscription} and {accelerators}");
    }
    simulation->network = WEFT_NEW(base->arena, struct weft_network, 1);
    double rate_Bps = hardware->rate_given ? hardware->rate_Bps : 0;
    if (hardware->rate_given && !(rate_Bps > 0)) {
        return weft_fail(base->error, WEFT_INPUT,
                         "{rate}: 0 carries nothing; write for example 100Gbps");
    }
    if (!weft_fbuf_network(simulation->network, file, rate_Bps, base->arena, base->scratch,
                           base->error)) {
        return weft_wrap(base->error, "%s", simulation->loads[0]);
    }
    simulation->cluster.rate_Bps = rate_Bps > 0 ? rate_Bps : file->rate_Bps;
    jobs->jobs[0].rings = simulation->network->rings;
    return true;
}

// ---- the fabric of a plan ----

// A plan brings its fabric: what says otherwise would be ignored.
static bool check_plan(const struct simulation *simulation)
{
    const struct weft_simulate_request *request = simulation->request;
    const struct weft_request_hardware *hardware = &request->hardware;
    struct weft_error *error = simulation->environment->base.error;
    if (simulation->load_count > 1) {
        return weft_fail(error, WEFT_USAGE, "{plan} takes one job; choose a fabric for several");
    }
    const struct weft_stated rows[] = {
        {request->fabric != NULL, "fabric"},
        {request->topology_path != NULL, "topology"},
        {hardware->cluster_path != NULL, "cluster"},
        {hardware->server_count != 0, "servers"},
        {hardware->degree != 0, "degree"},
        {hardware->rate_given, "rate"},
        {hardware->latency_given, "latency"},
        {hardware->host_given, "host-rate"},
        {hardware->balance_given, "balance"},
        {request->shape.radix != 0, "radix"},
        {request->shape.oversubscription > 0, "oversubscription"},
        {request->scale_up.accelerators > 1, "accelerators"},
        {NULL},
    };
    return weft_refuse_stated(rows, error,
                              "stands beside {plan}, which brings the fabric; leave it out");
}

// The job that the plan itself holds, when the request names none.
static bool take_plan_job(struct jobs *jobs, struct simulation *simulation,
                          const struct weft_plan *plan)
{
    const struct weft_environment *base = &simulation->environment->base;
    const char *path = simulation->request->plan_path;
    if (plan->job == NULL) {
        return weft_fail(base->error, WEFT_INPUT,
                         "%s: the plan was made for a task graph and does not hold it; write "
                         "weft simulate FILE.fbuf {plan=%s}",
                         path, path);
    }
    const char **loads = WEFT_NEW(base->arena, const char *, 1);
    loads[0] = plan->job->model;
    simulation->loads = loads;
    simulation->load_count = 1;
    jobs->jobs = WEFT_NEW(base->arena, struct weft_sim_job, 1);
    jobs->first = WEFT_NEW(base->arena, uint32_t, 1);
    jobs->dangling = WEFT_NEW(base->arena, uint64_t, 1);
    jobs->joined = WEFT_NEW(base->arena, struct weft_chakra_joined, 1);
    jobs->jobs[0].graph = &plan->job->graph;
    jobs->server_count = plan->job->graph.server_count;
    return true;
}

// Playing another job on a plan is a question that may be asked, but not a check of the plan.
static void note_other_job(const struct jobs *jobs, const struct simulation *simulation,
                           const struct weft_plan *plan)
{
    struct weft_error difference;
    if (plan->job != NULL &&
        !weft_taskgraph_same(jobs->jobs[0].graph, &plan->job->graph, WEFT_TASK_ALL_KINDS,
                             simulation->environment->base.scratch, &difference)) {
        weft_request_note(simulation->environment,
                          "%s is not the job that %s was planned for and holds (%s); leave it out "
                          "to play that one",
                          simulation->loads[0], simulation->request->plan_path, difference.message);
    }
}

static bool load_plan(struct weft_plan **loaded, const struct simulation *simulation)
{
    const struct weft_environment *base = &simulation->environment->base;
    const char *path = simulation->request->plan_path;
    struct weft_plan *plan = WEFT_NEW(base->arena, struct weft_plan, 1);
    if (!weft_plan_load(plan, path, base->arena, base->scratch, base->error)) {
        return false;
    }
    *loaded = plan;
    return plan->flaws.count == 0 || weft_fail(base->error, WEFT_INPUT, "%s: %s; see weft check",
                                               path, plan->flaws.items[0].text);
}

// A plan's fabric, for the job that it was made for, with the plan's own packets. A plan's chosen
// collectives are those of its own job.
static bool use_plan_network(struct jobs *jobs, struct simulation *simulation)
{
    const struct weft_environment *base = &simulation->environment->base;
    const char *path = simulation->request->plan_path;
    struct weft_plan *plan = NULL;
    if (!check_plan(simulation) || !load_plan(&plan, simulation) ||
        (simulation->load_count == 0 && !take_plan_job(jobs, simulation, plan))) {
        return false;
    }
    if (jobs->server_count > plan->cluster.server_count) {
        return weft_fail(base->error, WEFT_INPUT,
                         "%s: the plan has %u servers, the job %u; plan for this job", path,
                         plan->cluster.server_count, jobs->server_count);
    }
    note_other_job(jobs, simulation, plan);
    simulation->fabric = "plan";
    simulation->network = &plan->network;
    simulation->cluster = plan->cluster;
    const struct weft_sim_options packets = simulation->options;
    simulation->options = plan->sim;
    if (plan->sim.engine == WEFT_ENGINE_PACKET) { // the preset brings its own
        simulation->options.packet_bytes = packets.packet_bytes;
        simulation->options.header_bytes = packets.header_bytes;
    }
    simulation->options.acknowledged |= simulation->request->acknowledged;
    simulation->options.small_in_one_round &= !simulation->request->all_rounds;
    simulation->options.stop = base->stop;
    if (jobs->jobs[0].graph->group_count == 0) {
        return true; // sends alone, as of a GOAL schedule: no ring is asked for
    }
    jobs->jobs[0].rings = plan->network.rings;
    struct weft_taskgraph *played = WEFT_NEW(base->arena, struct weft_taskgraph, 1);
    if (!weft_plan_played(played, plan, jobs->jobs[0].graph, base->arena, base->scratch,
                          base->error)) {
        return weft_wrap(base->error, "%s", path);
    }
    jobs->jobs[0].graph = played;
    jobs->jobs[0].listed = NULL; // other tasks than the file's
    return true;
}

// Where servers forward, groups go round tours, there and back, as in strategies and comparisons.
static void use_tours(struct jobs *jobs, struct simulation *simulation)
{
    const struct weft_environment *base = &simulation->environment->base;
    const struct weft_network *network = simulation->network;
    if (!network->fabric.forwards || network->rings.ring_count > 0) {
        return;
    }
    for (uint32_t j = 0; j < simulation->load_count; j++) {
        struct weft_sim_job *job = &jobs->jobs[j];
        if (job->graph->server_count > TOUR_SERVERS_MAX) {
            weft_request_note(simulation->environment,
                              "%s: rings go round %u servers in the order of their groups; tours "
                              "are looked for up to %u",
                              simulation->loads[j], job->graph->server_count, TOUR_SERVERS_MAX);
            continue;
        }
        job->rings = weft_routing_tours(job->graph, job->servers, &network->routes, base->arena,
                                        base->scratch);
    }
}

// The fabric of the request, and on it collectives by levels where it joins accelerators.
static bool use_reference(struct jobs *jobs, struct simulation *simulation)
{
    const struct weft_environment *base = &simulation->environment->base;
    // A fabric joins two servers at least; a job may fit on the accelerators of one.
    bool fits_one = jobs->server_count == 1 && accelerators_of(simulation) > 1;
    if (!simulation_build_network(simulation, fits_one ? 2 : jobs->server_count)) {
        return false;
    }
    if (accelerators_of(simulation) == 1) {
        use_tours(jobs, simulation);
        return true;
    }
    const struct patterns_ranks ranks = levels_ranks(simulation);
    for (uint32_t j = 0; j < simulation->load_count; j++) {
        if (!levels_spread(&jobs->jobs[j].graph, jobs->jobs[j].graph, &ranks, base->arena,
                           base->scratch, base->error)) {
            return weft_wrap(base->error, "%s", simulation->loads[j]);
        }
        jobs->jobs[j].listed = NULL; // collectives are tasks more
    }
    return true;
}

static bool build_network(struct jobs *jobs, struct simulation *simulation)
{
    const struct weft_simulate_request *request = simulation->request;
    uint64_t seed = simulation->environment->base.seed;
    const struct weft_sim_options packets = weft_request_task_packets(seed);
    simulation->options.packet_bytes = packets.packet_bytes;
    simulation->options.header_bytes = packets.header_bytes;
    simulation->options.small_in_one_round = packets.small_in_one_round && !request->all_rounds;
    simulation->options.seed = seed;
    if (request->plan_path != NULL) {
        return use_plan_network(jobs, simulation);
    }
    bool own = strcmp(simulation->fabric, "file") == 0 && request->topology_path == NULL;
    return own ? use_file_network(jobs, simulation) : use_reference(jobs, simulation);
}

// ---- the run ----

// A matrix' priorities are the receivers', of pulls: NDP alone has these, as in htsim.
static void use_priorities(struct simulation *simulation)
{
    const struct weft_loaded_job *matrix = &simulation->matrix;
    if (matrix->priority == NULL) {
        return;
    }
    bool pulled = simulation->options.engine == WEFT_ENGINE_PACKET &&
                  simulation->options.transport == WEFT_TRANSPORT_NDP;
    if (pulled && simulation->load_count == 1) {
        simulation->packet.pull.order = matrix->priority;
        simulation->packet.pull.count = matrix->priority_count;
    } else {
        weft_request_note(simulation->environment,
                          "prio changes nothing here: it says whom receivers pull first, and %s",
                          pulled ? "is played for one job alone" : "only {transport=ndp} pulls");
    }
}

static void list_jobs(struct simulation *simulation, const struct jobs *jobs)
{
    struct weft_simulate_result *result = simulation->result;
    uint32_t count = simulation->load_count;
    uint32_t accelerators = accelerators_of(simulation);
    struct weft_simulated_job *rows =
        WEFT_NEW(simulation->environment->base.arena, struct weft_simulated_job, count);
    uint64_t longest_ps = 0;
    for (uint32_t j = 0; j < count; j++) {
        uint64_t iteration_ps = result->sim.iteration_ps[j];
        uint32_t ranks = jobs->jobs[j].graph->server_count;
        rows[j] =
            (struct weft_simulated_job){.name = simulation->loads[j],
                                        .rank_count = ranks,
                                        .server_count = (ranks + accelerators - 1) / accelerators,
                                        .first_server = jobs->first[j],
                                        .dangling_count = jobs->dangling[j],
                                        .joined = jobs->joined[j],
                                        .iteration_ps = iteration_ps,
                                        .p99_ps = simulation_p99_ps(simulation, j)};
        longest_ps = iteration_ps > longest_ps ? iteration_ps : longest_ps;
    }
    bool repeats = simulation->options.iterations > 1;
    result->iteration_s = weft_seconds(repeats ? longest_ps : result->sim.end_ps);
    result->jobs = rows;
    result->job_count = count;
    result->times = simulation_time_transfers(simulation, jobs->jobs, count);
}

static bool run_jobs(struct simulation *simulation, const struct jobs *jobs)
{
    struct weft_request_environment *environment = simulation->environment;
    const struct weft_environment *base = &environment->base;
    const char *plan_path = simulation->request->plan_path;
    double bytes = 0;
    for (uint32_t j = 0; j < simulation->load_count; j++) {
        bytes += simulation_graph_bytes(jobs->jobs[j].graph);
    }
    if (!simulation_afford(simulation, bytes)) {
        return false;
    }
    weft_request_step_begin(environment, "simulating", NULL);
    bool played = weft_sim_run_jobs(&simulation->result->sim, simulation->network, jobs->jobs,
                                    simulation->load_count, &simulation->options, base);
    weft_request_step_end(environment);
    return played || (plan_path != NULL && weft_wrap(base->error, "%s", plan_path));
}

// Loads, builds the fabric for as many servers as the jobs have, lays the request's packets over
// the preset, plays, and keeps what was asked for.
bool simulation_play_jobs(struct simulation *simulation)
{
    const struct weft_simulate_request *request = simulation->request;
    struct jobs jobs;
    if (!load_jobs(&jobs, simulation)) {
        return false;
    }
    // Packets of other simulators' loads are not those of the recorded task graphs.
    bool load = simulation->load_count > 0 && weft_request_is_load(simulation->loads[0]);
    if (!build_network(&jobs, simulation) ||
        !weft_request_packets(&simulation->options, &simulation->packet, &request->packets,
                              load ? 0 : WEFT_LOAD_TASKGRAPH, &simulation->environment->base) ||
        !simulation_time_jobs(simulation, simulation->load_count) ||
        !simulation_ask_snapshot(simulation) || !simulation_ask_records(simulation, true)) {
        return false;
    }
    use_priorities(simulation);
    simulation->options.timeline |= load;
    if (!run_jobs(simulation, &jobs)) {
        return false;
    }
    const struct simulation_played what = {.jobs = jobs.jobs, .job_count = simulation->load_count};
    simulation_keep_records(simulation, &what);
    if (request->records.snapshot && !simulation_keep_snapshot(simulation, jobs.jobs)) {
        return false;
    }
    simulation->result->kind = WEFT_SIMULATE_JOBS;
    list_jobs(simulation, &jobs);
    simulation_summarize(simulation);
    return true;
}
