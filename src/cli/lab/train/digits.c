// SPDX-License-Identifier: Apache-2.0
// Where the digits that are shipped lie: in examples/digits beside the folder of claims, which is
// found from the program as weft reproduce finds it (src/cli/reproduce/claims.c).

#include "train.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

bool lab_train_find_digits(struct lab_train_request *request)
{
    static const char *const places[] = {"claims", "../share/weft/claims"};
    struct cli *cli = request->cli;
    char program[PATH_MAX], real[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    while (length > 0 && program[length - 1] != '/') {
        length--;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0] && length > 0; i++) {
        char path[PATH_MAX + 64];
        snprintf(path, sizeof path, "%.*s%s", (int)length, program, places[i]);
        if (realpath(path, real) == NULL) {
            continue;
        }
        const char *images =
            weft_arena_format(&cli->arena, "%s/../examples/digits/images.idx.gz", real);
        if (access(images, R_OK) == 0) {
            request->images_path = images;
            request->labels_path =
                weft_arena_format(&cli->arena, "%s/../examples/digits/labels.idx.gz", real);
            return true;
        }
    }
    return weft_fail(&cli->error, WEFT_IO,
                     "the digits that are shipped were not found beside the program; write %s "
                     "IMAGES LABELS",
                     cli->program);
}
