// SPDX-License-Identifier: Apache-2.0
// Whether a topology is what it says: planes that optical switches can realise, rings that run.
//
// A plane must be a permutation, because an optical switch joins each input port to one output
// port. A ring must visit every member of its group once and get from each to the next, by a link
// of the planes or by its own path of links; the rings of a group must carry all of its bytes. O(n
// d^2 + members d).

#include "internal.h"

#include <math.h>
#include <string.h>

static bool check_plane(const struct weft_topology *topology, uint32_t p, bool *hit,
                        struct weft_error *error)
{
    uint32_t n = topology->server_count;
    memset(hit, 0, n * sizeof *hit);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t to = topology->planes[(size_t)p * n + i];
        if (to >= n) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "plane %u joins server %u to server %u and there are %u", p, i, to, n);
        }
        if (hit[to]) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "plane %u is no permutation: two servers send to server %u", p, to);
        }
        hit[to] = true;
    }
    return true;
}

// Whether the ring gets from member i to the next: by a link of the planes, or by its own
// hop_links.
static bool reaches_next(const struct weft_topology_links *links, const struct weft_ring *ring,
                         uint32_t i)
{
    uint32_t at = ring->members[i];
    uint32_t to = ring->members[(i + 1) % ring->member_count];
    if (ring->hop_first == NULL) {
        return weft_topology_find_link(links, at, to) != WEFT_NONE;
    }
    for (uint32_t h = ring->hop_first[i]; h < ring->hop_first[i + 1]; h++) {
        uint32_t link = ring->hop_links[h];
        if (link >= links->link_count || links->from[link] != at) {
            return false;
        }
        at = links->to[link];
    }
    return at == to;
}

struct ring_check {
    const struct weft_topology *topology;
    const struct weft_traffic *traffic; // NULL: uniform, one group of all servers
    struct weft_topology_links links;
    bool *mark; // by server; false between rings
};

// Ring r against its group's members: as many, each visited once, and a way from each to the next.
static bool check_ring(const struct ring_check *check, uint32_t r, struct weft_error *error)
{
    const struct weft_topology *topology = check->topology;
    const struct weft_ring *ring = &topology->rings.rings[r];
    const struct weft_traffic_group *group =
        check->traffic == NULL ? NULL : &check->traffic->groups[ring->group];
    uint32_t member_count = group == NULL ? topology->server_count : group->member_count;
    bool *mark = check->mark;
    if (ring->member_count != member_count) {
        return weft_fail(error, WEFT_INFEASIBLE, "ring %u has %u members and its group %u has %u",
                         r, ring->member_count, ring->group, member_count);
    }
    for (uint32_t i = 0; i < member_count; i++) {
        uint32_t server = ring->members[i];
        if (server >= topology->server_count || mark[server]) {
            return weft_fail(error, WEFT_INFEASIBLE, "ring %u visits server %u %s", r, server,
                             server < topology->server_count ? "twice" : "which is not there");
        }
        mark[server] = true;
    }
    for (uint32_t i = 0; i < member_count; i++) {
        uint32_t server = group == NULL ? i : group->members[i];
        if (!mark[server]) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "ring %u does not visit server %u of its group %u", r, server,
                             ring->group);
        }
        mark[server] = false;
        uint32_t from = ring->members[i];
        uint32_t to = ring->members[(i + 1) % member_count];
        if (!reaches_next(&check->links, ring, i)) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "ring %u goes from server %u to server %u and no plane joins them", r,
                             from, to);
        }
    }
    return true;
}

static bool check_shares(const struct weft_topology *topology, uint32_t group_count, double *share,
                         struct weft_error *error)
{
    for (uint32_t r = 0; r < topology->rings.ring_count; r++) {
        share[topology->rings.rings[r].group] += topology->rings.rings[r].share_ratio;
    }
    for (uint32_t r = 0; r < topology->rings.ring_count; r++) {
        uint32_t group = topology->rings.rings[r].group;
        WEFT_ASSERT(group < group_count);
        if (!(fabs(share[group] - 1) < 1e-9)) {
            return weft_fail(error, WEFT_INFEASIBLE,
                             "the rings of group %u carry %.9g of its bytes, not all", group,
                             share[group]);
        }
    }
    return true;
}

bool weft_topology_check(const struct weft_topology *topology, const struct weft_traffic *traffic,
                         struct weft_arena scratch, struct weft_error *error)
{
    bool *mark = WEFT_NEW(&scratch, bool, topology->server_count);
    for (uint32_t p = 0; p < topology->degree; p++) {
        if (!check_plane(topology, p, mark, error)) {
            return false;
        }
    }
    memset(mark, 0, topology->server_count * sizeof *mark);
    // Without groups the traffic counts as uniform: one group of all servers.
    bool uniform = traffic == NULL || traffic->group_count == 0;
    struct ring_check check = {
        .topology = topology, .traffic = uniform ? NULL : traffic, .mark = mark};
    weft_topology_list_links(&check.links, topology->planes, topology->server_count,
                             topology->degree, &scratch);
    uint32_t group_count = uniform ? 1 : traffic->group_count;
    for (uint32_t r = 0; r < topology->rings.ring_count; r++) {
        uint32_t group = topology->rings.rings[r].group;
        if (group >= group_count) {
            return weft_fail(error, WEFT_INFEASIBLE, "ring %u is of group %u and there are %u", r,
                             group, group_count);
        }
        if (!check_ring(&check, r, error)) {
            return false;
        }
    }
    double *share = WEFT_NEW(&scratch, double, group_count);
    return check_shares(topology, group_count, share, error);
}
