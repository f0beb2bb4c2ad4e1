// SPDX-License-Identifier: Apache-2.0
// What may stand in a snapshot, and snapshots from measured series or joined from several. A
// snapshot is checked once, so that searches and engines rely on phases in order, within their
// iteration and within their link's capacity; messages name job, phase and link. Joining matches
// links by name. O(phases), O(links log links) to join.

#include "weft/interleave.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_ERROR 0.01 // by which a sample may exceed what a link carries

// Whether phases follow one another within the iteration and fit the link. A phase that runs over
// the iteration's end is refused rather than wrapped: it is more often a mistake than meant.
static bool check_demand(const struct weft_demand *demand, const char *job, double capacity_Bps,
                         const char *link, struct weft_error *error)
{
    if (demand->iteration_ps == 0) {
        return weft_fail(error, WEFT_INPUT, "job %s: an iteration of 0 s; it must take time", job);
    }
    uint64_t free_from_ps = 0;
    for (uint32_t p = 0; p < demand->phase_count; p++) {
        const struct weft_demand_phase *phase = &demand->phases[p];
        if (!(phase->rate_Bps >= 0) || !isfinite(phase->rate_Bps)) {
            return weft_fail(error, WEFT_INPUT,
                             "job %s, phase %u: a rate of %g B/s; it must be 0 or more", job, p,
                             phase->rate_Bps);
        }
        if (phase->start_ps < free_from_ps) {
            return weft_fail(error, WEFT_INPUT,
                             "job %s, phase %u: starts before the phase before it has ended", job,
                             p);
        }
        if (phase->start_ps > demand->iteration_ps ||
            phase->duration_ps > demand->iteration_ps - phase->start_ps) {
            return weft_fail(error, WEFT_INPUT,
                             "job %s, phase %u: ends after its iteration; wrap it by hand into "
                             "two phases",
                             job, p);
        }
        if (phase->rate_Bps > capacity_Bps) {
            return weft_fail(error, WEFT_INPUT,
                             "job %s, phase %u: asks %g B/s of link %s, which carries %g; lower "
                             "rate_Bps (bytes, not bits)",
                             job, p, phase->rate_Bps, link, capacity_Bps);
        }
        free_from_ps = phase->start_ps + phase->duration_ps;
    }
    return true;
}

static bool check_job(const struct weft_snapshot *snapshot, const struct weft_sharing_job *job,
                      struct weft_error *error)
{
    for (uint32_t i = 0; i < job->link_count; i++) {
        if (job->links[i] >= snapshot->link_count) {
            return weft_fail(error, WEFT_INPUT, "job %s: link %u, but there are %u", job->name,
                             job->links[i], snapshot->link_count);
        }
        if (i > 0 && job->links[i] <= job->links[i - 1]) {
            return weft_fail(error, WEFT_INPUT, "job %s: link %s stands twice or out of order",
                             job->name, snapshot->links[job->links[i]].name);
        }
        const struct weft_shared_link *link = &snapshot->links[job->links[i]];
        const struct weft_demand *demand =
            job->link_demands == NULL ? &job->demand : &job->link_demands[i];
        if (demand->iteration_ps != job->demand.iteration_ps) {
            return weft_fail(error, WEFT_INPUT, "job %s: its demand of link %s has another period",
                             job->name, link->name);
        }
        if (!check_demand(demand, job->name, link->capacity_Bps, link->name, error)) {
            return false;
        }
    }
    return check_demand(&job->demand, job->name, (double)INFINITY, "", error);
}

bool weft_snapshot_check(const struct weft_snapshot *snapshot, struct weft_error *error)
{
    if (snapshot->job_count == 0) {
        return weft_fail(error, WEFT_INPUT, "no jobs; there is nothing to interleave");
    }
    for (uint32_t i = 0; i < snapshot->link_count; i++) {
        double capacity_Bps = snapshot->links[i].capacity_Bps;
        if (!(capacity_Bps > 0) || !isfinite(capacity_Bps)) {
            return weft_fail(error, WEFT_INPUT,
                             "link %s: a capacity of %g B/s; it must be more than 0",
                             snapshot->links[i].name, capacity_Bps);
        }
    }
    for (uint32_t j = 0; j < snapshot->job_count; j++) {
        if (!check_job(snapshot, &snapshot->jobs[j], error)) {
            return false;
        }
    }
    return true;
}

