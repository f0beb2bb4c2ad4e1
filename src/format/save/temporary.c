// SPDX-License-Identifier: Apache-2.0
// Temporary files and folders, and what killed processes leave of them.
//
// A temporary lies beside what it is to become, as NAME.<pid>-<n>.tmp, and its maker holds a lock
// on it (flock) as long as it lives: a process id says nothing, since another process may have it
// by now, in another container or on another machine. What nobody holds is left over, and the next
// save of the same name takes it away. Where a file system knows no locks it stays.
//
// A temporary folder with `.replaced` in it was killed while its files were renamed into their
// places one by one. All of them had been written by then, so that the sweep renames the rest: the
// new set is whole then, and a set half new and half old is never left.

#include "format/save/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES_MAX 100

static bool is_same(int folder, const char *name, int file)
{
    struct stat named;
    struct stat opened;
    return fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(file, &opened) == 0 &&
           named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

static int make(int folder, const char *name, mode_t mode)
{
    if (!S_ISDIR(mode)) {
        return openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    }
    if (mkdirat(folder, name, mode & 07777) != 0) {
        return -1;
    }
    int made = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (made < 0) {
        int number = errno == ENOENT ? EEXIST : errno; // a sweep was faster: another name
        unlinkat(folder, name, AT_REMOVEDIR);
        errno = number;
    }
    return made;
}

bool weft_temporary_make(struct weft_temporary *temporary, int folder, const char *name,
                         mode_t mode)
{
    *temporary = (struct weft_temporary){.folder = folder, .file = -1};
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        int wanted = snprintf(temporary->name, sizeof temporary->name, "%s.%ld-%u.tmp", name,
                              (long)getpid(), i);
        if (wanted >= (int)sizeof temporary->name) {
            errno = ENAMETOOLONG;
            return false;
        }
        temporary->file = make(folder, temporary->name, mode);
        if (temporary->file < 0 && errno != EEXIST) {
            return false;
        }
        if (temporary->file < 0) {
            continue;
        }
        // Between the two calls a sweep may have taken it for left over.
        bool locked = flock(temporary->file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        if (locked && is_same(folder, temporary->name, temporary->file)) {
            return true;
        }
        weft_temporary_close(temporary);
    }
    errno = EEXIST;
    return false;
}

void weft_temporary_close(struct weft_temporary *temporary)
{
    if (temporary->file >= 0) {
        close(temporary->file);
        temporary->file = -1;
    }
}

// ---- folders ----

bool weft_folder_each(int folder, bool (*see)(void *context, const char *name), void *context)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
    if (entries == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return false;
    }
    bool fine = true;
    // No other thread reads this folder's stream.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    for (struct dirent *entry = readdir(entries); fine && entry != NULL; entry = readdir(entries)) {
        bool itself = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        fine = itself || see(context, entry->d_name);
    }
    closedir(entries);
    return fine;
}

static bool unlink_one(void *context, const char *name)
{
    const int *folder = context;
    unlinkat(*folder, name, 0);
    return true;
}

// A listing takes memory and a descriptor, which may be there a moment later; else the rest stays
// for the next sweep.
static void empty_folder(int folder)
{
    for (int tries = 0; tries < 2 && !weft_folder_each(folder, unlink_one, &folder); tries++) {
    }
}

void weft_folder_remove(int folder, const char *name)
{
    int inside = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inside < 0) {
        return;
    }
    int replaced =
        openat(inside, WEFT_TEMPORARY_REPLACED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (replaced >= 0) { // first, so that no sweep finishes what was taken back
        empty_folder(replaced);
        close(replaced);
        unlinkat(inside, WEFT_TEMPORARY_REPLACED, AT_REMOVEDIR);
    }
    empty_folder(inside);
    close(inside);
    unlinkat(folder, name, AT_REMOVEDIR);
}

void weft_temporary_remove(struct weft_temporary *temporary)
{
    struct stat status;
    bool is_folder = fstat(temporary->file, &status) == 0 && S_ISDIR(status.st_mode);
    if (is_folder) {
        weft_folder_remove(temporary->folder, temporary->name);
    } else {
        unlinkat(temporary->folder, temporary->name, 0);
    }
    weft_temporary_close(temporary);
}

// ---- what is left over ----

struct sweep {
    int folder;
    const char *name;
};

// NAME.<pid>-<n>.tmp
static bool is_temporary(const char *entry, const char *name)
{
    static const char digits[] = "0123456789";
    size_t length = strlen(name);
    if (strncmp(entry, name, length) != 0 || entry[length] != '.') {
        return false;
    }
    const char *pid = entry + length + 1;
    const char *dash = pid + strspn(pid, digits);
    const char *end = dash + 1 + (*dash == '-' ? strspn(dash + 1, digits) : 0);
    return dash > pid && *dash == '-' && end > dash + 1 && strcmp(end, ".tmp") == 0;
}

struct finish {
    int from;
    int to;
};

static bool move_one(void *context, const char *name)
{
    const struct finish *finish = context;
    struct stat status;
    if (fstatat(finish->from, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
        renameat(finish->from, name, finish->to, name) != 0) {
        return false;
    }
    return true;
}

// Renames what is left of a set that was killed on its way into the folder. False: it cannot be.
static bool finish_set(int folder, int inside)
{
    struct stat status;
    struct finish finish = {inside, folder};
    return fstatat(inside, WEFT_TEMPORARY_REPLACED, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
           weft_folder_each(inside, move_one, &finish);
}

static bool sweep_one(void *context, const char *entry)
{
    const struct sweep *sweep = context;
    struct stat status;
    if (!is_temporary(entry, sweep->name) ||
        fstatat(sweep->folder, entry, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        status.st_uid != geteuid() || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) {
        return true;
    }
    bool is_folder = S_ISDIR(status.st_mode);
    int flags = is_folder ? O_RDONLY | O_DIRECTORY : O_RDWR | O_NONBLOCK | O_NOCTTY; // as NFS locks
    int file = openat(sweep->folder, entry, flags | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) {
        return true;
    }
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && is_same(sweep->folder, entry, file)) {
        if (!is_folder) {
            unlinkat(sweep->folder, entry, 0);
        } else if (finish_set(sweep->folder, file)) {
            weft_folder_remove(sweep->folder, entry);
        }
    }
    close(file);
    return true;
}

void weft_temporary_sweep(int folder, const char *name)
{
    struct sweep sweep = {folder, name};
    if (!weft_folder_each(folder, sweep_one, &sweep)) {
        return; // a folder that cannot be looked through keeps what is in it
    }
}
