// SPDX-License-Identifier: Apache-2.0
// What the algorithms of this chamber share: a list of steps that may be added in any order of
// rounds and is sorted once at the end (merge sort, stable, O(steps log steps)), one pass of a
// reduce-scatter or all-gather along a line of ranks, logarithms, the circulant rings of n ranks,
// and the shapes that are chosen when none is given.

#include "writer.h"

#include <string.h>

// Limits of the form, not tuned: slot indices of up to twice the chunks stay below 2^32, and 2^22
// steps of 108 bytes take 432 MiB.
#define CHUNKS_MAX (1u << 29)
#define STEPS_MAX (1u << 22)
#define BLOCK_STEPS 64 // steps that are allocated together

struct weft_step_block {
    struct weft_step_block *next;
    uint32_t count;
    struct weft_step steps[BLOCK_STEPS];
};

struct weft_step *weft_writer_add(struct weft_step_writer *writer, enum weft_step_op op,
                                  uint32_t first_round, uint32_t round_count, uint32_t item_count,
                                  uint32_t slot_count)
{
    WEFT_ASSERT(round_count > 0 && item_count > 0 && slot_count > 0);
    WEFT_ASSERT(writer->step_count < STEPS_MAX);
    if (writer->last == NULL || writer->last->count == BLOCK_STEPS) {
        struct weft_step_block *block = WEFT_NEW_RAW(writer->scratch, struct weft_step_block, 1);
        block->next = NULL;
        block->count = 0;
        *(writer->last == NULL ? &writer->first : &writer->last->next) = block;
        writer->last = block;
    }
    struct weft_step *step = &writer->last->steps[writer->last->count++];
    writer->step_count++;
    *step = (struct weft_step){
        .op = op,
        .first_round = first_round,
        .round_count = round_count,
        .item_count = item_count,
        .slot_count = slot_count,
        .label = WEFT_NONE,
        .channel = writer->channel,
        .from = weft_index_fixed(0),
        .to = weft_index_fixed(0),
        .from_slot = weft_index_fixed(0),
        .to_slot = weft_index_fixed(0),
    };
    return step;
}

void weft_step_slots(struct weft_step *step, struct weft_index slots)
{
    step->from_slot = slots;
    step->to_slot = slots;
}

// Adds the pass as one step: its items are the ranks of the line, its rounds walk from block to
// block against the direction of travel, so that each rank hands on what it received last.
void weft_line_pass(struct weft_step_writer *writer, const struct weft_line *line,
                    enum weft_step_op op, uint32_t first_round)
{
    uint32_t size = line->size;
    uint32_t ranks = size * line->stride;
    uint32_t slots = size * line->slot_stride;
    uint32_t on = line->backward ? size - 1 : 1;
    uint32_t back = (size - on) * line->slot_stride;
    struct weft_step *step = weft_writer_add(writer, op, first_round, size - 1, size, line->width);
    step->from = weft_index_walk(0, line->stride, 0, ranks);
    step->to = weft_index_walk(on * line->stride, line->stride, 0, ranks);
    step->from.base = line->first;
    step->to.base = line->first;
    struct weft_index walk =
        weft_index_walk(op == WEFT_STEP_REDUCE ? back : 0, line->slot_stride, back, slots);
    walk.base = line->slot;
    weft_step_slots(step, walk);
}

bool weft_writer_chunks(struct weft_step_writer *writer, uint64_t chunk_count,
                        struct weft_error *error)
{
    if (chunk_count > CHUNKS_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "%llu chunks are more than %u; take fewer ranks or a smaller chunk factor",
                         (unsigned long long)chunk_count, CHUNKS_MAX);
    }
    writer->chunk_count = (uint32_t)chunk_count;
    return true;
}

bool weft_writer_expect(const struct weft_step_writer *writer, uint64_t step_count,
                        struct weft_error *error)
{
    if (writer->step_count + step_count > STEPS_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "this schedule has more than %u steps; take fewer ranks or a smaller "
                         "chunk factor",
                         STEPS_MAX);
    }
    return true;
}

// ---- in order of rounds ----

// Merges the sorted halves [first, middle) and [middle, last) of `from` into `to`.
static void merge(struct weft_step *to, const struct weft_step *from, size_t first, size_t middle,
                  size_t last)
{
    size_t a = first;
    size_t b = middle;
    for (size_t i = first; i < last; i++) {
        bool left = a < middle && (b == last || from[a].first_round <= from[b].first_round);
        to[i] = left ? from[a++] : from[b++];
    }
}

// Sorts the steps by first round, by bottom-up merging between `steps` and a buffer of the same
// size; nothing is done where they are in order already, as those of rings are.
static const struct weft_step *sorted_steps(struct weft_step *steps, size_t count,
                                            struct weft_arena scratch)
{
    bool sorted = true;
    for (size_t s = 1; s < count && sorted; s++) {
        sorted = steps[s - 1].first_round <= steps[s].first_round;
    }
    if (sorted) {
        return steps;
    }
    struct weft_step *other = WEFT_NEW_RAW(&scratch, struct weft_step, count);
    struct weft_step *from = steps;
    struct weft_step *to = other;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t first = 0; first < count; first += 2 * width) {
            size_t middle = first + width < count ? first + width : count;
            size_t last = middle + width < count ? middle + width : count;
            merge(to, from, first, middle, last);
        }
        struct weft_step *swap = from;
        from = to;
        to = swap;
    }
    if (from != steps) {
        memcpy(steps, from, count * sizeof *steps);
    }
    return steps;
}

