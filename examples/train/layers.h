// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_EXAMPLES_LAYERS_H
#define WEFT_EXAMPLES_LAYERS_H

// One image through the layers of a net, and the slopes of its loss back.

#include "train.h"

// The values of the last layer for net->input.
const float *layers_forward(struct train_net *net);
// Adds the slopes by all weights, given those by the last layer's values in its value_slopes.
void layers_backward(struct train_net *net);

#endif
