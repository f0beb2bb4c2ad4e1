// SPDX-License-Identifier: Apache-2.0
// The hybrid space of a model on a cluster, enumerated whole (the degrees that Narayanan et al., SC
// 2021, section 3, choose by rules): what does not fit into memory is left out first, what cannot
// be among the best k by its busiest rank alone second, the rest is estimated. 260,000 to 490,000
// strategies a second on one core (docs/hybrid.md).

#include "hybrid.h"

#include <math.h>
#include <string.h>

// How far the space goes: wider than the published runs of docs/hybrid.md, which have up to 8
// chunks. They bound the time of the search and were not tuned.
#define KEEP_MAX 1024u
#define ORDERS 6u // of context, data and pipeline; tensor ranks are innermost always
#define CHUNKS_MAX 16u
#define MICRO_BATCH_MAX 64u
// Context parallelism leaves a rank at least so many tokens: with fewer the ring's hops rule.
#define CONTEXT_TOKENS_MIN 1024u
// Estimates this near to each other are the same strategy in other words.
#define SAME_RATIO 1e-4

struct found {
    struct weft_hybrid hybrid;
    double seconds;
};

struct search {
    const struct weft_study *study;
    weft_stop stop;
    _Atomic uint64_t *progress_ps;
    struct weft_arena scratch;
    uint32_t accelerators, per_server;
    uint32_t keep;
    uint32_t count;
    struct found *best; // by seconds, then by order of enumeration
    uint64_t evaluations;
    bool any; // some strategy divides model and batch
    struct weft_hybrid leanest;
    struct weft_memory leanest_memory;
    // Of the degrees at hand, in each order.
    bool rates_known[ORDERS];
    struct weft_hybrid_rates rates[ORDERS];
};

// One of them is enough: orders, and context ranks in place of data ranks with smaller
// micro-batches, where they make no difference.
static bool alike(const struct found *found, const struct weft_hybrid *hybrid, double seconds)
{
    const struct weft_hybrid *other = &found->hybrid;
    return fabs(found->seconds - seconds) <= SAME_RATIO * seconds && other->tp == hybrid->tp &&
           other->pp == hybrid->pp && other->chunks == hybrid->chunks &&
           other->zero_stage == hybrid->zero_stage && other->recompute == hybrid->recompute;
}

static void insert(struct search *search, const struct weft_hybrid *hybrid, double seconds)
{
    for (uint32_t i = 0; i < search->count; i++) {
        if (alike(&search->best[i], hybrid, seconds)) {
            return; // the earlier one stays
        }
    }
    uint32_t at = search->count;
    while (at > 0 && search->best[at - 1].seconds > seconds) {
        at--;
    }
    if (at == search->keep) {
        return;
    }
    uint32_t moved = search->count < search->keep ? search->count : search->keep - 1;
    memmove(&search->best[at + 1], &search->best[at], (moved - at) * sizeof(struct found));
    search->best[at] = (struct found){*hybrid, seconds};
    search->count = moved + 1;
    if (at == 0 && search->progress_ps != NULL) {
        atomic_store_explicit(search->progress_ps, weft_picoseconds(seconds), memory_order_relaxed);
    }
}

static bool fits(struct search *search, const struct weft_hybrid *hybrid,
                 const struct weft_hybrid_mesh *mesh)
{
    uint32_t rank;
    struct weft_memory memory = weft_hybrid_peak_memory(
        hybrid, mesh, search->study->model->transformer, search->study->setting, &rank);
    if (!search->any || memory.total_bytes < search->leanest_memory.total_bytes) {
        search->leanest = *hybrid;
        search->leanest_memory = memory;
    }
    search->any = true;
    double limit_bytes = search->study->setting->memory_limit_bytes;
    return limit_bytes <= 0 || memory.total_bytes <= limit_bytes;
}

// `order`: which of the six.
static void evaluate(struct search *search, const struct weft_hybrid *hybrid, uint32_t order)
{
    struct weft_error error;
    struct weft_hybrid_job job;
    if (!weft_hybrid_job_open(&job, hybrid, search->study, &error)) {
        return;
    }
    search->evaluations++;
    if (!fits(search, hybrid, &job.mesh)) {
        return;
    }
    if (!search->rates_known[order]) {
        search->rates_known[order] = true;
        search->rates[order] = weft_hybrid_rates_of(&job.mesh, hybrid->ep, search->study->cluster,
                                                    search->study->network, search->scratch);
    }
    weft_hybrid_job_price(&job, &search->rates[order]);
    bool full = search->count == search->keep;
    double worst_s = full ? search->best[search->count - 1].seconds : 0;
    if (full && weft_hybrid_busy_seconds(&job) >= worst_s) {
        return;
    }
    double seconds = weft_hybrid_seconds(&job, search->scratch);
    if (!full || seconds < worst_s) {
        insert(search, hybrid, seconds);
    }
}

