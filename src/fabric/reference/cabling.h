// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FABRIC_REFERENCE_CABLING_H
#define WEFT_FABRIC_REFERENCE_CABLING_H

// What the builders of reference fabrics share: a growing list of cables, each of which becomes two
// links of one width. Room is counted before the first cable is laid, so that a fabric that is too
// large is refused instead of begun. O(cables) in all.

#include "weft/fabric.h"

#define CABLES_MAX (1u << 25) // 2 GiB of links

struct wiring {
    const char *name; // of the fabric
    struct weft_link *links;
    uint32_t count;
    uint32_t capacity; // links, two a cable
    uint64_t latency_ps;
};

static inline uint32_t divide_up(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0 ? 1 : 0);
}

static inline bool wiring_fits(const char *name, uint64_t cable_count, struct weft_error *error)
{
    return cable_count <= CABLES_MAX ||
           weft_fail(error, WEFT_INPUT,
                     "%s: %llu cables exceed %u; use fewer servers or fewer ports a server", name,
                     (unsigned long long)cable_count, CABLES_MAX);
}

static inline struct wiring wiring_start(const char *name, uint64_t cable_count,
                                         uint64_t latency_ps, struct weft_arena *arena)
{
    WEFT_ASSERT(cable_count <= CABLES_MAX);
    uint32_t capacity = (uint32_t)(2 * cable_count);
    return (struct wiring){name, WEFT_NEW_RAW(arena, struct weft_link, capacity), 0, capacity,
                           latency_ps};
}

// Joins two nodes both ways by `width` cables of the given rate each.
static inline void wiring_join(struct wiring *wiring, uint32_t a, uint32_t b, uint32_t width,
                               double cable_rate_Bps)
{
    WEFT_ASSERT(wiring->count + 2 <= wiring->capacity);
    double rate_Bps = width * cable_rate_Bps;
    uint64_t latency_ps = wiring->latency_ps;
    wiring->links[wiring->count++] = (struct weft_link){a, b, rate_Bps, latency_ps, width};
    wiring->links[wiring->count++] = (struct weft_link){b, a, rate_Bps, latency_ps, width};
}

static inline bool wiring_finish(struct weft_fabric *fabric, const struct wiring *wiring,
                                 uint32_t server_count, uint32_t node_count,
                                 struct weft_arena *arena, struct weft_error *error)
{
    return weft_fabric_build(fabric,
                             &(struct weft_fabric_links){wiring->name, server_count, node_count,
                                                         wiring->links, wiring->count},
                             arena, error);
}

// Takes what the host links do not carry off the links of a fabric's servers, which were built for
// ports of `built_Bps` (degree of them where a server has one NIC); those between switches keep
// theirs. Planes of one port get equal shares of it. O(links), where any host link binds.
void reference_limit_ports(struct weft_fabric *fabric, const struct weft_cluster *cluster,
                           double built_Bps, struct weft_arena *arena);

// The options, or all defaults.
static inline struct weft_fabric_options
options_or_default(const struct weft_fabric_options *options)
{
    return options == NULL ? (struct weft_fabric_options){0} : *options;
}

#endif
