// SPDX-License-Identifier: Apache-2.0
// Hosts that send while workers train: a process each, in its server's namespace, by a coordinator
// of their own.
//
// When a burst begins follows from the seed alone, so that all hosts know it without a word, and
// workers under any transport meet the same bursts. A burst is as many datagrams as it takes, given
// to the socket as fast as the host's own port takes them; a process in the worker's server takes
// them out again and counts. Long flows are TCP connections that always have something to send.

#include "trouble.h"

#include "runtime/process/connections.h"
#include "runtime/testbed/fault.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const char *const lab_train_trouble_names[LAB_TRAIN_TROUBLES + 1] = {
    "none", "incast", "gray", "cross", NULL,
};

// Of all transports of workers the same: the one that every kernel has.
#define CONGESTION "reno"
// UDP's discard port, where the sink listens.
#define PORT 9
// Below the least MTU that a lab may have, with headers.
#define DATAGRAM_BYTES_MAX 1400u
#define DATAGRAM_HEADERS 28u
// A host's socket holds fewer datagrams than the queue of its own port (64 packets), which would
// drop what is beyond that.
#define SEND_BUFFER_BYTES (32 << 10)
#define CHUNK_BYTES (64u << 10)

struct host {
    const struct lab_train_trouble *trouble;
    struct lab_peer *self;
    struct lab_connections connections;
    struct lab_train_trouble_result counts;
    uint8_t bytes[CHUNK_BYTES];
};

static bool failed(const struct host *host, const char *what, struct weft_error *error)
{
    return weft_fail(error, WEFT_IO, "host %u: %s: %s", host->self->rank, what,
                     strerrordesc_np(errno));
}

// Whether the coordinator has said something, waiting for that until `end_ns` at most.
static bool is_asked(const struct lab_peer *self, uint64_t end_ns)
{
    uint64_t now_ns = lab_now_ns();
    uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
    const struct timespec patience = {(time_t)(left_ns / 1000000000u),
                                      (long)(left_ns % 1000000000u)};
    struct pollfd wait = {.fd = self->control, .events = POLLIN};
    return ppoll(&wait, 1, &patience, NULL) > 0;
}

// ---- bursts ----

static bool open_datagrams(int *descriptor, const struct host *host, uint32_t server, uint16_t port,
                           struct weft_error *error)
{
    const struct sockaddr_in own = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(weft_lab_server_address(server)),
    };
    int room = SEND_BUFFER_BYTES;
    int made = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_SNDBUF, &room, sizeof room) != 0 ||
        bind(made, (const struct sockaddr *)&own, sizeof own) != 0) {
        failed(host, "a socket for bursts", error);
        if (made >= 0) {
            close(made);
        }
        return false;
    }
    *descriptor = made;
    return true;
}

static bool send_burst(struct host *host, int descriptor, uint32_t datagram_bytes,
                       struct weft_error *error)
{
    for (uint32_t left = host->trouble->options.burst_bytes; left > 0;) {
        uint32_t size = left < datagram_bytes ? left : datagram_bytes;
        ssize_t sent = send(descriptor, host->bytes, size, 0);
        if (sent < 0 && errno != EINTR && errno != ENOBUFS && errno != ECONNREFUSED) {
            return failed(host, "a burst", error);
        }
        left -= sent < 0 ? 0 : size;
        host->counts.sent_bytes += sent < 0 ? 0 : size;
    }
    host->counts.bursts++;
    return true;
}

static bool send_bursts(struct host *host, struct weft_error *error)
{
    const struct lab_train_trouble *trouble = host->trouble;
    const struct lab_train_network *network = trouble->network;
    const struct sockaddr_in target = {
        .sin_family = AF_INET,
        .sin_port = htons(PORT),
        .sin_addr.s_addr = htonl(weft_lab_server_address(network->workers[trouble->target])),
    };
    uint32_t room = trouble->lab->mtu_bytes - DATAGRAM_HEADERS;
    uint32_t datagram_bytes = room < DATAGRAM_BYTES_MAX ? room : DATAGRAM_BYTES_MAX;
    struct weft_rng rng = weft_rng_stream(trouble->options.seed, 1);
    int descriptor = -1;
    if (!open_datagrams(&descriptor, host, network->hosts[host->self->rank], 0, error)) {
        return false;
    }
    bool fine = connect(descriptor, (const struct sockaddr *)&target, sizeof target) == 0 ||
                failed(host, "connect", error);
    double at_ns = (double)trouble->begun_ns;
    while (fine) {
        at_ns += weft_rng_exponential(&rng, (double)trouble->options.pause_ns);
        if (is_asked(host->self, (uint64_t)at_ns)) {
            break;
        }
        fine = send_burst(host, descriptor, datagram_bytes, error);
    }
    close(descriptor);
    return fine;
}

