// SPDX-License-Identifier: Apache-2.0
// What ships with the program: claims, and the examples beside them.
//
// The folder of claims is found from the program, as modules are (runtime/module.h): beside it as
// built, where it is a link into the repository, and in ../share/weft as installed.

#include "cli/cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *cli_shipped(struct cli *cli, const char *name)
{
    static const char *const places[] = {"claims", "../share/weft/claims"};
    char program[PATH_MAX], real[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    while (length > 0 && program[length - 1] != '/') {
        length--;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0] && length > 0; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%.*s%s/../%s", (int)length, program, places[i], name);
        if (realpath(path, real) != NULL) {
            return weft_arena_text(&cli->arena, real, strlen(real));
        }
    }
    weft_fail(&cli->error, WEFT_IO,
              "no folder claims beside the program, nor ../share/weft/claims from there, with %s "
              "beside it; install Weft as a whole",
              name);
    return NULL;
}
