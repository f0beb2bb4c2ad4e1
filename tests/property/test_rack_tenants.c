// SPDX-License-Identifier: Apache-2.0
// Tenants of racks: shares of links are max-min; a rack that any free chips serve is the loss
// system of Kaufman and Roberts, whose blocking is known exactly; every request is counted once.
//
// Mutations that made this test fail (each was run): a ring is counted one way round only; a slice
// is held at the rate of a link that it does not cross; boxes begin anywhere; the gap between
// arrivals is half as long; a size is drawn with half of the weight before it; places of tenants
// that left are not used again; a tenant that leaves gives one chip back; shares are not renewed
// when one leaves; racks are held full whatever the load.

#include "../fresh_arenas.h"
#include "../rack_torus.h"
#include "../seeds.h"
#include "scheduler/tenants/tenants.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS 60u
#define CHIPS 64u

// ---- shares ----

// What all slices take of a link.
static double load_of(const struct torus *torus, uint32_t link)
{
    double load = 0;
    for (uint32_t s = 0; s < torus->chip_count; s++) {
        if (torus->slots[s].taken) {
            load += torus->slots[s].use[link] * torus->slots[s].share;
        }
    }
    return load;
}

// Max-min: no link is over full, and every slice below its links' rate crosses a full link on which
// no other is quicker.
static void shares_are_maxmin(const struct torus *torus)
{
    for (uint32_t l = 0; l < torus->link_count; l++) {
        assert_true(load_of(torus, l) <= 1 + 1e-9);
    }
    for (uint32_t s = 0; s < torus->chip_count; s++) {
        const struct torus_slice *slice = &torus->slots[s];
        bool bound = !slice->taken || slice->share == 1;
        for (uint32_t l = 0; l < torus->link_count && !bound; l++) {
            bound = slice->use[l] > 0 && load_of(torus, l) >= 1 - 1e-9;
            for (uint32_t o = 0; o < torus->chip_count && bound; o++) {
                const struct torus_slice *other = &torus->slots[o];
                bound = !other->taken || other->use[l] == 0 || other->share <= slice->share + 1e-9;
            }
        }
        assert_true(bound);
    }
}

// Each link of a scattered ring is used alike both ways, and every chip sends to somebody.
static void ring_is_whole(const struct torus *torus, uint32_t slot)
{
    const struct torus_slice *slice = &torus->slots[slot];
    uint32_t chips = 0;
    uint32_t up = 0;
    uint32_t down = 0;
    for (uint32_t c = 0; c < torus->chip_count; c++) {
        uint32_t out = 0;
        for (uint32_t l = 0; l < 6; l++) {
            out += slice->use[c * 6 + l];
            up += l % 2 == 0 ? slice->use[c * 6 + l] : 0;
            down += l % 2 == 1 ? slice->use[c * 6 + l] : 0;
        }
        chips += torus->holder[c] == slot;
        assert_true(torus->holder[c] != slot || slice->chip_count == 1 || out > 0);
    }
    assert_int_equal(chips, slice->chip_count);
    assert_int_equal(up, down);
}

static void rings_share_links_maxmin(void **state)
{
    (void)state;
    const struct weft_rack rack = rack_torus(4);
    for (uint32_t seed = 0; seed < TEST_SEEDS(SEEDS); seed++) {
        struct weft_rng rng = weft_rng_stream(0x7e4a, seed);
        struct weft_arena own = scratch;
        struct torus torus;
        torus_open(&torus, &rack, &own);
        print_message("seed %u\n", seed);
        for (uint32_t step = 0; step < 40; step++) {
            uint32_t slot = weft_rng_below(&rng, CHIPS);
            const struct weft_tenant_size *size =
                &weft_tenant_mix[weft_rng_below(&rng, WEFT_TENANT_MIX_SIZES - 1)];
            uint32_t chips = size->sides[0] * size->sides[1] * size->sides[2];
            if (torus.slots[slot].taken) {
                torus_release(&torus, slot);
            } else if (chips <= torus.free_count) {
                if (!torus_place_box(&torus, &slot, size->sides, false)) {
                    torus_place_scattered(&torus, &slot, chips, own);
                    ring_is_whole(&torus, slot);
                }
            }
            torus_share(&torus, own);
            shares_are_maxmin(&torus);
        }
    }
}

