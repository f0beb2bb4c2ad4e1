// SPDX-License-Identifier: Apache-2.0
// Packets that go on in another partition, and notes of messages that are over: both wait in the
// sender's mailbox until the window ends, when the partition that they are for reads them. So no
// two threads ever write the same memory, and nothing is locked. O(1) for each packet.

#include "sim/packet/engine/engine.h"

#include <string.h>

bool packet_mail_away(struct packet_engine *engine, uint32_t id, uint32_t link, uint64_t arrives_ps)
{
    struct packet_mailbox *mailbox = engine->mailbox;
    const struct packet *packet = &engine->packets[id];
    if (engine->hops[(size_t)packet->flow * engine->hop_stride] != packet->generation) {
        return false; // nobody waits for it: its path is another's
    }
    uint32_t next = engine->hops[packet->hop];
    uint32_t to = next == WEFT_NONE ? mailbox->far[link] : mailbox->owner[next];
    if (to == mailbox->partition) {
        return false;
    }
    struct packet_mail *mail = &mailbox->outgoing[to];
    if (mail->count == mail->room) {
        uint32_t room = mail->room == 0 ? 64 : 2 * mail->room;
        struct packet *wider = WEFT_NEW_RAW(engine->arena, struct packet, room);
        if (mail->count > 0) {
            memcpy(wider, mail->packets, mail->count * sizeof(*wider));
        }
        mail->packets = wider;
        mail->room = room;
    }
    mail->packets[mail->count] = *packet;
    mail->packets[mail->count++].entered_ps = arrives_ps;
    mailbox->sent_count++;
    mailbox->first_ps = arrives_ps < mailbox->first_ps ? arrives_ps : mailbox->first_ps;
    packet_drop(engine, id);
    return true;
}

void packet_mail_closed(struct packet_engine *engine, uint32_t flow)
{
    struct packet_mailbox *mailbox = engine->mailbox;
    if (mailbox->closed_count == mailbox->closed_room) {
        uint32_t room = mailbox->closed_room == 0 ? 64 : 2 * mailbox->closed_room;
        uint32_t *wider = WEFT_NEW_RAW(engine->arena, uint32_t, room);
        if (mailbox->closed_count > 0) {
            memcpy(wider, mailbox->closed, mailbox->closed_count * sizeof(*wider));
        }
        mailbox->closed = wider;
        mailbox->closed_room = room;
    }
    mailbox->closed[mailbox->closed_count++] = flow;
}
