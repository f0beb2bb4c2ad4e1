// SPDX-License-Identifier: Apache-2.0
// Whether a plan is what it claims to be: sizes, cost and certificate, and what needs its task
// graph, metrics and the simulated time. Planes, links, rings and routes are fabric.c's,
// collectives collectives.c's, strategy and memory job.c's, and whether both follow from the model
// model.c's.
//
// A checker shares nothing with what it checks. What it recomputes here (metrics, bounds, one
// simulation) are definitions and no choices, and have oracles of their own in the tests.

#include "check.h"

#include "plan/collectives/collectives.h"
#include "plan/demand/metrics.h"

#include <math.h>
#include <string.h>

// Metrics pass through decimal text between writing and checking.
#define SAME_RATIO 1e-6
// A bound and a time that are equal may differ by rounding, of doubles and to whole picoseconds.
#define ABOVE_RATIO 1e-9
#define ABOVE_S 1e-12

static bool differ(double value, double wanted)
{
    return !(fabs(value - wanted) <= SAME_RATIO * fabs(wanted));
}

static void compare(struct findings *findings, const char *name, double stated, double found)
{
    if (differ(stated, found)) {
        findings_add(findings, "%s is stated as %.9g, but is %.9g", name, stated, found);
    }
}

// ---- sizes ----

// Whether cluster, topology and fabric are of one size; nothing else can be looked at otherwise.
static bool check_sizes(struct findings *findings, const struct weft_plan *plan)
{
    const struct weft_cluster *cluster = &plan->cluster;
    const struct weft_topology *topology = &plan->topology;
    const struct weft_fabric *fabric = &plan->network.fabric;
    uint32_t before = findings->count;
    struct weft_error error;
    if (!weft_cluster_check(cluster, &error)) {
        findings_add(findings, "cluster: %s", error.message);
        return false;
    }
    if (topology->server_count != cluster->server_count) {
        findings_add(findings, "the topology has %u servers, the cluster %u",
                     topology->server_count, cluster->server_count);
    }
    if (topology->degree != cluster->degree) {
        findings_add(findings, "the topology has %u planes, the cluster's servers %u ports",
                     topology->degree, cluster->degree);
    }
    if (fabric->server_count != cluster->server_count ||
        fabric->node_count != cluster->server_count) {
        findings_add(findings, "the fabric has %u servers of %u nodes, the cluster %u servers",
                     fabric->server_count, fabric->node_count, cluster->server_count);
    }
    return findings->count == before;
}

static void check_cost(struct findings *findings, const struct weft_plan *plan)
{
    const struct weft_parts *parts = &plan->network.fabric.parts;
    const struct weft_topology *topology = &plan->topology;
    uint64_t ports = 0;
    for (uint32_t p = 0; p < topology->degree; p++) {
        for (uint32_t s = 0; s < topology->server_count; s++) {
            ports += topology->planes[(size_t)p * topology->server_count + s] != s ? 1 : 0;
        }
    }
    if (parts->nics != ports) {
        findings_add(findings, "the parts count %llu server ports, but %llu are lit",
                     (unsigned long long)parts->nics, (unsigned long long)ports);
    }
    if (parts->nics > (uint64_t)plan->cluster.server_count * plan->cluster.degree) {
        findings_add(findings, "the parts count %llu server ports, more than the cluster has",
                     (unsigned long long)parts->nics);
    }
    struct weft_cost cost = weft_fabric_cost(parts, &plan->cluster.prices);
    compare(findings, "the cost in USD", plan->cost.total_usd, cost.total_usd);
    compare(findings, "the power in watts", plan->cost.power_watts, cost.power_watts);
}

// ---- certificate ----

// The certificate against itself and the iteration time: no bound above it, the gap as stated.
static bool check_certificate(struct findings *findings, const struct weft_plan *plan)
{
    const struct weft_certificate *certificate = &plan->certificate;
    uint32_t before = findings->count;
    if (certificate->bound_count == 0 || certificate->binding >= certificate->bound_count) {
        findings_add(findings, "the certificate names bound %u as binding, but has %u bounds",
                     certificate->binding, certificate->bound_count);
        return false;
    }
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        const struct weft_bound *bound = &certificate->bounds[i];
        if (!(bound->seconds >= 0 &&
              bound->seconds <= plan->iteration_s * (1 + ABOVE_RATIO) + ABOVE_S)) {
            findings_add(findings, "the bound %s of %.9g s is above the iteration time of %.9g s",
                         bound->name, bound->seconds, plan->iteration_s);
        }
    }
    const struct weft_bound *binding = &certificate->bounds[certificate->binding];
    compare(findings, "the lower bound in seconds", certificate->lower_bound_s, binding->seconds);
    double gap_ratio =
        certificate->lower_bound_s > 0 ? plan->iteration_s / certificate->lower_bound_s - 1 : 0;
    if (fabs(certificate->gap_ratio - gap_ratio) > SAME_RATIO) {
        findings_add(findings, "the gap is stated as %.9g, but is %.9g", certificate->gap_ratio,
                     gap_ratio);
    }
    return findings->count == before;
}

