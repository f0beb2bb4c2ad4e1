// SPDX-License-Identifier: Apache-2.0
// All-to-alls of a described job one after the other (weft/plan/experts.h).
//
// As the replay of whole models has it (replay.c), a change is commanded only where it pays. The
// job repeats, so it is walked until an iteration begins with the circuits that it ends with; where
// that does not come within a few walks, the first all-to-all changes them.

#include "weft/plan/experts.h"

#include <math.h>
#include <string.h>

#define WALKS_MAX 4u

struct walk {
    const struct weft_expert_job *job;
    const struct weft_expert_options *options;
    struct weft_split_options split;
    uint32_t n;
    uint32_t count;
    struct weft_expert_exchange *exchanges;
    uint32_t **exact;   // by layer of a step: circuits for its demand
    uint32_t *mean;     // for the mean demand
    uint32_t *standing; // n^2
};

static double split_s(const struct walk *walk, const uint32_t *circuits, const double *bytes)
{
    return weft_circuit_split_time(circuits, bytes, walk->n, &walk->split) /
           walk->options->rate_Bps;
}

static uint64_t wait_of(const struct walk *walk, const struct weft_expert_exchange *exchange)
{
    uint64_t window_ps = walk->options->ahead ? exchange->compute_ps : 0;
    uint64_t change_ps = walk->options->change_ps;
    return change_ps > window_ps ? change_ps - window_ps : 0;
}

// Takes whichever circuits end first. Loads are known too late for a change ahead of a layer's
// first all-to-all.
static void choose(struct walk *walk, uint32_t index)
{
    struct weft_expert_exchange *exchange = &walk->exchanges[index];
    size_t cells = (size_t)walk->n * walk->n;
    double wait_s = weft_seconds(wait_of(walk, exchange));
    double least_s = split_s(walk, walk->standing, exchange->bytes);
    const uint32_t *const others[] = {walk->exact[index / 2], walk->mean};
    const uint32_t *best = walk->standing;
    bool known = !walk->options->ahead || exchange->back;
    for (uint32_t c = 0; c < 2 && known; c++) {
        double time_s = wait_s + split_s(walk, others[c], exchange->bytes);
        if (memcmp(others[c], walk->standing, cells * sizeof *best) != 0 &&
            time_s < least_s * (1 - 1e-9)) {
            least_s = time_s;
            best = others[c];
        }
    }
    if (best != walk->standing) {
        memcpy(walk->standing, best, cells * sizeof *best);
    }
    memcpy((uint32_t *)(uintptr_t)exchange->circuits, walk->standing, cells * sizeof *best);
    exchange->time_s = split_s(walk, exchange->circuits, exchange->bytes);
}

// ---- demands ----

static void take_trace(struct weft_expert_trace *trace, const struct weft_expert_job *job,
                       struct weft_arena *arena, struct weft_arena scratch)
{
    if (job->trace.loads == NULL) {
        const struct weft_expert_law law = {job->experts, job->layers, job->ranks, job->steps,
                                            job->skew,    job->drift,  job->seed};
        weft_experts_generate(trace, &law, arena, scratch);
        return;
    }
    *trace = job->trace;
}

// Bytes of all all-to-alls and circuits for each and for the mean.
static void fill(struct walk *walk, const struct weft_expert_trace *trace, struct weft_arena *arena,
                 struct weft_arena scratch)
{
    const struct weft_expert_job *job = walk->job;
    const struct weft_expert_options *options = walk->options;
    uint32_t n = walk->n;
    size_t cells = (size_t)n * n;
    double *sum = WEFT_NEW(&scratch, double, cells);
    struct weft_split_times times;
    for (uint32_t at = 0; at < walk->count; at += 2) {
        double *out = WEFT_NEW(arena, double, cells);
        double *back = WEFT_NEW(arena, double, cells);
        const double *loads = trace->loads + (size_t)at / 2 * trace->ranks * trace->experts;
        weft_experts_demand(out, loads, trace, n, (double)job->copies_bytes * options->bytes_ratio);
        for (size_t c = 0; c < cells; c++) {
            out[c] = floor(out[c]);
            back[c % n * n + c / n] = out[c];
            sum[c] += out[c] + out[c % n * n + c / n];
        }
        for (uint32_t b = 0; b < 2; b++) {
            walk->exchanges[at + b] = (struct weft_expert_exchange){
                .step = at / 2 / trace->layers,
                .layer = at / 2 % trace->layers,
                .back = b == 1,
                .bytes = b == 1 ? back : out,
                .circuits = WEFT_NEW(arena, uint32_t, cells),
                .peers = WEFT_NEW(arena, uint32_t, (size_t)job->circuits * n),
                .compute_ps = (uint64_t)((double)(b == 1 ? job->experts_ps : job->attention_ps) *
                                         options->time_ratio),
            };
        }
        walk->exact[at / 2] = WEFT_NEW(arena, uint32_t, cells);
        weft_circuit_split(walk->exact[at / 2], &times, out, n, &walk->split, scratch);
    }
    weft_circuit_split(walk->mean, &times, sum, n, &walk->split, scratch);
}

