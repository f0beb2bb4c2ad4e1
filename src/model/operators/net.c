// SPDX-License-Identifier: Apache-2.0
// Networks under construction, for the builders of the zoo: specs are collected in an array of
// known capacity, small helpers add what most networks have (inputs, multi-layer perceptrons,
// tables), and the model is built from them at the end. O(1) an operator.

#include "net.h"

#include <string.h>

void weft_net_init(struct weft_net *net, uint32_t capacity, struct weft_arena *arena)
{
    *net = (struct weft_net){
        .arena = arena,
        .specs = WEFT_NEW(arena, struct weft_operator_spec, capacity),
        .capacity = capacity,
    };
}

uint32_t weft_net_add(struct weft_net *net, const struct weft_operator_spec *spec)
{
    WEFT_ASSERT(net->count < net->capacity);
    net->specs[net->count] = *spec;
    return net->count++;
}

uint32_t weft_net_join(struct weft_net *net, const uint32_t *inputs, uint32_t count,
                       struct weft_operator_spec spec)
{
    uint32_t *copy = WEFT_NEW(net->arena, uint32_t, count);
    memcpy(copy, inputs, count * sizeof copy[0]);
    spec.input_count = count;
    spec.inputs = copy;
    return weft_net_add(net, &spec);
}

uint32_t weft_net_after(struct weft_net *net, uint32_t input, struct weft_operator_spec spec)
{
    return weft_net_join(net, &input, 1, spec);
}

const char *weft_net_name(struct weft_net *net, const char *prefix, uint32_t index)
{
    return weft_arena_format(net->arena, "%s_%u", prefix, index);
}

uint32_t weft_net_input(struct weft_net *net, const char *name, uint64_t features)
{
    const struct weft_operator_spec spec = {
        .name = name, .kind = WEFT_OP_INPUT, .rank = 1, .shape = {features}};
    return weft_net_add(net, &spec);
}

uint32_t weft_net_mlp(struct weft_net *net, uint32_t input, const char *prefix, uint32_t layers,
                      uint64_t units)
{
    for (uint32_t i = 0; i < layers; i++) {
        input = weft_net_after(net, input,
                               (struct weft_operator_spec){
                                   .name = layers == 1 ? prefix : weft_net_name(net, prefix, i),
                                   .kind = WEFT_OP_DENSE,
                                   .units = units,
                                   .bias = true});
    }
    return input;
}

uint32_t weft_net_table(struct weft_net *net, const char *name, uint64_t rows, uint64_t dim,
                        uint64_t bag)
{
    const struct weft_operator_spec indices = {
        .name = weft_arena_format(net->arena, "%s_indices", name),
        .kind = WEFT_OP_INPUT,
        .dtype = WEFT_INT64,
        .rank = 1,
        .shape = {bag},
    };
    uint32_t input = weft_net_add(net, &indices);
    return weft_net_after(net, input,
                          (struct weft_operator_spec){
                              .name = name, .kind = WEFT_OP_EMBEDDING, .rows = rows, .units = dim});
}

bool weft_net_build(struct weft_model *model, const struct weft_model_head *head,
                    struct weft_net *net, struct weft_error *error)
{
    return weft_model_build(model, head, net->specs, net->count, net->arena, error);
}

bool weft_net_range(const char *what, uint64_t value, uint64_t low, uint64_t high,
                    struct weft_error *error)
{
    if (value >= low && value <= high) {
        return true;
    }
    return weft_fail(error, WEFT_INPUT, "%s: %llu; give %llu to %llu", what,
                     (unsigned long long)value, (unsigned long long)low, (unsigned long long)high);
}
