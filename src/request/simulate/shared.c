// SPDX-License-Identifier: Apache-2.0
// A snapshot: jobs that share links, each by what it asks of them, played for many iterations.
//
// The file weighs jobs and says when they start; the request may state a sharing policy, shifts and
// timing instead. In the flow engine shares follow weights, or MLTCP's growth by progress
// (Rajasekaran et al., "MLTCP: Congestion Control for DNN Training", 2024); in the packet engine a
// weight becomes the growth of a transport's windows or rates, by the power that docs/transports.md
// measured.

#include "request/simulate/simulation.h"
#include "weft/format.h"

#include <math.h>
#include <string.h>

// As many as show whether shares converge: the later half counts.
static const uint32_t iterations_default = 60;
// First starts lie so far apart, at most a hundredth of the shortest iteration: jobs that start at
// the very same moment would stay in a balance that no cluster has.
static const uint64_t stagger_ps = 1000000000;
static const uint64_t latency_default_ps = 1000000;

struct shared {
    struct weft_simulated_snapshot *result;
    struct weft_job_set *set;
    struct weft_job_timing *timings;
    double mean_weight; // geometric
    bool learns;
    struct weft_snapshot_options lower;
};

static struct weft_error *error_of(const struct simulation *simulation)
{
    return simulation->environment->base.error;
}

// A snapshot brings its network: what says otherwise would be ignored.
static bool check_request(const struct simulation *simulation)
{
    const struct weft_simulate_request *request = simulation->request;
    const struct weft_request_hardware *hardware = &request->hardware;
    if (request->load_count > 1) {
        return weft_fail(error_of(simulation), WEFT_USAGE,
                         "'%.60s' is a snapshot and stands alone; write all jobs into it",
                         request->loads[0]);
    }
    if (request->fabric != NULL || request->topology_path != NULL || request->plan_path != NULL ||
        hardware->cluster_path != NULL || hardware->server_count != 0 || hardware->degree != 0 ||
        hardware->rate_given || hardware->host_given || hardware->balance_given ||
        request->shape.radix > 0 || request->shape.oversubscription > 0) {
        return weft_fail(error_of(simulation), WEFT_USAGE,
                         "a snapshot brings its links; leave out {fabric}, {topology}, {plan}, "
                         "{cluster}, {servers}, {degree}, {rate}, {host-rate}, {balance}, {radix} "
                         "and {oversubscription}");
    }
    const struct weft_stated rows[] = {
        {request->records.flows, "flow-records"},
        {request->records.series, "series"},
        {request->records.trace, "trace"},
        {request->records.every_ps > 0, "every"},
        {request->acknowledged, "acknowledged"},
        {request->packets.partitions.given, "parts"},
        {NULL},
    };
    return weft_refuse_stated(rows, error_of(simulation), "is not for snapshots; leave it out");
}

// ---- how links are shared ----

// One weight for each job; of two for more jobs each has to the next as the first to the second.
static bool take_weights(struct shared *shared, const struct simulation *simulation)
{
    const struct weft_request_sharing *asked = &simulation->request->sharing.policy;
    uint32_t count = shared->set->snapshot.job_count;
    uint32_t given = asked->weights.count;
    if (given > count && count >= 2) {
        return weft_fail(error_of(simulation), WEFT_USAGE,
                         "{sharing}: unfair:%.60s has more weights than the %u jobs", asked->text,
                         count);
    }
    if (given < 2 || (given > 2 && given != count)) {
        return weft_fail(error_of(simulation), WEFT_USAGE,
                         "{sharing}: unfair:%.60s has %u weights for %u jobs; write one for each, "
                         "or two that neighbors share by",
                         asked->text, given, count);
    }
    for (uint32_t job = 0; job < count; job++) {
        shared->timings[job].weight_ratio = job < given ? asked->weights.values[job]
                                                        : shared->timings[job - 1].weight_ratio *
                                                              shared->timings[1].weight_ratio /
                                                              shared->timings[0].weight_ratio;
    }
    return true;
}

