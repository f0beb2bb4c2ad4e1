// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_EMULATOR_LINES_H
#define WEFT_RUNTIME_OCS_EMULATOR_LINES_H

// A server of TL1 on the loopback address for one user.
//
// What clients may do is bounded, as by the HTTP server beside it. Who has not logged in has a
// total deadline and one KiB, and its place goes to the next where connections reach their cap; a
// command has a deadline from its first byte to its end, and answers until they were read. A
// command has a size, and no more are read while as many bytes of answers wait. Wrong credentials
// are compared in constant time, answered after a pause, and end the connection.
//
// Nothing waits: all connections are served by turns of the caller's thread.

#include "runtime/ocs/tl1/message.h"

// The answer to one command.
struct weft_line_answer {
    const char *denial; // code and reason, "IIAC,Input, Invalid Access Identifier"; NULL = done
    const char *lines;  // quoted, each with its end; NULL = none
    bool is_lost;       // no answer at all
    uint32_t wait_ms;   // what was asked for takes so long; other connections wait, too
};

struct weft_line_service {
    const char *user;
    const char *password;
    uint32_t deadline_ms;
    uint32_t refusal_ms; // before wrong credentials are answered
    // Answers a command of the user who is logged in; texts are in `arena`, which begins anew with
    // each command.
    void (*handle)(void *context, struct weft_line_answer *answer,
                   const struct weft_tl1_command *command, struct weft_arena *arena);
    void *context;
};

enum {
    WEFT_LINES_CONNECTIONS_MAX = 192,
    WEFT_LINES_COMMAND_BYTES = 64 << 10,
    WEFT_LINES_ANSWER_BYTES = 1 << 20,
};

struct weft_line_server;
// `service` and `arena` outlive the server, which makes no port of its own.
struct weft_line_server *weft_line_server_open(const struct weft_line_service *service,
                                               struct weft_arena *arena);
// Accepts connections at this port (0 = the kernel's choice) and returns it; 0 with an error of IO.
uint16_t weft_line_server_listen(struct weft_line_server *server, uint16_t port,
                                 struct weft_error *error) WEFT_MUST_USE;
// Serves a connected socket, which is the server's from now on.
void weft_line_server_add(struct weft_line_server *server, int fd);
// Serves what has come, after waiting for it wait_ms at most. Fails with IO where the kernel does
// not let it wait.
bool weft_line_server_turn(struct weft_line_server *server, uint32_t wait_ms,
                           struct weft_error *error) WEFT_MUST_USE;
uint32_t weft_line_server_count(const struct weft_line_server *server);
void weft_line_server_close(struct weft_line_server *server);

#endif
