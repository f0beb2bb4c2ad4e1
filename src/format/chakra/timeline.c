// SPDX-License-Identifier: Apache-2.0
// What a rank did, from the events of its Kineto trace: pieces of the host's work, what ran on
// streams, and what each waited for.
//
// A thread's time is divided where a call launched something, as chakra_trace_link does (its "CPU
// launch segments"): the piece up to the end of the call is work of the thread, and what was
// launched waits for that piece and for what ran before it on its stream. Time in which a thread
// was waiting is no work:
//   - a call that synchronizes, or a copy that was done before its call returned, ends a piece
//   where
//     it begins; the next piece waits for what had ended on the stream when it returned;
//   - a thread without operators and calls for more than GAP_NS, or before its first one, waits for
//     the operator or call of another thread that ended last before it went on, if one ended in
//     that time (chakra_trace_link's enforce_inter_thread_order has this threshold of 1 ms).
// A stream waits for another one where cudaStreamWaitEvent was called: what is launched next, on
// the same thread. With events of synchronization ("cuda_sync") that is what the event recorded;
// without them, what had ended on each other stream when it began.
//
// Each dependency leads back in recorded time, so that there are no cycles where the clocks of host
// and GPU agree.

#include "kineto.h"

#include <stddef.h>
#include <stdlib.h>

#define GAP_NS 1000000
// Waits of streams for which a thread has launched nothing yet; older ones are given up.
enum { PENDING_MAX = 64 };

struct building {
    struct kineto *kineto;
    struct chakra_pair *pair;
    json_t *list;
    json_t *groups;
    json_t **deps;       // of each node
    uint64_t *device;    // by lane
    uint32_t *by_end;    // the host's events
    uint32_t host_count; // these
    struct weft_error *error;
};

// Event i is node 2 i. A call that waits for the GPU is node 2 i up to its begin and 2 i + 1 when
// it returns.
static bool waits_for_gpu(const struct kineto *kineto, const struct kineto_event *event)
{
    return event->kind == KINETO_CALL &&
           (kineto_named(event, "Synchronize") ||
            (event->launch != WEFT_NONE && kineto_named(event, "Memcpy") &&
             kineto->events[event->launch].end_ns <= event->end_ns));
}

static uint64_t end_node(const struct kineto *kineto, uint32_t event)
{
    return 2 * (uint64_t)event + waits_for_gpu(kineto, &kineto->events[event]);
}

static void add_dep(struct building *building, uint64_t node, uint64_t before)
{
    json_array_append_new(building->deps[node], json_integer((json_int_t)before));
}

static json_t *add_node(struct building *building, uint64_t id)
{
    const struct kineto_event *event = &building->kineto->events[id / 2];
    json_t *node = json_pack("{s:I, s:s, s:i, s:[]}", "Id", (json_int_t)id, "Name", event->name,
                             "NodeType", WEFT_CHAKRA_COMP, "data_deps");
    json_array_append_new(building->list, node);
    building->deps[id] = json_object_get(node, "data_deps");
    weft_poll();
    return node;
}

// Each thread and stream is a device: what overlapped when it was recorded may overlap again.
static void set_work(struct building *building, json_t *node, const struct kineto_event *event,
                     int64_t work_ns)
{
    uint64_t *device = &building->device[event->lane];
    *device = *device != WEFT_NEVER ? *device : building->pair->device_count++;
    json_object_set_new(node, CHAKRA_ATTR_DEVICE, json_integer((json_int_t)*device));
    json_object_set_new(node, CHAKRA_ATTR_RUNTIME_PS, json_integer(1000 * work_ns));
    if (event->kind != KINETO_GPU) {
        json_object_set_new(node, CHAKRA_ATTR_KIND,
                            json_string(chakra_kinds[WEFT_CHAKRA_KIND_LOCAL]));
    }
}

// How many of a list come up to then by the time at that place in an event; they ascend by it.
static uint32_t count_until(const struct kineto *kineto, const uint32_t *list, uint32_t count,
                            int64_t time_ns, size_t at)
{
    uint32_t low = 0;
    while (low < count) {
        uint32_t middle = low + (count - low) / 2;
        const char *event = (const char *)&kineto->events[list[middle]];
        if (*(const int64_t *)(const void *)(event + at) <= time_ns) {
            low = middle + 1;
        } else {
            count = middle;
        }
    }
    return low;
}
#define SETTLED offsetof(struct kineto_event, settled_ns)
#define ISSUED offsetof(struct kineto_event, issued_ns)

