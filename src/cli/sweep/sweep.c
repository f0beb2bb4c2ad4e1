// SPDX-License-Identifier: Apache-2.0
// weft sweep: independent scenarios over threads, machines and runs.
//
// Rank 0 (the only one without mpirun) reads the specification, runs or hands out what the file of
// results lacks, keeps each line as it ends and writes all in order at the end; the other ranks
// serve. docs/sweep.md says what users may rely on.

#include "sweep.h"
#include "weft/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SHARD = 1, KEY_MERGE, KEY_LIST, KEY_PRUNE, KEY_WALL, KEY_ALLOW_PATHS };

static const struct argp_option options[] = {
    {"shard", KEY_SHARD, "I/N", 0, "only each N-th scenario, from the I-th: 1/4 ... 4/4", 0},
    {"merge", KEY_MERGE, NULL, 0,
     "put files of results together, in order of the scenarios; with --csv or --markdown as a "
     "table, a row each",
     0},
    {"list", KEY_LIST, NULL, 0, "say the scenarios and run none", 0},
    {"prune", KEY_PRUNE, NULL, 0, "drop lines of the results that are of no scenario any more", 0},
    {"allow-paths", KEY_ALLOW_PATHS, NULL, 0,
     "read files that scenarios name outside of SPEC.yaml's folder, too", 0},
    {"wall", KEY_WALL, NULL, 0, "add wall_s to each line; no two runs are then equal", 0},
    {0},
};

static const char doc[] =
    "Runs many scenarios of weft simulate or weft plan: the product of the lists of a grid, and "
    "scenarios written out. A result is a line of JSON: the scenario's index, its parameters, and "
    "what the verb says with --json, less its wall_s. Lines stand in order of the scenarios at the "
    "end, and are the same for any number of threads, shards and processes.\v"
    "SPEC.yaml:\n"
    "  verb: simulate              # or plan; simulate where it is left out\n"
    "  common: {servers: 64}       # parameters of all scenarios\n"
    "  grid:                       # all combinations; the last key runs fastest\n"
    "    flows: [permutation:10MB:1, alltoall:1MB]\n"
    "    fabric: [leaf-spine, fat-tree]\n"
    "    engine: [flow, packet]\n"
    "  scenarios:                  # and these\n"
    "    - {flows: allreduce:100MB, fabric: ring, rate: 400Gbps}\n"
    "\n"
    "A key is an option of the verb without its dashes (a flag is yes or no), or flows or job for "
    "its arguments (a list of several in brackets). Files that it names are read in the folder of "
    "SPEC.yaml and below it alone, unless --allow-paths says that you trust it.\n"
    "\n"
    "With -o each line is appended as it ends, and a run that was killed goes on from there: "
    "write the same command again. Failed scenarios become lines with an error, the sweep goes on "
    "and exits 1; they run again the next time.\n"
    "\n"
    "Under mpirun, rank 0 reads SPEC.yaml, gives scenarios to the other ranks, and writes; a rank "
    "has one thread unless --threads says more. Files that scenarios name must be on each machine, "
    "under the same name as from the folder where the sweep began.\n"
    "\n"
    "Examples:\n"
    "  $ weft sweep examples/sweeps/grid.yaml -o results.jsonl\n"
    "  $ weft sweep grid.yaml --list\n"
    "  $ mpirun -n 8 weft sweep grid.yaml -o results.jsonl\n"
    "  $ weft sweep grid.yaml --shard 1/2 -o a.jsonl\n"
    "  $ weft sweep grid.yaml --shard 2/2 -o b.jsonl\n"
    "  $ weft sweep --merge a.jsonl b.jsonl -o results.jsonl\n"
    "  $ weft sweep --merge results.jsonl --csv -o results.csv\n";

static error_t take_shard(struct sweep *sweep, const char *argument)
{
    struct cli *cli = sweep->cli;
    uint64_t shard = 0;
    uint64_t count = 0;
    const char *slash = strchrnul(argument, '/');
    char first[16];
    snprintf(first, sizeof first, "%.*s", (int)(slash - argument), argument);
    bool fine = *slash == '/' &&
                weft_parse_count(&count, slash + 1, 1, WEFT_SWEEP_MAX, &cli->error) &&
                weft_parse_count(&shard, first, 1, count, &cli->error);
    if (!fine) {
        return cli_usage(cli, "--shard: '%.40s' is none; write 1/4 ... 4/4", argument);
    }
    sweep->shard = (uint32_t)shard - 1;
    sweep->shard_count = (uint32_t)count;
    return 0;
}

