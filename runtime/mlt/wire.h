// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_MLT_WIRE_H
#define WEFT_RUNTIME_MLT_WIRE_H

// The sockets of a rank: one that all peers send to, and one for each path, from whose port packets
// go out. Datagrams of many are handed to the kernel, and taken from it, in one call.
//
//   packets ──► [batch ──► paths in turn] ──► network ──► [inbox] ──► datagrams

#include "engine.h"

// Opens the sockets; the inbox listens at `ip` (0: loopback) and `port`. Fails with IO.
bool lab_mlt_wire_open(struct lab_mlt *mlt, uint32_t ip, uint32_t *port, struct weft_error *error)
    WEFT_MUST_USE;
void lab_mlt_wire_close(struct lab_mlt *mlt);

// Takes what has come, a batch at most. True: there may be more.
bool lab_mlt_wire_receive(struct lab_mlt *mlt, uint64_t now_ps);
// Sends what may go now, a batch at most. *more: there may be more. Fails where a peer is given up.
bool lab_mlt_wire_send(struct lab_mlt *mlt, uint64_t now_ps, bool *more, struct weft_error *error)
    WEFT_MUST_USE;
// Whether packets wait for room in a socket.
bool lab_mlt_wire_waits(const struct lab_mlt *mlt);
// Waits until something comes, a socket has room that packets wait for, `descriptor` (-1: none)
// can be read, which is told, or the instant is there.
bool lab_mlt_wire_wait(struct lab_mlt *mlt, int descriptor, uint64_t now_ps, uint64_t until_ps);

#endif
