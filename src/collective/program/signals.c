// SPDX-License-Identifier: Apache-2.0
// One-sided programs: which signal ends which wait, and whose packets a step waits for.
//
// A channel counts: its k-th wait ends at its k-th signal, as MSCCL++'s semaphores have it. The
// count outlives the call, so that a signal too many would end a wait of the next call early.
// Packets carry a flag that is the call's, so that a chunk of them may be written once in a call.
// Sorting by channel, O(steps log steps).

#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct use {
    uint32_t from; // who signals
    uint32_t to;
    uint32_t channel;
    bool waits;
    uint32_t step;
};

static int compare_uses(const void *a, const void *b)
{
    const struct use *x = a;
    const struct use *y = b;
    const uint32_t left[5] = {x->from, x->to, x->channel, x->waits, x->step};
    const uint32_t right[5] = {y->from, y->to, y->channel, y->waits, y->step};
    for (uint32_t i = 0; i < 5; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

// "memory channel 1 from gpu 0 to gpu 3", "semaphore 2", "barrier".
static const char *channel_name(char name[WEFT_PROGRAM_PLACE], const struct use *use)
{
    if (use->channel >= WEFT_CHANNEL_BARRIER) {
        snprintf(name, WEFT_PROGRAM_PLACE, "barrier");
    } else if (use->channel >= WEFT_CHANNEL_SEMAPHORE) {
        snprintf(name, WEFT_PROGRAM_PLACE, "semaphore %u", use->channel - WEFT_CHANNEL_SEMAPHORE);
    } else {
        snprintf(name, WEFT_PROGRAM_PLACE, "%s channel %u from gpu %u to gpu %u",
                 use->channel % 2 == 0 ? "memory" : "port", use->channel / 2, use->from, use->to);
    }
    return name;
}

// Blames a step that is of another block than the one before on the same side of a channel: which
// of them comes first is nobody's to say.
static bool check_blocks(struct weft_program_report *report, const struct weft_program_order *order,
                         const struct use *uses, uint32_t count)
{
    char name[WEFT_PROGRAM_PLACE];
    for (uint32_t i = 1; i < count; i++) {
        uint32_t other = order->block_of[uses[i - 1].step];
        if (order->block_of[uses[i].step] != other) {
            return weft_program_blame(report, order, uses[i].step,
                                      "%s on %s as thread block %u does, in no order; give each a "
                                      "channel or semaphore of its own",
                                      uses[i].waits ? "waits" : "signals",
                                      channel_name(name, &uses[i]),
                                      order->program->blocks[other].number);
        }
    }
    return true;
}

// One channel in one direction: its signals, then its waits.
static bool match_channel(uint32_t *got_from, struct weft_program_report *report,
                          const struct weft_program_order *order, const struct use *uses,
                          uint32_t count)
{
    char name[WEFT_PROGRAM_PLACE];
    uint32_t signals = 0;
    while (signals < count && !uses[signals].waits) {
        signals++;
    }
    uint32_t waits = count - signals;
    if (!check_blocks(report, order, uses, signals) ||
        !check_blocks(report, order, uses + signals, waits)) {
        return false;
    }
    if (waits > signals) {
        return weft_program_blame(report, order, uses[2 * signals].step,
                                  "waits for ever: it is wait %u on %s, which is signalled %u "
                                  "time%s; add a signal or take the wait away",
                                  signals + 1, channel_name(name, uses), signals,
                                  signals == 1 ? "" : "s");
    }
    // Where nobody ever waits, nothing can end early.
    if (signals > waits && waits > 0) {
        return weft_program_blame(report, order, uses[waits].step,
                                  "signals %s once more than is waited for (%u), so that a wait of "
                                  "the next call ends too early; add a wait",
                                  channel_name(name, uses), waits);
    }
    for (uint32_t i = 0; i < waits; i++) {
        got_from[uses[signals + i].step] = uses[i].step;
    }
    return true;
}

// Finds who writes the packets that steps wait for.
static bool match_packets(uint32_t *got_from, struct weft_program_report *report,
                          const struct weft_program_order *order, struct weft_arena scratch)
{
    const struct weft_program *program = order->program;
    size_t *base = WEFT_NEW(&scratch, size_t, (size_t)program->rank_count + 1);
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        base[rank + 1] = base[rank] + program->scratch_counts[rank];
    }
    uint32_t *writer = WEFT_NEW_RAW(&scratch, uint32_t, base[program->rank_count]);
    memset(writer, 0xff, base[program->rank_count] * sizeof *writer);
    char place[WEFT_PROGRAM_PLACE];
    for (uint32_t s = 0; s < program->step_count; s++) {
        const struct weft_block_step *step = &program->steps[s];
        for (uint32_t i = 0; step->writes_packets && i < step->count; i++) {
            uint32_t *known = &writer[base[weft_program_owner(order, s, true)] + step->to + i];
            if (*known != WEFT_NONE) {
                return weft_program_blame(report, order, s,
                                          "writes packets of chunk %u of scratch, and so does %s; "
                                          "their reader takes either: write to another chunk",
                                          step->to + i, weft_program_place(place, order, *known));
            }
            *known = s;
        }
    }
    for (uint32_t s = 0; s < program->step_count; s++) {
        const struct weft_block_step *step = &program->steps[s];
        if (step->reads_packets) {
            uint32_t rank = weft_program_owner(order, s, false);
            got_from[s] = step->from < program->scratch_counts[rank]
                              ? writer[base[rank] + step->from]
                              : WEFT_NONE;
            if (got_from[s] == WEFT_NONE) {
                return weft_program_blame(report, order, s,
                                          "waits for ever: nobody writes packets to chunk %u of "
                                          "its scratch; add the ppkt",
                                          step->from);
            }
        }
    }
    return true;
}

bool weft_program_signals(uint32_t *got_from, struct weft_program_report *report,
                          const struct weft_program_order *order, struct weft_arena scratch)
{
    const struct weft_program *program = order->program;
    if (!program->one_sided) {
        return true;
    }
    if (!match_packets(got_from, report, order, scratch)) {
        return false;
    }
    struct use *uses = WEFT_NEW_RAW(&scratch, struct use, program->step_count);
    uint32_t count = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const struct weft_block_step *step = &program->steps[s];
        uint32_t rank = order->rank_of[order->block_of[s]];
        bool waits = step->op == WEFT_BLOCK_AWAIT;
        if (waits || step->op == WEFT_BLOCK_SIGNAL) {
            uses[count++] = (struct use){waits ? step->peer : rank, waits ? rank : step->peer,
                                         step->channel, waits, s};
        }
    }
    qsort(uses, count, sizeof *uses, compare_uses);
    for (uint32_t first = 0; first < count;) {
        uint32_t end = first + 1;
        while (end < count && uses[end].from == uses[first].from &&
               uses[end].to == uses[first].to && uses[end].channel == uses[first].channel) {
            end++;
        }
        if (!match_channel(got_from, report, order, uses + first, end - first)) {
            return false;
        }
        first = end;
    }
    return true;
}
