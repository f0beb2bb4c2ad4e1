// SPDX-License-Identifier: Apache-2.0
// Requests for slices as CSV: any bytes are one line of complaint, or requests and releases of
// which each release follows its request.

#include "fuzz.h"
#include "weft/format/rack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_rack_requests read = {.count = 7};
    if (weft_rack_requests_read(&read, (const char *)data, size, &desk.arena, &error)) {
        uint32_t arrived = 0;
        for (uint32_t e = 0; e < read.event_count; e++) {
            const struct weft_rack_event *event = &read.events[e];
            WEFT_ASSERT(event->releases ? event->request < arrived : event->request == arrived);
            arrived += !event->releases;
        }
        WEFT_ASSERT(arrived == read.count);
        for (uint32_t r = 0; r < read.count; r++) {
            const struct weft_rack_request *request = &read.requests[r];
            WEFT_ASSERT(request->sides[0] > 0 && request->sides[1] > 0 && request->sides[2] > 0);
            WEFT_ASSERT(r == 0 || request->arrival_s >= read.requests[r - 1].arrival_s);
        }
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(read.count == 7);
    }
    fuzz_close(&desk);
    return 0;
}
