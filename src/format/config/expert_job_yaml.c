// SPDX-License-Identifier: Apache-2.0
// Jobs of experts on circuits beside packets in YAML (docs/mixnet.md): loads by a law or from a
// trace. One table of keys (yaml_keys.c). O(bytes + keys^2).

#include "weft/format.h"
#include "yaml_keys.h"

#include <string.h>

#define SERVERS_MAX 32u
#define CIRCUITS_MAX 8u
#define LAYERS_MAX 256u // of all steps
#define DEFAULT_SKEW 1.2
#define DEFAULT_DRIFT 0.1

static bool check_multiple(uint32_t count, uint32_t servers, const char *key,
                           const struct weft_yaml_node *root, const struct weft_yaml_source *source)
{
    if (count % servers == 0) {
        return true;
    }
    weft_fail(source->error, WEFT_INPUT,
              "%u do not divide among %u servers; write a multiple of %u", count, servers, servers);
    return weft_yaml_fail_key(root, key, source);
}

// What the law of loads needs, and what no key says otherwise.
static bool check_law(struct weft_expert_job *job, const struct weft_yaml_node *root,
                      const struct weft_yaml_source *source)
{
    job->experts = job->experts == 0 ? job->servers : job->experts;
    job->ranks = job->ranks == 0 ? job->servers : job->ranks;
    job->layers = job->layers == 0 ? 1 : job->layers;
    job->steps = job->steps == 0 ? 1 : job->steps;
    job->skew = job->skew < 0 ? DEFAULT_SKEW : job->skew;
    job->drift = job->drift < 0 ? DEFAULT_DRIFT : job->drift;
    if (job->layers * job->steps > LAYERS_MAX) {
        weft_fail(source->error, WEFT_INPUT,
                  "%u steps of %u layers; at most %u layers in all steps", job->steps, job->layers,
                  LAYERS_MAX);
        return weft_yaml_fail_key(root, job->steps > 1 ? "steps" : "layers", source);
    }
    return check_multiple(job->experts, job->servers, "experts", root, source) &&
           check_multiple(job->ranks, job->servers, "ranks", root, source);
}

// A trace has sizes of its own, and no law.
static bool check_trace(const struct weft_expert_job *job, const struct weft_yaml_node *root,
                        const struct weft_yaml_source *source)
{
    const char *key = job->experts > 0  ? "experts"
                      : job->ranks > 0  ? "ranks"
                      : job->layers > 0 ? "layers"
                      : job->steps > 0  ? "steps"
                      : job->skew >= 0  ? "skew"
                      : job->drift >= 0 ? "drift"
                                        : NULL;
    if (key != NULL) {
        weft_fail(source->error, WEFT_INPUT, "the trace says that; leave the key out");
        return weft_yaml_fail_key(root, key, source);
    }
    if (job->trace_path[0] == '\0') {
        weft_fail(source->error, WEFT_INPUT, "no file; write trace: loads.txt");
        return weft_yaml_fail_key(root, "trace", source);
    }
    return true;
}

static bool check(struct weft_expert_job *job, const struct weft_yaml_node *root,
                  const struct weft_yaml_source *source)
{
    if (!(job->rate_Bps > 0)) {
        weft_fail(source->error, WEFT_INPUT, "a port carries nothing; write rate: 50GB/s");
        return weft_yaml_fail_key(root, "rate", source);
    }
    if (job->circuits >= job->servers) {
        weft_fail(source->error, WEFT_INPUT, "%u circuits of %u servers; write at most %u",
                  job->circuits, job->servers, job->servers - 1);
        return weft_yaml_fail_key(root, "circuits", source);
    }
    if (job->copies_bytes < job->servers) {
        weft_fail(source->error, WEFT_INPUT, "a server sends next to nothing; write copies: 50MB");
        return weft_yaml_fail_key(root, "copies", source);
    }
    return job->trace_path != NULL ? check_trace(job, root, source) : check_law(job, root, source);
}

bool weft_expert_job_read(struct weft_expert_job *job, const char *data, size_t length,
                          struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_yaml_source source = {arena, error};
    const struct weft_yaml_node *root = NULL;
    struct weft_expert_job read = {
        .name = "job", .circuits = 1, .skew = -1, .drift = -1, .seed = 1}; // negative: not given
    const struct weft_yaml_item items[] = {
        {"name", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &read.name, 0, 0},
        {"servers", WEFT_YAML_U32, WEFT_YAML_NEEDED, &read.servers, 3, SERVERS_MAX},
        {"circuits", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.circuits, 1, CIRCUITS_MAX},
        {"experts", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.experts, 1, WEFT_EXPERTS_MAX},
        {"ranks", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.ranks, 1, WEFT_EXPERTS_MAX},
        {"layers", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.layers, 1, LAYERS_MAX},
        {"steps", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.steps, 1, LAYERS_MAX},
        {"skew", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &read.skew, 0, 10},
        {"drift", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &read.drift, 0, 1},
        {"seed", WEFT_YAML_U64, WEFT_YAML_OPTIONAL, &read.seed, 0, 0},
        {"trace", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &read.trace_path, 0, 0},
        {"copies", WEFT_YAML_BYTES, WEFT_YAML_NEEDED, &read.copies_bytes, 0, 0},
        {"attention", WEFT_YAML_TIME, WEFT_YAML_NEEDED, &read.attention_ps, 0, 0},
        {"expert_time", WEFT_YAML_TIME, WEFT_YAML_NEEDED, &read.experts_ps, 0, 0},
        {"rate", WEFT_YAML_RATE, WEFT_YAML_NEEDED, &read.rate_Bps, 0, 0},
    };
    if (!weft_yaml_open(&root, data, length, "servers, copies, attention, expert_time and rate",
                        &source) ||
        !WEFT_YAML_READ(root, items, &source)) {
        return false;
    }
    if (!check(&read, root, &source)) {
        return false;
    }
    *job = read;
    return true;
}

// Beside the job's file unless its path begins at the root.
static bool load_trace(struct weft_expert_job *job, const char *path, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    const char *slash = strrchr(path, '/');
    int folder = slash == NULL || job->trace_path[0] == '/' ? 0 : (int)(slash - path) + 1;
    const char *full = weft_arena_format(arena, "%.*s%s", folder, path, job->trace_path);
    if (!weft_experts_load(&job->trace, full, arena, scratch, error)) {
        return false;
    }
    job->experts = job->trace.experts;
    job->ranks = job->trace.ranks;
    job->layers = job->trace.layers;
    job->steps = job->trace.steps;
    if (job->experts % job->servers != 0 || job->ranks % job->servers != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: its %u experts and %u ranks do not divide among %u servers; correct "
                         "servers or the trace",
                         full, job->experts, job->ranks, job->servers);
    }
    return job->layers * job->steps <= LAYERS_MAX ||
           weft_fail(error, WEFT_INPUT, "%s: %u steps of %u layers; at most %u layers in all steps",
                     full, job->steps, job->layers, LAYERS_MAX);
}

bool weft_expert_job_load(struct weft_expert_job *job, const char *path, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    struct weft_expert_job read;
    if (!weft_file_load(&data, &length, path, WEFT_FILE_YAML_BYTES, arena, error)) {
        return false;
    }
    if (!weft_expert_job_read(&read, data, length, arena, error)) {
        return weft_file_mistaken(error, path, WEFT_FILE_EXPERT_JOB);
    }
    if (read.trace_path != NULL && !load_trace(&read, path, arena, scratch, error)) {
        return weft_wrap(error, "%s: trace", path);
    }
    *job = read;
    return true;
}
