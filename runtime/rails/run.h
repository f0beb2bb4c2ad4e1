// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_RAILS_RUN_H
#define WEFT_RUNTIME_RAILS_RUN_H

// A described job's iterations over one re-wired rail of a lab, beside what the planner's replay
// says for the same job, scaled.
//
//   described job ──► scale ──► weft_rail_run (prediction, order, circuits)
//                       └─────► program, schedule ──► workers with a shim, controller, switch
//
// With rates r times lower and bytes s times as many (s <= 1) every time of the job is r s times as
// long; the dark time is not scaled.

#include "controller.h"
#include "runtime/job/worker.h"
#include "runtime/rails/schedule.h"
#include "runtime/testbed/testbed.h"

#include "weft/plan/rails.h"

// A change waits this part of its dark time for others that are asked for together.
#define LAB_RAIL_GATHER_PART 20u

struct lab_rail_options {
    const struct weft_rail_job *job;
    const struct weft_rail_alone *alone; // a plan's rail instead of a job; NULL = the job
    enum weft_rail_mode mode;
    uint64_t dark_ps;
    double rate_Bps; // of a port in the lab
    uint32_t mtu_bytes;
    double target_s;     // of an iteration; 0 = bytes as they are
    uint32_t iterations; // measured; one more goes before
    const char *congestion;
    uint32_t timeout_ms;
    uint32_t stall_ms; // ends the run
    struct lab_lie lie;
    uint64_t lie_after_ps; // since the first measured iteration began
    bool lies;
    weft_stop stop;
};

// A job made ready. Does not move.
struct lab_rail {
    const struct lab_rail_options *options;
    double rate_ratio, bytes_ratio, time_ratio;
    uint64_t unscaled_ps;        // an iteration at the job's own rate, without dark time
    struct weft_taskgraph graph; // scaled
    struct weft_rail_result predicted;
    struct lab_program program;
    struct lab_rail_schedule schedule;
    struct weft_lab_wiring wiring; // of the lab to raise
    bool check_transfers;
    // Tasks, as many as ranks from each number on, whose last end is told; none of a job on rails.
    uint32_t mark_count;
    const uint32_t *marks;
};
// A plan's rail runs over one port a server, of the rate of all of its ports. Fails with
// UNSUPPORTED for jobs of several ports, all-to-alls, operations that hosts relay (of the mode
// BEST, by name), and fewer than 2 or too many servers.
bool lab_rail_prepare(struct lab_rail *rail, const struct lab_rail_options *options,
                      const struct weft_environment *environment) WEFT_MUST_USE;

struct lab_rail_result {
    uint32_t iteration_count;
    double *measured_s;
    double *mark_s;                      // by iteration and mark, since the iteration began
    double predicted_s, mean_s, quiet_s; // quiet: the median of iterations without a notice
    double difference_ratio;             // quiet over predicted, less 1
    double dark_share, predicted_dark_share;
    uint64_t changes, predicted_changes; // of all measured iterations; of one
    uint64_t lit, fallen;                // generations over circuits, over the management network
    uint64_t sent_bytes, received_bytes, checked_count;
    uint64_t retransmits;
    uint32_t silent_count;  // orders that did not come
    double fault_noticed_s; // from the fault to the first notice; negative: there was none
    uint32_t notice_count;
    const struct lab_told_notice *notices;
    double *notice_cost_s; // by notice: its iteration over the quiet ones, shared by its notices
};
// Runs it in a lab that stands as `rail->wiring` says, with its management network. Fails where a
// sum is wrong, a byte is missing, or a worker or the controller ends.
bool lab_rail_run(struct lab_rail_result *result, const struct lab_rail *rail,
                  const struct weft_lab *lab, struct weft_arena *arena, struct weft_arena scratch,
                  struct weft_error *error) WEFT_MUST_USE;

#endif
