// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CIRCUIT_H
#define WEFT_CIRCUIT_H

// Circuits of optical switches: how many each pair gets, on which switch or wavelength, and when.
//
//   demands + ports ──► [circuit] ──► circuits ──► permutations of switches, wavelengths of rings
//
// A circuit joins an input port to an output port of one switch. A matrix of circuits is n * n,
// row = sender, and counts parallel circuits. Times are in units of the demand: what a circuit
// carries in one unit of time is 1. docs/circuits.md has methods, proofs and limits.

#include "weft/base.h"

WEFT_API_BEGIN

// ---- static circuits ----

// The largest smallest share of a demand: circuits[n*n] maximize ratio = min circuits / demand over
// the pairs that ask for anything, each row and column with at most port_count. Exact: a row alone
// reaches its largest ratio by giving each port to the pair with the least (as Adams apportions
// seats), the least over rows and columns is a bound, and the least circuits that reach it fit all
// of them. Ports that are left over go one by one to the pair with the least circuits for its
// demand that has a port free at both ends. The diagonal of the demand (n*n, finite, >= 0) is not
// looked at. Fails with INFEASIBLE where a node asks for more peers than it has ports, and with
// INPUT where nobody asks for anything. O(n^2 + n ports^2).
bool weft_circuit_maxmin(uint32_t *circuits, double *ratio, const double *demand,
                         uint32_t node_count, uint32_t port_count, struct weft_arena scratch,
                         struct weft_error *error) WEFT_MUST_USE;

// Divides circuits among port_count switches, each of which has one port of every node:
// permutations[s*n + i] is the node that switch s joins i to, i itself where the port is idle.
// Ports that are left are joined to any that are left; those joined to their own node are idle, and
// the others are added to circuits. Rows and columns have at most port_count (asserted), so
// that this many switches suffice (Koenig, Math. Ann. 77, 1916). O(n ports (n + ports)).
void weft_circuit_decompose(uint32_t *permutations, uint32_t *circuits, uint32_t node_count,
                            uint32_t port_count, struct weft_arena scratch);

// ---- wavelengths of a ring ----

// A circuit on a ring of nodes: from node `start` over `hops` segments clockwise, segment s between
// nodes s and s + 1. It keeps one wavelength all the way, so that arcs of one wavelength share no
// segment: a coloring of circular arcs, NP-hard (Garey et al., "The complexity of coloring circular
// arcs and chords", 1980).
struct weft_ring_arc {
    uint32_t start; // < ring
    uint32_t hops;  // 1 to ring - 1
};

struct weft_ring_options {
    // Arcs may go the other way, on a second fiber of as many wavelengths.
    bool both_ways;
    uint64_t move_limit; // of the search that gives one wavelength up; 0 = 2e5
    uint64_t node_limit; // of the proof; 0 = 1e6
    uint64_t seed;
    weft_stop stop;
};

struct weft_ring_coloring {
    uint32_t wavelengths; // of each fiber
    uint32_t load;        // most arcs on one segment of a fiber
    uint32_t bound;       // no coloring has fewer, nor where arcs may turn any choice of ways
    uint32_t *colors;     // per arc, below `wavelengths`
    bool *turned;         // per arc: it goes counter-clockwise
};

// Colors arcs: the best of cuts and intervals, then wavelengths are given up one by one by tabu
// search (Hertz and de Werra, Computing 39, 1987) until `bound` is reached or a search fails; where
// arcs may turn, their way is part of the search. Small cases are then closed by branch and bound.
// bound is the largest of the load (both ways: the cuts of two segments), a clique, and arcs of one
// length or more over how many of them fit one wavelength. Deterministic for a seed. O(arcs^2)
// memory in bits.
void weft_circuit_color_ring(struct weft_ring_coloring *coloring, const struct weft_ring_arc *arcs,
                             uint32_t arc_count, uint32_t ring,
                             const struct weft_ring_options *options, struct weft_arena *arena,
                             struct weft_arena scratch);

// ---- circuits beside packets ----

struct weft_split_options {
    uint32_t circuit_ports; // of a node, on one switch that joins any two
    double packet_ports;    // of a node, in circuits' rate; 0 = none
    uint64_t work_limit;    // exchanges looked at, and equations solved; 0 = 16000
    uint64_t seed;
    // Per node, where they differ (ports that failed); NULL = as above. No node has more circuits
    // than circuit_ports.
    const uint32_t *node_circuits;
    const double *node_packets;
    // Circuits to begin from, n*n; NULL = none. The answer is never slower than they are.
    const uint32_t *first;
};
struct weft_split_times {
    double time;  // of demand for a port of rate one
    double ideal; // of one switch that carries anything: the busiest row or column over all ports
    double bound; // no circuits are quicker: what the worst row or column reaches alone
};

