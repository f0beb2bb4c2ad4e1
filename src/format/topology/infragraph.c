// SPDX-License-Identifier: Apache-2.0
// InfraGraph (github.com/Keysight/infragraph, src/infragraph/infragraph.proto; arXiv 2606.10440) as
// YAML or JSON: devices with their components, instances of them, and edges between instances.
//
// An instance is a node: of a device with an xpu (or with a cpu and no switch inside) a server,
// else a switch. What joins components inside a device is not a cable and is left out. Ends are
// expanded as infragraph_service.py does: instances first, then components, one2one side by side,
// many2many each with each. Files of before 2.0 list connections by dots, server.0.nic.0.LINK.
// leaf.0.port.0, and are read, too. O(bytes + cables).

#include "draft.h"
#include "format/syntax/lines.h"
#include "format/syntax/yaml.h"

#include <stdio.h>
#include <string.h>

struct infragraph {
    struct draft *draft;
    const struct weft_yaml_node *devices;
    const struct weft_yaml_node *instances;
    const struct weft_yaml_node *links;
};

static const struct weft_yaml_node *children_of(const struct weft_yaml_node *list)
{
    return list == NULL ? NULL : list->children;
}

static const char *text_at(const struct weft_yaml_node *mapping, const char *key)
{
    const struct weft_yaml_node *child = mapping == NULL ? NULL : weft_yaml_child(mapping, key);
    return child == NULL ? NULL : child->text;
}

// The item of a list with that name; NULL = none.
static const struct weft_yaml_node *named(const struct weft_yaml_node *list, const char *name,
                                          size_t length)
{
    for (const struct weft_yaml_node *item = children_of(list); item != NULL; item = item->next) {
        const char *own = text_at(item, "name");
        if (own != NULL && strlen(own) == length && memcmp(own, name, length) == 0) {
            return item;
        }
    }
    return NULL;
}

// ---- devices ----

// Whether a device has a component of that type, at any depth of components within components.
static bool has_component(const struct weft_yaml_node *device, const char *type)
{
    const struct weft_yaml_node *list = weft_yaml_child(device, "components");
    for (const struct weft_yaml_node *one = children_of(list); one != NULL; one = one->next) {
        const char *choice = text_at(one, "choice");
        const char *own = choice != NULL ? choice : text_at(one, "type");
        if ((own != NULL && strcmp(own, type) == 0) || has_component(one, type)) {
            return true;
        }
    }
    return false;
}

// How many of a component one instance has.
static bool count_component(uint64_t *count, const struct weft_yaml_node **inner,
                            const struct infragraph *graph, const struct weft_yaml_node *device,
                            const struct line_word *name)
{
    const struct weft_yaml_node *component =
        named(weft_yaml_child(device, "components"), name->text, name->length);
    const char *text = text_at(component, "count");
    if (component == NULL) {
        return weft_fail(graph->draft->error, WEFT_INPUT, "device '%.40s' has no component '%.*s'",
                         text_at(device, "name"), WORD_SHOWN(name));
    }
    *inner = named(graph->devices, name->text, name->length); // of a device within a device
    *count = 1;
    return text == NULL ||
           weft_parse_count(count, text, 1, TOPOLOGY_NODES_MAX, graph->draft->error) ||
           weft_wrap(graph->draft->error, "line %u: count", component->line);
}

// ---- ends ----

// Indices of one name: [a], [a:b], [a:b:c], or all of `count`.
struct slice {
    struct line_word name;
    uint64_t begin;
    uint64_t count;
    uint64_t step;
};

