// SPDX-License-Identifier: Apache-2.0
// weft lab heal: a job of real processes whose failures are healed in place. This file parses the
// options, raises a lab for each run and takes it away; print.c prints what came of it.

#include "heal.h"
#include "runtime/rails/management.h"
#include "weft/format.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_KILL = 1,
    KEY_SILENT,
    KEY_CUT,
    KEY_PORT,
    KEY_SWITCH,
    KEY_SPARES,
    KEY_ITERATIONS,
    KEY_BYTES,
    KEY_COMPUTE,
    KEY_DARK,
    KEY_STATE,
    KEY_SAVE,
    KEY_SAVE_EVERY,
    KEY_HEARTBEAT,
    KEY_RUNS,
    KEY_RATE,
    KEY_MTU,
    KEY_PORTS,
    KEY_CHIPS,
    KEY_SERVERS,
    KEY_TIMEOUT,
    KEY_DETOUR,
};

static const struct argp_option options[] = {
    {"kill", KEY_KILL, "rank:R@S", 0,
     "end the process of rank R while step S is under way (kill -9); spare:K@S: that of a spare. "
     "This and the next four may be given several times, 16 in all",
     0},
    {"silent", KEY_SILENT, "rank:R@S", 0,
     "rank R stops without an end (SIGSTOP), and wakes up when the others have gone on", 0},
    {"cut", KEY_CUT, "rank:R@S", 0, "cut all cables of rank R's host", 0},
    {"port", KEY_PORT, "R:P@S", 0, "cut the cable of port P of rank R's host", 0},
    {"switch", KEY_SWITCH, "P@S", 0, "take the light away from optical switch P", 0},
    {"spares", KEY_SPARES, "N", 0, "hosts beside those that have a rank (1)", 0},
    {"iterations", KEY_ITERATIONS, "N", 0, "steps of the job (8)", 0},
    {"bytes", KEY_BYTES, "SIZE", 0, "of the gradients of a step, and of the parameters (1MB)", 0},
    {"compute", KEY_COMPUTE, "T", 0, "time of a step before its collective (20ms)", 0},
    {"dark", KEY_DARK, "T", 0, "time for which circuits that change are dark (25ms)", 0},
    {"state", KEY_STATE, "FROM", 0,
     "where a spare has the parameters from: it is fed step by step and holds connections (hot, "
     "the default), its neighbor in the ring (neighbor), or the last checkpoint, to which all go "
     "back (checkpoint)",
     0},
    {"checkpoint", KEY_SAVE, "FILE", 0,
     "the file of the checkpoint (weft-heal.checkpoint): written whole or not at all, every "
     "--save-every steps and where a job ends for want of spares",
     0},
    {"save-every", KEY_SAVE_EVERY, "N", 0,
     "steps between two checkpoints (with --state checkpoint 2, else 0: none)", 0},
    {"heartbeat", KEY_HEARTBEAT, "T", 0, "time between two heartbeats (20ms)", 0},
    {"runs", KEY_RUNS, "N", 0, "run N times; medians and worst times (1)", 0},
    {"rate", KEY_RATE, "R", 0,
     "of a port (400Mbps, or less where that is more than a machine "
     "carries)",
     0},
    {"mtu", KEY_MTU, "BYTES", 0, "size of the largest packet (9000)", 0},
    {"ports", KEY_PORTS, "N", 0,
     "ports of a host of ring:N, each on an optical switch of its own: two carry a ring of an even "
     "number, the others take over (3; 4 where the number is odd)",
     0},
    {"server", KEY_CHIPS, "N", 0, "hosts of a server, nearest to each other (4)", 0},
    {"rack", KEY_SERVERS, "N", 0, "servers of a rack, next in nearness (4)", 0},
    {"timeout", KEY_TIMEOUT, "T", 0, "end the job, saved, when a step takes longer (10s)", 0},
    {"detour", KEY_DETOUR, NULL, 0,
     "as in an electrical rack: a spare is reached through a relay by one link, which both of its "
     "edges share; for one --kill rank",
     0},
    LAB_NAME_OPTION,
    {0},
};

