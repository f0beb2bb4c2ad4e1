// SPDX-License-Identifier: Apache-2.0
// What the advised fabric would give and cost were an assumption wrong: prices a fifth lower or
// higher, ports of half or twice the rate, one port of each server (or as large a share of the
// spines) dead, half the batch.
//
// A change of rate keeps the strategy and asks the estimate again on the fabric of that rate; one
// of d dead ports takes 1/d of every link's rate, which is what a dead rail takes from collectives
// that are striped over all rails, and a dead spine of d from flows that are spread over them. Half
// the batch is searched again. Times are scaled by what the row's own took over its estimate, so
// that they stand beside it. Prices change dollars alone. O(a search) and a few estimates.

#include "request/buy/buy.h"

#include <math.h>
#include <string.h>

#define CHANGES_MAX 6u

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

static bool build(struct weft_network *network, const struct ground *ground,
                  const struct weft_cluster *cluster, struct weft_arena *arena,
                  struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_fabric_options shape = {.seed = ground->environment->seed};
    if (strcmp(ground->row->fabric, WEFT_BUY_OWN) == 0) {
        return weft_fail(error, WEFT_UNSUPPORTED, "ask for a plan of its own: weft plan");
    }
    return weft_fabric_build_named(
        network, ground->row->fabric, cluster, &shape,
        &(struct weft_environment){.arena = arena, .scratch = scratch, .error = error});
}

static const char *keep_reason(const struct ground *ground, const struct weft_error *error)
{
    return weft_arena_text(ground->environment->arena, error->message, strlen(error->message));
}

// The same strategy where every port has another rate. `priced`: those ports are bought, too.
static struct weft_buy_change change_rate(const struct ground *ground, const char *what,
                                          double ratio, bool priced)
{
    struct weft_arena scratch = ground->environment->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_buy_change change = {.what = what, .usd = ground->row->bill.usd};
    struct weft_cluster cluster = ground->result->cluster;
    if (priced) {
        weft_cluster_set_nic_rate(&cluster, weft_cluster_nic_rate(&cluster) * ratio);
    } else { // as large a share of what ports carry is gone
        cluster.rate_Bps *= ratio;
        cluster.nic_Bps *= ratio;
    }
    struct weft_error error = {.code = WEFT_OK};
    struct weft_buy_row row = {.fabric = ground->row->fabric};
    struct weft_network network;
    struct weft_hybrid_estimate estimate;
    struct weft_model model = ground->result->model;
    const struct weft_study study = {.model = &model,
                                     .cluster = &cluster,
                                     .network = &network,
                                     .setting = &ground->result->setting};
    struct weft_environment inner = {
        .arena = &kept, .scratch = scratch, .seed = ground->environment->seed, .error = &error};
    if (!weft_model_set_batch(&model, ground->batch, &error) ||
        !build(&network, ground, &cluster, &kept, scratch, &error) ||
        !weft_hybrid_estimate(&estimate, &ground->row->found.found.candidates[0].strategy.hybrid,
                              &study, scratch, &error) ||
        !weft_buy_fill_parts(&row, &cluster, &inner)) {
        change.why_not = keep_reason(ground, &error);
        return change;
    }
    weft_buy_add_storage(&row, &ground->result->storage.bill, &kept);
    change.usd = priced ? row.bill.usd : change.usd;
    set_time(&change, ground, estimate.iteration_ps, ground->batch);
    return change;
}

// Half as many samples: the strategy that is best for them by estimate, or the one that was given.
static struct weft_buy_change halve_batch(const struct ground *ground)
{
    struct weft_arena scratch = ground->environment->scratch;
    struct weft_arena kept = weft_arena_split(&scratch);
    struct weft_buy_change change = {.what = ground->given ? "half the batch"
                                                           : "half the batch, searched again",
                                     .usd = ground->row->bill.usd};
    struct weft_error error = {.code = WEFT_OK};
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
        !build(&network, ground, study.cluster, &kept, scratch, &error) ||
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
    uint32_t degree = result->cluster.degree;
    struct weft_buy_change *changes =
        WEFT_NEW(environment->arena, struct weft_buy_change, CHANGES_MAX);
    uint32_t count = 0;
    changes[count++] = change_price(&ground, "prices 20 % lower", 0.8);
    changes[count++] = change_price(&ground, "prices 20 % higher", 1.2);
    changes[count++] = change_rate(&ground, "ports of half the rate", 0.5, true);
    changes[count++] = change_rate(&ground, "ports of twice the rate", 2, true);
    if (degree > 1) {
        const char *what =
            weft_arena_format(environment->arena, "one rail, or 1/%u of the spines, dead", degree);
        changes[count++] = change_rate(&ground, what, 1 - 1.0 / degree, false);
    }
    if (ground.batch > 1) {
        changes[count++] = halve_batch(&ground);
    }
    result->changes = changes;
    result->change_count = count;
}
