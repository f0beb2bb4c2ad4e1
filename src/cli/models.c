// SPDX-License-Identifier: Apache-2.0
// weft models: the zoo, or one model operator by operator.

#include "cli.h"
#include "weft/format.h"
#include "weft/report.h"

#include <ctype.h>
#include <string.h>

struct request {
    struct cli *cli;
    const char *name; // NULL = the zoo
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

// ---- JSON ----

static json_t *operator_json(const struct weft_model *model, const struct weft_operator *op)
{
    const struct weft_operator_spec *spec = &op->spec;
    json_t *object = json_object();
    json_t *inputs = json_array();
    json_t *shape = json_array();
    json_t *tensors = json_array();
    for (uint32_t i = 0; i < spec->input_count; i++) {
        json_array_append_new(inputs, json_string(model->operators[spec->inputs[i]].spec.name));
    }
    for (uint32_t i = 0; i < op->rank; i++) {
        json_array_append_new(shape, json_integer((json_int_t)op->shape[i]));
    }
    for (uint32_t i = 0; i < op->tensor_count; i++) {
        json_array_append_new(tensors, json_integer((json_int_t)op->tensor_elements[i]));
    }
    cli_set_text(object, "name", spec->name);
    cli_set_text(object, "kind", weft_operator_kind_name(spec->kind));
    cli_set_text(object, "dtype", weft_dtype_name(spec->dtype));
    cli_set(object, "inputs", inputs);
    cli_set(object, "shape", shape);
    cli_set_count(object, "parameters", op->parameters);
    cli_set(object, "parameter_tensors", tensors);
    cli_set_real(object, "forward_flops_per_sample", op->forward_flops);
    cli_set_real(object, "backward_flops_per_sample", op->backward_flops);
    cli_set_count(object, "kept_bytes_per_sample",
                  op->kept_elements * weft_dtype_bytes(spec->dtype));
    return object;
}

static json_t *model_json(const struct weft_model *model, const char *summary)
{
    json_t *object = json_object();
    double backward = 0;
    for (uint32_t i = 0; i < model->operator_count; i++) {
        backward += model->operators[i].backward_flops;
    }
    cli_set_text(object, "name", model->name);
    if (summary != NULL) {
        cli_set_text(object, "summary", summary);
    }
    cli_set_text(object, "source", model->source);
    cli_set_count(object, "parameters", model->parameters);
    cli_set_count(object, "active_parameters", weft_model_active_parameters(model));
    cli_set_real(object, "forward_flops_per_sample", model->forward_flops);
    cli_set_real(object, "backward_flops_per_sample", backward);
    cli_set_real(object, "kept_bytes_per_sample", weft_model_kept_bytes(model));
    cli_set_count(object, "batch", model->batch);
    if (model->transformer != NULL) {
        cli_set_count(object, "layers", model->transformer->layers);
        cli_set_count(object, "tokens_per_sample", model->transformer->sequence);
    }
    cli_set_count(object, "operator_count", model->operator_count);
    return object;
}

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

static const char *show_bytes(double size_bytes, struct weft_arena *arena)
{
    char text[WEFT_UNIT_TEXT];
    return weft_arena_format(arena, "%s", weft_show_bytes(text, size_bytes));
}

#define ZOO_COLUMNS 6

static bool tell_zoo(struct cli *cli)
{
    static const struct weft_table_column columns[ZOO_COLUMNS] = {
        {"model", WEFT_ALIGN_LEFT},         {"parameters", WEFT_ALIGN_RIGHT},
        {"forward FLOP", WEFT_ALIGN_RIGHT}, {"kept", WEFT_ALIGN_RIGHT},
        {"batch", WEFT_ALIGN_RIGHT},        {"what", WEFT_ALIGN_LEFT},
    };
    uint32_t count = 0;
    const struct weft_zoo_entry *zoo = weft_model_zoo(&count);
    const char **cells = WEFT_NEW(&cli->arena, const char *, (size_t)count *ZOO_COLUMNS);
    for (uint32_t i = 0; i < count; i++) {
        struct weft_arena once = cli->scratch;
        struct weft_model model;
        if (!weft_model_named(&model, zoo[i].name, &once, &cli->error)) {
            return false;
        }
        const char **row = cells + (size_t)i * ZOO_COLUMNS;
        row[0] = zoo[i].name;
        row[1] = show_count((double)model.parameters, &cli->arena);
        row[2] = show_count(model.forward_flops, &cli->arena);
        row[3] = show_bytes(weft_model_kept_bytes(&model), &cli->arena);
        row[4] = weft_arena_format(&cli->arena, "%llu", (unsigned long long)model.batch);
        row[5] = zoo[i].summary;
    }
    cli_say(cli, "%s", weft_report_table(columns, ZOO_COLUMNS, cells, count, &cli->arena));
    cli_say(cli, "\nFLOP and kept bytes are those of one sample.\n");
    return true;
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

static void tell_operators(struct cli *cli, const struct weft_model *model)
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
    const char **cells = WEFT_NEW(arena, const char *, (size_t)count *MODEL_COLUMNS);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_operator *op = rows[i].op;
        double kept_bytes = (double)op->kept_elements * weft_dtype_bytes(op->spec.dtype);
        const char **row = cells + (size_t)i * MODEL_COLUMNS;
        row[0] = rows[i].times > 1 ? rows[i].name : op->spec.name;
        row[1] = weft_operator_kind_name(op->spec.kind);
        row[2] = weft_arena_format(arena, "%u", rows[i].times);
        row[3] = show_shape(op, arena);
        if (op->spec.kind != WEFT_OP_INPUT) {
            row[4] = show_count((double)op->parameters, arena);
            row[5] = show_count(op->forward_flops, arena);
            row[6] = show_bytes(kept_bytes, arena);
        }
    }
    cli_say(cli, "%s", weft_report_table(columns, MODEL_COLUMNS, cells, count, arena));
}

