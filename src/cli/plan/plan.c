// SPDX-License-Identifier: Apache-2.0
// weft plan: a fabric for a job, with its certificate. The options become a request of
// weft/request/plan.h; its result is written as the plan's file, the page of the report and text.
// Whether the arguments name a model and a cluster or a task graph is decided here, by their form.

#include "plan.h"
#include "buy.h"

#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

// What the options say.
struct plan_input {
    struct cli *cli;
    const char *paths[2]; // a task graph; or a model and a cluster
    uint32_t path_count;
    const char *report_path;
    struct weft_plan_request request;
    struct cli_buy buy; // a fabric that one buys
    bool bought;        // is asked for
};

enum {
    KEY_REPORT = 1,
    KEY_VARIANT,
    KEY_ROUNDS,
    KEY_STRATEGY,
    KEY_COLLECTIVES,
    KEY_JUDGE,
    KEY_FABRIC,
    KEY_BATCHES,
};

static const struct argp_option options[] = {
    {"report", KEY_REPORT, "FILE.html", 0,
     "draw the plan, or the fabrics that one buys, on one page that needs no other file", 0},
    {"variant", KEY_VARIANT, "V", 0,
     "of a model, search both (default), strategy, topology (data parallelism's) or neither "
     "(data-parallel); all: plan both and measure the four",
     0},
    {"rounds", KEY_ROUNDS, "N", 0,
     "rounds between strategy and topology (till nothing better is found)", 0},
    {"alternate", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0}, // kept until 0.2
    {"collectives", KEY_COLLECTIVES, "C", 0,
     "rings (default): every AllReduce, ReduceScatter and AllGather on the plan's rings; best: "
     "what makes the simulated iteration shortest, group by group",
     0},
    {"judge", KEY_JUDGE, "ENGINE", 0,
     "flow (default): the flow engine's time of an iteration decides; packet: the search's last "
     "candidates are played in packets, as TopoOpt's recorded simulator does, and the best of "
     "those is the plan",
     0},
    {"strategy", KEY_STRATEGY, "DEGREES", 0,
     "of a transformer: this strategy, as tp=8,pp=4,micro=2; only its fabric is searched", 0},
    {"fabric", KEY_FABRIC, "F[,F]", 0,
     "of a model: not a direct fabric that is searched but these, which one buys, as weft fabrics "
     "lists them, or all that weft compare plays (others by name): the best strategy, the bill, "
     "what to launch; or whose circuits move: photonic-rails, mixnet, sip-ocs, sip-ring",
     0},
    {"batches", KEY_BATCHES, "N,N", 0, "of such fabrics: samples of an iteration, one answer each",
     0},
    CLI_BUY_OPTIONS,
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
    "(FILE.fbuf), whose strategy stands. The options under Model and --variant and --rounds "
    "are for models.\n"
    "\n"
    "The certificate is a list of lower bounds on the iteration time. Each says what it holds for: "
    "this strategy or any; balanced collectives, whose members all send and receive alike, or any "
    "that reduce inside servers; this fabric, any direct one or any of as many ports. Its gap is "
    "how much longer the plan's iteration is; plans of other classes may save more. The headline "
    "has the largest bound of each class that says something, so that its last line holds for "
    "most plans; the largest one for this strategy and every direct fabric binds (*).\n"
    "\n"
    "Examples:\n"
    "  $ weft plan dlrm-16 examples/clusters/16x4-100g.yaml\n"
    "  $ weft plan --model my.yaml cluster.yaml --seconds 30 --seed 2 -o plan.json\n"
    "  $ weft plan vgg16-16 cluster.yaml --profile vgg16.json --variant all --json\n"
    "  $ weft plan dlrm-16 cluster.yaml --effort 60 -o plan.json\n"
    "  $ weft plan llama3-70b cluster.yaml --fabric all --tokens 15T\n"
    "  $ weft plan mixtral-8x7b cluster.yaml --fabric photonic-rails,mixnet --dark-time 25ms\n"
    "  $ weft plan job.fbuf --degree 4 --rate 100Gbps\n"
    "  $ weft plan job.fbuf cluster.yaml -o plan.json --report plan.html\n"
    "  $ weft plan job.fbuf --degree 4 --rate 100Gbps --method topoopt --json\n";

static error_t take_path(struct plan_input *input, const char *path)
{
    if (input->path_count == 2) {
        return cli_usage(input->cli, "'%.100s' is one argument too many; see %s --help", path,
                         input->cli->program);
    }
    input->paths[input->path_count++] = path;
    return 0;
}

// Options of both requests, that of a plan and that of fabrics one buys, which --fabric chooses.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct plan_input *input = state->input;
    const struct cli_parameters parameters = {&input->request, weft_plan_parameters[0].rows,
                                              weft_plan_parameters[0].count};
    const struct cli_parameters bought = {&input->buy.request, weft_buy_parameters,
                                          WEFT_BUY_PARAMETERS};
    switch (key) {
    case KEY_REPORT:
        return cli_take(input->cli, &input->report_path, argument, "report");
    case KEY_STRATEGY:
        input->request.model.given = true;
        return cli_take(input->cli, &input->request.model.strategy, argument, "strategy");
    case KEY_VARIANT:
        return cli_parameter(input->cli, &parameters, "variant", argument);
    case KEY_ROUNDS:
        return cli_parameter(input->cli, &parameters, "rounds", argument);
    case KEY_JUDGE:
        return cli_parameter(input->cli, &parameters, "judge", argument);
    case KEY_COLLECTIVES:
        return cli_parameter(input->cli, &parameters, "collectives", argument);
    case KEY_FABRIC:
        input->bought = true;
        return cli_parameter(input->cli, &bought, "fabric", argument);
    case KEY_BATCHES:
        input->buy.given = true;
        input->buy.last = "batches";
        return cli_parameter(input->cli, &bought, "batches", argument);
    case ARGP_KEY_ARG:
        return take_path(input, argument);
    default:
        return cli_buy_parse(input->cli, &input->buy, key, argument);
    }
}

