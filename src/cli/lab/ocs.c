// SPDX-License-Identifier: Apache-2.0
// weft lab ocs: shows and changes the circuits of a lab's optical switches, or of a real switch
// that is reached over the network. This file parses, changes single circuits (connect, disconnect)
// and emulates a switch; ocs_circuits.c shows switches and applies whole plans.

#include "ocs.h"
#include "request/json/json.h"

#include "runtime/secret.h"
#include "runtime/testbed/testbed.h"
#include "weft/format/file.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PEM_BYTES_MAX ((size_t)1 << 20) // of a certificate with its chain, and of a key
#define CREDENTIALS_BYTES_MAX 1024u
#define PORTS_DEFAULT 16u // of an emulated switch

static const struct argp_option options[] = {
    {"box", OCS_ADDRESS, "[SCHEME://]HOST[:PORT]", 0,
     "a real switch instead of those of the lab: http (default, port 8008), https, ocp+http, "
     "ocp+https, tl1+calient and tl1+polatis (port 3082), sonic://FOLDER, twin://PORTS",
     0},
    {"credentials", OCS_CREDENTIALS, "FILE", 0,
     "file of mode 0600 with NAME:PASSWORD of the switch of --box; emulate: of its one user, made "
     "with a random password where there is none",
     0},
    {"user", OCS_USER, "NAME:PASSWORD", OPTION_HIDDEN, NULL, 0},
    {"ca", OCS_CA, "FILE", 0, "with https: trust certificates that this one (PEM) signed", 0},
    {"insecure", OCS_INSECURE, NULL, 0, "with https: trust any certificate, for a lab of one's own",
     0},
    {"loss", OCS_LOSS, "DB", 0,
     "with --box: the most that a circuit may lose for its light to count (6)", 0},
    {"switch", OCS_SWITCH, "P", 0, "work on switch P alone, where there are several", 0},
    {"dark", OCS_DARK, "T", 0,
     "time for which circuits that move stay dark (as the lab was raised)", 0},
    {"circuits-only", OCS_ONLY, NULL, 0,
     "apply: change the circuits and leave the routes as they are", 0},
    {"protocol", OCS_PROTOCOL, "restconf|ocp|tl1-calient|tl1-polatis", 0,
     "emulate: what the switch speaks (restconf)", 0},
    {"fault", OCS_FAULT, "stuck:PORT|stale[:PORT]|slow:TIME|mute[:N]", 0,
     "emulate: a switch whose mirror of input PORT does not move though it says so, whose circuits "
     "stay when they are gone by its word, whose answers to changes come late or (N: to the N-th) "
     "never",
     0},
    {"ports", OCS_PORTS, "N", 0, "emulate: inputs, and as many outputs, of the switch (16)", 0},
    {"listen", OCS_LISTEN, "PORT", 0,
     "emulate: port of the loopback interface to serve on (any that is free)", 0},
    {"settle", OCS_SETTLE, "T", 0, "emulate: time for which the mirrors move (10ms)", 0},
    {"certificate", OCS_CERTIFICATE, "FILE", 0, "emulate: serve HTTPS with this certificate (PEM)",
     0},
    {"key", OCS_KEY, "FILE", 0,
     "emulate: the private key of --certificate (PEM), a file of mode 0600", 0},
    LAB_NAME_OPTION,
    {0},
};

static const char doc[] =
    "Shows and changes circuits. Every set of circuits is checked to be a matching before anything "
    "moves and circuits that stay are not touched. What the switch says is read back and held "
    "against the light that it measures; where it did not do as told, circuits are put back.\v"
    "Actions:\n"
    "  show                     circuits and what met each port\n"
    "  connect P:IN-OUT...      circuits of switch P; with --box: IN-OUT...\n"
    "  disconnect P:IN...       makes inputs dark\n"
    "  apply PLAN.json          all circuits of a plan, then its routes;\n"
    "                           --box with --switch P: those of its plane P\n"
    "  emulate                  serves as a switch until it is stopped\n"
    "\n"
    "Examples:\n"
    "  $ weft lab ocs show --switch 0\n"
    "  $ weft lab ocs connect 0:3-5 0:5-3 --dark 25ms\n"
    "  $ weft lab ocs apply other.json\n"
    "  $ weft lab ocs apply plan.json --box https://192.0.2.7 --ca ca.pem --switch 1 \\\n"
    "      --credentials switch.secret\n"
    "  $ weft lab ocs emulate --protocol tl1-polatis --fault stuck:3 --credentials switch.secret\n";

