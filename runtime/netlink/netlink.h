// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_NETLINK_NETLINK_H
#define WEFT_RUNTIME_NETLINK_NETLINK_H

// What the lab asks of the kernel: network namespaces, links, addresses, routes, queueing
// disciplines and their counters, by rtnetlink (libmnl) from C.
//
//   [netlink] ──► lab, bpf, sockets
//
// Every call is one request that the kernel has acknowledged when it returns. What fails says in
// one line what was asked of which namespace, the kernel's reason and a remedy: UNSUPPORTED where
// the machine lacks it or does not permit it, IO for the rest. IPv4 addresses are host order; MAC
// addresses are six bytes; rates are bytes per second.

#include "weft/base.h"

#include <sys/types.h>

// ---- namespaces ----

// Namespaces have a name in /run/netns, as those of `ip netns`; names begin with a letter or digit
// and are at most WEFT_NETNS_NAME_MAX - 1 long.
#define WEFT_NETNS_NAME_MAX 64

// A new, empty namespace with its loopback up. Fails when the name is taken. Killed at any moment,
// it leaves a name that weft_netns_delete removes. Not for use beside other threads that do the
// same.
bool weft_netns_create(const char *name, struct weft_error *error) WEFT_MUST_USE;
// Removes the name; the namespace ends with its last process and socket. That there is none of
// this name is no failure.
bool weft_netns_delete(const char *name, struct weft_error *error) WEFT_MUST_USE;
bool weft_netns_exists(const char *name);
// Moves the calling thread there, for good.
bool weft_netns_enter(const char *name, struct weft_error *error) WEFT_MUST_USE;
// A file descriptor of the namespace (NULL: the caller's own).
bool weft_netns_open(int *fd, const char *name, struct weft_error *error) WEFT_MUST_USE;
// A socket that lives in the namespace, close-on-exec; the caller stays where it is.
bool weft_netns_socket(int *fd, const char *name, int domain, int type, int protocol,
                       struct weft_error *error) WEFT_MUST_USE;
// Writes a file below /proc/sys as the namespace sees it: "net/ipv4/ip_forward". A file that the
// kernel lacks fails with UNSUPPORTED.
bool weft_netns_sysctl(const char *name, const char *file, const char *value,
                       struct weft_error *error) WEFT_MUST_USE;
