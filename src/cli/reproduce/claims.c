// SPDX-License-Identifier: Apache-2.0
// Where the claims lie, which of them are meant, and what they need to be run.
//
// The folder of claims is found from the program (cli_shipped). Every *.yaml in it is one system,
// so that a system is added by a file. Commands run in the folder around it, the repository or
// share/weft, from where the paths of shipped examples are those that a person types.

#include "reproduce.h"
#include "weft/format.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

// The folder of claims, absolute and without links; NULL and the error where there is none.
static const char *find_folder(const struct reproduce *reproduce)
{
    struct cli *cli = reproduce->cli;
    char real[PATH_MAX];
    const char *given = reproduce->input.claims_path;
    if (given != NULL) {
        if (!is_folder(given) || realpath(given, real) == NULL) {
            cli_misuse(cli, "--claims %.200s: no such folder", given);
            return NULL;
        }
        return weft_arena_text(&cli->arena, real, strlen(real));
    }
    const char *found = cli_shipped(cli, "claims");
    if (found == NULL) {
        weft_fail(&cli->error, WEFT_IO,
                  "no folder claims beside the program, nor ../share/weft/claims from there; give "
                  "--claims DIR or install Weft as a whole");
    }
    return found;
}

// The folder of inputs that do not ship: --inputs, else what the environment names, else the one
// beside the repository; NULL where there is none.
static bool find_inputs(struct reproduce *reproduce)
{
    struct cli *cli = reproduce->cli;
    const char *given = reproduce->input.inputs_path;
    const char *shared = getenv("WEFT_SHARED"); // NOLINT(concurrency-mt-unsafe): before any thread
    const char *path = given != NULL ? given
                       : shared != NULL
                           ? weft_arena_format(&cli->arena, "%s/inputs", shared)
                           : weft_arena_format(&cli->arena, "%s/../shared/inputs", reproduce->root);
    char real[PATH_MAX];
    if (is_folder(path) && realpath(path, real) != NULL) {
        reproduce->inputs = weft_arena_text(&cli->arena, real, strlen(real));
        return true;
    }
    return given == NULL || cli_misuse(cli, "--inputs %.200s: no such folder", given);
}

// ---- reading ----

