// SPDX-License-Identifier: Apache-2.0
// All tensors of a step between two ranks. Front layers go first, since the next iteration's
// forward pass begins with them. PROBEs go before DATA: they are small, and a tensor that waits for
// its answer is one whose peer might be given up. `probe_ps` is never later than the first PROBE
// that is due, so that senders are looked through for PROBEs only when there may be one.

#include "weft/mlt.h"

void weft_mlt_step_sender_open(struct weft_mlt_step_sender *sender, struct weft_mlt_sender *senders,
                               uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        WEFT_ASSERT(senders[i].tensor->number == i && senders[i].step == senders[0].step);
        while (at > 0 && senders[order[at - 1]].tensor->layer > senders[i].tensor->layer) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    *sender = (struct weft_mlt_step_sender){
        .senders = senders, .order = order, .count = count, .probe_ps = WEFT_NEVER};
}

bool weft_mlt_step_sender_done(struct weft_mlt_step_sender *sender)
{
    while (sender->first < sender->count &&
           sender->senders[sender->order[sender->first]].state == WEFT_MLT_DONE) {
        sender->first++;
    }
    return sender->first == sender->count;
}

static void note_probe(struct weft_mlt_step_sender *sender, const struct weft_mlt_sender *one)
{
    const uint64_t due_ps = weft_mlt_sender_due_ps(one);
    if (one->state == WEFT_MLT_PROBING && due_ps < sender->probe_ps) {
        sender->probe_ps = due_ps;
    }
}

// The first in order that has a PROBE due, or is to be given up; NULL: none, and probe_ps is when
// there may be one.
static struct weft_mlt_sender *find_probe(struct weft_mlt_step_sender *sender, uint64_t now_ps)
{
    sender->probe_ps = WEFT_NEVER;
    struct weft_mlt_sender *found = NULL;
    for (uint32_t i = sender->first; i < sender->count; i++) {
        struct weft_mlt_sender *one = &sender->senders[sender->order[i]];
        if (one->state != WEFT_MLT_PROBING) {
            continue;
        }
        if (found == NULL && weft_mlt_sender_due_ps(one) <= now_ps) {
            found = one;
        } else {
            note_probe(sender, one);
        }
    }
    return found;
}

static struct weft_mlt_sender *find_data(struct weft_mlt_step_sender *sender)
{
    for (uint32_t i = sender->first; i < sender->count; i++) {
        struct weft_mlt_sender *one = &sender->senders[sender->order[i]];
        if (one->state == WEFT_MLT_SENDING || one->state == WEFT_MLT_RESENDING) {
            return one;
        }
    }
    return NULL;
}

bool weft_mlt_step_sender_next(struct weft_mlt_message *message,
                               struct weft_mlt_step_sender *sender, uint64_t now_ps,
                               struct weft_error *error)
{
    struct weft_mlt_sender *one = NULL;
    *message = (struct weft_mlt_message){0};
    if (weft_mlt_step_sender_done(sender)) {
        return true;
    }
    if (now_ps >= sender->probe_ps) {
        one = find_probe(sender, now_ps);
    }
    if (one == NULL) {
        one = find_data(sender);
    }
    if (one == NULL) {
        return true;
    }
    if (!weft_mlt_sender_next(message, one, now_ps, error)) {
        return false;
    }
    note_probe(sender, one);
    return true;
}

uint64_t weft_mlt_step_sender_due_ps(const struct weft_mlt_step_sender *sender)
{
    uint64_t due_ps = WEFT_NEVER;
    for (uint32_t i = sender->first; i < sender->count && due_ps > 0; i++) {
        const uint64_t one_ps = weft_mlt_sender_due_ps(&sender->senders[sender->order[i]]);
        due_ps = one_ps < due_ps ? one_ps : due_ps;
    }
    return due_ps;
}

