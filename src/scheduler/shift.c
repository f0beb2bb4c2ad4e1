// SPDX-License-Identifier: Apache-2.0
// Time-shifts for jobs that share links, through the room interleave (Cassini: Rajasekaran et al.,
// NSDI 2024, section 3).
//
// Iteration times of a trace have no small common multiple, so periods are stretched to multiples
// of a quantum: of those whose unified circle is short enough, the one that stretches least in the
// mean. Large companies are looked at more coarsely, so that the work of an answer stays bounded by
// a `struct care`. A bound by areas alone lets candidates be dropped before they are searched.
// O(parts * jobs) for the quantum, then the work limit of the heuristic.

#include "state.h"

#include <math.h>

// How closely a question is looked at. The circle of 120 iterations and 5 degrees (72 angles) are
// the defaults of interleave; work and angles were chosen with bench_schedule day
// (docs/scheduler.md, "A day on 1024 GPUs"), so that ranking ten candidates costs about what one
// answer does.
struct care {
    uint32_t iterations; // a circle is at most so many iterations of its shortest job
    uint32_t parts;      // periods are multiples of the shortest one's n-th part; n up to this
    uint32_t work;       // cells of circles that an answer may cost once there is one
    uint32_t angles;     // of all circles, for each job on them: large companies' are coarser
};
static const struct care cares[] = {
    [SCHED_RANK] = {24, 12, 250000, 30000},
    [SCHED_SHIFT] = {120, 60, 4000000, 120000},
};
#define ANGLES 72u     // of the shortest iteration, where there is room
#define ANGLES_MIN 12u // where there is not

// How a company is wound: periods are multiples of the quantum.
struct winding {
    double quantum_ps;
    uint32_t angles; // of the shortest period, at least
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

// A job's period: the multiple of quantum_ps that holds its iteration.
static uint64_t count_parts(const struct sched_component *component, uint32_t i, double quantum_ps)
{
    return (uint64_t)ceil(component->places[i]->alone_ps / quantum_ps - 1e-9);
}

// What stretching to multiples of quantum_ps costs, as the mean of period over iteration; INFINITY
// where the circle would be too long. *iterations: iterations of the shortest job on it.
static double stretch_cost(double *iterations, const struct sched_component *component,
                           double quantum_ps, const struct care *care)
{
    uint64_t circle = 1;
    uint64_t shortest = UINT64_MAX;
    double cost = 0;
    for (uint32_t i = 0; i < component->job_count; i++) {
        uint64_t parts = count_parts(component, i, quantum_ps);
        shortest = parts < shortest ? parts : shortest;
        circle = circle / gcd(circle, parts) * parts;
        if ((double)circle > (double)care->iterations * (double)shortest) {
            return (double)INFINITY;
        }
        cost += (double)parts * quantum_ps / component->places[i]->alone_ps;
    }
    *iterations = (double)circle / (double)shortest;
    return cost / component->job_count;
}

// The quantum that stretches periods least among those whose circles are short enough, and the
// finest angle that they leave room for.
static struct winding choose_winding(const struct sched_component *component,
                                     const struct care *care)
{
    double shortest_ps = (double)INFINITY;
    double longest_ps = 0;
    double entries = 0;
    for (uint32_t i = 0; i < component->job_count; i++) {
        shortest_ps = fmin(shortest_ps, component->places[i]->alone_ps);
        longest_ps = fmax(longest_ps, component->places[i]->alone_ps);
    }
    for (uint32_t l = 0; l < component->link_count; l++) {
        entries += component->links[l].job_count;
    }
    // One period for all, where nothing else is short enough.
    double room = fmin(fmax(care->angles / entries, ANGLES_MIN), ANGLES);
    struct winding best = {ceil(longest_ps), (uint32_t)room};
    double best_cost = (double)INFINITY;
    for (uint32_t parts = 1; parts <= care->parts; parts++) {
        double quantum_ps = ceil(shortest_ps / parts);
        double iterations = 1;
        double cost = stretch_cost(&iterations, component, quantum_ps, care);
        room = floor(care->angles / (entries * iterations));
        if (cost < best_cost - 1e-6 && room >= fmax(parts, ANGLES_MIN)) {
            best_cost = cost;
            best = (struct winding){quantum_ps, (uint32_t)fmin(room, ANGLES)};
        }
    }
    return best;
}

double sched_score_bound(const struct sched_component *component, enum sched_care care)
{
    double quantum_ps = choose_winding(component, &cares[care]).quantum_ps;
    double bound = 1;
    for (uint32_t l = 0; l < component->link_count; l++) {
        const struct steady_link *link = &component->links[l];
        double busy = 0;
        for (uint32_t i = 0; i < link->job_count; i++) {
            const struct sched_place *place = component->places[link->jobs[i]];
            double sent = 0;
            for (uint32_t s = 0; s < place->segment_count; s++) {
                double rate_Bps = place->segments[s].rate_Bps * link->shares[i];
                sent += place->segments[s].duration_ps * fmin(rate_Bps, link->capacity_Bps);
            }
            busy += sent / link->capacity_Bps /
                    ((double)count_parts(component, link->jobs[i], quantum_ps) * quantum_ps);
        }
        bound = fmin(bound, 2 - fmax(busy, 1));
    }
    return bound;
}

struct weft_demand sched_demand_on(const struct sched_place *place, double share,
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
                    sched_demand_on(place, link->shares[i], link->capacity_Bps, period_ps, arena);
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

// Builds a snapshot of the component with stretched periods and lets the heuristic find shifts. The
// result names them in the order of the component's jobs; fails as weft_interleave does.
bool sched_shift(struct sched_shifts *shifts, const struct sched *sched,
                 const struct sched_component *component, enum sched_care care,
                 struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t count = component->job_count;
    struct winding winding = choose_winding(component, &cares[care]);
    double quantum_ps = winding.quantum_ps;
    struct weft_sharing_job *jobs = WEFT_NEW(&scratch, struct weft_sharing_job, count);
    struct weft_shared_link *links =
        WEFT_NEW(&scratch, struct weft_shared_link, component->link_count);
    *shifts = (struct sched_shifts){
        .score = 1,
        .shift_ps = WEFT_NEW(arena, double, count),
        .period_ps = WEFT_NEW(arena, double, count),
    };
    for (uint32_t i = 0; i < count; i++) {
        shifts->period_ps[i] = (double)count_parts(component, i, quantum_ps) * quantum_ps;
        fill_job(&jobs[i], component, i, sched->jobs[component->jobs[i]].record->name,
                 (uint64_t)shifts->period_ps[i], &scratch);
    }
    for (uint32_t l = 0; l < component->link_count; l++) {
        links[l] = (struct weft_shared_link){"shared", component->links[l].capacity_Bps};
    }
    struct weft_snapshot snapshot = {links, component->link_count, jobs, count};
    struct weft_interleave_options options = {
        .precision_degrees = 360.0 / winding.angles,
        .quantum_ps = (uint64_t)quantum_ps,
        .perimeter_limit = cares[care].iterations,
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
