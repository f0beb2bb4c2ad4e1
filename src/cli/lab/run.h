// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_LAB_RUN_H
#define WEFT_CLI_LAB_RUN_H

// weft lab run: what the options request, and what came of it on each fabric. run.c parses and
// prints; run_fabrics.c raises the labs and runs in them; run_change.c and run_fail.c add what
// --change and --fail need.

#include "cli/cli.h"
#include "weft/format/rail_job.h"
#include "weft/plan.h"
#include "weft/report.h"

#include "runtime/job/change.h"
#include "runtime/job/recover.h"
#include "runtime/rails/run.h"

enum lab_run_fabric { LAB_RUN_PLAN, LAB_RUN_SWITCH, LAB_RUN_RING, LAB_RUN_FABRICS_MAX };
const char *lab_run_fabric_name(enum lab_run_fabric fabric);

// A fault as --fail names it; the lab that will stand decides later whether it has such a thing.
struct lab_requested_fault {
    const char *kind;   // "link", "server" or "ocs"
    const char *which;  // "3:1", "5"; NULL = the first that can fail
    uint32_t iteration; // 0 = in the middle
};

// The ports of the labs that are raised.
struct lab_run_port {
    double rate_Bps;
    uint32_t mtu_bytes;
    uint32_t buffer_bytes; // of the queue
    uint32_t mark_packets; // a port marks packets that find so many waiting; 0 = never
};

// How long the run waits for a worker that is silent, and for bytes that a peer does not take.
struct lab_run_limits {
    double timeout_s;
    double stall_s;
};

// The faults of --fail, first as they were requested, then as they are planned and recovered from.
struct lab_run_faults {
    uint32_t count;
    struct lab_requested_fault requested[LAB_FAULTS_MAX];
    struct lab_planned_fault planned[LAB_FAULTS_MAX];
    bool detect_stall;               // neither carriers nor workers are watched
    uint32_t spares;                 // servers beside the plan's
    struct lab_recovery *recoveries; // one for each fault; NULL = none
};

// The change of --change to another plan while the job runs.
struct lab_run_change {
    const char *path;   // NULL = none
    uint32_t iteration; // the first by the other plan; 0 = in the middle
    uint64_t dark_ps;   // of circuits that change
    bool dark_given;
    struct weft_plan plan;
    struct weft_taskgraph graph; // with that plan's collectives
    struct lab_change *result;   // NULL = none
};

// A run: what the options say, what is loaded for it, and what came of it.
struct lab_run {
    struct cli *cli;
    const char *plan_path;
    const char *job_path;    // NULL = the plan's own
    const char *report_path; // NULL = none
    const char *name;        // of the lab
    bool name_given;
    bool rootless;
    const char *congestion;
    uint32_t iterations;
    uint32_t fabric_count;
    enum lab_run_fabric fabrics[LAB_RUN_FABRICS_MAX];
    double target_s; // of an iteration, after bytes were scaled down; 0 = as planned
    struct lab_run_port port;
    struct lab_run_limits limits;
    struct lab_run_faults faults;
    struct lab_run_change change;
    struct {
        uint32_t mode;     // enum weft_rail_mode
        const char *fault; // of --ocs-fault; NULL = none
        bool given;        // one of these options
    } rails;
    struct weft_report_origin origin; // of the page

    struct weft_plan plan;
    struct weft_taskgraph graph;                            // the plan's job
    struct weft_taskgraph played;                           // with the plan's collectives
    struct lab_experiment experiments[LAB_RUN_FABRICS_MAX]; // one for each of fabrics[]
};

// Loads the plan, raises labs, plays, and takes them away. False with cli->error.
bool lab_run_all(struct lab_run *run) WEFT_MUST_USE;

// ---- run_phases.c ----

// The phase that is the whole iteration, under another name.
struct weft_report_phase lab_run_whole(const struct lab_experiment *experiment, const char *name);
json_t *lab_run_phases_json(const struct lab_experiment *experiment);

// ---- run_rails_read.c ----

// What a file says to run on a rail.
struct lab_rails_source {
    struct weft_rail_job job;   // described, or
    struct weft_rail_plan plan; // with its rail; else all is 0
    const char *name;
};
// Whether the file is a job on rails, or a plan of a fabric that is not searched; what cannot be
// read is taken for a plan of a direct fabric.
bool lab_run_is_rails(const struct lab_run *run);
bool lab_rails_read(struct lab_rails_source *source, struct lab_run *run) WEFT_MUST_USE;

// ---- run_rails.c ----

// Runs it and prints what came of it.
bool lab_run_rails(struct lab_run *run) WEFT_MUST_USE;

// A rail's run, of whatever job.
struct lab_rails_run {
    struct lab_run *run;
    struct lab_rails_source source; // of a rail; else all is 0
    struct lab_rail_options options;
    struct lab_rail rail;
    struct lab_rail_result result;
};
// What the options say, of a job that is `what` ("a job on rails").
bool lab_rails_take(struct lab_rails_run *self, struct lab_run *run, const char *what)
    WEFT_MUST_USE;
// Raises a lab for the rail, which is ready, runs, and takes the lab away.
bool lab_rails_play(struct lab_rails_run *self) WEFT_MUST_USE;
void lab_rails_set_notices(json_t *object, const struct lab_rails_run *self);
// How long it took beside the prediction, what went over circuits and what beside them, notices.
void lab_rails_print_sums(const struct lab_rails_run *self, const char *beside,
                          const char *checked);

// ---- run_experts.c ----

// Whether the file is a job of experts.
bool lab_run_is_experts(const struct lab_run *run);
bool lab_run_experts(struct lab_run *run) WEFT_MUST_USE;

// ---- run_change.c ----

bool lab_run_check_change(struct lab_run *run) WEFT_MUST_USE;
// Loads the other plan, which has to be of the same job, servers and ports.
bool lab_run_load_other(struct lab_run *run) WEFT_MUST_USE;
bool lab_run_play_change(struct lab_run *run, const struct lab_experiment_options *options)
    WEFT_MUST_USE;
json_t *lab_run_change_json(const struct lab_run *run);
void lab_run_change_event(struct weft_report_event *event, const struct lab_run *run);
void lab_run_change_text(const struct lab_run *run);

// ---- run_fail.c ----

// Parses "link:3:1@4" as to its syntax alone: whether the lab has such a cable is known when it
// stands.
error_t lab_run_take_fault(struct lab_run *run, char *text);
// Checks that faults lie within the iterations, in order, and that the options fit together.
bool lab_run_check_faults(struct lab_run *run) WEFT_MUST_USE;
bool lab_run_choose_faults(struct lab_run *run, const struct weft_lab *lab,
                           const struct weft_lab_wiring *wiring) WEFT_MUST_USE;
void lab_run_recovery_event(struct weft_report_event *event, const struct lab_run *run,
                            uint32_t index);
json_t *lab_run_recovery_json(const struct lab_run *run, uint32_t index);
void lab_run_recovery_text(const struct lab_run *run, uint32_t index);

#endif
