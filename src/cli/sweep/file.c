// SPDX-License-Identifier: Apache-2.0
// The file of results: while a sweep runs each line is appended as it ends, whole; a sweep that was
// killed goes on from there. At its end the file is written anew, in order.
//
// A line is known by the hash of its parameters and the program's version, not by its place, so
// that a specification may grow between two runs. Its checksum tells whether it is as it was
// written; a line that is not counts for nothing and its scenario runs again. A lock keeps two
// sweeps from writing one file.

#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// What a crash of the machine may cost. A killed program loses nothing that is written.
static const double sync_every_s = 1;
// A sweep that was killed under mpirun may end a moment later.
static const double lock_within_s = 10;
enum { NOTES_MAX = 8 }; // on changed lines

static bool fail_io(struct cli *cli, const char *path, const char *doing, int number)
{
    return weft_fail(&cli->error, WEFT_IO, "%s: cannot %s: %s", path, doing,
                     strerrordesc_np(number));
}

static bool lock_file(struct sweep_file *kept, struct cli *cli)
{
    double start_s = cli_elapsed_s(cli);
    while (flock(kept->file, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            return fail_io(cli, kept->path, "lock", errno);
        }
        if (cli_elapsed_s(cli) - start_s > lock_within_s) {
            return weft_fail(&cli->error, WEFT_IO,
                             "%s: another sweep is writing there; wait for it, or write elsewhere",
                             kept->path);
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    return true;
}

bool sweep_file_open(struct sweep_file *kept, struct sweep *sweep)
{
    struct cli *cli = sweep->cli;
    *kept = (struct sweep_file){.file = -1};
    kept->path = cli->output_path;
    for (;;) {
        if (kept->path == NULL) {
            return true;
        }
        if (!weft_file_open_kept(&kept->file, kept->path, &cli->error)) {
            return false;
        }
        if (kept->file < 0) {
            return true; // a pipe or a device cannot be taken up again
        }
        if (!lock_file(kept, cli)) {
            return false;
        }
        // The sweep that had the lock may have put another file in its place.
        if (weft_file_is_named(kept->file, kept->path)) {
            return true;
        }
        close(kept->file);
    }
}

void sweep_file_close(struct sweep_file *kept)
{
    if (kept->file >= 0) {
        close(kept->file);
        kept->file = -1;
    }
}

// One call of write for the line and its newline; bytes are synced to the disk at most once a
// second, which bounds what a crash of the machine costs without slowing short scenarios.
bool sweep_file_append(struct sweep_file *kept, struct cli *cli, const struct sweep_line *line)
{
    if (kept->file < 0) {
        return true;
    }
    // One call, so that a kill leaves the whole line or, on some file systems, its beginning.
    struct weft_arena scratch = cli->scratch;
    size_t left = line->length + 1;
    char *text = weft_arena_alloc_raw(&scratch, left, 1);
    memcpy(text, line->text, line->length);
    text[line->length] = '\n';
    bool fine = true;
    for (const char *next = text; fine && left > 0;) {
        ssize_t put = write(kept->file, next, left);
        if (put < 0 && errno != EINTR) {
            fine = fail_io(cli, kept->path, "write", errno);
        } else if (put > 0) {
            next += put;
            left -= (size_t)put;
        }
    }
    double now_s = cli_elapsed_s(cli);
    if (fine && now_s - kept->synced_s >= sync_every_s) {
        kept->synced_s = now_s;
        fine = fdatasync(kept->file) == 0 || fail_io(cli, kept->path, "sync", errno);
    }
    return fine;
}

// ---- reading ----

static bool begins_line(const char *text, size_t length)
{
    size_t begin = sizeof SWEEP_LINE_BEGINS - 1;
    return length > begin && memcmp(text, SWEEP_LINE_BEGINS, begin) == 0;
}

// Fields of a line that sweep_run wrote; false where it is something else.
static bool read_line(struct sweep_line *line, char *text, size_t length)
{
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const char *schema = json_string_value(json_object_get(object, "schema"));
    const json_t *index = json_object_get(object, "index");
    const char *key = json_string_value(json_object_get(object, "key"));
    char *end = NULL;
    bool fine = schema != NULL && json_is_integer(index) && json_integer_value(index) >= 0 &&
                json_integer_value(index) < WEFT_SWEEP_MAX && key != NULL && strlen(key) == 16;
    if (fine) {
        *line = (struct sweep_line){
            .index = (uint32_t)json_integer_value(index),
            .key = strtoull(key, &end, 16),
            .failed = json_object_get(object, "result") == NULL,
            .changed = !sweep_is_sealed(text, length),
            .text = text,
            .length = length,
        };
        fine = *end == '\0';
    }
    json_decref(object);
    return fine;
}

// The line as of another place in the sweep, where the specification has grown.
static void move_line(struct sweep_line *line, uint32_t index, struct weft_arena *arena)
{
    if (line->index == index) {
        return;
    }
    size_t begin = sizeof SWEEP_LINE_BEGINS - 1;
    begin += strspn(line->text + begin, "0123456789");
    line->text = weft_arena_format(arena, SWEEP_LINE_BEGINS "%u%.*s", index,
                                   (int)(line->length - begin), line->text + begin);
    line->length = strlen(line->text);
    sweep_seal(line->text, line->length);
    line->index = index;
}

struct reading {
    const char *path;
    char *data;
    size_t length; // of whole lines
    size_t next;
    uint32_t number; // of the line that was read last
    uint32_t changed_count;
};

static bool load(struct reading *reading, struct cli *cli, const char *path)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, WEFT_FILE_TRACE_BYTES, &cli->arena, &cli->error)) {
        return false;
    }
    const char *last = memrchr(data, '\n', length);
    size_t whole = last == NULL ? 0 : (size_t)(last - data) + 1;
    size_t begin = sizeof SWEEP_LINE_BEGINS - 1;
    size_t torn = length - whole < begin ? length - whole : begin;
    if (memcmp(data + whole, SWEEP_LINE_BEGINS, torn) != 0) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: its last line is none of weft sweep; write -o to another file", path);
    }
    *reading = (struct reading){.path = path, .data = (char *)(uintptr_t)data, .length = whole};
    return true;
}

