// SPDX-License-Identifier: Apache-2.0
// Designs: the one representation that every search over topologies changes.
//
// The problem is to keep d planes permutations of n servers while cycles and matchings on them are
// moved about. A design therefore stores the parts, not the planes: an order of servers for each
// cycle and each matching. Any order is valid, so that a move needs no repair, and the planes
// follow in O(d n). A search that looks at one hop of every server again and again (hops.c, load.c)
// asks for the table `next`, which a move then keeps up to date in O(size of the part).
//
// Designs with symmetry are lifts of a base by voltages (weft/topology.h says how). Shifts cost
// nothing where the symmetry is 1: they are all 0.

#include "weft/topology.h"

#include <string.h>

uint32_t weft_part_planes(enum weft_part_kind kind)
{
    return kind == WEFT_PART_CYCLE ? 2 : 1;
}

struct weft_design weft_design_open(uint32_t server_count, uint32_t degree, uint32_t symmetry,
                                    uint32_t part_max, struct weft_arena *arena)
{
    WEFT_ASSERT(symmetry > 0 && server_count % symmetry == 0);
    return (struct weft_design){
        .server_count = server_count,
        .degree = degree,
        .symmetry = symmetry,
        .orbit_count = server_count / symmetry,
        .parts = WEFT_NEW(arena, struct weft_part, (size_t)part_max + 1),
    };
}

struct weft_part *weft_design_add(struct weft_design *design, enum weft_part_kind kind,
                                  uint32_t slot, const uint32_t *order, uint32_t size,
                                  struct weft_arena *arena)
{
    WEFT_ASSERT(size > 0 && size <= design->orbit_count);
    WEFT_ASSERT(slot + weft_part_planes(kind) <= design->degree);
    struct weft_part *part = &design->parts[design->part_count++];
    *part = (struct weft_part){
        .kind = kind,
        .slot = slot,
        .size = size,
        .order = WEFT_NEW_RAW(arena, uint32_t, size),
        .shift = WEFT_NEW(arena, uint32_t, size),
        .group = WEFT_NONE,
        .share = {1, 1},
    };
    for (uint32_t i = 0; i < size; i++) {
        part->order[i] = order == NULL ? i : order[i];
    }
    if (weft_part_is_cycle(part) && design->symmetry > 1) {
        part->shift[size - 1] = 1;
    }
    return part;
}

// ---- planes ----

// A table of where every port leads, by server and plane in either order.
struct port_table {
    uint32_t *next;
    size_t server_stride;
    size_t plane_stride;
};

// The planes of a part in such a table: of the edges forward, and back (NULL: one way).
struct part_planes {
    uint32_t *forward;
    uint32_t *back;
    size_t stride;
};

// Lights the s copies of the base edge `from` -> `to`.
static inline void light_edge(const struct part_planes *planes, const struct weft_design *design,
                              uint32_t from, uint32_t to, uint32_t shift)
{
    uint32_t orbits = design->orbit_count;
    uint32_t layer = shift;
    for (uint32_t l = 0; l < design->symmetry; l++) {
        uint32_t u = l * orbits + from;
        uint32_t v = layer * orbits + to;
        planes->forward[u * planes->stride] = v;
        if (planes->back != NULL) {
            planes->back[v * planes->stride] = u;
        }
        layer = layer + 1 == design->symmetry ? 0 : layer + 1;
    }
}

static void light_part(const struct port_table *table, const struct weft_design *design,
                       const struct weft_part *part)
{
    struct part_planes planes = {.forward = table->next + part->slot * table->plane_stride,
                                 .stride = table->server_stride};
    if (part->kind == WEFT_PART_MATCHING) {
        planes.back = planes.forward;
        for (uint32_t j = 0; j + 1 < part->size; j += 2) {
            light_edge(&planes, design, part->order[j], part->order[j + 1], part->shift[j]);
        }
        if (part->size % 2 == 1) {
            uint32_t single = part->order[part->size - 1];
            light_edge(&planes, design, single, single, 0);
        }
        return;
    }
    if (part->kind == WEFT_PART_CYCLE) {
        planes.back = planes.forward + table->plane_stride;
    }
    for (uint32_t j = 0; j + 1 < part->size; j++) {
        light_edge(&planes, design, part->order[j], part->order[j + 1], part->shift[j]);
    }
    uint32_t last = part->size - 1;
    light_edge(&planes, design, part->order[last], part->order[0], part->shift[last]);
}

