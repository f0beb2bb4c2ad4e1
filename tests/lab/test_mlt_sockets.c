// SPDX-License-Identifier: Apache-2.0
// All-reduce over MLT by real processes and UDP over loopback: sums, bits, bounds.

#include <setjmp.h> // cmocka needs these four first
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/mlt/allreduce.h"
#include "runtime/process/connections.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS_MAX = 8, TENSORS_MAX = 4 };

struct run {
    struct lab_mlt_options options;
    uint32_t ranks;
    uint32_t steps;
    // What all processes write: the hash of each rank's result after each step, and counts.
    uint64_t hashes[64][RANKS_MAX];
    struct lab_mlt_counts counts[RANKS_MAX];
};

static uint64_t hash_of(const float *vector, size_t count)
{
    uint64_t hash = 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &vector[i], sizeof bits);
        hash = weft_hash(hash ^ bits);
    }
    return hash;
}

// Whole numbers, whose sums are exact in any order.
static float value(uint32_t rank, uint32_t step, size_t i)
{
    return (float)(weft_hash((uint64_t)rank << 40 ^ (uint64_t)step << 32 ^ i) % 1000) - 500;
}

static bool play(struct lab_peer *self, struct run *run, float *vector, struct weft_error *error)
{
    const size_t count = run->options.first[run->options.tensor_count];
    struct lab_mlt *mlt;
    if (!lab_mlt_open(&mlt, self, &run->options, error)) {
        return false;
    }
    bool fine = true;
    for (uint32_t step = 0; fine && step < run->steps; step++) {
        for (size_t i = 0; i < count; i++) {
            vector[i] = value(self->rank, step, i);
        }
        fine = lab_mlt_allreduce(mlt, vector, error);
        for (size_t i = 0; fine && run->options.bound == 0 && i < count; i++) {
            float sum = 0;
            for (uint32_t rank = 0; rank < run->ranks; rank++) {
                sum += value(rank, step, i);
            }
            fine = sum == vector[i] ||
                   weft_fail(error, WEFT_INFEASIBLE, "step %u: [%zu] is wrong", step, i);
        }
        run->hashes[step][self->rank] = hash_of(vector, count);
    }
    run->counts[self->rank] = *lab_mlt_counts(mlt);
    char none;
    fine = fine && lab_peer_send(self, LAB_MESSAGE_RESULT, NULL, 0, error) &&
           lab_mlt_wait(mlt, self->control, error) &&
           (lab_peer_receive(self, LAB_MESSAGE_GO, &none, 0, error) || error->code == WEFT_OK);
    lab_mlt_close(mlt);
    return fine;
}

static int live(struct lab_peer *self, void *context)
{
    struct run *run = context;
    struct weft_error error;
    const size_t count = run->options.first[run->options.tensor_count];
    float *vector = calloc(count, sizeof *vector);
    bool fine = play(self, run, vector, &error);
    free(vector);
    if (!fine) {
        lab_peer_fail(self, &error);
    }
    return fine ? 0 : 1;
}

static struct run *make_run(const struct lab_mlt_options *options, uint32_t ranks, uint32_t steps)
{
    struct run *run =
        mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(run != MAP_FAILED);
    *run = (struct run){.options = *options, .ranks = ranks, .steps = steps};
    return run;
}

static bool run_all(struct run *run, struct weft_error *error)
{
    struct lab_coordinator coordinator;
    const struct lab_peers peers = {
        .count = run->ranks, .timeout_ms = 20000, .run = live, .context = run};
    if (!lab_coordinator_fork(&coordinator, &peers, error)) {
        return false;
    }
    bool fine = lab_connections_introduce(&coordinator, error) &&
                lab_coordinator_gather(&coordinator, LAB_MESSAGE_RESULT, NULL, 0, error);
    lab_coordinator_close(&coordinator);
    return fine;
}

static const uint32_t shapes[][TENSORS_MAX + 1] = {
    {0, 5000, 5010, 90000, 90001},
    {0, 1, 2, 3, 4}, // fewer segments than ranks
    {0, 256, 512, 20000, 20257},
};

static void sums_are_exact_where_all_must_come(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3 * 2 * 3; i++) {
        static const uint32_t ranks[] = {2, 3, 8};
        const struct lab_mlt_options options = {
            .pattern = i % 2 == 0 ? LAB_MLT_PS : LAB_MLT_RING,
            .tensor_count = TENSORS_MAX,
            .first = shapes[i / 2 % 3],
            .segment_floats = 256,
            .unimportant = 0.5,
            .rescales = i % 4 < 2,
            .paths = 1 + i % 5,
            .rate_Bps = 1e9,
            .timeout_ms = 10000,
        };
        struct run *run = make_run(&options, ranks[i / 6], 3);
        struct weft_error error;
        if (!run_all(run, &error)) {
            fail_msg("case %u: %s", i, error.message);
        }
        munmap(run, sizeof *run);
    }
}

static void all_ranks_hold_the_same_bits(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        const struct lab_mlt_options options = {
            .pattern = i % 2 == 0 ? LAB_MLT_PS : LAB_MLT_RING,
            .tensor_count = TENSORS_MAX,
            .first = shapes[0],
            .segment_floats = 64,
            .bound = 0.3,
            .unimportant = 0.5,
            .rescales = i < 2,
            .paths = 4,
            .rate_Bps = 1e9,
            .timeout_ms = 10000,
        };
        struct run *run = make_run(&options, 5, 4);
        struct weft_error error;
        if (!run_all(run, &error)) {
            fail_msg("case %u: %s", i, error.message);
        }
        uint64_t due = 0;
        uint64_t came = 0;
        for (uint32_t rank = 0; rank < run->ranks; rank++) {
            for (uint32_t step = 0; step < run->steps; step++) {
                assert_int_equal(run->hashes[step][rank], run->hashes[step][0]);
            }
            due += run->counts[rank].contributions_due;
            came += run->counts[rank].contributions_came;
            // Of one tensor; parameter servers count what one rank sent of it.
            assert_true(run->counts[rank].delivered_min_ratio >= 1 - options.bound);
        }
        assert_true((double)came >= (1 - options.bound) * (double)due && came < due);
        munmap(run, sizeof *run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_where_all_must_come),
        cmocka_unit_test(all_ranks_hold_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
