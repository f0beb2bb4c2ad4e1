// SPDX-License-Identifier: Apache-2.0
// A trace of requests on one processor: the published simulator, event by event.
//
// A request waits for its datapath, then its layers begin as those they wait for end; a layer hands
// all its tasks to the cores when it begins (cores.c). Events are in order of time, then of the
// request; of one request the latest made come first, those made together in their order. That is
// the order of the published program, and decides which cores a layer gets.
//
// O(layers of all requests * (log events + runs of cores)).

#include "weft/base/heap.h"
#include "weft/serving.h"

#include <math.h>

#include "cores.h"

enum kind { REQUEST, LAYER, LAYER_END };
struct event {
    uint64_t tick;
    uint64_t made; // later ones are smaller: ~(number of the group), then the place in it
    uint32_t request;
    uint32_t layer;
    enum kind kind;
};
struct events {
    struct event *entries;
    uint32_t count, max;
    uint32_t group;
};

static inline bool event_before(const struct event *a, const struct event *b)
{
    if (a->tick != b->tick) {
        return a->tick < b->tick;
    }
    if (a->request != b->request) {
        return a->request < b->request;
    }
    return a->made < b->made;
}
WEFT_HEAP(events, struct events, struct event, 4, event_before, weft_heap_no_places)

// A request under way.
struct active {
    uint32_t left;   // layers that have not ended
    uint32_t *waits; // per layer: those it still waits for; NULL: not begun, or ended
};
// Waits of requests that have ended, for the next one of the same net.
struct pool {
    uint32_t **free;
    uint32_t count;
};

struct serving {
    const struct weft_serving_processor *processor;
    const struct weft_serving_net *nets;
    const struct weft_serving_trace *trace;
    uint64_t granularity;
    struct serving_cores cores;
    struct events events;
    struct active *active;
    struct pool pools[WEFT_SERVING_NETS];
    uint64_t *start_ticks, *end_ticks;
    uint64_t work_ticks;
    uint64_t piece_max;
    uint32_t until, until_left;
    struct weft_arena *arena; // what grows: events and the waits of requests
};

struct weft_serving_tasks weft_serving_layer_tasks(const struct weft_serving_layer *layer,
                                                   uint64_t granularity)
{
    if (layer->length >= granularity) {
        return (struct weft_serving_tasks){layer->products, layer->length};
    }
    uint64_t macs = layer->length * layer->products;
    return (struct weft_serving_tasks){(macs + granularity - 1) / granularity, granularity};
}

uint64_t weft_serving_work_ticks(const struct weft_serving_net *net, uint64_t granularity)
{
    uint64_t ticks = 0;
    for (uint32_t l = 0; l < net->layer_count; l++) {
        struct weft_serving_tasks tasks = weft_serving_layer_tasks(&net->layers[l], granularity);
        ticks += tasks.count * tasks.ticks;
    }
    return ticks;
}

static void push(struct serving *serving, struct event event)
{
    struct events *events = &serving->events;
    if (events->count == events->max) {
        uint32_t max = 2 * events->max;
        struct event *entries = WEFT_NEW_RAW(serving->arena, struct event, max);
        for (uint32_t e = 0; e < events->count; e++) {
            entries[e] = events->entries[e];
        }
        events->entries = entries;
        events->max = max;
    }
    events_push(events, event);
}

// A group of layers that begin at `tick`; `place` counts them.
static void push_layer(struct serving *serving, uint64_t tick, uint32_t request, uint32_t layer,
                       uint32_t place)
{
    push(serving, (struct event){.tick = tick,
                                 .made = (uint64_t)serving->events.group << 32 | place,
                                 .request = request,
                                 .layer = layer,
                                 .kind = LAYER});
}

static const struct weft_serving_net *net_of(const struct serving *serving, uint32_t request)
{
    return &serving->nets[serving->trace->arrivals[request].net];
}

static void begin_request(struct serving *serving, uint64_t now, uint32_t request)
{
    uint32_t n = serving->trace->arrivals[request].net;
    const struct weft_serving_net *net = &serving->nets[n];
    struct pool *pool = &serving->pools[n];
    struct active *active = &serving->active[request];
    active->waits = pool->count > 0 ? pool->free[--pool->count]
                                    : WEFT_NEW_RAW(serving->arena, uint32_t, net->layer_count);
    active->left = net->layer_count;
    double ticks = ceil(serving->processor->datapath_ns[n] * serving->processor->clock_ghz);
    serving->events.group++;
    uint32_t place = 0;
    for (uint32_t l = 0; l < net->layer_count; l++) {
        active->waits[l] = net->layers[l].wait_count;
        if (net->layers[l].wait_count == 0) {
            push_layer(serving, now + (uint64_t)ticks, request, l, place++);
        }
    }
}

static void begin_layer(struct serving *serving, uint64_t now, uint32_t request, uint32_t layer)
{
    const struct weft_serving_layer *of = &net_of(serving, request)->layers[layer];
    struct weft_serving_tasks tasks = weft_serving_layer_tasks(of, serving->granularity);
    uint64_t end = serving_cores_take(&serving->cores, now, tasks.count, tasks.ticks);
    serving->work_ticks += tasks.count * tasks.ticks;
    if (serving->cores.run_count > serving->piece_max) {
        serving->piece_max = serving->cores.run_count;
    }
    serving->events.group++;
    push(serving, (struct event){.tick = end,
                                 .made = (uint64_t)serving->events.group << 32,
                                 .request = request,
                                 .layer = layer,
                                 .kind = LAYER_END});
}

