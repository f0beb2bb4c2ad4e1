// SPDX-License-Identifier: Apache-2.0
// Plans as `ip` scripts, one for each server (docs/exports.md): addresses, fixed neighbors, and
// for every source whose traffic passes a table of weighted next hops.

#include "ip.h"

#include <stdlib.h>

#define SERVERS_MAX 65536u
#define PORTS_MAX 128u
#define WEIGHT_SUM 256.0
#define TABLE_BASE 1000u
#define PRIORITY_BASE 10000u

// ---- texts ----

// Server addresses are 10.128.H.L/32, those of port p 10.p.H.L/32, where H.L is the server's
// number; a port's MAC address says the same.
static void add_address(struct weft_text *text, uint32_t second, uint32_t server)
{
    weft_text_add(text, "10.%u.%u.%u", second, server >> 8, server & 255);
}

static void add_mac(struct weft_text *text, uint32_t port, uint32_t server)
{
    weft_text_add(text, "02:57:00:%02x:%02x:%02x", port, server >> 8, server & 255);
}

static void add_ports(struct weft_text *text, const struct weft_topology *topology, uint32_t server)
{
    uint32_t n = topology->server_count;
    for (uint32_t p = 0; p < topology->degree; p++) {
        const uint32_t *plane = topology->planes + (size_t)p * n;
        uint32_t to = plane[server];
        if (to == server) {
            weft_text_add(text, "\n# port %u is dark\n", p);
            continue;
        }
        weft_text_add(text, "\n# port %u reaches server %u\n", p, to);
        weft_text_add(text, "ip link set dev \"${port}%u\" address ", p);
        add_mac(text, p, server);
        weft_text_add(text, " up\nip address replace ");
        add_address(text, p, server);
        weft_text_add(text, "/32 dev \"${port}%u\"\nip neigh replace ", p);
        add_address(text, p, to);
        weft_text_add(text, " lladdr ");
        add_mac(text, p, to);
        weft_text_add(text, " dev \"${port}%u\" nud permanent\n", p);
        weft_text_add(text, "relax \"${port}%u\"\n", p);
    }
}

static void add_head(struct weft_text *text, const struct weft_plan *plan, uint32_t server)
{
    weft_text_add(text,
                  "#!/bin/sh\n"
                  "# Server %u of %u. Run as root; running it again changes nothing.\n"
                  "# Addresses and tables: docs/exports.md. Ports are ${WEFT_PORT}0 to "
                  "${WEFT_PORT}%u.\n"
                  "set -eu\n"
                  "port=${WEFT_PORT:-port}\n\n"
                  "# Return paths differ from forward paths, so reverse path filters are off.\n"
                  "relax() {\n"
                  "    sysctl -q -w \"net/ipv4/conf/$1/rp_filter=0\"\n"
                  "    sysctl -q -w \"net/ipv4/conf/$1/forwarding=1\"\n"
                  "}\n"
                  "relax all\n"
                  "sysctl -q -w net/ipv4/fib_multipath_hash_policy=1\n"
                  "ip link set dev lo up\n"
                  "ip address replace ",
                  server, plan->topology.server_count, plan->topology.degree - 1);
    add_address(text, 128, server);
    weft_text_add(text, "/32 dev lo\n");
}

// ---- next hops ----

// Steps of one server, source and target become ports: parallel ports share a neighbor's part.
// Weights are whole, at least 1, and sum to about 256, the most that `ip route` takes.
static uint32_t list_ways(struct weft_ip_way *ways, const struct weft_topology *topology,
                          const struct weft_ip_step *steps, size_t count)
{
    uint32_t n = topology->server_count;
    uint32_t way_count = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += steps[i].weight;
    }
    for (size_t i = 0; i < count; i++) {
        const struct weft_ip_step *step = &steps[i];
        uint32_t width = 0;
        for (uint32_t p = 0; p < topology->degree; p++) {
            width += topology->planes[(size_t)p * n + step->node] == step->next;
        }
        double share = width == 0 || !(sum > 0) ? 0 : step->weight / sum / width;
        uint32_t weight = (uint32_t)(share * WEIGHT_SUM + 0.5);
        for (uint32_t p = 0; p < topology->degree; p++) {
            if (topology->planes[(size_t)p * n + step->node] == step->next) {
                ways[way_count++] = (struct weft_ip_way){
                    step->node, step->source, step->target, p, step->next, weight > 0 ? weight : 1};
            }
        }
    }
    return way_count;
}

// Steps of the same node, source and target stand together.
static size_t steps_end(const struct weft_ip_steps *all, size_t begin)
{
    const struct weft_ip_step *first = &all->steps[begin];
    size_t end = begin;
    while (end < all->count && all->steps[end].node == first->node &&
           all->steps[end].source == first->source && all->steps[end].target == first->target) {
        end++;
    }
    return end;
}

