// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_RACK_H
#define WEFT_PLAN_RACK_H

// A rack whose servers sit on photonic interposers: slices of it for tenants, from any free chips.
//
//   rack + requests ──► [rack] ──► chips, routes of light, wavelengths, or why not
//
// Inside a server light joins any chip to any; between servers it takes fibers, and passes through
// servers on its way without touching their chips. A slice is a torus of chips (a ring where one
// side is not 1). It is placed in units, boxes of its chips that stay together on one server; an
// edge between units on different servers is a route, a bundle of circuits, one for each link
// between neighboring chips, which all go over the same servers. A ring of two chips is one link.
// What is known of LIGHTPATH (HotNets 2024) and Morphlux (arXiv 2508.03674) is the model;
// docs/photonic-rack.md has the methods, what is proved, and where they differ from what is
// published.
//
// Counts: a *circuit* takes one wavelength of one fiber on each pair of servers that it crosses,
// both ways. The *load* of a pair is the circuits over it. The *fiber load* is its fibers that
// carry any: the same where a fiber has one wavelength.

#include "weft/base.h"

WEFT_API_BEGIN

#define WEFT_RACK_SERVERS_MAX 64u
#define WEFT_RACK_CHIPS_MAX 1024u      // of a rack
#define WEFT_RACK_FIBERS_MAX 4096u     // of a pair: as good as any number
#define WEFT_RACK_WAVELENGTHS_MAX 256u // of a fiber

// ---- racks ----

// Fibers between two servers, which the interposers of both end.
struct weft_rack_link {
    uint32_t a, b; // servers, a < b; each pair once
    uint32_t fibers;
};

struct weft_rack {
    const char *name;
    uint32_t server_count;
    uint32_t chips_per_server; // chip c sits on server c / chips_per_server
    uint32_t sides[3];         // torus of servers, x fastest; 0 = none, and no contiguous slices
    uint32_t block[3];         // chips of a server, x fastest; their product is chips_per_server
    uint32_t link_count;
    const struct weft_rack_link *links; // any order
    uint32_t wavelengths;               // of a fiber, each way
    uint32_t chip_wavelengths;          // that a chip sends, and receives: its injection
    double wavelength_Bps;
    double hop_db;      // lost on each pair of servers that a circuit crosses
    double budget_db;   // that a circuit may lose; 0 = any
    uint64_t change_ps; // until circuits are programmed: nothing passes over them meanwhile
};

// Whether the numbers fit together: limits, products, ends of links, pairs that stand twice. Fails
// with INPUT naming the field. O(links log links).
bool weft_rack_check(const struct weft_rack *rack, struct weft_arena scratch,
                     struct weft_error *error) WEFT_MUST_USE;

// The links of a torus of servers: `fibers` for each pair of neighbors, the wrap-around of a side
// of two being the same pair. `links` has room for 3 * x * y * z. Returns how many there are.
uint32_t weft_rack_torus_links(struct weft_rack_link *links, const uint32_t sides[3],
                               uint32_t fibers);

// ---- slices ----

struct weft_rack_request {
    const char *name;
    uint32_t sides[3]; // chips of the torus; {n, 1, 1} = a ring of n
    double arrival_s;  // not looked at by placing: for those who play requests over time
    double lifetime_s; // 0 = for ever
};

enum weft_rack_reason {
    WEFT_RACK_PLACED,
    WEFT_RACK_CAPACITY,      // fewer chips are free than the slice has
    WEFT_RACK_FRAGMENTATION, // enough are, but not where the allocator could use them
    WEFT_RACK_FIBERS,        // enough are; between them too little of the fibers is free
    WEFT_RACK_WAVELENGTHS,   // enough are; no wavelength is free all along the routes
    WEFT_RACK_REASON_COUNT,
};
// "placed", "capacity", "fragmentation", "fibres", "wavelengths"
const char *weft_rack_reason_name(enum weft_rack_reason reason);

