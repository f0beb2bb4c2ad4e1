// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_WEFT_RUN_RUN_H
#define WEFT_CLI_WEFT_RUN_RUN_H

// What the files of weft-run share: the request that the options fill, which says the collective
// (its own options come first, so that their parser takes the request), how its ranks run and
// where, and which rank this process is when mpirun started it.

#include "cli/collective/collective.h"
#include "runtime/collective/ranks.h"

struct run_request {
    struct collective_input input; // first: its parser takes the request
    struct lab_ranks_options ranks;
    bool out_of_place;
    uint32_t processes; // -n; 0 = not given
    const char *rendezvous;
    const char *secret;  // its source; NULL = ranks of one machine
    const char *lab;     // NULL = on this machine's loopback
    double lab_rate_Bps; // of a port there
    bool is_lossy;       // an option of MLT alone was given
    // Under mpirun: which rank this is, of how many. count 0: it is not.
    uint32_t rank;
    uint32_t count;
};

// The transport and what it has for options, as they are given.
enum {
    RUN_TRANSPORT = 400,
    RUN_LOSS_BOUND,
    RUN_UNIMPORTANT,
    RUN_PATHS,
    RUN_RATE,
    RUN_RESCALE,
};
error_t run_parse_transport(int key, char *argument, struct run_request *request);
// When all is known: what MLT can run, and at which rate. Fails with INPUT, or as misuse.
bool run_settle_transport(struct run_request *request, const struct weft_schedule *schedule);

// Prints times, sums and counts of a run, as text or JSON. O(iterations).
void run_tell(const struct run_request *request, const struct weft_schedule *schedule,
              const struct lab_ranks_result *result);

#endif
