// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_RACK_H
#define WEFT_FORMAT_RACK_H

// Photonic racks (YAML) and requests for slices of them (CSV): docs/photonic-rack.md.

#include "weft/plan/rack.h"

WEFT_API_BEGIN

#define WEFT_RACK_REQUESTS_MAX 20000u // lines of a file

// Fails with INPUT, "line N: ...; remedy". What no key says otherwise: one wavelength a fiber, six
// of a chip, 50 GB/s each, any loss, no torus. The rack has passed weft_rack_check.
// O(bytes + keys^2 + links).
bool weft_rack_read(struct weft_rack *rack, const char *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_rack_load_file(struct weft_rack *rack, const char *path, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// A line of a file of requests: one arrives, or one that was placed is released.
struct weft_rack_event {
    uint32_t request;
    bool releases;
};
struct weft_rack_requests {
    uint32_t count;
    const struct weft_rack_request *requests;
    uint32_t event_count;
    const struct weft_rack_event *events; // in the order of the file
};
//   name,x,y,z                          or   name,x,y,z,arrival_s,lifetime_s
//   job-1,2,2,4                              job-1,2,2,4,0.5,10
//   release job-1
//
// Lines are in order of time; those that begin with '#' and empty ones are left out. A name may
// stand again once it was released; `release` means the last one of that name. Fails with INPUT,
// "line N: ...; remedy". O(bytes + lines^2).
bool weft_rack_requests_read(struct weft_rack_requests *requests, const char *data, size_t length,
                             struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_rack_requests_load(struct weft_rack_requests *requests, const char *path,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
