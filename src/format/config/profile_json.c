// SPDX-License-Identifier: Apache-2.0
// Measured operator profiles, in the JSON of the TopoOpt artifact (Wang et al., NSDI 2023; its
// measured .json files): milliseconds of forward and backward passes and bytes of memory for an
// operator under a split.
//
// Read into a table that is sorted by name and split, and written from it again. O(n log n).

#include "format/syntax/json.h"
#include "weft/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX_MS 3.6e6 // an hour
#define PARTS_MAX 1048576u
#define MEMORY_MAX_BYTES ((uint64_t)1 << 50)
#define NAME_MAX_BYTES 250u
#define PS_PER_MS 1e9

// Reads "2-1-8": how many dimensions, then the parts of each.
static bool read_parts(struct weft_measurement *measurement, const char *text,
                       struct weft_error *error)
{
    uint32_t numbers[5];
    uint32_t count = 0;
    const char *rest = text;
    for (; count < 5; count++) {
        if (*rest < '1' || *rest > '9') {
            break;
        }
        char *end = NULL;
        unsigned long number = strtoul(rest, &end, 10);
        if (number > PARTS_MAX) {
            return weft_fail(error, WEFT_INPUT, "pc_str: '%.64s' has more than %u parts", text,
                             PARTS_MAX);
        }
        numbers[count] = (uint32_t)number;
        rest = *end == '-' ? end + 1 : end;
        if (*end != '-') {
            count++;
            break;
        }
    }
    bool whole = *rest == '\0' && rest > text && rest[-1] != '-';
    if (!whole || count < 3 || numbers[0] != count - 1) {
        return weft_fail(error, WEFT_INPUT,
                         "pc_str: '%.64s' is not the number of dimensions (2 to 4) and the parts "
                         "of each; write for example 2-1-8",
                         text);
    }
    measurement->rank = count - 1;
    memcpy(measurement->parts, numbers + 1, (count - 1) * sizeof numbers[0]);
    return true;
}

// Refuses what the format does not have, so that a misspelled key is not lost.
static bool check_keys(const json_t *object, const char *const *keys, struct weft_error *error)
{
    // jansson's iterators want a pointer without const; nothing is changed through it.
    json_t *open = (json_t *)(uintptr_t)object;
    for (void *at = json_object_iter(open); at != NULL; at = json_object_iter_next(open, at)) {
        const char *key = json_object_iter_key(at);
        uint32_t i = 0;
        while (keys[i] != NULL && strcmp(keys[i], key) != 0) {
            i++;
        }
        if (keys[i] == NULL) {
            return weft_fail(error, WEFT_INPUT, "'%.64s' is no key of a profile; leave it out",
                             key);
        }
    }
    return true;
}

static bool read_time(uint64_t *time_ps, const json_t *object, const char *key,
                      struct weft_error *error)
{
    double time_ms = 0;
    if (!weft_json_real(&time_ms, object, key, 0, TIME_MAX_MS, error)) {
        return false;
    }
    *time_ps = (uint64_t)llround(time_ms * PS_PER_MS);
    return true;
}

// Reads one measurement. Its name is read first, so that all further messages can say it; keys that
// the format does not have are refused last.
static bool read_measurement(struct weft_measurement *measurement, const json_t *object,
                             struct weft_arena *arena, struct weft_error *error)
{
    static const char *const keys[] = {"name", "pc_str", "fw_time", "bw_time", "mem_req", NULL};
    if (!json_is_object(object)) {
        return weft_fail(error, WEFT_INPUT, "not an object; it should start with {");
    }
    const char *parts = NULL;
    if (!weft_json_text(&measurement->name, object, "name", arena, error)) {
        return false;
    }
    size_t length = strlen(measurement->name);
    if (length == 0 || length > NAME_MAX_BYTES) {
        return weft_fail(error, WEFT_INPUT, "name: %zu bytes, not 1 to %u", length, NAME_MAX_BYTES);
    }
    if (!weft_json_text(&parts, object, "pc_str", arena, error) ||
        !read_parts(measurement, parts, error) ||
        !read_time(&measurement->forward_ps, object, "fw_time", error) ||
        !read_time(&measurement->backward_ps, object, "bw_time", error) ||
        !weft_json_u64(&measurement->memory_bytes, object, "mem_req", error) ||
        !check_keys(object, keys, error)) {
        return weft_wrap(error, "%.64s", measurement->name);
    }
    if (measurement->memory_bytes > MEMORY_MAX_BYTES) {
        weft_fail(error, WEFT_INPUT, "mem_req: %llu bytes are beyond reason",
                  (unsigned long long)measurement->memory_bytes);
        return weft_wrap(error, "%.64s", measurement->name);
    }
    return true;
}

