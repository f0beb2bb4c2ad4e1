// SPDX-License-Identifier: Apache-2.0
// Circuits and routes of a wiring, in a lab that stands.
//
// A packet tells its source and target. A server's own traffic is in its main table; that of other
// sources in tables of their own, behind a rule each, unless it takes the same next hops as the
// server's own, which spares the kernel the rule.

#include "testbed_private.h"

#include <string.h>

// Above the tables and rules that systems use themselves (253 to 255, priorities 0 and 32766).
static const uint32_t table_base = 1000;
static const uint32_t priority_base = 10000;

const uint32_t *weft_lab_outputs(const struct weft_lab_wiring *wiring, uint32_t plane,
                                 struct weft_arena *arena)
{
    uint32_t n = wiring->server_count;
    uint32_t *outputs = WEFT_NEW(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t to = wiring->planes[(size_t)plane * n + i];
        outputs[i] = to == i ? WEFT_NONE : to;
    }
    return outputs;
}

bool weft_lab_open_ocs(struct weft_ocs *ocs, const struct weft_lab *lab, uint32_t plane,
                       struct weft_arena *arena, struct weft_error *error)
{
    if (plane >= lab->ocs_count) {
        return lab->ocs_count == 0
                   ? weft_fail(error, WEFT_INPUT, "lab '%s' has %s and no circuits", lab->name,
                               lab->switch_count > 0 ? "packet switches" : "one packet switch")
                   : weft_fail(error, WEFT_INPUT, "there is no switch %u; they are 0 to %u", plane,
                               lab->ocs_count - 1);
    }
    if (!weft_lab_has_programs(lab)) {
        char netns[WEFT_NETNS_NAME_MAX];
        const struct weft_ocs_redirect redirect = {
            .netns = weft_lab_switch_netns(netns, lab, plane),
            .port_count = lab->server_count,
            .first_index = weft_lab_cable_index(0),
            .dark_ns = lab->dark_ns,
        };
        return weft_ocs_open_redirect(ocs, &redirect, arena, error);
    }
    const struct weft_ocs_kernel kernel = {
        .program = lab->ocs[plane],
        .port_count = lab->server_count,
        .first_index = weft_lab_cable_index(0),
        .dark_ns = lab->dark_ns,
    };
    return weft_ocs_open_kernel(ocs, &kernel, arena, error);
}

// ---- next hops at one server, in runs of the same source and target ----

struct run {
    const struct weft_pair_hop *hops;
    uint32_t count;
};

// runs[source * n + target] of the next hops at `server`; empty runs have no hops.
static struct run *list_runs(const struct weft_lab_wiring *wiring, uint32_t server,
                             struct weft_arena *scratch)
{
    uint32_t n = wiring->server_count;
    struct run *runs = WEFT_NEW(scratch, struct run, (size_t)n * n);
    size_t low = 0;
    size_t high = wiring->next_hops.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (wiring->next_hops.hops[middle].node < server) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = low; i < wiring->next_hops.count && wiring->next_hops.hops[i].node == server;
         i++) {
        const struct weft_pair_hop *hop = &wiring->next_hops.hops[i];
        struct run *run = &runs[(size_t)hop->source * n + hop->target];
        run->hops = run->count == 0 ? hop : run->hops;
        run->count++;
    }
    return runs;
}

static bool same_ways(const struct run *a, const struct run *b)
{
    bool same = a->count == b->count;
    for (uint32_t i = 0; i < a->count && same; i++) {
        same = a->hops[i].port == b->hops[i].port && a->hops[i].next == b->hops[i].next &&
               a->hops[i].weight == b->hops[i].weight;
    }
    return same;
}

// The route of one pair at one server: to its next hops by weight, or none where nothing is wired.
static bool set_run(struct weft_netlink *netlink, const struct run *run, uint32_t target,
                    uint32_t table, uint32_t source_address, struct weft_error *error)
{
    struct weft_next_hop hops[WEFT_LAB_PORTS_MAX];
    struct weft_route route = {
        .target = weft_lab_server_address(target),
        .prefix_bits = 32,
        .table = table,
        .source = source_address,
        .hop_count = run->count,
        .hops = hops,
    };
    if (run->count == 0) {
        return weft_route_delete(netlink, &route, error);
    }
    WEFT_ASSERT(run->count <= WEFT_LAB_PORTS_MAX);
    for (uint32_t i = 0; i < run->count; i++) {
        const struct weft_pair_hop *hop = &run->hops[i];
        hops[i] = (struct weft_next_hop){
            .index = weft_lab_port_index(hop->port),
            .via = weft_lab_port_address(hop->next, hop->port),
            .weight = hop->weight,
        };
    }
    return weft_route_set(netlink, &route, error);
}

// Routes of what comes from `source` at `server`.
static bool set_source(struct weft_netlink *netlink, const struct run *runs, uint32_t n,
                       uint32_t server, uint32_t source, struct weft_error *error)
{
    const struct run *own = &runs[(size_t)server * n];
    const struct run *passing = &runs[(size_t)source * n];
    uint32_t table = table_base + source;
    bool alike = true;
    for (uint32_t t = 0; t < n && alike; t++) {
        alike = passing[t].count == 0 || same_ways(&passing[t], &own[t]);
    }
    if (alike) {
        return weft_rule_delete(netlink, weft_lab_server_address(source), table,
                                priority_base + source, error);
    }
    for (uint32_t t = 0; t < n; t++) {
        if (t != server && !set_run(netlink, &passing[t], t, table, 0, error)) {
            return false;
        }
    }
    return weft_rule_add(netlink, weft_lab_server_address(source), table, priority_base + source,
                         error);
}

