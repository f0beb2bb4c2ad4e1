// SPDX-License-Identifier: Apache-2.0
// Jobs as files of any kind: a task graph, a Chakra trace of many files, a traffic matrix of htsim,
// a GOAL schedule.

#include "cli.h"
#include "weft/format.h"
#include "weft/model.h"

#include <string.h>

enum { KEY_GROUPS = 3000, KEY_ACCELERATOR };

static const struct argp_option options[] = {
    {"groups", KEY_GROUPS, "FILE.json", 0, "process groups of a trace (PREFIX.json)", 0},
    {"accelerator", KEY_ACCELERATOR, "NAME", 0,
     "what computes a trace's nodes that state operations but no duration", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    switch (key) {
    case KEY_GROUPS:
        return cli_take(cli, &cli->trace.groups_path, argument, "--groups");
    case KEY_ACCELERATOR:
        return cli_value(cli,
                         weft_accelerator_named(&cli->trace.accelerator, argument, &cli->error),
                         "accelerator");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cli_trace_argp = {.options = options, .parser = parse};

// What is not as the trace has it.
static void tell_trace(const struct cli *cli, const struct weft_chakra_job *chakra,
                       const char *path)
{
    if (chakra->untimed_count > 0) {
        cli_note(cli,
                 "%s: %llu compute nodes state operations but no duration and take no time; "
                 "--accelerator A100 prices them",
                 path, (unsigned long long)chakra->untimed_count);
    }
    if (chakra->approximated_count > 0) {
        cli_note(cli,
                 "%s: %llu broadcasts and reductions are AllReduces of as many bytes on the wire",
                 path, (unsigned long long)chakra->approximated_count);
    }
    if (chakra->skipped_count > 0) {
        cli_note(cli, "%s: %llu nodes that neither compute nor communicate take no time", path,
                 (unsigned long long)chakra->skipped_count);
    }
}

static bool load_trace(struct weft_fbuf *job, struct cli *cli, const char *path)
{
    struct weft_chakra_trace trace;
    struct weft_chakra_job chakra;
    struct weft_chakra_roofline roofline = {0};
    struct weft_arena scratch = cli->scratch;
    const struct weft_accelerator *accelerator = cli->trace.accelerator;
    if (accelerator != NULL) {
        roofline.flops_per_s = accelerator->flops_per_s[WEFT_BF16] * accelerator->matmul_efficiency;
        roofline.memory_Bps = accelerator->memory_Bps * accelerator->memory_efficiency;
    }
    if (!weft_chakra_load(&trace, path, cli->trace.groups_path, &scratch, &cli->error) ||
        !weft_chakra_lower(&chakra, &trace, &roofline, &cli->arena, scratch, &cli->error)) {
        return false;
    }
    tell_trace(cli, &chakra, path);
    *job = (struct weft_fbuf){.graph = chakra.graph};
    return true;
}

static bool load_matrix(struct weft_fbuf *job, struct cli *cli, const char *path)
{
    struct weft_matrix matrix;
    struct weft_taskgraph graph;
    if (!weft_matrix_load(&matrix, path, &cli->arena, cli->scratch, &cli->error) ||
        !weft_matrix_lower(&graph, &matrix, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (matrix.priority_count > 0) {
        cli->trace.priority = matrix.priority;
        cli->trace.priority_count = matrix.connection_count;
    }
    if (matrix.failure_count > 0) {
        cli->trace.failures = matrix.failures;
        cli->trace.failure_count = matrix.failure_count;
    }
    *job = (struct weft_fbuf){.graph = graph};
    return true;
}

// The schedule itself is gone when its task graph is there.
static bool load_schedule(struct weft_fbuf *job, struct cli *cli, const char *path)
{
    struct weft_goal schedule;
    struct weft_goal_job goal;
    struct weft_arena scratch = cli->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    if (!weft_goal_load(&schedule, path, &kept, scratch, &cli->error) ||
        !weft_goal_lower(&goal, &schedule, &cli->arena, scratch, &cli->error)) {
        return false;
    }
    if (goal.open_count > 0) {
        cli_note(cli,
                 "%s: receives from any source or with any tag (%u) take the sends that come first "
                 "when nothing takes time",
                 path, goal.open_count);
    }
    if (goal.void_count > 0) {
        cli_note(cli,
                 "%s: sends of 0 bytes to ranks that are not there (%u) only join what is before "
                 "them",
                 path, goal.void_count);
    }
    *job = (struct weft_fbuf){.graph = goal.graph};
    return true;
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path);
    return length > strlen(end) && strcmp(path + length - strlen(end), end) == 0;
}

bool cli_is_load(const char *path)
{
    return ends_with(path, ".cm") || ends_with(path, ".goal") || ends_with(path, ".bin");
}

bool cli_load_job(struct weft_fbuf *job, struct cli *cli, const char *path)
{
    if (weft_chakra_is_trace(path)) {
        return load_trace(job, cli, path);
    }
    if (cli->trace.groups_path != NULL || cli->trace.accelerator != NULL) {
        return cli_misuse(cli, "'%.60s' is no Chakra trace; leave out --groups and --accelerator",
                          path);
    }
    if (cli_is_load(path)) {
        return ends_with(path, ".cm") ? load_matrix(job, cli, path) : load_schedule(job, cli, path);
    }
    return weft_fbuf_load(job, path, &cli->arena, cli->scratch, &cli->error);
}
