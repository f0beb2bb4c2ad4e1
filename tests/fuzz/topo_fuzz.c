// SPDX-License-Identifier: Apache-2.0
// Topologies of htsim: any bytes are either a fabric whose routes hold, or one line of complaint.
//
// Seen to fail on corpus/topo/huge when cables were not counted before they were laid out.

#include "fuzz.h"
#include "weft/format.h"

#include <stdlib.h>
#include <string.h>

#define SERVERS_MAX 300u // larger ones are built, but their n^2 routes are not walked

static void check_complaint(const struct weft_error *error)
{
    WEFT_ASSERT(error->code == WEFT_INPUT && error->message[0] != '\0');
    WEFT_ASSERT(strpbrk(error->message, "\n\r\x1b") == NULL);
}

static void check_tiers(const struct weft_tiers *tiers)
{
    static struct weft_network network; // stays where it is: its routes point to its fabric
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error = {.code = WEFT_OK};
    if (tiers->server_count > 16 * SERVERS_MAX) {
        return;
    }
    WEFT_ASSERT(weft_arena_init(&arena, (size_t)16 << 30, &error));
    WEFT_ASSERT(weft_arena_init(&scratch, (size_t)16 << 30, &error));
    struct weft_arena all = arena;
    struct weft_arena all_scratch = scratch;
    if (!weft_fabric_build_tiers(&network, tiers, NULL, 0, &arena, scratch, &error)) {
        check_complaint(&error);
    } else if (tiers->server_count <= SERVERS_MAX) {
        WEFT_ASSERT(weft_routes_check(&network.routes, scratch, &error));
    }
    weft_arena_release(&all);
    weft_arena_release(&all_scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_error error = {.code = WEFT_OK};
    char *text = malloc(size > 0 ? size : 1); // exact, so that the sanitizer sees a byte too far
    WEFT_ASSERT(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    struct weft_tiers tiers = {.server_count = 77};
    if (weft_topo_read(&tiers, text, size, &error)) {
        check_tiers(&tiers);
    } else {
        check_complaint(&error);
        WEFT_ASSERT(tiers.server_count == 77);
    }
    free(text);
    return 0;
}
