// SPDX-License-Identifier: Apache-2.0
// Which servers a job may get: candidate placements of each policy, the favorite first.
// Consolidated takes rows of free servers, random draws them from the seed, the others fill racks:
// the tightest that fits whole, else as few as can be, the emptiest first. The candidates differ in
// their servers, so that ranking them by compatibility (shift.c) has something to choose from, as
// Cassini asks of its host scheduler (Rajasekaran et al., NSDI 2024). O(servers + racks^2 + limit^2
// * size).

#include "state.h"

#include <string.h>

struct placer {
    const struct sched *sched;
    const uint32_t *free; // servers, ascending
    uint32_t free_count;
    uint32_t size;
    uint32_t limit;
    uint32_t **candidates;
    uint32_t count;
    struct weft_arena *arena;
};

bool sched_usable(const struct sched *sched, uint32_t server)
{
    return sched->servers.holder[server] == WEFT_NONE && sched->servers.down[server] == 0;
}

static void sort_servers(uint32_t *servers, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t value = servers[i];
        uint32_t at = i;
        for (; at > 0 && servers[at - 1] > value; at--) {
            servers[at] = servers[at - 1];
        }
        servers[at] = value;
    }
}

// Keeps `servers` if no candidate has the same ones.
static void propose(struct placer *placer, const uint32_t *servers)
{
    uint32_t *copy = WEFT_NEW(placer->arena, uint32_t, placer->size);
    memcpy(copy, servers, placer->size * sizeof *copy);
    sort_servers(copy, placer->size);
    for (uint32_t c = 0; c < placer->count; c++) {
        if (memcmp(placer->candidates[c], copy, placer->size * sizeof *copy) == 0) {
            return;
        }
    }
    placer->candidates[placer->count++] = copy;
}

// The lowest servers; then those after the first of them, and so on, a job's width apart.
static void propose_rows(struct placer *placer)
{
    uint32_t last = placer->free_count - placer->size;
    for (uint32_t start = 0; placer->count < placer->limit; start += placer->size) {
        propose(placer, placer->free + (start < last ? start : last));
        if (start >= last) {
            return;
        }
    }
}

static void propose_random(struct placer *placer, uint32_t job, struct weft_arena scratch)
{
    const struct sched *sched = placer->sched;
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, placer->free_count);
    uint64_t stream = ((uint64_t)sched->jobs[job].record->placements << 32) | job;
    struct weft_rng rng = weft_rng_stream(sched->options->seed, stream);
    for (uint32_t draw = 0; draw < placer->limit; draw++) {
        memcpy(order, placer->free, placer->free_count * sizeof *order);
        weft_rng_shuffle(&rng, order, placer->free_count);
        propose(placer, order);
    }
}

// ---- racks ----

struct racks {
    uint32_t count;
    uint32_t *free;  // servers of each
    uint32_t *first; // CSR into members
    uint32_t *members;
    uint32_t *order;
};

static void count_racks(struct racks *racks, const struct placer *placer,
                        struct weft_arena *scratch)
{
    const uint32_t *rack = placer->sched->servers.rack;
    uint32_t count = placer->sched->servers.rack_count;
    *racks = (struct racks){
        .count = count,
        .free = WEFT_NEW(scratch, uint32_t, count),
        .first = WEFT_NEW(scratch, uint32_t, (size_t)count + 1),
        .members = WEFT_NEW(scratch, uint32_t, placer->free_count),
        .order = WEFT_NEW(scratch, uint32_t, count),
    };
    for (uint32_t i = 0; i < placer->free_count; i++) {
        racks->free[rack[placer->free[i]]]++;
    }
    for (uint32_t r = 0; r < count; r++) {
        racks->first[r + 1] = racks->first[r] + racks->free[r];
        racks->free[r] = 0;
    }
    for (uint32_t i = 0; i < placer->free_count; i++) {
        uint32_t r = rack[placer->free[i]];
        racks->members[racks->first[r] + racks->free[r]++] = placer->free[i];
    }
}

static bool comes_before(const struct racks *racks, uint32_t size, uint32_t a, uint32_t b)
{
    bool a_fits = racks->free[a] >= size;
    bool b_fits = racks->free[b] >= size;
    if (a_fits != b_fits) {
        return a_fits;
    }
    return a_fits ? racks->free[a] < racks->free[b] : racks->free[a] > racks->free[b];
}

// Racks in order[]: those that have `size` free, the tightest first; then the others, the emptiest
// first. Returns how many of the former there are.
static uint32_t order_racks(struct racks *racks, uint32_t size)
{
    uint32_t whole = 0;
    for (uint32_t r = 0; r < racks->count; r++) {
        uint32_t at = r;
        for (; at > 0 && comes_before(racks, size, r, racks->order[at - 1]); at--) {
            racks->order[at] = racks->order[at - 1];
        }
        racks->order[at] = r;
        whole += racks->free[r] >= size;
    }
    return whole;
}

static void propose_racks(struct placer *placer, struct weft_arena scratch)
{
    struct racks racks;
    count_racks(&racks, placer, &scratch);
    uint32_t whole = order_racks(&racks, placer->size);
    uint32_t *servers = WEFT_NEW(&scratch, uint32_t, placer->size);
    for (uint32_t i = 0; i < whole && placer->count < placer->limit; i++) {
        propose(placer, racks.members + racks.first[racks.order[i]]);
    }
    // Over several racks: whole ones in turn, beginning with another one each time.
    for (uint32_t c = 0; c < racks.count && placer->count < placer->limit; c++) {
        uint32_t taken = 0;
        for (uint32_t i = 0; i < racks.count && taken < placer->size; i++) {
            // From the emptiest on: those that fit stand the other way round.
            uint32_t at = (c + i) % racks.count;
            uint32_t r = racks.order[at < whole ? whole - 1 - at : at];
            uint32_t more = placer->size - taken;
            more = racks.free[r] < more ? racks.free[r] : more;
            memcpy(servers + taken, racks.members + racks.first[r], more * sizeof *servers);
            taken += more;
        }
        WEFT_ASSERT(taken == placer->size);
        propose(placer, servers);
    }
}

uint32_t sched_candidates(uint32_t **candidates, uint32_t limit, const struct sched *sched,
                          uint32_t job, uint32_t size, const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    uint32_t *free = WEFT_NEW(&scratch, uint32_t, sched->servers.count);
    uint32_t free_count = 0;
    for (uint32_t v = 0; v < sched->servers.count; v++) {
        if (sched_usable(sched, v)) {
            free[free_count++] = v;
        }
    }
    if (free_count < size) {
        return 0;
    }
    struct placer placer = {
        .sched = sched,
        .free = free,
        .free_count = free_count,
        .size = size,
        .limit = limit,
        .candidates = candidates,
        .arena = arena,
    };
    if (sched->options->policy == WEFT_POLICY_CONSOLIDATED) {
        propose_rows(&placer);
    } else if (sched->options->policy == WEFT_POLICY_RANDOM) {
        propose_random(&placer, job, scratch);
    } else {
        propose_racks(&placer, scratch);
    }
    WEFT_ASSERT(placer.count > 0 && placer.count <= limit);
    return placer.count;
}
