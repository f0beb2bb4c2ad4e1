// SPDX-License-Identifier: Apache-2.0
// Paths as those see them who send on them: the links that may hold a flow back, which the hose
// model tells (weft_fabric_hose), and the delay behind its last byte. All other links of a tree of
// switches can be left out. O(hops) a path.

#include "fold.h"

#include <string.h>

bool hybrid_paths_init(struct hybrid_paths *paths, const struct weft_network *network,
                       struct weft_arena *arena, struct weft_arena scratch)
{
    *paths = (struct hybrid_paths){.network = network};
    paths->links = WEFT_NEW_RAW(arena, uint32_t, network->routes.hop_max + 1);
    return network->rings.ring_count == 0 &&
           weft_fabric_hose(&paths->hose, &network->fabric, arena, scratch);
}

struct hybrid_path hybrid_path_find(struct hybrid_paths *paths, uint32_t from, uint32_t to)
{
    const struct weft_network *network = paths->network;
    struct hybrid_path path = {.rising = paths->links};
    if (from == to) {
        return path;
    }
    if (weft_routes_path_count(&network->routes, from, to) != 1) {
        paths->failed = true;
        return path;
    }
    uint32_t hops = weft_routes_path(&network->routes, from, to, 0, paths->links, NULL);
    path.delay = weft_fabric_path_delay(&network->fabric, paths->links, hops);
    uint32_t kept = 0;
    bool falls = false;
    for (uint32_t i = 0; i < hops; i++) {
        uint32_t link = paths->links[i];
        bool rises = paths->hose.rises[link];
        paths->failed |= rises && falls;
        falls |= !rises;
        if (paths->hose.binds[link]) {
            paths->links[kept++] = link;
            path.rising_count += rises ? 1 : 0;
            path.falling_count += rises ? 0 : 1;
        }
    }
    path.falling = paths->links + path.rising_count;
    return path;
}

static uint64_t add_number(uint64_t hash, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return weft_hash(hash ^ weft_hash(bits));
}

uint64_t hybrid_path_label(const struct hybrid_paths *paths, const struct hybrid_path *path,
                           bool delayed)
{
    const struct weft_link *links = paths->network->fabric.links;
    uint64_t label = weft_hash(path->rising_count);
    for (uint32_t i = 0; i < path->rising_count + path->falling_count; i++) {
        label = add_number(label, links[path->rising[i]].rate_Bps);
    }
    if (delayed) {
        label = add_number(label, path->delay.propagation_ps);
        label = add_number(label, path->delay.store_ps_per_byte);
    }
    return label;
}
