// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_RAILS_RAILS_H
#define WEFT_PLAN_RAILS_RAILS_H

// A task graph as the ports of one rail see it (docs/photonic-rails.md).
//
//   job.c      a described job as a task graph
//   places.c   which of a server's rails a task uses; alone.c: one of them by itself
//   compile.c  tasks -> operations: which tasks use the rail, on which nodes
//   pairs.c    nodes that send to each other, and the circuits that do not meet at a port
//   ways.c     how circuits may carry an operation: rings, pairs, half of the ports, relays
//   order.c    who goes before whom at a port: list scheduling
//   replay.c   times of all tasks for a decision an operation, in the steady state
//   best.c     decisions: a dynamic program over phases, then single changes
//   bound.c    the lower bound
//   record.c   boundaries, dark time, circuits over time
//   spans.c    what each server's ports do, for pictures
//   run.c      weft_rail_run
//   play.h     the plan in an engine: lower.c, follow.c, play.c
//   cost.c     prices of rails; plan.c: a model on rails

#include "weft/plan/rails.h"

// A circuit: node `from` sends on its port `plane` to node `to`. What an operation asks for beside
// what it uses: a pair of stages gets both directions at once.
struct rail_arc {
    uint32_t plane, from, to;
    uint32_t beside; // 1: not used by this operation, which another one may use meanwhile
};

enum rail_label { RAIL_DP, RAIL_PP, RAIL_EP, RAIL_CP, RAIL_LABEL_COUNT };
extern const char *const rail_label_names[RAIL_LABEL_COUNT];

// The decisions of enum weft_rail_decision, then ports that are joined to everybody at once.
enum { RAIL_ELECTRICAL = WEFT_RAIL_FORWARD + 1, RAIL_WAY_COUNT };

// One way to carry an operation: over the circuits of a list. WEFT_NONE: it has no such way.
struct rail_way {
    uint32_t list;
    uint64_t duration_ps;
};

struct rail_op {
    uint32_t task;
    enum rail_label label;
    uint32_t class; // operations of one class begin together and are alike: they decide alike
    struct rail_way ways[RAIL_WAY_COUNT]; // SWITCH and ELECTRICAL are always there
};

struct rail_program {
    const struct weft_taskgraph *graph;
    const struct weft_rail_options *options;
    uint32_t node_count; // servers * places
    uint32_t plane_count;
    uint32_t op_count;
    struct rail_op *ops;
    uint32_t *op_of; // task -> operation, WEFT_NONE = it does not use the rail
    uint32_t list_count;
    const uint32_t *list_first; // CSR
    const struct rail_arc *arcs;
    uint32_t *order; // of tasks: who is before at a port or a device is before in it
    uint32_t class_count;
};

static inline const struct rail_way *rail_way_of(const struct rail_op *op, uint8_t decision)
{
    return &op->ways[op->ways[decision].list == WEFT_NONE ? WEFT_RAIL_SWITCH : decision];
}
// The port of a plane that sends, and the one that receives: indices of the same array.
static inline size_t rail_sender(const struct rail_program *program, const struct rail_arc *arc)
{
    return (size_t)(2 * arc->plane) * program->node_count + arc->from;
}
static inline size_t rail_receiver(const struct rail_program *program, const struct rail_arc *arc)
{
    return (size_t)(2 * arc->plane + 1) * program->node_count + arc->to;
}
static inline size_t rail_port_count(const struct rail_program *program)
{
    return (size_t)2 * program->plane_count * program->node_count;
}

