// SPDX-License-Identifier: Apache-2.0
// The state machine of healing (machine.h). O(hosts) an event, and what a repair takes where
// something is lost (rack.h).

#include "machine_private.h"

#include <string.h>

static struct lab_heal_episode *episode_of(struct lab_heal_machine *machine)
{
    return machine->episode_count > 0 ? &machine->episodes[machine->episode_count - 1] : NULL;
}

// ---- the end ----

static void finish(struct lab_heal_machine *machine, enum lab_heal_outcome outcome,
                   struct lab_heal_actions *actions)
{
    const struct lab_heal_order end = lab_heal_order_of(machine, LAB_HEAL_END);
    for (uint32_t h = 0; h < machine->rack.spare_end; h++) {
        if (!machine->rack.host_lost[h]) {
            lab_heal_tell(actions, h, &end);
        }
    }
    machine->phase = LAB_HEAL_ENDED;
    machine->outcome = outcome;
    machine->due_ns = WEFT_NEVER;
    machine->window_ns = 0;
}

// Asks the next host behind `saver` that may have the parameters, or ends.
static void save(struct lab_heal_machine *machine, uint64_t now_ns,
                 struct lab_heal_actions *actions)
{
    const struct lab_heal_order order = lab_heal_order_of(machine, LAB_HEAL_SAVE);
    machine->phase = LAB_HEAL_SAVING;
    machine->window_ns = 0;
    machine->due_ns = now_ns + machine->options.save_ns;
    for (uint32_t h = machine->saver + 1; h < machine->rack.spare_end; h++) {
        if (machine->active[h] && !machine->rack.host_lost[h]) {
            machine->saver = h;
            lab_heal_tell(actions, h, &order);
            return;
        }
    }
    finish(machine, machine->outcome, actions);
}

// A job that cannot go on: `saver` is WEFT_NONE, behind which host 0 comes first.
static void give_up(struct lab_heal_machine *machine, enum lab_heal_outcome outcome,
                    uint64_t now_ns, struct lab_heal_actions *actions)
{
    machine->outcome = outcome;
    machine->saver = WEFT_NONE;
    save(machine, now_ns, actions);
}

// ---- healing ----

// The episode that a loss belongs to: that which is under way, or a new one.
static struct lab_heal_episode *open_episode(struct lab_heal_machine *machine, uint64_t now_ns)
{
    struct lab_heal_episode *episode = episode_of(machine);
    if (episode != NULL && (episode->stepped_ns == 0 && machine->phase != LAB_HEAL_RUNNING)) {
        return episode;
    }
    if (machine->episode_count == LAB_HEAL_EPISODES_MAX) {
        return episode;
    }
    machine->episodes[machine->episode_count++] = (struct lab_heal_episode){
        .cause = machine->noticed_cause, .noticed_ns = machine->noticed_ns, .decided_ns = now_ns};
    return episode_of(machine);
}

// Hosts that have a rank no more are told to end, those that get one have a part in it from now on.
static void hand_over(struct lab_heal_machine *machine, struct lab_heal_actions *actions)
{
    const struct lab_heal_order end = lab_heal_order_of(machine, LAB_HEAL_END);
    for (uint32_t h = 0; h < machine->rack.spare_end; h++) {
        bool has_rank = lab_heal_rank_of(&machine->rack, h) != WEFT_NONE;
        if (machine->active[h] && !has_rank) {
            if (!machine->rack.host_lost[h]) {
                lab_heal_tell(actions, h, &end);
            }
            machine->rack.host_lost[h] = true;
        }
        machine->active[h] = has_rank;
    }
}

static void heal(struct lab_heal_machine *machine, uint64_t now_ns,
                 struct lab_heal_actions *actions)
{
    struct lab_heal_repair repair = {0};
    struct lab_heal_episode *episode = open_episode(machine, now_ns);
    machine->epoch++;
    episode->epoch = machine->epoch;
    episode->step = machine->step;
    episode->attempts++;
    memset(machine->frozen, 0, sizeof machine->frozen);
    memset(machine->ready, 0, sizeof machine->ready);
    memset(machine->done, 0, sizeof machine->done);
    memset(machine->doubts, 0, sizeof machine->doubts);
    if (!lab_heal_repair(&machine->rack, &repair)) {
        give_up(machine, LAB_HEAL_NO_SPARE, now_ns, actions);
        return;
    }
    episode->replaced += repair.replaced_count;
    episode->moved += repair.moved_count;
    episode->farthest = repair.farthest > episode->farthest ? repair.farthest : episode->farthest;
    hand_over(machine, actions);
    actions->list[actions->count++] = (struct lab_heal_action){.kind = LAB_HEAL_TURN};
    const struct lab_heal_order freeze = lab_heal_order_of(machine, LAB_HEAL_FREEZE);
    for (uint32_t r = 0; r < machine->rack.rank_count; r++) {
        lab_heal_tell(actions, machine->rack.host[r], &freeze);
    }
    machine->phase = LAB_HEAL_TURNING;
    machine->lit = false;
    machine->window_ns = 0;
    machine->due_ns = now_ns + machine->options.turn_ns;
}

