// SPDX-License-Identifier: Apache-2.0
// The page of a plan: what it is, what it costs, how good it is proved to be, and pictures of
// it.
//
// One file that needs nothing else, for screens in light and dark and for paper. A section is
// left out when the report has not what it shows. page.c holds the frame, strategy.c the
// sections about a model's strategy, ranks.c which server has which ranks. Bytes over links are
// those of messages everywhere, without packets' headers, so that sums agree.

#include "html.h"
#include "report/svg/pictures.h"
#include "report/svg/svg.h"

#include <math.h>

// A tile for each bound of the headline, with the plans that it holds for: a gap alone would be
// taken for one to every plan.
static void add_bound_tiles(struct weft_text *text, const struct weft_plan *plan,
                            struct weft_arena scratch)
{
    char value[WEFT_UNIT_TEXT];
    char gap[WEFT_UNIT_TEXT];
    char words[WEFT_BOUND_TEXT];
    char small[WEFT_BOUND_TEXT + 64];
    const struct weft_certificate *certificate = &plan->certificate;
    uint32_t *order = WEFT_NEW(&scratch, uint32_t, certificate->bound_count);
    uint32_t count = weft_certificate_headline(order, certificate);
    bool any_strategy = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_bound *bound = &certificate->bounds[order[i]];
        any_strategy = any_strategy || bound->any_strategy;
        snprintf(small, sizeof small, "gap %s: %s%s", html_percent(gap, bound->gap_ratio),
                 weft_bound_holds_for(words, bound),
                 plan->job != NULL && i + 1 == count && !any_strategy
                     ? "; none is proved for other strategies"
                     : "");
        html_tile(text, "Lower bound", weft_show_time(value, weft_picoseconds(bound->seconds)),
                  small);
    }
}

// Of a model: what it trains at, and how well accelerators are used.
static void add_speed_tiles(struct weft_text *text, const struct weft_report *report)
{
    const struct weft_model *model = report->model;
    const struct weft_plan *plan = report->plan;
    if (model == NULL || !(plan->iteration_s > 0)) {
        return;
    }
    char value[WEFT_UNIT_TEXT];
    char small[96];
    double samples = (double)model->batch / plan->iteration_s;
    bool tokens = model->transformer != NULL && model->transformer->vocabulary > 0;
    double length = tokens ? (double)model->transformer->sequence : 1;
    snprintf(small, sizeof small, "%s samples an iteration",
             html_count(value, (double)model->batch));
    if (tokens) {
        char each[WEFT_UNIT_TEXT];
        snprintf(small, sizeof small, "%s samples of %s tokens", html_count(value, samples),
                 html_count(each, length));
    }
    html_tile(text, tokens ? "Tokens a second" : "Samples a second",
              html_count(value, samples * length), small);
    double used = plan->job != NULL ? plan->job->flops_utilization : 0;
    if (used > 0) {
        html_tile(text, "MFU", html_percent(value, used), "of the accelerators' peak FLOP/s");
    }
}

// What the network costs and draws, and beside it the accelerators where their power is known.
static void add_cost_tiles(struct weft_text *text, const struct weft_report *report)
{
    const struct weft_plan *plan = report->plan;
    char value[WEFT_UNIT_TEXT];
    char small[96];
    snprintf(small, sizeof small, "%s a server",
             weft_show_usd(value, plan->cost.total_usd / plan->cluster.server_count));
    html_tile(text, "Network cost", weft_show_usd(value, plan->cost.total_usd), small);
    const struct weft_accelerator *accelerator =
        report->setting != NULL ? report->setting->cost.accelerator : NULL;
    double watts = accelerator != NULL ? accelerator->watts : 0;
    double count = (double)plan->cluster.server_count * plan->cluster.accelerators_per_server;
    snprintf(small, sizeof small, "by the price book");
    if (watts * count > 0) {
        snprintf(small, sizeof small, "%.0f accelerators: %s", count,
                 weft_show_watts(value, watts * count));
    }
    html_tile(text, "Network power", weft_show_watts(value, plan->cost.power_watts), small);
}

