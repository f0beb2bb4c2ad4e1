// SPDX-License-Identifier: Apache-2.0
// How a user of the command line states what the messages of requests name: their fields are
// options.

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
        if (close == NULL || (open[1 + length] != '}' && open[1 + length] != '=') ||
            !is_option(names, open + 1, length)) {
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
