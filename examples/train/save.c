// SPDX-License-Identifier: Apache-2.0
// A trained net as files: layers.json, which weft photonic compile reads, and its weights.

#include "train.h"

#include "weft/format.h"

#include <string.h>

static bool save_numbers(const char *folder, const char *name, const float *values, uint32_t count,
                         struct weft_arena arena, struct weft_error *error)
{
    char *bytes = WEFT_NEW(&arena, char, (size_t)count * 4);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        for (uint32_t b = 0; b < 4; b++) {
            bytes[4 * i + b] = (char)(bits >> (8 * b));
        }
    }
    return weft_file_save(weft_arena_format(&arena, "%s/%s", folder, name), bytes,
                          (size_t)count * 4, error);
}

static void add_layer(struct weft_text *text, const struct weft_train_layer *layer,
                      const char *name)
{
    const struct weft_train_shape *in = &layer->in;
    if (layer->kind == WEFT_TRAIN_POOL) {
        weft_text_add(text, "  {\"type\": \"maxpool\", \"size\": %u}", layer->side);
        return;
    }
    if (layer->kind == WEFT_TRAIN_CONV) {
        weft_text_add(text,
                      "  {\"type\": \"conv\", \"channels_in\": %u, \"channels_out\": %u, "
                      "\"kernel\": %u, \"stride\": 1,\n   \"padding\": 0, \"height\": %u, "
                      "\"width\": %u,\n",
                      in->channels, layer->out.channels, layer->side, in->height, in->width);
    } else {
        weft_text_add(text, "  {\"type\": \"dense\", \"inputs\": %u, \"outputs\": %u,\n",
                      in->channels * in->height * in->width, layer->out.channels);
    }
    weft_text_add(text,
                  "   \"activation\": \"%s\", \"weights\": \"%s.f32\", \"bias\": \"%s_bias.f32\"}",
                  layer->relu ? "relu" : "linear", name, name);
}

bool train_save(const struct weft_train_net *net, const char *folder, struct weft_arena *arena,
                struct weft_error *error)
{
    const char *names[64];
    for (uint32_t l = 0; l < net->layer_count; l++) {
        const struct weft_train_layer *layer = &net->layers[l];
        const float *numbers = net->numbers + layer->first;
        names[l] = weft_arena_format(arena, "%s_%u",
                                     layer->kind == WEFT_TRAIN_CONV ? "conv" : "dense", l + 1);
        const char *bias = weft_arena_format(arena, "%s_bias.f32", names[l]);
        const char *weights = weft_arena_format(arena, "%s.f32", names[l]);
        if (layer->kind != WEFT_TRAIN_POOL &&
            (!save_numbers(folder, weights, numbers, layer->weight_count, *arena, error) ||
             !save_numbers(folder, bias, numbers + layer->weight_count, layer->bias_count, *arena,
                           error))) {
            return false;
        }
    }
    const char *path = weft_arena_format(arena, "%s/layers.json", folder);
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\"scale\": \"layer\",\n \"layers\": [\n");
    for (uint32_t l = 0; l < net->layer_count; l++) {
        add_layer(&text, &net->layers[l], names[l]);
        weft_text_add(&text, l + 1 < net->layer_count ? ",\n" : "\n");
    }
    weft_text_add(&text, " ]}\n");
    return weft_file_save(path, text.data, text.length, error);
}
