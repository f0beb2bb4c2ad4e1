// SPDX-License-Identifier: Apache-2.0
// An HTTP exchange by libcurl, with bounds on what the far end may do.
//
// libcurl's options are set one by one and its failures are told as what an operator can do about
// them. The answer is collected in a buffer of WEFT_HTTP_BYTES_MAX at the end of the arena, of
// which only what was filled is kept.

#include "http.h"
#include "libraries.h"
#include "runtime/clock.h"

#include <errno.h>
#include <string.h>

const struct weft_module weft_http_module = {
    .file = "weft-http.so",
    .symbol = "weft_http_libraries",
    .remedy = "it speaks to switches over HTTP: install Weft and the packages it needs anew",
};

enum {
    HEAD_BYTES_MAX = 64 << 10,
    // A server that is short of connections ends the oldest one of those whose request it does not
    // have yet, which can be ours.
    ASKS_MAX = 4,
    PAUSE_MS = 20, // before the first repetition, twice as long before each other
};

struct sink {
    char *data; // WEFT_HTTP_BYTES_MAX + 1
    size_t bytes;
    size_t head_bytes;
    bool is_full;
};

// One exchange under way.
struct exchange {
    const struct weft_http_libraries *libraries;
    const struct weft_http_request *request;
    CURL *handle;
    struct curl_slist *headers;
    struct sink sink;
    char words[CURL_ERROR_SIZE]; // libcurl's, on failure
};

// Receives a piece of the answer from libcurl; taking less than given ends the exchange.
static size_t collect(char *data, size_t size, size_t count, void *context)
{
    struct sink *sink = context;
    size_t bytes = size * count;
    if (bytes > WEFT_HTTP_BYTES_MAX - sink->bytes) {
        sink->is_full = true;
        return 0; // ends the exchange
    }
    memcpy(sink->data + sink->bytes, data, bytes);
    sink->bytes += bytes;
    return bytes;
}

// Counts what comes before and behind the answer's body; libcurl keeps all of it otherwise.
static size_t count_head(char *data, size_t size, size_t count, void *context)
{
    (void)data;
    struct sink *sink = context;
    size_t bytes = size * count;
    if (bytes > HEAD_BYTES_MAX - sink->head_bytes) {
        sink->is_full = true;
        return 0; // ends the exchange
    }
    sink->head_bytes += bytes;
    return bytes;
}

// A failure of libcurl in one line: the address, what happened, what to do about it.
static bool tell_failure(CURLcode code, const struct exchange *self, struct weft_error *error)
{
    const struct weft_http_request *request = self->request;
    const char *words = self->words;
    // Without the path: the address is what the operator gave.
    const char *host = strstr(request->url, "://");
    host = host != NULL ? host + 3 : request->url;
    int length = (int)strcspn(host, "/");
    long number = 0;
    // libcurl calls a line of the head that is too long for it a lack of memory.
    if (self->sink.is_full || code == CURLE_FILESIZE_EXCEEDED || code == CURLE_OUT_OF_MEMORY) {
        return weft_fail(error, WEFT_IO,
                         "%.*s: the answer is larger than %u bytes, or its head than %u", length,
                         host, WEFT_HTTP_BYTES_MAX, HEAD_BYTES_MAX);
    }
    switch ((int)code) {
    case CURLE_COULDNT_CONNECT:
        self->libraries->curl.easy_getinfo(self->handle, CURLINFO_OS_ERRNO, &number);
        return weft_fail(error, WEFT_IO, "%.*s: %s; is the switch on, and its RESTCONF enabled?",
                         length, host, strerrordesc_np(number != 0 ? (int)number : ECONNREFUSED));
    case CURLE_COULDNT_RESOLVE_HOST:
        return weft_fail(error, WEFT_IO, "%.*s: there is no host of this name; write HOST:PORT",
                         length, host);
    case CURLE_OPERATION_TIMEDOUT:
        return weft_fail(error, WEFT_IO, "%.*s: no answer in time (%u ms)", length, host,
                         request->deadline_ms);
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return weft_fail(error, WEFT_IO, "%.*s: the answer broke off", length, host);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_BAD_FUNCTION_ARGUMENT: // a line of the head without a colon
        return weft_fail(error, WEFT_IO, "%.*s: the answer is no HTTP; is that the switch's port?",
                         length, host);
    case CURLE_URL_MALFORMAT:
        return weft_fail(error, WEFT_INPUT, "%.*s: no address; write HOST:PORT or https://HOST",
                         length, host);
    case CURLE_SSL_CONNECT_ERROR:
        return weft_fail(error, WEFT_IO, "%.*s: no TLS there (%.120s); is that its HTTPS port?",
                         length, host, words);
    case CURLE_PEER_FAILED_VERIFICATION:
        weft_fail(error, WEFT_IO,
                  "%.*s: its certificate is not trusted (%.120s); name the file of the CA that "
                  "signed it",
                  length, host, words);
        return weft_remedy(error, "ca", "FILE");
    case CURLE_SSL_CACERT_BADFILE:
        return weft_fail(error, WEFT_INPUT, "%.200s: no file of certificates (PEM)",
                         request->ca_file != NULL ? request->ca_file : "the system's CAs");
    default:
        return weft_fail(error, WEFT_IO, "%.*s: the exchange failed (libcurl: %d) %.200s", length,
                         host, (int)code, words);
    }
}

