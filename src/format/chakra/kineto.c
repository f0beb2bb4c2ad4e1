// SPDX-License-Identifier: Apache-2.0
// Kineto's trace of one rank as events by threads and streams, with the host's trace where there is
// one.
//
// torch.profiler writes Chrome's JSON: of its traceEvents those with a duration ("ph": "X") are
// read that have a category of the table below (pytorch/kineto, libkineto/src/output_json.cpp and
// CuptiActivity.cpp). A call and what it launched have one correlation, an operator and its calls
// and kernels one "External id", an operator and a node of the host's trace one record function.

#include "kineto.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define SPAN_US_MAX 9e12 // 104 days: picoseconds fit 64 bits
#define TS_US_MAX 1e17
// PyTorch has some dozens; a wait of which nothing is known looks at all streams.
#define LANES_MAX 1024u
#define GPU_LANE ((uint64_t)1 << 63)

static const struct category {
    const char *word;
    enum kineto_kind kind;
} categories[] = {
    {"cpu_op", KINETO_OPERATOR}, {"cuda_runtime", KINETO_CALL},    {"cuda_driver", KINETO_CALL},
    {"kernel", KINETO_GPU},      {"gpu_memcpy", KINETO_GPU},       {"gpu_memset", KINETO_GPU},
    {"cuda_sync", KINETO_SYNC},  {"user_annotation", KINETO_NOTE},
};

// ---- one event ----

int64_t kineto_whole(const json_t *value)
{
    char *end = NULL;
    double number = json_is_string(value)   ? strtod(json_string_value(value), &end)
                    : json_is_number(value) ? json_number_value(value)
                                            : -1;
    bool whole = number >= 0 && number <= 0x1p53 && number == floor(number);
    return whole && (end == NULL || *end == '\0') ? (int64_t)number : -1;
}

bool kineto_wrap(struct weft_error *error, const struct kineto_event *event)
{
    return weft_wrap(error, "event %u '%.60s'", event->place, event->name);
}

// Process and thread, or device and stream: both are of 32 bits in Kineto.
static uint64_t lane_key(uint64_t kind, int64_t high, int64_t low)
{
    return kind | ((uint64_t)high & 0x7fffffff) << 32 | ((uint64_t)low & 0xffffffff);
}

static const struct category *category_of(const json_t *json)
{
    const char *phase = json_string_value(json_object_get(json, "ph"));
    const char *word = json_string_value(json_object_get(json, "cat"));
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        if (phase != NULL && word != NULL && strcmp(phase, "X") == 0 &&
            strcmp(word, categories[i].word) == 0) {
            return &categories[i];
        }
    }
    return NULL;
}

static bool read_event(struct kineto_event *event, const json_t *json, struct weft_error *error)
{
    const char *name = json_string_value(json_object_get(json, "name"));
    const json_t *args = json_object_get(json, "args");
    bool on_gpu = event->kind == KINETO_GPU && json_object_get(args, "stream") != NULL;
    event->name = name != NULL ? name : "";
    event->args = args;
    event->lane = event->launch = event->next_launched = event->gap_from = WEFT_NONE;
    event->lane_key =
        on_gpu ? lane_key(GPU_LANE, kineto_number(args, "device"), kineto_number(args, "stream"))
               : lane_key(event->kind == KINETO_GPU ? GPU_LANE : 0, kineto_number(json, "pid"),
                          kineto_number(json, "tid"));
    return weft_json_real(&event->ts_us, json, "ts", 0, TS_US_MAX, error) &&
           weft_json_real(&event->dur_us, json, "dur", 0, SPAN_US_MAX, error);
}

static int compare_events(const void *a, const void *b)
{
    const struct kineto_event *x = a;
    const struct kineto_event *y = b;
    if (x->begin_ns != y->begin_ns) {
        return x->begin_ns < y->begin_ns ? -1 : 1;
    }
    return (x->place > y->place) - (x->place < y->place);
}

