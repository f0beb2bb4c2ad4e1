// SPDX-License-Identifier: Apache-2.0
// GOAL schedules as text, as LogGOPSim's txt2bin takes it: one statement a line, or between
// semicolons.
//
// "num_ranks 4", then for each rank a block of "l1: send 8b to 1 tag 3 cpu 0", "recv", "calc"
// and "l2 requires l1" or "irequires". Labels may be used before they stand, so the
// dependencies of a rank are joined at its end. O(bytes log labels of a rank).

#include "goal.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 16u
#define LABEL_MAX 200u

struct word {
    const char *text;
    size_t length;
};

// Words up to the end of a statement: a line's end, ';', '{', '}' or the end of the text.
struct scanner {
    const char *at;
    const char *end;
    uint32_t line;      // of `at`
    uint32_t said_line; // of the statement
    uint32_t word_count;
    struct word words[WORDS_MAX];
    char stop; // what ended it: '\n', ';', '{', '}' or 0
};

struct label {
    const char *text;
    size_t length;
    uint32_t op;
};

struct wait {
    struct word after;
    struct word before;
    uint32_t line;
    bool at_start;
};

struct parser {
    struct scanner scanner;
    struct goal_arrays arrays;
    struct weft_arena *arena;
    struct label *labels; // of this rank
    uint32_t label_count;
    struct wait *waits; // of this rank
    uint32_t wait_count;
    uint32_t rank;        // WEFT_NONE = between ranks
    uint32_t opened_rank; // named, its brace is still to come; WEFT_NONE = none
    uint32_t rank_count;
    uint32_t op_count;
    uint32_t edge_count;
    // Where the ranks do not stand in order.
    uint32_t *rank_begin;
    uint32_t *rank_end;
};

// ---- words ----

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

static bool skip_comment(struct scanner *scanner, struct weft_error *error)
{
    if (scanner->at[1] == '/') {
        while (scanner->at < scanner->end && *scanner->at != '\n') {
            scanner->at++;
        }
        return true;
    }
    uint32_t line = scanner->line;
    for (scanner->at += 2; scanner->end - scanner->at >= 2; scanner->at++) {
        if (scanner->at[0] == '*' && scanner->at[1] == '/') {
            scanner->at += 2;
            return true;
        }
        scanner->line += *scanner->at == '\n';
    }
    return weft_fail(error, WEFT_INPUT, "line %u: the comment does not end; write */", line);
}

static bool add_word(struct scanner *scanner, const char *text, size_t length,
                     struct weft_error *error)
{
    if (scanner->word_count == WORDS_MAX) {
        return weft_fail(error, WEFT_INPUT, "line %u: more words than a statement has",
                         scanner->line);
    }
    if (scanner->word_count == 0) {
        scanner->said_line = scanner->line;
    }
    scanner->words[scanner->word_count++] = (struct word){text, length};
    return true;
}

// Reads the words up to the end of a statement. An empty statement has no words; scanner->stop
// says what ended it.
static bool next_statement(struct scanner *scanner, struct weft_error *error)
{
    weft_poll();
    scanner->word_count = 0;
    scanner->said_line = scanner->line;
    while (scanner->at < scanner->end) {
        char c = *scanner->at;
        if (c == '\n' || c == ';' || c == '{' || c == '}') {
            scanner->said_line = scanner->word_count == 0 ? scanner->line : scanner->said_line;
            scanner->line += c == '\n';
            scanner->stop = c;
            scanner->at++;
            return true;
        }
        if (c == ' ' || c == '\t' || c == '\r') {
            scanner->at++;
            continue;
        }
        if (c == '/' && scanner->end - scanner->at >= 2 &&
            (scanner->at[1] == '/' || scanner->at[1] == '*')) {
            if (!skip_comment(scanner, error)) {
                return false;
            }
            continue;
        }
        const char *begin = scanner->at;
        while (scanner->at < scanner->end && is_letter(*scanner->at)) {
            scanner->at++;
        }
        if (scanner->at == begin && c != ':') {
            return weft_fail(error, WEFT_INPUT, "line %u: '%c' is in no schedule", scanner->line,
                             c);
        }
        scanner->at += scanner->at == begin;
        if (!add_word(scanner, begin, (size_t)(scanner->at - begin), error)) {
            return false;
        }
    }
    scanner->stop = '\0';
    return true;
}

