// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_RACK_TENANTS_PRIVATE_H
#define WEFT_REQUEST_RACK_TENANTS_PRIVATE_H

// What tenants of racks are played from: the rack, and arrivals of a file.

#include "weft/request/rack_tenants.h"

// The rack of the file, or the built-in one, with the fibers and wavelengths that are asked for.
bool tenants_rack(const struct weft_rack **rack, const struct weft_rack_tenants_request *request,
                  const struct weft_environment *environment) WEFT_MUST_USE;
// Arrivals of a file into the source's trace.
bool tenants_read_trace(struct weft_tenant_source *source, const char *path,
                        const struct weft_environment *environment) WEFT_MUST_USE;

#endif
