// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_HYBRID_FOLD_H
#define WEFT_STRATEGY_HYBRID_FOLD_H

// Replicas of a hybrid strategy that do the same at the same time on a network, so that one of them
// can be played for all (docs/flow-engine.md, "Folding").
//
//   fold_paths.c   what a path is to those who use it: links that may hold it back, and delays
//   fold_colors.c  who is alike: an equitable partition of devices and servers, by refinement
//   fold.c         which replicas are played, and the rings of their groups

#include "hybrid.h"

// ---- paths ----

// A network whose pairs have one path each, over switches that are joined as trees.
struct hybrid_paths {
    const struct weft_network *network;
    struct weft_hose hose;
    uint32_t *links; // room for one path
    bool failed;     // a path was met that rises again, or a pair with several
};
struct hybrid_path {
    // The links of it that may bind: those that rise from the sender, and those that fall.
    uint32_t rising_count, falling_count;
    const uint32_t *rising, *falling; // in `links`, until the next path is found
    struct weft_path_delay delay;
};
// False where the network is no such.
bool hybrid_paths_init(struct hybrid_paths *paths, const struct weft_network *network,
                       struct weft_arena *arena, struct weft_arena scratch) WEFT_MUST_USE;
// O(hops). Of a server to itself: nothing.
struct hybrid_path hybrid_path_find(struct hybrid_paths *paths, uint32_t from, uint32_t to);
// Equal for paths whose rising and falling links have equal rates, and with `delayed` only if they
// have equal delays, too.
uint64_t hybrid_path_label(const struct hybrid_paths *paths, const struct hybrid_path *path,
                           bool delayed);

// ---- colors ----

// Devices and servers of one color evolve alike: replica r and pipeline rank p are device
// r * ranks + p.
struct hybrid_colors {
    uint32_t device_count, server_count;
    uint64_t *device;
    uint64_t *server;
    uint32_t *joined; // [replica] smallest replica of those it can be played with only
};
// False where they cannot be told: see struct hybrid_paths, or where refinement takes too long to
// be worth it. O(rounds * (relations + devices log devices)).
bool hybrid_colors_find(struct hybrid_colors *colors, struct hybrid_paths *paths,
                        const struct weft_hybrid_job *job, struct weft_arena *arena,
                        struct weft_arena scratch) WEFT_MUST_USE;

// ---- what is played ----

struct hybrid_fold {
    uint32_t replica_count; // that are played
    const uint32_t *replicas;
    const uint32_t *place; // [replica of all] among them; WEFT_NONE = another one stands for it
};

#endif
