// SPDX-License-Identifier: Apache-2.0
// weft compare: one job on every reference fabric. A task graph becomes a request of
// weft/request/compare.h here; models, which take lists of rates, degrees and batches, are in
// model.c.

#include "compare.h"
#include "weft/report.h"

static const char doc[] =
    "Plays one iteration of a job on the fabrics that you could buy for a cluster, and on the "
    "fabrics that both planning methods find, all with the same ports. Of a model, each fabric "
    "gets the best strategy found for it.\v"
    "Switched fabrics get one NIC of degree times rate a server. ratio is the iteration time over "
    "the ideal switch's; tax is bytes on links over bytes demanded, 1 where no server forwards; "
    "load "
    "is bytes on a link in one iteration. Cost and power: NICs, transceivers, switch or panel "
    "ports, by the cluster's price book.\n"
    "\n"
    "MODEL CLUSTER.yaml alone answers what to buy, for any number of servers: of each fabric the "
    "best strategy, tokens a second, the bill, launch flags, and which to take, as weft plan "
    "--fabric all does; up to 128 servers Weft's own plan stands beside them.\n"
    "\n"
    "With --model, strategies are searched on every fabric, and one that was found for any fabric "
    "is tried on all: the column 'strategy of' says whose is the best. Models are names that weft "
    "models lists, or files.\n"
    "\n"
    "Examples:\n"
    "  $ weft compare llama3-70b cluster.yaml --tokens 15T --report llama.html\n"
    "  $ weft compare --model dlrm-16,vgg16-16 cluster.yaml --rates 25Gbps,100Gbps --plot out.svg\n"
    "  $ weft compare job.fbuf --degree 4 --rate 100Gbps\n"
    "  $ weft compare job.fbuf cluster.yaml --json\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct compare_options *input = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (input->path != NULL && input->cli->given.job.model == NULL) {
            if (weft_request_in_zoo(argument)) {
                return cli_usage(input->cli, "several models: write --model %.60s,%s CLUSTER.yaml",
                                 input->path, argument);
            }
            return cli_take(input->cli, &input->cluster, argument, "cluster");
        }
        return cli_take(input->cli, &input->path, argument, "task graph, model or cluster");
    default:
        return compare_parse_model(key, argument, input);
    }
}

// A row for each fabric that could be built, and below the table why the others could not.
static void print(struct cli *cli, const struct weft_compare_result *result)
{
    const struct weft_cluster *cluster = &result->cluster;
    const struct weft_comparison *rows = result->rows;
    uint32_t row_count = result->row_count;
    static const struct weft_table_column columns[] = {
        {"fabric", WEFT_ALIGN_LEFT},     {"iteration", WEFT_ALIGN_RIGHT},
        {"ratio", WEFT_ALIGN_RIGHT},     {"cost", WEFT_ALIGN_RIGHT},
        {"power", WEFT_ALIGN_RIGHT},     {"tax", WEFT_ALIGN_RIGHT},
        {"mean hops", WEFT_ALIGN_RIGHT}, {"max", WEFT_ALIGN_RIGHT},
        {"mean load", WEFT_ALIGN_RIGHT}, {"max load", WEFT_ALIGN_RIGHT},
        {"port", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)row_count * COLUMNS + 1);
    char unit[WEFT_UNIT_TEXT];
    uint32_t shown = 0;
    for (uint32_t i = 0; i < row_count; i++) {
        const struct weft_comparison *row = &rows[i];
        if (row->why_not != NULL) {
            continue;
        }
        struct weft_table_cell *cell = cells + (size_t)shown++ * COLUMNS;
        cell[0].text = row->name;
        cell[1] = weft_cell_time(arena, row->iteration_s);
        cell[2] = weft_cell_number(arena, 2, row->ratio_to_ideal);
        cell[3] = weft_cell_usd(arena, row->cost_usd);
        cell[4] = weft_cell_power(arena, row->power_watts);
        cell[5] = weft_cell_number(arena, 2, row->bandwidth_tax_ratio);
        cell[6] = weft_cell_number(arena, 2, row->mean_hops);
        cell[7] = weft_cell_count(arena, row->max_hops);
        cell[8] = weft_cell_bytes(arena, row->mean_link_load_bytes);
        cell[9] = weft_cell_bytes(arena, row->max_link_load_bytes);
        cell[10] = weft_cell_rate(arena, row->port_rate_Bps);
    }
    if (result->stopped) {
        cli_say(cli, "left unfinished: the rows until then\n");
    }
    cli_say(cli, "%u servers, %u ports of %s each\n\n", cluster->server_count, cluster->degree,
            weft_show_rate(unit, cluster->rate_Bps));
    cli_table(cli, columns, COLUMNS, cells, shown);
    for (uint32_t i = 0; i < row_count; i++) {
        if (rows[i].why_not != NULL) {
            cli_say(cli, "%s%s: %s\n", shown < row_count ? "" : "\n", rows[i].name,
                    rows[i].why_not);
        }
    }
}

