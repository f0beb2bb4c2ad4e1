// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// Picks requests to light out of what enters an interface (XDP): what is none of them goes on to
// the kernel, what pretends to be one is dropped and counted, before the kernel spends more on it.
//
// The checks are those that need no table of models; the rest is the responder's, which makes these
// again, too, since it runs where there is no such program. Payload is read in place.

#include "bpf/packet.h"
#include "requests_types.h"

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

const char licence[] SEC("license") = "Dual MIT/GPL";

// The kernel's own structure of that name; its layout is part of its interface.
struct xdp_md {
    __u32 data;
    __u32 data_end;
    __u32 data_meta;
    __u32 ingress_ifindex;
    __u32 rx_queue_index;
    __u32 egress_ifindex;
};

enum {
    ACT_DROP = 1,
    ACT_PASS = 2,
    MAGIC = 0x574C,
    VERSION = 1,
    HEAD_BYTES = 16,
};

struct frame {
    __u8 macs[12];
    __be16 type;
} __attribute__((packed));
struct udp {
    __be16 source;
    __be16 target;
    __be16 length;
    __be16 checksum;
} __attribute__((packed));
struct head {
    __be16 magic;
    __u8 version;
    __u8 flags;
    __u8 rest[11];
    __u8 pad;
} __attribute__((packed));

const volatile struct requests_settings settings = {0};

struct {
    __uint(type, MAP_PERCPU_ARRAY);
    __uint(max_entries, REQUESTS_COUNTS);
    __type(key, __u32);
    __type(value, __u64);
} requests_counts SEC(".maps");

static __always_inline int end(enum requests_count what, int action)
{
    __u32 key = what;
    __u64 *count = bpf_map_lookup_elem(&requests_counts, &key);
    if (count != 0) {
        (*count)++;
    }
    return action;
}

// Of an address that no host sends from: this network, loopback, groups and broadcast, the port.
static __always_inline int is_nobody(__be32 address)
{
    __u32 first = bpf_ntohl(address) >> 24;
    return first == 0 || first == 127 || first >= 224 || address == settings.address;
}

static __always_inline int check_payload(const struct udp *udp, __u32 room, const void *data_end)
{
    const struct head *head = (const void *)(udp + 1);
    __u32 length = bpf_ntohs(udp->length);
    if (length < sizeof *udp || length > room) {
        return end(REQUESTS_UDP, ACT_DROP);
    }
    if (length < sizeof *udp + HEAD_BYTES || (const void *)(head + 1) > data_end) {
        return end(REQUESTS_SHORT, ACT_DROP);
    }
    if (head->magic != bpf_htons(MAGIC)) {
        return end(REQUESTS_MAGIC, ACT_DROP);
    }
    if (head->version != VERSION) {
        return end(REQUESTS_VERSION, ACT_DROP);
    }
    // Of the flags there are, a request has one at most: a fragment's, or that to describe.
    if (head->flags != 0 && head->flags != 2 && head->flags != 4) {
        return end(REQUESTS_FLAGS, ACT_DROP);
    }
    return head->pad != 0 ? end(REQUESTS_PAD, ACT_DROP) : end(REQUESTS_PASSED, ACT_PASS);
}

SEC("xdp")
int weft_requests(struct xdp_md *context)
{
    const void *data = (const void *)(long)context->data;
    const void *data_end = (const void *)(long)context->data_end;
    const struct frame *frame = data;
    const struct ipv4 *ip = (const void *)(frame + 1);
    if ((const void *)(ip + 1) > data_end || frame->type != bpf_htons(ETHERTYPE_IPV4) ||
        ip->protocol != PROTOCOL_UDP || ip->version_length >> 4 != 4) {
        return end(REQUESTS_OTHERS, ACT_PASS);
    }
    __u32 ip_bytes = (ip->version_length & 15) * 4;
    const struct udp *udp = (const void *)ip + ip_bytes;
    __u32 fragment = bpf_ntohs(ip->fragment);
    // Later fragments have no port: without the first one the kernel drops them in silence.
    if (ip_bytes < sizeof *ip || (fragment & 0x1FFF) != 0 || (const void *)(udp + 1) > data_end ||
        udp->target != bpf_htons(settings.port)) {
        return end(REQUESTS_OTHERS, ACT_PASS);
    }
    if ((fragment & 0x2000) != 0) {
        return end(REQUESTS_FRAGMENT, ACT_DROP);
    }
    if (ip->target != settings.address || is_nobody(ip->source) || udp->source == 0) {
        return end(REQUESTS_ADDRESS, ACT_DROP);
    }
    __u32 ip_length = bpf_ntohs(ip->length);
    if (ip_length < ip_bytes + sizeof *udp || (const void *)ip + ip_length > data_end) {
        return end(REQUESTS_UDP, ACT_DROP);
    }
    return check_payload(udp, ip_length - ip_bytes, data_end);
}
