// SPDX-License-Identifier: Apache-2.0
// Traces of many jobs in YAML (docs/scheduler.md): a cluster, classes of jobs, arrivals and
// failures, for weft schedule.
//
// A table for each mapping says its keys and reads their units (yaml_keys.c); references of jobs to
// classes are found as they come. Classes that name files have no demand yet: the caller loads
// and measures them. O(bytes + keys^2), as syntax/yaml.c.

#include "cluster_yaml.h"
#include "weft/format.h"

#include <string.h>

#define CLASSES_MAX 256u
#define PHASES_MAX 64u
#define JOBS_MAX 4096u
#define SERVERS_MAX WEFT_CLUSTER_SERVERS_MAX

// A list that the file leaves out.
static const struct weft_yaml_node nothing = {.is_list = true};

static bool has(const struct weft_yaml_node *mapping, const char *key)
{
    return weft_yaml_child(mapping, key) != NULL;
}

// The cluster in the trace itself, or the name of a file that has it, which the caller reads. A
// trace may leave it to the caller, too.
static bool read_cluster(struct weft_job_trace *trace, const struct weft_yaml_node *root,
                         const struct weft_yaml_source *source)
{
    const struct weft_yaml_node *cluster = weft_yaml_child(root, "cluster");
    if (cluster == NULL || cluster->text != NULL) {
        trace->cluster_path = cluster == NULL ? NULL : cluster->text;
        return true;
    }
    if (cluster->is_list) {
        weft_fail(source->error, WEFT_INPUT,
                  "a list; write a cluster's keys, or the name of its file");
        return weft_yaml_fail_at(cluster, source);
    }
    return cluster_yaml_read(&trace->cluster, cluster, source);
}

// Reads the fabric of the cluster by its kind; the times to wire and to flip are those of shards
// alone.
static bool read_fabric(struct weft_job_trace *trace, const struct weft_yaml_node *mapping,
                        const struct weft_yaml_source *source)
{
    struct weft_trace_shards *shards = &trace->shards;
    struct weft_fabric_options *shape = &trace->shape;
    const char *spread = "pick";
    *shards = (struct weft_trace_shards){
        .look_ahead = true,
        .wiring_ps = 120 * WEFT_PS_PER_S,
        .switch_ps = WEFT_PS_PER_S / 100,
    };
    const struct weft_yaml_item items[] = {
        {"kind", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &trace->fabric, 0, 0},
        {"radix", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &shape->radix, 0, 4096},
        {"oversubscription", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &shape->oversubscription, 0, 1000},
        {"spread", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &spread, 0, 0},
        {"wiring", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &shards->wiring_ps, 0, 0},
        {"flip", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &shards->switch_ps, 0, 0},
        {"look_ahead", WEFT_YAML_TRUTH, WEFT_YAML_OPTIONAL, &shards->look_ahead, 0, 0},
    };
    if (!WEFT_YAML_READ(mapping, items, source)) {
        return false;
    }
    shards->dedicated = strcmp(trace->fabric, "shards") == 0;
    bool splits = strcmp(spread, "split") == 0;
    trace->spread_stated = has(mapping, "spread");
    trace->spread = splits ? WEFT_SPREAD_SPLIT : WEFT_SPREAD_PICK;
    if (!splits && strcmp(spread, "pick") != 0) {
        weft_fail(source->error, WEFT_INPUT, "'%.40s'; write pick (a path for each flow) or split",
                  spread);
        return weft_yaml_fail_key(mapping, "spread", source);
    }
    return true;
}

static bool read_phases(struct weft_job_class *class, const struct weft_yaml_node *list,
                        const struct weft_yaml_source *source)
{
    struct weft_demand_phase *phases =
        WEFT_NEW(source->arena, struct weft_demand_phase, list->child_count);
    class->demand.phases = phases;
    class->demand.phase_count = list->child_count;
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        const struct weft_yaml_item items[] = {
            {"start", WEFT_YAML_TIME, WEFT_YAML_NEEDED, &phases->start_ps, 0, 0},
            {"duration", WEFT_YAML_TIME, WEFT_YAML_NEEDED, &phases->duration_ps, 0, 0},
            {"rate", WEFT_YAML_RATE, WEFT_YAML_NEEDED, &phases->rate_Bps, 0, 0},
        };
        if (!WEFT_YAML_READ(node, items, source)) {
            return false;
        }
        phases++;
    }
    return true;
}

