// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PHOTONIC_NIC_H
#define WEFT_RUNTIME_PHOTONIC_NIC_H

// A network interface that answers requests to light: raised, running, taken away.
//
//   models ──up──► namespaces, cable, keeper process ──► port ──► responder ──► engine ──► port
//                                                                     │
//                                                     state (state.h) ◄──┘
//
//   weft.NAME.host  host  198.18.0.1 ═══ 198.18.0.2  port  weft.NAME
//
// Two processes keep an interface: one that serves, and its parent, which takes everything away
// when that ends, however it does. SIGTERM to either ends both; when one is killed, the other
// cleans up. Only when both are killed at once is anything left, for weft_nic_down.

#include "runtime/photonic/engine.h"
#include "runtime/photonic/state.h"

struct weft_nic_setup {
    const char *name;
    uint16_t port;      // of UDP
    uint32_t mtu_bytes; // 576 to 9000
    bool without_xdp;
    struct weft_nic_engine_options engine;
    struct weft_photonic_responder_options responder;
};
enum { WEFT_NIC_MTU_MIN = 576, WEFT_NIC_MTU_MAX = 9000 };

// Raises an interface and returns when it answers. *note: why it has no XDP program, "" = it has.
// What a killed run left under the name is taken away first. Fails with UNSUPPORTED without root,
// with IO where the name is in use.
bool weft_nic_up(char note[256], const struct weft_nic_setup *setup,
                 const struct weft_photonic_models *models, struct weft_arena *arena,
                 struct weft_error *error) WEFT_MUST_USE;
// Ends the interface of that name and takes away what is left of it. *stood: there was something.
bool weft_nic_down(bool *stood, const char *name, struct weft_error *error) WEFT_MUST_USE;

// Serves in the calling process, in the namespace of the port, until SIGTERM or SIGINT (blocked by
// the caller). `ready` is called once packets are answered.
bool weft_nic_serve(struct weft_nic_state *state, const struct weft_nic_setup *setup,
                    const struct weft_photonic_models *models, void (*ready)(void *context),
                    void *context, struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;

#endif
