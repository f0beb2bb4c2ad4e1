// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent with momentum: batches of images in a random order, moved by a few
// pixels each time so that few images teach more, and the cross-entropy of the softmax as loss.

#include "layers.h"

#include <math.h>

#define MOMENTUM 0.9f
#define DECAY 5e-4f // of weights, which keeps outliers from spending the steps of 8 bits

// An image moved by (dy, dx); pixels from outside are dark.
static void load_image(float *input, const struct train_digits *digits, uint32_t index, int32_t dy,
                       int32_t dx)
{
    int32_t height = (int32_t)digits->shape.height, width = (int32_t)digits->shape.width;
    const uint8_t *image = digits->images + (size_t)index * (size_t)(height * width);
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            int32_t from_y = y - dy, from_x = x - dx;
            bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
            input[y * width + x] = inside ? (float)image[from_y * width + from_x] / 255.0f : 0;
        }
    }
}

// The loss of one image, whose slopes are left at the last layer: softmax minus the truth.
static double loss_of(struct train_net *net, uint32_t label)
{
    const float *values = layers_forward(net);
    struct train_layer *last = &net->layers[net->layer_count - 1];
    uint32_t count = last->out.channels;
    float largest = values[0];
    double sum = 0;
    for (uint32_t i = 1; i < count; i++) {
        largest = values[i] > largest ? values[i] : largest;
    }
    for (uint32_t i = 0; i < count; i++) {
        sum += exp((double)(values[i] - largest));
    }
    for (uint32_t i = 0; i < count; i++) {
        last->value_slopes[i] = (float)(exp((double)(values[i] - largest)) / sum - (i == label));
    }
    return log(sum) + (double)(largest - values[label]);
}

static void descend(float *values, float *slope, float *speed, uint32_t count, float rate)
{
    for (uint32_t i = 0; i < count; i++) {
        speed[i] = MOMENTUM * speed[i] - rate * (slope[i] + DECAY * values[i]);
        values[i] += speed[i];
        slope[i] = 0;
    }
}

double train_run(struct train_net *net, const struct train_digits *digits,
                 const struct train_options *options, struct weft_rng *rng,
                 struct weft_arena scratch)
{
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
            uint32_t index = order[taken++];
            int32_t dy = (int32_t)weft_rng_below(rng, span) - (int32_t)options->shift;
            int32_t dx = (int32_t)weft_rng_below(rng, span) - (int32_t)options->shift;
            load_image(net->input, digits, index, dy, dx);
            double one = loss_of(net, digits->labels[index]);
            loss += step + tail >= options->steps ? one / options->batch / tail : 0;
            layers_backward(net);
        }
        double turn = 3.141592653589793 * step / options->steps;
        float rate = (float)(options->rate * (1 + cos(turn)) / 2 / options->batch);
        for (uint32_t l = 0; l < net->layer_count; l++) {
            struct train_layer *layer = &net->layers[l];
            bool learns = layer->kind != TRAIN_POOL;
            descend(layer->weights, layer->weight_slope, layer->weight_speed, layer->weight_count,
                    rate);
            descend(layer->bias, layer->bias_slope, layer->bias_speed,
                    learns ? layer->out.channels : 0, rate);
        }
    }
    return loss;
}

uint32_t train_count_right(struct train_net *net, const struct train_digits *digits)
{
    uint32_t right = 0;
    for (uint32_t i = 0; i < digits->count; i++) {
        load_image(net->input, digits, i, 0, 0);
        const float *values = layers_forward(net);
        uint32_t best = 0;
        for (uint32_t o = 1; o < net->layers[net->layer_count - 1].out.channels; o++) {
            best = values[o] > values[best] ? o : best;
        }
        right += best == digits->labels[i];
    }
    return right;
}
