// SPDX-License-Identifier: Apache-2.0
// Parts, the price book, cost and power.
//
// A server has a port with its transceiver for every lit interface, and the panel or the circuit
// switch a port for each of them, two where it is built a step ahead behind 1x2 switches. The book
// is priced at the ports' rate as include/weft/cluster.h says: linear between two rows, on the last
// two rows' line beyond them, the first row's below it. A book that says it is the built-in one
// must be that: its rows stand here a second time, from docs/clusters.md. O(rows + n d).

#include "checks.h"

#include <math.h>
#include <string.h>

#define GBPS 125e6
// How the source of the built-in book begins.
#define BUILT_IN "MixNet (SIGCOMM 2025)"

// The columns of docs/clusters.md: Gbps, then dollars and watts of a transceiver, a port of a NIC
// and of a switch, dollars of a panel port, both of a circuit switch's, dollars of a 1x2 switch.
static const double built_in[][11] = {
    {10, 20, 1.0, 185, 5, 94, 4, 100, 520, 0.2, 25},
    {25, 39, 1.2, 185, 8, 144, 5, 100, 520, 0.2, 25},
    {40, 39, 2.0, 354, 9, 144, 7, 100, 520, 0.2, 25},
    {100, 99, 3.5, 659, 16, 187, 9, 100, 520, 0.2, 25},
    {200, 239, 6.0, 1079, 22, 374, 13, 100, 520, 0.2, 25},
    {400, 659, 10.0, 1499, 25, 1090, 20, 100, 520, 0.2, 0},
    {800, 1399, 16.0, 2248, 45, 1400, 30, 100, 520, 0.2, 0},
};
#define BUILT_IN_ROWS (sizeof built_in / sizeof built_in[0])

enum {
    RATE,
    OPTICS_USD,
    OPTICS_W,
    NIC_USD,
    NIC_W,
    PORT_USD,
    PORT_W,
    PANEL_USD,
    OCS_USD,
    OCS_W,
    SWITCH_USD,
    COLUMNS
};

static void list_columns(double column[COLUMNS], const struct weft_price_row *row)
{
    const double columns[COLUMNS] = {row->rate_Bps,
                                     row->transceiver_usd,
                                     row->transceiver_watts,
                                     row->nic_usd,
                                     row->nic_watts,
                                     row->switch_port_usd,
                                     row->switch_port_watts,
                                     row->patch_panel_port_usd,
                                     row->ocs_port_usd,
                                     row->ocs_port_watts,
                                     row->mechanical_switch_usd};
    memcpy(column, columns, sizeof columns);
}

// The book at a rate. A 0 of the columns where it means that nothing is sold stays 0 between rows.
static void price_at(double price[COLUMNS], const struct weft_price_book *book, double rate_Bps)
{
    uint32_t high = 0;
    while (high + 1 < book->row_count && book->rows[high].rate_Bps < rate_Bps) {
        high++;
    }
    list_columns(price, &book->rows[high]);
    if (high == 0 || book->rows[high].rate_Bps == rate_Bps) {
        return;
    }
    double low[COLUMNS];
    list_columns(low, &book->rows[high - 1]);
    double part = (rate_Bps - low[RATE]) / (price[RATE] - low[RATE]);
    for (int c = 0; c < COLUMNS; c++) {
        bool rare = c == PANEL_USD || c == OCS_USD || c == SWITCH_USD;
        bool sold = !rare || (low[c] > 0 && price[c] > 0);
        price[c] = sold ? fmax(0, low[c] + (price[c] - low[c]) * part) : 0;
    }
}

