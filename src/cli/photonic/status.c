// SPDX-License-Identifier: Apache-2.0
// weft photonic status, which is weft photonic nic status: the interfaces that answer, with their
// counters. What the program in the kernel dropped and what the process dropped stand under one
// reason.

#include "nic.h"
#include "photonic.h"
#include "request/json/json.h"

#include <string.h>

enum { KEY_NAME = 1 };

struct status_input {
    struct cli *cli;
    const char *name; // NULL = all
};

static const struct argp_option options[] = {
    {"name", KEY_NAME, "NAME", 0, "of one interface alone", 0},
    {0},
};

static const char doc[] =
    "Shows the interfaces that answer requests to light: models, what was received, answered and "
    "dropped, by reason, and the latency from receipt to answer. The same as weft photonic nic "
    "status.\v"
    "Examples:\n"
    "  $ weft photonic status\n"
    "  $ weft photonic status --name nic0 --json\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct status_input *input = state->input;
    struct cli *cli = input->cli;
    switch (key) {
    case KEY_NAME:
        input->name = argument;
        return cli_value(cli, weft_nic_check_name(argument, &cli->error), "name");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- drops ----

enum { REASONS = WEFT_PHOTONIC_DROPS + WEFT_NIC_FRAME_KINDS + 3 };
struct reasons {
    uint32_t count;
    const char *names[REASONS];
    uint64_t values[REASONS];
    uint64_t total;
};

static void add(struct reasons *reasons, const char *name, uint64_t value)
{
    WEFT_ASSERT(reasons->count < REASONS);
    reasons->names[reasons->count] = name;
    reasons->values[reasons->count++] = value;
    reasons->total += value;
}

// What the kernel's program counts under the reason of a frame or of a payload.
static uint64_t of_kernel(const struct weft_nic_state *state, uint32_t what)
{
    return state->has_xdp ? state->xdp[what] : 0;
}

static struct reasons collect(const struct weft_nic_state *state)
{
    static const uint32_t frames[WEFT_NIC_FRAME_KINDS] = {
        [WEFT_NIC_FRAME_FRAGMENT] = REQUESTS_FRAGMENT,
        [WEFT_NIC_FRAME_ADDRESS] = REQUESTS_ADDRESS,
        [WEFT_NIC_FRAME_UDP] = REQUESTS_UDP,
    };
    static const uint32_t payloads[WEFT_PHOTONIC_DROPS] = {
        [WEFT_PHOTONIC_DROP_SHORT] = REQUESTS_SHORT,
        [WEFT_PHOTONIC_DROP_MAGIC] = REQUESTS_MAGIC,
        [WEFT_PHOTONIC_DROP_VERSION] = REQUESTS_VERSION,
        [WEFT_PHOTONIC_DROP_FLAGS] = REQUESTS_FLAGS,
        [WEFT_PHOTONIC_DROP_PAD] = REQUESTS_PAD,
    };
    struct reasons reasons = {0};
    add(&reasons, "oversized", state->oversized);
    add(&reasons, "overrun", state->overrun);
    add(&reasons, "unsent", state->unsent);
    for (uint32_t i = WEFT_NIC_FRAME_IP; i < WEFT_NIC_FRAME_KINDS; i++) {
        const uint64_t kernel = frames[i] > 0 ? of_kernel(state, frames[i]) : 0;
        add(&reasons, weft_nic_frame_name(i), state->frames[i] + kernel);
    }
    for (uint32_t i = WEFT_PHOTONIC_DROP_SHORT; i < WEFT_PHOTONIC_DROPS; i++) {
        const uint64_t kernel = payloads[i] > 0 ? of_kernel(state, payloads[i]) : 0;
        add(&reasons, weft_photonic_drop_name(i), state->counts.drops[i] + kernel);
    }
    return reasons;
}

// ---- one interface ----

static json_t *describe(const struct weft_nic_state *state, pid_t keeper,
                        const struct reasons *reasons)
{
    char netns[WEFT_NIC_NETNS_MAX];
    json_t *object = json_object();
    weft_set_text(object, "name", state->name);
    weft_set_truth(object, "is_up", keeper > 0 && state->is_up != 0);
    weft_set_text(object, "engine", state->engine);
    weft_set_text(object, "address", "198.18.0.2");
    weft_set_count(object, "port", state->port);
    weft_set_count(object, "mtu_bytes", state->mtu_bytes);
    weft_set_text(object, "namespace", weft_nic_port_netns(netns, state->name));
    weft_set_text(object, "host_namespace", weft_nic_host_netns(netns, state->name));
    weft_set_truth(object, "xdp", state->has_xdp != 0);
    weft_set_count(object, "received", state->counts.received);
    weft_set_count(object, "answered", state->counts.answered);
    weft_set_count(object, "answered_again", state->counts.repeated);
    weft_set_count(object, "described", state->counts.described);
    weft_set_count(object, "fragments_joined", state->counts.fragments_joined);
    weft_set_count(object, "fragments_again", state->counts.fragments_repeated);
    weft_set_count(object, "dropped", reasons->total);
    json_t *drops = json_object();
    for (uint32_t i = 0; i < reasons->count; i++) {
        weft_set_count(drops, reasons->names[i], reasons->values[i]);
    }
    weft_set(object, "drops", drops);
    weft_set_real(object, "latency_p50_s", weft_nic_histogram_quantile_s(&state->latency, 0.5));
    weft_set_real(object, "latency_p99_s", weft_nic_histogram_quantile_s(&state->latency, 0.99));
    json_t *models = weft_set_list(object, "models");
    for (uint32_t i = 0; i < state->model_count; i++) {
        const struct weft_nic_model *model = &state->models[i];
        json_t *row = json_object();
        weft_set_count(row, "id", model->id);
        weft_set_text(row, "name", model->name);
        weft_set_count(row, "layers", model->layers);
        weft_set_count(row, "input_bytes", model->input_bytes);
        weft_set_count(row, "outputs", model->output_count);
        weft_set_count(row, "answered", state->counts.models[i]);
        json_array_append_new(models, row);
    }
    return object;
}

static void print(struct cli *cli, const struct weft_nic_state *state, pid_t keeper,
                  const struct reasons *reasons)
{
    if (keeper == 0) {
        cli_say(cli, "%s: left by a killed process; weft photonic nic down --name %s\n",
                state->name, state->name);
        return;
    }
    cli_say(cli, "%s: 198.18.0.2:%u in weft.%s, engine %s%s\n", state->name, state->port,
            state->name, state->engine, state->has_xdp ? ", XDP" : "");
    for (uint32_t i = 0; i < state->model_count; i++) {
        cli_say(cli, "  model %u: %s, inputs of %u, answered %llu\n", state->models[i].id,
                state->models[i].name, state->models[i].input_bytes,
                (unsigned long long)state->counts.models[i]);
    }
    cli_say(cli, "  answered %llu, of them again %llu; latency p50 %.1f us, p99 %.1f us\n",
            (unsigned long long)state->counts.answered, (unsigned long long)state->counts.repeated,
            weft_nic_histogram_quantile_s(&state->latency, 0.5) * 1e6,
            weft_nic_histogram_quantile_s(&state->latency, 0.99) * 1e6);
    cli_say(cli, "  dropped %llu", (unsigned long long)reasons->total);
    for (uint32_t i = 0; i < reasons->count; i++) {
        if (reasons->values[i] > 0) {
            cli_say(cli, ", %s %llu", reasons->names[i], (unsigned long long)reasons->values[i]);
        }
    }
    cli_say(cli, "\n");
}

static bool show(struct cli *cli, json_t *list, const char *name)
{
    struct weft_nic_state *state = WEFT_NEW(&cli->arena, struct weft_nic_state, 1);
    pid_t keeper;
    if (!weft_nic_state_read(state, &keeper, name, &cli->error)) {
        return false;
    }
    const struct reasons reasons = collect(state);
    json_array_append_new(list, describe(state, keeper, &reasons));
    if (!cli->json) {
        print(cli, state, keeper, &reasons);
    }
    return true;
}

bool photonic_show_nics(struct cli *cli, const char *name)
{
    const char *const *names = &name;
    uint32_t count = 1;
    if (name == NULL && !weft_nic_state_list(&names, &count, &cli->arena, &cli->error)) {
        return false;
    }
    json_t *object = weft_set_object("weft.photonic-status/1");
    json_t *list = weft_set_list(object, "interfaces");
    bool fine = true;
    for (uint32_t i = 0; i < count && fine; i++) {
        fine = show(cli, list, names[i]);
    }
    const char *text = weft_set_finish(object, &cli->arena);
    if (fine && cli->json) {
        cli_say(cli, "%s", text);
    } else if (fine && count == 0) {
        cli_say(cli, "no interface stands; weft photonic nic up DIR raises one\n");
    }
    return fine;
}

int photonic_status(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft photonic status",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct status_input input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && photonic_show_nics(&cli, input.name);
    return cli_finish(&cli, fine);
}
