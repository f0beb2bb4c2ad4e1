// SPDX-License-Identifier: Apache-2.0
// weft photonic nic: raises an interface that answers requests to light, shows it, takes it away.

#include "nic.h"
#include "photonic.h"
#include "request/json/json.h"
#include "serving.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_NAME = 1, KEY_ENGINE, KEY_PORT, KEY_MTU, KEY_SIMULATOR, KEY_NO_XDP };

struct nic_input {
    struct cli *cli;
    const char *action;
    const char *folders[WEFT_PHOTONIC_MODELS_MAX];
    uint32_t folder_count;
    const char *name; // NULL = none was said
    uint32_t engine;
    uint32_t port;
    uint32_t mtu_bytes;
    const char *simulator;
    bool without_xdp;
};

static const struct argp_option options[] = {
    {"name", KEY_NAME, "NAME", 0, "of the interface (nic0)", 0},
    {"engine", KEY_ENGINE, "ENGINE", 0, "what computes: twin, verilog or stop-and-go (twin)", 0},
    {"simulator", KEY_SIMULATOR, "PROGRAM", 0, "with --engine verilog: the simulated datapath", 0},
    {"port", KEY_PORT, "N", 0, "of UDP (4055)", 0},
    {"mtu", KEY_MTU, "BYTES", 0, "of the cable, 576 to 9000 (1500)", 0},
    {"no-xdp", KEY_NO_XDP, NULL, 0, "check in the process alone, without a program in the kernel",
     0},
    {0},
};

static const char doc[] =
    "A network interface that answers requests to light: a port in a network namespace of its own, "
    "with compiled models resident, and at the other end of its cable a namespace with a host that "
    "asks. It needs root.\v"
    "  up DIR...   raise it with these compiled folders; a model's number is its place, or ID=DIR\n"
    "  status      what stands, with counters: answered, dropped and why, latency\n"
    "  down        take it away\n"
    "\n"
    "The port is 198.18.0.2 in the namespace weft.NAME, the host 198.18.0.1 in weft.NAME.host. "
    "What is no request is dropped and counted; other traffic is the kernel's.\n"
    "\n"
    "Examples:\n"
    "  $ weft photonic nic up digits\n"
    "  $ weft photonic ask 198.18.0.2 digit.u8 --in weft.nic0.host\n"
    "  $ weft photonic nic status --json\n"
    "  $ weft photonic nic down\n";

static error_t take_word(struct nic_input *input, const char *word)
{
    struct cli *cli = input->cli;
    static const char *const actions[] = {"up", "status", "down"};
    if (input->action == NULL) {
        for (uint32_t i = 0; i < 3; i++) {
            if (strcmp(word, actions[i]) == 0) {
                input->action = actions[i];
                return 0;
            }
        }
        return cli_usage(cli, "'%.40s' is not up, status or down", word);
    }
    if (strcmp(input->action, "up") != 0) {
        return cli_usage(cli, "%s takes no %.40s; --name says which interface", input->action,
                         word);
    }
    if (input->folder_count == WEFT_PHOTONIC_MODELS_MAX) {
        return cli_usage(cli, "at most %d models", WEFT_PHOTONIC_MODELS_MAX);
    }
    input->folders[input->folder_count++] = word;
    return 0;
}

