// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PROCESS_PRIVATE_H
#define WEFT_RUNTIME_PROCESS_PRIVATE_H

// What coordinator and peers say to each other, for coordinator.c and peer.c alone.
//
// Every message is a head and as many bytes as that says. Both ends run on machines of one kind and
// one version of Weft, so structures go as they lie in memory; a magic number and lengths find out
// others.

#include "coordinator.h"

#define LAB_MAGIC 0x57454654u
enum { LAB_MESSAGE_SMALL = 512 };
// No peer's message is longer.
#define LAB_MESSAGE_MAX ((size_t)1 << 26)

struct lab_head {
    uint32_t kind;
    uint32_t length;
};

struct lab_failure {
    uint32_t code;
    uint32_t blamed;
    uint64_t when_ns;
    char message[sizeof((struct weft_error *)NULL)->message];
};

struct lab_join {
    uint32_t magic;
    uint32_t rank;
    uint32_t count;
};

// Blocking; false when the other end has gone.
bool lab_send_all(int socket, const void *data, size_t length) WEFT_MUST_USE;
bool lab_send_message(int socket, enum lab_message kind, const void *data, size_t length)
    WEFT_MUST_USE;

#endif
