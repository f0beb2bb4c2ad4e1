// SPDX-License-Identifier: Apache-2.0
// What a file is, by its beginning: so that a message can say "this is a cluster file" where one
// reader stumbles over what another one reads, and so that arguments find their places.
//
// Rows of a table say what a kind is known by: the bytes that it begins with, the keys of its
// outermost mapping (YAML at the left margin, JSON inside the first brace), its root element, or
// words of its first lines. The first row that fits wins, so that a narrow one stands before a wide
// one; what no row knows, its first line may tell. O(bytes * rows) of 64 KiB at most.

#include "format/syntax/lines.h"
#include "weft/format/file.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 1 << 16, KEYS_MAX = 3, WORD_BYTES = 48 };

// What a kind is known by.
enum mark {
    BYTES,   // the file begins so
    KEYS,    // all of these keys stand in the outermost mapping
    SCHEMA,  // as Weft's own JSON says it: "weft.plan/"
    ELEMENT, // the root element of XML
    LINES,   // each word begins a line, one after the other
};

struct row {
    enum weft_file_kind kind;
    enum mark mark;
    const char *words[KEYS_MAX]; // fewer: NULL behind the last
};

static const char *const names[WEFT_FILE_KINDS] = {
    [WEFT_FILE_UNKNOWN] = "a file that Weft does not know",
    [WEFT_FILE_CLUSTER] = "a cluster file",
    [WEFT_FILE_MODEL] = "a model file",
    [WEFT_FILE_GRAPH] = "a task graph",
    [WEFT_FILE_PLAN] = "a plan",
    [WEFT_FILE_SNAPSHOT] = "a snapshot of jobs",
    [WEFT_FILE_SWEEP] = "a sweep's file",
    [WEFT_FILE_JOB_TRACE] = "a trace of jobs",
    [WEFT_FILE_RAIL_JOB] = "a job on rails",
    [WEFT_FILE_EXPERT_JOB] = "a job of experts",
    [WEFT_FILE_PROFILE] = "a profile",
    [WEFT_FILE_CLAIMS] = "a file of claims",
    [WEFT_FILE_RESULT] = "a result of weft in JSON",
    [WEFT_FILE_CHAKRA] = "a file of a Chakra trace",
    [WEFT_FILE_GOAL] = "a GOAL schedule",
    [WEFT_FILE_MATRIX] = "a traffic matrix of htsim",
    [WEFT_FILE_TIERS] = "a topology of htsim",
    [WEFT_FILE_MSCCL] = "a program of MSCCL",
    [WEFT_FILE_MSCCLPP] = "a plan of MSCCL++",
    [WEFT_FILE_NCCL_TOPOLOGY] = "a server's NCCL topology",
    [WEFT_FILE_NCCL_GRAPH] = "a graph of NCCL",
    [WEFT_FILE_NCCL_TESTS] = "what nccl-tests prints",
    [WEFT_FILE_SIMAI] = "a SimAI workload",
    [WEFT_FILE_HOSTS] = "a SimAI or HPCC topology",
    [WEFT_FILE_GRAPHML] = "a GraphML graph",
    [WEFT_FILE_EDGES] = "a list of edges",
    [WEFT_FILE_ASTRA_NETWORK] = "an ASTRA-sim network",
    [WEFT_FILE_INFRAGRAPH] = "an InfraGraph",
    [WEFT_FILE_KINETO] = "a Kineto trace",
    [WEFT_FILE_PYTORCH_HOST] = "PyTorch's trace of the host",
    [WEFT_FILE_SLURM] = "a Slurm topology",
    [WEFT_FILE_TRANSFORMERS] = "a model's configuration of Hugging Face",
    [WEFT_FILE_DOT] = "a graph in DOT",
    [WEFT_FILE_SVG] = "an SVG picture",
    [WEFT_FILE_HTML] = "an HTML page",
    [WEFT_FILE_PDF] = "a PDF",
    [WEFT_FILE_PICTURE] = "a picture",
    [WEFT_FILE_COMPRESSED] = "a compressed file",
    [WEFT_FILE_PROGRAM] = "a program",
};