static bool read_pattern(struct weft_job_class *class, const char *text,
                         const struct weft_yaml_node *mapping,
                         const struct weft_yaml_source *source)
{
    if (strcmp(text, "ring") == 0) {
        class->pattern = WEFT_JOB_RING;
        return true;
    }
    class->pattern = WEFT_JOB_ALL_TO_ALL;
    if (strcmp(text, "all-to-all") == 0) {
        return true;
    }
    weft_fail(source->error, WEFT_INPUT, "'%.40s' is no pattern; write ring or all-to-all", text);
    return weft_yaml_fail_key(mapping, "pattern", source);
}

// A class is described by its phases or by a job's file, not by both.
static bool check_source(const struct weft_yaml_node *class, const struct weft_yaml_source *source)
{
    bool by_hand = has(class, "iteration") && has(class, "servers") && has(class, "phases");
    bool any = has(class, "iteration") || has(class, "phases") || has(class, "pattern") ||
               has(class, "servers") || has(class, "elastic");
    bool by_file = has(class, "job") || has(class, "plan");
    if (by_file ? !any : by_hand) {
        return true;
    }
    weft_fail(source->error, WEFT_INPUT,
              "describe it either by servers, iteration and phases, or by the file of a job or a "
              "plan");
    return weft_yaml_fail_at(class, source);
}

static bool read_elastic(struct weft_job_class *class, const struct weft_yaml_node *mapping,
                         const struct weft_yaml_source *source)
{
    const struct weft_yaml_item items[] = {
        {"min", WEFT_YAML_U32, WEFT_YAML_NEEDED, &class->servers_min, 0, SERVERS_MAX},
        {"max", WEFT_YAML_U32, WEFT_YAML_NEEDED, &class->servers_max, 0, SERVERS_MAX},
        {"noise", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &class->noise_ratio, 0, 1e9},
    };
    return WEFT_YAML_READ(mapping, items, source);
}

// Reads a class of jobs. What it demands stands in the file as phases or a pattern, or is
// measured later from the job or plan that it names.
static bool read_class(struct weft_job_class *class, const struct weft_yaml_node *mapping,
                       const struct weft_yaml_source *source)
{
    const struct weft_yaml_node *phases = &nothing;
    const struct weft_yaml_node *elastic = NULL;
    const char *pattern = "ring";
    *class = (struct weft_job_class){.weight = 1, .noise_ratio = 1};
    const struct weft_yaml_item items[] = {
        {"name", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &class->name, 0, 0},
        {"servers", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &class->server_count, 0, SERVERS_MAX},
        {"iteration", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &class->demand.iteration_ps, 0, 0},
        {"pattern", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &pattern, 0, 0},
        {"job", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &class->job_path, 0, 0},
        {"plan", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &class->plan_path, 0, 0},
        {"jitter", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &class->jitter_ratio, 0, 0.29},
        {"weight", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &class->weight, 0, 1e9},
        {"iterations", WEFT_YAML_U64, WEFT_YAML_OPTIONAL, &class->iterations, 0, 0},
        {"duration", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &class->duration_ps, 0, 0},
        {"shard_iteration", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &class->shard_iteration_ps, 0, 0},
        {"phases", WEFT_YAML_LIST, WEFT_YAML_OPTIONAL, &phases, 0, PHASES_MAX},
        {"elastic", WEFT_YAML_MAPPING, WEFT_YAML_OPTIONAL, &elastic, 0, 0},
    };
    if (!WEFT_YAML_READ(mapping, items, source) || !check_source(mapping, source) ||
        !read_phases(class, phases, source) || !read_pattern(class, pattern, mapping, source)) {
        return false;
    }
    class->servers_min = class->server_count;
    class->servers_max = class->server_count;
    return elastic == NULL || read_elastic(class, elastic, source);
}

