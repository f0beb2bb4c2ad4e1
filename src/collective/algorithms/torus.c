// SPDX-License-Identifier: Apache-2.0
// A torus of two or three dimensions: a ring phase a dimension, each on what the phase before left
// (Jain and Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus
// interconnects", ICS 2010).
//
// The data is divided into two parts for each dimension, one each way around; the parts take the
// dimensions in rotated orders, so that in each phase every dimension carries its two parts, and
// all links of the torus are busy. Phases begin together: on unequal sides the shorter ones wait.
// With D dimensions and longest side m a reduce-scatter or an all-gather takes D(m-1) rounds, and
// (n-1)/n S bytes a rank where all sides are equal; weft_torus_seconds sums the rounds one by one
// where they are not.

#include "writer.h"

struct torus {
    uint32_t dimensions; // of sides above 1
    uint32_t side[3];
    uint32_t stride[3]; // in ranks
    uint32_t longest;
    uint32_t parts;
    uint32_t factor; // slots of a part of a block
    uint32_t block;  // slots of a block, all parts together
    bool own_blocks; // rank r owns block r; else (all-reduce) a part's blocks are in its own order
};

static struct torus torus_of(const struct weft_algorithm_options *options)
{
    struct torus torus = {.factor = options->chunk_factor,
                          .own_blocks = options->kind != WEFT_COLLECTIVE_ALLREDUCE};
    uint32_t stride = 1;
    for (uint32_t d = 0; d < 3; d++) {
        uint32_t side = options->shape[d];
        if (side > 1) {
            torus.side[torus.dimensions] = side;
            torus.stride[torus.dimensions++] = stride;
            torus.longest = side > torus.longest ? side : torus.longest;
        }
        stride *= side;
    }
    torus.parts = 2 * torus.dimensions;
    torus.block = torus.parts * torus.factor;
    return torus;
}

// The dimension of a part in its phase-th phase, and its side; side 1 where there is none.
static uint32_t dimension_of(const struct torus *torus, uint32_t part, uint32_t phase)
{
    return (part / 2 + phase) % torus->dimensions;
}

static uint32_t side_of(const struct torus *torus, uint32_t part, uint32_t phase)
{
    return phase < torus->dimensions ? torus->side[dimension_of(torus, part, phase)] : 1;
}

// A phase of a part: the coordinates of a line of ranks in the order of the part's dimensions, the
// one along the line being 0.
struct phase {
    uint32_t part;
    uint32_t index;
    enum weft_step_op op;
    uint32_t round;
    uint32_t place[3];
};

static uint32_t rank_at(const struct torus *torus, uint32_t part, const uint32_t *place)
{
    uint32_t rank = 0;
    for (uint32_t p = 0; p < torus->dimensions; p++) {
        rank += place[p] * torus->stride[dimension_of(torus, part, p)];
    }
    return rank;
}

// Adds one line of ranks of a phase where a part has an order of blocks of its own (all-reduce):
// what the line reduces are the blocks whose coordinates in the earlier phases are the line's, one
// run of slots for each rank of the line.
static void add_run(struct weft_step_writer *writer, const struct torus *torus,
                    const struct phase *phase)
{
    uint32_t part = phase->part;
    uint32_t dimension = dimension_of(torus, part, phase->index);
    uint32_t n = writer->options.rank_count;
    uint32_t width = torus->factor * n;
    uint32_t slot = part * width;
    for (uint32_t p = 0; p <= phase->index; p++) {
        width /= side_of(torus, part, p);
        slot += p < phase->index ? phase->place[p] * width : 0;
    }
    struct weft_line line = {
        .first = rank_at(torus, part, phase->place),
        .stride = torus->stride[dimension],
        .size = torus->side[dimension],
        .slot = slot,
        .slot_stride = width,
        .width = width,
        .backward = part % 2 == 1,
    };
    weft_line_pass(writer, &line, phase->op, phase->round);
}

