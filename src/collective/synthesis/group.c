// SPDX-License-Identifier: Apache-2.0
// Fabrics that look alike from every server, and the all-gather on them.
//
// Tori, circulants and hypercubes are Cayley graphs: server ids are elements of a product of cyclic
// groups, and every server has the links of server 0, translated. So the spanning trees of server 0
// are packed into the links of one server, and the transfers of all others are translations that
// can never collide. That is a schedule of as many steps as one server's share. A machine is a link
// of server 0; a job is the chunk of a displacement, which any link can carry once the displacement
// before it is held; list scheduling, scarcest job first. O(chunks * links of a server * window).

#include "synthesize.h"

#include <string.h>

#define SIDES_MAX 16u     // of 2 or more: up to 2^16 servers
#define RADICES_MAX 4096u // factorizations that are tried before a fabric counts as irregular
// So many candidates are compared for each hop. It trades time for choice; not measured apart from
// the 16 seeds of synthesize.c, which reach the bound on the tori of docs/synthesis.md.
#define WINDOW 32u

// ---- the group ----

uint32_t weft_synth_group_add(const struct weft_synth_group *group, uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    uint32_t stride = 1;
    for (uint32_t i = 0; i < group->side_count; i++) {
        uint32_t side = group->sides[i];
        sum += (a % side + b % side) % side * stride;
        a /= side;
        b /= side;
        stride *= side;
    }
    return sum;
}

uint32_t weft_synth_group_negative(const struct weft_synth_group *group, uint32_t a)
{
    uint32_t negative = 0;
    uint32_t stride = 1;
    for (uint32_t i = 0; i < group->side_count; i++) {
        uint32_t side = group->sides[i];
        negative += (side - a % side) % side * stride;
        a /= side;
        stride *= side;
    }
    return negative;
}

// Whether every server has the links of server 0, translated.
static bool is_invariant(const struct weft_synth_group *group, const struct weft_fabric *fabric)
{
    uint32_t degree = fabric->first[1];
    for (uint32_t v = 1; v < fabric->server_count; v++) {
        if (fabric->first[v + 1] - fabric->first[v] != degree) {
            return false;
        }
        for (uint32_t i = 0; i < degree; i++) {
            const struct weft_link *link = &fabric->links[i];
            uint32_t to = weft_synth_group_add(group, v, link->to);
            uint32_t twin = weft_fabric_find_link(fabric, v, to);
            if (twin == WEFT_NONE || fabric->links[twin].rate_Bps != link->rate_Bps ||
                fabric->links[twin].latency_ps != link->latency_ps) {
                return false;
            }
        }
    }
    return true;
}

// Tries all ways to write `rest` as the sides that follow those chosen.
static bool try_sides(struct weft_synth_group *group, const struct weft_fabric *fabric,
                      uint32_t rest, uint32_t *tried)
{
    if (*tried >= RADICES_MAX || group->side_count == SIDES_MAX) {
        return false;
    }
    group->sides[group->side_count++] = rest;
    (*tried)++;
    if (is_invariant(group, fabric)) {
        return true;
    }
    for (uint32_t side = 2; side <= rest / 2; side++) {
        if (rest % side == 0) {
            group->sides[group->side_count - 1] = side;
            if (try_sides(group, fabric, rest / side, tried)) {
                return true;
            }
        }
    }
    group->side_count--;
    return false;
}

static bool is_star(const struct weft_fabric *fabric)
{
    uint32_t n = fabric->server_count;
    if (fabric->node_count != n + 1 || fabric->link_count != 2 * n) {
        return false;
    }
    for (uint32_t v = 0; v < n; v++) {
        uint32_t up = weft_fabric_find_link(fabric, v, n);
        uint32_t down = weft_fabric_find_link(fabric, n, v);
        if (up == WEFT_NONE || down == WEFT_NONE ||
            fabric->links[up].rate_Bps != fabric->links[0].rate_Bps ||
            fabric->links[down].rate_Bps != fabric->links[0].rate_Bps ||
            fabric->links[up].latency_ps != fabric->links[0].latency_ps ||
            fabric->links[down].latency_ps != fabric->links[0].latency_ps) {
            return false;
        }
    }
    return true;
}

// Lists the links of server 0 with the displacement, the sending time and the arrival of each, and
// for each displacement the one that a link leads to, so that planning needs no arithmetic in mixed
// radices.
static void fill_generators(struct weft_synth_group *group, const struct weft_synth *synth,
                            struct weft_arena *arena)
{
    const struct weft_fabric *fabric = synth->fabric;
    uint32_t count = fabric->first[1];
    struct weft_synth_generator *generators =
        WEFT_NEW_RAW(arena, struct weft_synth_generator, count);
    uint32_t *sums = WEFT_NEW_RAW(arena, uint32_t, (size_t)count * group->order);
    for (uint32_t g = 0; g < count; g++) {
        const struct weft_link *link = &fabric->links[g];
        uint64_t send_ps = weft_synth_send_ps(synth->chunk_bytes, link->rate_Bps);
        uint64_t latency_ps = link->latency_ps * (group->star ? 2 : 1);
        generators[g] = (struct weft_synth_generator){
            .element = group->star ? 0 : link->to,
            .link = g,
            .send_ps = send_ps,
            .busy_ps = send_ps + (synth->holds ? latency_ps : 0),
            .arrive_ps = send_ps + latency_ps,
        };
        for (uint32_t v = 0; v < group->order; v++) {
            sums[(size_t)g * group->order + v] =
                weft_synth_group_add(group, v, generators[g].element);
        }
    }
    group->generator_count = count;
    group->generators = generators;
    group->sums = sums;
}

