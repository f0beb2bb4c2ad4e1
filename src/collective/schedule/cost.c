// SPDX-License-Identifier: Apache-2.0
// What collectives cost under the alpha-beta-gamma model (Hockney, Parallel Computing 1994; Thakur,
// Rabenseifner and Gropp, IJHPCA 2005): any schedule, round by round in O(transfers); the closed
// form of each algorithm in O(1); and what no schedule can be quicker than (Chan, Heimlich,
// Purkayastha and van de Geijn, "Collective communication: theory, practice, and experience", 2007,
// section 4). docs/collectives.md has the derivations, and a property test holds every closed form
// equal to its schedule.

#include "collective/algorithms/writer.h"
#include "collective/straggler/stragglar.h"

// ---- any schedule ----

// What each rank sends, receives and adds in a round, in slots.
struct load {
    uint64_t sent;
    uint64_t received;
    uint64_t added;
};

// Sums over rounds, in whole numbers, so that thousands of rounds add up without rounding.
struct sums {
    uint64_t rounds; // in which something goes between ranks
    uint64_t moved;
    uint64_t added;
};

static uint64_t moved_by(const struct load *load)
{
    return load->sent > load->received ? load->sent : load->received;
}

// Adds one round: it takes as long as its busiest rank, which is the one whose bytes in or out, and
// bytes added, take longest together. Only ranks that take part are looked at and cleared, so that
// rounds of few transfers on many ranks cost little. Moves inside a rank add but do not cross.
static void add_round(struct sums *sums, const struct weft_round_walk *walk, struct load *loads,
                      const struct weft_cost_model *model)
{
    bool crossed = false;
    for (uint32_t i = 0; i < walk->transfer_count; i++) {
        const struct weft_transfer *transfer = &walk->transfers[i];
        if (transfer->from != transfer->to) {
            loads[transfer->from].sent += transfer->slot_count;
            loads[transfer->to].received += transfer->slot_count;
            crossed = true;
        }
        if (transfer->op == WEFT_STEP_REDUCE) {
            loads[transfer->to].added += transfer->slot_count;
        }
    }
    struct load busiest = {0};
    double longest = -1;
    for (uint32_t i = 0; i < walk->transfer_count; i++) {
        const uint32_t ends[2] = {walk->transfers[i].from, walk->transfers[i].to};
        for (uint32_t e = 0; e < 2; e++) {
            struct load *load = &loads[ends[e]];
            double takes = (double)moved_by(load) * model->beta_s_per_byte +
                           (double)load->added * model->gamma_s_per_byte;
            if (takes > longest) {
                longest = takes;
                busiest = *load;
            }
        }
    }
    for (uint32_t i = 0; i < walk->transfer_count; i++) {
        loads[walk->transfers[i].from] = (struct load){0};
        loads[walk->transfers[i].to] = (struct load){0};
    }
    sums->rounds += crossed;
    sums->moved += moved_by(&busiest);
    sums->added += busiest.added;
}

double weft_schedule_seconds(const struct weft_schedule *schedule, double size_bytes,
                             const struct weft_cost_model *model, struct weft_arena scratch)
{
    struct load *loads = WEFT_NEW(&scratch, struct load, schedule->rank_count);
    struct sums sums = {0};
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        add_round(&sums, &walk, loads, model);
    }
    double slot_bytes = size_bytes / schedule->chunk_count;
    return (double)sums.rounds * model->alpha_s +
           slot_bytes * ((double)sums.moved * model->beta_s_per_byte +
                         (double)sums.added * model->gamma_s_per_byte);
}

// ---- closed forms ----

// What a closed form is asked for. Most are sums of two halves: one that adds (all that end in
// sums) and one that copies (all that end in everybody's having it); an all-reduce is both.
struct question {
    enum weft_algorithm algorithm;
    const struct weft_algorithm_options *options; // complete
    double size_bytes;
    const struct weft_cost_model *model;
};

static bool is_rooted(enum weft_collective_kind kind)
{
    return kind == WEFT_COLLECTIVE_BROADCAST || kind == WEFT_COLLECTIVE_REDUCE;
}

