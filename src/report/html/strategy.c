// SPDX-License-Identifier: Apache-2.0
// The sections of a plan's page about a model's strategy: who holds what, memory, where the
// time goes, and the rounds of the loop between strategy and topology.
//
// Each is left out when the plan has not what it shows. O(operators * servers) for the
// placements, else O(what is shown).

#include "html.h"
#include "report/svg/pictures.h"
#include "report/svg/svg.h"

#include <string.h>

#define SPLITS_MAX 16u

// ---- per operator ----

// Operators that are divided alike.
struct split {
    uint32_t sample_parts;
    uint32_t parameter_parts;
    uint32_t servers; // distinct
    bool tables;
    uint32_t count;
    uint64_t parameters;
};

static uint32_t distinct_servers(const struct weft_placement *placement, uint32_t server_count,
                                 struct weft_arena scratch)
{
    bool *held = WEFT_NEW(&scratch, bool, (size_t)server_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < placement->sample_parts * placement->parameter_parts; i++) {
        count += !held[placement->servers[i]];
        held[placement->servers[i]] = true;
    }
    return count;
}

// Returns how many; those beyond SPLITS_MAX are counted, not kept.
static uint32_t find_splits(struct split *splits, const struct weft_report *report,
                            struct weft_arena scratch)
{
    const struct weft_model *model = report->model;
    uint32_t count = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        const struct weft_operator *operator= & model->operators[op];
        if (operator->spec.kind == WEFT_OP_INPUT) {
            continue;
        }
        const struct weft_placement *placement = &report->strategy->placements[op];
        struct split split = {
            .sample_parts = placement->sample_parts,
            .parameter_parts = placement->parameter_parts,
            .servers = distinct_servers(placement, report->strategy->server_count, scratch),
            .tables = operator->spec.kind == WEFT_OP_EMBEDDING,
        };
        uint32_t i = 0;
        while (i < count &&
               (splits[i].sample_parts != split.sample_parts ||
                splits[i].parameter_parts != split.parameter_parts ||
                splits[i].servers != split.servers || splits[i].tables != split.tables)) {
            i++;
        }
        if (i == count) {
            splits[count++] = split;
        }
        splits[i].count++;
        splits[i].parameters += operator->parameters;
    }
    return count;
}

// Writes the table of how operators are split: one row for all that are split alike, the first
// SPLITS_MAX of them.
static void add_splits(struct weft_text *text, const struct weft_report *report,
                       struct weft_arena scratch)
{
    struct split *splits =
        WEFT_NEW(&scratch, struct split, (size_t)report->model->operator_count + 1);
    uint32_t count = find_splits(splits, report, scratch);
    uint32_t shown = count < SPLITS_MAX ? count : SPLITS_MAX;
    html_table(text, "Operators by how they are divided",
               ">operators|what|>sample parts|>parameter parts|>servers each|>parameters");
    for (uint32_t i = 0; i < shown; i++) {
        char parameters[WEFT_UNIT_TEXT];
        weft_text_add(text,
                      "<tr><th scope=\"row\" class=\"r\">%u<td>%s<td class=\"r\">%u<td "
                      "class=\"r\">%u<td class=\"r\">%u<td class=\"r\">%s</tr>\n",
                      splits[i].count, splits[i].tables ? "embedding tables" : "operators",
                      splits[i].sample_parts, splits[i].parameter_parts, splits[i].servers,
                      html_count(parameters, (double)splits[i].parameters));
    }
    html_table_end(text);
    if (shown < count) {
        weft_text_add(text,
                      "<p class=\"muted\">%u further ways of dividing are in the plan's "
                      "file.</p>\n",
                      count - shown);
    }
}

static void add_operators(struct weft_text *text, const struct weft_report *report,
                          struct weft_arena scratch)
{
    html_figure(text, "zoom");
    picture_operators(text, report->model, report->strategy, scratch);
    html_figure_end(text, "A cell is a part of an operator on a server; the paler, the later its "
                          "samples. Parts of one shade on one server need no transfer. A name "
                          "with +n stands for so many further operators that are placed alike.");
    add_splits(text, report, scratch);
}