static bool is(const struct word *word, const char *text)
{
    return strlen(text) == word->length && memcmp(word->text, text, word->length) == 0;
}

#define SHOWN(word) (int)((word)->length < 40 ? (word)->length : 40), (word)->text

static bool read_number(uint64_t *value, const struct word *word, const char *what, uint64_t high,
                        struct weft_error *error)
{
    char copy[40];
    if (word->length >= sizeof copy) {
        return weft_fail(error, WEFT_INPUT, "%s: '%.*s' is no number", what, SHOWN(word));
    }
    memcpy(copy, word->text, word->length);
    copy[word->length] = '\0';
    return weft_parse_count(value, copy, 0, high, error) || weft_wrap(error, "%s", what);
}

// ---- operations ----

struct op {
    enum weft_goal_kind kind;
    uint64_t size;
    uint64_t peer;
    uint64_t tag;
    uint64_t cpu;
    uint64_t nic;
};

// "tag 3", "cpu 0", "nic 1" in any order from word i on.
static bool read_places(struct op *op, const struct scanner *scanner, uint32_t i,
                        struct weft_error *error)
{
    bool message = op->kind != WEFT_GOAL_CALC;
    for (; i < scanner->word_count; i += 2) {
        const struct word *name = &scanner->words[i];
        const struct word *word = name + 1;
        bool good = true;
        bool tag = message && is(name, "tag");
        if (!tag && !is(name, "cpu") && !is(name, "nic")) {
            return weft_fail(error, WEFT_INPUT, "'%.*s': write %scpu or nic", SHOWN(name),
                             message ? "tag, " : "");
        }
        if (i + 1 == scanner->word_count) {
            return weft_fail(error, WEFT_INPUT, "nothing stands behind '%.*s'", SHOWN(name));
        }
        if (tag && op->kind == WEFT_GOAL_RECV && is(word, "-1")) {
            op->tag = WEFT_NONE;
        } else if (tag) {
            good = read_number(&op->tag, word, "tag", WEFT_NONE - 1, error);
        } else if (is(name, "cpu")) {
            good = read_number(&op->cpu, word, "cpu", UINT8_MAX, error);
        } else {
            good = read_number(&op->nic, word, "nic", UINT8_MAX, error);
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

// "8b to 1" or "8 b from -1" from word i on.
static bool read_message(struct op *op, const struct scanner *scanner, uint32_t i,
                         struct weft_error *error)
{
    const char *way = op->kind == WEFT_GOAL_SEND ? "to" : "from";
    struct word size = scanner->words[i];
    if (i + 1 < scanner->word_count && is(&scanner->words[i + 1], "b")) {
        i++;
    } else if (size.length > 1 && size.text[size.length - 1] == 'b') {
        size.length--;
    } else {
        return weft_fail(error, WEFT_INPUT, "'%.*s': write bytes as 8b", SHOWN(&size));
    }
    if (i + 2 >= scanner->word_count || !is(&scanner->words[i + 1], way)) {
        return weft_fail(error, WEFT_INPUT, "behind the size stands '%s' and a rank", way);
    }
    const struct word *peer = &scanner->words[i + 2];
    if (op->kind == WEFT_GOAL_RECV && is(peer, "-1")) {
        op->peer = WEFT_NONE;
    } else if (!read_number(&op->peer, peer, way, WEFT_NONE - 1, error)) {
        return false;
    }
    return read_number(&op->size, &size, "bytes", INT64_MAX, error) &&
           read_places(op, scanner, i + 3, error);
}

static void store_op(struct parser *parser, const struct op *op, const struct word *label)
{
    uint32_t index = parser->op_count++;
    struct goal_arrays *arrays = &parser->arrays;
    arrays->kind[index] = (uint8_t)op->kind;
    arrays->size[index] = op->size;
    arrays->peer[index] = (uint32_t)op->peer;
    arrays->tag[index] = (uint32_t)op->tag;
    arrays->cpu[index] = (uint8_t)op->cpu;
    arrays->nic[index] = (uint8_t)op->nic;
    arrays->line[index] = parser->scanner.said_line;
    arrays->labels[index] = "";
    if (label != NULL) {
        arrays->labels[index] = weft_arena_text(parser->arena, label->text, label->length);
        parser->labels[parser->label_count++] =
            (struct label){arrays->labels[index], label->length, index};
    }
}

// The operations that LogGOPSim 2 adds (its README_GOAL.md): one-sided, by counters and handlers.
static bool is_one_sided(const struct word *word)
{
    static const char *const names[] = {"put",  "get",     "append", "tput",
                                        "tget", "tappend", "test",   "calcgem5"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (is(word, names[i])) {
            return true;
        }
    }
    return false;
}

// Reads an operation from word i on: its kind, its size and peer, and where it runs.
static bool read_op(struct parser *parser, uint32_t i, const struct word *label,
                    struct weft_error *error)
{
    static const char *const names[] = {
        [WEFT_GOAL_SEND] = "send", [WEFT_GOAL_RECV] = "recv", [WEFT_GOAL_CALC] = "calc"};
    const struct scanner *scanner = &parser->scanner;
    struct op op = {.kind = WEFT_GOAL_SEND};
    while (i < scanner->word_count && op.kind <= WEFT_GOAL_CALC &&
           !is(&scanner->words[i], names[op.kind])) {
        op.kind++;
    }
    if (i < scanner->word_count && is_one_sided(&scanner->words[i])) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "'%.*s' is of LogGOPSim 2's one-sided operations, whose counters and "
                         "handlers are not played; write send on one rank and recv on the other",
                         SHOWN(&scanner->words[i]));
    }
    if (i >= scanner->word_count || op.kind > WEFT_GOAL_CALC) {
        return weft_fail(error, WEFT_INPUT,
                         "'%.*s': write send, recv, calc, or 'a requires b', 'a irequires b'",
                         SHOWN(&scanner->words[i < scanner->word_count ? i : 0]));
    }
    if (++i == scanner->word_count) {
        return weft_fail(error, WEFT_INPUT, "nothing stands behind %s", names[op.kind]);
    }
    bool good = op.kind == WEFT_GOAL_CALC ? read_number(&op.size, &scanner->words[i], "calc (ns)",
                                                        INT64_MAX / 1000, error) &&
                                                read_places(&op, scanner, i + 1, error)
                                          : read_message(&op, scanner, i, error);
    if (good) {
        store_op(parser, &op, label);
    }
    return good;
}

// ---- ranks ----

static int compare_labels(const void *a, const void *b)
{
    const struct label *x = a;
    const struct label *y = b;
    int order = strcmp(x->text, y->text);
    return order != 0 ? order : (x->op > y->op) - (x->op < y->op);
}

static bool find_label(uint32_t *op, const struct parser *parser, const struct word *word,
                       struct weft_error *error)
{
    char text[LABEL_MAX + 1];
    const struct label key = {.text = text};
    memcpy(text, word->text, word->length);
    text[word->length] = '\0';
    uint32_t low = 0;
    uint32_t high = parser->label_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(parser->labels[middle].text, key.text) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == parser->label_count || strcmp(parser->labels[low].text, text) != 0) {
        return weft_fail(error, WEFT_INPUT, "rank %u has no operation '%.*s'", parser->rank,
                         SHOWN(word));
    }
    *op = parser->labels[low].op;
    return true;
}