static void end_layer(struct serving *serving, uint64_t now, uint32_t request, uint32_t layer)
{
    const struct weft_serving_net *net = net_of(serving, request);
    struct active *active = &serving->active[request];
    const struct weft_serving_layer *of = &net->layers[layer];
    serving->events.group++;
    uint32_t place = 0;
    for (uint32_t n = 0; n < of->next_count; n++) {
        uint32_t next = net->next[of->next_first + n];
        if (--active->waits[next] == 0) {
            push_layer(serving, now, request, next, place++);
        }
    }
    if (--active->left == 0) {
        struct pool *pool = &serving->pools[serving->trace->arrivals[request].net];
        pool->free[pool->count++] = active->waits;
        active->waits = NULL;
        serving->end_ticks[request] = now;
        serving->until_left -= request < serving->until;
    }
}

static void init(struct serving *serving, struct weft_arena *arena, struct weft_arena *scratch)
{
    uint32_t count = serving->trace->count;
    serving->arena = scratch;
    serving->start_ticks = WEFT_NEW(arena, uint64_t, count);
    serving->end_ticks = WEFT_NEW(arena, uint64_t, count);
    serving->active = WEFT_NEW(scratch, struct active, count);
    serving->events.max = count + 1024;
    serving->events.entries = WEFT_NEW_RAW(scratch, struct event, serving->events.max);
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        serving->pools[n].free = WEFT_NEW_RAW(scratch, uint32_t *, count);
    }
    serving_cores_init(&serving->cores, serving->processor->cores, scratch);
    for (uint32_t r = 0; r < count; r++) {
        double ticks =
            (double)serving->trace->arrivals[r].arrival_ns * serving->processor->clock_ghz;
        serving->start_ticks[r] = (uint64_t)ceil(ticks);
        serving->end_ticks[r] = WEFT_NEVER;
        push(serving,
             (struct event){.tick = serving->start_ticks[r], .request = r, .kind = REQUEST});
    }
}

void weft_serving_run(struct weft_serving_run *run, const struct weft_serving_processor *processor,
                      const struct weft_serving_net *nets, const struct weft_serving_trace *trace,
                      const struct weft_serving_options *options, struct weft_arena *arena,
                      struct weft_arena scratch)
{
    bool all = options->until == 0 || options->until > trace->count;
    struct serving serving = {
        .processor = processor,
        .nets = nets,
        .trace = trace,
        .granularity = options->granularity > 0 ? options->granularity : WEFT_SERVING_GRANULARITY,
        .until = all ? trace->count : options->until,
    };
    serving.until_left = serving.until;
    init(&serving, arena, &scratch);
    uint64_t now = 0;
    while (serving.until_left > 0) {
        struct event event = events_pop(&serving.events);
        WEFT_ASSERT(event.tick >= now);
        now = event.tick;
        weft_poll();
        switch (event.kind) {
        case REQUEST:
            begin_request(&serving, now, event.request);
            break;
        case LAYER:
            begin_layer(&serving, now, event.request, event.layer);
            break;
        case LAYER_END:
            end_layer(&serving, now, event.request, event.layer);
            break;
        }
    }
    *run = (struct weft_serving_run){
        .count = trace->count,
        .start_ticks = serving.start_ticks,
        .end_ticks = serving.end_ticks,
        .last_tick = now,
        .work_ticks = serving.work_ticks,
        .piece_max = serving.piece_max,
    };
}

double weft_serving_isolated_ns(const struct weft_serving_processor *processor,
                                const struct weft_serving_net *nets, uint32_t net,
                                uint64_t granularity, struct weft_arena scratch)
{
    const struct weft_serving_arrival arrival = {.net = net};
    const struct weft_serving_trace trace = {.count = 1, .arrivals = &arrival};
    const struct weft_serving_options options = {.granularity = granularity};
    struct weft_arena result = weft_arena_split(&scratch);
    struct weft_serving_run run;
    weft_serving_run(&run, processor, nets, &trace, &options, &result, scratch);
    return (double)(run.end_ticks[0] - run.start_ticks[0]) / processor->clock_ghz;
}

void weft_serving_draw(struct weft_serving_trace *trace, const struct weft_serving_net *nets,
                       uint32_t count, double rate_Bps, struct weft_rng *rng,
                       struct weft_arena *arena)
{
    struct weft_serving_arrival *arrivals = WEFT_NEW(arena, struct weft_serving_arrival, count);
    double at_ns = 0;
    for (uint32_t r = 0; r < count; r++) {
        uint32_t net = weft_rng_below(rng, WEFT_SERVING_NETS);
        at_ns += weft_rng_exponential(rng, (double)nets[net].input_bits / 8 / rate_Bps * 1e9);
        arrivals[r] = (struct weft_serving_arrival){(uint64_t)at_ns, net};
    }
    *trace = (struct weft_serving_trace){.count = count, .arrivals = arrivals};
}