// A book of its own is the cluster file's word; one that names the built-in source must have its
// rows.
static void check_book(struct findings *findings, const struct weft_price_book *book)
{
    if (strncmp(book->source, BUILT_IN, sizeof BUILT_IN - 1) != 0) {
        findings_leave(findings, "cluster.prices",
                       "the book is the cluster file's own; the cost is computed from it", false);
        return;
    }
    if (book->row_count != BUILT_IN_ROWS) {
        findings_add(findings, "cluster.prices has %u rows, the built-in book %zu", book->row_count,
                     BUILT_IN_ROWS);
        return;
    }
    for (uint32_t r = 0; r < book->row_count; r++) {
        double column[COLUMNS];
        list_columns(column, &book->rows[r]);
        for (int c = 0; c < COLUMNS; c++) {
            double found = built_in[r][c] * (c == RATE ? GBPS : 1);
            if (figures_differ(column[c], found)) {
                findings_add(findings,
                             "cluster.prices: rows[%u] says %.9g where the built-in book, whose "
                             "source it names, says %.9g",
                             r, column[c], found);
                return;
            }
        }
    }
}

// Whether the parts are what these many lit ports take, one way or another to join them.
static void check_parts(struct findings *findings, const struct weft_plan *plan, uint64_t ports)
{
    const struct weft_parts *parts = &plan->network.fabric.parts;
    if (parts->nics != ports) {
        findings_add(findings, "the parts count %llu server ports, but %llu are lit",
                     (unsigned long long)parts->nics, (unsigned long long)ports);
    }
    if (parts->transceivers != parts->nics) {
        findings_add(findings, "the parts count %llu transceivers for %llu server ports",
                     (unsigned long long)parts->transceivers, (unsigned long long)parts->nics);
    }
    bool ahead = parts->mechanical_switches > 0;
    uint64_t optical = parts->patch_panel_ports + parts->ocs_ports;
    bool mixed = parts->patch_panel_ports > 0 && parts->ocs_ports > 0;
    bool ahead_of_all = !ahead || parts->mechanical_switches == parts->nics;
    if (mixed || !ahead_of_all || parts->switch_ports > 0 ||
        optical != (ahead ? 2 : 1) * parts->nics) {
        findings_add(
            findings,
            "the parts count %llu ports of patch panels, %llu of circuit switches, %llu "
            "of packet switches and %llu 1x2 switches, which do not join %llu server ports",
            (unsigned long long)parts->patch_panel_ports, (unsigned long long)parts->ocs_ports,
            (unsigned long long)parts->switch_ports, (unsigned long long)parts->mechanical_switches,
            (unsigned long long)parts->nics);
    }
    // NICs may be faster than the host links behind them, never slower than what ports carry.
    const struct weft_cluster *cluster = &plan->cluster;
    double bought_Bps = cluster->nic_Bps > 0 ? cluster->nic_Bps : cluster->rate_Bps;
    if (figures_differ(parts->rate_Bps, bought_Bps) || bought_Bps < cluster->rate_Bps) {
        findings_add(findings, "the parts are of %.9g B/s, the cluster's ports of %.9g",
                     parts->rate_Bps, bought_Bps);
    }
}

void check_cost(struct findings *findings, const struct weft_plan *plan)
{
    const struct weft_parts *parts = &plan->network.fabric.parts;
    const struct weft_topology *topology = &plan->topology;
    uint64_t ports = 0;
    for (uint32_t s = 0; s < topology->server_count; s++) {
        for (uint32_t p = 0; p < topology->degree; p++) {
            ports += topology->planes[(size_t)p * topology->server_count + s] != s ? 1 : 0;
        }
    }
    check_parts(findings, plan, ports);
    check_book(findings, &plan->cluster.prices);
    double price[COLUMNS];
    price_at(price, &plan->cluster.prices, parts->rate_Bps);
    double usd = (double)parts->nics * price[NIC_USD] +
                 (double)parts->transceivers * price[OPTICS_USD] +
                 (double)parts->switch_ports * price[PORT_USD] +
                 (double)parts->patch_panel_ports * price[PANEL_USD] +
                 (double)parts->ocs_ports * price[OCS_USD] +
                 (double)parts->mechanical_switches * price[SWITCH_USD];
    double watts =
        (double)parts->nics * price[NIC_W] + (double)parts->transceivers * price[OPTICS_W] +
        (double)parts->switch_ports * price[PORT_W] + (double)parts->ocs_ports * price[OCS_W];
    findings_compare(findings, "cost.total_usd", plan->cost.total_usd, usd);
    findings_compare(findings, "cost.power_watts", plan->cost.power_watts, watts);
}
