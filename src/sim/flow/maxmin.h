// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_FLOW_MAXMIN_H
#define WEFT_SIM_FLOW_MAXMIN_H

// Max-min fair rates on links, kept up to date while flows come and go.
//
// A class is a set of flows on one path; its weight is their number and all have one rate. A link's
// level is the rate that it allows: a flow's rate is the least level on its path. The levels x are
// right when every link agrees with its own water-filling equation
//
//     sum over classes c on link l of weight_c * min(x_l, m_cl) = capacity_l,  m_cl = least level
//                                                                 on c's path without l,
//
// or stands at its capacity when even x_l = capacity_l leaves room. Rates that satisfy it are the
// max-min fair ones: each flow has a full link on which no flow is faster (Bertsekas and Gallager,
// Data Networks, 6.5.2), and those are unique.
//
// A level depends only on lower levels. So after a change the solver re-evaluates the links it
// touched, lowest first, and goes on only to the links on the paths of classes whose rate changed:
// the cost is that of the region that changes, however large the component it lies in.
//
// A link is evaluated when a flow came or went on it or a class on it has another rate, unless it
// holds nobody back and has room still. An evaluation looks at all members of its link, whether or
// not the level then changes: O(hops) for each that the link holds or whose rate changes, O(1) for
// the others, and O(1) for all of them at each step of Newton's method after the first. In order of
// level a link is evaluated about once a solve; rounding among nearly equal levels can have it
// evaluated again.
//
// With shares a flow of share w has w times its level's rate: a class then weighs its number of
// flows times w, and rates are those of a flow of share 1. Shares are at least 1, so that a link's
// capacity bounds its level as without them; only their ratios matter.

#include "weft/base.h"

// Relative change of a rate below which it counts as unchanged and is not passed on.
#define WEFT_MAXMIN_SAME 1e-13

// One class: what an evaluation reads of it, together, because it meets classes in no order.
struct weft_maxmin_class {
    double rate_Bps;     // of a flow of share 1
    double weight;       // flows times their share; 0 = on no link's member list
    uint32_t bottleneck; // a link of the path with the least level
    uint32_t hop_count;
    uint32_t path[]; // links
};

struct weft_maxmin_share {
    double ratio; // >= 1
    uint32_t flow_count;
};

struct weft_maxmin_member {
    uint32_t class_id;
    uint32_t hop; // which link of the class's path this is
};

// What a change of a rate reads and writes of a link, on one cache line. Its level stands apart:
// evaluations of others read levels alone, and those of all links fit into a near cache.
struct weft_maxmin_link {
    _Alignas(64) double capacity_Bps;
    double load_Bps; // exact after an evaluation, updated by differences between them
    double calm_Bps; // a load below this needs no evaluation: nobody is held, nor will be
    double per_held; // 1 / flows that it held back when last evaluated, at most 1
    struct weft_maxmin_member *members;
    uint32_t member_count;
    uint8_t block_log2; // room at `members`
};

struct weft_maxmin_entry {
    double key_Bps;
    uint32_t link;
};
// A heap by key (weft/base/heap.h).
struct weft_maxmin_queue {
    struct weft_maxmin_entry *entries;
    uint32_t count;
    uint32_t *place; // per link: where it stands, WEFT_NONE when absent
};

// What was given back, for the next to take.
struct weft_maxmin_free {
    uint32_t *classes;
    uint32_t class_count;
    void
        *blocks[32]; // of members, by size, powers of two; each begins with the address of the next
};

// Progressive filling of all links; arrays by link.
struct weft_maxmin_filling {
    double *room_Bps; // that the classes which have stopped leave
    double *rising;   // weight of the classes that still rise
};

// Water-filling of one link; arrays by its members.
struct weft_maxmin_limits {
    double *rate_Bps; // what the rest of the path allows
    double *weight;
    uint32_t *link; // that allows no more; WEFT_NONE: the one that holds the member now
};

struct weft_maxmin_counts {
    uint64_t solves;
    uint64_t evaluations;
    uint64_t refills;
    uint64_t work; // members and links looked at
};

