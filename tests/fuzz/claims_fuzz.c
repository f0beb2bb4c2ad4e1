// SPDX-License-Identifier: Apache-2.0
// Claims in YAML: what was read obeys what the header says, and a refusal leaves the result alone.

#include "fuzz.h"
#include "weft/format.h"

#include <math.h>
#include <string.h>

static void check_claim(const struct weft_claim *claim)
{
    const struct weft_claim_runs *runs = &claim->runs;
    WEFT_ASSERT(claim->name[0] != '\0' && claim->system[0] != '\0' && claim->sentence != NULL);
    WEFT_ASSERT(claim->published.value > 0 || claim->not_comparable != NULL);
    WEFT_ASSERT(claim->within_ratio >= 0 || isnan(claim->published.value));
    WEFT_ASSERT(runs->command_count > 0 && claim->reading.factor > 0 && claim->line > 0);
    WEFT_ASSERT(claim->reading.value.command < runs->command_count);
    WEFT_ASSERT(claim->reading.over.command < runs->command_count);
    WEFT_ASSERT(claim->reading.value.pointer[0] == '/');
    for (uint32_t c = 0; c < runs->command_count; c++) {
        size_t length = 0;
        WEFT_ASSERT(runs->commands[c].word_count >= 2);
        WEFT_ASSERT(strcmp(runs->commands[c].words[0], "weft") == 0);
        for (uint32_t w = 0; w < runs->commands[c].word_count; w++) {
            length += strlen(runs->commands[c].words[w]);
        }
        WEFT_ASSERT(length < strlen(runs->commands[c].text));
    }
    for (uint32_t f = 0; f < runs->file_count; f++) {
        WEFT_ASSERT(strchr(runs->files[f].name, '/') == NULL && runs->files[f].text[0] != '\0');
    }
    for (uint32_t n = 0; n < runs->need_count; n++) {
        WEFT_ASSERT(runs->needs[n] != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_claims claims = {.claim_count = 7};
    if (weft_claims_read(&claims, (const char *)data, size, &desk.arena, &error)) {
        WEFT_ASSERT(claims.claim_count > 0);
        for (uint32_t i = 0; i < claims.claim_count; i++) {
            check_claim(&claims.claims[i]);
        }
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(claims.claim_count == 7);
    }
    fuzz_close(&desk);
    return 0;
}
