// SPDX-License-Identifier: Apache-2.0
// Time-shifts for jobs that share links, through the room interleave.

#include "state.h"

#include <math.h>

// How closely a question is looked at.
struct care {
    uint32_t circle; // at most so many iterations of its shortest job
    uint32_t parts;  // periods are multiples of the shortest one's n-th part; n up to this
    uint32_t work;   // cells of circles that an answer may cost once there is one
};
static const struct care cares[] = {
    [SCHED_RANK] = {24, 12, 250000}, [SCHED_SHIFT] = {120, 60, 4000000}, // a few ms
};

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b > 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// What stretching to multiples of quantum_ps costs, as the mean of period over iteration;
// INFINITY where the circle would be too long.
static double stretch_cost(const struct sched_component *component, double quantum_ps,
                           double shortest_ps, const struct care *care)
{
    double limit = care->circle * ceil(shortest_ps / quantum_ps - 1e-9);
    uint64_t circle = 1;
    double cost = 0;
    for (uint32_t i = 0; i < component->job_count; i++) {
        double alone_ps = component->places[i]->alone_ps;
        uint64_t parts = (uint64_t)ceil(alone_ps / quantum_ps - 1e-9);
        circle = circle / gcd(circle, parts) * parts;
        if ((double)circle > limit) {
            return INFINITY;
        }
        cost += (double)parts * quantum_ps / alone_ps;
    }
    return cost / component->job_count;
}

// The quantum that stretches periods least among those whose circle is short enough.
static double choose_quantum(const struct sched_component *component, const struct care *care)
{
    double shortest_ps = INFINITY;
    double longest_ps = 0;
    for (uint32_t i = 0; i < component->job_count; i++) {
        shortest_ps = fmin(shortest_ps, component->places[i]->alone_ps);
        longest_ps = fmax(longest_ps, component->places[i]->alone_ps);
    }
    double best_ps = ceil(longest_ps); // one period for all, where nothing else is short enough
    double best_cost = INFINITY;
    for (uint32_t parts = 1; parts <= care->parts; parts++) {
        double quantum_ps = ceil(shortest_ps / parts);
        double cost = stretch_cost(component, quantum_ps, shortest_ps, care);
        if (cost < best_cost - 1e-6) {
            best_cost = cost;
            best_ps = quantum_ps;
        }
    }
    return best_ps;
}

static struct weft_demand demand_on(const struct sched_place *place, double share,
                                    double capacity_Bps, uint64_t period_ps,
                                    struct weft_arena *arena)
{
    struct weft_demand_phase *phases =
        WEFT_NEW(arena, struct weft_demand_phase, place->segment_count);
    struct weft_demand demand = {.iteration_ps = period_ps, .phases = phases};
    double at_ps = 0;
    for (uint32_t s = 0; s < place->segment_count; s++) {
        const struct sched_segment *segment = &place->segments[s];
        uint64_t start_ps = (uint64_t)at_ps;
        at_ps += segment->duration_ps;
        uint64_t end_ps = (uint64_t)fmin(at_ps, (double)period_ps);
        if (segment->rate_Bps > 0 && end_ps > start_ps) {
            phases[demand.phase_count++] = (struct weft_demand_phase){
                .start_ps = start_ps,
                .duration_ps = end_ps - start_ps,
                .rate_Bps = fmin(segment->rate_Bps * share, capacity_Bps),
            };
        }
    }
    return demand;
}

static void fill_job(struct weft_sharing_job *job, const struct sched_component *component,
                     uint32_t index, const char *name, uint64_t period_ps, struct weft_arena *arena)
{
    const struct sched_place *place = component->places[index];
    uint32_t *links = WEFT_NEW(arena, uint32_t, component->link_count);
    struct weft_demand *demands = WEFT_NEW(arena, struct weft_demand, component->link_count);
    uint32_t count = 0;
    for (uint32_t l = 0; l < component->link_count; l++) {
        const struct steady_link *link = &component->links[l];
        for (uint32_t i = 0; i < link->job_count; i++) {
            if (link->jobs[i] == index) {
                links[count] = l;
                demands[count++] =
                    demand_on(place, link->shares[i], link->capacity_Bps, period_ps, arena);
            }
        }
    }
    *job = (struct weft_sharing_job){
        .name = name,
        .demand = {.iteration_ps = period_ps},
        .links = links,
        .link_count = count,
        .link_demands = demands,
    };
}

bool sched_shift(struct sched_shifts *shifts, const struct sched *sched,
                 const struct sched_component *component, enum sched_care care,
                 struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t count = component->job_count;
    double quantum_ps = choose_quantum(component, &cares[care]);
    struct weft_sharing_job *jobs = WEFT_NEW(&scratch, struct weft_sharing_job, count);
    struct weft_shared_link *links =
        WEFT_NEW(&scratch, struct weft_shared_link, component->link_count);
    *shifts = (struct sched_shifts){
        .score = 1,
        .shift_ps = WEFT_NEW(arena, double, count),
        .period_ps = WEFT_NEW(arena, double, count),
    };
    for (uint32_t i = 0; i < count; i++) {
        double parts = ceil(component->places[i]->alone_ps / quantum_ps - 1e-9);
        shifts->period_ps[i] = parts * quantum_ps;
        fill_job(&jobs[i], component, i, sched->jobs[component->jobs[i]].record->name,
                 (uint64_t)shifts->period_ps[i], &scratch);
    }
    for (uint32_t l = 0; l < component->link_count; l++) {
        links[l] = (struct weft_shared_link){"shared", component->links[l].capacity_Bps};
    }
    struct weft_snapshot snapshot = {links, component->link_count, jobs, count};
    struct weft_interleave_options options = {
        .quantum_ps = (uint64_t)quantum_ps,
        .perimeter_limit = cares[care].circle,
        .heuristic = true,
        .work_limit = cares[care].work,
        .seed = sched->options->seed,
    };
    struct weft_interleaving answer;
    struct weft_arena results = weft_arena_split(&scratch);
    if (!weft_interleave(&answer, &snapshot, &options, &results, scratch, sched->error)) {
        return false;
    }
    shifts->score = answer.score;
    for (uint32_t i = 0; i < count; i++) {
        shifts->shift_ps[i] = (double)answer.time_shift_ps[i];
    }
    return true;
}
