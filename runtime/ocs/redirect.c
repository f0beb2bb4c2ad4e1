// SPDX-License-Identifier: Apache-2.0
// The driver of an optical switch whose circuits are filters of the kernel's own (tc's mirred), one
// on each input. It needs CAP_NET_ADMIN over the namespace of the switch and no program in the
// kernel, so that it works in a user namespace and where Weft was built without eBPF.
//
// A change is a message a circuit, some microseconds each. Inputs that change go dark first; where
// the switch has a dark time, the change takes that long.

#include "ocs.h"

#include "runtime/netlink/netlink.h"

#include <errno.h>
#include <time.h>

enum { PRIORITY = 1 };

struct redirecting_switch {
    struct weft_netlink netlink;
    uint32_t port_count;
    uint32_t first_index;
    uint64_t dark_ns;
};

static void stay_dark(uint64_t dark_ns)
{
    struct timespec left = {.tv_sec = (time_t)(dark_ns / 1000000000u),
                            .tv_nsec = (long)(dark_ns % 1000000000u)};
    while (dark_ns > 0 && nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

static bool redirect_remove(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                            struct weft_error *error)
{
    struct redirecting_switch *self = device;
    bool fine = true;
    for (uint32_t i = 0; i < count && fine; i++) {
        WEFT_ASSERT(circuits[i].input < self->port_count);
        fine = weft_filter_delete(&self->netlink, self->first_index + circuits[i].input, false,
                                  PRIORITY, error);
    }
    return fine;
}

static bool redirect_make(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                          struct weft_error *error)
{
    struct redirecting_switch *self = device;
    bool fine = true;
    stay_dark(self->dark_ns);
    for (uint32_t i = 0; i < count && fine; i++) {
        WEFT_ASSERT(circuits[i].input < self->port_count);
        WEFT_ASSERT(circuits[i].output < self->port_count);
        fine = weft_filter_redirect(&self->netlink, self->first_index + circuits[i].input,
                                    self->first_index + circuits[i].output, PRIORITY, error);
    }
    return fine;
}

static bool redirect_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    struct redirecting_switch *self = device;
    for (uint32_t i = 0; i < self->port_count; i++) {
        uint32_t index = 0;
        if (!weft_filter_redirected(&index, &self->netlink, self->first_index + i, error)) {
            return false;
        }
        if (index != 0 && index - self->first_index >= self->port_count) {
            return weft_fail(error, WEFT_IO, "input %u: interface %u is no port of the switch", i,
                             index);
        }
        outputs[i] = index == 0 ? WEFT_NONE : index - self->first_index;
    }
    return true;
}

// What entered, passed or not: the kernel does not count what a port without a filter loses.
static bool redirect_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    struct redirecting_switch *self = device;
    for (uint32_t i = 0; i < self->port_count; i++) {
        struct weft_link_counters link;
        if (!weft_link_counters(&link, &self->netlink, self->first_index + i, error)) {
            return false;
        }
        ports[i] =
            (struct weft_ocs_port){.packets = link.received_packets, .bytes = link.received_bytes};
    }
    return true;
}

static void redirect_close(void *device)
{
    struct redirecting_switch *self = device;
    weft_netlink_close(&self->netlink);
}

bool weft_ocs_open_redirect(struct weft_ocs *ocs, const struct weft_ocs_redirect *redirect,
                            struct weft_arena *arena, struct weft_error *error)
{
    static const struct weft_ocs_driver driver = {
        .name = "redirect",
        .remove = redirect_remove,
        .make = redirect_make,
        .read = redirect_read,
        .statistics = redirect_statistics,
        .close = redirect_close,
    };
    struct redirecting_switch *self = WEFT_NEW(arena, struct redirecting_switch, 1);
    *self = (struct redirecting_switch){
        .port_count = redirect->port_count,
        .first_index = redirect->first_index,
        .dark_ns = redirect->dark_ns,
    };
    if (!weft_netlink_open(&self->netlink, redirect->netns, error)) {
        return false;
    }
    *ocs = (struct weft_ocs){.driver = &driver, .device = self, .port_count = redirect->port_count};
    return true;
}
