// SPDX-License-Identifier: Apache-2.0
// Cabling sheets: every cable of a fabric with the port at each of its ends. Ports are given out in
// order of the far device, those of one rate in a row, so that a port that is split holds cables of
// one rate; devices are numbered by tier, as people label them. It is the survey's cables one by
// one, which the bill counts. O(cables log cables).

#include "survey.h"

#include <stdlib.h>

#define CABLES_MAX (1u << 26) // 3 GiB of them

struct ports {
    const struct survey *survey;
    uint32_t *taken; // cables, [device * rate_count + rate]
    uint32_t *names; // per device of the survey: its place in the sheet
};

// The next free port of a device for a rate. Behind those of earlier rates: a port holds one rate.
static struct weft_cable_end take_port(struct ports *ports, uint32_t device, uint32_t rate)
{
    const struct survey *survey = ports->survey;
    const struct weft_switch_model *model =
        device < survey->device_count ? survey->model[device] : NULL;
    uint32_t first = 0;
    for (uint32_t r = 0; model != NULL && r < rate; r++) {
        uint32_t ends = survey_ends(survey, device, r);
        first += ends > 0 ? (ends - 1) / weft_cluster_switch_split(model, survey->rates[r]) + 1 : 0;
    }
    for (uint32_t r = 0; model == NULL && r < rate; r++) {
        first += survey_ends(survey, device, r);
    }
    uint32_t split = model == NULL ? 1 : weft_cluster_switch_split(model, survey->rates[rate]);
    uint32_t cable = ports->taken[(size_t)device * survey->rate_count + rate]++;
    return (struct weft_cable_end){
        .device = ports->names[device],
        .port = first + cable / split + 1,
        .lane = split > 1 ? cable % split + 1 : 0,
    };
}

// ---- devices ----

static const char *rack_name(const struct survey *survey, uint32_t place, struct weft_arena *arena)
{
    if (place < survey->rack_count) {
        return weft_arena_format(arena, "row%u-rack%u", place / survey->row_racks,
                                 place % survey->row_racks);
    }
    uint32_t row = place - survey->rack_count;
    return row < survey->row_count ? weft_arena_format(arena, "row%u-switches", row)
                                   : "hall-switches";
}

// Names servers and then switches, tier by tier in order of their nodes. One that no server reaches
// has no cables, and no name.
static void name_devices(struct weft_cabling_sheet *sheet, struct ports *ports,
                         struct weft_arena *arena)
{
    const struct survey *survey = ports->survey;
    struct weft_cable_device *devices =
        WEFT_NEW(arena, struct weft_cable_device, (size_t)survey->device_count + 1);
    uint32_t count = 0;
    for (uint32_t tier = 0; tier <= survey->tier_max; tier++) {
        uint32_t number = 0;
        for (uint32_t d = 0; d < survey->device_count; d++) {
            if (survey->tier[d] == tier) {
                ports->names[d] = count;
                devices[count++] = (struct weft_cable_device){
                    .name = tier == 0 ? weft_arena_format(arena, "server-%u", number)
                                      : weft_arena_format(arena, "tier%u-%u", tier, number),
                    .rack = rack_name(survey, survey->place[d], arena),
                };
                number++;
            }
        }
    }
    if (survey->panel) {
        devices[count++] = (struct weft_cable_device){
            .name = "panel",
            .rack = rack_name(survey, survey_panel_place(survey), arena),
        };
    }
    sheet->devices = devices;
    sheet->device_count = count;
}

// ---- cables ----

