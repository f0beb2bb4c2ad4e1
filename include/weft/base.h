// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BASE_H
#define WEFT_BASE_H

// The floor under every room: errors, assertions, arenas, random numbers, units, text and threads.
//
// Nothing here knows about networks. Memory comes from arenas and never from malloc in a stage;
// errors are values the caller owns; randomness is an explicit object with a printed seed.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// What other threads look at or set while a stage runs. C++ sees the same bytes by its own name.
#ifdef __cplusplus
#include <atomic>
typedef std::atomic<bool> weft_atomic_bool;
typedef std::atomic<uint64_t> weft_atomic_u64;
#else
#include <stdatomic.h>
typedef atomic_bool weft_atomic_bool;
typedef _Atomic uint64_t weft_atomic_u64;
#endif

// Every public header stands between these two. libweft.so exports what is declared there and
// nothing else: the library is compiled with -fvisibility=hidden. C++ takes it as C.
#ifdef __cplusplus
#define WEFT_API_BEGIN                                                                             \
    extern "C" {                                                                                   \
    _Pragma("GCC visibility push(default)")
#define WEFT_API_END                                                                               \
    _Pragma("GCC visibility pop")                                                                  \
    }
#else
#define WEFT_API_BEGIN _Pragma("GCC visibility push(default)")
#define WEFT_API_END _Pragma("GCC visibility pop")
#endif

WEFT_API_BEGIN

#define WEFT_MUST_USE __attribute__((warn_unused_result))
#define WEFT_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define WEFT_NORETURN __attribute__((noreturn))

#define WEFT_VERSION "0.1.0"

// "No such index": the value of every absent uint32_t id.
#define WEFT_NONE UINT32_MAX
// "Never": the value of every absent time in picoseconds.
#define WEFT_NEVER UINT64_MAX

// ---- assertions: our own mistakes, checked in release builds too ----

