// SPDX-License-Identifier: Apache-2.0
// Checks a lab by real packets along every path, as traceroute does.
//
// For each pair of servers UDP flows with increasing time to live are sent, which the kernel hashes
// over next hops as it does any flow. Every router on the path answers by ICMP, and its address has
// to be one of the next hops that are wired for the pair at that place. All pairs of a source are
// probed at once: time is about hops * round trips for each source.

#include "probe.h"
#include "testbed_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    FLOWS_MAX = 64,
    FIRST_PORT = 41000,
    TARGET_PORT = 33434, // nobody listens there: the target itself answers
    TRIES = 3,
    PATIENCE_MS = 300,
};

// One flow of a pair under way.
struct flow {
    uint32_t at; // the server that answered last
    uint32_t hops;
    bool ended; // arrived, lost or strayed
    bool answered;
};

struct probing {
    const struct weft_lab *lab;
    const struct weft_lab_wiring *wiring;
    struct weft_lab_report *report;
    uint32_t source;
    uint32_t flow_count; // of a pair
    int sockets[FLOWS_MAX];
    struct flow *flows; // server_count * flow_count
    bool *used;         // way_count
    bool *fine;         // server_count: targets of which all is well
    uint64_t hop_sum;
    uint64_t arrived;
};

// What a probe carries, so that its answer says which it was.
struct payload {
    uint32_t target;
    uint32_t hops;
};

// Counts a target as not fine, and remembers the first thing that went wrong.
static void note(struct probing *self, uint32_t target, const char *what, uint32_t server)
{
    struct weft_lab_report *report = self->report;
    self->fine[target] = false;
    if (report->first[0] == '\0') {
        uint32_t n = self->lab->server_count;
        snprintf(report->first, sizeof report->first, "server %u to %u: %s %s %u", self->source,
                 target, what, server < n ? "server" : "switch", server < n ? server : server - n);
    }
}

