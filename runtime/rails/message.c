// SPDX-License-Identifier: Apache-2.0
// Messages of the controller and its ranks, byte by byte as they come. O(bytes).

#include "message.h"
#include "phases.h"

#include <string.h>

bool lab_rail_take(struct lab_rail_reader *reader, const char *data, size_t length, size_t *taken,
                   bool *whole, struct weft_error *error)
{
    size_t left = sizeof reader->message - reader->filled;
    size_t some = length < left ? length : left;
    memcpy((char *)&reader->message + reader->filled, data, some);
    reader->filled += (uint32_t)some;
    *taken = some;
    *whole = reader->filled == sizeof reader->message;
    if (!*whole) {
        return true;
    }
    reader->filled = 0;
    const struct lab_rail_message *message = &reader->message;
    return (message->magic == LAB_RAIL_MAGIC && message->kind >= LAB_RAIL_ANNOUNCE &&
            message->kind <= LAB_RAIL_ORDER && message->verdict < LAB_VERDICTS) ||
           weft_fail(error, WEFT_IO, "a message of kind %u and magic %08x is none of a rail's",
                     message->kind, message->magic);
}
