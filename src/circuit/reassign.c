// SPDX-License-Identifier: Apache-2.0
// Circuits divided among planes so that few ports move: see weft_circuit_reassign.
//
// Every port that can keeps its peer; that is a part of a coloring of circuits by planes, in which
// no two circuits out of a node, and none into one, share a color. The others are added one by one:
// on a plane that both ends have free, or have after few others move, or else by turning a
// chain of two planes' circuits, which always frees one (Koenig 1916), the chain that costs the
// fewest ports their peer. Then any two planes exchange what gains: their circuits fall into
// cycles, each of which either plane may have one half of.

#include "weft/circuit.h"

#include <string.h>

// Chains that are looked at for one circuit.
#define CHAINS_MAX 16u
// Circuits that move to make room for one.
#define SHIFTS_MAX 3u
#define ROUND_COUNT 3u

struct reassign {
    uint32_t n;
    uint32_t plane_count;
    const uint32_t *before;
    uint32_t *permutations; // WEFT_NONE: the port has no circuit yet
    uint32_t *tails;        // [plane * n + node]: who is joined to it; likewise
};

// ---- which circuits there will be ----

// Adds circuits that ports have already and that nobody asks for, where both ends have ports to
// spare. Returns how many ports can keep their peer at most.
static uint32_t add_had(uint32_t *all, const uint32_t *before, uint32_t n, uint32_t plane_count,
                        struct weft_arena scratch)
{
    uint32_t *had = WEFT_NEW(&scratch, uint32_t, (size_t)n * n);
    uint32_t *out = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t *in = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t *spare_out = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t *spare_in = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t kept = 0;
    for (size_t port = 0; port < (size_t)plane_count * n; port++) {
        had[port % n * n + before[port]]++;
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            uint32_t count = all[(size_t)i * n + j];
            uint32_t was = had[(size_t)i * n + j];
            out[i] += count;
            in[j] += count;
            kept += count < was ? count : was;
            spare_out[i] += was > count ? was - count : 0;
            spare_in[j] += was > count ? was - count : 0;
        }
    }
    uint32_t more_out = 0;
    uint32_t more_in = 0;
    for (uint32_t i = 0; i < n; i++) {
        WEFT_ASSERT(out[i] <= plane_count && in[i] <= plane_count);
        out[i] = plane_count - out[i];
        in[i] = plane_count - in[i];
        more_out += spare_out[i] < out[i] ? spare_out[i] : out[i];
        more_in += spare_in[i] < in[i] ? spare_in[i] : in[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n && out[i] > 0; j++) {
            size_t pair = (size_t)i * n + j;
            uint32_t most = out[i] < in[j] ? out[i] : in[j];
            uint32_t was = had[pair] > all[pair] ? had[pair] - all[pair] : 0;
            uint32_t added = most < was ? most : was;
            all[pair] += added;
            out[i] -= added;
            in[j] -= added;
        }
    }
    return kept + (more_out < more_in ? more_out : more_in);
}

// ---- circuits one by one ----

static void join(struct reassign *self, uint32_t plane, uint32_t from, uint32_t to)
{
    self->permutations[(size_t)plane * self->n + from] = to;
    self->tails[(size_t)plane * self->n + to] = from;
}

// Gives planes what their ports have already and shall have: `left` is what remains of all.
static void keep_peers(struct reassign *self, uint32_t *left)
{
    size_t ports = (size_t)self->plane_count * self->n;
    WEFT_ASSERT(self->n > 0);
    memset(self->permutations, 0xff, ports * sizeof(uint32_t)); // WEFT_NONE
    memset(self->tails, 0xff, ports * sizeof(uint32_t));
    for (size_t port = 0; port < ports; port++) {
        size_t from = port % self->n;
        if (left[from * self->n + self->before[port]] > 0) {
            left[from * self->n + self->before[port]]--;
            join(self, (uint32_t)(port / self->n), (uint32_t)from, self->before[port]);
        }
    }
}

