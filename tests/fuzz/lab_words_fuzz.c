// SPDX-License-Identifier: Apache-2.0
// What users write of a lab's ports: how they sort gradients and what they lose. Any text is either
// within all limits or one line of complaint that leaves the result alone.
//
// Seen to fail on corpus/lab_words/switch_beyond when switches were counted from 0 to all nodes,
// and on loss_over when per cent had no limit.

#include "fuzz.h"

#include "runtime/testbed/fault.h"

static void check_classes(const char *text)
{
    struct weft_error error = {.code = WEFT_OK};
    struct classes_settings classes = {99, 99, 99};
    if (!weft_lab_classes_parse(&classes, text, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(classes.queues == 99 && classes.layers == 99);
        return;
    }
    WEFT_ASSERT(classes.queues >= 1 && classes.queues <= CLASSES_QUEUES_MAX);
    WEFT_ASSERT(classes.layers >= 1 && classes.layers <= 65536 && classes.threshold_packets >= 1);
}

static void check_loss(const char *text, bool mend, uint32_t switch_count)
{
    const struct weft_lab lab = {
        .name = "lab", .server_count = 5, .port_count = 2, .switch_count = switch_count};
    struct weft_error error = {.code = WEFT_OK};
    struct weft_lab_loss loss = {99, 99, 99};
    if (!weft_lab_loss_parse(&loss, text, mend, &lab, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(loss.node == 99 && loss.port == 99 && loss.probability == 99);
        return;
    }
    WEFT_ASSERT(loss.node < 5 + switch_count && loss.port < (loss.node < 5 ? 2 : 256));
    WEFT_ASSERT(loss.probability >= 0 && loss.probability <= (mend ? 0 : 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);
    check_classes(text);
    for (uint32_t i = 0; i < 4; i++) {
        check_loss(text, i % 2 == 1, i / 2 * 3);
    }
    free(text);
    return 0;
}
