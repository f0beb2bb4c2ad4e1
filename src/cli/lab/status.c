// SPDX-License-Identifier: Apache-2.0
// weft lab status: the labs that stand, and what passed their ports. Counters are read from the
// kernel by netlink in each node's namespace, one node after the other, so that they are not of one
// instant. Ports that sort gradients have counts by queue there, and by class in the program's own
// table, which is of all ports together.

#include "bpf/classes/classes.h"
#include "lab.h"
#include "request/json/json.h"
#include "runtime/testbed/fault.h"

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
    "Lists the labs that stand, and what passed their ports, by class where they sort gradients; "
    "--json has every port and queue.\v"
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

// What passed all ports of a lab: `sent` and `dark` of its servers, the rest of its switches, too.
struct sums {
    uint64_t sent_bytes;
    uint64_t dropped_packets;
    uint32_t dark_ports; // without carrier
    uint32_t lossy_ports;
    struct classes_loss loss; // of those
};

static void append(json_t *list, json_t *object)
{
    int failed = json_array_append_new(list, object);
    WEFT_ASSERT(failed == 0);
}

static void set_queue(json_t *object, const struct weft_qdisc_counters *queue)
{
    weft_set_count(object, "sent_bytes", queue->sent_bytes);
    weft_set_count(object, "sent_packets", queue->sent_packets);
    weft_set_count(object, "dropped_packets", queue->dropped_packets);
    weft_set_count(object, "backlog_bytes", queue->backlog_bytes);
}

// The queues of a port that sorts, and what it loses by chance, where it has such.
static bool read_trouble(json_t *object, struct sums *sums, const struct weft_lab *lab,
                         struct weft_netlink *netlink, uint32_t port, struct weft_error *error)
{
    struct weft_qdisc_counters queues[CLASSES_QUEUES_MAX + 1];
    struct classes_loss loss;
    uint32_t queue_count = lab->classes.queues > 0 ? lab->classes.queues + 1 : 0;
    if ((queue_count > 0 && !weft_qdisc_queue_counters(queues, netlink, weft_lab_port_index(port),
                                                       queue_count, error)) ||
        !weft_lab_losses_of(&loss, netlink, port, error)) {
        return false;
    }
    if (queue_count > 0) {
        json_t *list = json_array();
        for (uint32_t q = 0; q < queue_count; q++) {
            json_t *queue = json_object();
            set_queue(queue, &queues[q]);
            append(list, queue);
        }
        weft_set(object, "queues", list);
    }
    if (loss.probability > 0 || loss.packets > 0) {
        weft_set_real(object, "loss_probability", loss.probability);
        weft_set_count(object, "loss_packets", loss.packets);
        weft_set_count(object, "lost_packets", loss.lost);
        sums->lossy_ports++;
        sums->loss.packets += loss.packets;
        sums->loss.lost += loss.lost;
    }
    return true;
}

// Reads the counters of one port, adds them to the sums and appends them to the JSON list.
static bool read_port(json_t *list, struct sums *sums, const struct weft_lab *lab,
                      struct weft_netlink *netlink, const uint32_t place[2],
                      struct weft_error *error)
{
    struct weft_link_counters link = {0};
    struct weft_qdisc_counters queue = {0};
    bool is_server = place[0] < lab->server_count;
    uint32_t index = weft_lab_port_index(place[1]);
    if (!weft_link_counters(&link, netlink, index, error) ||
        !weft_qdisc_counters(&queue, netlink, index, error)) {
        return false;
    }
    sums->sent_bytes += is_server ? queue.sent_bytes : 0;
    sums->dark_ports += is_server && !link.carrier;
    sums->dropped_packets += queue.dropped_packets;
    json_t *object = json_object();
    weft_set_count(object, is_server ? "server" : "switch",
                   is_server ? place[0] : place[0] - lab->server_count);
    weft_set_count(object, "port", place[1]);
    weft_set_truth(object, "carrier", link.carrier);
    set_queue(object, &queue);
    weft_set_count(object, "received_bytes", link.received_bytes);
    weft_set_count(object, "received_packets", link.received_packets);
    append(list, object);
    return read_trouble(object, sums, lab, netlink, place[1], error);
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
            fine = read_port(list, sums, lab, &netlink, (const uint32_t[2]){s, p}, error);
        }
        weft_netlink_close(&netlink);
        if (!fine) {
            return false;
        }
    }
    return true;
}

