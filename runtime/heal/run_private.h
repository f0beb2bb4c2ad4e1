// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_RUN_PRIVATE_H
#define WEFT_RUNTIME_HEAL_RUN_PRIVATE_H

// What run.c and failures.c share: a job that heals, at work.

#include "network.h"
#include "run.h"

struct lab_heal_process {
    pid_t pid; // 0: none
    int control;
    bool lives; // its end of `control` is open
    bool heard, stands_by;
    bool silent;  // told as lost for that
    bool stopped; // by SIGSTOP: it will not end by itself
    struct lab_heal_pulse pulse;
    struct lab_heal_reader reader;
};

struct lab_heal_running {
    const struct lab_heal_run_options *options;
    const struct lab_heal_rack *rack; // as the job begins
    struct lab_heal_result *result;
    struct lab_heal_job job;
    struct lab_heal_network network;
    struct lab_heal_machine machine;
    struct lab_heal_actions actions;
    struct lab_heal_process processes[LAB_HEAL_HOSTS_MAX];
    struct weft_arena scratch;
    struct weft_rng rng;
    bool begun;
    uint64_t begun_ns;
    uint64_t *step_ns; // when each step was done
    uint64_t planned_ns[LAB_HEAL_EPISODES_MAX];
    struct lab_heal_event lit; // comes at lit_ns
    uint64_t lit_ns;
    // Failures: how many were made, when each was, and when the next is due.
    uint32_t faults_made;
    uint64_t made_ns[LAB_HEAL_FAULTS_MAX];
    bool harmless[LAB_HEAL_FAULTS_MAX]; // nobody had a part in what failed
    uint64_t fault_ns;
    uint64_t wake_ns;          // of processes that were stopped
    uint64_t committed_digest; // of the last step that was done
    uint64_t first_pid[LAB_HEAL_RANKS_MAX], last_pid[LAB_HEAL_RANKS_MAX];
};

// ---- failures.c ----

// A step is done: the next failures may be due in the one that begins.
void lab_heal_note_step(struct lab_heal_running *self, uint64_t now_ns);
// Makes the failures that are due, and wakes who was stopped.
bool lab_heal_inject(struct lab_heal_running *self, uint64_t now_ns, struct weft_error *error)
    WEFT_MUST_USE;
// What came of it.
void lab_heal_sum_up(struct lab_heal_running *self, struct weft_arena scratch);

#endif