static void notice(struct lab_heal_machine *machine, enum lab_heal_cause cause, uint64_t at_ns)
{
    if (machine->window_ns == 0) {
        machine->noticed_cause = cause;
        machine->noticed_ns = at_ns;
    }
}

static void lose(struct lab_heal_machine *machine, uint32_t host, enum lab_heal_cause cause,
                 uint64_t now_ns, struct lab_heal_actions *actions)
{
    if (host >= machine->rack.spare_end || machine->rack.host_lost[host]) {
        return;
    }
    machine->rack.host_lost[host] = true;
    if (machine->phase == LAB_HEAL_SAVING && host == machine->saver) {
        save(machine, now_ns, actions);
    } else if (machine->phase != LAB_HEAL_SAVING && machine->active[host]) {
        notice(machine, cause, now_ns);
        heal(machine, now_ns, actions);
    }
}

// ---- doubts ----

static bool is_doubted(const struct lab_heal_machine *machine, uint32_t edge)
{
    uint32_t next = (edge + 1) % machine->rack.rank_count;
    return machine->doubts[edge][LAB_HEAL_NEXT] != 0 || machine->doubts[next][LAB_HEAL_PREV] != 0;
}

// Both neighbors doubt it.
static bool is_doubted_by_all(const struct lab_heal_machine *machine, uint32_t rank)
{
    uint32_t n = machine->rack.rank_count;
    return machine->doubts[(rank + n - 1) % n][LAB_HEAL_NEXT] != 0 &&
           machine->doubts[(rank + 1) % n][LAB_HEAL_PREV] != 0;
}

// All edges of a switch are doubted, and there are two or more.
static bool is_dark(const struct lab_heal_machine *machine, uint32_t plane)
{
    uint32_t edges = 0;
    uint32_t doubted = 0;
    for (uint32_t e = 0; e < machine->rack.rank_count; e++) {
        if (machine->rack.plane[e] == plane) {
            edges++;
            doubted += is_doubted(machine, e);
        }
    }
    return edges >= 2 && doubted == edges;
}

static bool is_clear(const struct lab_heal_machine *machine)
{
    bool clear = false;
    for (uint32_t r = 0; r < machine->rack.rank_count; r++) {
        clear = clear || is_doubted_by_all(machine, r);
    }
    for (uint32_t p = 0; p < machine->rack.plane_count; p++) {
        clear = clear || is_dark(machine, p);
    }
    return clear;
}

// The ports at the ends of an edge: the one that has no light, where its host says so.
static void lose_ports(struct lab_heal_machine *machine, uint32_t edge)
{
    struct lab_heal_rack *rack = &machine->rack;
    uint32_t next = (edge + 1) % rack->rank_count;
    bool dark[2] = {machine->doubts[edge][LAB_HEAL_NEXT] == LAB_HEAL_CARRIER + 1,
                    machine->doubts[next][LAB_HEAL_PREV] == LAB_HEAL_CARRIER + 1};
    bool known = dark[0] || dark[1];
    bool *ports[2] = {&rack->port_lost[rack->host[edge]][rack->plane[edge]],
                      &rack->port_lost[rack->host[next]][rack->plane[edge]]};
    *ports[0] = *ports[0] || dark[0] || !known;
    *ports[1] = *ports[1] || dark[1] || !known;
}

