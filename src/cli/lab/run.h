// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_LAB_RUN_H
#define WEFT_CLI_LAB_RUN_H

// weft lab run: what was asked, and what came of it on each fabric.

#include "cli/cli.h"
#include "weft/plan.h"
#include "weft/report.h"

#include "runtime/job/change.h"
#include "runtime/job/recover.h"

enum lab_run_fabric { LAB_RUN_PLAN, LAB_RUN_SWITCH, LAB_RUN_RING, LAB_RUN_FABRICS_MAX };
const char *lab_run_fabric_name(enum lab_run_fabric fabric);

// A fault, in words.
struct lab_asked_fault {
    const char *kind;
    const char *which;  // NULL = of our choice
    uint32_t iteration; // 0 = in the middle
};

struct lab_run {
    struct cli *cli;
    const char *plan_path;
    const char *job_path; // NULL = the plan's own
    uint32_t iterations;
    uint32_t fabric_count;
    enum lab_run_fabric fabrics[LAB_RUN_FABRICS_MAX];
    double rate_Bps;
    uint32_t mtu_bytes;
    uint32_t buffer_bytes; // of a port's queue
    uint32_t mark_packets; // ports mark what finds so many waiting; 0 = never
    double target_s;
    double timeout_s;
    double stall_s;
    const char *congestion;
    const char *report_path; // NULL = none
    const char *name;
    bool name_given;
    uint32_t fault_count;
    struct lab_asked_fault asked[LAB_FAULTS_MAX];
    bool detect_stall;       // neither the carrier nor workers are watched
    uint32_t spares;         // servers beside the plan's
    const char *change_path; // another plan; NULL = none
    uint32_t change_at;      // the first iteration of it; 0 = in the middle
    uint64_t dark_ps;        // of circuits that change

    struct weft_plan plan;
    struct weft_taskgraph graph;                       // the plan's job
    struct weft_taskgraph played;                      // with the plan's collectives
    struct lab_experiment trials[LAB_RUN_FABRICS_MAX]; // of fabrics[]
    struct lab_planned_fault faults[LAB_FAULTS_MAX];
    struct lab_recovery *recoveries; // by fault; NULL = none
    struct weft_plan other;          // of change_path
    struct weft_taskgraph other_graph;
    struct lab_change *change; // NULL = none
};

// Loads the plan, raises labs, plays, and takes them away. False with cli->error.
bool lab_run_all(struct lab_run *run) WEFT_MUST_USE;

// ---- run_phases.c ----

// Of a whole iteration.
struct weft_report_phase lab_run_whole(const struct lab_experiment *trial, const char *name);
json_t *lab_run_phases_json(const struct lab_experiment *trial);

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

// "link:3:1@4". Words alone; whether the lab has such a thing is seen when it stands.
error_t lab_run_take_fault(struct lab_run *run, char *text);
// Whether the run can have it.
bool lab_run_check_faults(struct lab_run *run) WEFT_MUST_USE;
bool lab_run_choose_faults(struct lab_run *run, const struct weft_lab *lab,
                           const struct weft_lab_wiring *wiring) WEFT_MUST_USE;
void lab_run_recovery_event(struct weft_report_event *event, const struct lab_run *run,
                            uint32_t index);
json_t *lab_run_recovery_json(const struct lab_run *run, uint32_t index);
void lab_run_recovery_text(const struct lab_run *run, uint32_t index);

#endif