enum weft_rack_allocator {
    WEFT_RACK_CONTIGUOUS, // the first free sub-torus that is aligned to its size
    WEFT_RACK_PUBLISHED,  // the same, else Morphlux' program: any servers, routes among the 5 least
                          // loaded of the 50 shortest of each pair, least largest load
    WEFT_RACK_EXACT, // any chips: least largest load, then fewest hops, then fewest pieces left
    WEFT_RACK_ALLOCATOR_COUNT,
};
// "contiguous", "published", "exact"
const char *weft_rack_allocator_name(enum weft_rack_allocator allocator);

struct weft_rack_options {
    enum weft_rack_allocator allocator;
    bool given;    // contiguous: sides as the request has them; else in any order, the first first
    bool fixed;    // every link between chips takes one wavelength; else as many as redirection
                   // fills, of a chip's injection divided by twice its rings, rounded up
    bool converts; // servers may change the wavelength of a circuit that passes; else it keeps its
    uint32_t migrate_chips; // of running tenants at most that may move for a request
    bool brief;             // a refusal does not look for the largest slice that would fit
    uint64_t steps_max;     // of a search; 0 = 400,000, within 0.1 s on 16 servers
    weft_stop stop;         // NULL = never; a search that is stopped is one that is cut
};

// A bundle of circuits between two servers.
struct weft_rack_route {
    uint32_t from, to;       // logical chips of the slice: one of the pairs that it joins
    uint32_t circuits;       // >= 1: chip pairs that it joins, times the slice's lanes
    uint32_t hops;           // pairs of servers that it crosses, >= 1
    const uint32_t *servers; // hops + 1: from the server of `from` to that of `to`
    const uint32_t *fibers;  // hops * circuits: circuit c takes fibers[h * circuits + c] on hop h
    const uint32_t *wavelengths; // the same shape; without conversion equal on all hops
};

// What was decided for a request. The arrays belong to the state and hold until the tenant is
// released, replaced or migrates (weft_rack_slice_copy keeps them).
struct weft_rack_slice {
    const char *name;  // the request's
    uint32_t tenant;   // by which the state knows it; WEFT_NONE = refused
    uint32_t sides[3]; // as requested
    uint32_t chip_count;
    const uint32_t *chips; // of the rack, in the order of the slice: x fastest; NULL = refused
    uint32_t unit[3];      // the box of chips that is kept on one server
    uint32_t lanes;        // wavelengths of a link between two chips
    bool contiguous;       // a sub-torus of the rack
    uint32_t route_count;
    const struct weft_rack_route *routes; // edges of the slice that leave a server
    uint32_t hops;                        // of all routes together
    // The largest over the pairs that its routes cross, other tenants' included; 0 without routes.
    uint32_t route_load_max;
    uint32_t load_max;       // circuits
    uint32_t fiber_load_max; // fibers that carry any
    // What is left for others: connected groups of servers that are wholly free, and each server
    // with some of its chips free.
    uint32_t pieces;
    // The certificate: no placement of these units has a lower load_max, nor fewer hops at that
    // load. Where the search was cut (proved = false) these are the bounds that it had shown.
    uint32_t bound_load;
    uint32_t bound_hops;
    bool proved;
    uint64_t steps; // of the search
    // Tenants that moved for it, and their chips that did.
    uint32_t moved_count;
    const uint32_t *moved;
    uint32_t moved_chips;
    enum weft_rack_reason reason;
    uint32_t largest; // refused: chips of the largest slice, of sides that divide those requested,
                      // that would fit now; 0 = none, or not looked for
};

// ---- placing ----

// What is taken of a rack, and the slices that hold it. It lives in the arena of weft_rack_open and
// has memory of its own there: slices that are released leave their arrays to those that come, so
// that a run of any number of requests takes no more than the largest set of slices at one time
// did. One state belongs to one thread.
struct weft_rack_state;

// An empty rack, which must have passed weft_rack_check and outlive the state.
// O(servers^3 + automorphisms of the rack, at most 4096).
struct weft_rack_state *weft_rack_open(const struct weft_rack *rack, struct weft_arena *arena);

