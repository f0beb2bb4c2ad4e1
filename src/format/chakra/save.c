// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces: the files of a trace in a folder.

#include "chakra.h"
#include "weft/format.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

// A folder, there or to be made, stands for the prefix "trace" in it.
static bool take_folder(const char **prefix, struct weft_arena *scratch, struct weft_error *error)
{
    struct stat found;
    size_t length = strlen(*prefix);
    bool wanted = length > 0 && (*prefix)[length - 1] == '/';
    if (wanted && mkdir(*prefix, 0777) != 0 && errno != EEXIST) {
        return weft_fail(error, WEFT_IO, "%s: cannot create: %s", *prefix, strerrordesc_np(errno));
    }
    if (wanted || (stat(*prefix, &found) == 0 && S_ISDIR(found.st_mode))) {
        *prefix = weft_arena_format(scratch, "%s%strace", *prefix, wanted ? "" : "/");
    }
    return true;
}

bool weft_chakra_save(const char *prefix, const struct weft_chakra_trace *trace,
                      struct weft_arena scratch, struct weft_error *error)
{
    if (!take_folder(&prefix, &scratch, error)) {
        return false;
    }
    uint32_t ranks = trace->rank_count;
    struct stat found;
    const char *beyond = weft_arena_format(&scratch, "%s.%u.et", prefix, ranks);
    if (stat(beyond, &found) == 0) {
        return weft_fail(error, WEFT_IO,
                         "%s is there, of a larger trace; remove that or choose another prefix",
                         beyond);
    }
    struct weft_file *files = WEFT_NEW(&scratch, struct weft_file, (size_t)ranks + 1);
    for (uint32_t r = 0; r < ranks; r++) {
        files[r].path = weft_arena_format(&scratch, "%s.%u.et", prefix, r);
        files[r].data = trace->data[r];
        files[r].length = trace->lengths[r];
    }
    files[ranks].path = weft_arena_format(&scratch, "%s.json", prefix);
    files[ranks].data = trace->groups;
    files[ranks].length = strlen(trace->groups);
    return weft_files_save(files, ranks + 1, scratch, error);
}
