// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CLUSTER_H
#define WEFT_FORMAT_CLUSTER_H

// Clusters (YAML): docs/clusters.md.

#include "weft/base.h"
#include "weft/cluster.h"

WEFT_API_BEGIN

bool weft_cluster_read(struct weft_cluster *cluster, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_cluster_load(struct weft_cluster *cluster, const char *path, struct weft_arena *arena,
                       struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
