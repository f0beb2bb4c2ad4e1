// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_ABSENT_H
#define WEFT_BPF_ABSENT_H

// What every loader answers where Weft was built without clang or libbpf. Each chamber's absent.c
// defines its functions by it, so that callers need no conditional compilation: they call, and get
// UNSUPPORTED with what is missing.

#include "weft/base.h"

static inline bool weft_bpf_absent(struct weft_error *error)
{
    return weft_fail(error, WEFT_UNSUPPORTED,
                     "this weft was built without clang or libbpf; install both (tools/setup "
                     "build), then build it anew in a fresh folder");
}

#endif
