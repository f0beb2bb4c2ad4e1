// SPDX-License-Identifier: Apache-2.0
// Rings of bits: which packets of a flow have come ahead of the first gap, and which were trimmed
// and go again. A flow takes a ring when something comes out of order, and gives it back for
// others. Every operation is O(1), but for the search of the next trimmed packet.

#include "sequence.h"

#include <string.h>

uint64_t *packet_take_bits(struct packet_engine *engine)
{
    size_t words = engine->options->window.limit_packets / 64;
    uint64_t *bits = engine->bits_free;
    if (bits == NULL) {
        return WEFT_NEW(engine->arena, uint64_t, words);
    }
    memcpy(&engine->bits_free, bits, sizeof(uint64_t *));
    memset(bits, 0, words * sizeof(*bits));
    return bits;
}

void packet_release_bits(struct packet_engine *engine, struct packet_window *window)
{
    if (window->bits != NULL) {
        memcpy(window->bits, &engine->bits_free, sizeof(uint64_t *));
        engine->bits_free = window->bits;
        window->bits = NULL;
    }
}

// ---- what was trimmed ----

static bool is_trimmed(const struct packet_engine *engine, const struct packet_flow *flow,
                       uint32_t sequence)
{
    uint32_t place = sequence & (engine->options->window.limit_packets - 1);
    return flow->trimmed.bits != NULL && (flow->trimmed.bits[place / 64] >> (place % 64) & 1) != 0;
}

void packet_forget_trimmed(struct packet_engine *engine, struct packet_flow *flow,
                           uint32_t sequence)
{
    if (is_trimmed(engine, flow, sequence)) {
        uint32_t place = sequence & (engine->options->window.limit_packets - 1);
        flow->trimmed.bits[place / 64] &= ~((uint64_t)1 << (place % 64));
        flow->trimmed.count--;
    }
}

bool packet_note_trimmed(struct packet_engine *engine, struct packet_flow *flow, uint32_t sequence)
{
    if (packet_has_come(engine, &flow->acknowledged, sequence) ||
        is_trimmed(engine, flow, sequence)) {
        return false;
    }
    if (flow->trimmed.bits == NULL) {
        flow->trimmed.bits = packet_take_bits(engine);
    }
    uint32_t place = sequence & (engine->options->window.limit_packets - 1);
    flow->trimmed.bits[place / 64] |= (uint64_t)1 << (place % 64);
    if (flow->trimmed.count++ == 0 || sequence < flow->trimmed.from) {
        flow->trimmed.from = sequence;
    }
    return true;
}

uint32_t packet_take_trimmed(struct packet_engine *engine, struct packet_flow *flow)
{
    if (flow->trimmed.count == 0) {
        return WEFT_NONE;
    }
    uint32_t low = flow->acknowledged.low;
    uint32_t sequence = flow->trimmed.from > low ? flow->trimmed.from : low;
    while (!is_trimmed(engine, flow, sequence)) {
        sequence++;
        WEFT_ASSERT(sequence < flow->view.snd_next);
    }
    packet_forget_trimmed(engine, flow, sequence);
    flow->trimmed.from = sequence + 1;
    return sequence;
}

void packet_forget_all_trimmed(struct packet_engine *engine, struct packet_flow *flow)
{
    struct packet_window trimmed = {.bits = flow->trimmed.bits};
    packet_release_bits(engine, &trimmed);
    flow->trimmed = (struct packet_trimmed){0};
}
