// SPDX-License-Identifier: Apache-2.0
// The paper's TopologyFinder (TopoOpt, NSDI 2023, section 4.3 and algorithm 1): split the degree,
// rings for the AllReduce groups, matchings for the rest.
//
// The degree goes to rings and matchings in proportion to their bytes. Rings are circulants
// i -> i + jump over a group's sorted members, their jumps near a geometric sequence so that
// distances stay short (select.c); matchings take the heaviest pairs left, whose demand then counts
// half (matchings.c); what stays dark is paired so that most hops are saved. Where that leaves the
// servers unconnected, it is done again with a ring over all of them set aside first.
// docs/topologyfinder.md compares each step with the paper and its artifact. O(d n^3) for the
// matchings.

#include "topology/internal.h"

#include <math.h>
#include <string.h>

// A group that wants rings. `spanning` groups belong to no traffic group: they only connect.
struct claim {
    uint32_t group; // index in the traffic, WEFT_NONE when spanning
    uint32_t member_count;
    const uint32_t *members;
    double load_bytes; // what each member sends: wire bytes / members
    uint32_t plane_count;
    uint32_t *planes; // which planes it got, degree entries of room
};

struct builder {
    uint32_t n;
    uint32_t degree;
    bool simplex;
    uint32_t *planes; // degree * n, dark = self
    uint32_t claim_count;
    struct claim *claims; // falling volume
    uint32_t allreduce_degree;
};

// ---- the claims ----

static const uint32_t *list_all(uint32_t n, struct weft_arena *arena)
{
    uint32_t *all = WEFT_NEW_RAW(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        all[i] = i;
    }
    return all;
}

// Uniform demand is one group of everybody; `spanning` puts one in front that only connects.
static void list_claims(struct builder *builder, const struct weft_traffic *traffic, bool spanning,
                        struct weft_arena *arena)
{
    uint32_t group_count = traffic == NULL ? 0 : traffic->group_count;
    bool uniform = group_count == 0 && (traffic == NULL || traffic->transfer_total_bytes <= 0);
    struct claim *claims = WEFT_NEW(arena, struct claim, (size_t)group_count + 1);
    uint32_t count = 0;
    if (uniform || spanning) {
        claims[count++] = (struct claim){.group = uniform ? 0 : WEFT_NONE,
                                         .member_count = builder->n,
                                         .members = list_all(builder->n, arena)};
    }
    for (uint32_t g = 0; g < group_count; g++) {
        const struct weft_traffic_group *group = &traffic->groups[g];
        claims[count++] = (struct claim){.group = g,
                                         .member_count = group->member_count,
                                         .members = group->members,
                                         .load_bytes = group->wire_bytes / group->member_count};
    }
    for (uint32_t c = 0; c < count; c++) {
        claims[c].planes = WEFT_NEW_RAW(arena, uint32_t, builder->degree);
    }
    builder->claim_count = count;
    builder->claims = claims;
}

// ---- planes for the claims ----

// Whether all members of a claim are dark on plane p. `taken` is degree * n.
static bool is_free(const struct builder *builder, const bool *taken, const struct claim *claim,
                    uint32_t p)
{
    for (uint32_t i = 0; i < claim->member_count; i++) {
        if (taken[(size_t)p * builder->n + claim->members[i]]) {
            return false;
        }
    }
    return true;
}

// Gives a claim up to `wanted` more of the AllReduce planes. Returns how many it got.
static uint32_t take_planes(const struct builder *builder, bool *taken, struct claim *claim,
                            uint32_t wanted)
{
    uint32_t got = 0;
    for (uint32_t p = 0; p < builder->allreduce_degree && got < wanted; p++) {
        if (!is_free(builder, taken, claim, p)) {
            continue;
        }
        for (uint32_t i = 0; i < claim->member_count; i++) {
            taken[(size_t)p * builder->n + claim->members[i]] = true;
        }
        claim->planes[claim->plane_count++] = p;
        got++;
    }
    return got;
}

