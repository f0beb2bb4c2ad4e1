// SPDX-License-Identifier: Apache-2.0
// weft fabrics: the reference fabrics of a cluster, counted and priced, without a job.

#include "cli.h"
#include "weft/report.h"

static const char doc[] =
    "Builds every reference fabric for a cluster and says what it is made of: nodes and links, the "
    "links between two servers, ports, price and power. A fabric that the cluster cannot carry "
    "says why.\v"
    "The last row is a direct fabric of all ports on a patch panel, as weft plan makes them: its "
    "hops are the Moore bound, which no such fabric can be below. The ideal switch is priced as "
    "the Fat-tree of its rate.\n"
    "\n"
    "Examples:\n"
    "  $ weft fabrics --servers 128 --degree 4 --rate 100Gbps\n"
    "  $ weft fabrics --cluster cluster.yaml --json\n";

// One fabric, or why there is none.
struct row {
    const char *name;
    const char *summary;
    const char *refusal; // NULL = built
    uint32_t node_count;
    uint32_t link_count;
    double mean_hops;
    uint32_t hops_max;
    struct weft_parts parts;
    struct weft_cost cost;
};

static void build_row(struct row *row, const struct weft_fabric_reference *reference,
                      const struct weft_cluster *cluster, struct cli *cli)
{
    struct weft_arena arena = cli->arena; // the fabric is gone when the row is filled
    struct weft_fabric_options options = {.seed = cli->seed};
    struct weft_network network;
    struct weft_error error;
    *row = (struct row){.name = reference->name, .summary = reference->summary};
    if (!weft_fabric_build_named(&network, reference->name, cluster, &options, &arena, cli->scratch,
                                 &error)) {
        row->refusal = weft_arena_format(&cli->arena, "%s", error.message);
        return;
    }
    row->node_count = network.fabric.node_count;
    row->link_count = network.fabric.link_count;
    row->parts = network.fabric.parts;
    row->cost = weft_fabric_cost(&row->parts, &cluster->prices);
    weft_routes_hops(&network.routes, NULL, &row->mean_hops, &row->hops_max);
}

static void bound_row(struct row *row, const struct weft_cluster *cluster)
{
    uint64_t ports = (uint64_t)cluster->server_count * cluster->degree;
    *row = (struct row){
        .name = "direct",
        .summary = "all ports on a patch panel: what weft plan chooses among; hops at least these",
        .node_count = cluster->server_count,
        .link_count = (uint32_t)ports,
        .parts = {.nics = ports,
                  .transceivers = ports,
                  .patch_panel_ports = ports,
                  .rate_Bps = cluster->rate_Bps},
    };
    row->cost = weft_fabric_cost(&row->parts, &cluster->prices);
    weft_fabric_moore(cluster->server_count, cluster->degree, false, &row->mean_hops,
                      &row->hops_max);
    if (row->hops_max == WEFT_NONE) {
        row->refusal = "direct: 1 port a server joins pairs; give each at least 2";
    }
}

static json_t *row_json(const struct row *row)
{
    json_t *object = json_object();
    cli_set_text(object, "name", row->name);
    cli_set_text(object, "summary", row->summary);
    if (row->refusal != NULL) {
        cli_set_text(object, "why_not", row->refusal);
        return object;
    }
    cli_set_count(object, "nodes", row->node_count);
    cli_set_count(object, "links", row->link_count);
    cli_set_real(object, "mean_hops", row->mean_hops);
    cli_set_count(object, "max_hops", row->hops_max);
    cli_set_real(object, "rate_Bps", row->parts.rate_Bps);
    cli_set_count(object, "nics", row->parts.nics);
    cli_set_count(object, "transceivers", row->parts.transceivers);
    cli_set_count(object, "switch_ports", row->parts.switch_ports);
    cli_set_count(object, "patch_panel_ports", row->parts.patch_panel_ports);
    cli_set_real(object, "cost_usd", row->cost.total_usd);
    cli_set_real(object, "power_watts", row->cost.power_watts);
    return object;
}

