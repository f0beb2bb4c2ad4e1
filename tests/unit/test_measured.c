// SPDX-License-Identifier: Apache-2.0
// Measured collectives: nccl-tests' and Inspector's files are read as their writers mean them, and
// the fit finds the latency and rate that the closed forms of rings were given.
//
// Mutations it failed with: the bus factor of an AllReduce for an AllGather; absolute errors in
// place of relative ones; a negative latency or rate kept; Inspector's parts of an AllGather taken
// for the whole; a median that takes the lower of two; hosts counted by where they change.

#include "../fresh_arenas.h"
#include "weft/collective.h"
#include "weft/format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct weft_error error;

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance * fabs(expected))) {
        fail_msg("%.9g is not within %g of %.9g", value, tolerance, expected);
    }
}

static struct weft_collective_samples read(const char *text)
{
    struct weft_collective_samples samples;
    if (!weft_nccl_measured_read(&samples, text, strlen(text), &arena, &error)) {
        fail_msg("%s", error.message);
    }
    return samples;
}

// ---- the fit ----

// Samples of a ring's closed form at sizes from 8 bytes to 8 GiB, shuffled, each as often as
// `noise` has values.
static struct weft_collective_samples ring_samples(enum weft_collective_kind kind, uint32_t ranks,
                                                   const struct weft_cost_model *model,
                                                   struct weft_rng *rng)
{
    enum { SIZES = 31, EACH = 3 };
    static const double noise[EACH] = {0.5, 1, 1.5}; // around a median without any
    struct weft_collective_sample *samples =
        WEFT_NEW(&arena, struct weft_collective_sample, SIZES * EACH);
    uint32_t order[SIZES * EACH];
    const struct weft_algorithm_options options = {.kind = kind, .rank_count = ranks};
    for (uint32_t i = 0; i < SIZES * EACH; i++) {
        order[i] = i;
    }
    weft_rng_shuffle(rng, order, SIZES * EACH);
    for (uint32_t i = 0; i < SIZES * EACH; i++) {
        uint64_t size = 8ull << (order[i] / EACH);
        double seconds = weft_algorithm_seconds(WEFT_ALGORITHM_RING, &options, (double)size, model);
        samples[i] = (struct weft_collective_sample){.kind = kind,
                                                     .rank_count = ranks,
                                                     .size_bytes = size,
                                                     .seconds = seconds * noise[order[i] % EACH]};
    }
    return (struct weft_collective_samples){SIZES * EACH, samples};
}

static void a_ring_gives_its_latency_and_rate_back(void **state)
{
    (void)state;
    static const enum weft_collective_kind kinds[] = {
        WEFT_COLLECTIVE_ALLREDUCE, WEFT_COLLECTIVE_REDUCE_SCATTER, WEFT_COLLECTIVE_ALLGATHER};
    const uint64_t seed = 20261124;
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t ranks = 2 + weft_rng_below(&rng, 2000);
        const struct weft_cost_model model = {.alpha_s = 1e-7 * exp(5 * weft_rng_unit(&rng)),
                                              .beta_s_per_byte =
                                                  1e-12 * exp(6 * weft_rng_unit(&rng))};
        const struct weft_collective_samples samples =
            ring_samples(kinds[i % 3], ranks, &model, &rng);
        struct weft_collective_fits fits;
        assert_true(weft_collective_fit(&fits, &samples, &arena, &error));
        assert_int_equal(fits.count, 1);
        const struct weft_collective_fit *fit = &fits.fits[0];
        near(fit->ring_message_s, model.alpha_s, 1e-6);
        near(1 / fit->rate_Bps, model.beta_s_per_byte, 1e-6);
        assert_true(fit->rms_ratio < 1e-9 && fit->size_count == 31);
        assert_int_equal(fit->sizes[0].sample_count, 3);
    }
}

