// SPDX-License-Identifier: Apache-2.0
// Claims in YAML (docs/reproduce.md): published figures, and commands that yield ours.
//
// One file is one system. Claims are data, so that whoever adds a system adds a file: nothing of
// the verb knows a claim. A table for each mapping says its keys (yaml_keys.c); commands are split
// into words here, as a shell would without its substitutions, so that what is wrong with one is
// said with its line. O(bytes + claims^2 + keys^2).

#include "weft/format.h"
#include "yaml_keys.h"

#include <math.h>
#include <string.h>

#define CLAIMS_MAX 256u
#define COMMANDS_MAX 16u
#define WORDS_MAX 128u // of a command
#define SEEDS_MAX 64u
#define FILES_MAX 8u
#define NEEDS_MAX 8u
#define TEXT_MAX 4096u // of a command, or of a file that is written

static bool fail_text(const struct weft_yaml_node *node, const struct weft_yaml_source *source,
                      const char *message)
{
    weft_fail(source->error, WEFT_INPUT, "%s", message);
    return weft_yaml_fail_at(node, source);
}

// The node's text, which may be longer than that of other keys; NULL where it is none or too long.
static const char *long_text(const struct weft_yaml_node *node,
                             const struct weft_yaml_source *source)
{
    if (node->text == NULL || node->text[0] == '\0') {
        fail_text(node, source, "not a text; write one");
        return NULL;
    }
    if (strlen(node->text) > TEXT_MAX) {
        fail_text(node, source, "longer than 4096 bytes; shorten it");
        return NULL;
    }
    return node->text;
}

// ---- commands ----

// Only the two names that the verb replaces may stand in braces: a misspelled one would reach the
// command as a file's name.
static bool check_braces(const struct weft_yaml_node *node, const char *word,
                         const struct weft_yaml_source *source)
{
    for (const char *at = strchr(word, '{'); at != NULL; at = strchr(at + 1, '{')) {
        if (strncmp(at, "{inputs}", 8) != 0 && strncmp(at, "{work}", 6) != 0) {
            return fail_text(node, source, "braces of another name; write {inputs} or {work}");
        }
    }
    return true;
}

// Splits at blanks; quotes of either kind hold a word together. Gives the count, 0 where a quote
// does not end or there are too many words.
static uint32_t split(const char **words, const char *text, struct weft_arena *arena)
{
    uint32_t count = 0;
    char *out = weft_arena_text(arena, text, strlen(text));
    for (const char *at = text; *at != '\0' && count < WORDS_MAX;) {
        at += strspn(at, " \n");
        if (*at == '\0') {
            break;
        }
        words[count++] = out;
        for (char quote = '\0'; *at != '\0' && (quote != '\0' || (*at != ' ' && *at != '\n'));
             at++) {
            if (quote == '\0' && (*at == '\'' || *at == '"')) {
                quote = *at;
            } else if (*at == quote) {
                quote = '\0';
            } else {
                *out++ = *at;
            }
            if (quote != '\0' && at[1] == '\0') {
                return 0;
            }
        }
        bool more = *at != '\0';
        at += more ? 1 : 0;
        *out++ = '\0';
        if (!more) {
            return count;
        }
    }
    return count < WORDS_MAX ? count : 0;
}

static bool read_command(struct weft_claim_command *command, const struct weft_yaml_node *node,
                         const struct weft_yaml_source *source)
{
    const char *text = long_text(node, source);
    if (text == NULL) {
        return false;
    }
    const char *words[WORDS_MAX];
    uint32_t count = split(words, text, source->arena);
    if (count == 0) {
        return fail_text(node, source, "a quote that does not end, or more than 127 words");
    }
    if (count < 2 || strcmp(words[0], "weft") != 0) {
        return fail_text(node, source, "no command of weft; write weft VERB ...");
    }
    const char **kept = WEFT_NEW(source->arena, const char *, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!check_braces(node, words[i], source)) {
            return false;
        }
        kept[i] = words[i];
    }
    *command = (struct weft_claim_command){text, count, kept};
    return true;
}

