// SPDX-License-Identifier: Apache-2.0
// Demand for inference and appliances in YAML (docs/lightning.md). Tables of keys (yaml_keys.c).
// O(bytes + keys^2).

#include "weft/format/file.h"
#include "weft/format/inference.h"
#include "weft/serving/place.h"
#include "yaml_keys.h"

#include <stdlib.h>
#include <string.h>

#define RATE_MAX 1e12

static bool read_net(uint32_t *net, const char *word, const struct weft_yaml_node *mapping,
                     const struct weft_serving_net *nets, const struct weft_yaml_source *source)
{
    const char *names[WEFT_SERVING_NETS];
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        names[n] = nets[n].name;
        if (strcmp(names[n], word) == 0) {
            *net = n;
            return true;
        }
    }
    weft_fail_word(source->error, "model of the study", word, names, WEFT_SERVING_NETS);
    return weft_yaml_fail_key(mapping, "model", source);
}

static bool above_zero(double value, const char *key, const struct weft_yaml_node *mapping,
                       const struct weft_yaml_source *source)
{
    if (value > 0) {
        return true;
    }
    weft_fail(source->error, WEFT_INPUT, "0 requests a second; write a number above 0");
    return weft_yaml_fail_key(mapping, key, source);
}

static bool read_model(struct weft_inference_model *model, const struct weft_yaml_node *mapping,
                       const struct weft_serving_net *nets, const struct weft_yaml_source *source)
{
    const char *word = NULL;
    const struct weft_yaml_item items[] = {
        {"model", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &word, 0, 0},
        {"rate", WEFT_YAML_REAL, WEFT_YAML_NEEDED, &model->rate, 0, RATE_MAX},
        {"latency", WEFT_YAML_TIME, WEFT_YAML_NEEDED, &model->latency_ps, 0, 0},
    };
    if (!WEFT_YAML_READ(mapping, items, source) ||
        !read_net(&model->net, word, mapping, nets, source) ||
        !above_zero(model->rate, "rate", mapping, source)) {
        return false;
    }
    // One that takes less than its own share of the rate could not be served at it.
    if ((double)model->latency_ps * 1e-12 < 1 / model->rate) {
        weft_fail(source->error, WEFT_INPUT,
                  "shorter than 1 / rate, the work of a request; raise one of them");
        return weft_yaml_fail_key(mapping, "latency", source);
    }
    return true;
}

static bool read_kind(struct weft_inference_kind *kind, const struct weft_yaml_node *mapping,
                      const struct weft_serving_net *nets, const struct weft_yaml_source *source)
{
    const struct weft_yaml_node *models = NULL;
    kind->watts = -1;
    const struct weft_yaml_item items[] = {
        {"name", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &kind->name, 0, 0},
        {"like", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &kind->like, 0, 0},
        {"price", WEFT_YAML_PRICE, WEFT_YAML_NEEDED, &kind->usd, 0, 0},
        {"power", WEFT_YAML_POWER, WEFT_YAML_OPTIONAL, &kind->watts, 0, 0},
        {"models", WEFT_YAML_LIST, WEFT_YAML_OPTIONAL, &models, 0, WEFT_SERVING_NETS},
    };
    if (!WEFT_YAML_READ(mapping, items, source)) {
        return false;
    }
    kind->watts_given = kind->watts >= 0;
    const char *names[16];
    uint32_t p = 0;
    for (; p < weft_serving_processor_count; p++) {
        names[p] = weft_serving_processors[p].name;
        if (kind->like != NULL && strcmp(kind->like, names[p]) == 0) {
            break;
        }
    }
    if (kind->like != NULL && p == weft_serving_processor_count) {
        weft_fail_word(source->error, "processor of the study", kind->like, names, p);
        return weft_yaml_fail_key(mapping, "like", source);
    }
    if (kind->like == NULL && (models == NULL || !kind->watts_given)) {
        weft_fail(source->error, WEFT_INPUT, "write like: Lightning, or power: and models:");
        return weft_yaml_fail_key(mapping, "name", source);
    }
    if (models == NULL) {
        return true;
    }
    struct weft_inference_model *all =
        WEFT_NEW(source->arena, struct weft_inference_model, models->child_count);
    for (const struct weft_yaml_node *node = models->children; node != NULL; node = node->next) {
        if (!read_model(&all[kind->model_count], node, nets, source)) {
            return false;
        }
        kind->model_count++;
    }
    kind->models = all;
    return true;
}

static bool read_kinds(struct weft_inference_file *file, const struct weft_yaml_node *list,
                       const struct weft_serving_net *nets, const struct weft_yaml_source *source)
{
    struct weft_inference_kind *kinds =
        WEFT_NEW(source->arena, struct weft_inference_kind, list->child_count);
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        if (!read_kind(&kinds[file->kind_count], node, nets, source)) {
            return false;
        }
        file->kind_count++;
    }
    file->kinds = kinds;
    return true;
}

