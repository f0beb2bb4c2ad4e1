// SPDX-License-Identifier: Apache-2.0
// "weft.optics-maxmin/1", "weft.optics-color/1", "weft.optics-moe/1": circuits as matrices,
// switches as permutations, wavelengths of arcs. docs/circuits.md says what each key means.

#include "weft/request/optics.h"
#include "request/json/json.h"

static void set_matrix(json_t *object, const char *key, const uint32_t *values, uint32_t rows,
                       uint32_t columns)
{
    json_t *list = weft_set_list(object, key);
    for (uint32_t i = 0; i < rows; i++) {
        json_array_append_new(list, weft_counts(values + (size_t)i * columns, columns));
    }
}

const char *weft_request_maxmin_json(const struct weft_maxmin_result *result,
                                     struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.optics-maxmin/1");
    weft_set_count(object, "nodes", result->node_count);
    weft_set_count(object, "ports", result->port_count);
    weft_set_real(object, "ratio", result->ratio);
    set_matrix(object, "circuits", result->circuits, result->node_count, result->node_count);
    set_matrix(object, "permutations", result->permutations, result->port_count,
               result->node_count);
    return weft_set_finish(object, arena);
}

const char *weft_request_color_json(const struct weft_color_result *result,
                                    struct weft_arena *arena)
{
    const struct weft_ring_coloring *coloring = &result->coloring;
    json_t *object = weft_set_object("weft.optics-color/1");
    weft_set_count(object, "ring", result->ring);
    weft_set_count(object, "wavelengths", coloring->wavelengths);
    weft_set_count(object, "load", coloring->load);
    weft_set_count(object, "lower_bound", coloring->bound);
    weft_set_truth(object, "exact", coloring->wavelengths == coloring->bound);
    weft_set_counts(object, "colors", coloring->colors, result->arc_count);
    if (result->both_ways) {
        json_t *turned = weft_set_list(object, "turned");
        for (uint32_t a = 0; a < result->arc_count; a++) {
            json_array_append_new(turned, json_boolean(coloring->turned[a]));
        }
    }
    return weft_set_finish(object, arena);
}

const char *weft_request_moe_json(const struct weft_moe_result *result, struct weft_arena *arena)
{
    json_t *object = weft_set_object("weft.optics-moe/1");
    weft_set_count(object, "nodes", result->node_count);
    weft_set_real(object, "time", result->split.time);
    weft_set_real(object, "ideal", result->split.ideal);
    weft_set_real(object, "lower_bound", result->split.bound);
    set_matrix(object, "circuits", result->circuits, result->node_count, result->node_count);
    return weft_set_finish(object, arena);
}
