// SPDX-License-Identifier: Apache-2.0
// The checker: exact execution on sets of contributions, a part of the slots at a time.
//
// Slots that no transfer joins never meet: a ring's chunk c lives in slot c of all ranks, whatever
// the others do. So the slots fall into parts (union-find over slot numbers), and each part is
// executed from the first round to the last by itself, on cells that fit the cache. Parts are taken
// in batches, so that their transfers, sorted by part, fit a budget of memory; a part beyond the
// budget is executed while the schedule is walked, without sorting.

#include "play.h"

#include "weft/base/sets.h"

#include <stdio.h>
#include <string.h>

// Moves that are sorted at a time: 117 MB of them. More would save walks over schedules of more
// than 4 million transfers and cost memory; not measured.
enum { MOVES_A_BATCH = 1 << 22 };

// Slots by part: those of part p are slots[first[p] .. first[p + 1]).
struct parts {
    uint32_t count;
    uint32_t *of_slot;
    uint32_t *first;
    uint32_t *slots;
    uint64_t *move_count; // of each part
    uint64_t round_most;  // moves of the fullest round
};

// ---- the first walk: statistics, claims, and which slots meet ----

static void join_slots(struct weft_sets *meeting, const struct weft_transfer *transfer)
{
    if (transfer->from_slot == transfer->to_slot) {
        return;
    }
    for (uint32_t j = 0; j < transfer->slot_count; j++) {
        weft_sets_join(meeting, transfer->from_slot + j, transfer->to_slot + j);
    }
}

struct survey {
    struct weft_schedule_report *report;
    const struct weft_schedule *schedule;
    uint32_t *sends;    // of each rank, in this round
    uint32_t *receives; // the same
    uint64_t *sent;     // slots, in all rounds
    struct violation *violation;
};

static void claim_broken(struct survey *survey, uint32_t round, uint32_t order, uint32_t rank,
                         const char *does)
{
    struct violation *violation = survey->violation;
    uint64_t key = (uint64_t)round << 32 | order;
    if (key < violation->key) {
        violation->key = key;
        violation->slot = 0;
        snprintf(violation->why, sizeof violation->why,
                 "rank %u %s more than the %u transfer%s a round that the schedule claims", rank,
                 does, survey->schedule->port_count, survey->schedule->port_count == 1 ? "" : "s");
    }
}

// Counts the transfers of a round for the report, in and out of each rank, and notes where a claim
// of ports is broken. Only the ranks that took part are cleared.
static void survey_round(struct survey *survey, const struct weft_round_walk *walk)
{
    struct weft_schedule_report *report = survey->report;
    uint32_t ports = survey->schedule->port_count;
    uint64_t before = report->transfer_count;
    for (uint32_t i = 0; i < walk->transfer_count; i++) {
        const struct weft_transfer *transfer = &walk->transfers[i];
        if (transfer->from == transfer->to) {
            continue;
        }
        report->transfer_count++;
        report->slots_sent += transfer->slot_count;
        survey->sent[transfer->from] += transfer->slot_count;
        uint32_t sends = ++survey->sends[transfer->from];
        uint32_t receives = ++survey->receives[transfer->to];
        report->send_port_max = sends > report->send_port_max ? sends : report->send_port_max;
        report->receive_port_max =
            receives > report->receive_port_max ? receives : report->receive_port_max;
        if (ports > 0 && sends > ports) {
            claim_broken(survey, walk->round, i, transfer->from, "sends");
        } else if (ports > 0 && receives > ports) {
            claim_broken(survey, walk->round, i, transfer->to, "receives");
        }
    }
    report->round_count += report->transfer_count > before ? 1 : 0;
    for (uint32_t i = 0; i < walk->transfer_count; i++) {
        survey->sends[walk->transfers[i].from] = 0;
        survey->receives[walk->transfers[i].to] = 0;
    }
}

// Fills the report's statistics, joins slots in `meeting`, counts moves by their first slot.
static void survey_all(struct survey *survey, struct weft_sets *meeting, int64_t *moves_from,
                       uint64_t *round_most, struct weft_arena scratch)
{
    const struct weft_schedule *schedule = survey->schedule;
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        uint64_t moves = 0;
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            join_slots(meeting, transfer);
            moves_from[transfer->from_slot]++;
            moves_from[transfer->from_slot + transfer->slot_count]--;
            moves += transfer->slot_count;
        }
        *round_most = moves > *round_most ? moves : *round_most;
        survey_round(survey, &walk);
    }
    uint64_t most = 0;
    for (uint32_t rank = 0; rank < schedule->rank_count; rank++) {
        most = survey->sent[rank] > most ? survey->sent[rank] : most;
    }
    survey->report->send_slots_max = most < WEFT_NONE ? (uint32_t)most : WEFT_NONE;
}