static void add_tiles(struct weft_text *text, const struct weft_report *report,
                      struct weft_arena scratch)
{
    const struct weft_plan *plan = report->plan;
    char value[WEFT_UNIT_TEXT];
    char small[96];
    weft_text_add(text, "<dl class=\"tiles\">\n");
    add_speed_tiles(text, report);
    add_cost_tiles(text, report);
    html_tile(text, "Iteration", weft_show_time(value, weft_picoseconds(plan->iteration_s)),
              "simulated");
    add_bound_tiles(text, plan, scratch);
    snprintf(small, sizeof small, "mean %s", weft_show_bytes(value, plan->mean_link_load_bytes));
    html_tile(text, "Largest link load", weft_show_bytes(value, plan->max_link_load_bytes), small);
    snprintf(value, sizeof value, "%.3g", plan->bandwidth_tax_ratio);
    html_tile(text, "Bandwidth tax", value, "bytes sent for a byte asked");
    snprintf(value, sizeof value, "%.4g", plan->topology.mean_hops);
    snprintf(small, sizeof small, "mean of any two servers; at most %u", plan->topology.diameter);
    html_tile(text, "Hops", value, small);
    weft_text_add(text, "</dl>\n");
}

static void add_header(struct weft_text *text, const struct weft_report *report,
                       struct weft_arena scratch)
{
    const struct weft_plan *plan = report->plan;
    char rate[WEFT_UNIT_TEXT];
    weft_text_add(text, "<header>\n<p class=\"muted\">Weft plan</p>\n<h1>");
    weft_text_add_escaped(text, report->title);
    weft_text_add(text, " on ");
    weft_text_add_escaped(text, plan->cluster.name);
    weft_text_add(text,
                  "</h1>\n<p>%u servers with %u ports of %s each. Method <b>%s</b>, %s rings, seed "
                  "%llu.</p>\n",
                  plan->cluster.server_count, plan->cluster.degree,
                  weft_show_rate(rate, plan->cluster.rate_Bps),
                  plan->method == WEFT_TOPOLOGY_WEFT ? "weft" : "topoopt",
                  plan->topology.simplex ? "one-way" : "two-way", (unsigned long long)plan->seed);
    html_origin(text, report->model != NULL ? "Model" : "Job", report->title, plan->cluster.name,
                &report->origin);
    add_tiles(text, report, scratch);
    weft_text_add(text, "</header>\n");
}

// Bytes of messages over each link: the engine counts headers, too, and the rest of the page does
// not.
static const double *payload_of(const struct weft_report *report, struct weft_arena *arena)
{
    const struct weft_sim_options *sim = &report->plan->sim;
    uint32_t count = report->plan->network.fabric.link_count;
    double *bytes = WEFT_NEW(arena, double, (size_t)count + 1);
    double share = sim->packet_bytes > sim->header_bytes
                       ? 1 - (double)sim->header_bytes / sim->packet_bytes
                       : 1;
    for (uint32_t l = 0; l < count; l++) {
        bytes[l] = report->result->link_bytes[l] * share;
    }
    return bytes;
}

static void add_fabric(struct weft_text *text, const struct weft_report *report,
                       struct weft_arena scratch)
{
    html_heading(
        text, "Fabric",
        "Servers on a circle, in the order of the first ring where it visits all of them. "
        "Each ring of a group of collectives has a color; links that no ring uses are dashed.");
    html_figure(text, "fabric");
    const double *link_bytes = report->result != NULL ? payload_of(report, &scratch) : NULL;
    picture_fabric(text, report->plan, link_bytes, false, scratch);
    const struct weft_topology *topology = &report->plan->topology;
    char caption[256];
    snprintf(caption, sizeof caption,
             "%u of %u interfaces a server carry rings. %u planes, each a permutation of the "
             "servers, so that %u optical switches or patch panels wire it.",
             topology->allreduce_degree, topology->degree, topology->degree, topology->degree);
    html_figure_end(text, caption);
    weft_text_add(text, "</section>\n");
}

