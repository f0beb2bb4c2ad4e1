// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BPF_CLASSES_LOSS_H
#define WEFT_BPF_CLASSES_LOSS_H

// A gray failure: a port that loses what comes in, each packet by chance.
//
// The program stands on what enters a link, because packets are lost on the way: whoever sent them
// has counted them as sent, and its kernel, which would tell a socket of what is dropped at its own
// port, knows of nothing. One program for each such port, so that each has counts of its own; a
// later process finds them by the program's number (weft_filter_program).

#include "bpf/classes/classes_types.h"
#include "weft/base.h"

// A file descriptor of a program that loses nothing yet; the caller attaches and closes it. Fails
// with UNSUPPORTED where the kernel refuses it.
bool weft_loss_load(int *program_fd, uint32_t *program_id, struct weft_error *error) WEFT_MUST_USE;
// From now on each packet is lost with this probability, 0 to 1; counts go on. Fails with IO when
// the program is gone, or is another one.
bool weft_loss_set(uint32_t program_id, double probability, struct weft_error *error) WEFT_MUST_USE;
bool weft_loss_read(struct classes_loss *loss, uint32_t program_id, struct weft_error *error)
    WEFT_MUST_USE;

#endif
