// SPDX-License-Identifier: Apache-2.0
// The door: the boundary of a program at which memory that the system refuses becomes an error.
//
// Arenas unwind to the guard here; so do the allocations of JSON, whose callers then need no branch
// for each of them, and of what is C++: linear programs, and the SAT solver of meshes. What the
// verb held is left to the end of the process, which follows at once.

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

WEFT_NORETURN static void refuse(const char *what)
{
    struct weft_error error;
    weft_fail(&error, WEFT_UNSUPPORTED,
              "out of memory: the system refuses more for %s; raise 'ulimit -v', take a machine "
              "with more memory or make the input smaller",
              what);
    weft_raise(&error);
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        refuse("JSON");
    }
    return memory;
}

// CLP and CaDiCaL are C++ and would end the program by an exception that no one catches. Their
// `new` calls this first, by std::set_new_handler; without libstdc++ there is none to set.
typedef void new_handler(void);
extern new_handler *set_new_handler(new_handler *handler) __asm__("_ZSt15set_new_handlerPFvvE")
    __attribute__((weak));

static void refuse_new(void)
{
    refuse("a solver");
}

int cli_door(int (*main)(int argc, char **argv), const char *program, int argc, char **argv)
{
    struct door door = {main, argc, argv, 0};
    struct weft_error error;
    json_set_alloc_funcs(allocate, free);
    if (set_new_handler != NULL) {
        set_new_handler(refuse_new);
    }
    if (!weft_guard(enter, &door, &error)) {
        fprintf(stderr, "%s: %s\n", program, error.message);
        return weft_exit_code(error.code);
    }
    return door.code;
}
