// SPDX-License-Identifier: Apache-2.0
// GraphML (graphml.graphdrawing.org), as networkx, igraph and the Internet Topology Zoo write it.
//
// Attributes are found by their names: of edges "rate", "bandwidth", "capacity", "speed" or
// "LinkSpeedRaw" (a text with a unit, or a number of bits a second as the Zoo's LinkSpeedRaw), and
// "latency" or "delay" (a text with a unit); of nodes "type", "role" or "kind", whose value says
// switch or router. Where no node says it, names do as in lists of edges; a graph of servers alone
// is a fabric whose servers forward. O(bytes).

#include "draft.h"
#include "format/syntax/xml.h"

#include <string.h>
#include <strings.h>

struct graphml {
    struct draft *draft;
    const struct weft_xml_node *root;
};

// The attr.name that a key's id stands for; the id itself where it is not declared.
static const char *name_of(const struct graphml *graphml, const char *id)
{
    for (const struct weft_xml_node *key = graphml->root->first; key != NULL; key = key->next) {
        const char *own = weft_xml_find(key, "id");
        const char *name = weft_xml_find(key, "attr.name");
        if (weft_xml_is(key, "key") && own != NULL && name != NULL && strcmp(own, id) == 0) {
            return name;
        }
    }
    return id;
}

// The value of the first of some names among an element's data; NULL = it has none.
static const char *data_of(const struct graphml *graphml, const struct weft_xml_node *node,
                           const char *const *names, const char **name)
{
    for (const struct weft_xml_node *data = node->first; data != NULL; data = data->next) {
        const char *id = weft_xml_find(data, "key");
        if (!weft_xml_is(data, "data") || id == NULL || data->text == NULL) {
            continue;
        }
        *name = name_of(graphml, id);
        for (uint32_t i = 0; names[i] != NULL; i++) {
            if (strcasecmp(names[i], *name) == 0) {
                return data->text;
            }
        }
    }
    return NULL;
}

static bool read_node(struct graphml *graphml, const struct weft_xml_node *node)
{
    static const char *const names[] = {"type", "role", "kind", "device_type", NULL};
    const char *id = NULL;
    const char *name = NULL;
    uint32_t made = 0;
    if (!weft_xml_text(&id, node, "id", graphml->draft->error)) {
        return false;
    }
    const char *role = data_of(graphml, node, names, &name);
    bool is_switch = role != NULL
                         ? strcasecmp(role, "switch") == 0 || strcasecmp(role, "router") == 0 ||
                               draft_is_switch_name(role, strlen(role))
                         : draft_is_switch_name(id, strlen(id));
    if (draft_find(graphml->draft, id, strlen(id)) != WEFT_NONE) {
        return weft_fail(graphml->draft->error, WEFT_INPUT, "line %u: node '%.40s' a second time",
                         node->line, id);
    }
    return draft_node(&made, graphml->draft, id, strlen(id),
                      is_switch ? DRAFT_SWITCH : DRAFT_SERVER);
}

static bool find_end(uint32_t *node, const struct graphml *graphml,
                     const struct weft_xml_node *edge, const char *key)
{
    const char *id = NULL;
    if (!weft_xml_text(&id, edge, key, graphml->draft->error)) {
        return false;
    }
    *node = draft_find(graphml->draft, id, strlen(id));
    return *node != WEFT_NONE ||
           weft_fail(graphml->draft->error, WEFT_INPUT,
                     "line %u: %s '%.40s' is no node of the graph", edge->line, key, id);
}

static bool read_edge(struct graphml *graphml, const struct weft_xml_node *edge, bool directed)
{
    static const char *const rates[] = {"rate",  "bandwidth",    "capacity",
                                        "speed", "LinkSpeedRaw", NULL};
    static const char *const times[] = {"latency", "delay", NULL};
    struct weft_error *error = graphml->draft->error;
    struct draft_cable cable = {.latency_ps = WEFT_NEVER, .width = 1};
    const char *own = weft_xml_find(edge, "directed");
    const char *name = NULL;
    cable.one_way = own != NULL ? strcmp(own, "true") == 0 : directed;
    if (!find_end(&cable.from, graphml, edge, "source") ||
        !find_end(&cable.to, graphml, edge, "target")) {
        return false;
    }
    const char *rate = data_of(graphml, edge, rates, &name);
    if (rate != NULL && strcasecmp(name, "LinkSpeedRaw") == 0) {
        if (!weft_parse_number(&cable.rate_Bps, rate, 1, 1e18, error)) {
            return weft_wrap(error, "line %u: %s", edge->line, name);
        }
        cable.rate_Bps /= 8;
    } else if (rate != NULL && !weft_parse_rate(&cable.rate_Bps, rate, error)) {
        return weft_wrap(error, "line %u: %s", edge->line, name);
    }
    if (rate != NULL && !(cable.rate_Bps > 0)) {
        return weft_fail(error, WEFT_INPUT, "line %u: %s 0 carries nothing", edge->line, name);
    }
    const char *time = data_of(graphml, edge, times, &name);
    if (time != NULL && !weft_parse_time(&cable.latency_ps, time, error)) {
        return weft_wrap(error, "line %u: %s", edge->line, name);
    }
    return draft_join(graphml->draft, &cable) || weft_wrap(error, "line %u", edge->line);
}

bool topology_read_graphml(struct weft_topology_file *topology, struct draft *draft,
                           const char *data, size_t length)
{
    struct weft_xml_node *root = NULL;
    if (!weft_xml_parse(&root, "graphml", data, length, draft->scratch, draft->error)) {
        return false;
    }
    struct graphml graphml = {draft, root};
    const struct weft_xml_node *graph = root->first;
    while (graph != NULL && !weft_xml_is(graph, "graph")) {
        graph = graph->next;
    }
    if (graph == NULL) {
        return weft_fail(draft->error, WEFT_INPUT, "has no <graph>");
    }
    const char *said = weft_xml_find(graph, "edgedefault");
    bool directed = said != NULL && strcmp(said, "directed") == 0;
    for (const struct weft_xml_node *one = graph->first; one != NULL; one = one->next) {
        if (weft_xml_is(one, "node") && !read_node(&graphml, one)) {
            return false;
        }
    }
    for (const struct weft_xml_node *one = graph->first; one != NULL; one = one->next) {
        if (weft_xml_is(one, "edge") && !read_edge(&graphml, one, directed)) {
            return false;
        }
    }
    return draft_finish(topology, draft);
}
