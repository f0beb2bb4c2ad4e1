// SPDX-License-Identifier: Apache-2.0
// What a planner of direct fabrics will be able to give a strategy.
//
// A server's ports go to cycles, two each: a slot. Groups of AllReduces and transfers get slots of
// each server by their bytes; a group has as many cycles as its server with fewest. Groups without
// a cycle go round over relays. Unless a cycle goes through all servers or transfers have slots
// everywhere, some slots have to join what would fall apart. The constants are fitted to plans of
// weft_plan_build (docs/strategies.md).

#include "streams.h"

#include <string.h>

#define MOVED_WEIGHT 2.0   // a byte of transfers asks for so many bytes' worth of slots
#define ROUNDING 0.45      // of shares to slots: 0.5 = to the nearest, less = the first one sooner
#define RELAYED_RATIO 0.45 // of the ports over distance, for a group without a slot
#define RING_DETOUR 1.6    // its hops, in mean distances of the best graph
#define MOVED_DETOUR 1.2   // hops of transfers, the same
#define SLOTS_MAX 255u

static void sum_transfers(float *moved, const struct placement *placement)
{
    const struct weft_strategy_space *space = placement->space;
    uint32_t n = space->server_count;
    memset(moved, 0, sizeof *moved * n);
    for (uint32_t e = 0; e < space->edge_count; e++) {
        const float *load = placement->traffic[e].load;
        for (uint32_t s = 0; !placement->traffic[e].same && s < n; s++) {
            moved[s] += load[s] + load[n + s]; // forth and back
        }
    }
}

// Deals the slots of one server, each to whom most bytes a slot are left; returns how many
// transfers get.
static uint8_t deal_slots(const struct share *share, uint32_t server, uint8_t *slots,
                          uint32_t count)
{
    double moved = (double)share->moved[server] * MOVED_WEIGHT;
    uint8_t own = 0;
    memset(slots, 0, share->stream_count);
    for (uint32_t slot = 0; slot < count; slot++) {
        double most = moved / (own + ROUNDING);
        uint32_t who = share->stream_count;
        for (uint32_t i = 0; i < share->stream_count; i++) {
            double bytes =
                (double)weft_stream_load(share, i)[server] * share->streams[i].total_bytes;
            double left = bytes / (slots[i] + ROUNDING);
            who = left > most ? i : who;
            most = left > most ? left : most;
        }
        if (who < share->stream_count) {
            slots[who]++;
        } else {
            own++;
        }
    }
    return own;
}

// Cycles of each group: the fewest slots of any of its servers. Returns the fewest of transfers.
static uint8_t count_cycles(struct share *share, uint32_t count)
{
    uint8_t fewest = SLOTS_MAX;
    memset(share->cycles, SLOTS_MAX, share->stream_count);
    for (uint32_t server = 0; server < share->space->server_count; server++) {
        uint8_t own = deal_slots(share, server, share->slots, count);
        share->own[server] = own;
        fewest = own < fewest ? own : fewest;
        for (uint32_t i = 0; i < share->stream_count; i++) {
            if (weft_stream_load(share, i)[server] > 0 && share->slots[i] < share->cycles[i]) {
                share->cycles[i] = share->slots[i];
            }
        }
    }
    return fewest;
}

// Takes a slot from the groups that have all slots of a server without any for transfers.
static void join_servers(struct share *share, uint32_t count)
{
    for (uint32_t server = 0; server < share->space->server_count; server++) {
        for (uint32_t i = 0; i < share->stream_count && share->own[server] == 0; i++) {
            if (weft_stream_load(share, i)[server] > 0 && share->cycles[i] == count) {
                share->cycles[i]--;
            }
        }
    }
}

void weft_share_plan_ports(struct share *share, const struct placement *placement)
{
    const struct weft_strategy_space *space = share->space;
    uint32_t count = space->ports / 2 > 0 ? space->ports / 2 : 1;
    count = count < SLOTS_MAX ? count : SLOTS_MAX - 1;
    sum_transfers(share->moved, placement);
    bool joined = count_cycles(share, count) > 0;
    for (uint32_t i = 0; i < share->stream_count; i++) {
        joined =
            joined || (share->streams[i].members == space->server_count && share->cycles[i] > 0);
    }
    if (!joined) {
        join_servers(share, count);
    }
    float ring_detour = (float)fmax(1, RING_DETOUR * space->reach);
    for (uint32_t i = 0; i < share->stream_count; i++) {
        struct stream *stream = &share->streams[i];
        double k = stream->members;
        double ratio = (double)share->cycles[i] / count;
        if (share->cycles[i] == 0) {
            float *load = weft_stream_load(share, i);
            ratio = RELAYED_RATIO / space->reach;
            for (uint32_t r = 0; r < space->row; r++) {
                load[r] *= ring_detour;
            }
        }
        stream->rate_max = space->port_Bps * ratio / (2 * (k - 1) / k);
    }
    for (uint32_t server = 0; server < space->server_count; server++) {
        share->moved[server] = (float)fmax(1, MOVED_DETOUR * space->reach);
    }
}
