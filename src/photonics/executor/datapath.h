// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_EXECUTOR_DATAPATH_H
#define WEFT_PHOTONICS_EXECUTOR_DATAPATH_H

// What stands between the count-action modules: memories, light, FIFO, adders, buffers. Each part
// offers what its registers hold in this cycle, and takes at the clock's edge what the modules did.

#include "photonics/executor/machine.h"
#include "photonics/net/softmax.h"
#include "photonics/net/stages.h"
#include "weft/photonics/execute.h"

// Nets that the datapath drives and reads.
enum wire {
    WIRE_START,
    WIRE_LAST,
    WIRE_SOFTMAX,
    WIRE_HIDDEN,
    WIRE_SOFTMAX_END,
    WIRE_ACTIVATION_VALID,
    WIRE_WEIGHT_VALID,
    WIRE_LIGHT,
    WIRE_PATTERN,
    WIRE_ABOVE,
    WIRE_RECEIVED,
    WIRE_WORD,
    WIRE_SUM,
    WIRE_WRITTEN, // the last that the datapath drives
    WIRE_POP,
    WIRE_BUBBLE,
    WIRE_PREAMBLE,
    WIRE_LOCKED,
    WIRE_ROTATED,
    WIRE_MISMATCH,
    WIRE_FIRST,
    WIRE_EMIT,
    WIRE_RELU,
    WIRE_LAYER_DONE,
    WIRE_OUTPUT_END,
    WIRE_PATCH_END,
    WIRE_LEFT,
    WIRE_RIGHT,
    WIRE_BUSY,
    WIRE_NEXT_LAYER,
    WIRE_FINISH,
    WIRE_SOFTMAX_BEGIN,
    WIRE_COUNT,
};
extern const char *const wire_names[WIRE_COUNT];

// Assembles patches, two of which it holds (stages.h).
struct assembler {
    uint8_t *patches[2]; // [words * lanes]
    uint64_t written[2]; // bytes
    uint32_t number[2];  // of the patch, WEFT_NONE: none
    uint32_t next, used; // patch that is assembled, and that is sent
    uint32_t run, offset;
    uint32_t word; // of the patch, to be sent next
    uint64_t weight;
};
// A pipeline of registers, as long as its stages.
struct delay {
    uint32_t stages, at;
    bool *valid;
    int32_t *values;
};
struct entry { // of the FIFO
    bool valid;
    uint32_t word; // of the weight memory, whose signs these are
};

struct datapath {
    const struct weft_photonic_program *program;
    const struct weft_photonic_row *row;
    uint32_t row_number;
    uint32_t lanes;
    struct assembler assembler;
    int32_t *memory[2]; // activations; side is read
    uint32_t side;
    uint32_t left, right; // shift of what is read
    int32_t exponent;     // sum of right shifts of earlier layers
    // Samples that were sent: rings of each lane's wavelength, by time.
    uint8_t *sent[2]; // activations, weights: [ring][wavelengths][16]
    uint32_t ring;    // cycles
    uint32_t delays[2];
    uint8_t *word, *before; // [lanes], at the detector now and in the cycle before
    uint8_t *realigned;     // [REALIGN + 1][lanes]
    bool realigned_valid[WEFT_PHOTONIC_STAGE_REALIGN + 1];
    bool locked_before;
    struct entry *fifo;
    uint32_t fifo_size, fifo_first, fifo_count;
    uint64_t lost; // pushed into a full FIFO
    struct delay tree, sums, writes;
    int32_t accumulator;
    uint32_t sum_number; // of the layer, to be written next
    int32_t largest;
    uint64_t cycle; // since the reset
    uint64_t softmax_end;
    struct weft_rng stalls;
    bool stalled;
};

void datapath_build(struct datapath *datapath, const struct weft_photonic_program *program,
                    const uint8_t *input, const struct weft_photonic_execute_options *options,
                    struct weft_arena *arena);
// What the registers offer in this cycle.
void datapath_offer(struct datapath *datapath, uint64_t wires[WIRE_COUNT]);
// The clock's edge. `output` is the output that is summed.
void datapath_clock(struct datapath *datapath, const uint64_t wires[WIRE_COUNT], uint32_t output);
// The next row, if `by_layer_done`, else the first: at the edge of next_layer.
void datapath_change(struct datapath *datapath, bool by_layer_done);

// ---- parts (patch.c, light.c) ----

void assembler_begin(struct assembler *assembler, const struct weft_photonic_row *row);
bool assembler_offers(const struct assembler *assembler, const struct weft_photonic_row *row,
                      uint32_t lanes);
void assembler_clock(struct datapath *datapath, const uint64_t wires[WIRE_COUNT]);
void light_send(struct datapath *datapath, const uint64_t wires[WIRE_COUNT]);
// The word that reaches the detector in this cycle.
void light_detect(struct datapath *datapath);
void light_realign(struct datapath *datapath, const uint64_t wires[WIRE_COUNT]);

#endif
