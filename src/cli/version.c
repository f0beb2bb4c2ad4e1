// SPDX-License-Identifier: Apache-2.0
// weft version: the version of the program, which is the project's in meson.build. It is a verb of
// its own beside --version, so that scripts can ask with --json and get an object like any other
// verb's.

#include "cli.h"
#include "request/json/json.h"

static error_t parse(int key, char *argument, struct argp_state *state)
{
    (void)key;
    (void)argument;
    (void)state;
    return ARGP_ERR_UNKNOWN;
}

int cli_version(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft version",
        .doc = "Prints the version.",
        .parser = parse,
    };
    struct cli cli;
    if (!cli_parse(&cli, &verb, argc, argv, NULL)) {
        return cli_finish(&cli, false);
    }
    if (cli.json) {
        json_t *object = weft_set_object("weft.version/1");
        weft_set_text(object, "version", WEFT_VERSION);
        cli_say(&cli, "%s", weft_set_finish(object, &cli.arena));
    } else {
        cli_say(&cli, "weft " WEFT_VERSION "\n");
    }
    return cli_finish(&cli, true);
}
