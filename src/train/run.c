// SPDX-License-Identifier: Apache-2.0
// A run of training: workers in turn compute their gradients, lose segments and are summed; the sum
// is a step of stochastic gradient descent.
//
// The random numbers of weights, order and losses are streams of the seed of their own, so that
// runs that differ in what they lose alone begin with the same weights and see the same batches:
// their differences are paired. O(epochs * images * numbers).

#include "weft/train.h"

#include <string.h>

enum { STREAM_WEIGHTS, STREAM_ORDER, STREAM_LOSSES, STREAM_SPLIT };

#define TEST_BATCH 64u // images of the test at a time

struct desk {
    const struct weft_images *images;
    const struct weft_train_options *options;
    struct weft_train_net net;
    struct weft_train_segments segments;
    struct weft_train_loss loss;
    struct weft_train_worker *worker, *tester;
    struct weft_rng losses;
    float *gradient, *sum;
    bool *lost;
    uint32_t *arrived; // workers whose segment is in the sum
    uint64_t lost_count, sent_count;
    struct weft_arena scratch;
};

static void add(float *restrict sum, const float *restrict values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sum[i] += values[i];
    }
}

static void add_gradient(struct desk *desk, uint32_t worker)
{
    const struct weft_train_segments *segments = &desk->segments;
    desk->lost_count += weft_train_lose(desk->lost, &desk->loss, desk->gradient, worker,
                                        &desk->losses, desk->scratch);
    desk->sent_count += segments->count;
    for (uint32_t s = 0; s < segments->count; s++) {
        uint32_t first = segments->first[s];
        if (!desk->lost[s]) {
            add(desk->sum + first, desk->gradient + first, segments->first[s + 1] - first);
            desk->arrived[s]++;
        }
    }
}

// Each segment's sum as if all workers were in it.
static void rescale(struct desk *desk)
{
    const struct weft_train_segments *segments = &desk->segments;
    for (uint32_t s = 0; s < segments->count; s++) {
        float factor = (float)desk->options->worker_count /
                       (float)(desk->arrived[s] > 0 ? desk->arrived[s] : 1);
        for (uint32_t i = segments->first[s]; i < segments->first[s + 1]; i++) {
            desk->sum[i] *= factor;
        }
    }
}

// One step on the images of `batch`; returns their loss.
static double step(struct desk *desk, const uint32_t *batch)
{
    const struct weft_train_options *options = desk->options;
    uint32_t workers = options->worker_count;
    double loss = 0;
    weft_poll();
    memset(desk->sum, 0, desk->net.number_count * sizeof *desk->sum);
    memset(desk->arrived, 0, desk->segments.count * sizeof *desk->arrived);
    weft_train_loss_step(&desk->loss, &desk->losses);
    for (uint32_t w = 0; w < workers; w++) {
        uint32_t first = (uint32_t)((uint64_t)w * options->batch / workers);
        uint32_t end = (uint32_t)((w + 1ull) * options->batch / workers);
        for (uint32_t i = first; i < end; i++) {
            weft_train_load(desk->worker, desk->images, batch[i], 0, 0);
        }
        loss += weft_train_gradient(desk->gradient, desk->worker, &desk->net);
        add_gradient(desk, w);
    }
    if (options->rescales) {
        rescale(desk);
    }
    weft_train_descend(&desk->net, desk->sum,
                       &(struct weft_train_descent){
                           .rate = (float)(options->rate / options->batch),
                           .momentum = (float)options->momentum,
                       });
    return loss;
}

static bool open_desk(struct desk *desk, const struct weft_environment *environment,
                      struct weft_arena *arena)
{
    const struct weft_images *images = desk->images;
    const struct weft_train_options *options = desk->options;
    struct weft_error *error = environment->error;
    const struct weft_train_shape shape = {1, images->height, images->width};
    struct weft_rng weights = weft_rng_stream(environment->seed, STREAM_WEIGHTS);
    if (!weft_train_net_build(&desk->net, options->net, shape, &weights, arena, error)) {
        return false;
    }
    uint32_t outputs = desk->net.layers[desk->net.layer_count - 1].out.channels;
    for (uint32_t i = 0; i < images->count; i++) {
        if (images->labels[i] >= outputs) {
            return weft_fail(error, WEFT_INPUT,
                             "image %u is of class %u, the net has outputs for %u", i,
                             images->labels[i], outputs);
        }
    }
    weft_train_segments_build(&desk->segments, &desk->net, options->segment_floats, arena);
    if (options->lost.kind == WEFT_LOST_LAYER &&
        options->lost.tensor >= desk->segments.tensor_count) {
        return weft_fail(error, WEFT_INPUT, "the net has no layer %u with numbers, only %u",
                         options->lost.tensor + 1, desk->segments.tensor_count);
    }
    weft_train_loss_build(&desk->loss, &desk->segments, &options->lost, options->worker_count,
                          arena);
    uint32_t workers = options->worker_count;
    desk->worker =
        weft_train_worker_build(&desk->net, (options->batch + workers - 1) / workers, arena);
    desk->tester = weft_train_worker_build(&desk->net, TEST_BATCH, arena);
    desk->losses = weft_rng_stream(environment->seed, STREAM_LOSSES);
    desk->gradient = WEFT_NEW(arena, float, desk->net.number_count);
    desk->sum = WEFT_NEW(arena, float, desk->net.number_count);
    desk->lost = WEFT_NEW(arena, bool, desk->segments.count);
    desk->arrived = WEFT_NEW(arena, uint32_t, desk->segments.count);
    return true;
}

void weft_train_split_draw(struct weft_train_split *split, uint32_t count, uint32_t test_count,
                           uint64_t seed, struct weft_arena *arena)
{
    WEFT_ASSERT(test_count > 0 && test_count < count);
    struct weft_rng rng = weft_rng_stream(seed, STREAM_SPLIT);
    uint32_t *order = WEFT_NEW_RAW(arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    weft_rng_shuffle(&rng, order, count);
    *split = (struct weft_train_split){count - test_count, test_count, order + test_count, order};
}

bool weft_train_play(struct weft_train_run *run, const struct weft_images *images,
                     const struct weft_train_split *split, const struct weft_train_options *options,
                     const struct weft_environment *environment)
{
    WEFT_ASSERT(options->batch >= options->worker_count && split->train_count >= options->batch);
    struct weft_arena scratch = environment->scratch;
    struct desk desk = {.images = images, .options = options};
    double *accuracy = WEFT_NEW(environment->arena, double, options->epochs);
    double *loss = WEFT_NEW(environment->arena, double, options->epochs);
    if (!open_desk(&desk, environment, &scratch)) {
        return false;
    }
    uint32_t steps = split->train_count / options->batch;
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, split->train_count);
    memcpy(order, split->train, split->train_count * sizeof *order);
    struct weft_rng shuffles = weft_rng_stream(environment->seed, STREAM_ORDER);
    desk.scratch = scratch;
    for (uint32_t e = 0; e < options->epochs; e++) {
        weft_rng_shuffle(&shuffles, order, split->train_count);
        for (uint32_t s = 0; s < steps; s++) {
            loss[e] += step(&desk, order + (size_t)s * options->batch);
            weft_tally_add(options->tally, options->batch);
        }
        loss[e] /= (double)steps * options->batch;
        accuracy[e] = (double)weft_train_count_right(desk.tester, &desk.net, images, split->test,
                                                     split->test_count) /
                      split->test_count;
    }
    *run = (struct weft_train_run){
        .accuracy = accuracy,
        .loss = loss,
        .lost_share = (double)desk.lost_count / (double)desk.sent_count,
    };
    return true;
}
