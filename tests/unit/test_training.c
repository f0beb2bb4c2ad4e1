// SPDX-License-Identifier: Apache-2.0
// The trainer: slopes against differences, products against plain loops, any number of workers
// against one, and which segments are lost.

#include "train/product.h"
#include "weft/format/file.h"
#include "weft/train.h"

#include "../fresh_arenas.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { PIXELS = 28 * 28, DIGITS = 50 };

static struct weft_error error;

// ---- slopes ----

enum { SMALL = 8, BATCH = 3 };

static double loss_of(struct weft_train_worker *worker, const struct weft_train_net *net,
                      const struct weft_images *images, float *gradient)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        weft_train_load(worker, images, i, 0, 0);
    }
    return weft_train_gradient(gradient, worker, net);
}

static void slopes_lie_between_difference_quotients(void **state)
{
    (void)state;
    const float step = 1.0f / 1024;
    uint8_t pixels[BATCH * SMALL * SMALL];
    const uint8_t labels[BATCH] = {0, 2, 1};
    const struct weft_images images = {BATCH, SMALL, SMALL, pixels, labels};
    struct weft_rng rng;
    struct weft_train_net net;
    weft_rng_init(&rng, 3);
    for (uint32_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (uint8_t)weft_rng_below(&rng, 256);
    }
    assert_true(weft_train_net_build(&net, "conv:2x3,conv:3x2,pool:2,dense:5,dense:3",
                                     (struct weft_train_shape){1, SMALL, SMALL}, &rng, &arena,
                                     &error));
    assert_int_equal(net.number_count, 18 + 2 + 24 + 3 + 60 + 5 + 15 + 3);
    struct weft_train_worker *worker = weft_train_worker_build(&net, BATCH, &arena);
    float *slopes = WEFT_NEW(&arena, float, net.number_count);
    float *others = WEFT_NEW(&arena, float, net.number_count);
    double at = loss_of(worker, &net, &images, slopes);
    uint32_t tight = 0;
    for (uint32_t i = 0; i < net.number_count; i++) {
        float kept = net.numbers[i];
        net.numbers[i] = kept + step;
        double above = (loss_of(worker, &net, &images, others) - at) / (double)step;
        net.numbers[i] = kept - step;
        double below = (at - loss_of(worker, &net, &images, others)) / (double)step;
        net.numbers[i] = kept;
        double low = fmin(above, below) - 2e-3, high = fmax(above, below) + 2e-3;
        if ((double)slopes[i] < low || (double)slopes[i] > high) {
            fail_msg("number %u: slope %g, difference quotients %g and %g", i, (double)slopes[i],
                     below, above);
        }
        tight += high - low < 0.03;
    }
    assert_true(tight > net.number_count * 9 / 10); // few cross a bend of ReLU or a pool
}

// ---- products ----

enum { HEIGHT_MAX = 14, WIDTH_MAX = 40, DEPTH_MAX = 9 };

