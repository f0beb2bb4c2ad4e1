// SPDX-License-Identifier: Apache-2.0
// Whether each operation switches, keeps to half of the ports or is relayed: a dynamic program over
// the phases in the order of time, then single changes that a replay finds better.
//
// Operations that begin together and are alike, those of the replicas, decide alike: a class. The
// dynamic program adds, class by class, what a decision takes longer than circuits of its own and
// what of the dark time the class's own window lacks where its decision differs from the one before
// it on the same ports. It is exact for phases one after the other on all ports whose windows do
// not depend on each other, and a proposal otherwise: whether it is taken is for the replay to say.
// So is every other start (all of one decision) and every single change. Nothing here is proved
// best; docs/photonic-rails.md has how far from the bound it ends. O(replays * circuits).

#include "rails.h"

#include <stdlib.h>
#include <string.h>

#define DECISIONS (WEFT_RAIL_FORWARD + 1)
#define REPLAYS_DEFAULT 400u
// Tasks and circuits that all replays together look at: some seconds.
#define WORK_MAX 4e7
// Replays that are made whatever they cost.
#define REPLAYS_LEAST 8u

struct choices {
    bool has[DECISIONS];
};
struct origins {
    uint8_t from[DECISIONS];
};

struct search {
    struct rail_program *program;
    const struct rail_rules *rules;
    uint64_t replays_left;
    uint64_t best_ps;
    uint8_t *best;   // per operation
    uint8_t *trial;  // the same, of what is looked at
    uint32_t *first; // CSR: operations by class
    uint32_t *members;
    struct choices *choices; // per class
};

// ---- classes ----

struct key {
    uint64_t start_ps, duration_ps;
    uint32_t label;
    uint32_t op;
};

static int by_key(const void *a, const void *b)
{
    const struct key *x = a;
    const struct key *y = b;
    if (x->start_ps != y->start_ps) {
        return x->start_ps < y->start_ps ? -1 : 1;
    }
    if (x->duration_ps != y->duration_ps) {
        return x->duration_ps < y->duration_ps ? -1 : 1;
    }
    if (x->label != y->label) {
        return x->label < y->label ? -1 : 1;
    }
    return x->op < y->op ? -1 : x->op > y->op;
}

// Fills the classes of all operations, in the order of time, and their lists.
static void find_classes(struct search *search, const struct rail_times *still,
                         struct weft_arena *arena)
{
    struct rail_program *program = search->program;
    struct key *keys = WEFT_NEW(arena, struct key, program->op_count + 1);
    for (uint32_t o = 0; o < program->op_count; o++) {
        const struct rail_op *op = &program->ops[o];
        keys[o] = (struct key){still->start_ps[op->task], op->ways[WEFT_RAIL_SWITCH].duration_ps,
                               op->label, o};
    }
    qsort(keys, program->op_count, sizeof *keys, by_key);
    search->first = WEFT_NEW(arena, uint32_t, program->op_count + 2);
    search->members = WEFT_NEW(arena, uint32_t, program->op_count + 1);
    search->choices = WEFT_NEW(arena, struct choices, program->op_count + 1);
    for (uint32_t i = 0; i < program->op_count; i++) {
        bool same = i > 0 && keys[i].start_ps == keys[i - 1].start_ps &&
                    keys[i].duration_ps == keys[i - 1].duration_ps &&
                    keys[i].label == keys[i - 1].label;
        if (!same) {
            search->first[program->class_count++] = i;
        }
        struct rail_op *op = &program->ops[keys[i].op];
        op->class = program->class_count - 1;
        search->members[i] = keys[i].op;
        for (uint32_t d = 0; d < DECISIONS; d++) {
            search->choices[op->class].has[d] |= op->ways[d].list != WEFT_NONE;
        }
    }
    search->first[program->class_count] = program->op_count;
}

// ---- replays ----

// Replays the trial and keeps it where it is quicker.
static bool attempt(struct search *search, struct weft_arena scratch)
{
    if (search->replays_left == 0) {
        return false;
    }
    search->replays_left--;
    struct rail_times times = {0};
    rail_replay(&times, search->program, search->trial, search->rules, scratch);
    if (times.iteration_ps >= search->best_ps) {
        return false;
    }
    search->best_ps = times.iteration_ps;
    memcpy(search->best, search->trial, search->program->op_count);
    return true;
}

static void decide(struct search *search, uint32_t class, uint8_t decision)
{
    for (uint32_t i = search->first[class]; i < search->first[class + 1]; i++) {
        search->trial[search->members[i]] = decision;
    }
}

// ---- the dynamic program ----

// Of a class: what a decision takes longer than SWITCH, and what SWITCH lacks of its window.
static uint64_t longer(const struct search *search, uint32_t class, uint32_t decision)
{
    const struct rail_op *op = &search->program->ops[search->members[search->first[class]]];
    uint64_t own_ps = op->ways[WEFT_RAIL_SWITCH].duration_ps;
    uint64_t other_ps = rail_way_of(op, (uint8_t)decision)->duration_ps;
    return other_ps > own_ps ? other_ps - own_ps : 0;
}

