// SPDX-License-Identifier: Apache-2.0
// Flows that must have equal rates for good are played as one: all-to-all on a fabric of equal
// servers is a handful of flows then, however many pairs there are.
//
// Which flows those are says an equitable partition, found by color refinement (Weisfeiler and
// Leman; Paige and Tarjan, "Three partition refinement algorithms", SIAM J. Comput. 1987, have the
// relational form). Flows begin in the color of their size, start and share of their pair, links in
// that of their rate and latency. A flow's next color is its own and the multiset of its links'
// colors, a link's is its own and the multiset of its flows', until no link is told from another
// any more. Progressive filling then treats flows of a color alike at every step: links of a color
// have equal rooms and equal numbers of rising flows of each color, so they fill at once and stop
// whole colors. Max-min rates are unique, so they are those of the flows played one by one; and
// as flows of a color end together, what is left is equitable again.
//
// With one flow of the weight of its whole color, and the links of a color joined to one of the
// sum of their rates, the level of a link stays what it was: the solver of maxmin.h plays the
// quotient as it is. A path that crosses several links of a color crosses the joined one as often.
//
// A color is a 64-bit hash of what it stands for, a multiset the sum of its members' hashes, so two
// different colors of n are taken for one with a chance below n^2 / 2^64. Flows themselves keep no
// color: theirs follows from where they began and from their links' colors. O(parts * hops) a
// round, two to four rounds where there is symmetry; where there is none, it shows after two.

#include "flows.h"

#include <string.h>

#define ROUNDS_MAX 16u // a partition that takes longer has too many classes to be worth it
#define SAMPLE 4096u   // flows whose beginnings say whether a list is worth a look
#define POLL_MASK 0xffffu
#define SLOTS 256u // of a table of colors at first

// One in this many is what flows have to come down to.
#define GAIN 4u

// A part is a flow on one of the paths that it takes.
struct part {
    uint32_t flow;
    uint32_t path;
    uint64_t begin; // color that it begins in
    double wire_bytes;
    const uint32_t *links;
    uint32_t hop_count;
};

struct refining {
    const struct flows_player *player;
    uint64_t *color; // per link
    uint64_t *sum;   // per link: of its parts' colors
    uint32_t *links; // of one path
};

static uint64_t mix_real(uint64_t hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return weft_hash(hash ^ bits);
}

// What is done with each part, in order of flows. False ends the pass.
typedef bool visit_part(void *context, const struct refining *refining, const struct part *part);

// Walks all parts of flows between two servers. False where a visit says so, or the run is to stop.
static bool walk(const struct refining *refining, visit_part *visit, void *context)
{
    const struct flows_player *player = refining->player;
    const struct weft_flow_list *flows = player->flows;
    const struct weft_simnet *net = &player->net;
    bool pick = net->routes->spread == WEFT_SPREAD_PICK;
    for (uint32_t i = 0; i < flows->count; i++) {
        if ((i & POLL_MASK) == 0) {
            weft_poll();
            if (weft_stopped(net->options->stop)) {
                return false;
            }
        }
        uint32_t from = flows->from[i];
        uint32_t to = flows->to[i];
        if (from == to) {
            continue;
        }
        uint32_t count = weft_routes_path_count(net->routes, from, to);
        uint32_t first = 0;
        if (pick) {
            first = count == 1 ? 0 : weft_routes_pick(net->routes, from, to, flows_hash(player, i));
            count = 1;
        }
        double wire_bytes = weft_simnet_wire_bytes(net, (double)flows->size_bytes[i]);
        uint64_t begin = mix_real(weft_hash(flows->start_ps[i]), wire_bytes);
        struct part part = {.flow = i, .wire_bytes = wire_bytes, .links = refining->links};
        for (part.path = first; part.path < first + count; part.path++) {
            double weight = 1;
            part.hop_count = weft_routes_path(net->routes, from, to, part.path, refining->links,
                                              pick ? NULL : &weight);
            part.begin = pick ? begin : mix_real(begin, weight);
            part.wire_bytes = wire_bytes * weight;
            if (!visit(context, refining, &part)) {
                return false;
            }
        }
    }
    return true;
}

