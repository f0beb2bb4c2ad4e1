// SPDX-License-Identifier: Apache-2.0
// weft train: what it costs accuracy when gradients lose segments.
//
// Every loss, and none, is trained with the same seeds: a seed decides the weights, the test's
// images and the batches, so that two runs of it differ by their losses alone and their accuracies
// are compared in pairs. Runs are independent and go to threads one by one. O(rows * seeds * epochs
// * images * multiplications of the net).

#include "weft/request/train.h"

#include <math.h>
#include <string.h>

#define DEFAULT_WORKERS 8u
#define DEFAULT_BATCH 128u // 16 images a worker fill the vectors of src/train/product.c
#define DEFAULT_EPOCHS 12u
#define DEFAULT_SEEDS 5u
#define DEFAULT_SEGMENT_FLOATS 256u // a packet of 1 KiB, as the sheet of MLT's figures has it
#define DEFAULT_RATE 0.05
#define DEFAULT_MOMENTUM 0.9
#define DEFAULT_LOSSES "random:10%,smallest:10%,largest:10%"
// A worker's values of a batch and a net's numbers lie in memory for each thread.
#define WORKERS_MAX 1024u
#define BATCH_MAX 65536u
// Multiplications of one core in a second, forwards and backwards, with what losing segments costs:
// 6.9e9 of the MLP and 4.9e9 of the CNN at the default batch (EPYC of 2023, two runs of each).
#define PRODUCTS_PER_S 5e9

// ---- parameters ----

static bool read_losses(void *field, const struct weft_parameter *parameter, const char *text,
                        struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter;
    struct weft_lost_list *list = field;
    const char *const *words = NULL;
    uint32_t count = 0;
    if (!weft_split_list(&words, &count, text, arena, error)) {
        return false;
    }
    struct weft_lost *values = WEFT_NEW(arena, struct weft_lost, (size_t)list->count + count);
    for (uint32_t i = 0; i < list->count; i++) {
        values[i] = list->values[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!weft_lost_parse(&values[list->count + i], words[i], arena, error)) {
            return false;
        }
    }
    *list = (struct weft_lost_list){list->count + count, values};
    return true;
}

#define FIELD(name) offsetof(struct weft_train_request, name)
static const struct weft_parameter rows[] = {
    {"net", weft_read_text, FIELD(net), 0, 0, NULL},
    {"workers", weft_read_count, FIELD(workers), 1, WORKERS_MAX, NULL},
    {"batch", weft_read_count, FIELD(batch), 1, BATCH_MAX, NULL},
    {"epochs", weft_read_count, FIELD(epochs), 1, 100000, NULL},
    {"test", weft_read_count, FIELD(test), 1, 1u << 30, NULL},
    {"seeds", weft_read_count, FIELD(seeds), 1, 10000, NULL},
    {"segment", weft_read_count, FIELD(segment_floats), 1, 1u << 20, NULL},
    {"learning-rate", weft_read_given_number, FIELD(rate), 0, 100, NULL},
    {"momentum", weft_read_given_number, FIELD(momentum), 0, 0.9999, NULL},
    {"lose", read_losses, FIELD(lose), 0, 0, NULL},
    {"rescale", NULL, FIELD(rescales), 0, 0, NULL},
};
const struct weft_parameter_group weft_train_parameters[] = {
    {rows, sizeof rows / sizeof rows[0], 0},
    {NULL, 0, 0},
};

// ---- what is asked ----

static const char *name_of(const struct weft_lost *lost, struct weft_arena *arena)
{
    const char *word = weft_lost_words[lost->kind];
    if (lost->kind == WEFT_LOST_NONE) {
        return word;
    }
    return lost->kind == WEFT_LOST_LAYER
               ? weft_arena_format(arena, "%s:%u:%.6g%%", word, lost->tensor + 1, 100 * lost->share)
               : weft_arena_format(arena, "%s:%.6g%%", word, 100 * lost->share);
}

static uint32_t or_else(uint32_t value, uint32_t otherwise)
{
    return value > 0 ? value : otherwise;
}

