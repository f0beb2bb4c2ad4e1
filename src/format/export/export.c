// SPDX-License-Identifier: Apache-2.0
// Exports of a plan that describe its cabling: DOT for graphviz, and the cross-connects of
// optical switches as CSV and JSON (docs/exports.md).
//
// The same plan gives the same bytes. O(links + ports).

#include "format/syntax/json.h"
#include "weft/format.h"

// Okabe and Ito's palette, readable with every color vision.
static const char *const ring_colors[] = {"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                          "#56B4E9", "#D55E00", "#F0E442", "#000000"};
#define RING_COLOR_COUNT (sizeof ring_colors / sizeof ring_colors[0])

// Marks the links of each ring of the topology with the ring's index plus one.
static void mark_ring_links(uint32_t *ring_of, const struct weft_plan *plan)
{
    const struct weft_fabric *fabric = &plan->network.fabric;
    const struct weft_ring_set *set = &plan->topology.rings;
    for (uint32_t r = set->ring_count; r > 0; r--) {
        const struct weft_ring *ring = &set->rings[r - 1];
        for (uint32_t i = 0; i < ring->member_count; i++) {
            uint32_t next = ring->members[(i + 1) % ring->member_count];
            uint32_t link = weft_fabric_find_link(fabric, ring->members[i], next);
            if (link != WEFT_NONE) {
                ring_of[link] = r;
            }
        }
    }
}

// Adds a link: colored by its ring, dashed where it has none, one line for both directions
// where it has its reverse.
static void add_dot_edge(struct weft_text *text, const struct weft_plan *plan,
                         const uint32_t *ring_of, uint32_t index)
{
    const struct weft_fabric *fabric = &plan->network.fabric;
    const struct weft_link *link = &fabric->links[index];
    uint32_t twin = weft_fabric_find_link(fabric, link->to, link->from);
    bool both = twin != WEFT_NONE && fabric->links[twin].width == link->width;
    if (both && link->to < link->from) {
        return; // drawn with its twin
    }
    uint32_t ring = ring_of[index];
    if (both && ring_of[twin] != 0 && (ring == 0 || ring_of[twin] < ring)) {
        ring = ring_of[twin]; // a ring and the one that runs back have one color
    }
    weft_text_add(text, "  s%u -> s%u [", link->from, link->to);
    if (both) {
        weft_text_add(text, "dir=both, ");
    }
    if (ring != 0) {
        weft_text_add(text, "color=\"%s\"", ring_colors[(ring - 1) % RING_COLOR_COUNT]);
    } else {
        weft_text_add(text, "color=\"#666666\", style=dashed");
    }
    if (link->width > 1) {
        weft_text_add(text, ", label=\"%u\"", link->width);
    }
    weft_text_add(text, "];\n");
}

const char *weft_export_dot(const struct weft_plan *plan, struct weft_arena *arena)
{
    const struct weft_fabric *fabric = &plan->network.fabric;
    uint32_t *ring_of = WEFT_NEW(arena, uint32_t, fabric->link_count);
    mark_ring_links(ring_of, plan);
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "// Rings have a color each; other links are dashed. Draw with: circo "
                         "-Tsvg\ndigraph ");
    weft_json_add_text(&text, plan->cluster.name);
    weft_text_add(&text, " {\n  layout=circo;\n  node [shape=circle, width=0.45, fixedsize=true, "
                         "fontname=\"sans-serif\"];\n"
                         "  edge [arrowsize=0.5];\n");
    for (uint32_t s = 0; s < fabric->node_count; s++) {
        const char *shape = s < fabric->server_count ? "" : ", shape=box";
        weft_text_add(&text, "  s%u [label=\"%u\"%s];\n", s, s, shape);
    }
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        add_dot_edge(&text, plan, ring_of, i);
    }
    weft_text_add(&text, "}\n");
    return text.data;
}

// Interface p of server i is cabled to input and output port i of switch p, so ports are servers.
const char *weft_export_circuits_csv(const struct weft_plan *plan, struct weft_arena *arena)
{
    const struct weft_topology *topology = &plan->topology;
    uint32_t n = topology->server_count;
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "plane,input_port,output_port,from,to\n");
    for (uint32_t p = 0; p < topology->degree; p++) {
        const uint32_t *plane = topology->planes + (size_t)p * n;
        for (uint32_t i = 0; i < n; i++) {
            if (plane[i] != i) {
                weft_text_add(&text, "%u,%u,%u,%u,%u\n", p, i, plane[i], i, plane[i]);
            }
        }
    }
    return text.data;
}

// Writes a port of a plane as joined to the port that the plane sends it to; ports that a plane
// leads to themselves are dark and left out.
const char *weft_export_circuits_json(const struct weft_plan *plan, struct weft_arena *arena)
{
    const struct weft_topology *topology = &plan->topology;
    uint32_t n = topology->server_count;
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\n  \"schema\": \"weft.circuits/1\",\n  \"cluster\": ");
    weft_json_add_text(&text, plan->cluster.name);
    weft_text_add(&text, ",\n  \"servers\": %u,\n  \"planes\": [", n);
    for (uint32_t p = 0; p < topology->degree; p++) {
        const uint32_t *plane = topology->planes + (size_t)p * n;
        weft_text_add(&text, "%s\n    {\"plane\": %u, \"circuits\": [", p == 0 ? "" : ",", p);
        bool first = true;
        for (uint32_t i = 0; i < n; i++) {
            if (plane[i] != i) {
                weft_text_add(&text,
                              "%s\n      {\"input_port\": %u, \"output_port\": %u, \"from\": %u, "
                              "\"to\": %u}",
                              first ? "" : ",", i, plane[i], i, plane[i]);
                first = false;
            }
        }
        weft_text_add(&text, "%s]}", first ? "" : "\n    ");
    }
    weft_text_add(&text, "\n  ]\n}\n");
    return text.data;
}
