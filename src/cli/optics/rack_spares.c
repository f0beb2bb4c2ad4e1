// SPDX-License-Identifier: Apache-2.0
// weft optics rack spares: how many accelerators of a rack to keep free for those that fail.

#include "weft/request/rack_spares.h"
#include "rack.h"

#include <string.h>

#define TARGET_DEFAULT 0.95
#define ROWS_MAX 24u
#define SERVER_DEFAULT 4u

enum {
    KEY_CHIPS = 1,
    KEY_FAILURE,
    KEY_GROUP,
    KEY_TARGET,
    KEY_SERVER,
    KEY_RACKS,
    KEY_ACCELERATOR,
    KEY_PRICE,
    KEY_RATE,
};

static const struct argp_option options[] = {
    {"chips", KEY_CHIPS, "N", 0, "accelerators of the rack", 0},
    {"failure", KEY_FAILURE, "P", 0, "probability that one fails before it is repaired (0)", 0},
    {"group", KEY_GROUP, "SIZE:COUNT:P", 0,
     "COUNT groups of SIZE chips from the first on, each lost whole with probability P: servers, "
     "power supplies; may be given several times",
     0},
    {"target", KEY_TARGET, "P", 0, "that the spares are to be enough with (0.95)", 0},
    {"server-chips", KEY_SERVER, "N", 0, "chips of a server, to count servers touched (4)", 0},
    {"racks", KEY_RACKS, "N", 0, "racks of the cluster, against whole racks kept free (1)", 0},
    {"accelerator", KEY_ACCELERATOR, "NAME", 0, "whose watts count: H100 (not counted)", 0},
    {"chip-price", KEY_PRICE, "USD", 0, "of an accelerator (not counted)", 0},
    {"rate", KEY_RATE, "RATE", 0, "of a chip's port on the optical fabric (400Gbps)", 0},
    {0},
};

static const char doc[] =
    "Counts the spares that a photonic rack needs so that its optical fabric can put one in the "
    "place of each accelerator that fails (LUMION, arXiv 2505.23105): the fewest K with P(F <= K) "
    "at the target, where F adds up the sizes of the groups that fail, exactly.\v"
    "`lost` counts a chip twice that fails alone and with its group, as published; `distinct` "
    "counts it once, where the sizes of groups divide each other. Prices are the built-in book's "
    "NIC, transceiver and port of an optical switch; --chip-price and --accelerator add the chip.\n"
    "\n"
    "Examples:\n"
    "  $ weft optics rack spares --chips 64 --failure 0.02\n"
    "  $ weft optics rack spares --chips 64 --failure 0.01 --group 4:16:0.005 --target 0.995\n"
    "  $ weft optics rack spares --chips 64 --failure 0.02 --racks 16 --accelerator H100 \\\n"
    "      --chip-price '$25000'\n";

struct spares_input {
    struct cli *cli;
    struct weft_rack_spares_request request;
    struct weft_risk_kind kinds[WEFT_SPARES_KINDS_MAX];
};

// SIZE:COUNT:P.
static error_t take_group(struct spares_input *input, const char *text)
{
    struct cli *cli = input->cli;
    struct weft_spares_request *spares = &input->request.spares;
    if (spares->kind_count == WEFT_SPARES_KINDS_MAX) {
        return cli_usage(cli, "--group: at most %u kinds of groups", WEFT_SPARES_KINDS_MAX);
    }
    const char *second = strchr(text, ':');
    const char *third = second != NULL ? strchr(second + 1, ':') : NULL;
    if (third == NULL) {
        return cli_usage(cli,
                         "--group: '%.40s' is not SIZE:COUNT:P; write 4:16:0.005 for 16 servers of "
                         "4 chips",
                         text);
    }
    struct weft_risk_kind *kind = &input->kinds[spares->kind_count];
    const char *size = weft_arena_text(&cli->arena, text, (size_t)(second - text));
    const char *count = weft_arena_text(&cli->arena, second + 1, (size_t)(third - second - 1));
    error_t failed = cli_count(cli, &kind->size, "group", size, 1, WEFT_SPARES_CHIPS_MAX);
    failed = failed == 0 ? cli_count(cli, &kind->count, "group", count, 1, WEFT_SPARES_CHIPS_MAX)
                         : failed;
    if (failed == 0) {
        failed = cli_value(cli, weft_parse_number(&kind->probability, third + 1, 0, 1, &cli->error),
                           "group");
    }
    spares->kinds = input->kinds;
    spares->kind_count += failed == 0;
    return failed;
}

