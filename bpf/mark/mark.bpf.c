// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// Marks packets (ECN) that find a queue of a link longer than a threshold: what RED with one
// threshold would do (as DCTCP asks of switches, Alizadeh et al., SIGCOMM 2010, 3.1), on kernels
// without RED.
//
// A classifier on the link's egress runs before the queue and reads its length.

#include "bpf/packet.h"

#include <bpf/bpf_helpers.h>

const char licence[] SEC("license") = "Dual MIT/GPL";

// [0] packets in the queue above which packets are marked, [1] marked, [2] seen, [3] the longest.
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 4);
    __type(key, __u32);
    __type(value, __u64);
} marks SEC(".maps");

static __u64 *cell(__u32 index)
{
    return bpf_map_lookup_elem(&marks, &index);
}

SEC("tc")
int weft_mark(struct __sk_buff *context)
{
    struct sk_buff *skb = bpf_cast_to_kern_ctx(context);
    __u64 *threshold = cell(0);
    __u64 *marked = cell(1);
    __u64 *seen = cell(2);
    __u64 *longest = cell(3);
    if (threshold == 0 || marked == 0 || seen == 0 || longest == 0) {
        return ACT_UNSPEC;
    }
    __u64 length = skb->dev->_tx->qdisc->q.qlen;
    __sync_fetch_and_add(seen, 1);
    if (length > *longest) {
        *longest = length;
    }
    if (length >= *threshold && bpf_skb_ecn_set_ce(context) == 1) {
        __sync_fetch_and_add(marked, 1);
    }
    return ACT_UNSPEC;
}
