// SPDX-License-Identifier: Apache-2.0
// weft profile: what each operator of a model costs, and how that is known. The options become a
// request of weft/request/profile.h, its result a table or JSON, and with -o a profile of every
// operator in every split for measurements to be written into.

#include "weft/request/profile.h"
#include "cli.h"
#include "weft/format.h"
#include "weft/report.h"

#include <string.h>

// What the options say.
struct profile_input {
    struct cli *cli;
    struct weft_profile_request request;
};

enum { KEY_ACCELERATOR = 1, KEY_ACCELERATORS, KEY_BATCH, KEY_CLUSTER, KEY_PROFILE, KEY_SERVERS };

static const struct argp_option options[] = {
    {"cluster", KEY_CLUSTER, "FILE.yaml", 0, "servers and accelerators from a cluster file", 0},
    {"servers", KEY_SERVERS, "N", 0, "servers that share the job", 0},
    {"accelerator", KEY_ACCELERATOR, "NAME", 0,
     "V100, A100-40GB, A100 (80 GB), H100, H800, H200, B200, GB200, MI300X, MI355X, TPU-v4, "
     "TPU-v5p or Trainium2; default A100",
     0},
    {"accelerators", KEY_ACCELERATORS, "N", 0, "accelerators a server; default 4", 0},
    {"batch", KEY_BATCH, "N", 0, "samples of one iteration, all servers together", 0},
    {"profile", KEY_PROFILE, "FILE.json", 0, "measured times, which win over the roofline", 0},
    {0},
};

static const char doc[] =
    "Says what each operator of a model costs on one server, and where the figure comes from: "
    "measured (--profile) or the roofline of the accelerator. -o writes a profile of every "
    "operator in every split: put your own measurements into it and hand it back with --profile.\v"
    "A split is sample parts x parameter parts; a server's accelerators share a part by samples, "
    "tables by columns. The table shows data parallelism, the JSON every split. limit is what the "
    "roofline is made of most: flops, memory or launch (of kernels). TFLOP/s is what one "
    "accelerator reaches forward and backward. With --profile, roofline/measured says how far the "
    "roofline is from the measurement, forward and backward: 1 is right, 0.5 promises half of the "
    "time. docs/costs.md has the method and its accuracy.\n"
    "\n"
    "Examples:\n"
    "  $ weft profile dlrm-16 --servers 16\n"
    "  $ weft profile vgg16-16 cluster.yaml -o profile.json\n"
    "  $ weft profile vgg16-16 cluster.yaml --profile profile.json --json\n";

