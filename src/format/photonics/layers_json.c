// SPDX-License-Identifier: Apache-2.0
// Layer lists (JSON) with their weights, files of float32. O(bytes).

#include "format/syntax/json.h"
#include "weft/format/photonics.h"

#include <string.h>

enum { LAYERS_MAX = 1024 };

// An unknown key would be a number that its author believes to count.
static bool check_keys(const json_t *object, const char *const *keys, uint32_t count,
                       struct weft_error *error)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)object, key, value)
    {
        bool known = false;
        for (uint32_t i = 0; i < count; i++) {
            known = known || strcmp(key, keys[i]) == 0;
        }
        if (!known) {
            return weft_fail_word(error, "key", key, keys, count);
        }
    }
    return true;
}

static bool read_choice(uint32_t *choice, const json_t *object, const char *key,
                        const char *const *names, uint32_t count, struct weft_error *error)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL) {
        return true;
    }
    const char *text = json_string_value(value);
    for (uint32_t i = 0; text != NULL && i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            *choice = i;
            return true;
        }
    }
    return (text == NULL ? weft_fail(error, WEFT_INPUT, "of another type; write \"%s\"", names[0])
                         : weft_fail_word(error, key, text, names, count)) ||
           weft_wrap(error, "%s", key);
}

static bool read_count(uint32_t *value, const json_t *object, const char *key, uint32_t other,
                       struct weft_error *error)
{
    if (json_object_get(object, key) == NULL && other != WEFT_NONE) {
        *value = other;
        return true;
    }
    return weft_json_u32(value, object, key, 0, INT32_MAX, error);
}

static bool read_file(const char **name, const json_t *object, const char *key,
                      struct weft_arena *arena, struct weft_error *error)
{
    if (json_object_get(object, key) == NULL) {
        return true;
    }
    return weft_json_text(name, object, key, arena, error) &&
           (**name != '\0' || weft_fail(error, WEFT_INPUT, "%s: names no file", key));
}

static bool read_numbers(struct weft_photonic_layer *layer, const json_t *item,
                         struct weft_error *error)
{
    static const char *const dense[] = {"type",       "name",    "inputs", "outputs",
                                        "activation", "weights", "bias"};
    static const char *const conv[] = {"type",   "name",   "channels_in", "channels_out",
                                       "kernel", "stride", "padding",     "height",
                                       "width",  "bias",   "activation",  "weights"};
    static const char *const pool[] = {"type", "name", "size"};
    switch (layer->kind) {
    case WEFT_PHOTONIC_DENSE:
        return check_keys(item, dense, sizeof dense / sizeof *dense, error) &&
               read_count(&layer->inputs, item, "inputs", WEFT_NONE, error) &&
               read_count(&layer->outputs, item, "outputs", WEFT_NONE, error);
    case WEFT_PHOTONIC_CONV:
        return check_keys(item, conv, sizeof conv / sizeof *conv, error) &&
               read_count(&layer->channels_in, item, "channels_in", WEFT_NONE, error) &&
               read_count(&layer->channels_out, item, "channels_out", WEFT_NONE, error) &&
               read_count(&layer->kernel, item, "kernel", WEFT_NONE, error) &&
               read_count(&layer->stride, item, "stride", 1, error) &&
               read_count(&layer->padding, item, "padding", 0, error) &&
               read_count(&layer->height, item, "height", WEFT_NONE, error) &&
               read_count(&layer->width, item, "width", WEFT_NONE, error);
    case WEFT_PHOTONIC_MAXPOOL:
        break;
    }
    return check_keys(item, pool, sizeof pool / sizeof *pool, error) &&
           read_count(&layer->size, item, "size", WEFT_NONE, error);
}

static bool read_layer(struct weft_photonic_layer *layer, struct weft_photonic_layer_files *files,
                       const json_t *item, struct weft_arena *arena, struct weft_error *error)
{
    static const char *const kinds[] = {"dense", "conv", "maxpool"};
    static const char *const activations[] = {"linear", "relu", "softmax", "none"};
    uint32_t kind = WEFT_NONE, activation = WEFT_PHOTONIC_LINEAR;
    if (!json_is_object(item)) {
        return weft_fail(error, WEFT_INPUT, "not an object; write {\"type\": \"dense\", ...}");
    }
    if (!read_choice(&kind, item, "type", kinds, 3, error)) {
        return false;
    }
    if (kind == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT, "type: missing; write \"dense\"");
    }
    layer->kind = (enum weft_photonic_kind)kind;
    if (!read_numbers(layer, item, error) ||
        !read_choice(&activation, item, "activation", activations, 4, error) ||
        !read_file(&layer->name, item, "name", arena, error) ||
        !read_file(&files->weights, item, "weights", arena, error) ||
        !read_file(&files->bias, item, "bias", arena, error)) {
        return false;
    }
    // "none" is another word for "linear", behind the enum's own.
    layer->activation = activation > WEFT_PHOTONIC_SOFTMAX
                            ? WEFT_PHOTONIC_LINEAR
                            : (enum weft_photonic_activation)activation;
    return files->bias == NULL || files->weights != NULL ||
           weft_fail(error, WEFT_INPUT, "bias: the layer has no weights");
}

