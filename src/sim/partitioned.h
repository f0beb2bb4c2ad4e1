// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PARTITIONED_H
#define WEFT_SIM_PARTITIONED_H

// What a run in partitions does between its windows, the same for lists of flows
// (flows_partitions.c) and jobs (job/partitions.c): it hands out the ends of the last window in
// order of time, writes records, samples links, and frees slots that no message needs any more.

#include "sim/packet/partition/partitions.h"
#include "watch.h"

// A slot whose message is over waits, until its sender's end is closed, or none of its packets can
// be on their way: what comes next does not depend on which slots are used again.
struct sim_resting_slot {
    uint64_t until_ps;
    uint32_t flow;
};

struct sim_partitioned {
    struct weft_simnet *net;
    struct sim_watch *watch;
    struct packet_partitions partitions;
    // Of jobs: so long after its receiver a sender knows that a message is over; 0: when the last
    // acknowledgement is there. At most a window, so that a job's messages, which begin on a path
    // when those before have ended, need three slots a path.
    uint64_t closes_after_ps;
    uint32_t *record;                 // per slot: its message's; WEFT_NONE: none
    struct sim_resting_slot *resting; // a ring, in the order in which they ended
    uint32_t resting_first;
    uint32_t resting_count;
    uint32_t ordered_count; // of those: whose closing is ordered
    uint32_t taken[PACKET_PARTITIONS_MAX];
};

// How the fabric is divided for these options; false: it is not, or cannot be. O((nodes + links)
// log links).
bool sim_partitioned_divide(struct packet_partitioning *partitioning, const struct weft_simnet *net,
                            struct weft_arena *arena, struct weft_arena scratch);
// Opens the partitions of run->partitions.partitioning. `run` has its closes_after_ps; job_count: 0
// of a list of flows. Fails with UNSUPPORTED when the OS has no address space.
bool sim_partitioned_open(struct sim_partitioned *run, struct weft_simnet *net,
                          struct sim_watch *watch, uint32_t job_count, struct weft_arena *arena,
                          struct weft_error *error) WEFT_MUST_USE;
// Ends the threads and counts what there was, to `result`.
void sim_partitioned_close(struct sim_partitioned *run, struct weft_sim_result *result);
// Samples links up to next_ps, when something happens again.
void sim_partitioned_skip_samples(struct sim_partitioned *run, uint64_t next_ps);
// Frees slots for messages that begin from now_ps on.
void sim_partitioned_free_slots(struct sim_partitioned *run, uint64_t now_ps);
// Plays a window (packet_partitions_play).
void sim_partitioned_play(struct sim_partitioned *run, uint64_t until_ps);
// The next end of the window, in order of time, then of partitions; NULL: there is none.
const struct packet_partition_end *sim_partitioned_take(struct sim_partitioned *run);
// What becomes of a message that has ended, and counted as done at end_ps: its record, its path and
// its slot. `owner`: of the job, or of the list.
void sim_partitioned_ended(struct sim_partitioned *run, const struct packet_partition_end *end,
                           double end_ps, uint32_t job, uint32_t owner);
// When all ends of the window are taken: what senders know, samples, and whether the run goes on.
void sim_partitioned_end_window(struct sim_partitioned *run);
// When all is over: what is left of the above, and the links' counts.
void sim_partitioned_finish(struct sim_partitioned *run);

#endif
