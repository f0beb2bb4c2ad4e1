// SPDX-License-Identifier: Apache-2.0
// Topologies of other making as designs, and designs under another traffic.
//
// A topology is only planes. Its cycles and pairs are read off by walking each plane: a plane (or,
// both ways, two neighboring planes that hold the same cycles in opposite directions) falls apart
// into cycles of three and more servers, which become cycles, and of two, which become one
// matching. Whose ring a cycle is follows from its members alone. O(d n) and for the groups
// O(parts * groups * members).

#include "weft/topology.h"

#include <string.h>

// The group of exactly these servers, or WEFT_NONE.
static uint32_t find_group(const struct weft_traffic *traffic, const bool *member, uint32_t size)
{
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        const struct weft_traffic_group *group = &traffic->groups[g];
        uint32_t held = 0;
        for (uint32_t m = 0; m < group->member_count && group->member_count == size; m++) {
            held += member[group->members[m]] ? 1 : 0;
        }
        if (held == size) {
            return g;
        }
    }
    return WEFT_NONE;
}

void weft_design_regroup(struct weft_design *design, const struct weft_traffic *traffic,
                         struct weft_arena scratch)
{
    bool *member = WEFT_NEW(&scratch, bool, design->server_count);
    for (uint32_t p = 0; p < design->part_count; p++) {
        struct weft_part *part = &design->parts[p];
        if (!weft_part_is_cycle(part)) {
            continue;
        }
        memset(member, 0, design->server_count * sizeof *member);
        for (uint32_t i = 0; i < part->size; i++) {
            member[part->order[i]] = true;
        }
        part->group = find_group(traffic, member, part->size);
    }
    design->finder_paths = 0;
}

// Servers that a plane joins in pairs become one matching; there is no part where all go round in
// cycles.
static void add_pairs(struct weft_design *design, const uint32_t *plane, uint32_t slot,
                      struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t n = design->server_count;
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t count = 0;
    for (uint32_t s = 0; s < n; s++) {
        if (plane[s] > s && plane[plane[s]] == s) {
            order[count++] = s;
            order[count++] = plane[s];
        }
    }
    if (count > 0) {
        weft_design_add(design, WEFT_PART_MATCHING, slot, order, count, arena);
    }
}

// How many servers go round in cycles of three and more on a plane.
static uint32_t in_cycles(const uint32_t *plane, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < n; s++) {
        count += plane[plane[s]] != s ? 1 : 0;
    }
    return count;
}

// Adds the cycles of three and more servers on a plane. Duplex: the next plane must have them the
// other way round. Returns how many there are, WEFT_NONE when one goes one way only.
static uint32_t add_cycles(struct weft_design *design, const uint32_t *planes, uint32_t slot,
                           struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t n = design->server_count;
    const uint32_t *plane = planes + (size_t)slot * n;
    const uint32_t *back = plane + n; // read only where duplex leaves room for it
    bool *seen = WEFT_NEW(&scratch, bool, n);
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t cycles = 0;
    uint32_t cycling = in_cycles(plane, n);
    bool both_ways = cycling > 0 && !design->simplex;
    if (both_ways && (slot + 1 == design->degree || in_cycles(back, n) != cycling)) {
        return WEFT_NONE;
    }
    for (uint32_t first = 0; first < n; first++) {
        if (seen[first] || plane[plane[first]] == first) {
            continue;
        }
        uint32_t size = 0;
        for (uint32_t s = first; !seen[s]; s = plane[s]) {
            seen[s] = true;
            order[size++] = s;
            if (both_ways && back[plane[s]] != s) {
                return WEFT_NONE;
            }
        }
        enum weft_part_kind kind = design->simplex ? WEFT_PART_RING : WEFT_PART_CYCLE;
        weft_design_add(design, kind, slot, order, size, arena);
        cycles++;
    }
    return cycles;
}

bool weft_design_from_topology(struct weft_design *design, const struct weft_topology *topology,
                               const struct weft_traffic *traffic, struct weft_arena *arena,
                               struct weft_arena scratch)
{
    uint32_t n = topology->server_count;
    *design = weft_design_open(n, topology->degree, 1, topology->degree * n, arena);
    design->simplex = topology->simplex;
    for (uint32_t slot = 0; slot < topology->degree; slot++) {
        const uint32_t *plane = topology->planes + (size_t)slot * n;
        uint32_t cycles = add_cycles(design, topology->planes, slot, arena, scratch);
        if (cycles == WEFT_NONE) {
            design->part_count = 0;
            return false;
        }
        add_pairs(design, plane, slot, arena, scratch);
        if (cycles > 0 && !design->simplex) {
            slot++;
            add_pairs(design, topology->planes + (size_t)slot * n, slot, arena, scratch);
        }
    }
    weft_design_regroup(design, traffic, scratch);
    return true;
}
