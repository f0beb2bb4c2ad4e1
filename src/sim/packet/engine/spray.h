// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_ENGINE_SPRAY_H
#define WEFT_SIM_PACKET_ENGINE_SPRAY_H

// Packets of one flow on several ways, and losses told by time: packets overtake each other, so
// that a gap says nothing until what was sent a round trip later has come (RFC 8985, "RACK-TLP").

#include "weft/base.h"

#define SPRAY_STEPS 16u
#define SPRAY_PATHS_MAX 256u
#define SPRAY_GOOD_MAX 256u

// What a sender remembers of when it sent.
struct packet_spray {
    uint32_t turn; // packets sent
    uint32_t back_turn;
    uint32_t way_count;
    uint32_t back_count;
    uint64_t newest_ps; // when the last sent packet of those acknowledged was sent
    uint32_t passed;    // packets below were sent so much before that they are lost
    // Instants, and the first packet that was not sent by then; a ring.
    uint32_t first;
    uint32_t count;
    uint64_t sent_ps[SPRAY_STEPS];
    uint32_t next[SPRAY_STEPS];
    // WEFT_SPRAY_REUSE: a ring in the engine's `goods`.
    uint32_t good_first;
    uint32_t good_count;
};

struct packet_engine;
struct packet_flow;
struct packet;

void packet_spray_clear(struct packet_engine *engine);
// The next message may take these ways, too, its acknowledgements those of `is_back`.
void packet_spray_offer(struct packet_engine *engine, const uint32_t *links, uint32_t hop_count,
                        bool is_back);
// A flow opens: its ways stand behind one another in `hops`, way_stride apart.
void packet_spray_open(struct packet_engine *engine, uint32_t flow);
// The way of the next packet.
uint32_t packet_spray_way(struct packet_engine *engine, uint32_t flow);
// What to add to the first way's place in `hops` for the next acknowledgement.
uint32_t packet_spray_back(struct packet_engine *engine, uint32_t flow);
// What came back says of its way: marked, it is passed over once, trimmed four times
// (WEFT_SPRAY_MARKS); neither, it goes again (WEFT_SPRAY_REUSE).
void packet_spray_heed(struct packet_engine *engine, uint32_t flow, const struct packet *packet);
void packet_spray_sent(struct packet_engine *engine, uint32_t flow);
// A packet was acknowledged. Returns the first packet that is not lost.
uint32_t packet_spray_until(struct packet_engine *engine, uint32_t flow, uint64_t sent_ps);

#endif
