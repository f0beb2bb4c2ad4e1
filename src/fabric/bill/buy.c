// SPDX-License-Identifier: Apache-2.0
// Fabrics built from the switches that there are. A builder takes a radix, people name a switch;
// between them stand the cables, which may be slower than a port (several share it) or faster
// (several ports carry one). So the fabric is built once in its own shape, its fastest cables are
// looked at, and it is built again with the radix that the switch has for such cables. Nothing here
// knows a fabric by its name. O(builds), one for each model of the catalogue where none is named
// and the builder's own shape has no switch.

#include "survey.h"

#include <math.h>
#include <string.h>

// One attempt to build and to buy.
struct purchase {
    const char *name;
    struct weft_cluster cluster; // with balance hash
    struct weft_bill_options options;
    const struct weft_environment *environment;
};

static bool build(struct weft_network *network, const struct purchase *purchase)
{
    const struct weft_bill_options *options = &purchase->options;
    return options->scale_up == NULL
               ? weft_fabric_build_named(network, purchase->name, &purchase->cluster,
                                         &options->shape, purchase->environment)
               : weft_fabric_build_scale_up(network, purchase->name, &purchase->cluster,
                                            options->scale_up, &options->shape,
                                            purchase->environment);
}

// How many links of a network's fastest cables the model's ports take; 0: it has no switches.
static bool radix_of(uint32_t *radix, const struct weft_network *network,
                     const struct weft_switch_model *model, const struct purchase *purchase)
{
    struct weft_arena scratch = purchase->environment->scratch;
    struct survey survey;
    *radix = 0;
    if (!survey_build(&survey, network, &purchase->cluster, &purchase->options, &scratch,
                      purchase->environment->error)) {
        return false;
    }
    if (survey.device_count == survey.server_count) {
        return true;
    }
    double fastest_Bps = 0;
    for (uint32_t i = 0; i < network->fabric.link_count; i++) {
        const struct weft_link *link = &network->fabric.links[i];
        if (survey.device_of[link->from] != survey.device_of[link->to]) {
            fastest_Bps = fmax(fastest_Bps, link->rate_Bps / link->width);
        }
    }
    uint32_t cables = 1;
    double cable_Bps = survey_cable(&survey, fastest_Bps, &cables);
    *radix = model->ports * weft_cluster_switch_split(model, cable_Bps) / cables;
    *radix -= *radix % 2; // Fat-trees have as many ports up as down
    if (*radix < 2) {
        char rate[WEFT_UNIT_TEXT];
        weft_show_rate(rate, fastest_Bps);
        return weft_fail(purchase->environment->error, WEFT_INPUT,
                         "%s: %s: %u ports of %g Gbps do not carry two cables of %s",
                         network->fabric.name, model->name, model->ports, model->rate_Bps / 125e6,
                         rate);
    }
    return true;
}

// Reduces a radix with which the fullest switch has more cables than the model takes: builders that
// split ports over planes mean a radix before the split. False: it fits, or nothing helps.
static bool reduce_radix(uint32_t *radix, const struct weft_network *network,
                         const struct weft_switch_model *model, const struct purchase *purchase)
{
    struct weft_arena scratch = purchase->environment->scratch;
    struct weft_error ignored;
    struct survey survey;
    if (!survey_build(&survey, network, &purchase->cluster, &purchase->options, &scratch,
                      &ignored)) {
        return false;
    }
    uint32_t most = 0;
    for (uint32_t d = survey.server_count; d < survey.device_count; d++) {
        uint32_t ports = survey_ports(&survey, d, model);
        most = ports != WEFT_NONE && ports > most ? ports : most;
    }
    uint32_t reduced = (uint32_t)((uint64_t)*radix * model->ports / (most > 0 ? most : 1));
    reduced -= reduced % 2;
    if (most <= model->ports || reduced < 2) {
        return false;
    }
    *radix = reduced;
    return true;
}

// Builds with the switches of the options, named or any, and bills it.
static bool attempt(struct weft_network *network, struct weft_bill *bill,
                    const struct purchase *purchase)
{
    struct purchase own = *purchase;
    struct weft_error *error = purchase->environment->error;
    const char *switch_name = purchase->options.switch_name;
    struct weft_arena start = *purchase->environment->arena;
    if (!build(network, &own)) {
        return false;
    }
    if (switch_name != NULL && own.options.shape.radix == 0) {
        const struct weft_switch_model *model = NULL;
        uint32_t radix = 0;
        if (!weft_cluster_find_switch(&model, &own.cluster, switch_name, error) ||
            !radix_of(&radix, network, model, &own)) {
            return false;
        }
        if (radix > 0) {
            *purchase->environment->arena = start;
            own.options.shape.radix = radix;
            if (!build(network, &own)) {
                return weft_wrap(error, "%s", switch_name);
            }
            if (reduce_radix(&own.options.shape.radix, network, model, &own)) {
                *purchase->environment->arena = start;
                if (!build(network, &own)) {
                    return weft_wrap(error, "%s", switch_name);
                }
            }
        }
    }
    bool billed = weft_fabric_bill(bill, network, &own.cluster, &own.options, own.environment);
    bill->radix = own.options.shape.radix;
    return billed;
}

