// SPDX-License-Identifier: Apache-2.0
// An iteration with circuits beside packets, by the estimate of the hybrid space (docs/hybrid.md):
// its passes, pipeline and gradients, with what the replay of a region's all-to-alls took on
// average in the place of a balanced exchange, and what else leaves a server over packet ports.
//
// Gradients have a choice. Over packets alone, as published, they have packet_ports of the NICs. Or
// the circuits that stand, idle once the last pass has ended, take their part: the servers of a
// region reduce and scatter shared gradients among each other, an even all-to-all, each reduces its
// share with the other regions over packets, and all is gathered back; chunk by chunk, so that both
// go on at the same time with a part of the packet ports each. No circuit changes for it. It is
// counted that such gradients do not run under the backward pass, whose all-to-alls need the
// circuits. Or the circuits are changed into rings of the region first, and back: the scattering is
// then as quick as circuits can be, and two changes are waited for. Gradients of experts have no
// other copy in the region: they go over packets.
//
// Where a group of experts is inside one server no all-to-all needs the circuits. Those of up to
// eight servers with the same layers are rings all the time then, for all gradients, also under the
// backward pass.

#include "plan/mixnet/mixnet.h"

#include <math.h>

// Parts that packet ports are divided in.
#define PACKET_PARTS 8u
// Servers of a region where experts do not say it: as published (24 circuits for 8 servers).
#define REGION_SERVERS 8u

struct fabric {
    const struct weft_hybrid *hybrid;
    const struct weft_study *study;
    struct weft_hybrid_rates rates;
};

const char *weft_mixnet_gradients_name(enum weft_mixnet_gradients gradients)
{
    static const char *const names[] = {"packets", "circuits", "rings", "standing rings"};
    WEFT_ASSERT(gradients <= WEFT_GRADIENTS_STANDING);
    return names[gradients];
}

static bool estimate(double *seconds, const struct fabric *fabric, struct weft_arena scratch,
                     struct weft_error *error)
{
    struct weft_hybrid_estimate estimate;
    if (!weft_hybrid_estimate_at(&estimate, fabric->hybrid, fabric->study, &fabric->rates, scratch,
                                 error)) {
        return false;
    }
    *seconds = weft_seconds(estimate.iteration_ps);
    return true;
}

static struct weft_hybrid_rates rates_of(const struct weft_cluster *cluster, double ports)
{
    double rate_Bps = ports * cluster->rate_Bps;
    return (struct weft_hybrid_rates){rate_Bps,
                                      rate_Bps,
                                      rate_Bps,
                                      rate_Bps,
                                      rate_Bps,
                                      rate_Bps,
                                      2 * weft_seconds(cluster->latency_ps)};
}

// Means over the all-to-alls that a micro-batch passes: with recomputation the forward ones twice.
static double mean_exchange(const struct weft_hybrid_exchange *exchange,
                            const double seconds[WEFT_MIXNET_EXCHANGES])
{
    double forward = 1.0 + exchange->again;
    return (forward * (seconds[0] + seconds[1]) + seconds[2] + seconds[3]) / (2 * forward + 2);
}

// Bytes a second of a server for balanced bytes that take so long; where nothing leaves it does not
// matter.
static double exchange_rate(const struct weft_hybrid_exchange *exchange, double seconds,
                            double otherwise_Bps)
{
    return seconds > 0 ? exchange->balanced_bytes / seconds : otherwise_Bps;
}

// Bytes a second at which shared gradients are reduced over the circuits that stand and packets:
// the best of a few ways to divide the packet ports among both stages.
static double gradient_rate(const struct weft_mixnet_replay *replay, double packet_ports,
                            double rate_Bps, struct weft_arena scratch)
{
    uint32_t n = replay->node_count;
    double *even = WEFT_NEW(&scratch, double, (size_t)n *n);
    for (size_t at = 0; at < (size_t)n * n; at++) {
        even[at] = 1.0 / n;
    }
    double best = 0;
    for (uint32_t part = 1; part < PACKET_PARTS; part++) {
        double inside = packet_ports * part / PACKET_PARTS;
        const struct weft_split_options options = {.packet_ports = inside};
        struct weft_relay_plan plan;
        weft_circuit_relay(&plan, replay->wirings[0].circuits, even, n, &options, NULL, scratch);
        double between = 1 / (n * (packet_ports - inside));
        best = fmax(best, rate_Bps / fmax(plan.time, between));
    }
    return best;
}

// The same over rings of the region.
static double ring_rate(uint32_t servers, double circuit_ports, double packet_ports,
                        double rate_Bps)
{
    double n = servers;
    return rate_Bps * fmin(circuit_ports * n / (n - 1), packet_ports * n);
}

