// SPDX-License-Identifier: Apache-2.0
// A plain HTTP/1.1 client.

#include "http.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

// ---- messages ----

size_t weft_http_head(const char *data, size_t length)
{
    const char *end = memmem(data, length, "\r\n\r\n", 4);
    return end == NULL ? 0 : (size_t)(end - data) + 4;
}

const char *weft_http_header(const char *head, size_t head_bytes, const char *name,
                             size_t *value_bytes)
{
    size_t name_bytes = strlen(name);
    const char *line = head;
    const char *end = head + head_bytes;
    while (line < end) {
        const char *next = memmem(line, (size_t)(end - line), "\r\n", 2);
        if (next == NULL) {
            break;
        }
        size_t length = (size_t)(next - line);
        if (length > name_bytes && line[name_bytes] == ':' &&
            strncasecmp(line, name, name_bytes) == 0) {
            const char *value = line + name_bytes + 1;
            while (value < next && (*value == ' ' || *value == '\t')) {
                value++;
            }
            *value_bytes = (size_t)(next - value);
            return value;
        }
        line = next + 2;
    }
    return NULL;
}

const char *weft_http_basic(const char *user, const char *password, struct weft_arena *arena)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *plain = weft_arena_format(arena, "%s:%s", user, password);
    size_t length = strlen(plain);
    char *text = WEFT_NEW(arena, char, (length + 2) / 3 * 4 + 7);
    memcpy(text, "Basic ", 6);
    char *out = text + 6;
    for (size_t i = 0; i < length; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++) {
            bits = bits << 8 | (i + k < length ? (unsigned char)plain[i + k] : 0);
        }
        *out++ = letters[bits >> 18 & 63];
        *out++ = letters[bits >> 12 & 63];
        *out++ = '=';
        *out++ = '=';
        if (i + 1 < length) {
            out[-2] = letters[bits >> 6 & 63];
        }
        if (i + 2 < length) {
            out[-1] = letters[bits & 63];
        }
    }
    *out = '\0';
    return text;
}

// The bytes of a chunked body, joined in place. False: it is not all there, or none.
static bool join_chunks(char *body, size_t length, size_t *joined)
{
    size_t at = 0;
    *joined = 0;
    while (at < length) {
        const char *line_end = memmem(body + at, length - at, "\r\n", 2);
        if (line_end == NULL) {
            return false;
        }
        size_t size = 0;
        size_t digits = 0;
        for (; body[at + digits] != '\r' && body[at + digits] != ';'; digits++) {
            char c = body[at + digits];
            int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
            if (digit < 0 || size > WEFT_HTTP_BYTES_MAX) {
                return false;
            }
            size = size * 16 + (size_t)digit;
        }
        at = (size_t)(line_end - body) + 2;
        if (digits == 0 || size > length - at) {
            return false;
        }
        if (size == 0) {
            return true;
        }
        memmove(body + *joined, body + at, size);
        *joined += size;
        at += size + 2;
    }
    return false;
}

// ---- the exchange ----

static bool connect_to(int *fd, const struct weft_http_request *request, struct weft_arena scratch,
                       struct weft_error *error)
{
    const char *address = request->address;
    const char *colon = strrchr(address, ':');
    const char *bracket = strchr(address, ']');
    bool has_port =
        colon != NULL && (bracket == NULL ? strchr(address, ':') == colon : colon > bracket);
    size_t host_bytes = has_port ? (size_t)(colon - address) : strlen(address);
    if (address[0] == '[' && bracket != NULL) {
        address++;
        host_bytes = (size_t)(bracket - address);
    }
    const char *host = weft_arena_text(&scratch, address, host_bytes);
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(host, has_port ? colon + 1 : request->default_port, &hints, &found);
    if (failed != 0) {
        return weft_fail(error, WEFT_IO, "%s: %s; write HOST:PORT", request->address,
                         gai_strerror(failed));
    }
    const struct timeval patience = {.tv_sec = request->timeout_ms / 1000,
                                     .tv_usec = request->timeout_ms % 1000 * 1000};
    int number = ECONNREFUSED;
    *fd = -1;
    for (const struct addrinfo *to = found; to != NULL && *fd < 0; to = to->ai_next) {
        *fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, to->ai_protocol);
        if (*fd < 0) {
            number = errno;
            continue;
        }
        setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (connect(*fd, to->ai_addr, to->ai_addrlen) != 0) {
            number = errno == EINPROGRESS ? ETIMEDOUT : errno;
            close(*fd);
            *fd = -1;
        }
    }
    freeaddrinfo(found);
    return *fd >= 0 ||
           weft_fail(error, WEFT_IO, "%s: %s; is the switch on, and its RESTCONF enabled?",
                     request->address, strerrordesc_np(number));
}

