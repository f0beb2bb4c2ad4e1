// SPDX-License-Identifier: Apache-2.0
// Samples of links while a run goes on, in bounded memory.
//
// How long a run will be is not known when it begins. When the room is full, neighboring instants
// are joined in pairs (bytes and drops added, the longer backlog kept) and the interval is doubled:
// each sample is then moved a logarithmic number of times in all.

#include "watch.h"

#include <string.h>

static void add(struct sim_watch_samples *samples, struct weft_link_sample sample)
{
    WEFT_ASSERT(samples->count < samples->limit);
    samples->list[samples->count++] = sample;
}

static struct weft_link_sample join(const struct weft_link_sample *a,
                                    const struct weft_link_sample *b)
{
    struct weft_link_sample joined = *a;
    joined.bytes += b->bytes;
    joined.drops += b->drops;
    joined.backlog_bytes =
        a->backlog_bytes > b->backlog_bytes ? a->backlog_bytes : b->backlog_bytes;
    return joined;
}

// Merges the samples of one instant, beside[0..beside_count), with those of the next one, which
// begin at `at`; both are in order of links, with one sample a link at most. Returns where the
// instant after that begins.
static uint32_t join_next(struct sim_watch_samples *samples, uint32_t beside_count, uint32_t at,
                          uint32_t count, uint64_t time_ps)
{
    const struct weft_link_sample *rows = samples->list;
    uint32_t i = 0;
    while (i < beside_count || (at < count && rows[at].time_ps <= time_ps)) {
        bool more = at < count && rows[at].time_ps <= time_ps;
        struct weft_link_sample row;
        if (more && i < beside_count && rows[at].link == samples->beside[i].link) {
            row = join(&samples->beside[i++], &rows[at++]);
        } else if (!more || (i < beside_count && samples->beside[i].link < rows[at].link)) {
            row = samples->beside[i++];
        } else {
            row = rows[at++];
        }
        row.time_ps = time_ps;
        add(samples, row);
    }
    return at;
}

// Halves the samples: two instants become one.
static void coarsen(struct sim_watch_samples *samples)
{
    uint32_t count = samples->count;
    uint64_t span_ps = 2 * samples->period_ps;
    samples->count = 0;
    for (uint32_t at = 0; at < count;) {
        uint64_t first_ps = samples->list[at].time_ps;
        uint64_t time_ps = (first_ps + span_ps - 1) / span_ps * span_ps;
        uint32_t beside_count = 0;
        while (at < count && samples->list[at].time_ps == first_ps) {
            samples->beside[beside_count++] = samples->list[at++];
        }
        at = join_next(samples, beside_count, at, count, time_ps);
    }
    samples->period_ps = span_ps;
}

// ---- one instant ----

// Takes the rows of the instant that is sampled now out into `beside`. There are some if samples
// were joined in pairs and the last instant, without a partner, was moved to this one's time.
static uint32_t take_last(struct sim_watch_samples *samples)
{
    uint32_t first = samples->count;
    while (first > 0 && samples->list[first - 1].time_ps >= samples->next_ps) {
        first--;
    }
    uint32_t count = samples->count - first;
    if (count > 0) {
        memcpy(samples->beside, &samples->list[first], count * sizeof(*samples->beside));
    }
    samples->count = first;
    return count;
}

// Adds a link's row, joined with its row of `beside` where that has one. Called in order of links;
// *at is the first row of `beside` that has not been added.
static void add_link(struct sim_watch_samples *samples, struct weft_link_sample row, uint32_t *at,
                     uint32_t count)
{
    bool again = *at < count && samples->beside[*at].link == row.link;
    row.time_ps = samples->next_ps;
    if (again) {
        row = join(&row, &samples->beside[(*at)++]);
    }
    if (row.bytes > 0 || row.backlog_bytes > 0 || row.drops > 0) {
        add(samples, row);
    }
}

static void end_instant(struct sim_watch_samples *samples)
{
    samples->next_ps += samples->period_ps;
    while (samples->count + (uint64_t)samples->link_count > samples->limit) {
        coarsen(samples);
        uint64_t span_ps = samples->period_ps;
        samples->next_ps = (samples->next_ps + span_ps - 1) / span_ps * span_ps;
    }
}

static uint64_t backlog_bytes(const struct packet_engine *engine, uint32_t link)
{
    uint64_t now_ps = engine->clock.now_ps;
    uint64_t free_ps = engine->links[link].free_ps;
    uint64_t waiting_ps = 0;
    if (engine->ports.queues != NULL) {
        free_ps = engine->ports.queues[link].busy_ps;
        waiting_ps = engine->ports.queues[link].waiting_ps;
    }
    waiting_ps += free_ps > now_ps ? free_ps - now_ps : 0;
    return (uint64_t)((double)waiting_ps / engine->links[link].ps_per_byte);
}

void sim_watch_sample(struct sim_watch_samples *samples, const struct packet_engine *engine)
{
    uint32_t at = 0;
    uint32_t count = take_last(samples);
    for (uint32_t link = 0; link < samples->link_count; link++) {
        uint64_t backlog = backlog_bytes(engine, link);
        uint64_t entered = engine->links[link].bytes;
        uint64_t left = entered > backlog ? entered - backlog : 0;
        uint64_t before = samples->left_bytes[link];
        struct weft_link_sample row = {
            .link = link,
            .bytes = left > before ? left - before : 0,
            .backlog_bytes = backlog,
            .drops = engine->links[link].drops - samples->drops[link],
        };
        samples->drops[link] = engine->links[link].drops;
        samples->left_bytes[link] = before + row.bytes;
        add_link(samples, row, &at, count);
    }
    WEFT_ASSERT(at == count);
    end_instant(samples);
}

void sim_watch_sample_fluid(struct sim_watch_samples *samples,
                            const struct weft_active_flows *active)
{
    uint32_t at = 0;
    uint32_t count = take_last(samples);
    double sample_s = (double)samples->period_ps / (double)WEFT_PS_PER_S;
    for (uint32_t link = 0; link < samples->link_count; link++) {
        double rate_Bps = active->maxmin.links[link].load_Bps;
        struct weft_link_sample row = {
            .link = link,
            .bytes = rate_Bps > 0 ? (uint64_t)(rate_Bps * sample_s + 0.5) : 0,
        };
        add_link(samples, row, &at, count);
    }
    WEFT_ASSERT(at == count);
    end_instant(samples);
}
