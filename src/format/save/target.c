// SPDX-License-Identifier: Apache-2.0
// Where something is to be written, followed link by link.
//
// In a folder like /tmp anyone can put a link or a pipe under a name that another user is about to
// write. So this walk applies the rules of Linux' fs.protected_symlinks and fs.protected_fifos,
// whether or not the machine has them on, and to links on the way, too: in a sticky folder that all
// may write to, a link is followed only if it belongs to who follows it or to the folder's owner,
// and the same holds for writing into pipes and devices. The walk holds each folder open, and what
// uses its result names the last name without following, so that a folder or a link that is
// exchanged meanwhile leads nowhere else.

#include "format/save/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40 // of one path, as in Linux

bool weft_save_fail(struct weft_error *error, const char *path, const char *doing, int number)
{
    return weft_fail(error, WEFT_IO, "%s: cannot %s: %s", path, doing, strerrordesc_np(number));
}

bool weft_target_is_foreign(const struct weft_target *target, const struct stat *status)
{
    const mode_t open_to_all = S_ISVTX | S_IWOTH;
    return (target->in.st_mode & open_to_all) == open_to_all && status->st_uid != geteuid() &&
           status->st_uid != target->in.st_uid;
}

bool weft_target_check(const struct weft_target *target, const char *path, struct weft_error *error)
{
    bool in_place = !S_ISREG(target->old.st_mode) && !S_ISDIR(target->old.st_mode);
    return !target->exists || !in_place || target->is_open ||
           !weft_target_is_foreign(target, &target->old) ||
           weft_fail(error, WEFT_IO,
                     "%s: a pipe or device of another user, in a folder that all may write to; "
                     "name another file",
                     path);
}

// ---- the walk ----

// A path under way.
struct walk {
    struct weft_target *target;
    const char *path; // as the user wrote it
    char rest[PATH_MAX];
    uint32_t links;
    struct weft_error *error;
};

static bool enter(struct walk *walk, int at, const char *name, int flags)
{
    struct weft_target *target = walk->target;
    int folder = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);
    if (folder < 0) {
        return weft_save_fail(walk->error, walk->path, "open", errno);
    }
    weft_target_close(target);
    target->folder = folder;
    return fstat(folder, &target->in) == 0 ||
           weft_save_fail(walk->error, walk->path, "open", errno);
}

// Takes the next name off the rest of the path; *last: nothing follows, not even a slash.
static bool take_name(struct walk *walk, bool *last)
{
    char *name = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(name, "/");
    if (length >= sizeof walk->target->name) {
        return weft_save_fail(walk->error, walk->path, "open", ENAMETOOLONG);
    }
    if (length == 0) {
        return weft_fail(walk->error, WEFT_IO, "'%s': names no file; write FOLDER/FILE",
                         walk->path);
    }
    memcpy(walk->target->name, name, length);
    walk->target->name[length] = '\0';
    *last = name[length] == '\0';
    memmove(walk->rest, name + length, strlen(name + length) + 1);
    return true;
}

static bool is_procfs(int folder)
{
    struct statfs status;
    return fstatfs(folder, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

// Puts what the link says in its place before the rest of the path.
static bool follow(struct walk *walk, const struct stat *link)
{
    struct weft_target *target = walk->target;
    char text[PATH_MAX];
    if (weft_target_is_foreign(target, link)) {
        return weft_fail(walk->error, WEFT_IO,
                         "%s: '%s' is a link of another user, in a folder that all may write to, "
                         "and not followed; name the file itself",
                         walk->path, target->name);
    }
    ssize_t length = readlinkat(target->folder, target->name, text, sizeof text - 1);
    if (length < 0) {
        return weft_save_fail(walk->error, walk->path, "open", errno);
    }
    text[length] = '\0';
    walk->links++;
    if (walk->links > LINKS_MAX || (size_t)length + strlen(walk->rest) >= sizeof walk->rest) {
        return weft_save_fail(walk->error, walk->path, "open",
                              walk->links > LINKS_MAX ? ELOOP : ENAMETOOLONG);
    }
    memmove(walk->rest + length, walk->rest, strlen(walk->rest) + 1);
    memcpy(walk->rest, text, (size_t)length);
    return text[0] != '/' || enter(walk, AT_FDCWD, "/", 0);
}

// A link of procfs stands for what it leads to; its text would be no path.
static bool take_open(struct walk *walk, bool last, bool *there)
{
    struct weft_target *target = walk->target;
    if (!last) {
        return enter(walk, target->folder, target->name, 0);
    }
    *there = true;
    target->exists = true;
    target->is_open = true;
    return fstatat(target->folder, target->name, &target->old, 0) == 0 ||
           weft_save_fail(walk->error, walk->path, "open", errno);
}

static bool fail_missing(const struct walk *walk)
{
    const char *slash = strrchr(walk->path, '/');
    return weft_fail(walk->error, WEFT_IO,
                     "%s: there is no folder '%.*s'; make it, or write elsewhere", walk->path,
                     (int)(slash == NULL ? 0 : slash - walk->path), walk->path);
}

// One name further; *there: it was the last.
static bool step(struct walk *walk, bool *there)
{
    struct weft_target *target = walk->target;
    struct stat status;
    bool last = false;
    if (!take_name(walk, &last)) {
        return false;
    }
    if (fstatat(target->folder, target->name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        *there = last && errno == ENOENT;
        return *there || (errno == ENOENT ? fail_missing(walk)
                                          : weft_save_fail(walk->error, walk->path, "open", errno));
    }
    if (S_ISLNK(status.st_mode)) {
        return is_procfs(target->folder) ? take_open(walk, last, there) : follow(walk, &status);
    }
    if (!last) {
        return enter(walk, target->folder, target->name, O_NOFOLLOW);
    }
    *there = true;
    target->exists = true;
    target->old = status;
    return true;
}

bool weft_target_open(struct weft_target *target, const char *path, struct weft_error *error)
{
    struct walk walk = {.target = target, .path = path, .error = error};
    bool there = false;
    *target = (struct weft_target){.folder = -1};
    if (strlen(path) >= sizeof walk.rest) {
        return weft_save_fail(error, path, "open", ENAMETOOLONG);
    }
    memcpy(walk.rest, path, strlen(path) + 1);
    bool fine = enter(&walk, AT_FDCWD, path[0] == '/' ? "/" : ".", 0);
    while (fine && !there) {
        fine = step(&walk, &there);
    }
    if (!fine) {
        weft_target_close(target);
    }
    return fine;
}

void weft_target_close(struct weft_target *target)
{
    if (target->folder >= 0) {
        close(target->folder);
        target->folder = -1;
    }
}
