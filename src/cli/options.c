// SPDX-License-Identifier: Apache-2.0
// The command line of a verb: its own options, the groups that it shares with others and those that
// every verb has, parsed by argp as children of one parser; and what is wrong with it, in one line
// that says what to write instead. argp's own messages are switched off: they name no remedy.

#include "cli.h"
#include "weft/format.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What the topmost parser works on.
struct top {
    struct cli *cli;
    void *verb_input;
    const char *refused; // the argument at which argp gave up
    const char *cluster; // an argument that is a cluster; NULL = none
};

// An argument that is a cluster by its content says --cluster, in every verb that has hardware. It
// stands last: what follows it was swapped with it.
static error_t take_argument(struct top *top, const char *argument)
{
    struct cli *cli = top->cli;
    if ((cli->verb->groups & CLI_HARDWARE) == 0) {
        return ARGP_ERR_UNKNOWN;
    }
    enum weft_file_kind kind = weft_file_kind(argument);
    bool cluster = kind == WEFT_FILE_CLUSTER || kind == WEFT_FILE_NCCL_TOPOLOGY;
    if (cluster && top->cluster != NULL) {
        return cli_usage(cli, "one cluster only, not '%.100s' and '%.100s'", top->cluster,
                         argument);
    }
    if (!cluster) {
        return top->cluster == NULL || cli->given.job.model != NULL
                   ? ARGP_ERR_UNKNOWN
                   : cli_usage(cli, "%.100s is %s, which stands last; write %s %.100s %.100s",
                               top->cluster, weft_file_kind_name(weft_file_kind(top->cluster)),
                               cli->program, argument, top->cluster);
    }
    top->cluster = argument;
    return 0;
}