// The demand without what is above a link's capacity, as samples may be by a little.
static struct weft_demand cap(const struct weft_demand *demand, double capacity_Bps,
                              struct weft_arena *arena)
{
    struct weft_demand_phase *phases =
        WEFT_NEW(arena, struct weft_demand_phase, demand->phase_count);
    for (uint32_t p = 0; p < demand->phase_count; p++) {
        phases[p] = demand->phases[p];
        if (phases[p].rate_Bps <= (1 + SAMPLE_ERROR) * capacity_Bps) {
            phases[p].rate_Bps = fmin(phases[p].rate_Bps, capacity_Bps);
        }
    }
    return (struct weft_demand){demand->iteration_ps, phases, demand->phase_count};
}

bool weft_snapshot_of_series(struct weft_job_set *set, const struct weft_series_set *series,
                             const struct weft_measured_demand *measured, const char *name,
                             double capacity_Bps, const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_error *error = environment->error;
    uint32_t count = series->link_count;
    struct weft_shared_link *links = WEFT_NEW(arena, struct weft_shared_link, count);
    struct weft_demand *demands = WEFT_NEW(arena, struct weft_demand, count);
    uint32_t *indices = WEFT_NEW(arena, uint32_t, count);
    for (uint32_t l = 0; l < count; l++) {
        const struct weft_demand *demand = &measured->link_demands[l];
        double top_Bps = 0;
        for (uint32_t p = 0; p < demand->phase_count; p++) {
            top_Bps = fmax(top_Bps, demand->phases[p].rate_Bps);
        }
        double stated_Bps = capacity_Bps > 0 ? capacity_Bps : series->capacity_Bps[l];
        links[l].name = series->names[l][0] == '\0' ? "link" : series->names[l];
        links[l].capacity_Bps = stated_Bps > 0 ? stated_Bps : top_Bps > 0 ? top_Bps : 1;
        demands[l] = cap(demand, links[l].capacity_Bps, arena);
        indices[l] = l;
    }
    struct weft_sharing_job *job = WEFT_NEW(arena, struct weft_sharing_job, 1);
    *job = (struct weft_sharing_job){
        .name = name,
        .demand =
            count == 1 ? demands[0] : (struct weft_demand){.iteration_ps = measured->iteration_ps},
        .links = indices,
        .link_count = count,
        .link_demands = count == 1 ? NULL : demands,
    };
    const struct weft_snapshot snapshot = {links, count, job, 1};
    if (!weft_snapshot_check(&snapshot, error)) {
        return false;
    }
    *set = (struct weft_job_set){.snapshot = snapshot};
    return true;
}

// ---- several as one ----

// A link or a job of one of the parts.
struct entry {
    const char *name;
    uint32_t place; // among all of its kind
    double capacity_Bps;
};

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int names = strcmp(x->name, y->name);
    return names != 0 ? names : (x->place > y->place) - (x->place < y->place);
}

// A link of a job, and which of its demands is of it.
struct use {
    uint32_t link;
    uint32_t demand;
};

static int by_link(const void *a, const void *b)
{
    const struct use *x = a;
    const struct use *y = b;
    return (x->link > y->link) - (x->link < y->link);
}

