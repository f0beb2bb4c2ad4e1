// SPDX-License-Identifier: Apache-2.0
// The door: the boundary of a program at which memory that the system refuses becomes an error.
//
// Arenas unwind to the guard here; so do the allocations of JSON, whose callers then need no branch
// for each of them. What the verb held is left to the end of the process, which follows at once.

#include "cli.h"

#include <stdlib.h>

struct door {
    int (*main)(int argc, char **argv);
    int argc;
    char **argv;
    int code;
};

static bool enter(void *context)
{
    struct door *door = context;
    door->code = door->main(door->argc, door->argv);
    return true;
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        struct weft_error error;
        weft_fail(&error, WEFT_UNSUPPORTED,
                  "out of memory: the system refuses %zu bytes for JSON; raise 'ulimit -v' or take "
                  "a machine with more memory",
                  bytes);
        weft_raise(&error);
    }
    return memory;
}

int cli_door(int (*main)(int argc, char **argv), const char *program, int argc, char **argv)
{
    struct door door = {main, argc, argv, 0};
    struct weft_error error;
    json_set_alloc_funcs(allocate, free);
    if (!weft_guard(enter, &door, &error)) {
        fprintf(stderr, "%s: %s\n", program, error.message);
        return weft_exit_code(error.code);
    }
    return door.code;
}
