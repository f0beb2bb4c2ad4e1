// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PLAN_RACK_RACK_H
#define WEFT_PLAN_RACK_RACK_H

// What the files of this chamber share: the rack's tables, what is taken, slices in units, and
// layouts, which are slices on servers with their routes. docs/photonic-rack.md has the methods.
//
//   place ──► contiguous, published, search, migrate ──► router, color ──► state
//
// Sets of servers are words of 64 bits (WEFT_RACK_SERVERS_MAX).

#include "weft/plan/rack.h"

enum { RACK_AUTOMORPHISMS_MAX = 4096, RACK_STABILIZER_MAX = 64, RACK_BLOCK_CLASSES = 32 };
enum { RACK_MOVED_MAX = 3 };   // tenants that move for a request
#define RACK_STEPS_MAX 400000u // of a search; tests/property/test_rack prints their time
#define RACK_FAR 255u          // a distance where there is no path

// ---- the rack as the searches see it ----

struct rack_tables {
    uint32_t server_count;
    uint32_t link_count;
    uint32_t wavelengths;
    const uint32_t *link_a, *link_b;
    const uint32_t *fibers;   // of a link, no more than can ever be lit
    const uint32_t *channels; // fibers * wavelengths
    const uint32_t *link_of;  // server_count^2: the link of a pair, WEFT_NONE = none
    const uint64_t *near;     // of a server: those it has a link to
    uint32_t hops_max;        // of a circuit, by its loss; server_count where any will do
    uint32_t automorphism_count;
    const uint8_t *automorphisms; // server_count each, of servers, links and fibers
};

// Arrays of slices that were released, by powers of two of their bytes.
struct rack_block {
    struct rack_block *next;
};

struct weft_rack_state {
    const struct weft_rack *rack;
    struct rack_tables tables;
    struct weft_arena own;
    struct rack_block *free_blocks[RACK_BLOCK_CLASSES];

    uint32_t *holder; // of a chip: its tenant, WEFT_NONE = none
    bool *is_lost;
    uint32_t *free_chips; // of a server
    uint32_t *load;       // of a link: circuits
    uint32_t *routes;     // of a link
    uint32_t *lit;        // of a link: fibers that carry any
    bool *used;           // channel f * wavelengths + w of link l at channel_first[l]
    uint32_t *channel_first;
    uint32_t *fiber_use; // circuits of fiber f of link l at fiber_first[l]
    uint32_t *fiber_first;
    uint32_t *color_use; // link_count * wavelengths: fibers on which it is taken

    struct weft_rack_slice *slices; // by tenant
    uint32_t *blocks;               // their memory's class
    uint32_t tenant_count;          // highest that was ever given, plus one

    // The published allocator's 50 shortest paths of each pair, once they were asked for.
    struct rack_pair_paths *pair_paths;
};

static inline uint32_t rack_link(const struct rack_tables *tables, uint32_t a, uint32_t b)
{
    return tables->link_of[a * tables->server_count + b];
}
static inline uint64_t rack_bit(uint32_t server)
{
    return 1ull << server;
}
static inline uint32_t rack_first(uint64_t set)
{
    return (uint32_t)__builtin_ctzll(set);
}

// ---- slices in units (shape.c) ----

struct rack_edge {
    uint32_t u, v;     // units
    uint32_t circuits; // chip pairs, times lanes
    uint32_t from, to; // logical chips: one of the pairs
};
struct rack_shape {
    uint32_t sides[3], unit[3], counts[3]; // chips; chips of a unit; units
    uint32_t chip_count, unit_count, unit_chips;
    uint32_t lanes;
    uint32_t edge_count;
    const struct rack_edge *edges;
    const uint32_t *first; // of a unit: its edges are incident[first[u]] ..
    const uint32_t *incident;
    uint32_t circuits_least, circuits_most; // of an edge
};
// The slice in units of that box, which divides its sides.
void rack_shape_build(struct rack_shape *shape, const uint32_t sides[3], const uint32_t unit[3],
                      uint32_t lanes, struct weft_arena *arena);
