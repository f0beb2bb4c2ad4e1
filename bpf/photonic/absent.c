// SPDX-License-Identifier: Apache-2.0
// requests.h where Weft was built without clang or libbpf.
//
// Nothing is dropped in the kernel then: the responder makes all checks itself.

#include "bpf/absent.h"
#include "requests.h"

bool weft_bpf_requests_load(struct weft_bpf_requests *requests, uint32_t interface_index,
                            const struct requests_settings *settings, struct weft_arena *arena,
                            struct weft_error *error)
{
    (void)requests;
    (void)interface_index;
    (void)settings;
    (void)arena;
    return weft_bpf_absent(error);
}

void weft_bpf_requests_count(uint64_t counts[REQUESTS_COUNTS],
                             const struct weft_bpf_requests *requests)
{
    (void)counts;
    (void)requests;
}

void weft_bpf_requests_close(struct weft_bpf_requests *requests)
{
    (void)requests;
}
