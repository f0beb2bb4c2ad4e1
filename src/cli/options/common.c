// SPDX-License-Identifier: Apache-2.0
// The options that every verb takes: the form and place of the result, the seed, the threads, and
// help. Of them only the seed changes what is computed: any number of threads gives the same bytes.
// Parsed by argp as the last child of every verb's parser.

#include "cli/cli.h"
#include "weft/format.h"

#include <errno.h>
#include <string.h>

enum {
    KEY_JSON = 1000,
    KEY_SEED,
    KEY_THREADS,
    KEY_QUIET,
    KEY_PROGRESS,
    KEY_LIMIT,
    KEY_YES,
    KEY_VERSION,
};

static const struct argp_option options[] = {
    {"json", KEY_JSON, NULL, 0, "print one JSON object instead of text (SI units)", 0},
    {"output", 'o', "FILE", 0, "write the result to FILE, whole or not at all", 0},
    {"seed", KEY_SEED, "K", 0,
     "seed of every random choice (1); the same seed gives the same bytes", 0},
    {"threads", KEY_THREADS, "T", 0,
     "number of threads (as many as processors); it never changes a result", 0},
    {"limit", KEY_LIMIT, "SIZE", 0,
     "read files up to SIZE (256KiB of YAML, 2GiB of traces and records, 64MiB else)", 0},
    {"yes", KEY_YES, NULL, 0, "go on where an estimate says that it takes long or much memory", 0},
    {"quiet", KEY_QUIET, NULL, 0, "show no progress on the terminal", 0},
    {"progress", KEY_PROGRESS, "TIME", OPTION_ARG_OPTIONAL,
     "say how far the run is also where stderr is no terminal, a line every TIME (10s)", 0},
    {"help", 'h', NULL, 0, "print this help", 0},
    {"version", KEY_VERSION, NULL, 0, "print the version", 0},
    {0},
};

static const struct argp_option tables[] = {
    {"csv", 'c' + KEY_VERSION, NULL, 0, "the tables alone, as CSV: SI units, as in the JSON", 0},
    {"markdown", 'm' + KEY_VERSION, NULL, 0, "tables as Markdown, for documents", 0},
    {0},
};

static error_t parse_tables(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    struct cli *cli = state->input;
    if (key != tables[0].key && key != tables[1].key) {
        return ARGP_ERR_UNKNOWN;
    }
    enum cli_form form = key == tables[0].key ? CLI_CSV : CLI_MARKDOWN;
    if (cli->form != CLI_TEXT && cli->form != form) {
        return cli_usage(cli, "--markdown and --csv: write one of them");
    }
    cli->form = form;
    return 0;
}

// --help and --version end the parsing before anything else is complained about.
static error_t end_parsing(struct argp_state *state, bool *wanted)
{
    *wanted = true;
    state->next = state->argc;
    return EINVAL;
}

// How often a line comes.
static error_t take_progress(struct cli *cli, const char *argument)
{
    uint64_t period_ps = (uint64_t)10 * WEFT_PS_PER_S;
    if (argument != NULL && !weft_parse_time(&period_ps, argument, &cli->error)) {
        return cli_value(cli, false, "progress");
    }
    if (period_ps < WEFT_PS_PER_S / 100) {
        return cli_usage(cli, "--progress: a line every %.40s is too often; write 10ms or more",
                         argument);
    }
    cli->progress_s = weft_seconds(period_ps);
    return 0;
}

static error_t take_limit(struct cli *cli, const char *argument)
{
    uint64_t limit_bytes = 0;
    bool parsed = weft_parse_bytes(&limit_bytes, argument, &cli->error);
    if (parsed) {
        weft_file_raise_limit(limit_bytes);
    }
    return cli_value(cli, parsed, "limit");
}

// Takes the values of these options. The parser is the last child, so that an argument that no
// other parser wanted arrives here and is one too many.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    switch (key) {
    case 'h':
        return end_parsing(state, &cli->wanted.help);
    case KEY_VERSION:
        return end_parsing(state, &cli->wanted.version);
    case KEY_JSON:
        cli->json = true;
        return 0;
    case KEY_PROGRESS:
        return take_progress(cli, argument);
    case KEY_LIMIT:
        return take_limit(cli, argument);
    case KEY_YES:
        cli->yes = true;
        return 0;
    case KEY_QUIET:
        cli->quiet = true;
        return 0;
    case 'o':
        if (strcmp(argument, "ut") == 0 || strcmp(argument, "utput") == 0) {
            return cli_usage(cli, "'-o%s' is no option; write -o FILE or --output FILE", argument);
        }
        if (argument[0] == '\0') {
            return cli_usage(cli, "--output: the name is empty; write -o FILE");
        }
        cli->output_path = argument;
        return 0;
    case KEY_SEED:
        return cli_value(cli, weft_parse_count(&cli->seed, argument, 0, INT64_MAX, &cli->error),
                         "seed");
    case KEY_THREADS:
        cli->threads_given = true;
        return cli_count(cli, &cli->threads, "threads", argument, 1, CLI_THREADS_MAX);
    case ARGP_KEY_ARG:
        return cli_usage(cli, "'%.100s' is one argument too many; see %s --help", argument,
                         cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_common_argp = {.options = options, .parser = parse};
const struct argp cli_tables_argp = {.options = tables, .parser = parse_tables};
