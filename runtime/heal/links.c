// SPDX-License-Identifier: Apache-2.0
// TCP connections between hosts (links.h). O(1) a frame, and its bytes.

#include "links.h"
#include "runtime/process/coordinator.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address_of(uint32_t host, uint32_t plane, uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(weft_lab_port_address(host, plane)),
        .sin_port = htons(port),
    };
}

bool lab_heal_links_open(struct lab_heal_links *links, const struct lab_heal_job *job,
                         uint32_t host, struct weft_error *error)
{
    const int on = 1;
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(LAB_HEAL_PORT)};
    uint32_t elements = LAB_HEAL_LANES * job->rank_count * job->chunk_elements;
    *links = (struct lab_heal_links){
        .job = job,
        .host = host,
        .chunk_bytes = job->chunk_elements * (uint32_t)sizeof(uint32_t),
        .state_bytes = elements * (uint32_t)sizeof(uint32_t),
        .listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
    };
    if (links->listener < 0 ||
        setsockopt(links->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(links->listener, (const struct sockaddr *)&any, sizeof any) != 0 ||
        listen(links->listener, 256) != 0) {
        return weft_fail(error, WEFT_IO, "host %u cannot listen: %s", host, strerrordesc_np(errno));
    }
    return true;
}

// A place for a new connection: that of a closed one, or one more.
static struct lab_heal_link *add(struct lab_heal_links *links, int fd)
{
    const int on = 1;
    uint32_t i = 0;
    while (i < links->count && links->list[i].fd >= 0) {
        i++;
    }
    if (i == links->count) {
        links->list = lab_grow(links->list, (size_t)links->count + 1, sizeof *links->list);
        links->list[i] = (struct lab_heal_link){.fd = -1};
        links->count++;
    }
    struct lab_heal_link *link = &links->list[i];
    const struct lab_heal_link kept = *link;
    *link = (struct lab_heal_link){.fd = fd,
                                   .came = links->came_count++,
                                   .host = WEFT_NONE,
                                   .plane = WEFT_NONE,
                                   .body = kept.body,
                                   .body_room = kept.body_room,
                                   .out = kept.out,
                                   .out_room = kept.out_room};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return link;
}

uint32_t lab_heal_connect(struct lab_heal_links *links, uint32_t host, uint32_t plane)
{
    const struct sockaddr_in own = address_of(links->host, plane, 0);
    const struct sockaddr_in far = address_of(host, plane, LAB_HEAL_PORT);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return WEFT_NONE;
    }
    if (bind(fd, (const struct sockaddr *)&own, sizeof own) != 0 ||
        (connect(fd, (const struct sockaddr *)&far, sizeof far) != 0 && errno != EINPROGRESS)) {
        int number = errno;
        close(fd);
        errno = number;
        return WEFT_NONE;
    }
    struct lab_heal_link *link = add(links, fd);
    link->host = host;
    link->plane = plane;
    link->connecting = true;
    return (uint32_t)(link - links->list);
}

// Lets the first of those go that have not said hello, where these have all places.
static void make_room(struct lab_heal_links *links)
{
    struct lab_heal_link *first = NULL;
    uint32_t guests = 0;
    for (uint32_t i = 0; i < links->count; i++) {
        struct lab_heal_link *link = &links->list[i];
        if (link->fd >= 0 && link->host == WEFT_NONE) {
            guests++;
            first = first == NULL || link->came < first->came ? link : first;
        }
    }
    if (guests >= LAB_HEAL_GUESTS) {
        lab_heal_link_close(first);
        links->refused++;
    }
}

