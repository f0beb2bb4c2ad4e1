// SPDX-License-Identifier: Apache-2.0
// Trains a net on digits and writes it for weft photonic compile:
//
//   weft-train conv:6x5,pool:2,conv:12x5,pool:2,dense:10 DIGITS LABELS FOLDER [OPTION...]
//
// DIGITS are images of 28 x 28 bytes, LABELS a byte each, bare or as IDX. The first --test of them
// are kept for the test and never trained on. The same seed gives the same bytes.

#include "train.h"

#include "weft/format.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { SIDE = WEFT_IMAGE_SIDE, PIXELS = SIDE * SIDE, CLASSES = 10, TEST_BATCH = 64 };

static const char usage[] =
    "usage: weft-train NET DIGITS LABELS FOLDER [--test N] [--steps N] [--batch N] [--rate R]\n"
    "                  [--shift PIXELS] [--seed K] [--keep N]\n"
    "NET is such as conv:6x5,pool:2,dense:10; --keep writes the first N digits of the test, too\n";

struct job {
    const char *net, *digits, *labels, *folder;
    struct train_options options;
    uint32_t test, keep;
    uint64_t seed;
    struct weft_arena arena, scratch;
    struct weft_error *error;
};

static bool load(struct weft_images *digits, struct job *job)
{
    if (!weft_images_load(digits, job->digits, job->labels, &job->arena, job->scratch,
                          job->error)) {
        return false;
    }
    if (digits->height != SIDE || digits->width != SIDE || digits->count <= job->test) {
        return weft_fail(job->error, WEFT_INPUT,
                         "%s: %u images of %u x %u are not 28 x 28, more than %u of the test",
                         job->digits, digits->count, digits->height, digits->width, job->test);
    }
    for (uint32_t i = 0; i < digits->count; i++) {
        if (digits->labels[i] >= CLASSES) {
            return weft_fail(job->error, WEFT_INPUT, "%s: label %u is no digit", job->labels, i);
        }
    }
    return true;
}

static bool keep_digits(const struct weft_images *test, struct job *job)
{
    const char *folder = job->folder;
    return weft_file_save(weft_arena_format(&job->arena, "%s/digits.u8", folder),
                          (const char *)test->pixels, (size_t)job->keep * PIXELS, job->error) &&
           weft_file_save(weft_arena_format(&job->arena, "%s/labels.u8", folder),
                          (const char *)test->labels, job->keep, job->error);
}

static bool train(void *context)
{
    struct job *job = context;
    struct weft_images all;
    struct weft_train_net net;
    struct weft_rng rng;
    weft_rng_init(&rng, job->seed);
    if (!load(&all, job) ||
        !weft_train_net_build(&net, job->net, (struct weft_train_shape){1, SIDE, SIDE}, &rng,
                              &job->arena, job->error)) {
        return false;
    }
    struct weft_images test = all, rest = all;
    test.count = job->test;
    rest.count = all.count - job->test;
    rest.pixels += (size_t)job->test * PIXELS;
    rest.labels += job->test;
    if (net.layers[net.layer_count - 1].out.channels != CLASSES) {
        return weft_fail(job->error, WEFT_INPUT, "%s: ten digits need dense:10 at the end",
                         job->net);
    }
    mkdir(job->folder, 0777); // where it is there or cannot be made, saving says so
    if (!weft_file_may_save(weft_arena_format(&job->arena, "%s/layers.json", job->folder),
                            job->error)) {
        return false;
    }
    double loss = train_run(&net, &rest, &job->options, &rng, job->scratch);
    struct weft_train_worker *tester = weft_train_worker_build(&net, TEST_BATCH, &job->arena);
    uint32_t right = weft_train_count_right(tester, &net, &test, NULL, test.count);
    if (!train_save(&net, job->folder, &job->arena, job->error) ||
        (job->keep > 0 && !keep_digits(&test, job))) {
        return false;
    }
    printf("%s: loss %.4f of %u images, %u of %u of the test right\n", job->net, loss, rest.count,
           right, test.count);
    return true;
}

static bool read_option(struct job *job, int option, const char *text)
{
    uint64_t value = 0;
    if (option == 'r') {
        return weft_parse_number(&job->options.rate, text, 0, 10, job->error);
    }
    if (!weft_parse_count(&value, text, option == 'b' || option == 't' ? 1 : 0, 1000000,
                          job->error)) {
        return false;
    }
    switch (option) {
    case 't':
        job->test = (uint32_t)value;
        return true;
    case 's':
        job->options.steps = (uint32_t)value;
        return true;
    case 'b':
        job->options.batch = (uint32_t)value;
        return true;
    case 'm':
        job->options.shift = (uint32_t)value;
        return true;
    case 'k':
        job->keep = (uint32_t)value;
        return true;
    default:
        job->seed = value;
        return true;
    }
}

static bool read_line(struct job *job, int argc, char **argv)
{
    static const struct option options[] = {
        {"test", required_argument, NULL, 't'},  {"steps", required_argument, NULL, 's'},
        {"batch", required_argument, NULL, 'b'}, {"rate", required_argument, NULL, 'r'},
        {"shift", required_argument, NULL, 'm'}, {"seed", required_argument, NULL, 'e'},
        {"keep", required_argument, NULL, 'k'},  {NULL, 0, NULL, 0},
    };
    for (int key; (key = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (key == '?') {
            return weft_fail(job->error, WEFT_USAGE, "no such option");
        }
        if (!read_option(job, key, optarg)) {
            return false;
        }
    }
    if (argc - optind != 4) {
        return weft_fail(job->error, WEFT_USAGE, "NET, DIGITS, LABELS and FOLDER are needed");
    }
    job->net = argv[optind];
    job->digits = argv[optind + 1];
    job->labels = argv[optind + 2];
    job->folder = argv[optind + 3];
    return job->keep <= job->test ||
           weft_fail(job->error, WEFT_USAGE, "--keep %u of %u test digits", job->keep, job->test);
}

int main(int argc, char **argv)
{
    struct weft_error error;
    struct job job = {
        .options = {.steps = 3000, .batch = 32, .rate = 0.05, .shift = 2},
        .test = 500,
        .seed = 1,
        .error = &error,
    };
    bool fine = read_line(&job, argc, argv);
    if (fine && weft_arena_init(&job.arena, 0, &error) &&
        weft_arena_init(&job.scratch, 0, &error)) {
        struct weft_arena arena = job.arena, scratch = job.scratch; // as they began
        fine = weft_guard(train, &job, &error);
        weft_arena_release(&scratch);
        weft_arena_release(&arena);
    }
    if (!fine) {
        fprintf(stderr, "weft-train: %s\n%s", error.message, error.code == WEFT_USAGE ? usage : "");
        return weft_exit_code(error.code);
    }
    return EXIT_SUCCESS;
}
