// SPDX-License-Identifier: Apache-2.0
// What the advised fabric would give and cost were an assumption wrong: prices a fifth lower or
// higher, ports of half or twice the rate, one rail dead, 1/d of what joins its switches dead, half
// the batch.
//
// A change of rate keeps the strategy and asks the estimate again on the fabric of that rate. A
// dead rail of d leaves d - 1 ports of a server, which collectives over all accelerators of their
// servers share evenly; where some exchange has no part on some rail, another rail carries both and
// the iteration waits for it, so that links of servers carry half. Dead spines take their share
// from the links between switches. Direct fabrics have neither rails nor spines. Half the batch is
// searched again. Times are scaled by what the row's own took over its estimate, so that they stand
// beside it. Prices change dollars alone. O(a search) and a few estimates.

#include "request/buy/buy.h"
#include "weft/plan.h"

#include <math.h>
#include <string.h>

#define CHANGES_MAX 7u

struct ground {
    const struct weft_buy_result *result;
    const struct weft_buy_row *row;
    const struct weft_environment *environment;
    uint64_t batch;
    bool given; // the strategy is the request's, so that none is searched
};

static void set_time(struct weft_buy_change *change, const struct ground *ground,
                     uint64_t estimate_ps, uint64_t batch)
{
    const struct weft_transformer *stack = ground->result->model.transformer;
    change->iteration_s =
        weft_seconds(estimate_ps) * ground->row->iteration_s / ground->row->estimate_s;
    change->tokens_per_s = (double)batch * (double)stack->sequence / change->iteration_s;
}

// The share of their rate that links still carry.
struct share {
    double server; // links of servers
    double fabric; // links between switches
};

static void scale_links(struct weft_network *network, const struct share *share,
                        struct weft_arena *arena)
{
    struct weft_fabric *fabric = &network->fabric;
    struct weft_link *links = WEFT_NEW_RAW(arena, struct weft_link, fabric->link_count);
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        links[i] = fabric->links[i];
        bool joins_server =
            links[i].from < fabric->server_count || links[i].to < fabric->server_count;
        links[i].rate_Bps *= joins_server ? share->server : share->fabric;
    }
    fabric->links = links;
    network->routes.fabric = fabric;
}

// The row's fabric with the cluster's ports, and as much of its links as `share` leaves. Weft's own
// keeps its cables, routes and rings. `network` must stay where it is.
static bool build(struct weft_network *network, const struct ground *ground,
                  const struct weft_cluster *cluster, const struct share *share,
                  struct weft_environment *inner)
{
    struct weft_fabric_options shape = ground->row->shape;
    shape.seed = ground->environment->seed;
    shape.radix = ground->row->radix;
    struct share kept = *share;
    if (ground->row->own != NULL) {
        *network = ground->row->own->network;
        kept.server *= cluster->rate_Bps / ground->result->cluster.rate_Bps;
    } else if (!weft_fabric_build_named(network, ground->row->fabric, cluster, &shape, inner)) {
        return false;
    }
    scale_links(network, &kept, inner->arena);
    return true;
}

static const char *keep_reason(const struct ground *ground, const struct weft_error *error)
{
    return weft_arena_text(ground->environment->arena, error->message, strlen(error->message));
}

// The same strategy with the cluster's ports, and as much of the links as `share` leaves.
static struct weft_buy_change ask_again(const struct ground *ground, const char *what,
                                        const struct weft_cluster *cluster,
                                        const struct share *share)
{
    struct weft_arena scratch = ground->environment->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_buy_change change = {.what = what, .usd = ground->row->bill.usd};
    struct weft_error error = {.code = WEFT_OK};
    struct weft_network network;
    struct weft_hybrid_estimate estimate;
    struct weft_model model = ground->result->model;
    const struct weft_study study = {.model = &model,
                                     .cluster = cluster,
                                     .network = &network,
                                     .setting = &ground->result->setting};
    struct weft_environment inner = {.arena = &kept, .scratch = scratch, .error = &error};
    if (!weft_model_set_batch(&model, ground->batch, &error) ||
        !build(&network, ground, cluster, share, &inner) ||
        !weft_hybrid_estimate(&estimate, &ground->row->found.found.candidates[0].strategy.hybrid,
                              &study, scratch, &error)) {
        change.why_not = keep_reason(ground, &error);
        return change;
    }
    set_time(&change, ground, estimate.iteration_ps, ground->batch);
    return change;
}

// Where every port has another rate, and is bought so. A rate that the price book lacks has no
// price here: that of another rate would make faster ports as cheap.
static struct weft_buy_change change_rate(const struct ground *ground, const char *what,
                                          double ratio)
{
    static const struct share all = {1, 1};
    struct weft_arena scratch = ground->environment->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_cluster cluster = ground->result->cluster;
    weft_cluster_set_nic_rate(&cluster, weft_cluster_nic_rate(&cluster) * ratio);
    struct weft_buy_change change = ask_again(ground, what, &cluster, &all);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_buy_row row = {.fabric = ground->row->fabric, .shape = ground->row->shape};
    const struct weft_environment inner = {
        .arena = &kept, .scratch = scratch, .seed = ground->environment->seed, .error = &error};
    if (change.why_not == NULL &&
        !(ground->row->own != NULL ? weft_buy_count_own(&row, ground->row->own, &cluster, &inner)
                                   : weft_buy_fill_parts(&row, &cluster, &inner))) {
        change.why_not = keep_reason(ground, &error);
        return change;
    }
    weft_buy_add_storage(&row, &ground->result->storage.bill, &kept);
    change.usd = row.price_note == NULL ? row.bill.usd : 0;
    return change;
}

