// SPDX-License-Identifier: Apache-2.0
// StragglAR as a schedule (arXiv 2505.23523): the ring among the healthy, the exchanges with the
// straggler, the pattern as one family of transfers for each position, and the last rounds transfer
// by transfer. n-2 rounds of S/(n-1) bytes while the straggler is late, then K - 1 + ceil(log2 n)
// rounds of S/K, the fewest there can be (stragglar_bound.c). docs/stragglar.md has the method.
//
// Chunk c has slot (c mod m) * factor + c / m, so that what a rank reduces in the first phase lies
// together. That is c * factor mod (K - 1) but for the last chunk, which no family touches.

#include "stragglar.h"

// Seeds of the last rounds' matching that are tried for a number of rounds before one more round is
// granted. docs/stragglar.md: with 64 no n from 4 to 1100 needed a round more than the bound.
#define SPREAD_SEEDS 64u
// A pattern costs O(m^2) a try; beyond this many ranks nothing was measured.
#define RANKS_MAX 16384u

// ---- the plan ----

// Lets the pattern run on past the last exchange: in round t the chunks of age t - c spread as they
// would have, without what new exchanges would add. One or two rounds longer than the bound where
// the matching of stragglar_spread finds nothing.
void stragglar_end_by_pattern(struct stragglar_plan *plan, struct weft_arena *arena)
{
    const struct stragglar_pattern *pattern = &plan->pattern;
    uint32_t m = plan->healthy_count;
    uint32_t last = plan->chunk_count - 1 + pattern->age_last;
    struct stragglar_move *moves =
        WEFT_NEW_RAW(arena, struct stragglar_move, (size_t)m * pattern->age_last);
    uint32_t count = 0;
    for (uint32_t t = plan->chunk_count; t <= last; t++) {
        for (uint32_t y = 1; y < m; y++) {
            uint32_t g = pattern->age[y];
            if (g <= t && t - g < plan->chunk_count) {
                uint32_t c = t - g;
                moves[count++] = (struct stragglar_move){
                    .round = t,
                    .chunk = c,
                    .from = (c % m + pattern->sender[y]) % m,
                    .to = (c % m + y) % m,
                };
            }
        }
    }
    plan->moves = moves;
    plan->move_count = count;
    plan->round_count = last + 1;
}

// Finds the pattern, and then the last rounds: with as few rounds as the bound allows first, a
// round more when all seeds fail, and by the pattern itself when that is as short.
bool stragglar_make_plan(struct stragglar_plan *plan, uint32_t rank_count, uint32_t factor,
                         struct weft_arena *arena, struct weft_arena scratch)
{
    WEFT_ASSERT(rank_count >= 4);
    uint32_t m = rank_count - 1;
    struct stragglar_plan found = {.healthy_count = m, .chunk_count = m * factor};
    if (!stragglar_find_pattern(&found.pattern, m, arena, scratch)) {
        return false;
    }
    uint32_t bound = stragglar_bound(rank_count, found.chunk_count);
    bool done = false;
    for (uint32_t rounds = bound; !done && rounds < found.chunk_count + found.pattern.age_last;
         rounds++) {
        for (uint64_t seed = 0; !done && seed < SPREAD_SEEDS; seed++) {
            done = stragglar_spread(&found, rounds, seed, arena, scratch);
        }
    }
    if (!done) {
        stragglar_end_by_pattern(&found, arena);
    }
    *plan = found;
    return true;
}

// ---- the schedule ----

struct writer {
    struct weft_step *steps;
    uint32_t count;
    uint32_t max;
};

static struct weft_step *add_step(struct writer *writer, enum weft_step_op op, uint32_t first_round,
                                  uint32_t round_count)
{
    WEFT_ASSERT(writer->count < writer->max);
    struct weft_step *step = &writer->steps[writer->count++];
    *step = (struct weft_step){
        .op = op,
        .first_round = first_round,
        .round_count = round_count,
        .item_count = 1,
        .slot_count = 1,
        .label = 0,
    };
    return step;
}

// One transfer in one round.
static void add_single(struct writer *writer, enum weft_step_op op, uint32_t round, uint32_t from,
                       uint32_t to, uint32_t slot)
{
    struct weft_step *step = add_step(writer, op, round, 1);
    step->from = weft_index_fixed(from);
    step->to = weft_index_fixed(to);
    step->from_slot = weft_index_fixed(slot);
    step->to_slot = step->from_slot;
}

