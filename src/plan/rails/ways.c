// SPDX-License-Identifier: Apache-2.0
// How circuits may carry an operation, and how long each takes.
//
//   SWITCH      circuits of its own on all ports: rings, every other port the other way round; a
//               pair on the ports of its color
//   SPLIT       the same on half of the ports: pipelines on the upper half, rings of replicas and
//               of experts on the lower one, so that both can stay
//   FORWARD     over circuits that another phase has: gradients of a pipeline round the circle that
//               its activations close, experts round the ring of their replicas; hosts relay
//   ELECTRICAL  ports of packet switches: the ends alone are occupied
//
// Lists of circuits are kept once each, by a hash of what they hold. O(circuits).

#include "rails.h"

#include <string.h>

// ---- lists ----

void rail_lists_init(struct rail_lists *lists, struct rail_program *program, struct weft_arena own)
{
    *lists = (struct rail_lists){.program = program, .arena = own};
    lists->arc_room = 1024;
    lists->arcs = WEFT_NEW_RAW(&lists->arena, struct rail_arc, lists->arc_room);
    lists->list_room = 256;
    lists->first = WEFT_NEW(&lists->arena, uint32_t, lists->list_room + 1);
    lists->slot_count = 1024;
    lists->slots = WEFT_NEW(&lists->arena, uint32_t, lists->slot_count);
    memset(lists->slots, 0xff, lists->slot_count * sizeof *lists->slots);
    lists->draft_room = 256;
    lists->draft = WEFT_NEW_RAW(&lists->arena, struct rail_arc, lists->draft_room);
}

// Twice the room; what was there before stays in the arena, as much again at most.
static struct rail_arc *grown(struct weft_arena *arena, const struct rail_arc *arcs, size_t count,
                              size_t *room)
{
    *room *= 2;
    struct rail_arc *larger = WEFT_NEW_RAW(arena, struct rail_arc, *room);
    memcpy(larger, arcs, count * sizeof *arcs);
    return larger;
}

static void draft(struct rail_lists *lists, uint32_t plane, uint32_t from, uint32_t to)
{
    if (lists->draft_count == lists->draft_room) {
        lists->draft = grown(&lists->arena, lists->draft, lists->draft_count, &lists->draft_room);
    }
    lists->draft[lists->draft_count++] = (struct rail_arc){plane, from, to, 0};
}

static void draft_beside(struct rail_lists *lists, uint32_t plane, uint32_t from, uint32_t to)
{
    draft(lists, plane, from, to);
    lists->draft[lists->draft_count - 1].beside = 1;
}

static uint64_t hash_arcs(const struct rail_arc *arcs, size_t count)
{
    uint64_t hash = count;
    for (size_t a = 0; a < count; a++) {
        hash = weft_hash(hash ^ ((uint64_t)arcs[a].beside << 60 ^ (uint64_t)arcs[a].plane << 52 ^
                                 (uint64_t)arcs[a].from << 26 ^ arcs[a].to));
    }
    return hash;
}

static void rehash(struct rail_lists *lists, uint32_t list_count)
{
    lists->slot_count *= 4;
    lists->slots = WEFT_NEW(&lists->arena, uint32_t, lists->slot_count);
    memset(lists->slots, 0xff, lists->slot_count * sizeof *lists->slots);
    for (uint32_t l = 0; l < list_count; l++) {
        const struct rail_arc *arcs = lists->arcs + lists->first[l];
        uint64_t slot = hash_arcs(arcs, lists->first[l + 1] - lists->first[l]);
        while (lists->slots[slot % lists->slot_count] != WEFT_NONE) {
            slot++;
        }
        lists->slots[slot % lists->slot_count] = l;
    }
}

