// SPDX-License-Identifier: Apache-2.0
// Schedules synthesized for a fabric (docs/synthesis.md): checks what is asked, plans the best of
// some tries, and turns the plan into the kind. All-gather and broadcast are planned forward;
// reduce-scatter and reduce are the same on the reversed fabric, run backward; an all-reduce is a
// reduce-scatter and then an all-gather. Fabrics that are the same from every server are planned
// for one server and translated (group.c), others by events (greedy.c, after TACOS), all-to-alls by
// exchange.c.

#include "synthesize.h"
#include "bounds.h"

#include <math.h>

#define TIME_MAX_S 1e6 // all hops one after the other stay far below 2^64 ps
// Seeds of the translated planner for each try; one costs a server's share of a schedule. With 16
// the tori and hypercubes of docs/synthesis.md end at their bound.
#define GROUP_TRIES 16u

// ---- what is asked ----

static bool is_rooted(enum weft_collective_kind kind)
{
    return kind == WEFT_COLLECTIVE_BROADCAST || kind == WEFT_COLLECTIVE_REDUCE;
}

static bool check_times(const struct weft_fabric *fabric,
                        const struct weft_synthesis_options *options, struct weft_error *error)
{
    double slowest_Bps = HUGE_VAL;
    uint64_t latest_ps = 0;
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        slowest_Bps = fmin(slowest_Bps, fabric->links[l].rate_Bps);
        latest_ps =
            fabric->links[l].latency_ps > latest_ps ? fabric->links[l].latency_ps : latest_ps;
    }
    double hop_s = (double)options->size_bytes / slowest_Bps + weft_seconds(latest_ps);
    if (hop_s * 2 * fabric->node_count > TIME_MAX_S) {
        return weft_fail(error, WEFT_INPUT,
                         "%llu bytes over the slowest link may take longer than %.0f s in all; "
                         "use a smaller size or faster links",
                         (unsigned long long)options->size_bytes, TIME_MAX_S);
    }
    return true;
}

// Refuses what cannot be planned: fewer than two ranks, fewer bytes than chunks, more transfers
// than WEFT_SYNTH_TRANSFERS, times that would overflow.
static bool check_options(const struct weft_fabric *fabric,
                          const struct weft_synthesis_options *options, struct weft_error *error)
{
    uint64_t n = fabric->server_count;
    uint64_t factor = options->chunk_factor == 0 ? 1 : options->chunk_factor;
    if (n < 2) {
        return weft_fail(error, WEFT_INPUT, "a collective needs at least 2 ranks, not %u",
                         fabric->server_count);
    }
    if (options->kind >= WEFT_COLLECTIVE_KIND_COUNT) {
        return weft_fail(error, WEFT_INPUT, "no such collective");
    }
    if (options->size_bytes == 0) {
        return weft_fail(error, WEFT_INPUT, "a collective of 0 bytes; give it a size");
    }
    if (options->root >= n) {
        return weft_fail(error, WEFT_INPUT, "root %u is no rank; the last is %llu", options->root,
                         (unsigned long long)n - 1);
    }
    uint64_t chunks = is_rooted(options->kind) ? factor : factor * n;
    if (options->size_bytes < chunks) {
        return weft_fail(error, WEFT_INPUT, "%llu bytes are fewer than the %llu chunks",
                         (unsigned long long)options->size_bytes, (unsigned long long)chunks);
    }
    uint64_t transfers = chunks * (n - 1);
    if (factor > UINT32_MAX / n || transfers > WEFT_SYNTH_TRANSFERS) {
        return weft_fail(error, WEFT_INPUT,
                         "%llu chunks on %llu ranks take more than the %llu transfers that can be "
                         "planned; use fewer chunks",
                         (unsigned long long)chunks, (unsigned long long)n,
                         (unsigned long long)WEFT_SYNTH_TRANSFERS);
    }
    return check_times(fabric, options, error);
}

// ---- planning ----

static void prepare(struct weft_synth *synth, const struct weft_fabric *fabric,
                    const struct weft_synthesis_options *options, struct weft_arena *arena,
                    struct weft_arena scratch)
{
    uint32_t n = fabric->server_count;
    uint32_t factor = options->chunk_factor == 0 ? 1 : options->chunk_factor;
    uint64_t chunks = is_rooted(options->kind) ? factor : (uint64_t)factor * n;
    WEFT_ASSERT(chunks > 0);
    *synth = (struct weft_synth){
        .fabric = fabric,
        .rank_count = n,
        .chunk_factor = factor,
        .chunk_bytes = (options->size_bytes + chunks - 1) / chunks,
        .holds = options->holds_links,
        .direct = fabric->node_count == n,
    };
    struct weft_synth_group *group = WEFT_NEW(arena, struct weft_synth_group, 1);
    if (weft_synth_group_find(group, synth, arena, scratch)) {
        synth->group = group;
    }
}

