// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PHOTONIC_FRAME_H
#define WEFT_RUNTIME_PHOTONIC_FRAME_H

// Ethernet frames of UDP over IPv4: taken apart with all checks, and the frame that answers one.

#include "weft/base.h"

enum { WEFT_NIC_HEADERS_BYTES = 42 }; // Ethernet, IPv4 without options, UDP

// What a frame is found to be; those behind REQUEST are counted and dropped.
enum weft_nic_frame_kind {
    WEFT_NIC_FRAME_REQUEST,
    WEFT_NIC_FRAME_OTHER,    // not for the port: the kernel's
    WEFT_NIC_FRAME_IP,       // header of IPv4 cut short, or its checksum is wrong
    WEFT_NIC_FRAME_FRAGMENT, // of an IP datagram: requests have fragments of their own
    WEFT_NIC_FRAME_ADDRESS,  // to another address, or from one that nobody sends from
    WEFT_NIC_FRAME_UDP,      // lengths that do not agree
    WEFT_NIC_FRAME_CHECKSUM, // of UDP
    WEFT_NIC_FRAME_KINDS,
};
// One word for each: "checksum".
const char *weft_nic_frame_name(enum weft_nic_frame_kind kind);

// The port that frames are for.
struct weft_nic_place {
    uint8_t mac[6];
    uint32_t address; // host order
    uint16_t port;
};
struct weft_nic_datagram {
    uint32_t address; // of the sender, host order
    uint16_t port;
    const uint8_t *payload; // in the frame
    size_t size;
};
// `verify` false: the kernel has not filled in the checksum of UDP, since the frame never left this
// machine.
enum weft_nic_frame_kind weft_nic_frame_read(struct weft_nic_datagram *datagram,
                                             const uint8_t *frame, size_t size,
                                             const struct weft_nic_place *place, bool verify);
// Writes the headers of an answer to the frame, in front of a payload that stands at
// bytes + WEFT_NIC_HEADERS_BYTES; returns the frame's bytes. `request` is a frame that
// weft_nic_frame_read has called REQUEST.
size_t weft_nic_frame_answer(uint8_t *bytes, size_t payload_bytes, const uint8_t *request,
                             uint16_t id);

#endif
