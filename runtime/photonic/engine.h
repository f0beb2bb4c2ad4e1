// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_PHOTONIC_ENGINE_H
#define WEFT_RUNTIME_PHOTONIC_ENGINE_H

// What computes the answers of an interface, one request after the other.
//
//   twin          the datapath in C, in the interface's own process
//   verilog       the datapath in Verilog, simulated by a program that the interface starts
//   stop-and-go   what count-action replaces: light multiplies one layer, then a host process reads
//                 its sums back, applies the activation and arms the next

#include "weft/photonics.h"

enum weft_nic_engine_kind {
    WEFT_NIC_ENGINE_TWIN,
    WEFT_NIC_ENGINE_VERILOG,
    WEFT_NIC_ENGINE_STOP_AND_GO,
    WEFT_NIC_ENGINES,
};
extern const char *const weft_nic_engine_names[WEFT_NIC_ENGINES];

struct weft_nic_engine;
struct weft_nic_engine_ops {
    // The outcome holds until the next run. False: there is none, and the engine may do better at
    // the next request.
    bool (*run)(struct weft_photonic_outcome *outcome, struct weft_nic_engine *engine,
                const struct weft_photonic_job *job);
    void (*close)(struct weft_nic_engine *engine);
};
struct weft_nic_engine {
    const struct weft_nic_engine_ops *ops;
    const struct weft_photonic_models *models;
    void *own;
};

struct weft_nic_engine_options {
    enum weft_nic_engine_kind kind;
    // VERILOG: the program and its arguments, NULL at the end; it speaks as docs/lightning.md says.
    const char *const *command;
};
// Models must outlive the engine. A process that it starts ends with the caller.
bool weft_nic_engine_open(struct weft_nic_engine *engine,
                          const struct weft_nic_engine_options *options,
                          const struct weft_photonic_models *models, struct weft_arena *arena,
                          struct weft_error *error) WEFT_MUST_USE;

// What the kinds fill in.
bool weft_nic_twin_open(struct weft_nic_engine *engine, struct weft_arena *arena,
                        struct weft_error *error) WEFT_MUST_USE;
bool weft_nic_verilog_open(struct weft_nic_engine *engine, const char *const *command,
                           struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_nic_stop_and_go_open(struct weft_nic_engine *engine, struct weft_arena *arena,
                               struct weft_error *error) WEFT_MUST_USE;

#endif
