// SPDX-License-Identifier: Apache-2.0
// The end of a verb: its result in one piece, or one line of complaint; and the exit code.

#include "cli.h"
#include "weft/format.h"

#include <errno.h>
#include <math.h>
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

void cli_say(struct cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    WEFT_ASSERT(length >= 0);
    weft_text_add(&cli->text, "%s", text);
    free(text);
}

void cli_note(const struct cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    FILE *out = cli->notes != NULL ? cli->notes : stderr;
    if (cli->notes == NULL) {
        fprintf(out, "%s: note: ", cli->program);
    }
    vfprintf(out, format, arguments);
    fputc('\n', out);
    va_end(arguments);
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

void cli_json(struct cli *cli, json_t *object)
{
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    WEFT_ASSERT(text != NULL);
    weft_text_add(&cli->text, "%s\n", text);
    free(text);
    json_decref(object);
}

// Writes the whole text to stdout and makes sure that it arrived.
static bool write_stdout(const char *data, size_t length, struct weft_error *error)
{
    errno = 0;
    bool fine = fwrite(data, 1, length, stdout) == length && fflush(stdout) == 0;
    return fine || weft_fail(error, WEFT_IO, "stdout: %s", strerrordesc_np(errno));
}

bool cli_can_write(struct cli *cli, const char *path)
{
    struct stat old;
    if (path == NULL || (stat(path, &old) == 0 && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode))) {
        return true; // a device or a pipe is written in place
    }
    struct weft_arena scratch = cli->scratch;
    const char *slash = strrchr(path, '/');
    const char *folder = slash == NULL   ? "."
                         : slash == path ? "/"
                                         : weft_arena_text(&scratch, path, (size_t)(slash - path));
    if (access(folder, W_OK | X_OK) == 0) {
        return true;
    }
    return weft_fail(&cli->error, WEFT_IO, "%s: cannot be written into %s: %s", path, folder,
                     strerrordesc_np(errno));
}

// How a user of the command line states the quantities that errors name (weft_remedy).
static const struct {
    const char *key;
    const char *spelling;
} spellings[] = {
    {"batch", "--batch"},
    {"ca", "--ca"},
    {"groups", "--groups"},
    {"optimizer", "--optimizer"},
    {"seconds", "--seconds"},
    {"tables", "--tables"},
    {"user", "--user"},
    {"variant", "--variant"},
    {"profile", "weft profile MODEL --profile FILE -o FULL.json"},
};

// "weft plan: the batch ...; use a batch of 8 (--batch 8)"
static void complain(const struct cli *cli)
{
    const struct weft_error *error = &cli->error;
    fprintf(stderr, "%s: %s", cli->program, error->message);
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        if (strcmp(spellings[i].key, error->key) == 0) {
            fprintf(stderr, " (%s%s%s)", spellings[i].spelling, error->value[0] != '\0' ? " " : "",
                    error->value);
        }
    }
    fprintf(stderr, "\n");
}

int cli_finish(struct cli *cli, bool fine)
{
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
    for (size_t i = 0; i < sizeof cli->all / sizeof cli->all[0]; i++) {
        if (cli->all[i].next != NULL) {
            weft_arena_release(&cli->all[i]);
        }
    }
}

int cli_run(const struct cli_runner *runner, int argc, char **argv)
{
    struct cli cli;
    void *input = calloc(1, runner->input_bytes);
    WEFT_ASSERT(input != NULL);
    runner->ready(input, &cli);
    bool fine = cli_parse(&cli, &runner->verb, argc, argv, input) && runner->run(input);
    int code = cli_finish(&cli, fine);
    free(input);
    return code;
}
