// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_EMBEDDED_H
#define WEFT_BPF_EMBEDDED_H

// The compiled kernel programs, as `embed` writes them into the program: the bytes of an ELF object
// each, which bpf/object.c opens. The arrays are aligned, because libbpf reads structures in place;
// their definitions are generated at build time (bpf/meson.build).
extern const unsigned char bpf_cgroup[];
extern const unsigned long bpf_cgroup_bytes;
extern const unsigned char bpf_classes[];
extern const unsigned long bpf_classes_bytes;
extern const unsigned char bpf_loss[];
extern const unsigned long bpf_loss_bytes;
extern const unsigned char bpf_mark[];
extern const unsigned long bpf_mark_bytes;
extern const unsigned char bpf_mltcp[];
extern const unsigned long bpf_mltcp_bytes;
extern const unsigned char bpf_ocs[];
extern const unsigned long bpf_ocs_bytes;
extern const unsigned char bpf_requests[];
extern const unsigned long bpf_requests_bytes;

#endif
