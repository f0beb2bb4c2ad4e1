// SPDX-License-Identifier: Apache-2.0
// What a fabric is made of: its bill, counted from the fabric as it is built (weft_fabric_bill).
//
// The bill wants every switch by itself, so that the fabric is built with balance hash, whatever
// traffic is balanced by. A fabric of switches that nobody sells has none, nor has the ideal
// switch: of those the parts that the builder counts are priced by the book, as weft fabrics does,
// and the row says why. O(links log degree), for building and counting.

#include "request/buy/buy.h"

#include <math.h>
#include <string.h>

#define KINDS 6u

// A rate that a price book has, or several ports of the cluster's side by side: nobody sells ports
// between the rates, as a Fat-tree that may cost so much has them.
static bool rate_is_sold(double rate_Bps, const struct weft_cluster *cluster)
{
    bool sold = fabs(remainder(rate_Bps, cluster->rate_Bps)) < 1;
    for (uint32_t r = 0; r < cluster->prices.row_count; r++) {
        sold = sold || rate_Bps == cluster->prices.rows[r].rate_Bps;
    }
    return sold;
}

// The builder's parts at the prices of the fabric's line rate.
static void price_parts(struct weft_bill *bill, const struct weft_parts *parts,
                        const struct weft_price_book *book, struct weft_arena *arena)
{
    struct weft_price_row price = weft_cluster_price_at(book, parts->rate_Bps);
    const struct {
        const char *name;
        uint64_t count;
        double usd, watts;
    } kinds[KINDS] = {
        {"NIC port", parts->nics, price.nic_usd, price.nic_watts},
        {"transceiver", parts->transceivers, price.transceiver_usd, price.transceiver_watts},
        {"switch port", parts->switch_ports, price.switch_port_usd, price.switch_port_watts},
        {"patch panel port", parts->patch_panel_ports, price.patch_panel_port_usd, 0},
        {"circuit switch port", parts->ocs_ports, price.ocs_port_usd, price.ocs_port_watts},
        {"1x2 switch", parts->mechanical_switches, price.mechanical_switch_usd, 0},
    };
    struct weft_bill_row *rows = WEFT_NEW(arena, struct weft_bill_row, KINDS);
    bool priced = weft_cluster_price_covers(book, parts->rate_Bps);
    *bill = (struct weft_bill){.rows = rows, .unpriced_Bps = priced ? 0 : parts->rate_Bps};
    for (uint32_t i = 0; i < KINDS; i++) {
        char rate[WEFT_UNIT_TEXT];
        double count = (double)kinds[i].count;
        if (kinds[i].count == 0) {
            continue;
        }
        rows[bill->row_count++] = (struct weft_bill_row){
            .part = weft_arena_format(arena, "%s %s", kinds[i].name,
                                      weft_show_rate(rate, parts->rate_Bps)),
            .count = kinds[i].count,
            .usd = count * kinds[i].usd,
            .watts = count * kinds[i].watts,
            .source = book->source,
        };
        bill->usd += count * kinds[i].usd;
        bill->watts += count * kinds[i].watts;
    }
}

// Says of a bill how parts of a rate beyond the price book are priced (weft_cluster_price_at); NULL
// where it has none.
static const char *price_note(const struct weft_bill *bill, const struct weft_price_book *book,
                              struct weft_arena *arena)
{
    char lacked[WEFT_UNIT_TEXT];
    char near[WEFT_UNIT_TEXT];
    if (bill->unpriced_Bps == 0) {
        return NULL;
    }
    weft_show_rate(lacked, bill->unpriced_Bps);
    if (bill->unpriced_Bps > book->rows[0].rate_Bps) {
        return weft_arena_format(arena, "the price book ends below %s; its last %s", lacked,
                                 book->row_count > 1 ? "two rates are prolonged"
                                                     : "rate's prices grow with the rate");
    }
    return weft_arena_format(arena,
                             "the price book has no ports of %s; those of %s are counted instead",
                             lacked, weft_show_rate(near, book->rows[0].rate_Bps));
}

void weft_buy_price_parts(struct weft_buy_row *row, const struct weft_parts *parts,
                          const struct weft_price_book *book, struct weft_arena *arena)
{
    price_parts(&row->bill, parts, book, arena);
    row->price_note = price_note(&row->bill, book, arena);
}

bool weft_buy_count_parts(struct weft_buy_row *row, const struct weft_network *network,
                          const struct weft_cluster *cluster,
                          const struct weft_environment *environment)
{
    const struct weft_fabric *fabric = &network->fabric;
    char rate[WEFT_UNIT_TEXT];
    const struct weft_bill_options options = {.switch_name = NULL};
    struct weft_error error = {.code = WEFT_OK};
    struct weft_environment inner = *environment;
    inner.error = &error;
    if (strcmp(fabric->name, "ideal") == 0) {
        row->no_bill = "nobody sells a switch for all servers: priced as the Fat-tree of its rate";
    } else if (!rate_is_sold(fabric->parts.rate_Bps, cluster)) {
        row->no_bill = weft_arena_format(environment->arena,
                                         "nobody sells ports of %s, so ports are priced instead "
                                         "of switches",
                                         weft_show_rate(rate, fabric->parts.rate_Bps));
    } else if (weft_fabric_bill(&row->bill, network, cluster, &options, &inner)) {
        row->sold = true;
        row->price_note = price_note(&row->bill, &cluster->prices, environment->arena);
        return true;
    } else {
        row->no_bill = weft_arena_text(environment->arena, error.message, strlen(error.message));
    }
    weft_buy_price_parts(row, &fabric->parts, &cluster->prices, environment->arena);
    return true;
}

bool weft_buy_joins_switches(const struct weft_fabric *fabric)
{
    uint32_t i = 0;
    while (i < fabric->link_count && (fabric->links[i].from < fabric->server_count ||
                                      fabric->links[i].to < fabric->server_count)) {
        i++;
    }
    return i < fabric->link_count;
}

bool weft_buy_fill_parts(struct weft_buy_row *row, const struct weft_cluster *cluster,
                         const struct weft_environment *environment)
{
    struct weft_environment inner = *environment;
    struct weft_arena kept = weft_arena_split(&inner.scratch); // the fabric is gone with it
    inner.arena = &kept;
    struct weft_fabric_options shape = row->shape;
    shape.seed = environment->seed;
    struct weft_cluster apart = weft_cluster_as_bought(cluster);
    apart.balance = WEFT_BALANCE_HASH;
    struct weft_network network;
    struct weft_environment counting = *environment;
    counting.scratch = inner.scratch;
    // Of the cluster's only switch, as weft fabrics buys it, where that can be.
    struct weft_bill bill;
    struct weft_error ignored;
    const struct weft_bill_options options = {.shape = shape};
    struct weft_environment buying = inner;
    buying.error = &ignored;
    struct weft_arena start = kept;
    bool bought = apart.switches.model_count == 1 &&
                  weft_fabric_buy(&network, &bill, row->fabric, &apart, &options, &buying);
    kept = bought ? kept : start;
    bool chosen = bought && weft_fabric_reference_named(row->fabric, NULL)->has_radix;
    row->radix = shape.radix > 0 || !chosen ? shape.radix : bill.radix;
    if (!bought && !weft_fabric_build_named(&network, row->fabric, &apart, &shape, &inner)) {
        return false;
    }
    row->one_tier = !network.fabric.forwards && !weft_buy_joins_switches(&network.fabric);
    return weft_buy_count_parts(row, &network, &apart, &counting);
}
