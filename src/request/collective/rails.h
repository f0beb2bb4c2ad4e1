// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_COLLECTIVE_RAILS_H
#define WEFT_REQUEST_COLLECTIVE_RAILS_H

// NCCL's graph file and a hostfile for fabrics with switches, whose NICs are rails: a ring a NIC
// that keeps to it, and an order of servers in which rings leave leaves and pods as seldom as they
// can (weft/fabric.h). Plans of direct fabrics have rings of their own, which export.c writes.

#include "weft/request/collective.h"

// As weft_request_collective_export, of a source that is no plan's file. Fails with INPUT where the
// fabric has no switches.
bool rails_export(struct weft_collective_export_result *result,
                  const struct weft_collective_export_request *request,
                  struct weft_request_environment *environment) WEFT_MUST_USE;
// The name of server 0.
static inline const char *rails_first_node(const struct weft_collective_export_request *request)
{
    return request->first_node != NULL ? request->first_node : "node0";
}

#endif