void lab_heal_accept(struct lab_heal_links *links)
{
    for (uint32_t i = 0; i < LAB_HEAL_GUESTS; i++) { // others are heard between two crowds
        int fd = accept4(links->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        make_room(links);
        add(links, fd);
    }
}

void lab_heal_link_close(struct lab_heal_link *link)
{
    if (link->fd >= 0) {
        close(link->fd);
        link->fd = -1;
    }
}

uint32_t lab_heal_link_to(const struct lab_heal_links *links, uint32_t host, uint32_t plane)
{
    for (uint32_t i = links->count; i > 0; i--) {
        const struct lab_heal_link *link = &links->list[i - 1];
        if (link->fd >= 0 && !link->gone && link->host == host && link->plane == plane) {
            return i - 1;
        }
    }
    return WEFT_NONE;
}

// ---- what comes ----

// Reads up to `length` bytes behind `filled`; false: not all are here.
static bool read_some(struct lab_heal_link *link, void *data, uint32_t length, uint32_t *filled)
{
    while (*filled < length) {
        ssize_t got = recv(link->fd, (char *)data + *filled, length - *filled, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            link->gone = link->gone || got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
            return false;
        }
        *filled += (uint32_t)got;
    }
    return true;
}

bool lab_heal_read_head(struct lab_heal_links *links, struct lab_heal_link *link)
{
    struct weft_error refused;
    if (link->head_filled == sizeof link->head) {
        return true;
    }
    if (link->connecting || !read_some(link, &link->head, sizeof link->head, &link->head_filled)) {
        return false;
    }
    const struct lab_heal_frame *head = &link->head;
    bool known = lab_heal_check_frame(head, links->chunk_bytes, links->state_bytes, &refused) &&
                 head->host < links->job->host_count && head->plane < links->job->plane_count;
    bool hello = known && head->kind == LAB_HEAL_HELLO && head->token == links->job->token;
    if (!known || (head->kind == LAB_HEAL_HELLO ? !hello : link->host != head->host)) {
        link->gone = true; // a stranger, or out of step
        links->refused += link->host == WEFT_NONE;
        return false;
    }
    return true;
}

bool lab_heal_read_body(struct lab_heal_link *link)
{
    uint32_t length = link->head.length;
    if (link->body_room < length) {
        link->body = lab_grow(link->body, length, 1);
        link->body_room = length;
    }
    if (length > 0 && !read_some(link, link->body, length, &link->body_filled)) {
        return false;
    }
    link->head_filled = 0;
    link->body_filled = 0;
    return true;
}

// ---- what goes ----

void lab_heal_flush(struct lab_heal_link *link)
{
    if (link->connecting) {
        int number = 0;
        socklen_t length = sizeof number;
        struct pollfd wait = {.fd = link->fd, .events = POLLOUT};
        if (poll(&wait, 1, 0) <= 0) {
            return;
        }
        link->connecting = false;
        if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &number, &length) != 0 || number != 0) {
            link->gone = true;
        }
    }
    while (!link->gone && link->out_sent < link->out_bytes) {
        ssize_t sent = send(link->fd, link->out + link->out_sent, link->out_bytes - link->out_sent,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            // No route or no light for now: the kernel tries again, and heartbeats tell.
            link->gone = errno == EPIPE || errno == ECONNRESET;
            return;
        }
        link->out_sent += (uint32_t)sent;
    }
}

// The frame is copied: sums change while it waits.
void lab_heal_write(struct lab_heal_link *link, const struct lab_heal_frame *frame,
                    const void *data)
{
    uint32_t bytes = (uint32_t)sizeof *frame + frame->length;
    WEFT_ASSERT(link->out_sent == link->out_bytes);
    if (link->out_room < bytes) {
        link->out = lab_grow(link->out, bytes, 1);
        link->out_room = bytes;
    }
    memcpy(link->out, frame, sizeof *frame);
    if (frame->length > 0) {
        memcpy(link->out + sizeof *frame, data, frame->length);
    }
    link->out_bytes = bytes;
    link->out_sent = 0;
    lab_heal_flush(link);
}

void lab_heal_hello(struct lab_heal_links *links, struct lab_heal_link *link, uint32_t epoch,
                    uint32_t far_side)
{
    const struct lab_heal_frame hello = {.magic = LAB_HEAL_MAGIC,
                                         .kind = LAB_HEAL_HELLO,
                                         .lane = (uint16_t)far_side,
                                         .epoch = epoch,
                                         .host = links->host,
                                         .plane = link->plane,
                                         .token = links->job->token};
    lab_heal_write(link, &hello, NULL);
}
