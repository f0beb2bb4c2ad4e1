// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_FUZZ_LIAR_H
#define WEFT_TESTS_FUZZ_LIAR_H

// A switch on loopback that answers as a thread of the target does, and a driver that changes a
// circuit of it. What the drivers read comes from sockets alone.

#include "fuzz.h"

#include "runtime/ocs/ocs.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LIAR_PORTS_MAX = 64 };

struct liar {
    int listener;
    struct sockaddr_in address;
    const uint8_t *data;
    size_t size;
    atomic_bool stop;
    pthread_t thread;
};

// At another loopback address each time, as ports would run out: each rests for a minute after use.
static inline void liar_open(struct liar *liar, void *(*lie)(void *context), const uint8_t *data,
                             size_t size)
{
    static uint32_t count;
    *liar = (struct liar){
        .data = data,
        .size = size,
        .address = {.sin_family = AF_INET,
                    .sin_addr.s_addr =
                        htonl(INADDR_LOOPBACK + 256 * (count / 250 % 65536) + count % 250)}};
    count++;
    socklen_t length = sizeof liar->address;
    liar->listener = socket(AF_INET, SOCK_STREAM, 0);
    WEFT_ASSERT(bind(liar->listener, (struct sockaddr *)&liar->address, length) == 0);
    WEFT_ASSERT(listen(liar->listener, 8) == 0);
    WEFT_ASSERT(getsockname(liar->listener, (struct sockaddr *)&liar->address, &length) == 0);
    WEFT_ASSERT(pthread_create(&liar->thread, NULL, lie, liar) == 0);
}

static inline void liar_close(struct liar *liar)
{
    atomic_store(&liar->stop, true);
    shutdown(liar->listener, SHUT_RDWR); // ends accept, where a connection could be interrupted
    pthread_join(liar->thread, NULL);
    close(liar->listener);
}

static inline bool liar_change(const struct liar *liar, const char *scheme, uint32_t timeout_ms,
                               struct fuzz_desk *desk, struct weft_error *error)
{
    char address[64];
    char host[INET_ADDRSTRLEN];
    struct weft_ocs ocs;
    struct weft_ocs_change change;
    struct weft_ocs_port ports[LIAR_PORTS_MAX];
    uint32_t outputs[LIAR_PORTS_MAX];
    const struct weft_ocs_circuit circuit = {0, 0};
    inet_ntop(AF_INET, &liar->address.sin_addr, host, sizeof host);
    snprintf(address, sizeof address, "%s://%s:%u", scheme, host, ntohs(liar->address.sin_port));
    const struct weft_ocs_access access = {.address = address,
                                           .user = "admin",
                                           .password = "root",
                                           .timeout_ms = timeout_ms,
                                           .total_ms = timeout_ms};
    if (!weft_ocs_open(&ocs, &access, &desk->arena, error)) {
        return false;
    }
    bool fine = ocs.port_count > LIAR_PORTS_MAX
                    ? weft_fail(error, WEFT_IO, "more ports than are looked at")
                    : weft_ocs_connect(&change, &ocs, &circuit, 1, desk->scratch, error) &&
                          weft_ocs_read(outputs, &ocs, error) &&
                          weft_ocs_statistics(ports, &ocs, error);
    weft_ocs_close(&ocs);
    return fine;
}

// Changes a circuit: done, or one line of complaint, within seconds_max.
static inline void liar_check(const struct liar *liar, const char *scheme, uint32_t timeout_ms,
                              time_t seconds_max, struct fuzz_desk *desk)
{
    struct weft_error error = {.code = WEFT_OK};
    struct timespec before;
    struct timespec after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    if (!liar_change(liar, scheme, timeout_ms, desk, &error)) {
        WEFT_ASSERT(error.code == WEFT_IO || error.code == WEFT_UNSUPPORTED ||
                    error.code == WEFT_INFEASIBLE);
        fuzz_check_line(&error);
    }
    clock_gettime(CLOCK_MONOTONIC, &after);
    WEFT_ASSERT(after.tv_sec - before.tv_sec <= seconds_max);
}

#endif
