// SPDX-License-Identifier: Apache-2.0
// Raises a lab: switches, servers, cables, rates, circuits and routes, in this order.
//
// Switches come first, so that each server's cables have their far ends; ports carry packets once
// the kernel has noticed their carrier, which is waited for at the end, for all together. Where
// something fails, what stood is taken away again.

#include "testbed_private.h"

#include "bpf/classes/classes.h"
#include "bpf/mark/mark.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

// What all ports together carry by default, and one port at most: a machine of two cores does
// (docs/lab.md).
static const double total_rate_Bps = 600e6;
static const double port_rate_max_Bps = 25e6;

struct raising {
    struct weft_tally *tally;
    struct weft_lab *lab;
    const struct weft_lab_wiring *wiring;
    uint32_t bridge; // of one switch
    struct weft_marker marker;
    struct weft_classifier classifier;
    struct weft_filter leaving; // the one of these that the lab has
    struct weft_netlink switches[WEFT_LAB_PORTS_MAX];
};

bool weft_lab_classes_parse(struct classes_settings *classes, const char *text,
                            struct weft_error *error)
{
    static const struct {
        const char *what;
        uint32_t high;
    } parts[3] = {{"queues", CLASSES_QUEUES_MAX}, {"layers", 65536}, {"packets", 99999}};
    uint64_t values[3] = {0};
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        char word[16];
        size_t length = strcspn(at, ":");
        snprintf(word, sizeof word, "%.*s", (int)(length < 15 ? length : 15), at);
        if ((at[length] == ':') != (i < 2) ||
            !weft_parse_count(&values[i], word, 1, parts[i].high, error)) {
            return weft_fail(error, WEFT_INPUT,
                             "'%.40s': %s are 1 to %u; write QUEUES:LAYERS:PACKETS, for example "
                             "4:16:20",
                             text, parts[i].what, parts[i].high);
        }
        at += length + (i < 2);
    }
    *classes =
        (struct classes_settings){(uint32_t)values[0], (uint32_t)values[1], (uint32_t)values[2]};
    return true;
}

// ---- switches ----

// All switches of a lab are of one kind: that of the first.
static bool load_switch(struct weft_bpf_ocs *ocs, const struct weft_lab *lab, uint32_t plane,
                        struct weft_error *error)
{
    struct weft_bpf_ocs program = {.program_fd = -1};
    struct weft_error refused;
    if (plane > 0 && !weft_lab_has_programs(lab)) {
        return true;
    }
    if (!weft_bpf_ocs_load(&program, lab->server_count, weft_lab_cable_index(0), &refused) &&
        (plane > 0 || refused.code != WEFT_UNSUPPORTED)) {
        *error = refused;
        return false;
    }
    *ocs = program;
    return true;
}

// An optical switch is a loaded program, which the ports will hold; where none can be loaded, it is
// filters, which are set with the circuits. A packet switch is a bridge.
static bool raise_switch(struct raising *raising, uint32_t plane, struct weft_error *error)
{
    struct weft_lab *lab = raising->lab;
    char netns[WEFT_NETNS_NAME_MAX];
    weft_lab_switch_netns(netns, lab, plane);
    struct weft_netlink *netlink = &raising->switches[plane];
    if (!weft_netns_create(netns, error) || !weft_lab_silence(netns, error) ||
        !weft_netlink_open(netlink, netns, error)) {
        return false;
    }
    if (lab->ocs_count > 0) {
        return load_switch(&lab->ocs[plane], lab, plane, error);
    }
    raising->bridge = weft_lab_cable_index(WEFT_LAB_SERVERS_MAX);
    return weft_link_bridge(netlink, "switch", raising->bridge, lab->mtu_bytes, error) &&
           weft_link_set_up(netlink, raising->bridge, true, error);
}

