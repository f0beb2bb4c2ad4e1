// SPDX-License-Identifier: Apache-2.0
// What a task graph asks of the network over one iteration: the demand and the flows of a job's
// class. The iteration is played alone on an ideal switch, once for its length and once sampled;
// the samples of the busiest server's port are joined into phases by weft_demand_join, and the
// traffic matrix says which part of the bytes each pair has (docs/scheduler.md, "Traces"). Two runs
// of the flow engine and O(SAMPLES^2).

#include "weft/scheduler.h"
#include "weft/workload.h"

#include <math.h>

// Samples of an iteration that phases are made of. Not measured: more follow the graph closer and
// cost their square when they are joined.
#define SAMPLES 400u

// Bytes that leave servers in each sample, of the server that sends most over the iteration.
static void sum_samples(double *bytes, const struct weft_sim_result *result,
                        const struct weft_fabric *fabric, uint64_t sample_ps)
{
    uint32_t busiest = 0;
    double most = -1;
    for (uint32_t v = 0; v < fabric->server_count; v++) {
        double sent = result->link_bytes[fabric->first[v]];
        if (sent > most) {
            most = sent;
            busiest = fabric->first[v];
        }
    }
    for (uint32_t i = 0; i < result->records.sample_count; i++) {
        const struct weft_link_sample *sample = &result->records.samples[i];
        uint64_t at = sample->time_ps / sample_ps;
        if (sample->link == busiest && at > 0 && at <= SAMPLES) {
            bytes[at - 1] += (double)sample->bytes;
        }
    }
}

// What an iteration sends over time: bytes of its busiest link, sample by sample.
struct sending {
    const double *samples; // SAMPLES
    uint64_t iteration_ps;
    double sent_bytes; // in all
    double rate_Bps;   // of a port
};

// The class's demand: the samples joined into at most phase_max pieces, each at its mean rate;
// pieces of less than a thousandth of the port's rate are pauses.
static void take_phases(struct weft_job_class *class, const struct sending *sending,
                        uint32_t phase_max, struct weft_arena *arena, struct weft_arena scratch)
{
    const double *samples = sending->samples;
    uint64_t iteration_ps = sending->iteration_ps;
    double rate_Bps = sending->rate_Bps;
    double *bytes = WEFT_NEW(&scratch, double, SAMPLES);
    uint32_t *ends = WEFT_NEW(&scratch, uint32_t, SAMPLES);
    double total = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        bytes[i] = samples[i];
        total += samples[i];
    }
    uint32_t count = weft_demand_join(bytes, ends, SAMPLES, phase_max);
    struct weft_demand_phase *phases = WEFT_NEW(arena, struct weft_demand_phase, count);
    double sample_s = weft_seconds(iteration_ps) / SAMPLES;
    class->demand = (struct weft_demand){.iteration_ps = iteration_ps, .phases = phases};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = i > 0 ? ends[i - 1] : 0;
        // Samples are rates at moments; the sum is what was sent.
        double piece = total > 0 ? bytes[i] * sending->sent_bytes / total : 0;
        double rate = piece / (sample_s * (ends[i] - start));
        if (rate > 1e-3 * rate_Bps) {
            uint64_t start_ps = iteration_ps * start / SAMPLES;
            uint64_t end_ps = iteration_ps * ends[i] / SAMPLES;
            phases[class->demand.phase_count++] =
                (struct weft_demand_phase){start_ps, end_ps - start_ps, fmin(rate, rate_Bps)};
        }
    }
}

static void take_flows(struct weft_job_class *class, const struct weft_taskgraph *graph,
                       double sent_bytes, struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_arena results = weft_arena_split(&scratch);
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, graph, &results, scratch);
    const double *matrix = weft_traffic_matrix(&traffic, &results);
    uint32_t n = graph->server_count;
    struct weft_job_flow *flows = WEFT_NEW(arena, struct weft_job_flow, (size_t)n * n);
    class->pattern = WEFT_JOB_FLOWS;
    class->flows = flows;
    class->flow_count = 0;
    for (uint32_t from = 0; from < n; from++) {
        for (uint32_t to = 0; to < n; to++) {
            double bytes = matrix[(size_t)from * n + to];
            if (from != to && bytes > 0 && sent_bytes > 0) {
                flows[class->flow_count++] = (struct weft_job_flow){from, to, bytes / sent_bytes};
            }
        }
    }
}

bool weft_job_class_measure(struct weft_job_class *class, const struct weft_taskgraph *graph,
                            double rate_Bps, const struct weft_sim_options *sim, uint32_t phase_max,
                            const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    struct weft_cluster cluster;
    struct weft_network network;
    struct weft_arena results = weft_arena_split(&scratch);
    if (!weft_cluster_build(&cluster, graph->server_count, 1, rate_Bps, error) ||
        !weft_fabric_build_ideal(&network, &cluster, NULL, &results, error)) {
        return false;
    }
    struct weft_sim_job job = {.graph = graph};
    struct weft_sim_options options = *sim;
    struct weft_sim_result result;
    if (!weft_sim_run_jobs(
            &result, &network, &job, 1, &options,
            &(struct weft_environment){.arena = &results, .scratch = scratch, .error = error})) {
        return false;
    }
    uint64_t iteration_ps = result.iteration_ps[0];
    if (iteration_ps < SAMPLES) {
        return weft_fail(error, WEFT_INPUT, "an iteration of %g s; it must take time",
                         weft_seconds(iteration_ps));
    }
    options.records = (struct weft_record_options){
        .sample_limit = 64 * SAMPLES * graph->server_count,
        .sample_ps = (iteration_ps + SAMPLES - 1) / SAMPLES,
    };
    if (!weft_sim_run_jobs(
            &result, &network, &job, 1, &options,
            &(struct weft_environment){.arena = &results, .scratch = scratch, .error = error})) {
        return false;
    }
    double *samples = WEFT_NEW(&results, double, SAMPLES);
    sum_samples(samples, &result, &network.fabric, options.records.sample_ps);
    double sent_bytes = 0;
    for (uint32_t v = 0; v < graph->server_count; v++) {
        sent_bytes = fmax(sent_bytes, result.link_bytes[network.fabric.first[v]]);
    }
    class->server_count = graph->server_count;
    class->servers_min = graph->server_count;
    class->servers_max = graph->server_count;
    class->graph = graph;
    const struct sending sending = {samples, iteration_ps, sent_bytes, rate_Bps};
    take_phases(class, &sending, phase_max, arena, scratch);
    take_flows(class, graph, sent_bytes, arena, scratch);
    return true;
}
