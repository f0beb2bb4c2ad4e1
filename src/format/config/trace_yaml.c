// SPDX-License-Identifier: Apache-2.0
// Traces of many jobs in YAML (docs/scheduler.md): a cluster, classes of jobs, arrivals and
// failures, for weft schedule.
//
// The document is held against a schema of texts; units and references between classes and jobs
// are read afterwards. Classes that name files have no demand yet: the caller loads and
// measures them. O(bytes + keys^2).

#include "weft/format.h"
#include "yaml_schema.h"

#include <stdlib.h>
#include <string.h>

#define CLASSES_MAX 256u
#define PHASES_MAX 64u
#define JOBS_MAX 4096u

// ---- the schema ----

struct raw_cluster {
    char *servers, *degree, *rate, *latency, *gpus;
};
struct raw_fabric {
    char *kind, *radix, *oversubscription, *spread, *wiring, *flip, *look_ahead;
};
struct raw_phase {
    char *start, *duration, *rate;
};
struct raw_elastic {
    char *min, *max, *noise;
};
struct raw_class {
    char *name, *servers, *iteration, *pattern, *job, *plan, *jitter, *weight, *iterations,
        *duration, *shard_iteration;
    struct raw_phase *phases;
    unsigned phases_count;
    struct raw_elastic *elastic;
};
struct raw_job {
    char *name, *class, *arrival, *iterations, *duration;
};
struct raw_poisson {
    char *count, *jobs_per_hour, *seed;
};
struct raw_event {
    char *at, *server, *peer, *repair;
};
struct raw_failures {
    char *server_mtbf_hours, *link_mtbf_hours, *repair, *seed;
    struct raw_event *events;
    unsigned events_count;
};
struct raw_trace {
    char *name, *checkpoint, *restart;
    struct raw_cluster *cluster;
    struct raw_fabric *fabric;
    struct raw_class *classes;
    unsigned classes_count;
    struct raw_job *jobs;
    unsigned jobs_count;
    struct raw_poisson *poisson;
    struct raw_failures *failures;
};

static const cyaml_schema_field_t cluster_fields[] = {
    WEFT_YAML_WORD(servers, WEFT_YAML_NEEDED, raw_cluster),
    WEFT_YAML_WORD(degree, WEFT_YAML_OPTIONAL, raw_cluster),
    WEFT_YAML_WORD(rate, WEFT_YAML_NEEDED, raw_cluster),
    WEFT_YAML_WORD(latency, WEFT_YAML_OPTIONAL, raw_cluster),
    WEFT_YAML_WORD(gpus, WEFT_YAML_OPTIONAL, raw_cluster),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t fabric_fields[] = {
    WEFT_YAML_WORD(kind, WEFT_YAML_NEEDED, raw_fabric),
    WEFT_YAML_WORD(radix, WEFT_YAML_OPTIONAL, raw_fabric),
    WEFT_YAML_WORD(oversubscription, WEFT_YAML_OPTIONAL, raw_fabric),
    WEFT_YAML_WORD(spread, WEFT_YAML_OPTIONAL, raw_fabric),
    WEFT_YAML_WORD(wiring, WEFT_YAML_OPTIONAL, raw_fabric),
    WEFT_YAML_WORD(flip, WEFT_YAML_OPTIONAL, raw_fabric),
    WEFT_YAML_WORD(look_ahead, WEFT_YAML_OPTIONAL, raw_fabric),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t phase_fields[] = {
    WEFT_YAML_WORD(start, WEFT_YAML_NEEDED, raw_phase),
    WEFT_YAML_WORD(duration, WEFT_YAML_NEEDED, raw_phase),
    WEFT_YAML_WORD(rate, WEFT_YAML_NEEDED, raw_phase),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t phase_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_phase, phase_fields)};
static const cyaml_schema_field_t elastic_fields[] = {
    WEFT_YAML_WORD(min, WEFT_YAML_NEEDED, raw_elastic),
    WEFT_YAML_WORD(max, WEFT_YAML_NEEDED, raw_elastic),
    WEFT_YAML_WORD(noise, WEFT_YAML_OPTIONAL, raw_elastic),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t class_fields[] = {
    WEFT_YAML_WORD(name, WEFT_YAML_NEEDED, raw_class),
    WEFT_YAML_WORD(servers, WEFT_YAML_OPTIONAL, raw_class),
    WEFT_YAML_WORD(iteration, WEFT_YAML_OPTIONAL, raw_class),
    WEFT_YAML_WORD(pattern, WEFT_YAML_OPTIONAL, raw_class),
    WEFT_YAML_TEXT(job, WEFT_YAML_OPTIONAL, raw_class),
    WEFT_YAML_TEXT(plan, WEFT_YAML_OPTIONAL, raw_class),
    WEFT_YAML_WORD(jitter, WEFT_YAML_OPTIONAL, raw_class),
    WEFT_YAML_WORD(weight, WEFT_YAML_OPTIONAL, raw_class),
    WEFT_YAML_WORD(iterations, WEFT_YAML_OPTIONAL, raw_class),
    WEFT_YAML_WORD(duration, WEFT_YAML_OPTIONAL, raw_class),
    WEFT_YAML_WORD(shard_iteration, WEFT_YAML_OPTIONAL, raw_class),
    CYAML_FIELD_SEQUENCE("phases", WEFT_YAML_OPTIONAL, struct raw_class, phases, &phase_value, 1,
                         PHASES_MAX),
    CYAML_FIELD_MAPPING_PTR("elastic", WEFT_YAML_OPTIONAL, struct raw_class, elastic,
                            elastic_fields),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t class_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_class, class_fields)};
static const cyaml_schema_field_t job_fields[] = {
    WEFT_YAML_WORD(name, WEFT_YAML_OPTIONAL, raw_job),
    WEFT_YAML_WORD(class, WEFT_YAML_NEEDED, raw_job),
    WEFT_YAML_WORD(arrival, WEFT_YAML_OPTIONAL, raw_job),
    WEFT_YAML_WORD(iterations, WEFT_YAML_OPTIONAL, raw_job),
    WEFT_YAML_WORD(duration, WEFT_YAML_OPTIONAL, raw_job),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t job_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_job, job_fields)};
