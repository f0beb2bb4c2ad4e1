// SPDX-License-Identifier: Apache-2.0
// weft photonic load: many requests to an interface that answers, at a rate or as many at once as
// asked for, through a network that may be made to lose, reorder and repeat packets.

#include "photonic.h"
#include "request/json/json.h"
#include "serving.h"

#include <string.h>

enum {
    KEY_RATE = 1,
    KEY_COUNT,
    KEY_WINDOW,
    KEY_RETRIES,
    KEY_LOSS,
    KEY_REORDER,
    KEY_REPEAT,
    KEY_CHECK
};

struct load_input {
    struct cli *cli;
    struct photonic_ask ask;
    struct weft_nic_load load;
    const char *path;
    const char *check;
    uint32_t count;
    bool has_rate;
};

static const struct argp_option options[] = {
    PHOTONIC_ASK_OPTIONS,
    {"rate", KEY_RATE, "N", 0, "requests a second, in an open loop with Poisson arrivals (1000)",
     0},
    {"count", KEY_COUNT, "N", 0, "of requests (1000)", 0},
    {"window", KEY_WINDOW, "N", 0, "a closed loop instead: N requests at once", 0},
    {"retries", KEY_RETRIES, "N", 0, "send a request again N times at most (0)", 0},
    {"loss", KEY_LOSS, "RATIO", 0, "lose so many of the packets, both ways (0)", 0},
    {"reorder", KEY_REORDER, "RATIO", 0, "hold back so many of the requests behind others (0)", 0},
    {"repeat", KEY_REPEAT, "RATIO", 0, "send so many of the requests twice (0)", 0},
    {"check", KEY_CHECK, "DIR", 0,
     "compare every answer with what the compiled folder's twin says (else with the first one to "
     "the same input)",
     0},
    {0},
};

static const char doc[] =
    "Sends requests to an interface that answers, and says how long answers took and how many were "
    "lost or wrong; a wrong one is exit code 1. Latency counts from the time that a request was "
    "meant to be sent, so that a queue before the interface shows.\v"
    "Inputs of FILE are asked one after the other, again and again. --seed chooses the arrivals "
    "and what the network loses.\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic load 198.18.0.2 digits.u8 --in weft.nic0.host --rate 20000 --count 100000\n"
    "  $ weft photonic load 198.18.0.2 digits.u8 --in weft.nic0.host --window 32 --loss 0.02 \\\n"
    "      --reorder 0.05 --repeat 0.02 --retries 20 --check digits\n";

