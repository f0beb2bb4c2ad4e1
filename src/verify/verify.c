// SPDX-License-Identifier: Apache-2.0
// The order of the checks, and what is left out without a job or a model.
//
// What needs the file alone comes first; metrics, bounds and the iteration follow where the network
// is sound, since nothing could be followed over links that are not there. What nobody can look at
// with what was given is said by its name. O of the parts.

#include "checks.h"

static const char no_job[] = "it depends on the job's traffic; name the file of its task graph";

// Whether cluster, topology and fabric are of one size; nothing else can be looked at otherwise.
static bool check_sizes(struct findings *findings, const struct weft_plan *plan)
{
    const struct weft_cluster *cluster = &plan->cluster;
    const struct weft_topology *topology = &plan->topology;
    const struct weft_fabric *fabric = &plan->network.fabric;
    uint32_t before = findings->count;
    if (cluster->server_count < 2 || cluster->degree == 0 || !(cluster->rate_Bps > 0) ||
        cluster->prices.row_count == 0) {
        findings_add(findings, "cluster: %u servers of %u ports of %.9g B/s make no network",
                     cluster->server_count, cluster->degree, cluster->rate_Bps);
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
    if (!fabric->forwards) {
        findings_add(findings, "fabric.forwards is false, but servers are all that could relay");
    }
    return findings->count == before;
}

// What the traffic says; the network is sound.
static void check_traffic(struct findings *findings, const struct weft_verify_input *input,
                          uint64_t *flow_count, struct weft_arena scratch)
{
    const struct weft_plan *plan = input->plan;
    const struct weft_taskgraph *played = input->played != NULL ? input->played : input->graph;
    bool balanced = true;
    if (input->why_not_played != NULL) {
        findings_add(findings, "%s", input->why_not_played);
        return;
    }
    if (!check_collectives(findings, plan, input, &balanced, scratch) ||
        !check_routed(findings, plan, played, scratch)) {
        return;
    }
    check_loads(findings, plan, played, scratch);
    check_bounds(findings, plan, input->graph, balanced, scratch);
    *flow_count = check_time(findings, plan, input->graph, played, scratch);
}

// The claims that stand or fall with the job's traffic.
static void leave_traffic(struct findings *findings, const struct weft_plan *plan)
{
    static const char *const claims[] = {
        "iteration_s",
        "demand_weighted_hops",
        "max_link_load_bytes",
        "mean_link_load_bytes",
        "bandwidth_tax_ratio",
        "certificate.bounds",
        "rings",
    };
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        findings_leave(findings, claims[i], no_job, true);
    }
    if (plan->collective_count > 0) {
        findings_leave(findings, "collectives", no_job, true);
    }
}

// Whether anybody can follow the task graph on this cluster.
static const struct weft_taskgraph *check_graph_size(struct findings *findings,
                                                     const struct weft_verify_input *input)
{
    const struct weft_taskgraph *graph = input->graph;
    if (graph != NULL && graph->server_count > input->plan->cluster.server_count) {
        findings_add(findings, "the task graph has %u servers, the plan %u", graph->server_count,
                     input->plan->cluster.server_count);
        return NULL;
    }
    return graph;
}

void weft_verify_plan(struct weft_verify_report *report, const struct weft_verify_input *input,
                      struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_plan *plan = input->plan;
    struct findings findings;
    uint64_t flow_count = 0;
    findings_init(&findings, arena);
    for (uint32_t i = 0; i < plan->flaws.count; i++) {
        findings_add(&findings, "%s", plan->flaws.items[i].text);
    }
    if (check_sizes(&findings, plan)) {
        const struct weft_taskgraph *graph = check_graph_size(&findings, input);
        bool sound = plan->flaws.count == 0 && (graph != NULL) == (input->graph != NULL);
        bool lit = check_planes(&findings, plan, scratch) && check_links(&findings, plan, scratch);
        sound = lit && sound;
        bool rings = check_rings(&findings, plan, graph, scratch);
        sound = rings && sound;
        sound = check_routes(&findings, plan, scratch) && sound;
        if (lit && rings) {
            check_topology(&findings, plan, scratch);
        }
        check_cost(&findings, plan);
        check_certificate(&findings, plan);
        if (plan->job != NULL) {
            check_job(&findings, plan, scratch);
        }
        if (plan->job != NULL && input->model != NULL) {
            check_model(&findings, plan, input->model, scratch);
        }
        if (sound && graph != NULL) {
            check_traffic(&findings, input, &flow_count, scratch);
        } else if (input->graph == NULL) {
            leave_traffic(&findings, plan);
        }
    }
    if (input->digest != 0 && input->digest != plan->digest) {
        findings_add(&findings,
                     "the file was changed after it was written: its digest is %016llx, its "
                     "contents make %016llx",
                     (unsigned long long)plan->digest, (unsigned long long)input->digest);
    }
    *report = (struct weft_verify_report){
        .violation_count = findings.count,
        .violations = findings.list,
        .unverified_count = findings.open_count,
        .unverified = findings.open,
        .flow_count = flow_count,
    };
}