// Takes the options. They are this verb's own and not the groups' of hardware and model, since a
// profile needs neither ports nor rates.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct profile_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_profile_request *request = &input->request;
    switch (key) {
    case KEY_CLUSTER:
        return cli_take(cli, &request->cluster_path, argument, "cluster");
    case KEY_SERVERS:
        return cli_count(cli, &request->server_count, "servers", argument, 1,
                         WEFT_CLUSTER_SERVERS_MAX);
    case KEY_ACCELERATOR:
        return cli_value(cli, weft_accelerator_named(&request->accelerator, argument, &cli->error),
                         "accelerator");
    case KEY_ACCELERATORS:
        return cli_count(cli, &request->accelerators_per_server, "accelerators", argument, 1, 4096);
    case KEY_BATCH:
        return cli_value(
            cli, weft_parse_count(&request->batch, argument, 1, (uint64_t)1 << 40, &cli->error),
            "batch");
    case KEY_PROFILE:
        return cli_take(cli, &request->profile_path, argument, "profile");
    case ARGP_KEY_ARG:
        return request->model == NULL ? cli_take(cli, &request->model, argument, "model")
                                      : cli_take(cli, &request->cluster_path, argument, "cluster");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "which model? write %s dlrm-16 --servers 16; weft models lists them",
                         cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define COLUMNS 11

// One operator in the split that the table shows. Where it was measured, the last cell has the
// ratio of the roofline to the measurement, forward and backward.
static void fill_cells(struct weft_table_cell *cells, const struct weft_profile_row *row,
                       const struct weft_model *model, struct weft_arena *arena)
{
    const struct weft_split_cost *shown = row->shown;
    const struct weft_operator_cost *cost = &shown->cost;
    const char *plural = row->count > 1 ? " ..." : "";
    cells[0].text =
        weft_arena_format(arena, "%.40s%s", model->operators[row->op].spec.name, plural);
    cells[1] = weft_cell_count(arena, row->count);
    cells[2].text = row->profile_name;
    cells[3].text =
        weft_arena_format(arena, "%ux%u", shown->split.sample_parts, shown->split.parameter_parts);
    cells[4] = weft_cell_time(arena, weft_seconds(cost->forward_ps));
    cells[5] = weft_cell_time(arena, weft_seconds(cost->backward_ps));
    if (shown->forward_flops_per_s > 0) {
        cells[9] = weft_cell_figure(NULL, "", shown->forward_flops_per_s);
        cells[10] = weft_cell_figure(NULL, "", shown->backward_flops_per_s);
    }
    cells[6].text = shown->forward_flops_per_s > 0
                        ? weft_arena_format(arena, "%.3g %.3g", shown->forward_flops_per_s / 1e12,
                                            shown->backward_flops_per_s / 1e12)
                        : "";
    cells[7].text =
        weft_arena_format(arena, "%s %s", weft_cost_limit_name(shown->roofline.forward_limit),
                          weft_cost_limit_name(shown->roofline.backward_limit));
    cells[8].text = weft_cost_source_name(cost->source);
    if (cost->source == WEFT_COST_MEASURED && cost->forward_ps > 0 && cost->backward_ps > 0) {
        cells[8].text =
            weft_arena_format(arena, "measured (%.2f %.2f)",
                              (double)shown->roofline.forward_ps / (double)cost->forward_ps,
                              (double)shown->roofline.backward_ps / (double)cost->backward_ps);
    }
}

// How near the roofline comes to the measurements, for each kind of operator that was measured.
static void print_accuracy(struct cli *cli, const struct weft_profile_accuracy *by_kind)
{
    static const struct weft_table_column columns[] = {
        {"roofline/measured", WEFT_ALIGN_LEFT}, {"splits", WEFT_ALIGN_RIGHT},
        {"forward", WEFT_ALIGN_RIGHT},          {"range", WEFT_ALIGN_SHOWN},
        {"forward low", WEFT_ALIGN_SHEET},      {"forward high", WEFT_ALIGN_SHEET},
        {"backward", WEFT_ALIGN_RIGHT},         {"range", WEFT_ALIGN_SHOWN},
        {"backward low", WEFT_ALIGN_SHEET},     {"backward high", WEFT_ALIGN_SHEET},
    };
    enum { ACCURACY_COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_table_cell cells[WEFT_OP_KIND_COUNT * ACCURACY_COLUMNS] = {0};
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < WEFT_OP_KIND_COUNT; kind++) {
        const struct weft_profile_accuracy *accuracy = &by_kind[kind];
        if (accuracy->count == 0) {
            continue;
        }
        struct weft_table_cell *row = cells + (size_t)count++ * ACCURACY_COLUMNS;
        (row++)->text = weft_operator_kind_name(kind);
        *row++ = weft_cell_count(&cli->arena, accuracy->count);
        for (uint32_t i = 0; i < 2; i++) {
            *row++ = weft_cell_number(&cli->arena, 2, accuracy->mean[i]);
            (row++)->text =
                weft_arena_format(&cli->arena, "%.2f-%.2f", accuracy->low[i], accuracy->high[i]);
            *row++ = weft_cell_number(&cli->arena, 2, accuracy->low[i]);
            *row++ = weft_cell_number(&cli->arena, 2, accuracy->high[i]);
        }
    }
    if (count > 0) {
        cli_say(cli, "\n");
        cli_table(cli, columns, ACCURACY_COLUMNS, cells, count);
    }
}

// The table of operators, an average server's time, and the accuracy where there are measurements.
static void print(struct cli *cli, const struct weft_profile_result *result)
{
    static const struct weft_table_column columns[COLUMNS] = {
        {"operator", WEFT_ALIGN_LEFT},         {"x", WEFT_ALIGN_RIGHT},
        {"profile", WEFT_ALIGN_LEFT},          {"parts", WEFT_ALIGN_RIGHT},
        {"forward", WEFT_ALIGN_RIGHT},         {"backward", WEFT_ALIGN_RIGHT},
        {"TFLOP/s", WEFT_ALIGN_SHOWN},         {"limit", WEFT_ALIGN_LEFT},
        {"source", WEFT_ALIGN_LEFT},           {"forward FLOP/s", WEFT_ALIGN_SHEET},
        {"backward FLOP/s", WEFT_ALIGN_SHEET},
    };
    const struct weft_model *model = &result->model;
    cli_say(cli, "%s, batch %llu, %u servers of %u %s\n\n", model->name,
            (unsigned long long)model->batch, result->server_count,
            result->costs.accelerators_per_server, result->costs.accelerator->name);
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)result->row_count * COLUMNS + 1);
    for (uint32_t i = 0; i < result->row_count; i++) {
        fill_cells(cells + (size_t)i * COLUMNS, &result->rows[i], model, &cli->arena);
    }
    cli_table(cli, columns, COLUMNS, cells, result->row_count);
    char forward[WEFT_UNIT_TEXT];
    char backward[WEFT_UNIT_TEXT];
    cli_say(cli, "\nan average server: forward %s, backward %s\n",
            weft_show_time(forward, weft_picoseconds(result->forward_s)),
            weft_show_time(backward, weft_picoseconds(result->backward_s)));
    print_accuracy(cli, result->accuracy);
}

static bool run(struct profile_input *input)
{
    struct cli *cli = input->cli;
    struct weft_profile_result result;
    if (!weft_request_profile(&result, &input->request, cli_environment(cli, NULL))) {
        return false;
    }
    if (cli->output_path != NULL) {
        const char *text = weft_profile_write(&result.full, &cli->arena);
        if (!weft_file_save(cli->output_path, text, strlen(text), &cli->error)) {
            return false;
        }
        cli->output_path = NULL; // is written; what follows goes to stdout
    }
    if (cli->json) {
        cli_say(cli, "%s", weft_request_profile_json(&result, &input->request, &cli->arena));
    } else {
        print(cli, &result);
    }
    return true;
}

int cli_profile(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft profile",
        .arguments = "MODEL CLUSTER.yaml\nMODEL --servers N",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct profile_input input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