// `rounds` messages that carry `share` of the bytes together.
static double take(const struct question *question, double rounds, double share, bool adds)
{
    const struct weft_cost_model *model = question->model;
    double per_byte = model->beta_s_per_byte + (adds ? model->gamma_s_per_byte : 0);
    return rounds * model->alpha_s + share * question->size_bytes * per_byte;
}

static double ring_half(const struct question *question, bool adds)
{
    double n = question->options->rank_count;
    double k = question->options->chunk_factor;
    if (is_rooted(question->options->kind)) {
        return take(question, n - 2 + k, (n - 2 + k) / k, adds);
    }
    return take(question, n - 1, (n - 1) / n, adds);
}

static double tree_half(const struct question *question, bool adds)
{
    uint32_t n = question->options->rank_count;
    uint32_t k = question->options->chunk_factor;
    if (question->algorithm == WEFT_ALGORITHM_BINOMIAL_TREE) {
        return take(question, weft_log2_ceil(n), weft_log2_ceil(n), adds);
    }
    if (question->algorithm == WEFT_ALGORITHM_BINARY_TREE) {
        double rounds = weft_binary_rounds(n, k);
        return take(question, rounds, rounds / k, adds);
    }
    double rounds = weft_double_tree_rounds(n, k);
    return take(question, rounds, rounds / (2.0 * k), adds);
}

// Recursive doubling: all of S in each round, of an all-gather what there is so far. Off powers of
// two one round more folds ranks in, which adds, and one hands them the sum, which does not.
static double doubling(const struct question *question)
{
    uint32_t n = question->options->rank_count;
    double bits = weft_log2_floor(n);
    bool power = (n & (n - 1)) == 0;
    if (question->options->kind == WEFT_COLLECTIVE_ALLGATHER) {
        return power ? take(question, bits, (n - 1.0) / n, false) : -1;
    }
    return power ? take(question, bits, bits, true)
                 : take(question, bits + 1, bits + 1, true) + take(question, 1, 1, false);
}

// Blocks that an all-to-all sends in ceil(log2 n) rounds: for each bit those with that bit set.
static double bruck(const struct question *question)
{
    uint32_t n = question->options->rank_count;
    double rounds = weft_log2_ceil(n);
    if (question->options->kind == WEFT_COLLECTIVE_ALLGATHER) {
        return take(question, rounds, (n - 1.0) / n, false);
    }
    double blocks = 0;
    for (uint64_t hop = 1; hop < n; hop *= 2) {
        uint64_t rest = n % (2 * hop);
        uint64_t whole = n / (2 * hop);
        blocks += (double)(whole * hop + (rest > hop ? rest - hop : 0));
    }
    return take(question, rounds, blocks / n, false);
}

static double direct_half(const struct question *question, bool adds)
{
    double n = question->options->rank_count;
    double share = is_rooted(question->options->kind) ? n - 1 : (n - 1) / n;
    return take(question, n - 1, share, adds);
}

// One message's alpha a radix: those to several peers go side by side.
static double exchange_half(const struct question *question, bool adds)
{
    struct weft_error error;
    uint32_t radices[WEFT_RADICES_MAX];
    double n = question->options->rank_count;
    double rounds = weft_algorithm_radices(radices, question->options, &error);
    return take(question, rounds, (n - 1) / n, adds);
}

static double staged(const struct question *question)
{
    double inside = question->options->shape[0];
    double servers = question->options->shape[1];
    double n = question->options->rank_count;
    if (inside < 2 || servers < 2) {
        return direct_half(question, false);
    }
    return take(question, inside - 1, (inside - 1) * servers / n, false) +
           take(question, servers - 1, (servers - 1) * inside / n, false);
}

