// SPDX-License-Identifier: Apache-2.0
// One file, written whole or not at all.
//
// It is written to a temporary beside it, synced, and renamed over its name (POSIX rename is
// atomic). What can be no target of a rename, as pipes, terminals and devices, is written in place.

#include "format/save/save.h"
#include "format/save/target.h"
#include "format/save/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

// ---- what files and sets share ----

bool weft_write_all(int file, const struct weft_file *content)
{
    const char *data = content->data;
    for (size_t left = content->length; left > 0;) {
        ssize_t put = write(file, data, left);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        data += put > 0 ? put : 0;
        left -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

void weft_sync_folder(int folder)
{
    int file = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) {
        fsync(file);
        close(file);
    }
}

// ---- one file ----

static bool save_in_place(const struct weft_target *target, const char *path,
                          const struct weft_file *content, struct weft_error *error)
{
    // Behind /dev/stdout there may be a file that others have begun.
    int flags = target->is_open ? O_APPEND : O_NOFOLLOW;
    int file = openat(target->folder, target->name, O_WRONLY | O_NOCTTY | O_CLOEXEC | flags);
    if (file < 0) {
        return weft_save_fail(error, path, "open", errno);
    }
    struct weft_target opened = *target;
    bool fine = fstat(file, &opened.old) == 0 || weft_save_fail(error, path, "open", errno);
    fine = fine && weft_target_check(&opened, path, error) &&
           (weft_write_all(file, content) || weft_save_fail(error, path, "write", errno));
    if (close(file) != 0 && fine) {
        fine = weft_save_fail(error, path, "write", errno);
    }
    return fine;
}

static bool save_by_rename(const struct weft_target *target, const char *path,
                           const struct weft_file *content, struct weft_error *error)
{
    bool keeps = target->exists && !weft_target_is_foreign(target, &target->old);
    struct weft_temporary temporary;
    weft_temporary_sweep(target->folder, target->name);
    if (!weft_temporary_make(&temporary, target->folder, target->name,
                             keeps ? target->old.st_mode & 0777 : 0666)) {
        return weft_save_fail(error, path, "create a file beside it", errno);
    }
    bool fine =
        weft_write_all(temporary.file, content) || weft_save_fail(error, path, "write", errno);
    if (fine && fsync(temporary.file) != 0) {
        fine = weft_save_fail(error, path, "sync", errno);
    }
    if (fine && renameat(target->folder, temporary.name, target->folder, target->name) != 0) {
        fine = weft_save_fail(error, path, "rename to it", errno);
    }
    if (!fine) {
        weft_temporary_remove(&temporary);
        return false;
    }
    weft_sync_folder(target->folder);
    weft_temporary_close(&temporary);
    return true;
}

bool weft_file_save(const char *path, const void *data, size_t length, struct weft_error *error)
{
    const struct weft_file content = {path, data, length};
    struct weft_target target;
    if (!weft_target_open(&target, path, error)) {
        return false;
    }
    bool fine = weft_target_check(&target, path, error);
    if (fine && target.exists && S_ISDIR(target.old.st_mode)) {
        fine = weft_fail(error, WEFT_IO, "%s: is a folder; name a file in it", path);
    } else if (fine && target.exists && (target.is_open || !S_ISREG(target.old.st_mode))) {
        fine = save_in_place(&target, path, &content, error);
    } else if (fine) {
        fine = save_by_rename(&target, path, &content, error);
    }
    weft_target_close(&target);
    return fine;
}

bool weft_file_may_save(const char *path, struct weft_error *error)
{
    struct weft_target target;
    if (!weft_target_open(&target, path, error)) {
        return false;
    }
    bool fine = weft_target_check(&target, path, error);
    weft_target_close(&target);
    return fine;
}

static bool open_kept(int *file, const struct weft_target *target, const char *path,
                      struct weft_error *error)
{
    struct stat status = target->old;
    if (target->exists && (target->is_open || !S_ISREG(status.st_mode))) {
        return !S_ISDIR(status.st_mode) ||
               weft_fail(error, WEFT_IO, "%s: is a folder; name a file in it", path);
    }
    if (!target->exists || !weft_target_is_foreign(target, &status)) {
        *file = openat(target->folder, target->name,
                       O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
        if (*file < 0 || fstat(*file, &status) != 0) {
            return weft_save_fail(error, path, "open", errno);
        }
    }
    return !weft_target_is_foreign(target, &status) ||
           weft_fail(error, WEFT_IO,
                     "%s: a file of another user, in a folder that all may write to; name another "
                     "file",
                     path);
}

bool weft_file_open_kept(int *file, const char *path, struct weft_error *error)
{
    struct weft_target target;
    *file = -1;
    if (!weft_target_open(&target, path, error)) {
        return false;
    }
    bool fine = weft_target_check(&target, path, error) && open_kept(file, &target, path, error);
    weft_target_close(&target);
    if (!fine && *file >= 0) {
        close(*file);
        *file = -1;
    }
    return fine;
}
