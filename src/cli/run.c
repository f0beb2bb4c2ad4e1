// SPDX-License-Identifier: Apache-2.0
// The end of a verb: its result in one piece, or one line of complaint; and the exit code. A result
// is written whole or not at all: what a verb says is collected until here, and a file is renamed
// into its place when all of it is on the disk.

#include "cli.h"
#include "weft/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Writes the whole text to stdout, as a terminal may be sent it, and makes sure that it arrived.
static bool write_stdout(const char *data, size_t length, struct weft_error *error)
{
    errno = 0;
    size_t from = 0;
    bool fine = true;
    for (size_t at = 0; at < length && fine;) {
        char escape[WEFT_ESCAPE_BYTES];
        size_t bytes = weft_escape(escape, data + at, length - at);
        if (escape[0] != '\0' && data[at] != '\n' && data[at] != '\t') {
            fine = fwrite(data + from, 1, at - from, stdout) == at - from &&
                   fputs(escape, stdout) != EOF;
            from = at + bytes;
        }
        at += bytes;
    }
    fine = fine && fwrite(data + from, 1, length - from, stdout) == length - from &&
           fflush(stdout) == 0;
    return fine || weft_fail(error, WEFT_IO, "stdout: %s", strerrordesc_np(errno));
}

// "weft plan: the batch ...; use a batch of 8 (--batch 8)"
static void complain(struct cli *cli)
{
    struct weft_arena scratch = cli->scratch;
    if (cli->follows) {
        return;
    }
    cli_spell(cli, cli->error.message);
    fprintf(stderr, "%s: %s%s\n", cli->program, cli->error.message,
            cli_spell_remedy(cli, &scratch));
}

int cli_finish(struct cli *cli, bool fine)
{
    const char *path = cli->output_path;
    size_t length = path != NULL ? strlen(path) : 0;
    if (fine && cli->text.length > 0 && length > 5 && strcmp(path + length - 5, ".json") == 0 &&
        strchr("{[", cli->text.data[0]) == NULL) {
        cli_note(cli, "%s gets this answer as text; --json writes JSON", path);
    }
    cli_print_notes(cli);
    if (fine && cli->form != CLI_TEXT && cli->table_count == 0) {
        fine = cli_misuse(cli, "this answer has no table; leave out --%s, or take --json",
                          cli->form == CLI_CSV ? "csv" : "markdown");
    }
    bool failed = !fine && cli->error.code != WEFT_OK; // --help is neither fine nor a failure
    if (fine && cli->text.length > 0) {
        failed =
            cli->output_path != NULL
                ? !weft_file_save(cli->output_path, cli->text.data, cli->text.length, &cli->error)
                : !write_stdout(cli->text.data, cli->text.length, &cli->error);
        cli->exit_code = failed ? weft_exit_code(cli->error.code) : cli->exit_code;
    } else if (!fine && !failed && fflush(stdout) != 0) {
        failed = !weft_fail(&cli->error, WEFT_IO, "stdout: %s", strerrordesc_np(errno));
    }
    if (failed) {
        complain(cli);
        cli->exit_code = cli->exit_code != 0 ? cli->exit_code : weft_exit_code(cli->error.code);
    }
    cli_release(cli);
    return cli->exit_code;
}

void cli_release(struct cli *cli)
{
    for (size_t i = 0; i < sizeof cli->memory.all / sizeof cli->memory.all[0]; i++) {
        if (cli->memory.all[i].next != NULL) {
            weft_arena_release(&cli->memory.all[i]);
        }
    }
}
