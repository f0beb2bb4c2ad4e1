// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_LAB_OCS_H
#define WEFT_CLI_LAB_OCS_H

// What the files of `weft lab ocs` share: the request that the options make, and how a switch is
// opened. A switch is one that the lab emulates in eBPF, or a real one that is reached at the
// address of --box.

#include "lab.h"

#include "runtime/ocs/ocs.h"

struct weft_lab;

enum { OCS_ARGUMENTS_MAX = 1024 };
enum {
    OCS_ADDRESS = 1,
    OCS_USER,
    OCS_CREDENTIALS,
    OCS_SWITCH,
    OCS_DARK,
    OCS_ONLY,
    OCS_PORTS,
    OCS_LISTEN,
    OCS_SETTLE,
    OCS_CA,
    OCS_INSECURE,
    OCS_CERTIFICATE,
    OCS_KEY,
    OCS_PROTOCOL,
    OCS_FAULT,
    OCS_LOSS,
};

// How a switch outside the lab is reached.
struct ocs_remote {
    const char *address;          // of --box; NULL = the lab's switches
    const char *credentials_path; // NULL = none
    const char *user;             // of that file
    const char *password;
    const char *ca_path; // NULL = the system's CAs
    bool insecure;
    double loss_max_db; // 0 = 6 dB
};

// The switch that `emulate` serves as.
struct ocs_emulated {
    const char *protocol; // NULL = restconf
    enum weft_ocs_protocol protocol_index;
    const char *fault;   // NULL = none
    uint32_t port_count; // 0: 16
    uint32_t listen_port;
    uint64_t settle_ns;
    bool settle_given;
    const char *certificate_path; // NULL = HTTP
    const char *key_path;
    bool made_credentials;
};

struct ocs_request {
    struct cli *cli;
    const char *name;                         // of the lab
    const char *action;                       // "show", ...
    const char *arguments[OCS_ARGUMENTS_MAX]; // circuits or a plan
    uint32_t argument_count;
    uint32_t plane; // WEFT_NONE = all
    bool dark_given;
    uint64_t dark_ns;
    bool circuits_only;
    struct ocs_remote remote;
    struct ocs_emulated emulated;
};

// Opens the switch at the address of the request, or the lab's switch of that plane; the caller
// closes it.
bool ocs_open(struct weft_ocs *ocs, const struct ocs_request *request, const struct weft_lab *lab,
              uint32_t plane) WEFT_MUST_USE;
// Prints the circuits and counters of one switch or of all.
bool ocs_show(const struct ocs_request *request, const struct weft_lab *lab) WEFT_MUST_USE;
// Sets all circuits of a plan, then its routes.
bool ocs_apply(const struct ocs_request *request, struct weft_lab *lab) WEFT_MUST_USE;

#endif