// Numbers the parts in order of their first slots.
static void number_parts(struct parts *parts, uint32_t slot_count, struct weft_sets *meeting,
                         const int64_t *moves_from, struct weft_arena *arena)
{
    parts->of_slot = WEFT_NEW_RAW(arena, uint32_t, slot_count);
    parts->slots = WEFT_NEW_RAW(arena, uint32_t, slot_count);
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        uint32_t root = weft_sets_find(meeting, slot); // the first slot of its part
        parts->of_slot[slot] = root == slot ? parts->count++ : parts->of_slot[root];
    }
    parts->first = WEFT_NEW(arena, uint32_t, (size_t)parts->count + 2);
    parts->move_count = WEFT_NEW(arena, uint64_t, parts->count);
    int64_t running = 0;
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        running += moves_from[slot];
        parts->move_count[parts->of_slot[slot]] += (uint64_t)running;
        parts->first[parts->of_slot[slot] + 2]++;
    }
    for (uint32_t p = 0; p < parts->count; p++) {
        parts->first[p + 2] += parts->first[p + 1];
    }
    for (uint32_t slot = 0; slot < slot_count; slot++) {
        parts->slots[parts->first[parts->of_slot[slot] + 1]++] = slot;
    }
}

// ---- executing ----

static struct slot_move move_of(const struct weft_round_walk *walk, uint32_t order, uint32_t j)
{
    const struct weft_transfer *transfer = &walk->transfers[order];
    return (struct slot_move){
        .round = walk->round,
        .order = order,
        .from = transfer->from,
        .to = transfer->to,
        .from_slot = transfer->from_slot + j,
        .to_slot = transfer->to_slot + j,
        .op = transfer->op,
    };
}

// Parts [begin, end), which are played one after the other from one walk over the schedule.
struct batch {
    const struct parts *parts;
    uint32_t begin;
    uint32_t end;
    uint64_t *fill; // of part p at p - begin: where its moves begin and, once sorted, end
    struct slot_move *moves;
};

// Sorts the moves of a batch by part, in the order of the walk (a counting sort: `fill` holds the
// first place of each part).
static void sort_moves(struct batch *batch, const struct player *player, struct weft_arena scratch)
{
    const uint32_t *of_slot = batch->parts->of_slot;
    uint32_t begin = batch->begin;
    uint32_t end = batch->end;
    uint64_t *fill = batch->fill;
    struct slot_move *moves = batch->moves;
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, player->schedule, &scratch);
    while (weft_round_walk_next(&walk) && walk.round <= player->violation->key >> 32) {
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            for (uint32_t j = 0; j < walk.transfers[i].slot_count; j++) {
                uint32_t part = of_slot[walk.transfers[i].from_slot + j];
                if (part >= begin && part < end) {
                    moves[fill[part - begin]++] = move_of(&walk, i, j);
                }
            }
        }
    }
}

static void play_part(struct player *player, const struct slot_move *moves, uint64_t count)
{
    for (uint64_t at = 0; at < count;) {
        uint64_t end = at + 1;
        while (end < count && moves[end].round == moves[at].round) {
            end++;
        }
        if (moves[at].round > player->violation->key >> 32 ||
            !player_round(player, moves + at, (uint32_t)(end - at))) {
            return;
        }
        at = end;
    }
    player_end(player);
}

static void play_batch(struct player *player, struct batch *batch, struct weft_arena scratch)
{
    const struct parts *parts = batch->parts;
    batch->fill = WEFT_NEW_RAW(&scratch, uint64_t, (size_t)(batch->end - batch->begin));
    uint64_t total = 0;
    for (uint32_t p = batch->begin; p < batch->end; p++) {
        batch->fill[p - batch->begin] = total;
        total += parts->move_count[p];
    }
    sort_moves(batch, player, scratch);
    uint64_t at = 0;
    rank_sets_begin(&player->sets, player->schedule->rank_count, scratch);
    for (uint32_t p = batch->begin; p < batch->end; p++) {
        player_begin(player, parts->slots + parts->first[p], parts->first[p + 1] - parts->first[p]);
        play_part(player, batch->moves + at, batch->fill[p - batch->begin] - at);
        at += parts->move_count[p];
    }
}

