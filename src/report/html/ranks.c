// SPDX-License-Identifier: Apache-2.0
// Which ranks each server has: a row for each server, with what its ranks are of the strategy and
// the servers that its cables lead to.
//
// Ranks are numbered as launchers number them, server after server. O(ranks + links).

#include "html.h"
#include "report/svg/pictures.h"

#define ROWS_OPEN 32u // a longer table begins folded

// The least and the largest of what the ranks of a server are on one axis.
static void add_range(struct weft_text *text, uint64_t first, uint64_t end, uint64_t stride,
                      uint32_t parts)
{
    uint32_t low = WEFT_NONE;
    uint32_t high = 0;
    for (uint64_t rank = first; rank < end; rank++) {
        uint32_t part = (uint32_t)(rank / stride % parts);
        low = part < low ? part : low;
        high = part > high ? part : high;
    }
    weft_text_add(text, low == high ? "<td class=\"r\">%u" : "<td class=\"r\">%u–%u", low, high);
}

static void add_neighbors(struct weft_text *text, const struct weft_fabric *fabric, uint32_t server)
{
    const char *before = "";
    for (uint32_t l = fabric->first[server]; l < fabric->first[server + 1]; l++) {
        const struct weft_link *link = &fabric->links[l];
        if (link->to >= fabric->server_count) {
            continue;
        }
        weft_text_add(text, "%s%u", before, link->to);
        before = ", ";
        if (link->width > 1) {
            weft_text_add(text, " (%u cables)", link->width);
        }
    }
}

static void add_rows(struct weft_text *text, const struct weft_report *report, uint32_t each)
{
    const struct weft_fabric *fabric = &report->plan->network.fabric;
    const struct weft_strategy *strategy = report->strategy;
    bool hybrid = strategy != NULL && strategy->kind == WEFT_STRATEGY_HYBRID;
    for (uint32_t s = 0; s < fabric->server_count; s++) {
        uint64_t first = (uint64_t)s * each;
        uint64_t last = first + each - 1;
        weft_text_add(text, "<tr><th scope=\"row\" class=\"r\">%u<td class=\"r\">%llu", s,
                      (unsigned long long)first);
        if (last > first) {
            weft_text_add(text, "–%llu", (unsigned long long)last);
        }
        if (hybrid) {
            const struct weft_hybrid *of = &strategy->hybrid;
            struct picture_strides strides = picture_hybrid_strides(of);
            add_range(text, first, last + 1, strides.dp, of->dp);
            add_range(text, first, last + 1, strides.pp, of->pp);
            add_range(text, first, last + 1, strides.tp, of->tp);
            add_range(text, first, last + 1, strides.cp, of->cp);
        }
        weft_text_add(text, "<td>");
        add_neighbors(text, fabric, s);
        weft_text_add(text, "</tr>\n");
    }
}

void html_ranks(struct weft_text *text, const struct weft_report *report)
{
    const struct weft_plan *plan = report->plan;
    const struct weft_strategy *strategy = report->strategy;
    bool hybrid = strategy != NULL && strategy->kind == WEFT_STRATEGY_HYBRID;
    // A task graph has a rank for each server, whatever is behind it.
    uint32_t each = report->model != NULL ? plan->cluster.accelerators_per_server : 1;
    if (report->setting != NULL && report->setting->cost.accelerators_per_server > 0) {
        each = report->setting->cost.accelerators_per_server;
    }
    each = each > 0 ? each : 1;
    uint32_t count = plan->network.fabric.server_count;
    html_heading(text, "Ranks",
                 hybrid ? "Which ranks each server has, what they are of the strategy, counted "
                          "from 0, and where its cables lead."
                        : "Which ranks each server has, and where its cables lead.");
    bool folded = count > ROWS_OPEN;
    if (folded) {
        weft_text_add(text, "<details><summary>All %u servers</summary>\n", count);
    }
    html_table(text, "Ranks by server",
               hybrid ? ">server|>ranks|>data|>stage|>tensor|>context|<cables to"
                      : ">server|>ranks|<cables to");
    add_rows(text, report, each);
    html_table_end(text);
    weft_text_add(text, folded ? "</details>\n</section>\n" : "</section>\n");
}
