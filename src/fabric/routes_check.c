// SPDX-License-Identifier: Apache-2.0
// Asking of routes whether every pair is served, and how far it goes: every path of every pair is
// walked link by link, in whatever form the routes are kept, so that what a formula says of a
// fabric is held against the fabric itself. O(servers^2 * hops * paths a pair).

#include "weft/fabric.h"

#include <math.h>

struct pair_check {
    const struct weft_routes *routes;
    uint32_t *links; // hop_max
    uint64_t *seen;  // node -> stamp of the last path through it
    uint64_t stamp;
};

// What is wrong with one path, or NULL.
static const char *path_fault(struct pair_check *check, uint32_t from, uint32_t to, uint32_t index,
                              double *weight)
{
    const struct weft_routes *routes = check->routes;
    const struct weft_fabric *fabric = routes->fabric;
    uint32_t count = weft_routes_path(routes, from, to, index, check->links, weight);
    check->stamp++;
    uint32_t v = from;
    check->seen[v] = check->stamp;
    if (count > routes->hop_max) {
        return "is longer than the longest";
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t link = check->links[i];
        if (link >= fabric->link_count || fabric->links[link].from != v) {
            return "does not chain link to link";
        }
        v = fabric->links[link].to;
        if (check->seen[v] == check->stamp) {
            return "visits a node twice";
        }
        check->seen[v] = check->stamp;
        if (v < fabric->server_count && v != to && !fabric->forwards) {
            return "passes through a server, and servers do not forward here";
        }
    }
    if (v != to) {
        return "ends elsewhere";
    }
    return *weight > 0 && *weight <= 1 + 1e-9 ? NULL : "has a weight outside 0 to 1";
}

static bool check_pair(struct pair_check *check, uint32_t from, uint32_t to,
                       struct weft_error *error)
{
    uint32_t count = weft_routes_path_count(check->routes, from, to);
    if (count == 0) {
        return weft_fail(error, WEFT_INFEASIBLE, "no route from server %u to server %u", from, to);
    }
    double sum = 0;
    for (uint32_t index = 0; index < count; index++) {
        double weight = 0;
        const char *fault = path_fault(check, from, to, index, &weight);
        if (fault != NULL) {
            return weft_fail(error, WEFT_INFEASIBLE, "route %u from server %u to server %u %s",
                             index, from, to, fault);
        }
        sum += weight;
    }
    if (fabs(sum - 1) > 1e-9) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "the weights of the routes from server %u to server %u add to %.9g, not 1",
                         from, to, sum);
    }
    return true;
}

bool weft_routes_check(const struct weft_routes *routes, struct weft_arena scratch,
                       struct weft_error *error)
{
    uint32_t n = routes->fabric->server_count;
    struct pair_check check = {
        .routes = routes,
        .links = WEFT_NEW(&scratch, uint32_t, (size_t)routes->hop_max + 1),
        .seen = WEFT_NEW(&scratch, uint64_t, routes->fabric->node_count),
    };
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            if (s != t && !check_pair(&check, s, t, error)) {
                return false;
            }
        }
    }
    return true;
}

static double table_weight(const struct weft_routes *routes, uint32_t from, uint32_t to,
                           uint32_t index)
{
    size_t pair = (size_t)from * routes->fabric->server_count + to;
    return routes->path_weight[routes->pair_first[pair] + index];
}

// Weighted mean of the hops of a pair's paths; the longest goes to *longest.
static double pair_hops(const struct weft_routes *routes, uint32_t from, uint32_t to,
                        uint32_t *longest)
{
    // All paths of a pair are equally long, except in a table.
    bool table = routes->kind == WEFT_ROUTES_TABLE;
    uint32_t count = table ? weft_routes_path_count(routes, from, to) : 1;
    double hops = 0;
    for (uint32_t index = 0; index < count; index++) {
        uint32_t length = weft_routes_hop_count(routes, from, to, index);
        double weight = table ? table_weight(routes, from, to, index) : 1;
        hops += weight * length;
        *longest = length > *longest ? length : *longest;
    }
    return hops;
}

void weft_routes_hops(const struct weft_routes *routes, const double *demand, double *mean_hops,
                      uint32_t *hops_max)
{
    uint32_t n = routes->fabric->server_count;
    double sum = 0;
    double weight_sum = 0;
    uint32_t longest = 0;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t t = 0; t < n; t++) {
            double weight = demand == NULL ? 1 : demand[(size_t)s * n + t];
            if (s == t || !(weight > 0) || weft_routes_path_count(routes, s, t) == 0) {
                continue;
            }
            sum += weight * pair_hops(routes, s, t, &longest);
            weight_sum += weight;
        }
    }
    *mean_hops = weight_sum > 0 ? sum / weight_sum : 0;
    *hops_max = longest;
}
