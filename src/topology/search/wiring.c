// SPDX-License-Identifier: Apache-2.0
// Wirings: unions of Hamiltonian cycles and matchings, lifted by a rotation, and the moves that
// keep them so.

#include "wiring.h"

#include <string.h>

static uint32_t gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint32_t weft_part_slots(enum weft_part_kind kind)
{
    return kind == WEFT_PART_CYCLE ? 2 : 1;
}

static bool is_cyclic(const struct weft_part *part)
{
    return part->kind != WEFT_PART_MATCHING;
}

void weft_wiring_init(struct weft_wiring *wiring, uint32_t node_count, uint32_t symmetry,
                      struct weft_part *parts, uint32_t part_count, struct weft_arena *arena)
{
    WEFT_ASSERT(symmetry > 0 && node_count % symmetry == 0);
    uint32_t slots = 0;
    for (uint32_t p = 0; p < part_count; p++) {
        struct weft_part *part = &parts[p];
        WEFT_ASSERT(part->size > 0 && part->size <= node_count / symmetry);
        part->shift = WEFT_NEW(arena, uint32_t, part->size);
        if (is_cyclic(part) && symmetry > 1) {
            part->shift[part->size - 1] = 1;
        }
        uint32_t end = part->slot + weft_part_slots(part->kind);
        slots = end > slots ? end : slots;
    }
    *wiring = (struct weft_wiring){
        .node_count = node_count,
        .symmetry = symmetry,
        .orbit_count = node_count / symmetry,
        .slot_count = slots,
        .part_count = part_count,
        .parts = parts,
        .next = WEFT_NEW_RAW(arena, uint32_t, (size_t)node_count * slots),
    };
    for (uint32_t i = 0; i < node_count; i++) {
        for (uint32_t j = 0; j < slots; j++) {
            wiring->next[(size_t)i * slots + j] = i;
        }
    }
    for (uint32_t p = 0; p < part_count; p++) {
        weft_wiring_light(wiring, &parts[p]);
    }
}

// Lights the s copies of the base edge `from` -> `to`: forward in column `out`, and back in column
// `back` unless WEFT_NONE.
static void light_edge(struct weft_wiring *wiring, uint32_t from, uint32_t to, uint32_t shift,
                       uint32_t out, uint32_t back)
{
    uint32_t width = wiring->slot_count;
    uint32_t orbits = wiring->orbit_count;
    uint32_t layer = shift;
    for (uint32_t l = 0; l < wiring->symmetry; l++) {
        uint32_t u = l * orbits + from;
        uint32_t v = layer * orbits + to;
        wiring->next[(size_t)u * width + out] = v;
        if (back != WEFT_NONE) {
            wiring->next[(size_t)v * width + back] = u;
        }
        layer = layer + 1 == wiring->symmetry ? 0 : layer + 1;
    }
}

void weft_wiring_light(struct weft_wiring *wiring, const struct weft_part *part)
{
    uint32_t slot = part->slot;
    if (part->kind == WEFT_PART_MATCHING) {
        for (uint32_t j = 0; j + 1 < part->size; j += 2) {
            light_edge(wiring, part->order[j], part->order[j + 1], part->shift[j], slot, slot);
        }
        if (part->size % 2 == 1) {
            uint32_t single = part->order[part->size - 1];
            light_edge(wiring, single, single, 0, slot, WEFT_NONE);
        }
        return;
    }
    uint32_t back = part->kind == WEFT_PART_CYCLE ? slot + 1 : WEFT_NONE;
    for (uint32_t j = 0; j < part->size; j++) {
        uint32_t successor = j + 1 == part->size ? 0 : j + 1;
        light_edge(wiring, part->order[j], part->order[successor], part->shift[j], slot, back);
    }
}

// Makes the shifts of a cycle add to a unit of Z_s by changing the one at `position`.
static void repair_shifts(struct weft_part *part, uint32_t symmetry, uint32_t position)
{
    WEFT_ASSERT(symmetry > 0);
    uint32_t sum = 0;
    for (uint32_t j = 0; j < part->size; j++) {
        sum += part->shift[j];
    }
    sum %= symmetry;
    while (gcd(sum, symmetry) != 1) {
        part->shift[position] = (part->shift[position] + 1) % symmetry;
        sum = (sum + 1) % symmetry;
    }
}

