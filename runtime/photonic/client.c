// SPDX-License-Identifier: Apache-2.0
// A client that asks one thing and waits for the answer: it sends the same request with the same
// number until it is answered, and takes nothing for the answer that is not one to it.

#include "client.h"

#include "runtime/clock.h"
#include "runtime/netlink/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool parse_address(struct sockaddr_in *address, const char *text, struct weft_error *error)
{
    char host[16];
    const char *colon = strchr(text, ':');
    const size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    uint64_t port = WEFT_PHOTONIC_PORT;
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    if (length < sizeof host) {
        memcpy(host, text, length);
        host[length] = '\0';
    }
    if (length >= sizeof host || inet_pton(AF_INET, host, &address->sin_addr) != 1) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.40s' is no address; write 198.18.0.2 or 198.18.0.2:%d", text,
                         WEFT_PHOTONIC_PORT);
    }
    if (colon != NULL && !weft_parse_count(&port, colon + 1, 1, 65535, error)) {
        return weft_wrap(error, "'%.40s': port", text);
    }
    address->sin_port = htons((uint16_t)port);
    return true;
}

bool weft_nic_client_open(struct weft_nic_client *client, const struct weft_nic_target *target,
                          uint64_t seed, struct weft_error *error)
{
    struct sockaddr_in address;
    int fd;
    int mtu = 0;
    socklen_t size = sizeof mtu;
    const int never = IP_PMTUDISC_DO; // requests have fragments of their own
    if (!parse_address(&address, target->address, error) ||
        !weft_netns_socket(&fd, target->netns, AF_INET, SOCK_DGRAM, 0, error)) {
        return false;
    }
    if (setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &never, sizeof never) != 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &size) != 0) {
        const int number = errno;
        close(fd);
        return weft_fail(error, WEFT_IO, "%.40s: %s", target->address, strerrordesc_np(number));
    }
    *client = (struct weft_nic_client){
        .fd = fd,
        .timeout_ns = target->timeout_ns > 0 ? target->timeout_ns : 200000000,
        .tries = target->tries > 0 ? target->tries : 5,
        .request = (uint32_t)weft_hash(seed ^ lab_now_ns() ^ (uint64_t)getpid() << 40),
        .payload_bytes = mtu > 28 + 64 ? (uint32_t)mtu - 28 : 64,
    };
    if (client->payload_bytes > WEFT_PHOTONIC_PAYLOAD_BYTES_MAX) {
        client->payload_bytes = WEFT_PHOTONIC_PAYLOAD_BYTES_MAX;
    }
    snprintf(client->address, sizeof client->address, "%.23s", target->address);
    return true;
}

void weft_nic_client_close(struct weft_nic_client *client)
{
    close(client->fd);
    client->fd = -1;
}

// Sends a request, whole or in fragments. A packet that the kernel does not take is as good as
// lost; that nobody listens shows when the answer does not come.
static void send_request(const struct weft_nic_client *client, struct weft_photonic_head head,
                         const uint8_t *input)
{
    uint8_t packet[WEFT_PHOTONIC_PAYLOAD_BYTES_MAX];
    const uint32_t whole = WEFT_PHOTONIC_HEAD_BYTES + head.input_bytes;
    if (whole <= client->payload_bytes) {
        weft_photonic_head_write(packet, &head);
        memcpy(packet + WEFT_PHOTONIC_HEAD_BYTES, input, head.input_bytes);
        (void)!send(client->fd, packet, whole, MSG_NOSIGNAL);
        return;
    }
    const uint32_t room = client->payload_bytes - WEFT_PHOTONIC_FRAGMENT_HEAD_BYTES;
    head.flags = WEFT_PHOTONIC_FRAGMENT;
    weft_photonic_head_write(packet, &head);
    for (uint32_t at = 0; at < head.input_bytes; at += room) {
        const uint32_t bytes = head.input_bytes - at < room ? head.input_bytes - at : room;
        const uint32_t offset = htonl(at);
        memcpy(packet + WEFT_PHOTONIC_HEAD_BYTES, &offset, sizeof offset);
        memcpy(packet + WEFT_PHOTONIC_FRAGMENT_HEAD_BYTES, input + at, bytes);
        (void)!send(client->fd, packet, WEFT_PHOTONIC_FRAGMENT_HEAD_BYTES + bytes, MSG_NOSIGNAL);
    }
}