static error_t parse_time(struct ocs_request *request, uint64_t *time_ns, const char *option,
                          const char *text)
{
    uint64_t time_ps = 0;
    bool parsed = weft_parse_time(&time_ps, text, &request->cli->error);
    if (parsed && time_ps > 600 * WEFT_PS_PER_S) {
        parsed = weft_fail(&request->cli->error, WEFT_INPUT, "'%.40s' is more than 600s", text);
    }
    *time_ns = time_ps / 1000;
    return cli_value(request->cli, parsed, option);
}

// Takes the options and the arguments: the first argument is the action, the others are its
// circuits or its plan, which each action checks when it runs.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct ocs_request *request = state->input;
    struct cli *cli = request->cli;
    switch (key) {
    case OCS_ADDRESS:
        request->remote.address = argument;
        return 0;
    case OCS_USER:
        return cli_usage(cli, "--user: every user of this machine can read arguments; write "
                              "NAME:PASSWORD into a file of mode 0600 and --credentials FILE");
    case OCS_CREDENTIALS:
        request->remote.credentials_path = argument;
        return 0;
    case OCS_SWITCH:
        return cli_count(cli, &request->plane, "switch", argument, 0, WEFT_LAB_PORTS_MAX - 1);
    case OCS_DARK:
        request->dark_given = true;
        return parse_time(request, &request->dark_ns, "dark", argument);
    case OCS_ONLY:
        request->circuits_only = true;
        return 0;
    case OCS_PORTS:
        return cli_count(cli, &request->emulated.port_count, "ports", argument, 1,
                         WEFT_OCS_PORTS_MAX);
    case OCS_LISTEN:
        return cli_count(cli, &request->emulated.listen_port, "listen", argument, 1, UINT16_MAX);
    case OCS_SETTLE:
        request->emulated.settle_given = true;
        return parse_time(request, &request->emulated.settle_ns, "settle", argument);
    case OCS_CA:
        request->remote.ca_path = argument;
        return 0;
    case OCS_INSECURE:
        request->remote.insecure = true;
        return 0;
    case OCS_CERTIFICATE:
        request->emulated.certificate_path = argument;
        return 0;
    case OCS_KEY:
        request->emulated.key_path = argument;
        return 0;
    case OCS_LOSS:
        return cli_value(
            cli, weft_parse_number(&request->remote.loss_max_db, argument, 0.1, 60, &cli->error),
            "loss");
    case OCS_PROTOCOL:
        request->emulated.protocol = argument;
        return 0;
    case OCS_FAULT:
        request->emulated.fault = argument;
        return 0;
    case LAB_NAME:
        return lab_take_name(cli, &request->name, argument);
    case ARGP_KEY_ARG:
        if (request->action == NULL) {
            return cli_take(cli, &request->action, argument, "action");
        }
        if (request->argument_count == OCS_ARGUMENTS_MAX) {
            return cli_usage(cli, "more than %u circuits; use apply", OCS_ARGUMENTS_MAX);
        }
        request->arguments[request->argument_count++] = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "what? write show, connect, disconnect, apply or emulate");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// NAME:PASSWORD on the first line of the file.
static bool load_credentials(struct ocs_request *request)
{
    struct cli *cli = request->cli;
    struct ocs_remote *remote = &request->remote;
    const char *text = NULL;
    size_t length = 0;
    if (remote->credentials_path == NULL) {
        return true;
    }
    if (!weft_secret_load(&text, &length, remote->credentials_path, CREDENTIALS_BYTES_MAX,
                          &cli->arena, &cli->error)) {
        return false;
    }
    size_t end = strcspn(text, "\r\n");
    const char *colon = memchr(text, ':', end);
    if (colon == NULL || colon == text || colon + 1 == text + end || strlen(text) != length) {
        return weft_fail(&cli->error, WEFT_INPUT, "%.200s: no line of NAME:PASSWORD",
                         remote->credentials_path);
    }
    remote->user = weft_arena_text(&cli->arena, text, (size_t)(colon - text));
    remote->password = weft_arena_text(&cli->arena, colon + 1, (size_t)(text + end - (colon + 1)));
    return true;
}

