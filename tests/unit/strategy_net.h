// SPDX-License-Identifier: Apache-2.0
#ifndef STRATEGY_NET_H
#define STRATEGY_NET_H

// Small networks for tests of strategies, priced by the roofline.

#include "weft/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct net {
    uint32_t count;
    struct weft_operator_spec specs[64];
    uint32_t inputs[64][8];
    char names[64][16];
};

static inline uint32_t net_add(struct net *net, enum weft_operator_kind kind, uint64_t units,
                               uint32_t input_count, const uint32_t *inputs)
{
    uint32_t op = net->count++;
    snprintf(net->names[op], sizeof net->names[op], "op%u", op);
    struct weft_operator_spec spec = {.name = net->names[op],
                                      .kind = kind,
                                      .dtype = WEFT_FP32,
                                      .input_count = input_count,
                                      .inputs = net->inputs[op]};
    for (uint32_t i = 0; i < input_count; i++) {
        net->inputs[op][i] = inputs[i];
    }
    if (kind == WEFT_OP_INPUT) {
        spec.rank = 1;
        spec.shape[0] = units;
    } else {
        spec.units = units;
    }
    if (kind == WEFT_OP_EMBEDDING) {
        spec.rows = 100000;
    }
    spec.bias = kind == WEFT_OP_DENSE;
    net->specs[op] = spec;
    return op;
}

static inline uint32_t net_after(struct net *net, enum weft_operator_kind kind, uint64_t units,
                                 uint32_t input)
{
    return net_add(net, kind, units, 1, &input);
}

static inline struct weft_model net_build(const struct net *net, uint64_t batch,
                                          struct weft_arena *arena)
{
    struct weft_model model;
    struct weft_error error;
    if (!weft_model_build(&model, &(struct weft_model_head){"net", "test", batch}, net->specs,
                          net->count, arena, &error)) {
        fail_msg("%s", error.message);
    }
    return model;
}

static inline struct weft_strategy_setting net_setting(void)
{
    struct weft_error error;
    struct weft_strategy_setting setting = {.cost = {.accelerators_per_server = 4},
                                            .inside_Bps = 25e9};
    if (!weft_accelerator_named(&setting.cost.accelerator, "A100", &error)) {
        fail_msg("%s", error.message);
    }
    return setting;
}

static inline struct weft_cluster net_cluster(uint32_t server_count, uint32_t degree)
{
    struct weft_cluster cluster;
    struct weft_error error;
    if (!weft_cluster_build(&cluster, server_count, degree, 12.5e9, &error)) {
        fail_msg("%s", error.message);
    }
    return cluster;
}

// The study of a test whose locals are called so.
#define NET_STUDY (&(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting})

#endif
