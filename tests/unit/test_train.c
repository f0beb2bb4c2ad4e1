// SPDX-License-Identifier: Apache-2.0
// The trainer of examples/train: slopes by all weights and biases against differences, for a net of
// convolutions, a pool and dense layers.
//
// Mutations that made this test fail (each was run): a pool passes its slopes to the first of each
// window; a dense layer's slope by its bias has the other sign; a convolution's by its weights
// leaves out the last pixel; slopes pass where ReLU was dark; slopes of the inputs are not cleared.

#include "../../examples/train/layers.h"
#include "../fresh_arenas.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// A loss whose slopes by the outputs are known: a sum of them with these weights.
static const float factors[3] = {1.0f, -2.0f, 0.5f};

static double loss_of(struct train_net *net)
{
    const float *values = layers_forward(net);
    double sum = 0;
    for (uint32_t o = 0; o < 3; o++) {
        sum += (double)factors[o] * (double)values[o];
    }
    return sum;
}

// The difference quotient of one number, which floats know to some 1e-3. A step that crosses a bend
// of ReLU or pool has no slope; both one-sided quotients must agree for one to be held against.
static void check(struct train_net *net, float *number, float slope)
{
    const float step = 1e-2f;
    float kept = *number;
    double at = loss_of(net);
    *number = kept + step;
    double above = (loss_of(net) - at) / (double)step;
    *number = kept - step;
    double below = (at - loss_of(net)) / (double)step;
    *number = kept;
    if (fabs(above - below) < 1e-3 && fabs((above + below) / 2 - (double)slope) > 5e-3) {
        fail_msg("slope %g, difference quotients %g and %g", (double)slope, below, above);
    }
}

static void slopes_are_difference_quotients(void **state)
{
    (void)state;
    struct train_net net;
    struct weft_rng rng;
    struct weft_error error;
    weft_rng_init(&rng, 3);
    assert_true(train_build(&net, "conv:2x3,pool:2,conv:3x2,dense:5,dense:3",
                            (struct train_shape){1, 8, 8}, &rng, &arena, &error));
    for (uint32_t i = 0; i < 64; i++) {
        net.input[i] = (float)weft_rng_unit(&rng);
    }
    struct train_layer *last = &net.layers[net.layer_count - 1];
    for (uint32_t twice = 0; twice < 2; twice++) { // the second run adds the same again
        layers_forward(&net);
        memcpy(last->value_slopes, factors, sizeof factors);
        layers_backward(&net);
    }
    uint32_t held = 0;
    for (uint32_t l = 0; l < net.layer_count; l++) {
        struct train_layer *layer = &net.layers[l];
        for (uint32_t i = 0; i < layer->weight_count; i++, held++) {
            check(&net, &layer->weights[i], layer->weight_slope[i] / 2);
        }
        for (uint32_t i = 0; layer->kind != TRAIN_POOL && i < layer->out.channels; i++, held++) {
            check(&net, &layer->bias[i], layer->bias_slope[i] / 2);
        }
    }
    assert_int_equal(held, 18 + 2 + 24 + 3 + 60 + 5 + 15 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slopes_are_difference_quotients, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
