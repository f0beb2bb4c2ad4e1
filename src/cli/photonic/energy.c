// SPDX-License-Identifier: Apache-2.0
// weft photonic energy and weft photonic stop-and-go: what a net costs, part by part, and what it
// costs with a host between its layers.

#include "cli/photonic/photonic.h"
#include "weft/request/photonic_core.h"

// Each is the parameter of its name (weft_photonic_energy_parameters).
enum {
    KEY_WAVELENGTHS = 1000,
    KEY_POWER,
    KEY_PARTS,
    KEY_DRAM,
    KEY_BUS,
    KEY_BUS_RATE,
    KEY_WAKE,
    KEY_REARM,
    KEY_HOST_WATTS,
    KEY_WEIGHTS,
};

static const struct argp_option energy_options[] = {
    {"wavelengths", KEY_WAVELENGTHS, "W", 0, "16 activations each in a cycle (1)", 0},
    {"power", KEY_POWER, "NAME", 0,
     "whose figures: parts, lightning-1024, lightning-576, netcast, instruments (parts)", 0},
    {"parts", KEY_PARTS, "NAME=VALUE,...", 0,
     "other figures: modulators, dacs, adc of a sample, digital and whole of a MAC, sram, dram of "
     "a byte, in J; laser and fixed in W",
     0},
    {"dram", KEY_DRAM, NULL, 0, "weights come from DRAM for every inference", 0},
    {0},
};

static const struct argp_option stop_options[] = {
    {"wavelengths", KEY_WAVELENGTHS, "W", 0, "16 activations each in a cycle (1)", 0},
    {"power", KEY_POWER, "NAME", 0, "of the optics: as in weft photonic energy (parts)", 0},
    {"parts", KEY_PARTS, "NAME=VALUE,...", 0, "other figures, as there", 0},
    {"bus", KEY_BUS, "TIME", 0, "round trip of a small read over PCIe (547ns)", 0},
    {"bus-rate", KEY_BUS_RATE, "RATE", 0, "of samples and sums (57.88Gbps)", 0},
    {"wake", KEY_WAKE, "TIME", 0, "from interrupt to process (5us)", 0},
    {"rearm", KEY_REARM, "TIME", 0, "of converters, beside the transfers (0)", 0},
    {"host-watts", KEY_HOST_WATTS, "W", 0, "of the host while it has the net (250)", 0},
    {"weights", KEY_WEIGHTS, NULL, 0, "the host writes the weights' samples at each layer, too", 0},
    {0},
};

static const char energy_doc[] =
    "What an inference costs in energy on a photonic core: modulators, converters, laser, memory "
    "and adders apart, each with the source of its figure.\v"
    "NET is widths of dense layers, a layer list (.json) or a model of the zoo. Converters and "
    "laser run in every cycle of an inference, "
    "lanes that pad included; published totals of a whole core (lightning, netcast) are per MAC "
    "and name no parts. A figure that says 'assumed' has no source: set it.\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic energy 784-300-100-10\n"
    "  $ weft photonic energy 784-300-100-10 --dram --wavelengths 4 --parts laser=0.1,adc=1e-12\n"
    "  $ weft photonic energy vgg16 --power lightning-576 --json\n";

static const char stop_doc[] =
    "What count-action replaces: at each layer a host writes the samples of the activations, "
    "starts the converters, is woken, reads the sums and computes the activation. Latency and "
    "energy by the number of layers, beside the same light without a host.\v"
    "NET is widths of dense layers, a layer list (.json) or a model of the zoo. All are estimates: "
    "light is counted in cycles of the "
    "datapath, the host by the options' figures. stop-and-go joules are those of optics and "
    "converters, which stay on while they wait; host joules come on top.\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic stop-and-go 784-300-100-10\n"
    "  $ weft photonic stop-and-go 256-256-256-256-256 --wake 1us --weights --json\n";