static const cyaml_schema_field_t poisson_fields[] = {
    WEFT_YAML_WORD(count, WEFT_YAML_NEEDED, raw_poisson),
    WEFT_YAML_WORD(jobs_per_hour, WEFT_YAML_NEEDED, raw_poisson),
    WEFT_YAML_WORD(seed, WEFT_YAML_OPTIONAL, raw_poisson),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t event_fields[] = {
    WEFT_YAML_WORD(at, WEFT_YAML_NEEDED, raw_event),
    WEFT_YAML_WORD(server, WEFT_YAML_NEEDED, raw_event),
    WEFT_YAML_WORD(peer, WEFT_YAML_OPTIONAL, raw_event),
    WEFT_YAML_WORD(repair, WEFT_YAML_NEEDED, raw_event),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t event_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_event, event_fields)};
static const cyaml_schema_field_t failures_fields[] = {
    WEFT_YAML_WORD(server_mtbf_hours, WEFT_YAML_OPTIONAL, raw_failures),
    WEFT_YAML_WORD(link_mtbf_hours, WEFT_YAML_OPTIONAL, raw_failures),
    WEFT_YAML_WORD(repair, WEFT_YAML_OPTIONAL, raw_failures),
    WEFT_YAML_WORD(seed, WEFT_YAML_OPTIONAL, raw_failures),
    CYAML_FIELD_SEQUENCE("events", WEFT_YAML_OPTIONAL, struct raw_failures, events, &event_value, 1,
                         JOBS_MAX),
    CYAML_FIELD_END,
};
static const cyaml_schema_field_t trace_fields[] = {
    WEFT_YAML_TEXT(name, WEFT_YAML_OPTIONAL, raw_trace),
    WEFT_YAML_WORD(checkpoint, WEFT_YAML_OPTIONAL, raw_trace),
    WEFT_YAML_WORD(restart, WEFT_YAML_OPTIONAL, raw_trace),
    CYAML_FIELD_MAPPING_PTR("cluster", WEFT_YAML_NEEDED, struct raw_trace, cluster, cluster_fields),
    CYAML_FIELD_MAPPING_PTR("fabric", WEFT_YAML_NEEDED, struct raw_trace, fabric, fabric_fields),
    CYAML_FIELD_SEQUENCE("classes", CYAML_FLAG_POINTER, struct raw_trace, classes, &class_value, 1,
                         CLASSES_MAX),
    CYAML_FIELD_SEQUENCE("jobs", WEFT_YAML_OPTIONAL, struct raw_trace, jobs, &job_value, 1,
                         JOBS_MAX),
    CYAML_FIELD_MAPPING_PTR("poisson", WEFT_YAML_OPTIONAL, struct raw_trace, poisson,
                            poisson_fields),
    CYAML_FIELD_MAPPING_PTR("failures", WEFT_YAML_OPTIONAL, struct raw_trace, failures,
                            failures_fields),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t trace_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_trace, trace_fields)};

