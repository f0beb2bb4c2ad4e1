// SPDX-License-Identifier: Apache-2.0
// The estimate against published training runs, tests/oracle/published_runs.tsv: iteration time and
// memory, with one set of constants a software stack (src/strategy/hybrid/stacks.c).
//
// `oracle_published_runs table` prints the tables of docs/published-runs.md: fit rows and held-out
// rows apart. Every second row of a stack and kind is held out, a rule that stands in the file.
// `oracle_published_runs fit` finds the two constants of each stack from its dense fit rows alone
// (from its fit rows with experts where it has no others), and what Megatron-Core's host takes to
// launch a kernel from its fit rows with experts; as a test this checks that the constants in the
// library are those, that the errors are what the bounds below say, and that the runs fit into
// memory.
//
// Micro-batches, chunks and degrees are the published ones; what is assumed says so in the file.
// Mutations it failed with: tensor AllReduces at a tenth of the rate; matmul_efficiency of A100
// 0.6; gradients of 2 bytes with DeepSpeed; slow servers twice as slow; copies that DeepEP does not
// merge; exchanges of experts hidden under all products; kernels that the host launches at once.

#include "weft/format.h"
#include "weft/strategy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS_MAX 160u
#define FIELDS 13u
#define PER_SERVER 8u
// The steps of the fit, which are the digits of the constants.
#define EFFICIENCY_LOW 0.40
#define EFFICIENCY_STEP 0.01
#define EFFICIENCIES 81u
#define STEP_STEP_S 0.1
#define STEPS 31u
#define KERNEL_STEP_S 1e-6
#define KERNELS 61u
// Two stacks of one framework begin so; its second takes the first one's constants.
#define MEGATRON "megatron-core"
// Fewer fit rows, or rows of nearly one length, cannot tell step_s from the rest: it is 0 then.
#define STEP_ROWS_MIN 4u
#define STEP_RANGE_MIN 3.0
// Rows beyond 10 % (dense) and 15 % (moe) that are held out: named in docs/published-runs.md.
#define DENSE_SHORT 1u
#define MOE_SHORT 5u
#define MOE_FIT_SHORT 4u
// Memory: how far off the worst run is, and how many runs that took place would not fit.
#define MEMORY_OFF 0.08
#define UNFIT 8u

struct run {
    const char *name, *kind, *stack, *model, *accelerator, *words, *published, *source;
    uint32_t accelerators;
    double server_gbps, value, memory_gb;
    uint64_t batch;
    bool held_out;
    // What is published, as seconds of an iteration; and the estimate.
    double published_s, estimate_s, mfu, memory_estimate_gb;
};

static struct weft_arena arena;
static struct weft_arena scratch;
static struct weft_error error;
static struct run runs[ROWS_MAX];
static uint32_t run_count;

// ---- the file ----

// Cuts a line at its tabs.
static void cut(char *line, char *fields[FIELDS])
{
    for (uint32_t i = 0; i < FIELDS; i++) {
        fields[i] = line;
        char *tab = strchr(line, '\t');
        if (i + 1 < FIELDS && tab == NULL) {
            fail_msg("published_runs.tsv: '%s' has %u fields", fields[0], i + 1);
        }
        if (tab != NULL) {
            *tab = 0;
            line = tab + 1;
        }
    }
}

static uint32_t stack_rows(const char *name)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < run_count; r++) {
        count += strcmp(runs[r].stack, name) == 0 ? 1 : 0;
    }
    return count;
}

static void read_runs(void)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, SOURCE_ROOT "/tests/oracle/published_runs.tsv", 1u << 20,
                        &arena, &error)) {
        fail_msg("%s", error.message);
    }
    char *text = WEFT_NEW(&arena, char, length + 1);
    memcpy(text, data, length);
    uint32_t of_kind = 0;
    for (char *line = text; *line != 0;) {
        char *end = line + strcspn(line, "\n");
        char *next = *end != 0 ? end + 1 : end;
        *end = 0;
        if (*line != '#' && *line != 0) {
            char *fields[FIELDS];
            cut(line, fields);
            assert_true(run_count < ROWS_MAX);
            struct run *run = &runs[run_count++];
            *run = (struct run){
                .name = fields[0],
                .kind = fields[1],
                .stack = fields[2],
                .model = fields[3],
                .accelerators = (uint32_t)strtoul(fields[4], NULL, 10),
                .accelerator = fields[5],
                .server_gbps = strtod(fields[6], NULL),
                .batch = strtoull(fields[7], NULL, 10),
                .words = fields[8],
                .published = fields[9],
                .value = strtod(fields[10], NULL),
                .memory_gb = strtod(fields[11], NULL), // "-": 0
                .source = fields[12],
            };
            bool same = run_count > 1 && strcmp(run[-1].kind, run->kind) == 0 &&
                        strcmp(run[-1].stack, run->stack) == 0;
            assert_true(!same || strcmp(run[-1].name, run->name) < 0); // sorted
            of_kind = same ? of_kind + 1 : 0;
            run->held_out = of_kind % 2 == 1 || strcmp(run->kind, "ablation") == 0;
        }
        line = next;
    }
    for (uint32_t r = 0; r < run_count; r++) { // a stack's only run is held out
        runs[r].held_out = runs[r].held_out || stack_rows(runs[r].stack) == 1;
    }
}

