// SPDX-License-Identifier: Apache-2.0
// weft strategy: the strategies of a model on a given fabric. The options become a request of
// weft/request/strategy.h, its result tables or JSON; weft plan prints its strategy with the same
// tables.

#include "plan.h"

#include "weft/format.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

#define KEEP_MAX 1000u
// To the search 0 means that nothing was requested; to a user it is the shortest search.
#define SECONDS_LEAST 1e-9

// What the options say.
struct strategy_input {
    struct cli *cli;
    const char *paths[2]; // a model and a cluster
    uint32_t path_count;
    bool effort_given;
    struct weft_strategy_request request;
};

enum {
    KEY_FABRIC = 1,
    KEY_KEEP,
    KEY_STRATEGY,
    KEY_EFFORT,
    KEY_SECONDS,
    KEY_ITERATION,
    KEY_CALIBRATE,
    KEY_RADIX,
    KEY_OVERSUBSCRIPTION,
};

static const struct argp_option options[] = {
    {"fabric", KEY_FABRIC, "F", 0,
     "the fabric (fat-tree), as weft fabrics lists them; full-mesh: every pair joined, which "
     "nobody can build",
     0},
    {"radix", KEY_RADIX, "K", 0, "ports of a switch of it (the smallest that fits)", 0},
    {"oversubscription", KEY_OVERSUBSCRIPTION, "X", 0,
     "ports down for each port up at its leaves (1)", 0},
    {"keep", KEY_KEEP, "K", 0, "number of strategies to print, the best first (1; transformers: 8)",
     0},
    {"strategy", KEY_STRATEGY, "DEGREES", 0,
     "of a transformer: not a search but this one, as tp=8,pp=4,micro=2,recompute=selective", 0},
    {"effort", KEY_EFFORT, "S", 0,
     "effort, counted in work: the same as of weft plan and weft compare (10)", 0},
    {"seconds", KEY_SECONDS, "S", 0, "search with the effort S, and end S seconds after the start",
     0},
    {"iteration", KEY_ITERATION, "TIME", 0,
     "with --strategy: an iteration that was measured; its tokens a second and MFU, and how far "
     "off the answer is",
     0},
    {"calibrate", KEY_CALIBRATE, "TIME[,servers=N][,batch=N]", 0,
     "with --strategy: an iteration that was measured, with N servers or samples where they were "
     "others; solves for the stack's share of the kernels' speed first",
     0},
    {0},
};

static const char doc[] =
    "Searches how the operators of a model are split and placed on the servers of a cluster, or of "
    "a transformer, the degrees of data, tensor, pipeline, expert and context parallelism; on one "
    "fabric that stays as it is. weft plan chooses the fabric together with the strategy.\v"
    "Strategies stand in the order of their simulated iterations, and MFU is of those; the "
    "estimate "
    "of the search's own model of the network stands beside. On a full mesh, and of "
    "models of operators beyond 128 servers, there are estimates alone, and the answer says so. "
    "What does not fit into memory is never "
    "told. Of transformers one row is one choice of degrees, micro-batch, ZeRO stage and "
    "recomputation, with the chunks and the order that suit it; the last columns say where the "
    "time of the estimate goes. weft compare --model gives the same answer for each fabric at the "
    "same effort and seed, or a better one that it found for another fabric.\n"
    "\n"
    "Examples:\n"
    "  $ weft strategy dlrm-16 examples/clusters/16x4-100g.yaml\n"
    "  $ weft strategy candle-16 cluster.yaml --profile candle16.json --fabric ideal --json\n"
    "  $ weft strategy gpt-18.4b cluster.yaml --keep 20\n"
    "  $ weft strategy gpt-18.4b cluster.yaml --strategy tp=8,pp=1,micro=4\n"
    "  $ weft strategy gpt3-175b cluster.yaml --strategy tp=8,pp=8,chunks=6 --calibrate "
    "24s,servers=384\n";

