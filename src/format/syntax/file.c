// SPDX-License-Identifier: Apache-2.0
// Whole files in, and out by a temporary name beside them, so that no half file is ever seen.
//
// A file is written as NAME.<pid>-<n>.tmp, synced, and renamed over its name (POSIX rename is
// atomic); several files are renamed only when all are written. Pipes and standard input are
// read in growing chunks up to a limit. What gzip compressed is unpacked, whatever its name.

#include "gzip.h"
#include "weft/format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_LIMIT_BYTES ((size_t)4 << 30)
#define CHUNK_BYTES ((size_t)1 << 20) // by which what is no regular file grows
#define READ_BYTES ((size_t)16 << 20) // at a time, between looks at a request to stop
#define TEMPORARY_TRIES 100

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
            return weft_fail(reading->error, WEFT_INPUT,
                             "is larger than %zu bytes, the limit for such a file",
                             reading->size_max);
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

bool weft_file_load(const char **data, size_t *length, const char *path, size_t limit_bytes,
                    struct weft_arena *arena, struct weft_error *error)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        bool missing = errno == ENOENT;
        char near[WEFT_FILE_NAME_BYTES] = "";
        fail_io(error, "open", errno);
        if (missing && weft_file_near(near, path)) {
            weft_fail(error, WEFT_IO, "there is no such file; do you mean %s?", near);
        }
        weft_wrap(error, "%s", path);
        return missing ? weft_remedy(error, "missing", "%s", "") : false;
    }
    size_t limit = limit_bytes == 0 ? DEFAULT_LIMIT_BYTES : limit_bytes;
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

// ---- writing ----

static bool write_all(int file, const char *data, size_t length, struct weft_error *error)
{
    while (length > 0) {
        ssize_t put = write(file, data, length);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            return fail_io(error, "write", errno);
        }
        data += put;
        length -= (size_t)put;
    }
    return true;
}

// Pipes, terminals and devices cannot be replaced by a rename.
static bool save_in_place(const char *path, const void *data, size_t length,
                          struct weft_error *error)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        return fail_io(error, "open", errno);
    }
    bool good = write_all(file, data, length, error);
    if (close(file) != 0 && good) {
        good = fail_io(error, "write", errno);
    }
    return good;
}

// Creates a file beside `path` that nothing else has; its name goes to `temporary`.
static int create_temporary(char temporary[PATH_MAX], const char *path, mode_t mode)
{
    for (unsigned i = 0; i < TEMPORARY_TRIES; i++) {
        int wanted = snprintf(temporary, PATH_MAX, "%s.%ld-%u.tmp", path, (long)getpid(), i);
        if (wanted >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file >= 0 || errno != EEXIST) {
            return file;
        }
    }
    return -1;
}

// The rename is safe only once the folder is on the disk too. Some file systems refuse to sync a
// folder; the file itself is complete by then.
static void sync_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path);
    if (slash == NULL) {
        memcpy(folder, ".", 2);
    } else if (length == 0) {
        memcpy(folder, "/", 2);
    } else {
        memcpy(folder, path, length);
        folder[length] = '\0';
    }
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) {
        fsync(file);
        close(file);
    }
}

// Writes a temporary file beside `path` and syncs it; its name goes to `temporary`. Nothing is left
// of it on failure.
static bool save_beside(char temporary[PATH_MAX], const char *path, mode_t mode, const void *data,
                        size_t length, struct weft_error *error)
{
    int file = create_temporary(temporary, path, mode);
    if (file < 0 && errno == ENOENT) {
        const char *slash = strrchr(path, '/');
        return weft_fail(error, WEFT_IO, "there is no folder '%.*s'; make it, or write elsewhere",
                         (int)(slash == NULL ? 0 : slash - path), path);
    }
    if (file < 0) {
        return fail_io(error, "create a file beside it", errno);
    }
    bool good = write_all(file, data, length, error);
    if (good && fsync(file) != 0) {
        good = fail_io(error, "sync", errno);
    }
    if (close(file) != 0 && good) {
        good = fail_io(error, "write", errno);
    }
    if (!good) {
        unlink(temporary);
    }
    return good;
}

static bool save_by_rename(const char *path, const struct stat *old, const void *data,
                           size_t length, struct weft_error *error)
{
    char temporary[PATH_MAX];
    mode_t mode = old != NULL ? old->st_mode & 0777 : 0666;
    if (!save_beside(temporary, path, mode, data, length, error)) {
        return false;
    }
    if (rename(temporary, path) != 0) {
        fail_io(error, "rename to it", errno);
        unlink(temporary);
        return false;
    }
    sync_folder(path);
    return true;
}

bool weft_file_save(const char *path, const void *data, size_t length, struct weft_error *error)
{
    char target[PATH_MAX];
    struct stat old;
    bool exists = stat(path, &old) == 0;
    bool good;
    if (exists && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode)) {
        good = save_in_place(path, data, length, error);
    } else if (exists && realpath(path, target) != NULL) { // a link stays, its target changes
        good = save_by_rename(target, &old, data, length, error);
    } else {
        good = save_by_rename(path, NULL, data, length, error);
    }
    return good || weft_wrap(error, "%s", path);
}

// ---- several files ----

static bool save_all_beside(const char **temporaries, const struct weft_file *files, uint32_t count,
                            struct weft_arena *scratch, struct weft_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        char temporary[PATH_MAX];
        struct stat old;
        bool exists = stat(files[i].path, &old) == 0;
        bool good = !exists || S_ISREG(old.st_mode) ||
                    weft_fail(error, WEFT_IO, "is there and no file; choose another name");
        mode_t mode = exists ? old.st_mode & 0777 : 0666;
        good = good &&
               save_beside(temporary, files[i].path, mode, files[i].data, files[i].length, error);
        if (!good) {
            return weft_wrap(error, "%s", files[i].path);
        }
        temporaries[i] = weft_arena_text(scratch, temporary, strlen(temporary));
    }
    return true;
}

bool weft_files_save(const struct weft_file *files, uint32_t count, struct weft_arena scratch,
                     struct weft_error *error)
{
    const char **temporaries = WEFT_NEW(&scratch, const char *, count);
    bool good = save_all_beside(temporaries, files, count, &scratch, error);
    uint32_t renamed = 0;
    while (good && renamed < count) {
        if (rename(temporaries[renamed], files[renamed].path) != 0) {
            fail_io(error, "rename to it", errno);
            good = weft_wrap(error, "%s", files[renamed].path);
        } else {
            renamed++;
        }
    }
    for (uint32_t i = 0; i < count && !good; i++) {
        if (i < renamed) {
            unlink(files[i].path);
        } else if (temporaries[i] != NULL) {
            unlink(temporaries[i]);
        }
    }
    if (good && count > 0) {
        sync_folder(files[0].path);
    }
    return good;
}
