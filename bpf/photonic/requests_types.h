// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#ifndef WEFT_BPF_PHOTONIC_REQUESTS_TYPES_H
#define WEFT_BPF_PHOTONIC_REQUESTS_TYPES_H

// What requests.bpf.c and its loader share: settings of a port, and what it counts.
//
// The structures are values of BPF maps and have the same layout on both sides; only types that
// every compiler has are used, so that kernel programs may include it as it is.

struct requests_settings {
    unsigned int address; // of the port, network order
    unsigned int port;    // of UDP, host order
};

// What became of a packet. Those of the payload have the names of enum weft_photonic_drop.
enum requests_count {
    REQUESTS_OTHERS,   // no request: left to the kernel
    REQUESTS_PASSED,   // a request, for the socket of the interface
    REQUESTS_FRAGMENT, // the first fragment of an IP datagram
    REQUESTS_ADDRESS,  // to another address, or from one that nobody has
    REQUESTS_UDP,      // lengths that do not agree
    REQUESTS_SHORT,
    REQUESTS_MAGIC,
    REQUESTS_VERSION,
    REQUESTS_FLAGS,
    REQUESTS_PAD,
    REQUESTS_COUNTS, // how many
};

#endif