// *more: a line was there.
static bool next_line(struct sweep_line *line, bool *more, struct reading *reading, struct cli *cli)
{
    *more = reading->next < reading->length;
    if (!*more) {
        return true;
    }
    char *text = reading->data + reading->next;
    // Whole lines alone are read.
    const char *end = memchr(text, '\n', reading->length - reading->next);
    size_t length = (size_t)(end - text);
    reading->number++;
    if (begins_line(text, length) && !read_line(line, text, length)) { // what is left of one
        *line = (struct sweep_line){.changed = true, .text = text, .length = length};
    } else if (!begins_line(text, length)) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: line %u: not a line of weft sweep; remove it, or write -o to another "
                         "file",
                         reading->path, reading->number);
    }
    reading->next += length + 1;
    return true;
}

// A changed line says nothing that could be believed, not even which scenario it is of: that runs
// again because no other line is of it.
static void note_changed(const struct cli *cli, const struct sweep_line *line,
                         struct reading *reading)
{
    reading->changed_count++;
    if (reading->changed_count <= NOTES_MAX) {
        cli_note(cli, "%s: line %u: %s; its scenario runs again", reading->path, reading->number,
                 sweep_has_seal(line->text, line->length)
                     ? "changed since it was written"
                     : "without a checksum, changed or of an older version");
    }
}

// Takes one line that was found. A failed scenario runs again, and where it is none any more, its
// line held no result.
static bool take_line(struct sweep *sweep, struct sweep_line *line, struct reading *reading)
{
    struct cli *cli = sweep->cli;
    if (line->changed) {
        note_changed(cli, line, reading);
        return true;
    }
    uint32_t found = sweep_find(sweep, line->key);
    if (found == WEFT_NONE && (sweep->prunes || line->failed)) {
        return true;
    }
    if (found == WEFT_NONE) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: line %u: no scenario of %s (%s of Weft " WEFT_VERSION
                         "); write -o to another file, or --prune to drop such lines",
                         reading->path, reading->number, sweep->paths[0], sweep->spec.verb);
    }
    if (line->failed) {
        return true;
    }
    move_line(line, found, &cli->arena);
    struct sweep_line *kept = WEFT_NEW(&cli->arena, struct sweep_line, 1);
    *kept = *line;
    sweep->ended[found] = kept;
    return true;
}

