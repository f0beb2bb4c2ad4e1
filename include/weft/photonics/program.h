// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_PROGRAM_H
#define WEFT_PHOTONICS_PROGRAM_H

// Nets that light computes: what was trained, and what the datapath runs.
//
//   layer list, or a model of the zoo ──► [net] ──compile──► [program] ──► twin, executor, Verilog
//
// Numbers (docs/lightning.md has the derivations). An activation is a magnitude of 0 to 255, a
// weight one of -255 to 255 whose magnitude is modulated and whose sign travels beside it. Light
// multiplies magnitudes and the detector keeps 8 bits: |product| = (a * |w|) >> 8. A dot product is
// the sum of signed products, in an accumulator of 32 bits that starts at the bias. ReLU and
// the largest of a pool come next; then the sums of a layer are shifted, all alike, so that the
// highest bit of the largest one is bit 7: they are the next layer's activations (block floating
// point).
//
// Maps of features are stored channels last: value (y, x, c) at (y * width + x) * channels + c, and
// so are inputs of more than one channel. A dense layer is a convolution of kernel 1 over a map of
// 1 x 1 with `inputs` channels. Weights in files of a convolution are in PyTorch's order,
// [output][input][ky][kx], and columns of a dense layer behind a convolution are in the order in
// which PyTorch flattens, [channel][y][x]; the compiler brings both into the order of the datapath,
// [output][ky][kx][input].

#include "weft/base.h"

WEFT_API_BEGIN

// ---- what was trained ----

enum weft_photonic_kind {
    WEFT_PHOTONIC_DENSE,
    WEFT_PHOTONIC_CONV,
    WEFT_PHOTONIC_MAXPOOL, // only behind a convolution, whose pool it becomes
};
enum weft_photonic_activation {
    WEFT_PHOTONIC_LINEAR,  // only of the last layer: light has no negative intensity
    WEFT_PHOTONIC_RELU,    // of every other layer
    WEFT_PHOTONIC_SOFTMAX, // of the last layer: log-probabilities beside the sums
};

// A layer as its author states it.
struct weft_photonic_layer {
    const char *name;
    enum weft_photonic_kind kind;
    enum weft_photonic_activation activation;
    uint32_t inputs, outputs;           // DENSE
    uint32_t channels_in, channels_out; // CONV
    uint32_t kernel, stride, padding;   // CONV
    uint32_t height, width;             // CONV: of its input
    uint32_t size;                      // MAXPOOL: side of a window, and its stride
    const float *weights;               // NULL: only counted (a model without weights)
    const float *bias;                  // NULL = none
};
struct weft_photonic_net {
    const char *name;
    uint32_t layer_count;
    const struct weft_photonic_layer *layers;
    bool layer_scales; // a scale of weights for each layer; false: one for all
    double input_unit; // what a step of an input byte is worth where biases count; 0 = 1/255
};

// ---- what the datapath runs ----

// A row of the program: one layer's targets and addresses, a memory image for the hardware. Rows
// are as wide as WEFT_PHOTONIC_FIELDS words of 32 bits; fields of the memory image stand in the
// order of the struct, each one word, field f at bits 32 f to 32 f + 31.
#define WEFT_PHOTONIC_FIELDS 32u
enum {
    WEFT_PHOTONIC_FLAG_RELU = 1,
    WEFT_PHOTONIC_FLAG_SOFTMAX = 2,
    WEFT_PHOTONIC_FLAG_LAST = 4,
    WEFT_PHOTONIC_FLAG_BIAS = 8,
};
struct weft_photonic_row {
    uint32_t flags;
    uint32_t words;   // of a dot product: ceil(kernel^2 channels_in / lanes)
    uint32_t outputs; // dot products of a pixel = channels out
    uint32_t pixels;  // of the output, before the pool
    uint32_t sums;    // outputs * pixels: what the adder emits
    uint32_t results; // what the buffer keeps: sums, or pooled_width * pooled_height * outputs
    uint32_t inputs;  // height * width * channels_in
    uint32_t height, width, channels_in; // of the input
    uint32_t kernel, stride, padding;    // dense: 1, 1, 0
    uint32_t run_bytes;                  // kernel * channels_in: what is consecutive of a patch
    uint32_t out_width;                  // before the pool
    uint32_t pool;                       // side of a window, 1 = none
    uint32_t pooled_width, pooled_height;
    uint32_t weight_first; // word of the weight memory
    uint32_t bias_first;   // entry of the bias memory
    // With e, the sum of the right shifts of all layers before (left shifts negative), a sum begins
    // at bias >> min(bias_shift + e, 31), or where that is negative at bias << min(-..., 7). Biases
    // are below 2^23 in magnitude, so what is shifted left is below 2^30.
    int32_t bias_shift;
    uint32_t softmax_scale, softmax_shift; // of sums, to nats * 256 (docs/lightning.md)
    uint32_t preamble;                     // cycles
};

