// SPDX-License-Identifier: Apache-2.0
// "weft.photonic-compile/1" and "weft.photonic-run/1".

#include "weft/request/photonic_net.h"
#include "request/json/json.h"

#include <string.h>

static json_t *layer_json(const struct weft_photonic_compile_result *result, uint32_t i)
{
    const struct weft_photonic_row *row = &result->program.rows[i];
    const struct weft_photonic_layer_cycles *cycles = &result->layers[i];
    json_t *object = json_object();
    weft_set_text(object, "name", result->program.names[i]);
    weft_set_count(object, "inputs", row->inputs);
    weft_set_count(object, "outputs", row->outputs);
    weft_set_count(object, "pixels", row->pixels);
    weft_set_count(object, "results", row->results);
    weft_set_count(object, "words", row->words);
    weft_set_count(object, "macs", weft_photonic_row_macs(row));
    weft_set_count(object, "weight_bytes",
                   (uint64_t)row->words * row->outputs * result->program.lanes);
    weft_set_count(object, "data_cycles", cycles->data);
    weft_set_count(object, "stall_cycles", cycles->stalls);
    weft_set_count(object, "overhead_cycles", cycles->overhead);
    if (result->program.scales != NULL) {
        weft_set_real(object, "scale", result->program.scales[i]);
    }
    return object;
}

static bool is_verilog(const char *name)
{
    size_t length = strlen(name);
    return length > 2 && strcmp(name + length - 2, ".v") == 0;
}

const char *weft_request_photonic_compile_json(const struct weft_photonic_compile_result *result,
                                               struct weft_arena *arena)
{
    const struct weft_photonic_program *program = &result->program;
    uint64_t macs = 0, bytes = 0;
    for (uint32_t i = 0; i < program->row_count; i++) {
        const struct weft_photonic_row *row = &program->rows[i];
        macs += weft_photonic_row_macs(row);
        bytes += (uint64_t)row->words * row->outputs * program->lanes;
    }
    json_t *object = weft_set_object("weft.photonic-compile/1");
    weft_set_text(object, "name", program->name);
    weft_set_truth(object, "runs", result->runs);
    weft_set_count(object, "wavelengths", program->wavelengths);
    weft_set_count(object, "lanes", program->lanes);
    weft_set_count(object, "preamble", program->preamble);
    weft_set_count(object, "path_samples", result->path_samples);
    weft_set_count(object, "macs", macs);
    weft_set_count(object, "weight_bytes", bytes);
    weft_set_count(object, "total_cycles", result->total_cycles);
    json_t *layers = weft_set_list(object, "layers");
    for (uint32_t i = 0; i < program->row_count; i++) {
        json_array_append_new(layers, layer_json(result, i));
    }
    json_t *left = weft_set_list(object, "left");
    for (uint32_t i = 0; i < result->left_count; i++) {
        json_t *entry = json_object();
        weft_set_text(entry, "name", result->left[i].name);
        weft_set_text(entry, "kind", weft_operator_kind_name(result->left[i].kind));
        weft_set_text(entry, "reason", result->left[i].reason);
        json_array_append_new(left, entry);
    }
    weft_set_text(object, "output", result->output);
    json_t *files = weft_set_list(object, "files");
    json_t *verilog = weft_set_list(object, "verilog");
    for (uint32_t i = 0; i < result->file_count; i++) {
        const char *name = result->files[i].name;
        json_array_append_new(files, json_string(name));
        if (is_verilog(name)) {
            json_array_append_new(verilog, json_string(name));
        }
    }
    return weft_set_finish(object, arena);
}

static void add_rows(json_t *list, const int32_t *values, uint32_t rows, uint32_t columns)
{
    for (uint32_t i = 0; i < rows; i++) {
        json_t *row = json_array();
        for (uint32_t j = 0; j < columns; j++) {
            json_array_append_new(row, json_integer(values[(size_t)i * columns + j]));
        }
        json_array_append_new(list, row);
    }
}

const char *weft_request_photonic_run_json(const struct weft_photonic_run_result *result,
                                           struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.photonic-run/1");
    weft_set_text(object, "name", result->program.name);
    weft_set_count(object, "images", result->image_count);
    weft_set_count(object, "cycles", result->cycles);
    if (result->has_labels) {
        weft_set_count(object, "right", result->right_count);
        weft_set_real(object, "accuracy", (double)result->right_count / result->image_count);
    }
    if (result->executor.image_count > 0) {
        json_t *executor = json_object();
        weft_set_count(executor, "images", result->executor.image_count);
        weft_set_count(executor, "cycles", result->executor.cycles);
        weft_set_count(executor, "stalls", result->executor.stalls);
        weft_set(object, "executor", executor);
    }
    json_t *files = weft_set_list(object, "files");
    for (uint32_t i = 0; i < result->file_count; i++) {
        json_array_append_new(files, json_string(result->files[i]));
    }
    weft_set_counts(object, "classes", result->classes, result->image_count);
    add_rows(weft_set_list(object, "sums"), result->sums, result->image_count, result->sum_count);
    if (result->log_probabilities != NULL) {
        add_rows(weft_set_list(object, "log_probabilities"), result->log_probabilities,
                 result->image_count, result->sum_count);
    }
    return weft_set_finish(object, arena);
}
