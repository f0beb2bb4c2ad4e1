// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_COLLECTIVE_SYNTHESIS_SYNTHESIZE_H
#define WEFT_COLLECTIVE_SYNTHESIS_SYNTHESIZE_H

// Parts of the synthesis. Private to the collective room.
//
//   fabric ──► [links] ──► [group | greedy | alltoall] ──► hops ──► [write] ──► steps
//
// A hop is one timed transfer of one chunk between two ranks. Where the fabric looks alike from
// every server (tori, circulants, hypercubes, one switch), only the hops of what server 0 gives
// are planned: everybody else's are their translations.

#include "weft/base/heap.h"
#include "weft/collective.h"
#include "weft/graph.h"

// Transfers that a schedule may take one by one.
#define WEFT_SYNTH_TRANSFERS (1ull << 23)

// A hop. A move inside a rank has no link.
struct weft_synth_hop {
    uint32_t from;
    uint32_t to;
    uint32_t from_slot;
    uint32_t to_slot;
    uint32_t link; // the first that it takes
    uint64_t start_ps;
    uint64_t end_ps; // when the chunk is there
};

// A translation of the servers that leaves the fabric as it is: server ids are mixed-radix numbers
// over `sides`, the first running fastest, and every server has the links of server 0.
struct weft_synth_generator {
    uint32_t element;   // where a link of server 0 ends
    uint32_t link;      // that link; STAR: the one to the switch
    uint64_t send_ps;   // for the bytes of a chunk to leave
    uint64_t busy_ps;   // until the next may start
    uint64_t arrive_ps; // from the start until the chunk is there
};
struct weft_synth_group {
    uint32_t order; // number of servers
    uint32_t side_count;
    uint32_t sides[16];
    bool star; // one switch: a single generator reaches everybody, one at a time
    uint32_t generator_count;
    const struct weft_synth_generator *generators;
    const uint32_t *sums; // [generator_count][order]: element + generator
};

// What the planners work on.
struct weft_synth {
    const struct weft_fabric *fabric;
    uint32_t rank_count;
    uint32_t chunk_factor;
    uint64_t chunk_bytes;
    bool holds;                           // a link is taken for its latency, too
    bool direct;                          // no switches
    const struct weft_synth_group *group; // NULL: the fabric is not alike everywhere
};

struct weft_synth_run {
    uint32_t hop_count;
    struct weft_synth_hop *hops; // by start; those of server 0 where `translated`
    uint64_t completion_ps;
    uint32_t scratch_count; // slots beyond input and output
    enum weft_step_op op;   // what its hops do where they arrive
    bool translated;
};

// Picoseconds for bytes to leave at a rate, at least 1.
static inline uint64_t weft_synth_send_ps(uint64_t bytes, double rate_Bps)
{
    uint64_t ps = weft_picoseconds((double)bytes / rate_Bps);
    return ps > 0 ? ps : 1;
}

// One chunk that leaves over a link: how long the link is taken, and when the chunk is there, both
// counted from the start.
struct weft_synth_sending {
    uint32_t link;
    uint32_t to;
    uint32_t chunk;
    uint64_t busy_ps;
    uint64_t arrive_ps;
};

// The sending over a link that ends at a rank.
static inline struct weft_synth_sending weft_synth_direct(const struct weft_synth *synth,
                                                          uint32_t link, uint32_t chunk)
{
    const struct weft_link *via = &synth->fabric->links[link];
    uint64_t send_ps = weft_synth_send_ps(synth->chunk_bytes, via->rate_Bps);
    uint64_t busy_ps = send_ps + (synth->holds ? via->latency_ps : 0);
    return (struct weft_synth_sending){link, via->to, chunk, busy_ps, send_ps + via->latency_ps};
}

// The group of a fabric, or false. Tries all mixed radices of the number of servers.
// O(radices + servers * links of a server * log).
bool weft_synth_group_find(struct weft_synth_group *group, const struct weft_synth *synth,
                           struct weft_arena *arena, struct weft_arena scratch);
uint32_t weft_synth_group_add(const struct weft_synth_group *group, uint32_t a, uint32_t b);
uint32_t weft_synth_group_negative(const struct weft_synth_group *group, uint32_t a);

// All-gather of what server 0 gives: every link of server 0 is a machine, every displacement a job
// that it can do once it holds the displacement before it. Nothing starts that would end after
// deadline_ps; false if something remains then. O(chunks * links of a server * window).
bool weft_synth_group_spread(struct weft_synth_run *run, const struct weft_synth *synth,
                             uint64_t seed, uint64_t deadline_ps, struct weft_arena *arena,
                             struct weft_arena scratch);

// Everybody gets every chunk; chunk c begins at rank owner[c]. O(transfers * (window + chunks /
// 64)), and behind switches times the receivers tried. False if something could not be reached.
bool weft_synth_spread(struct weft_synth_run *run, const struct weft_synth *synth,
                       const uint32_t *owner, uint32_t chunk_count, uint32_t attempt,
                       const struct weft_environment *environment);

// Everybody sends everybody else something of its own, over ranks between where servers are joined
// directly. Fails with INPUT beyond WEFT_SYNTH_TRANSFERS, with INFEASIBLE if something could not be
// reached. O(transfers * window + events * links).
bool weft_synth_exchange(struct weft_synth_run *run, const struct weft_synth *synth, uint64_t seed,
                         struct weft_arena *arena, struct weft_arena scratch,
                         struct weft_error *error) WEFT_MUST_USE;

// Turns a run on the reversed fabric round in time: what arrived last leaves first.
void weft_synth_reverse(struct weft_synth_run *run, struct weft_arena scratch);

// Rounds and steps of one or two runs, the second from the first's completion on. Fills rounds,
// steps and start_ps of a schedule whose other fields stand.
void weft_synth_write(struct weft_schedule *schedule, const struct weft_synth *synth,
                      const struct weft_synth_run *runs, uint32_t run_count,
                      struct weft_arena *arena, struct weft_arena scratch);

// ---- the events of a planner, by time and then by id ----

struct weft_synth_event {
    uint64_t time_ps;
    uint32_t id;
};
struct weft_synth_heap {
    struct weft_synth_event *entries;
    uint32_t count;
};

static inline bool weft_synth_is_sooner(const struct weft_synth_event *a,
                                        const struct weft_synth_event *b)
{
    return a->time_ps < b->time_ps || (a->time_ps == b->time_ps && a->id < b->id);
}

WEFT_HEAP(weft_synth, struct weft_synth_heap, struct weft_synth_event, 2, weft_synth_is_sooner,
          weft_heap_no_places)

#endif
