// SPDX-License-Identifier: Apache-2.0
// The files of a Chakra trace in a folder: which ranks are there, loading and saving them.
//
// A trace is named by the folder that holds it, by the prefix of its files PREFIX.<rank>.et, by one
// of them, or by PREFIX.%r.et, as ASTRA-sim's users write it. Its process groups are in
// PREFIX.json.

#include "weft/format.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANKS_MAX (1u << 20)
#define FILE_BYTES_MAX ((size_t)2 << 30)
#define GROUPS_BYTES_MAX ((size_t)256 << 20)

// ---- names ----

static bool is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static bool is_file(const char *path)
{
    return access(path, F_OK) == 0 && !is_folder(path);
}

// The length of the prefix of a name PREFIX.<rank>.et; 0 = it is none.
static size_t prefix_length(const char *name, uint32_t *rank)
{
    size_t length = strlen(name);
    if (length < 6 || strcmp(name + length - 3, ".et") != 0) {
        return 0;
    }
    size_t end = length - 3;
    size_t start = end;
    while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9') {
        start--;
    }
    bool plain = end - start == 1 || (end > start && name[start] != '0');
    if (!plain || end - start > 7 || start < 2 || name[start - 1] != '.') {
        return 0;
    }
    *rank = (uint32_t)strtoul(name + start, NULL, 10);
    return start - 1;
}

bool weft_chakra_is_trace(const char *path)
{
    uint32_t rank;
    char first[PATH_MAX];
    if (is_folder(path) || prefix_length(path, &rank) > 0 || strstr(path, ".%r.et") != NULL) {
        return true;
    }
    int length = snprintf(first, sizeof first, "%s.0.et", path);
    return length < (int)sizeof first && !is_file(path) && is_file(first);
}

// A folder, and the part of file names before .<rank>.et; NULL = whatever its files have.
struct place {
    const char *folder;
    const char *stem;
};

static struct place find_place(const char *path, struct weft_arena *scratch)
{
    uint32_t rank;
    if (is_folder(path)) {
        return (struct place){path, NULL};
    }
    size_t length = strlen(path);
    size_t prefix = prefix_length(path, &rank);
    if (prefix > 0) {
        length = prefix;
    } else if (length > 6 && strcmp(path + length - 6, ".%r.et") == 0) {
        length -= 6;
    }
    const char *whole = weft_arena_text(scratch, path, length);
    const char *slash = strrchr(whole, '/');
    if (slash == NULL) {
        return (struct place){".", whole};
    }
    size_t folder = slash == whole ? 1 : (size_t)(slash - whole);
    return (struct place){weft_arena_text(scratch, whole, folder), slash + 1};
}

// ---- which ranks are there ----

struct found {
    const char *stem;
    uint32_t file_count;
    uint32_t rank_max;
};

static bool see_name(struct found *found, const char *name, const char *stem,
                     struct weft_arena *scratch, struct weft_error *error)
{
    uint32_t rank;
    size_t length = prefix_length(name, &rank);
    if (length == 0 ||
        (stem != NULL && (strlen(stem) != length || strncmp(name, stem, length) != 0))) {
        return true;
    }
    if (found->stem == NULL) {
        found->stem = weft_arena_text(scratch, name, length);
    } else if (strlen(found->stem) != length || strncmp(name, found->stem, length) != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "holds several traces, '%.60s' and '%.*s'; write one's prefix",
                         found->stem, (int)(length < 60 ? length : 60), name);
    }
    found->file_count++;
    found->rank_max = rank > found->rank_max ? rank : found->rank_max;
    return true;
}

// Looks through the folder for the files of one trace: how many there are and their highest
// rank. Several traces are refused where the path does not choose one.
static bool look(struct found *found, const struct place *place, struct weft_arena *scratch,
                 struct weft_error *error)
{
    *found = (struct found){.stem = place->stem};
    DIR *folder = opendir(place->folder);
    if (folder == NULL) {
        weft_fail(error, WEFT_IO, "cannot open: %s", strerrordesc_np(errno));
        return weft_wrap(error, "%s", place->folder);
    }
    bool good = true;
    // No other thread reads this folder's stream.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    for (struct dirent *entry = readdir(folder); entry != NULL && good; entry = readdir(folder)) {
        good = see_name(found, entry->d_name, place->stem, scratch, error);
    }
    closedir(folder);
    if (good && found->file_count == 0) {
        good = weft_fail(error, WEFT_INPUT, "holds no files '%.60s.<rank>.et'",
                         place->stem != NULL ? place->stem : "<name>");
    }
    if (good && found->rank_max >= RANKS_MAX) {
        good =
            weft_fail(error, WEFT_INPUT, "has rank %u; at most %u", found->rank_max, RANKS_MAX - 1);
    }
    return good || weft_wrap(error, "%s", place->folder);
}

