// SPDX-License-Identifier: Apache-2.0
// The driver of the optical switch in the lab's data path (bpf/ocs).
//
// A change is a few stores to memory that the kernel's program reads for each packet: first every
// input that changes goes dark, then each gets its dark time and its new output. No packet ever
// sees an output of one circuit with the times of another, because the output is written last.

#include "bpf/ocs/circuits.h"
#include "ocs.h"
#include "runtime/clock.h"

struct kernel_switch {
    struct weft_bpf_ocs_tables tables;
    uint32_t first_index;
    uint64_t dark_ns;
    struct ocs_count *rows; // room for the counts of one port
};

static bool kernel_remove(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                          struct weft_error *error)
{
    (void)error;
    struct kernel_switch *self = device;
    volatile struct ocs_circuit *table = self->tables.circuits;
    for (uint32_t i = 0; i < count; i++) {
        WEFT_ASSERT(circuits[i].input < self->tables.port_count);
        __atomic_store_n(&table[circuits[i].input].output_index, 0, __ATOMIC_RELEASE);
    }
    return true;
}

static bool kernel_make(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                        struct weft_error *error)
{
    (void)error;
    struct kernel_switch *self = device;
    uint64_t dark_until_ns = self->dark_ns == 0 ? 0 : lab_now_ns() + self->dark_ns;
    for (uint32_t i = 0; i < count; i++) {
        WEFT_ASSERT(circuits[i].input < self->tables.port_count);
        WEFT_ASSERT(circuits[i].output < self->tables.port_count);
        volatile struct ocs_circuit *circuit = &self->tables.circuits[circuits[i].input];
        __atomic_store_n(&circuit->dark_until_ns, dark_until_ns, __ATOMIC_RELEASE);
        __atomic_store_n(&circuit->first_ns, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&circuit->output_index, self->first_index + circuits[i].output,
                         __ATOMIC_RELEASE);
    }
    return true;
}

static bool kernel_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    struct kernel_switch *self = device;
    for (uint32_t i = 0; i < self->tables.port_count; i++) {
        uint32_t index = self->tables.circuits[i].output_index;
        if (index != 0 && index - self->first_index >= self->tables.port_count) {
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
    for (uint32_t i = 0; i < self->tables.port_count; i++) {
        struct ocs_count count;
        if (!weft_bpf_ocs_count(&count, &self->tables, i, self->rows, error)) {
            return false;
        }
        ports[i] = (struct weft_ocs_port){
            .packets = count.packets,
            .bytes = count.bytes,
            .dark_packets = count.dark_packets,
            .unlit_packets = count.unlit_packets,
            .first_ns = self->tables.circuits[i].first_ns,
        };
    }
    return true;
}

static void kernel_close(void *device)
{
    struct kernel_switch *self = device;
    weft_bpf_ocs_close(&self->tables);
}

bool weft_ocs_open_kernel(struct weft_ocs *ocs, const struct weft_ocs_kernel *kernel,
                          struct weft_arena *arena, struct weft_error *error)
{
    static const struct weft_ocs_driver driver = {
        .name = "kernel",
        .remove = kernel_remove,
        .make = kernel_make,
        .read = kernel_read,
        .statistics = kernel_statistics,
        .close = kernel_close,
    };
    struct kernel_switch *self = WEFT_NEW(arena, struct kernel_switch, 1);
    *self = (struct kernel_switch){.first_index = kernel->first_index, .dark_ns = kernel->dark_ns};
    if (!weft_bpf_ocs_open(&self->tables, &kernel->program, kernel->port_count, error)) {
        return false;
    }
    self->rows = WEFT_NEW(arena, struct ocs_count, self->tables.processor_count);
    *ocs = (struct weft_ocs){.driver = &driver, .device = self, .port_count = kernel->port_count};
    return true;
}