static bool send_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, data, length, MSG_NOSIGNAL);
        if (sent <= 0 && errno != EINTR) {
            return false;
        }
        if (sent > 0) {
            data += sent;
            length -= (size_t)sent;
        }
    }
    return true;
}

// How many bytes the message has in all; SIZE_MAX = until the connection ends.
static size_t expected(const char *data, size_t head_bytes)
{
    size_t length = 0;
    const char *value = weft_http_header(data, head_bytes, "Content-Length", &length);
    char text[16];
    uint64_t bytes = 0;
    struct weft_error ignored;
    if (value == NULL || length >= sizeof text) {
        return SIZE_MAX;
    }
    snprintf(text, sizeof text, "%.*s", (int)length, value);
    return weft_parse_count(&bytes, text, 0, WEFT_HTTP_BYTES_MAX, &ignored)
               ? head_bytes + (size_t)bytes
               : SIZE_MAX;
}

static bool receive(char **data, size_t *length, int fd, const char *address,
                    struct weft_arena *arena, struct weft_error *error)
{
    char *buffer = weft_arena_alloc_raw(arena, WEFT_HTTP_BYTES_MAX + 1, 1);
    size_t got = 0;
    size_t wanted = SIZE_MAX;
    while (got < WEFT_HTTP_BYTES_MAX && got < wanted) {
        ssize_t more = recv(fd, buffer + got, WEFT_HTTP_BYTES_MAX - got, 0);
        if (more < 0 && errno == EINTR) {
            continue;
        }
        if (more < 0) {
            return weft_fail(error, WEFT_IO, "%s: %s", address,
                             errno == EAGAIN ? "no answer in time" : strerrordesc_np(errno));
        }
        if (more == 0) {
            break;
        }
        got += (size_t)more;
        size_t head = weft_http_head(buffer, got);
        wanted = head > 0 ? expected(buffer, head) : SIZE_MAX;
    }
    if (wanted != SIZE_MAX && got < wanted) {
        return weft_fail(error, WEFT_IO, "%s: the answer broke off", address);
    }
    buffer[got] = '\0';
    arena->next = buffer + got + 1; // the rest of the buffer is free again
    *data = buffer;
    *length = got;
    return true;
}

static bool understand(struct weft_http_reply *reply, char *data, size_t length,
                       const char *address, struct weft_error *error)
{
    size_t head = weft_http_head(data, length);
    uint64_t status = 0;
    struct weft_error ignored;
    char code[4] = "";
    size_t coding_bytes = 0;
    bool fine = head > 12 && strncmp(data, "HTTP/1.", 7) == 0 && data[8] == ' ';
    if (fine) {
        memcpy(code, data + 9, 3);
        fine = weft_parse_count(&status, code, 100, 599, &ignored);
    }
    size_t body_bytes = length - head;
    const char *coding =
        fine ? weft_http_header(data, head, "Transfer-Encoding", &coding_bytes) : NULL;
    if (coding != NULL) {
        fine = coding_bytes == 7 && strncasecmp(coding, "chunked", 7) == 0 &&
               join_chunks(data + head, length - head, &body_bytes);
    }
    if (!fine) {
        return weft_fail(error, WEFT_IO, "%s: the answer is no HTTP; is that the switch's port?",
                         address);
    }
    data[head + body_bytes] = '\0';
    *reply = (struct weft_http_reply){(uint32_t)status, data + head, body_bytes};
    return true;
}

bool weft_http_ask(struct weft_http_reply *reply, const struct weft_http_request *request,
                   struct weft_arena *arena, struct weft_error *error)
{
    int fd = -1;
    char *data = NULL;
    size_t length = 0;
    // What is asked is not needed any more when the answer comes.
    struct weft_arena scratch = *arena;
    struct weft_text text;
    if (!connect_to(&fd, request, scratch, error)) {
        return false;
    }
    const char *credentials =
        request->user == NULL ? NULL : weft_http_basic(request->user, request->password, &scratch);
    weft_text_init(&text, &scratch);
    weft_text_add(&text, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", request->method,
                  request->path, request->address);
    weft_text_add(&text, "Accept: application/yang-data+json\r\n");
    if (credentials != NULL) {
        weft_text_add(&text, "Authorization: %s\r\n", credentials);
    }
    if (request->body != NULL) {
        weft_text_add(&text, "Content-Type: application/yang-data+json\r\nContent-Length: %zu\r\n",
                      strlen(request->body));
    }
    weft_text_add(&text, "\r\n%s", request->body != NULL ? request->body : "");
    bool fine = send_all(fd, text.data, text.length) ||
                weft_fail(error, WEFT_IO, "%s: %s", request->address, strerrordesc_np(errno));
    fine = fine && receive(&data, &length, fd, request->address, arena, error) &&
           understand(reply, data, length, request->address, error);
    close(fd);
    return fine;
}
