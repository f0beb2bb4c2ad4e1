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
    const char *name = key == CLI_KEY_TOKENS             ? "tokens"
                       : key == CLI_KEY_RADIX            ? "radix"
                       : key == CLI_KEY_OVERSUBSCRIPTION ? "oversubscription"
                       : key == CLI_KEY_SWITCH           ? "switch"
                       : key == CLI_KEY_DARK_TIME        ? "dark-time"
                       : key == CLI_KEY_DELAYS           ? "delays"
                                                         : NULL;
    if (name == NULL) {
        return ARGP_ERR_UNKNOWN;
    }
    buy->given = true;
    buy->last = name;
    return cli_parameter(cli, &parameters, name, argument);
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

// "-" where there is none.
static void put_share_of(struct sheet *sheet, double share)
{
    if (share > 0) {
        put_share(sheet, share);
    } else {
        put(sheet, "-");
    }
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
            put(sheet, weft_buy_by(row));
            put_time(sheet, row->estimate_s);
            put_share_of(sheet, row->mfu); // strategies of operators have none
            if (row->tokens_per_s > 0) {
                put_count(sheet, row->tokens_per_s);
            } else { // of a model without tokens
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

// What the rows whose circuits move lose to it.
static void print_moving(struct sheet *sheet, const struct weft_buy_batch *batch)
{
    static const struct weft_table_column columns[] = {
        {"fabric", WEFT_ALIGN_LEFT},       {"dark time", WEFT_ALIGN_RIGHT},
        {"iteration", WEFT_ALIGN_RIGHT},   {"without it", WEFT_ALIGN_RIGHT},
        {"lower bound", WEFT_ALIGN_RIGHT}, {"changes", WEFT_ALIGN_RIGHT},
        {"ports dark", WEFT_ALIGN_RIGHT},
    };
    begin(sheet, columns, sizeof columns / sizeof columns[0], batch->row_count);
    for (uint32_t r = 0; r < batch->row_count; r++) {
        const struct weft_moving_plan *plan = batch->rows[r].moving;
        if (plan == NULL) {
            continue;
        }
        put(sheet, batch->rows[r].fabric);
        put_time(sheet, weft_seconds(plan->schedule.delays.dark_ps));
        put_time(sheet, plan->iteration_s);
        put_time(sheet, plan->still_s);
        put_time(sheet, plan->certificate.lower_bound_s);
        put_count(sheet, (double)plan->change_count);
        put_share(sheet, plan->dark_share);
    }
    if (sheet->filled > 0) {
        end(sheet);
    }
}

// Shares of time that ports are dark, by dark time; only of those whose circuits move.
static void print_dark_shares(struct sheet *sheet, const struct weft_buy_result *result)
{
    const struct weft_buy_batch *batch = &result->batches[0];
    struct weft_table_column *columns =
        WEFT_NEW(&sheet->cli->arena, struct weft_table_column, (size_t)batch->row_count + 1);
    uint32_t count = 1;
    columns[0] = (struct weft_table_column){"ports dark", WEFT_ALIGN_RIGHT};
    for (uint32_t r = 0; r < batch->row_count; r++) {
        if (batch->rows[r].moving != NULL) {
            columns[count++] = (struct weft_table_column){batch->rows[r].fabric, WEFT_ALIGN_RIGHT};
        }
    }
    if (count == 1 || result->moved_count == 0) {
        return;
    }
    begin(sheet, columns, count, result->moved_count);
    for (uint32_t i = 0; i < result->moved_count; i++) {
        const struct weft_buy_moved *moved = &result->moved[i];
        put_time(sheet, weft_seconds(moved->dark_ps));
        for (uint32_t r = 0; r < batch->row_count; r++) {
            if (batch->rows[r].moving != NULL && moved->iteration_s[r] > 0) {
                put_share(sheet, moved->dark_share[r]);
            } else if (batch->rows[r].moving != NULL) {
                put(sheet, "-");
            }
        }
    }
    end(sheet);
}

// Iterations by dark time, and which fabric is the fastest.
static void print_moved(struct sheet *sheet, const struct weft_buy_result *result)
{
    const struct weft_buy_batch *batch = &result->batches[0];
    uint32_t count = batch->row_count + 2;
    struct weft_table_column *columns =
        WEFT_NEW(&sheet->cli->arena, struct weft_table_column, count);
    columns[0] = (struct weft_table_column){"dark time", WEFT_ALIGN_RIGHT};
    for (uint32_t r = 0; r < batch->row_count; r++) {
        columns[r + 1] = (struct weft_table_column){batch->rows[r].fabric, WEFT_ALIGN_RIGHT};
    }
    columns[count - 1] = (struct weft_table_column){"fastest", WEFT_ALIGN_LEFT};
    begin(sheet, columns, count, result->moved_count);
    for (uint32_t i = 0; i < result->moved_count; i++) {
        const struct weft_buy_moved *moved = &result->moved[i];
        put_time(sheet, weft_seconds(moved->dark_ps));
        for (uint32_t r = 0; r < batch->row_count; r++) {
            if (moved->iteration_s[r] > 0) {
                put_time(sheet, moved->iteration_s[r]);
            } else {
                put(sheet, "-");
            }
        }
        put(sheet, moved->fastest != WEFT_NONE ? batch->rows[moved->fastest].fabric : "-");
    }
    if (result->moved_count > 0) {
        end(sheet);
    }
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
        if (change->usd > 0) {
            put_usd(sheet, change->usd);
        } else {
            put(sheet, "-");
        }
    }
    if (result->change_count > 0) {
        end(sheet);
    }
}

// ---- sentences ----

// Why a row has no answer, or dollars that are no price of its switches.
static void print_notes(struct cli *cli, const struct weft_buy_result *result)
{
    for (uint32_t b = 0; b < result->batch_count; b++) {
        const struct weft_buy_batch *batch = &result->batches[b];
        for (uint32_t r = 0; r < batch->row_count; r++) {
            const struct weft_buy_row *row = &batch->rows[r];
            if (row->why_not != NULL) {
                cli_say(cli, "%s, batch %s: %s\n", row->fabric, grouped(cli, (double)batch->batch),
                        row->why_not);
            } else if (b == 0 && row->no_bill != NULL) {
                cli_say(cli, "%s: no switches are on its bill: %s\n", row->fabric, row->no_bill);
            }
            if (b == 0 && row->time_note != NULL) {
                cli_say(cli, "%s: %s\n", row->fabric, row->time_note);
            }
            if (b == 0 && row->price_note != NULL) {
                cli_say(cli, "%s: %s\n", row->fabric, row->price_note);
            }
        }
    }
}

static void say(struct cli *cli, const struct weft_report_sentence *sentence)
{
    if (sentence->words != NULL) {
        cli_say(cli, "\n%s: %s.\n", sentence->name, sentence->words);
    }
}

static void print_launch(struct cli *cli, const struct weft_launch *launch, bool markdown)
{
    const char *command = weft_buy_launch(launch, &cli->arena);
    if (command == NULL) {
        return;
    }
    const char *fence = markdown ? "```\n" : "";
    cli_say(cli, "\nLaunch:\n\n%s  %s\n%s", fence, command, fence);
    if (launch->without_flag != NULL) {
        cli_say(cli, "\nWithout a flag: %s.\n", launch->without_flag);
    }
}

// The whole answer in words: the rows, which to take, its bill, what binds, rails, launch,
// training, how sure that is, and what would change.
static void print(struct cli *cli, const struct weft_buy_result *result)
{
    const struct weft_buy_row *row = weft_buy_answer(result);
    struct sheet sheet = {.cli = cli};
    cli_say(cli, "%s on %s\n", result->model.name, weft_buy_head(result, &cli->arena));
    if (result->stopped) {
        cli_say(cli, "left unfinished: what was found until then\n");
    }
    print_fabrics(&sheet, result);
    print_moving(&sheet, &result->batches[0]);
    print_moved(&sheet, result);
    print_dark_shares(&sheet, result);
    print_notes(cli, result);
    if (row == NULL) {
        return;
    }
    struct weft_report_sentence said[WEFT_BUY_SENTENCES];
    weft_buy_say(said, result, row, &cli->arena);
    say(cli, &said[WEFT_BUY_ESTIMATED]);
    say(cli, &said[WEFT_BUY_DARK]);
    say(cli, &said[WEFT_BUY_ADVICE]);
    say(cli, &said[WEFT_BUY_NETWORK]);
    print_bill(&sheet, row);
    say(cli, &said[WEFT_BUY_BINDS]);
    say(cli, &said[WEFT_BUY_RAILS]);
    print_launch(cli, &row->launch, cli->form == CLI_MARKDOWN);
    say(cli, &said[WEFT_BUY_TRAINING]);
    say(cli, &said[WEFT_BUY_STORAGE]);
    say(cli, &said[WEFT_BUY_SURENESS]);
    print_changes(&sheet, result);
}

static bool save_plot(struct cli *cli, const char *path, const struct weft_buy_result *result)
{
    const struct weft_dark_chart *chart = weft_buy_dark_chart(result, &cli->arena);
    if (path == NULL || chart == NULL) {
        return true;
    }
    const char *svg = weft_report_svg_dark(chart, &cli->arena);
    return weft_file_save(path, svg, strlen(svg), &cli->error);
}

bool cli_buy_run(struct cli *cli, struct cli_buy *buy)
{
    struct weft_buy_request *request = &buy->request;
    request->job = cli->given.job;
    request->hardware = cli->given.hardware;
    request->seconds = cli->given.search.seconds;
    request->report = buy->report_path != NULL;
    if (request->report && !cli_origin(&request->origin, cli)) {
        return false;
    }
    struct weft_buy_result result;
    bool found = weft_request_buy(&result, request, cli_environment(cli, cli_clock_watch(cli)));
    cli_clock_stop(cli);
    if (!found ||
        (request->report &&
         !weft_file_save(buy->report_path, result.page, strlen(result.page), &cli->error)) ||
        !save_plot(cli, buy->plot_path, &result)) {
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
