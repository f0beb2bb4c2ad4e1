// SPDX-License-Identifier: Apache-2.0
// Rounds that together join every pair, and the order in which the fewest cells toggle.
//
// A cell that a round's routes do not pass may be either: it toggles least where it keeps its state
// until a round wants the other one. So the toggles of an order are, cell by cell, the changes in
// the sequence of states that rounds want, and need no search; the order is one, a travelling
// salesman's whose distances depend on the way.

#include "weft/photonics/mesh.h"

#include <string.h>

void weft_mesh_round_robin(struct weft_mesh_pair *pairs, uint32_t count)
{
    WEFT_ASSERT(count >= 2 && count % 2 == 0);
    uint32_t cycle = count - 1;
    uint32_t filled = 0;
    for (uint32_t r = 0; r < cycle; r++) {
        for (uint32_t i = 0; i < cycle; i++) {
            uint32_t j = (r + cycle - i) % cycle;
            if (i < j) {
                pairs[filled++] = (struct weft_mesh_pair){i, j};
            }
        }
        uint32_t alone = (uint32_t)((uint64_t)r * (count / 2) % cycle);
        pairs[filled++] = (struct weft_mesh_pair){alone, cycle};
        WEFT_ASSERT(filled == (r + 1) * (count / 2));
    }
}

enum { ANY = 2 }; // state of a cell that no route passes

struct sequence {
    uint32_t rounds, cells;
    const uint8_t *wanted; // rounds * cells
    const uint8_t *former; // NULL
    uint8_t *now;
};

static uint32_t count_toggles(const struct sequence *sequence, const uint32_t *order)
{
    uint32_t cells = sequence->cells;
    uint8_t *now = sequence->now;
    if (sequence->former == NULL) {
        memset(now, ANY, cells);
    } else {
        memcpy(now, sequence->former, cells);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < sequence->rounds; i++) {
        const uint8_t *wanted = &sequence->wanted[(size_t)order[i] * cells];
        for (uint32_t e = 0; e < cells; e++) {
            uint8_t next = wanted[e] == ANY ? now[e] : wanted[e];
            count += next != now[e] && now[e] != ANY;
            now[e] = next;
        }
    }
    return count;
}

static void reverse(uint32_t *values, uint32_t from, uint32_t to)
{
    for (; from < to; from++, to--) {
        uint32_t value = values[from];
        values[from] = values[to];
        values[to] = value;
    }
}

// Each next round is the one that toggles least beside the last; then pieces are turned round while
// that helps.
static void find_order(uint32_t *order, const struct sequence *sequence)
{
    uint32_t rounds = sequence->rounds;
    uint32_t cells = sequence->cells;
    for (uint32_t i = 1; i < rounds; i++) {
        const uint8_t *last = &sequence->wanted[(size_t)order[i - 1] * cells];
        uint32_t best = i;
        uint32_t best_count = UINT32_MAX;
        for (uint32_t j = i; j < rounds; j++) {
            const uint8_t *next = &sequence->wanted[(size_t)order[j] * cells];
            uint32_t count = 0;
            for (uint32_t e = 0; e < cells; e++) {
                count += last[e] != ANY && next[e] != ANY && last[e] != next[e];
            }
            if (count < best_count) {
                best = j;
                best_count = count;
            }
        }
        uint32_t round = order[i];
        order[i] = order[best];
        order[best] = round;
    }
    uint32_t now = count_toggles(sequence, order);
    for (bool better = true; better;) {
        better = false;
        for (uint32_t from = 0; from < rounds; from++) {
            for (uint32_t to = from + 1; to < rounds; to++) {
                reverse(order, from, to);
                uint32_t count = count_toggles(sequence, order);
                if (count < now) {
                    now = count;
                    better = true;
                } else {
                    reverse(order, from, to);
                }
            }
        }
    }
}

static void want_cells(uint8_t *wanted, const struct weft_mesh *mesh,
                       const struct weft_mesh_setting *setting, const uint8_t *stuck)
{
    for (uint32_t e = 0; e < mesh->cell_count; e++) {
        uint8_t state = stuck == NULL ? WEFT_MESH_FREE : stuck[e];
        wanted[e] = state == WEFT_MESH_FREE ? ANY : state == WEFT_MESH_CROSS;
    }
    for (uint32_t r = 0; r < setting->route_count; r++) {
        const struct weft_mesh_route *route = &setting->routes[r];
        for (uint32_t i = 0; i < route->length; i++) {
            uint32_t e = route->stubs[i] / 4;
            wanted[e] = setting->cells[e] != 0;
        }
    }
}

void weft_mesh_order_rounds(uint32_t *order, uint32_t *toggled, struct weft_mesh_setting *settings,
                            uint32_t round_count, const struct weft_mesh *mesh,
                            const struct weft_mesh_order *options, struct weft_arena *arena,
                            struct weft_arena scratch)
{
    uint32_t cells = mesh->cell_count;
    uint8_t *wanted = WEFT_NEW_RAW(&scratch, uint8_t, (size_t)round_count * cells);
    for (uint32_t r = 0; r < round_count; r++) {
        order[r] = r;
        want_cells(&wanted[(size_t)r * cells], mesh, &settings[r], options->stuck);
    }
    const struct sequence sequence = {.rounds = round_count,
                                      .cells = cells,
                                      .wanted = wanted,
                                      .former = options->former,
                                      .now = WEFT_NEW(&scratch, uint8_t, cells)};
    if (!options->keep) {
        find_order(order, &sequence);
    }
    uint8_t *now = sequence.now;
    for (uint32_t e = 0; e < cells; e++) {
        now[e] = options->former == NULL ? 0 : options->former[e];
        for (uint32_t i = round_count; i-- > 0 && options->former == NULL;) {
            uint8_t state = wanted[(size_t)order[i] * cells + e];
            now[e] = state == ANY ? now[e] : state; // at last the first that is wanted
        }
    }
    for (uint32_t i = 0; i < round_count; i++) {
        uint8_t *made = WEFT_NEW(arena, uint8_t, cells);
        const uint8_t *next = &wanted[(size_t)order[i] * cells];
        toggled[order[i]] = 0;
        for (uint32_t e = 0; e < cells; e++) {
            uint8_t state = next[e] == ANY ? now[e] : next[e];
            toggled[order[i]] += state != now[e];
            made[e] = state == 1;
            now[e] = state;
        }
        settings[order[i]].cells = made;
    }
}