// Bit by bit, whatever vectors the processor has.
static void products_are_those_of_plain_loops(void **state)
{
    (void)state;
    static float a[HEIGHT_MAX * DEPTH_MAX], b[DEPTH_MAX][WIDTH_MAX + PRODUCT_COLUMNS];
    static float c[HEIGHT_MAX * WIDTH_MAX + 1], start[HEIGHT_MAX];
    const float *rows[DEPTH_MAX];
    struct weft_rng rng;
    weft_rng_init(&rng, 5);
    for (uint32_t i = 0; i < HEIGHT_MAX * DEPTH_MAX; i++) {
        a[i] = (float)weft_rng_unit(&rng) - 0.5f;
        start[i % HEIGHT_MAX] = (float)weft_rng_unit(&rng);
    }
    for (uint32_t k = 0; k < DEPTH_MAX; k++) {
        rows[k] = b[k];
        for (uint32_t j = 0; j < WIDTH_MAX; j++) {
            b[k][j] = (float)weft_rng_unit(&rng) - 0.5f;
        }
    }
    for (uint32_t round = 0; round < 200; round++) {
        uint32_t height = 1 + weft_rng_below(&rng, HEIGHT_MAX);
        uint32_t width = 1 + weft_rng_below(&rng, WIDTH_MAX);
        uint32_t depth = 1 + weft_rng_below(&rng, DEPTH_MAX);
        bool across = weft_rng_below(&rng, 2) == 1;
        size_t a_row = across ? 1 : DEPTH_MAX, a_step = across ? HEIGHT_MAX : 1;
        c[height * width] = 7;
        product_run(
            &(struct product){c, width, start, a, a_row, a_step, rows, height, width, depth});
        for (uint32_t at = 0; at < height * width; at++) {
            uint32_t i = at / width, j = at % width;
            float sum = start[i];
            for (uint32_t k = 0; k < depth; k++) {
                sum += a[i * a_row + k * a_step] * b[k][j];
            }
            assert_memory_equal(&c[at], &sum, sizeof sum);
        }
        assert_true(c[height * width] == 7);
    }
}

// ---- runs ----

static struct weft_images digits;

static int open_digits(void **state)
{
    size_t bytes = 0;
    const char *pixels = NULL, *labels = NULL;
    if (open_arenas(state) != 0 ||
        !weft_file_load(&pixels, &bytes, SOURCE_ROOT "/examples/photonic/digits.u8", 0, &arena,
                        &error) ||
        !weft_file_load(&labels, &bytes, SOURCE_ROOT "/examples/photonic/digits-labels.u8", 0,
                        &arena, &error)) {
        return 1;
    }
    digits = (struct weft_images){DIGITS, 28, 28, (const uint8_t *)pixels, (const uint8_t *)labels};
    return bytes == DIGITS ? 0 : 1;
}

// The mean loss of the last epoch.
static double play(const struct weft_images *images, uint32_t workers, const char *lose,
                   bool rescales, uint64_t seed)
{
    uint32_t places[DIGITS];
    for (uint32_t i = 0; i < DIGITS; i++) {
        places[i] = i;
    }
    const struct weft_train_split split = {40, 10, places, places + 40};
    struct weft_train_options options = {
        .net = "conv:2x5,pool:4,dense:32,dense:10",
        .worker_count = workers,
        .batch = 20,
        .epochs = 5,
        .segment_floats = 64,
        .rate = 0.1,
        .momentum = 0.5,
        .rescales = rescales,
    };
    struct weft_train_run run;
    const struct weft_environment environment = {&arena, scratch, seed, 1, NULL, &error};
    assert_true(weft_lost_parse(&options.lost, lose, &arena, &error));
    if (!weft_train_play(&run, images, &split, &options, &environment)) {
        fail_msg("%s", error.message);
    }
    return run.loss[options.epochs - 1];
}

// Their sums differ by roundings alone: 2^-24 of each number, some thousand of them in a step.
static void without_loss_any_number_of_workers_learns_the_same(void **state)
{
    (void)state;
    double one = play(&digits, 1, "none", false, 1);
    for (uint32_t workers = 2; workers <= 20; workers += 3) {
        assert_true(fabs(play(&digits, workers, "none", false, 1) / one - 1) < 1e-4);
    }
    assert_true(fabs(play(&digits, 8, "random:0.3", false, 1) / one - 1) > 1e-3);
}

static void the_seed_decides_the_run(void **state)
{
    (void)state;
    static const char *const loses[] = {"none", "random:0.3", "largest:0.2", "ring:0.1"};
    for (uint32_t l = 0; l < sizeof loses / sizeof loses[0]; l++) {
        double first = play(&digits, 8, loses[l], false, 1);
        double again = play(&digits, 8, loses[l], false, 1);
        double other = play(&digits, 8, loses[l], false, 2);
        assert_memory_equal(&first, &again, sizeof first);
        assert_true(fabs(first - other) > 1e-6);
    }
}