static error_t check_words(const struct nic_input *input)
{
    struct cli *cli = input->cli;
    if (input->action == NULL) {
        return cli_usage(cli, "what? write %s up DIR..., status or down", cli->program);
    }
    if (strcmp(input->action, "up") == 0 && input->folder_count == 0) {
        return cli_usage(cli, "which models? write %s up DIR..., compiled by weft photonic compile",
                         cli->program);
    }
    const bool simulates = input->engine == WEFT_NIC_ENGINE_VERILOG;
    if (simulates != (input->simulator != NULL)) {
        return cli_usage(cli, "--engine verilog and --simulator PROGRAM go together");
    }
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct nic_input *input = state->input;
    struct cli *cli = input->cli;
    switch (key) {
    case KEY_NAME:
        input->name = argument;
        return cli_value(cli, weft_nic_check_name(argument, &cli->error), "name");
    case KEY_ENGINE:
        return cli_choose(cli, &input->engine, "engine", argument, weft_nic_engine_names,
                          WEFT_NIC_ENGINES);
    case KEY_SIMULATOR:
        input->simulator = argument;
        return 0;
    case KEY_PORT:
        return cli_count(cli, &input->port, "port", argument, 1, 65535);
    case KEY_MTU:
        return cli_count(cli, &input->mtu_bytes, "mtu", argument, WEFT_NIC_MTU_MIN,
                         WEFT_NIC_MTU_MAX);
    case KEY_NO_XDP:
        input->without_xdp = true;
        return 0;
    case ARGP_KEY_ARG:
        return take_word(input, argument);
    case ARGP_KEY_END:
        return check_words(input);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- up ----

static void say_up(struct cli *cli, const struct weft_nic_setup *setup,
                   const struct weft_photonic_models *models, const char *note)
{
    char port[WEFT_NIC_NETNS_MAX];
    char host[WEFT_NIC_NETNS_MAX];
    weft_nic_port_netns(port, setup->name);
    weft_nic_host_netns(host, setup->name);
    if (!cli->json) {
        cli_say(cli, "%s answers at 198.18.0.2:%u in %s, %u model%s, engine %s%s%s\n", setup->name,
                setup->port, port, models->count, models->count == 1 ? "" : "s",
                weft_nic_engine_names[setup->engine.kind], note[0] != '\0' ? "; no XDP: " : "",
                note);
        cli_say(cli, "ask it: weft photonic ask 198.18.0.2 FILE.u8 --in %s\n", host);
        return;
    }
    json_t *object = weft_set_object("weft.photonic-nic-up/1");
    weft_set_text(object, "name", setup->name);
    weft_set_text(object, "address", "198.18.0.2");
    weft_set_count(object, "port", setup->port);
    weft_set_text(object, "namespace", port);
    weft_set_text(object, "host_namespace", host);
    weft_set_text(object, "engine", weft_nic_engine_names[setup->engine.kind]);
    weft_set_truth(object, "xdp", note[0] == '\0');
    weft_set_count(object, "models", models->count);
    cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
}

// The path from the root, since the interface's process works there.
static const char *whole_path(struct cli *cli, const char *path)
{
    char *whole = realpath(path, NULL);
    const char *kept = whole != NULL ? weft_arena_text(&cli->arena, whole, strlen(whole)) : path;
    free(whole);
    return kept;
}

// The simulator with the folders of all models, each with its number, as a command.
static const char *const *command_of(struct cli *cli, const struct nic_input *input,
                                     const struct weft_photonic_models *models)
{
    const char **words = WEFT_NEW(&cli->arena, const char *, input->folder_count + 2u);
    if (input->simulator == NULL) {
        return words;
    }
    words[0] = whole_path(cli, input->simulator);
    for (uint32_t i = 0; i < input->folder_count; i++) {
        uint32_t id;
        const char *folder = photonic_split_folder(&id, input->folders[i]);
        words[i + 1] =
            weft_arena_format(&cli->arena, "%u=%s", models->models[i].id, whole_path(cli, folder));
    }
    return words;
}

static bool raise_nic(struct nic_input *input)
{
    struct cli *cli = input->cli;
    struct weft_photonic_models models;
    char note[256];
    struct weft_nic_setup setup = {
        .name = input->name != NULL ? input->name : WEFT_NIC_DEFAULT,
        .port = (uint16_t)input->port,
        .mtu_bytes = input->mtu_bytes,
        .without_xdp = input->without_xdp,
        .engine.kind = input->engine,
    };
    if (!photonic_load_models(&models, cli, input->folders, input->folder_count,
                              input->mtu_bytes)) {
        return false;
    }
    setup.engine.command = command_of(cli, input, &models);
    if (!weft_nic_up(note, &setup, &models, &cli->arena, &cli->error)) {
        return false;
    }
    say_up(cli, &setup, &models, note);
    return true;
}

// ---- down ----

static bool take_away(struct nic_input *input)
{
    struct cli *cli = input->cli;
    const char *name = input->name != NULL ? input->name : WEFT_NIC_DEFAULT;
    bool stood;
    if (!weft_nic_down(&stood, name, &cli->error)) {
        return false;
    }
    if (cli->json) {
        json_t *object = weft_set_object("weft.photonic-nic-down/1");
        weft_set_text(object, "name", name);
        weft_set_truth(object, "stood", stood);
        cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
    } else {
        cli_say(cli, stood ? "%s taken away\n" : "%s: nothing stood\n", name);
    }
    return true;
}

int photonic_nic(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic nic",
        .arguments = "up DIR... | status | down",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct nic_input input = {.cli = &cli, .port = WEFT_PHOTONIC_PORT, .mtu_bytes = 1500};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input);
    if (fine && strcmp(input.action, "up") == 0) {
        fine = raise_nic(&input);
    } else if (fine && strcmp(input.action, "status") == 0) {
        fine = photonic_show_nics(&cli, input.name);
    } else if (fine) {
        fine = take_away(&input);
    }
    return cli_finish(&cli, fine);
}