bool weft_synth_group_find(struct weft_synth_group *group, const struct weft_synth *synth,
                           struct weft_arena *arena, struct weft_arena scratch)
{
    (void)scratch;
    const struct weft_fabric *fabric = synth->fabric;
    *group = (struct weft_synth_group){.order = synth->rank_count};
    group->star = is_star(fabric);
    if (group->star) {
        group->side_count = 1;
        group->sides[0] = synth->rank_count;
        fill_generators(group, synth, arena);
        return true;
    }
    uint32_t tried = 0;
    if (!synth->direct || fabric->first[1] == 0 ||
        !try_sides(group, fabric, group->order, &tried)) {
        return false;
    }
    fill_generators(group, synth, arena);
    return true;
}

// ---- the all-gather ----

// A job is chunk k at displacement v: v * chunk_factor + k. Each machine keeps the jobs that it
// could do in a list, in the order in which they became possible.
struct spread {
    const struct weft_synth *synth;
    const struct weft_synth_group *group;
    uint32_t job_count;
    bool *claimed;
    uint32_t *options; // machines that could do a job, so far
    uint32_t *next;    // [machine][job_count + 1]: lists; the head is entry job_count
    uint32_t *previous;
    uint32_t *lengths;
    uint64_t *free_ps; // of each machine
    uint32_t claimed_count;
    struct weft_synth_heap heap; // ids: jobs that arrive; job_count: a machine is free
    struct weft_synth_run *run;
    uint64_t deadline_ps;
    bool random;
    struct weft_rng rng;
};

static void append(struct spread *spread, uint32_t machine, uint32_t job)
{
    size_t row = (size_t)machine * (spread->job_count + 1);
    uint32_t head = spread->job_count;
    uint32_t last = spread->previous[row + head];
    spread->next[row + last] = job;
    spread->previous[row + job] = last;
    spread->next[row + job] = head;
    spread->previous[row + head] = job;
    spread->lengths[machine]++;
    spread->options[job]++;
}

static void remove_everywhere(struct spread *spread, uint32_t job)
{
    for (uint32_t g = 0; g < spread->group->generator_count; g++) {
        size_t row = (size_t)g * (spread->job_count + 1);
        uint32_t after = spread->next[row + job];
        if (after == WEFT_NONE) {
            continue;
        }
        uint32_t before = spread->previous[row + job];
        spread->next[row + before] = after;
        spread->previous[row + after] = before;
        spread->next[row + job] = WEFT_NONE;
        spread->lengths[g]--;
    }
}

// The jobs that a chunk at `job` makes possible.
static void arrive(struct spread *spread, uint32_t job)
{
    const struct weft_synth_group *group = spread->group;
    uint32_t factor = spread->synth->chunk_factor;
    if (group->star || spread->claimed_count == spread->job_count) {
        return;
    }
    uint32_t v = job / factor;
    for (uint32_t g = 0; g < group->generator_count; g++) {
        uint32_t reached = group->sums[(size_t)g * group->order + v] * factor + job % factor;
        if (!spread->claimed[reached]) {
            append(spread, g, reached);
        }
    }
}

// The job of a machine's list that the fewest others could do.
static uint32_t choose(struct spread *spread, uint32_t machine)
{
    size_t row = (size_t)machine * (spread->job_count + 1);
    uint32_t best = WEFT_NONE;
    uint32_t ties = 0;
    uint32_t seen = 0;
    for (uint32_t job = spread->next[row + spread->job_count];
         job != spread->job_count && seen < WINDOW; job = spread->next[row + job]) {
        seen++;
        bool better = best == WEFT_NONE || spread->options[job] < spread->options[best];
        bool equal = !better && spread->options[job] == spread->options[best];
        ties = better ? 1 : ties + (equal ? 1 : 0);
        if (better || (equal && spread->random && weft_rng_below(&spread->rng, ties) == 0)) {
            best = job;
        }
    }
    return best;
}

