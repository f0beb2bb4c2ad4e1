// SPDX-License-Identifier: Apache-2.0
// What a switch answers by RESTCONF: any bytes are circuits, ports or light, or one line of
// complaint; circuits that were read are the same after they were written and read again.

#include "fuzz.h"

#include "runtime/ocs/yang.h"

enum { PORTS = 8 };

// The device is to blame, not the user.
static void check_refusal(const struct weft_error *error)
{
    WEFT_ASSERT(error->code == WEFT_IO);
    fuzz_check_line(error);
}

// Writes them and reads them again: the same.
static void check_round_trip(const uint32_t *outputs, struct weft_arena arena)
{
    struct weft_error error;
    uint32_t again[PORTS];
    const char *text = weft_yang_write_circuits(outputs, PORTS, &arena);
    WEFT_ASSERT(weft_yang_read_circuits(again, PORTS, text, strlen(text), &error));
    WEFT_ASSERT(memcmp(outputs, again, sizeof again) == 0);
    uint32_t count = 0;
    text = weft_yang_write_ports(PORTS, &arena);
    WEFT_ASSERT(weft_yang_read_port_count(&count, text, strlen(text), &error) && count == PORTS);
    struct weft_ocs_port ports[PORTS];
    struct weft_ocs_port levels[PORTS];
    for (uint32_t i = 0; i < PORTS; i++) {
        levels[i] = (struct weft_ocs_port){.input_dbm = -2.5, .output_dbm = -0.1 * i};
    }
    text = weft_yang_write_power(levels, PORTS, &arena);
    WEFT_ASSERT(weft_yang_read_power(ports, PORTS, text, strlen(text), &error));
    for (uint32_t i = 0; i < PORTS; i++) {
        WEFT_ASSERT(ports[i].has_input_dbm && ports[i].has_output_dbm);
        WEFT_ASSERT(ports[i].input_dbm == -2.5);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    uint32_t outputs[PORTS];
    uint32_t count = 77;
    struct weft_ocs_port ports[PORTS];
    fuzz_open(&desk);
    if (weft_yang_read_circuits(outputs, PORTS, text, size, &error)) {
        check_round_trip(outputs, desk.arena);
    } else {
        check_refusal(&error);
    }
    for (uint32_t i = 0; i < PORTS; i++) {
        outputs[i] = WEFT_NONE;
    }
    if (weft_yang_read_pairs(outputs, PORTS, text, size, &error)) {
        check_round_trip(outputs, desk.arena);
    } else {
        check_refusal(&error);
    }
    if (weft_yang_read_port_count(&count, text, size, &error)) {
        WEFT_ASSERT(count >= 1 && count <= WEFT_OCS_PORTS_MAX);
    } else {
        WEFT_ASSERT(count == 77);
        check_refusal(&error);
    }
    if (!weft_yang_read_power(ports, PORTS, text, size, &error)) {
        check_refusal(&error);
    }
    fuzz_close(&desk);
    return 0;
}