// How much of what a server's links carry is left where one of its NICs is dead: those that remain
// divide its load, or one of them carries twice as much. Where host links carry less than NICs,
// less is lost.
static double share_without_nic(const struct ground *ground)
{
    const struct weft_cluster *cluster = &ground->result->cluster;
    double left = ground->row->rails.partial > 0 ? 0.5 : 1 - 1.0 / cluster->degree;
    return fmin(1, left * weft_cluster_nic_rate(cluster) / cluster->rate_Bps);
}

// Appends what a dead rail, and dead spines, leave of a fabric of switches.
static void lose_links(struct weft_buy_change *changes, uint32_t *count,
                       const struct ground *ground)
{
    struct weft_arena scratch = ground->environment->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    const struct weft_cluster *cluster = &ground->result->cluster;
    const struct share rail = {share_without_nic(ground), 1};
    const struct share spines = {1, 1 - 1.0 / cluster->degree};
    struct weft_network network;
    struct weft_error error; // then its row says why
    struct weft_environment inner = {.arena = &kept, .scratch = scratch, .error = &error};
    bool built = build(&network, ground, cluster, &spines, &inner);
    bool has_spines =
        built && weft_buy_joins_switches(&network.fabric); // the network is gone below
    if (cluster->degree < 2 || (built && network.fabric.forwards)) {
        return;
    }
    changes[(*count)++] = ask_again(
        ground,
        ground->row->rails.partial > 0 ? "one rail dead, another carries both" : "one rail dead",
        cluster, &rail);
    if (has_spines) {
        const char *what = weft_arena_format(ground->environment->arena,
                                             "1/%u of links of spines dead", cluster->degree);
        changes[(*count)++] = ask_again(ground, what, cluster, &spines);
    }
}

// Half as many samples: the strategy that is best for them by estimate, or the one that was given.
static struct weft_buy_change halve_batch(const struct ground *ground)
{
    static const struct share all = {1, 1};
    struct weft_arena scratch = ground->environment->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_buy_change change = {.what = ground->given ? "half the batch"
                                                           : "half the batch, searched again",
                                     .usd = ground->row->bill.usd};
    struct weft_error error = {.code = WEFT_OK};
    struct weft_environment inner = {.arena = &kept, .scratch = scratch, .error = &error};
    struct weft_network network;
    struct weft_model model = ground->result->model;
    struct weft_search_result found;
    const struct weft_study study = {.model = &model,
                                     .cluster = &ground->result->cluster,
                                     .network = &network,
                                     .setting = &ground->result->setting};
    const struct weft_search_options options = {.keep = 1, .stop = ground->environment->stop};
    struct weft_hybrid_estimate estimate;
    const struct weft_hybrid *given = &ground->row->found.found.candidates[0].strategy.hybrid;
    if (!weft_model_set_batch(&model, ground->batch / 2, &error) ||
        !build(&network, ground, study.cluster, &all, &inner) ||
        !(ground->given ? weft_hybrid_estimate(&estimate, given, &study, scratch, &error)
                        : weft_hybrid_search(&found, &study, &options, &kept, scratch, &error))) {
        change.why_not = keep_reason(ground, &error);
        return change;
    }
    uint64_t iteration_ps = ground->given ? estimate.iteration_ps : found.candidates[0].estimate_ps;
    set_time(&change, ground, iteration_ps, ground->batch / 2);
    return change;
}

static struct weft_buy_change change_price(const struct ground *ground, const char *what,
                                           double ratio)
{
    return (struct weft_buy_change){.what = what,
                                    .iteration_s = ground->row->iteration_s,
                                    .tokens_per_s = ground->row->tokens_per_s,
                                    .usd = ground->row->bill.usd * ratio};
}

void weft_buy_fill_changes(struct weft_buy_result *result, const struct weft_buy_row *row,
                           bool given, const struct weft_environment *environment)
{
    if (row == NULL || !row->found.hybrid || !(row->estimate_s > 0) ||
        weft_stopped(environment->stop)) {
        return;
    }
    const struct ground ground = {result, row, environment, result->batches[0].batch, given};
    struct weft_buy_change *changes =
        WEFT_NEW(environment->arena, struct weft_buy_change, CHANGES_MAX);
    uint32_t count = 0;
    changes[count++] = change_price(&ground, "prices 20 % lower", 0.8);
    changes[count++] = change_price(&ground, "prices 20 % higher", 1.2);
    changes[count++] = change_rate(&ground, "ports of half the rate, same split", 0.5);
    changes[count++] = change_rate(&ground, "ports of twice the rate, same split", 2);
    lose_links(changes, &count, &ground);
    if (ground.batch > 1) {
        changes[count++] = halve_batch(&ground);
    }
    result->changes = changes;
    result->change_count = count;
}