// ---- connect, disconnect ----

static bool parse_number(uint32_t *value, const char **text)
{
    char *end = NULL;
    if (**text < '0' || **text > '9') {
        return false;
    }
    unsigned long number = strtoul(*text, &end, 10);
    *value = number < WEFT_OCS_PORTS_MAX ? (uint32_t)number : WEFT_OCS_PORTS_MAX;
    *text = end;
    return true;
}

// "P:IN-OUT", "IN-OUT", "P:IN" or "IN".
static bool parse_circuit(struct weft_ocs_circuit *circuit, uint32_t *plane,
                          const struct ocs_request *request, const char *argument, bool connects)
{
    const char *text = argument;
    bool external = request->remote.address != NULL;
    *plane = request->plane == WEFT_NONE ? 0 : request->plane;
    bool fine = parse_number(&circuit->input, &text);
    if (fine && *text == ':') {
        text++;
        *plane = circuit->input;
        fine = !external && parse_number(&circuit->input, &text);
    } else {
        fine = fine && (external || request->plane != WEFT_NONE);
    }
    circuit->output = WEFT_NONE;
    if (fine && connects) {
        fine = *text++ == '-' && parse_number(&circuit->output, &text);
    }
    return (fine && *text == '\0') ||
           cli_misuse(request->cli, "'%.40s' is no circuit; write %s%s", argument,
                      external ? "" : "SWITCH:",
                      connects ? "IN-OUT, for example 0:3-5" : "IN, for example 0:3");
}

// Connects or disconnects single circuits of one switch. Every argument is parsed before the switch
// is opened, so that a mistake in the last one changes nothing.
static bool change(const struct ocs_request *request, const struct weft_lab *lab, bool connects)
{
    struct cli *cli = request->cli;
    struct weft_ocs_circuit *circuits =
        WEFT_NEW(&cli->arena, struct weft_ocs_circuit, request->argument_count + 1);
    uint32_t *planes = WEFT_NEW(&cli->arena, uint32_t, request->argument_count + 1);
    struct weft_ocs_change sum = {0};
    if (request->argument_count == 0) {
        return cli_misuse(cli, "which circuits? write SWITCH:%s", connects ? "IN-OUT" : "IN");
    }
    for (uint32_t i = 0; i < request->argument_count; i++) {
        if (!parse_circuit(&circuits[i], &planes[i], request, request->arguments[i], connects)) {
            return false;
        }
        if (planes[i] != planes[0]) {
            return cli_misuse(cli, "circuits of one switch at a time");
        }
    }
    struct weft_ocs ocs;
    if (!ocs_open(&ocs, request, lab, planes[0])) {
        return false;
    }
    bool fine =
        weft_ocs_connect(&sum, &ocs, circuits, request->argument_count, cli->scratch, &cli->error);
    weft_ocs_close(&ocs);
    if (!fine) {
        return false;
    }
    if (cli->json) {
        json_t *object = weft_set_object("weft.lab-ocs-change/1");
        weft_set_count(object, "changed", sum.changed);
        weft_set_count(object, "untouched", sum.untouched);
        weft_set_count(object, "seen", sum.seen);
        weft_set(object, "unanswered", json_boolean(sum.unanswered));
        cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
        return true;
    }
    cli_say(cli, "%u circuits changed, %u untouched", sum.changed, sum.untouched);
    if (sum.seen > 0) {
        cli_say(cli, ", %u seen by their light", sum.seen);
    }
    cli_say(cli, "%s\n", sum.unanswered ? "; the switch did not say so" : "");
    return true;
}

// ---- emulate ----

static void announce_port(void *context, uint16_t port)
{
    const struct ocs_request *request = context;
    const struct ocs_emulated *emulated = &request->emulated;
    const char *scheme = weft_ocs_protocol_schemes[emulated->protocol_index];
    bool plain = emulated->protocol_index == WEFT_OCS_RESTCONF;
    printf("listening on %s%s%s127.0.0.1:%u, a switch of %u inputs and outputs, credentials in "
           "%s%s\n",
           plain && emulated->certificate_path == NULL ? "" : scheme,
           emulated->certificate_path != NULL ? "s" : "",
           plain && emulated->certificate_path == NULL ? "" : "://", port, emulated->port_count,
           request->remote.credentials_path, emulated->made_credentials ? " (new)" : "");
    fflush(stdout);
}