static bool read_slice(struct slice *slice, const char *text, size_t length, uint64_t count,
                       struct weft_error *error)
{
    const char *open = memchr(text, '[', length);
    uint64_t values[3] = {0, count, 1};
    uint32_t part = 0;
    *slice = (struct slice){{text, open == NULL ? length : (size_t)(open - text)}, 0, count, 1};
    if (open == NULL) {
        return true;
    }
    bool fine = text[length - 1] == ']';
    bool given = false;
    for (const char *at = open + 1; fine && at < text + length - 1; at++) {
        if (*at == ':') {
            fine = ++part < 3;
            given = false;
        } else if (*at >= '0' && *at <= '9') {
            values[part] = (given ? 10 * values[part] : 0) + (uint64_t)(*at - '0');
            given = true;
            fine = values[part] <= TOPOLOGY_NODES_MAX;
        } else {
            fine = false;
        }
    }
    values[1] = part == 0 ? values[0] + 1 : values[1];
    if (!fine || values[2] == 0 || values[1] <= values[0] || values[1] > count) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.*s' is none of its %llu: write [0:%llu], a part of it, or [0]",
                         (int)(length < 60 ? length : 60), text, (unsigned long long)count,
                         (unsigned long long)count);
    }
    slice->begin = values[0];
    slice->step = values[2];
    slice->count = (values[1] - values[0] + values[2] - 1) / values[2];
    return true;
}

// One end of an edge: instances, and how many components of each.
struct ends {
    struct slice instances;
    uint64_t components;
    enum draft_role role;
};

static bool find_instance(struct ends *ends, const struct weft_yaml_node **device,
                          const struct infragraph *graph, const char *text, size_t length)
{
    struct weft_error *error = graph->draft->error;
    const char *open = memchr(text, '[', length);
    size_t name_length = open == NULL ? length : (size_t)(open - text);
    const struct weft_yaml_node *instance = named(graph->instances, text, name_length);
    const char *device_name = text_at(instance, "device");
    const char *count_text = text_at(instance, "count");
    uint64_t count = TOPOLOGY_NODES_MAX; // before 2.0 nothing says it
    if (instance == NULL || device_name == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.*s' is no instance; list it below instances: with "
                         "its device",
                         (int)(name_length < 40 ? name_length : 40), text);
    }
    *device = named(graph->devices, device_name, strlen(device_name));
    if (*device == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "instance '%.*s' is of device '%.40s', which this file does not describe; "
                         "put its entry below devices:",
                         (int)(name_length < 40 ? name_length : 40), text, device_name);
    }
    bool server = has_component(*device, "xpu") ||
                  (has_component(*device, "cpu") && !has_component(*device, "switch"));
    ends->role = server ? DRAFT_SERVER : DRAFT_SWITCH;
    return (count_text == NULL ||
            weft_parse_count(&count, count_text, 1, TOPOLOGY_NODES_MAX, error)) &&
           read_slice(&ends->instances, text, length, count, error);
}

// Reads ep1 or ep2: {instance: "host[0:2]", component: "nic[0:4]"}.
static bool read_ends(struct ends *ends, const struct infragraph *graph,
                      const struct weft_yaml_node *edge, const char *key)
{
    struct weft_error *error = graph->draft->error;
    const struct weft_yaml_node *end = weft_yaml_child(edge, key);
    const char *instance = text_at(end, "instance");
    const char *component = text_at(end, "component");
    const struct weft_yaml_node *device = NULL;
    if (instance == NULL || component == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: write {instance: \"host[0]\", component: "
                         "\"nic[0]\"}",
                         key);
    }
    if (!find_instance(ends, &device, graph, instance, strlen(instance))) {
        return weft_wrap(error, "%s", key);
    }
    ends->components = 1;
    for (const char *at = component; *at != '\0';) {
        size_t length = strcspn(at, ".");
        struct slice slice;
        struct line_word name = {at, strcspn(at, ".[")};
        const struct weft_yaml_node *inner = NULL;
        uint64_t count = 0;
        if (device == NULL || !count_component(&count, &inner, graph, device, &name)) {
            return device != NULL ? weft_wrap(error, "%s", key)
                                  : weft_fail(error, WEFT_INPUT,
                                              "%s: '%.60s' goes on behind what "
                                              "is no device",
                                              key, component);
        }
        if (!read_slice(&slice, at, length, count, error)) {
            return weft_wrap(error, "%s", key);
        }
        ends->components *= slice.count;
        if (ends->components > TOPOLOGY_LINKS_MAX) {
            return weft_fail(error, WEFT_INPUT, "%s: too many components", key);
        }
        device = inner;
        at += length + (at[length] == '.');
    }
    return true;
}

