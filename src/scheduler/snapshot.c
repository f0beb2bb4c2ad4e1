// SPDX-License-Identifier: Apache-2.0
// The jobs that run at one instant and what they ask of the links that they could fill together, as
// weft interleave takes it. A link that asks what an earlier one asks, for the same jobs and of the
// same capacity, says nothing new and is left out. O(entries of links * links that are kept).

#include "state.h"

#include <math.h>
#include <string.h>

// Whether two links carry the same parts of the same jobs.
static bool same_link(const struct sched *sched, const struct sched_affinity *affinity, uint32_t a,
                      uint32_t b)
{
    uint32_t count = affinity->first[a + 1] - affinity->first[a];
    if (count != affinity->first[b + 1] - affinity->first[b] ||
        sched_link_Bps(sched, a) != sched_link_Bps(sched, b)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t one = affinity->first[a] + i;
        uint32_t other = affinity->first[b] + i;
        double share = affinity->entry_share[one];
        if (affinity->entry_job[one] != affinity->entry_job[other] ||
            fabs(share - affinity->entry_share[other]) > 1e-9 * share) {
            return false;
        }
    }
    return true;
}

// Links that at least two jobs could fill, each kind once. Returns how many.
static uint32_t choose_links(uint32_t *links, const struct sched *sched,
                             const struct sched_affinity *affinity)
{
    uint32_t count = 0;
    for (uint32_t l = 0; l < sched->network->fabric.link_count; l++) {
        bool known = !sched_is_contended(sched, affinity, l);
        for (uint32_t i = 0; i < count && !known; i++) {
            known = same_link(sched, affinity, links[i], l);
        }
        if (!known) {
            links[count++] = l;
        }
    }
    return count;
}

// What one job asks of those links, with its iteration as it is alone; false where it has none.
static bool take_job(struct weft_sharing_job *job, const struct sched *sched,
                     const struct sched_affinity *affinity, uint32_t index, const uint32_t *links,
                     uint32_t link_count)
{
    struct weft_arena *arena = sched->arena;
    const struct sched_place *place = affinity->places[index];
    uint32_t *own = WEFT_NEW(arena, uint32_t, link_count);
    struct weft_demand *demands = WEFT_NEW(arena, struct weft_demand, link_count);
    uint64_t iteration_ps = (uint64_t)ceil(place->alone_ps);
    uint32_t count = 0;
    for (uint32_t l = 0; l < link_count; l++) {
        for (uint32_t e = affinity->first[links[l]]; e < affinity->first[links[l] + 1]; e++) {
            if (affinity->entry_job[e] == index) {
                own[count] = l;
                demands[count++] =
                    sched_demand_on(place, affinity->entry_share[e],
                                    sched_link_Bps(sched, links[l]), iteration_ps, arena);
            }
        }
    }
    *job = (struct weft_sharing_job){
        .name = sched->jobs[affinity->jobs[index]].record->name,
        .demand = {.iteration_ps = iteration_ps},
        .links = own,
        .link_count = count,
        .link_demands = demands,
    };
    return count > 0;
}

void sched_take_snapshot(struct weft_snapshot *snapshot, const struct sched *sched)
{
    struct weft_arena *arena = sched->arena;
    const struct weft_fabric *fabric = &sched->network->fabric;
    struct sched_affinity affinity;
    sched_affinity_build(&affinity, sched, WEFT_NONE, NULL, arena);
    uint32_t *links = WEFT_NEW(arena, uint32_t, fabric->link_count);
    uint32_t link_count = choose_links(links, sched, &affinity);
    struct weft_shared_link *shared = WEFT_NEW(arena, struct weft_shared_link, link_count);
    for (uint32_t l = 0; l < link_count; l++) {
        const struct weft_link *link = &fabric->links[links[l]];
        shared[l] = (struct weft_shared_link){
            weft_arena_format(arena, "%u-%u", link->from, link->to),
            sched_link_Bps(sched, links[l]),
        };
    }
    struct weft_sharing_job *jobs = WEFT_NEW(arena, struct weft_sharing_job, affinity.job_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < affinity.job_count; i++) {
        count += take_job(&jobs[count], sched, &affinity, i, links, link_count) ? 1 : 0;
    }
    *snapshot = (struct weft_snapshot){shared, link_count, jobs, count};
}
