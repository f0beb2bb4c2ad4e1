// SPDX-License-Identifier: Apache-2.0
// Layers of a net from their text, forwards and backwards. Backwards is the chain rule: a layer
// gets the slope of the loss by its outputs, adds the slopes by its weights, and passes on the
// slopes by its inputs.

#include "layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS_MAX = 16, SIDE_MAX = 64, OUTPUTS_MAX = 4096 };

static uint32_t size_of(struct train_shape shape)
{
    return shape.channels * shape.height * shape.width;
}

// ---- building ----

// The whole number of at most `digits` digits that follows `before`, and what stands behind it;
// NULL where there is none.
static const char *read_number(uint32_t *number, const char *text, const char *before,
                               size_t digits)
{
    size_t length = strlen(before);
    if (text == NULL || strncmp(text, before, length) != 0) {
        return NULL;
    }
    text += length;
    length = strspn(text, "0123456789");
    if (length == 0 || length > digits) {
        return NULL;
    }
    *number = (uint32_t)strtoul(text, NULL, 10);
    return text + length;
}

static bool ends(const char *text)
{
    return text != NULL && *text == '\0';
}

static bool read_layer(struct train_layer *layer, const char *word, struct train_shape in,
                       struct weft_error *error)
{
    uint32_t first = 0, second = 0;
    layer->in = in;
    if (ends(read_number(&second, read_number(&first, word, "conv:", 4), "x", 2)) && first > 0 &&
        second > 0 && second <= in.height && second <= in.width) {
        layer->kind = TRAIN_CONV;
        layer->side = second;
        layer->out = (struct train_shape){first, in.height - second + 1, in.width - second + 1};
        layer->weight_count = first * in.channels * second * second;
        return true;
    }
    if (ends(read_number(&first, word, "pool:", 2)) && first > 0 && first <= in.height &&
        first <= in.width) {
        layer->kind = TRAIN_POOL;
        layer->side = first;
        layer->out = (struct train_shape){in.channels, in.height / first, in.width / first};
        return true;
    }
    if (ends(read_number(&first, word, "dense:", 4)) && first > 0 && first <= OUTPUTS_MAX) {
        layer->kind = TRAIN_DENSE;
        layer->out = (struct train_shape){first, 1, 1};
        layer->weight_count = first * size_of(in);
        return true;
    }
    return weft_fail(error, WEFT_INPUT,
                     "'%s' is no layer of a map of %u x %u; write conv:6x5, pool:2 or dense:10",
                     word, in.height, in.width);
}

static void give_memory(struct train_layer *layer, struct weft_rng *rng, struct weft_arena *arena)
{
    uint32_t outputs = size_of(layer->out), biases = layer->out.channels;
    layer->values = WEFT_NEW(arena, float, outputs);
    layer->value_slopes = WEFT_NEW(arena, float, outputs);
    layer->largest = WEFT_NEW(arena, uint32_t, outputs);
    if (layer->kind == TRAIN_POOL) {
        return;
    }
    layer->weights = WEFT_NEW(arena, float, layer->weight_count);
    layer->weight_slope = WEFT_NEW(arena, float, layer->weight_count);
    layer->weight_speed = WEFT_NEW(arena, float, layer->weight_count);
    layer->bias = WEFT_NEW(arena, float, biases);
    layer->bias_slope = WEFT_NEW(arena, float, biases);
    layer->bias_speed = WEFT_NEW(arena, float, biases);
    double deviation = sqrt(2.0 * biases / layer->weight_count);
    for (uint32_t i = 0; i < layer->weight_count; i += 2) {
        double pair[2];
        weft_rng_normal_pair(rng, &pair[0], &pair[1]);
        layer->weights[i] = (float)(deviation * pair[0]);
        if (i + 1 < layer->weight_count) {
            layer->weights[i + 1] = (float)(deviation * pair[1]);
        }
    }
}

bool train_build(struct train_net *net, const char *text, struct train_shape input,
                 struct weft_rng *rng, struct weft_arena *arena, struct weft_error *error)
{
    struct train_layer *layers = WEFT_NEW(arena, struct train_layer, LAYERS_MAX);
    struct train_shape shape = input;
    uint32_t count = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        if (count == LAYERS_MAX) {
            return weft_fail(error, WEFT_INPUT, "more than %d layers", LAYERS_MAX);
        }
        if (!read_layer(&layers[count], weft_arena_text(arena, text, length), shape, error)) {
            return false;
        }
        shape = layers[count++].out;
        text += length + (text[length] == ',');
    }
    if (count == 0 || layers[count - 1].kind != TRAIN_DENSE) {
        return weft_fail(error, WEFT_INPUT, "a net ends with a dense layer; write dense:10");
    }
    for (uint32_t i = 0; i < count; i++) {
        layers[i].relu = i + 1 < count && layers[i].kind != TRAIN_POOL;
        give_memory(&layers[i], rng, arena);
    }
    *net = (struct train_net){count, layers, WEFT_NEW(arena, float, size_of(input))};
    return true;
}

// ---- forwards ----

// Adds `weight` times the map's window at (ky, kx) to an output channel.
static void add_window(float *restrict out, const float *restrict map, float weight,
                       const struct train_layer *layer)
{
    uint32_t width = layer->out.width;
    for (uint32_t y = 0; y < layer->out.height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            out[y * width + x] += weight * map[y * layer->in.width + x];
        }
    }
}

