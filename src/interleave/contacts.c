// SPDX-License-Identifier: Apache-2.0
// The least excess of one circle over all shifts, by any time instead of whole angles.
//
// Let two jobs slide past each other, and let a jump p of one demand pass a jump q of the other
// where the load is R besides. The excess f is convex in the load, and the slope of the area above
// capacity changes there by f(R + p) + f(R + q) - f(R) - f(R + p + q): never upwards where both
// jumps go one way. So while no jump up of one passes a jump down of the other, the excess is
// concave in the shift, and a minimum may be moved, at no cost, until one begins where another
// ends. By that every circle has best shifts at which all jobs hang together by such contacts:
// those of scheduling's semi-active schedules. They are finitely many, and the best of them is
// exact.
//
// The search places a job at 0 and goes on with a job that touches one that is placed (each set of
// contacts once: what has been tried at a node is excluded below its later siblings, as Avis and
// Fukuda's reverse search and ESU for connected subgraphs do, Wernicke 2006). Branches are cut by
// the two bounds of prove.c that hold for any shift: what each job adds to the placed ones alone at
// its best, which is a contact as well; and bound.h. Jobs whose iterations differ matter to what is
// placed only modulo the greatest common divisor of their times.
//
// Two jobs of one phase each have 2 contacts, three 12, k have k^(k-2) 2^(k-1): exact for few jobs
// in microseconds, for many as far as the work limit goes, and then the bound is that of what was
// left.

#include "contacts.h"
#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Steps of a profile beyond which nothing is searched; contacts remembered as tried, beyond which
// some sets are met twice. Neither is measured. CENTER_ROUNDS is that of descend.c.
#define STEPS_MAX 16384u
#define EXCLUDED_MAX 512u
#define CENTER_ROUNDS 2u
// What a price costs for each boundary, in cells.
#define WORK_A_BOUNDARY 16u

// A job where it touches what is placed.
struct contact {
    double bound;
    uint64_t shift;   // ticks, below the modulus
    uint64_t modulus; // shifts that agree modulo this are one
    uint32_t shape;
};

struct search {
    const struct shape *shapes; // those with jumps first
    uint32_t count;
    uint32_t *job; // per shape: of the circle
    const struct rest_table *table;
    uint64_t *shifts;
    bool *placed;
    uint64_t *best_shifts;
    double best;
    struct contact *excluded;
    uint32_t excluded_count;
    double open; // least bound of what was left out
    uint64_t work;
    const struct search_limits *limits;
    bool stopped;
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int by_shift(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Shifts at which a jump of the shape meets one of the profile, ascending, each once: of opposite
// jumps alone, or of any. Returns how many.
static uint32_t list_shifts(uint64_t **shifts, const struct profile *profile,
                            const struct shape *shape, uint64_t modulus, bool any,
                            struct weft_arena *arena)
{
    uint32_t count = 0;
    uint64_t *list = WEFT_NEW_RAW(arena, uint64_t, (size_t)profile->count * shape->jump_count + 1);
    for (uint32_t s = 0; s < profile->count; s++) {
        for (uint32_t j = 0; j < shape->jump_count && profile->jumps[s] != 0; j++) {
            const struct jump *jump = &shape->jumps[j];
            if (any || (profile->jumps[s] & ~jump->direction) != 0) {
                uint64_t at = profile->at[s] % modulus;
                list[count++] = (at + modulus - jump->at % modulus) % modulus;
            }
        }
    }
    qsort(list, count, sizeof list[0], by_shift);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || list[i] != list[kept - 1]) {
            list[kept++] = list[i];
        }
    }
    *shifts = list;
    return kept;
}

static uint64_t work_of(const struct profile *profile, const struct shape *shape, uint32_t shifts)
{
    return (uint64_t)shifts * 2 * shape->arc_count * shape->repeats * WORK_A_BOUNDARY +
           (uint64_t)profile->count * (shape->load_count + shape->jump_count);
}

static bool is_excluded(const struct search *search, uint32_t shape, uint64_t shift)
{
    for (uint32_t i = 0; i < search->excluded_count; i++) {
        const struct contact *contact = &search->excluded[i];
        if (contact->shape == shape && shift % contact->modulus == contact->shift) {
            return true;
        }
    }
    return false;
}

