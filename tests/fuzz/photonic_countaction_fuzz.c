// SPDX-License-Identifier: Apache-2.0
// Texts of count-action modules: any bytes are modules, which read back as they were written, get a
// verdict, and become Verilog, or one line of complaint.
//
// Seen to fail when add_child left out the parentheses of an OR (on both sides of an AND).

#include "fuzz.h"
#include "weft/photonics/countaction.h"

static void check_modules(const struct weft_photonic_countaction *modules, struct fuzz_desk *desk)
{
    struct weft_error error;
    struct weft_photonic_countaction again;
    struct weft_text text;
    weft_text_init(&text, &desk->arena);
    weft_photonic_countaction_write(&text, modules);
    const char *data = text.data;
    size_t length = text.length;
    WEFT_ASSERT(weft_photonic_countaction_parse(&again, data, length, &desk->scratch, &error));
    WEFT_ASSERT(again.module_count == modules->module_count);
    for (uint32_t m = 0; m < modules->module_count; m++) {
        const struct weft_photonic_module *module = &modules->modules[m];
        WEFT_ASSERT(module->term_count == again.modules[m].term_count);
        WEFT_ASSERT(memcmp(module->terms, again.modules[m].terms,
                           module->term_count * sizeof module->terms[0]) == 0);
        weft_text_init(&text, &desk->scratch);
        weft_photonic_countaction_verilog(&text, module);
        WEFT_ASSERT(text.length > 0);
    }
    struct weft_photonic_countaction_report report;
    const struct weft_photonic_check_options options = {0};
    weft_photonic_countaction_check(&report, modules, &options, &desk->arena, desk->scratch);
    WEFT_ASSERT(report.verdict_count == modules->module_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_photonic_countaction modules;
    if (size > 65536) {
        size = 65536;
    }
    if (!weft_photonic_countaction_parse(&modules, (const char *)data, size, &desk.arena, &error)) {
        fuzz_check_refusal(&error);
    } else {
        check_modules(&modules, &desk);
    }
    fuzz_close(&desk);
    return 0;
}