struct all_claims {
    uint32_t count;
    struct weft_claim *claims;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The names that end in .yaml, in order, so that lists do not depend on the file system.
static uint32_t list_files(const char ***names, const char *folder, struct cli *cli)
{
    enum { FILES_MAX = 1024 };
    DIR *open = opendir(folder);
    const char **found = WEFT_NEW(&cli->arena, const char *, FILES_MAX);
    uint32_t count = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else reads this stream
    for (struct dirent *entry; open != NULL && (entry = readdir(open)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && entry->d_name[0] != '.' && count < FILES_MAX &&
            strcmp(entry->d_name + length - 5, ".yaml") == 0) {
            found[count++] = weft_arena_text(&cli->arena, entry->d_name, length);
        }
    }
    if (open != NULL) {
        closedir(open);
    }
    qsort(found, count, sizeof found[0], by_name);
    *names = found;
    return count;
}

// Adds a file's claims; a name may stand once in all of them.
static bool read_file(struct all_claims *all, const char *path, struct cli *cli)
{
    const char *data = NULL;
    size_t length = 0;
    struct weft_claims read;
    if (!weft_file_load(&data, &length, path, 0, &cli->arena, &cli->error)) {
        return false;
    }
    if (!weft_claims_read(&read, data, length, &cli->arena, &cli->error)) {
        return weft_wrap(&cli->error, "%s", path);
    }
    struct weft_claim *claims =
        WEFT_NEW(&cli->arena, struct weft_claim, (size_t)all->count + read.claim_count);
    for (uint32_t i = 0; i < all->count; i++) {
        claims[i] = all->claims[i];
    }
    for (uint32_t i = 0; i < read.claim_count; i++) {
        for (uint32_t k = 0; k < all->count; k++) {
            if (strcmp(all->claims[k].name, read.claims[i].name) == 0) {
                return weft_fail(&cli->error, WEFT_INPUT,
                                 "%s: line %u: '%s' is a claim of %s already; rename one", path,
                                 read.claims[i].line, read.claims[i].name, all->claims[k].system);
            }
        }
        claims[all->count + i] = read.claims[i];
    }
    *all = (struct all_claims){all->count + read.claim_count, claims};
    return true;
}

// ---- choosing ----

// Whether a name is the claim's, its system's or, where no claim is called so, the beginning of its
// own: topoopt-fig16.
static bool is_meant(const struct weft_claim *claim, const char *name, const struct all_claims *all)
{
    size_t length = strlen(name);
    if (strcmp(claim->system, name) == 0 || strcmp(claim->name, name) == 0) {
        return true;
    }
    bool begins = strncmp(claim->name, name, length) == 0 && claim->name[length] == '-';
    for (uint32_t i = 0; begins && i < all->count; i++) {
        begins = strcmp(all->claims[i].name, name) != 0;
    }
    return begins;
}

// The beginning of a claim's name up to and with a word in it: fig16 is of topoopt-fig16.
static const char *holder_of(const char *word, const struct all_claims *all, struct cli *cli)
{
    size_t length = strlen(word);
    for (uint32_t i = 0; i < all->count; i++) {
        const char *name = all->claims[i].name;
        for (const char *at = strchr(name, '-'); at != NULL; at = strchr(at + 1, '-')) {
            bool begins = strncmp(at + 1, word, length) == 0;
            if (begins && (at[1 + length] == '\0' || at[1 + length] == '-')) {
                return weft_arena_text(&cli->arena, name, (size_t)(at + 1 - name) + length);
            }
        }
    }
    return NULL;
}

static bool check_names(const struct reproduce_input *input, const struct all_claims *all,
                        struct cli *cli)
{
    const char **names = WEFT_NEW(&cli->arena, const char *, 2 * (size_t)all->count);
    for (uint32_t i = 0; i < all->count; i++) {
        names[2 * (size_t)i] = all->claims[i].name;
        names[2 * (size_t)i + 1] = all->claims[i].system;
    }
    for (uint32_t n = 0; n < input->name_count; n++) {
        uint32_t i = 0;
        while (i < all->count && !is_meant(&all->claims[i], input->names[n], all)) {
            i++;
        }
        if (i == all->count) {
            const char *near = holder_of(input->names[n], all, cli);
            near = near != NULL ? near : weft_nearest_word(input->names[n], names, 2 * all->count);
            return near == NULL ? cli_misuse(cli, "'%.60s' is no claim; see %s --list",
                                             input->names[n], cli->program)
                                : cli_misuse(cli, "'%.60s' is no claim; do you mean %s?",
                                             input->names[n], near);
        }
    }
    return true;
}

static bool is_chosen(const struct reproduce_input *input, const struct weft_claim *claim,
                      const struct all_claims *all)
{
    for (uint32_t n = 0; n < input->name_count; n++) {
        if (is_meant(claim, input->names[n], all)) {
            return true;
        }
    }
    return input->name_count == 0 && (!input->brief || claim->brief);
}

bool reproduce_claims(struct reproduce *reproduce)
{
    struct cli *cli = reproduce->cli;
    const char *folder = find_folder(reproduce);
    if (folder == NULL) {
        return false;
    }
    const char *slash = strrchr(folder, '/');
    reproduce->root =
        slash == folder ? "/" : weft_arena_text(&cli->arena, folder, (size_t)(slash - folder));
    const char **files = NULL;
    uint32_t file_count = list_files(&files, folder, cli);
    struct all_claims all = {.count = 0};
    if (!find_inputs(reproduce)) {
        return false;
    }
    for (uint32_t i = 0; i < file_count; i++) {
        if (!read_file(&all, weft_arena_format(&cli->arena, "%s/%s", folder, files[i]), cli)) {
            return false;
        }
    }
    if (all.count == 0) {
        return weft_fail(&cli->error, WEFT_INPUT, "%s: no claims; put a SYSTEM.yaml there", folder);
    }
    if (!check_names(&reproduce->input, &all, cli)) {
        return false;
    }
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        if (is_chosen(&reproduce->input, &all.claims[i], &all)) {
            all.claims[chosen++] = all.claims[i];
        }
    }
    reproduce->claims = all.claims;
    reproduce->claim_count = chosen;
    reproduce->outcomes = WEFT_NEW(&cli->arena, struct reproduce_outcome, chosen + 1);
    return true;
}

