// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SIM_PACKET_ENGINE_PORTS_H
#define WEFT_SIM_PACKET_ENGINE_PORTS_H

// What ports of the packet engine do besides serving first come, first served: queues by priority,
// pauses, trimming, marks by chance, cut-through.
//
// A port first come, first served knows a packet's departure when it enters, and needs no queue.
// The others have one, and an event when a packet has left and others wait.

#include "weft/sim.h"

#define PORT_BANDS_MAX 8u

// An event of a port: link << PORT_EVENT_BITS, and 0 (a packet has left) or what follows.
#define PORT_EVENT_BITS 5
#define PORT_LINKS_MAX ((uint32_t)1 << 24)
#define PORT_EVENT_PAUSE 0x10u // band << 1, and 1 = pause, 0 = resume

// The packets of a priority that wait, in order; a list through `behind`, and `next` backwards.
struct packet_band {
    uint32_t first;
    uint32_t last;
    uint64_t waiting_ps; // their serial times
    uint64_t pause_ps;   // when it was paused, if it is
};

struct packet_port {
    _Alignas(64) uint64_t busy_ps; // until then a packet leaves
    uint64_t waiting_ps;
    uint32_t leaving_bytes; // that its sender's link is held for; 0 = none
    uint32_t leaving_from;  // ... by this link
    uint8_t leaving_band;
    uint8_t waiting; // bit b: band b has packets
    uint8_t paused;
    bool is_awaited; // an event at busy_ps is filed
    uint32_t control_run;
    uint32_t trims;
    uint32_t pauses;
    uint64_t paused_ps;
};

// What a node holds that came by one link, in one band.
struct packet_hold {
    uint64_t bytes;
    uint64_t limit_bytes;
    bool is_pausing;
};

// A port's moving average (RED).
struct packet_average {
    double bytes;
    uint64_t idle_ps; // when the queue ran empty
    int64_t since;    // packets since the last marked one; -1: below the ramp
};

struct packet_ports {
    const struct weft_port_options *options;
    const struct weft_fabric *fabric;
    bool is_lossy;              // a link loses packets by chance
    bool are_extended;          // queues, cut-through or marks by chance
    struct packet_port *queues; // per link; NULL: first come, first served
    struct packet_band *bands;  // [link * band_count + band]
    struct packet_hold *holds;  // likewise; lossless
    struct packet_average *averages;
    bool *cuts_through; // per link: its far end sends packets on before it has them; NULL: none
    uint32_t band_count;
    bool priority_by_job; // else by owner
    uint32_t *circle;     // links whose ports wait for the next one's, if any do
    uint32_t circle_count;
    uint32_t circle_band;
    uint64_t checked_ps;
    uint64_t seed;
};

struct packet;
struct packet_link;
struct packet_engine;

// What the options cannot have together; fails with INPUT.
bool packet_ports_check(const struct weft_sim_options *options, struct weft_error *error)
    WEFT_MUST_USE;
// Whether there is room for the paths of so many flows at once.
bool packet_ports_check_flows(const struct weft_sim_options *options, uint64_t flows,
                              uint32_t hop_max, struct weft_error *error) WEFT_MUST_USE;
// Whether each of the flows or jobs has a priority that there is.
bool packet_ports_check_priorities(const struct weft_sim_options *options, uint32_t count,
                                   struct weft_error *error) WEFT_MUST_USE;
void packet_ports_init(struct packet_engine *engine, const struct weft_fabric *fabric,
                       const struct weft_sim_options *options, struct weft_arena *arena);
// Marks a packet that finds this backlog, if its marking says so; false: it was lost early instead
// (mark.c).
bool packet_mark_or_lose(struct packet_engine *engine, uint32_t link, uint32_t id,
                         uint64_t backlog_ps);
bool packet_ramp(const struct packet_engine *engine, uint32_t link, const struct packet *packet,
                 double backlog_bytes);
// A packet is the last to wait in a line; it has left it (marks at departure).
void packet_line_join(struct packet_engine *engine, uint32_t line, uint32_t id);
void packet_line_leave(struct packet_engine *engine, uint32_t id);
// A packet is at the far end of a link, which may have lost it (loss_ratio); then it is dropped.
bool packet_corrupts(struct packet_engine *engine, uint32_t id);
// What chance has for a packet at a link, in [0, 1).
double packet_chance(const struct packet_engine *engine, uint32_t link,
                     const struct packet *packet);

// ---- queues by priority (queue.c) ----

void packet_queue_enter(struct packet_engine *engine, uint32_t id);
void packet_queue_event(struct packet_engine *engine, uint32_t event);
// The best packet that may leave does, if the port is free.
void packet_queue_serve(struct packet_engine *engine, uint32_t link);
// How long what a port holds takes to leave: what waits, and what is being sent.
static inline uint64_t packet_port_backlog_ps(const struct packet_port *port, uint64_t now_ps)
{
    return port->waiting_ps + (port->busy_ps > now_ps ? port->busy_ps - now_ps : 0);
}
// Whether a packet that has just entered waits there.
bool packet_queue_keeps(const struct packet_engine *engine, uint32_t link, uint32_t id);

// ---- queues by what messages have left (remaining.c) ----

// The packet of a band, which is not empty, that goes next.
uint32_t packet_remaining_next(const struct packet_engine *engine, const struct packet_band *band);
// The packet of data to lose for another's sake: the one with the most left, of equal ones the one
// that came last. WEFT_NONE: none has more left than `packet`, or all that wait are a host's own,
// which wait without limit.
uint32_t packet_remaining_worst(const struct packet_engine *engine, const struct packet_band *band,
                                const struct packet *packet);

// ---- pauses (pause.c) ----

// False if what came by the link `from` is above the headroom.
bool packet_hold_bytes(struct packet_engine *engine, uint32_t from, uint32_t band, uint32_t bytes);
void packet_release_bytes(struct packet_engine *engine, uint32_t from, uint32_t band,
                          uint32_t bytes);
void packet_pause_event(struct packet_engine *engine, uint32_t link, uint32_t code);
// Looks for ports that wait for each other in a circle; the engine is stuck if there are any.
void packet_pause_check(struct packet_engine *engine);

#endif