void weft_writer_finish(struct weft_schedule *schedule, const struct weft_step_writer *writer,
                        const char *name, struct weft_arena *arena, struct weft_arena scratch)
{
    size_t count = 0;
    uint32_t round_count = 0;
    struct weft_step *steps = WEFT_NEW_RAW(arena, struct weft_step, (size_t)writer->step_count);
    for (const struct weft_step_block *block = writer->first; block != NULL; block = block->next) {
        memcpy(steps + count, block->steps, block->count * sizeof *steps);
        for (uint32_t s = 0; s < block->count; s++) {
            uint32_t end = block->steps[s].first_round + block->steps[s].round_count;
            round_count = end > round_count ? end : round_count;
        }
        count += block->count;
    }
    WEFT_ASSERT(count == writer->step_count && writer->chunk_count > 0);
    *schedule = (struct weft_schedule){
        .name = name,
        .kind = writer->options.kind,
        .rank_count = writer->options.rank_count,
        .chunk_count = writer->chunk_count,
        .slot_count = writer->slot_count > 0 ? writer->slot_count : writer->chunk_count,
        .output_first = writer->output_first,
        .root = writer->options.root,
        .port_count = writer->port_count,
        .round_count = round_count,
        .step_count = (uint32_t)count,
        .steps = sorted_steps(steps, count, scratch),
        .label_count = writer->label_count,
        .labels = writer->labels,
    };
}

// ---- numbers ----

uint32_t weft_log2_floor(uint32_t n)
{
    WEFT_ASSERT(n > 0);
    return 31 - (uint32_t)__builtin_clz(n);
}

uint32_t weft_log2_ceil(uint32_t n)
{
    return n <= 1 ? 0 : weft_log2_floor(n - 1) + 1;
}

static bool share_divisor(uint32_t a, uint32_t b)
{
    while (b > 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a != 1;
}

uint32_t weft_jump_count(uint32_t n)
{
    uint32_t count = n;
    uint32_t rest = n;
    for (uint32_t prime = 2; (uint64_t)prime * prime <= rest; prime++) {
        if (rest % prime == 0) {
            count -= count / prime;
        }
        while (rest % prime == 0) {
            rest /= prime;
        }
    }
    return rest > 1 ? count - count / rest : count;
}

uint32_t weft_jump_at(uint32_t n, uint32_t index)
{
    uint32_t jump = 1;
    for (uint32_t found = 0;; jump++) {
        if (!share_divisor(n, jump) && found++ == index) {
            return jump;
        }
    }
}

// ---- shapes ----

static uint32_t largest_divisor(uint32_t n, uint32_t at_most)
{
    uint32_t divisor = at_most < n ? at_most : n;
    while (n % divisor != 0) {
        divisor--;
    }
    return divisor;
}

static uint32_t square_root(uint32_t n)
{
    uint32_t root = 1;
    while ((uint64_t)(root + 1) * (root + 1) <= n) {
        root++;
    }
    return root;
}

// A torus that is not given is as square as the number of ranks allows (a prime becomes a ring of
// one dimension); servers that are not given have the largest divisor of n up to 8 ranks, as GPU
// servers do. What is given must multiply to n.
bool weft_algorithm_shape(struct weft_algorithm_options *options, enum weft_algorithm algorithm,
                          struct weft_error *error)
{
    uint32_t n = options->rank_count;
    uint32_t *shape = options->shape;
    if (algorithm != WEFT_ALGORITHM_TORUS) {
        if (shape[0] > n || (shape[0] > 0 && n % shape[0] != 0)) {
            return weft_fail(error, WEFT_INPUT,
                             "%u ranks do not fill servers of %u; take a divisor of %u", n,
                             shape[0], n);
        }
        shape[0] = shape[0] > 0 ? shape[0] : largest_divisor(n, 8);
        shape[1] = n / shape[0];
        shape[2] = 1;
        return true;
    }
    if (shape[0] == 0) {
        shape[0] = largest_divisor(n, square_root(n));
        shape[1] = n / shape[0];
        shape[2] = 1;
        return true;
    }
    shape[1] = shape[1] > 0 ? shape[1] : n / shape[0];
    shape[2] = shape[2] > 0 ? shape[2] : 1;
    uint64_t plane = (uint64_t)shape[0] * shape[1];
    if (plane > n || plane * shape[2] != n) {
        return weft_fail(error, WEFT_INPUT,
                         "a torus of %u x %u x %u does not have %u ranks; give sides that multiply "
                         "to %u",
                         shape[0], shape[1], shape[2], n, n);
    }
    return true;
}
