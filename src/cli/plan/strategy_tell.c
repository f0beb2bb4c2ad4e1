// SPDX-License-Identifier: Apache-2.0
// Strategies in words.

#include "plan.h"

#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

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

void strategy_tell_operators(struct cli *cli, const struct weft_strategy *strategy,
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
    const char **cells = WEFT_NEW(arena, const char *, (size_t)operator_count *COLUMNS + 1);
    bool *told = WEFT_NEW(arena, bool, (size_t)operator_count + 1);
    uint32_t rows = 0;
    for (uint32_t op = 0; op < operator_count; op++) {
        if (told[op]) {
            continue;
        }
        const struct weft_placement *placement = &strategy->placements[op];
        uint32_t last = op;
        uint32_t count = 0;
        for (uint32_t i = op; i < operator_count; i++) {
            if (same_placement(placement, &strategy->placements[i])) {
                told[i] = true;
                last = i;
                count++;
            }
        }
        const char **row = cells + (size_t)rows++ * COLUMNS;
        row[0] = count == 1
                     ? names[op]
                     : weft_arena_format(arena, "%s .. %s (%u)", names[op], names[last], count);
        row[1] = weft_arena_format(arena, "%u", placement->sample_parts);
        row[2] = weft_arena_format(arena, "%u", placement->parameter_parts);
        row[3] = servers_text(placement->servers,
                              placement->sample_parts * placement->parameter_parts, arena);
    }
    cli_say(cli, "%s", weft_report_table(columns, COLUMNS, cells, rows, arena));
}

void strategy_tell_memory(struct cli *cli, const struct weft_strategy *strategy,
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
    cli_say(cli, ", activations %s\n", weft_show_bytes(unit, memory->activations_bytes));
}

// ---- of a search ----

static double utilization(const struct strategy_request *request, uint32_t index)
{
    struct weft_hybrid_estimate estimate;
    struct weft_error error;
    const struct weft_candidate *candidate = &request->found.candidates[index];
    return weft_hybrid_estimate(&estimate, &candidate->strategy.hybrid,
                                &(struct weft_study){.model = &request->model,
                                                     .cluster = &request->cluster,
                                                     .network = request->network,
                                                     .setting = &request->setting},
                                request->cli->scratch, &error)
               ? estimate.model_flops_utilization
               : 0;
}

