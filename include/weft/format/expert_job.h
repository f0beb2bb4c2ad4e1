// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_EXPERT_JOB_H
#define WEFT_FORMAT_EXPERT_JOB_H

// Jobs of experts on circuits beside packets (YAML): docs/mixnet.md.

#include "weft/base.h"
#include "weft/plan/experts.h"

WEFT_API_BEGIN

// Fails with INPUT, "line N: ...; remedy". What no key says otherwise: one circuit, an expert and a
// rank for each server, one layer and step, skew 1.2, drift 0.1, seed 1. O(bytes + keys^2).
bool weft_expert_job_read(struct weft_expert_job *job, const char *data, size_t length,
                          struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// With the trace that it names, by a path from the folder of the file.
bool weft_expert_job_load(struct weft_expert_job *job, const char *path, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
