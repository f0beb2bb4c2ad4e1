// SPDX-License-Identifier: Apache-2.0
// What a built fabric is made of, read from its nodes and links alone, so that a new builder needs
// nothing here: a breadth-first search from the servers gives each switch its tier, and on the way
// the racks of the servers below it, which decide where it stands. Links become cables by their
// width and rate. How servers fill racks and rows is assumed (docs/fabrics.md, "Bills of
// material"); no published plan of a hall fits all clusters. O(links log degree).

#include "survey.h"

#include <math.h>

// A cable counts as no faster than a port that it exceeds by rounding alone.
#define ROUNDING 1e-9
// Servers of eight accelerators draw 10 kW, racks take 40: so NVIDIA's reference designs for H100.
// Assumed of others.
#define RACK_ACCELERATORS 32u
#define RACK_SERVERS 4u
#define ROW_RACKS 8u

// ---- devices ----

// Which server a node is in, or WEFT_NONE for a switch. In fabrics of accelerators a server is its
// accelerators, the switch between them and the NICs that they share (reference/scale_up.c).
static uint32_t server_of(const struct weft_network *network, uint32_t node)
{
    const struct weft_fabric *fabric = &network->fabric;
    if (network->routes.kind != WEFT_ROUTES_SCALE_UP) {
        return node < fabric->server_count ? node : WEFT_NONE;
    }
    const struct weft_scale_up_routes *inside = network->routes.scale_up;
    uint32_t ranks = fabric->server_count;
    uint32_t servers = ranks / inside->accelerators;
    if (node < ranks) {
        return node / inside->accelerators;
    }
    node -= ranks;
    if (node < servers) {
        return node;
    }
    node -= servers;
    bool shared = inside->nics > 0 && inside->nics < inside->accelerators;
    return shared && node < servers * inside->nics ? node / inside->nics : WEFT_NONE;
}

static void number_devices(struct survey *survey, const struct weft_network *network,
                           struct weft_arena *arena)
{
    const struct weft_fabric *fabric = survey->fabric;
    survey->server_count = 0;
    survey->device_of = WEFT_NEW_RAW(arena, uint32_t, fabric->node_count);
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        uint32_t server = server_of(network, v);
        survey->device_of[v] = server;
        if (server != WEFT_NONE && server >= survey->server_count) {
            survey->server_count = server + 1;
        }
    }
    survey->device_count = survey->server_count;
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        if (survey->device_of[v] == WEFT_NONE) {
            survey->device_of[v] = survey->device_count++;
        }
    }
}

// ---- places ----

// The racks of the servers below a device, from first to last.
struct span {
    uint32_t low;
    uint32_t high;
};

static uint32_t place_of(const struct survey *survey, struct span span)
{
    uint32_t row = span.low / survey->row_racks;
    if (span.low == span.high) {
        return span.low;
    }
    return row == span.high / survey->row_racks ? survey->rack_count + row
                                                : survey->rack_count + survey->row_count;
}

// Breadth-first from all servers: tiers, and places by the racks below. A switch is placed when all
// of the tier below it have been walked.
static void place_devices(struct survey *survey, struct weft_arena *arena)
{
    const struct weft_fabric *fabric = survey->fabric;
    uint32_t *queue = WEFT_NEW_RAW(arena, uint32_t, fabric->node_count);
    struct span *spans = WEFT_NEW_RAW(arena, struct span, survey->device_count);
    survey->tier = WEFT_NEW_RAW(arena, uint32_t, survey->device_count);
    survey->place = WEFT_NEW(arena, uint32_t, survey->device_count);
    for (uint32_t d = 0; d < survey->device_count; d++) {
        bool server = d < survey->server_count;
        uint32_t rack = d / survey->rack_servers;
        survey->tier[d] = server ? 0 : WEFT_NONE;
        spans[d] = server ? (struct span){rack, rack} : (struct span){UINT32_MAX, 0};
    }
    uint32_t end = 0;
    for (uint32_t v = 0; v < fabric->node_count; v++) {
        if (survey->device_of[v] < survey->server_count) {
            queue[end++] = v;
        }
    }
    for (uint32_t at = 0; at < end; at++) {
        uint32_t v = queue[at];
        uint32_t device = survey->device_of[v];
        survey->place[device] = place_of(survey, spans[device]);
        survey->tier_max = survey->tier[device];
        for (uint32_t i = fabric->first[v]; i < fabric->first[v + 1]; i++) {
            uint32_t next = survey->device_of[fabric->links[i].to];
            if (survey->tier[next] == WEFT_NONE) {
                survey->tier[next] = survey->tier[device] + 1;
                queue[end++] = fabric->links[i].to;
            }
            if (survey->tier[next] == survey->tier[device] + 1) {
                spans[next].low =
                    spans[device].low < spans[next].low ? spans[device].low : spans[next].low;
                spans[next].high =
                    spans[device].high > spans[next].high ? spans[device].high : spans[next].high;
            }
        }
    }
}