// ---- a loss system ----

static struct weft_tenant_source drawn(double load, uint64_t count, uint64_t seed)
{
    return (struct weft_tenant_source){.count = count,
                                       .load = load,
                                       .lifetime_s = 3600,
                                       .size_count = WEFT_TENANT_MIX_SIZES,
                                       .sizes = weft_tenant_mix,
                                       .seed = seed};
}

// Blocking of each size where any free chips serve: with q(j) the weight of j chips in use,
// j q(j) = sum over sizes of a_s b_s q(j - b_s), a size of b chips is blocked while more than
// CHIPS - b are in use. (Kaufman, IEEE Trans. Communications 1981; Roberts 1981.)
static void kaufman_roberts(double *blocked, double load)
{
    double q[CHIPS + 1] = {1};
    double mean = 0;
    double sum = 1;
    for (uint32_t s = 0; s < WEFT_TENANT_MIX_SIZES; s++) {
        const struct weft_tenant_size *size = &weft_tenant_mix[s];
        mean += size->weight * size->sides[0] * size->sides[1] * size->sides[2];
    }
    for (uint32_t j = 1; j <= CHIPS; j++) {
        for (uint32_t s = 0; s < WEFT_TENANT_MIX_SIZES; s++) {
            const struct weft_tenant_size *size = &weft_tenant_mix[s];
            uint32_t chips = size->sides[0] * size->sides[1] * size->sides[2];
            double erlangs = load * CHIPS / mean * size->weight;
            q[j] += chips <= j ? erlangs * chips * q[j - chips] / j : 0;
        }
        sum += q[j];
    }
    for (uint32_t s = 0; s < WEFT_TENANT_MIX_SIZES; s++) {
        const struct weft_tenant_size *size = &weft_tenant_mix[s];
        uint32_t chips = size->sides[0] * size->sides[1] * size->sides[2];
        for (uint32_t j = CHIPS - chips + 1; j <= CHIPS; j++) {
            blocked[s] += q[j] / sum;
        }
    }
}

static struct weft_tenants_run play(const struct weft_tenant_source *source,
                                    const struct weft_rack *rack, enum weft_tenant_fabric fabric)
{
    const struct weft_tenants_options options = {
        .rack = rack,
        .rack_count = 1,
        .fabric = fabric,
        .job = {.allreduce_bytes = 1e6, .gradient_bytes = 1e6, .compute_s = 1e-3}};
    struct weft_tenants_run run;
    struct weft_error error;
    assert_true(weft_tenants_play(&run, source, &options, &arena, scratch, &error));
    return run;
}

static void counts_add_up(const struct weft_tenants_run *run, uint64_t requests)
{
    uint64_t asked = 0;
    for (uint32_t s = 0; s < run->row_count; s++) {
        const struct weft_tenant_row *row = &run->rows[s];
        uint64_t ended = row->placed;
        for (uint32_t r = WEFT_RACK_CAPACITY; r < WEFT_RACK_REASON_COUNT; r++) {
            ended += row->rejected[r];
        }
        assert_int_equal(ended, row->asked);
        asked += row->asked;
    }
    assert_int_equal(asked, requests);
    assert_int_equal(run->all.asked, requests);
    assert_true(run->utilization > 0 && run->utilization <= 1);
}