// The last on a stream up to then; WEFT_NONE = none yet.
static uint32_t last_until(const struct kineto *kineto, uint32_t lane, int64_t time_ns, size_t at)
{
    const uint32_t *list = kineto->lane_events + kineto->lane_first[lane];
    uint32_t count = kineto->lane_first[lane + 1] - kineto->lane_first[lane];
    count = count_until(kineto, list, count, time_ns, at);
    return count > 0 ? list[count - 1] : WEFT_NONE;
}

// ---- threads ----

struct point {
    int64_t time_ns;
    uint64_t node;
};

// By time. Of events that end together the one that began last ends first: an operator ends behind
// the call in it, or what the call waited for would count as the operator's work.
static int compare_points(const void *a, const void *b)
{
    const struct point *x = a;
    const struct point *y = b;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    if (x->node / 2 != y->node / 2) {
        return x->node < y->node ? 1 : -1;
    }
    return (x->node > y->node) - (x->node < y->node);
}

// The host's event that ended last up to then, on another thread; WEFT_NONE = none.
static uint32_t ended_before(const struct building *building, uint32_t lane, int64_t time_ns)
{
    const struct kineto *kineto = building->kineto;
    uint32_t count = count_until(kineto, building->by_end, building->host_count, time_ns,
                                 offsetof(struct kineto_event, end_ns));
    while (count > 0 && kineto->events[building->by_end[count - 1]].lane == lane) {
        count--; // of no duration, when the gap ends
    }
    return count > 0 ? building->by_end[count - 1] : WEFT_NONE;
}

// Marks what a thread waited for in its gaps, and the ends of pieces that this asks for.
static void find_gaps(struct building *building, uint32_t lane)
{
    const struct kineto *kineto = building->kineto;
    struct kineto_event *last = NULL;
    for (uint32_t i = kineto->lane_first[lane]; i < kineto->lane_first[lane + 1]; i++) {
        struct kineto_event *event = &kineto->events[kineto->lane_events[i]];
        int64_t idle_ns = last != NULL ? last->end_ns : -GAP_NS - 1;
        uint32_t from = event->begin_ns - idle_ns > GAP_NS
                            ? ended_before(building, lane, event->begin_ns)
                            : WEFT_NONE;
        if (from != WEFT_NONE && kineto->events[from].end_ns > idle_ns) {
            event->gap_from = from;
            kineto->events[from].ends_piece = true;
            if (last != NULL) {
                last->ends_piece = true;
            }
        }
        last = last == NULL || event->end_ns > last->end_ns ? event : last;
    }
    last->ends_piece = true;
}

// Until when a call waited for the GPU; adds what it waited for. A call whose event of
// synchronization names a stream waited for that one, others for all.
static int64_t wait_for_gpu(struct building *building, uint32_t e)
{
    const struct kineto *kineto = building->kineto;
    const struct kineto_event *call = &kineto->events[e];
    uint32_t sync = kineto_find(kineto, KINETO_BY_SYNC, kineto_number(call->args, "correlation"));
    const char *key = kineto_named(call, "Event") ? "wait_on_stream" : "stream";
    int64_t until_ns = call->begin_ns;
    uint32_t only = WEFT_NONE;
    if (!kineto_named(call, "Synchronize")) {
        only = kineto->events[call->launch].lane;
    } else if (sync != WEFT_NONE) {
        const json_t *args = kineto->events[sync].args;
        only = kineto_stream(kineto, kineto_number(args, "device"), kineto_number(args, key));
    }
    for (uint32_t l = kineto->thread_count; l < kineto->lane_count; l++) {
        uint32_t last = only == WEFT_NONE || only == l
                            ? last_until(kineto, l, call->end_ns, SETTLED)
                            : WEFT_NONE;
        if (last != WEFT_NONE) {
            int64_t end_ns = kineto->events[last].settled_ns;
            add_dep(building, 2 * (uint64_t)e + 1, 2 * (uint64_t)last);
            until_ns = end_ns > until_ns ? end_ns : until_ns;
        }
    }
    return until_ns;
}

// Where the pieces of a thread end, in the order of time.
static uint32_t list_points(struct point *points, const struct kineto *kineto, uint32_t lane)
{
    uint32_t count = 0;
    for (uint32_t i = kineto->lane_first[lane]; i < kineto->lane_first[lane + 1]; i++) {
        uint32_t e = kineto->lane_events[i];
        const struct kineto_event *event = &kineto->events[e];
        bool waits = waits_for_gpu(kineto, event);
        if (waits) {
            points[count++] = (struct point){event->begin_ns, 2 * (uint64_t)e};
        }
        if (waits || event->ends_piece || event->launch != WEFT_NONE) {
            points[count++] = (struct point){event->end_ns, end_node(kineto, e)};
        }
    }
    qsort(points, count, sizeof *points, compare_points);
    return count;
}

