// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_OCS_CIRCUITS_H
#define WEFT_BPF_OCS_CIRCUITS_H

// The loader of ocs.bpf.c, and its tables as other processes see them.
//
//   load ──► program and two tables ──► a classifier on each port (runtime/testbed)
//                    │
//                    └──► open by number ──► circuits, counts (runtime/ocs/kernel.c)
//
// Tables live as long as the program does, and the program as long as a port holds it. Errors:
// UNSUPPORTED where this machine or user cannot, IO where the program is gone.

#include "weft/base.h"

#include "ocs_types.h"

// A loaded program. Its tables are named by their numbers in the kernel.
struct weft_bpf_ocs {
    int program_fd;
    uint32_t circuits_id;
    uint32_t counts_id;
};
// Loads a switch of port_count ports, whose port p is interface first_index + p of the namespace
// that the program is attached in. The caller closes program_fd once the ports hold it.
bool weft_bpf_ocs_load(struct weft_bpf_ocs *ocs, uint32_t port_count, uint32_t first_index,
                       struct weft_error *error) WEFT_MUST_USE;

struct weft_bpf_ocs_tables {
    int circuits_fd;
    int counts_fd;
    uint32_t port_count;
    uint32_t processor_count; // rows that the kernel counts in for each port
    size_t mapped_bytes;
    volatile struct ocs_circuit *circuits; // [port_count], shared with the program
};
bool weft_bpf_ocs_open(struct weft_bpf_ocs_tables *tables, const struct weft_bpf_ocs *ocs,
                       uint32_t port_count, struct weft_error *error) WEFT_MUST_USE;
void weft_bpf_ocs_close(struct weft_bpf_ocs_tables *tables);
// What met an input port, summed over processors; `rows` is room for processor_count of them.
bool weft_bpf_ocs_count(struct ocs_count *count, const struct weft_bpf_ocs_tables *tables,
                        uint32_t port, struct ocs_count *rows, struct weft_error *error)
    WEFT_MUST_USE;

#endif
