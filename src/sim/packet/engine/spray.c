// SPDX-License-Identifier: Apache-2.0
// Which way a packet takes, and which packets are lost by the time that has passed.

#include "engine.h"

#include <string.h>

// How often a way is passed over (uet-htsim's UecMpBitmap).
#define SKIPS_TRIMMED 4u
#define SKIPS_MAX 15u

void packet_spray_clear(struct packet_engine *engine)
{
    engine->offer_counts[0] = 0;
    engine->offer_counts[1] = 0;
}

void packet_spray_offer(struct packet_engine *engine, const uint32_t *links, uint32_t hop_count,
                        bool is_back)
{
    uint32_t *count = &engine->offer_counts[is_back];
    WEFT_ASSERT(*count + 1 < engine->way_room && hop_count < engine->way_stride);
    uint32_t place = (is_back ? engine->way_room : 0) + 1 + (*count)++;
    uint32_t *hops = &engine->offers[(size_t)place * engine->way_stride];
    memcpy(hops, links, hop_count * sizeof(*hops));
    hops[hop_count] = WEFT_NONE;
}

void packet_spray_open(struct packet_engine *engine, uint32_t id)
{
    struct packet_spray *spray = &engine->sprays[id];
    const struct packet_flow *flow = &engine->flows[id];
    uint64_t hash = weft_hash(engine->ports.seed ^ weft_hash(flow->owner));
    *spray = (struct packet_spray){.turn = (uint32_t)hash,
                                   .back_turn = (uint32_t)(hash >> 32),
                                   .way_count = 1 + engine->offer_counts[0],
                                   .back_count = 1 + engine->offer_counts[1]};
    size_t stride = engine->way_stride;
    memcpy(&engine->hops[flow->data_hop + stride], &engine->offers[stride],
           engine->offer_counts[0] * stride * sizeof(uint32_t));
    memcpy(&engine->hops[flow->data_hop + (engine->way_room + 1) * stride],
           &engine->offers[(engine->way_room + 1) * stride],
           engine->offer_counts[1] * stride * sizeof(uint32_t));
    packet_spray_clear(engine);
    if (engine->skips != NULL) {
        memset(&engine->skips[(size_t)id * engine->way_room], 0, engine->way_room);
    }
}

static uint32_t chance_of(const struct packet_engine *engine, uint32_t id, uint32_t number)
{
    uint64_t key = (uint64_t)id << 32 | number;
    return (uint32_t)(weft_hash(engine->ports.seed ^ weft_hash(key)) >> 32);
}

static uint32_t turn_way(const struct packet_engine *engine, uint32_t id, uint32_t *turn,
                         uint32_t count)
{
    uint32_t number = (*turn)++;
    switch (engine->options->port.spray_by) {
    case WEFT_SPRAY_CHANCE:
        return chance_of(engine, id, number) % count;
    case WEFT_SPRAY_MARKS:
    case WEFT_SPRAY_REUSE: // each round begins elsewhere
        return (number + chance_of(engine, id, number / count)) % count;
    case WEFT_SPRAY_TURN:
        break;
    }
    return number % count;
}

uint32_t packet_spray_way(struct packet_engine *engine, uint32_t id)
{
    struct packet_spray *spray = &engine->sprays[id];
    if (spray->good_count > 0) {
        uint32_t place = spray->good_first;
        spray->good_first = (place + 1) % SPRAY_GOOD_MAX;
        spray->good_count--;
        return engine->goods[(size_t)id * SPRAY_GOOD_MAX + place];
    }
    uint32_t way = turn_way(engine, id, &spray->turn, spray->way_count);
    if (engine->skips == NULL) {
        return way;
    }
    uint8_t *skips = &engine->skips[(size_t)id * engine->way_room];
    for (uint32_t i = 1; skips[way] > 0 && i < spray->way_count; i++) {
        skips[way]--;
        way = turn_way(engine, id, &spray->turn, spray->way_count);
    }
    return way;
}

void packet_spray_heed(struct packet_engine *engine, uint32_t id, const struct packet *packet)
{
    if (engine->skips == NULL) {
        return;
    }
    uint8_t *skips = &engine->skips[(size_t)id * engine->way_room + packet->way];
    uint32_t more = (packet->flags & PACKET_TRIMMED) != 0 ? SKIPS_TRIMMED
                                                          : (packet->flags & PACKET_MARKED) != 0;
    *skips = (uint8_t)(*skips + more < SKIPS_MAX ? *skips + more : SKIPS_MAX);
    struct packet_spray *spray = &engine->sprays[id];
    if (engine->goods != NULL && more == 0 && spray->good_count < SPRAY_GOOD_MAX) {
        uint32_t place = (spray->good_first + spray->good_count++) % SPRAY_GOOD_MAX;
        engine->goods[(size_t)id * SPRAY_GOOD_MAX + place] = (uint8_t)packet->way;
    }
}

uint32_t packet_spray_back(struct packet_engine *engine, uint32_t id)
{
    struct packet_spray *spray = &engine->sprays[id];
    return turn_way(engine, ~id, &spray->back_turn, spray->back_count) * engine->way_stride;
}

void packet_spray_sent(struct packet_engine *engine, uint32_t id)
{
    struct packet_spray *spray = &engine->sprays[id];
    const struct packet_flow *flow = &engine->flows[id];
    uint64_t now_ps = engine->clock.now_ps;
    uint32_t last = (spray->first + spray->count - 1) % SPRAY_STEPS;
    if (spray->count == SPRAY_STEPS ||
        (spray->count > 0 && now_ps - spray->sent_ps[last] < flow->view.srtt_ps / 8)) {
        return;
    }
    last = (spray->first + spray->count++) % SPRAY_STEPS;
    spray->sent_ps[last] = now_ps;
    spray->next[last] = flow->view.snd_next;
}

uint32_t packet_spray_until(struct packet_engine *engine, uint32_t id, uint64_t sent_ps)
{
    struct packet_spray *spray = &engine->sprays[id];
    // RFC 8985, 6.2, step 4 bounds the window for reordering by the smoothed round trip.
    uint64_t window_ps = engine->flows[id].view.srtt_ps;
    spray->newest_ps = sent_ps > spray->newest_ps ? sent_ps : spray->newest_ps;
    while (spray->count > 0 && spray->sent_ps[spray->first] + window_ps <= spray->newest_ps) {
        spray->passed = spray->next[spray->first];
        spray->first = (spray->first + 1) % SPRAY_STEPS;
        spray->count--;
    }
    return spray->passed;
}
