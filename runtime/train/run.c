// SPDX-License-Identifier: Apache-2.0
// The coordinator of a training run: workers are forked, told which steps to do next, and asked
// what came of it, until all epochs are done.
//
// Between two tests the coordinator says nothing, so that workers are in step by their sums alone.
// What they share besides messages is memory for the instants of steps, of which there are more
// than a message holds.

#include "run_private.h"

#include "bpf/mltcp/cc.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const lab_train_transport_names[LAB_TRAIN_TRANSPORTS + 1] = {
    "reno", "cubic", "dctcp", "mltcp", "mlt", NULL,
};
const char *const lab_train_collective_names[LAB_TRAIN_COLLECTIVES + 1] = {"ps", "ring", NULL};

// Of the seed, as in src/train/run.c.
enum { STREAM_WEIGHTS = 0 };

struct running {
    struct lab_train *train;
    struct lab_coordinator coordinator;
    struct lab_train_report *reports;
    struct lab_train_result *result;
    struct lab_train_epoch *epochs;
    struct lab_train_step *steps;
    struct lab_train_test *tests;
    struct lab_train_report before; // sums over workers at the end of the last epoch
    double seconds;
    uint32_t told; // steps that the tally knows of
};

// ---- the net ----

static bool build_net(struct lab_train *train, struct weft_arena *arena, struct weft_error *error)
{
    const struct lab_train_options *options = train->options;
    const struct weft_images *images = options->images;
    const struct weft_train_shape shape = {1, images->height, images->width};
    struct weft_rng weights = weft_rng_stream(options->seed, STREAM_WEIGHTS);
    if (!weft_train_net_build(&train->net, options->net, shape, &weights, arena, error)) {
        return false;
    }
    uint32_t outputs = train->net.layers[train->net.layer_count - 1].out.channels;
    for (uint32_t i = 0; i < images->count; i++) {
        if (images->labels[i] >= outputs) {
            return weft_fail(error, WEFT_INPUT,
                             "image %u is of class %u, the net has outputs for %u", i,
                             images->labels[i], outputs);
        }
    }
    weft_train_segments_build(&train->segments, &train->net, options->segment_floats, arena);
    uint32_t steps = options->split->train_count / options->batch;
    train->epoch_steps =
        options->steps_max > 0 && options->steps_max < steps ? options->steps_max : steps;
    train->step_count = train->epoch_steps * options->epochs;
    return true;
}

bool lab_train_layers(uint32_t *layer_count, const struct lab_train_options *options,
                      struct weft_arena scratch, struct weft_error *error)
{
    struct lab_train train = {.options = options};
    if (!build_net(&train, &scratch, error)) {
        return false;
    }
    *layer_count = train.segments.tensor_count;
    return true;
}

// ---- what workers report ----

// Sums over all workers, whose nets must be the same.
static bool sum_up(struct lab_train_report *sum, const struct running *running,
                   struct weft_error *error)
{
    *sum = running->reports[0];
    for (uint32_t w = 1; w < running->coordinator.count; w++) {
        const struct lab_train_report *report = &running->reports[w];
        if (report->hash != sum->hash) {
            return weft_fail(error, WEFT_IO,
                             "worker %u has another net than worker 0 after the same steps: sums "
                             "were not the same for all",
                             w);
        }
        sum->loss += report->loss;
        sum->right += report->right;
        sum->sums.contributions_due += report->sums.contributions_due;
        sum->sums.contributions_came += report->sums.contributions_came;
        if (report->sums.delivered_min_ratio < sum->sums.delivered_min_ratio) {
            sum->sums.delivered_min_ratio = report->sums.delivered_min_ratio;
        }
        lab_train_add(&sum->sums.counts, &report->sums.counts, 1);
    }
    return true;
}

// Shows steps while workers are at them: those of worker 0, by the instants of their ends.
static void tell(void *context)
{
    struct running *running = context;
    const struct lab_train *train = running->train;
    uint32_t done = running->told;
    while (done < train->step_count &&
           *(volatile uint64_t *)&train->instants[(size_t)done * train->network->worker_count]
                   .end_ns != 0) {
        done++;
    }
    weft_tally_add(train->options->tally, done - running->told);
    running->told = done;
}

// ---- steps ----

// Steps [first, end) of one epoch, and the test behind them.
static bool lead_span(struct running *running, uint32_t first, uint32_t end,
                      struct weft_error *error)
{
    const struct lab_train *train = running->train;
    struct lab_train_result *result = running->result;
    const struct lab_train_order order = {first, end};
    struct lab_train_report sum;
    if (!lab_coordinator_send(&running->coordinator, LAB_MESSAGE_GO, &order, sizeof order, error) ||
        !lab_coordinator_gather(&running->coordinator, LAB_MESSAGE_RESULT, running->reports,
                                sizeof *running->reports, error) ||
        !sum_up(&sum, running, error)) {
        return false;
    }
    lab_train_list(running->steps, train, first, end);
    running->seconds += lab_train_span_s(train, first, end);
    double accuracy = (double)sum.right / train->options->split->test_count;
    running->tests[result->test_count++] =
        (struct lab_train_test){.steps = end, .seconds = running->seconds, .accuracy = accuracy};
    if (end % train->epoch_steps != 0) {
        return true;
    }
    struct lab_train_epoch *epoch = &running->epochs[result->epoch_count++];
    *epoch = (struct lab_train_epoch){
        .accuracy = accuracy,
        .loss = (sum.loss - running->before.loss) /
                ((double)train->epoch_steps * train->options->batch),
        .seconds = running->seconds,
        .counts = sum.sums.counts,
    };
    lab_train_add(&epoch->counts, &running->before.sums.counts, -1);
    lab_train_time(epoch, running->steps + end - train->epoch_steps, train->epoch_steps,
                   train->scratch);
    running->before = sum;
    return true;
}

