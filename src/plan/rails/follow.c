// SPDX-License-Identifier: Apache-2.0
// The circuit controller of a plan of rails: the order of operations and changes is the plan's, the
// times are the engine's.
//
// The plan's order says, for every operation, which of its circuits are not there, and behind which
// operations their ports come: these have to be done first (of circuits that were asked for beside
// an operation, they have to have begun). Then its change is asked for; on demand the operation has
// to be ready, too. Its messages may begin when it is ready and all of its circuits are lit; until
// then its pairs have no way. All ports of an operation change together, as in the plan.
//
// Iterations follow each other, and what an operation waits for may be of the one before.
// O(circuits) an operation, O(servers) for each plane that changes.

#include "plan/rails/play.h"

#include <math.h>
#include <string.h>

// Peers of all changes that are kept.
#define RECORD_MAX (1u << 25)

// Another operation that has to be done, or to have begun, before.
struct wait {
    uint32_t step;
    bool begun;   // it is enough that it has begun
    bool earlier; // it is of the iteration before
    bool moves;   // it holds ports that change
};

struct progress {
    uint32_t ready, asked, begun, done; // times
    uint64_t lit_ps;                    // of the last change
    bool is_queued;
};

struct rail_follower {
    const struct rail_follow_setup *setup;
    uint32_t servers, planes;
    uint32_t *role; // per task: 2 * step, + 1 where it is done; WEFT_NONE: neither
    bool *changes;  // per step
    bool *moves;    // per circuit of the plan: in its order it is not there
    bool *waits;    // per step: not asked before it is ready
    uint32_t *wait_first;
    struct wait *all_waits;
    uint32_t *wake_first, *wakes; // the other way round
    struct progress *progress;
    uint32_t *queue, queue_count; // steps to look at
    uint32_t *unlit, unlit_count; // ready, their change asked for
    // Ports: 2 * plane sends, 2 * plane + 1 receives.
    uint32_t *peer;
    bool *touched; // per plane
    uint32_t *first;
    uint32_t *next_link;
    uint32_t *width;                    // per link: circuits that its operation uses; 0: none does
    double *rate_Bps, *meanwhile_Bps;   // per link
    bool *is_held;                      // per link
    struct weft_circuit_change *orders; // of the present instant
    struct weft_circuit_change *record;
    uint32_t record_count, record_room;
    struct weft_circuit_controller planes_controller;
    struct weft_arena *arena;
};

static const struct weft_rail_circuit *circuits_of(const struct rail_follower *self, uint32_t step,
                                                   uint32_t *count)
{
    const struct weft_rail_result *plan = self->setup->lowered->plan;
    *count = plan->steps[step].circuit_count;
    return plan->circuits + plan->steps[step].circuit_first;
}

// ---- the plan's order ----

// Who had each port last, while the plan's order is walked.
struct walk {
    uint32_t *step;   // per port
    bool *begun;      // per port: it is free once that has begun
    uint32_t *round;  // per port: in which walk
    uint32_t current; // 0, then 1
};

static void ports_of(const struct rail_follower *self, const struct weft_rail_circuit *circuit,
                     size_t ports[2])
{
    ports[0] = (size_t)(2 * circuit->plane) * self->servers + circuit->from;
    ports[1] = (size_t)(2 * circuit->plane + 1) * self->servers + circuit->to;
}

static bool is_there(const struct rail_follower *self, const struct weft_rail_circuit *circuit)
{
    size_t ports[2];
    ports_of(self, circuit, ports);
    return self->peer[ports[0]] == circuit->to && self->peer[ports[1]] == circuit->from;
}

static void join(struct rail_follower *self, const struct weft_rail_circuit *circuit)
{
    size_t ports[2];
    ports_of(self, circuit, ports);
    self->peer[ports[0]] = circuit->to;
    self->peer[ports[1]] = circuit->from;
}

static void add_wait(struct rail_follower *self, uint32_t begin, uint32_t *count, struct wait wait)
{
    for (uint32_t w = begin; w < *count; w++) {
        struct wait *other = &self->all_waits[w];
        if (other->step == wait.step && other->begun == wait.begun &&
            other->earlier == wait.earlier) {
            other->moves |= wait.moves;
            return;
        }
    }
    self->all_waits[(*count)++] = wait;
}

