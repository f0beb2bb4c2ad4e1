// SPDX-License-Identifier: Apache-2.0
// cc.h where Weft was built without clang or libbpf.
//
// Names and parameters are still checked, so that a wrong call gets an error of its own, and not
// one about what is missing.

#include "bpf/absent.h"
#include "cc.h"

bool weft_cc_capable(struct weft_error *error)
{
    return weft_bpf_absent(error);
}

bool weft_cc_registered(const char *name)
{
    (void)name;
    return false;
}

bool weft_cc_open(struct weft_cc *cc, const char *name, const struct weft_cc_parameters *parameters,
                  struct weft_error *error)
{
    (void)cc;
    (void)name;
    (void)parameters;
    return weft_bpf_absent(error);
}

void weft_cc_close(struct weft_cc *cc)
{
    (void)cc;
}

bool weft_cc_load(const struct weft_cc_request *request, bool *leftovers, struct weft_error *error)
{
    (void)leftovers;
    return weft_cc_check_name(request->name, error) && weft_cc_check(&request->parameters, error) &&
           weft_bpf_absent(error);
}

bool weft_cc_tune(const char *name, const struct weft_cc_parameters *parameters,
                  struct weft_error *error)
{
    return weft_cc_check_name(name, error) && weft_cc_check(parameters, error) &&
           weft_bpf_absent(error);
}

bool weft_cc_unload(const char *name, struct weft_cc_unloaded *unloaded, struct weft_error *error)
{
    (void)unloaded;
    return weft_cc_check_name(name, error) && weft_bpf_absent(error);
}

bool weft_cc_list(struct weft_cc_status **list, uint32_t *count, struct weft_arena *arena,
                  struct weft_error *error)
{
    (void)list;
    (void)count;
    (void)arena;
    return weft_bpf_absent(error);
}

bool weft_cc_connections(struct weft_cc_connection **list, uint32_t *count,
                         const struct weft_cc *cc, struct weft_arena *arena,
                         struct weft_error *error)
{
    (void)list;
    (void)count;
    (void)cc;
    (void)arena;
    return weft_bpf_absent(error);
}
