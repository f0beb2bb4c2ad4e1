// SPDX-License-Identifier: Apache-2.0
// The network of a plan file: links, rings and routes (docs/plan-format.md).
//
// Links may stand in any order, as the fabric sorts them. Paths over links that are not there
// are noted as flaws and dropped, so that the checker can say so of all of them. O(links
// log links + paths * hops).

#include "read.h"

#include <math.h>
#include <string.h>

#define LARGE 1e30
#define GROUPS_MAX 16777216u

// ---- links ----

static bool read_link(struct weft_link *link, const json_t *object, uint32_t node_count,
                      struct weft_error *error)
{
    double latency_s = 0;
    if (!weft_json_u32(&link->from, object, "from", 0, node_count - 1, error) ||
        !weft_json_u32(&link->to, object, "to", 0, node_count - 1, error) ||
        !weft_json_u32(&link->width, object, "width", 1, UINT16_MAX, error) ||
        !weft_json_real(&link->rate_Bps, object, "rate_Bps", 0, LARGE, error) ||
        !weft_json_real(&latency_s, object, "latency_s", 0, 1, error)) {
        return false;
    }
    link->latency_ps = (uint64_t)llround(latency_s * (double)WEFT_PS_PER_S);
    return true;
}

static bool read_parts(struct weft_parts *parts, const json_t *fabric, struct weft_error *error)
{
    const json_t *object = NULL;
    return weft_json_object(&object, fabric, "parts", error) &&
           weft_json_u64(&parts->nics, object, "nics", error) &&
           weft_json_u64(&parts->transceivers, object, "transceivers", error) &&
           weft_json_u64(&parts->switch_ports, object, "switch_ports", error) &&
           weft_json_u64(&parts->patch_panel_ports, object, "patch_panel_ports", error) &&
           weft_json_u64(&parts->ocs_ports, object, "ocs_ports", error) &&
           weft_json_u64(&parts->mechanical_switches, object, "mechanical_switches", error) &&
           weft_json_real(&parts->rate_Bps, object, "rate_Bps", 0, LARGE, error);
}

static bool read_links(struct weft_fabric *fabric, const char *name, uint32_t node_count,
                       uint32_t server_count, const json_t *items,
                       const struct weft_plan_source *source)
{
    size_t count = json_array_size(items);
    struct weft_link *links = WEFT_NEW(source->arena, struct weft_link, count);
    for (size_t i = 0; i < count; i++) {
        if (!read_link(&links[i], json_array_get(items, i), node_count, source->error)) {
            return weft_wrap(source->error, "links[%zu]", i);
        }
    }
    if (!weft_fabric_build(
            fabric,
            &(struct weft_fabric_links){name, server_count, node_count, links, (uint32_t)count},
            source->arena, source->error)) {
        return weft_wrap(source->error, "links");
    }
    if (fabric->link_count != count) {
        return weft_fail(source->error, WEFT_INPUT,
                         "links: %zu share their ends with another; write one of their widths",
                         count - fabric->link_count);
    }
    return true;
}

// Reads fabric and links. A switch without a link would only be memory, so links bound the
// number of nodes.
static bool read_fabric(struct weft_plan *plan, const struct weft_plan_source *source)
{
    uint32_t n = plan->cluster.server_count;
    struct weft_error *error = source->error;
    const json_t *object = NULL;
    const json_t *items = NULL;
    const char *name = NULL;
    uint32_t node_count = 0;
    bool forwards = false;
    struct weft_parts parts = {.nics = 0};
    if (!weft_json_object(&object, source->root, "fabric", error) ||
        !weft_json_array(&items, source->root, "links", error)) {
        return false;
    }
    // Every switch has a link: more nodes than that would only be memory.
    size_t link_count = json_array_size(items);
    uint32_t nodes_max = n + (link_count > UINT16_MAX ? UINT16_MAX : (uint32_t)link_count);
    if (!weft_json_text(&name, object, "name", source->arena, error) ||
        !weft_json_u32(&node_count, object, "nodes", n, nodes_max, error) ||
        !weft_json_bool(&forwards, object, "forwards", error) ||
        !read_parts(&parts, object, error)) {
        return weft_wrap(error, "fabric");
    }
    if (!read_links(&plan->network.fabric, name, node_count, n, items, source)) {
        return false;
    }
    plan->network.fabric.forwards = forwards;
    plan->network.fabric.parts = parts;
    return true;
}

