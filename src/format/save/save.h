// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_SAVE_SAVE_H
#define WEFT_FORMAT_SAVE_SAVE_H

// What single files and sets of files share when they are written.

#include "weft/format/file.h"

// False: errno.
bool weft_write_all(int file, const struct weft_file *content) WEFT_MUST_USE;
// A rename is safe only once the folder is on the disk, too. Some file systems refuse to sync one;
// the files themselves are complete by then.
void weft_sync_folder(int folder);

#endif
