// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_TOPOLOGY_DRAFT_H
#define WEFT_FORMAT_TOPOLOGY_DRAFT_H

// A topology while its reader fills it: nodes by name, cables between them.
//
//   topology.c ──► hosts.c, slurm.c, infragraph.c, graphml.c, edges.c ──► draft.c

#include "weft/format/topology_file.h"

// Bounds of what is read, of any family.
#define TOPOLOGY_NODES_MAX (1u << 20)
#define TOPOLOGY_LINKS_MAX (1u << 24)

enum draft_role { DRAFT_SERVER, DRAFT_SWITCH };

// A cable as the file has it. Rate 0 and latency WEFT_NEVER: not said.
struct draft_cable {
    uint32_t from;
    uint32_t to;
    double rate_Bps;
    uint64_t latency_ps;
    uint32_t width;
    bool one_way;
};

struct draft {
    struct weft_arena *arena;   // of names
    struct weft_arena *scratch; // of the rest
    struct weft_error *error;
    uint32_t node_count;
    const char **names;
    uint8_t *roles;  // enum draft_role
    uint32_t *slots; // open addressing by the hash of names; WEFT_NONE = free
    uint32_t slot_count;
    uint32_t cable_count;
    struct draft_cable *cables;
};

// The node of that name, or WEFT_NONE. O(1) on average.
uint32_t draft_find(const struct draft *draft, const char *name, size_t length);
// The same; it is made where it is missing. Fails with INPUT beyond TOPOLOGY_NODES_MAX.
bool draft_node(uint32_t *node, struct draft *draft, const char *name, size_t length,
                enum draft_role role) WEFT_MUST_USE;
// Fails with INPUT where a cable joins a node to itself, or beyond TOPOLOGY_LINKS_MAX.
bool draft_join(struct draft *draft, const struct draft_cable *cable) WEFT_MUST_USE;
// Servers first; fails with INPUT below two of them. O(nodes + cables).
bool draft_finish(struct weft_topology_file *topology, const struct draft *draft) WEFT_MUST_USE;

// Whether a node is called as switches are: leaf3, sw_1, tor-12, spine.
bool draft_is_switch_name(const char *name, size_t length);
bool topology_read_hosts(struct weft_topology_file *topology, struct draft *draft, const char *data,
                         size_t length) WEFT_MUST_USE;
bool topology_read_slurm(struct weft_topology_file *topology, struct draft *draft, const char *data,
                         size_t length) WEFT_MUST_USE;
bool topology_read_infragraph(struct weft_topology_file *topology, struct draft *draft,
                              const char *data, size_t length) WEFT_MUST_USE;
bool topology_read_graphml(struct weft_topology_file *topology, struct draft *draft,
                           const char *data, size_t length) WEFT_MUST_USE;
bool topology_read_edges(struct weft_topology_file *topology, struct draft *draft, const char *data,
                         size_t length) WEFT_MUST_USE;

#endif
