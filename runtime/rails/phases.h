// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_RAILS_PHASES_H
#define WEFT_RUNTIME_RAILS_PHASES_H

// Which phases of a rail may begin, and over what: the controller's state without sockets, clocks
// or switches.
//
//   announcements, time, the switch's answers ──► [phases] ──► orders to ranks and to the switch
//
// A phase is a change of circuits that its members wait for together. Its generation is
// iteration * phases + number. When all members have announced a generation, its circuits are
// queued; the switch makes all that are queued in one change, with the ports of no other phase.
// Whatever goes wrong (a member that announces another phase, does not come or is gone, a switch
// that fails, is late or still busy), every member that asked is told to use the management
// network for that generation, and a notice says why. Every wait has a deadline.

#include "weft/base.h"

enum lab_verdict {
    LAB_LIT,      // the circuits carry
    LAB_STALE,    // the generation is over, or another was due: the rank's schedule is another one
    LAB_STRANGE,  // no such phase, or not the rank's
    LAB_ABSENT,   // a member did not come in time
    LAB_GONE,     // a member's connection ended
    LAB_FAILED,   // the switch failed, by its answer, by what was read back or by its light
    LAB_LATE,     // it did not answer in time
    LAB_BUSY,     // it has not answered an earlier change yet
    LAB_GIVEN_UP, // it failed so often that nobody asks it any more
    LAB_STALLED,  // a rank told that bytes did not move over circuits that were said to carry
    LAB_VERDICTS,
};
extern const char *const lab_verdict_names[LAB_VERDICTS];

// One circuit of a phase that was not there before it. With several planes a port is that of rank
// port % rank_count on plane port / rank_count.
struct lab_circuit {
    uint32_t from, to;
};
struct lab_phase_plan {
    const char *name; // "dp to pp"
    uint32_t circuit_count;
    const struct lab_circuit *circuits;
};
struct lab_phases_options {
    uint32_t rank_count;
    uint32_t plane_count; // switches with a port of each rank; 0 = 1
    uint32_t phase_count; // of an iteration
    const struct lab_phase_plan *phases;
    const uint32_t *outputs; // by input, at the begin; WEFT_NONE = dark
    uint64_t absent_ns;      // from the first announcement of a generation to the last
    uint64_t late_ns;        // of a change
    uint64_t gather_ns;      // a change waits so long for phases that become complete together
    uint32_t failures_max;   // one after the other, then the switch is given up
};

// An order to a rank.
struct lab_order {
    uint32_t rank;
    enum lab_verdict verdict;
    uint64_t generation;
};
struct lab_notice {
    enum lab_verdict verdict;
    uint32_t rank; // whom it is about, or who told; WEFT_NONE = the switch
    uint64_t generation;
    uint64_t at_ns;
    uint64_t after_ns; // since the change or the first announcement began
};
// Told synchronously, while a function below runs. NULL: not told.
struct lab_phases_sink {
    void (*order)(void *context, const struct lab_order *order);
    void (*apply)(void *context, const uint32_t *outputs); // exactly one lab_phases_applied answers
    void (*notice)(void *context, const struct lab_notice *notice);
    void *context;
};

static inline uint32_t lab_phases_port_count(const struct lab_phases_options *options)
{
    return options->rank_count * (options->plane_count > 0 ? options->plane_count : 1);
}

struct lab_phases;
struct lab_phases *lab_phases_open(const struct lab_phases_options *options,
                                   const struct lab_phases_sink *sink, struct weft_arena *arena);
// Whether a rank waits in this phase: its ports change.
bool lab_phases_is_member(const struct lab_phases_options *options, uint32_t phase, uint32_t rank);
// A rank waits for a generation. O(members).
void lab_phases_announce(struct lab_phases *self, uint32_t rank, uint64_t generation,
                         uint64_t now_ns);
// A rank waited in vain for bytes to move in a generation that was lit; it uses the management
// network already.
void lab_phases_stall(struct lab_phases *self, uint32_t rank, uint64_t generation,
                      uint64_t after_ns, uint64_t now_ns);
void lab_phases_lose(struct lab_phases *self, uint32_t rank, uint64_t now_ns);
// The switch has answered; outputs: what it has now, as far as is known.
void lab_phases_applied(struct lab_phases *self, bool fine, const uint32_t *outputs,
                        uint64_t now_ns);
// What is overdue. Returns when to ask again at the latest; UINT64_MAX = nothing is due.
uint64_t lab_phases_tick(struct lab_phases *self, uint64_t now_ns);
struct lab_phases_counts {
    uint64_t changes; // of the switch
    uint64_t lit;     // generations over circuits
    uint64_t fallen;  // generations over the management network
    uint64_t port_ns; // from the order of a change to its answer, times the ports that it joined
};
struct lab_phases_counts lab_phases_counts(const struct lab_phases *self);

#endif
