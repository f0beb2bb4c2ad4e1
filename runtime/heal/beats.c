// SPDX-License-Identifier: Apache-2.0
// Heartbeats between neighbors, in datagrams over the circuit of their edge, and the light of the
// own ports as the kernel tells it. O(switches) a round.

#include "host_private.h"
#include "runtime/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

// Read in one round from one port, where a stranger may send them faster than they are read.
enum { BEATS_MOST = 64 };

static struct sockaddr_in port_of(uint32_t host, uint32_t plane)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(weft_lab_port_address(host, plane)),
        .sin_port = htons(LAB_HEAL_BEAT_PORT),
    };
}

void lab_heal_doubt(struct lab_heal_playing *self, uint32_t side, enum lab_heal_cause cause)
{
    struct lab_heal_report report = lab_heal_report_of(&self->member, LAB_HEAL_DOUBT);
    if (self->member.frozen || self->member.work.rank == WEFT_NONE || self->doubted[side]) {
        return;
    }
    self->doubted[side] = true;
    report.side = side;
    report.cause = cause;
    report.at_ns = lab_now_ns();
    lab_heal_report(&self->member, &report);
}

bool lab_heal_open_beats(struct lab_heal_playing *self, struct weft_error *error)
{
    const struct sockaddr_nl own = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
    for (uint32_t p = 0; p < self->job->plane_count; p++) {
        const struct sockaddr_in port = port_of(self->host, p);
        self->beats[p] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (self->beats[p] < 0 ||
            bind(self->beats[p], (const struct sockaddr *)&port, sizeof port) != 0) {
            return weft_fail(error, WEFT_IO, "host %u, port %u: %s", self->host, p,
                             strerrordesc_np(errno));
        }
    }
    self->watcher = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    return (self->watcher >= 0 &&
            bind(self->watcher, (const struct sockaddr *)&own, sizeof own) == 0) ||
           weft_fail(error, WEFT_IO, "host %u: netlink: %s", self->host, strerrordesc_np(errno));
}

void lab_heal_send_beats(struct lab_heal_playing *self)
{
    const struct lab_heal_order *order = &self->member.order;
    if (self->member.work.rank == WEFT_NONE) {
        return;
    }
    for (uint32_t side = 0; side < LAB_HEAL_SIDES; side++) {
        uint32_t plane = order->plane[side];
        const struct sockaddr_in to = port_of(order->host[side], plane);
        const struct lab_heal_beat beat = {.magic = LAB_HEAL_MAGIC,
                                           .epoch = self->member.epoch,
                                           .host = self->host,
                                           .plane = plane,
                                           .token = self->job->token};
        // What is lost or refused is what heartbeats are for.
        ssize_t sent = sendto(self->beats[plane], &beat, sizeof beat, MSG_DONTWAIT | MSG_NOSIGNAL,
                              (const struct sockaddr *)&to, sizeof to);
        (void)sent;
    }
}

void lab_heal_hear_beats(struct lab_heal_playing *self, uint64_t now_ns)
{
    const struct lab_heal_order *order = &self->member.order;
    for (uint32_t p = 0; p < self->job->plane_count; p++) {
        struct lab_heal_beat beat;
        ssize_t got = 0;
        uint32_t left = BEATS_MOST;
        while (left-- > 0 &&
               ((got = recv(self->beats[p], &beat, sizeof beat, MSG_DONTWAIT | MSG_TRUNC)) >= 0 ||
                errno == ECONNREFUSED)) {
            bool fits = got == (ssize_t)sizeof beat && beat.magic == LAB_HEAL_MAGIC &&
                        beat.token == self->job->token && beat.plane == p;
            self->links.refused += got >= 0 && !fits;
            for (uint32_t side = 0; side < LAB_HEAL_SIDES && fits; side++) {
                if (order->host[side] == beat.host && order->plane[side] == p) {
                    lab_heal_pulse_beat(&self->pulses[side], now_ns);
                }
            }
        }
    }
}

void lab_heal_check_carriers(struct lab_heal_playing *self)
{
    _Alignas(struct nlmsghdr) char buffer[8192];
    const struct lab_heal_order *order = &self->member.order;
    ssize_t got = 0;
    while ((got = recv(self->watcher, buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
        const struct nlmsghdr *head = (const void *)buffer;
        int left = (int)got;
        for (; mnl_nlmsg_ok(head, left); head = mnl_nlmsg_next(head, &left)) {
            const struct ifinfomsg *link = mnl_nlmsg_get_payload(head);
            if (head->nlmsg_type != RTM_NEWLINK || (link->ifi_flags & IFF_UP) == 0 ||
                (link->ifi_flags & IFF_LOWER_UP) != 0) {
                continue;
            }
            for (uint32_t side = 0; side < LAB_HEAL_SIDES; side++) {
                if (weft_lab_port_index(order->plane[side]) == (uint32_t)link->ifi_index) {
                    lab_heal_doubt(self, side, LAB_HEAL_CARRIER);
                }
            }
        }
    }
}
