// SPDX-License-Identifier: Apache-2.0
// weft optics rack tenants: tenants that come and go, on optical and electrical racks.

#include "weft/request/rack_tenants.h"
#include "rack.h"
#include "weft/format/file.h"
#include "weft/report.h"

#include <math.h>
#include <string.h>

enum {
    KEY_TRACE = 1,
    KEY_REQUESTS,
    KEY_LOAD,
    KEY_LIFETIME,
    KEY_HOLD,
    KEY_MIX,
    KEY_RACKS,
    KEY_FABRICS,
    KEY_ORDER,
    KEY_ROTATE,
    KEY_FIBERS,
    KEY_WAVELENGTHS,
    KEY_SIZE,
    KEY_MESSAGE,
    KEY_FOLLOW,
    KEY_MODEL,
    KEY_ACCELERATOR,
    KEY_BATCH,
    KEY_OVERLAP,
    KEY_SAVE,
    KEY_PLOT,
};

static const struct argp_option options[] = {
    {"trace", KEY_TRACE, "FILE.csv", 0, "arrivals read from a file (drawn)", 0},
    {"requests", KEY_REQUESTS, "N", 0, "that are drawn (10000)", 0},
    {"load", KEY_LOAD, "L,L", 0, "chips asked for at a time over all chips (0.7,0.85)", 0},
    {"lifetime", KEY_LIFETIME, "TIME", 0, "mean stay of a tenant, exponential (1h)", 0},
    {"hold", KEY_HOLD, NULL, 0,
     "the next arrives when less than the load of the chips is held (Poisson arrivals)", 0},
    {"mix", KEY_MIX, "SIDES:W,...", 0,
     "slices and how often each is asked for (2x2x1:0.25,2x2x2:0.2,2x2x4:0.25,2x4x4:0.2,"
     "4x4x4:0.1)",
     0},
    {"racks", KEY_RACKS, "N", 0, "all alike (1)", 0},
    {"fabrics", KEY_FABRICS, "NAMES", 0,
     "of torus, scattered, published, photonic; gains are over the first "
     "(torus,scattered,photonic)",
     0},
    {"order", KEY_ORDER, "WHICH", 0,
     "rack that is tried first: fullest, first, emptiest or random (fullest)", 0},
    {"rotate", KEY_ROTATE, NULL, 0, "boxes stand in any orientation (as asked alone)", 0},
    {"fibers", KEY_FIBERS, "N", 0, "of each pair of servers that has any; 0 = any number", 0},
    {"wavelengths", KEY_WAVELENGTHS, "N", 0, "of a fiber", 0},
    {"size", KEY_SIZE, "BYTES", 0, "of the AllReduce that is timed (1MiB)", 0},
    {"message", KEY_MESSAGE, "TIME", 0, "latency of a message (1us)", 0},
    {"follow", KEY_FOLLOW, NULL, 0, "circuits may follow the steps of a collective", 0},
    {"model", KEY_MODEL, "MODEL", 0, "that every tenant trains: of the zoo, or a file (gpt2-355m)",
     0},
    {"accelerator", KEY_ACCELERATOR, "NAME", 0, "what computes it (H100)", 0},
    {"batch", KEY_BATCH, "N", 0, "samples of a chip in an iteration (1)", 0},
    {"overlap", KEY_OVERLAP, NULL, 0, "the backward pass hides the exchange of gradients", 0},
    {"save-trace", KEY_SAVE, "FILE.csv", 0, "write the arrivals of the first load, too", 0},
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw what is rejected by size, too", 0},
    {0},
};