// The same with every link turned round.
static bool reverse(struct weft_fabric *reversed, const struct weft_fabric *fabric,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct weft_link *links = WEFT_NEW_RAW(&scratch, struct weft_link, fabric->link_count);
    for (uint32_t l = 0; l < fabric->link_count; l++) {
        links[l] = fabric->links[l];
        links[l].from = fabric->links[l].to;
        links[l].to = fabric->links[l].from;
    }
    return weft_fabric_build(reversed,
                             &(struct weft_fabric_links){fabric->name, fabric->server_count,
                                                         fabric->node_count, links,
                                                         fabric->link_count},
                             arena, error);
}

static void keep_better(struct weft_synth_run *best, const struct weft_synth_run *run)
{
    if (run->completion_ps < best->completion_ps) {
        *best = *run;
    }
}

// Plans for a fabric that is the same everywhere: first with nothing allowed to end after the
// bound, so that a slow link leaves chunks to quicker ones, and, if no seed manages that, without a
// deadline. Ends at the first plan that meets the bound.
static void plan_translated(struct weft_synth_run *best, const struct weft_synth *synth,
                            const struct weft_synthesis_options *options, uint64_t bound_ps,
                            struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t tries = GROUP_TRIES * (options->tries == 0 ? 1 : options->tries);
    for (uint32_t i = 0; i < 2 * tries && best->completion_ps != bound_ps; i++) {
        // First all at the bound: a link that would end later leaves the chunk to a quicker one.
        uint64_t deadline_ps = i < tries && bound_ps > 0 ? bound_ps : WEFT_NEVER;
        uint64_t seed = i % tries == 0 ? 0 : weft_hash(options->seed + i);
        struct weft_arena kept = *arena;
        struct weft_synth_run run;
        if (!weft_synth_group_spread(&run, synth, seed, deadline_ps, arena, scratch)) {
            *arena = kept;
            continue;
        }
        keep_better(best, &run);
        if (synth->group->star) {
            break; // every order is as good
        }
    }
}

// Plans a phase in which chunks spread, with one seed and one order of receivers a try, until a try
// meets the bound. False where some rank cannot be reached. On a fabric that is the same everywhere
// the translated planner does it, which needs every rank to give something and so plans no rooted
// kind.
static bool plan_spread(struct weft_synth_run *best, const struct weft_synth *synth,
                        const struct weft_synthesis_options *options, uint64_t bound_ps,
                        const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    *best = (struct weft_synth_run){.completion_ps = WEFT_NEVER};
    bool rooted = is_rooted(options->kind);
    if (synth->group != NULL && !rooted) {
        plan_translated(best, synth, options, bound_ps, environment->arena, scratch);
        return true;
    }
    uint32_t chunks = rooted ? synth->chunk_factor : synth->chunk_factor * synth->rank_count;
    uint32_t *owner = WEFT_NEW_RAW(&scratch, uint32_t, chunks);
    for (uint32_t c = 0; c < chunks; c++) {
        owner[c] = rooted ? options->root : c / synth->chunk_factor;
    }
    uint32_t tries = options->tries == 0 ? 1 : options->tries;
    struct weft_environment inner = *environment;
    inner.scratch = scratch;
    for (uint32_t i = 0; i < tries && best->completion_ps != bound_ps; i++) {
        struct weft_synth_run run;
        if (!weft_synth_spread(&run, synth, owner, chunks, i, &inner)) {
            return false;
        }
        keep_better(best, &run);
    }
    return best->hops != NULL;
}

static bool plan_exchange(struct weft_synth_run *best, const struct weft_synth *synth,
                          const struct weft_synthesis_options *options, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error)
{
    *best = (struct weft_synth_run){.completion_ps = WEFT_NEVER};
    uint32_t tries = options->tries == 0 ? 1 : options->tries;
    for (uint32_t i = 0; i < tries; i++) {
        struct weft_synth_run run;
        uint64_t seed = weft_hash(options->seed) + i;
        if (!weft_synth_exchange(&run, synth, seed, arena, scratch, error)) {
            return false;
        }
        keep_better(best, &run);
    }
    return true;
}

