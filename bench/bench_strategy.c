// SPDX-License-Identifier: Apache-2.0
// Strategies evaluated a second, one thread, by both searches of the operators space: the table of
// docs/strategies.md. `bench_strategy PROFILES` takes measured times from that folder where it has
// them (WEFT_SHARED's inputs/profiles), else the roofline prices all.

#include "weft/format.h"
#include "weft/strategy.h"

#include <sys/resource.h>
#include <unistd.h>

static const struct {
    const char *model;
    const char *profile;
    uint32_t server_count;
    uint64_t evaluations;
} cases[] = {
    {"dlrm-16", "dlrm16", 16, 50000},         {"bert-16", "transformer16", 16, 50000},
    {"candle-16", "candle16", 16, 50000},     {"vgg16-16", "vgg16", 16, 50000},
    {"dlrm-128", "dlrm128", 128, 5000},       {"bert-128", "transformer128", 128, 5000},
    {"candle-128", "candle_128", 128, 5000},  {"ncf-128", "ncf128", 128, 5000},
    {"resnet50-128", "resnet128", 128, 5000}, {"vgg16-128", "vgg128", 128, 5000},
};

static struct weft_arena arena_kept, scratch_kept;

static double user_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
}

static bool prepare(struct weft_model *model, struct weft_profile *profile,
                    struct weft_strategy_setting *setting, size_t index, const char *folder,
                    struct weft_arena *arena, struct weft_error *error)
{
    char path[4096];
    *setting =
        (struct weft_strategy_setting){.cost = {.accelerators_per_server = 4}, .inside_Bps = 25e9};
    if (!weft_model_named(model, cases[index].model, arena, error) ||
        !weft_accelerator_named(&setting->cost.accelerator, "A100", error)) {
        return false;
    }
    snprintf(path, sizeof path, "%s/%s.json", folder == NULL ? "" : folder, cases[index].profile);
    if (folder != NULL && access(path, R_OK) == 0) {
        setting->cost.profile = profile;
        return weft_profile_load(profile, path, arena, error);
    }
    return true;
}

static bool run_case(size_t index, const char *folder, enum weft_search_method method,
                     struct weft_error *error)
{
    struct weft_arena arena = arena_kept;
    struct weft_model model;
    struct weft_profile profile;
    struct weft_cluster cluster;
    struct weft_strategy_setting setting;
    struct weft_search_result result;
    struct weft_search_options options = {
        .method = method, .evaluations = cases[index].evaluations, .seed = 1, .threads = 1};
    if (!prepare(&model, &profile, &setting, index, folder, &arena, error) ||
        !weft_cluster_build(&cluster, cases[index].server_count, 4, 12.5e9, error)) {
        return false;
    }
    double start_s = user_s();
    if (!weft_strategy_search(
            &result,
            &(struct weft_study){.model = &model, .cluster = &cluster, .setting = &setting},
            &options, &arena, scratch_kept, error)) {
        return false;
    }
    double took_s = user_s() - start_s;
    printf("%-14s %-5s %-9s %8llu evaluations %7.2f s %8.0f /s  best %10.3f ms\n",
           cases[index].model, method == WEFT_SEARCH_MCMC ? "mcmc" : "weft",
           setting.cost.profile != NULL ? "measured" : "roofline",
           (unsigned long long)result.evaluations, took_s, (double)result.evaluations / took_s,
           (double)result.candidates[0].estimate_ps / 1e9);
    return true;
}

int main(int argc, char **argv)
{
    struct weft_error error = {0};
    if (!weft_arena_init(&arena_kept, 0, &error) || !weft_arena_init(&scratch_kept, 0, &error)) {
        return 1;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!run_case(i, argc > 1 ? argv[1] : NULL, WEFT_SEARCH_WEFT, &error) ||
            !run_case(i, argc > 1 ? argv[1] : NULL, WEFT_SEARCH_MCMC, &error)) {
            fprintf(stderr, "bench_strategy: %s: %s\n", cases[i].model, error.message);
            return (int)error.code;
        }
    }
    return 0;
}