static void conv_forward(struct train_layer *layer, const float *in)
{
    uint32_t pixels = layer->out.height * layer->out.width, side = layer->side;
    const float *weight = layer->weights;
    for (uint32_t o = 0; o < layer->out.channels; o++) {
        float *out = layer->values + (size_t)o * pixels;
        for (uint32_t i = 0; i < pixels; i++) {
            out[i] = layer->bias[o];
        }
        for (uint32_t k = 0; k < layer->in.channels * side * side; k++, weight++) {
            uint32_t channel = k / (side * side), ky = k / side % side, kx = k % side;
            add_window(out, in + (channel * layer->in.height + ky) * layer->in.width + kx, *weight,
                       layer);
        }
    }
}

static void dense_forward(struct train_layer *layer, const float *in)
{
    uint32_t inputs = size_of(layer->in);
    for (uint32_t o = 0; o < layer->out.channels; o++) {
        const float *weights = layer->weights + (size_t)o * inputs;
        float sum = layer->bias[o];
        for (uint32_t i = 0; i < inputs; i++) {
            sum += weights[i] * in[i];
        }
        layer->values[o] = sum;
    }
}

static void pool_forward(struct train_layer *layer, const float *in)
{
    uint32_t side = layer->side, at = 0;
    for (uint32_t c = 0; c < layer->out.channels; c++) {
        for (uint32_t i = 0; i < layer->out.height * layer->out.width; i++, at++) {
            uint32_t y = i / layer->out.width * side, x = i % layer->out.width * side;
            uint32_t corner = (c * layer->in.height + y) * layer->in.width + x, best = corner;
            for (uint32_t k = 1; k < side * side; k++) {
                uint32_t other = corner + k / side * layer->in.width + k % side;
                best = in[other] > in[best] ? other : best;
            }
            layer->largest[at] = best;
            layer->values[at] = in[best];
        }
    }
}

const float *layers_forward(struct train_net *net)
{
    const float *in = net->input;
    for (uint32_t l = 0; l < net->layer_count; l++) {
        struct train_layer *layer = &net->layers[l];
        if (layer->kind == TRAIN_CONV) {
            conv_forward(layer, in);
        } else if (layer->kind == TRAIN_DENSE) {
            dense_forward(layer, in);
        } else {
            pool_forward(layer, in);
        }
        for (uint32_t i = 0; layer->relu && i < size_of(layer->out); i++) {
            layer->values[i] = layer->values[i] > 0 ? layer->values[i] : 0;
        }
        in = layer->values;
    }
    return in;
}

// ---- backwards ----

static void conv_backward(struct train_layer *layer, const float *in, float *in_slopes)
{
    uint32_t height = layer->out.height, width = layer->out.width, side = layer->side, at = 0;
    for (uint32_t o = 0; o < layer->out.channels; o++) {
        const float *slopes = layer->value_slopes + (size_t)o * height * width;
        for (uint32_t i = 0; i < height * width; i++) {
            layer->bias_slope[o] += slopes[i];
        }
        for (uint32_t k = 0; k < layer->in.channels * side * side; k++, at++) {
            uint32_t channel = k / (side * side), ky = k / side % side, kx = k % side;
            size_t corner = ((size_t)channel * layer->in.height + ky) * layer->in.width + kx;
            float sum = 0;
            for (uint32_t i = 0; i < height * width; i++) {
                size_t from = corner + (size_t)(i / width) * layer->in.width + i % width;
                sum += slopes[i] * in[from];
                if (in_slopes != NULL) {
                    in_slopes[from] += slopes[i] * layer->weights[at];
                }
            }
            layer->weight_slope[at] += sum;
        }
    }
}

static void dense_backward(struct train_layer *layer, const float *in, float *in_slopes)
{
    uint32_t inputs = size_of(layer->in);
    for (uint32_t o = 0; o < layer->out.channels; o++) {
        float slope = layer->value_slopes[o];
        float *restrict weight_slope = layer->weight_slope + (size_t)o * inputs;
        const float *weights = layer->weights + (size_t)o * inputs;
        layer->bias_slope[o] += slope;
        for (uint32_t i = 0; i < inputs; i++) {
            weight_slope[i] += slope * in[i];
        }
        for (uint32_t i = 0; in_slopes != NULL && i < inputs; i++) {
            in_slopes[i] += slope * weights[i];
        }
    }
}

void layers_backward(struct train_net *net)
{
    for (uint32_t l = net->layer_count; l-- > 0;) {
        struct train_layer *layer = &net->layers[l];
        const float *in = l == 0 ? net->input : layer[-1].values;
        float *in_slopes = l == 0 ? NULL : layer[-1].value_slopes;
        for (uint32_t i = 0; layer->relu && i < size_of(layer->out); i++) {
            layer->value_slopes[i] = layer->values[i] > 0 ? layer->value_slopes[i] : 0;
        }
        if (in_slopes != NULL) {
            memset(in_slopes, 0, size_of(layer->in) * sizeof *in_slopes);
        }
        if (layer->kind == TRAIN_CONV) {
            conv_backward(layer, in, in_slopes);
        } else if (layer->kind == TRAIN_DENSE) {
            dense_backward(layer, in, in_slopes);
        }
        for (uint32_t i = 0;
             layer->kind == TRAIN_POOL && in_slopes != NULL && i < size_of(layer->out); i++) {
            in_slopes[layer->largest[i]] += layer->value_slopes[i];
        }
    }
}