// Takes this verb's own options, and up to two arguments: the model and the cluster, or the cluster
// alone where --model is given.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct strategy_input *input = state->input;
    struct cli *cli = input->cli;
    error_t failed;
    switch (key) {
    case KEY_FABRIC:
        input->request.fabric = argument;
        return 0;
    case KEY_RADIX:
        return cli_radix(cli, &input->request.shape, argument);
    case KEY_OVERSUBSCRIPTION:
        return cli_oversubscription(cli, &input->request.shape, argument);
    case KEY_KEEP:
        return cli_count(cli, &input->request.keep, "keep", argument, 1, KEEP_MAX);
    case KEY_STRATEGY:
        return cli_take(cli, &input->request.strategy, argument, "strategy");
    case KEY_ITERATION:
        return cli_take(cli, &input->request.iteration, argument, "iteration");
    case KEY_CALIBRATE:
        return cli_take(cli, &input->request.calibrate, argument, "calibrate");
    case KEY_EFFORT:
    case KEY_SECONDS:
        failed = cli_value(
            cli, weft_parse_number(&input->request.seconds, argument, 0, 1e6, &cli->error),
            key == KEY_SECONDS ? "seconds" : "effort");
        input->request.seconds = fmax(input->request.seconds, SECONDS_LEAST);
        cli->given.search.seconds = input->request.seconds; // for the clock
        cli->given.search.timed = key == KEY_SECONDS;
        input->effort_given = key == KEY_EFFORT;
        return failed;
    case ARGP_KEY_ARG:
        if (input->path_count == 2) {
            return cli_usage(cli, "'%.100s' is one argument too many; see %s --help", argument,
                             cli->program);
        }
        input->paths[input->path_count++] = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// A model needs accelerators, which only a file states; the options that were given go into one.
static bool ask_cluster(const struct weft_request_job *job,
                        const struct weft_request_hardware *hardware, const char *program,
                        struct weft_error *error)
{
    enum weft_file_kind kind = weft_file_kind(job->model);
    if (kind == WEFT_FILE_CLUSTER || kind == WEFT_FILE_NCCL_TOPOLOGY) {
        return weft_fail(error, WEFT_USAGE, "%.100s is %s, not a model; write %s MODEL %.100s",
                         job->model, weft_file_kind_name(kind), program, job->model);
    }
    if (hardware->server_count == 0 && hardware->degree == 0 && !hardware->rate_given) {
        return weft_fail(error, WEFT_USAGE, "on which cluster? write %s %s CLUSTER.yaml", program,
                         job->model);
    }
    double rate_Bps = hardware->rate_given ? hardware->rate_Bps : 50e9;
    return weft_fail(error, WEFT_USAGE,
                     "a model needs accelerators, which a cluster file states; write weft init "
                     "--servers %u --nics %ux%gGbps --accelerator H100 -o cluster.yaml, then %s %s "
                     "cluster.yaml",
                     hardware->server_count > 0 ? hardware->server_count : 16,
                     hardware->degree > 0 ? hardware->degree : 8, rate_Bps / 125e6, program,
                     job->model);
}

bool cli_name_model(struct weft_request_job *job, struct weft_request_hardware *hardware,
                    const struct cli_named *named, struct weft_error *error)
{
    uint32_t at = 0;
    if (job->model == NULL && at < named->count) {
        job->model = named->names[at++];
    }
    if (job->model == NULL) {
        return weft_fail(error, WEFT_USAGE,
                         "which model? write %s MODEL CLUSTER.yaml; weft models lists them",
                         named->program);
    }
    if (at < named->count) {
        if (hardware->cluster_path != NULL) {
            return weft_fail(error, WEFT_USAGE, "one cluster only, not '%.100s' and --cluster",
                             named->names[at]);
        }
        hardware->cluster_path = named->names[at++];
    }
    if (at < named->count) {
        return weft_fail(error, WEFT_USAGE, "'%.100s' is one argument too many; see %s --help",
                         named->names[at], named->program);
    }
    return hardware->cluster_path != NULL || ask_cluster(job, hardware, named->program, error);
}

// ---- strategies as text ----

// Servers as ranges: "0-7", "0,4,8,12", "3". Arithmetic sequences of three or more are joined.
static const char *servers_text(const uint32_t *servers, uint32_t count, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "%s", "");
    for (uint32_t i = 0; i < count;) {
        uint32_t end = i + 1; // of the run of consecutive servers that begins here
        while (end < count && servers[end] == servers[end - 1] + 1) {
            end++;
        }
        weft_text_add(&text, "%s%u", i == 0 ? "" : ",", servers[i]);
        if (end - i > 2) {
            weft_text_add(&text, "-%u", servers[end - 1]);
            i = end;
        } else {
            i++;
        }
    }
    return text.data;
}

