// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CONFIG_CLUSTER_YAML_H
#define WEFT_FORMAT_CONFIG_CLUSTER_YAML_H

// A cluster as a mapping of another document, with the keys of a file of its own: traces of jobs
// bring theirs. One table of keys reads both, so that what is new in a cluster's file is known
// there, too, and what is wrong gets the same line.

#include "weft/cluster.h"
#include "yaml_keys.h"

// Like weft_cluster_read, where `degree` may be left out (1), and `gpus` may say the accelerators
// of a server in one number.
bool cluster_yaml_read(struct weft_cluster *cluster, const struct weft_yaml_node *mapping,
                       const struct weft_yaml_source *source) WEFT_MUST_USE;

#endif
