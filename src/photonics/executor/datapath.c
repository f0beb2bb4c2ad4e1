// SPDX-License-Identifier: Apache-2.0
// The datapath around the count-action modules: FIFO, tree, accumulator, buffers, normalizer.

#include "photonics/executor/datapath.h"
#include "photonics/core/preamble.h"
#include "weft/photonics/layer.h"

#include <string.h>

const char *const wire_names[WIRE_COUNT] = {
    "start",        "last",          "softmax", "hidden", "softmax_end", "activation_valid",
    "weight_valid", "light",         "pattern", "above",  "received",    "word",
    "sum",          "written",       "pop",     "bubble", "preamble",    "locked",
    "rotated",      "mismatch",      "first",   "emit",   "relu",        "layer_done",
    "output_end",   "patch_end",     "left",    "right",  "busy",        "next_layer",
    "finish",       "softmax_begin",
};

_Static_assert(WEFT_PHOTONIC_STAGE_REALIGN >= 1 && WEFT_PHOTONIC_STAGE_ACCUMULATE >= 1 &&
                   WEFT_PHOTONIC_STAGE_WRITE + WEFT_PHOTONIC_STAGE_CHANGE >= 2,
               "these stages are registers here");

// ---- delays ----

static struct delay delay_build(uint32_t stages, struct weft_arena *arena)
{
    return (struct delay){.stages = stages,
                          .valid = WEFT_NEW(arena, bool, stages),
                          .values = WEFT_NEW(arena, int32_t, stages)};
}

static bool delay_valid(const struct delay *delay)
{
    return delay->valid[delay->at];
}

static int32_t delay_value(const struct delay *delay)
{
    return delay->values[delay->at];
}

static void delay_clock(struct delay *delay, bool valid, int32_t value)
{
    delay->valid[delay->at] = valid;
    delay->values[delay->at] = value;
    delay->at = (delay->at + 1) % delay->stages;
}

// ---- building ----

static uint32_t tree_levels(uint32_t lanes)
{
    return 32 - (uint32_t)__builtin_clz(lanes - 1);
}

static void build_memories(struct datapath *datapath, const uint8_t *input,
                           struct weft_arena *arena)
{
    size_t values = 0, words = 0;
    for (uint32_t i = 0; i < datapath->program->row_count; i++) {
        const struct weft_photonic_row *row = &datapath->program->rows[i];
        values = row->inputs > values ? row->inputs : values;
        values = row->results > values ? row->results : values;
        words = row->words > words ? row->words : words;
    }
    for (uint32_t i = 0; i < 2; i++) {
        datapath->memory[i] = WEFT_NEW(arena, int32_t, values);
        datapath->assembler.patches[i] = WEFT_NEW(arena, uint8_t, words * datapath->lanes);
    }
    for (uint32_t i = 0; i < datapath->program->rows[0].inputs; i++) {
        datapath->memory[0][i] = input[i];
    }
}

void datapath_build(struct datapath *datapath, const struct weft_photonic_program *program,
                    const uint8_t *input, const struct weft_photonic_execute_options *options,
                    struct weft_arena *arena)
{
    const struct weft_photonic_path *path = &options->path;
    uint32_t fixed = (path->latency == 0 ? 128 : path->latency) +
                     16 * (WEFT_PHOTONIC_STAGE_CONVERTER + WEFT_PHOTONIC_STAGE_DETECTOR);
    *datapath = (struct datapath){
        .program = program,
        .row = &program->rows[0],
        .lanes = program->lanes,
        .delays = {fixed + path->skew_activation + path->delay_activation,
                   fixed + path->skew_weight + path->delay_weight},
        .fifo_size = options->fifo == 0 ? WEFT_PHOTONIC_FIFO_ENTRIES : options->fifo,
        .softmax_end = UINT64_MAX,
    };
    build_memories(datapath, input, arena);
    uint32_t longest =
        datapath->delays[0] > datapath->delays[1] ? datapath->delays[0] : datapath->delays[1];
    datapath->ring = longest / 16 + 2;
    for (uint32_t i = 0; i < 2; i++) {
        datapath->sent[i] = WEFT_NEW(arena, uint8_t, (size_t)datapath->ring * program->lanes);
    }
    datapath->word = WEFT_NEW(arena, uint8_t, program->lanes);
    datapath->before = WEFT_NEW(arena, uint8_t, program->lanes);
    datapath->realigned =
        WEFT_NEW(arena, uint8_t, (size_t)(WEFT_PHOTONIC_STAGE_REALIGN + 1) * program->lanes);
    datapath->fifo = WEFT_NEW(arena, struct entry, datapath->fifo_size);
    datapath->tree = delay_build(WEFT_PHOTONIC_STAGE_SIGN + tree_levels(program->lanes), arena);
    datapath->sums = delay_build(WEFT_PHOTONIC_STAGE_ACCUMULATE, arena);
    datapath->writes =
        delay_build(WEFT_PHOTONIC_STAGE_WRITE + WEFT_PHOTONIC_STAGE_CHANGE - 1, arena);
    weft_rng_init(&datapath->stalls, options->stall_seed);
    datapath->stalled = options->stall_seed != 0;
}

