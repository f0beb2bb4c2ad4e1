// SPDX-License-Identifier: Apache-2.0
// A plan of rails played in an engine over circuits that change: whole iterations, one after the
// other, of which the last counts. What was asked of the switches and when bytes crossed circuits
// then goes through the checker of schedules, which shares nothing with either.

#include "plan/rails/play.h"

#include <math.h>
#include <stdlib.h>

// A packet of data in the packet engine, and its header.
#define PACKET_BYTES 4160u
#define HEADER_BYTES 64u
// A message of few packets takes what its packets take, not what its bytes do.
#define DIVISOR_MAX 4096.0

struct run {
    const struct weft_rail_play_options *options;
    struct rail_lowered lowered;
    struct weft_network network;
    double rate_Bps; // of a circuit
    struct rail_follow_setup setup;
    uint32_t iterations;
    struct rail_follower *follower;
    struct weft_sim_result result;
};

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// A link for every circuit that the plan ever has.
static bool build_network(struct run *run, struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error)
{
    const struct weft_rail_result *plan = run->lowered.plan;
    uint64_t n = plan->schedule.node_count;
    size_t most = 0;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        most += plan->steps[s].circuit_count;
    }
    uint64_t *keys = WEFT_NEW(&scratch, uint64_t, most + 1);
    for (size_t c = 0; c < most; c++) {
        keys[c] = plan->circuits[c].from * n + plan->circuits[c].to;
    }
    qsort(keys, most, sizeof *keys, by_value);
    struct weft_link *links = WEFT_NEW(&scratch, struct weft_link, most + 1);
    uint32_t count = 0;
    for (size_t c = 0; c < most; c++) {
        if (c == 0 || keys[c] != keys[c - 1]) {
            links[count++] = (struct weft_link){
                .from = (uint32_t)(keys[c] / n),
                .to = (uint32_t)(keys[c] % n),
                .rate_Bps = run->rate_Bps,
                .latency_ps = run->options->rails->latency_ps,
                .width = 1,
            };
        }
    }
    const struct weft_fabric_links input = {"rail", (uint32_t)n, (uint32_t)n, links, count};
    return weft_fabric_build(&run->network.fabric, &input, arena, error) &&
           weft_routes_build_shortest(&run->network.routes, &run->network.fabric, arena, scratch,
                                      error);
}

// ---- the check ----

static int by_start(const void *a, const void *b)
{
    const struct weft_circuit_burst *x = a;
    const struct weft_circuit_burst *y = b;
    return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

static bool carries(const struct weft_rail_circuit *circuit, const struct weft_taskgraph *graph,
                    uint32_t message)
{
    return !circuit->beside && circuit->from == graph->from[message] &&
           circuit->to == graph->to[message];
}

// A message as a burst on each of its circuits: it ends when its last byte has come, and begins
// when its first has to have left at their rate.
static uint32_t add_bursts(struct weft_circuit_burst *bursts, const struct run *run,
                           const struct weft_rail_step *step, uint32_t message)
{
    const struct weft_taskgraph *graph = &run->lowered.graph;
    const struct weft_rail_circuit *circuits = run->lowered.plan->circuits + step->circuit_first;
    uint32_t width = 0;
    for (uint32_t c = 0; c < step->circuit_count; c++) {
        width += carries(&circuits[c], graph, message);
    }
    WEFT_ASSERT(width > 0);
    double bytes = (double)graph->size_bytes[message] / width;
    uint64_t end_ps = run->result.task_end_ps[0][message] - run->options->rails->latency_ps;
    uint64_t begin_ps = end_ps - weft_picoseconds(bytes / run->rate_Bps);
    uint32_t count = 0;
    for (uint32_t c = 0; c < step->circuit_count; c++) {
        if (carries(&circuits[c], graph, message)) {
            // A picosecond or two are lost in rounding times.
            bursts[count++] = (struct weft_circuit_burst){circuits[c].plane,
                                                          graph->from[message],
                                                          graph->to[message],
                                                          begin_ps + 2,
                                                          end_ps,
                                                          bytes};
        }
    }
    return count;
}

// The last iteration's messages, which lie behind the barriers of their operations.
static uint32_t list_bursts(struct weft_circuit_burst *bursts, double *demand_bytes,
                            const struct run *run)
{
    const struct weft_taskgraph *graph = &run->lowered.graph;
    const struct weft_rail_result *plan = run->lowered.plan;
    uint32_t count = 0;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        for (uint32_t t = run->lowered.done[s] + 1;
             t < graph->task_count && graph->kind[t] == WEFT_TASK_TRANSFER; t++) {
            demand_bytes[(size_t)graph->from[t] * graph->server_count + graph->to[t]] +=
                (double)graph->size_bytes[t];
            count += add_bursts(bursts + count, run, &plan->steps[s], t);
        }
    }
    qsort(bursts, count, sizeof *bursts, by_start);
    return count;
}