static const char *net_of(const char *net)
{
    bool mlp = net == NULL || strcmp(net, "mlp") == 0;
    return mlp ? WEFT_TRAIN_MLP : strcmp(net, "cnn") == 0 ? WEFT_TRAIN_CNN : net;
}

static bool read_counts(struct weft_train_result *result, const struct weft_train_request *request,
                        const struct weft_images *images, struct weft_error *error)
{
    struct weft_train_options *asked = &result->asked;
    *asked = (struct weft_train_options){
        .net = net_of(request->net),
        .worker_count = or_else(request->workers, DEFAULT_WORKERS),
        .batch = or_else(request->batch, DEFAULT_BATCH),
        .epochs = or_else(request->epochs, DEFAULT_EPOCHS),
        .segment_floats = or_else(request->segment_floats, DEFAULT_SEGMENT_FLOATS),
        .rate = request->rate.given ? request->rate.value : DEFAULT_RATE,
        .momentum = request->momentum.given ? request->momentum.value : DEFAULT_MOMENTUM,
        .rescales = request->rescales,
    };
    result->seed_count = or_else(request->seeds, DEFAULT_SEEDS);
    result->test_count = or_else(request->test, images->count / 10);
    if (asked->batch < asked->worker_count) {
        return weft_fail(error, WEFT_USAGE, "{batch}: %u images for %u workers; write {batch=%u}",
                         asked->batch, asked->worker_count, 8 * asked->worker_count);
    }
    if (result->test_count == 0 || result->test_count > images->count ||
        images->count - result->test_count < asked->batch) {
        return weft_fail(error, WEFT_USAGE,
                         "{test}: of %u images %u are kept for the test, which leaves none for a "
                         "batch of %u; take fewer",
                         images->count, result->test_count, asked->batch);
    }
    result->train_count = images->count - result->test_count;
    return true;
}

// Builds the net once, so that what is wrong is said before any run. *products are the
// multiplications of one image.
static bool look_at_net(struct weft_train_result *result, double *products,
                        const struct weft_train_request *request, const struct weft_images *images,
                        const struct weft_environment *base)
{
    struct weft_arena scratch = base->scratch;
    struct weft_train_net net;
    struct weft_train_segments segments;
    struct weft_rng rng = {0};
    const struct weft_train_shape shape = {1, images->height, images->width};
    weft_rng_init(&rng, base->seed);
    if (!weft_train_net_build(&net, result->asked.net, shape, &rng, &scratch, base->error)) {
        return weft_wrap(base->error, "{net}");
    }
    uint32_t outputs = net.layers[net.layer_count - 1].out.channels;
    for (uint32_t i = 0; i < images->count; i++) {
        if (images->labels[i] >= outputs) {
            return weft_fail(base->error, WEFT_INPUT,
                             "%s: image %u is of class %u, but the net has %u outputs; end {net} "
                             "with dense:%u",
                             request->labels_path, i, images->labels[i], outputs,
                             images->labels[i] + 1);
        }
    }
    weft_train_segments_build(&segments, &net, result->asked.segment_floats, &scratch);
    result->number_count = net.number_count;
    result->segment_count = segments.count;
    result->layer_count = segments.tensor_count;
    *products = 0;
    for (uint32_t l = 0; l < net.layer_count; l++) {
        const struct weft_train_layer *layer = &net.layers[l];
        bool slides = layer->kind == WEFT_TRAIN_CONV;
        *products +=
            (double)layer->weight_count * (slides ? layer->out.height * layer->out.width : 1);
    }
    return true;
}