// The box of `volume` chips that divides the sides with the fewest circuits between units; of
// equals the server's own block in some orientation, then the one that is longest along x.
bool rack_unit_choose(uint32_t unit[3], const uint32_t sides[3], uint32_t volume,
                      const uint32_t block[3]);
uint32_t rack_lanes(const struct weft_rack *rack, const uint32_t sides[3], bool fixed);
// Logical index of a chip of a unit: `place` counts inside the unit, x fastest.
uint32_t rack_shape_chip(const struct rack_shape *shape, uint32_t unit, uint32_t place);
// Automorphisms of the graph of units, with their circuits, that keep unit 0 where it is: rows of
// unit_count, at most RACK_STABILIZER_MAX. The identity is not among them.
uint32_t rack_shape_stabilizer(uint8_t *rows, const struct rack_shape *shape,
                               struct weft_arena scratch);
// Most edges inside any `units` units; at least that.
uint32_t rack_shape_inner(const struct rack_shape *shape, uint32_t units,
                          struct weft_arena scratch);

// ---- layouts ----

struct rack_path {
    uint32_t hops; // 0 = both ends on one server
    uint8_t servers[WEFT_RACK_SERVERS_MAX];
};
struct rack_layout {
    uint8_t *servers;        // of units
    struct rack_path *paths; // of edges
    uint32_t load;           // largest over the links that its paths cross
    uint32_t hops;
    uint32_t pieces;
};
void rack_layout_init(struct rack_layout *layout, const struct rack_shape *shape,
                      struct weft_arena *arena);
void rack_layout_copy(struct rack_layout *to, const struct rack_layout *from,
                      const struct rack_shape *shape);
// load and hops of its paths over what the state has taken.
void rack_layout_measure(struct rack_layout *layout, const struct rack_shape *shape,
                         const struct weft_rack_state *state, struct weft_arena scratch);
// Pieces that are left where `taken[s]` chips of each server go, too.
uint32_t rack_pieces(const struct weft_rack_state *state, const uint32_t *taken);

// ---- effort ----

struct rack_effort {
    uint64_t steps;
    uint64_t limit;
    weft_stop stop;
};
// What is left of the steps.
static inline uint64_t rack_steps_left(const struct rack_effort *effort)
{
    return effort->limit > effort->steps ? effort->limit - effort->steps : 0;
}
// More steps, each some tens of nanoseconds; false when these are too many.
static inline bool rack_step(struct rack_effort *effort, uint32_t steps)
{
    uint64_t before = effort->steps;
    effort->steps += steps;
    bool asks = before >> 12 != effort->steps >> 12;
    return effort->steps < effort->limit && !(asks && weft_stopped(effort->stop));
}

// ---- wavelengths (color.c) ----

struct rack_bundle {
    const struct rack_path *path;
    uint32_t circuits;
};
enum rack_answer { RACK_NONE, RACK_FOUND, RACK_CUT };
// Wavelengths for the circuits of bundles of more than one hop, each the same all along its path:
// colors[i] of the i-th circuit of them, in the order of the bundles. First fit, then a search,
// whose steps count for `effort` unless that is NULL.
enum rack_answer rack_color(uint32_t *colors, const struct weft_rack_state *state,
                            const struct rack_bundle *bundles, uint32_t count,
                            struct rack_effort *effort, struct weft_arena scratch);

// ---- state (state.c) ----

// Memory for a slice's arrays; rack_block_give takes it back.
void *rack_block_take(struct weft_rack_state *state, size_t bytes, uint32_t *class);
void rack_block_give(struct weft_rack_state *state, void *block, uint32_t class);
// One channel, all of a route's, and the chips of a slice: taken or free from now on.
void rack_mark_channel(struct weft_rack_state *state, uint32_t link, uint32_t fiber, uint32_t color,
                       bool taken);
void rack_mark_route(struct weft_rack_state *state, const struct weft_rack_route *route,
                     bool taken);
void rack_mark_chips(struct weft_rack_state *state, const struct weft_rack_slice *slice,
                     bool taken);
