// SPDX-License-Identifier: Apache-2.0
// Plans out, schema weft.plan/2 (docs/plan-format.md): one object, a line for each ring, link
// and path, so that two plans differ by lines.
//
// Reals are written with the fewest digits that read back as the same number, so a plan
// survives the round trip bit by bit. O(size of the plan).

#include "format/syntax/json.h"
#include "job.h"
#include "read.h"
#include "weft/format.h"

// The prices that a bound follows from, one a link of the fabric.
static void add_prices(struct weft_text *text, const struct weft_bound *bound, uint32_t link_count)
{
    if (bound->prices == NULL) {
        return;
    }
    weft_text_add(text, ", \"prices\": [");
    for (uint32_t e = 0; e < link_count; e++) {
        weft_text_add(text, "%s", e == 0 ? "" : ",");
        weft_json_add_real(text, bound->prices[e]);
    }
    weft_text_add(text, "]");
}

static void add_certificate(struct weft_text *text, const struct weft_certificate *certificate,
                            uint32_t link_count)
{
    weft_text_add(text, "  \"certificate\": {\n    ");
    weft_json_field_real(text, "lower_bound_s", certificate->lower_bound_s, ",\n    ");
    weft_json_field_real(text, "gap_ratio", certificate->gap_ratio, ",\n    ");
    weft_text_add(text, "\"bounds\": [");
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        const struct weft_bound *bound = &certificate->bounds[i];
        weft_text_add(text, "%s\n      {", i == 0 ? "" : ",");
        weft_json_field_text(text, "name", bound->name, ", ");
        weft_json_field_real(text, "seconds", bound->seconds, ", ");
        weft_json_field_text(text, "scope", weft_bound_scope_name(bound->scope), ", ");
        weft_text_add(text, "\"collectives\": \"%s\", \"strategy\": \"%s\", \"binding\": %s, ",
                      bound->any_collectives ? "any" : "balanced",
                      bound->any_strategy ? "any" : "this",
                      i == certificate->binding ? "true" : "false");
        weft_json_field_real(text, "gap_ratio", bound->gap_ratio, ", ");
        weft_text_add(text, "\"headline\": %s, ", bound->headline ? "true" : "false");
        weft_json_field_text(text, "reason", bound->reason, "");
        add_prices(text, bound, link_count);
        weft_text_add(text, "}");
    }
    weft_text_add(text, "\n    ]\n  },\n");
}

// Nodes of the links from `from`: [from, ..., to].
static void add_walk(struct weft_text *text, const struct weft_fabric *fabric, uint32_t from,
                     const uint32_t *links, uint32_t link_count)
{
    weft_text_add(text, "%u", from);
    for (uint32_t i = 0; i < link_count; i++) {
        weft_text_add(text, ",%u", fabric->links[links[i]].to);
    }
}

static void add_rings(struct weft_text *text, const char *key, const struct weft_ring_set *set,
                      const struct weft_fabric *fabric, const char *indent)
{
    weft_text_add(text, "%s\"%s\": [", indent, key);
    for (uint32_t r = 0; r < set->ring_count; r++) {
        const struct weft_ring *ring = &set->rings[r];
        weft_text_add(text, "%s\n%s  {\"group\": %u, ", r == 0 ? "" : ",", indent, ring->group);
        weft_json_field_real(text, "share", ring->share_ratio, ", \"members\": ");
        weft_json_add_indices(text, ring->members, ring->member_count);
        if (ring->hop_first != NULL) {
            weft_text_add(text, ", \"hops\": [");
            for (uint32_t i = 0; i < ring->member_count; i++) {
                weft_text_add(text, "%s[", i == 0 ? "" : ",");
                add_walk(text, fabric, ring->members[i], ring->hop_links + ring->hop_first[i],
                         ring->hop_first[i + 1] - ring->hop_first[i]);
                weft_text_add(text, "]");
            }
            weft_text_add(text, "]");
        }
        weft_text_add(text, "}");
    }
    weft_text_add(text, "%s%s],\n", set->ring_count == 0 ? "" : "\n",
                  set->ring_count == 0 ? "" : indent);
}

// Only where something runs otherwise than on rings.
static void add_collectives(struct weft_text *text, const struct weft_plan *plan)
{
    if (plan->collective_count == 0) {
        return;
    }
    weft_text_add(text, "  \"collectives\": [");
    for (uint32_t c = 0; c < plan->collective_count; c++) {
        const struct weft_collective_choice *choice = &plan->collectives[c];
        weft_text_add(text, "%s\n    {\"group\": %u, ", c == 0 ? "" : ",", choice->group);
        weft_json_field_u64(text, "size_min_bytes", choice->size_min_bytes, ", ");
        weft_json_field_u64(text, "size_max_bytes", choice->size_max_bytes, ", ");
        weft_text_add(text, "\"algorithm\": \"%s\", \"chunk_factor\": %u, \"ring_order\": %s, ",
                      weft_algorithm_name(choice->algorithm), choice->chunk_factor,
                      choice->ring_order ? "true" : "false");
        weft_json_field_real(text, "seconds", choice->seconds, "}");
    }
    weft_text_add(text, "\n  ],\n");
}