// ---- estimates ----

// The model, the cluster and the strategy of a run.
struct setup {
    struct weft_model model;
    struct weft_cluster cluster;
    struct weft_hybrid hybrid;
    struct weft_strategy_setting setting;
};

static void set_up(struct setup *setup, const struct run *run)
{
    const char *numbers = strchr(run->model, ';');
    int name = (int)(numbers != NULL ? numbers - run->model : (ptrdiff_t)strlen(run->model));
    const char *yaml =
        weft_arena_format(&arena, "batch: %llu\n%.*s\n%s%s%s", (unsigned long long)run->batch, name,
                          run->model, numbers != NULL ? "numbers: {" : "",
                          numbers != NULL ? numbers + 1 : "", numbers != NULL ? "}\n" : "");
    *setup = (struct setup){.setting = {.optimizer = WEFT_ADAM}};
    // A server alone is no cluster, so that it is built with two.
    uint32_t servers = run->accelerators / PER_SERVER;
    if (!weft_model_read(&setup->model, yaml, strlen(yaml), &arena, &error) ||
        !weft_accelerator_named(&setup->setting.cost.accelerator, run->accelerator, &error) ||
        !weft_stack_named(&setup->setting.stack, run->stack, &error) ||
        !weft_hybrid_parse(&setup->hybrid, run->words, run->accelerators, &error) ||
        !weft_cluster_build(&setup->cluster, servers > 1 ? servers : 2, 1, run->server_gbps * 125e6,
                            &error)) {
        fail_msg("%s: %s", run->name, error.message);
    }
    setup->cluster.server_count = servers;
    setup->cluster.accelerators_per_server = PER_SERVER;
}

// Fills in what a run took as published, and what it takes by the estimate with this stack.
static void predict(struct run *run, const struct setup *setup, const struct weft_stack *stack)
{
    struct weft_strategy_setting setting = setup->setting;
    struct weft_hybrid_estimate estimate;
    setting.stack = stack;
    const struct weft_study study = {
        .model = &setup->model, .cluster = &setup->cluster, .setting = &setting};
    if (!weft_hybrid_estimate(&estimate, &setup->hybrid, &study, scratch, &error)) {
        fail_msg("%s: %s", run->name, error.message);
    }
    run->estimate_s = weft_seconds(estimate.iteration_ps);
    run->mfu = estimate.model_flops_utilization;
    double peak = setup->setting.cost.accelerator->flops_per_s[setup->model.transformer->dtype];
    double flops = estimate.model_flops / run->accelerators;
    double hardware = estimate.hardware_flops_utilization * run->estimate_s * peak;
    double tokens =
        (double)setup->model.batch * (double)setup->model.transformer->sequence / run->accelerators;
    const struct {
        const char *what;
        double seconds;
    } kinds[] = {
        {"seconds", run->value},
        {"tokens", tokens / run->value},
        {"tflops", flops / (run->value * 1e12)},
        {"hardware_tflops", hardware / (run->value * 1e12)},
        {"mfu", flops / (run->value / 100 * peak)},
    };
    run->published_s = 0;
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        run->published_s =
            strcmp(kinds[i].what, run->published) == 0 ? kinds[i].seconds : run->published_s;
    }
    assert_true(run->published_s > 0);
    struct weft_memory memory;
    uint32_t rank;
    assert_true(weft_hybrid_memory(&memory, &rank, &setup->hybrid, &study, &error));
    run->memory_estimate_gb = memory.total_bytes / 1e9;
}

// ---- the fit ----

struct fit {
    double compute_efficiency, step_s;
    uint32_t rows;
    double library_bytes; // 0 = no fit row has a published memory
};

static bool has_dense(const char *name)
{
    for (uint32_t r = 0; r < run_count; r++) {
        if (strcmp(runs[r].stack, name) == 0 && strcmp(runs[r].kind, "dense") == 0) {
            return true;
        }
    }
    return false;
}

