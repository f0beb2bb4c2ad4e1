// SPDX-License-Identifier: Apache-2.0
// Cabling sheets as CSV: what those who plug cables in print labels from. Names of devices and
// racks are Weft's own and need no quotes. A line a cable, both ends with rack, device and port.
// O(cables).

#include "weft/format.h"

#include <stdio.h>

#define END_TEXT 64u

// "7", or "7/2" for the second lane of a port that is split.
static const char *port_text(char text[END_TEXT], const struct weft_cable_end *end)
{
    if (end->lane == 0) {
        snprintf(text, END_TEXT, "%u", end->port);
    } else {
        snprintf(text, END_TEXT, "%u/%u", end->port, end->lane);
    }
    return text;
}

const char *weft_export_cabling_csv(const struct weft_cabling_sheet *sheet,
                                    struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "label,from_rack,from_device,from_port,to_rack,to_device,to_port,length,"
                         "medium,gbps\n");
    for (uint32_t i = 0; i < sheet->cable_count; i++) {
        const struct weft_cable *cable = &sheet->cables[i];
        const struct weft_cable_device *from = &sheet->devices[cable->from.device];
        const struct weft_cable_device *to = &sheet->devices[cable->to.device];
        char from_port[END_TEXT];
        char to_port[END_TEXT];
        port_text(from_port, &cable->from);
        port_text(to_port, &cable->to);
        weft_text_add(&text, "%s:%s>%s:%s,%s,%s,%s,%s,%s,%s,%s,%s,%.9g\n", from->name, from_port,
                      to->name, to_port, from->rack, from->name, from_port, to->rack, to->name,
                      to_port, weft_length_words[cable->length], cable->copper ? "copper" : "fibre",
                      cable->rate_Bps / 125e6);
    }
    return text.data;
}
