// SPDX-License-Identifier: Apache-2.0
// Measured collectives: what the programs of nccl-tests print, and the files of NCCL's Inspector.
//
// nccl-tests (all_reduce_perf and others; RCCL's tests print the same) begin with comments: the
// test (since 2.17), a line for each rank with its host, and the names of the columns, by which
// rows are read: size, ..., and time twice, out of place and in place. `size` is of the whole
// collective, as Weft counts it. mpirun may put "[1,0]<stdout>:" before a line; lines that are
// neither comments nor rows are other programs' and pass.
//
// Inspector writes a JSON object a line: header (n_ranks, nnodes) and coll_perf. A message of an
// AllGather or a ReduceScatter is one rank's part there (NVIDIA/nccl, ext-profiler/inspector: 65536
// bytes of 32 ranks in 110 us are 19.07 GB/s), so that n of them are the collective. O(length).

#include "format/syntax/json.h"
#include "weft/format.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 32u
#define WORD_BYTES 64u // longer words are cut: none that counts is
#define MICRO 1e-6
#define TIME_MIN_US 1e-3
#define TIME_MAX_US 1e12
#define RANKS_MAX (1u << 20)
#define SIZE_MAX_BYTES (1ull << 50)

// The line at hand.
struct line {
    uint32_t number;
    uint32_t word_count; // WORDS_MAX where there are more
    char words[WORDS_MAX][WORD_BYTES];
};

// What has been read.
struct reading {
    struct weft_collective_sample *samples;
    size_t count, room;
    struct weft_arena *arena;
    struct weft_error *error;
    // nccl-tests: of the table that is being read.
    enum weft_collective_kind kind; // KIND_COUNT: not stated
    uint32_t rank_count;
    const char **hosts; // of each rank
    uint32_t host_room;
    uint32_t columns; // 0: no header yet
    uint32_t size_column, wrong_columns[2], time_columns[2], time_count, wrong_count;
};

// Twice the room for `count` items of so many bytes: others stand behind them in the arena, so that
// they move.
static void *widen(struct reading *reading, const void *items, size_t count, size_t bytes)
{
    char *wider = WEFT_NEW(reading->arena, char, (2 * count + 64) * bytes);
    if (count > 0) {
        memcpy(wider, items, count * bytes);
    }
    return wider;
}

static void add_sample(struct reading *reading, const struct weft_collective_sample *sample)
{
    if (reading->count == reading->room) {
        reading->samples = widen(reading, reading->samples, reading->count, sizeof *sample);
        reading->room = 2 * reading->room + 64;
    }
    reading->samples[reading->count++] = *sample;
}

// Cuts a line at its blanks; a "[1,0]<stdout>:" of mpirun before it goes.
static void split(struct line *line, const char *at, const char *end)
{
    const char *close = *at == '[' ? memchr(at, '>', (size_t)(end - at)) : NULL;
    if (close != NULL && end - close > 1 && close[1] == ':') {
        at = close + 2;
    }
    line->word_count = 0;
    while (line->word_count < WORDS_MAX) {
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) {
            at++;
        }
        if (at == end) {
            return;
        }
        char *word = line->words[line->word_count++];
        size_t length = 0;
        for (; at < end && *at != ' ' && *at != '\t' && *at != '\r'; at++) {
            if (length + 1 < WORD_BYTES && *at != '\0') {
                word[length++] = *at;
            }
        }
        word[length] = '\0';
    }
}

// ---- nccl-tests: comments ----

// "all_reduce_perf" or "all_reduce_perf_mpi".
static bool take_test(struct reading *reading, const char *name)
{
    static const struct {
        const char *name;
        enum weft_collective_kind kind;
    } tests[] = {
        {"all_reduce_perf", WEFT_COLLECTIVE_ALLREDUCE},
        {"all_gather_perf", WEFT_COLLECTIVE_ALLGATHER},
        {"reduce_scatter_perf", WEFT_COLLECTIVE_REDUCE_SCATTER},
        {"broadcast_perf", WEFT_COLLECTIVE_BROADCAST},
        {"reduce_perf", WEFT_COLLECTIVE_REDUCE},
        {"alltoall_perf", WEFT_COLLECTIVE_ALLTOALL},
    };
    for (uint32_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        size_t length = strlen(tests[i].name);
        if (strncmp(name, tests[i].name, length) == 0 &&
            (name[length] == '\0' || strcmp(name + length, "_mpi") == 0)) {
            reading->kind = tests[i].kind;
            return true;
        }
    }
    return weft_fail(reading->error, WEFT_INPUT,
                     "'%.40s' measures no collective that Weft has; leave its output out", name);
}

