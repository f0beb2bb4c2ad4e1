// SPDX-License-Identifier: Apache-2.0
// The rings of bits of windows of sequence numbers, used again, and what was cut.

#include "sequence.h"

#include <string.h>

uint64_t *packet_take_bits(struct packet_engine *engine)
{
    size_t words = engine->options->window_limit_packets / 64;
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

// ---- what was cut ----

static bool is_cut(const struct packet_engine *engine, const struct packet_flow *flow,
                   uint32_t sequence)
{
    uint32_t place = sequence & (engine->options->window_limit_packets - 1);
    return flow->cuts.bits != NULL && (flow->cuts.bits[place / 64] >> (place % 64) & 1) != 0;
}

void packet_forget_cut(struct packet_engine *engine, struct packet_flow *flow, uint32_t sequence)
{
    if (is_cut(engine, flow, sequence)) {
        uint32_t place = sequence & (engine->options->window_limit_packets - 1);
        flow->cuts.bits[place / 64] &= ~((uint64_t)1 << (place % 64));
        flow->cuts.count--;
    }
}

bool packet_note_cut(struct packet_engine *engine, struct packet_flow *flow, uint32_t sequence)
{
    if (packet_has_come(engine, &flow->acknowledged, sequence) || is_cut(engine, flow, sequence)) {
        return false;
    }
    if (flow->cuts.bits == NULL) {
        flow->cuts.bits = packet_take_bits(engine);
    }
    uint32_t place = sequence & (engine->options->window_limit_packets - 1);
    flow->cuts.bits[place / 64] |= (uint64_t)1 << (place % 64);
    if (flow->cuts.count++ == 0 || sequence < flow->cuts.from) {
        flow->cuts.from = sequence;
    }
    return true;
}

uint32_t packet_take_cut(struct packet_engine *engine, struct packet_flow *flow)
{
    if (flow->cuts.count == 0) {
        return WEFT_NONE;
    }
    uint32_t low = flow->acknowledged.low;
    uint32_t sequence = flow->cuts.from > low ? flow->cuts.from : low;
    while (!is_cut(engine, flow, sequence)) {
        sequence++;
        WEFT_ASSERT(sequence < flow->view.snd_next);
    }
    packet_forget_cut(engine, flow, sequence);
    flow->cuts.from = sequence + 1;
    return sequence;
}

void packet_forget_cuts(struct packet_engine *engine, struct packet_flow *flow)
{
    struct packet_window cut = {.bits = flow->cuts.bits};
    packet_release_bits(engine, &cut);
    flow->cuts = (struct packet_cuts){0};
}
