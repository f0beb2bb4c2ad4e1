// SPDX-License-Identifier: Apache-2.0
// The RESTCONF driver and its HTTP client: whatever a switch answers to the exchanges of a change
// (0xff ends an answer), the change is done and circuits are a matching, or there is one line of
// complaint; always in time.

#include "liar.h"
#include "runtime/ocs/libraries.h"

enum { TIMEOUT_MS = 2000 };

// One answer a connection, then the end. Behind the last one it says that it is out of order, as
// the client waits between the times that it asks for nothing.
static void *lie(void *context)
{
    struct liar *liar = context;
    size_t at = 0;
    for (;;) {
        char asked[8192];
        int fd = accept(liar->listener, NULL, NULL);
        if (atomic_load(&liar->stop)) {
            close(fd);
            return NULL;
        }
        const uint8_t *mark =
            at < liar->size ? memchr(liar->data + at, 0xff, liar->size - at) : NULL;
        size_t end = mark != NULL ? (size_t)(mark - liar->data) : liar->size;
        static const char out_of_order[] = "HTTP/1.1 500 x\r\n\r\n";
        ssize_t got = recv(fd, asked, sizeof asked, 0);
        if (at == liar->size) {
            send(fd, out_of_order, sizeof out_of_order - 1, MSG_NOSIGNAL);
        }
        for (ssize_t put = 1; got > 0 && at < end && put > 0; at += put > 0 ? (size_t)put : 0) {
            put = send(fd, liar->data + at, end - at, MSG_NOSIGNAL);
        }
        at = end < liar->size ? end + 1 : end;
        shutdown(fd, SHUT_WR);
        close(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    struct weft_error error;
    struct liar liar;
    fuzz_open(&desk);
    // Without its libraries, which lie beside the build's programs, the client only complains.
    WEFT_ASSERT(weft_module_load(&weft_http_module, &error) != NULL);
    liar_open(&liar, lie, data, size);
    liar_check(&liar, "http", TIMEOUT_MS, 5 * TIMEOUT_MS / 1000, &desk);
    liar_close(&liar);
    fuzz_close(&desk);
    return 0;
}
