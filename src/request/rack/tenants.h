// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_RACK_TENANTS_PRIVATE_H
#define WEFT_REQUEST_RACK_TENANTS_PRIVATE_H

// What tenants of racks are played from: the rack.

#include "weft/request/rack_tenants.h"

// The built-in rack, with the fibers and wavelengths that are asked for.
const struct weft_rack *tenants_rack(const struct weft_rack_tenants_request *request,
                                     struct weft_arena *arena);

#endif
