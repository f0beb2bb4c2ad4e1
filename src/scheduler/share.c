// SPDX-License-Identifier: Apache-2.0
// Which jobs share links that they can fill: the affinity graph of jobs and links (Cassini:
// Rajasekaran et al., NSDI 2024) and its connected components.
//
// A link counts when two jobs use it and their peaks together exceed it. Links that the same jobs
// load alike are one link with copies, and links that another one covers are left out, because they
// never bind; both keep steady states small without changing a rate. O(entries of links), and pairs
// of links of one component.

#include "state.h"

#include <stdlib.h>
#include <string.h>

// The graph by link in CSR: who uses each link, with which share of its rate and how many flows,
// and the sum of peaks. The extra job is a candidate that does not run yet.
void sched_affinity_build(struct sched_affinity *affinity, const struct sched *sched,
                          uint32_t extra_job, const struct sched_place *extra,
                          struct weft_arena *arena)
{
    const struct weft_fabric *fabric = &sched->network->fabric;
    uint32_t count = sched->running.count + (extra != NULL);
    uint32_t *jobs = WEFT_NEW(arena, uint32_t, count);
    const struct sched_place **places = WEFT_NEW(arena, const struct sched_place *, count);
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)fabric->link_count + 1);
    for (uint32_t i = 0; i < count; i++) {
        bool runs = i < sched->running.count;
        jobs[i] = runs ? sched->running.jobs[i] : extra_job;
        places[i] = runs ? &sched->jobs[jobs[i]].place : extra;
        for (uint32_t u = 0; u < places[i]->use_count; u++) {
            first[places[i]->uses[u].link + 1]++;
        }
    }
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        first[l + 1] += first[l];
    }
    *affinity = (struct sched_affinity){
        .job_count = count,
        .jobs = jobs,
        .places = places,
        .first = first,
        .entry_job = WEFT_NEW(arena, uint32_t, first[fabric->link_count]),
        .entry_share = WEFT_NEW(arena, double, first[fabric->link_count]),
        .entry_flows = WEFT_NEW(arena, double, first[fabric->link_count]),
        .load_Bps = WEFT_NEW(arena, double, fabric->link_count),
    };
    uint32_t *filled = WEFT_NEW(arena, uint32_t, fabric->link_count);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t u = 0; u < places[i]->use_count; u++) {
            const struct sched_use *use = &places[i]->uses[u];
            uint32_t at = first[use->link] + filled[use->link]++;
            affinity->entry_job[at] = i;
            affinity->entry_share[at] = use->share;
            affinity->entry_flows[at] = use->flows;
            affinity->load_Bps[use->link] += use->share * places[i]->peak_Bps;
        }
    }
}

// ---- components ----

bool sched_is_contended(const struct sched *sched, const struct sched_affinity *affinity,
                        uint32_t link)
{
    // One job alone never fills a link: its phases are as slow as it (uses.c).
    return affinity->first[link + 1] - affinity->first[link] > 1 &&
           affinity->load_Bps[link] > sched_link_Bps(sched, link) * (1 + 1e-9);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// Jobs that contended links join, as indices into the affinity's jobs, and those links.
struct company {
    uint32_t *members; // ascending in the end
    uint32_t count;
    uint32_t *links;
    uint32_t link_count;
};

// Walks the affinity graph from `start` through contended links, breadth first. The company's
// arrays have room for all jobs and links. O(entries of the company's links).
static void walk(struct company *company, const struct sched *sched,
                 const struct sched_affinity *affinity, uint32_t start, bool *visited,
                 struct weft_arena scratch)
{
    bool *seen = WEFT_NEW(&scratch, bool, sched->network->fabric.link_count);
    uint32_t *members = company->members;
    uint32_t count = 0;
    company->link_count = 0;
    members[count++] = start;
    visited[start] = true;
    for (uint32_t next = 0; next < count; next++) {
        const struct sched_place *place = affinity->places[members[next]];
        for (uint32_t u = 0; u < place->use_count; u++) {
            uint32_t link = place->uses[u].link;
            if (seen[link] || !sched_is_contended(sched, affinity, link)) {
                continue;
            }
            seen[link] = true;
            company->links[company->link_count++] = link;
            for (uint32_t e = affinity->first[link]; e < affinity->first[link + 1]; e++) {
                uint32_t other = affinity->entry_job[e];
                if (!visited[other]) {
                    visited[other] = true;
                    members[count++] = other;
                }
            }
        }
    }
    qsort(members, count, sizeof *members, compare_ids);
    company->count = count;
}

// A link by what its jobs ask of it, so that alike ones are joined into one.
struct alike {
    uint64_t hash;
    uint32_t link;
};

static int compare_alike(const void *a, const void *b)
{
    const struct alike *x = a;
    const struct alike *y = b;
    if (x->hash != y->hash) {
        return x->hash < y->hash ? -1 : 1;
    }
    return (x->link > y->link) - (x->link < y->link);
}

static uint64_t hash_real(double value)
{
    // Sums of the same shares in another order differ in the last bits.
    float rounded = (float)value;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return bits;
}

static uint64_t hash_link(const struct sched *sched, const struct sched_affinity *affinity,
                          uint32_t link)
{
    uint64_t hash = hash_real(sched_link_Bps(sched, link));
    for (uint32_t e = affinity->first[link]; e < affinity->first[link + 1]; e++) {
        hash = weft_hash(hash ^ ((uint64_t)affinity->jobs[affinity->entry_job[e]] << 32) ^
                         hash_real(affinity->entry_share[e]));
    }
    return hash;
}

static struct steady_link take_link(const struct sched *sched,
                                    const struct sched_affinity *affinity, uint32_t link,
                                    const uint32_t *place_of, struct weft_arena *arena)
{
    uint32_t first = affinity->first[link];
    uint32_t count = affinity->first[link + 1] - first;
    uint32_t *jobs = WEFT_NEW(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        jobs[i] = place_of[affinity->entry_job[first + i]];
    }
    return (struct steady_link){
        .capacity_Bps = sched_link_Bps(sched, link),
        .copies = 1,
        .job_count = count,
        .jobs = jobs,
        .shares = affinity->entry_share + first,
        .flows = affinity->entry_flows + first,
    };
}

// Whether `tight` is full whenever `link` would be: it has all its jobs, each with as large a part.
// Jobs of a link ascend.
static bool is_covered(const struct steady_link *link, const struct steady_link *tight)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < link->job_count; i++) {
        while (at < tight->job_count && tight->jobs[at] < link->jobs[i]) {
            at++;
        }
        if (at == tight->job_count || tight->jobs[at] != link->jobs[i] ||
            link->shares[i] / link->capacity_Bps >
                tight->shares[at] / tight->capacity_Bps * (1 + 1e-6)) {
            return false;
        }
    }
    return true;
}

