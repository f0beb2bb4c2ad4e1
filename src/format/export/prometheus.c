// SPDX-License-Identifier: Apache-2.0
// A plan as metrics in Prometheus' text format (version 0.0.4,
// prometheus.io/docs/instrumenting/exposition_formats): what was promised, for alerts that compare
// it with what is measured. Base units, one gauge for each figure. O(bounds + links).

#include "weft/format.h"

static void add_head(struct weft_text *text, const char *name, const char *help)
{
    weft_text_add(text, "# HELP weft_plan_%s %s\n# TYPE weft_plan_%s gauge\n", name, help, name);
}

static void add_gauge(struct weft_text *text, const char *name, const char *help, double value)
{
    add_head(text, name, help);
    weft_text_add(text, "weft_plan_%s %.17g\n", name, value);
}

// A label's value: backslash, quote and line feed are escaped.
static void add_label(struct weft_text *text, const char *key, const char *value, const char *end)
{
    weft_text_add(text, "%s=\"", key);
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '\n') {
            weft_text_add(text, "\\n");
        } else {
            weft_text_add(text, "%s%c", *c == '\\' || *c == '"' ? "\\" : "", *c);
        }
    }
    weft_text_add(text, "\"%s", end);
}

// Nodes as people count them: servers, then switches from 0.
static void add_node(struct weft_text *text, const char *key, const struct weft_fabric *fabric,
                     uint32_t node, const char *end)
{
    bool server = node < fabric->server_count;
    weft_text_add(text, "%s=\"%s%u\"%s", key, server ? "server" : "switch",
                  server ? node : node - fabric->server_count, end);
}

static void add_links(struct weft_text *text, const struct weft_fabric *fabric)
{
    add_head(text, "link_rate_bytes_per_second", "What all cables of a link carry, one way.");
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const struct weft_link *link = &fabric->links[i];
        weft_text_add(text, "weft_plan_link_rate_bytes_per_second{");
        add_node(text, "from", fabric, link->from, ",");
        add_node(text, "to", fabric, link->to, "}");
        weft_text_add(text, " %.17g\n", link->rate_Bps);
    }
}

const char *weft_export_prometheus(const struct weft_plan *plan, struct weft_arena *arena)
{
    const struct weft_certificate *certificate = &plan->certificate;
    struct weft_text text;
    weft_text_init(&text, arena);
    add_head(&text, "info", "What was planned; the value is always 1.");
    weft_text_add(&text, "weft_plan_info{");
    add_label(&text, "cluster", plan->cluster.name != NULL ? plan->cluster.name : "", ",");
    add_label(&text, "method", plan->method == WEFT_TOPOLOGY_TOPOOPT ? "topoopt" : "weft", "} 1\n");
    add_gauge(&text, "iteration_seconds", "One training iteration, simulated.", plan->iteration_s);
    add_head(&text, "bound_seconds", "What no iteration of its scope is shorter than.");
    for (uint32_t b = 0; b < certificate->bound_count; b++) {
        weft_text_add(&text, "weft_plan_bound_seconds{");
        add_label(&text, "bound", certificate->bounds[b].name, ",");
        add_label(&text, "scope", weft_bound_scope_name(certificate->bounds[b].scope), "}");
        weft_text_add(&text, " %.17g\n", certificate->bounds[b].seconds);
    }
    add_gauge(&text, "gap_ratio", "Iteration over its lower bound, less 1.",
              certificate->gap_ratio);
    add_gauge(&text, "servers", "Servers of the cluster.", plan->cluster.server_count);
    add_gauge(&text, "server_ports", "Ports of a server.", plan->cluster.degree);
    add_gauge(&text, "port_rate_bytes_per_second", "What a port carries, each way.",
              plan->cluster.rate_Bps);
    add_gauge(&text, "link_load_max_bytes", "Bytes of an iteration on the fullest link.",
              plan->max_link_load_bytes);
    add_gauge(&text, "link_load_mean_bytes", "Bytes of an iteration on a link, on average.",
              plan->mean_link_load_bytes);
    add_gauge(&text, "bandwidth_tax_ratio",
              "Bytes that leave servers, relayed ones again, over bytes that jobs send.",
              plan->bandwidth_tax_ratio);
    add_gauge(&text, "cost_dollars", "Price of the fabric.", plan->cost.total_usd);
    add_gauge(&text, "power_watts", "Power of the fabric.", plan->cost.power_watts);
    add_links(&text, &plan->network.fabric);
    return text.data;
}