bool cli_plan_name(struct weft_plan_request *request, const char *const *names, uint32_t count,
                   struct weft_error *error)
{
    if (count == 0 && request->job.model == NULL) {
        const char *cluster = request->hardware.cluster_path;
        return weft_fail(error, WEFT_USAGE, "which model or job? write weft plan MODEL %.100s%s",
                         cluster != NULL ? cluster : "CLUSTER.yaml",
                         cluster != NULL ? "; weft models lists them"
                                         : ", or weft plan FILE.fbuf --degree 4 --rate 100Gbps");
    }
    if (request->job.model != NULL || weft_request_means_model(names[0])) {
        const struct cli_named named = {names, count, "weft plan"};
        return cli_name_model(&request->job, &request->hardware, &named, error);
    }
    request->path = names[0];
    request->hardware.cluster_path = count == 2 ? names[1] : request->hardware.cluster_path;
    return true;
}

// The lower bounds of the certificate: the largest one binds, is marked, and is explained below.
// Without a plan there are no gaps.
static void print_certificate(struct cli *cli, const struct weft_certificate *certificate,
                              bool alone)
{
    static const struct weft_table_column columns[] = {
        {"", WEFT_ALIGN_SHOWN},    {"lower bound", WEFT_ALIGN_LEFT}, {"time", WEFT_ALIGN_RIGHT},
        {"gap", WEFT_ALIGN_RIGHT}, {"holds for", WEFT_ALIGN_LEFT},   {"binds", WEFT_ALIGN_SHEET},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    uint32_t count = certificate->bound_count;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)count * COLUMNS + 1);
    char words[WEFT_BOUND_TEXT];
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_bound *bound = &certificate->bounds[i];
        struct weft_table_cell *row = cells + (size_t)i * COLUMNS;
        uint64_t bound_ps = weft_picoseconds(bound->seconds);
        row[0].text = i == certificate->binding ? "*" : "";
        row[5].text = i == certificate->binding ? "yes" : "";
        row[1].text = bound->name;
        row[2] = weft_cell_time(arena, bound->seconds);
        bool has_gap = !alone && bound_ps > 0; // of 0 s it would be without end
        row[3] = has_gap ? weft_cell_percent(arena, 2, bound->gap_ratio)
                         : (struct weft_table_cell){.text = "-"};
        row[4].text = weft_arena_format(arena, "%s", weft_bound_holds_for(words, bound));
    }
    cli_say(cli, "\n");
    cli_table(cli, columns, COLUMNS, cells, count);
    const struct weft_bound *binding = &certificate->bounds[certificate->binding];
    cli_say(cli, "* %s\n", binding->reason);
}

