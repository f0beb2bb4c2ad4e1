// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_EXECUTE_H
#define WEFT_PHOTONICS_EXECUTE_H

// The executor: a program run cycle by cycle by its count-action modules.
//
//   program + modules + input ──► [executor] ──► registers; a trace of signals
//
// Where the twin knows the result of a layer, the executor only knows the next cycle: words leave
// when the modules say so, light brings them back some samples later, and sums are complete when a
// count is at its target. Both and the Verilog leave the same registers.

#include "weft/photonics/countaction.h"
#include "weft/photonics/program.h"

WEFT_API_BEGIN

struct weft_photonic_execute_options {
    const struct weft_photonic_countaction *modules; // NULL: Lightning's ten
    struct weft_photonic_path path; // as it is; delays and skews may well not cancel
    uint32_t fifo;                  // entries; 0 = WEFT_PHOTONIC_FIFO_ENTRIES
    uint64_t stall_seed;            // memories make the streamer wait by chance; 0: never
    bool trace;
};

// Cycles of a run, from that behind `start` on, in which a line of a signal was true.
struct weft_photonic_span {
    uint32_t signal; // of the trace
    uint64_t begin, end;
};
struct weft_photonic_trace {
    uint64_t cycles;
    uint32_t signal_count;
    const char *const *signals;
    const char *const *modules; // that drive them; NULL: the datapath does
    uint32_t span_count;        // by their ends
    const struct weft_photonic_span *spans;
    uint32_t layer_count;
    const uint64_t *layers; // first cycle of each
};

// What the hardware's register file holds behind a run.
struct weft_photonic_registers {
    bool done, error; // no preamble was seen, or a count ran over
    uint32_t class_index;
    uint64_t cycles;
    uint32_t sum_count;
    const int32_t *sums;
    const int32_t *log_probabilities; // NULL without softmax
    const uint8_t *highest;           // [row_count]
    uint32_t rotation;                // of the last layer
    uint64_t pattern_errors;
    uint64_t stalls; // bubbles
    uint64_t overruns;
    struct weft_photonic_trace trace;
};

// Runs one input of rows[0].inputs bytes. Fails with INPUT where the modules lack a signal that the
// datapath needs or do not fit together, with INFEASIBLE where nothing happens any more, naming the
// count that waits. About 2 us a cycle, and O(lanes) of it.
bool weft_photonic_execute(struct weft_photonic_registers *registers,
                           const struct weft_photonic_program *program, const uint8_t *input,
                           const struct weft_photonic_execute_options *options,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