static bool take_policy(struct shared *shared, const struct simulation *simulation)
{
    switch (simulation->request->sharing.policy.policy) {
    case WEFT_SHARING_AS_STATED:
        return true;
    case WEFT_SHARING_MLTCP:
        shared->learns = true;
        return true;
    case WEFT_SHARING_FAIR:
        for (uint32_t job = 0; job < shared->set->snapshot.job_count; job++) {
            shared->timings[job].weight_ratio = 1;
        }
        return true;
    case WEFT_SHARING_UNFAIR:
        return take_weights(shared, simulation);
    }
    WEFT_ASSERT(false);
    return false;
}

// The transport that learns what the chosen one does.
static bool take_learning(struct simulation *simulation)
{
    static const struct {
        enum weft_sim_transport base, learns;
    } pairs[] = {{WEFT_TRANSPORT_RENO, WEFT_TRANSPORT_MLTCP_RENO},
                 {WEFT_TRANSPORT_CUBIC, WEFT_TRANSPORT_MLTCP_CUBIC},
                 {WEFT_TRANSPORT_DCTCP, WEFT_TRANSPORT_MLTCP_DCTCP},
                 {WEFT_TRANSPORT_DCQCN, WEFT_TRANSPORT_MLTCP_DCQCN}};
    struct weft_sim_options *sim = &simulation->options;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (sim->transport == pairs[i].base || sim->transport == pairs[i].learns) {
            sim->transport = pairs[i].learns;
            return true;
        }
    }
    return weft_fail(error_of(simulation), WEFT_USAGE,
                     "{sharing=mltcp} has no %s; write {transport=reno}, cubic, dctcp or dcqcn",
                     weft_transport_name(sim->transport));
}

static bool learns(enum weft_sim_transport transport)
{
    return transport >= WEFT_TRANSPORT_MLTCP_RENO && transport <= WEFT_TRANSPORT_MLTCP_DCQCN;
}

// The growth that gives a share of links (docs/transports.md): DCTCP's windows go by its square.
static double growth_of(double share, enum weft_sim_transport transport)
{
    bool is_square = transport == WEFT_TRANSPORT_DCTCP || transport == WEFT_TRANSPORT_MLTCP_DCTCP;
    double power = is_square ? 0.5 : transport == WEFT_TRANSPORT_SWIFT ? 0.61 : 1;
    return pow(share, power);
}

// Weights as growth of the transport's windows or rates, each relative to their geometric mean so
// that the mean growth is the transport's own.
static bool take_packets(struct shared *shared, struct simulation *simulation)
{
    const struct weft_simulate_request *request = simulation->request;
    struct weft_sim_options *sim = &simulation->options;
    if (learns(sim->transport) && request->sharing.policy.given && !shared->learns) {
        return weft_fail(error_of(simulation), WEFT_USAGE,
                         "{transport=%s} shares by progress; write {sharing=mltcp}",
                         weft_transport_name(sim->transport));
    }
    shared->learns = shared->learns || learns(sim->transport);
    if (request->sharing.mltcp_root || request->sharing.mltcp_steps > 0) {
        return weft_fail(error_of(simulation), WEFT_USAGE,
                         "{mltcp-root} and {mltcp-steps} are of the flow engine");
    }
    if (shared->learns && !take_learning(simulation)) {
        return false;
    }
    bool uneven = false;
    for (uint32_t job = 0; job < shared->set->snapshot.job_count; job++) {
        struct weft_job_timing *timing = &shared->timings[job];
        uneven = uneven || timing->weight_ratio != shared->timings[0].weight_ratio;
        timing->weight_ratio /= shared->mean_weight;
        timing->weight_ratio = growth_of(timing->weight_ratio, sim->transport);
    }
    if (uneven && sim->transport == WEFT_TRANSPORT_NDP) {
        return weft_fail(error_of(simulation), WEFT_USAGE,
                         "{transport=ndp} has no weights; write dctcp or dcqcn");
    }
    sim->persistent = true;
    bool has_rate = sim->transport == WEFT_TRANSPORT_DCQCN ||
                    sim->transport == WEFT_TRANSPORT_MLTCP_DCQCN ||
                    sim->transport == WEFT_TRANSPORT_NDP;
    shared->lower.shaped = !has_rate;
    return true;
}

