// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TEST_TRANSPORT_BELL_H
#define WEFT_TEST_TRANSPORT_BELL_H

// A dumbbell: senders 0 .. n-1 with fast links to a switch, one slow link from it to the receiver.
// Its flows are long ones; windows and the queue are read off the engine as it plays.

#include "sim/packet/engine/engine.h"
#include "weft/fabric.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BELL_PACKET_BYTES 1500u
#define BELL_FLOWS_MAX 128u

struct bell {
    struct weft_fabric fabric;
    struct packet_engine engine;
    struct weft_sim_options options;
    struct weft_packet_options packet;
    uint32_t flow_count;
    uint32_t slow; // the link that all flows share
    double rate_Bps;
    uint64_t now_ps;
};

static struct weft_arena bell_arena;

static int bell_set_up(void **state)
{
    (void)state;
    struct weft_error error;
    return weft_arena_init(&bell_arena, 0, &error) ? 0 : -1;
}

static int bell_tear_down(void **state)
{
    (void)state;
    weft_arena_release(&bell_arena);
    return 0;
}

// trip_ps: of a packet and its acknowledgement where nothing waits, without their bytes' time.
// `packet` has buffers and marks in bytes.
static void bell_build(struct bell *bell, uint32_t flow_count, double rate_Bps, double speed_ratio,
                       uint64_t trip_ps, enum weft_sim_transport transport,
                       const struct weft_packet_options *packet,
                       const struct weft_job_timing *timings, struct weft_arena *arena)
{
    struct weft_link links[2 * BELL_FLOWS_MAX + 2];
    struct weft_error error;
    uint32_t hub = flow_count + 1;
    uint32_t count = 0;
    for (uint32_t i = 0; i <= flow_count; i++) {
        double rate = i == flow_count ? rate_Bps : speed_ratio * rate_Bps;
        links[count++] = (struct weft_link){i, hub, speed_ratio * rate_Bps, trip_ps / 4, 1};
        links[count++] = (struct weft_link){hub, i, rate, trip_ps / 4, 1};
    }
    *bell = (struct bell){.flow_count = flow_count, .rate_Bps = rate_Bps, .packet = *packet};
    bell->options = (struct weft_sim_options){.packet_bytes = BELL_PACKET_BYTES,
                                              .header_bytes = 60,
                                              .engine = WEFT_ENGINE_PACKET,
                                              .transport = transport,
                                              .dctcp = WEFT_DCTCP_DEFAULTS,
                                              .packet = &bell->packet};
    if (!weft_fabric_build(
            &bell->fabric,
            &(struct weft_fabric_links){"bell", flow_count + 1, flow_count + 2, links, count},
            arena, &error) ||
        !packet_check_options(&bell->options, &error)) {
        fail_msg("%s", error.message);
    }
    packet_engine_init(&bell->engine, &bell->fabric, &bell->options, flow_count, 2, arena);
    packet_engine_jobs(&bell->engine, timings, flow_count);
    bell->slow = weft_fabric_find_link(&bell->fabric, hub, flow_count);
}

// Sender i's message of so many packets, of job i.
static void bell_start(struct bell *bell, uint32_t sender, double packets)
{
    uint32_t hub = bell->flow_count + 1;
    uint32_t server = bell->flow_count;
    uint32_t path[2] = {weft_fabric_find_link(&bell->fabric, sender, hub), bell->slow};
    uint32_t back[2] = {weft_fabric_find_link(&bell->fabric, server, hub),
                        weft_fabric_find_link(&bell->fabric, hub, sender)};
    const struct packet_route route = {path, 2, back, 2, false};
    packet_engine_start(&bell->engine, &route, packets * BELL_PACKET_BYTES,
                        (struct packet_end){sender, sender, sender});
}

static inline void bell_play(struct bell *bell, uint64_t until_ps)
{
    struct packet_end end;
    while (packet_engine_run(&bell->engine, until_ps, &end)) {
    }
    bell->now_ps = until_ps;
    bell->engine.clock.now_ps = until_ps;
}

static inline double bell_queue_packets(const struct bell *bell)
{
    uint64_t free_ps = bell->engine.links[bell->slow].free_ps;
    double left_s = free_ps > bell->now_ps ? weft_seconds(free_ps - bell->now_ps) : 0;
    return left_s * bell->rate_Bps / BELL_PACKET_BYTES;
}

// What a steady stretch of a run looked like.
struct bell_view {
    double shares[BELL_FLOWS_MAX]; // of all that came
    double used_ratio;             // of the slow link
    double queue_packets;          // mean
    double queue_max_packets;
    double trip_s; // mean of the flows' smoothed round trips
    double jain;   // (sum x)^2 / (n sum x^2): Jain, Chiu and Hawe, DEC-TR-301, 1984
};

static inline struct bell_view bell_watch(struct bell *bell, uint64_t from_ps, uint64_t until_ps)
{
    struct bell_view view = {0};
    uint32_t before[BELL_FLOWS_MAX];
    bell_play(bell, from_ps);
    uint64_t bytes = bell->engine.links[bell->slow].bytes;
    for (uint32_t i = 0; i < bell->flow_count; i++) {
        before[i] = bell->engine.flows[i].received.low;
    }
    const uint32_t samples = 2000;
    for (uint32_t s = 1; s <= samples; s++) {
        bell_play(bell, from_ps + (until_ps - from_ps) / samples * s);
        double queue = bell_queue_packets(bell);
        view.queue_packets += queue / samples;
        view.queue_max_packets = fmax(view.queue_max_packets, queue);
        for (uint32_t i = 0; i < bell->flow_count; i++) {
            view.trip_s +=
                weft_seconds(bell->engine.flows[i].view.srtt_ps) / samples / bell->flow_count;
        }
    }
    bytes = bell->engine.links[bell->slow].bytes - bytes;
    view.used_ratio = (double)bytes / bell->rate_Bps / weft_seconds(until_ps - from_ps);
    double sum = 0;
    double squares = 0;
    for (uint32_t i = 0; i < bell->flow_count; i++) {
        double came = bell->engine.flows[i].received.low - before[i];
        view.shares[i] = came;
        sum += came;
        squares += came * came;
    }
    for (uint32_t i = 0; i < bell->flow_count; i++) {
        view.shares[i] /= sum;
    }
    view.jain = sum * sum / (bell->flow_count * squares);
    return view;
}

#endif