// The chain of two planes' circuits into and out of nodes: from the one into `to` on plane a, on to
// the one out of its tail on plane b, and so on. Returns how many ports less keep their peer when
// each circuit of it changes to the other plane; does so with `turns`.
static int32_t follow_chain(struct reassign *self, uint32_t to, uint32_t a, uint32_t b, bool turns)
{
    size_t n = self->n;
    int32_t loss = 0;
    uint32_t from = self->tails[a * n + to];
    if (turns) {
        self->tails[a * n + to] = WEFT_NONE;
    }
    while (from != WEFT_NONE) {
        // from -> to is on plane a, from -> next on plane b: they change places.
        uint32_t next = self->permutations[b * n + from];
        uint32_t after = next == WEFT_NONE ? WEFT_NONE : self->tails[a * n + next];
        loss += (self->before[a * n + from] == to) - (self->before[b * n + from] == to);
        if (next != WEFT_NONE) {
            loss += (self->before[b * n + from] == next) - (self->before[a * n + from] == next);
        }
        if (turns) {
            join(self, b, from, to);
            self->permutations[a * n + from] = next;
            if (next != WEFT_NONE) {
                self->tails[a * n + next] = from;
            }
        }
        to = next;
        from = after;
        if (turns && to != WEFT_NONE && from == WEFT_NONE) {
            self->tails[b * n + to] = WEFT_NONE;
        }
    }
    return loss;
}

static bool is_free(const uint32_t *nodes, const struct reassign *self, uint32_t plane,
                    uint32_t node)
{
    return nodes[(size_t)plane * self->n + node] == WEFT_NONE;
}

static bool add_where_free(struct reassign *self, uint32_t from, uint32_t to)
{
    for (uint32_t plane = 0; plane < self->plane_count; plane++) {
        if (is_free(self->permutations, self, plane, from) &&
            is_free(self->tails, self, plane, to)) {
            join(self, plane, from, to);
            return true;
        }
    }
    return false;
}

// Puts a circuit on a plane that both its ends have free; or on one that one end has free, and the
// circuit at the other end that is in its way likewise on another plane, and so on, at most `depth`
// circuits in all. `moves_kept`: these may be ports that keep their peer. O(planes^depth planes).
// NOLINTNEXTLINE(misc-no-recursion): the depth is small
static bool add_by_shifts(struct reassign *self, uint32_t from, uint32_t to, uint32_t depth,
                          bool moves_kept)
{
    size_t n = self->n;
    if (add_where_free(self, from, to)) {
        return true;
    }
    for (uint32_t plane = 0; plane < self->plane_count && depth > 0; plane++) {
        bool at_head = is_free(self->tails, self, plane, to);
        if (!at_head && !is_free(self->permutations, self, plane, from)) {
            continue;
        }
        uint32_t tail = at_head ? from : self->tails[plane * n + to];
        uint32_t head = at_head ? self->permutations[plane * n + from] : to;
        if (!moves_kept && self->before[plane * n + tail] == head) {
            continue;
        }
        self->permutations[plane * n + tail] = WEFT_NONE;
        self->tails[plane * n + head] = WEFT_NONE;
        join(self, plane, from, to);
        if (add_by_shifts(self, tail, head, depth - 1, moves_kept)) {
            return true;
        }
        self->permutations[plane * n + from] = WEFT_NONE;
        self->tails[plane * n + to] = WEFT_NONE;
        join(self, plane, tail, head);
    }
    return false;
}

// Puts a circuit on a plane that its tail has free, after the cheapest chain of that plane and one
// that its head has free. The chain comes to tails by the first plane, so never to this one.
static void add_by_chain(struct reassign *self, uint32_t from, uint32_t to)
{
    uint32_t best[2] = {WEFT_NONE, WEFT_NONE};
    int32_t least = INT32_MAX;
    uint32_t looked = 0;
    for (uint32_t a = 0; a < self->plane_count; a++) {
        for (uint32_t b = 0; b < self->plane_count && is_free(self->permutations, self, a, from);
             b++) {
            if (!is_free(self->tails, self, b, to) || looked == CHAINS_MAX) {
                continue;
            }
            looked++;
            int32_t loss = follow_chain(self, to, a, b, false);
            if (loss < least) {
                least = loss;
                best[0] = a;
                best[1] = b;
            }
        }
    }
    WEFT_ASSERT(best[0] != WEFT_NONE);
    (void)follow_chain(self, to, best[0], best[1], true);
    join(self, best[0], from, to);
}

