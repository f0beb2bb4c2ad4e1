// SPDX-License-Identifier: Apache-2.0
// weft check: verifies everything that a plan claims. The options become a request of
// weft/request/check.h; violations are printed a line each, and the exit code is 1 where there are
// any, so that scripts need not read the text.

#include "weft/request/check.h"
#include "cli.h"

#include <string.h>

// What the options say.
struct check_input {
    struct cli *cli;
    struct weft_check_request request;
};

enum { KEY_MODEL = 1 };

static const struct argp_option options[] = {
    {"model", KEY_MODEL, "M", 0,
     "the model that the plan was made for, where it is not the zoo's: FILE.yaml", 0},
    {0},
};

static const char doc[] =
    "Verifies what a plan file claims: every plane is a permutation, the fabric is what the planes "
    "light, every ring visits its group once over links that exist, every route reaches without a "
    "loop, loads are as stated and the certificate is below the iteration time. With the job, also "
    "what depends on its traffic; a plan that began with a model holds its job, and that is "
    "rebuilt from the model and the strategy.\v"
    "Prints each property that does not hold and exits 1; exits 0 when all hold, and says what it "
    "could not look at: times that came from a profile, and the task graph of a model that is "
    "neither the zoo's nor given. Bounds for any strategy are held against the iteration time, "
    "not computed again.\n"
    "\n"
    "Examples:\n"
    "  $ weft check plan.json\n"
    "  $ weft check plan.json job.fbuf --json\n"
    "  $ weft check plan-of-my-model.json --model my.yaml\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct check_input *input = state->input;
    switch (key) {
    case KEY_MODEL:
        return cli_take(input->cli, &input->request.model, argument, "model");
    case ARGP_KEY_ARG:
        if (input->request.plan_path == NULL) {
            input->request.plan_path = argument;
            return 0;
        }
        return cli_take(input->cli, &input->request.job_path, argument, "task graph");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(input->cli, "which plan? write %s PLAN.json", input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// A violation is an answer and not an error: it is the result's, goes to stdout and makes the exit
// code 1.
static bool run(const struct check_input *input)
{
    struct cli *cli = input->cli;
    const char *path = input->request.plan_path;
    struct weft_check_result result;
    if (!weft_request_check(&result, &input->request, cli_environment(cli, NULL))) {
        return false;
    }
    cli->exit_code = result.violation_count > 0 ? CLI_EXIT_NO : CLI_EXIT_YES;
    if (cli->json) {
        cli_say(cli, "%s", weft_request_check_json(&result, &input->request, &cli->arena));
        return true;
    }
    for (uint32_t i = 0; i < result.violation_count; i++) {
        cli_say(cli, "%s: %s\n", path, result.violations[i].text);
    }
    if (result.violation_count == 0) {
        cli_say(cli, "%s: %s\n", path,
                result.left_out == NULL ? "all that the plan claims holds"
                                        : "what was checked holds");
    }
    if (result.left_out != NULL) {
        char *text = weft_arena_text(&cli->arena, result.left_out, strlen(result.left_out));
        cli_spell(cli, text);
        cli_say(cli, "%s: not checked: %s\n", path, text);
    }
    return true;
}

int cli_check(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft check",
        .arguments = "PLAN.json [FILE.fbuf]",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct check_input input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
