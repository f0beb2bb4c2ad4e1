// SPDX-License-Identifier: Apache-2.0
// An HTTP exchange by libcurl, with bounds on what the far end may do.
//
// libcurl's options are set one by one and its failures are told as what an operator can do about
// them. The answer is collected in a buffer of WEFT_HTTP_BYTES_MAX at the end of the arena, of
// which only what was filled is kept.

#include "http.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>

struct sink {
    char *data; // WEFT_HTTP_BYTES_MAX + 1
    size_t bytes;
    bool is_full;
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

// A failure of libcurl in one line: the address, what happened, what to do about it.
static bool tell_failure(CURLcode code, CURL *handle, const struct weft_http_request *request,
                         bool is_full, const char *words, struct weft_error *error)
{
    // Without the path: the address is what the operator gave.
    const char *host = strstr(request->url, "://");
    host = host != NULL ? host + 3 : request->url;
    int length = (int)strcspn(host, "/");
    long number = 0;
    if (is_full || code == CURLE_FILESIZE_EXCEEDED) {
        return weft_fail(error, WEFT_IO, "%.*s: the answer is larger than %u bytes", length, host,
                         WEFT_HTTP_BYTES_MAX);
    }
    switch ((int)code) {
    case CURLE_COULDNT_CONNECT:
        curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &number);
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
        return weft_fail(error, WEFT_IO, "%.*s: %.200s", length, host, words);
    }
}

// What the far end may do: protocols, time, size, and nothing on its own.
static bool set_bounds(CURL *handle, const struct weft_http_request *request)
{
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)request->deadline_ms) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) ==
               CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_HTTP09_ALLOWED, 0L) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_MAXFILESIZE, (long)WEFT_HTTP_BYTES_MAX) == CURLE_OK;
}

// Who is trusted and who asks.
static bool set_security(CURL *handle, const struct weft_http_request *request)
{
    bool fine =
        curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, request->insecure ? 0L : 1L) == CURLE_OK &&
        curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, request->insecure ? 0L : 2L) == CURLE_OK;
    if (request->ca_file != NULL) {
        fine = fine && curl_easy_setopt(handle, CURLOPT_CAINFO, request->ca_file) == CURLE_OK;
    }
    if (request->user != NULL) {
        fine = fine &&
               curl_easy_setopt(handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC) == CURLE_OK &&
               curl_easy_setopt(handle, CURLOPT_USERNAME, request->user) == CURLE_OK &&
               curl_easy_setopt(handle, CURLOPT_PASSWORD, request->password) == CURLE_OK;
    }
    return fine;
}

// What is asked for and where the answer goes.
static bool set_request(CURL *handle, const struct weft_http_request *request,
                        struct curl_slist *headers, struct sink *sink, char *words)
{
    bool fine = curl_easy_setopt(handle, CURLOPT_URL, request->url) == CURLE_OK &&
                curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
                curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, words) == CURLE_OK &&
                curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, collect) == CURLE_OK &&
                curl_easy_setopt(handle, CURLOPT_WRITEDATA, sink) == CURLE_OK;
    if (request->body != NULL) {
        // The default is POST for a request with a body; the line below names what was asked for.
        fine = fine && curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request->body) == CURLE_OK;
    }
    return fine && curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK;
}

// NULL where memory is short.
static struct curl_slist *list_headers(const struct weft_http_request *request,
                                       struct weft_arena scratch)
{
    const char *lines[] = {
        weft_arena_format(&scratch, "Accept: %s", request->media_type),
        weft_arena_format(&scratch, "Content-Type: %s", request->media_type),
        "Expect:", // no wait for "100 Continue" before the body
    };
    struct curl_slist *headers = NULL;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct curl_slist *longer = curl_slist_append(headers, lines[i]);
        if (longer == NULL) {
            curl_slist_free_all(headers);
            return NULL;
        }
        headers = longer;
    }
    return headers;
}

bool weft_http_ask(struct weft_http_reply *reply, const struct weft_http_request *request,
                   struct weft_arena *arena, struct weft_error *error)
{
    char words[CURL_ERROR_SIZE] = "";
    long status = 0;
    struct curl_slist *headers = list_headers(request, *arena);
    struct sink sink = {.data = weft_arena_alloc_raw(arena, WEFT_HTTP_BYTES_MAX + 1, 1)};
    CURL *handle = curl_easy_init(); // counts its users, and initializes libcurl for the first
    bool set = handle != NULL && headers != NULL && set_bounds(handle, request) &&
               set_security(handle, request) && set_request(handle, request, headers, &sink, words);
    bool fine = set;
    if (set) {
        CURLcode code = curl_easy_perform(handle);
        fine = code == CURLE_OK && curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status) == 0;
        if (!fine) {
            tell_failure(code, handle, request, sink.is_full, words, error);
        }
    } else {
        weft_fail(error, WEFT_IO, "libcurl (%s) cannot do what Weft asks of it", curl_version());
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(handle);
    if (fine) {
        sink.data[sink.bytes] = '\0';
        arena->next = sink.data + sink.bytes + 1; // the rest of the buffer is free again
        *reply = (struct weft_http_reply){(uint32_t)status, sink.data, sink.bytes};
    }
    return fine;
}
