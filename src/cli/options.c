// SPDX-License-Identifier: Apache-2.0
// Options: the groups that verbs share, parsed by argp, and bad usage told in one line.

#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_JSON = 1000,
    KEY_SEED,
    KEY_THREADS,
    KEY_QUIET,
    KEY_HELP,
    KEY_VERSION,
    KEY_CLUSTER,
    KEY_SERVERS,
    KEY_DEGREE,
    KEY_RATE,
    KEY_LATENCY,
    KEY_METHOD,
    KEY_SIMPLEX,
    KEY_SECONDS,
    KEY_EFFORT,
};

static const uint32_t servers_max = 1u << 20;
static const uint32_t threads_max = 64;
static const double seconds_least = 1e-9;
static const double seconds_max = 1e6;

static const struct argp_option common_options[] = {
    {"json", KEY_JSON, NULL, 0, "one JSON object instead of text (SI units)", 0},
    {"output", 'o', "FILE", 0, "write the result to FILE, whole or not at all", 0},
    {"seed", KEY_SEED, "K", 0, "seed of every random choice (1); same seed, same bytes", 0},
    {"threads", KEY_THREADS, "T", 0, "threads (as many as processors); never changes a result", 0},
    {"quiet", KEY_QUIET, NULL, 0, "no progress on the terminal", 0},
    {"help", KEY_HELP, NULL, 0, "print this help", 0},
    {"version", KEY_VERSION, NULL, 0, "print the version", 0},
    {0},
};

static const struct argp_option hardware_options[] = {
    {"cluster", KEY_CLUSTER, "FILE", 0,
     "the hardware: a cluster with its prices (FILE.yaml), or a server's NCCL topology (FILE.xml); "
     "the options below win",
     0},
    {"servers", KEY_SERVERS, "N", 0, "servers of the cluster", 0},
    {"degree", KEY_DEGREE, "D", 0, "network ports a server", 0},
    {"rate", KEY_RATE, "R", 0, "rate of a port: 100Gbps, 12.5GB/s", 0},
    {"latency", KEY_LATENCY, "T", 0, "propagation of one link: 1us, 500ns", 0},
    {0},
};

static const struct argp_option search_options[] = {
    {"method", KEY_METHOD, "M", 0, "weft (default) or topoopt, the paper's TopologyFinder", 0},
    {"simplex", KEY_SIMPLEX, NULL, 0, "a ring takes one port a server, not one for each way", 0},
    {"seconds", KEY_SECONDS, "S", 0, "search up to S seconds; a clock ends it at twice that", 0},
    {"effort", KEY_EFFORT, "S", 0,
     "as --seconds, without the clock: the same answer on every machine", 0},
    {0},
};

bool cli_misuse(struct cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cli->error.message, sizeof cli->error.message, format, arguments);
    va_end(arguments);
    cli->error.code = WEFT_INPUT;
    cli->error.key[0] = '\0';
    cli->exit_code = CLI_EXIT_USAGE;
    return false;
}

error_t cli_usage(struct cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cli->error.message, sizeof cli->error.message, format, arguments);
    va_end(arguments);
    cli->error.code = WEFT_INPUT;
    cli->error.key[0] = '\0';
    cli->exit_code = CLI_EXIT_USAGE;
    return EINVAL;
}

error_t cli_take(struct cli *cli, const char **slot, const char *argument, const char *what)
{
    if (*slot != NULL) {
        return cli_usage(cli, "one %s only, not also '%.100s'; see %s --help", what, argument,
                         cli->program);
    }
    *slot = argument;
    return 0;
}

error_t cli_value(struct cli *cli, bool parsed, const char *option)
{
    if (parsed) {
        return 0;
    }
    cli->exit_code = (int)cli->error.code;
    weft_wrap(&cli->error, "--%s", option);
    return EINVAL;
}

