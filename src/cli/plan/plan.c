// SPDX-License-Identifier: Apache-2.0
// weft plan: a fabric for a job, with its certificate.

#include "plan.h"

#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

enum { KEY_REPORT = 1, KEY_VARIANT, KEY_ALTERNATE, KEY_STRATEGY, KEY_COLLECTIVES };

static const struct argp_option options[] = {
    {"report", KEY_REPORT, "FILE.html", 0, "draw the plan on one page that needs no other file", 0},
    {"variant", KEY_VARIANT, "V", 0,
     "of a model, search both (default), strategy, topology (data parallelism's) or neither "
     "(data-parallel); all: plan both and measure the four",
     0},
    {"alternate", KEY_ALTERNATE, "N", 0,
     "rounds between strategy and topology (till nothing "
     "better is found)",
     0},
    {"collectives", KEY_COLLECTIVES, "C", 0,
     "rings (default): every AllReduce, ReduceScatter and AllGather on the plan's rings; best: "
     "what makes the simulated iteration shortest, group by group",
     0},
    {"strategy", KEY_STRATEGY, "WORDS", 0,
     "of a transformer: this strategy, as tp=8,pp=4,micro=2; only its fabric is searched", 0},
    {0},
};

static const char doc[] =
    "Plans a job: given a model, how its operators are split and placed; then which server each "
    "port is joined to, the rings of its AllReduce "
    "groups, the routes of its transfers, the circuits of D optical switches or patch panels; and "
    "says how far from the best the plan can be. -o writes the plan file, which weft check "
    "verifies, weft export turns into other formats and weft plan --json prints.\v"
    "The job is a model (a name that weft models lists, or FILE.yaml) on a cluster, or a task "
    "graph "
    "(FILE.fbuf), whose strategy is settled. The options under Model and --variant and --alternate "
    "are for models.\n"
    "\n"
    "The certificate is a list of lower bounds on the iteration time, each with its reason. The "
    "largest one that holds for every direct fabric of as many ports binds; the gap is how much "
    "longer the plan's iteration is: no plan of any method can save more than that with this "
    "strategy. Bounds for any-strategy hold for all strategies.\n"
    "\n"
    "Examples:\n"
    "  $ weft plan dlrm-16 examples/clusters/16x4-100g.yaml\n"
    "  $ weft plan --model my.yaml cluster.yaml --seconds 30 --seed 2 -o plan.json\n"
    "  $ weft plan vgg16-16 cluster.yaml --profile vgg16.json --variant all --json\n"
    "  $ weft plan dlrm-16 cluster.yaml --effort 60 -o plan.json\n"
    "  $ weft plan job.fbuf --degree 4 --rate 100Gbps\n"
    "  $ weft plan job.fbuf --cluster cluster.yaml -o plan.json --report plan.html\n"
    "  $ weft plan job.fbuf --degree 4 --rate 100Gbps --method topoopt --json\n";