// The next payload before the time is over; -1: none came.
static ssize_t receive(const struct weft_nic_client *client, uint8_t *payload, uint64_t end_ns)
{
    for (;;) {
        const uint64_t now_ns = lab_now_ns();
        struct pollfd ready = {.fd = client->fd, .events = POLLIN};
        const struct timespec left = {
            .tv_sec = now_ns < end_ns ? (time_t)((end_ns - now_ns) / 1000000000) : 0,
            .tv_nsec = now_ns < end_ns ? (long)((end_ns - now_ns) % 1000000000) : 0};
        if (ppoll(&ready, 1, &left, NULL) > 0) {
            const ssize_t got = recv(client->fd, payload, WEFT_PHOTONIC_PAYLOAD_BYTES_MAX, 0);
            if (got >= 0) {
                return got;
            }
        }
        if (now_ns >= end_ns) {
            return -1;
        }
    }
}

static bool nobody(struct weft_error *error, const struct weft_nic_client *client, uint32_t model)
{
    return weft_fail(error, WEFT_IO,
                     "%s: no answer for model %u in %u tries; weft photonic nic status says what "
                     "is there, and --in from which namespace",
                     client->address, model, client->tries);
}

bool weft_nic_describe(struct weft_photonic_head *model, struct weft_nic_client *client,
                       uint32_t id, struct weft_error *error)
{
    static uint8_t payload[WEFT_PHOTONIC_PAYLOAD_BYTES_MAX];
    const struct weft_photonic_head head = {
        .flags = WEFT_PHOTONIC_DESCRIBE, .model = id, .request = client->request++};
    for (uint32_t i = 0; i < client->tries; i++) {
        const uint64_t end_ns = lab_now_ns() + client->timeout_ns;
        ssize_t got;
        weft_photonic_head_write(payload, &head);
        (void)!send(client->fd, payload, WEFT_PHOTONIC_HEAD_BYTES, MSG_NOSIGNAL);
        while ((got = receive(client, payload, end_ns)) >= 0) {
            struct weft_photonic_head found;
            if (weft_photonic_head_read(&found, payload, (size_t)got) == WEFT_PHOTONIC_TAKEN &&
                found.flags == (WEFT_PHOTONIC_ANSWER | WEFT_PHOTONIC_DESCRIBE) &&
                found.request == head.request && found.model == id && found.layers > 0 &&
                found.input_bytes > 0) {
                *model = found;
                model->flags = 0;
                return true;
            }
        }
    }
    return nobody(error, client, id);
}

bool weft_nic_ask(struct weft_nic_reply *reply, struct weft_nic_client *client,
                  const struct weft_photonic_head *model, const uint8_t *input,
                  struct weft_error *error)
{
    struct weft_photonic_head head = *model;
    head.request = client->request++;
    for (uint32_t i = 0; i < client->tries; i++) {
        const uint64_t start_ns = lab_now_ns();
        ssize_t got;
        send_request(client, head, input);
        while ((got = receive(client, reply->payload, start_ns + client->timeout_ns)) >= 0) {
            if (weft_photonic_answer_read(&reply->answer, reply->payload, (size_t)got) &&
                reply->answer.head.request == head.request &&
                reply->answer.head.model == head.model &&
                reply->answer.head.layers == head.layers &&
                reply->answer.head.exponent == head.exponent) {
                reply->latency_s = (double)(lab_now_ns() - start_ns) * 1e-9;
                reply->tries = i + 1;
                return true;
            }
        }
    }
    return nobody(error, client, model->model);
}
