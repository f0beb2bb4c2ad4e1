// SPDX-License-Identifier: Apache-2.0
// Whole files, read with a bound on their size. Pipes and standard input are read in growing chunks
// up to a limit. What gzip compressed is unpacked, whatever its name.

#include "gzip.h"
#include "limit.h"
#include "weft/format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)1 << 20) // by which what is no regular file grows
#define READ_BYTES ((size_t)16 << 20) // at a time, between looks at a request to stop

// strerror_r as a value: the message lives in a static table or in `buffer`.
struct reason {
    char buffer[128];
};
static const char *reason_text(struct reason *reason, int number)
{
    return strerror_r(number, reason->buffer, sizeof reason->buffer);
}

static bool fail_io(struct weft_error *error, const char *doing, int number)
{
    struct reason reason;
    return weft_fail(error, WEFT_IO, "cannot %s: %s", doing, reason_text(&reason, number));
}

// ---- reading ----

// A file under way into memory.
struct reading {
    int file;
    size_t size_max;
    struct weft_arena *arena;
    struct weft_error *error;
    char *data;
    size_t size;
};

// What a regular file says of its size, as far as it may be loaded, and a byte more to see its end.
static size_t expected_bytes(int file, size_t size_max)
{
    struct stat status;
    bool known = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
    size_t size = known ? (size_t)status.st_size : CHUNK_BYTES - 1;
    return (size < size_max ? size : size_max) + 1;
}

// Reads until the end or until size_max + 1 bytes are there. The text ends in a zero that does not
// count.
static bool read_all(void *context)
{
    struct reading *reading = context;
    size_t room = expected_bytes(reading->file, reading->size_max);
    reading->data = weft_arena_alloc_raw(reading->arena, room, 1);
    for (;;) {
        if (reading->size == room) {
            reading->data =
                weft_arena_grow(reading->arena, reading->data, room, room + CHUNK_BYTES);
            room += CHUNK_BYTES;
        }
        weft_poll();
        size_t part = room - reading->size < READ_BYTES ? room - reading->size : READ_BYTES;
        ssize_t got = read(reading->file, reading->data + reading->size, part);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail_io(reading->error, "read", errno);
        }
        if (got == 0) {
            reading->data[reading->size] = '\0';
            return true;
        }
        reading->size += (size_t)got;
        if (reading->size > reading->size_max) {
            return file_too_large(reading->error, "is larger than", reading->size_max);
        }
    }
}

bool weft_file_near(char near[WEFT_FILE_NAME_BYTES], const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    int length = snprintf(folder, sizeof folder, "%.*s.", (int)(name - path), path);
    DIR *open = length < (int)sizeof folder ? opendir(folder) : NULL;
    uint32_t fewest = strlen(name) > 4 ? 3 : 0;
    for (struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL;) { // NOLINT
        bool begins = strncmp(name, entry->d_name, strlen(name)) == 0 &&
                      entry->d_name[strlen(name)] == '.'; // lacks its ending
        uint32_t edits = begins ? 1 : weft_word_edits(name, strlen(name), entry->d_name);
        if (edits < fewest || (edits > 0 && edits == fewest && strcmp(entry->d_name, near) < 0)) {
            fewest = edits;
            snprintf(near, WEFT_FILE_NAME_BYTES, "%s", entry->d_name);
        }
    }
    if (open != NULL) {
        closedir(open);
    }
    return near[0] != '\0';
}

// ---- opening ----

static bool lies_in(const char *folder, const char *path)
{
    size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    return strncmp(folder, path, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

// What is not there lies where that part of its path lies that is.
bool weft_file_is_within(const char *folder, const char *path)
{
    char part[PATH_MAX];
    char found[PATH_MAX];
    if (strlen(path) >= sizeof part) {
        return false;
    }
    memcpy(part, path, strlen(path) + 1);
    while (realpath(part, found) == NULL) {
        char *slash = strrchr(part, '/');
        if (strcmp(part, ".") == 0 || strcmp(part, "/") == 0) {
            return false;
        }
        if (slash == NULL || slash == part) {
            memcpy(part, slash == NULL ? "." : "/", 2);
        } else {
            *slash = '\0';
        }
    }
    return lies_in(folder, found);
}

static bool fail_open(const char *path, int number, struct weft_error *error)
{
    fail_io(error, "open", number);
    weft_wrap(error, "%s", path);
    return number == ENOENT ? weft_remedy(error, "missing", "%s", "") : false;
}

// The file is found first, without reading from it, and opened only where it lies in the folder:
// links that are exchanged in between change nothing. *number: why it cannot be opened; 0: it lies
// elsewhere.
static int open_within(int *number, const char *folder, const char *path)
{
    char itself[32];
    char found[PATH_MAX];
    int file = -1;
    int place = open(path, O_PATH | O_CLOEXEC);
    *number = errno;
    if (place < 0) {
        *number = weft_file_is_within(folder, path) ? *number : 0;
        return -1;
    }
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", place);
    ssize_t length = readlink(itself, found, sizeof found - 1);
    found[length > 0 ? length : 0] = '\0';
    *number = 0;
    if (lies_in(folder, found)) {
        file = open(itself, O_RDONLY | O_CLOEXEC);
        *number = errno;
    }
    close(place);
    return file;
}

bool weft_file_open(int *file, const char *path, struct weft_error *error)
{
    const char *folder = weft_guard_folder();
    int number = 0;
    if (folder != NULL) {
        *file = open_within(&number, folder, path);
    } else {
        *file = open(path, O_RDONLY | O_CLOEXEC);
        number = errno;
    }
    if (*file < 0 && number == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: lies outside of the folder that may be read; put it there, or allow "
                         "it (weft sweep --allow-paths)",
                         path);
    }
    return *file >= 0 || fail_open(path, number, error);
}

// ---- loading ----

// Names a file that a missing one may have meant. Returns false.
static bool suggest_near(const char *path, struct weft_error *error)
{
    char near[WEFT_FILE_NAME_BYTES] = "";
    if (strcmp(error->key, "missing") != 0 || !weft_file_near(near, path)) {
        return false;
    }
    weft_fail(error, WEFT_IO, "%s: there is no such file; do you mean %s?", path, near);
    return weft_remedy(error, "missing", "%s", "");
}

bool weft_file_load(const char **data, size_t *length, const char *path, size_t limit_bytes,
                    struct weft_arena *arena, struct weft_error *error)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int file = STDIN_FILENO;
    if (!is_stdin && !weft_file_open(&file, path, error)) {
        return suggest_near(path, error);
    }
    size_t limit = file_limit(limit_bytes);
    struct weft_arena grown = *arena;
    struct reading reading = {.file = file, .size_max = limit, .arena = &grown, .error = error};
    // The descriptor is closed also where memory is out.
    bool good = weft_guard(read_all, &reading, error);
    if (!is_stdin) {
        close(file);
    }
    const char *bytes = reading.data;
    if (good) {
        grown.next = reading.data + reading.size + 1; // the rest goes back
    }
    if (good && weft_gzip_is(bytes, reading.size)) {
        good = weft_gzip_unpack(&bytes, &reading.size, bytes, reading.size, limit, &grown, error);
    }
    if (!good) {
        return weft_wrap(error, "%s", is_stdin ? "standard input" : path);
    }
    *arena = grown;
    *data = bytes;
    *length = reading.size;
    return true;
}

bool weft_file_is_named(int fd, const char *path)
{
    struct stat opened;
    struct stat named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}
