// SPDX-License-Identifier: Apache-2.0
// weft lab down: takes labs away, whether they are complete or not. Without --name it takes the
// default lab and whatever killed runs left under other names: a lab that somebody works on has a
// claim, so that one without a claim that is not up either is a leftover.

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
    "Without --name that is the lab called lab, and what killed runs under other names left. "
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

// Whether a lab is to go: the one that is named, all, or what a killed run left. Who works on a lab
// has its claim, so that what has none and is not up was left.
static bool is_meant(const struct request *request, const char *name)
{
    struct weft_lab lab;
    struct weft_error ignored;
    if (request->all) {
        return true;
    }
    if (request->name != NULL) {
        return strcmp(request->name, name) == 0;
    }
    return strcmp(name, WEFT_LAB_DEFAULT) == 0 ||
           !weft_lab_load(&lab, name, request->cli->scratch, &ignored);
}

// Whether a failed claim stops the verb: others' work under way is theirs, unless the lab was
// named.
static bool take_away(const struct request *request, const char *name,
                      struct weft_lab_removed *removed, bool *was_there)
{
    struct cli *cli = request->cli;
    struct weft_lab_claim claim;
    bool named = request->all || request->name != NULL || strcmp(name, WEFT_LAB_DEFAULT) == 0;
    *was_there = false;
    if (!weft_lab_claim(&claim, name, &cli->error)) {
        return !named;
    }
    *was_there = weft_lab_down(removed, name, cli->scratch, &cli->error);
    weft_lab_unclaim(&claim, name);
    return *was_there;
}

// Takes away every lab that is meant and prints the sum. A leftover that somebody claims in the
// meantime is theirs and is passed over; its error is cleared before the result is written.
static bool run(const struct request *request)
{
    struct cli *cli = request->cli;
    const char *const *names = NULL;
    uint32_t count = 0;
    uint32_t taken = 0;
    struct weft_lab_removed sum = {0};
    if (request->all && request->name != NULL) {
        return cli_misuse(cli, "--all or --name, not both");
    }
    if (!weft_lab_list(&names, &count, &cli->arena, &cli->error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct weft_lab_removed removed = {0};
        bool was_there = false;
        if (!is_meant(request, names[i])) {
            continue;
        }
        if (!take_away(request, names[i], &removed, &was_there)) {
            return false;
        }
        taken += was_there;
        sum.namespace_count += removed.namespace_count;
        sum.process_count += removed.process_count;
    }
    cli->error.code = WEFT_OK;
    if (cli->json) {
        json_t *object = weft_set_object("weft.lab-down/1");
        weft_set_count(object, "labs", taken);
        weft_set_count(object, "namespaces", sum.namespace_count);
        weft_set_count(object, "processes", sum.process_count);
        cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
    } else if (taken == 0) {
        cli_say(cli, "nothing stood\n");
    } else {
        cli_say(cli, "%u lab%s, %u namespaces and %u processes taken away\n", taken,
                taken == 1 ? "" : "s", sum.namespace_count, sum.process_count);
    }
    return true;
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