// Labels may be used before they stand: dependencies are joined at the rank's end.
static bool end_rank(struct parser *parser, struct weft_error *error)
{
    qsort(parser->labels, parser->label_count, sizeof *parser->labels, compare_labels);
    for (uint32_t i = 1; i < parser->label_count; i++) {
        if (strcmp(parser->labels[i - 1].text, parser->labels[i].text) == 0) {
            return weft_fail(error, WEFT_INPUT, "rank %u: label '%.40s' stands on lines %u and %u",
                             parser->rank, parser->labels[i].text,
                             parser->arrays.line[parser->labels[i - 1].op],
                             parser->arrays.line[parser->labels[i].op]);
        }
    }
    for (uint32_t i = 0; i < parser->wait_count; i++) {
        weft_poll();
        const struct wait *wait = &parser->waits[i];
        uint32_t edge = parser->edge_count++;
        if (!find_label(&parser->arrays.after[edge], parser, &wait->after, error) ||
            !find_label(&parser->arrays.before[edge], parser, &wait->before, error)) {
            return weft_wrap(error, "line %u", wait->line);
        }
        parser->arrays.at_start[edge] = wait->at_start;
    }
    parser->rank_end[parser->rank] = parser->op_count;
    parser->rank = WEFT_NONE;
    return true;
}

