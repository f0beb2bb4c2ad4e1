// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_CIRCUITS_H
#define WEFT_FORMAT_CIRCUITS_H

// Schedules of circuits with what they carry (JSON): docs/circuits.md.

#include "weft/base.h"
#include "weft/circuit.h"

WEFT_API_BEGIN

struct weft_circuit_file {
    struct weft_circuit_schedule schedule;
    struct weft_circuit_traffic traffic;
};

// What weft optics change --json writes, and bursts, demand and losses where they stand there.
// Numbers are within their ranges; whether the schedule can be carried out is not looked at. Fails
// with INPUT naming the place, as "changes[2].peers". O(bytes).
bool weft_circuit_file_read(struct weft_circuit_file *file, const char *data, size_t length,
                            struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_circuit_file_load(struct weft_circuit_file *file, const char *path,
                            struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

WEFT_API_END

#endif