static void add_bounds_table(struct weft_text *text, const struct weft_certificate *certificate)
{
    char seconds[WEFT_UNIT_TEXT];
    char gap[WEFT_UNIT_TEXT];
    char words[WEFT_BOUND_TEXT];
    html_table(text, "Lower bounds on the iteration; the strongest stands out",
               "bound|>time|>gap|holds for|why");
    for (uint32_t i = 0; i < certificate->bound_count; i++) {
        const struct weft_bound *bound = &certificate->bounds[i];
        weft_text_add(text, "<tr%s><th scope=\"row\">",
                      i == certificate->binding ? " class=\"on\"" : "");
        weft_text_add_escaped(text, bound->name);
        weft_text_add(text, "<td class=\"r\">%s<td class=\"r\">%s",
                      weft_show_time(seconds, weft_picoseconds(bound->seconds)),
                      bound->seconds > 0 ? html_percent(gap, bound->gap_ratio) : "-");
        weft_text_add(text, "<td>%s<td>", weft_bound_holds_for(words, bound));
        weft_text_add_escaped(text, bound->reason);
        weft_text_add(text, "</tr>\n");
    }
    html_table_end(text);
}

static void add_certificate(struct weft_text *text, const struct weft_report *report)
{
    const struct weft_plan *plan = report->plan;
    html_heading(
        text, "Certificate",
        "No plan that a bound holds for can be faster than it; plans of other classes may be. "
        "Balanced collectives are those whose members all send and receive alike, as on a ring. "
        "The blue bar is the largest for this strategy and every direct fabric; those in outline "
        "hold for this fabric only. The axis begins where the bars differ.");
    html_figure(text, "");
    picture_certificate(text, &plan->certificate, plan->iteration_s);
    html_figure_end(text, NULL);
    add_bounds_table(text, &plan->certificate);
    weft_text_add(text, "</section>\n");
}

// `owners`: the rows' strategies are of different fabrics, and a column says whose.
static void add_comparison_row(struct weft_text *text, const struct weft_comparison *row,
                               bool owners)
{
    char buffer[WEFT_UNIT_TEXT];
    weft_text_add(text, "<tr><th scope=\"row\">");
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
    weft_text_add(text, "<td class=\"r\">%s", weft_show_watts(buffer, row->power_watts));
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
    html_figure(text, "");
    picture_comparison(text, report->comparisons, report->comparison_count);
    html_figure_end(text, NULL);
    html_table(text, "Fabrics; hops of a byte and load of a cable as mean / largest",
               owners
                   ? "^fabric|>iteration|>to ideal|>cost|>power|>port|>tax|>hops|>load|strategy of"
                   : "^fabric|>iteration|>to ideal|>cost|>power|>port|>tax|>hops|>load");
    for (uint32_t i = 0; i < report->comparison_count; i++) {
        add_comparison_row(text, &report->comparisons[i], owners);
    }
    html_table_end(text);
    weft_text_add(text, "<p class=\"muted\">Price book: ");
    weft_text_add_escaped(text, report->plan->cluster.prices.source);
    weft_text_add(text, "; switches by their ports, where weft compare of a model counts whole "
                        "ones.</p>\n</section>\n");
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
        html_figure(text, "timeline");
        picture_timeline(text, report->graph, result->task_start_ps[0], result->task_end_ps[0],
                         result->iteration_ps[0], scratch);
        picture_tasks(text, report->graph, result->task_start_ps[0], result->task_end_ps[0],
                      result->iteration_ps[0], scratch);
        html_figure_end(text, NULL);
        weft_text_add(text, "</section>\n");
    }
    html_heading(
        text, "Link loads",
        "How many links carry how much in one iteration. The nearer all stand to the largest, the "
        "better the links are used.");
    html_figure(text, "");
    picture_loads(text, &report->plan->network.fabric, payload_of(report, &scratch), scratch);
    html_figure_end(text, NULL);
    weft_text_add(text, "</section>\n");
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
    html_figure(text, "zoom");
    picture_heat(text, traffic, &report->plan->topology.rings, false, scratch);
    char caption[128];
    char share[WEFT_UNIT_TEXT];
    snprintf(caption, sizeof caption,
             "Collectives are %s of the bytes that are asked for, in %u group%s.",
             html_percent(share, traffic->allreduce_share_ratio), traffic->group_count,
             traffic->group_count == 1 ? "" : "s");
    html_figure_end(text, caption);
    weft_text_add(text, "</section>\n");
}

