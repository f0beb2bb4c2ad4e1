// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_COLLECTIVE_ALGORITHMS_WRITER_H
#define WEFT_COLLECTIVE_ALGORITHMS_WRITER_H

// The writer of schedules: every algorithm adds its steps to one and is published from it. Below
// stand the families of algorithms themselves, one function each, and what several of them ask of
// numbers and shapes.
//
// Notation of the heads of this chamber, as in docs/collectives.md: n ranks, S bytes, k the chunk
// factor, L = ceil(log2 n); a message costs alpha seconds and beta a byte, adding costs gamma a
// byte.

#include "weft/collective.h"
#include "weft/collective/recursive.h"

struct weft_step_writer {
    struct weft_algorithm_options options; // complete: chunk_factor > 0, shape multiplies to n
    uint32_t chunk_count;
    uint32_t slot_count; // 0 = chunk_count
    uint32_t output_first;
    uint32_t port_count;
    uint32_t channel; // of the steps added from now on
    uint32_t label_count;
    const uint32_t *const *labels; // in the schedule's arena
    uint64_t step_count;
    struct weft_step_block *first;
    struct weft_step_block *last;
    struct weft_arena *arena;   // of the schedule: for labels
    struct weft_arena *scratch; // of the steps
};

// Adds a step whose ranks and slots the caller fills in; it stays where it is. No label.
struct weft_step *weft_writer_add(struct weft_step_writer *writer, enum weft_step_op op,
                                  uint32_t first_round, uint32_t round_count, uint32_t item_count,
                                  uint32_t slot_count);
// The same slots at both ends.
void weft_step_slots(struct weft_step *step, struct weft_index slots);

// Ranks first, first + stride, ... that pass blocks on along a ring. Block v, `width` slots from
// slot + v * slot_stride on, is that of the v-th of them.
struct weft_line {
    uint32_t first;
    uint32_t stride;
    uint32_t size; // > 1
    uint32_t slot;
    uint32_t slot_stride;
    uint32_t width;
    bool backward; // to the rank before
};
// Adds one pass of size-1 rounds in which every rank of the line hands a block to the next. In a
// reduce-scatter (REDUCE) it begins with the block of the rank behind it and ends with its own in
// full; in an all-gather (COPY) it begins with its own.
void weft_line_pass(struct weft_step_writer *writer, const struct weft_line *line,
                    enum weft_step_op op, uint32_t first_round);
// Sets the chunks of the schedule. Fails with INPUT where there are more than 2^29, so that no
// index into slots overflows.
bool weft_writer_chunks(struct weft_step_writer *writer, uint64_t chunk_count,
                        struct weft_error *error) WEFT_MUST_USE;
// Fails with INPUT where an algorithm is about to write more than 2^22 steps.
bool weft_writer_expect(const struct weft_step_writer *writer, uint64_t step_count,
                        struct weft_error *error) WEFT_MUST_USE;
// Publishes what was written as the schedule of the algorithm `name`: steps in order of their first
// round, stable.
void weft_writer_finish(struct weft_schedule *schedule, const struct weft_step_writer *writer,
                        const char *name, struct weft_arena *arena, struct weft_arena scratch);

// The families. Each writes any kind that weft_algorithm_supports allows it.
bool weft_write_ring(struct weft_step_writer *writer, struct weft_error *error) WEFT_MUST_USE;
bool weft_write_bidirectional(struct weft_step_writer *writer, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_write_multi_ring(struct weft_step_writer *writer, struct weft_error *error) WEFT_MUST_USE;
bool weft_write_binomial(struct weft_step_writer *writer, struct weft_error *error) WEFT_MUST_USE;
bool weft_write_binary(struct weft_step_writer *writer, struct weft_error *error) WEFT_MUST_USE;
bool weft_write_double_tree(struct weft_step_writer *writer, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_write_halving_doubling(struct weft_step_writer *writer, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_write_recursive_doubling(struct weft_step_writer *writer, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_write_bruck(struct weft_step_writer *writer, struct weft_error *error) WEFT_MUST_USE;
bool weft_write_hierarchical(struct weft_step_writer *writer, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_write_torus(struct weft_step_writer *writer, struct weft_error *error) WEFT_MUST_USE;
bool weft_write_direct(struct weft_step_writer *writer, struct weft_error *error) WEFT_MUST_USE;
bool weft_write_staged(struct weft_step_writer *writer, struct weft_error *error) WEFT_MUST_USE;
bool weft_write_recursive_exchange(struct weft_step_writer *writer, struct weft_error *error)
    WEFT_MUST_USE;

// Reduce-scatter or all-gather along the circulant graph (bruck.c): every rank r works in slots
// r*K to (r+n)*K, K slots a rank's block, block b in slot b*K or (b+n)*K. Takes `weft_log2_ceil(n)`
// rounds. The rounds before and after that fill and empty the slots from n*K on move inside ranks.
void weft_circulant_spread(struct weft_step_writer *writer, uint32_t round);
void weft_circulant_fold(struct weft_step_writer *writer, uint32_t round);
void weft_circulant_reduce_scatter(struct weft_step_writer *writer, uint32_t first_round);
void weft_circulant_allgather(struct weft_step_writer *writer, uint32_t first_round);

// Rounds of a broadcast down a binary tree, chunk behind chunk; down two, `factor` chunks each.
uint32_t weft_binary_rounds(uint32_t n, uint32_t chunk_count);
uint32_t weft_double_tree_rounds(uint32_t n, uint32_t factor);

uint32_t weft_log2_ceil(uint32_t n); // n > 0
uint32_t weft_log2_floor(uint32_t n);
// Where an algorithm's shape is not given, one that multiplies to the ranks; then whether what is
// given does. HIERARCHICAL, STAGED: shape[0] ranks a server, shape[1] servers. TORUS: three sides.
bool weft_algorithm_shape(struct weft_algorithm_options *options, enum weft_algorithm algorithm,
                          struct weft_error *error) WEFT_MUST_USE;
// Checks kind, ranks, root and shape, and fills in what is 0 and has a default.
bool weft_algorithm_complete(struct weft_algorithm_options *options, enum weft_algorithm algorithm,
                             struct weft_error *error) WEFT_MUST_USE;
// What a reduce-scatter (with gamma) or an all-gather (without) on a torus takes; options complete.
double weft_torus_seconds(const struct weft_algorithm_options *options, double size_bytes,
                          const struct weft_cost_model *model, double gamma_s_per_byte);
// The radices of a recursive exchange, by its options; fails with INPUT and the remedy where there
// are none. Returns how many; 0: it failed.
uint32_t weft_algorithm_radices(uint32_t radices[WEFT_RADICES_MAX],
                                const struct weft_algorithm_options *options,
                                struct weft_error *error) WEFT_MUST_USE;
// How many of the numbers 1 to n-1 share no divisor with n, and the index-th of them.
uint32_t weft_jump_count(uint32_t n);
uint32_t weft_jump_at(uint32_t n, uint32_t index);

#endif
