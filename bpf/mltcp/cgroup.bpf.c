// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// Gives the TCP sockets of a cgroup a congestion control when they connect or are accepted.
//
// The kernel calls a sockops program at these moments of a connection's life; it sets the option
// TCP_CONGESTION as the application itself could.

#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

#include "mltcp.h"

const char licence[] SEC("license") = "Dual MIT/GPL";

// The context of a sockops program: fixed, not to be relocated.
struct bpf_sock_ops {
    __u32 op;
};
enum {
    ON_CONNECT = 3, // BPF_SOCK_OPS_TCP_CONNECT_CB
    ON_ACCEPT = 5,  // BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB
    LEVEL_TCP = 6,
    OPTION_CONGESTION = 13,
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, char[MLTCP_NAME_BYTES]);
} chosen SEC(".maps");

SEC("sockops")
int weft_cgroup(struct bpf_sock_ops *context)
{
    if (context->op == ON_CONNECT || context->op == ON_ACCEPT) {
        __u32 first = 0;
        char *name = bpf_map_lookup_elem(&chosen, &first);
        if (name != 0) {
            bpf_setsockopt(context, LEVEL_TCP, OPTION_CONGESTION, name, MLTCP_NAME_BYTES);
        }
    }
    return 1;
}