// What a step waits for at the ports of its circuits, and whether any of them changes.
static void find_waits(struct rail_follower *self, const struct walk *walk, uint32_t step,
                       uint32_t *count)
{
    uint32_t circuit_count;
    const struct weft_rail_circuit *circuits = circuits_of(self, step, &circuit_count);
    uint32_t begin = *count;
    for (uint32_t c = 0; c < circuit_count; c++) {
        bool moves = !is_there(self, &circuits[c]);
        size_t ports[2];
        ports_of(self, &circuits[c], ports);
        self->changes[step] |= moves;
        self->moves[&circuits[c] - self->setup->lowered->plan->circuits] = moves;
        for (uint32_t i = 0; i < 2 && (moves || !circuits[c].beside); i++) {
            add_wait(self, begin, count,
                     (struct wait){walk->step[ports[i]], walk->begun[ports[i]],
                                   walk->round[ports[i]] < walk->current, moves});
        }
    }
    bool early = self->changes[step];
    for (uint32_t w = begin; w < *count; w++) {
        early = early && (self->all_waits[w].earlier || !self->all_waits[w].moves);
    }
    self->waits[step] =
        self->setup->options->mode == WEFT_RAIL_DEMAND || (self->setup->options->within && early);
    self->wait_first[step + 1] = *count;
}

static void take_ports(struct rail_follower *self, struct walk *walk, uint32_t step)
{
    uint32_t circuit_count;
    const struct weft_rail_circuit *circuits = circuits_of(self, step, &circuit_count);
    for (uint32_t c = 0; c < circuit_count; c++) {
        size_t ports[2];
        ports_of(self, &circuits[c], ports);
        for (uint32_t i = 0; i < 2 && !(circuits[c].beside && is_there(self, &circuits[c])); i++) {
            walk->step[ports[i]] = step;
            walk->begun[ports[i]] = circuits[c].beside;
            walk->round[ports[i]] = walk->current;
        }
    }
    for (uint32_t c = 0; c < circuit_count; c++) {
        join(self, &circuits[c]);
    }
}

// Walks the plan's order twice: what stands after one iteration is what the next one finds.
static void learn(struct rail_follower *self, struct weft_arena scratch)
{
    const struct weft_rail_result *plan = self->setup->lowered->plan;
    size_t ports = (size_t)2 * self->planes * self->servers;
    struct walk walk = {WEFT_NEW(&scratch, uint32_t, ports), WEFT_NEW(&scratch, bool, ports),
                        WEFT_NEW(&scratch, uint32_t, ports), 0};
    uint32_t circuits = 0;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        take_ports(self, &walk, s);
        circuits += plan->steps[s].circuit_count;
    }
    self->moves = WEFT_NEW(self->arena, bool, (size_t)circuits + 1);
    self->all_waits = WEFT_NEW(self->arena, struct wait, 2 * (size_t)circuits + 1);
    walk.current = 1;
    uint32_t count = 0;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        find_waits(self, &walk, s, &count);
        take_ports(self, &walk, s);
    }
    for (uint32_t w = 0; w < count; w++) {
        self->wake_first[self->all_waits[w].step + 1]++;
    }
    for (uint32_t s = 0; s < plan->step_count; s++) {
        self->wake_first[s + 1] += self->wake_first[s];
    }
    self->wakes = WEFT_NEW(self->arena, uint32_t, count + 1);
    uint32_t *at = WEFT_NEW(&scratch, uint32_t, plan->step_count + 1);
    for (uint32_t s = 0; s < plan->step_count; s++) {
        for (uint32_t w = self->wait_first[s]; w < self->wait_first[s + 1]; w++) {
            uint32_t other = self->all_waits[w].step;
            self->wakes[self->wake_first[other] + at[other]++] = s;
        }
    }
}

// ---- what is due ----

static void enqueue(struct rail_follower *self, uint32_t step)
{
    if (!self->progress[step].is_queued) {
        self->progress[step].is_queued = true;
        self->queue[self->queue_count++] = step;
    }
}