// Ports of switches that forward by routes, in the order of the cables.
static bool read_switches(json_t *list, struct sums *sums, const struct weft_lab *lab,
                          struct cli *cli)
{
    char netns[WEFT_NETNS_NAME_MAX];
    struct weft_lab_wiring wiring;
    if (lab->switch_count == 0) {
        return true;
    }
    if (!weft_lab_rewire(&wiring, lab, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    for (uint32_t i = 0; i < 2 * wiring.cable_count; i++) {
        const struct weft_lab_cable *cable = &wiring.cables[i / 2];
        const uint32_t place[2] = {cable->nodes[i % 2], cable->ports[i % 2]};
        struct weft_netlink netlink;
        if (place[0] < lab->server_count) {
            continue;
        }
        if (!weft_netlink_open(&netlink, weft_lab_node_netns(netns, lab, place[0]), &cli->error)) {
            return false;
        }
        bool fine = read_port(list, sums, lab, &netlink, place, &cli->error);
        weft_netlink_close(&netlink);
        if (!fine) {
            return false;
        }
    }
    return true;
}

static const char *const class_names[CLASSES_COUNT] = {"control", "important", "unimportant",
                                                       "others"};

// Counts by queue and class, of all ports together.
static json_t *describe_classes(const struct weft_lab *lab, const struct classes_count *counts)
{
    json_t *object = json_object();
    json_t *list = json_array();
    weft_set_count(object, "queues", lab->classes.queues);
    weft_set_count(object, "layers", lab->classes.layers);
    weft_set_count(object, "threshold_packets", lab->classes.threshold_packets);
    for (uint32_t row = 0; row < CLASSES_ROWS; row++) {
        const struct classes_count *count = &counts[row];
        if (count->packets == 0) {
            continue;
        }
        json_t *met = json_object();
        weft_set_count(met, "queue", row / CLASSES_COUNT);
        weft_set_text(met, "class", class_names[row % CLASSES_COUNT]);
        weft_set_count(met, "packets", count->packets);
        weft_set_count(met, "bytes", count->bytes);
        weft_set_count(met, "dropped_packets", count->dropped);
        weft_set_count(met, "ecn_marks", count->marked);
        weft_set_count(met, "longest_packets", count->longest);
        append(list, met);
    }
    weft_set(object, "counts", list);
    return object;
}

static void print_classes(struct cli *cli, const struct weft_lab *lab,
                          const struct classes_count *counts)
{
    struct classes_count sums[CLASSES_COUNT] = {0};
    for (uint32_t row = 0; row < CLASSES_ROWS; row++) {
        sums[row % CLASSES_COUNT].packets += counts[row].packets;
        sums[row % CLASSES_COUNT].dropped += counts[row].dropped;
        sums[row % CLASSES_COUNT].marked += counts[row].marked;
    }
    cli_say(cli, "%-8s       %u queues, %u layers, long from %u packets on:", "",
            lab->classes.queues, lab->classes.layers, lab->classes.threshold_packets);
    for (uint32_t i = 0; i < CLASSES_COUNT; i++) {
        bool drops = i == CLASSES_UNIMPORTANT;
        cli_say(cli, "%s %s %llu", i > 0 ? "," : "", class_names[i], sums[i].packets);
        cli_say(cli, " (%llu %s)", drops ? sums[i].dropped : sums[i].marked,
                drops ? "dropped" : "marked");
    }
    cli_say(cli, "\n");
}

static json_t *describe(const struct weft_lab *lab, json_t *ports, json_t *switch_ports)
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
    weft_set(object, "switch_ports", switch_ports);
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
    if (sums->lossy_ports > 0) {
        cli_say(cli, ", %llu of %llu packets lost at %u lossy port%s", sums->loss.lost,
                sums->loss.packets, sums->lossy_ports, sums->lossy_ports == 1 ? "" : "s");
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
        append(list, object);
        if (cli->json) {
            return true;
        }
        cli_say(cli, "%-8s leftovers or under way; weft lab down --name %s takes leftovers away\n",
                name, name);
        return true;
    }
    struct sums sums = {0};
    struct classes_count *counts = WEFT_NEW(&cli->arena, struct classes_count, CLASSES_ROWS);
    json_t *ports = json_array();
    json_t *switch_ports = json_array();
    bool sorts = lab->classes.queues > 0;
    if (!read_ports(ports, &sums, lab, &cli->error) ||
        !read_switches(switch_ports, &sums, lab, cli) ||
        (sorts && !weft_classifier_counts(counts, lab->classes_id, &cli->error))) {
        json_decref(ports);
        json_decref(switch_ports);
        return false;
    }
    json_t *object = describe(lab, ports, switch_ports);
    if (sorts) {
        weft_set(object, "classes", describe_classes(lab, counts));
    }
    append(list, object);
    if (!cli->json) {
        print_lab(cli, lab, &sums);
    }
    if (!cli->json && sorts) {
        print_classes(cli, lab, counts);
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
