// SPDX-License-Identifier: Apache-2.0
// weft cc: MLTCP as a congestion control of this machine's kernel: loads, tunes, shows and unloads
// the BPF programs of bpf/mltcp. Actions are arguments and not sub-verbs, because they share their
// options. A congestion control stays loaded when the verb ends, pinned in the BPF file system.

#include "bpf/mltcp/cc.h"
#include "parameters.h"
#include "request/json/json.h"
#include "weft/report.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

struct request {
    struct cli *cli;
    const char *action;
    const char *name;
    const char *registered_as;
    const char *cgroup;
    struct weft_cc_parameters given;
    bool base_given;
    bool slope_given;
    bool intercept_given;
    bool restart_given;
    bool group_given;
    bool gap_given;
    bool make_default;
};

enum {
    KEY_BASE = 0x100,
    KEY_SLOPE,
    KEY_INTERCEPT,
    KEY_RESTART,
    KEY_GROUP,
    KEY_GAP,
    KEY_AS,
    KEY_CGROUP,
    KEY_DEFAULT
};

static const struct argp_option options[] = {
    {"base", KEY_BASE, "BASE", 0, "what F multiplies: reno (the default) or cubic", 1},
    {"slope", KEY_SLOPE, "S", 0,
     "F = S * r + intercept, where r is the part of the iteration that has been sent (default "
     "1.75)",
     1},
    {"intercept", KEY_INTERCEPT, "I", 0, "F when an iteration begins (default 0.25)", 1},
    {"restart", KEY_RESTART, "SEGMENTS", 0,
     "largest window when an iteration begins; 0: as it was (default 10)", 1},
    {"group", KEY_GROUP, "BY", 0,
     "whose bytes make an iteration: a connection's (the default), a cgroup's, or those of a mark "
     "(SO_MARK)",
     1},
    {"gap", KEY_GAP, "MS", 0, "shortest silence that can end an iteration (default 20)", 1},
    {"as", KEY_AS, "NAME", 0, "name to register it under", 2},
    {"cgroup", KEY_CGROUP, "FOLDER", 0, "let the sockets of this cgroup (version 2) use it", 2},
    {"default", KEY_DEFAULT, NULL, 0, "make it the default of this network namespace", 2},
    {0},
};

static const char doc[] =
    "MLTCP as a TCP congestion control of this machine's kernel: training jobs that share a link "
    "take turns on it.\v"
    "Actions:\n"
    "  load NAME    put it into the kernel: mltcp, or reno_twin or cubic_twin, the same without F\n"
    "  status       what is loaded, its parameters and its connections\n"
    "  tune NAME    change the parameters of what is loaded (base and group: of new connections)\n"
    "  unload NAME  take it out of the kernel again (NAME may be left out: mltcp)\n"
    "\n"
    "Any program may then ask for it with setsockopt(TCP_CONGESTION) or, if it has an option for "
    "that, by name.\n"
    "\n"
    "Examples:\n"
    "  $ sudo weft cc load mltcp\n"
    "  $ iperf3 --congestion mltcp --client 10.0.0.2\n"
    "  $ sudo weft cc status --json\n"
    "  $ sudo weft cc unload\n";

// ---- parsing ----

static const char *const base_names[] = {"reno", "cubic"};
static const char *const group_names[] = {"connection", "cgroup", "mark"};

// Takes a parameter into `given` and remembers that it was given: what is not given keeps its
// default when loading, and its current value when tuning.
static error_t parse_parameter(int key, const char *argument, struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_cc_parameters *given = &request->given;
    uint32_t choice = 0;
    error_t bad = 0;
    switch (key) {
    case KEY_BASE:
        bad = cli_choose(cli, &choice, "base", argument, base_names, 2);
        given->base = (enum mltcp_base)choice;
        request->base_given = true;
        return bad;
    case KEY_GROUP:
        bad = cli_choose(cli, &choice, "group", argument, group_names, 3);
        given->group = (enum mltcp_group)choice;
        request->group_given = true;
        return bad;
    case KEY_SLOPE:
        request->slope_given = true;
        return cc_take_slope(cli, given, argument);
    case KEY_INTERCEPT:
        request->intercept_given = true;
        return cc_take_intercept(cli, given, argument);
    case KEY_RESTART:
        request->restart_given = true;
        return cc_take_restart(cli, given, argument);
    case KEY_GAP:
        request->gap_given = true;
        return cli_count(cli, &given->gap_ms, "gap", argument, 1, 3600000);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Takes the action, the name and what load alone has.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case KEY_AS:
        request->registered_as = argument;
        return 0;
    case KEY_CGROUP:
        request->cgroup = argument;
        return 0;
    case KEY_DEFAULT:
        request->make_default = true;
        return 0;
    case ARGP_KEY_ARG:
        if (request->action == NULL) {
            request->action = argument;
            return 0;
        }
        return cli_take(request->cli, &request->name, argument, "name");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(request->cli, "load, status, tune or unload? see %s --help",
                         request->cli->program);
    default:
        return parse_parameter(key, argument, request);
    }
}

