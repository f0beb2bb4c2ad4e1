// SPDX-License-Identifier: Apache-2.0
// Packet switches as they are sold: so many ports of one rate, which can be split into slower ones.
// The built-in catalogue has the port counts that are common at each rate; no source that Weft
// knows prices all of them alike, so that none has a price of its own: a switch costs and draws
// what its ports do by the price book, which makes fabrics of different switches comparable
// (docs/clusters.md). O(models) a question.

#include "weft/cluster.h"

#include <string.h>

#define GBPS 125e6
#define RATE_MAX_BPS 125e12
// A cable counts as no faster than a port that it exceeds by rounding alone.
#define ROUNDING 1e-9

// Ascending in rate, then ports. Splits are assumed: QSFP cages go into 4, OSFP cages into 8, and a
// chip has 512 ports at most. 144 ports are those of Opus' packet switch for GB200 racks.
static const struct weft_switch_model default_models[] = {
    {"48x10G", 48, 10 * GBPS, 1, 0, 0},     {"48x25G", 48, 25 * GBPS, 1, 0, 0},
    {"32x40G", 32, 40 * GBPS, 4, 0, 0},     {"32x100G", 32, 100 * GBPS, 4, 0, 0},
    {"64x100G", 64, 100 * GBPS, 4, 0, 0},   {"128x100G", 128, 100 * GBPS, 1, 0, 0},
    {"32x200G", 32, 200 * GBPS, 4, 0, 0},   {"40x200G", 40, 200 * GBPS, 2, 0, 0},
    {"64x200G", 64, 200 * GBPS, 4, 0, 0},   {"144x200G", 144, 200 * GBPS, 1, 0, 0},
    {"32x400G", 32, 400 * GBPS, 4, 0, 0},   {"64x400G", 64, 400 * GBPS, 4, 0, 0},
    {"128x400G", 128, 400 * GBPS, 2, 0, 0}, {"32x800G", 32, 800 * GBPS, 8, 0, 0},
    {"64x800G", 64, 800 * GBPS, 4, 0, 0},   {"128x800G", 128, 800 * GBPS, 4, 0, 0},
    {"144x800G", 144, 800 * GBPS, 1, 0, 0},
};

static const struct weft_switch_catalogue default_catalogue = {
    .model_count = sizeof default_models / sizeof default_models[0],
    .models = default_models,
};

const struct weft_switch_catalogue *weft_cluster_switches(const struct weft_cluster *cluster)
{
    return cluster->switches.model_count > 0 ? &cluster->switches : &default_catalogue;
}

bool weft_cluster_find_switch(const struct weft_switch_model **model,
                              const struct weft_cluster *cluster, const char *name,
                              struct weft_error *error)
{
    const struct weft_switch_catalogue *catalogue = weft_cluster_switches(cluster);
    char names[384] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < catalogue->model_count; i++) {
        if (strcmp(catalogue->models[i].name, name) == 0) {
            *model = &catalogue->models[i];
            return true;
        }
        if (length < sizeof names) {
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%.64s",
                                       i == 0 ? "" : ", ", catalogue->models[i].name);
        }
    }
    return weft_fail(error, WEFT_INPUT,
                     "'%.64s' is no switch of the catalogue; choose one of %s, or add it to "
                     "switches of the cluster file",
                     name, names);
}

bool weft_cluster_check_switch(const struct weft_switch_model *model, struct weft_error *error)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (model->name == NULL || model->name[0] == '\0' ||
        model->name[strspn(model->name, letters)] != '\0') {
        return weft_fail(error, WEFT_INPUT,
                         "name: not a word of letters, digits, '.', '_' and '-'; write for example "
                         "64x400G");
    }
    if (model->ports == 0 || model->ports > WEFT_SWITCH_PORTS_MAX) {
        return weft_fail(error, WEFT_INPUT, "ports: %u is not between 1 and %u", model->ports,
                         WEFT_SWITCH_PORTS_MAX);
    }
    if (!(model->rate_Bps > 0) || model->rate_Bps > RATE_MAX_BPS) {
        return weft_fail(error, WEFT_INPUT, "rate: %g Gbps is not above 0 and at most 1000Tbps",
                         model->rate_Bps / GBPS);
    }
    if (model->breakout == 0 || model->breakout > WEFT_SWITCH_BREAKOUT_MAX) {
        return weft_fail(error, WEFT_INPUT, "breakout: %u is not between 1 and %u", model->breakout,
                         WEFT_SWITCH_BREAKOUT_MAX);
    }
    if (!(model->usd >= 0) || model->usd > 1e9) {
        return weft_fail(error, WEFT_INPUT, "price: %g is not between 0 and 1e9", model->usd);
    }
    if (!(model->watts >= 0) || model->watts > 1e9) {
        return weft_fail(error, WEFT_INPUT, "power: %g is not between 0 and 1e9", model->watts);
    }
    return true;
}

uint32_t weft_cluster_switch_split(const struct weft_switch_model *model, double rate_Bps)
{
    WEFT_ASSERT(rate_Bps > 0);
    uint32_t split = model->rate_Bps * (1 + ROUNDING) >= rate_Bps ? 1 : 0;
    while (split > 0 && 2 * split <= model->breakout &&
           2 * split * rate_Bps <= model->rate_Bps * (1 + ROUNDING)) {
        split *= 2;
    }
    return split;
}

double weft_cluster_switch_usd(const struct weft_switch_model *model,
                               const struct weft_price_book *book)
{
    return model->usd > 0
               ? model->usd
               : model->ports * weft_cluster_price_at(book, model->rate_Bps).switch_port_usd;
}

double weft_cluster_switch_watts(const struct weft_switch_model *model,
                                 const struct weft_price_book *book)
{
    return model->watts > 0
               ? model->watts
               : model->ports * weft_cluster_price_at(book, model->rate_Bps).switch_port_watts;
}