// ---- walks: nodes in the file, links in the plan ----

// Turns nodes into the links between them. False when nodes[*gap] and the next have none.
static bool find_links(uint32_t *links, const uint32_t *nodes, size_t node_count,
                       const struct weft_fabric *fabric, size_t *gap)
{
    for (size_t i = 0; i + 1 < node_count; i++) {
        links[i] = weft_fabric_find_link(fabric, nodes[i], nodes[i + 1]);
        if (links[i] == WEFT_NONE) {
            *gap = i;
            return false;
        }
    }
    return true;
}

// ---- rings ----

// The walks of one ring into hop_first and hop_links. A ring whose walks do not fit keeps none.
static bool read_hops(struct weft_ring *ring, const json_t *items, const struct weft_fabric *fabric,
                      uint32_t index, struct weft_plan_source *source)
{
    if (json_array_size(items) != ring->member_count) {
        return weft_fail(source->error, WEFT_INPUT, "hops: not an array of one walk a member");
    }
    size_t room = 0;
    for (uint32_t i = 0; i < ring->member_count; i++) {
        size_t nodes = json_array_size(json_array_get(items, i));
        if (nodes == 0) {
            return weft_fail(source->error, WEFT_INPUT, "hops[%u]: not a walk; write its nodes", i);
        }
        room += nodes;
    }
    uint32_t *first = WEFT_NEW(source->arena, uint32_t, (size_t)ring->member_count + 1);
    uint32_t *links = WEFT_NEW(source->arena, uint32_t, room);
    uint32_t *nodes = WEFT_NEW(source->arena, uint32_t, room);
    for (uint32_t i = 0; i < ring->member_count; i++) {
        const json_t *item = json_array_get(items, i);
        size_t count = json_array_size(item);
        if (!weft_json_indices(nodes, item, fabric->node_count, source->error)) {
            return weft_wrap(source->error, "hops[%u]", i);
        }
        uint32_t next = ring->members[(i + 1) % ring->member_count];
        if (nodes[0] != ring->members[i] || nodes[count - 1] != next) {
            weft_plan_note_flaw(source,
                                "ring %u: the walk of hop %u joins %u and %u, not %u and %u", index,
                                i, nodes[0], nodes[count - 1], ring->members[i], next);
            return true;
        }
        size_t gap = 0;
        if (!find_links(links + first[i], nodes, count, fabric, &gap)) {
            weft_plan_note_flaw(source,
                                "ring %u: hop %u takes a link from %u to %u that is not "
                                "there",
                                index, i, nodes[gap], nodes[gap + 1]);
            return true;
        }
        first[i + 1] = first[i] + (uint32_t)(count - 1);
    }
    ring->hop_first = first;
    ring->hop_links = links;
    return true;
}

static bool read_ring(struct weft_ring *ring, const json_t *object,
                      const struct weft_fabric *fabric, uint32_t index,
                      struct weft_plan_source *source)
{
    const json_t *items = NULL;
    struct weft_error *error = source->error;
    if (!weft_json_u32(&ring->group, object, "group", 0, GROUPS_MAX - 1, error) ||
        !weft_json_real(&ring->share_ratio, object, "share", 0, LARGE, error) ||
        !weft_json_array(&items, object, "members", error)) {
        return false;
    }
    size_t count = json_array_size(items);
    if (count < 2 || count > fabric->server_count) {
        return weft_fail(error, WEFT_INPUT, "members: %zu of them; a ring has 2 to %u", count,
                         fabric->server_count);
    }
    uint32_t *members = WEFT_NEW(source->arena, uint32_t, count);
    if (!weft_json_indices(members, items, fabric->server_count, error)) {
        return weft_wrap(error, "members");
    }
    ring->members = members;
    ring->member_count = (uint32_t)count;
    const json_t *hops = json_object_get(object, "hops");
    return hops == NULL || read_hops(ring, hops, fabric, index, source);
}

