// SPDX-License-Identifier: Apache-2.0
// Timed hops as a schedule. Rounds follow from time: a round ends where a hop starts after another
// has arrived, and where a link would be used again. On a fabric that is the same everywhere a hop
// becomes one step for each translation along all sides but the longest, whose translations are the
// items of the step.

#include "synthesize.h"

#include <string.h>

// ---- time turned round ----

// Stable merge sort by start: what the planners wrote is mostly in order already.
static void sort_hops(struct weft_synth_hop *hops, uint32_t count, struct weft_arena scratch)
{
    bool sorted = true;
    for (uint32_t i = 1; i < count; i++) {
        sorted = sorted && hops[i - 1].start_ps <= hops[i].start_ps;
    }
    if (sorted) {
        return;
    }
    struct weft_synth_hop *from = hops;
    struct weft_synth_hop *to = WEFT_NEW_RAW(&scratch, struct weft_synth_hop, count);
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = low + 2 * width < count ? low + 2 * width : count;
            size_t a = low;
            size_t b = middle;
            for (size_t at = low; at < high; at++) {
                bool left = a < middle && (b == high || from[a].start_ps <= from[b].start_ps);
                to[at] = left ? from[a++] : from[b++];
            }
        }
        struct weft_synth_hop *swap = from;
        from = to;
        to = swap;
    }
    if (from != hops) {
        memcpy(hops, from, count * sizeof *hops);
    }
}

// Turns a run round in time: the last arrival becomes the first start, ends are exchanged, and hops
// are sorted by their new starts.
void weft_synth_reverse(struct weft_synth_run *run, struct weft_arena scratch)
{
    for (uint32_t i = 0; i < run->hop_count / 2; i++) {
        struct weft_synth_hop swap = run->hops[i];
        run->hops[i] = run->hops[run->hop_count - 1 - i];
        run->hops[run->hop_count - 1 - i] = swap;
    }
    for (uint32_t i = 0; i < run->hop_count; i++) {
        struct weft_synth_hop hop = run->hops[i];
        run->hops[i].from = hop.to;
        run->hops[i].to = hop.from;
        run->hops[i].from_slot = hop.to_slot;
        run->hops[i].to_slot = hop.from_slot;
        run->hops[i].start_ps = run->completion_ps - hop.end_ps;
        run->hops[i].end_ps = run->completion_ps - hop.start_ps;
    }
    sort_hops(run->hops, run->hop_count, scratch);
}

// ---- steps ----

struct writer {
    struct weft_schedule *schedule;
    const struct weft_synth_group *group; // NULL: a step for each hop
    uint32_t factor;
    uint32_t walked_side; // the largest: its translations make the items of a step
    uint32_t walked_stride;
    struct weft_step *steps;
    uint64_t *start_ps;
    uint32_t count;
};

// The servers element + w + i * stride, i running round the walked side; times `factor` for slots.
static struct weft_index walk_index(const struct writer *writer, uint32_t element, uint32_t w,
                                    uint32_t factor, uint32_t base)
{
    uint32_t sum = weft_synth_group_add(writer->group, element, w);
    uint32_t stride = writer->walked_stride;
    uint32_t digit = sum / stride % writer->walked_side;
    return (struct weft_index){
        .base = base + (sum - digit * stride) * factor,
        .start = digit * stride * factor,
        .per_item = stride * factor,
        .modulus = stride * factor * writer->walked_side,
    };
}

// Slots of the input and the output move with the rank that they belong to; scratch stays.
static struct weft_index slot_index(const struct writer *writer, uint32_t slot, uint32_t w)
{
    const struct weft_schedule *schedule = writer->schedule;
    uint32_t region = slot < schedule->chunk_count ? 0 : schedule->output_first;
    if (slot - region >= schedule->chunk_count) {
        return weft_index_fixed(slot);
    }
    uint32_t element = (slot - region) / writer->factor;
    uint32_t k = (slot - region) % writer->factor;
    return walk_index(writer, element, w, writer->factor, region + k);
}

static struct weft_step *new_step(struct writer *writer, uint64_t start_ps, uint32_t round,
                                  enum weft_step_op op)
{
    struct weft_step *step = &writer->steps[writer->count];
    writer->start_ps[writer->count++] = start_ps;
    *step = (struct weft_step){
        .op = op,
        .first_round = round,
        .round_count = 1,
        .item_count = 1,
        .slot_count = 1,
        .label = WEFT_NONE,
    };
    return step;
}

