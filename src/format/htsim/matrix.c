// SPDX-License-Identifier: Apache-2.0
// htsim's traffic matrices (.cm) in: lines of words, as sim/datacenter/connection_matrix.cpp of
// Broadcom/csg-htsim reads them. A header (Nodes, Connections, Triggers, Failures), then a line for
// each connection, trigger and failed cable in any order.
//
// The reader holds the lines against the counts of the header and against each other's ids; what
// triggers do is left to weft_matrix_lower. Triggers may be used before they are described, so they
// get their index where they are first named.
//
// Newer readers (csg-htsim, uet-htsim, their forks) have further words. Those that say nothing to
// what is played are passed over and named; those that change what is sent are refused.

#include "format/syntax/idmap.h"
#include "format/syntax/lines.h"
#include "weft/format.h"

#include <stdio.h>
#include <string.h>

#define BYTES_MAX ((size_t)2 << 30)
#define NODES_MAX (1u << 20)
#define SIZE_MAX_BYTES ((uint64_t)1 << 62)
#define START_MAX_PS ((uint64_t)1 << 62)

enum head { NODES, CONNECTIONS, TRIGGERS, FAILURES, HEAD_COUNT };
static const char *const head_names[HEAD_COUNT] = {"Nodes", "Connections", "Triggers", "Failures"};

struct reader {
    struct lines lines;
    struct weft_matrix_connection *connections;
    uint32_t *priority; // by connection
    uint32_t connection_count;
    struct weft_matrix_trigger *triggers;
    uint32_t trigger_count;
    struct weft_idmap ids; // triggers
    struct weft_idmap flows;
    struct weft_tier_failure *failures;
    uint32_t failure_count;
    uint32_t described_count;
    uint32_t priority_count;
    uint64_t head[HEAD_COUNT];
    bool head_given[HEAD_COUNT];
    uint32_t trigger_room;
    uint64_t id;      // of this connection
    uint32_t message; // its msgid and one; 0 = none
    char skipped[120];
};

// Names a word once.
static void skip_word(struct reader *reader, const struct line_word *word)
{
    char name[24];
    size_t length = strlen(reader->skipped);
    snprintf(name, sizeof name, "%.*s", (int)(word->length < 20 ? word->length : 20), word->text);
    for (char *c = name; *c != '\0'; c++) {
        *c = (char)(*c > ' ' && *c < 127 ? *c : '?');
    }
    if (strstr(reader->skipped, name) == NULL) {
        snprintf(reader->skipped + length, sizeof reader->skipped - length, "%s%s",
                 length > 0 ? ", " : "", name);
    }
}

// ---- the header ----

static bool read_head(struct reader *reader, bool *matches, struct weft_error *error)
{
    const struct line_word *word = NULL;
    *matches = false;
    for (enum head h = NODES; h < HEAD_COUNT; h++) {
        if (!word_is(&reader->lines.words[0], head_names[h])) {
            continue;
        }
        *matches = true;
        if (reader->head_given[h]) {
            return weft_fail(error, WEFT_INPUT, "%s stands here a second time", head_names[h]);
        }
        reader->head_given[h] = true;
        return word_behind(&word, &reader->lines, 0, error) &&
               word_count(&reader->head[h], word, head_names[h], h == NODES ? 1 : 0,
                          h == NODES ? NODES_MAX : UINT32_MAX, error);
    }
    return true;
}

// ---- connections ----

// The index of a trigger, added where it is new.
static bool find_trigger(uint32_t *index, struct reader *reader, const struct line_word *word,
                         const char *what, struct weft_error *error)
{
    uint64_t id = 0;
    if (!word_count(&id, word, what, 1, UINT32_MAX, error)) {
        return false;
    }
    *index = reader->trigger_count;
    WEFT_ASSERT(reader->trigger_count < reader->trigger_room);
    switch (weft_idmap_add(&reader->ids, id, reader->trigger_count, index)) {
    case WEFT_IDMAP_ADDED:
        reader->triggers[reader->trigger_count++] =
            (struct weft_matrix_trigger){.id = id, .line = reader->lines.number};
        return true;
    case WEFT_IDMAP_PRESENT:
        return true;
    case WEFT_IDMAP_CROWDED:
        break;
    }
    return weft_fail(error, WEFT_INPUT, "trigger %llu collides with too many others; renumber",
                     (unsigned long long)id);
}

