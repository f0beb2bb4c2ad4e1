// SPDX-License-Identifier: Apache-2.0
// Traces of requests: any bytes are either a trace in order of time, of nets that there are, or one
// line of complaint.
//
// Seen to fail on corpus/arrivals/back when time was let go back, and on corpus/arrivals/late when
// the bound on times was left out.

#include "fuzz.h"
#include "weft/format/arrivals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_serving_net nets[WEFT_SERVING_NETS];
    static const char *const names[WEFT_SERVING_NETS] = {"AlexNet", "ResNet-18", "VGG-16", "VGG-19",
                                                         "BERT",    "GPT-2",     "DLRM"};
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        nets[n] = (struct weft_serving_net){.name = names[n]};
    }
    struct weft_serving_trace trace = {.count = 77};
    if (!weft_arrivals_read(&trace, (const char *)data, size, nets, &desk.arena, &error)) {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(trace.count == 77);
        fuzz_close(&desk);
        return 0;
    }
    WEFT_ASSERT(trace.count > 0 && trace.count <= WEFT_ARRIVALS_MAX);
    for (uint32_t r = 0; r < trace.count; r++) {
        WEFT_ASSERT(trace.arrivals[r].net < WEFT_SERVING_NETS);
        WEFT_ASSERT(trace.arrivals[r].arrival_ns <= WEFT_ARRIVALS_NS);
        WEFT_ASSERT(r == 0 || trace.arrivals[r].arrival_ns >= trace.arrivals[r - 1].arrival_ns);
    }
    fuzz_close(&desk);
    return 0;
}
