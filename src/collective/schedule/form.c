// SPDX-License-Identifier: Apache-2.0
// The form of a schedule: the names of the kinds, affine indices, what makes a schedule well
// formed, and the walk over its rounds that everything else is written with. Families of transfers
// are expanded one round at a time, in O(transfers of the round), so that a schedule of 33 million
// transfers never lies in memory.

#include "weft/collective.h"

#include <ctype.h>
#include <string.h>

static const char *const kind_names[WEFT_COLLECTIVE_KIND_COUNT] = {
    [WEFT_COLLECTIVE_ALLREDUCE] = "allreduce", [WEFT_COLLECTIVE_REDUCE_SCATTER] = "reduce-scatter",
    [WEFT_COLLECTIVE_ALLGATHER] = "allgather", [WEFT_COLLECTIVE_BROADCAST] = "broadcast",
    [WEFT_COLLECTIVE_REDUCE] = "reduce",       [WEFT_COLLECTIVE_ALLTOALL] = "alltoall",
};

const char *weft_collective_name(enum weft_collective_kind kind)
{
    WEFT_ASSERT(kind < WEFT_COLLECTIVE_KIND_COUNT);
    return kind_names[kind];
}

static char next_letter(const char **text)
{
    while (**text == '-' || **text == '_') {
        ++*text;
    }
    char letter = (char)tolower((unsigned char)**text);
    *text += letter != '\0';
    return letter;
}

static bool same_name(const char *a, const char *b)
{
    for (;;) {
        char letter = next_letter(&a);
        if (letter != next_letter(&b)) {
            return false;
        }
        if (letter == '\0') {
            return true;
        }
    }
}

enum weft_collective_kind weft_collective_find(const char *name)
{
    uint32_t kind = 0;
    while (kind < WEFT_COLLECTIVE_KIND_COUNT && !same_name(kind_names[kind], name)) {
        kind++;
    }
    return (enum weft_collective_kind)kind;
}

uint32_t weft_index_at(const struct weft_index *index, uint32_t item, uint32_t round)
{
    WEFT_ASSERT(index->modulus > 0);
    uint64_t modulus = index->modulus;
    uint64_t by_items = (uint64_t)item % modulus * (index->per_item % modulus) % modulus;
    uint64_t by_rounds = (uint64_t)round % modulus * (index->per_round % modulus) % modulus;
    return index->base + (uint32_t)((index->start % modulus + by_items + by_rounds) % modulus);
}

struct weft_index weft_index_fixed(uint32_t value)
{
    return (struct weft_index){.base = value, .modulus = 1};
}

struct weft_index weft_index_walk(uint32_t start, uint32_t per_item, uint32_t per_round,
                                  uint32_t modulus)
{
    return (struct weft_index){
        .start = start, .per_item = per_item, .per_round = per_round, .modulus = modulus};
}

// ---- well formed ----

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b > 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Whether an index and `width` slots from it stay below the limit. One that never wraps ends at its
// last item and round; else the index takes values that differ by multiples of what divides both
// strides and the modulus, so that blocks of slots that walk around a whole number of blocks are
// seen to fit.
static bool index_fits(const struct weft_index *index, const struct weft_step *step, uint64_t width,
                       uint64_t limit)
{
    uint32_t modulus = index->modulus;
    if (modulus == 0) {
        return false;
    }
    uint32_t start = index->start % modulus;
    uint32_t per_item = index->per_item % modulus;
    uint32_t per_round = index->per_round % modulus;
    uint64_t by_items = (uint64_t)per_item * (step->item_count - 1);
    uint64_t by_rounds = (uint64_t)per_round * (step->round_count - 1);
    uint64_t top;
    if (by_items < modulus && by_rounds < modulus && start + by_items + by_rounds < modulus) {
        top = start + by_items + by_rounds;
    } else {
        uint32_t apart = common_divisor(common_divisor(modulus, per_item), per_round);
        top = (uint64_t)modulus - apart + start % apart;
    }
    return index->base + top + width <= limit;
}

