// SPDX-License-Identifier: Apache-2.0
// Loads what only some commands need, when they need it: a module beside the program, by dlopen.
//
// The path is made from that of the program (/proc/self/exe), not left to the loader's search: a
// module of another installation must not be taken, and a run path in the program would be searched
// for each of its own libraries at every start.

#include "module.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

const void *weft_module_load(const struct weft_module *module, struct weft_error *error)
{
    static const char *const places[] = {"", "../lib/weft/"};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    while (length > 0 && program[length - 1] != '/') {
        length--;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0] && length > 0; i++) {
        char path[PATH_MAX + 64];
        snprintf(path, sizeof path, "%.*s%s%s", (int)length, program, places[i], module->file);
        if (access(path, F_OK) != 0) {
            continue;
        }
        void *loaded = dlopen(path, RTLD_NOW | RTLD_GLOBAL); // MPI's own modules need its symbols
        const void *table = loaded != NULL ? dlsym(loaded, module->symbol) : NULL;
        if (table == NULL) {
            const char *reason = dlerror(); // NOLINT(concurrency-mt-unsafe): glibc's is a thread's
            weft_fail(error, WEFT_UNSUPPORTED, "%s cannot be loaded (%.240s); %s", module->file,
                      reason != NULL ? reason : "no table", module->remedy);
        }
        return table;
    }
    weft_fail(error, WEFT_UNSUPPORTED,
              "%s is missing beside the program and in ../lib/weft from there; %s", module->file,
              module->remedy);
    return NULL;
}
