// SPDX-License-Identifier: Apache-2.0
// Registers MLTCP with the kernel for as long as the program runs.
//
// mltcp.bpf.c is a struct_ops program: a table of functions that the kernel's TCP calls as one of
// its congestion controls. The name under which the kernel lists it stands inside the object, so it
// is written there before loading. From Linux 6.4 on a link holds the registration and ends with
// it; older kernels keep it until the map's element is deleted.

#include "bpf/embedded.h"
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Of newer kernel headers than the oldest that Weft is built with.
#define MAP_FLAG_LINK (1u << 13)
#define ATTACH_STRUCT_OPS ((enum bpf_attach_type)44)

bool cc_read_line(char *text, size_t bytes, const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    bool fine = fgets(text, (int)bytes, file) != NULL;
    fclose(file);
    if (fine) {
        text[strcspn(text, "\n")] = '\0';
    }
    return fine;
}

bool cc_write_line(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return false;
    }
    bool fine = fprintf(file, "%s\n", text) > 0;
    return fclose(file) == 0 && fine;
}

bool weft_cc_registered(const char *name)
{
    char line[1024];
    if (!cc_read_line(line, sizeof line, CC_AVAILABLE)) {
        return false;
    }
    size_t length = strlen(name);
    for (const char *at = line; (at = strstr(at, name)) != NULL; at += length) {
        bool begins = at == line || at[-1] == ' ';
        if (begins && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

bool weft_cc_capable(struct weft_error *error)
{
    if (geteuid() != 0) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "only root may load programs into the kernel; run it with sudo");
    }
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "the kernel has no type information (/sys/kernel/btf/vmlinux); use one "
                         "built with CONFIG_DEBUG_INFO_BTF");
    }
    int probed = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_STRUCT_OPS, NULL);
    if (probed != 1) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "the kernel takes no struct_ops; use Linux 5.6 or later with "
                         "CONFIG_BPF_JIT, as root with CAP_BPF and CAP_NET_ADMIN");
    }
    return true;
}

// ---- opening ----

// The object with the name in the place that is kept for it.
static struct bpf_object *open_named(const char *name, struct weft_error *error)
{
    unsigned char *image = malloc(bpf_mltcp_bytes);
    if (image == NULL) {
        weft_fail(error, WEFT_IO, "out of memory");
        return NULL;
    }
    memcpy(image, bpf_mltcp, bpf_mltcp_bytes);
    unsigned char *place =
        memmem(image, bpf_mltcp_bytes, MLTCP_NAME_PLACE, sizeof MLTCP_NAME_PLACE);
    WEFT_ASSERT(place != NULL);
    memset(place, 0, MLTCP_NAME_BYTES);
    memcpy(place, name, strlen(name));
    struct bpf_object *object = weft_bpf_open(image, bpf_mltcp_bytes, error);
    free(image);
    return object;
}

static struct bpf_map *map_of(const struct bpf_object *object, const char *name)
{
    struct bpf_map *map = bpf_object__find_map_by_name(object, name);
    WEFT_ASSERT(map != NULL);
    return map;
}

// Makes the loaded map a congestion control; -1 with errno set where the kernel does not.
static int make_link(struct bpf_map *map, struct bpf_link **made)
{
    *made = bpf_map__attach_struct_ops(map);
    if (*made == NULL) {
        return -1;
    }
    // Since 1.2 libbpf makes the link itself.
    if (libbpf_major_version() > 1 || libbpf_minor_version() >= 2) {
        return dup(bpf_link__fd(*made));
    }
    return bpf_link_create(bpf_map__fd(map), 0, ATTACH_STRUCT_OPS, NULL);
}

// Loads and registers; with `linked` by a link. *refused: nothing was registered.
static bool open_as(struct weft_cc *cc, const char *name, const struct mltcp_parameters *packed,
                    bool linked, struct weft_error *error)
{
    struct bpf_object *object = open_named(name, error);
    if (object == NULL) {
        return false;
    }
    struct bpf_map *map = map_of(object, "congestion");
    bpf_map__set_map_flags(map, linked ? MAP_FLAG_LINK : 0);
    int failed =
        bpf_map__set_initial_value(map_of(object, ".data.parameters"), packed, sizeof *packed);
    WEFT_ASSERT(failed == 0);
    failed = bpf_object__load(object);
    if (failed != 0) {
        bpf_object__close(object);
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "the kernel refuses the program of '%s': %s; `dmesg` may say more", name,
                         strerror(-failed));
    }
    struct bpf_link *made = NULL;
    int link = linked ? make_link(map, &made) : -1;
    if (!linked) {
        made = bpf_map__attach_struct_ops(map);
    }
    int reason = errno;
    if (made != NULL) {
        bpf_link__disconnect(made); // stays attached
        bpf_link__destroy(made);
    }
    if (linked ? link < 0 : made == NULL) {
        bpf_object__close(object);
        return weft_fail(error, WEFT_UNSUPPORTED, "the kernel does not register '%s': %s", name,
                         reason == EEXIST ? "the name is taken; choose another" : strerror(reason));
    }
    *cc =
        (struct weft_cc){.object = object, .map = bpf_map__fd(map), .link = link, .linked = linked};
    return true;
}

// Tries with a link first, which ends with the program even when that is killed; kernels before 6.4
// lack links for congestion controls, and their refusal of both is reported as that of the first.
bool weft_cc_open(struct weft_cc *cc, const char *name, const struct weft_cc_parameters *parameters,
                  struct weft_error *error)
{
    if (!weft_cc_check_name(name, error) || !weft_cc_check(parameters, error) ||
        !weft_cc_capable(error)) {
        return false;
    }
    if (weft_cc_registered(name)) {
        weft_fail(error, WEFT_UNSUPPORTED,
                  "a congestion control '%s' is registered already; choose another name, or "
                  "`weft cc unload` where weft loaded it",
                  name);
        return weft_remedy(error, "as", "NAME");
    }
    struct mltcp_parameters packed = weft_cc_pack(parameters);
    struct weft_error first;
    if (open_as(cc, name, &packed, true, &first)) {
        return true;
    }
    // Before 6.4 congestion controls have no links.
    if (open_as(cc, name, &packed, false, error)) {
        return true;
    }
    *error = first;
    return false;
}

void weft_cc_close(struct weft_cc *cc)
{
    uint32_t first = 0;
    if (cc->linked) {
        close(cc->link);
    } else {
        bpf_map_delete_elem(cc->map, &first);
    }
    bpf_object__close(cc->object);
    *cc = (struct weft_cc){.map = -1, .link = -1};
}
