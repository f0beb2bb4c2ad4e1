// SPDX-License-Identifier: Apache-2.0
// Measured profiles: reading, writing, finding, and what is refused. Peaks of accelerators. Seen to
// fail: BF16 of MI300X "with sparsity", a link of GB200 both ways, FP8 of Trainium2 left out.

#include "weft/format.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct weft_arena arena;

#define HEAD "{\"batch_size\": 64, \"ngpus\": 4, \"measurements\": ["
#define ONE(name, parts, rest)                                                                     \
    "{\"name\": \"" name "\", \"pc_str\": \"" parts "\", \"mem_req\": 8, " rest "}"
#define TIMES "\"fw_time\": 0.5, \"bw_time\": 1.25"

static bool read_text(struct weft_profile *profile, const char *text, struct weft_error *error)
{
    return weft_profile_read(profile, text, strlen(text), &arena, error);
}

static const char good[] = HEAD ONE("Dense_8_8", "2-2-4", TIMES) ", "           //
    ONE("Dense_8_8", "2-1-4", "\"fw_time\": 0.000000001, \"bw_time\": 3600000") //
    ", " ONE("Conv2D_3_3_8", "4-1-1-2-4", TIMES) ", "                           //
    ONE("Conv2D_3_3_8", "4-2-1-1-4", TIMES) ", " ONE("Add", "3-1-1-1", TIMES) "]}";

static void measurements_are_found_by_name_and_split(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_profile profile;
    assert_true(read_text(&profile, good, &error));
    assert_int_equal(profile.batch, 64);
    assert_int_equal(profile.server_count, 4);
    assert_int_equal(profile.count, 5);
    const struct weft_measurement *found = weft_profile_find(&profile, "Dense_8_8", 4, 1);
    assert_non_null(found);
    assert_int_equal(found->forward_ps, 1);
    assert_int_equal(found->backward_ps, 3600 * WEFT_PS_PER_S);
    found = weft_profile_find(&profile, "Dense_8_8", 4, 2);
    assert_non_null(found);
    assert_int_equal(found->forward_ps, 500000000);
    assert_int_equal(found->memory_bytes, 8);
    // An image's parameters are its channels, the third dimension.
    found = weft_profile_find(&profile, "Conv2D_3_3_8", 4, 2);
    assert_non_null(found);
    assert_int_equal(found->parts[2], 2);
    assert_null(weft_profile_find(&profile, "Conv2D_3_3_8", 4, 1));
    assert_null(weft_profile_find(&profile, "Dense_8_8", 2, 1));
    assert_null(weft_profile_find(&profile, "Dense_8", 4, 1));
    assert_null(weft_profile_find(&profile, "Zebra", 4, 1));
    assert_null(weft_profile_find(&profile, "", 4, 1));
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_profile profile;
    struct weft_profile again;
    assert_true(read_text(&profile, good, &error));
    const char *text = weft_profile_write(&profile, &arena);
    assert_true(read_text(&again, text, &error));
    assert_int_equal(again.count, profile.count);
    for (uint32_t i = 0; i < profile.count; i++) {
        const struct weft_measurement *a = &profile.measurements[i];
        const struct weft_measurement *b = &again.measurements[i];
        assert_int_equal(weft_measurement_order(a, b), 0);
        assert_int_equal(a->forward_ps, b->forward_ps);
        assert_int_equal(a->backward_ps, b->backward_ps);
        assert_int_equal(a->memory_bytes, b->memory_bytes);
    }
    assert_string_equal(text, weft_profile_write(&again, &arena));
}