static void capacity_alone_blocks_as_theory_has_it(void **state)
{
    (void)state;
    static const double loads[] = {0.7, 0.85};
    const struct weft_rack rack = rack_torus(4);
    const uint64_t requests = 10000;
    for (uint32_t l = 0; l < 2; l++) {
        const struct weft_tenant_source source = drawn(loads[l], requests, 7 + l);
        double blocked[WEFT_TENANT_MIX_SIZES] = {0};
        kaufman_roberts(blocked, loads[l]);
        const struct weft_tenants_run run = play(&source, &rack, WEFT_TENANT_SCATTERED);
        counts_add_up(&run, requests);
        assert_int_equal(run.all.asked - run.all.placed, run.all.rejected[WEFT_RACK_CAPACITY]);
        for (uint32_t s = 0; s < WEFT_TENANT_MIX_SIZES; s++) {
            double asked = (double)run.rows[s].asked;
            double share = (asked - (double)run.rows[s].placed) / asked;
            // Requests that meet one and the same full rack are blocked together: a stay is some
            // six arrivals long, so that deviations are up to sqrt(6) of independent ones'.
            double deviation = sqrt(6 * blocked[s] * (1 - blocked[s]) / asked);
            print_message("load %g, %u chips: %g blocked, %g in theory\n", loads[l],
                          run.rows[s].chips, share, blocked[s]);
            assert_true(fabs(share - blocked[s]) < 4 * deviation);
        }
        const struct weft_tenants_run torus = play(&source, &rack, WEFT_TENANT_TORUS);
        counts_add_up(&torus, requests);
        assert_true(torus.all.rejected[WEFT_RACK_FRAGMENTATION] > 0);
    }
}

// ---- optical racks ----

// Any number of fibers: exact placement refuses for capacity alone, the very requests that any free
// chips refuse. Four a pair: others go for fibers, counted as such, and nobody for fragmentation.
static void light_refuses_for_capacity_alone(void **state)
{
    (void)state;
    static const double loads[] = {0.7, 0.85};
    const uint64_t requests = 10000;
    for (uint32_t l = 0; l < 2; l++) {
        const struct weft_tenant_source source = drawn(loads[l], requests, 11 + l);
        struct weft_rack rack = rack_torus(WEFT_RACK_FIBERS_MAX);
        const struct weft_tenants_run any = play(&source, &rack, WEFT_TENANT_SCATTERED);
        const struct weft_tenants_run light = play(&source, &rack, WEFT_TENANT_PHOTONIC);
        counts_add_up(&light, requests);
        assert_int_equal(light.all.asked - light.all.placed,
                         light.all.rejected[WEFT_RACK_CAPACITY]);
        for (uint32_t s = 0; s < WEFT_TENANT_MIX_SIZES; s++) {
            assert_int_equal(light.rows[s].placed, any.rows[s].placed);
        }
        assert_true(light.utilization == any.utilization);
        rack = rack_torus(4);
        const struct weft_tenants_run few = play(&source, &rack, WEFT_TENANT_PHOTONIC);
        counts_add_up(&few, requests);
        assert_int_equal(few.all.rejected[WEFT_RACK_FRAGMENTATION], 0);
        assert_true(few.all.rejected[WEFT_RACK_FIBERS] > 0);
        assert_true(few.fiber_load_max <= 4 && few.fiber_load_max > 0);
        print_message("load %g: %g rejected, %u of 10000 for fibers with four a pair\n", loads[l],
                      1 - (double)light.all.placed / (double)requests,
                      (uint32_t)few.all.rejected[WEFT_RACK_FIBERS]);
    }
}

