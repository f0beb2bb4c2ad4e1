// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_LAB_HEAL_HEAL_H
#define WEFT_CLI_LAB_HEAL_HEAL_H

// What the files of weft lab heal share: what the options say, and what came of it.

#include "cli/lab/lab.h"
#include "runtime/heal/run.h"

#define LAB_HEAL_RUNS_MAX 1000u

struct lab_heal_request {
    struct cli *cli;
    const char *plan_path; // or "ring:8"
    const char *name;      // of the lab
    bool name_given;
    uint32_t spares, steps, runs;
    uint64_t bytes;
    uint64_t compute_ns, dark_ns, beat_ns, step_most_ns;
    uint32_t source; // enum lab_heal_source
    const char *checkpoint;
    uint32_t save_every;
    bool save_every_given;
    double rate_Bps;
    uint32_t mtu_bytes;
    uint32_t ports; // of a ring's host; 0 = enough and one to spare
    uint32_t server_hosts, rack_servers;
    bool detour;
    uint32_t fault_count;
    struct lab_heal_fault faults[LAB_HEAL_FAULTS_MAX];

    weft_stop stop;
    struct lab_heal_rack rack;
    struct lab_heal_result *results; // by run
};

// print.c
void lab_heal_print(const struct lab_heal_request *request);

#endif
