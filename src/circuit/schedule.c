// SPDX-License-Identifier: Apache-2.0
// Whether a schedule of circuits can be carried out. The check follows the ports through time by
// itself: for each one since when it has its peer, when that is lit and until when; and it puts
// every burst into the time of its circuit. O(changes nodes + bursts log bursts + nodes^2).

#include "weft/base/heap.h"
#include "weft/circuit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Bytes may be fractions: what is lost in adding them up.
#define ROUNDING 1e-9

// One port's time with one peer.
struct hold {
    uint32_t peer;
    uint64_t lit_ps;   // its first packet may pass
    uint64_t until_ps; // it turns away
};

// A burst, by the circuit that it crosses and by its start.
struct load {
    size_t port;
    uint32_t burst;
};

struct check {
    const struct weft_circuit_schedule *schedule;
    const struct weft_circuit_traffic *traffic;
    uint32_t *peers;     // [plane * nodes + port], as of now
    uint64_t *steady_ps; // ... since when the port has changed
    struct hold *holds;  // all, in the order of their beginnings
    size_t *next;        // per hold: the port's next one
    size_t *first;       // per port: its first hold, one for each at the start
    size_t *last;
    size_t hold_count;
    struct weft_circuit_breaches *breaches; // all that is wrong; NULL: the first ends the check
    uint32_t breach_room;
    struct weft_arena *kept; // holds them
    struct weft_error *error;
};

// Whether the check goes on behind a breach, which is on the list then.
static bool goes_on(struct check *check)
{
    struct weft_circuit_breaches *breaches = check->breaches;
    if (breaches == NULL) {
        return false;
    }
    if (breaches->count == check->breach_room) {
        check->breach_room = check->breach_room > 0 ? 2 * check->breach_room : 16;
        const char **lines = WEFT_NEW(check->kept, const char *, check->breach_room);
        for (uint32_t i = 0; i < breaches->count; i++) {
            lines[i] = breaches->lines[i];
        }
        breaches->lines = lines;
    }
    const char *message = check->error->message;
    breaches->lines[breaches->count++] = weft_arena_text(check->kept, message, strlen(message));
    *check->error = (struct weft_error){.code = WEFT_OK};
    return true;
}

static const char *show(char *text, uint64_t time_ps)
{
    return weft_show_time(text, time_ps);
}

// ---- changes ----

// Whether the check goes on where peers of this change (WEFT_NONE: those at first) are wrong.
static bool go_on_from(struct check *check, uint32_t change)
{
    if (change != WEFT_NONE) {
        weft_wrap(check->error, "change %u", change);
    }
    return goes_on(check);
}

// No port receives from two. One that sends to nobody (itself) may receive. False where the check
// ends here.
static bool check_peers(struct check *check, uint32_t plane, const uint32_t *peers, uint32_t change,
                        bool *is_taken)
{
    uint32_t n = check->schedule->node_count;
    const struct weft_circuit_losses *losses = check->traffic->losses;
    char when[WEFT_UNIT_TEXT] = "at first";
    if (change != WEFT_NONE) {
        show(when, check->schedule->changes[change].start_ps);
    }
    memset(is_taken, 0, n * sizeof(bool));
    for (uint32_t i = 0; i < n; i++) {
        if (peers[i] == i) {
            continue;
        }
        bool is_there = peers[i] < n;
        if (!is_there || is_taken[peers[i]]) {
            weft_fail(check->error, WEFT_INPUT,
                      "plane %u, %s: port %u sends to port %u, which %s; give a permutation", plane,
                      when, i, peers[i], is_there ? "another sends to" : "does not exist");
            if (!go_on_from(check, change)) {
                return false;
            }
        }
        if (is_there) {
            is_taken[peers[i]] = true;
        }
        if (losses != NULL && is_there &&
            !weft_circuit_check_loss(losses, plane, i, peers[i], check->error) &&
            (weft_wrap(check->error, "%s", when) || !go_on_from(check, change))) {
            return false;
        }
    }
    return true;
}

