// SPDX-License-Identifier: Apache-2.0
// The page of an interface that answers, as a file that is mapped: the interface adds to a counter
// by a store, and no reader costs it anything. The lock (fcntl) is the process's and ends with it,
// however that ends: a page that nobody has locked is what a killed process left.

#include "state.h"

#include "runtime/netlink/netlink.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x57504E31, PATH_BYTES = 96 }; // "WPN1"

bool weft_nic_check_name(const char *name, struct weft_error *error)
{
    const size_t length = strlen(name);
    bool fine = length > 0 && length <= 15 && isalpha((unsigned char)name[0]);
    for (size_t i = 0; i < length; i++) {
        fine = fine && isalnum((unsigned char)name[i]);
    }
    return fine ||
           weft_fail(error, WEFT_INPUT,
                     "'%.40s' is no name of an interface; letters and digits only, a letter "
                     "first, at most 15",
                     name);
}

const char *weft_nic_port_netns(char netns[WEFT_NIC_NETNS_MAX], const char *name)
{
    snprintf(netns, WEFT_NIC_NETNS_MAX, "weft.%s", name);
    return netns;
}

const char *weft_nic_host_netns(char netns[WEFT_NIC_NETNS_MAX], const char *name)
{
    snprintf(netns, WEFT_NIC_NETNS_MAX, "weft.%s.host", name);
    return netns;
}

static const char *path_of(char path[PATH_BYTES], const char *name)
{
    snprintf(path, PATH_BYTES, WEFT_NIC_FOLDER "/%s", name);
    return path;
}

static bool refused(struct weft_error *error, const char *path)
{
    const int number = errno;
    const bool root = number == EACCES || number == EPERM || number == EROFS;
    return weft_fail(error, root ? WEFT_UNSUPPORTED : WEFT_IO, "%s: %s%s", path,
                     strerrordesc_np(number), root ? "; run as root" : "");
}

static bool make_folder(struct weft_error *error)
{
    static const char *const folders[] = {"/run/weft", WEFT_NIC_FOLDER};
    for (int i = 0; i < 2; i++) {
        if (mkdir(folders[i], 0755) != 0 && errno != EEXIST) {
            return refused(error, folders[i]);
        }
    }
    return true;
}

// ---- the keeper's side ----

static bool lock(int fd, const char *name, struct weft_error *error)
{
    struct flock wanted = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_SETLK, &wanted) == 0) {
        return true;
    }
    struct flock holder = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const bool known = fcntl(fd, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK;
    return weft_fail(error, WEFT_IO,
                     "interface '%s' is kept by process %d; weft photonic nic down --name %s, or "
                     "another --name",
                     name, known ? (int)holder.l_pid : 0, name);
}

bool weft_nic_state_create(struct weft_nic_state **state, int *fd, bool *left, const char *name,
                           struct weft_error *error)
{
    char path[PATH_BYTES];
    struct stat was;
    path_of(path, name);
    if (!make_folder(error)) {
        return false;
    }
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0) {
        return refused(error, path);
    }
    void *page = MAP_FAILED;
    if (!lock(file, name, error)) {
        close(file);
        return false;
    }
    const bool known = fstat(file, &was) == 0;
    if (ftruncate(file, 0) == 0 && posix_fallocate(file, 0, sizeof **state) == 0) {
        page = mmap(NULL, sizeof **state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (page == MAP_FAILED) {
        refused(error, path);
        unlink(path);
        close(file);
        return false;
    }
    *state = page;
    (*state)->magic = MAGIC;
    snprintf((*state)->name, sizeof(*state)->name, "%s", name);
    *left = known && was.st_size > 0;
    *fd = file;
    return true;
}

void weft_nic_state_remove(const char *name)
{
    char path[PATH_BYTES];
    unlink(path_of(path, name));
    rmdir(WEFT_NIC_FOLDER); // gone unless something is in them
    rmdir("/run/weft");
}

// ---- the readers' side ----

bool weft_nic_state_read(struct weft_nic_state *state, pid_t *keeper, const char *name,
                         struct weft_error *error)
{
    char path[PATH_BYTES];
    struct flock holder = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    path_of(path, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        return weft_fail(error, WEFT_INPUT,
                         "there is no interface '%s'; weft photonic nic up DIR raises one", name);
    }
    if (fd < 0) {
        return refused(error, path);
    }
    const ssize_t got = read(fd, state, sizeof *state);
    *keeper = fcntl(fd, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK ? holder.l_pid : 0;
    close(fd);
    if (got != (ssize_t)sizeof *state || state->magic != MAGIC ||
        state->model_count > WEFT_PHOTONIC_MODELS_MAX) {
        return weft_fail(error, WEFT_IO,
                         "%s: not of this version of weft; weft photonic nic down --name %s", path,
                         name);
    }
    state->name[sizeof state->name - 1] = '\0';
    state->engine[sizeof state->engine - 1] = '\0';
    for (uint32_t i = 0; i < state->model_count; i++) {
        state->models[i].name[sizeof state->models[i].name - 1] = '\0';
    }
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool weft_nic_state_list(const char *const **names, uint32_t *count, struct weft_arena *arena,
                         struct weft_error *error)
{
    enum { NAMES_MAX = 256 };
    DIR *folder = opendir(WEFT_NIC_FOLDER);
    const char **found = WEFT_NEW(arena, const char *, NAMES_MAX);
    uint32_t room = 0;
    if (folder == NULL && errno != ENOENT) {
        return refused(error, WEFT_NIC_FOLDER);
    }
    struct weft_error ignored;
    // No other thread. NOLINTNEXTLINE(concurrency-mt-unsafe)
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (room < NAMES_MAX && weft_nic_check_name(entry->d_name, &ignored)) {
            found[room++] = weft_arena_text(arena, entry->d_name, strlen(entry->d_name));
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    qsort(found, room, sizeof *found, by_text);
    *names = found;
    *count = room;
    return true;
}