void weft_wiring_shuffle(struct weft_wiring *wiring, struct weft_rng *rng)
{
    uint32_t symmetry = wiring->symmetry;
    for (uint32_t p = 0; p < wiring->part_count; p++) {
        struct weft_part *part = &wiring->parts[p];
        weft_rng_shuffle(rng, part->order, part->size);
        if (symmetry > 1) {
            for (uint32_t j = 0; j < part->size; j++) {
                part->shift[j] = weft_rng_below(rng, symmetry);
            }
            if (is_cyclic(part)) {
                repair_shifts(part, symmetry, weft_rng_below(rng, part->size));
            }
        }
        weft_wiring_light(wiring, part);
    }
}

// 2-opt: turns the segment after position a round. The edges inside it change direction, so their
// shifts change sign.
static void turn_segment(struct weft_part *part, const struct weft_part_copy *old, uint32_t a,
                         uint32_t length, uint32_t symmetry)
{
    WEFT_ASSERT(symmetry > 0);
    uint32_t size = part->size;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t to = (a + 1 + i) % size;
        uint32_t from = (a + length - i) % size;
        part->order[to] = old->order[from];
        if (i + 1 < length) {
            uint32_t edge = (a + length - 1 - i) % size;
            part->shift[to] = (symmetry - old->shift[edge]) % symmetry;
        }
    }
}

// Exchanges the two segments after position a (Or's 3-opt), which keeps every direction.
static void exchange_segments(struct weft_part *part, const struct weft_part_copy *old, uint32_t a,
                              uint32_t first, uint32_t second)
{
    uint32_t size = part->size;
    for (uint32_t i = 0; i < first + second; i++) {
        uint32_t to = (a + 1 + i) % size;
        uint32_t from = (a + 1 + (i < second ? first + i : i - second)) % size;
        part->order[to] = old->order[from];
        part->shift[to] = old->shift[from];
    }
}

static void move_cycle(struct weft_part *part, const struct weft_part_copy *old, uint32_t symmetry,
                       struct weft_rng *rng)
{
    uint32_t size = part->size;
    uint32_t a = weft_rng_below(rng, size);
    // A segment and its complement turn into the same cycle: the shorter is less work.
    uint32_t length = 2 + weft_rng_below(rng, size - 3);
    length = length > size / 2 && size - length >= 2 ? size - length : length;
    turn_segment(part, old, a, length, symmetry);
    part->shift[a] = weft_rng_below(rng, symmetry);
    part->shift[(a + length) % size] = weft_rng_below(rng, symmetry);
    repair_shifts(part, symmetry, a);
}

static void move_ring(struct weft_part *part, const struct weft_part_copy *old, uint32_t symmetry,
                      struct weft_rng *rng)
{
    uint32_t size = part->size;
    uint32_t a = weft_rng_below(rng, size);
    uint32_t first = 1 + weft_rng_below(rng, size - 2);
    uint32_t second = 1 + weft_rng_below(rng, size - 1 - first);
    exchange_segments(part, old, a, first, second);
    part->shift[a] = weft_rng_below(rng, symmetry);
    part->shift[(a + second) % size] = weft_rng_below(rng, symmetry);
    part->shift[(a + first + second) % size] = weft_rng_below(rng, symmetry);
    repair_shifts(part, symmetry, a);
}

static void move_matching(struct weft_part *part, uint32_t symmetry, struct weft_rng *rng)
{
    uint32_t pair_count = (part->size + 1) / 2; // a single last node counts as half a pair
    uint32_t one = weft_rng_below(rng, part->size / 2);
    uint32_t two = weft_rng_below(rng, pair_count - 1);
    two += two >= one;
    uint32_t a = 2 * one + 1;
    uint32_t b = 2 * two;
    if (b + 1 < part->size) {
        b += weft_rng_below(rng, 2);
        part->shift[2 * (size_t)two] = weft_rng_below(rng, symmetry);
    }
    part->shift[2 * (size_t)one] = weft_rng_below(rng, symmetry);
    uint32_t swap = part->order[a];
    part->order[a] = part->order[b];
    part->order[b] = swap;
}

static bool can_reorder(const struct weft_part *part)
{
    if (part->kind == WEFT_PART_CYCLE) {
        return part->size >= 4;
    }
    return part->size >= 3;
}

static void move_shifts(struct weft_part *part, uint32_t symmetry, struct weft_rng *rng)
{
    uint32_t a = weft_rng_below(rng, part->size);
    part->shift[a] = weft_rng_below(rng, symmetry);
    if (weft_rng_below(rng, 2) == 0) {
        uint32_t b = weft_rng_below(rng, part->size); // by itself: C leaves the order open
        part->shift[b] = weft_rng_below(rng, symmetry);
    }
    if (is_cyclic(part)) {
        repair_shifts(part, symmetry, a);
    }
}