// Marks chips and channels of a slice as free or taken, without giving up its arrays.
void rack_lift(struct weft_rack_state *state, const struct weft_rack_slice *slice);
void rack_lay(struct weft_rack_state *state, const struct weft_rack_slice *slice);

// Gives the id of a tenant that was lifted to the slice that was placed anew for it, and its old
// arrays back. Returns how many chips differ.
uint32_t rack_take_over(struct weft_rack_state *state, uint32_t tenant, uint32_t placed);

// ---- slices of layouts (commit.c) ----

// Chips, channels and arrays for a layout, as a new tenant. False: no wavelengths; nothing is
// taken. chips (logical order) may be NULL: the lowest free of each server.
struct rack_draft {
    const struct rack_shape *shape;
    const struct rack_layout *layout;
    const uint32_t *chips;
    bool converts;
};
bool rack_commit(struct weft_rack_slice *slice, struct weft_rack_state *state,
                 const struct rack_draft *draft, struct weft_arena scratch);
// The same of routes that are given as bundles with their ends; `kept` routes keep their channels.
struct rack_route_draft {
    struct rack_path path;
    uint32_t from, to, circuits;
    const struct weft_rack_route *kept; // NULL = a new one
};
bool rack_commit_routes(struct weft_rack_slice *slice, struct weft_rack_state *state,
                        const struct rack_route_draft *routes, uint32_t route_count, bool converts,
                        struct weft_arena scratch);

// ---- routes (router.c) ----

struct rack_demand {
    uint32_t edge; // where its path goes
    uint32_t from, to, circuits;
};
struct rack_router {
    const struct rack_tables *tables;
    uint32_t *left; // channels that are free on each link, as far as they may be used
    uint32_t circuits_least;
    uint32_t hops_max;  // of all routes together
    uint32_t next_hops; // the least total that was refused for hops_max; WEFT_NONE = none was
    bool bounds_hops;   // whether hops_max says anything
    struct rack_effort *effort;
    struct rack_path *paths; // by edge
    // Called with the routes complete: whether they will do (wavelengths); NULL = always.
    enum rack_answer (*accept)(void *context);
    void *context;
};
// Paths for all demands, whose hops and `spent` are together no more than hops_max. `left` is as it
// was on return.
enum rack_answer rack_route(struct rack_router *router, const struct rack_demand *demands,
                            uint32_t count, uint32_t spent, struct weft_arena scratch);

// ---- allocators ----

struct rack_outcome {
    enum weft_rack_reason reason;
    bool proved;
    uint32_t bound_load, bound_hops;
    uint64_t steps;
    bool contiguous;
};
// Bounds that need no search: for a slice in these units, before it is placed.
void rack_root_bounds(struct rack_outcome *outcome, const struct weft_rack_state *state,
                      const struct rack_shape *shape, bool converts, struct weft_arena scratch);
bool rack_contiguous(struct weft_rack_slice *slice, struct weft_rack_state *state,
                     const struct weft_rack_request *request,
                     const struct weft_rack_options *options, struct rack_outcome *outcome,
                     struct weft_arena scratch);
bool rack_published(struct weft_rack_slice *slice, struct weft_rack_state *state,
                    const struct weft_rack_request *request,
                    const struct weft_rack_options *options, struct rack_outcome *outcome,
                    struct weft_arena scratch);
bool rack_exact(struct weft_rack_slice *slice, struct weft_rack_state *state,
                const struct weft_rack_request *request, const struct weft_rack_options *options,
                struct rack_outcome *outcome, struct weft_arena scratch);
// Chips of running tenants move, at most options->migrate_chips, so that the request fits. place
// decides a request without migration.
typedef bool (*rack_placer)(struct weft_rack_slice *slice, struct weft_rack_state *state,
                            const struct weft_rack_request *request,
                            const struct weft_rack_options *options, struct weft_arena scratch);
bool rack_migrate(struct weft_rack_slice *slice, struct weft_rack_state *state,
                  const struct weft_rack_request *request, const struct weft_rack_options *options,
                  rack_placer place, struct weft_arena scratch);

#endif