static int by_port(const void *a, const void *b)
{
    const struct weft_cable_end *x = &((const struct weft_cable *)a)->from;
    const struct weft_cable_end *y = &((const struct weft_cable *)b)->from;
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    if (x->port != y->port) {
        return x->port < y->port ? -1 : 1;
    }
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

static bool count_cables(uint32_t *count, const struct survey *survey, struct weft_error *error)
{
    uint64_t cables = 0;
    struct cable_run run;
    for (uint32_t link = 0; survey_next_run(survey, &link, &run);) {
        if (!run.duplex && !survey->panel) {
            return weft_fail(error, WEFT_INPUT,
                             "%s: links that go one way have no cables without a patch panel; "
                             "use one, or duplex links",
                             survey->fabric->name);
        }
        cables += run.count;
    }
    for (uint32_t s = 0; survey->panel && s < survey->server_count; s++) {
        for (uint32_t r = 0; r < survey->rate_count; r++) {
            cables += survey_ends(survey, s, r);
        }
    }
    if (cables > CABLES_MAX) {
        return weft_fail(error, WEFT_INPUT, "%s: a sheet of %llu cables is beyond %u",
                         survey->fabric->name, (unsigned long long)cables, CABLES_MAX);
    }
    *count = (uint32_t)cables;
    return true;
}

// Every server port's fibre to the panel; of two panel ports for it, the active plane's.
static void add_panel(struct weft_cabling_sheet *sheet, struct weft_cable *cables,
                      struct ports *ports)
{
    const struct survey *survey = ports->survey;
    const struct weft_parts *parts = &survey->fabric->parts;
    uint32_t step = parts->mechanical_switches > 0 ? 2 : 1;
    uint32_t port = 1;
    for (uint32_t s = 0; s < survey->server_count; s++) {
        for (uint32_t r = 0; r < survey->rate_count; r++) {
            for (uint32_t i = survey_ends(survey, s, r); i > 0; i--) {
                cables[sheet->cable_count++] = (struct weft_cable){
                    .from = take_port(ports, s, r),
                    .to = {.device = sheet->device_count - 1, .port = port},
                    .rate_Bps = survey->rates[r],
                    .length = survey_length(survey, survey->place[s], survey_panel_place(survey)),
                };
                port += step;
            }
        }
    }
}

static void add_cables(struct weft_cabling_sheet *sheet, struct weft_cable *cables,
                       struct ports *ports)
{
    const struct survey *survey = ports->survey;
    struct cable_run run;
    for (uint32_t link = 0; survey_next_run(survey, &link, &run);) {
        bool both_servers = run.from < survey->server_count && run.to < survey->server_count;
        bool turned = survey->tier[run.to] < survey->tier[run.from];
        for (uint32_t i = 0; i < run.count && !(survey->panel && both_servers); i++) {
            cables[sheet->cable_count++] = (struct weft_cable){
                .from = take_port(ports, turned ? run.to : run.from, run.rate),
                .to = take_port(ports, turned ? run.from : run.to, run.rate),
                .rate_Bps = survey->rates[run.rate],
                .length = run.length,
                .copper = run.copper,
            };
        }
    }
}

bool weft_fabric_cabling(struct weft_cabling_sheet *sheet, const struct weft_network *network,
                         const struct weft_cluster *cluster,
                         const struct weft_bill_options *options,
                         const struct weft_environment *environment)
{
    const struct weft_bill_options own = options == NULL ? (struct weft_bill_options){0} : *options;
    struct weft_arena scratch = environment->scratch;
    struct survey survey;
    struct weft_cabling_sheet built = {0};
    uint32_t count = 0;
    if (!survey_build(&survey, network, cluster, &own, &scratch, environment->error) ||
        !survey_choose_models(&survey, &scratch, environment->error) ||
        !count_cables(&count, &survey, environment->error)) {
        return false;
    }
    struct ports ports = {
        .survey = &survey,
        .taken = WEFT_NEW(&scratch, uint32_t, (size_t)survey.device_count * survey.rate_count),
        .names = WEFT_NEW(&scratch, uint32_t, survey.device_count),
    };
    name_devices(&built, &ports, environment->arena);
    struct weft_cable *cables = WEFT_NEW_RAW(environment->arena, struct weft_cable, count);
    add_cables(&built, cables, &ports);
    if (survey.panel) {
        add_panel(&built, cables, &ports);
    }
    WEFT_ASSERT(built.cable_count <= count);
    qsort(cables, built.cable_count, sizeof *cables, by_port);
    built.cables = cables;
    *sheet = built;
    return true;
}
