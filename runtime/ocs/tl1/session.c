// SPDX-License-Identifier: Apache-2.0
// A TL1 session: connects, logs in, sends batches and gathers their answers (session.h).
//
// Sending and receiving go on at the same time, because a switch may wait for its answers to be
// read before it takes the rest of a batch. Nothing blocks beyond the deadline.

#include "session.h"
#include "runtime/clock.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BYTES_MAX ((size_t)4 << 20) // of answers that were not read yet
#define ARENA_BYTES ((size_t)16 << 20)
#define TAG_MAX 900000u // tags have six digits at most
#define LOGINS_MAX 4u
#define PAUSE_MS 20u // before the second login, twice as long before each other
#define TIMEOUT_MS 5000u
#define TOTAL_MS 10000u

// A batch under way.
struct exchange {
    struct weft_tl1_session *session;
    const struct weft_tl1_batch *batch;
    const char *output;
    size_t output_bytes;
    size_t sent;
    uint32_t first_tag;
    uint32_t left; // answers that have not come
    bool *is_answered;
    uint64_t ends_ms;
    struct weft_error refusal; // of the first command that was denied
};

static uint64_t now_ms(void)
{
    return lab_now_ns() / 1000000;
}

static void disconnect(struct weft_tl1_session *self)
{
    if (self->fd >= 0) {
        close(self->fd);
    }
    self->fd = -1;
    self->bytes = 0;
}

// Waits until something can be read, or also written.
static bool wait_for(const struct exchange *exchange, bool writes, short *events,
                     struct weft_error *error)
{
    struct weft_tl1_session *self = exchange->session;
    struct pollfd waiting = {.fd = self->fd, .events = (short)(POLLIN | (writes ? POLLOUT : 0))};
    uint64_t now = now_ms();
    int ready = 0;
    if (now < exchange->ends_ms) {
        ready = poll(&waiting, 1, (int)(exchange->ends_ms - now));
    }
    if (ready < 0 && errno != EINTR) {
        return weft_fail(error, WEFT_IO, "%s: %s", self->host, strerrordesc_np(errno));
    }
    if (ready == 0) {
        return weft_fail(error, WEFT_IO, "%s: no answer in time (%u ms)", self->host,
                         self->access->timeout_ms);
    }
    *events = ready > 0 ? waiting.revents : 0;
    return true;
}

// ---- connecting ----

static bool fail_connection(const struct weft_tl1_session *self, int code, struct weft_error *error)
{
    return weft_fail(error, WEFT_IO, "%s: %s; is the switch on, and its TL1 enabled?", self->host,
                     strerrordesc_np(code));
}

// HOST[:PORT] or [HOST][:PORT], of IP addresses and localhost.
static bool find_address(struct addrinfo **found, const struct weft_tl1_session *self,
                         struct weft_error *error)
{
    char host[64] = "";
    const char *port = WEFT_TL1_PORT;
    const char *text = self->host;
    const char *end = text[0] == '[' ? strchr(text, ']') : strrchr(text, ':');
    size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
    bool fits = length < sizeof host;
    if (fits && text[0] == '[') {
        memcpy(host, text + 1, length > 0 ? length - 1 : 0);
        port = end != NULL && end[1] == ':' ? end + 2 : WEFT_TL1_PORT;
        fits = end != NULL && (end[1] == ':' || end[1] == '\0');
    } else if (fits) {
        memcpy(host, text, length);
        port = end != NULL ? end + 1 : WEFT_TL1_PORT;
    }
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    bool local = strcmp(host, "localhost") == 0;
    return (fits && getaddrinfo(local ? "127.0.0.1" : host, port, &hints, found) == 0) ||
           weft_fail(error, WEFT_INPUT,
                     "%.100s: no IP address; write tl1+calient://ADDRESS[:PORT] or "
                     "tl1+polatis://ADDRESS[:PORT]",
                     self->access->address);
}

static bool connect_to(struct weft_tl1_session *self, struct weft_error *error)
{
    struct addrinfo *found = NULL;
    const struct exchange exchange = {.session = self,
                                      .ends_ms = now_ms() + self->access->timeout_ms < self->ends_ms
                                                     ? now_ms() + self->access->timeout_ms
                                                     : self->ends_ms};
    if (!find_address(&found, self, error)) {
        return false;
    }
    self->fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int code =
        self->fd < 0 || connect(self->fd, found->ai_addr, found->ai_addrlen) != 0 ? errno : 0;
    freeaddrinfo(found);
    short events = 0;
    while (code == EINPROGRESS && events == 0) {
        socklen_t size = sizeof code;
        if (!wait_for(&exchange, true, &events, error)) {
            return false;
        }
        if (events != 0) {
            getsockopt(self->fd, SOL_SOCKET, SO_ERROR, &code, &size);
        }
    }
    return code == 0 || fail_connection(self, code, error);
}

