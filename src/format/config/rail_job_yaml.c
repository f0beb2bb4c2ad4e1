// SPDX-License-Identifier: Apache-2.0
// Jobs on photonic rails in YAML (docs/photonic-rails.md): parallelism, times of passes, bytes.
// One table of keys (yaml_keys.c). O(bytes + keys^2).

#include "weft/format.h"
#include "yaml_keys.h"

#include <string.h>

#define SERVERS_MAX 65536u
#define PORTS_MAX 64u

struct word {
    const char *text;
    uint32_t value;
};

// Reads one of a few words, which end with NULL.
static bool read_word(uint32_t *value, const char *text, const struct word *words,
                      const struct weft_yaml_node *root, const char *key,
                      const struct weft_yaml_source *source)
{
    for (const struct word *word = words; word->text != NULL; word++) {
        if (strcmp(word->text, text) == 0) {
            *value = word->value;
            return true;
        }
    }
    struct weft_text list;
    struct weft_arena scratch = *source->arena;
    weft_text_init(&list, &scratch);
    for (const struct word *word = words; word->text != NULL; word++) {
        weft_text_add(&list, "%s%s",
                      word == words          ? ""
                      : word[1].text == NULL ? " or "
                                             : ", ",
                      word->text);
    }
    weft_fail(source->error, WEFT_INPUT, "'%.40s'; write %s", text, list.data);
    return weft_yaml_fail_key(root, key, source);
}

static bool read_words(struct weft_rail_job *job, const char *const texts[3],
                       const struct weft_yaml_node *root, const struct weft_yaml_source *source)
{
    static const struct word schedules[] = {
        {"all-forward", WEFT_RAIL_ALL_FORWARD}, {"1f1b", WEFT_RAIL_1F1B}, {NULL, 0}};
    static const struct word gathers[] = {{"never", WEFT_RAIL_NEVER},
                                          {"step", WEFT_RAIL_STEP},
                                          {"backward", WEFT_RAIL_BACKWARD},
                                          {"pass", WEFT_RAIL_PASS},
                                          {NULL, 0}};
    static const struct word reduces[] = {
        {"never", WEFT_RAIL_NEVER}, {"step", WEFT_RAIL_STEP}, {"pass", WEFT_RAIL_PASS}, {NULL, 0}};
    uint32_t values[3] = {0};
    if (!read_word(&values[0], texts[0], schedules, root, "schedule", source) ||
        !read_word(&values[1], texts[1], gathers, root, "gather", source) ||
        !read_word(&values[2], texts[2], reduces, root, "reduce", source)) {
        return false;
    }
    job->schedule = (enum weft_rail_schedule)values[0];
    job->gather = (enum weft_rail_repeat)values[1];
    job->reduce = (enum weft_rail_repeat)values[2];
    return true;
}

static bool check(const struct weft_rail_job *job, const struct weft_yaml_node *root,
                  const struct weft_yaml_source *source)
{
    if ((uint64_t)job->dp * job->pp > SERVERS_MAX) {
        weft_fail(source->error, WEFT_INPUT, "%u replicas of %u stages are more than %u servers",
                  job->dp, job->pp, SERVERS_MAX);
        return weft_yaml_fail_key(root, "dp", source);
    }
    if ((uint64_t)job->dp * job->pp < 2) {
        weft_fail(source->error, WEFT_INPUT, "one server uses no rail; write dp: 2 or pp: 2");
        return weft_yaml_fail_key(root, "dp", source);
    }
    if (!(job->rate_Bps > 0)) {
        weft_fail(source->error, WEFT_INPUT, "a port carries nothing; write rate: 50GB/s");
        return weft_yaml_fail_key(root, "rate", source);
    }
    return true;
}

bool weft_rail_job_read(struct weft_rail_job *job, const char *data, size_t length,
                        struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_yaml_source source = {arena, error};
    const struct weft_yaml_node *root = NULL;
    const char *texts[3] = {"all-forward", "step", "step"};
    struct weft_rail_job read = {.name = "job", .dp = 1, .pp = 1, .tp = 1, .ep = 1, .ports = 1};
    read.microbatches = 1;
    const struct weft_yaml_item items[] = {
        {"name", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &read.name, 0, 0},
        {"dp", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.dp, 1, SERVERS_MAX},
        {"pp", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.pp, 1, SERVERS_MAX},
        {"tp", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.tp, 1, 4096},
        {"ep", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.ep, 1, SERVERS_MAX},
        {"microbatches", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.microbatches, 1, 100000},
        {"schedule", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &texts[0], 0, 0},
        {"forward", WEFT_YAML_TIME, WEFT_YAML_NEEDED, &read.forward_ps, 0, 0},
        {"backward", WEFT_YAML_TIME, WEFT_YAML_NEEDED, &read.backward_ps, 0, 0},
        {"update", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &read.update_ps, 0, 0},
        {"gather", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &texts[1], 0, 0},
        {"reduce", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &texts[2], 0, 0},
        {"overlap", WEFT_YAML_TRUTH, WEFT_YAML_OPTIONAL, &read.overlap, 0, 0},
        {"parameters", WEFT_YAML_BYTES, WEFT_YAML_OPTIONAL, &read.parameter_bytes, 0, 0},
        {"gradients", WEFT_YAML_BYTES, WEFT_YAML_OPTIONAL, &read.gradient_bytes, 0, 0},
        {"activations", WEFT_YAML_BYTES, WEFT_YAML_OPTIONAL, &read.activation_bytes, 0, 0},
        {"expert_bytes", WEFT_YAML_BYTES, WEFT_YAML_OPTIONAL, &read.expert_bytes, 0, 0},
        {"exchanges", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.exchanges, 0, 1000},
        {"before_exchange", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &read.before_ratio, 0, 1},
        {"norm", WEFT_YAML_BYTES, WEFT_YAML_OPTIONAL, &read.norm_bytes, 0, 0},
        {"rate", WEFT_YAML_RATE, WEFT_YAML_NEEDED, &read.rate_Bps, 0, 0},
        {"ports", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.ports, 1, PORTS_MAX},
        {"switch_ports", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &read.switch_ports, 0, 1e9},
        {"latency", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &read.latency_ps, 0, 0},
    };
    if (!weft_yaml_open(&root, data, length, "dp, pp, forward, backward and rate", &source) ||
        !WEFT_YAML_READ(root, items, &source) || !read_words(&read, texts, root, &source) ||
        !check(&read, root, &source)) {
        return false;
    }
    *job = read;
    return true;
}

bool weft_rail_job_load(struct weft_rail_job *job, const char *path, struct weft_arena *arena,
                        struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, WEFT_FILE_YAML_BYTES, arena, error)) {
        return false;
    }
    return weft_rail_job_read(job, data, length, arena, error) ||
           weft_file_mistaken(error, path, WEFT_FILE_RAIL_JOB);
}