// Ports a ring takes: one, or two when duplex (but a pair of servers needs one cable).
static uint32_t ring_width(const struct builder *builder, const struct claim *claim)
{
    return builder->simplex || claim->member_count == 2 ? 1 : 2;
}

// Divides the AllReduce planes among the claims: each its share d_k = ceil(d_A T_k / T_AR) by
// falling volume, T_AR the most that any of its members carries; then what is left, ring by ring.
static void divide_planes(struct builder *builder, struct weft_arena scratch)
{
    bool *taken = WEFT_NEW(&scratch, bool, (size_t)builder->degree * builder->n);
    double *load = WEFT_NEW(&scratch, double, builder->n);
    for (uint32_t c = 0; c < builder->claim_count; c++) {
        for (uint32_t i = 0; i < builder->claims[c].member_count; i++) {
            load[builder->claims[c].members[i]] += builder->claims[c].load_bytes;
        }
    }
    for (uint32_t c = 0; c < builder->claim_count; c++) {
        struct claim *claim = &builder->claims[c];
        double total = 0;
        for (uint32_t i = 0; i < claim->member_count; i++) {
            total = fmax(total, load[claim->members[i]]);
        }
        double share = total > 0 ? claim->load_bytes / total : 0;
        uint32_t wanted = (uint32_t)ceil(share * builder->allreduce_degree - 1e-9);
        uint32_t width = ring_width(builder, claim);
        wanted = wanted < width ? width : wanted;
        wanted += (width - wanted % width) % width;
        take_planes(builder, taken, claim, wanted);
    }
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t c = 0; c < builder->claim_count; c++) {
            struct claim *claim = &builder->claims[c];
            if (claim->group != WEFT_NONE) {
                uint32_t width = ring_width(builder, claim);
                progress = take_planes(builder, taken, claim, width) > 0 || progress;
            }
        }
    }
}

// ---- rings ----

// Puts i -> i + jump over the sorted members on a plane and records it as a ring of the group.
static void lay_ring(struct builder *builder, const struct claim *claim, uint32_t p, uint32_t jump,
                     struct weft_ring *ring, struct weft_arena *arena)
{
    uint32_t m = claim->member_count;
    uint32_t *plane = builder->planes + (size_t)p * builder->n;
    uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, m);
    for (uint32_t i = 0, at = 0; i < m; i++, at = (at + jump) % m) {
        order[i] = claim->members[at];
        WEFT_ASSERT(plane[claim->members[at]] == claim->members[at]);
        plane[claim->members[at]] = claim->members[(at + jump) % m];
    }
    *ring = (struct weft_ring){.group = claim->group,
                               .member_count = m,
                               .members = order,
                               .share_ratio = 1.0 / claim->plane_count};
}

// Lays all rings of a claim: duplex jumps go both ways on two planes, an odd last plane one way.
static uint32_t lay_claim(struct builder *builder, const struct claim *claim,
                          struct weft_ring *rings, struct weft_arena *arena,
                          struct weft_arena scratch)
{
    if (claim->plane_count == 0) {
        return 0;
    }
    uint32_t m = claim->member_count;
    uint32_t width = ring_width(builder, claim);
    uint32_t count = (claim->plane_count + width - 1) / width;
    uint32_t *jumps = WEFT_NEW_RAW(&scratch, uint32_t, count);
    weft_topology_select(jumps, m, count, width == 2, scratch);
    for (uint32_t i = 0; i < claim->plane_count; i++) {
        uint32_t jump = i % width == 0 ? jumps[i / width] : m - jumps[i / width];
        lay_ring(builder, claim, claim->planes[i], jump, &rings[i], arena);
    }
    return claim->group == WEFT_NONE ? 0 : claim->plane_count;
}

static struct weft_ring_set lay_rings(struct builder *builder, struct weft_arena *arena,
                                      struct weft_arena scratch)
{
    uint32_t room = 0;
    for (uint32_t c = 0; c < builder->claim_count; c++) {
        room += builder->claims[c].plane_count;
    }
    struct weft_ring *rings = WEFT_NEW(arena, struct weft_ring, room);
    uint32_t count = 0;
    for (uint32_t c = 0; c < builder->claim_count; c++) {
        count += lay_claim(builder, &builder->claims[c], rings + count, arena, scratch);
    }
    return (struct weft_ring_set){count, rings};
}

