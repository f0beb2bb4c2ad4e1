// SPDX-License-Identifier: Apache-2.0
// What weft lab run takes for rails: a described job (YAML, or what weft optics rails --json wrote
// of one), and the plan that weft plan --fabric photonic-rails --json wrote.

#include "lab.h"
#include "request/json/json.h"
#include "run.h"
#include "weft/format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// What weft optics rails --json and weft plan --fabric --json begin with.
#define JOB_SCHEMA "\"weft.optics-rails/1\""
#define PLAN_SCHEMA "\"weft.buy/1\""
#define HEAD_BYTES ((size_t)200)

static bool has_schema(const char *data, size_t length, const char *schema)
{
    return memmem(data, length < HEAD_BYTES ? length : HEAD_BYTES, schema, strlen(schema)) != NULL;
}

// Plans of fabrics that stand still are JSON objects of other schemas; described jobs are YAML.
bool lab_run_is_rails(const struct lab_run *run)
{
    struct weft_arena scratch = run->cli->scratch;
    struct weft_error ignored;
    const char *data = NULL;
    size_t length = 0;
    // What comes by stdin can be read once.
    if (run->plan_path == NULL || strcmp(run->plan_path, "-") == 0 ||
        !weft_file_load(&data, &length, run->plan_path, WEFT_FILE_TRACE_BYTES, &scratch,
                        &ignored)) {
        return false;
    }
    size_t at = 0;
    while (at < length && isspace((unsigned char)data[at])) {
        at++;
    }
    return at == length || data[at] != '{' || has_schema(data, length, JOB_SCHEMA) ||
           has_schema(data, length, PLAN_SCHEMA);
}

// Which fabric's plan it is, and whether its rail can be run.
static bool check_plan(const struct weft_rail_plan *plan, struct weft_error *error)
{
    const char *instead = "weft lab up --fabric raises fabrics that one buys, and weft lab run "
                          "plays what weft plan MODEL CLUSTER -o wrote";
    if (strcmp(plan->fabric, "mixnet") == 0) {
        instead = "of circuits beside packets, weft lab run runs described jobs of experts "
                  "(examples/experts)";
    } else if (strncmp(plan->fabric, "sip-", 4) == 0) {
        instead = "the lab has no wavelengths; of circuits that move, it runs plans of --fabric "
                  "photonic-rails and jobs on rails (examples/rails)";
    }
    if (strcmp(plan->fabric, "photonic-rails") != 0) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "a plan for %.40s, which the lab does not run; %s", plan->fabric, instead);
    }
    if (plan->alone == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "it has no rail to run; write it anew by weft plan MODEL CLUSTER.yaml "
                         "--fabric photonic-rails --json");
    }
    return plan->alone->why_not == NULL ||
           weft_fail(error, WEFT_UNSUPPORTED, "%.400s", plan->alone->why_not);
}

// "description" of what weft optics rails wrote has the keys of the file, and JSON is YAML.
static bool read_description(struct weft_rail_job *job, const char *data, size_t length,
                             struct cli *cli)
{
    json_t *root = json_loadb(data, length, 0, NULL);
    char *text = json_dumps(json_object_get(root, "description"), 0);
    bool fine = text != NULL
                    ? weft_rail_job_read(job, text, strlen(text), &cli->arena, &cli->error)
                    : weft_fail(&cli->error, WEFT_INPUT,
                                "it has no description of its job; write it anew by weft optics "
                                "rails JOB.yaml --json -o FILE");
    free(text);
    json_decref(root);
    return fine;
}

bool lab_rails_read(struct lab_rails_source *source, struct lab_run *run)
{
    struct cli *cli = run->cli;
    struct weft_error *error = &cli->error;
    const char *data = NULL;
    size_t length = 0;
    *source = (struct lab_rails_source){0};
    if (!weft_file_load(&data, &length, run->plan_path, WEFT_FILE_TRACE_BYTES, &cli->arena,
                        error)) {
        return false;
    }
    bool fine;
    if (has_schema(data, length, PLAN_SCHEMA)) {
        fine = weft_rail_plan_read(&source->plan, data, length, &cli->arena, cli->scratch, error) &&
               check_plan(&source->plan, error);
    } else if (has_schema(data, length, JOB_SCHEMA)) {
        fine = read_description(&source->job, data, length, cli);
    } else {
        fine = weft_rail_job_read(&source->job, data, length, &cli->arena, error);
    }
    source->name = source->plan.model != NULL ? source->plan.model : source->job.name;
    return fine || weft_wrap(error, "%s", run->plan_path);
}