// The seconds of the half of a collective that adds, or that copies; negative where the algorithm
// has no halves.
static double one_half(const struct question *question, bool adds)
{
    const struct weft_algorithm_options *options = question->options;
    double n = options->rank_count;
    switch (question->algorithm) {
    case WEFT_ALGORITHM_RING:
    case WEFT_ALGORITHM_BIDIRECTIONAL:
    case WEFT_ALGORITHM_MULTI_RING:
        return ring_half(question, adds);
    case WEFT_ALGORITHM_BINOMIAL_TREE:
    case WEFT_ALGORITHM_BINARY_TREE:
    case WEFT_ALGORITHM_DOUBLE_TREE:
        return tree_half(question, adds);
    case WEFT_ALGORITHM_HALVING_DOUBLING:
        return take(question, weft_log2_ceil(options->rank_count), (n - 1) / n, adds);
    case WEFT_ALGORITHM_HIERARCHICAL:
        return take(question, (double)options->shape[0] + options->shape[1] - 2, (n - 1) / n, adds);
    case WEFT_ALGORITHM_TORUS:
        return weft_torus_seconds(options, question->size_bytes, question->model,
                                  adds ? question->model->gamma_s_per_byte : 0);
    case WEFT_ALGORITHM_DIRECT:
        return direct_half(question, adds);
    case WEFT_ALGORITHM_RECURSIVE_EXCHANGE:
        return exchange_half(question, adds);
    case WEFT_ALGORITHM_RECURSIVE_DOUBLING:
    case WEFT_ALGORITHM_BRUCK:
    case WEFT_ALGORITHM_STAGED:
    case WEFT_ALGORITHM_STRAGGLAR:
    case WEFT_ALGORITHM_SYNTHESIZE:
    case WEFT_ALGORITHM_PACKED_TREES:
    case WEFT_ALGORITHM_COUNT:
        break;
    }
    return -1;
}

// Completes the options first, so that defaults (chunk factor, shape) count as they do in the
// schedule.
double weft_algorithm_seconds(enum weft_algorithm algorithm,
                              const struct weft_algorithm_options *options, double size_bytes,
                              const struct weft_cost_model *model)
{
    struct weft_error error;
    struct weft_algorithm_options complete = *options;
    if (algorithm >= WEFT_ALGORITHM_SYNTHESIZE ||
        !weft_algorithm_complete(&complete, algorithm, &error)) {
        return -1;
    }
    if (algorithm == WEFT_ALGORITHM_STRAGGLAR) {
        return complete.rank_count < 3
                   ? -1
                   : stragglar_seconds(complete.rank_count, complete.chunk_factor, size_bytes,
                                       model);
    }
    struct question question = {algorithm, &complete, size_bytes, model};
    if (algorithm == WEFT_ALGORITHM_RECURSIVE_DOUBLING) {
        return doubling(&question);
    }
    if (algorithm == WEFT_ALGORITHM_BRUCK) {
        return bruck(&question);
    }
    if (algorithm == WEFT_ALGORITHM_STAGED) {
        return staged(&question);
    }
    enum weft_collective_kind kind = complete.kind;
    bool adds = kind == WEFT_COLLECTIVE_ALLREDUCE || kind == WEFT_COLLECTIVE_REDUCE_SCATTER ||
                kind == WEFT_COLLECTIVE_REDUCE;
    bool copies = kind != WEFT_COLLECTIVE_REDUCE_SCATTER && kind != WEFT_COLLECTIVE_REDUCE;
    return (adds ? one_half(&question, true) : 0) + (copies ? one_half(&question, false) : 0);
}

// ---- bounds ----

double weft_collective_bound_seconds(enum weft_collective_kind kind, uint32_t rank_count,
                                     double size_bytes, const struct weft_cost_model *model)
{
    double n = rank_count;
    double others = (n - 1) / n;
    double sent = 0;
    double added = 0;
    switch (kind) {
    case WEFT_COLLECTIVE_ALLREDUCE:
        sent = 2 * others;
        added = others;
        break;
    case WEFT_COLLECTIVE_REDUCE_SCATTER:
        sent = others;
        added = others;
        break;
    case WEFT_COLLECTIVE_REDUCE:
        sent = 1;
        added = others;
        break;
    case WEFT_COLLECTIVE_BROADCAST:
        sent = 1;
        break;
    case WEFT_COLLECTIVE_ALLGATHER:
    case WEFT_COLLECTIVE_ALLTOALL:
        sent = others;
        break;
    case WEFT_COLLECTIVE_KIND_COUNT:
        break;
    }
    return weft_log2_ceil(rank_count) * model->alpha_s +
           size_bytes * (sent * model->beta_s_per_byte + added * model->gamma_s_per_byte);
}