// A family along the line for each place in the later dimensions, or, where the line is short, one
// along the longest later dimension for each rank, round and place in the other.
static bool by_rank(const struct torus *torus, uint32_t part, uint32_t phase)
{
    uint32_t side = side_of(torus, part, phase);
    uint32_t next_side = side_of(torus, part, phase + 1);
    uint32_t last_side = side_of(torus, part, phase + 2);
    return (next_side > last_side ? next_side : last_side) > (uint64_t)side * (side - 1);
}

// Adds what the v-th rank of the line hands on in the t-th round of a phase, as families along the
// longest of the later dimensions, one for each place in the other.
static void add_row(struct weft_step_writer *writer, const struct torus *torus,
                    const struct phase *phase, uint32_t v, uint32_t t)
{
    uint32_t part = phase->part;
    uint32_t side = side_of(torus, part, phase->index);
    uint32_t stride = torus->stride[dimension_of(torus, part, phase->index)];
    uint32_t first = rank_at(torus, part, phase->place);
    uint32_t next_side = side_of(torus, part, phase->index + 1);
    uint32_t last_side = side_of(torus, part, phase->index + 2);
    uint32_t along = phase->index + (next_side >= last_side ? 1 : 2);
    uint32_t other = phase->index + (next_side >= last_side ? 2 : 1);
    uint32_t behind = t + (phase->op == WEFT_STEP_REDUCE ? 1 : 0);
    bool backward = part % 2 == 1;
    uint32_t place[3] = {phase->place[0], phase->place[1], phase->place[2]};
    place[phase->index] = (backward ? v + behind : v + side - behind) % side;
    place[along] = 0;
    uint32_t item_stride = torus->stride[dimension_of(torus, part, along)] * torus->block;
    uint32_t item_count = side_of(torus, part, along);
    for (uint32_t o = 0; o < side_of(torus, part, other); o++) {
        if (other < torus->dimensions) {
            place[other] = o;
        }
        struct weft_step *step =
            weft_writer_add(writer, phase->op, phase->round + t, 1, item_count, torus->factor);
        step->from = weft_index_fixed(first + v * stride);
        step->to = weft_index_fixed(first + (v + (backward ? side - 1 : 1)) % side * stride);
        struct weft_index slots = weft_index_walk(0, item_stride, 0, item_stride * item_count);
        slots.base = rank_at(torus, part, place) * torus->block + part * torus->factor;
        weft_step_slots(step, slots);
    }
}

static void add_rows(struct weft_step_writer *writer, const struct torus *torus,
                     const struct phase *phase)
{
    uint32_t side = side_of(torus, phase->part, phase->index);
    for (uint32_t v = 0; v < side; v++) {
        for (uint32_t t = 0; t + 1 < side; t++) {
            add_row(writer, torus, phase, v, t);
        }
    }
}

// Adds one line of ranks where rank r owns block r (reduce-scatter, all-gather): the line's blocks
// do not lie together, and there is a piece for each place in the dimensions of later phases.
static void add_pieces(struct weft_step_writer *writer, const struct torus *torus,
                       const struct phase *phase)
{
    uint32_t part = phase->part;
    uint32_t dimension = dimension_of(torus, part, phase->index);
    uint32_t next_side = side_of(torus, part, phase->index + 1);
    uint32_t last_side = side_of(torus, part, phase->index + 2);
    uint32_t first = rank_at(torus, part, phase->place);
    for (uint32_t piece = 0; piece < next_side * last_side; piece++) {
        uint32_t place[3] = {0};
        for (uint32_t p = 0; p < torus->dimensions; p++) {
            uint32_t later = p == phase->index + 1 ? piece % next_side : piece / next_side;
            place[p] = p <= phase->index ? phase->place[p] : later;
        }
        struct weft_line line = {
            .first = first,
            .stride = torus->stride[dimension],
            .size = torus->side[dimension],
            .slot = rank_at(torus, part, place) * torus->block + part * torus->factor,
            .slot_stride = torus->stride[dimension] * torus->block,
            .width = torus->factor,
            .backward = part % 2 == 1,
        };
        weft_line_pass(writer, &line, phase->op, phase->round);
    }
}

