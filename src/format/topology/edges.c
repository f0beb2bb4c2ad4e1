// SPDX-License-Identifier: Apache-2.0
// Lists of edges, "A B [RATE [LATENCY]]" a line, with spaces or commas between: what networkx
// writes (write_edgelist; "{}" behind an edge is passed over), what pandas writes (a first line of
// titles is passed over) and what people write by hand.
//
// Nodes whose names begin as switches are called are switches, the others are servers; a list of
// servers alone is a fabric whose servers forward. Each edge is a cable that works both ways,
// unless every one of them is there in both directions, as in lists of a directed graph and in
// inventories that list a cable at both its ends. O(bytes + edges log edges).

#include "draft.h"
#include "format/syntax/lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const switch_names[] = {"switch", "sw",   "leaf",   "spine", "tor",
                                           "agg",    "core", "router", "fabric"};

bool draft_is_switch_name(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof switch_names / sizeof switch_names[0]; i++) {
        size_t own = strlen(switch_names[i]);
        if (length >= own && strncasecmp(name, switch_names[i], own) == 0 &&
            (length == own || islower((unsigned char)name[own]) == 0)) { // leafA, leaf-1, leaf.3
            return true;
        }
    }
    return false;
}

static bool read_node(uint32_t *node, struct draft *draft, const struct line_word *word)
{
    bool is_switch = draft_is_switch_name(word->text, word->length);
    return draft_node(node, draft, word->text, word->length,
                      is_switch ? DRAFT_SWITCH : DRAFT_SERVER);
}

static bool read_edge(struct draft *draft, const struct line_word *words, uint32_t count)
{
    struct draft_cable cable = {.latency_ps = WEFT_NEVER, .width = 1};
    char text[2][40] = {"", ""};
    for (uint32_t w = 2; w < count; w++) {
        if (w > 3 || words[w].length >= sizeof text[0]) {
            return weft_fail(draft->error, WEFT_INPUT,
                             "'%.*s' behind an edge; it is A B RATE "
                             "LATENCY, as gpu0 leaf0 400Gbps 1us",
                             WORD_SHOWN(&words[w]));
        }
        memcpy(text[w - 2], words[w].text, words[w].length);
    }
    if ((text[0][0] != '\0' && !weft_parse_rate(&cable.rate_Bps, text[0], draft->error)) ||
        (text[1][0] != '\0' && !weft_parse_time(&cable.latency_ps, text[1], draft->error))) {
        return false;
    }
    if (text[0][0] != '\0' && !(cable.rate_Bps > 0)) {
        return weft_fail(draft->error, WEFT_INPUT, "an edge of rate 0 carries nothing");
    }
    return read_node(&cable.from, draft, &words[0]) && read_node(&cable.to, draft, &words[1]) &&
           draft_join(draft, &cable);
}

// Divides words at commas; leaves out "{}" and what stands behind '#'.
static bool divide(struct line_word *words, uint32_t *count, const struct lines *lines,
                   struct weft_error *error)
{
    *count = 0;
    for (uint32_t w = 0; w < lines->word_count && lines->words[w].text[0] != '#'; w++) {
        const char *at = lines->words[w].text;
        const char *end = at + lines->words[w].length;
        while (at < end) {
            const char *stop = memchr(at, ',', (size_t)(end - at));
            stop = stop == NULL ? end : stop;
            const struct line_word word = {at, (size_t)(stop - at)};
            at = stop + (stop < end);
            if (word.length == 0 || word_is(&word, "{}")) {
                continue;
            }
            if (*count == LINE_WORDS) {
                return weft_fail(error, WEFT_INPUT, "more than %u words", LINE_WORDS);
            }
            words[(*count)++] = word;
        }
    }
    return *count >= 2 || weft_fail(error, WEFT_INPUT, "one word alone; an edge is A B");
}

// Titles of columns, as pandas and networkx call them.
static bool are_titles(const struct line_word *words)
{
    static const char *const pairs[][2] = {{"source", "target"}, {"src", "dst"}, {"from", "to"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (word_is(&words[0], pairs[i][0]) && word_is(&words[1], pairs[i][1])) {
            return true;
        }
    }
    return false;
}

static int compare_ends(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Makes edges links of one way each where the list has as many from B to A as from A to B.
static bool divide_ways(struct draft *draft)
{
    uint32_t count = draft->cable_count;
    struct weft_arena scratch = *draft->scratch;
    uint64_t *there = WEFT_NEW_RAW(&scratch, uint64_t, count);
    uint64_t *back = WEFT_NEW_RAW(&scratch, uint64_t, count);
    for (uint32_t c = 0; c < count; c++) {
        uint64_t from = draft->cables[c].from;
        uint64_t to = draft->cables[c].to;
        there[c] = from << 32 | to;
        back[c] = to << 32 | from;
    }
    qsort(there, count, sizeof *there, compare_ends);
    qsort(back, count, sizeof *back, compare_ends);
    if (count == 0 || memcmp(there, back, count * sizeof *there) != 0) {
        return false;
    }
    for (uint32_t c = 0; c < count; c++) {
        draft->cables[c].one_way = true;
    }
    return true;
}

bool topology_read_edges(struct weft_topology_file *topology, struct draft *draft, const char *data,
                         size_t length)
{
    struct lines lines = {.at = data, .end = data + length};
    bool first = true;
    for (bool more = true;;) {
        struct line_word words[LINE_WORDS];
        uint32_t count = 0;
        if (!lines_next(&lines, &more, draft->error)) {
            return false;
        }
        if (!more) {
            topology->both_ways = divide_ways(draft);
            return draft_finish(topology, draft);
        }
        if (!divide(words, &count, &lines, draft->error) ||
            (!(first && are_titles(words)) && !read_edge(draft, words, count))) {
            return weft_wrap(draft->error, "line %u", lines.number);
        }
        first = false;
    }
}
