// SPDX-License-Identifier: Apache-2.0
// Circuits and routes of a job that heals (network.h). O(hosts * switches).

#include "network.h"
#include "runtime/rails/management.h"

#include <string.h>

void lab_heal_wire(struct weft_lab_wiring *wiring, const struct lab_heal_rack *rack,
                   struct weft_arena *arena)
{
    uint32_t n = rack->host_count;
    uint32_t *planes = WEFT_NEW(arena, uint32_t, (size_t)n * rack->plane_count);
    for (uint32_t p = 0; p < rack->plane_count; p++) {
        uint32_t *outputs = planes + (size_t)p * n;
        lab_heal_circuits(outputs, rack, p);
        for (uint32_t h = 0; h < n; h++) {
            outputs[h] = outputs[h] == WEFT_NONE ? h : outputs[h];
        }
    }
    *wiring = (struct weft_lab_wiring){
        .server_count = n, .port_count = rack->plane_count, .planes = planes};
}

// Routes that a switch's circuits need and do not have. What went dark keeps its route: nobody
// sends there, and a rank's next connection goes to another address.
static bool route(struct lab_heal_network *network, const struct lab_heal_rack *rack,
                  uint32_t plane, struct weft_error *error)
{
    uint32_t outputs[LAB_HEAL_HOSTS_MAX];
    lab_heal_circuits(outputs, rack, plane);
    for (uint32_t h = 0; h < network->host_count; h++) {
        uint32_t to = outputs[h];
        if (to == WEFT_NONE || network->far[h][plane] == to || rack->host_lost[h]) {
            continue;
        }
        if (!lab_management_route(&network->hosts[h], to, plane, plane, error)) {
            return weft_wrap(error, "host %u", h);
        }
        network->far[h][plane] = to;
    }
    return true;
}

bool lab_heal_network_open(struct lab_heal_network *network, const struct weft_lab *lab,
                           const struct lab_heal_rack *rack, struct weft_arena *arena,
                           struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    *network = (struct lab_heal_network){
        .lab = lab, .host_count = rack->host_count, .plane_count = rack->plane_count};
    memset(network->far, 0xff, sizeof network->far);
    if (!weft_lab_has_programs(lab)) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "switches that turn at once need programs in the kernel, which are not "
                         "permitted here; run as root, by a Weft with eBPF");
    }
    bool fine = true;
    for (uint32_t p = 0; p < rack->plane_count && fine; p++) {
        fine = weft_lab_open_ocs(&network->planes[p], lab, p, arena, error);
    }
    for (uint32_t h = 0; h < rack->host_count && fine; h++) {
        fine = weft_netlink_open(&network->hosts[h], weft_lab_server_netns(netns, lab->name, h),
                                 error);
    }
    for (uint32_t p = 0; p < rack->plane_count && fine; p++) {
        fine = route(network, rack, p, error);
    }
    if (!fine) {
        lab_heal_network_close(network);
    }
    return fine;
}

void lab_heal_network_close(struct lab_heal_network *network)
{
    for (uint32_t p = 0; p < network->plane_count; p++) {
        weft_ocs_close(&network->planes[p]);
    }
    for (uint32_t h = 0; h < network->host_count; h++) {
        weft_netlink_close(&network->hosts[h]);
    }
}

// ---- an electrical rack ----

// A spare on a detour: its two edges go through a relay, to whose port it has one link.
struct detour {
    uint32_t spare, relay;
    uint32_t before, after; // hosts at the far ends of its edges, and
    uint32_t first, second; // their switches
    uint32_t shared;        // the switch of the one link
};

// False: no spare has a rank, or its link finds no switch.
static bool find_detour(struct detour *detour, const struct lab_heal_network *network,
                        const struct lab_heal_rack *rack)
{
    uint32_t n = rack->rank_count;
    for (uint32_t r = 0; r < n && network->detour; r++) {
        struct detour found = {.spare = rack->host[r],
                               .relay = rack->host_count - 1,
                               .before = rack->host[(r + n - 1) % n],
                               .after = rack->host[(r + 1) % n],
                               .first = rack->plane[(r + n - 1) % n],
                               .second = rack->plane[r]};
        while (found.shared == found.first || found.shared == found.second) {
            found.shared++;
        }
        if (found.spare >= rack->spare_first && found.shared < rack->plane_count) {
            *detour = found;
            return true;
        }
    }
    return false;
}

static void bend(uint32_t *outputs, const struct detour *detour, uint32_t plane)
{
    uint32_t far = plane == detour->first    ? detour->before
                   : plane == detour->second ? detour->after
                                             : detour->spare;
    if (plane != detour->first && plane != detour->second && plane != detour->shared) {
        return;
    }
    outputs[detour->spare] = WEFT_NONE;
    outputs[detour->relay] = far;
    outputs[far] = detour->relay;
}

static bool set_hop(struct weft_netlink *netlink, uint32_t target, uint32_t plane, uint32_t via,
                    struct weft_error *error)
{
    const struct weft_next_hop hop = {weft_lab_port_index(plane), via, 1};
    const struct weft_route route = {
        .target = target, .prefix_bits = 32, .hop_count = 1, .hops = &hop};
    return weft_route_set(netlink, &route, error);
}

static bool route_detour(struct lab_heal_network *network, const struct detour *detour,
                         struct weft_error *error)
{
    const uint32_t ends[2] = {detour->before, detour->after};
    const uint32_t planes[2] = {detour->first, detour->second};
    struct weft_netlink *relay = &network->hosts[detour->relay];
    char netns[WEFT_NETNS_NAME_MAX];
    weft_lab_server_netns(netns, network->lab->name, detour->relay);
    if (!weft_netns_sysctl(netns, "net/ipv4/ip_forward", "1", error)) {
        return false;
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t spare = weft_lab_port_address(detour->spare, planes[i]);
        uint32_t end = weft_lab_port_address(ends[i], planes[i]);
        uint32_t to_relay = weft_lab_port_address(detour->relay, planes[i]);
        if (!set_hop(&network->hosts[ends[i]], spare, planes[i], to_relay, error) ||
            !set_hop(relay, spare, detour->shared,
                     weft_lab_port_address(detour->spare, detour->shared), error) ||
            !set_hop(relay, end, planes[i], 0, error) ||
            !set_hop(&network->hosts[detour->spare], end, detour->shared,
                     weft_lab_port_address(detour->relay, detour->shared), error)) {
            return weft_wrap(error, "the detour");
        }
    }
    return true;
}

bool lab_heal_turn(struct lab_heal_network *network, uint32_t *plane, uint32_t *changed,
                   const struct lab_heal_rack *rack, struct weft_arena scratch,
                   struct weft_error *error)
{
    uint32_t outputs[LAB_HEAL_HOSTS_MAX];
    struct detour detour = {0};
    bool bends = find_detour(&detour, network, rack);
    *changed = 0;
    for (uint32_t p = 0; p < rack->plane_count; p++) {
        struct weft_ocs_change change = {0};
        if (rack->plane_lost[p]) {
            continue;
        }
        lab_heal_circuits(outputs, rack, p);
        if (bends) {
            bend(outputs, &detour, p);
        }
        if (!weft_ocs_apply(&change, &network->planes[p], outputs, scratch, error)) {
            *plane = p;
            return weft_wrap(error, "switch %u", p);
        }
        *changed += change.changed;
    }
    *plane = WEFT_NONE;
    for (uint32_t p = 0; p < rack->plane_count; p++) {
        if (!rack->plane_lost[p] && !route(network, rack, p, error)) {
            return false;
        }
    }
    return !bends || route_detour(network, &detour, error);
}
