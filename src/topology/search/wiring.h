// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TOPOLOGY_SEARCH_WIRING_H
#define WEFT_TOPOLOGY_SEARCH_WIRING_H

// Wirings: what the weft method searches among. Private to the topology room.
//
// A wiring is a union of parts over n nodes: Hamiltonian cycles over some members, and matchings.
// With symmetry s > 1 it is the lift of a base of m = n/s orbits by voltages in Z_s (Gross and
// Tucker, "Topological Graph Theory", 1987, chapter 2): node l*m + o is copy l of orbit o, and a
// base edge o -> p with shift w stands for the s edges (l, o) -> (l + w mod s, p). A base cycle
// whose shifts add to a unit of Z_s lifts to ONE cycle through all n nodes, and i -> i + m maps the
// wiring to itself, so that distances from m nodes tell those from all.

#include "weft/base.h"

enum weft_part_kind {
    WEFT_PART_CYCLE,    // a cycle, both ways: two slots
    WEFT_PART_RING,     // a cycle, one way: one slot
    WEFT_PART_MATCHING, // pairs, both ways: one slot
};

struct weft_part {
    enum weft_part_kind kind;
    uint32_t size;   // base nodes it covers
    uint32_t *order; // base nodes along the cycle; MATCHING: 2i is paired with 2i+1, an odd last
                     // one stays single
    uint32_t *shift; // of the edge from order[j] to its successor (MATCHING: of pairs, at 2i)
    uint32_t slot;   // its first column in the rows of `next`
};

struct weft_wiring {
    uint32_t node_count;
    uint32_t symmetry;    // s
    uint32_t orbit_count; // m = n/s
    uint32_t slot_count;
    uint32_t part_count;
    struct weft_part *parts;
    uint32_t *next; // node_count * slot_count: where each slot leads; the node itself if unlit
};

// A part as it was before a move.
struct weft_part_copy {
    uint32_t *order;
    uint32_t *shift;
};

uint32_t weft_part_slots(enum weft_part_kind kind);
// A wiring of `part_count` parts with symmetry s, n = s * m. The caller has filled each part's
// kind, size, order (the orbits it covers) and slot; parts that share no node may share slots.
// Shifts start at 0 but for the last of each cycle (1 if s > 1).
void weft_wiring_init(struct weft_wiring *wiring, uint32_t node_count, uint32_t symmetry,
                      struct weft_part *parts, uint32_t part_count, struct weft_arena *arena);
// Draws every part anew, uniformly.
void weft_wiring_shuffle(struct weft_wiring *wiring, struct weft_rng *rng);
// Writes the columns of one part into `next`.
void weft_wiring_light(struct weft_wiring *wiring, const struct weft_part *part);
// Changes one random part a little (2-opt for cycles, exchange of two segments for one-way rings,
// exchange of partners for matchings; or new shifts), keeps its old form in `copy` and lights it.
// Returns the part's index, or WEFT_NONE if no part of the wiring can change.
uint32_t weft_wiring_move(struct weft_wiring *wiring, struct weft_part_copy *copy,
                          struct weft_rng *rng);
void weft_wiring_undo(struct weft_wiring *wiring, uint32_t part, const struct weft_part_copy *copy);
struct weft_part_copy weft_part_copy_init(uint32_t size_max, struct weft_arena *arena);
// A wiring of the same shape and contents with memory of its own.
void weft_wiring_clone(struct weft_wiring *to, const struct weft_wiring *from,
                       struct weft_arena *arena);
// Copies the parts' contents between wirings of one shape, and lights them.
void weft_wiring_copy(struct weft_wiring *to, const struct weft_wiring *from);
// The planes a wiring lights: slot p of node i is plane[p * n + i].
const uint32_t *weft_wiring_planes(const struct weft_wiring *wiring, struct weft_arena *arena);
// The nodes of a lifted cycle in order, into nodes[size * s].
void weft_wiring_walk(const struct weft_wiring *wiring, const struct weft_part *part,
                      uint32_t *nodes);

#endif
