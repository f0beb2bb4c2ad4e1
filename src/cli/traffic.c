// SPDX-License-Identifier: Apache-2.0
// weft traffic: what a job demands of the network. The options become a request of
// weft/request/traffic.h; the text shows the largest groups of collectives and the heat map of the
// transfer matrix, the JSON all of both.

#include "weft/request/traffic.h"
#include "cli.h"
#include "weft/report.h"

#include <string.h>

// What the options say.
struct options {
    struct cli *cli;
    struct weft_traffic_request request;
    bool no_heat;
};

enum { KEY_MATRIX = 1, KEY_NO_HEAT };

static const struct argp_option options[] = {
    {"matrix", KEY_MATRIX, NULL, 0, "with --json: the transfer matrix, too (row = sender)", 0},
    {"no-heat", KEY_NO_HEAT, NULL, 0, "no heat map", 0},
    {0},
};

static const char doc[] =
    "Says what one training iteration demands of the network: groups of collectives, whose traffic "
    "may "
    "take "
    "any ring over their members (mutable), and transfers between given servers (not mutable).\v"
    "size is what each member of a group holds, half of it where it is only scattered or gathered; "
    "wire is what all members send together in a ring, 2 (k-1) times the size. The heat map counts "
    "both, each group along the ring of its members in "
    "ascending order: sender down, receiver across, darker is more.\n"
    "A job is a TopoOpt task graph (FILE.fbuf) or a Chakra trace: PREFIX of PREFIX.<rank>.et, or a "
    "folder that holds one, or torch.profiler's traces.\n"
    "\n"
    "Examples:\n"
    "  $ weft traffic job.fbuf\n"
    "  $ weft traffic job.fbuf --json --matrix\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *input = state->input;
    switch (key) {
    case KEY_MATRIX:
        input->request.matrix = true;
        return 0;
    case KEY_NO_HEAT:
        input->no_heat = true;
        return 0;
    case ARGP_KEY_ARG:
        return cli_take(input->cli, &input->request.path, argument, "task graph");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(input->cli, "which job? write %s FILE.fbuf", input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
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

static void print_groups(struct cli *cli, const struct weft_traffic *traffic)
{
    static const struct weft_table_column columns[] = {
        {"group", WEFT_ALIGN_RIGHT}, {"members", WEFT_ALIGN_RIGHT}, {"tasks", WEFT_ALIGN_RIGHT},
        {"size", WEFT_ALIGN_RIGHT},  {"wire", WEFT_ALIGN_RIGHT},    {"servers", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0], GROUPS_SHOWN = 20 };
    bool all = cli->form == CLI_CSV || traffic->group_count < GROUPS_SHOWN;
    uint32_t shown = all ? traffic->group_count : GROUPS_SHOWN;
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)shown * COLUMNS + 1);
    for (uint32_t g = 0; g < shown; g++) {
        const struct weft_traffic_group *group = &traffic->groups[g];
        struct weft_table_cell *row = cells + (size_t)g * COLUMNS;
        row[0] = weft_cell_count(&cli->arena, g);
        row[1] = weft_cell_count(&cli->arena, group->member_count);
        row[2] = weft_cell_count(&cli->arena, group->task_count);
        row[3] = weft_cell_bytes(&cli->arena, group->size_bytes);
        row[4] = weft_cell_bytes(&cli->arena, group->wire_bytes);
        row[5].text = name_members(group, &cli->arena);
    }
    cli_say(cli, "\n");
    cli_table(cli, columns, COLUMNS, cells, shown);
    if (shown < traffic->group_count) {
        cli_say(cli, "and %u smaller groups\n", traffic->group_count - shown);
    }
}

static void print(struct cli *cli, const struct weft_traffic_result *result, bool heat)
{
    const struct weft_traffic *traffic = &result->traffic;
    char unit[WEFT_UNIT_TEXT];
    cli_say(cli, "%u servers, %u tasks\n", traffic->server_count, result->task_count);
    cli_say(cli, "collectives  %s on the wire in %u group%s (%.1f %% of all)\n",
            weft_show_bytes(unit, traffic->allreduce_wire_bytes), traffic->group_count,
            traffic->group_count == 1 ? "" : "s", 100 * traffic->allreduce_share_ratio);
    cli_say(cli, "transfers    %s between given servers\n",
            weft_show_bytes(unit, traffic->transfer_total_bytes));
    if (traffic->group_count > 0) {
        print_groups(cli, traffic);
    }
    if (heat) {
        enum { SIDE = 32 };
        const double *matrix = weft_traffic_matrix(traffic, &cli->arena);
        cli_say(cli, "\n%s", weft_report_heat(matrix, traffic->server_count, SIDE, &cli->arena));
    }
}

// Nothing here takes long, so that there is no clock.
int cli_traffic(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft traffic",
        .arguments = "JOB",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TRACE | CLI_TABLES,
    };
    struct cli cli;
    struct options input = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &input)) {
        return cli_finish(&cli, false);
    }
    if (input.request.matrix && !cli.json) {
        return cli_finish(&cli, cli_misuse(&cli, "--matrix is of the JSON; write --json, too"));
    }
    input.request.trace = cli.given.trace;
    struct weft_traffic_result result;
    if (!weft_request_traffic(&result, &input.request, cli_environment(&cli, NULL))) {
        return cli_finish(&cli, false);
    }
    if (cli.json) {
        cli_say(&cli, "%s", weft_request_traffic_json(&result, &input.request, &cli.arena));
    } else {
        print(&cli, &result, !input.no_heat);
    }
    return cli_finish(&cli, true);
}
