// SPDX-License-Identifier: Apache-2.0
// One run in several processes, which may be on several machines: each plays some of the
// partitions, and all of them do what a coordinator does, on their own, so that they need not be
// told what to play. After each window every process says what its partitions sent and noted, and
// hears that of the others: then it has what it would have, had it played them itself, and the
// bytes that come out are those of one process. The machines have to agree on how numbers lie in
// memory.
//
// O(bytes said) a window for every process, besides what the network between them takes.

#include "partitions.h"

#include <string.h>

// What is said of a partition after a window. Behind it stand its ends, closed flows and notes, and
// the packets for every partition of another process.
struct said {
    uint64_t next_ps;
    uint64_t first_last_ps;
    uint64_t sent_count;
    struct weft_packet_counts counts;
    uint32_t end_count;
    uint32_t closed_count;
    uint32_t note_count;
    uint32_t overflow;
    uint32_t mail_count[PACKET_PARTITIONS_MAX];
};

// What processes have of a slot of flows: each of its halves is one process's.
struct said_flow {
    uint32_t acknowledged;
    uint32_t received;
    uint32_t timeouts;
    uint8_t is_open, is_connected, has_come;
};

// ---- saying ----

static size_t padded(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

// Adds to what is said; arrays begin where eight bytes do.
static size_t say(struct packet_partitions *partitions, size_t at, const void *data, size_t bytes)
{
    if (at + padded(bytes) > partitions->said_room) {
        size_t room = 2 * (at + padded(bytes));
        uint8_t *wider = weft_arena_alloc_raw(&partitions->partitions[0]->arena, room, 1);
        if (at > 0) {
            memcpy(wider, partitions->said, at);
        }
        partitions->said = wider;
        partitions->said_room = room;
    }
    memset(&partitions->said[at + bytes], 0, padded(bytes) - bytes);
    if (bytes > 0) {
        memcpy(&partitions->said[at], data, bytes);
    }
    return at + padded(bytes);
}

// Mail for other processes' partitions goes with what is said, and is gone here.
static size_t say_partition(struct packet_partitions *partitions, size_t at, uint32_t p)
{
    struct packet_partition *partition = partitions->partitions[p];
    const struct packet_mailbox *mailbox = &partition->mailbox;
    struct said said = {
        .next_ps = partition->next_ps,
        .first_last_ps = mailbox->first_last_ps,
        .sent_count = mailbox->sent_count,
        .counts = partition->engine.counts,
        .end_count = partition->end_count,
        .closed_count = mailbox->closed_count,
        .note_count = mailbox->note_count,
        .overflow = partition->engine.clock.overflow,
    };
    for (uint32_t to = 0; to < partitions->partitioning.partition_count; to++) {
        if (!packet_partitions_is_here(partitions, to)) {
            said.mail_count[to] = mailbox->outgoing[to].count;
        }
    }
    at = say(partitions, at, &said, sizeof(said));
    at = say(partitions, at, partition->ends, said.end_count * sizeof(*partition->ends));
    at = say(partitions, at, mailbox->closed, said.closed_count * sizeof(*mailbox->closed));
    at = say(partitions, at, mailbox->notes, said.note_count * sizeof(*mailbox->notes));
    for (uint32_t to = 0; to < partitions->partitioning.partition_count; to++) {
        if (said.mail_count[to] > 0) {
            struct packet_mail *mail = &mailbox->outgoing[to];
            at = say(partitions, at, mail->packets, mail->count * sizeof(*mail->packets));
            mail->count = 0;
        }
    }
    return at;
}

// ---- hearing ----

static uint8_t *hear(uint8_t **at, size_t bytes)
{
    uint8_t *there = *at;
    *at += padded(bytes);
    return there;
}

// Mail is copied, as it is read in the next window; what else was said is read before the next call
// of `gather`.
static void hear_mail(struct packet_partition *partition, struct packet_mail *mail,
                      const uint8_t *packets, uint32_t count)
{
    for (mail->count = 0; mail->count < count; mail->count++) {
        mail->packets = packet_mail_room(&partition->arena, mail->packets, mail->count, &mail->room,
                                         sizeof(*mail->packets));
        memcpy(&mail->packets[mail->count], &packets[mail->count * sizeof(*mail->packets)],
               sizeof(*mail->packets));
    }
}

// Takes what another process says of one of its partitions.
static void hear_partition(struct packet_partitions *partitions, uint32_t p, uint8_t **at)
{
    struct packet_partition *partition = partitions->partitions[p];
    struct packet_mailbox *mailbox = &partition->mailbox;
    struct packet_mail *outgoing = partition->outgoing[partitions->window_count % 2];
    const struct said *said = (const struct said *)hear(at, sizeof(*said));
    partition->next_ps = said->next_ps;
    mailbox->first_last_ps = said->first_last_ps;
    mailbox->sent_count = said->sent_count;
    partition->engine.counts = said->counts;
    partition->engine.clock.overflow = said->overflow != 0;
    partition->end_count = said->end_count;
    partition->ends =
        (struct packet_partition_end *)hear(at, said->end_count * sizeof(*partition->ends));
    mailbox->closed_count = said->closed_count;
    mailbox->closed =
        (struct packet_closed *)hear(at, said->closed_count * sizeof(*mailbox->closed));
    mailbox->note_count = said->note_count;
    mailbox->notes = (struct packet_due_note *)hear(at, said->note_count * sizeof(*mailbox->notes));
    for (uint32_t to = 0; to < partitions->partitioning.partition_count; to++) {
        const uint8_t *packets = hear(at, said->mail_count[to] * sizeof(struct packet));
        if (packet_partitions_is_here(partitions, to)) {
            hear_mail(partition, &outgoing[to], packets, said->mail_count[to]);
        }
    }
}

// Has all processes hear `length` bytes of `said`.
static void gather(const struct packet_partitions *partitions, size_t length, uint8_t **all,
                   size_t *lengths)
{
    const struct weft_partition_peers *peers = partitions->peers;
    WEFT_ASSERT(peers->count <= PACKET_PARTITIONS_MAX);
    peers->gather(peers->context, partitions->said, length, all, lengths);
}

void packet_peers_exchange(struct packet_partitions *partitions)
{
    if (partitions->peers == NULL) {
        return;
    }
    size_t length = 0;
    for (uint32_t p = 0; p < partitions->partitioning.partition_count; p++) {
        if (packet_partitions_is_here(partitions, p)) {
            length = say_partition(partitions, length, p);
        }
    }
    uint8_t *all[PACKET_PARTITIONS_MAX];
    size_t lengths[PACKET_PARTITIONS_MAX];
    gather(partitions, length, all, lengths);
    for (uint32_t p = 0; p < partitions->partitioning.partition_count; p++) {
        if (!packet_partitions_is_here(partitions, p)) {
            hear_partition(partitions, p, &all[packet_partitions_process(partitions, p)]);
        }
    }
}

// ---- links and flows ----

void packet_peers_gather_links(struct packet_partitions *partitions)
{
    if (partitions->peers == NULL) {
        return;
    }
    struct packet_engine *coordinator = partitions->coordinator;
    struct packet_port *queues = coordinator->ports.queues;
    const uint8_t *owner = partitions->partitioning.owner;
    uint32_t link_count = coordinator->ports.fabric->link_count;
    size_t length = 0;
    for (uint32_t l = 0; l < link_count; l++) {
        if (packet_partitions_is_here(partitions, owner[l])) {
            length = say(partitions, length, &coordinator->links[l], sizeof(struct packet_link));
            if (queues != NULL) {
                length = say(partitions, length, &queues[l], sizeof(*queues));
            }
        }
    }
    uint8_t *all[PACKET_PARTITIONS_MAX];
    size_t lengths[PACKET_PARTITIONS_MAX];
    gather(partitions, length, all, lengths);
    for (uint32_t l = 0; l < link_count; l++) {
        if (!packet_partitions_is_here(partitions, owner[l])) {
            uint8_t **at = &all[packet_partitions_process(partitions, owner[l])];
            memcpy(&coordinator->links[l], hear(at, sizeof(struct packet_link)),
                   sizeof(struct packet_link));
            if (queues != NULL) {
                memcpy(&queues[l], hear(at, sizeof(*queues)), sizeof(*queues));
            }
        }
    }
}

// Adds up the halves, of which each is zero in all processes but one.
void packet_peers_gather_flows(struct packet_partitions *partitions)
{
    if (partitions->peers == NULL) {
        return;
    }
    struct packet_engine *coordinator = partitions->coordinator;
    size_t length = 0;
    for (uint32_t i = 0; i < coordinator->flow_ids.count; i++) {
        const struct packet_flow *flow = &coordinator->flows[i];
        const struct said_flow said = {flow->acknowledged.low, flow->received.low,
                                       flow->timeout_count,    flow->is_open,
                                       flow->is_connected,     flow->has_come};
        length = say(partitions, length, &said, sizeof(said));
    }
    uint8_t *all[PACKET_PARTITIONS_MAX];
    size_t lengths[PACKET_PARTITIONS_MAX];
    gather(partitions, length, all, lengths);
    for (uint32_t process = 0; process < partitions->peers->count; process++) {
        for (uint32_t i = 0; process != partitions->peers->rank && i < coordinator->flow_ids.count;
             i++) {
            const struct said_flow *said =
                (const struct said_flow *)hear(&all[process], sizeof(*said));
            struct packet_flow *flow = &coordinator->flows[i];
            flow->acknowledged.low += said->acknowledged;
            flow->received.low += said->received;
            flow->timeout_count += said->timeouts;
            flow->is_open |= said->is_open != 0;
            flow->is_connected |= said->is_connected != 0;
            flow->has_come |= said->has_come != 0;
        }
    }
}