// Where all images are one, so are all gradients, and a sum over those that arrived is that of all.
// Of a ring the last rank always arrives.
static void rescaled_sums_of_equal_gradients_are_whole(void **state)
{
    (void)state;
    uint8_t *pixels = WEFT_NEW(&arena, uint8_t, DIGITS * PIXELS);
    uint8_t *labels = WEFT_NEW(&arena, uint8_t, DIGITS);
    for (uint32_t i = 0; i < DIGITS; i++) {
        memcpy(pixels + (size_t)i * PIXELS, digits.pixels, PIXELS);
        labels[i] = digits.labels[0];
    }
    const struct weft_images same = {DIGITS, 28, 28, pixels, labels};
    double whole = play(&same, 4, "none", false, 1);
    assert_true(fabs(play(&same, 4, "ring:0.5", true, 1) / whole - 1) < 1e-4);
    assert_true(fabs(play(&same, 4, "ring:0.5", false, 1) / whole - 1) > 1e-2);
}

// ---- segments ----

enum { WORKERS = 8 };

struct losing {
    struct weft_train_segments segments;
    struct weft_train_loss loss;
    float *gradient;
    bool *lost;
    struct weft_rng rng;
};

static void open_losing(struct losing *losing, const char *text)
{
    struct weft_train_net net;
    struct weft_lost lost;
    weft_rng_init(&losing->rng, 11);
    assert_true(weft_train_net_build(&net, "dense:30,dense:10",
                                     (struct weft_train_shape){1, 28, 28}, &losing->rng, &arena,
                                     &error));
    weft_train_segments_build(&losing->segments, &net, 256, &arena);
    assert_true(weft_lost_parse(&lost, text, &arena, &error));
    weft_train_loss_build(&losing->loss, &losing->segments, &lost, WORKERS, &arena);
    losing->gradient = net.numbers;
    losing->lost = WEFT_NEW(&arena, bool, losing->segments.count);
}

static uint32_t lose(struct losing *losing, uint32_t worker)
{
    uint32_t marked = 0, said = weft_train_lose(losing->lost, &losing->loss, losing->gradient,
                                                worker, &losing->rng, scratch);
    for (uint32_t s = 0; s < losing->segments.count; s++) {
        marked += losing->lost[s];
    }
    assert_int_equal(marked, said);
    return said;
}

// 30 * 785 numbers are 92 segments, the last of 254; 310 are 2.
static void as_many_segments_are_lost_as_the_share_says(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t count;
    } rows[] = {
        {"none", 0},         {"random:10%", 9},   {"random:0.5", 47},  {"random:0", 0},
        {"random:100%", 94}, {"smallest:3%", 2},  {"largest:60%", 56}, {"layer:1:10%", 9},
        {"layer:2:50%", 1},  {"layer:2:100%", 2}, {"last:3%", 2},      {"last:50%", 47},
    };
    for (uint32_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        struct losing losing;
        open_losing(&losing, rows[r].text);
        assert_int_equal(losing.segments.count, 94);
        assert_int_equal(losing.segments.first[92], 30 * 785);
        assert_int_equal(lose(&losing, 0), rows[r].count);
        for (uint32_t s = 0; s < 94; s++) {
            bool second = losing.loss.lost.tensor == 1;
            bool may = losing.loss.lost.kind == WEFT_LOST_LAYER  ? (s >= 92) == second
                       : losing.loss.lost.kind == WEFT_LOST_LAST ? s >= 94 - rows[r].count
                                                                 : true;
            assert_true(may || !losing.lost[s]);
        }
    }
}

static double norm_of(const struct losing *losing, uint32_t segment)
{
    double sum = 0;
    for (uint32_t i = losing->segments.first[segment]; i < losing->segments.first[segment + 1];
         i++) {
        sum += (double)losing->gradient[i] * (double)losing->gradient[i];
    }
    return sum;
}

