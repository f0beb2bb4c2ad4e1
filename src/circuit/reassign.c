// SPDX-License-Identifier: Apache-2.0
// Circuits divided among planes so that few ports move: see weft_circuit_reassign.
//
// One plane: an assignment of cost 0 where a port keeps its peer and 1 where it moves, over the
// pairs that still have circuits. The ports that can keep theirs are a matching of cost 0 with
// which potentials of 0 are optimal, so that only the others have to be augmented, each by a
// shortest path in reduced costs (Tomizawa 1971; Edmonds and Karp, J. ACM 19, 1972). Two planes:
// their circuits fall into cycles, each of which either plane may have one half of.

#include "weft/base/heap.h"
#include "weft/circuit.h"

#include <string.h>

struct reached {
    uint32_t distance;
    uint32_t column;
};
struct reached_heap {
    struct reached *entries;
    uint32_t count;
};

static inline bool is_nearer(const struct reached *a, const struct reached *b)
{
    return a->distance != b->distance ? a->distance < b->distance : a->column < b->column;
}

WEFT_HEAP(reached_heap, struct reached_heap, struct reached, 2, is_nearer, weft_heap_no_places)

struct reassign {
    uint32_t n;
    uint32_t plane_count;
    const uint32_t *before;
    uint32_t *permutations;
    // The circuits that no plane has yet, those of a node to itself included, by row.
    uint32_t *first; // of a row: n + 1
    uint32_t *heads;
    uint32_t *left;
    // Of one plane's matching.
    uint32_t *row_of;   // per column
    uint32_t *place_of; // per row: its entry in `heads`
    int64_t *row_price;
    int64_t *column_price;
    uint32_t *distance; // per column, in this search
    uint32_t *parent;   // per column: the entry that reached it
    bool *is_done;
    uint32_t *done; // columns
    uint32_t done_count;
    struct reached_heap heap;
};

// ---- which circuits there will be ----

// Adds circuits until every row and column has one for each plane: first those that ports have
// already, then any. Returns how many ports can keep their peer at most.
static uint32_t fill_up(uint32_t *all, const uint32_t *before, uint32_t n, uint32_t plane_count,
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
    for (uint32_t round = 0; round < 2; round++) { // what is had; then anything
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t j = 0; j < n && out[i] > 0; j++) {
                size_t pair = (size_t)i * n + j;
                uint32_t most = out[i] < in[j] ? out[i] : in[j];
                uint32_t was = had[pair] > all[pair] ? had[pair] - all[pair] : 0;
                uint32_t added = round == 1 || most < was ? most : was;
                all[pair] += added;
                out[i] -= added;
                in[j] -= added;
            }
        }
    }
    return kept + (more_out < more_in ? more_out : more_in);
}

static void list_rows(struct reassign *self, const uint32_t *all, struct weft_arena *arena)
{
    uint32_t n = self->n;
    uint32_t room = n * self->plane_count;
    uint32_t count = 0;
    self->first = WEFT_NEW_RAW(arena, uint32_t, n + 1);
    self->heads = WEFT_NEW_RAW(arena, uint32_t, room);
    self->left = WEFT_NEW_RAW(arena, uint32_t, room);
    for (uint32_t i = 0; i < n; i++) {
        self->first[i] = count;
        for (uint32_t j = 0; j < n; j++) {
            if (all[(size_t)i * n + j] > 0) {
                self->heads[count] = j;
                self->left[count++] = all[(size_t)i * n + j];
            }
        }
    }
    self->first[n] = count;
}

// ---- one plane ----

static void scan_row(struct reassign *self, uint32_t row, uint32_t base, const uint32_t *before)
{
    for (uint32_t e = self->first[row]; e < self->first[row + 1]; e++) {
        uint32_t column = self->heads[e];
        if (self->left[e] == 0 || self->is_done[column]) {
            continue;
        }
        int64_t cost = before[row] == column ? 0 : 1;
        int64_t reduced = cost - self->row_price[row] - self->column_price[column];
        WEFT_ASSERT(reduced >= 0);
        uint32_t distance = base + (uint32_t)reduced;
        if (distance < self->distance[column]) {
            self->distance[column] = distance;
            self->parent[column] = e;
            reached_heap_push(&self->heap, (struct reached){distance, column});
        }
    }
}

