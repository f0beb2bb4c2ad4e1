// SPDX-License-Identifier: Apache-2.0
// Schedules of circuits in JSON (docs/circuits.md): peers at first, changes, and where they stand
// there delays, bursts, demand and losses. O(bytes).

#include "format/syntax/json.h"
#include "weft/format.h"

#include <math.h>
#include <string.h>

#define NODES_MAX 65536u
#define TIME_MAX_S 1e6
#define BYTES_MAX 1e30
#define LOSS_MAX_DB 1e6

static bool read_time(uint64_t *time_ps, const json_t *object, const char *key,
                      struct weft_error *error)
{
    double time_s = 0;
    if (!weft_json_real(&time_s, object, key, 0, TIME_MAX_S, error)) {
        return false;
    }
    *time_ps = (uint64_t)llround(time_s * (double)WEFT_PS_PER_S);
    return true;
}

// An array of so many numbers from 0 on, behind its key.
static bool read_reals(double *values, const json_t *array, size_t count, double most,
                       struct weft_error *error)
{
    if (!json_is_array(array) || json_array_size(array) != count) {
        return weft_fail(error, WEFT_INPUT, "not an array of %zu numbers", count);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        values[i] = json_is_number(item) ? json_number_value(item) : -1;
        if (!(values[i] >= 0 && values[i] <= most)) {
            return weft_fail(error, WEFT_INPUT, "[%zu]: not a number from 0 to %g", i, most);
        }
    }
    return true;
}

// One plane's peers.
static bool read_peers(uint32_t *peers, const json_t *array, uint32_t node_count,
                       struct weft_error *error)
{
    if (!json_is_array(array) || json_array_size(array) != node_count) {
        return weft_fail(error, WEFT_INPUT, "not an array of %u ports", node_count);
    }
    return weft_json_indices(peers, array, node_count, error);
}

static bool read_first(struct weft_circuit_schedule *schedule, const json_t *root,
                       struct weft_arena *arena, struct weft_error *error)
{
    const json_t *planes = NULL;
    size_t n = schedule->node_count;
    if (!weft_json_array(&planes, root, "first", error)) {
        return false;
    }
    size_t count = json_array_size(planes);
    if (count != schedule->plane_count) {
        return weft_fail(error, WEFT_INPUT, "first: has %zu switches, and switches is %u", count,
                         schedule->plane_count);
    }
    for (size_t plane = 0; plane < count; plane++) { // before memory is taken for them
        if (json_array_size(json_array_get(planes, plane)) != n) {
            return weft_fail(error, WEFT_INPUT, "first[%zu]: not an array of %zu ports", plane, n);
        }
    }
    uint32_t *first = WEFT_NEW(arena, uint32_t, count * n);
    for (size_t plane = 0; plane < count; plane++) {
        if (!read_peers(first + plane * n, json_array_get(planes, plane), schedule->node_count,
                        error)) {
            return weft_wrap(error, "first[%zu]", plane);
        }
    }
    schedule->first = first;
    return true;
}

static bool read_change(struct weft_circuit_change *change, const json_t *item,
                        const struct weft_circuit_schedule *schedule, struct weft_arena *arena,
                        struct weft_error *error)
{
    const json_t *array = NULL;
    if (!json_is_object(item)) {
        return weft_fail(error, WEFT_INPUT,
                         "not an object; write {\"start_s\", \"switch\", \"peers\"}");
    }
    if (!read_time(&change->start_ps, item, "start_s", error) ||
        !weft_json_u32(&change->plane, item, "switch", 0, schedule->plane_count - 1, error) ||
        !weft_json_array(&array, item, "peers", error)) {
        return false;
    }
    size_t count = json_array_size(array);
    uint32_t *peers = WEFT_NEW(arena, uint32_t, count + 1);
    change->peers = peers;
    return read_peers(peers, array, schedule->node_count, error) || weft_wrap(error, "peers");
}

