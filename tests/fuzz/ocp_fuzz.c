// SPDX-License-Identifier: Apache-2.0
// Documents of the Open Compute Project's model of optical switches, and SONiC's files: any bytes
// are ports, circuits and light, or one line of complaint; what was edited has the circuits that it
// was given, and the others as before.

#include "fuzz.h"

#include "runtime/ocs/ocp.h"
#include "runtime/ocs/sonic.h"

enum { PORTS = 4 };

static void check_outputs(const uint32_t *outputs)
{
    for (uint32_t i = 0; i < PORTS; i++) {
        WEFT_ASSERT(outputs[i] == WEFT_NONE || outputs[i] < PORTS);
    }
}

static void check_complaint(const struct weft_error *error, enum weft_error_code code)
{
    WEFT_ASSERT(error->code == code);
    fuzz_check_line(error);
}

// Takes one circuit away and makes another. Entries of an edit have no status yet, so that what is
// configured is compared.
static void edit_ocp(const struct weft_yang_text *text, const uint32_t *outputs,
                     const struct weft_yang_ports *ports, struct weft_arena arena)
{
    struct weft_error error;
    const struct weft_ocs_circuit made = {0, 3};
    const char *edited = NULL;
    uint32_t after[PORTS];
    if (!weft_yang_ocp.edit(&edited, ports, text, &(struct weft_yang_edit){&made, 1, true}, &arena,
                            &error)) {
        WEFT_ASSERT(false); // circuits were read from it
    }
    const struct weft_yang_text again = {edited, strlen(edited)};
    if (!weft_ocp_read_config(after, ports, &again, &error)) {
        return; // another entry waits for an input that has one
    }
    WEFT_ASSERT(after[0] == 3);
    for (uint32_t i = 1; i < PORTS; i++) {
        WEFT_ASSERT(outputs[i] == WEFT_NONE || outputs[i] == 3 || after[i] == outputs[i]);
    }
}

static void read_ocp(const struct weft_yang_text *text, struct fuzz_desk *desk)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_yang_ports found;
    struct weft_ocs_port levels[PORTS];
    uint32_t outputs[PORTS];
    const struct weft_yang_ports ports = weft_ocp_name_ports(PORTS, &desk->arena);
    if (weft_yang_ocp.read_ports(&found, text, &desk->arena, &error)) {
        WEFT_ASSERT(found.count >= 1 && found.count <= WEFT_OCS_PORTS_MAX);
        WEFT_ASSERT(found.inputs[0][0] != '\0' && found.outputs[found.count - 1][0] != '\0');
    } else {
        check_complaint(&error, WEFT_IO);
    }
    if (weft_yang_ocp.read_circuits(outputs, &ports, text, &error)) {
        check_outputs(outputs);
        edit_ocp(text, outputs, &ports, desk->arena);
    } else {
        check_complaint(&error, WEFT_IO);
    }
    if (!weft_yang_ocp.read_power(levels, &ports, text, &error)) {
        check_complaint(&error, WEFT_IO);
    }
}

static void read_sonic(const struct weft_yang_text *text, struct fuzz_desk *desk)
{
    struct weft_error error = {.code = WEFT_OK};
    uint32_t outputs[PORTS];
    uint32_t count = 77;
    if (!weft_sonic_read_ports(&count, text, &error)) {
        WEFT_ASSERT(count == 77);
        check_complaint(&error, WEFT_INPUT);
    }
    if (weft_sonic_read_state(outputs, PORTS, text, &error)) {
        check_outputs(outputs);
    } else {
        check_complaint(&error, WEFT_INPUT);
    }
    if (!weft_sonic_read_config(outputs, PORTS, text, &error)) {
        check_complaint(&error, WEFT_INPUT);
        return;
    }
    check_outputs(outputs);
    const char *edited = NULL;
    uint32_t after[PORTS];
    const struct weft_ocs_circuit gone = {1, outputs[1]};
    WEFT_ASSERT(weft_sonic_edit(&edited, PORTS, text, &(struct weft_yang_edit){&gone, 1, false},
                                &desk->arena, &error));
    const struct weft_yang_text again = {edited, strlen(edited)};
    WEFT_ASSERT(weft_sonic_read_config(after, PORTS, &again, &error));
    outputs[1] = WEFT_NONE;
    WEFT_ASSERT(memcmp(after, outputs, sizeof after) == 0);
    const struct weft_ocs_circuit made = {1, 2};
    if (!weft_sonic_edit(&edited, PORTS, &again, &(struct weft_yang_edit){&made, 1, true},
                         &desk->arena, &error)) {
        check_complaint(&error, WEFT_INFEASIBLE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    const struct weft_yang_text text = {(const char *)data, size};
    fuzz_open(&desk);
    read_ocp(&text, &desk);
    read_sonic(&text, &desk);
    fuzz_close(&desk);
    return 0;
}
