// SPDX-License-Identifier: Apache-2.0
// "weft.init/1": the figures of a first cluster file, and its text.

#include "weft/request/init.h"
#include "request/json/json.h"

const char *weft_request_init_json(const struct weft_init_result *result, struct weft_arena *arena)
{
    const struct weft_cluster *cluster = &result->cluster;
    json_t *object = weft_set_object("weft.init/1");
    weft_set_text(object, "name", cluster->name);
    weft_set_count(object, "servers", cluster->server_count);
    weft_set_count(object, "degree", cluster->degree);
    weft_set_real(object, "rate_Bps", cluster->rate_Bps);
    weft_set_real(object, "latency_s", weft_seconds(cluster->latency_ps));
    weft_set_count(object, "accelerators_per_server", cluster->accelerators_per_server);
    weft_set_text(object, "accelerator", cluster->accelerator);
    weft_set_real(object, "accelerator_memory_bytes", cluster->accelerator_memory_bytes);
    weft_set_text(object, "text", result->text);
    return weft_set_finish(object, arena);
}