static void wake(struct rail_follower *self, uint32_t step)
{
    enqueue(self, step);
    for (uint32_t w = self->wake_first[step]; w < self->wake_first[step + 1]; w++) {
        enqueue(self, self->wakes[w]);
    }
}

// Whether the ports are free for the index-th time of a step.
static bool are_free(const struct rail_follower *self, uint32_t step, uint32_t index, bool moves)
{
    for (uint32_t w = self->wait_first[step]; w < self->wait_first[step + 1]; w++) {
        const struct wait *wait = &self->all_waits[w];
        const struct progress *other = &self->progress[wait->step];
        uint32_t times = wait->begun ? other->begun : other->done;
        if ((wait->moves || !moves) && times + wait->earlier <= index) {
            return false;
        }
    }
    return true;
}

static void set_ways(struct rail_follower *self, uint32_t step, bool open)
{
    uint32_t circuit_count;
    const struct weft_rail_circuit *circuits = circuits_of(self, step, &circuit_count);
    for (uint32_t c = 0; c < circuit_count; c++) {
        const struct weft_rail_circuit *circuit = &circuits[c];
        if (!circuit->beside) {
            uint32_t link = weft_fabric_find_link(self->setup->fabric, circuit->from, circuit->to);
            self->width[link] += open ? 1 : (uint32_t)-1;
            self->next_link[(size_t)circuit->from * self->servers + circuit->to] =
                self->width[link] > 0 ? link : WEFT_NONE;
        }
    }
}

static void ask(struct rail_follower *self, uint32_t step, uint64_t now_ps)
{
    const struct weft_circuit_delays *delays = &self->setup->options->delays;
    uint32_t circuit_count;
    const struct weft_rail_circuit *circuits = circuits_of(self, step, &circuit_count);
    struct progress *progress = &self->progress[step];
    const bool *moves = self->moves + self->setup->lowered->plan->steps[step].circuit_first;
    // What is there in the plan's order may have been turned to what comes behind it by now, where
    // it is beside this operation.
    for (uint32_t c = 0; c < circuit_count; c++) {
        if (moves[c]) {
            self->touched[circuits[c].plane] = true;
            join(self, &circuits[c]);
        }
    }
    progress->asked++;
    progress->lit_ps = now_ps + delays->command_ps + delays->dark_ps + delays->retrain_ps;
    self->unlit[self->unlit_count++] = step;
}

// A step asks for its change, and its messages begin, as soon as they may.
static void look_at(struct rail_follower *self, uint32_t step, uint64_t now_ps)
{
    struct progress *progress = &self->progress[step];
    if (self->changes[step] && progress->asked == progress->begun &&
        (!self->waits[step] || progress->ready > progress->asked) &&
        are_free(self, step, progress->asked, true)) {
        ask(self, step, now_ps);
    }
    bool lit =
        !self->changes[step] || (progress->asked > progress->begun && progress->lit_ps <= now_ps);
    if (lit && progress->ready > progress->begun && are_free(self, step, progress->begun, false)) {
        progress->begun++;
        set_ways(self, step, true);
        wake(self, step);
    }
}

static void take_barriers(struct rail_follower *self, const struct weft_circuit_demand *demand)
{
    for (uint32_t b = 0; b < demand->barrier_count; b++) {
        uint32_t role = self->role[demand->barriers[b]];
        if (role == WEFT_NONE) {
            continue;
        }
        struct progress *progress = &self->progress[role / 2];
        if (role % 2 == 0) {
            progress->ready++;
        } else {
            WEFT_ASSERT(progress->done < progress->begun);
            progress->done++;
            set_ways(self, role / 2, false);
        }
        wake(self, role / 2);
    }
}

// ---- orders ----

static void read_plane(uint32_t *peers, const struct rail_follower *self, uint32_t plane)
{
    const uint32_t *sends = self->peer + (size_t)(2 * plane) * self->servers;
    const uint32_t *receives = sends + self->servers;
    for (uint32_t s = 0; s < self->servers; s++) {
        bool there = sends[s] != WEFT_NONE && receives[sends[s]] == s;
        peers[s] = there ? sends[s] : s;
    }
}