static const char doc[] =
    "Runs a job of real processes in a lab of optical switches, lets some of it fail, and heals it "
    "in place: the failure is noticed (an ended connection, missing heartbeats, a port without "
    "light), a spare and circuits are chosen, all switches turn at once, the spare takes rank, "
    "connections and parameters, and the step goes on from its last chunk. Every other rank keeps "
    "its process. Each step is an AllReduce of whole numbers around a ring both ways, every sum of "
    "which is checked. Tells five times apart: until the failure was understood, until spare and "
    "circuits were chosen, until circuits were lit, until all ranks were joined, until the broken "
    "step was done. Exit code 1: the job ended for want of spares, saved. It needs root.\v"
    "A plan gives its servers and ports, ring:N is a ring of N hosts.\n\n"
    "Examples:\n"
    "  $ weft lab heal ring:8 --kill rank:3@4 --spares 2\n"
    "  $ weft lab heal ring:8 --silent rank:3@4 --kill rank:6@6 --spares 2 --json\n"
    "  $ weft lab heal ring:8 --switch 0@4 --port 2:1@6\n"
    "  $ weft lab heal plan.json --kill rank:3@4 --kill spare:0@4 --spares 2\n"
    "  $ weft lab heal ring:8 --kill rank:3@4 --state checkpoint --save-every 3\n"
    "  $ weft lab heal ring:8 --kill rank:3@4 --runs 30\n";

// ---- options ----

static bool take_number(uint32_t *value, const char **text, const char *stops, uint32_t most)
{
    char word[16];
    uint64_t number = 0;
    struct weft_error wrong;
    size_t length = strcspn(*text, stops);
    snprintf(word, sizeof word, "%.*s", (int)(length < 15 ? length : 15), *text);
    *text += length;
    if (!weft_parse_count(&number, word, 0, most, &wrong)) {
        return false;
    }
    *value = (uint32_t)number;
    return true;
}

static bool take_word(const char **text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0) {
        return false;
    }
    *text += length;
    return true;
}

// "rank:3@4", "spare:0@4", "3:1@4" or "0@4", as the kind has it. Kept in the order of their steps.
static error_t take_fault(struct lab_heal_request *request, enum lab_heal_fault_kind kind,
                          const char *option, const char *text)
{
    struct cli *cli = request->cli;
    struct lab_heal_fault fault = {.kind = kind};
    const char *next = text;
    bool spare = kind == LAB_HEAL_FAULT_KILL && take_word(&next, "spare:");
    bool of_rank =
        kind == LAB_HEAL_FAULT_KILL || kind == LAB_HEAL_FAULT_SILENT || kind == LAB_HEAL_FAULT_CUT;
    fault.kind = spare ? LAB_HEAL_FAULT_SPARE : kind;
    bool fine = spare || !of_rank || take_word(&next, "rank:");
    fine = fine && take_number(&fault.which, &next, ":@", LAB_HEAL_HOSTS_MAX);
    if (kind == LAB_HEAL_FAULT_PORT) {
        fine = fine && take_word(&next, ":") &&
               take_number(&fault.port, &next, "@", LAB_HEAL_PLANES_MAX);
    }
    fine = fine && take_word(&next, "@") && take_number(&fault.step, &next, "", 1000000);
    if (!fine) {
        return cli_usage(cli, "--%s: '%.40s' is none; write %s, for example %s", option, text,
                         kind == LAB_HEAL_FAULT_PORT     ? "RANK:PORT@STEP"
                         : kind == LAB_HEAL_FAULT_SWITCH ? "SWITCH@STEP"
                         : kind == LAB_HEAL_FAULT_KILL   ? "rank:R@STEP or spare:K@STEP"
                                                         : "rank:R@STEP",
                         kind == LAB_HEAL_FAULT_PORT     ? "3:1@4"
                         : kind == LAB_HEAL_FAULT_SWITCH ? "0@4"
                                                         : "rank:3@4");
    }
    if (request->fault_count == LAB_HEAL_FAULTS_MAX) {
        return cli_usage(cli, "--%s: at most %u failures", option, LAB_HEAL_FAULTS_MAX);
    }
    uint32_t at = request->fault_count++;
    for (; at > 0 && request->faults[at - 1].step > fault.step; at--) {
        request->faults[at] = request->faults[at - 1];
    }
    request->faults[at] = fault;
    return 0;
}

static error_t take_time(struct lab_heal_request *request, uint64_t *ns, const char *option,
                         const char *text)
{
    struct cli *cli = request->cli;
    uint64_t ps = 0;
    bool fine = weft_parse_time(&ps, text, &cli->error) &&
                (ps <= 600 * WEFT_PS_PER_S ||
                 weft_fail(&cli->error, WEFT_INPUT, "at most 600s, not %.40s", text));
    *ns = ps / 1000;
    return cli_value(cli, fine, option);
}