// What the far end may do: protocols, time, size, and nothing on its own. Without a quick exit a
// name server that is silent holds up the end of the exchange, beyond its deadline.
static bool set_bounds(const struct exchange *self)
{
    __typeof__(curl_easy_setopt) *set = self->libraries->curl.easy_setopt;
    CURL *handle = self->handle;
    return set(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           set(handle, CURLOPT_TIMEOUT_MS, (long)self->request->deadline_ms) == CURLE_OK &&
           set(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           set(handle, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK &&
           set(handle, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           set(handle, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
           set(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK &&
           set(handle, CURLOPT_HTTP09_ALLOWED, 0L) == CURLE_OK &&
           set(handle, CURLOPT_PROXY, "") == CURLE_OK &&
           set(handle, CURLOPT_MAXFILESIZE, (long)WEFT_HTTP_BYTES_MAX) == CURLE_OK;
}

// Who is trusted and who asks.
static bool set_security(const struct exchange *self)
{
    __typeof__(curl_easy_setopt) *set = self->libraries->curl.easy_setopt;
    const struct weft_http_request *request = self->request;
    CURL *handle = self->handle;
    bool fine = set(handle, CURLOPT_SSL_VERIFYPEER, request->insecure ? 0L : 1L) == CURLE_OK &&
                set(handle, CURLOPT_SSL_VERIFYHOST, request->insecure ? 0L : 2L) == CURLE_OK;
    if (request->ca_file != NULL) {
        fine = fine && set(handle, CURLOPT_CAINFO, request->ca_file) == CURLE_OK;
    }
    if (request->user != NULL) {
        fine = fine && set(handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC) == CURLE_OK &&
               set(handle, CURLOPT_USERNAME, request->user) == CURLE_OK &&
               set(handle, CURLOPT_PASSWORD, request->password) == CURLE_OK;
    }
    return fine;
}

// What is asked for and where the answer goes.
static bool set_request(struct exchange *self)
{
    __typeof__(curl_easy_setopt) *set = self->libraries->curl.easy_setopt;
    const struct weft_http_request *request = self->request;
    CURL *handle = self->handle;
    bool fine = set(handle, CURLOPT_URL, request->url) == CURLE_OK &&
                set(handle, CURLOPT_HTTPHEADER, self->headers) == CURLE_OK &&
                set(handle, CURLOPT_ERRORBUFFER, self->words) == CURLE_OK &&
                set(handle, CURLOPT_WRITEFUNCTION, collect) == CURLE_OK &&
                set(handle, CURLOPT_WRITEDATA, &self->sink) == CURLE_OK &&
                set(handle, CURLOPT_HEADERFUNCTION, count_head) == CURLE_OK &&
                set(handle, CURLOPT_HEADERDATA, &self->sink) == CURLE_OK;
    if (request->body != NULL) {
        // The default is POST for a request with a body; the line below names what was asked for.
        fine = fine && set(handle, CURLOPT_POSTFIELDS, request->body) == CURLE_OK;
    }
    return fine && set(handle, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK;
}

// NULL where memory is short.
static struct curl_slist *list_headers(const struct weft_http_libraries *libraries,
                                       const char *media_type, struct weft_arena scratch)
{
    const char *lines[] = {
        weft_arena_format(&scratch, "Accept: %s", media_type),
        weft_arena_format(&scratch, "Content-Type: %s", media_type),
        "Expect:", // no wait for "100 Continue" before the body
    };
    struct curl_slist *headers = NULL;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct curl_slist *longer = libraries->curl.slist_append(headers, lines[i]);
        if (longer == NULL) {
            libraries->curl.slist_free_all(headers);
            return NULL;
        }
        headers = longer;
    }
    return headers;
}

// Asks until there is a byte of an answer or something else than the end of the connection,
// ASKS_MAX times at most and in the one deadline.
static CURLcode ask(const struct exchange *self)
{
    const struct weft_http_libraries *libraries = self->libraries;
    uint64_t ends_ns = lab_now_ns() + self->request->deadline_ms * 1000000ull;
    for (uint32_t i = 1;; i++) {
        CURLcode code = libraries->curl.easy_perform(self->handle);
        bool broke_off = code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR ||
                         code == CURLE_SEND_ERROR || code == CURLE_SSL_CONNECT_ERROR;
        uint64_t next_ns = lab_now_ns() + ((uint64_t)PAUSE_MS << (i - 1)) * 1000000;
        if (!broke_off || self->sink.bytes + self->sink.head_bytes > 0 || i == ASKS_MAX ||
            next_ns + 1000000 > ends_ns) {
            return code;
        }
        lab_sleep_until(next_ns);
        long left_ms = (long)((ends_ns - next_ns) / 1000000);
        if (libraries->curl.easy_setopt(self->handle, CURLOPT_TIMEOUT_MS, left_ms) != CURLE_OK) {
            return code;
        }
    }
}

// Sets what is asked for, asks, and takes the answer's status.
static bool perform(struct exchange *self, long *status, struct weft_error *error)
{
    const struct weft_http_libraries *libraries = self->libraries;
    if (self->handle == NULL || self->headers == NULL || !set_bounds(self) || !set_security(self) ||
        !set_request(self)) {
        return weft_fail(error, WEFT_IO, "libcurl (%s) cannot do what Weft asks of it",
                         libraries->curl.version());
    }
    CURLcode code = ask(self);
    return (code == CURLE_OK && libraries->curl.easy_getinfo(self->handle, CURLINFO_RESPONSE_CODE,
                                                             status) == CURLE_OK) ||
           tell_failure(code, self, error);
}

bool weft_http_ask(struct weft_http_reply *reply, const struct weft_http_request *request,
                   struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_http_libraries *libraries = weft_module_load(&weft_http_module, error);
    if (libraries == NULL) {
        return false;
    }
    struct exchange self = {
        .libraries = libraries,
        .request = request,
        .headers = list_headers(libraries, request->media_type, *arena),
        .sink = {.data = weft_arena_alloc_raw(arena, WEFT_HTTP_BYTES_MAX + 1, 1)},
        .handle = libraries->curl.easy_init(), // initializes libcurl for its first user
    };
    long status = 0;
    bool fine = perform(&self, &status, error);
    libraries->curl.slist_free_all(self.headers);
    libraries->curl.easy_cleanup(self.handle);
    if (fine) {
        self.sink.data[self.sink.bytes] = '\0';
        arena->next = self.sink.data + self.sink.bytes + 1; // the rest of the buffer is free again
        *reply = (struct weft_http_reply){(uint32_t)status, self.sink.data, self.sink.bytes};
    }
    return fine;
}
