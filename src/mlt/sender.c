// SPDX-License-Identifier: Apache-2.0
// The sender of a tensor. It has one bitmap, of what is still to be sent in this pass: all segments
// at first, later those of which the receiver's bitmap says that they are missing. A pass goes
// through the bitmap once for each class, from `start` to the end and from the beginning to
// `start`; each byte is looked at a constant number of times in a pass, so that a segment costs
// O(1).
//
// A sweep asks for the receiver's bitmap part by part, each PROBE for one, and has the next one
// asked for when the part has come: a PROBE is answered by one packet, so that nobody can have a
// receiver flood another. Parts of a former sweep are told by its number. Resending begins when all
// parts are there, since otherwise unimportant segments of the first part would go before
// important ones of the last.

#include "weft/mlt.h"

#include "instant.h"

#include <string.h>

// Important segments from `start` on, important ones before it, and the same of the others.
enum { STAGES = 4 };

void weft_mlt_sender_open(struct weft_mlt_sender *sender, const struct weft_mlt_step *step,
                          const struct weft_mlt_tensor *tensor, const uint8_t *important,
                          uint8_t *pending)
{
    const uint32_t count = tensor->segment_count;
    const size_t bytes = weft_mlt_bitmap_bytes(count);
    WEFT_ASSERT(count > 0 && step->limits.probe_ps > 0 &&
                step->limits.probe_max_ps >= step->limits.probe_ps);
    memset(pending, 0xFF, bytes);
    pending[bytes - 1] = (uint8_t)(0xFF >> (8 * bytes - count));
    const uint64_t place = weft_hash((uint64_t)step->epoch << 32 | tensor->number);
    *sender = (struct weft_mlt_sender){
        .step = step,
        .tensor = tensor,
        .important = tensor->bound_bytes > 0 ? important : NULL,
        .pending = pending,
        .start = (uint32_t)(place % count),
        .fewest_missing = UINT32_MAX,
    };
    sender->cursor = sender->start / 8;
}

void weft_mlt_sender_order(struct weft_mlt_sender *sender, const uint8_t *important)
{
    sender->important = sender->tensor->bound_bytes > 0 ? important : NULL;
    sender->stage = 0;
    sender->cursor = sender->start / 8;
}

// The first segment from the cursor on that this pass has still to send; WEFT_NONE: the pass is
// over. Leaves the cursor there.
static uint32_t find_pending(struct weft_mlt_sender *sender)
{
    const uint32_t bytes = (uint32_t)weft_mlt_bitmap_bytes(sender->tensor->segment_count);
    const uint32_t start_byte = sender->start / 8;
    while (sender->stage < STAGES) {
        const bool wrapped = sender->stage % 2 == 1;
        const uint32_t end = wrapped ? start_byte + 1 : bytes;
        for (; sender->cursor < end; sender->cursor++) {
            const uint32_t at = sender->cursor;
            const uint32_t important = sender->important == NULL ? 0xFF : sender->important[at];
            uint32_t bits = sender->pending[at] & (sender->stage < 2 ? important : ~important);
            if (!wrapped && at == start_byte) {
                bits &= 0xFFu << sender->start % 8;
            }
            if (bits != 0) {
                return 8 * at + (uint32_t)__builtin_ctz(bits);
            }
        }
        sender->stage++;
        sender->cursor = sender->stage % 2 == 1 ? 0 : start_byte;
    }
    return WEFT_NONE;
}

// A part is asked for from `probe_ps` on.
static void ask(struct weft_mlt_sender *sender, uint64_t probe_ps)
{
    sender->asked_ps = WEFT_NEVER;
    sender->probe_ps = probe_ps;
    sender->interval_ps = sender->step->limits.probe_ps;
}

static void begin_sweep(struct weft_mlt_sender *sender, uint64_t probe_ps)
{
    sender->state = WEFT_MLT_PROBING;
    sender->round++;
    sender->asked = 0;
    sender->missing = 0;
    ask(sender, probe_ps);
}