// Only where tasks that were ready at one instant ran in another order than that of their numbers.
static void add_ties(struct weft_text *text, const struct weft_plan *plan)
{
    if (plan->ties.count == 0) {
        return;
    }
    weft_text_add(text, "  \"ties\": [");
    for (uint32_t i = 0; i < plan->ties.count; i++) {
        weft_text_add(text, "%s\n    ", i == 0 ? "" : ",");
        weft_json_add_indices(text, plan->ties.tasks + plan->ties.first[i],
                              plan->ties.first[i + 1] - plan->ties.first[i]);
    }
    weft_text_add(text, "\n  ],\n");
}

static void add_topology(struct weft_text *text, const struct weft_plan *plan)
{
    const struct weft_topology *topology = &plan->topology;
    weft_text_add(text, "  \"topology\": {\n    \"simplex\": %s,\n    \"allreduce_degree\": %u,\n",
                  topology->simplex ? "true" : "false", topology->allreduce_degree);
    weft_text_add(text, "    \"generators\": ");
    weft_json_add_indices(text, topology->generators, topology->generator_count);
    weft_text_add(text, ",\n    ");
    weft_json_field_real(text, "mean_hops", topology->mean_hops, ",\n    ");
    weft_text_add(text, "\"diameter\": %u,\n    ", topology->diameter);
    weft_json_field_u64(text, "steps", topology->steps, ",\n");
    add_rings(text, "rings", &topology->rings, &plan->network.fabric, "    ");
    weft_text_add(text, "    \"stopped\": %s\n  },\n", topology->stopped ? "true" : "false");
}

static void add_planes(struct weft_text *text, const struct weft_topology *topology)
{
    uint32_t n = topology->server_count;
    weft_text_add(text, "  \"planes\": [");
    for (uint32_t p = 0; p < topology->degree; p++) {
        weft_text_add(text, "%s\n    ", p == 0 ? "" : ",");
        weft_json_add_indices(text, topology->planes + (size_t)p * n, n);
    }
    weft_text_add(text, "\n  ],\n  \"circuits\": [");
    for (uint32_t p = 0; p < topology->degree; p++) {
        const uint32_t *plane = topology->planes + (size_t)p * n;
        weft_text_add(text, "%s\n    [", p == 0 ? "" : ",");
        bool first = true;
        for (uint32_t i = 0; i < n; i++) {
            if (plane[i] != i) {
                weft_text_add(text, "%s[%u,%u]", first ? "" : ",", i, plane[i]);
                first = false;
            }
        }
        weft_text_add(text, "]");
    }
    weft_text_add(text, "\n  ],\n");
}

static void add_fabric(struct weft_text *text, const struct weft_fabric *fabric)
{
    const struct weft_parts *parts = &fabric->parts;
    weft_text_add(text, "  \"fabric\": {\n    ");
    weft_json_field_text(text, "name", fabric->name, ",\n    ");
    weft_text_add(
        text,
        "\"nodes\": %u,\n    \"forwards\": %s,\n    \"parts\": {\"nics\": %llu, "
        "\"transceivers\": %llu, \"switch_ports\": %llu, \"patch_panel_ports\": %llu, "
        "\"ocs_ports\": %llu, \"mechanical_switches\": %llu, ",
        fabric->node_count, fabric->forwards ? "true" : "false", (unsigned long long)parts->nics,
        (unsigned long long)parts->transceivers, (unsigned long long)parts->switch_ports,
        (unsigned long long)parts->patch_panel_ports, (unsigned long long)parts->ocs_ports,
        (unsigned long long)parts->mechanical_switches);
    weft_json_field_real(text, "rate_Bps", parts->rate_Bps, "}\n  },\n  \"links\": [");
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const struct weft_link *link = &fabric->links[i];
        weft_text_add(text, "%s\n    {\"from\": %u, \"to\": %u, \"width\": %u, ", i == 0 ? "" : ",",
                      link->from, link->to, link->width);
        weft_json_field_real(text, "rate_Bps", link->rate_Bps, ", ");
        weft_json_field_real(text, "latency_s", weft_seconds(link->latency_ps), "}");
    }
    weft_text_add(text, "\n  ],\n");
}

