// SPDX-License-Identifier: Apache-2.0
// weft help [VERB]: the overview of all verbs, or the help of one. A verb's help is its --help,
// which argp makes from the tables of its options, so that help and parser cannot differ; the
// manual pages are made of the same text.

#include "cli.h"
#include "request/json/json.h"

#include <string.h>

static const char overview[] =
    "Weft plans, proves and simulates the network of a machine-learning cluster.\n"
    "\n"
    "Usage: weft VERB [OPTION...] ARGUMENT...\n";

// What one comes with: the first verb of each task, in the order of the verbs' table.
static const struct {
    const char *verb;
    const char *heading;
} tasks[] = {
    {"init", "Begin"},
    {"compare", "Decide what to buy"},
    {"plan", "Plan a fabric"},
    {"simulate", "Simulate"},
    {"traffic", "Understand a job"},
    {"interleave", "Share a cluster"},
    {"lab", "Run on this machine"},
    {"reproduce", "Rerun research"},
};

static const char advice[] =
    "\n"
    "Examples:\n"
    "  $ weft init --servers 64 --accelerator H100 --nics 8x400G -o cluster.yaml\n"
    "  $ weft compare llama3-70b cluster.yaml\n"
    "  $ weft plan job.fbuf --degree 4 --rate 100Gbps -o plan.json\n"
    "  $ weft check plan.json && weft export plan.json --format circuits-csv\n"
    "  $ weft simulate allreduce:100MB --fabric ring --servers 64 --rate 400Gbps\n"
    "\n"
    "Quantities carry their unit: 100Gbps or 12.5GB/s, 500ns or 1us, 100MB or 1.5GiB.\n"
    "Results go to stdout (with --json as one object in SI units), progress to a terminal.\n"
    "\n"
    "Exit codes: 0 yes, 1 the answer is no or infeasible, 2 usage, 3 bad input,\n"
    "4 unsupported here, 5 reading or writing failed.\n"
    "\n"
    "`weft help VERB` and `weft VERB --help` explain a verb, man weft-VERB too.\n";

struct request {
    struct cli *cli;
    const char *verb;
    const char *sub;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    if (key == ARGP_KEY_ARG) {
        return request->verb == NULL ? cli_take(request->cli, &request->verb, argument, "verb")
                                     : cli_take(request->cli, &request->sub, argument, "sub-verb");
    }
    return ARGP_ERR_UNKNOWN;
}

static json_t *list_verbs(const struct cli_entry *entries)
{
    json_t *object = weft_set_object("weft.help/1");
    json_t *verbs = weft_set_list(object, "verbs");
    for (const struct cli_entry *entry = entries; entry->name != NULL; entry++) {
        json_t *verb = json_object();
        weft_set_text(verb, "name", entry->name);
        weft_set_text(verb, "summary", entry->summary);
        json_array_append_new(verbs, verb);
    }
    return object;
}

const char *cli_meant(const char *word, const struct cli_entry *entries)
{
    enum { ENTRIES_MAX = 32 };
    static const char *const others[][2] = {
        {"validate", "check"}, {"verify", "check"},  {"draw", "export"}, {"convert", "export"},
        {"price", "fabrics"},  {"cost", "fabrics"},  {"bom", "fabrics"}, {"bill", "fabrics"},
        {"run", "simulate"},   {"play", "simulate"}, {"design", "plan"}, {"new", "init"},
        {"start", "init"},     {"start", "up"},      {"stop", "down"},   {"create", "up"},
        {"destroy", "down"},   {"break", "fail"},    {"repair", "mend"}, {"list", "models"},
        {"optimize", "plan"},  {"delete", "down"},
    };
    const char *names[ENTRIES_MAX] = {NULL};
    uint32_t count = 0;
    for (; entries[count].name != NULL; count++) {
        WEFT_ASSERT(count < ENTRIES_MAX);
        names[count] = entries[count].name;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        for (uint32_t n = 0; strcmp(word, others[i][0]) == 0 && n < count; n++) {
            if (strcmp(others[i][1], names[n]) == 0) {
                return names[n];
            }
        }
    }
    return weft_nearest_word(word, names, count);
}

int cli_help(const struct cli_entry *entries, int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft help",
        .arguments = "[VERB [SUB-VERB]]",
        .doc = "Explains a verb, or lists them all.",
        .parser = parse,
    };
    struct cli cli;
    struct request request = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &request)) {
        return cli_finish(&cli, false);
    }
    if (cli.json) {
        cli_say(&cli, "%s", weft_set_finish(list_verbs(entries), &cli.arena));
        return cli_finish(&cli, true);
    }
    if (request.verb == NULL) {
        cli_say(&cli, "%s", overview);
        for (const struct cli_entry *entry = entries; entry->name != NULL; entry++) {
            for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
                if (strcmp(entry->name, tasks[i].verb) == 0) {
                    cli_say(&cli, "\n%s:\n", tasks[i].heading);
                }
            }
            cli_say(&cli, "  %-10s %s\n", entry->name, entry->summary);
        }
        cli_say(&cli, "%s", advice);
        return cli_finish(&cli, true);
    }
    for (const struct cli_entry *entry = entries; entry->name != NULL; entry++) {
        if (strcmp(entry->name, request.verb) == 0) {
            char help[] = "--help";
            char *sub = (char *)(uintptr_t)request.sub;
            char *arguments[] = {argv[0], sub != NULL ? sub : help, help, NULL};
            int code = entry->main(sub != NULL ? 3 : 2, arguments);
            cli_finish(&cli, true);
            return code;
        }
    }
    const char *near = cli_meant(request.verb, entries);
    cli_misuse(&cli, "'%.40s' is no verb; %s%s%s", request.verb,
               near != NULL ? "do you mean weft help " : "see weft help", near != NULL ? near : "",
               near != NULL ? "?" : "");
    return cli_finish(&cli, false);
}
