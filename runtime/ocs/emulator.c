// SPDX-License-Identifier: Apache-2.0
// An emulator of an optical switch with RESTCONF: the twin behind HTTP.

#include "http.h"
#include "ocs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define ROOT "/api/data/optical-switch:"

struct emulator {
    const struct weft_ocs_emulator *said;
    struct weft_ocs twin;
    uint32_t request_count;
    struct weft_arena arena;
};

struct message {
    const char *method;
    const char *path;
    const char *head;
    size_t head_bytes;
    const char *body;
    size_t body_bytes;
};

static void answer(int fd, uint32_t status, const char *body)
{
    char head[256];
    int length = snprintf(head, sizeof head,
                          "HTTP/1.1 %u %s\r\nContent-Type: application/yang-data+json\r\n"
                          "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                          status, status / 100 == 2 ? "OK" : "Refused", strlen(body));
    // Who has gone away needs no answer.
    if (send(fd, head, (size_t)length, MSG_NOSIGNAL) == length) {
        ssize_t sent = send(fd, body, strlen(body), MSG_NOSIGNAL);
        (void)sent;
    }
}

static void refuse(int fd, uint32_t status, const char *tag, const char *message)
{
    char body[640];
    snprintf(body, sizeof body,
             "{\"ietf-restconf:errors\":{\"error\":[{\"error-type\":\"application\","
             "\"error-tag\":\"%s\",\"error-message\":\"%s\"}]}}",
             tag, message);
    answer(fd, status, body);
}

// ---- resources ----

static const char *show_circuits(struct emulator *self, struct weft_arena *arena)
{
    uint32_t n = self->twin.port_count;
    uint32_t *outputs = WEFT_NEW(arena, uint32_t, n);
    struct weft_error ignored;
    bool fine = weft_ocs_read(outputs, &self->twin, &ignored);
    WEFT_ASSERT(fine);
    struct weft_text text;
    const char *comma = "";
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\"optical-switch:cross-connects\":{\"pair\":[");
    for (uint32_t i = 0; i < n; i++) {
        if (outputs[i] != WEFT_NONE) {
            weft_text_add(&text, "%s{\"ingress\":%u,\"egress\":%u}", comma, i + 1,
                          n + 1 + outputs[i]);
            comma = ",";
        }
    }
    weft_text_add(&text, "]}}");
    return text.data;
}

// Ports of the box, with light on outputs that are lit.
static const char *show_ports(struct emulator *self, bool power, struct weft_arena *arena)
{
    uint32_t n = self->twin.port_count;
    uint32_t *outputs = WEFT_NEW(arena, uint32_t, n);
    bool *lit = WEFT_NEW(arena, bool, n);
    struct weft_error ignored;
    bool fine = weft_ocs_read(outputs, &self->twin, &ignored);
    WEFT_ASSERT(fine);
    for (uint32_t i = 0; i < n; i++) {
        if (outputs[i] != WEFT_NONE) {
            lit[outputs[i]] = true;
        }
    }
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\"optical-switch:%s\":{\"port\":[", power ? "opm-power" : "port-config");
    for (uint32_t port = 1; port <= 2 * n; port++) {
        weft_text_add(&text, "%s{\"port-id\":%u", port > 1 ? "," : "", port);
        if (power) {
            // 0 dBm of every transmitter, 1 dB lost on the way through.
            weft_text_add(&text, ",\"power\":\"%s\"}",
                          port <= n           ? "0.0"
                          : lit[port - n - 1] ? "-1.0"
                                              : "-60.0");
        } else {
            weft_text_add(&text, ",\"status\":\"ENABLED\"}");
        }
    }
    weft_text_add(&text, "]}}");
    return text.data;
}

static void settle(const struct emulator *self)
{
    const struct timespec pause = {.tv_sec = self->said->switch_ms / 1000,
                                   .tv_nsec = (long)(self->said->switch_ms % 1000) * 1000000};
    nanosleep(&pause, NULL);
}

