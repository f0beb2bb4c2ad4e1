// SPDX-License-Identifier: Apache-2.0
// What a plan was made for: its strategy, its memory and its task graph, a line for each
// operator and each task, so that two plans differ by lines.
//
// A task is a short array that begins with the letter of its kind: a graph of a million tasks
// stays readable and a few ten megabytes. O(tasks + edges).

#include "job.h"
#include "weft/format/plan.h"

#include "weft/format.h"

#include <stddef.h>

const char *const weft_plan_optimizers[] = {
    [WEFT_SGD] = "sgd",
    [WEFT_MOMENTUM] = "momentum",
    [WEFT_ADAM] = "adam",
    NULL,
};
const char *const weft_plan_tables[] = {
    [WEFT_TABLES_SHARDED] = "sharded",
    [WEFT_TABLES_REPLICATED] = "replicated",
    NULL,
};
const char *const weft_plan_recomputes[] = {
    [WEFT_RECOMPUTE_NONE] = "none",
    [WEFT_RECOMPUTE_SELECTIVE] = "selective",
    [WEFT_RECOMPUTE_FULL] = "full",
    [WEFT_RECOMPUTE_NORMS] = "norms",
    NULL,
};

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

static void add_operators(struct weft_text *text, const struct weft_strategy *strategy,
                          const char *const *names, uint32_t operator_count)
{
    weft_text_add(text, "{\n    \"kind\": \"operators\",\n    \"operators\": [");
    for (uint32_t i = 0; i < operator_count; i++) {
        const struct weft_placement *placement = &strategy->placements[i];
        weft_text_add(text, "%s\n      {", i == 0 ? "" : ",");
        weft_json_field_text(text, "name", names[i], ", ");
        weft_text_add(text, "\"sample_parts\": %u, \"parameter_parts\": %u, \"servers\": ",
                      placement->sample_parts, placement->parameter_parts);
        weft_json_add_indices(text, placement->servers,
                              (size_t)placement->sample_parts * placement->parameter_parts);
        weft_text_add(text, "}");
    }
    weft_text_add(text, "\n    ]\n  }");
}

// What few strategies do stands in the file only where one does it, so that others read as before.
static void add_rare(struct weft_text *text, const struct weft_hybrid *hybrid)
{
    const struct {
        const char *key;
        bool is;
    } rare[] = {
        {"overlap_tensor", hybrid->overlap_tensor},
        {"overlap_experts", hybrid->overlap_experts},
        {"blocking_sends", hybrid->blocking_sends},
        {"fp8", hybrid->fp8},
        {"whole_experts", hybrid->whole_experts},
        {"dualpipe", hybrid->schedule == WEFT_SCHEDULE_DUALPIPE},
    };
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++) {
        if (rare[i].is) {
            weft_text_add(text, "\"%s\": true,\n    ", rare[i].key);
        }
    }
}

static void add_hybrid(struct weft_text *text, const struct weft_hybrid *hybrid)
{
    weft_text_add(text,
                  "{\n    \"kind\": \"hybrid\",\n    \"dp\": %u,\n    \"tp\": %u,\n    \"pp\": %u,"
                  "\n    \"ep\": %u,\n    \"cp\": %u,\n    \"chunks\": %u,\n    ",
                  hybrid->dp, hybrid->tp, hybrid->pp, hybrid->ep, hybrid->cp, hybrid->chunks);
    weft_json_field_u64(text, "micro_batch", hybrid->micro_batch, ",\n    ");
    weft_text_add(text,
                  "\"zero_stage\": %u,\n    \"sequence_parallel\": %s,\n"
                  "    \"overlap_gradients\": %s,\n    \"fused_attention\": %s,\n"
                  "    \"recompute\": \"%s\",\n    ",
                  hybrid->zero_stage, truth(hybrid->sequence_parallel),
                  truth(hybrid->overlap_gradients), truth(hybrid->fused_attention),
                  weft_plan_recomputes[hybrid->recompute]);
    add_rare(text, hybrid);
    weft_json_field_text(text, "order", hybrid->order, "\n  }");
}

static void add_strategy(struct weft_text *text, const struct weft_strategy *strategy,
                         const char *const *names, uint32_t operator_count)
{
    if (strategy->kind == WEFT_STRATEGY_OPERATORS) {
        add_operators(text, strategy, names, operator_count);
    } else {
        add_hybrid(text, &strategy->hybrid);
    }
}

const char *weft_strategy_write(const struct weft_strategy *strategy, const char *const *names,
                                uint32_t operator_count, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    add_strategy(&text, strategy, names, operator_count);
    return text.data;
}

const struct weft_json_real weft_plan_amounts[] = {
    {"parameters_bytes", offsetof(struct weft_memory, parameters_bytes)},
    {"gradients_bytes", offsetof(struct weft_memory, gradients_bytes)},
    {"optimizer_bytes", offsetof(struct weft_memory, optimizer_bytes)},
    {"activations_bytes", offsetof(struct weft_memory, activations_bytes)},
    {"total_bytes", offsetof(struct weft_memory, total_bytes)},
    {NULL, 0},
};

