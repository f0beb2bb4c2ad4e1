// SPDX-License-Identifier: Apache-2.0
// What photonic rails cost and draw against electrical rails and a Fat-tree, by the formulas and
// prices of Opus' cost script (docs/photonic-rails.md). O(1).

#include "rails.h"

#include <math.h>

static const struct weft_rail_prices prices[] = {
    {
        .name = "h200",
        .accelerators = 8,
        .transceiver_usd = 879,
        .transceiver_watts = 10,
        .switch_port_usd = 37299.0 / 64,
        .switch_port_watts = 2524.0 / 64,
        .ocs_port_usd = 520,
        .ocs_port_watts = 75.0 / 192,
    },
    {
        .name = "gb200",
        .accelerators = 72,
        .transceiver_usd = 879,
        .transceiver_watts = 16,
        .switch_port_usd = 149939.0 / 144,
        .switch_port_watts = 7000.0 / 144,
        .ocs_port_usd = 520,
        .ocs_port_watts = 75.0 / 192,
        .copper = true,
    },
};

const struct weft_rail_prices *weft_rail_prices(uint32_t *count)
{
    *count = sizeof prices / sizeof prices[0];
    return prices;
}

static struct weft_rail_bill electrical(uint64_t ports, uint64_t accelerators,
                                        const struct weft_rail_prices *book)
{
    uint64_t transceivers = accelerators + (book->copper ? 0 : ports);
    double count = (double)transceivers;
    return (struct weft_rail_bill){
        .ports = ports,
        .transceivers = transceivers,
        .cost = {(double)ports * book->switch_port_usd + count * book->transceiver_usd,
                 (double)ports * book->switch_port_watts + count * book->transceiver_watts},
    };
}

void weft_rail_count(struct weft_rail_bills *bills, uint32_t servers,
                     const struct weft_rail_prices *book)
{
    uint64_t g = book->accelerators;
    uint64_t all = servers * g;
    uint64_t tree = (uint64_t)lround(cbrt(4.0 * (double)all));
    uint64_t radix = (uint64_t)lround(sqrt(4.0 * servers));
    uint64_t half = radix / 2;
    WEFT_ASSERT(half > 0);
    uint64_t rail_ports = radix * (2 * g * (servers / half) + g * servers / radix);
    bills->fat_tree = electrical(tree * (tree * tree + tree * tree / 4), all, book);
    bills->rail = electrical(rail_ports, all, book);
    bills->fat_tree_radix = (uint32_t)tree;
    bills->rail_radix = (uint32_t)radix;
    bills->photonic = (struct weft_rail_bill){
        .ports = 2 * all,
        .transceivers = all,
        .cost = {(double)(2 * all) * book->ocs_port_usd + (double)all * book->transceiver_usd,
                 (double)(2 * all) * book->ocs_port_watts + (double)all * book->transceiver_watts},
    };
}
