// SPDX-License-Identifier: Apache-2.0
// The model of a request, and what strategies of it assume: what its operators cost, how much
// memory an accelerator has, which optimizer trains it. What is assumed and might surprise is
// noted: a profile of other servers, a batch that does not divide over all servers.

#include "weft/format.h"
#include "weft/request.h"
#include "weft/request/parameter.h"

#include <string.h>
#include <unistd.h>

// ---- parameters ----

static bool read_optimizer(void *field, const struct weft_parameter *parameter, const char *text,
                           struct weft_arena *arena, struct weft_error *error)
{
    struct weft_request_job *job = field;
    job->optimizer_given = true;
    return weft_read_word(&job->optimizer, parameter, text, arena, error);
}

static bool read_memory(void *field, const struct weft_parameter *parameter, const char *text,
                        struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_request_job *job = field;
    job->memory_given = true;
    return weft_parse_bytes(&job->memory_bytes, text, error);
}

static bool read_inside(void *field, const struct weft_parameter *parameter, const char *text,
                        struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_request_job *job = field;
    job->inside_given = true;
    return weft_parse_rate(&job->inside_Bps, text, error);
}

static bool read_stack(void *field, const struct weft_parameter *parameter, const char *text,
                       struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_request_job *job = field;
    return weft_stack_named(&job->stack, text, error);
}

static bool read_overlap(void *field, const struct weft_parameter *parameter, const char *text,
                         struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_request_job *job = field;
    if (!weft_overlap_parse(&job->overlap, text, ',', error)) {
        return false;
    }
    job->overlap |= WEFT_OVERLAP_STATED;
    return true;
}

static const char *const optimizers[] = {
    [WEFT_SGD] = "sgd", [WEFT_MOMENTUM] = "momentum", [WEFT_ADAM] = "adam", NULL};
static const char *const tables[] = {
    [WEFT_TABLES_SHARDED] = "sharded", [WEFT_TABLES_REPLICATED] = "replicated", NULL};
static const char *const methods[] = {
    [WEFT_SEARCH_WEFT] = "weft", [WEFT_SEARCH_MCMC] = "mcmc", NULL};

#define FIELD(path) offsetof(struct weft_request_job, path)
_Static_assert(sizeof(enum weft_tables) == sizeof(uint32_t), "weft_read_word writes it");
const struct weft_parameter weft_job_parameters[WEFT_JOB_PARAMETERS] = {
    {"model", weft_read_text, FIELD(model), 0, 0, NULL},
    {"profile", weft_read_text, FIELD(profile_path), 0, 0, NULL},
    {"batch", weft_read_count64, FIELD(batch), 1, 0x1p40, NULL},
    {"optimizer", read_optimizer, 0, 0, 0, optimizers}, // of the whole struct: given, too
    {"tables", weft_read_word, FIELD(tables), 0, 0, tables},
    {"memory", read_memory, 0, 0, 0, NULL},
    {"intra-server-rate", read_inside, 0, 0, 0, NULL},
    {"stack", read_stack, 0, 0, 0, NULL},
    {"overlap", read_overlap, 0, 0, 0, NULL},
    {"search", weft_read_word, FIELD(method), 0, 0, methods},
    {"budget", weft_read_count64, FIELD(budget), 1, 0x1p40, NULL},
};

// ---- models ----