static bool starts(const char *path, const char *with)
{
    return strncmp(path, with, strlen(with)) == 0;
}

static const cyaml_schema_field_t *fields_at(const char *path)
{
    if (starts(path, "classes")) {
        bool phase = strstr(path, "phases") != NULL;
        bool elastic = strstr(path, "elastic") != NULL;
        return phase ? phase_fields : elastic ? elastic_fields : class_fields;
    }
    if (starts(path, "failures")) {
        return strstr(path, "events") != NULL ? event_fields : failures_fields;
    }
    return starts(path, "jobs")      ? job_fields
           : starts(path, "cluster") ? cluster_fields
           : starts(path, "fabric")  ? fabric_fields
           : starts(path, "poisson") ? poisson_fields
                                     : trace_fields;
}

static const struct weft_yaml_schema schema = {
    .value = &trace_value,
    .fields_at = fields_at,
    .needed = "cluster, fabric, classes and jobs or poisson",
    .manual = "docs/scheduler.md",
};

// ---- texts to values ----

enum kind { TIME, RATE, COUNT, WIDE, REAL, TRUTH, TEXT };

// A key's text, what it is, and where the value goes; NULL = left out.
struct item {
    const char *key;
    const char *text;
    enum kind kind;
    void *value;
    double high; // COUNT, REAL
};

static bool read_truth(bool *value, const char *text, struct weft_error *error)
{
    *value = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0;
    return *value || strcmp(text, "no") == 0 || strcmp(text, "false") == 0 ||
           weft_fail(error, WEFT_INPUT, "'%.40s' is neither yes nor no; write one of them", text);
}

// Reads one text into the value that its kind says; the caller's table has bounded it by
// `high`.
static bool read_item(const struct item *item, const struct weft_yaml_source *source)
{
    struct weft_error *error = source->error;
    uint64_t wide = 0;
    switch (item->kind) {
    case TIME:
        return weft_parse_time(item->value, item->text, error);
    case RATE:
        return weft_parse_rate(item->value, item->text, error);
    case WIDE:
        return weft_parse_count(item->value, item->text, 0, 1ull << 50, error);
    case REAL:
        return weft_parse_number(item->value, item->text, 0, item->high, error);
    case TRUTH:
        return read_truth(item->value, item->text, error);
    case COUNT:
        if (!weft_parse_count(&wide, item->text, 0, (uint64_t)item->high, error)) {
            return false;
        }
        *(uint32_t *)item->value = (uint32_t)wide;
        return true;
    case TEXT:
        *(const char **)item->value =
            weft_arena_text(source->arena, item->text, strlen(item->text));
        return true;
    }
    WEFT_ASSERT(false);
}

static bool read_items(const struct item *items, size_t count, const char *path,
                       const struct weft_yaml_source *source)
{
    for (size_t i = 0; i < count; i++) {
        if (items[i].text != NULL && !read_item(&items[i], source)) {
            return weft_yaml_fail_at(source, weft_yaml_join(path, items[i].key, source->arena));
        }
    }
    return true;
}
#define READ(items, path, source)                                                                  \
    read_items(items, sizeof(items) / sizeof((items)[0]), path, source)

static bool read_cluster(struct weft_cluster *cluster, const struct raw_cluster *raw,
                         const struct weft_yaml_source *source)
{
    uint32_t servers = 0;
    uint32_t degree = 1;
    double rate_Bps = 0;
    uint64_t latency_ps = 1000000;
    uint32_t gpus = 1;
    const struct item items[] = {
        {"servers", raw->servers, COUNT, &servers, WEFT_CLUSTER_SERVERS_MAX},
        {"degree", raw->degree, COUNT, &degree, WEFT_CLUSTER_SERVERS_MAX},
        {"rate", raw->rate, RATE, &rate_Bps, 0},
        {"latency", raw->latency, TIME, &latency_ps, 0},
        {"gpus", raw->gpus, COUNT, &gpus, 1024},
    };
    if (!READ(items, "cluster", source)) {
        return false;
    }
    if (!weft_cluster_build(cluster, servers, degree, rate_Bps, source->error)) {
        return weft_yaml_fail_at(source, "cluster");
    }
    cluster->latency_ps = latency_ps;
    cluster->accelerators_per_server = gpus;
    return weft_cluster_check(cluster, source->error) || weft_yaml_fail_at(source, "cluster");
}

