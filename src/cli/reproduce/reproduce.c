// SPDX-License-Identifier: Apache-2.0
// weft reproduce: which published claims Weft stands on, and whether they hold today.
//
// The options choose claims; the claims say what to run (docs/reproduce.md). A claim that cannot be
// run here says what is missing, and the others are run all the same.

#include "reproduce.h"

#include <errno.h>
#include <string.h>

enum { KEY_LIST = 1, KEY_ALL, KEY_SHORT, KEY_CLAIMS, KEY_INPUTS };

static const struct argp_option options[] = {
    {"list", KEY_LIST, NULL, 0, "say the claims and run none", 0},
    {"all", KEY_ALL, NULL, 0, "run every claim", 0},
    {"short", KEY_SHORT, NULL, 0, "run those of the short suite: at most a minute on two cores", 0},
    {"claims", KEY_CLAIMS, "DIR", 0, "the claims of this folder instead of those that ship", 0},
    {"inputs", KEY_INPUTS, "DIR", 0,
     "inputs that do not ship with Weft ($WEFT_SHARED/inputs, or ../shared/inputs beside the "
     "repository)",
     0},
    {0},
};

static const char doc[] =
    "Runs again what published systems claim, with Weft's commands, and puts the published figure "
    "beside ours. A claim has a figure, its source, a goal and commands; the verdict is met, short "
    "by so much, not comparable with the reason, or not run with what is missing. NAME is a claim "
    "or a system of weft reproduce --list, or what names of claims begin with.\v"
    "With -o the argument is a folder, new or empty: table.md, results.json and a picture a system "
    "are written there, whole or not at all. --threads says how many commands run at once; a claim "
    "that is run alone gets all of them. --seed is not taken: a claim names its seeds.\n"
    "\n"
    "claims/SYSTEM.yaml:\n"
    "  system: topoopt\n"
    "  inputs_from: where the files in {inputs} come from\n"
    "  claims:\n"
    "    - name: topoopt-cost-ideal\n"
    "      claim: An ideal switch costs 3.2 times as much.\n"
    "      published: 3.2            # none: the source states no figure\n"
    "      unit: times\n"
    "      source: NSDI 2023, section 5.2\n"
    "      goal: within 5 %          # or at most, at least\n"
    "      commands: [weft fabrics --servers 128 --degree 4 --rate 100Gbps]\n"
    "      value: /fabrics/name=ideal/cost_usd     # of the last command\n"
    "      over: /fabrics/name=direct/cost_usd     # of the first\n"
    "      cost: 10ms\n"
    "      short: yes\n"
    "\n"
    "Exit code: 0 where all are met or not comparable, 1 where one is short, 4 where one was not "
    "run.\n"
    "\n"
    "Examples:\n"
    "  $ weft reproduce --list\n"
    "  $ weft reproduce --short\n"
    "  $ weft reproduce stragglar --json\n"
    "  $ weft reproduce --all -o results --threads 2\n";

static error_t check_end(const struct reproduce *reproduce)
{
    struct cli *cli = reproduce->cli;
    const struct reproduce_input *input = &reproduce->input;
    if (cli->seed != 1) {
        return cli_usage(cli, "--seed: a claim names its seeds; see seeds: in its file");
    }
    if (input->all + input->brief + (input->name_count > 0) > 1) {
        return cli_usage(cli, "names, --short and --all do not go together; give one of them");
    }
    if (!input->lists && !input->all && !input->brief && input->name_count == 0) {
        return cli_usage(cli, "which claims? write %s NAME..., --short or --all; --list lists them",
                         cli->program);
    }
    const struct weft_stated rows[] = {
        {input->lists && input->all, "all"},
        {input->lists && input->inputs_path != NULL, "inputs"},
        {NULL},
    };
    return weft_refuse_stated(rows, &cli->error,
                              "is for claims that run; leave it out with {list}, which runs none")
               ? 0
               : EINVAL;
}

// The options of the verb itself. Names are kept as they come: which are claims is known only when
// the folder has been read.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct reproduce *reproduce = state->input;
    struct reproduce_input *input = &reproduce->input;
    switch (key) {
    case KEY_LIST:
        input->lists = true;
        return 0;
    case KEY_ALL:
        input->all = true;
        return 0;
    case KEY_SHORT:
        input->brief = true;
        return 0;
    case KEY_CLAIMS:
        input->claims_path = argument;
        return 0;
    case KEY_INPUTS:
        input->inputs_path = argument;
        return 0;
    case ARGP_KEY_ARG:
        input->names = input->names != NULL
                           ? input->names
                           : WEFT_NEW(&reproduce->cli->arena, const char *, (size_t)state->argc);
        input->names[input->name_count++] = argument;
        return 0;
    case ARGP_KEY_END:
        return check_end(reproduce);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Reads the claims, runs those that are asked for, and says what they came to. The folder of
// --output is tried before anything runs and written before anything is printed.
static bool run(struct reproduce *reproduce)
{
    struct cli *cli = reproduce->cli;
    if (!reproduce_claims(reproduce)) {
        return false;
    }
    if (reproduce->input.lists) {
        reproduce_print_list(reproduce);
        return true;
    }
    // Of this verb --output names a folder; the table is printed all the same.
    reproduce->input.output_path = cli->output_path;
    cli->output_path = NULL;
    if (!reproduce_can_save(reproduce)) {
        return false;
    }
    weft_stop stop = cli_clock_start(cli, "reproducing", "claims");
    cli_clock_heed(); // commands and their folders are taken away whatever asks for the end
    bool fine = reproduce_play(reproduce, stop);
    cli_clock_stop(cli);
    if (!fine || !reproduce_save(reproduce)) {
        return false;
    }
    reproduce_print_outcomes(reproduce);
    cli->exit_code = reproduce_exit_code(reproduce);
    return true;
}

int cli_reproduce(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft reproduce",
        .arguments = "NAME...\n--short\n--all -o DIR\n--list",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_OUTPUT_FOLDER | CLI_TABLES,
    };
    struct cli cli;
    struct reproduce reproduce = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &reproduce) && run(&reproduce);
    return cli_finish(&cli, fine);
}
