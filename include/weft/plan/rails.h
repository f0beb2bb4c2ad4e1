// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_RAILS_H
#define WEFT_PLAN_RAILS_H

// Photonic rails (Opus, arXiv 2507.08119): rail k is one optical switch that joins accelerator k of
// every server, and is re-wired between the phases of parallelism inside an iteration.
//
//   job or strategy ──► task graph ──► [rails] ──► boundaries, circuits over time, iteration
//
// Tensor parallelism stays inside the servers; pipeline, data and expert parallelism use the rail.
// Times are of a replay at the level of tasks: an operation has its circuits to itself and takes
// its bytes over their rate. docs/photonic-rails.md has method, limits and accuracy.

#include "weft/plan/moving.h"
#include "weft/sim.h"

WEFT_API_BEGIN

// ---- jobs that are described ----

enum weft_rail_schedule {
    WEFT_RAIL_ALL_FORWARD, // all forward passes before all backward passes
    WEFT_RAIL_1F1B,
};
// How often parameters are gathered over the replicas, and gradients reduced.
enum weft_rail_repeat {
    WEFT_RAIL_NEVER,
    WEFT_RAIL_STEP,     // once
    WEFT_RAIL_BACKWARD, // gathers: again before the first backward pass
    WEFT_RAIL_PASS,     // for every pass
};

// One job of dp * pp servers, each with a tensor group of tp accelerators inside. Times are of one
// stage and one micro-batch; bytes are what one accelerator has on its rail.
struct weft_rail_job {
    const char *name;
    uint32_t dp, pp, tp;
    uint32_t ep; // replicas that share experts, beside each other; divides dp
    uint32_t microbatches;
    enum weft_rail_schedule schedule;
    uint64_t forward_ps, backward_ps, update_ps;
    enum weft_rail_repeat gather, reduce;
    bool overlap; // gradients are reduced beside the backward passes that follow
    uint64_t parameter_bytes, gradient_bytes; // whole, of which each replica keeps a shard
    uint64_t activation_bytes;                // of a micro-batch between two stages
    uint64_t expert_bytes; // of an all-to-all, sent by each member, its own share included
    uint32_t exchanges;    // all-to-alls in a pass, which divide it evenly
    double before_ratio;   // of a pass before its first all-to-all; 0 = evenly divided
    uint64_t norm_bytes;   // summed over the stages before the update; 0 = nothing is
    double rate_Bps;       // of an accelerator on its rail, all ports together
    uint32_t ports;        // it is divided into, each with circuits of its own
    uint32_t switch_ports; // that the switch of a rail has; 0 = enough
    uint64_t latency_ps;   // of a circuit
};

// The task graph of one iteration: server stage * dp + replica, one device each. Fails with INPUT
// naming the key at fault. O(tasks).
bool weft_rail_job_taskgraph(struct weft_taskgraph *graph, const struct weft_rail_job *job,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error) WEFT_MUST_USE;

// ---- a task graph on rails ----

enum weft_rail_mode {
    WEFT_RAIL_DEMAND,    // a change is asked for when its operation is ready
    WEFT_RAIL_PROVISION, // when the phase before has ended on all ports that change
    WEFT_RAIL_BEST,      // the same, and each operation switches, forwards or keeps to its ports
    WEFT_RAIL_MODE_COUNT,
};
const char *weft_rail_mode_name(enum weft_rail_mode mode);

struct weft_rail_options {
    enum weft_rail_mode mode;
    struct weft_circuit_delays delays;
    bool within;           // nothing is asked for before the iteration begins, as published
    double rate_Bps;       // of a node, all ports together
    uint32_t ports;        // of a node: rate_Bps / ports each
    uint32_t switch_ports; // 0 = enough
    uint64_t latency_ps;
    uint32_t places;      // nodes of a server: groups of accelerators with a device each
    uint64_t replays_max; // of the best mode's search; 0 = 400
};

