// SPDX-License-Identifier: Apache-2.0
// Messages in and out. A message is found by its cookie, which is of one transfer, and comes to one
// state machine; a segment that is new goes straight to where it belongs. What is to be sent is
// asked of the machines of one peer after the other, as far as the rates of the port and of the
// peer allow.
//
// Front layers go first within a transfer. Among peers it is turn by turn: that of the front
// layer's chunk would otherwise be everybody's first, and an incast the rule.

#include "engine.h"

#include <string.h>

// After a pause, or where the process lost its processor, a sender catches up so much of its rate:
// several time slices of the system's clock, and far less than ports can hold.
static const uint64_t catch_up_ps = 2 * WEFT_PS_PER_S / 1000;
// A REPORT with marks in it goes so long after the one before: a few round trips through queues of
// 65 packets at 100 Mbit/s. One without, which only lets a rate grow, waits longer or for more
// packets, since REPORTs were 13 % of all packets when both went every 5 ms (8 ranks, 100 Mbit/s).
enum { REPORT_PACKETS = 64 };
static const uint64_t report_marks_ps = 5 * WEFT_PS_PER_S / 1000;
static const uint64_t report_ps = 20 * WEFT_PS_PER_S / 1000;
// Headers of UDP, IPv4 and Ethernet, which shapers count, too.
enum { HEADERS_BYTES = 8 + 20 + 14 };

// ---- coming in ----

static const struct lab_mlt_door *find_door(const struct lab_mlt *mlt, uint64_t cookie)
{
    uint32_t low = 0;
    uint32_t high = mlt->door_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (mlt->doors[middle].cookie < cookie) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < mlt->door_count && mlt->doors[low].cookie == cookie ? &mlt->doors[low] : NULL;
}

void lab_mlt_answer(struct lab_mlt *mlt, uint32_t peer, const struct weft_mlt_message *message)
{
    if (mlt->answer_end - mlt->answer_begin == LAB_MLT_ANSWERS) {
        return;
    }
    struct lab_mlt_packet *packet = &mlt->answers[mlt->answer_end++ % LAB_MLT_ANSWERS];
    *packet = (struct lab_mlt_packet){.peer = peer, .ecn_capable = true};
    WEFT_ASSERT(weft_mlt_message_bytes(message) <= sizeof packet->head);
    packet->head_bytes = (uint32_t)weft_mlt_message_write(packet->head, message, &mlt->key);
    mlt->counts.kinds[message->kind]++;
}

// A peer that is in a later half or step has all that it needs of the former one: as good as the
// STOPs that may have been lost.
static void finish_sends(struct lab_mlt *mlt, uint32_t peer, bool of_both_halves, uint64_t now_ps)
{
    for (uint32_t i = 0; i < mlt->outgoing_count; i++) {
        struct lab_mlt_outgoing *outgoing = &mlt->outgoing[i];
        if (outgoing->peer != peer || !outgoing->opened || outgoing->step.epoch != mlt->epoch ||
            (outgoing->half == LAB_MLT_GATHER && !of_both_halves) ||
            weft_mlt_step_sender_done(&outgoing->all)) {
            continue;
        }
        for (uint32_t t = 0; t < outgoing->all.count; t++) {
            const struct weft_mlt_message stop = {.kind = WEFT_MLT_STOP,
                                                  .epoch = mlt->epoch,
                                                  .tensor = t,
                                                  .cookie = outgoing->step.cookie};
            weft_mlt_step_sender_take(&outgoing->all, &stop, now_ps);
        }
        mlt->moved_ps = now_ps;
    }
}

static void count_data(struct lab_mlt *mlt, struct lab_mlt_far *peer, bool marked)
{
    peer->received++;
    peer->marked += marked;
    mlt->counts.received_packets++;
    mlt->counts.marked_packets += marked;
}

