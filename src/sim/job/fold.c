// SPDX-License-Identifier: Apache-2.0
// Hops of rings that must end together are played once: on a fabric whose ports were given to the
// rings, a round of a ring over 512 servers is one message instead of 512.
//
// The hops of a ring begin together, with as many bytes each. Color refinement (the coarsest
// equitable partition, as of lists of flows in flows_fold.c) tells them apart: a hop by its ring
// and the colors of its links, a link by its rate, its latency and the colors of the hops on it.
// Hops that share links, with each other or through others, form a component; where a transfer or a
// ring without links of its own may come by, all of it is played. At any time all hops of a color
// flow or none does, and links of a color carry as many of each color, so that by induction over
// the events their max-min rates, which are unique, and their ends are equal. A component shares no
// link with another one: those that show every color are played, each as in the whole network, the
// others left out (weft_ring_fold). docs/flow-engine.md, "Rings on links of their own".
// O(rounds * (links of hops) + hops log hops + transfers).

#include "executor.h"

#include "weft/base/sets.h"

#include <stdlib.h>
#include <string.h>

// On fewer servers all hops are played: they cost little, and the counts of events by which
// searches measure effort stay what they were.
#define SERVERS_MIN 129u
// A ring whose hops differ one by one takes as many rounds as it has hops; then nothing is gained.
#define ROUNDS_MAX 64u

struct hop {
    uint32_t ring;
    uint32_t index; // in its ring
    uint64_t color;
};

struct folding {
    const struct weft_fabric *fabric;
    const struct weft_sim_job *job;
    struct hop *hops; // of rings with links of their own
    uint32_t hop_count;
    struct weft_sets components; // of hops
    uint32_t *holder;            // per link: some hop on it, or WEFT_NONE
    bool *shared;                // per link: something else may come by
    uint64_t *link_color;        // per link
    uint64_t *link_sum;
    bool *plays; // per hop that is a root: its component
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    return weft_hash(a ^ weft_hash(b + 0x9e3779b97f4a7c15u));
}

// Rings that bind their hops to links, and are whole.
static bool has_links(const struct weft_ring *ring)
{
    return ring->hop_first != NULL && ring->fold == NULL && ring->member_count > 1;
}

static const uint32_t *hop_links(const struct folding *own, const struct hop *hop, uint32_t *count)
{
    const struct weft_ring *ring = &own->job->rings.rings[hop->ring];
    *count = ring->hop_first[hop->index + 1] - ring->hop_first[hop->index];
    return ring->hop_links + ring->hop_first[hop->index];
}

// ---- who else comes by ----

static void share_route(struct folding *own, const struct weft_routes *routes, uint32_t from,
                        uint32_t to, uint32_t *links)
{
    uint32_t count = from == to ? 0 : weft_routes_path_count(routes, from, to);
    for (uint32_t p = 0; p < count; p++) {
        uint32_t hops = weft_routes_path(routes, from, to, p, links, NULL);
        for (uint32_t i = 0; i < hops; i++) {
            own->shared[links[i]] = true;
        }
    }
}

static void share_ring(struct folding *own, const struct weft_routes *routes,
                       const struct weft_ring *ring, uint32_t *links)
{
    for (uint32_t i = 0; i < ring->member_count; i++) {
        if (ring->hop_first == NULL) {
            share_route(own, routes, executor_server(own->job, ring->members[i]),
                        executor_server(own->job, ring->members[(i + 1) % ring->member_count]),
                        links);
        }
    }
    uint32_t bound = ring->hop_first == NULL ? 0 : ring->hop_first[ring->member_count];
    for (uint32_t l = 0; l < bound; l++) {
        own->shared[ring->hop_links[l]] = true;
    }
}

// Marks the links of all that is no hop with links of its own: transfers, folded rings, and rings
// by the routes of their pairs, those of groups without a ring among them.
static void find_shared(struct folding *own, const struct weft_routes *routes,
                        struct weft_arena scratch)
{
    const struct weft_taskgraph *graph = own->job->graph;
    size_t n = graph->server_count;
    uint32_t *links = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)routes->hop_max + 1);
    bool *seen = WEFT_NEW(&scratch, bool, n *n);
    for (uint32_t task = 0; task < graph->task_count; task++) {
        size_t pair =
            graph->kind[task] == WEFT_TASK_TRANSFER ? graph->from[task] * n + graph->to[task] : 0;
        if (graph->kind[task] == WEFT_TASK_TRANSFER && !seen[pair]) {
            seen[pair] = true;
            share_route(own, routes, executor_server(own->job, graph->from[task]),
                        executor_server(own->job, graph->to[task]), links);
        }
    }
    bool *has_ring = WEFT_NEW(&scratch, bool, (size_t)graph->group_count + 1);
    for (uint32_t r = 0; r < own->job->rings.ring_count; r++) {
        const struct weft_ring *ring = &own->job->rings.rings[r];
        has_ring[ring->group] = true;
        if (!has_links(ring)) {
            share_ring(own, routes, ring, links);
        }
    }
    for (uint32_t g = 0; g < graph->group_count; g++) {
        uint32_t first = graph->group_first[g];
        const struct weft_ring plain = {.member_count = graph->group_first[g + 1] - first,
                                        .members = &graph->group_members[first]};
        if (!has_ring[g]) {
            share_ring(own, routes, &plain, links);
        }
    }
}