static error_t take_variant(struct plan_request *request, const char *argument)
{
    request->model_option_given = true;
    request->all_variants = strcmp(argument, "all") == 0;
    request->variant = WEFT_COPLAN_BOTH;
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        if (strcmp(argument, weft_coplan_variant_name(v)) == 0) {
            request->variant = v;
            return 0;
        }
    }
    return request->all_variants
               ? 0
               : cli_usage(request->cli,
                           "--variant: '%.40s' is none; write both, strategy, topology, "
                           "data-parallel or all",
                           argument);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct plan_request *request = state->input;
    switch (key) {
    case KEY_REPORT:
        return cli_take(request->cli, &request->report_path, argument, "report");
    case KEY_VARIANT:
        return take_variant(request, argument);
    case KEY_ALTERNATE:
        request->model_option_given = true;
        return cli_count(request->cli, &request->rounds, "alternate", argument, 1, 1000);
    case KEY_COLLECTIVES:
        if (strcmp(argument, "rings") != 0 && strcmp(argument, "best") != 0) {
            return cli_usage(request->cli, "--collectives: '%.40s' is none; write rings or best",
                             argument);
        }
        request->collectives = strcmp(argument, "best") == 0 ? WEFT_PLAN_BEST : WEFT_PLAN_RINGS;
        return 0;
    case KEY_STRATEGY:
        request->model_option_given = true;
        return cli_take(request->cli, &request->words, argument, "strategy");
    case ARGP_KEY_ARG:
        return plan_take_path(request, argument);
    case ARGP_KEY_END:
        if (request->path_count > 0) {
            return 0;
        }
        return cli_usage(request->cli,
                         request->cli->job.model != NULL
                             ? "on which cluster? write %s --model %s CLUSTER.yaml"
                             : "which job? write %s MODEL CLUSTER.yaml, or %s FILE.fbuf --degree 4 "
                               "--rate 100Gbps",
                         request->cli->program,
                         request->cli->job.model != NULL ? request->cli->job.model
                                                         : request->cli->program);
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

// Rows that differ by their group alone are one.
static void tell_collectives(struct cli *cli, const struct weft_plan *plan)
{
    static const struct weft_table_column columns[] = {
        {"groups", WEFT_ALIGN_RIGHT}, {"collectives of", WEFT_ALIGN_RIGHT},
        {"to", WEFT_ALIGN_RIGHT},     {"run as", WEFT_ALIGN_LEFT},
        {"chunks", WEFT_ALIGN_RIGHT}, {"ranks", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    uint32_t count = plan->collective_count;
    if (count == 0) {
        return;
    }
    struct weft_arena *arena = &cli->arena;
    const char **cells = WEFT_NEW(arena, const char *, (size_t)count *COLUMNS);
    bool *told = WEFT_NEW(arena, bool, count);
    uint32_t rows = 0;
    for (uint32_t c = 0; c < count; c++) {
        const struct weft_collective_choice *choice = &plan->collectives[c];
        uint32_t alike = 0;
        for (uint32_t other = c; other < count && !told[c]; other++) {
            const struct weft_collective_choice *same = &plan->collectives[other];
            if (same->algorithm == choice->algorithm &&
                same->chunk_factor == choice->chunk_factor &&
                same->ring_order == choice->ring_order &&
                same->size_min_bytes == choice->size_min_bytes &&
                same->size_max_bytes == choice->size_max_bytes) {
                told[other] = other != c;
                alike++;
            }
        }
        if (alike == 0) {
            continue;
        }
        char unit[WEFT_UNIT_TEXT];
        const char **row = cells + (size_t)rows++ * COLUMNS;
        row[0] = weft_arena_format(arena, "%u", alike);
        row[1] =
            weft_arena_format(arena, "%s", weft_show_bytes(unit, (double)choice->size_min_bytes));
        row[2] =
            weft_arena_format(arena, "%s", weft_show_bytes(unit, (double)choice->size_max_bytes));
        row[3] = weft_algorithm_name(choice->algorithm);
        row[4] = weft_arena_format(arena, "%u", choice->chunk_factor);
        row[5] = choice->ring_order ? "by the ring" : "by the group";
    }
    cli_say(cli, "\n%s", weft_report_table(columns, COLUMNS, cells, rows, arena));
}

static void tell(const struct plan_request *request, const struct weft_plan *plan)
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
    if (plan->job != NULL) {
        strategy_tell_job(cli, plan->job);
    }
    tell_collectives(cli, plan);
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
    // The page shows what is played; what is asked of the network stays as the job has it.
    struct weft_taskgraph *played = WEFT_NEW(&cli->arena, struct weft_taskgraph, 1);
    if (!weft_plan_played(played, plan, report->graph, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    const struct weft_taskgraph *asked = report->graph;
    report->graph = played;
    const struct weft_sim_job job = {.graph = played, .rings = plan->network.rings};
    const struct weft_plan_options plan_options = {
        .topology = cli_topology_options(cli, stop),
        .sim = plan->sim,
    };
    weft_traffic_build(traffic, asked, &cli->arena, cli->scratch);
    report->traffic = traffic;
    report->result = result;
    return weft_sim_run_jobs(result, &plan->network.fabric, &plan->network.routes, &job, 1, &timed,
                             &cli->arena, cli->scratch, &cli->error) &&
           weft_plan_compare(&report->comparisons, &report->comparison_count, asked, &plan->cluster,
                             &plan_options, &cli->arena, cli->scratch, &cli->error);
}

// What the page says of the loop.
static void fill_rounds(struct weft_report *report, const struct weft_plan_job *job,
                        struct weft_arena *arena)
{
    struct weft_report_round *rounds =
        WEFT_NEW(arena, struct weft_report_round, (size_t)job->round_count + 1);
    for (uint32_t r = 0; r < job->round_count; r++) {
        rounds[r] = (struct weft_report_round){job->round_start[r], job->round_s[r]};
    }
    report->rounds = rounds;
    report->round_count = job->round_count;
}

bool plan_save_report(const struct plan_request *request, const struct weft_plan *plan,
                      const struct weft_taskgraph *graph, const struct weft_model *model,
                      const struct weft_strategy_setting *setting)
{
    struct cli *cli = request->cli;
    struct weft_sim_result result;
    struct weft_traffic traffic;
    struct weft_report report = {
        .title = model != NULL ? model->name : base_name(request->paths[0]),
        .plan = plan,
        .graph = graph,
        .model = model,
        .setting = setting,
    };
    if (model != NULL) {
        report.strategy = &plan->job->strategy;
        fill_rounds(&report, plan->job, &cli->arena);
    }
    weft_stop stop = cli_clock_start(cli, "comparing for the report", 0);
    bool filled = fill_report(&report, &result, &traffic, cli, stop);
    cli_clock_stop(cli);
    if (!filled) {
        return false;
    }
    const char *page = weft_report_html(&report, &cli->arena, cli->scratch);
    return weft_file_save(request->report_path, page, strlen(page), &cli->error);
}

// The plan file, and how long it took, which the file cannot hold: the same plan gives the same
// file.
static void tell_json(struct cli *cli, const struct weft_plan *plan, const char *text)
{
    if (plan->job == NULL) {
        cli_say(cli, "%s", text);
        return;
    }
    size_t length = strlen(text);
    WEFT_ASSERT(length > 3 && strcmp(text + length - 3, "\n}\n") == 0);
    cli_say(cli, "%.*s,\n  \"wall_s\": %.3f\n}\n", (int)(length - 3), text, cli_elapsed_s(cli));
}

bool plan_publish(const struct plan_request *request, const struct weft_plan *plan)
{
    struct cli *cli = request->cli;
    const char *text = weft_plan_write(plan, &cli->arena);
    if (cli->output_path != NULL &&
        !weft_file_save(cli->output_path, text, strlen(text), &cli->error)) {
        return false;
    }
    cli->output_path = NULL; // is written; what follows goes to stdout
    if (cli->json) {
        tell_json(cli, plan, text);
    } else {
        tell(request, plan);
    }
    return true;
}

static bool plan_taskgraph(const struct plan_request *request)
{
    struct cli *cli = request->cli;
    struct weft_fbuf fbuf;
    struct weft_cluster cluster;
    struct weft_plan plan;
    if (request->model_option_given || cli->job.profile_path != NULL || cli->job.batch > 0) {
        return cli_misuse(cli,
                          "'%.100s' is a task graph; --variant, --alternate, --profile and "
                          "--batch are for models",
                          request->paths[0]);
    }
    if (!cli_load_job(&fbuf, cli, request->paths[0]) ||
        !cli_cluster(&cluster, cli, fbuf.graph.server_count, 0, true)) {
        return false;
    }
    weft_stop stop = cli_clock_start(cli, "planning", cli_deadline_s(cli));
    const struct weft_plan_options plan_options = {
        .topology = cli_topology_options(cli, stop),
        .sim = weft_request_task_packets(cli->seed),
        .collectives = request->collectives,
    };
    bool planned = weft_plan_build(&plan, &fbuf.graph, &cluster, &plan_options, &cli->arena,
                                   cli->scratch, &cli->error);
    cli_clock_stop(cli);
    if (!planned) {
        return false;
    }
    if (request->report_path != NULL &&
        !plan_save_report(request, &plan, &fbuf.graph, NULL, NULL)) {
        return false;
    }
    return plan_publish(request, &plan);
}

static bool run(const struct plan_request *request)
{
    struct cli *cli = request->cli;
    if (!cli_can_write(cli, cli->output_path) || !cli_can_write(cli, request->report_path)) {
        return false;
    }
    return plan_begins_with_model(request) ? plan_model(request) : plan_taskgraph(request);
}

static void ready(void *input, struct cli *cli)
{
    *(struct plan_request *)input = (struct plan_request){.cli = cli};
}

static bool run_input(void *input)
{
    return run(input);
}

const struct cli_runner plan_runner = {
    .verb =
        {
            .name = "weft plan",
            .arguments = "MODEL CLUSTER.yaml\nFILE.fbuf --degree D --rate R\nFILE.fbuf --cluster "
                         "FILE.yaml",
            .doc = doc,
            .options = options,
            .parser = parse,
            .groups = CLI_JOB | CLI_HARDWARE | CLI_SEARCH | CLI_TRACE,
        },
    .input_bytes = sizeof(struct plan_request),
    .ready = ready,
    .run = run_input,
};

int cli_plan(int argc, char **argv)
{
    return cli_run(&plan_runner, argc, argv);
}
