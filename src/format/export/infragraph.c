// SPDX-License-Identifier: Apache-2.0
// A fabric as an InfraGraph (github.com/Keysight/infragraph, src/infragraph/infragraph.proto of
// 2.5): one device for servers and one for the switches of each number of ports, an instance of
// each, and an edge for all cables side by side between two nodes. src/format/topology/infragraph.c
// reads it back. O(links log degree).

#include "weft/format.h"

#include <string.h>

struct writing {
    const struct weft_fabric *fabric;
    struct weft_text text;
    uint32_t *ports;  // of each node: those that have a cable
    uint32_t *device; // of each switch: the device's number, in the order of first switches
    uint32_t *place;  // of each node: its index among the instances of its device
    uint32_t device_count;
    uint32_t *device_ports;
    uint32_t *device_nodes;
    uint32_t *kind_of;       // of each link: its kind of cable
    struct weft_link *kinds; // one link of each kind
    uint32_t kind_count;
};

// Each cable of an InfraGraph works both ways.
static bool count_ports(struct writing *writing, struct weft_error *error)
{
    const struct weft_fabric *fabric = writing->fabric;
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const struct weft_link *link = &fabric->links[i];
        uint32_t back = weft_fabric_find_link(fabric, link->to, link->from);
        const struct weft_link *other = back == WEFT_NONE ? NULL : &fabric->links[back];
        if (other == NULL || other->width != link->width ||
            other->rate_Bps < link->rate_Bps * (1 - 1e-9) ||
            other->rate_Bps > link->rate_Bps * (1 + 1e-9)) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "the link from node %u to %u has none like it back; cables of an "
                             "InfraGraph work both ways: plan without one-way planes",
                             link->from, link->to);
        }
        writing->ports[link->from] += link->width;
    }
    return true;
}

// Switches with as many ports are one device.
static void number_devices(struct writing *writing)
{
    const struct weft_fabric *fabric = writing->fabric;
    for (uint32_t v = fabric->server_count; v < fabric->node_count; v++) {
        uint32_t d = 0;
        while (d < writing->device_count && writing->device_ports[d] != writing->ports[v]) {
            d++;
        }
        if (d == writing->device_count) {
            writing->device_ports[writing->device_count++] = writing->ports[v];
        }
        writing->device[v] = d;
        writing->place[v] = writing->device_nodes[d]++;
    }
}

// Cables of one rate and one latency are of a kind.
static void number_kinds(struct writing *writing)
{
    const struct weft_fabric *fabric = writing->fabric;
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const struct weft_link *link = &fabric->links[i];
        double rate_Bps = link->rate_Bps / link->width;
        uint32_t k = 0;
        while (k < writing->kind_count && (writing->kinds[k].rate_Bps != rate_Bps ||
                                           writing->kinds[k].latency_ps != link->latency_ps)) {
            k++;
        }
        if (k == writing->kind_count) {
            writing->kinds[k].rate_Bps = rate_Bps;
            writing->kinds[writing->kind_count++].latency_ps = link->latency_ps;
        }
        writing->kind_of[i] = k;
    }
}

static void add_component(struct weft_text *text, const char *name, uint32_t count,
                          const char *choice)
{
    weft_text_add(text, "  - name: %s\n    count: %u\n    choice: %s\n    %s: {}\n", name, count,
                  choice, choice);
}

// A device of one component that every other one is joined to inside.
static void add_device(struct weft_text *text, const char *inner, uint32_t inner_count,
                       const char *outer, uint32_t outer_count)
{
    bool server = strcmp(inner, "xpu") == 0;
    weft_text_add(text, "  components:\n");
    add_component(text, inner, inner_count, server ? "xpu" : "switch");
    add_component(text, outer, outer_count, server ? "nic" : "port");
    weft_text_add(text,
                  "  links:\n  - name: inside\n  edges:\n"
                  "  - ep1: {component: \"%s[0:%u]\"}\n    ep2: {component: \"%s[0:%u]\"}\n"
                  "    scheme: many2many\n    link: inside\n",
                  inner, inner_count, outer, outer_count);
}