// ---- answers ----

// The reason of a denial: a code and most often a comment.
static void quote_reason(char *text, size_t size, const struct weft_tl1_span *body)
{
    size_t length = 0;
    for (size_t i = 0; i < body->length && length + 1 < size; i++) {
        char c = body->text[i];
        bool is_blank = c == '\r' || c == '\n' || c == ' ' || c == '\t';
        if (!is_blank) {
            text[length++] = c;
        } else if (length > 0 && text[length - 1] != ' ') {
            text[length++] = ' ';
        }
    }
    text[length] = '\0';
}

static void note_denial(struct exchange *exchange, uint32_t index, const struct weft_tl1_span *body)
{
    char reason[120];
    const char *command = exchange->batch->commands[index];
    const char *host = exchange->session->host;
    bool logs_in = strncmp(command, "ACT-USER", 8) == 0;
    quote_reason(reason, sizeof reason, body);
    if (exchange->refusal.code != WEFT_OK) {
        return;
    }
    // Privilege, invalid user identifier; login not active.
    bool is_right = strncmp(reason, "PI", 2) == 0 || strncmp(reason, "PLNA", 4) == 0;
    if (logs_in || is_right) {
        weft_fail(&exchange->refusal, WEFT_UNSUPPORTED,
                  "%s: %.40s is not permitted (%s); name a file of mode 0600 with NAME:PASSWORD of "
                  "a user that may",
                  host, logs_in ? "ACT-USER" : command, reason);
        weft_remedy(&exchange->refusal, "credentials", "FILE");
        return;
    }
    weft_fail(&exchange->refusal, WEFT_IO, "%s: %.60s denied: %s", host, command, reason);
}

// Takes one message. False: no answer to this batch is read further.
static bool take_message(struct exchange *exchange, const struct weft_tl1_message *message,
                         struct weft_error *error)
{
    const struct weft_tl1_batch *batch = exchange->batch;
    uint32_t index = message->tag - exchange->first_tag;
    if (message->kind == WEFT_TL1_OTHER || index >= batch->count || exchange->is_answered[index]) {
        return true;
    }
    if (message->kind == WEFT_TL1_DENIED) {
        note_denial(exchange, index, &message->body);
    } else if (batch->take != NULL) {
        struct weft_tl1_span line;
        for (size_t at = 0; weft_tl1_next_line(&line, &at, &message->body);) {
            if (!batch->take(batch->context, &line, error)) {
                return weft_wrap(error, "%s", exchange->session->host);
            }
        }
    }
    if (message->is_last) {
        exchange->is_answered[index] = true;
        exchange->left--;
    }
    return true;
}

// Reads what has come, and takes its whole messages.
static bool receive(struct exchange *exchange, struct weft_error *error)
{
    struct weft_tl1_session *self = exchange->session;
    ssize_t got = recv(self->fd, self->data + self->bytes, BYTES_MAX - self->bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    if (got <= 0) {
        self->was_cut = self->bytes == 0 && exchange->left == exchange->batch->count;
        return self->bytes == BYTES_MAX
                   ? weft_fail(error, WEFT_IO, "%s: an answer is larger than %zu bytes", self->host,
                               BYTES_MAX)
                   : weft_fail(error, WEFT_IO, "%s: the answer broke off", self->host);
    }
    self->bytes += (size_t)got;
    size_t read = 0;
    bool fine = true;
    for (size_t length = 1; length > 0 && fine && exchange->left > 0; read += length) {
        struct weft_tl1_message message;
        length = weft_tl1_read_message(&message, self->data + read, self->bytes - read);
        fine = length == 0 || take_message(exchange, &message, error);
    }
    memmove(self->data, self->data + read, self->bytes - read);
    self->bytes -= read;
    return fine;
}

static bool send_some(struct exchange *exchange, struct weft_error *error)
{
    struct weft_tl1_session *self = exchange->session;
    ssize_t put = send(self->fd, exchange->output + exchange->sent,
                       exchange->output_bytes - exchange->sent, MSG_NOSIGNAL);
    if (put < 0 && errno != EAGAIN && errno != EINTR) {
        self->was_cut = exchange->left == exchange->batch->count;
        return weft_fail(error, WEFT_IO, "%s: %s", self->host, strerrordesc_np(errno));
    }
    exchange->sent += put > 0 ? (size_t)put : 0;
    return true;
}

// ---- batches ----

// All commands with their tags, one a line.
static void write_commands(struct exchange *exchange, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    for (uint32_t i = 0; i < exchange->batch->count; i++) {
        const char *command = exchange->batch->commands[i];
        const char *end = strchr(command, '\n');
        WEFT_ASSERT(end != NULL);
        weft_text_add(&text, "%.*s:%u:%s;\n", (int)(end - command), command,
                      exchange->first_tag + i, end + 1);
    }
    exchange->output = text.data;
    exchange->output_bytes = text.length;
}

static bool ask(struct weft_tl1_session *self, const struct weft_tl1_batch *batch,
                struct weft_error *error)
{
    struct weft_arena arena = self->own;
    uint64_t now = now_ms();
    struct exchange exchange = {
        .session = self,
        .batch = batch,
        .first_tag = self->tag,
        .left = batch->count,
        .is_answered = WEFT_NEW(&arena, bool, batch->count),
        .ends_ms = now + self->access->timeout_ms < self->ends_ms ? now + self->access->timeout_ms
                                                                  : self->ends_ms,
        .refusal = {.code = WEFT_OK},
    };
    self->was_cut = false;
    self->tag = self->tag > TAG_MAX ? 1 : self->tag + batch->count;
    write_commands(&exchange, &arena);
    while (exchange.left > 0) {
        short events = 0;
        bool writes = exchange.sent < exchange.output_bytes;
        if (!wait_for(&exchange, writes, &events, error) ||
            ((events & POLLOUT) != 0 && !send_some(&exchange, error)) ||
            ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && !receive(&exchange, error))) {
            disconnect(self);
            return false;
        }
    }
    if (exchange.refusal.code != WEFT_OK) {
        *error = exchange.refusal;
    }
    return exchange.refusal.code == WEFT_OK;
}