// What only all options together show: what goes with files of results, with a list and with -o.
static error_t check_end(struct sweep *sweep)
{
    struct cli *cli = sweep->cli;
    if (sweep->path_count == 0) {
        return cli_usage(cli, "which sweep? write %s SPEC.yaml -o results.jsonl", cli->program);
    }
    if (!sweep->merges && sweep->path_count > 1) {
        return cli_usage(cli,
                         "one SPEC.yaml only, not also '%.100s'; files of results need --merge",
                         sweep->paths[1]);
    }
    if (cli->seed != 1) {
        return cli_usage(cli,
                         "--seed: a scenario's seed is a parameter; write seed: %llu below "
                         "common in SPEC.yaml",
                         (unsigned long long)cli->seed);
    }
    if (!sweep->merges && cli->form != CLI_TEXT) {
        return cli_usage(cli,
                         "a sweep writes lines of JSON; write -o results.jsonl, then weft "
                         "sweep --merge results.jsonl --%s",
                         cli->form == CLI_CSV ? "csv" : "markdown");
    }
    if (sweep->merges && (sweep->shard_count > 1 || sweep->lists)) {
        return cli_usage(cli, "--merge takes files of results; --shard and --list are for a sweep");
    }
    if (sweep->merges && sweep->allows_paths) {
        return cli_usage(cli, "--allow-paths is for a sweep; --merge reads what is named here");
    }
    const struct weft_stated rows[] = {
        {(sweep->merges || sweep->lists) && sweep->prunes, "prune"},
        {(sweep->merges || sweep->lists) && sweep->adds_wall, "wall"},
        {sweep->prunes && cli->output_path == NULL, "prune"},
        {NULL},
    };
    return weft_refuse_stated(rows, &cli->error, "is for a sweep that runs into -o; leave it out")
               ? 0
               : EINVAL;
}

// The options of the sweep itself; those of scenarios stand in the specification.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct sweep *sweep = state->input;
    switch (key) {
    case KEY_SHARD:
        return take_shard(sweep, argument);
    case KEY_MERGE:
        sweep->merges = true;
        return 0;
    case KEY_LIST:
        sweep->lists = true;
        return 0;
    case KEY_PRUNE:
        sweep->prunes = true;
        return 0;
    case KEY_WALL:
        sweep->adds_wall = true;
        return 0;
    case KEY_ALLOW_PATHS:
        sweep->allows_paths = true;
        return 0;
    case ARGP_KEY_ARG:
        sweep->paths = sweep->paths != NULL
                           ? sweep->paths
                           : WEFT_NEW(&sweep->cli->arena, const char *, (size_t)state->argc);
        sweep->paths[sweep->path_count++] = argument;
        return 0;
    case ARGP_KEY_END:
        return check_end(sweep);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool in_shard(const struct sweep *sweep, uint32_t index)
{
    return index % sweep->shard_count == sweep->shard;
}

static bool list_scenarios(const struct sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->spec.scenario_count; i++) {
        if (in_shard(sweep, i)) {
            char *line = sweep_list_line(sweep, i);
            if (line == NULL) {
                return sweep_refuse_line(sweep->cli);
            }
            cli_say(sweep->cli, "%s\n", line);
            free(line);
        }
    }
    return true;
}

static void list_todo(struct sweep *sweep)
{
    uint32_t count = sweep->spec.scenario_count;
    sweep->todo = WEFT_NEW(&sweep->cli->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        if (in_shard(sweep, i) && sweep->ended[i] == NULL) {
            sweep->todo[sweep->todo_count++] = i;
        }
    }
}

