// SPDX-License-Identifier: Apache-2.0
// The TL1 server of the switch emulator (lines.h).
//
// Buffers are the connections' own, of a size that was set aside before; a connection that has
// filled its own waits for itself alone. Answers of a connection are held back until what it asked
// for has happened; commands of the others are not begun meanwhile, as a device with one set of
// mirrors does.

#include "lines.h"
#include "loopback.h"

#include "runtime/clock.h"
#include "runtime/secret.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ACCEPTS_A_TURN = 16,
    LOGIN_BYTES = 1024, // of a command of who has not logged in
    SILENCE_MS = 60000, // of who is logged in, between commands
};

struct connection {
    int fd; // -1 = free
    bool is_known;
    bool is_ending; // once its answers were read
    uint64_t begun_ns;
    uint64_t ends_ns;
    uint64_t ready_ns; // answers are held back until then
    char *input;       // WEFT_LINES_COMMAND_BYTES
    size_t input_bytes;
    size_t searched_bytes; // of these, without finding a whole command
    char *output;          // WEFT_LINES_ANSWER_BYTES, grown as it is needed
    size_t output_bytes;
    size_t output_room;
    size_t sent;
};

struct weft_line_server {
    const struct weft_line_service *service;
    struct weft_arena arena;  // each command begins anew in it
    int listener;             // -1 = none
    uint64_t idle_ns;         // what was asked for has happened by then
    struct connection *mover; // who asked for it
    struct connection connections[WEFT_LINES_CONNECTIONS_MAX];
};

static uint64_t after_ms(uint32_t ms)
{
    return lab_now_ns() + (uint64_t)ms * 1000000u;
}

static void end(struct connection *self)
{
    close(self->fd);
    free(self->input);
    free(self->output);
    *self = (struct connection){.fd = -1};
}

// ---- answers ----

// Adds text to what a connection is to be sent; one that lets more gather than there is room for
// ends.
static void put(struct connection *self, const char *text)
{
    size_t length = strlen(text);
    if (self->output_bytes + length > self->output_room) {
        size_t room = self->output_bytes + length < 4096 ? 4096 : 2 * (self->output_bytes + length);
        char *larger = room <= 2 * WEFT_LINES_ANSWER_BYTES ? realloc(self->output, room) : NULL;
        if (larger == NULL) {
            self->is_ending = true;
            return;
        }
        self->output = larger;
        self->output_room = room;
    }
    memcpy(self->output + self->output_bytes, text, length);
    self->output_bytes += length;
}

static void put_answer(struct connection *self, const char *tag,
                       const struct weft_line_answer *answer)
{
    put(self, "\r\n\n   WEFT 00-01-01 00:00:00\r\nM  ");
    put(self, tag);
    if (answer->denial != NULL) {
        const char *comma = strchr(answer->denial, ',');
        char code[8];
        snprintf(code, sizeof code, "%.*s", (int)(comma - answer->denial), answer->denial);
        put(self, " DENY\r\n   ");
        put(self, code);
        put(self, "\r\n   /* ");
        put(self, comma + 1);
        put(self, " */\r\n");
    } else {
        put(self, " COMPLD\r\n");
        put(self, answer->lines != NULL ? answer->lines : "");
    }
    put(self, ";");
}

// ---- commands ----

static void log_in(struct weft_line_server *server, struct connection *self,
                   const struct weft_tl1_command *command)
{
    struct weft_arena arena = server->arena;
    const char *user = weft_tl1_unquote(&command->target, &arena);
    const char *password = weft_tl1_unquote(&command->payload, &arena);
    bool user_fits = weft_secret_is(user, server->service->user);
    bool password_fits = weft_secret_is(password, server->service->password);
    struct weft_line_answer answer = {0};
    self->is_known = user_fits & password_fits;
    if (!self->is_known) {
        answer.denial = "PIUI,Privilege, Illegal User Identity";
        self->ready_ns = after_ms(server->service->refusal_ms);
        self->is_ending = true;
    }
    put_answer(self, command->tag, &answer);
}

struct handling {
    struct weft_line_server *server;
    const struct weft_tl1_command *command;
    struct weft_line_answer answer;
    struct weft_arena arena;
    struct connection *connection;
};

static bool handle_guarded(void *context)
{
    struct handling *handling = context;
    const struct weft_line_service *service = handling->server->service;
    service->handle(service->context, &handling->answer, handling->command, &handling->arena);
    if (!handling->answer.is_lost) {
        put_answer(handling->connection, handling->command->tag, &handling->answer);
    }
    return true;
}

