// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_MIXNET_H
#define WEFT_PLAN_MIXNET_H

// MixNet (SIGCOMM 2025): circuits for the experts' all-to-all, changed while a model trains.
//
//   trace of loads ──► demand of servers ──► circuits, layer by layer ──► iteration
//
// A region is the servers of one group of experts. Each has `circuit_ports` NICs on the region's
// optical switch and the others on a packet fabric of the whole cluster, which also carries
// pipeline and gradients. docs/mixnet.md has the method, its limits and what it reaches.

#include "weft/circuit.h"
#include "weft/plan/moving.h"
#include "weft/sim.h"
#include "weft/strategy.h"

WEFT_API_BEGIN

// ---- loads of experts ----

// What the ranks of one group of experts send to each expert, in copies of tokens or any other
// unit: a step is one micro-batch.
struct weft_expert_trace {
    uint32_t experts, layers, ranks, steps;
    const double *loads; // [step][layer][rank][expert]
};
// Loads by a law: each rank's are a permutation of Zipf's law of exponent `skew`, which the next
// layer derives from them by a matrix of its own that most tokens of an expert follow to one other
// expert; `drift` is the share of places that change from step to step.
struct weft_expert_law {
    uint32_t experts, layers, ranks, steps;
    double skew;  // 0 = all alike
    double drift; // 0 to 1
    uint64_t seed;
};
void weft_experts_generate(struct weft_expert_trace *trace, const struct weft_expert_law *law,
                           struct weft_arena *arena, struct weft_arena scratch);
// The loads of one layer of a step as bytes between `server_count` servers, which share ranks and
// experts evenly, in order: bytes[server_count^2], row = sender, copies_bytes a row, the diagonal
// stays in the server. Sizes must divide (asserted). O(ranks experts).
void weft_experts_demand(double *bytes, const double *loads, const struct weft_expert_trace *trace,
                         uint32_t server_count, double copies_bytes);
// What a layer's loads tell of the next one's: matrix[experts^2], matrix[f * experts + e] is the
// share of what expert e has that f gets next. Columns are shares (not negative, sum 1) and
// minimize the squared error over `samples` rows of both loads, each first scaled to sum 1; by
// accelerated projected gradient (Beck and Teboulle, FISTA, 2009), projections on the simplex after
// Michelot (1986). `matrix` is where it begins. O(experts^2 samples).
void weft_experts_fit(double *matrix, const double *before, const double *after, uint32_t samples,
                      uint32_t experts, struct weft_arena scratch);
// next[experts] = matrix * loads.
void weft_experts_apply(double *next, const double *matrix, const double *loads, uint32_t experts);

// ---- the published choice of circuits ----

// The greedy gives a circuit to the pair with the largest remaining time. How its text and its
// released program read where an end has no port free:
enum weft_greedy_reading {
    WEFT_GREEDY_LITERAL,  // it stops there
    WEFT_GREEDY_SKIPS,    // that pair is left out
    WEFT_GREEDY_RELEASED, // entries are divided by a hundred times their circuits: distinct pairs
    WEFT_GREEDY_COUNT,
};
// "literal", "skips", "released".
const char *weft_greedy_name(enum weft_greedy_reading reading);
void weft_mixnet_greedy(uint32_t *circuits, const double *bytes, uint32_t node_count,
                        uint32_t circuit_ports, enum weft_greedy_reading reading,
                        struct weft_arena scratch);
// The time where a pair with circuits goes over them alone and the others over packets. O(n^2).
double weft_mixnet_whole_time(const uint32_t *circuits, const double *bytes, uint32_t node_count,
                              double packet_ports);

// ---- circuits over layers ----

// What the first all-to-all of a layer finds, whose loads are known only once it begins.
enum weft_mixnet_first {
    WEFT_FIRST_PREDICT, // circuits for the loads that the layer before tells, where that pays
    WEFT_FIRST_KEEP,    // the circuits that stand
    WEFT_FIRST_RANDOM,  // circuits at random
    WEFT_FIRST_BLOCK,   // it waits until circuits for its loads are there
    WEFT_FIRST_COUNT,
};
// "predict", "keep", "random", "block".
const char *weft_mixnet_first_name(enum weft_mixnet_first first);
bool weft_mixnet_first_named(enum weft_mixnet_first *first, const char *name,
                             struct weft_error *error) WEFT_MUST_USE;