static uint64_t lacks(const struct search *search, const struct rail_times *still, uint32_t class)
{
    const struct weft_circuit_delays *delays = &search->rules->delays;
    uint64_t dark_ps = delays->command_ps + delays->dark_ps + delays->retrain_ps + delays->first_ps;
    uint64_t most_ps = 0;
    for (uint32_t i = search->first[class]; i < search->first[class + 1]; i++) {
        const struct rail_change *change = &still->changes[search->members[i]];
        if (!change->changed) {
            continue;
        }
        int64_t ready_ps = (int64_t)still->ready_ps[search->program->ops[search->members[i]].task];
        int64_t window_ps = ready_ps > change->release_ps ? ready_ps - change->release_ps : 0;
        if (window_ps < (int64_t)dark_ps) {
            uint64_t lack_ps = dark_ps - (uint64_t)window_ps;
            most_ps = lack_ps > most_ps ? lack_ps : most_ps;
        }
    }
    return most_ps;
}

// Changing from a decision to the next one, where a change is lacking so much. Two that keep to
// their halves do not change, nor do operations that are relayed over what is there.
static uint64_t turns(uint32_t from, uint32_t to, uint64_t lack_ps)
{
    bool keeps = (from == WEFT_RAIL_SPLIT && to == WEFT_RAIL_SPLIT) || to == WEFT_RAIL_FORWARD;
    return keeps ? 0 : lack_ps;
}

// Sets the trial to the least sum over all classes.
static void propose(struct search *search, const struct rail_times *still,
                    struct weft_arena scratch)
{
    uint32_t count = search->program->class_count;
    uint64_t least_ps[DECISIONS] = {0};
    struct origins *origins = WEFT_NEW(&scratch, struct origins, count + 1);
    for (uint32_t c = 0; c < count; c++) {
        uint64_t lack_ps = lacks(search, still, c);
        uint64_t next_ps[DECISIONS];
        for (uint32_t to = 0; to < DECISIONS; to++) {
            next_ps[to] = WEFT_NEVER;
            for (uint32_t d = 0; d < DECISIONS && search->choices[c].has[to]; d++) {
                uint64_t sum_ps = least_ps[d] == WEFT_NEVER
                                      ? WEFT_NEVER
                                      : least_ps[d] + turns(d, to, lack_ps) + longer(search, c, to);
                if (sum_ps < next_ps[to]) {
                    next_ps[to] = sum_ps;
                    origins[c].from[to] = (uint8_t)d;
                }
            }
        }
        memcpy(least_ps, next_ps, sizeof least_ps);
    }
    uint8_t last = 0;
    for (uint32_t d = 1; d < DECISIONS; d++) {
        last = least_ps[d] < least_ps[last] ? (uint8_t)d : last;
    }
    for (uint32_t c = count; c-- > 0;) {
        decide(search, c, last);
        last = origins[c].from[last];
    }
}

// ---- single changes ----

// Every class by each other decision of its own, until a whole round finds nothing or replays are
// used up. The classes of a label together come first.
static void improve(struct search *search, struct weft_arena scratch)
{
    const struct rail_program *program = search->program;
    bool found = true;
    while (found && search->replays_left > 0) {
        found = false;
        for (uint32_t label = 0; label < RAIL_LABEL_COUNT; label++) {
            for (uint8_t d = 0; d < DECISIONS; d++) {
                memcpy(search->trial, search->best, program->op_count);
                for (uint32_t o = 0; o < program->op_count; o++) {
                    bool moves = program->ops[o].label == label;
                    search->trial[o] = moves ? d : search->trial[o];
                }
                bool differs = memcmp(search->trial, search->best, program->op_count) != 0;
                found |= differs && attempt(search, scratch);
            }
        }
        for (uint32_t c = 0; c < program->class_count && search->replays_left > 0; c++) {
            uint8_t now = search->best[search->members[search->first[c]]];
            for (uint32_t d = 0; d < DECISIONS; d++) {
                if (d != now && search->choices[c].has[d]) {
                    memcpy(search->trial, search->best, program->op_count);
                    decide(search, c, (uint8_t)d);
                    found |= attempt(search, scratch);
                }
            }
        }
    }
}

uint64_t rail_best(uint8_t *decisions, struct rail_program *program, const struct rail_times *still,
                   const struct rail_rules *rules, struct weft_arena scratch)
{
    struct search search = {.program = program, .rules = rules, .best_ps = WEFT_NEVER};
    uint64_t wanted = program->options->replays_max;
    double work = program->graph->task_count + 1.0;
    for (uint32_t o = 0; o < program->op_count; o++) {
        uint32_t list = program->ops[o].ways[WEFT_RAIL_SWITCH].list;
        work += (program->list_first[list + 1] - program->list_first[list]) / 2.0;
    }
    double afford = WORK_MAX / work;
    search.replays_left = wanted > 0 ? wanted : REPLAYS_DEFAULT;
    if (afford < (double)search.replays_left) {
        search.replays_left = afford < REPLAYS_LEAST ? REPLAYS_LEAST : (uint64_t)afford;
    }
    search.best = decisions;
    search.trial = WEFT_NEW(&scratch, uint8_t, program->op_count + 1);
    program->class_count = 0;
    find_classes(&search, still, &scratch);
    for (uint32_t d = 0; d < DECISIONS; d++) {
        memset(search.trial, (int)d, program->op_count);
        (void)attempt(&search, scratch);
    }
    propose(&search, still, scratch);
    (void)attempt(&search, scratch);
    improve(&search, scratch);
    return search.best_ps;
}
