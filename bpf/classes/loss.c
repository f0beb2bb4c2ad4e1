// SPDX-License-Identifier: Apache-2.0
// Loads programs that lose packets by chance, and sets and reads them later by their numbers. The
// kernel tells which map a program has, so that nobody keeps books of it.

#include "loss.h"
#include "bpf/embedded.h"
#include "bpf/object.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

bool weft_loss_load(int *program_fd, uint32_t *program_id, struct weft_error *error)
{
    struct bpf_prog_info info = {0};
    uint32_t size = sizeof info;
    struct bpf_object *object = weft_bpf_open(bpf_loss, bpf_loss_bytes, error);
    if (object == NULL) {
        return false;
    }
    int failed = bpf_object__load(object);
    if (failed != 0) {
        bpf_object__close(object);
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "the kernel refuses the program that loses packets: %s; it needs %s",
                         strerrordesc_np(-failed),
                         failed == -EPERM ? "root: run it as root" : "eBPF classifiers");
    }
    const struct bpf_program *program = bpf_object__find_program_by_name(object, "weft_loss");
    WEFT_ASSERT(program != NULL);
    int fd = dup(bpf_program__fd(program));
    bpf_object__close(object); // the descriptor holds the program, and later the filter
    if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) != 0) {
        int number = errno;
        if (fd >= 0) {
            close(fd);
        }
        return weft_fail(error, WEFT_IO, "the program that loses packets: %s",
                         strerrordesc_np(number));
    }
    *program_fd = fd;
    *program_id = info.id;
    return true;
}

// The map of a program of ours; -1 = there is none of this number.
static int open_map(uint32_t program_id)
{
    uint32_t map_id = 0;
    struct bpf_prog_info info = {.nr_map_ids = 1, .map_ids = (uintptr_t)&map_id};
    uint32_t size = sizeof info;
    int program = bpf_prog_get_fd_by_id(program_id);
    if (program < 0) {
        return -1;
    }
    bool found = bpf_obj_get_info_by_fd(program, &info, &size) == 0 && info.nr_map_ids == 1 &&
                 strcmp(info.name, "weft_loss") == 0;
    close(program);
    return found ? bpf_map_get_fd_by_id(map_id) : -1;
}

static bool gone(struct weft_error *error)
{
    return weft_fail(error, WEFT_IO,
                     "the program that loses packets is gone, or root's alone; run as root");
}

bool weft_loss_read(struct classes_loss *loss, uint32_t program_id, struct weft_error *error)
{
    uint64_t values[CLASSES_LOSS_ROWS] = {0};
    int map = open_map(program_id);
    bool fine = map >= 0;
    for (uint32_t row = 0; row < CLASSES_LOSS_ROWS && fine; row++) {
        fine = bpf_map_lookup_elem(map, &row, &values[row]) == 0;
    }
    if (map >= 0) {
        close(map);
    }
    if (!fine) {
        return gone(error);
    }
    *loss = (struct classes_loss){
        .probability = ldexp((double)values[CLASSES_LOSS_THRESHOLD], -32),
        .packets = values[CLASSES_LOSS_PACKETS],
        .lost = values[CLASSES_LOSS_LOST],
    };
    return true;
}

bool weft_loss_set(uint32_t program_id, double probability, struct weft_error *error)
{
    WEFT_ASSERT(probability >= 0 && probability <= 1);
    uint32_t row = CLASSES_LOSS_THRESHOLD;
    uint64_t threshold = (uint64_t)rint(ldexp(probability, 32));
    int map = open_map(program_id);
    bool fine = map >= 0 && bpf_map_update_elem(map, &row, &threshold, BPF_ANY) == 0;
    if (map >= 0) {
        close(map);
    }
    return fine || gone(error);
}