// DATA and PROBEs.
static enum weft_mlt_verdict take_data(struct lab_mlt *mlt, struct lab_mlt_incoming *incoming,
                                       const struct weft_mlt_message *message, bool marked,
                                       uint64_t now_ps)
{
    const bool is_early = message->epoch == mlt->epoch + 1;
    const bool has_next = incoming->half == LAB_MLT_REDUCE;
    struct lab_mlt_slot *slot = has_next && is_early ? &incoming->slots[message->epoch % 2]
                                                     : lab_mlt_current(mlt, incoming);
    struct weft_mlt_message answer;
    if (slot->step.epoch == 0) {
        return message->epoch == 0 ? WEFT_MLT_STALE : WEFT_MLT_EARLY; // before the first step
    }
    const enum weft_mlt_verdict verdict =
        weft_mlt_step_receiver_take(&answer, &slot->all, message, marked, now_ps);
    if (verdict == WEFT_MLT_MALFORMED) {
        return verdict;
    }
    if (message->kind == WEFT_MLT_DATA) {
        count_data(mlt, &mlt->peers[incoming->peer], marked);
    }
    if (message->kind == WEFT_MLT_DATA && verdict == WEFT_MLT_NEW) {
        memcpy(lab_mlt_segment(&mlt->layout, &slot->memory,
                               &incoming->chunk->pieces[message->tensor], message->segment),
               message->data, message->data_bytes);
    }
    if (answer.kind != WEFT_MLT_NONE) {
        lab_mlt_answer(mlt, incoming->peer, &answer);
    }
    if (is_early || (message->epoch == mlt->epoch && incoming->half == LAB_MLT_GATHER)) {
        finish_sends(mlt, incoming->peer, is_early, now_ps);
    }
    return verdict;
}

// BITMAPs and STOPs.
static enum weft_mlt_verdict take_answer(struct lab_mlt *mlt, struct lab_mlt_outgoing *outgoing,
                                         const struct weft_mlt_message *message, uint64_t now_ps)
{
    if (!outgoing->opened) {
        return WEFT_MLT_EARLY;
    }
    const enum weft_mlt_verdict verdict =
        weft_mlt_step_sender_take(&outgoing->all, message, now_ps);
    if (verdict == WEFT_MLT_NEW && message->kind == WEFT_MLT_BITMAP) {
        const struct weft_mlt_sender *sender = &outgoing->senders[message->tensor];
        const struct weft_mlt_tensor *tensor = sender->tensor;
        if (sender->state == WEFT_MLT_RESENDING) {
            weft_mlt_rate_lost(&mlt->peers[outgoing->peer].rate,
                               (double)sender->missing / tensor->segment_count,
                               (double)tensor->bound_bytes / (double)weft_mlt_tensor_bytes(tensor));
        }
    }
    return verdict;
}

static enum weft_mlt_verdict take_report(struct lab_mlt_far *peer,
                                         const struct weft_mlt_message *message)
{
    if (message->kind != WEFT_MLT_REPORT || message->epoch != 0) {
        return WEFT_MLT_MALFORMED;
    }
    return weft_mlt_rate_report(&peer->rate, message) ? WEFT_MLT_NEW : WEFT_MLT_DUPLICATE;
}

void lab_mlt_take(struct lab_mlt *mlt, const uint8_t *bytes, size_t size, bool marked,
                  uint64_t now_ps)
{
    struct weft_mlt_message message;
    const enum weft_mlt_drop drop = weft_mlt_message_read(&message, bytes, size, &mlt->key);
    if (drop != WEFT_MLT_READ) {
        mlt->counts.drops[drop]++;
        return;
    }
    const struct lab_mlt_door *door = find_door(mlt, message.cookie);
    enum weft_mlt_verdict verdict = WEFT_MLT_STRANGE;
    uint32_t peer = 0;
    if (door != NULL && door->kind == LAB_MLT_DOOR_IN) {
        peer = mlt->incoming[door->index].peer;
        verdict = take_data(mlt, &mlt->incoming[door->index], &message, marked, now_ps);
    } else if (door != NULL && door->kind == LAB_MLT_DOOR_OUT) {
        peer = mlt->outgoing[door->index].peer;
        verdict = take_answer(mlt, &mlt->outgoing[door->index], &message, now_ps);
    } else if (door != NULL) {
        peer = door->index;
        verdict = take_report(&mlt->peers[peer], &message);
    }
    mlt->counts.verdicts[verdict]++;
    if (verdict != WEFT_MLT_STRANGE && verdict != WEFT_MLT_MALFORMED) {
        mlt->peers[peer].heard_ps = now_ps;
    }
    if (verdict == WEFT_MLT_NEW && message.kind != WEFT_MLT_REPORT) {
        mlt->moved_ps = now_ps;
    }
}

