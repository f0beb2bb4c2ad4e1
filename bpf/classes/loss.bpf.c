// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// Loses what enters a port, each packet by chance: a gray failure, which neither end is told of. A
// classifier on the port's ingress; the kernel's own random numbers decide, so that two runs lose
// different packets.

#include "bpf/packet.h"
#include "classes_types.h"

#include <bpf/bpf_helpers.h>

const char licence[] SEC("license") = "Dual MIT/GPL";

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, CLASSES_LOSS_ROWS);
    __type(key, __u32);
    __type(value, __u64);
} losses SEC(".maps");

static __u64 *cell(__u32 row)
{
    return bpf_map_lookup_elem(&losses, &row);
}

SEC("tc")
int weft_loss(struct __sk_buff *context)
{
    __u64 *threshold = cell(CLASSES_LOSS_THRESHOLD);
    __u64 *packets = cell(CLASSES_LOSS_PACKETS);
    __u64 *lost = cell(CLASSES_LOSS_LOST);
    if (threshold == 0 || packets == 0 || lost == 0) {
        return ACT_UNSPEC;
    }
    __sync_fetch_and_add(packets, 1);
    if (bpf_get_prandom_u32() >= *threshold) {
        return ACT_UNSPEC;
    }
    __sync_fetch_and_add(lost, 1);
    return ACT_SHOT;
}