static bool read_fabric(struct weft_job_trace *trace, const struct raw_fabric *raw,
                        const struct weft_yaml_source *source)
{
    trace->shards = (struct weft_trace_shards){
        .look_ahead = true,
        .wiring_ps = 120 * WEFT_PS_PER_S,
        .switch_ps = WEFT_PS_PER_S / 100,
    };
    const struct item items[] = {
        {"kind", raw->kind, TEXT, &trace->fabric, 0},
        {"radix", raw->radix, COUNT, &trace->shape.radix, 4096},
        {"oversubscription", raw->oversubscription, REAL, &trace->shape.oversubscription, 1000},
        {"wiring", raw->wiring, TIME, &trace->shards.wiring_ps, 0},
        {"flip", raw->flip, TIME, &trace->shards.switch_ps, 0},
        {"look_ahead", raw->look_ahead, TRUTH, &trace->shards.look_ahead, 0},
    };
    if (!READ(items, "fabric", source)) {
        return false;
    }
    trace->shards.dedicated = strcmp(trace->fabric, "shards") == 0;
    bool splits = raw->spread != NULL && strcmp(raw->spread, "split") == 0;
    trace->spread = splits ? WEFT_SPREAD_SPLIT : WEFT_SPREAD_PICK;
    if (raw->spread != NULL && !splits && strcmp(raw->spread, "pick") != 0) {
        weft_fail(source->error, WEFT_INPUT, "'%.40s'; write pick (a path for each flow) or split",
                  raw->spread);
        return weft_yaml_fail_at(source, "fabric.spread");
    }
    return true;
}

static bool read_phases(struct weft_job_class *class, const struct raw_class *raw, const char *path,
                        const struct weft_yaml_source *source)
{
    struct weft_demand_phase *phases =
        WEFT_NEW(source->arena, struct weft_demand_phase, raw->phases_count);
    for (unsigned p = 0; p < raw->phases_count; p++) {
        const struct raw_phase *phase = &raw->phases[p];
        const struct item items[] = {
            {"start", phase->start, TIME, &phases[p].start_ps, 0},
            {"duration", phase->duration, TIME, &phases[p].duration_ps, 0},
            {"rate", phase->rate, RATE, &phases[p].rate_Bps, 0},
        };
        if (!READ(items, weft_arena_format(source->arena, "%s.phases[%u]", path, p), source)) {
            return false;
        }
    }
    class->demand.phases = phases;
    class->demand.phase_count = raw->phases_count;
    return true;
}

static bool read_pattern(struct weft_job_class *class, const char *text, const char *path,
                         const struct weft_yaml_source *source)
{
    if (text == NULL || strcmp(text, "ring") == 0) {
        class->pattern = WEFT_JOB_RING;
        return true;
    }
    class->pattern = WEFT_JOB_ALL_TO_ALL;
    if (strcmp(text, "all-to-all") == 0) {
        return true;
    }
    weft_fail(source->error, WEFT_INPUT, "'%.40s' is no pattern; write ring or all-to-all", text);
    return weft_yaml_fail_at(source, weft_yaml_join(path, "pattern", source->arena));
}

// A class is described by its phases or by a job's file, not by both.
static bool check_source(const struct raw_class *raw, const char *path,
                         const struct weft_yaml_source *source)
{
    bool by_hand = raw->iteration != NULL && raw->servers != NULL && raw->phases_count > 0;
    bool any = raw->iteration != NULL || raw->phases_count > 0 || raw->pattern != NULL ||
               raw->servers != NULL || raw->elastic != NULL;
    bool by_file = raw->job != NULL || raw->plan != NULL;
    if (by_file ? !any : by_hand) {
        return true;
    }
    weft_fail(source->error, WEFT_INPUT,
              "describe it either by servers, iteration and phases, or by the file of a job or a "
              "plan");
    return weft_yaml_fail_at(source, path);
}