// The process in the worker's server, behind the last host.
static bool take_bursts(struct host *host, struct weft_error *error)
{
    const struct lab_train_trouble *trouble = host->trouble;
    uint32_t server = trouble->network->workers[trouble->target];
    int descriptor = -1;
    if (!open_datagrams(&descriptor, host, server, PORT, error)) {
        return false;
    }
    struct pollfd waits[] = {{.fd = host->self->control, .events = POLLIN},
                             {.fd = descriptor, .events = POLLIN}};
    while (poll(waits, 2, -1) < 0 || waits[0].revents == 0) {
        ssize_t got = recv(descriptor, host->bytes, sizeof host->bytes, MSG_DONTWAIT);
        host->counts.received_bytes += got > 0 ? (uint64_t)got : 0;
    }
    close(descriptor);
    return true;
}

// ---- long flows ----

static bool move_bytes(struct host *host, int socket, bool sends, struct weft_error *error)
{
    ssize_t moved = sends ? send(socket, host->bytes, sizeof host->bytes, MSG_NOSIGNAL)
                          : recv(socket, host->bytes, sizeof host->bytes, 0);
    if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR)) {
        errno = moved == 0 ? ECONNRESET : errno;
        return failed(host, "a long flow", error);
    }
    uint64_t *count = sends ? &host->counts.sent_bytes : &host->counts.received_bytes;
    *count += moved > 0 ? (uint64_t)moved : 0;
    return true;
}

static bool send_flows(struct host *host, struct weft_error *error)
{
    const struct lab_connections *connections = &host->connections;
    uint32_t count = connections->stream_count;
    struct pollfd *waits = lab_zeroed(count + 1, sizeof *waits);
    waits[count] = (struct pollfd){.fd = host->self->control, .events = POLLIN};
    for (uint32_t i = 0; i < count; i++) {
        bool sends = connections->streams[i].from == host->self->rank;
        waits[i] = (struct pollfd){.fd = connections->sockets[i],
                                   .events = (short)(sends ? POLLOUT : POLLIN)};
    }
    bool fine = true;
    while (fine && (poll(waits, count + 1, -1) < 0 || waits[count].revents == 0)) {
        for (uint32_t i = 0; i < count && fine; i++) {
            fine = waits[i].fd < 0 || waits[i].revents == 0 ||
                   move_bytes(host, waits[i].fd, waits[i].events == POLLOUT, error);
        }
    }
    free(waits);
    return fine;
}

// ---- a host ----

static int live(struct lab_peer *self, void *context)
{
    const struct lab_train_trouble *trouble = context;
    const struct lab_train_network *network = trouble->network;
    bool is_sink = self->rank == network->host_count;
    uint32_t server = is_sink ? network->workers[trouble->target] : network->hosts[self->rank];
    struct host *host = lab_zeroed(1, sizeof *host);
    struct weft_error error = {.code = WEFT_OK};
    char netns[WEFT_NETNS_NAME_MAX];
    const struct lab_connection_options options = {
        .congestion = CONGESTION,
        .own_ip = weft_lab_server_address(server),
    };
    bool flows = trouble->options.kind == LAB_TRAIN_CROSS;
    uint32_t streams = flows ? network->host_count * trouble->options.flows : 0;
    host->trouble = trouble;
    host->self = self;
    bool fine =
        lab_peer_enter(weft_lab_server_netns(netns, trouble->lab->name, server), &error) &&
        lab_connections_open(&host->connections, self, trouble->streams, streams, &options,
                             &error) &&
        lab_peer_receive(self, LAB_MESSAGE_GO, NULL, 0, &error) &&
        (flows     ? send_flows(host, &error)
         : is_sink ? take_bursts(host, &error)
                   : send_bursts(host, &error)) &&
        // Asked for what it counted; then the connections stay until all have told.
        lab_peer_receive(self, LAB_MESSAGE_GO, NULL, 0, &error) &&
        lab_peer_send(self, LAB_MESSAGE_RESULT, &host->counts, sizeof host->counts, &error) &&
        lab_peer_receive(self, LAB_MESSAGE_GO, NULL, 0, &error);
    if (!fine && error.code != WEFT_OK) {
        lab_peer_fail(self, &error);
    }
    return (int)error.code;
}

