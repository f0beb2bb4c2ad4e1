// SPDX-License-Identifier: Apache-2.0
// Planes that turn while others carry: a search over what every plane is joined by at each step.
// After a step a state is the time and, of each plane, its circuits and when they are ready. A
// state that is nowhere earlier than another with the same circuits leads to nothing better
// (whatever is carried on from it could begin as early from the other), so that few are kept.

#include "weft/circuit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABELS 256u
#define LABELS_LEAST 16u
#define LABEL_STEPS 128u // so many keep LABELS; of more steps all together keep as many
// Circuits that no later step has: all of them are alike.
#define WIRED_DEAD (WEFT_NONE - 3)
// What a plane may turn to at a step: its circuits, the next two that differ, a ring either way.
#define TARGETS_MAX 5u

struct plane {
    double ready_s;
    uint32_t wired;
    uint32_t before; // which plane of the state before it was
};

struct label {
    double time_s;
    uint32_t parent;
    struct plane planes[WEFT_PLANES_MAX]; // by circuits, then ready
    uint32_t chosen[WEFT_PLANES_MAX];     // their circuits in the step that led here
};

struct search {
    const struct weft_plane_problem *problem;
    uint32_t *last_use; // step, by pattern
    uint32_t targets[TARGETS_MAX];
    uint32_t target_count;
    uint32_t step;
    double *rest_s;     // [step]: no plan takes less from this step on
    double most_s;      // what takes longer is not looked at
    struct label *next; // labels after the step
    uint32_t next_count;
    uint32_t limit;
    bool cut;
};

// ---- one step ----

// Something that carries from `start_s` on.
struct server {
    double start_s;
    double rate_Bps;
};

static double per_plane(double load, uint32_t planes)
{
    return load > 0 ? load / planes : 0;
}

// The planes that are a ring carry together. False: none of them do.
static bool ring_server(struct server *server, const struct weft_plane_problem *problem,
                        const struct weft_plane_pattern *pattern, const struct label *label)
{
    uint32_t up = 0;
    uint32_t down = 0;
    double ready_s = label->time_s;
    for (uint32_t p = 0; p < problem->plane_count; p++) {
        bool is_up = label->planes[p].wired == WEFT_PLANE_UP;
        bool is_down = label->planes[p].wired == WEFT_PLANE_DOWN;
        up += is_up;
        down += is_down;
        ready_s = is_up || is_down ? fmax(ready_s, label->planes[p].ready_s) : ready_s;
    }
    double load = 0;
    uint32_t hops = 0;
    if (up > 0 && down > 0) {
        load = fmax(per_plane(pattern->up.load, up), per_plane(pattern->down.load, down));
        hops = pattern->up.hops > pattern->down.hops ? pattern->up.hops : pattern->down.hops;
    } else if (up + down > 0) {
        const struct weft_ring_way *way = up > 0 ? &pattern->all_up : &pattern->all_down;
        load = per_plane(way->load, up + down);
        hops = way->hops;
    }
    if (load <= 0) {
        return false;
    }
    *server = (struct server){ready_s + hops * problem->hop_s, problem->rate_Bps / load};
    return true;
}

static int by_start(const void *a, const void *b)
{
    double x = ((const struct server *)a)->start_s;
    double y = ((const struct server *)b)->start_s;
    return (x > y) - (x < y);
}

// When the step's bytes have been carried by the planes as the label has them; INFINITY: never.
static double carry(const struct weft_plane_problem *problem, const struct weft_plane_step *step,
                    const struct label *label)
{
    struct server servers[WEFT_PLANES_MAX + 1];
    uint32_t count = 0;
    for (uint32_t p = 0; p < problem->plane_count; p++) {
        if (label->planes[p].wired == step->pattern) {
            servers[count++] = (struct server){
                fmax(label->time_s, label->planes[p].ready_s) + problem->hop_s, problem->rate_Bps};
        }
    }
    count += ring_server(&servers[count], problem, &problem->patterns[step->pattern], label);
    qsort(servers, count, sizeof servers[0], by_start);
    // By the time T servers have carried the sum of rate (T - start): those that start before T.
    double rate_Bps = 0;
    double head_bytes = 0;
    double end_s = (double)INFINITY;
    for (uint32_t i = 0; i < count && servers[i].start_s < end_s; i++) {
        rate_Bps += servers[i].rate_Bps;
        head_bytes += servers[i].rate_Bps * servers[i].start_s;
        end_s = (step->bytes + head_bytes) / rate_Bps;
    }
    return end_s;
}

