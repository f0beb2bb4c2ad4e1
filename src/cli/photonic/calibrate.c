// SPDX-License-Identifier: Apache-2.0
// weft photonic calibrate: a photonic core whose faults a seed hides, found as in a lab.

#include "cli/photonic/photonic.h"
#include "weft/request/photonic_core.h"

enum { KEY_WAVELENGTHS = 1000 };

static const struct argp_option options[] = {
    {"wavelengths", KEY_WAVELENGTHS, "W", 0, "of the core; crosstalk needs two (1)", 0},
    {0},
};

static const char doc[] =
    "Calibrates a photonic core as a lab does, from nothing but samples that go into its "
    "converters and samples that its detector gives: skew of the modulators and both delay lines, "
    "when light arrives, loss and the gain that undoes it, noise, crosstalk; and how accurate a "
    "multiplication is then.\v"
    "--seed hides the faults: latency of 64 to 191 samples, a modulator up to 63 samples behind, "
    "loss of 0 to 6 dB, noise of 0.3 to 3 steps of 8 bits, up to 2 % of crosstalk. The truth "
    "stands beside what was found; intervals hold it 95 times of 100.\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic calibrate --seed 7\n"
    "  $ weft photonic calibrate --seed 7 --wavelengths 4 --json\n";

struct calibrate_input {
    struct cli *cli;
    struct weft_photonic_calibrate_request request;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct calibrate_input *input = state->input;
    return key == KEY_WAVELENGTHS
               ? cli_count(input->cli, &input->request.wavelengths, "wavelengths", argument, 1,
                           WEFT_PHOTONIC_LAB_WAVELENGTHS)
               : ARGP_ERR_UNKNOWN;
}

static void say_row(struct weft_table_cell *row, const char *name, const char *found,
                    const char *interval, const char *truth)
{
    row[0].text = name;
    row[1].text = found;
    row[2].text = interval;
    row[3].text = truth;
}

// A measured quantity, its interval and the truth, in one format.
static void say_estimate(struct weft_table_cell *row, const char *name, double scale,
                         const struct weft_photonic_estimate *estimate, double truth,
                         struct weft_arena *arena)
{
    say_row(row, name, weft_arena_format(arena, "%.4f", scale * estimate->value),
            weft_arena_format(arena, "%.4f to %.4f", scale * estimate->low, scale * estimate->high),
            weft_arena_format(arena, "%.4f", scale * truth));
}

static void print(struct cli *cli, const struct weft_photonic_calibrate_result *result)
{
    static const struct weft_table_column columns[] = {
        {"", WEFT_ALIGN_LEFT},
        {"found", WEFT_ALIGN_RIGHT},
        {"95 %", WEFT_ALIGN_RIGHT},
        {"hidden", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0], ROWS_MAX = 5 };
    const struct weft_photonic_calibration *found = &result->found;
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell cells[ROWS_MAX * COLUMNS] = {0};
    struct weft_table_cell *row = cells;
    uint32_t later = result->path.skew_activation + result->path.skew_weight; // one of them is 0
    int32_t skew = (int32_t)result->path.skew_activation - (int32_t)result->path.skew_weight;
    say_row(row, "skew, samples", weft_arena_format(arena, "%d", found->skew), "",
            weft_arena_format(arena, "%d", skew));
    say_row(row += COLUMNS, "arrival, samples", weft_arena_format(arena, "%u", found->arrival), "",
            weft_arena_format(arena, "%u", result->path.latency + later));
    say_estimate(row += COLUMNS, "loss, dB", 1, &found->loss_db, result->core.loss_db, arena);
    say_estimate(row += COLUMNS, "noise, steps", 1, &found->sigma, result->core.product_sigma,
                 arena);
    if (result->wavelengths > 1) {
        say_estimate(row += COLUMNS, "crosstalk, %", 100, &found->crosstalk,
                     result->core.crosstalk_ratio, arena);
    }
    cli_say(cli, "seed %llu, %u wavelength%s, %u bursts\n\n", (unsigned long long)result->seed,
            result->wavelengths, result->wavelengths == 1 ? "" : "s", found->bursts);
    cli_table(cli, columns, COLUMNS, cells, (uint32_t)((row - cells) / COLUMNS + 1));
    cli_say(cli, "\nregisters: delay lines %u and %u samples, gain %u of 256\n",
            found->delay_activation, found->delay_weight, found->gain);
    cli_say(cli,
            "a product then is off by %.2f %% of full scale on average (accuracy %.2f %%), "
            "noise %.2f %%\n",
            100 * (1 - found->accuracy_ratio), 100 * found->accuracy_ratio,
            100 * found->noise_ratio);
}

int photonic_calibrate(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic calibrate",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct calibrate_input input = {.cli = &cli};
    struct weft_photonic_calibrate_result result;
    bool fine =
        cli_parse(&cli, &verb, argc, argv, &input) &&
        weft_request_photonic_calibrate(&result, &input.request, cli_environment(&cli, NULL));
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_photonic_calibrate_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &result);
    }
    return cli_finish(&cli, fine);
}