static void tell_hybrids(const struct strategy_request *request)
{
    static const struct weft_table_column columns[] = {
        {"estimate", WEFT_ALIGN_RIGHT}, {"simulated", WEFT_ALIGN_RIGHT},
        {"MFU", WEFT_ALIGN_RIGHT},      {"memory", WEFT_ALIGN_RIGHT},
        {"dp", WEFT_ALIGN_RIGHT},       {"tp", WEFT_ALIGN_RIGHT},
        {"pp", WEFT_ALIGN_RIGHT},       {"ep", WEFT_ALIGN_RIGHT},
        {"cp", WEFT_ALIGN_RIGHT},       {"chunks", WEFT_ALIGN_RIGHT},
        {"micro", WEFT_ALIGN_RIGHT},    {"zero", WEFT_ALIGN_RIGHT},
        {"compute", WEFT_ALIGN_RIGHT},  {"bubble", WEFT_ALIGN_RIGHT},
        {"tensor", WEFT_ALIGN_RIGHT},   {"pipe", WEFT_ALIGN_RIGHT},
        {"expert", WEFT_ALIGN_RIGHT},   {"context", WEFT_ALIGN_RIGHT},
        {"data", WEFT_ALIGN_RIGHT},     {"recompute", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    static const char *const recomputes[] = {[WEFT_RECOMPUTE_NONE] = "none",
                                             [WEFT_RECOMPUTE_SELECTIVE] = "selective",
                                             [WEFT_RECOMPUTE_FULL] = "full"};
    struct cli *cli = request->cli;
    struct weft_arena *arena = &cli->arena;
    uint32_t count = request->found.count;
    const char **cells = WEFT_NEW(arena, const char *, (size_t)count *COLUMNS + 1);
    char unit[WEFT_UNIT_TEXT];
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_candidate *candidate = &request->found.candidates[i];
        const struct weft_hybrid *hybrid = &candidate->strategy.hybrid;
        struct weft_hybrid_estimate estimate = {.iteration_ps = 0};
        struct weft_error error; // an estimate was made before
        if (!weft_hybrid_estimate(&estimate, hybrid,
                                  &(struct weft_study){.model = &request->model,
                                                       .cluster = &request->cluster,
                                                       .network = request->network,
                                                       .setting = &request->setting},
                                  cli->scratch, &error)) {
            continue;
        }
        const char **row = cells + (size_t)i * COLUMNS;
        uint32_t at = 0;
        row[at++] = weft_arena_format(arena, "%s", weft_show_time(unit, estimate.iteration_ps));
        row[at++] =
            request->simulated_ps[i] > 0
                ? weft_arena_format(arena, "%s", weft_show_time(unit, request->simulated_ps[i]))
                : "-";
        row[at++] = weft_arena_format(arena, "%.1f %%", 100 * estimate.model_flops_utilization);
        row[at++] = weft_arena_format(arena, "%s",
                                      weft_show_bytes(unit, candidate->strategy.memory_max_bytes));
        const uint32_t degrees[] = {hybrid->dp,
                                    hybrid->tp,
                                    hybrid->pp,
                                    hybrid->ep,
                                    hybrid->cp,
                                    hybrid->chunks,
                                    (uint32_t)hybrid->micro_batch,
                                    hybrid->zero_stage};
        for (uint32_t d = 0; d < sizeof degrees / sizeof degrees[0]; d++) {
            row[at++] = weft_arena_format(arena, "%u", degrees[d]);
        }
        const uint64_t times_ps[] = {estimate.compute_ps,  estimate.bubble_ps, estimate.tensor_ps,
                                     estimate.pipeline_ps, estimate.expert_ps, estimate.context_ps,
                                     estimate.data_ps};
        for (uint32_t t = 0; t < sizeof times_ps / sizeof times_ps[0]; t++) {
            row[at++] = weft_arena_format(
                arena, "%.1f %%", 100 * (double)times_ps[t] / (double)estimate.iteration_ps);
        }
        row[at++] = recomputes[hybrid->recompute];
    }
    cli_say(cli, "%s", weft_report_table(columns, COLUMNS, cells, count, arena));
}

static const char *const *operator_names(const struct strategy_request *request)
{
    const struct weft_model *model = &request->model;
    const char **names =
        WEFT_NEW(&request->cli->arena, const char *, (size_t)model->operator_count + 1);
    for (uint32_t op = 0; op < model->operator_count; op++) {
        names[op] = model->operators[op].spec.name;
    }
    return names;
}

static void tell_operators(const struct strategy_request *request)
{
    struct cli *cli = request->cli;
    char unit[WEFT_UNIT_TEXT];
    for (uint32_t i = 0; i < request->found.count; i++) {
        const struct weft_candidate *candidate = &request->found.candidates[i];
        cli_say(cli, "\nestimate      %s", weft_show_time(unit, candidate->estimate_ps));
        if (request->simulated_ps[i] > 0) {
            cli_say(cli, "; simulated %s", weft_show_time(unit, request->simulated_ps[i]));
        }
        cli_say(cli, "\n");
        strategy_tell_memory(cli, &candidate->strategy, request->setting.memory_limit_bytes);
        strategy_tell_operators(cli, &candidate->strategy, operator_names(request),
                                request->model.operator_count);
    }
}

void strategy_tell(const struct strategy_request *request)
{
    struct cli *cli = request->cli;
    char unit[WEFT_UNIT_TEXT];
    cli_say(cli, "%s, %llu samples an iteration, on %u servers of %u %s; fabric %s, ",
            request->model.name, (unsigned long long)request->model.batch,
            request->cluster.server_count, request->cluster.accelerators_per_server,
            request->cluster.accelerator, request->fabric);
    cli_say(cli, "%u ports of %s\n", request->cluster.degree,
            weft_show_rate(unit, request->cluster.rate_Bps));
    cli_say(cli, "%llu strateg%s looked at\n", (unsigned long long)request->found.evaluations,
            request->found.evaluations == 1 ? "y" : "ies");
    if (request->hybrid) {
        tell_hybrids(request);
    } else {
        tell_operators(request);
    }
}

static json_t *parse_json(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, 0, &error);
    WEFT_ASSERT(value != NULL);
    return value;
}

