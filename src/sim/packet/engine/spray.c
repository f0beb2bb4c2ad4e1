// SPDX-License-Identifier: Apache-2.0
// Which spray path a packet takes, and which packets are lost by the time that has passed.
//
// Paths are taken by round robin or by chance; with WEFT_SPRAY_MARKS those that brought marks or
// trimmed packets are passed over (uet-htsim), and with WEFT_SPRAY_REUSE those that brought
// unmarked packets are taken again (REPS, Bonato et al., 2024). O(1) for each packet but for paths
// that are passed over, which a packet pays for once each.

#include "engine.h"

#include <string.h>

// How often a path is passed over (uet-htsim's UecMpBitmap).
#define SKIPS_TRIMMED 4u
#define SKIPS_MAX 15u

void packet_spray_clear(struct packet_engine *engine)
{
    engine->sprays.offer_counts[0] = 0;
    engine->sprays.offer_counts[1] = 0;
}

void packet_spray_offer(struct packet_engine *engine, const uint32_t *links, uint32_t hop_count,
                        bool is_back)
{
    uint32_t *count = &engine->sprays.offer_counts[is_back];
    WEFT_ASSERT(*count + 1 < engine->sprays.path_room && hop_count < engine->sprays.path_stride);
    uint32_t place = (is_back ? engine->sprays.path_room : 0) + 1 + (*count)++;
    uint32_t *hops = &engine->sprays.offers[(size_t)place * engine->sprays.path_stride];
    memcpy(hops, links, hop_count * sizeof(*hops));
    hops[hop_count] = WEFT_NONE;
}

void packet_spray_open(struct packet_engine *engine, uint32_t id)
{
    struct packet_spray *spray = &engine->sprays.flows[id];
    const struct packet_flow *flow = &engine->flows[id];
    uint64_t hash = weft_hash(engine->ports.seed ^ weft_hash(flow->end.owner));
    *spray = (struct packet_spray){.data_number = (uint32_t)hash,
                                   .ack_number = (uint32_t)(hash >> 32),
                                   .path_count = 1 + engine->sprays.offer_counts[0],
                                   .back_count = 1 + engine->sprays.offer_counts[1]};
    size_t stride = engine->sprays.path_stride;
    memcpy(&engine->hops[flow->data_hop + stride], &engine->sprays.offers[stride],
           engine->sprays.offer_counts[0] * stride * sizeof(uint32_t));
    memcpy(&engine->hops[flow->data_hop + (engine->sprays.path_room + 1) * stride],
           &engine->sprays.offers[(engine->sprays.path_room + 1) * stride],
           engine->sprays.offer_counts[1] * stride * sizeof(uint32_t));
    packet_spray_clear(engine);
    if (engine->sprays.skips != NULL) {
        memset(&engine->sprays.skips[(size_t)id * engine->sprays.path_room], 0,
               engine->sprays.path_room);
    }
}

static uint32_t chance_of(const struct packet_engine *engine, uint32_t id, uint32_t number)
{
    uint64_t key = (uint64_t)id << 32 | number;
    return (uint32_t)(weft_hash(engine->ports.seed ^ weft_hash(key)) >> 32);
}

// The path of the packet *next_number of a flow's, of `count` paths. Every round over all paths
// begins elsewhere where marks decide, so that flows do not walk the same paths in step.
static uint32_t choose_path(const struct packet_engine *engine, uint32_t id, uint32_t *next_number,
                            uint32_t count)
{
    uint32_t number = (*next_number)++;
    switch (engine->options->port.spray_by) {
    case WEFT_SPRAY_CHANCE:
        return chance_of(engine, id, number) % count;
    case WEFT_SPRAY_MARKS:
    case WEFT_SPRAY_REUSE:
        return (number + chance_of(engine, id, number / count)) % count;
    case WEFT_SPRAY_ROUND_ROBIN:
        break;
    }
    return number % count;
}

uint32_t packet_spray_path(struct packet_engine *engine, uint32_t id)
{
    struct packet_spray *spray = &engine->sprays.flows[id];
    if (spray->recycled_count > 0) {
        uint32_t place = spray->recycled_first;
        spray->recycled_first = (place + 1) % SPRAY_RECYCLED_MAX;
        spray->recycled_count--;
        return engine->sprays.recycled[(size_t)id * SPRAY_RECYCLED_MAX + place];
    }
    uint32_t path = choose_path(engine, id, &spray->data_number, spray->path_count);
    if (engine->sprays.skips == NULL) {
        return path;
    }
    uint8_t *skips = &engine->sprays.skips[(size_t)id * engine->sprays.path_room];
    for (uint32_t i = 1; skips[path] > 0 && i < spray->path_count; i++) {
        skips[path]--;
        path = choose_path(engine, id, &spray->data_number, spray->path_count);
    }
    return path;
}

void packet_spray_feedback(struct packet_engine *engine, uint32_t id, const struct packet *packet)
{
    if (engine->sprays.skips == NULL) {
        return;
    }
    uint8_t *skips = &engine->sprays.skips[(size_t)id * engine->sprays.path_room + packet->path];
    uint32_t more = (packet->flags & PACKET_TRIMMED) != 0 ? SKIPS_TRIMMED
                                                          : (packet->flags & PACKET_MARKED) != 0;
    *skips = (uint8_t)(*skips + more < SKIPS_MAX ? *skips + more : SKIPS_MAX);
    struct packet_spray *spray = &engine->sprays.flows[id];
    if (engine->sprays.recycled != NULL && more == 0 &&
        spray->recycled_count < SPRAY_RECYCLED_MAX) {
        uint32_t place = (spray->recycled_first + spray->recycled_count++) % SPRAY_RECYCLED_MAX;
        engine->sprays.recycled[(size_t)id * SPRAY_RECYCLED_MAX + place] = (uint8_t)packet->path;
    }
}

uint32_t packet_spray_back(struct packet_engine *engine, uint32_t id)
{
    struct packet_spray *spray = &engine->sprays.flows[id];
    return choose_path(engine, ~id, &spray->ack_number, spray->back_count) *
           engine->sprays.path_stride;
}

void packet_spray_sent(struct packet_engine *engine, uint32_t id)
{
    struct packet_spray *spray = &engine->sprays.flows[id];
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
    struct packet_spray *spray = &engine->sprays.flows[id];
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
