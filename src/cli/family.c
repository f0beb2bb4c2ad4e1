// SPDX-License-Identifier: Apache-2.0
// A verb with sub-verbs: finds the one that is meant and runs it with the rest of the command line,
// or lists them all in its help; some do something of their own where none is named. A word that is
// no sub-verb is answered with the nearest one within two letters.

#include "cli.h"
#include "weft/fabric.h"

#include <string.h>
#include <unistd.h>

struct request {
    struct cli *cli;
    const struct cli_family *family;
};

// What the verb is, its sub-verbs, and what else is to be known.
static const char *make_doc(char *buffer, size_t size, const struct cli_family *family)
{
    size_t width = 0;
    for (const struct cli_entry *sub = family->subs; sub->name != NULL; sub++) {
        width = strlen(sub->name) > width ? strlen(sub->name) : width;
    }
    size_t length = (size_t)snprintf(buffer, size, "%s", family->intent);
    for (const struct cli_entry *sub = family->subs; sub->name != NULL; sub++) {
        WEFT_ASSERT(length < size);
        length += (size_t)snprintf(buffer + length, size - length, "  %-*s %s\n", (int)width,
                                   sub->name, sub->summary);
    }
    WEFT_ASSERT(length < size);
    length += (size_t)snprintf(buffer + length, size - length, "%s", family->advice);
    WEFT_ASSERT(length < size);
    return buffer;
}

static error_t no_sub(struct cli *cli, const struct cli_family *family, const char *word)
{
    const char *near = cli_meant(word, family->subs);
    if (family->alone != NULL && weft_fabric_reference_named(word, NULL) != NULL) {
        return cli_usage(cli, "%s is a fabric; write %s CLUSTER.yaml --fabric %s", word,
                         family->name, word);
    }
    if (near == NULL && access(word, R_OK) == 0) {
        return cli_usage(cli, "a sub-verb stands before %.100s; see %s --help", word, cli->program);
    }
    return near == NULL
               ? cli_usage(cli, "'%.40s' is no sub-verb; see %s --help", word, cli->program)
               : cli_usage(cli, "'%.40s' is no sub-verb; do you mean %s?", word, near);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        return no_sub(request->cli, request->family, argument);
    case ARGP_KEY_NO_ARGS:
        return cli_usage(request->cli, "which sub-verb? see %s --help", request->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cli_family(const struct cli_family *family, int argc, char **argv)
{
    for (const struct cli_entry *sub = family->subs; argc > 1 && sub->name != NULL; sub++) {
        if (strcmp(argv[1], sub->name) == 0) {
            return sub->main(argc - 1, argv + 1);
        }
    }
    const bool file = argc > 1 && strpbrk(argv[1], "./") != NULL; // no name of a sub-verb
    if (family->alone != NULL && (argc < 2 || argv[1][0] == '-' || file)) {
        return family->alone(argc, argv);
    }
    // A word that is no sub-verb is complained about before its options are.
    argc = argc > 2 && argv[1][0] != '-' ? 2 : argc;
    char doc[2048];
    const struct cli_verb verb = {
        .name = family->name,
        .arguments = "SUB-VERB ...",
        .doc = family->alone == NULL ? make_doc(doc, sizeof doc, family) : "",
        .parser = parse,
    };
    struct cli cli;
    struct request request = {&cli, family};
    bool parsed = cli_parse(&cli, &verb, argc, argv, &request);
    return cli_finish(&cli, parsed);
}
