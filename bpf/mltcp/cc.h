// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_CC_H
#define WEFT_BPF_CC_H

// MLTCP as a congestion control of the running kernel (mltcp.bpf.c): loaded, listed, tuned,
// unloaded.
//
// Loaded by weft_cc_load it stays when the program ends: what holds it in the kernel is pinned in a
// BPF file system of Weft's own, mounted at WEFT_CC_FOLDER, which unloading takes away again.
// Loaded by weft_cc_open it is gone with the program, also when that is killed (on kernels before
// 6.4, which lack links for congestion controls, only when weft_cc_close is called).
//
// Everything here calls the kernel and may block. Errors: UNSUPPORTED where this machine or user
// cannot, with what is missing; INPUT for bad names; IO where the kernel refuses.

#include "weft/base.h"

#include "mltcp_types.h"

#define WEFT_CC_RUN "/run/weft"
#define WEFT_CC_FOLDER "/run/weft/bpf"

struct weft_cc_parameters {
    enum mltcp_base base;
    double slope;
    double intercept; // F = slope * ratio + intercept
    enum mltcp_group group;
    uint32_t restart; // segments; 0 = the window is carried over
    uint32_t gap_ms;
};

// The parameters of `name`: mltcp's, or those of a twin, which has F = 1 and no restart.
struct weft_cc_parameters weft_cc_defaults(const char *name);
// Within what the program can take: slope 0 to 64, intercept 0.001 to 64, restart 0 to 65535,
// gap_ms 1 to 3600000. Fails with INPUT.
bool weft_cc_check(const struct weft_cc_parameters *parameters, struct weft_error *error)
    WEFT_MUST_USE;
struct mltcp_parameters weft_cc_pack(const struct weft_cc_parameters *parameters);
struct weft_cc_parameters weft_cc_unpack(const struct mltcp_parameters *packed);
// Names are 1 to 15 lower-case letters, digits and _, a letter first, and none that kernels use for
// something else. Fails with INPUT.
bool weft_cc_check_name(const char *name, struct weft_error *error) WEFT_MUST_USE;

// Whether this machine and user can load it: root, the kernel's type information, struct_ops.
bool weft_cc_capable(struct weft_error *error) WEFT_MUST_USE;
// Whether the kernel lists a congestion control of that name.
bool weft_cc_registered(const char *name);

// ---- for the life of a program ----

struct weft_cc {
    void *object; // struct bpf_object
    int map;      // the congestion control
    int link;     // -1 = none: the kernel has no links for them
    bool linked;
};
bool weft_cc_open(struct weft_cc *cc, const char *name, const struct weft_cc_parameters *parameters,
                  struct weft_error *error) WEFT_MUST_USE;
void weft_cc_close(struct weft_cc *cc);

// ---- for good ----

struct weft_cc_request {
    const char *name;
    struct weft_cc_parameters parameters;
    const char *cgroup; // whose sockets use it; NULL = none
    bool make_default;  // of this network namespace
};
// Fails with UNSUPPORTED when the name is taken. What a killed run left is taken away first, and
// *leftovers says whether there was any.
bool weft_cc_load(const struct weft_cc_request *request, bool *leftovers, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_cc_tune(const char *name, const struct weft_cc_parameters *parameters,
                  struct weft_error *error) WEFT_MUST_USE;
struct weft_cc_unloaded {
    uint32_t connections; // sockets that use it and go on with it until they close
    bool leftovers;       // it was not loaded: these were what a killed run left
};
// Takes it away, or what a killed run left of it. Fails with UNSUPPORTED where there is nothing.
bool weft_cc_unload(const char *name, struct weft_cc_unloaded *unloaded, struct weft_error *error)
    WEFT_MUST_USE;

// ---- what there is ----

struct weft_cc_connection {
    uint32_t number;
    struct mltcp_connection counts;
    struct mltcp_job job; // zero when the kernel has forgotten it
};
struct weft_cc_status {
    char name[MLTCP_NAME_BYTES];
    bool registered; // false: leftovers of a killed run
    struct weft_cc_parameters parameters;
    const char *cgroup; // NULL = none
    bool is_default;    // of this network namespace, by --default
    struct weft_cc_connection *connections;
    uint32_t connection_count;
};
// All that weft_cc_load has loaded, in the order of their names; none where nothing is.
bool weft_cc_list(struct weft_cc_status **list, uint32_t *count, struct weft_arena *arena,
                  struct weft_error *error) WEFT_MUST_USE;
// The connections of one that weft_cc_open opened.
bool weft_cc_connections(struct weft_cc_connection **list, uint32_t *count,
                         const struct weft_cc *cc, struct weft_arena *arena,
                         struct weft_error *error) WEFT_MUST_USE;

#endif
