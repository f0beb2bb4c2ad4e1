// SPDX-License-Identifier: Apache-2.0
// Faults of a lab: cables that lose their light, and get it back.
//
// The switch's end of a cable is set down, so that the server at the other end loses its carrier,
// as with a transceiver. Servers behind an optical switch see nothing but silence. Or a gray
// failure: a program on what enters a port loses some of it, and nobody is told.

#include "fault.h"
#include "bpf/classes/loss.h"
#include "runtime/clock.h"

#include <string.h>
#include <unistd.h>

// A number below `end` in the first `length` letters of a text.
static bool parse_below(uint32_t *value, const char *text, size_t length, uint32_t end,
                        const char *what, struct weft_error *error)
{
    char word[16];
    uint64_t count = 0;
    snprintf(word, sizeof word, "%.*s", (int)(length < 15 ? length : 15), text);
    if (!weft_parse_count(&count, word, 0, end - 1, error)) {
        return weft_fail(error, WEFT_INPUT, "'%.40s': there is no such %s; they are 0 to %u", word,
                         what, end - 1);
    }
    *value = (uint32_t)count;
    return true;
}

bool weft_lab_fault_parse(struct weft_lab_fault *fault, const char *kind, const char *which,
                          const struct weft_lab *lab, struct weft_error *error)
{
    struct weft_lab_fault made = {.kind = WEFT_LAB_FAULT_LINK};
    size_t length = strlen(which);
    if (lab->switch_count > 0) {
        return weft_fail(
            error, WEFT_UNSUPPORTED,
            "lab '%s' is a %s of packet switches; what fails is of plans, rings and one "
            "switch",
            lab->name, lab->fabric);
    }
    if (strcmp(kind, "link") == 0) {
        size_t colon = strcspn(which, ":");
        if (colon == length) {
            return weft_fail(error, WEFT_INPUT,
                             "'%.40s' is no link; write SERVER:PORT, for example 3:1", which);
        }
        if (!parse_below(&made.server, which, colon, lab->server_count, "server", error) ||
            !parse_below(&made.port, which + colon + 1, length - colon - 1, lab->port_count, "port",
                         error)) {
            return false;
        }
    } else if (strcmp(kind, "server") == 0) {
        made.kind = WEFT_LAB_FAULT_SERVER;
        if (!parse_below(&made.server, which, length, lab->server_count, "server", error)) {
            return false;
        }
    } else if (strcmp(kind, "ocs") == 0) {
        made.kind = WEFT_LAB_FAULT_OCS;
        if (lab->ocs_count == 0) {
            return weft_fail(error, WEFT_INPUT, "lab '%s' has no optical switches", lab->name);
        }
        if (!parse_below(&made.port, which, length, lab->ocs_count, "optical switch", error)) {
            return false;
        }
    } else {
        return weft_fail(error, WEFT_INPUT, "'%.40s' does not fail; write link, server or ocs",
                         kind);
    }
    *fault = made;
    return true;
}

// Sets the cables of a fault down or up: one of one server, all of a server, or all of a plane.
static bool change(struct weft_lab_fault_times *times, const struct weft_lab *lab,
                   const struct weft_lab_fault *fault, bool up, struct weft_error *error)
{
    struct weft_lab_fault_times made = {0};
    struct weft_netlink switches[WEFT_LAB_PORTS_MAX] = {{0}};
    char netns[WEFT_NETNS_NAME_MAX];
    bool one_plane = fault->kind != WEFT_LAB_FAULT_SERVER;
    bool one_server = fault->kind != WEFT_LAB_FAULT_OCS;
    uint32_t first = one_plane ? fault->port : 0;
    uint32_t end = one_plane ? fault->port + 1 : lab->port_count;
    bool fine = true;
    // Sessions are made ready first, so that the cables fail together.
    for (uint32_t p = first; p < end && fine; p++) {
        fine = weft_netlink_open(&switches[p], weft_lab_switch_netns(netns, lab, p), error);
    }
    made.begun_ns = lab_now_ns();
    for (uint32_t p = first; p < end && fine; p++) {
        for (uint32_t s = 0; s < lab->server_count && fine; s++) {
            if (!one_server || s == fault->server) {
                fine = weft_link_set_up(&switches[p], weft_lab_cable_index(s), up, error);
                made.cable_count++;
            }
        }
    }
    made.ended_ns = lab_now_ns();
    for (uint32_t p = first; p < end; p++) {
        weft_netlink_close(&switches[p]);
    }
    if (fine) {
        *times = made;
    }
    return fine;
}

bool weft_lab_fail(struct weft_lab_fault_times *times, const struct weft_lab *lab,
                   const struct weft_lab_fault *fault, struct weft_error *error)
{
    return change(times, lab, fault, false, error);
}

// Waits for the carrier of one port; its routes come back with it.
static bool wait_port(const struct weft_lab *lab, uint32_t server, uint32_t port,
                      struct weft_error *error)
{
    struct weft_netlink netlink;
    char netns[WEFT_NETNS_NAME_MAX];
    if (!weft_netlink_open(&netlink, weft_lab_server_netns(netns, lab->name, server), error)) {
        return false;
    }
    bool fine = weft_link_await(&netlink, weft_lab_port_index(port), error);
    weft_netlink_close(&netlink);
    return fine;
}

