// SPDX-License-Identifier: Apache-2.0
// Plans of a model on a fabric that is not searched, as weft plan --fabric --json wrote them: whose
// they are, and of photonic rails one by itself. O(bytes).

#include "format/syntax/json.h"
#include "job.h"
#include "read.h"
#include "weft/format/rail_job.h"

#include <string.h>

#define SERVERS_MAX (1u << 20)

static bool read_rail(struct weft_rail_alone *alone, const json_t *rail,
                      const struct weft_plan_source *source, struct weft_arena scratch)
{
    struct weft_error *error = source->error;
    const json_t *graph = NULL;
    if (!weft_json_u32(&alone->rail_count, rail, "alike", 1, 64, error) ||
        !weft_json_u32(&alone->port_count, rail, "ports", 1, 64, error) ||
        !weft_json_real(&alone->rate_Bps, rail, "rate_Bps", 1, 1e15, error) ||
        !weft_json_u64(&alone->latency_ps, rail, "latency_ps", error)) {
        return false;
    }
    if (json_object_get(rail, "why_not") != NULL) {
        return weft_json_text(&alone->why_not, rail, "why_not", source->arena, error);
    }
    return weft_json_object(&graph, rail, "graph", error) &&
           (weft_plan_read_graph(&alone->graph, graph, SERVERS_MAX, source, scratch) ||
            weft_wrap(error, "graph"));
}

static bool read_keys(struct weft_rail_plan *plan, const struct weft_plan_source *source,
                      struct weft_arena scratch)
{
    struct weft_error *error = source->error;
    const json_t *rail = NULL;
    if (!weft_json_text(&plan->fabric, source->root, "fabric", source->arena, error) ||
        !weft_json_text(&plan->model, source->root, "model", source->arena, error) ||
        !weft_json_real(&plan->iteration_s, source->root, "iteration_s", 1e-12, 1e9, error)) {
        return false;
    }
    if (json_object_get(source->root, "rail") == NULL) {
        return true;
    }
    struct weft_rail_alone *alone = WEFT_NEW(source->arena, struct weft_rail_alone, 1);
    plan->alone = alone;
    return weft_json_object(&rail, source->root, "rail", error) &&
           (read_rail(alone, rail, source, scratch) || weft_wrap(error, "rail"));
}

bool weft_rail_plan_read(struct weft_rail_plan *plan, const char *data, size_t length,
                         struct weft_arena *arena, struct weft_arena scratch,
                         struct weft_error *error)
{
    json_t *root = NULL;
    if (!weft_json_parse(&root, data, length, error)) {
        return false;
    }
    const struct weft_plan_source source = {.root = root, .arena = arena, .error = error};
    struct weft_rail_plan read = {0};
    bool good = read_keys(&read, &source, scratch);
    json_decref(root);
    if (good) {
        *plan = read;
    }
    return good;
}
