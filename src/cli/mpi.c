// SPDX-License-Identifier: Apache-2.0
// Whether mpirun started this process, and the module that talks to those that it started with it.
// Launchers say so in the environment, each in its own way; without one of their words no MPI
// library is loaded, so that commands start as quickly as they can.

#include "mpi.h"

#include "cli.h"
#include "runtime/module.h"

#include <stdlib.h>

static bool started_by_mpirun(void)
{
    // No other thread runs yet.
    // NOLINTBEGIN(concurrency-mt-unsafe)
    return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMIX_RANK") != NULL ||
           getenv("PMI_SIZE") != NULL;
    // NOLINTEND(concurrency-mt-unsafe)
}

bool cli_ranks_begin(struct cli_ranks *ranks, struct cli *cli, const char *remedy)
{
    *ranks = (struct cli_ranks){.size = 1};
    if (!started_by_mpirun()) {
        return true;
    }
    const struct weft_module module = {
        .file = "weft-mpi.so", .symbol = CLI_MPI_SYMBOL, .remedy = remedy};
    ranks->mpi = weft_module_load(&module, &cli->error);
    if (ranks->mpi == NULL) {
        return weft_wrap(&cli->error, "started by mpirun");
    }
    ranks->mpi->start(&ranks->rank, &ranks->size);
    if (!cli->threads_given) {
        cli->threads = 1; // mpirun starts a process a core
    }
    return true;
}

void cli_ranks_end(struct cli_ranks *ranks)
{
    if (ranks->mpi != NULL) {
        ranks->mpi->end();
        ranks->mpi = NULL;
    }
}
