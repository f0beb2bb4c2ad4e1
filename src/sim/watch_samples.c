// SPDX-License-Identifier: Apache-2.0
// Samples of links while a run goes on, in bounded memory.
//
// How long a run will be is not known when it begins. When the room is full, neighboring instants
// are joined in pairs (bytes and drops added, the longer backlog kept) and the interval is doubled:
// each sample is then moved a logarithmic number of times in all.

#include "watch.h"

#include <string.h>

static void add(struct sim_watch *watch, struct weft_link_sample sample)
{
    WEFT_ASSERT(watch->sample_count < watch->sample_limit);
    watch->samples[watch->sample_count++] = sample;
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

// Adds the samples of one instant, beside[0..beside_count), and those of the next from `at` on: one
// of each link, both in order of links. Returns where the instant after begins.
static uint32_t join_next(struct sim_watch *watch, uint32_t beside_count, uint32_t at,
                          uint32_t count, uint64_t time_ps)
{
    const struct weft_link_sample *rows = watch->samples;
    uint32_t i = 0;
    while (i < beside_count || (at < count && rows[at].time_ps <= time_ps)) {
        bool more = at < count && rows[at].time_ps <= time_ps;
        struct weft_link_sample row;
        if (more && i < beside_count && rows[at].link == watch->beside[i].link) {
            row = join(&watch->beside[i++], &rows[at++]);
        } else if (!more || (i < beside_count && watch->beside[i].link < rows[at].link)) {
            row = watch->beside[i++];
        } else {
            row = rows[at++];
        }
        row.time_ps = time_ps;
        add(watch, row);
    }
    return at;
}

// Halves the samples: two instants become one.
static void coarsen(struct sim_watch *watch)
{
    uint32_t count = watch->sample_count;
    uint64_t span_ps = 2 * watch->sample_ps;
    watch->sample_count = 0;
    for (uint32_t at = 0; at < count;) {
        uint64_t first_ps = watch->samples[at].time_ps;
        uint64_t time_ps = (first_ps + span_ps - 1) / span_ps * span_ps;
        uint32_t beside_count = 0;
        while (at < count && watch->samples[at].time_ps == first_ps) {
            watch->beside[beside_count++] = watch->samples[at++];
        }
        at = join_next(watch, beside_count, at, count, time_ps);
    }
    watch->sample_ps = span_ps;
}

// ---- one instant ----

// Rows of this instant that are there already, since two instants became one: taken out into
// `beside`.
static uint32_t take_last(struct sim_watch *watch)
{
    uint32_t first = watch->sample_count;
    while (first > 0 && watch->samples[first - 1].time_ps >= watch->next_ps) {
        first--;
    }
    uint32_t count = watch->sample_count - first;
    if (count > 0) {
        memcpy(watch->beside, &watch->samples[first], count * sizeof(*watch->beside));
    }
    watch->sample_count = first;
    return count;
}

// A link's row, in order of links; *at counts the rows of `beside` that have been put back.
static void add_link(struct sim_watch *watch, struct weft_link_sample row, uint32_t *at,
                     uint32_t count)
{
    bool again = *at < count && watch->beside[*at].link == row.link;
    row.time_ps = watch->next_ps;
    if (again) {
        row = join(&row, &watch->beside[(*at)++]);
    }
    if (row.bytes > 0 || row.backlog_bytes > 0 || row.drops > 0) {
        add(watch, row);
    }
}

static void end_instant(struct sim_watch *watch)
{
    watch->next_ps += watch->sample_ps;
    while (watch->sample_count + (uint64_t)watch->link_count > watch->sample_limit) {
        coarsen(watch);
        uint64_t span_ps = watch->sample_ps;
        watch->next_ps = (watch->next_ps + span_ps - 1) / span_ps * span_ps;
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

void sim_watch_sample(struct sim_watch *watch, const struct packet_engine *engine)
{
    uint32_t at = 0;
    uint32_t count = take_last(watch);
    for (uint32_t link = 0; link < watch->link_count; link++) {
        uint64_t backlog = backlog_bytes(engine, link);
        uint64_t entered = engine->links[link].bytes;
        uint64_t left = entered > backlog ? entered - backlog : 0;
        uint64_t before = watch->left_bytes[link];
        struct weft_link_sample row = {
            .link = link,
            .bytes = left > before ? left - before : 0,
            .backlog_bytes = backlog,
            .drops = engine->links[link].drops - watch->drops[link],
        };
        watch->drops[link] = engine->links[link].drops;
        watch->left_bytes[link] = before + row.bytes;
        add_link(watch, row, &at, count);
    }
    WEFT_ASSERT(at == count);
    end_instant(watch);
}

void sim_watch_sample_fluid(struct sim_watch *watch, const struct weft_active_flows *active)
{
    uint32_t at = 0;
    uint32_t count = take_last(watch);
    double sample_s = (double)watch->sample_ps / (double)WEFT_PS_PER_S;
    for (uint32_t link = 0; link < watch->link_count; link++) {
        double rate_Bps = active->maxmin.links[link].load_Bps;
        struct weft_link_sample row = {
            .link = link,
            .bytes = rate_Bps > 0 ? (uint64_t)(rate_Bps * sample_s + 0.5) : 0,
        };
        add_link(watch, row, &at, count);
    }
    WEFT_ASSERT(at == count);
    end_instant(watch);
}
