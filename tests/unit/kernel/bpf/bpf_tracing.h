// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_KERNEL_BPF_TRACING_H
#define WEFT_TESTS_KERNEL_BPF_TRACING_H

// See bpf_helpers.h: a program's arguments are those of a function.
#define BPF_PROG(name, ...) name(__VA_ARGS__)

#endif