// ---- components ----

static void list_hops(struct folding *own, struct weft_arena *arena)
{
    const struct weft_ring_set *rings = &own->job->rings;
    uint32_t links = own->fabric->link_count;
    size_t room = 1;
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        room += has_links(&rings->rings[r]) ? rings->rings[r].member_count : 0;
    }
    own->hops = WEFT_NEW_RAW(arena, struct hop, room);
    own->plays = WEFT_NEW(arena, bool, room);
    own->holder = WEFT_NEW_RAW(arena, uint32_t, (size_t)links + 1);
    own->shared = WEFT_NEW(arena, bool, (size_t)links + 1);
    own->link_color = WEFT_NEW(arena, uint64_t, (size_t)links + 1);
    own->link_sum = WEFT_NEW(arena, uint64_t, (size_t)links + 1);
    memset(own->holder, 0xff, links * sizeof *own->holder); // WEFT_NONE
    for (uint32_t r = 0; r < rings->ring_count; r++) {
        uint32_t count = has_links(&rings->rings[r]) ? rings->rings[r].member_count : 0;
        for (uint32_t i = 0; i < count; i++, own->hop_count++) {
            own->hops[own->hop_count] = (struct hop){r, i, 0};
        }
    }
    own->components = weft_sets_build(own->hop_count, arena);
    for (uint32_t h = 0; h < own->hop_count; h++) {
        uint32_t count;
        const uint32_t *on = hop_links(own, &own->hops[h], &count);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t *holder = &own->holder[on[i]];
            *holder = *holder == WEFT_NONE ? h : *holder;
            weft_sets_join(&own->components, *holder, h);
        }
    }
}

// ---- colors ----

