// SPDX-License-Identifier: Apache-2.0
// Where Weft was built without clang or libbpf.

#include "contest.h"
#include "mark.h"

static bool lacking(struct weft_error *error)
{
    return weft_fail(error, WEFT_UNSUPPORTED,
                     "this weft was built without clang or libbpf; install both (tools/setup "
                     "build), then build it anew in a fresh folder");
}

bool weft_cc_capable(struct weft_error *error)
{
    return lacking(error);
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
    return lacking(error);
}

void weft_cc_close(struct weft_cc *cc)
{
    (void)cc;
}

bool weft_cc_load(const struct weft_cc_request *request, bool *leftovers, struct weft_error *error)
{
    (void)leftovers;
    return weft_cc_check_name(request->name, error) && weft_cc_check(&request->parameters, error) &&
           lacking(error);
}

bool weft_cc_tune(const char *name, const struct weft_cc_parameters *parameters,
                  struct weft_error *error)
{
    return weft_cc_check_name(name, error) && weft_cc_check(parameters, error) && lacking(error);
}

bool weft_cc_unload(const char *name, uint32_t *connections, struct weft_error *error)
{
    (void)connections;
    return weft_cc_check_name(name, error) && lacking(error);
}

bool weft_cc_list(struct weft_cc_status **list, uint32_t *count, struct weft_arena *arena,
                  struct weft_error *error)
{
    (void)list;
    (void)count;
    (void)arena;
    return lacking(error);
}

bool weft_cc_connections(struct weft_cc_connection **list, uint32_t *count,
                         const struct weft_cc *cc, struct weft_arena *arena,
                         struct weft_error *error)
{
    (void)list;
    (void)count;
    (void)cc;
    (void)arena;
    return lacking(error);
}

bool weft_contest_run(struct weft_contest_result *result,
                      const struct weft_contest_options *options, struct weft_arena *arena,
                      struct weft_error *error)
{
    (void)result;
    (void)options;
    (void)arena;
    return lacking(error);
}

bool weft_marker_load(struct weft_marker *marker, uint32_t packets, struct weft_error *error)
{
    (void)marker;
    (void)packets;
    return lacking(error);
}

bool weft_marker_total(uint64_t *marked, uint32_t id, struct weft_error *error)
{
    (void)marked;
    (void)id;
    return lacking(error);
}

void weft_marker_close(struct weft_marker *marker)
{
    (void)marker;
}