// The switch's end of a cable.
static bool plug_in(struct raising *raising, uint32_t server, uint32_t plane,
                    struct weft_error *error)
{
    const struct weft_lab *lab = raising->lab;
    struct weft_netlink *netlink = &raising->switches[plane];
    uint32_t index = weft_lab_cable_index(server);
    char name[16];
    snprintf(name, sizeof name, "p%u", server);
    if (!weft_link_set_offloads(netlink, name, lab->offloads, error)) {
        return false;
    }
    if (lab->ocs_count > 0) {
        const struct weft_filter filter = {false, 1, lab->ocs[plane].program_fd, "weft-ocs"};
        return weft_qdisc_clsact(netlink, index, error) &&
               (!weft_lab_has_programs(lab) || weft_filter_bpf(netlink, index, &filter, error)) &&
               weft_link_set_up(netlink, index, true, error);
    }
    // A circuit's output carries what one port sent; a switch's what many did.
    return weft_lab_shape(lab, &raising->leaving, netlink, index, 1, error) &&
           weft_link_set_master(netlink, index, raising->bridge, error) &&
           weft_link_set_up(netlink, index, true, error);
}

// ---- servers ----

// One port of a server with its cable: both ends are made in their namespaces at once, and numbered
// so that nobody has to look them up.
static bool add_port(struct raising *raising, struct weft_netlink *netlink, uint32_t server,
                     uint32_t port, struct weft_error *error)
{
    const struct weft_lab *lab = raising->lab;
    char names[2][16];
    char far_netns[WEFT_NETNS_NAME_MAX];
    uint8_t mac[6];
    snprintf(names[0], sizeof names[0], "port%u", port);
    snprintf(names[1], sizeof names[1], "p%u", server);
    weft_lab_port_mac(mac, server, port);
    uint32_t index = weft_lab_port_index(port);
    const struct weft_veth_end near = {.name = names[0], .index = index, .mac = mac};
    const struct weft_veth_end far = {
        .name = names[1],
        .netns = weft_lab_switch_netns(far_netns, lab, port),
        .index = weft_lab_cable_index(server),
    };
    return weft_link_veth(netlink, &near, &far, lab->mtu_bytes, error) &&
           weft_link_set_offloads(netlink, names[0], lab->offloads, error) &&
           weft_lab_shape(lab, &raising->leaving, netlink, index, 1, error) &&
           weft_address_add(netlink, index, weft_lab_port_address(server, port), 32, error) &&
           weft_link_set_up(netlink, index, true, error) && plug_in(raising, server, port, error);
}

// One server: its namespace, settings, address and ports.
static bool raise_server(struct raising *raising, uint32_t server, struct weft_error *error)
{
    const struct weft_lab *lab = raising->lab;
    struct weft_netlink netlink;
    if (!weft_lab_raise_node(&netlink, lab, server, error)) {
        return false;
    }
    bool fine = true;
    for (uint32_t port = 0; port < lab->port_count && fine; port++) {
        fine = add_port(raising, &netlink, server, port, error);
    }
    weft_netlink_close(&netlink);
    return fine;
}

// Ports that are plugged in pass packets when the kernel has noticed it.
static bool await_server(const struct weft_lab *lab, uint32_t server, struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    struct weft_netlink netlink;
    if (!weft_netlink_open(&netlink, weft_lab_server_netns(netns, lab->name, server), error)) {
        return false;
    }
    bool fine = true;
    for (uint32_t port = 0; port < lab->port_count && fine; port++) {
        fine = weft_link_await(&netlink, weft_lab_port_index(port), error);
    }
    weft_netlink_close(&netlink);
    return fine;
}

// ---- all ----

// The lab that options and wiring make; what the options leave open is chosen here, from the rate
// and the number of ports.
static void fill(struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                 const struct weft_lab_options *options)
{
    double ports = (double)wiring->server_count * wiring->port_count;
    for (uint32_t c = 0; c < wiring->cable_count; c++) { // all of them; switches' ends are shaped
        ports = (c == 0 ? 0 : ports) + wiring->cables[c].width;
    }
    *lab = (struct weft_lab){
        .server_count = wiring->server_count,
        .port_count = wiring->port_count,
        .rate_Bps = options->rate_Bps,
        .planned_rate_Bps = wiring->rate_Bps,
        .switch_count = wiring->switch_count,
        .degree = options->degree,
        .radix = options->radix,
        .mtu_bytes = options->mtu_bytes != 0 ? options->mtu_bytes : 9000,
        .burst_bytes = options->burst_bytes,
        .buffer_bytes = options->buffer_bytes,
        .mark_packets = options->mark_packets,
        .classes = options->classes,
        .htb = options->htb || options->classes.queues > 0,
        .offloads = options->offloads,
        .dark_ns = options->dark_ns,
        .ocs_count = wiring->planes != NULL ? wiring->port_count : 0,
    };
    snprintf(lab->name, sizeof lab->name, "%s", options->name);
    snprintf(lab->fabric, sizeof lab->fabric, "%s", options->fabric);
    snprintf(lab->plan_path, sizeof lab->plan_path, "%s",
             options->plan_path != NULL ? options->plan_path : "");
    if (lab->rate_Bps == 0) {
        lab->rate_Bps = fmin(port_rate_max_Bps, floor(total_rate_Bps / ports / 125e3) * 125e3);
    }
    uint32_t packet_bytes = lab->mtu_bytes + 14;
    if (lab->burst_bytes == 0) {
        // The shaper's timer is late by up to some hundred microseconds, and a burst makes up for
        // it; an aggregate of segments has to fit, too.
        double burst = fmax(2.0 * packet_bytes, lab->rate_Bps * 1e-3);
        lab->burst_bytes = (uint32_t)fmin(fmax(burst, lab->offloads ? 80000 : 0), 1 << 30);
    }
    if (lab->buffer_bytes == 0) {
        lab->buffer_bytes = 64 * packet_bytes;
    }
}

