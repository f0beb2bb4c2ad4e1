// SPDX-License-Identifier: Apache-2.0
// One question, one answer: the same model on the same cluster, with the same effort and seed, has
// the same times to the last bit in weft plan, on its page, in weft compare and in weft strategy.
//
// Random pairs of a model and a cluster from a printed seed. Six small ones run in the normal
// suite; "all" as the argument runs twenty, larger ones among them. Estimates stand beside
// simulations in what is printed, and of what was simulated the best is among the first ten by
// estimate.
//
// Mutations it failed with: the page compared a fabric planned anew, simulated with another seed or
// named one owner for all strategies; compare's row of Weft took a strategy of another fabric that
// its plan had not; strategy played rings in their groups' own order on fabrics whose rings are
// tours; rates as if flows were split over all paths (rank by estimate).

#include "weft/report.h"
#include "weft/request/compare.h"
#include "weft/request/plan.h"
#include "weft/request/strategy.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEED 1604u
#define PAIRS_SMALL 6u
#define PAIRS_ALL 20u
// The simulated best is among so many of the first by estimate: on all small pairs, and on all but
// so many in a hundred of all (docs/hybrid.md, "Limits").
#define FIRST 10u
#define LATE_PERCENT 6u // measured: 4 of 74; the goal is none

static uint32_t pair_count = PAIRS_SMALL;
static uint32_t rankings, late; // of all; and of those where it is not

struct pair {
    const char *model;
    uint64_t batch;
    uint32_t servers, degree;
    double gbps;
    double effort_s;
    uint64_t seed;
    char cluster[64]; // a file
};

struct door {
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error;
    struct weft_request_environment environment;
};

static void open_door(struct door *door, const struct pair *pair)
{
    *door = (struct door){.error = {.code = WEFT_OK}};
    assert_true(weft_arena_init(&door->arena, 0, &door->error));
    assert_true(weft_arena_init(&door->scratch, 0, &door->error));
    door->environment.base = (struct weft_environment){.arena = &door->arena,
                                                       .scratch = door->scratch,
                                                       .seed = pair->seed,
                                                       .threads = 2,
                                                       .error = &door->error};
}

static void close_door(struct door *door)
{
    weft_arena_release(&door->arena);
    weft_arena_release(&door->scratch);
}

// Draws a pair and writes its cluster; the first PAIRS_SMALL are of models and clusters that take a
// second or two.
static void draw(struct pair *pair, struct weft_rng *rng, uint32_t index)
{
    static const struct {
        const char *name;
        uint64_t batch;
    } models[] = {
        {SOURCE_ROOT "/examples/models/two-towers.yaml", 8192},
        {"gpt3-125m", 64},
        {"dlrm-16", 4096},
        {"gpt3-350m", 64},
        {"candle-16", 4096},
        {"bert-16", 512},
        {"gpt3-1.3b", 128},
        {"mixtral-8x7b", 64},
        {"vgg16-16", 1024},
        {"llama3-8b", 64},
    };
    static const uint32_t servers[] = {4, 8, 16};
    static const double rates[] = {25, 100, 200, 400};
    bool small = index < PAIRS_SMALL;
    uint32_t model = small ? index % 4 : weft_rng_below(rng, sizeof models / sizeof models[0]);
    *pair = (struct pair){.model = models[model].name,
                          .batch = models[model].batch,
                          .servers = servers[weft_rng_below(rng, small ? 2 : 3)],
                          .degree = 2 + weft_rng_below(rng, 3),
                          .gbps = rates[weft_rng_below(rng, 4)],
                          .effort_s = small ? 0.02 : 0.2,
                          .seed = 1 + weft_rng_below(rng, 1000)};
    pair->degree = pair->degree < pair->servers ? pair->degree : pair->servers - 1;
    snprintf(pair->cluster, sizeof pair->cluster, "/tmp/weft-answers-XXXXXX.yaml");
    int file = mkstemps(pair->cluster, 5);
    assert_true(file >= 0);
    assert_true(dprintf(file,
                        "servers: %u\ndegree: %u\nrate: %.0fGbps\n"
                        "accelerators: {per_server: 4, kind: A100, memory: 80GB}\n",
                        pair->servers, pair->degree, pair->gbps) > 0);
    assert_int_equal(close(file), 0);
}