static void send_segment(struct weft_mlt_message *message, struct weft_mlt_sender *sender,
                         uint64_t now_ps)
{
    const struct weft_mlt_tensor *tensor = sender->tensor;
    const uint32_t segment = find_pending(sender);
    WEFT_ASSERT(segment < tensor->segment_count);
    sender->pending[segment / 8] = (uint8_t)(sender->pending[segment / 8] & ~(1u << segment % 8));
    message->kind = WEFT_MLT_DATA;
    message->segment = segment;
    message->layer = tensor->layer;
    message->important = sender->important == NULL || weft_mlt_bit(sender->important, segment);
    message->resent = sender->state == WEFT_MLT_RESENDING;
    message->data_bytes = weft_mlt_segment_bytes(tensor, segment);
    if (message->resent) {
        sender->resent++;
    } else {
        sender->sent++;
    }
    if (find_pending(sender) == WEFT_NONE) {
        begin_sweep(sender, later_ps(now_ps, sender->step->limits.linger_ps));
    }
}

static void send_probe(struct weft_mlt_message *message, struct weft_mlt_sender *sender,
                       uint64_t now_ps)
{
    const uint64_t longest_ps = sender->step->limits.probe_max_ps;
    message->kind = WEFT_MLT_PROBE;
    message->segment = sender->asked;
    message->round = sender->round;
    sender->probes++;
    sender->asked_ps = sender->asked_ps == WEFT_NEVER ? now_ps : sender->asked_ps;
    sender->probe_ps = later_ps(now_ps, sender->interval_ps);
    sender->interval_ps =
        sender->interval_ps > longest_ps / 2 ? longest_ps : 2 * sender->interval_ps;
}

// Silence counts from the first PROBE that was sent for this part, not from when one was due: the
// caller may have been busy with other tensors.
static uint64_t give_up_ps(const struct weft_mlt_sender *sender)
{
    return sender->asked_ps == WEFT_NEVER
               ? WEFT_NEVER
               : later_ps(sender->asked_ps, sender->step->limits.patience_ps);
}

uint64_t weft_mlt_sender_due_ps(const struct weft_mlt_sender *sender)
{
    if (sender->state == WEFT_MLT_DONE) {
        return WEFT_NEVER;
    }
    if (sender->state != WEFT_MLT_PROBING || sender->is_stuck) {
        return 0;
    }
    const uint64_t end_ps = give_up_ps(sender);
    return sender->probe_ps < end_ps ? sender->probe_ps : end_ps;
}

static bool say_stuck(const struct weft_mlt_sender *sender, struct weft_error *error)
{
    char patience[WEFT_UNIT_TEXT];
    return weft_fail(error, WEFT_IO,
                     "tensor %u of step %u: %u of %u segments are missing, and none of those that "
                     "were sent again in %s arrived",
                     sender->tensor->number, sender->step->epoch, sender->missing,
                     sender->tensor->segment_count,
                     weft_show_time(patience, sender->step->limits.patience_ps));
}

static bool say_silent(const struct weft_mlt_sender *sender, struct weft_error *error)
{
    char patience[WEFT_UNIT_TEXT];
    return weft_fail(error, WEFT_IO, "tensor %u of step %u: the receiver has not answered for %s",
                     sender->tensor->number, sender->step->epoch,
                     weft_show_time(patience, sender->step->limits.patience_ps));
}

bool weft_mlt_sender_next(struct weft_mlt_message *message, struct weft_mlt_sender *sender,
                          uint64_t now_ps, struct weft_error *error)
{
    const struct weft_mlt_step *step = sender->step;
    struct weft_mlt_message next = {
        .epoch = step->epoch, .tensor = sender->tensor->number, .cookie = step->cookie};
    if (now_ps < weft_mlt_sender_due_ps(sender) || sender->state == WEFT_MLT_DONE) {
        *message = (struct weft_mlt_message){0};
        return true;
    }
    if (sender->is_stuck) {
        return say_stuck(sender, error);
    }
    if (sender->state == WEFT_MLT_PROBING && now_ps >= give_up_ps(sender)) {
        return say_silent(sender, error);
    }
    if (sender->state == WEFT_MLT_PROBING) {
        send_probe(&next, sender, now_ps);
    } else {
        send_segment(&next, sender, now_ps);
    }
    *message = next;
    return true;
}

