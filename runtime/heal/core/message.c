// SPDX-License-Identifier: Apache-2.0
// Orders, reports and frames, checked as they come (message.h). O(bytes).

#include "message.h"

#include <string.h>

// Fills the reader; true: a structure of `size` bytes is whole.
static bool fill(struct lab_heal_reader *reader, size_t size, const char *data, size_t length,
                 size_t *taken)
{
    size_t left = size - reader->filled;
    size_t some = length < left ? length : left;
    memcpy((char *)&reader->it + reader->filled, data, some);
    reader->filled += (uint32_t)some;
    *taken = some;
    if (reader->filled < size) {
        return false;
    }
    reader->filled = 0;
    return true;
}

static bool lanes_can_be(const struct lab_heal_lane *lanes)
{
    bool can = true;
    for (uint32_t l = 0; l < LAB_HEAL_LANES; l++) {
        const uint32_t most = 2 * LAB_HEAL_RANKS_MAX;
        can = can && lanes[l].received <= most && lanes[l].sent <= most && lanes[l].valid <= most;
    }
    return can;
}

bool lab_heal_take_order(struct lab_heal_reader *reader, const char *data, size_t length,
                         size_t *taken, bool *whole, struct weft_error *error)
{
    *whole = fill(reader, sizeof reader->it.order, data, length, taken);
    if (!*whole) {
        return true;
    }
    const struct lab_heal_order *order = &reader->it.order;
    bool can = order->magic == LAB_HEAL_MAGIC && order->kind >= LAB_HEAL_FREEZE &&
               order->kind <= LAB_HEAL_END && order->flags <= LAB_HEAL_FLAGS_ALL &&
               lanes_can_be(order->lanes);
    if (can && order->kind == LAB_HEAL_RESUME) {
        can = order->rank < LAB_HEAL_RANKS_MAX;
        for (uint32_t s = 0; s < LAB_HEAL_SIDES; s++) {
            can =
                can && order->host[s] < LAB_HEAL_HOSTS_MAX && order->plane[s] < LAB_HEAL_PLANES_MAX;
        }
    }
    return can || weft_fail(error, WEFT_IO, "an order of kind %u and magic %08x is none",
                            order->kind, order->magic);
}

bool lab_heal_take_report(struct lab_heal_reader *reader, const char *data, size_t length,
                          size_t *taken, bool *whole, struct weft_error *error)
{
    *whole = fill(reader, sizeof reader->it.report, data, length, taken);
    if (!*whole) {
        return true;
    }
    const struct lab_heal_report *report = &reader->it.report;
    bool can = report->magic == LAB_HEAL_MAGIC && report->kind >= LAB_HEAL_BEAT &&
               report->kind <= LAB_HEAL_FAILED && report->side < LAB_HEAL_SIDES &&
               report->cause < LAB_HEAL_CAUSES && lanes_can_be(report->lanes) &&
               (report->rank < LAB_HEAL_RANKS_MAX || report->rank == WEFT_NONE);
    return can || weft_fail(error, WEFT_IO, "a report of kind %u and magic %08x is none",
                            report->kind, report->magic);
}

bool lab_heal_check_frame(const struct lab_heal_frame *frame, uint32_t chunk_bytes,
                          uint32_t state_bytes, struct weft_error *error)
{
    uint32_t due = frame->kind == LAB_HEAL_CHUNK   ? chunk_bytes
                   : frame->kind == LAB_HEAL_STATE ? state_bytes
                                                   : 0;
    return (frame->magic == LAB_HEAL_MAGIC && frame->kind >= LAB_HEAL_HELLO &&
            frame->kind <= LAB_HEAL_STATE && frame->lane < LAB_HEAL_LANES && frame->full <= 1 &&
            frame->host < LAB_HEAL_HOSTS_MAX && frame->plane < LAB_HEAL_PLANES_MAX &&
            frame->number < 2 * LAB_HEAL_RANKS_MAX && frame->length == due) ||
           weft_fail(error, WEFT_IO, "a frame of kind %u, magic %08x and %u bytes is none",
                     frame->kind, frame->magic, frame->length);
}
