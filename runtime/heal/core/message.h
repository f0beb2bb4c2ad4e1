// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_CORE_MESSAGE_H
#define WEFT_RUNTIME_HEAL_CORE_MESSAGE_H

// What the members of a healing job say: orders and reports between coordinator and hosts, of one
// length each, and frames between neighbors of the ring, a head and its elements.
//
// Everything carries the epoch, which grows by one with each healing: what was said before the last
// one is known by it and dropped. Both ends are one program on one machine, so structures go as
// they lie in memory; what is read is checked all the same before anything is done with it.

#include "rack.h"

#define LAB_HEAL_MAGIC 0x4c414548u

// ---- coordinator to host ----

enum lab_heal_order_kind {
    LAB_HEAL_FREEZE = 1, // stop sending, report how far the step is
    LAB_HEAL_RESUME,     // rank, neighbors and where to go on
    LAB_HEAL_COMMIT,     // all have all sums: the step is done
    LAB_HEAL_SAVE,       // write the parameters into the checkpoint
    LAB_HEAL_END,
};
enum lab_heal_flag {
    LAB_HEAL_RESTART = 1,   // RESUME: the step begins anew
    LAB_HEAL_FROM_PREV = 2, // RESUME: parameters come over that edge
    LAB_HEAL_FROM_NEXT = 4, //
    LAB_HEAL_FROM_FILE = 8, // RESUME: out of the checkpoint
    LAB_HEAL_TO_PREV = 16,  // RESUME: parameters go over that edge
    LAB_HEAL_TO_NEXT = 32,  //
    LAB_HEAL_AND_SAVE = 64, // COMMIT: and write the checkpoint
    LAB_HEAL_FLAGS_ALL = 127,
};
// The two edges of a rank.
enum { LAB_HEAL_PREV, LAB_HEAL_NEXT, LAB_HEAL_SIDES };
struct lab_heal_order {
    uint32_t magic;
    uint32_t kind;
    uint32_t epoch;
    uint32_t step; // RESUME: that goes on; COMMIT: that is done
    uint32_t rank; // RESUME
    uint32_t flags;
    uint32_t host[LAB_HEAL_SIDES];              // RESUME: at the far ends of the edges
    uint32_t plane[LAB_HEAL_SIDES];             // RESUME: their switches
    struct lab_heal_lane lanes[LAB_HEAL_LANES]; // RESUME, without RESTART
    uint64_t feed; // COMMIT: spares that get the parameters of this host, by bits
};

// ---- host to coordinator ----

enum lab_heal_report_kind {
    LAB_HEAL_BEAT = 1, // lives
    LAB_HEAL_STANDBY,  // a spare holds its connections
    LAB_HEAL_READY,    // both neighbors are in this epoch, and the parameters are there
    LAB_HEAL_DONE,     // has all sums of the step
    LAB_HEAL_FROZEN,   // how far the step is
    LAB_HEAL_DOUBT,    // a neighbor is lost, or seems so
    LAB_HEAL_TRUST,    // it is heard again
    LAB_HEAL_KEPT,     // a spare holds the parameters of this step
    LAB_HEAL_SAVED,    // the checkpoint holds the parameters of this step
    LAB_HEAL_FAILED,   // this host cannot go on
};
enum lab_heal_cause {
    LAB_HEAL_RESET,   // the connection ended
    LAB_HEAL_SILENCE, // no heartbeat
    LAB_HEAL_CARRIER, // the own port has no light
    LAB_HEAL_CONTROL, // the process ended, as its coordinator sees
    LAB_HEAL_LATE,    // an answer was due
    LAB_HEAL_CAUSES,
};
struct lab_heal_report {
    uint32_t magic;
    uint32_t kind;
    uint32_t epoch;
    uint32_t step;                              // of the parameters
    uint32_t side;                              // DOUBT, TRUST
    uint32_t cause;                             // DOUBT
    uint32_t rank;                              // FROZEN: that it has; WEFT_NONE: none
    uint32_t begun;                             // FROZEN
    struct lab_heal_lane lanes[LAB_HEAL_LANES]; // FROZEN
    uint64_t wrong;                             // DONE: elements that are not the sum that is due
    uint64_t checked;                           // DONE: elements
    uint64_t digest;                            // DONE: lab_heal_step_digest
    uint64_t dropped;                           // DONE: frames of former epochs that came so far
    uint64_t refused;                           // DONE: what strangers sent, or connected
    uint64_t at_ns;                             // DOUBT: when it was noticed
    uint64_t pid;                               // of the process that says so
};

// Fixed structures as they come through a stream: bytes until one is whole.
struct lab_heal_reader {
    uint32_t filled;
    union {
        struct lab_heal_order order;
        struct lab_heal_report report;
        uint32_t magic;
    } it;
};
// Takes bytes; returns how many, *whole says whether a message is complete. Fails with IO where it
// is none. Ranks, hosts, switches and lanes of what is whole are within the maxima of rack.h.
bool lab_heal_take_order(struct lab_heal_reader *reader, const char *data, size_t length,
                         size_t *taken, bool *whole, struct weft_error *error) WEFT_MUST_USE;
bool lab_heal_take_report(struct lab_heal_reader *reader, const char *data, size_t length,
                          size_t *taken, bool *whole, struct weft_error *error) WEFT_MUST_USE;

// ---- host to host ----

enum lab_heal_frame_kind {
    LAB_HEAL_HELLO = 1, // this connection is an edge in this epoch; of a spare: it stands by
    LAB_HEAL_CHUNK,     // message `number` of a lane
    LAB_HEAL_STATE,     // parameters after `step` steps
};
struct lab_heal_frame {
    uint32_t magic;
    uint16_t kind;
    uint16_t lane; // CHUNK; HELLO: the side of the edge at the receiver
    uint32_t epoch;
    uint32_t step;
    uint32_t host;   // of the sender
    uint32_t plane;  // HELLO: the switch
    uint32_t number; // CHUNK
    uint32_t full;   // CHUNK
    uint32_t length; // bytes that follow
    uint32_t reserved;
    uint64_t token; // HELLO: the run's, which nobody else knows
};
// Whether a head can be: a known kind, lanes and hosts in range, and as many bytes as its kind has:
// chunk_bytes, or state_bytes, or none. IO.
bool lab_heal_check_frame(const struct lab_heal_frame *frame, uint32_t chunk_bytes,
                          uint32_t state_bytes, struct weft_error *error) WEFT_MUST_USE;

// A heartbeat, in a datagram of its own.
struct lab_heal_beat {
    uint32_t magic;
    uint32_t epoch;
    uint32_t host;
    uint32_t plane;
    uint64_t token;
};

#endif