static bool check_step(const struct weft_schedule *schedule, const struct weft_step *step,
                       struct weft_error *error)
{
    if (step->round_count == 0 || step->item_count == 0 || step->slot_count == 0) {
        return weft_fail(error, WEFT_INPUT, "a step without rounds, items or slots");
    }
    if ((uint64_t)step->first_round + step->round_count > schedule->round_count) {
        return weft_fail(error, WEFT_INPUT, "its rounds go beyond the %u of the schedule",
                         schedule->round_count);
    }
    if (step->label != WEFT_NONE && step->label >= schedule->label_count) {
        return weft_fail(error, WEFT_INPUT, "label %u does not exist", step->label);
    }
    if (!index_fits(&step->from, step, 1, schedule->rank_count) ||
        !index_fits(&step->to, step, 1, schedule->rank_count)) {
        return weft_fail(error, WEFT_INPUT, "a rank beyond the last, %u", schedule->rank_count - 1);
    }
    if (!index_fits(&step->from_slot, step, step->slot_count, schedule->slot_count) ||
        !index_fits(&step->to_slot, step, step->slot_count, schedule->slot_count)) {
        return weft_fail(error, WEFT_INPUT, "a slot beyond the last, %u", schedule->slot_count - 1);
    }
    return true;
}

// Checks what relates the counts of a schedule to its kind: whole shares a rank where the kind has
// shares, inputs and outputs within the slots, a root that is a rank.
static bool check_counts(const struct weft_schedule *schedule, struct weft_error *error)
{
    uint32_t n = schedule->rank_count;
    if (n < 2 || schedule->chunk_count == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%u ranks and %u chunks; a collective needs two ranks "
                         "and a chunk",
                         n, schedule->chunk_count);
    }
    enum weft_collective_kind kind = schedule->kind;
    bool scattered = kind == WEFT_COLLECTIVE_REDUCE_SCATTER || kind == WEFT_COLLECTIVE_ALLGATHER ||
                     kind == WEFT_COLLECTIVE_ALLTOALL;
    if (scattered && schedule->chunk_count % n != 0) {
        return weft_fail(error, WEFT_INPUT, "%u chunks are no multiple of the %u ranks",
                         schedule->chunk_count, n);
    }
    uint64_t width = kind == WEFT_COLLECTIVE_REDUCE_SCATTER && schedule->packed
                         ? schedule->chunk_count / n
                         : schedule->chunk_count;
    if (schedule->output_first + width > schedule->slot_count ||
        schedule->chunk_count > schedule->slot_count) {
        return weft_fail(error, WEFT_INPUT, "%u slots do not hold input and output",
                         schedule->slot_count);
    }
    if (schedule->root >= n) {
        return weft_fail(error, WEFT_INPUT, "root %u is no rank", schedule->root);
    }
    return true;
}

static bool check_labels(const struct weft_schedule *schedule, struct weft_arena scratch,
                         struct weft_error *error)
{
    uint32_t n = schedule->rank_count;
    for (uint32_t table = 0; table < schedule->label_count; table++) {
        struct weft_arena local = scratch;
        bool *seen = WEFT_NEW(&local, bool, n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t rank = schedule->labels[table][i];
            if (rank >= n || seen[rank]) {
                return weft_fail(error, WEFT_INPUT, "label %u is no permutation of the ranks",
                                 table);
            }
            seen[rank] = true;
        }
    }
    return true;
}

bool weft_schedule_well_formed(const struct weft_schedule *schedule, struct weft_arena scratch,
                               struct weft_error *error)
{
    if (!check_counts(schedule, error) || !check_labels(schedule, scratch, error)) {
        return weft_wrap(error, "schedule '%s'", schedule->name);
    }
    for (uint32_t s = 0; s < schedule->step_count; s++) {
        const struct weft_step *step = &schedule->steps[s];
        if (s > 0 && step->first_round < schedule->steps[s - 1].first_round) {
            weft_fail(error, WEFT_INPUT, "it begins before the step in front of it");
            return weft_wrap(error, "schedule '%s': step %u", schedule->name, s);
        }
        if (!check_step(schedule, step, error)) {
            return weft_wrap(error, "schedule '%s': step %u", schedule->name, s);
        }
    }
    return true;
}

// ---- the walk ----

uint64_t weft_schedule_transfer_count(const struct weft_schedule *schedule)
{
    uint64_t count = 0;
    for (uint32_t s = 0; s < schedule->step_count; s++) {
        count += (uint64_t)schedule->steps[s].round_count * schedule->steps[s].item_count;
    }
    return count;
}