// The links of all parts, each name once, in order of first place; link_of[place] is its index.
static bool join_links(struct weft_shared_link *links, uint32_t *link_count, uint32_t *link_of,
                       struct entry *entries, uint32_t count, struct weft_error *error)
{
    const struct entry *head = entries;
    qsort(entries, count, sizeof entries[0], by_name);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(head->name, entries[i].name) != 0) {
            head = &entries[i];
        }
        if (head->capacity_Bps != entries[i].capacity_Bps) {
            return weft_fail(error, WEFT_INPUT,
                             "link %s carries %.10g B/s in one snapshot and %.10g in another; they "
                             "must agree",
                             head->name, head->capacity_Bps, entries[i].capacity_Bps);
        }
        link_of[entries[i].place] = head->place;
        links[entries[i].place] = (struct weft_shared_link){head->name, head->capacity_Bps};
    }
    *link_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (link_of[i] == i) {
            links[*link_count] = links[i];
            link_of[i] = (*link_count)++;
        } else {
            link_of[i] = link_of[link_of[i]];
        }
    }
    return true;
}

// A job's links by their indices in the whole, ascending, with their demands.
static void map_job(struct weft_sharing_job *job, const uint32_t *link_of, struct weft_arena *arena,
                    struct weft_arena scratch)
{
    struct use *uses = WEFT_NEW(&scratch, struct use, job->link_count);
    for (uint32_t i = 0; i < job->link_count; i++) {
        uses[i] = (struct use){link_of[job->links[i]], i};
    }
    qsort(uses, job->link_count, sizeof uses[0], by_link);
    uint32_t *links = WEFT_NEW(arena, uint32_t, job->link_count);
    struct weft_demand *demands = WEFT_NEW(arena, struct weft_demand, job->link_count);
    for (uint32_t i = 0; i < job->link_count; i++) {
        links[i] = uses[i].link;
        demands[i] = job->link_demands == NULL ? job->demand : job->link_demands[uses[i].demand];
    }
    job->links = links;
    job->link_demands = job->link_demands == NULL ? NULL : demands;
}

bool weft_snapshot_join(struct weft_job_set *set, const struct weft_job_set *parts, uint32_t count,
                        struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    uint32_t link_places = 0;
    uint32_t job_count = 0;
    for (uint32_t p = 0; p < count; p++) {
        link_places += parts[p].snapshot.link_count;
        job_count += parts[p].snapshot.job_count;
    }
    struct entry *entries = WEFT_NEW(&scratch, struct entry, (size_t)link_places + job_count);
    struct entry *names = entries + link_places;
    uint32_t *link_of = WEFT_NEW(&scratch, uint32_t, link_places);
    struct weft_shared_link *links = WEFT_NEW(arena, struct weft_shared_link, link_places);
    uint32_t places = 0;
    for (uint32_t p = 0; p < count; p++) {
        const struct weft_snapshot *part = &parts[p].snapshot;
        for (uint32_t l = 0; l < part->link_count; l++, places++) {
            entries[places] =
                (struct entry){part->links[l].name, places, part->links[l].capacity_Bps};
        }
    }
    uint32_t link_count = 0;
    if (!join_links(links, &link_count, link_of, entries, link_places, error)) {
        return false;
    }
    struct weft_sharing_job *jobs = WEFT_NEW(arena, struct weft_sharing_job, job_count);
    struct weft_job_play *plays = WEFT_NEW(arena, struct weft_job_play, job_count);
    uint32_t filled = 0;
    for (uint32_t p = 0; p < count; p++) {
        const struct weft_snapshot *part = &parts[p].snapshot;
        for (uint32_t j = 0; j < part->job_count; j++, filled++) {
            jobs[filled] = part->jobs[j];
            plays[filled] =
                parts[p].plays == NULL ? (struct weft_job_play){.weight = 1} : parts[p].plays[j];
            names[filled] = (struct entry){part->jobs[j].name, filled, 0};
            map_job(&jobs[filled], link_of, arena, scratch);
        }
        link_of += part->link_count;
    }
    qsort(names, job_count, sizeof names[0], by_name);
    for (uint32_t j = 1; j < job_count; j++) {
        if (strcmp(names[j - 1].name, names[j].name) == 0) {
            return weft_fail(error, WEFT_INPUT, "job %s is in two snapshots; names tell jobs apart",
                             names[j].name);
        }
    }
    *set = (struct weft_job_set){{links, link_count, jobs, job_count}, plays};
    return true;
}
