// SPDX-License-Identifier: Apache-2.0
// A congestion control for the sockets of a cgroup: loads cgroup.bpf.c, writes the name into its
// map, attaches it to the folder of the cgroup, and pins the attachment, which ends when the pin
// goes.

#include "bpf/embedded.h"
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool attach(const struct bpf_object *object, const char *name, int folder,
                   struct weft_error *error)
{
    char value[MLTCP_NAME_BYTES] = {0};
    memcpy(value, name, strlen(name));
    uint32_t first = 0;
    const struct bpf_map *map = bpf_object__find_map_by_name(object, "chosen");
    struct bpf_program *program = bpf_object__find_program_by_name(object, "weft_cgroup");
    WEFT_ASSERT(map != NULL && program != NULL);
    if (bpf_map_update_elem(bpf_map__fd(map), &first, value, BPF_ANY) != 0) {
        return weft_fail(error, WEFT_IO, "cannot write a BPF map: %s", strerror(errno));
    }
    struct bpf_link *link = bpf_program__attach_cgroup(program, folder);
    if (link == NULL) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "the kernel does not attach to it: %s; name a folder of cgroup version 2",
                         strerror(errno));
    }
    char path[CC_PATH_BYTES];
    int failed = bpf_obj_pin(bpf_link__fd(link), cc_path(path, name, CC_PIN_CGROUP));
    int reason = errno;
    bpf_link__disconnect(link); // the pin holds it
    bpf_link__destroy(link);
    return failed == 0 || weft_fail(error, WEFT_IO, "cannot pin %s: %s", path, strerror(reason));
}

bool cc_attach_cgroup(const char *name, const char *cgroup, struct weft_error *error)
{
    int folder = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return weft_fail(error, WEFT_INPUT,
                         "cgroup %.200s: %s; name a folder of cgroup "
                         "version 2, /sys/fs/cgroup/... say",
                         cgroup, strerror(errno));
    }
    struct bpf_object *object = weft_bpf_open(bpf_cgroup, bpf_cgroup_bytes, error);
    if (object == NULL) {
        close(folder);
        return false;
    }
    int failed = bpf_object__load(object);
    bool fine = failed == 0 ? attach(object, name, folder, error)
                            : weft_fail(error, WEFT_UNSUPPORTED,
                                        "the kernel refuses the program for cgroups: %s",
                                        strerror(-failed));
    bpf_object__close(object);
    close(folder);
    return fine || weft_wrap(error, "cgroup %.100s", cgroup);
}
