// SPDX-License-Identifier: Apache-2.0
// Makes one call of a kind fail: loaded before a program by LD_PRELOAD, so that the very program
// that users run is tried, with the libraries that it calls.
//
// WEFT_FAULT=KIND:N fails the N-th call of the kind, once, over all processes of a run; N 0 fails
// none. WEFT_FAULT_COUNTS names a file of 64-bit counters, one a kind in the order of `kinds`, that
// these processes share: what was called, for whoever chooses the next N. The dynamic loader's own
// calls are not counted, as it has no caller to tell.

// The calls by their plain names; those of 64-bit offsets are made aliases below.
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { ALLOC, OPEN, READ, WRITE, FSYNC, RENAME, FORK, THREAD, SOCKET, NETLINK, BPF, KINDS };
static const char *const kinds[KINDS] = {"alloc", "open",   "read",   "write",   "fsync", "rename",
                                         "fork",  "thread", "socket", "netlink", "bpf"};

// glibc's own, which no preloaded library replaces.
void *__libc_malloc(size_t size);                // NOLINT(bugprone-reserved-identifier)
void *__libc_calloc(size_t count, size_t size);  // NOLINT(bugprone-reserved-identifier)
void *__libc_realloc(void *memory, size_t size); // NOLINT(bugprone-reserved-identifier)

static atomic_uint_fast64_t *counts;
static int failing = -1;
static uint64_t failing_at;

static void *next_of(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    if (function == NULL) {
        abort();
    }
    return function;
}

// Whether this call of a kind is the one that fails.
static bool fails(enum kind kind)
{
    return counts != NULL && atomic_fetch_add(&counts[kind], 1) + 1 == failing_at &&
           failing == (int)kind;
}