// What fails in one server of the region.
enum weft_mixnet_fault {
    WEFT_FAULT_NONE,
    WEFT_FAULT_PACKET_NIC,
    WEFT_FAULT_CIRCUIT_NIC, // or the circuits' port, or its fiber
    WEFT_FAULT_GPU,         // a spare one on another server takes its load, over packets alone
    WEFT_FAULT_SERVER,      // a spare server, all of whose NICs are on packets
    WEFT_FAULT_ALIKE,       // one that is cabled as the others: its circuits lead nowhere
    WEFT_FAULT_COUNT,
};
// "none", "packet-nic", "circuit-nic", "gpu", "server", "server-alike".
const char *weft_mixnet_fault_name(enum weft_mixnet_fault fault);

struct weft_mixnet_options {
    uint32_t circuit_ports;                // of a server; 0 = 6
    double skew, drift;                    // of loads that are generated
    uint32_t steps;                        // micro-batches that are looked at; 0 = 4
    const struct weft_expert_trace *trace; // NULL = generated
    enum weft_mixnet_first first;
    // As published: the greedy as released, pairs whole, no relays, circuits changed under the
    // experts' computation whether it pays or not, gradients over packets.
    bool published;
    enum weft_mixnet_fault fault; // not with `published`
};
// Published ports; skew and drift are not published: the law of the sheet's random matrices.
#define WEFT_MIXNET_DEFAULTS                                                                       \
    ((struct weft_mixnet_options){.circuit_ports = 6, .skew = 1.2, .drift = 0.1, .steps = 4})

// The four all-to-alls of a layer in the order of time: out and back, and their gradients.
#define WEFT_MIXNET_EXCHANGES 4u
// Circuits that stood from a moment on, 0 = a micro-batch enters the stage, 1 = its backward pass
// has ended; a forward pass is taken to last half as long as a backward one.
struct weft_mixnet_wiring {
    double moment;
    const uint32_t *circuits; // node_count^2
};
// One all-to-all of a micro-batch's way through a stage, there and back.
struct weft_mixnet_turn {
    const uint32_t *circuits; // that it finds: node_count^2
    const double *bytes;      // node_count^2
    double compute_s;         // of its servers between the one before and it
    double lead_s;            // so long before it is ready, circuits are commanded to change
    double time_s, wait_s;    // by the formula: what it takes, what it waits for circuits
};
// Means over layers and steps, in seconds.
struct weft_mixnet_replay {
    double exchange_s[WEFT_MIXNET_EXCHANGES]; // with what each waits for circuits
    double wait_s[WEFT_MIXNET_EXCHANGES];
    double ideal_s; // one switch for all ports, no change
    double still_s; // the same circuits, were changes to take no time
    double changes; // of circuits, in a micro-batch's pass there and back through one stage
    double moved;   // ports that change with them, of all of the region's
    double error;   // of the predicted loads: mean sum of differences, 0 to 2
    uint32_t node_count;
    uint32_t wiring_count; // of the first stage and micro-batch that were played, at least 1
    const struct weft_mixnet_wiring *wirings;
    uint32_t turn_count; // of the same, in the order of time
    const struct weft_mixnet_turn *turns;
    struct weft_split_options ports;
};
// Plays the all-to-alls of one region, layer by layer there and back, stage by stage. Fails with
// INPUT where trace, model and strategy do not fit each other.
bool weft_mixnet_replay(struct weft_mixnet_replay *replay,
                        const struct weft_hybrid_exchange *exchange, const struct weft_study *study,
                        const struct weft_mixnet_options *options,
                        const struct weft_circuit_delays *delays,
                        const struct weft_environment *environment) WEFT_MUST_USE;

// ---- the iteration ----

// What shared gradients go over.
enum weft_mixnet_gradients {
    WEFT_GRADIENTS_PACKETS,  // as published
    WEFT_GRADIENTS_CIRCUITS, // the circuits that stand, and packets
    WEFT_GRADIENTS_RINGS,    // circuits that are changed into rings, and packets
    WEFT_GRADIENTS_STANDING, // circuits that are rings all the time, and packets
};
const char *weft_mixnet_gradients_name(enum weft_mixnet_gradients gradients);

