// SPDX-License-Identifier: Apache-2.0
// Which switch a node of a fabric is bought as: the smallest of the catalogue that takes its
// cables, or the one that was named. Cables slower than a port share it where the model splits
// ports, those of one rate with each other. O(devices * models * rates).

#include "survey.h"

uint32_t survey_ports(const struct survey *survey, uint32_t device,
                      const struct weft_switch_model *model)
{
    uint64_t ports = 0;
    for (uint32_t r = 0; r < survey->rate_count; r++) {
        uint32_t ends = survey_ends(survey, device, r);
        uint32_t split = weft_cluster_switch_split(model, survey->rates[r]);
        if (ends > 0 && split == 0) {
            return WEFT_NONE;
        }
        ports += ends > 0 ? (ends - 1) / split + 1 : 0;
    }
    return ports < WEFT_NONE ? (uint32_t)ports : WEFT_NONE;
}

// The rate of a device's fastest cables, and how many cables it has; at least one.
static double fastest_of(const struct survey *survey, uint32_t device, uint32_t *cables)
{
    double fastest_Bps = 0;
    *cables = 0;
    for (uint32_t r = 0; r < survey->rate_count; r++) {
        uint32_t ends = survey_ends(survey, device, r);
        *cables += ends;
        fastest_Bps = ends > 0 && survey->rates[r] > fastest_Bps ? survey->rates[r] : fastest_Bps;
    }
    return fastest_Bps;
}

// A model as a candidate for a device.
struct candidate {
    const struct weft_switch_model *model;
    uint64_t size;       // cables of the device's fastest rate that it takes
    double capacity_Bps; // of all its ports
    uint32_t split;      // of a port for these
    double usd;
};

static bool is_smaller(const struct candidate *a, const struct candidate *b)
{
    if (b->model == NULL || a->size != b->size) {
        return b->model == NULL || a->size < b->size;
    }
    if (a->capacity_Bps != b->capacity_Bps) {
        return a->capacity_Bps < b->capacity_Bps;
    }
    return a->split != b->split ? a->split < b->split : a->usd < b->usd;
}

// The smallest model that takes a device's cables: fewest ports at the rate of its
// fastest, then the least capacity, then whole ports before split ones, then the lowest price, then
// the first. NULL: none does.
static const struct weft_switch_model *smallest_model(const struct survey *survey, uint32_t device)
{
    const struct weft_switch_catalogue *catalogue = weft_cluster_switches(survey->cluster);
    struct candidate best = {.model = NULL};
    uint32_t cables = 0;
    double rate_Bps = fastest_of(survey, device, &cables);
    for (uint32_t i = 0; i < catalogue->model_count; i++) {
        const struct weft_switch_model *model = &catalogue->models[i];
        if (survey_ports(survey, device, model) > model->ports) { // or WEFT_NONE
            continue;
        }
        uint32_t split = weft_cluster_switch_split(model, rate_Bps);
        const struct candidate candidate = {
            .model = model,
            .size = (uint64_t)model->ports * split,
            .capacity_Bps = model->ports * model->rate_Bps,
            .split = split,
            .usd = weft_cluster_switch_usd(model, &survey->cluster->prices),
        };
        best = is_smaller(&candidate, &best) ? candidate : best;
    }
    return best.model;
}

// What a device asks for that the named switch, or none of the catalogue, gives.
static bool fail_model(const struct survey *survey, uint32_t device, struct weft_error *error)
{
    const struct weft_switch_model *named = survey->named;
    const struct weft_switch_model *nearest = smallest_model(survey, device);
    uint32_t cables = 0;
    double rate_Bps = fastest_of(survey, device, &cables);
    char rate[WEFT_UNIT_TEXT];
    weft_show_rate(rate, rate_Bps);
    if (named != NULL && nearest != NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: a switch of tier %u has %u cables of %s, a %.64s takes %u; the "
                         "smallest that does is %.64s",
                         survey->fabric->name, survey->tier[device], cables, rate, named->name,
                         named->ports * weft_cluster_switch_split(named, rate_Bps), nearest->name);
    }
    uint32_t most = 0;
    const struct weft_switch_catalogue *catalogue = weft_cluster_switches(survey->cluster);
    for (uint32_t i = 0; i < catalogue->model_count; i++) {
        const struct weft_switch_model *model = &catalogue->models[i];
        uint32_t ports = model->ports * weft_cluster_switch_split(model, rate_Bps);
        most = ports > most ? ports : most;
    }
    return weft_fail(error, WEFT_INPUT,
                     "%s: a switch of tier %u has %u cables of %s, and the largest of the "
                     "catalogue takes %u; use a fabric of smaller switches, or add such a switch "
                     "to the cluster file",
                     survey->fabric->name, survey->tier[device], cables, rate, most);
}

bool survey_choose_models(struct survey *survey, struct weft_arena *arena, struct weft_error *error)
{
    survey->model = WEFT_NEW(arena, const struct weft_switch_model *, survey->device_count);
    for (uint32_t d = survey->server_count; d < survey->device_count; d++) {
        if (survey->tier[d] == WEFT_NONE) {
            continue; // no server is joined to it
        }
        const struct weft_switch_model *model =
            survey->named != NULL ? survey->named : smallest_model(survey, d);
        if (model == NULL || survey_ports(survey, d, model) > model->ports) {
            return fail_model(survey, d, error);
        }
        survey->model[d] = model;
    }
    return true;
}
