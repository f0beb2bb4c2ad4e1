// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#ifndef WEFT_BPF_KERNEL_H
#define WEFT_BPF_KERNEL_H

// What the kernel programs know of the kernel's structures: the members they use, by name. Where
// these lie in the running kernel is filled in when a program is loaded (CO-RE), so that the build
// needs neither the kernel's headers nor the type information of the machine it runs on.

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed short __s16;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;

enum {
    BPF_ANY = 0,
    BPF_NOEXIST = 1,
};
enum {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_LRU_HASH = 9,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

// ---- sockets ----

struct in6_addr {
    union {
        __u8 u6_addr8[16];
        __u32 u6_addr32[4];
    } in6_u;
};
struct ns_common {
    __u32 inum;
};
struct net {
    struct ns_common ns;
};
typedef struct {
    struct net *net;
} possible_net_t;
struct sock_common {
    __u32 skc_daddr;
    __u32 skc_rcv_saddr;
    __u16 skc_dport;
    __u16 skc_num;
    __u16 skc_family;
    possible_net_t skc_net;
    struct in6_addr skc_v6_daddr;
    struct in6_addr skc_v6_rcv_saddr;
};
struct kernfs_node {
    __u64 id;
};
struct cgroup {
    struct kernfs_node *kn;
};
struct sock_cgroup_data {
    struct cgroup *cgroup;
};
struct sock {
    struct sock_common __sk_common;
    __u32 sk_mark;
    struct sock_cgroup_data sk_cgrp_data;
};
struct inet_sock {
    struct sock sk;
};
struct inet_connection_sock {
    struct inet_sock icsk_inet;
    __u8 icsk_ca_state : 5;
    __u64 icsk_ca_priv[13];
};
struct tcp_sock {
    struct inet_connection_sock inet_conn;
    __u64 bytes_acked;
    __u32 delivered;
    __u32 delivered_ce;
    __u32 lost_out;
    __u32 max_packets_out;
    __u32 packets_out;
    __u32 prr_out;
    __u32 retrans_out;
    __u32 sacked_out;
    __u32 snd_cwnd;
    __u32 snd_cwnd_clamp;
    __u32 snd_ssthresh;
    __u32 srtt_us;
    __u32 total_retrans;
    __u8 is_cwnd_limited : 1;
};

// ---- queues ----

struct hlist_node {
    struct hlist_node *next;
};
struct hlist_head {
    struct hlist_node *first;
};
struct gnet_stats_queue {
    __u32 backlog;
};
struct qdisc_skb_head {
    __u32 qlen;
};
struct Qdisc {
    struct hlist_node hash;
    __u32 handle;
    struct qdisc_skb_head q;
    struct gnet_stats_queue qstats;
};
struct netdev_queue {
    struct Qdisc *qdisc;
};
struct net_device {
    struct netdev_queue *_tx;
    struct hlist_head qdisc_hash[16]; // all but the root, by their handles
};
struct sk_buff {
    struct net_device *dev;
};

#pragma clang attribute pop

// The members of a congestion control that mltcp has; libbpf finds each by its name.
enum tcp_ca_event { CA_EVENT_TX_START = 0 };
enum tcp_ca_state {
    TCP_CA_Open = 0,
    TCP_CA_Disorder = 1,
    TCP_CA_CWR = 2,
    TCP_CA_Recovery = 3,
    TCP_CA_Loss = 4,
};
enum { TCP_CONG_NON_RESTRICTED = 1 };
struct tcp_congestion_ops {
    __u32 (*ssthresh)(struct sock *sk);
    void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
    void (*cong_control)(struct sock *sk);
    __u32 (*undo_cwnd)(struct sock *sk);
    char name[16];
    __u32 flags;
    void (*init)(struct sock *sk);
    void (*release)(struct sock *sk);
};

#endif