// Speed and seconds of a step are fitted to dense rows; to mixtures of experts where there are
// no others.
static bool tells_speed(const struct run *run, const char *name)
{
    return strcmp(run->stack, name) == 0 && !run->held_out &&
           strcmp(run->kind, has_dense(name) ? "dense" : "moe") == 0;
}

// The constants of a stack with the least sum of absolute logarithms of estimate over published, of
// its fit rows (squares would let the few rows that nothing explains bend the others); and what
// libraries take beside what else is in memory, on average. Time is what efficiency makes of it and
// step_s on top, so that every row is estimated once for each efficiency.
static struct fit fit_stack(const char *name)
{
    const struct weft_stack *stack;
    assert_true(weft_stack_named(&stack, name, &error));
    static double seconds[ROWS_MAX][EFFICIENCIES];
    struct fit best = {.rows = 0};
    double least = INFINITY;
    struct setup setup;
    uint32_t memories = 0;
    double missing_gb = 0;
    double shortest_s = INFINITY;
    double longest_s = 0;
    for (uint32_t r = 0; r < run_count; r++) {
        if (!tells_speed(&runs[r], name)) {
            continue;
        }
        set_up(&setup, &runs[r]);
        best.rows++;
        predict(&runs[r], &setup, stack);
        shortest_s = fmin(shortest_s, runs[r].published_s);
        longest_s = fmax(longest_s, runs[r].published_s);
        if (runs[r].memory_gb > 0) {
            memories++;
            missing_gb +=
                runs[r].memory_gb - runs[r].memory_estimate_gb + stack->library_bytes / 1e9;
        }
        for (uint32_t e = 0; e < EFFICIENCIES; e++) {
            struct weft_stack trial = *stack;
            trial.compute_efficiency = EFFICIENCY_LOW + EFFICIENCY_STEP * e;
            trial.step_s = 0;
            predict(&runs[r], &setup, &trial);
            seconds[r][e] = runs[r].estimate_s;
        }
    }
    best.library_bytes = memories > 0 ? 1e8 * round(10 * missing_gb / memories) : 0;
    bool tells = best.rows >= STEP_ROWS_MIN && longest_s >= STEP_RANGE_MIN * shortest_s;
    uint32_t steps = tells ? STEPS : 1;
    for (uint32_t e = 0; e < EFFICIENCIES; e++) {
        for (uint32_t s = 0; s < steps; s++) {
            double sum = 0;
            for (uint32_t r = 0; r < run_count; r++) {
                bool fits = tells_speed(&runs[r], name);
                double off =
                    fits ? log((seconds[r][e] + STEP_STEP_S * s) / runs[r].published_s) : 0;
                sum += fabs(off);
            }
            if (best.rows > 0 && sum < least) {
                least = sum;
                best.compute_efficiency = EFFICIENCY_LOW + EFFICIENCY_STEP * e;
                best.step_s = STEP_STEP_S * s;
            }
        }
    }
    return best;
}

// Whose fit rows tell a stack's speed: DeepSeek and Megatron-Core with DeepEP take Megatron-Core's.
static const char *fitted_as(const char *name)
{
    bool takes = strcmp(name, "deepseek") == 0 || strcmp(name, "megatron-core-deepep") == 0;
    return takes ? MEGATRON : name;
}

// What the host of Megatron-Core takes to launch a kernel, from the fit rows with experts of both
// of its dispatchers: it is the same framework.
static double fit_kernel_s(uint32_t *rows)
{
    double best_s = 0;
    double least = INFINITY;
    for (uint32_t k = 0; k < KERNELS; k++) {
        double sum = 0;
        *rows = 0;
        for (uint32_t r = 0; r < run_count; r++) {
            if (strncmp(runs[r].stack, MEGATRON, strlen(MEGATRON)) != 0 || runs[r].held_out ||
                strcmp(runs[r].kind, "moe") != 0) {
                continue;
            }
            struct setup setup;
            set_up(&setup, &runs[r]);
            struct weft_stack trial = *setup.setting.stack;
            trial.kernel_s = k * KERNEL_STEP_S;
            predict(&runs[r], &setup, &trial);
            sum += fabs(log(runs[r].estimate_s / runs[r].published_s));
            *rows += 1;
        }
        if (sum < least) {
            least = sum;
            best_s = k * KERNEL_STEP_S;
        }
    }
    return best_s;
}

// ---- tables and tests ----

static void predict_all(void)
{
    struct setup setup;
    for (uint32_t r = 0; r < run_count; r++) {
        set_up(&setup, &runs[r]);
        predict(&runs[r], &setup, setup.setting.stack);
    }
}

