// SPDX-License-Identifier: Apache-2.0
// The page of a plan: what it is, what it costs, how good it is proved to be, and pictures of
// it.
//
// One file that needs nothing else, for screens in light and dark and for paper. A section is
// left out when the report has not what it shows. page.c holds the frame, strategy.c the
// sections about a model's strategy.

#include "html.h"
#include "report/svg/pictures.h"
#include "report/svg/svg.h"

// A tile for each bound of the headline, with the plans that it holds for: a gap alone would be
// taken for one to every plan.
static void add_bound_tiles(struct weft_text *text, const struct weft_plan *plan,
                            struct weft_arena scratch)
{
    char value[WEFT_UNIT_TEXT];
    char words[WEFT_BOUND_TEXT];
    char small[WEFT_BOUND_TEXT + 64];
    const struct weft_certificate *certificate = &plan->certificate;
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, certificate->bound_count);
    uint32_t count = weft_certificate_headline(order, certificate);
    bool any_strategy = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_bound *bound = &certificate->bounds[order[i]];
        any_strategy = any_strategy || bound->any_strategy;
        snprintf(small, sizeof small, "gap %.3g %%: %s%s", 100 * bound->gap_ratio,
                 weft_bound_holds_for(words, bound),
                 plan->job != NULL && i + 1 == count && !any_strategy
                     ? "; none is proved for other strategies"
                     : "");
        html_tile(text, "Lower bound", weft_show_time(value, weft_picoseconds(bound->seconds)),
                  small);
    }
}

static void add_tiles(struct weft_text *text, const struct weft_plan *plan,
                      struct weft_arena scratch)
{
    char value[WEFT_UNIT_TEXT];
    char small[96];
    weft_text_add(text, "<dl class=\"tiles\">\n");
    html_tile(text, "Iteration", weft_show_time(value, weft_picoseconds(plan->iteration_s)),
              "simulated");
    add_bound_tiles(text, plan, scratch);
    snprintf(small, sizeof small, "%.4g kW", plan->cost.power_watts / 1000);
    html_tile(text, "Network cost", weft_show_usd(value, plan->cost.total_usd), small);
    snprintf(value, sizeof value, "%.4g", plan->topology.mean_hops);
    snprintf(small, sizeof small, "%.4g for transfers; diameter %u", plan->demand_weighted_hops,
             plan->topology.diameter);
    html_tile(text, "Mean hops", value, small);
    snprintf(small, sizeof small, "mean %s", weft_show_bytes(value, plan->mean_link_load_bytes));
    html_tile(text, "Largest link load", weft_show_bytes(value, plan->max_link_load_bytes), small);
    snprintf(value, sizeof value, "%.3g", plan->bandwidth_tax_ratio);
    html_tile(text, "Bandwidth tax", value, "bytes sent for a byte asked");
    weft_text_add(text, "</dl>\n");
}

static void add_header(struct weft_text *text, const struct weft_report *report,
                       struct weft_arena scratch)
{
    const struct weft_plan *plan = report->plan;
    char rate[WEFT_UNIT_TEXT];
    weft_text_add(text, "<header>\n<p class=\"muted\">Weft plan</p>\n<h1>");
    weft_text_add_escaped(text, report->title);
    weft_text_add(text, "</h1>\n<p>");
    weft_text_add_escaped(text, plan->cluster.name);
    weft_text_add(text,
                  ": %u servers with %u ports of %s each. Method <b>%s</b>, %s rings, seed "
                  "%llu.</p>\n",
                  plan->cluster.server_count, plan->cluster.degree,
                  weft_show_rate(rate, plan->cluster.rate_Bps),
                  plan->method == WEFT_TOPOLOGY_WEFT ? "weft" : "topoopt",
                  plan->topology.simplex ? "one-way" : "two-way", (unsigned long long)plan->seed);
    add_tiles(text, plan, scratch);
    weft_text_add(text, "</header>\n");
}