static int compare_colors(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// The colors in ascending order, without repeats, into `colors`. Returns their number.
static uint32_t list_colors(uint64_t *colors, const struct folding *own)
{
    for (uint32_t h = 0; h < own->hop_count; h++) {
        colors[h] = own->hops[h].color;
    }
    qsort(colors, own->hop_count, sizeof *colors, compare_colors);
    uint32_t count = 0;
    for (uint32_t h = 0; h < own->hop_count; h++) {
        if (count == 0 || colors[h] != colors[count - 1]) {
            colors[count++] = colors[h];
        }
    }
    return count;
}

static void begin_colors(struct folding *own)
{
    for (uint32_t h = 0; h < own->hop_count; h++) {
        uint32_t count;
        hop_links(own, &own->hops[h], &count);
        own->hops[h].color = mix(own->hops[h].ring, count);
    }
    for (uint32_t l = 0; l < own->fabric->link_count; l++) {
        uint64_t rate;
        memcpy(&rate, &own->fabric->links[l].rate_Bps, sizeof rate);
        own->link_color[l] = mix(rate, own->fabric->links[l].latency_ps);
    }
}

static void play_round(struct folding *own)
{
    memset(own->link_sum, 0, own->fabric->link_count * sizeof *own->link_sum);
    for (uint32_t h = 0; h < own->hop_count; h++) {
        uint32_t count;
        const uint32_t *on = hop_links(own, &own->hops[h], &count);
        for (uint32_t i = 0; i < count; i++) {
            own->link_sum[on[i]] += weft_hash(own->hops[h].color);
        }
    }
    for (uint32_t l = 0; l < own->fabric->link_count; l++) {
        own->link_color[l] = mix(own->link_color[l], own->link_sum[l]);
    }
    for (uint32_t h = 0; h < own->hop_count; h++) {
        uint32_t count;
        uint64_t sum = 0;
        const uint32_t *on = hop_links(own, &own->hops[h], &count);
        for (uint32_t i = 0; i < count; i++) {
            sum += weft_hash(own->link_color[on[i]]);
        }
        own->hops[h].color = mix(own->hops[h].color, sum);
    }
}

// Chooses the components that are played. False where the colors do not settle.
static bool choose(struct folding *own, struct weft_arena scratch)
{
    uint64_t *colors = WEFT_NEW_RAW(&scratch, uint64_t, (size_t)own->hop_count + 1);
    begin_colors(own);
    uint32_t count = list_colors(colors, own);
    uint32_t before = 0;
    for (uint32_t round = 0; count != before; round++) {
        if (round == ROUNDS_MAX) {
            return false;
        }
        before = count;
        play_round(own);
        count = list_colors(colors, own);
    }
    for (uint32_t h = 0; h < own->hop_count; h++) {
        uint32_t links;
        const uint32_t *on = hop_links(own, &own->hops[h], &links);
        for (uint32_t i = 0; i < links; i++) {
            own->plays[weft_sets_find(&own->components, h)] |= own->shared[on[i]];
        }
    }
    // A component is taken as a whole; what it shows counts from its first hop on.
    bool *seen = WEFT_NEW(&scratch, bool, (size_t)count + 1);
    for (uint32_t h = 0; h < own->hop_count; h++) {
        const uint64_t *at =
            bsearch(&own->hops[h].color, colors, count, sizeof *colors, compare_colors);
        own->plays[weft_sets_find(&own->components, h)] |= !seen[at - colors];
        seen[at - colors] = true;
    }
    return true;
}

// ---- folded rings ----

// The ring of the hops that are played; those of this ring begin at hops[first].
static void fold_ring(struct weft_ring *ring, struct folding *own, uint32_t first,
                      struct weft_arena *arena)
{
    struct weft_ring whole = *ring;
    uint32_t n = whole.member_count;
    uint32_t links = whole.hop_first[n];
    uint32_t *members = WEFT_NEW_RAW(arena, uint32_t, n);
    uint32_t *hop_first = WEFT_NEW(arena, uint32_t, (size_t)n + 1);
    uint32_t *played = WEFT_NEW_RAW(arena, uint32_t, (size_t)links + 1);
    uint32_t *hidden = WEFT_NEW_RAW(arena, uint32_t, (size_t)links + 1);
    struct weft_ring_fold *fold = WEFT_NEW(arena, struct weft_ring_fold, 1);
    uint32_t count = 0;
    uint32_t hidden_count = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t on_count;
        const uint32_t *on = hop_links(own, &own->hops[first + i], &on_count);
        if (!own->plays[weft_sets_find(&own->components, first + i)]) {
            memcpy(hidden + hidden_count, on, on_count * sizeof *on);
            hidden_count += on_count;
            continue;
        }
        members[count] = whole.members[i];
        memcpy(played + hop_first[count], on, on_count * sizeof *on);
        hop_first[count + 1] = hop_first[count] + on_count;
        count++;
    }
    if (count == n) {
        return;
    }
    *fold = (struct weft_ring_fold){.member_count = n,
                                    .hidden_hop_count = n - count,
                                    .hidden_count = hidden_count,
                                    .hidden_links = hidden};
    *ring = (struct weft_ring){.group = whole.group,
                               .member_count = count,
                               .members = members,
                               .share_ratio = whole.share_ratio,
                               .hop_first = hop_first,
                               .hop_links = played,
                               .fold = fold};
}

static bool may_fold(const struct weft_network *network, const struct weft_sim_job *job,
                     const struct weft_sim_options *options)
{
    bool some = false;
    for (uint32_t r = 0; r < job->rings.ring_count && !some; r++) {
        some = has_links(&job->rings.rings[r]);
    }
    return some && network->fabric.server_count >= SERVERS_MIN && !options->unfolded &&
           options->engine == WEFT_ENGINE_FLOW && options->circuits == NULL &&
           options->records.sample_ps == 0 && !options->fluid.learns;
}

bool executor_fold(struct weft_ring_set *folded, const struct weft_network *network,
                   const struct weft_sim_job *job, const struct weft_sim_options *options,
                   struct weft_arena *arena, struct weft_arena scratch)
{
    if (!may_fold(network, job, options)) {
        return false;
    }
    struct weft_arena kept = weft_arena_split(&scratch);
    struct folding own = {.fabric = &network->fabric, .job = job};
    list_hops(&own, &kept);
    find_shared(&own, &network->routes, scratch);
    if (!choose(&own, scratch)) {
        return false;
    }
    uint32_t ring_count = job->rings.ring_count;
    struct weft_ring *rings = WEFT_NEW_RAW(arena, struct weft_ring, (size_t)ring_count + 1);
    uint32_t first = 0;
    bool some = false;
    for (uint32_t r = 0; r < ring_count; r++) {
        rings[r] = job->rings.rings[r];
        if (has_links(&rings[r])) {
            uint32_t count = rings[r].member_count;
            fold_ring(&rings[r], &own, first, arena);
            some = some || rings[r].fold != NULL;
            first += count;
        }
    }
    *folded = (struct weft_ring_set){ring_count, rings};
    return some;
}
