// SPDX-License-Identifier: Apache-2.0
// The HTTP server of the switch emulator, by libmicrohttpd in its external event loop.
//
// Connections are accepted here and handed over, because libmicrohttpd's own limits hold the next
// client out where these let the oldest stranger go. A connection that is to end has its socket
// shut down, which libmicrohttpd takes for the end of the client. What takes time (mirrors that
// move, the pause before wrong credentials are answered) suspends its connection and no other.

#include "server.h"
#include "loopback.h"

#include "runtime/clock.h"
#include "runtime/ocs/libraries.h"
#include "runtime/secret.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    ACCEPTS_A_TURN = 32,
    // Those that were ended are there until libmicrohttpd's next turn.
    SLOTS = WEFT_HTTP_CONNECTIONS_MAX + 2 * ACCEPTS_A_TURN,
    POOL_BYTES = 32 << 10, // for a request's head
    TOO_LARGE = 413,
    // What a handshake of TLS, several turns of both ends, has at least at a cap.
    HANDSHAKE_MS = 50,
};

// A connection.
struct slot {
    struct weft_http_server *server;
    struct MHD_Connection *connection; // NULL = not begun by libmicrohttpd yet
    int fd;                            // -1 = free
    uint32_t address;
    uint64_t begun_ns;
    uint64_t ends_ns;
    uint64_t wakes_ns; // suspended until then; 0 = not suspended
    bool is_known;     // showed the password
    bool is_ending;
};

// A request under way: its body, as far as it has come, then its answer.
struct request {
    char *body;
    size_t bytes;
    bool is_known;
    bool is_handled;
    uint32_t status;
    uint64_t ready_ns; // when the answer may be given
    struct MHD_Response *response;
};

struct weft_http_server {
    const struct weft_http_libraries *libraries;
    const struct weft_http_service *service;
    struct weft_arena arena; // each call begins anew in it
    struct MHD_Daemon *daemon;
    int listener;       // -1 = none
    uint64_t idle_ns;   // what was asked for has happened by then
    uint64_t accept_ns; // none is accepted until then
    struct slot slots[SLOTS];
};

static uint64_t after_ms(uint32_t ms)
{
    return lab_now_ns() + (uint64_t)ms * 1000000u;
}

// ---- connections ----

static void end(struct slot *slot)
{
    if (!slot->is_ending) {
        slot->is_ending = true;
        shutdown(slot->fd, SHUT_RDWR);
    }
    if (slot->wakes_ns != 0) {
        slot->wakes_ns = 0;
        slot->server->libraries->mhd.resume_connection(slot->connection);
    }
}

// At a cap connections are accepted so slowly that each has the time of a handshake before it is
// the oldest: without that, whoever connects often enough holds out all who need several turns.
// Those of the last moment may come at once, as waits are no shorter than 1 ms.
static void hold_off(struct weft_http_server *self)
{
    enum { MOMENT_MS = 5 };
    if (self->service->certificate != NULL) {
        uint64_t then = lab_now_ns() - MOMENT_MS * 1000000u;
        self->accept_ns = (self->accept_ns > then ? self->accept_ns : then) +
                          HANDSHAKE_MS * 1000000u / WEFT_HTTP_ADDRESS_MAX;
    }
}

// Makes room for a connection from this address: at a cap the oldest one that has not shown the
// password ends, of that address or of all. False where all have.
static bool make_room(struct weft_http_server *self, uint32_t address)
{
    struct slot *oldest[2] = {NULL, NULL}; // of the address, of all
    uint32_t counts[2] = {0, 0};
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &self->slots[i];
        if (slot->fd < 0 || slot->is_ending) {
            continue;
        }
        for (int of_all = slot->address == address ? 0 : 1; of_all < 2; of_all++) {
            struct slot **old = &oldest[of_all];
            counts[of_all]++;
            if (!slot->is_known && (*old == NULL || slot->begun_ns < (*old)->begun_ns)) {
                *old = slot;
            }
        }
    }
    int full = counts[0] >= WEFT_HTTP_ADDRESS_MAX       ? 0
               : counts[1] >= WEFT_HTTP_CONNECTIONS_MAX ? 1
                                                        : 2;
    if (full < 2 && oldest[full] != NULL) {
        end(oldest[full]);
        hold_off(self);
    }
    return full == 2 || oldest[full] != NULL;
}