uint32_t survey_panel_place(const struct survey *survey)
{
    return survey->rack_count + (survey->row_count > 1 ? survey->row_count : 0);
}

static uint32_t row_of(const struct survey *survey, uint32_t place)
{
    return place < survey->rack_count ? place / survey->row_racks : place - survey->rack_count;
}

enum weft_length survey_length(const struct survey *survey, uint32_t place, uint32_t other)
{
    if (place == other && place < survey->rack_count) {
        return WEFT_LENGTH_RACK;
    }
    uint32_t row = row_of(survey, place);
    return row == row_of(survey, other) && row < survey->row_count ? WEFT_LENGTH_ROW
                                                                   : WEFT_LENGTH_HALL;
}

// ---- cables ----

double survey_cable(const struct survey *survey, double asked_Bps, uint32_t *count)
{
    double own_Bps = survey->cluster->rate_Bps;
    *count = 1;
    if (asked_Bps <= survey->fastest_Bps * (1 + ROUNDING) || asked_Bps <= own_Bps) {
        return asked_Bps;
    }
    *count = (uint32_t)ceil(asked_Bps / own_Bps - ROUNDING);
    return own_Bps;
}

// How many cables a link is, and their rate.
static uint32_t cables_of(const struct survey *survey, const struct weft_link *link,
                          double *rate_Bps)
{
    uint32_t count = 0;
    *rate_Bps = survey_cable(survey, link->rate_Bps / link->width, &count);
    return link->width * count;
}

// The number of a rate, WEFT_NONE where it has none.
static uint32_t find_rate(const struct survey *survey, double rate_Bps)
{
    for (uint32_t r = 0; r < survey->rate_count; r++) {
        if (fabs(survey->rates[r] - rate_Bps) <= ROUNDING * rate_Bps) {
            return r;
        }
    }
    return WEFT_NONE;
}

static bool number_rates(struct survey *survey, struct weft_error *error)
{
    for (uint32_t i = 0; i < survey->fabric->link_count; i++) {
        const struct weft_link *link = &survey->fabric->links[i];
        double rate_Bps = 0;
        cables_of(survey, link, &rate_Bps);
        if (survey->device_of[link->from] == survey->device_of[link->to] ||
            find_rate(survey, rate_Bps) != WEFT_NONE) {
            continue;
        }
        if (survey->rate_count == SURVEY_RATES_MAX) {
            return weft_fail(error, WEFT_INPUT,
                             "%s: cables of more than %u rates have no bill; use fewer rates",
                             survey->fabric->name, SURVEY_RATES_MAX);
        }
        survey->rates[survey->rate_count++] = rate_Bps;
    }
    return true;
}

static void count_ends(struct survey *survey, struct weft_arena *arena)
{
    size_t cells = (size_t)survey->device_count * survey->rate_count;
    survey->leaving = WEFT_NEW(arena, uint32_t, cells);
    survey->arriving = WEFT_NEW(arena, uint32_t, cells);
    for (uint32_t i = 0; i < survey->fabric->link_count; i++) {
        const struct weft_link *link = &survey->fabric->links[i];
        uint32_t from = survey->device_of[link->from];
        uint32_t to = survey->device_of[link->to];
        if (from != to) {
            double rate_Bps = 0;
            uint32_t count = cables_of(survey, link, &rate_Bps);
            uint32_t rate = find_rate(survey, rate_Bps);
            survey->leaving[(size_t)from * survey->rate_count + rate] += count;
            survey->arriving[(size_t)to * survey->rate_count + rate] += count;
        }
    }
}

