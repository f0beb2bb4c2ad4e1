// SPDX-License-Identifier: Apache-2.0
// A worker's batch through the layers, and the slopes of its loss back by the chain rule: a layer
// gets the slopes by its outputs, finds those by its weights, and passes on those by its inputs.
//
// Values stand as [channel][y][x][image], with the images padded to whole vectors: every product of
// a layer is then one of matrices whose columns are images, and a row of a convolution's map is one
// run of columns. Images that are not there have slopes of 0.

#include "train/product.h"
#include "weft/train.h"

#include <math.h>
#include <string.h>

// Values of a layer's outputs, and what its way back needs.
struct held {
    float *values, *slopes;
    uint8_t *largest; // of a pool: which of its window each output is
    float *wide;      // slopes of a convolution with a border of 0 of side - 1
    float *flipped;   // its weights as [input][output][ky][kx], turned round
};

struct weft_train_worker {
    uint32_t count, capacity; // images
    uint32_t stride;          // from one value to the next: the capacity in whole vectors
    uint32_t *labels;
    float *input;
    float *across; // a layer's inputs as [image][value]
    float *ones;
    const float **rows;
    struct held *layers;
};

static uint32_t size_of(struct weft_train_shape shape)
{
    return shape.channels * shape.height * shape.width;
}

static uint32_t whole(uint32_t count)
{
    return (count + PRODUCT_COLUMNS - 1) / PRODUCT_COLUMNS * PRODUCT_COLUMNS;
}

struct weft_train_worker *weft_train_worker_build(const struct weft_train_net *net,
                                                  uint32_t batch_max, struct weft_arena *arena)
{
    struct weft_train_worker *worker = WEFT_NEW(arena, struct weft_train_worker, 1);
    uint32_t stride = whole(batch_max), rows = batch_max, values = 0, run = 0;
    worker->capacity = batch_max;
    worker->stride = stride;
    worker->labels = WEFT_NEW(arena, uint32_t, batch_max);
    worker->input = WEFT_NEW(arena, float, (size_t)size_of(net->layers[0].in) * stride);
    worker->layers = WEFT_NEW(arena, struct held, net->layer_count);
    for (uint32_t l = 0; l < net->layer_count; l++) {
        const struct weft_train_layer *layer = &net->layers[l];
        struct held *held = &worker->layers[l];
        size_t outputs = (size_t)size_of(layer->out) * stride;
        uint32_t window = layer->side * layer->side;
        held->values = WEFT_NEW(arena, float, outputs);
        held->slopes = WEFT_NEW(arena, float, outputs);
        if (layer->kind == WEFT_TRAIN_POOL) {
            held->largest = WEFT_NEW(arena, uint8_t, outputs);
        } else if (layer->kind == WEFT_TRAIN_CONV) {
            size_t wide = (size_t)(layer->out.height + 2 * (layer->side - 1)) *
                          (layer->out.width + 2 * (layer->side - 1));
            held->wide = WEFT_NEW(arena, float, wide * layer->out.channels * stride);
            held->flipped = WEFT_NEW(arena, float, layer->weight_count);
            uint32_t deepest =
                layer->in.channels > layer->out.channels ? layer->in.channels : layer->out.channels;
            rows = deepest * window > rows ? deepest * window : rows;
            run = layer->out.width > run ? layer->out.width : run;
        } else {
            rows = size_of(layer->in) > rows ? size_of(layer->in) : rows;
            rows = layer->out.channels > rows ? layer->out.channels : rows;
            values = size_of(layer->in) > values ? size_of(layer->in) : values;
        }
    }
    worker->rows = WEFT_NEW(arena, const float *, rows);
    worker->across = WEFT_NEW(arena, float, (size_t)batch_max *whole(values));
    worker->ones = WEFT_NEW(arena, float, (size_t)(run + 1) * stride);
    for (uint32_t i = 0; i < (run + 1) * stride; i++) {
        worker->ones[i] = 1;
    }
    return worker;
}

void weft_train_load(struct weft_train_worker *worker, const struct weft_images *images,
                     uint32_t index, int32_t dy, int32_t dx)
{
    WEFT_ASSERT(worker->count < worker->capacity && index < images->count);
    int32_t height = (int32_t)images->height, width = (int32_t)images->width;
    const uint8_t *image = images->pixels + (size_t)index * (size_t)(height * width);
    float *to = worker->input + worker->count;
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++, to += worker->stride) {
            int32_t from_y = y - dy, from_x = x - dx;
            bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
            *to = inside ? (float)image[from_y * width + from_x] / 255.0f : 0;
        }
    }
    worker->labels[worker->count++] = images->labels[index];
}