// The first unplaced of those that have the same demand stands for all of them.
static bool stands_first(const struct search *search, uint32_t shape)
{
    for (uint32_t twin = search->shapes[shape].twin; twin != WEFT_NONE;
         twin = search->shapes[twin].twin) {
        if (!search->placed[twin]) {
            return false;
        }
    }
    return !search->placed[shape];
}

static uint32_t class_of(const struct search *search, uint32_t shape)
{
    while (search->shapes[shape].twin != WEFT_NONE) {
        shape = search->shapes[shape].twin;
    }
    return shape;
}

static int by_bound(const void *a, const void *b)
{
    const struct contact *x = a;
    const struct contact *y = b;
    if (x->bound != y->bound) {
        return x->bound < y->bound ? -1 : 1;
    }
    if (x->shape != y->shape) {
        return x->shape < y->shape ? -1 : 1;
    }
    return (x->shift > y->shift) - (x->shift < y->shift);
}

// The contacts of all unplaced shapes, with what each costs in bound; *least becomes the bound of
// the node: what each unplaced job adds at its best. A shape's contacts stand in one run while
// their prices are told from its least one.
static uint32_t list_contacts(struct contact **contacts, double *least, struct search *search,
                              const struct profile *profile, uint64_t placed_period,
                              struct weft_arena *arena)
{
    size_t most = 1;
    for (uint32_t i = 0; i < search->count; i++) {
        most += search->placed[i] ? 0 : (size_t)profile->count * search->shapes[i].jump_count;
    }
    struct contact *list = WEFT_NEW_RAW(arena, struct contact, most);
    double *cheapest = WEFT_NEW(arena, double, search->count); // per class
    uint32_t count = 0;
    *least = profile->excess;
    for (uint32_t i = 0; i < search->count; i++) {
        const struct shape *shape = &search->shapes[i];
        if (search->placed[i]) {
            continue;
        }
        const uint32_t class = class_of(search, i);
        if (stands_first(search, i)) {
            struct weft_arena room = *arena;
            const uint64_t modulus = common_divisor(shape->period, placed_period);
            const double *sums = profile_sums(profile, shape, &room);
            uint64_t *shifts = NULL;
            uint32_t shift_count = list_shifts(&shifts, profile, shape, modulus, false, &room);
            cheapest[class] = (double)INFINITY;
            search->work += work_of(profile, shape, shift_count);
            for (uint32_t k = 0; k < shift_count; k++) {
                double price = profile_price(profile, sums, shape, shifts[k]);
                cheapest[class] = fmin(cheapest[class], price);
                list[count++] = (struct contact){price, shifts[k], modulus, i};
            }
        }
        *least += cheapest[class];
    }
    for (uint32_t i = 0; i < count; i++) {
        list[i].bound += *least - cheapest[class_of(search, list[i].shape)];
    }
    *contacts = list;
    return count;
}

// Keeps the contacts that may lead to something better and were not tried before, best bound first.
static uint32_t keep_contacts(struct contact *contacts, uint32_t count, const struct search *search)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (contacts[i].bound < search->best - VALUE_EQUAL &&
            !is_excluded(search, class_of(search, contacts[i].shape), contacts[i].shift)) {
            contacts[kept++] = contacts[i];
        }
    }
    qsort(contacts, kept, sizeof contacts[0], by_bound);
    return kept;
}

static bool out_of_work(struct search *search)
{
    search->stopped = search->stopped || search->work > search->limits->work_limit ||
                      weft_stopped(search->limits->stop);
    return search->stopped;
}

// Best shifts below a node: `left` jobs are not placed, and what is placed repeats after
// placed_period ticks. Where the work runs out, search->open gets the bound of what is left.
static void search_node(struct search *search, const struct profile *profile, uint32_t left,
                        uint64_t placed_period, struct weft_arena scratch)
{
    if (left == 0) {
        if (profile->excess < search->best - VALUE_EQUAL) {
            search->best = profile->excess;
            memcpy(search->best_shifts, search->shifts, search->count * sizeof(uint64_t));
        }
        return;
    }
    search->work += profile->count;
    const double known = search->table == NULL ? 0 : profile_least(profile, search->table);
    if (known >= search->best - VALUE_EQUAL) {
        return;
    }
    struct contact *contacts = NULL;
    double least = 0;
    uint32_t count = list_contacts(&contacts, &least, search, profile, placed_period, &scratch);
    count = least < search->best - VALUE_EQUAL ? keep_contacts(contacts, count, search) : 0;
    const uint32_t excluded = search->excluded_count;
    for (uint32_t i = 0; i < count && contacts[i].bound < search->best - VALUE_EQUAL; i++) {
        if (out_of_work(search)) {
            search->open = fmin(search->open, fmax(contacts[i].bound, known));
            break;
        }
        const uint32_t mine = contacts[i].shape;
        const struct shape *shape = &search->shapes[mine];
        struct weft_arena room = scratch;
        struct profile next;
        profile_add(&next, profile, shape, contacts[i].shift, &room);
        search->shifts[mine] = contacts[i].shift;
        search->placed[mine] = true;
        search_node(search, &next, left - 1, placed_period / contacts[i].modulus * shape->period,
                    room);
        search->placed[mine] = false;
        if (search->excluded_count < EXCLUDED_MAX) {
            search->excluded[search->excluded_count] = contacts[i];
            search->excluded[search->excluded_count++].shape = class_of(search, mine);
        }
    }
    search->excluded_count = excluded;
}