static error_t parse_job(int key, char *argument, struct argp_state *state)
{
    struct lab_heal_request *request = state->input;
    struct cli *cli = request->cli;
    switch (key) {
    case KEY_ITERATIONS:
        return cli_count(cli, &request->steps, "iterations", argument, 1, 100000);
    case KEY_SPARES:
        return cli_count(cli, &request->spares, "spares", argument, 0, 32);
    case KEY_BYTES:
        return cli_value(
            cli,
            weft_parse_bytes(&request->bytes, argument, &cli->error) &&
                ((request->bytes >= 1 && request->bytes <= 256u << 20) ||
                 weft_fail(&cli->error, WEFT_INPUT, "1 byte to 256MiB, not %.40s", argument)),
            "bytes");
    case KEY_COMPUTE:
        return take_time(request, &request->compute_ns, "compute", argument);
    case KEY_DARK:
        return take_time(request, &request->dark_ns, "dark", argument);
    case KEY_HEARTBEAT:
        return take_time(request, &request->beat_ns, "heartbeat", argument);
    case KEY_TIMEOUT:
        return take_time(request, &request->step_most_ns, "timeout", argument);
    case KEY_STATE:
        return cli_choose(cli, &request->source, "state", argument, lab_heal_source_names, 3);
    case KEY_SAVE:
        request->checkpoint = argument;
        return 0;
    case KEY_SAVE_EVERY:
        request->save_every_given = true;
        return cli_count(cli, &request->save_every, "save-every", argument, 0, 100000);
    case KEY_RUNS:
        return cli_count(cli, &request->runs, "runs", argument, 1, LAB_HEAL_RUNS_MAX);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct lab_heal_request *request = state->input;
    struct cli *cli = request->cli;
    switch (key) {
    case KEY_KILL:
        return take_fault(request, LAB_HEAL_FAULT_KILL, "kill", argument);
    case KEY_SILENT:
        return take_fault(request, LAB_HEAL_FAULT_SILENT, "silent", argument);
    case KEY_CUT:
        return take_fault(request, LAB_HEAL_FAULT_CUT, "cut", argument);
    case KEY_PORT:
        return take_fault(request, LAB_HEAL_FAULT_PORT, "port", argument);
    case KEY_SWITCH:
        return take_fault(request, LAB_HEAL_FAULT_SWITCH, "switch", argument);
    case KEY_RATE:
        return cli_value(cli, weft_parse_rate(&request->rate_Bps, argument, &cli->error), "rate");
    case KEY_MTU:
        return cli_count(cli, &request->mtu_bytes, "mtu", argument, 576, 65521);
    case KEY_PORTS:
        return cli_count(cli, &request->ports, "ports", argument, 2, LAB_HEAL_PLANES_MAX);
    case KEY_CHIPS:
        return cli_count(cli, &request->server_hosts, "server", argument, 1, LAB_HEAL_RANKS_MAX);
    case KEY_SERVERS:
        return cli_count(cli, &request->rack_servers, "rack", argument, 1, LAB_HEAL_RANKS_MAX);
    case KEY_DETOUR:
        request->detour = true;
        return 0;
    case LAB_NAME:
        request->name_given = true;
        return lab_take_name(cli, &request->name, argument);
    case ARGP_KEY_ARG:
        return cli_take(cli, &request->plan_path, argument, "plan");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "which job? write %s ring:8 or %s PLAN.json", cli->program,
                         cli->program);
    default:
        return parse_job(key, argument, state);
    }
}

// ---- what runs ----