static uint64_t color_of(const struct refining *refining, const struct part *part)
{
    uint64_t sum = 0;
    for (uint32_t hop = 0; hop < part->hop_count; hop++) {
        sum += refining->color[part->links[hop]];
    }
    return weft_hash(part->begin ^ weft_hash(sum));
}

static bool add_color(void *context, const struct refining *refining, const struct part *part)
{
    (void)context;
    uint64_t color = color_of(refining, part);
    for (uint32_t hop = 0; hop < part->hop_count; hop++) {
        refining->sum[part->links[hop]] += color;
    }
    return true;
}

// ---- colors as numbers ----

// Colors by number, in the order in which they were first seen: a hash table with linear probing.
struct numbers {
    uint64_t *colors; // by slot
    uint32_t *number; // by slot, WEFT_NONE = empty
    uint32_t mask;    // slots, a power of two, less one
    uint32_t count;
    struct weft_arena *arena;
};

static struct numbers new_numbers(uint32_t slots, struct weft_arena *arena)
{
    struct numbers numbers = {.mask = slots - 1, .arena = arena};
    numbers.colors = WEFT_NEW_RAW(arena, uint64_t, slots);
    numbers.number = WEFT_NEW_RAW(arena, uint32_t, slots);
    memset(numbers.number, 0xff, slots * sizeof(uint32_t)); // WEFT_NONE
    return numbers;
}

// The slot of a color, or the empty one that it would take.
static uint32_t slot_of(const struct numbers *numbers, uint64_t color)
{
    uint32_t slot = (uint32_t)color & numbers->mask;
    while (numbers->number[slot] != WEFT_NONE && numbers->colors[slot] != color) {
        slot = (slot + 1) & numbers->mask;
    }
    return slot;
}

static void widen(struct numbers *numbers)
{
    struct numbers wide = new_numbers(2 * (numbers->mask + 1), numbers->arena);
    for (uint32_t slot = 0; slot <= numbers->mask; slot++) {
        if (numbers->number[slot] != WEFT_NONE) {
            uint32_t to = slot_of(&wide, numbers->colors[slot]);
            wide.colors[to] = numbers->colors[slot];
            wide.number[to] = numbers->number[slot];
        }
    }
    wide.count = numbers->count;
    *numbers = wide;
}

static uint32_t number_of(struct numbers *numbers, uint64_t color)
{
    uint32_t slot = slot_of(numbers, color);
    if (numbers->number[slot] != WEFT_NONE) {
        return numbers->number[slot];
    }
    if (2 * numbers->count > numbers->mask) {
        widen(numbers);
        slot = slot_of(numbers, color);
    }
    numbers->colors[slot] = color;
    numbers->number[slot] = numbers->count;
    return numbers->count++;
}

// ---- the partition ----

static uint32_t count_colors(const struct refining *refining, uint32_t link_count,
                             struct weft_arena scratch)
{
    struct numbers numbers = new_numbers(SLOTS, &scratch);
    for (uint32_t link = 0; link < link_count; link++) {
        number_of(&numbers, refining->color[link]);
    }
    return numbers.count;
}

// Tells links apart until another round tells no more of them. False where that comes to no end, or
// to nearly every link alone.
static bool refine(struct refining *refining, const struct weft_fabric *fabric,
                   struct weft_arena scratch)
{
    for (uint32_t link = 0; link < fabric->link_count; link++) {
        uint64_t latency = weft_hash(fabric->links[link].latency_ps);
        refining->color[link] = mix_real(latency, fabric->links[link].rate_Bps);
    }
    uint32_t before = count_colors(refining, fabric->link_count, scratch);
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        memset(refining->sum, 0, fabric->link_count * sizeof(uint64_t));
        if (!walk(refining, add_color, NULL)) {
            return false;
        }
        for (uint32_t link = 0; link < fabric->link_count; link++) {
            refining->color[link] =
                weft_hash(weft_hash(refining->color[link]) ^ refining->sum[link]);
        }
        uint32_t count = count_colors(refining, fabric->link_count, scratch);
        if (count == before) {
            return true;
        }
        if (count > fabric->link_count / 2 && count > 64) {
            return false;
        }
        before = count;
    }
    return false;
}