static bool lead_all(struct running *running, struct weft_error *error)
{
    const struct lab_train *train = running->train;
    struct lab_train_result *result = running->result;
    uint32_t every = train->options->test_every;
    for (uint32_t first = 0; first < train->step_count;) {
        uint32_t epoch_end = (first / train->epoch_steps + 1) * train->epoch_steps;
        uint32_t end = every > 0 && every < epoch_end - first ? first + every : epoch_end;
        if (!lead_span(running, first, end, error)) {
            return false;
        }
        first = end;
    }
    const struct lab_train_sums *sums = &running->before.sums;
    result->step_count = train->step_count;
    result->number_count = train->net.number_count;
    result->hash = running->before.hash;
    result->whole = running->epochs[result->epoch_count - 1];
    result->whole.counts = sums->counts;
    lab_train_time(&result->whole, running->steps, train->step_count, train->scratch);
    result->delivered_min_ratio = sums->delivered_min_ratio;
    result->delivered_ratio = sums->contributions_due > 0 ? (double)sums->contributions_came /
                                                                (double)sums->contributions_due
                                                          : 1;
    return true;
}

// ---- all of it ----

// Workers, while trouble is there.
static bool run_workers(struct running *running, struct weft_error *error)
{
    struct lab_train *train = running->train;
    const struct lab_train_options *options = train->options;
    const struct lab_peers peers = {
        .count = train->network->worker_count,
        .timeout_ms = options->timeout_ms,
        .run = lab_train_worker,
        .context = train,
    };
    if (!lab_coordinator_fork(&running->coordinator, &peers, error)) {
        return false;
    }
    running->coordinator.stop = options->stop;
    running->coordinator.idle = tell;
    running->coordinator.idle_context = running;
    weft_tally_begin(options->tally, train->step_count);
    bool fine = lab_connections_introduce(&running->coordinator, error) && lead_all(running, error);
    lab_coordinator_close(&running->coordinator);
    return fine || weft_wrap(error, "training");
}

static bool run_beside_trouble(struct running *running, struct weft_arena *arena,
                               struct weft_error *error)
{
    struct lab_train *train = running->train;
    struct lab_train_result *result = running->result;
    bool fine = lab_train_trouble_begin(&train->trouble, &train->options->trouble, train->network,
                                        train->lab, arena, error) &&
                run_workers(running, error) &&
                lab_train_trouble_end(&result->trouble, &train->trouble, train->scratch, error) &&
                lab_train_ports_count(&result->ports, train->network, train->lab, error);
    lab_train_trouble_close(&train->trouble);
    return fine;
}

// MLTCP is in the kernel for as long as the run.
static bool run_with_congestion(struct running *running, struct weft_arena *arena,
                                struct weft_error *error)
{
    struct lab_train *train = running->train;
    enum lab_train_transport transport = train->options->transport;
    train->congestion = lab_train_transport_names[transport];
    if (transport != LAB_TRAIN_MLTCP) {
        return run_beside_trouble(running, arena, error);
    }
    char name[16];
    struct weft_cc cc = {.map = -1, .link = -1};
    const struct weft_cc_parameters parameters = weft_cc_defaults(train->congestion);
    snprintf(name, sizeof name, "weft%d", (int)getpid());
    train->congestion = name;
    if (!weft_cc_capable(error) || !weft_cc_open(&cc, name, &parameters, error)) {
        return false;
    }
    bool fine = run_beside_trouble(running, arena, error);
    weft_cc_close(&cc);
    return fine;
}

bool lab_train_run(struct lab_train_result *result, const struct lab_train_options *options,
                   const struct lab_train_network *network, const struct weft_lab *lab,
                   struct weft_arena *arena, struct weft_error *error)
{
    WEFT_ASSERT(options->batch >= network->worker_count && options->epochs > 0);
    WEFT_ASSERT(options->split->train_count >= options->batch && options->split->test_count > 0);
    struct lab_train_result made = {0};
    struct lab_train *train = WEFT_NEW(arena, struct lab_train, 1);
    *train = (struct lab_train){.options = options, .network = network, .lab = lab};
    if (!build_net(train, arena, error)) {
        return false;
    }
    struct running running = {
        .train = train,
        .result = &made,
        .reports = WEFT_NEW(arena, struct lab_train_report, network->worker_count),
        .epochs = WEFT_NEW(arena, struct lab_train_epoch, options->epochs),
        .steps = WEFT_NEW(arena, struct lab_train_step, train->step_count),
        .tests = WEFT_NEW(arena, struct lab_train_test, train->step_count),
    };
    made.steps = running.steps;
    made.epochs = running.epochs;
    made.tests = running.tests;
    size_t bytes = sizeof *train->instants * network->worker_count * train->step_count;
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return weft_fail(error, WEFT_UNSUPPORTED, "%zu bytes of shared memory: %s", bytes,
                         strerrordesc_np(errno));
    }
    train->instants = shared;
    train->scratch = weft_arena_split(arena);
    bool fine = run_with_congestion(&running, arena, error);
    munmap(shared, bytes);
    if (fine) {
        *result = made;
    }
    return fine;
}