static bool same_placement(const struct weft_placement *a, const struct weft_placement *b)
{
    return a->sample_parts == b->sample_parts && a->parameter_parts == b->parameter_parts &&
           memcmp(a->servers, b->servers,
                  (size_t)a->sample_parts * a->parameter_parts * sizeof *a->servers) == 0;
}

void cli_print_operators(struct cli *cli, const struct weft_strategy *strategy,
                         const char *const *names, uint32_t operator_count)
{
    static const struct weft_table_column columns[] = {
        {"operator", WEFT_ALIGN_LEFT},
        {"samples by", WEFT_ALIGN_RIGHT},
        {"parameters by", WEFT_ALIGN_RIGHT},
        {"servers", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)operator_count * COLUMNS + 1);
    bool *shown = WEFT_NEW(arena, bool, (size_t)operator_count + 1);
    uint32_t rows = 0;
    for (uint32_t op = 0; op < operator_count; op++) {
        if (shown[op]) {
            continue;
        }
        const struct weft_placement *placement = &strategy->placements[op];
        uint32_t last = op;
        uint32_t count = 0;
        for (uint32_t i = op; i < operator_count; i++) {
            if (same_placement(placement, &strategy->placements[i])) {
                shown[i] = true;
                last = i;
                count++;
            }
        }
        struct weft_table_cell *row = cells + (size_t)rows++ * COLUMNS;
        row[0].text =
            count == 1 ? names[op]
                       : weft_arena_format(arena, "%s .. %s (%u)", names[op], names[last], count);
        row[1] = weft_cell_count(arena, placement->sample_parts);
        row[2] = weft_cell_count(arena, placement->parameter_parts);
        row[3].text = servers_text(placement->servers,
                                   placement->sample_parts * placement->parameter_parts, arena);
    }
    cli_table(cli, columns, COLUMNS, cells, rows);
}

void cli_print_memory(struct cli *cli, const struct weft_strategy *strategy,
                      double memory_limit_bytes)
{
    uint32_t fullest = 0;
    for (uint32_t s = 1; s < strategy->server_count; s++) {
        if (strategy->memory[s].total_bytes > strategy->memory[fullest].total_bytes) {
            fullest = s;
        }
    }
    const struct weft_memory *memory = &strategy->memory[fullest];
    char unit[WEFT_UNIT_TEXT];
    cli_say(cli, "memory        %s", weft_show_bytes(unit, memory->total_bytes));
    if (memory_limit_bytes > 0) {
        cli_say(cli, " of %s", weft_show_bytes(unit, memory_limit_bytes));
    }
    cli_say(cli, " on the fullest accelerator: parameters %s",
            weft_show_bytes(unit, memory->parameters_bytes));
    cli_say(cli, ", gradients %s", weft_show_bytes(unit, memory->gradients_bytes));
    cli_say(cli, ", optimizer %s", weft_show_bytes(unit, memory->optimizer_bytes));
    cli_say(cli, ", activations %s", weft_show_bytes(unit, memory->activations_bytes));
    if (memory->library_bytes > 0) {
        cli_say(cli, ", libraries %s", weft_show_bytes(unit, memory->library_bytes));
    }
    cli_say(cli, "\n");
}

// ---- of a search ----