// ---- going out ----

static uint64_t beat_every_ps(const struct lab_mlt *mlt)
{
    return mlt->limits.patience_ps / 8;
}

static void report_to(struct lab_mlt *mlt, uint32_t peer, uint64_t now_ps)
{
    struct lab_mlt_far *far = &mlt->peers[peer];
    const struct weft_mlt_message message = {.kind = WEFT_MLT_REPORT,
                                             .cookie = far->report_cookie[0],
                                             .received = far->received,
                                             .marked = far->marked};
    lab_mlt_answer(mlt, peer, &message);
    far->reported = far->received;
    far->reported_marks = far->marked;
    far->report_ps = now_ps;
}

static uint64_t report_due_ps(const struct lab_mlt_far *far)
{
    return far->received == far->reported
               ? WEFT_NEVER
               : far->report_ps + (far->marked > far->reported_marks ? report_marks_ps : report_ps);
}

void lab_mlt_report(struct lab_mlt *mlt, uint64_t now_ps)
{
    const bool beats = now_ps - mlt->beat_ps >= beat_every_ps(mlt);
    mlt->beat_ps = beats ? now_ps : mlt->beat_ps;
    for (uint32_t p = 0; p < mlt->rank_count; p++) {
        const struct lab_mlt_far *far = &mlt->peers[p];
        if (far->received - far->reported >= REPORT_PACKETS || now_ps >= report_due_ps(far) ||
            (beats && far->is_partner)) {
            report_to(mlt, p, now_ps);
        }
    }
}

// Time that a packet takes of a rate, on the clock of who may send next.
static void charge(uint64_t *free_ps, uint32_t bytes, double rate_Bps, uint64_t now_ps)
{
    const uint64_t earliest_ps = now_ps > catch_up_ps ? now_ps - catch_up_ps : 0;
    const uint64_t begin_ps = *free_ps > earliest_ps ? *free_ps : earliest_ps;
    *free_ps = begin_ps + weft_picoseconds((bytes + HEADERS_BYTES) / rate_Bps);
}

static void count_sent(struct lab_mlt *mlt, const struct weft_mlt_message *message, uint32_t bytes)
{
    struct lab_mlt_counts *counts = &mlt->counts;
    struct lab_mlt_class_counts *class = message->kind != WEFT_MLT_DATA ? &counts->control
                                         : message->resent              ? &counts->resent
                                         : message->important           ? &counts->important
                                                                        : &counts->unimportant;
    class->packets++;
    class->bytes += bytes;
}

static void pack(struct lab_mlt_packet *packet, struct lab_mlt *mlt,
                 const struct lab_mlt_outgoing *outgoing, const struct weft_mlt_message *message)
{
    const bool is_data = message->kind == WEFT_MLT_DATA;
    const size_t bytes = weft_mlt_message_write(packet->head, message, &mlt->key);
    packet->peer = outgoing->peer;
    packet->ecn_capable = !is_data || message->important;
    packet->head_bytes = is_data ? WEFT_MLT_DATA_HEAD_BYTES : (uint32_t)bytes;
    packet->data_bytes = is_data ? message->data_bytes : 0;
    packet->data = is_data
                       ? (const uint8_t *)lab_mlt_segment(&mlt->layout, &outgoing->memory,
                                                          &outgoing->chunk->pieces[message->tensor],
                                                          message->segment)
                       : NULL;
    mlt->counts.kinds[message->kind]++;
    count_sent(mlt, message, (uint32_t)bytes);
}

