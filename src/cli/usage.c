// SPDX-License-Identifier: Apache-2.0
// Bad usage in one line, and what parsers of options share: counts, quantities, one of several
// names, an argument that may be given once. A parser returns 0, or EINVAL with cli->error and the
// exit code set; argp then stops, and cli_finish prints the line.

#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static void misuse(struct cli *cli, const char *format, va_list arguments)
{
    struct weft_error *error = &cli->error;
    int wanted = vsnprintf(error->message, sizeof error->message, format, arguments);
    weft_escape_line(error->message, sizeof error->message, wanted >= (int)sizeof error->message);
    error->code = WEFT_INPUT;
    error->key[0] = '\0';
    cli->exit_code = CLI_EXIT_USAGE;
}

bool cli_misuse(struct cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    misuse(cli, format, arguments);
    va_end(arguments);
    return false;
}

error_t cli_usage(struct cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    misuse(cli, format, arguments);
    va_end(arguments);
    return EINVAL;
}

error_t cli_take(struct cli *cli, const char **slot, const char *argument, const char *what)
{
    if (*slot != NULL) {
        return cli_usage(cli, "one %s only, not also '%.100s'; see %s --help", what, argument,
                         cli->program);
    }
    *slot = argument;
    return 0;
}

error_t cli_value(struct cli *cli, bool parsed, const char *option)
{
    if (parsed) {
        return 0;
    }
    cli->exit_code = (int)cli->error.code;
    weft_wrap(&cli->error, "--%s", option);
    return EINVAL;
}

error_t cli_parameter(struct cli *cli, const struct cli_parameters *parameters, const char *name,
                      const char *text)
{
    const struct weft_parameter_group groups[] = {{parameters->rows, parameters->count, 0},
                                                  {NULL, 0, 0}};
    const struct weft_parameter_group *group = NULL;
    const struct weft_parameter *parameter = weft_parameter_find(&group, groups, name);
    WEFT_ASSERT(parameter != NULL);
    bool set = weft_parameter_set(parameters->base, parameter, text, &cli->arena, &cli->error);
    return set ? 0 : EINVAL;
}

error_t cli_count(struct cli *cli, uint32_t *value, const char *option, const char *text,
                  uint32_t low, uint32_t high)
{
    uint64_t count = 0;
    bool parsed = weft_parse_count(&count, text, low, high, &cli->error);
    if (parsed) {
        *value = (uint32_t)count;
    }
    return cli_value(cli, parsed, option);
}

error_t cli_radix(struct cli *cli, struct weft_fabric_options *shape, const char *text)
{
    return cli_count(cli, &shape->radix, "radix", text, 2, 4096);
}

error_t cli_oversubscription(struct cli *cli, struct weft_fabric_options *shape, const char *text)
{
    bool parsed = weft_parse_number(&shape->oversubscription, text, 1, 1000, &cli->error);
    return cli_value(cli, parsed, "oversubscription");
}

error_t cli_choose(struct cli *cli, uint32_t *choice, const char *option, const char *text,
                   const char *const *names, uint32_t count)
{
    for (*choice = 0; *choice < count; (*choice)++) {
        if (strcmp(names[*choice], text) == 0) {
            return 0;
        }
    }
    weft_fail_word(&cli->error, "choice", text, names, count);
    return cli_value(cli, false, option);
}
