// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_JOB_TRACE_H
#define WEFT_FORMAT_JOB_TRACE_H

// Traces of many jobs that arrive over time (YAML): docs/scheduler.md.

#include "weft/base.h"
#include "weft/scheduler.h"

WEFT_API_BEGIN

// Classes that name files of jobs or plans have no demand yet: the caller loads and measures them
// (weft_job_class_measure), then weft_job_trace_check tells what does not fit. Fails with INPUT,
// "line N: ...; remedy". O(bytes + keys^2).
bool weft_job_trace_read(struct weft_job_trace *trace, const char *data, size_t length,
                         struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_job_trace_load(struct weft_job_trace *trace, const char *path, struct weft_arena *arena,
                         struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
