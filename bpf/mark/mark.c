// SPDX-License-Identifier: Apache-2.0
// Loads the classifier that marks packets, and reads its counts.
//
// One program serves all links of a lab: its threshold and counts are one array, which other
// processes find by its number in the kernel.

#include "mark.h"
#include "bpf/embedded.h"
#include "bpf/object.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool weft_marker_load(struct weft_marker *marker, uint32_t packets, struct weft_error *error)
{
    struct bpf_object *object = weft_bpf_open(bpf_mark, bpf_mark_bytes, error);
    if (object == NULL) {
        return false;
    }
    int failed = bpf_object__load(object);
    if (failed != 0) {
        bpf_object__close(object);
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "the kernel refuses the program that marks packets: %s; it needs %s",
                         strerror(-failed),
                         failed == -EPERM ? "root: leave out --ecn" : "Linux 6.2 or later");
    }
    const struct bpf_program *program = bpf_object__find_program_by_name(object, "weft_mark");
    int marks = bpf_object__find_map_fd_by_name(object, "marks");
    WEFT_ASSERT(program != NULL && marks >= 0);
    uint32_t first = 0;
    uint64_t threshold = packets;
    if (bpf_map_update_elem(marks, &first, &threshold, BPF_ANY) != 0) {
        bpf_object__close(object);
        return weft_fail(error, WEFT_IO, "marks of packets: cannot write a BPF map");
    }
    *marker = (struct weft_marker){object, bpf_program__fd(program), marks, weft_bpf_map_id(marks)};
    return true;
}

bool weft_marker_counts(uint64_t counts[4], const struct weft_marker *marker)
{
    for (uint32_t i = 0; i < 4; i++) {
        if (bpf_map_lookup_elem(marker->marks, &i, &counts[i]) != 0) {
            return false;
        }
    }
    return true;
}

bool weft_marker_total(uint64_t *marked, uint32_t id, struct weft_error *error)
{
    int map = bpf_map_get_fd_by_id(id);
    uint32_t cell = 1;
    bool fine = map >= 0 && bpf_map_lookup_elem(map, &cell, marked) == 0;
    if (map >= 0) {
        close(map);
    }
    return fine || weft_fail(error, WEFT_IO, "the counts of marks are gone");
}

void weft_marker_close(struct weft_marker *marker)
{
    bpf_object__close(marker->object);
    *marker = (struct weft_marker){.program_fd = -1, .marks = -1};
}
