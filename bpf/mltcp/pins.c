// SPDX-License-Identifier: Apache-2.0
// Pins: what keeps a congestion control in the kernel between two runs of the program.
//
// A program, map or link of BPF lives as long as something refers to it. A name in a BPF file
// system is such a reference. Weft mounts one of its own rather than use /sys/fs/bpf, because `ip
// netns exec` hides that behind a fresh /sys.

#include "private.h"

#include "weft/format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define LOCK WEFT_CC_RUN "/cc.lock"

const char *cc_path(char path[CC_PATH_BYTES], const char *name, const char *pin)
{
    snprintf(path, CC_PATH_BYTES, WEFT_CC_FOLDER "/cc/%.15s%s%s", name, pin == NULL ? "" : "/",
             pin == NULL ? "" : pin);
    return path;
}

int cc_open_pin(const char *name, const char *pin)
{
    char path[CC_PATH_BYTES];
    return bpf_obj_get(cc_path(path, name, pin));
}

bool cc_pin(int fd, const char *name, const char *as, struct weft_error *error)
{
    char path[CC_PATH_BYTES];
    if (bpf_obj_pin(fd, cc_path(path, name, as)) == 0) {
        return true;
    }
    return weft_fail(error, WEFT_IO, "cannot pin %s: %s", path, strerror(errno));
}

static bool is_mounted(void)
{
    struct statfs status;
    return statfs(WEFT_CC_FOLDER, &status) == 0 && status.f_type == BPF_FS_MAGIC;
}

bool cc_make_folder(const char *path, struct weft_error *error)
{
    if (mkdir(path, 0755) == 0 || errno == EEXIST) {
        return true;
    }
    return weft_fail(error, WEFT_IO, "cannot make %s: %s", path, strerror(errno));
}

// Whether the lock was got within `left_ms`, which shrinks by what was waited; else with an error.
static bool wait_for_lock(int lock, uint32_t *left_ms, struct weft_error *error)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    while (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            return weft_fail(error, WEFT_IO, "cannot lock " LOCK ": %s", strerror(errno));
        }
        if (*left_ms == 0) {
            return weft_fail(error, WEFT_IO,
                             LOCK ": another weft cc is at work; try again when it has ended");
        }
        nanosleep(&moment, NULL);
        (*left_ms)--;
    }
    return true;
}

// The lock is a file, which keeps the folder from being removed by those who share it. Who lets go
// removes it; a lock that was got on a removed file keeps nobody out, and another is tried.
int cc_lock(uint32_t within_ms, struct weft_error *error)
{
    for (;;) {
        if (!cc_make_folder(WEFT_CC_RUN, error)) {
            return -1;
        }
        int lock = open(LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (lock < 0 && errno == ENOENT) {
            continue; // the folder went away meanwhile
        }
        if (lock < 0) {
            weft_fail(error, WEFT_IO, "cannot open " LOCK ": %s", strerror(errno));
            return -1;
        }
        if (!wait_for_lock(lock, &within_ms, error)) {
            close(lock);
            return -1;
        }
        if (weft_file_is_named(lock, LOCK)) {
            return lock;
        }
        close(lock);
    }
}

void cc_unlock(int lock)
{
    unlink(LOCK);
    close(lock);
    rmdir(WEFT_CC_RUN); // if nothing is in it
}

// The mount is shared by all congestion controls that are loaded, and goes with the last.
bool cc_mount(struct weft_error *error)
{
    if (!cc_make_folder(WEFT_CC_FOLDER, error)) {
        return false;
    }
    if (!is_mounted() && mount("weft", WEFT_CC_FOLDER, "bpf", 0, "mode=0755") != 0) {
        int reason = errno;
        rmdir(WEFT_CC_FOLDER);
        return weft_fail(error, WEFT_UNSUPPORTED, "cannot mount a BPF file system at %s: %s",
                         WEFT_CC_FOLDER, strerror(reason));
    }
    return cc_make_folder(WEFT_CC_FOLDER "/cc", error);
}

// Whether the file system holds nothing but what the kernel puts there itself.
static bool is_empty(void)
{
    DIR *folder = opendir(WEFT_CC_FOLDER);
    if (folder == NULL || !is_mounted()) {
        return false;
    }
    uint32_t count = 0;
    const struct dirent *entry = NULL;
    while ((entry = readdir(folder)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');
        bool own = entry->d_name[0] == '.' || (dot != NULL && strcmp(dot, ".debug") == 0);
        count += own ? 0 : 1;
    }
    closedir(folder);
    return count == 0;
}

bool cc_remove_pins(const char *name)
{
    static const char *const pins[] = {CC_PIN_CGROUP,     CC_PIN_LINK,        CC_PIN_MAP,
                                       CC_PIN_PARAMETERS, CC_PIN_CONNECTIONS, CC_PIN_JOBS,
                                       CC_PIN_REGISTRY};
    char path[CC_PATH_BYTES];
    for (size_t i = 0; i < sizeof pins / sizeof pins[0]; i++) {
        unlink(cc_path(path, name, pins[i]));
    }
    bool removed = rmdir(cc_path(path, name, NULL)) == 0;
    rmdir(WEFT_CC_FOLDER "/cc");
    bool unmounted = is_empty() && umount2(WEFT_CC_FOLDER, UMOUNT_NOFOLLOW) == 0;
    return rmdir(WEFT_CC_FOLDER) == 0 || unmounted || removed;
}
