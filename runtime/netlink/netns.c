// SPDX-License-Identifier: Apache-2.0
// Network namespaces with names, kept as `ip netns` keeps them: a file of that name in /run/netns,
// with the namespace mounted on it.
//
// The mount holds the namespace while no process is in it. The calling thread visits a namespace to
// open a socket there and returns, because a socket stays in the namespace in which it was opened.

#include "message.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "/run/netns"
#define OWN "/proc/thread-self/ns/net"
enum { PATH_BYTES = 128 };

static bool path_of(char path[PATH_BYTES], const char *name, struct weft_error *error)
{
    size_t length = strlen(name);
    bool fine = length > 0 && length < WEFT_NETNS_NAME_MAX && isalnum((unsigned char)name[0]);
    for (size_t i = 0; i < length; i++) {
        fine = fine && (isalnum((unsigned char)name[i]) || strchr("-_.", name[i]) != NULL);
    }
    if (!fine) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.64s' is no name of a namespace; letters, digits and -_. only", name);
    }
    snprintf(path, PATH_BYTES, FOLDER "/%s", name);
    return true;
}

// The folder is shared as `ip netns` shares it, so that names are seen and removed in every mount
// namespace, and locked meanwhile as `ip netns` locks it: two programs at once would mount it over
// itself twice, and hide from each other what they make. Anybody may lock a folder that they can
// read, so that the lock is waited for a second at most.
static bool share_folder(struct weft_error *error)
{
    if (mkdir(FOLDER, 0755) != 0 && errno != EEXIST) {
        return weft_netlink_refused(error, errno, NULL, "", "folder " FOLDER);
    }
    int lock = open(FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0) {
        return weft_netlink_refused(error, errno, NULL, "", "folder " FOLDER);
    }
    const struct timespec moment = {.tv_nsec = 10000000};
    for (int i = 0; i < 100 && flock(lock, LOCK_EX | LOCK_NB) != 0; i++) {
        nanosleep(&moment, NULL);
    }
    bool fine = mount("", FOLDER, "none", MS_SHARED | MS_REC, NULL) == 0;
    if (!fine && errno == EINVAL) {
        fine = mount(FOLDER, FOLDER, "none", MS_BIND | MS_REC, NULL) == 0 &&
               mount("", FOLDER, "none", MS_SHARED | MS_REC, NULL) == 0;
    }
    int number = errno;
    close(lock);
    return fine || weft_netlink_refused(error, number, NULL, "", "folder " FOLDER);
}

// A visit: the thread is in another namespace until it leaves.
static bool visit(int *home_fd, const char *name, struct weft_error *error)
{
    int fd = -1;
    *home_fd = open(OWN, O_RDONLY | O_CLOEXEC);
    if (*home_fd < 0) {
        return weft_netlink_refused(error, errno, NULL, "", "own namespace");
    }
    bool fine = weft_netns_open(&fd, name, error);
    if (fine && setns(fd, CLONE_NEWNET) != 0) {
        fine = weft_netlink_refused(error, errno, NULL, name, "entering");
    }
    if (fd >= 0) {
        close(fd);
    }
    if (!fine) {
        close(*home_fd);
    }
    return fine;
}

static void leave(int home_fd)
{
    int failed = setns(home_fd, CLONE_NEWNET);
    WEFT_ASSERT(failed == 0);
    close(home_fd);
}

// A namespace's loopback is down at first. One ioctl raises it, so that namespaces need nothing of
// the sessions that are opened in them.
static bool raise_loopback(const char *name, struct weft_error *error)
{
    int fd = -1;
    struct ifreq loopback = {.ifr_flags = IFF_UP | IFF_RUNNING};
    if (!weft_netns_socket(&fd, name, AF_INET, SOCK_DGRAM, 0, error)) {
        return false;
    }
    snprintf(loopback.ifr_name, sizeof loopback.ifr_name, "lo");
    bool fine = ioctl(fd, SIOCSIFFLAGS, &loopback) == 0;
    int number = errno;
    close(fd);
    return fine || weft_netlink_refused(error, number, NULL, name, "its loopback");
}

bool weft_netns_create(const char *name, struct weft_error *error)
{
    char path[PATH_BYTES];
    if (!path_of(path, name, error) || !share_folder(error)) {
        return false;
    }
    int home_fd = open(OWN, O_RDONLY | O_CLOEXEC);
    int fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
    if (home_fd < 0 || fd < 0) {
        int number = errno;
        if (home_fd >= 0) {
            close(home_fd);
        }
        return weft_netlink_refused(error, number, NULL, name, "new namespace");
    }
    close(fd);
    bool fine = unshare(CLONE_NEWNET) == 0;
    int number = errno;
    if (fine) {
        fine = mount(OWN, path, "none", MS_BIND, NULL) == 0;
        number = errno;
        leave(home_fd);
    } else {
        close(home_fd);
    }
    if (!fine) {
        unlink(path);
        return weft_netlink_refused(error, number, NULL, name, "new namespace");
    }
    return raise_loopback(name, error);
}

bool weft_netns_delete(const char *name, struct weft_error *error)
{
    char path[PATH_BYTES];
    if (!path_of(path, name, error)) {
        return false;
    }
    // A name without a mount is what a killed creation leaves.
    if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) != 0 && errno != EINVAL && errno != ENOENT) {
        return weft_netlink_refused(error, errno, NULL, name, "removing the namespace");
    }
    if (unlink(path) != 0 && errno != ENOENT) {
        return weft_netlink_refused(error, errno, NULL, name, "removing the namespace");
    }
    return true;
}

