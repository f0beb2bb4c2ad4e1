// SPDX-License-Identifier: Apache-2.0
// weft photonic ask: inputs of a file to an interface that answers, one after the other.

#include "photonic.h"
#include "request/json/json.h"
#include "serving.h"

enum { KEY_TRIES = 1 };

struct ask_input {
    struct cli *cli;
    struct photonic_ask ask;
    const char *path;
};

static const struct argp_option options[] = {
    PHOTONIC_ASK_OPTIONS,
    {"tries", KEY_TRIES, "N", 0, "send a request N times at most (5)", 0},
    {0},
};

static const char doc[] =
    "Asks an interface that answers requests to light, by UDP: which class is each input? A "
    "request that is not answered in time is sent again with the same number; what is no answer to "
    "it is not taken for one.\v"
    "FILE is bytes, an activation each, input after input; how long one is, the interface says. "
    "Inputs longer than a packet go in fragments. ADDRESS is 198.18.0.2 or 198.18.0.2:4055.\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic ask 198.18.0.2 digit.u8 --in weft.nic0.host\n"
    "  $ weft photonic ask 198.18.0.2 digit.u8 --in weft.nic0.host --model 1 --json\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct ask_input *input = state->input;
    struct cli *cli = input->cli;
    error_t result;
    if (photonic_take_ask(&result, cli, &input->ask, key, argument)) {
        return result;
    }
    switch (key) {
    case KEY_TRIES:
        return cli_count(cli, &input->ask.target.tries, "tries", argument, 1, 1000);
    case ARGP_KEY_ARG:
        return input->ask.target.address == NULL
                   ? cli_take(cli, &input->ask.target.address, argument, "address")
                   : cli_take(cli, &input->path, argument, "file");
    case ARGP_KEY_END:
        return input->path != NULL
                   ? 0
                   : cli_usage(cli, "what, and whom? write %s ADDRESS FILE.u8", cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void add_answer(json_t *list, const struct weft_nic_reply *reply)
{
    json_t *object = json_object();
    json_t *sums = json_array();
    json_t *highest = json_array();
    for (uint32_t i = 0; i < reply->answer.sum_count; i++) {
        json_array_append_new(sums, json_integer(weft_photonic_answer_sum(&reply->answer, i)));
    }
    for (uint32_t i = 0; i < reply->answer.head.layers; i++) {
        json_array_append_new(highest, json_integer(reply->answer.highest[i]));
    }
    weft_set_count(object, "class", reply->answer.class_index);
    weft_set_real(object, "latency_s", reply->latency_s);
    weft_set_count(object, "tries", reply->tries);
    weft_set(object, "sums", sums);
    weft_set(object, "highest", highest);
    json_array_append_new(list, object);
}

// Asks all inputs; the first answer stands for itself, too.
static bool ask_all(struct ask_input *input, struct weft_nic_client *client)
{
    struct cli *cli = input->cli;
    struct weft_photonic_head model;
    struct photonic_inputs inputs;
    struct weft_nic_reply reply = {
        .payload = WEFT_NEW(&cli->arena, uint8_t, WEFT_PHOTONIC_PAYLOAD_BYTES_MAX)};
    if (!weft_nic_describe(&model, client, input->ask.model, &cli->error) ||
        !photonic_load_inputs(&inputs, cli, input->path, model.input_bytes)) {
        return false;
    }
    json_t *object = weft_set_object("weft.photonic-ask/1");
    json_t *list = json_array();
    bool fine = true;
    for (uint32_t i = 0; i < inputs.count && fine; i++) {
        fine = weft_nic_ask(&reply, client, &model, inputs.bytes + (size_t)i * model.input_bytes,
                            &cli->error);
        if (fine && i == 0) {
            weft_set_count(object, "class", reply.answer.class_index);
            weft_set_real(object, "latency_s", reply.latency_s);
        }
        if (fine && cli->json) {
            add_answer(list, &reply);
        } else if (fine) {
            cli_say(cli, "input %u: class %u, %.1f us%s\n", i, reply.answer.class_index,
                    reply.latency_s * 1e6, reply.tries > 1 ? ", asked again" : "");
        }
    }
    weft_set_count(object, "model", input->ask.model);
    weft_set(object, "answers", list);
    const char *text = weft_set_finish(object, &cli->arena);
    if (fine && cli->json) {
        cli_say(cli, "%s", text);
    }
    return fine;
}

int photonic_ask(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic ask",
        .arguments = "ADDRESS FILE.u8",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct ask_input input = {.cli = &cli};
    struct weft_nic_client client;
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) &&
                weft_nic_client_open(&client, &input.ask.target, cli.seed, &cli.error);
    if (fine) {
        fine = ask_all(&input, &client);
        weft_nic_client_close(&client);
    }
    return cli_finish(&cli, fine);
}