// The table of a transformer: degrees of parallelism, and the share of each cause in the time.
static void print_hybrids(struct cli *cli, const struct weft_strategy_result *result)
{
    static const struct weft_table_column columns[] = {
        {"simulated", WEFT_ALIGN_RIGHT}, {"MFU", WEFT_ALIGN_RIGHT},
        {"estimate", WEFT_ALIGN_RIGHT},  {"memory", WEFT_ALIGN_RIGHT},
        {"dp", WEFT_ALIGN_RIGHT},        {"tp", WEFT_ALIGN_RIGHT},
        {"pp", WEFT_ALIGN_RIGHT},        {"ep", WEFT_ALIGN_RIGHT},
        {"cp", WEFT_ALIGN_RIGHT},        {"chunks", WEFT_ALIGN_RIGHT},
        {"micro", WEFT_ALIGN_RIGHT},     {"zero", WEFT_ALIGN_RIGHT},
        {"order", WEFT_ALIGN_LEFT},      {"compute", WEFT_ALIGN_RIGHT},
        {"bubble", WEFT_ALIGN_RIGHT},    {"tensor", WEFT_ALIGN_RIGHT},
        {"pipe", WEFT_ALIGN_RIGHT},      {"expert", WEFT_ALIGN_RIGHT},
        {"context", WEFT_ALIGN_RIGHT},   {"data", WEFT_ALIGN_RIGHT},
        {"recompute", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    static const char *const recomputes[] = {[WEFT_RECOMPUTE_NONE] = "none",
                                             [WEFT_RECOMPUTE_SELECTIVE] = "selective",
                                             [WEFT_RECOMPUTE_FULL] = "full",
                                             [WEFT_RECOMPUTE_NORMS] = "norms"};
    struct weft_arena *arena = &cli->arena;
    uint32_t count = result->found.count;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)count * COLUMNS + 1);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_candidate *candidate = &result->found.candidates[i];
        const struct weft_hybrid *hybrid = &candidate->strategy.hybrid;
        const struct weft_hybrid_estimate *estimate = &result->estimates[i];
        struct weft_table_cell *row = cells + (size_t)i * COLUMNS;
        uint32_t at = 0;
        row[at++] = result->simulated_ps[i] > 0
                        ? weft_cell_time(arena, weft_seconds(result->simulated_ps[i]))
                        : (struct weft_table_cell){.text = "-"};
        row[at++] = weft_cell_percent(arena, 1, weft_request_strategy_mfu(result, i));
        row[at++] = weft_cell_time(arena, weft_seconds(estimate->iteration_ps));
        row[at++] = weft_cell_bytes(arena, candidate->strategy.memory_max_bytes);
        const uint32_t degrees[] = {hybrid->dp,
                                    hybrid->tp,
                                    hybrid->pp,
                                    hybrid->ep,
                                    hybrid->cp,
                                    hybrid->chunks,
                                    (uint32_t)hybrid->micro_batch,
                                    hybrid->zero_stage};
        for (uint32_t d = 0; d < sizeof degrees / sizeof degrees[0]; d++) {
            row[at++] = weft_cell_count(arena, degrees[d]);
        }
        row[at++].text = hybrid->order;
        const uint64_t times_ps[] = {
            estimate->compute_ps, estimate->bubble_ps,  estimate->tensor_ps, estimate->pipeline_ps,
            estimate->expert_ps,  estimate->context_ps, estimate->data_ps};
        for (uint32_t t = 0; t < sizeof times_ps / sizeof times_ps[0]; t++) {
            row[at++] =
                weft_cell_percent(arena, 1, (double)times_ps[t] / (double)estimate->iteration_ps);
        }
        row[at++].text = recomputes[hybrid->recompute];
    }
    cli_table(cli, columns, COLUMNS, cells, count);
}