// ---- what the registers offer ----

// above[i]: the largest value has a bit above bit i.
static uint64_t above(int32_t largest)
{
    uint64_t lines = 0;
    for (uint32_t i = 0; largest > 0 && i < 30; i++) {
        lines |= (uint64_t)(largest >> (i + 1) != 0) << i;
    }
    return lines;
}

// The register behind the realignment: what was put into it REALIGN cycles ago.
static uint32_t realigned_at(const struct datapath *datapath)
{
    return (uint32_t)((datapath->cycle + 1) % (WEFT_PHOTONIC_STAGE_REALIGN + 1));
}

// Whether a realigned word takes its entry from the FIFO.
static bool receives(const struct datapath *datapath)
{
    return datapath->realigned_valid[realigned_at(datapath)] && datapath->fifo_count > 0;
}

void datapath_offer(struct datapath *datapath, uint64_t wires[WIRE_COUNT])
{
    const struct weft_photonic_row *row = datapath->row;
    bool held[2] = {false, false};
    for (uint32_t i = 0; i < 2 && datapath->stalled; i++) {
        held[i] = weft_rng_below(&datapath->stalls, 5) == 0;
    }
    light_detect(datapath);
    uint32_t rotation;
    wires[WIRE_LIGHT] = preamble_detect(&rotation, datapath->word);
    wires[WIRE_PATTERN] = rotation == PREAMBLE_NONE ? 0 : UINT64_C(1) << rotation;
    wires[WIRE_START] = datapath->cycle == 0;
    wires[WIRE_LAST] = (row->flags & WEFT_PHOTONIC_FLAG_LAST) != 0;
    wires[WIRE_SOFTMAX] = (row->flags & WEFT_PHOTONIC_FLAG_SOFTMAX) != 0;
    wires[WIRE_HIDDEN] = (row->flags & WEFT_PHOTONIC_FLAG_RELU) != 0;
    wires[WIRE_SOFTMAX_END] = datapath->cycle == datapath->softmax_end;
    wires[WIRE_ACTIVATION_VALID] =
        !held[0] && assembler_offers(&datapath->assembler, row, datapath->lanes);
    wires[WIRE_WEIGHT_VALID] = !held[1];
    wires[WIRE_ABOVE] = above(datapath->largest);
    wires[WIRE_RECEIVED] = receives(datapath);
    wires[WIRE_WORD] = delay_valid(&datapath->tree);
    wires[WIRE_SUM] = delay_valid(&datapath->sums);
    wires[WIRE_WRITTEN] = delay_valid(&datapath->writes);
}

// ---- the clock ----

// A realigned word meets the signs of its weights; its sum enters the tree. Bubbles are dropped.
static void clock_tree(struct datapath *datapath, bool received)
{
    int32_t sum = 0;
    bool valid = false;
    if (received) {
        struct entry entry = datapath->fifo[datapath->fifo_first];
        datapath->fifo_first = (datapath->fifo_first + 1) % datapath->fifo_size;
        datapath->fifo_count--;
        valid = entry.valid;
        const uint8_t *word =
            datapath->realigned + (size_t)realigned_at(datapath) * datapath->lanes;
        for (uint32_t i = 0; valid && i < datapath->lanes; i++) {
            bool negative =
                entry.word < datapath->program->word_count &&
                datapath->program->weights[(size_t)entry.word * datapath->lanes + i] < 0;
            sum += negative ? -word[i] : word[i];
        }
    }
    delay_clock(&datapath->tree, valid, sum);
}

