// SPDX-License-Identifier: Apache-2.0
// A net's layers as rows: shapes are followed from layer to layer, pools become part of the
// convolution before them, a dense layer is a convolution of kernel 1 over a map of 1 x 1.

#include "photonics/net/rows.h"

enum {
    SIDE_MAX = 65535, // of a map
    KERNEL_MAX = 255,
    VALUES_MAX = 1 << 30, // of one layer: inputs, sums
    DENSE_MAX = 1 << 22,  // products of a sum: 2^22 * 255 and a bias of 2^30 are below 2^31
};

// What a layer is given.
struct map {
    uint32_t height, width, channels;
    bool is_known; // false before the first layer
    bool can_pool; // behind a convolution
};

bool net_wrap_layer(struct weft_error *error, const struct weft_photonic_net *net, uint32_t layer)
{
    const char *name = net->layers[layer].name;
    return name == NULL || *name == '\0' ? weft_wrap(error, "layers[%u]", layer)
                                         : weft_wrap(error, "layers[%u] (%s)", layer, name);
}

static bool check_side(const char *key, uint32_t value, uint32_t low, uint32_t high,
                       struct weft_error *error)
{
    return (value >= low && value <= high) ||
           weft_fail(error, WEFT_INPUT, "%s: %u is not from %u to %u", key, value, low, high);
}

static bool check_dense(const struct weft_photonic_layer *layer, const struct map *map,
                        struct weft_error *error)
{
    if (!check_side("inputs", layer->inputs, 1, DENSE_MAX, error) ||
        !check_side("outputs", layer->outputs, 1, DENSE_MAX, error)) {
        return false;
    }
    uint64_t given = (uint64_t)map->height * map->width * map->channels;
    if (map->is_known && given != layer->inputs) {
        return weft_fail(error, WEFT_INPUT,
                         "inputs: %u do not follow %u x %u x %u of the layer before; write %llu",
                         layer->inputs, map->channels, map->height, map->width,
                         (unsigned long long)given);
    }
    return true;
}

static bool check_conv(const struct weft_photonic_layer *layer, const struct map *map,
                       struct weft_error *error)
{
    if (!check_side("channels_in", layer->channels_in, 1, DENSE_MAX, error) ||
        !check_side("channels_out", layer->channels_out, 1, DENSE_MAX, error) ||
        !check_side("height", layer->height, 1, SIDE_MAX, error) ||
        !check_side("width", layer->width, 1, SIDE_MAX, error) ||
        !check_side("kernel", layer->kernel, 1, KERNEL_MAX, error) ||
        !check_side("stride", layer->stride, 1, KERNEL_MAX, error) ||
        !check_side("padding", layer->padding, 0, layer->kernel - 1, error)) {
        return false;
    }
    uint32_t smaller = layer->height < layer->width ? layer->height : layer->width;
    if (layer->kernel > smaller + 2 * layer->padding) {
        return weft_fail(error, WEFT_INPUT,
                         "kernel: %u is larger than its input of %u x %u with padding %u",
                         layer->kernel, layer->height, layer->width, layer->padding);
    }
    if (map->is_known && (layer->channels_in != map->channels || layer->height != map->height ||
                          layer->width != map->width)) {
        return weft_fail(error, WEFT_INPUT,
                         "channels_in, height, width: %u x %u x %u do not follow %u x %u x %u of "
                         "the layer before",
                         layer->channels_in, layer->height, layer->width, map->channels,
                         map->height, map->width);
    }
    return true;
}

static bool check_activation(const struct weft_photonic_layer *layer, bool is_last,
                             struct weft_error *error)
{
    if (!is_last && layer->activation != WEFT_PHOTONIC_RELU) {
        return weft_fail(error, WEFT_INPUT,
                         "activation: only the last layer may be without relu, since light has no "
                         "negative intensity; write \"relu\"");
    }
    return true;
}