static void handle(struct weft_line_server *server, struct connection *self,
                   const struct weft_tl1_command *command)
{
    struct handling handling = {server, command, {0}, server->arena, self};
    struct weft_error error;
    if (!weft_guard_until(handle_guarded, &handling, NULL, &error)) {
        const struct weft_line_answer busy = {.denial = "SROF,Status, Requested Operation Failed"};
        put_answer(self, command->tag, &busy);
        return;
    }
    if (handling.answer.wait_ms > 0) {
        uint64_t then = after_ms(handling.answer.wait_ms);
        self->ready_ns = then > self->ready_ns ? then : self->ready_ns;
        server->idle_ns = then > server->idle_ns ? then : server->idle_ns;
        server->mover = self;
    }
}

static void obey(struct weft_line_server *server, struct connection *self,
                 const struct weft_tl1_command *command)
{
    struct weft_line_answer answer = {0};
    if (strcmp(command->verb, "ACT-USER") == 0) {
        log_in(server, self, command);
        return;
    }
    if (!self->is_known) {
        answer.denial = "PLNA,Privilege, Login Not Active";
        self->is_ending = true;
    } else if (command->verb[0] == '\0') {
        answer.denial = "ICNV,Input, Command Not Valid";
    } else if (strcmp(command->verb, "CANC-USER") == 0) {
        self->is_ending = true;
    } else {
        handle(server, self, command);
        return;
    }
    put_answer(self, command->tag, &answer);
}

// Whether what another connection asked for is still happening.
static bool is_held_up(const struct weft_line_server *server, const struct connection *self)
{
    return self->is_known && self->input_bytes > 0 && server->mover != self &&
           lab_now_ns() < server->idle_ns;
}

// Carries out the whole commands that have come, for as long as answers have room.
static void obey_all(struct weft_line_server *server, struct connection *self)
{
    size_t read = 0;
    while (!self->is_ending && self->output_bytes < WEFT_LINES_ANSWER_BYTES) {
        struct weft_tl1_command command;
        if (is_held_up(server, self) || self->input_bytes - read == self->searched_bytes) {
            break;
        }
        size_t length =
            weft_tl1_read_command(&command, self->input + read, self->input_bytes - read);
        if (length == 0) {
            self->searched_bytes = self->input_bytes - read;
            break;
        }
        read += length;
        self->searched_bytes = 0;
        obey(server, self, &command);
    }
    if (read > 0) {
        memmove(self->input, self->input + read, self->input_bytes - read);
        self->input_bytes -= read;
    }
    uint32_t left_ms = self->input_bytes > 0 ? server->service->deadline_ms : SILENCE_MS;
    if (self->is_known && (read > 0 || is_held_up(server, self))) {
        self->ends_ns =
            (is_held_up(server, self) ? server->idle_ns - lab_now_ns() : 0) + after_ms(left_ms);
    }
}

// ---- input and output ----

static void receive(struct connection *self, uint32_t deadline_ms)
{
    size_t most = self->is_known ? WEFT_LINES_COMMAND_BYTES : LOGIN_BYTES;
    size_t room = most - self->input_bytes;
    ssize_t got = room > 0 ? recv(self->fd, self->input + self->input_bytes, room, 0) : 0;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        self->is_ending = true;
        return;
    }
    if (self->input_bytes == 0 && self->is_known) {
        self->ends_ns = after_ms(deadline_ms); // of this command
    }
    self->input_bytes += (size_t)got;
}

static void send_some(struct connection *self, uint32_t deadline_ms)
{
    ssize_t put_bytes =
        send(self->fd, self->output + self->sent, self->output_bytes - self->sent, MSG_NOSIGNAL);
    if (put_bytes < 0 && errno != EAGAIN && errno != EINTR) {
        self->is_ending = true;
        self->output_bytes = self->sent;
        return;
    }
    self->sent += put_bytes > 0 ? (size_t)put_bytes : 0;
    if (self->sent == self->output_bytes) {
        self->sent = 0;
        self->output_bytes = 0;
        self->ends_ns = self->is_known ? after_ms(SILENCE_MS) : self->ends_ns;
    } else if (put_bytes > 0 && self->is_known && self->ends_ns > after_ms(deadline_ms)) {
        self->ends_ns = after_ms(deadline_ms); // to read its answers
    }
}

static bool has_output(const struct connection *self)
{
    return self->output_bytes > self->sent && self->ready_ns <= lab_now_ns();
}

static void serve(struct weft_line_server *server, struct connection *self, short events)
{
    uint32_t deadline_ms = server->service->deadline_ms;
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && !self->is_ending) {
        receive(self, deadline_ms);
    }
    obey_all(server, self);
    if (has_output(self)) {
        send_some(self, deadline_ms);
    }
    bool is_over = self->is_ending && self->output_bytes == self->sent;
    if (is_over || self->ends_ns <= lab_now_ns()) {
        server->mover = server->mover == self ? NULL : server->mover;
        end(self);
    }
}

