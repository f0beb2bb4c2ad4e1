// SPDX-License-Identifier: Apache-2.0
// From options to models and what strategies of them assume.

#include "cli.h"
#include "weft/format.h"

#include <string.h>

enum {
    KEY_MODEL = 2000,
    KEY_PROFILE,
    KEY_BATCH,
    KEY_OPTIMIZER,
    KEY_TABLES,
    KEY_MEMORY,
    KEY_INSIDE,
    KEY_METHOD,
    KEY_BUDGET,
};

static const struct argp_option options[] = {
    {"model", KEY_MODEL, "M", 0, "the model: a name that weft models lists, or FILE.yaml", 0},
    {"profile", KEY_PROFILE, "FILE.json", 0, "measured times of its operators (else a roofline)",
     0},
    {"batch", KEY_BATCH, "N", 0, "samples of one iteration, all servers together", 0},
    {"optimizer", KEY_OPTIMIZER, "O", 0,
     "sgd, momentum or adam: what it keeps in memory (sgd; transformers: adam)", 0},
    {"tables", KEY_TABLES, "T", 0,
     "embedding tables on a server: sharded over its accelerators (default) or replicated", 0},
    {"memory", KEY_MEMORY, "SIZE", 0, "of an accelerator, not the cluster's: 40GB; 0: no limit", 0},
    {"inside", KEY_INSIDE, "R", 0,
     "rate between two accelerators of a server (25GB/s with --profile, else its links)", 0},
    {"search", KEY_METHOD, "S", 0, "weft (default) or mcmc, the TopoOpt artifact's", 0},
    {"budget", KEY_BUDGET, "N", 0, "strategies that each search evaluates (by the effort)", 0},
    {0},
};

// The index of a word in a list that ends with NULL, or WEFT_NONE.
static uint32_t find_word(const char *const *words, const char *word)
{
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            return i;
        }
    }
    return WEFT_NONE;
}

static error_t take_word(struct cli *cli, uint32_t *value, const char *option, const char *argument,
                         const char *const *words)
{
    uint32_t found = find_word(words, argument);
    if (found == WEFT_NONE) {
        bool three = words[2] != NULL;
        return cli_usage(cli, "--%s: '%.40s' is none; write %s, %s%s%s", option, argument, words[0],
                         words[1], three ? " or " : "", three ? words[2] : "");
    }
    *value = found;
    return 0;
}

static error_t parse_words(struct cli *cli, int key, const char *argument)
{
    static const char *const optimizers[] = {
        [WEFT_SGD] = "sgd", [WEFT_MOMENTUM] = "momentum", [WEFT_ADAM] = "adam", NULL};
    static const char *const tables[] = {
        [WEFT_TABLES_SHARDED] = "sharded", [WEFT_TABLES_REPLICATED] = "replicated", NULL};
    static const char *const methods[] = {
        [WEFT_SEARCH_WEFT] = "weft", [WEFT_SEARCH_MCMC] = "mcmc", NULL};
    struct cli_job *job = &cli->job;
    uint32_t value = 0;
    error_t failed = 0;
    if (key == KEY_OPTIMIZER) {
        failed = take_word(cli, &value, "optimizer", argument, optimizers);
        job->optimizer = (enum weft_optimizer)value;
        job->optimizer_given = true;
    } else if (key == KEY_TABLES) {
        failed = take_word(cli, &value, "tables", argument, tables);
        job->tables = (enum weft_tables)value;
    } else {
        failed = take_word(cli, &value, "search", argument, methods);
        job->method = (enum weft_search_method)value;
    }
    return failed;
}