// ---- links ----

struct unit {
    const char *name;
    double scale; // to bytes a second, or to picoseconds
};

// The one child of a mapping that is a unit of the table, as a number of it. 0 = there is none.
static bool read_unit(double *value, const struct weft_yaml_node *mapping, const struct unit *units,
                      struct weft_error *error)
{
    *value = 0;
    for (; mapping != NULL && units->name != NULL; units++) {
        const char *text = text_at(mapping, units->name);
        double number = 0;
        if (text == NULL) {
            continue;
        }
        if (!weft_parse_number(&number, text, 0, 1e9, error)) {
            return weft_wrap(error, "line %u: %s", mapping->line, units->name);
        }
        *value = number * units->scale;
    }
    return true;
}

// What a link's name says of its rate and latency; what it does not say stays unsaid.
static bool read_link(struct draft_cable *cable, const struct infragraph *graph, const char *name,
                      size_t length)
{
    static const struct unit rates[] = {{"gigabits_per_second", 125e6},
                                        {"gigabytes_per_second", 1e9},
                                        {"giga_bits_per_second", 125e6},
                                        {"giga_bytes_per_second", 1e9},
                                        {NULL, 0}};
    static const struct unit times[] = {{"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {NULL, 0}};
    struct weft_error *error = graph->draft->error;
    const struct weft_yaml_node *link = named(graph->links, name, length);
    double latency_ps = 0;
    if (link == NULL) {
        return weft_fail(error, WEFT_INPUT, "'%.*s' is no link; describe it below links:",
                         (int)(length < 40 ? length : 40), name);
    }
    const struct weft_yaml_node *physical = weft_yaml_child(link, "physical");
    physical = physical == NULL ? link : physical;
    const struct weft_yaml_node *latency = weft_yaml_child(physical, "latency");
    if (!read_unit(&cable->rate_Bps, weft_yaml_child(physical, "bandwidth"), rates, error) ||
        !read_unit(&latency_ps, latency, times, error)) {
        return false;
    }
    if (latency_ps > 1e15) {
        return weft_fail(error, WEFT_INPUT, "line %u: a latency of more than 1000 s",
                         latency->line);
    }
    cable->latency_ps = latency == NULL ? WEFT_NEVER : (uint64_t)latency_ps;
    return true;
}

// ---- edges ----

static bool node_of(uint32_t *node, const struct infragraph *graph, const struct ends *ends,
                    uint64_t place)
{
    char name[128];
    uint64_t index = ends->instances.begin + place / ends->components * ends->instances.step;
    int length =
        snprintf(name, sizeof name, "%.*s.%llu",
                 (int)(ends->instances.name.length < 100 ? ends->instances.name.length : 100),
                 ends->instances.name.text, (unsigned long long)index);
    return draft_node(node, graph->draft, name, (size_t)length, ends->role);
}

static bool join(const struct infragraph *graph, struct draft_cable *cable,
                 const struct ends ends[2], uint64_t first, uint64_t second)
{
    return node_of(&cable->from, graph, &ends[0], first) &&
           node_of(&cable->to, graph, &ends[1], second) &&
           (cable->from == cable->to || draft_join(graph->draft, cable)); // inside a device
}

static bool read_edge(const struct infragraph *graph, const struct weft_yaml_node *edge)
{
    struct weft_error *error = graph->draft->error;
    struct draft_cable cable = {.latency_ps = WEFT_NEVER, .width = 1};
    struct ends ends[2];
    const char *scheme = text_at(edge, "scheme");
    const char *link = text_at(edge, "link");
    if (!read_ends(&ends[0], graph, edge, "ep1") || !read_ends(&ends[1], graph, edge, "ep2") ||
        (link != NULL && !read_link(&cable, graph, link, strlen(link)))) {
        return false;
    }
    uint64_t counts[2];
    for (uint32_t e = 0; e < 2; e++) {
        counts[e] = ends[e].instances.count * ends[e].components;
    }
    if (scheme != NULL && strcmp(scheme, "many2many") == 0) {
        for (uint64_t i = 0; i < counts[0]; i++) {
            for (uint64_t j = 0; j < counts[1]; j++) {
                if (!join(graph, &cable, ends, i, j)) {
                    return false;
                }
            }
        }
        return true;
    }
    if (scheme == NULL || strcmp(scheme, "one2one") != 0) {
        return weft_fail(error, WEFT_INPUT, "scheme '%.20s'; write one2one or many2many",
                         scheme == NULL ? "" : scheme);
    }
    if (counts[0] != counts[1]) {
        return weft_fail(error, WEFT_INPUT,
                         "one2one joins as many ends as there are on the other side, not %llu and "
                         "%llu",
                         (unsigned long long)counts[0], (unsigned long long)counts[1]);
    }
    for (uint64_t i = 0; i < counts[0]; i++) {
        if (!join(graph, &cable, ends, i, i)) {
            return false;
        }
    }
    return true;
}

// "server.0.nic.0.eth1.leafsw.0.port.0"
static bool read_connection(const struct infragraph *graph, const char *text)
{
    struct draft_cable cable = {.width = 1};
    struct line_word words[9];
    uint32_t count = 0;
    for (const char *at = text; count < 9; at++) {
        words[count] = (struct line_word){at, strcspn(at, ".")};
        at += words[count++].length;
        if (*at == '\0') {
            break;
        }
        count = count == 9 ? 0 : count; // a tenth word
        if (count == 0) {
            break;
        }
    }
    if (count != 9) {
        return weft_fail(graph->draft->error, WEFT_INPUT,
                         "'%.80s': write INSTANCE.0.COMPONENT.0.LINK.INSTANCE.0.COMPONENT.0", text);
    }
    struct ends ends[2];
    for (uint32_t e = 0; e < 2; e++) {
        const struct line_word *word = &words[5 * e];
        const struct weft_yaml_node *device = NULL;
        if (!find_instance(&ends[e], &device, graph, word->text, word->length) ||
            !word_count(&ends[e].instances.begin, word + 1, "index", 0, TOPOLOGY_NODES_MAX,
                        graph->draft->error)) {
            return false;
        }
        ends[e].components = 1;
    }
    return read_link(&cable, graph, words[4].text, words[4].length) &&
           join(graph, &cable, ends, 0, 0);
}

bool topology_read_infragraph(struct weft_topology_file *topology, struct draft *draft,
                              const char *data, size_t length)
{
    struct weft_error *error = draft->error;
    const struct weft_yaml_node *root = NULL;
    if (!weft_yaml_parse_document(&root, data, length, draft->scratch, error)) {
        return false;
    }
    const struct weft_yaml_node *inner =
        root == NULL ? NULL : weft_yaml_child(root, "infrastructure");
    root = inner != NULL ? inner : root;
    struct infragraph graph = {draft, NULL, NULL, NULL};
    graph.devices = root == NULL ? NULL : weft_yaml_child(root, "devices");
    graph.instances = root == NULL ? NULL : weft_yaml_child(root, "instances");
    graph.links = root == NULL ? NULL : weft_yaml_child(root, "links");
    const struct weft_yaml_node *edges = root == NULL ? NULL : weft_yaml_child(root, "edges");
    const struct weft_yaml_node *old = root == NULL ? NULL : weft_yaml_child(root, "connections");
    if (graph.instances == NULL || (edges == NULL && old == NULL)) {
        return weft_fail(error, WEFT_INPUT,
                         "describes devices and joins none: a fabric has instances: and edges: "
                         "between them");
    }
    for (const struct weft_yaml_node *edge = children_of(edges); edge != NULL; edge = edge->next) {
        if (!read_edge(&graph, edge)) {
            return weft_wrap(error, "line %u", edge->line);
        }
    }
    for (const struct weft_yaml_node *one = children_of(old); one != NULL; one = one->next) {
        if (!read_connection(&graph, one->text == NULL ? "" : one->text)) {
            return weft_wrap(error, "line %u", one->line);
        }
    }
    return draft_finish(topology, draft);
}