// The part for a task graph. What belongs to models alone is refused, and a model's name that was
// given as a file is answered with the right command.
static bool compare_graph(const struct compare_options *input)
{
    struct cli *cli = input->cli;
    if (input->path == NULL) {
        const char *cluster = cli->given.hardware.cluster_path;
        return cli_misuse(cli, "which model or job? write %s MODEL %.100s%s", cli->program,
                          cluster != NULL ? cluster : "CLUSTER.yaml",
                          cluster != NULL ? "; weft models lists them"
                                          : ", or FILE.fbuf --degree 4 --rate 100Gbps");
    }
    if (input->buy.given) {
        return cli_misuse(cli, "'%.100s' is a task graph; --%s is for %s MODEL CLUSTER.yaml",
                          input->path, input->buy.last, cli->program);
    }
    if (input->model_option_given) {
        return cli_misuse(cli,
                          "'%.100s' is a task graph; lists, --resume and --plot are for --model",
                          input->path);
    }
    if (!weft_request_refuse_job(&cli->given.job, input->path, &cli->error)) {
        return false;
    }
    if (cli->given.search.method == WEFT_TOPOLOGY_TOPOOPT) {
        return cli_misuse(cli, "both methods have a row; leave out --method");
    }
    const struct weft_compare_request request = {.path = input->path,
                                                 .trace = cli->given.trace,
                                                 .hardware = cli->given.hardware,
                                                 .search = cli->given.search,
                                                 .dark_ps = input->dark_ps};
    struct weft_compare_result result;
    bool compared =
        weft_request_compare(&result, &request, cli_environment(cli, cli_clock_watch(cli)));
    cli_clock_stop(cli);
    if (!compared) {
        return false;
    }
    result.wall_s = cli_elapsed_s(cli);
    if (cli->json) {
        cli_say(cli, "%s", weft_request_compare_json(&result, &request, &cli->arena));
    } else {
        print(cli, &result);
    }
    return true;
}

static bool run(struct compare_options *input)
{
    struct cli *cli = input->cli;
    if (!cli_can_write(cli, input->plot_path) || !cli_can_write(cli, input->tax_plot_path) ||
        !cli_can_write(cli, input->models.resume_path) ||
        !cli_can_write(cli, input->buy.report_path)) {
        return false;
    }
    bool model = input->path != NULL && weft_request_means_model(input->path);
    if (cli->given.job.model == NULL && (model || input->cluster != NULL)) {
        return compare_bought(input);
    }
    return cli->given.job.model != NULL ? compare_models(input) : compare_graph(input);
}

int cli_compare(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft compare",
        .arguments = "MODEL CLUSTER.yaml\nJOB CLUSTER.yaml\nJOB --degree D --rate R\n"
                     "--model M[,M] CLUSTER.yaml",
        .doc = doc,
        .options = compare_model_options,
        .parser = parse,
        .groups = CLI_JOB | CLI_HARDWARE | CLI_SEARCH | CLI_TRACE | CLI_TABLES,
    };
    struct cli cli;
    struct compare_options input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
