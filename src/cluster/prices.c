// SPDX-License-Identifier: Apache-2.0
// The price and power book, and what a line rate between its rows costs. Prices between two rows
// are interpolated linearly in the rate, so that a cost is continuous and the fabric of equal cost
// (fabric/cost.c) can be found by bisection; below the first row and above the last that row's
// prices hold. The columns are those of the cost comparison of MixNet (SIGCOMM 2025);
// docs/clusters.md lists them. O(rows) a query.

#include "weft/cluster.h"

#define GBPS 125e6

// Dollars: for 100G and up the table of MixNet (SIGCOMM 2025); the rows below 100G are older list
// prices of the same kind and are approximate. Watts are assumptions, explained in
// docs/clusters.md: what single-mode modules, one-port NICs and fixed switches of that rate
// typically draw. Copper cables (the last column) are assumed, too: list prices from memory.
static const struct weft_price_row default_rows[] = {
    {10 * GBPS, 20, 1.0, 185, 5, 94, 4, 100, 520, 0.2, 25, 15},
    {25 * GBPS, 39, 1.2, 185, 8, 144, 5, 100, 520, 0.2, 25, 25},
    {40 * GBPS, 39, 2.0, 354, 9, 144, 7, 100, 520, 0.2, 25, 30},
    {100 * GBPS, 99, 3.5, 659, 16, 187, 9, 100, 520, 0.2, 25, 60},
    {200 * GBPS, 239, 6.0, 1079, 22, 374, 13, 100, 520, 0.2, 25, 110},
    {400 * GBPS, 659, 10.0, 1499, 25, 1090, 20, 100, 520, 0.2, 0, 160},
    {800 * GBPS, 1399, 16.0, 2248, 45, 1400, 30, 100, 520, 0.2, 0, 300},
};

static const struct weft_price_book default_book = {
    .row_count = sizeof default_rows / sizeof default_rows[0],
    .rows = default_rows,
    .source = "MixNet (SIGCOMM 2025) for 100G and up, approximate list prices below; power is "
              "assumed from what such modules, NIC ports and switch ports typically draw",
};

const struct weft_price_book *weft_cluster_default_prices(void)
{
    return &default_book;
}

static double blend(double low, double high, double position)
{
    double value = low + (high - low) * position;
    return value > 0 ? value : 0;
}

// For columns where 0 means "not sold": a rate is sold when both its neighbors are.
static double blend_sold(double low, double high, double position)
{
    return low > 0 && high > 0 ? blend(low, high, position) : 0;
}

static struct weft_price_row blend_rows(const struct weft_price_row *low,
                                        const struct weft_price_row *high, double rate_Bps)
{
    double t = (rate_Bps - low->rate_Bps) / (high->rate_Bps - low->rate_Bps);
    return (struct weft_price_row){
        .rate_Bps = rate_Bps,
        .transceiver_usd = blend(low->transceiver_usd, high->transceiver_usd, t),
        .transceiver_watts = blend(low->transceiver_watts, high->transceiver_watts, t),
        .nic_usd = blend(low->nic_usd, high->nic_usd, t),
        .nic_watts = blend(low->nic_watts, high->nic_watts, t),
        .switch_port_usd = blend(low->switch_port_usd, high->switch_port_usd, t),
        .switch_port_watts = blend(low->switch_port_watts, high->switch_port_watts, t),
        .patch_panel_port_usd =
            blend_sold(low->patch_panel_port_usd, high->patch_panel_port_usd, t),
        .ocs_port_usd = blend_sold(low->ocs_port_usd, high->ocs_port_usd, t),
        .ocs_port_watts = blend(low->ocs_port_watts, high->ocs_port_watts, t),
        .mechanical_switch_usd =
            blend_sold(low->mechanical_switch_usd, high->mechanical_switch_usd, t),
        .dac_usd = blend_sold(low->dac_usd, high->dac_usd, t),
    };
}

// The row of a book of one, at a higher rate: what is electric costs and draws in proportion, what
// passes light costs the same.
static struct weft_price_row grow_row(const struct weft_price_row *only, double rate_Bps)
{
    double ratio = rate_Bps / only->rate_Bps;
    struct weft_price_row row = *only;
    row.rate_Bps = rate_Bps;
    row.transceiver_usd *= ratio;
    row.transceiver_watts *= ratio;
    row.nic_usd *= ratio;
    row.nic_watts *= ratio;
    row.switch_port_usd *= ratio;
    row.switch_port_watts *= ratio;
    row.dac_usd *= ratio;
    return row;
}

bool weft_cluster_price_covers(const struct weft_price_book *book, double rate_Bps)
{
    WEFT_ASSERT(book->row_count > 0);
    return book->rows[0].rate_Bps <= rate_Bps &&
           rate_Bps <= book->rows[book->row_count - 1].rate_Bps;
}

struct weft_price_row weft_cluster_price_at(const struct weft_price_book *book, double rate_Bps)
{
    WEFT_ASSERT(book->row_count > 0);
    const struct weft_price_row *rows = book->rows;
    uint32_t last = book->row_count - 1;
    uint32_t high = 0; // the first row that is no slower
    while (high < last && rows[high].rate_Bps < rate_Bps) {
        high++;
    }
    if (last == 0 && rate_Bps > rows[0].rate_Bps) {
        return grow_row(&rows[0], rate_Bps);
    }
    if (rows[high].rate_Bps == rate_Bps || high == 0) {
        struct weft_price_row row = rows[high];
        row.rate_Bps = rate_Bps;
        return row;
    }
    return blend_rows(&rows[high - 1], &rows[high], rate_Bps);
}