struct weft_maxmin {
    uint32_t link_count;
    uint32_t class_capacity;
    uint32_t stride; // room for links a path
    struct weft_maxmin_link *links;
    double *level_Bps; // per link; == capacity where it holds nobody back
    char *classes;     // records of class_bytes
    size_t class_bytes;
    uint64_t member_total;          // of all links
    uint32_t *position;             // stride a class: where it stands among each link's members
    uint32_t class_count;           // ever used
    struct weft_maxmin_queue queue; // links to evaluate
    uint32_t *touched;              // classes whose rate changed, or may have
    uint32_t touched_count;
    double *before_Bps; // per class: its rate before the first change since the last solve
    bool *is_touched;   // per class
    struct weft_maxmin_share *shares; // per class; NULL: all 1
    struct weft_maxmin_filling filling;
    struct weft_maxmin_limits limits;
    struct weft_maxmin_free free;
    struct weft_arena *arena;
    struct weft_maxmin_counts counts;
};

static inline struct weft_maxmin_class *weft_maxmin_class_at(const struct weft_maxmin *maxmin,
                                                             uint32_t class_id)
{
    return (void *)(maxmin->classes + class_id * maxmin->class_bytes);
}

static inline double weft_maxmin_share_of(const struct weft_maxmin *maxmin, uint32_t class_id)
{
    return maxmin->shares == NULL ? 1 : maxmin->shares[class_id].ratio;
}

// Room for class_capacity classes at once, on paths of at most `stride` links. Arrays are reserved,
// not touched. `arena` must live as long: member lists grow in it.
void weft_maxmin_init(struct weft_maxmin *maxmin, const double *capacity_Bps, uint32_t link_count,
                      uint32_t class_capacity, uint32_t stride, struct weft_arena *arena);
// A link that no class uses has another capacity from now on.
void weft_maxmin_set_capacity(struct weft_maxmin *maxmin, uint32_t link, double capacity_Bps);
// Gives classes shares; before the first is opened.
void weft_maxmin_use_shares(struct weft_maxmin *maxmin);
// Paths may have a link more than once; before the first class is opened.
void weft_maxmin_use_repeats(struct weft_maxmin *maxmin);
// A class's flows have this share from now on; with its rate it is brought up to date by the next
// solve, which lists the class as touched. With shares only. O(1).
void weft_maxmin_set_share(struct weft_maxmin *maxmin, uint32_t class_id, double ratio);
// A class of weight 0, and share 1, on a path of 1..stride links; it loads nothing yet. A link that
// stands for several may be on it as often as the path crosses those (weft_maxmin_use_repeats).
// O(hops).
uint32_t weft_maxmin_open(struct weft_maxmin *maxmin, const uint32_t *links, uint32_t hop_count);
// Returns a class of weight 0.
void weft_maxmin_close(struct weft_maxmin *maxmin, uint32_t class_id);
// One flow more or less. Rates are stale until the next solve. O(hops log links).
void weft_maxmin_join(struct weft_maxmin *maxmin, uint32_t class_id);
void weft_maxmin_leave(struct weft_maxmin *maxmin, uint32_t class_id);
// Brings every rate up to date. touched[0 .. touched_count-1] are then the classes of positive
// weight whose rate differs from before_Bps, both times the present share (a class that was empty
// had rate 0); the caller sets touched_count to 0 when it has seen to them. O(members of the links
// that are evaluated, times hops where the link holds them, and log(links) for each time that a
// link is queued); counts.work adds up the members.
void weft_maxmin_solve(struct weft_maxmin *maxmin);
// All rates and levels from scratch by progressive filling, which no rounding can keep from ending:
// what a solve turns to when its evaluations have looked at more than that does.
// O(links log(links) + members * hops).
void weft_maxmin_refill(struct weft_maxmin *maxmin);

// ---- between maxmin.c and maxmin_members.c ----

// A link counts as full, and is evaluated, from this share of its capacity on. Loads are kept by
// differences, whose rounding is some 1e-16 of the capacity each and is wiped out at every
// evaluation, so the margin is never reached by drift.
#define WEFT_MAXMIN_NEARLY_FULL 0.999999

// The load below which a link of this level needs no evaluation: none while it holds somebody back.
static inline double weft_maxmin_calm_load(double capacity_Bps, double level_Bps)
{
    return level_Bps >= capacity_Bps ? WEFT_MAXMIN_NEARLY_FULL * capacity_Bps : -__builtin_inf();
}

// A class is a member of every link of its path from now on, or of none.
void weft_maxmin_attach(struct weft_maxmin *maxmin, uint32_t class_id);
void weft_maxmin_detach(struct weft_maxmin *maxmin, uint32_t class_id);

#endif
