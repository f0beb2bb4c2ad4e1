// SPDX-License-Identifier: Apache-2.0
// Programs of thread blocks: steps that touch the same memory must be ordered.
//
// Vector clocks (Fidge 1988; Mattern 1989), one rank at a time: clock[s][b] is how many steps of
// block b of the rank are surely over when step s ends. Along an order that respects them, a slot's
// last writer and the readers since are all that a new access has to be held against.

#include "program.h"

#include <string.h>

// Limits of memory and time, not tuned: 1 GiB of clocks, and 2^33 comparisons, some seconds.
#define CLOCK_BYTES_MAX ((uint64_t)1 << 30)
#define CLOCK_WORK_MAX ((uint64_t)1 << 33)

struct access {
    uint32_t step;
    uint32_t next; // reader of the same slot before this one
};

struct watch {
    const struct weft_program_order *order;
    struct weft_program_report *report;
    uint32_t rank;
    uint32_t width; // blocks of the rank
    uint32_t *clocks;
    uint32_t *writer;  // of each slot
    uint32_t *readers; // of each slot since: index into accesses
    struct access *accesses;
    uint32_t access_count;
    bool in_place;
};

static void raise_to(struct watch *watch, uint32_t s, uint32_t other)
{
    if (other == WEFT_NONE) {
        return;
    }
    uint32_t *mine = watch->clocks + (size_t)s * watch->width;
    const uint32_t *theirs = watch->clocks + (size_t)other * watch->width;
    for (uint32_t b = 0; b < watch->width; b++) {
        mine[b] = mine[b] > theirs[b] ? mine[b] : theirs[b];
    }
}

// Whether `before` is surely over when `s` begins to touch memory.
static bool is_ordered(const struct watch *watch, uint32_t before, uint32_t s)
{
    const struct weft_program_order *order = watch->order;
    uint32_t block = order->block_of[before];
    uint32_t position = before - order->program->blocks[block].first_step;
    uint32_t column = block - order->program->block_first[watch->rank];
    return before == s || watch->clocks[(size_t)s * watch->width + column] > position;
}

// One side of a race: a step, and whether it writes what both touch.
struct side {
    uint32_t step;
    bool writes;
};

static bool blame_race(struct watch *watch, struct side one, struct side other,
                       enum weft_block_buffer buffer, uint32_t chunk)
{
    static const char *const names[] = {"input", "output", "scratch"};
    char place[WEFT_PROGRAM_PLACE];
    return weft_program_blame(
        watch->report, watch->order, one.step,
        "race: it %s chunk %u of %s%s, and %s %s it, in no order; add a wait "
        "(depid, deps)",
        one.writes ? "writes" : "reads", chunk, names[buffer], watch->in_place ? " in place" : "",
        weft_program_place(place, watch->order, other.step), other.writes ? "writes" : "reads");
}

// Holds one access against the slot's last writer and, for a write, against all readers since.
// Since accesses come in an order that respects the clocks, older ones are ordered before these
// already.
static bool touch(struct watch *watch, uint32_t s, enum weft_block_buffer buffer, uint32_t from,
                  bool writes)
{
    const struct weft_program *program = watch->order->program;
    for (uint32_t i = 0; i < program->steps[s].count; i++) {
        uint32_t slot = weft_program_slot(program, watch->in_place, watch->rank, buffer, from + i);
        uint32_t writer = watch->writer[slot];
        if (writer != WEFT_NONE && !is_ordered(watch, writer, s)) {
            return blame_race(watch, (struct side){s, writes}, (struct side){writer, true}, buffer,
                              from + i);
        }
        uint32_t *readers = &watch->readers[slot];
        if (!writes) {
            watch->accesses[watch->access_count] = (struct access){s, *readers};
            *readers = watch->access_count++;
            continue;
        }
        for (uint32_t a = *readers; a != WEFT_NONE; a = watch->accesses[a].next) {
            if (!is_ordered(watch, watch->accesses[a].step, s)) {
                return blame_race(watch, (struct side){s, true},
                                  (struct side){watch->accesses[a].step, false}, buffer, from + i);
            }
        }
        *readers = WEFT_NONE;
        watch->writer[slot] = s;
    }
    return true;
}

static bool watch_step(struct watch *watch, uint32_t s)
{
    const struct weft_program_order *order = watch->order;
    const struct weft_block *block = &order->program->blocks[order->block_of[s]];
    raise_to(watch, s, s > block->first_step ? s - 1 : WEFT_NONE);
    raise_to(watch, s, order->got_from[s]);
    raise_to(watch, s, order->waits_for[s]);
    if (order->rank_of[order->block_of[s]] != watch->rank) {
        return true;
    }
    const struct weft_block_step *step = &order->program->steps[s];
    if ((weft_block_op_reads_from(step->op) &&
         !touch(watch, s, step->from_buffer, step->from, false)) ||
        (weft_block_op_touches_to(step->op) && !touch(watch, s, step->to_buffer, step->to, true))) {
        return false;
    }
    uint32_t column = order->block_of[s] - order->program->block_first[watch->rank];
    watch->clocks[(size_t)s * watch->width + column] = s - block->first_step + 1;
    return true;
}

// Runs through all steps in order, with the clocks of this rank's blocks carried along by every
// step, also of other ranks: a message may order two steps of one rank through another rank.
static bool watch_rank(struct watch *watch, struct weft_arena scratch)
{
    const struct weft_program_order *order = watch->order;
    const struct weft_program *program = order->program;
    uint32_t first = program->block_first[watch->rank];
    watch->width = program->block_first[watch->rank + 1] - first;
    uint32_t slots = program->scratch_counts[watch->rank] + 2 * program->chunk_count;
    size_t reads = 0;
    for (uint32_t b = first; b < first + watch->width; b++) {
        const struct weft_block *block = &program->blocks[b];
        for (uint32_t s = 0; s < block->step_count; s++) {
            const struct weft_block_step *step = &program->steps[block->first_step + s];
            reads += weft_block_op_reads_from(step->op) ? step->count : 0;
        }
    }
    watch->clocks = WEFT_NEW(&scratch, uint32_t, (size_t)program->step_count * watch->width);
    watch->writer = WEFT_NEW_RAW(&scratch, uint32_t, slots);
    watch->readers = WEFT_NEW_RAW(&scratch, uint32_t, slots);
    watch->accesses = WEFT_NEW_RAW(&scratch, struct access, reads);
    watch->access_count = 0;
    memset(watch->writer, 0xff, slots * sizeof *watch->writer);
    memset(watch->readers, 0xff, slots * sizeof *watch->readers);
    for (uint32_t i = 0; i < program->step_count; i++) {
        if (!watch_step(watch, order->sequence[i])) {
            return false;
        }
    }
    return true;
}

bool weft_program_races(bool *fits, struct weft_program_report *report,
                        const struct weft_program_order *order, bool in_place,
                        struct weft_arena scratch)
{
    const struct weft_program *program = order->program;
    *fits = true;
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        uint64_t width = program->block_first[rank + 1] - program->block_first[rank];
        if (width * program->step_count * sizeof(uint32_t) > CLOCK_BYTES_MAX ||
            (uint64_t)order->block_count * program->step_count > CLOCK_WORK_MAX) {
            *fits = false;
            return false;
        }
    }
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        struct watch watch = {.order = order, .report = report, .rank = rank, .in_place = in_place};
        if (!watch_rank(&watch, scratch)) {
            return false;
        }
    }
    return true;
}
