// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SAVE_TARGET_H
#define WEFT_FORMAT_SAVE_TARGET_H

// Where something is to be written: an open folder and a name in it that is no link.

#include "weft/format/file.h"

#include <sys/stat.h>

struct weft_target {
    int folder;     // of O_PATH
    struct stat in; // of that folder
    char name[WEFT_FILE_NAME_BYTES];
    bool exists;
    bool is_open;    // the name is procfs' link to what a process has open: /dev/stdout
    struct stat old; // of what is there, behind such a link
};

// Follows `path` to its folder and name, both of which may be reached by links. A link of another
// user in a sticky folder that all may write to is refused. IO, which names the path.
bool weft_target_open(struct weft_target *target, const char *path, struct weft_error *error)
    WEFT_MUST_USE;
void weft_target_close(struct weft_target *target);
// Whether what has that status lies in a sticky folder that all may write to, and is neither this
// user's nor the folder's owner's.
bool weft_target_is_foreign(const struct weft_target *target, const struct stat *status);
// Fails with IO where what is there is another user's pipe or the like in such a folder.
bool weft_target_check(const struct weft_target *target, const char *path, struct weft_error *error)
    WEFT_MUST_USE;

// "<path>: cannot <doing>: <why>", with IO. Returns false.
bool weft_save_fail(struct weft_error *error, const char *path, const char *doing, int number);

#endif