// A pair's circuits that find a plane in this round: a free one; one that is free after few others
// have moved, none of which keeps its peer; likewise after one or two that do; and last by chains,
// so that few of those are turned, which may be long.
static void add_pair(struct reassign *self, uint32_t *left, uint32_t from, uint32_t to,
                     uint32_t round)
{
    static const struct {
        uint32_t depth;
        bool moves_kept;
    } rounds[ROUND_COUNT] = {{0, false}, {SHIFTS_MAX, false}, {2, true}};
    while (round<ROUND_COUNT && * left> 0 &&
           add_by_shifts(self, from, to, rounds[round].depth, rounds[round].moves_kept)) {
        (*left)--;
    }
    for (; round == ROUND_COUNT && *left > 0; (*left)--) {
        add_by_chain(self, from, to);
    }
}

static void add_others(struct reassign *self, uint32_t *left)
{
    uint32_t n = self->n;
    for (uint32_t round = 0; round <= ROUND_COUNT; round++) {
        for (uint32_t from = 0; from < n; from++) {
            for (uint32_t to = 0; to < n; to++) {
                add_pair(self, &left[(size_t)from * n + to], from, to, round);
            }
        }
    }
}

// Ports that are left are joined to their own node, which is idle, or to any that is left.
static void join_rest(struct reassign *self)
{
    for (uint32_t plane = 0; plane < self->plane_count; plane++) {
        for (uint32_t i = 0; i < self->n; i++) {
            if (is_free(self->permutations, self, plane, i) &&
                is_free(self->tails, self, plane, i)) {
                join(self, plane, i, i);
            }
        }
        for (uint32_t i = 0, j = 0; i < self->n; i++) {
            if (!is_free(self->permutations, self, plane, i)) {
                continue;
            }
            while (!is_free(self->tails, self, plane, j)) {
                j++;
            }
            join(self, plane, i, j);
        }
    }
}

// ---- two planes ----

struct two_planes {
    uint32_t n;
    const uint32_t *before[2];
    uint32_t *peers[2];
    uint32_t *row_of[2]; // the inverse
    uint32_t *rows;      // of a cycle
    bool *is_seen;
};

// Whether it keeps more ports to exchange what two planes have of the cycle through a row;
// exchanges it then. Where all permutations are their own inverse, the other ends of the circuits
// are this cycle or another one, which gains as much and is exchanged, too.
static uint32_t exchange(struct two_planes *two, uint32_t start)
{
    uint32_t count = 1;
    uint32_t now = 0;
    uint32_t then = 0;
    two->rows[0] = start;
    two->is_seen[start] = true;
    for (uint32_t done = 0; done < count; done++) {
        uint32_t row = two->rows[done];
        for (uint32_t s = 0; s < 2; s++) {
            uint32_t peer = two->peers[s][row];
            uint32_t next = two->row_of[1 - s][peer];
            now += two->before[s][row] == peer;
            then += two->before[1 - s][row] == peer;
            if (!two->is_seen[next]) {
                two->is_seen[next] = true;
                two->rows[count++] = next;
            }
        }
    }
    for (uint32_t i = 0; i < count && then > now; i++) {
        uint32_t row = two->rows[i];
        uint32_t swap = two->peers[0][row];
        two->peers[0][row] = two->peers[1][row];
        two->peers[1][row] = swap;
    }
    return then > now ? then - now : 0;
}

static bool divide_two(struct two_planes *two)
{
    bool gained = false;
    memset(two->is_seen, 0, two->n * sizeof(bool));
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < two->n; i++) {
            two->row_of[s][two->peers[s][i]] = i;
        }
    }
    for (uint32_t i = 0; i < two->n; i++) {
        gained |= !two->is_seen[i] && exchange(two, i) > 0;
    }
    return gained;
}

void weft_circuit_exchange_planes(uint32_t *permutations, const uint32_t *before,
                                  uint32_t node_count, uint32_t plane_count,
                                  struct weft_arena scratch)
{
    size_t n = node_count;
    struct two_planes two = {
        .n = node_count,
        .row_of = {WEFT_NEW_RAW(&scratch, uint32_t, n), WEFT_NEW_RAW(&scratch, uint32_t, n)},
        .rows = WEFT_NEW_RAW(&scratch, uint32_t, n),
        .is_seen = WEFT_NEW_RAW(&scratch, bool, n)};
    for (bool gains = true; gains;) {
        gains = false;
        for (uint32_t p = 0; p < plane_count; p++) {
            for (uint32_t q = p + 1; q < plane_count; q++) {
                two.before[0] = &before[p * n];
                two.before[1] = &before[q * n];
                two.peers[0] = &permutations[p * n];
                two.peers[1] = &permutations[q * n];
                gains |= divide_two(&two);
            }
        }
    }
}