static bool read_classes(struct weft_job_trace *trace, const struct weft_yaml_node *list,
                         const struct weft_yaml_source *source)
{
    struct weft_job_class *classes =
        WEFT_NEW(source->arena, struct weft_job_class, list->child_count);
    uint32_t c = 0;
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        if (!read_class(&classes[c], node, source)) {
            return false;
        }
        for (uint32_t other = 0; other < c; other++) {
            if (strcmp(classes[other].name, classes[c].name) == 0) {
                weft_fail(source->error, WEFT_INPUT, "two classes of the name %.60s; rename one",
                          classes[c].name);
                return weft_yaml_fail_key(node, "name", source);
            }
        }
        c++;
    }
    trace->classes = classes;
    trace->class_count = c;
    return true;
}

static bool find_class(uint32_t *id, const struct weft_job_trace *trace, const char *name,
                       const struct weft_yaml_source *source)
{
    const char **names = WEFT_NEW(source->arena, const char *, trace->class_count);
    for (uint32_t c = 0; c < trace->class_count; c++) {
        names[c] = trace->classes[c].name;
        if (strcmp(names[c], name) == 0) {
            *id = c;
            return true;
        }
    }
    const char *near = weft_nearest_word(name, names, trace->class_count);
    return weft_fail(source->error, WEFT_INPUT, "no class '%.60s'; %s %.60s", name,
                     near != NULL ? "did you mean" : "there is", near != NULL ? near : names[0]);
}

// Reads the jobs, each of a class that stands in the trace, in order of arrival; one without a
// name is called after its class and its place.
static bool read_jobs(struct weft_job_trace *trace, const struct weft_yaml_node *list,
                      const struct weft_yaml_source *source)
{
    struct weft_trace_job *jobs = WEFT_NEW(source->arena, struct weft_trace_job, list->child_count);
    uint32_t j = 0;
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        struct weft_trace_job *job = &jobs[j];
        const char *class = NULL;
        const struct weft_yaml_item items[] = {
            {"name", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &job->name, 0, 0},
            {"class", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &class, 0, 0},
            {"arrival", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &job->arrival_ps, 0, 0},
            {"iterations", WEFT_YAML_U64, WEFT_YAML_OPTIONAL, &job->iterations, 0, 0},
            {"duration", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &job->duration_ps, 0, 0},
        };
        if (!WEFT_YAML_READ(node, items, source)) {
            return false;
        }
        if (!find_class(&job->class_id, trace, class, source)) {
            return weft_yaml_fail_key(node, "class", source);
        }
        if (job->name == NULL) {
            job->name = weft_arena_format(source->arena, "%s-%u", class, j);
        }
        if (j > 0 && job->arrival_ps < jobs[j - 1].arrival_ps) {
            weft_fail(source->error, WEFT_INPUT,
                      "before the job above it; list jobs in order of arrival");
            return weft_yaml_fail_key(node, "arrival", source);
        }
        j++;
    }
    trace->jobs = jobs;
    trace->job_count = j;
    return true;
}

static bool read_poisson(struct weft_trace_poisson *poisson, const struct weft_yaml_node *mapping,
                         const struct weft_yaml_source *source)
{
    double jobs_per_hour = 0;
    const struct weft_yaml_item items[] = {
        {"count", WEFT_YAML_U32, WEFT_YAML_NEEDED, &poisson->count, 0, 1000000},
        {"jobs_per_hour", WEFT_YAML_REAL, WEFT_YAML_NEEDED, &jobs_per_hour, 0, 1e9},
        {"seed", WEFT_YAML_U64, WEFT_YAML_OPTIONAL, &poisson->seed, 0, 0},
    };
    if (!WEFT_YAML_READ(mapping, items, source)) {
        return false;
    }
    poisson->jobs_per_s = jobs_per_hour / 3600;
    return true;
}