// An id may stand again with another msgid: uet-htsim's messages of one flow.
static bool keep_id(struct reader *reader, struct weft_error *error)
{
    uint32_t other = 0;
    uint64_t id = reader->id;
    uint64_t key = id | (uint64_t)reader->message << 32;
    switch (weft_idmap_add(&reader->flows, key, reader->connection_count, &other)) {
    case WEFT_IDMAP_ADDED:
        return true;
    case WEFT_IDMAP_PRESENT:
        return weft_fail(error, WEFT_INPUT, "id %llu is that of line %u, too",
                         (unsigned long long)id, reader->connections[other].line);
    case WEFT_IDMAP_CROWDED:
        break;
    }
    return weft_fail(error, WEFT_INPUT, "id %llu collides with too many others; renumber",
                     (unsigned long long)id);
}

enum word {
    ID,
    START,
    SIZE,
    TRIGGER,
    SENT,
    RECEIVED,
    PRIORITY,
    MESSAGE,
    ADDON,
    DEMAND,
    WORD_COUNT
};
static const char *const word_names[WORD_COUNT] = {
    [ID] = "id",
    [START] = "start",
    [SIZE] = "size",
    [TRIGGER] = "trigger",
    [SENT] = "send_done_trigger",
    [RECEIVED] = "recv_done_trigger",
    [PRIORITY] = "prio",
    [MESSAGE] = "msgid", // uet-htsim
    [ADDON] = "addon",   // csg-htsim: alone
    [DEMAND] = "demand", // forks for traffic engineering: told, not played
};

// Stores the value of one word of a connection; a trigger that it names is added where it is
// new.
static bool set_word(struct reader *reader, struct weft_matrix_connection *connection,
                     enum word name, const struct line_word *word, struct weft_error *error)
{
    uint64_t priority = 0;
    uint64_t number = 0;
    switch (name) {
    case ID:
        return word_count(&reader->id, word, "id", 1, UINT32_MAX, error);
    case MESSAGE:
        if (!word_count(&number, word, word_names[name], 0, UINT32_MAX - 1, error)) {
            return false;
        }
        reader->message = (uint32_t)number + 1;
        return true;
    case ADDON:
    case DEMAND:
        return true;
    case START:
        return word_decimal(&connection->start_ps, word, "start (ps)", START_MAX_PS, error);
    case SIZE:
        return word_count(&connection->size_bytes, word, "size", 1, SIZE_MAX_BYTES, error);
    case TRIGGER:
        return find_trigger(&connection->started_by, reader, word, word_names[name], error);
    case SENT:
        return find_trigger(&connection->fires_when_sent, reader, word, word_names[name], error);
    case RECEIVED:
        return find_trigger(&connection->fires_on_reception, reader, word, word_names[name], error);
    case PRIORITY:
        if (!word_count(&priority, word, word_names[name], 0, WEFT_NONE - 1, error)) {
            return false;
        }
        reader->priority[reader->connection_count] = (uint32_t)priority;
        reader->priority_count++;
        return true;
    case WORD_COUNT:
        break;
    }
    return weft_fail(error, WEFT_INPUT,
                     "'%.*s' is no word of connections that Weft plays; write id, start, trigger, "
                     "size, send_done_trigger, recv_done_trigger or prio",
                     WORD_SHOWN(word));
}

