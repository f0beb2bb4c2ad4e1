// SPDX-License-Identifier: Apache-2.0
// The load of a link as steps around its circle (profile.h), for searches over shifts by any time.
//
// Prices follow cells.c: excess is piecewise linear in the load, so what a load adds is summed up
// along the steps once, and a phase at any shift is then a difference of two sums. Here the steps
// begin where demands jump, so there are as many as jumps, not as angles.

#include "profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_load(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The loads of a shape in the order of cells.c, so that digits of codes mean the same.
static void list_loads(struct shape *shape, struct weft_arena *arena)
{
    double *loads = WEFT_NEW(arena, double, shape->arc_count);
    uint32_t *arc_load = WEFT_NEW(arena, uint32_t, shape->arc_count);
    for (uint32_t a = 0; a < shape->arc_count; a++) {
        loads[a] = shape->arcs[a].load;
    }
    qsort(loads, shape->arc_count, sizeof loads[0], by_load);
    for (uint32_t a = 0; a < shape->arc_count; a++) {
        if (shape->load_count == 0 || loads[a] != loads[shape->load_count - 1]) {
            loads[shape->load_count++] = loads[a];
        }
    }
    for (uint32_t a = 0; a < shape->arc_count; a++) {
        while (loads[arc_load[a]] != shape->arcs[a].load) {
            arc_load[a]++;
        }
    }
    shape->loads = loads;
    shape->arc_load = arc_load;
}

// Where one arc ends and the next begins, only what is left of the two jumps counts; the end of an
// iteration is its begin. What asks the same all the time has no jumps.
void profile_shape(struct shape *shape, const struct circle_job *job, uint32_t angle_count,
                   struct weft_arena *arena)
{
    *shape = (struct shape){
        .period = job->angles * TICKS_PER_ANGLE,
        .repeats = angle_count / job->angles,
        .twin = WEFT_NONE,
        .arc_count = job->arc_count,
        .arcs = job->arcs,
    };
    list_loads(shape, arena);
    struct jump *jumps = WEFT_NEW(arena, struct jump, (size_t)2 * job->arc_count);
    for (uint32_t a = 0; a < job->arc_count; a++) {
        const struct arc *arc = &job->arcs[a];
        const struct arc *before = &job->arcs[(a + job->arc_count - 1) % job->arc_count];
        const struct arc *after = &job->arcs[(a + 1) % job->arc_count];
        bool joined = before->to % shape->period == arc->from;
        double step = arc->load - (joined ? before->load : 0);
        if (step != 0) {
            jumps[shape->jump_count++] =
                (struct jump){arc->from, step > 0 ? (uint8_t)JUMP_UP : (uint8_t)JUMP_DOWN};
        }
        if (arc->to % shape->period != after->from) {
            jumps[shape->jump_count++] = (struct jump){arc->to, (uint8_t)JUMP_DOWN};
        }
    }
    shape->jumps = jumps;
}

bool profile_same_shape(const struct shape *a, const struct shape *b)
{
    bool same = a->period == b->period && a->arc_count == b->arc_count;
    for (uint32_t i = 0; same && i < a->arc_count; i++) {
        same = a->arcs[i].from == b->arcs[i].from && a->arcs[i].to == b->arcs[i].to &&
               a->arcs[i].load == b->arcs[i].load;
    }
    return same;
}

void profile_empty(struct profile *profile, uint64_t perimeter, uint32_t code,
                   struct weft_arena *arena)
{
    uint64_t *at = WEFT_NEW(arena, uint64_t, 2);
    uint32_t *codes = WEFT_NEW(arena, uint32_t, 1);
    at[1] = perimeter;
    codes[0] = code;
    *profile = (struct profile){.perimeter = perimeter,
                                .count = 1,
                                .at = at,
                                .load = WEFT_NEW(arena, double, 1),
                                .code = codes,
                                .jumps = WEFT_NEW(arena, uint8_t, 1)};
}

// A boundary of a phase, in the order of the circle.
struct event {
    uint64_t at;
    double load;   // more from here on
    uint32_t code; // likewise, modulo 2^32
};

// The boundaries of a shape around the circle, and its load and code just before tick 0. They
// ascend from the shift on; those beyond the perimeter come first, from 0 on. A sum that has come
// back to nothing is made 0, so that no rounding is left of it.
static void list_events(struct event *events, struct event *start, const struct shape *shape,
                        uint64_t shift, uint64_t perimeter)
{
    const uint32_t all = 2 * shape->arc_count * shape->repeats;
    uint32_t within = 0;
    *start = (struct event){0};
    for (uint32_t r = 0; r < shape->repeats; r++) {
        for (uint32_t a = 0; a < shape->arc_count; a++) {
            const struct arc *arc = &shape->arcs[a];
            const uint64_t base = shift + r * shape->period;
            within += base + arc->from < perimeter ? 1 : 0;
            within += base + arc->to < perimeter ? 1 : 0;
        }
    }
    uint32_t next = all - within; // place of the first boundary after the shift
    for (uint32_t r = 0; r < shape->repeats; r++) {
        for (uint32_t a = 0; a < shape->arc_count; a++) {
            const struct arc *arc = &shape->arcs[a];
            const uint64_t base = shift + r * shape->period;
            const uint32_t code = (shape->arc_load[a] + 1) * shape->stride;
            const struct event pair[] = {{base + arc->from, arc->load, code},
                                         {base + arc->to, -arc->load, 0u - code}};
            for (uint32_t i = 0; i < 2; i++) {
                next = next == all ? 0 : next;
                events[next] = pair[i];
                events[next++].at %= perimeter;
            }
            if (pair[0].at < perimeter && pair[1].at >= perimeter) {
                *start = (struct event){0, arc->load, code};
            }
        }
    }
}