// ---- the server ----

struct weft_line_server *weft_line_server_open(const struct weft_line_service *service,
                                               struct weft_arena *arena)
{
    struct weft_line_server *self = WEFT_NEW(arena, struct weft_line_server, 1);
    *self = (struct weft_line_server){.service = service, .listener = -1};
    for (uint32_t i = 0; i < WEFT_LINES_CONNECTIONS_MAX; i++) {
        self->connections[i].fd = -1;
    }
    self->arena = weft_arena_split(arena);
    return self;
}

uint16_t weft_line_server_listen(struct weft_line_server *self, uint16_t port,
                                 struct weft_error *error)
{
    return weft_loopback_listen(&self->listener, port, error);
}

// A free place: at the cap that of the oldest who has not logged in. NULL where all have.
static struct connection *find_place(struct weft_line_server *self)
{
    struct connection *oldest = NULL;
    for (uint32_t i = 0; i < WEFT_LINES_CONNECTIONS_MAX; i++) {
        struct connection *at = &self->connections[i];
        if (at->fd < 0) {
            return at;
        }
        if (!at->is_known && (oldest == NULL || at->begun_ns < oldest->begun_ns)) {
            oldest = at;
        }
    }
    if (oldest != NULL) {
        end(oldest);
    }
    return oldest;
}

void weft_line_server_add(struct weft_line_server *self, int fd)
{
    struct connection *place = find_place(self);
    char *input = place != NULL ? malloc(WEFT_LINES_COMMAND_BYTES) : NULL;
    if (input == NULL) {
        close(fd);
        return;
    }
    *place = (struct connection){
        .fd = fd,
        .input = input,
        .begun_ns = lab_now_ns(),
        .ends_ns = after_ms(self->service->deadline_ms),
    };
}

static void accept_some(struct weft_line_server *self)
{
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = accept4(self->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        weft_line_server_add(self, fd);
    }
}

// When this connection has to be looked at, though nothing comes.
static uint64_t due_ns(const struct weft_line_server *server, const struct connection *self)
{
    uint64_t now = lab_now_ns();
    uint64_t due = self->ends_ns;
    if (self->output_bytes > self->sent && self->ready_ns > now && self->ready_ns < due) {
        due = self->ready_ns;
    }
    return is_held_up(server, self) && server->idle_ns < due ? server->idle_ns : due;
}

bool weft_line_server_turn(struct weft_line_server *self, uint32_t wait_ms,
                           struct weft_error *error)
{
    struct pollfd waiting[WEFT_LINES_CONNECTIONS_MAX + 1];
    uint64_t now = lab_now_ns();
    uint64_t next = now + (uint64_t)wait_ms * 1000000u;
    for (uint32_t i = 0; i < WEFT_LINES_CONNECTIONS_MAX; i++) {
        const struct connection *at = &self->connections[i];
        bool reads = at->fd >= 0 && !at->is_ending && at->input_bytes < WEFT_LINES_COMMAND_BYTES &&
                     at->output_bytes < WEFT_LINES_ANSWER_BYTES;
        short events = (short)((reads ? POLLIN : 0) | (has_output(at) ? POLLOUT : 0));
        waiting[i] = (struct pollfd){.fd = at->fd, .events = events};
        if (at->fd >= 0 && due_ns(self, at) < next) {
            next = due_ns(self, at);
        }
    }
    waiting[WEFT_LINES_CONNECTIONS_MAX] = (struct pollfd){.fd = self->listener, .events = POLLIN};
    int left_ms = next <= now ? 0 : (int)((next - now + 999999) / 1000000);
    if (poll(waiting, WEFT_LINES_CONNECTIONS_MAX + 1, left_ms) < 0 && errno != EINTR) {
        return weft_fail(error, WEFT_IO, "waiting for commands: %s", strerrordesc_np(errno));
    }
    for (uint32_t i = 0; i < WEFT_LINES_CONNECTIONS_MAX; i++) {
        if (waiting[i].fd >= 0) {
            serve(self, &self->connections[i], waiting[i].revents);
        }
    }
    if ((waiting[WEFT_LINES_CONNECTIONS_MAX].revents & POLLIN) != 0) {
        accept_some(self);
    }
    return true;
}

uint32_t weft_line_server_count(const struct weft_line_server *self)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < WEFT_LINES_CONNECTIONS_MAX; i++) {
        count += self->connections[i].fd >= 0;
    }
    return count;
}

void weft_line_server_close(struct weft_line_server *self)
{
    for (uint32_t i = 0; i < WEFT_LINES_CONNECTIONS_MAX; i++) {
        if (self->connections[i].fd >= 0) {
            end(&self->connections[i]);
        }
    }
    if (self->listener >= 0) {
        close(self->listener);
    }
}
