// SPDX-License-Identifier: Apache-2.0
// What ranks say to a rail's controller: any bytes are messages or one line of complaint, cut
// wherever they like; and any announcements, answers of the switch and pauses leave a controller
// that asks its switch for matchings, one at a time, and waits for nothing without an end.

#include "fuzz.h"

#include "runtime/rails/message.h"
#include "runtime/rails/phases.h"

enum { RANKS = 4, PLANES = 2, PORTS = RANKS * PLANES };

struct desk {
    struct fuzz_desk memory;
    uint32_t outputs[PORTS];
    bool pending;
};

static void take_change(void *context, const uint32_t *outputs)
{
    struct desk *desk = context;
    uint32_t entered = 0;
    WEFT_ASSERT(!desk->pending);
    for (uint32_t i = 0; i < PORTS; i++) {
        WEFT_ASSERT(outputs[i] == WEFT_NONE || (entered >> outputs[i] & 1) == 0);
        entered |= outputs[i] == WEFT_NONE ? 0 : 1u << outputs[i];
    }
    memcpy(desk->outputs, outputs, sizeof desk->outputs);
    desk->pending = true;
}

static void hear(struct lab_phases *phases, struct desk *desk,
                 const struct lab_rail_message *message, uint64_t *now_ns)
{
    uint32_t rank = message->verdict;
    *now_ns += message->after_ns % 1000000000;
    if (message->kind == LAB_RAIL_ANNOUNCE) {
        lab_phases_announce(phases, rank, message->generation, *now_ns);
    } else if (message->kind == LAB_RAIL_STALL) {
        lab_phases_stall(phases, rank, message->generation, message->after_ns, *now_ns);
    } else if (desk->pending) {
        desk->pending = false;
        lab_phases_applied(phases, message->generation % 2 == 0, desk->outputs, *now_ns);
    } else {
        lab_phases_lose(phases, rank, *now_ns);
    }
    uint64_t due_ns = lab_phases_tick(phases, *now_ns);
    WEFT_ASSERT(due_ns > *now_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct lab_circuit pair[] = {{0, 1}, {1, 0}};
    static const struct lab_circuit ring[] = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};
    static const struct lab_circuit both[] = {{2, 3}, {3, 2}, {RANKS, RANKS + 2}};
    static const struct lab_phase_plan plans[] = {
        {"pp", 2, pair}, {"dp", 4, ring}, {"ep", 3, both}};
    static const uint32_t dark[PORTS] = {WEFT_NONE, WEFT_NONE, WEFT_NONE, WEFT_NONE,
                                         WEFT_NONE, WEFT_NONE, WEFT_NONE, WEFT_NONE};
    struct desk desk = {.pending = false};
    struct lab_rail_reader reader = {0};
    struct weft_error error;
    uint64_t now_ns = 0;
    fuzz_open(&desk.memory);
    const struct lab_phases_options options = {.rank_count = RANKS,
                                               .plane_count = PLANES,
                                               .phase_count = sizeof plans / sizeof plans[0],
                                               .phases = plans,
                                               .outputs = dark,
                                               .absent_ns = 1000000000,
                                               .late_ns = 100000000,
                                               .gather_ns = 1000000,
                                               .failures_max = 3};
    const struct lab_phases_sink sink = {NULL, take_change, NULL, &desk};
    struct lab_phases *phases = lab_phases_open(&options, &sink, &desk.memory.arena);
    for (size_t at = 0; at < size;) {
        size_t step = 1 + data[at] % 7; // as reads cut it
        size_t taken = 0;
        bool whole = false;
        step = step < size - at ? step : size - at;
        if (!lab_rail_take(&reader, (const char *)data + at, step, &taken, &whole, &error)) {
            fuzz_check_line(&error);
            break;
        }
        WEFT_ASSERT(taken > 0 && taken <= step);
        at += taken;
        if (whole) {
            hear(phases, &desk, &reader.message, &now_ns);
        }
    }
    fuzz_close(&desk.memory);
    return 0;
}
