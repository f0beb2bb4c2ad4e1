// SPDX-License-Identifier: Apache-2.0
// The rack before anything is taken of it: whether its numbers fit together, its links as tables,
// and its automorphisms, which are permutations of servers that keep chips, links and fibers. A
// 4-cube of servers has 384. They are found by giving the servers, one after the other, images
// that agree with all links to those before. O(servers^3 + automorphisms found).

#include "tables.h"

#include <math.h>
#include <string.h>

#define CHANNELS_MAX ((uint64_t)1 << 24) // of all links: a byte each

bool weft_rack_check(const struct weft_rack *rack, struct weft_arena scratch,
                     struct weft_error *error)
{
    uint64_t n = rack->server_count;
    uint64_t c = rack->chips_per_server;
    if (n < 1 || n > WEFT_RACK_SERVERS_MAX || c < 1 || n * c > WEFT_RACK_CHIPS_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "%llu servers of %llu chips; a rack has 1 to %u servers and at most %u "
                         "chips",
                         (unsigned long long)n, (unsigned long long)c, WEFT_RACK_SERVERS_MAX,
                         WEFT_RACK_CHIPS_MAX);
    }
    if ((uint64_t)rack->block[0] * rack->block[1] * rack->block[2] != c) {
        return weft_fail(error, WEFT_INPUT, "a block of %u x %u x %u is not %llu chips",
                         rack->block[0], rack->block[1], rack->block[2], (unsigned long long)c);
    }
    uint64_t torus = (uint64_t)rack->sides[0] * rack->sides[1] * rack->sides[2];
    if (torus != n && torus != 0) {
        return weft_fail(error, WEFT_INPUT, "a torus of %u x %u x %u is not %llu servers",
                         rack->sides[0], rack->sides[1], rack->sides[2], (unsigned long long)n);
    }
    if (rack->wavelengths < 1 || rack->wavelengths > WEFT_RACK_WAVELENGTHS_MAX ||
        rack->chip_wavelengths < 1 || rack->chip_wavelengths > WEFT_RACK_WAVELENGTHS_MAX) {
        return weft_fail(error, WEFT_INPUT, "fibers and chips have 1 to %u wavelengths",
                         WEFT_RACK_WAVELENGTHS_MAX);
    }
    if (!(rack->wavelength_Bps > 0) || !isfinite(rack->wavelength_Bps)) {
        return weft_fail(error, WEFT_INPUT, "a wavelength carries %g B/s; give it a rate above 0",
                         rack->wavelength_Bps);
    }
    bool *seen = WEFT_NEW(&scratch, bool, n *n);
    for (uint32_t l = 0; l < rack->link_count; l++) {
        const struct weft_rack_link *link = &rack->links[l];
        if (link->a >= link->b || link->b >= n || seen[link->a * n + link->b]) {
            return weft_fail(error, WEFT_INPUT,
                             "link %u joins %u and %u; each pair of servers below %llu stands "
                             "once, the lower first",
                             l, link->a, link->b, (unsigned long long)n);
        }
        if (link->fibers < 1 || link->fibers > WEFT_RACK_FIBERS_MAX) {
            return weft_fail(error, WEFT_INPUT, "link %u has %u fibers; write 1 to %u", l,
                             link->fibers, WEFT_RACK_FIBERS_MAX);
        }
        seen[link->a * n + link->b] = true;
    }
    uint64_t lit = rack_fibers_lit(rack);
    if (rack->link_count * lit * rack->wavelengths > CHANNELS_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "%u links of up to %llu fibers with %u wavelengths are more channels "
                         "than %llu; give fewer wavelengths",
                         rack->link_count, (unsigned long long)lit, rack->wavelengths,
                         (unsigned long long)CHANNELS_MAX);
    }
    return true;
}

uint32_t weft_rack_torus_links(struct weft_rack_link *links, const uint32_t sides[3],
                               uint32_t fibers)
{
    uint32_t count = 0;
    uint32_t n = sides[0] * sides[1] * sides[2];
    for (uint32_t s = 0; s < n; s++) {
        uint32_t stride = 1;
        for (uint32_t d = 0; d < 3; stride *= sides[d], d++) {
            uint32_t at = s / stride % sides[d];
            if (sides[d] == 1 || (sides[d] == 2 && at == 1)) {
                continue; // no neighbor, or the pair is there
            }
            uint32_t next = s - at * stride + (at + 1) % sides[d] * stride;
            links[count++] =
                (struct weft_rack_link){s < next ? s : next, s < next ? next : s, fibers};
        }
    }
    return count;
}