static const struct row rows[] = {
    {WEFT_FILE_COMPRESSED, BYTES, {"\x1f\x8b"}},
    {WEFT_FILE_COMPRESSED, BYTES, {"PK\x03\x04"}},
    {WEFT_FILE_COMPRESSED, BYTES, {"\x28\xb5\x2f\xfd"}},
    {WEFT_FILE_COMPRESSED, BYTES, {"\xfd\x37zXZ"}},
    {WEFT_FILE_COMPRESSED, BYTES, {"BZh"}},
    {WEFT_FILE_PDF, BYTES, {"%PDF-"}},
    {WEFT_FILE_PICTURE, BYTES, {"\x89PNG"}},
    {WEFT_FILE_PICTURE, BYTES, {"\xff\xd8\xff"}},
    {WEFT_FILE_PROGRAM,
     BYTES,
     {"\x7f"
      "ELF"}},
    {WEFT_FILE_PROGRAM, BYTES, {"#!"}},
    {WEFT_FILE_HTML, BYTES, {"<!DOCTYPE html"}},
    {WEFT_FILE_HTML, BYTES, {"<!doctype html"}},
    {WEFT_FILE_HTML, ELEMENT, {"html"}},
    {WEFT_FILE_SVG, ELEMENT, {"svg"}},
    {WEFT_FILE_GRAPHML, ELEMENT, {"graphml"}},
    {WEFT_FILE_MSCCL, ELEMENT, {"algo"}},
    {WEFT_FILE_NCCL_TOPOLOGY, ELEMENT, {"system"}},
    {WEFT_FILE_NCCL_GRAPH, ELEMENT, {"graphs"}},
    {WEFT_FILE_PLAN, SCHEMA, {"weft.plan/"}},
    {WEFT_FILE_RESULT, SCHEMA, {"weft."}},
    {WEFT_FILE_MSCCLPP, KEYS, {"collective", "gpus"}},
    {WEFT_FILE_KINETO, KEYS, {"traceEvents"}},
    {WEFT_FILE_KINETO, KEYS, {"schemaVersion", "deviceProperties"}},
    {WEFT_FILE_PYTORCH_HOST, KEYS, {"schema", "pid", "nodes"}},
    {WEFT_FILE_TRANSFORMERS, KEYS, {"model_type", "hidden_size"}},
    {WEFT_FILE_PROFILE, KEYS, {"measurements"}},
    {WEFT_FILE_SNAPSHOT, KEYS, {"jobs", "links"}},
    {WEFT_FILE_SWEEP, KEYS, {"grid"}},
    {WEFT_FILE_SWEEP, KEYS, {"scenarios"}},
    {WEFT_FILE_JOB_TRACE, KEYS, {"cluster", "classes"}},
    {WEFT_FILE_JOB_TRACE, KEYS, {"cluster", "jobs"}},
    {WEFT_FILE_RAIL_JOB, KEYS, {"forward", "backward", "rate"}},
    {WEFT_FILE_EXPERT_JOB, KEYS, {"servers", "copies"}},
    {WEFT_FILE_EXPERT_JOB, KEYS, {"servers", "experts"}},
    {WEFT_FILE_CLAIMS, KEYS, {"claims"}},
    {WEFT_FILE_INFRAGRAPH, KEYS, {"infrastructure"}},
    {WEFT_FILE_INFRAGRAPH, KEYS, {"devices"}},
    {WEFT_FILE_INFRAGRAPH, KEYS, {"device"}},
    {WEFT_FILE_INFRAGRAPH, KEYS, {"components"}},
    {WEFT_FILE_ASTRA_NETWORK, KEYS, {"topology", "npus_count"}},
    {WEFT_FILE_SLURM, KEYS, {"topology"}},
    {WEFT_FILE_MODEL, KEYS, {"operators"}},
    {WEFT_FILE_MODEL, KEYS, {"preset"}},
    {WEFT_FILE_MODEL, KEYS, {"network"}},
    {WEFT_FILE_CLUSTER, KEYS, {"servers", "degree"}},
    {WEFT_FILE_CLUSTER, KEYS, {"servers", "rate"}},
    {WEFT_FILE_CLUSTER, KEYS, {"servers", "accelerators"}},
    {WEFT_FILE_GOAL, LINES, {"num_ranks"}},
    {WEFT_FILE_MATRIX, LINES, {"Nodes", "Connections"}},
    {WEFT_FILE_SLURM, LINES, {"SwitchName="}},
    {WEFT_FILE_SLURM, LINES, {"BlockName="}},
    {WEFT_FILE_DOT, LINES, {"digraph"}},
    {WEFT_FILE_DOT, LINES, {"graph"}},
};

// ---- text ----

static const char *skip(const char *at, const char *end, const char *bytes)
{
    while (at < end && strchr(bytes, *at) != NULL && *at != '\0') {
        at++;
    }
    return at;
}

static bool begins(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - at) >= length && memcmp(at, word, length) == 0;
}

static const char *end_of_line(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    return stop != NULL ? stop + 1 : end;
}

