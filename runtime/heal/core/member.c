// SPDX-License-Identifier: Apache-2.0
// A host of a job that heals, in memory (member.h).

#include "member.h"

#include <string.h>

void lab_heal_member_init(struct lab_heal_member *member, uint32_t host, uint32_t rank,
                          const struct lab_heal_work *work, uint64_t compute_ns)
{
    *member = (struct lab_heal_member){
        .work = *work, .host = host, .compute_ns = compute_ns, .begin_ns = WEFT_NEVER};
    member->work.rank = rank;
}

struct lab_heal_report lab_heal_report_of(const struct lab_heal_member *member,
                                          enum lab_heal_report_kind kind)
{
    return (struct lab_heal_report){.magic = LAB_HEAL_MAGIC,
                                    .kind = kind,
                                    .epoch = member->epoch,
                                    .step = member->work.step,
                                    .rank = member->work.rank,
                                    .dropped = member->dropped,
                                    .refused = member->refused};
}

void lab_heal_report(struct lab_heal_member *member, const struct lab_heal_report *report)
{
    uint32_t count = member->report_count;
    // A spare that was kept waiting finds many parameters at once, of which the last count.
    bool again = report->kind == LAB_HEAL_KEPT && count > 0 &&
                 member->reports[count - 1].kind == LAB_HEAL_KEPT;
    WEFT_ASSERT(again || count < LAB_HEAL_REPORTS_MAX);
    member->reports[count - again] = *report;
    member->report_count += !again;
}

// ---- orders ----

static void freeze(struct lab_heal_member *member, const struct lab_heal_order *order)
{
    member->epoch = order->epoch;
    member->frozen = true;
    memset(member->up, 0, sizeof member->up);
    memset(member->gives, 0, sizeof member->gives);
    struct lab_heal_report report = lab_heal_report_of(member, LAB_HEAL_FROZEN);
    if (member->awaits_state) {
        report.step = WEFT_NONE; // what is here is of no step
    }
    report.begun = member->work.begun;
    memcpy(report.lanes, member->work.lanes, sizeof report.lanes);
    lab_heal_report(member, &report);
}

// The rank, its neighbors and the place in the step. What a rank that has not begun its collective
// is told about lanes is kept until it does (lab_heal_advance).
static bool resume(struct lab_heal_member *member, const struct lab_heal_order *order,
                   uint64_t now_ns, struct weft_error *error)
{
    bool takes =
        (order->flags & (LAB_HEAL_FROM_PREV | LAB_HEAL_FROM_NEXT | LAB_HEAL_FROM_FILE)) != 0;
    if (!takes && (order->step != member->work.step || member->awaits_state)) {
        return weft_fail(error, WEFT_INFEASIBLE, "host %u has the parameters of step %u, not %u",
                         member->host, member->work.step, order->step);
    }
    bool is_new = member->work.rank == WEFT_NONE || member->begin_ns == WEFT_NEVER;
    bool again = (order->flags & LAB_HEAL_RESTART) != 0 || takes;
    member->epoch = order->epoch;
    member->order = *order;
    member->frozen = false;
    member->work.rank = order->rank;
    member->awaits_state = takes;
    member->ready_told = member->done_told = false;
    memset(member->up, 0, sizeof member->up);
    member->gives[LAB_HEAL_PREV] = (order->flags & LAB_HEAL_TO_PREV) != 0;
    member->gives[LAB_HEAL_NEXT] = (order->flags & LAB_HEAL_TO_NEXT) != 0;
    if (again && member->work.begun) {
        member->work.begun = false;
        memset(member->work.lanes, 0, sizeof member->work.lanes);
        member->begin_ns = now_ns + member->compute_ns;
    } else if (is_new) {
        member->begin_ns = now_ns + member->compute_ns;
    }
    if (member->work.begun) {
        memcpy(member->work.lanes, order->lanes, sizeof member->work.lanes);
    }
    return true;
}

bool lab_heal_obey(struct lab_heal_member *member, const struct lab_heal_order *order,
                   uint64_t now_ns, struct weft_error *error)
{
    if (order->kind == LAB_HEAL_END) {
        member->ended = true;
        return true;
    }
    if (order->epoch < member->epoch) {
        return true;
    }
    if (order->kind == LAB_HEAL_FREEZE) {
        freeze(member, order);
    } else if (order->kind == LAB_HEAL_RESUME) {
        return resume(member, order, now_ns, error);
    } else if (order->kind == LAB_HEAL_COMMIT) {
        if (order->step != member->work.step || !lab_heal_complete(&member->work)) {
            return weft_fail(error, WEFT_INFEASIBLE, "host %u: step %u is not done, step %u is",
                             member->host, member->work.step, order->step);
        }
        lab_heal_commit(&member->work);
        member->done_told = false;
        memset(member->order.lanes, 0, sizeof member->order.lanes);
        member->begin_ns = now_ns + member->compute_ns;
    }
    return true;
}