// Puts what was given over `parameters`.
static void apply(struct weft_cc_parameters *parameters, const struct request *request)
{
    const struct weft_cc_parameters *given = &request->given;
    parameters->base = request->base_given ? given->base : parameters->base;
    parameters->slope = request->slope_given ? given->slope : parameters->slope;
    parameters->intercept = request->intercept_given ? given->intercept : parameters->intercept;
    parameters->restart = request->restart_given ? given->restart : parameters->restart;
    parameters->group = request->group_given ? given->group : parameters->group;
    parameters->gap_ms = request->gap_given ? given->gap_ms : parameters->gap_ms;
}

static bool any_given(const struct request *request)
{
    return request->base_given || request->slope_given || request->intercept_given ||
           request->restart_given || request->group_given || request->gap_given;
}

// ---- printing ----

static json_t *parameters_json(const struct weft_cc_parameters *parameters)
{
    json_t *object = json_object();
    weft_set_text(object, "base", base_names[parameters->base]);
    weft_set_real(object, "slope", parameters->slope);
    weft_set_real(object, "intercept", parameters->intercept);
    weft_set_count(object, "restart", parameters->restart);
    weft_set_text(object, "group", group_names[parameters->group]);
    weft_set_count(object, "gap_ms", parameters->gap_ms);
    return object;
}

// "10.0.0.1:5001"
static const char *show_end(const struct mltcp_connection *counts, bool local,
                            struct weft_arena *arena)
{
    char text[INET6_ADDRSTRLEN] = "?";
    bool six = counts->endpoints.family == AF_INET6;
    inet_ntop(six ? AF_INET6 : AF_INET, local ? counts->endpoints.local : counts->endpoints.remote,
              text, sizeof text);
    return weft_arena_format(arena, six ? "[%s]:%u" : "%s:%u", text,
                             local ? counts->endpoints.local_port : counts->endpoints.remote_port);
}

// One connection: its two ends, what TCP counted, and what MLTCP learned of the job that it belongs
// to.
static json_t *connection_json(const struct weft_cc_connection *connection,
                               struct weft_arena *arena)
{
    const struct mltcp_connection *counts = &connection->counts;
    const struct mltcp_job *job = &connection->job;
    json_t *object = json_object();
    weft_set_count(object, "number", connection->number);
    weft_set_text(object, "local", show_end(counts, true, arena));
    weft_set_text(object, "remote", show_end(counts, false, arena));
    weft_set_count(object, "netns", counts->netns);
    weft_set_count(object, "cgroup", counts->cgroup);
    weft_set_count(object, "mark", counts->mark);
    weft_set_text(object, "base", counts->base == MLTCP_CUBIC ? "cubic" : "reno");
    weft_set_count(object, "bytes_acked", counts->bytes_acked);
    weft_set_count(object, "window", counts->cwnd);
    weft_set_count(object, "peak_window", counts->peak_cwnd);
    weft_set_count(object, "threshold", counts->ssthresh);
    weft_set_real(object, "factor", (double)counts->factor / MLTCP_ONE);
    weft_set_real(object, "srtt_s", (double)counts->srtt_us / 1e6);
    weft_set_count(object, "reductions", counts->reductions);
    weft_set_count(object, "timeouts", counts->timeouts);
    weft_set_count(object, "retransmits", counts->retransmits);
    weft_set_count(object, "ecn_marks", counts->ecn_marks);
    weft_set_count(object, "restarts", counts->restarts);
    weft_set_count(object, "iterations", job->iterations);
    weft_set_count(object, "iteration_bytes", job->iteration_bytes);
    weft_set_real(object, "gap_s", (double)job->gap_ns / 1e9);
    weft_set_count(object, "job_connections", job->connections);
    return object;
}

