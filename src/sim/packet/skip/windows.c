// SPDX-License-Identifier: Apache-2.0
// Which messages are in a steady state, and for how long it may be skipped.
//
// A group (groups.c) is measured in windows of some round trips. It is steady when as many
// packets of every message came in each of several windows and its round trips, which queues make,
// were as long. It then stands still (shift.c) until shortly before its first message ends at
// the rates measured, and not longer than a number of windows, which grows with each skip that
// held: the window after a skip is played and compared with what the rates foretell. One that does
// not hold begins the measuring anew, and after several in a row the group is played to its end.
//
// A message that begins on a link of a group thaws it at that instant, so nothing has to be known
// of what is to come. O(messages of the group) for each window.

#include "skip.h"

#include <math.h>

// A window is so many round trips: DCTCP's windows swing over several of them.
#define WINDOW_RTTS 8u
// DCQCN's rate moves by timers, over several of them: recovery alone takes five.
#define WINDOW_TIMERS 8u
// A window in which less comes of a message says nothing of its rate.
#define WINDOW_PACKETS_MIN 64u
// Windows alike before the first skip. It takes so many, and so do later ones while windows are
// alike and no more; where they are the same but for a packet it takes GROWTH times as many, and
// each that held lets the next take GROWTH times that. What drifts is looked at often so.
#define WINDOWS_ALIKE 3u
#define SKIP_WINDOWS_FIRST 4u
#define SKIP_WINDOWS_GROWTH 4u
#define SKIP_WINDOWS_MAX ((uint32_t)1 << 24)
// Shorter skips are not worth taking the events out of the clock.
#define SKIP_WINDOWS_MIN 3u
// Windows that are left to be played before the first message of a group ends.
#define END_WINDOWS 1.5
// How far windows of a message may differ to be alike, and to be the same. Wormhole's bound is 5 %;
// with that, rates that converge slowly (Swift's) were skipped, and ended 4 % off.
#define FLOW_TOLERANCE_RATIO 0.02
#define SAME_TOLERANCE_RATIO 0.005
// What all messages of a group bring together, and how long its round trips are, differs less.
#define GROUP_TOLERANCE_RATIO 0.01
#define RTT_TOLERANCE_RATIO 0.05
#define STRIKES_MAX 4u
// Where flows contend, windows of their controls swing, and with them what comes in a window. After
// so many that differ windows are twice as long, until the swings cancel out. Queues swing, too.
#define MISSES_MAX 3u
#define STRETCH_MAX 12u
#define STRETCHED_ALIKE 2u
#define STRETCHED_FLOW_TOLERANCE_RATIO 0.25
#define STRETCHED_MEAN_TOLERANCE_RATIO 0.03
#define STRETCHED_GROUP_TOLERANCE_RATIO 0.015
// How well the rate of the flow that swings most is to be known before skips grow without bounds;
// until then they are so many times as long as what was measured.
#define RATE_ERROR_RATIO 0.02
#define SKIP_PER_MEASURED 4.0
#define STRETCHED_RTT_TOLERANCE_RATIO 0.25

static uint64_t empty_trip_ps(const struct packet_engine *engine, uint32_t flow)
{
    uint64_t sum_ps = 1;
    struct packet_skip_walk walk = packet_skip_walk(engine, flow);
    for (; walk.link != WEFT_NONE; packet_skip_next(engine, flow, &walk)) {
        const struct packet_link *link = &engine->links[walk.link];
        double serial_ps = engine->setting.packet_bytes * link->ps_per_byte;
        sum_ps += link->latency_ps + (walk.is_back ? 0 : (uint64_t)serial_ps);
    }
    return sum_ps;
}

static uint64_t longest_rtt_ps(const struct packet_engine *engine, uint32_t id)
{
    uint64_t rtt_ps = 0;
    const struct packet_skip_flow *flows = engine->skip->flows;
    for (uint32_t f = engine->skip->groups[id].first; f != WEFT_NONE; f = flows[f].next) {
        uint64_t own_ps = engine->flows[f].view.srtt_ps;
        own_ps = own_ps > 0 ? own_ps : empty_trip_ps(engine, f);
        rtt_ps = rtt_ps > own_ps ? rtt_ps : own_ps;
    }
    return rtt_ps;
}

