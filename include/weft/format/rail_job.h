// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_RAIL_JOB_H
#define WEFT_FORMAT_RAIL_JOB_H

// Jobs of data, pipeline and expert parallelism on photonic rails (YAML), and models' plans for
// such rails (JSON): docs/photonic-rails.md.

#include "weft/base.h"
#include "weft/plan/rails.h"

WEFT_API_BEGIN

// Fails with INPUT, "line N: ...; remedy". What no key says otherwise: dp, pp, tp, ep and
// microbatches 1, one port, all forward passes first, parameters gathered and gradients reduced
// once a step. O(bytes + keys^2).
bool weft_rail_job_read(struct weft_rail_job *job, const char *data, size_t length,
                        struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_rail_job_load(struct weft_rail_job *job, const char *path, struct weft_arena *arena,
                        struct weft_error *error) WEFT_MUST_USE;

// What the JSON of weft plan MODEL CLUSTER --fabric FABRIC says for those who run it.
struct weft_rail_plan {
    const char *model, *fabric;
    double iteration_s;
    const struct weft_rail_alone *alone; // of photonic rails; NULL = it has none
};
// Fails with INPUT naming the key or the task. O(bytes).
bool weft_rail_plan_read(struct weft_rail_plan *plan, const char *data, size_t length,
                         struct weft_arena *arena, struct weft_arena scratch,
                         struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
