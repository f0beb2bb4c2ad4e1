// SPDX-License-Identifier: Apache-2.0
// Hosts of a job by name, in and out: the hostfile of Open MPI ("node001 slots=8" a line, '#'
// begins a comment), which other launchers' lists of plain names are, too. Ranks are given to hosts
// in the file's order, so that the order of the lines is that of NCCL's rings (docs/nccl.md).
//
// Names count on from server 0's (names.h). O(length).

#include "format/syntax/lines.h"
#include "names.h"
#include "weft/format.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

// Of a cluster's hosts: 2^20 names of 63 letters.
#define SLOTS_MAX 65536u
// Digits of a number in a node's name.
#define DIGITS_MAX 9u
// Of a host.
#define NAME_MAX_LENGTH 63u

static bool is_name_letter(char letter, size_t place)
{
    unsigned char c = (unsigned char)letter;
    return isalnum(c) || (place > 0 && c != '\0' && strchr("-_.", c) != NULL);
}

bool names_parse(struct names *names, const char *text, struct weft_arena *arena,
                 struct weft_error *error)
{
    size_t length = strlen(text);
    size_t digits = 0;
    uint32_t first = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!is_name_letter(text[i], i)) {
            return weft_fail(error, WEFT_INPUT,
                             "'%.70s' is no name of a node; write that of server 0, as node001",
                             text);
        }
        digits = isdigit(c) ? digits + 1 : 0;
    }
    if (length == 0 || length > NAME_MAX_LENGTH || digits > DIGITS_MAX || digits == length) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.70s' is no name of a node; write letters, then at most %u digits, as "
                         "node001",
                         text, DIGITS_MAX);
    }
    for (size_t i = length - digits; i < length; i++) {
        first = 10 * first + (uint32_t)(text[i] - '0');
    }
    *names = (struct names){
        .prefix = weft_arena_text(arena, text, length - digits),
        .first = first,
        .digits = digits == 0 ? 1 : (uint32_t)digits,
    };
    return true;
}

// ---- in ----

// "slots=8", and the bound that Open MPI may be given beside it, which says nothing of ranks.
static bool read_slots(struct weft_host *host, const struct line_word *word,
                       struct weft_error *error)
{
    static const char *const keys[] = {"slots=", "max_slots=", "max-slots="};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        size_t length = strlen(keys[k]);
        uint64_t value = 0;
        if (word->length < length || memcmp(word->text, keys[k], length) != 0) {
            continue;
        }
        const struct line_word number = {word->text + length, word->length - length};
        if (!word_count(&value, &number, keys[k], 1, SLOTS_MAX, error)) {
            return false;
        }
        host->slots = k == 0 ? (uint32_t)value : host->slots;
        return true;
    }
    return weft_fail(error, WEFT_INPUT, "'%.*s' behind a host; write slots=8, or nothing",
                     WORD_SHOWN(word));
}

static bool read_host(struct weft_host *host, const struct lines *lines, struct weft_arena *arena,
                      struct weft_error *error)
{
    const struct line_word *name = &lines->words[0];
    bool fine = name->length <= NAME_MAX_LENGTH;
    for (size_t i = 0; i < name->length && fine; i++) {
        fine = is_name_letter(name->text[i], i);
    }
    if (!fine) {
        return weft_fail(error, WEFT_INPUT, "'%.*s' is no name of a host; write one a line",
                         WORD_SHOWN(name));
    }
    *host = (struct weft_host){weft_arena_text(arena, name->text, name->length), 0};
    for (uint32_t w = 1; w < lines->word_count && lines->words[w].text[0] != '#'; w++) {
        if (!read_slots(host, &lines->words[w], error)) {
            return false;
        }
    }
    return true;
}

