// SPDX-License-Identifier: Apache-2.0
// What the switch emulator says by the Open Compute Project's YANG model (runtime/ocs/ocp.h).

#include "runtime/ocs/ocp.h"

struct weft_yang_ports weft_ocp_name_ports(uint32_t count, struct weft_arena *arena)
{
    const char **inputs = WEFT_NEW(arena, const char *, count);
    const char **outputs = WEFT_NEW(arena, const char *, count);
    for (uint32_t i = 0; i < count; i++) {
        inputs[i] = weft_arena_format(arena, "A%u", i + 1);
        outputs[i] = weft_arena_format(arena, "B%u", i + 1);
    }
    return (struct weft_yang_ports){count, inputs, outputs};
}

const char *weft_ocp_write_circuits(const uint32_t *outputs, const struct weft_yang_ports *ports,
                                    struct weft_arena *arena)
{
    struct weft_text text;
    const char *comma = "";
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\"" WEFT_OCP_MODULE "connections\":{\"port-connection\":[");
    for (uint32_t i = 0; i < ports->count; i++) {
        if (outputs[i] != WEFT_NONE) {
            const char *input = ports->inputs[i];
            const char *output = ports->outputs[outputs[i]];
            weft_text_add(&text,
                          "%s{\"name\":\"%s_%s\",\"config\":{\"name\":\"%s_%s\","
                          "\"input-port-name\":\"%s\",\"output-port-name\":\"%s\"},"
                          "\"state\":{\"status\":\"CONNECTED\"}}",
                          comma, input, output, input, output, input, output);
            comma = ",";
        }
    }
    weft_text_add(&text, "]}}");
    return text.data;
}

static void write_port(struct weft_text *text, const char *name, char group, bool is_tuned,
                       double dbm)
{
    weft_text_add(text,
                  "{\"name\":\"%s\",\"state\":{\"port-group\":\"%c\",\"status\":\"%s\","
                  "\"optical-power\":\"%.1f\"}}",
                  name, group, is_tuned ? "TUNED" : "BLOCKED", dbm);
}

const char *weft_ocp_write_ports(const struct weft_ocs_port *levels, const uint32_t *outputs,
                                 const struct weft_yang_ports *ports, struct weft_arena *arena)
{
    struct weft_text text;
    bool *is_tuned = WEFT_NEW(arena, bool, ports->count);
    weft_text_init(&text, arena);
    weft_text_add(&text, "{\"" WEFT_OCP_MODULE "ports\":{\"port\":[");
    for (uint32_t i = 0; i < ports->count; i++) {
        weft_text_add(&text, "%s", i > 0 ? "," : "");
        write_port(&text, ports->inputs[i], 'A', outputs[i] != WEFT_NONE, levels[i].input_dbm);
        if (outputs[i] != WEFT_NONE) {
            is_tuned[outputs[i]] = true;
        }
    }
    for (uint32_t i = 0; i < ports->count; i++) {
        weft_text_add(&text, ",");
        write_port(&text, ports->outputs[i], 'B', is_tuned[i], levels[i].output_dbm);
    }
    weft_text_add(&text, "]}}");
    return text.data;
}
