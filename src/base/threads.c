// SPDX-License-Identifier: Apache-2.0
// Teams of workers: parallel work whose outcome does not depend on the number of threads.
//
// The problem: some stages have one batch of long pieces (scenarios, chains of annealing), others
// thousands of short windows with a barrier after each (partitions of a packet run), and all must
// give the same bytes for one thread and for sixty-four. A team serves both. Its threads start once
// and play rounds of work until it is closed. A round is fork and join: the caller raises `begun`,
// every helper plays its share and raises `done`, and the caller waits until all have (a central
// counter barrier as in Mellor-Crummey and Scott, "Algorithms for scalable synchronization on
// shared-memory multiprocessors", ACM TOCS 9(1), 1991, section 3.1). With at most 64 helpers the
// counter is no bottleneck.
//
// The outcome is the same for any number of threads because each index writes to its own slot, and
// callers combine the slots by index, never by the order in which indices end. So a team whose
// threads or arenas the system refuses does the same work with the workers that it has.
//
// A worker that gets no memory, or is asked to stop, ends the round: the others draw no further
// index, and the caller's thread raises that worker's error when all have arrived at the barrier.
//
// Cost (`build/bench/bench_packet team`, two cores): opening a team of one helper, a first round
// and closing take 140 us, most of it for a thread and an arena. A round of a helper that is still
// looking takes 1 us, one of a helper that sleeps and has to be woken 40 us.

#include "weft/base.h"

#include <pthread.h>
#include <sched.h>

// The caller and 64 helpers: of a sweep's team the caller leads and 64 threads work.
#define THREADS_MAX 65u

// How long a waiting thread looks before it gives its core to others, and how often it gives the
// core away before it sleeps. SPINS is the value that the windows of packet runs have had. YIELDS
// trades the time of a core against wakes: a thread looks for 1.0 ms before it sleeps where nobody
// else wants its core (`build/bench/bench_packet team`), which is longer than what a run does alone
// between two windows.
#define SPINS 500u
#define YIELDS 2000u

// A count that only grows and that threads wait for. The counter and the number of sleepers are
// read and written in one total order (seq_cst): a sleeper registers before it looks at the count,
// and who raises the count looks for sleepers afterwards, so at least one of them sees the other.
struct gate {
    _Alignas(64) _Atomic uint64_t count;
    _Alignas(64) atomic_uint sleepers;
    pthread_mutex_t mutex;
    pthread_cond_t raised;
};

struct worker {
    struct weft_team *team;
    uint32_t number; // the caller's thread is 0
    bool failed;     // in this round, for want of memory
    struct weft_arena scratch;
    pthread_t thread;
    struct weft_error error; // only if it failed
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): cache lines of their own, below
struct weft_team {
    struct gate begun; // rounds
    struct gate done;  // rounds, of all helpers together
    // Each on a cache line of its own, since all workers write or watch it: the index of this round
    // that is drawn next, and that the team is being closed.
    _Alignas(64) atomic_uint next;
    _Alignas(64) atomic_bool is_over;
    uint64_t round;
    struct weft_team_work work; // of this round
    weft_stop stop;             // of the guard around the caller
    const char *folder;         // the same
    uint32_t worker_count;
    struct worker *workers;
    struct weft_arena whole; // holds the team, and the caller's scratch behind it
};

// ---- gates ----

static void gate_init(struct gate *gate)
{
    atomic_init(&gate->count, 0);
    atomic_init(&gate->sleepers, 0);
    pthread_mutex_init(&gate->mutex, NULL);
    pthread_cond_init(&gate->raised, NULL);
}

static void gate_release(struct gate *gate)
{
    pthread_cond_destroy(&gate->raised);
    pthread_mutex_destroy(&gate->mutex);
}

static void gate_raise(struct gate *gate)
{
    atomic_fetch_add(&gate->count, 1);
    if (atomic_load(&gate->sleepers) > 0) {
        pthread_mutex_lock(&gate->mutex);
        pthread_cond_broadcast(&gate->raised);
        pthread_mutex_unlock(&gate->mutex);
    }
}

// Waits until the count has come to `value`. A window of a packet run lasts a few microseconds, so
// looking comes first; where there are more threads than cores, the other thread needs this core;
// and a helper of a team with nothing to do must not burn one.
static void gate_wait(struct gate *gate, uint64_t value)
{
    for (uint32_t looks = 0; looks < SPINS + YIELDS; looks++) {
        if (atomic_load_explicit(&gate->count, memory_order_acquire) >= value) {
            return;
        }
        if (looks >= SPINS) {
            sched_yield();
        } else {
#if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
#endif
        }
    }
    pthread_mutex_lock(&gate->mutex);
    atomic_fetch_add(&gate->sleepers, 1);
    while (atomic_load(&gate->count) < value) {
        pthread_cond_wait(&gate->raised, &gate->mutex);
    }
    atomic_fetch_sub(&gate->sleepers, 1);
    pthread_mutex_unlock(&gate->mutex);
}

// ---- rounds ----

static bool play_share(void *context)
{
    struct worker *worker = context;
    struct weft_team *team = worker->team;
    const struct weft_team_work *work = &team->work;
    if (work->keeps_workers) {
        for (uint32_t i = worker->number; i < work->count; i += team->worker_count) {
            work->play(work->context, i, worker->scratch);
        }
        return true;
    }
    for (;;) {
        uint32_t index = atomic_fetch_add_explicit(&team->next, 1, memory_order_relaxed);
        if (index >= work->count) {
            return true;
        }
        work->play(work->context, index, worker->scratch);
    }
}

