// SPDX-License-Identifier: Apache-2.0
// weft models: the models that are known by name, or one model operator by operator. The request of
// weft/request/models.h builds the models; this file folds operators that differ in the numbers of
// their names alone into one row.

#include "weft/request/models.h"
#include "cli.h"
#include "weft/report.h"

#include <ctype.h>
#include <string.h>

// What the options say.
struct models_input {
    struct cli *cli;
    struct weft_models_request request;
};

static const char doc[] =
    "Lists the models that Weft knows by name, or takes one apart: its operators with the shape of "
    "their outputs, their parameters and the FLOPs of a sample's forward pass (a multiply and an "
    "add are two).\v"
    "A sample is an image, a sentence or a click; batch is the samples of one iteration, all "
    "servers together. Kept is what a sample leaves in memory for the backward pass, without "
    "recomputation. Where a mixture of experts passes a token through some of its parameters only, "
    "active counts those. Equal operators whose names differ in numbers are one row: table_*. A "
    "model of "
    "your "
    "own is a file, whose name has a / or ends in .yaml (docs/models.md).\n"
    "\n"
    "Examples:\n"
    "  $ weft models\n"
    "  $ weft models dlrm-16\n"
    "  $ weft models examples/models/small-cnn.yaml\n"
    "  $ weft models llama3-70b --json\n";

// ---- tables ----

// "138.4 M", four digits.
static const char *show_count(double value, struct weft_arena *arena)
{
    static const char *const prefixes[] = {"", " k", " M", " G", " T", " P", " E"};
    uint32_t i = 0;
    while (value >= 999.95 && i + 1 < sizeof prefixes / sizeof prefixes[0]) {
        value /= 1000;
        i++;
    }
    return weft_arena_format(arena, i == 0 ? "%.0f%s" : "%.4g%s", value, prefixes[i]);
}

static struct weft_table_cell count_cell(double value, struct weft_arena *arena)
{
    return weft_cell_figure(show_count(value, arena), "", value);
}

static const char *show_bytes(double size_bytes, struct weft_arena *arena)
{
    char text[WEFT_UNIT_TEXT];
    return weft_arena_format(arena, "%s", weft_show_bytes(text, size_bytes));
}

#define ZOO_COLUMNS 6

static void print_zoo(struct cli *cli, const struct weft_models_result *result)
{
    static const struct weft_table_column columns[ZOO_COLUMNS] = {
        {"model", WEFT_ALIGN_LEFT},         {"parameters", WEFT_ALIGN_RIGHT},
        {"forward FLOP", WEFT_ALIGN_RIGHT}, {"kept", WEFT_ALIGN_RIGHT},
        {"batch", WEFT_ALIGN_RIGHT},        {"what", WEFT_ALIGN_LEFT},
    };
    uint32_t count = result->model_count;
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)count * ZOO_COLUMNS);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_model *model = &result->models[i];
        struct weft_table_cell *row = cells + (size_t)i * ZOO_COLUMNS;
        row[0].text = result->zoo[i].name;
        row[1] = count_cell((double)model->parameters, &cli->arena);
        row[2] = count_cell(model->forward_flops, &cli->arena);
        row[3] = weft_cell_bytes(&cli->arena, weft_model_kept_bytes(model));
        row[4] = weft_cell_count(&cli->arena, model->batch);
        row[5].text = result->zoo[i].summary;
    }
    cli_table(cli, columns, ZOO_COLUMNS, cells, count);
    cli_say(cli, "\nFLOP and kept bytes are those of one sample.\n");
}

// Operators that differ in the numbers of their names alone are one row.
struct row {
    const char *name; // "layer_*_attention"
    const struct weft_operator *op;
    uint32_t times;
};

// "table_12" -> "table_*"
static const char *fold_numbers(const char *name, struct weft_arena *arena)
{
    char *folded = weft_arena_text(arena, name, strlen(name));
    size_t length = 0;
    for (size_t i = 0; name[i] != '\0'; i++) {
        bool number = isdigit((unsigned char)name[i]) && i > 0 &&
                      (name[i - 1] == '_' || (length > 0 && folded[length - 1] == '*'));
        if (!number) {
            folded[length++] = name[i];
        } else if (folded[length - 1] != '*') {
            folded[length++] = '*';
        }
    }
    folded[length] = '\0';
    return folded;
}

static bool same_work(const struct weft_operator *a, const struct weft_operator *b)
{
    return a->spec.kind == b->spec.kind && a->parameters == b->parameters && a->rank == b->rank &&
           memcmp(a->shape, b->shape, sizeof a->shape) == 0 && a->forward_flops == b->forward_flops;
}

