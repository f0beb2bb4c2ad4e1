// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_CORE_MACHINE_H
#define WEFT_RUNTIME_HEAL_CORE_MACHINE_H

// The state machine of healing, without sockets, switches or a clock: what is heard goes in with
// its time, what is to be done comes out. The coordinator plays it for real, the twin of the tests
// in memory.
//
//   running ──doubt──► (window) ──lost──► turning ──lit, all frozen──► joining ──all ready──►
//   running
//      │                                    ▲  another loss, or an answer too late  │
//      │                                    └─────────────────────────────────────── ┘
//      └─ all steps ─► ended                no spare ──► saving ──► ended
//
// A loss in any state begins the healing anew in the next epoch. Every state but `running` has a
// deadline, after which whoever owes an answer counts as lost, and running has one for a step; so
// that a run ends, whatever happens.

#include "message.h"

enum lab_heal_phase {
    LAB_HEAL_RUNNING,
    LAB_HEAL_TURNING, // switches turn, ranks freeze
    LAB_HEAL_JOINING, // ranks connect
    LAB_HEAL_SAVING,  // no spare: a survivor saves the parameters
    LAB_HEAL_ENDED,
};
enum lab_heal_outcome {
    LAB_HEAL_FINISHED,
    LAB_HEAL_NO_SPARE, // saved, if saved_step says so
    LAB_HEAL_WRONG,    // a sum was not what is due
    LAB_HEAL_STUCK,    // a step took longer than step_ns, or switches did
};
enum lab_heal_source { LAB_HEAL_HOT, LAB_HEAL_NEIGHBOR, LAB_HEAL_CHECKPOINT };
static const char *const lab_heal_source_names[] = {"hot", "neighbor", "checkpoint"};

struct lab_heal_options {
    uint32_t steps;
    enum lab_heal_source source; // of a spare's parameters
    uint32_t save_every;         // steps between two checkpoints; 0 = none
    uint64_t doubt_ns;           // after silence, that others may be heard about it
    uint64_t reset_ns;           // after the end of a connection or of light, the same
    uint64_t turn_ns;            // for switches and for ranks to freeze
    uint64_t join_ns;            // for ranks to connect and get parameters
    uint64_t save_ns;
    uint64_t step_ns; // a step takes no longer while nothing is healed
};

// ---- what is heard ----

enum lab_heal_event_kind {
    LAB_HEAL_TICK,   // time passes
    LAB_HEAL_REPORT, // of a host
    LAB_HEAL_LOST,   // a host's process ended, or was silent
    LAB_HEAL_LIT,    // the switches have turned for this epoch
    LAB_HEAL_UNLIT,  // a switch did not do as told
};
struct lab_heal_event {
    enum lab_heal_event_kind kind;
    uint32_t host;             // REPORT, LOST
    uint32_t epoch;            // LIT
    uint32_t plane;            // UNLIT
    enum lab_heal_cause cause; // LOST
    struct lab_heal_report report;
};

// ---- what is to be done ----

enum lab_heal_action_kind {
    LAB_HEAL_TELL, // an order to a host
    LAB_HEAL_TURN, // bring all switches that are not lost to the rack's circuits
};
struct lab_heal_action {
    enum lab_heal_action_kind kind;
    uint32_t host;
    struct lab_heal_order order;
};
#define LAB_HEAL_ACTIONS_MAX (2 * LAB_HEAL_HOSTS_MAX + 8)
struct lab_heal_actions {
    uint32_t count;
    struct lab_heal_action list[LAB_HEAL_ACTIONS_MAX];
};

// A healing, from the decision on; times are those of the events.
struct lab_heal_episode {
    uint32_t epoch;
    uint32_t step;
    enum lab_heal_cause cause; // what was noticed first
    uint64_t noticed_ns;       // the first doubt or loss
    uint64_t decided_ns;
    uint64_t lit_ns;
    uint64_t joined_ns;
    uint64_t stepped_ns; // the step that was broken off is done; 0: not yet
    uint32_t attempts;   // 1, and more where something failed meanwhile
    uint32_t replaced;   // ranks
    uint32_t moved;      // edges
    enum lab_heal_distance farthest;
    enum lab_heal_source source; // of the spares' parameters
    uint32_t lost_steps;         // whose work is done again
    bool restarted;              // the step from its start, not from its last chunk
};
#define LAB_HEAL_EPISODES_MAX 32u

struct lab_heal_machine {
    struct lab_heal_options options;
    struct lab_heal_rack rack;
    enum lab_heal_phase phase;
    enum lab_heal_outcome outcome;
    uint32_t epoch;
    uint32_t step;
    uint32_t saved_step; // of the checkpoint; WEFT_NONE: there is none
    uint64_t checked, wrong, dropped, refused;
    bool digests_differ;
    uint64_t digest;    // that the last who is done with the step has
    uint64_t due_ns;    // of the phase
    uint64_t window_ns; // until doubts are decided; 0: there are none
    bool lit;
    bool active[LAB_HEAL_HOSTS_MAX];                   // has a rank, or is asked for one
    struct lab_heal_report frozen[LAB_HEAL_RANKS_MAX]; // magic 0: not yet
    bool ready[LAB_HEAL_RANKS_MAX];
    bool done[LAB_HEAL_RANKS_MAX];
    // Doubts about edges: cause + 1 that an end told; 0 = none.
    uint32_t doubts[LAB_HEAL_RANKS_MAX][LAB_HEAL_SIDES]; // [rank][side]
    enum lab_heal_cause noticed_cause; // of the first doubt or loss that is not healed
    uint64_t noticed_ns;
    uint32_t saver; // host
    uint32_t episode_count;
    struct lab_heal_episode episodes[LAB_HEAL_EPISODES_MAX];
};

// Begins: all ranks join in epoch 1. The circuits of the rack are lit.
void lab_heal_machine_begin(struct lab_heal_machine *machine, const struct lab_heal_rack *rack,
                            const struct lab_heal_options *options, uint64_t now_ns,
                            struct lab_heal_actions *actions);
// Takes one event. Events of former epochs and of hosts without a part in it change nothing.
void lab_heal_machine_take(struct lab_heal_machine *machine, const struct lab_heal_event *event,
                           uint64_t now_ns, struct lab_heal_actions *actions);
// When the next tick is needed; WEFT_NEVER: not before something is heard.
uint64_t lab_heal_machine_due_ns(const struct lab_heal_machine *machine);

#endif
