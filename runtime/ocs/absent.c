// SPDX-License-Identifier: Apache-2.0
// Where Weft was built without clang or libbpf: no optical switches in the kernel.

#include "ocs.h"

static bool lacking(struct weft_error *error)
{
    return weft_fail(error, WEFT_UNSUPPORTED,
                     "this weft was built without clang or libbpf; install both (tools/setup "
                     "build), then build it anew in a fresh folder");
}

bool weft_ocs_load(struct weft_ocs_kernel *kernel, uint32_t port_count, uint32_t first_index,
                   struct weft_error *error)
{
    (void)kernel;
    (void)port_count;
    (void)first_index;
    return lacking(error);
}

bool weft_ocs_open_kernel(struct weft_ocs *ocs, const struct weft_ocs_kernel *kernel,
                          uint32_t port_count, uint32_t first_index, uint64_t dark_ns,
                          struct weft_arena *arena, struct weft_error *error)
{
    (void)ocs;
    (void)kernel;
    (void)port_count;
    (void)first_index;
    (void)dark_ns;
    (void)arena;
    return lacking(error);
}