static void keep(struct rail_follower *self, uint32_t plane, const uint32_t *peers, uint64_t now_ps)
{
    if (((uint64_t)self->record_count + 1) * self->servers > RECORD_MAX) {
        return;
    }
    if (self->record_count == self->record_room) {
        uint32_t room = 2 * self->record_room + 64;
        struct weft_circuit_change *larger =
            WEFT_NEW(self->arena, struct weft_circuit_change, room);
        if (self->record_count > 0) {
            memcpy(larger, self->record, self->record_count * sizeof *larger);
        }
        self->record = larger;
        self->record_room = room;
    }
    uint32_t *kept = WEFT_NEW_RAW(self->arena, uint32_t, self->servers);
    memcpy(kept, peers, self->servers * sizeof *kept);
    self->record[self->record_count++] = (struct weft_circuit_change){now_ps, plane, kept};
}

static bool order(void *state, struct weft_plane_orders *orders,
                  const struct weft_circuit_demand *demand, struct weft_arena scratch,
                  struct weft_error *error)
{
    (void)scratch;
    (void)error;
    struct rail_follower *self = state;
    uint32_t unlit = 0;
    for (uint32_t u = 0; u < self->unlit_count; u++) {
        uint32_t step = self->unlit[u];
        if (self->progress[step].lit_ps <= demand->now_ps) {
            enqueue(self, step);
        } else {
            self->unlit[unlit++] = step;
        }
    }
    self->unlit_count = unlit;
    take_barriers(self, demand);
    while (self->queue_count > 0) {
        uint32_t step = self->queue[--self->queue_count];
        self->progress[step].is_queued = false;
        look_at(self, step, demand->now_ps);
    }
    orders->changes = self->orders;
    for (uint32_t plane = 0; plane < self->planes; plane++) {
        if (self->touched[plane]) {
            struct weft_circuit_change *change = &self->orders[orders->change_count++];
            uint32_t *peers = self->first + (size_t)(self->planes + plane) * self->servers;
            self->touched[plane] = false;
            read_plane(peers, self, plane);
            keep(self, plane, peers, demand->now_ps);
            *change = (struct weft_circuit_change){demand->now_ps, plane, peers};
        }
    }
    for (uint32_t u = 0; u < self->unlit_count; u++) {
        uint64_t lit_ps = self->progress[self->unlit[u]].lit_ps;
        orders->until_ps =
            lit_ps > demand->now_ps && lit_ps < orders->until_ps ? lit_ps : orders->until_ps;
    }
    return true;
}

// The planes add up all circuits of two servers; an operation has those that it asked for. A link
// that was held back while others of its circuits turn has those that are lit until all are: it is
// not to be dark for a whole time once the operation has ended.
static void hold_back(struct rail_follower *self, const struct weft_circuit_answer *answer)
{
    for (uint32_t l = 0; l < self->setup->fabric->link_count; l++) {
        double rate_Bps = answer->rate_Bps[l];
        double lit_Bps = answer->meanwhile_Bps[l];
        double most_Bps = self->width[l] > 0 ? self->width[l] * self->setup->rate_Bps : rate_Bps;
        bool is_mixed = lit_Bps > 0 || most_Bps < rate_Bps;
        self->is_held[l] = (self->is_held[l] || is_mixed) && lit_Bps < rate_Bps;
        self->rate_Bps[l] = fmin(self->is_held[l] ? lit_Bps : rate_Bps, most_Bps);
        self->meanwhile_Bps[l] = fmin(lit_Bps, self->rate_Bps[l]);
    }
}

static bool decide(void *state, struct weft_circuit_answer *answer,
                   const struct weft_circuit_demand *demand, struct weft_arena scratch,
                   struct weft_error *error)
{
    struct rail_follower *self = state;
    const struct weft_circuit_controller *planes = &self->planes_controller;
    if (!planes->decide(planes->state, answer, demand, scratch, error)) {
        return false;
    }
    hold_back(self, answer);
    answer->rate_Bps = self->rate_Bps;
    answer->meanwhile_Bps = self->meanwhile_Bps;
    answer->next_link = self->next_link;
    return true;
}

