// SPDX-License-Identifier: Apache-2.0
// A worker: gradient of its share of the batch, sum over the network, step of descent.
//
// All workers draw the same order of images from the seed, the one that weft_train_play draws, and
// take their shares of each batch as it does. What differs from a training in one process is the
// network alone.

#include "run_private.h"

#include <string.h>

// Of the seed, as in src/train/run.c: weights are stream 0.
enum { STREAM_ORDER = 1 };

#define TEST_BATCH 64u // images of the test at a time

struct work {
    const struct lab_train *train;
    struct lab_peer *self;
    struct weft_train_net net;
    struct weft_train_worker *worker, *tester;
    struct lab_train_reduce reduce;
    float *gradient;
    uint32_t *order;
    struct weft_rng shuffles;
    double loss;
};

static void open_work(struct work *work, struct weft_arena *arena)
{
    const struct lab_train *train = work->train;
    const struct lab_train_options *options = train->options;
    const struct weft_train_split *split = options->split;
    uint32_t workers = work->self->count;
    work->net = train->net;
    work->worker =
        weft_train_worker_build(&work->net, (options->batch + workers - 1) / workers, arena);
    work->tester = weft_train_worker_build(&work->net, TEST_BATCH, arena);
    work->gradient = WEFT_NEW(arena, float, work->net.number_count);
    work->order = WEFT_NEW(arena, uint32_t, split->train_count);
    memcpy(work->order, split->train, split->train_count * sizeof *work->order);
    work->shuffles = weft_rng_stream(options->seed, STREAM_ORDER);
}

static bool do_step(struct work *work, uint32_t step, struct weft_error *error)
{
    const struct lab_train *train = work->train;
    const struct lab_train_options *options = train->options;
    uint32_t workers = work->self->count, rank = work->self->rank;
    struct lab_train_instants *instants = &train->instants[(size_t)step * workers + rank];
    uint32_t at = step % train->epoch_steps;
    instants->begin_ns = lab_now_ns();
    if (at == 0) {
        weft_rng_shuffle(&work->shuffles, work->order, options->split->train_count);
    }
    const uint32_t *batch = work->order + (size_t)at * options->batch;
    uint32_t first = (uint32_t)((uint64_t)rank * options->batch / workers);
    uint32_t end = (uint32_t)((rank + 1ull) * options->batch / workers);
    for (uint32_t i = first; i < end; i++) {
        weft_train_load(work->worker, options->images, batch[i], 0, 0);
    }
    work->loss += weft_train_gradient(work->gradient, work->worker, &work->net);
    instants->ready_ns = lab_now_ns();
    if (!lab_train_reduce_sum(&work->reduce, work->gradient, error)) {
        return false;
    }
    weft_train_descend(&work->net, work->gradient,
                       &(struct weft_train_descent){
                           .rate = (float)(options->rate / options->batch),
                           .momentum = (float)options->momentum,
                       });
    struct lab_train_sums sums;
    lab_train_reduce_count(&sums, &work->reduce);
    instants->counts = sums.counts;
    instants->end_ns = lab_now_ns();
    return lab_peer_alive(work->self, error);
}

static uint64_t hash_net(const struct weft_train_net *net)
{
    uint64_t hash = net->number_count;
    for (uint32_t i = 0; i < net->number_count; i++) {
        uint32_t bits;
        memcpy(&bits, &net->numbers[i], sizeof bits);
        hash = weft_hash(hash ^ bits);
    }
    return hash;
}

static bool do_order(struct work *work, const struct lab_train_order *order,
                     struct weft_error *error)
{
    const struct lab_train_options *options = work->train->options;
    for (uint32_t step = order->first_step; step < order->end_step; step++) {
        if (!do_step(work, step, error)) {
            return weft_wrap(error, "step %u", step);
        }
    }
    uint64_t tests = options->split->test_count, rank = work->self->rank;
    uint32_t first = (uint32_t)(rank * tests / work->self->count);
    uint32_t end = (uint32_t)((rank + 1) * tests / work->self->count);
    struct lab_train_report report = {.hash = hash_net(&work->net), .loss = work->loss};
    report.right = weft_train_count_right(work->tester, &work->net, options->images,
                                          options->split->test + first, end - first);
    lab_train_reduce_count(&report.sums, &work->reduce);
    return lab_peer_send(work->self, LAB_MESSAGE_RESULT, &report, sizeof report, error);
}

// Orders until the coordinator says END, which leaves an error of code WEFT_OK.
static bool do_all(struct work *work, struct weft_error *error)
{
    struct lab_train_order order;
    while (lab_train_reduce_wait(&work->reduce, error) &&
           lab_peer_receive(work->self, LAB_MESSAGE_GO, &order, sizeof order, error)) {
        if (!do_order(work, &order, error)) {
            return false;
        }
    }
    return error->code == WEFT_OK;
}

int lab_train_worker(struct lab_peer *self, void *context)
{
    const struct lab_train *train = context;
    uint32_t server = train->network->workers[self->rank];
    char netns[WEFT_NETNS_NAME_MAX];
    struct work work = {.train = train, .self = self};
    struct weft_error error = {.code = WEFT_OK};
    struct weft_arena scratch = train->scratch;
    struct weft_arena arena = weft_arena_split(&scratch);
    uint32_t *addresses = WEFT_NEW(&arena, uint32_t, self->count);
    const struct lab_train_reduce_setting setting = {
        .options = train->options,
        .segments = &train->segments,
        .congestion = train->congestion,
        .addresses = addresses,
        .lab = train->lab,
    };
    for (uint32_t w = 0; w < self->count; w++) {
        addresses[w] = weft_lab_server_address(train->network->workers[w]);
    }
    open_work(&work, &arena);
    bool fine = lab_peer_enter(weft_lab_server_netns(netns, train->lab->name, server), &error) &&
                lab_train_reduce_open(&work.reduce, self, &setting, &arena, scratch, &error) &&
                do_all(&work, &error);
    lab_train_reduce_close(&work.reduce);
    if (!fine) {
        lab_peer_fail(self, &error);
    }
    return fine ? 0 : (int)error.code;
}
