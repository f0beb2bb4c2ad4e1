// SPDX-License-Identifier: Apache-2.0
// Programs of thread blocks: steps that touch the same memory must be ordered.
//
// Vector clocks (Fidge 1988; Mattern 1989), one rank's memory at a time: clock[s][b] is how many
// steps of block b are surely over when step s ends. Along an order that respects them, a slot's
// last writer and the readers since are all that a new access has to be held against.

#include "program.h"

#include <stdio.h>
#include <string.h>

// Limits of memory and time, not tuned: 1 GiB of clocks, and 2^33 comparisons, some seconds.
#define CLOCK_BYTES_MAX ((uint64_t)1 << 30)
#define CLOCK_WORK_MAX ((uint64_t)1 << 33)

struct access {
    uint32_t step;
    uint32_t next; // reader of the same slot before this one
};

// The memory of one rank. Columns of clocks are the blocks that touch it, its own ones first, and a
// last one, which is 1 where the rank has surely begun the call. One-sided programs have two clocks
// for a step: what is over, and what of it can be seen.
struct watch {
    const struct weft_program_order *order;
    struct weft_program_report *report;
    uint32_t rank;
    uint32_t width;
    uint32_t *columns; // of a block; WEFT_NONE
    uint32_t *clocks;
    uint32_t *visible; // the same array where nothing is relaxed
    uint32_t *synced;  // of a step: the last SYNC of its block before it
    uint32_t *list;    // of steps, for a moment
    uint32_t *seen;    // of a step: the search that has been there
    uint32_t search;
    uint32_t *writer;  // of each slot
    uint32_t *readers; // of each slot since: index into accesses
    struct access *accesses;
    uint32_t access_count;
    bool in_place;
    bool packets; // are anywhere
};

static void raise_row(uint32_t *clocks, uint32_t width, size_t mine, size_t theirs)
{
    for (uint32_t b = 0; b < width; b++) {
        uint32_t other = clocks[theirs * width + b];
        uint32_t *own = &clocks[mine * width + b];
        *own = *own > other ? *own : other;
    }
}

// Step s comes after another one, whose data it sees or not.
static void raise_to(struct watch *watch, uint32_t s, uint32_t other, bool sees)
{
    if (other == WEFT_NONE) {
        return;
    }
    raise_row(watch->clocks, watch->width, s, other);
    if (sees && watch->visible != watch->clocks) {
        raise_row(watch->visible, watch->width, s, other);
    }
}

// What comes before a step in its rank. In a loose block that is the last SYNC and, for what one
// thread does, that thread's last; a SYNC comes after all since the one before. Fills watch->list
// from `at` on and returns its new end.
static uint32_t list_before(struct watch *watch, uint32_t s, uint32_t at)
{
    const struct weft_program *program = watch->order->program;
    const struct weft_block *block = &program->blocks[watch->order->block_of[s]];
    const struct weft_block_step *steps = program->steps;
    uint32_t first = watch->synced[s] == WEFT_NONE ? block->first_step : watch->synced[s];
    if (watch->order->waits_for[s] != WEFT_NONE) {
        watch->list[at++] = watch->order->waits_for[s];
    }
    if (!block->loose) {
        watch->list[at] = s - 1;
        return s > block->first_step ? at + 1 : at;
    }
    if (watch->synced[s] != WEFT_NONE) {
        watch->list[at++] = watch->synced[s];
    }
    for (uint32_t other = s; !weft_block_op_moves(steps[s].op) && other-- > first;) {
        bool same_thread =
            !weft_block_op_moves(steps[other].op) && steps[other].thread == steps[s].thread;
        if (steps[s].op == WEFT_BLOCK_SYNC) {
            watch->list[at++] = other;
        } else if (same_thread) {
            watch->list[at++] = other;
            break;
        }
    }
    return at;
}

static bool is_same_op(const struct watch *watch, uint32_t a, uint32_t b)
{
    const struct weft_program *program = watch->order->program;
    uint32_t block = watch->order->block_of[a];
    return b < program->step_count && watch->order->block_of[b] == block &&
           program->blocks[block].loose && program->steps[a].number == program->steps[b].number;
}

