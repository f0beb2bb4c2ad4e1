// SPDX-License-Identifier: Apache-2.0
// Streams that share ports.
//
// A stream is what progresses at one rate: the transfers of an edge (its progress runs from 0 to 1,
// a load is bytes), or the AllReduces of one group (progress is bytes of each of them, a load bytes
// sent per byte reduced). Rates are weighted max-min over servers' ports, found in two steps:
// every stream first gets its share of each port that it uses, then what others leave.

#include "streams.h"

#include <string.h>

// Sweeps of the second step of find_rates: more would come nearer to max-min rates and cost time in
// the hottest loop of the search. With one the estimate ranks as docs/strategies.md says.
#define SWEEPS 1u

struct share *weft_share_init(const struct weft_strategy_space *space, struct weft_arena *arena)
{
    struct share *share = WEFT_NEW(arena, struct share, 1);
    uint32_t most = 2 * space->edge_count + space->node_count;
    *share = (struct share){
        .space = space,
        .streams = WEFT_NEW(arena, struct stream, most),
        .loads = WEFT_NEW_RAW(arena, float, (size_t)most * space->row),
        .items = WEFT_NEW(arena, struct item, most),
        .active = WEFT_NEW(arena, uint32_t, most),
        .use = WEFT_NEW(arena, float, space->row),
        .stream_of = WEFT_NEW(arena, uint32_t, space->node_count),
        .moved = WEFT_NEW(arena, float, space->row),
        .own = WEFT_NEW(arena, uint8_t, space->server_count),
        .slots = WEFT_NEW(arena, uint8_t, most),
        .cycles = WEFT_NEW(arena, uint8_t, most),
    };
    return share;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

// ---- rates ----

// use += weight wherever the stream has load.
static void add_weight(float *restrict use, const float *restrict load, float weight, uint32_t row)
{
    for (uint32_t r = 0; r < row; r++) {
        use[r] += load[r] > 0 ? weight : 0;
    }
}

static void add_load(float *restrict use, const float *restrict load, float rate, uint32_t row)
{
    for (uint32_t r = 0; r < row; r++) {
        use[r] += load[r] * rate;
    }
}

// Largest use[r] * load[r].
static float largest_product(const float *restrict use, const float *restrict load, uint32_t row)
{
    float most[8] = {0};
    for (uint32_t r = 0; r < row; r += 8) {
        for (uint32_t i = 0; i < 8; i++) {
            float product = use[r + i] * load[r + i];
            most[i] = product > most[i] ? product : most[i];
        }
    }
    float largest = most[0];
    for (uint32_t i = 1; i < 8; i++) {
        largest = most[i] > largest ? most[i] : largest;
    }
    return largest;
}

// Largest use[r] where the stream has load.
static float largest_use(const float *restrict use, const float *restrict load, uint32_t row)
{
    float most[8] = {0};
    for (uint32_t r = 0; r < row; r += 8) {
        for (uint32_t i = 0; i < 8; i++) {
            float here = load[r + i] > 0 ? use[r + i] : 0;
            most[i] = here > most[i] ? here : most[i];
        }
    }
    float largest = most[0];
    for (uint32_t i = 1; i < 8; i++) {
        largest = most[i] > largest ? most[i] : largest;
    }
    return largest;
}

// Flows of a stream on a link, in powers of two, so that rates hold while few come and go.
static double crowd(const struct stream *stream)
{
    if (!stream->reduce) {
        return stream->weight;
    }
    uint32_t flows = 1;
    while (2 * flows <= stream->count) {
        flows *= 2;
    }
    return flows;
}

// Finds weighted max-min rates in two steps instead of exactly: each stream gets its share of its
// most crowded port, then all grow by what their most used port leaves. A row of floats for all
// ports makes each step a plain loop that the compiler vectorizes.
static void find_rates(struct share *share)
{
    uint32_t row = share->space->row;
    float *use = share->use;
    double port_Bps = share->space->port_Bps;
    share->stale = false;
    memset(use, 0, sizeof *use * row);
    for (uint32_t i = 0; i < share->active_count; i++) {
        struct stream *stream = &share->streams[share->active[i]];
        stream->crowd = crowd(stream);
        add_weight(use, weft_stream_load(share, share->active[i]), (float)stream->crowd, row);
    }
    for (uint32_t i = 0; i < share->active_count; i++) {
        struct stream *stream = &share->streams[share->active[i]];
        double most = (double)largest_product(use, weft_stream_load(share, share->active[i]), row);
        stream->rate = least(stream->crowd * port_Bps / most, stream->rate_max);
    }
    for (uint32_t sweep = 0; share->active_count > 1 && sweep < SWEEPS; sweep++) {
        memset(use, 0, sizeof *use * row);
        for (uint32_t i = 0; i < share->active_count; i++) {
            const struct stream *stream = &share->streams[share->active[i]];
            if (stream->rate < HUGE_VAL) { // else it loads no port, and 0 x inf is no number
                add_load(use, weft_stream_load(share, share->active[i]), (float)stream->rate, row);
            }
        }
        for (uint32_t i = 0; i < share->active_count; i++) {
            struct stream *stream = &share->streams[share->active[i]];
            double most = (double)largest_use(use, weft_stream_load(share, share->active[i]), row);
            stream->rate = least(stream->rate * port_Bps / most, stream->rate_max);
        }
    }
}

// ---- time ----

// Of each item: AllReduces of one group share its rate, transfers of a stream run as one.
static double speed(const struct stream *stream)
{
    return stream->reduce ? stream->rate / stream->count : stream->rate;
}

static void advance(struct share *share, double to_s)
{
    double step_s = to_s - share->now_s;
    if (step_s > 0) {
        for (uint32_t i = 0; i < share->active_count; i++) {
            struct stream *stream = &share->streams[share->active[i]];
            stream->progress += speed(stream) * step_s;
        }
        share->now_s = to_s;
    }
}

bool weft_share_next(struct share *share, double until_s, struct share_end *end)
{
    if (share->active_count == 0) {
        share->now_s = until_s < HUGE_VAL ? until_s : share->now_s;
        return false;
    }
    if (until_s <= share->now_s) {
        return false; // more starts at this very time
    }
    if (share->stale) {
        find_rates(share);
    }
    double next_s = HUGE_VAL;
    uint32_t which = 0;
    for (uint32_t i = 0; i < share->active_count; i++) {
        const struct stream *stream = &share->streams[share->active[i]];
        double left = share->items[stream->first].end - stream->progress;
        double time_s = share->now_s + (left > 0 ? left / speed(stream) : 0);
        which = time_s < next_s ? i : which;
        next_s = time_s < next_s ? time_s : next_s;
    }
    if (next_s > until_s) {
        advance(share, until_s);
        return false;
    }
    advance(share, next_s);
    struct stream *stream = &share->streams[share->active[which]];
    const struct item *item = &share->items[stream->first];
    *end =
        (struct share_end){next_s + stream->latency_s, stream->reduce, item->backward, item->index};
    stream->progress = item->end;
    stream->first = item->next;
    if (--stream->count == 0) {
        share->active[which] = share->active[--share->active_count];
        share->stale = true;
    } else if (stream->reduce) {
        share->stale = share->stale || crowd(stream) != stream->crowd;
    }
    return true;
}

// ---- starts ----

static uint32_t add_stream(struct share *share, const struct stream *stream)
{
    uint32_t index = share->stream_count++;
    share->streams[index] = *stream;
    memset(weft_stream_load(share, index), 0, sizeof(float) * share->space->row);
    return index;
}

// Puts an item into its stream's list, in order of end.
static void add_item(struct share *share, uint32_t index, double end, uint32_t what, bool backward)
{
    struct stream *stream = &share->streams[index];
    if (stream->count++ == 0) {
        stream->first = WEFT_NONE;
        share->active[share->active_count++] = index;
    }
    uint32_t *at = &stream->first;
    while (*at != WEFT_NONE && share->items[*at].end <= end) {
        at = &share->items[*at].next;
    }
    share->items[share->item_count] = (struct item){end, *at, what, backward};
    *at = share->item_count++;
    share->stale =
        share->stale || stream->count == 1 || !stream->reduce || crowd(stream) != stream->crowd;
}

// Flows on a link of those that the stream loads.
static double flows_on_link(const struct share *share, uint32_t index)
{
    const struct weft_strategy_space *space = share->space;
    const float *load = weft_stream_load(share, index);
    uint32_t used = 0;
    for (uint32_t r = 0; r < 2 * space->server_count; r++) {
        used += load[r] > 0;
    }
    double links = used / 2.0 * space->ports;
    return fmax(1, share->streams[index].flows / links);
}

void weft_share_transfer(struct share *share, const struct placement *placement, uint32_t edge,
                         bool backward, double time_s)
{
    const struct weft_strategy_space *space = share->space;
    const struct edge_traffic *traffic = &placement->traffic[edge];
    advance(share, time_s);
    uint32_t index = share->newest;
    if (index == WEFT_NONE || share->streams[index].start_s != time_s ||
        share->streams[index].count == 0) {
        index = add_stream(share, &(struct stream){.start_s = time_s, .rate_max = HUGE_VAL});
        share->newest = index;
    }
    struct stream *stream = &share->streams[index];
    double hops = space->hops != NULL ? 1 + traffic->relay_bytes / traffic->bytes : 1;
    bool planned = space->planned;
    float *restrict load = weft_stream_load(share, index);
    uint32_t n = space->server_count;
    const float *out = traffic->load + (backward ? n : 0);
    const float *in = traffic->load + (backward ? 0 : n);
    for (uint32_t r = 0; r < n; r++) {
        load[r] += planned ? out[r] : out[r] * share->moved[r];
    }
    for (uint32_t r = 0; r < n; r++) {
        load[n + r] += planned ? in[r] : in[r] * share->moved[r];
    }
    stream->flows += traffic->flows * hops;
    stream->latency_s = fmax(stream->latency_s, hops * space->latency_s);
    stream->weight = flows_on_link(share, index);
    add_item(share, index, 1, edge, backward);
}

// The links that a hop of a group's rings crosses, and how many ports the rings fill. Without
// rings it goes round once in its own order, over routes.
static double ring_hops(const struct weft_strategy_space *space, uint64_t key,
                        const uint32_t *servers, uint32_t count, double *lanes)
{
    *lanes = space->ports;
    if (space->hops == NULL) {
        return 1;
    }
    for (uint32_t g = 0; g < space->group_count; g++) {
        if (space->groups[g].key == key) {
            *lanes = least(*lanes, space->groups[g].lanes);
            return space->groups[g].hops;
        }
    }
    *lanes = 1;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = servers[i + 1 == count ? 0 : i + 1];
        sum += (double)space->hops[servers[i] * space->server_count + to];
    }
    return sum / count;
}