// Makes the file of credentials where there is none. There is no password that is the same for all.
static bool make_credentials(struct ocs_request *request)
{
    struct cli *cli = request->cli;
    const char *path = request->remote.credentials_path;
    char password[WEFT_SECRET_BYTES];
    if (path == NULL) {
        return cli_misuse(cli, "who may change circuits? write --credentials FILE, with "
                               "NAME:PASSWORD in it; where there is no FILE it is made");
    }
    if (access(path, F_OK) == 0) {
        return true;
    }
    request->emulated.made_credentials = true;
    return weft_secret_make(password, &cli->error) &&
           weft_secret_save(path, weft_arena_format(&cli->arena, "admin:%s\n", password),
                            &cli->error);
}

// The protocol and the fault by their names.
static bool parse_emulated(struct ocs_request *request, struct weft_ocs_fault *fault)
{
    struct cli *cli = request->cli;
    struct ocs_emulated *emulated = &request->emulated;
    bool known = emulated->protocol == NULL;
    for (int i = 0; i < WEFT_OCS_PROTOCOLS && !known; i++) {
        known = strcmp(emulated->protocol, weft_ocs_protocol_names[i]) == 0;
        emulated->protocol_index = (enum weft_ocs_protocol)i;
    }
    if (!known) {
        return weft_fail_word(&cli->error, "protocol of a switch", emulated->protocol,
                              weft_ocs_protocol_names, WEFT_OCS_PROTOCOLS);
    }
    if (emulated->certificate_path != NULL && emulated->protocol_index != WEFT_OCS_RESTCONF &&
        emulated->protocol_index != WEFT_OCS_OCP) {
        return cli_misuse(cli, "--certificate: TL1 knows no TLS; leave it out");
    }
    return emulated->fault == NULL || weft_ocs_parse_fault(fault, emulated->fault, &cli->error) ||
           weft_wrap(&cli->error, "--fault");
}

// Certificate and key, where there are any: a wrong path fails before the port is open.
static bool load_pair(const struct ocs_request *request, struct weft_ocs_emulator *emulator)
{
    struct cli *cli = request->cli;
    const struct ocs_emulated *emulated = &request->emulated;
    size_t bytes = 0;
    if ((emulated->certificate_path == NULL) != (emulated->key_path == NULL)) {
        return cli_misuse(cli, "--certificate and --key belong together");
    }
    return emulated->key_path == NULL ||
           (weft_file_load(&emulator->certificate, &bytes, emulated->certificate_path,
                           PEM_BYTES_MAX, &cli->arena, &cli->error) &&
            weft_secret_load(&emulator->key, &bytes, emulated->key_path, PEM_BYTES_MAX, &cli->arena,
                             &cli->error));
}

// Serves as a switch until Ctrl-C: for tests of the drivers, and of controllers that are not
// Weft's.
static bool emulate(struct ocs_request *request)
{
    struct cli *cli = request->cli;
    struct ocs_emulated *emulated = &request->emulated;
    struct weft_ocs_emulator emulator = {.fault = {.port = WEFT_NONE}};
    if (emulated->port_count == 0) {
        emulated->port_count = PORTS_DEFAULT;
    }
    if (!parse_emulated(request, &emulator.fault) || !load_pair(request, &emulator) ||
        !make_credentials(request) || !load_credentials(request)) {
        return false;
    }
    emulator.protocol = emulated->protocol_index;
    emulator.port_count = emulated->port_count;
    emulator.switch_ms = (uint32_t)(emulated->settle_ns / 1000000);
    emulator.user = request->remote.user;
    emulator.password = request->remote.password;
    emulator.port = (uint16_t)emulated->listen_port;
    weft_stop stop = cli_clock_start(cli, "serving", NULL);
    bool fine = weft_ocs_emulate(&emulator, stop, announce_port, request, &cli->error);
    cli_clock_stop(cli);
    return fine;
}

// ---- the verb ----

static bool act(struct ocs_request *request, struct weft_lab *lab)
{
    const char *action = request->action;
    if (strcmp(action, "show") == 0) {
        return ocs_show(request, lab);
    }
    if (strcmp(action, "apply") == 0) {
        return ocs_apply(request, lab);
    }
    return change(request, lab, strcmp(action, "connect") == 0);
}