// Servers of a region whose circuits no all-to-all needs: as many as hold copies of the same
// layers, of which regions are of one size. 1: none does.
static uint32_t standing_region(const struct fabric *fabric)
{
    const struct weft_hybrid *hybrid = fabric->hybrid;
    const struct weft_cluster *cluster = fabric->study->cluster;
    if (hybrid->dp * hybrid->cp == hybrid->ep || cluster->server_count % hybrid->pp != 0) {
        return 1;
    }
    uint32_t copies = cluster->server_count / hybrid->pp;
    uint32_t region = copies < REGION_SERVERS ? copies : REGION_SERVERS;
    while (copies % region != 0) {
        region--;
    }
    return region;
}

// Rings of two ports of every server each, as many as there are ports for.
static void stand_rings(struct weft_mixnet_replay *replay, uint32_t region, uint32_t circuit_ports,
                        struct weft_arena *arena)
{
    uint32_t *circuits = WEFT_NEW(arena, uint32_t, (size_t)region * region);
    for (uint32_t i = 0; i < region; i++) {
        uint32_t next = (i + 1) % region;
        circuits[(size_t)i * region + next] += region == 2 ? circuit_ports : circuit_ports / 2;
        circuits[(size_t)next * region + i] += region == 2 ? 0 : circuit_ports / 2;
    }
    struct weft_mixnet_wiring *wiring = WEFT_NEW(arena, struct weft_mixnet_wiring, 1);
    *wiring = (struct weft_mixnet_wiring){.circuits = circuits};
    replay->node_count = region;
    replay->wirings = wiring;
    replay->wiring_count = 1;
}

// Standing rings where they are quicker than packets alone, whose time is in *seconds.
static bool choose_standing(struct weft_mixnet_iteration *iteration, double *seconds,
                            const struct fabric *fabric, const struct weft_environment *environment)
{
    const struct weft_cluster *cluster = fabric->study->cluster;
    uint32_t packets = (uint32_t)(fabric->rates.ring_Bps / cluster->rate_Bps + 0.5);
    uint32_t circuits = cluster->degree - packets;
    uint32_t region = standing_region(fabric);
    uint32_t used = region == 2 ? circuits : circuits / 2 * 2;
    if (region < 2 || used == 0) {
        return true;
    }
    struct fabric other = *fabric;
    other.rates.ring_Bps = ring_rate(region, used, packets, cluster->rate_Bps);
    other.rates.experts_Bps = other.rates.ring_Bps;
    double other_s = 0;
    if (!estimate(&other_s, &other, environment->scratch, environment->error)) {
        return false;
    }
    if (other_s < *seconds) {
        *seconds = other_s;
        iteration->gradients = WEFT_GRADIENTS_STANDING;
        iteration->region = region;
        stand_rings(&iteration->replay, region, circuits, environment->arena);
    }
    return true;
}

// The best of the choices for gradients, in *seconds; change_s is what rings wait for.
static bool choose_gradients(struct weft_mixnet_iteration *iteration, double *seconds,
                             const struct fabric *fabric, double change_s,
                             const struct weft_environment *environment)
{
    const struct weft_hybrid *hybrid = fabric->hybrid;
    const struct weft_cluster *cluster = fabric->study->cluster;
    uint32_t servers = iteration->exchange.servers;
    if (!estimate(seconds, fabric, environment->scratch, environment->error)) {
        return false;
    }
    iteration->gradients = WEFT_GRADIENTS_PACKETS;
    if (servers == 1) {
        return choose_standing(iteration, seconds, fabric, environment);
    }
    if (iteration->replay.node_count != servers || hybrid->dp * hybrid->cp == hybrid->ep ||
        hybrid->zero_stage > 1) {
        return true; // one region has all replicas, or gradients leave with every pass
    }
    double packets = fabric->rates.ring_Bps / cluster->rate_Bps;
    double circuits = cluster->degree - packets;
    struct weft_hybrid after = *hybrid;
    after.overlap_gradients = false;
    struct fabric other = {&after, fabric->study, fabric->rates};
    for (uint32_t g = WEFT_GRADIENTS_CIRCUITS; g <= WEFT_GRADIENTS_RINGS; g++) {
        bool rings = g == WEFT_GRADIENTS_RINGS;
        other.rates.ring_Bps = rings ? ring_rate(servers, circuits, packets, cluster->rate_Bps)
                                     : gradient_rate(&iteration->replay, packets, cluster->rate_Bps,
                                                     environment->scratch);
        double other_s = 0;
        if (!estimate(&other_s, &other, environment->scratch, environment->error)) {
            return false;
        }
        other_s += rings ? 2 * change_s : 0;
        if (other_s < *seconds) {
            *seconds = other_s;
            iteration->gradients = (enum weft_mixnet_gradients)g;
        }
    }
    return true;
}