// Whether what leads to step s has waited for a packet of `before`: who has a packet knows that its
// writer is done with that part of its chunks, which clocks of whole blocks do not say. Goes back
// from s through all that comes before. O(steps).
static bool is_told(struct watch *watch, uint32_t before, uint32_t s)
{
    const struct weft_program *program = watch->order->program;
    uint32_t end = 0;
    watch->search++;
    watch->list[end++] = s;
    for (uint32_t i = 0; i < end; i++) {
        uint32_t at = watch->list[i];
        uint32_t sender = watch->order->got_from[at];
        if (sender != WEFT_NONE && program->steps[at].reads_packets &&
            (sender == before ||
             (is_same_op(watch, sender, before) &&
              program->steps[sender].thread == program->steps[before].thread))) {
            return true;
        }
        uint32_t more = list_before(watch, at, end);
        if (sender != WEFT_NONE) {
            watch->list[more++] = sender;
        }
        // Packets that the same operation has waited for, for the same part.
        for (uint32_t other = at; other-- > 0 && is_same_op(watch, at, other) &&
                                  program->steps[other].thread == program->steps[at].thread;) {
            watch->list[more++] = other;
        }
        uint32_t kept = end;
        for (uint32_t m = end; m < more; m++) {
            uint32_t step = watch->list[m];
            if (watch->seen[step] != watch->search) {
                watch->seen[step] = watch->search;
                watch->list[kept++] = step;
            }
        }
        end = kept;
    }
    return false;
}

// Whether `before` is surely over, and to be seen, when `s` begins to touch memory. Threads of a
// loose block do their own part of one operation from its first step to its last.
static bool is_ordered(struct watch *watch, uint32_t before, uint32_t s, bool sees)
{
    uint32_t block = watch->order->block_of[before];
    uint32_t position = before - watch->order->program->blocks[block].first_step;
    const uint32_t *clocks = sees ? watch->visible : watch->clocks;
    return before == s || is_same_op(watch, before, s) ||
           clocks[(size_t)s * watch->width + watch->columns[block]] > position ||
           (!sees && watch->packets && s < watch->order->program->step_count &&
            is_told(watch, before, s));
}

// One side of a race: a step, and whether it writes what both touch.
struct side {
    uint32_t step;
    bool writes;
};

static const char *remedy(struct watch *watch, uint32_t one, uint32_t other)
{
    const struct weft_program_order *order = watch->order;
    uint32_t blocks[2] = {order->block_of[one], order->block_of[other]};
    if (!order->program->one_sided) {
        return "in no order; add a wait (depid, deps)";
    }
    if (is_ordered(watch, other, one, false)) {
        return "in an order of relaxed signals alone, behind which no data need be seen; write "
               "signal and wait";
    }
    if (blocks[0] == blocks[1]) {
        return "in no order of their threads; put a nop between";
    }
    return order->rank_of[blocks[0]] == order->rank_of[blocks[1]]
               ? "in no order; put nop, sem_release, sem_acquire, nop between, or a barrier"
               : "in no order; put nop, signal, wait, nop between";
}

static bool blame_race(struct watch *watch, struct side one, struct side other,
                       enum weft_block_buffer buffer, uint32_t chunk)
{
    static const char *const names[] = {"input", "output", "scratch"};
    const struct weft_program_order *order = watch->order;
    char place[WEFT_PROGRAM_PLACE];
    char owner[32] = "";
    if (order->program->one_sided) {
        snprintf(owner, sizeof owner, " of gpu %u", watch->rank);
    }
    return weft_program_blame(
        watch->report, order, one.step, "race: it %s chunk %u of %s%s%s, and %s %s it, %s",
        one.writes ? "writes" : "reads", chunk, names[buffer], owner,
        watch->in_place ? " in place" : "", weft_program_place(place, order, other.step),
        other.writes ? "writes" : "reads", remedy(watch, one.step, other.step));
}

// Holds one access against the slot's last writer and, for a write, against all readers since.
// Since accesses come in an order that respects the clocks, older ones are ordered before these
// already. Packets bring their own order, and are seen with their flags.
static bool touch(struct watch *watch, uint32_t s, bool writes)
{
    const struct weft_program *program = watch->order->program;
    const struct weft_block_step *step = &program->steps[s];
    enum weft_block_buffer buffer = writes ? step->to_buffer : step->from_buffer;
    uint32_t from = writes ? step->to : step->from;
    for (uint32_t i = 0; i < step->count && !(step->reads_packets && !writes); i++) {
        uint32_t slot = weft_program_slot(program, watch->in_place, watch->rank, buffer, from + i);
        uint32_t writer = watch->writer[slot];
        if (writer != WEFT_NONE &&
            !is_ordered(watch, writer, s, !program->steps[writer].writes_packets)) {
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
            if (!is_ordered(watch, watch->accesses[a].step, s, false)) {
                return blame_race(watch, (struct side){s, true},
                                  (struct side){watch->accesses[a].step, false}, buffer, from + i);
            }
        }
        *readers = WEFT_NONE;
        watch->writer[slot] = s;
    }
    return true;
}