static uint32_t fold_rows(struct row *rows, const struct weft_model *model,
                          struct weft_arena *arena)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->operator_count; i++) {
        const struct weft_operator *op = &model->operators[i];
        const char *name = fold_numbers(op->spec.name, arena);
        uint32_t at = 0;
        while (at < count && (strcmp(rows[at].name, name) != 0 || !same_work(rows[at].op, op))) {
            at++;
        }
        if (at == count) {
            rows[count++] = (struct row){name, op, 0};
        }
        rows[at].times++;
    }
    return count;
}

static const char *show_shape(const struct weft_operator *op, struct weft_arena *arena)
{
    const char *text = "";
    for (uint32_t i = 0; i < op->rank; i++) {
        text = weft_arena_format(arena, "%s%s%llu", text, i > 0 ? " x " : "",
                                 (unsigned long long)op->shape[i]);
    }
    return text;
}

#define MODEL_COLUMNS 7

// A row for each kind of operator, in the order of the model. Inputs have no parameters and no
// work.
static void print_operators(struct cli *cli, const struct weft_model *model)
{
    static const struct weft_table_column columns[MODEL_COLUMNS] = {
        {"operator", WEFT_ALIGN_LEFT},    {"kind", WEFT_ALIGN_LEFT},
        {"times", WEFT_ALIGN_RIGHT},      {"output", WEFT_ALIGN_RIGHT},
        {"parameters", WEFT_ALIGN_RIGHT}, {"forward FLOP", WEFT_ALIGN_RIGHT},
        {"kept", WEFT_ALIGN_RIGHT},
    };
    struct weft_arena *arena = &cli->arena;
    struct row *rows = WEFT_NEW(arena, struct row, model->operator_count);
    uint32_t count = fold_rows(rows, model, arena);
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)count * MODEL_COLUMNS);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_operator *op = rows[i].op;
        double kept_bytes = (double)op->kept_elements * weft_dtype_bytes(op->spec.dtype);
        struct weft_table_cell *row = cells + (size_t)i * MODEL_COLUMNS;
        row[0].text = rows[i].times > 1 ? rows[i].name : op->spec.name;
        row[1].text = weft_operator_kind_name(op->spec.kind);
        row[2] = weft_cell_count(arena, rows[i].times);
        row[3].text = show_shape(op, arena);
        if (op->spec.kind != WEFT_OP_INPUT) {
            row[4] = count_cell((double)op->parameters, arena);
            row[5] = count_cell(op->forward_flops, arena);
            row[6] = weft_cell_bytes(arena, kept_bytes);
        }
    }
    cli_table(cli, columns, MODEL_COLUMNS, cells, count);
}

static void print_model(struct cli *cli, const struct weft_model *model)
{
    struct weft_arena *arena = &cli->arena;
    uint64_t active = weft_model_active_parameters(model);
    cli_say(cli, "%s: %s parameters", model->name, show_count((double)model->parameters, arena));
    if (active < model->parameters) {
        cli_say(cli, " (%s active)", show_count((double)active, arena));
    }
    cli_say(cli, " in %u operators; %s forward FLOP a sample, %s kept, batch %llu\n",
            model->operator_count, show_count(model->forward_flops, arena),
            show_bytes(weft_model_kept_bytes(model), arena), (unsigned long long)model->batch);
    cli_say(cli, "from %s\n\n", model->source);
    print_operators(cli, model);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct models_input *input = state->input;
    if (key == ARGP_KEY_ARG) {
        return cli_take(input->cli, &input->request.model, argument, "model");
    }
    return ARGP_ERR_UNKNOWN;
}

int cli_models(int argc, char **argv)
{
    static const struct cli_verb verb = {.name = "weft models",
                                         .arguments = "[NAME|FILE.yaml]",
                                         .doc = doc,
                                         .parser = parse,
                                         .groups = CLI_TABLES};
    struct cli cli;
    struct models_input input = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &input)) {
        return cli_finish(&cli, false);
    }
    struct weft_models_result result;
    if (!weft_request_models(&result, &input.request, cli_environment(&cli, NULL))) {
        return cli_finish(&cli, false);
    }
    if (cli.json) {
        cli_say(&cli, "%s", weft_request_models_json(&result, &cli.arena));
    } else if (result.zoo != NULL) {
        print_zoo(&cli, &result);
    } else {
        print_model(&cli, &result.models[0]);
    }
    return cli_finish(&cli, true);
}
