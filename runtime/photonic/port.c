// SPDX-License-Identifier: Apache-2.0
// AF_PACKET with a ring of one slot a frame (TPACKET_V2): the kernel writes a frame into shared
// memory as it comes, and no system call is made while there are more. Blocks of the third version
// would be handed over by a timer of a millisecond at least, which a request should not wait for.
//
// A classic filter lets the socket see UDP to the port alone. The kernel's own stack sees those
// datagrams as well and would answer that the port is unreachable; a bound socket whose filter
// keeps nothing takes them and drops them. (The XDP program could redirect frames to AF_XDP
// instead; the copy would be saved, but not every kernel has it, and without the program the
// interface could not work at all.)

#include "port.h"

#include "runtime/netlink/message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RING_BYTES = 2 << 20, BLOCK_BYTES = 1 << 16 };

static uint64_t time_of_day_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// UDP over IPv4, of no later fragment, to the port.
static bool filter_port(int fd, uint16_t port)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 8),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 6),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1FFF, 4, 0),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 16),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0x40000),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

// A socket that takes what comes to the port and keeps nothing of it.
static int open_silent(const struct weft_nic_place *place)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    const struct sock_fprog program = {1, code};
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(place->port), .sin_addr = {htonl(place->address)}};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0 &&
        bind(fd, (const struct sockaddr *)&address, sizeof address) == 0) {
        return fd;
    }
    const int number = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = number;
    return -1;
}

// The ring, before the socket is bound: frames come with what the filter wants alone.
static bool open_ring(struct weft_nic_port *port)
{
    const int version = TPACKET_V2;
    const int one = 1;
    const struct tpacket_req request = {
        .tp_block_size = BLOCK_BYTES,
        .tp_block_nr = RING_BYTES / BLOCK_BYTES,
        .tp_frame_size = port->frame_bytes,
        .tp_frame_nr = port->frame_count,
    };
    if (!filter_port(port->fd, port->place.port) ||
        setsockopt(port->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        setsockopt(port->fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0) {
        return false;
    }
    // Both only save work, and older kernels lack the first.
    (void)setsockopt(port->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one);
    (void)setsockopt(port->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof one);
    port->ring = mmap(NULL, port->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, port->fd, 0);
    return port->ring != MAP_FAILED;
}

static bool bind_to(struct weft_nic_port *port, uint32_t index)
{
    const struct sockaddr_ll all = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = (int)index};
    struct ifreq interface = {.ifr_ifindex = (int)index};
    if (bind(port->fd, (const struct sockaddr *)&all, sizeof all) != 0 ||
        ioctl(port->fd, SIOCGIFNAME, &interface) != 0 ||
        ioctl(port->fd, SIOCGIFHWADDR, &interface) != 0) {
        return false;
    }
    memcpy(port->place.mac, interface.ifr_hwaddr.sa_data, sizeof port->place.mac);
    return true;
}

bool weft_nic_port_open(struct weft_nic_port *port, uint32_t index,
                        const struct weft_nic_place *place, uint32_t mtu_bytes,
                        struct weft_arena *arena, struct weft_error *error)
{
    // Frames are a power of two, at most a block: the kernel's header and that of Ethernet before.
    uint32_t frame_bytes = 2048;
    while (frame_bytes < mtu_bytes + 256) {
        frame_bytes *= 2;
    }
    WEFT_ASSERT(frame_bytes <= BLOCK_BYTES);
    *port = (struct weft_nic_port){
        .fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
        .silent_fd = -1,
        .place = *place,
        .ring = MAP_FAILED,
        .ring_bytes = RING_BYTES,
        .frame_bytes = frame_bytes,
        .frame_count = RING_BYTES / frame_bytes,
        .slot_bytes = ETH_HLEN + (size_t)mtu_bytes,
    };
    port->slots = WEFT_NEW(arena, uint8_t, port->slot_bytes * WEFT_NIC_BATCH);
    for (uint32_t i = 0; i < WEFT_NIC_BATCH; i++) {
        port->pieces[i].iov_base = port->slots + port->slot_bytes * i;
        port->messages[i].msg_hdr.msg_iov = &port->pieces[i];
        port->messages[i].msg_hdr.msg_iovlen = 1;
    }
    if (port->fd >= 0 && open_ring(port) && bind_to(port, index) &&
        (port->silent_fd = open_silent(place)) >= 0) {
        return true;
    }
    weft_netlink_refused(error, errno, NULL, NULL, "the socket of the port");
    weft_nic_port_close(port);
    return false;
}

void weft_nic_port_close(struct weft_nic_port *port)
{
    if (port->ring != MAP_FAILED) {
        munmap(port->ring, port->ring_bytes);
    }
    if (port->silent_fd >= 0) {
        close(port->silent_fd);
    }
    if (port->fd >= 0) {
        close(port->fd);
    }
    *port = (struct weft_nic_port){.fd = -1, .silent_fd = -1, .ring = MAP_FAILED};
}

// ---- receiving ----

// Frames of a block stand beside each other, since a block is a multiple of a frame.
static struct tpacket2_hdr *slot_of(const struct weft_nic_port *port)
{
    return (struct tpacket2_hdr *)(void *)(port->ring + (size_t)port->at * port->frame_bytes);
}

bool weft_nic_port_next(struct weft_nic_frame *frame, struct weft_nic_port *port)
{
    const struct tpacket2_hdr *header = slot_of(port);
    const uint32_t status = __atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE);
    if ((status & TP_STATUS_USER) == 0) {
        return false;
    }
    *frame = (struct weft_nic_frame){
        .bytes = (const uint8_t *)header + header->tp_mac,
        .size = header->tp_snaplen,
        .received_ns = (uint64_t)header->tp_sec * 1000000000 + header->tp_nsec,
        .is_cut = header->tp_snaplen < header->tp_len,
        .verify = (status & TP_STATUS_CSUMNOTREADY) == 0,
    };
    return true;
}

