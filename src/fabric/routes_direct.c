// SPDX-License-Identifier: Apache-2.0
// Paths of fabrics without switches that are regular: rings and tori go the shorter way round each
// dimension, one after the other; circulants take the jumps of a table, one by one (coin change).
// O(hops) a path.

#include "routes_kinds.h"

// ---- rings and tori ----

// Which way is shorter round a cycle of n, and how many hops it takes. Opposite ends go forward
// from even places and backward from odd ones, so that both ways carry alike.
static bool goes_forward(uint32_t n, uint32_t from, uint32_t to, uint32_t *hops)
{
    uint32_t ahead = to >= from ? to - from : to + n - from;
    bool forward = 2 * ahead < n || (2 * ahead == n && from % 2 == 0);
    *hops = forward ? ahead : n - ahead;
    return forward;
}

uint32_t ring_path(const struct weft_routes *routes, uint32_t from, uint32_t to, uint32_t *links)
{
    const uint32_t *first = routes->fabric->first;
    uint32_t n = routes->fabric->server_count;
    uint32_t hops;
    bool forward = goes_forward(n, from, to, &hops);
    uint32_t v = from;
    for (uint32_t i = 0; i < hops; i++) {
        // Of a server's two links the one to the lower server comes first; the first and the last
        // server join each other. With two servers there is only one link.
        bool inner = v != 0 && v != n - 1;
        bool second = n > 2 && forward == inner;
        links[i] = first[v] + (second ? 1 : 0);
        if (forward) {
            v = v == n - 1 ? 0 : v + 1;
        } else {
            v = v == 0 ? n - 1 : v - 1;
        }
    }
    return hops;
}

uint32_t torus_path(const struct weft_routes *routes, uint32_t from, uint32_t to, uint32_t *links)
{
    uint32_t count = 0;
    uint32_t v = from;
    uint32_t from_rest = from;
    uint32_t to_rest = to;
    for (uint32_t dimension = 0; dimension < 3; dimension++) {
        uint32_t side = routes->shape[dimension];
        uint32_t hops;
        bool forward = goes_forward(side, from_rest % side, to_rest % side, &hops);
        from_rest /= side;
        to_rest /= side;
        for (uint32_t i = 0; i < hops; i++) {
            uint32_t link = routes->table[v * 6 + 2 * dimension + (forward ? 0 : 1)];
            links[count++] = link;
            v = routes->fabric->links[link].to;
        }
    }
    return count;
}

uint32_t circulant_path(const struct weft_routes *routes, uint32_t from, uint32_t to,
                        uint32_t *links)
{
    uint32_t n = routes->fabric->server_count;
    uint32_t left = to >= from ? to - from : to + n - from;
    uint32_t v = from;
    uint32_t count = 0;
    while (left != 0) {
        uint32_t jump = routes->table[left];
        uint32_t next = v + jump < n ? v + jump : v + jump - n;
        links[count] = weft_fabric_find_link(routes->fabric, v, next);
        WEFT_ASSERT(links[count] != WEFT_NONE && count < routes->hop_max);
        count++;
        v = next;
        left = left >= jump ? left - jump : left + n - jump;
    }
    return count;
}

// ---- their lengths ----

uint32_t ring_hops(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t hops;
    goes_forward(routes->fabric->server_count, from, to, &hops);
    return hops;
}

uint32_t torus_hops(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t count = 0;
    for (uint32_t dimension = 0; dimension < 3; dimension++) {
        uint32_t side = routes->shape[dimension];
        uint32_t hops;
        goes_forward(side, from % side, to % side, &hops);
        count += hops;
        from /= side;
        to /= side;
    }
    return count;
}

uint32_t circulant_hops(const struct weft_routes *routes, uint32_t from, uint32_t to)
{
    uint32_t n = routes->fabric->server_count;
    uint32_t left = to >= from ? to - from : to + n - from;
    uint32_t count = 0;
    while (left != 0) {
        uint32_t jump = routes->table[left];
        WEFT_ASSERT(jump != 0 && count < routes->hop_max);
        left = left >= jump ? left - jump : left + n - jump;
        count++;
    }
    return count;
}