// The list that holds what was drafted, which is forgotten.
static uint32_t intern(struct rail_lists *lists)
{
    size_t count = lists->draft_count;
    lists->draft_count = 0;
    uint32_t known = lists->program->list_count;
    uint64_t slot = hash_arcs(lists->draft, count);
    for (;; slot++) {
        uint32_t l = lists->slots[slot % lists->slot_count];
        if (l == WEFT_NONE) {
            break;
        }
        if (lists->first[l + 1] - lists->first[l] == count &&
            memcmp(lists->arcs + lists->first[l], lists->draft, count * sizeof *lists->draft) ==
                0) {
            return l;
        }
    }
    while (lists->arc_count + count > lists->arc_room) {
        lists->arcs = grown(&lists->arena, lists->arcs, lists->arc_count, &lists->arc_room);
    }
    if (known == lists->list_room) {
        lists->list_room *= 2;
        uint32_t *larger = WEFT_NEW(&lists->arena, uint32_t, lists->list_room + 1);
        memcpy(larger, lists->first, (known + 1) * sizeof *larger);
        lists->first = larger;
    }
    memcpy(lists->arcs + lists->arc_count, lists->draft, count * sizeof *lists->draft);
    lists->arc_count += count;
    lists->first[known + 1] = (uint32_t)lists->arc_count;
    lists->slots[slot % lists->slot_count] = known;
    lists->program->list_count++;
    if (lists->program->list_count * 2 > lists->slot_count) {
        rehash(lists, lists->program->list_count);
    }
    return known;
}

void rail_lists_finish(struct rail_lists *lists, struct weft_arena *arena)
{
    struct rail_program *program = lists->program;
    uint32_t *first = WEFT_NEW(arena, uint32_t, program->list_count + 1);
    struct rail_arc *arcs = WEFT_NEW_RAW(arena, struct rail_arc, lists->arc_count + 1);
    memcpy(first, lists->first, (program->list_count + 1) * sizeof *first);
    memcpy(arcs, lists->arcs, lists->arc_count * sizeof *arcs);
    program->list_first = first;
    program->arcs = arcs;
}

// ---- rings ----

static double plane_Bps(const struct rail_program *program)
{
    return program->options->rate_Bps / program->plane_count;
}

static uint64_t seconds_of(const struct rail_program *program, double bytes, double planes,
                           uint32_t hops)
{
    return weft_picoseconds(bytes / (plane_Bps(program) * planes)) +
           hops * program->options->latency_ps;
}

// Rings of each place's members over the planes [low, high), every other one the other way round.
static uint32_t ring_list(struct rail_lists *lists, const struct rail_load *load, uint32_t low,
                          uint32_t high)
{
    uint32_t size = load->member_count / load->place_count;
    for (uint32_t plane = low; plane < high; plane++) {
        for (uint32_t i = 0; i < load->member_count; i++) {
            uint32_t group = i / size * size;
            uint32_t next = load->members[group + (i - group + 1) % size];
            bool back = (plane - low) % 2 == 1;
            draft(lists, plane, back ? next : load->members[i], back ? load->members[i] : next);
        }
    }
    return intern(lists);
}

// The planes of SPLIT.
static void half_of(const struct rail_program *program, const struct rail_op *op, uint32_t *low,
                    uint32_t *high)
{
    uint32_t half = program->plane_count / 2;
    bool upper = op->label == RAIL_PP;
    *low = upper ? half : 0;
    *high = upper ? program->plane_count : half;
}

void rail_add_ring(struct rail_lists *lists, struct rail_op *op, const struct rail_load *load)
{
    const struct rail_program *program = lists->program;
    uint32_t planes = program->plane_count;
    uint64_t whole_ps = seconds_of(program, load->bytes, planes, load->hops);
    op->ways[WEFT_RAIL_SWITCH] = (struct rail_way){ring_list(lists, load, 0, planes), whole_ps};
    op->ways[RAIL_ELECTRICAL] = (struct rail_way){ring_list(lists, load, 0, 1), whole_ps};
    if (planes > 1) {
        uint32_t low = 0;
        uint32_t high = 0;
        half_of(program, op, &low, &high);
        op->ways[WEFT_RAIL_SPLIT] =
            (struct rail_way){ring_list(lists, load, low, high),
                              seconds_of(program, load->bytes, high - low, load->hops)};
    }
}

// ---- pairs ----

// The pair on the planes of its color among [low, high), or on all of them where there are more
// colors than planes. Returns how many. Where there are planes for all colors, the circuit back is
// asked for at the same time: the change is one of both stages, whichever sends first.
static uint32_t draft_pair(struct rail_lists *lists, const struct rail_load *load,
                           const struct rail_pairs *pairs, uint32_t low, uint32_t high)
{
    uint32_t from = load->members[0];
    uint32_t to = load->members[1];
    uint32_t color = rail_pairs_color(pairs, from, to);
    uint32_t used = 0;
    for (uint32_t plane = low; plane < high; plane++) {
        if (pairs->color_count > high - low || (plane - low) % pairs->color_count == color) {
            draft(lists, plane, from, to);
            used++;
        }
    }
    color = rail_pairs_color(pairs, to, from);
    for (uint32_t plane = low; plane < high && pairs->color_count <= high - low; plane++) {
        if ((plane - low) % pairs->color_count == color) {
            draft_beside(lists, plane, to, from);
        }
    }
    return used;
}