static const char *describe(const struct pair *pair, struct weft_arena *arena)
{
    return weft_arena_format(
        arena, "%s, batch %llu, %u servers, %u x %.0f Gbps, effort %g, seed %llu", pair->model,
        (unsigned long long)pair->batch, pair->servers, pair->degree, pair->gbps, pair->effort_s,
        (unsigned long long)pair->seed);
}

static struct weft_request_job job_of(const struct pair *pair)
{
    return (struct weft_request_job){.model = pair->model, .batch = pair->batch};
}

// The page has a row of that name with that time, and its last cell says whose strategy that is.
static bool page_has(const char *page, const struct weft_comparison *row, struct weft_arena *arena)
{
    char time[WEFT_UNIT_TEXT];
    weft_show_time(time, weft_picoseconds(row->iteration_s));
    const char *at =
        strstr(page, weft_arena_format(arena, "<tr><th scope=\"row\">%s<td class=\"r\">%s<td",
                                       row->name, time));
    const char *end = at == NULL ? NULL : strstr(at, "</tr>");
    const char *owner =
        weft_arena_format(arena, "<td>%s", row->found_for != NULL ? row->found_for : "this plan");
    size_t length = strlen(owner);
    return end != NULL && memcmp(end - length, owner, length) == 0;
}

// Each row of the comparison is on the page; returns how many there are.
static uint32_t check_page(const char *page, const struct weft_model_comparison *comparison,
                           const char *what, struct weft_arena *arena)
{
    uint32_t shown = 0;
    for (uint32_t r = 0; r < comparison->row_count; r++) {
        const struct weft_comparison *row = &comparison->rows[r];
        if (row->why_not == NULL && !page_has(page, row, arena)) {
            fail_msg("%s: the page has no row of %s with %.17g s by a strategy of %s", what,
                     row->name, row->iteration_s,
                     row->found_for != NULL ? row->found_for : "this plan");
        }
        shown += row->why_not == NULL;
    }
    return shown;
}

// What weft strategy answers of a fabric.
static void ask_strategy(struct weft_strategy_result *result, const struct pair *pair,
                         const char *fabric, struct door *door)
{
    const struct weft_strategy_request request = {.job = job_of(pair),
                                                  .hardware = {.cluster_path = pair->cluster},
                                                  .fabric = fabric,
                                                  .keep = 32,
                                                  .seconds = pair->effort_s};
    if (!weft_request_strategy(result, &request, &door->environment)) {
        fail_msg("%s: %s", describe(pair, &door->arena), door->error.message);
    }
}

// Ranked by simulation, told by it, and the estimate had the best among its first ten.
static void check_ranking(const struct weft_strategy_result *result)
{
    uint32_t before = 0; // candidates that the estimate has before the simulated best
    assert_true(result->simulated_ps[0] > 0);
    for (uint32_t i = 1; i < result->found.count && result->simulated_ps[i] > 0; i++) {
        assert_true(result->simulated_ps[i] >= result->simulated_ps[i - 1]);
        before += result->found.candidates[i].estimate_ps < result->found.candidates[0].estimate_ps;
    }
    if (result->hybrid) {
        double time_s = weft_seconds(result->simulated_ps[0]);
        const struct weft_hybrid_estimate *estimate = &result->estimates[0];
        double work = estimate->model_flops_utilization * weft_seconds(estimate->iteration_ps);
        assert_true(weft_request_strategy_mfu(result, 0) * time_s > work * (1 - 1e-9));
        assert_true(weft_request_strategy_mfu(result, 0) * time_s < work * (1 + 1e-9));
    }
    rankings++;
    late += before >= FIRST;
    if (before >= FIRST) {
        print_message("  %s: the simulated best is number %u by estimate\n", result->fabric,
                      before + 1);
    }
}