// Duplex circuits (symmetric, n*n, zero diagonal, rows sum to at most circuit_ports) that carry
// bytes[n*n] soonest together with the packet fabric, pairs split over both. Local search with
// restarts from the best; ends where `bound` is reached. The diagonal of `bytes` stays local.
// Deterministic for a seed. O(work_limit n), memory O(n^2).
void weft_circuit_split(uint32_t *circuits, struct weft_split_times *split, const double *bytes,
                        uint32_t node_count, const struct weft_split_options *options,
                        struct weft_arena scratch);

// What given circuits take, pairs split over both; INFINITY where packets have to carry something
// and there are none. O(n^2).
double weft_circuit_split_time(const uint32_t *circuits, const double *bytes, uint32_t node_count,
                               const struct weft_split_options *options);
// The busiest row or column over all its ports: one switch that carries anything. O(n^2).
double weft_circuit_ideal_time(const double *bytes, uint32_t node_count,
                               const struct weft_split_options *options);

// How the two hops of a relay go.
enum weft_relay_kind {
    WEFT_RELAY_CIRCUITS,      // both over circuits
    WEFT_RELAY_PACKETS_LAST,  // over circuits, then over packets
    WEFT_RELAY_PACKETS_FIRST, // over packets, then over circuits
};
struct weft_relay {
    uint32_t from, via, to;
    enum weft_relay_kind kind;
    double bytes;
};
struct weft_relay_plan {
    double time;
    uint32_t relay_count;
    const struct weft_relay *relays; // of that time
};
// The same circuits where pairs may also go through a third node: never slower than without. Greedy
// in the choice of third nodes; a bisection on time. Packets must be able to carry what circuits do
// not (asserted). arena NULL: the time alone. O(n^3).
void weft_circuit_relay(struct weft_relay_plan *plan, const uint32_t *circuits, const double *bytes,
                        uint32_t node_count, const struct weft_split_options *options,
                        struct weft_arena *arena, struct weft_arena scratch);

// ---- circuits over time ----

// What a change of circuits takes, one part after the other. Ports that keep their peer carry on.
struct weft_circuit_delays {
    uint64_t command_ps; // until the switch begins to turn: ports still carry
    uint64_t dark_ps;    // it turns: nothing passes
    uint64_t retrain_ps; // transceivers and NICs find the light again: nothing passes
    uint64_t first_ps;   // the first packet over a new circuit waits so much longer
};
// Optics alone: command 0.1 ms, no re-training.
#define WEFT_CIRCUIT_IDEAL(dark) ((struct weft_circuit_delays){100000000, (dark), 0, 0})
// As measured with a Polatis switch driven by TL1 and NICs that were not made for it (MixNet,
// SIGCOMM 2025): a turn-around of 41 ms of which its data sheet's 25 ms are dark, then 5.67 s until
// the NIC is active.
#define WEFT_CIRCUIT_COMMODITY                                                                     \
    ((struct weft_circuit_delays){16000000000, 25000000000, 5670000000000, 0})

// Each plane is a switch with one port of every node. peers[i] is the node that i's port sends to,
// i itself where it sends to nobody: a permutation where all that are idle neither send nor
// receive. Ports whose peer differs from the one before change.
struct weft_circuit_change {
    uint64_t start_ps; // of the command
    uint32_t plane;
    const uint32_t *peers; // node_count
};
struct weft_circuit_schedule {
    uint32_t node_count;
    uint32_t plane_count;
    const uint32_t *first; // peers at time 0, plane by plane: plane_count * node_count
    uint32_t change_count;
    const struct weft_circuit_change *changes; // ascending start_ps
    struct weft_circuit_delays delays;
    uint64_t end_ps;
};

// Bytes that cross one circuit.
struct weft_circuit_burst {
    uint32_t plane;
    uint32_t from;
    uint32_t to;
    uint64_t start_ps;
    uint64_t end_ps;
    double bytes;
};
// Parts of a circuit's loss, all in dB; zero is none.
struct weft_circuit_losses {
    double budget_db;
    double connectors_db;    // of a circuit together
    double fiber_db_per_km;  // over both ends' fibers
    const double *fiber_km;  // per node, to the switches; NULL = 0
    const double *switch_db; // per plane, from port to port; NULL = 0
};
// What a schedule has to carry. Zero is nothing: then schedules alone are checked.
struct weft_circuit_traffic {
    double rate_Bps;                         // of a circuit
    const struct weft_circuit_burst *bursts; // ascending start_ps
    uint32_t burst_count;
    const double *demand_bytes;               // [from * node_count + to]; NULL = nothing is asked
    const struct weft_circuit_losses *losses; // NULL = light does not fade
};

