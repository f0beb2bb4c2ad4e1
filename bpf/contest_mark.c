// SPDX-License-Identifier: Apache-2.0
// The classifier that marks packets before a long queue.

#include "cc_internal.h"
#include "contest_internal.h"
#include "embedded.h"

#include <string.h>

bool contest_mark(struct contest_stage *stage, uint32_t mark_packets, struct weft_error *error)
{
    struct bpf_object *object = cc_open_object(bpf_mark, bpf_mark_bytes, error);
    if (object == NULL) {
        return false;
    }
    int failed = bpf_object__load(object);
    if (failed != 0) {
        bpf_object__close(object);
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "--ecn: the kernel refuses the program that marks: %s; it needs Linux "
                         "6.2 or later",
                         strerror(-failed));
    }
    stage->marker = object;
    stage->marks = bpf_object__find_map_fd_by_name(object, "marks");
    uint32_t first = 0;
    uint64_t threshold = mark_packets;
    return bpf_map_update_elem(stage->marks, &first, &threshold, BPF_ANY) == 0 ||
           weft_fail(error, WEFT_IO, "--ecn: cannot write a BPF map");
}

int contest_marker_program(const struct contest_stage *stage)
{
    const struct bpf_program *program =
        bpf_object__find_program_by_name(stage->marker, "weft_mark");
    WEFT_ASSERT(program != NULL);
    return bpf_program__fd(program);
}

bool contest_marks(uint64_t counts[4], const struct contest_stage *stage)
{
    for (uint32_t i = 0; i < 4; i++) {
        if (bpf_map_lookup_elem(stage->marks, &i, &counts[i]) != 0) {
            return false;
        }
    }
    return true;
}