// Decides a request. True: `slice` is placed and its chips, fibers and wavelengths are taken.
// False: nothing is taken, slice->reason and slice->largest say why, and `proved` whether the
// search was complete. CONTIGUOUS and the first part of PUBLISHED take O(chips^2). EXACT is a
// branch and bound, exponential at worst and cut after steps_max: the least load for which
// placements and routes exist is sought first, then the fewest hops at that load, then the fewest
// pieces; symmetries of slice and rack are searched once. Deterministic.
bool weft_rack_place(struct weft_rack_slice *slice, struct weft_rack_state *state,
                     const struct weft_rack_request *request,
                     const struct weft_rack_options *options, struct weft_arena scratch);

// Gives back what a tenant holds. Its chips that were lost do not become free. O(its circuits).
void weft_rack_release(struct weft_rack_state *state, uint32_t tenant);

// A chip fails: it is not free from now on, whoever holds it. Light still passes its server.
void weft_rack_lose(struct weft_rack_state *state, uint32_t chip);
// A chip that was lost works again.
void weft_rack_mend(struct weft_rack_state *state, uint32_t chip);

// Puts spares in the place of `lost` chips of a tenant (logical indices, `lost_count` of them,
// ascending), which are marked lost. Chips that a server loses together move together where a
// server has room for them. A spare on the same server is preferred; then the placement with the
// least largest load, then fewest hops, over all servers with free chips and all routes of the
// edges that change; routes between other servers keep their servers, fibers and wavelengths.
// (LUMION, arXiv 2505.23105, step 3.) False: the slice stays as it was, after->reason says why;
// the lost chips stay lost. `proved`: all spares and routes were searched, of one server's chips.
bool weft_rack_replace(struct weft_rack_slice *after, struct weft_rack_state *state,
                       uint32_t tenant, const uint32_t *lost, uint32_t lost_count,
                       const struct weft_rack_options *options, struct weft_arena scratch);

// The slice of a tenant as it is now, after it was replaced or has migrated; NULL = none has it.
const struct weft_rack_slice *weft_rack_tenant(const struct weft_rack_state *state,
                                               uint32_t tenant);
// A slice with arrays of its own.
void weft_rack_slice_copy(struct weft_rack_slice *copy, const struct weft_rack_slice *slice,
                          struct weft_arena *arena);

// ---- what is taken ----

uint32_t weft_rack_free_chips(const struct weft_rack_state *state);
// The tenant of a chip: WEFT_NONE where it is free or lost. `is_lost` may be NULL.
uint32_t weft_rack_holder(const struct weft_rack_state *state, uint32_t chip, bool *is_lost);
// Circuits over a pair of servers that fibers join; their fibers that carry any. O(1).
uint32_t weft_rack_load(const struct weft_rack_state *state, uint32_t a, uint32_t b);
uint32_t weft_rack_fiber_load(const struct weft_rack_state *state, uint32_t a, uint32_t b);

// ---- bandwidth ----

// Chips that pass data round. A chip divides its injection over the rings that it is in.
struct weft_rack_ring {
    uint32_t chip_count;
    const uint32_t *chips; // of the rack
    double desired;        // its share against others'; 0 everywhere = equal shares
};
// The rate of each ring, each way: the least over its chips of injection * share / 2, where share
// is desired / sum of those of the chip's rings. (Morphlux' redirection without its rounding down
// and its limit by a fixed link.) O(chips of all rings).
void weft_rack_redirect(double *rates_Bps, const struct weft_rack *rack,
                        const struct weft_rack_ring *rings, uint32_t ring_count,
                        struct weft_arena scratch);
// The same for the rings along the sides of a slice, each way; 0 where a side is 1. Where `fixed`,
// what the links of a torus that is wired once carry: a sixth of the injection. A ring that leaves
// servers has at most what the slice's lanes carry.
void weft_rack_slice_rates(double rates_Bps[3], const struct weft_rack *rack,
                           const struct weft_rack_slice *slice, bool fixed);

WEFT_API_END

#endif