// Rows that differ by their group alone are one.
static void print_collectives(struct cli *cli, const struct weft_plan *plan)
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
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)count * COLUMNS);
    bool *shown = WEFT_NEW(arena, bool, count);
    uint32_t rows = 0;
    for (uint32_t c = 0; c < count; c++) {
        const struct weft_collective_choice *choice = &plan->collectives[c];
        uint32_t alike = 0;
        for (uint32_t other = c; other < count && !shown[c]; other++) {
            const struct weft_collective_choice *same = &plan->collectives[other];
            if (same->algorithm == choice->algorithm &&
                same->chunk_factor == choice->chunk_factor &&
                same->ring_order == choice->ring_order &&
                same->size_min_bytes == choice->size_min_bytes &&
                same->size_max_bytes == choice->size_max_bytes) {
                shown[other] = other != c;
                alike++;
            }
        }
        if (alike == 0) {
            continue;
        }
        struct weft_table_cell *row = cells + (size_t)rows++ * COLUMNS;
        row[0] = weft_cell_count(arena, alike);
        row[1] = weft_cell_bytes(arena, (double)choice->size_min_bytes);
        row[2] = weft_cell_bytes(arena, (double)choice->size_max_bytes);
        row[3].text = weft_algorithm_name(choice->algorithm);
        row[4] = weft_cell_count(arena, choice->chunk_factor);
        row[5].text = choice->ring_order ? "by the ring" : "by the group";
    }
    cli_say(cli, "\n");
    cli_table(cli, columns, COLUMNS, cells, rows);
}

// The strategy of a plan, its memory, and what the joint search did.
static void print_job(struct cli *cli, const struct weft_plan_job *job)
{
    char unit[WEFT_UNIT_TEXT];
    cli_say(cli, "model         %s, %llu samples an iteration, costs by %s\n", job->model,
            (unsigned long long)job->batch, job->costs);
    cli_print_memory(cli, &job->strategy, job->memory_limit_bytes);
    if (job->flops_utilization > 0) {
        cli_say(cli, "utilization   %.1f %% of the peak FLOP/s\n", 100 * job->flops_utilization);
    }
    cli_say(cli, "search        %llu strateg%s, %u round%s%s\n",
            (unsigned long long)job->evaluations, job->evaluations == 1 ? "y" : "ies",
            job->round_count, job->round_count == 1 ? "" : "s",
            job->fixed_point ? ", to a fixed point" : "");
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        if (job->variant_s[v] > 0) {
            cli_say(cli, "  %-14s%s\n", weft_coplan_variant_name(v),
                    weft_show_time(unit, weft_picoseconds(job->variant_s[v])));
        }
    }
    cli_say(cli, "\n");
    if (job->strategy.kind == WEFT_STRATEGY_OPERATORS) {
        cli_print_operators(cli, &job->strategy, job->operator_names, job->operator_count);
    } else {
        const struct weft_hybrid *hybrid = &job->strategy.hybrid;
        cli_say(cli, "dp %u, tp %u, pp %u, ep %u, cp %u; %u chunks, micro-batches of %llu\n",
                hybrid->dp, hybrid->tp, hybrid->pp, hybrid->ep, hybrid->cp, hybrid->chunks,
                (unsigned long long)hybrid->micro_batch);
    }
}

