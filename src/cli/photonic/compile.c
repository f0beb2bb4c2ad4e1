// SPDX-License-Identifier: Apache-2.0
// weft photonic compile: a net as a program of the datapath of light.

#include "photonic.h"
#include "weft/request/photonic_net.h"

#include <string.h>

enum { KEY_WEIGHTS = 1, KEY_WAVELENGTHS, KEY_PREAMBLE, KEY_MEMORY, KEY_BUFFER, KEY_ACCUMULATOR };

static const struct argp_option options[] = {
    {"weights", KEY_WEIGHTS, "DIR", 0, "where the list's files of weights are (beside the list)",
     0},
    {"wavelengths", KEY_WAVELENGTHS, "W", 0,
     "that multiply side by side, 16 activations each a cycle (1)", 0},
    {"preamble", KEY_PREAMBLE, "CYCLES", 0, "at the begin of each layer (10)", 0},
    {"memory", KEY_MEMORY, "SIZE", 0, "of the weights, a byte each (64MiB)", 0},
    {"buffer", KEY_BUFFER, "VALUES", 0, "of the buffers between layers (65536)", 0},
    {"accumulator", KEY_ACCUMULATOR, "BITS", 0, "that sums must fit into (32)", 0},
    {0},
};

static const char doc[] =
    "Compiles a net for the datapath of light: weights to 8 bits and a sign, layers to rows of the "
    "program, both to memory images, and says how many cycles an input takes.\v"
    "LAYERS.json lists dense, conv and maxpool layers with files of float32 weights "
    "(docs/lightning.md). It is refused, with what would do, where a layer does not fit the "
    "memories or a sum could overflow, over all inputs. A list without weights is only counted, "
    "and "
    "so is a model of weft models, with what of it is left to a host. With -o the folder is "
    "written whole or not at all; weft photonic run runs it.\n"
    "Cycles are exact where memory keeps up: data (one word of 16 W products each), stalls for "
    "patches of a convolution, and overhead (preamble, light, pipeline, change of layer).\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic compile layers.json -o digits\n"
    "  $ weft photonic compile layers.json --wavelengths 4 --json\n"
    "  $ weft photonic compile vgg16\n";

struct compile_input {
    struct cli *cli;
    struct weft_photonic_compile_request request;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct compile_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_photonic_compile_options *set = &input->request.options;
    switch (key) {
    case KEY_WEIGHTS:
        input->request.weights = argument;
        return 0;
    case KEY_WAVELENGTHS:
        return cli_count(cli, &set->wavelengths, "wavelengths", argument, 1, 64);
    case KEY_PREAMBLE:
        return cli_count(cli, &set->preamble, "preamble", argument, 2, 4096);
    case KEY_MEMORY:
        return cli_value(cli,
                         weft_parse_bytes(&set->limits.weight_bytes, argument, &cli->error) &&
                             (set->limits.weight_bytes > 0 ||
                              weft_fail(&cli->error, WEFT_INPUT, "0 holds nothing")),
                         "memory");
    case KEY_BUFFER:
        return cli_count(cli, &set->limits.activation_count, "buffer", argument, 1, 1u << 30);
    case KEY_ACCUMULATOR:
        return cli_count(cli, &set->limits.accumulator_bits, "accumulator", argument, 8, 32);
    case ARGP_KEY_ARG:
        return cli_take(cli, &input->request.model, argument, "net");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "which net? write %s LAYERS.json, or a model of weft models",
                         cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

enum { COLUMNS = 8 };

static void print_layers(struct cli *cli, const struct weft_photonic_compile_result *result)
{
    static const struct weft_table_column columns[COLUMNS] = {
        {"layer", WEFT_ALIGN_LEFT},         {"inputs", WEFT_ALIGN_RIGHT},
        {"sums", WEFT_ALIGN_RIGHT},         {"words a sum", WEFT_ALIGN_RIGHT},
        {"macs", WEFT_ALIGN_RIGHT},         {"data cycles", WEFT_ALIGN_RIGHT},
        {"stall cycles", WEFT_ALIGN_RIGHT}, {"overhead", WEFT_ALIGN_RIGHT},
    };
    uint32_t count = result->program.row_count;
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)count * COLUMNS);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_photonic_row *row = &result->program.rows[i];
        const struct weft_photonic_layer_cycles *cycles = &result->layers[i];
        struct weft_table_cell *cell = cells + (size_t)i * COLUMNS;
        cell[0].text = result->program.names[i];
        const uint64_t values[COLUMNS - 1] = {
            row->inputs,  row->sums,      row->words,      weft_photonic_row_macs(row),
            cycles->data, cycles->stalls, cycles->overhead};
        for (uint32_t j = 1; j < COLUMNS; j++) {
            cell[j] = weft_cell_count(&cli->arena, values[j - 1]);
        }
    }
    cli_table(cli, columns, COLUMNS, cells, count);
}

// What is left, once for each kind and reason.
static void print_left(struct cli *cli, const struct weft_photonic_compile_result *result)
{
    for (uint32_t i = 0; i < result->left_count; i++) {
        const struct weft_photonic_left *left = &result->left[i];
        uint32_t same = 0, before = 0;
        for (uint32_t j = 0; j < result->left_count; j++) {
            bool equal = result->left[j].kind == left->kind &&
                         strcmp(result->left[j].reason, left->reason) == 0;
            same += equal;
            before += equal && j < i;
        }
        if (before == 0) {
            cli_say(cli, "left to a host: %u %s (%s%s): %s\n", same,
                    weft_operator_kind_name(left->kind), left->name, same > 1 ? ", ..." : "",
                    left->reason);
        }
    }
}

static void print(struct cli *cli, const struct weft_photonic_compile_result *result)
{
    uint64_t data = 0;
    for (uint32_t i = 0; i < result->program.row_count; i++) {
        data += result->layers[i].data;
    }
    print_layers(cli, result);
    // A cycle is that of Lightning's fabric: 4.055 Gsample/s, 16 samples each.
    char time[WEFT_UNIT_TEXT];
    cli_say(cli, "\n%llu cycles an input, %llu of them data; %s at 253.4375 MHz\n",
            (unsigned long long)result->total_cycles, (unsigned long long)data,
            weft_show_time(time, weft_picoseconds((double)result->total_cycles / 253.4375e6)));
    print_left(cli, result);
    if (!result->runs) {
        cli_say(cli, "only counted: there are no weights\n");
    }
    if (result->output != NULL) {
        cli_say(cli, "%s: %u files\n", result->output, result->file_count);
    }
}

int photonic_compile(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic compile",
        .arguments = "LAYERS.json\nMODEL",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_OUTPUT_FOLDER | CLI_TABLES,
    };
    struct cli cli;
    struct compile_input input = {.cli = &cli};
    struct weft_photonic_compile_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input);
    if (fine) {
        input.request.output = cli.output_path;
        fine = weft_request_photonic_compile(&result, &input.request, cli_environment(&cli, NULL));
        cli.output_path = NULL; // is written; what is said goes to stdout
    }
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_photonic_compile_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