static void add_fabric(struct weft_text *text, const struct weft_report *report,
                       struct weft_arena scratch)
{
    html_heading(
        text, "Fabric",
        "Servers on a circle, in the order of the first ring where it visits all of them. "
        "Each ring of a group of collectives has a color; links that no ring uses are dashed.");
    weft_text_add(text, "<figure>\n");
    picture_fabric(text, report->plan, false, scratch);
    const struct weft_topology *topology = &report->plan->topology;
    weft_text_add(text,
                  "<figcaption>%u of %u interfaces a server carry rings. %u planes, each a "
                  "permutation of the servers, so that %u optical switches or patch panels wire "
                  "it.</figcaption>\n</figure>\n</section>\n",
                  topology->allreduce_degree, topology->degree, topology->degree, topology->degree);
}

static void add_bounds_table(struct weft_text *text, const struct weft_certificate *certificate)
{
    char seconds[WEFT_UNIT_TEXT];
    char words[WEFT_BOUND_TEXT];
    weft_text_add(text, "<div class=\"wide\"><table><tr><th>bound<th class=\"r\">time"
                        "<th class=\"r\">gap<th>holds for<th>why</tr>\n");
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        const struct weft_bound *bound = &certificate->bounds[i];
        weft_text_add(text, "<tr%s><td>", i == certificate->binding ? " class=\"on\"" : "");
        weft_text_add_escaped(text, bound->name);
        weft_text_add(text, "<td class=\"r\">%s<td class=\"r\">",
                      weft_show_time(seconds, weft_picoseconds(bound->seconds)));
        if (bound->seconds > 0) {
            weft_text_add(text, "%.3g %%", 100 * bound->gap_ratio);
        } else {
            weft_text_add(text, "-");
        }
        weft_text_add(text, "<td>%s<td>", weft_bound_holds_for(words, bound));
        weft_text_add_escaped(text, bound->reason);
        weft_text_add(text, "</tr>\n");
    }
    weft_text_add(text, "</table></div>\n");
}

static void add_certificate(struct weft_text *text, const struct weft_report *report)
{
    const struct weft_plan *plan = report->plan;
    html_heading(
        text, "Certificate",
        "No plan that a bound holds for can be faster than it; plans of other classes may be. "
        "Balanced collectives are those whose members all send and receive alike, as on a ring. "
        "The dark bar is the largest for this strategy and every direct fabric; the pale bars hold "
        "for this fabric only.");
    weft_text_add(text, "<figure>\n");
    picture_certificate(text, &plan->certificate, plan->iteration_s);
    weft_text_add(text, "</figure>\n");
    add_bounds_table(text, &plan->certificate);
    weft_text_add(text, "</section>\n");
}

// `owners`: the rows' strategies are of different fabrics, and a column says whose.
static void add_comparison_row(struct weft_text *text, const struct weft_comparison *row,
                               bool owners)
{
    char buffer[WEFT_UNIT_TEXT];
    weft_text_add(text, "<tr><td>");
    weft_text_add_escaped(text, row->name);
    if (row->why_not != NULL) {
        weft_text_add(text, "<td colspan=\"%u\">not here: ", owners ? 9 : 8);
        weft_text_add_escaped(text, row->why_not);
        weft_text_add(text, "</tr>\n");
        return;
    }
    weft_text_add(text, "<td class=\"r\">%s",
                  weft_show_time(buffer, weft_picoseconds(row->iteration_s)));
    weft_text_add(text, "<td class=\"r\">%.3f", row->ratio_to_ideal);
    weft_text_add(text, "<td class=\"r\">%s", weft_show_usd(buffer, row->cost_usd));
    weft_text_add(text, "<td class=\"r\">%.4g kW", row->power_watts / 1000);
    weft_text_add(text, "<td class=\"r\">%s", weft_show_rate(buffer, row->port_rate_Bps));
    weft_text_add(text, "<td class=\"r\">%.3f", row->bandwidth_tax_ratio);
    weft_text_add(text, "<td class=\"r\">%.3f / %u", row->mean_hops, row->max_hops);
    weft_text_add(text, "<td class=\"r\">%s", weft_show_bytes(buffer, row->mean_link_load_bytes));
    weft_text_add(text, " / %s", weft_show_bytes(buffer, row->max_link_load_bytes));
    if (owners) {
        weft_text_add(text, "<td>");
        weft_text_add_escaped(text, row->found_for != NULL ? row->found_for : "this plan");
    }
    weft_text_add(text, "</tr>\n");
}