static void clock_fifo(struct datapath *datapath, const uint64_t wires[WIRE_COUNT])
{
    if (!wires[WIRE_POP] && !wires[WIRE_BUBBLE]) {
        return;
    }
    if (datapath->fifo_count == datapath->fifo_size) {
        datapath->lost++;
        return;
    }
    uint32_t place = (datapath->fifo_first + datapath->fifo_count) % datapath->fifo_size;
    datapath->fifo[place] =
        (struct entry){wires[WIRE_POP] != 0, (uint32_t)datapath->assembler.weight};
    datapath->fifo_count++;
}

// A count-action program may count beyond the biases that the compiler laid out.
static int32_t first_of(const struct datapath *datapath, uint32_t output)
{
    uint64_t place = (uint64_t)datapath->row->bias_first + output;
    return place < datapath->program->bias_count
               ? weft_photonic_bias(datapath->program, datapath->row, output, datapath->exponent)
               : 0;
}

static void clock_accumulator(struct datapath *datapath, const uint64_t wires[WIRE_COUNT],
                              uint32_t output)
{
    if (wires[WIRE_WORD]) {
        int32_t base = wires[WIRE_FIRST] ? first_of(datapath, output) : datapath->accumulator;
        datapath->accumulator = (int32_t)((uint32_t)base + (uint32_t)delay_value(&datapath->tree));
    }
    int32_t sum = delay_value(&datapath->sums);
    sum = wires[WIRE_RELU] && sum < 0 ? 0 : sum;
    delay_clock(&datapath->writes, wires[WIRE_SUM] != 0, sum);
    delay_clock(&datapath->sums, wires[WIRE_EMIT] != 0, datapath->accumulator);
}

// A sum joins the window of its pool; rows and columns beyond the last window are dropped.
static void clock_buffer(struct datapath *datapath, const uint64_t wires[WIRE_COUNT])
{
    const struct weft_photonic_row *row = datapath->row;
    if (!wires[WIRE_WRITTEN]) {
        return;
    }
    int32_t value = delay_value(&datapath->writes);
    uint32_t pixel = datapath->sum_number / row->outputs;
    uint32_t channel = datapath->sum_number % row->outputs;
    uint32_t y = pixel / row->out_width, x = pixel % row->out_width;
    datapath->sum_number++;
    if (pixel >= row->pixels || y / row->pool >= row->pooled_height ||
        x / row->pool >= row->pooled_width) {
        return;
    }
    int32_t *kept =
        &datapath
             ->memory[!datapath->side]
                     [((size_t)(y / row->pool) * row->pooled_width + x / row->pool) * row->outputs +
                      channel];
    bool first = y % row->pool == 0 && x % row->pool == 0;
    *kept = first || value > *kept ? value : *kept;
    datapath->largest = *kept > datapath->largest ? *kept : datapath->largest;
}

void datapath_clock(struct datapath *datapath, const uint64_t wires[WIRE_COUNT], uint32_t output)
{
    light_send(datapath, wires);
    light_realign(datapath, wires);
    // From the end to the begin, so that each stage reads what the one before it held.
    clock_buffer(datapath, wires);
    clock_accumulator(datapath, wires, output);
    clock_tree(datapath, wires[WIRE_RECEIVED] != 0);
    clock_fifo(datapath, wires);
    assembler_clock(datapath, wires);
    if (wires[WIRE_SOFTMAX_BEGIN]) {
        datapath->softmax_end =
            datapath->cycle + weft_photonic_softmax_cycles(datapath->row->results);
    }
    datapath->cycle++;
}

void datapath_change(struct datapath *datapath, bool by_layer_done)
{
    if (by_layer_done) {
        datapath->row_number += datapath->row_number + 1 < datapath->program->row_count;
        datapath->side ^= 1;
    }
    datapath->row = &datapath->program->rows[datapath->row_number];
    datapath->sum_number = 0;
    assembler_begin(&datapath->assembler, datapath->row);
}
