// SPDX-License-Identifier: Apache-2.0
// An electrical torus of chips with tenants on it. A tenant has an aligned box, as pods of TPUs are
// rented, or where these may be any chips a ring through chips that lie apart, whose edges go over
// the links between by dimension order and share them with whoever is there.

#include "tenants.h"

#include <math.h>
#include <string.h>

static void coordinates(uint32_t at[3], const struct torus *torus, uint32_t chip)
{
    uint32_t per = torus->block[0] * torus->block[1] * torus->block[2];
    uint32_t server = chip / per;
    uint32_t inside = chip % per;
    for (uint32_t d = 0; d < 3; d++) {
        uint32_t servers = torus->sides[d] / torus->block[d];
        at[d] = server % servers * torus->block[d] + inside % torus->block[d];
        server /= servers;
        inside /= torus->block[d];
    }
}

static uint32_t chip_at(const struct torus *torus, const uint32_t at[3])
{
    uint32_t server = 0;
    uint32_t inside = 0;
    uint32_t per = torus->block[0] * torus->block[1] * torus->block[2];
    for (uint32_t d = 3; d-- > 0;) {
        server = server * (torus->sides[d] / torus->block[d]) + at[d] / torus->block[d];
        inside = inside * torus->block[d] + at[d] % torus->block[d];
    }
    return server * per + inside;
}

// A line through a grid on which neighbors are neighbors: each row back where the last one went.
static void snake_at(uint32_t at[3], const uint32_t sides[3], uint32_t place)
{
    at[2] = place / (sides[0] * sides[1]);
    uint32_t row = place / sides[0];
    at[1] = row % sides[1];
    at[0] = place % sides[0];
    if (at[2] % 2 == 1) {
        at[1] = sides[1] - 1 - at[1];
    }
    if (row % 2 == 1) {
        at[0] = sides[0] - 1 - at[0];
    }
}

// Servers along a line, and the chips of each along one.
static void set_snake(struct torus *torus)
{
    uint32_t servers[3];
    uint32_t per = torus->block[0] * torus->block[1] * torus->block[2];
    for (uint32_t d = 0; d < 3; d++) {
        servers[d] = torus->sides[d] / torus->block[d];
    }
    for (uint32_t place = 0; place < torus->chip_count; place++) {
        uint32_t server[3];
        uint32_t inside[3];
        uint32_t at[3];
        snake_at(server, servers, place / per);
        snake_at(inside, torus->block, place % per);
        for (uint32_t d = 0; d < 3; d++) {
            at[d] = server[d] * torus->block[d] + inside[d];
        }
        torus->snake[place] = chip_at(torus, at);
    }
}

void torus_open(struct torus *torus, const struct weft_rack *rack, struct weft_arena *arena)
{
    *torus = (struct torus){.chip_count = rack->server_count * rack->chips_per_server};
    for (uint32_t d = 0; d < 3; d++) {
        torus->block[d] = rack->block[d];
        torus->sides[d] = rack->sides[d] * rack->block[d];
    }
    torus->link_count = torus->chip_count * 6;
    torus->free_count = torus->chip_count;
    torus->holder = WEFT_NEW(arena, uint32_t, torus->chip_count);
    torus->snake = WEFT_NEW(arena, uint32_t, torus->chip_count);
    torus->slots = WEFT_NEW(arena, struct torus_slice, torus->chip_count);
    memset(torus->holder, 0xff, torus->chip_count * sizeof *torus->holder);
    for (uint32_t s = 0; s < torus->chip_count; s++) {
        torus->slots[s].use = WEFT_NEW(arena, uint16_t, torus->link_count);
    }
    set_snake(torus);
}

static uint32_t take_slot(struct torus *torus, uint32_t chip_count, bool box)
{
    uint32_t slot = 0;
    while (torus->slots[slot].taken) {
        slot++; // there is one: every slice has a chip
    }
    struct torus_slice *slice = &torus->slots[slot];
    memset(slice->use, 0, torus->link_count * sizeof *slice->use);
    slice->taken = true;
    slice->box = box;
    slice->chip_count = chip_count;
    slice->share = 1;
    torus->free_count -= chip_count;
    torus->scattered_count += !box;
    return slot;
}

static void take_chip(struct torus *torus, uint32_t chip, uint32_t slot)
{
    WEFT_ASSERT(torus->holder[chip] == WEFT_NONE);
    torus->holder[chip] = slot;
}

