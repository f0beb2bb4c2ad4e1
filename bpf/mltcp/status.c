// SPDX-License-Identifier: Apache-2.0
// What of MLTCP is loaded, with whom, and its parameters; and how to change those.
//
// All of it is read from pinned maps, so that any process may ask while connections come and go:
// one that goes while the map is walked is left out.

#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOADED_MAX = 64 };

uint32_t cc_count(int map, size_t key_bytes)
{
    unsigned char key[64];
    WEFT_ASSERT(key_bytes <= sizeof key);
    uint32_t count = 0;
    const void *before = NULL;
    while (bpf_map_get_next_key(map, before, key) == 0) {
        before = key;
        count++;
    }
    return count;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = ((const struct weft_cc_connection *)a)->number;
    uint32_t y = ((const struct weft_cc_connection *)b)->number;
    return (x > y) - (x < y);
}

// Connections may come and go while they are read: those that went are left out.
static bool gather(struct weft_cc_connection **list, uint32_t *count, int connections, int jobs,
                   struct weft_arena *arena)
{
    uint32_t room = cc_count(connections, sizeof(uint32_t));
    struct weft_cc_connection *found = WEFT_NEW(arena, struct weft_cc_connection, room);
    uint32_t filled = 0;
    uint32_t key = 0;
    const void *before = NULL;
    while (filled < room && bpf_map_get_next_key(connections, before, &key) == 0) {
        before = &key;
        struct weft_cc_connection *one = &found[filled];
        if (bpf_map_lookup_elem(connections, &key, &one->counts) == 0) {
            one->number = key;
            bpf_map_lookup_elem(jobs, &one->counts.job, &one->job);
            filled++;
        }
    }
    qsort(found, filled, sizeof found[0], compare_numbers);
    *list = found;
    *count = filled;
    return true;
}

bool weft_cc_connections(struct weft_cc_connection **list, uint32_t *count,
                         const struct weft_cc *cc, struct weft_arena *arena,
                         struct weft_error *error)
{
    int connections = bpf_object__find_map_fd_by_name(cc->object, "connections");
    int jobs = bpf_object__find_map_fd_by_name(cc->object, "jobs");
    if (connections < 0 || jobs < 0) {
        return weft_fail(error, WEFT_IO, "the statistics of the congestion control are gone");
    }
    return gather(list, count, connections, jobs, arena);
}

static void close_if(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

// One congestion control from its pins; leftovers of a killed run lack some of them, and stay
// unregistered in the list.
static void read_one(struct weft_cc_status *status, const char *name, struct weft_arena *arena)
{
    memset(status, 0, sizeof *status);
    snprintf(status->name, sizeof status->name, "%.15s", name);
    uint32_t first = 0;
    struct mltcp_parameters packed;
    struct mltcp_registry registry;
    int parameters = cc_open_pin(name, CC_PIN_PARAMETERS);
    int connections = cc_open_pin(name, CC_PIN_CONNECTIONS);
    int jobs = cc_open_pin(name, CC_PIN_JOBS);
    int notes = cc_open_pin(name, CC_PIN_REGISTRY);
    bool whole = parameters >= 0 && connections >= 0 && jobs >= 0 && notes >= 0 &&
                 bpf_map_lookup_elem(parameters, &first, &packed) == 0 &&
                 bpf_map_lookup_elem(notes, &first, &registry) == 0;
    if (whole) {
        char now[MLTCP_NAME_BYTES] = "";
        status->registered = weft_cc_registered(name);
        status->parameters = weft_cc_unpack(&packed);
        status->cgroup = registry.cgroup[0] == '\0'
                             ? NULL
                             : weft_arena_text(arena, registry.cgroup, strlen(registry.cgroup));
        status->is_default = cc_read_line(now, sizeof now, CC_DEFAULT) && strcmp(now, name) == 0;
        whole = gather(&status->connections, &status->connection_count, connections, jobs, arena);
    }
    close_if(parameters);
    close_if(connections);
    close_if(jobs);
    close_if(notes);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct weft_cc_status *)a)->name,
                  ((const struct weft_cc_status *)b)->name);
}

bool weft_cc_list(struct weft_cc_status **list, uint32_t *count, struct weft_arena *arena,
                  struct weft_error *error)
{
    if (!weft_cc_capable(error)) {
        return false;
    }
    *list = WEFT_NEW(arena, struct weft_cc_status, LOADED_MAX);
    *count = 0;
    DIR *folder = opendir(WEFT_CC_FOLDER "/cc");
    if (folder == NULL) {
        return true;
    }
    const struct dirent *entry = NULL;
    while (*count < LOADED_MAX && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.') {
            read_one(&(*list)[(*count)++], entry->d_name, arena);
        }
    }
    closedir(folder);
    qsort(*list, *count, sizeof **list, compare_names);
    return true;
}

bool weft_cc_tune(const char *name, const struct weft_cc_parameters *parameters,
                  struct weft_error *error)
{
    if (!weft_cc_check_name(name, error) || !weft_cc_check(parameters, error) ||
        !weft_cc_capable(error)) {
        return false;
    }
    int fd = cc_open_pin(name, CC_PIN_PARAMETERS);
    if (fd < 0) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "'%s' is not loaded; load it first: "
                         "weft cc load %s",
                         name, name);
    }
    struct mltcp_parameters packed = weft_cc_pack(parameters);
    uint32_t first = 0;
    int failed = bpf_map_update_elem(fd, &first, &packed, BPF_ANY);
    int reason = errno;
    close(fd);
    return failed == 0 ||
           weft_fail(error, WEFT_IO, "cannot write the parameters: %s", strerror(reason));
}