// A cluster that states one switch is bought of that: its ports give the shape, where it can be.
static bool attempt_only(struct weft_network *network, struct weft_bill *bill,
                         const struct purchase *purchase)
{
    const struct weft_switch_catalogue *stated = &purchase->cluster.switches;
    if (stated->model_count != 1 || purchase->options.switch_name != NULL) {
        return false;
    }
    struct weft_error ignored;
    struct weft_environment environment = *purchase->environment;
    environment.error = &ignored;
    struct purchase own = *purchase;
    own.environment = &environment;
    own.options.switch_name = stated->models[0].name;
    struct weft_arena start = *environment.arena;
    bool done = attempt(network, bill, &own);
    if (!done) {
        *environment.arena = start;
    }
    return done;
}

// Tries every model of the catalogue and keeps the smallest in capacity with which it can be done;
// the first of equal ones.
static const char *find_model(const struct purchase *purchase)
{
    struct weft_network network;
    struct weft_bill bill;
    const struct weft_switch_catalogue *catalogue = weft_cluster_switches(&purchase->cluster);
    const struct weft_switch_model *best = NULL;
    struct weft_error ignored;
    struct weft_environment environment = *purchase->environment;
    environment.error = &ignored;
    struct purchase own = *purchase;
    own.environment = &environment;
    for (uint32_t i = 0; i < catalogue->model_count; i++) {
        const struct weft_switch_model *model = &catalogue->models[i];
        struct weft_arena start = *environment.arena;
        own.options.switch_name = model->name;
        bool smaller =
            best == NULL || model->ports * model->rate_Bps < best->ports * best->rate_Bps;
        if (smaller && attempt(&network, &bill, &own)) {
            best = model;
        }
        *environment.arena = start;
    }
    return best == NULL ? NULL : best->name;
}

// The least oversubscription with which it can be done, 0: none of them.
static uint32_t find_oversubscription(const struct purchase *purchase)
{
    struct weft_network network;
    struct weft_bill bill;
    struct weft_error ignored;
    struct weft_environment environment = *purchase->environment;
    environment.error = &ignored;
    struct purchase own = *purchase;
    own.environment = &environment;
    for (uint32_t ratio = 2; ratio <= 16; ratio *= 2) {
        if (purchase->options.shape.oversubscription >= ratio) {
            continue;
        }
        struct weft_arena start = *environment.arena;
        own.options.shape.oversubscription = ratio;
        bool done = attempt(&network, &bill, &own);
        *environment.arena = start;
        if (done) {
            return ratio;
        }
    }
    return 0;
}

// Adds the nearest that can be built to a refusal of what was asked; returns false.
static bool fail_purchase(const struct purchase *purchase)
{
    struct weft_error *error = purchase->environment->error;
    const struct weft_error refused = *error;
    const char *nearest = purchase->options.switch_name == NULL ? NULL : find_model(purchase);
    if (nearest != NULL) {
        if (strstr(refused.message, nearest) != NULL) { // the bill has found it
            return false;
        }
        return weft_fail(error, refused.code, "%s; the smallest switch that can is %s",
                         refused.message, nearest);
    }
    uint32_t ratio = find_oversubscription(purchase);
    if (ratio > 0) {
        return weft_fail(error, refused.code, "%s; with an oversubscription of %u it can be built",
                         refused.message, ratio);
    }
    return false;
}

bool weft_fabric_buy(struct weft_network *network, struct weft_bill *bill, const char *name,
                     const struct weft_cluster *cluster, const struct weft_bill_options *options,
                     const struct weft_environment *environment)
{
    struct purchase purchase = {
        .name = name,
        .cluster = *cluster,
        .options = options == NULL ? (struct weft_bill_options){0} : *options,
        .environment = environment,
    };
    purchase.cluster.balance = WEFT_BALANCE_HASH;
    struct weft_network built;
    struct weft_bill counted;
    if (!attempt_only(&built, &counted, &purchase) && !attempt(&built, &counted, &purchase)) {
        if (purchase.options.switch_name != NULL) {
            return fail_purchase(&purchase);
        }
        const char *nearest = find_model(&purchase);
        if (nearest == NULL) {
            return fail_purchase(&purchase);
        }
        purchase.options.switch_name = nearest;
        if (!attempt(&built, &counted, &purchase)) {
            return false;
        }
    }
    *network = built;
    network->routes.fabric = &network->fabric;
    *bill = counted;
    return true;
}