static bool read_demands(struct weft_inference_file *file, const struct weft_yaml_node *list,
                         uint64_t objective_ps, const struct weft_serving_net *nets,
                         const struct weft_yaml_source *source)
{
    struct weft_inference_demand *demands =
        WEFT_NEW(source->arena, struct weft_inference_demand, list->child_count);
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        struct weft_inference_demand *demand = &demands[file->demand_count++];
        const char *word = NULL;
        demand->objective_ps = objective_ps;
        const struct weft_yaml_item items[] = {
            {"server", WEFT_YAML_U32, WEFT_YAML_NEEDED, &demand->server, 0,
             WEFT_CLUSTER_SERVERS_MAX - 1},
            {"model", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &word, 0, 0},
            {"rate", WEFT_YAML_REAL, WEFT_YAML_NEEDED, &demand->requests_per_s, 0, RATE_MAX},
            {"objective", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &demand->objective_ps, 0, 0},
        };
        if (!WEFT_YAML_READ(node, items, source) ||
            !read_net(&demand->net, word, node, nets, source) ||
            !above_zero(demand->requests_per_s, "rate", node, source)) {
            return false;
        }
    }
    file->demands = demands;
    return true;
}

static bool read_place(uint32_t *place, const struct weft_yaml_node *node,
                       const struct weft_inference_file *file,
                       const struct weft_yaml_source *source)
{
    uint64_t value = 0;
    if (!weft_parse_count(&value, node->text, 0, WEFT_CLUSTER_SERVERS_MAX - 1, source->error)) {
        return weft_yaml_fail_at(node, source);
    }
    for (uint32_t p = 0; p < file->place_count; p++) {
        if (file->places[p] == value) {
            weft_fail(source->error, WEFT_INPUT, "server %u stands twice; leave one out",
                      (uint32_t)value);
            return weft_yaml_fail_at(node, source);
        }
    }
    for (uint32_t d = 0; d < file->demand_count; d++) {
        if (file->demands[d].server == value) {
            weft_fail(source->error, WEFT_INPUT,
                      "requests come from server %u; a place is a server whose port is free",
                      (uint32_t)value);
            return weft_yaml_fail_at(node, source);
        }
    }
    *place = (uint32_t)value;
    return true;
}

static bool read_places(struct weft_inference_file *file, const struct weft_yaml_node *list,
                        const struct weft_yaml_source *source)
{
    uint32_t *places = WEFT_NEW(source->arena, uint32_t, list->child_count);
    file->places = places;
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        if (!read_place(&places[file->place_count], node, file, source)) {
            return false;
        }
        file->place_count++;
    }
    return true;
}

bool weft_inference_read(struct weft_inference_file *file, const char *data, size_t length,
                         const struct weft_serving_net *nets, struct weft_arena *arena,
                         struct weft_error *error)
{
    const struct weft_yaml_source source = {arena, error};
    const struct weft_yaml_node *root = NULL;
    const struct weft_yaml_node *kinds = NULL;
    const struct weft_yaml_node *demands = NULL;
    const struct weft_yaml_node *places = NULL;
    uint64_t objective_ps = 100000000000ull; // 100 ms
    struct weft_inference_file read = {.rho = 0.7};
    const struct weft_yaml_item items[] = {
        {"objective", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &objective_ps, 0, 0},
        {"rho", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &read.rho, 0.01, 0.99},
        {"appliances", WEFT_YAML_LIST, WEFT_YAML_NEEDED, &kinds, 0, WEFT_SERVING_KINDS_MAX},
        {"demands", WEFT_YAML_LIST, WEFT_YAML_NEEDED, &demands, 0, WEFT_SERVING_DEMANDS_MAX},
        {"places", WEFT_YAML_WORDS, WEFT_YAML_NEEDED, &places, 0, WEFT_SERVING_PLACES_MAX},
    };
    if (!weft_yaml_open(&root, data, length, "appliances, demands and places", &source) ||
        !WEFT_YAML_READ(root, items, &source) || !read_kinds(&read, kinds, nets, &source) ||
        !read_demands(&read, demands, objective_ps, nets, &source) ||
        !read_places(&read, places, &source)) {
        return false;
    }
    *file = read;
    return true;
}

bool weft_inference_load(struct weft_inference_file *file, const char *path,
                         const struct weft_serving_net *nets, struct weft_arena *arena,
                         struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    return weft_file_load(&data, &length, path, WEFT_FILE_YAML_BYTES, arena, error) &&
           (weft_inference_read(file, data, length, nets, arena, error) ||
            weft_wrap(error, "%s", path));
}
