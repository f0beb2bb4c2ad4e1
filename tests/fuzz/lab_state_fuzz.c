// SPDX-License-Identifier: Apache-2.0
// The state of a lab: any bytes are either a lab within all limits, which is written and read back
// the same, or none.
//
// Seen to fail on corpus/lab_state/negative_mtu when negative counts became large ones, and on
// rates when the writer kept 15 digits.

#include "fuzz.h"

#include "runtime/testbed/testbed_private.h"

static void check_limits(const struct weft_lab *lab)
{
    struct weft_error error;
    WEFT_ASSERT(weft_lab_check_name(lab->name, &error));
    WEFT_ASSERT(lab->server_count >= 2 && lab->server_count <= WEFT_LAB_SERVERS_MAX);
    WEFT_ASSERT(lab->port_count >= 1 && lab->port_count <= WEFT_LAB_PORTS_MAX);
    WEFT_ASSERT(lab->ocs_count == 0 || lab->ocs_count == lab->port_count);
    WEFT_ASSERT(lab->switch_count <= WEFT_LAB_SWITCHES_MAX);
    WEFT_ASSERT(lab->rate_Bps >= 0 && lab->planned_rate_Bps >= 0);
    WEFT_ASSERT(lab->mtu_bytes <= INT32_MAX && lab->burst_bytes <= INT32_MAX);
    WEFT_ASSERT(lab->buffer_bytes <= INT32_MAX && lab->mark_packets <= INT32_MAX);
    WEFT_ASSERT(lab->dark_ns <= INT64_MAX);
    const struct classes_settings *classes = &lab->classes;
    WEFT_ASSERT(classes->queues <= CLASSES_QUEUES_MAX);
    WEFT_ASSERT((classes->queues > 0) == (classes->layers > 0));
    WEFT_ASSERT((classes->queues > 0) == (classes->threshold_packets > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct weft_lab lab;
    static struct weft_lab again;
    lab = (struct weft_lab){.server_count = 7};
    if (!weft_lab_read(&lab, (const char *)data, size)) {
        WEFT_ASSERT(lab.server_count == 7);
        return 0;
    }
    check_limits(&lab);
    char *text = weft_lab_write(&lab);
    WEFT_ASSERT(text != NULL);
    WEFT_ASSERT(weft_lab_read(&again, text, strlen(text)));
    char *second = weft_lab_write(&again);
    WEFT_ASSERT(second != NULL && strcmp(text, second) == 0);
    WEFT_ASSERT(again.rate_Bps == lab.rate_Bps && again.dark_ns == lab.dark_ns);
    WEFT_ASSERT(memcmp(&again.classes, &lab.classes, sizeof lab.classes) == 0);
    WEFT_ASSERT(memcmp(again.ocs, lab.ocs, sizeof lab.ocs) == 0);
    free(text);
    free(second);
    return 0;
}
