// SPDX-License-Identifier: Apache-2.0
// The certificate: every bound with its reason, which one binds, and the gap.
//
// Bounds come in classes by what they assume: any fabric of the same ports, direct fabrics, this
// fabric; any algorithm of the collectives, or balanced ones. The one that binds is the largest of
// those that hold for every direct fabric, which is what the planner chooses from. All proofs are
// in docs/certificate.md, in the order of this file.

#include "bounds.h"

#include <math.h>
#include <string.h>

#define BOUNDS_MAX 16
// Sums of many doubles may come out this much too large; every bound is lowered by it.
#define ROUNDING_RATIO 1e-11
// The LP of more variables takes longer than the plan that it certifies; how many subsets by
// earliest start it is solved for. Not measured one by one.
#define FLOW_VARIABLES_MAX 4096
#define FLOW_THRESHOLDS 4

// A certificate that is being built.
struct draft {
    const struct weft_taskgraph *graph;
    const struct weft_cluster *cluster;
    struct weft_bound *bounds;
    uint32_t count;
    struct weft_arena *arena;
    char ports[64]; // "4 ports of 100 Gbps"
};

static void add(struct draft *draft, const char *name, double seconds, const char *reason)
{
    WEFT_ASSERT(draft->count < BOUNDS_MAX && isfinite(seconds));
    struct weft_bound bound = weft_bound_named(name);
    bound.seconds = seconds * (1 - ROUNDING_RATIO);
    bound.reason = reason;
    draft->bounds[draft->count++] = bound;
}

static struct bound_model model_of(const struct draft *draft, bool balanced)
{
    return (struct bound_model){.graph = draft->graph,
                                .port_Bps = draft->cluster->degree * draft->cluster->rate_Bps,
                                .latency_s = weft_seconds(draft->cluster->latency_ps),
                                .network = true,
                                .balanced = balanced};
}

static void add_compute(struct draft *draft, struct weft_arena scratch)
{
    struct bound_model model = model_of(draft, false);
    model.network = false;
    model.latency_s = 0;
    struct bound_times times = bound_times_build(&model, &scratch);
    add(draft, "compute-critical-path", times.longest_s,
        "the longest chain of compute takes this long even when the network takes no time");
}

static const char *port_reason(const struct draft *draft, const struct bound_port *port,
                               bool receive, const char *allreduce)
{
    char bytes[WEFT_UNIT_TEXT];
    return weft_arena_format(draft->arena,
                             "server %u must %s %s over %s, nothing before what makes it can end "
                             "and all before what needs it must start; %s",
                             port->server, receive ? "receive" : "send",
                             weft_show_bytes(bytes, port->bytes), draft->ports, allreduce);
}

static void add_ports(struct draft *draft, const struct bound_model *model,
                      const struct bound_times *times, struct weft_arena scratch)
{
    const char *allreduce =
        model->balanced ? "each member of an AllReduce moves 2(k-1)/k of its size, of a "
                          "ReduceScatter or AllGather half of that"
                        : "each member of an AllReduce moves at least its size, whatever the "
                          "algorithm";
    for (int receive = 0; receive < 2; receive++) {
        struct bound_port port = bound_ports(model, times, receive != 0, scratch);
        static const char *const names[2][2] = {
            {"server-sends-any-allreduce", "server-receives-any-allreduce"},
            {"server-sends", "server-receives"}};
        add(draft, names[model->balanced][receive], port.seconds,
            port_reason(draft, &port, receive != 0, allreduce));
    }
}

// The bounds that hold whatever the AllReduce algorithm.
static void add_any_allreduce(struct draft *draft, struct weft_arena scratch)
{
    struct bound_model model = model_of(draft, false);
    const struct weft_cluster *cluster = draft->cluster;
    struct bound_times times = bound_times_build(&model, &scratch);
    struct bound_port device = bound_devices(&model, &times, scratch);
    char text[WEFT_UNIT_TEXT];
    const char *reason = weft_arena_format(
        draft->arena,
        "device %u computes for %s, one task at a time, none before its inputs can be there",
        device.server, weft_show_time(text, weft_picoseconds(device.bytes)));
    add(draft, "device-load", device.seconds, reason);
    reason = weft_arena_format(
        draft->arena,
        "all servers together have %u x %s, an AllReduce of S over k members moves at least "
        "2(k-1) S, its halves (k-1) S each, and nothing moves before what makes it can end",
        cluster->server_count, draft->ports);
    double total_s = bound_total_bytes(&model, &times, cluster->server_count, scratch);
    add(draft, "total-bytes", total_s, reason);
    add_ports(draft, &model, &times, scratch);
    reason = weft_arena_format(
        draft->arena,
        "a server reaches at most %u others in one hop, %.0f in two and so on (Moore), so that "
        "the transfers take links more than once; collectives count one hop",
        cluster->degree, (double)cluster->degree * cluster->degree);
    double moore_s = bound_moore(&model, &times, cluster->server_count, cluster->degree, scratch);
    add(draft, "moore-hops", moore_s, reason);
}

static void add_balanced(struct draft *draft, struct weft_arena scratch)
{
    struct bound_model model = model_of(draft, true);
    struct bound_times times = bound_times_build(&model, &scratch);
    const char *reason = weft_arena_format(
        draft->arena,
        "the longest chain when every transfer and collective has its servers' %s to itself; "
        "transfers that meet at one port share it",
        draft->ports);
    add(draft, "ideal-network-critical-path", times.longest_s, reason);
    add_ports(draft, &model, &times, scratch);
}

// ---- this fabric ----