enum weft_rail_decision {
    WEFT_RAIL_SWITCH,  // circuits of its own on all ports
    WEFT_RAIL_SPLIT,   // on half of the ports; the other half keeps what it has
    WEFT_RAIL_FORWARD, // over circuits of another phase, relayed by hosts
};
const char *weft_rail_decision_name(enum weft_rail_decision decision);

// One change of circuits: what is asked of the switch at one time for one purpose, on all ports.
struct weft_rail_boundary {
    const char *before; // "dp", "pp", "ep": the phase that ends on these ports
    const char *after;
    uint32_t servers; // whose ports change
    uint32_t first;   // the lowest of them
    uint64_t asked_ps;
    bool early; // asked for at the end of the iteration before; asked_ps is 0 then
    uint64_t dark_from_ps, dark_to_ps;
    uint64_t window_ps; // from the end of the phase before to the next operation being ready
    uint64_t cost_ps;   // that the operation waits for light
    enum weft_rail_decision decision; // of the operation that asks
};

// Two operations that want the same port at once for different phases.
struct weft_rail_overlap {
    uint64_t count;   // operations that wait for the port of another phase
    uint64_t cost_ps; // iteration beyond one in which ports carry all at once, without dark time
    // The first.
    const char *waits, *holds;
    uint32_t server;
    uint64_t at_ps;
};

// What the ports of a server do; phase NULL: some of them are dark.
struct weft_rail_span {
    uint32_t server;
    const char *phase; // "dp", ...
    uint64_t from_ps, to_ps;
};

// One operation as its ports see it, and a circuit that it asks for.
struct weft_rail_step {
    uint32_t task;
    const char *phase; // "dp", "pp", "ep", "cp"
    enum weft_rail_decision decision;
    uint32_t circuit_first, circuit_count;
    uint64_t start_ps, end_ps; // in the steady state
};
struct weft_rail_circuit {
    uint32_t from, to; // nodes
    uint32_t plane;
    bool beside; // asked for with the others and not used by this operation
};

struct weft_rail_result {
    enum weft_rail_mode mode;
    uint64_t iteration_ps;  // in the steady state of many iterations
    uint64_t still_ps;      // the same circuits, were changes to take no time
    uint64_t electrical_ps; // ports of the same rate on switches that join all at once
    uint64_t formula_ps; // still_ps and, on its critical path, what of each change its window lacks
    uint32_t phase_starts; // changes on that path
    uint64_t bound_ps;     // no choice, order or time of changes is quicker
    double dark_share;     // of the time of all ports that moved
    uint32_t boundary_count;
    const struct weft_rail_boundary *boundaries; // by dark_from_ps
    uint64_t forwarded, split;                   // operations with these decisions
    struct weft_rail_overlap overlap;
    struct weft_circuit_schedule schedule; // of one rail
    uint32_t span_count;                   // of the first servers, as many as a picture shows
    const struct weft_rail_span *spans;
    uint32_t step_count;
    const struct weft_rail_step *steps; // in the order in which they have their ports
    const struct weft_rail_circuit *circuits;
};

// Compiles a task graph to phases of the ports of a rail and replays it. Transfers that end in one
// barrier are an all-to-all, which goes round a ring of its members; other collectives go round
// rings in their group's order, and transfers have circuits of their own. Nodes are server * places
// + place, the place being that of the devices that a task waits for or that wait for it. BEST
// takes, of the published decisions, a dynamic program's and single changes of both, what replays
// quickest: never worse than PROVISION, which is never worse than DEMAND but for the order in
// which operations that do not wait for each other go. Fails with INFEASIBLE where the switch has
// too few ports, with INPUT where an operation finds no circuits. O(replays * circuits of all
// operations).
bool weft_rail_run(struct weft_rail_result *result, const struct weft_taskgraph *graph,
                   const struct weft_rail_options *options,
                   const struct weft_environment *environment) WEFT_MUST_USE;

// ---- the plan in an engine ----

