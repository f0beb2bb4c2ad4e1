// SPDX-License-Identifier: Apache-2.0
// mark.h where Weft was built without clang or libbpf.
//
// No link marks packets then, and whoever wants marks gets an error that says what is missing.

#include "bpf/absent.h"
#include "mark.h"

bool weft_marker_load(struct weft_marker *marker, uint32_t packets, struct weft_error *error)
{
    (void)marker;
    (void)packets;
    return weft_bpf_absent(error);
}

bool weft_marker_counts(uint64_t counts[4], const struct weft_marker *marker)
{
    (void)counts;
    (void)marker;
    return false;
}

bool weft_marker_total(uint64_t *marked, uint32_t id, struct weft_error *error)
{
    (void)marked;
    (void)id;
    return weft_bpf_absent(error);
}

void weft_marker_close(struct weft_marker *marker)
{
    (void)marker;
}
