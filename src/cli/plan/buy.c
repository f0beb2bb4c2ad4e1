// SPDX-License-Identifier: Apache-2.0
// What weft plan --fabric and weft compare MODEL CLUSTER.yaml say: fabrics side by side, the one to
// take with its bill, what to launch on it, how long a training takes, what binds, how sure that
// is, and what changes where an assumption is wrong.
//
// One answer in three forms. In text and Markdown figures carry units and sentences stand between
// the tables; CSV has the tables alone, a blank line between them, in SI units as the JSON.

#include "buy.h"

#include "weft/report.h"

#include <string.h>

#define COLUMNS_MAX 16u
#define PERCENT 100.0

error_t cli_buy_parse(struct cli *cli, struct cli_buy *buy, int key, const char *argument)
{
    const struct cli_parameters parameters = {&buy->request, weft_buy_parameters,
                                              WEFT_BUY_PARAMETERS};
    if (key != CLI_KEY_TOKENS) {
        return ARGP_ERR_UNKNOWN;
    }
    buy->given = true;
    buy->last = "tokens";
    return cli_parameter(cli, &parameters, "tokens", argument);
}

// ---- tables ----

struct sheet {
    struct cli *cli;
    const struct weft_table_column *columns;
    uint32_t column_count;
    struct weft_table_cell *cells;
    uint32_t filled;
};

static void begin(struct sheet *sheet, const struct weft_table_column *columns,
                  uint32_t column_count, uint32_t rows_max)
{
    sheet->columns = columns;
    sheet->column_count = column_count;
    sheet->cells =
        WEFT_NEW(&sheet->cli->arena, struct weft_table_cell, (size_t)rows_max * column_count + 1);
    sheet->filled = 0;
}

static void put(struct sheet *sheet, const char *text)
{
    sheet->cells[sheet->filled++].text = text;
}

static void put_time(struct sheet *sheet, double seconds)
{
    sheet->cells[sheet->filled++] = weft_cell_time(&sheet->cli->arena, seconds);
}

static void put_usd(struct sheet *sheet, double usd)
{
    sheet->cells[sheet->filled++] = weft_cell_usd(&sheet->cli->arena, usd);
}

static void put_watts(struct sheet *sheet, double watts)
{
    sheet->cells[sheet->filled++] = weft_cell_power(&sheet->cli->arena, watts);
}

static void put_share(struct sheet *sheet, double share)
{
    sheet->cells[sheet->filled++] = weft_cell_percent(&sheet->cli->arena, 1, share);
}

// "1,234,567": the dollars' form without their sign.
static const char *grouped(struct cli *cli, double value)
{
    char unit[WEFT_UNIT_TEXT];
    return weft_arena_format(&cli->arena, "%s", weft_show_usd(unit, value) + 1);
}

static void put_count(struct sheet *sheet, double count)
{
    sheet->cells[sheet->filled++] = weft_cell_figure(grouped(sheet->cli, count), "", count);
}

static void end(struct sheet *sheet)
{
    cli_say(sheet->cli, "\n");
    cli_table(sheet->cli, sheet->columns, sheet->column_count, sheet->cells,
              sheet->filled / sheet->column_count);
}

// ---- what they say ----

static void put_degrees(struct sheet *sheet, const struct weft_buy_row *row)
{
    const struct weft_strategy *best = &row->found.found.candidates[0].strategy;
    if (!row->found.hybrid) {
        put(sheet, "operator by operator");
        return;
    }
    const char *text = weft_hybrid_format(&best->hybrid, &sheet->cli->arena);
    const char *rest = strstr(text, ",sequence-parallel"); // degrees are what a person compares
    size_t length = rest != NULL ? (size_t)(rest - text) : strlen(text);
    put(sheet, weft_arena_text(&sheet->cli->arena, text, length));
}

