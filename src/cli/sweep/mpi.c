// SPDX-License-Identifier: Apache-2.0
// The module weft-mpi.so: a sweep's calls of MPI. A failed call ends all ranks, as MPI does unless
// told otherwise; rank 0's file of results keeps what has ended. It is a module of its own, so that
// weft itself starts without an MPI library.

#include "mpi.h"

#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>

extern const struct sweep_mpi weft_sweep_mpi;

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

static void end(void)
{
    MPI_Finalize();
}

const struct sweep_mpi weft_sweep_mpi = {start, share, send_to, poll_any, receive, end};