// What the doubts together say: switches first, then hosts that both neighbors doubt, then ports.
static void decide(struct lab_heal_machine *machine, uint64_t now_ns,
                   struct lab_heal_actions *actions)
{
    struct lab_heal_rack *rack = &machine->rack;
    bool explained[LAB_HEAL_RANKS_MAX] = {false};
    bool planes[LAB_HEAL_PLANES_MAX] = {false};
    uint32_t lost = 0;
    for (uint32_t p = 0; p < rack->plane_count; p++) {
        planes[p] = is_dark(machine, p);
    }
    for (uint32_t e = 0; e < rack->rank_count; e++) {
        explained[e] = planes[rack->plane[e]];
        lost += explained[e];
    }
    for (uint32_t r = 0; r < rack->rank_count; r++) {
        uint32_t before = (r + rack->rank_count - 1) % rack->rank_count;
        if (is_doubted_by_all(machine, r) && !planes[rack->plane[r]] &&
            !planes[rack->plane[before]]) {
            rack->host_lost[rack->host[r]] = true;
            explained[r] = explained[before] = true;
            lost++;
        }
    }
    for (uint32_t e = 0; e < rack->rank_count; e++) {
        if (is_doubted(machine, e) && !explained[e]) {
            lose_ports(machine, e);
            lost++;
        }
    }
    for (uint32_t p = 0; p < rack->plane_count; p++) {
        rack->plane_lost[p] = rack->plane_lost[p] || planes[p];
    }
    if (lost > 0) {
        heal(machine, now_ns, actions);
    }
    machine->window_ns = 0;
}

static void doubt(struct lab_heal_machine *machine, uint32_t rank,
                  const struct lab_heal_report *report, uint64_t now_ns,
                  struct lab_heal_actions *actions)
{
    const struct lab_heal_options *options = &machine->options;
    machine->doubts[rank][report->side] = report->cause + 1;
    notice(machine, (enum lab_heal_cause)report->cause,
           report->at_ns < now_ns ? report->at_ns : now_ns);
    if (machine->window_ns == 0) {
        machine->window_ns =
            now_ns + (report->cause == LAB_HEAL_SILENCE ? options->doubt_ns : options->reset_ns);
    }
    // An ended connection may be the first sign of an ended process, which is told at once, too.
    if (report->cause != LAB_HEAL_RESET && is_clear(machine)) {
        decide(machine, now_ns, actions);
    }
}

static void trust(struct lab_heal_machine *machine, uint32_t rank, uint32_t side)
{
    bool any = false;
    machine->doubts[rank][side] = 0;
    for (uint32_t e = 0; e < machine->rack.rank_count; e++) {
        any = any || is_doubted(machine, e);
    }
    machine->window_ns = any ? machine->window_ns : 0;
}

// ---- reports ----

// All sums of a step are everywhere. The next begins, or the job is done.
static void commit(struct lab_heal_machine *machine, uint64_t now_ns,
                   struct lab_heal_actions *actions)
{
    const struct lab_heal_rack *rack = &machine->rack;
    struct lab_heal_order order = lab_heal_order_of(machine, LAB_HEAL_COMMIT);
    uint64_t feeds[LAB_HEAL_RANKS_MAX] = {0};
    uint32_t spares = 0;
    if (machine->wrong > 0 || machine->digests_differ) {
        finish(machine, LAB_HEAL_WRONG, actions);
        return;
    }
    machine->step++;
    memset(machine->done, 0, sizeof machine->done);
    machine->due_ns = now_ns + machine->options.step_ns;
    for (uint32_t i = 0; i < machine->episode_count; i++) {
        struct lab_heal_episode *episode = &machine->episodes[i];
        episode->stepped_ns = episode->stepped_ns == 0 ? now_ns : episode->stepped_ns;
    }
    for (uint32_t h = rack->spare_first; h < rack->spare_end; h++) {
        bool stands_by = !rack->host_lost[h] && !machine->active[h];
        if (stands_by && machine->options.source == LAB_HEAL_HOT) {
            feeds[spares++ % rack->rank_count] |= 1ull << (h - rack->spare_first);
        }
    }
    uint32_t every = machine->options.save_every;
    for (uint32_t r = 0; r < rack->rank_count; r++) {
        order.feed = feeds[r];
        order.flags = r == 0 && every > 0 && machine->step % every == 0 ? LAB_HEAL_AND_SAVE : 0;
        lab_heal_tell(actions, rack->host[r], &order);
    }
    if (machine->step == machine->options.steps) {
        finish(machine, LAB_HEAL_FINISHED, actions);
    }
}

