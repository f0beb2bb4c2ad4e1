// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_STRATEGY_OPERATORS_SEARCH_SPACE_H
#define WEFT_STRATEGY_OPERATORS_SEARCH_SPACE_H

// What a search of the operators space works on (TopoOpt, NSDI 2023, and FlexFlow, SysML 2019,
// search the same space): every operator is divided into sample and parameter parts, each on a
// server of its own. Private to the strategy room; others hold it by the handle struct
// weft_strategy_space.

#include "weft/strategy.h"

// One way to divide an operator.
struct choice {
    uint32_t sample_parts;
    uint32_t parameter_parts;
    uint32_t parts; // their product
    double forward_s;
    double backward_s;
    double shard_bytes;  // of all parameter tensors, in one part
    double inside_s;     // before an AllReduce of that
    double held_bytes;   // in each accelerator, wherever its inputs are made
    double copied_bytes; // beside that, if all its inputs are made on other servers
};

// An operator with tasks.
struct node {
    uint32_t op; // in the model
    bool table;
    uint32_t choice_first;
    uint32_t choice_count;
    uint32_t in_first; // edges [in_first, in_first + in_count) end here
    uint32_t in_count;
    uint32_t out_first; // into `outs`
    uint32_t out_count;
};

// A tensor that one operator makes and another reads.
struct edge {
    uint32_t from; // node
    uint32_t to;   // node
    uint32_t slot; // which input it is
    double total_bytes;
};

// A group that has rings in the network.
struct ringed {
    uint64_t key; // sum of its servers' marks
    double lanes; // ports that its rings fill
    double hops;  // links of a hop, on the mean
};

struct weft_strategy_space {
    struct weft_study study;
    uint32_t server_count;
    uint32_t row; // floats of a load vector: bytes out of each server, bytes in; padded with 0
    uint32_t node_count;
    const struct node *nodes; // in the model's order
    const struct choice *choices;
    uint32_t edge_count;
    const struct edge *edges;
    const uint32_t *outs;  // edges by producer
    const uint64_t *marks; // a random word a server, to hash sets of servers
    // The network.
    double port_Bps; // payload of all ports of a server, each way
    uint32_t ports;
    double reach;         // fewest links from server to server on the mean, with so many ports
    double latency_s;     // of one link
    bool planned;         // it stands; else ports are joined as the strategy needs them
    const float *hops;    // links from server to server on the mean, n*n; NULL = 1, or not planned
    uint32_t group_count; // whose rings stand
    const struct ringed *groups;
};

// Boils a model down. Fails with INPUT as weft_operator_splits and weft_operator_time, and beyond
// 16384 servers.
bool weft_search_space_build(struct weft_strategy_space *space, const struct weft_study *study,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error) WEFT_MUST_USE;

// The choice of a node that divides it into so many parts; WEFT_NONE if there is none.
uint32_t weft_search_space_choice(const struct weft_strategy_space *space, uint32_t node,
                                  uint32_t sample_parts, uint32_t parameter_parts);

#endif
