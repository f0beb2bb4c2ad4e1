// SPDX-License-Identifier: Apache-2.0
// The door of the room: what strategies of both spaces answer (their task graph and their memory),
// handed on to the space that a strategy is of. The chambers operators/ and hybrid/ know nothing of
// each other; callers need not know which space they hold.

#include "strategy/hybrid/hybrid.h"
#include "strategy/hybrid/tasks.h"
#include "strategy/operators/graph.h"

bool weft_strategy_taskgraph(struct weft_taskgraph *graph, const struct weft_strategy *strategy,
                             const struct weft_study *study, struct weft_arena *arena,
                             struct weft_arena scratch, struct weft_error *error)
{
    switch (strategy->kind) {
    case WEFT_STRATEGY_OPERATORS:
        return weft_operators_taskgraph(graph, strategy, study, arena, scratch, error);
    case WEFT_STRATEGY_HYBRID:
        return weft_hybrid_taskgraph(graph, strategy, study, arena, scratch, error);
    }
    return weft_fail(error, WEFT_INPUT, "strategy: of no known kind");
}

bool weft_strategy_memory(struct weft_strategy *strategy, const struct weft_study *study,
                          struct weft_arena *arena, struct weft_arena scratch,
                          struct weft_error *error)
{
    switch (strategy->kind) {
    case WEFT_STRATEGY_OPERATORS:
        return weft_operators_memory(strategy, study, arena, scratch, error);
    case WEFT_STRATEGY_HYBRID:
        return weft_hybrid_fill_memory(strategy, study, arena, error);
    }
    return weft_fail(error, WEFT_INPUT, "strategy: of no known kind");
}
