// SPDX-License-Identifier: Apache-2.0
// What a plan says of its planes: hops, diameter, generators, and which of them carry rings.
//
// Hops are counted by a breadth-first search from every server over the fabric's links. Planes that
// are all circulant (i -> i + jump) may be described by their jumps. The rings under `topology` are
// those of the traffic's groups whose every hop is one link; the same cycles must stand among the
// rings of the task graph's groups. A plane that holds a whole ring is one for rings.
// O(n (n + m) + rings^2).

#include "checks.h"
#include "loads.h"

#include <math.h>
#include <string.h>

static void check_hops(struct findings *findings, const struct weft_plan *plan,
                       struct weft_arena scratch)
{
    const struct weft_fabric *fabric = &plan->network.fabric;
    uint32_t *distance = WEFT_NEW_RAW(&scratch, uint32_t, fabric->node_count);
    double sum = 0;
    double pairs = 0;
    uint32_t diameter = 0;
    for (uint32_t s = 0; s < fabric->server_count; s++) {
        hops_from(distance, fabric, s, scratch);
        for (uint32_t t = 0; t < fabric->server_count; t++) {
            if (t != s && distance[t] != WEFT_NONE) {
                sum += distance[t];
                pairs++;
                diameter = distance[t] > diameter ? distance[t] : diameter;
            }
        }
    }
    findings_compare(findings, "topology.mean_hops", plan->topology.mean_hops,
                     pairs > 0 ? sum / pairs : 0);
    if (plan->topology.diameter != diameter) {
        findings_add(findings, "topology.diameter is stated as %u, but is %u",
                     plan->topology.diameter, diameter);
    }
}

// The jump of a plane that is i -> i + jump, or WEFT_NONE.
static uint32_t jump_of(const struct weft_topology *topology, uint32_t plane)
{
    uint32_t n = topology->server_count;
    const uint32_t *to = topology->planes + (size_t)plane * n;
    for (uint32_t i = 0; i < n; i++) {
        if (to[i] != (i + to[0]) % n) {
            return WEFT_NONE;
        }
    }
    return to[0];
}

// Generators are left out, or are the jumps of all planes, where those are circulant.
static void check_generators(struct findings *findings, const struct weft_topology *topology)
{
    uint32_t n = topology->server_count;
    for (uint32_t i = 0; i < topology->generator_count; i++) {
        uint32_t wanted = topology->generators[i];
        bool used = false;
        for (uint32_t p = 0; p < topology->degree; p++) {
            uint32_t jump = jump_of(topology, p);
            used = used || (wanted != 0 && jump == wanted) ||
                   (!topology->simplex && jump != WEFT_NONE && wanted != 0 && jump == n - wanted);
        }
        if (!used || (i > 0 && topology->generators[i - 1] >= wanted)) {
            findings_add(findings, "topology.generators[%u]: no plane is i -> i + %u", i, wanted);
        }
    }
    for (uint32_t p = 0; p < topology->degree && topology->generator_count > 0; p++) {
        uint32_t jump = jump_of(topology, p);
        bool listed = jump == 0;
        for (uint32_t i = 0; i < topology->generator_count; i++) {
            uint32_t stated = topology->generators[i];
            listed = listed || jump == stated || (!topology->simplex && jump == n - stated);
        }
        if (!listed) {
            findings_add(findings, "topology.generators do not have the jump of plane %u", p);
        }
    }
}

// ---- rings of the topology ----

// Whether a plane leads along all hops of a ring.
static bool holds(const struct weft_topology *topology, uint32_t plane,
                  const struct weft_ring *ring)
{
    const uint32_t *to = topology->planes + (size_t)plane * topology->server_count;
    for (uint32_t i = 0; i < ring->member_count; i++) {
        if (to[ring->members[i]] != ring->members[(i + 1) % ring->member_count]) {
            return false;
        }
    }
    return true;
}

static bool is_same_cycle(const struct weft_ring *a, const struct weft_ring *b)
{
    return a->member_count == b->member_count && !figures_differ(a->share_ratio, b->share_ratio) &&
           memcmp(a->members, b->members, a->member_count * sizeof *a->members) == 0;
}

// Members of one traffic group are the same set; returns whether both rings have the same.
static bool is_same_set(const struct weft_ring *a, const struct weft_ring *b, uint8_t *seen)
{
    uint32_t common = 0;
    for (uint32_t i = 0; i < a->member_count; i++) {
        seen[a->members[i]] = 1;
    }
    for (uint32_t i = 0; i < b->member_count; i++) {
        common += seen[b->members[i]];
    }
    for (uint32_t i = 0; i < a->member_count; i++) {
        seen[a->members[i]] = 0;
    }
    return a->member_count == b->member_count && common == a->member_count;
}

// One ring: on one plane or along links, and among the rings that are played; of one group the same
// members as the ring before it, of another one other members. Where no ring is played, as no group
// sends, the planes are made for one group of all servers.
static void check_ring(struct findings *findings, const struct weft_plan *plan, uint32_t index,
                       uint8_t *seen)
{
    const struct weft_ring_set *rings = &plan->topology.rings;
    const struct weft_ring *ring = &rings->rings[index];
    bool played =
        plan->network.rings.ring_count == 0 && ring->member_count == plan->topology.server_count;
    for (uint32_t r = 0; r < plan->network.rings.ring_count && !played; r++) {
        played = is_same_cycle(ring, &plan->network.rings.rings[r]);
    }
    if (!played) {
        findings_add(findings, "topology.rings[%u] is none of the plan's rings", index);
    }
    for (uint32_t i = 0; ring->hop_first != NULL && i < ring->member_count; i++) {
        if (ring->hop_first[i + 1] - ring->hop_first[i] != 1) {
            findings_add(findings, "topology.rings[%u]: hop %u is not one link", index, i);
            return;
        }
    }
    for (uint32_t r = 0; r < index; r++) {
        bool same_group = rings->rings[r].group == ring->group;
        if (is_same_set(ring, &rings->rings[r], seen) != same_group) {
            findings_add(findings, "topology.rings[%u] and [%u]: %s", r, index,
                         same_group ? "one group has two sets of members"
                                    : "two groups have one set of members");
            return;
        }
    }
}

void check_topology(struct findings *findings, const struct weft_plan *plan,
                    struct weft_arena scratch)
{
    const struct weft_topology *topology = &plan->topology;
    check_hops(findings, plan, scratch);
    check_generators(findings, topology);
    uint8_t *seen = WEFT_NEW(&scratch, uint8_t, topology->server_count);
    bool *carries = WEFT_NEW(&scratch, bool, topology->degree);
    uint32_t planes = 0;
    for (uint32_t r = 0; r < topology->rings.ring_count; r++) {
        check_ring(findings, plan, r, seen);
        for (uint32_t p = 0; p < topology->degree; p++) {
            bool first = !carries[p] && holds(topology, p, &topology->rings.rings[r]);
            carries[p] = carries[p] || first;
            planes += first ? 1 : 0;
        }
    }
    if (topology->allreduce_degree != planes) {
        findings_add(findings,
                     "topology.allreduce_degree is stated as %u, but %u "
                     "planes carry rings",
                     topology->allreduce_degree, planes);
    }
}
