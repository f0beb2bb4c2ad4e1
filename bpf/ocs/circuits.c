// SPDX-License-Identifier: Apache-2.0
// Loads the optical switch of the lab's data path into the kernel, and opens its tables.
//
// The circuits are an array map that is mapped into memory (BPF_F_MMAPABLE): a change is a store,
// not a system call, so that a batch of circuits moves within microseconds. The counts are kept for
// each processor apart, so that ports do not contend for a cache line.

#include "circuits.h"
#include "bpf/embedded.h"
#include "bpf/object.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool refused(struct weft_error *error, int number, const char *what)
{
    if (number == EPERM || number == EACCES) {
        return weft_fail(error, WEFT_UNSUPPORTED, "%s: %s; run as root", what,
                         strerrordesc_np(number));
    }
    return weft_fail(error, WEFT_UNSUPPORTED,
                     "%s: %s; the kernel needs eBPF with redirection between namespaces (5.10)",
                     what, strerrordesc_np(number));
}

// ---- loading ----

// Sizes of tables and the first interface are set before loading; afterwards they are fixed.
static bool shape(struct bpf_object *object, uint32_t port_count, uint32_t first_index)
{
    struct bpf_map *circuits = bpf_object__find_map_by_name(object, "ocs_circuits");
    struct bpf_map *counts = bpf_object__find_map_by_name(object, "ocs_counts");
    struct bpf_map *constants = bpf_object__find_map_by_name(object, ".rodata");
    struct bpf_program *program = bpf_object__find_program_by_name(object, "weft_ocs");
    WEFT_ASSERT(circuits != NULL && counts != NULL && constants != NULL && program != NULL);
    return bpf_map__set_max_entries(circuits, port_count) == 0 &&
           bpf_map__set_max_entries(counts, port_count) == 0 &&
           bpf_map__set_initial_value(constants, &first_index, sizeof first_index) == 0 &&
           bpf_program__set_type(program, BPF_PROG_TYPE_SCHED_CLS) == 0;
}

bool weft_bpf_ocs_load(struct weft_bpf_ocs *ocs, uint32_t port_count, uint32_t first_index,
                       struct weft_error *error)
{
    WEFT_ASSERT(port_count > 0 && first_index > 0);
    struct bpf_object *object = weft_bpf_open(bpf_ocs, bpf_ocs_bytes, error);
    if (object == NULL) {
        return false;
    }
    if (!shape(object, port_count, first_index) || bpf_object__load(object) != 0) {
        int number = errno;
        bpf_object__close(object);
        return refused(error, number, "loading the switch's program");
    }
    struct bpf_program *program = bpf_object__find_program_by_name(object, "weft_ocs");
    int fd = dup(bpf_program__fd(program));
    *ocs = (struct weft_bpf_ocs){
        .program_fd = fd,
        .circuits_id = weft_bpf_map_id(bpf_object__find_map_fd_by_name(object, "ocs_circuits")),
        .counts_id = weft_bpf_map_id(bpf_object__find_map_fd_by_name(object, "ocs_counts")),
    };
    // The program holds its tables, and its file descriptor, later its filters, hold it.
    bpf_object__close(object);
    return fd >= 0 || refused(error, errno, "the switch's program");
}

// ---- tables ----

// The map of this number, if it is still the table that is looked for: numbers are given anew
// after a map has gone. -1 with errno.
static int open_table(uint32_t id, const char *name, uint32_t rows, size_t row_bytes)
{
    struct bpf_map_info info = {0};
    uint32_t size = sizeof info;
    int fd = bpf_map_get_fd_by_id(id);
    if (fd < 0) {
        return -1;
    }
    if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && strcmp(info.name, name) == 0 &&
        info.max_entries == rows && info.value_size == row_bytes) {
        return fd;
    }
    close(fd);
    errno = ENOENT;
    return -1;
}

// Opens both tables by their numbers and maps the circuits into memory.
bool weft_bpf_ocs_open(struct weft_bpf_ocs_tables *tables, const struct weft_bpf_ocs *ocs,
                       uint32_t port_count, struct weft_error *error)
{
    size_t page = (size_t)getpagesize();
    size_t bytes = port_count * sizeof(struct ocs_circuit);
    int processors = libbpf_num_possible_cpus();
    struct weft_bpf_ocs_tables found = {
        .circuits_fd =
            open_table(ocs->circuits_id, "ocs_circuits", port_count, sizeof(struct ocs_circuit)),
        .counts_fd = open_table(ocs->counts_id, "ocs_counts", port_count, sizeof(struct ocs_count)),
        .port_count = port_count,
        .processor_count = processors > 0 ? (uint32_t)processors : 1,
        .mapped_bytes = (bytes + page - 1) / page * page,
    };
    void *memory = MAP_FAILED;
    if (found.circuits_fd >= 0 && found.counts_fd >= 0) {
        memory = mmap(NULL, found.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                      found.circuits_fd, 0);
    }
    if (memory == MAP_FAILED) {
        int number = errno;
        if (found.circuits_fd >= 0) {
            close(found.circuits_fd);
        }
        if (found.counts_fd >= 0) {
            close(found.counts_fd);
        }
        return number == ENOENT
                   ? weft_fail(error, WEFT_IO,
                               "the switch's program is gone; weft lab down, then weft lab up")
                   : refused(error, number, "tables of the switch");
    }
    found.circuits = memory;
    *tables = found;
    return true;
}

void weft_bpf_ocs_close(struct weft_bpf_ocs_tables *tables)
{
    munmap((void *)(uintptr_t)tables->circuits, tables->mapped_bytes);
    close(tables->circuits_fd);
    close(tables->counts_fd);
    *tables = (struct weft_bpf_ocs_tables){.circuits_fd = -1, .counts_fd = -1};
}

bool weft_bpf_ocs_count(struct ocs_count *count, const struct weft_bpf_ocs_tables *tables,
                        uint32_t port, struct ocs_count *rows, struct weft_error *error)
{
    if (bpf_map_lookup_elem(tables->counts_fd, &port, rows) != 0) {
        return refused(error, errno, "counters of the switch");
    }
    *count = (struct ocs_count){0};
    for (uint32_t p = 0; p < tables->processor_count; p++) {
        count->packets += rows[p].packets;
        count->bytes += rows[p].bytes;
        count->dark_packets += rows[p].dark_packets;
        count->unlit_packets += rows[p].unlit_packets;
    }
    return true;
}