// The strongest bound of each class, each with what it holds for: a gap is only to plans of that
// class, and the last line's class is the widest.
static void print_headline(struct cli *cli, const struct weft_plan *plan)
{
    const struct weft_certificate *certificate = &plan->certificate;
    uint32_t *order = WEFT_NEW(&cli->arena, uint32_t, certificate->bound_count);
    uint32_t count = weft_certificate_headline(order, certificate);
    bool any_strategy = false;
    char unit[WEFT_UNIT_TEXT];
    char words[WEFT_BOUND_TEXT];
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_bound *bound = &certificate->bounds[order[i]];
        any_strategy = any_strategy || bound->any_strategy;
        cli_say(cli, "%-14s%s, gap %.2f %%: %s (%s)\n", i == 0 ? "lower bound" : "",
                weft_show_time(unit, weft_picoseconds(bound->seconds)), 100 * bound->gap_ratio,
                weft_bound_holds_for(words, bound), bound->name);
    }
    if (plan->job != NULL && !any_strategy) {
        cli_say(cli, "%-14snone is proved for other strategies\n", "");
    }
}

// The plan in figures, then its job, its collectives and its certificate.
static void print(struct cli *cli, const struct weft_plan *plan)
{
    const struct weft_topology *topology = &plan->topology;
    char unit[WEFT_UNIT_TEXT];
    cli_say(
        cli, "%u servers, %u ports of %s each; method %s, seed %llu\n", plan->cluster.server_count,
        plan->cluster.degree, weft_show_rate(unit, plan->cluster.rate_Bps),
        plan->method == WEFT_TOPOLOGY_TOPOOPT ? "topoopt" : "weft", (unsigned long long)plan->seed);
    cli_say(cli, "iteration     %s\n", weft_show_time(unit, weft_picoseconds(plan->iteration_s)));
    if (plan->finals.count > 0) {
        cli_say(cli, "  in packets  the best of %u candidates; the flow engine says %s\n",
                plan->finals.count, weft_show_time(unit, weft_picoseconds(plan->finals.flow_s)));
    }
    print_headline(cli, plan);
    cli_say(cli, "ports         %u for rings, %u for transfers\n", topology->allreduce_degree,
            topology->degree - topology->allreduce_degree);
    cli_say(cli, "hops          %.3f for the transfers, %.3f between any two, diameter %u\n",
            plan->demand_weighted_hops, topology->mean_hops, topology->diameter);
    cli_say(cli, "link load     mean %s", weft_show_bytes(unit, plan->mean_link_load_bytes));
    cli_say(cli, ", max %s\n", weft_show_bytes(unit, plan->max_link_load_bytes));
    cli_say(cli, "bandwidth tax %.3f\n", plan->bandwidth_tax_ratio);
    cli_say(cli, "cost          %s, %.1f kW\n", weft_show_usd(unit, plan->cost.total_usd),
            plan->cost.power_watts / 1e3);
    if (plan->cut.published > 0) {
        cli_say(cli, "search        left unfinished; --effort %.17g:%llu finds this plan again\n",
                plan->cut.effort_s, (unsigned long long)plan->cut.published);
    }
    if (plan->job != NULL) {
        print_job(cli, plan->job);
    }
    print_collectives(cli, plan);
    print_certificate(cli, &plan->certificate, false);
}

// Says that there is no plan for the file of --output, which stays as it was; the run has not done
// what it was to do.
static void refuse_output(struct cli *cli)
{
    if (cli->output_path != NULL) {
        cli_note(cli, "there is no plan, so that %s is not written", cli->output_path);
        cli->output_path = NULL;
        cli->exit_code = CLI_EXIT_NO;
    }
}

