// SPDX-License-Identifier: Apache-2.0
// weft lab up: a plan, a ring, a switch or a fabric of switches as network namespaces of this
// machine. The options become weft_lab_options, the plan, cluster or number of servers becomes a
// wiring, and runtime/testbed/up.c raises the lab; a failure on the way takes away what was raised.

#include "lab.h"
#include "request/json/json.h"
#include "runtime/testbed/testbed.h"
#include "weft/format.h"
#include "weft/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct request {
    struct cli *cli;
    const char *plan_path;
    uint32_t host_count; // 0 = a plan, or as the cluster says
    const char *cluster_path;
    const char *fabric; // NULL = not said
    uint32_t degree;    // 0 = not said
    uint32_t radix;
    struct weft_lab_options options;
};

enum {
    KEY_HOSTS = 1,
    KEY_FABRIC,
    KEY_CLUSTER,
    KEY_DEGREE,
    KEY_RADIX,
    KEY_RATE,
    KEY_MTU,
    KEY_BURST,
    KEY_BUFFER,
    KEY_SHAPER,
    KEY_OFFLOADS,
    KEY_DARK,
    KEY_ECN,
    KEY_CLASSES,
};

static const struct argp_option options[] = {
    {"hosts", KEY_HOSTS, "N", 0,
     "raise N servers without a plan, of one port or, in a ring, of two", 0},
    {"fabric", KEY_FABRIC, "F", 0,
     "fabric of --hosts or --cluster: switch (default of --hosts), ring, or one with switches: "
     "leaf-spine, rail-only, clos, ...",
     0},
    {"cluster", KEY_CLUSTER, "FILE", 0,
     "servers, ports and planned rate of a cluster (FILE.yaml, FILE.xml); --hosts and --degree win",
     0},
    {"degree", KEY_DEGREE, "D", 0, "ports of a server on a fabric with switches", 0},
    {"radix", KEY_RADIX, "K", 0, "ports of its switches (the smallest that fits)", 0},
    {"rate", KEY_RATE, "R", 0,
     "rate of a port: 200Mbps, or less where all ports together would exceed 4.8Gbps", 0},
    {"mtu", KEY_MTU, "BYTES", 0, "size of the largest packet (9000)", 0},
    {"burst", KEY_BURST, "SIZE", 0,
     "burst of the shapers (what 1 ms carries, two packets at least)", 0},
    {"buffer", KEY_BUFFER, "SIZE", 0, "size of the queue of a port (64 packets)", 0},
    {"ecn", KEY_ECN, "N", 0, "ports mark packets that find N or more waiting; 0: they mark none",
     0},
    {"classes", KEY_CLASSES, "Q:L:K", 0,
     "ports sort MLT's gradients into Q queues (1 to 7) by their layer of L, behind one of "
     "control; "
     "what a node forwards into a queue of K packets or more is dropped if unimportant, else "
     "marked",
     0},
    {"shaper", KEY_SHAPER, "S", 0,
     "what holds the rate of a port: tbf (default), or htb as --classes does", 0},
    {"offloads", KEY_OFFLOADS, NULL, 0, "leave segmentation offload on: less work, larger bursts",
     0},
    {"dark", KEY_DARK, "T", 0, "time for which a circuit that is switched stays dark (10ms)", 0},
    LAB_NAME_OPTION,
    {0},
};

static const char doc[] =
    "Raises a lab: a network namespace for each server, a veth pair for each port, its rate held "
    "by a shaper, the plan's circuits as optical switches in eBPF, its routes in the kernels. Of a "
    "fabric with switches each switch is a namespace, too, that forwards by ECMP.\v"
    "Examples:\n"
    "  $ weft lab up plan.json\n"
    "  $ weft lab up plan.json --rate 100Mbps --dark 25ms\n"
    "  $ weft lab up --hosts 64 --fabric ring\n"
    "  $ weft lab up --cluster 64x8.yaml --hosts 8 --fabric leaf-spine --radix 8\n"
    "  $ weft lab up --hosts 8 --degree 1 --fabric leaf-spine --mtu 1500 --classes 4:16:20\n"
    "  $ ip netns exec weft-lab-s3 ping 10.128.0.7\n";