static const char doc[] =
    "Plays tenants that come to racks of accelerators, ask for a slice, hold it and leave, on "
    "several fabrics with the same arrivals: an electrical torus that rents aligned boxes (torus), "
    "one that takes any free chips when there is no box, whose rings then share links (scattered), "
    "and an optical fabric, by Morphlux' allocator (published) or exactly (photonic). Who finds no "
    "slice leaves at once and is counted by reason.\v"
    "capacity: no rack has enough free chips (`across`: all together do); fragmentation: one has, "
    "but no box is free; fibers, wavelengths: one has, but they do not reach. A chip's bandwidth "
    "is "
    "what its collectives can send; the AllReduce and the iteration are by closed forms and means "
    "over each stay; an iteration is the computation of a data-parallel step and the exchange of "
    "its gradients. Gains are over the first fabric: refused though a rack had enough free chips, "
    "fragmented though all racks together had.\n"
    "\n"
    "Without RACK.yaml: 16 servers of 2 x 2 chips in a 2 x 2 x 4 torus, 4 fibers a pair, 300 GB/s "
    "of each chip in 6 wavelengths.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics rack tenants --load 0.85 --racks 8\n"
    "  $ weft optics rack tenants --requests 2000 --fibers 0 --fabrics torus,photonic --plot "
    "r.svg\n"
    "  $ weft optics rack tenants examples/racks/tpu-block.yaml --save-trace trace.csv\n"
    "  $ weft optics rack tenants --mix 2x1x1:1,4x1x1:1 --follow --size 64KiB\n";

