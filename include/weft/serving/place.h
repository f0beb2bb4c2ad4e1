// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SERVING_PLACE_H
#define WEFT_SERVING_PLACE_H

// Inference appliances on a fabric: which kinds, how many and where, at least cost.
//
//   appliances + demands + latencies of the network ──► [place] ──► kinds by place, shares, a bound

#include "weft/serving.h"

WEFT_API_BEGIN

// An appliance takes one place: a free port of the fabric.
struct weft_serving_appliance {
    const char *name;
    double usd, watts;
    double rate[WEFT_SERVING_NETS];        // requests a second, if it does nothing else; 0 = cannot
    double isolated_ns[WEFT_SERVING_NETS]; // one alone
};
struct weft_serving_demand {
    const char *name; // for messages
    uint32_t net;
    double requests_per_s;
    double objective_ns; // of a request, from its server and back
};
#define WEFT_SERVING_KINDS_MAX 32u
#define WEFT_SERVING_PLACES_MAX 1024u
#define WEFT_SERVING_DEMANDS_MAX 256u
struct weft_serving_place_problem {
    uint32_t kind_count;
    const struct weft_serving_appliance *kinds;
    uint32_t demand_count;
    const struct weft_serving_demand *demands;
    uint32_t place_count;
    const double *network_ns; // [demand * place_count + place]: there and back
    double rho_max;           // of an appliance, above 0 and below 1
};
struct weft_serving_placement {
    const uint32_t *kinds;      // per place; WEFT_NONE = free
    const double *shares;       // [demand * place_count + place]: of the demand's requests
    const double *rhos;         // per place
    const double *latencies_ns; // per demand: where its requests take longest
    double usd, watts;
    double bound_usd; // proved: no placement costs less
    bool proved;      // this one costs no more than any other
    uint64_t nodes;   // of the search
};
// The latency of a request behind others: T = isolated - work + work / (1 - rho), processor sharing
// with Poisson arrivals, work = 1 / rate.
double weft_serving_shared_ns(const struct weft_serving_appliance *kind, uint32_t net, double rho);
// Least dollars, and of equal dollars least watts. A demand may be divided among appliances; one
// may take it where the network and weft_serving_shared_ns at rho_max are within the objective.
// Places that may take the same are one class, and counts of kinds by class are found by branch and
// bound over linear programs (Land and Doig, 1960; CLP), exact unless it ends at 20,000 nodes.
// Fails with INFEASIBLE, naming the demand that no appliance serves in time and what comes nearest,
// or that places do not suffice.
bool weft_serving_place(struct weft_serving_placement *placement,
                        const struct weft_serving_place_problem *problem, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
