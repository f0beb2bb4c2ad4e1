// SPDX-License-Identifier: Apache-2.0
// A lab without root: user, network, mount and process namespaces of its own.
//
// In a user namespace of its own any user has all capabilities over what is made in it, which is
// all that namespaces, veth pairs, shapers, filters and routes need. /run is a private tmpfs there,
// and the program goes on as process 1: however it ends, the kernel ends all other processes with
// it, and with the last of them every namespace and mount, so that nothing can be left.

#include "testbed_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- what forbids it ----

static bool reads(const char *path, const char *wanted)
{
    char text[32] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[got > 0 ? (size_t)got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return strcmp(text, wanted) == 0;
}

// The settings by which distributions forbid user namespaces, or what they are good for.
static bool refuse(struct weft_error *error, int number, const char *what)
{
    static const struct {
        const char *file;
        const char *forbids;
        const char *name;
        const char *permits;
    } settings[] = {
        {"/proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces", "1024"},
        {"/proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone",
         "1"},
        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
         "kernel.apparmor_restrict_unprivileged_userns", "0"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (reads(settings[i].file, settings[i].forbids)) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "%s: %s=%s forbids it; run as root, or have root set it to %s "
                             "(sysctl -w)",
                             what, settings[i].name, settings[i].forbids, settings[i].permits);
        }
    }
    const char *why = number == EINVAL || number == ENOSYS ? "; the kernel lacks user namespaces"
                      : number == EPERM || number == EACCES
                          ? "; a container or a chroot may forbid it: run as root outside"
                          : "";
    return weft_fail(error, WEFT_UNSUPPORTED, "%s: %s%s", what, strerrordesc_np(number), why);
}

// ---- namespaces ----

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool fine = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    int number = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = number;
    return fine;
}

// New namespaces, in which the user is root. The process namespace is that of children.
static bool make_namespaces(struct weft_error *error)
{
    char users[32];
    char groups[32];
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID) != 0) {
        return refuse(error, errno, "namespaces of an ordinary user");
    }
    if (!write_file("/proc/self/setgroups", "deny") || !write_file("/proc/self/uid_map", users) ||
        !write_file("/proc/self/gid_map", groups)) {
        return refuse(error, errno, "the user namespace's users");
    }
    return true;
}

static bool make_mounts(struct weft_error *error)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("weft", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") != 0) {
        return refuse(error, errno, "a private /run");
    }
    // The kernel hides nothing behind a new /proc that the old one hides.
    return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0 ||
           refuse(error, errno, "a private /proc");
}

// ---- two processes ----

static volatile sig_atomic_t inside_pid;

static void pass_on(int number)
{
    int kept = errno;
    if (inside_pid > 0) {
        kill((pid_t)inside_pid, number);
    }
    errno = kept;
}

static void end_now(int number)
{
    _exit(128 + number);
}

static void heed(void (*handler)(int))
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &action, NULL);
    }
}

// Process 1 ends with its maker, however that ends, and heeds signals, which process 1 ignores
// where it has no handler.
static bool begin_inside(int lifeline, struct weft_error *error)
{
    struct pollfd maker = {.fd = lifeline};
    heed(end_now);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (poll(&maker, 1, 0) != 0) {
        _exit(1); // it ended before the line above
    }
    close(lifeline);
    return make_mounts(error);
}

static bool await_inside(int *exit_code, pid_t inside, struct weft_error *error)
{
    int status = 0;
    while (waitpid(inside, &status, 0) < 0) {
        if (errno != EINTR) {
            return weft_fail(error, WEFT_IO, "waiting: %s", strerrordesc_np(errno));
        }
    }
    if (WIFSIGNALED(status)) {
        return weft_fail(error, WEFT_IO, "the program in the user namespace was ended by signal %d",
                         WTERMSIG(status));
    }
    *exit_code = WEXITSTATUS(status);
    return true;
}

bool weft_lab_rootless(struct weft_lab_rootless *where, struct weft_error *error)
{
    int lifeline[2];
    *where = (struct weft_lab_rootless){.inside = false};
    if (!make_namespaces(error)) {
        return false;
    }
    if (pipe2(lifeline, O_CLOEXEC) != 0) {
        return weft_fail(error, WEFT_IO, "pipe: %s", strerrordesc_np(errno));
    }
    pid_t inside = fork();
    if (inside == 0) {
        close(lifeline[1]);
        where->inside = true;
        return begin_inside(lifeline[0], error);
    }
    close(lifeline[0]);
    if (inside < 0) {
        close(lifeline[1]);
        return refuse(error, errno, "a process in the namespaces");
    }
    inside_pid = inside;
    heed(pass_on);
    bool fine = await_inside(&where->exit_code, inside, error);
    close(lifeline[1]);
    return fine;
}