static json_t *status_json(const struct weft_cc_status *status, struct weft_arena *arena)
{
    json_t *object = json_object();
    weft_set_text(object, "name", status->name);
    weft_set_truth(object, "registered", status->registered);
    weft_set(object, "parameters", parameters_json(&status->parameters));
    weft_set(object, "cgroup", status->cgroup == NULL ? json_null() : json_string(status->cgroup));
    weft_set_truth(object, "default", status->is_default);
    json_t *list = weft_set_list(object, "connections");
    for (uint32_t i = 0; i < status->connection_count; i++) {
        json_array_append_new(list, connection_json(&status->connections[i], arena));
    }
    return object;
}

enum { COLUMNS = 9 };

// A row for each connection: the window, the factor F and what was learned of its iterations.
static void print_connections(struct cli *cli, const struct weft_cc_status *status)
{
    static const struct weft_table_column columns[COLUMNS] = {
        {"from", WEFT_ALIGN_LEFT}, {"to", WEFT_ALIGN_LEFT},           {"window", WEFT_ALIGN_RIGHT},
        {"F", WEFT_ALIGN_RIGHT},   {"iterations", WEFT_ALIGN_RIGHT},  {"of", WEFT_ALIGN_RIGHT},
        {"gap", WEFT_ALIGN_RIGHT}, {"retransmits", WEFT_ALIGN_RIGHT}, {"marks", WEFT_ALIGN_RIGHT},
    };
    struct weft_arena *arena = &cli->arena;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)status->connection_count * COLUMNS);
    for (uint32_t i = 0; i < status->connection_count; i++) {
        const struct weft_cc_connection *connection = &status->connections[i];
        const struct mltcp_connection *counts = &connection->counts;
        struct weft_table_cell *row = cells + (size_t)i * COLUMNS;
        row[0].text = show_end(counts, true, arena);
        row[1].text = show_end(counts, false, arena);
        row[2] = weft_cell_count(arena, counts->cwnd);
        row[3] = weft_cell_number(arena, 2, (double)counts->factor / MLTCP_ONE);
        row[4] = weft_cell_count(arena, connection->job.iterations);
        row[5] = weft_cell_bytes(arena, (double)connection->job.iteration_bytes);
        row[6] = weft_cell_time(arena, weft_seconds(connection->job.gap_ns * 1000));
        row[7] = weft_cell_count(arena, counts->retransmits);
        row[8] = weft_cell_count(arena, counts->ecn_marks);
    }
    cli_table(cli, columns, COLUMNS, cells, status->connection_count);
}

// One congestion control as text. A name with pins but without a registered congestion control is
// what a killed run left.
static void print_status(struct cli *cli, const struct weft_cc_status *status)
{
    const struct weft_cc_parameters *parameters = &status->parameters;
    if (!status->registered) {
        cli_say(cli, "%s: left by a run that was killed; weft cc unload %s removes it\n",
                status->name, status->name);
        return;
    }
    cli_say(cli, "%s: %s, F = %g r + %g, ", status->name, base_names[parameters->base],
            parameters->slope, parameters->intercept);
    if (parameters->restart > 0) {
        cli_say(cli, "restart at %u segments, ", parameters->restart);
    }
    cli_say(cli, "iterations of a %s, silences from %u ms\n", group_names[parameters->group],
            parameters->gap_ms);
    if (status->cgroup != NULL) {
        cli_say(cli, "  used by sockets of %s\n", status->cgroup);
    }
    if (status->is_default) {
        cli_say(cli, "  default of this network namespace\n");
    }
    if (status->connection_count == 0) {
        cli_say(cli, "  no connections\n");
        return;
    }
    print_connections(cli, status);
}

// ---- actions ----

static bool status_of_all(struct cli *cli)
{
    struct weft_cc_status *list = NULL;
    uint32_t count = 0;
    if (!weft_cc_list(&list, &count, &cli->arena, &cli->error)) {
        return false;
    }
    if (cli->json) {
        json_t *object = weft_set_object("weft.cc/1");
        json_t *loaded = weft_set_list(object, "loaded");
        for (uint32_t i = 0; i < count; i++) {
            json_array_append_new(loaded, status_json(&list[i], &cli->arena));
        }
        cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        print_status(cli, &list[i]);
    }
    if (count == 0) {
        cli_say(cli, "nothing is loaded; weft cc load mltcp loads it\n");
    }
    return true;
}

static void print_parameters(struct cli *cli, const char *name, const char *what,
                             const struct weft_cc_parameters *parameters)
{
    if (cli->json) {
        json_t *object = weft_set_object("weft.cc/1");
        weft_set_text(object, what, name);
        weft_set(object, "parameters", parameters_json(parameters));
        cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
        return;
    }
    cli_say(cli, "%s %s: %s, F = %g r + %g\n", what, name, base_names[parameters->base],
            parameters->slope, parameters->intercept);
}

