// SPDX-License-Identifier: Apache-2.0
// The clock: a thread that shows the progress and the notes of a request while it works, and ends a
// run that was given a time (--seconds, counted from the start of the program). Ctrl-C asks the
// request for what it has; from then on it does nothing more, so that nobody who presses it twice
// loses the answer. Where that is no plan, it has LAST_AFTER_NS to say so.
//
// The request and the thread share a struct of atomics (weft_progress), so that stages know neither
// of terminals nor of time. The thread wakes five times a second.
//
// What is left of a step is told by its tally: as long again, for each share of it, as the shares
// until the last one that ended took. That is said where it has been about the same for a while.

#include "cli.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// One search at a time; signal handlers can reach only what is static.
static atomic_bool stop_requested;
// When an answer that is no plan would come too late, too: so much later.
static atomic_bool last_stop_requested;
#define LAST_AFTER_NS 600000000

// Rings once for --seconds, and once more after each request to stop; the time of neither may be
// left to the thread, which may not get a core when it is due.
static struct {
    timer_t timer;
    bool is_set; // there is one
} alarm_clock;

// How fast a step is, on the scale of cli_elapsed_s.
struct pace {
    double start_s; // of the step
    uint64_t done;  // the most that was seen
    uint64_t total; // 0: not known
    double ratio;   // of the step that is done
    double whole_s; // what all of the step takes by it
    double about_s; // what whole_s has been near since
    double since_s;
};

static struct {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool running;
    bool over; // guarded by mutex
    struct cli *cli;
    const struct weft_request_step *step; // of the request, as seen last
    uint64_t step_count;                  // begun until then
    uint64_t row_count;                   // of the step, a comparison, that were shown
    bool working;                         // it has not ended
    struct pace pace;
    bool shown;
    uint64_t events; // as shown last
    double shown_s;
    double line_s; // of the last line where there is no terminal
} ticker = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static const double tick_s = 0.2;
// An estimate of a step's time is steady where it has been within so much for a second and for a
// tenth of the step.
#define STEADY_RATIO 0.2
#define STEADY_SHARE 0.1

// What lines of progress have of a request: words of its own, and names out of files.
#define SHOWN_BYTES 160
static const char *shown(char buffer[SHOWN_BYTES], const char *text)
{
    int wanted = snprintf(buffer, SHOWN_BYTES, "%s", text);
    weft_escape_line(buffer, SHOWN_BYTES, wanted >= SHOWN_BYTES);
    return buffer;
}

