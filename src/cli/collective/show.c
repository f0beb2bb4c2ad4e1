// SPDX-License-Identifier: Apache-2.0
// weft collective show: a schedule as text or as JSON, a line for each step or for each transfer.
// The request is weft_collective_request, which show and check share; a schedule of moderate size
// is executed, too, so that the last line can say whether it is valid.

#include "collective.h"

enum { KEY_EXPANDED = 1 };

static const struct argp_option options[] = {
    {"expanded", KEY_EXPANDED, NULL, 0, "show every transfer of every round, too", 0},
    COLLECTIVE_OPTIONS,
    {0},
};

static const char doc[] =
    "Writes a schedule out, a line a step. A step is a family of transfers: item i of round t goes "
    "from a rank to a rank, from a slot to a slot, and is copied or added there.\v"
    "A round's transfers read what the slots held when the round began. L0[i] is the i-th rank of "
    "list L0. Slots behind input and output are scratch space. ALGORITHM is a name of weft "
    "collective check, FILE.xml an MSCCL program, FILE.json a plan of MSCCL++, whose rounds follow "
    "from what waits for what. "
    "Schedules of up to 2^28 transfers are executed, too, and the last line says whether they are "
    "valid.\n"
    "\n"
    "Examples:\n"
    "  $ weft collective show ring --ranks 8\n"
    "  $ weft collective show double-tree --ranks 6 --expanded\n"
    "  $ weft collective show bruck --ranks 5 --kind alltoall\n"
    "  $ weft collective show torus --fabric torus:4x8 --json\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct collective_input *input = state->input;
    if (key == KEY_EXPANDED) {
        input->request.expanded = true;
        return 0;
    }
    return collective_parse(key, argument, state);
}

static bool run(struct collective_input *input)
{
    struct cli *cli = input->cli;
    struct weft_collective_show_result result;
    input->request.hardware = cli->given.hardware;
    if (!weft_request_collective_show(&result, &input->request, cli_environment(cli, NULL))) {
        return false;
    }
    cli->exit_code = !result.executed || result.report.valid ? CLI_EXIT_YES : CLI_EXIT_NO;
    if (cli->json) {
        cli_say(
            cli, "%s",
            weft_request_collective_show_json(&result, &input->request, &cli->arena, cli->scratch));
        return true;
    }
    weft_schedule_write(&cli->text, &result.schedule, input->request.expanded, cli->scratch);
    if (result.executed) {
        cli_say(cli, "%s%s%s\n", result.report.valid ? "valid" : "invalid",
                result.report.valid ? "" : ": ", result.report.why);
    }
    return true;
}

int collective_show(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft collective show",
        .arguments = "ALGORITHM --ranks N\nFILE.xml",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE,
    };
    struct cli cli;
    struct collective_input input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