// A PROBE that repeats another, of a peer that is in this step: nothing comes through. One of a
// peer that is still at work elsewhere says nothing of the path.
static void note_silence(struct lab_mlt *mlt, const struct lab_mlt_outgoing *outgoing,
                         const struct weft_mlt_message *message, uint64_t now_ps)
{
    struct lab_mlt_far *far = &mlt->peers[outgoing->peer];
    if (message->kind == WEFT_MLT_PROBE && outgoing->senders[message->tensor].asked_ps < now_ps &&
        far->heard_ps > mlt->begin_ps) {
        weft_mlt_rate_silent(&far->rate);
    }
}

// The next message to a peer, of the earliest transfer that has one. False: none, or an error.
static bool next_of(struct lab_mlt_packet *packet, struct lab_mlt *mlt, uint32_t peer,
                    uint64_t now_ps, struct weft_error *error)
{
    for (uint32_t i = 0; i < mlt->outgoing_count; i++) {
        struct lab_mlt_outgoing *outgoing = &mlt->outgoing[i];
        struct weft_mlt_message message;
        if (outgoing->peer != peer || !outgoing->opened) {
            continue;
        }
        if (!weft_mlt_step_sender_next(&message, &outgoing->all, now_ps, error)) {
            mlt->self->blamed = peer;
            weft_wrap(error, "rank %u: to peer %u", mlt->rank, peer);
            return false;
        }
        if (message.kind != WEFT_MLT_NONE) {
            note_silence(mlt, outgoing, &message, now_ps);
            pack(packet, mlt, outgoing, &message);
            return true;
        }
    }
    return false;
}

bool lab_mlt_next(struct lab_mlt_packet *packet, struct lab_mlt *mlt, uint64_t now_ps,
                  struct weft_error *error)
{
    error->code = WEFT_OK;
    if (mlt->answer_begin != mlt->answer_end) {
        *packet = mlt->answers[mlt->answer_begin++ % LAB_MLT_ANSWERS];
        mlt->counts.control.packets++;
        mlt->counts.control.bytes += packet->head_bytes;
        charge(&mlt->free_ps, packet->head_bytes, mlt->options.rate_Bps, now_ps);
        return true;
    }
    for (uint32_t i = 0; i < mlt->rank_count && now_ps >= mlt->free_ps; i++) {
        const uint32_t peer = (mlt->next_peer + i) % mlt->rank_count;
        struct lab_mlt_far *far = &mlt->peers[peer];
        if (!far->is_partner || now_ps < far->free_ps) {
            continue;
        }
        if (next_of(packet, mlt, peer, now_ps, error)) {
            const uint32_t bytes = packet->head_bytes + packet->data_bytes;
            charge(&mlt->free_ps, bytes, mlt->options.rate_Bps, now_ps);
            charge(&far->free_ps, bytes, far->rate.rate_Bps, now_ps);
            mlt->next_peer = peer + 1;
            return true;
        }
        if (error->code != WEFT_OK) {
            return false;
        }
    }
    return false;
}

uint64_t lab_mlt_due_ps(const struct lab_mlt *mlt, uint64_t now_ps)
{
    uint64_t due_ps = mlt->beat_ps + beat_every_ps(mlt);
    if (mlt->answer_begin != mlt->answer_end) {
        return now_ps;
    }
    for (uint32_t i = 0; i < mlt->outgoing_count; i++) {
        const struct lab_mlt_outgoing *outgoing = &mlt->outgoing[i];
        const uint64_t free_ps = mlt->peers[outgoing->peer].free_ps;
        uint64_t one_ps =
            outgoing->opened ? weft_mlt_step_sender_due_ps(&outgoing->all) : WEFT_NEVER;
        one_ps = one_ps < free_ps ? free_ps : one_ps;
        one_ps = one_ps < mlt->free_ps ? mlt->free_ps : one_ps;
        due_ps = one_ps < due_ps ? one_ps : due_ps;
    }
    for (uint32_t p = 0; p < mlt->rank_count; p++) {
        const uint64_t one_ps = report_due_ps(&mlt->peers[p]);
        due_ps = one_ps < due_ps ? one_ps : due_ps;
    }
    return due_ps;
}