// ---- forwards ----

static void conv_forward(struct weft_train_worker *worker, const struct weft_train_layer *layer,
                         const float *numbers, const float *in, float *values)
{
    uint32_t side = layer->side, depth = layer->in.channels * side * side;
    size_t stride = worker->stride, row = layer->out.width * stride;
    for (uint32_t y = 0; y < layer->out.height; y++) {
        for (uint32_t k = 0; k < depth; k++) {
            uint32_t channel = k / (side * side), ky = k / side % side, kx = k % side;
            worker->rows[k] =
                in + ((channel * layer->in.height + y + ky) * layer->in.width + kx) * stride;
        }
        product_run(&(struct product){
            .c = values + y * row,
            .c_row = layer->out.height * row,
            .start = numbers + layer->weight_count,
            .a = numbers,
            .a_row = depth,
            .a_step = 1,
            .rows = worker->rows,
            .height = layer->out.channels,
            .width = (uint32_t)row,
            .depth = depth,
        });
    }
}

static void dense_forward(struct weft_train_worker *worker, const struct weft_train_layer *layer,
                          const float *numbers, const float *in, float *values)
{
    uint32_t inputs = size_of(layer->in);
    for (uint32_t i = 0; i < inputs; i++) {
        worker->rows[i] = in + (size_t)i * worker->stride;
    }
    product_run(&(struct product){
        .c = values,
        .c_row = worker->stride,
        .start = numbers + layer->weight_count,
        .a = numbers,
        .a_row = inputs,
        .a_step = 1,
        .rows = worker->rows,
        .height = layer->out.channels,
        .width = worker->stride,
        .depth = inputs,
    });
}

// The first of equals, as PyTorch has it.
static void pool_row(float *restrict values, uint8_t *restrict largest, const float *restrict in,
                     size_t stride, uint8_t place)
{
    for (size_t b = 0; b < stride; b++) {
        bool more = in[b] > values[b];
        values[b] = more ? in[b] : values[b];
        largest[b] = more ? place : largest[b];
    }
}

// The places of a pool's windows: output `at`, in row-major order, begins there in the inputs.
static size_t corner_of(const struct weft_train_layer *layer, uint32_t at)
{
    uint32_t width = layer->out.width, height = layer->out.height;
    uint32_t channel = at / (width * height), y = at / width % height, x = at % width;
    return ((size_t)channel * layer->in.height + (size_t)y * layer->side) * layer->in.width +
           (size_t)x * layer->side;
}

static void pool_forward(const struct weft_train_layer *layer, const float *in, struct held *held,
                         size_t stride)
{
    uint32_t side = layer->side;
    for (uint32_t at = 0; at < size_of(layer->out); at++) {
        const float *corner = in + corner_of(layer, at) * stride;
        float *values = held->values + at * stride;
        uint8_t *largest = held->largest + at * stride;
        memcpy(values, corner, stride * sizeof *values);
        memset(largest, 0, stride);
        for (uint32_t k = 1; k < side * side; k++) {
            const float *other = corner + (k / side * layer->in.width + k % side) * stride;
            pool_row(values, largest, other, stride, (uint8_t)k);
        }
    }
}

static void forward(struct weft_train_worker *worker, const struct weft_train_net *net)
{
    for (uint32_t l = 0; l < net->layer_count; l++) {
        const struct weft_train_layer *layer = &net->layers[l];
        struct held *held = &worker->layers[l];
        const float *in = l == 0 ? worker->input : held[-1].values;
        const float *numbers = net->numbers + layer->first;
        if (layer->kind == WEFT_TRAIN_CONV) {
            conv_forward(worker, layer, numbers, in, held->values);
        } else if (layer->kind == WEFT_TRAIN_DENSE) {
            dense_forward(worker, layer, numbers, in, held->values);
        } else {
            pool_forward(layer, in, held, worker->stride);
        }
        size_t count = layer->relu ? (size_t)size_of(layer->out) * worker->stride : 0;
        for (size_t i = 0; i < count; i++) {
            held->values[i] = held->values[i] > 0 ? held->values[i] : 0;
        }
    }
}

// ---- backwards ----