// Whether lines, but for empty ones and comments before them, begin with those words in turn.
static bool has_lines(const char *at, const char *end, const char *const *words)
{
    for (uint32_t w = 0; w < KEYS_MAX && words[w] != NULL; w++) {
        at = skip(at, end, " \t\r\n");
        while (at < end && *at == '#') {
            at = skip(end_of_line(at, end), end, " \t\r\n");
        }
        if (!begins(at, end, words[w])) {
            return false;
        }
        at = end_of_line(at, end);
    }
    return true;
}

// The first element of XML, behind a prolog and comments.
static bool has_element(const char *at, const char *end, const char *name)
{
    for (;;) {
        at = skip(at, end, " \t\r\n");
        if (begins(at, end, "<!--")) {
            const char *close = memmem(at, (size_t)(end - at), "-->", 3);
            at = close != NULL ? close + 3 : end;
        } else if (begins(at, end, "<?") || begins(at, end, "<!")) {
            const char *close = memchr(at, '>', (size_t)(end - at));
            at = close != NULL ? close + 1 : end;
        } else {
            break;
        }
    }
    size_t length = strlen(name);
    return at < end && *at == '<' && begins(at + 1, end, name) && at + 1 + length < end &&
           strchr(" \t\r\n>/", at[1 + length]) != NULL;
}

// Whether a key of that name begins here, with or without quotes; *value: behind its colon.
static bool is_key(const char *at, const char *end, const char *name, const char **value)
{
    bool quoted = at < end && (*at == '"' || *at == '\'');
    at += quoted;
    if (!begins(at, end, name)) {
        return false;
    }
    at += strlen(name);
    if (quoted) {
        at += at < end && (*at == '"' || *at == '\'');
    }
    at = skip(at, end, " \t");
    *value = at < end ? at + 1 : end;
    return at < end && *at == ':';
}

// JSON: the key stands behind the first brace, or a comma of its mapping.
static bool has_json_key(const char *at, const char *end, const char *name, const char **value)
{
    uint32_t depth = 0;
    bool quoted = false;
    for (; at < end; at++) {
        if (quoted) {
            at += *at == '\\';
            quoted = at < end && *at != '"';
            continue;
        }
        if (depth == 1 && (*at == ',' || *at == '{') &&
            is_key(skip(at + 1, end, " \t\r\n"), end, name, value)) {
            return true;
        }
        quoted = *at == '"';
        depth += *at == '{' || *at == '[';
        depth -= depth > 0 && (*at == '}' || *at == ']');
        if (depth == 1 && *at == '{' && is_key(skip(at + 1, end, " \t\r\n"), end, name, value)) {
            return true;
        }
    }
    return false;
}

// YAML: the key stands at the left margin, or behind the dash of a list there.
static bool has_yaml_key(const char *at, const char *end, const char *name)
{
    const char *value;
    for (; at < end; at = end_of_line(at, end)) {
        const char *key = begins(at, end, "- ") ? skip(at + 1, end, " ") : at;
        if (is_key(key, end, name, &value)) {
            return true;
        }
    }
    return false;
}

static bool has_key(const char *at, const char *end, const char *name)
{
    const char *value;
    const char *first = skip(at, end, " \t\r\n");
    return first < end && *first == '{' ? has_json_key(first, end, name, &value)
                                        : has_yaml_key(at, end, name);
}

static bool has_schema(const char *at, const char *end, const char *begin)
{
    const char *value;
    at = skip(at, end, " \t\r\n");
    if (at == end || *at != '{' || !has_json_key(at, end, "schema", &value)) {
        return false;
    }
    value = skip(value, end, " \t\r\n\"");
    return begins(value, end, begin);
}

// ---- what has no words ----

static bool is_number(const struct line_word *word)
{
    size_t digits = 0;
    while (digits < word->length && word->text[digits] >= '0' && word->text[digits] <= '9') {
        digits++;
    }
    return digits == word->length;
}

// Lines that begin with numbers: the head of ns-3's topologies has three of them, or five and the
// GPU's name; an edge has two.
static enum weft_file_kind of_numbers(const struct lines *first)
{
    bool all = true;
    for (uint32_t w = 0; w < first->word_count && w < 5; w++) {
        all &= is_number(&first->words[w]);
    }
    if (all && (first->word_count == 3 || first->word_count == 6)) {
        return WEFT_FILE_HOSTS;
    }
    return first->word_count >= 2 && is_number(&first->words[1]) ? WEFT_FILE_EDGES
                                                                 : WEFT_FILE_UNKNOWN;
}