// ---- boxes ----

struct box {
    uint32_t from[3];
    uint32_t sides[3];
};

static void box_chip(uint32_t at[3], const struct box *box, uint32_t i)
{
    at[0] = box->from[0] + i % box->sides[0];
    at[1] = box->from[1] + i / box->sides[0] % box->sides[1];
    at[2] = box->from[2] + i / (box->sides[0] * box->sides[1]);
}

static bool box_is_free(const struct torus *torus, const struct box *box)
{
    uint32_t chips = box->sides[0] * box->sides[1] * box->sides[2];
    for (uint32_t i = 0; i < chips; i++) {
        uint32_t at[3];
        box_chip(at, box, i);
        if (torus->holder[chip_at(torus, at)] != WEFT_NONE) {
            return false;
        }
    }
    return true;
}

// The first free box of this orientation: at multiples of its sides where they divide the torus.
static bool find_box(const struct torus *torus, struct box *box)
{
    uint32_t step[3];
    for (uint32_t d = 0; d < 3; d++) {
        if (box->sides[d] > torus->sides[d]) {
            return false;
        }
        step[d] = torus->sides[d] % box->sides[d] == 0 ? box->sides[d] : 1;
    }
    for (uint32_t z = 0; z + box->sides[2] <= torus->sides[2]; z += step[2]) {
        for (uint32_t y = 0; y + box->sides[1] <= torus->sides[1]; y += step[1]) {
            for (uint32_t x = 0; x + box->sides[0] <= torus->sides[0]; x += step[0]) {
                box->from[0] = x;
                box->from[1] = y;
                box->from[2] = z;
                if (box_is_free(torus, box)) {
                    return true;
                }
            }
        }
    }
    return false;
}

// Chips of a box, and the links between them: those that close a ring where a side fills the torus.
static void take_box(struct torus *torus, const struct box *box, uint32_t slot)
{
    uint16_t *use = torus->slots[slot].use;
    for (uint32_t i = 0; i < torus->slots[slot].chip_count; i++) {
        uint32_t at[3];
        box_chip(at, box, i);
        uint32_t chip = chip_at(torus, at);
        take_chip(torus, chip, slot);
        for (uint32_t d = 0; d < 3; d++) {
            uint32_t side = box->sides[d];
            uint32_t place = at[d] - box->from[d];
            bool closes = side > 2 && side == torus->sides[d];
            use[(chip * 3 + d) * 2] = side > 1 && (closes || place + 1 < side);
            use[(chip * 3 + d) * 2 + 1] = side > 1 && (closes || place > 0);
        }
    }
}

bool torus_place_box(struct torus *torus, uint32_t *slot, const uint32_t sides[3], bool rotates)
{
    static const uint8_t turns[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (uint32_t t = 0; t < (rotates ? 6 : 1); t++) {
        struct box box;
        for (uint32_t d = 0; d < 3; d++) {
            box.sides[d] = sides[turns[t][d]];
        }
        if (find_box(torus, &box)) {
            *slot = take_slot(torus, sides[0] * sides[1] * sides[2], true);
            take_box(torus, &box, *slot);
            return true;
        }
    }
    return false;
}

// ---- any chips ----

// Counts a ring's edge over the links that it crosses and, for the ring's other way round, back
// over the same. Dimension by dimension, the shorter way round, half way up.
static void use_edge(const struct torus *torus, uint16_t *use, uint32_t from, uint32_t to)
{
    uint32_t at[3];
    uint32_t end[3];
    coordinates(at, torus, from);
    coordinates(end, torus, to);
    for (uint32_t d = 0; d < 3; d++) {
        uint32_t side = torus->sides[d];
        uint32_t up = (end[d] + side - at[d]) % side;
        bool rises = 2 * up <= side;
        for (; at[d] != end[d];) {
            uint32_t chip = chip_at(torus, at);
            at[d] = (at[d] + (rises ? 1 : side - 1)) % side;
            uint32_t next = chip_at(torus, at);
            use[(chip * 3 + d) * 2 + !rises]++;
            use[(next * 3 + d) * 2 + rises]++;
        }
    }
}

// Free chips along the snake of which `count` in a row lie the least apart, the first of equals. A
// row begins where a server's free chips do, so that slices leave whole servers free.
static uint32_t nearest_row(const struct torus *torus, const uint32_t *places, uint32_t free_count,
                            uint32_t count)
{
    uint32_t per = torus->block[0] * torus->block[1] * torus->block[2];
    uint32_t best = 0;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i + count <= free_count; i++) {
        bool begins = i == 0 || places[i] / per != places[i - 1] / per;
        uint32_t span = places[i + count - 1] - places[i];
        if (begins && span < least) {
            least = span;
            best = i;
        }
    }
    return best;
}

