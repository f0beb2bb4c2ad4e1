// SPDX-License-Identifier: Apache-2.0
// Strategies that need no search.

#include "graph.h"

#include "weft/strategy.h"

bool weft_strategy_data_parallel(struct weft_strategy *strategy, const struct weft_model *model,
                                 const struct weft_cluster *cluster,
                                 const struct weft_strategy_setting *setting,
                                 struct weft_arena *arena, struct weft_arena scratch,
                                 struct weft_error *error)
{
    (void)setting;
    (void)scratch;
    uint32_t n = cluster->server_count;
    WEFT_ASSERT(n > 0);
    uint32_t *all = WEFT_NEW_RAW(arena, uint32_t, n);
    for (uint32_t server = 0; server < n; server++) {
        all[server] = server;
    }
    struct weft_placement *placements =
        WEFT_NEW_RAW(arena, struct weft_placement, model->operator_count);
    uint32_t tables = 0;
    for (uint32_t op = 0; op < model->operator_count; op++) {
        bool table = model->operators[op].spec.kind == WEFT_OP_EMBEDDING;
        placements[op] = table ? (struct weft_placement){1, 1, all + tables++ % n}
                               : (struct weft_placement){n, 1, all};
    }
    struct weft_strategy built = {
        .kind = WEFT_STRATEGY_OPERATORS, .server_count = n, .placements = placements};
    if (!weft_operators_check(&built, model, cluster, error)) {
        return weft_wrap(error, "data parallelism over %u servers", n);
    }
    *strategy = built;
    return true;
}