error_t cli_count(struct cli *cli, uint32_t *value, const char *option, const char *text,
                  uint32_t low, uint32_t high)
{
    uint64_t count = 0;
    bool parsed = weft_parse_count(&count, text, low, high, &cli->error);
    if (parsed) {
        *value = (uint32_t)count;
    }
    return cli_value(cli, parsed, option);
}

error_t cli_choose(struct cli *cli, uint32_t *choice, const char *option, const char *text,
                   const char *const *names, uint32_t count)
{
    for (*choice = 0; *choice < count; (*choice)++) {
        if (strcmp(names[*choice], text) == 0) {
            return 0;
        }
    }
    const char *list = "";
    for (uint32_t i = 0; i < count; i++) {
        list = weft_arena_format(&cli->arena, "%s%s%s", list, i > 0 ? ", " : "", names[i]);
    }
    return cli_value(
        cli, weft_fail(&cli->error, WEFT_INPUT, "'%.40s'; choose one of %s", text, list), option);
}

// What the topmost parser works on.
struct top {
    struct cli *cli;
    void *verb_input;
    const char *refused; // the argument at which argp gave up
};

// --help and --version end the parsing before anything else is complained about.
static error_t end_parsing(struct argp_state *state, bool *asked)
{
    *asked = true;
    state->next = state->argc;
    return EINVAL;
}

