// SPDX-License-Identifier: Apache-2.0
// Scenarios among processes. Rank 0 hands out indices one by one, so that long and short ones
// balance, and alone writes; the others run them and send lines back. Messages to rank 0: a
// header and a line, or the header alone that says how many scenarios the rank wants at first. Each
// is answered by that many indices, by one for a line; WEFT_NONE: no more.

#include "sweep.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct header {
    uint64_t key;
    uint32_t index; // WEFT_NONE: no line follows
    uint32_t value; // whether it failed; or how many are wanted
};

static const double poll_s = 0.001;
static const double take_s = 0.2;

static void pause_shortly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(poll_s * 1e9)}, NULL);
}

const char *sweep_ranks_share(const struct cli_ranks *ranks, const char *spec, size_t *length,
                              struct weft_arena *arena)
{
    if (ranks->mpi == NULL) {
        return spec;
    }
    uint64_t size = spec == NULL ? UINT64_MAX : *length;
    ranks->mpi->share(&size, sizeof size);
    if (size == UINT64_MAX) {
        return NULL;
    }
    char *copy = weft_arena_alloc(arena, size + 1, 1);
    if (spec != NULL) {
        memcpy(copy, spec, size);
    }
    ranks->mpi->share(copy, size);
    *length = size;
    return copy;
}

// ---- the other ranks ----

// Waits without burning the core, which MPI's own calls would.
static uint32_t receive_index(const struct cli_ranks *ranks)
{
    uint32_t from = 0;
    size_t length = 0;
    while (!ranks->mpi->poll(&from, &length)) {
        pause_shortly();
    }
    uint32_t index = WEFT_NONE;
    WEFT_ASSERT(length == sizeof index);
    ranks->mpi->receive(from, &index, sizeof index);
    return index;
}

static void send_line(const struct cli_ranks *ranks, const struct sweep_line *line)
{
    const struct header header = {line->key, line->index, line->failed};
    size_t length = sizeof header + line->length;
    WEFT_ASSERT(length <= CLI_MPI_BYTES_MAX);
    char *message = malloc(length);
    WEFT_ASSERT(message != NULL);
    memcpy(message, &header, sizeof header);
    memcpy(message + sizeof header, line->text, line->length);
    ranks->mpi->send(0, message, length);
    free(message);
}

// Gives the workers what comes; returns how many more scenarios are under way.
static uint32_t take_indices(const struct cli_ranks *ranks, struct sweep_workers *workers,
                             uint32_t count)
{
    uint32_t given = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = receive_index(ranks);
        if (index != WEFT_NONE) {
            sweep_workers_give(workers, index);
            given++;
        }
    }
    return given;
}

bool sweep_ranks_serve(const struct cli_ranks *ranks, const struct sweep *sweep, bool ready)
{
    struct sweep_workers *workers = ready ? sweep_workers_start(sweep, sweep->cli->threads) : NULL;
    const uint32_t wanted = workers != NULL ? sweep->cli->threads + SWEEP_AHEAD : 0;
    const struct header hello = {0, WEFT_NONE, wanted};
    ranks->mpi->send(0, &hello, sizeof hello);
    uint32_t under_way = take_indices(ranks, workers, wanted);
    while (under_way > 0) {
        struct sweep_line line;
        if (sweep_workers_take(workers, &line, take_s)) {
            send_line(ranks, &line);
            free(line.text);
            under_way--;
            under_way += take_indices(ranks, workers, 1);
        }
    }
    if (workers != NULL) {
        sweep_workers_end(workers);
    }
    receive_index(ranks); // rank 0 has ended, too: what follows waits in vain no more
    return workers != NULL;
}

// ---- rank 0 ----

struct lead {
    const struct cli_ranks *ranks;
    struct sweep *sweep;
    struct sweep_file *kept;
    struct sweep_workers *workers;
    uint32_t next;      // of sweep->todo
    uint32_t under_way; // here and elsewhere
    uint32_t here;      // of them
    uint32_t silent;    // ranks that have not said what they want
    bool failed;        // to keep a line: no more are given
};

// The next scenario to hand out; WEFT_NONE: no more.
static uint32_t next_index(struct lead *lead)
{
    if (lead->failed || lead->next == lead->sweep->todo_count) {
        return WEFT_NONE;
    }
    lead->under_way++;
    return lead->sweep->todo[lead->next++];
}

struct keeping {
    struct lead *lead;
    const struct sweep_line *line;
};

