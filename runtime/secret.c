// SPDX-License-Identifier: Apache-2.0
// Secrets in files of mode 0600. The rights are those of the file that was opened, so that it
// cannot be exchanged between the look and the read.

#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_all(int fd, char *data, size_t *length, size_t limit_bytes)
{
    *length = 0;
    while (*length <= limit_bytes) {
        ssize_t got = read(fd, data + *length, limit_bytes + 1 - *length);
        if (got == 0) {
            return true;
        }
        if (got < 0 && errno != EINTR) {
            return false;
        }
        *length += got > 0 ? (size_t)got : 0;
    }
    errno = EFBIG;
    return false;
}

bool weft_secret_load(const char **text, size_t *length, const char *path, size_t limit_bytes,
                      struct weft_arena *arena, struct weft_error *error)
{
    char *data = weft_arena_alloc_raw(arena, limit_bytes + 2, 1);
    struct stat status;
    // Whoever made a pipe of this name may never write to it: opening does not wait.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0) {
        int number = errno;
        if (fd >= 0) {
            close(fd);
        }
        return weft_fail(error, number == ENOENT ? WEFT_INPUT : WEFT_IO, "%.200s: %s", path,
                         strerrordesc_np(number));
    }
    if ((status.st_mode & 077) != 0) {
        close(fd);
        return weft_fail(error, WEFT_INPUT,
                         "%.200s: others have rights to this secret (mode %04o); chmod 600 it",
                         path, (unsigned)(status.st_mode & 07777));
    }
    if (status.st_uid != geteuid() && status.st_uid != 0) {
        close(fd);
        return weft_fail(error, WEFT_INPUT, "%.200s: belongs to another user, who knows it", path);
    }
    fcntl(fd, F_SETFL, 0); // what was inherited may come later
    bool fine = read_all(fd, data, length, limit_bytes);
    int number = errno;
    close(fd);
    if (!fine) {
        return weft_fail(error, number == EFBIG ? WEFT_INPUT : WEFT_IO, "%.200s: %s", path,
                         strerrordesc_np(number));
    }
    data[*length] = '\0';
    *text = data;
    return true;
}

bool weft_secret_save(const char *path, const char *text, struct weft_error *error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    size_t length = strlen(text);
    bool made = fd >= 0;
    bool fine = made && write(fd, text, length) == (ssize_t)length;
    int number = errno;
    if (made) {
        fine = close(fd) == 0 && fine;
    }
    if (made && !fine) {
        unlink(path);
    }
    return fine || weft_fail(error, WEFT_IO, "%.200s: %s", path, strerrordesc_np(number));
}

bool weft_secret_make(char text[WEFT_SECRET_BYTES], struct weft_error *error)
{
    uint8_t random[(WEFT_SECRET_BYTES - 1) / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        return weft_fail(error, WEFT_UNSUPPORTED, "the kernel gives no random bytes: %s",
                         strerrordesc_np(errno));
    }
    for (size_t i = 0; i < sizeof random; i++) {
        snprintf(text + 2 * i, 3, "%02x", random[i]);
    }
    return true;
}

bool weft_secret_is(const char *given, const char *expected)
{
    size_t given_length = strlen(given);
    size_t length = strlen(expected);
    // Wraps around in the expected text, so that its length shows in no number of steps.
    uint32_t difference = given_length != length;
    size_t place = 0;
    for (size_t i = 0; i < given_length; i++) {
        difference |= (uint8_t)given[i] ^ (uint8_t)expected[place];
        place = place < length ? place + 1 : 0;
    }
    return *(volatile uint32_t *)&difference == 0;
}
