// SPDX-License-Identifier: Apache-2.0
// A training job as MPI sees it, which knows nothing of Weft: mpirun -n N mpi_job [ITERATIONS].
// Computes (sleeps) 100 ms, then reduces 4 MB over all ranks, again and again.

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ELEMENTS = 1 << 20 };

int main(int argc, char **argv)
{
    static float gradients[ELEMENTS];
    const struct timespec compute = {.tv_nsec = 100000000};
    long iterations = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double start_s = MPI_Wtime();
    for (long i = 0; i < iterations; i++) {
        for (int k = 0; k < ELEMENTS; k++) {
            gradients[k] = (float)(rank + 1);
        }
        nanosleep(&compute, NULL);
        MPI_Allreduce(MPI_IN_PLACE, gradients, ELEMENTS, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        printf("%ld iterations of %.1f ms, sum %g\n", iterations,
               (MPI_Wtime() - start_s) / (double)iterations * 1e3, (double)gradients[0]);
    }
    MPI_Finalize();
    return 0;
}