static void conv_weights(float *gradient, struct weft_train_worker *worker,
                         const struct weft_train_layer *layer, const float *in, const float *slopes)
{
    uint32_t side = layer->side, depth = layer->in.channels * side * side;
    size_t stride = worker->stride, row = layer->out.width * stride;
    struct product_dots dots = {
        .c_row = depth,
        .a = slopes,
        .a_row = layer->out.height * row,
        .a_run = row,
        .b_run = layer->in.width * stride,
        .height = layer->out.channels,
        .runs = layer->out.height,
        .length = (uint32_t)row,
    };
    for (uint32_t k = 0; k < depth; k++) {
        uint32_t channel = k / (side * side), ky = k / side % side, kx = k % side;
        dots.c = gradient + k;
        dots.b = in + ((channel * layer->in.height + ky) * layer->in.width + kx) * stride;
        product_dots(&dots);
    }
    dots.c = gradient + layer->weight_count;
    dots.c_row = 1;
    dots.b = worker->ones;
    dots.b_run = 0;
    product_dots(&dots);
}

// Slopes by a convolution's inputs are a convolution of those by its outputs, with a border, by the
// weights turned round.
static void conv_inputs(struct weft_train_worker *worker, const struct weft_train_layer *layer,
                        const float *weights, const struct held *held, float *in_slopes)
{
    uint32_t side = layer->side, window = side * side, border = side - 1;
    uint32_t outputs = layer->out.channels, inputs = layer->in.channels, depth = outputs * window;
    uint32_t width = layer->out.width + 2 * border, height = layer->out.height + 2 * border;
    size_t stride = worker->stride, row = layer->out.width * stride;
    for (uint32_t i = 0; i < inputs * depth; i++) {
        uint32_t c = i / depth, o = i / window % outputs, k = i % window;
        held->flipped[i] = weights[((size_t)o * inputs + c) * window + window - 1 - k];
    }
    for (uint32_t i = 0; i < outputs * layer->out.height; i++) {
        uint32_t o = i / layer->out.height, y = i % layer->out.height;
        memcpy(held->wide + ((o * height + y + border) * width + border) * stride,
               held->slopes + i * row, row * sizeof *held->slopes);
    }
    for (uint32_t y = 0; y < layer->in.height; y++) {
        for (uint32_t k = 0; k < depth; k++) {
            uint32_t o = k / window, ky = k / side % side, kx = k % side;
            worker->rows[k] = held->wide + ((o * height + y + ky) * width + kx) * stride;
        }
        product_run(&(struct product){
            .c = in_slopes + y * layer->in.width * stride,
            .c_row = layer->in.height * layer->in.width * stride,
            .a = held->flipped,
            .a_row = depth,
            .a_step = 1,
            .rows = worker->rows,
            .height = inputs,
            .width = (uint32_t)(layer->in.width * stride),
            .depth = depth,
        });
    }
}

static void dense_weights(float *gradient, struct weft_train_worker *worker,
                          const struct weft_train_layer *layer, const float *in,
                          const float *slopes)
{
    uint32_t inputs = size_of(layer->in), stride = worker->stride;
    size_t length = whole(inputs);
    for (uint32_t i = 0; i < inputs; i++) {
        for (uint32_t b = 0; b < worker->count; b++) {
            worker->across[b * length + i] = in[(size_t)i * stride + b];
        }
    }
    for (uint32_t b = 0; b < worker->count; b++) {
        worker->rows[b] = worker->across + b * length;
    }
    product_run(&(struct product){
        .c = gradient,
        .c_row = inputs,
        .a = slopes,
        .a_row = stride,
        .a_step = 1,
        .rows = worker->rows,
        .height = layer->out.channels,
        .width = inputs,
        .depth = worker->count,
    });
    for (uint32_t o = 0; o < layer->bias_count; o++) {
        float sum = 0;
        for (uint32_t b = 0; b < worker->count; b++) {
            sum += slopes[(size_t)o * stride + b];
        }
        gradient[layer->weight_count + o] = sum;
    }
}

static void dense_inputs(struct weft_train_worker *worker, const struct weft_train_layer *layer,
                         const float *weights, const float *slopes, float *in_slopes)
{
    uint32_t inputs = size_of(layer->in);
    for (uint32_t o = 0; o < layer->out.channels; o++) {
        worker->rows[o] = slopes + (size_t)o * worker->stride;
    }
    product_run(&(struct product){
        .c = in_slopes,
        .c_row = worker->stride,
        .a = weights,
        .a_row = 1,
        .a_step = inputs,
        .rows = worker->rows,
        .height = inputs,
        .width = worker->stride,
        .depth = layer->out.channels,
    });
}