// The stated bounds against recomputed ones, by name. Bounds for any strategy are not recomputed:
// that takes the model.
static void compare_bounds(struct findings *findings, const struct weft_certificate *stated,
                           const struct weft_certificate *found)
{
    for (uint32_t i = 0; i < found->bound_count; i++) {
        const struct weft_bound *bound = &found->bounds[i];
        uint32_t at = 0;
        while (at < stated->bound_count && strcmp(stated->bounds[at].name, bound->name) != 0) {
            at++;
        }
        if (at == stated->bound_count) {
            findings_add(findings, "the certificate lacks the bound %s", bound->name);
        } else if (differ(stated->bounds[at].seconds, bound->seconds)) {
            findings_add(findings, "the bound %s is stated as %.9g s, but is %.9g s", bound->name,
                         stated->bounds[at].seconds, bound->seconds);
        }
    }
    for (uint32_t i = 0; i < stated->bound_count; i++) {
        uint32_t at = 0;
        while (at < found->bound_count &&
               strcmp(found->bounds[at].name, stated->bounds[i].name) != 0) {
            at++;
        }
        if (at == found->bound_count && stated->bounds[i].scope != WEFT_BOUND_ANY_STRATEGY) {
            findings_add(findings, "the certificate has an unknown bound %s",
                         stated->bounds[i].name);
        }
    }
}

// ---- against the task graph ----

// Metrics and bounds against those recomputed from the graph as it is played.
static void check_metrics(struct findings *findings, const struct weft_plan *plan,
                          const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    struct metrics metrics;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_taskgraph played;
    struct weft_error error;
    if (!weft_plan_played(&played, plan, graph, &kept, scratch, &error)) {
        findings_add(findings, "%s", error.message);
        return;
    }
    metrics_build(&metrics, NULL, &played, &plan->network, scratch);
    compare(findings, "demand-weighted hops", plan->demand_weighted_hops,
            metrics.demand_weighted_hops);
    compare(findings, "the largest link load in bytes", plan->max_link_load_bytes,
            metrics.max_link_load_bytes);
    compare(findings, "the mean link load in bytes", plan->mean_link_load_bytes,
            metrics.mean_link_load_bytes);
    compare(findings, "the bandwidth tax", plan->bandwidth_tax_ratio, metrics.bandwidth_tax_ratio);
    struct weft_certificate certificate;
    if (!collectives_certify(&certificate, plan, graph, findings->arena, scratch, &error)) {
        findings_add(findings, "certificate: %s", error.message);
    } else {
        compare_bounds(findings, &plan->certificate, &certificate);
    }
}

static void check_time(struct findings *findings, const struct weft_plan *plan,
                       const struct weft_taskgraph *graph, struct weft_arena scratch)
{
    struct weft_sim_result result;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_taskgraph played;
    struct weft_sim_job job = {&played, NULL, plan->network.rings};
    struct weft_error error;
    if (!weft_plan_played(&played, plan, graph, &kept, scratch, &error) ||
        !weft_sim_run_jobs(&result, &plan->network, &job, 1, &plan->sim,
                           &(struct weft_environment){
                               .arena = findings->arena, .scratch = scratch, .error = &error})) {
        findings_add(findings, "simulation: %s", error.message);
        return;
    }
    compare(findings, "the iteration time in seconds", plan->iteration_s,
            weft_seconds(result.iteration_ps[0]));
}

uint32_t weft_plan_check(const struct weft_plan *plan, const struct weft_taskgraph *graph,
                         const struct weft_violation **violations, struct weft_arena *arena,
                         struct weft_arena scratch)
{
    struct findings findings = {WEFT_NEW(arena, struct weft_violation, VIOLATIONS_MAX), 0, arena};
    *violations = findings.list;
    for (uint32_t i = 0; i < plan->flaw_count; i++) {
        findings_add(&findings, "%s", plan->flaws[i].text);
    }
    if (!check_sizes(&findings, plan)) {
        return findings.count;
    }
    graph = graph == NULL && plan->job != NULL ? &plan->job->graph : graph;
    if (graph != NULL && graph->server_count > plan->cluster.server_count) {
        findings_add(&findings, "the task graph has %u servers, the plan %u", graph->server_count,
                     plan->cluster.server_count);
        graph = NULL;
    }
    bool sound = plan->flaw_count == 0;
    sound =
        check_planes(&findings, plan, scratch) && check_links(&findings, plan, scratch) && sound;
    sound = check_rings(&findings, plan, graph, scratch) && sound;
    sound = check_routes(&findings, plan, scratch) && sound;
    sound = sound && check_collectives(&findings, plan, graph, scratch);
    check_cost(&findings, plan);
    if (plan->job != NULL) {
        check_job(&findings, plan->job, scratch);
    }
    check_certificate(&findings, plan);
    if (sound && graph != NULL) {
        check_metrics(&findings, plan, graph, scratch);
        check_time(&findings, plan, graph, scratch);
    }
    return findings.count;
}