// ---- switches ----

// Divides the circuits of all-to-alls among switches, so that few ports move; what the last one has
// stands before the first.
static void place(struct walk *walk, struct weft_arena scratch)
{
    uint32_t n = walk->n;
    uint32_t planes = walk->job->circuits;
    size_t ports = (size_t)planes * n;
    uint32_t *before = WEFT_NEW(&scratch, uint32_t, ports);
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, ports);
    uint32_t *asked = WEFT_NEW(&scratch, uint32_t, (size_t)n * n);
    struct weft_circuit_moves moves;
    for (size_t p = 0; p < ports; p++) {
        before[p] = (uint32_t)(p % n);
    }
    bool closed = false;
    for (uint32_t round = 0; round < WALKS_MAX && !closed; round++) {
        memcpy(first, before, ports * sizeof *first);
        for (uint32_t at = 0; at < walk->count; at++) {
            const struct weft_expert_exchange *exchange = &walk->exchanges[at];
            uint32_t *peers = (uint32_t *)(uintptr_t)exchange->peers;
            memcpy(asked, exchange->circuits, (size_t)n * n * sizeof *asked);
            weft_circuit_reassign(peers, &moves, asked, before, n, planes, scratch);
            memcpy(before, peers, ports * sizeof *before);
        }
        closed = memcmp(first, before, ports * sizeof *first) == 0;
    }
}

static void finish(struct weft_expert_schedule *made, struct walk *walk, struct weft_arena scratch)
{
    size_t ports = (size_t)walk->job->circuits * walk->n;
    struct weft_split_options split = walk->split;
    place(walk, scratch);
    const uint32_t *before = walk->exchanges[walk->count - 1].peers;
    for (uint32_t at = 0; at < walk->count; at++) {
        struct weft_expert_exchange *exchange = &walk->exchanges[at];
        exchange->moved = weft_circuit_difference(before, exchange->peers, (uint32_t)ports);
        exchange->wait_ps = exchange->moved > 0 ? wait_of(walk, exchange) : 0;
        before = exchange->peers;
        made->changes += exchange->moved > 0;
        made->iteration_ps += exchange->compute_ps + exchange->wait_ps +
                              walk->options->overhead_ps + (uint64_t)(exchange->time_s * 1e12);
        made->ideal_s +=
            weft_circuit_ideal_time(exchange->bytes, walk->n, &split) / walk->options->rate_Bps;
        made->fixed_s += split_s(walk, walk->mean, exchange->bytes);
    }
    made->exchange_count = walk->count;
    made->exchanges = walk->exchanges;
}

void weft_expert_schedule(struct weft_expert_schedule *schedule, const struct weft_expert_job *job,
                          const struct weft_expert_options *options, struct weft_arena *arena,
                          struct weft_arena scratch)
{
    struct weft_expert_trace trace;
    struct weft_expert_schedule made = {0};
    struct weft_arena kept = weft_arena_split(&scratch);
    take_trace(&trace, job, &kept, scratch);
    uint32_t n = job->servers;
    size_t cells = (size_t)n * n;
    uint32_t count = 2 * trace.steps * trace.layers;
    struct walk walk = {
        .job = job,
        .options = options,
        .split = {.circuit_ports = job->circuits,
                  .packet_ports = options->packet_ports,
                  .seed = job->seed},
        .n = n,
        .count = count,
        .exchanges = WEFT_NEW(arena, struct weft_expert_exchange, count),
        .exact = WEFT_NEW(&scratch, uint32_t *, count),
        .mean = WEFT_NEW(&scratch, uint32_t, cells),
        .standing = WEFT_NEW(&scratch, uint32_t, cells),
    };
    uint32_t *first = WEFT_NEW(&scratch, uint32_t, cells);
    fill(&walk, &trace, arena, scratch);
    for (uint32_t round = 0; round < WALKS_MAX; round++) {
        memcpy(first, walk.standing, cells * sizeof *first);
        for (uint32_t at = 0; at < count; at++) {
            choose(&walk, at);
        }
        if (memcmp(first, walk.standing, cells * sizeof *first) == 0) {
            break;
        }
    }
    finish(&made, &walk, scratch);
    *schedule = made;
}

double weft_expert_circuit_bytes(const struct weft_expert_exchange *exchange, uint32_t servers,
                                 uint32_t from, uint32_t to, double rate_Bps)
{
    size_t pair = (size_t)from * servers + to;
    uint32_t circuits = exchange->circuits[pair];
    if (circuits == 0) {
        return 0;
    }
    return floor(fmin(exchange->bytes[pair] / circuits, exchange->time_s * rate_Bps));
}