struct gathering {
    struct flows_fold *fold;
    struct numbers numbers;
    uint32_t room; // classes
    uint64_t part;
};

// Puts a part into its class, which it opens where it is the first.
static bool gather(void *context, const struct refining *refining, const struct part *part)
{
    struct gathering *gathering = context;
    struct flows_fold *fold = gathering->fold;
    uint32_t id = number_of(&gathering->numbers, color_of(refining, part));
    if (id >= gathering->room) {
        return false;
    }
    struct flows_class *class = &fold->classes[id];
    if (id == fold->class_count) {
        fold->class_count++;
        *class = (struct flows_class){.flow = part->flow, .path = part->path};
    }
    class->count++;
    fold->class_of[gathering->part++] = id;
    for (uint32_t hop = 0; hop < part->hop_count; hop++) {
        fold->link_bytes[part->links[hop]] += part->wire_bytes;
    }
    return true;
}

// Joins the links of a color.
static void join_links(struct flows_fold *fold, const struct refining *refining,
                       const struct weft_fabric *fabric, struct weft_arena *arena,
                       struct weft_arena scratch)
{
    struct numbers numbers = new_numbers(SLOTS, &scratch);
    fold->joined = WEFT_NEW_RAW(arena, uint32_t, fabric->link_count);
    fold->capacity_Bps = WEFT_NEW(arena, double, fabric->link_count);
    for (uint32_t link = 0; link < fabric->link_count; link++) {
        fold->joined[link] = number_of(&numbers, refining->color[link]);
        fold->capacity_Bps[fold->joined[link]] += fabric->links[link].rate_Bps;
    }
    fold->joined_count = numbers.count;
}

// Whether the list begins as one does that can come down to few classes: by how many different
// sizes and starts are among its first flows.
static bool is_promising(const struct weft_flow_list *flows, struct weft_arena scratch)
{
    uint32_t count = flows->count < SAMPLE ? flows->count : SAMPLE;
    struct numbers numbers = new_numbers(SLOTS, &scratch);
    for (uint32_t i = 0; i < count; i++) {
        number_of(&numbers, weft_hash(flows->size_bytes[i] ^ weft_hash(flows->start_ps[i])));
    }
    return (uint64_t)numbers.count * GAIN <= count;
}

bool flows_fold(struct flows_fold *fold, const struct flows_player *player, uint64_t part_count,
                struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = player->net.fabric;
    const struct weft_sim_options *options = player->net.options;
    if (options->unfolded || options->circuits != NULL || options->records.sample_ps > 0 ||
        !is_promising(player->flows, scratch)) {
        return false;
    }
    struct weft_arena own = weft_arena_split(&scratch);
    struct refining refining = {
        .player = player,
        .color = WEFT_NEW_RAW(&own, uint64_t, fabric->link_count),
        .sum = WEFT_NEW_RAW(&own, uint64_t, fabric->link_count),
        .links = WEFT_NEW_RAW(&own, uint32_t, player->net.routes->hop_max),
    };
    if (!refine(&refining, fabric, scratch)) {
        return false;
    }
    uint32_t room = (uint32_t)(part_count / GAIN);
    *fold = (struct flows_fold){
        .classes = WEFT_NEW_RAW(arena, struct flows_class, room),
        .class_of = WEFT_NEW_RAW(arena, uint32_t, part_count),
        .link_bytes = WEFT_NEW(arena, double, fabric->link_count),
    };
    struct gathering gathering = {fold, new_numbers(SLOTS, &own), room, 0};
    if (!walk(&refining, gather, &gathering)) {
        return false;
    }
    join_links(fold, &refining, fabric, arena, scratch);
    return true;
}