bool sweep_file_resume(struct sweep_file *kept, struct sweep *sweep)
{
    struct cli *cli = sweep->cli;
    struct reading reading = {0};
    if (kept->file < 0) {
        return true;
    }
    if (!load(&reading, cli, kept->path)) {
        return false;
    }
    struct sweep_line line;
    bool more = true;
    while (more) {
        if (!next_line(&line, &more, &reading, cli) ||
            (more && !take_line(sweep, &line, &reading))) {
            return false;
        }
    }
    if (reading.changed_count > NOTES_MAX) {
        cli_note(cli, "%s: %u more such lines", kept->path, reading.changed_count - NOTES_MAX);
    }
    return ftruncate(kept->file, (off_t)reading.length) == 0 ||
           fail_io(cli, kept->path, "cut off its torn last line", errno);
}

// ---- merging ----

struct merged {
    struct sweep_line *lines;
    uint32_t count;
    uint32_t room;
};

static int compare_lines(const void *a, const void *b)
{
    const struct sweep_line *x = a;
    const struct sweep_line *y = b;
    if (x->index != y->index) {
        return (x->index > y->index) - (x->index < y->index);
    }
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (int)x->failed - (int)y->failed;
}

// Lines of older versions have no checksum and are taken as they are; those that have one are to be
// what was written.
static bool check_merged(const struct sweep_line *line, struct reading *reading, struct cli *cli)
{
    bool older = line->key != 0 && !sweep_has_seal(line->text, line->length);
    reading->changed_count += older;
    return !line->changed || older ||
           weft_fail(&cli->error, WEFT_INPUT,
                     "%s: line %u: changed since it was written; run its sweep again with -o %s",
                     reading->path, reading->number, reading->path);
}

static bool gather(struct merged *merged, struct sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->path_count; i++) {
        struct reading reading = {0};
        bool more = true;
        if (!load(&reading, sweep->cli, sweep->paths[i])) {
            return false;
        }
        while (more) {
            if (merged->count == merged->room) {
                merged->room = 2 * merged->room + 64;
                merged->lines = realloc(merged->lines, merged->room * sizeof *merged->lines);
                WEFT_ASSERT(merged->lines != NULL);
            }
            struct sweep_line *line = &merged->lines[merged->count];
            if (!next_line(line, &more, &reading, sweep->cli) ||
                (more && !check_merged(line, &reading, sweep->cli))) {
                return false;
            }
            merged->count += more;
        }
        if (reading.changed_count > 0) {
            cli_note(sweep->cli, "%s: lines without a checksum, as of older versions: %u",
                     reading.path, reading.changed_count);
        }
    }
    return true;
}

// Results before failures of the same scenario, the first of several.
static bool say_merged(struct sweep *sweep, const struct merged *merged)
{
    struct cli *cli = sweep->cli;
    const struct sweep_line **kept =
        WEFT_NEW(&cli->arena, const struct sweep_line *, merged->count);
    uint32_t kept_count = 0;
    uint32_t next = 0;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < merged->count; i++) {
        const struct sweep_line *line = &merged->lines[i];
        const struct sweep_line *before = i > 0 ? line - 1 : NULL;
        bool again = before != NULL && before->index == line->index;
        if (again && before->key != line->key) {
            return weft_fail(&cli->error, WEFT_INPUT,
                             "scenario %u is one thing in some files and another in others; merge "
                             "shards of one specification",
                             line->index);
        }
        if (!again) {
            missing += line->index - next;
            next = line->index + 1;
            kept[kept_count++] = line;
            cli->exit_code = line->failed ? CLI_EXIT_NO : cli->exit_code;
        }
    }
    for (uint32_t i = 0; i < kept_count && cli->form == CLI_TEXT; i++) {
        cli_say(cli, "%.*s\n", (int)kept[i]->length, kept[i]->text);
    }
    if (missing > 0) {
        cli_note(cli, "%u of the scenarios up to the last one %s in none of these files", missing,
                 missing == 1 ? "is" : "are");
    }
    return cli->form == CLI_TEXT || sweep_table(cli, kept, kept_count);
}

bool sweep_file_merge(struct sweep *sweep)
{
    struct merged merged = {NULL, 0, 0};
    bool fine = gather(&merged, sweep);
    if (fine && merged.count > 0) {
        qsort(merged.lines, merged.count, sizeof *merged.lines, compare_lines);
        fine = say_merged(sweep, &merged);
    }
    free(merged.lines);
    return fine;
}