// Adds the pairs of a body to outputs. False: the body is no list of pairs of this box.
static bool take_pairs(uint32_t *outputs, uint32_t n, const json_t *pairs)
{
    bool fine = json_is_array(pairs);
    for (size_t i = 0; i < json_array_size(pairs) && fine; i++) {
        const json_t *row = json_array_get(pairs, i);
        json_int_t input = json_integer_value(json_object_get(row, "ingress"));
        json_int_t output = json_integer_value(json_object_get(row, "egress"));
        fine = input >= 1 && input <= n && output > n && output <= 2 * (json_int_t)n &&
               outputs[input - 1] == WEFT_NONE;
        if (fine) {
            outputs[input - 1] = (uint32_t)output - n - 1;
        }
    }
    return fine;
}

static void change(struct emulator *self, int fd, const uint32_t *outputs, uint32_t status,
                   struct weft_arena arena)
{
    struct weft_ocs_change made;
    struct weft_error error;
    if (!weft_ocs_apply(&made, &self->twin, outputs, arena, &error)) {
        refuse(fd, 409, "operation-failed", error.message);
        return;
    }
    if (made.changed > 0) {
        settle(self);
    }
    answer(fd, status, "");
}

// PUT replaces all pairs, POST adds some.
static void replace(struct emulator *self, int fd, const struct message *message,
                    struct weft_arena arena)
{
    uint32_t n = self->twin.port_count;
    uint32_t *outputs = WEFT_NEW(&arena, uint32_t, n);
    bool adds = strcmp(message->method, "POST") == 0;
    struct weft_error ignored;
    for (uint32_t i = 0; i < n; i++) {
        outputs[i] = WEFT_NONE;
    }
    if (adds && !weft_ocs_read(outputs, &self->twin, &ignored)) {
        return;
    }
    json_t *document = json_loadb(message->body, message->body_bytes, 0, NULL);
    const json_t *pairs =
        adds ? json_object_get(document, "optical-switch:pair")
             : json_object_get(json_object_get(document, "optical-switch:cross-connects"), "pair");
    bool fine = take_pairs(outputs, n, pairs);
    json_decref(document);
    if (!fine) {
        refuse(fd, 400, "invalid-value", "pairs of distinct ingress and an egress of this switch");
        return;
    }
    change(self, fd, outputs, adds ? 201 : 204, arena);
}

static void serve_circuits(struct emulator *self, int fd, const struct message *message,
                           const char *rest, struct weft_arena arena)
{
    uint32_t n = self->twin.port_count;
    if (strcmp(message->method, "GET") == 0 && rest[0] == '\0') {
        answer(fd, 200, show_circuits(self, &arena));
    } else if ((strcmp(message->method, "PUT") == 0 || strcmp(message->method, "POST") == 0) &&
               rest[0] == '\0') {
        replace(self, fd, message, arena);
    } else if (strcmp(message->method, "DELETE") == 0 && strncmp(rest, "/pair=", 6) == 0) {
        uint32_t *outputs = WEFT_NEW(&arena, uint32_t, n);
        uint64_t input = 0;
        struct weft_error error;
        if (!weft_parse_count(&input, rest + 6, 1, n, &error) ||
            !weft_ocs_read(outputs, &self->twin, &error)) {
            refuse(fd, 404, "invalid-value", "no such pair");
            return;
        }
        outputs[input - 1] = WEFT_NONE;
        change(self, fd, outputs, 204, arena);
    } else {
        refuse(fd, 405, "operation-not-supported", "GET, PUT, POST or DELETE pair=N");
    }
}

static void serve(struct emulator *self, int fd, const struct message *message)
{
    struct weft_arena arena = self->arena;
    const struct weft_ocs_emulator *said = self->said;
    size_t length = 0;
    const char *wanted = weft_http_basic(said->user, said->password, &arena);
    const char *given =
        weft_http_header(message->head, message->head_bytes, "Authorization", &length);
    self->request_count++;
    if (said->fail_at == self->request_count) {
        if (said->fail_status != 0) {
            refuse(fd, said->fail_status, "operation-failed", "out of order");
        }
        return;
    }
    if (given == NULL || length != strlen(wanted) || memcmp(given, wanted, length) != 0) {
        refuse(fd, 401, "access-denied", "who are you?");
    } else if (strncmp(message->path, ROOT "cross-connects", sizeof ROOT + 13) == 0) {
        serve_circuits(self, fd, message, message->path + sizeof ROOT + 13, arena);
    } else if (strcmp(message->method, "GET") == 0 &&
               strcmp(message->path, ROOT "opm-power") == 0) {
        answer(fd, 200, show_ports(self, true, &arena));
    } else if (strcmp(message->method, "GET") == 0 &&
               strcmp(message->path, ROOT "port-config") == 0) {
        answer(fd, 200, show_ports(self, false, &arena));
    } else {
        refuse(fd, 404, "invalid-value", "no such resource");
    }
}

