// SPDX-License-Identifier: Apache-2.0
// What a verb says: its result as text, which is collected and written when it is whole, so that a
// failure leaves no half result; and notes on stderr, a line each, from the request and from the
// verb itself.

#include "cli.h"
#include "weft/format.h"
#include "weft/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

double cli_elapsed_s(const struct cli *cli)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - cli->started_s;
}

void cli_table(struct cli *cli, const struct weft_table_column *columns, uint32_t column_count,
               const struct weft_table_cell *cells, uint32_t row_count)
{
    weft_text_add(&cli->text, "%s", cli->form == CLI_CSV && cli->table_count > 0 ? "\n" : "");
    cli->table_count++;
    weft_text_add(&cli->text, "%s",
                  cli->form == CLI_CSV
                      ? weft_report_csv(columns, column_count, cells, row_count, &cli->arena)
                  : cli->form == CLI_MARKDOWN
                      ? weft_report_markdown(columns, column_count, cells, row_count, &cli->arena)
                      : weft_report_table(columns, column_count, cells, row_count, &cli->arena));
}

void cli_say(struct cli *cli, const char *format, ...)
{
    if (cli->form == CLI_CSV) {
        return;
    }
    struct weft_text *text = &cli->text; // not on the heap, which may be as full as the arenas
    size_t taken = text->length + 1;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    WEFT_ASSERT(length >= 0);
    text->data = weft_arena_grow(text->arena, text->data, taken, taken + (size_t)length);
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void cli_note(const struct cli *cli, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    weft_escape_line(text, sizeof text, wanted >= (int)sizeof text);
    fprintf(stderr, "%s: note: %s\n", cli->program, text);
}

struct weft_request_environment *cli_environment(struct cli *cli, weft_stop stop)
{
    cli->environment.base = (struct weft_environment){
        .arena = &cli->arena,
        .scratch = cli->scratch,
        .seed = cli->seed,
        .threads = cli->threads,
        .stop = stop,
        .error = &cli->error,
    };
    cli->environment.goes_on = cli->yes;
    return &cli->environment;
}

void cli_print_notes(struct cli *cli)
{
    const struct weft_notes *notes = &cli->environment.notes;
    if (cli->follows) {
        return;
    }
    for (uint64_t count = atomic_load(&notes->count); cli->printed.count < count;) {
        cli->printed.last = cli->printed.last == NULL ? notes->first : cli->printed.last->next;
        cli->printed.count++;
        // The clock's thread comes here, too, while stages work in the scratch arena.
        char *text = strdup(cli->printed.last->text);
        WEFT_ASSERT(text != NULL);
        cli_spell(cli, text);
        cli_note(cli, "%s", text);
        free(text);
    }
}

bool cli_can_write(struct cli *cli, const char *path)
{
    struct stat old;
    if (path == NULL) {
        return true;
    }
    bool exists = stat(path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode)) {
        return weft_file_may_save(path, &cli->error); // a device or a pipe is written in place
    }
    size_t length = strlen(path);
    if (exists && S_ISDIR(old.st_mode)) {
        return weft_fail(&cli->error, WEFT_INPUT, "%s: is a folder; name a file in it", path);
    }
    if (length == 0 || path[length - 1] == '/') {
        return weft_fail(&cli->error, WEFT_INPUT, "'%s': names no file; write FOLDER/FILE", path);
    }
    struct weft_arena scratch = cli->scratch;
    const char *slash = strrchr(path, '/');
    const char *folder = slash == NULL   ? "."
                         : slash == path ? "/"
                                         : weft_arena_text(&scratch, path, (size_t)(slash - path));
    if (access(folder, W_OK | X_OK) == 0) {
        return weft_file_may_save(path, &cli->error);
    }
    return weft_fail(&cli->error, WEFT_INPUT, "%s: cannot be written into %s: %s; %s", path, folder,
                     strerrordesc_np(errno),
                     errno == ENOENT ? "make the folder first" : "name another folder");
}
