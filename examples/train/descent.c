// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent with momentum: batches of images in a random order, moved by a few
// pixels each time so that few images teach more.

#include "train.h"

#include <math.h>

#define MOMENTUM 0.9f
#define DECAY 5e-4f // of weights, which keeps outliers from spending the steps of 8 bits

double train_run(struct weft_train_net *net, const struct weft_images *digits,
                 const struct train_options *options, struct weft_rng *rng,
                 struct weft_arena scratch)
{
    struct weft_train_worker *worker = weft_train_worker_build(net, options->batch, &scratch);
    float *gradient = WEFT_NEW(&scratch, float, net->number_count);
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, digits->count);
    uint32_t taken = digits->count, span = 2 * options->shift + 1, tail = options->steps / 10 + 1;
    double loss = 0;
    for (uint32_t i = 0; i < digits->count; i++) {
        order[i] = i;
    }
    for (uint32_t step = 0; step < options->steps; step++) {
        for (uint32_t b = 0; b < options->batch; b++) {
            if (taken == digits->count) {
                weft_rng_shuffle(rng, order, digits->count);
                taken = 0;
            }
            int32_t dy = (int32_t)weft_rng_below(rng, span) - (int32_t)options->shift;
            int32_t dx = (int32_t)weft_rng_below(rng, span) - (int32_t)options->shift;
            weft_train_load(worker, digits, order[taken++], dy, dx);
        }
        double mean = weft_train_gradient(gradient, worker, net) / options->batch;
        loss += step + tail >= options->steps ? mean / tail : 0;
        double turn = 3.141592653589793 * step / options->steps;
        double rate = options->rate * (1 + cos(turn)) / 2 / options->batch;
        weft_train_descend(net, gradient,
                           &(struct weft_train_descent){(float)rate, MOMENTUM, DECAY});
    }
    return loss;
}