static void check_pair(const struct pair *pair)
{
    struct door door;
    open_door(&door, pair);
    const char *what = describe(pair, &door.arena);
    const struct weft_plan_request plan_request = {
        .job = job_of(pair),
        .hardware = {.cluster_path = pair->cluster},
        .search = {.seconds = pair->effort_s},
        .report = true,
    };
    struct weft_plan_result planned;
    if (!weft_request_plan(&planned, &plan_request, &door.environment)) {
        fail_msg("%s: %s", what, door.error.message);
    }
    const struct weft_compare_models_request compare_request = {
        .models = &pair->model,
        .model_count = 1,
        .hardware = {.cluster_path = pair->cluster},
        .job = {.batch = 0},
        .search = {.seconds = pair->effort_s},
        .batch_count = 1,
        .batches = {pair->batch},
    };
    struct weft_compare_models_result compared;
    if (!weft_request_compare_models(&compared, &compare_request, &door.environment)) {
        fail_msg("%s: %s", what, door.error.message);
    }
    const struct weft_model_comparison *comparison = &compared.comparisons[0];
    const struct weft_comparison *weft = &comparison->rows[comparison->row_count - 1];
    assert_string_equal(weft->name, "weft");
    if (weft->iteration_s != planned.plan->iteration_s) {
        fail_msg("%s: plan %.17g s, compare %.17g s", what, planned.plan->iteration_s,
                 weft->iteration_s);
    }
    uint32_t shown = check_page(planned.page, comparison, what, &door.arena);
    print_message("%s\n  plan %.17g s, compare %.17g s, the page the same in %u rows\n", what,
                  planned.plan->iteration_s, weft->iteration_s, shown);
    // Fabrics of switches and of servers that forward; a cost-equivalent one costs what the plan
    // does and is not asked for by weft strategy.
    static const char *const fabrics[] = {"fat-tree", "leaf-spine", "torus-2d", "ideal"};
    for (uint32_t f = 0; f < sizeof fabrics / sizeof fabrics[0]; f++) {
        const struct weft_comparison *row = NULL;
        for (uint32_t r = 0; r < comparison->row_count; r++) {
            bool same = strcmp(comparison->rows[r].name, fabrics[f]) == 0;
            row = same ? &comparison->rows[r] : row;
        }
        if (row == NULL || row->why_not != NULL) {
            continue;
        }
        struct weft_strategy_result result;
        ask_strategy(&result, pair, fabrics[f], &door);
        check_ranking(&result);
        double best_s = weft_seconds(result.simulated_ps[0]);
        bool own = strcmp(row->found_for, fabrics[f]) == 0;
        print_message("  %-10s compare %.6g s (%s), strategy %.6g s, its estimate %.6g s\n",
                      fabrics[f], row->iteration_s, row->found_for, best_s,
                      weft_seconds(result.found.candidates[0].estimate_ps));
        if (row->iteration_s > best_s || (own && row->iteration_s != best_s)) {
            fail_msg("%s, %s: compare %.17g s by a strategy of %s, strategy %.17g s", what,
                     fabrics[f], row->iteration_s, row->found_for, best_s);
        }
    }
    close_door(&door);
}

static void answers_agree(void **state)
{
    (void)state;
    struct weft_rng rng;
    weft_rng_init(&rng, SEED);
    print_message("seed %u, %u pairs\n", SEED, pair_count);
    for (uint32_t i = 0; i < pair_count; i++) {
        struct pair pair;
        draw(&pair, &rng, i);
        check_pair(&pair);
        unlink(pair.cluster);
    }
    print_message("%u of %u rankings have the simulated best behind the first %u by estimate\n",
                  late, rankings, FIRST);
    assert_true(late * 100 <= rankings * (pair_count > PAIRS_SMALL ? LATE_PERCENT : 0));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_agree)};
    pair_count = argc > 1 && strcmp(argv[1], "all") == 0 ? PAIRS_ALL : PAIRS_SMALL;
    return cmocka_run_group_tests_name("answers", tests, NULL, NULL);
}
