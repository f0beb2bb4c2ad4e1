// SPDX-License-Identifier: Apache-2.0
// The drivers that speak TL1: whatever a switch answers to the commands of a change (0xff ends what
// it says at once; the first byte chooses the dialect), the change is done and circuits are a
// matching, or there is one line of complaint; always in time.

#include "fuzz.h"

#include "runtime/ocs/ocs.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 50, SECONDS_MAX = 4, PORTS_MAX = 64 };

// The switch: one piece for each time that something comes, then the end.
struct liar {
    int listener;
    const uint8_t *data;
    size_t size;
    atomic_bool stop;
};

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

static struct sockaddr_in own_address;

// At another loopback address each time, as ports would run out: each rests for a minute after use.
static int listen_anew(void)
{
    static uint32_t count;
    own_address = (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 256 * (count / 250 % 65536) + count % 250)};
    count++;
    socklen_t size = sizeof own_address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    WEFT_ASSERT(bind(listener, (struct sockaddr *)&own_address, size) == 0);
    WEFT_ASSERT(listen(listener, 8) == 0);
    WEFT_ASSERT(getsockname(listener, (struct sockaddr *)&own_address, &size) == 0);
    return listener;
}

static bool change_circuits(struct fuzz_desk *desk, const char *scheme, struct weft_error *error)
{
    char address[64];
    char host[INET_ADDRSTRLEN];
    struct weft_ocs ocs;
    struct weft_ocs_change change;
    struct weft_ocs_port ports[PORTS_MAX];
    uint32_t outputs[PORTS_MAX];
    const struct weft_ocs_circuit circuit = {0, 0};
    inet_ntop(AF_INET, &own_address.sin_addr, host, sizeof host);
    snprintf(address, sizeof address, "%s://%s:%u", scheme, host, ntohs(own_address.sin_port));
    const struct weft_ocs_access access = {.address = address,
                                           .user = "admin",
                                           .password = "root",
                                           .timeout_ms = TIMEOUT_MS,
                                           .total_ms = TIMEOUT_MS};
    if (!weft_ocs_open(&ocs, &access, &desk->arena, error)) {
        return false;
    }
    bool fine = ocs.port_count > PORTS_MAX
                    ? weft_fail(error, WEFT_IO, "more ports than are looked at")
                    : weft_ocs_connect(&change, &ocs, &circuit, 1, desk->scratch, error) &&
                          weft_ocs_read(outputs, &ocs, error) &&
                          weft_ocs_statistics(ports, &ocs, error);
    weft_ocs_close(&ocs);
    return fine;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    struct weft_error error = {.code = WEFT_OK};
    struct timespec before;
    struct timespec after;
    pthread_t thread;
    if (size == 0) {
        return 0;
    }
    struct liar liar = {.listener = listen_anew(), .data = data + 1, .size = size - 1};
    fuzz_open(&desk);
    WEFT_ASSERT(pthread_create(&thread, NULL, lie, &liar) == 0);
    clock_gettime(CLOCK_MONOTONIC, &before);
    if (!change_circuits(&desk, data[0] % 2 == 0 ? "tl1+polatis" : "tl1+calient", &error)) {
        WEFT_ASSERT(error.code == WEFT_IO || error.code == WEFT_UNSUPPORTED ||
                    error.code == WEFT_INFEASIBLE);
        fuzz_check_line(&error);
    }
    clock_gettime(CLOCK_MONOTONIC, &after);
    WEFT_ASSERT(after.tv_sec - before.tv_sec <= SECONDS_MAX);
    atomic_store(&liar.stop, true);
    shutdown(liar.listener, SHUT_RDWR); // ends accept, where a connection could be interrupted
    pthread_join(thread, NULL);
    close(liar.listener);
    fuzz_close(&desk);
    return 0;
}
