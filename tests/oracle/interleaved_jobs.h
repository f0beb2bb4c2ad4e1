// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TEST_INTERLEAVED_JOBS_H
#define WEFT_TEST_INTERLEAVED_JOBS_H

// Jobs that compute, then send to one receiver over one slow link, again and again: what was
// measured of them on a real kernel (docs/transports.md), played in packets.

#include "weft/fabric.h"
#include "weft/sim.h"

#define CASE_JOBS_MAX 12u
#define CASE_MS_PS 1000000000ull

enum interleaved_speed {
    SLOW, // 200 Mbit/s, packets of 1500 bytes
    FAST, // 1 Gbit/s, 9000 bytes
    RDMA, // 25 Gbit/s, 9000 bytes: what DCQCN is for
};

// A round trip of `trip_ps` where nothing waits, messages of size_bytes.
struct interleaved_wire {
    double rate_Bps;
    uint32_t packet_bytes; // with Ethernet's header, as a shaper counts
    double size_bytes;
    uint64_t trip_ps;
    uint32_t buffer_packets; // where marks are the signal
};
static const struct interleaved_wire interleaved_wires[] = {
    [SLOW] = {25e6, 1514, 2.3e6, 200000000, 40},
    [FAST] = {125e6, 9014, 11.5e6, 200000000, 40},
    [RDMA] = {3.125e9, 9014, 60e6, 20000000, 1000},
};
#define CASE_LOSS_PACKETS 15u // of buffer, where losses are

struct interleaved_case {
    const char *name;
    uint32_t job_count;
    uint32_t flows; // of each job, side by side
    uint32_t compute_ms;
    uint32_t jitter_ms;
    enum interleaved_speed speed;
    uint32_t mark_packets; // 0: losses only
    uint32_t restart_packets;
    double reno, cubic, mltcp; // mean iterations measured over the ideal ones; 0: not measured
};

static const struct interleaved_case interleaved_cases[] = {
    {"2 x (100, 96)", 2, 1, 100, 0, SLOW, 0, 0, 1.020, 1.010, 1.012},
    {"3 x (200, 96)", 3, 1, 200, 0, SLOW, 0, 0, 1.166, 1.016, 1.001},
    {"6 x (500, 96)", 6, 1, 500, 0, SLOW, 0, 0, 1.235, 1.216, 1.025},
    {"6 x (500, 96), restarted", 6, 1, 500, 0, SLOW, 0, 10, 0, 0, 1.000},
    {"3 x (200, 96), 2 ms jitter", 3, 1, 200, 2, SLOW, 0, 0, 1.202, 0, 1.041},
    {"6 x (500, 96), 5 ms jitter", 6, 1, 500, 5, SLOW, 0, 0, 1.230, 0, 1.036},
    {"3 x (200, 96), ECN", 3, 1, 200, 0, SLOW, 15, 0, 1.204, 1.159, 1.001},
    {"6 x (500, 96), ECN", 6, 1, 500, 0, SLOW, 15, 0, 1.373, 1.175, 1.000},
    {"6 x (500, 96), ECN, 5 ms jitter", 6, 1, 500, 5, SLOW, 15, 0, 1.459, 0, 1.011},
    {"3 x (200, 96) at 1 Gbit/s", 3, 1, 200, 0, FAST, 0, 0, 1.006, 1.102, 1.004},
    {"6 x (500, 96) at 1 Gbit/s", 6, 1, 500, 0, FAST, 0, 0, 1.256, 0, 1.083},
    {"3 x (200, 96), four flows, ECN", 3, 4, 200, 0, SLOW, 15, 0, 1.467, 0, 1.542},
    {"12 x (1054, 96), ECN", 12, 1, 1054, 0, SLOW, 15, 0, 1.734, 0, 1.376},
    {"3 x (200, 96), four flows, ECN, restarted", 3, 4, 200, 0, SLOW, 15, 10, 1.003, 0, 1.000},
    {"3 x (200, 96) at 1 Gbit/s, four flows, ECN, restarted", 3, 4, 200, 0, FAST, 15, 10, 1.002, 0,
     1.000},
    {"6 x (500, 96), ECN, restarted", 6, 1, 500, 0, SLOW, 15, 10, 1.227, 0, 1.003},
};
#define INTERLEAVED_CASE_COUNT (sizeof interleaved_cases / sizeof interleaved_cases[0])

struct interleaved_run {
    enum weft_sim_transport transport; // IDEAL: in the flow engine,
    struct weft_fluid_options fluid;   // with these shares
    uint32_t iterations;
    uint64_t seed; // of the jobs' starts, within 10 ms, and their jitter
    bool per_job;  // MLTCP's progress
};

struct interleaved_result {
    double slowdown;    // mean iteration of the second half over the ideal one
    uint32_t converged; // iterations until the mean stays within 5 %; `iterations` if it never does
    struct weft_packet_counts packets;
};

// One job: compute, then its flows side by side.
static bool build_job(struct weft_taskgraph *graph, const struct interleaved_case *a,
                      uint32_t servers, uint32_t own, double size_bytes, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error)
{
    static const uint32_t next[] = {1, 2, 3, 4};
    struct weft_task tasks[5] = {{.kind = WEFT_TASK_FORWARD,
                                  .device = 0,
                                  .runtime_ps = a->compute_ms * CASE_MS_PS,
                                  .next = next,
                                  .next_count = a->flows}};
    for (uint32_t i = 1; i <= a->flows; i++) {
        tasks[i] = (struct weft_task){.kind = WEFT_TASK_TRANSFER,
                                      .size_bytes = (uint64_t)(size_bytes / a->flows),
                                      .from = own,
                                      .to = servers - 1};
    }
    return weft_taskgraph_build(graph,
                                &(struct weft_taskgraph_draft){.server_count = servers,
                                                               .device_count = 1,
                                                               .device_server = &own,
                                                               .task_count = a->flows + 1,
                                                               .tasks = tasks},
                                arena, scratch, error);
}