// ---- files ----

static bool load_ranks(struct weft_chakra_files *files, const char *prefix, uint32_t rank_max,
                       struct weft_arena *scratch, struct weft_error *error)
{
    uint32_t ranks = rank_max + 1;
    const void **data = WEFT_NEW(scratch, const void *, ranks);
    size_t *lengths = WEFT_NEW(scratch, size_t, ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const char *path = weft_arena_format(scratch, "%s.%u.et", prefix, rank);
        const char *bytes = NULL;
        if (!is_file(path)) {
            return weft_fail(error, WEFT_INPUT,
                             "%s is missing, though the trace goes up to rank %u", path, rank_max);
        }
        if (!weft_file_load(&bytes, &lengths[rank], path, FILE_BYTES_MAX, scratch, error)) {
            return false;
        }
        data[rank] = bytes;
    }
    files->rank_count = ranks;
    files->data = data;
    files->lengths = lengths;
    return true;
}

bool weft_chakra_load(struct weft_chakra_trace *trace, const char *path, const char *groups_path,
                      struct weft_arena *arena, struct weft_error *error)
{
    struct weft_chakra_files files = {0};
    struct found found;
    struct place place = find_place(path, arena);
    if (!look(&found, &place, arena, error)) {
        return false;
    }
    const char *prefix = weft_arena_format(arena, "%s/%s", place.folder, found.stem);
    const char *beside = weft_arena_format(arena, "%s.json", prefix);
    if (groups_path == NULL && is_file(beside)) {
        groups_path = beside;
    }
    if (groups_path != NULL && !weft_file_load(&files.groups, &files.groups_length, groups_path,
                                               GROUPS_BYTES_MAX, arena, error)) {
        return false;
    }
    if (!load_ranks(&files, prefix, found.rank_max, arena, error)) {
        return false;
    }
    struct weft_chakra_trace read;
    if (!weft_chakra_read(&read, &files, arena, error)) {
        return weft_wrap(error, "%s", prefix);
    }
    read.path = prefix;
    *trace = read;
    return true;
}

// ---- saving ----

// A folder, there or to be made, stands for the prefix "trace" in it.
static bool take_folder(const char **prefix, struct weft_arena *scratch, struct weft_error *error)
{
    struct stat found;
    size_t length = strlen(*prefix);
    bool wanted = length > 0 && (*prefix)[length - 1] == '/';
    if (wanted && mkdir(*prefix, 0777) != 0 && errno != EEXIST) {
        return weft_fail(error, WEFT_IO, "%s: cannot create: %s", *prefix, strerrordesc_np(errno));
    }
    if (wanted || (stat(*prefix, &found) == 0 && S_ISDIR(found.st_mode))) {
        *prefix = weft_arena_format(scratch, "%s%strace", *prefix, wanted ? "" : "/");
    }
    return true;
}

bool weft_chakra_save(const char *prefix, const struct weft_chakra_files *trace,
                      struct weft_arena scratch, struct weft_error *error)
{
    if (!take_folder(&prefix, &scratch, error)) {
        return false;
    }
    uint32_t ranks = trace->rank_count;
    struct stat found;
    const char *beyond = weft_arena_format(&scratch, "%s.%u.et", prefix, ranks);
    if (stat(beyond, &found) == 0) {
        return weft_fail(error, WEFT_IO,
                         "%s is there, of a larger trace; remove that or choose another prefix",
                         beyond);
    }
    struct weft_file *files = WEFT_NEW(&scratch, struct weft_file, (size_t)ranks + 1);
    for (uint32_t r = 0; r < ranks; r++) {
        files[r].path = weft_arena_format(&scratch, "%s.%u.et", prefix, r);
        files[r].data = trace->data[r];
        files[r].length = trace->lengths[r];
    }
    files[ranks].path = weft_arena_format(&scratch, "%s.json", prefix);
    files[ranks].data = trace->groups;
    files[ranks].length = trace->groups_length;
    return weft_files_save(files, ranks + 1, scratch, error);
}