// The ring reduce-scatter of positions 0 .. m-1, blocks of `factor` slots: block r ends at r.
static void add_ring(struct writer *writer, uint32_t m, uint32_t factor)
{
    struct weft_step *step = add_step(writer, WEFT_STEP_REDUCE, 0, m - 1);
    step->item_count = m;
    step->slot_count = factor;
    step->from = weft_index_walk(0, 1, 0, m);
    step->to = weft_index_walk(1, 1, 0, m);
    step->from_slot = weft_index_walk((m - 1) * factor, factor, (m - 1) * factor, m * factor);
    step->to_slot = step->from_slot;
}

// What the straggler and its partner of the round give each other, chunks 0 .. K-2.
static void add_exchanges(struct writer *writer, const struct stragglar_plan *plan,
                          uint32_t first_round)
{
    uint32_t m = plan->healthy_count;
    uint32_t chunks = plan->chunk_count;
    for (uint32_t direction = 0; direction < 2; direction++) {
        struct weft_step *step = add_step(writer, WEFT_STEP_REDUCE, first_round, chunks - 1);
        struct weft_index straggler = weft_index_fixed(m);
        struct weft_index partner = weft_index_walk(0, 0, 1, m);
        step->from = direction == 0 ? straggler : partner;
        step->to = direction == 0 ? partner : straggler;
        step->from_slot = weft_index_walk(0, 0, chunks / m, chunks - 1);
        step->to_slot = step->from_slot;
    }
}

// A family for each position that the pattern gives chunks to before the last exchange, by age.
static void add_pattern(struct writer *writer, const struct stragglar_plan *plan,
                        uint32_t first_round)
{
    const struct stragglar_pattern *pattern = &plan->pattern;
    uint32_t m = plan->healthy_count;
    for (uint32_t g = 1; g <= pattern->age_last && g < plan->chunk_count; g++) {
        for (uint32_t y = 1; y < m; y++) {
            if (pattern->age[y] != g) {
                continue;
            }
            struct weft_step *step =
                add_step(writer, WEFT_STEP_COPY, first_round + g, plan->chunk_count - g);
            step->from = weft_index_walk(pattern->sender[y], 0, 1, m);
            step->to = weft_index_walk(y, 0, 1, m);
            step->from_slot = weft_index_walk(0, 0, plan->chunk_count / m, plan->chunk_count - 1);
            step->to_slot = step->from_slot;
        }
    }
}

static void add_moves(struct writer *writer, const struct stragglar_plan *plan,
                      uint32_t first_round)
{
    uint32_t m = plan->healthy_count;
    uint32_t factor = plan->chunk_count / m;
    for (uint32_t i = 0; i < plan->move_count; i++) {
        const struct stragglar_move *move = &plan->moves[i];
        uint32_t slot = move->chunk % m * factor + move->chunk / m;
        add_single(writer, WEFT_STEP_COPY, first_round + move->round, move->from, move->to, slot);
    }
}

static void write_many(struct writer *writer, const struct stragglar_plan *plan,
                       struct weft_arena *arena)
{
    uint32_t m = plan->healthy_count;
    uint32_t factor = plan->chunk_count / m;
    uint32_t first = m - 1;
    writer->max = 5 + m + plan->move_count;
    writer->steps = WEFT_NEW_RAW(arena, struct weft_step, writer->max);
    add_ring(writer, m, factor);
    add_exchanges(writer, plan, first);
    add_pattern(writer, plan, first);
    uint32_t last = plan->chunk_count - 1;
    add_single(writer, WEFT_STEP_REDUCE, first + last, m, m - 1, last);
    add_single(writer, WEFT_STEP_REDUCE, first + last, m - 1, m, last);
    add_moves(writer, plan, first);
}