// Word i and what stands behind it, past which i goes; `seen` has a bit for each word.
static bool take_pair(struct reader *reader, struct weft_matrix_connection *connection, uint32_t *i,
                      unsigned *seen, struct weft_error *error)
{
    const struct line_word *name = &reader->lines.words[*i];
    const struct line_word *word = name;
    enum word which = ID;
    while (which < WORD_COUNT && !word_is(name, word_names[which])) {
        which++;
    }
    if ((*seen >> which & 1) != 0) {
        return weft_fail(error, WEFT_INPUT, "%s is given twice", word_names[which]);
    }
    if (which < WORD_COUNT) {
        *seen |= 1u << which;
        if (which != ADDON && !word_behind(&word, &reader->lines, *i, error)) {
            return false;
        }
    }
    if (which >= MESSAGE && which < WORD_COUNT) {
        skip_word(reader, name);
    }
    *i += which == ADDON ? 1 : 2;
    return set_word(reader, connection, which, word, error);
}

static bool take_ends(struct reader *reader, struct weft_matrix_connection *connection,
                      const char *arrow, struct weft_error *error)
{
    const struct line_word *word = &reader->lines.words[0];
    struct line_word from = {word->text, (size_t)(arrow - word->text)};
    struct line_word to = {arrow + 2, word->length - from.length - 2};
    uint64_t ends[2] = {0};
    uint64_t last = reader->head[NODES] - 1;
    if (!word_count(&ends[0], &from, "source", 0, last, error) ||
        !word_count(&ends[1], &to, "destination", 0, last, error)) {
        return weft_wrap(error, "'%.*s'", WORD_SHOWN(word));
    }
    connection->from = (uint32_t)ends[0];
    connection->to = (uint32_t)ends[1];
    return true;
}

// Reads "0->1 id 1 start 0 size 2000000 ...": pairs of a name and a value in any order behind
// the two ends.
static bool read_connection(struct reader *reader, const char *arrow, struct weft_error *error)
{
    struct weft_matrix_connection connection = {
        .line = reader->lines.number,
        .start_ps = WEFT_NEVER,
        .started_by = WEFT_NONE,
        .fires_when_sent = WEFT_NONE,
        .fires_on_reception = WEFT_NONE,
    };
    reader->priority[reader->connection_count] = WEFT_NONE;
    if (!take_ends(reader, &connection, arrow, error)) {
        return false;
    }
    unsigned seen = 0;
    reader->message = 0;
    for (uint32_t i = 1; i < reader->lines.word_count;) {
        if (!take_pair(reader, &connection, &i, &seen, error)) {
            return false;
        }
    }
    if ((seen >> ID & 1) != 0 && !keep_id(reader, error)) {
        return false;
    }
    if (connection.size_bytes == 0) {
        return weft_fail(error, WEFT_INPUT, "it lacks its size; write size 2000000");
    }
    if ((connection.start_ps == WEFT_NEVER) == (connection.started_by == WEFT_NONE)) {
        return weft_fail(error, WEFT_INPUT, "it has %s; write one of start 0 and trigger 1",
                         connection.start_ps == WEFT_NEVER ? "no start" : "a start and a trigger");
    }
    reader->connections[reader->connection_count++] = connection;
    return true;
}

// ---- triggers and failures ----

static bool take_shot(struct weft_matrix_trigger *trigger, const struct line_word *word,
                      struct weft_error *error)
{
    static const char *const names[] = {[WEFT_MATRIX_ONESHOT] = "oneshot",
                                        [WEFT_MATRIX_MULTISHOT] = "multishot",
                                        [WEFT_MATRIX_BARRIER] = "barrier"};
    for (enum weft_matrix_shot shot = WEFT_MATRIX_ONESHOT; shot <= WEFT_MATRIX_BARRIER; shot++) {
        if (word_is(word, names[shot])) {
            if (trigger->shot != WEFT_MATRIX_UNDESCRIBED) {
                return weft_fail(error, WEFT_INPUT, "it says twice how it fires");
            }
            trigger->shot = shot;
            return true;
        }
    }
    return weft_fail(
        error, WEFT_INPUT,
        "'%.*s' is no word of triggers; write id, count, oneshot, multishot or barrier",
        WORD_SHOWN(word));
}