bool weft_plan_read_rings(struct weft_ring_set *set, const json_t *object,
                          const struct weft_fabric *fabric, struct weft_plan_source *source)
{
    const json_t *items = NULL;
    if (!weft_json_array(&items, object, "rings", source->error)) {
        return false;
    }
    size_t count = json_array_size(items);
    struct weft_ring *rings = WEFT_NEW(source->arena, struct weft_ring, count);
    for (size_t i = 0; i < count; i++) {
        if (!read_ring(&rings[i], json_array_get(items, i), fabric, (uint32_t)i, source)) {
            return weft_wrap(source->error, "rings[%zu]", i);
        }
        if (i > 0 && rings[i].group < rings[i - 1].group) {
            return weft_fail(source->error, WEFT_INPUT,
                             "rings[%zu]: group %u comes after group %u; sort rings by group", i,
                             rings[i].group, rings[i - 1].group);
        }
    }
    *set = (struct weft_ring_set){(uint32_t)count, rings};
    return true;
}

// ---- routes ----

// One path as it stands in the file, before paths are sorted by pair.
struct raw_path {
    uint32_t pair;
    uint32_t first; // into the links
    uint32_t count;
    double weight;
};

struct raw_paths {
    uint32_t count;
    struct raw_path *paths;
    uint32_t *links;
    uint32_t link_count;
};

// Reads [weight, first node, ..., last node]. A path over a link that is not there is noted as
// a flaw and dropped, as a fabric cannot hold it.
static bool read_path(struct raw_paths *raw, const json_t *item, const struct weft_fabric *fabric,
                      size_t index, struct weft_plan_source *source)
{
    size_t size = json_array_size(item);
    const json_t *weight = json_array_get(item, 0);
    uint32_t n = fabric->server_count;
    if (size < 3 || !json_is_number(weight)) {
        return weft_fail(source->error, WEFT_INPUT,
                         "not a path; write [weight, first node, ..., last node]");
    }
    uint32_t *links = raw->links + raw->link_count;
    uint32_t ends[2] = {0, 0};
    uint32_t before = 0;
    bool linked = true;
    for (size_t i = 1; i < size; i++) {
        const json_t *node = json_array_get(item, i);
        json_int_t id = json_is_integer(node) ? json_integer_value(node) : -1;
        json_int_t limit = i == 1 || i == size - 1 ? n : fabric->node_count;
        if (id < 0 || id >= limit) {
            return weft_fail(source->error, WEFT_INPUT, "[%zu]: not a whole number below %u", i,
                             (unsigned)limit);
        }
        if (i > 1 && linked) {
            links[i - 2] = weft_fabric_find_link(fabric, before, (uint32_t)id);
            linked = links[i - 2] != WEFT_NONE;
            if (!linked) {
                weft_plan_note_flaw(source, "path %zu takes a link from %u to %u that is not there",
                                    index, before, (uint32_t)id);
            }
        }
        before = (uint32_t)id;
        ends[i == 1 ? 0 : 1] = before;
    }
    if (ends[0] == ends[1]) {
        return weft_fail(source->error, WEFT_INPUT, "a path from server %u to itself; remove it",
                         ends[0]);
    }
    double share = json_number_value(weight);
    if (!(share > 0 && share <= LARGE)) {
        return weft_fail(
            source->error, WEFT_INPUT,
            "[0]: a weight of %g is not above 0 and at most %g; leave unused paths out", share,
            LARGE);
    }
    if (linked) {
        raw->paths[raw->count++] =
            (struct raw_path){ends[0] * n + ends[1], raw->link_count, (uint32_t)size - 2, share};
        raw->link_count += (uint32_t)size - 2;
    }
    return true;
}