uint32_t weft_schedule_network_rounds(const struct weft_schedule *schedule,
                                      struct weft_arena scratch)
{
    int64_t *change = WEFT_NEW(&scratch, int64_t, (size_t)schedule->round_count + 1);
    for (uint32_t s = 0; s < schedule->step_count; s++) {
        const struct weft_step *step = &schedule->steps[s];
        if (memcmp(&step->from, &step->to, sizeof(step->from)) != 0) {
            change[step->first_round]++;
            change[step->first_round + step->round_count]--;
        }
    }
    uint32_t rounds = 0;
    int64_t running = 0;
    for (uint32_t round = 0; round < schedule->round_count; round++) {
        running += change[round];
        rounds += running > 0 ? 1 : 0;
    }
    return rounds;
}

void weft_round_walk_begin(struct weft_round_walk *walk, const struct weft_schedule *schedule,
                           struct weft_arena *arena)
{
    // By how much the transfers of a round differ from those of the round before.
    int64_t *change = WEFT_NEW(arena, int64_t, (size_t)schedule->round_count + 1);
    for (uint32_t s = 0; s < schedule->step_count; s++) {
        const struct weft_step *step = &schedule->steps[s];
        change[step->first_round] += step->item_count;
        change[step->first_round + step->round_count] -= step->item_count;
    }
    int64_t most = 0;
    int64_t running = 0;
    for (uint32_t round = 0; round < schedule->round_count; round++) {
        running += change[round];
        most = running > most ? running : most;
    }
    *walk = (struct weft_round_walk){
        .schedule = schedule,
        .round = WEFT_NONE,
        .transfers = WEFT_NEW_RAW(arena, struct weft_transfer, (size_t)most),
        .active = WEFT_NEW_RAW(arena, uint32_t, schedule->step_count),
    };
}

// Walks an index from item to item without dividing.
struct cursor {
    uint32_t base;
    uint32_t value; // below modulus
    uint32_t stride;
    uint32_t modulus;
};

static struct cursor cursor_at(const struct weft_index *index, uint32_t round)
{
    return (struct cursor){
        .base = index->base,
        .value = weft_index_at(index, 0, round) - index->base,
        .stride = index->per_item % index->modulus,
        .modulus = index->modulus,
    };
}

static uint32_t cursor_next(struct cursor *cursor)
{
    uint32_t result = cursor->base + cursor->value;
    uint64_t next = (uint64_t)cursor->value + cursor->stride;
    cursor->value = (uint32_t)(next >= cursor->modulus ? next - cursor->modulus : next);
    return result;
}

static void put_transfers(struct weft_round_walk *walk, uint32_t s)
{
    const struct weft_schedule *schedule = walk->schedule;
    const struct weft_step *step = &schedule->steps[s];
    uint32_t t = walk->round - step->first_round;
    const uint32_t *label = step->label == WEFT_NONE ? NULL : schedule->labels[step->label];
    struct cursor from = cursor_at(&step->from, t);
    struct cursor to = cursor_at(&step->to, t);
    struct cursor from_slot = cursor_at(&step->from_slot, t);
    struct cursor to_slot = cursor_at(&step->to_slot, t);
    for (uint32_t i = 0; i < step->item_count; i++) {
        uint32_t sender = cursor_next(&from);
        uint32_t receiver = cursor_next(&to);
        walk->transfers[walk->transfer_count++] = (struct weft_transfer){
            .step = s,
            .item = i,
            .op = step->op,
            .from = label == NULL ? sender : label[sender],
            .to = label == NULL ? receiver : label[receiver],
            .from_slot = cursor_next(&from_slot),
            .to_slot = cursor_next(&to_slot),
            .slot_count = step->slot_count,
        };
    }
}

// Steps to the next round: steps that have ended leave the list of active ones, those that begin
// join it, and the transfers of all are listed in order of step and item.
bool weft_round_walk_next(struct weft_round_walk *walk)
{
    const struct weft_schedule *schedule = walk->schedule;
    uint32_t round = walk->round == WEFT_NONE ? 0 : walk->round + 1;
    if (round >= schedule->round_count) {
        return false;
    }
    walk->round = round;
    uint32_t kept = 0;
    for (uint32_t a = 0; a < walk->active_count; a++) {
        const struct weft_step *step = &schedule->steps[walk->active[a]];
        if (step->first_round + step->round_count > round) {
            walk->active[kept++] = walk->active[a];
        }
    }
    // Steps stand in order of their first round: those that begin now have the largest indices.
    while (walk->next_step < schedule->step_count &&
           schedule->steps[walk->next_step].first_round == round) {
        walk->active[kept++] = walk->next_step++;
    }
    walk->active_count = kept;
    walk->transfer_count = 0;
    for (uint32_t a = 0; a < kept; a++) {
        put_transfers(walk, walk->active[a]);
    }
    return true;
}