static bool check_wiring(const struct weft_topology *topology, const struct weft_fabric *fabric,
                         struct weft_error *error)
{
    uint32_t n = topology->server_count;
    if (n > SERVERS_MAX || topology->degree > PORTS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "addresses are made for %u servers of %u ports; the plan has %u of %u",
                         SERVERS_MAX, PORTS_MAX, n, topology->degree);
    }
    if (fabric->node_count != n) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "the fabric '%s' has switches; scripts are for servers that forward",
                         fabric->name);
    }
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        const struct weft_link *link = &fabric->links[l];
        uint32_t width = 0;
        for (uint32_t p = 0; p < topology->degree; p++) {
            width += topology->planes[(size_t)p * n + link->from] == link->to;
        }
        if (width == 0) {
            return weft_fail(error, WEFT_INPUT,
                             "link %u (%u to %u) is in no plane; run weft check on the plan", l,
                             link->from, link->to);
        }
    }
    return true;
}

bool weft_ip_list_ways(struct weft_ip_ways *ways, const struct weft_topology *topology,
                       const struct weft_routes *routes, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    if (!check_wiring(topology, routes->fabric, error)) {
        return false;
    }
    struct weft_ip_steps all = weft_ip_list_steps(routes, &scratch);
    // A step has at most `degree` ports, and together no more than its node has.
    size_t runs = 0;
    for (size_t begin = 0; begin < all.count; begin = steps_end(&all, begin)) {
        runs++;
    }
    struct weft_ip_way *built = WEFT_NEW(arena, struct weft_ip_way, runs * topology->degree);
    size_t count = 0;
    for (size_t begin = 0; begin < all.count;) {
        size_t end = steps_end(&all, begin);
        count += list_ways(built + count, topology, all.steps + begin, end - begin);
        begin = end;
    }
    WEFT_ASSERT(count <= runs * topology->degree);
    *ways = (struct weft_ip_ways){count, built};
    return true;
}

static void add_via(struct weft_text *text, const struct weft_ip_way *way)
{
    weft_text_add(text, "via ");
    add_address(text, way->port, way->next);
    weft_text_add(text, " dev \"${port}%u\" onlink", way->port);
}

static void add_route(struct weft_text *text, const struct weft_ip_way *ways, size_t way_count)
{
    const struct weft_ip_way *first = &ways[0];
    weft_text_add(text, "ip route replace ");
    add_address(text, 128, first->target);
    weft_text_add(text, "/32 proto 87");
    if (first->source == first->node) {
        weft_text_add(text, " src ");
        add_address(text, 128, first->node);
    } else {
        weft_text_add(text, " table %u", TABLE_BASE + first->source);
    }
    if (way_count == 1) {
        weft_text_add(text, " ");
        add_via(text, &ways[0]);
    }
    for (size_t i = 0; way_count > 1 && i < way_count; i++) {
        weft_text_add(text, " \\\n    nexthop ");
        add_via(text, &ways[i]);
        weft_text_add(text, " weight %u", ways[i].weight);
    }
    weft_text_add(text, "\n");
}

// A source's traffic looks into the source's own table.
static void add_rule(struct weft_text *text, uint32_t source)
{
    weft_text_add(text, "\n# traffic of server %u that passes here\n", source);
    weft_text_add(text,
                  "ip rule del priority %u 2>/dev/null || true\nip rule add priority %u from ",
                  PRIORITY_BASE + source, PRIORITY_BASE + source);
    add_address(text, 128, source);
    weft_text_add(text, "/32 lookup %u\n", TABLE_BASE + source);
}

// The ways on at one node, in runs of the same source and target.
struct node_ways {
    uint32_t node;
    const struct weft_ip_way *ways;
    size_t count;
};

static size_t run_end(const struct node_ways *all, size_t begin)
{
    const struct weft_ip_way *first = &all->ways[begin];
    size_t end = begin;
    while (end < all->count && all->ways[end].source == first->source &&
           all->ways[end].target == first->target) {
        end++;
    }
    return end;
}

// Routes of the node's own traffic, or of what passes, each source behind its rule.
static void add_routes(struct weft_text *text, const struct node_ways *all, bool own)
{
    uint32_t last_source = WEFT_NONE;
    for (size_t begin = 0; begin < all->count;) {
        const struct weft_ip_way *first = &all->ways[begin];
        size_t end = run_end(all, begin);
        if ((first->source == all->node) == own) {
            if (!own && first->source != last_source) {
                add_rule(text, first->source);
            }
            last_source = first->source;
            add_route(text, first, end - begin);
        }
        begin = end;
    }
}

static const char *write_script(const struct weft_plan *plan, const struct node_ways *all,
                                struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    add_head(&text, plan, all->node);
    add_ports(&text, &plan->topology, all->node);
    weft_text_add(&text, "\n# traffic of this server\n");
    add_routes(&text, all, true);
    add_routes(&text, all, false);
    return text.data;
}

bool weft_export_ip_routes(const char *const **scripts, const struct weft_plan *plan,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_ip_ways all;
    if (!check_wiring(&plan->topology, &plan->network.fabric, error) ||
        !weft_ip_list_ways(&all, &plan->topology, &plan->network.routes, &kept, scratch, error)) {
        return false;
    }
    uint32_t n = plan->topology.server_count;
    const char **built = WEFT_NEW(arena, const char *, n);
    size_t at = 0;
    for (uint32_t s = 0; s < n; s++) {
        size_t end = at;
        while (end < all.count && all.ways[end].node == s) {
            end++;
        }
        const struct node_ways here = {s, all.ways + at, end - at};
        built[s] = write_script(plan, &here, arena);
        at = end;
    }
    WEFT_ASSERT(at == all.count);
    *scripts = built;
    return true;
}
