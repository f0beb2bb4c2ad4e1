// SPDX-License-Identifier: Apache-2.0
// Recommendation and drug-response networks: DLRM (Naumov et al., 2019), NCF (He et al., WWW 2017)
// and CANDLE Uno, as the TopoOpt artifact has them. Tables are operators of their own with an input
// of indices each.

#include "model/operators/net.h"

// Limits of what makes sense, so that counts cannot overflow.
#define LAYERS_MAX 4096u
#define TABLES_MAX 4096u

bool weft_model_build_dlrm(struct weft_model *model, const struct weft_model_head *head,
                           const struct weft_dlrm *numbers, struct weft_arena *arena,
                           struct weft_error *error)
{
    if (!weft_net_range("bottom_layers", numbers->bottom_layers, 1, LAYERS_MAX, error) ||
        !weft_net_range("top_layers", numbers->top_layers, 1, LAYERS_MAX, error) ||
        !weft_net_range("tables", numbers->tables, 1, TABLES_MAX, error)) {
        return false;
    }
    struct weft_net net;
    weft_net_init(&net, numbers->bottom_layers + numbers->top_layers + 2 * numbers->tables + 3,
                  arena);
    uint32_t *parts = WEFT_NEW(arena, uint32_t, (size_t)numbers->tables + 1);
    parts[0] = weft_net_mlp(&net, weft_net_input(&net, "dense", numbers->dense_features), "bottom",
                            numbers->bottom_layers, numbers->bottom_units);
    for (uint32_t i = 0; i < numbers->tables; i++) {
        parts[i + 1] = weft_net_table(&net, weft_net_name(&net, "table", i), numbers->rows,
                                      numbers->dim, numbers->bag);
    }
    uint32_t at =
        weft_net_join(&net, parts, numbers->tables + 1,
                      (struct weft_operator_spec){.name = "interaction", .kind = WEFT_OP_CONCAT});
    at = weft_net_mlp(&net, at, "top", numbers->top_layers, numbers->top_units);
    weft_net_mlp(&net, at, "click", 1, 1);
    return weft_net_build(model, head, &net, error);
}

// A tower of dense layers for each set of features; doses and towers side by side through the top
// layers, then two layers of one unit.
bool weft_model_build_candle(struct weft_model *model, const struct weft_model_head *head,
                             const struct weft_candle *numbers, struct weft_arena *arena,
                             struct weft_error *error)
{
    if (!weft_net_range("towers", numbers->tower_count, 1, WEFT_TOWERS_MAX, error) ||
        !weft_net_range("tower_layers", numbers->tower_layers, 1, LAYERS_MAX, error) ||
        !weft_net_range("top_layers", numbers->top_layers, 1, LAYERS_MAX, error) ||
        !weft_net_range("doses", numbers->doses, 0, WEFT_TOWERS_MAX, error)) {
        return false;
    }
    struct weft_net net;
    uint32_t parts[2 * WEFT_TOWERS_MAX];
    uint32_t towers = numbers->tower_count;
    uint32_t doses = numbers->doses;
    weft_net_init(&net, towers * (numbers->tower_layers + 1) + doses + numbers->top_layers + 3,
                  arena);
    for (uint32_t i = 0; i < doses; i++) {
        parts[i] = weft_net_input(&net, weft_net_name(&net, "dose", i), 1);
    }
    for (uint32_t i = 0; i < towers; i++) {
        const char *tower = weft_net_name(&net, "tower", i);
        uint32_t input =
            weft_net_input(&net, weft_net_name(&net, "features", i), numbers->tower_features[i]);
        parts[doses + i] =
            weft_net_mlp(&net, input, tower, numbers->tower_layers, numbers->tower_units);
    }
    uint32_t at = weft_net_join(&net, parts, doses + towers,
                                (struct weft_operator_spec){.name = "all", .kind = WEFT_OP_CONCAT});
    at = weft_net_mlp(&net, at, "top", numbers->top_layers, numbers->top_units);
    weft_net_mlp(&net, at, "response", 2, 1);
    return weft_net_build(model, head, &net, error);
}

// The factorization's tables of one side (users, items) of `rows` rows, what they give side by
// side. `parts` has room for an operator a table.
static uint32_t add_factors(struct weft_net *net, const char *name, const struct weft_ncf *numbers,
                            uint64_t rows, uint32_t *parts)
{
    for (uint32_t i = 0; i < numbers->tables; i++) {
        parts[i] =
            weft_net_table(net, weft_net_name(net, name, i), rows, numbers->factor, numbers->bag);
    }
    return weft_net_join(net, parts, numbers->tables,
                         (struct weft_operator_spec){
                             .name = weft_arena_format(net->arena, "%s_all", name),
                             .kind = WEFT_OP_CONCAT,
                         });
}

// The factorization's tables of users and items multiplied, the perceptron's side by side through
// its layers, and both together into the score.
bool weft_model_build_ncf(struct weft_model *model, const struct weft_model_head *head,
                          const struct weft_ncf *numbers, struct weft_arena *arena,
                          struct weft_error *error)
{
    if (!weft_net_range("tables", numbers->tables, 1, TABLES_MAX / 2, error) ||
        !weft_net_range("layers", numbers->layers, 1, LAYERS_MAX, error)) {
        return false;
    }
    struct weft_net net;
    uint32_t tables = numbers->tables;
    uint32_t *parts = WEFT_NEW(arena, uint32_t, (size_t)2 * tables);
    weft_net_init(&net, 8 * tables + numbers->layers + 7, arena);
    uint32_t pair[2] = {
        add_factors(&net, "factor_user", numbers, numbers->users, parts),
        add_factors(&net, "factor_item", numbers, numbers->items, parts),
    };
    uint32_t product = weft_net_join(
        &net, pair, 2, (struct weft_operator_spec){.name = "product", .kind = WEFT_OP_MULTIPLY});
    for (uint32_t i = 0; i < tables; i++) {
        parts[i] = weft_net_table(&net, weft_net_name(&net, "user", i), numbers->users,
                                  numbers->dim, numbers->bag);
        parts[tables + i] = weft_net_table(&net, weft_net_name(&net, "item", i), numbers->items,
                                           numbers->dim, numbers->bag);
    }
    uint32_t all =
        weft_net_join(&net, parts, 2 * tables,
                      (struct weft_operator_spec){.name = "pairs", .kind = WEFT_OP_CONCAT});
    uint32_t ends[2] = {
        weft_net_mlp(&net, all, "layer", numbers->layers, numbers->units),
        weft_net_mlp(&net, product, "factorization", 1, 1),
    };
    uint32_t both = weft_net_join(
        &net, ends, 2, (struct weft_operator_spec){.name = "both", .kind = WEFT_OP_CONCAT});
    weft_net_mlp(&net, both, "score", 1, 1);
    return weft_net_build(model, head, &net, error);
}
