// SPDX-License-Identifier: Apache-2.0
// The engines by name, and the twin, which needs no process of its own.

#include "engine.h"

const char *const weft_nic_engine_names[WEFT_NIC_ENGINES] = {"twin", "verilog", "stop-and-go"};

static bool run_twin(struct weft_photonic_outcome *outcome, struct weft_nic_engine *engine,
                     const struct weft_photonic_job *job)
{
    struct weft_photonic_twin *const *twins = engine->own;
    struct weft_photonic_result result;
    weft_photonic_twin_run(&result, twins[job->model - engine->models->models], job->input, NULL,
                           NULL);
    *outcome = (struct weft_photonic_outcome){result.class_index, result.sum_count, result.sums,
                                              result.highest};
    return true;
}

static void close_twin(struct weft_nic_engine *engine)
{
    engine->own = NULL;
}

bool weft_nic_twin_open(struct weft_nic_engine *engine, struct weft_arena *arena,
                        struct weft_error *error)
{
    static const struct weft_nic_engine_ops ops = {run_twin, close_twin};
    uint32_t samples;
    if (!weft_photonic_path_samples(&samples, &weft_photonic_path_default, error)) {
        return false;
    }
    struct weft_photonic_twin **twins =
        WEFT_NEW(arena, struct weft_photonic_twin *, engine->models->count);
    for (uint32_t i = 0; i < engine->models->count; i++) {
        twins[i] = weft_photonic_twin_build(&engine->models->models[i].program, samples, arena);
    }
    engine->ops = &ops;
    engine->own = twins;
    return true;
}

bool weft_nic_engine_open(struct weft_nic_engine *engine,
                          const struct weft_nic_engine_options *options,
                          const struct weft_photonic_models *models, struct weft_arena *arena,
                          struct weft_error *error)
{
    *engine = (struct weft_nic_engine){.models = models};
    switch (options->kind) {
    case WEFT_NIC_ENGINE_VERILOG:
        return weft_nic_verilog_open(engine, options->command, arena, error);
    case WEFT_NIC_ENGINE_STOP_AND_GO:
        return weft_nic_stop_and_go_open(engine, arena, error);
    case WEFT_NIC_ENGINE_TWIN:
    case WEFT_NIC_ENGINES:
        break;
    }
    return weft_nic_twin_open(engine, arena, error);
}