// No other latency and rate nearby leave a smaller sum of squares; neither is ever negative.
static void the_fit_is_the_least_squares(void **state)
{
    (void)state;
    const uint64_t seed = 20261125;
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint32_t i = 0; i < 200; i++) {
        struct weft_collective_sample points[6];
        for (uint32_t p = 0; p < 6; p++) { // anything, rising or falling
            points[p] = (struct weft_collective_sample){
                .kind = WEFT_COLLECTIVE_BROADCAST,
                .rank_count = 4,
                .size_bytes = 1000ull << (2 * p),
                .seconds = 1e-6 * exp(8 * weft_rng_unit(&rng) * (i % 2 == 0 ? 1 : p / 5.0))};
        }
        struct weft_collective_fits fits;
        assert_true(weft_collective_fit(&fits, &(struct weft_collective_samples){6, points}, &arena,
                                        &error));
        const struct weft_collective_fit *fit = &fits.fits[0];
        double byte_s = isinf(fit->rate_Bps) ? 0 : 1 / fit->rate_Bps;
        assert_true(fit->latency_s >= 0 && byte_s >= 0);
        for (int step = 0; step < 9; step++) {
            double latency_s = fit->latency_s + 1e-9 * (step / 3 - 1);
            double other_s = byte_s * (1 + 1e-3 * (step % 3 - 1)) + 1e-15 * (step % 3 - 1);
            double squares = 0;
            for (uint32_t p = 0; p < 6; p++) {
                double off =
                    (latency_s + other_s * (double)points[p].size_bytes) / points[p].seconds - 1;
                squares += off * off;
            }
            assert_true(step != 4 || fabs(sqrt(squares / 6) - fit->rms_ratio) < 1e-9);
            bool allowed = latency_s >= 0 && other_s >= 0;
            assert_true(!allowed || sqrt(squares / 6) >= fit->rms_ratio * (1 - 1e-9));
        }
    }
}

// The median of two is between them; of three samples at another size it is the second.
static void each_size_stands_by_its_median(void **state)
{
    (void)state;
    const struct weft_collective_sample points[] = {{WEFT_COLLECTIVE_REDUCE, 8, 1, 1024, 9e-5},
                                                    {WEFT_COLLECTIVE_REDUCE, 8, 1, 64, 1e-5},
                                                    {WEFT_COLLECTIVE_REDUCE, 8, 1, 1024, 2e-5},
                                                    {WEFT_COLLECTIVE_REDUCE, 8, 1, 64, 2e-5},
                                                    {WEFT_COLLECTIVE_REDUCE, 8, 1, 1024, 3e-5}};
    struct weft_collective_fits fits;
    assert_true(
        weft_collective_fit(&fits, &(struct weft_collective_samples){5, points}, &arena, &error));
    near(fits.fits[0].sizes[0].seconds, 1.5e-5, 1e-12);
    near(fits.fits[0].sizes[1].seconds, 3e-5, 1e-12);
}

static void one_size_tells_nothing(void **state)
{
    (void)state;
    const struct weft_collective_sample points[] = {{WEFT_COLLECTIVE_ALLREDUCE, 8, 1, 1024, 1e-5},
                                                    {WEFT_COLLECTIVE_ALLREDUCE, 8, 1, 1024, 2e-5}};
    struct weft_collective_fits fits;
    assert_false(
        weft_collective_fit(&fits, &(struct weft_collective_samples){2, points}, &arena, &error));
    assert_string_equal(error.message,
                        "allreduce of 8 ranks: one size alone tells no latency from bandwidth; "
                        "measure several, as -b 8 -e 8G -f 2 does");
}

// ---- files ----

#define RANKS                                                                                      \
    "# Using devices\n"                                                                            \
    "#  Rank  0 Group  0 Pid     43 on node-b device  0 [0x0f] NVIDIA A100-SXM4-40GB\n"            \
    "#  Rank  1 Group  0 Pid     44 on node-a device  1 [0x15] NVIDIA A100-SXM4-40GB\n"            \
    "#  Rank  2 Group  0 Pid     43 on node-b device  2 [0x0f] NVIDIA A100-SXM4-40GB\n"
#define HEADER                                                                                     \
    "#                                     out-of-place            in-place\n"                     \
    "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"    \
    "#   (B)  (elements)                (us)  (GB/s)  (GB/s)       (us)  (GB/s)  (GB/s)\n"
#define ROW "  1024  256  float  sum  -1  12.50  0.08  0.11  0  14.5  0.07  0.1  N/A\n"