// The circle of color 0 from one end of the pair to the other, on [low, high). Returns the circuits
// of a plane, 0 = it does not come there.
static uint32_t draft_circle(struct rail_lists *lists, const struct rail_load *load,
                             const struct rail_pairs *pairs, uint32_t low, uint32_t high)
{
    uint32_t hops = 0;
    uint32_t node = load->members[0];
    while (node != load->members[1] && hops < pairs->node_count && pairs->next[node] != WEFT_NONE) {
        for (uint32_t plane = low; plane < high; plane++) {
            draft(lists, plane, node, pairs->next[node]);
        }
        node = pairs->next[node];
        hops++;
    }
    if (node != load->members[1]) {
        lists->draft_count = 0;
        return 0;
    }
    return hops;
}

void rail_add_pair(struct rail_lists *lists, struct rail_op *op, const struct rail_load *load,
                   const struct rail_pairs *pairs)
{
    const struct rail_program *program = lists->program;
    uint32_t planes = program->plane_count;
    uint32_t used = draft_pair(lists, load, pairs, 0, planes);
    op->ways[WEFT_RAIL_SWITCH] =
        (struct rail_way){intern(lists), seconds_of(program, load->bytes, used, 1)};
    draft(lists, 0, load->members[0], load->members[1]);
    op->ways[RAIL_ELECTRICAL] =
        (struct rail_way){intern(lists), seconds_of(program, load->bytes, planes, 1)};
    bool crowded = pairs->color_count > planes;
    uint32_t color = rail_pairs_color(pairs, load->members[0], load->members[1]);
    if (crowded && color > 0) {
        uint32_t hops = draft_circle(lists, load, pairs, 0, planes);
        if (hops > 0) {
            op->ways[WEFT_RAIL_FORWARD] =
                (struct rail_way){intern(lists), seconds_of(program, load->bytes, planes, hops)};
        }
    }
    if (planes < 2) {
        return;
    }
    uint32_t low = 0;
    uint32_t high = 0;
    half_of(program, op, &low, &high);
    uint32_t hops = 1;
    used = high - low;
    if (pairs->color_count > used && color > 0) {
        hops = draft_circle(lists, load, pairs, low, high);
    } else {
        used = draft_pair(lists, load, pairs, low, high);
    }
    if (hops > 0) {
        op->ways[WEFT_RAIL_SPLIT] =
            (struct rail_way){intern(lists), seconds_of(program, load->bytes, used, hops)};
    }
}

// ---- all-to-alls ----

