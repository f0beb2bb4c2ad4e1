// SPDX-License-Identifier: Apache-2.0
// Loading MLTCP so that it stays when the program ends, and unloading it.
//
// Loading registers it (register.c), pins what holds it (pins.c) and selects it for a namespace or
// a cgroup, whichever is wanted; a registry map, pinned like all else, notes what unloading has to
// undo. A lock keeps two runs apart. Unloading takes away everything, the mount included.

#include "private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// The inode of this network namespace, by which the registry knows it again.
static uint64_t own_netns(void)
{
    struct stat status;
    return stat("/proc/self/ns/net", &status) == 0 ? status.st_ino : 0;
}

// ---- loading ----

// Pins everything that a later process needs: maps to read and tune by, and what holds the
// registration.
static bool pin_maps(const struct weft_cc *cc, const char *name, struct weft_error *error)
{
    static const struct {
        const char *map;
        const char *as;
    } pins[] = {{".data.parameters", CC_PIN_PARAMETERS},
                {"connections", CC_PIN_CONNECTIONS},
                {"jobs", CC_PIN_JOBS},
                {"registry", CC_PIN_REGISTRY}};
    for (size_t i = 0; i < sizeof pins / sizeof pins[0]; i++) {
        int fd = bpf_object__find_map_fd_by_name(cc->object, pins[i].map);
        if (!cc_pin(fd, name, pins[i].as, error)) {
            return false;
        }
    }
    return cc_pin(cc->map, name, CC_PIN_MAP, error) &&
           (!cc->linked || cc_pin(cc->link, name, CC_PIN_LINK, error));
}

// Makes it the default of a namespace or of a cgroup, and notes what unloading has to undo.
static bool select_it(const struct weft_cc *cc, const struct weft_cc_request *request,
                      struct weft_error *error)
{
    struct mltcp_registry registry = {.default_netns = 0};
    if (request->make_default) {
        char now[MLTCP_NAME_BYTES];
        if (!cc_read_line(now, sizeof now, CC_DEFAULT)) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "making it the default: cannot read " CC_DEFAULT);
        }
        memcpy(registry.previous_default, now, sizeof now);
        registry.default_netns = own_netns();
    }
    if (request->cgroup != NULL) {
        if (strlen(request->cgroup) >= sizeof registry.cgroup) {
            return weft_fail(error, WEFT_INPUT, "the cgroup's name is too long");
        }
        memcpy(registry.cgroup, request->cgroup, strlen(request->cgroup));
    }
    uint32_t first = 0;
    int fd = bpf_object__find_map_fd_by_name(cc->object, "registry");
    if (bpf_map_update_elem(fd, &first, &registry, BPF_ANY) != 0) {
        return weft_fail(error, WEFT_IO, "cannot write a BPF map: %s", strerror(errno));
    }
    if (request->cgroup != NULL && !cc_attach_cgroup(request->name, request->cgroup, error)) {
        return false;
    }
    return !request->make_default || cc_write_line(CC_DEFAULT, request->name) ||
           weft_fail(error, WEFT_UNSUPPORTED, "making it the default: cannot write " CC_DEFAULT);
}

// Pins it, then selects it: a selection without pins would go with this process.
static bool keep(const struct weft_cc *cc, const struct weft_cc_request *request,
                 struct weft_error *error)
{
    char path[CC_PATH_BYTES];
    return cc_make_folder(cc_path(path, request->name, NULL), error) &&
           pin_maps(cc, request->name, error) && select_it(cc, request, error);
}

// Loads, pins and selects it under the lock. A folder of pins without a registered congestion
// control is what a killed run left, and is removed first.
static bool load_locked(const struct weft_cc_request *request, bool *leftovers,
                        struct weft_error *error)
{
    char path[CC_PATH_BYTES];
    *leftovers = false;
    if (access(cc_path(path, request->name, NULL), F_OK) == 0) {
        if (weft_cc_registered(request->name)) {
            return weft_fail(error, WEFT_UNSUPPORTED,
                             "'%s' is loaded already; `weft cc tune %s` changes it, "
                             "`weft cc unload %s` ends it",
                             request->name, request->name, request->name);
        }
        cc_remove_pins(request->name);
        *leftovers = true;
    }
    struct weft_cc cc;
    if (!weft_cc_open(&cc, request->name, &request->parameters, error)) {
        return false;
    }
    bool fine = cc_mount(error) && keep(&cc, request, error);
    if (fine) {
        close(cc.link);
        bpf_object__close(cc.object);
        return true;
    }
    cc_remove_pins(request->name);
    weft_cc_close(&cc);
    return false;
}

