// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_PHOTONIC_REQUESTS_H
#define WEFT_BPF_PHOTONIC_REQUESTS_H

// The loader of requests.bpf.c, which picks requests to light out of what enters an interface.
//
//   load ──► program on an interface of the caller's namespace, counts ──► count, until close
//
// Errors: UNSUPPORTED where this machine or user cannot.

#include "weft/base.h"

#include "requests_types.h"

struct weft_bpf_requests {
    int counts_fd;
    uint32_t processor_count;
    uint64_t *rows; // [processor_count]
};
// Attaches in the kernel's generic mode, which every interface has; it goes with the interface.
bool weft_bpf_requests_load(struct weft_bpf_requests *requests, uint32_t interface_index,
                            const struct requests_settings *settings, struct weft_arena *arena,
                            struct weft_error *error) WEFT_MUST_USE;
// What entered so far, over all processors; what the kernel does not tell stays as it is.
void weft_bpf_requests_count(uint64_t counts[REQUESTS_COUNTS],
                             const struct weft_bpf_requests *requests);
void weft_bpf_requests_close(struct weft_bpf_requests *requests);

#endif