static json_t *memory_object(const struct strategy_request *request,
                             const struct weft_strategy *strategy)
{
    json_t *memory = json_object();
    cli_set_real(memory, "max_bytes", strategy->memory_max_bytes);
    cli_set_real(memory, "limit_bytes", request->setting.memory_limit_bytes);
    return memory;
}

// The keys that stand for one strategy.
static void set_candidate(json_t *object, const struct strategy_request *request, uint32_t i)
{
    const struct weft_candidate *candidate = &request->found.candidates[i];
    uint64_t simulated_ps = request->simulated_ps[i];
    uint64_t best_ps = simulated_ps > 0 ? simulated_ps : candidate->estimate_ps;
    cli_set_real(object, "iteration_s", weft_seconds(best_ps));
    cli_set_truth(object, "simulated", simulated_ps > 0);
    cli_set_real(object, "estimate_s", weft_seconds(candidate->estimate_ps));
    const char *text = weft_strategy_write(&candidate->strategy, operator_names(request),
                                           request->model.operator_count, &request->cli->arena);
    cli_set(object, "strategy", parse_json(text));
    cli_set(object, "memory", memory_object(request, &candidate->strategy));
    cli_set(object, "flops_utilization",
            request->hybrid ? json_real(utilization(request, i)) : json_null());
}

void strategy_tell_json(const struct strategy_request *request)
{
    struct cli *cli = request->cli;
    json_t *object = cli_object("weft.strategy/1");
    cli_set_text(object, "model", request->model.name);
    cli_set_count(object, "batch", request->model.batch);
    cli_set_text(object, "fabric", request->fabric);
    cli_set_count(object, "servers", request->cluster.server_count);
    set_candidate(object, request, 0); // the best
    json_t *list = json_array();
    for (uint32_t i = 0; i < request->found.count; i++) {
        json_t *one = json_object();
        set_candidate(one, request, i);
        json_array_append_new(list, one);
    }
    cli_set(object, "strategies", list);
    cli_set_count(object, "evaluations", request->found.evaluations);
    cli_set_real(object, "wall_s", cli_elapsed_s(cli));
    cli_json(cli, object);
}

// ---- of a plan ----

void strategy_tell_job(struct cli *cli, const struct weft_plan_job *job)
{
    char unit[WEFT_UNIT_TEXT];
    cli_say(cli, "model         %s, %llu samples an iteration, costs by %s\n", job->model,
            (unsigned long long)job->batch, job->costs);
    strategy_tell_memory(cli, &job->strategy, job->memory_limit_bytes);
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
        strategy_tell_operators(cli, &job->strategy, job->operator_names, job->operator_count);
    } else {
        const struct weft_hybrid *hybrid = &job->strategy.hybrid;
        cli_say(cli, "dp %u, tp %u, pp %u, ep %u, cp %u; %u chunks, micro-batches of %llu\n",
                hybrid->dp, hybrid->tp, hybrid->pp, hybrid->ep, hybrid->cp, hybrid->chunks,
                (unsigned long long)hybrid->micro_batch);
    }
}
