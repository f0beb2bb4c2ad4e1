// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#ifndef WEFT_BPF_PACKET_H
#define WEFT_BPF_PACKET_H

// What classifiers and programs at an interface know of a packet: what the kernel passes them,
// whose layout is part of its interface, and the heads on the wire.

#include "bpf/kernel.h"

enum {
    MAP_PERCPU_ARRAY = 6,
    ACT_UNSPEC = -1, // of a classifier: go on
    ACT_SHOT = 2,
    ETHERTYPE_IPV4 = 0x0800,
    PROTOCOL_UDP = 17,
};

// The beginning of the kernel's own structure of that name.
struct __sk_buff {
    __u32 len;
    __u32 pkt_type;
    __u32 mark;
    __u32 queue_mapping;
    __u32 protocol;
    __u32 vlan_present;
    __u32 vlan_tci;
    __u32 vlan_proto;
    __u32 priority;
    __u32 ingress_ifindex;
    __u32 ifindex;
};
extern void *bpf_cast_to_kern_ctx(void *context) __attribute__((section(".ksyms")));

struct ipv4 {
    __u8 version_length;
    __u8 service;
    __be16 length;
    __be16 id;
    __be16 fragment;
    __u8 ttl;
    __u8 protocol;
    __be16 checksum;
    __be32 source;
    __be32 target;
} __attribute__((packed));

#endif