struct weft_photonic_program {
    const char *name;
    uint32_t lanes; // activations that a cycle multiplies: 16 * wavelengths
    uint32_t wavelengths;
    uint32_t preamble; // cycles at the begin of a layer
    uint32_t row_count;
    const struct weft_photonic_row *rows;
    const char *const *names; // of the layers, for people
    uint32_t word_count;      // of the weight memory
    const int16_t *weights;   // [word_count * lanes], -255 to 255
    uint32_t bias_count;
    const int32_t *biases;
    const double *scales; // a row: quantized weight over weight
};

struct weft_photonic_limits {
    uint64_t weight_bytes;     // of the weight memory, signs apart; 0 = 64 MiB
    uint32_t activation_count; // values of one of the two buffers; 0 = 65536
    uint32_t accumulator_bits; // 0 = 32
};
struct weft_photonic_compile_options {
    uint32_t wavelengths; // 0 = 1
    uint32_t preamble;    // cycles; 0 = 10
    struct weft_photonic_limits limits;
};

// Quantizes and lays out a net. Scales: q = round(w * 255 / M), M = largest |w| of all layers, but
// at least 1, or with layer_scales of the layer. Fails with INPUT naming the layer and what would
// do: weights that are not finite, shapes that do not follow each other, an activation where none
// can be, a kernel larger than its input; with INFEASIBLE where a layer does not fit the memories
// or a sum could overflow the accumulator (the exact largest sum over all inputs, not a guess).
// A net without weights gets rows and no images (weights NULL). O(weights).
bool weft_photonic_compile(struct weft_photonic_program *program,
                           const struct weft_photonic_net *net,
                           const struct weft_photonic_compile_options *options,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error) WEFT_MUST_USE;

// Whether a program that was read from somewhere is one that weft_photonic_compile could have made:
// rows follow from their shapes, addresses lie in the images, weights, biases and shifts are within
// their ranges, and no sum can overflow 32 bits. What passes can be run. Fails with INPUT naming
// "rows[1].words". O(weights).
bool weft_photonic_program_check(const struct weft_photonic_program *program,
                                 struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// The name of field f of a row, f < weft_photonic_field_count, in the order of the memory image.
const char *weft_photonic_row_field(uint32_t field);
extern const uint32_t weft_photonic_field_count;
// Multiply-accumulates of a row: sums times products that count in each. O(1).
uint64_t weft_photonic_row_macs(const struct weft_photonic_row *row);

// ---- cycles ----

// The path of light between converters and datapath, in samples, 16 of which are one cycle.
struct weft_photonic_path {
    uint32_t latency;         // from modulators to detector; 0 = 128
    uint32_t skew_activation; // what the activations' modulator lags behind
    uint32_t skew_weight;
    uint32_t delay_activation; // what the delay lines before them add
    uint32_t delay_weight;
};
// Lightning's: the activations lag by 2 cycles and 3 samples, undone by the weights' delay line.
extern const struct weft_photonic_path weft_photonic_path_default;
// Samples from a converter to the detector where both streams meet: the whole cycles are latency,
// the rest is the rotation that the preamble finds. Fails with INPUT where skews and delays do not
// cancel: products would be of other partners.
bool weft_photonic_path_samples(uint32_t *samples, const struct weft_photonic_path *path,
                                struct weft_error *error) WEFT_MUST_USE;

struct weft_photonic_layer_cycles {
    uint64_t data;     // pixels * outputs * words
    uint64_t stalls;   // in which the patch of a convolution was not ready
    uint64_t overhead; // preamble, light, pipeline, change of layer
};
// The closed form: exact where memory never makes the datapath wait, as the tests hold against
// executor and Verilog. O(patch words of all pixels), O(1) of a dense layer.
uint64_t weft_photonic_cycles(struct weft_photonic_layer_cycles *layers, // [row_count], or NULL
                              const struct weft_photonic_program *program, uint32_t path_samples);

WEFT_API_END

#endif