struct tenants_input {
    struct cli *cli;
    struct weft_rack_tenants_request request;
    const char *plot_path; // NULL = none
    const char *save_path;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct tenants_input *input = state->input;
    const struct weft_parameter_group *group = weft_rack_tenants_parameters;
    const struct cli_parameters parameters = {&input->request, group->rows, group->count};
    for (uint32_t o = 0; key >= KEY_TRACE && key < KEY_SAVE && options[o].name != NULL; o++) {
        if (options[o].key == key) {
            return cli_parameter(input->cli, &parameters, options[o].name, argument);
        }
    }
    switch (key) {
    case KEY_SAVE:
        return cli_take(input->cli, &input->save_path, argument, "trace");
    case KEY_PLOT:
        return cli_take(input->cli, &input->plot_path, argument, "picture");
    case ARGP_KEY_ARG:
        return cli_take(input->cli, &input->request.rack_path, argument, "rack");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- what people read ----

static const char *load_of(struct cli *cli, const struct weft_tenants_case *one)
{
    return one->load > 0 ? weft_arena_format(&cli->arena, "%.6g", one->load) : "trace";
}

static struct weft_table_cell share_of(struct cli *cli, uint64_t count, uint64_t asked)
{
    return asked > 0 ? weft_cell_percent(&cli->arena, 1, (double)count / (double)asked)
                     : (struct weft_table_cell){.text = "-"};
}

static void print_reasons(struct cli *cli, const struct weft_rack_tenants_result *result)
{
    static const struct weft_table_column columns[] = {
        {"load", WEFT_ALIGN_RIGHT},     {"fabric", WEFT_ALIGN_LEFT},
        {"rejected", WEFT_ALIGN_RIGHT}, {"capacity", WEFT_ALIGN_RIGHT},
        {"across", WEFT_ALIGN_RIGHT},   {"fragmentation", WEFT_ALIGN_RIGHT},
        {"fibers", WEFT_ALIGN_RIGHT},   {"wavelengths", WEFT_ALIGN_RIGHT},
        {"chips", WEFT_ALIGN_RIGHT},    {"in use", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)result->case_count * COLUMNS);
    for (uint32_t c = 0; c < result->case_count; c++) {
        const struct weft_tenants_case *one = &result->cases[c];
        const struct weft_tenant_row *all = &one->run.all;
        struct weft_table_cell *cell = cells + (size_t)c * COLUMNS;
        cell[0].text = load_of(cli, one);
        cell[1].text = weft_tenant_fabric_words[one->fabric];
        cell[2] = share_of(cli, all->asked - all->placed, all->asked);
        cell[3] = weft_cell_count(&cli->arena, all->rejected[WEFT_RACK_CAPACITY]);
        cell[4] = weft_cell_count(&cli->arena, all->across);
        cell[5] = weft_cell_count(&cli->arena, all->rejected[WEFT_RACK_FRAGMENTATION]);
        cell[6] = weft_cell_count(&cli->arena, all->rejected[WEFT_RACK_FIBERS]);
        cell[7] = weft_cell_count(&cli->arena, all->rejected[WEFT_RACK_WAVELENGTHS]);
        cell[8] = weft_cell_percent(&cli->arena, 1, all->chips_rejected);
        cell[9] = weft_cell_percent(&cli->arena, 1, one->run.utilization);
    }
    cli_table(cli, columns, COLUMNS, cells, result->case_count);
}

static struct weft_table_cell change_of(struct cli *cli, double ratio)
{
    return isfinite(ratio) ? weft_cell_change(&cli->arena, 1, ratio - 1)
                           : (struct weft_table_cell){.text = "-"};
}

static void print_slices(struct cli *cli, const struct weft_rack_tenants_result *result)
{
    static const struct weft_table_column columns[] = {
        {"load", WEFT_ALIGN_RIGHT},      {"fabric", WEFT_ALIGN_LEFT},
        {"a chip", WEFT_ALIGN_RIGHT},    {"gain", WEFT_ALIGN_RIGHT},
        {"AllReduce", WEFT_ALIGN_RIGHT}, {"gain", WEFT_ALIGN_RIGHT},
        {"iteration", WEFT_ALIGN_RIGHT}, {"training", WEFT_ALIGN_RIGHT},
        {"refused", WEFT_ALIGN_RIGHT},   {"fragmented", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)result->case_count * COLUMNS);
    for (uint32_t c = 0; c < result->case_count; c++) {
        const struct weft_tenants_case *one = &result->cases[c];
        const struct weft_tenant_row *all = &one->run.all;
        struct weft_table_cell *cell = cells + (size_t)c * COLUMNS;
        cell[0].text = load_of(cli, one);
        cell[1].text = weft_tenant_fabric_words[one->fabric];
        cell[2] = weft_cell_rate(&cli->arena, all->bandwidth_Bps);
        cell[3] = change_of(cli, one->gains.bandwidth);
        cell[4] = weft_cell_time(&cli->arena, all->allreduce_s);
        cell[5] = change_of(cli, one->gains.allreduce);
        cell[6] = weft_cell_time(&cli->arena, all->iteration_s);
        cell[7] = isnan(one->gains.training)
                      ? (struct weft_table_cell){.text = "-"}
                      : weft_cell_number(&cli->arena, 2, one->gains.training);
        cell[8] = change_of(cli, one->gains.refused);
        cell[9] = change_of(cli, one->gains.fragmented);
    }
    cli_table(cli, columns, COLUMNS, cells, result->case_count);
}

// One load: a row for each size, a column for each fabric.
static void print_sizes(struct cli *cli, const struct weft_rack_tenants_result *result,
                        uint32_t first)
{
    uint32_t fabrics = result->fabric_count;
    uint32_t sizes = result->cases[first].run.row_count;
    uint32_t count = 3 + fabrics;
    struct weft_arena *arena = &cli->arena;
    struct weft_table_column *columns = WEFT_NEW(arena, struct weft_table_column, count);
    struct weft_table_cell *cells = WEFT_NEW(arena, struct weft_table_cell, (size_t)sizes * count);
    columns[0] = (struct weft_table_column){"load", WEFT_ALIGN_RIGHT};
    columns[1] = (struct weft_table_column){"slice", WEFT_ALIGN_RIGHT};
    columns[2] = (struct weft_table_column){"asked", WEFT_ALIGN_RIGHT};
    for (uint32_t f = 0; f < fabrics; f++) {
        columns[3 + f] = (struct weft_table_column){
            weft_tenant_fabric_words[result->cases[first + f].fabric], WEFT_ALIGN_RIGHT};
    }
    for (uint32_t s = 0; s < sizes; s++) {
        const struct weft_tenant_row *row = &result->cases[first].run.rows[s];
        struct weft_table_cell *cell = cells + (size_t)s * count;
        cell[0].text = load_of(cli, &result->cases[first]);
        cell[1].text =
            weft_arena_format(arena, "%ux%ux%u", row->sides[0], row->sides[1], row->sides[2]);
        cell[2] = weft_cell_count(arena, row->asked);
        for (uint32_t f = 0; f < fabrics; f++) {
            const struct weft_tenant_row *other = &result->cases[first + f].run.rows[s];
            cell[3 + f] = share_of(cli, other->asked - other->placed, other->asked);
        }
    }
    cli_table(cli, columns, count, cells, sizes);
}

static void print(struct cli *cli, const struct weft_rack_tenants_result *result)
{
    const struct weft_rack *rack = result->rack;
    const struct weft_tenants_options *asked = &result->asked;
    char injection[WEFT_UNIT_TEXT];
    char bytes[WEFT_UNIT_TEXT];
    uint64_t requests = result->cases[0].run.all.asked;
    cli_say(cli, "%s: %u x %u servers of %u chips, %s each; %llu requests%s%s\n\n", rack->name,
            asked->rack_count, rack->server_count, rack->chips_per_server,
            weft_show_rate(injection, rack->chip_wavelengths * rack->wavelength_Bps),
            (unsigned long long)requests, result->trace_path != NULL ? " of " : "",
            result->trace_path != NULL ? result->trace_path : "");
    print_reasons(cli, result);
    cli_say(cli, "\nRejected by slice:\n\n");
    for (uint32_t c = 0; c < result->case_count; c += result->fabric_count) {
        print_sizes(cli, result, c);
        cli_say(cli, "\n");
    }
    cli_say(cli,
            "What the others get (AllReduce of %s; %s on %s, data-parallel), gains over %s:\n\n",
            weft_show_bytes(bytes, asked->job.allreduce_bytes), result->model, result->accelerator,
            weft_tenant_fabric_words[result->cases[0].fabric]);
    print_slices(cli, result);
}

static bool plot(struct cli *cli, const char *path, const struct weft_rack_tenants_result *result)
{
    uint32_t fabrics = result->fabric_count;
    uint32_t sizes = result->cases[0].run.row_count;
    uint32_t groups = result->case_count / fabrics * sizes;
    struct weft_arena *arena = &cli->arena;
    const char **names = WEFT_NEW(arena, const char *, groups);
    const char **series = WEFT_NEW(arena, const char *, fabrics);
    struct weft_ratio *ratios = WEFT_NEW(arena, struct weft_ratio, (size_t)groups * fabrics);
    for (uint32_t c = 0; c < result->case_count; c++) {
        const struct weft_tenants_case *one = &result->cases[c];
        series[c % fabrics] = weft_tenant_fabric_words[one->fabric];
        for (uint32_t s = 0; s < sizes; s++) {
            const struct weft_tenant_row *row = &one->run.rows[s];
            uint32_t group = c / fabrics * sizes + s;
            double share =
                row->asked > 0 ? (double)(row->asked - row->placed) / (double)row->asked : 0;
            names[group] =
                weft_arena_format(arena, "%s: %u chips (%ux%ux%u)", load_of(cli, one), row->chips,
                                  row->sides[0], row->sides[1], row->sides[2]);
            ratios[(size_t)group * fabrics + c % fabrics] =
                (struct weft_ratio){1 + share, 1 + share, 1 + share};
        }
    }
    const struct weft_ratio_chart chart = {
        .title = "Requests that find no slice, by load and size",
        .axis = "% of those that ask for it",
        .group_count = groups,
        .series_count = fabrics,
        .groups = names,
        .series = series,
        .ratios = ratios,
    };
    const char *svg = weft_report_svg_ratios(&chart, arena);
    return weft_file_save(path, svg, strlen(svg), &cli->error);
}

static bool save_trace(struct cli *cli, const char *path,
                       const struct weft_rack_tenants_result *result)
{
    const char *text = weft_request_rack_tenants_trace(result, &cli->arena);
    return weft_file_save(path, text, strlen(text), &cli->error);
}

int optics_rack_tenants(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics rack tenants",
        .arguments = "[RACK.yaml]",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct tenants_input input = {.cli = &cli};
    struct weft_rack_tenants_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                cli_can_write(&cli, input.plot_path) && cli_can_write(&cli, input.save_path);
    if (fine) {
        fine = weft_request_rack_tenants(&result, &input.request,
                                         cli_environment(&cli, cli_clock_watch(&cli)));
        cli_clock_stop(&cli);
    }
    fine = fine && (input.save_path == NULL || save_trace(&cli, input.save_path, &result)) &&
           (input.plot_path == NULL || plot(&cli, input.plot_path, &result));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_rack_tenants_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