// ---- states ----

static int by_circuits(const void *a, const void *b)
{
    const struct plane *x = a;
    const struct plane *y = b;
    if (x->wired != y->wired) {
        return x->wired < y->wired ? -1 : 1;
    }
    return (x->ready_s > y->ready_s) - (x->ready_s < y->ready_s);
}

static bool is_no_later(const struct label *a, const struct label *b, uint32_t planes)
{
    if (a->time_s > b->time_s) {
        return false;
    }
    for (uint32_t p = 0; p < planes; p++) {
        if (a->planes[p].wired != b->planes[p].wired ||
            fmax(a->planes[p].ready_s, a->time_s) > fmax(b->planes[p].ready_s, b->time_s)) {
            return false;
        }
    }
    return true;
}

// Keeps a state unless one that is kept is no later; drops those that it makes needless.
static void keep(struct search *search, const struct label *label)
{
    uint32_t planes = search->problem->plane_count;
    for (uint32_t i = 0; i < search->next_count; i++) {
        if (is_no_later(&search->next[i], label, planes)) {
            return;
        }
    }
    uint32_t kept = 0;
    uint32_t latest = 0;
    for (uint32_t i = 0; i < search->next_count; i++) {
        if (!is_no_later(label, &search->next[i], planes)) {
            search->next[kept] = search->next[i];
            latest = search->next[kept].time_s > search->next[latest].time_s ? kept : latest;
            kept++;
        }
    }
    search->next_count = kept;
    if (kept < search->limit) {
        search->next[search->next_count++] = *label;
        return;
    }
    search->cut = true;
    if (label->time_s < search->next[latest].time_s) {
        search->next[latest] = *label;
    }
}

// The state after the step, where every plane has chosen.
static void finish(struct search *search, const struct label *chosen)
{
    const struct weft_plane_problem *problem = search->problem;
    struct label after = *chosen;
    after.time_s = carry(problem, &problem->steps[search->step], chosen);
    if (!(after.time_s + search->rest_s[search->step + 1] <= search->most_s)) {
        return;
    }
    for (uint32_t p = 0; p < problem->plane_count; p++) {
        struct plane *plane = &after.planes[p];
        after.chosen[plane->before] = plane->wired;
        if (plane->wired < problem->pattern_count &&
            search->last_use[plane->wired] <= search->step) {
            plane->wired = WIRED_DEAD;
        }
    }
    qsort(after.planes, problem->plane_count, sizeof after.planes[0], by_circuits);
    keep(search, &after);
}

static bool are_alike(const struct plane *a, const struct plane *b, double time_s)
{
    return a->wired == b->wired && fmax(a->ready_s, time_s) <= fmax(b->ready_s, time_s) &&
           fmax(b->ready_s, time_s) <= fmax(a->ready_s, time_s);
}

// Every choice of plane p and those behind it: it stays, or turns to a target. Planes that were
// alike choose in order, since which of them does what makes no difference.
static void choose(struct search *search, const struct label *from, struct label *chosen,
                   uint32_t p, uint32_t least)
{
    const struct weft_plane_problem *problem = search->problem;
    if (p >= problem->plane_count || p == WEFT_PLANES_MAX) { // so that the compiler sees the end
        finish(search, chosen);
        return;
    }
    const struct plane *plane = &from->planes[p];
    bool same_next =
        p + 1 < problem->plane_count && are_alike(plane, &from->planes[p + 1], from->time_s);
    for (uint32_t c = least; c <= search->target_count; c++) {
        chosen->planes[p] = (struct plane){plane->ready_s, plane->wired, p};
        if (c > 0) {
            uint32_t target = search->targets[c - 1];
            if (plane->ready_s > from->time_s || target == plane->wired) {
                continue;
            }
            chosen->planes[p].wired = target;
            chosen->planes[p].ready_s = from->time_s + problem->change_s;
        }
        choose(search, from, chosen, p + 1, same_next ? c : 0);
    }
}

