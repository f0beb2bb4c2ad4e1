// SPDX-License-Identifier: Apache-2.0
// Loads the program that picks requests out, puts it on an interface and reads its counts.

#include "requests.h"
#include "bpf/embedded.h"
#include "bpf/object.h"

#include <errno.h>
#include <linux/if_link.h>
#include <string.h>
#include <unistd.h>

static bool refused(struct weft_error *error, int number, const char *what)
{
    if (number == EPERM || number == EACCES) {
        return weft_fail(error, WEFT_UNSUPPORTED, "%s: %s; run as root", what,
                         strerrordesc_np(number));
    }
    return weft_fail(error, WEFT_UNSUPPORTED, "%s: %s; the kernel needs XDP (4.12)", what,
                     strerrordesc_np(number));
}

bool weft_bpf_requests_load(struct weft_bpf_requests *requests, uint32_t interface_index,
                            const struct requests_settings *settings, struct weft_arena *arena,
                            struct weft_error *error)
{
    struct bpf_object *object = weft_bpf_open(bpf_requests, bpf_requests_bytes, error);
    if (object == NULL) {
        return false;
    }
    struct bpf_map *constants = bpf_object__find_map_by_name(object, ".rodata");
    struct bpf_program *program = bpf_object__find_program_by_name(object, "weft_requests");
    WEFT_ASSERT(constants != NULL && program != NULL);
    int failed = bpf_map__set_initial_value(constants, settings, sizeof *settings);
    failed = failed != 0 ? failed : bpf_object__load(object);
    if (failed != 0) {
        bpf_object__close(object);
        return refused(error, -failed, "loading the program that picks requests out");
    }
    failed =
        bpf_xdp_attach((int)interface_index, bpf_program__fd(program), XDP_FLAGS_SKB_MODE, NULL);
    const int processors = libbpf_num_possible_cpus();
    const int counts = dup(bpf_object__find_map_fd_by_name(object, "requests_counts"));
    bpf_object__close(object); // the interface holds the program, which holds its map
    if (failed != 0 || counts < 0 || processors < 1) {
        if (counts >= 0) {
            close(counts);
        }
        return refused(error, failed != 0 ? -failed : ENOSYS,
                       "putting the program that picks requests out on an interface");
    }
    *requests = (struct weft_bpf_requests){counts, (uint32_t)processors,
                                           WEFT_NEW(arena, uint64_t, (size_t)processors)};
    return true;
}

void weft_bpf_requests_count(uint64_t counts[REQUESTS_COUNTS],
                             const struct weft_bpf_requests *requests)
{
    for (uint32_t i = 0; i < REQUESTS_COUNTS; i++) {
        if (bpf_map_lookup_elem(requests->counts_fd, &i, requests->rows) != 0) {
            continue;
        }
        counts[i] = 0;
        for (uint32_t p = 0; p < requests->processor_count; p++) {
            counts[i] += requests->rows[p];
        }
    }
}

void weft_bpf_requests_close(struct weft_bpf_requests *requests)
{
    close(requests->counts_fd);
    requests->counts_fd = -1;
}