// Nothing of that name may stand, complete or not, and every plane must be a matching.
static bool check(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                  struct weft_arena scratch, struct weft_error *error)
{
    const char *const *names = NULL;
    uint32_t count = 0;
    char prefix[WEFT_NETNS_NAME_MAX];
    struct weft_lab old;
    if (weft_lab_load(&old, lab->name, scratch, error)) {
        return weft_fail(error, WEFT_IO, "lab '%s' is up already; %s takes it away", lab->name,
                         weft_lab_remedy(prefix, lab->name));
    }
    if (!weft_lab_netns_list(&names, &count, lab->name, &scratch, error)) {
        return false;
    }
    if (count > 0) {
        return weft_fail(error, WEFT_IO,
                         "%u namespaces like %s are what a killed run left; %s "
                         "takes them away",
                         count, names[0], weft_lab_remedy(prefix, lab->name));
    }
    for (uint32_t p = 0; p < lab->ocs_count; p++) {
        if (!weft_ocs_check_matching(wiring->planes + (size_t)p * lab->server_count,
                                     lab->server_count, scratch, error)) {
            return weft_wrap(error, "plane %u", p);
        }
    }
    return true;
}

// The plan's circuits on all switches.
static bool set_circuits(const struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                         struct weft_arena scratch, struct weft_error *error)
{
    // Light is on at once when a lab begins.
    struct weft_lab bright = *lab;
    struct weft_ocs_change change;
    bright.dark_ns = 0;
    for (uint32_t p = 0; p < lab->ocs_count; p++) {
        struct weft_arena arena = scratch;
        struct weft_ocs ocs;
        const uint32_t *outputs = weft_lab_outputs(wiring, p, &arena);
        if (!weft_lab_open_ocs(&ocs, &bright, p, &arena, error)) {
            return false;
        }
        bool fine = weft_ocs_apply(&change, &ocs, outputs, arena, error);
        weft_ocs_close(&ocs);
        if (!fine) {
            return weft_wrap(error, "switch %u", p);
        }
    }
    return true;
}

static bool go_on(weft_stop stop, struct weft_error *error)
{
    return !weft_stopped(stop) ||
           weft_fail(error, WEFT_IO, "stopped; what stood was taken away again");
}

// Servers and switches that forward by routes, then the cables between them.
static bool raise_switched(const struct raising *raising, weft_stop stop, struct weft_error *error)
{
    const struct weft_lab *lab = raising->lab;
    const struct weft_lab_wiring *wiring = raising->wiring;
    for (uint32_t node = 0; node < lab->server_count + lab->switch_count; node++) {
        struct weft_netlink netlink;
        if (!go_on(stop, error) || !weft_lab_raise_node(&netlink, lab, node, error)) {
            return false;
        }
        weft_netlink_close(&netlink);
        weft_tally_add(raising->tally, 1);
    }
    return weft_lab_raise_cables(lab, wiring, &raising->leaving, error) &&
           weft_lab_route_switched(lab, wiring, error) && weft_lab_await_cables(lab, wiring, error);
}