static uint64_t shortest_window_ps(const struct packet_engine *engine, uint64_t rtt_ps,
                                   uint32_t stretch)
{
    uint64_t window_ps = WINDOW_RTTS * rtt_ps << stretch;
    uint64_t timers_ps = WINDOW_TIMERS * engine->options->dcqcn.timer_ps;
    return engine->congestion.wants_notices && timers_ps > window_ps ? timers_ps : window_ps;
}

// Packets of a group's messages that were marked or sent again so far: some port is contended for.
static uint64_t count_cuts(const struct packet_engine *engine, uint32_t id)
{
    uint64_t cuts = 0;
    const struct packet_skip *skip = engine->skip;
    for (uint32_t f = skip->groups[id].first; f != WEFT_NONE; f = skip->flows[f].next) {
        cuts += engine->flows[f].marked_count + (uint64_t)engine->flows[f].resent_count;
    }
    return cuts;
}

// A run of windows begins now.
void packet_skip_begin_measuring(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_group *group = &skip->groups[id];
    group->is_dirty = false;
    group->is_sampling = false;
    group->is_paused = false;
    group->windows = 0;
    group->skip_windows = SKIP_WINDOWS_FIRST;
    group->misses = 0;
    group->cuts = count_cuts(engine, id);
    group->noise = 0;
    for (uint32_t f = group->first; f != WEFT_NONE; f = skip->flows[f].next) {
        uint32_t stretch = skip->flows[f].stretch;
        group->stretch = stretch > group->stretch ? stretch : group->stretch;
    }
    group->rtt_ps = longest_rtt_ps(engine, id);
    group->window_ps = shortest_window_ps(engine, group->rtt_ps, group->stretch);
    group->window_from_ps = engine->clock.now_ps;
    group->base_ps = group->window_from_ps;
    for (uint32_t f = group->first; f != WEFT_NONE; f = skip->flows[f].next) {
        skip->flows[f].base = engine->flows[f].received.low;
        skip->flows[f].mark = engine->flows[f].received.low;
        skip->flows[f].carry = 0;
    }
    packet_skip_file_tick(engine, id, group->window_from_ps + group->window_ps);
}

// Messages have begun or ended since the last window: the components of those that are left, each
// a group that is measured anew.
void packet_skip_regroup(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct weft_arena scratch = skip->scratch;
    uint32_t count = skip->groups[id].flow_count;
    uint32_t *flows = WEFT_NEW_RAW(&scratch, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        flows[i] = skip->groups[id].first;
        packet_skip_remove(skip, flows[i]);
    }
    packet_skip_release(skip, id);
    skip->is_regrouping = true;
    for (uint32_t i = 0; i < count; i++) {
        packet_skip_join(engine, flows[i]);
    }
    skip->is_regrouping = false;
    for (uint32_t i = 0; i < count; i++) {
        if (skip->groups[skip->flows[flows[i]].group].is_dirty) {
            packet_skip_begin_measuring(engine, skip->flows[flows[i]].group);
        }
    }
}

// What came in a window, beside what came in the one before, or what the rates foretold.
struct window {
    double came;
    double expected;
    double off; // the differences, without their signs
    double off_max_ratio;
    uint32_t least; // of any message
    bool is_alike;
    bool is_same;
};

