// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#ifndef WEFT_BPF_MLTCP_H
#define WEFT_BPF_MLTCP_H

// What the congestion control in the kernel and its loader share: parameters and statistics.
//
// Included by programs of both sides, each with its own __u32 and __u64. The structures are values
// of BPF maps, so both sides must lay them out alike: members in order of size, with the gaps
// named.

// Fixed point: 1.0 is 1024.
#define MLTCP_ONE 1024u
// Stands in the object where the congestion control's name goes; the loader overwrites it.
#define MLTCP_NAME_PLACE "~weft-cc-name~"
#define MLTCP_NAME_BYTES 16

enum mltcp_base {
    MLTCP_RENO = 0,
    MLTCP_CUBIC = 1,
};

// Whose bytes make an iteration.
enum mltcp_group {
    MLTCP_BY_CONNECTION = 0,
    MLTCP_BY_CGROUP = 1,
    MLTCP_BY_MARK = 2, // sockets with the same SO_MARK, not 0
};

struct mltcp_parameters {
    __u32 slope;     // of F, in 1/1024
    __u32 intercept; // of F, in 1/1024
    __u32 base;      // enum mltcp_base; of connections that begin from now on
    __u32 group;     // enum mltcp_group; of connections that begin from now on
    __u32 restart;   // segments a window has at most when an iteration begins; 0 = as it was
    __u32 gap_ms;    // a silence shorter than this never ends an iteration
};

// What the loader has to know again in a later process.
struct mltcp_registry {
    char previous_default[MLTCP_NAME_BYTES]; // of this namespace before --default; "" = not changed
    __u64 default_netns;                     // inode of the namespace where --default was given
    char cgroup[256];                        // "" = none
};

struct mltcp_job_key {
    __u64 value; // a connection's number, a cgroup's inode, a mark
    __u32 group; // enum mltcp_group
    __u32 unused;
};

// One job: all connections with its key.
struct mltcp_job {
    __u64 active_ns;       // when something was last sent or acknowledged
    __u64 bytes;           // acknowledged in this iteration
    __u64 iteration_bytes; // learned; 0 = not yet
    __u64 gap_ns;          // learned silence between iterations; 0 = not yet
    __u32 iterations;      // begun
    __u32 connections;
};

struct mltcp_endpoints {
    __u8 local[16]; // IPv4 in the first four bytes
    __u8 remote[16];
    __u16 family; // AF_INET, AF_INET6
    __u16 local_port;
    __u16 remote_port;
    __u16 unused;
};

// Statistics of one connection.
struct mltcp_connection {
    struct mltcp_job_key job;
    __u64 bytes_acked;
    __u64 cgroup;
    struct mltcp_endpoints endpoints;
    __u32 netns;
    __u32 mark;
    __u32 base;
    __u32 cwnd; // segments
    __u32 ssthresh;
    __u32 factor; // F, in 1/1024
    __u32 srtt_us;
    __u32 reductions;
    __u32 timeouts;
    __u32 retransmits;
    __u32 ecn_marks; // segments that arrived with a mark
    __u32 restarts;
    __u32 peak_cwnd; // segments
    __u32 unused_too;
};

#endif
