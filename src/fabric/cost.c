// SPDX-License-Identifier: Apache-2.0
// What the parts of a fabric cost and draw, the Moore bound on its hops, and the Fat-tree that
// costs what a budget allows.
//
// Parts are counted from the links (ports, transceivers, panel and circuit-switch ports) and priced
// by the cluster's book at the fabric's line rate. The Moore bound (Hoffman and Singleton, "On
// Moore graphs with diameters 2 and 3", IBM Journal 1960) fills shells of d (d - 1)^(i - 1) nodes,
// or d^i in a digraph, around a node; no graph of that degree has fewer mean hops. The
// cost-equivalent Fat-tree is the comparison of TopoOpt (Wang et al., NSDI 2023): same servers,
// port rate lowered until the cost fits, found by bisection. O(links), O(diameter), and O(rows) for
// each of 200 bisections at most.

#include "weft/fabric.h"

#include <math.h>

#define RATE_MAX_BPS 125e12 // 1000 Tbps

struct weft_parts weft_fabric_direct_parts(const struct weft_fabric *fabric, double rate_Bps,
                                           enum weft_cabling cabling, struct weft_arena scratch)
{
    uint32_t n = fabric->server_count;
    uint64_t *out = WEFT_NEW(&scratch, uint64_t, fabric->node_count);
    uint64_t *in = WEFT_NEW(&scratch, uint64_t, fabric->node_count);
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        out[fabric->links[i].from] += fabric->links[i].width;
        in[fabric->links[i].to] += fabric->links[i].width;
    }
    uint64_t ports = 0;
    for (uint32_t s = 0; s < n; s++) {
        ports += out[s] > in[s] ? out[s] : in[s];
    }
    bool ahead = cabling == WEFT_CABLING_PATCH_PANEL_AHEAD || cabling == WEFT_CABLING_OCS_AHEAD;
    bool panel = cabling == WEFT_CABLING_PATCH_PANEL || cabling == WEFT_CABLING_PATCH_PANEL_AHEAD;
    bool circuit = cabling == WEFT_CABLING_OCS || cabling == WEFT_CABLING_OCS_AHEAD;
    uint64_t optical_ports = ahead ? 2 * ports : ports;
    return (struct weft_parts){
        .nics = ports,
        .transceivers = ports,
        .patch_panel_ports = panel ? optical_ports : 0,
        .ocs_ports = circuit ? optical_ports : 0,
        .mechanical_switches = ahead ? ports : 0,
        .rate_Bps = rate_Bps,
    };
}

struct weft_cost weft_fabric_cost(const struct weft_parts *parts,
                                  const struct weft_price_book *book)
{
    struct weft_price_row row = weft_cluster_price_at(book, parts->rate_Bps);
    double nics = (double)parts->nics;
    double transceivers = (double)parts->transceivers;
    double switch_ports = (double)parts->switch_ports;
    double ocs_ports = (double)parts->ocs_ports;
    return (struct weft_cost){
        .total_usd = nics * row.nic_usd + transceivers * row.transceiver_usd +
                     switch_ports * row.switch_port_usd + ocs_ports * row.ocs_port_usd +
                     (double)parts->patch_panel_ports * row.patch_panel_port_usd +
                     (double)parts->mechanical_switches * row.mechanical_switch_usd,
        .power_watts = nics * row.nic_watts + transceivers * row.transceiver_watts +
                       switch_ports * row.switch_port_watts + ocs_ports * row.ocs_port_watts,
    };
}

void weft_fabric_moore(uint32_t server_count, uint32_t degree, bool directed, double *mean_hops,
                       uint32_t *diameter)
{
    WEFT_ASSERT(server_count > 0 && degree > 0);
    double left = server_count - 1.0;
    double others = left;
    double shell = degree;
    double growth = directed ? degree : degree - 1.0;
    double hop_sum = 0;
    uint32_t hops = 0;
    if (growth == 1) { // equal shells: n hops round, too many to walk
        double full = floor(left / shell);
        double rest = left - full * shell;
        hop_sum = shell * full * (full + 1) / 2 + rest * (full + 1);
        hops = (uint32_t)full + (rest > 0 ? 1 : 0);
        left = 0;
    }
    while (left > 0 && shell > 0) {
        hops++;
        double reached = shell < left ? shell : left;
        hop_sum += reached * hops;
        left -= reached;
        shell *= growth;
    }
    if (left > 0) {
        *mean_hops = (double)INFINITY;
        *diameter = WEFT_NONE;
        return;
    }
    *mean_hops = others > 0 ? hop_sum / others : 0;
    *diameter = hops;
}

