// SPDX-License-Identifier: Apache-2.0
// What a request says while it works: notes for people, and the step that is under way.
//
// A request calls nothing of the door. It appends to lists and writes atomics, which the door's
// clock thread may read at the same time. A list's counter is written after the entry that it makes
// visible, and a reader never looks behind the entries that it has counted.

#include "weft/request.h"

#include <math.h>
#include <stdarg.h>

void weft_request_note(struct weft_request_environment *environment, const char *format, ...)
{
    struct weft_arena *arena = environment->base.arena;
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    WEFT_ASSERT(length >= 0);
    char *text = WEFT_NEW(arena, char, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    struct weft_note *note = WEFT_NEW(arena, struct weft_note, 1);
    note->text = text;
    struct weft_notes *notes = &environment->notes;
    if (notes->last == NULL) {
        notes->first = note;
    } else {
        notes->last->next = note;
    }
    notes->last = note;
    atomic_fetch_add(&notes->count, 1);
}

void weft_request_step_begin(struct weft_request_environment *environment, const char *what,
                             const char *of)
{
    struct weft_progress *progress = &environment->progress;
    struct weft_request_step *step = WEFT_NEW(environment->base.arena, struct weft_request_step, 1);
    *step = (struct weft_request_step){.what = what, .of = of};
    if (progress->last == NULL) {
        progress->first = step;
    } else {
        progress->last->next = step;
    }
    progress->last = step;
    atomic_store(&progress->best_ps, WEFT_NEVER);
    atomic_store(&progress->bound_ps, 0);
    weft_tally_begin(&progress->tally, 0);
    atomic_store(&progress->left_ms, 0);
    weft_tally_begin(&progress->simulation.tally, 0);
    atomic_store(&progress->simulation.events, 0);
    atomic_fetch_add(&progress->begun, 1);
}

void weft_request_step_end(struct weft_request_environment *environment)
{
    struct weft_progress *progress = &environment->progress;
    atomic_store(&progress->ended, atomic_load(&progress->begun));
}

#define AFFORDED_S 600.0
#define AFFORDED_BYTES (8.0 * 1073741824.0)

// "3 h", "40 min", "12 days"
static const char *show_wait(char buffer[WEFT_UNIT_TEXT], double seconds)
{
    static const struct {
        double seconds;
        const char *unit;
    } units[] = {{31557600, "years"}, {86400, "days"}, {3600, "h"}, {60, "min"}};
    size_t u = 0;
    while (u + 1 < sizeof units / sizeof units[0] && seconds < 2 * units[u].seconds) {
        u++;
    }
    snprintf(buffer, WEFT_UNIT_TEXT, "%.3g %s", seconds / units[u].seconds, units[u].unit);
    return buffer;
}

bool weft_request_afford(const struct weft_request_cost *cost,
                         struct weft_request_environment *environment)
{
    double seconds = cost->per_s > 0 ? cost->count / cost->per_s : 0;
    char unit[WEFT_UNIT_TEXT];
    if (environment->goes_on || (seconds <= AFFORDED_S && cost->bytes <= AFFORDED_BYTES)) {
        return true;
    }
    if (cost->bytes > AFFORDED_BYTES) {
        return weft_fail(environment->base.error, WEFT_UNSUPPORTED,
                         "would take about %s of memory (%.2g %s); %s, or go on with {yes}",
                         weft_show_bytes(unit, cost->bytes), cost->count, cost->things,
                         cost->remedy);
    }
    return weft_fail(environment->base.error, WEFT_UNSUPPORTED,
                     "would take about %s (%.2g %s at %.2g/s); %s, or go on with {yes}",
                     show_wait(unit, seconds), cost->count, cost->things, cost->per_s,
                     cost->remedy);
}

double weft_request_packets_per_s(uint32_t server_count)
{
    return 18e6 / sqrt(server_count > 0 ? server_count : 1);
}

bool weft_request_afford_pairs(uint32_t server_count, double pair_bytes,
                               struct weft_request_environment *environment)
{
    double pairs = (double)server_count * server_count;
    const struct weft_request_cost cost = {
        .things = "pairs of servers",
        .count = pairs,
        .bytes = pairs * pair_bytes,
        .remedy = "take a job of fewer servers",
    };
    return weft_request_afford(&cost, environment);
}
