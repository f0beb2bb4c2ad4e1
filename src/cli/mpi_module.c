// SPDX-License-Identifier: Apache-2.0
// The module weft-mpi.so: calls of MPI. A failed call ends all ranks, as MPI does unless told
// otherwise; a sweep's file of results keeps what has ended. It is a module of its own, so that
// weft itself starts without an MPI library.

#include "mpi.h"

#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

extern const struct cli_mpi weft_mpi;

static void start(uint32_t *rank, uint32_t *size)
{
    // A rank whose mpirun is killed is of no use, and would keep the file of results locked.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int provided = 0;
    int number = 0;
    int count = 1;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    *rank = (uint32_t)number;
    *size = (uint32_t)count;
}

static void share(void *data, size_t length)
{
    MPI_Bcast(data, (int)length, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void send_to(uint32_t to, const void *data, size_t length)
{
    MPI_Send(data, (int)length, MPI_BYTE, (int)to, 0, MPI_COMM_WORLD);
}

static bool poll_any(uint32_t *from, size_t *length)
{
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &status);
    if (!there) {
        return false;
    }
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    *from = (uint32_t)status.MPI_SOURCE;
    *length = (size_t)count;
    return true;
}

static void receive(uint32_t from, void *data, size_t length)
{
    MPI_Recv(data, (int)length, MPI_BYTE, (int)from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Bytes that go with the lengths in one call: most windows of a run say less.
#define INLINE_BYTES ((size_t)2048)
#define RANKS_MAX 64

struct first_call {
    uint64_t length;
    uint8_t bytes[INLINE_BYTES];
};

// What does not fit beside the lengths follows in a second call.
static void gather(void *context, const uint8_t *own, size_t length, uint8_t **all, size_t *lengths)
{
    (void)context;
    static struct first_call mine, first[RANKS_MAX];
    static uint8_t *rest;
    static size_t room;
    int ranks = 0;
    int counts[RANKS_MAX];
    int firsts[RANKS_MAX];
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > RANKS_MAX || length > CLI_MPI_BYTES_MAX) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    mine.length = length;
    memcpy(mine.bytes, own, length < INLINE_BYTES ? length : INLINE_BYTES);
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, first, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    size_t total = 0;
    for (int i = 0; i < ranks; i++) {
        lengths[i] = first[i].length;
        all[i] = first[i].bytes;
        firsts[i] = total <= INT_MAX ? (int)total : 0;
        counts[i] = lengths[i] > INLINE_BYTES ? (int)lengths[i] : 0;
        total += (size_t)counts[i];
    }
    if (total == 0) {
        return;
    }
    if (total > room) {
        free(rest);
        room = 2 * total;
        rest = malloc(room);
    }
    if (total > INT_MAX || rest == NULL) {
        fprintf(stderr, "weft: no room for %zu bytes between processes; give fewer parts\n", total);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int sent = length > INLINE_BYTES ? (int)length : 0;
    MPI_Allgatherv(own, sent, MPI_BYTE, rest, counts, firsts, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) {
        all[i] = counts[i] > 0 ? &rest[firsts[i]] : all[i];
    }
}

static void end(void)
{
    MPI_Finalize();
}

const struct cli_mpi weft_mpi = {start, share, send_to, poll_any, receive, gather, end};