uint32_t weft_circuit_difference(const uint32_t *before, const uint32_t *after, uint32_t port_count)
{
    uint32_t moved = 0;
    for (uint32_t port = 0; port < port_count; port++) {
        moved += before[port] != after[port];
    }
    return moved;
}

// ---- what nobody asked for ----

// Ports of a plane whose circuits are not needed go back to their peers where both ends are free
// to; the others of these are joined to any that are left. Returns whether more ports keep theirs.
static bool free_ports(struct reassign *self, uint32_t plane, const uint32_t *wanted, uint32_t *all,
                       struct weft_arena scratch)
{
    uint32_t n = self->n;
    uint32_t *peers = &self->permutations[(size_t)plane * n];
    const uint32_t *before = &self->before[(size_t)plane * n];
    uint32_t *is_free = WEFT_NEW(&scratch, uint32_t, n); // columns
    uint32_t *freed = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t *rows = WEFT_NEW_RAW(&scratch, uint32_t, n); // of these, those without a peer yet
    uint32_t count = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        size_t pair = (size_t)i * n + peers[i];
        if (i == peers[i] || all[pair] > wanted[pair]) {
            is_free[peers[i]] = 1;
            rows[count] = i;
            freed[count++] = i;
            all[pair]--;
            kept += peers[i] == before[i];
        }
    }
    uint32_t rest = 0;
    uint32_t keeps = 0;
    for (uint32_t r = 0; r < count; r++) {
        uint32_t i = rows[r];
        if (is_free[before[i]] == 1) {
            is_free[before[i]] = 0;
            peers[i] = before[i];
            keeps++;
        } else {
            rows[rest++] = i;
        }
    }
    for (uint32_t r = 0, j = 0; r < rest; r++) {
        while (is_free[j] == 0) {
            j++;
        }
        peers[rows[r]] = j++;
    }
    for (uint32_t r = 0; r < count; r++) {
        all[(size_t)freed[r] * n + peers[freed[r]]]++;
    }
    return keeps > kept;
}

void weft_circuit_reassign(uint32_t *permutations, struct weft_circuit_moves *moves,
                           uint32_t *circuits, const uint32_t *before, uint32_t node_count,
                           uint32_t plane_count, struct weft_arena scratch)
{
    size_t n = node_count;
    struct reassign self = {
        .n = node_count,
        .plane_count = plane_count,
        .before = before,
        .permutations = permutations,
        .tails = WEFT_NEW_RAW(&scratch, uint32_t, n * plane_count),
    };
    uint32_t *wanted = WEFT_NEW_RAW(&scratch, uint32_t, n * n);
    uint32_t *left = WEFT_NEW_RAW(&scratch, uint32_t, n * n);
    memcpy(wanted, circuits, n * n * sizeof(uint32_t));
    uint32_t kept_max = add_had(circuits, before, node_count, plane_count, scratch);
    memcpy(left, circuits, n * n * sizeof(uint32_t));
    keep_peers(&self, left);
    add_others(&self, left);
    join_rest(&self);
    memset(circuits, 0, n * n * sizeof(uint32_t));
    for (size_t port = 0; port < n * plane_count; port++) {
        circuits[port % n * n + permutations[port]]++;
    }
    for (bool gains = true; gains;) {
        gains = false;
        weft_circuit_exchange_planes(permutations, before, node_count, plane_count, scratch);
        for (uint32_t plane = 0; plane < plane_count; plane++) {
            gains |= free_ports(&self, plane, wanted, circuits, scratch);
        }
    }
    for (size_t i = 0; i < n; i++) {
        circuits[i * n + i] = 0;
    }
    uint32_t ports = node_count * plane_count;
    *moves = (struct weft_circuit_moves){weft_circuit_difference(before, permutations, ports),
                                         ports - kept_max};
}
