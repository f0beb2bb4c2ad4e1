// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_LAB_OCS_H
#define WEFT_CLI_LAB_OCS_H

// What the files of `weft lab ocs` share.

#include "lab.h"

struct weft_lab;
struct weft_ocs;

enum { OCS_WORDS_MAX = 1024 };
enum {
    OCS_BOX = 1,
    OCS_USER,
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
};

struct ocs_ask {
    struct cli *cli;
    const char *name;
    const char *action;
    const char *words[OCS_WORDS_MAX];
    uint32_t word_count;
    uint32_t plane;  // WEFT_NONE = all
    const char *box; // its address; NULL = the lab's switches
    const char *user;
    const char *password;
    const char *ca_path; // NULL = the system's CAs
    bool insecure;
    const char *certificate_path; // emulate; NULL = HTTP
    const char *key_path;
    bool dark_given;
    uint64_t dark_ns;
    bool circuits_only;
    uint32_t port_count;
    uint32_t listen_port;
    uint64_t settle_ns;
};

// The box, or the lab's switch of that plane.
bool ocs_open(struct weft_ocs *ocs, const struct ocs_ask *ask, const struct weft_lab *lab,
              uint32_t plane) WEFT_MUST_USE;
bool ocs_show(const struct ocs_ask *ask, const struct weft_lab *lab) WEFT_MUST_USE;
bool ocs_apply(const struct ocs_ask *ask, struct weft_lab *lab) WEFT_MUST_USE;

#endif