// ---- a link that loses packets ----

// At both ends, of what comes to each.
static bool lose(const struct lab_train_trouble *trouble, struct weft_error *error)
{
    const struct weft_lab_cable *gray = &trouble->network->gray;
    double loss = trouble->options.loss;
    return weft_lab_lose(trouble->lab, gray->nodes[0], gray->ports[0], loss, error) &&
           weft_lab_lose(trouble->lab, gray->nodes[1], gray->ports[1], loss, error);
}

static bool count_losses(struct lab_train_trouble_result *sum,
                         const struct lab_train_trouble *trouble, struct weft_error *error)
{
    const struct weft_lab_cable *gray = &trouble->network->gray;
    return trouble->options.kind != LAB_TRAIN_GRAY ||
           (weft_lab_losses(&sum->ends[0], trouble->lab, gray->nodes[0], gray->ports[0], error) &&
            weft_lab_losses(&sum->ends[1], trouble->lab, gray->nodes[1], gray->ports[1], error));
}

// ---- all of it ----

bool lab_train_trouble_begin(struct lab_train_trouble *trouble,
                             const struct lab_train_trouble_options *options,
                             const struct lab_train_network *network, const struct weft_lab *lab,
                             struct weft_arena *arena, struct weft_error *error)
{
    struct weft_rng rng = weft_rng_stream(options->seed, 0);
    *trouble = (struct lab_train_trouble){
        .options = *options,
        .network = network,
        .lab = lab,
        .target = weft_rng_below(&rng, network->worker_count),
    };
    bool is_incast = options->kind == LAB_TRAIN_INCAST;
    if (!is_incast && options->kind != LAB_TRAIN_CROSS) {
        return options->kind != LAB_TRAIN_GRAY || lose(trouble, error);
    }
    uint32_t hosts = network->host_count, flows = options->flows;
    trouble->streams = WEFT_NEW(arena, struct lab_stream, (size_t)hosts * flows + 1);
    for (uint32_t i = 0; i < hosts * flows; i++) {
        trouble->streams[i] = (struct lab_stream){.from = i / flows, .to = (i / flows + 1) % hosts};
    }
    trouble->begun_ns = lab_now_ns();
    const struct lab_peers peers = {hosts + is_incast, 10000, live, trouble};
    return (lab_coordinator_fork(&trouble->hosts, &peers, error) &&
            lab_connections_introduce(&trouble->hosts, error) &&
            lab_coordinator_send(&trouble->hosts, LAB_MESSAGE_GO, NULL, 0, error)) ||
           weft_wrap(error, "trouble");
}

bool lab_train_trouble_end(struct lab_train_trouble_result *result,
                           struct lab_train_trouble *trouble, struct weft_arena scratch,
                           struct weft_error *error)
{
    struct lab_coordinator *hosts = &trouble->hosts;
    struct lab_train_trouble_result sum = {0};
    struct lab_train_trouble_result *each =
        WEFT_NEW(&scratch, struct lab_train_trouble_result, hosts->count + 1);
    if (hosts->peers != NULL &&
        (!lab_coordinator_send(hosts, LAB_MESSAGE_GO, NULL, 0, error) ||
         !lab_coordinator_gather(hosts, LAB_MESSAGE_RESULT, each, sizeof *each, error))) {
        return weft_wrap(error, "trouble");
    }
    sum.seconds = hosts->count > 0 ? 1e-9 * (double)(lab_now_ns() - trouble->begun_ns) : 0;
    for (uint32_t i = 0; i < hosts->count; i++) {
        sum.bursts += each[i].bursts;
        sum.sent_bytes += each[i].sent_bytes;
        sum.received_bytes += each[i].received_bytes;
    }
    if (!count_losses(&sum, trouble, error)) {
        return false;
    }
    *result = sum;
    return true;
}

void lab_train_trouble_close(struct lab_train_trouble *trouble)
{
    if (trouble->hosts.peers != NULL) {
        lab_coordinator_close(&trouble->hosts);
    }
}