static bool take_change(struct check *check, uint32_t index, bool *is_taken)
{
    const struct weft_circuit_schedule *schedule = check->schedule;
    const struct weft_circuit_change *change = &schedule->changes[index];
    const struct weft_circuit_delays *delays = &schedule->delays;
    uint32_t n = schedule->node_count;
    char when[WEFT_UNIT_TEXT];
    char until[WEFT_UNIT_TEXT];
    show(when, change->start_ps);
    if (change->plane >= schedule->plane_count) {
        weft_fail(check->error, WEFT_INPUT, "change %u, at %s: no plane %u, there are %u", index,
                  when, change->plane, schedule->plane_count);
        return goes_on(check);
    }
    if (index > 0 && change->start_ps < schedule->changes[index - 1].start_ps) {
        weft_fail(check->error, WEFT_INPUT,
                  "change %u, at %s: starts before the one above it; sort by start", index, when);
        return goes_on(check);
    }
    if (!check_peers(check, change->plane, change->peers, index, is_taken)) {
        return false;
    }
    uint64_t turns_ps = change->start_ps + delays->command_ps;
    uint64_t steady_ps = turns_ps + delays->dark_ps + delays->retrain_ps;
    for (uint32_t i = 0; i < n; i++) {
        size_t port = (size_t)change->plane * n + i;
        if (check->peers[port] == change->peers[i]) {
            continue;
        }
        if (check->steady_ps[port] > change->start_ps) {
            weft_fail(check->error, WEFT_INFEASIBLE,
                      "change %u, at %s: port %u of plane %u still changes until %s; start then",
                      index, when, i, change->plane, show(until, check->steady_ps[port]));
            if (!goes_on(check)) {
                return false;
            }
        }
        check->peers[port] = change->peers[i];
        check->steady_ps[port] = change->peers[i] == i ? change->start_ps : steady_ps;
        check->holds[check->last[port]].until_ps = turns_ps;
        check->holds[check->hold_count] =
            (struct hold){change->peers[i], steady_ps + delays->first_ps, WEFT_NEVER};
        check->next[check->last[port]] = check->hold_count;
        check->next[check->hold_count] = SIZE_MAX;
        check->last[port] = check->hold_count++;
    }
    return true;
}

static size_t count_holds(const struct weft_circuit_schedule *schedule)
{
    return ((size_t)schedule->plane_count + schedule->change_count) * schedule->node_count;
}

static bool follow(struct check *check, struct weft_arena *arena)
{
    const struct weft_circuit_schedule *schedule = check->schedule;
    size_t n = schedule->node_count;
    size_t ports = n * schedule->plane_count;
    bool *is_taken = WEFT_NEW_RAW(arena, bool, n);
    check->peers = WEFT_NEW_RAW(arena, uint32_t, ports);
    check->steady_ps = WEFT_NEW(arena, uint64_t, ports);
    check->holds = WEFT_NEW_RAW(arena, struct hold, count_holds(schedule));
    check->next = WEFT_NEW_RAW(arena, size_t, count_holds(schedule));
    check->first = WEFT_NEW_RAW(arena, size_t, ports);
    check->last = WEFT_NEW_RAW(arena, size_t, ports);
    for (uint32_t plane = 0; plane < schedule->plane_count; plane++) {
        if (!check_peers(check, plane, &schedule->first[plane * n], WEFT_NONE, is_taken)) {
            return false;
        }
    }
    for (size_t port = 0; port < ports; port++) {
        check->peers[port] = schedule->first[port];
        check->holds[port] = (struct hold){schedule->first[port], 0, WEFT_NEVER};
        check->next[port] = SIZE_MAX;
        check->first[port] = port;
        check->last[port] = port;
    }
    check->hold_count = ports;
    for (uint32_t c = 0; c < schedule->change_count; c++) {
        if (!take_change(check, c, is_taken)) {
            return false;
        }
    }
    return true;
}

// ---- bursts ----