static bool open_rank(struct parser *parser, struct weft_error *error)
{
    uint32_t rank = parser->opened_rank;
    if (rank == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT, "a brace opens, but no rank; write rank 0 {");
    }
    if (parser->rank_begin[rank] != WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT, "rank %u stands here a second time", rank);
    }
    parser->rank_begin[rank] = parser->op_count;
    parser->rank = rank;
    parser->opened_rank = WEFT_NONE;
    parser->label_count = 0;
    parser->wait_count = 0;
    return true;
}

// A statement outside the ranks' braces.
static bool read_outside(struct parser *parser, struct weft_error *error)
{
    const struct scanner *scanner = &parser->scanner;
    const struct word *words = scanner->words;
    uint64_t value = 0;
    if (scanner->word_count == 2 && is(&words[0], "num_ranks") && parser->rank_count == 0) {
        if (!read_number(&value, &words[1], "num_ranks", GOAL_RANKS_MAX, error)) {
            return false;
        }
        if (value == 0) {
            return weft_fail(error, WEFT_INPUT, "num_ranks: 0 ranks do nothing");
        }
        parser->rank_count = (uint32_t)value;
        parser->rank_begin = WEFT_NEW_RAW(parser->arena, uint32_t, value);
        parser->rank_end = WEFT_NEW(parser->arena, uint32_t, value);
        memset(parser->rank_begin, 0xff, sizeof(uint32_t) * value);
        return true;
    }
    if (scanner->word_count != 2 || !is(&words[0], "rank") || parser->opened_rank != WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT, "'%.*s': %s", SHOWN(&words[0]),
                         parser->rank_count == 0 ? "a schedule begins with num_ranks 32"
                                                 : "write rank 0 { ... }");
    }
    if (parser->rank_count == 0) {
        return weft_fail(error, WEFT_INPUT, "how many ranks? a schedule begins with num_ranks 32");
    }
    if (!read_number(&value, &words[1], "rank", parser->rank_count - 1, error)) {
        return false;
    }
    parser->opened_rank = (uint32_t)value;
    return true;
}

static bool check_label(const struct word *word, struct weft_error *error)
{
    bool letter = (word->text[0] >= 'a' && word->text[0] <= 'z') ||
                  (word->text[0] >= 'A' && word->text[0] <= 'Z') || word->text[0] == '_';
    return (letter && word->length <= LABEL_MAX) ||
           weft_fail(error, WEFT_INPUT, "'%.*s' is no label; they begin with a letter",
                     SHOWN(word));
}

static bool read_inside(struct parser *parser, struct weft_error *error)
{
    const struct scanner *scanner = &parser->scanner;
    const struct word *words = scanner->words;
    if (scanner->word_count > 1 && is(&words[1], ":")) {
        return check_label(&words[0], error) && read_op(parser, 2, &words[0], error);
    }
    bool at_start = scanner->word_count == 3 && is(&words[1], "irequires");
    if (at_start || (scanner->word_count == 3 && is(&words[1], "requires"))) {
        if (!check_label(&words[0], error) || !check_label(&words[2], error)) {
            return false;
        }
        parser->waits[parser->wait_count++] =
            (struct wait){words[0], words[2], scanner->said_line, at_start};
        return true;
    }
    return read_op(parser, 0, NULL, error);
}