// A layer whose weights are products: DENSE or CONV.
static bool build_row(struct weft_photonic_row *row, const struct weft_photonic_layer *layer,
                      const struct map *map, uint32_t lanes, struct weft_error *error)
{
    bool is_dense = layer->kind == WEFT_PHOTONIC_DENSE;
    if (is_dense ? !check_dense(layer, map, error) : !check_conv(layer, map, error)) {
        return false;
    }
    *row = (struct weft_photonic_row){
        .outputs = is_dense ? layer->outputs : layer->channels_out,
        .height = is_dense ? 1 : layer->height,
        .width = is_dense ? 1 : layer->width,
        .channels_in = is_dense ? layer->inputs : layer->channels_in,
        .kernel = is_dense ? 1 : layer->kernel,
        .stride = is_dense ? 1 : layer->stride,
        .padding = is_dense ? 0 : layer->padding,
        .pool = 1,
    };
    WEFT_ASSERT(row->stride > 0);
    uint64_t patch = (uint64_t)row->kernel * row->kernel * row->channels_in;
    uint64_t inputs = (uint64_t)row->height * row->width * row->channels_in;
    uint32_t out_height = (row->height + 2 * row->padding - row->kernel) / row->stride + 1;
    row->out_width = (row->width + 2 * row->padding - row->kernel) / row->stride + 1;
    uint64_t pixels = (uint64_t)out_height * row->out_width;
    if (patch > DENSE_MAX || inputs > VALUES_MAX || pixels > VALUES_MAX ||
        pixels * row->outputs > VALUES_MAX) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "%llu inputs, %llu products a sum and %llu sums: %u, %u and %u are the "
                         "most; a smaller map would do",
                         (unsigned long long)inputs, (unsigned long long)patch,
                         (unsigned long long)pixels * row->outputs, VALUES_MAX, DENSE_MAX,
                         VALUES_MAX);
    }
    row->words = (uint32_t)((patch + lanes - 1) / lanes);
    row->inputs = (uint32_t)inputs;
    row->run_bytes = row->kernel * row->channels_in;
    row->pixels = (uint32_t)pixels;
    row->sums = (uint32_t)pixels * row->outputs;
    row->results = row->sums;
    row->pooled_width = row->out_width;
    row->pooled_height = out_height;
    return true;
}

// What a window drops at the rim it drops in two steps as in one: floor(floor(n / a) / b) =
// floor(n / (a b)), so pools behind each other are one.
static bool add_pool(struct weft_photonic_row *row, const struct weft_photonic_layer *layer,
                     const struct map *map, struct weft_error *error)
{
    if (row == NULL || !map->can_pool) {
        return weft_fail(error, WEFT_INPUT,
                         "maxpool: it can only stand behind a conv, whose results it thins");
    }
    uint32_t smaller =
        row->pooled_width < row->pooled_height ? row->pooled_width : row->pooled_height;
    if (!check_side("size", layer->size, 1, smaller, error)) {
        return false;
    }
    row->pool *= layer->size;
    row->pooled_width /= layer->size;
    row->pooled_height /= layer->size;
    row->results = row->pooled_width * row->pooled_height * row->outputs;
    return true;
}

static void set_flags(struct weft_photonic_row *row, const struct weft_photonic_layer *layer)
{
    row->flags = (layer->activation == WEFT_PHOTONIC_RELU ? WEFT_PHOTONIC_FLAG_RELU : 0) |
                 (layer->activation == WEFT_PHOTONIC_SOFTMAX ? WEFT_PHOTONIC_FLAG_SOFTMAX : 0);
}

static bool is_last_row(const struct weft_photonic_net *net, uint32_t layer)
{
    for (uint32_t i = layer + 1; i < net->layer_count; i++) {
        if (net->layers[i].kind != WEFT_PHOTONIC_MAXPOOL) {
            return false;
        }
    }
    return true;
}

bool net_rows_build(struct weft_photonic_row *rows, struct net_source *sources, uint32_t *row_count,
                    const struct weft_photonic_net *net, uint32_t lanes, struct weft_error *error)
{
    struct map map = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < net->layer_count; i++) {
        const struct weft_photonic_layer *layer = &net->layers[i];
        struct weft_photonic_row *row = count == 0 ? NULL : &rows[count - 1];
        if (layer->kind == WEFT_PHOTONIC_MAXPOOL) {
            if (!add_pool(row, layer, &map, error)) {
                return net_wrap_layer(error, net, i);
            }
        } else {
            row = &rows[count];
            if (!check_activation(layer, is_last_row(net, i), error) ||
                !build_row(row, layer, &map, lanes, error)) {
                return net_wrap_layer(error, net, i);
            }
            set_flags(row, layer);
            sources[count++] = (struct net_source){i, map.height, map.width, map.channels};
        }
        WEFT_ASSERT(row != NULL); // a pool before the first product was refused
        map = (struct map){row->pooled_height, row->pooled_width, row->outputs, true,
                           layer->kind != WEFT_PHOTONIC_DENSE};
    }
    if (count == 0) {
        return weft_fail(error, WEFT_INPUT, "layers: there is none that multiplies");
    }
    rows[count - 1].flags |= WEFT_PHOTONIC_FLAG_LAST;
    *row_count = count;
    return true;
}