void weft_nic_port_release(struct weft_nic_port *port)
{
    __atomic_store_n(&slot_of(port)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    port->at = (port->at + 1) % port->frame_count;
}

uint32_t weft_nic_port_overrun(struct weft_nic_port *port)
{
    struct tpacket_stats stats = {0};
    socklen_t size = sizeof stats;
    return getsockopt(port->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0 ? stats.tp_drops
                                                                                   : 0;
}

// ---- sending ----

uint8_t *weft_nic_port_slot(struct weft_nic_port *port)
{
    WEFT_ASSERT(port->waiting < WEFT_NIC_BATCH);
    return port->slots + port->slot_bytes * port->waiting;
}

void weft_nic_port_commit(struct weft_nic_port *port, size_t bytes, uint64_t received_ns)
{
    WEFT_ASSERT(bytes <= port->slot_bytes);
    port->pieces[port->waiting].iov_len = bytes;
    port->received_ns[port->waiting++] = received_ns;
}

uint32_t weft_nic_port_flush(struct weft_nic_port *port, struct weft_nic_histogram *latency)
{
    uint32_t sent = 0;
    uint32_t unsent = 0;
    while (sent + unsent < port->waiting) {
        const uint32_t from = sent + unsent;
        const int got =
            sendmmsg(port->fd, port->messages + from, port->waiting - from, MSG_DONTWAIT);
        if (got > 0) {
            const uint64_t now_ns = time_of_day_ns();
            for (uint32_t i = from; i < from + (uint32_t)got; i++) {
                const uint64_t then_ns = port->received_ns[i];
                weft_nic_histogram_add(latency, now_ns > then_ns ? now_ns - then_ns : 0);
            }
            sent += (uint32_t)got;
        } else if (errno != EINTR) {
            unsent++; // the queue is full or the far end gone: the client asks again
        }
    }
    port->waiting = 0;
    return unsent;
}