static void ring_after(time_t seconds, long nanoseconds)
{
    const struct itimerspec once = {.it_value = {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    if (alarm_clock.is_set) {
        timer_settime(alarm_clock.timer, 0, &once, NULL); // safe in a handler of signals
    }
}

static void on_interrupt(int number)
{
    (void)number;
    if (!atomic_exchange_explicit(&stop_requested, true, memory_order_relaxed)) {
        ring_after(0, LAST_AFTER_NS);
    }
}

static void on_ring(int number)
{
    if (atomic_load_explicit(&stop_requested, memory_order_relaxed)) {
        atomic_store_explicit(&last_stop_requested, true, memory_order_relaxed);
    } else {
        on_interrupt(number);
    }
}

// Sets the timer for the end of the whole run, where it has one. Without a timer runs end by their
// steps.
static void open_timer(const struct cli *cli)
{
    const struct sigaction ring = {.sa_handler = on_ring, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &ring, NULL);
    alarm_clock.is_set = timer_create(CLOCK_MONOTONIC, NULL, &alarm_clock.timer) == 0;
    if (cli->given.search.timed) {
        double left_s = fmax(cli->given.search.seconds - cli_elapsed_s(cli), 1e-6);
        ring_after((time_t)left_s, (long)(1e9 * (left_s - floor(left_s))));
    }
}

static void close_timer(void)
{
    if (alarm_clock.is_set) {
        alarm_clock.is_set = false;
        timer_delete(alarm_clock.timer);
    }
}

// The best so far, and how much shorter any other answer could be at most.
static void show_best(void)
{
    uint64_t best_ps = atomic_load(&ticker.cli->environment.progress.best_ps);
    uint64_t bound_ps = atomic_load(&ticker.cli->environment.progress.bound_ps);
    char unit[WEFT_UNIT_TEXT];
    if (best_ps < WEFT_NEVER) {
        fprintf(stderr, "; best %s", weft_show_time(unit, best_ps));
    }
    if (best_ps < WEFT_NEVER && bound_ps > 0) {
        fprintf(stderr, ", at most %.0f %% above any strategy's bound",
                100 * ((double)best_ps / (double)bound_ps - 1));
    }
}

// How far a simulation is, and how fast.
static void show_run(void)
{
    const struct weft_sim_progress *progress = &ticker.cli->environment.progress.simulation;
    uint64_t events = atomic_load_explicit(&progress->events, memory_order_relaxed);
    uint64_t at_ps = atomic_load_explicit(&progress->now_ps, memory_order_relaxed);
    char unit[WEFT_UNIT_TEXT];
    if (events > 0) {
        double now_s = cli_elapsed_s(ticker.cli);
        fprintf(stderr, "; at %s, %.2f M events/s", weft_show_time(unit, at_ps),
                1e-6 * (double)(events - ticker.events) / (now_s - ticker.shown_s));
        ticker.events = events;
        ticker.shown_s = now_s;
    }
}

// How much of the step is done: a count of what it says it counts, or about what share.
static void show_share(void)
{
    const struct pace *pace = &ticker.pace;
    if (pace->total > 0 && ticker.step->of != NULL) {
        fprintf(stderr, ", %llu of %llu %s", (unsigned long long)pace->done,
                (unsigned long long)pace->total, ticker.step->of);
    } else if (ticker.step->of != NULL && ticker.row_count > 0) {
        fprintf(stderr, ", %llu %s", (unsigned long long)ticker.row_count, ticker.step->of);
    } else if (pace->total > 0) {
        fprintf(stderr, ", about %.0f %%", floor(100 * pace->ratio));
    }
}

// The time that is left: of the whole run where it was given one, else by what is done of the step.
static void show_left(double now_s)
{
    const struct weft_request_search *search = &ticker.cli->given.search;
    const struct pace *pace = &ticker.pace;
    double told_s = 1e-3 * (double)atomic_load(&ticker.cli->environment.progress.left_ms);
    double took_s = now_s - pace->start_s;
    double steady_s = took_s - pace->since_s;
    bool steady = steady_s >= 1 && steady_s >= STEADY_SHARE * took_s;
    double left_s = told_s > 0 ? told_s : steady ? pace->whole_s - took_s : 0;
    if (search->timed) {
        fprintf(stderr, "; at most %.0f s left", fmax(search->seconds - now_s, 0));
    } else if (left_s >= 0.5) {
        fprintf(stderr, "; about %.0f s left", left_s);
    }
}

// Follows the request from one step to the next.
static void follow_steps(void)
{
    const struct weft_progress *progress = &ticker.cli->environment.progress;
    uint64_t begun = atomic_load(&progress->begun);
    ticker.working = atomic_load(&progress->ended) < begun;
    if (ticker.step_count == begun) {
        return;
    }
    for (; ticker.step_count < begun; ticker.step_count++) {
        ticker.step = ticker.step == NULL ? progress->first : ticker.step->next;
        ticker.row_count = 0;
    }
    ticker.events = 0;
    ticker.shown_s = cli_elapsed_s(ticker.cli);
    ticker.pace = (struct pace){.start_s = ticker.shown_s};
}

// Looks at the tally. What is done never becomes less, nor more than all.
static void follow_pace(void)
{
    struct weft_progress *progress = &ticker.cli->environment.progress;
    const struct weft_tally *tally = &progress->tally;
    if (atomic_load(&progress->simulation.tally.total) > 0) {
        tally = &progress->simulation.tally;
    }
    struct pace *pace = &ticker.pace;
    uint64_t total = atomic_load(&tally->total);
    uint64_t done = atomic_load(&tally->done);
    done = done < total ? done : total;
    if (total == 0 || (pace->total > 0 && done <= pace->done)) {
        return;
    }
    double took_s = cli_elapsed_s(ticker.cli) - pace->start_s;
    pace->total = total;
    pace->done = done;
    pace->ratio = fmax(pace->ratio, (double)done / (double)total);
    pace->whole_s = done > 0 ? took_s / pace->ratio : 0;
    if (fabs(pace->whole_s - pace->about_s) > STEADY_RATIO * pace->about_s) {
        pace->about_s = pace->whole_s;
        pace->since_s = took_s;
    }
}

// Notes stand on lines of their own, above the line of progress.
static void show_notes(void)
{
    const struct cli *cli = ticker.cli;
    if (atomic_load(&cli->environment.notes.count) > cli->printed.count && ticker.shown) {
        fprintf(stderr, "\r\033[K");
        ticker.shown = false;
    }
    cli_print_notes(ticker.cli);
}

// Rows of a comparison as they come, each on a line of its own above the line of progress.
static void show_rows(void)
{
    uint64_t count = ticker.step != NULL ? atomic_load(&ticker.step->rows.count) : 0;
    for (; ticker.row_count < count; ticker.row_count++) {
        const struct weft_comparison_told *row = &ticker.step->rows.rows[ticker.row_count];
        char unit[WEFT_UNIT_TEXT];
        char name[SHOWN_BYTES];
        fprintf(stderr, "%s%s: %-15s %s\n", ticker.shown ? "\r\033[K" : "", ticker.cli->program,
                shown(name, row->name), weft_show_time(unit, weft_picoseconds(row->iteration_s)));
        ticker.shown = false;
    }
}

// Which phase, the how many-th, how much of it is done, for how long, what was found, and what is
// left.
static void show_phase(double now_s)
{
    char what[SHOWN_BYTES];
    fprintf(stderr, "%s: %s", ticker.cli->program,
            shown(what, ticker.step != NULL ? ticker.step->what : ""));
    if (ticker.step_count > 1) {
        fprintf(stderr, " (phase %llu)", (unsigned long long)ticker.step_count);
    }
    show_share();
    fprintf(stderr, ", %.0f s", now_s);
    show_run();
    show_best();
    show_left(now_s);
}

// On a terminal one line that is written over; else, if --progress is given, a line every so often.
static void show(bool visible, bool terminal)
{
    double now_s = cli_elapsed_s(ticker.cli);
    visible = visible && ticker.working;
    if (visible && terminal && now_s > 0.5) {
        fputc('\r', stderr);
        show_phase(now_s);
        fprintf(stderr, "\033[K");
        ticker.shown = true;
    } else if (visible && !terminal && now_s - ticker.line_s >= ticker.cli->progress_s) {
        ticker.line_s = now_s;
        show_phase(now_s);
        fputc('\n', stderr);
    }
}

// The thread: it sleeps until the next tick or until the clock is stopped, follows the request's
// steps. Notes and progress are not shown after the stop, because the verb prints what is left
// itself.
static void *tick(void *argument)
{
    (void)argument;
    bool terminal = isatty(STDERR_FILENO) != 0;
    bool visible =
        !ticker.cli->quiet && !ticker.cli->follows && (terminal || ticker.cli->progress_s > 0);
    bool often = ticker.cli->progress_s > 0 && ticker.cli->progress_s < tick_s;
    const long tick_ns = (long)(1e9 * (often ? ticker.cli->progress_s : tick_s));
    pthread_mutex_lock(&ticker.mutex);
    while (!ticker.over) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += tick_ns;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&ticker.wake, &ticker.mutex, &until);
        follow_steps();
        follow_pace();
        if (!ticker.over) {
            show_notes();
            if (visible) {
                show_rows();
            }
            show(visible, terminal);
        }
    }
    pthread_mutex_unlock(&ticker.mutex);
    return NULL;
}

