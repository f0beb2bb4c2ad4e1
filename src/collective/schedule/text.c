// SPDX-License-Identifier: Apache-2.0
// Schedules as text, a line a step with its affine indices ("i in 0-7: i -> i+1 mod 8, slot i-t mod
// 8"), and a line a transfer where asked. The golden tests and docs/collectives.md show the form.
// O(steps), or O(transfers).

#include "weft/collective.h"

#include <inttypes.h>

// ---- indices ----

// Whether an index never reaches its modulus, so that "mod" says nothing.
static bool never_wraps(const struct weft_index *index, const struct weft_step *step)
{
    uint64_t top = (uint64_t)index->start + (uint64_t)index->per_item * (step->item_count - 1) +
                   (uint64_t)index->per_round * (step->round_count - 1);
    return top < index->modulus;
}

// " + 3i", "-t": a coefficient and its letter; a step of more than half the modulus goes backward.
static bool add_term(struct weft_text *text, bool first, uint32_t factor, uint32_t modulus,
                     bool wraps, const char *letter)
{
    if (factor == 0) {
        return first;
    }
    bool back = wraps && factor > modulus / 2;
    uint32_t size = back ? modulus - factor : factor;
    weft_text_add(text, "%s", back ? "-" : first ? "" : "+");
    if (size != 1) {
        weft_text_add(text, "%u", size);
    }
    weft_text_add(text, "%s", letter);
    return false;
}

// "i+1 mod 8", "8+(i-t mod 8)", "3".
static void add_index(struct weft_text *text, const struct weft_index *index,
                      const struct weft_step *step)
{
    uint32_t m = index->modulus;
    uint32_t per_item = step->item_count > 1 ? index->per_item % m : 0;
    uint32_t per_round = step->round_count > 1 ? index->per_round % m : 0;
    uint32_t start = index->start % m;
    if (per_item == 0 && per_round == 0) {
        weft_text_add(text, "%u", index->base + start);
        return;
    }
    bool wraps = !never_wraps(
        &(struct weft_index){
            .start = start, .per_item = per_item, .per_round = per_round, .modulus = m},
        step);
    bool inside = wraps && index->base > 0;
    uint32_t constant = start + (wraps ? 0 : index->base);
    if (inside) {
        weft_text_add(text, "%u+(", index->base);
    }
    bool first = add_term(text, true, per_item, m, wraps, "i");
    first = add_term(text, first, per_round, m, wraps, "t");
    WEFT_ASSERT(!first);
    bool less = wraps && constant > m / 2;
    if (constant > 0) {
        weft_text_add(text, "%c%u", less ? '-' : '+', less ? m - constant : constant);
    }
    if (wraps) {
        weft_text_add(text, " mod %u%s", m, inside ? ")" : "");
    }
}

static bool same_index(const struct weft_index *a, const struct weft_index *b)
{
    return a->base == b->base && a->start == b->start && a->per_item == b->per_item &&
           a->per_round == b->per_round && a->modulus == b->modulus;
}

// ---- steps ----

static void add_rank(struct weft_text *text, const struct weft_index *index,
                     const struct weft_step *step)
{
    if (step->label == WEFT_NONE) {
        add_index(text, index, step);
        return;
    }
    weft_text_add(text, "L%u[", step->label);
    add_index(text, index, step);
    weft_text_add(text, "]");
}

// Adds the line of one step; the second slot is named only where it differs from the first, the
// channel only where it is not 0.
static void add_step(struct weft_text *text, const struct weft_schedule *schedule, uint32_t s)
{
    const struct weft_step *step = &schedule->steps[s];
    if (step->round_count > 1) {
        weft_text_add(text, "rounds %u-%u, t = 0-%u: ", step->first_round,
                      step->first_round + step->round_count - 1, step->round_count - 1);
    } else {
        weft_text_add(text, "round %u: ", step->first_round);
    }
    if (step->item_count > 1) {
        weft_text_add(text, "i in 0-%u: ", step->item_count - 1);
    }
    add_rank(text, &step->from, step);
    weft_text_add(text, " -> ");
    add_rank(text, &step->to, step);
    weft_text_add(text, step->slot_count > 1 ? ", %u slots from " : ", slot ", step->slot_count);
    add_index(text, &step->from_slot, step);
    if (!same_index(&step->from_slot, &step->to_slot)) {
        weft_text_add(text, " to ");
        add_index(text, &step->to_slot, step);
    }
    weft_text_add(text, ", %s", step->op == WEFT_STEP_COPY ? "copy" : "reduce");
    if (step->channel != 0) {
        weft_text_add(text, ", channel %u", step->channel);
    }
    if (schedule->start_ps != NULL) {
        char when[WEFT_UNIT_TEXT];
        weft_text_add(text, ", at %s", weft_show_time(when, schedule->start_ps[s]));
    }
    weft_text_add(text, "\n");
}

