// SPDX-License-Identifier: Apache-2.0
// weft lab SUB: finds the sub-verb and runs it.

#include "lab.h"

#include <live.h>

#include <string.h>

// A row a sub-verb; ends with a NULL name.
static const struct cli_entry subs[] = {
    {"up", "raise a plan, a ring or a switch: a network namespace a server", lab_up},
    {"run", "a plan's job, iteration by iteration, beside what was predicted", lab_run},
    {"check", "send probes along every planned path and compare the hops", lab_check_routes},
    {"ocs", "show and change the circuits of optical switches, emulated or real", lab_ocs},
    {"fail", "take the light away from a cable, a server or an optical switch", lab_fail},
    {"mend", "bring it back", lab_mend},
    {"status", "the labs that stand, with their counters", lab_status},
    {"mltcp", "jobs that contend for one link, on real TCP: MLTCP against Reno and CUBIC",
     lab_mltcp},
    {"down", "take a lab away, complete or not", lab_down},
    {NULL, NULL, NULL},
};

static const char intent[] =
    "Runs a plan on this machine, with real sockets, kernel routes and emulated optical circuit "
    "switches, or lets jobs contend for a link. It needs root.\v"
    "Sub-verbs, each with its own --help:\n";

// What the verb is, and its sub-verbs.
static const char *make_doc(char *buffer, size_t size)
{
    size_t length = (size_t)snprintf(buffer, size, "%s", intent);
    for (const struct cli_entry *sub = subs; sub->name != NULL; sub++) {
        length += (size_t)snprintf(buffer + length, size - length, "  %-8s %s\n", sub->name,
                                   sub->summary);
        WEFT_ASSERT(length < size);
    }
    return buffer;
}

static error_t no_sub(struct cli *cli, const char *word)
{
    enum { SUBS_MAX = 16 };
    const char *names[SUBS_MAX] = {NULL};
    uint32_t count = 0;
    while (subs[count].name != NULL) {
        WEFT_ASSERT(count < SUBS_MAX);
        names[count] = subs[count].name;
        count++;
    }
    const char *near = weft_nearest_word(word, names, count);
    return near == NULL
               ? cli_usage(cli, "'%.40s' is no sub-verb; see %s --help", word, cli->program)
               : cli_usage(cli, "'%.40s' is no sub-verb; do you mean %s?", word, near);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = *(struct cli **)state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        return no_sub(cli, argument);
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "which sub-verb? see %s --help", cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_lab(int argc, char **argv)
{
    for (const struct cli_entry *sub = subs; argc > 1 && sub->name != NULL; sub++) {
        if (strcmp(argv[1], sub->name) == 0) {
            return sub->main(argc - 1, argv + 1);
        }
    }
    // A word that is no sub-verb is told before its options are.
    argc = argc > 2 && argv[1][0] != '-' ? 2 : argc;
    char doc[2048];
    const struct cli_verb verb = {
        .name = "weft lab",
        .arguments = "SUB-VERB ...",
        .doc = make_doc(doc, sizeof doc),
        .parser = parse,
    };
    struct cli cli;
    struct cli *input = &cli;
    bool parsed = cli_parse(&cli, &verb, argc, argv, &input);
    return cli_finish(&cli, parsed);
}

error_t lab_take_name(struct cli *cli, const char **name, const char *text)
{
    *name = text;
    return cli_value(cli, weft_lab_check_name(text, &cli->error), "name");
}
