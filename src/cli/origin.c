// SPDX-License-Identifier: Apache-2.0
// Where a page came from: the command as it was typed, and the date where somebody gives one.
//
// A date of the clock would make two pages of one plan differ, so that none is taken: the
// environment may state one in SOURCE_DATE_EPOCH, seconds since 1970, as
// reproducible-builds.org specifies it.

#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

// Words that a shell would not read as they stand are quoted.
static void add_word(struct weft_text *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./=:,+@%";
    if (*word != '\0' && strspn(word, plain) == strlen(word)) {
        weft_text_add(text, " %s", word);
        return;
    }
    weft_text_add(text, " '");
    for (const char *c = word; *c != '\0'; c++) {
        weft_text_add(text, *c == '\'' ? "'\\''" : "%c", *c);
    }
    weft_text_add(text, "'");
}

const char *cli_command(const struct cli *cli, int argc, char **argv, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "%s", cli->program);
    for (int i = 1; i < argc; i++) {
        add_word(&text, argv[i]);
    }
    return text.data;
}

bool cli_origin(struct weft_report_origin *origin, struct cli *cli)
{
    const char *epoch =
        getenv("SOURCE_DATE_EPOCH"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    *origin = (struct weft_report_origin){.command = cli->command};
    if (epoch == NULL || *epoch == '\0') {
        return true;
    }
    uint64_t seconds;
    struct weft_error ignored;
    struct tm date;
    // The year 9999 ends then.
    if (!weft_parse_count(&seconds, epoch, 0, 253402300799, &ignored)) {
        return weft_fail(
            &cli->error, WEFT_INPUT,
            "SOURCE_DATE_EPOCH: '%.40s' is no number of seconds since 1970; write what "
            "date +%%s prints, or unset it",
            epoch);
    }
    char *text = weft_arena_format(&cli->arena, "0000-00-00");
    time_t when = (time_t)seconds;
    strftime(text, sizeof "0000-00-00", "%Y-%m-%d", gmtime_r(&when, &date));
    origin->date = text;
    return true;
}
