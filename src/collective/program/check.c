// SPDX-License-Identifier: Apache-2.0
// Programs of thread blocks, proved: sends meet receives and no waiting goes in a circle (order.c),
// no two steps race for memory (races.c), and the schedule that the program amounts to passes the
// checker of schedules (lower.c, schedule/check.c), whose findings are told in the program's own
// numbers.

#include "program.h"

#include <stdio.h>

#define SLOTS_MAX ((uint64_t)1 << 26) // of all ranks together: a limit of memory

// Slots of the rank with the most, with those for messages and sums.
static uint64_t most_slots(const struct weft_program *program)
{
    uint64_t most = 0;
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        uint64_t slots = 2 * (uint64_t)program->chunk_count + program->scratch_counts[rank];
        for (uint32_t b = program->block_first[rank]; b < program->block_first[rank + 1]; b++) {
            const struct weft_block *block = &program->blocks[b];
            for (uint32_t s = 0; s < block->step_count; s++) {
                slots += 2 * (uint64_t)program->steps[block->first_step + s].count;
            }
        }
        most = slots > most ? slots : most;
    }
    return most;
}

// Checks what a program states of itself, before anything is indexed by it: ranks and chunks, whole
// shares where its kind has them, a mode, a root, and buffers that fit memory.
static bool check_form(const struct weft_program *program, struct weft_error *error)
{
    uint32_t n = program->rank_count;
    if (n < 2 || program->chunk_count == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%u ranks and %u chunks; a collective needs two ranks "
                         "and a chunk",
                         n, program->chunk_count);
    }
    bool scattered = program->kind == WEFT_COLLECTIVE_REDUCE_SCATTER ||
                     program->kind == WEFT_COLLECTIVE_ALLGATHER ||
                     program->kind == WEFT_COLLECTIVE_ALLTOALL;
    if (scattered && program->chunk_count % n != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%u chunks (nchunksperloop) are no multiple of the %u ranks",
                         program->chunk_count, n);
    }
    if (!program->in_place && !program->out_of_place) {
        return weft_fail(error, WEFT_INPUT,
                         "is made for calls neither in place nor out of place; "
                         "set inplace or outofplace to 1");
    }
    if (program->root >= n) {
        return weft_fail(error, WEFT_INPUT, "root %u is no rank", program->root);
    }
    uint64_t slots = n * most_slots(program);
    if (slots > SLOTS_MAX) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "%llu chunks in all ranks' buffers, more than 2^26",
                         (unsigned long long)slots);
    }
    return true;
}

static bool check_peers(const struct weft_program *program, struct weft_error *error)
{
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        for (uint32_t b = program->block_first[rank]; b < program->block_first[rank + 1]; b++) {
            const struct weft_block *block = &program->blocks[b];
            const uint32_t peers[2] = {block->send_peer, block->receive_peer};
            for (uint32_t i = 0; i < 2; i++) {
                if (peers[i] != WEFT_NONE &&
                    (peers[i] >= program->rank_count || peers[i] == rank)) {
                    return weft_fail(error, WEFT_INPUT,
                                     "gpu %u, thread block %u: %s gpu %u, which is %s", rank,
                                     block->number, i == 0 ? "sends to" : "receives from", peers[i],
                                     peers[i] == rank ? "itself" : "none of the program's");
                }
            }
        }
    }
    return true;
}

// What the checker of schedules says, in the program's words.
static void translate(struct weft_program_report *report, const struct weft_program_order *order,
                      const struct weft_schedule_report *found,
                      const struct weft_program_origin *origins, bool in_place)
{
    const char *mode = in_place ? " (in place)" : "";
    if (found->bad_step == WEFT_NONE) {
        weft_program_blame(report, order, WEFT_NONE, "%s%s", found->why, mode);
        return;
    }
    struct weft_program_origin origin = origins[found->bad_step];
    if (origin.sender == origin.receiver) {
        weft_program_blame(report, order, origin.receiver, "%s%s", found->why, mode);
        return;
    }
    char place[WEFT_PROGRAM_PLACE];
    weft_program_blame(report, order, origin.receiver, "%s%s, from %s", found->why, mode,
                       weft_program_place(place, order, origin.sender));
}

// Checks one mode, in place or not: races first, since the order of racing steps says nothing, then
// the program as a schedule. False only for what cannot be checked at all.
static bool check_mode(struct weft_program_report *report, const struct weft_program_order *order,
                       bool in_place, struct weft_arena scratch, struct weft_error *error)
{
    bool fits = true;
    if (!weft_program_races(&fits, report, order, in_place, scratch)) {
        return fits || weft_fail(error, WEFT_UNSUPPORTED,
                                 "%u steps in %u thread blocks are more than can be checked for "
                                 "races",
                                 order->program->step_count, order->block_count);
    }
    struct weft_schedule schedule;
    struct weft_schedule_report found;
    const struct weft_program_origin *origins = NULL;
    struct weft_arena results = weft_arena_split(&scratch);
    weft_program_transfers(&schedule, &origins, order, in_place, &results, scratch);
    if (!weft_schedule_check(&found, &schedule, scratch, error)) {
        return false;
    }
    report->round_count = schedule.round_count;
    report->transfer_count = found.transfer_count;
    if (!found.valid) {
        translate(report, order, &found, origins, in_place);
    }
    return true;
}

bool weft_program_check(struct weft_program_report *report, const struct weft_program *program,
                        struct weft_arena scratch, struct weft_error *error)
{
    struct weft_program_report found = {
        .valid = true, .bad_rank = WEFT_NONE, .bad_block = WEFT_NONE, .bad_step = WEFT_NONE};
    struct weft_program_order order;
    if (!check_form(program, error) || !check_peers(program, error)) {
        return false;
    }
    struct weft_arena local = scratch;
    struct weft_arena behind = weft_arena_split(&local);
    if (weft_program_order(&order, &found, program, &local, behind)) {
        // Out of place first: there a lost chunk shows by itself.
        if (program->out_of_place && !check_mode(&found, &order, false, behind, error)) {
            return false;
        }
        if (found.valid && program->in_place && !check_mode(&found, &order, true, behind, error)) {
            return false;
        }
    }
    *report = found;
    return true;
}

bool weft_program_lower(struct weft_schedule *schedule, const struct weft_program *program,
                        bool in_place, struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error)
{
    struct weft_program_report report = {.valid = true};
    struct weft_program_order order;
    struct weft_program one_mode = *program;
    one_mode.in_place = in_place;
    one_mode.out_of_place = !in_place;
    if (!check_form(&one_mode, error) || !check_peers(program, error)) {
        return false;
    }
    struct weft_arena local = scratch;
    struct weft_arena behind = weft_arena_split(&local);
    bool fits = true;
    if (!weft_program_order(&order, &report, program, &local, behind) ||
        !weft_program_races(&fits, &report, &order, in_place, behind)) {
        return fits ? weft_fail(error, WEFT_INFEASIBLE, "%s", report.why)
                    : weft_fail(error, WEFT_UNSUPPORTED, "too many steps and thread blocks");
    }
    const struct weft_program_origin *origins = NULL;
    weft_program_transfers(schedule, &origins, &order, in_place, arena, behind);
    return true;
}