// The profile of all shapes but one, at their best shifts.
static struct profile others_of(const struct search *search, uint32_t but, uint64_t perimeter,
                                struct weft_arena *arena)
{
    struct profile profile;
    profile_empty(&profile, perimeter, 0, arena);
    for (uint32_t i = 0; i < search->count; i++) {
        if (i != but) {
            profile_add(&profile, &profile, &search->shapes[i], search->best_shifts[i], arena);
        }
    }
    return profile;
}

// Moves one job after another to its best contact, until none gains: what the grid found becomes
// what is near it off the grid.
static void polish(struct search *search, uint64_t perimeter, struct weft_arena scratch)
{
    for (uint32_t idle = 0, i = 0; idle < search->count && !out_of_work(search);
         i = (i + 1) % search->count) {
        struct weft_arena room = scratch;
        const struct shape *shape = &search->shapes[i];
        const struct profile others = others_of(search, i, perimeter, &room);
        const double *sums = profile_sums(&others, shape, &room);
        uint64_t *shifts = NULL;
        uint32_t count = list_shifts(&shifts, &others, shape, shape->period, false, &room);
        double best = profile_price(&others, sums, shape, search->best_shifts[i]);
        search->work += work_of(&others, shape, count) + (uint64_t)search->count * others.count;
        idle++;
        for (uint32_t k = 0; k < count; k++) {
            double price = profile_price(&others, sums, shape, shifts[k]);
            if (price < best - VALUE_EQUAL) {
                best = price;
                search->best_shifts[i] = shifts[k];
                search->best = others.excess + price;
                idle = 0;
            }
        }
    }
}

// Ticks from the shift of a job, one way, that cost nothing: to the last boundary before the price
// rises.
static uint64_t free_run(const struct profile *others, const double *sums,
                         const struct shape *shape, const uint64_t *shifts, uint32_t count,
                         uint64_t from)
{
    const double limit = profile_price(others, sums, shape, from) + VALUE_EQUAL;
    uint32_t at = 0;
    while (at < count && shifts[at] < from) {
        at++;
    }
    uint64_t run = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint64_t shift = shifts[(at + k) % count];
        if (profile_price(others, sums, shape, shift) > limit) {
            return run;
        }
        run = (shift + shape->period - from) % shape->period;
    }
    return shape->period;
}

// The same towards earlier shifts.
static uint64_t free_run_back(const struct profile *others, const double *sums,
                              const struct shape *shape, const uint64_t *shifts, uint32_t count,
                              uint64_t from)
{
    const double limit = profile_price(others, sums, shape, from) + VALUE_EQUAL;
    uint32_t at = count;
    while (at > 0 && shifts[at - 1] > from) {
        at--;
    }
    uint64_t run = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint64_t shift = shifts[(at + count - 1 - k) % count];
        if (profile_price(others, sums, shape, shift) > limit) {
            return run;
        }
        run = (from + shape->period - shift) % shape->period;
    }
    return shape->period;
}

