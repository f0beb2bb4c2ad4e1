// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#ifndef WEFT_BPF_OCS_TYPES_H
#define WEFT_BPF_OCS_TYPES_H

// What ocs.bpf.c and its driver share: the tables of an optical switch, one row for each port.
//
// The structures are values of BPF maps and have the same layout on both sides; only types that
// every compiler has are used, so that kernel programs may include it as it is.

// The circuit of an input port. The driver writes it through shared memory while packets pass, each
// member whole: first the output goes to 0, then the times are set, then the output is.
struct ocs_circuit {
    unsigned long long dark_until_ns; // of CLOCK_MONOTONIC; light passes from then on
    unsigned long long first_ns;      // when the first packet passed; 0 = none since the change
    unsigned int output_index;        // interface of the output port; 0 = none
    unsigned int unused;
};

// What met an input port, one row for each processor.
struct ocs_count {
    unsigned long long packets; // passed
    unsigned long long bytes;
    unsigned long long dark_packets;  // lost because the circuit was still being switched
    unsigned long long unlit_packets; // lost because there was no circuit
};

#endif