static error_t parse_amounts(struct cli *cli, int key, const char *argument)
{
    struct cli_job *job = &cli->job;
    struct weft_error *error = &cli->error;
    switch (key) {
    case KEY_BATCH:
        return cli_value(cli, weft_parse_count(&job->batch, argument, 1, 1ull << 40, error),
                         "batch");
    case KEY_MEMORY:
        job->memory_given = true;
        return cli_value(cli, weft_parse_bytes(&job->memory_bytes, argument, error), "memory");
    case KEY_INSIDE:
        job->inside_given = true;
        return cli_value(cli, weft_parse_rate(&job->inside_Bps, argument, error), "inside");
    default:
        return cli_value(cli, weft_parse_count(&job->budget, argument, 1, 1ull << 40, error),
                         "budget");
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    switch (key) {
    case KEY_MODEL:
        return cli_take(cli, &cli->job.model, argument, "model");
    case KEY_PROFILE:
        return cli_take(cli, &cli->job.profile_path, argument, "profile");
    case KEY_OPTIMIZER:
    case KEY_TABLES:
    case KEY_METHOD:
        return parse_words(cli, key, argument);
    case KEY_BATCH:
    case KEY_MEMORY:
    case KEY_INSIDE:
    case KEY_BUDGET:
        return parse_amounts(cli, key, argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void cli_note_search(const struct cli *cli, const struct weft_model *model,
                     const struct weft_strategy_setting *setting)
{
    if (cli->job.method == WEFT_SEARCH_MCMC && model->transformer != NULL &&
        setting->cost.profile == NULL) {
        cli_note(cli,
                 "--search mcmc places operators; the degrees of %s, a transformer, are "
                 "searched by Weft's own method",
                 model->name);
    }
}

void cli_note_batch(const struct cli *cli, const struct weft_model *model,
                    const struct weft_cluster *cluster, const struct weft_strategy_setting *setting)
{
    uint64_t servers = cluster->server_count;
    bool hybrid = model->transformer != NULL && setting->cost.profile == NULL;
    if (hybrid || servers == 0 || model->batch % servers == 0) {
        return;
    }
    uint64_t parts = servers; // the greatest common divisor, by Euclid
    for (uint64_t rest = model->batch % servers; rest != 0;) {
        uint64_t next = parts % rest;
        parts = rest;
        rest = next;
    }
    cli_note(cli,
             "a batch of %llu does not divide evenly over %llu servers, only into %llu part%s; use "
             "--batch %llu",
             (unsigned long long)model->batch, (unsigned long long)servers,
             (unsigned long long)parts, parts == 1 ? "" : "s",
             (unsigned long long)((model->batch / servers + 1) * servers));
}

const struct argp cli_job_argp = {.options = options, .parser = parse};

bool cli_job_model(struct weft_model *model, struct cli *cli)
{
    if (cli->trace.groups_path != NULL || cli->trace.accelerator != NULL) {
        return cli_misuse(cli, "--groups and --accelerator are for Chakra traces; a model's "
                               "accelerators stand in the cluster file");
    }
    const char *dot = strrchr(cli->job.model, '.');
    if (dot != NULL && strcmp(dot, ".fbuf") == 0) {
        return cli_misuse(cli,
                          "'%.100s' is a task graph, no model; weft plan and weft compare take it "
                          "without --model, and the cluster as --cluster FILE.yaml",
                          cli->job.model);
    }
    if (!cli_model(model, cli, cli->job.model)) {
        return false;
    }
    return cli->job.batch == 0 || weft_model_set_batch(model, cli->job.batch, &cli->error) ||
           weft_wrap(&cli->error, "--batch");
}

// Where the cluster's accelerators are said.
static const char *cluster_place(const struct cli *cli)
{
    return cli->hardware.cluster_path != NULL ? cli->hardware.cluster_path : "--cluster";
}

static bool check_accelerators(struct cli *cli, const struct weft_cluster *cluster)
{
    if (cluster->accelerators_per_server == 0 || cluster->accelerator == NULL ||
        cluster->accelerator[0] == '\0') {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: accelerators: a model needs them; state per_server, kind and memory",
                         cluster_place(cli));
    }
    if (!cli->job.memory_given && !(cluster->accelerator_memory_bytes > 0)) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: accelerators: memory is not stated; state it, or write --memory 80GB",
                         cluster_place(cli));
    }
    return true;
}

void cli_note_profile(const struct cli *cli, const char *path, uint32_t accelerators)
{
    if (accelerators != CLI_PROFILE_ACCELERATORS) {
        cli_note(cli,
                 "%s does not say how many accelerators a server had where it was measured (the "
                 "TopoOpt artifact's: %u); its times are taken for servers of %u",
                 path, CLI_PROFILE_ACCELERATORS, accelerators);
    }
}

// Whether some split of an operator, which the profile has, uses all servers.
static bool uses_all(const struct weft_split *splits, uint32_t count, uint32_t server_count)
{
    for (uint32_t i = 0; i < count; i++) {
        if ((uint64_t)splits[i].sample_parts * splits[i].parameter_parts == server_count) {
            return true;
        }
    }
    return false;
}

// Fails where the profile has no split of an operator, and notes where it has none over all
// servers; tables are not split there.
static bool check_profile(struct cli *cli, const struct weft_model *model,
                          const struct weft_cluster *cluster, const struct weft_profile *profile)
{
    const struct weft_cost_options costs = {
        .profile = profile, .accelerators_per_server = cluster->accelerators_per_server};
    const char *path = cli->job.profile_path;
    uint32_t servers = cluster->server_count;
    uint32_t lacking = 0;
    uint32_t first = 0;
    for (uint32_t op = model->operator_count; op-- > 0;) {
        struct weft_arena scratch = cli->scratch;
        struct weft_split_list list;
        enum weft_operator_kind kind = model->operators[op].spec.kind;
        if (!weft_operator_splits(
                &list, model, op, servers, &costs,
                &(struct weft_environment){.arena = &scratch, .error = &cli->error})) {
            return weft_wrap(&cli->error, "%s", path);
        }
        bool whole = kind == WEFT_OP_INPUT || kind == WEFT_OP_EMBEDDING;
        if (!whole && model->batch % servers == 0 && !uses_all(list.splits, list.count, servers)) {
            lacking++;
            first = op;
        }
    }
    if (lacking > 0) {
        cli_note(cli,
                 "%s has no split over all %u servers for %u of %u operators, the first of them "
                 "%s; the search leaves such splits out",
                 path, servers, lacking, model->operator_count, model->operators[first].spec.name);
    }
    return true;
}

bool cli_setting(struct weft_strategy_setting *setting, struct cli *cli,
                 const struct weft_model *model, const struct weft_cluster *cluster)
{
    const struct cli_job *job = &cli->job;
    if (!check_accelerators(cli, cluster)) {
        return false;
    }
    struct weft_profile *profile = NULL;
    if (job->profile_path != NULL) {
        profile = WEFT_NEW(&cli->arena, struct weft_profile, 1);
        if (!weft_profile_load(profile, job->profile_path, &cli->arena, &cli->error)) {
            return false;
        }
        cli_note_profile(cli, job->profile_path, cluster->accelerators_per_server);
        if (!check_profile(cli, model, cluster, profile)) {
            return false;
        }
    }
    const struct weft_accelerator *accelerator = NULL;
    if (!weft_accelerator_named(&accelerator, cluster->accelerator, &cli->error)) {
        return weft_wrap(&cli->error, "%s: accelerators: kind", cluster_place(cli));
    }
    double links_Bps = accelerator->link_Bps * accelerator->link_efficiency;
    double inside_Bps = profile != NULL ? CLI_PROFILE_INSIDE_BPS : links_Bps;
    enum weft_optimizer usual = model->transformer != NULL ? WEFT_ADAM : WEFT_SGD;
    *setting = (struct weft_strategy_setting){
        .cost = {.profile = profile,
                 .accelerator = accelerator,
                 .accelerators_per_server = cluster->accelerators_per_server},
        .optimizer = job->optimizer_given ? job->optimizer : usual,
        .tables = job->tables,
        .memory_limit_bytes =
            job->memory_given ? (double)job->memory_bytes : cluster->accelerator_memory_bytes,
        .inside_Bps = job->inside_given ? job->inside_Bps : inside_Bps,
    };
    if (!(setting->inside_Bps > 0) && cluster->accelerators_per_server > 1) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--inside: %s between a server's %u accelerators; write --inside 25GB/s",
                         job->inside_given ? "0 carries nothing" : "no links are known",
                         cluster->accelerators_per_server);
    }
    return true;
}