// Ports that are dark, and commands, of all regions.
static void count_changes(struct weft_mixnet_iteration *iteration, const struct fabric *fabric,
                          uint32_t circuit_ports, const struct weft_circuit_delays *delays)
{
    const struct weft_hybrid_exchange *exchange = &iteration->exchange;
    uint32_t servers = fabric->study->cluster->server_count;
    double regions = (double)servers / iteration->region;
    double passes = (double)exchange->micro_batches * exchange->stages / fabric->hybrid->pp;
    double commands = iteration->replay.changes * passes;
    double dark_s = weft_seconds(delays->dark_ps + delays->retrain_ps);
    double ports = (double)iteration->region * circuit_ports;
    double moved = commands * iteration->replay.moved;
    if (iteration->gradients == WEFT_GRADIENTS_RINGS) {
        commands += 2;
        moved += 2 * ports;
    }
    iteration->changes = commands * regions;
    iteration->dark_share = moved * dark_s / (ports * iteration->iteration_s);
}

bool weft_mixnet_iterate(struct weft_mixnet_iteration *iteration, const struct weft_hybrid *hybrid,
                         const struct weft_study *study, const struct weft_mixnet_options *options,
                         const struct weft_circuit_delays *delays,
                         const struct weft_environment *environment)
{
    const struct weft_cluster *cluster = study->cluster;
    uint32_t circuit_ports = options->circuit_ports > 0 ? options->circuit_ports : 6;
    if (circuit_ports >= cluster->degree) {
        return weft_fail(environment->error, WEFT_INPUT,
                         "%u of %u ports of a server on circuits leave none for packets; give "
                         "servers more ports or circuits fewer",
                         circuit_ports, cluster->degree);
    }
    struct weft_mixnet_iteration result = {0};
    struct fabric fabric = {hybrid, study, rates_of(cluster, cluster->degree)};
    struct weft_error *error = environment->error;
    if (!weft_hybrid_exchange_of(&result.exchange, hybrid, study, error) ||
        (result.exchange.servers > 1 && !weft_mixnet_replay(&result.replay, &result.exchange, study,
                                                            options, delays, environment))) {
        return false;
    }
    const struct weft_hybrid_exchange *exchange = &result.exchange;
    result.region = exchange->servers;
    const struct weft_mixnet_replay *replay = &result.replay;
    double line_Bps = fabric.rates.exchange_Bps;
    fabric.rates.exchange_Bps = exchange_rate(exchange, replay->ideal_s, line_Bps);
    if (!estimate(&result.fat_s, &fabric, environment->scratch, error)) {
        return false;
    }
    fabric.rates = rates_of(cluster, (double)INFINITY);
    fabric.rates.latency_s = 0;
    if (!estimate(&result.passes_s, &fabric, environment->scratch, error)) {
        return false;
    }
    fabric.rates = rates_of(cluster, cluster->degree - (double)circuit_ports);
    double mean_s = mean_exchange(exchange, replay->exchange_s);
    double wait_s = mean_exchange(exchange, replay->wait_s);
    double change_s = weft_seconds(delays->command_ps + delays->dark_ps + delays->retrain_ps);
    fabric.rates.exchange_Bps = exchange_rate(exchange, mean_s - wait_s, line_Bps);
    bool fine = options->published
                    ? estimate(&result.still_s, &fabric, environment->scratch, error)
                    : choose_gradients(&result, &result.still_s, &fabric, 0, environment);
    fabric.rates.exchange_Bps = exchange_rate(exchange, mean_s, line_Bps);
    fine = fine &&
           (options->published
                ? estimate(&result.iteration_s, &fabric, environment->scratch, error)
                : choose_gradients(&result, &result.iteration_s, &fabric, change_s, environment));
    if (!fine) {
        return false;
    }
    count_changes(&result, &fabric, circuit_ports, delays);
    *iteration = result;
    return true;
}

bool weft_mixnet_iterate_on(double *seconds, const struct weft_hybrid *hybrid,
                            const struct weft_study *study,
                            const struct weft_mixnet_iteration *iteration,
                            struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_hybrid_exchange *exchange = &iteration->exchange;
    struct fabric fabric = {.hybrid = hybrid, .study = study};
    if (!weft_hybrid_measure_rates(&fabric.rates, hybrid, study, scratch, error)) {
        return false;
    }
    double line_Bps = study->cluster->degree * study->cluster->rate_Bps;
    double balanced_s = exchange->balanced_bytes / line_Bps;
    if (iteration->replay.ideal_s > 0) {
        fabric.rates.exchange_Bps *= balanced_s / iteration->replay.ideal_s;
    }
    return estimate(seconds, &fabric, scratch, error);
}
