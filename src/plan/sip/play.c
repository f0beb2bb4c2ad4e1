// SPDX-License-Identifier: Apache-2.0
// An iteration of the fold on light: circuits or wavelengths are chosen for what it carries, and
// the flow engine plays it.

#include "sip.h"

// Each group's ring both ways, half of its bytes each.
static struct weft_ring_set rings_both_ways(const struct weft_taskgraph *graph,
                                            struct weft_arena *arena)
{
    struct weft_ring *rings = WEFT_NEW(arena, struct weft_ring, 2 * (size_t)graph->group_count);
    for (uint32_t g = 0; g < graph->group_count; g++) {
        uint32_t first = graph->group_first[g];
        uint32_t count = graph->group_first[g + 1] - first;
        uint32_t *back = WEFT_NEW_RAW(arena, uint32_t, count);
        for (uint32_t i = 0; i < count; i++) {
            back[i] = graph->group_members[first + count - 1 - i];
        }
        rings[2 * (size_t)g] = (struct weft_ring){.group = g,
                                                  .member_count = count,
                                                  .members = graph->group_members + first,
                                                  .share_ratio = 0.5};
        rings[2 * (size_t)g + 1] = rings[2 * (size_t)g];
        rings[2 * (size_t)g + 1].members = back;
    }
    return (struct weft_ring_set){2 * graph->group_count, rings};
}

bool sip_play(double *iteration_s, const struct sip_fold *fold, const struct weft_network *network,
              bool both_ways, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_sim_job job = {.graph = &fold->graph};
    if (both_ways) {
        job.rings = rings_both_ways(&fold->graph, &kept);
    }
    const struct weft_sim_options options = {.one_round = true, .stop = environment->stop};
    const struct weft_environment inner = {
        .arena = &kept, .scratch = scratch, .error = environment->error};
    struct weft_sim_result result;
    if (!weft_sim_run_jobs(&result, network, &job, 1, &options, &inner)) {
        return false;
    }
    *iteration_s = weft_seconds(result.end_ps);
    return true;
}

// Rates of all pairs by the permutations of the switches.
static double *rates_of(const struct sip_circuits *circuits, const struct weft_sip_options *sip,
                        struct weft_arena *arena)
{
    uint32_t n = circuits->node_count;
    double *rate_Bps = WEFT_NEW(arena, double, (size_t)n *n);
    for (uint32_t plane = 0; plane < circuits->port_count; plane++) {
        double plane_Bps =
            sip_switch_waves(sip->wavelengths, circuits->port_count, plane) * sip->wave_Bps;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t j = circuits->permutations[(size_t)plane * n + i];
            rate_Bps[(size_t)i * n + j] += i == j ? 0 : plane_Bps;
        }
    }
    return rate_Bps;
}

static bool play_still(double *iteration_s, const struct sip_fold *fold, const double *rate_Bps,
                       const uint32_t *relay, const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    struct weft_network network;
    return sip_network_build(&network, rate_Bps, relay, &fold->cluster, &kept, inner.scratch,
                             environment->error) &&
           sip_play(iteration_s, fold, &network, relay == NULL, &inner);
}

static bool play_ring(struct sip_run *run, const struct sip_fold *fold,
                      const struct weft_sip_options *sip,
                      const struct weft_environment *environment)
{
    struct sip_waves *waves = WEFT_NEW(environment->arena, struct sip_waves, 1);
    double iteration_s;
    if (!sip_waves_build(waves, fold, sip, environment) ||
        !play_still(&iteration_s, fold, waves->rate_Bps, NULL, environment)) {
        return false;
    }
    *run = (struct sip_run){
        .iteration_s = iteration_s, .still_s = iteration_s, .shots = WEFT_SIP_SINGLE};
    run->waves = waves;
    run->schedule = (struct weft_circuit_schedule){.node_count = fold->node_count,
                                                   .end_ps = weft_picoseconds(iteration_s)};
    return true;
}

static bool play_single(struct sip_run *run, const struct sip_fold *fold,
                        const struct sip_circuits *circuits, const struct weft_sip_options *sip,
                        const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    double *rate_Bps = rates_of(circuits, sip, &scratch);
    struct weft_environment inner = *environment;
    inner.scratch = scratch;
    double iteration_s;
    if (!play_still(&iteration_s, fold, rate_Bps, circuits->relay, &inner)) {
        return false;
    }
    *run = (struct sip_run){.iteration_s = iteration_s,
                            .still_s = iteration_s,
                            .shots = WEFT_SIP_SINGLE,
                            .circuits = circuits,
                            .schedule = {.node_count = circuits->node_count,
                                         .plane_count = circuits->port_count,
                                         .first = circuits->permutations,
                                         .end_ps = weft_picoseconds(iteration_s)}};
    return true;
}

// Single shot, and those that move: the one that is asked for, or the quickest. A change that takes
// as long as the iteration comes too late for it.
static bool play_switches(struct sip_run *run, const struct sip_fold *fold,
                          const struct weft_sip_options *sip,
                          const struct weft_circuit_delays *delays,
                          const struct weft_environment *environment)
{
    struct sip_circuits *circuits = WEFT_NEW(environment->arena, struct sip_circuits, 1);
    struct weft_arena scratch = environment->scratch;
    const double *bytes = sip_fold_bytes(fold, environment->arena);
    if (!sip_circuits_build(circuits, bytes, fold->node_count, sip->switches, environment->arena,
                            scratch, environment->error) ||
        !play_single(run, fold, circuits, sip, environment)) {
        return false;
    }
    double single_s = run->iteration_s;
    double change_s = weft_seconds(delays->command_ps) + weft_seconds(delays->dark_ps) +
                      weft_seconds(delays->retrain_ps) + weft_seconds(delays->first_ps);
    bool asked = sip->shots != WEFT_SIP_BEST;
    for (int shots = WEFT_SIP_TOGETHER; shots <= WEFT_SIP_STAGGERED; shots++) {
        struct sip_timing *timing = WEFT_NEW(environment->arena, struct sip_timing, 1);
        *timing = (struct sip_timing){(enum weft_sip_shots)shots, *delays, single_s};
        struct sip_run moving;
        if ((asked && (int)sip->shots != shots) || (!asked && change_s >= single_s)) {
            continue;
        }
        if (!sip_shots_play(&moving, fold, circuits, sip, timing, environment)) {
            return false;
        }
        if (asked || moving.iteration_s < run->iteration_s) {
            *run = moving;
        }
    }
    return true;
}

bool sip_play_light(struct sip_run *run, const struct sip_fold *fold,
                    enum weft_moving_fabric fabric, const struct weft_sip_options *sip,
                    const struct weft_circuit_delays *delays,
                    const struct weft_environment *environment)
{
    return fabric == WEFT_MOVING_SIP_RING ? play_ring(run, fold, sip, environment)
                                          : play_switches(run, fold, sip, delays, environment);
}