static int by_name_and_parts(const void *a, const void *b)
{
    return weft_measurement_order(a, b);
}

static void add_parts(struct weft_text *text, const struct weft_measurement *measurement)
{
    weft_text_add(text, "%u", measurement->rank);
    for (uint32_t i = 0; i < measurement->rank; i++) {
        weft_text_add(text, "-%u", measurement->parts[i]);
    }
}

static bool fail_twice(const struct weft_measurement *measurement, struct weft_arena *arena,
                       struct weft_error *error)
{
    struct weft_text parts;
    weft_text_init(&parts, arena);
    add_parts(&parts, measurement);
    return weft_fail(error, WEFT_INPUT,
                     "measurements: %.64s: pc_str %s stands there twice; keep one",
                     measurement->name, parts.data);
}

static bool read_measurements(struct weft_profile *profile, const json_t *items,
                              struct weft_arena *arena, struct weft_error *error)
{
    size_t count = json_array_size(items);
    if (count == 0) {
        return weft_fail(error, WEFT_INPUT, "measurements: there are none");
    }
    WEFT_ASSERT(count <= UINT32_MAX);
    struct weft_measurement *all = WEFT_NEW(arena, struct weft_measurement, count);
    for (size_t i = 0; i < count; i++) {
        if (!read_measurement(&all[i], json_array_get(items, i), arena, error)) {
            return weft_wrap(error, "measurements[%zu]", i);
        }
    }
    qsort(all, count, sizeof all[0], by_name_and_parts);
    for (size_t i = 1; i < count; i++) {
        if (weft_measurement_order(&all[i - 1], &all[i]) == 0) {
            return fail_twice(&all[i], arena, error);
        }
    }
    profile->count = (uint32_t)count;
    profile->measurements = all;
    return true;
}

static bool read_root(struct weft_profile *profile, const json_t *root, struct weft_arena *arena,
                      struct weft_error *error)
{
    static const char *const keys[] = {"batch_size", "ngpus", "measurements", NULL};
    struct weft_profile found = {0};
    const json_t *items = NULL;
    if (!check_keys(root, keys, error) || !weft_json_u64(&found.batch, root, "batch_size", error) ||
        !weft_json_u32(&found.server_count, root, "ngpus", 1, PARTS_MAX, error) ||
        !weft_json_array(&items, root, "measurements", error)) {
        return false;
    }
    if (found.batch == 0 || found.batch > MEMORY_MAX_BYTES) {
        return weft_fail(error, WEFT_INPUT, "batch_size: %llu is not from 1 to 2^50",
                         (unsigned long long)found.batch);
    }
    if (!read_measurements(&found, items, arena, error)) {
        return false;
    }
    *profile = found;
    return true;
}

bool weft_profile_read(struct weft_profile *profile, const char *data, size_t length,
                       struct weft_arena *arena, struct weft_error *error)
{
    json_t *root = NULL;
    if (!weft_json_parse(&root, data, length, error)) {
        return false;
    }
    bool fine = read_root(profile, root, arena, error);
    json_decref(root);
    return fine;
}

bool weft_profile_load(struct weft_profile *profile, const char *path, struct weft_arena *arena,
                       struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, 0, arena, error)) {
        return false;
    }
    return weft_profile_read(profile, data, length, arena, error) ||
           weft_file_mistaken(error, path, WEFT_FILE_PROFILE);
}

const char *weft_profile_write(const struct weft_profile *profile, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\"batch_size\": %llu, \"ngpus\": %u, \"measurements\": [",
                  (unsigned long long)profile->batch, profile->server_count);
    for (uint32_t i = 0; i < profile->count; i++) {
        const struct weft_measurement *measurement = &profile->measurements[i];
        double forward_ms = (double)measurement->forward_ps / PS_PER_MS;
        double backward_ms = (double)measurement->backward_ps / PS_PER_MS;
        weft_text_add(&text, "%s\n  {", i == 0 ? "" : ",");
        weft_json_field_text(&text, "name", measurement->name, ", \"pc_str\": \"");
        add_parts(&text, measurement);
        weft_text_add(&text, "\", ");
        weft_json_field_real(&text, "fw_time", forward_ms, ", ");
        weft_json_field_real(&text, "bw_time", backward_ms, ", ");
        weft_text_add(&text, "\"mem_req\": %llu}", (unsigned long long)measurement->memory_bytes);
    }
    weft_text_add(&text, "\n]}\n");
    return text.data;
}
