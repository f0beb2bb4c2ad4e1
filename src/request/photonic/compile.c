// SPDX-License-Identifier: Apache-2.0
// A layer list or a model of the zoo as a program for the datapath of light: counted, and where it
// has weights written as a folder, whole or not at all.

#include "request/photonic/files.h"

#include <string.h>

static bool is_list(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

static bool compile_list(struct weft_photonic_compile_result *found,
                         const struct weft_photonic_compile_request *request,
                         const struct weft_environment *base)
{
    struct weft_photonic_net net;
    if (!weft_photonic_layers_load(&net, request->model, request->weights, base->arena,
                                   base->error)) {
        return false;
    }
    if (!weft_photonic_compile(&found->program, &net, &request->options, base->arena, base->scratch,
                               base->error)) {
        return weft_wrap(base->error, "%s", request->model);
    }
    found->runs = found->program.weights != NULL;
    return true;
}

static bool count_model(struct weft_photonic_compile_result *found,
                        const struct weft_photonic_compile_request *request,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_model model;
    struct weft_photonic_model_count count;
    if (!weft_request_model(&model, request->model, environment) ||
        !weft_photonic_count_model(&count, &model, &request->options, base->arena, base->scratch,
                                   base->error)) {
        return false;
    }
    found->program = count.program;
    found->left_count = count.left_count;
    found->left = count.left;
    return true;
}

bool weft_request_photonic_compile(struct weft_photonic_compile_result *result,
                                   const struct weft_photonic_compile_request *request,
                                   struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_photonic_compile_result found = {.output = request->output};
    const struct weft_photonic_limits *limits = &request->options.limits;
    bool stated = request->weights != NULL || limits->weight_bytes > 0 ||
                  limits->activation_count > 0 || limits->accumulator_bits > 0;
    if (stated && !is_list(request->model)) {
        return weft_fail(base->error, WEFT_USAGE,
                         "{weights}, {memory}, {buffer} and {accumulator} are of a layer list; "
                         "'%.60s' is a model, which is counted",
                         request->model);
    }
    if (is_list(request->model) ? !compile_list(&found, request, base)
                                : !count_model(&found, request, environment)) {
        return false;
    }
    if (request->output != NULL && !found.runs) {
        return weft_fail(base->error, WEFT_USAGE,
                         "'%.60s' has no weights, so that there are no images for {output}; leave "
                         "it out to count",
                         request->model);
    }
    if (!weft_photonic_path_samples(&found.path_samples, &weft_photonic_path_default,
                                    base->error)) {
        return false;
    }
    struct weft_photonic_layer_cycles *layers =
        WEFT_NEW(base->arena, struct weft_photonic_layer_cycles, found.program.row_count);
    found.total_cycles = weft_photonic_cycles(layers, &found.program, found.path_samples);
    found.layers = layers;
    if (request->output != NULL &&
        (!photonic_program_files(&found.files, &found.file_count, &found.program, base->arena,
                                 base->error) ||
         !weft_files_save(request->output, found.files, found.file_count, base->scratch,
                          base->error))) {
        return false;
    }
    *result = found;
    return true;
}
