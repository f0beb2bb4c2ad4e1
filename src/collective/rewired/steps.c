// SPDX-License-Identifier: Apache-2.0
// The steps of a schedule as planes see them: which rank sends to which, how much, and what a ring
// of the ranks would make of it.

#include "weft/collective/rewired.h"

#include <string.h>

struct maker {
    uint32_t ranks;
    struct weft_plane_step *steps;
    uint32_t step_count;
    uint32_t step_room;
    struct weft_plane_pattern *patterns;
    const uint32_t **peers; // by pattern
    uint64_t *hashes;
    uint32_t pattern_count;
    double *ends; // [ranks + 1], zero between measurements
    struct weft_arena *arena;
};

// ---- what a ring makes of a pattern ----

// Adds flows to the `hops` segments from `start` on, as differences between neighbors.
static void add_arc(double *ends, uint32_t ranks, uint32_t start, uint32_t hops, double flows)
{
    uint32_t stop = (start + hops) % ranks;
    ends[start] += flows;
    ends[stop] -= flows;
    if (start + hops >= ranks && hops > 0) {
        ends[ranks] += flows; // it passes the segment before rank 0
    }
}

// The most flows on a segment; `ends` is cleared for the next way.
static double take_load(double *ends, uint32_t ranks)
{
    double flows = ends[ranks];
    double most = 0;
    for (uint32_t s = 0; s < ranks; s++) {
        flows += ends[s];
        most = flows > most ? flows : most;
    }
    memset(ends, 0, (ranks + 1) * sizeof ends[0]);
    return most;
}

enum way { WAY_UP, WAY_DOWN, WAY_ALL_UP, WAY_ALL_DOWN, WAY_COUNT };

// Of one flow of `distance` hops up, how much goes this way, and over how many hops.
static double share_of(enum way way, uint32_t distance, uint32_t ranks, uint32_t *hops)
{
    bool up = way == WAY_UP || way == WAY_ALL_UP;
    *hops = up ? distance : ranks - distance;
    if (way == WAY_ALL_UP || way == WAY_ALL_DOWN) {
        return 1;
    }
    return 2 * *hops < ranks ? 1 : (2 * *hops == ranks ? 0.5 : 0);
}

static struct weft_ring_way measure(const uint32_t *peers, uint32_t ranks, enum way way,
                                    double *ends)
{
    struct weft_ring_way found = {0};
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t hops = 0;
        if (peers[r] == WEFT_NONE) {
            continue;
        }
        double share = share_of(way, (peers[r] + ranks - r) % ranks, ranks, &hops);
        if (share > 0) {
            bool up = way == WAY_UP || way == WAY_ALL_UP;
            // Segments down the ring are those of the ring up from the other end.
            add_arc(ends, ranks, up ? r : peers[r], hops, share);
            found.hops = hops > found.hops ? hops : found.hops;
        }
    }
    found.load = take_load(ends, ranks);
    return found;
}

// ---- patterns and steps ----

static uint32_t find_pattern(struct maker *maker, const uint32_t *peers)
{
    uint64_t hash = 0;
    for (uint32_t r = 0; r < maker->ranks; r++) {
        hash = weft_hash(hash ^ peers[r]);
    }
    for (uint32_t p = 0; p < maker->pattern_count; p++) {
        if (maker->hashes[p] == hash &&
            memcmp(maker->peers[p], peers, maker->ranks * sizeof peers[0]) == 0) {
            return p;
        }
    }
    uint32_t p = maker->pattern_count++;
    uint32_t *kept = WEFT_NEW_RAW(maker->arena, uint32_t, maker->ranks);
    memcpy(kept, peers, maker->ranks * sizeof peers[0]);
    double *ends = maker->ends;
    maker->hashes[p] = hash;
    maker->peers[p] = kept;
    maker->patterns[p] = (struct weft_plane_pattern){
        .up = measure(peers, maker->ranks, WAY_UP, ends),
        .down = measure(peers, maker->ranks, WAY_DOWN, ends),
        .all_up = measure(peers, maker->ranks, WAY_ALL_UP, ends),
        .all_down = measure(peers, maker->ranks, WAY_ALL_DOWN, ends),
    };
    return p;
}