static void tell_model(struct cli *cli, const struct weft_model *model)
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
    tell_operators(cli, model);
}

// ---- the verb ----

static bool zoo_json(struct cli *cli)
{
    uint32_t count = 0;
    const struct weft_zoo_entry *zoo = weft_model_zoo(&count);
    json_t *object = cli_object("weft.models/1");
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) {
        struct weft_arena once = cli->scratch;
        struct weft_model model;
        if (!weft_model_named(&model, zoo[i].name, &once, &cli->error)) {
            json_decref(list);
            json_decref(object);
            return false;
        }
        json_array_append_new(list, model_json(&model, zoo[i].summary));
    }
    cli_set(object, "models", list);
    cli_json(cli, object);
    return true;
}

static bool one_model(struct cli *cli, const char *name)
{
    struct weft_model model;
    if (!cli_model(&model, cli, name)) {
        return false;
    }
    if (!cli->json) {
        tell_model(cli, &model);
        return true;
    }
    json_t *object = cli_object("weft.models/1");
    json_t *list = json_array();
    json_t *entry = model_json(&model, NULL);
    json_t *operators = json_array();
    for (uint32_t i = 0; i < model.operator_count; i++) {
        json_array_append_new(operators, operator_json(&model, &model.operators[i]));
    }
    cli_set(entry, "operators", operators);
    json_array_append_new(list, entry);
    cli_set(object, "models", list);
    cli_json(cli, object);
    return true;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    if (key == ARGP_KEY_ARG) {
        return cli_take(request->cli, &request->name, argument, "model");
    }
    return ARGP_ERR_UNKNOWN;
}

int cli_models(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft models", .arguments = "[NAME|FILE.yaml]", .doc = doc, .parser = parse};
    struct cli cli;
    struct request request = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &request)) {
        return cli_finish(&cli, false);
    }
    if (request.name != NULL) {
        return cli_finish(&cli, one_model(&cli, request.name));
    }
    return cli_finish(&cli, cli.json ? zoo_json(&cli) : tell_zoo(&cli));
}