__attribute__((constructor)) static void arm(void)
{
    const char *what = getenv("WEFT_FAULT");
    const char *where = getenv("WEFT_FAULT_COUNTS");
    int file = where == NULL ? -1 : open(where, O_RDWR | O_CLOEXEC);
    void *page =
        file < 0 ? MAP_FAILED
                 : mmap(NULL, KINDS * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (what == NULL || page == MAP_FAILED) {
        return;
    }
    close(file);
    for (int i = 0; i < KINDS; i++) {
        size_t length = strlen(kinds[i]);
        if (strncmp(what, kinds[i], length) == 0 && what[length] == ':') {
            failing = i;
            failing_at = strtoull(what + length + 1, NULL, 10);
        }
    }
    counts = page;
}

// ---- memory ----

void *malloc(size_t size)
{
    if (fails(ALLOC)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    if (fails(ALLOC)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    if (size > 0 && fails(ALLOC)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(memory, size);
}

// ---- calls of one shape: a type, a name, its parameters, its arguments ----

#define INTERPOSE(type, name, kind, reason, failure, parameters, arguments)                        \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*real) parameters;                                                             \
        if (real == NULL) {                                                                        \
            real = (type(*) parameters)next_of(#name);                                             \
        }                                                                                          \
        if (fails(kind)) {                                                                         \
            errno = reason;                                                                        \
            return failure;                                                                        \
        }                                                                                          \
        return real arguments;                                                                     \
    }

INTERPOSE(void *, mmap, (flags & MAP_ANONYMOUS) != 0 ? ALLOC : OPEN, ENOMEM, MAP_FAILED,
          (void *address, size_t length, int protection, int flags, int file, off_t offset),
          (address, length, protection, flags, file, offset))
INTERPOSE(ssize_t, read, READ, EIO, -1, (int file, void *data, size_t length), (file, data, length))
INTERPOSE(ssize_t, pread, READ, EIO, -1, (int file, void *data, size_t length, off_t offset),
          (file, data, length, offset))
INTERPOSE(ssize_t, write, WRITE, ENOSPC, -1, (int file, const void *data, size_t length),
          (file, data, length))
INTERPOSE(int, ftruncate, WRITE, ENOSPC, -1, (int file, off_t length), (file, length))
INTERPOSE(int, fsync, FSYNC, EIO, -1, (int file), (file))
INTERPOSE(int, fdatasync, FSYNC, EIO, -1, (int file), (file))
INTERPOSE(int, rename, RENAME, EIO, -1, (const char *from, const char *to), (from, to))
INTERPOSE(int, renameat2, RENAME, EIO, -1,
          (int from_folder, const char *from, int to_folder, const char *to, unsigned int flags),
          (from_folder, from, to_folder, to, flags))
INTERPOSE(pid_t, fork, FORK, EAGAIN, -1, (void), ())
INTERPOSE(int, pthread_create, THREAD, EAGAIN, EAGAIN,
          (pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
           void *(*run)(void *), void *restrict argument),
          (thread, attributes, run, argument))

// ---- sockets: those of netlink are a kind of their own ----

static enum kind kind_of(int file)
{
    int domain = 0;
    socklen_t length = sizeof domain;
    int kept = errno;
    getsockopt(file, SOL_SOCKET, SO_DOMAIN, &domain, &length);
    errno = kept;
    return domain == AF_NETLINK ? NETLINK : SOCKET;
}

INTERPOSE(int, socket, domain == AF_NETLINK ? NETLINK : SOCKET, EMFILE, -1,
          (int domain, int type, int protocol), (domain, type, protocol))
INTERPOSE(int, socketpair, SOCKET, EMFILE, -1, (int domain, int type, int protocol, int ends[2]),
          (domain, type, protocol, ends))
INTERPOSE(int, bind, kind_of(file), EADDRINUSE, -1,
          (int file, const struct sockaddr *address, socklen_t length), (file, address, length))
INTERPOSE(int, listen, SOCKET, EADDRINUSE, -1, (int file, int backlog), (file, backlog))
INTERPOSE(int, connect, SOCKET, ECONNREFUSED, -1,
          (int file, const struct sockaddr *address, socklen_t length), (file, address, length))
INTERPOSE(int, accept4, SOCKET, EMFILE, -1,
          (int file, struct sockaddr *restrict address, socklen_t *restrict length, int flags),
          (file, address, length, flags))
INTERPOSE(ssize_t, send, kind_of(file), ECONNRESET, -1,
          (int file, const void *data, size_t length, int flags), (file, data, length, flags))
INTERPOSE(ssize_t, recv, kind_of(file), ECONNRESET, -1,
          (int file, void *data, size_t length, int flags), (file, data, length, flags))
INTERPOSE(ssize_t, sendto, kind_of(file), ENOBUFS, -1,
          (int file, const void *data, size_t length, int flags, const struct sockaddr *address,
           socklen_t address_length),
          (file, data, length, flags, address, address_length))
INTERPOSE(ssize_t, sendmsg, kind_of(file), ENOBUFS, -1,
          (int file, const struct msghdr *message, int flags), (file, message, flags))
INTERPOSE(ssize_t, recvmsg, kind_of(file), ENOBUFS, -1,
          (int file, struct msghdr *message, int flags), (file, message, flags))

// ---- calls with variable arguments ----

int open(const char *path, int flags, ...)
{
    static int (*real)(const char *, int, ...);
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (real == NULL) {
        real = (int (*)(const char *, int, ...))next_of("open");
    }
    if (fails(OPEN)) {
        errno = EMFILE;
        return -1;
    }
    return real(path, flags, mode);
}

// What these are called where off_t has 64 bits by choice.
#define ALIAS(type, name, target, parameters) type name parameters __attribute__((alias(target)));
ALIAS(void *, mmap64, "mmap", (void *, size_t, int, int, int, off_t))
ALIAS(ssize_t, pread64, "pread", (int, void *, size_t, off_t))
ALIAS(int, ftruncate64, "ftruncate", (int, off_t))
ALIAS(int, open64, "open", (const char *, int, ...))

// libbpf's way into the kernel.
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long given[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) {
        given[i] = va_arg(arguments, long);
    }
    va_end(arguments);
    if (real == NULL) {
        real = (long (*)(long, ...))next_of("syscall");
    }
    if (number == SYS_bpf && fails(BPF)) {
        errno = EPERM;
        return -1;
    }
    return real(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
