// SPDX-License-Identifier: Apache-2.0
// Kineto's traces in a folder, and PyTorch's traces of the host beside them.
//
// Names are the user's: files are told by their content, which is how chakra_trace_link is given
// them, too. Kineto's trace says its rank (distributedInfo); else, and for the host's, it is the
// last number of the file's name: kineto_0.json, rank1.pt.trace.json.gz, pytorch_et_1.json.

#include "read.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Behind "distributedInfo", where the backend's name and the rank stand.
#define INFO_BYTES 256

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);
    return length > strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

static bool is_json(const char *name)
{
    return ends_with(name, ".json") || ends_with(name, ".json.gz");
}

// ---- ranks ----

static uint32_t number_at(const char *at)
{
    unsigned long long number = strtoull(at, NULL, 10);
    return number < WEFT_NONE ? (uint32_t)number : WEFT_NONE - 1;
}

static uint32_t rank_of_name(const char *name)
{
    const char *end = strstr(name, ".json");
    while (end > name && isdigit((unsigned char)end[-1]) == 0) {
        end--;
    }
    while (end > name && isdigit((unsigned char)end[-1]) != 0) {
        end--;
    }
    return isdigit((unsigned char)*end) != 0 ? number_at(end) : WEFT_NONE;
}

static uint32_t rank_of_content(const char *data, size_t length)
{
    static const char info[] = "\"distributedInfo\"";
    static const char key[] = "\"rank\"";
    const char *at = memmem(data, length, info, sizeof info - 1);
    size_t left = at != NULL ? length - (size_t)(at - data) : 0;
    left = left < INFO_BYTES ? left : INFO_BYTES;
    const char *rank = at != NULL ? memmem(at, left, key, sizeof key - 1) : NULL;
    const char *end = at + left;
    rank = rank != NULL ? rank + sizeof key - 1 : end;
    while (rank < end && (*rank == ':' || isspace((unsigned char)*rank) != 0)) {
        rank++;
    }
    return rank < end && isdigit((unsigned char)*rank) != 0 ? number_at(rank) : WEFT_NONE;
}

// ---- files ----

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The names of the folder's JSON files in order; none where Chakra's own traces lie there.
static bool list_names(const char ***names, uint32_t *count, const char *folder,
                       struct weft_arena *arena, struct weft_error *error)
{
    struct weft_arena list = weft_arena_split(arena);
    bool chakra = false;
    DIR *stream = opendir(folder);
    if (stream == NULL) {
        return weft_fail(error, WEFT_IO, "%s: cannot open: %s", folder, strerrordesc_np(errno));
    }
    *names = weft_arena_alloc_raw(&list, 0, sizeof **names);
    *count = 0;
    // No other thread reads this folder's stream.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        chakra = chakra || ends_with(entry->d_name, ".et") || ends_with(entry->d_name, ".et.gz");
        if (is_json(entry->d_name)) {
            *names = weft_arena_grow(&list, *names, *count * sizeof **names,
                                     (*count + 1) * sizeof **names);
            (*names)[(*count)++] = weft_arena_text(arena, entry->d_name, strlen(entry->d_name));
        }
    }
    closedir(stream);
    *count = chakra ? 0 : *count;
    qsort(*names, *count, sizeof **names, compare_texts);
    return true;
}

// Files of one kind by their ranks; NULL = none of the rank.
struct kept {
    const char *what;
    const void **data;
    size_t *lengths;
    const char **names;
};

static struct kept begin(const char *what, uint32_t limit, struct weft_arena *arena)
{
    return (struct kept){what, WEFT_NEW(arena, const void *, limit), WEFT_NEW(arena, size_t, limit),
                         WEFT_NEW(arena, const char *, limit)};
}

static bool keep(struct kept *kept, uint32_t rank, uint32_t limit, const char *name,
                 struct weft_error *error)
{
    if (rank >= limit) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: neither distributedInfo nor the last number of its name is a rank "
                         "below %u; name it as kineto_0.json",
                         name, limit);
    }
    if (kept->names[rank] != NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: is of rank %u, as %s is; put another run's %s elsewhere", name, rank,
                         kept->names[rank], kept->what);
    }
    kept->names[rank] = name;
    return true;
}

// Loads a file, which is passed over unless it is PyTorch's.
static bool load(struct kept kept[2], const char *folder, const char *name, uint32_t limit,
                 struct weft_arena *arena, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    struct weft_arena before = *arena;
    const char *path = weft_arena_format(arena, "%s/%s", folder, name);
    if (!weft_file_load(&data, &length, path, WEFT_FILE_TRACE_BYTES, arena, error)) {
        return false;
    }
    enum weft_file_kind kind = weft_file_kind_of(data, length);
    if (kind != WEFT_FILE_KINETO && kind != WEFT_FILE_PYTORCH_HOST) {
        *arena = before;
        return true;
    }
    struct kept *mine = &kept[kind == WEFT_FILE_PYTORCH_HOST];
    uint32_t rank = kind == WEFT_FILE_KINETO ? rank_of_content(data, length) : WEFT_NONE;
    rank = rank != WEFT_NONE ? rank : rank_of_name(name);
    if (!keep(mine, rank, limit, name, error)) {
        return weft_wrap(error, "%s", folder);
    }
    mine->data[rank] = data;
    mine->lengths[rank] = length;
    return true;
}

// ---- the whole ----

bool chakra_is_pytorch(const char *path)
{
    enum weft_file_kind kind = weft_file_kind(path);
    return kind == WEFT_FILE_KINETO || kind == WEFT_FILE_PYTORCH_HOST ||
           (kind == WEFT_FILE_COMPRESSED && is_json(path));
}

static const char *folder_of(const char *path, struct weft_arena *arena)
{
    struct stat status;
    const char *slash = strrchr(path, '/');
    if (stat(path, &status) != 0 || (!S_ISDIR(status.st_mode) && !chakra_is_pytorch(path))) {
        return NULL;
    }
    return S_ISDIR(status.st_mode) ? path
           : slash == NULL         ? "."
                                   : weft_arena_text(arena, path, (size_t)(slash - path) + 1);
}

bool chakra_find_pairs(struct weft_chakra_files *files, bool *found, const char *path,
                       struct weft_arena *arena, struct weft_error *error)
{
    const char **names = NULL;
    uint32_t count = 0;
    uint32_t ranks = 0;
    const char *folder = folder_of(path, arena);
    *found = false;
    if (folder == NULL || !list_names(&names, &count, folder, arena, error)) {
        return folder == NULL;
    }
    struct kept kept[2] = {begin("Kineto trace", count, arena),
                           begin("trace of the host", count, arena)};
    for (uint32_t i = 0; i < count; i++) {
        if (!load(kept, folder, names[i], count, arena, error)) {
            return false;
        }
    }
    for (uint32_t r = 0; r < count; r++) {
        ranks = kept[0].names[r] != NULL || kept[1].names[r] != NULL ? r + 1 : ranks;
    }
    for (uint32_t r = 0; r < ranks; r++) {
        if (kept[0].names[r] == NULL) {
            return weft_fail(error, WEFT_INPUT,
                             "%s: holds no Kineto trace of rank %u, though its ranks go up to %u",
                             folder, r, ranks - 1);
        }
    }
    *found = ranks > 0;
    files->rank_count = ranks;
    files->data = kept[0].data;
    files->lengths = kept[0].lengths;
    files->hosts = kept[1].data;
    files->host_lengths = kept[1].lengths;
    files->json = true;
    return true;
}