// Ports that a part lights; a server that is joined to itself stays dark.
static uint64_t count_lit(const struct weft_design *design, const struct weft_part *part)
{
    uint64_t ends = part->kind == WEFT_PART_MATCHING ? part->size - part->size % 2 : part->size;
    bool dark = weft_part_is_cycle(part) && part->size == 1 && part->shift[0] == 0;
    return dark ? 0 : ends * design->symmetry * weft_part_planes(part->kind);
}

void weft_design_planes(uint32_t *planes, const struct weft_design *design)
{
    uint32_t n = design->server_count;
    size_t port_count = (size_t)n * design->degree;
    for (size_t i = 0; i < port_count; i++) {
        planes[i] = (uint32_t)(i % n);
    }
    const struct port_table table = {planes, 1, n};
    uint64_t lit = 0;
    for (uint32_t p = 0; p < design->part_count; p++) {
        light_part(&table, design, &design->parts[p]);
        lit += count_lit(design, &design->parts[p]);
    }
    for (size_t i = 0; i < port_count; i++) {
        lit -= planes[i] != i % n ? 1 : 0;
    }
    WEFT_ASSERT(lit == 0); // fewer ports are lit than the parts light: two of them met at one
}

void weft_design_light_part(struct weft_design *design, const struct weft_part *part)
{
    const struct port_table table = {design->next, design->degree, 1};
    light_part(&table, design, part);
}

void weft_design_light(struct weft_design *design, struct weft_arena *arena)
{
    uint32_t degree = design->degree;
    design->next = WEFT_NEW_RAW(arena, uint32_t, (size_t)design->server_count * degree);
    for (uint32_t i = 0; i < design->server_count; i++) {
        for (uint32_t j = 0; j < degree; j++) {
            design->next[(size_t)i * degree + j] = i;
        }
    }
    for (uint32_t p = 0; p < design->part_count; p++) {
        weft_design_light_part(design, &design->parts[p]);
    }
}

void weft_design_walk(const struct weft_design *design, const struct weft_part *part,
                      uint32_t *servers)
{
    uint32_t count = part->size * design->symmetry;
    uint32_t server = part->order[0];
    for (uint32_t i = 0; i < count; i++) {
        servers[i] = server;
        server = design->next[(size_t)server * design->degree + part->slot];
    }
    WEFT_ASSERT(server == part->order[0]);
}

// ---- copies ----

void weft_design_assign(struct weft_design *to, const struct weft_design *from)
{
    WEFT_ASSERT(to->part_count == from->part_count && to->symmetry == from->symmetry);
    to->paths = from->paths;
    to->finder_paths = from->finder_paths;
    for (uint32_t p = 0; p < from->part_count; p++) {
        const struct weft_part *source = &from->parts[p];
        struct weft_part *target = &to->parts[p];
        WEFT_ASSERT(target->size == source->size);
        uint32_t *order = target->order;
        uint32_t *shift = target->shift;
        *target = *source;
        target->order = order;
        target->shift = shift;
        memcpy(order, source->order, source->size * sizeof *order);
        memcpy(shift, source->shift, source->size * sizeof *shift);
        if (to->next != NULL) {
            weft_design_light_part(to, target);
        }
    }
}

struct weft_design weft_design_copy(const struct weft_design *design, struct weft_arena *arena)
{
    struct weft_design copy = *design;
    size_t port_count = (size_t)design->server_count * design->degree;
    copy.parts = WEFT_NEW_RAW(arena, struct weft_part, (size_t)design->part_count + 1);
    for (uint32_t p = 0; p < design->part_count; p++) {
        uint32_t size = design->parts[p].size;
        copy.parts[p] = design->parts[p];
        copy.parts[p].order = WEFT_NEW_RAW(arena, uint32_t, size);
        copy.parts[p].shift = WEFT_NEW_RAW(arena, uint32_t, size);
    }
    if (design->next != NULL) {
        copy.next = WEFT_NEW_RAW(arena, uint32_t, port_count);
        memcpy(copy.next, design->next, port_count * sizeof *copy.next);
    }
    weft_design_assign(&copy, design);
    return copy;
}
