// SPDX-License-Identifier: Apache-2.0
// What playing one simulation on two cores could gain at most: bench_lookahead [CASE].
//
// The fabric is cut into two halves, each with an event queue of its own. They may play a window as
// long as a link's latency without hearing from each other, then wait for each other and hand over
// what crosses the cut (Nicol, "The cost of conservative synchronization in parallel discrete event
// simulations", JACM 1993). Every event of a run is given to the half of its node, so that all
// windows are known; what a window costs is
//
//   max over the halves (events x time of an event + packets handed over x time of a cache line)
//     + a barrier
//
// and the bound is the run's events x time of an event over the sum of that. Time of an event is
// the run's own CPU time, of a barrier and of a line two threads measure. A window in which a
// message of an AllReduce ends is played by one: the next round begins at the same instant
// everywhere, which no window allows.
//
// Beside it stands what two runs at once take longer than one: a cap of the machine, not of the
// method.

#include "packet_cases.h"
#include "sim/packet/engine/engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct weft_arena arena, scratch;
static struct weft_network network;

// ---- two halves ----

static uint8_t *half_of; // per node

// Halves of the servers by number; a switch is of the half of most nodes below it, every other one
// where that is no more than half.
static void cut(const struct weft_fabric *fabric)
{
    uint32_t nodes = fabric->node_count;
    int *lean = WEFT_NEW(&arena, int, nodes);
    uint32_t *round = WEFT_NEW(&arena, uint32_t, nodes); // 0: not yet
    half_of = WEFT_NEW(&arena, uint8_t, nodes);
    for (uint32_t i = 0; i < fabric->server_count; i++) {
        half_of[i] = i >= fabric->server_count / 2;
        round[i] = 1;
    }
    uint32_t left = nodes - fabric->server_count;
    for (uint32_t r = 2; left > 0 && r < 8; r++) {
        for (uint32_t l = 0; l < fabric->link_count; l++) {
            const struct weft_link *link = &fabric->links[l];
            if (round[link->from] == r - 1 && round[link->to] == 0) {
                lean[link->to] += half_of[link->from] ? 1 : -1;
            }
        }
        uint32_t ties = 0;
        for (uint32_t l = 0; l < fabric->link_count; l++) {
            const struct weft_link *link = &fabric->links[l];
            if (round[link->from] == r - 1 && round[link->to] == 0) {
                int by = lean[link->to];
                half_of[link->to] = by > 0 || (by == 0 && ties++ % 2 > 0);
                round[link->to] = r;
                left--;
            }
        }
    }
}

// ---- windows ----

struct tally {
    bool on;
    bool ends_are_global;
    const struct weft_fabric *fabric;
    uint64_t length_ps;
    uint64_t until_ps; // of the window
    uint64_t events[2];
    uint64_t crossing[2]; // into each half
    bool is_serial;       // this window
    double event_ns, line_ns, barrier_ns;
    // Of all windows.
    uint64_t windows, serial_windows;
    uint64_t all_events, all_crossing, serial_events, larger_events;
    double free_ns; // halves that wait for each other at no cost
    double cost_ns;
};
static struct tally tally;

static void close_window(void)
{
    uint64_t both = tally.events[0] + tally.events[1];
    if (both == 0) {
        return;
    }
    double worst_ns = 0;
    for (int h = 0; h < 2; h++) {
        double ns =
            (double)tally.events[h] * tally.event_ns + (double)tally.crossing[h] * tally.line_ns;
        worst_ns = ns > worst_ns ? ns : worst_ns;
    }
    uint64_t larger = tally.events[0] > tally.events[1] ? tally.events[0] : tally.events[1];
    tally.windows++;
    tally.serial_windows += tally.is_serial;
    tally.all_events += both;
    tally.all_crossing += tally.crossing[0] + tally.crossing[1];
    tally.serial_events += tally.is_serial ? both : 0;
    tally.larger_events += larger;
    tally.free_ns += (double)(tally.is_serial ? both : larger) * tally.event_ns;
    tally.cost_ns += tally.is_serial ? (double)both * tally.event_ns : worst_ns + tally.barrier_ns;
    memset(tally.events, 0, sizeof tally.events);
    memset(tally.crossing, 0, sizeof tally.crossing);
    tally.is_serial = false;
}

