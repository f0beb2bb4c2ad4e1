// SPDX-License-Identifier: Apache-2.0
// How a job goes on once its switches are lit and its ranks are frozen: from which chunk of the
// collective, and where spares have the parameters from. O(ranks).

#include "machine_private.h"

#include <string.h>

// What is decided for all ranks together.
struct joining {
    bool restarts;  // the step begins anew
    bool from_file; // from the checkpoint, maybe some steps back
    struct lab_heal_lane lanes[LAB_HEAL_RANKS_MAX][LAB_HEAL_LANES];
    uint32_t flags[LAB_HEAL_RANKS_MAX];
};

// Ranks without the parameters get them from the nearest that has them, hop by hop.
static bool find_sources(struct joining *self, const struct lab_heal_machine *machine)
{
    uint32_t n = machine->rack.rank_count;
    bool any = false;
    for (uint32_t r = 0; r < n; r++) {
        uint32_t back = 0;
        uint32_t ahead = 0;
        while (back < n && machine->frozen[(r + n - back) % n].step != machine->step) {
            back++;
        }
        while (ahead < n && machine->frozen[(r + ahead) % n].step != machine->step) {
            ahead++;
        }
        if (back == 0) {
            continue;
        }
        any = true;
        bool from_prev = back <= ahead;
        self->flags[r] |= from_prev ? LAB_HEAL_FROM_PREV : LAB_HEAL_FROM_NEXT;
        self->flags[from_prev ? (r + n - 1) % n : (r + 1) % n] |=
            from_prev ? LAB_HEAL_TO_NEXT : LAB_HEAL_TO_PREV;
    }
    return any;
}

// From which chunk each rank goes on, or from the step's begin. Returns whether work is lost.
static bool find_lanes(struct joining *self, const struct lab_heal_machine *machine)
{
    uint32_t n = machine->rack.rank_count;
    bool fresh[LAB_HEAL_RANKS_MAX];
    uint32_t begun = 0;
    for (uint32_t r = 0; r < n; r++) {
        const struct lab_heal_report *report = &machine->frozen[r];
        fresh[r] = report->begun == 0 || report->step != machine->step;
        memcpy(self->lanes[r], report->lanes, sizeof self->lanes[r]);
        if (fresh[r]) {
            memset(self->lanes[r], 0, sizeof self->lanes[r]);
        }
        begun += !fresh[r];
    }
    self->restarts = self->from_file || (begun > 0 && !lab_heal_resume(self->lanes, fresh, n));
    if (self->restarts) {
        memset(self->lanes, 0, sizeof self->lanes);
    }
    return self->restarts && begun > 0;
}

static struct lab_heal_order order_for(const struct joining *self,
                                       const struct lab_heal_machine *machine, uint32_t rank)
{
    const struct lab_heal_rack *rack = &machine->rack;
    uint32_t n = rack->rank_count;
    struct lab_heal_order order = lab_heal_order_of(machine, LAB_HEAL_RESUME);
    order.rank = rank;
    order.flags = self->flags[rank] | (self->restarts ? LAB_HEAL_RESTART : 0) |
                  (self->from_file ? LAB_HEAL_FROM_FILE : 0);
    order.host[LAB_HEAL_PREV] = rack->host[(rank + n - 1) % n];
    order.host[LAB_HEAL_NEXT] = rack->host[(rank + 1) % n];
    order.plane[LAB_HEAL_PREV] = rack->plane[(rank + n - 1) % n];
    order.plane[LAB_HEAL_NEXT] = rack->plane[rank];
    memcpy(order.lanes, self->lanes[rank], sizeof order.lanes);
    return order;
}

void lab_heal_join(struct lab_heal_machine *machine, struct lab_heal_episode *episode,
                   uint64_t now_ns, struct lab_heal_actions *actions)
{
    struct joining self = {.from_file = false};
    uint32_t n = machine->rack.rank_count;
    bool lacking = find_sources(&self, machine);
    uint32_t back = 0;
    if (lacking && machine->options.source == LAB_HEAL_CHECKPOINT &&
        machine->saved_step != WEFT_NONE && machine->saved_step <= machine->step) {
        self.from_file = true;
        memset(self.flags, 0, sizeof self.flags);
        back = machine->step - machine->saved_step;
    }
    bool again = find_lanes(&self, machine);
    machine->step -= back;
    if (episode != NULL) {
        episode->source = self.from_file ? LAB_HEAL_CHECKPOINT
                          : lacking      ? LAB_HEAL_NEIGHBOR
                                         : LAB_HEAL_HOT;
        episode->lost_steps += back + again;
        episode->restarted = episode->restarted || self.restarts;
    }
    for (uint32_t r = 0; r < n; r++) {
        const struct lab_heal_order order = order_for(&self, machine, r);
        lab_heal_tell(actions, machine->rack.host[r], &order);
    }
    memset(machine->ready, 0, sizeof machine->ready);
    memset(machine->done, 0, sizeof machine->done);
    memset(machine->doubts, 0, sizeof machine->doubts);
    machine->window_ns = 0;
    machine->phase = LAB_HEAL_JOINING;
    machine->due_ns = now_ns + machine->options.join_ns;
}
