// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SCHEDULER_TENANTS_TENANTS_H
#define WEFT_SCHEDULER_TENANTS_TENANTS_H

// An electrical torus of chips as tenants share it: who holds which chip, which links the rings of
// each slice cross, and the share of a link that each slice gets.

#include "weft/scheduler/tenants.h"

// A tenant of the torus. Its ring crosses link l `use[l]` times.
struct torus_slice {
    bool taken;
    bool box; // an aligned box; else any chips
    uint32_t chip_count;
    double share; // of the links, by max-min over all slices
    uint16_t *use;
};

struct torus {
    uint32_t sides[3]; // chips
    uint32_t block[3]; // of them that a server has
    uint32_t chip_count;
    uint32_t link_count; // directed: (chip * 3 + dimension) * 2 + way
    uint32_t free_count;
    uint32_t scattered_count;  // slices that are no boxes
    uint32_t *holder;          // of a chip: slot, or WEFT_NONE
    uint32_t *snake;           // chips along one line through all servers
    struct torus_slice *slots; // chip_count of them
};

void torus_open(struct torus *torus, const struct weft_rack *rack, struct weft_arena *arena);
// Takes the first free box that is aligned to its size; `rotates`: in any orientation. False: none.
bool torus_place_box(struct torus *torus, uint32_t *slot, const uint32_t sides[3], bool rotates);
// Takes so many free chips as near to each other along the snake as can be, in a ring.
void torus_place_scattered(struct torus *torus, uint32_t *slot, uint32_t chip_count,
                           struct weft_arena scratch);
void torus_release(struct torus *torus, uint32_t slot);
// Shares of all slices: a ring goes at the rate of its slowest link, links are shared max-min. The
// rates rise together until a link is full; the slices on it stay there, the others rise on.
// O(slices * links).
void torus_share(struct torus *torus, struct weft_arena scratch);

#endif
