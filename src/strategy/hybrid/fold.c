// SPDX-License-Identifier: Apache-2.0
// Which replicas of a hybrid strategy stand for all on a network, their task graph, and the rings
// of its groups.
//
// Of the sets of replicas that cannot be parted (fold_colors.c) the first ones are played that show
// every color of a device. Their tasks are those that the whole graph has for them; collectives
// keep all of their members, and so their rounds and messages, but only what the played members
// send and receive is on the network: a hop from each of them that rises over its own links and
// falls over those of one that receives from an equal of it. Each of those carries what it carries
// in the whole network, and by the colors at the same times. Where the played members of a group
// are in no such proportion, or do not show all of its colors, everything is played.
// O(n log n) beside the colors.

#include "fold.h"
#include "tasks.h"

#include <stdlib.h>
#include <string.h>

static int compare_colors(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// Takes the sets of replicas, by their first ones, that have a device of a color not seen before.
static void choose(struct hybrid_fold *fold, const struct hybrid_colors *colors,
                   uint32_t replica_count, struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t ranks = colors->device_count / replica_count;
    uint64_t *sorted = WEFT_NEW_RAW(&scratch, uint64_t, colors->device_count);
    bool *seen = WEFT_NEW(&scratch, bool, colors->device_count);
    bool *taken = WEFT_NEW(&scratch, bool, replica_count); // [first of a set]
    memcpy(sorted, colors->device, colors->device_count * sizeof *sorted);
    qsort(sorted, colors->device_count, sizeof *sorted, compare_colors);
    // A set is taken as a whole once one of its devices has a color that no set before it shows;
    // what a set shows counts from its first replica on.
    for (uint32_t d = 0; d < colors->device_count; d++) {
        const uint64_t *at = bsearch(&colors->device[d], sorted, colors->device_count,
                                     sizeof *sorted, compare_colors);
        while (at > sorted && at[-1] == *at) {
            at--;
        }
        taken[colors->joined[d / ranks]] |= !seen[at - sorted];
        seen[at - sorted] = true;
    }
    uint32_t *replicas = WEFT_NEW_RAW(arena, uint32_t, replica_count);
    uint32_t *place = WEFT_NEW_RAW(arena, uint32_t, replica_count);
    uint32_t count = 0;
    for (uint32_t r = 0; r < replica_count; r++) {
        bool plays = taken[colors->joined[r]];
        place[r] = plays ? count : WEFT_NONE;
        if (plays) {
            replicas[count++] = r;
        }
    }
    *fold = (struct hybrid_fold){count, replicas, place};
}

// ---- rings ----

// A member of a group with the color of its sender or its own, to be sorted by.
struct end {
    uint64_t color;
    uint32_t member;
};

static int compare_ends(const void *left, const void *right)
{
    const struct end *a = left;
    const struct end *b = right;
    if (a->color != b->color) {
        return a->color < b->color ? -1 : 1;
    }
    return (a->member > b->member) - (a->member < b->member);
}

struct group {
    const uint32_t *members;
    uint32_t count;
    uint32_t played_count;
    struct end *all;      // by their own color
    struct end *senders;  // played, by their own color
    struct end *receives; // played, by the color of the one before
};

static uint32_t member_before(const struct group *group, uint32_t member)
{
    return (member + group->count - 1) % group->count;
}

static void sort_group(struct group *group, const struct hybrid_colors *colors, const bool *plays,
                       struct weft_arena *scratch)
{
    uint32_t n = group->count;
    group->all = WEFT_NEW_RAW(scratch, struct end, n);
    group->senders = WEFT_NEW_RAW(scratch, struct end, n);
    group->receives = WEFT_NEW_RAW(scratch, struct end, n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t color = colors->server[group->members[i]];
        group->all[i] = (struct end){color, i};
        if (plays[group->members[i]]) {
            uint32_t before = group->members[member_before(group, i)];
            group->senders[group->played_count] = (struct end){color, i};
            group->receives[group->played_count++] = (struct end){colors->server[before], i};
        }
    }
    qsort(group->all, n, sizeof *group->all, compare_ends);
    qsort(group->senders, group->played_count, sizeof *group->senders, compare_ends);
    qsort(group->receives, group->played_count, sizeof *group->receives, compare_ends);
}

// The slowest of the hops from members all[begin .. end - 1]; false when which one is slowest
// depends on the bytes.
static bool slowest(struct weft_path_delay *delay, struct hybrid_paths *paths,
                    const struct group *group, uint32_t begin, uint32_t end)
{
    struct weft_path_delay most = {0};
    bool found = false; // one hop that takes the most of both
    for (uint32_t i = begin; i < end; i++) {
        uint32_t member = group->all[i].member;
        struct weft_path_delay own = hybrid_path_find(paths, group->members[member],
                                                      group->members[(member + 1) % group->count])
                                         .delay;
        bool later = own.propagation_ps >= most.propagation_ps;
        bool slower = own.store_ps_per_byte >= most.store_ps_per_byte;
        bool more = own.propagation_ps > most.propagation_ps ||
                    own.store_ps_per_byte > most.store_ps_per_byte;
        found = (later && slower) || (found && !more);
        most.propagation_ps = later ? own.propagation_ps : most.propagation_ps;
        most.store_ps_per_byte = slower ? own.store_ps_per_byte : most.store_ps_per_byte;
    }
    *delay = most;
    return found;
}

// The ring of the played members. False where they are in no proportion to all.
static bool fold_ring(struct weft_ring *ring, struct hybrid_paths *paths, const struct group *group,
                      struct weft_arena *arena)
{
    uint32_t n = group->played_count;
    uint32_t *members = WEFT_NEW_RAW(arena, uint32_t, n);
    uint32_t *first = WEFT_NEW_RAW(arena, uint32_t, (size_t)n + 1);
    uint32_t *links =
        WEFT_NEW_RAW(arena, uint32_t, (size_t)n * (paths->network->routes.hop_max + 1));
    struct weft_path_delay *delays = WEFT_NEW_RAW(arena, struct weft_path_delay, n);
    struct weft_ring_fold *fold = WEFT_NEW(arena, struct weft_ring_fold, 1);
    uint32_t begin = 0; // members of one color
    uint32_t end = 0;
    first[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct end *sender = &group->senders[i];
        const struct end *receiver = &group->receives[i];
        if (sender->color != receiver->color) {
            return false;
        }
        if (i == 0 || sender->color != group->senders[i - 1].color) {
            begin = end;
            while (end < group->count && group->all[end].color == group->all[begin].color) {
                end++;
            }
            if (group->all[begin].color != sender->color ||
                !slowest(&delays[i], paths, group, begin, end)) {
                return false;
            }
        } else {
            delays[i] = delays[i - 1];
        }
        members[i] = group->members[sender->member];
        uint32_t at = first[i];
        struct hybrid_path rises = hybrid_path_find(
            paths, members[i], group->members[(sender->member + 1) % group->count]);
        memcpy(&links[at], rises.rising, rises.rising_count * sizeof *links);
        at += rises.rising_count;
        struct hybrid_path falls =
            hybrid_path_find(paths, group->members[member_before(group, receiver->member)],
                             group->members[receiver->member]);
        memcpy(&links[at], falls.falling, falls.falling_count * sizeof *links);
        first[i + 1] = at + falls.falling_count;
    }
    *fold = (struct weft_ring_fold){.member_count = group->count, .delays = delays};
    *ring = (struct weft_ring){.member_count = n,
                               .members = members,
                               .share_ratio = 1,
                               .hop_first = first,
                               .hop_links = links,
                               .fold = fold};
    return end == group->count;
}

// Rings for the groups of which some members are played for others.
static bool fold_rings(struct weft_folded *folded, const struct hybrid_fold *fold,
                       const struct hybrid_colors *colors, struct hybrid_paths *paths,
                       const struct weft_hybrid_job *job,
                       const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    const struct weft_taskgraph *graph = &folded->graph;
    struct weft_ring *rings = WEFT_NEW_RAW(arena, struct weft_ring, graph->group_count);
    bool *plays = WEFT_NEW(&scratch, bool, colors->server_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < fold->replica_count; i++) {
        for (uint32_t rank = 0; rank < job->hybrid.pp; rank++) {
            plays[weft_hybrid_accelerator(&job->mesh, fold->replicas[i], rank) /
                  job->mesh.per_server] = true;
        }
    }
    for (uint32_t g = 0; g < graph->group_count; g++) {
        struct weft_arena temporary = scratch;
        struct group group = {.members = &graph->group_members[graph->group_first[g]],
                              .count = graph->group_first[g + 1] - graph->group_first[g]};
        sort_group(&group, colors, plays, &temporary);
        if (group.played_count == group.count || group.count < 2) {
            continue;
        }
        if (!fold_ring(&rings[count], paths, &group, arena)) {
            return false;
        }
        rings[count++].group = g;
    }
    folded->rings = (struct weft_ring_set){count, rings};
    return true;
}

// ---- the door ----

// False where every replica is to be played.
static bool find_fold(struct hybrid_fold *fold, struct hybrid_colors *colors,
                      struct hybrid_paths *paths, const struct weft_hybrid_job *job,
                      const struct weft_network *network,
                      const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    uint32_t replicas = job->hybrid.dp * job->hybrid.cp;
    if (replicas == 1 || !hybrid_paths_init(paths, network, arena, scratch) ||
        !hybrid_colors_find(colors, paths, job, arena, scratch)) {
        return false;
    }
    choose(fold, colors, replicas, arena, scratch);
    return fold->replica_count < replicas;
}

bool weft_strategy_fold(struct weft_folded *folded, const struct weft_strategy *strategy,
                        const struct weft_study *study, const struct weft_network *network,
                        uint64_t message_max, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_error *error = environment->error;
    struct weft_environment inner = *environment;
    struct weft_hybrid_job job;
    struct hybrid_fold fold;
    struct hybrid_colors colors;
    struct hybrid_paths paths;
    inner.scratch = scratch;
    WEFT_ASSERT(strategy->kind == WEFT_STRATEGY_HYBRID);
    if (!weft_hybrid_tasks_open(&job, strategy, study, scratch, error)) {
        return false;
    }
    uint32_t replicas = job.hybrid.dp * job.hybrid.cp;
    const struct weft_environment finding = {.arena = &kept, .scratch = scratch};
    if (find_fold(&fold, &colors, &paths, &job, network, &finding)) {
        *folded = (struct weft_folded){.replica_count = fold.replica_count};
        if (!weft_hybrid_tasks_build(&folded->graph, &job, study, &fold, message_max, &inner)) {
            return false;
        }
        if (fold_rings(folded, &fold, &colors, &paths, &job, &inner)) {
            return true;
        }
    }
    *folded = (struct weft_folded){.replica_count = replicas};
    hybrid_fold_none(&fold, replicas, &kept);
    return weft_hybrid_tasks_build(&folded->graph, &job, study, &fold, message_max, &inner);
}
