// SPDX-License-Identifier: Apache-2.0
// Packets that go on in another partition, and notes of messages that are over or soon may be: all
// wait in the sender's mailbox until the window ends, when those that they are for read them. So no
// two threads ever write the same memory, and nothing is locked. O(1) for each packet.
//
// Where the end of a message has others begin at once, anywhere, nobody may play beyond it. So a
// window has to know when messages may end in it. What comes to a receiver within the latency of
// its last link is on that link already, and its arrival is known: a message that lacks more
// packets than are on their last link does not end before that time, and one that does not ends
// when the last of them comes, unless one of them comes twice.

#include "sim/packet/engine/engine.h"

#include <string.h>

void *packet_mail_room(struct weft_arena *arena, void *list, uint32_t count, uint32_t *room,
                       size_t size)
{
    if (count < *room) {
        return list;
    }
    *room = *room == 0 ? 64 : 2 * *room;
    void *wider = weft_arena_alloc_raw(arena, *room, size);
    if (count > 0) {
        memcpy(wider, list, count * size);
    }
    return wider;
}

// ---- when messages may end ----

static void note_due(struct packet_engine *engine, uint32_t flow, uint64_t end_ps)
{
    struct packet_mailbox *mailbox = engine->mailbox;
    mailbox->notes = packet_mail_room(engine->arena, mailbox->notes, mailbox->note_count,
                                      &mailbox->note_room, sizeof(*mailbox->notes));
    mailbox->notes[mailbox->note_count++] = (struct packet_due_note){end_ps, flow};
}

static bool is_data(const struct packet *packet)
{
    return (packet->flags & (PACKET_ACK | PACKET_TRIMMED)) == 0 && packet->sequence != WEFT_NONE;
}

// A packet is on the last link of its path, to a receiver of this partition.
static void file_due(struct packet_engine *engine, const struct packet *packet, uint64_t arrives_ps)
{
    struct packet_due *due = &engine->mailbox->dues[packet->flow];
    due->last_ps = arrives_ps > due->last_ps ? arrives_ps : due->last_ps;
    due->filed++;
    if (!due->is_due && due->missing > 0 && due->filed >= due->missing) {
        due->is_due = true;
        note_due(engine, packet->flow, due->last_ps);
    }
}

void packet_mail_came(struct packet_engine *engine, uint32_t flow, bool is_new)
{
    if (engine->mailbox->dues == NULL) {
        return;
    }
    struct packet_due *due = &engine->mailbox->dues[flow];
    WEFT_ASSERT(due->filed > 0);
    due->filed--;
    due->missing -= is_new;
    if (!due->is_due || due->missing == 0) {
        return;
    }
    if (due->filed < due->missing) { // some came twice
        due->is_due = false;
        note_due(engine, flow, WEFT_NEVER);
    } else if (!is_new || due->filed > due->missing) { // which of them will be the last is open
        note_due(engine, flow,
                 due->filed == due->missing ? due->last_ps : engine->clock.now_ps + 1);
    }
}

// ---- mail ----

bool packet_mail_away(struct packet_engine *engine, uint32_t id, uint32_t link, uint64_t arrives_ps)
{
    struct packet_mailbox *mailbox = engine->mailbox;
    const struct packet *packet = &engine->packets[id];
    if (engine->hops[(size_t)packet->flow * engine->hop_stride] != packet->generation) {
        return false; // nobody waits for it: its path is another's
    }
    uint32_t next = engine->hops[packet->hop];
    uint32_t to = next == WEFT_NONE ? mailbox->far[link] : mailbox->owner[next];
    bool asks = mailbox->dues != NULL && next == WEFT_NONE && is_data(packet);
    if (to == mailbox->partition) {
        if (asks) {
            file_due(engine, packet, arrives_ps);
        }
        return false;
    }
    struct packet_mail *mail = &mailbox->outgoing[to];
    mail->packets = packet_mail_room(engine->arena, mail->packets, mail->count, &mail->room,
                                     sizeof(*mail->packets));
    mail->packets[mail->count] = *packet;
    mail->packets[mail->count++].entered_ps = arrives_ps;
    mailbox->sent_count++;
    mailbox->first_ps = arrives_ps < mailbox->first_ps ? arrives_ps : mailbox->first_ps;
    if (asks && arrives_ps < mailbox->first_last_ps) {
        mailbox->first_last_ps = arrives_ps;
    }
    packet_drop(engine, id);
    return true;
}

void packet_mail_take(struct packet_engine *engine, const struct packet *packet)
{
    uint32_t id = packet_take(engine);
    engine->packets[id] = *packet;
    clock_file(&engine->clock, (uint32_t)PACKET_EVENT_ARRIVAL << CLOCK_KIND_SHIFT | id,
               packet->entered_ps);
    if (engine->mailbox->dues != NULL && engine->hops[packet->hop] == WEFT_NONE &&
        is_data(packet) &&
        engine->hops[(size_t)packet->flow * engine->hop_stride] == packet->generation) {
        file_due(engine, packet, packet->entered_ps);
    }
}

void packet_mail_closed(struct packet_engine *engine, uint32_t flow)
{
    struct packet_mailbox *mailbox = engine->mailbox;
    const struct packet_flow *sender = &engine->flows[flow];
    mailbox->closed = packet_mail_room(engine->arena, mailbox->closed, mailbox->closed_count,
                                       &mailbox->closed_room, sizeof(*mailbox->closed));
    mailbox->closed[mailbox->closed_count++] =
        (struct packet_closed){flow, sender->resent_count, sender->timeout_count};
}