// Adds all lines of all parts in the index-th phase of their orders: a part's lines are the places
// in all dimensions but the phase's own.
static void add_phase(struct weft_step_writer *writer, const struct torus *torus, uint32_t index,
                      enum weft_step_op op, uint32_t round)
{
    for (uint32_t part = 0; part < torus->parts; part++) {
        uint32_t line_count = writer->options.rank_count / side_of(torus, part, index);
        writer->channel = part;
        for (uint32_t i = 0; i < line_count; i++) {
            struct phase phase = {.part = part, .index = index, .op = op, .round = round};
            uint32_t rest = i;
            for (uint32_t p = 0; p < torus->dimensions; p++) {
                uint32_t side = p == index ? 1 : side_of(torus, part, p);
                phase.place[p] = rest % side;
                rest /= side;
            }
            if (torus->own_blocks && by_rank(torus, part, index)) {
                add_rows(writer, torus, &phase);
            } else if (torus->own_blocks) {
                add_pieces(writer, torus, &phase);
            } else {
                add_run(writer, torus, &phase);
            }
        }
    }
}

// Counts the steps that weft_write_torus will add, so that too many are refused before any memory
// is taken.
static uint64_t count_steps(const struct torus *torus, uint32_t n)
{
    uint64_t count = 0;
    for (uint32_t part = 0; part < torus->parts; part++) {
        for (uint32_t p = 0; p < torus->dimensions; p++) {
            uint64_t side = side_of(torus, part, p);
            uint64_t next_side = side_of(torus, part, p + 1);
            uint64_t last_side = side_of(torus, part, p + 2);
            uint64_t shorter = next_side < last_side ? next_side : last_side;
            uint64_t pieces =
                by_rank(torus, part, p) ? side * (side - 1) * shorter : next_side * last_side;
            count += n / side * (torus->own_blocks ? pieces : 2);
        }
    }
    return count;
}

bool weft_write_torus(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    enum weft_collective_kind kind = writer->options.kind;
    struct torus torus = torus_of(&writer->options);
    if (!weft_writer_chunks(writer, (uint64_t)n * torus.parts * torus.factor, error) ||
        !weft_writer_expect(writer, count_steps(&torus, n), error)) {
        return false;
    }
    bool pieces = torus.own_blocks && torus.dimensions > 1;
    writer->port_count = pieces ? 0 : torus.parts;
    uint32_t round = 0;
    for (uint32_t p = 0; p < torus.dimensions && kind != WEFT_COLLECTIVE_ALLGATHER; p++) {
        add_phase(writer, &torus, p, WEFT_STEP_REDUCE, round);
        round += torus.longest - 1;
    }
    for (uint32_t p = 0; p < torus.dimensions && kind != WEFT_COLLECTIVE_REDUCE_SCATTER; p++) {
        add_phase(writer, &torus, torus.dimensions - 1 - p, WEFT_STEP_COPY, round);
        round += torus.longest - 1;
    }
    return true;
}

// Sums the rounds: in round t of phase p the parts whose side is longer than t + 1 send their run,
// what is left of a part after dividing it by the sides up to p.
double weft_torus_seconds(const struct weft_algorithm_options *options, double size_bytes,
                          const struct weft_cost_model *model, double gamma_s_per_byte)
{
    struct torus torus = torus_of(options);
    double seconds = 0;
    for (uint32_t p = 0; p < torus.dimensions; p++) {
        for (uint32_t t = 0; t + 1 < torus.longest; t++) {
            double bytes = 0;
            for (uint32_t part = 0; part < torus.parts; part++) {
                double run = size_bytes / torus.parts;
                for (uint32_t e = 0; e <= p; e++) {
                    run /= side_of(&torus, part, e);
                }
                bytes += t + 1 < side_of(&torus, part, p) ? run : 0;
            }
            seconds += model->alpha_s + bytes * (model->beta_s_per_byte + gamma_s_per_byte);
        }
    }
    return seconds;
}