// ---- connections ----

static size_t body_length(const char *data, size_t head)
{
    size_t length = 0;
    uint64_t bytes = 0;
    char text[16];
    struct weft_error ignored;
    const char *value = weft_http_header(data, head, "Content-Length", &length);
    if (value == NULL || length >= sizeof text) {
        return 0;
    }
    snprintf(text, sizeof text, "%.*s", (int)length, value);
    return weft_parse_count(&bytes, text, 0, WEFT_HTTP_BYTES_MAX, &ignored) ? (size_t)bytes : 0;
}

// Cuts the request line into words. False: it is none.
static bool cut_line(struct message *message, char *data)
{
    char *space = strchr(data, ' ');
    char *second = space != NULL ? strchr(space + 1, ' ') : NULL;
    char *end = strstr(data, "\r\n");
    if (second == NULL || end == NULL || second > end) {
        return false;
    }
    *space = '\0';
    *second = '\0';
    message->method = data;
    message->path = space + 1;
    message->head = end + 2;
    return true;
}

static void take_connection(struct emulator *self, int fd)
{
    struct weft_arena before = self->arena;
    const struct timeval patience = {.tv_sec = 2};
    char *data = weft_arena_alloc_raw(&self->arena, WEFT_HTTP_BYTES_MAX + 1, 1);
    size_t got = 0;
    size_t head = 0;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while (got < WEFT_HTTP_BYTES_MAX && (head == 0 || got < head + body_length(data, head))) {
        ssize_t more = recv(fd, data + got, WEFT_HTTP_BYTES_MAX - got, 0);
        if (more <= 0) {
            break;
        }
        got += (size_t)more;
        head = weft_http_head(data, got);
    }
    data[got] = '\0';
    struct message message = {0};
    size_t body = head > 0 ? body_length(data, head) : 0;
    if (head > 0 && got >= head + body && cut_line(&message, data)) {
        message.head_bytes = (size_t)(data + head - message.head);
        message.body = data + head;
        message.body_bytes = body;
        serve(self, fd, &message);
    } else {
        refuse(fd, 400, "malformed-message", "no HTTP");
    }
    close(fd);
    self->arena = before;
}

static bool listen_on(int *fd, uint16_t *port, struct weft_error *error)
{
    int on = 1;
    struct sockaddr_in own = {
        .sin_family = AF_INET,
        .sin_port = htons(*port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t size = sizeof own;
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(*fd, (struct sockaddr *)&own, sizeof own) != 0 || listen(*fd, 16) != 0 ||
        getsockname(*fd, (struct sockaddr *)&own, &size) != 0) {
        int number = errno;
        if (*fd >= 0) {
            close(*fd);
        }
        return weft_fail(error, WEFT_IO, "port %u: %s", *port, strerrordesc_np(number));
    }
    *port = ntohs(own.sin_port);
    return true;
}

bool weft_ocs_emulate(const struct weft_ocs_emulator *said, weft_stop stop,
                      void (*ready)(void *context, uint16_t port), void *context,
                      struct weft_error *error)
{
    struct emulator self = {.said = said};
    int listener = -1;
    uint16_t port = said->port;
    if (!weft_arena_init(&self.arena, 256u << 20, error)) {
        return false;
    }
    struct weft_arena all = self.arena;
    bool fine = weft_ocs_open_twin(&self.twin, said->port_count, &self.arena, error) &&
                listen_on(&listener, &port, error);
    if (fine) {
        ready(context, port);
        while (!weft_stopped(stop)) {
            struct pollfd wanted = {.fd = listener, .events = POLLIN};
            if (poll(&wanted, 1, 50) > 0) {
                int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
                if (fd >= 0) {
                    take_connection(&self, fd);
                }
            }
        }
        close(listener);
    }
    weft_arena_release(&all);
    return fine;
}