// Fills all of a program but its order and classes. Fails with INPUT naming what it cannot carry.
bool rail_compile(struct rail_program *program, const struct weft_taskgraph *graph,
                  const struct weft_rail_options *options, struct weft_arena *arena,
                  struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- places of a server (places.c) ----

#define RAIL_PLACES_MAX 64u
struct rail_places {
    uint32_t count;            // of a server, at most RAIL_PLACES_MAX
    uint32_t *of_device;       // which the devices of a server share evenly, in their order
    uint64_t *before, *behind; // per task: places of devices before and behind it, as bits
};
void rail_places_find(struct rail_places *places, const struct weft_taskgraph *graph,
                      uint32_t count, struct weft_arena *arena, struct weft_arena scratch);
// The places that a transfer or a collective is divided over, as bits.
uint64_t rail_places_of(const struct rail_places *places, uint32_t task);

// ---- pairs of nodes (pairs.c) ----

// Every pair that sends, with a color: circuits of one color do not meet at a port.
struct rail_pairs {
    uint32_t node_count;
    uint32_t count;
    const uint64_t *keys; // from * node_count + to, ascending
    const uint32_t *colors;
    uint32_t color_count;
    const uint32_t *next; // [node] whom it sends to in color 0; ends of chains to their beginning
};
// keys[count] may have any order and repeat. O(count log count).
void rail_pairs_build(struct rail_pairs *pairs, uint64_t *keys, size_t count, uint32_t node_count,
                      struct weft_arena *arena, struct weft_arena scratch);
// The color of a pair, WEFT_NONE where it does not send. O(log count).
uint32_t rail_pairs_color(const struct rail_pairs *pairs, uint32_t from, uint32_t to);

// ---- ways (ways.c) ----

// Circuits of a list while it is put together, and all lists, each once.
struct rail_lists {
    struct rail_program *program;
    struct rail_arc *arcs; // all lists, one behind the other; grows
    size_t arc_count, arc_room;
    uint32_t *first;
    uint32_t list_room;
    uint32_t *slots; // hash -> list
    uint32_t slot_count;
    struct rail_arc *draft;
    size_t draft_count, draft_room;
    struct weft_arena arena; // of what grows
};

// What an operation carries.
struct rail_load {
    uint32_t member_count; // nodes of all places, those of a place beside each other
    const uint32_t *members;
    uint32_t place_count; // that hold members
    double bytes;         // of a place: sent by each member of a ring to its next, or by a pair
    uint32_t hops;        // one after the other
    const uint32_t *ring; // EP: members of a larger ring that FORWARD may go round; NULL = none
    uint32_t ring_count;
    uint32_t pair_count; // EP and CP
    const struct rail_pair_bytes {
        uint32_t from, to;
        double bytes;
    } * pairs;
};
// Nothing else may allocate from `own`.
void rail_lists_init(struct rail_lists *lists, struct rail_program *program, struct weft_arena own);
void rail_add_ring(struct rail_lists *lists, struct rail_op *op, const struct rail_load *load);
void rail_add_pair(struct rail_lists *lists, struct rail_op *op, const struct rail_load *load,
                   const struct rail_pairs *pairs);
void rail_add_exchange(struct rail_lists *lists, struct rail_op *op, const struct rail_load *load,
                       struct weft_arena scratch);
void rail_lists_finish(struct rail_lists *lists, struct weft_arena *arena);

// ---- times (clock.c, order.c, replay.c) ----

struct rail_change {
    bool changed;       // else its circuits were there
    uint32_t before;    // the operation that the ports that change served last
    int64_t release_ps; // when it ended; negative: in the iteration before
    int64_t asked_ps;   // of the switch
    int64_t dark_ps, lit_ps;
};
// When things happen in a replay, in the steady state.
struct rail_times {
    uint64_t iteration_ps;
    uint64_t *start_ps, *end_ps, *ready_ps; // per task; NULL: not wanted
    struct rail_change *changes;            // per operation; NULL: not wanted
};

// What a replay assumes.
struct rail_rules {
    struct weft_circuit_delays delays;
    bool demand;
    bool within;     // struct weft_rail_options
    bool electrical; // decisions are RAIL_ELECTRICAL, and no circuits are needed
    bool shared;     // ports carry any number of operations at a time, each at its rate
};

// Ports and devices while tasks are begun one after the other.
struct rail_clock {
    const struct rail_program *program;
    const uint8_t *decisions;
    const struct rail_rules *rules;
    int64_t *port_free_ps; // per port: the end of its last operation
    uint32_t *port_peer;   // the node that it is joined to, WEFT_NONE = not yet
    uint32_t *port_op;     // its last operation
    int64_t *device_free_ps;
};
void rail_clock_init(struct rail_clock *clock, const struct rail_program *program,
                     const uint8_t *decisions, const struct rail_rules *rules,
                     struct weft_arena *arena);
// When a task that is ready can begin; of operations, *change is what it needs first (may be NULL).
int64_t rail_clock_start(const struct rail_clock *clock, uint32_t task, int64_t ready_ps,
                         struct rail_change *change);
// Begins it there and returns its end.
int64_t rail_clock_begin(struct rail_clock *clock, uint32_t task, int64_t start_ps);
// What is inside the servers before an operation, or all of another task, in picoseconds.
uint64_t rail_inside_ps(const struct rail_program *program, uint32_t task);

// order[task_count]: tasks as a list scheduler begins them. O(tasks log tasks + circuits).
void rail_order(uint32_t *order, const struct rail_program *program, const uint8_t *decisions,
                const struct rail_rules *rules, struct weft_arena scratch);
// decisions[operation] is an enum weft_rail_decision or RAIL_ELECTRICAL. O(circuits) a round, a
// few rounds until the iteration repeats.
void rail_replay(struct rail_times *times, const struct rail_program *program,
                 const uint8_t *decisions, const struct rail_rules *rules,
                 struct weft_arena scratch);
void rail_times_init(struct rail_times *times, const struct rail_program *program,
                     struct weft_arena *arena);

// ---- what follows ----

// What of each change its window lacks on the critical path of `still`, replayed without dark time.
uint64_t rail_formula(uint32_t *phase_starts, const struct rail_program *program,
                      const struct rail_times *still, const uint8_t *decisions, uint64_t dark_ps,
                      struct weft_arena scratch);
// No decisions, order or times of changes give a shorter iteration. `still` as above, all SWITCH.
uint64_t rail_bound(const struct rail_program *program, const struct rail_times *still,
                    const struct weft_circuit_delays *delays, struct weft_arena scratch);
// Decisions that replay quickest; returns the iteration. decisions[op_count].
uint64_t rail_best(uint8_t *decisions, struct rail_program *program, const struct rail_times *still,
                   const struct rail_rules *rules, struct weft_arena scratch);
// A quick look: PROVISION or, with several ports, all operations split, whichever is quicker.
bool rail_sketch(uint64_t *iteration_ps, const struct weft_taskgraph *graph,
                 const struct weft_rail_options *options,
                 const struct weft_environment *environment) WEFT_MUST_USE;
void rail_spans(struct weft_rail_result *result, const struct rail_program *program,
                const struct rail_times *times, const uint8_t *decisions, struct weft_arena *arena);
void rail_record(struct weft_rail_result *result, const struct rail_program *program,
                 const struct rail_times *times, const uint8_t *decisions,
                 const struct weft_environment *environment);

#endif
