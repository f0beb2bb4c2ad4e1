// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FUZZ_STRANGER_H
#define WEFT_FUZZ_STRANGER_H

// A client of the switch emulator who sends any bytes, for the targets of its servers.

#include "fuzz.h"
#include "runtime/ocs/emulator/emulator.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS_MAX = 200, ANSWER_BYTES = 1024 };

// A server of the emulation.
struct fuzz_server {
    void (*turn)(struct weft_ocs_emulation *self);
    int (*connect_to)(struct weft_ocs_emulation *self); // the client's end
    uint32_t (*clients)(const struct weft_ocs_emulation *self);
};

// Reads what has come; its first bytes stay in `answer`, a zero behind them. False at the end.
static inline bool drain(int fd, char answer[ANSWER_BYTES])
{
    char data[4096];
    ssize_t got = 0;
    while ((got = recv(fd, data, sizeof data, 0)) > 0) {
        if (answer != NULL) {
            size_t has = strlen(answer);
            snprintf(answer + has, ANSWER_BYTES - has, "%.*s", (int)got, data);
        }
    }
    return got < 0 && errno == EAGAIN;
}

// Sends the pieces (0xff ends one), then ends its side, and waits for the server to end its own.
static inline void send_all(struct weft_ocs_emulation *self, const struct fuzz_server *server,
                            const uint8_t *data, size_t size)
{
    int fd = server->connect_to(self);
    bool open = true;
    for (size_t at = 0; at < size && open;) {
        const uint8_t *mark = memchr(data + at, 0xff, size - at);
        size_t bytes = mark != NULL ? (size_t)(mark - data) - at : size - at;
        for (size_t sent = 0; sent < bytes && open;) {
            ssize_t put = send(fd, data + at + sent, bytes - sent, MSG_NOSIGNAL);
            open = put > 0 || (put < 0 && errno == EAGAIN);
            sent += put > 0 ? (size_t)put : 0;
            server->turn(self);
            open = drain(fd, NULL) && open;
        }
        at += bytes + 1;
    }
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < TURNS_MAX && server->clients(self) > 0; i++) {
        server->turn(self);
        drain(fd, NULL);
    }
    close(fd);
    for (int i = 0; i < TURNS_MAX && server->clients(self) > 0; i++) {
        server->turn(self);
    }
    WEFT_ASSERT(server->clients(self) == 0);
}

// In what was sent, when all bytes of `between` are left out.
static inline bool has_password(const uint8_t *data, size_t size, const char *password,
                                const char *between)
{
    char *sent = fuzz_string(data, size);
    size_t bytes = 0;
    for (size_t i = 0; i < size; i++) {
        if (memchr(between, data[i], strlen(between)) == NULL) {
            sent[bytes++] = (char)data[i];
        }
    }
    bool found = memmem(sent, bytes, password, strlen(password)) != NULL;
    free(sent);
    return found;
}

#endif