static void add_devices(struct writing *writing, uint32_t accelerators)
{
    struct weft_text *text = &writing->text;
    uint32_t most = 1;
    for (uint32_t s = 0; s < writing->fabric->server_count; s++) {
        most = writing->ports[s] > most ? writing->ports[s] : most;
    }
    weft_text_add(text, "devices:\n- name: server\n");
    add_device(text, "xpu", accelerators > 0 ? accelerators : 1, "nic", most);
    for (uint32_t d = 0; d < writing->device_count; d++) {
        weft_text_add(text, "- name: switch%u\n", writing->device_ports[d]);
        add_device(text, "asic", 1, "port", writing->device_ports[d]);
    }
    weft_text_add(text, "links:\n");
    for (uint32_t k = 0; k < writing->kind_count; k++) {
        const struct weft_link *kind = &writing->kinds[k];
        // Readers take numbers of up to 1e9.
        bool is_long = kind->latency_ps >= WEFT_PS_PER_S;
        const char *unit = is_long ? "ms" : "ns";
        weft_text_add(text,
                      "- name: cable%u\n  physical:\n    bandwidth:\n"
                      "      choice: gigabits_per_second\n      gigabits_per_second: %.9g\n"
                      "    latency:\n      choice: %s\n      %s: %.9g\n",
                      k, kind->rate_Bps * 8e-9, unit, unit,
                      (double)kind->latency_ps / (is_long ? 1e9 : 1e3));
    }
    weft_text_add(text, "instances:\n- name: server\n  device: server\n  count: %u\n",
                  writing->fabric->server_count);
    for (uint32_t d = 0; d < writing->device_count; d++) {
        weft_text_add(text, "- name: switch%u\n  device: switch%u\n  count: %u\n",
                      writing->device_ports[d], writing->device_ports[d], writing->device_nodes[d]);
    }
}

// One end of the cables of a link: so many of its node's ports that are free.
static void add_end(struct writing *writing, const char *key, uint32_t node, uint32_t width)
{
    bool server = node < writing->fabric->server_count;
    uint32_t first = writing->ports[node];
    weft_text_add(&writing->text, "  %s: {instance: \"", key);
    if (server) {
        weft_text_add(&writing->text, "server[%u]", node);
    } else {
        weft_text_add(&writing->text, "switch%u[%u]", writing->device_ports[writing->device[node]],
                      writing->place[node]);
    }
    weft_text_add(&writing->text, "\", component: \"%s[%u:%u]\"}\n", server ? "nic" : "port", first,
                  first + width);
    writing->ports[node] += width;
}

static void add_edges(struct writing *writing)
{
    const struct weft_fabric *fabric = writing->fabric;
    memset(writing->ports, 0, fabric->node_count * sizeof *writing->ports);
    weft_text_add(&writing->text, "edges:\n");
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        const struct weft_link *link = &fabric->links[i];
        if (link->from > link->to) {
            continue;
        }
        weft_text_add(&writing->text, "- scheme: one2one\n  link: cable%u\n", writing->kind_of[i]);
        add_end(writing, "ep1", link->from, link->width);
        add_end(writing, "ep2", link->to, link->width);
    }
}

bool weft_export_infragraph(const char **text, const struct weft_fabric *fabric,
                            uint32_t accelerators, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    uint32_t nodes = fabric->node_count;
    struct writing writing = {
        .fabric = fabric,
        .ports = WEFT_NEW(&scratch, uint32_t, nodes),
        .device = WEFT_NEW(&scratch, uint32_t, nodes),
        .place = WEFT_NEW(&scratch, uint32_t, nodes),
        .device_ports = WEFT_NEW(&scratch, uint32_t, nodes),
        .device_nodes = WEFT_NEW(&scratch, uint32_t, nodes),
        .kind_of = WEFT_NEW(&scratch, uint32_t, fabric->link_count),
        .kinds = WEFT_NEW(&scratch, struct weft_link, fabric->link_count),
    };
    if (!count_ports(&writing, environment->error)) {
        return false;
    }
    number_devices(&writing);
    number_kinds(&writing);
    weft_text_init(&writing.text, environment->arena);
    weft_text_add(&writing.text, "name: weft\ndescription: %s of %u servers\n", fabric->name,
                  fabric->server_count);
    add_devices(&writing, accelerators);
    add_edges(&writing);
    *text = writing.text.data;
    return true;
}
