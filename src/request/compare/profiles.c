// SPDX-License-Identifier: Apache-2.0
// Measured times of operators from a folder of profiles: which file is for a model. Files are tried
// in the order of their names, so that the answer does not depend on the folder's own order; a
// *.json file that is no profile fails the request.

#include "request/compare/compare.h"
#include "weft/format.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 1024u

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The paths of a folder's *.json files, sorted.
static bool list_files(const char ***paths, uint32_t *count, const char *folder,
                       const struct weft_environment *environment)
{
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return weft_fail(environment->error, WEFT_IO, "{profiles}: %s: cannot be read as a folder",
                         folder);
    }
    const char **list = WEFT_NEW(environment->arena, const char *, FILES_MAX);
    uint32_t found = 0;
    for (struct dirent *entry = readdir(directory); entry != NULL && found < FILES_MAX;
         entry = readdir(directory)) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot != NULL && strcmp(dot, ".json") == 0) {
            list[found++] = weft_arena_format(environment->arena, "%s/%s", folder, entry->d_name);
        }
    }
    closedir(directory);
    qsort(list, found, sizeof *list, by_text);
    *paths = list;
    *count = found;
    return true;
}

static bool fits(const struct weft_profile *profile, const struct weft_model *model,
                 uint32_t server_count, const struct weft_environment *environment)
{
    if (profile->batch != model->batch || profile->server_count != server_count) {
        return false;
    }
    struct weft_arena scratch = environment->scratch;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        if (model->operators[op].spec.kind == WEFT_OP_INPUT) {
            continue;
        }
        const struct weft_cost_options costs = {.profile = profile, .accelerators_per_server = 1};
        struct weft_split_list list;
        struct weft_error error;
        if (!weft_operator_splits(&list, model, op, server_count, &costs,
                                  &(struct weft_environment){.arena = &scratch, .error = &error})) {
            return false;
        }
    }
    return true;
}

bool weft_compare_find_profile(const struct weft_profile **profile, const char *folder,
                               const struct weft_model *model, uint32_t server_count,
                               const struct weft_environment *environment)
{
    const char **paths = NULL;
    uint32_t count = 0;
    *profile = NULL;
    if (!list_files(&paths, &count, folder, environment)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct weft_profile *found = WEFT_NEW(environment->arena, struct weft_profile, 1);
        if (!weft_profile_load(found, paths[i], environment->arena, environment->error)) {
            return false;
        }
        if (fits(found, model, server_count, environment)) {
            *profile = found;
            return true;
        }
    }
    return true;
}