// Starts a job on a machine: server v - g, translated from server 0, hands the chunk on along link
// g. The job leaves the lists of all machines that could have done it.
static void start(struct spread *spread, uint32_t machine, uint32_t job, uint64_t now_ps)
{
    const struct weft_synth_group *group = spread->group;
    const struct weft_synth_generator *generator = &group->generators[machine];
    uint32_t factor = spread->synth->chunk_factor;
    uint32_t v = job / factor;
    uint32_t from =
        group->star
            ? 0
            : weft_synth_group_add(group, v, weft_synth_group_negative(group, generator->element));
    spread->run->hops[spread->run->hop_count++] = (struct weft_synth_hop){
        .from = from,
        .to = v,
        .from_slot = job % factor,
        .to_slot = job % factor,
        .link = generator->link,
        .start_ps = now_ps,
        .end_ps = now_ps + generator->arrive_ps,
    };
    spread->claimed[job] = true;
    spread->claimed_count++;
    remove_everywhere(spread, job);
    spread->free_ps[machine] = now_ps + generator->busy_ps;
    weft_synth_push(&spread->heap,
                    (struct weft_synth_event){now_ps + generator->busy_ps, spread->job_count});
    weft_synth_push(&spread->heap, (struct weft_synth_event){now_ps + generator->arrive_ps, job});
}

// Gives every free machine a job, those with the fewest to choose from first.
static void start_machines(struct spread *spread, uint32_t *order, uint64_t now_ps)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < spread->group->generator_count; g++) {
        bool late = now_ps + spread->group->generators[g].arrive_ps > spread->deadline_ps;
        if (spread->free_ps[g] > now_ps || spread->lengths[g] == 0 || late) {
            continue;
        }
        uint32_t at = count++;
        while (at > 0 && spread->lengths[order[at - 1]] > spread->lengths[g]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = g;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t job = choose(spread, order[i]);
        if (job != WEFT_NONE) {
            start(spread, order[i], job, now_ps);
        }
    }
}

// Sets up the lists: server 0 holds its own chunks, and whatever its links can carry at once is
// listed. On a star every job is possible from the start.
static void begin(struct spread *spread, struct weft_arena *scratch)
{
    const struct weft_synth_group *group = spread->group;
    uint32_t factor = spread->synth->chunk_factor;
    uint32_t machines = group->star ? 1 : group->generator_count;
    size_t entries = (size_t)machines * (spread->job_count + 1);
    spread->claimed = WEFT_NEW(scratch, bool, spread->job_count);
    spread->options = WEFT_NEW(scratch, uint32_t, spread->job_count);
    spread->next = WEFT_NEW_RAW(scratch, uint32_t, entries);
    spread->previous = WEFT_NEW_RAW(scratch, uint32_t, entries);
    spread->lengths = WEFT_NEW(scratch, uint32_t, machines);
    spread->free_ps = WEFT_NEW(scratch, uint64_t, machines);
    spread->heap.entries =
        WEFT_NEW_RAW(scratch, struct weft_synth_event, 2 * (size_t)spread->job_count);
    memset(spread->next, 0xff, entries * sizeof *spread->next);
    for (uint32_t g = 0; g < machines; g++) {
        size_t row = (size_t)g * (spread->job_count + 1);
        spread->next[row + spread->job_count] = spread->job_count;
        spread->previous[row + spread->job_count] = spread->job_count;
    }
    for (uint32_t k = 0; k < factor; k++) {
        spread->claimed[k] = true; // server 0 holds its own
        spread->claimed_count++;
    }
    for (uint32_t job = factor; group->star && job < spread->job_count; job++) {
        append(spread, 0, job);
    }
    for (uint32_t k = 0; k < factor; k++) {
        arrive(spread, k);
    }
}

// Runs the list schedule by events until all jobs are done, or nothing more can end before the
// deadline.
bool weft_synth_group_spread(struct weft_synth_run *run, const struct weft_synth *synth,
                             uint64_t seed, uint64_t deadline_ps, struct weft_arena *arena,
                             struct weft_arena scratch)
{
    struct weft_synth_group group = *synth->group;
    group.generator_count = group.star ? 1 : group.generator_count;
    struct spread spread = {
        .synth = synth,
        .group = &group,
        .job_count = group.order * synth->chunk_factor,
        .run = run,
        .deadline_ps = deadline_ps,
        .random = seed != 0,
    };
    weft_rng_init(&spread.rng, seed);
    *run = (struct weft_synth_run){
        .hops = WEFT_NEW_RAW(arena, struct weft_synth_hop, spread.job_count),
        .translated = true,
    };
    begin(&spread, &scratch);
    uint32_t *order = WEFT_NEW_RAW(&scratch, uint32_t, group.generator_count);
    start_machines(&spread, order, 0);
    while (spread.heap.count > 0) {
        uint64_t now_ps = spread.heap.entries[0].time_ps;
        while (spread.heap.count > 0 && spread.heap.entries[0].time_ps == now_ps) {
            uint32_t id = weft_synth_pop(&spread.heap).id;
            if (id != spread.job_count) {
                run->completion_ps = now_ps;
                arrive(&spread, id);
            }
        }
        start_machines(&spread, order, now_ps);
    }
    return spread.claimed_count == spread.job_count;
}