// Steps of the sum begin where either has one. The merge keeps both lists' present load apart, so
// that a shape that is gone leaves nothing.
void profile_add(struct profile *sum, const struct profile *profile, const struct shape *shape,
                 uint64_t shift, struct weft_arena *arena)
{
    const uint32_t event_count = 2 * shape->arc_count * shape->repeats;
    const size_t most = (size_t)profile->count + event_count;
    struct event *events = WEFT_NEW_RAW(arena, struct event, event_count);
    uint64_t *at = WEFT_NEW_RAW(arena, uint64_t, most + 1);
    double *load = WEFT_NEW_RAW(arena, double, most);
    uint32_t *code = WEFT_NEW_RAW(arena, uint32_t, most);
    uint8_t *jumps = WEFT_NEW_RAW(arena, uint8_t, most);
    const uint32_t open = (shape->load_count + 1) * shape->stride;
    struct event mine;
    list_events(events, &mine, shape, shift, profile->perimeter);
    uint32_t count = 0;
    uint32_t step = 0; // of the profile, the next one
    double excess = 0;
    for (uint32_t e = 0; e < event_count || step < profile->count; count++) {
        uint64_t here = step < profile->count ? profile->at[step] : profile->perimeter;
        here = e < event_count && events[e].at < here ? events[e].at : here;
        jumps[count] = 0;
        if (step < profile->count && profile->at[step] == here) {
            jumps[count] = profile->jumps[step++];
        }
        const double before = mine.load;
        while (e < event_count && events[e].at == here) {
            mine.load = fabs(mine.load + events[e].load) < 1e-12 ? 0 : mine.load + events[e].load;
            mine.code += events[e++].code;
        }
        jumps[count] |= mine.load > before ? (uint8_t)JUMP_UP : 0;
        jumps[count] |= mine.load < before ? (uint8_t)JUMP_DOWN : 0;
        at[count] = here;
        load[count] = profile->load[step - 1] + mine.load;
        code[count] = profile->code[step - 1] - open + mine.code;
    }
    at[count] = profile->perimeter;
    for (uint32_t i = 0; i < count; i++) {
        excess += fmax(0, load[i] - 1) * (double)(at[i + 1] - at[i]);
    }
    *sum = (struct profile){.perimeter = profile->perimeter,
                            .count = count,
                            .at = at,
                            .load = load,
                            .code = code,
                            .jumps = jumps,
                            .excess = excess / (double)profile->perimeter};
}

// What a load more on a step adds, per tick.
static double added(double load, double more)
{
    return fmax(0, load + more - 1) - fmax(0, load - 1);
}

double *profile_sums(const struct profile *profile, const struct shape *shape,
                     struct weft_arena *arena)
{
    const uint32_t row = profile->count + 1;
    double *sums = WEFT_NEW_RAW(arena, double, (size_t)row * shape->load_count);
    for (uint32_t i = 0; i < shape->load_count; i++) {
        double *of_load = sums + (size_t)i * row;
        of_load[0] = 0;
        for (uint32_t s = 0; s < profile->count; s++) {
            of_load[s + 1] = of_load[s] + added(profile->load[s], shape->loads[i]) *
                                              (double)(profile->at[s + 1] - profile->at[s]);
        }
    }
    return sums;
}

static double sum_until(const struct profile *profile, const double *of_load, double load,
                        uint64_t tick)
{
    uint32_t low = 0; // at[low] <= tick < at[high]
    uint32_t high = profile->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (profile->at[middle] <= tick) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return of_load[low] + added(profile->load[low], load) * (double)(tick - profile->at[low]);
}

double profile_price(const struct profile *profile, const double *sums, const struct shape *shape,
                     uint64_t shift)
{
    const uint32_t row = profile->count + 1;
    double price = 0;
    for (uint32_t a = 0; a < shape->arc_count; a++) {
        const struct arc *arc = &shape->arcs[a];
        const double *of_load = sums + (size_t)shape->arc_load[a] * row;
        for (uint32_t r = 0; r < shape->repeats; r++) {
            uint64_t from = (shift + r * shape->period + arc->from) % profile->perimeter;
            uint64_t to = from + (arc->to - arc->from);
            price -= sum_until(profile, of_load, arc->load, from);
            if (to >= profile->perimeter) {
                price += of_load[profile->count];
                to -= profile->perimeter;
            }
            price += sum_until(profile, of_load, arc->load, to);
        }
    }
    return price / (double)profile->perimeter;
}

double profile_least(const struct profile *profile, const struct rest_table *table)
{
    double rest = 0;
    for (uint32_t i = 0; i < profile->count; i++) {
        rest += table->rest[profile->code[i]] * (double)(profile->at[i + 1] - profile->at[i]);
    }
    return table->least + rest / (double)profile->perimeter;
}