// ---- cost-equivalent Fat-tree ----

static double cost_at(struct weft_parts parts, const struct weft_price_book *book, double rate_Bps)
{
    parts.rate_Bps = rate_Bps;
    return weft_fabric_cost(&parts, book).total_usd;
}

// The rate at which these parts cost the budget, by bisection: cost is continuous in the rate. From
// the fastest row that is affordable upwards, so that a book with cheaper fast rows gives the
// fastest answer. 0 when no row is affordable, INFINITY when no rate is dear enough.
static double affordable_rate(const struct weft_parts *parts, const struct weft_price_book *book,
                              double budget_usd)
{
    double low_Bps = 0;
    for (uint32_t i = 0; i < book->row_count; i++) {
        if (cost_at(*parts, book, book->rows[i].rate_Bps) <= budget_usd) {
            low_Bps = book->rows[i].rate_Bps;
        }
    }
    if (low_Bps == 0) {
        return 0;
    }
    double high_Bps = low_Bps;
    for (uint32_t i = 0; i < book->row_count && high_Bps == low_Bps; i++) {
        high_Bps = book->rows[i].rate_Bps > low_Bps ? book->rows[i].rate_Bps : high_Bps;
    }
    while (cost_at(*parts, book, high_Bps) <= budget_usd) {
        high_Bps *= 2;
        if (high_Bps > RATE_MAX_BPS) {
            return (double)INFINITY;
        }
    }
    for (uint32_t i = 0; i < 200 && high_Bps - low_Bps > 1e-12 * high_Bps; i++) {
        double middle_Bps = (low_Bps + high_Bps) / 2;
        if (cost_at(*parts, book, middle_Bps) <= budget_usd) {
            low_Bps = middle_Bps;
        } else {
            high_Bps = middle_Bps;
        }
    }
    return low_Bps;
}

bool weft_fabric_build_cost_equivalent(struct weft_network *network,
                                       const struct weft_cluster *cluster, double budget_usd,
                                       struct weft_arena *arena, struct weft_error *error)
{
    if (!(budget_usd > 0) || !isfinite(budget_usd)) {
        return weft_fail(error, WEFT_INPUT, "a budget of %g USD buys nothing", budget_usd);
    }
    struct weft_network trial;
    struct weft_arena trial_arena = *arena;
    if (!weft_fabric_build_fat_tree(&trial, cluster, NULL, &trial_arena, error)) {
        return weft_wrap(error, "its Fat-tree");
    }
    const struct weft_price_book *book = &cluster->prices;
    double rate_Bps = affordable_rate(&trial.fabric.parts, book, budget_usd);
    if (rate_Bps == 0) {
        char least[WEFT_UNIT_TEXT];
        char budget[WEFT_UNIT_TEXT];
        weft_show_usd(least, cost_at(trial.fabric.parts, book, book->rows[0].rate_Bps));
        weft_show_usd(budget, budget_usd);
        return weft_fail(error, WEFT_INFEASIBLE,
                         "a Fat-tree of %u servers costs at least %s, above the "
                         "budget of %s; raise it, or add slower rows to the price book",
                         cluster->server_count, least, budget);
    }
    if (isinf(rate_Bps)) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "at the fastest prices even %g Gbps is cheaper than the "
                         "budget; add faster rows to the price book",
                         RATE_MAX_BPS / 125e6);
    }
    struct weft_fabric_options options = {.port_rate_Bps = rate_Bps};
    if (!weft_fabric_build_fat_tree(network, cluster, &options, arena, error)) {
        return weft_wrap(error, "its Fat-tree");
    }
    network->fabric.name = "cost-equivalent";
    return true;
}
