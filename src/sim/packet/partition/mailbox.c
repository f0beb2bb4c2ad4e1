// SPDX-License-Identifier: Apache-2.0
// Packets that go on in another partition, and news of messages that are over: both wait in the
// sender's mailbox until the window ends.

#include "sim/packet/engine/engine.h"

#include <string.h>

bool packet_post_away(struct packet_engine *engine, uint32_t id, uint32_t link, uint64_t arrives_ps)
{
    struct packet_post *post = engine->post;
    const struct packet *packet = &engine->packets[id];
    if (engine->hops[(size_t)packet->flow * engine->hop_stride] != packet->generation) {
        return false; // nobody waits for it: its path is another's
    }
    uint32_t next = engine->hops[packet->hop];
    uint32_t to = next == WEFT_NONE ? post->far[link] : post->owner[next];
    if (to == post->part) {
        return false;
    }
    struct packet_box *box = &post->boxes[to];
    if (box->count == box->room) {
        uint32_t room = box->room == 0 ? 64 : 2 * box->room;
        struct packet *wider = WEFT_NEW_RAW(engine->arena, struct packet, room);
        if (box->count > 0) {
            memcpy(wider, box->packets, box->count * sizeof(*wider));
        }
        box->packets = wider;
        box->room = room;
    }
    box->packets[box->count] = *packet;
    box->packets[box->count++].entered_ps = arrives_ps;
    post->sent_count++;
    post->first_ps = arrives_ps < post->first_ps ? arrives_ps : post->first_ps;
    packet_drop(engine, id);
    return true;
}

void packet_post_closed(struct packet_engine *engine, uint32_t flow)
{
    struct packet_post *post = engine->post;
    if (post->closed_count == post->closed_room) {
        uint32_t room = post->closed_room == 0 ? 64 : 2 * post->closed_room;
        uint32_t *wider = WEFT_NEW_RAW(engine->arena, uint32_t, room);
        if (post->closed_count > 0) {
            memcpy(wider, post->closed, post->closed_count * sizeof(*wider));
        }
        post->closed = wider;
        post->closed_room = room;
    }
    post->closed[post->closed_count++] = flow;
}
