// SPDX-License-Identifier: Apache-2.0
// Several files of one folder, written all or none.
//
// All are first written into a temporary folder. Where the folder holds nothing but files of these
// names, or is not there yet, the temporary one takes its place by one rename (RENAME_EXCHANGE), so
// that nobody ever sees half a set, and a kill leaves the old or the new one. Beside other files,
// and where a file system or a mount point refuses the exchange, they are renamed into their places
// one by one: what they replace is kept until the last is there, and put back if one of them fails;
// the rest of a killed one is finished by the next save (temporary.c).

#include "format/save/save.h"
#include "format/save/target.h"
#include "format/save/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TRIES_MAX 8 // against others that save the same folder meanwhile

struct set {
    const char *path; // of the folder, for messages
    const struct weft_file *files;
    uint32_t count;
    const char **names;        // of the files, sorted
    struct weft_target target; // the folder, where it is
    int inside;                // the folder itself; -1: it is not there
    struct weft_error *error;
};

static bool fail_file(const struct set *set, const char *name, const char *doing, int number)
{
    return weft_fail(set->error, WEFT_IO, "%s/%s: cannot %s: %s", set->path, name, doing,
                     strerrordesc_np(number));
}

// ---- into a temporary folder ----

// The permissions of the file that is replaced; what is there and no file is no place for one.
static bool find_mode(mode_t *mode, const struct set *set, const char *name)
{
    struct stat old;
    *mode = 0666;
    if (set->inside < 0 || fstatat(set->inside, name, &old, AT_SYMLINK_NOFOLLOW) != 0) {
        return true;
    }
    if (!S_ISREG(old.st_mode)) {
        return weft_fail(set->error, WEFT_IO, "%s/%s: is there and no file; choose another name",
                         set->path, name);
    }
    *mode = old.st_mode & 0777;
    return true;
}

static bool stage_file(const struct set *set, int folder, const struct weft_file *content)
{
    mode_t mode = 0;
    if (!find_mode(&mode, set, content->name)) {
        return false;
    }
    int file = openat(folder, content->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0) {
        return fail_file(set, content->name, "create", errno);
    }
    bool fine = weft_write_all(file, content) || fail_file(set, content->name, "write", errno);
    if (fine && fsync(file) != 0) {
        fine = fail_file(set, content->name, "sync", errno);
    }
    if (close(file) != 0 && fine) {
        fine = fail_file(set, content->name, "write", errno);
    }
    return fine;
}

static bool stage(const struct set *set, const struct weft_temporary *temporary)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (!stage_file(set, temporary->file, &set->files[i])) {
            return false;
        }
    }
    fsync(temporary->file);
    return true;
}

// ---- the whole folder at once ----

