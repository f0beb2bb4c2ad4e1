// SPDX-License-Identifier: Apache-2.0
// A plan as `ip` scripts, one for each server, in the words of iproute2 (docs/exports.md):
// addresses, fixed neighbors, and for every source whose traffic passes a table of weighted next
// hops. Which next hops those are, weft_routing_next_hops decides; here they are only spelled.
//
// The kernel routes by target alone, but a pair's path depends on its source, too. So every source
// has a routing table of its own at each server that it passes, behind a rule that selects it by
// the source address.

#include "weft/format/export.h"
#include "weft/routing.h"

#include <stdlib.h>

#define SERVERS_MAX 65536u // numbers of two bytes in an address
#define PORTS_MAX 128u     // second bytes 0 to 127; servers have 128
// Tables and rules of sources begin here, away from those that the kernel (253 to 255; priorities
// 0, 32766, 32767) and distributions use.
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

// ---- routes ----

static bool check_addresses(const struct weft_topology *topology, struct weft_error *error)
{
    if (topology->server_count > SERVERS_MAX || topology->degree > PORTS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "addresses are made for %u servers of %u ports; the plan has %u of %u",
                         SERVERS_MAX, PORTS_MAX, topology->server_count, topology->degree);
    }
    return true;
}

static void add_via(struct weft_text *text, const struct weft_pair_hop *hop)
{
    weft_text_add(text, "via ");
    add_address(text, hop->port, hop->next);
    weft_text_add(text, " dev \"${port}%u\" onlink", hop->port);
}

static void add_route(struct weft_text *text, const struct weft_pair_hop *hops, size_t hop_count)
{
    const struct weft_pair_hop *first = &hops[0];
    weft_text_add(text, "ip route replace ");
    add_address(text, 128, first->target);
    weft_text_add(text, "/32 proto 87");
    if (first->source == first->node) {
        weft_text_add(text, " src ");
        add_address(text, 128, first->node);
    } else {
        weft_text_add(text, " table %u", TABLE_BASE + first->source);
    }
    if (hop_count == 1) {
        weft_text_add(text, " ");
        add_via(text, &hops[0]);
    }
    for (size_t i = 0; hop_count > 1 && i < hop_count; i++) {
        weft_text_add(text, " \\\n    nexthop ");
        add_via(text, &hops[i]);
        weft_text_add(text, " weight %u", hops[i].weight);
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

// The next hops at one node, in runs of the same source and target.
struct node_hops {
    uint32_t node;
    const struct weft_pair_hop *hops;
    size_t count;
};

static size_t run_end(const struct node_hops *all, size_t begin)
{
    const struct weft_pair_hop *first = &all->hops[begin];
    size_t end = begin;
    while (end < all->count && all->hops[end].source == first->source &&
           all->hops[end].target == first->target) {
        end++;
    }
    return end;
}

// Routes of the node's own traffic, or of what passes, each source behind its rule.
static void add_routes(struct weft_text *text, const struct node_hops *all, bool own)
{
    uint32_t last_source = WEFT_NONE;
    for (size_t begin = 0; begin < all->count;) {
        const struct weft_pair_hop *first = &all->hops[begin];
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

static const char *write_script(const struct weft_plan *plan, const struct node_hops *all,
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
    struct weft_pair_hops all;
    uint32_t n = plan->topology.server_count;
    const struct weft_port_map ports = {n, plan->topology.degree, plan->topology.planes};
    if (!check_addresses(&plan->topology, error) ||
        !weft_routing_next_hops(
            &all, &plan->network.routes, &ports,
            &(struct weft_environment){.arena = &kept, .scratch = scratch, .error = error})) {
        return false;
    }
    const char **built = WEFT_NEW(arena, const char *, n);
    size_t at = 0;
    for (uint32_t s = 0; s < n; s++) {
        size_t end = at;
        while (end < all.count && all.hops[end].node == s) {
            end++;
        }
        const struct node_hops here = {s, all.hops + at, end - at};
        built[s] = write_script(plan, &here, arena);
        at = end;
    }
    WEFT_ASSERT(at == all.count);
    *scripts = built;
    return true;
}
