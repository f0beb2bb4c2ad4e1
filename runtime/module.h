// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_MODULE_H
#define WEFT_RUNTIME_MODULE_H

// Modules: libraries that few commands need, out of what every command takes to start.
//
// A shared library that is linked into weft is found, mapped and relocated at each start, with all
// that it needs itself: MPI's add two fifths to what a command takes to start (docs/sweep.md), and
// those for HTTP nearly two times as much as it takes (docs/lab.md). Such a library is linked into
// a module instead, a shared object with one symbol: a constant table of functions. A module has no
// arena and fills no error, so that memory, errors and guards stay those of the program.

#include "weft/base.h"

struct weft_module {
    const char *file;
    const char *symbol; // the table
    const char *remedy; // what to do where it cannot be loaded, after "; "
};

// Loads a module, which stays loaded, and gives its table; NULL and UNSUPPORTED, with the module's
// remedy, where it is missing or lacks a library. As built it lies beside the program, as installed
// in lib/weft beside the program's folder. May be called again, by any thread.
const void *weft_module_load(const struct weft_module *module, struct weft_error *error)
    WEFT_MUST_USE;

#endif
