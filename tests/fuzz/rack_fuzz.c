// SPDX-License-Identifier: Apache-2.0
// Photonic racks in YAML: any bytes are one line of complaint, or a rack that passes its check; on
// a small one slices are placed, lose a chip and are released.

#include "fuzz.h"
#include "weft/format/rack.h"

// Larger racks say nothing new.
#define SERVERS_MAX 16u
#define CHIPS_MAX 64u

static void place(const struct weft_rack *rack, struct fuzz_desk *desk)
{
    struct weft_rack_state *state = weft_rack_open(rack, &desk->arena);
    uint32_t chips = rack->server_count * rack->chips_per_server;
    uint32_t released = 0;
    for (uint32_t a = 0; a < WEFT_RACK_ALLOCATOR_COUNT; a++) {
        const struct weft_rack_options options = {.allocator = (enum weft_rack_allocator)a,
                                                  .steps_max = 500};
        const struct weft_rack_request request = {"slice", {a + 1, 2, 1}, 0, 0};
        const uint32_t lost = 0;
        struct weft_rack_slice slice;
        struct weft_rack_slice after;
        if (weft_rack_place(&slice, state, &request, &options, desk->scratch)) {
            uint32_t chip = slice.chips[0];
            (void)!weft_rack_replace(&after, state, slice.tenant, &lost, 1, &options,
                                     desk->scratch);
            weft_rack_release(state, slice.tenant);
            weft_rack_mend(state, chip);
            released++;
        }
    }
    WEFT_ASSERT(weft_rack_free_chips(state) == chips && released <= WEFT_RACK_ALLOCATOR_COUNT);
    for (uint32_t l = 0; l < rack->link_count; l++) {
        WEFT_ASSERT(weft_rack_load(state, rack->links[l].a, rack->links[l].b) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_rack rack = {.server_count = 7};
    if (weft_rack_read(&rack, (const char *)data, size, &desk.arena, desk.scratch, &error)) {
        WEFT_ASSERT(weft_rack_check(&rack, desk.scratch, &error));
        if (rack.server_count <= SERVERS_MAX &&
            rack.server_count * rack.chips_per_server <= CHIPS_MAX && rack.wavelengths <= 16) {
            place(&rack, &desk);
        }
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(rack.server_count == 7);
    }
    fuzz_close(&desk);
    return 0;
}