// The busiest circuit of a ring, in bytes a plane, when each pair goes the shorter way round (both,
// where they are as long), or forward where no plane goes back.
static double ring_load(const struct rail_load *load, const uint32_t *ring, uint32_t count,
                        uint32_t planes, struct weft_arena scratch)
{
    double *delta[2] = {WEFT_NEW(&scratch, double, 2 * (size_t)count + 1),
                        WEFT_NEW(&scratch, double, 2 * (size_t)count + 1)};
    uint32_t largest = 0;
    WEFT_ASSERT(count > 0);
    for (uint32_t i = 0; i < count; i++) {
        largest = ring[i] > largest ? ring[i] : largest;
    }
    uint32_t *place = WEFT_NEW(&scratch, uint32_t, (size_t)largest + 1);
    memset(place, 0xff, ((size_t)largest + 1) * sizeof *place);
    for (uint32_t i = 0; i < count; i++) {
        place[ring[i]] = i;
    }
    for (uint32_t p = 0; p < load->pair_count; p++) {
        const struct rail_pair_bytes *pair = &load->pairs[p];
        if (pair->from > largest || place[pair->from] == WEFT_NONE) {
            continue; // of another place
        }
        uint32_t at = place[pair->from];
        uint32_t to = place[pair->to];
        uint32_t ahead = (to + count - at) % count;
        double share = planes < 2 || 2 * ahead < count ? 1 : 2 * ahead == count ? 0.5 : 0;
        delta[0][at] += share * pair->bytes;
        delta[0][at + ahead] -= share * pair->bytes;
        delta[1][to] += (1 - share) * pair->bytes; // segments that are gone through backward
        delta[1][to + count - ahead] -= (1 - share) * pair->bytes;
    }
    double most = 0;
    for (uint32_t way = 0; way < 2; way++) {
        double ways = way == 0 ? (planes + 1) / 2 : planes / 2;
        double *sums = delta[way];
        for (uint32_t i = 1; i < 2 * count; i++) {
            sums[i] += sums[i - 1];
        }
        for (uint32_t i = 0; i < count && ways > 0; i++) {
            double bytes = (sums[i] + sums[i + count]) / ways;
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

// The most that any place's ring carries on a plane.
static double rings_load(const struct rail_load *load, uint32_t planes, struct weft_arena scratch)
{
    uint32_t size = load->member_count / load->place_count;
    double most = 0;
    for (uint32_t i = 0; i < load->member_count; i += size) {
        double bytes = ring_load(load, load->members + i, size, planes, scratch);
        most = bytes > most ? bytes : most;
    }
    return most;
}

// The most that a node sends or receives.
static double node_load(const struct rail_load *load, const struct rail_program *program,
                        struct weft_arena scratch)
{
    double *sums = WEFT_NEW(&scratch, double, 2 * (size_t)program->node_count);
    double most = 0;
    for (uint32_t p = 0; p < load->pair_count; p++) {
        const struct rail_pair_bytes *pair = &load->pairs[p];
        sums[pair->from] += pair->bytes;
        sums[program->node_count + pair->to] += pair->bytes;
    }
    for (uint32_t i = 0; i < 2 * program->node_count; i++) {
        most = sums[i] > most ? sums[i] : most;
    }
    return most;
}

static uint32_t direct_list(struct rail_lists *lists, const struct rail_load *load, uint32_t low,
                            uint32_t high)
{
    for (uint32_t plane = low; plane < high; plane++) {
        for (uint32_t p = 0; p < load->pair_count; p++) {
            draft(lists, plane, load->pairs[p].from, load->pairs[p].to);
        }
    }
    return intern(lists);
}

// Whether every node sends to one other and receives from one.
static bool is_permutation(const struct rail_load *load, const struct rail_program *program,
                           struct weft_arena scratch)
{
    bool *sends = WEFT_NEW(&scratch, bool, 2 * (size_t)program->node_count);
    bool *receives = sends + program->node_count;
    for (uint32_t p = 0; p < load->pair_count; p++) {
        if (sends[load->pairs[p].from] || receives[load->pairs[p].to]) {
            return false;
        }
        sends[load->pairs[p].from] = true;
        receives[load->pairs[p].to] = true;
    }
    return true;
}

void rail_add_exchange(struct rail_lists *lists, struct rail_op *op, const struct rail_load *load,
                       struct weft_arena scratch)
{
    const struct rail_program *program = lists->program;
    uint32_t planes = program->plane_count;
    bool direct = is_permutation(load, program, scratch);
    double busiest = node_load(load, program, scratch);
    uint32_t low = 0;
    uint32_t high = planes;
    op->label = direct ? RAIL_CP : RAIL_EP;
    op->ways[RAIL_ELECTRICAL] =
        (struct rail_way){ring_list(lists, load, 0, 1), seconds_of(program, busiest, planes, 1)};
    for (uint32_t way = WEFT_RAIL_SWITCH; way <= WEFT_RAIL_SPLIT; way++) {
        if (way == WEFT_RAIL_SPLIT) {
            half_of(program, op, &low, &high);
        }
        if (high == low || (way == WEFT_RAIL_SPLIT && planes < 2)) {
            continue;
        }
        op->ways[way] =
            direct ? (struct rail_way){direct_list(lists, load, low, high),
                                       seconds_of(program, busiest, high - low, 1)}
                   : (struct rail_way){
                         ring_list(lists, load, low, high),
                         seconds_of(program, rings_load(load, high - low, scratch), 1, load->hops)};
    }
    if (load->ring != NULL && !direct) {
        struct rail_load larger = *load;
        larger.members = load->ring;
        larger.member_count = load->ring_count;
        op->ways[WEFT_RAIL_FORWARD] =
            (struct rail_way){ring_list(lists, &larger, 0, planes),
                              seconds_of(program, rings_load(&larger, planes, scratch), 1,
                                         load->ring_count / load->place_count - 1)};
    }
}