// Times in nanoseconds from the first event on: doubles of microseconds since 1970 hold no more.
static bool read_events(struct kineto *kineto, const json_t *list, struct weft_arena *arena,
                        struct weft_error *error)
{
    double first_us = TS_US_MAX;
    size_t count = json_array_size(list);
    if (count >= WEFT_NONE / 4) {
        return weft_fail(error, WEFT_UNSUPPORTED, "traceEvents: more than 2^30 events");
    }
    kineto->events = WEFT_NEW_RAW(arena, struct kineto_event, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *json = json_array_get(list, i);
        const struct category *category = category_of(json);
        struct kineto_event *event = &kineto->events[kineto->event_count];
        weft_poll();
        if (category == NULL) {
            continue;
        }
        *event = (struct kineto_event){.kind = category->kind, .place = (uint32_t)i};
        if (!read_event(event, json, error)) {
            return kineto_wrap(error, event);
        }
        first_us = fmin(first_us, event->ts_us);
        kineto->event_count++;
    }
    for (uint32_t i = 0; i < kineto->event_count; i++) {
        struct kineto_event *event = &kineto->events[i];
        event->begin_ns = llround((event->ts_us - first_us) * 1e3);
        event->end_ns = event->begin_ns + llround(event->dur_us * 1e3);
        if (event->ts_us - first_us + event->dur_us > SPAN_US_MAX) {
            weft_fail(error, WEFT_INPUT, "ends more than 104 days behind the first event");
            return kineto_wrap(error, event);
        }
    }
    qsort(kineto->events, kineto->event_count, sizeof *kineto->events, compare_events);
    return true;
}

// ---- threads and streams ----

struct placed {
    uint64_t key;
    uint32_t event;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return (x->event > y->event) - (x->event < y->event);
}

static bool divide(struct kineto *kineto, struct weft_arena *arena, struct weft_error *error)
{
    uint32_t count = 0;
    kineto->lane_events = WEFT_NEW_RAW(arena, uint32_t, kineto->event_count);
    kineto->lane_first = WEFT_NEW(arena, uint32_t, LANES_MAX + 1);
    struct placed *placed = WEFT_NEW_RAW(arena, struct placed, kineto->event_count);
    for (uint32_t e = 0; e < kineto->event_count; e++) {
        if (kineto->events[e].kind <= KINETO_GPU) {
            placed[count++] = (struct placed){kineto->events[e].lane_key, e};
        }
    }
    qsort(placed, count, sizeof *placed, compare_placed);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || placed[i - 1].key != placed[i].key) {
            if (kineto->lane_count == LANES_MAX) {
                return weft_fail(error, WEFT_UNSUPPORTED, "more than %u threads and streams",
                                 LANES_MAX);
            }
            kineto->lane_first[kineto->lane_count++] = i;
            kineto->thread_count += placed[i].key < GPU_LANE;
        }
        kineto->lane_events[i] = placed[i].event;
        kineto->events[placed[i].event].lane = kineto->lane_count - 1;
    }
    kineto->lane_first[kineto->lane_count] = count;
    return true;
}

uint32_t kineto_stream(const struct kineto *kineto, int64_t device, int64_t stream)
{
    uint64_t key = lane_key(GPU_LANE, device, stream);
    for (uint32_t l = kineto->thread_count; l < kineto->lane_count; l++) {
        if (kineto->events[kineto->lane_events[kineto->lane_first[l]]].lane_key == key) {
            return l;
        }
    }
    return WEFT_NONE;
}

// ---- what belongs together ----

static uint64_t id_key(enum kineto_id by, int64_t id)
{
    return (uint64_t)by << 60 | (uint64_t)id;
}

uint32_t kineto_find(const struct kineto *kineto, enum kineto_id by, int64_t id)
{
    return id > 0 ? weft_idmap_find(&kineto->ids, id_key(by, id)) : WEFT_NONE;
}

// The first of several events with one id counts.
static bool index_event(struct kineto *kineto, uint32_t e, enum kineto_id by, const char *key,
                        struct weft_error *error)
{
    uint32_t present;
    int64_t id = kineto_number(kineto->events[e].args, key);
    if (id > 0 && weft_idmap_add(&kineto->ids, id_key(by, id), e, &present) == WEFT_IDMAP_CROWDED) {
        weft_fail(error, WEFT_INPUT, "its %s collides with too many others", key);
        return kineto_wrap(error, &kineto->events[e]);
    }
    return true;
}

