// SPDX-License-Identifier: Apache-2.0
// A task graph as a GOAL schedule in text, which LogGOPSim and ATLAHS play.
//
// A transfer is a send and a receive of one tag; a dependency between servers that no transfer
// carries becomes a message of one byte. Statements are gathered for all ranks, sorted by rank,
// and written. O(tasks + edges).

#include "weft/format.h"

#include <inttypes.h>

#define CPUS_MAX 256u

// What a label stands for; its letter, then a number.
enum part {
    PART_TASK,        // a calculation, a join, the send of a transfer
    PART_RECEIVE,     // of a transfer
    PART_SIGNAL,      // a byte that says that a task of another rank ended
    PART_SIGNAL_COME, // its receive
};
static const char letters[] = {'t', 'r', 's', 'w'};

struct label {
    enum part part;
    uint32_t number;
};

struct statement {
    uint32_t rank;
    struct label own;
    bool waits; // "own requires other"; else the operation itself
    struct label other;
};

struct signal {
    uint32_t from;
    uint32_t to;
};

struct writing {
    const struct weft_taskgraph *graph;
    uint32_t *cpu;    // of each device, among its server's
    uint32_t *cpus;   // taken of each server: CPU 0 and one for each device
    uint32_t *server; // of each task: where it starts
    struct statement *statements;
    uint64_t statement_count;
    struct signal *signals;
    uint32_t signal_count;
};

// Whether a task is a collective that sends; without, it takes its time inside the servers alone.
static bool is_sent(const struct weft_taskgraph *graph, uint32_t task)
{
    return weft_task_is_collective(graph, task) && graph->size_bytes[task] > 0 &&
           weft_task_member_count(graph, task) > 1;
}

static bool check_graph(const struct writing *writing, struct weft_error *error)
{
    const struct weft_taskgraph *graph = writing->graph;
    if (graph->need != NULL) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "some tasks wait for some of those before them only; GOAL cannot say it");
    }
    for (uint32_t t = 0; t < graph->task_count; t++) {
        if (is_sent(graph, t)) {
            return weft_fail(error, WEFT_UNSUPPORTED, "task %u is an %s; GOAL has messages only", t,
                             weft_task_facts[graph->kind[t]].name);
        }
    }
    for (uint32_t s = 0; s < graph->server_count; s++) {
        if (writing->cpus[s] > CPUS_MAX) {
            return weft_fail(error, WEFT_UNSUPPORTED, "server %u has %u devices; GOAL has %u", s,
                             writing->cpus[s] - 1, CPUS_MAX - 1);
        }
    }
    return true;
}

static void number_cpus(struct writing *writing, struct weft_arena *scratch)
{
    const struct weft_taskgraph *graph = writing->graph;
    writing->cpu = WEFT_NEW_RAW(scratch, uint32_t, graph->device_count);
    writing->cpus = WEFT_NEW(scratch, uint32_t, graph->server_count);
    for (uint32_t s = 0; s < graph->server_count; s++) {
        writing->cpus[s] = 1;
    }
    for (uint32_t d = 0; d < graph->device_count; d++) {
        writing->cpu[d] = writing->cpus[graph->device_server[d]]++;
    }
}

// Joins stand where the first task before them ends, or else where the first behind them starts.
static void place_tasks(struct writing *writing, struct weft_arena *scratch)
{
    const struct weft_taskgraph *graph = writing->graph;
    uint32_t *order = WEFT_NEW_RAW(scratch, uint32_t, graph->task_count);
    writing->server = WEFT_NEW_RAW(scratch, uint32_t, graph->task_count);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        bool transfer = graph->kind[t] == WEFT_TASK_TRANSFER;
        writing->server[t] = transfer ? graph->from[t]
                             : graph->device[t] != WEFT_NONE
                                 ? graph->device_server[graph->device[t]]
                                 : WEFT_NONE;
    }
    weft_taskgraph_order(graph, order, *scratch);
    for (uint32_t i = 0; i < graph->task_count; i++) {
        uint32_t t = order[i];
        bool transfer = graph->kind[t] == WEFT_TASK_TRANSFER;
        uint32_t end = transfer ? graph->to[t] : writing->server[t];
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            uint32_t next = writing->server[graph->next[e]];
            if (end == WEFT_NONE && next != WEFT_NONE) {
                end = next;
                writing->server[t] = next;
            }
        }
        end = end == WEFT_NONE ? 0 : end;
        writing->server[t] = writing->server[t] == WEFT_NONE ? end : writing->server[t];
        for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
            uint32_t *next = &writing->server[graph->next[e]];
            *next = *next == WEFT_NONE ? end : *next;
        }
    }
}

static void add_operation(struct writing *writing, uint32_t rank, enum part part, uint32_t number)
{
    writing->statements[writing->statement_count++] =
        (struct statement){.rank = rank, .own = {part, number}};
}

static void add_wait(struct writing *writing, uint32_t rank, struct label own, struct label other)
{
    writing->statements[writing->statement_count++] = (struct statement){rank, own, true, other};
}