static bool read_commands(struct weft_claim_runs *runs, const struct weft_yaml_node *list,
                          const struct weft_yaml_source *source)
{
    struct weft_claim_command *commands =
        WEFT_NEW(source->arena, struct weft_claim_command, list->child_count);
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        if (!read_command(&commands[runs->command_count++], node, source)) {
            return false;
        }
    }
    runs->commands = commands;
    return true;
}

static bool read_seeds(struct weft_claim_runs *runs, const struct weft_yaml_node *list,
                       const struct weft_yaml_source *source)
{
    if (list == NULL) {
        return true;
    }
    uint64_t *seeds = WEFT_NEW(source->arena, uint64_t, list->child_count);
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        if (!weft_parse_count(&seeds[runs->seed_count++], node->text, 0, INT64_MAX,
                              source->error)) {
            return weft_yaml_fail_at(node, source);
        }
    }
    runs->seeds = seeds;
    return true;
}

// A file's name lies in {work}, so it has no folder of its own.
static bool read_files(struct weft_claim_runs *runs, const struct weft_yaml_node *list,
                       const struct weft_yaml_source *source)
{
    if (list == NULL) {
        return true;
    }
    struct weft_claim_file *files =
        WEFT_NEW(source->arena, struct weft_claim_file, list->child_count);
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        struct weft_claim_file *file = &files[runs->file_count++];
        const struct weft_yaml_node *text = NULL;
        const struct weft_yaml_item items[] = {
            {"name", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &file->name, 0, 0},
            {"text", WEFT_YAML_MAPPING, WEFT_YAML_NEEDED, &text, 0, 0},
        };
        if (!WEFT_YAML_READ(node, items, source)) {
            return false;
        }
        if (file->name[0] == '\0' || file->name[0] == '.' || strchr(file->name, '/') != NULL) {
            weft_fail(source->error, WEFT_INPUT,
                      "'%.40s' is no plain file name; write one as jobs.json", file->name);
            return weft_yaml_fail_key(node, "name", source);
        }
        file->text = long_text(text, source);
        if (file->text == NULL) {
            return false;
        }
    }
    runs->files = files;
    return true;
}

static void read_needs(struct weft_claim_runs *runs, const struct weft_yaml_node *list,
                       const struct weft_yaml_source *source)
{
    const char **needs =
        WEFT_NEW(source->arena, const char *, list != NULL ? list->child_count : 1);
    for (const struct weft_yaml_node *node = list != NULL ? list->children : NULL; node != NULL;
         node = node->next) {
        needs[runs->need_count++] = node->text;
    }
    runs->needs = needs;
}

// ---- words ----

// "at most", "at least", "within 5 %" of the published figure, "within 0.3 points" of its unit.
static bool read_goal(struct weft_claim *claim, const char *text, struct weft_error *error)
{
    double within = 0;
    char number[WEFT_YAML_WORD_MAX + 1];
    claim->goal_text = text;
    if (strcmp(text, "at most") == 0) {
        claim->goal = WEFT_CLAIM_AT_MOST;
        return true;
    }
    if (strcmp(text, "at least") == 0) {
        claim->goal = WEFT_CLAIM_AT_LEAST;
        return true;
    }
    const char *unit = strrchr(text, ' ');
    bool points = unit != NULL && strcmp(unit, " points") == 0;
    if (strncmp(text, "within ", 7) != 0 || unit < text + 7 ||
        !(points || strcmp(unit, " %") == 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.40s' is no goal; write at most, at least, within 5 %% or within 0.3 "
                         "points",
                         text);
    }
    snprintf(number, sizeof number, "%.*s", (int)(unit - text - 7), text + 7);
    claim->goal = WEFT_CLAIM_WITHIN;
    if (!weft_parse_number(&within, number, 0, 100, error)) {
        return false;
    }
    claim->within_ratio = points ? within / claim->published.value : within / 100;
    return true;
}