// One part, as the schedule is walked; `moves` has room for those of a round.
static void play_streaming(struct player *player, const struct parts *parts, uint32_t part,
                           struct slot_move *moves, struct weft_arena scratch)
{
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, player->schedule, &scratch);
    rank_sets_begin(&player->sets, player->schedule->rank_count, scratch);
    player_begin(player, parts->slots + parts->first[part],
                 parts->first[part + 1] - parts->first[part]);
    while (weft_round_walk_next(&walk) && walk.round <= player->violation->key >> 32) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            for (uint32_t j = 0; j < walk.transfers[i].slot_count; j++) {
                if (parts->of_slot[walk.transfers[i].from_slot + j] == part) {
                    moves[count++] = move_of(&walk, i, j);
                }
            }
        }
        if (!player_round(player, moves, count)) {
            return;
        }
    }
    player_end(player);
}

// The parts from `begin` on that fit a batch; at least one.
static uint32_t batch_end(const struct parts *parts, uint32_t begin, uint64_t budget)
{
    uint64_t total = parts->move_count[begin];
    uint32_t end = begin + 1;
    while (end < parts->count && total + parts->move_count[end] <= budget) {
        total += parts->move_count[end++];
    }
    return end;
}

// Plays all parts in batches whose moves fit the budget; a single part beyond the budget is played
// while the schedule is walked. Moves are sorted once for each batch, so the schedule is walked as
// often as there are batches.
static void play_all(struct player *player, const struct parts *parts, struct weft_arena scratch)
{
    uint32_t widest = 0;
    uint64_t total = 0;
    for (uint32_t p = 0; p < parts->count; p++) {
        uint32_t width = parts->first[p + 1] - parts->first[p];
        widest = width > widest ? width : widest;
        total += parts->move_count[p];
    }
    uint64_t budget = total < MOVES_A_BATCH ? total : MOVES_A_BATCH;
    uint64_t room = budget > parts->round_most ? budget : parts->round_most;
    const struct weft_schedule *schedule = player->schedule;
    player->place = WEFT_NEW_RAW(&scratch, uint32_t, schedule->slot_count);
    player->cells = WEFT_NEW_RAW(&scratch, struct cell, (size_t)widest * schedule->rank_count);
    player->incoming = WEFT_NEW_RAW(&scratch, struct incoming, parts->round_most);
    struct slot_move *moves = WEFT_NEW_RAW(&scratch, struct slot_move, room);
    for (uint32_t begin = 0; begin < parts->count;) {
        if (parts->move_count[begin] > budget) {
            play_streaming(player, parts, begin++, moves, scratch);
            continue;
        }
        struct batch batch = {
            .parts = parts, .begin = begin, .end = batch_end(parts, begin, budget), .moves = moves};
        play_batch(player, &batch, scratch);
        begin = batch.end;
    }
}

// ---- the report ----

// Finds step and item of the order-th transfer of a round.
static void name_violation(struct weft_schedule_report *report,
                           const struct weft_schedule *schedule, const struct violation *violation,
                           struct weft_arena scratch)
{
    uint32_t round = (uint32_t)(violation->key >> 32);
    report->valid = violation->key == UINT64_MAX;
    report->bad_step = report->bad_item = report->bad_round = WEFT_NONE;
    if (report->valid || round == WEFT_NONE) {
        snprintf(report->why, sizeof report->why, "%s", report->valid ? "" : violation->why);
        return;
    }
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk) && walk.round < round) {
    }
    const struct weft_transfer *transfer = &walk.transfers[(uint32_t)violation->key];
    report->bad_round = round;
    report->bad_step = transfer->step;
    report->bad_item = transfer->item;
    snprintf(report->why, sizeof report->why, "round %u, step %u: %s", round, transfer->step,
             violation->why);
}

bool weft_schedule_check(struct weft_schedule_report *report, const struct weft_schedule *schedule,
                         struct weft_arena scratch, struct weft_error *error)
{
    if (!weft_schedule_well_formed(schedule, scratch, error)) {
        return false;
    }
    uint32_t n = schedule->rank_count;
    uint32_t slot_count = schedule->slot_count;
    struct violation violation = {.key = UINT64_MAX};
    struct weft_schedule_report found = {0};
    struct survey survey = {
        .report = &found,
        .schedule = schedule,
        .sends = WEFT_NEW(&scratch, uint32_t, n),
        .receives = WEFT_NEW(&scratch, uint32_t, n),
        .sent = WEFT_NEW(&scratch, uint64_t, n),
        .violation = &violation,
    };
    struct weft_sets meeting = weft_sets_build(slot_count, &scratch);
    int64_t *moves_from = WEFT_NEW(&scratch, int64_t, (size_t)slot_count + 1);
    struct parts parts = {0};
    survey_all(&survey, &meeting, moves_from, &parts.round_most, scratch);
    number_parts(&parts, slot_count, &meeting, moves_from, &scratch);
    struct player player = {.schedule = schedule, .violation = &violation};
    play_all(&player, &parts, scratch);
    name_violation(&found, schedule, &violation, scratch);
    *report = found;
    return true;
}