WEFT_NORETURN void weft_assert_failed(const char *condition, const char *file, int line);
#define WEFT_ASSERT(condition)                                                                     \
    ((condition) ? (void)0 : weft_assert_failed(#condition, __FILE__, __LINE__))

// ---- errors: what input, the OS or a device can cause ----

enum weft_error_code {
    WEFT_OK = 0,
    WEFT_INFEASIBLE = 1,  // the answer is no (exit code 1)
    WEFT_USAGE = 2,       // what is asked does not fit together (exit code 2)
    WEFT_INPUT = 3,       // the input is wrong (exit code 3)
    WEFT_UNSUPPORTED = 4, // not possible on this machine, or not permitted (exit code 4)
    WEFT_IO = 5,          // reading or writing failed (exit code 5)
    WEFT_STOPPED = 6,     // asked to stop before there was an answer (exit code 1: there is none)
};

// The exit code of a program that ends with this error: the code itself, but 1 for WEFT_STOPPED.
int weft_exit_code(enum weft_error_code code);

struct weft_error {
    enum weft_error_code code;
    char message[512]; // one line, no newline; for people
    // The quantity whose change would help ("batch") and the value that would do ("8", or empty);
    // both empty where there is none. The message says the same in words, and a door adds how its
    // user spells the quantity: "(--batch 8)".
    char key[16];
    char value[24];
};

// Fills `error` and returns false, so that `return weft_fail(error, WEFT_INPUT, "...")` reads well.
// A message longer than the buffer is cut with "...", and hostile names in it cannot break the one
// line (weft_escape_line).
bool weft_fail(struct weft_error *error, enum weft_error_code code, const char *format, ...)
    WEFT_PRINTF(3, 4);
// States key and value of an error that weft_fail has filled, and returns false. `value` is a
// format and may be empty.
bool weft_remedy(struct weft_error *error, const char *key, const char *value, ...)
    WEFT_PRINTF(3, 4);
// Puts "<text>: " before the message and returns false. Key and value stay.
bool weft_wrap(struct weft_error *error, const char *format, ...) WEFT_PRINTF(2, 3);

// ---- arenas ----

// Memory that is taken piece by piece and given back all at once. `scratch` arenas are passed by
// value: what a callee allocates is gone when it returns, because the caller's copy has not moved.
// Memory comes from the system as it is needed. An arena, its copies and what was split off from it
// belong to one thread at a time.
struct weft_arena {
    char *next;
    char *end;
};

// limit_bytes: what the arena may take from the system, 0 = as much as it gives. Fails with
// UNSUPPORTED when the system refuses the first 256 KiB.
bool weft_arena_init(struct weft_arena *arena, size_t limit_bytes, struct weft_error *error)
    WEFT_MUST_USE;
// Gives back the memory of an arena and of all that was split off from it. Any copy of the arena
// will do; all of them are dead then.
void weft_arena_release(struct weft_arena *arena);
// Zeroed memory for count * size bytes, aligned to 64. Unwinds to the innermost weft_guard, with
// UNSUPPORTED, when the system or the limit refuses them. O(bytes).
void *weft_arena_alloc(struct weft_arena *arena, size_t count, size_t size)
    __attribute__((malloc, returns_nonnull));
// The same without the zeroing, for large arrays that are written before they are read. O(1).
void *weft_arena_alloc_raw(struct weft_arena *arena, size_t count, size_t size)
    __attribute__((malloc, returns_nonnull));
#define WEFT_NEW(arena, type, count) ((type *)weft_arena_alloc((arena), (count), sizeof(type)))
#define WEFT_NEW_RAW(arena, type, count)                                                           \
    ((type *)weft_arena_alloc_raw((arena), (count), sizeof(type)))
// Makes the last allocation of an arena larger, whose old_bytes end at arena->next; it may move.
// O(1), amortized over growth by small steps. What is too much of the last allocation goes back by
// setting arena->next to the end of what is kept.
void *weft_arena_grow(struct weft_arena *arena, void *memory, size_t old_bytes, size_t new_bytes)
    __attribute__((returns_nonnull));
// A second arena that lives as long as what is allocated now from `arena`: for results of callees,
// which get the rest of `arena` as their scratch. It is gone with the value of `arena` that was
// split: when the function that was given that value has returned.
struct weft_arena weft_arena_split(struct weft_arena *arena);
// A copy of `length` bytes of `text` with a terminating zero.
char *weft_arena_text(struct weft_arena *arena, const char *text, size_t length);
char *weft_arena_format(struct weft_arena *arena, const char *format, ...) WEFT_PRINTF(2, 3);

// ---- requests to stop ----

// A request to stop early, set from outside (a timer, Ctrl-C). Stages poll it between steps and
// return the best answer so far, or are left at once (weft_guard_until); NULL means never.
typedef const weft_atomic_bool *weft_stop;
static inline bool weft_stopped(weft_stop stop)
{
#ifdef __cplusplus
    return stop != NULL && stop->load(std::memory_order_relaxed);
#else
    return stop != NULL && atomic_load_explicit(stop, memory_order_relaxed);
#endif
}

// How much of some work is done, which others look at while it goes on. Steps are of about equal
// length, or their number is too large to tell.
struct weft_tally {
    weft_atomic_u64 total; // 0: not known
    weft_atomic_u64 done;
};
// Work begins, and more of it is done; a tally of NULL is one that nobody looks at.
void weft_tally_begin(struct weft_tally *tally, uint64_t total);
void weft_tally_add(struct weft_tally *tally, uint64_t done);

// ---- guards: memory that is refused as an error, and work that is left ----

// Calls work(context). Where an arena gets no memory in it, on this thread, returns false with the
// reason in `error` (UNSUPPORTED). What lies between is left without clean-up: descriptors, locks,
// threads and child processes are to be held outside. Arenas may be released, or used on as the
// caller's values have them. Guards nest. A program that calls Weft without a guard ends, with one
// line on stderr, when memory is out.
bool weft_guard(bool (*work)(void *context), void *context, struct weft_error *error) WEFT_MUST_USE;
// The same for work that is left when `stop` is raised (NULL: it is not, whatever is around it):
// the next weft_poll, or split or new memory of an arena, of this thread or of a team that it plays
// returns from here with STOPPED. Inside weft_guard the stop of the guard around it holds.
bool weft_guard_until(bool (*work)(void *context), void *context, weft_stop stop,
                      struct weft_error *error) WEFT_MUST_USE;
// The same for work that may open files to read (weft_file_open) in `folder` alone, whose name is
// absolute and has no links; NULL: anywhere. Guards inside it and teams keep to that.
bool weft_guard_within(bool (*work)(void *context), void *context, const char *folder,
                       weft_stop stop, struct weft_error *error) WEFT_MUST_USE;
// What stops the work of this thread now; NULL = nothing.
weft_stop weft_guard_stop(void);
// Where this thread may open files to read; NULL = anywhere.
const char *weft_guard_folder(void);
// Leaves the work of this thread if it is asked to stop. For loops that may run for more than some
// milliseconds and neither split an arena nor take new memory. A few instructions.
void weft_poll(void);
// Returns from the innermost guard of this thread with that error.
WEFT_NORETURN void weft_raise(const struct weft_error *error);

// ---- growing text, in an arena ----

// Text that grows at the end of an arena; nothing else may be allocated from that arena until the
// text is finished. `data` moves when the text grows.
struct weft_text {
    struct weft_arena *arena;
    char *data;
    size_t length;
};
void weft_text_init(struct weft_text *text, struct weft_arena *arena);
void weft_text_add(struct weft_text *text, const char *format, ...) WEFT_PRINTF(2, 3);
// Adds a value for an XML, SVG or HTML text or attribute: & < > " ' escaped, control bytes as '?'.
void weft_text_add_escaped(struct weft_text *text, const char *value);

// ---- what a terminal may be sent ----

// Names and messages come from files and from other programs. A terminal would obey the control
// characters in them, and show what stands beside a bidirectional one in another order. They are
// shown escaped: \x1b for a control byte or what is no UTF-8, \u202e for U+007F to U+009F, U+061C,
// U+200E and F, U+2028 to E and U+2066 to 9.
#define WEFT_ESCAPE_BYTES 8
// The bytes of the first character of `text`, of which `length` > 0 are there. `escape` is how it
// is shown, or empty where it is shown as it is.
size_t weft_escape(char escape[WEFT_ESCAPE_BYTES], const char *text, size_t length);
// Escapes a text in its buffer of `size` bytes, 4096 at most; it is cut with "..." where that does
// not hold it or where `cut`.
void weft_escape_line(char *text, size_t size, bool cut);
// The value itself or, where it has something to escape, an escaped copy.
const char *weft_escape_text(const char *value, struct weft_arena *arena);

// Edits (letters put in, left out or changed, case aside) between the first a_length letters of
// `a` and `b`; letters beyond the 63rd are not looked at. O(lengths of both).
uint32_t weft_word_edits(const char *a, size_t a_length, const char *b);
// The word that is the fewest edits away from `word`, the first of equals; when all are further
// than half its length the first that begins with it, else NULL. O(count * lengths).
const char *weft_nearest_word(const char *word, const char *const *words, uint32_t count);

// Fails with INPUT: "'leafspine' is no fabric; do you mean leaf-spine?" or, where nothing is near,
// "...; choose one of" the words. Returns false.
bool weft_fail_word(struct weft_error *error, const char *what, const char *word,
                    const char *const *words, uint32_t count);

// ---- random numbers ----

// xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", TOMS 2021),
// seeded by splitmix64.
struct weft_rng {
    uint64_t state[4];
};
void weft_rng_init(struct weft_rng *rng, uint64_t seed);
// An independent generator for the index-th piece of parallel work.
struct weft_rng weft_rng_split(const struct weft_rng *rng, uint64_t index);
struct weft_rng weft_rng_stream(uint64_t seed, uint64_t index); // that of a seed's own generator
uint64_t weft_rng_next(struct weft_rng *rng);
// Uniform in [0, bound), without bias. bound > 0.
uint32_t weft_rng_below(struct weft_rng *rng, uint32_t bound);
// Uniform in [0, 1), 53 bits.
double weft_rng_unit(struct weft_rng *rng);
// Exponential with the given mean.
double weft_rng_exponential(struct weft_rng *rng, double mean);
// Two independent numbers of the normal distribution of mean 0 and deviation 1.
void weft_rng_normal_pair(struct weft_rng *rng, double *first, double *second);
// Fisher-Yates.
void weft_rng_shuffle(struct weft_rng *rng, uint32_t *values, uint32_t count);
// A well-mixed hash of a 64-bit value (the splitmix64 finalizer), for ECMP choices.
uint64_t weft_hash(uint64_t value);

// ---- units ----

// Each reads a whole string such as "100Gbps", "1us", "1.5GiB", "250W"; a bare number has no unit
// and is refused, except 0. Decimal prefixes k M G T, binary Ki Mi Gi Ti for bytes. Errors name the
// text and a spelling that would work. Rates: bps, kbps, Mbps, Gbps, Tbps (bits) or B/s, MB/s,
// GB/s, GiB/s.
bool weft_parse_rate(double *rate_Bps, const char *text, struct weft_error *error) WEFT_MUST_USE;
bool weft_parse_time(uint64_t *time_ps, const char *text, struct weft_error *error) WEFT_MUST_USE;
bool weft_parse_bytes(uint64_t *size_bytes, const char *text, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_parse_power(double *power_watts, const char *text, struct weft_error *error)
    WEFT_MUST_USE;
bool weft_parse_flops(double *flops_per_s, const char *text, struct weft_error *error)
    WEFT_MUST_USE; // "989Tflops"
bool weft_parse_price(double *price_usd, const char *text, struct weft_error *error)
    WEFT_MUST_USE; // "$99", "99USD"
// A whole non-negative decimal number within [low, high].
bool weft_parse_count(uint64_t *value, const char *text, uint64_t low, uint64_t high,
                      struct weft_error *error) WEFT_MUST_USE;
// A finite decimal number within [low, high].
bool weft_parse_number(double *value, const char *text, double low, double high,
                       struct weft_error *error) WEFT_MUST_USE;

// The shortest human spelling with 4 significant digits ("61.43 ms", "100 Gbps", "1.157 GB"),
// written into a caller's buffer of WEFT_UNIT_TEXT bytes, which is also returned.
#define WEFT_UNIT_TEXT 32
const char *weft_show_time(char *buffer, uint64_t time_ps);
const char *weft_show_rate(char *buffer, double rate_Bps);
const char *weft_show_bytes(char *buffer, double size_bytes);
const char *weft_show_watts(char *buffer, double power_watts); // "12.8 kW"
const char *weft_show_usd(char *buffer, double price_usd);     // "$1,234,567"

#define WEFT_PS_PER_S 1000000000000ull
double weft_seconds(uint64_t time_ps);
// Rounds up to whole picoseconds, so that a simulated transfer never ends early. Saturates at
// WEFT_NEVER - 1.
uint64_t weft_picoseconds(double seconds);

// ---- threads ----

// What a stage needs beside its inputs, and what always travels together: where its results and its
// temporaries live, what decides its random choices, how much of the machine it may use, when it
// must end, and where it says why it failed. The door makes one for each request; a stage hands it
// on as it is, or as a copy with another scratch arena or seed:
//
//   struct weft_environment inner = *environment;
//   struct weft_arena found = weft_arena_split(&inner.scratch);
//   inner.arena = &found; // what the inner stage finds is temporary here
//
// A stage that takes `const struct weft_environment *` copies `scratch` before it allocates from
// it, so that its temporaries are gone on return.
struct weft_environment {
    struct weft_arena *arena;  // results
    struct weft_arena scratch; // temporaries
    uint64_t seed;             // the same seed gives the same result for any number of threads
    uint32_t threads;          // workers at most; 1 = the caller alone
    weft_stop stop;            // NULL = runs to its end
    struct weft_error *error;  // filled where a stage returns false
};

// ---- teams of workers ----

// A team is the caller's thread and up to 64 helpers, each with a scratch arena of its own, that
// play rounds of work. It is opened once, plays any number of rounds, and is closed by the thread
// that opened it; the threads of a round share nothing but `context`. One thread leads a team at a
// time, and a team's work does not play the same team.
struct weft_team;

// One round: play(context, i, scratch) for every i in [0, count). Each call writes its result to
// its own slot i, so that the outcome does not depend on the number of workers. `scratch` is empty
// at every call.
struct weft_team_work {
    void (*play)(void *context, uint32_t index, struct weft_arena scratch);
    void *context;
    uint32_t count;
    // false: a worker draws the next index when it has ended one, which balances unequal indices.
    // true: worker w always plays w, w + workers, ..., so that in later rounds index i finds its
    // data in the cache of the same core.
    bool keeps_workers;
};

// Opens a team of up to `threads` workers, the caller's thread among them. Where the system refuses
// threads or arenas, the team is smaller, at least the caller alone. Fails with UNSUPPORTED when
// there is no memory for the caller's own arena. Whoever plays a team sets a guard (weft_guard) and
// closes the team outside of it. With one helper, opening and closing take about 140 us
// (`build/bench/bench_packet team`).
bool weft_team_open(struct weft_team **team, uint32_t threads, struct weft_error *error)
    WEFT_MUST_USE;
// Workers, the caller's thread among them.
uint32_t weft_team_size(const struct weft_team *team);
// Plays a round with the caller as worker 0 and returns when all calls have (the barrier): what the
// workers wrote is visible to the caller, and in the next round to every worker. When a worker gets
// no memory, no further index is drawn, and the caller's thread unwinds to its innermost guard once
// all workers have arrived.
void weft_team_play(struct weft_team *team, const struct weft_team_work *work);
// The same round by the helpers alone, for a caller that has other work meanwhile: begin returns at
// once, end is the barrier. `keeps_workers` must be false and the team have a helper. A sweep has
// one index per helper, whose call takes scenarios from the sweep's queue until that is closed; the
// caller gives scenarios and writes lines as they end, then closes the queue and ends the round.
void weft_team_begin(struct weft_team *team, const struct weft_team_work *work);
void weft_team_end(struct weft_team *team);
// Ends the threads and gives the memory back. No round may be under way.
void weft_team_close(struct weft_team *team);

// Plays one round with a team of its own: work(context, i, scratch) once for every i in [0, count)
// on up to `threads` threads. threads = 1 runs on the caller's thread.
void weft_parallel_for(uint32_t count, uint32_t threads,
                       void (*work)(void *context, uint32_t index, struct weft_arena scratch),
                       void *context);

WEFT_API_END

#endif
