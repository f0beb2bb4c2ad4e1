// SPDX-License-Identifier: Apache-2.0
// weft optics rack place: requests for slices of a photonic rack, decided one after the other.

#include "rack.h"
#include "weft/format.h"
#include "weft/request/rack.h"

#include <string.h>

// Slices that the text shows; --csv and --json have all.
#define SLICES_SHOWN 40u
#define STEPS_MAX 100000000u

enum {
    KEY_ALLOCATOR = 1,
    KEY_ORIENTATION,
    KEY_LANES,
    KEY_CONVERT,
    KEY_MIGRATE,
    KEY_STEPS,
    KEY_LOSE,
    KEY_PLOT,
};

static const struct argp_option options[] = {
    {"allocator", KEY_ALLOCATOR, "NAME", 0,
     "contiguous (aligned sub-tori), published (the same, else Morphlux' program) or exact (any "
     "chips); exact",
     0},
    {"orientation", KEY_ORIENTATION, "any|given", 0,
     "of sub-tori: sides in any order, or as requested; any", 0},
    {"lanes", KEY_LANES, "redirect|fixed", 0,
     "wavelengths of a link between two chips: as many as unused dimensions leave, or one; "
     "redirect",
     0},
    {"convert", KEY_CONVERT, NULL, 0,
     "servers change the wavelength of circuits that pass; else they keep it", 0},
    {"migrate", KEY_MIGRATE, "CHIPS", 0,
     "of running tenants at most that may move for a request; 0", 0},
    {"steps", KEY_STEPS, "N", 0,
     "of a search until it is cut, and what it has is not proved; 400000", 0},
    {"lose", KEY_LOSE, "CHIPS", 0,
     "these fail after all requests, and spares take their place; 5,6 or server:0", 0},
    {"plot", KEY_PLOT, "FILE.svg", 0,
     "draw the rack with its slices and fibers into a file, too; before and after a failure", 0},
    {0},
};

static const char doc[] =
    "Places slices of a photonic rack, tori and rings of accelerators, on any free ones, with "
    "routes "
    "of light between servers: the least loaded fibers, proved, or why a slice cannot fit and the "
    "largest that can.\v"
    "RACK.yaml says which servers, chips and fibers there are; examples/racks has some. "
    "REQUESTS.csv "
    "has a line name,x,y,z for each slice, in order; a line `release NAME` gives one back.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics rack place examples/racks/tpu-block.yaml examples/racks/fragmented.csv\n"
    "  $ weft optics rack place examples/racks/tpu-block.yaml examples/racks/fragmented.csv "
    "--allocator contiguous --json\n"
    "  $ weft optics rack place examples/racks/limited.yaml examples/racks/mixed.csv --lose "
    "server:0 --plot rack.svg\n";

struct place_input {
    struct cli *cli;
    struct weft_rack_place_request request;
    const char *plot_path;
};

static error_t take_argument(struct place_input *input, const char *argument)
{
    return input->request.rack == NULL
               ? cli_take(input->cli, &input->request.rack, argument, "rack")
               : cli_take(input->cli, &input->request.requests, argument, "file of requests");
}