static bool index_events(struct kineto *kineto, struct weft_arena *arena, struct weft_error *error)
{
    weft_idmap_init(&kineto->ids, 2 * kineto->event_count, arena);
    for (uint32_t e = 0; e < kineto->event_count; e++) {
        enum kineto_kind kind = kineto->events[e].kind;
        bool good =
            kind == KINETO_CALL   ? index_event(kineto, e, KINETO_BY_CALL, "correlation", error)
            : kind == KINETO_SYNC ? index_event(kineto, e, KINETO_BY_SYNC, "correlation", error)
            : kind == KINETO_OPERATOR
                ? index_event(kineto, e, KINETO_BY_OPERATOR, "External id", error)
                : true;
        if (kind == KINETO_OPERATOR || kind == KINETO_NOTE) {
            good = good && index_event(kineto, e, KINETO_BY_RECORD, "Record function id", error);
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

// Joins what ran on streams with the calls that launched it.
static void find_launches(struct kineto *kineto)
{
    for (uint32_t l = kineto->thread_count; l < kineto->lane_count; l++) {
        int64_t settled_ns = 0;
        int64_t issued_ns = 0;
        for (uint32_t i = kineto->lane_first[l]; i < kineto->lane_first[l + 1]; i++) {
            struct kineto_event *event = &kineto->events[kineto->lane_events[i]];
            event->launch =
                kineto_find(kineto, KINETO_BY_CALL, kineto_number(event->args, "correlation"));
            if (event->launch != WEFT_NONE) {
                struct kineto_event *call = &kineto->events[event->launch];
                event->next_launched = call->launch;
                call->launch = kineto->lane_events[i];
                issued_ns = call->begin_ns > issued_ns ? call->begin_ns : issued_ns;
            }
            settled_ns = event->end_ns > settled_ns ? event->end_ns : settled_ns;
            event->settled_ns = settled_ns;
            event->issued_ns = issued_ns;
        }
    }
}

bool kineto_read(struct kineto *kineto, const json_t *document, uint32_t rank_count,
                 struct weft_arena *arena, struct weft_error *error)
{
    const json_t *list = NULL;
    *kineto = (struct kineto){.rank_count = rank_count};
    if (!weft_json_array(&list, document, "traceEvents", error) ||
        !read_events(kineto, list, arena, error) || !divide(kineto, arena, error) ||
        !index_events(kineto, arena, error)) {
        return false;
    }
    if (kineto->lane_count == kineto->thread_count) {
        return weft_fail(error, WEFT_INPUT,
                         "holds no kernels; record it with ProfilerActivity.CUDA, too");
    }
    find_launches(kineto);
    return true;
}

// ---- the host's trace ----

// Attributes are a list of names and values; before schema 1.0.2 they were members of the node.
const json_t *kineto_attribute(const json_t *node, const char *key)
{
    const json_t *list = json_object_get(node, "attrs");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        if (name != NULL && strcmp(name, key) == 0) {
            return json_object_get(item, "value");
        }
    }
    return json_object_get(node, key);
}

bool kineto_read_host(struct kineto *kineto, const json_t *document,
                      struct weft_chakra_joined *joined, struct weft_error *error)
{
    const json_t *nodes = NULL;
    uint64_t found = 0;
    uint64_t lost = 0;
    if (!weft_json_array(&nodes, document, "nodes", error)) {
        return weft_wrap(error, "the host's trace");
    }
    for (size_t n = 0; n < json_array_size(nodes); n++) {
        const json_t *node = json_array_get(nodes, n);
        int64_t record = kineto_whole(kineto_attribute(node, "rf_id"));
        uint32_t event = kineto_find(kineto, KINETO_BY_RECORD, record);
        weft_poll();
        if (event != WEFT_NONE) {
            kineto->events[event].host = node;
            found++;
        }
        lost += event == WEFT_NONE && record > 0; // 0: threads and the process
    }
    joined->host_count++;
    joined->operator_count += found;
    joined->lost_count += lost;
    return found > 0 || lost == 0 ||
           weft_fail(error, WEFT_INPUT,
                     "none of the %" PRIu64 " operators of the host's trace is in Kineto's: they "
                     "are not of one run",
                     lost);
}
