// SPDX-License-Identifier: Apache-2.0
// The drivers that open a device by its address: a scheme picks the row, the row opens.
//
// A new kind of device gets a file of its own here (ocs.h says what belongs to it), with a function
// as weft_ocs_open_restconf, and one row below; `weft lab ocs --box SCHEME://...` then reaches it.

#include "ocs.h"

#include <string.h>

static bool open_twin(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                      struct weft_arena *arena, struct weft_error *error)
{
    uint64_t ports = 0;
    const char *text = access->address + strlen("twin://");
    return (weft_parse_count(&ports, text, 1, WEFT_OCS_PORTS_MAX, error) ||
            weft_wrap(error, "%.100s", access->address)) &&
           weft_ocs_open_twin(ocs, (uint32_t)ports, arena, error);
}

static const struct {
    const char *scheme;
    bool (*open)(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                 struct weft_arena *arena, struct weft_error *error);
} drivers[] = {
    {"http", weft_ocs_open_restconf},       {"https", weft_ocs_open_restconf},
    {"ocp+http", weft_ocs_open_ocp},        {"ocp+https", weft_ocs_open_ocp},
    {"tl1+calient", weft_ocs_open_calient}, {"tl1+polatis", weft_ocs_open_polatis},
    {"sonic", weft_ocs_open_sonic},         {"twin", open_twin},
};

bool weft_ocs_open(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                   struct weft_arena *arena, struct weft_error *error)
{
    const char *address = access->address;
    const char *end = strstr(address, "://");
    size_t length = end == NULL ? strlen("http") : (size_t)(end - address);
    const char *scheme = end == NULL ? "http" : address;
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++) {
        if (strlen(drivers[i].scheme) == length &&
            strncmp(drivers[i].scheme, scheme, length) == 0) {
            if (!drivers[i].open(ocs, access, arena, error)) {
                return false;
            }
            ocs->loss_max_db = access->loss_max_db;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT,
                     "%.100s: no driver has this scheme; write HOST:PORT or http://, https://, "
                     "ocp+http://, ocp+https://, tl1+calient://, tl1+polatis://, sonic://FOLDER or "
                     "twin://PORTS",
                     address);
}
