// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_DESIGN_INCUMBENT_H
#define WEFT_PLAN_DESIGN_INCUMBENT_H

// The incumbent: the best plan so far, kept so that a search can be left at any time. Private to
// the plan room.
//
// A search offers what it has evaluated in full, at points that its work alone decides and on its
// own thread. What is better than before is published: from then on it is the answer should the
// search be left. Publications are counted, so that leaving the same search at the same count gives
// the same plan on every machine (`--effort E:N`), whatever was under way when the clock or Ctrl-C
// left it. A search that was asked to stop publishes nothing more, since what it computes from then
// on may be half of something.
//
// Filling in what follows from a design (metrics, order of tasks, certificate) takes about two
// evaluations. Where they are cheap that is done once, when the search has been left. Where they
// are dear there is no time for it then, so that a plan is published finished: the first at once,
// the next one when the search has done PUBLISH_RATIO times that work since.

#include "search.h"

struct incumbent;

// What an evaluation of a design in full came to.
struct offer {
    struct score score;             // by packets where finals.count > 0; HUGE_VAL: none
    struct weft_plan_ties ties;     // of its iteration; first is NULL: they cost a simulation later
    struct weft_plan_finals finals; // of those that packets have judged so far, this one's flow_s
    double flow_units;              // then: what the flow engine took
};

// What a search has found: a design of a strategy (of a task graph: none).
struct finding {
    struct weft_strategy strategy; // lives as long as the search
    struct weft_design design;
    struct offer offer;
    struct weft_plan *plan; // finished; NULL = not yet
    uint64_t evaluations;   // of a joint search, and its rounds, when this was found
    uint32_t round_count;
    bool fixed_point;
};

// Fills a plan, with all that its file says, from a finding.
typedef bool incumbent_finish(struct weft_plan *plan, const struct incumbent *incumbent,
                              const struct finding *finding, struct weft_arena *arena,
                              struct weft_error *error);

struct incumbent {
    incumbent_finish *finish;
    void *context; // of finish
    weft_stop stop;
    struct weft_tally *tally; // of the effort; NULL = nobody looks
    weft_atomic_u64 *best_ps; // likewise
    double effort_s;          // of the whole search, as it was requested
    uint64_t count_most;      // publications after which the search is left; 0 = none
    uint64_t count;           // publications
    double work_units;        // that the search has done
    double due_units;         // the work at which a dear plan is published next
    struct finding best;      // published
    struct finding pending;   // better, and to be published when it is due
    // What is being searched, as the search of the joint room says.
    struct finding now;         // without design and offer
    struct weft_arena kept;     // designs
    struct weft_arena scratch;  // of finish
    struct weft_arena slots[2]; // finished plans, in turn
    uint32_t slot;
};

// Opens an incumbent whose finished plans live in `arena`, and the rest in `kept`.
struct incumbent incumbent_open(const struct weft_plan_options *options, double effort_s,
                                weft_stop stop, struct weft_arena *arena, struct weft_arena *kept);
// Whether somebody waits for a first plan.
bool incumbent_is_empty(const struct incumbent *incumbent);
// Adds to the work that was done, and publishes what is due. NULL: nothing.
void incumbent_work(struct incumbent *incumbent, double work_units);
// Offers a design of incumbent->now, which is copied with its offer. Does not return where the
// search is left. What packets have judged is better than all that they have not.
void incumbent_offer(struct incumbent *incumbent, const struct weft_design *design,
                     const struct offer *offer);
// Runs a search that offers to the incumbent. True when it ended by itself; else *plan is the best
// that was published, finished and marked as cut, where there is one. Fails as the search does, and
// with STOPPED when nothing was published.
bool incumbent_run(struct weft_plan *plan, struct incumbent *incumbent, bool (*run)(void *context),
                   void *context, struct weft_error *error) WEFT_MUST_USE;
// A plan in another place: its routes point to its own fabric.
void plan_move(struct weft_plan *to, const struct weft_plan *from);

#endif
