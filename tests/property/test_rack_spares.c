// SPDX-License-Identifier: Apache-2.0
// Spares of random racks against failures drawn one by one: the shares of draws that lose at most k
// chips, as published and distinct, and servers, lie within five deviations of what is computed.
//
// Mutations that made this test fail (each was run): a group moves k by one chip less than it has;
// the part of the distribution that stays is not weighted by 1 - p; a risky block forgets what its
// parts lose; the groups of servers touch the server after theirs.

#include "../fresh_arenas.h"
#include "../seeds.h"
#include "weft/plan/rack_spares.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS 40u
#define DRAWS 4000u

struct counts {
    uint32_t added[512]; // draws with F = k
    uint32_t distinct[128];
    uint32_t servers[128];
};

// One outcome of everything that may fail.
static void draw(struct counts *counts, const struct weft_spares_request *request,
                 struct weft_rng *rng)
{
    bool lost[128] = {false};
    bool touched[128] = {false};
    uint32_t added = 0;
    for (uint32_t c = 0; c < request->chip_count; c++) {
        lost[c] = weft_rng_unit(rng) < request->chip_probability;
        added += lost[c];
    }
    for (uint32_t g = 0; g < request->kind_count; g++) {
        const struct weft_risk_kind *kind = &request->kinds[g];
        for (uint32_t i = 0; i < kind->count; i++) {
            if (weft_rng_unit(rng) < kind->probability) {
                memset(&lost[i * kind->size], true, kind->size);
                added += kind->size;
            }
        }
    }
    uint32_t distinct = 0;
    uint32_t servers = 0;
    for (uint32_t c = 0; c < request->chip_count; c++) {
        uint32_t server = c / request->chips_per_server;
        distinct += lost[c];
        servers += lost[c] && !touched[server];
        touched[server] = touched[server] || lost[c];
    }
    counts->added[added]++;
    counts->distinct[distinct]++;
    counts->servers[servers]++;
}

static void agrees(const uint32_t *counts, const double *sums, uint32_t count, const char *what)
{
    uint32_t below = 0;
    for (uint32_t k = 0; k < count; k++) {
        below += counts[k];
        double share = (double)below / DRAWS;
        double deviation = sqrt(sums[k] * (1 - sums[k]) / DRAWS);
        if (fabs(share - sums[k]) > 5 * deviation + 1e-9) {
            fail_msg("%s: P(at most %u) is %g, drawn %g", what, k, sums[k], share);
        }
    }
    assert_int_equal(below, DRAWS);
}

static void computed_shares_are_drawn(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 4, 8};
    for (uint32_t seed = 0; seed < TEST_SEEDS(SEEDS); seed++) {
        struct weft_rng rng = weft_rng_stream(0x59a7e, seed);
        struct weft_risk_kind kinds[3];
        struct weft_spares_request request = {
            .chip_count = 8 + weft_rng_below(&rng, 57),
            .chip_probability = 0.05 * weft_rng_unit(&rng),
            .chips_per_server = sizes[weft_rng_below(&rng, 4)],
            .kind_count = weft_rng_below(&rng, 4),
            .kinds = kinds,
            .target = 0.9,
        };
        for (uint32_t g = 0; g < request.kind_count; g++) {
            uint32_t size = sizes[weft_rng_below(&rng, 4)];
            kinds[g] =
                (struct weft_risk_kind){size, 1 + weft_rng_below(&rng, request.chip_count / size),
                                        0.1 * weft_rng_unit(&rng)};
        }
        struct weft_spares spares;
        struct weft_error error;
        struct counts counts = {0};
        print_message("seed %u\n", seed);
        assert_true(weft_rack_spares(&spares, &request, &arena, scratch, &error));
        for (uint32_t d = 0; d < DRAWS; d++) {
            draw(&counts, &request, &rng);
        }
        agrees(counts.added, spares.probability, spares.probability_count, "added");
        agrees(counts.distinct, spares.distinct, spares.distinct_count, "distinct");
        agrees(counts.servers, spares.servers, spares.server_count + 1, "servers");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(computed_shares_are_drawn, open_arenas, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
