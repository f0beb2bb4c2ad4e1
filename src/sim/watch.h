// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_WATCH_H
#define WEFT_SIM_WATCH_H

// What is seen of a run while it goes on: its flows' records, samples of its links, how far it is,
// and whether it gets anywhere at all.
//
// The packet engine is run in slices of simulated time, so that its loop knows of none of this.

#include "sim/net.h"

// Records of flows, in order of their ends.
struct sim_watch_records {
    struct weft_flow_record *list; // room for flow_limit of the options
    uint32_t count;
    uint64_t left_out; // beyond the limit
};

// Samples of links (watch_samples.c).
struct sim_watch_samples {
    struct weft_link_sample *list;
    uint64_t limit;
    uint32_t count;
    uint32_t link_count;
    uint64_t period_ps;              // 0: none are taken
    uint64_t next_ps;                // of the next sample; UINT64_MAX: none is to come
    uint64_t *left_bytes;            // per link, at the last sample
    uint32_t *drops;                 // likewise
    struct weft_link_sample *beside; // room for one of each link
};

// The slice of simulated time that the packet engine plays in one go.
struct sim_watch_slice {
    uint64_t length_ps;
    uint64_t end_ps;
    uint64_t events; // at its beginning
};

// What had come when something last came: whether packets get anywhere.
struct sim_watch_news {
    uint64_t timeouts;
    uint64_t received;
    uint64_t ended_count;
};

struct sim_watch {
    const struct weft_sim_options *options;
    struct weft_arena *arena; // of the results
    struct sim_watch_records records;
    struct sim_watch_samples samples;
    struct sim_watch_slice slice;
    struct sim_watch_news news;
    uint64_t ended_count; // messages
    bool is_stopped;
    bool is_over; // the run ends here
};

void sim_watch_init(struct sim_watch *watch, const struct weft_fabric *fabric,
                    const struct weft_sim_options *options, struct weft_arena *arena);
// What a number of messages of so many bytes on the wire each counts for in a run's tally: as many
// messages in the flow engine, their packets in the packet engine.
double sim_watch_work(const struct sim_watch *watch, double count, double wire_bytes);
// The run has so much work before it.
void sim_watch_expect(const struct sim_watch *watch, double work);
// Plays packets on until a message ends (true), or nothing happens by until_ps, or the run is_over.
bool sim_watch_run(struct sim_watch *watch, struct packet_engine *engine, uint64_t until_ps,
                   struct packet_end *end);
// A slice of the packet engine ends at `at_ps` and the next begins.
void sim_watch_end_slice(struct sim_watch *watch, const struct packet_engine *engine,
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
struct weft_records sim_watch_take_records(const struct sim_watch *watch);

// ---- samples (watch_samples.c) ----

void sim_watch_sample(struct sim_watch_samples *samples, const struct packet_engine *engine);
void sim_watch_sample_fluid(struct sim_watch_samples *samples,
                            const struct weft_active_flows *active);

#endif
