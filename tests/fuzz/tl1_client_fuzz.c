// SPDX-License-Identifier: Apache-2.0
// The drivers that speak TL1: whatever a switch answers to the commands of a change (0xff ends what
// it says at once; the first byte chooses the dialect), the change is done and circuits are a
// matching, or there is one line of complaint; always in time.

#include "liar.h"

enum { TIMEOUT_MS = 15, SECONDS_MAX = 4 };

// One piece for each time that something comes, then the end.
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
        while (at < liar->size && recv(fd, asked, sizeof asked, 0) > 0) {
            const uint8_t *mark = memchr(liar->data + at, 0xff, liar->size - at);
            size_t end = mark != NULL ? (size_t)(mark - liar->data) : liar->size;
            for (ssize_t put = 1; at < end && put > 0; at += put > 0 ? (size_t)put : 0) {
                put = send(fd, liar->data + at, end - at, MSG_NOSIGNAL);
            }
            at = mark != NULL ? end + 1 : liar->size;
        }
        close(fd);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    struct liar liar;
    if (size == 0) {
        return 0;
    }
    fuzz_open(&desk);
    liar_open(&liar, lie, data + 1, size - 1);
    liar_check(&liar, data[0] % 2 == 0 ? "tl1+polatis" : "tl1+calient", TIMEOUT_MS, SECONDS_MAX,
               &desk);
    liar_close(&liar);
    fuzz_close(&desk);
    return 0;
}