bool weft_cc_load(const struct weft_cc_request *request, bool *leftovers, struct weft_error *error)
{
    if (!weft_cc_check_name(request->name, error) || !weft_cc_check(&request->parameters, error) ||
        !weft_cc_capable(error)) {
        return false;
    }
    int lock = cc_lock(CC_LOCK_MS, error);
    if (lock < 0) {
        return false;
    }
    bool fine = load_locked(request, leftovers, error);
    cc_unlock(lock);
    return fine;
}

// ---- unloading ----

// Takes the registration away; false when the kernel would not.
static bool unregister(const char *name)
{
    uint32_t first = 0;
    char path[CC_PATH_BYTES];
    int link = cc_open_pin(name, CC_PIN_LINK);
    if (link >= 0) {
        bpf_link_detach(link); // kernels that cannot do it when the last reference goes
        close(link);
        unlink(cc_path(path, name, CC_PIN_LINK));
    } else {
        int map = cc_open_pin(name, CC_PIN_MAP);
        bpf_map_delete_elem(map, &first);
        close(map);
    }
    // The last reference to a link goes a little later.
    const struct timespec moment = {.tv_nsec = 5000000};
    for (uint32_t i = 0; i < 400 && weft_cc_registered(name); i++) {
        nanosleep(&moment, NULL);
    }
    return !weft_cc_registered(name);
}

// Gives the namespace its default back where it is this one; elsewhere, where it is not known,
// Reno.
static void restore_default(const char *name)
{
    int fd = cc_open_pin(name, CC_PIN_REGISTRY);
    struct mltcp_registry registry;
    char now[MLTCP_NAME_BYTES] = "";
    uint32_t first = 0;
    bool known = fd >= 0 && bpf_map_lookup_elem(fd, &first, &registry) == 0;
    if (fd >= 0) {
        close(fd);
    }
    if (!cc_read_line(now, sizeof now, CC_DEFAULT) || strcmp(now, name) != 0) {
        return;
    }
    bool here = known && registry.default_netns == own_netns() && registry.previous_default[0] != 0;
    if (!here || !cc_write_line(CC_DEFAULT, registry.previous_default)) {
        cc_write_line(CC_DEFAULT, "reno"); // which every kernel has
    }
}

// Takes away what is pinned of it, or what a killed run left: some pins, a congestion control that
// went with that run, or no more than an empty file system.
static bool unload_locked(const char *name, struct weft_cc_unloaded *unloaded,
                          struct weft_error *error)
{
    char path[CC_PATH_BYTES];
    bool registered = weft_cc_registered(name);
    *unloaded = (struct weft_cc_unloaded){.connections = 0};
    if (access(cc_path(path, name, NULL), F_OK) != 0) {
        unloaded->leftovers = cc_remove_pins(name);
        return unloaded->leftovers ||
               weft_fail(error, WEFT_UNSUPPORTED, "'%s' is not loaded%s", name,
                         registered ? " by weft, but by somebody else"
                                    : "; `weft cc status` lists what is");
    }
    restore_default(name);
    int fd = cc_open_pin(name, CC_PIN_CONNECTIONS);
    unloaded->connections = cc_count(fd, sizeof(uint32_t));
    unloaded->leftovers = !registered;
    close(fd);
    unlink(cc_path(path, name, CC_PIN_CGROUP));
    if (!unregister(name)) {
        return weft_fail(error, WEFT_IO,
                         "the kernel does not let go of '%s'; who holds it: "
                         "`bpftool struct_ops list`",
                         name);
    }
    cc_remove_pins(name);
    return true;
}

bool weft_cc_unload(const char *name, struct weft_cc_unloaded *unloaded, struct weft_error *error)
{
    if (!weft_cc_check_name(name, error) || !weft_cc_capable(error)) {
        return false;
    }
    int lock = cc_lock(CC_LOCK_MS, error);
    if (lock < 0) {
        return false;
    }
    bool fine = unload_locked(name, unloaded, error);
    cc_unlock(lock);
    return fine;
}
