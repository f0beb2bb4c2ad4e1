// SPDX-License-Identifier: Apache-2.0
// MLT's reader of messages, and both ends of a step under any messages, those with the right MAC
// among them. What is read is written again byte by byte; neither end is broken by what the other
// says; a tensor is satisfied within its bound alone; and whatever a sender was told, it ends or
// gives its receiver up.
//
// The input is a row of messages: flags u8 (1: to the sender, 2: with a MAC made for it, 4: time
// passes), length u8, bytes.

#include "fuzz.h"

#include "../mlt_mac.h"

enum { TENSORS = 3, BITS = 4, BYTES_MAX = 256 };

struct ends {
    struct weft_mlt_step step;
    struct weft_mlt_tensor tensors[TENSORS];
    struct weft_mlt_sender senders[TENSORS];
    struct weft_mlt_receiver receivers[TENSORS];
    struct weft_mlt_budget budget;
    struct weft_mlt_step_sender sender;
    struct weft_mlt_step_receiver receiver;
    uint8_t pending[TENSORS][BITS], have[TENSORS][BITS];
    uint32_t order[TENSORS];
    uint64_t now_ps;
};

// Tensors of 1, 20 and 32 segments: protected, with a bound of a tenth, and of a half.
static void open_ends(struct ends *ends)
{
    static const uint32_t bytes[TENSORS] = {4, 79, 128};
    static const double bounds[TENSORS] = {0, 0.1, 0.5};
    *ends = (struct ends){
        .step =
            {.epoch = 1,
             .cookie = 2,
             .limits = {.probe_ps = 4, .probe_max_ps = 8, .patience_ps = 100, .bitmap_bytes = 2}},
        .budget = {.limit_bytes = 60},
    };
    for (uint32_t i = 0; i < TENSORS; i++) {
        ends->tensors[i] = weft_mlt_tensor_of(i, TENSORS - i, bytes[i], 4, bounds[i]);
        weft_mlt_sender_open(&ends->senders[i], &ends->step, &ends->tensors[i], NULL,
                             ends->pending[i]);
        weft_mlt_receiver_open(&ends->receivers[i], &ends->step, &ends->tensors[i], &ends->budget,
                               ends->have[i], 0);
    }
    weft_mlt_step_sender_open(&ends->sender, ends->senders, ends->order, TENSORS);
    weft_mlt_step_receiver_open(&ends->receiver, &ends->step, ends->receivers, TENSORS);
}

static void check_ends(const struct ends *ends)
{
    uint64_t spent = 0;
    for (uint32_t i = 0; i < TENSORS; i++) {
        const struct weft_mlt_receiver *receiver = &ends->receivers[i];
        uint64_t missing = 0;
        for (uint32_t s = 0; s < ends->tensors[i].segment_count; s++) {
            missing +=
                weft_mlt_bit(receiver->have, s) ? 0 : weft_mlt_segment_bytes(&ends->tensors[i], s);
        }
        WEFT_ASSERT(missing == receiver->missing_bytes);
        if (receiver->state == WEFT_MLT_SATISFIED) {
            WEFT_ASSERT(missing <= ends->tensors[i].bound_bytes);
            spent += missing;
        }
    }
    WEFT_ASSERT(spent == ends->budget.spent_bytes && spent <= ends->budget.limit_bytes);
}

static void take(struct ends *ends, bool to_sender, const uint8_t *bytes, size_t size)
{
    struct weft_mlt_message message, answer;
    uint8_t again[BYTES_MAX + WEFT_MLT_MAC_BYTES];
    if (weft_mlt_message_read(&message, bytes, size, &test_key) != WEFT_MLT_READ) {
        return;
    }
    WEFT_ASSERT(weft_mlt_message_write(again, &message, &test_key) == size);
    WEFT_ASSERT(memcmp(again, bytes, size) == 0);
    if (to_sender) {
        weft_mlt_step_sender_take(&ends->sender, &message, ends->now_ps);
        return;
    }
    const enum weft_mlt_verdict verdict =
        weft_mlt_step_receiver_take(&answer, &ends->receiver, &message, false, ends->now_ps);
    WEFT_ASSERT(verdict != WEFT_MLT_NEW || message.epoch == ends->step.epoch);
    if (answer.kind != WEFT_MLT_NONE) {
        weft_mlt_message_write(again, &answer, &test_key);
        WEFT_ASSERT(weft_mlt_message_read(&answer, again, weft_mlt_message_bytes(&answer),
                                          &test_key) == WEFT_MLT_READ);
    }
    check_ends(ends);
}

// Lets the sender send for so many instants; false: it gave its receiver up.
static bool pass_time(struct ends *ends, uint32_t instants)
{
    struct weft_error error;
    struct weft_mlt_message message;
    for (uint32_t i = 0; i < instants; i++) {
        ends->now_ps++;
        if (!weft_mlt_step_sender_next(&message, &ends->sender, ends->now_ps, &error)) {
            fuzz_check_line(&error);
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ends ends;
    open_ends(&ends);
    for (size_t at = 0; size - at >= 2;) {
        uint8_t bytes[BYTES_MAX + WEFT_MLT_MAC_BYTES];
        const uint8_t flags = data[at];
        size_t length = data[at + 1] < size - at - 2 ? data[at + 1] : size - at - 2;
        memcpy(bytes, data + at + 2, length);
        at += 2 + length;
        if ((flags & 2) != 0) {
            test_mac(bytes + length, bytes, length, &test_secret);
            length += WEFT_MLT_MAC_BYTES;
        }
        take(&ends, (flags & 1) != 0, bytes, length);
        if ((flags & 4) != 0 && !pass_time(&ends, 16)) {
            return 0;
        }
    }
    // Silence from here on: all is sent within 53 instants and as many again, then patience ends.
    WEFT_ASSERT(!pass_time(&ends, 53 + 53 + 200) || weft_mlt_step_sender_done(&ends.sender));
    return 0;
}