static uint32_t row_of_entry(const struct reassign *self, uint32_t e)
{
    uint32_t low = 0;
    uint32_t high = self->n;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(self->first[middle] <= e ? &low : &high) = middle;
    }
    return low;
}

// Joins one more row to a column, by the cheapest path of exchanges. Koenig's theorem has one.
static void augment(struct reassign *self, uint32_t start, const uint32_t *before)
{
    uint32_t n = self->n;
    memset(self->distance, 0xff, n * sizeof(uint32_t));
    memset(self->is_done, 0, n * sizeof(bool));
    self->done_count = 0;
    self->heap.count = 0;
    scan_row(self, start, 0, before);
    uint32_t end = WEFT_NONE;
    while (end == WEFT_NONE) {
        WEFT_ASSERT(self->heap.count > 0);
        struct reached top = reached_heap_pop(&self->heap);
        if (self->is_done[top.column]) {
            continue;
        }
        if (self->row_of[top.column] == WEFT_NONE) {
            end = top.column;
            break;
        }
        self->is_done[top.column] = true;
        self->done[self->done_count++] = top.column;
        scan_row(self, self->row_of[top.column], top.distance, before);
    }
    uint32_t length = self->distance[end];
    self->row_price[start] += length;
    for (uint32_t i = 0; i < self->done_count; i++) {
        uint32_t column = self->done[i];
        uint32_t less = length - self->distance[column];
        self->column_price[column] -= less;
        self->row_price[self->row_of[column]] += less;
    }
    for (uint32_t column = end;;) {
        uint32_t e = self->parent[column];
        uint32_t row = row_of_entry(self, e);
        uint32_t next =
            self->place_of[row] == WEFT_NONE ? WEFT_NONE : self->heads[self->place_of[row]];
        self->place_of[row] = e;
        self->row_of[column] = row;
        if (row == start) {
            return;
        }
        column = next;
    }
}

static void assign_plane(struct reassign *self, uint32_t plane)
{
    uint32_t n = self->n;
    const uint32_t *before = &self->before[(size_t)plane * n];
    memset(self->row_of, 0xff, n * sizeof(uint32_t));
    memset(self->place_of, 0xff, n * sizeof(uint32_t));
    memset(self->row_price, 0, n * sizeof(int64_t));
    memset(self->column_price, 0, n * sizeof(int64_t));
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t e = self->first[i]; e < self->first[i + 1]; e++) {
            if (self->heads[e] == before[i] && self->left[e] > 0) {
                self->place_of[i] = e;
                self->row_of[before[i]] = i;
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (self->place_of[i] == WEFT_NONE) {
            augment(self, i, before);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        self->left[self->place_of[i]]--;
        self->permutations[(size_t)plane * n + i] = self->heads[self->place_of[i]];
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
        .row_of = WEFT_NEW_RAW(&scratch, uint32_t, n),
        .place_of = WEFT_NEW_RAW(&scratch, uint32_t, n),
        .row_price = WEFT_NEW_RAW(&scratch, int64_t, n),
        .column_price = WEFT_NEW_RAW(&scratch, int64_t, n),
        .distance = WEFT_NEW_RAW(&scratch, uint32_t, n),
        .parent = WEFT_NEW_RAW(&scratch, uint32_t, n),
        .is_done = WEFT_NEW_RAW(&scratch, bool, n),
        .done = WEFT_NEW_RAW(&scratch, uint32_t, n),
        .heap = {WEFT_NEW_RAW(&scratch, struct reached, n * plane_count), 0},
    };
    uint32_t *wanted = WEFT_NEW_RAW(&scratch, uint32_t, n * n);
    memcpy(wanted, circuits, n * n * sizeof(uint32_t));
    uint32_t kept_max = fill_up(circuits, before, node_count, plane_count, scratch);
    list_rows(&self, circuits, &scratch);
    for (uint32_t plane = 0; plane < plane_count; plane++) {
        assign_plane(&self, plane);
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