// Where a burst has no lit circuit under it: what its port does at the time instead.
static bool refuse_burst(const struct check *check, uint32_t index)
{
    const struct weft_circuit_burst *burst = &check->traffic->bursts[index];
    size_t port = (size_t)burst->plane * check->schedule->node_count + burst->from;
    char start[WEFT_UNIT_TEXT];
    char end[WEFT_UNIT_TEXT];
    char at[WEFT_UNIT_TEXT];
    show(start, burst->start_ps);
    show(end, burst->end_ps);
    for (size_t h = check->first[port]; h != SIZE_MAX; h = check->next[h]) {
        const struct hold *hold = &check->holds[h];
        bool meets = hold->lit_ps < burst->end_ps && hold->until_ps > burst->start_ps;
        if (hold->peer != burst->to || !meets) {
            continue;
        }
        if (hold->until_ps < burst->end_ps) {
            return weft_fail(check->error, WEFT_INFEASIBLE,
                             "burst %u, %s to %s: port %u of plane %u turns away from %u at %s, "
                             "with bytes in flight; let it end by then",
                             index, start, end, burst->from, burst->plane, burst->to,
                             show(at, hold->until_ps));
        }
        return weft_fail(check->error, WEFT_INFEASIBLE,
                         "burst %u, %s to %s: port %u of plane %u reaches %u from %s on; start it "
                         "then",
                         index, start, end, burst->from, burst->plane, burst->to,
                         show(at, hold->lit_ps));
    }
    return weft_fail(check->error, WEFT_INFEASIBLE,
                     "burst %u, %s to %s: port %u of plane %u is not joined to %u; change it "
                     "before, or take another plane",
                     index, start, end, burst->from, burst->plane, burst->to);
}

static bool check_burst(const struct check *check, uint32_t index)
{
    const struct weft_circuit_burst *burst = &check->traffic->bursts[index];
    const struct weft_circuit_schedule *schedule = check->schedule;
    uint32_t n = schedule->node_count;
    if (burst->plane >= schedule->plane_count || burst->from >= n || burst->to >= n ||
        burst->from == burst->to || burst->end_ps < burst->start_ps || !(burst->bytes >= 0) ||
        isinf(burst->bytes)) {
        return weft_fail(check->error, WEFT_INPUT,
                         "burst %u: from port %u to port %u of plane %u, %g bytes: needs a plane "
                         "below %u, two ports below %u, an end behind its start and bytes",
                         index, burst->from, burst->to, burst->plane, burst->bytes,
                         schedule->plane_count, n);
    }
    if (index > 0 && burst->start_ps < check->traffic->bursts[index - 1].start_ps) {
        return weft_fail(check->error, WEFT_INPUT,
                         "burst %u: starts before the one above it; sort by start", index);
    }
    size_t port = (size_t)burst->plane * n + burst->from;
    for (size_t h = check->first[port]; h != SIZE_MAX; h = check->next[h]) {
        const struct hold *hold = &check->holds[h];
        if (hold->peer == burst->to && hold->lit_ps <= burst->start_ps &&
            burst->end_ps <= hold->until_ps) {
            return true;
        }
    }
    return refuse_burst(check, index);
}

static int by_port(const void *a, const void *b)
{
    const struct load *x = a;
    const struct load *y = b;
    return x->port != y->port ? (x->port > y->port) - (x->port < y->port)
                              : (x->burst > y->burst) - (x->burst < y->burst);
}

// Bursts of one port that have begun and not ended, the first end first.
struct open_burst {
    uint64_t end_ps;
    double left_bytes;
    uint32_t burst;
};
struct open_heap {
    struct open_burst *entries;
    uint32_t count;
};

static inline bool ends_first(const struct open_burst *a, const struct open_burst *b)
{
    return a->end_ps < b->end_ps;
}

WEFT_HEAP(open_heap, struct open_heap, struct open_burst, 2, ends_first, weft_heap_no_places)

// Serves what is open from now on until then, the first end first. False: one ends too late.
static bool serve(struct check *check, struct open_heap *open, double *now_ps, double until_ps)
{
    double ps_per_byte = (double)WEFT_PS_PER_S / check->traffic->rate_Bps;
    while (open->count > 0 && *now_ps < until_ps) {
        struct open_burst *burst = &open->entries[0];
        double end_ps = *now_ps + burst->left_bytes * ps_per_byte;
        if (end_ps > (double)burst->end_ps * (1 + ROUNDING) + 1) {
            const struct weft_circuit_burst *own = &check->traffic->bursts[burst->burst];
            char end[WEFT_UNIT_TEXT];
            char needed[WEFT_UNIT_TEXT];
            weft_fail(check->error, WEFT_INFEASIBLE,
                      "burst %u: port %u of plane %u carries its %g bytes by %s at the earliest, "
                      "and it ends at %s; send less or give it longer",
                      burst->burst, own->from, own->plane, own->bytes,
                      show(needed, (uint64_t)end_ps), show(end, burst->end_ps));
            if (!goes_on(check)) {
                return false;
            }
            open_heap_pop(open); // the rest is looked at as if it had not been sent
            continue;
        }
        if (end_ps > until_ps) {
            burst->left_bytes -= (until_ps - *now_ps) / ps_per_byte;
            break;
        }
        *now_ps = end_ps;
        open_heap_pop(open);
    }
    *now_ps = until_ps;
    return true;
}