// A job between two others may stray either way only from the middle.
static void center(struct search *search, uint64_t perimeter, struct weft_arena scratch)
{
    for (uint32_t step = 0; step < CENTER_ROUNDS * search->count; step++) {
        const uint32_t i = step % search->count;
        struct weft_arena room = scratch;
        const struct shape *shape = &search->shapes[i];
        const struct profile others = others_of(search, i, perimeter, &room);
        const double *sums = profile_sums(&others, shape, &room);
        uint64_t *shifts = NULL;
        uint32_t count = list_shifts(&shifts, &others, shape, shape->period, true, &room);
        const uint64_t from = search->best_shifts[i];
        uint64_t late = free_run(&others, sums, shape, shifts, count, from);
        uint64_t early = free_run_back(&others, sums, shape, shifts, count, from);
        if (late < shape->period && early < shape->period && late + early < shape->period) {
            uint64_t first = from + shape->period - early;
            search->best_shifts[i] = (first + (late + early) / 2) % shape->period;
        }
        search->work += 2 * work_of(&others, shape, count);
    }
}

// The shapes of the circle's jobs: those that jump, largest area first, so that the first one is
// what the others must get past; then those that ask the same all the time, which touch nothing.
static bool list_shapes(struct search *search, const struct circle *circle,
                        const struct rest_table *table, struct weft_arena *arena)
{
    const uint32_t count = circle->job_count;
    struct shape *shapes = WEFT_NEW(arena, struct shape, count);
    double *area = WEFT_NEW(arena, double, count);
    uint64_t steps = 0;
    for (uint32_t j = 0; j < count; j++) {
        struct shape shape;
        double mine = 0;
        profile_shape(&shape, &circle->jobs[j], circle->angle_count, arena);
        shape.stride = table == NULL ? 0 : table->stride[circle->jobs[j].piece];
        steps += (uint64_t)2 * shape.arc_count * shape.repeats;
        for (uint32_t a = 0; a < shape.arc_count; a++) {
            mine += shape.arcs[a].load * (double)(shape.arcs[a].to - shape.arcs[a].from);
        }
        mine = shape.jump_count > 0 ? mine / (double)shape.period : -1;
        uint32_t at = j;
        for (; at > 0 && area[at - 1] < mine; at--) {
            area[at] = area[at - 1];
            shapes[at] = shapes[at - 1];
            search->job[at] = search->job[at - 1];
        }
        area[at] = mine;
        shapes[at] = shape;
        search->job[at] = j;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            shapes[i].twin = profile_same_shape(&shapes[k], &shapes[i]) ? k : shapes[i].twin;
        }
    }
    search->shapes = shapes;
    return steps <= STEPS_MAX;
}

// The root: jobs that do not jump, then the first of the others, all at 0.
static void search_all(struct search *search, uint64_t perimeter, struct weft_arena scratch)
{
    struct profile profile;
    uint32_t open = 0;
    for (uint32_t i = 0; i < search->count; i++) {
        open += (search->shapes[i].load_count + 1) * search->shapes[i].stride;
    }
    profile_empty(&profile, perimeter, open, &scratch);
    uint32_t left = search->count;
    for (uint32_t i = 0; i < search->count; i++) {
        if (i == 0 || search->shapes[i].jump_count == 0) {
            profile_add(&profile, &profile, &search->shapes[i], 0, &scratch);
            search->placed[i] = true;
            left--;
        }
    }
    search_node(search, &profile, left, search->shapes[0].period, scratch);
}

void interleave_contacts(struct anywhere *found, const struct circle *circle,
                         const struct rest_table *table, const struct search_limits *limits,
                         struct weft_arena scratch)
{
    const uint64_t perimeter = circle->angle_count * TICKS_PER_ANGLE;
    const uint32_t count = circle->job_count;
    struct search search = {
        .count = count,
        .job = WEFT_NEW(&scratch, uint32_t, count),
        .table = table,
        .shifts = WEFT_NEW(&scratch, uint64_t, count),
        .placed = WEFT_NEW(&scratch, bool, count),
        .best_shifts = WEFT_NEW(&scratch, uint64_t, count),
        .best = found->excess,
        .excluded = WEFT_NEW_RAW(&scratch, struct contact, EXCLUDED_MAX),
        .open = (double)INFINITY,
        .limits = limits,
    };
    found->work = 0;
    if (!list_shapes(&search, circle, table, &scratch)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        search.best_shifts[i] = found->shifts[search.job[i]];
    }
    polish(&search, perimeter, scratch);
    search_all(&search, perimeter, scratch);
    if (search.best < found->excess - VALUE_EQUAL) {
        center(&search, perimeter, scratch);
        for (uint32_t i = 0; i < count; i++) {
            found->shifts[search.job[i]] = search.best_shifts[i];
        }
    }
    found->excess = search.best;
    found->bound = fmin(fmax(found->bound, search.open), search.best);
    found->work = search.work;
}
