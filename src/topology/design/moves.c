// SPDX-License-Identifier: Apache-2.0
// Moves: small random changes of a design that keep every part what it is.
//
// The elementary changes are those of tours and matchings: 2-opt (Croes, "A method for solving
// traveling-salesman problems", Operations Research 1958), exchange of two neighboring segments
// (Or's 3-opt, 1976; moving one server is the case of a segment of one), exchange of two servers,
// exchange of partners, and new shifts of a lifted design. Each costs O(size of the part).
//
// Two mixtures of them are drawn; that is what stays double of the two searches over topologies.
// WEFT_MOVES_EDGES changes as few links as can be and knows shifts: the search by hops and loads
// (src/topology/search) makes hundreds of thousands of such steps a second. WEFT_MOVES_RINGS moves
// and exchanges servers, too, and changes shares: the planner (src/plan/design) simulates an
// iteration for each of its few steps, and only its score sees shares. Neither serves the other.
// Exchanged, four seeds each: the mean hops of 61 and 127 servers of 4 ports get 0.23 % and 0.07 %
// longer (weft topology --uniform --effort 0.5; 17 and 31 come out the same), and
// lifts cannot be moved at all; five plans (dlrm_16, moe_16 and gpt_16 at 25 Gbps and d = 4,
// dlrm_16 at d = 3 and moe_16 at d = 5 at 100 Gbps, --effort 0.6) take 1.0004 times as long on
// average, between 0.9905 and 1.0318.

#include "topology/internal.h"

#include <math.h>
#include <string.h>

// One in so many moves of a lifted design changes shifts alone. Not measured: it trades new orders
// of orbits for new voltages between them.
#define SHIFTS_ONE_IN 4u
// Of WEFT_MOVES_RINGS: one in so many moves of a cycle changes a share, by a factor of 2 at most
// each way and within these limits. Not measured: more shares mean fewer orders tried.
#define SHARE_ONE_IN 8u
#define SHARE_LEAST (1.0 / 16)
#define SHARE_MOST 16.0
#define SHARED_RING_MOST 4.0
// Parts that are drawn before a design counts as one that nothing can change: of many parts too
// small to change, one that is not is found.
#define DRAWS_MAX 64u

static void swap_entries(uint32_t *values, uint32_t a, uint32_t b)
{
    uint32_t value = values[a];
    values[a] = values[b];
    values[b] = value;
}

// ---- orders ----

void weft_order_turn(uint32_t *order, uint32_t size, uint32_t at, uint32_t count)
{
    uint32_t low = at % size;
    uint32_t high = (at + count + size - 1) % size;
    for (uint32_t i = 0; i < count / 2; i++) {
        swap_entries(order, low, high);
        low = low + 1 == size ? 0 : low + 1;
        high = high == 0 ? size - 1 : high - 1;
    }
}

void weft_order_exchange(uint32_t *order, uint32_t size, uint32_t at, uint32_t first,
                         uint32_t second)
{
    // Turned one by one and then together, both segments keep their direction.
    weft_order_turn(order, size, at, first);
    weft_order_turn(order, size, at + first, second);
    weft_order_turn(order, size, at, first + second);
}

// ---- changes of a part ----

// 2-opt: turns `length` orbits after position a round. The edges inside the segment change
// direction, so that their shifts change sign.
static void turn_segment(struct weft_part *part, uint32_t a, uint32_t length, uint32_t symmetry)
{
    uint32_t size = part->size;
    weft_order_turn(part->order, size, a + 1, length);
    if (symmetry == 1) {
        return; // all shifts are 0
    }
    weft_order_turn(part->shift, size, a + 1, length - 1);
    for (uint32_t i = 1; i < length; i++) {
        uint32_t edge = (a + i) % size;
        part->shift[edge] = (symmetry - part->shift[edge]) % symmetry;
    }
}