// The names that begin with `prefix`, sorted.
bool weft_netns_list(const char *const **names, uint32_t *count, const char *prefix,
                     struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Processes whose main thread is in the namespace, but the caller: at most `room` of them; none
// where there is no such name. Fails with IO where the name may not be what it seems: the namespace
// of the caller or of the machine (process 1), or no network namespace.
bool weft_netns_processes(uint32_t *count, pid_t *pids, uint32_t room, const char *name,
                          struct weft_error *error) WEFT_MUST_USE;

// ---- a session ----

struct mnl_socket;

// A netlink socket of one namespace; the opener's thread stays where it is.
struct weft_netlink {
    struct mnl_socket *socket;
    int control_fd; // for what has no netlink: offloads
    uint32_t sequence;
    char netns[WEFT_NETNS_NAME_MAX]; // "" = the caller's own
};
// netns NULL: the caller's own.
bool weft_netlink_open(struct weft_netlink *netlink, const char *netns, struct weft_error *error)
    WEFT_MUST_USE;
void weft_netlink_close(struct weft_netlink *netlink);

// ---- links ----

// One end of a veth pair.
struct weft_veth_end {
    const char *name;   // at most 15 letters
    const char *netns;  // NULL = that of the session
    uint32_t index;     // the interface's number; 0 = the kernel's choice
    const uint8_t *mac; // NULL = the kernel's choice
};
// A pair that never stands in any other namespace than those of its ends. Both are down.
bool weft_link_veth(struct weft_netlink *netlink, const struct weft_veth_end *near,
                    const struct weft_veth_end *far, uint32_t mtu_bytes, struct weft_error *error)
    WEFT_MUST_USE;
// index 0: the kernel's choice.
bool weft_link_bridge(struct weft_netlink *netlink, const char *name, uint32_t index,
                      uint32_t mtu_bytes, struct weft_error *error) WEFT_MUST_USE;
bool weft_link_delete(struct weft_netlink *netlink, uint32_t index, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_link_find(uint32_t *index, struct weft_netlink *netlink, const char *name,
                    struct weft_error *error) WEFT_MUST_USE;
bool weft_link_set_up(struct weft_netlink *netlink, uint32_t index, bool up,
                      struct weft_error *error) WEFT_MUST_USE;
bool weft_link_set_mtu(struct weft_netlink *netlink, uint32_t index, uint32_t mtu_bytes,
                       struct weft_error *error) WEFT_MUST_USE;
// Makes the link a port of the bridge.
bool weft_link_set_master(struct weft_netlink *netlink, uint32_t index, uint32_t bridge,
                          struct weft_error *error) WEFT_MUST_USE;
// Segmentation, receive aggregation, scatter-gather and checksums: all on or all off.
bool weft_link_set_offloads(struct weft_netlink *netlink, const char *name, bool on,
                            struct weft_error *error) WEFT_MUST_USE;

struct weft_link_counters {
    bool up;      // asked to be
    bool carrier; // and its far end is
    uint64_t received_packets;
    uint64_t received_bytes;
    uint64_t received_dropped;
    uint64_t sent_packets;
    uint64_t sent_bytes;
    uint64_t sent_dropped;
};
bool weft_link_counters(struct weft_link_counters *counters, struct weft_netlink *netlink,
                        uint32_t index, struct weft_error *error) WEFT_MUST_USE;
// Waits until the link passes packets, at most 3 s: a link that was just set up drops what it is
// given until the kernel has noticed its carrier, some milliseconds later. Fails with IO.
bool weft_link_await(struct weft_netlink *netlink, uint32_t index, struct weft_error *error)
    WEFT_MUST_USE;

// ---- addresses, neighbors, routes ----

bool weft_address_add(struct weft_netlink *netlink, uint32_t index, uint32_t address,
                      uint32_t prefix_bits, struct weft_error *error) WEFT_MUST_USE;
// A permanent entry; replaces what was there.
bool weft_neighbor_set(struct weft_netlink *netlink, uint32_t index, uint32_t address,
                       const uint8_t mac[6], struct weft_error *error) WEFT_MUST_USE;

// The protocol that the lab's routes carry, as in `weft export --format ip-routes`.
#define WEFT_ROUTE_PROTOCOL 87

struct weft_next_hop {
    uint32_t index;  // interface
    uint32_t via;    // address of the neighbor, on link; 0 = the target is on link
    uint32_t weight; // 1..256
};
struct weft_route {
    uint32_t target;
    uint32_t prefix_bits;
    uint32_t table;      // 0 = main
    uint32_t source;     // preferred source address; 0 = none
    uint32_t rto_min_ms; // of TCP; 0 = the kernel's
    uint32_t hop_count;
    const struct weft_next_hop *hops;
};
// Replaces a route to the same target in the same table.
bool weft_route_set(struct weft_netlink *netlink, const struct weft_route *route,
                    struct weft_error *error) WEFT_MUST_USE;
// Absent is no failure.
bool weft_route_delete(struct weft_netlink *netlink, const struct weft_route *route,
                       struct weft_error *error) WEFT_MUST_USE;
// Packets from `source` look into `table` first. Absent is no failure on removal.
bool weft_rule_add(struct weft_netlink *netlink, uint32_t source, uint32_t table, uint32_t priority,
                   struct weft_error *error) WEFT_MUST_USE;
bool weft_rule_delete(struct weft_netlink *netlink, uint32_t source, uint32_t table,
                      uint32_t priority, struct weft_error *error) WEFT_MUST_USE;

// ---- queueing disciplines ----

// What leaves the link: at most rate_Bps after a burst, with limit_bytes waiting and the rest
// dropped. A burst below the largest packet would stop the link: with segmentation offload that is
// 64 kB, else the MTU and 14 bytes. Each replaces the root.
struct weft_shaper {
    double rate_Bps;
    uint32_t burst_bytes;
    uint32_t limit_bytes;
};
bool weft_qdisc_tbf(struct weft_netlink *netlink, uint32_t index, const struct weft_shaper *shape,
                    struct weft_error *error) WEFT_MUST_USE;
// The same by one class of HTB with a FIFO of limit_bytes.
bool weft_qdisc_htb(struct weft_netlink *netlink, uint32_t index, const struct weft_shaper *shape,
                    struct weft_error *error) WEFT_MUST_USE;
// HTB with queues of strict priority instead of the one FIFO: queue 0 first, each of limit_bytes. A
// packet's priority says its queue by the handles of bpf/classes/classes_types.h; the last queue
// has what says none. At most 8.
bool weft_qdisc_queues(struct weft_netlink *netlink, uint32_t index,
                       const struct weft_shaper *shape, uint32_t queue_count,
                       struct weft_error *error) WEFT_MUST_USE;
// Takes the root away: what leaves is as quick as the link. Absent is no failure.
bool weft_qdisc_delete(struct weft_netlink *netlink, uint32_t index, struct weft_error *error)
    WEFT_MUST_USE;
// The hooks for filters on what enters and leaves. One that stands is kept.
bool weft_qdisc_clsact(struct weft_netlink *netlink, uint32_t index, struct weft_error *error)
    WEFT_MUST_USE;
// A classifier program in direct action on what enters or (egress) leaves a link.
struct weft_filter {
    bool egress;
    uint32_t priority;
    int program_fd;
    const char *name;
};
// Needs clsact. Replaces a filter of the same priority. The kernel holds the program until the link
// goes.
bool weft_filter_bpf(struct weft_netlink *netlink, uint32_t index, const struct weft_filter *filter,
                     struct weft_error *error) WEFT_MUST_USE;
// The number in the kernel of the program with that name on a link; 0: there is none.
bool weft_filter_program(uint32_t *id, struct weft_netlink *netlink, uint32_t index, bool egress,
                         const char *name, struct weft_error *error) WEFT_MUST_USE;
// Needs clsact. Whatever enters the link leaves by the other one of its namespace, without a
// program in the kernel; no other filter may stand there. And where that goes; 0 = nowhere.
bool weft_filter_redirect(struct weft_netlink *netlink, uint32_t index, uint32_t output,
                          uint32_t priority, struct weft_error *error) WEFT_MUST_USE;
bool weft_filter_redirected(uint32_t *output, struct weft_netlink *netlink, uint32_t index,
                            struct weft_error *error) WEFT_MUST_USE;
bool weft_filter_delete(struct weft_netlink *netlink, uint32_t index, bool egress,
                        uint32_t priority, struct weft_error *error) WEFT_MUST_USE;

struct weft_qdisc_counters {
    uint64_t sent_bytes;
    uint64_t sent_packets;
    uint64_t dropped_packets;
    uint64_t overlimits;
    uint64_t backlog_bytes;
    uint64_t backlog_packets;
};
// Of the link's root.
bool weft_qdisc_counters(struct weft_qdisc_counters *counters, struct weft_netlink *netlink,
                         uint32_t index, struct weft_error *error) WEFT_MUST_USE;
// Of each queue of weft_qdisc_queues, [queue_count].
bool weft_qdisc_queue_counters(struct weft_qdisc_counters *counters, struct weft_netlink *netlink,
                               uint32_t index, uint32_t queue_count, struct weft_error *error)
    WEFT_MUST_USE;

#endif