// ---- the door ----

static struct rail_follower *lay_out(const struct rail_follow_setup *setup,
                                     struct weft_arena *arena)
{
    const struct weft_rail_result *plan = setup->lowered->plan;
    uint32_t n = plan->schedule.node_count;
    uint32_t planes = plan->schedule.plane_count;
    uint32_t steps = plan->step_count;
    uint32_t tasks = setup->lowered->graph.task_count;
    size_t ports = (size_t)2 * planes * n;
    struct rail_follower *self = WEFT_NEW(arena, struct rail_follower, 1);
    *self = (struct rail_follower){
        .setup = setup,
        .servers = n,
        .planes = planes,
        .role = WEFT_NEW_RAW(arena, uint32_t, tasks),
        .changes = WEFT_NEW(arena, bool, steps + 1),
        .waits = WEFT_NEW(arena, bool, steps + 1),
        .wait_first = WEFT_NEW(arena, uint32_t, steps + 1),
        .wake_first = WEFT_NEW(arena, uint32_t, steps + 1),
        .progress = WEFT_NEW(arena, struct progress, steps + 1),
        .queue = WEFT_NEW(arena, uint32_t, steps + 1),
        .unlit = WEFT_NEW(arena, uint32_t, steps + 1),
        .peer = WEFT_NEW_RAW(arena, uint32_t, ports),
        .touched = WEFT_NEW(arena, bool, planes),
        .first = WEFT_NEW(arena, uint32_t, 2 * (size_t)planes * n), // and those that are ordered
        .next_link = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * n),
        .width = WEFT_NEW(arena, uint32_t, setup->fabric->link_count),
        .rate_Bps = WEFT_NEW(arena, double, setup->fabric->link_count),
        .meanwhile_Bps = WEFT_NEW(arena, double, setup->fabric->link_count),
        .is_held = WEFT_NEW(arena, bool, setup->fabric->link_count),
        .orders = WEFT_NEW(arena, struct weft_circuit_change, planes),
        .arena = arena,
    };
    memset(self->role, 0xff, tasks * sizeof *self->role); // WEFT_NONE
    memset(self->peer, 0xff, ports * sizeof *self->peer);
    memset(self->next_link, 0xff, (size_t)n * n * sizeof *self->next_link);
    for (uint32_t s = 0; s < steps; s++) {
        self->role[setup->lowered->ready[s]] = 2 * s;
        self->role[setup->lowered->done[s]] = 2 * s + 1;
    }
    return self;
}

bool rail_follow(struct rail_follower **follower, struct weft_circuit_controller *controller,
                 const struct rail_follow_setup *setup, struct weft_arena *arena,
                 struct weft_error *error)
{
    struct rail_follower *self = lay_out(setup, arena);
    struct weft_arena scratch = weft_arena_split(arena);
    learn(self, scratch);
    for (uint32_t plane = 0; plane < self->planes; plane++) {
        read_plane(self->first + (size_t)plane * self->servers, self, plane);
    }
    for (uint32_t s = 0; s < setup->lowered->plan->step_count; s++) {
        enqueue(self, s);
    }
    const struct weft_plane_setting setting = {
        .plane_count = self->planes,
        .first = self->first,
        .rate_Bps = setup->rate_Bps,
        .delays = setup->options->delays,
        .state = self,
        .order = order,
    };
    if (!weft_planes_build(&self->planes_controller, &setting, setup->fabric, arena, error)) {
        return false;
    }
    *controller =
        (struct weft_circuit_controller){.state = self, .decide = decide, .at_barriers = true};
    *follower = self;
    return true;
}

struct weft_circuit_schedule rail_followed(const struct rail_follower *follower)
{
    return (struct weft_circuit_schedule){
        .node_count = follower->servers,
        .plane_count = follower->planes,
        .first = follower->first,
        .change_count = follower->record_count,
        .changes = follower->record,
        .delays = follower->setup->options->delays,
    };
}