static bool build_bell(struct weft_network *network, uint32_t jobs,
                       const struct interleaved_wire *wire, double speed_ratio,
                       struct weft_arena *arena, struct weft_error *error)
{
    struct weft_link links[2 * CASE_JOBS_MAX + 2];
    double host_Bps = speed_ratio * wire->rate_Bps;
    uint32_t count = 0;
    for (uint32_t i = 0; i <= jobs; i++) {
        double rate = i == jobs ? wire->rate_Bps : host_Bps;
        links[count++] = (struct weft_link){i, jobs + 1, host_Bps, wire->trip_ps / 4, 1};
        links[count++] = (struct weft_link){jobs + 1, i, rate, wire->trip_ps / 4, 1};
    }
    return weft_fabric_build(&network->fabric,
                             &(struct weft_fabric_links){"bell", jobs + 1, jobs + 2, links, count},
                             arena, error) &&
           weft_routes_build_star(&network->routes, &network->fabric, error);
}

static void judge(struct interleaved_result *out, const struct weft_sim_result *result,
                  const struct interleaved_case *a, const struct interleaved_run *run,
                  const struct weft_job_timing *timings, double ideal_s)
{
    double late_s = 0;
    out->converged = 0;
    for (uint32_t i = 0; i < run->iterations; i++) {
        double mean_s = 0;
        for (uint32_t job = 0; job < a->job_count; job++) {
            const uint64_t *ends = result->iteration_end_ps[job];
            uint64_t before = i == 0 ? timings[job].start_ps : ends[i - 1];
            mean_s += weft_seconds(ends[i] - before) / a->job_count;
        }
        if (mean_s > 1.05 * ideal_s) {
            out->converged = i + 1;
        }
        late_s += i >= run->iterations / 2 ? mean_s : 0;
    }
    out->slowdown = late_s / (run->iterations - run->iterations / 2) / ideal_s;
    out->packets = result->packets;
}

static bool play_interleaved(struct interleaved_result *out, const struct interleaved_case *a,
                             const struct interleaved_run *run, struct weft_arena arena,
                             struct weft_arena scratch, struct weft_error *error)
{
    const struct interleaved_wire *wire = &interleaved_wires[a->speed];
    uint32_t packet_bytes = wire->packet_bytes;
    // Rates begin at the host's: with a faster one all is lost first.
    bool is_fluid = run->transport == WEFT_TRANSPORT_IDEAL;
    bool has_rate =
        run->transport == WEFT_TRANSPORT_DCQCN || run->transport == WEFT_TRANSPORT_MLTCP_DCQCN;
    struct weft_network network;
    struct weft_taskgraph graphs[CASE_JOBS_MAX];
    struct weft_sim_job jobs[CASE_JOBS_MAX];
    struct weft_job_timing timings[CASE_JOBS_MAX];
    struct weft_packet_options packet = WEFT_PACKET_DEFAULTS;
    packet.buffer_bytes =
        packet_bytes * (a->mark_packets > 0 ? wire->buffer_packets : CASE_LOSS_PACKETS);
    packet.mark_bytes = (uint64_t)(a->mark_packets > 0 ? a->mark_packets : 1 << 20) * packet_bytes;
    packet.loss.timeout_min_ps = 10 * CASE_MS_PS; // stands in for Linux' tail loss probes
    packet.connection_count = a->flows;
    // MLTCP scales the additive step: a small one drowns in fast recovery.
    packet.dcqcn.step_Bps = 50e6;
    packet.dcqcn.bytes = 100000000;
    packet.dcqcn.gain = 1.0 / 16;
    packet.mltcp.restart_packets = a->restart_packets;
    packet.mltcp.per_job = run->per_job;
    struct weft_sim_options options = {.packet_bytes = packet_bytes,
                                       .header_bytes = 66,
                                       .seed = run->seed,
                                       .acknowledged = true,
                                       .engine = is_fluid ? WEFT_ENGINE_FLOW : WEFT_ENGINE_PACKET,
                                       .transport = run->transport,
                                       .fluid = run->fluid,
                                       .dctcp = WEFT_DCTCP_DEFAULTS,
                                       .packet = &packet,
                                       .iterations = run->iterations,
                                       .timings = timings,
                                       .persistent = true};
    struct weft_sim_result result;
    if (!build_bell(&network, a->job_count, wire, has_rate ? 1 : 100, &arena, error)) {
        return false;
    }
    for (uint32_t job = 0; job < a->job_count; job++) {
        if (!build_job(&graphs[job], a, a->job_count + 1, job, wire->size_bytes, &arena, scratch,
                       error)) {
            return false;
        }
        jobs[job] = (struct weft_sim_job){.graph = &graphs[job]};
        timings[job] = (struct weft_job_timing){
            .start_ps = weft_hash(run->seed * 64 + job) % (10 * CASE_MS_PS),
            .jitter_ratio = (double)a->jitter_ms / a->compute_ms};
    }
    if (!weft_sim_run_jobs(
            &result, &network, jobs, a->job_count, &options,
            &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = error})) {
        return false;
    }
    double wire_bytes = wire->size_bytes * packet_bytes / (packet_bytes - 66);
    judge(out, &result, a, run, timings, a->compute_ms * 1e-3 + wire_bytes / wire->rate_Bps);
    return true;
}

#endif