// All lines in order, and a word about those that failed.
static void say_lines(struct sweep *sweep)
{
    struct cli *cli = sweep->cli;
    uint32_t failed = 0;
    uint32_t count = 0;
    const struct sweep_line *first = NULL;
    for (uint32_t i = 0; i < sweep->spec.scenario_count; i++) {
        const struct sweep_line *line = sweep->ended[i];
        if (line != NULL) {
            count++;
            weft_text_add(&cli->text, "%.*s\n", (int)line->length, line->text);
            first = line->failed && failed++ == 0 ? line : first;
        }
    }
    if (failed > 0) {
        cli->exit_code = CLI_EXIT_NO;
        cli_note(cli, "%u of %u scenarios failed; the first: %s", failed, count,
                 sweep_complaint(sweep, first, &cli->arena));
    }
}

// The folder of the specification, to which files of scenarios are confined; of standard input it
// is the one where the sweep starts. On another machine it may be missing, and all files with it.
static void find_folder(struct sweep *sweep)
{
    struct weft_arena *arena = &sweep->cli->arena;
    const char *path = sweep->paths[0];
    const char *slash = strrchr(path, '/');
    const char *folder = slash == NULL   ? "."
                         : slash == path ? "/"
                                         : weft_arena_text(arena, path, (size_t)(slash - path));
    char *found = realpath(folder, NULL);
    if (!sweep->allows_paths) {
        sweep->folder =
            found != NULL ? weft_arena_text(arena, found, strlen(found)) : "/nonexistent";
    }
    free(found);
}

// Rank 0 until scenarios run: false where there is nothing to do or something is wrong.
static bool begin(struct sweep *sweep, struct sweep_file *kept, const char **data, size_t *length)
{
    struct cli *cli = sweep->cli;
    if (!weft_file_load(data, length, sweep->paths[0], WEFT_FILE_YAML_BYTES, &cli->arena,
                        &cli->error)) {
        return false;
    }
    if (!sweep_prepare(sweep, *data, *length)) {
        enum weft_file_kind kind = weft_file_kind(sweep->paths[0]);
        return kind != WEFT_FILE_SWEEP && kind != WEFT_FILE_UNKNOWN &&
               weft_file_mistaken(&cli->error, sweep->paths[0], WEFT_FILE_SWEEP);
    }
    if (sweep->lists) {
        return true;
    }
    return sweep_file_open(kept, sweep) && sweep_file_resume(kept, sweep);
}

static bool run_first(struct sweep *sweep, const struct cli_ranks *ranks)
{
    struct cli *cli = sweep->cli;
    struct sweep_file kept = {.file = -1};
    const char *data = NULL;
    size_t length = 0;
    find_folder(sweep);
    bool fine = begin(sweep, &kept, &data, &length);
    sweep_ranks_share(ranks, fine && !sweep->lists ? data : NULL, &length, &cli->arena);
    if (fine && sweep->lists) {
        fine = list_scenarios(sweep);
    } else if (fine) {
        list_todo(sweep);
        fine = sweep_ranks_lead(ranks, sweep, &kept);
        if (fine) {
            say_lines(sweep);
        }
    }
    // The lock goes only when cli_finish has put the ordered file in place or the process ends.
    return fine;
}

static bool run_other(struct sweep *sweep, const struct cli_ranks *ranks)
{
    size_t length = 0;
    const char *data = sweep_ranks_share(ranks, NULL, &length, &sweep->cli->arena);
    sweep->cli->output_path = NULL;
    if (data == NULL) {
        return true;
    }
    find_folder(sweep);
    bool ready = sweep_prepare(sweep, data, length);
    return sweep_ranks_serve(ranks, sweep, ready) && ready;
}

static bool run(struct sweep *sweep, struct cli_ranks *ranks)
{
    if (sweep->merges) {
        return sweep_file_merge(sweep);
    }
    return cli_ranks_begin(ranks, sweep->cli,
                           "build Weft where libopenmpi-dev is installed, or use --shard") &&
           (ranks->rank == 0 ? run_first(sweep, ranks) : run_other(sweep, ranks));
}

int cli_sweep(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft sweep",
        .arguments = "SPEC.yaml -o results.jsonl\n--merge RESULTS.jsonl...",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct sweep sweep = {.cli = &cli, .shard_count = 1};
    struct cli_ranks ranks = {.size = 1};
    bool fine = cli_parse(&cli, &verb, argc, argv, &sweep) && run(&sweep, &ranks);
    int code = cli_finish(&cli, fine);
    cli_ranks_end(&ranks);
    return code;
}
