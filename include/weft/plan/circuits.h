// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_CIRCUITS_H
#define WEFT_PLAN_CIRCUITS_H

// A schedule of a collective played in an engine over circuits that follow its rounds.
//
//   schedule ──► circuits of each round ──► planes ──► engine ──► seconds
//
// Each wavelength of a server is a plane: in a round with p peers each gets the p-th part of them,
// rounded down. When all transfers of a round have come, the circuits of the next are asked for.

#include "weft/circuit.h"
#include "weft/collective.h"
#include "weft/sim.h"

WEFT_API_BEGIN

struct weft_circuit_play_options {
    uint64_t size_bytes;
    double rate_Bps;      // of a server, all its wavelengths together
    uint64_t latency_ps;  // of a circuit
    uint32_t wavelengths; // 0 = as many as all numbers of peers divide
    struct weft_circuit_delays delays;
    enum weft_sim_engine engine;
    double packets_max; // packet engine: sizes and rates are divided until there are no more; 0 =
                        // all
    bool is_set;        // the circuits of the first round are there at 0; else none are
    bool sets_anew;     // circuits that the next round has, too, are let go and set again
    uint64_t stays; // bit t: round t of those between servers runs over a ring of the servers, half
                    // of the wavelengths each way, on which they send on
    weft_stop stop;
};
struct weft_circuit_play {
    double seconds;
    uint32_t change_count; // rounds for which circuits changed
    uint64_t packet_count;
    double divisor;
};
// Fails with UNSUPPORTED beyond 2^20 transfers or 2^24 ports, with INPUT where a round has more
// peers than wavelengths, and as the engine does.
bool weft_circuit_play(struct weft_circuit_play *play, const struct weft_schedule *schedule,
                       const struct weft_circuit_play_options *options,
                       const struct weft_environment *environment) WEFT_MUST_USE;

WEFT_API_END

#endif
