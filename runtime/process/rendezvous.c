// SPDX-License-Identifier: Apache-2.0
// Addresses of rendezvous, and the sockets of those on one machine: made, found, swept away.

#include "rendezvous.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

// As many as may all come at once; the kernel lowers it to somaxconn.
static const int backlog = 4096;
static const char prefix[] = ".weft-run-";

bool lab_rendezvous_at(struct lab_rendezvous *rendezvous, const char *place, const char *secret,
                       struct weft_arena scratch, struct weft_error *error)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[INET_ADDRSTRLEN] = "";
    const char *colon = strrchr(place, ':');
    size_t length = colon != NULL ? (size_t)(colon - place) : sizeof host;
    uint64_t port = 0;
    if (length < sizeof host) {
        memcpy(host, place, length);
    }
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1 ||
        !weft_parse_count(&port, colon + 1, 1, 65535, error)) {
        return weft_fail(error, WEFT_INPUT, "'%.60s' is no address and port; write 10.0.0.1:4000",
                         place);
    }
    address.sin_port = htons((uint16_t)port);
    *rendezvous = (struct lab_rendezvous){.length = sizeof address};
    memcpy(&rendezvous->address, &address, sizeof address);
    return lab_key_load(&rendezvous->key, secret, scratch, error);
}

// Whether nobody but the user and root can make or move files in a folder.
static bool is_own_folder(const char *folder)
{
    struct stat status;
    return folder != NULL && stat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && (status.st_mode & 022) == 0;
}

bool lab_rendezvous_here(struct lab_rendezvous *rendezvous, uint64_t job, struct weft_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    // No other thread changes the environment.
    const char *folder = getenv("XDG_RUNTIME_DIR"); // NOLINT(concurrency-mt-unsafe)
    if (!is_own_folder(folder)) {
        folder = getenv("HOME"); // NOLINT(concurrency-mt-unsafe)
    }
    if (!is_own_folder(folder) ||
        snprintf(address.sun_path, sizeof address.sun_path, "%s/%s%016" PRIx64, folder, prefix,
                 job) >= (int)sizeof address.sun_path) {
        return weft_fail(
            error, WEFT_UNSUPPORTED,
            "neither XDG_RUNTIME_DIR nor HOME is a folder, of at most 80 letters, where "
            "you alone may write, for the ranks to meet in; name one, or meet by "
            "--rendezvous and --secret");
    }
    *rendezvous = (struct lab_rendezvous){.length = sizeof address};
    memcpy(&rendezvous->address, &address, sizeof address);
    return true;
}

// Takes a socket away that nobody listens at any more.
static void remove_dead(const struct sockaddr_un *address)
{
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe < 0) {
        return;
    }
    if (connect(probe, (const struct sockaddr *)address, sizeof *address) != 0 &&
        errno == ECONNREFUSED) {
        unlink(address->sun_path);
    }
    close(probe);
}

// What killed runs left beside this place.
static void sweep(const struct sockaddr_un *address)
{
    struct sockaddr_un other = *address;
    char *name = strrchr(other.sun_path, '/') + 1;
    size_t room = sizeof other.sun_path - (size_t)(name - other.sun_path);
    char folder[sizeof other.sun_path];
    memcpy(folder, other.sun_path, sizeof folder);
    folder[name - other.sun_path] = '\0';
    DIR *open = opendir(folder);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread reads this folder handle
    for (const struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL;) {
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 &&
            strlen(entry->d_name) < room) {
            memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
            remove_dead(&other);
        }
    }
    if (open != NULL) {
        closedir(open);
    }
}

int lab_rendezvous_listen(const struct lab_rendezvous *rendezvous, struct weft_error *error)
{
    const struct sockaddr *address = (const struct sockaddr *)&rendezvous->address;
    int on = 1;
    if (address->sa_family == AF_UNIX) {
        sweep((const struct sockaddr_un *)(const void *)address);
    }
    int listener = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        fchmod(listener, 0600) != 0 || bind(listener, address, rendezvous->length) != 0 ||
        listen(listener, backlog) != 0) {
        weft_fail(error, WEFT_IO,
                  "rank 0: cannot listen at the rendezvous: %s; give another by "
                  "--rendezvous",
                  strerrordesc_np(errno));
        if (listener >= 0) {
            close(listener);
        }
        return -1;
    }
    return listener;
}

void lab_rendezvous_leave(const struct lab_rendezvous *rendezvous)
{
    if (rendezvous->address.ss_family == AF_UNIX) {
        unlink(((const struct sockaddr_un *)(const void *)&rendezvous->address)->sun_path);
    }
}
