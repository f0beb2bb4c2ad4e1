// SPDX-License-Identifier: Apache-2.0
// The CSV of NCCL's example tuner plugin (2.27 and later), in and out:
// collective,min,max,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff
//
// A row is a choice for messages of min to max bytes; -1 leaves a choice to NCCL. Lines that
// begin with '#' are comments. O(length).

#include "weft/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_NEEDED 8u
#define FIELDS_MAX 10u
#define LINE_MAX_BYTES 255u // the plugin reads lines into 256 bytes

static const char *const algorithms[] = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
static const char *const protocols[] = {"ll", "ll128", "simple"};
static const char *const kinds[WEFT_COLLECTIVE_KIND_COUNT] = {
    [WEFT_COLLECTIVE_ALLREDUCE] = "allreduce", [WEFT_COLLECTIVE_REDUCE_SCATTER] = "reducescatter",
    [WEFT_COLLECTIVE_ALLGATHER] = "allgather", [WEFT_COLLECTIVE_BROADCAST] = "broadcast",
    [WEFT_COLLECTIVE_REDUCE] = "reduce",
};

#define COUNT_OF(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

static uint32_t find(const char *text, const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (names[i] != NULL && strcmp(names[i], text) == 0) {
            return i;
        }
    }
    return WEFT_NONE;
}

static bool read_word(uint32_t *found, const char *text, const char *what, const char *const *names,
                      uint32_t count, struct weft_error *error)
{
    *found = find(text, names, count);
    if (*found != WEFT_NONE) {
        return true;
    }
    // The plugin would take its default without a word.
    return weft_fail(error, WEFT_INPUT, "'%.40s' is no %s; the plugin knows %s, %s, ...", text,
                     what, names[0], names[1]);
}

static bool read_signed(int32_t *value, const char *text, const char *what, int32_t low,
                        int32_t high, struct weft_error *error)
{
    char *rest = NULL;
    errno = 0;
    long parsed = strtol(text, &rest, 10);
    if (rest == text || *rest != '\0' || errno != 0 || parsed < low || parsed > high) {
        return weft_fail(error, WEFT_INPUT, "%s '%.40s' is no whole number from %d to %d", what,
                         text, low, high);
    }
    *value = (int32_t)parsed;
    return true;
}

// Cuts a line at its commas in place, without the blanks around them.
static uint32_t split(char **fields, char *line)
{
    uint32_t count = 0;
    for (char *next = line; next != NULL && count <= FIELDS_MAX;) {
        char *comma = strchr(next, ',');
        char *end = comma == NULL ? next + strlen(next) : comma;
        char *rest = comma == NULL ? NULL : comma + 1;
        while (*next == ' ' || *next == '\t') {
            next++;
        }
        while (end > next && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) {
            end--;
        }
        *end = '\0';
        if (count < FIELDS_MAX) {
            fields[count] = next;
        }
        count++;
        next = rest;
    }
    return count;
}