// ---- enumeration, one dimension a function, the outermost last ----

// The innermost dimensions: orders, recomputation and ZeRO stage. Orders that differ only by an
// axis of one rank are tried once.
static void each_choice(struct search *search, struct weft_hybrid hybrid)
{
    static const char *const orders[ORDERS] = {"tcdp", "tcpd", "tdcp", "tdpc", "tpcd", "tpdc"};
    uint64_t replicas = (uint64_t)hybrid.dp * hybrid.cp;
    for (uint32_t o = 0; o < ORDERS; o++) {
        // Two orders are one when an axis of one rank moves.
        bool pipeline_moves = hybrid.pp == 1 && strchr(orders[o], 'p') != orders[o] + 3;
        bool context_moves = hybrid.cp == 1 && strchr(orders[o], 'c') != orders[o] + 1;
        bool data_moves = hybrid.dp == 1 && strchr(orders[o], 'd') < strchr(orders[o], 'p') &&
                          strchr(orders[o], 'd') < strchr(orders[o], 'c');
        if (pipeline_moves || context_moves || data_moves) {
            continue;
        }
        memcpy(hybrid.order, orders[o], WEFT_AXIS_COUNT + 1);
        for (uint32_t r = WEFT_RECOMPUTE_NONE; r <= WEFT_RECOMPUTE_FULL; r++) {
            if (r == WEFT_RECOMPUTE_SELECTIVE) {
                continue; // fused attention does so anyway
            }
            hybrid.recompute = (enum weft_recompute)r;
            for (hybrid.zero_stage = 0; hybrid.zero_stage <= (replicas > 1 ? 3u : 0u);
                 hybrid.zero_stage++) {
                evaluate(search, &hybrid, o);
            }
        }
    }
}

static void each_micro_batch(struct search *search, struct weft_hybrid hybrid)
{
    uint64_t replica = search->study->model->batch / hybrid.dp;
    for (hybrid.micro_batch = 1;
         hybrid.micro_batch <= MICRO_BATCH_MAX && hybrid.micro_batch <= replica;
         hybrid.micro_batch++) {
        if (replica % hybrid.micro_batch != 0) {
            continue;
        }
        for (hybrid.chunks = 1; hybrid.chunks <= CHUNKS_MAX; hybrid.chunks++) {
            uint64_t stages = (uint64_t)hybrid.pp * hybrid.chunks;
            bool interleaves = hybrid.pp > 1 && replica / hybrid.micro_batch % hybrid.pp == 0 &&
                               stages <= (uint64_t)search->study->model->transformer->layers + 2;
            if (hybrid.chunks > 1 && !interleaves) {
                break;
            }
            if (!weft_stopped(search->stop)) {
                each_choice(search, hybrid);
            }
        }
    }
}

static void each_expert_degree(struct search *search, struct weft_hybrid hybrid)
{
    const struct weft_transformer *stack = search->study->model->transformer;
    uint64_t replicas = (uint64_t)hybrid.dp * hybrid.cp;
    uint32_t most = stack->experts > 0 ? stack->experts : 1;
    for (hybrid.ep = 1; hybrid.ep <= most; hybrid.ep++) {
        if (most % hybrid.ep == 0 && replicas % hybrid.ep == 0) {
            memset(search->rates_known, 0, sizeof search->rates_known);
            each_micro_batch(search, hybrid);
        }
    }
}

// The outermost dimensions: tensor ranks inside a server, pipeline stages of at least a layer or an
// end of the model, context ranks with enough tokens each, data parallelism for the rest.
static void each_degree(struct search *search)
{
    const struct weft_transformer *stack = search->study->model->transformer;
    struct weft_hybrid hybrid = {.overlap_gradients = true, .fused_attention = true};
    if (search->study->setting->overlap != 0) {
        weft_hybrid_set_overlap(&hybrid, search->study->setting->overlap);
    }
    for (hybrid.tp = 1; hybrid.tp <= search->per_server; hybrid.tp++) {
        if (search->per_server % hybrid.tp != 0 || stack->heads % hybrid.tp != 0) {
            continue;
        }
        hybrid.sequence_parallel = hybrid.tp > 1;
        uint32_t groups = search->accelerators / hybrid.tp;
        for (hybrid.pp = 1; hybrid.pp <= groups && hybrid.pp <= stack->layers + 2; hybrid.pp++) {
            if (groups % hybrid.pp != 0) {
                continue;
            }
            uint32_t replicas = groups / hybrid.pp;
            uint64_t roomy = stack->sequence / CONTEXT_TOKENS_MIN;
            for (hybrid.cp = 1; hybrid.cp <= replicas && (hybrid.cp == 1 || hybrid.cp <= roomy);
                 hybrid.cp++) {
                hybrid.dp = replicas / hybrid.cp;
                if (replicas % hybrid.cp == 0 && search->study->model->batch % hybrid.dp == 0) {
                    each_expert_degree(search, hybrid);
                }
            }
        }
    }
}