static error_t parse_common(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    switch (key) {
    case KEY_HELP:
        return end_parsing(state, &cli->help_asked);
    case KEY_VERSION:
        return end_parsing(state, &cli->version_asked);
    case KEY_JSON:
        cli->json = true;
        return 0;
    case KEY_QUIET:
        cli->quiet = true;
        return 0;
    case 'o':
        if (argument[0] == '\0') {
            return cli_usage(cli, "--output: the name is empty; write -o FILE");
        }
        cli->output_path = argument;
        return 0;
    case KEY_SEED:
        return cli_value(cli, weft_parse_count(&cli->seed, argument, 0, INT64_MAX, &cli->error),
                         "seed");
    case KEY_THREADS:
        cli->threads_given = true;
        return cli_count(cli, &cli->threads, "threads", argument, 1, threads_max);
    case ARGP_KEY_ARG:
        return cli_usage(cli, "'%.100s' is one argument too many; see %s --help", argument,
                         cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_hardware(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    struct cli_hardware *hardware = &cli->hardware;
    switch (key) {
    case KEY_CLUSTER:
        hardware->cluster_path = argument;
        return 0;
    case KEY_SERVERS:
        return cli_count(cli, &hardware->server_count, "servers", argument, 1, servers_max);
    case KEY_DEGREE:
        return cli_count(cli, &hardware->degree, "degree", argument, 1, servers_max);
    case KEY_RATE:
        hardware->rate_given = true;
        return cli_value(cli, weft_parse_rate(&hardware->rate_Bps, argument, &cli->error), "rate");
    case KEY_LATENCY:
        hardware->latency_given = true;
        return cli_value(cli, weft_parse_time(&hardware->latency_ps, argument, &cli->error),
                         "latency");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_search(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    struct cli_search *search = &cli->search;
    switch (key) {
    case KEY_METHOD:
        if (strcmp(argument, "weft") == 0) {
            search->method = WEFT_TOPOLOGY_WEFT;
        } else if (strcmp(argument, "topoopt") == 0) {
            search->method = WEFT_TOPOLOGY_TOPOOPT;
        } else {
            return cli_usage(cli, "--method: '%.64s' is none; write weft or topoopt", argument);
        }
        return 0;
    case KEY_SIMPLEX:
        search->simplex = true;
        return 0;
    case KEY_SECONDS:
    case KEY_EFFORT:
        search->timed = key == KEY_SECONDS;
        if (!weft_parse_number(&search->seconds, argument, 0, seconds_max, &cli->error)) {
            return cli_value(cli, false, search->timed ? "seconds" : "effort");
        }
        // To the planner 0 means nothing was asked for; to a user it is the shortest search.
        search->seconds = fmax(search->seconds, seconds_least);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp common_argp = {.options = common_options, .parser = parse_common};
static const struct argp hardware_argp = {.options = hardware_options, .parser = parse_hardware};
static const struct argp search_argp = {.options = search_options, .parser = parse_search};

static error_t parse_top(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    struct top *top = state->input;
    switch (key) {
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
        for (; option != NULL && option->name != NULL; option++) {
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
    struct weft_arena *arenas[] = {&cli->arena, &cli->scratch, &cli->text_arena};
    for (size_t i = 0; i < sizeof arenas / sizeof arenas[0]; i++) {
        if (!weft_arena_init(arenas[i], 0, &cli->error)) {
            return false;
        }
        cli->all[i] = *arenas[i];
    }
    weft_text_init(&cli->text, &cli->text_arena);
    return true;
}

// The groups of a verb: its own first, what all verbs have last.
#define CHILDREN_MAX 10
static void list_children(struct argp_child children[CHILDREN_MAX], const struct argp *own,
                          const struct cli_verb *verb)
{
    size_t count = 0;
    children[count++] = (struct argp_child){own, 0, NULL, 0};
    if (verb->groups & CLI_JOB) {
        children[count++] = (struct argp_child){&cli_job_argp, 0, "Model:", 1};
    }
    if (verb->groups & CLI_HARDWARE) {
        children[count++] = (struct argp_child){&hardware_argp, 0, "Hardware:", 1};
    }
    if (verb->groups & CLI_SEARCH) {
        children[count++] = (struct argp_child){&search_argp, 0, "Search:", 2};
    }
    if (verb->groups & CLI_TRACE) {
        children[count++] = (struct argp_child){&cli_trace_argp, 0, "Chakra traces:", 2};
    }
    if (verb->groups & CLI_PACKETS) {
        children[count++] = (struct argp_child){&cli_packets_argp, 0, "Packets:", 2};
    }
    if (verb->groups & CLI_PACES) {
        children[count++] = (struct argp_child){&cli_paces_argp, 0, "Jobs:", 2};
    }
    if (verb->groups & CLI_RECORDS) {
        children[count++] = (struct argp_child){&cli_records_argp, 0, "Records:", 2};
    }
    children[count] = (struct argp_child){&common_argp, 0, "Every verb:", 3};
}

const struct argp_option *cli_verb_option(const struct cli_verb *verb, const char *name,
                                          const struct argp_option **near)
{
    const struct argp own = {.options = verb->options, .parser = verb->parser};
    struct argp_child children[CHILDREN_MAX] = {{NULL, 0, NULL, 0}};
    list_children(children, &own, verb);
    bool exact = false;
    *near = meant(children, name, strlen(name), &exact);
    return exact ? *near : NULL;
}

bool cli_parse(struct cli *cli, const struct cli_verb *verb, int argc, char **argv, void *input)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t threads = processors > 0 ? (uint32_t)processors : 1;
    *cli = (struct cli){
        .program = verb->name,
        .seed = 1,
        .threads = threads < threads_max ? threads : threads_max,
        .search = {.method = WEFT_TOPOLOGY_WEFT},
        .best_ps = WEFT_NEVER,
    };
    if (!open_memory(cli)) {
        return false;
    }
    cli->started_s = cli_elapsed_s(cli);
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
    if (cli->help_asked) {
        setenv("ARGP_HELP_FMT", "no-dup-args-note,header-col=0", 0);
        argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC,
                  (char *)(uintptr_t)cli->program);
        return false;
    }
    // NOLINTEND(concurrency-mt-unsafe)
    if (cli->version_asked) {
        puts("weft " WEFT_VERSION);
        return false;
    }
    if (failed != 0 && cli->error.code == WEFT_OK) {
        explain(cli, children, top.refused);
    }
    return failed == 0;
}
