// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_MPI_H
#define WEFT_CLI_MPI_H

// The few calls of MPI that Weft makes, in a module of its own that only a verb under mpirun loads:
// linked into weft, MPI's libraries would add two fifths to what every command takes to start
// (docs/sweep.md has the figures). One thread of a process makes these calls.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli;

struct cli_mpi {
    void (*start)(uint32_t *rank, uint32_t *size);
    // Bytes of rank 0 to the others' `data`.
    void (*share)(void *data, size_t length);
    void (*send)(uint32_t to, const void *data, size_t length);
    // Whether a message is there, from whom and how long.
    bool (*poll)(uint32_t *from, size_t *length);
    // Takes the message that poll told of.
    void (*receive)(uint32_t from, void *data, size_t length);
    // As weft_partition_peers.gather.
    void (*gather)(void *context, const uint8_t *own, size_t length, uint8_t **all,
                   size_t *lengths);
    void (*end)(void);
};

// The one symbol of the module.
#define CLI_MPI_SYMBOL "weft_mpi"
// At most so many bytes a message.
#define CLI_MPI_BYTES_MAX ((size_t)1 << 30)

// The processes that mpirun started with this one.
struct cli_ranks {
    const struct cli_mpi *mpi; // NULL = this process is alone
    uint32_t rank;
    uint32_t size;
};
// Finds out whether mpirun started this process and, if so, loads what talks MPI, and leaves it one
// thread unless the user said otherwise. `remedy`: what else the user may do.
bool cli_ranks_begin(struct cli_ranks *ranks, struct cli *cli, const char *remedy)
    __attribute__((warn_unused_result));
void cli_ranks_end(struct cli_ranks *ranks);

#endif
