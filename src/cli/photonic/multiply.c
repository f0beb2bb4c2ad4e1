// SPDX-License-Identifier: Apache-2.0
// weft photonic multiply: a product, or a dot product, as the waveforms that compute it.

#include "cli/photonic/photonic.h"
#include "weft/format.h"
#include "weft/request/photonic_core.h"

#include <string.h>

// Each is the parameter of its name (weft_photonic_multiply_parameters), but for the plot.
enum {
    KEY_PLOT = 1000,
    KEY_WAVELENGTHS,
    KEY_PREAMBLE,
    KEY_LATENCY,
    KEY_SKEW,
    KEY_DELAY,
    KEY_NOISE,
    KEY_CROSSTALK,
    KEY_MODULATOR_BITS,
    KEY_DETECTOR_BITS,
    KEY_LOSS,
    KEY_GAIN,
};

static const struct argp_option options[] = {
    {"plot", KEY_PLOT, "FILE.svg", 0, "draw the waveforms into a file, too", 0},
    {"wavelengths", KEY_WAVELENGTHS, "W", 0, "that carry 16 pairs each in a cycle (1)", 0},
    {"preamble", KEY_PREAMBLE, "L", 0, "cycles of preamble before the data (10)", 0},
    {"latency", KEY_LATENCY, "SAMPLES", 0, "from modulators to detector (128)", 0},
    {"skew", KEY_SKEW, "SAMPLES", 0, "by which the activations' modulator lags (35)", 0},
    {"delay", KEY_DELAY, "SAMPLES", 0, "that the weights' delay line makes up for it (the skew)",
     0},
    {"noise", KEY_NOISE, "SIGMA", 0, "Gaussian, of a product, in steps of 8 bits (0)", 0},
    {"crosstalk", KEY_CROSSTALK, "RATIO", 0, "of the light of both neighboring wavelengths (0)", 0},
    {"modulator-bits", KEY_MODULATOR_BITS, "N", 0, "that modulators resolve (8)", 0},
    {"detector-bits", KEY_DETECTOR_BITS, "N", 0, "that the detector resolves (8)", 0},
    {"loss", KEY_LOSS, "DB", 0, "of the light (0)", 0},
    {"gain", KEY_GAIN, "DB", 0, "behind the detector, in steps of 1/256 (0)", 0},
    {0},
};

static const char doc[] =
    "Multiplies by light, and shows how: both converters play a preamble and the data, the "
    "modulators are skewed against each other, and the detector's samples are cut into words "
    "anywhere, so that the preamble has to be found before the product is read.\v"
    "A is an activation of 0 to 255 and W a weight of -255 to 255, whose sign travels beside the "
    "light; lists of as many, A1,A2,... and W1,W2,..., are a dot product. Write -- before A "
    "where W begins with a minus. A product is (A * W) >> 8: full scale is 256 steps. "
    "The exit code is 1 where the preamble is not found.\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic multiply 100 50 --plot wave.svg\n"
    "  $ weft photonic multiply 255,128,64 255,-128,64 --wavelengths 2 --json\n"
    "  $ weft photonic multiply 100 50 --noise 1.66 --seed 7 --loss 3 --gain 3\n";