uint32_t survey_ends(const struct survey *survey, uint32_t device, uint32_t rate)
{
    size_t cell = (size_t)device * survey->rate_count + rate;
    uint32_t leaving = survey->leaving[cell];
    return leaving > survey->arriving[cell] ? leaving : survey->arriving[cell];
}

double survey_part_rate(const struct survey *survey, uint32_t rate)
{
    const struct weft_price_book *book = &survey->cluster->prices;
    for (uint32_t i = 0; i < book->row_count; i++) {
        if (book->rows[i].rate_Bps * (1 + ROUNDING) >= survey->rates[rate]) {
            return book->rows[i].rate_Bps;
        }
    }
    return survey->rates[rate];
}

static bool has_copper(const struct survey *survey, uint32_t rate)
{
    const struct weft_price_book *book = &survey->cluster->prices;
    return !survey->panel &&
           weft_cluster_price_at(book, survey_part_rate(survey, rate)).dac_usd > 0;
}

bool survey_next_run(const struct survey *survey, uint32_t *link, struct cable_run *run)
{
    const struct weft_fabric *fabric = survey->fabric;
    while (*link < fabric->link_count) {
        const struct weft_link *there = &fabric->links[(*link)++];
        uint32_t from = survey->device_of[there->from];
        uint32_t to = survey->device_of[there->to];
        uint32_t back = weft_fabric_find_link(fabric, there->to, there->from);
        if (from == to || (back != WEFT_NONE && there->to < there->from)) {
            continue; // inside a server, or counted from the other end
        }
        double rate_Bps = 0;
        double back_Bps = 0;
        uint32_t count = cables_of(survey, there, &rate_Bps);
        uint32_t back_count =
            back == WEFT_NONE ? 0 : cables_of(survey, &fabric->links[back], &back_Bps);
        enum weft_length length = survey_length(survey, survey->place[from], survey->place[to]);
        uint32_t rate = find_rate(survey, rate_Bps);
        *run = (struct cable_run){
            .from = from,
            .to = to,
            .count = count > back_count ? count : back_count,
            .rate = rate,
            .duplex = count == back_count,
            .length = length,
            .copper = length == WEFT_LENGTH_RACK && count == back_count && has_copper(survey, rate),
        };
        return true;
    }
    return false;
}

// ---- the whole ----

static void set_racks(struct survey *survey, const struct weft_network *network,
                      const struct weft_bill_options *options)
{
    uint32_t accelerators = network->routes.kind == WEFT_ROUTES_SCALE_UP
                                ? network->routes.scale_up->accelerators
                                : survey->cluster->accelerators_per_server;
    uint32_t usual = accelerators == 0                  ? RACK_SERVERS
                     : accelerators < RACK_ACCELERATORS ? RACK_ACCELERATORS / accelerators
                                                        : 1;
    survey->rack_servers = options->rack_servers > 0 ? options->rack_servers : usual;
    survey->row_racks = options->row_racks > 0 ? options->row_racks : ROW_RACKS;
    survey->rack_count = (survey->server_count - 1) / survey->rack_servers + 1;
    survey->row_count = (survey->rack_count - 1) / survey->row_racks + 1;
}

bool survey_build(struct survey *survey, const struct weft_network *network,
                  const struct weft_cluster *cluster, const struct weft_bill_options *options,
                  struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_parts *parts = &network->fabric.parts;
    *survey = (struct survey){
        .fabric = &network->fabric,
        .cluster = cluster,
        .fastest_Bps = (double)INFINITY,
        .panel = parts->patch_panel_ports + parts->ocs_ports > 0,
    };
    if (options->switch_name != NULL &&
        !weft_cluster_find_switch(&survey->named, cluster, options->switch_name, error)) {
        return false;
    }
    number_devices(survey, network, arena);
    set_racks(survey, network, options);
    place_devices(survey, arena);
    if (survey->device_count > survey->server_count) {
        const struct weft_switch_catalogue *catalogue = weft_cluster_switches(cluster);
        survey->fastest_Bps = 0;
        for (uint32_t i = 0; i < catalogue->model_count; i++) {
            survey->fastest_Bps = fmax(survey->fastest_Bps, catalogue->models[i].rate_Bps);
        }
        if (survey->named != NULL) {
            survey->fastest_Bps = survey->named->rate_Bps;
        }
    }
    if (!number_rates(survey, error)) {
        return false;
    }
    count_ends(survey, arena);
    return true;
}