static error_t end(struct spares_input *input)
{
    struct weft_spares_request *spares = &input->request.spares;
    if (spares->chip_count == 0) {
        return cli_usage(input->cli, "how many accelerators has the rack? write --chips N");
    }
    if (spares->chip_probability == 0 && spares->kind_count == 0) {
        return cli_usage(input->cli, "what fails? write --failure P, or --group SIZE:COUNT:P");
    }
    if (spares->chips_per_server == 0) {
        spares->chips_per_server =
            spares->chip_count < SERVER_DEFAULT ? spares->chip_count : SERVER_DEFAULT;
    }
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct spares_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_rack_spares_request *request = &input->request;
    struct weft_spares_request *spares = &request->spares;
    struct weft_error *error = &cli->error;
    switch (key) {
    case KEY_CHIPS:
        return cli_count(cli, &spares->chip_count, "chips", argument, 1, WEFT_SPARES_CHIPS_MAX);
    case KEY_FAILURE:
        return cli_value(cli, weft_parse_number(&spares->chip_probability, argument, 0, 1, error),
                         "failure");
    case KEY_GROUP:
        return take_group(input, argument);
    case KEY_TARGET:
        return cli_value(cli, weft_parse_number(&spares->target, argument, 0, 1, error), "target");
    case KEY_SERVER:
        return cli_count(cli, &spares->chips_per_server, "server-chips", argument, 1,
                         WEFT_SPARES_CHIPS_MAX);
    case KEY_RACKS:
        return cli_count(cli, &request->rack_count, "racks", argument, 1, WEFT_SPARES_RACKS_MAX);
    case KEY_ACCELERATOR:
        return cli_take(cli, &request->accelerator, argument, "accelerator");
    case KEY_PRICE:
        return cli_value(cli, weft_parse_price(&request->chip_usd, argument, error), "chip-price");
    case KEY_RATE:
        return cli_value(cli, weft_parse_rate(&request->rate_Bps, argument, error), "rate");
    case ARGP_KEY_ARG:
        return cli_usage(cli, "'%.100s' has no place here; see %s --help", argument, cli->program);
    case ARGP_KEY_END:
        return end(input);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- what people read ----

// Rows up to the first k that is as good as certain, and the one of the spares.
static uint32_t rows_of(const struct weft_spares *spares)
{
    uint32_t rows = spares->spares + 1;
    while (rows < spares->probability_count && rows < ROWS_MAX &&
           spares->probability[rows - 1] < 0.9995) {
        rows++;
    }
    return rows < ROWS_MAX ? rows : ROWS_MAX;
}

static struct weft_table_cell share_at(struct cli *cli, const double *sums, uint32_t count,
                                       uint32_t k)
{
    return sums == NULL || k >= count ? (struct weft_table_cell){.text = "-"}
                                      : weft_cell_number(&cli->arena, 4, sums[k]);
}

static void print_shares(struct cli *cli, const struct weft_spares *spares)
{
    static const struct weft_table_column columns[] = {
        {"k", WEFT_ALIGN_RIGHT},
        {"P(lost <= k)", WEFT_ALIGN_RIGHT},
        {"distinct", WEFT_ALIGN_RIGHT},
        {"servers touched", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    uint32_t rows = rows_of(spares);
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell, (size_t)rows * COLUMNS);
    for (uint32_t k = 0; k < rows; k++) {
        struct weft_table_cell *cell = cells + (size_t)k * COLUMNS;
        cell[0] = weft_cell_count(&cli->arena, k);
        cell[1] = share_at(cli, spares->probability, spares->probability_count, k);
        cell[2] = share_at(cli, spares->distinct, spares->distinct_count, k);
        cell[3] = share_at(cli, spares->servers, spares->server_count + 1, k);
    }
    cli_table(cli, columns, COLUMNS, cells, rows);
}

static void print_price(struct cli *cli, const struct weft_rack_spares_result *result)
{
    static const struct weft_table_column columns[] = {
        {"kept free", WEFT_ALIGN_LEFT}, {"chips", WEFT_ALIGN_RIGHT}, {"of all", WEFT_ALIGN_RIGHT},
        {"cost", WEFT_ALIGN_RIGHT},     {"power", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    const struct weft_spare_price *price = &result->price;
    double spares = (double)result->rack_count * result->spares.spares;
    double reserve = (double)result->reserve_racks * result->asked.chip_count;
    const double chips[] = {1, spares, reserve};
    const double shares[] = {1.0 / (result->rack_count * (double)result->asked.chip_count),
                             result->spare_share, result->reserve_share};
    struct weft_arena *arena = &cli->arena;
    const char *const names[] = {"one chip",
                                 weft_arena_format(arena, "%u spares in each of %u %s",
                                                   result->spares.spares, result->rack_count,
                                                   result->rack_count == 1 ? "rack" : "racks"),
                                 weft_arena_format(arena, "%u whole %s", result->reserve_racks,
                                                   result->reserve_racks == 1 ? "rack" : "racks")};
    struct weft_table_cell cells[3 * COLUMNS] = {0};
    for (uint32_t r = 0; r < 3; r++) {
        struct weft_table_cell *cell = cells + (size_t)r * COLUMNS;
        cell[0].text = names[r];
        cell[1] = weft_cell_number(arena, 0, chips[r]);
        cell[2] = weft_cell_percent(arena, 1, shares[r]);
        cell[3] = weft_cell_usd(arena, chips[r] * (price->chip_usd + price->port_usd));
        cell[4] = weft_cell_power(arena, chips[r] * (price->chip_watts + price->port_watts));
    }
    cli_table(cli, columns, COLUMNS, cells, 3);
}

static void print(struct cli *cli, const struct weft_rack_spares_result *result)
{
    char rate[WEFT_UNIT_TEXT];
    const struct weft_spares *spares = &result->spares;
    const struct weft_spare_price *price = &result->price;
    cli_say(cli, "%u chips, %.4g lost on average: %u spares are enough with probability %.4f",
            result->asked.chip_count, spares->mean, spares->spares,
            spares->probability[spares->spares]);
    cli_say(cli, " (asked %.6g)\n", result->asked.target);
    if (spares->distinct != NULL && spares->distinct_spares != spares->spares) {
        cli_say(cli, "a chip that fails alone and with its group counted once: %u\n",
                spares->distinct_spares);
    }
    cli_say(cli, "\n");
    print_shares(cli, spares);
    cli_say(cli, "\nport: NIC, transceiver and port of an optical switch at %s; chip: %s, %s\n\n",
            weft_show_rate(rate, price->rate_Bps),
            price->chip_usd > 0 ? "as --chip-price says" : "no price",
            price->accelerator != NULL ? price->accelerator : "no watts");
    print_price(cli, result);
}

int optics_rack_spares(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft optics rack spares",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct spares_input input = {.cli = &cli, .request = {.spares = {.target = TARGET_DEFAULT}}};
    struct weft_rack_spares_result result;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                weft_request_rack_spares(&result, &input.request, cli_environment(&cli, NULL));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_rack_spares_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
