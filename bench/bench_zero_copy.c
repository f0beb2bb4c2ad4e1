// SPDX-License-Identifier: Apache-2.0
// Ways to send memory over the lab's veth pairs: bench_zero_copy [MEGABYTES [MTU]], as root.
// Prints the table of docs/lab-run.md: processor time a GB of sender and receiver, and what the
// kernel says of MSG_ZEROCOPY. Two namespaces of its own, taken away at the end.

#include "runtime/netlink/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum way { PLAIN, ZERO_COPY, SPLICE, WAY_COUNT };
static const char *const way_names[WAY_COUNT] = {"send", "MSG_ZEROCOPY", "vmsplice and splice"};
enum { SEGMENT = 256 << 10, PORT = 4000 };
#define FIRST_ADDRESS 0x0afe0001u

// Of MSG_ZEROCOPY: sends that were done without copying, and those copied all the same.
struct told {
    uint64_t without;
    uint64_t copied;
};

static void require(bool fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "bench_zero_copy: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static void require_lab(bool fine, const struct weft_error *error)
{
    if (!fine) {
        fprintf(stderr, "bench_zero_copy: %s\n", error->message);
        exit(1);
    }
}

static struct sockaddr_in address_of(uint32_t end)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    address.sin_addr.s_addr = htonl(FIRST_ADDRESS + end);
    return address;
}

// ---- the ways ----