static void take_done(struct lab_heal_machine *machine, uint32_t rank,
                      const struct lab_heal_report *report)
{
    bool first = true;
    if (report->step != machine->step || machine->done[rank]) {
        return;
    }
    for (uint32_t r = 0; r < machine->rack.rank_count; r++) {
        first = first && !machine->done[r];
    }
    machine->digests_differ =
        machine->digests_differ || (!first && report->digest != machine->digest);
    machine->digest = report->digest;
    machine->done[rank] = true;
    machine->checked += report->checked;
    machine->wrong += report->wrong;
    machine->dropped += report->dropped;
    machine->refused += report->refused;
}

static bool all(const bool *flags, uint32_t count)
{
    bool every = true;
    for (uint32_t i = 0; i < count; i++) {
        every = every && flags[i];
    }
    return every;
}

// A phase is over when the last of its answers has come.
static void move_on(struct lab_heal_machine *machine, uint64_t now_ns,
                    struct lab_heal_actions *actions)
{
    uint32_t n = machine->rack.rank_count;
    if (machine->phase == LAB_HEAL_TURNING) {
        bool whole = machine->lit;
        for (uint32_t r = 0; r < n; r++) {
            whole = whole && machine->frozen[r].magic != 0;
        }
        if (whole) {
            lab_heal_join(machine, episode_of(machine), now_ns, actions);
        }
    } else if (machine->phase == LAB_HEAL_JOINING && all(machine->ready, n)) {
        struct lab_heal_episode *episode = episode_of(machine);
        machine->phase = LAB_HEAL_RUNNING;
        machine->due_ns = now_ns + machine->options.step_ns;
        if (episode != NULL && episode->joined_ns < episode->lit_ns) {
            episode->joined_ns = now_ns;
        }
    }
    if (machine->phase == LAB_HEAL_RUNNING && all(machine->done, n)) {
        commit(machine, now_ns, actions);
    }
}

static void take_report(struct lab_heal_machine *machine, uint32_t host,
                        const struct lab_heal_report *report, uint64_t now_ns,
                        struct lab_heal_actions *actions)
{
    uint32_t rank = lab_heal_rank_of(&machine->rack, host);
    bool joined = machine->phase == LAB_HEAL_RUNNING || machine->phase == LAB_HEAL_JOINING;
    if (report->kind == LAB_HEAL_KEPT) {
        // What was on its way to a spare when it was chosen may come while switches turn.
        if (rank != WEFT_NONE && machine->phase == LAB_HEAL_TURNING &&
            machine->frozen[rank].magic != 0 && machine->frozen[rank].rank == WEFT_NONE) {
            machine->frozen[rank].step = report->step;
        }
        return;
    }
    if (report->kind == LAB_HEAL_SAVED) {
        machine->saved_step = report->step;
        if (machine->phase == LAB_HEAL_SAVING && host == machine->saver) {
            finish(machine, machine->outcome, actions);
        }
        return;
    }
    if (report->kind == LAB_HEAL_FAILED) {
        lose(machine, host, LAB_HEAL_CONTROL, now_ns, actions);
        return;
    }
    if (rank == WEFT_NONE || report->epoch != machine->epoch || machine->rack.host_lost[host]) {
        return;
    }
    if (report->kind == LAB_HEAL_FROZEN && machine->phase == LAB_HEAL_TURNING) {
        machine->frozen[rank] = *report;
    } else if (report->kind == LAB_HEAL_READY && machine->phase == LAB_HEAL_JOINING) {
        machine->ready[rank] = true;
    } else if (report->kind == LAB_HEAL_DONE && joined) {
        take_done(machine, rank, report);
    } else if (report->kind == LAB_HEAL_DOUBT && joined) {
        doubt(machine, rank, report, now_ns, actions);
    } else if (report->kind == LAB_HEAL_TRUST && joined) {
        trust(machine, rank, report->side);
    }
    move_on(machine, now_ns, actions);
}

// ---- deadlines ----

// Whoever did not freeze is lost. Switches that turn for ever end the job.
static void end_turning(struct lab_heal_machine *machine, uint64_t now_ns,
                        struct lab_heal_actions *actions)
{
    uint32_t late = 0;
    for (uint32_t r = 0; r < machine->rack.rank_count; r++) {
        if (machine->frozen[r].magic == 0) {
            machine->rack.host_lost[machine->rack.host[r]] = true;
            late++;
        }
    }
    if (late == 0) {
        give_up(machine, LAB_HEAL_STUCK, now_ns, actions);
    } else {
        notice(machine, LAB_HEAL_LATE, now_ns);
        heal(machine, now_ns, actions);
    }
}