static double off(const struct run *run)
{
    return run->estimate_s / run->published_s - 1;
}

static bool is_of(const struct run *run, const char *kind, bool held_out)
{
    return strcmp(run->kind, kind) == 0 && run->held_out == held_out;
}

static void add_rows(struct weft_text *text, const char *kind, bool held_out)
{
    weft_text_add(text, "\n## %s, %s\n\n", kind, held_out ? "held out" : "fit rows");
    weft_text_add(text,
                  "| run | stack | accelerators | published s | estimate s | off by %% | MFU %% | "
                  "memory GB | published GB |\n|---|---|---|---|---|---|---|---|---|\n");
    double sum = 0;
    double worst = 0;
    uint32_t count = 0;
    for (uint32_t r = 0; r < run_count; r++) {
        const struct run *run = &runs[r];
        if (!is_of(run, kind, held_out)) {
            continue;
        }
        char memory[32] = "";
        if (run->memory_gb > 0) {
            snprintf(memory, sizeof memory, "%.0f", run->memory_gb);
        }
        weft_text_add(text, "| %s | %s | %u %s | %.4g | %.4g | %+.1f | %.1f | %.1f | %s |\n",
                      run->name, run->stack, run->accelerators, run->accelerator, run->published_s,
                      run->estimate_s, 100 * off(run), 100 * run->mfu, run->memory_estimate_gb,
                      memory);
        sum += fabs(off(run));
        worst = fabs(off(run)) > fabs(worst) ? off(run) : worst;
        count++;
    }
    if (count > 0) {
        weft_text_add(text, "\n%u rows, off by %.1f %% on average, at worst by %+.1f %%.\n", count,
                      100 * sum / count, 100 * worst);
    }
}

static const char *table(void)
{
    static const char *const kinds[] = {"dense", "moe", "ablation"};
    struct weft_text built;
    struct weft_text *text = &built;
    predict_all(); // takes from the arena, which the text must not be disturbed in
    weft_text_init(text, &arena);
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i], "ablation") != 0) { // held out whole
            add_rows(text, kinds[i], false);
        }
        add_rows(text, kinds[i], true);
    }
    return built.data;
}

static void print_fits(void)
{
    uint32_t count = 0;
    const struct weft_stack *stacks = weft_stacks(&count);
    for (uint32_t i = 0; i < count; i++) {
        struct fit fit = fit_stack(fitted_as(stacks[i].name));
        print_message("%-20s %3u fit rows", stacks[i].name, fit.rows);
        if (fit.rows > 0) {
            print_message(": compute_efficiency %.2f, step_s %.1f", fit.compute_efficiency,
                          fit.step_s);
        }
        if (fit.library_bytes > 0) {
            print_message(", library_bytes %.1f GB", fit.library_bytes / 1e9);
        }
        print_message("\n");
    }
    uint32_t rows;
    double kernel_s = fit_kernel_s(&rows);
    print_message("%s, both dispatchers: kernel_s %.0f us from %u fit rows with experts\n",
                  MEGATRON, 1e6 * kernel_s, rows);
}

// The constants in the library are those that the fit rows give.
static void constants_are_what_the_fit_rows_give(void **state)
{
    (void)state;
    uint32_t count = 0;
    const struct weft_stack *stacks = weft_stacks(&count);
    for (uint32_t i = 0; i < count; i++) {
        struct fit fit = fit_stack(fitted_as(stacks[i].name));
        if (fit.rows == 0) {
            continue;
        }
        if (fabs(fit.compute_efficiency - stacks[i].compute_efficiency) > EFFICIENCY_STEP / 2 ||
            fabs(fit.step_s - stacks[i].step_s) > STEP_STEP_S / 2 ||
            (fit.library_bytes > 0 && fabs(fit.library_bytes - stacks[i].library_bytes) > 1e7)) {
            fail_msg("%s: %.2f, %.1f s, %.1f GB stand there, the fit rows give %.2f, %.1f, %.1f",
                     stacks[i].name, stacks[i].compute_efficiency, stacks[i].step_s,
                     stacks[i].library_bytes / 1e9, fit.compute_efficiency, fit.step_s,
                     fit.library_bytes / 1e9);
        }
        uint32_t rows;
        if (strncmp(stacks[i].name, MEGATRON, strlen(MEGATRON)) == 0 &&
            fabs(fit_kernel_s(&rows) - stacks[i].kernel_s) > KERNEL_STEP_S / 2) {
            fail_msg("%s: %.0f us a kernel stand there, the fit rows give %.0f", stacks[i].name,
                     1e6 * stacks[i].kernel_s, 1e6 * fit_kernel_s(&rows));
        }
    }
}

