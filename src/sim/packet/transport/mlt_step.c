// SPDX-License-Identifier: Apache-2.0
// The trace of a step of MLT: what both ends of all messages sent, by kind and over time.
//
// Time is cut into spans of equal length. When they are used up, two in a row become one of twice
// the length, so that a run of any length has between half of SPANS and SPANS of them: O(1) for
// each packet, amortized.

#include "sim/packet/engine/engine.h"

#include <string.h>

#define SPANS 256u // some three pixels each in a picture
#define SPAN_FIRST_PS 1000u

static const char *const names[WEFT_STEP_KINDS] = {
    [WEFT_STEP_IMPORTANT] = "important",
    [WEFT_STEP_UNIMPORTANT] = "unimportant",
    [WEFT_STEP_RESENT_IMPORTANT] = "resent_important",
    [WEFT_STEP_RESENT_UNIMPORTANT] = "resent_unimportant",
    [WEFT_STEP_PROBE] = "probe",
    [WEFT_STEP_BITMAP] = "bitmap",
    [WEFT_STEP_STOP] = "stop",
    [WEFT_STEP_REPORT] = "report",
};

const char *weft_step_kind_name(enum weft_step_kind kind)
{
    WEFT_ASSERT(kind < WEFT_STEP_KINDS);
    return names[kind];
}

void packet_step_init(struct packet_mlts *mlts, struct weft_arena *arena)
{
    mlts->step = (struct weft_step_trace){
        .span_ps = SPAN_FIRST_PS,
        .spans = WEFT_NEW(arena, struct weft_step_span, SPANS),
    };
}

static void join_spans(struct weft_step_trace *step)
{
    for (uint32_t i = 0; i < SPANS; i++) {
        for (uint32_t kind = 0; kind < WEFT_STEP_KINDS; kind++) {
            uint64_t bytes = step->spans[i].bytes[kind];
            step->spans[i].bytes[kind] = 0;
            step->spans[i / 2].bytes[kind] += bytes;
        }
    }
    step->span_count = (step->span_count + 1) / 2;
    step->span_ps *= 2;
}

void packet_step_sent(struct packet_mlts *mlts, enum weft_step_kind kind, uint32_t bytes,
                      uint64_t now_ps)
{
    struct weft_step_trace *step = &mlts->step;
    while (now_ps / step->span_ps >= SPANS) {
        join_spans(step);
    }
    uint32_t span = (uint32_t)(now_ps / step->span_ps);
    step->sent[kind].packets++;
    step->sent[kind].bytes += bytes;
    step->spans[span].bytes[kind] += bytes;
    step->span_count = span < step->span_count ? step->span_count : span + 1;
}

enum weft_step_kind packet_step_kind(uint32_t flags)
{
    if (flags & PACKET_ACK) {
        return flags & PACKET_STOP     ? WEFT_STEP_STOP
               : flags & PACKET_BITMAP ? WEFT_STEP_BITMAP
                                       : WEFT_STEP_REPORT;
    }
    if (flags & PACKET_PROBE) {
        return WEFT_STEP_PROBE;
    }
    if (flags & PACKET_RESENT) {
        return flags & PACKET_DROPPABLE ? WEFT_STEP_RESENT_UNIMPORTANT : WEFT_STEP_RESENT_IMPORTANT;
    }
    return flags & PACKET_DROPPABLE ? WEFT_STEP_UNIMPORTANT : WEFT_STEP_IMPORTANT;
}

void packet_step_lost(struct packet_engine *engine, uint32_t id)
{
    engine->mlts->step.sent[packet_step_kind(engine->packets[id].flags)].lost++;
}

void packet_step_lost_in_port(struct packet_engine *engine, uint32_t id)
{
    const uint32_t spared = PACKET_ACK | PACKET_DROPPABLE | PACKET_PROBE;
    engine->counts.important_lost += (engine->packets[id].flags & spared) == 0;
    packet_step_lost(engine, id);
}

const struct weft_step_trace *packet_step_trace(const struct packet_engine *engine,
                                                struct weft_arena *arena)
{
    if (engine->mlts == NULL) {
        return NULL;
    }
    struct weft_step_trace *step = WEFT_NEW(arena, struct weft_step_trace, 1);
    *step = engine->mlts->step;
    step->spans = WEFT_NEW(arena, struct weft_step_span, step->span_count);
    memcpy(step->spans, engine->mlts->step.spans, step->span_count * sizeof(*step->spans));
    return step;
}