// "#  Rank  0 Group  0 Pid 43 on HOST device  0 [0x0f] NVIDIA A100": counts ranks; a rank 0 begins
// another run.
static bool take_rank(struct reading *reading, const struct line *line)
{
    uint64_t rank = 0;
    if (!weft_parse_count(&rank, line->words[2], 0, RANKS_MAX - 1, reading->error)) {
        return weft_wrap(reading->error, "rank");
    }
    if (rank == 0) {
        reading->rank_count = 0;
    }
    if (reading->rank_count == reading->host_room) {
        reading->hosts =
            widen(reading, reading->hosts, reading->rank_count, sizeof *reading->hosts);
        reading->host_room = 2 * reading->host_room + 64;
    }
    const char *host = "";
    for (uint32_t i = 3; i + 1 < line->word_count; i++) {
        host = strcmp(line->words[i], "on") == 0 && *host == '\0' ? line->words[i + 1] : host;
    }
    reading->hosts[reading->rank_count++] = weft_arena_text(reading->arena, host, strlen(host));
    return true;
}

// "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time ...": where columns are.
static bool take_header(struct reading *reading, const struct line *line)
{
    reading->columns = line->word_count - 1;
    reading->time_count = 0;
    reading->wrong_count = 0;
    for (uint32_t i = 1; i < line->word_count; i++) {
        const char *name = line->words[i];
        if (strcmp(name, "cputime") == 0) {
            return weft_fail(reading->error, WEFT_INPUT,
                             "cputime is what the host takes; measure again without -C 1");
        }
        if (strcmp(name, "time") == 0 && reading->time_count < 2) {
            reading->time_columns[reading->time_count++] = i - 1;
        }
        if (strcmp(name, "#wrong") == 0 && reading->wrong_count < 2) {
            reading->wrong_columns[reading->wrong_count++] = i - 1;
        }
        reading->size_column = strcmp(name, "size") == 0 ? i - 1 : reading->size_column;
    }
    return true;
}