// How many rows of a kind are further off than `most`, and the worst of them.
static uint32_t far_off(const char *kind, bool held_out, double most, double *worst)
{
    uint32_t count = 0;
    *worst = 0;
    for (uint32_t r = 0; r < run_count; r++) {
        if (is_of(&runs[r], kind, held_out)) {
            count += fabs(off(&runs[r])) > most ? 1 : 0;
            *worst = fmax(*worst, fabs(off(&runs[r])));
        }
    }
    return count;
}

// Goals: 10 % on dense rows that are held out, 15 % on mixtures of experts. What falls short of
// them is named in docs/published-runs.md, and must not become more.
static void runs_held_out_take_what_was_published(void **state)
{
    (void)state;
    double worst;
    predict_all();
    assert_true(far_off("dense", true, 0.10, &worst) <= DENSE_SHORT);
    assert_true(worst <= 0.13);
    assert_true(far_off("moe", true, 0.15, &worst) <= MOE_SHORT);
    assert_true(worst <= 0.50);
    assert_true(far_off("moe", false, 0.15, &worst) <= MOE_FIT_SHORT);
    assert_true(worst <= 0.38);
    assert_true(far_off("ablation", true, 0.10, &worst) == 0);
    assert_true(far_off("dense", false, 0.10, &worst) <= 5);
    assert_true(worst <= 0.18);
}

// MegaScale's techniques one after the other: each step has more utilization than the one before.
static void each_step_of_the_ablation_gains(void **state)
{
    (void)state;
    double mfu[10] = {0};
    predict_all();
    for (uint32_t r = 0; r < run_count; r++) {
        if (strncmp(runs[r].name, "nsdi24-step-", 12) == 0) {
            uint32_t step = (uint32_t)(runs[r].name[12] - '0');
            assert_true(step < 10);
            mfu[step] = runs[r].mfu;
        }
    }
    for (uint32_t step = 0; step + 1 < 7; step++) {
        assert_true(mfu[step] > 0 && mfu[step] < mfu[step + 1]);
    }
}

// GB as nvidia-smi showed them, of runs of one stack; and what took place fits, but for few runs.
static void memory_is_what_was_published(void **state)
{
    (void)state;
    uint32_t compared = 0;
    uint32_t unfit = 0;
    predict_all();
    for (uint32_t r = 0; r < run_count; r++) {
        const struct run *run = &runs[r];
        const struct weft_accelerator *accelerator;
        assert_true(weft_accelerator_named(&accelerator, run->accelerator, &error));
        unfit += run->memory_estimate_gb * 1e9 > accelerator->memory_bytes ? 1 : 0;
        compared += run->memory_gb > 0 ? 1 : 0;
        if (run->memory_gb > 0 && fabs(run->memory_estimate_gb / run->memory_gb - 1) > MEMORY_OFF) {
            fail_msg("%s: %.1f GB instead of %.1f", run->name, run->memory_estimate_gb,
                     run->memory_gb);
        }
    }
    assert_true(compared >= 17);
    assert_true(unfit <= UNFIT);
}

// docs/published-runs.md has what is printed, line by line and in this order; between the lines
// stand the marks of tools/tables.
static void the_page_has_these_tables(void **state)
{
    (void)state;
    const char *page = NULL;
    size_t length = 0;
    assert_true(weft_file_load(&page, &length, SOURCE_ROOT "/docs/published-runs.md", 1u << 20,
                               &arena, &error));
    for (const char *line = table(); *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t size = strcspn(line, "\n") + 1;
        const char *found = size > 1 ? memmem(page, length, line, size) : page;
        if (found == NULL) {
            fail_msg("docs/published-runs.md has not, or not here, '%.*s', which "
                     "`oracle_published_runs table` prints",
                     (int)(size - 1), line);
        }
        size_t passed = size > 1 ? (size_t)(found - page) + size : 0;
        page += passed;
        length -= passed;
    }
}

int main(int argc, char **argv)
{
    assert_true(weft_arena_init(&arena, (size_t)1 << 33, &error));
    assert_true(weft_arena_init(&scratch, (size_t)1 << 32, &error));
    read_runs();
    if (argc > 1 && strcmp(argv[1], "table") == 0) {
        fputs(table(), stdout); // longer than a message
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "fit") == 0) {
        print_fits();
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_what_the_fit_rows_give),
        cmocka_unit_test(runs_held_out_take_what_was_published),
        cmocka_unit_test(each_step_of_the_ablation_gains),
        cmocka_unit_test(memory_is_what_was_published),
        cmocka_unit_test(the_page_has_these_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