static bool keep_line(void *context)
{
    struct keeping *keeping = context;
    struct sweep *sweep = keeping->lead->sweep;
    const struct sweep_line *line = keeping->line;
    struct cli *cli = sweep->cli;
    struct sweep_line *ended = WEFT_NEW(&cli->arena, struct sweep_line, 1);
    *ended = *line;
    ended->text = weft_arena_text(&cli->arena, line->text, line->length);
    sweep->ended[line->index] = ended;
    return sweep_file_append(keeping->lead->kept, cli, ended);
}

// Keeps a line that has ended, here or elsewhere. What goes wrong ends the sweep: no more scenarios
// are given, and those under way are waited for, since threads and ranks hold them. Hence the guard
// around what allocates.
static void accept_line(struct lead *lead, const struct sweep_line *line)
{
    struct cli *cli = lead->sweep->cli;
    lead->under_way--;
    weft_tally_add(&cli->environment.progress.tally, 1);
    if (line->key != lead->sweep->keys[line->index]) {
        lead->failed = true;
        weft_fail(&cli->error, WEFT_UNSUPPORTED,
                  "not all processes run Weft " WEFT_VERSION "; start one version everywhere");
        return;
    }
    if (line->length == 0) {
        lead->failed = true;
        sweep_refuse_line(cli);
    }
    struct keeping keeping = {lead, line};
    if (!lead->failed && !weft_guard(keep_line, &keeping, &cli->error)) {
        lead->failed = true;
    }
}

static void answer(struct lead *lead, uint32_t to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = next_index(lead);
        lead->ranks->mpi->send(to, &index, sizeof index);
    }
}

static void hear(struct lead *lead, uint32_t from, size_t length)
{
    struct header header;
    WEFT_ASSERT(length >= sizeof header);
    char *message = malloc(length);
    WEFT_ASSERT(message != NULL);
    lead->ranks->mpi->receive(from, message, length);
    memcpy(&header, message, sizeof header);
    if (header.index == WEFT_NONE) {
        lead->silent--;
        answer(lead, from, header.value);
    } else {
        WEFT_ASSERT(header.index < lead->sweep->spec.scenario_count);
        const struct sweep_line line = {
            .index = header.index,
            .key = header.key,
            .failed = header.value != 0,
            .text = message + sizeof header,
            .length = length - sizeof header,
        };
        accept_line(lead, &line);
        answer(lead, from, 1);
    }
    free(message);
}

// Rank 0 until nothing is under way: its own workers get as many scenarios as keep them busy, other
// ranks what they ask for, and lines are kept as they come from either.
static void lead_all(struct lead *lead)
{
    const uint32_t here_max = lead->sweep->cli->threads + SWEEP_AHEAD;
    const bool alone = lead->ranks->mpi == NULL;
    for (;;) {
        uint32_t index = 0;
        while (lead->here < here_max && (index = next_index(lead)) != WEFT_NONE) {
            sweep_workers_give(lead->workers, index);
            lead->here++;
        }
        if (lead->under_way == 0 && lead->silent == 0) {
            break;
        }
        struct sweep_line line;
        if (lead->workers == NULL) {
            pause_shortly();
        } else if (sweep_workers_take(lead->workers, &line, alone ? take_s : poll_s)) {
            lead->here--;
            accept_line(lead, &line);
            free(line.text);
        }
        uint32_t from = 0;
        size_t length = 0;
        while (!alone && lead->ranks->mpi->poll(&from, &length)) {
            hear(lead, from, length);
        }
    }
}

bool sweep_ranks_lead(const struct cli_ranks *ranks, struct sweep *sweep, struct sweep_file *kept)
{
    struct cli *cli = sweep->cli;
    struct lead lead = {
        .ranks = ranks,
        .sweep = sweep,
        .kept = kept,
        .silent = ranks->size - 1,
    };
    uint32_t threads = cli->threads < sweep->todo_count ? cli->threads : sweep->todo_count;
    lead.workers = sweep_workers_start(sweep, threads > 0 ? threads : 1);
    lead.failed = lead.workers == NULL;
    cli_clock_show(cli, "sweeping", "scenarios");
    weft_tally_begin(&cli->environment.progress.tally, sweep->todo_count);
    lead_all(&lead);
    cli_clock_stop(cli);
    if (lead.workers != NULL) {
        sweep_workers_end(lead.workers);
    }
    const uint32_t over = WEFT_NONE;
    for (uint32_t rank = 1; rank < ranks->size; rank++) {
        ranks->mpi->send(rank, &over, sizeof over);
    }
    return !lead.failed;
}