struct weft_rail_play_options {
    enum weft_sim_engine engine;
    const struct weft_rail_options *rails; // as the plan was found with; one place
    // Packet engine: where an iteration has more, all bytes and rates are divided; 0 = never.
    double packets_max;
    struct weft_sim_progress *progress; // NULL = nobody looks
};
struct weft_rail_play {
    uint64_t iteration_ps;  // of the last of a few iterations
    uint32_t message_count; // of an iteration
    uint64_t packet_count;  // of an iteration
    double divisor;         // of bytes and rates; 1: all as they are
    uint32_t change_count;  // of single switches, in all iterations
};
// Plays iterations of a plan in the flow engine (fluid, no headers) or the packet engine (4160
// bytes, 64 of them a header; DCTCP), over circuits that change: operations and changes have the
// plan's order, and the engine's times. A change is asked for when the messages of what its ports
// served before have come, on demand also not before its operation is ready; ports that keep their
// peer are not disturbed. Operations are lowered to messages between neighbors: rounds of rings,
// relays hop by hop. Fails with what the checker of schedules finds in what was played, with
// UNSUPPORTED where it is too much, and as weft_sim_run_jobs.
bool weft_rail_play(struct weft_rail_play *play, const struct weft_rail_result *plan,
                    const struct weft_taskgraph *graph,
                    const struct weft_rail_play_options *options,
                    const struct weft_environment *environment) WEFT_MUST_USE;

// ---- what rails cost ----

struct weft_rail_prices {
    const char *name;
    uint32_t accelerators; // of a server
    double transceiver_usd, transceiver_watts;
    double switch_port_usd, switch_port_watts;
    double ocs_port_usd, ocs_port_watts;
    bool copper; // transceivers at accelerators only: switches are joined by copper
};
// "h200" and "gb200", as Opus' cost script has them.
const struct weft_rail_prices *weft_rail_prices(uint32_t *count);

struct weft_rail_bill {
    uint64_t ports;
    uint64_t transceivers;
    struct weft_cost cost;
};
struct weft_rail_bills {
    struct weft_rail_bill fat_tree, rail, photonic;
    uint32_t fat_tree_radix, rail_radix;
};
// The network of `servers` servers by the paper's formulas: Fat-tree of radix round(cbrt(4 G)),
// electrical rails of radix round(sqrt(4 servers)), photonic rails of two switch ports and one
// transceiver an accelerator. O(1).
void weft_rail_count(struct weft_rail_bills *bills, uint32_t servers,
                     const struct weft_rail_prices *prices);

// ---- a model on rails ----

// One of the rails of a plan, as the lab runs it; all of them are alike.
struct weft_rail_alone {
    const char *why_not; // it is not here; NULL = it is
    struct weft_taskgraph graph;
    uint32_t rail_count; // places of a server
    uint32_t port_count; // of a server on this rail
    double rate_Bps;     // of these together
    uint64_t latency_ps;
};
// The tasks of the first of a server's places, with its share of the bytes of collectives: played
// alone they take as long as all rails together, where these are alike. Fails with UNSUPPORTED
// where devices of several places wait for each other. O(tasks + edges).
bool weft_rail_alone(struct weft_taskgraph *alone, const struct weft_taskgraph *graph,
                     uint32_t places, struct weft_arena *arena, struct weft_arena scratch,
                     struct weft_error *error) WEFT_MUST_USE;

// Plans one iteration of a model on photonic rails: of the hybrid strategies whose tensor groups
// stay inside servers and whose exchanges keep to their rails the one that replays quickest, each
// with one and with two ports an accelerator. Fails with INFEASIBLE where no strategy does, naming
// what crosses, and as weft_hybrid_search does.
bool weft_rails_plan(struct weft_moving_plan *plan, const struct weft_study *study,
                     const struct weft_moving_options *options,
                     const struct weft_environment *environment) WEFT_MUST_USE;

WEFT_API_END

#endif
