// SPDX-License-Identifier: Apache-2.0
// weft lab status: the labs that stand, and what passed their ports. Counters are read from the
// kernel by netlink in each server's namespace, one server after the other, so that they are not of
// one instant.

#include "lab.h"
#include "request/json/json.h"
#include "runtime/testbed/testbed.h"

#include <string.h>

struct request {
    struct cli *cli;
    const char *name; // NULL = all
};

static const struct argp_option options[] = {
    {"name", LAB_NAME, "NAME", 0, "that lab alone (all)", 0},
    {0},
};

static const char doc[] =
    "Lists the labs that stand, and what passed their ports; --json has every port.\v"
    "Examples:\n"
    "  $ weft lab status\n"
    "  $ weft lab status --json\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case LAB_NAME:
        return lab_take_name(request->cli, &request->name, argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// What passed all ports of a lab.
struct sums {
    uint64_t sent_bytes;
    uint64_t dropped_packets;
    uint32_t dark_ports; // without carrier
};

// Reads the counters of one port, adds them to the sums and appends them to the JSON list.
static bool read_port(json_t *list, struct sums *sums, struct weft_netlink *netlink,
                      uint32_t server, uint32_t port, struct weft_error *error)
{
    struct weft_link_counters link = {0};
    struct weft_qdisc_counters queue = {0};
    uint32_t index = weft_lab_port_index(port);
    if (!weft_link_counters(&link, netlink, index, error) ||
        !weft_qdisc_counters(&queue, netlink, index, error)) {
        return false;
    }
    sums->sent_bytes += queue.sent_bytes;
    sums->dropped_packets += queue.dropped_packets;
    sums->dark_ports += !link.carrier;
    json_t *object = json_object();
    weft_set_count(object, "server", server);
    weft_set_count(object, "port", port);
    weft_set_truth(object, "carrier", link.carrier);
    weft_set_count(object, "sent_bytes", queue.sent_bytes);
    weft_set_count(object, "sent_packets", queue.sent_packets);
    weft_set_count(object, "dropped_packets", queue.dropped_packets);
    weft_set_count(object, "backlog_bytes", queue.backlog_bytes);
    weft_set_count(object, "received_bytes", link.received_bytes);
    weft_set_count(object, "received_packets", link.received_packets);
    int failed = json_array_append_new(list, object);
    WEFT_ASSERT(failed == 0);
    return true;
}

static bool read_ports(json_t *list, struct sums *sums, const struct weft_lab *lab,
                       struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    for (uint32_t s = 0; s < lab->server_count; s++) {
        struct weft_netlink netlink;
        if (!weft_netlink_open(&netlink, weft_lab_server_netns(netns, lab->name, s), error)) {
            return false;
        }
        bool fine = true;
        for (uint32_t p = 0; p < lab->port_count && fine; p++) {
            fine = read_port(list, sums, &netlink, s, p, error);
        }
        weft_netlink_close(&netlink);
        if (!fine) {
            return false;
        }
    }
    return true;
}

static json_t *describe(const struct weft_lab *lab, json_t *ports)
{
    json_t *object = json_object();
    weft_set_text(object, "name", lab->name);
    weft_set_truth(object, "is_up", true);
    weft_set_text(object, "fabric", lab->fabric);
    weft_set_text(object, "plan", lab->plan_path);
    weft_set_count(object, "servers", lab->server_count);
    weft_set_count(object, "ports_per_server", lab->port_count);
    weft_set_count(object, "optical_switches", lab->ocs_count);
    weft_set_count(object, "packet_switches", lab->switch_count);
    weft_set_real(object, "rate_Bps", lab->rate_Bps);
    weft_set_real(object, "planned_rate_Bps", lab->planned_rate_Bps);
    weft_set_real(object, "scale",
                  lab->planned_rate_Bps > 0 ? lab->planned_rate_Bps / lab->rate_Bps : 1);
    weft_set_count(object, "mtu_bytes", lab->mtu_bytes);
    weft_set_count(object, "burst_bytes", lab->burst_bytes);
    weft_set_count(object, "buffer_bytes", lab->buffer_bytes);
    weft_set_count(object, "mark_packets", lab->mark_packets);
    weft_set_text(object, "shaper", lab->htb ? "htb" : "tbf");
    weft_set_truth(object, "offloads", lab->offloads);
    weft_set_real(object, "dark_s", 1e-9 * (double)lab->dark_ns);
    weft_set(object, "ports", ports);
    return object;
}

static void print_lab(struct cli *cli, const struct weft_lab *lab, const struct sums *sums)
{
    char rate[WEFT_UNIT_TEXT];
    char bytes[WEFT_UNIT_TEXT];
    cli_say(cli, "%-8s up    %-7s %4u servers x %u ports of %s, sent %s, dropped %llu packets",
            lab->name, lab->fabric, lab->server_count, lab->port_count,
            weft_show_rate(rate, lab->rate_Bps), weft_show_bytes(bytes, (double)sums->sent_bytes),
            (unsigned long long)sums->dropped_packets);
    if (sums->dark_ports > 0) {
        cli_say(cli, ", %u ports without carrier", sums->dark_ports);
    }
    cli_say(cli, "\n");
}

// Adds one lab to the list, and prints it where text is requested. A lab that cannot be loaded is
// not up: it is being raised by somebody, or was left by a run that was killed.
static bool add_lab(json_t *list, struct cli *cli, const char *name)
{
    struct weft_lab *lab = WEFT_NEW(&cli->arena, struct weft_lab, 1);
    if (!weft_lab_load(lab, name, cli->scratch, &cli->error)) {
        json_t *object = json_object();
        weft_set_text(object, "name", name);
        weft_set_truth(object, "is_up", false);
        int failed = json_array_append_new(list, object);
        WEFT_ASSERT(failed == 0);
        if (cli->json) {
            return true;
        }
        cli_say(cli, "%-8s leftovers or under way; weft lab down --name %s takes leftovers away\n",
                name, name);
        return true;
    }
    struct sums sums = {0};
    json_t *ports = json_array();
    if (!read_ports(ports, &sums, lab, &cli->error)) {
        json_decref(ports);
        return false;
    }
    int failed = json_array_append_new(list, describe(lab, ports));
    WEFT_ASSERT(failed == 0);
    if (!cli->json) {
        print_lab(cli, lab, &sums);
    }
    return true;
}

// Lists all labs, or the one of --name. A name under which nothing stands is an empty list, not an
// error.
static bool run(const struct request *request)
{
    struct cli *cli = request->cli;
    const char *const *names = NULL;
    uint32_t count = 0;
    if (!weft_lab_list(&names, &count, &cli->arena, &cli->error)) {
        return false;
    }
    json_t *list = json_array();
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (request->name != NULL && strcmp(request->name, names[i]) != 0) {
            continue;
        }
        shown++;
        if (!add_lab(list, cli, names[i])) {
            json_decref(list);
            return false;
        }
    }
    if (cli->json) {
        json_t *object = weft_set_object("weft.lab-status/1");
        weft_set(object, "labs", list);
        cli_say(cli, "%s", weft_set_finish(object, &cli->arena));
        return true;
    }
    json_decref(list);
    if (shown == 0) {
        cli_say(cli, "no lab stands\n");
    }
    return true;
}

int lab_status(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab status",
        .arguments = "",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct request request = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
