// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_ROUTING_MINMAX_H
#define WEFT_ROUTING_MINMAX_H

// The state of one min-max routing: loads, link prices, and the paths that every pair has so
// far.
//
// minmax.c moves bytes and minmax_price.c prices links, searches paths by price and proves
// bounds from prices.

#include "internal.h"

// A pair with demand. Its paths are slots slot_first .. +path_count-1.
struct pair {
    uint32_t from;
    uint32_t to;
    double bytes;
    uint32_t hops_max;
    uint32_t path_count;
};

struct slot {
    uint32_t *links;
    uint32_t count; // links
    uint32_t room;  // of `links`
    double bytes;
};

struct minmax {
    const struct weft_fabric *fabric;
    uint32_t pair_count;
    struct pair *pairs;   // by from, then to
    uint32_t *pair_first; // per server + 1
    uint32_t slots_a_pair;
    struct slot *slots;
    double *load_bytes; // with the base
    double *base_bytes;
    double *inverse_rate; // seconds a byte
    double *length;       // of each link: the price of one byte on it
    double alpha;         // steepness: length = exp(alpha (load / scale - 1)) / rate
    double scale_s;
    uint32_t *stamp; // per link
    uint32_t stamp_now;
    struct weft_arena *pool; // path links grow here
};

// The price of a link at its load now.
void minmax_price(struct minmax *m, uint32_t link);
// Reprices all links around the largest load there is now, which is returned (seconds).
double minmax_reprice(struct minmax *m, double alpha);
double minmax_max_seconds(const struct minmax *m);

// Prices of shortest paths from one source that keep within a number of hops (Bellman-Ford, one
// layer a hop).
struct layers {
    uint32_t layer_count;
    double *price;   // layer * node_count + v: cheapest walk of at most `layer` hops
    uint32_t *via;   // its last link, WEFT_NONE where the layer before was as cheap
    uint32_t *tails; // per link
    uint32_t *active;
    uint32_t *next_active;
    uint32_t *mark; // per node: layer + 1 in which it joined next_active
};
void layers_init(struct layers *layers, const struct weft_fabric *fabric, uint32_t hops_max,
                 struct weft_arena *arena);
// Searches as far as the pairs of `source` may go.
void layers_search(struct layers *layers, const struct minmax *m, uint32_t source);
// Writes the links of the cheapest path to `target` in at most hops_max hops. Returns their number.
uint32_t layers_path(const struct layers *layers, const struct minmax *m, uint32_t target,
                     uint32_t hops_max, uint32_t *links);

// No routing, whatever its paths, has a smaller largest load than this: any prices give a bound
// (LP duality), here those of now. O(servers * m log n).
double minmax_price_bound(const struct minmax *m, const struct weft_graph *graph,
                          struct weft_arena scratch);
// The same for routings that keep every pair within its hops.
double minmax_hop_bound(const struct minmax *m, struct layers *layers);
// The same for all routings, from what must leave and enter each server.
double minmax_port_bound(const struct minmax *m, struct weft_arena scratch);

#endif