// Sorts paths by pair, in the order of the file within a pair. The weights stay as they are:
// whether they add to 1 is for the check to say.
static void build_table(struct weft_routes *routes, const struct raw_paths *raw,
                        const struct weft_fabric *fabric, struct weft_arena *arena,
                        struct weft_arena scratch)
{
    size_t pair_count = (size_t)fabric->server_count * fabric->server_count;
    uint32_t *pair_first = WEFT_NEW(arena, uint32_t, pair_count + 1);
    uint32_t *path_first = WEFT_NEW(arena, uint32_t, (size_t)raw->count + 1);
    uint32_t *path_links = WEFT_NEW(arena, uint32_t, raw->link_count);
    double *path_weight = WEFT_NEW(arena, double, raw->count);
    for (uint32_t i = 0; i < raw->count; i++) {
        pair_first[raw->paths[i].pair + 1]++;
    }
    for (size_t pair = 0; pair < pair_count; pair++) {
        pair_first[pair + 1] += pair_first[pair];
    }
    uint32_t *next = WEFT_NEW(&scratch, uint32_t, pair_count);
    memcpy(next, pair_first, pair_count * sizeof next[0]);
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, raw->count);
    for (uint32_t i = 0; i < raw->count; i++) {
        order[next[raw->paths[i].pair]++] = i;
    }
    uint32_t hop_max = 0;
    for (uint32_t i = 0; i < raw->count; i++) {
        const struct raw_path *path = &raw->paths[order[i]];
        memcpy(path_links + path_first[i], raw->links + path->first,
               path->count * sizeof path_links[0]);
        path_first[i + 1] = path_first[i] + path->count;
        path_weight[i] = path->weight;
        hop_max = path->count > hop_max ? path->count : hop_max;
    }
    WEFT_ASSERT(path_first[raw->count] == raw->link_count);
    routes->kind = WEFT_ROUTES_TABLE;
    routes->fabric = fabric;
    routes->hop_max = hop_max;
    routes->pair_first = pair_first;
    routes->path_first = path_first;
    routes->path_links = path_links;
    routes->path_weight = path_weight;
}

static bool read_paths(struct weft_plan *plan, const json_t *items, struct weft_arena scratch,
                       struct weft_plan_source *source)
{
    const struct weft_fabric *fabric = &plan->network.fabric;
    size_t count = json_array_size(items);
    size_t room = 0;
    for (size_t i = 0; i < count; i++) {
        room += json_array_size(json_array_get(items, i));
    }
    if (room > UINT32_MAX) {
        return weft_fail(source->error, WEFT_INPUT, "more than %u hops", UINT32_MAX);
    }
    struct raw_paths raw = {
        .paths = WEFT_NEW(&scratch, struct raw_path, count),
        .links = WEFT_NEW(&scratch, uint32_t, room),
    };
    for (size_t i = 0; i < count; i++) {
        if (!read_path(&raw, json_array_get(items, i), fabric, i, source)) {
            return weft_wrap(source->error, "paths[%zu]", i);
        }
    }
    build_table(&plan->network.routes, &raw, fabric, source->arena, scratch);
    return true;
}

static bool read_routes(struct weft_plan *plan, struct weft_arena scratch,
                        struct weft_plan_source *source)
{
    const json_t *object = NULL;
    const json_t *items = NULL;
    const char *spread = NULL;
    if (!weft_json_object(&object, source->root, "routes", source->error)) {
        return false;
    }
    if (!weft_json_text(&spread, object, "spread", source->arena, source->error) ||
        !weft_json_array(&items, object, "paths", source->error)) {
        return weft_wrap(source->error, "routes");
    }
    bool split = strcmp(spread, "split") == 0;
    if (!split && strcmp(spread, "pick") != 0) {
        return weft_fail(source->error, WEFT_INPUT, "routes: spread: '%.32s' is not split or pick",
                         spread);
    }
    plan->network.routes.spread = split ? WEFT_SPREAD_SPLIT : WEFT_SPREAD_PICK;
    return read_paths(plan, items, scratch, source) || weft_wrap(source->error, "routes");
}

bool weft_plan_read_network(struct weft_plan *plan, struct weft_arena scratch,
                            struct weft_plan_source *source)
{
    const json_t *root = source->root;
    return read_fabric(plan, source) &&
           weft_plan_read_rings(&plan->network.rings, root, &plan->network.fabric, source) &&
           read_routes(plan, scratch, source);
}
