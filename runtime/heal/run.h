// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_RUN_H
#define WEFT_RUNTIME_HEAL_RUN_H

// A job that heals, for real: the coordinator, its hosts' processes in the namespaces of a lab, and
// the failures that are asked for.
//
//   rack + lab ──► [run] ──fork──► hosts        machine.h decides, network.h turns the switches
//
// The coordinator hears its hosts over sockets that are not of the lab, as over a network for
// management; what it learns of a failure comes from there (an ended process, silence) or from the
// neighbors of whoever failed.

#include "host.h"
#include "runtime/heal/core/machine.h"

#include <sys/types.h>

enum lab_heal_fault_kind {
    LAB_HEAL_FAULT_KILL,   // SIGKILL to a rank
    LAB_HEAL_FAULT_SPARE,  // SIGKILL to a spare
    LAB_HEAL_FAULT_SILENT, // SIGSTOP to a rank, which wakes up when the others have gone on
    LAB_HEAL_FAULT_CUT,    // all cables of a rank's host
    LAB_HEAL_FAULT_PORT,   // one cable of it
    LAB_HEAL_FAULT_SWITCH, // an optical switch
};
struct lab_heal_fault {
    enum lab_heal_fault_kind kind;
    uint32_t which; // rank, spare or switch
    uint32_t port;
    uint32_t step; // from 1: while this one is under way
};
#define LAB_HEAL_FAULTS_MAX 16u

struct lab_heal_run_options {
    struct lab_heal_options machine;
    uint32_t chunk_elements;
    uint64_t compute_ns;
    uint64_t beat_ns;
    const char *checkpoint;
    bool detour; // the rack's last host is a relay, through which spares are reached
    uint32_t fault_count;
    const struct lab_heal_fault *faults; // their steps do not descend
    uint64_t seed;                       // of the moments within their steps
    weft_stop stop;
};

// A healing in seconds: from the failure until it is understood, until spare and circuits are
// chosen, until circuits are lit, until all ranks are joined with the parameters they need, and
// until the step that was broken off is done.
struct lab_heal_times {
    double detect_s, plan_s, rewire_s, rejoin_s, first_step_s;
};
struct lab_heal_result {
    enum lab_heal_outcome outcome;
    uint32_t steps;      // done
    uint32_t saved_step; // of the checkpoint; WEFT_NONE: none was written
    uint32_t failures;   // made; fewer than asked for where the job ended before
    uint32_t episode_count;
    struct lab_heal_episode episodes[LAB_HEAL_EPISODES_MAX];
    struct lab_heal_times times[LAB_HEAL_EPISODES_MAX];
    uint32_t changed; // ends of circuits that were changed
    uint64_t checked; // elements of sums, all right
    uint64_t wrong;
    bool sums_right;    // every sum, and the parameters at the end as computed by nobody's sums
    uint64_t dropped;   // frames of former epochs
    uint64_t refused;   // connections and heartbeats of strangers
    uint32_t survivors; // ranks that kept their host
    bool pids_kept;     // and their processes, as they say themselves
    bool real_time;     // the coordinator had real-time priority, until the end
    double before_s, after_s; // median step before the first failure and after the last healing
};
// Runs the job in a lab that was raised by lab_heal_wire, with its management network. Fails where
// a process or a socket is refused, or where it is asked to stop; a job that ends for want of
// spares is a result.
bool lab_heal_run(struct lab_heal_result *result, const struct lab_heal_run_options *options,
                  const struct lab_heal_rack *rack, const struct weft_lab *lab,
                  struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

#endif