// One strategy on fabrics whose servers have the same ports, by the estimate of the hybrid space
// with what the all-to-alls take in the place of balanced ones.
struct weft_mixnet_iteration {
    struct weft_hybrid_exchange exchange;
    uint32_t region; // servers on one switch for circuits
    struct weft_mixnet_replay replay;
    double iteration_s;
    double still_s;  // were changes to take no time
    double fat_s;    // one switch for all ports of all servers, as a Fat-tree is at best
    double passes_s; // a network that takes no time
    enum weft_mixnet_gradients gradients;
    double changes;    // commands to switches, of all regions
    double dark_share; // of the time of all ports on circuits
};
// Of a hybrid strategy. Fails as weft_mixnet_replay.
bool weft_mixnet_iterate(struct weft_mixnet_iteration *iteration, const struct weft_hybrid *hybrid,
                         const struct weft_study *study, const struct weft_mixnet_options *options,
                         const struct weft_circuit_delays *delays,
                         const struct weft_environment *environment) WEFT_MUST_USE;

// The same strategy on the study's network, by what its routes give each exchange: all-to-alls as
// much longer than balanced ones as the iteration's are on one switch.
bool weft_mixnet_iterate_on(double *seconds, const struct weft_hybrid *hybrid,
                            const struct weft_study *study,
                            const struct weft_mixnet_iteration *iteration,
                            struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- in an engine ----

// All-to-alls one after the other, as a replay has written them down, over circuits that change.
struct weft_mixnet_sequence {
    uint32_t node_count;
    const uint32_t *first; // circuits at the beginning: node_count^2
    uint32_t turn_count;
    const struct weft_mixnet_turn *turns;
    struct weft_split_options ports;
    double rate_Bps; // of a port
    struct weft_circuit_delays delays;
    double packets_max; // where there are more, all bytes and rates are divided; 0 = never
};
struct weft_mixnet_played {
    double seconds;   // until the last byte has come
    double formula_s; // of the turns: computation, waits and all-to-alls
    double compute_s; // of both: computation alone
    uint32_t changes; // of circuits
    double divisor;   // of bytes and rates; 1: all as they are
    uint64_t packet_count;
};
// Plays them on circuits and one packet switch, each pair divided over its circuits, packets and
// relays as weft_circuit_relay has it; both hops of a relay go on side by side. Circuits change as
// the turns say: a change is commanded when the last byte of the turn before has come, or when the
// turn is ready, is dark for its time, and what keeps its peer carries on; what needs a new circuit
// waits for light. Neither engine knows which flow is in a hurry, so that one turn takes no less
// than the formula's time. Fails as weft_sim_run_jobs.
bool weft_mixnet_play(struct weft_mixnet_played *played,
                      const struct weft_mixnet_sequence *sequence,
                      const struct weft_sim_options *sim,
                      const struct weft_environment *environment) WEFT_MUST_USE;

// ---- the plan ----

// Where no strategy is given, those that the search of the hybrid space finds on a switch are
// iterated, and the best is taken. Groups of experts inside one server need no circuits. The seed
// is the environment's. `mixnet` NULL = WEFT_MIXNET_DEFAULTS. The certificate is that of this
// strategy: passes alone, and a switch for all ports. Fails with INPUT where the model has no
// experts or the cluster no port for packets, with INFEASIBLE where nothing fits into memory.
bool weft_mixnet_plan(struct weft_moving_plan *plan, const struct weft_study *study,
                      const struct weft_mixnet_options *mixnet,
                      const struct weft_moving_options *options,
                      const struct weft_environment *environment) WEFT_MUST_USE;

// Parts of a cluster with `circuit_ports` of each server's NICs on circuits, as the paper counts
// them: a NIC of the packet fabric (a Fat-tree of three tiers) takes six transceivers and five
// switch ports, one on circuits a transceiver and a port of the optical switch. 0: a Fat-tree.
struct weft_parts weft_mixnet_parts(const struct weft_cluster *cluster, uint32_t circuit_ports);

WEFT_API_END

#endif