static void no_segment_that_stays_is_smaller(void **state)
{
    (void)state;
    for (uint32_t largest = 0; largest < 2; largest++) {
        struct losing losing;
        open_losing(&losing, largest ? "largest:40%" : "smallest:40%");
        losing.gradient[losing.segments.first[94] - 1] = largest ? 1e3f : 1e-3f;
        lose(&losing, 0);
        double edge = largest ? 1e9 : 0;
        for (uint32_t s = 0; s < 94; s++) {
            double norm = norm_of(&losing, s);
            edge = !losing.lost[s] ? edge : largest ? fmin(edge, norm) : fmax(edge, norm);
        }
        for (uint32_t s = 0; s < 94; s++) {
            double norm = norm_of(&losing, s) * (largest ? 1 - 1e-5 : 1 + 1e-5);
            assert_true(losing.lost[s] || (largest ? norm <= edge : norm >= edge));
        }
    }
}

// Each segment about as often as any.
static void random_losses_are_even(void **state)
{
    (void)state;
    struct losing losing;
    uint32_t times[94] = {0};
    open_losing(&losing, "random:10%");
    for (uint32_t round = 0; round < 10000; round++) {
        lose(&losing, 0);
        for (uint32_t s = 0; s < 94; s++) {
            times[s] += losing.lost[s];
        }
    }
    for (uint32_t s = 0; s < 94; s++) {
        assert_in_range(times[s], 957 - 150, 957 + 150); // five deviations of 29
    }
}

// A ring keeps (1 - (1 - q)^n) / (n q) of the contributions; 0.9657, 0.9011 and 0.7119 of eight
// ranks at 1, 3 and 10 % a hop.
static void a_ring_compounds_losses(void **state)
{
    (void)state;
    static const char *const texts[] = {"ring:1%", "ring:3%", "ring:10%"};
    static const double kept[] = {0.9657, 0.9011, 0.7119};
    for (uint32_t r = 0; r < 3; r++) {
        struct losing losing;
        open_losing(&losing, texts[r]);
        uint64_t sum = 0, rounds = 2000;
        for (uint32_t round = 0; round < rounds; round++) {
            weft_train_loss_step(&losing.loss, &losing.rng);
            bool before[94] = {0};
            for (uint32_t place = 0; place < WORKERS; place++) {
                sum += lose(&losing, (place + 1) % WORKERS); // the ring of the first segments
                assert_true(place == 0 || before[0] || !losing.lost[0]);
                before[0] = losing.lost[0];
            }
            assert_false(before[0]);
        }
        double share = 1 - (double)sum / (double)(rounds * WORKERS * 94);
        assert_true(fabs(share / kept[r] - 1) < 0.01);
    }
}