// Three ranks: with two of them busy in an exchange the third would wait, so the straggler's chunk
// goes round instead. In round 2i the straggler's addend of 0's i-th chunk goes to 0 and 1's i-th
// chunk to the straggler, which add; in round 2i + 1 either goes on. 2k + 1 rounds for 2k chunks.
static void write_three(struct writer *writer, uint32_t factor, struct weft_arena *arena)
{
    const uint32_t late = 2;
    writer->max = 1 + 6 * factor;
    writer->steps = WEFT_NEW_RAW(arena, struct weft_step, writer->max);
    add_ring(writer, 2, factor);
    for (uint32_t i = 0; i < factor; i++) {
        uint32_t round = 1 + 2 * i;
        add_single(writer, WEFT_STEP_REDUCE, round, late, 0, i);
        add_single(writer, WEFT_STEP_REDUCE, round, 1, late, factor + i);
        if (i > 0) {
            add_single(writer, WEFT_STEP_COPY, round, 0, 1, i - 1);
        }
        add_single(writer, WEFT_STEP_COPY, round + 1, late, 1, factor + i);
        add_single(writer, WEFT_STEP_COPY, round + 1, 0, late, i);
        if (i > 0) {
            add_single(writer, WEFT_STEP_COPY, round + 1, 1, 0, factor + i - 1);
        }
    }
    add_single(writer, WEFT_STEP_COPY, 1 + 2 * factor, 0, 1, factor - 1);
    add_single(writer, WEFT_STEP_COPY, 1 + 2 * factor, 1, 0, 2 * factor - 1);
}

static bool check_options(const struct weft_algorithm_options *options, struct weft_error *error)
{
    uint32_t n = options->rank_count;
    if (options->kind != WEFT_COLLECTIVE_ALLREDUCE) {
        return weft_fail(error, WEFT_INPUT, "it does no %s; take another algorithm",
                         weft_collective_name(options->kind));
    }
    if (n < 3) {
        return weft_fail(error, WEFT_INPUT, "%u ranks; it needs three, one of them late; take ring",
                         n);
    }
    if (n > RANKS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u ranks are more than %u; take ring", n, RANKS_MAX);
    }
    if (options->straggler >= n) {
        return weft_fail(error, WEFT_INPUT, "straggler %u is no rank; the last is %u",
                         options->straggler, n - 1);
    }
    if ((uint64_t)options->chunk_factor * (n - 1) > STRAGGLAR_CHUNKS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u sub-chunks of %u chunks are too many; use %u",
                         options->chunk_factor, n - 1, STRAGGLAR_CHUNKS_MAX / (n - 1));
    }
    return true;
}

void weft_stragglar_relabel(struct weft_schedule *schedule, const struct weft_schedule *stragglar,
                            uint32_t straggler, struct weft_arena *arena)
{
    uint32_t n = stragglar->rank_count;
    WEFT_ASSERT(straggler < n);
    // Positions to ranks: the straggler last, the others in their order.
    uint32_t *label = WEFT_NEW_RAW(arena, uint32_t, n);
    for (uint32_t i = 0; i + 1 < n; i++) {
        label[i] = i < straggler ? i : i + 1;
    }
    label[n - 1] = straggler;
    const uint32_t **labels = WEFT_NEW_RAW(arena, const uint32_t *, 1);
    labels[0] = label;
    *schedule = *stragglar;
    schedule->labels = labels;
    schedule->label_count = 1;
}

// Checks the options, writes the schedule for position labels (healthy ranks 0 to n-2, the
// straggler n-1) and relabels it for the late rank that is asked for.
bool weft_stragglar_build(struct weft_schedule *schedule,
                          const struct weft_algorithm_options *options, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error)
{
    if (!check_options(options, error)) {
        return false;
    }
    uint32_t n = options->rank_count;
    uint32_t factor = options->chunk_factor > 0 ? options->chunk_factor : 1;
    struct writer writer = {0};
    uint32_t rounds = 2 * factor + 1;
    if (n == 3) {
        write_three(&writer, factor, arena);
    } else {
        struct stragglar_plan plan;
        if (!stragglar_make_plan(&plan, n, factor, arena, scratch)) {
            return weft_fail(error, WEFT_INFEASIBLE, "no pattern found for %u ranks; take ring", n);
        }
        write_many(&writer, &plan, arena);
        rounds = plan.round_count;
    }
    struct weft_schedule built = {
        .name = "stragglar",
        .kind = WEFT_COLLECTIVE_ALLREDUCE,
        .rank_count = n,
        .chunk_count = (n - 1) * factor,
        .slot_count = (n - 1) * factor,
        .port_count = 1,
        .round_count = n - 2 + rounds,
        .step_count = writer.count,
        .steps = writer.steps,
    };
    weft_stragglar_relabel(schedule, &built, options->straggler, arena);
    return true;
}