static error_t parse_size(struct cli *cli, uint32_t *value, const char *option, const char *text)
{
    uint64_t bytes = 0;
    bool parsed = weft_parse_bytes(&bytes, text, &cli->error);
    if (parsed && (bytes < 1000 || bytes > 1u << 30)) {
        parsed = weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is not between 1kB and 1GiB", text);
    }
    *value = parsed ? (uint32_t)bytes : 0;
    return cli_value(cli, parsed, option);
}

static error_t parse_rate(struct request *request, const char *text)
{
    struct cli *cli = request->cli;
    double *rate_Bps = &request->options.rate_Bps;
    bool parsed = weft_parse_rate(rate_Bps, text, &cli->error);
    if (parsed && (*rate_Bps < 1000 || *rate_Bps > 125e9)) {
        parsed = weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is not between 8kbps and 1Tbps", text);
    }
    return cli_value(cli, parsed, "rate");
}

static error_t parse_dark(struct request *request, const char *text)
{
    struct cli *cli = request->cli;
    uint64_t dark_ps = 0;
    bool parsed = weft_parse_time(&dark_ps, text, &cli->error);
    if (parsed && dark_ps > 600 * WEFT_PS_PER_S) {
        parsed = weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is more than 600s", text);
    }
    request->options.dark_ns = dark_ps / 1000;
    return cli_value(cli, parsed, "dark");
}

// One of two values.
static error_t parse_word(struct cli *cli, bool *second, const char *option, const char *text,
                          const char *const values[2])
{
    *second = strcmp(text, values[1]) == 0;
    if (!*second && strcmp(text, values[0]) != 0) {
        return cli_usage(cli, "--%s: '%.40s' is none; write %s or %s", option, text, values[0],
                         values[1]);
    }
    return 0;
}

