// SPDX-License-Identifier: Apache-2.0
// Bills of material: what a fabric is bought as, and what that costs and draws. Everything is
// counted from the survey of the built fabric (survey.c): switches are whole, with the ports that
// stay free; a cable within a rack is copper, every other end has its transceiver; what is joined
// by panels or circuit switches has a fibre from each server port to them. Prices are the cluster's
// book at the rate of each part. Counts agree with weft_parts, which a builder states in closed
// form, but for copper and for rates that no port has (tests/property/test_bills.c).
// O(links log degree + devices * models).

#include "survey.h"

const char *const weft_length_words[] = {
    [WEFT_LENGTH_RACK] = "rack", [WEFT_LENGTH_ROW] = "row", [WEFT_LENGTH_HALL] = "hall", NULL};

// What of one rate is bought besides switches.
struct tally {
    uint64_t nics;
    uint64_t ends; // of cables, at servers and switches
    uint64_t dacs;
    uint64_t fibres[WEFT_LENGTHS];
};

// Rows as they are added, with their totals.
struct rows {
    struct weft_bill *bill;
    struct weft_bill_row *rows;
    uint32_t capacity;
    struct weft_arena *arena;
};

static void add_row(struct rows *rows, struct weft_bill_row row)
{
    if (row.count > 0) {
        WEFT_ASSERT(rows->bill->row_count < rows->capacity);
        rows->rows[rows->bill->row_count++] = row;
        rows->bill->usd += row.usd;
        rows->bill->watts += row.watts;
    }
}

// ---- switches ----

// One row for each tier and model that occurs there, in the order of the catalogue.
static void add_switches(struct rows *rows, const struct survey *survey, struct weft_arena scratch)
{
    const struct weft_switch_catalogue *catalogue = weft_cluster_switches(survey->cluster);
    const struct weft_price_book *book = &survey->cluster->prices;
    size_t cells = (size_t)(survey->tier_max + 1) * catalogue->model_count;
    struct weft_bill_row *found = WEFT_NEW(&scratch, struct weft_bill_row, cells);
    for (uint32_t d = survey->server_count; d < survey->device_count; d++) {
        const struct weft_switch_model *model = survey->model[d];
        if (model == NULL) {
            continue;
        }
        size_t place = (size_t)(model - catalogue->models);
        struct weft_bill_row *row = &found[survey->tier[d] * catalogue->model_count + place];
        uint32_t used = survey_ports(survey, d, model);
        row->model = model;
        row->tier = survey->tier[d];
        row->count++;
        row->ports_used += used;
        row->ports_free += model->ports - used;
    }
    for (size_t i = 0; i < cells; i++) {
        struct weft_bill_row row = found[i];
        if (row.count > 0) {
            row.part =
                weft_arena_format(rows->arena, "switch %s, tier %u", row.model->name, row.tier);
            row.usd = (double)row.count * weft_cluster_switch_usd(row.model, book);
            row.watts = (double)row.count * weft_cluster_switch_watts(row.model, book);
            row.source = row.model->usd > 0 ? "the switch's own price"
                                            : "assumed from the price book's ports";
            rows->bill->switches += row.count;
            add_row(rows, row);
        }
    }
}

// ---- what belongs to cables ----

static void tally_cables(struct tally *tallies, const struct survey *survey)
{
    for (uint32_t d = 0; d < survey->device_count; d++) {
        bool server = d < survey->server_count;
        enum weft_length length =
            survey_length(survey, survey->place[d], survey_panel_place(survey));
        for (uint32_t r = 0; r < survey->rate_count; r++) {
            uint32_t ends = survey_ends(survey, d, r);
            tallies[r].ends += ends;
            tallies[r].nics += server ? ends : 0;
            tallies[r].fibres[length] += server && survey->panel ? ends : 0;
        }
    }
    struct cable_run run;
    for (uint32_t link = 0; survey_next_run(survey, &link, &run);) {
        struct tally *tally = &tallies[run.rate];
        bool both_servers = run.from < survey->server_count && run.to < survey->server_count;
        if (run.copper) {
            tally->dacs += run.count;
        } else if (!(survey->panel && both_servers)) {
            tally->fibres[run.length] += run.count;
        }
    }
}

