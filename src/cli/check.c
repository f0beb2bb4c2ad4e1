// SPDX-License-Identifier: Apache-2.0
// weft check: verifies everything that a plan claims.

#include "cli.h"
#include "weft/format.h"
#include "weft/plan.h"

struct request {
    struct cli *cli;
    const char *plan_path;
    const char *job_path;
};

static const char doc[] =
    "Verifies what a plan file claims: every plane is a permutation, the fabric is what the planes "
    "light, every ring visits its group once over links that exist, every route reaches without a "
    "loop, loads are as stated and the certificate is below the iteration time. With the job, also "
    "what depends on its traffic; a plan that began with a model holds its job.\v"
    "Prints each property that does not hold and exits 1; exits 0 when all hold.\n"
    "\n"
    "Examples:\n"
    "  $ weft check plan.json\n"
    "  $ weft check plan.json job.fbuf --json\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (request->plan_path == NULL) {
            request->plan_path = argument;
            return 0;
        }
        return cli_take(request->cli, &request->job_path, argument, "task graph");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(request->cli, "which plan? write %s PLAN.json", request->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool run(const struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_plan plan;
    struct weft_fbuf fbuf;
    if (!weft_plan_load(&plan, request->plan_path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (request->job_path != NULL &&
        !weft_fbuf_load(&fbuf, request->job_path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    const struct weft_violation *violations = NULL;
    uint32_t count = weft_plan_check(&plan, request->job_path != NULL ? &fbuf.graph : NULL,
                                     &violations, &cli->arena, cli->scratch);
    cli->exit_code = count > 0 ? CLI_EXIT_NO : CLI_EXIT_YES;
    if (cli->json) {
        json_t *object = cli_object("weft.check/1");
        cli_set_text(object, "file", request->plan_path);
        cli_set_truth(object, "valid", count == 0);
        json_t *list = json_array();
        cli_set(object, "violations", list);
        for (uint32_t i = 0; i < count; i++) {
            json_t *one = json_object();
            cli_set_text(one, "text", violations[i].text);
            json_array_append_new(list, one);
        }
        cli_json(cli, object);
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        cli_say(cli, "%s: %s\n", request->plan_path, violations[i].text);
    }
    if (count == 0) {
        cli_say(cli, "%s: all that the plan claims holds\n", request->plan_path);
    }
    return true;
}

int cli_check(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft check",
        .arguments = "PLAN.json [FILE.fbuf]",
        .doc = doc,
        .parser = parse,
    };
    struct cli cli;
    struct request request = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