// libmicrohttpd calls this when a connection begins and ends.
static void follow(void *context, struct MHD_Connection *connection, void **socket_context,
                   enum MHD_ConnectionNotificationCode code)
{
    struct weft_http_server *self = context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        struct slot *ended = *socket_context;
        if (ended != NULL) {
            *ended = (struct slot){.fd = -1};
        }
        return;
    }
    const union MHD_ConnectionInfo *info =
        self->libraries->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *socket_context = NULL;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (self->slots[i].fd == info->connect_fd) {
            self->slots[i].connection = connection;
            *socket_context = &self->slots[i];
        }
    }
}

static struct slot *slot_of(const struct weft_http_server *self, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        self->libraries->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

// ---- answers ----

static bool prepare(const struct weft_http_server *self, struct request *request, uint32_t status,
                    const char *body)
{
    const struct weft_http_libraries *libraries = self->libraries;
    request->is_handled = true;
    request->status = status;
    request->response = libraries->mhd.create_response_from_buffer(
        strlen(body), (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
    if (request->response == NULL) {
        return false;
    }
    libraries->mhd.add_response_header(request->response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                       self->service->media_type);
    if (!request->is_known || status == TOO_LARGE) {
        libraries->mhd.add_response_header(request->response, MHD_HTTP_HEADER_CONNECTION, "close");
    }
    return true;
}

static bool refuse(const struct weft_http_server *self, struct request *request)
{
    request->ready_ns = after_ms(self->service->refusal_ms);
    return prepare(self, request, MHD_HTTP_UNAUTHORIZED,
                   "{\"ietf-restconf:errors\":{\"error\":[{\"error-type\":\"protocol\","
                   "\"error-tag\":\"access-denied\"}]}}");
}

static bool is_known(const struct weft_http_server *self, struct MHD_Connection *connection)
{
    char *password = NULL;
    char *user = self->libraries->mhd.basic_auth_get_username_password(connection, &password);
    bool user_fits = weft_secret_is(user != NULL ? user : "", self->service->user);
    bool password_fits = weft_secret_is(password != NULL ? password : "", self->service->password);
    self->libraries->mhd.free(user);
    self->libraries->mhd.free(password);
    return user_fits & password_fits;
}

struct handling {
    struct weft_http_server *server;
    struct request *request;
    const struct weft_http_call *call;
    bool fine;
};

static bool handle_guarded(void *context)
{
    struct handling *handling = context;
    struct weft_http_server *self = handling->server;
    struct weft_http_answer answer = {0};
    self->service->handle(self->service->context, &answer, handling->call, self->arena);
    if (answer.wait_ms > 0) {
        self->idle_ns = after_ms(answer.wait_ms);
        handling->request->ready_ns = self->idle_ns;
    }
    handling->fine =
        answer.status != 0 && prepare(self, handling->request, answer.status, answer.body);
    return true;
}

// Has a whole request answered; memory that is short is an answer, too.
static bool handle(struct weft_http_server *self, struct request *request, const char *method,
                   const char *path)
{
    const struct weft_http_call call = {method, path, request->body, request->bytes};
    struct handling handling = {self, request, &call, false};
    struct weft_error error;
    return weft_guard_until(handle_guarded, &handling, NULL, &error)
               ? handling.fine
               : prepare(self, request, MHD_HTTP_INTERNAL_SERVER_ERROR, "");
}

// ---- requests ----

// Suspends the connection until then.
static enum MHD_Result wait_until(struct slot *slot, uint64_t time_ns)
{
    slot->wakes_ns = time_ns;
    slot->server->libraries->mhd.suspend_connection(slot->connection);
    return MHD_YES;
}

// The head of a request: who asks, and whether the body that it announces has a place.
static enum MHD_Result begin(struct weft_http_server *self, struct slot *slot, void **state)
{
    struct request *request = calloc(1, sizeof *request);
    *state = request;
    if (request == NULL) {
        return MHD_NO;
    }
    request->is_known = is_known(self, slot->connection);
    slot->is_known = request->is_known;
    const char *length = self->libraries->mhd.lookup_connection_value(
        slot->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (length != NULL && strtoull(length, NULL, 10) > self->service->body_bytes_max) {
        uint32_t status = request->is_known ? TOO_LARGE : MHD_HTTP_UNAUTHORIZED;
        return prepare(self, request, status, "") ? self->libraries->mhd.queue_response(
                                                        slot->connection, status, request->response)
                                                  : MHD_NO;
    }
    return MHD_YES;
}

// A piece of a body, of which strangers' are not kept.
static enum MHD_Result take_piece(const struct weft_http_server *self, struct request *request,
                                  const char *data, size_t bytes)
{
    size_t most = self->service->body_bytes_max;
    if (bytes > most - request->bytes) {
        return MHD_NO;
    }
    if (request->is_known && request->body == NULL) {
        request->body = malloc(most);
        if (request->body == NULL) {
            return MHD_NO;
        }
    }
    if (request->is_known) {
        memcpy(request->body + request->bytes, data, bytes);
    }
    request->bytes += bytes;
    return MHD_YES;
}

// libmicrohttpd calls this once with the head of a request, then with each piece of its body, then
// with none until there is an answer.
static enum MHD_Result take(void *context, struct MHD_Connection *connection, const char *path,
                            const char *method, const char *version, const char *data,
                            size_t *bytes, void **state)
{
    (void)version;
    struct weft_http_server *self = context;
    struct request *request = *state;
    struct slot *slot = slot_of(self, connection);
    if (slot == NULL || slot->is_ending) {
        return MHD_NO;
    }
    if (request == NULL) {
        return begin(self, slot, state);
    }
    if (*bytes > 0) {
        size_t piece = *bytes;
        *bytes = 0;
        return take_piece(self, request, data, piece);
    }
    uint64_t now = lab_now_ns();
    if (!request->is_handled && request->is_known && now < self->idle_ns) {
        return wait_until(slot, self->idle_ns);
    }
    if (!request->is_handled &&
        !(request->is_known ? handle(self, request, method, path) : refuse(self, request))) {
        return MHD_NO;
    }
    if (now < request->ready_ns) {
        return wait_until(slot, request->ready_ns);
    }
    return self->libraries->mhd.queue_response(connection, request->status, request->response);
}

// A request is over. Whoever showed the password has the whole deadline for the next one.
static void forget(void *context, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode code)
{
    (void)code;
    struct weft_http_server *self = context;
    struct request *request = *state;
    struct slot *slot = slot_of(self, connection);
    if (request != NULL) {
        if (slot != NULL && request->is_known) {
            slot->ends_ns = after_ms(self->service->deadline_ms);
        }
        if (request->response != NULL) {
            self->libraries->mhd.destroy_response(request->response);
        }
        free(request->body);
        free(request);
    }
    *state = NULL;
}

static void say_nothing(void *context, const char *format, va_list arguments)
{
    (void)context;
    (void)format;
    (void)arguments;
}

// ---- the server ----

struct weft_http_server *weft_http_server_open(const struct weft_http_service *service,
                                               struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_http_libraries *libraries = weft_module_load(&weft_http_module, error);
    if (libraries == NULL) {
        return NULL;
    }
    struct weft_http_server *self = WEFT_NEW(arena, struct weft_http_server, 1);
    *self = (struct weft_http_server){.libraries = libraries, .service = service, .listener = -1};
    for (uint32_t i = 0; i < SLOTS; i++) {
        self->slots[i].fd = -1;
    }
    bool secure = service->certificate != NULL;
    // Read by libmicrohttpd only with MHD_USE_TLS.
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)service->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)service->key},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    self->daemon = libraries->mhd.start_daemon(
        MHD_USE_ERROR_LOG | MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
            (secure ? MHD_USE_TLS : 0),
        0, NULL, NULL, take, self, MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, forget, self, MHD_OPTION_NOTIFY_CONNECTION, follow, self,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)service->silence_s, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)SLOTS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_ARRAY,
        secure ? tls : none, MHD_OPTION_END);
    if (self->daemon == NULL) {
        // libmicrohttpd tells no reason.
        if (secure) {
            weft_fail(error, WEFT_INPUT, "certificate and key are no pair that TLS can use");
        } else {
            weft_fail(error, WEFT_IO, "the HTTP server does not start");
        }
        return NULL;
    }
    self->arena = weft_arena_split(arena);
    return self;
}