// In a loose block each thread takes its own part of the chunks, so that none may be read as
// another one.
static bool check_overlap(struct watch *watch, uint32_t s)
{
    const struct weft_program *program = watch->order->program;
    const struct weft_block_step *step = &program->steps[s];
    uint32_t from =
        weft_program_slot(program, watch->in_place, watch->rank, step->from_buffer, step->from);
    uint32_t to =
        weft_program_slot(program, watch->in_place, watch->rank, step->to_buffer, step->to);
    uint32_t apart = from > to ? from - to : to - from;
    return apart == 0 || apart >= step->count ||
           weft_program_blame(watch->report, watch->order, s,
                              "race: its threads read and write chunks that overlap; copy through "
                              "scratch");
}

static bool watch_step(struct watch *watch, uint32_t s)
{
    const struct weft_program_order *order = watch->order;
    const struct weft_block_step *step = &order->program->steps[s];
    uint32_t b = order->block_of[s];
    const struct weft_block *block = &order->program->blocks[b];
    uint32_t sender = order->got_from[s];
    uint32_t count = list_before(watch, s, 0);
    for (uint32_t i = 0; i < count; i++) {
        raise_to(watch, s, watch->list[i], true);
    }
    raise_to(watch, s, sender,
             !step->reads_packets && !step->relaxed &&
                 !(sender != WEFT_NONE && order->program->steps[sender].relaxed));
    if (order->rank_of[b] == watch->rank) {
        watch->clocks[(size_t)s * watch->width + watch->width - 1] = 1;
    }
    bool reads =
        weft_block_op_reads_from(step->op) && weft_program_owner(order, s, false) == watch->rank;
    bool writes =
        weft_block_op_touches_to(step->op) && weft_program_owner(order, s, true) == watch->rank;
    if ((reads && writes && block->loose && !check_overlap(watch, s)) ||
        (reads && !touch(watch, s, false)) || (writes && !touch(watch, s, true))) {
        return false;
    }
    if (watch->columns[b] != WEFT_NONE && (!block->loose || step->op == WEFT_BLOCK_SYNC)) {
        size_t own = (size_t)s * watch->width + watch->columns[b];
        watch->clocks[own] = watch->visible[own] = s - block->first_step + 1;
    }
    return true;
}

// Gives columns to the blocks that touch the rank's memory, and counts chunks that are read.
static void find_columns(struct watch *watch, size_t *reads)
{
    const struct weft_program_order *order = watch->order;
    const struct weft_program *program = order->program;
    watch->width = 0;
    *reads = 0;
    for (uint32_t b = 0; b < order->block_count; b++) {
        const struct weft_block *block = &program->blocks[b];
        bool touches = order->rank_of[b] == watch->rank;
        bool any = touches || program->one_sided;
        for (uint32_t s = block->first_step; any && s < block->first_step + block->step_count;
             s++) {
            enum weft_block_op op = program->steps[s].op;
            bool read =
                weft_block_op_reads_from(op) && weft_program_owner(order, s, false) == watch->rank;
            touches |= read || (weft_block_op_touches_to(op) &&
                                weft_program_owner(order, s, true) == watch->rank);
            *reads += read ? program->steps[s].count : 0;
        }
        watch->columns[b] = touches ? watch->width++ : WEFT_NONE;
    }
    watch->width++;
}

// Whether a rank of many surely has begun a call when it ends: of each, any step knows.
static void find_ends(bool *known, const struct watch *watch)
{
    const struct weft_program_order *order = watch->order;
    for (uint32_t s = 0; s < order->program->step_count; s++) {
        uint32_t b = order->block_of[s];
        known[order->rank_of[b]] |= order->program->blocks[b].loose &&
                                    watch->clocks[(size_t)s * watch->width + watch->width - 1] > 0;
    }
}

static void note_repeats(struct watch *watch, uint32_t s, bool early)
{
    char place[WEFT_PROGRAM_PLACE];
    if (watch->report->repeats[0] == '\0') {
        snprintf(watch->report->repeats, sizeof watch->report->repeats,
                 early ? "%s touches memory of gpu %u, which may still be in the call before; "
                         "begin with rlxsignal and rlxwait, or use_double_scratch_buffer"
                       : "%s may still touch scratch of gpu %u when that is in the next call; end "
                         "with signal and wait",
                 weft_program_place(place, watch->order, s), watch->rank);
    }
}

