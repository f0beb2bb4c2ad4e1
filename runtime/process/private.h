// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PROCESS_PRIVATE_H
#define WEFT_RUNTIME_PROCESS_PRIVATE_H

// What coordinator and peers say to each other, for coordinator.c and peer.c alone.
//
// Every message is a head and as many bytes as that says. Both ends run on machines of one kind and
// one version of Weft, so structures go as they lie in memory; lengths find out others.

#include "coordinator.h"

enum { LAB_MESSAGE_SMALL = 512 };
// No peer's message to the coordinator is longer: reports and failures have some hundred bytes.
#define LAB_MESSAGE_MAX ((size_t)1 << 14)
// A message that has begun is whole within so long, and one that is sent is taken within it: they
// are small, and lie in the buffers of sockets.
#define LAB_MESSAGE_MS 10000

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

// Blocking, LAB_MESSAGE_MS at most; false when the other end has gone, or takes nothing.
bool lab_send_all(int socket, const void *data, size_t length) WEFT_MUST_USE;
bool lab_send_message(int socket, enum lab_message kind, const void *data, size_t length)
    WEFT_MUST_USE;

// Lets the kernel find out within half a minute that the machine at the other end has gone.
void lab_watch_line(int socket);

#endif
