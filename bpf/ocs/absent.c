// SPDX-License-Identifier: Apache-2.0
// circuits.h where Weft was built without clang or libbpf.
//
// There are no optical switches in the kernel then, so that a lab has a packet switch only.

#include "bpf/absent.h"
#include "circuits.h"

bool weft_bpf_ocs_load(struct weft_bpf_ocs *ocs, uint32_t port_count, uint32_t first_index,
                       struct weft_error *error)
{
    (void)ocs;
    (void)port_count;
    (void)first_index;
    return weft_bpf_absent(error);
}

bool weft_bpf_ocs_open(struct weft_bpf_ocs_tables *tables, const struct weft_bpf_ocs *ocs,
                       uint32_t port_count, struct weft_error *error)
{
    (void)tables;
    (void)ocs;
    (void)port_count;
    return weft_bpf_absent(error);
}

void weft_bpf_ocs_close(struct weft_bpf_ocs_tables *tables)
{
    (void)tables;
}

bool weft_bpf_ocs_count(struct ocs_count *count, const struct weft_bpf_ocs_tables *tables,
                        uint32_t port, struct ocs_count *rows, struct weft_error *error)
{
    (void)count;
    (void)tables;
    (void)port;
    (void)rows;
    return weft_bpf_absent(error);
}
