// SPDX-License-Identifier: Apache-2.0
// Topologies of other making as designs, and designs under another traffic.

#include "design.h"

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

void design_regroup(struct design *design, const struct weft_traffic *traffic,
                    struct weft_arena scratch)
{
    bool *member = WEFT_NEW(&scratch, bool, design->server_count);
    for (uint32_t p = 0; p < design->part_count; p++) {
        struct part *part = &design->parts[p];
        if (!part->is_cycle) {
            continue;
        }
        memset(member, 0, design->server_count * sizeof *member);
        for (uint32_t i = 0; i < part->size; i++) {
            member[part->order[i]] = true;
        }
        part->group = find_group(traffic, member, part->size);
    }
    design->paper_paths = 0;
}

// Servers that a plane joins in pairs, or leaves alone, as one matching; none, and no part, where
// all go round in cycles.
static void add_pairs(struct design *design, const uint32_t *plane, uint32_t slot,
                      struct weft_arena *arena)
{
    uint32_t n = design->server_count;
    uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, n);
    uint32_t count = 0;
    for (uint32_t s = 0; s < n; s++) {
        if (plane[s] > s && plane[plane[s]] == s) {
            order[count++] = s;
            order[count++] = plane[s];
        }
    }
    if (count > 0) {
        design->parts[design->part_count++] =
            (struct part){false, slot, count, order, WEFT_NONE, {1, 1}, 0};
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
static uint32_t add_cycles(struct design *design, const uint32_t *planes, uint32_t slot,
                           struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t n = design->server_count;
    const uint32_t *plane = planes + (size_t)slot * n;
    const uint32_t *back = plane + n; // read only where duplex leaves room for it
    bool *seen = WEFT_NEW(&scratch, bool, n);
    uint32_t cycles = 0;
    uint32_t cycling = in_cycles(plane, n);
    bool two_ways = cycling > 0 && !design->simplex;
    if (two_ways && (slot + 1 == design->degree || in_cycles(back, n) != cycling)) {
        return WEFT_NONE;
    }
    for (uint32_t first = 0; first < n; first++) {
        if (seen[first] || plane[plane[first]] == first) {
            continue;
        }
        uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, n);
        uint32_t size = 0;
        for (uint32_t s = first; !seen[s]; s = plane[s]) {
            seen[s] = true;
            order[size++] = s;
            if (two_ways && back[plane[s]] != s) {
                return WEFT_NONE;
            }
        }
        design->parts[design->part_count++] =
            (struct part){true, slot, size, order, WEFT_NONE, {1, 1}, 0};
        cycles++;
    }
    return cycles;
}

bool design_from_topology(struct design *design, const struct weft_topology *topology,
                          const struct weft_traffic *traffic, struct weft_arena *arena,
                          struct weft_arena scratch)
{
    uint32_t n = topology->server_count;
    *design = (struct design){
        .server_count = n, .degree = topology->degree, .simplex = topology->simplex};
    design->parts = WEFT_NEW(arena, struct part, (size_t)topology->degree * n + 1);
    for (uint32_t slot = 0; slot < topology->degree; slot++) {
        const uint32_t *plane = topology->planes + (size_t)slot * n;
        uint32_t cycles = add_cycles(design, topology->planes, slot, arena, scratch);
        if (cycles == WEFT_NONE) {
            design->part_count = 0;
            return false;
        }
        add_pairs(design, plane, slot, arena);
        if (cycles > 0 && !design->simplex) {
            slot++;
            add_pairs(design, topology->planes + (size_t)slot * n, slot, arena);
        }
    }
    design_regroup(design, traffic, scratch);
    return true;
}
