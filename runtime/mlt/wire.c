// SPDX-License-Identifier: Apache-2.0
// Batches of datagrams over UDP sockets.
//
// Each packet goes out from the next path's socket: its source port is what a switch hashes to
// choose among equal routes. A batch of up to 64 is built first and then goes out in one sendmmsg a
// path, so that spraying costs no call a packet. Codepoints of ECN are set packet by packet by
// control messages (IP_TOS), since both classes share all paths, and read by IP_RECVTOS.
//
// A socket's send buffer is short, so that what waits for the own port waits here, where STOPs can
// still make it needless, and not in a queue of the system that control would stand behind.

#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    BATCH = 64,
    // Of all paths together, as the system counts packets, with their bookkeeping: about 50 of
    // 1,100 bytes, 5 ms at 100 Mbit/s.
    SEND_BYTES = 128 << 10,
    SEND_BYTES_LEAST = 16 << 10,
    // What a rank that is not there yet, or has no processor, can be sent meanwhile.
    RECEIVE_BYTES = 4 << 20,
    ECT_0 = 2, // RFC 3168, section 5
    CE = 3,
    ECN = 3,
};

struct lab_mlt_wire {
    int inbox;
    uint32_t path_count;
    int *paths;
    uint32_t next_path; // of the next batch's first packet
    // The batch that goes out: packet i from path (first_path + i) % path_count.
    uint32_t first_path;
    uint32_t packet_count;
    uint64_t unsent;  // by packet
    uint32_t blocked; // the path that has no room; WEFT_NONE
    struct lab_mlt_packet packets[BATCH];
    // Received.
    size_t room_bytes; // of a datagram
    uint8_t *datagrams;
};
_Static_assert(BATCH <= 64, "a bit a packet");

struct control {
    _Alignas(struct cmsghdr) char bytes[CMSG_SPACE(sizeof(int))];
};

// ---- sockets ----

static int open_socket(uint32_t ip, uint32_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(ip == 0 ? INADDR_LOOPBACK : INADDR_ANY);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        const int number = errno;
        if (fd >= 0) {
            close(fd);
        }
        errno = number;
        return -1;
    }
    *port = ntohs(address.sin_port);
    return fd;
}

// As much as the system grants: beyond its limit only to root.
static void set_buffer(int fd, int option, int forced, int bytes)
{
    if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof bytes) != 0) {
        setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
    }
}

bool lab_mlt_wire_open(struct lab_mlt *mlt, uint32_t ip, uint32_t *port, struct weft_error *error)
{
    const int on = 1;
    const uint32_t paths = mlt->options.paths;
    struct lab_mlt_wire *wire = WEFT_NEW(&mlt->memory, struct lab_mlt_wire, 1);
    const size_t data_bytes =
        WEFT_MLT_DATA_HEAD_BYTES + (mlt->options.segment_floats + 1) * sizeof(float);
    const size_t control_bytes = sizeof wire->packets[0].head;
    // The system doubles what is asked for.
    int send_bytes =
        (SEND_BYTES / (int)paths > SEND_BYTES_LEAST ? SEND_BYTES / (int)paths : SEND_BYTES_LEAST) /
        2;
    wire->path_count = paths;
    wire->paths = WEFT_NEW(&mlt->memory, int, paths);
    wire->blocked = WEFT_NONE;
    wire->room_bytes = data_bytes > control_bytes ? data_bytes : control_bytes;
    wire->datagrams = WEFT_NEW(&mlt->memory, uint8_t, BATCH * wire->room_bytes);
    wire->inbox = open_socket(ip, port);
    memset(wire->paths, -1, paths * sizeof *wire->paths);
    mlt->wire = wire;
    bool fine = wire->inbox >= 0;
    for (uint32_t i = 0; fine && i < paths; i++) {
        uint32_t own_port;
        wire->paths[i] = open_socket(ip, &own_port);
        fine = wire->paths[i] >= 0;
    }
    if (!fine) {
        weft_fail(error, WEFT_IO, "rank %u: UDP: %s", mlt->rank, strerrordesc_np(errno));
        lab_mlt_wire_close(mlt);
        return false;
    }
    set_buffer(wire->inbox, SO_RCVBUF, SO_RCVBUFFORCE, RECEIVE_BYTES);
    setsockopt(wire->inbox, IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
    for (uint32_t i = 0; i < paths; i++) {
        setsockopt(wire->paths[i], SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
        // Nobody is told these ports. What comes all the same finds no room.
        set_buffer(wire->paths[i], SO_RCVBUF, SO_RCVBUF, 0);
    }
    return true;
}

void lab_mlt_wire_close(struct lab_mlt *mlt)
{
    struct lab_mlt_wire *wire = mlt->wire;
    for (uint32_t i = 0; wire != NULL && i < wire->path_count; i++) {
        if (wire->paths[i] >= 0) {
            close(wire->paths[i]);
        }
    }
    if (wire != NULL && wire->inbox >= 0) {
        close(wire->inbox);
    }
    mlt->wire = NULL;
}

// ---- in ----

static bool is_marked(struct msghdr *head)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(head); c != NULL; c = CMSG_NXTHDR(head, c)) {
        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            return (*CMSG_DATA(c) & ECN) == CE;
        }
    }
    return false;
}