static void add_memory(struct weft_text *text, const struct weft_plan_job *job)
{
    weft_text_add(text, "  \"memory\": {\n    ");
    weft_json_field_real(text, "max_bytes", job->strategy.memory_max_bytes, ",\n    ");
    weft_json_field_real(text, "limit_bytes", job->memory_limit_bytes, ",\n    \"servers\": [");
    for (uint32_t i = 0; i < job->strategy.server_count; i++) {
        weft_text_add(text, "%s\n      {", i == 0 ? "" : ",");
        weft_json_add_reals(text, &job->strategy.memory[i], weft_plan_amounts);
        if (job->strategy.memory[i].library_bytes > 0) {
            weft_text_add(text, ", ");
            weft_json_field_real(text, "library_bytes", job->strategy.memory[i].library_bytes, "");
        }
        weft_text_add(text, "}");
    }
    weft_text_add(text, "\n    ]\n  },\n");
}

void weft_plan_add_strategy(struct weft_text *text, const struct weft_plan_job *job)
{
    weft_text_add(text, "  \"strategy\": ");
    add_strategy(text, &job->strategy, job->operator_names, job->operator_count);
    weft_text_add(text, ",\n");
    add_memory(text, job);
    weft_text_add(text, "  \"flops_utilization\": ");
    if (job->flops_utilization > 0) {
        weft_json_add_real(text, job->flops_utilization);
    } else {
        weft_text_add(text, "null");
    }
    weft_text_add(text, ",\n  ");
    weft_json_field_u64(text, "evaluations", job->evaluations, ",\n");
}

static void add_task(struct weft_text *text, const struct weft_taskgraph *graph, uint32_t t)
{
    enum weft_task_kind kind = graph->kind[t];
    weft_text_add(text, "[\"%c\"", WEFT_PLAN_TASK_LETTERS[kind]);
    if (kind == WEFT_TASK_TRANSFER) {
        weft_text_add(text, ",%u,%u,", graph->from[t], graph->to[t]);
        weft_json_add_u64(text, graph->size_bytes[t]);
    } else if (weft_task_is_collective(graph, t)) {
        weft_text_add(text, ",%u,", graph->group[t]);
        weft_json_add_u64(text, graph->size_bytes[t]);
        weft_text_add(text, ",");
        weft_json_add_u64(text, graph->runtime_ps[t]);
    } else if (kind != WEFT_TASK_BARRIER) {
        weft_text_add(text, ",%u,", graph->device[t]);
        weft_json_add_u64(text, graph->runtime_ps[t]);
    }
    for (uint32_t i = graph->next_first[t]; i < graph->next_first[t + 1]; i++) {
        weft_text_add(text, ",%u", graph->next[i]);
    }
    weft_text_add(text, "]");
}

static void add_graph(struct weft_text *text, const struct weft_taskgraph *graph)
{
    weft_text_add(text, "{\n      \"servers\": %u,\n      \"devices\": ", graph->server_count);
    weft_json_add_indices(text, graph->device_server, graph->device_count);
    weft_text_add(text, ",\n      \"groups\": [");
    for (uint32_t g = 0; g < graph->group_count; g++) {
        weft_text_add(text, "%s\n        ", g == 0 ? "" : ",");
        weft_json_add_indices(text, graph->group_members + graph->group_first[g],
                              graph->group_first[g + 1] - graph->group_first[g]);
    }
    weft_text_add(text, "\n      ],\n      \"tasks\": [");
    for (uint32_t t = 0; t < graph->task_count; t++) {
        weft_text_add(text, "%s\n        ", t == 0 ? "" : ",");
        add_task(text, graph, t);
    }
    weft_text_add(text, "\n      ]\n    }\n");
}

const char *weft_taskgraph_write(const struct weft_taskgraph *graph, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    add_graph(&text, graph);
    return text.data;
}

void weft_plan_add_job(struct weft_text *text, const struct weft_plan_job *job)
{
    weft_text_add(text, ",\n  \"job\": {\n    ");
    weft_json_field_text(text, "model", job->model, ",\n    ");
    weft_json_field_u64(text, "batch", job->batch, ",\n    ");
    weft_json_field_text(text, "costs", job->costs, ",\n    ");
    weft_json_field_real(text, "intra_server_rate_Bps", job->inside_Bps, ",\n    ");
    weft_text_add(text, "\"optimizer\": \"%s\",\n    \"tables\": \"%s\",\n",
                  weft_plan_optimizers[job->optimizer], weft_plan_tables[job->tables]);
    weft_text_add(text, "    \"variant\": \"%s\",\n    \"variants\": {",
                  weft_coplan_variant_name(job->variant));
    const char *comma = "";
    for (enum weft_coplan_variant v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        if (job->variant_s[v] > 0) {
            weft_text_add(text, "%s", comma);
            weft_json_field_real(text, weft_coplan_variant_name(v), job->variant_s[v], "");
            comma = ", ";
        }
    }
    weft_text_add(text, "},\n    \"rounds\": [");
    for (uint32_t r = 0; r < job->round_count; r++) {
        weft_text_add(text, "%s{\"start\": %u, ", r == 0 ? "" : ", ", job->round_start[r]);
        weft_json_field_real(text, "iteration_s", job->round_s[r], "}");
    }
    weft_text_add(text, "],\n    \"fixed_point\": %s,\n", truth(job->fixed_point));
    weft_text_add(text, "    \"graph\": ");
    add_graph(text, &job->graph);
    weft_text_add(text, "  }");
}