// The pieces of a thread, each behind the one before and behind what ended its gaps.
static void add_pieces(struct building *building, uint32_t lane, struct weft_arena scratch)
{
    const struct kineto *kineto = building->kineto;
    uint32_t next = kineto->lane_first[lane]; // event that may begin behind a gap
    uint32_t end = kineto->lane_first[lane + 1];
    struct point *points = WEFT_NEW_RAW(&scratch, struct point, 2 * (size_t)(end - next));
    uint32_t count = list_points(points, kineto, lane);
    for (uint32_t p = 0; p < count; p++) {
        uint64_t node = points[p].node;
        json_t *added = add_node(building, node);
        int64_t since_ns = p > 0 ? points[p - 1].time_ns : 0;
        if (p > 0) {
            add_dep(building, node, points[p - 1].node);
        }
        if ((node & 1) != 0) {
            int64_t until_ns = wait_for_gpu(building, (uint32_t)(node / 2));
            since_ns = until_ns > since_ns ? until_ns : since_ns;
        }
        for (; next < end; next++) {
            const struct kineto_event *event = &kineto->events[kineto->lane_events[next]];
            if (event->begin_ns > points[p].time_ns) {
                break;
            }
            if (event->gap_from != WEFT_NONE) {
                int64_t end_ns = kineto->events[event->gap_from].end_ns;
                add_dep(building, node, end_node(kineto, event->gap_from));
                since_ns = end_ns > since_ns ? end_ns : since_ns;
            }
        }
        int64_t work_ns = points[p].time_ns - since_ns;
        set_work(building, added, &kineto->events[node / 2], work_ns > 0 ? work_ns : 0);
    }
}

// ---- streams ----

// What a kernel communicates takes the place of its time. A lenient reading leaves that.
static bool describe(struct building *building, json_t *node, const struct kineto_event *event)
{
    struct weft_chakra_joined *joined = building->pair->joined;
    bool communicates = false;
    json_t *about = json_object();
    struct weft_error flaw = {.code = WEFT_OK};
    bool good = kineto_read_comm(about, &communicates, building->groups, building->kineto, event,
                                 building->pair->lenient ? &flaw : building->error);
    if (good && communicates) {
        json_object_update(node, about);
    } else {
        set_work(building, node, event, event->end_ns - event->begin_ns);
    }
    json_decref(about);
    joined->kernel_count += !communicates;
    joined->message_count += communicates && good;
    joined->unsized_count += communicates && !good;
    return good || building->pair->lenient;
}

// What ran on a stream waits for the one before it and for the call that launched it.
static bool add_stream(struct building *building, uint32_t lane)
{
    const struct kineto *kineto = building->kineto;
    for (uint32_t i = kineto->lane_first[lane]; i < kineto->lane_first[lane + 1]; i++) {
        uint64_t id = 2 * (uint64_t)kineto->lane_events[i];
        const struct kineto_event *event = &kineto->events[id / 2];
        json_t *node = add_node(building, id);
        if (i > kineto->lane_first[lane]) {
            add_dep(building, id, 2 * (uint64_t)kineto->lane_events[i - 1]);
        }
        if (event->launch != WEFT_NONE) {
            add_dep(building, id, 2 * (uint64_t)event->launch);
        } else if (!building->pair->lenient) {
            weft_fail(building->error, WEFT_INPUT,
                      "no call of the trace launched it, as if it began before the trace");
            kineto_wrap(building->error, event);
            return weft_remedy(building->error, "lenient", "%s", "");
        }
        building->pair->joined->unlaunched_count += event->launch == WEFT_NONE;
        if (!describe(building, node, event)) {
            return false;
        }
    }
    return true;
}

// Without events of synchronization: on each other stream, what had ended when this began.
static void infer_wait(struct building *building, uint32_t e)
{
    const struct kineto *kineto = building->kineto;
    const struct kineto_event *event = &kineto->events[e];
    for (uint32_t l = kineto->thread_count; l < kineto->lane_count; l++) {
        uint32_t last =
            l != event->lane ? last_until(kineto, l, event->begin_ns, SETTLED) : WEFT_NONE;
        if (last != WEFT_NONE) {
            add_dep(building, 2 * (uint64_t)e, 2 * (uint64_t)last);
        }
    }
}

