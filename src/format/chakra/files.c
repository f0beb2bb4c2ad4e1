// SPDX-License-Identifier: Apache-2.0
// The files of a Chakra trace in a folder: which ranks are there, loading and saving them.
//
// A trace is named by the folder that holds it, by the prefix of its files PREFIX.<rank>.et, by one
// of them, or by PREFIX.%r.et, as ASTRA-sim's users write it. Its process groups are in
// PREFIX.json. Files end in .et or, as JSON, in .json, and in .gz behind that where gzip compressed
// them.

#include "read.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANKS_MAX (1u << 20)

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

// In the order in which a folder is looked through.
static const char *const ends[] = {".et", ".et.gz", ".json", ".json.gz"};
enum { END_COUNT = sizeof ends / sizeof ends[0] };

static bool is_json(const char *end)
{
    return strncmp(end, ".json", 5) == 0;
}

// A name PREFIX.<rank><end>.
struct rank_name {
    size_t prefix_length; // 0 = it is none
    const char *end;
    uint32_t rank; // WEFT_NONE = %r
};

static struct rank_name read_name(const char *name)
{
    struct rank_name read = {.rank = WEFT_NONE};
    size_t length = strlen(name);
    for (uint32_t e = 0; e < END_COUNT; e++) {
        size_t end = strlen(ends[e]);
        if (length > end && strcmp(name + length - end, ends[e]) == 0) {
            read.end = ends[e];
        }
    }
    if (read.end == NULL) {
        return read;
    }
    size_t digits = length - strlen(read.end);
    size_t start = digits;
    if (start > 3 && memcmp(name + start - 3, ".%r", 3) == 0) {
        read.prefix_length = start - 3;
        return read;
    }
    while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9') {
        start--;
    }
    bool plain = digits - start == 1 || (digits > start && name[start] != '0');
    if (plain && digits - start <= 7 && start >= 2 && name[start - 1] == '.') {
        read.prefix_length = start - 1;
        read.rank = (uint32_t)strtoul(name + start, NULL, 10);
    }
    return read;
}

