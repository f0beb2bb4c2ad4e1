// SPDX-License-Identifier: Apache-2.0
// The serving simulator against one that hands out task by task to core by core: random nets of
// layers that wait for each other, random processors and traces; every end and the work are equal.
// And what no schedule can be below: the longest chain of a request, the work over the cores.
//
// Mutations that made this test fail (each was run): the range that gets one more task does not
// wrap round; steps merge that differ; a core that is free before now begins before now; events of
// one time are taken latest first; the pointer moves by the tasks of a round more.

#include "../arenas.h"
#include "../seeds.h"
#include "weft/serving.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SEEDS 400u
#define LAYERS_MAX 9u
#define REQUESTS_MAX 14u
#define CORES_MAX 37u

// ---- what is random ----

struct scene {
    struct weft_serving_net nets[WEFT_SERVING_NETS];
    struct weft_serving_processor processor;
    struct weft_serving_trace trace;
    struct weft_serving_options options;
};

static void draw_net(struct weft_serving_net *net, struct weft_rng *rng, struct weft_arena *arena)
{
    uint32_t count = 1 + weft_rng_below(rng, LAYERS_MAX);
    struct weft_serving_layer *layers = WEFT_NEW(arena, struct weft_serving_layer, count);
    uint32_t *next = WEFT_NEW(arena, uint32_t, count * count);
    uint32_t edges = 0;
    for (uint32_t l = 0; l < count; l++) {
        layers[l].length = 1 + weft_rng_below(rng, 40);
        layers[l].products = 1 + weft_rng_below(rng, 120);
        layers[l].next_first = edges;
        for (uint32_t m = l + 1; m < count; m++) {
            if (weft_rng_below(rng, 3) == 0) {
                next[edges++] = m;
                layers[l].next_count++;
                layers[m].wait_count++;
            }
        }
    }
    *net = (struct weft_serving_net){.name = "random",
                                     .layer_count = count,
                                     .layers = layers,
                                     .next_count = edges,
                                     .next = next};
}

static void draw_scene(struct scene *scene, uint64_t seed, struct weft_arena *arena)
{
    struct weft_rng rng = weft_rng_stream(0x5e71, seed);
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        draw_net(&scene->nets[n], &rng, arena);
    }
    scene->processor = (struct weft_serving_processor){
        .name = "random",
        .cores = 1 + weft_rng_below(&rng, CORES_MAX),
        .clock_ghz = 0.5 + weft_rng_unit(&rng),
    };
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        scene->processor.datapath_ns[n] = weft_rng_below(&rng, 2) * 50 * weft_rng_unit(&rng);
    }
    uint32_t count = 1 + weft_rng_below(&rng, REQUESTS_MAX);
    struct weft_serving_arrival *arrivals = WEFT_NEW(arena, struct weft_serving_arrival, count);
    uint64_t at = 0;
    for (uint32_t r = 0; r < count; r++) {
        at += weft_rng_below(&rng, 2) * weft_rng_below(&rng, 400);
        arrivals[r] = (struct weft_serving_arrival){at, weft_rng_below(&rng, WEFT_SERVING_NETS)};
    }
    scene->trace = (struct weft_serving_trace){.count = count, .arrivals = arrivals};
    scene->options.granularity = 1 + weft_rng_below(&rng, 30);
    scene->options.until = weft_rng_below(&rng, 2) * (1 + weft_rng_below(&rng, count));
}

// ---- task by task ----

struct step {
    uint64_t tick;
    uint32_t request, layer;
    bool arrives, ends, done;
};
struct slow {
    const struct scene *scene;
    struct step *steps; // in the order in which they were made
    uint32_t step_count;
    uint64_t free_ticks[CORES_MAX];
    uint64_t pointer;
    uint32_t waits[REQUESTS_MAX][LAYERS_MAX];
    uint32_t left[REQUESTS_MAX];
    uint64_t ends[REQUESTS_MAX];
    uint64_t work;
};

static struct step *first_step(struct slow *slow)
{
    struct step *first = NULL;
    for (uint32_t s = 0; s < slow->step_count; s++) {
        struct step *step = &slow->steps[s];
        if (!step->done && (first == NULL || step->tick < first->tick ||
                            (step->tick == first->tick && step->request < first->request))) {
            first = step;
        }
    }
    return first;
}

static const struct weft_serving_net *net_of(const struct slow *slow, uint32_t request)
{
    return &slow->scene->nets[slow->scene->trace.arrivals[request].net];
}

