// SPDX-License-Identifier: Apache-2.0
// The options that name a model and say what strategies of it assume.

#include "cli/cli.h"

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
    struct weft_request_job *job = &cli->job;
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
    struct weft_request_job *job = &cli->job;
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

const struct argp cli_job_argp = {.options = options, .parser = parse};