static error_t parse_top(int key, char *argument, struct argp_state *state)
{
    struct top *top = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        return take_argument(top, argument);
    case ARGP_KEY_INIT:
        state->child_inputs[0] = top->verb_input;
        for (int i = 1; state->root_argp->children[i].argp != NULL; i++) {
            state->child_inputs[i] = top->cli;
        }
        return 0;
    case ARGP_KEY_ERROR:
        top->refused = state->next > 1 ? state->argv[state->next - 1] : NULL;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// The option of the verb that is meant by a refused word: the one whose name it is or begins, else
// the nearest within two letters.
static const struct argp_option *meant(const struct argp_child *children, const char *word,
                                       size_t length, bool *exact)
{
    const struct argp_option *best = NULL;
    uint32_t best_distance = 3;
    *exact = false;
    for (; children->argp != NULL; children++) {
        const struct argp_option *option = children->argp->options;
        for (; option != NULL && (option->name != NULL || option->doc != NULL); option++) {
            if (option->name == NULL) { // the head of a group
                continue;
            }
            uint32_t away = weft_word_edits(word, length, option->name);
            if (away < best_distance) {
                best = option;
                best_distance = away;
            }
        }
    }
    *exact = best != NULL && strlen(best->name) == length && strncmp(best->name, word, length) == 0;
    return best;
}

// Says in one line why argp gave up at a word, and what to write instead.
static void explain(struct cli *cli, const struct argp_child *children, const char *word)
{
    if (word == NULL || word[0] != '-' || word[1] == '\0') {
        cli_usage(cli, "these arguments do not fit together; see %s --help", cli->program);
        return;
    }
    if (word[1] != '-') {
        cli_usage(cli, "'%.64s' is no short option here, or lacks its value; see %s --help", word,
                  cli->program);
        return;
    }
    size_t length = strcspn(word + 2, "=");
    bool exact = false;
    const struct argp_option *option = meant(children, word + 2, length, &exact);
    if (option == NULL) {
        cli_usage(cli, "'%.64s' is no option of %s; see %s --help", word, cli->program,
                  cli->program);
    } else if (!exact) {
        cli_usage(cli, "'%.64s' is no option of %s; did you mean --%s?", word, cli->program,
                  option->name);
    } else if (option->arg != NULL) {
        cli_usage(cli, "--%s lacks its value; write --%s %s", option->name, option->name,
                  option->arg);
    } else {
        cli_usage(cli, "--%s takes no value; write it alone", option->name);
    }
}

static bool open_memory(struct cli *cli)
{
    struct weft_arena *arenas[] = {&cli->arena, &cli->scratch, &cli->memory.text};
    for (size_t i = 0; i < sizeof arenas / sizeof arenas[0]; i++) {
        if (!weft_arena_init(arenas[i], 0, &cli->error)) {
            return false;
        }
        cli->memory.all[i] = *arenas[i];
    }
    weft_text_init(&cli->text, &cli->memory.text);
    return true;
}

// The groups of a verb: its own first, what all verbs have last.
#define CHILDREN_MAX 11
// The order of the groups is the order in which --help prints them.
static void list_children(struct argp_child children[CHILDREN_MAX], const struct argp *own,
                          const struct cli_verb *verb)
{
    size_t count = 0;
    children[count++] = (struct argp_child){own, 0, NULL, 0};
    if (verb->groups & CLI_JOB) {
        children[count++] = (struct argp_child){&cli_job_argp, 0, "Model:", 1};
    }
    if (verb->groups & CLI_HARDWARE) {
        children[count++] = (struct argp_child){&cli_hardware_argp, 0, "Hardware:", 1};
    }
    if (verb->groups & CLI_SEARCH) {
        children[count++] = (struct argp_child){&cli_search_argp, 0, "Search:", 2};
    }
    if (verb->groups & CLI_TRACE) {
        children[count++] = (struct argp_child){&cli_trace_argp, 0, "Chakra traces:", 2};
    }
    if (verb->groups & CLI_PACKETS) {
        children[count++] = (struct argp_child){&cli_packets_argp, 0, "Packets:", 2};
    }
    if (verb->groups & CLI_TIMING) {
        children[count++] = (struct argp_child){&cli_timing_argp, 0, "Jobs:", 2};
    }
    if (verb->groups & CLI_RECORDS) {
        children[count++] = (struct argp_child){&cli_records_argp, 0, "Records:", 2};
    }
    if (verb->groups & CLI_TABLES) {
        children[count++] = (struct argp_child){&cli_tables_argp, 0, "Tables:", 2};
    }
    children[count] = (struct argp_child){&cli_common_argp, 0, "Every verb:", 3};
}

bool cli_parse(struct cli *cli, const struct cli_verb *verb, int argc, char **argv, void *input)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t threads = processors > 0 ? (uint32_t)processors : 1;
    *cli = (struct cli){
        .verb = verb,
        .program = verb->name,
        .seed = 1,
        .threads = threads < CLI_THREADS_MAX ? threads : CLI_THREADS_MAX,
    };
    if (!open_memory(cli)) {
        return false;
    }
    cli->started_s = cli_elapsed_s(cli);
    cli->command = cli_command(cli, argc, argv, &cli->arena); // argp will sort the words
    const struct argp own = {.options = verb->options, .parser = verb->parser};
    struct argp_child children[CHILDREN_MAX] = {{NULL, 0, NULL, 0}};
    list_children(children, &own, verb);
    struct top top = {.cli = cli, .verb_input = input};
    const struct argp argp = {
        .parser = parse_top, .args_doc = verb->arguments, .doc = verb->doc, .children = children};
    // No other thread runs yet.
    // NOLINTBEGIN(concurrency-mt-unsafe)
    error_t failed =
        argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP, NULL, &top);
    if (cli->wanted.help) {
        setenv("ARGP_HELP_FMT", "no-dup-args-note,header-col=0", 0);
        argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC,
                  (char *)(uintptr_t)cli->program);
        return false;
    }
    // NOLINTEND(concurrency-mt-unsafe)
    if (cli->wanted.version) {
        puts("weft " WEFT_VERSION);
        return false;
    }
    if (failed == ENOMEM && cli->error.code == WEFT_OK) {
        return weft_fail(&cli->error, WEFT_UNSUPPORTED, "out of memory");
    }
    if (failed != 0 && cli->error.code == WEFT_OK) {
        explain(cli, children, top.refused);
    }
    if (failed == 0 && cli->json && cli->form != CLI_TEXT) {
        return cli_misuse(cli, "--json and --%s: write one of them",
                          cli->form == CLI_CSV ? "csv" : "markdown");
    }
    const char **path = &cli->given.hardware.cluster_path;
    if (failed == 0 && top.cluster != NULL && *path != NULL) {
        return cli_misuse(cli, "one cluster only, not '%.100s' and --cluster", top.cluster);
    }
    *path = top.cluster != NULL ? top.cluster : *path;
    // Asked before any work, so that no result is made that cannot be kept.
    return failed == 0 &&
           ((verb->groups & CLI_OUTPUT_FOLDER) != 0 || cli_can_write(cli, cli->output_path));
}