static bool has_word(const struct line *line, const char *text)
{
    for (uint32_t i = 1; i < line->word_count; i++) {
        if (strcmp(line->words[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static bool take_comment(struct reading *reading, const struct line *line)
{
    const char(*words)[WORD_BYTES] = line->words;
    if (line->word_count == 5 && strcmp(words[1], "Collective") == 0 &&
        strcmp(words[3], "starting:") == 0) {
        reading->columns = 0;
        return take_test(reading, words[4]);
    }
    if (line->word_count > 3 && strcmp(words[1], "Rank") == 0) {
        return take_rank(reading, line);
    }
    bool header = has_word(line, "size") && (has_word(line, "time") || has_word(line, "cputime"));
    return !header || take_header(reading, line);
}

// ---- nccl-tests: rows ----

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

// Servers of the ranks; 0 where none named its host. Sorts them once: ranks of one run follow each
// other.
static uint32_t count_servers(const struct reading *reading)
{
    uint32_t count = 0;
    uint32_t ranks = reading->rank_count;
    if (ranks > 1) {
        qsort(reading->hosts, ranks, sizeof *reading->hosts, by_name);
    }
    for (uint32_t i = 0; i < ranks; i++) {
        bool differs = i == 0 || strcmp(reading->hosts[i], reading->hosts[i - 1]) != 0;
        count += differs && *reading->hosts[i] != '\0' ? 1 : 0;
    }
    return count;
}

// A row of figures by the columns of its header: one sample for each time that stands in it. Rows
// with wrong results are refused, since nobody knows what was measured then.
static bool take_row(struct reading *reading, const struct line *line, uint32_t server_count)
{
    struct weft_error *error = reading->error;
    uint64_t size_bytes = 0;
    if (reading->columns == 0 || reading->time_count == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "a row before its header; keep the line '# size count type ... time'");
    }
    if (line->word_count != reading->columns) {
        return weft_fail(error, WEFT_INPUT, "%u words where the header has %u; mend the line",
                         line->word_count, reading->columns);
    }
    if (!weft_parse_count(&size_bytes, line->words[reading->size_column], 0, SIZE_MAX_BYTES,
                          error)) {
        return weft_wrap(error, "size");
    }
    for (uint32_t i = 0; i < reading->wrong_count; i++) {
        const char *wrong = line->words[reading->wrong_columns[i]];
        if (strcmp(wrong, "0") != 0 && strcmp(wrong, "N/A") != 0) {
            return weft_fail(error, WEFT_INPUT,
                             "#wrong is '%.20s': times of wrong results mean nothing; leave the "
                             "row out",
                             wrong);
        }
    }
    for (uint32_t i = 0; i < reading->time_count && size_bytes > 0; i++) {
        double time_us = 0;
        if (!weft_parse_number(&time_us, line->words[reading->time_columns[i]], TIME_MIN_US,
                               TIME_MAX_US, error)) {
            return weft_wrap(error, "time");
        }
        add_sample(reading, &(struct weft_collective_sample){.kind = reading->kind,
                                                             .rank_count = reading->rank_count,
                                                             .server_count = server_count,
                                                             .size_bytes = size_bytes,
                                                             .seconds = MICRO * time_us});
    }
    return true;
}

// What a program of nccl-tests prints: comments name ranks, hosts, collective and columns; all
// other lines are rows.
static bool read_tests(struct reading *reading, const char *data, size_t length)
{
    struct line line = {.number = 0};
    uint32_t server_count = 0;
    bool counted = false;
    for (const char *at = data, *end = data + length; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        line.number++;
        split(&line, at, stop);
        const char *first = line.word_count > 0 ? line.words[0] : "";
        bool comment = strcmp(first, "#") == 0;
        bool row =
            *first != '\0' && first[strspn(first, "0123456789")] == '\0' && line.word_count > 3;
        counted = counted && !comment;
        if (row && !counted) {
            server_count = count_servers(reading);
            counted = true;
        }
        if ((comment && !take_comment(reading, &line)) ||
            (row && !take_row(reading, &line, server_count))) {
            return weft_wrap(reading->error, "line %u", line.number);
        }
        at = stop + 1;
    }
    return true;
}

// ---- Inspector ----

// One object of Inspector: a collective of one communicator as one rank saw it. Messages between
// two ranks and communicators of one rank pass.
static bool take_record(struct reading *reading, const json_t *root)
{
    struct weft_error *error = reading->error;
    const json_t *header = NULL;
    const json_t *perf = NULL;
    const char *name = NULL;
    struct weft_collective_sample sample;
    double time_us = 0;
    if (json_object_get(root, "coll_perf") == NULL) {
        return true; // of a message between two ranks
    }
    if (!weft_json_object(&header, root, "header", error) ||
        !weft_json_object(&perf, root, "coll_perf", error)) {
        return false;
    }
    if (!weft_json_u32(&sample.rank_count, header, "n_ranks", 1, RANKS_MAX, error) ||
        !weft_json_u32(&sample.server_count, header, "nnodes", 1, RANKS_MAX, error)) {
        return weft_wrap(error, "header");
    }
    if (!weft_json_text(&name, perf, "coll", reading->arena, error) ||
        !weft_json_u64(&sample.size_bytes, perf, "coll_msg_size_bytes", error) ||
        !weft_json_real(&time_us, perf, "coll_exec_time_us", 0, TIME_MAX_US, error)) {
        return weft_wrap(error, "coll_perf");
    }
    sample.kind = weft_collective_find(name);
    sample.seconds = MICRO * time_us;
    if (sample.kind == WEFT_COLLECTIVE_KIND_COUNT) {
        return weft_fail(error, WEFT_INPUT,
                         "coll_perf: coll: '%.40s' is no collective that Weft has; leave it out",
                         name);
    }
    bool parts =
        sample.kind == WEFT_COLLECTIVE_ALLGATHER || sample.kind == WEFT_COLLECTIVE_REDUCE_SCATTER;
    uint64_t times = parts ? sample.rank_count : 1;
    if (sample.size_bytes > SIZE_MAX_BYTES / times) {
        return weft_fail(error, WEFT_INPUT,
                         "coll_perf: coll_msg_size_bytes: above 2^50 of all ranks; leave it out");
    }
    sample.size_bytes *= times;
    // A rank alone sends nothing; less than a nanosecond is nothing that a clock tells.
    if (sample.rank_count > 1 && sample.size_bytes > 0 && time_us >= TIME_MIN_US) {
        add_sample(reading, &sample);
    }
    return true;
}

static bool read_inspector(struct reading *reading, const char *data, size_t length)
{
    uint32_t number = 0;
    for (const char *at = data, *end = data + length; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        number++;
        bool blank = true;
        for (const char *c = at; c < stop; c++) {
            blank = blank && (*c == ' ' || *c == '\t' || *c == '\r');
        }
        json_t *root = NULL;
        if (!blank && !weft_json_parse(&root, at, (size_t)(stop - at), reading->error)) {
            return weft_fail(reading->error, WEFT_INPUT,
                             "line %u: no JSON object; Inspector writes one a line", number);
        }
        bool fine = blank || take_record(reading, root);
        json_decref(root);
        if (!fine) {
            return weft_wrap(reading->error, "line %u", number);
        }
        at = stop + 1;
    }
    return true;
}

bool weft_nccl_measured_read(struct weft_collective_samples *samples, const char *data,
                             size_t length, struct weft_arena *arena, struct weft_error *error)
{
    struct reading reading = {.kind = WEFT_COLLECTIVE_KIND_COUNT, .arena = arena, .error = error};
    size_t first = 0;
    while (first < length && strchr(" \t\r\n", data[first]) != NULL && data[first] != '\0') {
        first++;
    }
    bool json = first < length && data[first] == '{';
    if (!(json ? read_inspector : read_tests)(&reading, data, length)) {
        return false;
    }
    // A process of Inspector may have had no collective: then its file says nothing.
    if (reading.count == 0 && !json) {
        return weft_fail(error, WEFT_INPUT,
                         "no measurement; give what all_reduce_perf prints, or a file of NCCL's "
                         "Inspector");
    }
    *samples = (struct weft_collective_samples){reading.count, reading.samples};
    return true;
}