// Finds or makes the stream of a node's AllReduces: groups are told apart by the sum of their
// servers' marks, a hash, and by size. A ring of k members sends 2 (k-1)/k bytes for each byte
// reduced, over the lanes that its rings fill or, where it has none, over relays.
static uint32_t reduce_stream(struct share *share, const struct placement *placement, uint32_t node)
{
    const struct weft_strategy_space *space = share->space;
    const struct choice *choice = weft_placement_choice(placement, node);
    const uint32_t *servers = weft_placement_servers(placement, node);
    uint64_t key = 0;
    for (uint32_t i = 0; i < choice->parts; i++) {
        key += space->marks[servers[i]];
    }
    for (uint32_t i = 0; i < share->stream_count; i++) {
        if (share->streams[i].key == key && share->streams[i].members == choice->sample_parts) {
            return i;
        }
    }
    double k = choice->sample_parts;
    double lanes;
    double hops = ring_hops(space, key, servers, choice->parts, &lanes);
    struct stream stream = {.reduce = true,
                            .key = key,
                            .rate_max = space->port_Bps * lanes / space->ports / (2 * (k - 1) / k),
                            .members = choice->sample_parts,
                            .weight = 1,
                            .latency_s = 2 * (k - 1) * space->latency_s * hops};
    uint32_t index = add_stream(share, &stream);
    float *load = weft_stream_load(share, index);
    float each = (float)(2 * (k - 1) / k);
    float relay = (float)(2 * (k - 1) / k * (hops - 1) * choice->parts / space->server_count);
    for (uint32_t i = 0; i < choice->parts; i++) {
        load[servers[i]] += each;
        load[space->server_count + servers[i]] += each;
    }
    for (uint32_t r = 0; hops > 1 && r < 2 * space->server_count; r++) {
        load[r] += relay;
    }
    return index;
}

void weft_share_begin(struct share *share, const struct placement *placement)
{
    const struct weft_strategy_space *space = share->space;
    share->now_s = 0;
    share->stale = false;
    share->stream_count = 0;
    share->item_count = 0;
    share->active_count = 0;
    share->newest = WEFT_NONE;
    for (uint32_t i = 0; i < space->node_count; i++) {
        const struct choice *choice = weft_placement_choice(placement, i);
        if (choice->shard_bytes > 0 && choice->sample_parts > 1) {
            share->stream_of[i] = reduce_stream(share, placement, i);
            share->streams[share->stream_of[i]].total_bytes += choice->shard_bytes;
        }
    }
    if (!space->planned) {
        weft_share_plan_ports(share, placement);
    }
}

void weft_share_reduce(struct share *share, const struct placement *placement, uint32_t node,
                       double time_s)
{
    advance(share, time_s);
    uint32_t index = share->stream_of[node];
    double bytes = weft_placement_choice(placement, node)->shard_bytes;
    add_item(share, index, share->streams[index].progress + bytes, node, false);
}
