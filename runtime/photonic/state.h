// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PHOTONIC_STATE_H
#define WEFT_RUNTIME_PHOTONIC_STATE_H

// What an interface that answers tells others: one page of memory, kept as a file of its name, that
// the interface writes and `status` reads.
//
//   /run/weft/photonic/NAME     the page, with a lock of the process that keeps the interface
//   weft.NAME, weft.NAME.host   its namespaces: the port, and the host at the other end of its
//   cable
//
// Counters are written whole, one after the other, so that a reader's are not of one instant.

#include "runtime/photonic/frame.h"
#include "runtime/photonic/histogram.h"

#include "bpf/photonic/requests_types.h"
#include "weft/photonics.h"

#include <sys/types.h>

#define WEFT_NIC_FOLDER "/run/weft/photonic"
#define WEFT_NIC_DEFAULT "nic0"
// The network of the cable, of those that are for tests of equipment (RFC 2544).
#define WEFT_NIC_HOST_ADDRESS 0xC6120001u // 198.18.0.1
#define WEFT_NIC_PORT_ADDRESS 0xC6120002u // 198.18.0.2
enum { WEFT_NIC_NAME_MAX = 24, WEFT_NIC_NETNS_MAX = 40 };

struct weft_nic_model {
    uint32_t id;
    uint32_t layers;
    uint32_t input_bytes;
    uint32_t output_count;
    char name[48];
};
struct weft_nic_state {
    uint32_t magic;
    uint32_t is_up; // 0: being raised
    char name[WEFT_NIC_NAME_MAX];
    char engine[16];
    int32_t pid;
    uint32_t port;
    uint32_t mtu_bytes;
    uint32_t has_xdp;
    uint32_t model_count;
    struct weft_nic_model models[WEFT_PHOTONIC_MODELS_MAX];

    uint64_t frames[WEFT_NIC_FRAME_KINDS]; // what the socket got
    uint64_t oversized;                    // longer than the port's MTU
    uint64_t overrun;                      // no room in the socket's ring
    uint64_t unsent;                       // answers that the interface did not take
    uint64_t xdp[REQUESTS_COUNTS];
    struct weft_photonic_counts counts;
    struct weft_nic_histogram latency; // from the kernel's receipt to the answer
};

// Letters and digits, a letter first, at most 15.
bool weft_nic_check_name(const char *name, struct weft_error *error) WEFT_MUST_USE;
// The namespaces of that name.
const char *weft_nic_port_netns(char netns[WEFT_NIC_NETNS_MAX], const char *name);
const char *weft_nic_host_netns(char netns[WEFT_NIC_NETNS_MAX], const char *name);

// Makes the page and locks it for this process, whose end gives it back. Fails with IO where
// another process has it. *left: what a killed process left was taken over.
bool weft_nic_state_create(struct weft_nic_state **state, int *fd, bool *left, const char *name,
                           struct weft_error *error) WEFT_MUST_USE;
// For its maker: takes the file away.
void weft_nic_state_remove(const char *name);
// A copy of the page. *keeper: the process that has it locked, 0 = none, it was killed. Fails with
// INPUT where there is none of that name.
bool weft_nic_state_read(struct weft_nic_state *state, pid_t *keeper, const char *name,
                         struct weft_error *error) WEFT_MUST_USE;
// All names, sorted.
bool weft_nic_state_list(const char *const **names, uint32_t *count, struct weft_arena *arena,
                         struct weft_error *error) WEFT_MUST_USE;

#endif