static void pool_inputs(const struct weft_train_layer *layer, const struct held *held,
                        float *in_slopes, size_t stride)
{
    uint32_t side = layer->side;
    memset(in_slopes, 0, size_of(layer->in) * stride * sizeof *in_slopes);
    for (uint32_t at = 0; at < size_of(layer->out); at++) {
        float *corner = in_slopes + corner_of(layer, at) * stride;
        const float *slopes = held->slopes + at * stride;
        const uint8_t *largest = held->largest + at * stride;
        for (uint32_t k = 0; k < side * side; k++) {
            float *to = corner + (k / side * layer->in.width + k % side) * stride;
            for (size_t b = 0; b < stride; b++) {
                to[b] = largest[b] == k ? slopes[b] : 0;
            }
        }
    }
}

static void backward(float *gradient, struct weft_train_worker *worker,
                     const struct weft_train_net *net)
{
    for (uint32_t l = net->layer_count; l-- > 0;) {
        const struct weft_train_layer *layer = &net->layers[l];
        struct held *held = &worker->layers[l];
        const float *in = l == 0 ? worker->input : held[-1].values;
        const float *weights = net->numbers + layer->first;
        float *in_slopes = l == 0 ? NULL : held[-1].slopes;
        size_t count = layer->relu ? (size_t)size_of(layer->out) * worker->stride : 0;
        for (size_t i = 0; i < count; i++) {
            held->slopes[i] = held->values[i] > 0 ? held->slopes[i] : 0;
        }
        if (layer->kind == WEFT_TRAIN_CONV) {
            conv_weights(gradient + layer->first, worker, layer, in, held->slopes);
        } else if (layer->kind == WEFT_TRAIN_DENSE) {
            dense_weights(gradient + layer->first, worker, layer, in, held->slopes);
        }
        if (in_slopes == NULL) {
            continue; // nobody asks for the slopes by pixels
        }
        if (layer->kind == WEFT_TRAIN_CONV) {
            conv_inputs(worker, layer, weights, held, in_slopes);
        } else if (layer->kind == WEFT_TRAIN_DENSE) {
            dense_inputs(worker, layer, weights, held->slopes, in_slopes);
        } else {
            pool_inputs(layer, held, in_slopes, worker->stride);
        }
    }
}

// ---- the loss ----

// Of one image of the batch, whose slopes are left at the last layer: softmax minus the truth.
static double loss_of(const struct held *last, uint32_t outputs, size_t stride, uint32_t label)
{
    double sum = 0;
    float largest = last->values[0];
    for (uint32_t o = 1; o < outputs; o++) {
        largest = last->values[o * stride] > largest ? last->values[o * stride] : largest;
    }
    for (uint32_t o = 0; o < outputs; o++) {
        sum += exp((double)(last->values[o * stride] - largest));
    }
    for (uint32_t o = 0; o < outputs; o++) {
        double share = exp((double)(last->values[o * stride] - largest)) / sum;
        last->slopes[o * stride] = (float)(share - (o == label));
    }
    return log(sum) + (double)(largest - last->values[label * stride]);
}

double weft_train_gradient(float *gradient, struct weft_train_worker *worker,
                           const struct weft_train_net *net)
{
    const struct weft_train_layer *layer = &net->layers[net->layer_count - 1];
    struct held *last = &worker->layers[net->layer_count - 1];
    double loss = 0;
    forward(worker, net);
    memset(last->slopes, 0, (size_t)layer->out.channels * worker->stride * sizeof *last->slopes);
    for (uint32_t b = 0; b < worker->count; b++) {
        const struct held image = {.values = last->values + b, .slopes = last->slopes + b};
        loss += loss_of(&image, layer->out.channels, worker->stride, worker->labels[b]);
    }
    backward(gradient, worker, net);
    worker->count = 0;
    return loss;
}

uint32_t weft_train_count_right(struct weft_train_worker *worker, const struct weft_train_net *net,
                                const struct weft_images *images, const uint32_t *order,
                                uint32_t count)
{
    const struct weft_train_layer *layer = &net->layers[net->layer_count - 1];
    const float *values = worker->layers[net->layer_count - 1].values;
    uint32_t right = 0;
    for (uint32_t i = 0; i < count; i++) {
        weft_train_load(worker, images, order != NULL ? order[i] : i, 0, 0);
        if (worker->count < worker->capacity && i + 1 < count) {
            continue;
        }
        forward(worker, net);
        for (uint32_t b = 0; b < worker->count; b++) {
            uint32_t best = 0;
            for (uint32_t o = 1; o < layer->out.channels; o++) {
                bool more = values[o * worker->stride + b] > values[best * worker->stride + b];
                best = more ? o : best;
            }
            right += best == worker->labels[b];
        }
        worker->count = 0;
    }
    return right;
}
