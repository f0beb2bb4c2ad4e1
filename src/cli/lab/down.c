// SPDX-License-Identifier: Apache-2.0
// weft lab down: takes labs away, whether they are complete or not. Without --name it takes the
// default lab and whatever killed programs left under other names. Who works on a lab holds the
// lock of its claim, and a lock ends with its process: a lab whose claim can be had is not worked
// on, whatever its state says.

#include "lab.h"
#include "request/json/json.h"
#include "runtime/testbed/testbed.h"

#include <string.h>

struct request {
    struct cli *cli;
    const char *name; // NULL = the default, and what killed runs left
    bool all;
};

enum { KEY_ALL = 1 };

static const struct argp_option options[] = {
    {"all", KEY_ALL, NULL, 0, "take away every lab that stands", 0},
    LAB_NAME_OPTION,
    {0},
};

static const char doc[] =
    "Takes a lab away: its namespaces with all that is in them, its processes and its state. "
    "Without --name that is the lab called lab, and what killed programs left under other names. "
    "Nothing but namespaces called weft-... is touched.\v"
    "Examples:\n"
    "  $ weft lab down\n"
    "  $ weft lab down --name mine\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case KEY_ALL:
        request->all = true;
        return 0;
    case LAB_NAME:
        return lab_take_name(request->cli, &request->name, argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// What became of the labs that stood, as lists of names, and what went with them.
struct outcome {
    json_t *taken;
    json_t *in_use;
    json_t *standing;
    struct weft_lab_removed removed;
    struct weft_error failure; // the first of a lab that should have gone
};

static bool is_wanted(const struct request *request, const char *name)
{
    return request->all ||
           strcmp(name, request->name != NULL ? request->name : WEFT_LAB_DEFAULT) == 0;
}

// Whether a lab that nobody asked for by name is what a killed program left: one that is not
// complete, or whose last worker was killed. Its claim is held, so that nobody works on it.
static bool is_left(const struct request *request, const char *name,
                    const struct weft_lab_claim *claim)
{
    struct weft_lab lab;
    struct weft_error ignored;
    return claim->abandoned || !weft_lab_load(&lab, name, request->cli->scratch, &ignored);
}

static void add(json_t *list, const char *name)
{
    int failed = json_array_append_new(list, json_string(name));
    WEFT_ASSERT(failed == 0);
}

// Takes one lab away, if it is to go. Who works on a lab holds its claim: that lab stays, and it is
// a failure where the lab was asked for. A lab that is complete and that nobody has claimed since
// stays without a look at its claim, which somebody else may want in this moment.
static void consider(struct outcome *outcome, const struct request *request, const char *name)
{
    struct cli *cli = request->cli;
    struct weft_lab_claim claim;
    struct weft_lab_removed removed = {0};
    struct weft_error error = {.code = WEFT_OK};
    bool wanted = is_wanted(request, name);
    const struct weft_lab_claim unknown = {.abandoned = false};
    if (!wanted && !weft_lab_has_claim(name) && !is_left(request, name, &unknown)) {
        add(outcome->standing, name);
        return;
    }
    if (!weft_lab_claim(&claim, name, &error)) {
        add(outcome->in_use, name);
    } else if (!wanted && !is_left(request, name, &claim)) {
        weft_lab_unclaim(&claim, name);
        add(outcome->standing, name);
    } else {
        bool fine = weft_lab_down(&removed, name, cli->scratch, &error);
        weft_lab_unclaim(&claim, name);
        wanted = true;
        if (fine) {
            add(outcome->taken, name);
            outcome->removed.namespace_count += removed.namespace_count;
            outcome->removed.process_count += removed.process_count;
        }
    }
    if (wanted && error.code != WEFT_OK && outcome->failure.code == WEFT_OK) {
        outcome->failure = error;
    }
}

// Names with a comma between two.
static const char *names_of(struct cli *cli, const json_t *list)
{
    const char *text = "";
    for (size_t i = 0; i < json_array_size(list); i++) {
        text = weft_arena_format(&cli->arena, "%s%s%s", text, i > 0 ? ", " : "",
                                 json_string_value(json_array_get(list, i)));
    }
    return text;
}

static void print(struct cli *cli, const struct outcome *outcome)
{
    size_t taken = json_array_size(outcome->taken);
    if (taken == 0) {
        cli_say(cli, "nothing %s\n",
                json_array_size(outcome->in_use) + json_array_size(outcome->standing) > 0
                    ? "to take away"
                    : "stood");
    } else {
        cli_say(cli, "%zu lab%s (%s), %u namespaces and %u processes taken away\n", taken,
                taken == 1 ? "" : "s", names_of(cli, outcome->taken),
                outcome->removed.namespace_count, outcome->removed.process_count);
    }
    if (json_array_size(outcome->in_use) > 0) {
        cli_say(cli, "in use: %s\n", names_of(cli, outcome->in_use));
    }
    if (json_array_size(outcome->standing) > 0) {
        cli_say(cli, "standing: %s; weft lab down --name NAME takes one away, --all all\n",
                names_of(cli, outcome->standing));
    }
}

static void print_json(struct cli *cli, const struct outcome *outcome)
{
    json_t *object = weft_set_object("weft.lab-down/1");
    weft_set_count(object, "labs", json_array_size(outcome->taken));
    weft_set_count(object, "namespaces", outcome->removed.namespace_count);
    weft_set_count(object, "processes", outcome->removed.process_count);
    weft_set(object, "taken", json_incref(outcome->taken));
    weft_set(object, "in_use", json_incref(outcome->in_use));
    weft_set(object, "standing", json_incref(outcome->standing));
    cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
}

// Takes away every lab that is meant; one that cannot go keeps no other from going.
static bool run(const struct request *request)
{
    struct cli *cli = request->cli;
    const char *const *names = NULL;
    uint32_t count = 0;
    if (request->all && request->name != NULL) {
        return cli_misuse(cli, "--all or --name, not both");
    }
    if (!weft_lab_list(&names, &count, &cli->arena, &cli->error)) {
        return false;
    }
    struct outcome outcome = {json_array(), json_array(), json_array(), {0}, {.code = WEFT_OK}};
    for (uint32_t i = 0; i < count; i++) {
        if (request->name == NULL || is_wanted(request, names[i])) {
            consider(&outcome, request, names[i]);
        }
    }
    (cli->json ? print_json : print)(cli, &outcome);
    if (outcome.failure.code != WEFT_OK) {
        bool others = json_array_size(outcome.taken) > 0;
        weft_fail(&cli->error, outcome.failure.code, "%.300s%s%s", outcome.failure.message,
                  others ? "; taken away: " : "", names_of(cli, outcome.taken));
    }
    json_decref(outcome.taken);
    json_decref(outcome.in_use);
    json_decref(outcome.standing);
    return outcome.failure.code == WEFT_OK;
}

int lab_down(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab down",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct request request = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
