// SPDX-License-Identifier: Apache-2.0
// What requests share, called with a `struct cli`: for verbs that are no requests, which are those
// of the lab and of the kernel. Notes are printed and messages are spelled at once here, because
// such a verb has no request that the end of the verb could ask.

#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Notes come and messages are spelled at once, because such a verb prints both itself.
static bool pass(struct cli *cli, bool fine)
{
    cli_print_notes(cli);
    if (!fine) {
        cli_spell(cli, cli->error.message);
        cli->exit_code = cli->error.code == WEFT_USAGE ? CLI_EXIT_USAGE : cli->exit_code;
    }
    return fine;
}

bool cli_load_job(struct weft_fbuf *job, struct cli *cli, const char *path)
{
    struct weft_loaded_job loaded;
    if (!pass(cli,
              weft_request_load(&loaded, path, &cli->given.trace, cli_environment(cli, NULL)))) {
        return false;
    }
    *job = loaded.fbuf;
    return true;
}

json_t *cli_object(const char *schema)
{
    json_t *object = json_object();
    cli_set_text(object, "schema", schema);
    return object;
}

void cli_set(json_t *object, const char *key, json_t *value)
{
    int failed = json_object_set_new(object, key, value);
    WEFT_ASSERT(failed == 0);
}

void cli_set_real(json_t *object, const char *key, double value)
{
    cli_set(object, key, isfinite(value) ? json_real(value) : json_null());
}

void cli_set_count(json_t *object, const char *key, uint64_t value)
{
    WEFT_ASSERT(value <= INT64_MAX);
    cli_set(object, key, json_integer((json_int_t)value));
}

void cli_set_truth(json_t *object, const char *key, bool value)
{
    cli_set(object, key, json_boolean(value));
}

void cli_set_text(json_t *object, const char *key, const char *text)
{
    json_t *value = json_string(text);
    if (value == NULL) {
        char *copy = strdup(text);
        WEFT_ASSERT(copy != NULL);
        for (char *c = copy; *c != '\0'; c++) {
            *c = (unsigned char)*c >= 0x80 ? '?' : *c;
        }
        value = json_string(copy);
        free(copy);
    }
    cli_set(object, key, value);
}