void lab_heal_edge_up(struct lab_heal_member *member, uint32_t side)
{
    member->up[side] = true;
}

bool lab_heal_take_state(struct lab_heal_member *member, const uint32_t *state, uint32_t step)
{
    struct lab_heal_work *work = &member->work;
    bool fed = work->rank == WEFT_NONE && step > work->step;
    if (!fed && (!member->awaits_state || member->frozen || step != member->order.step)) {
        return false;
    }
    if (state != work->state) {
        memcpy(work->state, state, lab_heal_elements(work) * sizeof *state);
    }
    work->step = step;
    work->begun = false;
    member->awaits_state = false;
    if (fed) {
        const struct lab_heal_report kept = lab_heal_report_of(member, LAB_HEAL_KEPT);
        lab_heal_report(member, &kept);
    }
    return true;
}

// ---- frames ----

bool lab_heal_is_early(const struct lab_heal_member *member, const struct lab_heal_frame *frame)
{
    const struct lab_heal_work *work = &member->work;
    bool joined = !member->frozen && member->order.epoch == member->epoch;
    if (frame->epoch != member->epoch || work->rank == WEFT_NONE) {
        return frame->epoch > member->epoch && work->rank != WEFT_NONE;
    }
    return !joined || (frame->kind == LAB_HEAL_CHUNK &&
                       (frame->step > work->step || (frame->step == work->step && !work->begun)));
}

bool lab_heal_take_chunk(struct lab_heal_member *member, const struct lab_heal_frame *frame,
                         const uint32_t *data)
{
    const struct lab_heal_message message = {frame->lane, frame->number, frame->full != 0, data};
    bool taken = frame->epoch == member->epoch && frame->step == member->work.step &&
                 !member->frozen && lab_heal_take(&member->work, &message);
    member->dropped += !taken;
    return taken;
}

bool lab_heal_outgoing(struct lab_heal_frame *frame, const uint32_t **data,
                       struct lab_heal_member *member, uint32_t side)
{
    struct lab_heal_work *work = &member->work;
    struct lab_heal_message message;
    uint32_t lane = side == LAB_HEAL_NEXT ? 0 : 1;
    struct lab_heal_frame made = {.magic = LAB_HEAL_MAGIC,
                                  .lane = (uint16_t)lane,
                                  .epoch = member->epoch,
                                  .step = work->step,
                                  .host = member->host};
    if (member->frozen || !member->up[side]) {
        return false;
    }
    if (member->gives[side]) {
        if (member->awaits_state) {
            return false;
        }
        member->gives[side] = false;
        made.kind = LAB_HEAL_STATE;
        made.length = (uint32_t)(lab_heal_elements(work) * sizeof **data);
        *data = work->state;
    } else if (lab_heal_next(&message, work, lane)) {
        work->lanes[lane].sent++;
        made.kind = LAB_HEAL_CHUNK;
        made.number = message.number;
        made.full = message.full;
        made.length = (uint32_t)(work->chunk_elements * sizeof **data);
        *data = message.data;
    } else {
        return false;
    }
    *frame = made;
    return true;
}

// ---- time ----

void lab_heal_advance(struct lab_heal_member *member, uint64_t now_ns)
{
    struct lab_heal_work *work = &member->work;
    if (member->frozen || work->rank == WEFT_NONE || member->awaits_state) {
        return;
    }
    if (!member->ready_told && member->up[0] && member->up[1]) {
        const struct lab_heal_report ready = lab_heal_report_of(member, LAB_HEAL_READY);
        member->ready_told = true;
        lab_heal_report(member, &ready);
    }
    if (!work->begun && now_ns >= member->begin_ns) {
        lab_heal_begin(work);
        memcpy(work->lanes, member->order.lanes, sizeof work->lanes);
    }
    if (!member->done_told && lab_heal_complete(work)) {
        struct lab_heal_report done = lab_heal_report_of(member, LAB_HEAL_DONE);
        done.wrong = lab_heal_wrong(work);
        done.checked = lab_heal_elements(work);
        done.digest = lab_heal_step_digest(work);
        member->done_told = true;
        member->dropped = 0;
        member->refused = 0;
        lab_heal_report(member, &done);
    }
}
