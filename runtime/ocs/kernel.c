// SPDX-License-Identifier: Apache-2.0
// The optical switch in the kernel: loads bpf/ocs.bpf.c and writes circuits through memory that
// the program reads.

#include "bpf/embedded.h"
#include "ocs.h"
#include "bpf/ocs_types.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// ---- loading ----

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

static int say_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
    (void)level;
    (void)format;
    (void)arguments;
    return 0;
}

static uint32_t map_id(struct bpf_object *object, const char *name)
{
    struct bpf_map_info info = {0};
    uint32_t size = sizeof info;
    int fd = bpf_object__find_map_fd_by_name(object, name);
    return fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 ? info.id : 0;
}

bool weft_ocs_load(struct weft_ocs_kernel *kernel, uint32_t port_count, uint32_t first_index,
                   struct weft_error *error)
{
    WEFT_ASSERT(port_count > 0 && port_count <= WEFT_OCS_PORTS_MAX && first_index > 0);
    libbpf_set_print(say_nothing);
    struct bpf_object *object = bpf_object__open_mem(bpf_ocs, bpf_ocs_bytes, NULL);
    if (object == NULL) {
        return refused(error, errno, "the switch's program");
    }
    if (!shape(object, port_count, first_index) || bpf_object__load(object) != 0) {
        int number = errno;
        bpf_object__close(object);
        return refused(error, number, "loading the switch's program");
    }
    struct bpf_program *program = bpf_object__find_program_by_name(object, "weft_ocs");
    int fd = dup(bpf_program__fd(program));
    *kernel = (struct weft_ocs_kernel){
        .program_fd = fd,
        .circuits_id = map_id(object, "ocs_circuits"),
        .counts_id = map_id(object, "ocs_counts"),
    };
    // The program holds its tables, and its file descriptor, later its filters, hold it.
    bpf_object__close(object);
    return fd >= 0 || refused(error, errno, "the switch's program");
}

// ---- the driver ----

struct kernel_switch {
    int circuits_fd;
    int counts_fd;
    uint32_t port_count;
    uint32_t first_index;
    uint64_t dark_ns;
    uint32_t processor_count;
    size_t mapped_bytes;
    volatile struct ocs_circuit *circuits;
    struct ocs_count *row; // processor_count
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool kernel_change(void *device, const struct weft_ocs_circuit *changes, uint32_t count,
                          struct weft_error *error)
{
    (void)error;
    struct kernel_switch *self = device;
    for (uint32_t i = 0; i < count; i++) {
        WEFT_ASSERT(changes[i].input < self->port_count);
        __atomic_store_n(&self->circuits[changes[i].input].output_index, 0, __ATOMIC_RELEASE);
    }
    uint64_t dark_until_ns = self->dark_ns == 0 ? 0 : now_ns() + self->dark_ns;
    for (uint32_t i = 0; i < count; i++) {
        volatile struct ocs_circuit *circuit = &self->circuits[changes[i].input];
        if (changes[i].output == WEFT_NONE) {
            continue;
        }
        WEFT_ASSERT(changes[i].output < self->port_count);
        __atomic_store_n(&circuit->dark_until_ns, dark_until_ns, __ATOMIC_RELEASE);
        __atomic_store_n(&circuit->first_ns, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&circuit->output_index, self->first_index + changes[i].output,
                         __ATOMIC_RELEASE);
    }
    return true;
}

static bool kernel_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    struct kernel_switch *self = device;
    for (uint32_t i = 0; i < self->port_count; i++) {
        uint32_t index = self->circuits[i].output_index;
        if (index != 0 && index - self->first_index >= self->port_count) {
            return weft_fail(error, WEFT_IO, "input %u: interface %u is no port of the switch", i,
                             index);
        }
        outputs[i] = index == 0 ? WEFT_NONE : index - self->first_index;
    }
    return true;
}

static bool kernel_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    struct kernel_switch *self = device;
    for (uint32_t i = 0; i < self->port_count; i++) {
        if (bpf_map_lookup_elem(self->counts_fd, &i, self->row) != 0) {
            return refused(error, errno, "counters of the switch");
        }
        ports[i] = (struct weft_ocs_port){.first_ns = self->circuits[i].first_ns};
        for (uint32_t p = 0; p < self->processor_count; p++) {
            ports[i].packets += self->row[p].packets;
            ports[i].bytes += self->row[p].bytes;
            ports[i].dark_packets += self->row[p].dark_packets;
            ports[i].unlit_packets += self->row[p].unlit_packets;
        }
    }
    return true;
}

static void kernel_close(void *device)
{
    struct kernel_switch *self = device;
    munmap((void *)(uintptr_t)self->circuits, self->mapped_bytes);
    close(self->circuits_fd);
    close(self->counts_fd);
}

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

bool weft_ocs_open_kernel(struct weft_ocs *ocs, const struct weft_ocs_kernel *kernel,
                          uint32_t port_count, uint32_t first_index, uint64_t dark_ns,
                          struct weft_arena *arena, struct weft_error *error)
{
    static const struct weft_ocs_driver driver = {
        "kernel", kernel_change, kernel_read, kernel_statistics, kernel_close,
    };
    int processors = libbpf_num_possible_cpus();
    struct kernel_switch *self = WEFT_NEW(arena, struct kernel_switch, 1);
    *self = (struct kernel_switch){
        .circuits_fd =
            open_table(kernel->circuits_id, "ocs_circuits", port_count, sizeof(struct ocs_circuit)),
        .counts_fd =
            open_table(kernel->counts_id, "ocs_counts", port_count, sizeof(struct ocs_count)),
        .port_count = port_count,
        .first_index = first_index,
        .dark_ns = dark_ns,
        .processor_count = processors > 0 ? (uint32_t)processors : 1,
    };
    size_t page = (size_t)getpagesize();
    size_t bytes = port_count * sizeof(struct ocs_circuit);
    self->mapped_bytes = (bytes + page - 1) / page * page;
    void *memory = MAP_FAILED;
    if (self->circuits_fd >= 0 && self->counts_fd >= 0) {
        memory = mmap(NULL, self->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                      self->circuits_fd, 0);
    }
    if (memory == MAP_FAILED) {
        int number = errno;
        if (self->circuits_fd >= 0) {
            close(self->circuits_fd);
        }
        if (self->counts_fd >= 0) {
            close(self->counts_fd);
        }
        return number == ENOENT
                   ? weft_fail(error, WEFT_IO,
                               "the switch's program is gone; weft lab down, then weft lab up")
                   : refused(error, number, "tables of the switch");
    }
    self->circuits = memory;
    self->row = WEFT_NEW(arena, struct ocs_count, self->processor_count);
    *ocs = (struct weft_ocs){&driver, self, port_count};
    return true;
}
