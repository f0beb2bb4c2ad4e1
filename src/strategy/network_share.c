// SPDX-License-Identifier: Apache-2.0
// Streams that share ports.
//
// A stream is what progresses at one rate: the transfers of an edge (its progress runs from 0 to 1,
// a load is bytes), or the AllReduces of one group (progress is bytes of each of them, a load bytes
// sent per byte reduced). Rates are weighted max-min over servers' ports, found in three sweeps:
// every stream first gets its share of each port that it uses, then what others leave.

#include "network_share.h"

#include <string.h>

#define SWEEPS 1u
// How a network that is planned for the strategy serves it; fitted (docs/strategies.md).
#define MOVED_WEIGHT 2.0   // a byte of transfers asks for so many bytes' worth of ports
#define SLOT_HALF 0.4      // rounds shares of ports to slots
#define RELAYED_RATIO 0.22 // of the ports, through other groups' links, for a group without a slot
#define NEAR_RATIO 0.9     // links of a transfer, of the mean, where transfers have a slot

struct item {
    double end; // progress at which it is done
    uint32_t next;
    uint32_t index;
    bool backward;
};

struct stream {
    bool reduce;
    uint64_t key; // reduce: its group
    double start_s;
    double progress;
    double rate;     // of progress of all items together, a second
    double crowd;    // flows on a link that its rate was found for
    double rate_max; // what its rings allow
    double weight;   // of one item: flows on a link
    double flows;    // transfers: links crossed by all its flows
    double latency_s;
    double total_bytes; // reduce: of all its AllReduces
    uint32_t members;
    uint32_t count;
    uint32_t first; // item that ends next
};

struct share {
    const struct problem *problem;
    double now_s;
    bool stale; // rates have to be found again
    double tax; // links that a transfer crosses, while the network is still to be planned
    uint32_t stream_count;
    struct stream *streams;
    float *loads; // stream * row
    uint32_t item_count;
    struct item *items;
    uint32_t active_count;
    uint32_t *active;
    uint32_t newest;     // last transfer stream
    float *use;          // row
    uint32_t *stream_of; // per node: the stream of its AllReduces
    float *total;        // per server: bytes of the iteration
    float *moved;        // per server: those of transfers
    uint32_t *own;
};

struct share *weft_share_init(const struct problem *problem, struct weft_arena *arena)
{
    struct share *share = WEFT_NEW(arena, struct share, 1);
    uint32_t most = 2 * problem->edge_count + problem->node_count;
    *share = (struct share){
        .problem = problem,
        .streams = WEFT_NEW(arena, struct stream, most),
        .loads = WEFT_NEW_RAW(arena, float, (size_t)most * problem->row),
        .items = WEFT_NEW(arena, struct item, most),
        .active = WEFT_NEW(arena, uint32_t, most),
        .use = WEFT_NEW(arena, float, problem->row),
        .stream_of = WEFT_NEW(arena, uint32_t, problem->node_count),
        .total = WEFT_NEW(arena, float, problem->row),
        .moved = WEFT_NEW(arena, float, problem->row),
        .own = WEFT_NEW(arena, uint32_t, problem->row),
    };
    return share;
}