void torus_place_scattered(struct torus *torus, uint32_t *slot, uint32_t chip_count,
                           struct weft_arena scratch)
{
    WEFT_ASSERT(chip_count <= torus->free_count);
    uint32_t *places = WEFT_NEW(&scratch, uint32_t, torus->chip_count);
    uint32_t free_count = 0;
    for (uint32_t p = 0; p < torus->chip_count; p++) {
        if (torus->holder[torus->snake[p]] == WEFT_NONE) {
            places[free_count++] = p;
        }
    }
    WEFT_ASSERT(free_count == torus->free_count);
    uint32_t first = nearest_row(torus, places, free_count, chip_count);
    *slot = take_slot(torus, chip_count, false);
    uint16_t *use = torus->slots[*slot].use;
    for (uint32_t i = 0; i < chip_count; i++) {
        uint32_t chip = torus->snake[places[first + i]];
        take_chip(torus, chip, *slot);
        if (chip_count > 2 || i + 1 < chip_count) { // a ring of two is one link
            uint32_t next = torus->snake[places[first + (i + 1) % chip_count]];
            use_edge(torus, use, chip, next);
        }
    }
}

void torus_release(struct torus *torus, uint32_t slot)
{
    uint32_t given = 0;
    for (uint32_t c = 0; c < torus->chip_count; c++) {
        if (torus->holder[c] == slot) {
            torus->holder[c] = WEFT_NONE;
            given++;
        }
    }
    WEFT_ASSERT(torus->slots[slot].taken && given == torus->slots[slot].chip_count);
    torus->slots[slot].taken = false;
    torus->free_count += given;
    torus->scattered_count -= !torus->slots[slot].box;
}

// ---- shares ----

// What rings that still rise weigh on each link, and what the others take of it.
struct links {
    uint32_t count;
    double *weight;
    double *taken;
};

// The link that is full first when all rings that rise go on together, and their rate then;
// WEFT_NONE: at rate 1 none is.
static uint32_t next_full(const struct links *links, double *level)
{
    uint32_t full = WEFT_NONE;
    *level = 1;
    for (uint32_t l = 0; l < links->count; l++) {
        // Weights are sums of whole numbers, so that they come back to 0 exactly.
        if (links->weight[l] > 0 && 1 - links->taken[l] < *level * links->weight[l]) {
            *level = (1 - links->taken[l]) / links->weight[l];
            full = l;
        }
    }
    return full;
}

static void hold_at(struct torus_slice *slice, double level, const struct links *links)
{
    slice->share = level;
    for (uint32_t l = 0; l < links->count; l++) {
        links->weight[l] -= slice->use[l];
        links->taken[l] += slice->use[l] * level;
    }
}

void torus_share(struct torus *torus, struct weft_arena scratch)
{
    struct links links = {torus->link_count, WEFT_NEW(&scratch, double, torus->link_count),
                          WEFT_NEW(&scratch, double, torus->link_count)};
    struct torus_slice **rising = WEFT_NEW(&scratch, struct torus_slice *, torus->chip_count);
    uint32_t count = 0;
    for (uint32_t s = 0; s < torus->chip_count; s++) {
        struct torus_slice *slice = &torus->slots[s];
        if (slice->taken) {
            slice->share = 1;
            rising[count++] = slice;
        }
    }
    if (torus->scattered_count == 0) {
        return; // boxes do not meet
    }
    for (uint32_t s = 0; s < count; s++) {
        for (uint32_t l = 0; l < links.count; l++) {
            links.weight[l] += rising[s]->use[l];
        }
    }
    double level = 1;
    for (uint32_t full = next_full(&links, &level); full != WEFT_NONE;
         full = next_full(&links, &level)) {
        uint32_t kept = 0;
        for (uint32_t s = 0; s < count; s++) {
            if (rising[s]->use[full] > 0) {
                hold_at(rising[s], level, &links);
            } else {
                rising[kept++] = rising[s];
            }
        }
        WEFT_ASSERT(kept < count);
        count = kept;
    }
}