static error_t choose(struct place_input *input, int key, const char *argument)
{
    static const char *const allocators[] = {"contiguous", "published", "exact"};
    static const char *const orientations[] = {"any", "given"};
    static const char *const lanes[] = {"redirect", "fixed"};
    struct weft_rack_options *chosen = &input->request.options;
    uint32_t choice = 0;
    error_t wrong = key == KEY_ALLOCATOR
                        ? cli_choose(input->cli, &choice, "allocator", argument, allocators, 3)
                    : key == KEY_ORIENTATION
                        ? cli_choose(input->cli, &choice, "orientation", argument, orientations, 2)
                        : cli_choose(input->cli, &choice, "lanes", argument, lanes, 2);
    if (wrong != 0) {
        return wrong;
    }
    if (key == KEY_ALLOCATOR) {
        chosen->allocator = (enum weft_rack_allocator)choice;
    } else if (key == KEY_ORIENTATION) {
        chosen->given = choice == 1;
    } else {
        chosen->fixed = choice == 1;
    }
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct place_input *input = state->input;
    uint32_t steps = 0;
    switch (key) {
    case KEY_ALLOCATOR:
    case KEY_ORIENTATION:
    case KEY_LANES:
        return choose(input, key, argument);
    case KEY_CONVERT:
        input->request.options.converts = true;
        return 0;
    case KEY_MIGRATE:
        return cli_count(input->cli, &input->request.options.migrate_chips, "migrate", argument, 0,
                         WEFT_RACK_CHIPS_MAX);
    case KEY_STEPS:
        if (cli_count(input->cli, &steps, "steps", argument, 1, STEPS_MAX) != 0) {
            return EINVAL;
        }
        input->request.options.steps_max = steps;
        return 0;
    case KEY_LOSE:
        input->request.lose = argument;
        return 0;
    case KEY_PLOT:
        input->plot_path = argument;
        return 0;
    case ARGP_KEY_ARG:
        return take_argument(input, argument);
    case ARGP_KEY_END:
        return input->request.requests != NULL
                   ? 0
                   : cli_usage(input->cli,
                               "which rack and requests? write %s RACK.yaml REQUESTS.csv",
                               input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *sides_text(const uint32_t sides[3], struct weft_arena *arena)
{
    return weft_arena_format(arena, "%ux%ux%u", sides[0], sides[1], sides[2]);
}

// The servers of a slice, in the order of its chips.
static const char *servers_text(const struct weft_rack_slice *slice, uint32_t chips_per_server,
                                struct weft_arena *arena)
{
    struct weft_text text;
    uint32_t last = WEFT_NONE;
    weft_text_init(&text, arena);
    for (uint32_t c = 0; c < slice->chip_count; c++) {
        uint32_t server = slice->chips[c] / chips_per_server;
        if (server != last && text.length < 40) {
            weft_text_add(&text, "%s%u", c == 0 ? "" : " ", server);
        } else if (server != last) {
            weft_text_add(&text, " ...");
            break;
        }
        last = server;
    }
    return text.data;
}

static const char *outcome_text(const struct weft_rack_slice *slice, struct weft_arena *arena)
{
    if (slice->tenant == WEFT_NONE) {
        return weft_arena_format(arena, "%s; %u chips would fit%s",
                                 weft_rack_reason_name(slice->reason), slice->largest,
                                 slice->proved ? "" : " (search cut)");
    }
    return weft_arena_format(arena, "%s%s%s", slice->contiguous ? "contiguous" : "placed",
                             slice->moved_chips > 0 ? ", others moved" : "",
                             slice->proved ? ", proved" : ", not proved");
}

static void fill_row(struct weft_table_cell *row, const struct weft_rack_slice *slice,
                     const struct weft_rack *rack, struct weft_arena *arena)
{
    row[0].text = slice->name;
    row[1].text = sides_text(slice->sides, arena);
    row[2].text = outcome_text(slice, arena);
    if (slice->tenant == WEFT_NONE) {
        row[3].text = row[4].text = row[5].text = row[6].text = "";
        return;
    }
    row[3] = weft_cell_count(arena, slice->hops);
    row[4] = weft_cell_count(arena, slice->route_load_max);
    row[5] = weft_cell_count(arena, slice->fiber_load_max);
    row[6].text = servers_text(slice, rack->chips_per_server, arena);
}

static void print_table(struct cli *cli, const struct weft_rack_place_result *result)
{
    static const struct weft_table_column columns[] = {
        {"slice", WEFT_ALIGN_LEFT},   {"sides", WEFT_ALIGN_LEFT},   {"outcome", WEFT_ALIGN_LEFT},
        {"hops", WEFT_ALIGN_RIGHT},   {"routes", WEFT_ALIGN_RIGHT}, {"fibers", WEFT_ALIGN_RIGHT},
        {"servers", WEFT_ALIGN_LEFT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    uint32_t count = result->requests.count;
    uint32_t shown = cli->form == CLI_CSV || count < SLICES_SHOWN ? count : SLICES_SHOWN;
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)shown * COLUMNS);
    for (uint32_t i = 0; i < shown; i++) { // the last ones
        fill_row(cells + (size_t)i * COLUMNS, &result->slices[count - shown + i], &result->rack,
                 &cli->arena);
    }
    if (shown < count) {
        cli_say(cli, "the last %u requests; --json lists all\n", shown);
    }
    cli_table(cli, columns, COLUMNS, cells, shown);
}

static void print_repairs(struct cli *cli, const struct weft_rack_place_result *result)
{
    if (result->lost_count == 0) {
        return;
    }
    cli_say(cli, "\n%u chip%s failed\n", result->lost_count, result->lost_count == 1 ? "" : "s");
    for (uint32_t i = 0; i < result->repair_count; i++) {
        const struct weft_rack_repair *repair = &result->repairs[i];
        const struct weft_rack_slice *slice = &repair->slice;
        if (repair->replaced) {
            cli_say(cli,
                    "%s: %u replaced; %u hops, at most %u routes and %u fibers over a pair of "
                    "servers%s\n",
                    slice->name, repair->lost_count, slice->hops, slice->route_load_max,
                    slice->fiber_load_max, slice->proved ? ", proved least" : "");
        } else {
            cli_say(cli, "%s: %u lost and not replaced: %s\n", slice->name, repair->lost_count,
                    weft_rack_reason_name(slice->reason));
        }
    }
}

static void print(struct cli *cli, const struct weft_rack_place_result *result)
{
    const struct weft_rack *rack = &result->rack;
    uint32_t refused = result->requests.count - result->placed_count;
    cli_say(cli, "%s: %u servers of %u chips, %s\n", rack->name, rack->server_count,
            rack->chips_per_server, weft_rack_allocator_name(result->options.allocator));
    cli_say(cli, "%u of %u placed", result->placed_count, result->requests.count);
    for (uint32_t reason = WEFT_RACK_CAPACITY; reason < WEFT_RACK_REASON_COUNT && refused > 0;
         reason++) {
        if (result->reasons[reason] > 0) {
            cli_say(cli, "; %u refused for %s", result->reasons[reason],
                    weft_rack_reason_name((enum weft_rack_reason)reason));
        }
    }
    cli_say(cli, "\nat most %u fiber%s of a pair of servers in use (%u route%s), ",
            result->fiber_load_max, result->fiber_load_max == 1 ? "" : "s", result->route_load_max,
            result->route_load_max == 1 ? "" : "s");
    cli_say(cli,
            result->proved ? "proved least, slice by slice\n\n"
                           : "not less than %u: not proved\n\n",
            result->bound);
    print_table(cli, result);
    print_repairs(cli, result);
}

static bool plot(struct cli *cli, const char *path, const struct weft_rack_place_result *result)
{
    const struct weft_rack_picture picture = {
        .rack = &result->rack,
        .slice_count = result->requests.count,
        .before = {result->before.holders, result->before.lost, result->before.slices},
        .after = {result->after.holders, result->after.lost, result->after.slices},
        .fails = result->lost_count > 0,
    };
    const char *svg = weft_report_svg_rack(&picture, &cli->arena);
    return weft_file_save(path, svg, strlen(svg), &cli->error);
}

int optics_rack_place(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics rack place",
        .arguments = "RACK.yaml REQUESTS.csv",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct place_input input = {.cli = &cli,
                                .request = {.options = {.allocator = WEFT_RACK_EXACT}}};
    struct weft_rack_place_result result;
    if (!cli_parse(&cli, &verb, argc, argv, &input) ||
        (input.plot_path != NULL && !cli_can_write(&cli, input.plot_path))) {
        return cli_finish(&cli, false);
    }
    bool fine = weft_request_rack_place(&result, &input.request,
                                        cli_environment(&cli, cli_clock_watch(&cli)));
    cli_clock_stop(&cli);
    fine = fine && (input.plot_path == NULL || plot(&cli, input.plot_path, &result));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_rack_place_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