// Switches that know no routes, then servers, each of whose cables leads to all of them or to one.
static bool raise_plugged(struct raising *raising, weft_stop stop, struct weft_arena scratch,
                          struct weft_error *error)
{
    const struct weft_lab *lab = raising->lab;
    uint32_t switch_count = lab->ocs_count > 0 ? lab->ocs_count : 1;
    for (uint32_t p = 0; p < switch_count; p++) {
        if (!raise_switch(raising, p, error)) {
            return false;
        }
        weft_tally_add(raising->tally, 1);
    }
    for (uint32_t s = 0; s < lab->server_count; s++) {
        if (!go_on(stop, error) || !raise_server(raising, s, error)) {
            return false;
        }
        weft_tally_add(raising->tally, 1);
    }
    if (!set_circuits(lab, raising->wiring, scratch, error) ||
        !weft_lab_route(lab, raising->wiring, scratch, error)) {
        return false;
    }
    for (uint32_t s = 0; s < lab->server_count; s++) {
        if (!await_server(lab, s, error)) {
            return false;
        }
    }
    return true;
}

// What stands on everything that leaves a port: the program that marks, or the one that sorts.
static bool load_programs(struct raising *raising, struct weft_error *error)
{
    struct weft_lab *lab = raising->lab;
    raising->leaving = (struct weft_filter){.egress = true, .priority = 1, .program_fd = -1};
    WEFT_ASSERT(lab->mark_packets == 0 || lab->classes.queues == 0);
    if (lab->classes.queues > 0) {
        if (!weft_classifier_load(&raising->classifier, &lab->classes, error)) {
            return false;
        }
        raising->leaving.program_fd = raising->classifier.program_fd;
        raising->leaving.name = "weft-classes";
        lab->classes_id = raising->classifier.id;
    }
    if (lab->mark_packets > 0) {
        if (!weft_marker_load(&raising->marker, lab->mark_packets, error)) {
            return false;
        }
        raising->leaving.program_fd = raising->marker.program_fd;
        raising->leaving.name = "weft-mark";
        lab->marks_id = raising->marker.id;
    }
    return true;
}

// All steps in order. The state is saved as complete only at the very end.
static bool raise_all(struct raising *raising, weft_stop stop, struct weft_arena scratch,
                      struct weft_error *error)
{
    struct weft_lab *lab = raising->lab;
    if (!load_programs(raising, error) ||
        !(lab->switch_count > 0 ? raise_switched(raising, stop, error)
                                : raise_plugged(raising, stop, scratch, error))) {
        return false;
    }
    lab->is_up = true;
    return weft_lab_save(lab, scratch, error);
}

struct raise_call {
    struct raising *raising;
    weft_stop stop;
    struct weft_arena scratch;
    struct weft_error *error;
};

static bool raise_guarded(void *context)
{
    struct raise_call *call = context;
    return raise_all(call->raising, call->stop, call->scratch, call->error);
}

bool weft_lab_up(struct weft_lab *lab, const struct weft_lab_wiring *wiring,
                 const struct weft_lab_options *options, struct weft_arena scratch,
                 struct weft_error *error)
{
    struct raising raising = {.lab = lab, .wiring = wiring, .tally = options->tally};
    struct weft_lab_removed removed;
    struct weft_error ignored;
    fill(lab, wiring, options);
    if (!check(lab, wiring, scratch, error) || !weft_lab_save(lab, scratch, error)) {
        return false;
    }
    // What stands is taken away also where memory is out.
    uint32_t planes = lab->ocs_count > 0 ? lab->ocs_count : 1; // where servers forward themselves
    weft_tally_begin(options->tally,
                     lab->server_count + (lab->switch_count > 0 ? lab->switch_count : planes));
    struct raise_call call = {&raising, options->stop, scratch, error};
    bool fine = weft_guard(raise_guarded, &call, error);
    weft_marker_close(&raising.marker);
    weft_classifier_close(&raising.classifier);
    for (uint32_t p = 0; p < WEFT_LAB_PORTS_MAX; p++) {
        weft_netlink_close(&raising.switches[p]);
        if (lab->ocs[p].program_fd > 0) {
            close(lab->ocs[p].program_fd);
            lab->ocs[p].program_fd = -1;
        }
    }
    if (!fine && !weft_lab_down(&removed, lab->name, scratch, &ignored)) {
        return weft_fail(error, WEFT_IO, "%.300s; and cleaning up failed: %.150s", error->message,
                         ignored.message);
    }
    return fine;
}
