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

enum { KEY_MODEL = 1, KEY_WITHOUT_JOB };

static const struct argp_option options[] = {
    {"model", KEY_MODEL, "M", 0,
     "the model that the plan was made for, where it is not the zoo's: FILE.yaml", 0},
    {"without-job", KEY_WITHOUT_JOB, 0, 0,
     "be content with what the file alone shows, where its job is in another", 0},
    {0},
};

static const char doc[] =
    "Computes every figure that a plan file states again, by a checker that shares no code with "
    "what plans and plays: planes are permutations, the fabric is what they light, rings visit "
    "their group once, routes reach without a loop; hops, diameter, link loads, bandwidth tax, "
    "cost and power are as stated; each lower bound has its value, is of the class that its name "
    "has, and the one that binds may; the iteration is played. A plan that began with a model "
    "holds its job, which is rebuilt from the model and the strategy, with its memory. The job of "
    "any other plan is named behind it.\v"
    "Prints each claim that does not hold, and each that was not looked at with why, and exits 1 "
    "where one does not hold or the job's file is missing; 0 when all hold. With --without-job a "
    "missing job is no reason to exit 1. An iteration of more than 100,000 flows, or one that was "
    "judged in packets, is held against bounds and listed as unverified.\n"
    "\n"
    "Examples:\n"
    "  $ weft check plan.json\n"
    "  $ weft check plan.json job.fbuf --json\n"
    "  $ weft check plan.json --without-job\n"
    "  $ weft check plan-of-my-model.json --model my.yaml\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct check_input *input = state->input;
    switch (key) {
    case KEY_MODEL:
        return cli_take(input->cli, &input->request.model, argument, "model");
    case KEY_WITHOUT_JOB:
        input->request.without_job = true;
        return 0;
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
    const struct weft_verify_report *report = &result.report;
    cli->exit_code = result.holds ? CLI_EXIT_YES : CLI_EXIT_NO;
    if (cli->json) {
        cli_say(cli, "%s", weft_request_check_json(&result, &input->request, &cli->arena));
        return true;
    }
    for (uint32_t i = 0; i < report->violation_count; i++) {
        cli_say(cli, "%s: %s\n", path, report->violations[i].text);
    }
    if (report->violation_count == 0) {
        cli_say(cli, "%s: %s\n", path,
                report->unverified_count == 0 ? "all that the plan claims holds"
                                              : "what was verified holds");
    }
    bool needs_job = false;
    for (uint32_t i = 0; i < report->unverified_count; i++) {
        const struct weft_unverified *open = &report->unverified[i];
        char *why = weft_arena_text(&cli->arena, open->why, strlen(open->why));
        cli_spell(cli, why);
        cli_say(cli, "%s: unverified: %s: %s\n", path, open->claim, why);
        needs_job = needs_job || open->needs_job;
    }
    if (needs_job && !input->request.without_job) {
        cli_say(cli, "%s: write the job behind the plan, or --without-job to leave these out\n",
                path);
    }
    return true;
}

int cli_check(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft check",
        .arguments = "PLAN.json [JOB.fbuf]",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct check_input input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