// Adds what cables of one part rate need.
static void add_parts(struct rows *rows, const struct survey *survey, const struct tally *tally,
                      double rate_Bps)
{
    const struct weft_price_book *book = &survey->cluster->prices;
    const struct weft_price_row price = weft_cluster_price_at(book, rate_Bps);
    struct weft_bill *bill = rows->bill;
    double gbps = rate_Bps / 125e6;
    uint64_t optics = tally->ends - 2 * tally->dacs;
    double nics = (double)tally->nics;
    struct weft_arena *arena = rows->arena;
    add_row(rows, (struct weft_bill_row){
                      .part = weft_arena_format(arena, "NIC port %gG", gbps),
                      .count = tally->nics,
                      .usd = nics * price.nic_usd,
                      .watts = nics * price.nic_watts,
                      .source = book->source,
                  });
    add_row(rows, (struct weft_bill_row){
                      .part = weft_arena_format(arena, "transceiver %gG", gbps),
                      .count = optics,
                      .usd = (double)optics * price.transceiver_usd,
                      .watts = (double)optics * price.transceiver_watts,
                      .source = book->source,
                  });
    add_row(rows, (struct weft_bill_row){
                      .part = weft_arena_format(arena, "copper cable %gG, rack", gbps),
                      .count = tally->dacs,
                      .usd = (double)tally->dacs * price.dac_usd,
                      .source = book->source,
                  });
    for (uint32_t l = 0; l < WEFT_LENGTHS; l++) {
        add_row(rows,
                (struct weft_bill_row){
                    .part = weft_arena_format(arena, "fibre %gG, %s", gbps, weft_length_words[l]),
                    .count = tally->fibres[l],
                    .source = "not priced",
                });
        bill->fibres[l] += tally->fibres[l];
    }
    bill->nics += tally->nics;
    bill->transceivers += optics;
    bill->dacs += tally->dacs;
}

// Joins the tallies of cables that are bought as parts of one rate, and adds their rows.
static void add_cables(struct rows *rows, const struct survey *survey)
{
    struct tally tallies[SURVEY_RATES_MAX] = {{0}};
    tally_cables(tallies, survey);
    for (uint32_t r = 0; r < survey->rate_count; r++) {
        double rate_Bps = survey_part_rate(survey, r);
        for (uint32_t other = r + 1; other < survey->rate_count; other++) {
            if (survey_part_rate(survey, other) == rate_Bps) {
                tallies[r].nics += tallies[other].nics;
                tallies[r].ends += tallies[other].ends;
                tallies[r].dacs += tallies[other].dacs;
                for (uint32_t l = 0; l < WEFT_LENGTHS; l++) {
                    tallies[r].fibres[l] += tallies[other].fibres[l];
                }
                tallies[other] = (struct tally){0};
            }
        }
        if (!weft_cluster_price_covers(&survey->cluster->prices, survey->rates[r])) {
            rows->bill->unpriced_Bps = survey->rates[r];
        }
        add_parts(rows, survey, &tallies[r], rate_Bps);
    }
}

static void add_panels(struct rows *rows, const struct survey *survey)
{
    const struct weft_parts *parts = &survey->fabric->parts;
    const struct weft_price_book *book = &survey->cluster->prices;
    const struct weft_price_row price = weft_cluster_price_at(book, parts->rate_Bps);
    const struct {
        const char *part;
        uint64_t count;
        double usd;
        double watts;
    } panels[] = {
        {"patch panel port", parts->patch_panel_ports, price.patch_panel_port_usd, 0},
        {"circuit switch port", parts->ocs_ports, price.ocs_port_usd, price.ocs_port_watts},
        {"1x2 switch", parts->mechanical_switches, price.mechanical_switch_usd, 0},
    };
    for (size_t i = 0; i < sizeof panels / sizeof panels[0]; i++) {
        add_row(rows, (struct weft_bill_row){
                          .part = panels[i].part,
                          .count = panels[i].count,
                          .usd = (double)panels[i].count * panels[i].usd,
                          .watts = (double)panels[i].count * panels[i].watts,
                          .source = book->source,
                      });
    }
}

bool weft_fabric_bill(struct weft_bill *bill, const struct weft_network *network,
                      const struct weft_cluster *cluster, const struct weft_bill_options *options,
                      const struct weft_environment *environment)
{
    const struct weft_bill_options own = options == NULL ? (struct weft_bill_options){0} : *options;
    struct weft_arena scratch = environment->scratch;
    struct survey survey;
    if (!survey_build(&survey, network, cluster, &own, &scratch, environment->error) ||
        !survey_choose_models(&survey, &scratch, environment->error)) {
        return false;
    }
    const uint32_t model_count = weft_cluster_switches(cluster)->model_count;
    struct weft_bill counted = {.switch_name = own.switch_name};
    const uint32_t per_rate = 3 + WEFT_LENGTHS;
    const uint32_t panels = 3;
    struct rows rows = {
        .bill = &counted,
        .capacity = survey.tier_max * model_count + survey.rate_count * per_rate + panels,
        .arena = environment->arena,
    };
    rows.rows = WEFT_NEW(rows.arena, struct weft_bill_row, rows.capacity);
    add_switches(&rows, &survey, scratch);
    add_cables(&rows, &survey);
    add_panels(&rows, &survey);
    counted.rows = rows.rows;
    *bill = counted;
    return true;
}