static bool check(const struct run *run, struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_rail_result *plan = run->lowered.plan;
    size_t n = plan->schedule.node_count;
    size_t most = (size_t)run->lowered.message_count * plan->schedule.plane_count;
    struct weft_circuit_schedule schedule = rail_followed(run->follower);
    struct weft_circuit_burst *bursts = WEFT_NEW(&scratch, struct weft_circuit_burst, most + 1);
    double *demand_bytes = WEFT_NEW(&scratch, double, n *n);
    schedule.end_ps = run->result.end_ps;
    const struct weft_circuit_traffic traffic = {
        .rate_Bps = run->rate_Bps,
        .bursts = bursts,
        .burst_count = list_bursts(bursts, demand_bytes, run),
        .demand_bytes = demand_bytes,
    };
    return weft_circuit_check_schedule(&schedule, &traffic, scratch, error) ||
           weft_wrap(error, "what was played");
}

// ---- the run ----

static bool simulate(struct run *run, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena own = weft_arena_split(&scratch);
    struct weft_circuit_controller controller;
    if (!rail_follow(&run->follower, &controller, &run->setup, environment->arena,
                     environment->error)) {
        return false;
    }
    bool packets = run->options->engine == WEFT_ENGINE_PACKET;
    const struct weft_sim_options sim = {
        .packet_bytes = packets ? PACKET_BYTES : 0,
        .header_bytes = packets ? HEADER_BYTES : 0,
        .engine = run->options->engine,
        .transport = packets ? WEFT_TRANSPORT_DCTCP : WEFT_TRANSPORT_IDEAL,
        .dctcp = WEFT_DCTCP_DEFAULTS,
        .iterations = run->iterations,
        .timeline = true,
        .circuits = &controller,
        .progress = run->options->progress,
        .stop = environment->stop,
    };
    const struct weft_sim_job job = {.graph = &run->lowered.graph};
    const struct weft_environment inner = {
        .arena = &own, .scratch = scratch, .threads = 1, .error = environment->error};
    return weft_sim_run_jobs(&run->result, &run->network, &job, 1, &sim, &inner) &&
           check(run, scratch, environment->error);
}

// Bytes of an iteration, and by how much they are divided so that packets are no more than wanted.
static bool choose_divisor(double *divisor, const struct rail_lowered *whole,
                           const struct weft_rail_play_options *options, uint32_t iterations,
                           struct weft_error *error)
{
    double packets = whole->bytes * iterations / (PACKET_BYTES - HEADER_BYTES);
    *divisor = options->packets_max > 0 ? fmax(1, ceil(packets / options->packets_max)) : 1;
    return *divisor <= DIVISOR_MAX ||
           weft_fail(error, WEFT_UNSUPPORTED,
                     "an iteration has %.2g packets, more than %g times what is played; take the "
                     "flow engine",
                     packets / iterations, DIVISOR_MAX);
}

bool weft_rail_play(struct weft_rail_play *play, const struct weft_rail_result *plan,
                    const struct weft_taskgraph *graph,
                    const struct weft_rail_play_options *options,
                    const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_arena found = weft_arena_split(&inner.scratch);
    inner.arena = &found;
    struct run run = {
        .options = options,
        .lowered = {.plan = plan, .source = graph, .divisor = 1},
        .iterations = options->engine == WEFT_ENGINE_PACKET ? 2 : 3,
    };
    WEFT_ASSERT(options->rails->places == 1);
    if (!rail_lower(&run.lowered, &found, inner.scratch, inner.error)) {
        return false;
    }
    if (options->engine == WEFT_ENGINE_PACKET) {
        double divisor = 1;
        if (!choose_divisor(&divisor, &run.lowered, options, run.iterations, inner.error)) {
            return false;
        }
        if (divisor > 1) {
            run.lowered = (struct rail_lowered){.plan = plan, .source = graph, .divisor = divisor};
            if (!rail_lower(&run.lowered, &found, inner.scratch, inner.error)) {
                return false;
            }
        }
    }
    run.rate_Bps = options->rails->rate_Bps / options->rails->ports / run.lowered.divisor;
    run.setup =
        (struct rail_follow_setup){&run.lowered, options->rails, &run.network.fabric, run.rate_Bps};
    if (!build_network(&run, &found, inner.scratch, inner.error) || !simulate(&run, &inner)) {
        return weft_wrap(inner.error, "in the %s engine",
                         options->engine == WEFT_ENGINE_PACKET ? "packet" : "flow");
    }
    const uint64_t *ends_ps = run.result.iteration_end_ps[0];
    *play = (struct weft_rail_play){
        .iteration_ps = ends_ps[run.iterations - 1] - ends_ps[run.iterations - 2],
        .message_count = run.lowered.message_count,
        .packet_count = run.result.packets.packets / run.iterations,
        .divisor = run.lowered.divisor,
        .change_count = rail_followed(run.follower).change_count,
    };
    return true;
}
