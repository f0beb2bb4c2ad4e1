// SPDX-License-Identifier: Apache-2.0
// weft collective SUB: finds the sub-verb and runs it.

#include "collective.h"

#include <string.h>

// A row a sub-verb; ends with a NULL name.
static const struct cli_entry subs[] = {
    {"show", "a schedule as text: a line a step, or a line a transfer", collective_show},
    {"check", "execute a schedule and prove what it does", collective_check},
    {"best", "the quickest algorithm by size, by formula or played on a fabric", collective_best},
    {"synthesize", "a schedule for any fabric, and its gap to what none can be below",
     collective_synthesize},
    {"export", "an algorithm or a plan's rings in the files of NCCL and MSCCL", collective_export},
    {"straggler", "what StragglAR gains when one rank is late", collective_straggler},
    {NULL, NULL, NULL},
};

static const char intent[] =
    "Schedules of collectives (AllReduce, ReduceScatter, AllGather, Broadcast, Reduce, AllToAll), "
    "chunk by chunk and rank by rank.\v"
    "Sub-verbs, each with its own --help:\n";

static const char advice[] =
    "\n"
    "Names of collectives: allreduce, reduce-scatter, allgather, broadcast, "
    "reduce, alltoall.\n";

// What the verb is, its sub-verbs, and examples.
static const char *make_doc(char *buffer, size_t size)
{
    size_t length = (size_t)snprintf(buffer, size, "%s", intent);
    for (const struct cli_entry *sub = subs; sub->name != NULL; sub++) {
        WEFT_ASSERT(length < size);
        length += (size_t)snprintf(buffer + length, size - length, "  %-10s %s\n", sub->name,
                                   sub->summary);
    }
    WEFT_ASSERT(length + sizeof advice < size);
    memcpy(buffer + length, advice, sizeof advice);
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

int cli_collective(int argc, char **argv)
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
        .name = "weft collective",
        .arguments = "SUB-VERB ...",
        .doc = make_doc(doc, sizeof doc),
        .parser = parse,
    };
    struct cli cli;
    struct cli *input = &cli;
    bool parsed = cli_parse(&cli, &verb, argc, argv, &input);
    return cli_finish(&cli, parsed);
}

// ---- names ----

static bool unknown(struct cli *cli, const char *what, const char *name, const char *const *names,
                    uint32_t count)
{
    const char *near = weft_nearest_word(name, names, count);
    const char *list = "";
    for (uint32_t i = 0; near == NULL && i < count; i++) {
        list = weft_arena_format(&cli->arena, "%s%s%s", list, i > 0 ? ", " : "", names[i]);
    }
    return near != NULL ? weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is no %s; do you mean %s?",
                                    name, what, near)
                        : weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is no %s; choose one of %s",
                                    name, what, list);
}

bool collective_kind(enum weft_collective_kind *kind, struct cli *cli, const char *name)
{
    *kind = weft_collective_find(name);
    if (*kind < WEFT_COLLECTIVE_KIND_COUNT) {
        return true;
    }
    const char *names[WEFT_COLLECTIVE_KIND_COUNT];
    for (uint32_t i = 0; i < WEFT_COLLECTIVE_KIND_COUNT; i++) {
        names[i] = weft_collective_name((enum weft_collective_kind)i);
    }
    return unknown(cli, "collective", name, names, WEFT_COLLECTIVE_KIND_COUNT);
}

bool collective_algorithm(enum weft_algorithm *algorithm, struct cli *cli, const char *name)
{
    *algorithm = weft_algorithm_find(name);
    if (*algorithm < WEFT_ALGORITHM_COUNT) {
        return true;
    }
    const char *names[WEFT_ALGORITHM_COUNT];
    for (uint32_t i = 0; i < WEFT_ALGORITHM_COUNT; i++) {
        names[i] = weft_algorithm_name((enum weft_algorithm)i);
    }
    return unknown(cli, "algorithm", name, names, WEFT_ALGORITHM_COUNT);
}