// What was measured, beside the answer above it.
static void print_measured(struct cli *cli, const struct weft_strategy_result *result)
{
    char unit[WEFT_UNIT_TEXT];
    uint64_t measured_ps = result->measured_ps;
    if (measured_ps > 0) {
        double off = weft_request_strategy_off(result);
        cli_say(cli,
                "measured      %s: %.5g tokens a second, MFU %.1f %%; the answer is %.1f %% %s\n",
                weft_show_time(unit, measured_ps),
                weft_request_strategy_tokens_per_s(result, measured_ps),
                100 * weft_request_strategy_mfu_at(result, 0, measured_ps), 100 * fabs(off),
                off < 0 ? "shorter" : "longer");
    }
}

static void print_candidates(struct cli *cli, const struct weft_strategy_result *result)
{
    char unit[WEFT_UNIT_TEXT];
    for (uint32_t i = 0; i < result->found.count; i++) {
        const struct weft_candidate *candidate = &result->found.candidates[i];
        if (result->simulated_ps[i] > 0) {
            cli_say(cli, "\niteration     %s simulated, ",
                    weft_show_time(unit, result->simulated_ps[i]));
        } else {
            cli_say(cli, "\niteration     ");
        }
        cli_say(cli, "%s by estimate\n", weft_show_time(unit, candidate->estimate_ps));
        cli_print_memory(cli, &candidate->strategy, result->setting.memory_limit_bytes);
        cli_print_operators(cli, &candidate->strategy, result->operator_names,
                            result->model.operator_count);
    }
}

void cli_print_strategies(struct cli *cli, const struct weft_strategy_result *result)
{
    char unit[WEFT_UNIT_TEXT];
    cli_say(cli, "%s, %llu samples an iteration, on %u servers of %u %s; fabric %s, ",
            result->model.name, (unsigned long long)result->model.batch,
            result->cluster.server_count, result->cluster.accelerators_per_server,
            result->cluster.accelerator, result->fabric);
    cli_say(cli, "%u ports of %s\n", result->cluster.degree,
            weft_show_rate(unit, result->cluster.rate_Bps));
    if (result->setting.stack != NULL) {
        cli_say(cli, "software stack %s: %s\n", result->setting.stack->name,
                result->setting.stack->source);
    }
    if (result->calibrated) {
        cli_say(cli, "calibrated    passes reach %.4g of the kernels' own speed\n",
                result->setting.stack->compute_efficiency);
    }
    cli_say(cli, "%llu strateg%s looked at\n", (unsigned long long)result->found.evaluations,
            result->found.evaluations == 1 ? "y" : "ies");
    if (result->why_estimated != NULL) {
        cli_say(cli, "estimates     nothing was simulated: %s\n", result->why_estimated);
    }
    if (result->stopped) {
        cli_say(cli, "search        left unfinished: the best until then\n");
    }
    if (result->hybrid) {
        print_hybrids(cli, result);
        print_measured(cli, result);
    } else {
        print_candidates(cli, result);
    }
}

// Asks, and prints the ranking; where a time was measured, what it says of the answer.
static bool run(struct strategy_input *input)
{
    struct cli *cli = input->cli;
    const struct cli_named named = {input->paths, input->path_count, cli->program};
    if (!cli_name_model(&cli->given.job, &cli->given.hardware, &named, &cli->error)) {
        return false;
    }
    if (input->effort_given && input->request.strategy != NULL) {
        return cli_misuse(cli, "--effort is of a search, and --strategy is given; leave one of "
                               "them out");
    }
    input->request.job = cli->given.job;
    input->request.hardware = cli->given.hardware;
    struct weft_strategy_result result;
    bool found =
        weft_request_strategy(&result, &input->request, cli_environment(cli, cli_clock_watch(cli)));
    cli_clock_stop(cli);
    if (!found) {
        return false;
    }
    result.wall_s = cli_elapsed_s(cli);
    if (cli->json) {
        cli_say(cli, "%s", weft_request_strategy_json(&result, &cli->arena));
    } else {
        cli_print_strategies(cli, &result);
    }
    return true;
}

int cli_strategy(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft strategy",
        .arguments = "MODEL CLUSTER.yaml",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_JOB | CLI_HARDWARE | CLI_TABLES,
    };
    struct cli cli;
    struct strategy_input input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
