// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_ENGINE_SPRAY_H
#define WEFT_SIM_PACKET_ENGINE_SPRAY_H

// Packets of one flow on several paths, and losses found by time: packets overtake each other, so
// that a gap says nothing until what was sent a round trip later has come (RFC 8985, "RACK-TLP").
//
// The paths of a flow stand in the engine's `hops` behind one another. A packet carries the index
// of its path, and its acknowledgement brings it back with what the packet met there.

#include "weft/base.h"

#define SPRAY_STEPS 16u
#define SPRAY_PATHS_MAX 256u
#define SPRAY_RECYCLED_MAX 256u

// What a sender remembers of when it sent.
struct packet_spray {
    uint32_t data_number; // of the next packet, and of the next acknowledgement
    uint32_t ack_number;
    uint32_t path_count;
    uint32_t back_count;
    uint64_t newest_ps; // when the last sent packet of those acknowledged was sent
    uint32_t passed;    // packets below were sent so much before that they are lost
    // Instants, and the first packet that was not sent by then; a ring.
    uint32_t first;
    uint32_t count;
    uint64_t sent_ps[SPRAY_STEPS];
    uint32_t next[SPRAY_STEPS];
    // WEFT_SPRAY_REUSE: a ring of `recycled`.
    uint32_t recycled_first;
    uint32_t recycled_count;
};

// All flows' paths, and those that the next message may take.
struct packet_sprays {
    uint32_t path_room;         // paths each way that a slot has room for in `hops`
    uint32_t path_stride;       // entries of `hops` from one to the next
    struct packet_spray *flows; // per slot; NULL: one path each way
    uint8_t *skips;             // per slot, path_room each: how often a path is passed over
    uint8_t *recycled;          // per slot, SPRAY_RECYCLED_MAX each: paths to take again
    uint32_t *offers;           // paths of the message that starts next, as in `hops`
    uint32_t offer_counts[2];   // there and back, besides the first
};

struct packet_engine;
struct packet_flow;
struct packet;

void packet_spray_clear(struct packet_engine *engine);
// The next message may take these paths, too, its acknowledgements those of `is_back`.
void packet_spray_offer(struct packet_engine *engine, const uint32_t *links, uint32_t hop_count,
                        bool is_back);
// A flow opens: its paths stand behind one another in `hops`, path_stride apart.
void packet_spray_open(struct packet_engine *engine, uint32_t flow);
// The path of the next packet.
uint32_t packet_spray_path(struct packet_engine *engine, uint32_t flow);
// What to add to the first path's place in `hops` for the next acknowledgement.
uint32_t packet_spray_back(struct packet_engine *engine, uint32_t flow);
// What came back says of its path: marked, it is passed over once, trimmed four times
// (WEFT_SPRAY_MARKS); neither, it goes again (WEFT_SPRAY_REUSE).
void packet_spray_feedback(struct packet_engine *engine, uint32_t flow,
                           const struct packet *packet);
void packet_spray_sent(struct packet_engine *engine, uint32_t flow);
// A packet was acknowledged. Returns the first packet that is not lost.
uint32_t packet_spray_until(struct packet_engine *engine, uint32_t flow, uint64_t sent_ps);

#endif