// Fails with INFEASIBLE, naming the parts, where a circuit loses more than the budget.
bool weft_circuit_check_loss(const struct weft_circuit_losses *losses, uint32_t plane,
                             uint32_t from, uint32_t to, struct weft_error *error) WEFT_MUST_USE;

// Whether a schedule can be carried out and carries what it should. No two ports send to one; none
// changes again before it has changed, but one that was only let go; every burst is within the time
// in which its circuit is lit, so that nothing is in flight on a port that changes, and the circuit
// can carry all its bursts, each by its end (earliest deadline first, which is exact for one
// circuit); bursts carry every byte of the demand; and no circuit loses more light than it may. Old
// circuits carry until the command has been carried out; the first burst over a new one waits for
// first_ps. Shares nothing with what plans or plays schedules. Fails with INPUT where schedule or
// bursts are none, and with INFEASIBLE where they cannot be; the message names change or burst,
// time, plane and port. O(changes nodes + bursts log bursts + nodes^2).
bool weft_circuit_check_schedule(const struct weft_circuit_schedule *schedule,
                                 const struct weft_circuit_traffic *traffic,
                                 struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// The same without an end at the first breach: a line for each. What a breach makes of what follows
// is looked at as well: a change of a busy port is taken as made.
struct weft_circuit_breaches {
    uint32_t count;
    const char **lines;
};
void weft_circuit_list_breaches(struct weft_circuit_breaches *breaches,
                                const struct weft_circuit_schedule *schedule,
                                const struct weft_circuit_traffic *traffic,
                                struct weft_arena *arena, struct weft_arena scratch);

// ---- changes ----

struct weft_circuit_moves {
    uint32_t moved; // ports whose peer changes, of all planes
    uint32_t bound; // no assignment of these circuits to planes moves fewer
};

// Divides circuits among planes, as weft_circuit_decompose does, so that few ports move away from
// the peers that they have, `before`[plane * node_count + node]. Ports that are not asked for stay
// with theirs where both ends can. Circuits that ports have already stay; the others go one by one
// to a plane that both ends have free, have after few others move, or after the cheapest of some
// alternating chains. Then any two planes divide their circuits anew, cycle by cycle, exact for the
// two, and ports that nobody asks for go back to their peers, until neither gains. moved = bound
// proves that nothing is better. `circuits` (rows and columns at most plane_count, asserted; a zero
// diagonal) becomes what the planes then have. O(nodes^2 + planes^2 nodes a round) where little
// changes; a chain O(nodes).
void weft_circuit_reassign(uint32_t *permutations, struct weft_circuit_moves *moves,
                           uint32_t *circuits, const uint32_t *before, uint32_t node_count,
                           uint32_t plane_count, struct weft_arena scratch);

// Any two planes divide their circuits anew, as above. Where those before and after are duplex,
// each permutation its own inverse, they stay so.
void weft_circuit_exchange_planes(uint32_t *permutations, const uint32_t *before,
                                  uint32_t node_count, uint32_t plane_count,
                                  struct weft_arena scratch);
// How many ports have another peer after than before; the others carry on.
uint32_t weft_circuit_difference(const uint32_t *before, const uint32_t *after,
                                 uint32_t port_count);

struct weft_circuit_stagger {
    uint32_t *order; // the planes that change, the first first
    uint32_t count;
    uint64_t *start_ps;  // of each's command
    uint64_t end_ps;     // all are lit, and the first packet may pass
    uint32_t cut_single; // pairs with circuits before and after that are without one at some time
    uint32_t cut_double; // of these, with two circuits or more before and after
    bool is_proved;      // no order cuts fewer, doubles first
};

// One plane changes after the other, each commanded so that it turns when the one before is lit: at
// most 1 / plane_count of the ports are dark at a time. The order is the one that cuts off the
// fewest pairs: over all orders up to 10 planes that change (dynamic program over sets), beyond
// that the plane next that cuts the fewest. Without `stagger` all planes change at once.
// O(2^planes planes (nodes planes)), the greedy one planes^2 (nodes planes).
void weft_circuit_order_planes(struct weft_circuit_stagger *result, const uint32_t *before,
                               const uint32_t *after, uint32_t node_count, uint32_t plane_count,
                               const struct weft_circuit_delays *delays, bool stagger,
                               struct weft_arena *arena);

// ---- duplex circuits ----

// Duplex circuits (symmetric, zero diagonal) on switches with one port of every node: an edge
// coloring of the multigraph, NP-hard to do with the fewest. permutations[s * node_count + i] is
// the peer of i on switch s, i itself where it is idle; room for floor(3/2 degree) switches, which
// suffice (Shannon, "A theorem on coloring the lines of a network", 1949; the steps of its proof
// are the algorithm). Returns how many are used; *bound: none has fewer. O(circuits (nodes +
// degree) degree).
uint32_t weft_circuit_color_duplex(uint32_t *permutations, uint32_t *bound,
                                   const uint32_t *circuits, uint32_t node_count,
                                   struct weft_arena scratch);
// The same with two ports of every node on each switch, A and B: switch s joins A of node i to B of
// permutations[s * node_count + i], both ways. ceil(degree / 2) switches suffice, and none has
// fewer (Petersen, "Die Theorie der regulaeren graphs", 1891). Ports that are left are joined to
// any that are left, and added to `circuits`. Returns how many. O(circuits (nodes + degree)).
uint32_t weft_circuit_pair_ports(uint32_t *permutations, uint32_t *circuits, uint32_t node_count,
                                 struct weft_arena scratch);

// ---- circuits that change between the steps of a collective ----

struct weft_step_costs {
    uint32_t step_count;
    uint32_t topology_count;
    const double *costs; // of a step on a topology, row = step; INFINITY = it cannot
    double change;       // between two topologies
    uint32_t first;      // the topology that is wired before; WEFT_NONE = whatever is wanted
};
struct weft_step_plan {
    double time;
    uint32_t changes;     // the one before the first step included
    uint32_t *topologies; // per step: what it runs over
};

// The least time of steps one after the other. Exact over these topologies, so never worse than
// staying or than changing always. O(steps topologies).
void weft_circuit_steps(struct weft_step_plan *plan, const struct weft_step_costs *costs,
                        struct weft_arena *arena, struct weft_arena scratch);

// ---- the same, plane by plane: some turn while others carry ----

// What a ring of the nodes in their order does with a step's flows, one from each node at most:
// most flows on one segment, and hops of the longest.
struct weft_ring_way {
    double load; // 0: no flow goes this way
    uint32_t hops;
};
struct weft_plane_pattern {
    struct weft_ring_way up; // every flow the shorter way; what is opposite, half and half
    struct weft_ring_way down;
    struct weft_ring_way all_up; // all flows one way
    struct weft_ring_way all_down;
};
struct weft_plane_step {
    uint32_t pattern; // whose circuits carry it directly
    double bytes;     // of each node that sends
};
struct weft_plane_problem {
    uint32_t step_count;
    const struct weft_plane_step *steps; // one after the other
    uint32_t pattern_count;
    const struct weft_plane_pattern *patterns;
    uint32_t plane_count; // at most WEFT_PLANES_MAX; even ones begin as a ring up, odd ones down
    double rate_Bps;      // of a node's port on one plane
    double hop_s;
    double change_s;
    uint32_t label_limit; // states kept after a step; 0 = 256, beyond 128 steps fewer
    double most_s;        // what takes longer is not looked for; 0 = all is
    weft_stop stop;       // then it is `cut`
};
#define WEFT_PLANES_MAX 4u
#define WEFT_PLANE_UP (WEFT_NONE - 1) // the ring, as a pattern
#define WEFT_PLANE_DOWN (WEFT_NONE - 2)
struct weft_plane_plan {
    double seconds;   // INFINITY: longer than most_s
    uint32_t changes; // of planes
    bool cut;         // states were left out, so that it may not be the best of its kind
    uint32_t *wired;  // [step * plane_count + plane]: the pattern that it has or turns to
};

// Runs steps over planes, each a switch with a port of every node: the bytes of a step are divided
// over the planes that have its circuits and those that are still a ring, as they become ready,
// while others turn. The least time of all plans in which planes begin to turn where a step begins,
// to the circuits of this step, to those of the next two that differ or to a ring (unless `cut`):
// states after a step that are nowhere earlier than another are left out. With one plane equal to
// weft_circuit_steps. O(steps states^2 planes).
void weft_circuit_planes(struct weft_plane_plan *plan, const struct weft_plane_problem *problem,
                         struct weft_arena *arena, struct weft_arena scratch);

WEFT_API_END

#endif