enum weft_mlt_verdict weft_mlt_step_sender_take(struct weft_mlt_step_sender *sender,
                                                const struct weft_mlt_message *message,
                                                uint64_t now_ps)
{
    if (message->tensor >= sender->count) {
        return WEFT_MLT_MALFORMED;
    }
    struct weft_mlt_sender *one = &sender->senders[message->tensor];
    const enum weft_mlt_verdict verdict = weft_mlt_sender_take(one, message, now_ps);
    note_probe(sender, one);
    return verdict;
}

// ---- receivers ----

void weft_mlt_step_receiver_open(struct weft_mlt_step_receiver *receiver,
                                 const struct weft_mlt_step *step,
                                 struct weft_mlt_receiver *receivers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        WEFT_ASSERT(receivers[i].tensor->number == i && receivers[i].step == step);
    }
    *receiver =
        (struct weft_mlt_step_receiver){.step = step, .receivers = receivers, .count = count};
}

// What no receiver of this step may see. A tensor of a former step may have any number, and is
// answered all the same.
static enum weft_mlt_verdict look_at(struct weft_mlt_message *answer,
                                     const struct weft_mlt_step_receiver *receiver,
                                     const struct weft_mlt_message *message)
{
    if (message->cookie != receiver->step->cookie) {
        return WEFT_MLT_STRANGE;
    }
    if (message->kind != WEFT_MLT_DATA && message->kind != WEFT_MLT_PROBE) {
        return WEFT_MLT_MALFORMED;
    }
    if (message->epoch < receiver->step->epoch) {
        *answer = (struct weft_mlt_message){.kind = WEFT_MLT_STOP,
                                            .epoch = message->epoch,
                                            .tensor = message->tensor,
                                            .cookie = message->cookie};
        return WEFT_MLT_STALE;
    }
    if (message->epoch > receiver->step->epoch) {
        return WEFT_MLT_EARLY;
    }
    return message->tensor < receiver->count ? WEFT_MLT_NEW : WEFT_MLT_MALFORMED;
}

enum weft_mlt_verdict weft_mlt_step_receiver_take(struct weft_mlt_message *answer,
                                                  struct weft_mlt_step_receiver *receiver,
                                                  const struct weft_mlt_message *message,
                                                  bool marked, uint64_t now_ps)
{
    *answer = (struct weft_mlt_message){0};
    enum weft_mlt_verdict verdict = look_at(answer, receiver, message);
    if (verdict != WEFT_MLT_NEW) {
        receiver->verdicts[verdict]++;
        return verdict;
    }
    struct weft_mlt_receiver *one = &receiver->receivers[message->tensor];
    const enum weft_mlt_receiver_state before = one->state;
    verdict = weft_mlt_receiver_take(answer, one, message, now_ps);
    receiver->satisfied += before == WEFT_MLT_OPEN && one->state == WEFT_MLT_SATISFIED;
    if (message->kind == WEFT_MLT_DATA && verdict != WEFT_MLT_MALFORMED) {
        receiver->received++;
        receiver->marked += marked;
    }
    return verdict;
}

bool weft_mlt_step_receiver_done(const struct weft_mlt_step_receiver *receiver)
{
    return receiver->satisfied == receiver->count;
}

bool weft_mlt_step_receiver_check(const struct weft_mlt_step_receiver *receiver, uint64_t now_ps,
                                  struct weft_error *error)
{
    for (uint32_t i = 0; i < receiver->count; i++) {
        if (!weft_mlt_receiver_check(&receiver->receivers[i], now_ps, error)) {
            return false;
        }
    }
    return true;
}

struct weft_mlt_message weft_mlt_step_receiver_report(const struct weft_mlt_step_receiver *receiver)
{
    return (struct weft_mlt_message){
        .kind = WEFT_MLT_REPORT,
        .epoch = receiver->step->epoch,
        .cookie = receiver->step->cookie,
        .received = receiver->received,
        .marked = receiver->marked,
    };
}