static bool read_choice(enum weft_claim_choice *choice, const char *text, struct weft_error *error)
{
    static const char *const names[] = {"worst", "first", "best", "mean"};
    for (uint32_t i = 0; i < 4; i++) {
        if (strcmp(text, names[i]) == 0) {
            *choice = (enum weft_claim_choice)i;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT, "'%.40s' is none; write worst, first, best or mean", text);
}

// The figure, and what its last digit is worth: 3.2 stands for all from 3.15 to 3.25.
static bool read_published(struct weft_claim_published *published, const char *text,
                           struct weft_error *error)
{
    if (strcmp(text, "none") == 0) {
        published->value = (double)NAN;
        return true;
    }
    const char *point = strchr(text, '.');
    bool plain = text[strspn(text, "0123456789.")] == '\0';
    published->half_digit =
        plain ? 0.5 / pow(10, point != NULL ? (double)strlen(point + 1) : 0) : 0;
    return weft_parse_number(&published->value, text, 1e-12, 1e15, error);
}

static bool check_name(const char *name, const struct weft_claim *before, uint32_t count,
                       struct weft_error *error)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    if (name[0] == '\0' || name[0] == '-' || name[strspn(name, allowed)] != '\0') {
        return weft_fail(error, WEFT_INPUT, "'%.40s' is no name; write letters, digits and dashes",
                         name);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(before[i].name, name) == 0) {
            return weft_fail(error, WEFT_INPUT, "'%.40s' stands in line %u already; rename one",
                             name, before[i].line);
        }
    }
    return true;
}

// ---- claims ----

// What the keys of a claim say before they are looked at as a whole.
struct claim_words {
    const char *published;
    const char *goal;
    const char *choice; // NULL = worst
    const struct weft_yaml_node *commands;
    const struct weft_yaml_node *seeds;
    const struct weft_yaml_node *files;
    const struct weft_yaml_node *needs;
    uint32_t value_of; // command from 1 on; 0 = the last
    uint32_t over_of;  // 0 = the first
    uint64_t cost_ps;
};

static bool fits(bool fine, const struct weft_yaml_node *mapping, const char *key,
                 const struct weft_yaml_source *source)
{
    return fine || weft_yaml_fail_key(mapping, key, source);
}

// Which commands the figures are of, and what no claim can do without.
static bool check_whole(struct weft_claim *claim, const struct claim_words *words,
                        const struct weft_yaml_node *mapping, const struct weft_yaml_source *source)
{
    uint32_t count = claim->runs.command_count;
    const char *key = words->value_of > count ? "value_of" : "over_of";
    if (words->value_of > count || words->over_of > count) {
        weft_fail(source->error, WEFT_INPUT, "there are only %u commands", count);
        return weft_yaml_fail_key(mapping, key, source);
    }
    claim->reading.value.command = words->value_of > 0 ? words->value_of - 1 : count - 1;
    claim->reading.over.command = words->over_of > 0 ? words->over_of - 1 : 0;
    const char *pointers[] = {claim->reading.value.pointer, claim->reading.over.pointer};
    for (uint32_t i = 0; i < 2; i++) {
        if (pointers[i] != NULL && pointers[i][0] != '/') {
            weft_fail(source->error, WEFT_INPUT, "'%.40s' is no JSON pointer; begin it with /",
                      pointers[i]);
            return weft_yaml_fail_key(mapping, i == 0 ? "value" : "over", source);
        }
    }
    if (isnan(claim->published.value) && claim->not_comparable == NULL) {
        weft_fail(source->error, WEFT_INPUT,
                  "none: nothing to compare with; add not_comparable: why");
        return weft_yaml_fail_key(mapping, "published", source);
    }
    return true;
}

