// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_ARRIVALS_H
#define WEFT_FORMAT_ARRIVALS_H

// Traces of requests for inference (CSV, docs/lightning.md):
//
//   arrival_ns,model
//   11745744,ResNet-18
//   26028694,VGG-16
//
// Lines are in order of time; those that begin with '#' and empty ones are left out.

#include "weft/serving.h"

WEFT_API_BEGIN

#define WEFT_ARRIVALS_MAX 1000000u          // requests of a file
#define WEFT_ARRIVALS_NS 100000000000000ull // a bit over a day

// Fails with INPUT, "line N: ...; remedy": another header, a line that is not a time and a model, a
// model that is none of the nets', time that goes back or beyond WEFT_ARRIVALS_NS, no requests.
// O(bytes).
bool weft_arrivals_read(struct weft_serving_trace *trace, const char *data, size_t length,
                        const struct weft_serving_net *nets, struct weft_arena *arena,
                        struct weft_error *error) WEFT_MUST_USE;
bool weft_arrivals_load(struct weft_serving_trace *trace, const char *path,
                        const struct weft_serving_net *nets, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
