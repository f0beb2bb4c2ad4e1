// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_VERIFY_H
#define WEFT_VERIFY_H

// The checker of plans: every figure that a plan states, derived again by other means.
//
//   plan file ──► format ──► [verify] ──► violations, and what could not be looked at
//
// It trusts nobody: it shares no code with what plans (plan, topology, routing, strategy) or plays
// (sim), and calls nothing but base. What it needs of other rooms it takes as data: the plan and
// the task graph as the readers leave them, and what the model is (struct weft_verify_model). It is
// the named exception to the rule that there is one of each: it has its own max-min player, its own
// bounds, its own prices. docs/certificate.md, "The checker", says which figure is derived how, and
// which fields of a file are records and no claims.

#include "weft/base.h"
#include "weft/plan.h"

WEFT_API_BEGIN

// One way to split an operator, and what a part of it takes.
struct weft_verify_split {
    uint32_t sample_parts;
    uint32_t parameter_parts;
    double forward_s;
    double backward_s;
};
struct weft_verify_operator {
    uint32_t input_count;
    const uint32_t *inputs; // operators before it
    uint32_t split_count;
    const struct weft_verify_split *splits;
};

// What a model is, as far as a plan's claims follow from it. What is zero is not known, and the
// claims that need it are listed as unverified.
struct weft_verify_model {
    uint32_t operator_count;
    const struct weft_verify_operator *operators; // for the bounds of any strategy
    const char *const *names;                     // of the operators
    bool transformer;
    double iteration_flops;             // that the model asks for, forward and backward
    double peak_flops_per_s;            // of all accelerators of the cluster
    const struct weft_memory *memory;   // what the strategy takes on each server
    const struct weft_taskgraph *graph; // what the strategy gives
    uint32_t timed_kinds;               // 1 << kind, of the tasks whose times are known there, too
    const char *why_untimed;            // why others are not; NULL = all are
    const char *why_not;                // why something above is not known; NULL = all of it is
    const char *refused; // why the strategy gives nothing on this cluster; NULL = it does
};

// What is given to the checker.
struct weft_verify_input {
    const struct weft_plan *plan;        // its routes a table, as the reader leaves them
    const struct weft_taskgraph *graph;  // of the job; NULL: nobody named it
    const struct weft_taskgraph *played; // with the chosen collectives as transfers; NULL: as graph
    const char *why_not_played;          // why there is none; NULL: there is, or nothing was chosen
    const struct weft_verify_model *model; // of a plan that began with one
    uint64_t digest;                       // of what the file holds; 0: not known
};

// A claim that was not looked at.
struct weft_unverified {
    const char *claim; // "iteration_s"
    const char *why;   // one sentence
    bool needs_job;    // it could be with the job's file
};

struct weft_verify_report {
    uint32_t violation_count; // at most 100 are kept
    const struct weft_violation *violations;
    uint32_t unverified_count;
    const struct weft_unverified *unverified;
    uint64_t flow_count; // of one iteration
};

// Where more flows than this are played in an iteration, its time is held against bounds and a
// window of so many flows, and not played to its end.
#define WEFT_VERIFY_FLOWS_MAX 100000u

// Verifies everything that a plan states. Indices inside the routes' and rings' tables must be in
// range, as the readers leave them; server ids, groups and links need not. The report lives in
// `arena`. O(tasks^2 / 64 + events * (active flows + links)).
void weft_verify_plan(struct weft_verify_report *report, const struct weft_verify_input *input,
                      struct weft_arena *arena, struct weft_arena scratch);

WEFT_API_END

#endif
