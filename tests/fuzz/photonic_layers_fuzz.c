// SPDX-License-Identifier: Apache-2.0
// Layer lists: any bytes are either a list that compiles or is refused in one line, or one line of
// complaint. What compiles without weights has rows that pass the checker of programs.
//
// Seen to fail on corpus/photonic_layers/pools when add_pool took the last window alone instead of
// the product of windows.

#include "fuzz.h"
#include "weft/format/photonics.h"

static void check_layers(const struct weft_photonic_layers *layers, struct fuzz_desk *desk)
{
    struct weft_error error = {.code = WEFT_OK};
    struct weft_photonic_program program;
    const struct weft_photonic_compile_options options = {0};
    if (!weft_photonic_compile(&program, &layers->net, &options, &desk->arena, desk->scratch,
                               &error)) {
        WEFT_ASSERT(error.code == WEFT_INPUT || error.code == WEFT_INFEASIBLE);
        fuzz_check_line(&error);
        return;
    }
    WEFT_ASSERT(weft_photonic_program_check(&program, desk->scratch, &error));
    for (uint32_t i = 0; i < program.row_count; i++) {
        const struct weft_photonic_row *row = &program.rows[i];
        uint64_t kept = (uint64_t)row->pooled_width * row->pooled_height * row->outputs;
        WEFT_ASSERT(kept == row->results && row->results <= row->sums && row->results <= 65536);
        WEFT_ASSERT((uint64_t)row->pooled_height * row->pool * row->out_width <= row->pixels);
        WEFT_ASSERT(row->words * (uint64_t)program.lanes >=
                    weft_photonic_row_macs(row) / row->sums);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_photonic_layers layers = {.files = NULL};
    if (!weft_photonic_layers_read(&layers, (const char *)data, size, &desk.arena, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(layers.net.layers == NULL);
    } else {
        check_layers(&layers, &desk);
    }
    fuzz_close(&desk);
    return 0;
}
