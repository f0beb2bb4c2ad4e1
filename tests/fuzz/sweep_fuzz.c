// SPDX-License-Identifier: Apache-2.0
// Sweeps in YAML: any bytes are either a sweep whose every scenario has words, or one line of
// complaint.
//
// Seen to fail on corpus/sweep/empty-list when a list without values was let through.

#include "fuzz.h"
#include "weft/format.h"

static void check_scenario(const struct weft_sweep *sweep, uint32_t index)
{
    const struct weft_sweep_value *values[WEFT_SWEEP_KEYS_MAX];
    const struct weft_sweep_grid *grid = weft_sweep_scenario(values, sweep, index);
    WEFT_ASSERT(grid->line > 0 && grid->key_count > 0);
    for (uint32_t i = 0; i < grid->key_count; i++) {
        WEFT_ASSERT(grid->keys[i].name != NULL && values[i]->word_count > 0);
        for (uint32_t w = 0; w < values[i]->word_count; w++) {
            WEFT_ASSERT(values[i]->words[w][0] != '\0');
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_sweep sweep = {.scenario_count = 7};
    if (weft_sweep_read(&sweep, text, size, &desk.arena, desk.scratch, &error)) {
        WEFT_ASSERT(sweep.scenario_count > 0 && sweep.scenario_count <= WEFT_SWEEP_MAX);
        for (uint32_t i = 0; i < sweep.scenario_count; i += 1 + sweep.scenario_count / 64) {
            check_scenario(&sweep, i);
        }
        check_scenario(&sweep, sweep.scenario_count - 1);
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(sweep.scenario_count == 7);
    }
    fuzz_close(&desk);
    return 0;
}