// A row for each fabric and batch: its time and what gave it, what it costs, its strategy; fabrics
// without an answer with their reason.
static void print_fabrics(struct sheet *sheet, const struct weft_buy_result *result)
{
    static const struct weft_table_column columns[] = {
        {"fabric", WEFT_ALIGN_LEFT},     {"batch", WEFT_ALIGN_RIGHT},
        {"iteration", WEFT_ALIGN_RIGHT}, {"by", WEFT_ALIGN_LEFT},
        {"estimate", WEFT_ALIGN_RIGHT},  {"MFU", WEFT_ALIGN_RIGHT},
        {"tokens/s", WEFT_ALIGN_RIGHT},  {"memory", WEFT_ALIGN_RIGHT},
        {"dollars", WEFT_ALIGN_RIGHT},   {"power", WEFT_ALIGN_RIGHT},
        {"strategy", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    uint32_t rows = 0;
    for (uint32_t b = 0; b < result->batch_count; b++) {
        rows += result->batches[b].row_count;
    }
    begin(sheet, columns, COLUMNS, rows);
    for (uint32_t b = 0; b < result->batch_count; b++) {
        const struct weft_buy_batch *batch = &result->batches[b];
        for (uint32_t r = 0; r < batch->row_count; r++) {
            const struct weft_buy_row *row = &batch->rows[r];
            if (row->why_not != NULL) {
                continue;
            }
            double memory_bytes = row->found.found.candidates[0].strategy.memory_max_bytes;
            put(sheet, row->fabric);
            put_count(sheet, (double)batch->batch);
            put_time(sheet, row->iteration_s);
            put(sheet, row->estimate ? "estimate" : "flow engine");
            put_time(sheet, row->estimate_s);
            if (row->tokens_per_s > 0) {
                put_share(sheet, row->mfu);
                put_count(sheet, row->tokens_per_s);
            } else { // of a model without tokens
                put(sheet, "-");
                put(sheet, "-");
            }
            sheet->cells[sheet->filled++] = weft_cell_bytes(&sheet->cli->arena, memory_bytes);
            put_usd(sheet, row->bill.usd);
            put_watts(sheet, row->bill.watts);
            put_degrees(sheet, row);
        }
    }
    end(sheet);
}

static void print_bill(struct sheet *sheet, const struct weft_buy_row *row)
{
    static const struct weft_table_column columns[] = {
        {"part", WEFT_ALIGN_LEFT},
        {"count", WEFT_ALIGN_RIGHT},
        {"dollars", WEFT_ALIGN_RIGHT},
        {"power", WEFT_ALIGN_RIGHT},
    };
    begin(sheet, columns, 4, row->bill.row_count + 1);
    for (uint32_t i = 0; i < row->bill.row_count; i++) {
        put(sheet, row->bill.rows[i].part);
        put_count(sheet, (double)row->bill.rows[i].count);
        put_usd(sheet, row->bill.rows[i].usd);
        put_watts(sheet, row->bill.rows[i].watts);
    }
    put(sheet, "all");
    put(sheet, "");
    put_usd(sheet, row->bill.usd);
    put_watts(sheet, row->bill.watts);
    end(sheet);
}

// The table of what would change, in the units of the rows above it.
static void print_changes(struct sheet *sheet, const struct weft_buy_result *result)
{
    static const struct weft_table_column columns[] = {
        {"were it so that", WEFT_ALIGN_LEFT},
        {"iteration", WEFT_ALIGN_RIGHT},
        {"tokens/s", WEFT_ALIGN_RIGHT},
        {"dollars", WEFT_ALIGN_RIGHT},
    };
    begin(sheet, columns, 4, result->change_count);
    for (uint32_t i = 0; i < result->change_count; i++) {
        const struct weft_buy_change *change = &result->changes[i];
        put(sheet, change->what);
        if (change->why_not != NULL) {
            put(sheet, "-");
            put(sheet, "-");
            put(sheet, "-");
            continue;
        }
        put_time(sheet, change->iteration_s);
        put_count(sheet, change->tokens_per_s);
        put_usd(sheet, change->usd);
    }
    if (result->change_count > 0) {
        end(sheet);
    }
}

// ---- sentences ----

static void print_why_not(struct cli *cli, const struct weft_buy_result *result)
{
    for (uint32_t b = 0; b < result->batch_count; b++) {
        const struct weft_buy_batch *batch = &result->batches[b];
        for (uint32_t r = 0; r < batch->row_count; r++) {
            if (batch->rows[r].why_not != NULL) {
                cli_say(cli, "%s, batch %s: %s\n", batch->rows[r].fabric,
                        grouped(cli, (double)batch->batch), batch->rows[r].why_not);
            }
        }
    }
}

static void print_advice(struct cli *cli, const struct weft_buy_result *result,
                         const struct weft_buy_row *row)
{
    char unit[WEFT_UNIT_TEXT];
    if (result->batches[0].row_count > 1) {
        cli_say(cli, "\nTake %s: of the fabrics within 1 %% of the fastest%s it costs least.\n",
                row->fabric, row->sold ? " whose ports are sold" : "");
    }
    cli_say(cli, "\nThe network, %s%s: %s and %.1f kW by the prices of %s.\n", row->fabric,
            result->storage.bill.row_count > 0 ? ", and that of storage" : "",
            weft_show_usd(unit, row->bill.usd), row->bill.watts / 1e3,
            result->cluster.prices.source);
}

// What an iteration's time goes to, the largest first, as far as it counts.
static void print_binding(struct cli *cli, const struct weft_buy_row *row)
{
    if (!row->found.hybrid) {
        return;
    }
    const struct weft_hybrid_estimate *estimate = &row->found.estimates[0];
    struct cause {
        const char *name;
        uint64_t ps;
    } causes[] = {
        {"computation", estimate->compute_ps},
        {"the pipeline's bubble", estimate->bubble_ps},
        {"tensor parallelism", estimate->tensor_ps},
        {"sends of stages", estimate->pipeline_ps},
        {"experts", estimate->expert_ps},
        {"context parallelism", estimate->context_ps},
        {"gradients and parameters", estimate->data_ps},
        {"the optimizer", estimate->optimizer_ps},
        {"what the software does between", estimate->step_ps},
    };
    enum { CAUSES = sizeof causes / sizeof causes[0] };
    cli_say(cli, "\nWhat binds:");
    for (uint32_t i = 0; i < CAUSES; i++) {
        uint32_t most = i;
        for (uint32_t j = i + 1; j < CAUSES; j++) {
            most = causes[j].ps > causes[most].ps ? j : most;
        }
        struct cause next = causes[most];
        causes[most] = causes[i];
        causes[i] = next;
        double share = PERCENT * (double)next.ps / (double)estimate->iteration_ps;
        if (share >= 0.05) {
            cli_say(cli, "%s %s %.1f %%", i > 0 ? "," : "", next.name, share);
        }
    }
    cli_say(cli, ".\n");
}

static void print_rails(struct cli *cli, const struct weft_buy_row *row)
{
    const struct weft_hybrid_rails *rails = &row->rails;
    if (rails->exchanges == 0) {
        return;
    }
    unsigned long long all = rails->exchanges;
    unsigned long long crossing = rails->crossing;
    if (crossing == 0) {
        cli_say(cli, "\nRails: no exchange between servers leaves its rail (%llu looked at)", all);
    } else {
        cli_say(cli, "\nRails: %llu of %llu exchanges between servers leave their rail, %s first",
                crossing, all, rails->crosses);
    }
    cli_say(cli, "%s%s.\n", row->rails_note != NULL ? "; " : "",
            row->rails_note != NULL ? row->rails_note : "");
}

static void print_launch(struct cli *cli, const struct weft_launch *launch, bool markdown)
{
    if (launch->torchrun == NULL) {
        return;
    }
    const char *fence = markdown ? "```\n" : "";
    cli_say(cli, "\nLaunch:\n\n%s  torchrun %s \\\n    pretrain_gpt.py \\\n    %s \\\n    %s\n%s",
            fence, launch->torchrun, launch->megatron, launch->model, fence);
    if (launch->without_flag != NULL) {
        cli_say(cli, "\nWithout a flag: %s.\n", launch->without_flag);
    }
}

static void print_training(struct cli *cli, const struct weft_buy_result *result,
                           const struct weft_buy_row *row)
{
    if (!(row->tokens_per_s > 0)) {
        return;
    }
    if (!(result->tokens > 0)) {
        cli_say(cli, "\nTraining: --tokens 300G says how long so many tokens take.\n");
        return;
    }
    const struct weft_buy_training *training = &row->training;
    bool trillions = result->tokens >= 1e12;
    cli_say(cli, "\nTraining on %.4g%s tokens: %.1f days, %s accelerator hours",
            result->tokens / (trillions ? 1e12 : 1e9), trillions ? "T" : "G", training->days,
            grouped(cli, training->accelerator_hours));
    if (training->kwh > 0) {
        cli_say(cli,
                ", %s kWh (accelerators at their makers' watts and the network, without hosts "
                "and cooling)",
                grouped(cli, training->kwh));
    }
    cli_say(cli, ".\n");
}

static void print_storage(struct cli *cli, const struct weft_buy_result *result)
{
    char bytes[WEFT_UNIT_TEXT];
    char rate[WEFT_UNIT_TEXT];
    char time[WEFT_UNIT_TEXT];
    const struct weft_buy_storage *storage = &result->storage;
    const struct weft_storage *stated = &result->cluster.storage;
    if (storage->bill.row_count > 0) {
        cli_say(
            cli,
            "\nStorage: a checkpoint of parameters and optimizer state is %s; over %u port%s of "
            "%s a server it takes at least %s to write or to load, all servers at once and "
            "storage no slower.\n",
            weft_show_bytes(bytes, storage->checkpoint_bytes), stated->ports,
            stated->ports == 1 ? "" : "s", weft_show_rate(rate, stated->rate_Bps),
            weft_show_time(time, weft_picoseconds(storage->checkpoint_s)));
    }
}

static void print_head(struct cli *cli, const struct weft_buy_result *result)
{
    char unit[WEFT_UNIT_TEXT];
    char carried[WEFT_UNIT_TEXT];
    const struct weft_cluster *cluster = &result->cluster;
    cli_say(cli, "%s on %u servers of %u %s, %u ports of %s each%s%s%s, balance %s\n",
            result->model.name, cluster->server_count, cluster->accelerators_per_server,
            cluster->accelerator, cluster->degree,
            weft_show_rate(unit, weft_cluster_nic_rate(cluster)),
            cluster->nic_Bps > 0 ? " (host links carry " : "",
            cluster->nic_Bps > 0 ? weft_show_rate(carried, cluster->rate_Bps) : "",
            cluster->nic_Bps > 0 ? ")" : "", weft_balance_words[cluster->balance]);
    if (result->stopped) {
        cli_say(cli, "left unfinished: what was found until then\n");
    }
}

// The whole answer in words: the rows, which to take, its bill, what binds, rails, launch,
// training, how sure that is, and what would change.
static void print(struct cli *cli, const struct weft_buy_result *result)
{
    const struct weft_buy_row *row = weft_buy_answer(result);
    struct sheet sheet = {.cli = cli};
    print_head(cli, result);
    print_fabrics(&sheet, result);
    print_why_not(cli, result);
    if (row == NULL) {
        return;
    }
    if (row->found.why_estimated != NULL) {
        cli_say(cli, "\n%s is by estimate: %s.\n", row->fabric, row->found.why_estimated);
    }
    print_advice(cli, result, row);
    print_bill(&sheet, row);
    print_binding(cli, row);
    print_rails(cli, row);
    print_launch(cli, &row->launch, cli->form == CLI_MARKDOWN);
    print_training(cli, result, row);
    print_storage(cli, result);
    cli_say(cli, "\nHow sure: %s.\n", result->sureness);
    print_changes(&sheet, result);
}

bool cli_buy_run(struct cli *cli, struct cli_buy *buy)
{
    struct weft_buy_request *request = &buy->request;
    request->job = cli->given.job;
    request->hardware = cli->given.hardware;
    request->seconds = cli->given.search.seconds;
    struct weft_buy_result result;
    bool found = weft_request_buy(&result, request, cli_environment(cli, cli_clock_watch(cli)));
    cli_clock_stop(cli);
    if (!found) {
        return false;
    }
    result.wall_s = cli_elapsed_s(cli);
    if (cli->json) {
        cli_say(cli, "%s", weft_request_buy_json(&result, &cli->arena));
    } else {
        print(cli, &result);
    }
    return true;
}