static void bad_profiles_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *complaint;
    } cases[] = {
        {"[]", "not a JSON object"},
        {"{", "line 1: not JSON"},
        {"{\"ngpus\": 4, \"measurements\": []}", "batch_size: missing"},
        {"{\"batch_size\": 0, \"ngpus\": 4, \"measurements\": []}", "batch_size: 0 is not"},
        {"{\"batch_size\": -4, \"ngpus\": 4, \"measurements\": []}", "batch_size: -4 is negative"},
        {"{\"batch_size\": 4, \"ngpus\": 0, \"measurements\": []}", "ngpus: 0 is not"},
        {"{\"batch_size\": 4, \"ngpus\": 4, \"measurements\": []}", "there are none"},
        {"{\"batch_size\": 4, \"ngpus\": 4, \"measurement\": []}", "'measurement' is no key"},
        {HEAD "7]}", "measurements[0]: not an object"},
        {HEAD ONE("D", "2-1-4", TIMES) ", " ONE("D", "2-1-4", TIMES) "]}",
         "D: pc_str 2-1-4 stands there twice"},
        {HEAD ONE("", "2-1-4", TIMES) "]}", "measurements[0]: name: 0 bytes"},
        {HEAD ONE("D", "2-1", TIMES) "]}", "measurements[0]: D: pc_str: '2-1' is not"},
        {HEAD ONE("D", "3-1-4", TIMES) "]}", "pc_str: '3-1-4' is not"},
        {HEAD ONE("D", "1-4", TIMES) "]}", "pc_str: '1-4' is not"},
        {HEAD ONE("D", "5-1-1-1-1-4", TIMES) "]}", "pc_str: '5-1-1-1-1-4' is not"},
        {HEAD ONE("D", "2-0-4", TIMES) "]}", "pc_str: '2-0-4' is not"},
        {HEAD ONE("D", "2--1-4", TIMES) "]}", "pc_str: '2--1-4' is not"},
        {HEAD ONE("D", "2-1-4-", TIMES) "]}", "pc_str: '2-1-4-' is not"},
        {HEAD ONE("D", "2-1-4x", TIMES) "]}", "pc_str: '2-1-4x' is not"},
        {HEAD ONE("D", " 2-1-4", TIMES) "]}", "pc_str: ' 2-1-4' is not"},
        {HEAD ONE("D", "", TIMES) "]}", "pc_str: '' is not"},
        {HEAD ONE("D", "2-1-99999999999999999999", TIMES) "]}", "more than 1048576 parts"},
        {HEAD ONE("D", "2-1-4", "\"fw_time\": -1, \"bw_time\": 1") "]}", "D: fw_time: -1 is not"},
        {HEAD ONE("D", "2-1-4", "\"fw_time\": 1, \"bw_time\": 1e9") "]}", "bw_time: 1e+09 is not"},
        {HEAD ONE("D", "2-1-4", "\"fw_time\": NaN, \"bw_time\": 1") "]}", "not JSON"},
        {HEAD ONE("D", "2-1-4", "\"fw_time\": \"1\", \"bw_time\": 1") "]}", "of another type"},
        {HEAD ONE("D", "2-1-4", "\"fw_time\": 1") "]}", "D: bw_time: missing"},
        {HEAD ONE("D", "2-1-4", TIMES ", \"fw_tim\": 1") "]}", "'fw_tim' is no key"},
        {HEAD "{\"name\": \"D\", \"pc_str\": \"2-1-4\", \"mem_req\": -1, " TIMES "}]}",
         "mem_req: -1 is negative"},
        {HEAD "{\"name\": \"D\", \"pc_str\": \"2-1-4\", \"mem_req\": 9000000000000000000, " TIMES
              "}]}",
         "beyond reason"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_error error = {.code = WEFT_OK};
        struct weft_profile profile = {.batch = 7};
        assert_false(read_text(&profile, cases[i].text, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_int_equal(profile.batch, 7);
        if (strstr(error.message, cases[i].complaint) == NULL) {
            fail_msg("case %zu: '%s' lacks '%s'", i, error.message, cases[i].complaint);
        }
    }
}

// Peaks of narrower types are not below those of wider ones, and at most twice for each halving of
// the width. On GPUs, whose tensor cores all have both, they are twice; a peak "with sparsity" or
// of another row of the datasheet fails. Peak, HBM and links are of magnitudes that belong
// together: from 100 to 350 FLOPs a byte of HBM, 4 to 20 bytes of HBM for one of the links.
static void check_peaks(const struct weft_accelerator *one)
{
    const double *peak = one->flops_per_s;
    bool gpu = strncmp(one->source, "NVIDIA", 6) == 0 || strncmp(one->source, "AMD", 3) == 0;
    const enum weft_dtype narrower[][2] = {{WEFT_TF32, WEFT_BF16}, {WEFT_BF16, WEFT_FP8}};
    for (size_t j = 0; j < 2; j++) {
        double ratio = peak[narrower[j][1]] / peak[narrower[j][0]];
        assert_true(!(ratio > 0) || isinf(ratio) || (ratio > (gpu ? 1.99 : 0.99) && ratio < 2.05));
    }
    double half = fmax(peak[WEFT_BF16], peak[WEFT_FP16]);
    assert_true(peak[WEFT_FP16] == 0 || peak[WEFT_BF16] == 0 || peak[WEFT_FP16] == peak[WEFT_BF16]);
    assert_true(half > 3 * peak[WEFT_FP32]);
    double intensity = half / one->memory_Bps;
    double streams = one->memory_Bps / one->link_Bps;
    if (!(intensity > 100 && intensity < 350 && streams > 4 && streams < 20)) {
        fail_msg("%s: %g FLOPs a byte, %g bytes of HBM for one of a link", one->name, intensity,
                 streams);
    }
    assert_true(one->processors >= 32 && one->processors <= 512);
    assert_true(one->launch_ps > 0);
}

// Each figure that a source states as one number, by hand from that source.
static void other_makers_peaks_are_their_documents(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double bf16;
        double fp8;
        double memory_Bps;
        double gib;
        double both_ways_Bps; // of all links, as the documents add up
    } documents[] = {
        {"GB200", 360e15 / 2 / 72, 720e15 / 2 / 72, 576e12 / 72, 185, 1800e9},
        {"MI300X", 2048 * 304 * 2.1e9, 4096 * 304 * 2.1e9, 5.3e12, 192, 7 * 128e9},
        {"MI355X", 4096 * 256 * 2.4e9, 8192 * 256 * 2.4e9, 8e12, 288, 7 * 153.6e9},
        {"TPU-v4", 275e12, 0, 1.2e12, 32, 2 * 1.1e15 / 4096},
        {"TPU-v5p", 459e12, 459e12, 2765e9, 95, 1200e9},
        {"Trainium2", 667e12, 1299e12, 2.9e12, 96, 1024e9},
    };
    for (size_t i = 0; i < sizeof documents / sizeof documents[0]; i++) {
        const struct weft_accelerator *one = NULL;
        struct weft_error error;
        assert_true(weft_accelerator_named(&one, documents[i].name, &error));
        const double figures[][2] = {
            {one->flops_per_s[WEFT_BF16], documents[i].bf16},
            {one->flops_per_s[WEFT_FP8], documents[i].fp8},
            {one->memory_Bps, documents[i].memory_Bps},
            {one->memory_bytes, documents[i].gib * 0x1p30},
            {2 * one->link_Bps, documents[i].both_ways_Bps},
        };
        for (size_t j = 0; j < sizeof figures / sizeof figures[0]; j++) {
            // TPU v4's link is the only figure of the table that was rounded, to 0.1 GB/s.
            if (!(fabs(figures[j][0] - figures[j][1]) <= 1e-3 * figures[j][1])) {
                fail_msg("%s: figure %zu is %g, its document gives %g", documents[i].name, j,
                         figures[j][0], figures[j][1]);
            }
        }
    }
}

static void accelerators_are_named(void **state)
{
    (void)state;
    uint32_t count = 0;
    const struct weft_accelerator *all = weft_accelerators(&count);
    assert_true(count >= 13);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_accelerator *found = NULL;
        struct weft_error error;
        assert_true(weft_accelerator_named(&found, all[i].name, &error));
        assert_ptr_equal(found, &all[i]);
        assert_true(all[i].source[0] != '\0');
        assert_true(all[i].memory_bytes > 1e9 && all[i].memory_Bps > 1e11);
        check_peaks(&all[i]);
        const double shares[] = {all[i].matmul_efficiency, all[i].fp32_efficiency,
                                 all[i].memory_efficiency, all[i].link_efficiency};
        for (size_t j = 0; j < 4; j++) {
            assert_true(shares[j] > 0.3 && shares[j] <= 1);
        }
    }
    const struct weft_accelerator *found = NULL;
    struct weft_error error;
    assert_true(weft_accelerator_named(&found, "a100", &error));
    assert_string_equal(found->name, "A100-80GB");
    assert_false(weft_accelerator_named(&found, "TPU", &error));
    assert_int_equal(error.code, WEFT_INPUT);
    assert_non_null(strstr(error.message, "'TPU'"));
    assert_non_null(strstr(error.message, "do you mean TPU-v4?"));
    assert_false(weft_accelerator_named(&found, "abacus", &error));
    assert_non_null(strstr(error.message, "V100, A100-40GB, A100-80GB, H100, H800, H200, B200, "
                                          "GB200, MI300X, MI355X, TPU-v4, TPU-v5p, Trainium2"));
}