// ---- the whole ----

static uint32_t input_width(const struct weft_schedule *schedule)
{
    bool packed = schedule->kind == WEFT_COLLECTIVE_ALLGATHER && schedule->packed;
    return packed ? schedule->chunk_count / schedule->rank_count : schedule->chunk_count;
}

static uint32_t output_width(const struct weft_schedule *schedule)
{
    bool packed = schedule->kind == WEFT_COLLECTIVE_REDUCE_SCATTER && schedule->packed;
    return packed ? schedule->chunk_count / schedule->rank_count : schedule->chunk_count;
}

// Adds the lines above the steps: what the schedule does, its counts and claims, where input and
// output lie, and the tables of labels.
static void add_head(struct weft_text *text, const struct weft_schedule *schedule)
{
    uint32_t chunks = schedule->chunk_count;
    uint64_t transfers = weft_schedule_transfer_count(schedule);
    weft_text_add(text, "%s: %s of %u chunk%s over %u ranks", schedule->name,
                  weft_collective_name(schedule->kind), chunks, chunks == 1 ? "" : "s",
                  schedule->rank_count);
    if (schedule->kind == WEFT_COLLECTIVE_BROADCAST || schedule->kind == WEFT_COLLECTIVE_REDUCE) {
        weft_text_add(text, ", root %u", schedule->root);
    }
    weft_text_add(text, "\n%u round%s, %u step%s, %" PRIu64 " transfer%s", schedule->round_count,
                  schedule->round_count == 1 ? "" : "s", schedule->step_count,
                  schedule->step_count == 1 ? "" : "s", transfers, transfers == 1 ? "" : "s");
    if (schedule->port_count > 0) {
        weft_text_add(text, ", no rank sends or receives more than %u a round",
                      schedule->port_count);
    }
    weft_text_add(text, "\n%u slot%s a rank: input 0-%u, output %u-%u%s\n", schedule->slot_count,
                  schedule->slot_count == 1 ? "" : "s", input_width(schedule) - 1,
                  schedule->output_first, schedule->output_first + output_width(schedule) - 1,
                  schedule->output_first == 0 ? ", in place" : "");
    for (uint32_t table = 0; table < schedule->label_count; table++) {
        weft_text_add(text, "L%u =", table);
        for (uint32_t i = 0; i < schedule->rank_count; i++) {
            weft_text_add(text, " %u", schedule->labels[table][i]);
        }
        weft_text_add(text, "\n");
    }
}

static void add_transfer(struct weft_text *text, const struct weft_transfer *transfer)
{
    weft_text_add(text, "  %u -> %u, ", transfer->from, transfer->to);
    if (transfer->slot_count > 1) {
        weft_text_add(text, "slots %u-%u", transfer->from_slot,
                      transfer->from_slot + transfer->slot_count - 1);
    } else {
        weft_text_add(text, "slot %u", transfer->from_slot);
    }
    if (transfer->from_slot != transfer->to_slot) {
        weft_text_add(text, " to %u", transfer->to_slot);
    }
    weft_text_add(text, ", %s\n", transfer->op == WEFT_STEP_COPY ? "copy" : "reduce");
}

void weft_schedule_write(struct weft_text *text, const struct weft_schedule *schedule,
                         bool expanded, struct weft_arena scratch)
{
    add_head(text, schedule);
    for (uint32_t s = 0; s < schedule->step_count; s++) {
        add_step(text, schedule, s);
    }
    if (!expanded) {
        return;
    }
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        weft_text_add(text, "round %u\n", walk.round);
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            add_transfer(text, &walk.transfers[i]);
        }
    }
}
