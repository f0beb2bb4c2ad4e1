// SPDX-License-Identifier: Apache-2.0
// Progressive filling of all links at once (Bertsekas and Gallager, Data Networks, 6.5.2).

#include "maxmin.h"

#include <math.h>

#define RISING (-1.0) // the rate of a class that no full link holds yet
#define SOME 0.5      // what rises weighs at least 1; less is what rounding left

// Every class rises; the queue is emptied.
static void begin(struct weft_maxmin *maxmin)
{
    maxmin->queue.count = 0;
    for (uint32_t id = 0; id < maxmin->link_count; id++) {
        struct weft_maxmin_link *link = &maxmin->links[id];
        link->queue_place = WEFT_NONE;
        link->level_Bps = link->capacity_Bps;
        link->load_Bps = 0;
        link->per_held = 1;
        maxmin->room_Bps[id] = link->capacity_Bps;
        maxmin->rising[id] = 0;
        for (uint32_t i = 0; i < link->member_count; i++) {
            uint32_t class_id = link->members[i].class_id;
            struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, class_id);
            maxmin->rising[id] += class->weight;
            if (class->rate_Bps >= 0) {
                weft_maxmin_touch(maxmin, class_id, class->rate_Bps);
                class->rate_Bps = RISING;
            }
        }
    }
}

// The link that fills first, WEFT_NONE when nothing rises any more.
static uint32_t first_to_fill(const struct weft_maxmin *maxmin)
{
    uint32_t first = WEFT_NONE;
    double least_Bps = (double)INFINITY;
    for (uint32_t id = 0; id < maxmin->link_count; id++) {
        if (maxmin->rising[id] > SOME) {
            double share_Bps = maxmin->room_Bps[id] / maxmin->rising[id];
            first = share_Bps < least_Bps ? id : first;
            least_Bps = share_Bps < least_Bps ? share_Bps : least_Bps;
        }
    }
    return first;
}

// The members that still rise on a full link stop at `level`.
static void stop_members(struct weft_maxmin *maxmin, uint32_t id, double level_Bps)
{
    struct weft_maxmin_link *link = &maxmin->links[id];
    double held = maxmin->rising[id];
    for (uint32_t i = 0; i < link->member_count; i++) {
        struct weft_maxmin_class *class = weft_maxmin_class_at(maxmin, link->members[i].class_id);
        if (class->rate_Bps >= 0) {
            continue;
        }
        class->rate_Bps = level_Bps;
        class->bottleneck = id;
        for (uint32_t hop = 0; hop < class->hop_count; hop++) {
            uint32_t other = class->path[hop];
            double room_Bps = maxmin->room_Bps[other] - level_Bps * class->weight;
            maxmin->room_Bps[other] = room_Bps > 0 ? room_Bps : 0;
            maxmin->rising[other] -= class->weight;
            maxmin->links[other].load_Bps += level_Bps * class->weight;
        }
    }
    link->level_Bps = level_Bps;
    link->per_held = 1 / held;
}

void weft_maxmin_refill(struct weft_maxmin *maxmin)
{
    maxmin->refill_count++;
    begin(maxmin);
    for (uint32_t id; (id = first_to_fill(maxmin)) != WEFT_NONE;) {
        maxmin->work_count += maxmin->link_count / 4 + 2 * maxmin->links[id].member_count;
        double level_Bps = maxmin->room_Bps[id] / maxmin->rising[id];
        // Room that rounding has eaten up leaves crumbs rather than nothing.
        double crumb_Bps = maxmin->links[id].capacity_Bps * WEFT_MAXMIN_SAME;
        stop_members(maxmin, id, level_Bps > crumb_Bps ? level_Bps : crumb_Bps);
    }
    for (uint32_t id = 0; id < maxmin->link_count; id++) {
        struct weft_maxmin_link *link = &maxmin->links[id];
        link->calm_Bps = weft_maxmin_calm_load(link->capacity_Bps, link->level_Bps);
    }
}
