// SPDX-License-Identifier: Apache-2.0
// weft check: verifies everything that a plan claims.

#include "cli.h"
#include "weft/format.h"
#include "weft/plan.h"

struct request {
    struct cli *cli;
    const char *plan_path;
    const char *job_path;
    const char *model; // NULL = the zoo's of the plan's name
};

enum { KEY_MODEL = 1 };

static const struct argp_option options[] = {
    {"model", KEY_MODEL, "M", 0,
     "the model that the plan was made for, where it is not the zoo's: FILE.yaml", 0},
    {0},
};

// What was found, and what could not be looked at.
struct verdict {
    const struct weft_violation *violations;
    uint32_t count;
    const char *left_out; // NULL = nothing
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
    struct request *request = state->input;
    switch (key) {
    case KEY_MODEL:
        return cli_take(request->cli, &request->model, argument, "model");
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

// ---- looking ----

// The part for plans that began with a model, where the rest holds.
static bool check_model(struct verdict *verdict, const struct request *request,
                        const struct weft_plan *plan)
{
    struct cli *cli = request->cli;
    const char *name = request->model;
    struct weft_model model;
    if (name == NULL && !weft_request_in_zoo(plan->job->model)) {
        verdict->left_out = weft_arena_format(
            &cli->arena,
            "whether strategy, task graph and memory follow from the model (%s is not of the zoo; "
            "write --model FILE.yaml)",
            plan->job->model);
        return true;
    }
    if (!cli_model(&model, cli, name != NULL ? name : plan->job->model) ||
        !weft_model_set_batch(&model, plan->job->batch, &cli->error)) {
        return false;
    }
    verdict->count = weft_plan_check_model(plan, &model, &verdict->violations, &verdict->left_out,
                                           &cli->arena, cli->scratch);
    return true;
}

static bool look(struct verdict *verdict, const struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_plan *plan = WEFT_NEW(&cli->arena, struct weft_plan, 1);
    struct weft_fbuf fbuf;
    const char *path = request->plan_path;
    *verdict = (struct verdict){0};
    if (!weft_plan_load(plan, path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (request->model != NULL && plan->job == NULL) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--model: %s was made for a task graph; name that instead", path);
    }
    if (request->job_path != NULL &&
        !weft_fbuf_load(&fbuf, request->job_path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    const struct weft_taskgraph *graph = request->job_path != NULL ? &fbuf.graph : NULL;
    verdict->count = weft_plan_check(plan, graph, &verdict->violations, &cli->arena, cli->scratch);
    if (plan->job == NULL && graph == NULL) {
        verdict->left_out = "what depends on the job's traffic (name its FILE.fbuf)";
    }
    return verdict->count > 0 || plan->job == NULL || check_model(verdict, request, plan);
}

static void tell_json(const struct request *request, const struct verdict *verdict)
{
    json_t *object = cli_object("weft.check/1");
    json_t *list = json_array();
    cli_set_text(object, "file", request->plan_path);
    cli_set_truth(object, "valid", verdict->count == 0);
    cli_set(object, "violations", list);
    for (uint32_t i = 0; i < verdict->count; i++) {
        json_t *one = json_object();
        cli_set_text(one, "text", verdict->violations[i].text);
        json_array_append_new(list, one);
    }
    if (verdict->left_out != NULL) {
        cli_set_text(object, "not_checked", verdict->left_out);
    }
    cli_json(request->cli, object);
}

static bool run(const struct request *request)
{
    struct cli *cli = request->cli;
    const char *path = request->plan_path;
    struct verdict verdict;
    if (!look(&verdict, request)) {
        return false;
    }
    cli->exit_code = verdict.count > 0 ? CLI_EXIT_NO : CLI_EXIT_YES;
    if (cli->json) {
        tell_json(request, &verdict);
        return true;
    }
    for (uint32_t i = 0; i < verdict.count; i++) {
        cli_say(cli, "%s: %s\n", path, verdict.violations[i].text);
    }
    if (verdict.count == 0) {
        cli_say(cli, "%s: %s\n", path,
                verdict.left_out == NULL ? "all that the plan claims holds"
                                         : "what was checked holds");
    }
    if (verdict.left_out != NULL) {
        cli_say(cli, "%s: not checked: %s\n", path, verdict.left_out);
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
    struct request request = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
