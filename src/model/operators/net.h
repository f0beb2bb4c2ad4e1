// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_MODEL_OPERATORS_NET_H
#define WEFT_MODEL_OPERATORS_NET_H

// A network under construction: what the builders of the zoo's families write specs with. Private
// to the model room; a user of the library fills struct weft_operator_spec and calls
// weft_model_build itself.

#include "weft/model.h"

struct weft_net {
    struct weft_arena *arena;
    struct weft_operator_spec *specs;
    uint32_t count;
    uint32_t capacity;
};

// Room for `capacity` operators.
void weft_net_init(struct weft_net *net, uint32_t capacity, struct weft_arena *arena);

// Each adds an operator and returns its index. Names are taken as they are.
uint32_t weft_net_add(struct weft_net *net, const struct weft_operator_spec *spec);
uint32_t weft_net_input(struct weft_net *net, const char *name, uint64_t features);
// An operator of one input.
uint32_t weft_net_after(struct weft_net *net, uint32_t input, struct weft_operator_spec spec);
// An operator of several.
uint32_t weft_net_join(struct weft_net *net, const uint32_t *inputs, uint32_t count,
                       struct weft_operator_spec spec);
// "prefix_index", in the net's arena.
const char *weft_net_name(struct weft_net *net, const char *prefix, uint32_t index);

// `layers` dense layers with biases, named prefix_0, ..., a single one prefix.
uint32_t weft_net_mlp(struct weft_net *net, uint32_t input, const char *prefix, uint32_t layers,
                      uint64_t units);
// A table looked up by an input of `bag` indices of its own: two operators.
uint32_t weft_net_table(struct weft_net *net, const char *name, uint64_t rows, uint64_t dim,
                        uint64_t bag);

bool weft_net_build(struct weft_model *model, const struct weft_model_head *head,
                    struct weft_net *net, struct weft_error *error) WEFT_MUST_USE;

// Fails with INPUT unless low <= value <= high: "tables: 0; give 1 to 4096".
bool weft_net_range(const char *what, uint64_t value, uint64_t low, uint64_t high,
                    struct weft_error *error) WEFT_MUST_USE;

#endif