static bool read_statement(struct parser *parser, struct weft_error *error)
{
    const struct scanner *scanner = &parser->scanner;
    bool inside = parser->rank != WEFT_NONE;
    if (scanner->word_count > 0 &&
        !(inside ? read_inside(parser, error) : read_outside(parser, error))) {
        return weft_wrap(error, "line %u", scanner->said_line);
    }
    if (scanner->stop == '{') {
        if (inside) {
            return weft_fail(error, WEFT_INPUT, "line %u: rank %u does not end; write }",
                             scanner->line, parser->rank);
        }
        return open_rank(parser, error) || weft_wrap(error, "line %u", scanner->line);
    }
    if (scanner->stop == '}') {
        if (!inside) {
            return weft_fail(error, WEFT_INPUT, "line %u: a brace closes that none opens",
                             scanner->line);
        }
        return end_rank(parser, error);
    }
    return true;
}

// ---- the whole ----

// Statements end at one of these, and empty ones are nothing: nothing is more than one of them.
static uint32_t count_statements(const char *data, size_t length)
{
    uint32_t count = 1;
    bool empty = true;
    for (size_t i = 0; i < length; i++) {
        bool ends = data[i] == '\n' || data[i] == ';' || data[i] == '{' || data[i] == '}';
        count += ends && !empty;
        empty = ends || (empty && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r'));
    }
    return count;
}

// Operations in the order of their ranks, where the file has them otherwise.
static void order_ranks(struct parser *parser, struct weft_goal *goal, struct weft_arena *arena)
{
    struct goal_arrays *from = &parser->arrays;
    struct goal_arrays to =
        goal_arrays_init(parser->rank_count, parser->op_count, parser->edge_count, true, arena);
    uint32_t *place = WEFT_NEW_RAW(arena, uint32_t, parser->op_count);
    uint32_t filled = 0;
    for (uint32_t rank = 0; rank < parser->rank_count; rank++) {
        to.rank_first[rank] = filled;
        uint32_t begin = parser->rank_begin[rank];
        uint32_t end = begin == WEFT_NONE ? begin : parser->rank_end[rank];
        for (uint32_t op = begin; op < end; op++) {
            place[op] = filled;
            to.kind[filled] = from->kind[op];
            to.size[filled] = from->size[op];
            to.peer[filled] = from->peer[op];
            to.tag[filled] = from->tag[op];
            to.cpu[filled] = from->cpu[op];
            to.nic[filled] = from->nic[op];
            to.line[filled] = from->line[op];
            to.labels[filled++] = from->labels[op];
        }
    }
    to.rank_first[parser->rank_count] = filled;
    for (uint32_t e = 0; e < parser->edge_count; e++) {
        to.before[e] = place[from->before[e]];
        to.after[e] = place[from->after[e]];
        to.at_start[e] = from->at_start[e];
    }
    goal_publish(goal, &to, parser->rank_count, parser->edge_count);
}

// Reads the whole text in one pass; operations are put in the order of their ranks at the end.
bool goal_read_text(struct weft_goal *goal, const char *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    uint32_t room = count_statements(data, length);
    struct parser parser = {
        .scanner = {.at = data, .end = data + length, .line = 1},
        .arena = arena,
        .rank = WEFT_NONE,
        .opened_rank = WEFT_NONE,
    };
    parser.arrays = goal_arrays_init(0, room, room, true, &scratch);
    parser.labels = WEFT_NEW_RAW(&scratch, struct label, room);
    parser.waits = WEFT_NEW_RAW(&scratch, struct wait, room);
    do {
        if (!next_statement(&parser.scanner, error) || !read_statement(&parser, error)) {
            return false;
        }
    } while (parser.scanner.stop != '\0');
    if (parser.rank != WEFT_NONE || parser.opened_rank != WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT, "line %u: the text ends inside rank %u; write }",
                         parser.scanner.line,
                         parser.rank != WEFT_NONE ? parser.rank : parser.opened_rank);
    }
    if (parser.rank_count == 0) {
        return weft_fail(error, WEFT_INPUT, "how many ranks? a schedule begins with num_ranks 32");
    }
    order_ranks(&parser, goal, arena);
    return true;
}
