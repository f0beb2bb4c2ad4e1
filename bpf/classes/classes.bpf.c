// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// Sorts what leaves a port into queues of strict priority, and before a long queue drops gradients
// that may be missing and marks the others: RED with one threshold and two classes (MLT, NSDI 2024;
// DLCP), on kernels without RED.
//
// A classifier on the port's egress runs before its HTB, reads the head of MLT's DATA (the layout
// is in weft/mlt.h) and says the HTB class by the packet's priority. Queues are FIFOs behind these
// classes, found among the qdiscs of the port by their handles, since the root knows only the sum
// of all: one long queue is no reason to drop what a more urgent one would send at once. O(1).

#include "bpf/packet.h"
#include "classes_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

const char licence[] SEC("license") = "Dual MIT/GPL";

enum {
    FRAME_BYTES = 14,
    FRAGMENT_BITS = 0x3FFF, // more fragments, and the offset
    UDP_BYTES = 8,
    MLT_MAGIC = 0x4D57,
    MLT_VERSION = 1,
    MLT_DATA = 1,
    MLT_KINDS = 6,
    QDISC_BUCKETS_BITS = 4,
    QDISC_CHAIN_MAX = 16,
};

// The head of every message, little endian, and layer and class of DATA. All kinds have as many
// bytes: the others have a MAC of 16 there.
struct mlt {
    __u16 magic;
    __u8 version;
    __u8 kind;
    __u8 rest[20];
    __u8 layer[2];
    __u8 important;
    __u8 pad;
} __attribute__((packed));

const volatile struct classes_settings settings = {0};

struct {
    __uint(type, MAP_PERCPU_ARRAY);
    __uint(max_entries, CLASSES_ROWS);
    __type(key, __u32);
    __type(value, struct classes_count);
} classes_counts SEC(".maps");

// Whether this is a message of MLT. One in fragments is none: later fragments have no head.
static __always_inline int read_head(struct mlt *mlt, struct __sk_buff *context)
{
    struct ipv4 ip;
    if (context->protocol != bpf_htons(ETHERTYPE_IPV4) ||
        bpf_skb_load_bytes(context, FRAME_BYTES, &ip, sizeof ip) != 0 ||
        ip.protocol != PROTOCOL_UDP || (ip.fragment & bpf_htons(FRAGMENT_BITS)) != 0) {
        return 0;
    }
    __u32 payload = FRAME_BYTES + (ip.version_length & 15) * 4 + UDP_BYTES;
    return bpf_skb_load_bytes(context, payload, mlt, sizeof *mlt) == 0 && mlt->magic == MLT_MAGIC &&
           mlt->version == MLT_VERSION && mlt->kind >= MLT_DATA && mlt->kind < MLT_KINDS;
}

// The class of a packet, and its queue. What is no message of MLT shares the last queue of the
// gradients: alone behind all of them it would starve for as long as a job sends, ahead of them a
// long flow would hold up what the next step needs first.
static __always_inline enum classes_class sort(__u32 *queue, struct __sk_buff *context)
{
    struct mlt mlt;
    *queue = settings.queues;
    if (!read_head(&mlt, context)) {
        return CLASSES_OTHER;
    }
    if (mlt.kind != MLT_DATA) {
        *queue = 0;
        return CLASSES_CONTROL;
    }
    __u32 layer = mlt.layer[0] | (__u32)mlt.layer[1] << 8;
    if (layer < settings.layers) {
        *queue = 1 + settings.queues * layer / settings.layers;
    }
    return mlt.important != 0 ? CLASSES_IMPORTANT : CLASSES_UNIMPORTANT;
}

// Packets in the port's qdisc of that handle, which the kernel finds in the same way: by hash_32 of
// the handle (include/linux/hash.h). Without such a qdisc those of the whole port.
static __always_inline __u64 length_of(struct __sk_buff *context, __u32 handle)
{
    const struct sk_buff *skb = bpf_cast_to_kern_ctx(context);
    const struct net_device *device = 0;
    bpf_probe_read_kernel(&device, sizeof device, &skb->dev);
    __u32 bucket = handle * 0x61C88647u >> (32 - QDISC_BUCKETS_BITS);
    const struct hlist_head *heads =
        (const void *)((const char *)device + bpf_core_field_offset(device->qdisc_hash));
    const struct hlist_node *node = 0;
    bpf_probe_read_kernel(&node, sizeof node, heads + bucket);
    for (__u32 i = 0; i < QDISC_CHAIN_MAX && node != 0; i++) {
        const struct Qdisc *qdisc =
            (const void *)((const char *)node - bpf_core_field_offset(struct Qdisc, hash));
        if (BPF_CORE_READ(qdisc, handle) == handle) {
            return BPF_CORE_READ(qdisc, q.qlen);
        }
        node = BPF_CORE_READ(node, next);
    }
    return BPF_CORE_READ(device, _tx, qdisc, q.qlen);
}

SEC("tc")
int weft_classes(struct __sk_buff *context)
{
    __u32 queue = 0;
    enum classes_class class = sort(&queue, context);
    __u32 row = queue * CLASSES_COUNT + class;
    struct classes_count *count = bpf_map_lookup_elem(&classes_counts, &row);
    context->priority = CLASSES_ROOT | (CLASSES_MINOR + queue);
    if (count == 0) {
        return ACT_UNSPEC;
    }
    __u64 length = length_of(context, CLASSES_LEAF + (queue << 16));
    count->packets++;
    count->bytes += context->len;
    if (length > count->longest) {
        count->longest = length;
    }
    // A host's own packets wait, and hold their socket back.
    if (context->ingress_ifindex == 0 || length < settings.threshold_packets) {
        return ACT_UNSPEC;
    }
    if (class == CLASSES_UNIMPORTANT) {
        count->dropped++;
        return ACT_SHOT;
    }
    if (bpf_skb_ecn_set_ce(context) == 1) {
        count->marked++;
    }
    return ACT_UNSPEC;
}
