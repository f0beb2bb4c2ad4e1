// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_CIRCUITS_H
#define WEFT_SIM_CIRCUITS_H

// Circuits that change while a simulation runs: what a controller of them sees and answers, and a
// ready one that is made of optical switches.
//
//   policy, schedule ──► [planes] ──► controller ◄──► both engines

#include "weft/circuit.h"
#include "weft/fabric.h"

WEFT_API_BEGIN

// ---- controllers ----

// Why a controller is asked before its time is up.
struct weft_circuit_event {
    uint32_t from;
    uint32_t to;
    bool is_carried; // all messages of the pair are; else one began, and no circuit leads on
};

// What a circuit controller sees when it is asked.
struct weft_circuit_demand {
    uint64_t now_ps;
    uint32_t server_count;
    const double *unserved_bytes; // [from * server_count + to]: begun and not yet carried
    const struct weft_circuit_event *events; // of pairs, since it was asked last, in order
    uint32_t event_count;
    const uint32_t *barriers; // that ended since: tasks, counted through all jobs
    uint32_t barrier_count;
};

// What it answers. The arrays are the controller's own and hold until it is asked again.
struct weft_circuit_answer {
    const double *rate_Bps;    // per link of the fabric; 0: no circuit makes this link
    const uint32_t *next_link; // [at * server_count + to]: the link towards `to`; WEFT_NONE: no way
    uint64_t dark_ps; // from now on, links whose rate changes carry `meanwhile_Bps` for so long
    const double *meanwhile_Bps; // per link, at most rate_Bps; NULL = nothing
    uint64_t first_ps;           // the first packet over a link that was dark waits so much longer
    const double *packet_share;  // per pair, of what begins: goes over the packet part; NULL = 0
    bool stops_all;    // dark are links that do not change, too: a switch that turns as a whole
    uint64_t until_ps; // it is asked again then; WEFT_NEVER: not by time
};

// A circuit controller: sees demand and time, and answers with circuits and dark intervals. Links
// between servers are the circuits that there may ever be; the controller says which of them there
// are, at what rate, and by which of them each server sends on. It is first asked at time 0.
//
// Each link that changes is dark for its own time, and a link that keeps its rate is not disturbed,
// nor is one whose dark time goes on and whose rate stays as it was answered. A link may lose
// circuits that are joined to it: where rate_Bps is what it carries meanwhile, there is nothing
// dark. In the flow engine a flow whose path changes goes on with what is left of it; in the packet
// engine a link that changes first drains, so that nothing is in flight over it, its dark time
// begins when that and its neighbors at both servers have drained, and packets wait at the server
// before it until it is there again.
//
// Links from and to switches are a packet fabric beside the circuits: they never change, whatever
// rate_Bps says of them, and lead by shortest paths to any server (of several one, by a hash of
// where it leads), through switches only. A message takes it where `next_link` has nothing for its
// pair, and then to its end, and `packet_share` of a pair's messages does in any case. Without it
// such a message waits until there is a circuit; where that never comes the run fails with
// INFEASIBLE. Acknowledgements without a way back are at their sender at once.
struct weft_circuit_controller {
    void *state; // handed to `decide`
    // Fails with what shall end the run. `scratch` is gone on return.
    bool (*decide)(void *state, struct weft_circuit_answer *answer,
                   const struct weft_circuit_demand *demand, struct weft_arena scratch,
                   struct weft_error *error);
    bool at_begin;    // ask also when a message begins and `next_link` has nothing for its pair
    bool at_end;      // ask also when all messages of a pair are carried
    bool at_barriers; // ask also when a barrier of a task graph ends
};

struct weft_circuit_counts {
    uint64_t answer_count; // times that the controller was asked
    uint64_t dark_ps;      // of the dark intervals of all answers together
    uint32_t hop_max;      // links of the longest path that a flow took
};

// ---- planes of optical switches ----

// What a policy orders when it is asked.
struct weft_plane_orders {
    const struct weft_circuit_change *changes; // start_ps from now on; those of a plane in order
    uint32_t change_count;
    uint64_t until_ps;          // it is asked again then; WEFT_NEVER: not by time
    const double *packet_share; // per pair, as in an answer; holds until it orders again
};

// Switches with one port of every server each (weft_circuit_schedule says more), which a policy
// orders to change: the controller of these keeps the delays of each change, adds what circuits of
// several planes between two servers carry, and sends on by direct circuits.
struct weft_plane_setting {
    uint32_t plane_count;
    // Peers at time 0, plane by plane: plane_count * servers. Here and in orders a port may receive
    // and send to nobody (itself), and the other way round.
    const uint32_t *first;
    double rate_Bps; // of a circuit
    struct weft_circuit_delays delays;
    bool forwards; // servers send on over the fewest circuits, instead of over one only
    bool at_begin; // when the policy is asked beside its times, as of a controller
    bool at_end;
    void *state; // handed to `order`
    // Fails with what shall end the run. `scratch` is gone on return.
    bool (*order)(void *state, struct weft_plane_orders *orders,
                  const struct weft_circuit_demand *demand, struct weft_arena scratch,
                  struct weft_error *error);
};

// A controller for one run on this fabric, whose links between servers are the circuits that there
// may be. Fails with INPUT where the first peers are no permutation or need a link that there is
// not; a run fails so where an order does. The result lives in `arena`. An order costs O(servers +
// circuits), with `forwards` O(servers * (servers + circuits)).
bool weft_planes_build(struct weft_circuit_controller *controller,
                       const struct weft_plane_setting *setting, const struct weft_fabric *fabric,
                       struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// The same for a schedule, whose changes are ordered when they start, whatever the demand. The
// schedule has to outlive the run.
bool weft_planes_replay(struct weft_circuit_controller *controller,
                        const struct weft_circuit_schedule *schedule, double rate_Bps,
                        const struct weft_fabric *fabric, struct weft_arena *arena,
                        struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