// ---- needs ----

const char *reproduce_word(const struct reproduce *reproduce, const char *word, const char *work,
                           struct weft_arena *arena)
{
    static const char *const names[] = {"{inputs}", "{work}"};
    const char *values[] = {reproduce->inputs != NULL ? reproduce->inputs : "{inputs}", work};
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "%s", "");
    for (const char *at = word; *at != '\0';) {
        size_t step = 1;
        const char *value = NULL;
        for (uint32_t i = 0; i < 2 && value == NULL; i++) {
            if (strncmp(at, names[i], strlen(names[i])) == 0) {
                value = values[i];
                step = strlen(names[i]);
            }
        }
        if (value != NULL) {
            weft_text_add(&text, "%s", value);
        } else {
            weft_text_add(&text, "%c", *at);
        }
        at += step;
    }
    return text.data;
}

static bool in_path(const char *program)
{
    const char *path = getenv("PATH"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        char file[PATH_MAX];
        snprintf(file, sizeof file, "%.*s/%s", (int)length, path, program);
        if (access(file, X_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':' ? 1 : 0);
    }
    return false;
}

// The input that stands at a place of a text, where it is not there. `from` is where it comes from.
static const char *lacking_input(const struct reproduce *reproduce, const char *at,
                                 const char *from)
{
    struct weft_arena *arena = &reproduce->cli->arena;
    const char *file = weft_arena_text(arena, at, strcspn(at, " ,\"'{}\n"));
    if (reproduce->inputs == NULL) {
        return weft_arena_format(arena,
                                 "needs %s and there is no folder of inputs; give --inputs DIR. "
                                 "They come from: %s",
                                 file, from);
    }
    const char *path = weft_arena_format(arena, "%s/%s", reproduce->inputs, file);
    if (access(path, R_OK) == 0) {
        return NULL;
    }
    return weft_arena_format(arena, "needs %s: %s. It comes from: %s", path, strerrordesc_np(errno),
                             from);
}

// The first input of a command or of a file that is not there; NULL = all are.
static const char *lacking_inputs(const struct reproduce *reproduce, const struct weft_claim *claim,
                                  const char *text)
{
    static const char name[] = "{inputs}/";
    const char *from = claim->inputs_from != NULL ? claim->inputs_from : "its file does not say";
    const char *lack = NULL;
    for (const char *at = strstr(text, name); at != NULL && lack == NULL; at = strstr(at, name)) {
        at += strlen(name);
        lack = lacking_input(reproduce, at, from);
    }
    return lack;
}

const char *reproduce_lack(const struct reproduce *reproduce, const struct weft_claim *claim)
{
    struct weft_arena *arena = &reproduce->cli->arena;
    const struct weft_claim_runs *runs = &claim->runs;
    for (uint32_t i = 0; i < runs->need_count; i++) {
        bool root = strcmp(runs->needs[i], "root") == 0;
        if (root && geteuid() != 0) {
            return "needs root: it works on this machine's networking";
        }
        if (!root && !in_path(runs->needs[i])) {
            return weft_arena_format(arena, "needs the program %s, which is not in PATH",
                                     runs->needs[i]);
        }
    }
    const char *lack = NULL;
    for (uint32_t c = 0; c < runs->command_count && lack == NULL; c++) {
        lack = lacking_inputs(reproduce, claim, runs->commands[c].text);
    }
    for (uint32_t f = 0; f < runs->file_count && lack == NULL; f++) {
        lack = lacking_inputs(reproduce, claim, runs->files[f].text);
    }
    return lack;
}
