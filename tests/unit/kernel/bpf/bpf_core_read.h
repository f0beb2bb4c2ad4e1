// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_KERNEL_BPF_CORE_READ_H
#define WEFT_TESTS_KERNEL_BPF_CORE_READ_H

// See bpf_helpers.h: structures are as kernel.h has them, with no cgroup and no namespace.
#define bpf_core_field_exists(field) 0
#define BPF_CORE_READ(...) 0
#define BPF_CORE_READ_INTO(...) ((void)0)
#define BPF_CORE_READ_BITFIELD(from, member) ((from)->member)

#endif
