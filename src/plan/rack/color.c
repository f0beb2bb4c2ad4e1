// SPDX-License-Identifier: Apache-2.0
// Wavelengths of circuits that keep theirs through the servers they pass.
//
// A circuit of one hop takes any channel, so that it has one wherever the fibers have room. One of
// several hops needs a wavelength that some fiber has free on each of them; which fiber does not
// matter, as servers switch between fibers. First fit gives each the lowest, longest paths first;
// where that fails a search goes over all colorings, circuits of a bundle in rising order, since
// they are alike. O(circuits * hops * wavelengths) for first fit; the search is cut after
// NODES_MAX.

#include "rack.h"

#include <string.h>

#define NODES_MAX 5000u

struct circuit {
    const struct rack_path *path;
    uint32_t at;  // in the order of the bundles
    bool follows; // another circuit of the bundle stands before it
};
struct coloring {
    const struct weft_rack_state *state;
    uint32_t *use; // link * wavelengths: fibers that have it taken
    const struct circuit *circuits;
    uint32_t count;
    uint32_t *colors; // by order of search
    uint32_t nodes;
    struct rack_effort *effort; // NULL = NODES_MAX alone
};

static uint32_t *use_of(const struct coloring *search, const struct rack_path *path, uint32_t hop,
                        uint32_t color)
{
    const struct rack_tables *tables = &search->state->tables;
    uint32_t link = rack_link(tables, path->servers[hop], path->servers[hop + 1]);
    return &search->use[link * tables->wavelengths + color];
}

static bool is_free(const struct coloring *search, const struct rack_path *path, uint32_t color)
{
    const struct rack_tables *tables = &search->state->tables;
    for (uint32_t h = 0; h < path->hops; h++) {
        uint32_t link = rack_link(tables, path->servers[h], path->servers[h + 1]);
        if (*use_of(search, path, h, color) >= tables->fibers[link]) {
            return false;
        }
    }
    return true;
}

static void take(struct coloring *search, const struct rack_path *path, uint32_t color, uint32_t by)
{
    for (uint32_t h = 0; h < path->hops; h++) {
        *use_of(search, path, h, color) += by;
    }
}

static bool first_fit(struct coloring *search)
{
    for (uint32_t i = 0; i < search->count; i++) {
        const struct rack_path *path = search->circuits[i].path;
        uint32_t color = 0;
        while (color < search->state->tables.wavelengths && !is_free(search, path, color)) {
            color++;
        }
        if (color == search->state->tables.wavelengths) {
            for (uint32_t back = 0; back < i; back++) {
                take(search, search->circuits[back].path, search->colors[back], WEFT_NONE);
            }
            return false;
        }
        search->colors[i] = color;
        take(search, path, color, 1);
    }
    return true;
}

static enum rack_answer search_all(struct coloring *search, uint32_t i)
{
    if (i == search->count) {
        return RACK_FOUND;
    }
    const struct circuit *circuit = &search->circuits[i];
    for (uint32_t color = circuit->follows ? search->colors[i - 1] : 0;
         color < search->state->tables.wavelengths; color++) {
        if (++search->nodes > NODES_MAX ||
            (search->effort != NULL && !rack_step(search->effort, 1))) {
            return RACK_CUT;
        }
        if (!is_free(search, circuit->path, color)) {
            continue;
        }
        search->colors[i] = color;
        take(search, circuit->path, color, 1);
        enum rack_answer answer = search_all(search, i + 1);
        take(search, circuit->path, color, WEFT_NONE);
        if (answer != RACK_NONE) {
            return answer;
        }
    }
    return RACK_NONE;
}

// Circuits of more than one hop, the longest paths first.
static struct circuit *list_circuits(uint32_t *count, const struct rack_bundle *bundles,
                                     uint32_t bundle_count, struct weft_arena *arena)
{
    uint32_t total = 0;
    uint32_t longest = 0;
    for (uint32_t b = 0; b < bundle_count; b++) {
        total += bundles[b].path->hops > 1 ? bundles[b].circuits : 0;
        longest = bundles[b].path->hops > longest ? bundles[b].path->hops : longest;
    }
    struct circuit *circuits = WEFT_NEW(arena, struct circuit, (size_t)total + 1);
    uint32_t listed = 0;
    for (uint32_t hops = longest; hops > 1; hops--) {
        uint32_t at = 0;
        for (uint32_t b = 0; b < bundle_count; b++) {
            const struct rack_bundle *bundle = &bundles[b];
            for (uint32_t c = 0; bundle->path->hops == hops && c < bundle->circuits; c++) {
                circuits[listed++] = (struct circuit){bundle->path, at + c, c > 0};
            }
            at += bundle->path->hops > 1 ? bundle->circuits : 0;
        }
    }
    WEFT_ASSERT(listed == total);
    *count = total;
    return circuits;
}

enum rack_answer rack_color(uint32_t *colors, const struct weft_rack_state *state,
                            const struct rack_bundle *bundles, uint32_t count,
                            struct rack_effort *effort, struct weft_arena scratch)
{
    const struct rack_tables *tables = &state->tables;
    struct coloring search = {.state = state, .effort = effort};
    search.circuits = list_circuits(&search.count, bundles, count, &scratch);
    if (search.count == 0) {
        return RACK_FOUND;
    }
    size_t uses = (size_t)tables->link_count * tables->wavelengths;
    search.use = WEFT_NEW_RAW(&scratch, uint32_t, uses);
    memcpy(search.use, state->color_use, uses * sizeof *search.use);
    search.colors = WEFT_NEW(&scratch, uint32_t, search.count);
    if (!first_fit(&search)) {
        enum rack_answer answer = search_all(&search, 0);
        if (answer != RACK_FOUND) {
            return answer;
        }
    }
    for (uint32_t i = 0; i < search.count; i++) {
        colors[search.circuits[i].at] = search.colors[i];
    }
    return RACK_FOUND;
}