// Writes what a task is and what waits for it. A successor on the rank at which a transfer
// arrives waits for its receive; one on a third rank waits for a message of one byte.
static void add_task(struct writing *writing, uint32_t t)
{
    const struct weft_taskgraph *graph = writing->graph;
    bool transfer = graph->kind[t] == WEFT_TASK_TRANSFER;
    uint32_t from = writing->server[t];
    uint32_t to = transfer ? graph->to[t] : from;
    const struct label own = {PART_TASK, t};
    add_operation(writing, from, PART_TASK, t);
    if (transfer) {
        add_operation(writing, to, PART_RECEIVE, t);
    }
    for (uint32_t e = graph->next_first[t]; e < graph->next_first[t + 1]; e++) {
        const struct label next = {PART_TASK, graph->next[e]};
        uint32_t rank = writing->server[next.number];
        if (transfer && rank == to) {
            add_wait(writing, rank, next, (struct label){PART_RECEIVE, t});
        } else if (rank == from) {
            add_wait(writing, rank, next, own);
        } else {
            uint32_t s = writing->signal_count++;
            writing->signals[s] = (struct signal){from, rank};
            add_operation(writing, from, PART_SIGNAL, s);
            add_wait(writing, from, (struct label){PART_SIGNAL, s}, own);
            add_operation(writing, rank, PART_SIGNAL_COME, s);
            add_wait(writing, rank, next, (struct label){PART_SIGNAL_COME, s});
        }
    }
}

// Joins stand on CPU 0 with all messages: on a device's CPU a message would wait for what the
// device computes, and LogGOPSim wants both its ends on CPUs of one number. Collectives take a CPU
// for each group as far as there are any, so that two groups spend their time inside the servers
// side by side.
static uint32_t cpu_of(const struct writing *writing, uint32_t rank, uint32_t task)
{
    const struct weft_taskgraph *graph = writing->graph;
    uint32_t device = graph->device[task];
    uint32_t taken = writing->cpus[rank];
    if (device != WEFT_NONE) {
        return writing->cpu[device];
    }
    return weft_task_is_collective(graph, task) && taken < CPUS_MAX
               ? taken + graph->group[task] % (CPUS_MAX - taken)
               : 0;
}

static void write_op(struct weft_text *text, const struct writing *writing,
                     const struct statement *statement)
{
    const struct weft_taskgraph *graph = writing->graph;
    uint32_t number = statement->own.number;
    bool signal = statement->own.part == PART_SIGNAL || statement->own.part == PART_SIGNAL_COME;
    bool receive = statement->own.part == PART_RECEIVE || statement->own.part == PART_SIGNAL_COME;
    weft_text_add(text, "%c%u: ", letters[statement->own.part], number);
    if (signal || graph->kind[number] == WEFT_TASK_TRANSFER) {
        uint32_t from = signal ? writing->signals[number].from : graph->from[number];
        uint32_t to = signal ? writing->signals[number].to : graph->to[number];
        weft_text_add(text, "%s %" PRIu64 "b %s %u tag %u\n", receive ? "recv" : "send",
                      signal ? 1 : graph->size_bytes[number], receive ? "from" : "to",
                      receive ? from : to, signal ? graph->task_count + number : number);
        return;
    }
    weft_text_add(text, "calc %" PRIu64 " cpu %u\n", (graph->runtime_ps[number] + 500) / 1000,
                  cpu_of(writing, statement->rank, number));
}

// Statements by rank: first what it does, then what waits for what, each in the order in which they
// were made. LogGOPSim's txt2bin takes a label only where it stood before.
static const struct statement *sort_statements(const struct writing *writing, uint64_t *first,
                                               struct weft_arena *scratch)
{
    uint32_t ranks = writing->graph->server_count;
    struct statement *sorted = WEFT_NEW_RAW(scratch, struct statement, writing->statement_count);
    for (uint64_t i = 0; i < writing->statement_count; i++) {
        first[2 * writing->statements[i].rank + writing->statements[i].waits + 1]++;
    }
    for (uint32_t part = 0; part < 2 * ranks; part++) {
        first[part + 1] += first[part];
    }
    for (uint64_t i = 0; i < writing->statement_count; i++) {
        const struct statement *statement = &writing->statements[i];
        sorted[first[2 * statement->rank + statement->waits]++] = *statement;
    }
    return sorted; // first[2 r + 1] is now where rank r ends
}

bool weft_goal_write(const char **text, uint32_t *signal_count, const struct weft_taskgraph *graph,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct writing writing = {.graph = graph};
    number_cpus(&writing, &scratch);
    if (!check_graph(&writing, error)) {
        return false;
    }
    uint64_t edges = graph->next_first[graph->task_count];
    if (edges + graph->task_count >= WEFT_NONE) {
        return weft_fail(error, WEFT_UNSUPPORTED, "more messages than GOAL has tags");
    }
    place_tasks(&writing, &scratch);
    writing.signals = WEFT_NEW_RAW(&scratch, struct signal, edges);
    writing.statements =
        WEFT_NEW_RAW(&scratch, struct statement, 2 * (uint64_t)graph->task_count + 4 * edges);
    for (uint32_t t = 0; t < graph->task_count; t++) {
        add_task(&writing, t);
    }
    uint64_t *first = WEFT_NEW(&scratch, uint64_t, 2 * (size_t)graph->server_count + 1);
    const struct statement *sorted = sort_statements(&writing, first, &scratch);
    struct weft_text out;
    weft_text_init(&out, arena);
    weft_text_add(&out, "num_ranks %u\n", graph->server_count);
    uint64_t i = 0;
    for (uint32_t rank = 0; rank < graph->server_count; rank++) {
        weft_text_add(&out, "\nrank %u {\n", rank);
        for (; i < first[2 * rank + 1]; i++) {
            if (sorted[i].waits) {
                weft_text_add(&out, "%c%u requires %c%u\n", letters[sorted[i].own.part],
                              sorted[i].own.number, letters[sorted[i].other.part],
                              sorted[i].other.number);
            } else {
                write_op(&out, &writing, &sorted[i]);
            }
        }
        weft_text_add(&out, "}\n");
    }
    *text = out.data;
    *signal_count = writing.signal_count;
    return true;
}