static float *load_of(const struct share *share, uint32_t stream)
{
    return share->loads + (size_t)stream * share->problem->row;
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

static void find_rates(struct share *share)
{
    uint32_t row = share->problem->row;
    float *use = share->use;
    double port_Bps = share->problem->port_Bps;
    share->stale = false;
    memset(use, 0, sizeof *use * row);
    for (uint32_t i = 0; i < share->active_count; i++) {
        struct stream *stream = &share->streams[share->active[i]];
        stream->crowd = crowd(stream);
        add_weight(use, load_of(share, share->active[i]), (float)stream->crowd, row);
    }
    for (uint32_t i = 0; i < share->active_count; i++) {
        struct stream *stream = &share->streams[share->active[i]];
        double most = (double)largest_product(use, load_of(share, share->active[i]), row);
        stream->rate = least(stream->crowd * port_Bps / most, stream->rate_max);
    }
    for (uint32_t sweep = 0; share->active_count > 1 && sweep < SWEEPS; sweep++) {
        memset(use, 0, sizeof *use * row);
        for (uint32_t i = 0; i < share->active_count; i++) {
            const struct stream *stream = &share->streams[share->active[i]];
            add_load(use, load_of(share, share->active[i]), (float)stream->rate, row);
        }
        for (uint32_t i = 0; i < share->active_count; i++) {
            struct stream *stream = &share->streams[share->active[i]];
            double most = (double)largest_use(use, load_of(share, share->active[i]), row);
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
    memset(load_of(share, index), 0, sizeof(float) * share->problem->row);
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
    const struct problem *problem = share->problem;
    const float *load = load_of(share, index);
    uint32_t used = 0;
    for (uint32_t r = 0; r < 2 * problem->server_count; r++) {
        used += load[r] > 0;
    }
    double links = used / 2.0 * problem->ports;
    return fmax(1, share->streams[index].flows / links);
}

void weft_share_transfer(struct share *share, const struct layout *layout, uint32_t edge,
                         bool backward, double time_s)
{
    const struct problem *problem = share->problem;
    const struct wire *wire = &layout->wires[edge];
    advance(share, time_s);
    uint32_t index = share->newest;
    if (index == WEFT_NONE || share->streams[index].start_s != time_s ||
        share->streams[index].count == 0) {
        index = add_stream(share, &(struct stream){.start_s = time_s, .rate_max = HUGE_VAL});
        share->newest = index;
    }
    struct stream *stream = &share->streams[index];
    double hops = problem->hops != NULL ? 1 + wire->relay_bytes / wire->bytes : share->tax;
    bool planned = problem->planned;
    float *restrict load = load_of(share, index);
    uint32_t n = problem->server_count;
    const float *out = wire->load + (backward ? n : 0);
    const float *in = wire->load + (backward ? 0 : n);
    for (uint32_t r = 0; r < n; r++) {
        load[r] += planned ? out[r] : out[r] * share->moved[r];
    }
    for (uint32_t r = 0; r < n; r++) {
        load[n + r] += planned ? in[r] : in[r] * share->moved[r];
    }
    stream->flows += wire->flows * hops;
    stream->latency_s = fmax(stream->latency_s, hops * problem->latency_s);
    stream->weight = flows_on_link(share, index);
    add_item(share, index, 1, edge, backward);
}

// The links that a group's rings cross, and how many of a server's ports they use.
static double ring_hops(const struct problem *problem, const uint32_t *servers, uint32_t count)
{
    if (problem->hops == NULL) {
        return 1;
    }
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = servers[i + 1 == count ? 0 : i + 1];
        sum += (double)problem->hops[servers[i] * problem->server_count + to];
    }
    return sum / count;
}

static uint32_t reduce_stream(struct share *share, const struct layout *layout, uint32_t node)
{
    const struct problem *problem = share->problem;
    const struct choice *choice = weft_layout_choice(layout, node);
    const uint32_t *servers = weft_layout_servers(layout, node);
    uint64_t key = choice->parameter_parts;
    for (uint32_t i = 0; i < choice->parts; i++) {
        key += problem->marks[servers[i]];
    }
    for (uint32_t i = 0; i < share->stream_count; i++) {
        if (share->streams[i].reduce && share->streams[i].key == key) {
            return i;
        }
    }
    double k = choice->sample_parts;
    double hops = ring_hops(problem, servers, choice->parts);
    struct stream stream = {.reduce = true,
                            .key = key,
                            .rate_max = HUGE_VAL,
                            .members = choice->sample_parts,
                            .weight = 1,
                            .latency_s = 2 * (k - 1) * problem->latency_s * hops};
    uint32_t index = add_stream(share, &stream);
    float *load = load_of(share, index);
    float each = (float)(2 * (k - 1) / k);
    float relay = (float)(2 * (k - 1) / k * (hops - 1) * choice->parts / problem->server_count);
    for (uint32_t i = 0; i < choice->parts; i++) {
        load[servers[i]] += each;
        load[problem->server_count + servers[i]] += each;
    }
    for (uint32_t r = 0; hops > 1 && r < 2 * problem->server_count; r++) {
        load[r] += relay;
    }
    return index;
}

// ---- what the ports are for ----

// A network that is planned for a strategy gives each group and the transfers ports of their own,
// more for more bytes. What is left idle serves others only in part, over relays: of a port's rate
// they get their share of the bytes to the power SHARE_POWER.
// Cycle slots of one server: to whom the most bytes a slot are left.
static uint32_t deal_slots(const struct share *share, uint32_t server, uint8_t *slots,
                           uint32_t count)
{
    uint32_t streams = share->stream_count;
    double moved = (double)share->moved[server] * MOVED_WEIGHT;
    uint32_t own = 0;
    for (uint32_t slot = 0; slot < count; slot++) {
        double most = moved / (own + SLOT_HALF);
        uint32_t who = streams;
        for (uint32_t i = 0; i < streams; i++) {
            double part = (double)load_of(share, i)[server] * share->streams[i].total_bytes;
            double left = part / (slots[i] + SLOT_HALF);
            who = left > most ? i : who;
            most = left > most ? left : most;
        }
        if (who < streams) {
            slots[who]++;
        } else {
            own++;
        }
    }
    return own;
}

static void plan_ports(struct share *share, const struct layout *layout)
{
    const struct problem *problem = share->problem;
    uint32_t n = problem->server_count;
    uint32_t streams = share->stream_count;
    uint32_t count = problem->ports / 2 > 0 ? problem->ports / 2 : 1;
    memset(share->moved, 0, sizeof *share->moved * n);
    for (uint32_t e = 0; e < problem->edge_count; e++) {
        const float *load = layout->wires[e].load;
        if (!layout->wires[e].same) {
            for (uint32_t s = 0; s < n; s++) {
                share->moved[s] += load[s] + load[n + s];
            }
        }
    }
    uint8_t slots[512] = {0};
    uint8_t fewest[512];
    WEFT_ASSERT(streams < 512);
    memset(fewest, 255, sizeof fewest);
    uint32_t own_least = 255;
    for (uint32_t s = 0; s < n; s++) {
        memset(slots, 0, streams);
        share->own[s] = deal_slots(share, s, slots, count);
        own_least = share->own[s] < own_least ? share->own[s] : own_least;
        for (uint32_t i = 0; i < streams; i++) {
            if (load_of(share, i)[s] > 0) {
                fewest[i] = slots[i] < fewest[i] ? slots[i] : fewest[i];
            }
        }
    }
    bool joined = own_least > 0;
    for (uint32_t i = 0; i < streams; i++) {
        joined = joined || (share->streams[i].members == n && fewest[i] > 0);
    }
    for (uint32_t s = 0; !joined && s < n; s++) {
        uint32_t who = 0;
        for (uint32_t i = 1; i < streams; i++) {
            who = load_of(share, i)[s] > 0 && fewest[i] > fewest[who] ? i : who;
        }
        if (share->own[s] == 0) {
            share->own[s] = 1;
            if (fewest[who] == count) {
                fewest[who]--;
            }
        }
    }
    for (uint32_t i = 0; i < streams; i++) {
        struct stream *stream = &share->streams[i];
        double k = stream->members;
        double share_ratio =
            fewest[i] > 0 ? (double)fewest[i] / count : RELAYED_RATIO / problem->reach;
        stream->rate_max = problem->port_Bps * share_ratio / (2 * (k - 1) / k);
    }
    for (uint32_t s = 0; s < n; s++) {
        share->moved[s] = (float)(share->own[s] > 0 ? fmax(1, NEAR_RATIO * (problem->reach))
                                                    : fmax(1, problem->reach));
    }
}

void weft_share_begin(struct share *share, const struct layout *layout)
{
    const struct problem *problem = share->problem;
    share->now_s = 0;
    share->stale = false;
    share->stream_count = 0;
    share->item_count = 0;
    share->active_count = 0;
    share->newest = WEFT_NONE;
    share->tax = 1;
    for (uint32_t i = 0; i < problem->node_count; i++) {
        const struct choice *choice = weft_layout_choice(layout, i);
        if (choice->shard_bytes > 0 && choice->sample_parts > 1) {
            share->stream_of[i] = reduce_stream(share, layout, i);
            share->streams[share->stream_of[i]].total_bytes += choice->shard_bytes;
        }
    }
    if (!problem->planned) {
        plan_ports(share, layout);
    }
}

void weft_share_reduce(struct share *share, const struct layout *layout, uint32_t node,
                       double time_s)
{
    advance(share, time_s);
    uint32_t index = share->stream_of[node];
    double bytes = weft_layout_choice(layout, node)->shard_bytes;
    add_item(share, index, share->streams[index].progress + bytes, node, false);
}