// A plan of a spreading kind on the fabric, or of a gathering kind on the reversed one.
static bool plan_phase(struct weft_synth_run *run, const struct weft_fabric *fabric,
                       const struct weft_synthesis_options *options, enum weft_collective_kind kind,
                       const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    bool gathers = kind == WEFT_COLLECTIVE_REDUCE_SCATTER || kind == WEFT_COLLECTIVE_REDUCE;
    struct weft_fabric reversed = *fabric;
    if (gathers && !reverse(&reversed, fabric, arena, scratch, error)) {
        return false;
    }
    struct weft_synth synth;
    prepare(&synth, &reversed, options, arena, scratch);
    struct weft_synth_bounds bounds;
    weft_synth_bound(&bounds, &synth,
                     is_rooted(kind) ? WEFT_COLLECTIVE_BROADCAST : WEFT_COLLECTIVE_ALLGATHER,
                     options->size_bytes, options->root, scratch);
    if (kind == WEFT_COLLECTIVE_ALLTOALL) {
        return plan_exchange(run, &synth, options, arena, scratch, error);
    }
    struct weft_environment inner = *environment;
    inner.scratch = scratch;
    if (!plan_spread(run, &synth, options, bounds.chunk_ps, &inner)) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "fabric '%s': some rank cannot be reached over switches", fabric->name);
    }
    if (gathers) {
        weft_synth_reverse(run, scratch);
        run->op = WEFT_STEP_REDUCE;
    }
    return true;
}

// ---- the whole ----

static void fill_schedule(struct weft_schedule *schedule, const struct weft_synth *synth,
                          const struct weft_synthesis_options *options, uint32_t scratch_count)
{
    bool rooted = is_rooted(options->kind);
    uint32_t chunks = rooted ? synth->chunk_factor : synth->chunk_factor * synth->rank_count;
    bool apart = options->kind == WEFT_COLLECTIVE_ALLTOALL;
    *schedule = (struct weft_schedule){
        .name = "synthesize",
        .kind = options->kind,
        .rank_count = synth->rank_count,
        .chunk_count = chunks,
        .output_first = apart ? chunks : 0,
        .slot_count = (apart ? 2 * chunks : chunks) + scratch_count,
        .root = rooted ? options->root : 0,
    };
}

static void fill_bounds(struct weft_synthesis *synthesis, const struct weft_synth *synth,
                        const struct weft_synthesis_options *options, struct weft_arena scratch)
{
    struct weft_synth_bounds bounds;
    weft_synth_bound(&bounds, synth, options->kind, options->size_bytes, options->root, scratch);
    synthesis->latency_bound_ps = bounds.latency_ps;
    synthesis->cut_bound_ps = bounds.cut_ps;
    synthesis->bound_ps = bounds.cut_ps > bounds.latency_ps ? bounds.cut_ps : bounds.latency_ps;
    synthesis->chunk_bound_ps =
        bounds.chunk_ps > synthesis->bound_ps ? bounds.chunk_ps : synthesis->bound_ps;
    WEFT_ASSERT(synthesis->chunk_bound_ps <= synthesis->completion_ps);
}

// Plans the one or two phases of the kind in one half of the scratch space, with temporaries in the
// other, writes them one behind the other, and states the bounds beside the time.
bool weft_synthesize(struct weft_synthesis *synthesis, const struct weft_fabric *fabric,
                     const struct weft_synthesis_options *options, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error)
{
    if (!check_options(fabric, options, error) ||
        !weft_fabric_check_connected(fabric, scratch, error)) {
        return weft_wrap(error, "synthesis");
    }
    enum weft_collective_kind kind = options->kind;
    enum weft_collective_kind kinds[2] = {kind, WEFT_COLLECTIVE_ALLGATHER};
    uint32_t phases = kind == WEFT_COLLECTIVE_ALLREDUCE ? 2 : 1;
    if (phases == 2) {
        kinds[0] = WEFT_COLLECTIVE_REDUCE_SCATTER;
    }
    struct weft_arena work = weft_arena_split(&scratch); // holds the plans
    const struct weft_environment inner = {
        .arena = &work, .scratch = scratch, .seed = options->seed, .error = error};
    struct weft_synth_run runs[2];
    struct weft_synthesis made = {0};
    for (uint32_t p = 0; p < phases; p++) {
        if (!plan_phase(&runs[p], fabric, options, kinds[p], &inner)) {
            return weft_wrap(error, "synthesis");
        }
        made.completion_ps += runs[p].completion_ps;
    }
    struct weft_synth synth;
    prepare(&synth, fabric, options, &work, scratch);
    fill_schedule(&made.schedule, &synth, options, runs[0].scratch_count);
    weft_synth_write(&made.schedule, &synth, runs, phases, arena, scratch);
    fill_bounds(&made, &synth, options, scratch);
    *synthesis = made;
    return true;
}