// Whoever did not join: spares that were to, else ports of edges between two that did not, else
// hosts.
static void end_joining(struct lab_heal_machine *machine, uint64_t now_ns,
                        struct lab_heal_actions *actions)
{
    struct lab_heal_rack *rack = &machine->rack;
    uint32_t lost = 0;
    for (uint32_t r = 0; r < rack->rank_count; r++) {
        if (!machine->ready[r] && machine->frozen[r].rank == WEFT_NONE) {
            rack->host_lost[rack->host[r]] = true;
            lost++;
        }
    }
    for (uint32_t e = 0; e < rack->rank_count && lost == 0; e++) {
        uint32_t next = (e + 1) % rack->rank_count;
        if (!machine->ready[e] && !machine->ready[next]) {
            rack->port_lost[rack->host[e]][rack->plane[e]] = true;
            rack->port_lost[rack->host[next]][rack->plane[e]] = true;
            lost++;
        }
    }
    for (uint32_t r = 0; r < rack->rank_count && lost == 0; r++) {
        if (!machine->ready[r]) {
            rack->host_lost[rack->host[r]] = true;
            lost++;
        }
    }
    WEFT_ASSERT(lost > 0);
    notice(machine, LAB_HEAL_LATE, now_ns);
    heal(machine, now_ns, actions);
}

static void tick(struct lab_heal_machine *machine, uint64_t now_ns,
                 struct lab_heal_actions *actions)
{
    if (machine->window_ns != 0 && now_ns >= machine->window_ns) {
        decide(machine, now_ns, actions);
        return;
    }
    if (now_ns < machine->due_ns) {
        return;
    }
    switch (machine->phase) {
    case LAB_HEAL_RUNNING:
        give_up(machine, LAB_HEAL_STUCK, now_ns, actions);
        break;
    case LAB_HEAL_TURNING:
        end_turning(machine, now_ns, actions);
        break;
    case LAB_HEAL_JOINING:
        end_joining(machine, now_ns, actions);
        break;
    case LAB_HEAL_SAVING:
        save(machine, now_ns, actions);
        break;
    case LAB_HEAL_ENDED:
        break;
    }
}

// ---- all ----

void lab_heal_machine_begin(struct lab_heal_machine *machine, const struct lab_heal_rack *rack,
                            const struct lab_heal_options *options, uint64_t now_ns,
                            struct lab_heal_actions *actions)
{
    *machine = (struct lab_heal_machine){
        .options = *options, .rack = *rack, .epoch = 1, .saved_step = WEFT_NONE};
    actions->count = 0;
    for (uint32_t r = 0; r < rack->rank_count; r++) {
        machine->active[rack->host[r]] = true;
        machine->frozen[r] = (struct lab_heal_report){.magic = LAB_HEAL_MAGIC, .rank = r};
    }
    lab_heal_join(machine, NULL, now_ns, actions);
}

void lab_heal_machine_take(struct lab_heal_machine *machine, const struct lab_heal_event *event,
                           uint64_t now_ns, struct lab_heal_actions *actions)
{
    actions->count = 0;
    if (machine->phase == LAB_HEAL_ENDED) {
        return;
    }
    bool turning = machine->phase == LAB_HEAL_TURNING;
    switch (event->kind) {
    case LAB_HEAL_TICK:
        tick(machine, now_ns, actions);
        break;
    case LAB_HEAL_REPORT:
        take_report(machine, event->host, &event->report, now_ns, actions);
        break;
    case LAB_HEAL_LOST:
        lose(machine, event->host, event->cause, now_ns, actions);
        break;
    case LAB_HEAL_LIT:
        if (turning && event->epoch == machine->epoch) {
            machine->lit = true;
            episode_of(machine)->lit_ns = now_ns;
            move_on(machine, now_ns, actions);
        }
        break;
    case LAB_HEAL_UNLIT:
        if (turning && !machine->rack.plane_lost[event->plane]) {
            machine->rack.plane_lost[event->plane] = true;
            heal(machine, now_ns, actions);
        }
        break;
    }
}

uint64_t lab_heal_machine_due_ns(const struct lab_heal_machine *machine)
{
    uint64_t due_ns = machine->phase == LAB_HEAL_ENDED ? WEFT_NEVER : machine->due_ns;
    return machine->window_ns != 0 && machine->window_ns < due_ns ? machine->window_ns : due_ns;
}
