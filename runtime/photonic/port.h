// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PHOTONIC_PORT_H
#define WEFT_RUNTIME_PHOTONIC_PORT_H

// A network interface as rings of frames (AF_PACKET): received in memory shared with the kernel,
// sent many at a time.
//
//   interface ──► ring ──next──► frame ──► ... ──slot, commit──► answers ──flush──► interface

#include "runtime/photonic/frame.h"
#include "runtime/photonic/histogram.h"

#include <sys/socket.h>

enum { WEFT_NIC_BATCH = 64 }; // answers that are sent at once

struct weft_nic_frame {
    const uint8_t *bytes;
    size_t size;
    uint64_t received_ns; // of the machine's time of day
    bool is_cut;          // longer than the ring has room for
    bool verify;          // its checksums are filled in
};
struct weft_nic_port {
    int fd;
    int silent_fd;
    struct weft_nic_place place;
    uint8_t *ring;
    size_t ring_bytes;
    uint32_t frame_bytes;
    uint32_t frame_count;
    uint32_t at; // the next frame of the ring

    size_t slot_bytes;
    uint8_t *slots; // [WEFT_NIC_BATCH][slot_bytes]
    uint32_t waiting;
    struct mmsghdr messages[WEFT_NIC_BATCH];
    struct iovec pieces[WEFT_NIC_BATCH];
    uint64_t received_ns[WEFT_NIC_BATCH];
};

// Opens the interface of that number in the caller's namespace for UDP to place->port, whose
// hardware address it fills in. The kernel gets these datagrams, too, and drops them in silence,
// instead of telling clients that nobody is there. Memory is a ring of 2 MiB, 1,024 frames of the
// usual MTU, and the slots: what finds no room waits for nobody and is counted.
bool weft_nic_port_open(struct weft_nic_port *port, uint32_t index,
                        const struct weft_nic_place *place, uint32_t mtu_bytes,
                        struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
void weft_nic_port_close(struct weft_nic_port *port);

// False: none is there. The frame holds until it is released, before the next call.
bool weft_nic_port_next(struct weft_nic_frame *frame, struct weft_nic_port *port) WEFT_MUST_USE;
void weft_nic_port_release(struct weft_nic_port *port);
// Room for the next answer's frame; there must be some: fewer than WEFT_NIC_BATCH wait.
uint8_t *weft_nic_port_slot(struct weft_nic_port *port);
void weft_nic_port_commit(struct weft_nic_port *port, size_t bytes, uint64_t received_ns);
// Sends what waits; the time since its receipt goes into the histogram. Returns how many frames the
// interface did not take.
uint32_t weft_nic_port_flush(struct weft_nic_port *port, struct weft_nic_histogram *latency);
// Frames that found no room in the ring since the last call.
uint32_t weft_nic_port_overrun(struct weft_nic_port *port);

#endif