struct multiply_input {
    struct cli *cli;
    const char *plot_path; // NULL = none
    struct weft_photonic_multiply_request request;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct multiply_input *input = state->input;
    const struct cli_parameters parameters = {&input->request, weft_photonic_multiply_parameters,
                                              weft_photonic_multiply_parameter_count};
    for (uint32_t o = 1; options[o].name != NULL; o++) {
        if (options[o].key == key) {
            return cli_parameter(input->cli, &parameters, options[o].name, argument);
        }
    }
    switch (key) {
    case KEY_PLOT:
        return cli_take(input->cli, &input->plot_path, argument, "plot");
    case ARGP_KEY_ARG:
        if (input->request.activations == NULL) {
            input->request.activations = argument;
            return 0;
        }
        return cli_take(input->cli, &input->request.weights, argument, "weight");
    case ARGP_KEY_END:
        return input->request.weights != NULL
                   ? 0
                   : cli_usage(input->cli, "what times what? write %s 100 50", input->cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- waveforms as text ----

enum { CYCLE = 16, COLUMNS_MAX = 88 };

// One character for `step` samples, by the largest of them.
static const char *sketch(const uint8_t *values, uint32_t samples, uint32_t late, uint32_t step,
                          struct weft_arena *arena)
{
    static const char levels[] = " .:-=+*#@";
    uint32_t columns = (samples + step - 1) / step;
    char *line = WEFT_NEW(arena, char, columns + 1);
    for (uint32_t c = 0; c < columns; c++) {
        uint32_t largest = 0;
        for (uint32_t t = c * step; t < (c + 1) * step && t < samples; t++) {
            uint32_t value = t < late ? 0 : values[t - late];
            largest = value > largest ? value : largest;
        }
        line[c] = levels[(largest * (sizeof levels - 2) + 254) / 255];
    }
    return line;
}

static void print_waveforms(struct cli *cli, const struct weft_photonic_dot *dot)
{
    const struct weft_photonic_streams *streams = &dot->streams;
    uint32_t step = (streams->samples + COLUMNS_MAX - 1) / COLUMNS_MAX;
    for (uint32_t k = 0; k < streams->wavelengths; k++) {
        size_t at = (size_t)k * streams->samples;
        if (streams->wavelengths > 1) {
            cli_say(cli, "wavelength %u\n", k);
        }
        cli_say(cli, "  dac_0     |%s|\n",
                sketch(streams->activation + at, streams->samples, dot->delay_activation, step,
                       &cli->arena));
        cli_say(
            cli, "  dac_1     |%s|\n",
            sketch(streams->weight + at, streams->samples, dot->delay_weight, step, &cli->arena));
        cli_say(cli, "  detector  |%s|\n",
                sketch(dot->detector + at, streams->samples, 0, step, &cli->arena));
    }
    cli_say(cli, "  a character is the largest of %u samples, ' ' dark to '@' full scale\n", step);
}

static void print_decoded(struct cli *cli, const struct weft_photonic_multiply_result *result)
{
    const struct weft_photonic_dot *dot = &result->dot;
    if (!dot->found) {
        cli_say(cli,
                "decode     no preamble among the detector's samples; %u words look like "
                "none\n",
                dot->errors);
        return;
    }
    cli_say(cli, "decode     preamble at sample %u, rotation %u%s; data from sample %u\n",
            dot->first - dot->preamble * CYCLE, dot->rotation,
            dot->errors == 0 ? ""
                             : weft_arena_format(&cli->arena, ", %u word%s before no pattern",
                                                 dot->errors, dot->errors == 1 ? "" : "s"),
            dot->first);
    double exact = 0;
    for (uint32_t i = 0; i < result->count; i++) {
        double product = result->activations[i] * result->weights[i] / 256.0;
        exact += product;
        cli_say(cli, "           %u * %d = %s%u steps of 256; %.4g exactly\n",
                result->activations[i], result->weights[i], result->weights[i] < 0 ? "-" : "",
                dot->products[i], product);
    }
    if (result->count > 1) {
        cli_say(cli, "sum        %d steps; %d without faults of the light, %.6g exactly\n",
                dot->sum, dot->exact, exact);
    }
}

static void print(struct cli *cli, const struct weft_photonic_multiply_request *request,
                  const struct weft_photonic_multiply_result *result)
{
    const struct weft_photonic_dot *dot = &result->dot;
    cli_say(cli, "dac_0 = %s\ndac_1 = %s\n", request->activations, request->weights);
    cli_say(cli,
            "acquire    %u samples: %u cycles of preamble, then the data; light arrives %u "
            "samples after it left\n",
            dot->streams.samples, dot->preamble, dot->arrival);
    cli_say(cli, "plot\n");
    print_waveforms(cli, dot);
    print_decoded(cli, result);
}

static bool plot(struct cli *cli, const struct multiply_input *input,
                 const struct weft_photonic_dot *dot)
{
    const char *title = weft_arena_format(&cli->arena, "%s times %s by light",
                                          input->request.activations, input->request.weights);
    const char *svg = weft_report_svg_waveform(dot, title, &cli->arena);
    return weft_file_save(input->plot_path, svg, strlen(svg), &cli->error);
}

int photonic_multiply(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic multiply",
        .arguments = "A W",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct multiply_input input = {.cli = &cli};
    struct weft_photonic_multiply_result result;
    bool fine =
        cli_parse(&cli, &verb, argc, argv, &input) &&
        (input.plot_path == NULL || cli_can_write(&cli, input.plot_path)) &&
        weft_request_photonic_multiply(&result, &input.request, cli_environment(&cli, NULL)) &&
        (input.plot_path == NULL || plot(&cli, &input, &result.dot));
    cli.exit_code = fine && !result.dot.found ? CLI_EXIT_NO : cli.exit_code;
    if (fine && cli.json) {
        cli_say(&cli, "%s", weft_request_photonic_multiply_json(&result, &cli.arena));
    } else if (fine) {
        print(&cli, &input.request, &result);
    }
    return cli_finish(&cli, fine);
}