static void hear_notices(struct told *told, uint64_t *pending, int socket)
{
    char control[256];
    struct msghdr message = {.msg_control = control, .msg_controllen = sizeof control};
    while (*pending > 0 && recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
        struct sock_extended_err notice;
        memcpy(&notice, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof notice);
        uint64_t count = notice.ee_data - notice.ee_info + 1;
        *((notice.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0 ? &told->copied : &told->without) +=
            count;
        *pending -= count;
        message.msg_controllen = sizeof control;
    }
}

static void send_some(struct told *told, int socket, const char *memory, size_t bytes, bool zero)
{
    uint64_t pending = 0;
    for (size_t at = 0; at < bytes;) {
        ssize_t sent = send(socket, memory + at % SEGMENT, SEGMENT - at % SEGMENT,
                            MSG_NOSIGNAL | (zero ? MSG_ZEROCOPY : 0));
        require(sent > 0 || errno == ENOBUFS, "send");
        if (sent > 0) {
            at += (size_t)sent;
            pending += zero;
        }
        // The memory may be written again only when the kernel has told that it is done.
        struct pollfd wait = {.fd = socket};
        while (zero && (pending > 16 || (at >= bytes && pending > 0))) {
            poll(&wait, 1, 100);
            hear_notices(told, &pending, socket);
        }
    }
}

static void splice_some(int socket, const char *memory, size_t bytes)
{
    int ends[2];
    require(pipe(ends) == 0, "pipe");
    fcntl(ends[1], F_SETPIPE_SZ, SEGMENT);
    for (size_t at = 0; at < bytes; at += SEGMENT) {
        struct iovec part = {(void *)(uintptr_t)memory, SEGMENT};
        while (part.iov_len > 0) {
            ssize_t in = vmsplice(ends[1], &part, 1, 0);
            require(in > 0, "vmsplice");
            part.iov_base = (char *)part.iov_base + in;
            part.iov_len -= (size_t)in;
            while (in > 0) {
                ssize_t out = splice(ends[0], NULL, socket, NULL, (size_t)in, SPLICE_F_MORE);
                require(out > 0, "splice");
                in -= out;
            }
        }
    }
}

static void be_sender(const char *netns, enum way way, size_t bytes, int tell_fd)
{
    struct weft_error error;
    struct told told = {0};
    int on = 1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    require_lab(weft_netns_enter(netns, &error), &error);
    char *memory = mmap(NULL, SEGMENT, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    require(memory != MAP_FAILED, "mmap");
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = address_of(1);
    require(setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) == 0, "SO_ZEROCOPY");
    for (int tries = 0; connect(fd, (struct sockaddr *)&to, sizeof to) != 0; tries++) {
        require(tries < 200, "connect");
        usleep(10000);
    }
    if (way == SPLICE) {
        splice_some(fd, memory, bytes);
    } else {
        send_some(&told, fd, memory, bytes, way == ZERO_COPY);
    }
    require(write(tell_fd, &told, sizeof told) == sizeof told, "pipe");
    exit(0);
}

static void be_receiver(const char *netns)
{
    struct weft_error error;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    require_lab(weft_netns_enter(netns, &error), &error);
    char *memory = malloc(SEGMENT);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = address_of(1);
    require(memory != NULL && bind(fd, (struct sockaddr *)&at, sizeof at) == 0, "bind");
    require(listen(fd, 1) == 0, "listen");
    int peer = accept(fd, NULL, NULL);
    while (recv(peer, memory, SEGMENT, 0) > 0) {
    }
    exit(0);
}

// ---- the table ----

static double wait_cpu_s(pid_t pid)
{
    struct rusage usage;
    int status = 0;
    require(wait4(pid, &status, 0, &usage) == pid && status == 0, "a process failed");
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void measure(char names[2][WEFT_NETNS_NAME_MAX], bool offloads, enum way way, size_t bytes)
{
    int tell[2];
    struct told told;
    fflush(stdout);
    require(pipe2(tell, O_CLOEXEC) == 0, "pipe");
    pid_t receiver = fork();
    if (receiver == 0) {
        be_receiver(names[1]);
    }
    pid_t sender = fork();
    if (sender == 0) {
        be_sender(names[0], way, bytes, tell[1]);
    }
    double gigabytes = 1e-9 * (double)bytes;
    double sender_s = wait_cpu_s(sender) / gigabytes;
    double receiver_s = wait_cpu_s(receiver) / gigabytes;
    require(read(tell[0], &told, sizeof told) == sizeof told, "pipe");
    close(tell[0]);
    close(tell[1]);
    printf("| %s | %s | %.2f s | %.2f s | %.2f s |", offloads ? "on" : "off", way_names[way],
           sender_s, receiver_s, sender_s + receiver_s);
    if (way == ZERO_COPY) {
        printf(" %.0f %% |\n", 100 * (double)told.copied / (double)(told.copied + told.without));
    } else {
        printf(" |\n");
    }
}

static void raise_pair(char names[2][WEFT_NETNS_NAME_MAX], uint32_t mtu_bytes)
{
    struct weft_error error;
    struct weft_netlink ends[2];
    const struct weft_veth_end near = {.name = "a", .netns = NULL, .index = 7};
    const struct weft_veth_end far = {.name = "b", .netns = names[1], .index = 7};
    for (uint32_t i = 0; i < 2; i++) {
        require_lab(weft_netns_create(names[i], &error), &error);
        require_lab(weft_netlink_open(&ends[i], names[i], &error), &error);
    }
    require_lab(weft_link_veth(&ends[0], &near, &far, mtu_bytes, &error), &error);
    for (uint32_t i = 0; i < 2; i++) {
        require_lab(weft_address_add(&ends[i], 7, FIRST_ADDRESS + i, 24, &error) &&
                        weft_link_set_up(&ends[i], 7, true, &error),
                    &error);
    }
    for (uint32_t i = 0; i < 2; i++) {
        require_lab(weft_link_await(&ends[i], 7, &error), &error);
        weft_netlink_close(&ends[i]);
    }
}

static char names[2][WEFT_NETNS_NAME_MAX];
static pid_t owner;

static void take_away(void)
{
    struct weft_error ignored;
    for (uint32_t i = 0; i < 2 && getpid() == owner; i++) {
        if (!weft_netns_delete(names[i], &ignored)) {
            fprintf(stderr, "bench_zero_copy: %s\n", ignored.message);
        }
    }
}

int main(int argc, char **argv)
{
    size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 512) << 20;
    uint32_t mtu_bytes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 9000;
    owner = getpid();
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(names[i], sizeof names[i], "weft-bench%d-s%u", owner, i);
    }
    atexit(take_away);
    raise_pair(names, mtu_bytes);
    printf("| offloads | by | sender, a GB | receiver | together | copied |\n"
           "|---|---|---|---|---|---|\n");
    for (int offloads = 0; offloads < 2; offloads++) {
        for (uint32_t i = 0; i < 2; i++) {
            struct weft_error error;
            struct weft_netlink end;
            require_lab(weft_netlink_open(&end, names[i], &error) &&
                            weft_link_set_offloads(&end, i == 0 ? "a" : "b", offloads != 0, &error),
                        &error);
            weft_netlink_close(&end);
        }
        for (int way = 0; way < WAY_COUNT; way++) {
            measure(names, offloads != 0, (enum way)way, bytes);
        }
    }
    return 0;
}