// The table of other fabrics with its picture. Its first sentence says whose strategy each fabric
// plays, since a row with a strategy of its own and one with this plan's answer different
// questions.
static void add_comparison(struct weft_text *text, const struct weft_report *report)
{
    if (report->comparison_count == 0) {
        return;
    }
    bool owners = false;
    for (uint32_t i = 0; i < report->comparison_count; i++) {
        owners = owners || report->comparisons[i].found_for != NULL;
    }
    html_heading(
        text, "Against other fabrics",
        owners ? "The same model on the fabrics a buyer would otherwise choose, each with "
                 "the best strategy that was found for it: the last column says for which "
                 "fabric. What each costs is by the cluster's price book."
        : report->model != NULL
            ? "This plan's strategy on the fabrics a buyer would otherwise choose, none of "
              "which has a strategy of its own here, with what each costs by the "
              "cluster's price book."
            : "The same iteration on the fabrics a buyer would otherwise choose, with what "
              "each costs by the cluster's price book.");
    weft_text_add(text, "<figure>\n");
    picture_comparison(text, report->comparisons, report->comparison_count);
    weft_text_add(text,
                  "</figure>\n<div class=\"wide\"><table><tr><th>fabric<th "
                  "class=\"r\">iteration<th class=\"r\">to ideal<th class=\"r\">cost<th "
                  "class=\"r\">power<th class=\"r\">port<th class=\"r\">tax<th class=\"r\">"
                  "hops mean / max<th class=\"r\">link load mean / max%s</tr>\n",
                  owners ? "<th>strategy of" : "");
    for (uint32_t i = 0; i < report->comparison_count; i++) {
        add_comparison_row(text, &report->comparisons[i], owners);
    }
    weft_text_add(text, "</table></div>\n<p class=\"muted\">Price book: ");
    weft_text_add_escaped(text, report->plan->cluster.prices.source);
    weft_text_add(text, ".</p>\n</section>\n");
}

static void add_simulation(struct weft_text *text, const struct weft_report *report,
                           struct weft_arena scratch)
{
    const struct weft_sim_result *result = report->result;
    if (result == NULL) {
        return;
    }
    if (report->graph != NULL && result->task_start_ps != NULL) {
        html_heading(
            text, "Timeline",
            "One iteration on every server: compute above, the network below. A mark is at "
            "least one column wide, so short tasks look longer than they are.");
        weft_text_add(text, "<figure>\n");
        picture_timeline(text, report->graph, result->task_start_ps[0], result->task_end_ps[0],
                         result->iteration_ps[0], scratch);
        weft_text_add(text, "</figure>\n</section>\n");
    }
    html_heading(
        text, "Link loads",
        "How many links carry how much in one iteration, packet headers included. The nearer "
        "all stand to the largest, the better the links are used.");
    weft_text_add(text, "<figure>\n");
    picture_loads(text, &report->plan->network.fabric, result->link_bytes, scratch);
    weft_text_add(text, "</figure>\n</section>\n");
}

static void add_traffic(struct weft_text *text, const struct weft_report *report,
                        struct weft_arena scratch)
{
    const struct weft_traffic *traffic = report->traffic;
    if (traffic == NULL) {
        return;
    }
    html_heading(text, "Traffic",
                 "What the iteration asks of the network. Transfers are fixed; a collective may "
                 "take any ring over its group, and is shown on those of this plan.");
    weft_text_add(text, "<figure>\n");
    picture_heat(text, traffic, &report->plan->topology.rings, false, scratch);
    weft_text_add(text,
                  "<figcaption>Collectives are %.3g %% of the bytes on the wire, in %u group%s."
                  "</figcaption>\n</figure>\n</section>\n",
                  100 * traffic->allreduce_share_ratio, traffic->group_count,
                  traffic->group_count == 1 ? "" : "s");
}