bool weft_netns_exists(const char *name)
{
    char path[PATH_BYTES];
    struct weft_error ignored;
    return path_of(path, name, &ignored) && access(path, F_OK) == 0;
}

bool weft_netns_open(int *fd, const char *name, struct weft_error *error)
{
    char path[PATH_BYTES] = OWN;
    if (name != NULL && !path_of(path, name, error)) {
        return false;
    }
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 && errno == ENOENT) {
        return weft_fail(error, WEFT_IO, "there is no namespace %s; weft lab up makes a lab's",
                         name != NULL ? name : OWN);
    }
    return *fd >= 0 || weft_netlink_refused(error, errno, NULL, name, "namespace");
}

bool weft_netns_enter(const char *name, struct weft_error *error)
{
    int home_fd = -1;
    if (!visit(&home_fd, name, error)) {
        return false;
    }
    close(home_fd);
    return true;
}

bool weft_netns_socket(int *fd, const char *name, int domain, int type, int protocol,
                       struct weft_error *error)
{
    int home_fd = -1;
    if (name != NULL && !visit(&home_fd, name, error)) {
        return false;
    }
    *fd = socket(domain, type | SOCK_CLOEXEC, protocol);
    int number = errno;
    if (name != NULL) {
        leave(home_fd);
    }
    return *fd >= 0 || weft_netlink_refused(error, number, NULL, name, "socket");
}

bool weft_netns_sysctl(const char *name, const char *file, const char *value,
                       struct weft_error *error)
{
    char path[2 * PATH_BYTES];
    int home_fd = -1;
    snprintf(path, sizeof path, "/proc/sys/%s", file);
    if (name != NULL && !visit(&home_fd, name, error)) {
        return false;
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool fine = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
    int number = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (name != NULL) {
        leave(home_fd);
    }
    if (!fine && number == ENOENT) {
        return weft_fail(error, WEFT_UNSUPPORTED, "this kernel has no sysctl %s", file);
    }
    return fine || weft_netlink_refused(error, number, NULL, name, file);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

bool weft_netns_list(const char *const **names, uint32_t *count, const char *prefix,
                     struct weft_arena *arena, struct weft_error *error)
{
    enum { NAMES_MAX = 65536 };
    *count = 0;
    *names = NULL;
    DIR *folder = opendir(FOLDER);
    if (folder == NULL) {
        return errno == ENOENT || weft_netlink_refused(error, errno, NULL, "", "folder " FOLDER);
    }
    const char **found = WEFT_NEW(arena, const char *, NAMES_MAX);
    // One thread reads this folder handle.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && entry->d_name[0] != '.' &&
            *count < NAMES_MAX) {
            found[(*count)++] = weft_arena_text(arena, entry->d_name, strlen(entry->d_name));
        }
    }
    closedir(folder);
    qsort(found, *count, sizeof found[0], compare_names);
    *names = found;
    return true;
}

static bool is_same(const struct stat *wanted, const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && found.st_ino == wanted->st_ino &&
           found.st_dev == wanted->st_dev;
}

// Whether that is a namespace whose processes may be ended: anybody with the right to it may have
// bound another thing to the name, the machine's own namespace even. An empty file is what a killed
// creation leaves.
static bool check_own(struct stat *wanted, const char *path, struct weft_error *error)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == EACCES && lstat(path, wanted) == 0 && S_ISREG(wanted->st_mode) &&
        wanted->st_size == 0) {
        return true; // its mode is 0
    }
    if (fd < 0 || fstat(fd, wanted) != 0) {
        int number = errno;
        if (fd >= 0) {
            close(fd);
        }
        return weft_netlink_refused(error, number, NULL, "", path);
    }
    int type = ioctl(fd, NS_GET_NSTYPE);
    close(fd);
    bool empty = type < 0 && S_ISREG(wanted->st_mode) && wanted->st_size == 0;
    if (type != CLONE_NEWNET && !empty) {
        return weft_fail(error, WEFT_IO,
                         "%s: no network namespace, and not Weft's; umount or remove it", path);
    }
    if (is_same(wanted, "/proc/self/ns/net") || is_same(wanted, "/proc/1/ns/net")) {
        return weft_fail(error, WEFT_IO,
                         "%s is the network namespace of this %s, whose processes stay; %s", path,
                         is_same(wanted, "/proc/1/ns/net") ? "machine" : "program",
                         is_same(wanted, "/proc/1/ns/net") ? "umount it" : "go on outside of it");
    }
    return true;
}

bool weft_netns_processes(uint32_t *count, pid_t *pids, uint32_t room, const char *name,
                          struct weft_error *error)
{
    char path[PATH_BYTES];
    struct stat wanted;
    *count = 0;
    if (!path_of(path, name, error)) {
        return false;
    }
    if (lstat(path, &wanted) != 0 && errno == ENOENT) {
        return true;
    }
    if (!check_own(&wanted, path, error)) {
        return false;
    }
    DIR *folder = opendir("/proc");
    if (folder == NULL) {
        return weft_netlink_refused(error, errno, NULL, "", "/proc");
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        struct weft_error ignored;
        uint64_t pid = 0;
        if (!weft_parse_count(&pid, entry->d_name, 1, INT32_MAX, &ignored) ||
            (pid_t)pid == getpid()) {
            continue;
        }
        snprintf(path, sizeof path, "/proc/%u/ns/net", (unsigned)pid);
        if (is_same(&wanted, path) && *count < room) {
            pids[(*count)++] = (pid_t)pid;
        }
    }
    closedir(folder);
    return true;
}