// All parts are here: what is missing is sent again. Where fewer were missing than ever before the
// path carries something; where that is long ago, it does not. A receiver of which nothing is
// missing and which is not satisfied is asked again, but not at once.
static void end_sweep(struct weft_mlt_sender *sender, uint64_t now_ps)
{
    const struct weft_mlt_limits *limits = &sender->step->limits;
    if (sender->missing < sender->fewest_missing) {
        sender->fewest_missing = sender->missing;
        sender->progress_ps = now_ps;
    } else if (now_ps >= later_ps(sender->progress_ps, limits->patience_ps)) {
        sender->is_stuck = true;
    }
    if (sender->missing == 0) {
        begin_sweep(sender, later_ps(now_ps, limits->probe_ps));
        return;
    }
    sender->state = WEFT_MLT_RESENDING;
    sender->stage = 0;
    sender->cursor = sender->start / 8;
}

static bool is_part(const struct weft_mlt_sender *sender, const struct weft_mlt_message *message)
{
    const uint32_t count = sender->tensor->segment_count;
    return message->segment % 8 == 0 && message->segment < count && message->count > 0 &&
           message->count <= count - message->segment &&
           (message->count % 8 == 0 || message->count == count - message->segment) &&
           message->data_bytes == weft_mlt_bitmap_bytes(message->count);
}

static enum weft_mlt_verdict take_part(struct weft_mlt_sender *sender,
                                       const struct weft_mlt_message *message, uint64_t now_ps)
{
    if (!is_part(sender, message)) {
        return WEFT_MLT_MALFORMED;
    }
    if (sender->state != WEFT_MLT_PROBING || message->round != sender->round ||
        message->segment != sender->asked) {
        return WEFT_MLT_DUPLICATE;
    }
    uint8_t *pending = sender->pending + message->segment / 8;
    for (uint32_t i = 0; i < message->data_bytes; i++) {
        const uint32_t left = message->count - 8 * i;
        const uint32_t there = left < 8 ? 0xFFu >> (8 - left) : 0xFF;
        pending[i] = (uint8_t)(~message->data[i] & there);
        sender->missing += (uint32_t)__builtin_popcount(pending[i]);
    }
    sender->asked += message->count;
    ask(sender, now_ps);
    if (sender->asked == sender->tensor->segment_count) {
        end_sweep(sender, now_ps);
    }
    return WEFT_MLT_NEW;
}

static enum weft_mlt_verdict look_at(struct weft_mlt_sender *sender,
                                     const struct weft_mlt_message *message, uint64_t now_ps)
{
    if (message->cookie != sender->step->cookie) {
        return WEFT_MLT_STRANGE;
    }
    if (message->epoch != sender->step->epoch) {
        return message->epoch < sender->step->epoch ? WEFT_MLT_STALE : WEFT_MLT_EARLY;
    }
    if (message->tensor != sender->tensor->number ||
        (message->kind != WEFT_MLT_BITMAP && message->kind != WEFT_MLT_STOP)) {
        return WEFT_MLT_MALFORMED;
    }
    if (sender->state == WEFT_MLT_DONE) {
        return WEFT_MLT_DUPLICATE;
    }
    if (message->kind == WEFT_MLT_STOP) {
        sender->state = WEFT_MLT_DONE;
        return WEFT_MLT_NEW;
    }
    return take_part(sender, message, now_ps);
}

enum weft_mlt_verdict weft_mlt_sender_take(struct weft_mlt_sender *sender,
                                           const struct weft_mlt_message *message, uint64_t now_ps)
{
    const enum weft_mlt_verdict verdict = look_at(sender, message, now_ps);
    sender->verdicts[verdict]++;
    return verdict;
}