static bool read_changes(struct weft_circuit_schedule *schedule, const json_t *root,
                         struct weft_arena *arena, struct weft_error *error)
{
    const json_t *items = NULL;
    if (!weft_json_array(&items, root, "changes", error)) {
        return false;
    }
    size_t count = json_array_size(items);
    struct weft_circuit_change *changes = WEFT_NEW(arena, struct weft_circuit_change, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (!read_change(&changes[i], json_array_get(items, i), schedule, arena, error)) {
            return weft_wrap(error, "changes[%zu]", i);
        }
        if (i > 0 && changes[i].start_ps < changes[i - 1].start_ps) {
            return weft_fail(error, WEFT_INPUT,
                             "changes[%zu]: starts before the one above it; sort by start_s", i);
        }
    }
    schedule->changes = changes;
    schedule->change_count = (uint32_t)count;
    return true;
}

static bool read_delays(struct weft_circuit_delays *delays, const json_t *root,
                        struct weft_error *error)
{
    const json_t *object = NULL;
    if (json_object_get(root, "delays") == NULL) {
        return true;
    }
    return weft_json_object(&object, root, "delays", error) &&
           ((read_time(&delays->command_ps, object, "command_s", error) &&
             read_time(&delays->dark_ps, object, "dark_s", error) &&
             read_time(&delays->retrain_ps, object, "retrain_s", error) &&
             read_time(&delays->first_ps, object, "first_s", error)) ||
            weft_wrap(error, "delays"));
}

static bool read_burst(struct weft_circuit_burst *burst, const json_t *item,
                       const struct weft_circuit_schedule *schedule, struct weft_error *error)
{
    uint32_t last = schedule->node_count - 1;
    if (!json_is_object(item)) {
        return weft_fail(error, WEFT_INPUT,
                         "not an object; write {\"switch\", \"from\", \"to\", \"start_s\", "
                         "\"end_s\", \"bytes\"}");
    }
    if (!weft_json_u32(&burst->plane, item, "switch", 0, schedule->plane_count - 1, error) ||
        !weft_json_u32(&burst->from, item, "from", 0, last, error) ||
        !weft_json_u32(&burst->to, item, "to", 0, last, error) ||
        !read_time(&burst->start_ps, item, "start_s", error) ||
        !read_time(&burst->end_ps, item, "end_s", error) ||
        !weft_json_real(&burst->bytes, item, "bytes", 0, BYTES_MAX, error)) {
        return false;
    }
    return (burst->from != burst->to && burst->end_ps >= burst->start_ps) ||
           weft_fail(error, WEFT_INPUT, "needs two ports, and an end behind its start");
}

static bool read_bursts(struct weft_circuit_file *file, const json_t *root,
                        struct weft_arena *arena, struct weft_error *error)
{
    const json_t *items = NULL;
    if (json_object_get(root, "bursts") == NULL) {
        return true;
    }
    if (!weft_json_array(&items, root, "bursts", error) ||
        !weft_json_real(&file->traffic.rate_Bps, root, "rate_Bps", 1, BYTES_MAX, error)) {
        return false;
    }
    size_t count = json_array_size(items);
    struct weft_circuit_burst *bursts = WEFT_NEW(arena, struct weft_circuit_burst, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (!read_burst(&bursts[i], json_array_get(items, i), &file->schedule, error)) {
            return weft_wrap(error, "bursts[%zu]", i);
        }
        if (i > 0 && bursts[i].start_ps < bursts[i - 1].start_ps) {
            return weft_fail(error, WEFT_INPUT,
                             "bursts[%zu]: starts before the one above it; sort by start_s", i);
        }
    }
    file->traffic.bursts = bursts;
    file->traffic.burst_count = (uint32_t)count;
    return true;
}

