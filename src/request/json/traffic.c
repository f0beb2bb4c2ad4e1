// SPDX-License-Identifier: Apache-2.0
// "weft.traffic/1": groups of collectives, and the transfers between given servers. The transfer
// matrix has a number for every pair of servers and stands here only where it is requested; a row
// is what one server sends.

#include "weft/request/traffic.h"
#include "request/json/json.h"

static json_t *group_object(const struct weft_traffic_group *group)
{
    json_t *object = json_object();
    weft_set_counts(object, "members", group->members, group->member_count);
    weft_set_real(object, "size_bytes", group->size_bytes);
    weft_set_count(object, "tasks", group->task_count);
    weft_set_real(object, "wire_bytes", group->wire_bytes);
    return object;
}

static json_t *matrix_rows(const struct weft_traffic *traffic)
{
    json_t *rows = json_array();
    uint32_t n = traffic->server_count;
    for (uint32_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (uint32_t j = 0; j < n; j++) {
            json_array_append_new(row, json_real(traffic->transfer_bytes[(size_t)i * n + j]));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

const char *weft_request_traffic_json(const struct weft_traffic_result *result,
                                      const struct weft_traffic_request *request,
                                      struct weft_arena *arena)
{
    const struct weft_traffic *traffic = &result->traffic;
    json_t *object = weft_set_object("weft.traffic/1");
    weft_set_text(object, "file", request->path);
    weft_set_count(object, "servers", traffic->server_count);
    weft_set_count(object, "tasks", result->task_count);
    if (request->trace.lenient) {
        weft_set_count(object, "dangling_dependencies", result->dangling_count);
    }
    json_t *groups = weft_set_list(object, "groups");
    for (uint32_t g = 0; g < traffic->group_count; g++) {
        json_array_append_new(groups, group_object(&traffic->groups[g]));
    }
    weft_set_real(object, "transfer_bytes", traffic->transfer_total_bytes);
    weft_set_real(object, "allreduce_wire_bytes", traffic->allreduce_wire_bytes);
    weft_set_real(object, "allreduce_share_ratio", traffic->allreduce_share_ratio);
    if (request->matrix) {
        weft_set(object, "transfer_matrix_bytes", matrix_rows(traffic));
    }
    return weft_set_finish(object, arena);
}
