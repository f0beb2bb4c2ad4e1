// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_FLOW_ACTIVE_FLOWS_H
#define WEFT_SIM_FLOW_ACTIVE_FLOWS_H

// The flows in flight: what is on each path, how fast it goes and which ends next.
//
// Flows of one path form a class (see maxmin.h) and share one rate, so a class keeps one running
// total of bytes served to each of its flows, brought up to date only when its rate changes; a flow
// ends when that total reaches its own target. The classes wait in an indexed heap by projected
// end.
//
// Instants inside the engine are doubles of picoseconds: a fluid's events fall between the
// picoseconds, and rounding each would bend every later rate. They are rounded up once, on the way
// out.

#include "maxmin.h"

// What an end or a change of rate reads and writes of a class, together.
struct weft_active_class {
    double served_bytes; // to each of its flows, as of since_ps
    double since_ps;
    double target_bytes; // of first_flow
    double end_ps;       // of first_flow at the present rate
    uint32_t first_flow; // root of a pairing heap by target_bytes, WEFT_NONE = no flow
    uint32_t users;      // holders of the class beside its flows
    bool is_dirty;       // in dirty_classes
};

// A class in the heap of ends. Its key is at most its end: an end that moves out stays filed where
// it was until it comes to the top.
struct weft_active_entry {
    double key_ps;
    uint32_t class_id;
};
// A heap by key (weft/base/heap.h).
struct weft_active_heap {
    struct weft_active_entry *entries;
    uint32_t count;
    uint32_t *place; // per class: where it stands, WEFT_NONE when absent
};

// Classes by path: a hash table of lists.
struct weft_active_paths {
    uint64_t *hash;    // per class
    uint32_t *next;    // per class: in its bucket
    uint32_t *buckets; // first class, WEFT_NONE = empty
    uint32_t mask;     // buckets, a power of two, less one
};

// The classes with other flows or rates than when last cleared, where somebody follows them.
struct weft_active_changes {
    uint32_t *classes;
    uint32_t count;
    bool *is_listed; // per class; NULL: nobody does
};

struct weft_active_flows {
    struct weft_maxmin maxmin;
    double now_ps;
    struct weft_active_class *classes;
    struct weft_active_paths paths;
    uint32_t *job; // per class, with shares: that of its flows; NULL: all are of one job
    struct weft_active_changes changed;
    uint32_t *dirty_classes; // first flow changed since the last settle
    uint32_t dirty_count;
    // Per flow.
    double *target_bytes;
    uint32_t *flow_owner;
    uint32_t *flow_child;
    uint32_t *flow_sibling;
    uint32_t *free_flows;
    uint32_t free_flow_count;
    uint32_t flow_count; // slots ever used
    uint32_t flow_capacity;
    struct weft_active_heap ends;
    double *link_bytes;
    uint64_t started_count;
};

struct weft_active_end {
    uint32_t owner;
    uint32_t class_id; // as a key to what the caller keeps per class; it may be gone already
    double end_ps;
};

// What is left of a flow that was withdrawn.
struct weft_active_withdrawn {
    uint32_t owner;
    uint32_t job;
    uint32_t first_link; // of the path that it was on
    uint32_t last_link;
    double left_bytes;
};

// How much may stand on a network at once.
struct weft_active_room {
    uint32_t class_capacity; // paths
    uint32_t flow_capacity;
    uint32_t hop_max; // links of a path
};
// Capacities are by link.
void weft_active_init(struct weft_active_flows *active, const double *capacity_Bps,
                      uint32_t link_count, const struct weft_active_room *room,
                      struct weft_arena *arena);
// Gives the flows of each job a share of their own; before any class is opened. With `follow` the
// classes that change are listed in `changed`.
void weft_active_use_shares(struct weft_active_flows *active, bool follow,
                            struct weft_arena *arena);
// Holds the class of a path, joining the one that exists; with shares the job's own. O(hops).
uint32_t weft_active_open(struct weft_active_flows *active, const uint32_t *links,
                          uint32_t hop_count, uint32_t job);
// What each flow of a class gets.
static inline double weft_active_rate(const struct weft_active_flows *active, uint32_t class_id)
{
    return weft_maxmin_class_at(&active->maxmin, class_id)->rate_Bps *
           weft_maxmin_share_of(&active->maxmin, class_id);
}
// Lets go of a class; it lives on while flows or other holders use it.
void weft_active_close(struct weft_active_flows *active, uint32_t class_id);
// A flow of size_bytes > 0 begins now; `owner` comes back when it ends.
void weft_active_start(struct weft_active_flows *active, uint32_t class_id, double size_bytes,
                       uint32_t owner);
// Brings rates and projected ends up to date after starts and ends at one instant.
void weft_active_settle(struct weft_active_flows *active);
// The next end, INFINITY if nothing flows. Only when settled. O(1).
double weft_active_next_ps(const struct weft_active_flows *active);
// Takes out one flow that ends by until_ps; false if there is none. The caller has set now_ps, and
// settles when it has taken all.
bool weft_active_take(struct weft_active_flows *active, double until_ps,
                      struct weft_active_end *end);
// Takes all flows out as they are at now_ps, a class after the other; `flows` has room for all.
// Only when settled; settle again before the next instant. Returns how many there were.
uint32_t weft_active_withdraw(struct weft_active_flows *active,
                              struct weft_active_withdrawn *flows);
// Up to when ends and other events count as simultaneous with now_ps: far above the rounding of
// double instants, far below any time that matters.
double weft_active_window_ps(const struct weft_active_flows *active);

#endif
