// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_NET_STAGES_H
#define WEFT_PHOTONICS_NET_STAGES_H

// How many cycles each stage of the datapath delays what passes it: what the closed form adds up,
// the executor of count-action modules plays and the Verilog has as registers.
//
// Cycle 0 of a layer is its layer_start, cycle 1 of a run that of its first layer. In cycles 0 to
// L - 1 the streamer sends the preamble, from cycle L on data. A word that leaves the streamer in
// cycle t is in the accumulator in cycle
//
//   t + CONVERTER + floor(samples / 16) + DETECTOR + REALIGN + (r > 0) + SIGN + log2(lanes) +
//   ACCUMULATE
//
// with r = samples mod 16, and where it ends the layer's last sum, the next layer_start is
// WRITE + CHANGE cycles after that. Behind the last layer `done` rises in the cycle that would be
// the last one of its change; with softmax weft_photonic_softmax_cycles later.
//
// The assembler of patches begins in cycle 0 beside the preamble. Step j of a patch reads up to
// `lanes` values of one run; what it completes can be read in the next cycle. It holds two patches:
// patch p + 2 begins in the cycle after that in which the last word of patch p was sent.

#include <stdint.h>

enum weft_photonic_stage {
    WEFT_PHOTONIC_STAGE_CONVERTER = 1, // the register before the digital-analog converters
    WEFT_PHOTONIC_STAGE_DETECTOR = 2,  // mean of 16 samples; comparison with the patterns
    WEFT_PHOTONIC_STAGE_REALIGN = 1,   // and one more where the rotation is not 0
    WEFT_PHOTONIC_STAGE_SIGN = 1,
    WEFT_PHOTONIC_STAGE_ACCUMULATE = 1, // behind a tree of log2(lanes) levels
    WEFT_PHOTONIC_STAGE_WRITE = 1,      // the non-linear unit and the buffer
    WEFT_PHOTONIC_STAGE_CHANGE = 1,     // of the layer
    // The unit of log-probabilities: a pass for the sum of exponentials, one for the results, and
    // what is between them.
    WEFT_PHOTONIC_STAGE_SOFTMAX_PASSES = 2,
    WEFT_PHOTONIC_STAGE_SOFTMAX_FIXED = 8,
};

// Cycles from that in which the streamer sends a layer's last word to the next layer_start.
static inline uint32_t weft_photonic_stage_drain(uint32_t lanes, uint32_t path_samples)
{
    uint32_t levels = 31 - (uint32_t)__builtin_clz(lanes | 1);
    levels += (lanes & (lanes - 1)) != 0; // a tree over 48 lanes has as many levels as one over 64
    return WEFT_PHOTONIC_STAGE_CONVERTER + path_samples / 16 + WEFT_PHOTONIC_STAGE_DETECTOR +
           WEFT_PHOTONIC_STAGE_REALIGN + (path_samples % 16 != 0) + WEFT_PHOTONIC_STAGE_SIGN +
           levels + WEFT_PHOTONIC_STAGE_ACCUMULATE + WEFT_PHOTONIC_STAGE_WRITE +
           WEFT_PHOTONIC_STAGE_CHANGE;
}

static inline uint32_t weft_photonic_softmax_cycles(uint32_t outputs)
{
    return WEFT_PHOTONIC_STAGE_SOFTMAX_PASSES * outputs + WEFT_PHOTONIC_STAGE_SOFTMAX_FIXED;
}

#endif