// Takes the options; which of them fit together is checked when all are known.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    static const char *const shapers[2] = {"tbf", "htb"};
    struct request *request = state->input;
    struct cli *cli = request->cli;
    switch (key) {
    case KEY_HOSTS:
        return cli_count(cli, &request->host_count, "hosts", argument, 2, WEFT_LAB_SERVERS_MAX);
    case KEY_FABRIC:
        return cli_take(cli, &request->fabric, argument, "--fabric");
    case KEY_CLUSTER:
        return cli_take(cli, &request->cluster_path, argument, "--cluster");
    case KEY_DEGREE:
        return cli_count(cli, &request->degree, "degree", argument, 1, WEFT_LAB_PORTS_MAX);
    case KEY_RADIX:
        return cli_count(cli, &request->radix, "radix", argument, 2, 4096);
    case KEY_RATE:
        return parse_rate(request, argument);
    case KEY_MTU:
        return cli_count(cli, &request->options.mtu_bytes, "mtu", argument, 576, 65521);
    case KEY_BURST:
        return parse_size(cli, &request->options.burst_bytes, "burst", argument);
    case KEY_BUFFER:
        return parse_size(cli, &request->options.buffer_bytes, "buffer", argument);
    case KEY_SHAPER:
        return parse_word(cli, &request->options.htb, "shaper", argument, shapers);
    case KEY_OFFLOADS:
        request->options.offloads = true;
        return 0;
    case KEY_ECN:
        return cli_count(cli, &request->options.mark_packets, "ecn", argument, 0, 99999);
    case KEY_CLASSES:
        return cli_value(cli,
                         weft_lab_classes_parse(&request->options.classes, argument, &cli->error),
                         "classes");
    case KEY_DARK:
        return parse_dark(request, argument);
    case LAB_NAME:
        return lab_take_name(cli, &request->options.name, argument);
    case ARGP_KEY_ARG:
        return weft_file_kind(argument) == WEFT_FILE_CLUSTER
                   ? cli_take(cli, &request->cluster_path, argument, "cluster")
                   : cli_take(cli, &request->plan_path, argument, "plan");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool is_plain(const char *fabric)
{
    return strcmp(fabric, "switch") == 0 || strcmp(fabric, "ring") == 0;
}

// The fabric as asked for, by the cluster's file where there is one.
static bool find_fabric(struct weft_lab_fabric *fabric, const struct request *request)
{
    struct cli *cli = request->cli;
    *fabric = (struct weft_lab_fabric){.name = request->fabric,
                                       .server_count = request->host_count,
                                       .degree = request->degree,
                                       .radix = request->radix};
    if (request->cluster_path == NULL) {
        return true;
    }
    const struct weft_request_hardware hardware = {.cluster_path = request->cluster_path,
                                                   .server_count = request->host_count,
                                                   .degree = request->degree};
    const struct weft_request_cluster_need need = {.one_path = true};
    struct weft_cluster cluster;
    if (!weft_request_cluster(&cluster, &hardware, &need, cli_environment(cli, NULL))) {
        return false;
    }
    fabric->server_count = cluster.server_count;
    fabric->degree = cluster.degree;
    fabric->rate_Bps = cluster.rate_Bps;
    return true;
}

// Servers without a plan: a ring or a switch of them, or a fabric with switches.
static bool wire_fabric(struct weft_lab_wiring *wiring, struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_lab_options *lab = &request->options;
    struct weft_lab_fabric fabric;
    request->fabric = request->fabric == NULL ? "switch" : request->fabric;
    if (!find_fabric(&fabric, request)) {
        return false;
    }
    lab->fabric = request->fabric;
    if (is_plain(request->fabric)) {
        bool ring = strcmp(request->fabric, "ring") == 0;
        if (!(ring ? weft_lab_wire_ring(wiring, fabric.server_count, &cli->arena, cli->scratch,
                                        &cli->error)
                   : weft_lab_wire_switch(wiring, fabric.server_count, &cli->error))) {
            return false;
        }
        wiring->rate_Bps = (ring ? 1 : fabric.degree) * fabric.rate_Bps; // a switch has all ports
        return true;
    }
    lab->degree = fabric.degree;
    lab->radix = fabric.radix;
    return weft_lab_wire_fabric(wiring, &fabric, &cli->arena, cli->scratch, &cli->error) ||
           weft_wrap(&cli->error, "--fabric");
}

static bool wire(struct weft_lab_wiring *wiring, struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_lab_options *lab = &request->options;
    if (request->plan_path == NULL) {
        return wire_fabric(wiring, request);
    }
    lab->fabric = "plan";
    struct weft_plan *plan = WEFT_NEW(&cli->arena, struct weft_plan, 1);
    if (!weft_plan_load(plan, request->plan_path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    // Others that use the lab find the plan from any folder.
    char *full = realpath(request->plan_path, NULL);
    if (full != NULL && strlen(full) < sizeof((struct weft_lab *)0)->plan_path) {
        lab->plan_path = weft_arena_text(&cli->arena, full, strlen(full));
    }
    free(full);
    return weft_lab_wire_plan(wiring, plan, &cli->arena, cli->scratch, &cli->error) ||
           weft_wrap(&cli->error, "%s", request->plan_path);
}

// What stands beside a plan, and what a fabric lacks or has no use for.
static bool check_request(const struct request *request)
{
    struct cli *cli = request->cli;
    bool cluster = request->cluster_path != NULL;
    bool plain = request->fabric == NULL || is_plain(request->fabric);
    if (request->plan_path == NULL && request->host_count == 0 && !cluster) {
        return cli_misuse(cli,
                          "what? write %s PLAN.json, %s --hosts N or %s --cluster FILE --fabric F",
                          cli->program, cli->program, cli->program);
    }
    if (request->plan_path != NULL && (request->host_count > 0 || cluster)) {
        return cli_misuse(cli, "a plan says its servers; leave --hosts and --cluster out");
    }
    if (request->plan_path != NULL &&
        (request->fabric != NULL || request->degree > 0 || request->radix > 0)) {
        return cli_misuse(cli, "a plan says its fabric; --fabric, --degree and --radix go with "
                               "--hosts or --cluster");
    }
    if (!plain && weft_fabric_reference_named(request->fabric, NULL) == NULL) {
        return cli_misuse(cli,
                          "--fabric: '%.40s' is none; write switch, ring, or one with switches: "
                          "leaf-spine, rail-only, clos, dual-tor, dragonfly, ...",
                          request->fabric);
    }
    if (request->options.classes.queues > 0 && request->options.mark_packets > 0) {
        return cli_misuse(cli, "--classes marks by its own number of packets; leave --ecn out");
    }
    if (cluster && request->fabric == NULL) {
        return cli_misuse(cli, "which fabric? write --fabric leaf-spine, switch or ring");
    }
    if (request->plan_path == NULL && plain && (request->degree > 0 || request->radix > 0)) {
        return cli_misuse(cli, "a %s has no --degree and no --radix; leave them out",
                          request->fabric == NULL ? "switch" : request->fabric);
    }
    return request->plan_path != NULL || plain || cluster || request->degree > 0 ||
           cli_misuse(cli, "how many ports has a server? write --degree 4 or --cluster FILE");
}

static json_t *describe(const struct weft_lab *lab, double seconds)
{
    json_t *object = weft_set_object("weft.lab-up/1");
    weft_set_text(object, "name", lab->name);
    weft_set_text(object, "fabric", lab->fabric);
    weft_set_count(object, "servers", lab->server_count);
    weft_set_count(object, "ports", lab->port_count);
    weft_set_count(object, "packet_switches", lab->switch_count);
    weft_set_real(object, "rate_Bps", lab->rate_Bps);
    weft_set_real(object, "scale",
                  lab->planned_rate_Bps > 0 ? lab->planned_rate_Bps / lab->rate_Bps : 1);
    weft_set_count(object, "mtu_bytes", lab->mtu_bytes);
    weft_set_count(object, "burst_bytes", lab->burst_bytes);
    weft_set_count(object, "buffer_bytes", lab->buffer_bytes);
    weft_set_real(object, "dark_s", 1e-9 * (double)lab->dark_ns);
    weft_set_real(object, "wall_s", seconds);
    return object;
}

static void print_lab(struct cli *cli, const struct weft_lab *lab)
{
    char rate[WEFT_UNIT_TEXT];
    char planned[WEFT_UNIT_TEXT];
    cli_say(cli, "lab '%s' is up: %u servers of %u port%s of %s, ", lab->name, lab->server_count,
            lab->port_count, lab->port_count == 1 ? "" : "s", weft_show_rate(rate, lab->rate_Bps));
    if (lab->ocs_count > 0) {
        cli_say(cli, "%u optical switch%s", lab->ocs_count, lab->ocs_count == 1 ? "" : "es");
    } else if (lab->switch_count > 0) {
        cli_say(cli, "%u packet switch%s", lab->switch_count, lab->switch_count == 1 ? "" : "es");
    } else {
        cli_say(cli, "one packet switch");
    }
    if (lab->planned_rate_Bps > 0) {
        cli_say(cli, "; planned: %s, 1:%.6g", weft_show_rate(planned, lab->planned_rate_Bps),
                lab->planned_rate_Bps / lab->rate_Bps);
    }
    cli_say(cli, "\n%.2f s; servers are namespaces weft-%s-s0 to s%u, addresses 10.128.0.0 on\n",
            cli_elapsed_s(cli), lab->name, lab->server_count - 1);
}

static bool run(struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_lab_wiring wiring;
    struct weft_lab_claim claim;
    struct weft_lab *lab = WEFT_NEW(&cli->arena, struct weft_lab, 1);
    if (!check_request(request) || !wire(&wiring, request) ||
        !weft_lab_claim(&claim, request->options.name, &cli->error)) {
        return false;
    }
    request->options.stop = cli_clock_start(cli, "raising the lab", "nodes");
    request->options.tally = &cli->environment.progress.tally;
    cli_clock_heed();
    bool fine = weft_lab_up(lab, &wiring, &request->options, cli->scratch, &cli->error);
    cli_clock_stop(cli);
    weft_lab_unclaim(&claim, request->options.name);
    if (!fine) {
        return false;
    }
    if (cli->json) {
        cli_say(cli, "%s", weft_set_finish(describe(lab, cli_elapsed_s(cli)), &cli->arena));
    } else {
        print_lab(cli, lab);
    }
    return true;
}

int lab_up(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab up",
        .arguments = "PLAN.json\n--hosts N [--fabric F]\n--cluster FILE --fabric F",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct request request = {
        .cli = &cli,
        .options = {.name = WEFT_LAB_DEFAULT, .dark_ns = 10000000},
    };
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
