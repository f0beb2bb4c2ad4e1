// SPDX-License-Identifier: Apache-2.0
// Strategies in words.

#include "plan.h"

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

void strategy_tell_job(struct cli *cli, const struct weft_plan_job *job)
{
    char unit[WEFT_UNIT_TEXT];
    cli_say(cli, "model         %s, %llu samples an iteration, costs by %s\n", job->model,
            (unsigned long long)job->batch, job->costs);
    strategy_tell_memory(cli, &job->strategy, job->memory_limit_bytes);
    if (job->flops_utilization > 0) {
        cli_say(cli, "utilization   %.1f %% of the peak FLOP/s\n", 100 * job->flops_utilization);
    }
    cli_say(cli, "search        %llu strategies, %u round%s%s\n",
            (unsigned long long)job->evaluations, job->round_count,
            job->round_count == 1 ? "" : "s", job->fixed_point ? ", to a fixed point" : "");
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