// Paths as [weight, first node, ..., last node]; `links` has room for the longest.
static void add_routes(struct weft_text *text, const struct weft_routes *routes, uint32_t n,
                       uint32_t *links)
{
    weft_text_add(text, "  \"routes\": {\n    \"spread\": \"%s\",\n    \"paths\": [",
                  routes->spread == WEFT_SPREAD_SPLIT ? "split" : "pick");
    bool first = true;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            uint32_t count = weft_routes_path_count(routes, s, t);
            for (uint32_t i = 0; i < count; i++) {
                double weight = 0;
                uint32_t hops = weft_routes_path(routes, s, t, i, links, &weight);
                weft_text_add(text, "%s\n      [", first ? "" : ",");
                weft_json_add_real(text, weight);
                weft_text_add(text, ",");
                add_walk(text, routes->fabric, s, links, hops);
                weft_text_add(text, "]");
                first = false;
            }
        }
    }
    weft_text_add(text, "\n    ]\n  }");
}

// Who evaluated the plan, where that was not the flow engine alone.
static void add_finals(struct weft_text *text, const struct weft_plan *plan)
{
    if (plan->sim.engine == WEFT_ENGINE_PACKET) {
        weft_text_add(text, ", \"engine\": \"packet\", \"candidates\": %u, ", plan->finals.count);
        weft_json_field_real(text, "flow_s", plan->finals.flow_s, "");
    }
}

// Of a search that was left before its end: the effort that finds this plan again. What came to its
// end says nothing.
static void add_search(struct weft_text *text, const struct weft_plan_cut *cut)
{
    if (cut->published > 0) {
        weft_text_add(text, "\"search\": {\"effort\": \"");
        weft_json_add_real(text, cut->effort_s);
        weft_text_add(text, ":%llu\", \"finished\": false},\n  ",
                      (unsigned long long)cut->published);
    }
}

// The file without its digest and its end.
static struct weft_text write_body(const struct weft_plan *plan, struct weft_arena *arena)
{
    const struct weft_routes *routes = &plan->network.routes;
    uint32_t *links = WEFT_NEW(arena, uint32_t, (size_t)routes->hop_max + 1);
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\n  \"schema\": \"weft.plan/2\",\n  \"method\": \"%s\",\n  ",
                  plan->method == WEFT_TOPOLOGY_TOPOOPT ? "topoopt" : "weft");
    weft_json_field_u64(&text, "seed", plan->seed, ",\n  \"simulation\": {");
    weft_text_add(&text,
                  "\"packet_bytes\": %u, \"header_bytes\": %u, \"acknowledged\": %s, "
                  "\"small_in_one_round\": %s, ",
                  plan->sim.packet_bytes, plan->sim.header_bytes,
                  plan->sim.acknowledged ? "true" : "false",
                  plan->sim.small_in_one_round ? "true" : "false");
    weft_json_field_u64(&text, "seed", plan->sim.seed, "");
    add_finals(&text, plan);
    weft_text_add(&text, "},\n  ");
    add_search(&text, &plan->cut);
    weft_json_field_real(&text, "iteration_s", plan->iteration_s, ",\n  ");
    weft_json_field_real(&text, "demand_weighted_hops", plan->demand_weighted_hops, ",\n  ");
    weft_json_field_real(&text, "max_link_load_bytes", plan->max_link_load_bytes, ",\n  ");
    weft_json_field_real(&text, "mean_link_load_bytes", plan->mean_link_load_bytes, ",\n  ");
    weft_json_field_real(&text, "bandwidth_tax_ratio", plan->bandwidth_tax_ratio,
                         ",\n  \"cost\": {");
    weft_json_field_real(&text, "total_usd", plan->cost.total_usd, ", ");
    weft_json_field_real(&text, "power_watts", plan->cost.power_watts, "},\n");
    if (plan->job != NULL) {
        weft_plan_add_strategy(&text, plan->job);
    }
    add_certificate(&text, &plan->certificate, plan->network.fabric.link_count);
    weft_plan_add_cluster(&text, &plan->cluster);
    add_topology(&text, plan);
    add_planes(&text, &plan->topology);
    add_fabric(&text, &plan->network.fabric);
    add_rings(&text, "rings", &plan->network.rings, &plan->network.fabric, "  ");
    add_collectives(&text, plan);
    add_ties(&text, plan);
    add_routes(&text, routes, plan->cluster.server_count, links);
    if (plan->job != NULL) {
        weft_plan_add_job(&text, plan->job);
    }
    return text;
}

// FNV-1a (Fowler, Noll and Vo), 64 bits: enough to see a change, and no proof against somebody who
// writes a new one, against whom the checker computes the claims.
static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++) {
        hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
    }
    return hash;
}

uint64_t weft_plan_digest(const struct weft_plan *plan, struct weft_arena scratch)
{
    return hash_text(write_body(plan, &scratch).data);
}

const char *weft_plan_write(const struct weft_plan *plan, struct weft_arena *arena)
{
    struct weft_text text = write_body(plan, arena);
    uint64_t digest = hash_text(text.data);
    weft_text_add(&text, ",\n  \"digest\": \"%016llx\"\n}\n", (unsigned long long)digest);
    return text.data;
}