// Whether some rank sends to, or hears from, several others in this round.
static bool has_several(const struct weft_round_walk *walk, uint32_t *to, uint32_t *from,
                        uint32_t ranks)
{
    bool several = false;
    memset(to, 0xff, ranks * sizeof to[0]);
    memset(from, 0xff, ranks * sizeof from[0]);
    for (uint32_t i = 0; i < walk->transfer_count && !several; i++) {
        const struct weft_transfer *transfer = &walk->transfers[i];
        if (transfer->from != transfer->to) {
            several = (to[transfer->from] != WEFT_NONE && to[transfer->from] != transfer->to) ||
                      (from[transfer->to] != WEFT_NONE && from[transfer->to] != transfer->from);
            to[transfer->from] = transfer->to;
            from[transfer->to] = transfer->from;
        }
    }
    return several;
}

// Adds the flows of a round that go `offset` up the ring, or all of them where that is 0.
static void add_step(struct maker *maker, const struct weft_round_walk *walk, uint32_t offset,
                     double slot_bytes, struct weft_arena scratch)
{
    uint32_t ranks = maker->ranks;
    uint32_t *peers = WEFT_NEW_RAW(&scratch, uint32_t, ranks);
    uint32_t *slots = WEFT_NEW(&scratch, uint32_t, ranks);
    uint32_t most = 0;
    memset(peers, 0xff, ranks * sizeof peers[0]);
    for (uint32_t i = 0; i < walk->transfer_count; i++) {
        const struct weft_transfer *transfer = &walk->transfers[i];
        uint32_t distance = (transfer->to + ranks - transfer->from) % ranks;
        if (distance > 0 && (offset == 0 || distance == offset)) {
            peers[transfer->from] = transfer->to;
            slots[transfer->from] += transfer->slot_count;
            most = slots[transfer->from] > most ? slots[transfer->from] : most;
        }
    }
    if (most == 0) {
        return;
    }
    WEFT_ASSERT(maker->step_count < maker->step_room);
    maker->steps[maker->step_count++] =
        (struct weft_plane_step){find_pattern(maker, peers), most * slot_bytes};
}

void weft_rewired_steps(struct weft_rewired_steps *steps, const struct weft_schedule *schedule,
                        double size_bytes, struct weft_arena *arena, struct weft_arena scratch)
{
    uint32_t ranks = schedule->rank_count;
    // A round has as many steps as there are distances, at most, and a pattern for each.
    uint64_t transfers = weft_schedule_transfer_count(schedule);
    uint64_t room = (uint64_t)schedule->round_count * (ranks - 1);
    room = room < transfers ? room : transfers;
    struct maker maker = {
        .ranks = ranks,
        .steps = WEFT_NEW_RAW(arena, struct weft_plane_step, room),
        .step_room = (uint32_t)room,
        .patterns = WEFT_NEW_RAW(arena, struct weft_plane_pattern, room),
        .peers = WEFT_NEW_RAW(arena, const uint32_t *, room),
        .hashes = WEFT_NEW_RAW(&scratch, uint64_t, room),
        .ends = WEFT_NEW(&scratch, double, ranks + 1),
        .arena = arena,
    };
    uint32_t *to = WEFT_NEW_RAW(&scratch, uint32_t, ranks);
    uint32_t *from = WEFT_NEW_RAW(&scratch, uint32_t, ranks);
    double slot_bytes = size_bytes / schedule->chunk_count;
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        if (!has_several(&walk, to, from, ranks)) {
            add_step(&maker, &walk, 0, slot_bytes, scratch);
            continue;
        }
        for (uint32_t offset = 1; offset < ranks; offset++) {
            add_step(&maker, &walk, offset, slot_bytes, scratch);
        }
    }
    *steps = (struct weft_rewired_steps){maker.step_count, maker.steps, maker.pattern_count,
                                         maker.patterns, maker.peers};
}