// Leaves out links that others cover: they are never what holds a job up. Of two that cover one
// another the first stays. O(links^2 * jobs).
static void leave_out_covered(struct sched_component *component)
{
    uint32_t kept = 0;
    for (uint32_t l = 0; l < component->link_count; l++) {
        struct steady_link link = component->links[l];
        bool covered = false;
        for (uint32_t k = 0; k < kept && !covered; k++) {
            covered = is_covered(&link, &component->links[k]);
        }
        if (covered) {
            continue;
        }
        uint32_t left = 0;
        for (uint32_t k = 0; k < kept; k++) {
            if (!is_covered(&component->links[k], &link)) {
                component->links[left++] = component->links[k];
            }
        }
        component->links[left++] = link;
        kept = left;
    }
    component->link_count = kept;
}

void sched_component_build(struct sched_component *component, const struct sched *sched,
                           const struct sched_affinity *affinity, uint32_t start, bool *visited,
                           const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct company company = {
        .members = WEFT_NEW(&scratch, uint32_t, affinity->job_count),
        .links = WEFT_NEW(&scratch, uint32_t, sched->network->fabric.link_count),
    };
    walk(&company, sched, affinity, start, visited, scratch);
    const uint32_t *members = company.members;
    const uint32_t *links = company.links;
    uint32_t count = company.count;
    uint32_t link_count = company.link_count;
    *component = (struct sched_component){
        .job_count = count,
        .jobs = WEFT_NEW(arena, uint32_t, count),
        .places = WEFT_NEW(arena, const struct sched_place *, count),
        .links = WEFT_NEW(arena, struct steady_link, link_count),
    };
    uint32_t *place_of = WEFT_NEW(&scratch, uint32_t, affinity->job_count);
    for (uint32_t i = 0; i < count; i++) {
        place_of[members[i]] = i;
        component->jobs[i] = affinity->jobs[members[i]];
        component->places[i] = affinity->places[members[i]];
    }
    struct alike *alike = WEFT_NEW(&scratch, struct alike, link_count);
    for (uint32_t i = 0; i < link_count; i++) {
        alike[i] = (struct alike){hash_link(sched, affinity, links[i]), links[i]};
    }
    qsort(alike, link_count, sizeof *alike, compare_alike);
    uint64_t signature = weft_hash(count);
    for (uint32_t i = 0; i < link_count; i++) {
        if (i > 0 && alike[i].hash == alike[i - 1].hash) {
            component->links[component->link_count - 1].copies++;
            continue;
        }
        component->links[component->link_count++] =
            take_link(sched, affinity, alike[i].link, place_of, arena);
        signature = weft_hash(signature ^ alike[i].hash);
    }
    for (uint32_t i = 0; i < count; i++) {
        signature = weft_hash(signature ^ component->jobs[i]);
    }
    component->signature = signature;
    leave_out_covered(component);
}