// ---- the split ----

// d_A = max(1, ceil(d T_AR / (T_AR + T_MP))). Duplex rings come in pairs of ports, so that
// there d_A is the number of whole pairs (or all d) nearest to d T_AR / (T_AR + T_MP), at least
// one.
static uint32_t split_degree(const struct weft_traffic *traffic, uint32_t n, uint32_t degree,
                             bool simplex, bool spanning)
{
    if (traffic == NULL || traffic->transfer_total_bytes <= 0) {
        return degree;
    }
    double total = traffic->allreduce_wire_bytes + traffic->transfer_total_bytes;
    double fair = degree * (traffic->allreduce_wire_bytes / total);
    uint32_t width = simplex || n == 2 ? 1 : 2;
    fair = fmin(fair + (spanning ? width : 0), degree);
    if (width == 1) {
        return (uint32_t)ceil(fmax(fair, 1) - 1e-9);
    }
    uint32_t low = 2 * (uint32_t)floor(fair / 2);
    low = low < 2 ? 2 : low;
    uint32_t high = low + 2 < degree ? low + 2 : degree;
    return high - fair > fair - low ? low : high;
}

// One attempt; `spanning` sets a ring over all servers aside first. Returns whether all servers
// reach each other.
static bool try_build(struct weft_topology *topology, const struct weft_topology_request *request,
                      bool spanning, struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_traffic *traffic = request->traffic;
    uint32_t n = request->server_count;
    uint32_t degree = request->options->degree;
    bool simplex = request->options->simplex;
    struct builder builder = {.n = n, .degree = degree, .simplex = simplex};
    builder.planes = WEFT_NEW_RAW(arena, uint32_t, (size_t)degree * n);
    for (size_t i = 0; i < (size_t)degree * n; i++) {
        builder.planes[i] = (uint32_t)(i % n);
    }
    uint32_t split = split_degree(traffic, n, degree, simplex, spanning);
    uint32_t rounds = 0;
    if (split < degree) {
        rounds = weft_topology_match_rounds(builder.planes, traffic->transfer_bytes, n, split,
                                            degree - split, scratch);
        // Planes the transfers have no use for go back to the rings.
        uint32_t spare = degree - split - rounds;
        memmove(builder.planes + (size_t)(split + spare) * n, builder.planes + (size_t)split * n,
                (size_t)rounds * n * sizeof *builder.planes);
        for (size_t i = (size_t)split * n; i < (size_t)(split + spare) * n; i++) {
            builder.planes[i] = (uint32_t)(i % n);
        }
    }
    builder.allreduce_degree = degree - rounds;
    list_claims(&builder, traffic, spanning, &scratch);
    divide_planes(&builder, scratch);
    *topology = (struct weft_topology){.server_count = n,
                                       .degree = degree,
                                       .simplex = simplex,
                                       .planes = builder.planes,
                                       .allreduce_degree = builder.allreduce_degree};
    topology->rings = lay_rings(&builder, arena, scratch);
    weft_topology_light_dark(builder.planes, n, degree, scratch);
    return weft_topology_measure(topology, arena, scratch);
}

bool weft_topology_find_topoopt(struct weft_topology *topology,
                                const struct weft_topology_request *request,
                                const struct weft_environment *environment)
{
    const struct weft_traffic *traffic = request->traffic;
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    bool transfers = traffic != NULL && traffic->transfer_total_bytes > 0;
    bool spanning = transfers && traffic->group_count == 0;
    struct weft_topology found;
    bool connected = try_build(&found, request, spanning, arena, scratch);
    if (!connected && !spanning) {
        connected = try_build(&found, request, true, arena, scratch);
    }
    if (!connected) {
        return weft_fail(environment->error, WEFT_INFEASIBLE,
                         "no connected fabric of %u ports a server was found; raise the degree",
                         request->options->degree);
    }
    *topology = found;
    return true;
}
