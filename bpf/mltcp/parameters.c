// SPDX-License-Identifier: Apache-2.0
// MLTCP's parameters and names: what is checked before the kernel is called.
//
// A window's growth is scaled by F = slope * ratio + intercept, where ratio is the share of an
// iteration's bytes that is acknowledged (MLTCP, arXiv 2402.09589; its slope of 1.75 and intercept
// of 0.25 are the defaults). The kernel computes in fixed point of 1/1024.

#include "cc.h"

#include <math.h>
#include <string.h>

#define FACTOR_MAX 64.0
#define INTERCEPT_MIN 0.001
#define RESTART_MAX 65535u
#define GAP_MAX_MS 3600000u

struct weft_cc_parameters weft_cc_defaults(const char *name)
{
    bool twin = strcmp(name, "reno_twin") == 0 || strcmp(name, "cubic_twin") == 0;
    return (struct weft_cc_parameters){
        .base = strcmp(name, "cubic_twin") == 0 ? MLTCP_CUBIC : MLTCP_RENO,
        .slope = twin ? 0 : 1.75,
        .intercept = twin ? 1 : 0.25,
        .restart = twin ? 0 : 10,
        .group = MLTCP_BY_CONNECTION,
        .gap_ms = 20,
    };
}

bool weft_cc_check(const struct weft_cc_parameters *parameters, struct weft_error *error)
{
    if (!(parameters->slope >= 0 && parameters->slope <= FACTOR_MAX)) {
        weft_fail(error, WEFT_INPUT, "a slope of %g is not within 0 to %g", parameters->slope,
                  FACTOR_MAX);
        return weft_remedy(error, "slope", "%s", "");
    }
    if (!(parameters->intercept >= INTERCEPT_MIN && parameters->intercept <= FACTOR_MAX)) {
        weft_fail(error, WEFT_INPUT,
                  "an intercept of %g is not within %g to %g; without it a window never grows",
                  parameters->intercept, INTERCEPT_MIN, FACTOR_MAX);
        return weft_remedy(error, "intercept", "%s", "");
    }
    if (parameters->restart > RESTART_MAX) {
        weft_fail(error, WEFT_INPUT, "a restart at %u segments is not within 0 to %u",
                  parameters->restart, RESTART_MAX);
        return weft_remedy(error, "restart", "%s", "");
    }
    if (parameters->gap_ms == 0 || parameters->gap_ms > GAP_MAX_MS) {
        weft_fail(error, WEFT_INPUT, "a gap of %u ms is not within 1 ms to 1 h",
                  parameters->gap_ms);
        return weft_remedy(error, "gap", "%s", "");
    }
    return true;
}

static uint32_t to_fixed(double value)
{
    return (uint32_t)lround(value * MLTCP_ONE);
}

struct mltcp_parameters weft_cc_pack(const struct weft_cc_parameters *parameters)
{
    uint32_t intercept = to_fixed(parameters->intercept);
    return (struct mltcp_parameters){
        .slope = to_fixed(parameters->slope),
        .intercept = intercept > 0 ? intercept : 1,
        .base = parameters->base,
        .group = parameters->group,
        .restart = parameters->restart,
        .gap_ms = parameters->gap_ms,
    };
}

struct weft_cc_parameters weft_cc_unpack(const struct mltcp_parameters *packed)
{
    return (struct weft_cc_parameters){
        .base = (enum mltcp_base)packed->base,
        .slope = (double)packed->slope / MLTCP_ONE,
        .intercept = (double)packed->intercept / MLTCP_ONE,
        .group = (enum mltcp_group)packed->group,
        .restart = packed->restart,
        .gap_ms = packed->gap_ms,
    };
}

bool weft_cc_check_name(const char *name, struct weft_error *error)
{
    static const char *const kernels[] = {"reno", "cubic",    "bbr",   "dctcp", "vegas",
                                          "htcp", "westwood", "bic",   "cdg",   "nv",
                                          "lp",   "scalable", "hybla", "yeah",  "illinois"};
    size_t length = strlen(name);
    if (length == 0 || length >= MLTCP_NAME_BYTES || name[0] < 'a' || name[0] > 'z' ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != length) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.40s' is no name of a congestion control; choose 1 to %d lower-case "
                         "letters, digits and _",
                         name, MLTCP_NAME_BYTES - 1);
    }
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (strcmp(name, kernels[i]) == 0) {
            return weft_fail(error, WEFT_INPUT,
                             "'%s' is a congestion control of the kernel's own; choose another "
                             "name, mltcp say",
                             name);
        }
    }
    return true;
}
