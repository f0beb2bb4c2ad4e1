// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_TOPOLOGY_KIND_H
#define WEFT_FORMAT_TOPOLOGY_KIND_H

// What topologies, and the workloads that stand beside them, are known by: for the kinds of all
// files (src/format/syntax/kind.c).

#include "weft/format/file.h"

// By the first 4096 bytes; UNKNOWN where it is none of them. EDGES is the widest guess. O(1).
enum weft_file_kind topology_kind(const char *data, size_t length);

#endif
