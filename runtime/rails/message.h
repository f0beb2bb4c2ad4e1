// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_RAILS_MESSAGE_H
#define WEFT_RUNTIME_RAILS_MESSAGE_H

// What ranks and the controller of a rail say to each other, over a connection whose two ends have
// proved the run's key (process/handshake.h): messages of one length.

#include "weft/base.h"

enum lab_rail_kind {
    LAB_RAIL_ANNOUNCE = 1, // rank: waits for a generation
    LAB_RAIL_STALL,        // rank: bytes did not move in a generation that was lit
    LAB_RAIL_ORDER,        // controller: go on, over what the verdict says
};
struct lab_rail_message {
    uint32_t magic;
    uint16_t kind;
    uint16_t verdict; // ORDER: enum lab_verdict
    uint64_t generation;
    uint64_t after_ns; // STALL: since bytes last moved
};
#define LAB_RAIL_MAGIC 0x4c524157u

// A stream of messages as it comes.
struct lab_rail_reader {
    uint32_t filled;
    struct lab_rail_message message;
};
// Takes bytes until a message is whole; returns how many it took, *whole says whether there is one.
// Fails with IO where what came is no message.
bool lab_rail_take(struct lab_rail_reader *reader, const char *data, size_t length, size_t *taken,
                   bool *whole, struct weft_error *error) WEFT_MUST_USE;

#endif
