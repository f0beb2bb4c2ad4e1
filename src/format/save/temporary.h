// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SAVE_TEMPORARY_H
#define WEFT_FORMAT_SAVE_TEMPORARY_H

// Temporary files and folders beside what they are to become, locked while their process lives.

#include "weft/format/file.h"

#include <sys/types.h>

struct weft_temporary {
    int folder; // that it lies in; not its own
    char name[WEFT_FILE_NAME_BYTES];
    int file; // open for writing, or to be looked through; holds the lock
};

// Makes NAME.<pid>-<n>.tmp in the folder, a file or with S_IFDIR in `mode` a folder. False: errno.
bool weft_temporary_make(struct weft_temporary *temporary, int folder, const char *name,
                         mode_t mode) WEFT_MUST_USE;
// Gives up the lock. What was renamed stays.
void weft_temporary_close(struct weft_temporary *temporary);
// Takes the file, or the folder and all that is in it, away, and closes.
void weft_temporary_remove(struct weft_temporary *temporary);
// Takes away what killed processes left of that name, or finishes it where all was written.
void weft_temporary_sweep(int folder, const char *name);

// In a temporary folder: the files that those of the set replace, from when all of them are
// written.
#define WEFT_TEMPORARY_REPLACED ".replaced"

// Calls for each name in an open folder until that returns false. False: one did, or no memory.
bool weft_folder_each(int folder, bool (*see)(void *context, const char *name), void *context);
// Takes away a folder of files, with what is in it.
void weft_folder_remove(int folder, const char *name);

#endif
