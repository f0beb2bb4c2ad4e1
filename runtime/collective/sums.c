// SPDX-License-Identifier: Apache-2.0
// Elements of collectives: their sums in float32 and bfloat16, inputs that can be recomputed, and
// the sums that outputs are held against.
//
// Inputs are a hash of element and rank, so that every process can compute what any other gave.
// Outputs of reals are compared with a sum in double precision within (n-1) roundings of the sum of
// the addends' sizes, which holds for every order of adding (Higham, Accuracy and Stability of
// Numerical Algorithms, 4.2). Checking costs O(elements * ranks); a run without it costs nothing
// here but sums.

#include "sums.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// ---- bfloat16: the upper half of a float32 ----

static inline float widen(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// To nearest, halves to even. NaNs stay NaNs.
static inline uint16_t narrow(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return (uint16_t)(nan ? (bits >> 16) | 0x40u : rounded >> 16);
}

void lab_add(void *into, const void *from, size_t count, enum lab_type type)
{
    if (type == LAB_FLOAT32) {
        float *restrict a = into;
        const float *restrict b = from;
        for (size_t i = 0; i < count; i++) {
            a[i] += b[i];
        }
        return;
    }
    uint16_t *restrict a = into;
    const uint16_t *restrict b = from;
    for (size_t i = 0; i < count; i++) {
        a[i] = narrow(widen(a[i]) + widen(b[i]));
    }
}

// ---- inputs ----

// A value is scale * (part of the mixed index and rank) + offset.
struct maker {
    uint32_t shift;
    double scale;
    double offset;
};

static struct maker maker_of(enum lab_values values, enum lab_type type)
{
    if (values == LAB_REAL) {
        // As many digits as the type holds, halves included.
        return type == LAB_FLOAT32 ? (struct maker){9, 0x1p-22, -1 + 0x1p-23}
                                   : (struct maker){25, 0x1p-6, -1 + 0x1p-7};
    }
    // Thousands of ranks times 8 stay below 2^24, 128 ranks times 2 within 2^8.
    return type == LAB_FLOAT32 ? (struct maker){28, 1, -8} : (struct maker){30, 1, -1};
}

static inline uint32_t mix(uint32_t index)
{
    uint32_t mixed = (index + 1u) * 2654435761u;
    return (mixed ^ (mixed >> 15)) * 2246822519u;
}

static inline uint32_t part(uint32_t mixed, uint32_t rank, uint32_t shift)
{
    return (mixed * (2u * rank + 1u)) >> shift;
}

double lab_value(enum lab_values values, enum lab_type type, uint32_t rank, uint64_t index)
{
    struct maker maker = maker_of(values, type);
    return maker.scale * part(mix((uint32_t)index), rank, maker.shift) + maker.offset;
}

static double load(const void *memory, size_t at, enum lab_type type)
{
    return type == LAB_FLOAT32 ? (double)((const float *)memory)[at]
                               : (double)widen(((const uint16_t *)memory)[at]);
}

static void store(void *memory, size_t at, double value, enum lab_type type)
{
    if (type == LAB_FLOAT32) {
        ((float *)memory)[at] = (float)value;
    } else {
        ((uint16_t *)memory)[at] = narrow((float)value);
    }
}

// Chunks that a rank gives: the first, their number, and the slot of the first.
struct run {
    uint32_t chunk;
    uint32_t count;
    uint32_t slot;
};

static struct run inputs_of(const struct weft_schedule *schedule, uint32_t rank)
{
    uint32_t per_rank = schedule->chunk_count / schedule->rank_count;
    if (schedule->kind == WEFT_COLLECTIVE_ALLGATHER) {
        uint32_t first = rank * per_rank;
        return (struct run){first, per_rank, schedule->packed ? 0 : first};
    }
    bool gives = schedule->kind != WEFT_COLLECTIVE_BROADCAST || rank == schedule->root;
    return (struct run){0, gives ? schedule->chunk_count : 0, 0};
}

void lab_fill(void *memory, const struct lab_data *data)
{
    // Noise that no sum is.
    size_t all = data->schedule->slot_count * data->slot_elements;
    for (size_t i = 0; i < all; i++) {
        store(memory, i, -1e9, data->type);
    }
    struct run run = inputs_of(data->schedule, data->rank);
    uint64_t index = (uint64_t)run.chunk * data->slot_elements;
    size_t at = run.slot * data->slot_elements;
    for (size_t i = 0; i < run.count * data->slot_elements; i++) {
        store(memory, at + i, lab_value(data->values, data->type, data->rank, index + i),
              data->type);
    }
}

// ---- outputs ----

// Output slot `place` (from output_first on): which chunk it holds and whose, WEFT_NONE for the
// sum of all. False: nothing is asked of it.
static bool asked(const struct weft_schedule *schedule, uint32_t rank, uint32_t place,
                  uint32_t *chunk, uint32_t *owner)
{
    uint32_t per_rank = schedule->chunk_count / schedule->rank_count;
    *chunk = place;
    *owner = WEFT_NONE;
    switch (schedule->kind) {
    case WEFT_COLLECTIVE_ALLREDUCE:
        return true;
    case WEFT_COLLECTIVE_REDUCE:
        return rank == schedule->root;
    case WEFT_COLLECTIVE_BROADCAST:
        *owner = schedule->root;
        return true;
    case WEFT_COLLECTIVE_ALLGATHER:
        *owner = place / per_rank;
        return true;
    case WEFT_COLLECTIVE_REDUCE_SCATTER:
        if (schedule->packed) {
            *chunk = rank * per_rank + place;
            return place < per_rank;
        }
        return place / per_rank == rank;
    case WEFT_COLLECTIVE_ALLTOALL:
        *owner = place / per_rank;
        *chunk = rank * per_rank + place % per_rank;
        return true;
    case WEFT_COLLECTIVE_KIND_COUNT:
    default:
        return false;
    }
}

// What a run of elements must be: sums, and the sums of the addends' absolute values.
enum { BLOCK = 512 };
struct expectation {
    double sum[BLOCK];
    double size[BLOCK];
};

static void expect(struct expectation *expectation, size_t count, struct maker maker,
                   uint32_t first_rank, uint32_t end_rank, uint64_t index)
{
    uint32_t mixed[BLOCK];
    for (size_t i = 0; i < count; i++) {
        mixed[i] = mix((uint32_t)(index + i));
        expectation->sum[i] = 0;
        expectation->size[i] = 0;
    }
    for (uint32_t r = first_rank; r < end_rank; r++) {
        for (size_t i = 0; i < count; i++) {
            double value = maker.scale * (int32_t)part(mixed[i], r, maker.shift) + maker.offset;
            expectation->sum[i] += value;
            expectation->size[i] += fabs(value);
        }
    }
}

// One output slot under check.
struct checking {
    const struct lab_data *data;
    const void *memory;
    size_t first; // element of the memory where the slot begins
    uint32_t chunk;
    bool exact;
    double roundings; // that a sum in the data's type may make, relative to its addends
    double worst_ratio;
};

// Elements `at` and on of the slot, as many as `count`.
static bool check_block(struct checking *checking, const struct expectation *expectation, size_t at,
                        size_t count, struct weft_error *error)
{
    for (size_t i = 0; i < count; i++) {
        double found = load(checking->memory, checking->first + at + i, checking->data->type);
        double off = fabs(found - expectation->sum[i]);
        double bound = checking->roundings * expectation->size[i];
        // Also false where a NaN was found.
        bool fine = off <= (checking->exact ? 0 : 1.01 * bound);
        if (!fine) {
            return weft_fail(
                error, WEFT_INFEASIBLE, "rank %u: chunk %u: element %zu is %.9g, but must be %.9g",
                checking->data->rank, checking->chunk, at + i, found, expectation->sum[i]);
        }
        checking->worst_ratio = fmax(checking->worst_ratio, bound > 0 ? off / bound : 0);
    }
    return true;
}

bool lab_check(double *worst_ratio, const void *memory, const struct lab_data *data, uint32_t place,
               struct weft_error *error)
{
    const struct weft_schedule *schedule = data->schedule;
    uint32_t chunk;
    uint32_t owner;
    if (!asked(schedule, data->rank, place, &chunk, &owner)) {
        return true;
    }
    uint32_t addends = owner == WEFT_NONE ? schedule->rank_count : 1;
    struct checking checking = {
        .data = data,
        .memory = memory,
        .first = (schedule->output_first + (size_t)place) * data->slot_elements,
        .chunk = chunk,
        .exact = data->values == LAB_WHOLE || addends == 1,
        .roundings = (double)(addends - 1) * (data->type == LAB_FLOAT32 ? 0x1p-24 : 0x1p-8),
        .worst_ratio = *worst_ratio,
    };
    uint32_t first_rank = owner == WEFT_NONE ? 0 : owner;
    struct maker maker = maker_of(data->values, data->type);
    struct expectation expectation;
    for (size_t i = 0; i < data->slot_elements; i += BLOCK) {
        size_t count = data->slot_elements - i < BLOCK ? data->slot_elements - i : BLOCK;
        expect(&expectation, count, maker, first_rank, first_rank + addends,
               (uint64_t)chunk * data->slot_elements + i);
        if (!check_block(&checking, &expectation, i, count, error)) {
            return false;
        }
    }
    *worst_ratio = checking.worst_ratio;
    return true;
}
