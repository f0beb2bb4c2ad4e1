// SPDX-License-Identifier: Apache-2.0
// weft plan: a fabric for a job, with its certificate.

#include "weft/plan.h"
#include "cli.h"
#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

struct request {
    struct cli *cli;
    const char *path;
    const char *report_path;
};

enum { KEY_REPORT = 1 };

static const struct argp_option options[] = {
    {"report", KEY_REPORT, "FILE.html", 0, "draw the plan on one page that needs no other file", 0},
    {0},
};

static const char doc[] =
    "Plans the fabric of a job: which server each port is joined to, the rings of its AllReduce "
    "groups, the routes of its transfers, the circuits of D optical switches or patch panels; and "
    "says how far from the best the plan can be. -o writes the plan file, which weft check "
    "verifies, weft export turns into other formats and weft plan --json prints.\v"
    "The certificate is a list of lower bounds on the iteration time, each with its reason. The "
    "largest one that holds for every direct fabric of as many ports binds; the gap is how much "
    "longer the plan's iteration is: no plan of any method can save more than that.\n"
    "\n"
    "Examples:\n"
    "  $ weft plan job.fbuf --degree 4 --rate 100Gbps\n"
    "  $ weft plan job.fbuf --cluster cluster.yaml -o plan.json --report plan.html\n"
    "  $ weft plan job.fbuf --degree 4 --rate 100Gbps --method topoopt --json\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case KEY_REPORT:
        return cli_take(request->cli, &request->report_path, argument, "report");
    case ARGP_KEY_ARG:
        return cli_take(request->cli, &request->path, argument, "task graph");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(request->cli, "which job? write %s FILE.fbuf --degree 4 --rate 100Gbps",
                         request->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void tell_certificate(struct cli *cli, const struct weft_certificate *certificate)
{
    static const struct weft_table_column columns[] = {
        {"", WEFT_ALIGN_LEFT},
        {"lower bound", WEFT_ALIGN_LEFT},
        {"time", WEFT_ALIGN_RIGHT},
        {"holds for", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    uint32_t count = certificate->bound_count;
    const char **cells = WEFT_NEW(arena, const char *, (size_t)count *COLUMNS + 1);
    char unit[WEFT_UNIT_TEXT];
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_bound *bound = &certificate->bounds[i];
        const char **row = cells + (size_t)i * COLUMNS;
        uint64_t bound_ps = weft_picoseconds(bound->seconds);
        row[0] = i == certificate->binding ? "*" : "";
        row[1] = bound->name;
        row[2] = weft_arena_format(arena, "%s", weft_show_time(unit, bound_ps));
        row[3] = weft_bound_scope_name(bound->scope);
    }
    cli_say(cli, "\n%s", weft_report_table(columns, COLUMNS, cells, count, arena));
    const struct weft_bound *binding = &certificate->bounds[certificate->binding];
    cli_say(cli, "* %s\n", binding->reason);
}

static void tell(const struct request *request, const struct weft_plan *plan)
{
    struct cli *cli = request->cli;
    const struct weft_topology *topology = &plan->topology;
    const struct weft_certificate *certificate = &plan->certificate;
    char unit[WEFT_UNIT_TEXT];
    cli_say(
        cli, "%u servers, %u ports of %s each; method %s, seed %llu\n", plan->cluster.server_count,
        plan->cluster.degree, weft_show_rate(unit, plan->cluster.rate_Bps),
        plan->method == WEFT_TOPOLOGY_TOPOOPT ? "topoopt" : "weft", (unsigned long long)plan->seed);
    cli_say(cli, "iteration     %s\n", weft_show_time(unit, weft_picoseconds(plan->iteration_s)));
    cli_say(cli, "lower bound   %s, gap %.2f %% (%s)\n",
            weft_show_time(unit, weft_picoseconds(certificate->lower_bound_s)),
            100 * certificate->gap_ratio, certificate->bounds[certificate->binding].name);
    cli_say(cli, "ports         %u for rings, %u for transfers\n", topology->allreduce_degree,
            topology->degree - topology->allreduce_degree);
    cli_say(cli, "hops          %.3f for the transfers, %.3f between any two, diameter %u\n",
            plan->demand_weighted_hops, topology->mean_hops, topology->diameter);
    cli_say(cli, "link load     mean %s", weft_show_bytes(unit, plan->mean_link_load_bytes));
    cli_say(cli, ", max %s\n", weft_show_bytes(unit, plan->max_link_load_bytes));
    cli_say(cli, "bandwidth tax %.3f\n", plan->bandwidth_tax_ratio);
    cli_say(cli, "cost          %s, %.1f kW\n", weft_show_usd(unit, plan->cost.total_usd),
            plan->cost.power_watts / 1e3);
    if (topology->stopped) {
        cli_say(cli, "the clock ended the search; another machine may answer otherwise\n");
    }
    tell_certificate(cli, certificate);
}

// The part of a path after its last slash.
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

// What the report shows beside the plan: its timeline, its traffic, the fabrics it competes with.
static bool fill_report(struct weft_report *report, struct weft_sim_result *result,
                        struct weft_traffic *traffic, struct cli *cli, weft_stop stop)
{
    const struct weft_plan *plan = report->plan;
    struct weft_sim_options timed = plan->sim;
    timed.timeline = true;
    const struct weft_sim_job job = {.graph = report->graph, .rings = plan->network.rings};
    const struct weft_plan_options plan_options = {
        .topology = cli_topology_options(cli, stop),
        .sim = plan->sim,
    };
    weft_traffic_build(traffic, report->graph, &cli->arena, cli->scratch);
    report->traffic = traffic;
    report->result = result;
    return weft_sim_run_jobs(result, &plan->network.fabric, &plan->network.routes, &job, 1, &timed,
                             &cli->arena, cli->scratch, &cli->error) &&
           weft_plan_compare(&report->comparisons, &report->comparison_count, report->graph,
                             &plan->cluster, &plan_options, &cli->arena, cli->scratch, &cli->error);
}

static bool save_report(const struct request *request, const struct weft_plan *plan,
                        const struct weft_taskgraph *graph)
{
    struct cli *cli = request->cli;
    struct weft_sim_result result;
    struct weft_traffic traffic;
    struct weft_report report = {.title = base_name(request->path), .plan = plan, .graph = graph};
    weft_stop stop = cli_clock_start(cli, "comparing for the report", 0);
    bool filled = fill_report(&report, &result, &traffic, cli, stop);
    cli_clock_stop(cli);
    if (!filled) {
        return false;
    }
    const char *page = weft_report_html(&report, &cli->arena, cli->scratch);
    return weft_file_save(request->report_path, page, strlen(page), &cli->error);
}

// Writes the plan file, then says the plan.
static bool publish(const struct request *request, const struct weft_plan *plan)
{
    struct cli *cli = request->cli;
    const char *text = weft_plan_write(plan, &cli->arena);
    if (cli->output_path != NULL &&
        !weft_file_save(cli->output_path, text, strlen(text), &cli->error)) {
        return false;
    }
    cli->output_path = NULL; // is written; what follows goes to stdout
    if (cli->json) {
        cli_say(cli, "%s", text);
    } else {
        tell(request, plan);
    }
    return true;
}

static bool run(const struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_fbuf fbuf;
    struct weft_cluster cluster;
    struct weft_plan plan;
    if (!weft_fbuf_load(&fbuf, request->path, &cli->arena, cli->scratch, &cli->error) ||
        !cli_cluster(&cluster, cli, fbuf.graph.server_count, 0, true)) {
        return false;
    }
    weft_stop stop = cli_clock_start(cli, "planning", cli_deadline_s(cli));
    const struct weft_plan_options plan_options = {
        .topology = cli_topology_options(cli, stop),
        .sim = cli_task_packets(cli),
    };
    bool planned = weft_plan_build(&plan, &fbuf.graph, &cluster, &plan_options, &cli->arena,
                                   cli->scratch, &cli->error);
    cli_clock_stop(cli);
    if (!planned) {
        return false;
    }
    if (request->report_path != NULL && !save_report(request, &plan, &fbuf.graph)) {
        return false;
    }
    return publish(request, &plan);
}

int cli_plan(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft plan",
        .arguments = "FILE.fbuf --degree D --rate R\nFILE.fbuf --cluster FILE.yaml",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE | CLI_SEARCH,
    };
    struct cli cli;
    struct request request = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