static bool read_root(struct weft_photonic_layers *layers, const json_t *root,
                      struct weft_arena *arena, struct weft_error *error)
{
    static const char *const keys[] = {"layers", "scale", "input_unit", "name", "schema"};
    static const char *const scales[] = {"global", "layer"};
    const json_t *items = NULL;
    uint32_t scale = 0;
    struct weft_photonic_net *net = &layers->net;
    if (!weft_json_array(&items, root, "layers", error) ||
        !check_keys(root, keys, sizeof keys / sizeof *keys, error) ||
        !read_choice(&scale, root, "scale", scales, 2, error) ||
        !read_file(&net->name, root, "name", arena, error) ||
        (json_object_get(root, "input_unit") != NULL &&
         !weft_json_real(&net->input_unit, root, "input_unit", 1e-12, 1e12, error))) {
        return false;
    }
    size_t count = json_array_size(items);
    if (count == 0 || count > LAYERS_MAX) {
        return weft_fail(error, WEFT_INPUT, "layers: %zu are not from 1 to %u", count, LAYERS_MAX);
    }
    struct weft_photonic_layer *list = WEFT_NEW(arena, struct weft_photonic_layer, count);
    struct weft_photonic_layer_files *files =
        WEFT_NEW(arena, struct weft_photonic_layer_files, count);
    for (size_t i = 0; i < count; i++) {
        if (!read_layer(&list[i], &files[i], json_array_get(items, i), arena, error)) {
            return weft_wrap(error, "layers[%zu]", i);
        }
    }
    net->layer_scales = scale == 1;
    net->layers = list;
    net->layer_count = (uint32_t)count;
    layers->files = files;
    return true;
}

bool weft_photonic_layers_read(struct weft_photonic_layers *layers, const char *data, size_t length,
                               struct weft_arena *arena, struct weft_error *error)
{
    json_t *root = NULL;
    if (!weft_json_parse(&root, data, length, error)) {
        return false;
    }
    struct weft_photonic_layers found = {.files = NULL};
    bool fine = read_root(&found, root, arena, error);
    json_decref(root);
    if (fine) {
        *layers = found;
    }
    return fine;
}

// ---- weights ----

struct weights_folder {
    const char *path; // of the folder, with its / or empty
    struct weft_arena *arena;
};

static bool load_numbers(const float **numbers, const char *name, uint64_t count,
                         const struct weights_folder *folder, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    const char *path =
        *name == '/' ? name : weft_arena_format(folder->arena, "%s%s", folder->path, name);
    if (!weft_file_load(&data, &length, path, WEFT_FILE_TRACE_BYTES, folder->arena, error)) {
        return false;
    }
    if (length != count * sizeof(float)) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: %zu bytes are not the %llu of %llu numbers of float32", path, length,
                         (unsigned long long)count * sizeof(float), (unsigned long long)count);
    }
    float *copy = WEFT_NEW_RAW(folder->arena, float, count + 1);
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *byte = (const uint8_t *)data + i * sizeof(float);
        uint32_t bits =
            byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
        memcpy(&copy[i], &bits, sizeof bits);
    }
    *numbers = copy;
    return true;
}

bool weft_photonic_layers_load(struct weft_photonic_net *net, const char *path, const char *folder,
                               struct weft_arena *arena, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    struct weft_photonic_layers read;
    if (!weft_file_load(&data, &length, path, 0, arena, error)) {
        return false;
    }
    if (!weft_photonic_layers_read(&read, data, length, arena, error)) {
        return weft_wrap(error, "%s", path);
    }
    const char *slash = strrchr(path, '/');
    struct weights_folder from = {
        folder != NULL
            ? weft_arena_format(arena, "%s/", folder)
            : weft_arena_text(arena, path, slash == NULL ? 0 : (size_t)(slash - path) + 1),
        arena};
    struct weft_photonic_layer *layers =
        WEFT_NEW(arena, struct weft_photonic_layer, read.net.layer_count);
    for (uint32_t i = 0; i < read.net.layer_count; i++) {
        struct weft_photonic_layer *layer = &layers[i];
        *layer = read.net.layers[i];
        bool conv = layer->kind == WEFT_PHOTONIC_CONV;
        uint64_t inputs = conv ? (uint64_t)layer->kernel * layer->kernel : layer->inputs;
        uint64_t outputs = conv ? layer->channels_out : layer->outputs;
        bool over = conv && __builtin_mul_overflow(inputs, layer->channels_in, &inputs);
        uint64_t count = 0;
        over = over || __builtin_mul_overflow(inputs, outputs, &count) || count > UINT64_MAX / 8;
        const struct weft_photonic_layer_files *files = &read.files[i];
        if (files->weights != NULL &&
            (over ? !weft_fail(error, WEFT_INPUT, "more weights than a file can have")
                  : !load_numbers(&layer->weights, files->weights, count, &from, error))) {
            return weft_wrap(error, "%s: layers[%u].weights", path, i);
        }
        if (files->bias != NULL &&
            !load_numbers(&layer->bias, files->bias, outputs, &from, error)) {
            return weft_wrap(error, "%s: layers[%u].bias", path, i);
        }
    }
    read.net.layers = layers;
    *net = read.net;
    return true;
}