// Whether a file's JSON begins with what a trace has as its first key: many a JSON file has a
// number before its end.
static bool begins_trace(const char *path)
{
    static const char *const keys[] = {"{}", "{\"version\"", "{\"attr\"", "{\"workload_graph\""};
    char text[128];
    size_t length = 0;
    int file = -1;
    struct weft_error error;
    if (!weft_file_open(&file, path, &error)) {
        return false;
    }
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    for (ssize_t i = 0; i < got; i++) {
        text[length] = text[i];
        length += isspace((unsigned char)text[i]) == 0;
    }
    text[length] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strncmp(text, keys[i], strlen(keys[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool weft_chakra_is_trace(const char *path)
{
    char first[PATH_MAX];
    struct rank_name name = read_name(path);
    if (chakra_is_pytorch(path)) {
        return true;
    }
    if (name.prefix_length > 0 && name.rank != WEFT_NONE && strcmp(name.end, ".json") == 0) {
        return begins_trace(path);
    }
    if (is_folder(path) || name.prefix_length > 0) {
        return true;
    }
    for (uint32_t e = 0; e < END_COUNT && !is_file(path); e++) {
        int length = snprintf(first, sizeof first, "%s.0%s", path, ends[e]);
        if (length < (int)sizeof first && is_file(first)) {
            return strcmp(ends[e], ".json") != 0 || begins_trace(first);
        }
    }
    return false;
}

// A folder, and the parts of file names before and behind .<rank>; NULL = whatever its files have.
struct place {
    const char *folder;
    const char *stem;
    const char *end;
};

static struct place find_place(const char *path, struct weft_arena *scratch)
{
    if (is_folder(path)) {
        return (struct place){.folder = path};
    }
    struct rank_name name = read_name(path);
    bool of_rank = name.prefix_length > 0;
    const char *whole = weft_arena_text(scratch, path, of_rank ? name.prefix_length : strlen(path));
    struct place place = {".", whole, of_rank ? name.end : NULL};
    const char *slash = strrchr(whole, '/');
    if (slash != NULL) {
        size_t folder = slash == whole ? 1 : (size_t)(slash - whole);
        place.folder = weft_arena_text(scratch, whole, folder);
        place.stem = slash + 1;
    }
    return place;
}

// ---- which ranks are there ----

struct found {
    const char *stem;
    const char *end;
    uint32_t file_count;
    uint32_t rank_max;
};

static bool see_name(struct found *found, const char *name, const char *stem,
                     struct weft_arena *scratch, struct weft_error *error)
{
    struct rank_name read = read_name(name);
    size_t length = read.prefix_length;
    if (length == 0 || read.rank == WEFT_NONE || strcmp(read.end, found->end) != 0 ||
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
    found->rank_max = read.rank > found->rank_max ? read.rank : found->rank_max;
    return true;
}

// Looks through the folder for the files of one trace with the end found->end.
static bool look_for_end(struct found *found, DIR *folder, const struct place *place,
                         struct weft_arena *scratch, struct weft_error *error)
{
    bool good = true;
    rewinddir(folder);
    // No other thread reads this folder's stream.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    for (struct dirent *entry = readdir(folder); entry != NULL && good; entry = readdir(folder)) {
        good = see_name(found, entry->d_name, place->stem, scratch, error);
    }
    return good;
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
    for (uint32_t e = 0; e < END_COUNT && good && found->file_count == 0; e++) {
        found->end = place->end != NULL ? place->end : ends[e];
        good = look_for_end(found, folder, place, scratch, error);
    }
    closedir(folder);
    if (good && found->file_count == 0) {
        good = weft_fail(error, WEFT_INPUT, "holds no files '%.60s.<rank>%s'",
                         place->stem != NULL ? place->stem : "<name>",
                         place->end != NULL ? place->end : ".et");
    }
    if (good && found->rank_max >= RANKS_MAX) {
        good =
            weft_fail(error, WEFT_INPUT, "has rank %u; at most %u", found->rank_max, RANKS_MAX - 1);
    }
    return good || weft_wrap(error, "%s", place->folder);
}

// ---- files ----

static bool load_ranks(struct weft_chakra_files *files, const char *prefix,
                       const struct found *found, struct weft_arena *scratch,
                       struct weft_error *error)
{
    uint32_t ranks = found->rank_max + 1;
    const void **data = WEFT_NEW(scratch, const void *, ranks);
    size_t *lengths = WEFT_NEW(scratch, size_t, ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const char *path = weft_arena_format(scratch, "%s.%u%s", prefix, rank, found->end);
        const char *bytes = NULL;
        if (!is_file(path)) {
            return weft_fail(error, WEFT_INPUT,
                             "%s is missing, though the trace goes up to rank %u", path,
                             found->rank_max);
        }
        if (!weft_file_load(&bytes, &lengths[rank], path, WEFT_FILE_TRACE_BYTES, scratch, error)) {
            return false;
        }
        data[rank] = bytes;
    }
    files->rank_count = ranks;
    files->data = data;
    files->lengths = lengths;
    files->json = is_json(found->end);
    return true;
}

// Chakra's own files, of which *prefix is the common name.
static bool load_own(struct weft_chakra_files *files, const char **prefix, const char *path,
                     struct weft_arena *arena, struct weft_error *error)
{
    struct found found;
    struct place place = find_place(path, arena);
    if (!look(&found, &place, arena, error)) {
        return false;
    }
    *prefix = weft_arena_format(arena, "%s/%s", place.folder, found.stem);
    return load_ranks(files, *prefix, &found, arena, error);
}

bool weft_chakra_load(struct weft_chakra_trace *trace, const char *path, const char *groups_path,
                      bool lenient, struct weft_arena *arena, struct weft_error *error)
{
    struct weft_chakra_files files = {0};
    struct weft_chakra_trace read;
    const char *prefix = path;
    bool pairs = false;
    if (!chakra_find_pairs(&files, &pairs, path, arena, error) ||
        (!pairs && !load_own(&files, &prefix, path, arena, error))) {
        return false;
    }
    const char *beside = weft_arena_format(arena, "%s.json", prefix);
    if (groups_path == NULL && !pairs && is_file(beside)) {
        groups_path = beside;
    }
    if (groups_path != NULL &&
        !weft_file_load(&files.groups, &files.groups_length, groups_path, 0, arena, error)) {
        return false;
    }
    files.lenient = lenient;
    if (!weft_chakra_read(&read, &files, arena, error)) {
        return weft_wrap(error, "%s", prefix);
    }
    read.path = prefix;
    *trace = read;
    return true;
}

// ---- saving ----

// A folder, there or to be made, stands for the prefix "trace" in it. A folder that a prefix names
// must be there, as that of any file.
static bool split_prefix(const char **folder, const char **stem, const char *prefix,
                         struct weft_arena *scratch, struct weft_error *error)
{
    size_t length = strlen(prefix);
    const char *slash = strrchr(prefix, '/');
    *folder = prefix;
    *stem = "trace";
    if ((length > 0 && prefix[length - 1] == '/') || is_folder(prefix)) {
        return true;
    }
    *stem = slash == NULL ? prefix : slash + 1;
    *folder = slash == NULL     ? "."
              : slash == prefix ? "/"
                                : weft_arena_text(scratch, prefix, (size_t)(slash - prefix));
    return is_folder(*folder) ||
           weft_fail(error, WEFT_IO, "%s: there is no folder '%s'; make it, or write elsewhere",
                     prefix, *folder);
}

bool weft_chakra_save(const char *prefix, const struct weft_chakra_files *trace,
                      struct weft_arena scratch, struct weft_error *error)
{
    const char *folder = NULL;
    const char *stem = NULL;
    if (!split_prefix(&folder, &stem, prefix, &scratch, error)) {
        return false;
    }
    uint32_t ranks = trace->rank_count;
    const char *beyond = weft_arena_format(&scratch, "%s/%s.%u.et", folder, stem, ranks);
    if (access(beyond, F_OK) == 0) {
        return weft_fail(error, WEFT_IO,
                         "%s is there, of a larger trace; remove that or choose another prefix",
                         beyond);
    }
    struct weft_file *files = WEFT_NEW(&scratch, struct weft_file, (size_t)ranks + 1);
    for (uint32_t r = 0; r < ranks; r++) {
        files[r].name = weft_arena_format(&scratch, "%s.%u.et", stem, r);
        files[r].data = trace->data[r];
        files[r].length = trace->lengths[r];
    }
    files[ranks].name = weft_arena_format(&scratch, "%s.json", stem);
    files[ranks].data = trace->groups;
    files[ranks].length = trace->groups_length;
    return weft_files_save(folder, files, ranks + 1, scratch, error);
}
