// SPDX-License-Identifier: Apache-2.0
// Nets from their text, with the weights that they begin with, and the step of descent.

#include "weft/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS_MAX = 16, OUTPUTS_MAX = 4096, NUMBERS_MAX = 1 << 26 };
enum { POOL_MAX = 16 }; // places of a window are counted in a byte

static uint32_t size_of(struct weft_train_shape shape)
{
    return shape.channels * shape.height * shape.width;
}

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

static bool read_layer(struct weft_train_layer *layer, const char *word, struct weft_train_shape in,
                       struct weft_error *error)
{
    uint32_t first = 0, second = 0;
    layer->in = in;
    if (ends(read_number(&second, read_number(&first, word, "conv:", 4), "x", 2)) && first > 0 &&
        first <= OUTPUTS_MAX && second > 0 && second <= in.height && second <= in.width) {
        layer->kind = WEFT_TRAIN_CONV;
        layer->side = second;
        layer->out =
            (struct weft_train_shape){first, in.height - second + 1, in.width - second + 1};
        layer->weight_count = first * in.channels * second * second;
        layer->bias_count = first;
        return true;
    }
    if (ends(read_number(&first, word, "pool:", 2)) && first > 0 && first <= POOL_MAX &&
        first <= in.height && first <= in.width) {
        layer->kind = WEFT_TRAIN_POOL;
        layer->side = first;
        layer->out = (struct weft_train_shape){in.channels, in.height / first, in.width / first};
        return true;
    }
    if (ends(read_number(&first, word, "dense:", 4)) && first > 0 && first <= OUTPUTS_MAX) {
        layer->kind = WEFT_TRAIN_DENSE;
        layer->out = (struct weft_train_shape){first, 1, 1};
        layer->weight_count = first * size_of(in);
        layer->bias_count = first;
        return true;
    }
    return weft_fail(error, WEFT_INPUT,
                     "'%s' is no layer of a map of %u x %u; write conv:6x5, pool:2 or dense:10",
                     word, in.height, in.width);
}

static void draw_weights(float *weights, const struct weft_train_layer *layer, struct weft_rng *rng)
{
    double deviation = sqrt(2.0 * layer->bias_count / layer->weight_count);
    for (uint32_t i = 0; i < layer->weight_count; i += 2) {
        double pair[2];
        weft_rng_normal_pair(rng, &pair[0], &pair[1]);
        weights[i] = (float)(deviation * pair[0]);
        if (i + 1 < layer->weight_count) {
            weights[i + 1] = (float)(deviation * pair[1]);
        }
    }
}

static bool read_layers(struct weft_train_layer *layers, uint32_t *count, const char *text,
                        struct weft_train_shape shape, struct weft_arena scratch,
                        struct weft_error *error)
{
    uint64_t numbers = 0;
    *count = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        if (*count == LAYERS_MAX) {
            return weft_fail(error, WEFT_INPUT, "more than %d layers", LAYERS_MAX);
        }
        struct weft_train_layer *layer = &layers[(*count)++];
        // 4096 x 4096 x 99 x 99 weights would not fit their count: maps are bounded by their layer.
        if ((uint64_t)shape.channels * shape.height * shape.width > NUMBERS_MAX / OUTPUTS_MAX) {
            return weft_fail(error, WEFT_INPUT, "a layer gets more than %d values; take a pool",
                             NUMBERS_MAX / OUTPUTS_MAX);
        }
        if (!read_layer(layer, weft_arena_text(&scratch, text, length), shape, error)) {
            return false;
        }
        layer->first = (uint32_t)numbers;
        numbers += (uint64_t)layer->weight_count + layer->bias_count;
        if (numbers > NUMBERS_MAX) {
            return weft_fail(error, WEFT_INPUT, "a net of more than %d numbers", NUMBERS_MAX);
        }
        shape = layer->out;
        text += length + (text[length] == ',');
    }
    if (*count == 0 || layers[*count - 1].kind != WEFT_TRAIN_DENSE) {
        return weft_fail(error, WEFT_INPUT, "a net ends with a dense layer; write dense:10");
    }
    return true;
}

bool weft_train_net_build(struct weft_train_net *net, const char *text,
                          struct weft_train_shape input, struct weft_rng *rng,
                          struct weft_arena *arena, struct weft_error *error)
{
    struct weft_train_layer *layers = WEFT_NEW(arena, struct weft_train_layer, LAYERS_MAX);
    uint32_t count = 0;
    if (!read_layers(layers, &count, text, input, *arena, error)) {
        return false;
    }
    const struct weft_train_layer *last = &layers[count - 1];
    uint32_t numbers = last->first + last->weight_count + last->bias_count;
    struct weft_train_net built = {
        .layer_count = count,
        .layers = layers,
        .number_count = numbers,
        .numbers = WEFT_NEW(arena, float, numbers),
        .speed = WEFT_NEW(arena, float, numbers),
    };
    for (uint32_t l = 0; l < count; l++) {
        layers[l].relu = l + 1 < count && layers[l].kind != WEFT_TRAIN_POOL;
        draw_weights(built.numbers + layers[l].first, &layers[l], rng);
    }
    *net = built;
    return true;
}

void weft_train_descend(struct weft_train_net *net, const float *gradient,
                        const struct weft_train_descent *descent)
{
    float *restrict numbers = net->numbers, *restrict speed = net->speed;
    float rate = descent->rate, momentum = descent->momentum, decay = descent->decay;
    for (uint32_t i = 0; i < net->number_count; i++) {
        speed[i] = momentum * speed[i] - rate * (gradient[i] + decay * numbers[i]);
        numbers[i] += speed[i];
    }
}