// Reads one claim. Its name is held against those before it, so that the command line can ask for
// one alone.
static bool read_claim(struct weft_claim *claim, const struct weft_yaml_node *mapping,
                       const struct weft_claim *before, uint32_t count,
                       const struct weft_yaml_source *source)
{
    struct claim_words words = {.commands = NULL};
    claim->line = mapping->line;
    claim->reading.factor = 1;
    const struct weft_yaml_item items[] = {
        {"name", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &claim->name, 0, 0},
        {"claim", WEFT_YAML_TEXT, WEFT_YAML_NEEDED, &claim->sentence, 0, 0},
        {"published", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &words.published, 0, 0},
        {"unit", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &claim->published.unit, 0, 0},
        {"source", WEFT_YAML_TEXT, WEFT_YAML_NEEDED, &claim->published.source, 0, 0},
        {"own", WEFT_YAML_TRUTH, WEFT_YAML_OPTIONAL, &claim->published.own, 0, 0},
        {"goal", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &words.goal, 0, 0},
        {"commands", WEFT_YAML_LIST, WEFT_YAML_NEEDED, &words.commands, 0, COMMANDS_MAX},
        {"seeds", WEFT_YAML_WORDS, WEFT_YAML_OPTIONAL, &words.seeds, 0, SEEDS_MAX},
        {"files", WEFT_YAML_LIST, WEFT_YAML_OPTIONAL, &words.files, 0, FILES_MAX},
        {"needs", WEFT_YAML_WORDS, WEFT_YAML_OPTIONAL, &words.needs, 0, NEEDS_MAX},
        {"value", WEFT_YAML_TEXT, WEFT_YAML_NEEDED, &claim->reading.value.pointer, 0, 0},
        {"value_of", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &words.value_of, 1, COMMANDS_MAX},
        {"over", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &claim->reading.over.pointer, 0, 0},
        {"over_of", WEFT_YAML_U32, WEFT_YAML_OPTIONAL, &words.over_of, 1, COMMANDS_MAX},
        {"factor", WEFT_YAML_REAL, WEFT_YAML_OPTIONAL, &claim->reading.factor, 1e-15, 1e15},
        {"combine", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &words.choice, 0, 0},
        {"cost", WEFT_YAML_TIME, WEFT_YAML_OPTIONAL, &words.cost_ps, 0, 0},
        {"short", WEFT_YAML_TRUTH, WEFT_YAML_OPTIONAL, &claim->brief, 0, 0},
        {"not_comparable", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &claim->not_comparable, 0, 0},
    };
    struct weft_error *error = source->error;
    if (!WEFT_YAML_READ(mapping, items, source) ||
        !fits(check_name(claim->name, before, count, error), mapping, "name", source) ||
        !fits(read_published(&claim->published, words.published, error), mapping, "published",
              source) ||
        !fits(read_goal(claim, words.goal, error), mapping, "goal", source) ||
        !fits(words.choice == NULL || read_choice(&claim->reading.choice, words.choice, error),
              mapping, "combine", source) ||
        !read_commands(&claim->runs, words.commands, source) ||
        !read_seeds(&claim->runs, words.seeds, source) ||
        !read_files(&claim->runs, words.files, source)) {
        return false;
    }
    read_needs(&claim->runs, words.needs, source);
    claim->cost_s = weft_seconds(words.cost_ps);
    return check_whole(claim, &words, mapping, source);
}

bool weft_claims_read(struct weft_claims *claims, const char *data, size_t length,
                      struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_yaml_source source = {arena, error};
    const struct weft_yaml_node *root = NULL;
    const struct weft_yaml_node *list = NULL;
    const char *system = NULL;
    const char *inputs_from = NULL;
    const struct weft_yaml_item items[] = {
        {"system", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &system, 0, 0},
        {"inputs_from", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &inputs_from, 0, 0},
        {"claims", WEFT_YAML_LIST, WEFT_YAML_NEEDED, &list, 0, CLAIMS_MAX},
    };
    if (!weft_yaml_open(&root, data, length, "system and claims", &source) ||
        !WEFT_YAML_READ(root, items, &source) ||
        !fits(check_name(system, NULL, 0, error), root, "system", &source)) {
        return false;
    }
    struct weft_claim *read = WEFT_NEW(arena, struct weft_claim, list->child_count);
    uint32_t count = 0;
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        if (!read_claim(&read[count], node, read, count, &source)) {
            return false;
        }
        read[count].system = system;
        read[count].inputs_from = inputs_from;
        count++;
    }
    *claims = (struct weft_claims){count, read};
    return true;
}
