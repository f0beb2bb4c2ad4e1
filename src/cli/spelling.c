// SPDX-License-Identifier: Apache-2.0
// How the messages of stages and requests come to name options of the command line.
//
// Neither knows that there is one. A request names its own fields in braces: "write {degree=4}". A
// stage does not know the fields of requests; it states beside its message the quantity that would
// mend the error, and a value for it (weft_remedy). The door writes that remedy as a field in
// braces, too, and then spells every field in braces as the option of its name: "--degree 4". What
// is a word in braces and no option of the verb loses its braces (an argument, as the fabric of
// weft export), and a remedy that is no option is left out.

#include "cli.h"
#include "weft/format.h"

#include <string.h>

// Names that a message may mean: options of a verb, or parameters of a request.
struct names {
    const struct argp_option *own;
    const struct weft_parameter_group *groups; // NULL = none
};

static bool has_option(const struct argp_option *option, const char *name, size_t length)
{
    for (; option != NULL && (option->name != NULL || option->doc != NULL); option++) {
        if (option->name != NULL && strlen(option->name) == length &&
            strncmp(option->name, name, length) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_parameter(const struct weft_parameter_group *group, const char *name, size_t length)
{
    for (; group != NULL && group->rows != NULL; group++) {
        for (size_t i = 0; i < group->count; i++) {
            const char *other = group->rows[i].name;
            if (strlen(other) == length && strncmp(other, name, length) == 0) {
                return true;
            }
        }
    }
    return false;
}

// Whether an option has that name: any group's, or the verb's own. A message may be about a group
// that the verb does not take.
static bool is_option(const struct names *names, const char *name, size_t length)
{
    const struct argp_option *const tables[] = {
        names->own,
        cli_job_argp.options,
        cli_hardware_argp.options,
        cli_search_argp.options,
        cli_trace_argp.options,
        cli_packets_argp.options,
        cli_timing_argp.options,
        cli_records_argp.options,
        cli_common_argp.options,
    };
    bool found = has_parameter(names->groups, name, length);
    for (size_t t = 0; !found && t < sizeof tables / sizeof tables[0]; t++) {
        found = has_option(tables[t], name, length);
    }
    return found;
}

// The spelling is as long as the field in its braces, "{x=1}" as "--x 1": two braces go, two dashes
// come.
static void spell(const struct names *names, char *message)
{
    for (char *open = strchr(message, '{'); open != NULL; open = strchr(open + 1, '{')) {
        size_t length = strspn(open + 1, "abcdefghijklmnopqrstuvwxyz-");
        char *close = strchr(open, '}');
        if (close == NULL || length == 0 || (open[1 + length] != '}' && open[1 + length] != '=')) {
            continue;
        }
        if (!is_option(names, open + 1, length)) {
            if (close == open + 1 + length) {
                memmove(open, open + 1, length);
                memmove(open + length, close + 1, strlen(close + 1) + 1);
            }
            continue;
        }
        if (open[1 + length] == '=') {
            open[1 + length] = ' ';
        }
        memmove(open + 2, open + 1, (size_t)(close - open - 1));
        open[0] = '-';
        open[1] = '-';
    }
}

void cli_spell(const struct cli *cli, char *message)
{
    const struct names names = {.own = cli->verb->options};
    spell(&names, message);
}

void cli_spell_for(const struct weft_parameter_group *groups, char *message)
{
    const struct names names = {.groups = groups};
    spell(&names, message);
}

// What a file of each kind is for, as a command with the file.
#define TOPOLOGY_USE "; write weft simulate FLOWS --topology FILE"
static const char *const uses[WEFT_FILE_KINDS] = {
    [WEFT_FILE_CLUSTER] = "; it stands behind a model: weft plan MODEL FILE",
    [WEFT_FILE_MODEL] = "; write weft plan FILE CLUSTER.yaml",
    [WEFT_FILE_GRAPH] = "; write weft plan FILE CLUSTER.yaml",
    [WEFT_FILE_PLAN] = "; it is for weft check FILE, weft export and weft simulate --plan",
    [WEFT_FILE_SNAPSHOT] = "; write weft interleave FILE",
    [WEFT_FILE_SWEEP] = "; write weft sweep FILE -o RESULTS.jsonl",
    [WEFT_FILE_JOB_TRACE] = "; write weft schedule FILE",
    [WEFT_FILE_PROFILE] = "; write weft plan MODEL CLUSTER.yaml --profile FILE",
    [WEFT_FILE_CLAIMS] = "; write weft reproduce --claims with its folder",
    [WEFT_FILE_CHAKRA] = "; write weft simulate with the folder of the trace",
    [WEFT_FILE_KINETO] = "; write weft simulate with the folder of the traces",
    [WEFT_FILE_PYTORCH_HOST] = "; write weft simulate with the folder of it and Kineto's",
    [WEFT_FILE_GOAL] = "; write weft simulate FILE CLUSTER.yaml",
    [WEFT_FILE_MATRIX] = "; write weft simulate FILE CLUSTER.yaml",
    [WEFT_FILE_TIERS] = TOPOLOGY_USE,
    [WEFT_FILE_HOSTS] = TOPOLOGY_USE,
    [WEFT_FILE_SLURM] = TOPOLOGY_USE,
    [WEFT_FILE_INFRAGRAPH] = TOPOLOGY_USE,
    [WEFT_FILE_GRAPHML] = TOPOLOGY_USE,
    [WEFT_FILE_EDGES] = TOPOLOGY_USE,
    [WEFT_FILE_SIMAI] = "; write weft simulate FILE CLUSTER.yaml",
    [WEFT_FILE_MSCCL] = "; write weft collective check FILE",
    [WEFT_FILE_MSCCLPP] = "; write weft collective check FILE",
    [WEFT_FILE_NCCL_TOPOLOGY] = "; write weft init --from FILE -o cluster.yaml",
    [WEFT_FILE_NCCL_TESTS] = "; write weft collective fit FILE",
    [WEFT_FILE_NCCL_GRAPH] = "; write weft collective check FILE",
    [WEFT_FILE_RESULT] = "; plans are what weft plan -o writes without --fabric and --json",
    [WEFT_FILE_TRANSFORMERS] = "; write a model file with 'preset: transformer'",
    [WEFT_FILE_COMPRESSED] = "; unpack it first",
};

// The name of the file that a message is about: what stands before `mark`, without what wraps it.
struct slice {
    const char *text;
    size_t length;
};
static struct slice file_of(const char *message, const char *mark)
{
    const char *end = strstr(message, mark);
    const char *begin = message;
    for (const char *at = strstr(message, ": "); at != NULL && at < end;
         at = strstr(at + 1, ": ")) {
        begin = at + 2;
    }
    return (struct slice){begin, end != NULL ? (size_t)(end - begin) : 0};
}

// " (--batch 8)". A remedy may also be a command: measurements that are not complete are filled in
// by weft profile and by no option.
const char *cli_spell_remedy(const struct cli *cli, struct weft_arena *arena)
{
    const struct weft_error *error = &cli->error;
    if (strcmp(error->key, "full-profile") == 0) {
        return " (weft profile MODEL --profile FILE -o FULL.json)";
    }
    if (strcmp(error->key, "file") == 0) {
        uint64_t kind = 0;
        struct weft_error ignored;
        bool known = weft_parse_count(&kind, error->value, 0, WEFT_FILE_KINDS - 1, &ignored);
        const char *use = known ? uses[kind] : NULL;
        const char *place = use != NULL ? strstr(use, "FILE") : NULL;
        struct slice file = file_of(error->message, ": this is ");
        return place == NULL ? (use != NULL ? use : "")
                             : weft_arena_format(arena, "%.*s%.*s%s", (int)(place - use), use,
                                                 (int)file.length, file.text, place + 4);
    }
    if (strcmp(error->key, "missing") == 0) {
        struct slice file = file_of(error->message, ": cannot open");
        const char *name = weft_arena_text(arena, file.text, file.length);
        return !weft_request_in_zoo(name)
                   ? ""
                   : weft_arena_format(arena,
                                       "; that is a model's name, and here stands a file, as weft "
                                       "plan %s CLUSTER.yaml -o plan.json writes",
                                       name);
    }
    const struct names names = {.own = cli->verb->options};
    if (error->key[0] == '\0' || !is_option(&names, error->key, strlen(error->key))) {
        return "";
    }
    char *text = weft_arena_format(arena, " ({%s%s%s})", error->key,
                                   error->value[0] != '\0' ? "=" : "", error->value);
    spell(&names, text);
    return text;
}