// The node where an event happens; `from`, for an arrival, where it comes from.
static uint32_t node_of(const struct packet_engine *engine, uint32_t event, uint32_t *from)
{
    const struct weft_link *links = tally.fabric->links;
    uint32_t index = event & CLOCK_INDEX_MASK;
    uint32_t link;
    switch ((enum packet_event)(event >> CLOCK_KIND_SHIFT)) {
    case PACKET_EVENT_ARRIVAL:
        link = engine->hops[engine->packets[index].hop - 1];
        if (link >= tally.fabric->link_count) { // of a flow that is over
            return *from = 0;
        }
        *from = links[link].from;
        return links[link].to;
    case PACKET_EVENT_RETRANSMIT:
    case PACKET_EVENT_PACE:
        return *from = links[engine->hops[engine->flows[index].data_hop]].from;
    case PACKET_EVENT_PULL:
    case PACKET_EVENT_PORT:
        break;
    case PACKET_EVENT_SKIP: // no run here skips, nor do its circuits change
    case PACKET_EVENT_CIRCUIT:
        return *from = 0;
    }
    return *from = links[index].from;
}

// The linker puts these two before the engine's own (bench/meson.build).
uint32_t __real_clock_take(struct packet_clock *clock, uint64_t until_ps);
uint32_t __wrap_clock_take(struct packet_clock *clock, uint64_t until_ps);
bool __real_packet_engine_run(struct packet_engine *engine, uint64_t until_ps,
                              struct packet_end *end);
bool __wrap_packet_engine_run(struct packet_engine *engine, uint64_t until_ps,
                              struct packet_end *end);

uint32_t __wrap_clock_take(struct packet_clock *clock, uint64_t until_ps)
{
    uint32_t event = __real_clock_take(clock, until_ps);
    if (!tally.on || event == WEFT_NONE) {
        return event;
    }
    if (clock->now_ps >= tally.until_ps) {
        close_window();
        tally.until_ps = clock->now_ps + tally.length_ps;
    }
    // The clock is the engine's first member.
    const struct packet_engine *engine = (const struct packet_engine *)clock;
    uint32_t from;
    uint8_t half = half_of[node_of(engine, event, &from)];
    tally.events[half]++;
    tally.crossing[half] += half_of[from] != half;
    return event;
}

bool __wrap_packet_engine_run(struct packet_engine *engine, uint64_t until_ps,
                              struct packet_end *end)
{
    bool ended = __real_packet_engine_run(engine, until_ps, end);
    tally.is_serial |= ended && tally.ends_are_global;
    return ended;
}

// ---- what two threads pay for each other ----

#define ROUNDS 200u // a sample
#define SAMPLES 400u
#define LINES 4096u

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pin(unsigned core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        fprintf(stderr, "no second core: threads take turns\n");
    }
}

struct meeting {
    _Alignas(128) _Atomic uint64_t here[2];
    _Alignas(128) _Atomic uint64_t there;
    _Alignas(128) struct {
        _Alignas(64) uint64_t value;
    } lines[LINES];
    double barrier_ns[SAMPLES];
    double line_ns[SAMPLES];
};
static struct meeting meeting;

// A barrier of two: each says that it is there, and waits for the other.
static void meet(int me, uint64_t round)
{
    _Atomic uint64_t *mine = me == 0 ? &meeting.here[0] : &meeting.there;
    _Atomic uint64_t *other = me == 0 ? &meeting.there : &meeting.here[0];
    atomic_store_explicit(mine, round, memory_order_release);
    while (atomic_load_explicit(other, memory_order_acquire) < round) {
        __builtin_ia32_pause();
    }
}

static void *take_part(void *me_pointer)
{
    int me = (int)(intptr_t)me_pointer;
    uint64_t round = 0;
    uint64_t sum = 0;
    pin((unsigned)me);
    for (uint32_t s = 0; s < SAMPLES; s++) {
        meet(me, ++round);
        double began_ns = now_ns();
        for (uint32_t i = 0; i < ROUNDS; i++) {
            meet(me, ++round);
        }
        double met_ns = now_ns();
        if (me == 0) {
            meeting.barrier_ns[s] = (met_ns - began_ns) / ROUNDS;
            for (uint32_t i = 0; i < LINES; i++) {
                meeting.lines[i].value = (i + 1517) % LINES;
            }
        }
        meet(me, ++round);
        if (me == 1) { // one after the other: nothing of the wait is hidden
            began_ns = now_ns();
            uint64_t at = 0;
            for (uint32_t i = 0; i < LINES; i++) {
                at = meeting.lines[at].value;
            }
            sum += at;
            meeting.line_ns[s] = (now_ns() - began_ns) / LINES;
        }
        meet(me, ++round);
    }
    return (void *)(uintptr_t)(sum & 1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The lower quarter: other work on the machine only adds.
static void measure_meeting(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, take_part, (void *)(intptr_t)1) != 0) {
        abort();
    }
    take_part(0);
    pthread_join(other, NULL);
    qsort(meeting.barrier_ns, SAMPLES, sizeof(double), compare);
    qsort(meeting.line_ns, SAMPLES, sizeof(double), compare);
    tally.barrier_ns = meeting.barrier_ns[SAMPLES / 4];
    tally.line_ns = meeting.line_ns[SAMPLES / 4];
}