struct energy_input {
    struct cli *cli;
    const struct argp_option *options;
    struct weft_photonic_energy_request request;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct energy_input *input = state->input;
    const struct cli_parameters parameters = {&input->request, weft_photonic_energy_parameters,
                                              weft_photonic_energy_parameter_count};
    for (uint32_t o = 0; input->options[o].name != NULL; o++) {
        if (input->options[o].key == key) {
            return cli_parameter(input->cli, &parameters, input->options[o].name, argument);
        }
    }
    switch (key) {
    case ARGP_KEY_ARG:
        return cli_take(input->cli, &input->request.net, argument, "net");
    case ARGP_KEY_END:
        return input->request.net != NULL
                   ? 0
                   : cli_usage(input->cli, "which net? write %s 784-300-100-10",
                               input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// "1.644 pJ"
static const char *joules(struct weft_arena *arena, double value)
{
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{1, "J"},      {1e-3, "mJ"},  {1e-6, "uJ"}, {1e-9, "nJ"},
                 {1e-12, "pJ"}, {1e-15, "fJ"}, {1e-18, "aJ"}};
    uint32_t u = 0;
    while (u + 1 < sizeof units / sizeof units[0] && value < 0.9999 * units[u].scale) {
        u++;
    }
    return value == 0 ? "0"
                      : weft_arena_format(arena, "%.4g %s", value / units[u].scale, units[u].unit);
}

static struct weft_table_cell joule_cell(struct weft_arena *arena, double value)
{
    return weft_cell_figure(joules(arena, value), "J", value);
}

static void print_energy(struct cli *cli, const struct weft_photonic_energy_result *result)
{
    static const struct weft_table_column columns[] = {
        {"part", WEFT_ALIGN_LEFT},   {"an inference", WEFT_ALIGN_RIGHT},
        {"a MAC", WEFT_ALIGN_RIGHT}, {"share", WEFT_ALIGN_RIGHT},
        {"source", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    const struct weft_photonic_energy *energy = &result->energy;
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell cells[(WEFT_PHOTONIC_PARTS + 1) * COLUMNS] = {0};
    uint32_t rows = 0;
    for (uint32_t p = 0; p < WEFT_PHOTONIC_PARTS; p++) {
        struct weft_table_cell *row = cells + (size_t)rows * COLUMNS;
        if (result->power.sources[p] == NULL || energy->part_joules[p] == 0) {
            continue;
        }
        row[0].text = weft_photonic_part_names[p];
        row[1] = joule_cell(arena, energy->part_joules[p]);
        row[2] = joule_cell(arena, energy->part_joules[p] / (double)energy->macs);
        row[3] = weft_cell_percent(arena, 1, energy->part_joules[p] / energy->total_joules);
        row[4].text = result->power.sources[p];
        rows++;
    }
    struct weft_table_cell *row = cells + (size_t)rows * COLUMNS;
    row[0].text = "all";
    row[1] = joule_cell(arena, energy->total_joules);
    row[2] = joule_cell(arena, energy->mac_joules);
    row[3] = (struct weft_table_cell){.text = ""};
    row[4].text = "";
    cli_say(cli, "%s, %u wavelength%s: %llu MACs in %llu cycles, %s\n%s: %s\n\n",
            result->program.name, result->program.wavelengths,
            result->program.wavelengths == 1 ? "" : "s", (unsigned long long)energy->macs,
            (unsigned long long)energy->cycles, weft_cell_time(arena, energy->seconds).text,
            result->power.name, result->power.source);
    cli_table(cli, columns, COLUMNS, cells, rows + 1);
}

static void print_stop(struct cli *cli, const struct weft_photonic_energy_result *result)
{
    static const struct weft_table_column columns[] = {
        {"layers", WEFT_ALIGN_RIGHT},       {"last", WEFT_ALIGN_LEFT},
        {"light", WEFT_ALIGN_RIGHT},        {"count-action", WEFT_ALIGN_RIGHT},
        {"stop-and-go", WEFT_ALIGN_RIGHT},  {"slower", WEFT_ALIGN_RIGHT},
        {"count-action", WEFT_ALIGN_RIGHT}, {"stop-and-go", WEFT_ALIGN_RIGHT},
        {"host", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_arena *arena = &cli->arena;
    uint32_t count = result->program.row_count;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)count * COLUMNS);
    for (uint32_t r = 0; r < count; r++) {
        const struct weft_photonic_stop_row *row = &result->rows[r];
        struct weft_table_cell *cell = cells + (size_t)r * COLUMNS;
        cell[0] = weft_cell_count(arena, r + 1);
        cell[1].text = row->name;
        cell[2] = weft_cell_time(arena, row->light_s);
        cell[3] = weft_cell_time(arena, row->count_s);
        cell[4] = weft_cell_time(arena, row->stop_s);
        cell[5] = weft_cell_figure(weft_arena_format(arena, "%.2fx", row->stop_s / row->count_s),
                                   "ratio", row->stop_s / row->count_s);
        cell[6] = joule_cell(arena, row->count_joules);
        cell[7] = joule_cell(arena, row->stop_joules);
        cell[8] = joule_cell(arena, row->host_joules);
    }
    cli_say(cli, "%s, %u wavelength%s: estimates; %s: %s\n\n", result->program.name,
            result->program.wavelengths, result->program.wavelengths == 1 ? "" : "s",
            result->power.name, result->power.source);
    cli_table(cli, columns, COLUMNS, cells, count);
}

static int run(int argc, char **argv, const struct cli_verb *verb, bool stops)
{
    struct cli cli;
    struct energy_input input = {.cli = &cli, .options = verb->options};
    struct weft_photonic_energy_result result;
    bool fine = cli_parse(&cli, verb, argc, argv, &input) &&
                weft_request_photonic_energy(&result, &input.request, cli_environment(&cli, NULL));
    if (fine && cli.json) {
        cli_say(&cli, "%s",
                stops ? weft_request_photonic_stop_json(&result, &cli.arena)
                      : weft_request_photonic_energy_json(&result, &cli.arena));
    } else if (fine && stops) {
        print_stop(&cli, &result);
    } else if (fine) {
        print_energy(&cli, &result);
    }
    return cli_finish(&cli, fine);
}

int photonic_energy(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic energy",
        .arguments = "NET",
        .doc = energy_doc,
        .options = energy_options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    return run(argc, argv, &verb, false);
}

int photonic_stop_and_go(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic stop-and-go",
        .arguments = "NET",
        .doc = stop_doc,
        .options = stop_options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    return run(argc, argv, &verb, true);
}
