// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_SWEEP_MPI_H
#define WEFT_CLI_SWEEP_MPI_H

// The few calls of MPI that a sweep makes, in a module of its own that only a sweep under mpirun
// loads: linked into weft, MPI's libraries would add two fifths to what every command takes to
// start (docs/sweep.md has the figures). One thread of a process makes these calls.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sweep_mpi {
    void (*start)(uint32_t *rank, uint32_t *size);
    // Bytes of rank 0 to the others' `data`.
    void (*share)(void *data, size_t length);
    void (*send)(uint32_t to, const void *data, size_t length);
    // Whether a message is there, from whom and how long.
    bool (*poll)(uint32_t *from, size_t *length);
    // Takes the message that poll told of.
    void (*receive)(uint32_t from, void *data, size_t length);
    void (*end)(void);
};

// The one symbol of the module.
#define SWEEP_MPI_SYMBOL "weft_sweep_mpi"
#define SWEEP_MPI_MODULE "weft-mpi.so"
// At most so many bytes a message.
#define SWEEP_MPI_BYTES_MAX ((size_t)1 << 30)

#endif