// Reads "trigger id 1 oneshot", multishot, or "barrier count 2". The trigger may have been
// named by connections before.
static bool read_trigger(struct reader *reader, struct weft_error *error)
{
    struct weft_matrix_trigger said = {0};
    uint32_t index = WEFT_NONE;
    uint64_t count = 0;
    for (uint32_t i = 1; i < reader->lines.word_count; i++) {
        const struct line_word *name = &reader->lines.words[i];
        const struct line_word *word = NULL;
        bool is_id = word_is(name, "id") && index == WEFT_NONE;
        if (!is_id && !word_is(name, "count")) {
            if (!take_shot(&said, name, error)) {
                return false;
            }
            continue;
        }
        if (!word_behind(&word, &reader->lines, i++, error) ||
            (is_id && !find_trigger(&index, reader, word, "id", error)) ||
            (!is_id && !word_count(&count, word, "count", 1, UINT32_MAX, error))) {
            return false;
        }
    }
    if (index == WEFT_NONE || said.shot == WEFT_MATRIX_UNDESCRIBED) {
        return weft_fail(error, WEFT_INPUT, "a trigger needs both; write trigger id 1 oneshot");
    }
    if ((said.shot == WEFT_MATRIX_BARRIER) != (count > 0)) {
        return weft_fail(error, WEFT_INPUT, "barriers have a count, others have none");
    }
    struct weft_matrix_trigger *trigger = &reader->triggers[index];
    if (trigger->shot != WEFT_MATRIX_UNDESCRIBED) {
        return weft_fail(error, WEFT_INPUT, "trigger %llu was described before",
                         (unsigned long long)trigger->id);
    }
    trigger->shot = said.shot;
    trigger->need = (uint32_t)count;
    trigger->line = reader->lines.number;
    reader->described_count++;
    return true;
}

// Reads "failure switch_type AGG switch_id 0 link_id 0": a cable above an aggregation switch.
static bool read_failure(struct reader *reader, struct weft_error *error)
{
    uint64_t values[2] = {WEFT_NEVER, WEFT_NEVER};
    bool aggregation = false;
    for (uint32_t i = 1; i < reader->lines.word_count; i += 2) {
        const struct line_word *name = &reader->lines.words[i];
        const struct line_word *word = NULL;
        bool is_link = word_is(name, "link_id");
        if (!word_behind(&word, &reader->lines, i, error)) {
            return false;
        }
        if (word_is(name, "switch_type") && word_is(word, "AGG")) {
            aggregation = true;
        } else if (word_is(name, "switch_type")) {
            return weft_fail(
                error, WEFT_INPUT,
                "switch_type %.*s: htsim breaks cables above switches of type AGG only",
                WORD_SHOWN(word));
        } else if (!is_link && !word_is(name, "switch_id")) {
            return weft_fail(
                error, WEFT_INPUT,
                "'%.*s' is no word of failures; write switch_type, switch_id or link_id",
                WORD_SHOWN(name));
        } else if (!word_count(&values[is_link], word, is_link ? "link_id" : "switch_id", 0,
                               UINT32_MAX, error)) {
            return false;
        }
    }
    if (!aggregation || values[0] == WEFT_NEVER || values[1] == WEFT_NEVER) {
        return weft_fail(error, WEFT_INPUT, "write failure switch_type AGG switch_id 0 link_id 0");
    }
    reader->failures[reader->failure_count++] =
        (struct weft_tier_failure){(uint32_t)values[0], (uint32_t)values[1]};
    return true;
}

// ---- the whole ----

static const char *find_arrow(const struct line_word *word)
{
    for (size_t i = 0; i + 1 < word->length; i++) {
        if (word->text[i] == '-' && word->text[i + 1] == '>') {
            return word->text + i;
        }
    }
    return NULL;
}