// Reads a class of jobs. What it demands stands in the file as phases or a pattern, or is
// measured later from the job or plan that it names.
static bool read_class(struct weft_job_class *class, const struct raw_class *raw, unsigned index,
                       const struct weft_yaml_source *source)
{
    const char *path = weft_arena_format(source->arena, "classes[%u]", index);
    *class = (struct weft_job_class){.weight = 1, .noise_ratio = 1};
    const struct item items[] = {
        {"name", raw->name, TEXT, &class->name, 0},
        {"servers", raw->servers, COUNT, &class->server_count, WEFT_CLUSTER_SERVERS_MAX},
        {"iteration", raw->iteration, TIME, &class->demand.iteration_ps, 0},
        {"job", raw->job, TEXT, &class->job_path, 0},
        {"plan", raw->plan, TEXT, &class->plan_path, 0},
        {"jitter", raw->jitter, REAL, &class->jitter_ratio, 0.29},
        {"weight", raw->weight, REAL, &class->weight, 1e9},
        {"iterations", raw->iterations, WIDE, &class->iterations, 0},
        {"duration", raw->duration, TIME, &class->duration_ps, 0},
        {"shard_iteration", raw->shard_iteration, TIME, &class->shard_iteration_ps, 0},
    };
    if (!check_source(raw, path, source) || !READ(items, path, source) ||
        !read_phases(class, raw, path, source) ||
        !read_pattern(class, raw->pattern, path, source)) {
        return false;
    }
    class->servers_min = class->server_count;
    class->servers_max = class->server_count;
    if (raw->elastic == NULL) {
        return true;
    }
    const struct item elastic[] = {
        {"min", raw->elastic->min, COUNT, &class->servers_min, WEFT_CLUSTER_SERVERS_MAX},
        {"max", raw->elastic->max, COUNT, &class->servers_max, WEFT_CLUSTER_SERVERS_MAX},
        {"noise", raw->elastic->noise, REAL, &class->noise_ratio, 1e9},
    };
    return READ(elastic, weft_yaml_join(path, "elastic", source->arena), source);
}

static bool read_classes(struct weft_job_trace *trace, const struct raw_trace *raw,
                         const struct weft_yaml_source *source)
{
    struct weft_job_class *classes =
        WEFT_NEW(source->arena, struct weft_job_class, raw->classes_count);
    for (unsigned c = 0; c < raw->classes_count; c++) {
        if (!read_class(&classes[c], &raw->classes[c], c, source)) {
            return false;
        }
        for (unsigned other = 0; other < c; other++) {
            if (strcmp(classes[other].name, classes[c].name) == 0) {
                weft_fail(source->error, WEFT_INPUT, "two classes of the name %.60s; rename one",
                          classes[c].name);
                return weft_yaml_fail_at(source,
                                         weft_arena_format(source->arena, "classes[%u].name", c));
            }
        }
    }
    trace->classes = classes;
    trace->class_count = raw->classes_count;
    return true;
}

static bool find_class(uint32_t *id, const struct weft_job_trace *trace, const char *name,
                       const char *path, const struct weft_yaml_source *source)
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
    weft_fail(source->error, WEFT_INPUT, "no class '%.60s'; %s %.60s", name,
              near != NULL ? "did you mean" : "there is", near != NULL ? near : names[0]);
    return weft_yaml_fail_at(source, path);
}

static bool read_jobs(struct weft_job_trace *trace, const struct raw_trace *raw,
                      const struct weft_yaml_source *source)
{
    struct weft_trace_job *jobs = WEFT_NEW(source->arena, struct weft_trace_job, raw->jobs_count);
    for (unsigned j = 0; j < raw->jobs_count; j++) {
        const char *path = weft_arena_format(source->arena, "jobs[%u]", j);
        const struct raw_job *job = &raw->jobs[j];
        const struct item items[] = {
            {"name", job->name, TEXT, &jobs[j].name, 0},
            {"arrival", job->arrival, TIME, &jobs[j].arrival_ps, 0},
            {"iterations", job->iterations, WIDE, &jobs[j].iterations, 0},
            {"duration", job->duration, TIME, &jobs[j].duration_ps, 0},
        };
        if (!READ(items, path, source) ||
            !find_class(&jobs[j].class_id, trace, job->class,
                        weft_yaml_join(path, "class", source->arena), source)) {
            return false;
        }
        if (job->name == NULL) {
            jobs[j].name = weft_arena_format(source->arena, "%s-%u", job->class, j);
        }
        if (j > 0 && jobs[j].arrival_ps < jobs[j - 1].arrival_ps) {
            weft_fail(source->error, WEFT_INPUT,
                      "before the job above it; list jobs in order of arrival");
            return weft_yaml_fail_at(source, weft_yaml_join(path, "arrival", source->arena));
        }
    }
    trace->jobs = jobs;
    trace->job_count = raw->jobs_count;
    return true;
}