// ---- the door ----

// Says what is in the way: no split of the batch over all accelerators at all, or too little
// memory, with the leanest strategy and how many accelerators would hold it.
static bool nothing_fits(const struct search *search, struct weft_error *error)
{
    const char *name = search->study->model->name;
    if (!search->any) {
        return weft_fail(error, WEFT_INPUT,
                         "batch: no split of %llu samples and %u layers of %s uses all %u "
                         "accelerators; use a batch or a number of servers with more divisors",
                         (unsigned long long)search->study->model->batch,
                         search->study->model->transformer->layers, name, search->accelerators);
    }
    char needs[WEFT_UNIT_TEXT];
    char over[WEFT_UNIT_TEXT];
    char limit[WEFT_UNIT_TEXT];
    double limit_bytes = search->study->setting->memory_limit_bytes;
    double total_bytes = search->leanest_memory.total_bytes;
    const struct weft_hybrid *leanest = &search->leanest;
    return weft_fail(
        error, WEFT_INFEASIBLE,
        "memory: %s does not fit on %u accelerators of %s: the leanest strategy "
        "(tp=%u,pp=%u,cp=%u,ep=%u,dp=%u,micro=%llu,zero=%u) needs %s each, %s more, most of it %s; "
        "about %.0f accelerators would hold it",
        name, search->accelerators, weft_show_bytes(limit, limit_bytes), leanest->tp, leanest->pp,
        leanest->cp, leanest->ep, leanest->dp, (unsigned long long)leanest->micro_batch,
        leanest->zero_stage, weft_show_bytes(needs, total_bytes),
        weft_show_bytes(over, total_bytes - limit_bytes),
        weft_hybrid_memory_most(&search->leanest_memory),
        search->accelerators * (total_bytes / limit_bytes) + search->per_server);
}

// Finds the accelerators of the cluster, by way of a strategy of one accelerator, which also says
// what is wrong with model or accelerator at all before anything is enumerated.
static bool prepare(struct search *search, struct weft_error *error)
{
    // A strategy of one accelerator tells what is wrong with model or accelerator at all.
    struct weft_hybrid one = weft_hybrid_one();
    struct weft_study alone = *search->study;
    alone.network = NULL;
    struct weft_hybrid_job job;
    if (!weft_hybrid_job_init(&job, &one, &alone, search->scratch, error)) {
        return false;
    }
    search->per_server = job.mesh.per_server;
    uint64_t accelerators = (uint64_t)search->per_server * search->study->cluster->server_count;
    if (accelerators > (1u << 24)) {
        return weft_fail(error, WEFT_INPUT, "cluster: %llu accelerators are beyond 2^24",
                         (unsigned long long)accelerators);
    }
    search->accelerators = (uint32_t)accelerators;
    return true;
}

// Enumerates on the caller's thread, keeps the best k, and fills in their memory. The rates of the
// network are found once for each mesh of degrees and order, since they depend on nothing else.
bool weft_hybrid_search(struct weft_search_result *result, const struct weft_study *study,
                        const struct weft_search_options *options, struct weft_arena *arena,
                        struct weft_arena scratch, struct weft_error *error)
{
    uint32_t keep = options->keep == 0 ? 1 : options->keep;
    struct search search = {.study = study,
                            .stop = options->stop,
                            .progress_ps = options->progress_ps,
                            .keep = keep < KEEP_MAX ? keep : KEEP_MAX};
    search.best = WEFT_NEW(&scratch, struct found, search.keep);
    search.scratch = scratch;
    if (!prepare(&search, error)) {
        return false;
    }
    each_degree(&search);
    if (search.count == 0 && weft_stopped(options->stop)) {
        return weft_fail(error, WEFT_STOPPED, "stopped before a strategy was found");
    }
    if (search.count == 0) {
        return nothing_fits(&search, error);
    }
    struct weft_candidate *candidates = WEFT_NEW(arena, struct weft_candidate, search.count);
    for (uint32_t i = 0; i < search.count; i++) {
        candidates[i].strategy =
            (struct weft_strategy){.kind = WEFT_STRATEGY_HYBRID,
                                   .server_count = study->cluster->server_count,
                                   .hybrid = search.best[i].hybrid};
        candidates[i].estimate_ps = weft_picoseconds(search.best[i].seconds);
        if (!weft_hybrid_fill_memory(&candidates[i].strategy, study, arena, error)) {
            return false;
        }
    }
    *result = (struct weft_search_result){
        .count = search.count, .candidates = candidates, .evaluations = search.evaluations};
    return true;
}
