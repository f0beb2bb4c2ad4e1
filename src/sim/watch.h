// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_WATCH_H
#define WEFT_SIM_WATCH_H

// What is seen of a run while it goes on: its flows' records, samples of its links, how far it is,
// and whether it gets anywhere at all.
//
// The packet engine is run in slices of simulated time, so that its loop knows of none of this.

#include "sim/net.h"

struct sim_watch {
    const struct weft_sim_options *options;
    struct weft_arena *arena; // of the results
    // Records of flows.
    struct weft_flow_record *flows;
    uint32_t flow_count;
    uint64_t flows_left_out;
    // Samples of links.
    struct weft_link_sample *samples;
    uint64_t sample_limit;
    uint32_t sample_count;
    uint64_t sample_ps;
    uint64_t next_ps;                // of the next sample; UINT64_MAX: none is to come
    uint64_t *left_bytes;            // per link, at the last sample
    uint32_t *drops;                 // likewise
    struct weft_link_sample *beside; // room for one of each link
    uint32_t link_count;
    // Slices of the packet engine.
    uint64_t slice_ps;
    uint64_t slice_end_ps;
    uint64_t events; // at its beginning
    // Whether packets get anywhere.
    uint64_t ended_count; // messages
    uint64_t timeouts;    // when something last had come
    uint64_t received;
    uint64_t ended_before;
    bool is_stopped;
    bool is_over; // the run ends here
};

void sim_watch_init(struct sim_watch *watch, const struct weft_fabric *fabric,
                    const struct weft_sim_options *options, struct weft_arena *arena);
// Plays packets on until a message ends (true), or nothing happens by until_ps, or the run is_over.
bool sim_watch_run(struct sim_watch *watch, struct packet_engine *engine, uint64_t until_ps,
                   struct packet_end *end);
// A slice of the packet engine ends at `at_ps` and the next begins.
void sim_watch_turn_slice(struct sim_watch *watch, const struct packet_engine *engine,
                          uint64_t at_ps);
// The message that ended last. `end_ps`: when it counted as done.
void sim_watch_record(struct sim_watch *watch, const struct weft_simnet *net,
                      const struct packet_end *end, double end_ps, uint32_t job, uint32_t task);
// Before the fluid flows on to `until_ps`. False: the run is stopped.
bool sim_watch_fluid(struct sim_watch *watch, const struct weft_active_flows *active,
                     double until_ps, uint64_t events);
// Whose a message is, by its owner: "flow 3", "transfer 7 of job 0".
typedef void sim_name_message(char *text, size_t room, const void *input, uint32_t owner);
// At the end of a run of the packet engine: fails with STOPPED if it was stopped, with
// INFEASIBLE if it stands still, telling whom for what it waits, and with INPUT if simulated time
// overflowed.
bool sim_watch_check(const struct sim_watch *watch, const struct weft_simnet *net,
                     sim_name_message *name, const void *input, struct weft_error *error)
    WEFT_MUST_USE;
struct weft_records sim_watch_records(const struct sim_watch *watch);

// ---- samples (watch_samples.c) ----

void sim_watch_sample(struct sim_watch *watch, const struct packet_engine *engine);
void sim_watch_sample_fluid(struct sim_watch *watch, const struct weft_active_flows *active);

#endif