static void set_targets(struct search *search)
{
    const struct weft_plane_problem *problem = search->problem;
    search->target_count = 0;
    for (uint32_t s = search->step; s < problem->step_count && search->target_count < 3; s++) {
        uint32_t pattern = problem->steps[s].pattern;
        bool known = false;
        for (uint32_t i = 0; i < search->target_count; i++) {
            known = known || search->targets[i] == pattern;
        }
        if (!known) {
            search->targets[search->target_count++] = pattern;
        }
    }
    search->targets[search->target_count++] = WEFT_PLANE_UP;
    search->targets[search->target_count++] = WEFT_PLANE_DOWN;
}

// ---- the two plans that need no search ----

// Every plane stays a ring, or all turn at each step of other circuits. Wires them unless NULL.
static double fixed_plan(const struct weft_plane_problem *problem, bool stays, uint32_t *wired)
{
    uint32_t planes = problem->plane_count;
    struct label label = {0};
    uint32_t before = WEFT_NONE;
    for (uint32_t s = 0; s < problem->step_count; s++) {
        uint32_t pattern = problem->steps[s].pattern;
        for (uint32_t p = 0; p < planes; p++) {
            uint32_t ring = p % 2 == 0 ? WEFT_PLANE_UP : WEFT_PLANE_DOWN;
            label.planes[p].wired = stays ? ring : pattern;
            label.planes[p].ready_s = label.time_s;
            if (!stays && pattern != before) {
                label.planes[p].ready_s += problem->change_s;
            }
            if (wired != NULL) {
                wired[(size_t)s * planes + p] = label.planes[p].wired;
            }
        }
        before = pattern;
        label.time_s = carry(problem, &problem->steps[s], &label);
    }
    return label.time_s;
}

static uint32_t count_changes(const struct weft_plane_problem *problem, const uint32_t *wired)
{
    uint32_t changes = 0;
    WEFT_ASSERT(problem->plane_count > 0);
    for (uint32_t i = 0; i < problem->step_count * problem->plane_count; i++) {
        uint32_t plane = i % problem->plane_count;
        uint32_t ring = plane % 2 == 0 ? WEFT_PLANE_UP : WEFT_PLANE_DOWN;
        changes += wired[i] != (i < problem->plane_count ? ring : wired[i - problem->plane_count]);
    }
    return changes;
}

// ---- the whole ----

// Planes are interchangeable in the search; here the even ones began as a ring up, which stand
// behind those of a ring down in the first state. `at` has each plane's place there.
static void order_by_first(struct weft_plane_plan *plan, const struct weft_plane_problem *problem,
                           const uint32_t *at)
{
    uint32_t planes = problem->plane_count;
    for (uint32_t s = 0; s < problem->step_count; s++) {
        uint32_t row[WEFT_PLANES_MAX];
        uint32_t *wired = plan->wired + (size_t)s * planes;
        memcpy(row, wired, planes * sizeof row[0]);
        for (uint32_t p = 0; p < planes; p++) {
            uint32_t down = planes / 2;
            uint32_t plane = at[p] < down ? 2 * at[p] + 1 : 2 * (at[p] - down);
            // What no later step has stays as it was.
            wired[plane] = row[p] == WIRED_DEAD ? wired[(int64_t)plane - planes] : row[p];
        }
    }
}

// From the last step's best state back: which plane is which in every step.
static void trace(struct weft_plane_plan *plan, const struct weft_plane_problem *problem,
                  const struct label *const *steps, uint32_t best)
{
    uint32_t planes = problem->plane_count;
    uint32_t at[WEFT_PLANES_MAX]; // of each plane, its place in the label after the step
    for (uint32_t p = 0; p < planes; p++) {
        at[p] = p;
    }
    for (uint32_t s = problem->step_count; s-- > 0;) {
        const struct label *label = &steps[s][best];
        for (uint32_t p = 0; p < planes; p++) {
            at[p] = label->planes[at[p]].before;
            plan->wired[(size_t)s * planes + p] = label->chosen[at[p]];
        }
        best = label->parent;
    }
    order_by_first(plan, problem, at);
}

