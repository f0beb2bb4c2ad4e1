// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_EXAMPLES_TRAIN_H
#define WEFT_EXAMPLES_TRAIN_H

// A trainer of small nets on images, without a framework: convolutions, maximum pools and dense
// layers with ReLU, by stochastic gradient descent. What it writes is what light computes with
// (weft photonic compile): activations are never negative, since light has no negative intensity.

#include "weft/base.h"

enum train_kind { TRAIN_CONV, TRAIN_POOL, TRAIN_DENSE };

struct train_shape {
    uint32_t channels, height, width;
};

// Weights of a convolution are [output][input][ky][kx], of a dense layer [output][input]; maps are
// [channel][y][x], which is the order of PyTorch.
struct train_layer {
    enum train_kind kind;
    struct train_shape in, out;
    uint32_t side; // of the kernel, or of the pool's window
    bool relu;
    uint32_t weight_count; // without biases, of which there is one an output channel
    float *weights, *bias;
    float *weight_slope, *bias_slope; // of the batch
    float *weight_speed, *bias_speed; // momentum
    float *values, *value_slopes;     // of the outputs
    uint32_t *largest;                // of a pool: where each output comes from
};
struct train_net {
    uint32_t layer_count;
    struct train_layer *layers;
    float *input;
};

// Reads "conv:6x5,pool:2,dense:10": channels x kernel, window, outputs. The last layer is linear,
// all others are rectified. Weights are He's: normal, of variance 2 / inputs.
bool train_build(struct train_net *net, const char *text, struct train_shape input,
                 struct weft_rng *rng, struct weft_arena *arena, struct weft_error *error);

struct train_digits {
    uint32_t count;
    struct train_shape shape;
    const uint8_t *images; // [count][pixels]
    const uint8_t *labels;
};
struct train_options {
    uint32_t steps; // batches
    uint32_t batch;
    double rate;    // of learning, which falls to 0 as half a cosine
    uint32_t shift; // pixels by which images are moved at most, either way
};
// Returns the mean loss of the last tenth of the steps, in nats. O(steps * batch * MACs).
double train_run(struct train_net *net, const struct train_digits *digits,
                 const struct train_options *options, struct weft_rng *rng,
                 struct weft_arena scratch);
// How many of the images the net names rightly.
uint32_t train_count_right(struct train_net *net, const struct train_digits *digits);

// layers.json and a file of float32, little endian, for the weights and biases of each layer.
bool train_save(const struct train_net *net, const char *folder, struct weft_arena *arena,
                struct weft_error *error);

#endif