static void the_artifacts_profiles_are_read(void **state)
{
    (void)state;
    static const char *const names[] = {
        "alexnet", "candle",    "candle16",     "candle32",    "candle_128",     "dlrm128",
        "dlrm16",  "dlrm32",    "dlrmlarge",    "dlrmsmall",   "ncf128",         "resnet",
        "vgg",     "resnet128", "vgg128",       "transformer", "transformer128", "transformer16",
        "vgg16",   "vgg32",     "transformer32"};
    const char *folder = getenv("WEFT_SHARED");
    char path[512];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/inputs/profiles/%s.json",
                 folder != NULL ? folder : SOURCE_ROOT "/../shared", names[i]);
        FILE *file = fopen(path, "r");
        if (file == NULL) {
            print_message("%s is absent\n", path);
            skip();
        }
        fclose(file);
        struct weft_profile profile;
        struct weft_error error;
        if (!weft_profile_load(&profile, path, &arena, &error)) {
            fail_msg("%s", error.message);
        }
        assert_true(profile.count >= 18);
    }
}

int main(void)
{
    struct weft_error error;
    assert_true(weft_arena_init(&arena, 0, &error));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measurements_are_found_by_name_and_split),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(bad_profiles_are_refused),
        cmocka_unit_test(accelerators_are_named),
        cmocka_unit_test(other_makers_peaks_are_their_documents),
        cmocka_unit_test(the_artifacts_profiles_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