static void play_guarded(struct worker *worker)
{
    const struct weft_team *team = worker->team;
    worker->failed =
        !weft_guard_within(play_share, worker, team->folder, team->stop, &worker->error);
    if (worker->failed) {
        // The others end with the index that they are at.
        atomic_store_explicit(&worker->team->next, worker->team->work.count, memory_order_relaxed);
    }
}

static void *help(void *argument)
{
    struct worker *worker = argument;
    struct weft_team *team = worker->team;
    for (uint64_t round = 1;; round++) {
        gate_wait(&team->begun, round);
        if (atomic_load_explicit(&team->is_over, memory_order_relaxed)) {
            return NULL;
        }
        play_guarded(worker);
        gate_raise(&team->done);
    }
}

static void begin_round(struct weft_team *team, const struct weft_team_work *work)
{
    // No helper is between the gates now: all have arrived at the end of the round before.
    team->work = *work;
    team->stop = weft_guard_stop();
    team->folder = weft_guard_folder();
    team->round++;
    atomic_store_explicit(&team->next, 0, memory_order_relaxed);
    gate_raise(&team->begun);
}

// The barrier. Returns the failed worker of the lowest number, NULL = none has failed.
static const struct worker *end_round(struct weft_team *team)
{
    gate_wait(&team->done, team->round * (team->worker_count - 1));
    for (uint32_t i = 0; i < team->worker_count; i++) {
        if (team->workers[i].failed) {
            return &team->workers[i];
        }
    }
    return NULL;
}

static const struct worker *play_round(struct weft_team *team, const struct weft_team_work *work)
{
    begin_round(team, work);
    play_guarded(&team->workers[0]);
    return end_round(team);
}

void weft_team_begin(struct weft_team *team, const struct weft_team_work *work)
{
    WEFT_ASSERT(!work->keeps_workers && team->worker_count > 1);
    begin_round(team, work);
}

void weft_team_end(struct weft_team *team)
{
    const struct worker *failed = end_round(team);
    if (failed != NULL) {
        weft_raise(&failed->error);
    }
}

void weft_team_play(struct weft_team *team, const struct weft_team_work *work)
{
    const struct worker *failed = play_round(team, work);
    if (failed != NULL) {
        weft_raise(&failed->error);
    }
}

// ---- teams ----

struct opening {
    struct weft_arena arena;
    uint32_t workers;
    struct weft_team *team;
};

static bool allocate_team(void *context)
{
    struct opening *opening = context;
    opening->team = WEFT_NEW(&opening->arena, struct weft_team, 1);
    opening->team->workers = WEFT_NEW(&opening->arena, struct worker, opening->workers);
    return true;
}

// Starts up to `wanted` workers, the caller's among them. Where the system refuses memory or a
// thread, those that are there do all the work.
static void start_helpers(struct weft_team *team, uint32_t wanted)
{
    struct weft_error ignored;
    for (uint32_t number = 1; number < wanted; number++) {
        struct worker *helper = &team->workers[number];
        *helper = (struct worker){.team = team, .number = number};
        if (!weft_arena_init(&helper->scratch, 0, &ignored)) {
            return;
        }
        if (pthread_create(&helper->thread, NULL, help, helper) != 0) {
            weft_arena_release(&helper->scratch);
            return;
        }
        team->worker_count++;
    }
}

bool weft_team_open(struct weft_team **team, uint32_t threads, struct weft_error *error)
{
    struct opening opening = {.workers = threads < 1             ? 1
                                         : threads > THREADS_MAX ? THREADS_MAX
                                                                 : threads};
    if (!weft_arena_init(&opening.arena, 0, error)) {
        return false;
    }
    struct weft_arena whole = opening.arena;
    if (!weft_guard(allocate_team, &opening, error)) {
        weft_arena_release(&whole);
        return false;
    }
    struct weft_team *opened = opening.team;
    opened->whole = whole;
    opened->workers[0] = (struct worker){.team = opened, .scratch = opening.arena};
    opened->worker_count = 1;
    atomic_init(&opened->next, 0);
    atomic_init(&opened->is_over, false);
    gate_init(&opened->begun);
    gate_init(&opened->done);
    start_helpers(opened, opening.workers);
    *team = opened;
    return true;
}

uint32_t weft_team_size(const struct weft_team *team)
{
    return team->worker_count;
}

void weft_team_close(struct weft_team *team)
{
    atomic_store_explicit(&team->is_over, true, memory_order_relaxed);
    gate_raise(&team->begun);
    for (uint32_t i = 1; i < team->worker_count; i++) {
        pthread_join(team->workers[i].thread, NULL);
        weft_arena_release(&team->workers[i].scratch);
    }
    gate_release(&team->begun);
    gate_release(&team->done);
    struct weft_arena whole = team->whole; // which holds the team
    weft_arena_release(&whole);
}

void weft_parallel_for(uint32_t count, uint32_t threads,
                       void (*work)(void *context, uint32_t index, struct weft_arena scratch),
                       void *context)
{
    struct weft_team *team;
    struct weft_error error;
    if (!weft_team_open(&team, threads < count ? threads : count, &error)) {
        weft_raise(&error);
    }
    struct weft_team_work round = {.play = work, .context = context, .count = count};
    const struct worker *failed = play_round(team, &round);
    bool fine = failed == NULL;
    if (!fine) {
        error = failed->error;
    }
    weft_team_close(team);
    if (!fine) {
        weft_raise(&error);
    }
}

// ---- how far work is ----

void weft_tally_begin(struct weft_tally *tally, uint64_t total)
{
    if (tally != NULL) {
        atomic_store(&tally->done, 0);
        atomic_store(&tally->total, total);
    }
}

void weft_tally_add(struct weft_tally *tally, uint64_t done)
{
    if (tally != NULL) {
        atomic_fetch_add_explicit(&tally->done, done, memory_order_relaxed);
    }
}