// What came to a group in its window. Alike is a window whose messages each brought as many packets
// as in the one before to 2 % or a packet, and all together to 1 %; the same, to half a percent.
static struct window measure(const struct packet_engine *engine, uint32_t id, uint64_t length_ps)
{
    const struct packet_skip *skip = engine->skip;
    const struct packet_skip_group *group = &skip->groups[id];
    struct window window = {.least = UINT32_MAX, .is_alike = true, .is_same = true};
    double tolerance = group->stretch > 0 ? STRETCHED_FLOW_TOLERANCE_RATIO : FLOW_TOLERANCE_RATIO;
    for (uint32_t f = group->first; f != WEFT_NONE; f = skip->flows[f].next) {
        const struct packet_skip_flow *part = &skip->flows[f];
        const struct packet_flow *flow = &engine->flows[f];
        uint32_t came = flow->received.low - part->mark;
        double expected = group->is_sampling ? part->rate * (double)length_ps : part->last;
        double off = fabs(came - expected);
        // Packets are whole: a steady rate brings one more or less.
        window.is_alike &= off <= fmax(tolerance * expected, 1) && flow->backoff == 0;
        window.is_same &= off <= fmax(SAME_TOLERANCE_RATIO * expected, 1);
        window.off += off;
        window.off_max_ratio = fmax(window.off_max_ratio, off / fmax(expected, 1));
        window.came += came;
        window.expected += expected;
        window.least = came < window.least ? came : window.least;
    }
    if (engine->congestion.wants_notices) { // DCQCN's rates converge over milliseconds
        window.is_alike &= window.is_same;
    }
    double off = fabs(window.came - window.expected);
    tolerance = group->stretch > 0 ? STRETCHED_GROUP_TOLERANCE_RATIO : GROUP_TOLERANCE_RATIO;
    window.is_alike &= off <= fmax(tolerance * window.expected, 2);
    double rtt_ps = (double)longest_rtt_ps(engine, id);
    tolerance = group->stretch > 0 ? STRETCHED_RTT_TOLERANCE_RATIO : RTT_TOLERANCE_RATIO;
    if (group->stretch > 0) {
        window.is_alike &= window.off <= STRETCHED_MEAN_TOLERANCE_RATIO * window.expected;
        window.is_same = window.is_alike;
    }
    window.is_alike &= fabs(rtt_ps - (double)group->rtt_ps) <= tolerance * (double)group->rtt_ps;
    return window;
}

static void note_sample(struct packet_skip *skip, const struct window *window)
{
    double error = window->off / fmax(window->expected, 1);
    skip->counts.samples++;
    skip->error_sum += error;
    skip->counts.error_max_ratio = fmax(skip->counts.error_max_ratio, error);
}

// The messages' rates over all windows that were alike, and how long they may be skipped; 0: not
// long enough to be worth it.
static uint64_t skip_length_ps(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    const struct packet_skip_group *group = &skip->groups[id];
    double length_ps = (double)engine->clock.now_ps - (double)group->base_ps;
    double until_ps = (double)group->skip_windows * (double)group->window_ps;
    // Two windows differ by twice the variance of one.
    double variance = group->noise / (2.0 * fmax(1, group->windows - 1.0));
    if (variance > RATE_ERROR_RATIO * RATE_ERROR_RATIO * group->windows) {
        until_ps = fmin(until_ps, SKIP_PER_MEASURED * group->windows * (double)group->window_ps);
    }
    for (uint32_t f = group->first; f != WEFT_NONE; f = skip->flows[f].next) {
        struct packet_skip_flow *part = &skip->flows[f];
        const struct packet_flow *flow = &engine->flows[f];
        part->rate = (flow->received.low - part->base) / length_ps;
        uint32_t sent = flow->view.snd_next + 1; // the last one is played
        double left_ps = sent < flow->total ? (flow->total - sent) / part->rate : 0;
        double end_ps = END_WINDOWS * (double)(group->window_ps >> group->stretch);
        until_ps = fmin(until_ps, left_ps - end_ps);
    }
    double least = group->stretch > 0 ? 1 : SKIP_WINDOWS_MIN;
    bool is_worth = until_ps >= least * (double)group->window_ps;
    return is_worth ? (uint64_t)until_ps : 0;
}

static uint32_t windows_alike(const struct packet_skip_group *group)
{
    return group->stretch > 0 ? STRETCHED_ALIKE : WINDOWS_ALIKE;
}

// The next window begins.
static void begin_window(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_group *group = &skip->groups[id];
    if (group->windows <= 1) { // a queue that grows slowly shows over the whole run
        group->rtt_ps = longest_rtt_ps(engine, id);
    }
    for (uint32_t f = group->first; f != WEFT_NONE; f = skip->flows[f].next) {
        skip->flows[f].last = engine->flows[f].received.low - skip->flows[f].mark;
        skip->flows[f].mark = engine->flows[f].received.low;
    }
    group->window_from_ps = engine->clock.now_ps;
    group->is_sampling = false;
    uint64_t skip_ps = group->windows < windows_alike(group) ? 0 : skip_length_ps(engine, id);
    if (skip_ps > 0) {
        packet_skip_freeze(engine, id);
    }
    packet_skip_file_tick(engine, id,
                          engine->clock.now_ps + (skip_ps > 0 ? skip_ps : group->window_ps));
}

