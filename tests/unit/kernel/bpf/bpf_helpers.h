// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_KERNEL_BPF_HELPERS_H
#define WEFT_TESTS_KERNEL_BPF_HELPERS_H

// In the place of libbpf's headers where a test includes a kernel program and calls it as plain C:
// the test is the kernel, and defines these functions.

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value) *name

void *bpf_map_lookup_elem(void *map, const void *key);
long bpf_map_update_elem(void *map, const void *key, const void *value, unsigned long long flags);
long bpf_map_delete_elem(void *map, const void *key);
unsigned long long bpf_ktime_get_ns(void);

#endif
