// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PHOTONIC_FILES_H
#define WEFT_REQUEST_PHOTONIC_FILES_H

// What a compiled folder holds.

#include "weft/photonics/countaction.h"
#include "weft/request/photonic_net.h"

// All files of a program with weights, in the arena: its images, and what is made of it besides.
bool photonic_program_files(const struct weft_file **files, uint32_t *count,
                            const struct weft_photonic_program *program, struct weft_arena *arena,
                            struct weft_error *error) WEFT_MUST_USE;
// Count-action modules of a text.
bool photonic_modules_load(struct weft_photonic_countaction *modules, const char *path,
                           const struct weft_environment *base) WEFT_MUST_USE;

#endif