// Lists the first rings with their members; what is cut short says how much more there is.
static void add_rings_table(struct weft_text *text, const struct weft_plan *plan)
{
    const struct weft_ring_set *set = &plan->topology.rings;
    if (set->ring_count == 0) {
        return;
    }
    html_heading(text, "Rings", "Each member sends to the next, and the last to the first.");
    html_table(text, "Rings and their members in order", ">ring|>group|>share|<members");
    char share[WEFT_UNIT_TEXT];
    uint32_t shown = set->ring_count < 24 ? set->ring_count : 24;
    for (uint32_t r = 0; r < shown; r++) {
        const struct weft_ring *ring = &set->rings[r];
        weft_text_add(text,
                      "<tr><th scope=\"row\" class=\"r\">%u<td class=\"r\">%u<td class=\"r\">"
                      "%s<td>",
                      r + 1, ring->group, html_percent(share, ring->share_ratio));
        uint32_t listed = ring->member_count <= 36 ? ring->member_count : 32;
        for (uint32_t i = 0; i < listed; i++) {
            weft_text_add(text, "%s%u", i == 0 ? "" : " ", ring->members[i]);
        }
        if (listed < ring->member_count) {
            weft_text_add(text, " … (%u more)", ring->member_count - listed);
        }
        weft_text_add(text, "</tr>\n");
    }
    html_table_end(text);
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
    char watts[WEFT_UNIT_TEXT];
    char caption[160];
    int length =
        snprintf(caption, sizeof caption, "Parts at %s", weft_show_rate(rate, parts->rate_Bps));
    if (fabs(parts->rate_Bps - plan->cluster.rate_Bps) > 1) {
        snprintf(caption + length, sizeof caption - (size_t)length,
                 ", of which a port gets %s from its server",
                 weft_show_rate(rate, plan->cluster.rate_Bps));
    }
    html_heading(text, "Parts", "What to buy, by the cluster's price book.");
    html_table(text, caption, "part|>count|>each|>together|>power");
    for (uint32_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (lines[i].count == 0) {
            continue;
        }
        double count = (double)lines[i].count;
        weft_text_add(
            text,
            "<tr><th scope=\"row\">%s<td class=\"r\">%llu<td class=\"r\">%s<td "
            "class=\"r\">%s<td class=\"r\">%s</tr>\n",
            lines[i].name, (unsigned long long)lines[i].count,
            weft_show_usd(each, lines[i].each_usd), weft_show_usd(total, lines[i].each_usd * count),
            lines[i].each_watts > 0 ? weft_show_watts(watts, lines[i].each_watts * count) : "");
    }
    weft_text_add(text,
                  "<tr class=\"on\"><th scope=\"row\">together<td><td><td class=\"r\">%s<td "
                  "class=\"r\">%s</tr>\n",
                  weft_show_usd(total, plan->cost.total_usd),
                  weft_show_watts(watts, plan->cost.power_watts));
    html_table_end(text);
    weft_text_add(text, "</section>\n");
}

const char *weft_report_html(const struct weft_report *report, struct weft_arena *arena,
                             struct weft_arena scratch)
{
    struct weft_text text;
    struct weft_text body;
    struct weft_arena inner = weft_arena_split(&scratch); // holds the sections
    weft_text_init(&text, arena);
    weft_text_init(&body, &inner);
    html_begin(&text, report->title, "Weft plan");
    add_header(&text, report, scratch);
    html_strategy(&body, report, scratch);
    html_memory(&body, report, scratch);
    add_fabric(&body, report, scratch);
    add_certificate(&body, report);
    html_rounds(&body, report);
    add_comparison(&body, report);
    html_uses(&body, report, scratch);
    add_simulation(&body, report, scratch);
    add_traffic(&body, report, scratch);
    html_ranks(&body, report);
    add_rings_table(&body, report->plan);
    add_parts_table(&body, report->plan);
    html_end(&text, body.data);
    return text.data;
}
