// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_VERILOG_H
#define WEFT_PHOTONICS_VERILOG_H

// The datapath as Verilog: templates, sized for a program, with a bench that checks itself.
//
//   program ──► [verilog] ──► *.v, parameters.vh, softmax.hex; beside the program's memory images
//
// There is one datapath for every net: a program is memory images (program.hex, weights.hex,
// signs.hex, bias.hex), which the modules read, and parameters.vh has no more than lanes and the
// depths of memories. What was built for larger memories runs smaller programs as it is.

#include "weft/photonics/program.h"

WEFT_API_BEGIN

struct weft_photonic_verilog_file {
    const char *name; // in the folder of the compiled program
    const char *data;
    size_t length;
};
struct weft_photonic_verilog_files {
    uint32_t count;
    const struct weft_photonic_verilog_file *files;
};

// The depths of memories, in words as parameters.vh has them: rows of the program, words of
// weights, biases, words of LANES values of an activation buffer, words of a patch (a power of
// two), results of a layer with softmax. What runs several programs takes the largest of each.
struct weft_photonic_verilog_depths {
    uint32_t lanes;
    uint32_t rows, weights, biases, buffer, patch, results;
};
void weft_photonic_verilog_depths(struct weft_photonic_verilog_depths *depths,
                                  const struct weft_photonic_program *program);

// All files of a program but its memory images, texts in the arena or constant. Fails with
// UNSUPPORTED where lanes are no power of two: banks are addressed by low bits of an address.
// O(text).
bool weft_photonic_verilog_write(struct weft_photonic_verilog_files *files,
                                 const struct weft_photonic_program *program,
                                 struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