static bool set_rows(struct weft_train_row **set, struct weft_train_result *result,
                     const struct weft_train_request *request, const struct weft_environment *base)
{
    struct weft_lost_list lose = request->lose;
    if (lose.count == 0 && !read_losses(&lose, NULL, DEFAULT_LOSSES, base->arena, base->error)) {
        return false;
    }
    if (lose.count >= WEFT_TRAIN_ROWS_MAX) {
        return weft_fail(base->error, WEFT_USAGE, "{lose}: at most %u losses",
                         WEFT_TRAIN_ROWS_MAX - 1);
    }
    struct weft_train_row *list = WEFT_NEW(base->arena, struct weft_train_row, lose.count + 1ull);
    for (uint32_t r = 0; r <= lose.count; r++) {
        list[r].lost = r > 0 ? lose.values[r - 1] : (struct weft_lost){.kind = WEFT_LOST_NONE};
        list[r].name = name_of(&list[r].lost, base->arena);
        if (r > 0 && list[r].lost.kind == WEFT_LOST_NONE) {
            return weft_fail(base->error, WEFT_USAGE, "{lose}: none is always there; leave it out");
        }
        if (list[r].lost.kind == WEFT_LOST_LAYER && list[r].lost.tensor >= result->layer_count) {
            return weft_fail(base->error, WEFT_INPUT,
                             "{lose}: %s: the net has %u layers with numbers; write layer:1 to "
                             "layer:%u",
                             list[r].name, result->layer_count, result->layer_count);
        }
        for (uint32_t before = 1; before < r; before++) {
            if (strcmp(list[before].name, list[r].name) == 0) {
                return weft_fail(base->error, WEFT_USAGE, "{lose}: %s stands twice; leave one out",
                                 list[r].name);
            }
        }
    }
    *set = list;
    result->rows = list;
    result->row_count = lose.count + 1;
    return true;
}

// ---- the runs ----

struct runs {
    const struct weft_train_result *result;
    const struct weft_images *images;
    const struct weft_train_split *splits; // of each seed
    struct weft_train_outcome *outcomes;   // [row][seed]
    double *curves;                        // [row][seed][accuracy, loss][epoch]
    struct weft_error *errors;
    bool *fine;
    struct weft_tally *tally;
    uint32_t count, threads;
};

// One loss with one seed, on any thread: in the thread's own memory, but for its slots.
static void play_run(void *context, uint32_t index, struct weft_arena scratch)
{
    struct runs *runs = context;
    const struct weft_train_result *result = runs->result;
    uint32_t seeds = result->seed_count, epochs = result->asked.epochs;
    struct weft_train_outcome *outcome = &runs->outcomes[index];
    struct weft_train_options options = result->asked;
    struct weft_arena own = weft_arena_split(&scratch);
    struct weft_train_run run;
    options.lost = result->rows[index / seeds].lost;
    options.tally = runs->tally;
    const struct weft_environment environment = {
        .arena = &own,
        .scratch = scratch,
        .seed = outcome->seed,
        .threads = 1,
        .error = &runs->errors[index],
    };
    runs->fine[index] =
        weft_train_play(&run, runs->images, &runs->splits[index % seeds], &options, &environment);
    if (runs->fine[index]) {
        double *curve = runs->curves + (size_t)index * 2 * epochs;
        memcpy(curve, run.accuracy, epochs * sizeof *curve);
        memcpy(curve + epochs, run.loss, epochs * sizeof *curve);
        outcome->accuracy = curve;
        outcome->loss = curve + epochs;
        outcome->lost_share = run.lost_share;
        runs->fine[index] = true;
    }
}

static bool play_all(void *context)
{
    struct runs *runs = context;
    weft_parallel_for(runs->count, runs->threads, play_run, runs);
    return true;
}

// Whoever asks for the end gets the rows that all seeds have ended.
static bool leave_rows(struct weft_train_row *list, struct weft_train_result *result,
                       const struct runs *runs, struct weft_error *error)
{
    uint32_t kept = 0, seeds = result->seed_count;
    for (uint32_t r = 0; r < result->row_count; r++) {
        uint32_t ended = 0;
        while (ended < seeds && runs->fine[r * seeds + ended]) {
            ended++;
        }
        if (ended == seeds) {
            list[kept++] = list[r];
        } else if (r == 0) {
            return weft_fail(error, WEFT_STOPPED,
                             "stopped before the runs without loss had ended; give it more time");
        }
    }
    *error = (struct weft_error){.code = WEFT_OK};
    result->stopped = true;
    result->row_count = kept;
    return true;
}

