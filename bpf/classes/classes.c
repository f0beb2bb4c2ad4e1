// SPDX-License-Identifier: Apache-2.0
// Loads the classifier that sorts gradients, and reads its counts.
//
// One program serves all ports of a lab: its settings are constants of the program, its counts one
// array for each processor, which other processes find by its number in the kernel.

#include "classes.h"
#include "bpf/embedded.h"
#include "bpf/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool weft_classifier_load(struct weft_classifier *classifier,
                          const struct classes_settings *settings, struct weft_error *error)
{
    WEFT_ASSERT(settings->queues >= 1 && settings->queues <= CLASSES_QUEUES_MAX);
    WEFT_ASSERT(settings->layers >= 1 && settings->threshold_packets >= 1);
    struct bpf_object *object = weft_bpf_open(bpf_classes, bpf_classes_bytes, error);
    if (object == NULL) {
        return false;
    }
    struct bpf_map *constants = bpf_object__find_map_by_name(object, ".rodata");
    WEFT_ASSERT(constants != NULL);
    int failed = bpf_map__set_initial_value(constants, settings, sizeof *settings);
    failed = failed != 0 ? failed : bpf_object__load(object);
    if (failed != 0) {
        bpf_object__close(object);
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "the kernel refuses the program that sorts gradients: %s; it needs %s",
                         strerrordesc_np(-failed),
                         failed == -EPERM ? "root: leave out --classes" : "Linux 6.2 or later");
    }
    const struct bpf_program *program = bpf_object__find_program_by_name(object, "weft_classes");
    int counts = bpf_object__find_map_fd_by_name(object, "classes_counts");
    WEFT_ASSERT(program != NULL && counts >= 0);
    *classifier =
        (struct weft_classifier){object, bpf_program__fd(program), weft_bpf_map_id(counts)};
    return true;
}

void weft_classifier_close(struct weft_classifier *classifier)
{
    bpf_object__close(classifier->object);
    *classifier = (struct weft_classifier){.program_fd = -1};
}

// A row summed over the processors.
static bool read_row(struct classes_count *sum, int map, uint32_t row, struct classes_count *each,
                     int processor_count)
{
    *sum = (struct classes_count){0};
    if (bpf_map_lookup_elem(map, &row, each) != 0) {
        return false;
    }
    for (int i = 0; i < processor_count; i++) {
        sum->packets += each[i].packets;
        sum->bytes += each[i].bytes;
        sum->dropped += each[i].dropped;
        sum->marked += each[i].marked;
        sum->longest = each[i].longest > sum->longest ? each[i].longest : sum->longest;
    }
    return true;
}

bool weft_classifier_counts(struct classes_count *counts, uint32_t id, struct weft_error *error)
{
    struct bpf_map_info info = {0};
    uint32_t size = sizeof info;
    int processor_count = libbpf_num_possible_cpus();
    int map = bpf_map_get_fd_by_id(id);
    struct classes_count *each =
        processor_count > 0 ? calloc((size_t)processor_count, sizeof *each) : NULL;
    // Numbers are given anew after a map has gone.
    bool fine = map >= 0 && each != NULL && bpf_obj_get_info_by_fd(map, &info, &size) == 0 &&
                strcmp(info.name, "classes_counts") == 0 && info.max_entries == CLASSES_ROWS &&
                info.value_size == sizeof *each;
    for (uint32_t row = 0; row < CLASSES_ROWS && fine; row++) {
        fine = read_row(&counts[row], map, row, each, processor_count);
    }
    free(each);
    if (map >= 0) {
        close(map);
    }
    return fine || weft_fail(error, WEFT_IO,
                             "the counts of classes are gone, or root's alone; run as root");
}