// Reads one row; words and numbers are held against what the plugin knows.
static bool read_line(struct weft_nccl_choice *choice, char *line, struct weft_error *error)
{
    char *fields[FIELDS_MAX];
    uint32_t count = split(fields, line);
    if (count < FIELDS_NEEDED || count > FIELDS_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "%s%u fields, where %u to %u are due: collective, min, max, algorithm, "
                         "protocol, channels, nNodes, nRanks, numPipeOps, regBuff",
                         count > FIELDS_MAX ? "more than " : "",
                         count > FIELDS_MAX ? FIELDS_MAX : count, FIELDS_NEEDED, FIELDS_MAX);
    }
    uint32_t kind;
    uint32_t algorithm;
    uint32_t protocol;
    struct weft_nccl_choice found = {.pipe_ops = -1, .registered = -1};
    if (!read_word(&kind, fields[0], "collective", kinds, COUNT_OF(kinds), error) ||
        !weft_parse_count(&found.size_min_bytes, fields[1], 0, UINT64_MAX, error) ||
        !weft_parse_count(&found.size_max_bytes, fields[2], 0, UINT64_MAX, error) ||
        !read_word(&algorithm, fields[3], "algorithm", algorithms, COUNT_OF(algorithms), error) ||
        !read_word(&protocol, fields[4], "protocol", protocols, COUNT_OF(protocols), error) ||
        !read_signed(&found.channels, fields[5], "channels", -1, 1024, error) ||
        !read_signed(&found.node_count, fields[6], "nNodes", -1, INT32_MAX, error) ||
        !read_signed(&found.rank_count, fields[7], "nRanks", -1, INT32_MAX, error) ||
        (count > 8 &&
         !read_signed(&found.pipe_ops, fields[8], "numPipeOps", -1, INT32_MAX, error)) ||
        (count > 9 && !read_signed(&found.registered, fields[9], "regBuff", -1, 1, error))) {
        return false;
    }
    if (found.size_min_bytes > found.size_max_bytes) {
        return weft_fail(error, WEFT_INPUT, "min %s is above max %s; swap them", fields[1],
                         fields[2]);
    }
    found.kind = (enum weft_collective_kind)kind;
    found.algorithm = algorithms[algorithm];
    found.protocol = protocols[protocol];
    *choice = found;
    return true;
}

bool weft_nccl_tuner_read(struct weft_nccl_choice **choices, uint32_t *count, const char *data,
                          size_t length, struct weft_arena *arena, struct weft_error *error)
{
    size_t lines = 1;
    for (size_t i = 1; i < length; i++) { // those that are empty or comments take no room
        lines += data[i - 1] == '\n' && data[i] != '\n' && data[i] != '#' ? 1 : 0;
    }
    if (lines > UINT32_MAX / 2) {
        return weft_fail(error, WEFT_INPUT, "more than 2^31 lines");
    }
    // A row takes 15 bytes at least, so that this is bounded by the file.
    struct weft_nccl_choice *found = WEFT_NEW(arena, struct weft_nccl_choice, lines);
    uint32_t kept = 0;
    uint32_t number = 0;
    for (size_t at = 0; at < length;) {
        const char *end = memchr(data + at, '\n', length - at);
        size_t bytes = end == NULL ? length - at : (size_t)(end - (data + at));
        number++;
        char line[LINE_MAX_BYTES + 1];
        bool blank = bytes == 0 || (bytes == 1 && data[at] == '\r') || data[at] == '#';
        if (!blank && (bytes > LINE_MAX_BYTES - 1 || memchr(data + at, '\0', bytes) != NULL)) {
            return weft_fail(error, WEFT_INPUT,
                             "line %u: longer than 254 bytes, or with zero bytes; the plugin would "
                             "cut it",
                             number);
        }
        if (!blank) {
            memcpy(line, data + at, bytes);
            line[bytes] = '\0';
            if (!read_line(&found[kept++], line, error)) {
                return weft_wrap(error, "line %u", number);
            }
        }
        at += bytes + 1;
    }
    *choices = found;
    *count = kept;
    return true;
}

const char *weft_nccl_tuner_write(const struct weft_nccl_choice *choices, uint32_t count,
                                  struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "# collective,min,max,algorithm,protocol,channels,nNodes,nRanks,"
                         "numPipeOps,regBuff\n");
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_nccl_choice *choice = &choices[i];
        WEFT_ASSERT(choice->kind < WEFT_COLLECTIVE_ALLTOALL);
        weft_text_add(&text, "%s,%llu,%llu,%s,%s,%d,%d,%d,%d,%d\n", kinds[choice->kind],
                      (unsigned long long)choice->size_min_bytes,
                      (unsigned long long)choice->size_max_bytes, choice->algorithm,
                      choice->protocol, choice->channels, choice->node_count, choice->rank_count,
                      choice->pipe_ops, choice->registered);
    }
    return text.data;
}
