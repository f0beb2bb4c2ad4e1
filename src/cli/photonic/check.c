// SPDX-License-Identifier: Apache-2.0
// weft photonic check: whether count-action modules can deadlock, overrun or drive a port twice.

#include "photonic.h"
#include "weft/request/photonic_check.h"

enum { KEY_PROGRAM = 1, KEY_FIFO };

static const struct argp_option options[] = {
    {"program", KEY_PROGRAM, "DIR", 0,
     "a compiled program, whose layers say how often each event comes", 0},
    {"fifo", KEY_FIFO, "N", 0, "entries of the FIFO beside the light (64)", 0},
    {0},
};

static const char doc[] =
    "Checks count-action modules: every count has a target that it can reach, no two actions can "
    "drive one output in a cycle, no circle within a cycle. With a program it counts the events of "
    "each layer: fewer than a target are a deadlock, more an overrun. One line for each module "
    "that can go wrong.\v"
    "MODULES is a text (.txt; docs/lightning.md has the language), or what weft photonic compile "
    "-o wrote, which holds modules and program.\n"
    "Exit code 1 where a module can go wrong.\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic check digits\n"
    "  $ weft photonic check mine.txt --program digits --json\n";

struct check_input {
    struct cli *cli;
    struct weft_photonic_check_request request;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct check_input *input = state->input;
    struct weft_photonic_check_request *request = &input->request;
    switch (key) {
    case KEY_PROGRAM:
        request->program = argument;
        return 0;
    case KEY_FIFO:
        return cli_count(input->cli, &request->fifo, "fifo", argument, 1, 65536);
    case ARGP_KEY_ARG:
        return cli_take(input->cli, &request->modules, argument, "text");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(input->cli, "which modules? write %s MODULES.txt", input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print(struct cli *cli, const struct weft_photonic_check_result *result)
{
    const struct weft_photonic_countaction_report *report = &result->report;
    for (uint32_t i = 0; i < report->verdict_count; i++) {
        const struct weft_photonic_verdict *verdict = &report->verdicts[i];
        if (verdict->flaw != WEFT_PHOTONIC_SOUND) {
            cli_say(cli, "%s: line %u: module %s: %s: %s: %s\n", result->file, verdict->line,
                    verdict->module, verdict->subject, weft_photonic_flaw_name(verdict->flaw),
                    verdict->message);
        }
    }
    if (report->sound) {
        cli_say(cli, "%s: sound (modules: %u", result->file, report->verdict_count);
        if (result->has_program) {
            cli_say(cli, ", layers: %u, counts whose events are known: %u",
                    result->program.row_count, report->occurrence_count);
        }
        cli_say(cli, ")\n");
    }
}

int photonic_check(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic check",
        .arguments = "MODULES",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct check_input input = {.cli = &cli};
    struct weft_photonic_check_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                weft_request_photonic_check(&result, &input.request, cli_environment(&cli, NULL));
    if (fine) {
        cli.exit_code = result.report.sound ? CLI_EXIT_YES : CLI_EXIT_NO;
    }
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_photonic_check_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
