// SPDX-License-Identifier: Apache-2.0
// weft optics check: whether a schedule of circuits can be carried out.

#include "optics.h"

static const char doc[] =
    "Checks a schedule of circuits: peers are permutations, no port changes again before it has "
    "changed, nothing is in flight on a port that turns, no circuit carries more than its rate, "
    "every byte of the demand is carried, no circuit is over its loss budget. One line for each "
    "breach.\v"
    "SCHEDULE is JSON as weft optics change --json writes it; bursts, demand and losses are looked "
    "at where they stand there (docs/circuits.md).\n"
    "Exit code 1 where a rule is broken.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics change before.txt after.txt --ports 4 --json -o schedule.json\n"
    "  $ weft optics check schedule.json\n";

struct check_input {
    struct cli *cli;
    const char *path;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct check_input *input = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        return cli_take(input->cli, &input->path, argument, "schedule");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(input->cli, "which schedule? write %s SCHEDULE.json", input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print(struct cli *cli, const char *path, const struct weft_circuit_check_result *result)
{
    for (uint32_t i = 0; i < result->breaches.count; i++) {
        cli_say(cli, "%s: %s\n", path, result->breaches.lines[i]);
    }
    if (result->breaches.count == 0) {
        cli_say(cli, "%s: can be carried out (switches: %u, changes: %u, bursts: %u)%s%s\n", path,
                result->plane_count, result->change_count, result->burst_count,
                result->demand ? ", and the demand is carried" : "",
                result->losses ? ", within the loss budget" : "");
    }
}

// A breach is an answer and not an error: it goes to stdout and makes the exit code 1.
int optics_check(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics check",
        .arguments = "SCHEDULE.json",
        .doc = doc,
        .parser = parse,
    };
    struct cli cli;
    struct check_input input = {.cli = &cli};
    struct weft_circuit_check_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                weft_request_circuit_check(&result, input.path, cli_environment(&cli, NULL));
    if (fine) {
        cli.exit_code = result.breaches.count == 0 ? CLI_EXIT_YES : CLI_EXIT_NO;
    }
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_circuit_check_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, input.path, &result);
    }
    return cli_finish(&cli, fine);
}
