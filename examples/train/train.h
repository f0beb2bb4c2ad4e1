// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_EXAMPLES_TRAIN_H
#define WEFT_EXAMPLES_TRAIN_H

// Nets for light, trained by weft/train.h. What is written is what light computes with (weft
// photonic compile): activations are never negative, since light has no negative intensity.

#include "weft/train.h"

struct train_options {
    uint32_t steps; // batches
    uint32_t batch;
    double rate;    // of learning, which falls to 0 as half a cosine
    uint32_t shift; // pixels by which images are moved at most, either way
};
// Returns the mean loss of the last tenth of the steps, in nats. O(steps * batch * MACs).
double train_run(struct weft_train_net *net, const struct weft_images *digits,
                 const struct train_options *options, struct weft_rng *rng,
                 struct weft_arena scratch);

// layers.json and a file of float32, little endian, for the weights and biases of each layer.
bool train_save(const struct weft_train_net *net, const char *folder, struct weft_arena *arena,
                struct weft_error *error);

#endif