// ---- hybrid ----

const char *html_recompute(enum weft_recompute recompute)
{
    static const char *const names[] = {[WEFT_RECOMPUTE_NONE] = "nothing",
                                        [WEFT_RECOMPUTE_SELECTIVE] = "attention scores",
                                        [WEFT_RECOMPUTE_FULL] = "all of a layer",
                                        [WEFT_RECOMPUTE_NORMS] = "norms and activations"};
    return names[recompute];
}

// Shows hybrid parallelism: a tile for each degree, for experts and contexts only where these are
// divided, and a picture of which accelerators are which stage of which replica.
static void add_hybrid(struct weft_text *text, const struct weft_report *report)
{
    const struct weft_hybrid *hybrid = &report->strategy->hybrid;
    const struct weft_cluster *cluster = &report->plan->cluster;
    char value[64];
    char small[96];
    weft_text_add(text, "<dl class=\"tiles\">\n");
    snprintf(value, sizeof value, "%u", hybrid->dp);
    snprintf(small, sizeof small, "ZeRO stage %u%s", hybrid->zero_stage,
             hybrid->overlap_gradients ? ", overlapped" : "");
    html_tile(text, "Data parallel", value, small);
    snprintf(value, sizeof value, "%u", hybrid->tp);
    html_tile(text, "Tensor parallel", value,
              hybrid->sequence_parallel ? "with sequence parallelism" : "&nbsp;");
    snprintf(value, sizeof value, "%u", hybrid->pp);
    snprintf(small, sizeof small, "%u stage%s a device", hybrid->chunks > 0 ? hybrid->chunks : 1,
             hybrid->chunks > 1 ? "s" : "");
    html_tile(text, "Pipeline stages", value, small);
    if (hybrid->ep > 1) {
        snprintf(value, sizeof value, "%u", hybrid->ep);
        html_tile(text, "Expert parallel", value, "within data and context");
    }
    if (hybrid->cp > 1) {
        snprintf(value, sizeof value, "%u", hybrid->cp);
        html_tile(text, "Context parallel", value, "parts of each sequence");
    }
    snprintf(value, sizeof value, "%llu", (unsigned long long)hybrid->micro_batch);
    snprintf(small, sizeof small, "recomputed: %s", html_recompute(hybrid->recompute));
    html_tile(text, "Micro-batch", value, small);
    weft_text_add(text, "</dl>\n");
    html_figure(text, "");
    uint32_t per_server = cluster->accelerators_per_server;
    if (report->setting != NULL && report->setting->cost.accelerators_per_server > 0) {
        per_server = report->setting->cost.accelerators_per_server;
    }
    picture_hybrid(text, hybrid, per_server);
    html_figure_end(text, "A block is a stage of a replica, a square one of its accelerators; "
                          "neighbors of one color are on one server. 12:0–3 is server 12, "
                          "accelerators 0 to 3; 12–13 are whole servers.");
}

// ---- sections ----

void html_strategy(struct weft_text *text, const struct weft_report *report,
                   struct weft_arena scratch)
{
    const struct weft_model *model = report->model;
    const struct weft_strategy *strategy = report->strategy;
    if (model == NULL || strategy == NULL) {
        return;
    }
    char parameters[WEFT_UNIT_TEXT];
    char flops[WEFT_UNIT_TEXT];
    char samples[WEFT_UNIT_TEXT];
    html_heading(text, "Strategy", "How the model is divided, and which server holds what.");
    weft_text_add(text, "<p>");
    weft_text_add_escaped(text, model->name);
    weft_text_add(text, ": %s parameters, %sFLOP forward a sample, %s samples an iteration.</p>\n",
                  html_count(parameters, (double)model->parameters),
                  html_count(flops, model->forward_flops),
                  html_count(samples, (double)model->batch));
    if (strategy->kind == WEFT_STRATEGY_HYBRID) {
        add_hybrid(text, report);
    } else {
        add_operators(text, report, scratch);
    }
    weft_text_add(text, "</section>\n");
}