// Makes the windows of a group twice as long, where ports were contended for since it has been
// measured and its messages last long enough: false, they do not.
static bool stretch(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_group *group = &skip->groups[id];
    double room_ps =
        2 * (double)group->window_ps * (WINDOWS_ALIKE + SKIP_WINDOWS_MIN + END_WINDOWS);
    double past_ps = (double)(engine->clock.now_ps - group->window_from_ps);
    for (uint32_t f = group->first; f != WEFT_NONE; f = skip->flows[f].next) {
        const struct packet_flow *flow = &engine->flows[f];
        double came = flow->received.low - skip->flows[f].mark;
        if ((flow->total - flow->received.low) * past_ps < came * room_ps) {
            return false;
        }
    }
    if (group->stretch >= STRETCH_MAX || count_cuts(engine, id) <= group->cuts) {
        return false;
    }
    group->stretch++;
    for (uint32_t f = group->first; f != WEFT_NONE; f = skip->flows[f].next) {
        skip->flows[f].stretch = group->stretch;
    }
    return true;
}

// A sample did not hold, or windows differ: the present window is the first of a new run. After
// several samples that did not hold the group is left alone for a time that doubles.
static void begin_run(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_group *group = &skip->groups[id];
    if (++group->misses >= MISSES_MAX && stretch(engine, id)) {
        group->strikes = 0;
        packet_skip_begin_measuring(engine, id);
        return;
    }
    if (group->is_sampling && ++group->strikes >= STRIKES_MAX) {
        group->strikes = group->strikes < 32 ? group->strikes : 32;
        group->is_paused = true;
        packet_skip_file_tick(engine, id,
                              engine->clock.now_ps + (group->window_ps << (group->strikes / 2)));
        return;
    }
    uint64_t window_ps = shortest_window_ps(engine, longest_rtt_ps(engine, id), group->stretch);
    if (window_ps > group->window_ps || 2 * window_ps < group->window_ps) {
        packet_skip_begin_measuring(engine, id);
        return;
    }
    group->windows = 1;
    group->noise = 0;
    group->skip_windows = SKIP_WINDOWS_FIRST;
    group->base_ps = group->window_from_ps;
    for (uint32_t f = group->first; f != WEFT_NONE; f = skip->flows[f].next) {
        skip->flows[f].base = skip->flows[f].mark;
    }
    begin_window(engine, id);
}

// Judges a window that has ended: too few packets make it longer, one unlike the last begins a new
// run, and three alike let the next be skipped.
void packet_skip_end_window(struct packet_engine *engine, uint32_t id)
{
    struct packet_skip *skip = engine->skip;
    struct packet_skip_group *group = &skip->groups[id];
    uint64_t length_ps = engine->clock.now_ps - group->window_from_ps;
    struct window window = measure(engine, id, length_ps);
    if (window.least < WINDOW_PACKETS_MIN && !group->is_sampling) {
        group->windows = 0; // rates are counted from here on
        group->window_ps *= 2;
        group->base_ps = group->window_from_ps;
        for (uint32_t f = group->first; f != WEFT_NONE; f = skip->flows[f].next) {
            skip->flows[f].base = skip->flows[f].mark;
        }
        packet_skip_file_tick(engine, id, group->window_from_ps + group->window_ps);
        return;
    }
    if (group->is_sampling) {
        note_sample(skip, &window);
    }
    if (group->windows > 0 && !window.is_alike) {
        begin_run(engine, id);
        return;
    }
    if (group->is_sampling) {
        group->strikes = 0;
        group->misses = window.is_same ? 0 : group->misses + 1;
        if (group->misses >= MISSES_MAX && stretch(engine, id)) {
            packet_skip_begin_measuring(engine, id);
            return;
        }
    }
    group->noise += group->windows > 0 ? window.off_max_ratio * window.off_max_ratio : 0;
    group->windows++;
    bool grows = window.is_same && group->windows >= windows_alike(group);
    group->skip_windows *=
        grows && group->skip_windows < SKIP_WINDOWS_MAX ? SKIP_WINDOWS_GROWTH : 1;
    begin_window(engine, id);
}
