// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_PLAN_JOB_H
#define WEFT_FORMAT_PLAN_JOB_H

// What a plan was made for, in plan files: strategy, memory and task graph
// (docs/plan-format.md).
//
// Written by job_write.c, read by job_read.c; the words, letters and members that both use stand
// here.

#include "format/syntax/json.h"
#include "weft/plan.h"

// One letter for each task kind: forward, backward, update, joint, local, transfer, AllReduce.
#define WEFT_PLAN_TASK_LETTERS "FBUJLTARG"

// The words of plan files, by value of their enums; NULL ends each.
extern const char *const weft_plan_optimizers[];
extern const char *const weft_plan_tables[];
extern const char *const weft_plan_recomputes[];
// Amounts in one accelerator.
extern const struct weft_json_real weft_plan_amounts[]; // of struct weft_memory

// "strategy", "memory" and the figures beside them, each with its comma behind.
void weft_plan_add_strategy(struct weft_text *text, const struct weft_plan_job *job);
// ",\n" and "job" with the task graph.
void weft_plan_add_job(struct weft_text *text, const struct weft_plan_job *job);

#endif