// What stood on the other stream when the event was recorded. False: that is not there, or did not
// end in time, as where a graph of kernels is played anew.
static bool state_wait(struct building *building, uint32_t e, const json_t *sync)
{
    const struct kineto *kineto = building->kineto;
    const struct kineto_event *event = &kineto->events[e];
    uint32_t lane =
        kineto_stream(kineto, kineto_number(sync, "device"), kineto_number(sync, "wait_on_stream"));
    uint32_t record = kineto_find(kineto, KINETO_BY_CALL,
                                  kineto_number(sync, "wait_on_cuda_event_record_corr_id"));
    if (lane == WEFT_NONE) {
        return false;
    }
    uint32_t last = record != WEFT_NONE
                        ? last_until(kineto, lane, kineto->events[record].begin_ns, ISSUED)
                        : last_until(kineto, lane, event->begin_ns, SETTLED);
    if (last == WEFT_NONE || kineto->events[last].end_ns > event->begin_ns) {
        return false;
    }
    if (lane != event->lane) {
        add_dep(building, 2 * (uint64_t)e, 2 * (uint64_t)last);
    }
    return true;
}

// Gives what a call launched the waits that stand open on its thread; how many are left.
static uint32_t take_waits(struct building *building, uint32_t e, uint32_t *pending, uint32_t count)
{
    const struct kineto *kineto = building->kineto;
    struct weft_chakra_joined *joined = building->pair->joined;
    uint32_t kept = 0;
    bool inferred = false;
    for (uint32_t p = 0; p < count; p++) {
        int64_t id = kineto_number(kineto->events[pending[p]].args, "correlation");
        uint32_t found = kineto_find(kineto, KINETO_BY_SYNC, id);
        const json_t *sync = found != WEFT_NONE ? kineto->events[found].args : NULL;
        if (found == WEFT_NONE) {
            inferred = true;
            joined->inferred_count++;
        } else if (kineto_stream(kineto, kineto_number(sync, "device"),
                                 kineto_number(sync, "stream")) != kineto->events[e].lane) {
            pending[kept++] = pending[p];
        } else if (state_wait(building, e, sync)) {
            joined->stated_count++;
        } else {
            joined->open_count++;
        }
    }
    if (inferred) {
        infer_wait(building, e);
    }
    return kept;
}

static void add_waits(struct building *building, uint32_t lane)
{
    const struct kineto *kineto = building->kineto;
    uint32_t pending[PENDING_MAX];
    uint32_t count = 0;
    uint64_t lost = 0;
    for (uint32_t i = kineto->lane_first[lane]; i < kineto->lane_first[lane + 1]; i++) {
        const struct kineto_event *event = &kineto->events[kineto->lane_events[i]];
        weft_poll();
        if (event->kind == KINETO_CALL && kineto_named(event, "StreamWaitEvent")) {
            lost += count == PENDING_MAX;
            count -= count == PENDING_MAX;
            pending[count++] = kineto->lane_events[i];
        }
        for (uint32_t e = event->kind == KINETO_CALL && count > 0 ? event->launch : WEFT_NONE;
             e != WEFT_NONE; e = kineto->events[e].next_launched) {
            count = take_waits(building, e, pending, count);
        }
    }
    building->pair->joined->open_count += lost + count;
}

// ---- the whole ----

static void sort_by_end(struct building *building, struct weft_arena *scratch)
{
    const struct kineto *kineto = building->kineto;
    uint32_t count = building->host_count = kineto->lane_first[kineto->thread_count];
    struct point *points = WEFT_NEW_RAW(scratch, struct point, count);
    building->by_end = WEFT_NEW_RAW(scratch, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t e = kineto->lane_events[i];
        points[i] = (struct point){kineto->events[e].end_ns, 2 * (uint64_t)e};
    }
    qsort(points, count, sizeof *points, compare_points);
    for (uint32_t i = 0; i < count; i++) {
        building->by_end[i] = (uint32_t)(points[i].node / 2);
    }
}

bool kineto_add_nodes(json_t *list, json_t *groups, struct kineto *kineto, struct chakra_pair *pair,
                      struct weft_arena scratch, struct weft_error *error)
{
    struct building building = {
        .kineto = kineto, .pair = pair, .list = list, .groups = groups, .error = error};
    building.deps = WEFT_NEW(&scratch, json_t *, 2 * (size_t)kineto->event_count);
    building.device = WEFT_NEW_RAW(&scratch, uint64_t, kineto->lane_count);
    memset(building.device, 0xff, sizeof *building.device * kineto->lane_count);
    sort_by_end(&building, &scratch);
    for (uint32_t l = 0; l < kineto->thread_count; l++) {
        find_gaps(&building, l);
    }
    for (uint32_t l = 0; l < kineto->thread_count; l++) {
        add_pieces(&building, l, scratch);
    }
    for (uint32_t l = kineto->thread_count; l < kineto->lane_count; l++) {
        if (!add_stream(&building, l)) {
            return false;
        }
    }
    for (uint32_t l = 0; l < kineto->thread_count; l++) {
        add_waits(&building, l);
    }
    return true;
}