void html_memory(struct weft_text *text, const struct weft_report *report,
                 struct weft_arena scratch)
{
    const struct weft_strategy *strategy = report->strategy;
    if (strategy == NULL || strategy->memory == NULL || strategy->server_count == 0) {
        return;
    }
    double limit_bytes = 0;
    if (report->setting != NULL && report->setting->memory_limit_bytes > 0) {
        limit_bytes = report->setting->memory_limit_bytes;
    }
    html_heading(text, "Memory", "Of the fullest accelerator of each server.");
    html_figure(text, "");
    picture_memory(text, strategy->memory, strategy->server_count, limit_bytes, scratch);
    char most[WEFT_UNIT_TEXT];
    char share[WEFT_UNIT_TEXT];
    char caption[128];
    weft_show_bytes(most, strategy->memory_max_bytes);
    if (limit_bytes > 0) {
        snprintf(caption, sizeof caption, "At most %s, %s of the limit.", most,
                 html_percent(share, strategy->memory_max_bytes / limit_bytes));
    } else {
        snprintf(caption, sizeof caption, "At most %s; no limit was set.", most);
    }
    html_figure_end(text, caption);
    weft_text_add(text, "</section>\n");
}

static void add_variants(struct weft_text *text, const struct weft_plan_job *job)
{
    static const char *const words[WEFT_COPLAN_VARIANT_COUNT] = {
        "strategy and topology in turns", "strategy searched, topology by the paper's method",
        "data parallelism, topology searched", "data parallelism, topology by the paper's method"};
    double both_s = job->variant_s[WEFT_COPLAN_BOTH];
    html_table(text, "What each part of the search comes to",
               "what is searched|>iteration|>to both");
    for (uint32_t v = 0; v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        char time[WEFT_UNIT_TEXT];
        if (!(job->variant_s[v] > 0)) {
            continue;
        }
        weft_text_add(text,
                      "<tr%s><th scope=\"row\">%s<td class=\"r\">%s<td class=\"r\">%.3f</tr>\n",
                      v == (uint32_t)job->variant ? " class=\"on\"" : "", words[v],
                      weft_show_time(time, weft_picoseconds(job->variant_s[v])),
                      both_s > 0 ? job->variant_s[v] / both_s : 0);
    }
    html_table_end(text);
}

void html_rounds(struct weft_text *text, const struct weft_report *report)
{
    if (report->rounds == NULL || report->round_count == 0) {
        return;
    }
    html_heading(text, "The loop",
                 "Each round searches strategies for the last network, then a network for the "
                 "best of them. A line is a start; the ring marks the best round.");
    html_figure(text, "");
    picture_rounds(text, report->rounds, report->round_count);
    html_figure_end(text, NULL);
    const struct weft_plan_job *job = report->plan->job;
    uint32_t variant_count = 0;
    for (uint32_t v = 0; job != NULL && v < WEFT_COPLAN_VARIANT_COUNT; v++) {
        variant_count += job->variant_s[v] > 0;
    }
    if (variant_count > 1) {
        add_variants(text, job);
    }
    weft_text_add(text, "</section>\n");
}

void html_uses(struct weft_text *text, const struct weft_report *report, struct weft_arena scratch)
{
    const struct weft_sim_result *result = report->result;
    if (report->graph == NULL || result == NULL || result->task_start_ps == NULL) {
        return;
    }
    struct weft_arena kept = weft_arena_split(&scratch); // holds the breakdown
    struct weft_breakdown breakdown;
    const struct weft_task_times tasks = {result->task_start_ps[0], result->task_end_ps[0],
                                          result->iteration_ps[0]};
    weft_sim_breakdown(&breakdown, report->graph, &tasks, &kept, scratch);
    html_heading(text, "Where the time goes",
                 "Above, the chain of tasks that the iteration had to wait for, by kind. Below, "
                 "what each server does: a server waits when its device is free while bytes are "
                 "on their way to it, or a collective that it takes part in runs.");
    html_figure(text, "");
    picture_path(text, &breakdown);
    html_figure_end(text, NULL);
    html_figure(text, "");
    picture_uses(text, &breakdown, report->graph->server_count, result->iteration_ps[0], scratch);
    html_figure_end(text, NULL);
    weft_text_add(text, "</section>\n");
}