static bool take_fluid(const struct shared *shared, struct simulation *simulation)
{
    const struct weft_simulate_request *request = simulation->request;
    struct weft_fluid_options *fluid = &simulation->options.fluid;
    if (!shared->learns) {
        return (!request->sharing.mltcp_root && request->sharing.mltcp_steps == 0) ||
               weft_fail(error_of(simulation), WEFT_USAGE,
                         "{mltcp-root} and {mltcp-steps} need {sharing=mltcp}");
    }
    *fluid = (struct weft_fluid_options){.learns = true,
                                         .square_root = request->sharing.mltcp_root,
                                         .steps = request->sharing.mltcp_steps,
                                         .mltcp = WEFT_MLTCP_DEFAULTS};
    weft_request_mltcp(&fluid->mltcp, &request->packets);
    return true;
}

// ---- when jobs start ----

static void stagger(struct shared *shared)
{
    const struct weft_snapshot *snapshot = &shared->set->snapshot;
    uint64_t apart_ps = stagger_ps;
    for (uint32_t job = 0; job < snapshot->job_count; job++) {
        if (shared->set->plays[job].start_ps > 0) {
            return; // the file says when
        }
        uint64_t iteration_ps = snapshot->jobs[job].demand.iteration_ps;
        apart_ps = iteration_ps / 100 < apart_ps ? iteration_ps / 100 : apart_ps;
    }
    for (uint32_t job = 0; job < snapshot->job_count; job++) {
        shared->timings[job].start_ps = job * apart_ps;
    }
}

static bool take_shifts(struct shared *shared, const struct simulation *simulation)
{
    const struct weft_environment *base = &simulation->environment->base;
    const struct weft_snapshot *snapshot = &shared->set->snapshot;
    const char *word = simulation->request->sharing.shifts;
    if (word == NULL) {
        return true;
    }
    uint64_t *shift_ps = WEFT_NEW(base->arena, uint64_t, snapshot->job_count);
    const uint64_t *shifts_ps = shift_ps;
    if (strcmp(word, "find") == 0) {
        const struct weft_interleave_options options = {.seed = base->seed};
        struct weft_interleaving found;
        if (!weft_interleave(&found, snapshot, &options, base->arena, base->scratch, base->error)) {
            return weft_wrap(base->error, "%s", simulation->loads[0]);
        }
        shifts_ps = found.time_shift_ps;
    } else if (!weft_shifts_load(shift_ps, snapshot, word, base->scratch, base->error)) {
        return false;
    }
    for (uint32_t job = 0; job < snapshot->job_count; job++) {
        shared->timings[job].start_ps = shifts_ps[job];
    }
    return true;
}

static void take_realign(struct shared *shared, const struct simulation *simulation)
{
    const struct weft_snapshot *snapshot = &shared->set->snapshot;
    for (uint32_t job = 0; job < snapshot->job_count; job++) {
        shared->timings[job].stray_ratio = simulation->request->sharing.realign.value;
        shared->timings[job].period_ps = snapshot->jobs[job].demand.iteration_ps;
    }
}

// ---- from the file to a run ----

// What of an iteration a job computes.
static uint64_t compute_ps(const struct weft_demand *demand)
{
    uint64_t left_ps = demand->iteration_ps;
    for (uint32_t p = 0; p < demand->phase_count; p++) {
        left_ps -= demand->phases[p].rate_Bps > 0 ? demand->phases[p].duration_ps : 0;
    }
    return left_ps;
}

// Reads the snapshot and gives each job the start, weight and jitter that the file states. Jitter
// is stated as a time there and becomes a ratio of what the job computes.
static bool load(struct shared *shared, struct simulation *simulation)
{
    const struct weft_environment *base = &simulation->environment->base;
    struct weft_sim_options *sim = &simulation->options;
    if (!weft_snapshot_load(shared->set, simulation->loads[0], base->arena, base->scratch,
                            base->error)) {
        return false;
    }
    uint32_t count = shared->set->snapshot.job_count;
    uint64_t *computes_ps = WEFT_NEW(base->arena, uint64_t, count);
    shared->timings = WEFT_NEW(base->arena, struct weft_job_timing, count);
    for (uint32_t job = 0; job < count; job++) {
        const struct weft_job_play *play = &shared->set->plays[job];
        struct weft_job_timing *timing = &shared->timings[job];
        computes_ps[job] = compute_ps(&shared->set->snapshot.jobs[job].demand);
        timing->start_ps = play->start_ps;
        timing->weight_ratio = play->weight;
        timing->jitter_ratio = simulation_jitter_ratio(play->jitter_ps, computes_ps[job]);
        sim->iterations = play->iterations > sim->iterations ? play->iterations : sim->iterations;
    }
    sim->iterations = sim->iterations > 0 ? sim->iterations : iterations_default;
    sim->seed = base->seed;
    sim->acknowledged = true; // a job computes on when it knows
    simulation->compute_ps = computes_ps;
    simulation->timings = shared->timings;
    return true;
}

