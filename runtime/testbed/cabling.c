// SPDX-License-Identifier: Apache-2.0
// How a lab is cabled: from a plan, as a ring, to one switch; switched.c has fabrics of switches.
//
// A plan's circuits become one permutation for each port number (a plane, which is one optical
// switch), and its routes become next hops for each pair of servers.

#include "testbed.h"

#include <string.h>

static bool fits(uint32_t server_count, uint32_t port_count, struct weft_error *error)
{
    if (server_count < 2 || server_count > WEFT_LAB_SERVERS_MAX ||
        port_count > WEFT_LAB_PORTS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "%u servers of %u ports; a lab has 2 to %u servers of at most %u ports",
                         server_count, port_count, WEFT_LAB_SERVERS_MAX, WEFT_LAB_PORTS_MAX);
    }
    return true;
}

bool weft_lab_wire_plan(struct weft_lab_wiring *wiring, const struct weft_plan *plan,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    const struct weft_topology *topology = &plan->topology;
    struct weft_lab_wiring made = {
        .server_count = topology->server_count,
        .port_count = topology->degree,
        .planes = topology->planes,
        .rate_Bps = plan->cluster.rate_Bps,
    };
    const struct weft_port_map ports = {made.server_count, made.port_count, made.planes};
    if (!fits(made.server_count, made.port_count, error) ||
        !weft_routing_next_hops(
            &made.next_hops, &plan->network.routes, &ports,
            &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error})) {
        return false;
    }
    *wiring = made;
    return true;
}

bool weft_lab_wire_ring(struct weft_lab_wiring *wiring, uint32_t server_count,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    uint32_t n = server_count;
    if (n < 3) {
        return weft_fail(error, WEFT_INPUT, "a ring of %u servers; it takes 3", n);
    }
    if (!fits(n, 2, error)) {
        return false;
    }
    uint32_t *planes = WEFT_NEW(arena, uint32_t, 2 * (size_t)n);
    struct weft_link *links = WEFT_NEW(&scratch, struct weft_link, 2 * (size_t)n);
    for (uint32_t i = 0; i < n; i++) {
        planes[i] = (i + 1) % n;
        planes[n + i] = (i + n - 1) % n;
        links[2 * i] = (struct weft_link){i, planes[i], 1, 0, 1};
        links[2 * i + 1] = (struct weft_link){i, planes[n + i], 1, 0, 1};
    }
    const struct weft_port_map ports = {.server_count = n, .port_count = 2, .planes = planes};
    struct weft_fabric fabric;
    struct weft_routes routes;
    struct weft_lab_wiring made = {.server_count = n, .port_count = 2, .planes = planes};
    struct weft_arena kept = weft_arena_split(&scratch);
    if (!weft_fabric_build(&fabric, &(struct weft_fabric_links){"ring", n, n, links, 2 * n}, &kept,
                           error) ||
        !weft_routes_build_ring(&routes, &fabric, error) ||
        !weft_routing_next_hops(
            &made.next_hops, &routes, &ports,
            &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error})) {
        return false;
    }
    *wiring = made;
    return true;
}

bool weft_lab_wire_switch(struct weft_lab_wiring *wiring, uint32_t server_count,
                          struct weft_error *error)
{
    if (!fits(server_count, 1, error)) {
        return false;
    }
    *wiring = (struct weft_lab_wiring){.server_count = server_count, .port_count = 1};
    return true;
}

bool weft_lab_rewire(struct weft_lab_wiring *wiring, const struct weft_lab *lab,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct weft_lab_wiring made = {0};
    if (strcmp(lab->fabric, "ring") == 0) {
        return weft_lab_wire_ring(wiring, lab->server_count, arena, scratch, error);
    }
    if (strcmp(lab->fabric, "switch") == 0) {
        return weft_lab_wire_switch(wiring, lab->server_count, error);
    }
    if (lab->switch_count > 0) {
        const struct weft_lab_fabric fabric = {lab->fabric, lab->server_count, lab->degree,
                                               lab->radix, lab->planned_rate_Bps};
        return weft_lab_wire_fabric(wiring, &fabric, arena, scratch, error);
    }
    if (lab->plan_path[0] == '\0') {
        return weft_fail(error, WEFT_INPUT,
                         "lab '%s' was raised from a plan that is no file; weft lab ocs apply "
                         "PLAN.json names it again",
                         lab->name);
    }
    struct weft_plan *plan = WEFT_NEW(arena, struct weft_plan, 1);
    if (!weft_plan_load(plan, lab->plan_path, arena, scratch, error) ||
        !weft_lab_wire_plan(&made, plan, arena, scratch, error)) {
        return false;
    }
    if (made.server_count != lab->server_count || made.port_count != lab->port_count) {
        return weft_fail(error, WEFT_INPUT, "%s is not the plan that lab '%s' was raised from",
                         lab->plan_path, lab->name);
    }
    *wiring = made;
    return true;
}