// No port sends more than its rate allows. Bursts of a port that are to different peers never meet,
// since each is within the time of its circuit.
static bool check_rates(struct check *check, struct weft_arena scratch)
{
    const struct weft_circuit_traffic *traffic = check->traffic;
    uint32_t count = traffic->burst_count;
    struct load *loads = WEFT_NEW_RAW(&scratch, struct load, count);
    struct open_heap open = {WEFT_NEW_RAW(&scratch, struct open_burst, count), 0};
    if (count > 0 && !(traffic->rate_Bps > 0)) {
        return weft_fail(check->error, WEFT_INPUT, "circuits of rate %g carry nothing; give a rate",
                         traffic->rate_Bps);
    }
    for (uint32_t b = 0; b < count; b++) {
        const struct weft_circuit_burst *burst = &traffic->bursts[b];
        loads[b] =
            (struct load){(size_t)burst->plane * check->schedule->node_count + burst->from, b};
    }
    qsort(loads, count, sizeof(*loads), by_port);
    double now_ps = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_circuit_burst *burst = &traffic->bursts[loads[i].burst];
        bool is_other = i > 0 && loads[i].port != loads[i - 1].port;
        if (!serve(check, &open, &now_ps, is_other ? (double)INFINITY : (double)burst->start_ps)) {
            return false;
        }
        now_ps = (double)burst->start_ps;
        open_heap_push(&open, (struct open_burst){burst->end_ps, burst->bytes, loads[i].burst});
    }
    return serve(check, &open, &now_ps, (double)INFINITY);
}

static bool check_demand(struct check *check, struct weft_arena scratch)
{
    const struct weft_circuit_traffic *traffic = check->traffic;
    size_t n = check->schedule->node_count;
    if (traffic->demand_bytes == NULL) {
        return true;
    }
    double *carried = WEFT_NEW(&scratch, double, n *n);
    for (uint32_t b = 0; b < traffic->burst_count; b++) {
        const struct weft_circuit_burst *burst = &traffic->bursts[b];
        if (burst->from < n && burst->to < n) { // else that is on the list
            carried[burst->from * n + burst->to] += burst->bytes;
        }
    }
    for (size_t pair = 0; pair < n * n; pair++) {
        double asked = pair / n == pair % n ? 0 : traffic->demand_bytes[pair];
        if (carried[pair] < asked * (1 - ROUNDING)) {
            weft_fail(check->error, WEFT_INFEASIBLE,
                      "port %zu to port %zu: %g of %g bytes are carried by the end of the "
                      "schedule; add bursts for the rest",
                      pair / n, pair % n, carried[pair], asked);
            if (!goes_on(check)) {
                return false;
            }
        }
    }
    return true;
}

static bool check_all(struct check *check, struct weft_arena scratch)
{
    if (!follow(check, &scratch)) {
        return false;
    }
    for (uint32_t b = 0; b < check->traffic->burst_count; b++) {
        if (!check_burst(check, b) && !goes_on(check)) {
            return false;
        }
    }
    return check_rates(check, scratch) && check_demand(check, scratch);
}

static const struct weft_circuit_traffic no_traffic = {.bursts = NULL};

bool weft_circuit_check_schedule(const struct weft_circuit_schedule *schedule,
                                 const struct weft_circuit_traffic *traffic,
                                 struct weft_arena scratch, struct weft_error *error)
{
    struct check check = {
        .schedule = schedule, .traffic = traffic == NULL ? &no_traffic : traffic, .error = error};
    return check_all(&check, scratch);
}

void weft_circuit_list_breaches(struct weft_circuit_breaches *breaches,
                                const struct weft_circuit_schedule *schedule,
                                const struct weft_circuit_traffic *traffic,
                                struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_error error = {.code = WEFT_OK};
    *breaches = (struct weft_circuit_breaches){.count = 0};
    struct check check = {.schedule = schedule,
                          .traffic = traffic == NULL ? &no_traffic : traffic,
                          .breaches = breaches,
                          .kept = arena,
                          .error = &error};
    if (!check_all(&check, scratch)) {
        goes_on(&check); // of what cannot be looked at further
    }
}