// What is of other actions, or of switches that are reached in another way.
static bool refuse_unused(const struct ocs_request *request)
{
    const struct ocs_remote *remote = &request->remote;
    const struct ocs_emulated *emulated = &request->emulated;
    bool emulates = strcmp(request->action, "emulate") == 0;
    bool applies = strcmp(request->action, "apply") == 0;
    bool shows = strcmp(request->action, "show") == 0;
    const char *scheme_end = remote->address != NULL ? strstr(remote->address, "://") : NULL;
    bool https = scheme_end != NULL && scheme_end - remote->address >= 5 &&
                 strncmp(scheme_end - 5, "https", 5) == 0;
    bool boxed = remote->address != NULL;
    const struct weft_stated of_actions[] = {
        {!emulates && emulated->port_count > 0, "ports"},
        {!emulates && emulated->listen_port > 0, "listen"},
        {!emulates && emulated->settle_given, "settle"},
        {!emulates && emulated->certificate_path != NULL, "certificate"},
        {!emulates && emulated->key_path != NULL, "key"},
        {!emulates && emulated->protocol != NULL, "protocol"},
        {!emulates && emulated->fault != NULL, "fault"},
        {!applies && request->circuits_only, "circuits-only"},
        {(emulates || shows) && request->dark_given, "dark"},
        {emulates && request->plane != WEFT_NONE, "switch"},
        {emulates && boxed, "box"},
        {NULL},
    };
    const struct weft_stated of_boxes[] = {
        {!https && remote->ca_path != NULL, "ca"},
        {!https && remote->insecure, "insecure"},
        {!emulates && !boxed && remote->credentials_path != NULL, "credentials"},
        {boxed && request->dark_given, "dark"},
        {!boxed && remote->loss_max_db > 0, "loss"},
        {NULL},
    };
    struct weft_error *error = &request->cli->error;
    return weft_refuse_stated(of_actions, error, "is nothing that %s does; leave it out",
                              request->action) &&
           weft_refuse_stated(of_boxes, error, "is nothing to %s; leave it out",
                              boxed ? remote->address : "the lab's own switches");
}

// Checks the action and does it. Actions on a lab's switches that change something hold the lab's
// claim meanwhile; a real switch has no lab and no claim.
static bool run(struct ocs_request *request)
{
    static const char *const actions[] = {"show", "connect", "disconnect", "apply", "emulate"};
    struct cli *cli = request->cli;
    bool known = false;
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        known = known || strcmp(request->action, actions[i]) == 0;
    }
    if (!known) {
        const char *near = weft_nearest_word(request->action, actions, 5);
        return cli_misuse(cli, "'%.40s' is no action; write %s", request->action,
                          near != NULL ? near : "show, connect, disconnect, apply or emulate");
    }
    if (!refuse_unused(request)) {
        return false;
    }
    if (strcmp(request->action, "emulate") == 0) {
        return emulate(request);
    }
    struct weft_lab *lab = WEFT_NEW(&cli->arena, struct weft_lab, 1);
    if (request->remote.address != NULL) {
        return load_credentials(request) && act(request, lab);
    }
    struct weft_lab_claim claim;
    bool changes = strcmp(request->action, "show") != 0;
    if (!weft_lab_load(lab, request->name, cli->scratch, &cli->error)) {
        return false;
    }
    if (changes && !weft_lab_claim(&claim, request->name, &cli->error)) {
        return false;
    }
    // Until the claim was had somebody else may have taken the lab away, or raised another.
    bool fine = !changes || weft_lab_load(lab, request->name, cli->scratch, &cli->error);
    if (request->dark_given) {
        lab->dark_ns = request->dark_ns;
    }
    fine = fine && act(request, lab);
    if (changes) {
        weft_lab_unclaim(&claim, request->name);
    }
    return fine;
}

int lab_ocs(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab ocs",
        .arguments = "ACTION [CIRCUIT...|PLAN.json]",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct ocs_request request = {
        .cli = &cli,
        .name = WEFT_LAB_DEFAULT,
        .plane = WEFT_NONE,
        .emulated = {.settle_ns = 10000000},
    };
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