static weft_stop start(struct cli *cli, bool heeds)
{
    WEFT_ASSERT(!ticker.running);
    const struct sigaction interrupt = {.sa_handler = heeds ? on_interrupt : SIG_DFL};
    sigaction(SIGINT, &interrupt, NULL);
    ticker.cli = cli;
    ticker.step = NULL;
    ticker.step_count = 0;
    ticker.over = false;
    ticker.shown = false;
    ticker.line_s = 0;
    follow_steps();
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ticker.wake, &attributes);
    pthread_condattr_destroy(&attributes);
    // Without a thread there is no progress line.
    ticker.running = pthread_create(&ticker.thread, NULL, tick, NULL) == 0;
    return &stop_requested;
}

weft_stop cli_clock_start(struct cli *cli, const char *what, const char *of)
{
    weft_request_step_begin(cli_environment(cli, NULL), what, of);
    atomic_store(&stop_requested, false);
    return start(cli, true);
}

void cli_clock_show(struct cli *cli, const char *what, const char *of)
{
    weft_request_step_begin(cli_environment(cli, NULL), what, of);
    start(cli, false);
}

weft_stop cli_clock_watch(struct cli *cli)
{
    atomic_store(&stop_requested, false);
    atomic_store(&last_stop_requested, false);
    cli->environment.last_stop = &last_stop_requested;
    open_timer(cli);
    return start(cli, true);
}

void cli_clock_heed(void)
{
    const struct sigaction interrupt = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGTERM, &interrupt, NULL);
    sigaction(SIGHUP, &interrupt, NULL);
}

void cli_clock_stop(struct cli *cli)
{
    close_timer();
    weft_request_step_end(&cli->environment);
    if (ticker.running) {
        pthread_mutex_lock(&ticker.mutex);
        ticker.over = true;
        pthread_cond_signal(&ticker.wake);
        pthread_mutex_unlock(&ticker.mutex);
        pthread_join(ticker.thread, NULL);
        ticker.running = false;
    }
    if (ticker.shown) {
        fprintf(stderr, "\r\033[K");
    }
    cli_print_notes(cli);
    pthread_cond_destroy(&ticker.wake);
    // Who asked for the answer is to get it.
    signal(SIGINT, atomic_load(&stop_requested) ? SIG_IGN : SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}