enum outcome { SAVED, REFUSED, FAILED };

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_of_set(void *context, const char *name)
{
    const struct set *set = context;
    struct stat status;
    return bsearch(&name, set->names, set->count, sizeof *set->names, compare_names) != NULL &&
           fstatat(set->inside, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

// Whether nothing would be lost with the folder: it has no other files, access lists or anybody
// who, as this process, works in it.
static bool is_replaceable(struct set *set)
{
    struct stat here;
    const struct stat *old = &set->target.old;
    bool is_here =
        stat(".", &here) == 0 && here.st_ino == old->st_ino && here.st_dev == old->st_dev;
    bool has_list = fgetxattr(set->inside, "system.posix_acl_access", NULL, 0) > 0 ||
                    fgetxattr(set->inside, "system.posix_acl_default", NULL, 0) > 0;
    return !is_here && !has_list && weft_folder_each(set->inside, is_of_set, set);
}

// The new folder gets owner and permissions of the old one, before files are made in it.
static bool copy_rights(const struct set *set, const struct weft_temporary *temporary)
{
    const struct stat *old = &set->target.old;
    struct stat made;
    return fstat(temporary->file, &made) == 0 &&
           ((made.st_uid == old->st_uid && made.st_gid == old->st_gid) ||
            fchown(temporary->file, old->st_uid, old->st_gid) == 0) &&
           fchmod(temporary->file, old->st_mode & 07777) == 0;
}

static bool exchange(const struct set *set, const struct weft_temporary *temporary)
{
    int parent = set->target.folder;
    return renameat2(parent, temporary->name, parent, set->target.name, RENAME_EXCHANGE) == 0;
}

static enum outcome take_place(struct set *set, struct weft_temporary *temporary)
{
    int parent = set->target.folder;
    if (set->inside < 0) {
        if (renameat(parent, temporary->name, parent, set->target.name) == 0) {
            return SAVED;
        }
        if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) {
            return REFUSED; // somebody else has made it
        }
        weft_save_fail(set->error, set->path, "rename to it", errno);
        return FAILED;
    }
    if (!exchange(set, temporary)) {
        return REFUSED;
    }
    // What came into the old folder since it was looked through goes back with it.
    return weft_folder_each(set->inside, is_of_set, set) || !exchange(set, temporary) ? SAVED
                                                                                      : REFUSED;
}

static enum outcome save_folder(struct set *set)
{
    struct weft_temporary temporary;
    int parent = set->target.folder;
    if (!weft_temporary_make(&temporary, parent, set->target.name, S_IFDIR | 0777)) {
        if (set->inside >= 0) {
            return REFUSED; // into the folder itself, perhaps
        }
        weft_save_fail(set->error, set->path, "create", errno);
        return FAILED;
    }
    enum outcome outcome = REFUSED;
    if (set->inside < 0 || copy_rights(set, &temporary)) {
        outcome = stage(set, &temporary) ? take_place(set, &temporary) : FAILED;
    }
    if (outcome == SAVED) {
        weft_sync_folder(parent);
    }
    if (outcome != SAVED || set->inside >= 0) { // the old folder, if there was one
        weft_folder_remove(parent, temporary.name);
    }
    weft_temporary_close(&temporary);
    return outcome;
}

// ---- file by file ----

// Moves a file into its place; the one that is there stays in `replaced`. A link leaves no moment
// in which neither is there, but not every file system has them.
static bool put(const struct set *set, int from, int replaced, const char *name)
{
    struct stat old;
    int inside = set->inside;
    if (fstatat(inside, name, &old, AT_SYMLINK_NOFOLLOW) == 0 &&
        linkat(inside, name, replaced, name, 0) != 0 &&
        renameat(inside, name, replaced, name) != 0) {
        return fail_file(set, name, "keep what it replaces", errno);
    }
    return renameat(from, name, inside, name) == 0 || fail_file(set, name, "rename to it", errno);
}

// The new file goes back, so that a kill in between leaves all of them for the next save.
static bool put_back(const struct set *set, int from, int replaced, const char *name)
{
    struct stat status;
    if (fstatat(from, name, &status, AT_SYMLINK_NOFOLLOW) != 0 &&
        renameat(set->inside, name, from, name) != 0) {
        return false;
    }
    return fstatat(replaced, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
           renameat(replaced, name, set->inside, name) == 0;
}

static bool put_all(const struct set *set, const struct weft_temporary *temporary, bool *restored)
{
    int from = temporary->file;
    int replaced = mkdirat(from, WEFT_TEMPORARY_REPLACED, 0700) == 0
                       ? openat(from, WEFT_TEMPORARY_REPLACED, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                       : -1;
    if (replaced < 0) {
        return weft_save_fail(set->error, set->path, "create a folder in it", errno);
    }
    uint32_t done = 0;
    while (done < set->count && put(set, from, replaced, set->files[done].name)) {
        done++;
    }
    bool fine = done == set->count;
    for (uint32_t i = fine ? 0 : done + 1; i > 0; i--) {
        *restored = put_back(set, from, replaced, set->files[i - 1].name) && *restored;
    }
    close(replaced);
    return fine;
}

static enum outcome save_files(struct set *set)
{
    struct weft_temporary temporary;
    if (!weft_temporary_make(&temporary, set->inside, set->files[0].name, S_IFDIR | 0700)) {
        weft_save_fail(set->error, set->path, "create a folder in it", errno);
        return FAILED;
    }
    bool restored = true;
    bool fine = stage(set, &temporary) && put_all(set, &temporary, &restored);
    fsync(set->inside);
    if (restored) {
        weft_temporary_remove(&temporary);
    } else { // the next save finishes it
        weft_temporary_close(&temporary);
    }
    return fine ? SAVED : FAILED;
}

// ---- the set ----

static bool open_inside(struct set *set)
{
    const struct weft_target *target = &set->target;
    set->inside = -1;
    if (!target->exists) {
        return true;
    }
    if (!S_ISDIR(target->old.st_mode)) {
        return weft_fail(set->error, WEFT_IO, "%s: is there and no folder; choose another name",
                         set->path);
    }
    int follow = target->is_open ? 0 : O_NOFOLLOW;
    set->inside = openat(target->folder, target->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow);
    return set->inside >= 0 || weft_save_fail(set->error, set->path, "open", errno);
}

static enum outcome try_save(struct set *set)
{
    if (!weft_target_open(&set->target, set->path, set->error)) {
        return FAILED;
    }
    enum outcome outcome = FAILED;
    weft_temporary_sweep(set->target.folder, set->target.name);
    if (open_inside(set)) {
        outcome = REFUSED;
        if (set->inside >= 0) {
            weft_temporary_sweep(set->inside, set->files[0].name);
        }
        if (set->inside < 0 || (!set->target.is_open && is_replaceable(set))) {
            outcome = save_folder(set);
        }
        if (outcome == REFUSED && set->inside >= 0) {
            outcome = save_files(set);
        }
    }
    if (set->inside >= 0) {
        close(set->inside);
    }
    weft_target_close(&set->target);
    return outcome;
}

bool weft_files_save(const char *folder, const struct weft_file *files, uint32_t count,
                     struct weft_arena scratch, struct weft_error *error)
{
    char path[PATH_MAX];
    size_t length = strlen(folder);
    WEFT_ASSERT(count > 0);
    while (length > 1 && folder[length - 1] == '/') {
        length--;
    }
    if (length >= sizeof path) {
        return weft_save_fail(error, folder, "open", ENAMETOOLONG);
    }
    memcpy(path, folder, length);
    path[length] = '\0';
    struct set set = {.path = path, .files = files, .count = count, .inside = -1, .error = error};
    set.names = WEFT_NEW(&scratch, const char *, count);
    for (uint32_t i = 0; i < count; i++) {
        set.names[i] = files[i].name;
    }
    qsort(set.names, count, sizeof *set.names, compare_names);
    enum outcome outcome = REFUSED;
    for (uint32_t i = 0; i < TRIES_MAX && outcome == REFUSED; i++) {
        outcome = try_save(&set);
    }
    return outcome == SAVED ||
           (outcome == REFUSED
                ? weft_fail(error, WEFT_IO, "%s: others make it meanwhile; try again", path)
                : false);
}