// Reads failures: random ones by mean times between failures in hours, and events at given
// times, of a server or, with a peer, of the link between two.
static bool read_failures(struct weft_job_trace *trace, const struct weft_yaml_node *mapping,
                          const struct weft_yaml_source *source)
{
    struct weft_trace_chance *chance = &trace->chance;
    const struct weft_yaml_node *events = &nothing;
    double server_hours = 0;
    double link_hours = 0;
    const struct weft_yaml_item items[] = {
        {"server_mtbf_hours", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &server_hours, 0, 1e9},
        {"link_mtbf_hours", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &link_hours, 0, 1e9},
        {"repair", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &chance->repair_ps, 0, 0},
        {"seed", WEFT_YAML_U64, WEFT_YAML_OPTIONAL, &chance->seed, 0, 0},
        {"events", WEFT_YAML_LIST, WEFT_YAML_OPTIONAL, &events, 0, JOBS_MAX},
    };
    if (!WEFT_YAML_READ(mapping, items, source)) {
        return false;
    }
    chance->server_mtbf_s = 3600 * server_hours;
    chance->link_mtbf_s = 3600 * link_hours;
    struct weft_trace_failure *failure =
        WEFT_NEW(source->arena, struct weft_trace_failure, events->child_count);
    trace->failures = failure;
    trace->failure_count = events->child_count;
    for (const struct weft_yaml_node *node = events->children; node != NULL; node = node->next) {
        const struct weft_yaml_item event[] = {
            {"at", WEFT_YAML_TIME, WEFT_YAML_NEEDED, &failure->time_ps, 0, 0},
            {"server", WEFT_YAML_U32, WEFT_YAML_NEEDED, &failure->server, 0, 1u << 24},
            {"peer", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &failure->peer, 0, 1u << 24},
            {"repair", WEFT_YAML_TIME, WEFT_YAML_NEEDED, &failure->repair_ps, 0, 0},
        };
        if (!WEFT_YAML_READ(node, event, source)) {
            return false;
        }
        failure->is_link = has(node, "peer");
        failure++;
    }
    return true;
}

// Reads the whole trace. Classes stand before jobs, which name them.
static bool read_trace(struct weft_job_trace *trace, const struct weft_yaml_node *root,
                       const struct weft_yaml_source *source)
{
    struct weft_job_trace read = {
        .name = "trace",
        .poisson.seed = 1,
        .chance.seed = 1,
        .checkpoint_ps = 600 * WEFT_PS_PER_S,
        .restart_ps = 30 * WEFT_PS_PER_S,
    };
    const struct weft_yaml_node *fabric = NULL;
    const struct weft_yaml_node *classes = NULL;
    const struct weft_yaml_node *jobs = &nothing;
    const struct weft_yaml_node *poisson = NULL;
    const struct weft_yaml_node *failures = NULL;
    const struct weft_yaml_item items[] = {
        {"name", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &read.name, 0, 0},
        {"checkpoint", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &read.checkpoint_ps, 0, 0},
        {"restart", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &read.restart_ps, 0, 0},
        {"cluster", WEFT_YAML_MAPPING, WEFT_YAML_OPTIONAL, NULL, 0, 0}, // read_cluster
        {"fabric", WEFT_YAML_MAPPING, WEFT_YAML_NEEDED, &fabric, 0, 0},
        {"classes", WEFT_YAML_LIST, WEFT_YAML_NEEDED, &classes, 0, CLASSES_MAX},
        {"jobs", WEFT_YAML_LIST, WEFT_YAML_OPTIONAL, &jobs, 0, JOBS_MAX},
        {"poisson", WEFT_YAML_MAPPING, WEFT_YAML_OPTIONAL, &poisson, 0, 0},
        {"failures", WEFT_YAML_MAPPING, WEFT_YAML_OPTIONAL, &failures, 0, 0},
    };
    if (!WEFT_YAML_READ(root, items, source) || !read_cluster(&read, root, source) ||
        !read_fabric(&read, fabric, source) || !read_classes(&read, classes, source) ||
        !read_jobs(&read, jobs, source) ||
        (poisson != NULL && !read_poisson(&read.poisson, poisson, source)) ||
        (failures != NULL && !read_failures(&read, failures, source))) {
        return false;
    }
    *trace = read;
    return true;
}

bool weft_job_trace_read(struct weft_job_trace *trace, const char *data, size_t length,
                         struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_yaml_source source = {arena, error};
    const struct weft_yaml_node *root = NULL;
    return weft_yaml_open(&root, data, length, "cluster, fabric, classes and jobs or poisson",
                          &source) &&
           read_trace(trace, root, &source);
}

bool weft_job_trace_load(struct weft_job_trace *trace, const char *path, struct weft_arena *arena,
                         struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, WEFT_FILE_YAML_BYTES, arena, error)) {
        return false;
    }
    return weft_job_trace_read(trace, data, length, arena, error) ||
           weft_file_mistaken(error, path, WEFT_FILE_JOB_TRACE);
}