// By the words of the first line that is no comment: what begins with no word of its own.
static enum weft_file_kind of_first_line(const char *text, size_t length)
{
    static const char *const policies[] = {"HYBRID_", "MICRO", "DISTRIBUTED_INFERENCE", "DATA",
                                           "MODEL"};
    struct lines first = {.at = text, .end = text + length};
    struct weft_error ignored;
    bool more = false;
    if (memchr(text, '\0', length) != NULL || !lines_next(&first, &more, &ignored) || !more) {
        return WEFT_FILE_UNKNOWN;
    }
    if (memmem(text, length, "busbw", 5) != NULL) {
        return WEFT_FILE_NCCL_TESTS; // the title of a column, in a comment
    }
    const struct line_word *word = &first.words[0];
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        size_t own = strlen(policies[i]);
        if (word->length >= own && memcmp(word->text, policies[i], own) == 0 &&
            (i == 0 || word->length == own)) {
            return WEFT_FILE_SIMAI;
        }
    }
    if (word_is(word, "Nodes")) {
        bool tiers =
            memmem(text, length, "Tiers", 5) != NULL || memmem(text, length, "tiers", 5) != NULL;
        return tiers ? WEFT_FILE_TIERS : WEFT_FILE_UNKNOWN;
    }
    bool comma = memchr(word->text, ',', word->length) != NULL;
    if (is_number(word)) {
        return of_numbers(&first);
    }
    const char third = first.word_count > 2 ? first.words[2].text[0] : '0';
    bool plain = memchr(word->text, ':', word->length) == NULL &&
                 memchr(word->text, '=', word->length) == NULL && word->text[0] != '-';
    bool edge = comma || (first.word_count >= 2 && first.word_count <= 4);
    return plain && edge && (third == '{' || (third >= '0' && third <= '9')) ? WEFT_FILE_EDGES
                                                                             : WEFT_FILE_UNKNOWN;
}

// A message that says the version of Chakra's schema stands first, behind its length.
static bool is_chakra(const char *at, size_t length)
{
    return length > 8 && at[1] == '\n' && (uint8_t)at[2] < 16 && isdigit((unsigned char)at[3]) &&
           at[4] == '.';
}

// FlatBuffers: where the root table is, which is near, then padding or the table of its fields.
static bool is_graph(const char *at, size_t length)
{
    uint32_t root = 0;
    if (length < 64) {
        return false;
    }
    memcpy(&root, at, sizeof root);
    return root >= 8 && root <= 128 && root % 4 == 0 && memchr(at + 4, 0, 4) != NULL;
}

static bool fits(const struct row *row, const char *at, const char *end)
{
    bool all = true;
    switch (row->mark) {
    case BYTES:
        return begins(at, end, row->words[0]);
    case KEYS:
        for (uint32_t w = 0; w < KEYS_MAX && row->words[w] != NULL; w++) {
            all = all && has_key(at, end, row->words[w]);
        }
        return all;
    case SCHEMA:
        return has_schema(at, end, row->words[0]);
    case ELEMENT:
        return has_element(at, end, row->words[0]);
    case LINES:
        return has_lines(at, end, row->words);
    default:
        return false;
    }
}

enum weft_file_kind weft_file_kind_of(const char *data, size_t length)
{
    const char *end = data + (length < HEAD_BYTES ? length : HEAD_BYTES);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (fits(&rows[i], data, end)) {
            return rows[i].kind;
        }
    }
    return is_chakra(data, length)  ? WEFT_FILE_CHAKRA
           : is_graph(data, length) ? WEFT_FILE_GRAPH
                                    : of_first_line(data, (size_t)(end - data));
}

// ---- files ----

enum weft_file_kind weft_file_kind(const char *path)
{
    struct stat status;
    char head[HEAD_BYTES];
    size_t length = 0;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        return WEFT_FILE_UNKNOWN; // what is no file is read once alone, by who needs it
    }
    int file = -1;
    struct weft_error error;
    if (!weft_file_open(&file, path, &error)) {
        return WEFT_FILE_UNKNOWN; // who needs it says why
    }
    for (ssize_t got = 1; got > 0 && length < sizeof head;) {
        got = read(file, head + length, sizeof head - length);
        length += got > 0 ? (size_t)got : 0;
    }
    close(file);
    return weft_file_kind_of(head, length);
}

const char *weft_file_kind_name(enum weft_file_kind kind)
{
    WEFT_ASSERT(kind < WEFT_FILE_KINDS);
    return names[kind];
}

bool weft_file_mistaken(struct weft_error *error, const char *path, enum weft_file_kind wanted)
{
    enum weft_file_kind kind = error->code == WEFT_INPUT ? weft_file_kind(path) : wanted;
    if (kind == wanted || kind == WEFT_FILE_UNKNOWN) {
        return weft_wrap(error, "%s", path);
    }
    weft_fail(error, WEFT_INPUT, "%s: this is %s, not %s", path, names[kind], names[wanted]);
    return weft_remedy(error, "file", "%u", (unsigned)kind);
}