static void losses_are_read_strictly(void **state)
{
    (void)state;
    static const char *const bad[] = {"",          "randm:10%",   "random",      "random:",
                                      "random:%",  "random:101%", "random:1.01", "random:-1%",
                                      "none:1%",   "layer:10%",   "layer:0:10%", "layer:17:10%",
                                      "layer:1",   "layer:1:",    "random:1%%",  "random:1:2",
                                      "ring:nan%", "random:1e-1x"};
    struct weft_lost lost = {.tensor = 77};
    for (uint32_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
        assert_false(weft_lost_parse(&lost, bad[b], &arena, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_int_equal(lost.tensor, 77);
    }
    assert_true(weft_lost_parse(&lost, "layer:2:12.5%", &arena, &error));
    assert_int_equal(lost.tensor, 1);
    assert_true(fabs(lost.share - 0.125) < 1e-12);
}

// ---- what losses change ----

// Differences of mean t and standard error 1, at points of Student's t from tables. Fails where a
// term of the series is wrong, n stands for n - 1, or runs are not paired (each was tried).
static void differences_are_held_against_students_t(void **state)
{
    (void)state;
    static const struct {
        uint32_t degrees;
        double t, chance;
    } rows[] = {
        {1, 12.7062, 0.05}, {1, 1, 0.5},        {2, 4.30265, 0.05},  {3, 3.18245, 0.05},
        {4, 2.77645, 0.05}, {4, -2.13185, 0.1}, {5, 4.03214, 0.01},  {9, 2.26216, 0.05},
        {10, 1.37218, 0.2}, {10, 0, 1},         {30, 2.04227, 0.05}, {30, -3.64596, 0.001},
    };
    for (uint32_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        uint32_t count = rows[r].degrees + 1;
        double with[31], without[31], square = 0;
        for (uint32_t i = 0; i < count; i++) {
            with[i] = i - (count - 1) / 2.0;
            square += with[i] * with[i];
        }
        double error_one = sqrt(square / count / (count - 1));
        for (uint32_t i = 0; i < count; i++) {
            without[i] = 100 * i; // what pairs have in common does not count
            with[i] = without[i] + with[i] / error_one + rows[r].t;
        }
        struct weft_train_effect effect;
        weft_train_compare(&effect, with, without, count);
        assert_true(fabs(effect.difference - rows[r].t) < 1e-9);
        assert_true(fabs(effect.difference_error - 1) < 1e-9);
        assert_true(fabs(effect.chance - rows[r].chance) < 1e-5);
        assert_true(fabs(effect.mean - 50 * (count - 1) - rows[r].t) < 1e-9);
    }
}

static void equal_differences_and_single_runs_have_no_error(void **state)
{
    (void)state;
    const double with[] = {0.9, 0.7, 0.8}, without[] = {1.0, 0.8, 0.9};
    struct weft_train_effect effect;
    weft_train_compare(&effect, with, without, 3);
    assert_true(effect.chance == 0 && effect.difference_error < 1e-12);
    weft_train_compare(&effect, with, with, 3);
    assert_true(effect.chance == 1 && effect.difference == 0);
    weft_train_compare(&effect, with, without, 1);
    assert_true(isnan(effect.chance) && isnan(effect.mean_error) && effect.mean == with[0]);
}

// Every image is in one part, and the seed decides which. Fails where the parts overlap.
static void a_seed_keeps_images_for_the_test(void **state)
{
    (void)state;
    struct weft_train_split split, again, other;
    uint32_t seen[50] = {0}, same = 0;
    weft_train_split_draw(&split, 50, 10, 4, &arena);
    weft_train_split_draw(&again, 50, 10, 4, &arena);
    weft_train_split_draw(&other, 50, 10, 5, &arena);
    assert_int_equal(split.train_count, 40);
    assert_int_equal(split.test_count, 10);
    for (uint32_t i = 0; i < 50; i++) {
        seen[i < 40 ? split.train[i] : split.test[i - 40]]++;
    }
    for (uint32_t i = 0; i < 50; i++) {
        assert_int_equal(seen[i], 1);
    }
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(split.test[i], again.test[i]);
        same += split.test[i] == other.test[i];
    }
    assert_true(same < 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_arenas, tear_down)
#define RUN(name) cmocka_unit_test_setup_teardown(name, open_digits, tear_down)
        TEST(slopes_lie_between_difference_quotients),
        TEST(products_are_those_of_plain_loops),
        RUN(without_loss_any_number_of_workers_learns_the_same),
        RUN(the_seed_decides_the_run),
        RUN(rescaled_sums_of_equal_gradients_are_whole),
        TEST(as_many_segments_are_lost_as_the_share_says),
        TEST(no_segment_that_stays_is_smaller),
        TEST(random_losses_are_even),
        TEST(a_ring_compounds_losses),
        TEST(losses_are_read_strictly),
        TEST(differences_are_held_against_students_t),
        TEST(equal_differences_and_single_runs_have_no_error),
        TEST(a_seed_keeps_images_for_the_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