// Reads one line by its first word: an arrow makes it a connection; the header must have said
// how many nodes there are before.
static bool read_line(struct reader *reader, struct weft_error *error)
{
    const struct line_word *word = &reader->lines.words[0];
    const char *arrow = find_arrow(word);
    bool matches = false;
    if (arrow == NULL && !read_head(reader, &matches, error)) {
        return false;
    }
    if (matches) {
        return true;
    }
    if (!reader->head_given[NODES]) {
        return weft_fail(error, WEFT_INPUT, "Nodes is missing; a matrix begins with Nodes 128");
    }
    if (arrow != NULL) {
        return read_connection(reader, arrow, error);
    }
    if (word_is(word, "trigger")) {
        return read_trigger(reader, error);
    }
    if (word_is(word, "failure")) {
        return read_failure(reader, error);
    }
    // csg-htsim passes over whatever else stands before the first connection.
    bool in_head = reader->connection_count == 0 && reader->described_count == 0;
    if (in_head && reader->lines.word_count == 2) {
        skip_word(reader, word);
        return true;
    }
    return weft_fail(error, WEFT_INPUT,
                     "'%.*s' begins no line of a matrix; write 0->1 start 0 size 2000000",
                     WORD_SHOWN(word));
}

static bool check_counts(const struct reader *reader, struct weft_error *error)
{
    const uint32_t counts[HEAD_COUNT] = {0, reader->connection_count, reader->described_count,
                                         reader->failure_count};
    if (!reader->head_given[NODES]) {
        return weft_fail(error, WEFT_INPUT, "Nodes is missing; a matrix begins with Nodes 128");
    }
    for (enum head h = CONNECTIONS; h < HEAD_COUNT; h++) {
        if (reader->head[h] != counts[h]) {
            return weft_fail(error, WEFT_INPUT, "%s is %llu, but %u follow", head_names[h],
                             (unsigned long long)reader->head[h], counts[h]);
        }
    }
    return true;
}

bool weft_matrix_read(struct weft_matrix *matrix, const char *data, size_t length,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    if (length > BYTES_MAX) {
        return weft_fail(error, WEFT_INPUT, "larger than %zu bytes", BYTES_MAX);
    }
    uint32_t line_count = lines_count(data, length) + 1; // nothing is more than one of them
    // A connection names three triggers at most.
    uint32_t trigger_room = line_count > UINT32_MAX / 8 ? UINT32_MAX / 2 : 3 * line_count + 1;
    struct reader reader = {
        .lines = {.at = data, .end = data + length},
        .connections = WEFT_NEW_RAW(arena, struct weft_matrix_connection, line_count),
        .priority = WEFT_NEW_RAW(arena, uint32_t, line_count),
        .triggers = WEFT_NEW_RAW(arena, struct weft_matrix_trigger, trigger_room),
        .trigger_room = trigger_room,
        .failures = WEFT_NEW_RAW(arena, struct weft_tier_failure, line_count),
    };
    weft_idmap_init(&reader.ids, trigger_room, &scratch);
    weft_idmap_init(&reader.flows, line_count, &scratch);
    for (bool more = true;;) {
        if (!lines_next(&reader.lines, &more, error)) {
            return false;
        }
        if (!more) {
            break;
        }
        if (!read_line(&reader, error)) {
            return weft_wrap(error, "line %u", reader.lines.number);
        }
    }
    if (!check_counts(&reader, error)) {
        return false;
    }
    *matrix = (struct weft_matrix){
        .node_count = (uint32_t)reader.head[NODES],
        .connection_count = reader.connection_count,
        .connections = reader.connections,
        .trigger_count = reader.trigger_count,
        .triggers = reader.triggers,
        .priority_count = reader.priority_count,
        .priority = reader.priority,
        .failure_count = reader.failure_count,
        .failures = reader.failures,
        .skipped = weft_arena_text(arena, reader.skipped, strlen(reader.skipped)),
    };
    return true;
}

bool weft_matrix_load(struct weft_matrix *matrix, const char *path, struct weft_arena *arena,
                      struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    struct weft_matrix read;
    if (!weft_file_load(&data, &length, path, WEFT_FILE_TRACE_BYTES, &scratch, error)) {
        return false;
    }
    if (!weft_matrix_read(&read, data, length, arena, scratch, error)) {
        return weft_file_mistaken(error, path, WEFT_FILE_MATRIX);
    }
    read.path = weft_arena_text(arena, path, strlen(path));
    *matrix = read;
    return true;
}