static void slow_arrive(struct slow *slow, uint64_t now, uint32_t request)
{
    const struct weft_serving_processor *processor = &slow->scene->processor;
    const struct weft_serving_net *net = net_of(slow, request);
    uint32_t n = slow->scene->trace.arrivals[request].net;
    uint64_t later = (uint64_t)ceil(processor->datapath_ns[n] * processor->clock_ghz);
    slow->left[request] = net->layer_count;
    for (uint32_t l = 0; l < net->layer_count; l++) {
        slow->waits[request][l] = net->layers[l].wait_count;
        if (net->layers[l].wait_count == 0) {
            slow->steps[slow->step_count++] =
                (struct step){.tick = now + later, .request = request, .layer = l};
        }
    }
}

static void slow_begin(struct slow *slow, uint64_t now, uint32_t request, uint32_t layer)
{
    const struct weft_serving_layer *of = &net_of(slow, request)->layers[layer];
    uint64_t grain = slow->scene->options.granularity;
    uint64_t macs = of->length * of->products;
    uint64_t ticks = of->length >= grain ? of->length : grain;
    uint64_t tasks = of->length >= grain ? of->products : macs / grain + (macs % grain != 0);
    uint64_t end = 0;
    for (uint64_t t = 0; t < tasks; t++) {
        uint64_t *free_tick = &slow->free_ticks[slow->pointer++ % slow->scene->processor.cores];
        *free_tick = (*free_tick > now ? *free_tick : now) + ticks;
        end = *free_tick > end ? *free_tick : end;
        slow->work += ticks;
    }
    slow->steps[slow->step_count++] =
        (struct step){.tick = end, .request = request, .layer = layer, .ends = true};
}

static void slow_end(struct slow *slow, uint64_t now, uint32_t request, uint32_t layer)
{
    const struct weft_serving_net *net = net_of(slow, request);
    for (uint32_t n = 0; n < net->layers[layer].next_count; n++) {
        uint32_t next = net->next[net->layers[layer].next_first + n];
        if (--slow->waits[request][next] == 0) {
            slow->steps[slow->step_count++] =
                (struct step){.tick = now, .request = request, .layer = next};
        }
    }
    if (--slow->left[request] == 0) {
        slow->ends[request] = now;
    }
}

static bool slow_done(const struct slow *slow, uint32_t until)
{
    for (uint32_t r = 0; r < until; r++) {
        if (slow->ends[r] == WEFT_NEVER) {
            return false;
        }
    }
    return true;
}

static void slow_run(struct slow *slow, const struct scene *scene, struct weft_arena *arena)
{
    uint32_t count = scene->trace.count;
    memset(slow, 0, sizeof *slow);
    slow->scene = scene;
    slow->steps = WEFT_NEW(arena, struct step, count * (1 + 2 * LAYERS_MAX));
    for (uint32_t r = 0; r < count; r++) {
        double ticks = (double)scene->trace.arrivals[r].arrival_ns * scene->processor.clock_ghz;
        slow->ends[r] = WEFT_NEVER;
        slow->steps[slow->step_count++] =
            (struct step){.tick = (uint64_t)ceil(ticks), .request = r, .arrives = true};
    }
    uint32_t until = scene->options.until > 0 ? scene->options.until : count;
    while (!slow_done(slow, until)) {
        struct step *step = first_step(slow);
        step->done = true;
        if (step->arrives) {
            slow_arrive(slow, step->tick, step->request);
        } else if (step->ends) {
            slow_end(slow, step->tick, step->request, step->layer);
        } else {
            slow_begin(slow, step->tick, step->request, step->layer);
        }
    }
}

// ---- what no schedule can be below ----

// Ticks of the longest chain of layers, each at its shortest: tasks spread over all cores.
static uint64_t chain_ticks(const struct scene *scene, const struct weft_serving_net *net)
{
    uint64_t begins[LAYERS_MAX] = {0};
    uint64_t longest = 0;
    for (uint32_t l = 0; l < net->layer_count; l++) {
        struct weft_serving_tasks tasks =
            weft_serving_layer_tasks(&net->layers[l], scene->options.granularity);
        uint64_t rounds = (tasks.count + scene->processor.cores - 1) / scene->processor.cores;
        uint64_t end = begins[l] + rounds * tasks.ticks;
        longest = end > longest ? end : longest;
        for (uint32_t n = 0; n < net->layers[l].next_count; n++) {
            uint32_t next = net->next[net->layers[l].next_first + n];
            begins[next] = end > begins[next] ? end : begins[next];
        }
    }
    return longest;
}

static void check_bounds(const struct scene *scene, const struct weft_serving_run *run)
{
    uint64_t begin = run->start_ticks[0];
    uint64_t last = 0;
    uint64_t work = 0;
    for (uint32_t r = 0; r < run->count; r++) {
        const struct weft_serving_net *net = &scene->nets[scene->trace.arrivals[r].net];
        work += weft_serving_work_ticks(net, scene->options.granularity);
        if (run->end_ticks[r] != WEFT_NEVER) {
            assert_true(run->end_ticks[r] - run->start_ticks[r] >= chain_ticks(scene, net));
        }
        last = run->end_ticks[r] > last ? run->end_ticks[r] : last;
    }
    if (last != WEFT_NEVER) { // all have ended
        assert_int_equal(run->work_ticks, work);
        assert_true((last - begin) * scene->processor.cores >= work);
    }
}

