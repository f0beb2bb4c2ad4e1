// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_MLTCP_TYPES_H
#define WEFT_BPF_MLTCP_TYPES_H

// mltcp.h for programs outside the kernel.
//
// There __u32 and __u64 come from the system's headers; kernel programs have them from kernel.h,
// which would contradict those.

#include <linux/types.h>

#include "mltcp.h"

#endif
