// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_CHECKPOINT_H
#define WEFT_RUNTIME_HEAL_CHECKPOINT_H

// Parameters of a job in a file: a head, the elements, and SHA-256 over both. It is written whole
// or not at all (weft_file_save), and read only if it is what was written.

#include "runtime/heal/core/ring.h"

// Writes the parameters of `work` and its step. Fails with IO.
bool lab_heal_checkpoint_save(const char *path, const struct lab_heal_work *work,
                              struct weft_error *error) WEFT_MUST_USE;
// Sets state[elements] and the step. Fails with IO or, where the file is no checkpoint, is damaged,
// or is of a job of other ranks or elements, with INPUT.
bool lab_heal_checkpoint_load(uint32_t *state, uint32_t *step, const char *path,
                              const struct lab_heal_work *like, struct weft_arena scratch,
                              struct weft_error *error) WEFT_MUST_USE;
// The step of the file as it is now, by its head alone; WEFT_NONE: it is no checkpoint. Whoever
// saved it may have ended before it could say so.
uint32_t lab_heal_checkpoint_step(const char *path);
// The same as load, of a file's bytes.
bool lab_heal_checkpoint_parse(uint32_t *state, uint32_t *step, const void *data, size_t length,
                               const struct lab_heal_work *like, struct weft_error *error)
    WEFT_MUST_USE;

#endif