static void tests_are_read_by_the_names_of_columns(void **state)
{
    (void)state;
    struct weft_collective_samples samples =
        read("node: NCCL INFO Bootstrap : Using eth0\n"
             "# Collective test starting: reduce_scatter_perf_mpi\n" RANKS HEADER
             "     0  0  float  sum  -1  3.0  0.0  0.0  0  3.0  0.0  0.0  0\n" ROW
             "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.5\n#\n");
    assert_int_equal(samples.count, 2); // 0 bytes are nothing
    assert_int_equal(samples.samples[0].kind, WEFT_COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(samples.samples[0].rank_count, 3);
    assert_int_equal(samples.samples[0].server_count, 2);
    assert_int_equal(samples.samples[1].size_bytes, 1024);
    near(samples.samples[0].seconds, 12.5e-6, 1e-12);
    near(samples.samples[1].seconds, 14.5e-6, 1e-12);
    // Older versions name neither test nor wrong values, and have fewer columns; mpirun tags lines.
    samples =
        read("[1,0]<stdout>:#  size count type time algbw busbw error time algbw busbw error\n"
             "[1,0]<stdout>: 64 16 float 7.5 0.01 0.01 0e+00 8.5 0.01 0.01 0e+00\n");
    assert_int_equal(samples.count, 2);
    assert_int_equal(samples.samples[0].kind, WEFT_COLLECTIVE_KIND_COUNT);
    assert_int_equal(samples.samples[0].rank_count, 0);
    near(samples.samples[1].seconds, 8.5e-6, 1e-12);
}

#define RECORD(coll, size, ranks)                                                                  \
    "{\"header\": {\"id\": \"0x9\", \"rank\": 3, \"n_ranks\": " ranks ", \"nnodes\": 4},"          \
    " \"metadata\": {\"inspector_output_format_version\": \"v4.0\"},"                              \
    " \"coll_perf\": {\"coll\": \"" coll "\", \"coll_sn\": 129,"                                   \
    " \"coll_msg_size_bytes\": " size ", \"coll_exec_time_us\": 110,"                              \
    " \"coll_timing_source\": \"kernel_gpu\", \"coll_algobw_gbs\": 19.065018}}\n"

static void records_count_the_whole_collective(void **state)
{
    (void)state;
    const struct weft_collective_samples samples =
        read(RECORD("ReduceScatter", "65536", "32") "\n" RECORD("AllReduce", "65536", "32")
                 RECORD("AllReduce", "65536", "1") "{\"header\": {}, \"p2p_perf\": {}}\n");
    assert_int_equal(samples.count, 2); // a rank alone and a message are no collectives
    assert_int_equal(samples.samples[0].kind, WEFT_COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(samples.samples[0].rank_count, 32);
    assert_int_equal(samples.samples[0].server_count, 4);
    // As Inspector itself counts bandwidth.
    near((double)samples.samples[0].size_bytes / samples.samples[0].seconds, 19.065018e9, 1e-6);
    assert_int_equal(samples.samples[1].size_bytes, 65536);
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "no measurement; give what all_reduce_perf prints, or a file of NCCL's Inspector"},
        {RANKS HEADER, "no measurement; give what all_reduce_perf prints, or a file of NCCL's "
                       "Inspector"},
        {"\n" ROW, "line 2: a row before its header; keep the line '# size count type ... time'"},
        {HEADER " 1024 256 float sum -1 12.50\n",
         "line 4: 6 words where the header has 13; mend the line"},
        {HEADER "  1024  256  float  sum  -1  12.50  0.08  0.11  3  14.5  0.07  0.1  0\n",
         "line 4: #wrong is '3': times of wrong results mean nothing; leave the row out"},
        {HEADER "  1024  256  float  sum  -1  fast  0.08  0.11  0  14.5  0.07  0.1  0\n",
         "line 4: time: 'fast' is not a number from 0.001 to 1e+12"},
        {"#  size  count  type  redop  root  cputime  algbw  busbw #wrong\n",
         "line 1: cputime is what the host takes; measure again without -C 1"},
        {"# Collective test starting: sendrecv_perf\n",
         "line 1: 'sendrecv_perf' measures no collective that Weft has; leave its output out"},
        {RECORD("AllReduce", "64", "8") "{\"header\": ",
         "line 2: no JSON object; Inspector writes one a line"},
        {RECORD("Barrier", "64", "8"),
         "line 1: coll_perf: coll: 'Barrier' is no collective that Weft has; leave it out"},
        {RECORD("AllGather", "1125899906842624", "1048576"),
         "line 1: coll_perf: coll_msg_size_bytes: above 2^50 of all ranks; leave it out"},
        {"{\"coll_perf\": {}}", "line 1: header: missing; write an object"},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_collective_samples samples;
        assert_false(weft_nccl_measured_read(&samples, cases[i].text, strlen(cases[i].text), &arena,
                                             &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_string_equal(error.message, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_gives_its_latency_and_rate_back),
        cmocka_unit_test(the_fit_is_the_least_squares),
        cmocka_unit_test(each_size_stands_by_its_median),
        cmocka_unit_test(one_size_tells_nothing),
        cmocka_unit_test(tests_are_read_by_the_names_of_columns),
        cmocka_unit_test(records_count_the_whole_collective),
        cmocka_unit_test(what_is_wrong_is_said_with_its_line),
    };
    return cmocka_run_group_tests(tests, open_arenas, tear_down);
}
