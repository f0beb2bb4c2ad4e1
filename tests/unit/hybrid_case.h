// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TEST_HYBRID_CASE_H
#define WEFT_TEST_HYBRID_CASE_H

// A model of the zoo on a cluster, with the arenas that tests of hybrid strategies need.

#include "../fresh_arenas.h"
#include "strategy/hybrid/hybrid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_error error;

static struct weft_model model;
static struct weft_cluster cluster;
static struct weft_strategy_setting setting;

// Sets model, cluster and setting; `sequence` 0 = the model's own.
static inline void set_case(const char *name, uint64_t batch, uint64_t sequence, uint32_t servers,
                            const char *accelerator)
{
    if (!weft_model_named(&model, name, &arena, &error)) {
        fail_msg("%s", error.message);
    }
    if (sequence != 0 && sequence != model.transformer->sequence) {
        struct weft_transformer stack = *model.transformer;
        stack.sequence = sequence;
        assert_true(weft_model_build_transformer(
            &model, &(struct weft_model_head){name, model.source, batch}, &stack, &arena, &error));
    }
    assert_true(weft_model_set_batch(&model, batch, &error));
    assert_true(weft_cluster_build(&cluster, servers, 1, 8 * 25e9, &error));
    cluster.accelerators_per_server = 8;
    setting = (struct weft_strategy_setting){.optimizer = WEFT_ADAM};
    assert_true(weft_accelerator_named(&setting.cost.accelerator, accelerator, &error));
}

static inline struct weft_hybrid words(const char *text)
{
    struct weft_hybrid hybrid = {0};
    uint32_t accelerators = cluster.server_count * cluster.accelerators_per_server;
    if (!weft_hybrid_parse(&hybrid, text, accelerators, &error)) {
        fail_msg("%s: %s", text, error.message);
    }
    return hybrid;
}

#endif
