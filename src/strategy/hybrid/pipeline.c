// SPDX-License-Identifier: Apache-2.0
// The schedule of a pipeline: 1F1B (PipeDream-Flush; Narayanan et al., SC 2021, section 2.2),
// interleaved when a device holds several chunks of layers. Which pass a device runs when follows
// from its index in O(1); how long all takes is played pass by pass, and beyond a few rounds the
// steady rhythm is extrapolated, so that thousands of micro-batches cost no more than tens.
//
// The bubble of m micro-batches on p devices with v chunks is (p - 1) / (v m) of the work where all
// stages are equal; the play covers unequal ones.

#include "hybrid.h"

uint64_t weft_hybrid_warm_passes(uint32_t pp, uint32_t chunks, uint64_t micro_batches,
                                 uint32_t rank)
{
    uint64_t passes = micro_batches * chunks;
    uint64_t warm = chunks == 1 ? (uint64_t)pp - rank - 1
                                : 2 * ((uint64_t)pp - rank - 1) + (uint64_t)(chunks - 1) * pp;
    return warm < passes ? warm : passes;
}

struct weft_hybrid_slot weft_hybrid_slot_at(uint32_t pp, uint32_t chunks, uint64_t micro_batches,
                                            uint32_t rank, uint64_t index)
{
    uint64_t passes = micro_batches * chunks;
    uint64_t warm = weft_hybrid_warm_passes(pp, chunks, micro_batches, rank);
    bool backward = false;
    uint64_t pass = index; // which forward or backward pass
    if (index >= 2 * passes - warm) {
        backward = true;
        pass = index - passes;
    } else if (index >= warm) {
        backward = (index - warm) % 2 == 1;
        pass = (index - warm) / 2 + (backward ? 0 : warm);
    }
    WEFT_ASSERT(pass < passes);
    if (chunks == 1) {
        return (struct weft_hybrid_slot){.micro_batch = pass, .backward = backward};
    }
    uint64_t round = (uint64_t)pp * chunks;
    uint32_t chunk = (uint32_t)(pass % round / pp);
    return (struct weft_hybrid_slot){.micro_batch = pass / round * pp + pass % pp,
                                     .chunk = backward ? chunks - 1 - chunk : chunk,
                                     .backward = backward};
}

// ---- playing ----

struct stage_play {
    const struct weft_hybrid_play *play;
    uint64_t micro_batches; // played
    uint32_t stages;
    uint64_t *next;        // [pp] index of the next pass of each device
    double *free_s;        // [pp]
    double *forward_end_s; // [stages * micro_batches], < 0 = not yet
    double *backward_end_s;
};

// When the inputs of a pass are there, or a negative number while they are not.
static double ready(const struct stage_play *state, uint32_t stage,
                    const struct weft_hybrid_slot *slot)
{
    const struct weft_hybrid_play *play = state->play;
    uint64_t m = state->micro_batches;
    if (!slot->backward) {
        if (stage == 0) {
            return 0;
        }
        double before = state->forward_end_s[(uint64_t)(stage - 1) * m + slot->micro_batch];
        return before < 0 ? before : before + play->send_s;
    }
    double own = state->forward_end_s[(uint64_t)stage * m + slot->micro_batch];
    if (stage == state->stages - 1 || own < 0) {
        return own;
    }
    double after = state->backward_end_s[(uint64_t)(stage + 1) * m + slot->micro_batch];
    return after < 0 ? after : after + play->send_s;
}

// Runs what rank `rank` can run by now. Whether it ran anything.
static bool advance(struct stage_play *state, uint32_t rank)
{
    const struct weft_hybrid_play *play = state->play;
    uint64_t m = state->micro_batches;
    uint64_t end = 2 * m * play->chunks;
    bool ran = false;
    while (state->next[rank] < end) {
        struct weft_hybrid_slot slot =
            weft_hybrid_slot_at(play->pp, play->chunks, m, rank, state->next[rank]);
        uint32_t stage = slot.chunk * play->pp + rank;
        double start_s = ready(state, stage, &slot);
        if (start_s < 0) {
            break;
        }
        start_s = start_s > state->free_s[rank] ? start_s : state->free_s[rank];
        uint64_t at = (uint64_t)stage * m + slot.micro_batch;
        if (slot.backward) {
            state->backward_end_s[at] = start_s + play->backward_s[stage];
            state->free_s[rank] =
                state->backward_end_s[at] + (play->blocking && stage > 0 ? play->send_s : 0);
        } else {
            if (play->release_s != NULL && slot.micro_batch == 0 &&
                play->release_s[stage] > start_s) {
                start_s = play->release_s[stage];
            }
            state->forward_end_s[at] = start_s + play->forward_s[stage];
            bool sends = play->blocking && stage + 1 < state->stages;
            state->free_s[rank] = state->forward_end_s[at] + (sends ? play->send_s : 0);
        }
        state->next[rank]++;
        ran = true;
    }
    return ran;
}