// Lists the first rings with their members; what is cut short says how much more there is.
static void add_rings_table(struct weft_text *text, const struct weft_plan *plan)
{
    const struct weft_ring_set *set = &plan->topology.rings;
    if (set->ring_count == 0) {
        return;
    }
    html_heading(text, "Rings", "Each member sends to the next, and the last to the first.");
    weft_text_add(text, "<div class=\"wide\"><table><tr><th class=\"r\">ring<th class=\"r\">group"
                        "<th class=\"r\">share<th class=\"w\">members</tr>\n");
    uint32_t shown = set->ring_count < 24 ? set->ring_count : 24;
    for (uint32_t r = 0; r < shown; r++) {
        const struct weft_ring *ring = &set->rings[r];
        weft_text_add(text, "<tr><td class=\"r\">%u<td class=\"r\">%u<td class=\"r\">%.3g %%<td>",
                      r + 1, ring->group, 100 * ring->share_ratio);
        uint32_t listed = ring->member_count <= 36 ? ring->member_count : 32;
        for (uint32_t i = 0; i < listed; i++) {
            weft_text_add(text, "%s%u", i == 0 ? "" : " ", ring->members[i]);
        }
        if (listed < ring->member_count) {
            weft_text_add(text, " … (%u more)", ring->member_count - listed);
        }
        weft_text_add(text, "</tr>\n");
    }
    weft_text_add(text, "</table></div>\n");
    if (shown < set->ring_count) {
        weft_text_add(text, "<p class=\"muted\">%u further rings are in the plan's file.</p>\n",
                      set->ring_count - shown);
    }
    weft_text_add(text, "</section>\n");
}

// Lists what to buy: parts that are needed, at the prices of the rate of a port.
static void add_parts_table(struct weft_text *text, const struct weft_plan *plan)
{
    const struct weft_parts *parts = &plan->network.fabric.parts;
    const struct weft_price_row row = weft_cluster_price_at(&plan->cluster.prices, parts->rate_Bps);
    const struct {
        const char *name;
        uint64_t count;
        double each_usd, each_watts;
    } lines[] = {
        {"NIC ports", parts->nics, row.nic_usd, row.nic_watts},
        {"transceivers", parts->transceivers, row.transceiver_usd, row.transceiver_watts},
        {"switch ports", parts->switch_ports, row.switch_port_usd, row.switch_port_watts},
        {"patch panel ports", parts->patch_panel_ports, row.patch_panel_port_usd, 0},
        {"OCS ports", parts->ocs_ports, row.ocs_port_usd, row.ocs_port_watts},
        {"1x2 switches", parts->mechanical_switches, row.mechanical_switch_usd, 0},
    };
    char rate[WEFT_UNIT_TEXT];
    char each[WEFT_UNIT_TEXT];
    char total[WEFT_UNIT_TEXT];
    html_heading(text, "Parts", "What to buy, by the cluster's price book.");
    weft_text_add(text,
                  "<div class=\"wide\"><table><tr><th>part at %s<th class=\"r\">count<th "
                  "class=\"r\">each<th class=\"r\">together<th class=\"r\">power</tr>\n",
                  weft_show_rate(rate, parts->rate_Bps));
    for (uint32_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (lines[i].count == 0) {
            continue;
        }
        double count = (double)lines[i].count;
        weft_text_add(text,
                      "<tr><td>%s<td class=\"r\">%llu<td class=\"r\">%s<td class=\"r\">%s<td "
                      "class=\"r\">%.4g W</tr>\n",
                      lines[i].name, (unsigned long long)lines[i].count,
                      weft_show_usd(each, lines[i].each_usd),
                      weft_show_usd(total, lines[i].each_usd * count), lines[i].each_watts * count);
    }
    weft_text_add(text, "</table></div>\n</section>\n");
}

const char *weft_report_html(const struct weft_report *report, struct weft_arena *arena,
                             struct weft_arena scratch)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    html_begin(&text, report->title, "Weft plan");
    add_header(&text, report, scratch);
    html_strategy(&text, report, scratch);
    html_memory(&text, report, scratch);
    add_fabric(&text, report, scratch);
    add_certificate(&text, report);
    html_rounds(&text, report);
    add_comparison(&text, report);
    html_uses(&text, report, scratch);
    add_simulation(&text, report, scratch);
    add_traffic(&text, report, scratch);
    add_rings_table(&text, report->plan);
    add_parts_table(&text, report->plan);
    html_end(&text);
    return text.data;
}
