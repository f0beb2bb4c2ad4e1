// SPDX-License-Identifier: Apache-2.0
// The switch emulator: a twin behind HTTP or HTTPS, by libmicrohttpd.
//
// It serves the resources of the YANG module that the RESTCONF driver uses, with the semantics of
// RFC 8040 (4.3 to 4.7): GET reads, PUT replaces a container, POST adds to it, DELETE removes one
// entry. Requests are handled one after the other by the calling thread, as a device with one set
// of mirrors does; a body has a bound, and a client that stays silent is dropped.

#include "libraries.h"
#include "ocs.h"
#include "yang.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BODY_BYTES_MAX = 4 << 20, SILENCE_S = 2, CONNECTIONS_MAX = 64, WAIT_MS = 50 };

struct emulator {
    const struct weft_http_libraries *libraries;
    const struct weft_ocs_emulator *options;
    struct weft_ocs twin;
    uint32_t request_count;
    struct weft_arena arena;
};

// A request under way: its body, as far as it has come.
struct request {
    struct emulator *emulator;
    struct MHD_Connection *connection;
    const char *method;
    char *body;
    size_t bytes;
    bool is_large;
};

// ---- answers ----

// Queues an answer; libmicrohttpd copies the body.
static enum MHD_Result answer(const struct request *request, uint32_t status, const char *body)
{
    const struct weft_http_libraries *libraries = request->emulator->libraries;
    struct MHD_Response *response = libraries->mhd.create_response_from_buffer(
        strlen(body), (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
    if (response == NULL) {
        return MHD_NO;
    }
    libraries->mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                       WEFT_YANG_MEDIA_TYPE);
    enum MHD_Result queued = libraries->mhd.queue_response(request->connection, status, response);
    libraries->mhd.destroy_response(response);
    return queued;
}

// RFC 8040, 7.1.
static enum MHD_Result refuse(const struct request *request, uint32_t status, const char *tag,
                              const char *message)
{
    char body[800];
    snprintf(body, sizeof body,
             "{\"ietf-restconf:errors\":{\"error\":[{\"error-type\":\"application\","
             "\"error-tag\":\"%s\",\"error-message\":\"%s\"}]}}",
             tag, message);
    return answer(request, status, body);
}

// ---- resources ----

static void read_twin(struct emulator *self, uint32_t *outputs)
{
    struct weft_error ignored;
    bool fine = weft_ocs_read(outputs, &self->twin, &ignored);
    WEFT_ASSERT(fine); // a twin can always be read
}

// Moves the twin and answers when its mirrors would have settled.
static enum MHD_Result apply(const struct request *request, const uint32_t *outputs,
                             uint32_t status, struct weft_arena scratch)
{
    struct emulator *self = request->emulator;
    struct weft_ocs_change made;
    struct weft_error error;
    if (!weft_ocs_apply(&made, &self->twin, outputs, scratch, &error)) {
        return refuse(request, 409, "operation-failed", error.message);
    }
    if (made.changed > 0) {
        const struct timespec pause = {.tv_sec = self->options->switch_ms / 1000,
                                       .tv_nsec =
                                           (long)(self->options->switch_ms % 1000) * 1000000};
        nanosleep(&pause, NULL);
    }
    return answer(request, status, "");
}

// The resource `cross-connects`: what each method does to it.
static enum MHD_Result serve_circuits(const struct request *request, const char *rest)
{
    struct emulator *self = request->emulator;
    const char *method = request->method;
    uint32_t n = self->twin.port_count;
    struct weft_arena arena = self->arena;
    uint32_t *outputs = WEFT_NEW(&arena, uint32_t, n);
    struct weft_error error;
    read_twin(self, outputs);
    if (strcmp(method, "DELETE") == 0 && strncmp(rest, "/pair=", 6) == 0) {
        uint64_t input = 0;
        if (!weft_parse_count(&input, rest + 6, 1, n, &error)) {
            return refuse(request, 404, "invalid-value", "no such pair");
        }
        outputs[input - 1] = WEFT_NONE;
        return apply(request, outputs, 204, arena);
    }
    bool puts = strcmp(method, "PUT") == 0;
    if (rest[0] == '\0' && (puts || strcmp(method, "POST") == 0)) {
        bool fine =
            request->bytes > 0 &&
            (puts ? weft_yang_read_circuits(outputs, n, request->body, request->bytes, &error)
                  : weft_yang_read_pairs(outputs, n, request->body, request->bytes, &error));
        return fine ? apply(request, outputs, puts ? 204 : 201, arena)
                    : refuse(request, 400, "invalid-value",
                             "pairs of distinct ingress and an egress of this switch");
    }
    if (rest[0] == '\0' && strcmp(method, "GET") == 0) {
        return answer(request, 200, weft_yang_write_circuits(outputs, n, &arena));
    }
    return refuse(request, 405, "operation-not-supported", "GET, PUT, POST or DELETE pair=N");
}

static bool is_known(const struct request *request)
{
    const struct emulator *self = request->emulator;
    char *password = NULL;
    char *user =
        self->libraries->mhd.basic_auth_get_username_password(request->connection, &password);
    bool known = user != NULL && password != NULL && strcmp(user, self->options->user) == 0 &&
                 strcmp(password, self->options->password) == 0;
    self->libraries->mhd.free(user);
    self->libraries->mhd.free(password);
    return known;
}

// One whole request: the fault that was asked for, who is asking, and which resource.
static enum MHD_Result serve(const struct request *request, const char *path)
{
    struct emulator *self = request->emulator;
    static const char circuits[] = WEFT_YANG_ROOT "cross-connects";
    struct weft_arena arena = self->arena;
    uint32_t n = self->twin.port_count;
    self->request_count++;
    if (self->options->fail_at == self->request_count) {
        return self->options->fail_status == 0 ? MHD_NO // the connection ends without an answer
                                               : refuse(request, self->options->fail_status,
                                                        "operation-failed", "out of order");
    }
    if (!is_known(request)) {
        return refuse(request, 401, "access-denied", "who are you?");
    }
    if (request->is_large) {
        return refuse(request, 413, "too-big", "a body of 4 MiB at most");
    }
    if (strncmp(path, circuits, sizeof circuits - 1) == 0) {
        return serve_circuits(request, path + sizeof circuits - 1);
    }
    bool gets = strcmp(request->method, "GET") == 0;
    if (gets && strcmp(path, WEFT_YANG_ROOT "opm-power") == 0) {
        uint32_t *outputs = WEFT_NEW(&arena, uint32_t, n);
        read_twin(self, outputs);
        return answer(request, 200, weft_yang_write_power(outputs, n, &arena));
    }
    if (gets && strcmp(path, WEFT_YANG_ROOT "port-config") == 0) {
        return answer(request, 200, weft_yang_write_ports(n, &arena));
    }
    return refuse(request, 404, "invalid-value", "no such resource");
}

// ---- connections ----

// libmicrohttpd calls this once with the head of a request, then with each piece of its body, then
// with none.
static enum MHD_Result take(void *context, struct MHD_Connection *connection, const char *path,
                            const char *method, const char *version, const char *data,
                            size_t *bytes, void **state)
{
    (void)version;
    struct request *request = *state;
    if (request == NULL) {
        *state = calloc(1, sizeof *request);
        return *state != NULL ? MHD_YES : MHD_NO;
    }
    if (*bytes == 0) {
        request->emulator = context;
        request->connection = connection;
        request->method = method;
        return serve(request, path);
    }
    if (request->body == NULL) {
        request->body = malloc(BODY_BYTES_MAX);
    }
    if (request->body == NULL || *bytes > BODY_BYTES_MAX - request->bytes) {
        request->is_large = true;
    } else {
        memcpy(request->body + request->bytes, data, *bytes);
        request->bytes += *bytes;
    }
    *bytes = 0;
    return MHD_YES;
}

static void forget(void *context, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode code)
{
    (void)context;
    (void)connection;
    (void)code;
    struct request *request = *state;
    if (request != NULL) {
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

// Starts the server on the loopback address; NULL with an error. libmicrohttpd tells no reason: a
// port that is taken leaves errno, a certificate that TLS refuses does not.
static struct MHD_Daemon *listen_on(struct emulator *self, struct weft_error *error)
{
    const struct weft_ocs_emulator *options = self->options;
    bool secure = options->certificate != NULL;
    const struct sockaddr_in own = {
        .sin_family = AF_INET,
        .sin_port = htons(options->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    // Read by libmicrohttpd only with MHD_USE_TLS.
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)options->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)options->key},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    errno = 0;
    struct MHD_Daemon *daemon = self->libraries->mhd.start_daemon(
        secure ? MHD_USE_ERROR_LOG | MHD_USE_TLS : MHD_USE_ERROR_LOG, options->port, NULL, NULL,
        take, self, MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL, MHD_OPTION_SOCK_ADDR, &own,
        MHD_OPTION_NOTIFY_COMPLETED, forget, NULL, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_ARRAY, secure ? tls : none, MHD_OPTION_END);
    if (daemon == NULL) {
        int number = errno;
        if (secure && number == 0) {
            weft_fail(error, WEFT_INPUT, "certificate and key are no pair that TLS can use");
        } else {
            weft_fail(error, WEFT_IO, "port %u: %s", options->port,
                      number == 0 ? "the HTTP server does not start" : strerrordesc_np(number));
        }
    }
    return daemon;
}

// Everything runs on the caller's thread: libmicrohttpd polls its sockets in run_wait for at most
// WAIT_MS, so that a stop is seen within that time. `all` remembers the whole arena, from which
// self.arena moves on as requests take memory.
bool weft_ocs_emulate(const struct weft_ocs_emulator *emulator, weft_stop stop,
                      void (*ready)(void *context, uint16_t port), void *context,
                      struct weft_error *error)
{
    struct emulator self = {
        .libraries = weft_module_load(&weft_http_module, error),
        .options = emulator,
    };
    if (self.libraries == NULL || !weft_arena_init(&self.arena, 256u << 20, error)) {
        return false;
    }
    struct weft_arena all = self.arena;
    struct MHD_Daemon *daemon = NULL;
    if (weft_ocs_open_twin(&self.twin, emulator->port_count, &self.arena, error)) {
        daemon = listen_on(&self, error);
    }
    if (daemon != NULL) {
        const union MHD_DaemonInfo *bound =
            self.libraries->mhd.get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
        ready(context, bound->port);
        while (!weft_stopped(stop) && self.libraries->mhd.run_wait(daemon, WAIT_MS) == MHD_YES) {
        }
        self.libraries->mhd.stop_daemon(daemon);
    }
    weft_arena_release(&all);
    return daemon != NULL;
}