static bool read_demand(struct weft_circuit_file *file, const json_t *root,
                        struct weft_arena *arena, struct weft_error *error)
{
    const json_t *rows = NULL;
    size_t n = file->schedule.node_count;
    if (json_object_get(root, "demand_bytes") == NULL) {
        return true;
    }
    if (!weft_json_array(&rows, root, "demand_bytes", error)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) { // before memory is taken for them
        if (json_array_size(json_array_get(rows, i)) != n || json_array_size(rows) != n) {
            return weft_fail(error, WEFT_INPUT, "demand_bytes: not %zu rows of %zu numbers", n, n);
        }
    }
    double *demand = WEFT_NEW(arena, double, n *n);
    for (size_t i = 0; i < n; i++) {
        if (!read_reals(demand + i * n, json_array_get(rows, i), n, BYTES_MAX, error)) {
            return weft_wrap(error, "demand_bytes[%zu]", i);
        }
    }
    file->traffic.demand_bytes = demand;
    return true;
}

// "losses": a budget, and parts of a circuit's loss; lengths of fibers and losses of switches may
// be left out.
static bool read_losses(struct weft_circuit_file *file, const json_t *root,
                        struct weft_arena *arena, struct weft_error *error)
{
    static const struct weft_json_real members[] = {
        {"budget_db", offsetof(struct weft_circuit_losses, budget_db)},
        {"connectors_db", offsetof(struct weft_circuit_losses, connectors_db)},
        {"fiber_db_per_km", offsetof(struct weft_circuit_losses, fiber_db_per_km)},
        {NULL, 0},
    };
    const struct weft_circuit_schedule *schedule = &file->schedule;
    struct weft_circuit_losses *losses = WEFT_NEW(arena, struct weft_circuit_losses, 1);
    const json_t *object = NULL;
    if (json_object_get(root, "losses") == NULL) {
        return true;
    }
    if (!weft_json_object(&object, root, "losses", error)) {
        return false;
    }
    if (!weft_json_read_reals(losses, object, members, error)) {
        return weft_wrap(error, "losses");
    }
    const struct {
        const char *key;
        uint32_t count;
        const double **values;
    } lists[] = {{"fiber_km", schedule->node_count, &losses->fiber_km},
                 {"switch_db", schedule->plane_count, &losses->switch_db}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const json_t *array = json_object_get(object, lists[i].key);
        double *values = WEFT_NEW(arena, double, lists[i].count);
        if (array != NULL && !read_reals(values, array, lists[i].count, LOSS_MAX_DB, error)) {
            return weft_wrap(error, "losses.%s", lists[i].key);
        }
        *lists[i].values = array != NULL ? values : NULL;
    }
    file->traffic.losses = losses;
    return true;
}

static bool read_root(struct weft_circuit_file *file, const json_t *root, struct weft_arena *arena,
                      struct weft_error *error)
{
    struct weft_circuit_schedule *schedule = &file->schedule;
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (schema != NULL && json_object_get(root, "nodes") == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "%.40s has no schedule of switches; take what weft optics change --json "
                         "writes",
                         schema);
    }
    return weft_json_u32(&schedule->node_count, root, "nodes", 1, NODES_MAX, error) &&
           weft_json_u32(&schedule->plane_count, root, "switches", 1, NODES_MAX, error) &&
           read_first(schedule, root, arena, error) && read_changes(schedule, root, arena, error) &&
           read_delays(&schedule->delays, root, error) && read_bursts(file, root, arena, error) &&
           read_demand(file, root, arena, error) && read_losses(file, root, arena, error);
}

bool weft_circuit_file_read(struct weft_circuit_file *file, const char *data, size_t length,
                            struct weft_arena *arena, struct weft_error *error)
{
    json_t *root = NULL;
    if (!weft_json_parse(&root, data, length, error)) {
        return false;
    }
    struct weft_circuit_file found = {.traffic = {.rate_Bps = 0}};
    bool fine = read_root(&found, root, arena, error);
    json_decref(root);
    if (fine) {
        *file = found;
    }
    return fine;
}

bool weft_circuit_file_load(struct weft_circuit_file *file, const char *path,
                            struct weft_arena *arena, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    return weft_file_load(&data, &length, path, 0, arena, error) &&
           (weft_circuit_file_read(file, data, length, arena, error) ||
            weft_wrap(error, "%s", path));
}
