// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_MLTCP_TYPES_H
#define WEFT_BPF_MLTCP_TYPES_H

// mltcp.h for programs outside the kernel.

#include <linux/types.h>

#include "mltcp.h"

#endif
