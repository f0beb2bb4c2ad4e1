// SPDX-License-Identifier: Apache-2.0
// The options that name a model and say what strategies of it assume: names and help.
//
// Their values are read by the rows of weft_job_parameters. A model and a profile may be named
// once, because a second one would be ignored in silence.

#include "cli/cli.h"

// One after the other, as in the table.
enum {
    KEY_MODEL = 2000,
    KEY_PROFILE,
    KEY_BATCH,
    KEY_OPTIMIZER,
    KEY_TABLES,
    KEY_MEMORY,
    KEY_INTRA_SERVER_RATE,
    KEY_STACK,
    KEY_OVERLAP,
    KEY_METHOD,
    KEY_BUDGET,
};

static const struct argp_option options[] = {
    {"model", KEY_MODEL, "M", 0, "the model: a name that weft models lists, or FILE.yaml", 0},
    {"profile", KEY_PROFILE, "FILE.json", 0, "measured times of its operators (else a roofline)",
     0},
    {"batch", KEY_BATCH, "N", 0, "samples of one iteration, of all servers together", 0},
    {"optimizer", KEY_OPTIMIZER, "O", 0,
     "sgd, momentum or adam, which says what training keeps in memory (sgd; transformers: adam)",
     0},
    {"tables", KEY_TABLES, "T", 0,
     "embedding tables on a server: sharded over its accelerators (default) or replicated", 0},
    {"memory", KEY_MEMORY, "SIZE", 0,
     "memory of an accelerator, instead of the cluster's: 40GB; 0: no limit", 0},
    {"intra-server-rate", KEY_INTRA_SERVER_RATE, "R", 0,
     "rate between two accelerators of a server (25GB/s with --profile, else its links)", 0},
    {"stack", KEY_STACK, "NAME", 0,
     "software of a transformer's run, whose constants count in time and memory (the cluster's, "
     "else none): automodel, deepseek, llama3, megascale, megatron-core, megatron-core-deepep, "
     "megatron-deepspeed, megatron-lm",
     0},
    {"overlap", KEY_OVERLAP, "LIST", 0,
     "what runs beside a transformer's computation: some of tp,pp,dp,ep, or none (pp,dp)", 0},
    {"search", KEY_METHOD, "S", 0, "search method: weft (default) or mcmc, the TopoOpt artifact's",
     0},
    {"budget", KEY_BUDGET, "N", 0,
     "number of strategies that each search evaluates (by the effort)", 0},
    {"inside", KEY_INTRA_SERVER_RATE, "R", OPTION_HIDDEN, NULL, 0}, // kept until 0.5
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    if (key < KEY_MODEL || key > KEY_BUDGET) {
        return ARGP_ERR_UNKNOWN;
    }
    if (key == KEY_MODEL) {
        return cli_take(cli, &cli->given.job.model, argument, "model");
    }
    if (key == KEY_PROFILE) {
        return cli_take(cli, &cli->given.job.profile_path, argument, "profile");
    }
    const struct cli_parameters parameters = {&cli->given.job, weft_job_parameters,
                                              WEFT_JOB_PARAMETERS};
    return cli_parameter(cli, &parameters, options[key - KEY_MODEL].name, argument);
}

const struct argp cli_job_argp = {.options = options, .parser = parse};
