// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// An optical circuit switch: what enters a port leaves by the port that its circuit says, or is
// lost. A classifier on the ingress of the switch's end of each cable; the far ends are servers in
// other network namespaces, which receive at once, without another queue.

#include "bpf/packet.h"
#include "ocs_types.h"

#include <bpf/bpf_helpers.h>

const char licence[] SEC("license") = "Dual MIT/GPL";

enum {
    MAP_MMAPABLE = 1 << 10,
};

// Port p is interface first_index + p.
const volatile __u32 first_index = 2;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, MAP_MMAPABLE);
    __uint(max_entries, 1); // as many as ports, set by the driver
    __type(key, __u32);
    __type(value, struct ocs_circuit);
} ocs_circuits SEC(".maps");

struct {
    __uint(type, MAP_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct ocs_count);
} ocs_counts SEC(".maps");

// One packet: lost without a circuit or while it is dark, else passed to the far end of its output.
SEC("tc")
int weft_ocs(struct __sk_buff *skb)
{
    __u32 port = skb->ifindex - first_index;
    volatile struct ocs_circuit *circuit = bpf_map_lookup_elem(&ocs_circuits, &port);
    struct ocs_count *count = bpf_map_lookup_elem(&ocs_counts, &port);
    if (circuit == 0 || count == 0) {
        return ACT_SHOT;
    }
    __u32 output = circuit->output_index;
    if (output == 0) {
        count->unlit_packets++;
        return ACT_SHOT;
    }
    // The clock is read only after a change, until the first packet has passed. A first_ns that a
    // late packet of the circuit before wrote is older than the end of the dark time.
    __u64 first = circuit->first_ns;
    __u64 dark_until = circuit->dark_until_ns;
    if (first == 0 || first < dark_until) {
        __u64 now = bpf_ktime_get_ns();
        if (now < dark_until) {
            count->dark_packets++;
            return ACT_SHOT;
        }
        circuit->first_ns = now;
    }
    count->packets++;
    count->bytes += skb->len;
    return (int)bpf_redirect_peer(output, 0);
}