// Fibers of a pair of servers that slices can light at most: each chip has circuits to three
// neighbors on one side, of as many wavelengths as its rings divide its injection into.
uint64_t rack_fibers_lit(const struct weft_rack *rack)
{
    uint64_t circuits =
        (uint64_t)rack->server_count * rack->chips_per_server * (rack->chip_wavelengths / 2 + 3);
    uint64_t most = 1;
    for (uint32_t l = 0; l < rack->link_count; l++) {
        most = rack->links[l].fibers > most ? rack->links[l].fibers : most;
    }
    return most < circuits ? most : circuits;
}

struct automorphisms {
    const struct weft_rack *rack;
    const uint32_t *fibers; // n * n, 0 = no link
    uint8_t *rows;
    uint32_t count;
    uint64_t tries; // left
    uint8_t image[WEFT_RACK_SERVERS_MAX];
    uint64_t used;
};

static void extend(struct automorphisms *search, uint32_t s)
{
    uint32_t n = search->rack->server_count;
    if (s == n) {
        memcpy(search->rows + (size_t)search->count * n, search->image, n);
        search->count++;
        return;
    }
    for (uint32_t t = 0; t < n && search->count < RACK_AUTOMORPHISMS_MAX && search->tries > 0;
         t++) {
        bool agrees = (search->used & rack_bit(t)) == 0;
        for (uint32_t before = 0; agrees && before < s; before++) {
            agrees =
                search->fibers[s * n + before] == search->fibers[t * n + search->image[before]];
        }
        search->tries--;
        if (agrees) {
            search->image[s] = (uint8_t)t;
            search->used |= rack_bit(t);
            extend(search, s + 1);
            search->used &= ~rack_bit(t);
        }
    }
}

static void find_automorphisms(struct rack_tables *tables, const struct weft_rack *rack,
                               struct weft_arena *arena)
{
    uint32_t n = rack->server_count;
    uint32_t *fibers = WEFT_NEW(arena, uint32_t, (size_t)n * n);
    for (uint32_t l = 0; l < rack->link_count; l++) {
        const struct weft_rack_link *link = &rack->links[l];
        fibers[link->a * n + link->b] = link->fibers;
        fibers[link->b * n + link->a] = link->fibers;
    }
    struct automorphisms search = {
        .rack = rack,
        .fibers = fibers,
        .rows = WEFT_NEW(arena, uint8_t, (size_t)RACK_AUTOMORPHISMS_MAX * n),
        .tries = 1000000,
    };
    extend(&search, 0);
    tables->automorphism_count = search.count;
    tables->automorphisms = search.rows;
}

void rack_tables_build(struct rack_tables *tables, const struct weft_rack *rack,
                       struct weft_arena *arena)
{
    uint32_t n = rack->server_count;
    uint32_t m = rack->link_count;
    uint64_t lit = rack_fibers_lit(rack);
    uint32_t *a = WEFT_NEW(arena, uint32_t, m);
    uint32_t *b = WEFT_NEW(arena, uint32_t, m);
    uint32_t *fibers = WEFT_NEW(arena, uint32_t, m);
    uint32_t *channels = WEFT_NEW(arena, uint32_t, m);
    uint32_t *link_of = WEFT_NEW(arena, uint32_t, (size_t)n * n);
    uint64_t *near = WEFT_NEW(arena, uint64_t, n);
    for (uint32_t i = 0; i < n * n; i++) {
        link_of[i] = WEFT_NONE;
    }
    for (uint32_t l = 0; l < m; l++) {
        const struct weft_rack_link *link = &rack->links[l];
        a[l] = link->a;
        b[l] = link->b;
        fibers[l] = (uint32_t)(link->fibers < lit ? link->fibers : lit);
        channels[l] = fibers[l] * rack->wavelengths;
        link_of[a[l] * n + b[l]] = l;
        link_of[b[l] * n + a[l]] = l;
        near[a[l]] |= rack_bit(b[l]);
        near[b[l]] |= rack_bit(a[l]);
    }
    *tables = (struct rack_tables){
        .server_count = n,
        .link_count = m,
        .wavelengths = rack->wavelengths,
        .link_a = a,
        .link_b = b,
        .fibers = fibers,
        .channels = channels,
        .link_of = link_of,
        .near = near,
        .hops_max = n,
    };
    if (rack->budget_db > 0 && rack->hop_db > 0 && rack->budget_db / rack->hop_db < n) {
        // A budget of 3 dB is three hops of 1 dB however the quotient is rounded.
        tables->hops_max = (uint32_t)floor(rack->budget_db / rack->hop_db * (1 + 1e-12));
    }
    find_automorphisms(tables, rack, arena);
}