// Best that any server of this fabric can do: rates out or in, and the least latency of a link.
static void widest_port(struct bound_model *model, const struct weft_fabric *fabric,
                        struct weft_arena scratch)
{
    double *rate_Bps = WEFT_NEW(&scratch, double, 2 * (size_t)fabric->node_count);
    uint64_t latency_ps = WEFT_NEVER;
    for (uint32_t e = 0; e < fabric->link_count; e++) {
        const struct weft_link *link = &fabric->links[e];
        rate_Bps[2 * (size_t)link->from] += link->rate_Bps;
        rate_Bps[2 * (size_t)link->to + 1] += link->rate_Bps;
        latency_ps = link->latency_ps < latency_ps ? link->latency_ps : latency_ps;
    }
    double widest_Bps = 0;
    for (uint32_t i = 0; i < 2 * fabric->server_count; i++) {
        widest_Bps = fmax(widest_Bps, rate_Bps[i]);
    }
    model->port_Bps = widest_Bps;
    model->latency_s = fabric->link_count > 0 ? weft_seconds(latency_ps) : 0;
}

static int flow_thresholds(double *thresholds, const struct bound_model *model,
                           const struct bound_times *times)
{
    const struct weft_taskgraph *graph = model->graph;
    double first_s = HUGE_VAL;
    double last_s = 0;
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (bound_wire_bytes(graph, t) > 0) {
            first_s = fmin(first_s, bound_network_head(model, times, t));
            last_s = fmax(last_s, bound_network_head(model, times, t));
        }
    }
    if (!isfinite(first_s)) {
        return 0;
    }
    for (int i = 0; i < FLOW_THRESHOLDS; i++) {
        thresholds[i] = first_s + (last_s - first_s) * i / FLOW_THRESHOLDS;
    }
    return last_s > first_s ? FLOW_THRESHOLDS : 1;
}

// Bounds of the given fabric with its rings: all links at a price of 1, and at the LP's prices
// where it is small enough.
static void add_this_fabric(struct draft *draft, const struct weft_network *network,
                            struct weft_arena scratch)
{
    struct bound_model model = model_of(draft, true);
    widest_port(&model, &network->fabric, scratch);
    struct bound_times times = bound_times_build(&model, &scratch);
    uint32_t link_count = network->fabric.link_count;
    double *prices = WEFT_NEW(&scratch, double, (size_t)link_count + 1);
    for (uint32_t e = 0; e < link_count; e++) {
        prices[e] = 1;
    }
    add(draft, "fabric-hops", bound_priced_links(&model, &times, network, prices, scratch),
        "the transfers over their shortest paths and the rings over theirs must fit all links of "
        "this fabric together");
    if (bound_flow_variables(network) > FLOW_VARIABLES_MAX) {
        return;
    }
    double thresholds[FLOW_THRESHOLDS];
    int count = flow_thresholds(thresholds, &model, &times);
    double best_s = 0;
    double *best = WEFT_NEW(draft->arena, double, (size_t)link_count + 1);
    for (int i = 0; i < count; i++) {
        if (bound_flow_prices(prices, &model, &times, network, thresholds[i], scratch)) {
            double seconds = bound_priced_links(&model, &times, network, prices, scratch);
            if (seconds > best_s) {
                best_s = seconds;
                memcpy(best, prices, link_count * sizeof *best);
            }
        }
    }
    if (best_s > 0) {
        add(draft, "fabric-concurrent-flow", best_s,
            "even when the transfers are split over paths at will beside this plan's rings, the "
            "busiest links of this fabric need this long (LP dual)");
        draft->bounds[draft->count - 1].prices = best;
    }
}

// ---- all of it ----

// Whether graph, cluster, fabric and rings fit each other; fails with INPUT.
static bool check_inputs(const struct weft_taskgraph *graph, const struct weft_cluster *cluster,
                         const struct weft_network *network, struct weft_error *error)
{
    if (!weft_cluster_check_direct(cluster, error)) {
        return false;
    }
    if (graph->server_count > cluster->server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "the task graph uses %u servers, but the cluster has %u; give it at "
                         "least as many",
                         graph->server_count, cluster->server_count);
    }
    if (network != NULL && network->fabric.server_count < graph->server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "the task graph uses %u servers, but the fabric has %u; plan it again "
                         "for this graph",
                         graph->server_count, network->fabric.server_count);
    }
    for (uint32_t r = 0; network != NULL && r < network->rings.ring_count; r++) {
        const struct weft_ring *ring = &network->rings.rings[r];
        if (ring->group >= graph->group_count ||
            ring->member_count !=
                graph->group_first[ring->group + 1] - graph->group_first[ring->group]) {
            return weft_fail(error, WEFT_INPUT,
                             "ring %u is not over a group of this task graph; plan it again for "
                             "this graph",
                             r);
        }
    }
    return true;
}

bool weft_certificate_build(struct weft_certificate *certificate,
                            const struct weft_taskgraph *graph, const struct weft_cluster *cluster,
                            const struct weft_network *network, double iteration_s,
                            const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    if (!check_inputs(graph, cluster, network, error)) {
        return false;
    }
    struct draft draft = {.graph = graph,
                          .cluster = cluster,
                          .bounds = WEFT_NEW(arena, struct weft_bound, BOUNDS_MAX),
                          .arena = arena};
    char rate[WEFT_UNIT_TEXT];
    snprintf(draft.ports, sizeof draft.ports, "%u ports of %s", cluster->degree,
             weft_show_rate(rate, cluster->rate_Bps));
    add_compute(&draft, scratch);
    add_any_allreduce(&draft, scratch);
    add_balanced(&draft, scratch);
    if (network != NULL) {
        add_this_fabric(&draft, network, scratch);
    }
    weft_certificate_conclude(certificate, draft.bounds, draft.count, iteration_s);
    return true;
}