static void write_hop(struct writer *writer, const struct weft_synth_hop *hop, uint64_t start_ps,
                      uint32_t round, enum weft_step_op op)
{
    if (writer->group == NULL) {
        struct weft_step *step = new_step(writer, start_ps, round, op);
        step->from = weft_index_fixed(hop->from);
        step->to = weft_index_fixed(hop->to);
        step->from_slot = weft_index_fixed(hop->from_slot);
        step->to_slot = weft_index_fixed(hop->to_slot);
        return;
    }
    for (uint32_t w = 0; w < writer->group->order; w++) {
        if (w / writer->walked_stride % writer->walked_side != 0) {
            continue;
        }
        struct weft_step *step = new_step(writer, start_ps, round, op);
        step->item_count = writer->walked_side;
        step->from = walk_index(writer, hop->from, w, 1, 0);
        step->to = walk_index(writer, hop->to, w, 1, 0);
        step->from_slot = slot_index(writer, hop->from_slot, w);
        step->to_slot = slot_index(writer, hop->to_slot, w);
    }
}

// Writes a run's hops from a round on; returns the round behind it. A round ends where a hop starts
// after another has arrived, so that whoever reads finds what it needs in an earlier round, and
// where a link would be used again.
static uint32_t write_run(struct writer *writer, const struct weft_synth_run *run, uint32_t round,
                          uint64_t offset_ps, uint32_t *last_round)
{
    uint64_t first_end_ps = WEFT_NEVER;
    for (uint32_t i = 0; i < run->hop_count; i++) {
        const struct weft_synth_hop *hop = &run->hops[i];
        bool network = hop->link != WEFT_NONE;
        if (hop->start_ps >= first_end_ps || (network && last_round[hop->link] == round)) {
            round++;
            first_end_ps = WEFT_NEVER;
        }
        if (network) {
            last_round[hop->link] = round;
            first_end_ps = hop->end_ps < first_end_ps ? hop->end_ps : first_end_ps;
        }
        write_hop(writer, hop, offset_ps + hop->start_ps, round, run->op);
    }
    return round + 1;
}

// Writes one or two runs, the second from the first's completion on, with the time of each step
// beside it.
void weft_synth_write(struct weft_schedule *schedule, const struct weft_synth *synth,
                      const struct weft_synth_run *runs, uint32_t run_count,
                      struct weft_arena *arena, struct weft_arena scratch)
{
    struct writer writer = {.schedule = schedule, .factor = synth->chunk_factor};
    uint64_t room = 0;
    for (uint32_t r = 0; r < run_count; r++) {
        room += runs[r].hop_count;
        writer.group = runs[r].translated ? synth->group : NULL;
    }
    if (writer.group != NULL) {
        uint32_t stride = 1;
        for (uint32_t i = 0; i < writer.group->side_count; i++) {
            if (writer.group->sides[i] > writer.walked_side) {
                writer.walked_side = writer.group->sides[i];
                writer.walked_stride = stride;
            }
            stride *= writer.group->sides[i];
        }
        WEFT_ASSERT(writer.walked_side > 0);
        room *= writer.group->order / writer.walked_side;
    }
    writer.steps = WEFT_NEW_RAW(arena, struct weft_step, room);
    writer.start_ps = WEFT_NEW_RAW(arena, uint64_t, room);
    uint32_t *last_round = WEFT_NEW_RAW(&scratch, uint32_t, synth->fabric->link_count);
    memset(last_round, 0xff, synth->fabric->link_count * sizeof *last_round);
    uint32_t round = 0;
    uint64_t offset_ps = 0;
    for (uint32_t r = 0; r < run_count; r++) {
        WEFT_ASSERT(runs[r].translated == runs[0].translated);
        round = write_run(&writer, &runs[r], round, offset_ps, last_round);
        offset_ps += runs[r].completion_ps;
    }
    WEFT_ASSERT(writer.count == room);
    schedule->round_count = round;
    schedule->step_count = writer.count;
    schedule->steps = writer.steps;
    schedule->start_ps = writer.start_ps;
}