// Shares as they were asked for, before the packet engine makes growth of them.
static void weigh(struct shared *shared, struct weft_arena *arena)
{
    uint32_t count = shared->set->snapshot.job_count;
    double *shares = WEFT_NEW(arena, double, count);
    double sum = 0;
    for (uint32_t job = 0; job < count; job++) {
        shares[job] = shared->timings[job].weight_ratio;
        sum += log(shares[job]) / count;
    }
    shared->mean_weight = exp(sum);
    shared->result->shares = shares;
}

// From the file and the request to options of a run: what the file states, then starts, policy and
// packets of the request, then its job timing, which wins. Shares are kept before weights become
// growth of windows.
static bool prepare(struct shared *shared, struct simulation *simulation)
{
    const struct weft_environment *base = &simulation->environment->base;
    const struct weft_simulate_request *request = simulation->request;
    struct weft_sim_options *sim = &simulation->options;
    if (!check_request(simulation) || !load(shared, simulation)) {
        return false;
    }
    stagger(shared);
    take_realign(shared, simulation);
    if (!take_shifts(shared, simulation) || !take_policy(shared, simulation)) {
        return false;
    }
    if (!weft_request_packets(sim, &simulation->packet, &request->packets,
                              shared->learns ? WEFT_LOAD_LEARNS : 0, base) ||
        !simulation_time_jobs(simulation, shared->set->snapshot.job_count)) {
        return false;
    }
    weigh(shared, base->arena);
    shared->lower.latency_ps =
        request->hardware.latency_given ? request->hardware.latency_ps : latency_default_ps;
    if (sim->packet_bytes > 0 && sim->header_bytes < sim->packet_bytes) {
        shared->lower.payload_ratio =
            (double)(sim->packet_bytes - sim->header_bytes) / sim->packet_bytes;
    }
    return sim->engine == WEFT_ENGINE_PACKET ? take_packets(shared, simulation)
                                             : take_fluid(shared, simulation);
}

static const char *name_policy(const struct shared *shared)
{
    bool uneven = false;
    for (uint32_t job = 1; job < shared->set->snapshot.job_count; job++) {
        uneven = uneven || shared->result->shares[job] != shared->result->shares[0];
    }
    return shared->learns ? "mltcp" : uneven ? "unfair" : "fair";
}

// Plays the jobs together, and each a few iterations alone, which is what slowdowns are relative
// to (weft_snapshot_play).
bool simulation_play_snapshot(struct simulation *simulation)
{
    struct weft_request_environment *environment = simulation->environment;
    const struct weft_environment *base = &environment->base;
    struct weft_simulated_snapshot *result = &simulation->result->shared;
    struct shared shared = {.result = result, .set = &result->set};
    if (!prepare(&shared, simulation)) {
        return false;
    }
    weft_request_step_begin(environment, "simulating", NULL);
    bool played = weft_snapshot_play(&result->play, &result->set.snapshot, &shared.lower,
                                     &simulation->options, base);
    weft_request_step_end(environment);
    if (!played) {
        return weft_wrap(base->error, "%s", simulation->loads[0]);
    }
    const struct weft_sim_result *sim = &result->play.sim;
    for (uint32_t l = 0; sim->ports != NULL && l < result->set.snapshot.link_count; l++) {
        result->mark_count += sim->ports[result->play.links[l]].marks;
    }
    result->timings = shared.timings;
    result->policy = name_policy(&shared);
    simulation->result->kind = WEFT_SIMULATE_SHARED;
    simulation->result->sim = *sim;
    return true;
}