// Reads failures: random ones by mean times between failures in hours, and events at given
// times, of a server or, with a peer, of the link between two.
static bool read_failures(struct weft_job_trace *trace, const struct raw_failures *raw,
                          const struct weft_yaml_source *source)
{
    struct weft_trace_chance *chance = &trace->chance;
    double server_hours = 0;
    double link_hours = 0;
    const struct item items[] = {
        {"server_mtbf_hours", raw->server_mtbf_hours, REAL, &server_hours, 1e9},
        {"link_mtbf_hours", raw->link_mtbf_hours, REAL, &link_hours, 1e9},
        {"repair", raw->repair, TIME, &chance->repair_ps, 0},
        {"seed", raw->seed, WIDE, &chance->seed, 0},
    };
    if (!READ(items, "failures", source)) {
        return false;
    }
    chance->server_mtbf_s = 3600 * server_hours;
    chance->link_mtbf_s = 3600 * link_hours;
    struct weft_trace_failure *failures =
        WEFT_NEW(source->arena, struct weft_trace_failure, raw->events_count);
    for (unsigned e = 0; e < raw->events_count; e++) {
        const struct raw_event *event = &raw->events[e];
        const char *path = weft_arena_format(source->arena, "failures.events[%u]", e);
        const struct item event_items[] = {
            {"at", event->at, TIME, &failures[e].time_ps, 0},
            {"server", event->server, COUNT, &failures[e].server, 1u << 24},
            {"peer", event->peer, COUNT, &failures[e].peer, 1u << 24},
            {"repair", event->repair, TIME, &failures[e].repair_ps, 0},
        };
        failures[e].is_link = event->peer != NULL;
        if (!READ(event_items, path, source)) {
            return false;
        }
    }
    trace->failures = failures;
    trace->failure_count = raw->events_count;
    return true;
}

static bool read_trace(struct weft_job_trace *trace, const struct raw_trace *raw,
                       const struct weft_yaml_source *source)
{
    struct weft_job_trace read = {
        .name = "trace",
        .poisson.seed = 1,
        .chance.seed = 1,
        .checkpoint_ps = 600 * WEFT_PS_PER_S,
        .restart_ps = 30 * WEFT_PS_PER_S,
    };
    double jobs_per_hour = 0;
    const struct item items[] = {
        {"name", raw->name, TEXT, &read.name, 0},
        {"checkpoint", raw->checkpoint, TIME, &read.checkpoint_ps, 0},
        {"restart", raw->restart, TIME, &read.restart_ps, 0},
    };
    if (!READ(items, "", source) || !read_cluster(&read.cluster, raw->cluster, source) ||
        !read_fabric(&read, raw->fabric, source) || !read_classes(&read, raw, source) ||
        !read_jobs(&read, raw, source)) {
        return false;
    }
    if (raw->poisson != NULL) {
        const struct item poisson[] = {
            {"count", raw->poisson->count, COUNT, &read.poisson.count, 1000000},
            {"jobs_per_hour", raw->poisson->jobs_per_hour, REAL, &jobs_per_hour, 1e9},
            {"seed", raw->poisson->seed, WIDE, &read.poisson.seed, 0},
        };
        if (!READ(poisson, "poisson", source)) {
            return false;
        }
        read.poisson.jobs_per_s = jobs_per_hour / 3600;
    }
    if (raw->failures != NULL && !read_failures(&read, raw->failures, source)) {
        return false;
    }
    *trace = read;
    return true;
}

bool weft_job_trace_read(struct weft_job_trace *trace, const char *data, size_t length,
                         struct weft_arena *arena, struct weft_error *error)
{
    struct weft_yaml_index index;
    void *raw = NULL;
    if (!weft_yaml_index_build(&index, data, length, arena, error)) {
        return false;
    }
    const struct weft_yaml_source source = {&index, arena, error};
    return weft_yaml_load(&raw, data, length, &schema, &source) && read_trace(trace, raw, &source);
}

bool weft_job_trace_load(struct weft_job_trace *trace, const char *path, struct weft_arena *arena,
                         struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, WEFT_YAML_BYTES_MAX, arena, error)) {
        return false;
    }
    return weft_job_trace_read(trace, data, length, arena, error) || weft_wrap(error, "%s", path);
}
