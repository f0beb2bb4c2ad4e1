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

bool lab_heal_turn(struct lab_heal_network *network, uint32_t *plane, uint32_t *changed,
                   const struct lab_heal_rack *rack, struct weft_arena scratch,
                   struct weft_error *error)
{
    uint32_t outputs[LAB_HEAL_HOSTS_MAX];
    *changed = 0;
    for (uint32_t p = 0; p < rack->plane_count; p++) {
        struct weft_ocs_change change = {0};
        if (rack->plane_lost[p]) {
            continue;
        }
        lab_heal_circuits(outputs, rack, p);
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
    return true;
}