static void runs_equal_those_task_by_task(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TEST_SEEDS(SEEDS); seed++) {
        struct weft_arena scratch = scratch_kept;
        struct weft_arena arena = weft_arena_split(&scratch);
        struct weft_arena inner = weft_arena_split(&scratch);
        struct scene scene = {0};
        draw_scene(&scene, seed, &arena);
        static struct slow slow;
        slow_run(&slow, &scene, &inner);
        struct weft_serving_run run;
        weft_serving_run(&run, &scene.processor, scene.nets, &scene.trace, &scene.options, &arena,
                         scratch);
        for (uint32_t r = 0; r < run.count; r++) {
            if (run.end_ticks[r] != slow.ends[r]) {
                fail_msg("seed %llu: request %u ends at %llu, task by task at %llu",
                         (unsigned long long)seed, r, (unsigned long long)run.end_ticks[r],
                         (unsigned long long)slow.ends[r]);
            }
        }
        assert_int_equal(run.work_ticks, slow.work);
        check_bounds(&scene, &run);
    }
}

// Requests that are rare enough meet nobody: they are as fast as alone where their net's cores do
// not depend on where the pointer stands, as chains of layers do not.
static void rare_requests_are_as_fast_as_alone(void **state)
{
    (void)state;
    const struct weft_serving_net *nets = NULL;
    struct weft_error error;
    assert_true(weft_serving_nets(&nets, &arena_kept, &error));
    struct weft_serving_arrival arrivals[4];
    for (uint32_t r = 0; r < 4; r++) {
        arrivals[r] = (struct weft_serving_arrival){r * 1000000000ull, r};
    }
    const struct weft_serving_trace trace = {.count = 4, .arrivals = arrivals};
    const struct weft_serving_options options = {0};
    for (uint32_t p = 0; p < weft_serving_processor_count; p++) {
        const struct weft_serving_processor *processor = &weft_serving_processors[p];
        struct weft_serving_run run;
        weft_serving_run(&run, processor, nets, &trace, &options, &arena_kept, scratch_kept);
        for (uint32_t r = 0; r < 4; r++) {
            double ns = (double)(run.end_ticks[r] - run.start_ticks[r]) / processor->clock_ghz;
            double alone = weft_serving_isolated_ns(processor, nets, r, WEFT_SERVING_GRANULARITY,
                                                    scratch_kept);
            assert_true(fabs(ns - alone) < 1e-6 * alone);
        }
    }
}

// A formula for many jobs that share a processor (any distribution of work): latencies of long
// traces are of its magnitude. Arrivals are burstier than Poisson's, since a short input comes
// soon, so means are above it.
static void means_are_of_the_magnitude_of_processor_sharing(void **state)
{
    (void)state;
    const struct weft_serving_net *nets = NULL;
    struct weft_error error;
    assert_true(weft_serving_nets(&nets, &arena_kept, &error));
    struct weft_serving_trace traces[3];
    for (uint32_t t = 0; t < 3; t++) {
        struct weft_rng rng = weft_rng_stream(11, t);
        weft_serving_draw(&traces[t], nets, 400, 0.6e6, &rng, &arena_kept);
    }
    const struct weft_serving_study_options options = {
        .load_Bps = 0.6e6, .objective_ns = 1e8, .idle_share = 1};
    const struct weft_environment environment = {
        .arena = &arena_kept, .scratch = scratch_kept, .threads = 2, .error = &error};
    struct weft_serving_study study;
    weft_serving_study(&study, weft_serving_processors, 3, nets, traces, 3, &options, &environment);
    for (uint32_t p = 0; p < 3; p++) {
        double ratio = study.rows[p].mean_ns.value / study.rows[p].sharing_ns;
        if (ratio < 0.7 || ratio > 2.2) {
            fail_msg("%s: %.3f times processor sharing", study.rows[p].processor->name, ratio);
        }
        assert_true(study.rows[p].mean_ns.low <= study.rows[p].mean_ns.value);
        assert_true(study.rows[p].mean_ns.high >= study.rows[p].mean_ns.value);
    }
}

int main(void)
{
    print_message("seeds 0 to %u of stream 0x5e71\n", TEST_SEEDS(SEEDS) - 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_equal_those_task_by_task),
        cmocka_unit_test(rare_requests_are_as_fast_as_alone),
        cmocka_unit_test(means_are_of_the_magnitude_of_processor_sharing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