// What others, and the ports of the rank itself, do to its memory must be over when its last thread
// ends, since then the caller reads the output and writes the input. Scratch is only in danger of
// the next call, as all memory is of one that another rank is in already; where scratch has two
// halves, a rank that has heard of all others in one call is safe to write to theirs in the next.
static bool watch_ends(struct watch *watch, struct weft_arena scratch)
{
    const struct weft_program_order *order = watch->order;
    const struct weft_program *program = order->program;
    bool *known = WEFT_NEW(&scratch, bool, program->rank_count);
    bool *read = WEFT_NEW(&scratch, bool, program->step_count); // packets, by the rank itself
    find_ends(known, watch);
    uint32_t end = program->step_count;
    for (uint32_t s = 0; s < program->step_count; s++) {
        uint32_t b = order->block_of[s];
        if (order->rank_of[b] == watch->rank && program->blocks[b].loose) {
            raise_to(watch, end, s, true);
            if (program->steps[s].reads_packets) {
                read[order->got_from[s]] = true;
            }
        }
    }
    for (uint32_t s = 0; s < program->step_count; s++) {
        const struct weft_block_step *step = &program->steps[s];
        uint32_t b = order->block_of[s];
        bool own = order->rank_of[b] == watch->rank;
        for (uint32_t to = 0; to < 2 && !(own && program->blocks[b].loose); to++) {
            bool touches =
                to == 1 ? weft_block_op_touches_to(step->op) : weft_block_op_reads_from(step->op);
            if (!touches || weft_program_owner(order, s, to == 1) != watch->rank) {
                continue;
            }
            enum weft_block_buffer buffer = to == 1 ? step->to_buffer : step->from_buffer;
            bool spare = buffer == WEFT_BUFFER_SCRATCH;
            bool over = read[s] || is_ordered(watch, s, end, to == 1 && !step->writes_packets);
            if (!over && !spare) {
                return weft_program_blame(
                    watch->report, order, s,
                    "gpu %u may end before this has %s its %s; let it wait for a signal behind "
                    "this%s",
                    watch->rank, to == 1 ? "written" : "read",
                    buffer == WEFT_BUFFER_INPUT ? "input" : "output", own ? ", or flush" : "");
            }
            bool begun = own || watch->clocks[(size_t)s * watch->width + watch->width - 1] > 0;
            bool halves = spare && program->double_scratch;
            if (!begun && !(halves && known[order->rank_of[b]])) {
                note_repeats(watch, s, true);
            } else if (!over && !halves) {
                note_repeats(watch, s, false);
            }
        }
    }
    return true;
}

// Runs through all steps in order, with the clocks of the columns carried along by every step, also
// of other ranks: a message may order two steps of one rank through another rank. False without a
// report where that is too much; *work is what all ranks have taken.
static bool watch_rank(struct watch *watch, uint64_t *work, struct weft_arena scratch)
{
    const struct weft_program_order *order = watch->order;
    const struct weft_program *program = order->program;
    uint32_t slots = program->scratch_counts[watch->rank] + 2 * program->chunk_count;
    size_t reads;
    watch->columns = WEFT_NEW_RAW(&scratch, uint32_t, order->block_count);
    find_columns(watch, &reads);
    size_t cells = ((size_t)program->step_count + 1) * watch->width; // the last row: the end
    *work += cells;
    if (cells * sizeof(uint32_t) > CLOCK_BYTES_MAX || *work > CLOCK_WORK_MAX) {
        return false;
    }
    watch->clocks = WEFT_NEW(&scratch, uint32_t, cells);
    watch->visible = program->one_sided ? WEFT_NEW(&scratch, uint32_t, cells) : watch->clocks;
    watch->synced = WEFT_NEW_RAW(&scratch, uint32_t, program->step_count);
    // The same step may stand there once for each of its neighbors, before that is noticed.
    watch->list = WEFT_NEW_RAW(&scratch, uint32_t, 4 * (size_t)program->step_count + 8);
    watch->seen = WEFT_NEW(&scratch, uint32_t, program->step_count);
    watch->writer = WEFT_NEW_RAW(&scratch, uint32_t, slots);
    watch->readers = WEFT_NEW_RAW(&scratch, uint32_t, slots);
    watch->accesses = WEFT_NEW_RAW(&scratch, struct access, reads);
    watch->access_count = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        bool first = s == program->blocks[order->block_of[s]].first_step;
        watch->synced[s] = first                                         ? WEFT_NONE
                           : program->steps[s - 1].op == WEFT_BLOCK_SYNC ? s - 1
                                                                         : watch->synced[s - 1];
        watch->packets |= program->steps[s].reads_packets;
    }
    memset(watch->writer, 0xff, slots * sizeof *watch->writer);
    memset(watch->readers, 0xff, slots * sizeof *watch->readers);
    for (uint32_t i = 0; i < program->step_count; i++) {
        if (!watch_step(watch, order->sequence[i])) {
            return false;
        }
    }
    return !program->one_sided || watch_ends(watch, scratch);
}

bool weft_program_races(bool *fits, struct weft_program_report *report,
                        const struct weft_program_order *order, bool in_place,
                        struct weft_arena scratch)
{
    const struct weft_program *program = order->program;
    uint64_t work = 0;
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        struct watch watch = {.order = order, .report = report, .rank = rank, .in_place = in_place};
        if (!watch_rank(&watch, &work, scratch)) {
            *fits = !report->valid;
            return false;
        }
    }
    return true;
}