static void compare_rows(struct weft_train_row *list, const struct weft_train_result *result,
                         struct weft_arena scratch)
{
    uint32_t seeds = result->seed_count, last = result->asked.epochs - 1;
    double *values = WEFT_NEW(&scratch, double, seeds);
    double *others = WEFT_NEW(&scratch, double, seeds);
    for (uint32_t r = 0; r < result->row_count; r++) {
        double lost = 0;
        for (uint32_t k = 0; k < seeds; k++) {
            values[k] = list[r].runs[k].accuracy[last];
            others[k] = list[0].runs[k].accuracy[last];
            lost += list[r].runs[k].lost_share;
        }
        list[r].lost_share = lost / seeds;
        weft_train_compare(&list[r].effect, values, others, seeds);
    }
}

static bool play_runs(struct weft_train_row *list, struct weft_train_result *result,
                      const struct weft_images *images, double products,
                      struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    uint32_t seeds = result->seed_count, count = result->row_count * seeds;
    uint32_t steps = result->train_count / result->asked.batch;
    double seen = (double)count * result->asked.epochs * steps * result->asked.batch;
    const struct weft_request_cost cost = {
        .things = "images",
        .count = seen,
        .per_s = PRODUCTS_PER_S / (3 * products) * fmin(base->threads, count), // and two slopes
        .remedy = "take fewer {epochs}, {seeds} or losses",
    };
    if (!weft_request_afford(&cost, environment)) {
        return false;
    }
    struct weft_train_split *splits = WEFT_NEW(base->arena, struct weft_train_split, seeds);
    struct runs runs = {
        .result = result,
        .images = images,
        .splits = splits,
        .outcomes = WEFT_NEW(base->arena, struct weft_train_outcome, count),
        .curves = WEFT_NEW(base->arena, double, (size_t)count * 2 * result->asked.epochs),
        .errors = WEFT_NEW(base->arena, struct weft_error, count),
        .fine = WEFT_NEW(base->arena, bool, count),
        .tally = &environment->progress.tally,
        .count = count,
        .threads = base->threads,
    };
    for (uint32_t i = 0; i < count; i++) {
        runs.outcomes[i].seed = base->seed + i % seeds;
        list[i / seeds].runs = runs.outcomes + (size_t)(i / seeds) * seeds;
    }
    for (uint32_t k = 0; k < seeds; k++) {
        weft_train_split_draw(&splits[k], images->count, result->test_count, base->seed + k,
                              base->arena);
    }
    weft_request_step_begin(environment, "training", "images");
    weft_tally_begin(runs.tally, (uint64_t)seen);
    bool ended = weft_guard_until(play_all, &runs, base->stop, base->error);
    weft_request_step_end(environment);
    if (!ended &&
        (base->error->code != WEFT_STOPPED || !leave_rows(list, result, &runs, base->error))) {
        return false;
    }
    for (uint32_t i = 0; ended && i < count; i++) {
        if (!runs.fine[i]) {
            *base->error = runs.errors[i];
            return false;
        }
    }
    compare_rows(list, result, base->scratch);
    double right = list[0].effect.mean;
    result->test_error = sqrt(right * (1 - right) / result->test_count);
    return true;
}

bool weft_request_train(struct weft_train_result *result, const struct weft_train_request *request,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_train_result found = {.images_path = request->images_path};
    struct weft_images images;
    struct weft_train_row *list = NULL;
    double products = 0;
    if (request->images_path == NULL || request->labels_path == NULL) {
        return weft_fail(base->error, WEFT_USAGE, "images need labels: write IMAGES LABELS");
    }
    if (!weft_images_load(&images, request->images_path, request->labels_path, base->arena,
                          base->scratch, base->error) ||
        !read_counts(&found, request, &images, base->error) ||
        !look_at_net(&found, &products, request, &images, base) ||
        !set_rows(&list, &found, request, base) ||
        !play_runs(list, &found, &images, products, environment)) {
        return false;
    }
    *result = found;
    return true;
}