// Exchanges the two segments after position a, which keeps every direction.
static void exchange_segments(struct weft_part *part, uint32_t a, uint32_t first, uint32_t second,
                              uint32_t symmetry)
{
    weft_order_exchange(part->order, part->size, a + 1, first, second);
    if (symmetry > 1) { // else all shifts are 0
        weft_order_exchange(part->shift, part->size, a + 1, first, second);
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
    while (weft_greatest_divisor(sum, symmetry) != 1) {
        part->shift[position] = (part->shift[position] + 1) % symmetry;
        sum = (sum + 1) % symmetry;
    }
}

void weft_design_shuffle(struct weft_design *design, struct weft_rng *rng)
{
    uint32_t symmetry = design->symmetry;
    for (uint32_t p = 0; p < design->part_count; p++) {
        struct weft_part *part = &design->parts[p];
        weft_rng_shuffle(rng, part->order, part->size);
        if (symmetry > 1) {
            for (uint32_t j = 0; j < part->size; j++) {
                part->shift[j] = weft_rng_below(rng, symmetry);
            }
            if (weft_part_is_cycle(part)) {
                repair_shifts(part, symmetry, weft_rng_below(rng, part->size));
            }
        }
        if (design->next != NULL) {
            weft_design_light_part(design, part);
        }
    }
}

// ---- WEFT_MOVES_EDGES ----

static void turn_edges(struct weft_part *part, uint32_t symmetry, struct weft_rng *rng)
{
    uint32_t size = part->size;
    uint32_t a = weft_rng_below(rng, size);
    // A segment and its complement turn into the same cycle: the shorter is less work.
    uint32_t length = 2 + weft_rng_below(rng, size - 3);
    length = length > size / 2 && size - length >= 2 ? size - length : length;
    turn_segment(part, a, length, symmetry);
    part->shift[a] = weft_rng_below(rng, symmetry);
    part->shift[(a + length) % size] = weft_rng_below(rng, symmetry);
    repair_shifts(part, symmetry, a);
}

static void exchange_edges(struct weft_part *part, uint32_t symmetry, struct weft_rng *rng)
{
    uint32_t size = part->size;
    uint32_t a = weft_rng_below(rng, size);
    uint32_t first = 1 + weft_rng_below(rng, size - 2);
    uint32_t second = 1 + weft_rng_below(rng, size - 1 - first);
    exchange_segments(part, a, first, second, symmetry);
    part->shift[a] = weft_rng_below(rng, symmetry);
    part->shift[(a + second) % size] = weft_rng_below(rng, symmetry);
    part->shift[(a + first + second) % size] = weft_rng_below(rng, symmetry);
    repair_shifts(part, symmetry, a);
}

// Exchanges a partner of one pair with one of another; a single last server counts as half a pair.
static void exchange_partners(struct weft_part *part, uint32_t symmetry, struct weft_rng *rng)
{
    uint32_t pair_count = (part->size + 1) / 2;
    uint32_t one = weft_rng_below(rng, part->size / 2);
    uint32_t two = weft_rng_below(rng, pair_count - 1);
    two += two >= one;
    uint32_t b = 2 * two;
    if (b + 1 < part->size) {
        b += weft_rng_below(rng, 2);
        part->shift[2 * (size_t)two] = weft_rng_below(rng, symmetry);
    }
    part->shift[2 * (size_t)one] = weft_rng_below(rng, symmetry);
    swap_entries(part->order, 2 * one + 1, b);
}

static void change_shifts(struct weft_part *part, uint32_t symmetry, struct weft_rng *rng)
{
    uint32_t a = weft_rng_below(rng, part->size);
    part->shift[a] = weft_rng_below(rng, symmetry);
    if (weft_rng_below(rng, 2) == 0) {
        uint32_t b = weft_rng_below(rng, part->size); // by itself: C leaves the order open
        part->shift[b] = weft_rng_below(rng, symmetry);
    }
    if (weft_part_is_cycle(part)) {
        repair_shifts(part, symmetry, a);
    }
}

// Whether 2-opt, an exchange of segments or one of partners makes anything new of a part.
static bool can_reorder(const struct weft_part *part)
{
    return part->size >= (part->kind == WEFT_PART_CYCLE ? 4 : 3);
}

// Draws a part that can change; WEFT_NONE if there is none.
static uint32_t draw_part(const struct weft_design *design, struct weft_rng *rng)
{
    uint32_t chosen = weft_rng_below(rng, design->part_count);
    for (uint32_t tried = 0; design->symmetry == 1 && !can_reorder(&design->parts[chosen]);
         tried++) {
        if (tried == design->part_count) {
            return WEFT_NONE;
        }
        chosen = chosen + 1 == design->part_count ? 0 : chosen + 1;
    }
    return chosen;
}

static void keep_part(struct weft_part_copy *before, const struct weft_part *part)
{
    if (before != NULL) {
        memcpy(before->order, part->order, part->size * sizeof part->order[0]);
        memcpy(before->shift, part->shift, part->size * sizeof part->shift[0]);
    }
}

static uint32_t move_edges(struct weft_design *design, struct weft_part_copy *before,
                           struct weft_rng *rng)
{
    uint32_t chosen = draw_part(design, rng);
    if (chosen == WEFT_NONE) {
        return WEFT_NONE;
    }
    uint32_t symmetry = design->symmetry;
    struct weft_part *part = &design->parts[chosen];
    keep_part(before, part);
    if (symmetry > 1 && (!can_reorder(part) || weft_rng_below(rng, SHIFTS_ONE_IN) == 0)) {
        change_shifts(part, symmetry, rng);
    } else if (part->kind == WEFT_PART_CYCLE) {
        turn_edges(part, symmetry, rng);
    } else if (part->kind == WEFT_PART_RING) {
        exchange_edges(part, symmetry, rng);
    } else {
        exchange_partners(part, symmetry, rng);
    }
    return chosen;
}

// ---- WEFT_MOVES_RINGS ----

static bool change_cycle(struct weft_part *part, struct weft_rng *rng)
{
    if (part->size < 4) {
        return false;
    }
    uint32_t a = weft_rng_below(rng, part->size);
    uint32_t b = weft_rng_below(rng, part->size);
    if (a == b) {
        return false;
    }
    uint32_t low = a < b ? a : b;
    uint32_t high = a < b ? b : a;
    switch (weft_rng_below(rng, 3)) {
    case 0: // turns the segment from one to the other
        weft_order_turn(part->order, part->size, low, high - low + 1);
        break;
    case 1: // moves the server at a to b
        weft_order_exchange(part->order, part->size, low, a < b ? 1 : high - low,
                            a < b ? high - low : 1);
        break;
    default: // exchanges the two
        swap_entries(part->order, a, b);
    }
    return true;
}

static bool change_pairs(struct weft_part *part, struct weft_rng *rng)
{
    if (part->size < 3) {
        return false;
    }
    uint32_t a = weft_rng_below(rng, part->size);
    uint32_t b = weft_rng_below(rng, part->size);
    if (a / 2 == b / 2) {
        return false;
    }
    swap_entries(part->order, a, b);
    return true;
}

// Gives a cycle's ring, one way, or the rings that it shares another weight. False where its group
// has but this one, whose share is all of it.
static bool change_share(struct weft_design *design, struct weft_part *part, struct weft_rng *rng)
{
    double factor = exp2(2 * weft_rng_unit(rng) - 1);
    if (part->shared_ring > 0) {
        part->shared_ring = fmin(SHARED_RING_MOST, fmax(SHARE_LEAST, part->shared_ring * factor));
        return true;
    }
    uint32_t rings = 0;
    for (uint32_t p = 0; p < design->part_count; p++) {
        rings += design->parts[p].group == part->group ? (design->simplex ? 1 : 2) : 0;
    }
    if (part->group == WEFT_NONE || rings < 2) {
        return false;
    }
    uint32_t direction = design->simplex ? 0 : weft_rng_below(rng, 2);
    part->share[direction] = fmin(SHARE_MOST, fmax(SHARE_LEAST, part->share[direction] * factor));
    return true;
}

static uint32_t move_rings(struct weft_design *design, struct weft_part_copy *before,
                           struct weft_rng *rng)
{
    WEFT_ASSERT(design->symmetry == 1);
    for (uint32_t draw = 0; draw < DRAWS_MAX && design->part_count > 0; draw++) {
        uint32_t chosen = weft_rng_below(rng, design->part_count);
        struct weft_part *part = &design->parts[chosen];
        keep_part(before, part);
        bool moved;
        if (!weft_part_is_cycle(part)) {
            moved = change_pairs(part, rng);
        } else if (weft_rng_below(rng, SHARE_ONE_IN) == 0) {
            moved = change_share(design, part, rng);
        } else {
            moved = change_cycle(part, rng);
        }
        if (moved) {
            return chosen;
        }
    }
    return WEFT_NONE;
}

// ---- one move ----

uint32_t weft_design_move(struct weft_design *design, enum weft_design_moves moves,
                          struct weft_part_copy *before, struct weft_rng *rng)
{
    uint32_t part = moves == WEFT_MOVES_EDGES ? move_edges(design, before, rng)
                                              : move_rings(design, before, rng);
    if (part == WEFT_NONE) {
        return WEFT_NONE;
    }
    design->finder_paths = 0;
    if (design->next != NULL) {
        weft_design_light_part(design, &design->parts[part]);
    }
    return part;
}

void weft_design_undo(struct weft_design *design, uint32_t part,
                      const struct weft_part_copy *before)
{
    WEFT_ASSERT(part < design->part_count);
    struct weft_part *changed = &design->parts[part];
    memcpy(changed->order, before->order, changed->size * sizeof changed->order[0]);
    memcpy(changed->shift, before->shift, changed->size * sizeof changed->shift[0]);
    if (design->next != NULL) {
        weft_design_light_part(design, changed);
    }
}

struct weft_part_copy weft_part_copy_init(uint32_t size_max, struct weft_arena *arena)
{
    uint32_t *order = WEFT_NEW(arena, uint32_t, size_max);
    return (struct weft_part_copy){order, WEFT_NEW(arena, uint32_t, size_max)};
}