// Plays so many micro-batches. last_backward_s[stage] as in weft_hybrid_play.
static void play_all(const struct weft_hybrid_play *play, uint64_t micro_batches,
                     double *last_backward_s, struct weft_arena scratch)
{
    struct stage_play state = {
        .play = play, .micro_batches = micro_batches, .stages = play->pp * play->chunks};
    uint64_t passes = (uint64_t)state.stages * micro_batches;
    state.next = WEFT_NEW(&scratch, uint64_t, play->pp);
    state.free_s = WEFT_NEW(&scratch, double, play->pp);
    state.forward_end_s = WEFT_NEW_RAW(&scratch, double, passes);
    state.backward_end_s = WEFT_NEW_RAW(&scratch, double, passes);
    for (uint64_t i = 0; i < passes; i++) {
        state.forward_end_s[i] = -1;
        state.backward_end_s[i] = -1;
    }
    // Devices to look at: a device that ran may have set its neighbors free.
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, play->pp);
    bool *queued = WEFT_NEW(&scratch, bool, play->pp);
    uint32_t head = 0;
    uint32_t count = play->pp;
    for (uint32_t r = 0; r < play->pp; r++) {
        queue[r] = r;
        queued[r] = true;
    }
    while (count > 0) {
        uint32_t rank = queue[head];
        head = (head + 1) % play->pp;
        count--;
        queued[rank] = false;
        if (!advance(&state, rank)) {
            continue;
        }
        uint32_t neighbors[2] = {(rank + 1) % play->pp, (rank + play->pp - 1) % play->pp};
        for (uint32_t i = 0; i < 2; i++) {
            if (!queued[neighbors[i]]) {
                queued[neighbors[i]] = true;
                queue[(head + count++) % play->pp] = neighbors[i];
            }
        }
    }
    for (uint32_t stage = 0; stage < state.stages; stage++) {
        double end_s = state.backward_end_s[(uint64_t)stage * micro_batches + micro_batches - 1];
        WEFT_ASSERT(end_s >= 0);
        last_backward_s[stage] = end_s;
    }
}

void weft_hybrid_play(const struct weft_hybrid_play *play, double *last_backward_s,
                      struct weft_arena scratch)
{
    uint64_t pp = play->pp;
    uint64_t enough = 4 * pp + play->micro_batches % pp;
    if (play->micro_batches <= enough + pp) {
        play_all(play, play->micro_batches, last_backward_s, scratch);
        return;
    }
    uint32_t stages = play->pp * play->chunks;
    double *before_s = WEFT_NEW(&scratch, double, stages);
    play_all(play, enough, before_s, scratch);
    play_all(play, enough + pp, last_backward_s, scratch);
    uint64_t more = (play->micro_batches - enough) / pp;
    double rounds = (double)more;
    for (uint32_t stage = 0; stage < stages; stage++) {
        last_backward_s[stage] =
            before_s[stage] + (last_backward_s[stage] - before_s[stage]) * rounds;
    }
}

void weft_hybrid_play_dual(const struct weft_hybrid_play *play, double *last_backward_s)
{
    double half = (double)play->micro_batches / 2;
    double work_s = 0;
    double bubble_s = 0;
    for (uint32_t rank = 0; rank < play->pp / 2; rank++) {
        uint32_t other = play->pp - 1 - rank;
        double forward_s = play->forward_s[rank] + play->forward_s[other];
        double backward_s = play->backward_s[rank] + play->backward_s[other];
        double rank_s = half * (forward_s + backward_s) +
                        play->pp / 2.0 * (play->alone_s[rank] + play->alone_s[other]);
        work_s = rank_s > work_s ? rank_s : work_s;
        // Of one stage on average; the parameters' gradients take as long as the forward pass.
        double waits_s = (backward_s - forward_s) > 0 ? backward_s - forward_s : 0;
        bubble_s = waits_s > bubble_s ? waits_s : bubble_s;
    }
    double sends_s = 2.0 * (play->pp - 1) * play->send_s; // the first one in, the last one out
    double end_s = work_s + (play->pp / 2.0 - 1) * bubble_s + sends_s;
    for (uint32_t stage = 0; stage < play->pp; stage++) {
        last_backward_s[stage] = end_s;
    }
}
