// SPDX-License-Identifier: Apache-2.0
// The receiver of a tensor: a bit a segment, and how many bytes are missing. It counts bytes, since
// the last segment may be short, and it is satisfied once and for all: what comes later is not
// written, so that whoever reads the tensor from then on sees one content.

#include "weft/mlt.h"

#include "instant.h"

#include <string.h>

void weft_mlt_receiver_open(struct weft_mlt_receiver *receiver, const struct weft_mlt_step *step,
                            const struct weft_mlt_tensor *tensor, struct weft_mlt_budget *budget,
                            uint8_t *have, uint64_t now_ps)
{
    WEFT_ASSERT(tensor->segment_count > 0 && step->limits.bitmap_bytes > 0);
    memset(have, 0, weft_mlt_bitmap_bytes(tensor->segment_count));
    *receiver = (struct weft_mlt_receiver){
        .step = step,
        .tensor = tensor,
        .budget = budget,
        .have = have,
        .missing_bytes = weft_mlt_tensor_bytes(tensor),
        .progress_ps = now_ps,
    };
}

static void say_stop(struct weft_mlt_message *answer, struct weft_mlt_receiver *receiver,
                     const struct weft_mlt_message *message)
{
    receiver->stops++;
    *answer = (struct weft_mlt_message){.kind = WEFT_MLT_STOP,
                                        .epoch = message->epoch,
                                        .tensor = message->tensor,
                                        .cookie = message->cookie};
}

// The part that begins where the PROBE asks.
static void say_bitmap(struct weft_mlt_message *answer, const struct weft_mlt_receiver *receiver,
                       const struct weft_mlt_message *probe)
{
    const uint32_t left = receiver->tensor->segment_count - probe->segment;
    const uint64_t most = 8 * (uint64_t)receiver->step->limits.bitmap_bytes;
    const uint32_t count = left < most ? left : (uint32_t)most;
    *answer = (struct weft_mlt_message){
        .kind = WEFT_MLT_BITMAP,
        .epoch = probe->epoch,
        .tensor = probe->tensor,
        .cookie = probe->cookie,
        .segment = probe->segment,
        .round = probe->round,
        .count = count,
        .data_bytes = (uint32_t)weft_mlt_bitmap_bytes(count),
        .data = receiver->have + probe->segment / 8,
    };
}

// Within its own bound, and within what the step's budget still covers.
static bool may_stop(const struct weft_mlt_receiver *receiver)
{
    const struct weft_mlt_budget *budget = receiver->budget;
    const uint64_t missing = receiver->missing_bytes;
    return missing <= receiver->tensor->bound_bytes &&
           (budget == NULL || missing <= budget->limit_bytes - budget->spent_bytes);
}

static void satisfy(struct weft_mlt_message *answer, struct weft_mlt_receiver *receiver,
                    const struct weft_mlt_message *message)
{
    receiver->state = WEFT_MLT_SATISFIED;
    if (receiver->budget != NULL) {
        receiver->budget->spent_bytes += receiver->missing_bytes;
        WEFT_ASSERT(receiver->budget->spent_bytes <= receiver->budget->limit_bytes);
    }
    say_stop(answer, receiver, message);
}

static bool fits(const struct weft_mlt_tensor *tensor, const struct weft_mlt_message *message)
{
    if (message->tensor != tensor->number || message->segment >= tensor->segment_count) {
        return false;
    }
    if (message->kind == WEFT_MLT_PROBE) {
        return message->segment % 8 == 0;
    }
    return message->kind == WEFT_MLT_DATA && message->layer == tensor->layer &&
           message->data_bytes == weft_mlt_segment_bytes(tensor, message->segment);
}

static enum weft_mlt_verdict look_at(struct weft_mlt_message *answer,
                                     struct weft_mlt_receiver *receiver,
                                     const struct weft_mlt_message *message, uint64_t now_ps)
{
    const uint32_t epoch = receiver->step->epoch;
    const uint32_t segment = message->segment;
    if (message->cookie != receiver->step->cookie) {
        return WEFT_MLT_STRANGE;
    }
    if (message->kind != WEFT_MLT_DATA && message->kind != WEFT_MLT_PROBE) {
        return WEFT_MLT_MALFORMED;
    }
    if (message->epoch < epoch) {
        say_stop(answer, receiver, message);
        return WEFT_MLT_STALE;
    }
    if (message->epoch > epoch) {
        return WEFT_MLT_EARLY;
    }
    if (!fits(receiver->tensor, message)) {
        return WEFT_MLT_MALFORMED;
    }
    if (receiver->state == WEFT_MLT_SATISFIED) {
        say_stop(answer, receiver, message);
        return WEFT_MLT_LATE;
    }
    if (message->kind == WEFT_MLT_DATA) {
        if (weft_mlt_bit(receiver->have, segment)) {
            return WEFT_MLT_DUPLICATE;
        }
        receiver->have[segment / 8] = (uint8_t)(receiver->have[segment / 8] | 1u << segment % 8);
        receiver->received++;
        receiver->missing_bytes -= message->data_bytes;
        receiver->progress_ps = now_ps;
    }
    if (may_stop(receiver)) {
        satisfy(answer, receiver, message);
    } else if (message->kind == WEFT_MLT_PROBE) {
        say_bitmap(answer, receiver, message);
    }
    return WEFT_MLT_NEW;
}

enum weft_mlt_verdict weft_mlt_receiver_take(struct weft_mlt_message *answer,
                                             struct weft_mlt_receiver *receiver,
                                             const struct weft_mlt_message *message,
                                             uint64_t now_ps)
{
    *answer = (struct weft_mlt_message){0};
    const enum weft_mlt_verdict verdict = look_at(answer, receiver, message, now_ps);
    receiver->verdicts[verdict]++;
    return verdict;
}

uint64_t weft_mlt_receiver_due_ps(const struct weft_mlt_receiver *receiver)
{
    return receiver->state == WEFT_MLT_SATISFIED
               ? WEFT_NEVER
               : later_ps(receiver->progress_ps, receiver->step->limits.patience_ps);
}

bool weft_mlt_receiver_check(const struct weft_mlt_receiver *receiver, uint64_t now_ps,
                             struct weft_error *error)
{
    char patience[WEFT_UNIT_TEXT];
    const struct weft_mlt_tensor *tensor = receiver->tensor;
    const uint64_t due_ps = weft_mlt_receiver_due_ps(receiver);
    if (due_ps == WEFT_NEVER || now_ps < due_ps) {
        return true;
    }
    weft_show_time(patience, receiver->step->limits.patience_ps);
    return weft_fail(error, WEFT_IO,
                     "tensor %u of step %u: %llu of %llu bytes are missing, %llu may be, and "
                     "nothing new has come for %s",
                     tensor->number, receiver->step->epoch,
                     (unsigned long long)receiver->missing_bytes,
                     (unsigned long long)weft_mlt_tensor_bytes(tensor),
                     (unsigned long long)tensor->bound_bytes, patience);
}

double weft_mlt_scale(const struct weft_mlt_receiver *receiver)
{
    const uint64_t bytes = weft_mlt_tensor_bytes(receiver->tensor);
    const uint64_t came = bytes - receiver->missing_bytes;
    return came == 0 ? 0 : (double)bytes / (double)came;
}