// Boxes of the torus are those of the contiguous allocator, one after the other.
static void boxes_are_the_contiguous_ones(void **state)
{
    (void)state;
    const struct weft_rack rack = rack_torus(WEFT_RACK_FIBERS_MAX);
    const struct weft_rack_options contiguous = {
        .allocator = WEFT_RACK_CONTIGUOUS, .given = true, .brief = true};
    for (uint32_t seed = 0; seed < TEST_SEEDS(SEEDS); seed++) {
        struct weft_rng rng = weft_rng_stream(0xb0c5, seed);
        struct weft_arena own = scratch;
        struct weft_arena states = weft_arena_split(&own);
        struct torus torus;
        struct weft_rack_state *light = weft_rack_open(&rack, &states);
        uint32_t tenants[CHIPS] = {0}; // of the state, by slot
        torus_open(&torus, &rack, &own);
        print_message("seed %u\n", seed);
        for (uint32_t step = 0; step < 60; step++) {
            uint32_t slot = weft_rng_below(&rng, 12);
            struct weft_rack_request request = {0};
            struct weft_rack_slice slice;
            memcpy(request.sides, weft_tenant_mix[weft_rng_below(&rng, 4)].sides,
                   sizeof request.sides);
            if (torus.slots[slot].taken) {
                torus_release(&torus, slot);
                weft_rack_release(light, tenants[slot]);
                continue;
            }
            bool placed = torus_place_box(&torus, &slot, request.sides, false);
            assert_int_equal(placed, weft_rack_place(&slice, light, &request, &contiguous, own));
            for (uint32_t c = 0; placed && c < slice.chip_count; c++) {
                assert_int_equal(torus.holder[slice.chips[c]], slot);
            }
            tenants[slot] = slice.tenant;
        }
    }
}

// Racks that are kept full hold as much as asked, or a slice more.
static void racks_are_kept_full(void **state)
{
    (void)state;
    static const double loads[] = {0.3, 0.6, 0.85};
    const struct weft_rack rack = rack_torus(4);
    for (uint32_t l = 0; l < 3; l++) {
        struct weft_tenant_source source = drawn(loads[l], 4000, 5 + l);
        const struct weft_tenants_options options = {.rack = &rack,
                                                     .rack_count = 8,
                                                     .fabric = WEFT_TENANT_SCATTERED,
                                                     .order = WEFT_TENANT_RANDOM,
                                                     .job = {.compute_s = 1}};
        struct weft_tenants_run run;
        struct weft_error error;
        source.holds = true;
        assert_true(weft_tenants_play(&run, &source, &options, &arena, scratch, &error));
        counts_add_up(&run, 4000);
        print_message("held %g of %g\n", run.utilization, loads[l]);
        assert_true(run.utilization > loads[l] - 0.01 && run.utilization < loads[l] + 0.125);
    }
}

// ---- memory ----

struct long_run {
    uint64_t count;
    enum weft_tenant_fabric fabric;
};

static bool play_long(void *context)
{
    const struct long_run *asked = context;
    const struct weft_rack rack = rack_torus(4);
    const struct weft_tenant_source source = drawn(0.85, asked->count, 3);
    struct weft_arena own = scratch;
    struct weft_arena kept = weft_arena_split(&own);
    const struct weft_tenants_options options = {
        .rack = &rack, .rack_count = 2, .fabric = asked->fabric, .job = {.compute_s = 1}};
    struct weft_tenants_run run;
    struct weft_error error;
    return weft_tenants_play(&run, &source, &options, &kept, own, &error);
}

// What is enough for a few requests is enough for many: eight times as many in twice the room.
static void memory_does_not_grow(void **state)
{
    (void)state;
    for (uint32_t fabric = 0; fabric < WEFT_TENANT_FABRICS; fabric++) {
        struct long_run asked = {500, (enum weft_tenant_fabric)fabric};
        struct weft_error error;
        size_t room = 256 << 10; // the first segment
        bool fits = false;
        while (!fits) {
            room += room / 4;
            assert_true(weft_arena_init(&scratch, room, &error));
            fits = weft_guard(play_long, &asked, &error);
            weft_arena_release(&scratch);
            assert_true(fits || error.code == WEFT_UNSUPPORTED);
        }
        asked.count = 8 * asked.count;
        assert_true(weft_arena_init(&scratch, 2 * room, &error));
        assert_true(weft_guard(play_long, &asked, &error));
        weft_arena_release(&scratch);
        print_message("%s: %zu KiB\n", weft_tenant_fabric_words[fabric], room >> 10);
    }
}

static int no_scratch(void **state)
{
    (void)state;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rings_share_links_maxmin, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(capacity_alone_blocks_as_theory_has_it, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(light_refuses_for_capacity_alone, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(racks_are_kept_full, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(boxes_are_the_contiguous_ones, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(memory_does_not_grow, no_scratch, no_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
