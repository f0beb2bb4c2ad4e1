// SPDX-License-Identifier: Apache-2.0
// Several switches behind one table of functions (bank.h).

#include "bank.h"

struct bank {
    uint32_t count, ports; // switches, and ports of each
    struct weft_ocs planes[WEFT_LAB_PORTS_MAX];
};

typedef bool (*batch)(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                      struct weft_error *error);

// A batch switch by switch.
static bool divide(struct bank *bank, bool makes, const struct weft_ocs_circuit *circuits,
                   uint32_t count, struct weft_error *error)
{
    struct weft_ocs_circuit own[WEFT_OCS_PORTS_MAX];
    for (uint32_t p = 0; p < bank->count; p++) {
        const struct weft_ocs_driver *driver = bank->planes[p].driver;
        batch apply = makes ? driver->make : driver->remove;
        uint32_t kept = 0;
        for (uint32_t c = 0; c < count; c++) {
            if (circuits[c].input / bank->ports == p) {
                uint32_t output = circuits[c].output;
                own[kept++] = (struct weft_ocs_circuit){circuits[c].input % bank->ports,
                                                        output == WEFT_NONE ? WEFT_NONE
                                                                            : output % bank->ports};
            }
        }
        if (kept > 0 && !apply(bank->planes[p].device, own, kept, error)) {
            return false;
        }
    }
    return true;
}

static bool bank_remove(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                        struct weft_error *error)
{
    return divide(device, false, circuits, count, error);
}

static bool bank_make(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                      struct weft_error *error)
{
    return divide(device, true, circuits, count, error);
}

static bool bank_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    struct bank *bank = device;
    for (uint32_t p = 0; p < bank->count; p++) {
        uint32_t *own = outputs + (size_t)p * bank->ports;
        if (!bank->planes[p].driver->read(bank->planes[p].device, own, error)) {
            return false;
        }
        for (uint32_t i = 0; i < bank->ports; i++) {
            own[i] = own[i] == WEFT_NONE ? WEFT_NONE : own[i] + p * bank->ports;
        }
    }
    return true;
}

static bool bank_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    struct bank *bank = device;
    for (uint32_t p = 0; p < bank->count; p++) {
        if (!bank->planes[p].driver->statistics(bank->planes[p].device,
                                                ports + (size_t)p * bank->ports, error)) {
            return false;
        }
    }
    return true;
}

static void bank_close(void *device)
{
    struct bank *bank = device;
    for (uint32_t p = 0; p < bank->count; p++) {
        weft_ocs_close(&bank->planes[p]);
    }
}

bool lab_bank_open(struct weft_ocs *ocs, const struct weft_lab *lab, struct weft_arena *arena,
                   struct weft_error *error)
{
    static const struct weft_ocs_driver driver = {
        .name = "bank",
        .remove = bank_remove,
        .make = bank_make,
        .read = bank_read,
        .statistics = bank_statistics,
        .close = bank_close,
    };
    if (lab->ocs_count <= 1) {
        return weft_lab_open_ocs(ocs, lab, 0, arena, error);
    }
    if (!weft_lab_has_programs(lab)) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "%u switches that turn at once need programs in the kernel, which are not "
                         "permitted here; take one circuit a server",
                         lab->ocs_count);
    }
    struct bank *bank = WEFT_NEW(arena, struct bank, 1);
    bank->ports = lab->server_count;
    for (; bank->count < lab->ocs_count; bank->count++) {
        if (!weft_lab_open_ocs(&bank->planes[bank->count], lab, bank->count, arena, error)) {
            bank_close(bank);
            return false;
        }
    }
    *ocs = (struct weft_ocs){
        .driver = &driver, .device = bank, .port_count = bank->count * bank->ports};
    return true;
}