// ---- runs ----

// CPU time of a run; negative: failed.
static double play_s(const struct packet_case *spec, struct weft_sim_result *result)
{
    struct weft_error error;
    struct weft_arena mine = arena; // what it takes is given back
    double began_s = packet_case_cpu_s();
    if (!packet_case_play(result, &network, spec, (struct packet_case_how){1, 1}, &mine, scratch,
                          &error)) {
        fprintf(stderr, "%s\n", error.message);
        return -1;
    }
    return packet_case_cpu_s() - began_s;
}

// The longer CPU time of `count` runs at once, each on its core.
static double runs_s(const struct packet_case *spec, int count)
{
    int ends[2];
    double longest_s = 0;
    if (pipe(ends) != 0) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            struct weft_sim_result result;
            pin((unsigned)i);
            double took_s = play_s(spec, &result);
            _exit(write(ends[1], &took_s, sizeof took_s) != sizeof took_s);
        }
    }
    for (int i = 0; i < count; i++) {
        double took_s = 0;
        longest_s =
            read(ends[0], &took_s, sizeof took_s) > 0 && took_s > longest_s ? took_s : longest_s;
    }
    while (wait(NULL) > 0) {
    }
    close(ends[0]);
    close(ends[1]);
    return longest_s;
}

static int run_case(const struct packet_case *spec)
{
    struct weft_error error;
    struct weft_sim_result result;
    if (!weft_arena_init(&arena, 0, &error) || !weft_arena_init(&scratch, 0, &error) ||
        !packet_case_build(&network, spec, &arena, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    measure_meeting();
    double alone_s = 1e9, beside_s = 1e9;
    double spent_s = 0;
    for (int i = 0; i < 3 && spent_s < 6; i++) {
        double one_s = runs_s(spec, 1), two_s = runs_s(spec, 2);
        spent_s += one_s + 2 * two_s;
        alone_s = one_s < alone_s ? one_s : alone_s;
        beside_s = two_s < beside_s ? two_s : beside_s;
    }
    cut(&network.fabric);
    tally.fabric = &network.fabric;
    tally.length_ps = network.fabric.links[0].latency_ps;
    tally.ends_are_global = spec->allreduce;
    if (play_s(spec, &result) < 0) {
        return 1;
    }
    tally.event_ns = alone_s * 1e9 / (double)result.packets.events;
    tally.on = true;
    if (play_s(spec, &result) < 0) {
        return 1;
    }
    close_window();
    double events = (double)tally.all_events;
    double serial_ns = events * tally.event_ns;
    printf("%-17s %3.0f ns an event, %3.0f a barrier, %3.0f a cache line\n", spec->name,
           tally.event_ns, tally.barrier_ns, tally.line_ns);
    printf("    %llu windows of %.0f events; %.1f %% cross the cut, %.1f %% in the larger half, "
           "%.1f %% for one alone\n",
           (unsigned long long)tally.windows, events / (double)tally.windows,
           100 * (double)tally.all_crossing / events, 100 * (double)tally.larger_events / events,
           100 * (double)tally.serial_events / events);
    printf("    faster by at most %.2f, with all costs %.2f; two runs at once take %.2f of one\n",
           serial_ns / tally.free_ns, serial_ns / tally.cost_ns, beside_s / alone_s);
    return 0;
}

int main(int argc, char **argv)
{
    for (uint32_t i = 0; i < PACKET_CASE_COUNT; i++) {
        if (argc > 1 && strcmp(argv[1], packet_cases[i].name) == 0) {
            return run_case(&packet_cases[i]);
        }
    }
    return argc > 1 || packet_cases_each(argv[0]) > 0;
}