// The next hop from `node` to `next` for this pair; SIZE_MAX = none is wired.
static size_t find_hop(const struct probing *self, uint32_t node, uint32_t target, uint32_t next)
{
    const struct weft_pair_hops *all = &self->wiring->next_hops;
    const uint32_t wanted[4] = {node, self->source, target, next};
    size_t low = 0;
    size_t high = all->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct weft_pair_hop *hop = &all->hops[middle];
        const uint32_t found[4] = {hop->node, hop->source, hop->target, hop->next};
        int order = 0;
        for (int i = 0; i < 4 && order == 0; i++) {
            order = (found[i] > wanted[i]) - (found[i] < wanted[i]);
        }
        if (order == 0) {
            return middle;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return SIZE_MAX;
}

// Whether a flow may go from where it is to `next`; marks the next hop as used.
static bool take_step(struct probing *self, uint32_t target, struct flow *flow, uint32_t next)
{
    if (self->wiring->next_hops.count == 0) {
        return next == target; // one switch: everybody is one hop away
    }
    size_t hop = find_hop(self, flow->at, target, next);
    if (hop != SIZE_MAX) {
        self->used[hop] = true;
    }
    return hop != SIZE_MAX;
}

// Takes one ICMP answer to a probe: its sender is the next server of the flow's path. Time exceeded
// means one hop more; destination unreachable comes from the target, or from a server without a
// route.
static void take_answer(struct probing *self, uint32_t f, const struct payload *payload,
                        const struct sock_extended_err *failure)
{
    const struct weft_lab *lab = self->lab;
    const struct sockaddr_in *offender =
        (const struct sockaddr_in *)(const void *)SO_EE_OFFENDER(failure);
    uint32_t next = ntohl(offender->sin_addr.s_addr) - weft_lab_server_address(0);
    if (payload->target >= lab->server_count || payload->target == self->source) {
        return;
    }
    struct flow *flow = &self->flows[payload->target * self->flow_count + f];
    if (flow->ended || flow->answered || payload->hops != flow->hops + 1) {
        return; // a late answer to a probe that was repeated
    }
    flow->answered = true;
    if (next == flow->at && failure->ee_type == ICMP_DEST_UNREACH) {
        flow->ended = true;
        self->report->lost_count++;
        note(self, payload->target, "no way on from", next);
        return;
    }
    if (next >= lab->server_count + lab->switch_count ||
        !take_step(self, payload->target, flow, next)) {
        flow->ended = true;
        self->report->strayed_count++;
        note(self, payload->target, "strayed to", next);
        return;
    }
    flow->at = next;
    flow->hops++;
    if (failure->ee_type == ICMP_DEST_UNREACH && next == payload->target) {
        flow->ended = true;
        self->arrived++;
        self->hop_sum += flow->hops;
        self->report->max_hops =
            flow->hops > self->report->max_hops ? flow->hops : self->report->max_hops;
    }
}

// Reads the answers that one socket has.
static void read_answers(struct probing *self, uint32_t f)
{
    for (;;) {
        struct payload payload = {0};
        _Alignas(8) char control[512];
        struct sockaddr_in from;
        struct iovec part = {&payload, sizeof payload};
        struct msghdr message = {
            .msg_name = &from,
            .msg_namelen = sizeof from,
            .msg_iov = &part,
            .msg_iovlen = 1,
            .msg_control = control,
            .msg_controllen = sizeof control,
        };
        ssize_t got = recvmsg(self->sockets[f], &message, MSG_ERRQUEUE | MSG_DONTWAIT);
        if (got < 0) {
            return;
        }
        for (struct cmsghdr *part_of = CMSG_FIRSTHDR(&message); part_of != NULL;
             part_of = CMSG_NXTHDR(&message, part_of)) {
            struct sock_extended_err failure;
            if (part_of->cmsg_level == IPPROTO_IP && part_of->cmsg_type == IP_RECVERR &&
                got == (ssize_t)sizeof payload) {
                memcpy(&failure, CMSG_DATA(part_of), sizeof failure);
                if (failure.ee_origin == SO_EE_ORIGIN_ICMP) {
                    take_answer(self, f, &payload, (const void *)CMSG_DATA(part_of));
                }
            }
        }
    }
}

// Waits until all flows that were asked have answered, or patience ends. Returns how many have not.
static uint32_t wait_answers(struct probing *self)
{
    double end_s = weft_lab_clock_s() + 1e-3 * PATIENCE_MS;
    for (;;) {
        struct pollfd wanted[FLOWS_MAX];
        uint32_t silent = 0;
        for (uint32_t f = 0; f < self->flow_count; f++) {
            read_answers(self, f);
            wanted[f] = (struct pollfd){.fd = self->sockets[f]};
        }
        for (uint32_t i = 0; i < self->lab->server_count * self->flow_count; i++) {
            silent += !self->flows[i].ended && !self->flows[i].answered;
        }
        if (silent == 0 || weft_lab_clock_s() > end_s) {
            return silent;
        }
        poll(wanted, self->flow_count, 10);
    }
}

// Sends a probe of one hop more for every flow that is under way and silent.
static bool ask(struct probing *self, uint32_t hops, struct weft_error *error)
{
    int to_live = (int)hops;
    for (uint32_t f = 0; f < self->flow_count; f++) {
        if (setsockopt(self->sockets[f], IPPROTO_IP, IP_TTL, &to_live, sizeof to_live) != 0) {
            return weft_fail(error, WEFT_IO, "probe: %s", strerrordesc_np(errno));
        }
        for (uint32_t t = 0; t < self->lab->server_count; t++) {
            const struct flow *flow = &self->flows[t * self->flow_count + f];
            const struct payload payload = {t, hops};
            const struct sockaddr_in to = {
                .sin_family = AF_INET,
                .sin_port = htons(TARGET_PORT),
                .sin_addr.s_addr = htonl(weft_lab_server_address(t)),
            };
            if (flow->ended || flow->answered) {
                continue;
            }
            // An answer to an earlier probe may be told here instead; then it is sent again.
            for (int i = 0; i < 64; i++) {
                if (sendto(self->sockets[f], &payload, sizeof payload, 0,
                           (const struct sockaddr *)&to, sizeof to) >= 0) {
                    break;
                }
            }
        }
    }
    return true;
}

static void give_up(struct probing *self)
{
    for (uint32_t t = 0; t < self->lab->server_count; t++) {
        for (uint32_t f = 0; f < self->flow_count; f++) {
            struct flow *flow = &self->flows[t * self->flow_count + f];
            if (!flow->ended && !flow->answered) {
                flow->ended = true;
                self->report->lost_count++;
                note(self, t, "nothing comes back from behind", flow->at);
            }
        }
    }
}

static bool open_sockets(struct probing *self, struct weft_error *error)
{
    char netns[WEFT_NETNS_NAME_MAX];
    int on = 1;
    int room = 4 << 20;
    weft_lab_server_netns(netns, self->lab->name, self->source);
    for (uint32_t f = 0; f < self->flow_count; f++) {
        const struct sockaddr_in own = {
            .sin_family = AF_INET,
            .sin_port = htons((uint16_t)(FIRST_PORT + f)),
            .sin_addr.s_addr = htonl(weft_lab_server_address(self->source)),
        };
        int *fd = &self->sockets[f];
        if (!weft_netns_socket(fd, netns, AF_INET, SOCK_DGRAM, 0, error)) {
            return false;
        }
        // Beyond the machine's limit only root of the machine goes.
        bool roomy = setsockopt(*fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) == 0 ||
                     setsockopt(*fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room) == 0;
        if (!roomy || bind(*fd, (const struct sockaddr *)&own, sizeof own) != 0 ||
            setsockopt(*fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on) != 0) {
            return weft_fail(error, WEFT_IO, "%s: port %u: %s", netns, FIRST_PORT + f,
                             strerrordesc_np(errno));
        }
    }
    return true;
}

// All flows of one source, a hop more each round.
static bool probe_source(struct probing *self, struct weft_error *error)
{
    uint32_t n = self->lab->server_count;
    uint32_t total = n * self->flow_count;
    for (uint32_t i = 0; i < total; i++) {
        uint32_t target = i / self->flow_count;
        self->flows[i] = (struct flow){.at = self->source, .ended = target == self->source};
        self->fine[target] = true;
    }
    for (uint32_t hops = 1; hops <= n + self->lab->switch_count; hops++) {
        uint32_t under_way = 0;
        for (uint32_t i = 0; i < total; i++) {
            self->flows[i].answered = false;
            under_way += !self->flows[i].ended;
        }
        if (under_way == 0) {
            break;
        }
        for (int i = 0; i < TRIES; i++) {
            if (!ask(self, hops, error)) {
                return false;
            }
            if (wait_answers(self) == 0) {
                break;
            }
        }
        give_up(self);
    }
    for (uint32_t t = 0; t < n; t++) {
        self->report->pair_count += t != self->source;
        self->report->reached_count += t != self->source && self->fine[t];
    }
    return true;
}

bool weft_lab_probe(struct weft_lab_report *report, const struct weft_lab *lab,
                    const struct weft_lab_wiring *wiring, uint32_t flows_per_pair,
                    struct weft_arena scratch, struct weft_error *error)
{
    WEFT_ASSERT(flows_per_pair >= 1 && flows_per_pair <= FLOWS_MAX);
    WEFT_ASSERT(wiring->server_count == lab->server_count);
    uint32_t n = lab->server_count;
    struct weft_lab_report made = {.way_count = wiring->next_hops.count};
    struct probing self = {
        .lab = lab,
        .wiring = wiring,
        .report = &made,
        .flow_count = flows_per_pair,
        .flows = WEFT_NEW(&scratch, struct flow, (size_t)n * flows_per_pair),
        .used = WEFT_NEW(&scratch, bool, wiring->next_hops.count),
        .fine = WEFT_NEW(&scratch, bool, n),
    };
    bool fine = true;
    for (self.source = 0; self.source < n && fine; self.source++) {
        memset(self.sockets, -1, sizeof self.sockets);
        fine = open_sockets(&self, error) && probe_source(&self, error);
        for (uint32_t f = 0; f < flows_per_pair; f++) {
            if (self.sockets[f] >= 0) {
                close(self.sockets[f]);
            }
        }
    }
    for (size_t i = 0; i < wiring->next_hops.count; i++) {
        made.used_count += self.used[i];
    }
    made.flow_count = (uint64_t)n * (n - 1) * flows_per_pair;
    made.mean_hops = self.arrived > 0 ? (double)self.hop_sum / (double)self.arrived : 0;
    *report = made;
    return fine;
}
