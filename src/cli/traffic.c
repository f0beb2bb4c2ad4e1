// SPDX-License-Identifier: Apache-2.0
// weft traffic: what a job asks of the network.

#include "weft/workload.h"
#include "cli.h"
#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

struct request {
    struct cli *cli;
    const char *path;
    bool matrix;
    bool no_heat;
};

enum { KEY_MATRIX = 1, KEY_NO_HEAT };

static const struct argp_option options[] = {
    {"matrix", KEY_MATRIX, NULL, 0, "with --json: the transfer matrix, too (row = sender)", 0},
    {"no-heat", KEY_NO_HEAT, NULL, 0, "no heat map", 0},
    {0},
};

static const char doc[] =
    "Says what one training iteration asks of the network: groups of collectives, whose traffic "
    "may "
    "take "
    "any ring over their members (mutable), and transfers between given servers (not mutable).\v"
    "size is what each member of a group holds, half of it where it is only scattered or gathered; "
    "wire is what all members send together in a ring, 2 (k-1) times the size. The heat map counts "
    "both, each group along the ring of its members in "
    "ascending order: sender down, receiver across, darker is more.\n"
    "A job is a TopoOpt task graph (FILE.fbuf) or a Chakra trace: PREFIX of PREFIX.<rank>.et, or a "
    "folder that holds one.\n"
    "\n"
    "Examples:\n"
    "  $ weft traffic job.fbuf\n"
    "  $ weft traffic job.fbuf --json --matrix\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case KEY_MATRIX:
        request->matrix = true;
        return 0;
    case KEY_NO_HEAT:
        request->no_heat = true;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take(request->cli, &request->path, argument, "task graph");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(request->cli, "which job? write %s FILE.fbuf", request->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static json_t *group_object(const struct weft_traffic_group *group)
{
    json_t *object = json_object();
    json_t *members = json_array();
    for (uint32_t i = 0; i < group->member_count; i++) {
        json_array_append_new(members, json_integer(group->members[i]));
    }
    cli_set(object, "members", members);
    cli_set_real(object, "size_bytes", group->size_bytes);
    cli_set_count(object, "tasks", group->task_count);
    cli_set_real(object, "wire_bytes", group->wire_bytes);
    return object;
}

static json_t *matrix_rows(const struct weft_traffic *traffic)
{
    json_t *rows = json_array();
    uint32_t n = traffic->server_count;
    for (uint32_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (uint32_t j = 0; j < n; j++) {
            json_array_append_new(row, json_real(traffic->transfer_bytes[(size_t)i * n + j]));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

static void tell_json(const struct request *request, const struct weft_taskgraph *graph,
                      const struct weft_traffic *traffic)
{
    json_t *object = cli_object("weft.traffic/1");
    cli_set_text(object, "file", request->path);
    cli_set_count(object, "servers", traffic->server_count);
    cli_set_count(object, "tasks", graph->task_count);
    json_t *groups = json_array();
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        json_array_append_new(groups, group_object(&traffic->groups[g]));
    }
    cli_set(object, "groups", groups);
    cli_set_real(object, "transfer_bytes", traffic->transfer_total_bytes);
    cli_set_real(object, "allreduce_wire_bytes", traffic->allreduce_wire_bytes);
    cli_set_real(object, "allreduce_share_ratio", traffic->allreduce_share_ratio);
    if (request->matrix) {
        cli_set(object, "transfer_matrix_bytes", matrix_rows(traffic));
    }
    cli_json(request->cli, object);
}

// "0-15", or "0 4 8 12 ..." where the members are no run; cut after a few.
static const char *name_members(const struct weft_traffic_group *group, struct weft_arena *arena)
{
    enum { SHOWN = 8 };
    uint32_t k = group->member_count;
    if (group->members[k - 1] - group->members[0] == k - 1) {
        return weft_arena_format(arena, "%u-%u", group->members[0], group->members[k - 1]);
    }
    const char *text = "";
    for (uint32_t i = 0; i < k && i < SHOWN; i++) {
        text = weft_arena_format(arena, "%s%s%u", text, i > 0 ? " " : "", group->members[i]);
    }
    return k > SHOWN ? weft_arena_format(arena, "%s ...", text) : text;
}

static void tell_groups(struct cli *cli, const struct weft_traffic *traffic)
{
    static const struct weft_table_column columns[] = {
        {"group", WEFT_ALIGN_RIGHT}, {"members", WEFT_ALIGN_RIGHT}, {"tasks", WEFT_ALIGN_RIGHT},
        {"size", WEFT_ALIGN_RIGHT},  {"wire", WEFT_ALIGN_RIGHT},    {"servers", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0], GROUPS_SHOWN = 20 };
    uint32_t shown = traffic->group_count < GROUPS_SHOWN ? traffic->group_count : GROUPS_SHOWN;
    const char **cells = WEFT_NEW(&cli->arena, const char *, (size_t)shown *COLUMNS + 1);
    char unit[WEFT_UNIT_TEXT];
    for (uint32_t g = 0; g < shown; g++) {
        const struct weft_traffic_group *group = &traffic->groups[g];
        const char **row = cells + (size_t)g * COLUMNS;
        row[0] = weft_arena_format(&cli->arena, "%u", g);
        row[1] = weft_arena_format(&cli->arena, "%u", group->member_count);
        row[2] = weft_arena_format(&cli->arena, "%u", group->task_count);
        row[3] = weft_arena_format(&cli->arena, "%s", weft_show_bytes(unit, group->size_bytes));
        row[4] = weft_arena_format(&cli->arena, "%s", weft_show_bytes(unit, group->wire_bytes));
        row[5] = name_members(group, &cli->arena);
    }
    cli_say(cli, "\n%s", weft_report_table(columns, COLUMNS, cells, shown, &cli->arena));
    if (shown < traffic->group_count) {
        cli_say(cli, "and %u smaller groups\n", traffic->group_count - shown);
    }
}

static void tell(const struct request *request, const struct weft_taskgraph *graph,
                 const struct weft_traffic *traffic)
{
    struct cli *cli = request->cli;
    char unit[WEFT_UNIT_TEXT];
    cli_say(cli, "%u servers, %u tasks\n", traffic->server_count, graph->task_count);
    cli_say(cli, "collectives  %s on the wire in %u group%s (%.1f %% of all)\n",
            weft_show_bytes(unit, traffic->allreduce_wire_bytes), traffic->group_count,
            traffic->group_count == 1 ? "" : "s", 100 * traffic->allreduce_share_ratio);
    cli_say(cli, "transfers    %s between given servers\n",
            weft_show_bytes(unit, traffic->transfer_total_bytes));
    if (traffic->group_count > 0) {
        tell_groups(cli, traffic);
    }
    if (!request->no_heat) {
        enum { SIDE = 32 };
        const double *matrix = weft_traffic_matrix(traffic, &cli->arena);
        cli_say(cli, "\n%s", weft_report_heat(matrix, traffic->server_count, SIDE, &cli->arena));
    }
}

int cli_traffic(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft traffic",
        .arguments = "JOB",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TRACE,
    };
    struct cli cli;
    struct request request = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &request)) {
        return cli_finish(&cli, false);
    }
    struct weft_fbuf fbuf;
    if (!cli_load_job(&fbuf, &cli, request.path)) {
        return cli_finish(&cli, false);
    }
    struct weft_traffic traffic;
    weft_traffic_build(&traffic, &fbuf.graph, &cli.arena, cli.scratch);
    if (cli.json) {
        tell_json(&request, &fbuf.graph, &traffic);
    } else {
        tell(&request, &fbuf.graph, &traffic);
    }
    return cli_finish(&cli, true);
}