static void tell_json(struct cli *cli, const struct weft_cluster *cluster, const struct row *rows,
                      uint32_t count)
{
    json_t *object = cli_object("weft.fabrics/1");
    cli_set_count(object, "servers", cluster->server_count);
    cli_set_count(object, "degree", cluster->degree);
    cli_set_real(object, "rate_Bps", cluster->rate_Bps);
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        json_array_append_new(list, row_json(&rows[i]));
    }
    cli_set(object, "fabrics", list);
    cli_json(cli, object);
}

#define COLUMNS 10

static void fill_cells(const char **cells, const struct row *row, struct weft_arena *arena)
{
    char rate[WEFT_UNIT_TEXT];
    char usd[WEFT_UNIT_TEXT];
    cells[0] = row->name;
    if (row->refusal != NULL) {
        cells[1] = "no";
        return;
    }
    const struct weft_parts *parts = &row->parts;
    cells[1] = weft_arena_format(arena, "%u", row->link_count);
    cells[2] = weft_arena_format(arena, "%.3f", row->mean_hops);
    cells[3] = weft_arena_format(arena, "%u", row->hops_max);
    cells[4] = weft_arena_format(arena, "%llu", (unsigned long long)parts->nics);
    cells[5] = weft_arena_format(arena, "%s", weft_show_rate(rate, parts->rate_Bps));
    cells[6] = weft_arena_format(arena, "%llu", (unsigned long long)parts->transceivers);
    cells[7] = weft_arena_format(arena, "%llu", (unsigned long long)parts->switch_ports);
    cells[8] = weft_arena_format(arena, "%s", weft_show_usd(usd, row->cost.total_usd));
    cells[9] = weft_arena_format(arena, "%.1f", row->cost.power_watts / 1000);
}

static void tell(struct cli *cli, const struct weft_cluster *cluster, const struct row *rows,
                 uint32_t count)
{
    static const struct weft_table_column columns[COLUMNS] = {
        {"fabric", WEFT_ALIGN_LEFT},        {"links", WEFT_ALIGN_RIGHT},
        {"mean hops", WEFT_ALIGN_RIGHT},    {"max", WEFT_ALIGN_RIGHT},
        {"NICs", WEFT_ALIGN_RIGHT},         {"rate", WEFT_ALIGN_RIGHT},
        {"transceivers", WEFT_ALIGN_RIGHT}, {"switch ports", WEFT_ALIGN_RIGHT},
        {"price", WEFT_ALIGN_RIGHT},        {"kW", WEFT_ALIGN_RIGHT},
    };
    char rate[WEFT_UNIT_TEXT];
    cli_say(cli, "%u servers, %u port%s of %s each\n\n", cluster->server_count, cluster->degree,
            cluster->degree == 1 ? "" : "s", weft_show_rate(rate, cluster->rate_Bps));
    const char **cells = WEFT_NEW(&cli->arena, const char *, (size_t)count *COLUMNS);
    for (uint32_t i = 0; i < count; i++) {
        fill_cells(cells + (size_t)i * COLUMNS, &rows[i], &cli->arena);
    }
    cli_say(cli, "%s", weft_report_table(columns, COLUMNS, cells, count, &cli->arena));
    const char *gap = "\n";
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].refusal != NULL) {
            cli_say(cli, "%s%s\n", gap, rows[i].refusal);
            gap = "";
        }
    }
}

int cli_fabrics(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft fabrics", .arguments = "", .doc = doc, .groups = CLI_HARDWARE};
    struct cli cli;
    struct weft_cluster cluster;
    if (!cli_parse(&cli, &verb, argc, argv, NULL)) {
        return cli_finish(&cli, false);
    }
    if (cli.hardware.server_count == 0 && cli.hardware.cluster_path == NULL) {
        return cli_finish(
            &cli, cli_misuse(&cli, "how many servers? write --servers 128 or --cluster FILE"));
    }
    if (!cli_cluster(&cluster, &cli, 0, 0, false)) {
        return cli_finish(&cli, false);
    }
    uint32_t count = 0;
    const struct weft_fabric_reference *references = weft_fabric_references(&count);
    struct row *rows = WEFT_NEW(&cli.arena, struct row, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        build_row(&rows[i], &references[i], &cluster, &cli);
    }
    bound_row(&rows[count], &cluster);
    if (cli.json) {
        tell_json(&cli, &cluster, rows, count + 1);
    } else {
        tell(&cli, &cluster, rows, count + 1);
    }
    return cli_finish(&cli, true);
}
