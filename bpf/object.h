// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_OBJECT_H
#define WEFT_BPF_OBJECT_H

// Opening the kernel programs that are compiled into this program, by libbpf.
//
// All loaders of bpf/ begin with weft_bpf_open; what they set before loading (sizes of maps,
// constants, names) differs. Only bpf/ includes libbpf's headers.

#include "weft/base.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

// Opens a compiled object of `bytes` bytes; nothing is loaded into the kernel yet. libbpf's own
// messages go nowhere. NULL with an error of IO.
struct bpf_object *weft_bpf_open(const void *image, size_t bytes, struct weft_error *error)
    WEFT_MUST_USE;
// The number by which other processes open this map; 0 where the kernel does not say.
uint32_t weft_bpf_map_id(int map);

#endif
