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

// " (--batch 8)". A remedy may also be a command: measurements that are not complete are filled in
// by weft profile and by no option.
const char *cli_spell_remedy(const struct cli *cli, struct weft_arena *arena)
{
    const struct weft_error *error = &cli->error;
    if (strcmp(error->key, "full-profile") == 0) {
        return " (weft profile MODEL --profile FILE -o FULL.json)";
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