uint32_t weft_wiring_move(struct weft_wiring *wiring, struct weft_part_copy *copy,
                          struct weft_rng *rng)
{
    uint32_t symmetry = wiring->symmetry;
    uint32_t chosen = weft_rng_below(rng, wiring->part_count);
    for (uint32_t tried = 0; symmetry == 1 && !can_reorder(&wiring->parts[chosen]); tried++) {
        if (tried == wiring->part_count) {
            return WEFT_NONE;
        }
        chosen = chosen + 1 == wiring->part_count ? 0 : chosen + 1;
    }
    struct weft_part *part = &wiring->parts[chosen];
    memcpy(copy->order, part->order, part->size * sizeof part->order[0]);
    memcpy(copy->shift, part->shift, part->size * sizeof part->shift[0]);
    if (symmetry > 1 && (!can_reorder(part) || weft_rng_below(rng, 4) == 0)) {
        move_shifts(part, symmetry, rng);
    } else if (part->kind == WEFT_PART_CYCLE) {
        move_cycle(part, copy, symmetry, rng);
    } else if (part->kind == WEFT_PART_RING) {
        move_ring(part, copy, symmetry, rng);
    } else {
        move_matching(part, symmetry, rng);
    }
    weft_wiring_light(wiring, part);
    return chosen;
}

void weft_wiring_undo(struct weft_wiring *wiring, uint32_t part, const struct weft_part_copy *copy)
{
    WEFT_ASSERT(part < wiring->part_count);
    struct weft_part *changed = &wiring->parts[part];
    memcpy(changed->order, copy->order, changed->size * sizeof changed->order[0]);
    memcpy(changed->shift, copy->shift, changed->size * sizeof changed->shift[0]);
    weft_wiring_light(wiring, changed);
}

struct weft_part_copy weft_part_copy_init(uint32_t size_max, struct weft_arena *arena)
{
    uint32_t *order = WEFT_NEW(arena, uint32_t, size_max);
    return (struct weft_part_copy){order, WEFT_NEW(arena, uint32_t, size_max)};
}

void weft_wiring_copy(struct weft_wiring *to, const struct weft_wiring *from)
{
    WEFT_ASSERT(to->part_count == from->part_count && to->symmetry == from->symmetry);
    for (uint32_t p = 0; p < from->part_count; p++) {
        const struct weft_part *source = &from->parts[p];
        struct weft_part *target = &to->parts[p];
        WEFT_ASSERT(target->size == source->size && target->slot == source->slot);
        memcpy(target->order, source->order, source->size * sizeof source->order[0]);
        memcpy(target->shift, source->shift, source->size * sizeof source->shift[0]);
        weft_wiring_light(to, target);
    }
}

void weft_wiring_clone(struct weft_wiring *to, const struct weft_wiring *from,
                       struct weft_arena *arena)
{
    size_t row_count = (size_t)from->node_count * from->slot_count;
    *to = *from;
    to->parts = WEFT_NEW_RAW(arena, struct weft_part, from->part_count);
    to->next = WEFT_NEW_RAW(arena, uint32_t, row_count);
    memcpy(to->next, from->next, row_count * sizeof *to->next);
    for (uint32_t p = 0; p < from->part_count; p++) {
        const struct weft_part *source = &from->parts[p];
        struct weft_part *target = &to->parts[p];
        *target = *source;
        target->order = WEFT_NEW_RAW(arena, uint32_t, source->size);
        target->shift = WEFT_NEW_RAW(arena, uint32_t, source->size);
        memcpy(target->order, source->order, source->size * sizeof *target->order);
        memcpy(target->shift, source->shift, source->size * sizeof *target->shift);
    }
}

const uint32_t *weft_wiring_planes(const struct weft_wiring *wiring, struct weft_arena *arena)
{
    uint32_t n = wiring->node_count;
    uint32_t *planes = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * wiring->slot_count);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t p = 0; p < wiring->slot_count; p++) {
            planes[(size_t)p * n + i] = wiring->next[(size_t)i * wiring->slot_count + p];
        }
    }
    return planes;
}

void weft_wiring_walk(const struct weft_wiring *wiring, const struct weft_part *part,
                      uint32_t *nodes)
{
    uint32_t count = part->size * wiring->symmetry;
    uint32_t node = part->order[0];
    for (uint32_t i = 0; i < count; i++) {
        nodes[i] = node;
        node = wiring->next[(size_t)node * wiring->slot_count + part->slot];
    }
    WEFT_ASSERT(node == part->order[0]);
}
