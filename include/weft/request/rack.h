// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_RACK_H
#define WEFT_REQUEST_RACK_H

// Requests for slices of a photonic rack, decided one after the other; chips that fail afterwards.

#include "weft/format/rack.h"
#include "weft/request.h"

WEFT_API_BEGIN

struct weft_rack_place_request {
    const char *rack;                 // its file
    const char *requests;             // the file of requests
    struct weft_rack_options options; // stop comes from the environment
    // Chips that fail after all requests, as "5,6" or "server:0" for all of a server; NULL = none.
    const char *lose;
};

// A slice after chips of it failed.
struct weft_rack_repair {
    uint32_t request;
    uint32_t lost_count;
    bool replaced;                // else slice.reason says why not
    struct weft_rack_slice slice; // afterwards
};
// What a rack looks like at one time.
struct weft_rack_view {
    const uint32_t *holders; // of a chip: the request, WEFT_NONE = free
    const bool *lost;        // of a chip
    const uint32_t *fibers;  // of a link: how many are lit
    // Of a request: its slice; tenant WEFT_NONE = it holds nothing.
    const struct weft_rack_slice *slices;
};
struct weft_rack_place_result {
    struct weft_rack rack;
    struct weft_rack_requests requests;
    struct weft_rack_options options;
    // By request: how it was decided; what it holds where it was moved later.
    const struct weft_rack_slice *slices;
    uint32_t placed_count;
    uint32_t reasons[WEFT_RACK_REASON_COUNT]; // requests by outcome
    // The largest over the slices as they were placed, and the largest of their bounds: no
    // placement of some request had less. Equal where `proved`: all slices were.
    uint32_t fiber_load_max;
    uint32_t route_load_max;
    uint32_t bound;
    bool proved;
    struct weft_rack_view before; // after all requests
    uint32_t repair_count;
    const struct weft_rack_repair *repairs;
    struct weft_rack_view after; // after chips failed; as `before` where none did
    uint32_t lost_count;
};
// Fails with INPUT where a file is none or a chip is not there.
bool weft_request_rack_place(struct weft_rack_place_result *result,
                             const struct weft_rack_place_request *request,
                             struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.optics-rack-place/1"
const char *weft_request_rack_place_json(const struct weft_rack_place_result *result,
                                         struct weft_arena *arena);

WEFT_API_END

#endif