bool lab_mlt_wire_receive(struct lab_mlt *mlt, uint64_t now_ps)
{
    struct lab_mlt_wire *wire = mlt->wire;
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    struct control controls[BATCH];
    memset(messages, 0, sizeof messages);
    for (uint32_t i = 0; i < BATCH; i++) {
        parts[i] = (struct iovec){wire->datagrams + i * wire->room_bytes, wire->room_bytes};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i],
                                              .msg_iovlen = 1,
                                              .msg_control = &controls[i],
                                              .msg_controllen = sizeof controls[i]};
    }
    const int count = recvmmsg(wire->inbox, messages, BATCH, MSG_DONTWAIT, NULL);
    mlt->counts.receives++;
    for (int i = 0; i < count; i++) {
        // Longer than any of ours: what is cut off cannot be read as another message.
        if (messages[i].msg_hdr.msg_flags & MSG_TRUNC) {
            mlt->counts.drops[WEFT_MLT_DROP_LENGTH]++;
            continue;
        }
        lab_mlt_take(mlt, parts[i].iov_base, messages[i].msg_len, is_marked(&messages[i].msg_hdr),
                     now_ps);
    }
    return count == BATCH;
}

// ---- out ----

static bool fill_batch(struct lab_mlt *mlt, uint64_t now_ps, struct weft_error *error)
{
    struct lab_mlt_wire *wire = mlt->wire;
    wire->packet_count = 0;
    wire->first_path = wire->next_path;
    error->code = WEFT_OK;
    while (wire->packet_count < BATCH &&
           lab_mlt_next(&wire->packets[wire->packet_count], mlt, now_ps, error)) {
        wire->packet_count++;
    }
    wire->unsent = wire->packet_count == BATCH ? UINT64_MAX : (1ull << wire->packet_count) - 1;
    wire->next_path = (wire->first_path + wire->packet_count) % wire->path_count;
    return error->code == WEFT_OK;
}

static void address(struct msghdr *head, struct control *control, struct iovec parts[2],
                    struct lab_mlt *mlt, struct lab_mlt_packet *packet)
{
    const int tos = packet->ecn_capable ? ECT_0 : 0;
    parts[0] = (struct iovec){packet->head, packet->head_bytes};
    parts[1] = (struct iovec){(void *)packet->data, packet->data_bytes};
    *head = (struct msghdr){.msg_name = &mlt->peers[packet->peer].address,
                            .msg_namelen = sizeof(struct sockaddr_in),
                            .msg_iov = parts,
                            .msg_iovlen = packet->data_bytes > 0 ? 2 : 1,
                            .msg_control = control,
                            .msg_controllen = sizeof *control};
    struct cmsghdr *c = CMSG_FIRSTHDR(head);
    *c = (struct cmsghdr){
        .cmsg_level = IPPROTO_IP, .cmsg_type = IP_TOS, .cmsg_len = CMSG_LEN(sizeof tos)};
    memcpy(CMSG_DATA(c), &tos, sizeof tos);
}

// Sends the packets of one path that are unsent; false: it has no room for some of them. Packets
// that the system refuses are as good as lost on the way.
static bool send_path(struct lab_mlt *mlt, uint32_t path)
{
    struct lab_mlt_wire *wire = mlt->wire;
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH][2];
    struct control controls[BATCH];
    uint32_t which[BATCH];
    uint32_t count = 0;
    memset(controls, 0, sizeof controls);
    const uint32_t first = (path + wire->path_count - wire->first_path) % wire->path_count;
    for (uint32_t i = first; i < wire->packet_count; i += wire->path_count) {
        if (wire->unsent >> i & 1) {
            address(&messages[count].msg_hdr, &controls[count], parts[count], mlt,
                    &wire->packets[i]);
            which[count++] = i;
        }
    }
    for (uint32_t done = 0; done < count;) {
        const int sent =
            sendmmsg(wire->paths[path], messages + done, count - done, MSG_DONTWAIT | MSG_NOSIGNAL);
        mlt->counts.sends++;
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return false;
        }
        for (int i = 0; i < (sent > 0 ? sent : 1); i++) {
            wire->unsent &= ~(1ull << which[done++]);
        }
    }
    return true;
}

bool lab_mlt_wire_send(struct lab_mlt *mlt, uint64_t now_ps, bool *more, struct weft_error *error)
{
    struct lab_mlt_wire *wire = mlt->wire;
    *more = false;
    if (wire->unsent == 0 && !fill_batch(mlt, now_ps, error)) {
        return false;
    }
    wire->blocked = WEFT_NONE;
    for (uint32_t path = 0; path < wire->path_count && wire->unsent != 0; path++) {
        if (!send_path(mlt, path)) {
            wire->blocked = path;
        }
    }
    *more = wire->unsent == 0 && wire->packet_count > 0;
    return true;
}

bool lab_mlt_wire_waits(const struct lab_mlt *mlt)
{
    return mlt->wire->unsent != 0;
}

bool lab_mlt_wire_wait(struct lab_mlt *mlt, int descriptor, uint64_t now_ps, uint64_t until_ps)
{
    const struct lab_mlt_wire *wire = mlt->wire;
    struct pollfd waits[3] = {{.fd = wire->inbox, .events = POLLIN},
                              {.fd = descriptor, .events = POLLIN},
                              {.fd = -1, .events = POLLOUT}};
    if (wire->unsent != 0) {
        waits[2].fd = wire->paths[wire->blocked];
    }
    const uint64_t left_ns = until_ps > now_ps ? (until_ps - now_ps) / 1000 + 1 : 0;
    const struct timespec time = {(time_t)(left_ns / 1000000000u), (long)(left_ns % 1000000000u)};
    mlt->counts.waits++;
    return ppoll(waits, 3, &time, NULL) > 0 && waits[1].revents != 0;
}
