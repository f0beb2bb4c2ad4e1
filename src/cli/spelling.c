// SPDX-License-Identifier: Apache-2.0
// How a user of the command line states what the messages of requests name: their fields are
// options.

#include "cli.h"

#include <string.h>

// Whether an option has that name: any group's, or the verb's own. A message may be about a group
// that the verb does not take.
static bool is_option(const struct cli *cli, const char *name, size_t length)
{
    const struct argp_option *const tables[] = {
        cli->verb->options,      cli_job_argp.options,     cli_hardware_argp.options,
        cli_search_argp.options, cli_trace_argp.options,   cli_packets_argp.options,
        cli_paces_argp.options,  cli_records_argp.options, cli_common_argp.options,
    };
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        const struct argp_option *option = tables[t];
        for (; option != NULL && (option->name != NULL || option->doc != NULL); option++) {
            if (option->name != NULL && strlen(option->name) == length &&
                strncmp(option->name, name, length) == 0) {
                return true;
            }
        }
    }
    return false;
}

// The spelling is as long as the field in its braces, "{x=1}" as "--x 1": two braces go, two dashes
// come.
void cli_spell(const struct cli *cli, char *message)
{
    for (char *open = strchr(message, '{'); open != NULL; open = strchr(open + 1, '{')) {
        size_t length = strspn(open + 1, "abcdefghijklmnopqrstuvwxyz-");
        char *close = strchr(open, '}');
        if (close == NULL || (open[1 + length] != '}' && open[1 + length] != '=') ||
            !is_option(cli, open + 1, length)) {
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