static void init_search(struct search *search, const struct weft_plane_problem *problem,
                        struct weft_arena *scratch)
{
    *search = (struct search){
        .problem = problem,
        .last_use = WEFT_NEW(scratch, uint32_t, problem->pattern_count),
        .rest_s = WEFT_NEW(scratch, double, problem->step_count + 1),
        .limit = problem->label_limit,
    };
    if (search->limit == 0) {
        uint32_t spans = 1 + problem->step_count / (LABEL_STEPS + 1);
        search->limit = LABELS / spans > LABELS_LEAST ? LABELS / spans : LABELS_LEAST;
    }
    for (uint32_t s = 0; s < problem->step_count; s++) {
        WEFT_ASSERT(problem->steps[s].pattern < problem->pattern_count);
        search->last_use[problem->steps[s].pattern] = s;
    }
    for (uint32_t s = problem->step_count; s-- > 0;) {
        search->rest_s[s] = search->rest_s[s + 1] + problem->hop_s +
                            problem->steps[s].bytes / (problem->rate_Bps * problem->plane_count);
    }
    search->next = WEFT_NEW_RAW(scratch, struct label, search->limit);
}

// Steps that were searched, each with the labels after it; false: all of them take longer.
static bool search_steps(struct search *search, const struct label **steps, uint32_t *best,
                         struct weft_arena *scratch)
{
    const struct weft_plane_problem *problem = search->problem;
    struct label first = {0};
    for (uint32_t p = 0; p < problem->plane_count; p++) {
        first.planes[p].wired = p % 2 == 0 ? WEFT_PLANE_UP : WEFT_PLANE_DOWN;
    }
    qsort(first.planes, problem->plane_count, sizeof first.planes[0], by_circuits);
    const struct label *from = &first;
    uint32_t from_count = 1;
    for (; search->step < problem->step_count; search->step++) {
        set_targets(search);
        search->next_count = 0;
        for (uint32_t i = 0; i < from_count; i++) {
            struct label chosen = from[i];
            chosen.parent = i;
            choose(search, &from[i], &chosen, 0, 0);
        }
        search->cut = search->cut || weft_stopped(problem->stop);
        if (search->next_count == 0 || weft_stopped(problem->stop)) {
            return false;
        }
        struct label *labels = WEFT_NEW_RAW(scratch, struct label, search->next_count);
        memcpy(labels, search->next, search->next_count * sizeof labels[0]);
        steps[search->step] = labels;
        from = labels;
        from_count = search->next_count;
    }
    *best = 0;
    for (uint32_t i = 1; i < from_count; i++) {
        *best = from[i].time_s < from[*best].time_s ? i : *best;
    }
    return true;
}

void weft_circuit_planes(struct weft_plane_plan *plan, const struct weft_plane_problem *problem,
                         struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t planes = problem->plane_count;
    WEFT_ASSERT(planes > 0 && planes <= WEFT_PLANES_MAX && problem->rate_Bps > 0);
    *plan = (struct weft_plane_plan){
        .wired = WEFT_NEW(arena, uint32_t, (size_t)problem->step_count * planes)};
    if (problem->step_count == 0) {
        return;
    }
    struct search search;
    init_search(&search, problem, &scratch);
    double stay_s = fixed_plan(problem, true, NULL);
    double always_s = fixed_plan(problem, false, NULL);
    double fixed_s = fmin(stay_s, always_s);
    double most_s = problem->most_s > 0 ? problem->most_s : (double)INFINITY;
    search.most_s = fmin(fixed_s, most_s);
    const struct label **steps = WEFT_NEW(&scratch, const struct label *, problem->step_count);
    uint32_t best = 0;
    if (search_steps(&search, steps, &best, &scratch)) {
        plan->seconds = steps[problem->step_count - 1][best].time_s;
        trace(plan, problem, steps, best);
    } else {
        (void)fixed_plan(problem, stay_s <= always_s, plan->wired);
        plan->seconds = fixed_s <= most_s ? fixed_s : (double)INFINITY;
    }
    plan->changes = count_changes(problem, plan->wired);
    plan->cut = search.cut;
}
