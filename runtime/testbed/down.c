// SPDX-License-Identifier: Apache-2.0
// Takes labs away, complete or not, and finds what stands.
//
// Everything of a lab is in namespaces whose names begin with its own, so that ending their
// processes and removing the names removes links, routes and programs with them. It works from
// names alone, not from the state file, because a killed run may have written none.

#include "testbed_private.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// A lab's processes are those in its namespaces, which nobody else made. They get 200 rounds of 10
// ms to end, of which the first fifth by SIGTERM.
enum { PIDS_MAX = 1024, ROUNDS = 200 };

double weft_lab_clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Ends them, kindly for a fifth of the time, and waits until they are gone.
static bool end_processes(uint32_t *ended, const char *netns, struct weft_error *error)
{
    pid_t pids[PIDS_MAX];
    const struct timespec pause = {.tv_nsec = 10000000};
    uint32_t count = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (!weft_netns_processes(&count, pids, PIDS_MAX, netns, error)) {
            return false;
        }
        if (count == 0) {
            return true;
        }
        *ended += round == 0 ? count : 0;
        for (uint32_t i = 0; i < count; i++) {
            kill(pids[i], round < ROUNDS / 5 ? SIGTERM : SIGKILL);
        }
        nanosleep(&pause, NULL);
    }
    return weft_fail(error, WEFT_IO, "%s: process %d does not end; end it, then weft lab down",
                     netns, (int)pids[0]);
}

// State that was being written when its writer was killed: NAME.json.PID-N.tmp.
static bool remove_unfinished(const char *name, struct weft_error *error)
{
    char start[WEFT_NETNS_NAME_MAX];
    int length = snprintf(start, sizeof start, "%s.json.", name);
    DIR *folder = opendir(WEFT_LAB_FOLDER);
    bool fine = true;
    // One thread reads this folder handle.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; fine && entry != NULL;
         entry = readdir(folder)) {
        if (strncmp(entry->d_name, start, (size_t)length) == 0 &&
            unlinkat(dirfd(folder), entry->d_name, 0) != 0 && errno != ENOENT) {
            fine = weft_fail(error, WEFT_IO, WEFT_LAB_FOLDER "/%s: %s", entry->d_name,
                             strerrordesc_np(errno));
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return fine;
}

// Ends the processes of each of its namespaces and removes its name, then the state file: in this
// order a kill in between leaves a lab that can be taken away again. Nothing is ended before all
// names are known to be namespaces of their own.
bool weft_lab_down(struct weft_lab_removed *removed, const char *name, struct weft_arena scratch,
                   struct weft_error *error)
{
    char text[WEFT_NETNS_NAME_MAX];
    const char *const *names = NULL;
    uint32_t count = 0;
    struct weft_lab_removed made = {0};
    if (!weft_lab_netns_list(&names, &count, name, &scratch, error)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        pid_t pid;
        uint32_t found = 0;
        if (!weft_netns_processes(&found, &pid, 1, names[i], error)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!end_processes(&made.process_count, names[i], error) ||
            !weft_netns_delete(names[i], error)) {
            return false;
        }
        made.namespace_count++;
    }
    snprintf(text, sizeof text, WEFT_LAB_FOLDER "/%s.json", name);
    if (unlink(text) != 0 && errno != ENOENT && errno != ENOTDIR) {
        return weft_fail(error, WEFT_IO, "%s: %s", text, strerrordesc_np(errno));
    }
    if (!remove_unfinished(name, error)) {
        return false;
    }
    *removed = made;
    return true;
}

// ---- what stands ----

// Adds the name between a prefix and what follows it, unless it stands there already.
static void add_name(const char **names, uint32_t *count, uint32_t room, const char *name,
                     size_t length, struct weft_arena *arena)
{
    struct weft_error ignored;
    const char *copy = weft_arena_text(arena, name, length);
    bool known = !weft_lab_check_name(copy, &ignored);
    for (uint32_t i = 0; i < *count && !known; i++) {
        known = strcmp(names[i], copy) == 0;
    }
    if (!known && *count < room) {
        names[(*count)++] = copy;
    }
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

// The length of the lab's name in that of one of its namespaces; 0: it is no lab's. Others may have
// namespaces whose names begin with weft-, too.
static size_t lab_length(const char *netns)
{
    static const char prefix[] = "weft-";
    const char *name = netns + sizeof prefix - 1;
    if (strncmp(netns, prefix, sizeof prefix - 1) != 0) {
        return 0;
    }
    size_t length = strcspn(name, "-");
    const char *node = name + length + (name[length] == '-');
    size_t digits = node[0] == '\0' ? 0 : strspn(node + 1, "0123456789");
    bool numbered = digits > 0 && node[1 + digits] == '\0' && strchr("sow", node[0]) != NULL;
    return numbered || strcmp(node, "switch") == 0 ? length : 0;
}

bool weft_lab_netns_list(const char *const **names, uint32_t *count, const char *lab,
                         struct weft_arena *arena, struct weft_error *error)
{
    char prefix[WEFT_NETNS_NAME_MAX];
    const char *const *found = NULL;
    uint32_t found_count = 0;
    if (!weft_lab_check_name(lab, error)) {
        return false;
    }
    snprintf(prefix, sizeof prefix, "weft-%s-", lab);
    if (!weft_netns_list(&found, &found_count, prefix, arena, error)) {
        return false;
    }
    const char **kept = WEFT_NEW(arena, const char *, found_count);
    *count = 0;
    for (uint32_t i = 0; i < found_count; i++) {
        if (lab_length(found[i]) > 0) {
            kept[(*count)++] = found[i];
        }
    }
    *names = kept;
    return true;
}

bool weft_lab_list(const char *const **names, uint32_t *count, struct weft_arena *arena,
                   struct weft_error *error)
{
    enum { LABS_MAX = 1024 };
    static const char prefix[] = "weft-";
    const char *const *spaces = NULL;
    uint32_t space_count = 0;
    const char **found = WEFT_NEW(arena, const char *, LABS_MAX);
    if (!weft_netns_list(&spaces, &space_count, prefix, arena, error)) {
        return false;
    }
    *count = 0;
    for (uint32_t i = 0; i < space_count; i++) {
        add_name(found, count, LABS_MAX, spaces[i] + sizeof prefix - 1, lab_length(spaces[i]),
                 arena);
    }
    DIR *folder = opendir(WEFT_LAB_FOLDER);
    // One thread reads this folder handle.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL;
         entry = readdir(folder)) {
        // State, state that was being written, and claims of killed programs.
        size_t length = strcspn(entry->d_name, ".");
        if (strncmp(entry->d_name + length, ".json", 5) == 0 ||
            strcmp(entry->d_name + length, ".lock") == 0) {
            add_name(found, count, LABS_MAX, entry->d_name, length, arena);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    qsort(found, *count, sizeof found[0], compare_names);
    *names = found;
    return true;
}