// Servers and ports: of ring:N, or of a plan.
static bool load(struct lab_heal_request *request, uint32_t *ranks, uint32_t *ports)
{
    struct cli *cli = request->cli;
    const char *next = request->plan_path;
    if (take_word(&next, "ring:")) {
        if (!take_number(ranks, &next, "", LAB_HEAL_RANKS_MAX) || *ranks < 3) {
            return weft_fail(&cli->error, WEFT_INPUT,
                             "%.40s: a ring of 3 to %u hosts, for "
                             "example ring:8",
                             request->plan_path, LAB_HEAL_RANKS_MAX);
        }
        *ports = request->ports > 0 ? request->ports : 3 + *ranks % 2;
        return true;
    }
    struct weft_plan *plan = WEFT_NEW(&cli->arena, struct weft_plan, 1);
    if (!weft_plan_load(plan, request->plan_path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    *ranks = plan->topology.server_count;
    *ports = plan->topology.degree;
    if (request->ports > 0) {
        return cli_misuse(cli, "--ports: a plan says its ports; leave it out");
    }
    return (*ranks >= 3 && *ranks <= LAB_HEAL_RANKS_MAX && *ports <= LAB_HEAL_PLANES_MAX) ||
           weft_fail(&cli->error, WEFT_UNSUPPORTED,
                     "%s: %u servers of %u ports; a job that heals has 3 to %u of at most %u",
                     request->plan_path, *ranks, *ports, LAB_HEAL_RANKS_MAX, LAB_HEAL_PLANES_MAX);
}

static bool check_fault(const struct lab_heal_request *request, const struct lab_heal_fault *fault)
{
    struct weft_error *error = &request->cli->error;
    const struct lab_heal_rack *rack = &request->rack;
    bool is_switch = fault->kind == LAB_HEAL_FAULT_SWITCH;
    uint32_t end = is_switch                             ? rack->plane_count
                   : fault->kind == LAB_HEAL_FAULT_SPARE ? request->spares
                                                         : rack->rank_count;
    static const char *const names[] = {"kill", "kill", "silent", "cut", "port", "switch"};
    const char *option = names[fault->kind];
    if (fault->which >= end) {
        const char *what = is_switch                             ? "switch"
                           : fault->kind == LAB_HEAL_FAULT_SPARE ? "spare"
                                                                 : "rank";
        return end == 0
                   ? weft_fail(error, WEFT_INPUT, "--%s: there is no %s; write --%ss 1 or more",
                               option, what, what)
                   : weft_fail(error, WEFT_INPUT, "--%s: there is no %s %u; they are 0 to %u",
                               option, what, fault->which, end - 1);
    }
    if (fault->kind == LAB_HEAL_FAULT_PORT && fault->port >= rack->plane_count) {
        return weft_fail(error, WEFT_INPUT, "--port: there is no port %u; they are 0 to %u",
                         fault->port, rack->plane_count - 1);
    }
    return (fault->step >= 2 && fault->step <= request->steps) ||
           weft_fail(error, WEFT_INPUT, "--%s: step %u is not one of 2 to %u (--iterations)",
                     option, fault->step, request->steps);
}

static bool prepare(struct lab_heal_request *request)
{
    struct cli *cli = request->cli;
    uint32_t ranks = 0;
    uint32_t ports = 0;
    if (!load(request, &ranks, &ports)) {
        return false;
    }
    request->rack = (struct lab_heal_rack){
        .rank_count = ranks,
        .host_count = ranks + request->spares + request->detour,
        .plane_count = ports,
        .spare_first = ranks,
        .spare_end = ranks + request->spares,
        .server_hosts = request->server_hosts,
        .rack_servers = request->rack_servers,
    };
    if (!lab_heal_rack_build(&request->rack, &cli->error)) {
        return weft_wrap(&cli->error, "%s", request->plan_path);
    }
    for (uint32_t i = 0; i < request->fault_count; i++) {
        if (!check_fault(request, &request->faults[i])) {
            return false;
        }
    }
    if (request->detour && (request->fault_count != 1 || ports < 3 || request->spares == 0 ||
                            request->faults[0].kind != LAB_HEAL_FAULT_KILL)) {
        return cli_misuse(cli, "--detour: for one --kill rank:R@S, with --spares 1 or more and "
                               "three ports or more");
    }
    if (!request->save_every_given) {
        request->save_every = request->source == LAB_HEAL_CHECKPOINT ? 2 : 0;
    }
    if (request->rate_Bps == 0) {
        // All ports together carry no more than two processors do (docs/lab.md).
        double most_Bps = 600e6 / ((double)request->rack.host_count * 2);
        request->rate_Bps = fmin(50e6, floor(most_Bps / 125e3) * 125e3);
    }
    return cli_can_write(cli, request->checkpoint);
}

static struct lab_heal_run_options options_of(const struct lab_heal_request *request, uint32_t run)
{
    const uint64_t ms = 1000000;
    uint64_t elements = request->bytes / sizeof(uint32_t);
    uint64_t parts = (uint64_t)LAB_HEAL_LANES * request->rack.rank_count;
    uint64_t chunk = (elements + parts - 1) / parts;
    // The parameters of a spare may have to come over one port.
    uint64_t state_ns = (uint64_t)(2e9 * (double)request->bytes / request->rate_Bps);
    return (struct lab_heal_run_options){
        .machine = {.steps = request->steps,
                    .source = (enum lab_heal_source)request->source,
                    .save_every = request->save_every,
                    .doubt_ns = 2 * request->beat_ns,
                    .reset_ns = 5 * ms,
                    .turn_ns = request->dark_ns + 2000 * ms,
                    .join_ns = state_ns + 3000 * ms,
                    .save_ns = 5000 * ms + state_ns,
                    .step_ns = request->step_most_ns + request->compute_ns},
        .chunk_elements = chunk > 0 ? (uint32_t)chunk : 1,
        .compute_ns = request->compute_ns,
        .beat_ns = request->beat_ns,
        .checkpoint = request->checkpoint,
        .detour = request->detour,
        .fault_count = request->fault_count,
        .faults = request->faults,
        .seed = request->cli->seed * 1000003 + run,
        .stop = request->stop,
    };
}

// Raises a lab, runs in it, and takes it away, also where the run failed.
static bool run_once(struct lab_heal_request *request, const char *name, uint32_t run)
{
    struct cli *cli = request->cli;
    struct weft_arena arena = weft_arena_split(&cli->scratch);
    struct weft_arena scratch = cli->scratch;
    struct weft_lab *lab = WEFT_NEW(&arena, struct weft_lab, 1);
    struct weft_lab_wiring wiring;
    struct weft_lab_removed removed;
    struct weft_error down;
    const struct weft_lab_options raised = {
        .name = name,
        .fabric = "heal",
        .rate_Bps = request->rate_Bps,
        .mtu_bytes = request->mtu_bytes,
        .dark_ns = request->dark_ns,
        .stop = request->stop,
    };
    const struct lab_heal_run_options wanted = options_of(request, run);
    lab_heal_wire(&wiring, &request->rack, &arena);
    if (!weft_lab_up(lab, &wiring, &raised, scratch, &cli->error)) {
        return false;
    }
    bool fine =
        lab_management_up(lab, &cli->error) &&
        lab_heal_run(&request->results[run], &wanted, &request->rack, lab, scratch, &cli->error);
    if (!weft_lab_down(&removed, name, scratch, &down) && fine) {
        cli->error = down;
        return false;
    }
    return fine;
}

static bool run_all(struct lab_heal_request *request)
{
    struct cli *cli = request->cli;
    struct weft_lab_claim claim;
    char own[WEFT_LAB_NAME_MAX];
    snprintf(own, sizeof own, "heal%d", (int)getpid());
    const char *name = request->name_given ? request->name : own;
    if (!weft_lab_claim(&claim, name, &cli->error)) {
        return false;
    }
    request->results = WEFT_NEW(&cli->arena, struct lab_heal_result, request->runs);
    request->stop = cli_clock_start(cli, "running in the lab", NULL);
    cli_clock_heed();
    bool fine = true;
    for (uint32_t run = 0; run < request->runs && fine; run++) {
        fine = run_once(request, name, run);
    }
    cli_clock_stop(cli);
    weft_lab_unclaim(&claim, name);
    return fine;
}

// The worst outcome of all runs decides the exit code; what was measured is printed all the same.
static bool judge(struct lab_heal_request *request)
{
    struct cli *cli = request->cli;
    bool noted = false;
    for (uint32_t run = 0; run < request->runs; run++) {
        const struct lab_heal_result *result = &request->results[run];
        if (!result->real_time && !noted) {
            cli_note(cli, "no real-time priority here: a busy machine shows in the times");
            noted = true;
        }
        if (result->outcome == LAB_HEAL_FINISHED && result->sums_right) {
            continue;
        }
        cli->exit_code = CLI_EXIT_NO;
    }
    return true;
}

int lab_heal(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab heal",
        .arguments = "ring:N\nPLAN.json",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct lab_heal_request request = {
        .cli = &cli,
        .spares = 1,
        .steps = 8,
        .bytes = 1000000,
        .compute_ns = 20000000,
        .dark_ns = 25000000,
        .beat_ns = 20000000,
        .step_most_ns = 10000000000,
        .checkpoint = "weft-heal.checkpoint",
        .runs = 1,
        .mtu_bytes = 9000,
        .server_hosts = 4,
        .rack_servers = 4,
        .name = WEFT_LAB_DEFAULT,
    };
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && prepare(&request) &&
                run_all(&request) && judge(&request);
    if (fine) {
        lab_heal_print(&request);
    }
    return cli_finish(&cli, fine);
}
