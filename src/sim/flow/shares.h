// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_FLOW_SHARES_H
#define WEFT_SIM_FLOW_SHARES_H

// How jobs share links in the flow engine where that is not alike: fixed shares, and MLTCP as a
// fluid, where a flow's share follows what part of its iteration's bytes has been sent.
//
// A share is F((k + 1/2) / steps) while the part sent lies in [k, k + 1) / steps: a quantised state
// (Kofman and Junco, "Quantized-state systems", Trans. SCS 2001), whose middle makes its error
// one of second order. Only those whose quantum ends change, each at the instant when it does.

#include "active_flows.h"
#include "weft/sim.h"

// Whose progress counts: a class's (a connection), or a job's.
struct sim_learner {
    double sent_bytes; // of this iteration, as of since_ps
    double since_ps;
    double rate_Bps; // of all its flows
    double posted_bytes;
    double learned_bytes; // that the last iteration had
    double due_ps;        // when its quantum ends; INFINITY: not by itself
    uint32_t quantum;
    uint32_t heap_place; // WEFT_NONE when absent
    uint32_t first_class;
    uint32_t next; // of the job's
};

// The learners whose quantum ends by itself, by when: a heap (weft/base/heap.h) that writes its
// places into the learners.
struct sim_due {
    double due_ps;
    uint32_t learner;
};
struct sim_due_heap {
    struct sim_due *entries;
    uint32_t count;
    struct sim_learner *learners;
};

struct sim_shares {
    bool learns;
    struct weft_fluid_options options;
    uint32_t steps;
    const struct weft_job_timing *timings;
    double least; // no share is below; they are taken relative to it
    // With `learns`.
    struct sim_learner *learners;
    uint32_t *job_first;  // per job: a list of learners
    bool *is_known;       // per class: it has a learner
    uint32_t *next_class; // per class, of its learner's
    double *counted_Bps;  // per class: what its learner's rate has of it
    struct sim_due_heap due;
    uint64_t step_count;
};

// Whether the options ask for other shares than equal ones.
bool sim_shares_wanted(const struct weft_sim_options *options, uint32_t job_count);
// Fails with INPUT when the parameters make no sense.
bool sim_shares_check(const struct weft_sim_options *options, struct weft_error *error)
    WEFT_MUST_USE;
// Before any class of the active flows is opened. `options` must live as long.
void sim_shares_init(struct sim_shares *shares, struct weft_active_flows *active,
                     const struct weft_sim_options *options, uint32_t job_count,
                     struct weft_arena *arena);
// A class was opened, maybe again.
void sim_shares_open(struct sim_shares *shares, struct weft_active_flows *active,
                     uint32_t class_id);

// With `learns` only:
// so many bytes were given to a class to send,
void sim_shares_start(struct sim_shares *shares, struct weft_active_flows *active,
                      uint32_t class_id, double wire_bytes);
// a job begins an iteration,
void sim_shares_iteration(struct sim_shares *shares, struct weft_active_flows *active,
                          uint32_t job);
// shares of quanta that end by until_ps change; the active flows are settled next,
void sim_shares_step(struct sim_shares *shares, struct weft_active_flows *active, double until_ps);
// and then the learners.
void sim_shares_settle(struct sim_shares *shares, struct weft_active_flows *active);

// The next end of a quantum, INFINITY if there is none. O(1).
double sim_shares_next_ps(const struct sim_shares *shares);

#endif
