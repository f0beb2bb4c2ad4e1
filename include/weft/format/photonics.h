// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_PHOTONICS_H
#define WEFT_FORMAT_PHOTONICS_H

// Nets for the datapath of light: layer lists as their authors write them (JSON), and folders of
// compiled programs. docs/lightning.md has both.

#include "weft/format/file.h"
#include "weft/photonics.h"

WEFT_API_BEGIN

// ---- layer lists ----

// The files that a layer names; NULL = none.
struct weft_photonic_layer_files {
    const char *weights;
    const char *bias;
};
struct weft_photonic_layers {
    struct weft_photonic_net net; // its layers have no weights until they are loaded
    const struct weft_photonic_layer_files *files; // a layer
};
// {"layers": [{"type": "dense", "inputs": 784, "outputs": 300, "activation": "relu",
//              "weights": "fc_1.f32", "bias": "b_1.f32", "name": "fc_1"},
//             {"type": "conv", "channels_in": 1, "channels_out": 8, "kernel": 3, "stride": 1,
//              "padding": 1, "height": 28, "width": 28, ...},
//             {"type": "maxpool", "size": 2}],
//  "scale": "global" | "layer", "input_unit": 0.00392, "name": "digits"}
//
// stride is 1, padding 0, activation "linear" (or "softmax"), scale "global" where they are not
// said. Whether shapes follow each other is the compiler's question. Fails with INPUT,
// "layers[2].kernel: ...". O(bytes).
bool weft_photonic_layers_read(struct weft_photonic_layers *layers, const char *data, size_t length,
                               struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// The same with the weights: files of float32, little endian, rows = outputs, looked for in
// `folder`, or NULL: beside the list. Fails with IO, or with INPUT where a file has another length.
bool weft_photonic_layers_load(struct weft_photonic_net *net, const char *path, const char *folder,
                               struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// ---- compiled programs ----

// program.json: everything of the program but its images, of which it has sizes and CRC-32.
struct weft_photonic_images {
    uint32_t weights_crc; // of weights.i16
    uint32_t biases_crc;  // of bias.hex
};
const char *weft_photonic_program_json(const struct weft_photonic_program *program,
                                       const struct weft_photonic_images *images,
                                       struct weft_arena *arena);
// The other way round; weights and biases are NULL. Counts are such that they can be allocated;
// weft_photonic_program_check looks at the rest. Fails with INPUT.
bool weft_photonic_program_read(struct weft_photonic_program *program,
                                struct weft_photonic_images *images, const char *data,
                                size_t length, struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;

// The files of a compiled program, to be written with others by weft_files_save: program.json,
// program.hex, weights.i16, weights.hex, signs.hex, bias.hex. O(weights).
#define WEFT_PHOTONIC_FILES 6u
void weft_photonic_program_files(struct weft_file files[WEFT_PHOTONIC_FILES],
                                 const struct weft_photonic_program *program,
                                 struct weft_arena *arena);
// Reads program.json, weights.i16 and bias.hex of a folder. What it gives can be run. Fails with IO
// where a file is missing, with INPUT where one is damaged.
bool weft_photonic_program_load(struct weft_photonic_program *program, const char *folder,
                                struct weft_arena *arena, struct weft_arena scratch,
                                struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
