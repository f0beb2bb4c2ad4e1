// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_LAB_RUN_H
#define WEFT_CLI_LAB_RUN_H

// weft lab run: what was asked, and what came of it on each fabric.

#include "cli.h"
#include "weft/plan.h"
#include "weft/report.h"

#include <recover.h>

enum lab_run_fabric { LAB_RUN_PLAN, LAB_RUN_SWITCH, LAB_RUN_RING, LAB_RUN_FABRICS_MAX };
const char *lab_run_fabric_name(enum lab_run_fabric fabric);

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
    double target_s;
    double timeout_s;
    double stall_s;
    const char *congestion;
    const char *report_path; // NULL = none
    const char *name;
    bool name_given;
    const char *fault_kind;   // NULL = none
    const char *fault_which;  // NULL = of our choice
    uint32_t fault_iteration; // 0 = in the middle
    bool detect_stall;        // the carrier is not watched

    struct weft_plan plan;
    struct weft_taskgraph graph;                  // the plan's job
    struct weft_taskgraph played;                 // with the plan's collectives
    struct lab_trial trials[LAB_RUN_FABRICS_MAX]; // of fabrics[]
    struct weft_lab_fault fault;
    struct lab_recovery *recovery; // NULL = none
};

// Loads the plan, raises labs, plays, and takes them away. False with cli->error.
bool lab_run_all(struct lab_run *run) WEFT_MUST_USE;

// ---- lab_run_fail.c ----

// "link:3:1@4". Words alone; whether the lab has such a thing is seen when it stands.
error_t lab_run_take_fault(struct lab_run *run, char *text);
// Whether the run can have it.
bool lab_run_check_fault(struct lab_run *run) WEFT_MUST_USE;
bool lab_run_choose_fault(struct lab_run *run, const struct weft_lab *lab,
                          const struct weft_lab_wiring *wiring) WEFT_MUST_USE;
json_t *lab_run_recovery_json(const struct lab_run *run);
void lab_run_recovery_text(const struct lab_run *run);
json_t *lab_run_phases_json(const struct lab_trial *trial);

#endif