static bool log_in(struct weft_tl1_session *self, struct weft_error *error)
{
    const struct weft_tl1_batch batch = {.commands = &self->login, .count = 1};
    return ask(self, &batch, error);
}

bool weft_tl1_ask(struct weft_tl1_session *self, const struct weft_tl1_batch *batch,
                  struct weft_error *error)
{
    if (now_ms() >= self->ends_ms) {
        return weft_fail(error, WEFT_IO, "%s: not done in time (%u ms)", self->host,
                         self->access->total_ms);
    }
    self->was_cut = false;
    for (uint32_t i = 1; self->fd < 0 && !(connect_to(self, error) && log_in(self, error)); i++) {
        uint64_t next_ms = now_ms() + ((uint64_t)PAUSE_MS << (i - 1));
        disconnect(self);
        if (!self->was_cut || i == LOGINS_MAX || next_ms >= self->ends_ms) {
            return false;
        }
        lab_sleep_until(next_ms * 1000000);
    }
    return ask(self, batch, error);
}

bool weft_tl1_ask_one(struct weft_tl1_session *self, const char *command,
                      bool (*take)(void *context, const struct weft_tl1_span *line,
                                   struct weft_error *error),
                      void *context, struct weft_error *error)
{
    const struct weft_tl1_batch batch = {&command, 1, take, context};
    return weft_tl1_ask(self, &batch, error);
}

void weft_tl1_begin(struct weft_tl1_session *self)
{
    // A switch ends sessions in which nothing is said for long.
    char byte;
    if (self->fd >= 0 && recv(self->fd, &byte, 1, MSG_PEEK) == 0) {
        disconnect(self);
    }
    self->ends_ms = now_ms() + self->access->total_ms;
}

bool weft_tl1_open(struct weft_tl1_session *self, struct weft_ocs_access *access,
                   struct weft_arena *arena, struct weft_error *error)
{
    const char *host = strstr(access->address, "://");
    WEFT_ASSERT(host != NULL);
    access->timeout_ms = access->timeout_ms == 0 ? TIMEOUT_MS : access->timeout_ms;
    access->total_ms = access->total_ms == 0 ? TOTAL_MS : access->total_ms;
    const char *user = weft_tl1_quote(access->user != NULL ? access->user : "", arena);
    const char *password = weft_tl1_quote(access->password != NULL ? access->password : "", arena);
    *self = (struct weft_tl1_session){
        .access = access,
        .host = weft_arena_text(arena, host + 3, strcspn(host + 3, "/")),
        .login = weft_arena_format(arena, "ACT-USER::%s\n:%s", user, password),
        .fd = -1,
        .tag = 1,
    };
    struct addrinfo *found = NULL;
    if (!find_address(&found, self, error)) {
        return false;
    }
    freeaddrinfo(found);
    if (!weft_arena_init(&self->arena, ARENA_BYTES, error)) {
        return false;
    }
    if (!weft_arena_init(&self->own, ARENA_BYTES, error)) {
        weft_arena_release(&self->arena);
        return false;
    }
    self->data = weft_arena_alloc_raw(&self->own, BYTES_MAX, 1);
    weft_tl1_begin(self);
    return true;
}

void weft_tl1_close(struct weft_tl1_session *self)
{
    disconnect(self);
    weft_arena_release(&self->own);
    weft_arena_release(&self->arena);
}