uint16_t weft_http_server_listen(struct weft_http_server *self, uint16_t port,
                                 struct weft_error *error)
{
    return weft_loopback_listen(&self->listener, port, error);
}

static struct slot *find_free(struct weft_http_server *self)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (self->slots[i].fd < 0) {
            return &self->slots[i];
        }
    }
    return NULL;
}

void weft_http_server_add(struct weft_http_server *self, int fd, uint32_t address)
{
    const struct sockaddr_in far = {.sin_family = AF_INET, .sin_addr.s_addr = address};
    struct slot *slot = make_room(self, address) ? find_free(self) : NULL;
    if (slot == NULL) {
        close(fd);
        return;
    }
    *slot = (struct slot){
        .server = self,
        .fd = fd,
        .address = address,
        .begun_ns = lab_now_ns(),
        .ends_ns = after_ms(self->service->deadline_ms),
    };
    // On failure the socket is closed.
    if (self->libraries->mhd.add_connection(self->daemon, fd, (const struct sockaddr *)&far,
                                            sizeof far) != MHD_YES) {
        slot->fd = -1;
    }
}

static void accept_some(struct weft_http_server *self)
{
    for (int i = 0; i < ACCEPTS_A_TURN && self->accept_ns <= lab_now_ns(); i++) {
        struct sockaddr_in far = {0};
        socklen_t size = sizeof far;
        int fd =
            accept4(self->listener, (struct sockaddr *)&far, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        weft_http_server_add(self, fd, far.sin_addr.s_addr);
    }
}

// Ends what is past its deadline, wakes what waited for now, and tells how long nothing of this
// will be due, wait_ms at most.
static uint32_t keep_time(struct weft_http_server *self, uint32_t wait_ms)
{
    uint64_t now = lab_now_ns();
    uint64_t next = now + (uint64_t)wait_ms * 1000000u;
    if (self->accept_ns > now && self->accept_ns < next) {
        next = self->accept_ns;
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &self->slots[i];
        if (slot->connection == NULL || slot->is_ending) {
            continue;
        }
        if (slot->wakes_ns != 0 && slot->wakes_ns <= now) {
            slot->wakes_ns = 0;
            slot->ends_ns = after_ms(self->service->deadline_ms);
            self->libraries->mhd.resume_connection(slot->connection);
            next = now;
        } else if (slot->wakes_ns == 0 && slot->ends_ns <= now) {
            end(slot);
            next = now;
        }
        uint64_t due = slot->wakes_ns != 0 ? slot->wakes_ns : slot->ends_ns;
        next = due < next ? due : next;
    }
    return next <= now ? 0 : (uint32_t)((next - now + 999999) / 1000000);
}

bool weft_http_server_turn(struct weft_http_server *self, uint32_t wait_ms,
                           struct weft_error *error)
{
    const struct weft_http_libraries *libraries = self->libraries;
    const union MHD_DaemonInfo *info =
        libraries->mhd.get_daemon_info(self->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    MHD_UNSIGNED_LONG_LONG due_ms = 0;
    uint32_t left_ms = keep_time(self, wait_ms);
    if (libraries->mhd.get_timeout(self->daemon, &due_ms) == MHD_YES && due_ms < left_ms) {
        left_ms = (uint32_t)due_ms;
    }
    struct pollfd waiting[2] = {
        {.fd = info->epoll_fd, .events = POLLIN},
        {.fd = self->accept_ns <= lab_now_ns() ? self->listener : -1, .events = POLLIN},
    };
    if (poll(waiting, 2, (int)left_ms) < 0 && errno != EINTR) {
        return weft_fail(error, WEFT_IO, "waiting for requests: %s", strerrordesc_np(errno));
    }
    if ((waiting[1].revents & POLLIN) != 0) {
        accept_some(self);
    }
    if (libraries->mhd.run(self->daemon) != MHD_YES) {
        return weft_fail(error, WEFT_IO, "the HTTP server does not go on");
    }
    // Those that libmicrohttpd could not begin are closed.
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (self->slots[i].connection == NULL) {
            self->slots[i].fd = -1;
        }
    }
    return true;
}

uint32_t weft_http_server_count(const struct weft_http_server *self)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        count += self->slots[i].fd >= 0;
    }
    return count;
}

void weft_http_server_close(struct weft_http_server *self)
{
    // libmicrohttpd aborts where it is stopped with connections that are suspended.
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (self->slots[i].connection != NULL) {
            end(&self->slots[i]);
        }
    }
    self->libraries->mhd.stop_daemon(self->daemon);
    if (self->listener >= 0) {
        close(self->listener);
    }
}