static bool set_neighbors(struct weft_netlink *netlink, const struct weft_lab_wiring *wiring,
                          uint32_t server, struct weft_error *error)
{
    uint32_t n = wiring->server_count;
    uint8_t mac[6];
    for (uint32_t p = 0; p < wiring->port_count; p++) {
        uint32_t to = wiring->planes[(size_t)p * n + server];
        weft_lab_port_mac(mac, to, p);
        if (to != server && !weft_neighbor_set(netlink, weft_lab_port_index(p),
                                               weft_lab_port_address(to, p), mac, error)) {
            return false;
        }
    }
    return true;
}

// With one switch everybody is a neighbor.
static bool set_switched(struct weft_netlink *netlink, uint32_t n, uint32_t server,
                         struct weft_error *error)
{
    uint8_t mac[6];
    for (uint32_t t = 0; t < n; t++) {
        struct weft_pair_hop hop = {server, server, t, 0, t, 1};
        const struct run run = {&hop, 1};
        weft_lab_port_mac(mac, t, 0);
        if (t != server &&
            (!weft_neighbor_set(netlink, weft_lab_port_index(0), weft_lab_port_address(t, 0), mac,
                                error) ||
             !set_run(netlink, &run, t, 0, weft_lab_server_address(server), error))) {
            return false;
        }
    }
    return true;
}

static bool set_server(const struct weft_lab_wiring *wiring, struct weft_netlink *netlink,
                       uint32_t server, struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = wiring->server_count;
    if (wiring->planes == NULL) {
        return set_switched(netlink, n, server, error);
    }
    const struct run *runs = list_runs(wiring, server, &scratch);
    if (!set_neighbors(netlink, wiring, server, error)) {
        return false;
    }
    for (uint32_t t = 0; t < n; t++) {
        if (t != server && !set_run(netlink, &runs[(size_t)server * n + t], t, 0,
                                    weft_lab_server_address(server), error)) {
            return false;
        }
    }
    for (uint32_t s = 0; s < n; s++) {
        if (s != server && !set_source(netlink, runs, n, server, s, error)) {
            return false;
        }
    }
    return true;
}

bool weft_lab_route(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                    struct weft_arena scratch, struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    WEFT_ASSERT(wiring->server_count == lab->server_count);
    for (uint32_t s = 0; s < lab->server_count; s++) {
        struct weft_netlink netlink;
        if (!weft_netlink_open(&netlink, weft_lab_server_netns(netns, lab->name, s), error)) {
            return false;
        }
        bool fine = set_server(wiring, &netlink, s, scratch, error);
        weft_netlink_close(&netlink);
        if (!fine) {
            return false;
        }
    }
    return true;
}

// ---- another wiring ----

// Everything that can be refused is refused before a switch moves.
static bool check_move(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                       struct weft_arena scratch, struct weft_error *error)
{
    if (lab->ocs_count == 0) {
        return weft_fail(error, WEFT_INPUT, "lab '%s' has %s and no circuits", lab->name,
                         lab->switch_count > 0 ? "packet switches" : "one packet switch");
    }
    if (wiring->server_count != lab->server_count || wiring->port_count != lab->port_count) {
        return weft_fail(
            error, WEFT_INPUT,
            "the plan has %u servers of %u ports, lab '%s' %u of %u; raise another lab",
            wiring->server_count, wiring->port_count, lab->name, lab->server_count,
            lab->port_count);
    }
    for (uint32_t p = 0; p < lab->ocs_count; p++) {
        struct weft_arena kept = scratch;
        if (!weft_ocs_check_matching(weft_lab_outputs(wiring, p, &kept), lab->server_count, kept,
                                     error)) {
            return weft_wrap(error, "plane %u", p);
        }
    }
    return true;
}

// Every plane is proved a matching before any switch moves. Routes follow the circuits, so that no
// route leads into the dark for longer than the circuits take.
bool weft_lab_apply(struct weft_lab_move *move, const struct weft_lab *lab,
                    const struct weft_lab_wiring *wiring, bool with_routes,
                    struct weft_arena scratch, struct weft_error *error)
{
    struct weft_lab_move made = {0};
    struct weft_ocs switches[WEFT_LAB_PORTS_MAX] = {{0}};
    const uint32_t *outputs[WEFT_LAB_PORTS_MAX] = {NULL};
    bool fine = check_move(lab, wiring, scratch, error);
    // All is made ready first, so that the switches move together.
    for (uint32_t p = 0; p < lab->ocs_count && fine; p++) {
        outputs[p] = weft_lab_outputs(wiring, p, &scratch);
        fine = weft_lab_open_ocs(&switches[p], lab, p, &scratch, error);
    }
    double begun_s = weft_lab_clock_s();
    for (uint32_t p = 0; p < lab->ocs_count && fine; p++) {
        struct weft_ocs_change change = {0};
        fine = weft_ocs_apply(&change, &switches[p], outputs[p], scratch, error) ||
               weft_wrap(error, "switch %u", p);
        made.circuits.changed += change.changed;
        made.circuits.untouched += change.untouched;
    }
    made.circuits_s = weft_lab_clock_s() - begun_s;
    begun_s = weft_lab_clock_s();
    fine = fine && (!with_routes || weft_lab_route(lab, wiring, scratch, error));
    made.routes_s = weft_lab_clock_s() - begun_s;
    for (uint32_t p = 0; p < lab->ocs_count; p++) {
        weft_ocs_close(&switches[p]);
    }
    if (fine) {
        *move = made;
    }
    return fine;
}