// Loads one of the three congestion controls, under its own name or that of --as. What a killed run
// left under that name is taken away first, with a note.
static bool load(struct request *request)
{
    struct cli *cli = request->cli;
    if (request->name == NULL) {
        return cli_misuse(cli, "load what? say weft cc load mltcp");
    }
    bool known = strcmp(request->name, "mltcp") == 0 || strcmp(request->name, "reno_twin") == 0 ||
                 strcmp(request->name, "cubic_twin") == 0;
    if (!known) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "there is no '%.40s' to load; choose mltcp, reno_twin or cubic_twin, and "
                         "another name with --as",
                         request->name);
    }
    struct weft_cc_request load = {
        .name = request->registered_as != NULL ? request->registered_as : request->name,
        .parameters = weft_cc_defaults(request->name),
        .cgroup = request->cgroup,
        .make_default = request->make_default,
    };
    apply(&load.parameters, request);
    bool leftovers = false;
    if (!weft_cc_load(&load, &leftovers, &cli->error)) {
        return false;
    }
    if (leftovers) {
        cli_note(cli, "took away what a killed run had left of %s", load.name);
    }
    print_parameters(cli, load.name, "loaded", &load.parameters);
    return true;
}

// Changes the parameters that are given and keeps the others as they are. The name is checked by
// weft_cc_tune, so that a name that is not loaded fails there.
static bool tune(struct request *request)
{
    struct cli *cli = request->cli;
    const char *name = request->name != NULL ? request->name : "mltcp";
    if (!any_given(request)) {
        return cli_misuse(cli, "tune what? give --slope, --intercept, --restart, --gap, --base or "
                               "--group");
    }
    struct weft_cc_status *list = NULL;
    uint32_t count = 0;
    if (!weft_cc_check_name(name, &cli->error) ||
        !weft_cc_list(&list, &count, &cli->scratch, &cli->error)) {
        return false;
    }
    uint32_t at = 0;
    while (at < count && strcmp(list[at].name, name) != 0) {
        at++;
    }
    struct weft_cc_parameters parameters =
        at < count ? list[at].parameters : weft_cc_defaults(name);
    apply(&parameters, request);
    if (!weft_cc_tune(name, &parameters, &cli->error)) {
        return false;
    }
    print_parameters(cli, name, "tuned", &parameters);
    return true;
}

static bool unload(struct request *request)
{
    struct cli *cli = request->cli;
    const char *name = request->name != NULL ? request->name : "mltcp";
    struct weft_cc_unloaded unloaded;
    if (!weft_cc_unload(name, &unloaded, &cli->error)) {
        return false;
    }
    if (cli->json) {
        json_t *object = weft_set_object("weft.cc/1");
        weft_set_text(object, "unloaded", name);
        weft_set_count(object, "connections", unloaded.connections);
        weft_set_truth(object, "leftovers", unloaded.leftovers);
        cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
        return true;
    }
    if (unloaded.leftovers) {
        cli_say(cli, "took away what a killed run had left of %s\n", name);
        return true;
    }
    cli_say(cli, "unloaded %s", name);
    if (unloaded.connections > 0) {
        cli_say(cli, "; %u open connections go on with it until they close", unloaded.connections);
    }
    cli_say(cli, "\n");
    return true;
}

// Checks that the options belong to the action, and does it.
static bool act(struct request *request)
{
    struct cli *cli = request->cli;
    const char *action = request->action;
    bool loads = strcmp(action, "load") == 0;
    if (!loads &&
        (request->registered_as != NULL || request->cgroup != NULL || request->make_default)) {
        return cli_misuse(cli, "--as, --cgroup and --default are for load");
    }
    if (!loads && strcmp(action, "tune") != 0 && any_given(request)) {
        return cli_misuse(cli, "parameters are for load and tune");
    }
    if (loads) {
        return load(request);
    }
    if (strcmp(action, "tune") == 0) {
        return tune(request);
    }
    if (strcmp(action, "unload") == 0) {
        return unload(request);
    }
    if (strcmp(action, "status") == 0) {
        return request->name == NULL ? status_of_all(cli)
                                     : cli_misuse(cli, "status tells about all; it takes no name");
    }
    return cli_misuse(cli, "'%.40s' is no action; choose load, status, tune or unload", action);
}

int cli_cc(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft cc",
        .arguments = "load|status|tune|unload [NAME]",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct request request = {.cli = &cli};
    if (!cli_parse(&cli, &verb, argc, argv, &request)) {
        return cli_finish(&cli, false);
    }
    return cli_finish(&cli, act(&request));
}
