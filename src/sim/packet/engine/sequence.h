// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_ENGINE_SEQUENCE_H
#define WEFT_SIM_PACKET_ENGINE_SEQUENCE_H

// Which packets of a flow have come: all below a number, and above it a ring of bits as wide as the
// largest window. A flow takes a ring only when something comes out of order, since most never need
// one. Looking up and adding a packet is O(1), and is in line because every packet does both.

#include "engine.h"

// A ring of window_limit_packets bits, all zero.
uint64_t *packet_take_bits(struct packet_engine *engine);
void packet_release_bits(struct packet_engine *engine, struct packet_window *window);

static inline bool packet_has_come(const struct packet_engine *engine,
                                   const struct packet_window *window, uint32_t sequence)
{
    if (sequence < window->low || window->bits == NULL) {
        return sequence < window->low;
    }
    uint32_t place = sequence & (engine->options->window.limit_packets - 1);
    return (window->bits[place / 64] >> (place % 64) & 1) != 0;
}

// False if it had come before.
static inline bool packet_put(struct packet_engine *engine, struct packet_window *window,
                              uint32_t sequence)
{
    if (window->bits == NULL && sequence == window->low) {
        window->low++;
        return true;
    }
    if (packet_has_come(engine, window, sequence)) {
        return false;
    }
    if (window->bits == NULL) {
        window->bits = packet_take_bits(engine);
    }
    uint32_t mask = engine->options->window.limit_packets - 1;
    window->bits[(sequence & mask) / 64] |= (uint64_t)1 << (sequence % 64);
    while (window->bits[(window->low & mask) / 64] >> (window->low % 64) & 1) {
        window->bits[(window->low & mask) / 64] &= ~((uint64_t)1 << (window->low % 64));
        window->low++;
    }
    return true;
}

// ---- what was trimmed ----

// A packet has to go again; false if that is known, or it has come.
bool packet_note_trimmed(struct packet_engine *engine, struct packet_flow *flow, uint32_t sequence);
// It has come.
void packet_forget_trimmed(struct packet_engine *engine, struct packet_flow *flow,
                           uint32_t sequence);
// The first that has to go again, which then does not any more; WEFT_NONE if there is none.
uint32_t packet_take_trimmed(struct packet_engine *engine, struct packet_flow *flow);
void packet_forget_all_trimmed(struct packet_engine *engine, struct packet_flow *flow);

#endif