bool weft_lab_mend(struct weft_lab_fault_times *times, const struct weft_lab *lab,
                   const struct weft_lab_fault *fault, struct weft_error *error)
{
    if (!change(times, lab, fault, true, error)) {
        return false;
    }
    for (uint32_t s = 0; s < lab->server_count; s++) {
        for (uint32_t p = 0; p < lab->port_count; p++) {
            bool meant = (fault->kind == WEFT_LAB_FAULT_OCS || s == fault->server) &&
                         (fault->kind == WEFT_LAB_FAULT_SERVER || p == fault->port);
            if (meant && !wait_port(lab, s, p, error)) {
                return false;
            }
        }
    }
    times->ended_ns = lab_now_ns();
    return true;
}

// ---- gray failures ----

static const char loss_name[] = "weft-loss";

// A session where the port is.
static bool open_port(struct weft_netlink *netlink, const struct weft_lab *lab, uint32_t node,
                      uint32_t port, struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    struct weft_link_counters there;
    WEFT_ASSERT(node < lab->server_count + lab->switch_count);
    if (!weft_netlink_open(netlink, weft_lab_node_netns(netns, lab, node), error)) {
        return false;
    }
    if (!weft_link_counters(&there, netlink, weft_lab_port_index(port), error)) {
        weft_netlink_close(netlink);
        return weft_fail(error, WEFT_INPUT, "%s has no port %u", netns, port);
    }
    return true;
}

// A program of its own on what enters the port.
static bool begin_loss(uint32_t *program, struct weft_netlink *netlink, uint32_t port,
                       struct weft_error *error)
{
    struct weft_filter filter = {.priority = 1, .name = loss_name};
    uint32_t index = weft_lab_port_index(port);
    if (!weft_loss_load(&filter.program_fd, program, error)) {
        return false;
    }
    bool fine =
        weft_qdisc_clsact(netlink, index, error) && weft_filter_bpf(netlink, index, &filter, error);
    close(filter.program_fd);
    return fine;
}

bool weft_lab_lose(const struct weft_lab *lab, uint32_t node, uint32_t port, double probability,
                   struct weft_error *error)
{
    struct weft_netlink netlink;
    uint32_t program = 0;
    if (!open_port(&netlink, lab, node, port, error)) {
        return false;
    }
    bool fine =
        weft_filter_program(&program, &netlink, weft_lab_port_index(port), false, loss_name, error);
    if (fine && (program != 0 || probability > 0)) {
        fine = (program != 0 || begin_loss(&program, &netlink, port, error)) &&
               weft_loss_set(program, probability, error);
    }
    weft_netlink_close(&netlink);
    return fine;
}

bool weft_lab_losses_of(struct classes_loss *loss, struct weft_netlink *netlink, uint32_t port,
                        struct weft_error *error)
{
    uint32_t program = 0;
    *loss = (struct classes_loss){0};
    return weft_filter_program(&program, netlink, weft_lab_port_index(port), false, loss_name,
                               error) &&
           (program == 0 || weft_loss_read(loss, program, error));
}

bool weft_lab_losses(struct classes_loss *loss, const struct weft_lab *lab, uint32_t node,
                     uint32_t port, struct weft_error *error)
{
    struct weft_netlink netlink;
    if (!open_port(&netlink, lab, node, port, error)) {
        return false;
    }
    bool fine = weft_lab_losses_of(loss, &netlink, port, error);
    weft_netlink_close(&netlink);
    return fine;
}

// "0.01" or "1%".
static bool parse_probability(double *probability, const char *text, struct weft_error *error)
{
    char word[32];
    size_t length = strlen(text);
    bool percent = length > 0 && text[length - 1] == '%';
    double high = percent ? 100 : 1;
    snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length - percent : 31), text);
    if (!weft_parse_number(probability, word, 0, high, error)) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.40s' is no probability; write a number from 0 to 1 or per cent, for "
                         "example 1%%",
                         text);
    }
    *probability /= high;
    return true;
}

bool weft_lab_loss_parse(struct weft_lab_loss *loss, const char *which, bool mend,
                         const struct weft_lab *lab, struct weft_error *error)
{
    struct weft_lab_loss made = {0};
    bool is_switch = which[0] == 'w';
    const char *node = which + is_switch;
    size_t node_length = strcspn(node, ":");
    const char *port = node + node_length + (node[node_length] == ':');
    size_t port_length = strcspn(port, ":");
    if (node[node_length] != ':' || (port[port_length] == ':') == mend) {
        return weft_fail(error, WEFT_INPUT,
                         mend ? "'%.40s' is no port; write NODE:PORT, for example 3:1 or w0:2"
                              : "'%.40s' loses nothing; write NODE:PORT:P, for example 3:1:1%% or "
                                "w0:2:1%%",
                         which);
    }
    if (is_switch && lab->switch_count == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.40s': lab '%s' has no packet switches that forward by routes; name a "
                         "server",
                         which, lab->name);
    }
    if (!parse_below(&made.node, node, node_length,
                     is_switch ? lab->switch_count : lab->server_count,
                     is_switch ? "switch" : "server", error) ||
        !parse_below(&made.port, port, port_length, is_switch ? 256 : lab->port_count, "port",
                     error) ||
        (!mend && !parse_probability(&made.probability, port + port_length + 1, error))) {
        return false;
    }
    made.node += is_switch ? lab->server_count : 0;
    *loss = made;
    return true;
}