// Writes the page and the plan's file, then prints the plan.
static bool publish(const struct plan_input *input, const struct weft_plan_result *result)
{
    struct cli *cli = input->cli;
    if (result->page != NULL &&
        !weft_file_save(input->report_path, result->page, strlen(result->page), &cli->error)) {
        return false;
    }
    if (result->plan != NULL && cli->output_path != NULL) {
        const char *text = weft_plan_write(result->plan, &cli->arena);
        if (!weft_file_save(cli->output_path, text, strlen(text), &cli->error)) {
            return false;
        }
        cli->output_path = NULL; // is written; what follows goes to stdout
    }
    if (result->plan == NULL) {
        refuse_output(cli);
    }
    bool page_missing = input->report_path != NULL && result->page == NULL;
    if (result->bounds != NULL || page_missing) {
        cli->exit_code = CLI_EXIT_NO;
    }
    if (cli->json) {
        cli_say(cli, "%s", weft_request_plan_json(result, &cli->arena));
    } else if (result->plan != NULL) {
        print(cli, result->plan);
    } else if (result->bounds != NULL) {
        print_certificate(cli, result->bounds, true);
    } else {
        cli_print_strategies(cli, result->estimate);
    }
    return true;
}

// A fabric that one buys, once the arguments are named: nothing of a direct plan belongs to it.
static bool run_bought(struct plan_input *input)
{
    struct cli *cli = input->cli;
    const struct weft_plan_request *request = &input->request;
    const struct weft_stated direct[] = {
        {request->model.variant != 0 || request->model.all_variants, "variant"},
        {request->model.rounds > 0, "rounds"},
        {request->collectives != WEFT_PLAN_RINGS, "collectives"},
        {request->last_engine != WEFT_ENGINE_FLOW, "judge"},
        {request->search.method != WEFT_TOPOLOGY_WEFT, "method"},
        {request->search.simplex, "simplex"},
        {NULL},
    };
    if (request->path != NULL) {
        return cli_misuse(cli,
                          "--fabric is for models; '%.100s' is a task graph, which weft "
                          "compare plays on every fabric",
                          request->path);
    }
    if (!weft_refuse_stated(direct, &cli->error,
                            "is of a direct fabric that is searched, and {fabric} is bought; leave "
                            "one of them out") ||
        !weft_request_refuse_trace(&request->trace, &cli->error) ||
        !weft_request_refuse_published(&request->search, &cli->error)) {
        return false;
    }
    input->buy.request.strategy = request->model.strategy;
    input->buy.report_path = input->report_path;
    return cli_buy_run(cli, &input->buy);
}

// Asks for a plan, or for fabrics that one buys, and prints, draws and writes what came.
static bool run(struct plan_input *input)
{
    struct cli *cli = input->cli;
    struct weft_plan_request *request = &input->request;
    if (input->buy.given && !input->bought) {
        return cli_misuse(cli, "--%s is of fabrics that one buys; write --fabric all with it",
                          input->buy.last);
    }
    request->job = cli->given.job;
    request->trace = cli->given.trace;
    request->hardware = cli->given.hardware;
    request->search = cli->given.search;
    if (!cli_plan_name(request, input->paths, input->path_count, &cli->error) ||
        !cli_can_write(cli, input->report_path)) {
        return false;
    }
    if (input->bought) {
        cli->given.job = request->job;
        cli->given.hardware = request->hardware;
        return run_bought(input);
    }
    request->report = input->report_path != NULL;
    if (request->report && !cli_origin(&request->origin, cli)) {
        return false;
    }
    struct weft_plan_result result;
    bool planned = weft_request_plan(&result, request, cli_environment(cli, cli_clock_watch(cli)));
    cli_clock_stop(cli);
    if (!planned) {
        return false;
    }
    result.wall_s = cli_elapsed_s(cli);
    if (result.estimate != NULL) {
        result.estimate->wall_s = result.wall_s;
    }
    return publish(input, &result);
}

int cli_plan(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft plan",
        .arguments = "MODEL CLUSTER.yaml\nJOB CLUSTER.yaml\nJOB --degree D --rate R",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_JOB | CLI_HARDWARE | CLI_SEARCH | CLI_TRACE | CLI_TABLES,
    };
    struct cli cli;
    struct plan_input input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