bool weft_hosts_read(struct weft_hosts *hosts, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_error *error)
{
    struct lines lines = {.at = data, .end = data + length};
    uint32_t count = 0;
    uint32_t room = 0;
    struct weft_host *found = NULL;
    for (bool more = true;;) {
        if (!lines_next(&lines, &more, error)) {
            return false;
        }
        if (!more) {
            *hosts = (struct weft_hosts){count, found};
            return count > 0 || weft_fail(error, WEFT_INPUT, "no host in it; write one a line");
        }
        if (count == room) {
            room = room == 0 ? 64 : 2 * room;
            struct weft_host *larger = WEFT_NEW(arena, struct weft_host, room);
            memcpy(larger, found == NULL ? larger : found, count * sizeof larger[0]);
            found = larger;
        }
        if (!read_host(&found[count++], &lines, arena, error)) {
            return weft_wrap(error, "line %u", lines.number);
        }
    }
}

bool weft_hosts_load(struct weft_hosts *hosts, const char *path, struct weft_arena *arena,
                     struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, 0, arena, error)) {
        return false;
    }
    return weft_hosts_read(hosts, data, length, arena, error) || weft_wrap(error, "%s", path);
}

// The number of a host by its name; false where the names do not count to it.
static bool find_number(uint32_t *number, const struct names *names, const char *name)
{
    size_t prefix = strlen(names->prefix);
    const char *digits = name + prefix;
    uint32_t value = 0;
    if (strncmp(name, names->prefix, prefix) != 0 || *digits == '\0' ||
        strlen(digits) > DIGITS_MAX) {
        return false;
    }
    for (const char *at = digits; *at != '\0'; at++) {
        if (!isdigit((unsigned char)*at)) {
            return false;
        }
        value = 10 * value + (uint32_t)(*at - '0');
    }
    char written[16];
    snprintf(written, sizeof written, "%0*u", (int)names->digits, value);
    *number = value;
    return value >= names->first && strcmp(written, digits) == 0;
}

bool weft_hosts_servers(uint32_t *servers, const struct weft_hosts *hosts, const char *first_node,
                        uint32_t server_count, const struct weft_environment *environment)
{
    struct weft_error *error = environment->error;
    struct weft_arena scratch = environment->scratch;
    struct names names = {.prefix = ""};
    if (!names_parse(&names, first_node, &scratch, error)) {
        return weft_wrap(error, "{nodes}");
    }
    bool *seen = WEFT_NEW(&scratch, bool, server_count);
    for (uint32_t h = 0; h < hosts->count; h++) {
        uint32_t number = 0;
        const char *name = hosts->hosts[h].name;
        if (!find_number(&number, &names, name) || number - names.first >= server_count) {
            return weft_fail(
                error, WEFT_INPUT,
                "host %.63s is none of the fabric's, %s%0*u to %s%0*u; say what server "
                "0 is called: {nodes=NAME}",
                name, names.prefix, (int)names.digits, names.first, names.prefix, (int)names.digits,
                names.first + server_count - 1);
        }
        servers[h] = number - names.first;
        if (seen[servers[h]]) {
            return weft_fail(error, WEFT_INPUT, "host %.63s stands there twice; keep one", name);
        }
        seen[servers[h]] = true;
    }
    return true;
}

// ---- out ----

bool weft_hosts_of(struct weft_hosts *hosts, const uint32_t *servers, uint32_t count,
                   const char *first_node, const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct names names = {.prefix = ""};
    if (!names_parse(&names, first_node, &scratch, environment->error)) {
        return weft_wrap(environment->error, "{nodes}");
    }
    struct weft_host *named = WEFT_NEW(environment->arena, struct weft_host, count);
    for (uint32_t i = 0; i < count; i++) {
        named[i].name = weft_arena_format(environment->arena, "%s%0*u", names.prefix,
                                          (int)names.digits, names.first + servers[i]);
    }
    *hosts = (struct weft_hosts){count, named};
    return true;
}

const char *weft_hosts_write(const struct weft_hosts *hosts, uint32_t slots, const char *comment,
                             struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    for (const char *line = comment; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, "\n");
        weft_text_add(&text, "# %.*s\n", (int)length, line);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    for (uint32_t h = 0; h < hosts->count; h++) {
        const struct weft_host *host = &hosts->hosts[h];
        uint32_t own = slots > 0 ? slots : host->slots;
        weft_text_add(&text, own > 0 ? "%s slots=%u\n" : "%s\n", host->name, own);
    }
    return text.data;
}