bool weft_request_in_zoo(const char *name)
{
    uint32_t count = 0;
    const struct weft_zoo_entry *zoo = weft_model_zoo(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(zoo[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

bool weft_request_means_model(const char *word)
{
    static const char *const endings[] = {".yaml", ".yml", ".fbuf", ".cm", ".goal", ".bin", ".et"};
    enum { MODELS = 2, COUNT = sizeof endings / sizeof endings[0] };
    size_t length = strlen(word);
    uint32_t ending = 0;
    while (ending < COUNT &&
           (length < strlen(endings[ending]) ||
            strcmp(word + length - strlen(endings[ending]), endings[ending]) != 0)) {
        ending++;
    }
    enum weft_file_kind kind = weft_file_kind(word);
    bool file = kind != WEFT_FILE_UNKNOWN || access(word, F_OK) == 0 || weft_chakra_is_trace(word);
    return weft_request_in_zoo(word) || kind == WEFT_FILE_MODEL ||
           (kind == WEFT_FILE_UNKNOWN && ending < MODELS) ||
           (!file && ending == COUNT && strchr(word, '/') == NULL);
}

bool weft_request_model(struct weft_model *model, const char *name_or_file,
                        struct weft_request_environment *environment)
{
    const char *dot = strrchr(name_or_file, '.');
    bool file = strchr(name_or_file, '/') != NULL || strcmp(name_or_file, "-") == 0 ||
                (dot != NULL && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 ||
                                 strcmp(dot, ".json") == 0));
    struct weft_error *error = environment->base.error;
    char near[WEFT_FILE_NAME_BYTES] = "";
    if (file) {
        return weft_model_load(model, name_or_file, environment->base.arena, error);
    }
    if (weft_model_named(model, name_or_file, environment->base.arena, error)) {
        return true;
    }
    if (strchr(name_or_file, ',') != NULL) {
        return weft_fail(error, WEFT_USAGE,
                         "'%.60s' are several models; weft compare --model takes them",
                         name_or_file);
    }
    return weft_file_near(near, name_or_file) &&
           weft_fail(error, WEFT_INPUT, "'%.60s' is neither a model nor a file; do you mean %s?",
                     name_or_file, near);
}

bool weft_request_refuse_job(const struct weft_request_job *job, const char *path,
                             struct weft_error *error)
{
    bool given = job->profile_path != NULL || job->batch > 0 || job->optimizer_given ||
                 job->tables != 0 || job->memory_given || job->inside_given || job->stack != NULL ||
                 job->overlap != 0 || job->method != 0 || job->budget > 0;
    return !given ||
           weft_fail(error, WEFT_USAGE,
                     "'%.100s' is a task graph; {batch}, {budget}, {intra-server-rate}, {memory}, "
                     "{optimizer}, {overlap}, {profile}, {search}, {stack} and {tables} are for "
                     "models",
                     path);
}

bool weft_request_refuse_search(const struct weft_request_job *job, const struct weft_model *model,
                                const struct weft_strategy_setting *setting,
                                struct weft_error *error)
{
    bool hybrid = model->transformer != NULL && setting->cost.profile == NULL;
    const struct weft_stated rows[] = {
        {hybrid && job->method == WEFT_SEARCH_MCMC, "search"},
        {hybrid && job->budget > 0, "budget"},
        {hybrid && job->tables != 0, "tables"},
        {hybrid && job->inside_given, "intra-server-rate"},
        {NULL},
    };
    return weft_refuse_stated(rows, error,
                              "is of models by operators; the degrees of %.40s, a transformer, are "
                              "all looked at: leave it out",
                              model->name);
}

void weft_request_note_batch(const struct weft_model *model, const struct weft_cluster *cluster,
                             const struct weft_strategy_setting *setting,
                             struct weft_request_environment *environment)
{
    uint64_t servers = cluster->server_count;
    bool hybrid = model->transformer != NULL && setting->cost.profile == NULL;
    if (hybrid || servers == 0 || model->batch % servers == 0) {
        return;
    }
    uint64_t parts = servers; // the greatest common divisor, by Euclid
    for (uint64_t rest = model->batch % servers; rest != 0;) {
        uint64_t next = parts % rest;
        parts = rest;
        rest = next;
    }
    weft_request_note(
        environment,
        "a batch of %llu does not divide evenly over %llu servers, only into %llu part%s; use "
        "{batch=%llu}",
        (unsigned long long)model->batch, (unsigned long long)servers, (unsigned long long)parts,
        parts == 1 ? "" : "s", (unsigned long long)((model->batch / servers + 1) * servers));
}

bool weft_request_job_model(struct weft_model *model, const struct weft_request_job *job,
                            struct weft_request_environment *environment)
{
    struct weft_error *error = environment->base.error;
    const char *dot = strrchr(job->model, '.');
    if (dot != NULL && strcmp(dot, ".fbuf") == 0) {
        return weft_fail(error, WEFT_USAGE,
                         "'%.100s' is a task graph, no model; weft plan, weft compare and weft "
                         "simulate take it without {model}",
                         job->model);
    }
    if (!weft_request_model(model, job->model, environment)) {
        return false;
    }
    return job->batch == 0 || weft_model_set_batch(model, job->batch, error) ||
           weft_wrap(error, "{batch}");
}

static bool check_accelerators(const struct weft_request_job *job,
                               const struct weft_cluster *cluster, const char *place,
                               struct weft_error *error)
{
    if (cluster->accelerators_per_server == 0 || cluster->accelerator == NULL ||
        cluster->accelerator[0] == '\0') {
        return weft_fail(error, WEFT_INPUT,
                         "%s: accelerators: a model needs them; state per_server, kind and memory",
                         place);
    }
    if (!job->memory_given && !(cluster->accelerator_memory_bytes > 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: accelerators: memory is not stated; state it, or write {memory=80GB}",
                         place);
    }
    return true;
}

void weft_request_note_profile(const char *path, uint32_t accelerators,
                               struct weft_request_environment *environment)
{
    if (accelerators != WEFT_PROFILE_ACCELERATORS) {
        weft_request_note(
            environment,
            "%s does not say how many accelerators a server had where it was measured (the "
            "TopoOpt artifact's: %u); its times are taken for servers of %u",
            path, WEFT_PROFILE_ACCELERATORS, accelerators);
    }
}

// Whether some split of an operator, which the profile has, uses all servers.
static bool uses_all(const struct weft_split *splits, uint32_t count, uint32_t server_count)
{
    for (uint32_t i = 0; i < count; i++) {
        if ((uint64_t)splits[i].sample_parts * splits[i].parameter_parts == server_count) {
            return true;
        }
    }
    return false;
}

// Fails where the profile has no split of an operator, and notes where it has none over all
// servers; tables are not split there.
static bool check_profile(const struct weft_profile *profile, const char *path,
                          const struct weft_model *model, const struct weft_cluster *cluster,
                          struct weft_request_environment *environment)
{
    const struct weft_cost_options costs = {
        .profile = profile, .accelerators_per_server = cluster->accelerators_per_server};
    uint32_t servers = cluster->server_count;
    uint32_t lacking = 0;
    uint32_t first = 0;
    for (uint32_t op = model->operator_count; op-- > 0;) {
        struct weft_arena scratch = environment->base.scratch;
        struct weft_split_list list;
        enum weft_operator_kind kind = model->operators[op].spec.kind;
        if (!weft_operator_splits(
                &list, model, op, servers, &costs,
                &(struct weft_environment){.arena = &scratch, .error = environment->base.error})) {
            return weft_wrap(environment->base.error, "%s", path);
        }
        bool whole = kind == WEFT_OP_INPUT || kind == WEFT_OP_EMBEDDING;
        if (!whole && model->batch % servers == 0 && !uses_all(list.splits, list.count, servers)) {
            lacking++;
            first = op;
        }
    }
    if (lacking > 0) {
        weft_request_note(
            environment,
            "%s has no split over all %u servers for %u of %u operators, the first of them "
            "%s; the search leaves such splits out",
            path, servers, lacking, model->operator_count, model->operators[first].spec.name);
    }
    return true;
}

// The software stack that is stated, of the request or else of the cluster; it bears upon
// transformers alone, so that a request that states one for something else is refused.
static bool choose_stack(const struct weft_stack **stack, const struct weft_request_job *job,
                         const struct weft_model *model, const struct weft_cluster *cluster,
                         const char *place, struct weft_error *error)
{
    if (model->transformer == NULL && (job->stack != NULL || job->overlap != 0)) {
        return weft_fail(error, WEFT_USAGE,
                         "{%s} is for transformers; %s has operators of its own, so leave it out",
                         job->stack != NULL ? "stack" : "overlap", model->name);
    }
    *stack = job->stack;
    return job->stack != NULL || cluster->stack == NULL || cluster->stack[0] == '\0' ||
           weft_stack_named(stack, cluster->stack, error) || weft_wrap(error, "%s: stack", place);
}

bool weft_request_accelerator(const struct weft_accelerator **accelerator,
                              const struct weft_cluster *cluster, struct weft_error *error)
{
    if (cluster->own_accelerator != NULL) {
        *accelerator = cluster->own_accelerator;
        return true;
    }
    return weft_accelerator_named(accelerator, cluster->accelerator, error);
}

bool weft_request_setting(struct weft_strategy_setting *setting, const struct weft_request_job *job,
                          const struct weft_model *model, const struct weft_cluster *cluster,
                          const char *cluster_path, struct weft_request_environment *environment)
{
    struct weft_error *error = environment->base.error;
    const char *place =
        cluster_path != NULL ? cluster_path : "{cluster}"; // where accelerators are said
    if (!check_accelerators(job, cluster, place, error)) {
        return false;
    }
    struct weft_profile *profile = NULL;
    if (job->profile_path != NULL) {
        profile = WEFT_NEW(environment->base.arena, struct weft_profile, 1);
        if (!weft_profile_load(profile, job->profile_path, environment->base.arena, error)) {
            return false;
        }
        weft_request_note_profile(job->profile_path, cluster->accelerators_per_server, environment);
        if (!check_profile(profile, job->profile_path, model, cluster, environment)) {
            return false;
        }
    }
    const struct weft_accelerator *accelerator = NULL;
    if (!weft_request_accelerator(&accelerator, cluster, error)) {
        return weft_wrap(error, "%s: accelerators: kind", place);
    }
    const struct weft_stack *stack = NULL;
    if (!choose_stack(&stack, job, model, cluster, place, error)) {
        return false;
    }
    double links_Bps = accelerator->link_Bps * accelerator->link_efficiency;
    double inside_Bps = profile != NULL ? WEFT_PROFILE_INSIDE_BPS : links_Bps;
    enum weft_optimizer usual = model->transformer != NULL ? WEFT_ADAM : WEFT_SGD;
    *setting = (struct weft_strategy_setting){
        .cost = {.profile = profile,
                 .accelerator = accelerator,
                 .accelerators_per_server = cluster->accelerators_per_server},
        .optimizer = job->optimizer_given ? job->optimizer : usual,
        .tables = job->tables,
        .memory_limit_bytes =
            job->memory_given ? (double)job->memory_bytes : cluster->accelerator_memory_bytes,
        .stack = stack,
        .overlap = job->overlap,
        .inside_Bps = job->inside_given ? job->inside_Bps : inside_Bps,
    };
    if (!(setting->inside_Bps > 0) && cluster->accelerators_per_server > 1) {
        return weft_fail(error, WEFT_INPUT,
                         "{intra-server-rate}: %s between a server's %u accelerators; write "
                         "{intra-server-rate=25GB/s}",
                         job->inside_given ? "0 carries nothing" : "no links are known",
                         cluster->accelerators_per_server);
    }
    return true;
}