static error_t take_ratio(struct cli *cli, double *ratio, const char *option, const char *text)
{
    return cli_value(cli, weft_parse_number(ratio, text, 0, 0.9, &cli->error), option);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct load_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_nic_load *load = &input->load;
    error_t result;
    if (photonic_take_ask(&result, cli, &input->ask, key, argument)) {
        return result;
    }
    switch (key) {
    case KEY_RATE:
        input->has_rate = true;
        return cli_value(cli, weft_parse_number(&load->rate_hz, argument, 0.001, 1e8, &cli->error),
                         "rate");
    case KEY_COUNT:
        return cli_count(cli, &input->count, "count", argument, 1, UINT32_MAX - 1);
    case KEY_WINDOW:
        return cli_count(cli, &load->window, "window", argument, 1, 65536);
    case KEY_RETRIES:
        return cli_count(cli, &load->retries, "retries", argument, 0, 1000);
    case KEY_LOSS:
        return take_ratio(cli, &load->loss, "loss", argument);
    case KEY_REORDER:
        return take_ratio(cli, &load->reorder, "reorder", argument);
    case KEY_REPEAT:
        return take_ratio(cli, &load->repeat, "repeat", argument);
    case KEY_CHECK:
        input->check = argument;
        return 0;
    case ARGP_KEY_ARG:
        return input->ask.target.address == NULL
                   ? cli_take(cli, &input->ask.target.address, argument, "address")
                   : cli_take(cli, &input->path, argument, "file");
    case ARGP_KEY_END:
        if (input->path == NULL) {
            return cli_usage(cli, "what, and whom? write %s ADDRESS FILE.u8", cli->program);
        }
        if (input->has_rate && load->window > 0) {
            return cli_usage(cli, "--rate or --window, not both");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// What is right for each input, as the twin computes it.
static bool expect(struct load_input *input, const struct photonic_inputs *inputs)
{
    struct cli *cli = input->cli;
    struct weft_nic_load *load = &input->load;
    struct weft_photonic_models models;
    uint32_t samples;
    if (!photonic_load_models(&models, cli, &input->check, 1, WEFT_PHOTONIC_PAYLOAD_BYTES_MAX) ||
        !weft_photonic_path_samples(&samples, &weft_photonic_path_default, &cli->error)) {
        return false;
    }
    const struct weft_photonic_model *model = &models.models[0];
    if (model->input_bytes != load->model.input_bytes ||
        model->program.row_count != load->model.layers) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%.200s: %u layers and inputs of %u bytes, but model %u there has %u and "
                         "%u; --model says which",
                         input->check, model->program.row_count, model->input_bytes,
                         input->ask.model, load->model.layers, load->model.input_bytes);
    }
    const size_t whole = weft_photonic_answer_bytes(model);
    const size_t bytes = whole - WEFT_PHOTONIC_HEAD_BYTES;
    uint8_t *expected = WEFT_NEW(&cli->arena, uint8_t, bytes * inputs->count);
    uint8_t *answer = WEFT_NEW(&cli->arena, uint8_t, whole);
    struct weft_photonic_twin *twin =
        weft_photonic_twin_build(&model->program, samples, &cli->arena);
    for (uint32_t i = 0; i < inputs->count; i++) {
        struct weft_photonic_result result;
        weft_photonic_twin_run(&result, twin, inputs->bytes + (size_t)i * model->input_bytes, NULL,
                               NULL);
        const struct weft_photonic_outcome outcome = {result.class_index, result.sum_count,
                                                      result.sums, result.highest};
        weft_photonic_answer_write(answer, &load->model, &outcome);
        memcpy(expected + i * bytes, answer + WEFT_PHOTONIC_HEAD_BYTES, bytes);
    }
    load->expected = expected;
    load->answer_bytes = (uint32_t)bytes;
    return true;
}

static void print_json(struct cli *cli, const struct weft_nic_load_result *result,
                       const struct weft_nic_load *load)
{
    const struct weft_nic_histogram *latency = &result->latency;
    json_t *object = weft_set_object("weft.photonic-load/1");
    weft_set_count(object, "requests", load->count);
    weft_set_count(object, "answered", result->answered);
    weft_set_count(object, "lost", result->lost);
    weft_set_count(object, "wrong", result->wrong);
    weft_set_count(object, "late", result->late);
    weft_set_count(object, "strange", result->strange);
    weft_set_count(object, "packets_sent", result->sent);
    weft_set_count(object, "packets_dropped", result->dropped);
    weft_set_count(object, "packets_reordered", result->reordered);
    weft_set_count(object, "packets_repeated", result->repeated);
    weft_set_real(object, "wall_s", result->seconds);
    weft_set_real(object, "answered_per_s", (double)result->answered / result->seconds);
    weft_set_real(object, "latency_p50_s", weft_nic_histogram_quantile_s(latency, 0.5));
    weft_set_real(object, "latency_p99_s", weft_nic_histogram_quantile_s(latency, 0.99));
    weft_set_real(object, "latency_p999_s", weft_nic_histogram_quantile_s(latency, 0.999));
    cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
}

static void print(struct cli *cli, const struct weft_nic_load_result *result)
{
    const struct weft_nic_histogram *latency = &result->latency;
    cli_say(cli, "%llu answered, %llu lost, %llu wrong; %.0f a second\n",
            (unsigned long long)result->answered, (unsigned long long)result->lost,
            (unsigned long long)result->wrong, (double)result->answered / result->seconds);
    cli_say(cli, "latency p50 %.1f us, p99 %.1f us, p99.9 %.1f us\n",
            weft_nic_histogram_quantile_s(latency, 0.5) * 1e6,
            weft_nic_histogram_quantile_s(latency, 0.99) * 1e6,
            weft_nic_histogram_quantile_s(latency, 0.999) * 1e6);
    if (result->dropped + result->reordered + result->repeated > 0) {
        cli_say(cli, "made to be lost %llu, held back %llu, sent twice %llu\n",
                (unsigned long long)result->dropped, (unsigned long long)result->reordered,
                (unsigned long long)result->repeated);
    }
}

static bool run(struct load_input *input, struct weft_nic_client *client)
{
    struct cli *cli = input->cli;
    struct weft_nic_load *load = &input->load;
    struct weft_nic_load_result *result = WEFT_NEW(&cli->arena, struct weft_nic_load_result, 1);
    struct photonic_inputs inputs;
    if (!weft_nic_describe(&load->model, client, input->ask.model, &cli->error) ||
        !photonic_load_inputs(&inputs, cli, input->path, load->model.input_bytes) ||
        (input->check != NULL && !expect(input, &inputs))) {
        return false;
    }
    load->inputs = inputs.bytes;
    load->input_count = inputs.count;
    load->seed = cli->seed;
    load->count = input->count;
    load->rate_hz = load->window > 0 ? 0 : load->rate_hz;
    const weft_stop stop = cli_clock_start(cli, "load", input->ask.target.address);
    const bool fine = weft_nic_load_run(result, client, load, stop, &cli->arena, &cli->error);
    cli_clock_stop(cli);
    if (!fine) {
        return false;
    }
    if (cli->json) {
        print_json(cli, result, load);
    } else {
        print(cli, result);
    }
    cli->exit_code = result->wrong > 0 ? CLI_EXIT_NO : CLI_EXIT_YES;
    return true;
}

int photonic_load(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic load",
        .arguments = "ADDRESS FILE.u8",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct load_input input = {.cli = &cli, .count = 1000, .load.rate_hz = 1000};
    struct weft_nic_client client;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                weft_nic_client_open(&client, &input.ask.target, cli.seed, &cli.error);
    if (fine) {
        fine = run(&input, &client);
        weft_nic_client_close(&client);
    }
    return cli_finish(&cli, fine);
}
